#include <stdio.h>
#include <string.h>

#include "support/check.h"
#include "walpost/outbox/columns.h"

static struct wp_column_list columns;
static struct wp_error error;

static void parse(const char *list)
{
	CHECK_EQ(wp_column_list_parse(list, "outbox.headers", &columns, &error), WP_OK);
}

static void refused(const char *list, const char *reason)
{
	error.text[0] = '\0';
	CHECK_EQ(wp_column_list_parse(list, "outbox.headers", &columns, &error), WP_CONFIG);
	CHECK_HAS(error.text, "outbox.headers = ");
	CHECK_HAS(error.text, reason);
	CHECK_HAS(error.text, "allowed is a comma-separated list of column[:name]");
	CHECK_EQ(columns.count, 0);
	CHECK_EQ(wp_column_list_parse(list, "outbox.headers", &columns, NULL), WP_CONFIG);
}

static void check_item(size_t index, const char *column, const char *name)
{
	CHECK(index < columns.count);
	CHECK_TEXT(columns.items[index].column, column);
	CHECK_TEXT(columns.items[index].name, name);
}

static void nothing_is_the_empty_list(void **state)
{
	parse("");
	CHECK_EQ(columns.count, 0);
	parse(" \t");
	CHECK_EQ(columns.count, 0);
}

static void a_header_has_its_columns_name_unless_it_is_given_one(void **state)
{
	parse("tenant,trace_id:traceparent");
	CHECK_EQ(columns.count, 2);
	check_item(0, "tenant", "tenant");
	check_item(1, "trace_id", "traceparent");
}

static void spaces_around_do_not_count_and_inside_they_do(void **state)
{
	parse("  tenant , the id :  x y  ");
	CHECK_EQ(columns.count, 2);
	check_item(0, "tenant", "tenant");
	check_item(1, "the id", "x y");
}

static void names_are_neither_folded_nor_limited_to_letters(void **state)
{
	parse("TenantId, d\xC3\xBC, a.b-c$");
	check_item(0, "TenantId", "TenantId");
	check_item(1, "d\xC3\xBC", "d\xC3\xBC");
	check_item(2, "a.b-c$", "a.b-c$");
}

static void what_is_quoted_may_hold_anything(void **state)
{
	parse("\"we,ird\":x, y : \" a:b \", \"say \"\"hi\"\"\"");
	CHECK_EQ(columns.count, 3);
	check_item(0, "we,ird", "x");
	check_item(1, "y", " a:b ");
	check_item(2, "say \"hi\"", "say \"hi\"");
}

static void one_column_may_stand_twice(void **state)
{
	parse("a:x,a:y,b:x");
	CHECK_EQ(columns.count, 3);
}

static void empty_items_and_names_are_refused(void **state)
{
	refused(",", "an item or a name is empty");
	refused("a,", "an item or a name is empty");
	refused(",a", "an item or a name is empty");
	refused("a,,b", "an item or a name is empty");
	refused("a:", "an item or a name is empty");
	refused(":x", "an item or a name is empty");
	refused("\"\"", "an item or a name is empty");
}

static void broken_quotes_and_ends_are_refused(void **state)
{
	refused("\"a", "a double quote is not closed");
	refused("a:\"", "a double quote is not closed");
	refused("a\"b", "a double quote is inside a name");
	refused("\"a\"b", "text follows the end of a name");
	refused("a:b:c", "text follows the end of a name");
}

static void sixty_items_are_taken_and_one_more_is_refused(void **state)
{
	char list[256] = "c";

	for (int i = 1; i < 59; i++)
		(void)snprintf(list + strlen(list), sizeof(list) - strlen(list), ",c");
	parse(list);
	CHECK_EQ(columns.count, 59);
	(void)snprintf(list + strlen(list), sizeof(list) - strlen(list), ",c");
	parse(list);
	CHECK_EQ(columns.count, WP_COLUMN_LIST_MAX);
	(void)snprintf(list + strlen(list), sizeof(list) - strlen(list), ",c");
	refused(list, "it has more than 60 items");
}

static void the_names_fill_their_storage_and_not_one_byte_more(void **state)
{
	static char list[WP_COLUMN_LIST_SIZE + 1];

	memset(list, 'x', WP_COLUMN_LIST_SIZE);
	list[WP_COLUMN_LIST_SIZE] = '\0';
	refused(list, "its names are longer than 8192 bytes together");
	list[WP_COLUMN_LIST_SIZE - 1] = '\0';
	parse(list);
	check_item(0, list, list);
	list[WP_COLUMN_LIST_SIZE - 2] = '\0';
	parse(list);
	check_item(0, list, list);
}

int main(void)
{
	return RUN(PLAIN(nothing_is_the_empty_list),
		   PLAIN(a_header_has_its_columns_name_unless_it_is_given_one),
		   PLAIN(spaces_around_do_not_count_and_inside_they_do),
		   PLAIN(names_are_neither_folded_nor_limited_to_letters),
		   PLAIN(what_is_quoted_may_hold_anything), PLAIN(one_column_may_stand_twice),
		   PLAIN(empty_items_and_names_are_refused),
		   PLAIN(broken_quotes_and_ends_are_refused),
		   PLAIN(sixty_items_are_taken_and_one_more_is_refused),
		   PLAIN(the_names_fill_their_storage_and_not_one_byte_more));
}
