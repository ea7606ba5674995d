#include "values.h"

static void a_text_is_itself_and_takes_no_room(void **state)
{
	static const enum wp_type texts[] = { WP_TYPE_TEXT, WP_TYPE_ENUM, WP_TYPE_JSON };

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		struct wp_span bytes = wp_span_of("caf\xc3\xa9");
		struct wp_buffer none = { 0 };
		struct wp_span printed;
		CHECK_EQ(wp_binary_room(texts[i], WP_TYPE_OTHER, bytes), 0);
		CHECK_EQ(wp_binary_text(texts[i], WP_TYPE_OTHER, bytes, &none, &printed), WP_OK);
		CHECK(printed.data == bytes.data && printed.size == bytes.size);
	}
}

static void a_jsonb_has_a_version_before_its_text(void **state)
{
	value.size = 0;
	CHECK_EQ(print(WP_TYPE_JSONB), WP_CONFIG);
	put(1, 1);
	CHECK_EQ(print(WP_TYPE_JSONB), WP_OK);
	CHECK_TEXT(text, "");
	put('{', 1);
	put('}', 1);
	CHECK_EQ(print(WP_TYPE_JSONB), WP_OK);
	CHECK_TEXT(text, "{}");
	value.data[0] = 2;
	CHECK_EQ(print(WP_TYPE_JSONB), WP_CONFIG);
}

static void a_uuid_has_sixteen_bytes(void **state)
{
	refuses_sizes_around(WP_TYPE_UUID, 16);
	value.size = 0;
	put(0x0123456789ABCDEF, 8);
	put(0xFEDCBA9876543210, 8);
	CHECK_EQ(print(WP_TYPE_UUID), WP_OK);
	CHECK_TEXT(text, "01234567-89ab-cdef-fedc-ba9876543210");
}

static void a_bytea_is_hexadecimal(void **state)
{
	value.size = 0;
	CHECK_EQ(print(WP_TYPE_BYTEA), WP_OK);
	CHECK_TEXT(text, "\\x");
	put(0x00FF7F, 3);
	CHECK_EQ(print(WP_TYPE_BYTEA), WP_OK);
	CHECK_TEXT(text, "\\x00ff7f");
}

static void a_byte_of_the_catalogs_is_octal_unless_it_is_ascii(void **state)
{
	refuses_sizes_around(WP_TYPE_CHAR, 1);
	CHECK_TEXT(of_number(WP_TYPE_CHAR, 1, 0), "");
	CHECK_TEXT(of_number(WP_TYPE_CHAR, 1, 1), "\x01");
	CHECK_TEXT(of_number(WP_TYPE_CHAR, 1, 'r'), "r");
	CHECK_TEXT(of_number(WP_TYPE_CHAR, 1, 0x7F), "\x7f");
	CHECK_TEXT(of_number(WP_TYPE_CHAR, 1, 0x80), "\\200");
	CHECK_TEXT(of_number(WP_TYPE_CHAR, 1, 0xFF), "\\377");
}

static void a_type_that_is_not_known_is_refused(void **state)
{
	value.size = 0;
	put('x', 1);
	CHECK_EQ(print(WP_TYPE_OTHER), WP_CONFIG);
}

static void a_boolean_is_t_or_f(void **state)
{
	refuses_sizes_around(WP_TYPE_BOOL, 1);
	CHECK_TEXT(of_number(WP_TYPE_BOOL, 1, 0), "f");
	CHECK_TEXT(of_number(WP_TYPE_BOOL, 1, 1), "t");
	refuses_number(WP_TYPE_BOOL, 1, 2);
}

int main(void)
{
	return RUN(PLAIN(a_text_is_itself_and_takes_no_room),
		   PLAIN(a_jsonb_has_a_version_before_its_text), PLAIN(a_uuid_has_sixteen_bytes),
		   PLAIN(a_bytea_is_hexadecimal),
		   PLAIN(a_byte_of_the_catalogs_is_octal_unless_it_is_ascii),
		   PLAIN(a_type_that_is_not_known_is_refused), PLAIN(a_boolean_is_t_or_f));
}
