#include "values.h"

static void array_of(uint32_t dimensions)
{
	value.size = 0;
	put(dimensions, 4);
	put(0, 4);
	put(25, 4);
}

static void dimension(uint32_t length, int32_t lower_bound)
{
	put(length, 4);
	put((uint32_t)lower_bound, 4);
}

static void item(const char *bytes)
{
	if (bytes == NULL) {
		put(UINT32_MAX, 4);
		return;
	}
	put(strlen(bytes), 4);
	for (; *bytes != '\0'; bytes++)
		put((uint8_t)*bytes, 1);
}

static const char *of_items(const char *const *items, size_t count)
{
	array_of(1);
	dimension((uint32_t)count, 1);
	for (size_t i = 0; i < count; i++)
		item(items[i]);
	CHECK_EQ(print_array(WP_TYPE_ARRAY, WP_TYPE_TEXT), WP_OK);
	return text;
}

static void an_array_of_nothing_is_two_braces(void **state)
{
	array_of(0);
	CHECK_EQ(print_array(WP_TYPE_ARRAY, WP_TYPE_TEXT), WP_OK);
	CHECK_TEXT(text, "{}");
	for (uint32_t i = 0; i < 3; i++) {
		array_of(2);
		dimension(i < 2 ? 0 : 3, 2);
		dimension(i < 1 ? 3 : 0, 1);
		CHECK_EQ(print_array(WP_TYPE_ARRAY, WP_TYPE_TEXT), WP_OK);
		CHECK_TEXT(text, "{}");
		put(0, 1);
		CHECK_EQ(print_array(WP_TYPE_ARRAY, WP_TYPE_TEXT), WP_CONFIG);
	}
}

