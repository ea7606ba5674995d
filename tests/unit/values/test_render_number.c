#include <stdlib.h>

#include "rendering.h"

static void integers_stay_as_they_are(void **state)
{
	check_forms(column_of(WP_TYPE_INT2, -1), "7", "7", "7");
	check_forms(column_of(WP_TYPE_INT4, -1), "42", "42", "42");
	check_forms(column_of(WP_TYPE_INT8, -1), "9000000000", "9000000000", "9000000000");
	check_forms(column_of(WP_TYPE_INT8, -1), "0", "0", "0");
}

static void an_integer_has_the_range_of_its_type(void **state)
{
	check_forms(column_of(WP_TYPE_INT2, -1), "-32768", "-32768", "-32768");
	check_forms(column_of(WP_TYPE_INT2, -1), "32767", "32767", "32767");
	check_refused(wp_render_json, column_of(WP_TYPE_INT2, -1), "32768", "not an int2");
	check_refused(wp_render_json, column_of(WP_TYPE_INT2, -1), "-32769", "not an int2");
	check_forms(column_of(WP_TYPE_INT4, -1), "-2147483648", "-2147483648", "-2147483648");
	check_forms(column_of(WP_TYPE_INT4, -1), "2147483647", "2147483647", "2147483647");
	check_refused(wp_render_json, column_of(WP_TYPE_INT4, -1), "2147483648", "not an int4");
	check_refused(wp_render_json, column_of(WP_TYPE_INT4, -1), "-2147483649", "not an int4");
	check_forms(column_of(WP_TYPE_INT8, -1), "-9223372036854775808", "-9223372036854775808",
		    "-9223372036854775808");
	check_forms(column_of(WP_TYPE_INT8, -1), "9223372036854775807", "9223372036854775807",
		    "9223372036854775807");
	check_refused(wp_render_json, column_of(WP_TYPE_INT8, -1), "9223372036854775808",
		      "not an int8");
	check_refused(wp_render_json, column_of(WP_TYPE_INT8, -1), "-9223372036854775809",
		      "not an int8");
	check_refused(wp_render_json, column_of(WP_TYPE_INT8, -1), "99999999999999999999",
		      "not an int8");
}

static void what_is_no_integer_is_refused(void **state)
{
	static const char *const texts[] = { "",   "-",	  "+1", "01", "-0",  "1.0",
					     "1e", "0x1", "1 ", " 1", "--1", "NaN" };

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		check_refused(wp_render_string, column_of(WP_TYPE_INT4, -1), texts[i],
			      "is not an int4 in Postgres's format");
}

static void doubles_are_those(const char *const pairs[][2], size_t count)
{
	for (size_t i = 0; i < count; i++)
		check_forms(column_of(WP_TYPE_FLOAT8, -1), pairs[i][0], pairs[i][1], pairs[i][1]);
}

#define DOUBLES(pairs_) doubles_are_those((pairs_), sizeof(pairs_) / sizeof((pairs_)[0]))

static void doubles_between_a_thousandth_and_ten_million_have_no_exponent(void **state)
{
	static const char *const pairs[][2] = {
		{ "2.25", "2.25" },
		{ "0", "0.0" },
		{ "-0", "-0.0" },
		{ "1", "1.0" },
		{ "-100", "-100.0" },
		{ "0.002", "0.002" },
		{ "0.001", "0.001" },
		{ "0.0009999999999999998", "9.999999999999998E-4" },
		{ "0.00099999", "9.9999E-4" },
		{ "9999999", "9999999.0" },
		{ "9999999.999999998", "9999999.999999998" },
		{ "10000000", "1.0E7" },
		{ "12345000", "1.2345E7" },
		{ "123456.789", "123456.789" },
		{ "1e+300", "1.0E300" },
		{ "-1.5e-10", "-1.5E-10" },
		{ "1.7976931348623157e+308", "1.7976931348623157E308" },
		{ "2.2250738585072014e-308", "2.2250738585072014E-308" },
	};
	DOUBLES(pairs);
}

/* The examples of Java's documentation, and of what was wrong before JDK 19. */
static void doubles_have_the_fewest_digits_but_two(void **state)
{
	static const char *const pairs[][2] = {
		{ "5e-324", "4.9E-324" },
		{ "1e-323", "9.9E-324" },
		{ "2e-323", "2.0E-323" },
		{ "1e+23", "1.0E23" },
		{ "9.999999999999999e+22", "1.0E23" },
		{ "2e+23", "2.0E23" },
		{ "8.41e+21", "8.41E21" },
		{ "9007199254740992", "9.007199254740992E15" },
		{ "2.2e-322", "2.2E-322" },
	};
	DOUBLES(pairs);
}

/* The nearest decimal with 16 digits is read as another number, but the one above it will do. */
static void below_a_power_of_two_a_decimal_above_may_be_the_shortest(void **state)
{
	static const char *const pairs[][2] = {
		{ "5.684341886080802e-14", "5.684341886080802E-14" },
		{ "5.6843418860808015e-14", "5.684341886080802E-14" },
	};
	DOUBLES(pairs);
}

