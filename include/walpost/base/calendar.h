/*
 * Reckons days and times by the Gregorian calendar, in UTC: which date is it so many days after 1970 began,
 * and the other way round? The calendar goes back before its introduction; leap seconds do not count. Seconds
 * that are named unix_s count from 1970-01-01, Postgres's clock from 2000-01-01. Pure.
 */
#ifndef WALPOST_BASE_CALENDAR_H
#define WALPOST_BASE_CALENDAR_H

#include <stddef.h>
#include <stdint.h>

#define WP_DAY_S INT64_C(86400)
/* So much time is between 1970-01-01 and 2000-01-01. */
#define WP_POSTGRES_EPOCH_S INT64_C(946684800)
#define WP_POSTGRES_EPOCH_US (WP_POSTGRES_EPOCH_S * INT64_C(1000000))
/* Years that are written as text end here: all milliseconds that 64 bits count are within. */
#define WP_CALENDAR_YEAR_MAX 300000000
#define WP_CALENDAR_TEXT_SIZE sizeof("-300000000-12-31T23:59:59Z")

/* Years are as astronomers count them: 0 is 1 BC. */
struct wp_date {
	int64_t year;
	int64_t month; /* 1 to 12 */
	int64_t day;   /* from 1; one past the month's end is of the next month */
};

/* Counts the days since 1970-01-01, negative before. Years may be up to 10^15 in both directions. */
int64_t wp_calendar_days(struct wp_date date);
/* Gives the date of so many days, up to 10^17 in both directions. */
struct wp_date wp_calendar_date(int64_t days);
/*
 * Writes 2024-02-29T12:34:56Z, of a year up to WP_CALENDAR_YEAR_MAX. A year over 9999 has a plus sign, 1 BC
 * is 0000, 2 BC is -0001 (ISO 8601, as Java prints it). Returns the size, which counts the Z.
 */
size_t wp_calendar_text(int64_t unix_s, char text[WP_CALENDAR_TEXT_SIZE]);

#endif
