#include <stdio.h>

#include "support/memory.h"
#include "rendering.h"

static void texts_stay_and_are_strings_in_json(void **state)
{
	check_forms(column_of(WP_TYPE_TEXT, -1), "text \xC3\xA9 \"q\"", "text \xC3\xA9 \"q\"",
		    "\"text \xC3\xA9 \\\"q\\\"\"");
	check_forms(column_of(WP_TYPE_TEXT, 255 + 4), "", "", "\"\"");
	check_forms(column_of(WP_TYPE_TEXT, -1), "\xF0\x9F\x98\x80\n", "\xF0\x9F\x98\x80\n",
		    "\"\\uD83D\\uDE00\\n\"");
	check_forms(column_of(WP_TYPE_CHAR, -1), "x", "x", "\"x\"");
	check_forms(column_of(WP_TYPE_ENUM, -1), "happy", "happy", "\"happy\"");
	check_forms(column_of(WP_TYPE_JSON, -1), " {\"a\" :1}", " {\"a\" :1}",
		    "\" {\\\"a\\\" :1}\"");
	check_forms(column_of(WP_TYPE_JSONB, -1), "{\"k\": [1, null]}", "{\"k\": [1, null]}",
		    "\"{\\\"k\\\": [1, null]}\"");
	check_forms(column_of(WP_TYPE_JSONB, -1), "[]", "[]", "\"[]\"");
	check_forms(column_of(WP_TYPE_UUID, -1), "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11",
		    "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11",
		    "\"a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11\"");
}

static void a_text_that_is_not_utf8_is_refused_in_json_only(void **state)
{
	check_rendered(wp_render_string, column_of(WP_TYPE_TEXT, -1), "a\xFF", "a\xFF");
	check_rendered(wp_render_header, column_of(WP_TYPE_TEXT, -1), "a\xFF", "a\xFF");
	check_refused(wp_render_json, column_of(WP_TYPE_TEXT, -1), "a\xFF",
		      "the text \"a\\xff\" is not UTF-8");
	check_refused(wp_render_json, column_of(WP_TYPE_JSON, -1), "\xED\xA0\x80", "not UTF-8");
}

static void bytes_are_base64(void **state)
{
	struct wp_column_type bytea = column_of(WP_TYPE_BYTEA, -1);

	check_forms(bytea, "\\xdeadbeef00", "3q2+7wA=", "\"3q2+7wA=\"");
	check_forms(bytea, "\\x", "", "\"\"");
	check_forms(bytea, "\\xff", "/w==", "\"/w==\"");
	check_refused(wp_render_header, bytea, "", "\" is not a bytea in hex format");
	check_refused(wp_render_header, bytea, "\\", "\" is not a bytea in hex format");
	check_refused(wp_render_header, bytea, "\\x0", "\" is not a bytea in hex format");
	check_refused(wp_render_json, bytea, "\\x0g", "\"\\x0g\" is not a bytea");
	check_refused(wp_render_string, bytea, "abcd", "\" is not a bytea in hex format");
}

static void a_bool_is_a_word(void **state)
{
	struct wp_column_type boolean = column_of(WP_TYPE_BOOL, -1);

	check_forms(boolean, "t", "true", "true");
	check_forms(boolean, "f", "false", "false");
	check_refused(wp_render_json, boolean, "true", "\"true\" is not a bool");
	check_refused(wp_render_json, boolean, "", "\" is not a bool in Postgres's format");
}

static void a_date_counts_days(void **state)
{
	struct wp_column_type date = column_of(WP_TYPE_DATE, -1);

	check_forms(date, "2024-02-29", "19782", "19782");
	check_forms(date, "1969-12-31", "-1", "-1");
	check_forms(date, "5874897-12-31", "2145042905", "2145042905");
	check_refused(wp_render_json, date, "2024-02-30", "not a date");
}