static void floats_are_shorter(void **state)
{
	static const char *const pairs[][2] = {
		{ "1.5", "1.5" },
		{ "0.1", "0.1" },
		{ "-0", "-0.0" },
		{ "1e-45", "1.4E-45" },
		{ "3e-45", "2.8E-45" },
		{ "3.4028235e+38", "3.4028235E38" },
		{ "1.1754944e-38", "1.1754944E-38" },
		{ "1.6777216e+07", "1.6777216E7" },
		{ "8388608", "8388608.0" },
		{ "1e+10", "1.0E10" },
		{ "0.001", "0.001" },
	};
	for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++)
		check_forms(column_of(WP_TYPE_FLOAT4, -1), pairs[i][0], pairs[i][1], pairs[i][1]);
}

static void special_floats_are_words_and_strings_in_json(void **state)
{
	static const char *const words[][2] = { { "NaN", "\"NaN\"" },
						{ "Infinity", "\"Infinity\"" },
						{ "-Infinity", "\"-Infinity\"" } };

	for (size_t i = 0; i < 3; i++) {
		check_forms(column_of(WP_TYPE_FLOAT4, -1), words[i][0], words[i][0], words[i][1]);
		check_forms(column_of(WP_TYPE_FLOAT8, -1), words[i][0], words[i][0], words[i][1]);
	}
}

static void what_is_no_float_is_refused(void **state)
{
	static const char *const texts[] = { "",    "-",   ".5",    "5.",    "1e", "1e+",
					     "inf", "nan", "0x1p3", "1e999", "1 ", "1,5" };

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		check_refused(wp_render_json, column_of(WP_TYPE_FLOAT8, -1), texts[i],
			      "is not a float8 in Postgres's format");
		check_refused(wp_render_header, column_of(WP_TYPE_FLOAT4, -1), texts[i],
			      "not a float4");
	}
	check_refused(wp_render_json, column_of(WP_TYPE_FLOAT4, -1), "1e39", "not a float4");
	check_refused(wp_render_json, column_of(WP_TYPE_FLOAT8, -1),
		      "0.00000000000000000000000000000000000000000000000000000000000001",
		      "not a float8");
}

static void a_numeric_is_plain_or_the_base64_of_its_unscaled_value(void **state)
{
	struct wp_column_type type = column_of(WP_TYPE_NUMERIC, NUMERIC(12, 3));

	check_forms(type, "12345.678", "12345.678", "\"ALxhTg==\"");
	check_forms(type, "-0.001", "-0.001", "\"/w==\"");
	check_forms(type, "0.000", "0.000", "\"AA==\"");
	check_forms(type, "999999999.999", "999999999.999", "\"AOjUpQ//\"");
	type = column_of(WP_TYPE_NUMERIC, NUMERIC(5, 0));
	check_forms(type, "-99999", "-99999", "\"/nlh\"");
	check_forms(type, "0", "0", "\"AA==\"");
}

static void the_sign_has_its_bit(void **state)
{
	struct wp_column_type type = column_of(WP_TYPE_NUMERIC, NUMERIC(30, 0));

	check_forms(type, "127", "127", "\"fw==\"");
	check_forms(type, "128", "128", "\"AIA=\"");
	check_forms(type, "-128", "-128", "\"gA==\"");
	check_forms(type, "-129", "-129", "\"/38=\"");
	check_forms(type, "255", "255", "\"AP8=\"");
	check_forms(type, "256", "256", "\"AQA=\"");
	check_forms(type, "-256", "-256", "\"/wA=\"");
	check_forms(type, "4294967295", "4294967295", "\"AP////8=\"");
	check_forms(type, "4294967296", "4294967296", "\"AQAAAAA=\"");
	check_forms(type, "-4294967296", "-4294967296", "\"/wAAAAA=\"");
	check_forms(type, "-9223372036854775808", "-9223372036854775808", "\"gAAAAAAAAAA=\"");
	check_forms(type, "-9223372036854775809", "-9223372036854775809", "\"/3//////////\"");
}

/* BigDecimal.toString() has an exponent where the first digit is further behind than the seventh. */
static void a_small_numeric_has_an_exponent_as_a_big_decimal_has(void **state)
{
	struct wp_column_type type = column_of(WP_TYPE_NUMERIC, NUMERIC(20, 10));

	check_rendered(wp_render_header, type, "0.0000010000", "0.0000010000");
	check_rendered(wp_render_header, type, "0.0000009999", "9.999E-7");
	check_rendered(wp_render_header, type, "-0.0000001234", "-1.234E-7");
	check_rendered(wp_render_header, type, "0.0000001000", "1.000E-7");
	check_rendered(wp_render_string, type, "0.0000000001", "1E-10");
	check_rendered(wp_render_string, type, "0.0000000000", "0E-10");
	check_rendered(wp_render_string, column_of(WP_TYPE_NUMERIC, NUMERIC(9, 7)), "0.0000000",
		       "0E-7");
	check_rendered(wp_render_string, column_of(WP_TYPE_NUMERIC, NUMERIC(9, 6)), "0.000000",
		       "0.000000");
}

