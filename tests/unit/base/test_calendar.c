#include <stdbool.h>

#include "support/check.h"
#include "walpost/base/calendar.h"

static void check_day(int64_t days, int64_t year, int64_t month, int64_t day)
{
	struct wp_date date = wp_calendar_date(days);

	CHECK_EQ(date.year, year);
	CHECK_EQ(date.month, month);
	CHECK_EQ(date.day, day);
	CHECK_EQ(wp_calendar_days(date), days);
}

static void days_count_from_1970_in_both_directions(void **state)
{
	check_day(0, 1970, 1, 1);
	check_day(-1, 1969, 12, 31);
	check_day(WP_POSTGRES_EPOCH_S / WP_DAY_S, 2000, 1, 1);
	check_day(19782, 2024, 2, 29);
	check_day(-719162, 1, 1, 1);
	check_day(-719163, 0, 12, 31);
	check_day(-719468, 0, 3, 1);
	check_day(-719469, 0, 2, 29);
	check_day(-2440588, -4713, 11, 24);
	check_day(2145042905, 5874897, 12, 31);
}

static void each_day_of_four_centuries_follows_the_one_before(void **state)
{
	static const int lengths[] = { 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31 };
	int64_t days = wp_calendar_days((struct wp_date){ .year = -200, .month = 1, .day = 1 });

	for (int64_t year = -200; year < 200; year++) {
		bool leap = year % 400 == 0 || (year % 4 == 0 && year % 100 != 0);
		for (int month = 1; month <= 12; month++) {
			int length = lengths[month - 1] + (month == 2 && leap);
			for (int day = 1; day <= length; day++)
				check_day(days++, year, month, day);
		}
	}
}

static void a_day_past_the_end_of_its_month_is_of_the_next(void **state)
{
	CHECK_EQ(wp_calendar_days((struct wp_date){ 2023, 2, 31 }),
		 wp_calendar_days((struct wp_date){ 2023, 3, 3 }));
}

static void check_text(int64_t unix_s, const char *wanted)
{
	char text[WP_CALENDAR_TEXT_SIZE];

	CHECK_EQ(wp_calendar_text(unix_s, text), strlen(wanted));
	CHECK_TEXT(text, wanted);
}

static void a_text_has_year_to_second_and_a_sign_outside_four_digits(void **state)
{
	check_text(0, "1970-01-01T00:00:00Z");
	check_text(-1, "1969-12-31T23:59:59Z");
	check_text(WP_POSTGRES_EPOCH_S, "2000-01-01T00:00:00Z");
	check_text(1709210096, "2024-02-29T12:34:56Z");
	check_text(INT64_C(253402300799), "9999-12-31T23:59:59Z");
	check_text(INT64_C(253402300800), "+10000-01-01T00:00:00Z");
	check_text(INT64_C(-62167219200), "0000-01-01T00:00:00Z");
	check_text(INT64_C(-62167219201), "-0001-12-31T23:59:59Z");
	check_text(INT64_MAX / 1000, "+292278994-08-17T07:12:55Z");
	check_text(INT64_MIN / 1000, "-292275055-05-16T16:47:05Z");
}

int main(void)
{
	return RUN(PLAIN(days_count_from_1970_in_both_directions),
		   PLAIN(each_day_of_four_centuries_follows_the_one_before),
		   PLAIN(a_day_past_the_end_of_its_month_is_of_the_next),
		   PLAIN(a_text_has_year_to_second_and_a_sign_outside_four_digits));
}
