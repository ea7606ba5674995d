#include "support/check.h"
#include "walpost/values/moment.h"

static int64_t us_of(enum wp_type type, const char *text)
{
	struct wp_error error = { "" };
	int64_t us = -1;

	enum wp_rc rc = wp_moment_us(type, wp_span_of(text), &us, &error);
	CHECK_TEXT(error.text, "");
	CHECK_EQ(rc, WP_OK);
	return us;
}

static int32_t days_of(const char *text)
{
	int32_t days = -1;

	CHECK_EQ(wp_moment_days(wp_span_of(text), &days, NULL), WP_OK);
	return days;
}

static void refused(enum wp_type type, const char *text, const char *part)
{
	struct wp_error error = { "" };
	int64_t us = 4711;

	CHECK_EQ(wp_moment_us(type, wp_span_of(text), &us, &error), WP_DATA);
	CHECK_HAS(error.text, part);
	CHECK_EQ(us, 4711);
}

static void iso_is(int64_t us, int digits, const char *wanted)
{
	struct wp_buffer into;

	wp_buffer_init(&into, 64);
	CHECK_EQ(wp_moment_write_iso(&into, us, digits), WP_OK);
	CHECK_SPAN(wp_buffer_span(&into), wanted);
	wp_buffer_release(&into);
}

static void timestamps_count_microseconds_since_1970(void **state)
{
	CHECK_EQ(us_of(WP_TYPE_TIMESTAMP, "1970-01-01 00:00:00"), 0);
	CHECK_EQ(us_of(WP_TYPE_TIMESTAMP, "1969-12-31 23:59:59.999999"), -1);
	CHECK_EQ(us_of(WP_TYPE_TIMESTAMP, "1970-01-01 00:00:00.000001"), 1);
	CHECK_EQ(us_of(WP_TYPE_TIMESTAMP, "2024-02-29 12:34:56.789012"), 1709210096789012);
	CHECK_EQ(us_of(WP_TYPE_TIMESTAMP, "2024-02-29 12:34:56.7"), 1709210096700000);
	CHECK_EQ(us_of(WP_TYPE_DATE, "2024-02-29"), 1709164800000000);
}

static void an_offset_is_taken_away(void **state)
{
	CHECK_EQ(us_of(WP_TYPE_TIMESTAMPTZ, "2024-02-29 10:34:56.789012+00"), 1709202896789012);
	CHECK_EQ(us_of(WP_TYPE_TIMESTAMPTZ, "2024-02-29 12:34:56.789012+02"), 1709202896789012);
	CHECK_EQ(us_of(WP_TYPE_TIMESTAMPTZ, "2024-02-29 16:04:56.789012+05:30"), 1709202896789012);
	CHECK_EQ(us_of(WP_TYPE_TIMESTAMPTZ, "1970-01-01 00:53:28+00:53:28"), 0);
	CHECK_EQ(us_of(WP_TYPE_TIMESTAMPTZ, "1969-12-31 16:29:59-07:30"), -1000000);
}

static void a_time_counts_from_midnight_and_may_be_its_end(void **state)
{
	CHECK_EQ(us_of(WP_TYPE_TIME, "00:00:00"), 0);
	CHECK_EQ(us_of(WP_TYPE_TIME, "12:34:56.789012"), 45296789012);
	CHECK_EQ(us_of(WP_TYPE_TIME, "23:59:59.999999"), 86399999999);
	CHECK_EQ(us_of(WP_TYPE_TIME, "24:00:00"), 86400000000);
	refused(WP_TYPE_TIME, "24:00:00.000001", "not a time");
	refused(WP_TYPE_TIME, "24:00:01", "not a time");
	refused(WP_TYPE_TIME, "25:00:00", "not a time");
	refused(WP_TYPE_TIMESTAMP, "2024-02-29 24:00:00", "not a timestamp");
}

static void dates_reach_from_4713_bc_to_5874897(void **state)
{
	CHECK_EQ(days_of("1970-01-01"), 0);
	CHECK_EQ(days_of("1969-12-31"), -1);
	CHECK_EQ(days_of("2024-02-29"), 19782);
	CHECK_EQ(days_of("0001-01-01"), -719162);
	CHECK_EQ(days_of("0001-12-31 BC"), -719163);
	CHECK_EQ(days_of("4714-11-24 BC"), -2440588);
	CHECK_EQ(days_of("5874897-12-31"), 2145042905);
	CHECK_EQ(days_of("5881580-07-11"), INT32_MAX);
	CHECK_EQ(wp_moment_days(wp_span_of("5881580-07-12"), &(int32_t){ 0 }, NULL), WP_DATA);
	CHECK_EQ(days_of("5877642-06-23 BC"), INT32_MIN);
	CHECK_EQ(wp_moment_days(wp_span_of("5877642-06-22 BC"), &(int32_t){ 0 }, NULL), WP_DATA);
}

static void leap_years_are_those_of_the_gregorian_calendar(void **state)
{
	CHECK_EQ(days_of("2000-02-29") + 1, days_of("2000-03-01"));
	CHECK_EQ(days_of("1900-02-28") + 1, days_of("1900-03-01"));
	CHECK_EQ(days_of("0001-02-29 BC") + 1, days_of("0001-03-01 BC"));
	refused(WP_TYPE_DATE, "1900-02-29", "not a date");
	refused(WP_TYPE_DATE, "2023-02-29", "not a date");
	refused(WP_TYPE_DATE, "0002-02-29 BC", "not a date");
	refused(WP_TYPE_DATE, "2024-04-31", "not a date");
}

