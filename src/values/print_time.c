/*
 * Prints dates and times as datestyle = ISO does, in UTC, which walpost forces on its session.
 * Source: EncodeDateOnly(), EncodeTimeOnly() and EncodeDateTime() of datetime.c.
 */
#include "print.h"
#include "walpost/base/calendar.h"
#include "walpost/base/wire.h"

#define SECOND_US INT64_C(1000000)
#define DAY_US (WP_DAY_S * SECOND_US)

/* timestamp.h has these: days and microseconds from 2000-01-01; the first day is 4714-11-24 BC. */
#define DATE_MIN (-2451545)
#define DATE_END 2145031949 /* 5874898-01-01 */
#define TIMESTAMP_MIN (DATE_MIN * DAY_US)
#define TIMESTAMP_END INT64_C(9223371331200000000) /* 294277-01-01 */

#define DAYS_TO_2000 (WP_POSTGRES_EPOCH_S / WP_DAY_S)

static void print_day(struct wp_buffer *texts, const struct wp_date *d)
{
	wp_print_padded(texts, (uint64_t)(d->year > 0 ? d->year : 1 - d->year), 4);
	wp_print_char(texts, '-');
	wp_print_padded(texts, (uint64_t)d->month, 2);
	wp_print_char(texts, '-');
	wp_print_padded(texts, (uint64_t)d->day, 2);
}

static void print_era(struct wp_buffer *texts, const struct wp_date *d)
{
	if (d->year <= 0)
		wp_print_text(texts, " BC");
}

/* Prints it without the zeroes behind. */
static void print_fraction(struct wp_buffer *texts, uint64_t us)
{
	size_t digits = 6;

	if (us == 0)
		return;
	for (; us % 10 == 0; us /= 10)
		digits--;
	wp_print_char(texts, '.');
	wp_print_padded(texts, us, digits);
}

static void print_clock(struct wp_buffer *texts, uint64_t us)
{
	uint64_t seconds = us / SECOND_US;

	wp_print_padded(texts, seconds / 3600, 2);
	wp_print_char(texts, ':');
	wp_print_padded(texts, seconds / 60 % 60, 2);
	wp_print_char(texts, ':');
	wp_print_padded(texts, seconds % 60, 2);
	print_fraction(texts, us % SECOND_US);
}

/* date_send gives Int32 days; the largest and the least are the infinities. */
enum wp_rc wp_print_date(struct wp_span value, struct wp_buffer *texts)
{
	struct wp_wire w;

	wp_wire_init(&w, value);
	int32_t days = (int32_t)wp_wire_u32(&w);
	if (wp_wire_end(&w) != WP_OK)
		return WP_CONFIG;
	if (days == INT32_MAX || days == INT32_MIN) {
		wp_print_text(texts, days < 0 ? "-infinity" : "infinity");
		return WP_OK;
	}
	if (days < DATE_MIN || days >= DATE_END)
		return WP_CONFIG;
	struct wp_date d = wp_calendar_date(days + DAYS_TO_2000);
	print_day(texts, &d);
	print_era(texts, &d);
	return WP_OK;
}

/* time_send gives Int64 microseconds since midnight, which may come again at the end. */
enum wp_rc wp_print_time(struct wp_span value, struct wp_buffer *texts)
{
	struct wp_wire w;

	wp_wire_init(&w, value);
	uint64_t us = wp_wire_u64(&w);
	if (wp_wire_end(&w) != WP_OK || us > DAY_US)
		return WP_CONFIG;
	print_clock(texts, us);
	return WP_OK;
}

/* The era stands behind the zone. */
static void print_moment(struct wp_buffer *texts, enum wp_type type, int64_t us)
{
	uint64_t since_first = (uint64_t)us - (uint64_t)TIMESTAMP_MIN;
	struct wp_date d =
		wp_calendar_date((int64_t)(since_first / DAY_US) + DATE_MIN + DAYS_TO_2000);

	print_day(texts, &d);
	wp_print_char(texts, ' ');
	print_clock(texts, since_first % DAY_US);
	if (type == WP_TYPE_TIMESTAMPTZ)
		wp_print_text(texts, "+00");
	print_era(texts, &d);
}

/* timestamp_send and timestamptz_send give Int64 microseconds; both ends are the infinities. */
enum wp_rc wp_print_timestamp(enum wp_type type, struct wp_span value, struct wp_buffer *texts)
{
	struct wp_wire w;

	wp_wire_init(&w, value);
	int64_t us = (int64_t)wp_wire_u64(&w);
	if (wp_wire_end(&w) != WP_OK)
		return WP_CONFIG;
	if (us == INT64_MAX || us == INT64_MIN) {
		wp_print_text(texts, us < 0 ? "-infinity" : "infinity");
		return WP_OK;
	}
	if (us < TIMESTAMP_MIN || us >= TIMESTAMP_END)
		return WP_CONFIG;
	print_moment(texts, type, us);
	return WP_OK;
}
