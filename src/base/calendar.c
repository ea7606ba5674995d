#include "walpost/base/calendar.h"

#include <assert.h>

#define DAYS_PER_400_YEARS 146097
/* This is 1970-01-01, counted from 0000-03-01: years here begin in March, so that a leap day is
 * their last. */
#define DAYS_TO_1970 719468

int64_t wp_calendar_days(struct wp_date date)
{
	int64_t year = date.month > 2 ? date.year : date.year - 1;
	int64_t cycle = (year >= 0 ? year : year - 399) / 400;
	int64_t of_cycle = year - cycle * 400;
	int64_t month = (date.month + 9) % 12;
	int64_t of_year = (month * 153 + 2) / 5 + date.day - 1;

	return cycle * DAYS_PER_400_YEARS + of_cycle * 365 + of_cycle / 4 - of_cycle / 100 +
	       of_year - DAYS_TO_1970;
}

struct wp_date wp_calendar_date(int64_t days)
{
	int64_t count = days + DAYS_TO_1970;
	int64_t cycle =
		(count >= 0 ? count : count - (DAYS_PER_400_YEARS - 1)) / DAYS_PER_400_YEARS;
	int64_t of_cycle = count - cycle * DAYS_PER_400_YEARS;
	/* Without the leap days before it, each year has 365 days. */
	int64_t year = (of_cycle - of_cycle / 1460 + of_cycle / 36524 - of_cycle / 146096) / 365;
	int64_t of_year = of_cycle - (year * 365 + year / 4 - year / 100);
	int64_t month = (of_year * 5 + 2) / 153;
	int64_t day = of_year - (month * 153 + 2) / 5 + 1;

	return (struct wp_date){ .year = cycle * 400 + year + (month >= 10),
				 .month = month < 10 ? month + 3 : month - 9,
				 .day = day };
}

/* Puts `digits` digits, then `behind`. It does so by hand: snprintf() would be felt on each
 * event's way. */
static char *put_digits(char *at, unsigned number, unsigned digits, char behind)
{
	for (unsigned i = digits; i-- > 0; number /= 10)
		at[i] = (char)('0' + number % 10);
	at[digits] = behind;
	return at + digits + 1;
}

size_t wp_calendar_text(int64_t unix_s, char text[WP_CALENDAR_TEXT_SIZE])
{
	int64_t days = unix_s / WP_DAY_S - (unix_s % WP_DAY_S < 0);
	unsigned second = (unsigned)(unix_s - days * WP_DAY_S);
	struct wp_date date = wp_calendar_date(days);
	unsigned year = (unsigned)(date.year < 0 ? -date.year : date.year);
	unsigned digits = 4;
	char *at = text;

	assert(date.year >= -WP_CALENDAR_YEAR_MAX && date.year <= WP_CALENDAR_YEAR_MAX);
	if (date.year < 0 || year > 9999)
		*at++ = date.year < 0 ? '-' : '+';
	for (unsigned bound = 10000; year >= bound; bound *= 10)
		digits++;
	at = put_digits(at, year, digits, '-');
	at = put_digits(at, (unsigned)date.month, 2, '-');
	at = put_digits(at, (unsigned)date.day, 2, 'T');
	at = put_digits(at, second / 3600, 2, ':');
	at = put_digits(at, second / 60 % 60, 2, ':');
	at = put_digits(at, second % 60, 2, 'Z');
	*at = '\0';
	return (size_t)(at - text);
}