/* Those of Postgres's last 29 years have none: it counts from 2000. */
static void timestamps_up_to_294247_have_microseconds(void **state)
{
	CHECK_EQ(us_of(WP_TYPE_TIMESTAMP, "4714-11-24 00:00:00 BC"), -210866803200000000);
	CHECK_EQ(us_of(WP_TYPE_TIMESTAMP, "294247-01-08 23:59:59.999999"), 9223371935999999999);
	refused(WP_TYPE_TIMESTAMP, "294247-01-09 00:00:00", "is out of range");
	refused(WP_TYPE_TIMESTAMP, "294276-12-31 23:59:59.999999", "is out of range");
	refused(WP_TYPE_TIMESTAMP, "300000-01-01 00:00:00 BC", "is out of range");
	refused(WP_TYPE_DATE, "5874897-12-31", "the date 5874897-12-31 is out of range");
}

static void infinity_is_no_moment(void **state)
{
	refused(WP_TYPE_DATE, "infinity", "the date is infinity, which is not a point in time");
	refused(WP_TYPE_TIMESTAMP, "-infinity", "the timestamp is -infinity");
	refused(WP_TYPE_TIMESTAMPTZ, "infinity", "the timestamptz is infinity");
	CHECK_EQ(wp_moment_days(wp_span_of("infinity"), &(int32_t){ 0 }, NULL), WP_DATA);
}

static void what_postgres_does_not_print_is_refused(void **state)
{
	static const char *const texts[] = {
		"",
		"2024-02-29",
		"2024-02-29T12:34:56",
		"2024-02-29 12:34",
		"2024-02-29 12:34:56.",
		"2024-02-29 12:34:56.1234567",
		"2024-02-29 12:34:56 AD",
		"2024-02-29 12:34:56 BC ",
		"2024-02-29 12:34:56+00",
		"2024-00-29 12:34:56",
		"2024-13-29 12:34:56",
		"2024-02-00 12:34:56",
		"2024-02-29 12:60:56",
		"2024-02-29 12:34:60",
		"0000-02-29 12:34:56",
		"024-02-29 12:34:56",
		"12345678-02-29 12:34:56",
		"2024-2-29 12:34:56",
		"-024-02-29 12:34:56",
		"Thu Feb 29 12:34:56 2024",
	};
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		refused(WP_TYPE_TIMESTAMP, texts[i], "is not a timestamp in Postgres's format");
	refused(WP_TYPE_TIMESTAMPTZ, "2024-02-29 12:34:56", "is not a timestamptz");
	refused(WP_TYPE_TIMESTAMPTZ, "2024-02-29 12:34:56+24", "is not a timestamptz");
	refused(WP_TYPE_TIMESTAMPTZ, "2024-02-29 12:34:56 CET", "is not a timestamptz");
}

static void iso_texts_have_the_digits_that_are_wanted(void **state)
{
	iso_is(1709202896789012, 6, "2024-02-29T10:34:56.789012Z");
	iso_is(1709202896789012, 3, "2024-02-29T10:34:56.789Z");
	iso_is(1709202896789012, 1, "2024-02-29T10:34:56.7Z");
	iso_is(1709202896000000, 6, "2024-02-29T10:34:56.000000Z");
	iso_is(1709202896000000, 0, "2024-02-29T10:34:56Z");
	iso_is(1709202896500000, 0, "2024-02-29T10:34:56.5Z");
	iso_is(-1, 6, "1969-12-31T23:59:59.999999Z");
}

static void iso_years_have_four_digits_or_a_sign(void **state)
{
	iso_is(us_of(WP_TYPE_DATE, "9999-12-31"), 0, "9999-12-31T00:00:00Z");
	iso_is(us_of(WP_TYPE_DATE, "10000-01-01"), 0, "+10000-01-01T00:00:00Z");
	iso_is(us_of(WP_TYPE_DATE, "0001-01-01"), 0, "0001-01-01T00:00:00Z");
	iso_is(us_of(WP_TYPE_DATE, "0001-12-31 BC"), 0, "0000-12-31T00:00:00Z");
	iso_is(us_of(WP_TYPE_DATE, "0044-03-15 BC"), 0, "-0043-03-15T00:00:00Z");
	iso_is(INT64_MIN, 6, "-290308-12-21T19:59:05.224192Z");
	iso_is(INT64_MAX, 6, "+294247-01-10T04:00:54.775807Z");
}

static void an_iso_text_fits_or_not(void **state)
{
	struct wp_buffer into;

	wp_buffer_init(&into, 27);
	CHECK_EQ(wp_moment_write_iso(&into, 0, 6), WP_OK);
	wp_buffer_release(&into);
	wp_buffer_init(&into, 26);
	CHECK_EQ(wp_moment_write_iso(&into, 0, 6), WP_FULL);
	wp_buffer_release(&into);
}

int main(void)
{
	return RUN(PLAIN(timestamps_count_microseconds_since_1970), PLAIN(an_offset_is_taken_away),
		   PLAIN(a_time_counts_from_midnight_and_may_be_its_end),
		   PLAIN(dates_reach_from_4713_bc_to_5874897),
		   PLAIN(leap_years_are_those_of_the_gregorian_calendar),
		   PLAIN(timestamps_up_to_294247_have_microseconds), PLAIN(infinity_is_no_moment),
		   PLAIN(what_postgres_does_not_print_is_refused),
		   PLAIN(iso_texts_have_the_digits_that_are_wanted),
		   PLAIN(iso_years_have_four_digits_or_a_sign), PLAIN(an_iso_text_fits_or_not));
}