static void a_numeric_gets_the_scale_of_its_column(void **state)
{
	struct wp_column_type type = column_of(WP_TYPE_NUMERIC, NUMERIC(12, 3));

	check_forms(type, "1", "1.000", "\"A+g=\"");
	check_forms(type, "1.5", "1.500", "\"Bdw=\"");
	check_forms(type, "1.50000", "1.500", "\"Bdw=\"");
	check_refused(wp_render_json, type, "1.5001",
		      "the numeric 1.5001 has more fractional digits than the column's scale 3");
	check_rendered(wp_render_string, column_of(WP_TYPE_NUMERIC, NUMERIC(12, 10)), "0", "0E-10");
}

static void a_numeric_without_scale_brings_its_own(void **state)
{
	struct wp_column_type type = column_of(WP_TYPE_NUMERIC, -1);

	check_forms(type, "3.14", "{\"scale\":2,\"value\":\"ATo=\"}",
		    "{\"scale\":2,\"value\":\"ATo=\"}");
	check_forms(type, "100000000000000000000.000000001",
		    "{\"scale\":9,\"value\":\"AUMeD65tchfKoAAAAQ==\"}",
		    "{\"scale\":9,\"value\":\"AUMeD65tchfKoAAAAQ==\"}");
	check_rendered(wp_render_json, type, "100", "{\"scale\":0,\"value\":\"ZA==\"}");
	check_rendered(wp_render_json, type, "-1.500", "{\"scale\":1,\"value\":\"8Q==\"}");
	check_rendered(wp_render_json, type, "5.000", "{\"scale\":0,\"value\":\"BQ==\"}");
	check_rendered(wp_render_json, type, "0.000", "{\"scale\":0,\"value\":\"AA==\"}");
	check_rendered(wp_render_json, type, "0", "{\"scale\":0,\"value\":\"AA==\"}");
	check_rendered(wp_render_json, type, "0.00001", "{\"scale\":5,\"value\":\"AQ==\"}");
}

static void what_is_no_numeric_is_refused(void **state)
{
	static const char *const texts[] = {
		"", "-", ".5", "5.", "1e5", "+1", "1.-5", "--1", "1 "
	};

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		check_refused(wp_render_json, column_of(WP_TYPE_NUMERIC, -1), texts[i],
			      "\" is not a numeric in Postgres's format");
	check_refused(wp_render_json, column_of(WP_TYPE_NUMERIC, -1), "NaN", "a numeric is NaN");
	check_refused(wp_render_header, column_of(WP_TYPE_NUMERIC, NUMERIC(5, 2)), "-Infinity",
		      "a numeric is -Infinity");
}

static char *text_of(size_t whole, size_t fraction)
{
	size_t size = whole + (fraction > 0) + fraction;
	char *text = malloc(size + 1);

	CHECK(text != NULL);
	memset(text, '9', size);
	if (fraction > 0)
		text[whole] = '.';
	text[size] = '\0';
	return text;
}

static void the_longest_numeric_of_postgres_is_taken_and_one_digit_more_is_not(void **state)
{
	struct wp_column_type type = column_of(WP_TYPE_NUMERIC, -1);
	char *longest = text_of(131072, 16383);
	char *longer = text_of(131073, 16383);
	struct wp_buffer into;

	wp_buffer_init(&into, 1 << 20);
	CHECK_EQ(wp_render_json(&into, &type, wp_span_of(longest), NULL), WP_OK);
	/* 10^147455 - 1 has 489,836 bits, one more than which are 61,230 bytes: as base64 81,640. */
	CHECK_EQ(into.size, strlen("{\"scale\":16383,\"value\":\"\"}") + 81640);
	wp_buffer_release(&into);
	check_refused(wp_render_json, type, longer, "\" is not a numeric in Postgres's format");
	free(longest);
	free(longer);
}

int main(void)
{
	return RUN(PLAIN(integers_stay_as_they_are), PLAIN(an_integer_has_the_range_of_its_type),
		   PLAIN(what_is_no_integer_is_refused),
		   PLAIN(doubles_between_a_thousandth_and_ten_million_have_no_exponent),
		   PLAIN(doubles_have_the_fewest_digits_but_two),
		   PLAIN(below_a_power_of_two_a_decimal_above_may_be_the_shortest),
		   PLAIN(floats_are_shorter), PLAIN(special_floats_are_words_and_strings_in_json),
		   PLAIN(what_is_no_float_is_refused),
		   PLAIN(a_numeric_is_plain_or_the_base64_of_its_unscaled_value),
		   PLAIN(the_sign_has_its_bit),
		   PLAIN(a_small_numeric_has_an_exponent_as_a_big_decimal_has),
		   PLAIN(a_numeric_gets_the_scale_of_its_column),
		   PLAIN(a_numeric_without_scale_brings_its_own),
		   PLAIN(what_is_no_numeric_is_refused),
		   PLAIN(the_longest_numeric_of_postgres_is_taken_and_one_digit_more_is_not));
}