static void a_time_counts_with_the_precision_of_its_column(void **state)
{
	const char *time = "12:34:56.789012";

	check_forms(column_of(WP_TYPE_TIME, -1), time, "45296789012", "45296789012");
	check_forms(column_of(WP_TYPE_TIME, 6), time, "45296789012", "45296789012");
	check_forms(column_of(WP_TYPE_TIME, 4), time, "45296789012", "45296789012");
	check_forms(column_of(WP_TYPE_TIME, 3), time, "45296789", "45296789");
	check_forms(column_of(WP_TYPE_TIME, 0), time, "45296789", "45296789");
	check_forms(column_of(WP_TYPE_TIME, -1), "00:00:00", "0", "0");
	check_forms(column_of(WP_TYPE_TIME, -1), "24:00:00", "86400000000", "86400000000");
	check_forms(column_of(WP_TYPE_TIME, 0), "24:00:00", "86400000", "86400000");
	check_refused(wp_render_json, column_of(WP_TYPE_TIME, 0), "24:00:01", "not a time");
}

static void a_timestamp_counts_with_the_precision_of_its_column(void **state)
{
	check_forms(column_of(WP_TYPE_TIMESTAMP, -1), "2024-02-29 12:34:56.789012",
		    "1709210096789012", "1709210096789012");
	check_forms(column_of(WP_TYPE_TIMESTAMP, 4), "2024-02-29 12:34:56.789", "1709210096789000",
		    "1709210096789000");
	check_forms(column_of(WP_TYPE_TIMESTAMP, 3), "2024-02-29 12:34:56.789", "1709210096789",
		    "1709210096789");
	check_forms(column_of(WP_TYPE_TIMESTAMP, 0), "1970-01-01 00:00:01", "1000", "1000");
	check_forms(column_of(WP_TYPE_TIMESTAMP, -1), "1969-12-31 23:59:59.999999", "-1", "-1");
	check_forms(column_of(WP_TYPE_TIMESTAMP, 3), "1969-12-31 23:59:59.999", "-1", "-1");
	check_forms(column_of(WP_TYPE_TIMESTAMP, 3), "1969-12-31 23:59:59", "-1000", "-1000");
	check_forms(column_of(WP_TYPE_TIMESTAMP, 3), "1970-01-01 00:00:00", "0", "0");
	check_refused(wp_render_json, column_of(WP_TYPE_TIMESTAMP, 3), "294276-01-01 00:00:00",
		      "is out of range");
}

static void a_timestamptz_is_iso_with_the_precision_of_its_column(void **state)
{
	const char *time = "2024-02-29 10:34:56.789012+00";

	check_forms(column_of(WP_TYPE_TIMESTAMPTZ, -1), time, "2024-02-29T10:34:56.789012Z",
		    "\"2024-02-29T10:34:56.789012Z\"");
	check_forms(column_of(WP_TYPE_TIMESTAMPTZ, -1), "1900-01-01 00:00:00+00",
		    "1900-01-01T00:00:00.000000Z", "\"1900-01-01T00:00:00.000000Z\"");
	check_forms(column_of(WP_TYPE_TIMESTAMPTZ, 3), "2024-02-29 10:34:56.7+00",
		    "2024-02-29T10:34:56.700Z", "\"2024-02-29T10:34:56.700Z\"");
	check_forms(column_of(WP_TYPE_TIMESTAMPTZ, 0), "2024-02-29 10:34:56+00",
		    "2024-02-29T10:34:56Z", "\"2024-02-29T10:34:56Z\"");
	check_refused(wp_render_header, column_of(WP_TYPE_TIMESTAMPTZ, 0), "2024-02-29 10:34:56",
		      "not a timestamptz");
}

static void infinity_is_what_debezium_makes_of_it(void **state)
{
	check_forms(column_of(WP_TYPE_TIMESTAMP, -1), "infinity", "9223372036825200000",
		    "9223372036825200000");
	check_forms(column_of(WP_TYPE_TIMESTAMP, -1), "-infinity", "-9223372036832400000",
		    "-9223372036832400000");
	check_forms(column_of(WP_TYPE_TIMESTAMP, 3), "infinity", "9223372036825200",
		    "9223372036825200");
	check_forms(column_of(WP_TYPE_TIMESTAMP, 3), "-infinity", "-9223372036832400",
		    "-9223372036832400");
	check_forms(column_of(WP_TYPE_TIMESTAMPTZ, -1), "infinity", "infinity", "\"infinity\"");
	check_forms(column_of(WP_TYPE_TIMESTAMPTZ, 3), "-infinity", "-infinity", "\"-infinity\"");
	check_forms(column_of(WP_TYPE_DATE, -1), "infinity", "-2147472692", "-2147472692");
	check_forms(column_of(WP_TYPE_DATE, -1), "-infinity", "-2147472691", "-2147472691");
}

