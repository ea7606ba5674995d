#include "values.h"

static const char *of_date(int64_t days)
{
	return of_number(WP_TYPE_DATE, 4, (uint64_t)days);
}

static void a_date_may_be_before_christ_and_after_9999(void **state)
{
	refuses_sizes_around(WP_TYPE_DATE, 4);
	CHECK_TEXT(of_date(0), "2000-01-01");
	CHECK_TEXT(of_date(-1), "1999-12-31");
	CHECK_TEXT(of_date(59), "2000-02-29");
	CHECK_TEXT(of_date(-36466), "1900-02-28"); /* no leap year */
	CHECK_TEXT(of_date(-36465), "1900-03-01");
	CHECK_TEXT(of_date(-730119), "0001-01-01");
	CHECK_TEXT(of_date(-730120), "0001-12-31 BC");
	CHECK_TEXT(of_date(-730426), "0001-02-29 BC");
	CHECK_TEXT(of_date(2921939), "9999-12-31");
	CHECK_TEXT(of_date(2921940), "10000-01-01");
}

static void dates_end_where_those_of_postgres_do(void **state)
{
	CHECK_TEXT(of_date(-2451545), "4714-11-24 BC");
	refuses_number(WP_TYPE_DATE, 4, (uint64_t)INT64_C(-2451546));
	CHECK_TEXT(of_date(2145031948), "5874897-12-31");
	refuses_number(WP_TYPE_DATE, 4, 2145031949);
	CHECK_TEXT(of_date(INT32_MAX), "infinity");
	refuses_number(WP_TYPE_DATE, 4, INT32_MAX - 1);
	CHECK_TEXT(of_date(INT32_MIN), "-infinity");
	refuses_number(WP_TYPE_DATE, 4, (uint64_t)(INT32_MIN + INT64_C(1)));
}

static void a_time_has_no_zeroes_behind_its_fraction(void **state)
{
	refuses_sizes_around(WP_TYPE_TIME, 8);
	CHECK_TEXT(of_number(WP_TYPE_TIME, 8, 0), "00:00:00");
	CHECK_TEXT(of_number(WP_TYPE_TIME, 8, 1), "00:00:00.000001");
	CHECK_TEXT(of_number(WP_TYPE_TIME, 8, 100000), "00:00:00.1");
	CHECK_TEXT(of_number(WP_TYPE_TIME, 8, 120), "00:00:00.00012");
	CHECK_TEXT(of_number(WP_TYPE_TIME, 8, UINT64_C(45296000000)), "12:34:56");
	CHECK_TEXT(of_number(WP_TYPE_TIME, 8, UINT64_C(86399999999)), "23:59:59.999999");
	CHECK_TEXT(of_number(WP_TYPE_TIME, 8, UINT64_C(86400000000)), "24:00:00");
	refuses_number(WP_TYPE_TIME, 8, UINT64_C(86400000001));
	refuses_number(WP_TYPE_TIME, 8, UINT64_MAX);
}

static const char *of_timestamp(int64_t us)
{
	return of_number(WP_TYPE_TIMESTAMP, 8, (uint64_t)us);
}

static const char *of_timestamptz(int64_t us)
{
	return of_number(WP_TYPE_TIMESTAMPTZ, 8, (uint64_t)us);
}

static void a_timestamp_is_a_day_and_a_time(void **state)
{
	refuses_sizes_around(WP_TYPE_TIMESTAMP, 8);
	CHECK_TEXT(of_timestamp(0), "2000-01-01 00:00:00");
	CHECK_TEXT(of_timestamp(-1), "1999-12-31 23:59:59.999999");
	CHECK_TEXT(of_timestamp(-500000), "1999-12-31 23:59:59.5");
	CHECK_TEXT(of_timestamp(INT64_C(-730119) * 86400000000 - 1),
		   "0001-12-31 23:59:59.999999 BC");
}

static void a_timestamptz_is_in_utc_and_its_era_stands_last(void **state)
{
	refuses_sizes_around(WP_TYPE_TIMESTAMPTZ, 8);
	CHECK_TEXT(of_timestamptz(0), "2000-01-01 00:00:00+00");
	CHECK_TEXT(of_timestamptz(1500000), "2000-01-01 00:00:01.5+00");
	CHECK_TEXT(of_timestamptz(INT64_C(-730119) * 86400000000 - 1),
		   "0001-12-31 23:59:59.999999+00 BC");
	CHECK_TEXT(of_timestamptz(INT64_MAX), "infinity");
	CHECK_TEXT(of_timestamptz(INT64_MIN), "-infinity");
}

static void timestamps_end_where_those_of_postgres_do(void **state)
{
	CHECK_TEXT(of_timestamp(INT64_C(-211813488000000000)), "4714-11-24 00:00:00 BC");
	refuses_number(WP_TYPE_TIMESTAMP, 8, (uint64_t)INT64_C(-211813488000000001));
	CHECK_TEXT(of_timestamp(INT64_C(9223371331199999999)), "294276-12-31 23:59:59.999999");
	refuses_number(WP_TYPE_TIMESTAMP, 8, UINT64_C(9223371331200000000));
	CHECK_TEXT(of_timestamp(INT64_MAX), "infinity");
	refuses_number(WP_TYPE_TIMESTAMP, 8, INT64_MAX - 1);
	CHECK_TEXT(of_timestamp(INT64_MIN), "-infinity");
	refuses_number(WP_TYPE_TIMESTAMP, 8, (UINT64_C(1) << 63) + 1);
}

int main(void)
{
	return RUN(PLAIN(a_date_may_be_before_christ_and_after_9999),
		   PLAIN(dates_end_where_those_of_postgres_do),
		   PLAIN(a_time_has_no_zeroes_behind_its_fraction),
		   PLAIN(a_timestamp_is_a_day_and_a_time),
		   PLAIN(a_timestamptz_is_in_utc_and_its_era_stands_last),
		   PLAIN(timestamps_end_where_those_of_postgres_do));
}