static void an_item_is_quoted_where_it_would_be_read_otherwise(void **state)
{
	static const struct {
		const char *item;
		const char *text;
	} known[] = {
		{ "a", "{a}" },
		{ NULL, "{NULL}" },
		{ "", "{\"\"}" },
		{ "null", "{\"null\"}" },
		{ "NuLL", "{\"NuLL\"}" },
		{ "nul", "{nul}" },
		{ "nulls", "{nulls}" },
		{ "a b", "{\"a b\"}" },
		{ "\t", "{\"\t\"}" },
		{ "\n", "{\"\n\"}" },
		{ "\r", "{\"\r\"}" },
		{ "\v", "{\"\v\"}" },
		{ "\f", "{\"\f\"}" },
		{ "{", "{\"{\"}" },
		{ "}", "{\"}\"}" },
		{ ",", "{\",\"}" },
		{ "\"", "{\"\\\"\"}" },
		{ "\\", "{\"\\\\\"}" },
		{ "a\"b\\", "{\"a\\\"b\\\\\"}" },
		{ "\xc2\xa0", "{\xc2\xa0}" },
		{ "'", "{'}" },
		{ "\x01", "{\x01}" },
		{ "\x7f", "{\x7f}" },
		{ "[1:2]=", "{[1:2]=}" },
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		CHECK_TEXT(of_items(&known[i].item, 1), known[i].text);
}

static void items_stand_between_commas_and_braces(void **state)
{
	static const char *const items[] = { "a", NULL, "", "d" };

	CHECK_TEXT(of_items(items, 4), "{a,NULL,\"\",d}");
	array_of(2);
	dimension(2, 1);
	dimension(2, 1);
	for (size_t i = 0; i < 4; i++)
		item(items[i]);
	CHECK_EQ(print_array(WP_TYPE_ARRAY, WP_TYPE_TEXT), WP_OK);
	CHECK_TEXT(text, "{{a,NULL},{\"\",d}}");
	array_of(6);
	for (size_t i = 0; i < 6; i++)
		dimension(1, 1);
	item("a");
	CHECK_EQ(print_array(WP_TYPE_ARRAY, WP_TYPE_TEXT), WP_OK);
	CHECK_TEXT(text, "{{{{{{a}}}}}}");
}

static void bounds_are_told_unless_all_begin_with_one(void **state)
{
	array_of(1);
	dimension(2, 2);
	item("a");
	item("b");
	CHECK_EQ(print_array(WP_TYPE_ARRAY, WP_TYPE_TEXT), WP_OK);
	CHECK_TEXT(text, "[2:3]={a,b}");
	array_of(2);
	dimension(1, 1);
	dimension(2, -5);
	item("a");
	item("b");
	CHECK_EQ(print_array(WP_TYPE_ARRAY, WP_TYPE_TEXT), WP_OK);
	CHECK_TEXT(text, "[1:1][-5:-4]={{a,b}}");
	array_of(1);
	dimension(1, INT32_MIN);
	item("a");
	CHECK_EQ(print_array(WP_TYPE_ARRAY, WP_TYPE_TEXT), WP_OK);
	CHECK_TEXT(text, "[-2147483648:-2147483648]={a}");
	array_of(1);
	dimension(1, INT32_MAX - 1);
	item("a");
	CHECK_EQ(print_array(WP_TYPE_ARRAY, WP_TYPE_TEXT), WP_OK);
	CHECK_TEXT(text, "[2147483646:2147483646]={a}");
	array_of(1);
	dimension(1, INT32_MAX);
	item("a");
	CHECK_EQ(print_array(WP_TYPE_ARRAY, WP_TYPE_TEXT), WP_CONFIG);
}

static void items_are_printed_as_their_type_is(void **state)
{
	array_of(1);
	dimension(2, 1);
	put(4, 4);
	put(UINT32_MAX, 4);
	put(4, 4);
	put(7, 4);
	CHECK_EQ(print_array(WP_TYPE_ARRAY, WP_TYPE_INT4), WP_OK);
	CHECK_TEXT(text, "{-1,7}");
	CHECK_EQ(print_array(WP_TYPE_ARRAY, WP_TYPE_DATE), WP_OK);
	CHECK_TEXT(text, "{1999-12-31,2000-01-08}");
	CHECK_EQ(print_array(WP_TYPE_ARRAY, WP_TYPE_BYTEA), WP_OK);
	CHECK_TEXT(text, "{\"\\\\xffffffff\",\"\\\\x00000007\"}");
	array_of(1);
	dimension(2, 1);
	put(8, 4);
	put(0, 8);
	put(8, 4);
	put(UINT64_MAX, 8);
	CHECK_EQ(print_array(WP_TYPE_ARRAY, WP_TYPE_TIMESTAMP), WP_OK);
	CHECK_TEXT(text, "{\"2000-01-01 00:00:00\",\"1999-12-31 23:59:59.999999\"}");
	array_of(1);
	dimension(3, 1);
	item("\xff");
	put(1, 4);
	put(0, 1);
	item("\"");
	CHECK_EQ(print_array(WP_TYPE_ARRAY, WP_TYPE_CHAR), WP_OK);
	CHECK_TEXT(text, "{\"\\\\377\",\"\",\"\\\"\"}");
	array_of(1);
	dimension(1, 1);
	item("\x01{\"a\": 1}");
	CHECK_EQ(print_array(WP_TYPE_ARRAY, WP_TYPE_JSONB), WP_OK);
	CHECK_TEXT(text, "{\"{\\\"a\\\": 1}\"}");
}

static void an_item_that_is_refused_refuses_the_array(void **state)
{
	static const char *const items[] = { "a", "b" };

	(void)of_items(items, 2);
	CHECK_EQ(print_array(WP_TYPE_ARRAY, WP_TYPE_INT4), WP_CONFIG);
	CHECK_EQ(print_array(WP_TYPE_ARRAY, WP_TYPE_JSONB), WP_CONFIG);
	CHECK_EQ(print_array(WP_TYPE_ARRAY, WP_TYPE_OTHER), WP_CONFIG);
	CHECK_EQ(print_array(WP_TYPE_ARRAY, WP_TYPE_ARRAY), WP_CONFIG);
}

static void an_array_that_is_cut_is_refused(void **state)
{
	static const char *const items[] = { "a\\\"", NULL, "c" };

	(void)of_items(items, 3);
	put(0, 1);
	CHECK_EQ(print_array(WP_TYPE_ARRAY, WP_TYPE_TEXT), WP_CONFIG);
	value.size--;
	while (value.size-- > 0)
		CHECK_EQ(print_array(WP_TYPE_ARRAY, WP_TYPE_TEXT), WP_CONFIG);
}

static void an_array_in_another_form_is_refused(void **state)
{
	array_of(7);
	for (size_t i = 0; i < 7; i++)
		dimension(1, 1);
	item("a");
	CHECK_EQ(print_array(WP_TYPE_ARRAY, WP_TYPE_TEXT), WP_CONFIG);
	array_of(UINT32_MAX);
	CHECK_EQ(print_array(WP_TYPE_ARRAY, WP_TYPE_TEXT), WP_CONFIG);
	array_of(0);
	value.data[7] = 2; /* a flag that there is not */
	CHECK_EQ(print_array(WP_TYPE_ARRAY, WP_TYPE_TEXT), WP_CONFIG);
	array_of(1);
	dimension(UINT32_MAX, 1);
	CHECK_EQ(print_array(WP_TYPE_ARRAY, WP_TYPE_TEXT), WP_CONFIG);
	array_of(6);
	for (size_t i = 0; i < 6; i++)
		dimension(1 << 30, 1);
	CHECK_EQ(print_array(WP_TYPE_ARRAY, WP_TYPE_TEXT), WP_CONFIG);
	array_of(1);
	dimension(1, 1);
	put(UINT32_MAX - 1, 4); /* an item of -2 bytes */
	CHECK_EQ(print_array(WP_TYPE_ARRAY, WP_TYPE_TEXT), WP_CONFIG);
}

/* The flag says that there may be NULLs, and is no promise. */
static void the_flag_for_nulls_changes_nothing(void **state)
{
	static const char *const items[] = { "a" };

	(void)of_items(items, 1);
	value.data[7] = 1;
	CHECK_EQ(print_array(WP_TYPE_ARRAY, WP_TYPE_TEXT), WP_OK);
	CHECK_TEXT(text, "{a}");
}

int main(void)
{
	return RUN(PLAIN(an_array_of_nothing_is_two_braces),
		   PLAIN(an_item_is_quoted_where_it_would_be_read_otherwise),
		   PLAIN(items_stand_between_commas_and_braces),
		   PLAIN(bounds_are_told_unless_all_begin_with_one),
		   PLAIN(items_are_printed_as_their_type_is),
		   PLAIN(an_item_that_is_refused_refuses_the_array),
		   PLAIN(an_array_that_is_cut_is_refused),
		   PLAIN(an_array_in_another_form_is_refused),
		   PLAIN(the_flag_for_nulls_changes_nothing));
}