static void null_is_null_in_json_whatever_the_type(void **state)
{
	for (int type = WP_TYPE_TEXT; type < WP_TYPE_ARRAY; type++)
		check_rendered(wp_render_json, column_of((enum wp_type)type, -1), NULL, "null");
	check_rendered(wp_render_json, array_of(WP_TYPE_INT4, -1), NULL, "null");
}

static void all_types_are_known_but_other(void **state)
{
	struct wp_column_type type = column_of(WP_TYPE_OTHER, -1);

	CHECK(!wp_render_knows(&type));
	for (int known = WP_TYPE_TEXT; known < WP_TYPE_ARRAY; known++) {
		type = column_of((enum wp_type)known, -1);
		CHECK(wp_render_knows(&type));
		type = array_of((enum wp_type)known, -1);
		CHECK(wp_render_knows(&type));
	}
	type = array_of(WP_TYPE_OTHER, -1);
	CHECK(!wp_render_knows(&type));
	type = array_of(WP_TYPE_ARRAY, -1);
	CHECK(!wp_render_knows(&type));
}

static void check_known(enum wp_type type, int32_t modifier, bool wanted)
{
	struct wp_column_type column = column_of(type, modifier);
	struct wp_column_type array = array_of(type, modifier);

	CHECK_EQ(wp_render_knows(&column), wanted);
	CHECK_EQ(wp_render_knows(&array), wanted);
}

static void a_modifier_that_cannot_be_is_not_known(void **state)
{
	check_known(WP_TYPE_NUMERIC, NUMERIC(1, 0), true);
	check_known(WP_TYPE_NUMERIC, NUMERIC(1000, 1000), true);
	check_known(WP_TYPE_NUMERIC, NUMERIC(3, -1), false);
	check_known(WP_TYPE_NUMERIC, NUMERIC(1000, -1000), false);
	check_known(WP_TYPE_NUMERIC, NUMERIC(0, 0), false);
	check_known(WP_TYPE_NUMERIC, 3, false);
	check_known(WP_TYPE_NUMERIC, 0, false);
	check_known(WP_TYPE_TIME, 6, true);
	check_known(WP_TYPE_TIME, 7, false);
	check_known(WP_TYPE_TIMESTAMP, 0, true);
	check_known(WP_TYPE_TIMESTAMP, -2, false);
	check_known(WP_TYPE_TIMESTAMPTZ, 7, false);
	check_known(WP_TYPE_TEXT, 4711, true);
}

/* One of each way to write, and how many bytes it takes. */
static const struct sample {
	enum wp_type type;
	int32_t modifier;
	const char *text;
} samples[] = {
	{ WP_TYPE_TEXT, -1, "a\"b" },
	{ WP_TYPE_BYTEA, -1, "\\xdeadbeef00" },
	{ WP_TYPE_BOOL, -1, "t" },
	{ WP_TYPE_INT8, -1, "-42" },
	{ WP_TYPE_FLOAT8, -1, "-1.25e-10" },
	{ WP_TYPE_FLOAT8, -1, "-120" },
	{ WP_TYPE_FLOAT4, -1, "-0.05" },
	{ WP_TYPE_FLOAT4, -1, "NaN" },
	{ WP_TYPE_NUMERIC, -1, "3.14" },
	{ WP_TYPE_NUMERIC, NUMERIC(12, 3), "-0.25" },
	{ WP_TYPE_NUMERIC, NUMERIC(12, 10), "-0.0000000123" },
	{ WP_TYPE_DATE, -1, "2024-02-29" },
	{ WP_TYPE_TIMESTAMP, -1, "2024-02-29 12:34:56" },
	{ WP_TYPE_TIMESTAMPTZ, -1, "2024-02-29 12:34:56+00" },
};

/* What does not fit leaves nothing behind, at whatever byte the room ends. */
static void check_room(render_function *function, const struct wp_column_type *type,
		       const char *text)
{
	struct wp_buffer into;

	for (size_t room = 0;; room++) {
		wp_buffer_init(&into, room);
		enum wp_rc rc = function(&into, type, wp_span_of(text), NULL);
		size_t size = into.size;
		wp_buffer_release(&into);
		if (rc == WP_OK) {
			CHECK_EQ(size, room);
			return;
		}
		CHECK_EQ(rc, WP_FULL);
		CHECK_EQ(size, 0);
	}
}

static void without_room_nothing_is_left_behind(void **state)
{
	for (size_t i = 0; i < sizeof(samples) / sizeof(samples[0]); i++) {
		struct wp_column_type type = column_of(samples[i].type, samples[i].modifier);
		char array[64];
		(void)snprintf(array, sizeof(array), "{%s%s%s,NULL}",
			       samples[i].type == WP_TYPE_BYTEA ? "\"\\" : "",
			       samples[i].type == WP_TYPE_TEXT ? "\"a\\\"b" : samples[i].text,
			       samples[i].type <= WP_TYPE_BYTEA ? "\"" : "");
		check_room(wp_render_string, &type, samples[i].text);
		check_room(wp_render_json, &type, samples[i].text);
		type = array_of(samples[i].type, samples[i].modifier);
		check_room(wp_render_string, &type, array);
		check_room(wp_render_header, &type, array);
		check_room(wp_render_json, &type, array);
	}
}

/* Each allocation in turn fails; the last round has none that does. */
static void without_memory_nothing_is_left_behind(void **state)
{
	struct wp_column_type types[] = { column_of(WP_TYPE_BYTEA, -1),
					  column_of(WP_TYPE_NUMERIC, -1),
					  array_of(WP_TYPE_NUMERIC, NUMERIC(12, 3)) };
	const char *texts[] = { "\\xdeadbeef00", "3.14", "{1,2}" };

	for (size_t i = 0; i < 3; i++) {
		enum wp_rc rc = WP_NOMEM;
		size_t failed = 0;
		for (size_t count = 0; rc != WP_OK; count++) {
			struct wp_buffer into;
			wp_buffer_init(&into, 1000);
			memory_fails_after(count);
			rc = wp_render_json(&into, &types[i], wp_span_of(texts[i]), NULL);
			memory_works();
			CHECK(rc == WP_OK || rc == WP_NOMEM);
			CHECK_EQ(into.size == 0, rc == WP_NOMEM);
			failed += rc == WP_NOMEM;
			wp_buffer_release(&into);
		}
		CHECK(failed >= 2);
	}
}

static void a_reason_shows_the_beginning_of_a_value_only(void **state)
{
	struct wp_column_type type = column_of(WP_TYPE_INT4, -1);
	struct wp_error error = { "" };
	struct wp_buffer into;
	char text[2000];

	memset(text, 'x', sizeof(text));
	wp_buffer_init(&into, 1000);
	CHECK_EQ(wp_render_json(&into, &type,
				(struct wp_span){ (const uint8_t *)text, sizeof(text) }, &error),
		 WP_DATA);
	CHECK_HAS(error.text, "xxx...");
	CHECK(strlen(error.text) < 200);
	wp_buffer_release(&into);
}

int main(void)
{
	return RUN(PLAIN(texts_stay_and_are_strings_in_json),
		   PLAIN(a_text_that_is_not_utf8_is_refused_in_json_only), PLAIN(bytes_are_base64),
		   PLAIN(a_bool_is_a_word), PLAIN(a_date_counts_days),
		   PLAIN(a_time_counts_with_the_precision_of_its_column),
		   PLAIN(a_timestamp_counts_with_the_precision_of_its_column),
		   PLAIN(a_timestamptz_is_iso_with_the_precision_of_its_column),
		   PLAIN(infinity_is_what_debezium_makes_of_it),
		   PLAIN(null_is_null_in_json_whatever_the_type),
		   PLAIN(all_types_are_known_but_other),
		   PLAIN(a_modifier_that_cannot_be_is_not_known),
		   PLAIN(without_room_nothing_is_left_behind),
		   PLAIN(without_memory_nothing_is_left_behind),
		   PLAIN(a_reason_shows_the_beginning_of_a_value_only));
}
