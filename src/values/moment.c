#include <assert.h>
#include <limits.h>
#include <string.h>

#include "walpost/base/calendar.h"
#include "walpost/base/display.h"
#include "walpost/values/moment.h"

#define US_PER_SECOND 1000000
#define US_PER_DAY (WP_DAY_S * US_PER_SECOND)
#define YEAR_DIGITS_MAX 7
#define FRACTION_DIGITS_MAX 6

static int64_t days_in_month(int64_t year, int64_t month)
{
	static const uint8_t days[] = { 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31 };
	bool leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);

	return days[month - 1] + (month == 2 && leap);
}

/* ---- reading ---- */

/* The error is sticky: what follows it reads nothing. */
struct reader {
	const uint8_t *at;
	const uint8_t *end;
	bool bad;
};

static bool accept_text(struct reader *r, const char *text)
{
	size_t size = strlen(text);

	if (r->bad || (size_t)(r->end - r->at) < size || memcmp(r->at, text, size) != 0)
		return false;
	r->at += size;
	return true;
}

static void expect_text(struct reader *r, const char *text)
{
	if (!accept_text(r, text))
		r->bad = true;
}

/* `ret_count` may be NULL. */
static int64_t read_padded_number(struct reader *r, int digits_min, int digits_max, int *ret_count)
{
	int64_t number = 0;
	int count = 0;

	while (!r->bad && count < digits_max && r->at < r->end && *r->at >= '0' && *r->at <= '9') {
		number = number * 10 + (*r->at++ - '0');
		count++;
	}
	if (count < digits_min)
		r->bad = true;
	if (ret_count != NULL)
		*ret_count = count;
	return number;
}

static int64_t read_below(struct reader *r, int64_t bound)
{
	int64_t number = read_padded_number(r, 2, 2, NULL);

	if (number >= bound)
		r->bad = true;
	return number;
}

/* Reads year-month-day; the era follows behind everything else. */
static struct wp_date read_date(struct reader *r)
{
	struct wp_date date = { .year = read_padded_number(r, 4, YEAR_DIGITS_MAX, NULL) };

	expect_text(r, "-");
	date.month = read_padded_number(r, 2, 2, NULL);
	expect_text(r, "-");
	date.day = read_padded_number(r, 2, 2, NULL);
	return date;
}

/* Reads hours:minutes:seconds[.fraction], to microseconds. */
static int64_t read_clock(struct reader *r)
{
	int64_t hours = read_below(r, 25);
	int count = 0;

	expect_text(r, ":");
	int64_t minutes = read_below(r, 60);
	expect_text(r, ":");
	int64_t us = (hours * 3600 + minutes * 60 + read_below(r, 60)) * US_PER_SECOND;
	if (accept_text(r, ".")) {
		int64_t fraction = read_padded_number(r, 1, FRACTION_DIGITS_MAX, &count);
		for (; count < FRACTION_DIGITS_MAX; count++)
			fraction *= 10;
		us += fraction;
	}
	if (us > US_PER_DAY)
		r->bad = true;
	return us;
}

/* Reads +hours[:minutes[:seconds]], to seconds. */
static int64_t read_utc_offset(struct reader *r)
{
	bool west = accept_text(r, "-");

	if (!west)
		expect_text(r, "+");
	int64_t seconds = read_below(r, 24) * 3600;
	if (accept_text(r, ":"))
		seconds += read_below(r, 60) * 60;
	if (accept_text(r, ":"))
		seconds += read_below(r, 60);
	return west ? -seconds : seconds;
}

/* Reads the era at the end of the text, and with it gives the date's days. */
static int64_t read_era(struct reader *r, struct wp_date date)
{
	if (date.year == 0)
		r->bad = true;
	if (accept_text(r, " BC"))
		date.year = 1 - date.year;
	if (r->bad || r->at != r->end || date.month < 1 || date.month > 12 || date.day < 1 ||
	    date.day > days_in_month(date.year, date.month)) {
		r->bad = true;
		return 0;
	}
	return wp_calendar_days(date);
}

/* ---- answers ---- */

static const char *moment_type_name(enum wp_type type)
{
	switch (type) {
	case WP_TYPE_DATE:
		return "date";
	case WP_TYPE_TIME:
		return "time";
	case WP_TYPE_TIMESTAMP:
		return "timestamp";
	default:
		return "timestamptz";
	}
}

static enum wp_rc refuse_moment(enum wp_type type, struct wp_span text, struct wp_error *error)
{
	struct wp_excerpt shown;

	if (wp_span_is(text, "infinity") || wp_span_is(text, "-infinity"))
		return wp_error_set(error, WP_DATA, "the %s is %s, which is not a point in time",
				    moment_type_name(type), wp_excerpt(&shown, text));
	return wp_error_set(error, WP_DATA, "\"%s\" is not a %s in Postgres's format",
			    wp_excerpt(&shown, text), moment_type_name(type));
}

static enum wp_rc blame_distance(enum wp_type type, struct wp_span text, struct wp_error *error)
{
	struct wp_excerpt shown;

	return wp_error_set(error, WP_DATA, "the %s %s is out of range", moment_type_name(type),
			    wp_excerpt(&shown, text));
}

enum wp_rc wp_moment_days(struct wp_span text, int32_t *ret_days, struct wp_error *error)
{
	struct reader r = { .at = text.data, .end = text.data + text.size };
	struct wp_date date = read_date(&r);
	int64_t days = read_era(&r, date);

	if (r.bad)
		return refuse_moment(WP_TYPE_DATE, text, error);
	if (days < INT32_MIN || days > INT32_MAX)
		return blame_distance(WP_TYPE_DATE, text, error);
	*ret_days = (int32_t)days;
	return WP_OK;
}

enum wp_rc wp_moment_us(enum wp_type type, struct wp_span text, int64_t *ret_us,
			struct wp_error *error)
{
	struct reader r = { .at = text.data, .end = text.data + text.size };
	struct wp_date date = { .year = 1970, .month = 1, .day = 1 };
	int64_t us = 0;

	assert(type == WP_TYPE_DATE || type == WP_TYPE_TIME || type == WP_TYPE_TIMESTAMP ||
	       type == WP_TYPE_TIMESTAMPTZ);
	if (type != WP_TYPE_TIME)
		date = read_date(&r);
	if (type == WP_TYPE_TIMESTAMP || type == WP_TYPE_TIMESTAMPTZ)
		expect_text(&r, " ");
	if (type != WP_TYPE_DATE)
		us = read_clock(&r);
	if (type != WP_TYPE_TIME && us == US_PER_DAY)
		r.bad = true;
	if (type == WP_TYPE_TIMESTAMPTZ)
		us -= read_utc_offset(&r) * US_PER_SECOND;
	int64_t days = read_era(&r, date);
	if (r.bad)
		return refuse_moment(type, text, error);
	/* `us` may be two days, in both directions. */
	if (days > INT64_MAX / US_PER_DAY - 2 || days < INT64_MIN / US_PER_DAY + 2)
		return blame_distance(type, text, error);
	*ret_us = days * US_PER_DAY + us;
	return WP_OK;
}

static enum wp_rc write_fraction(struct wp_buffer *into, int64_t us, int digits)
{
	char text[] = ".000000";

	for (int i = FRACTION_DIGITS_MAX; i > 0; i--, us /= 10)
		text[i] = (char)('0' + us % 10);
	size_t size = 1 + (size_t)digits;
	if (digits == 0) {
		size = sizeof(text) - 1;
		while (size > 1 && text[size - 1] == '0')
			size--;
		if (size == 1)
			return WP_OK;
	}
	return wp_buffer_append(into, (struct wp_span){ (const uint8_t *)text, size });
}

enum wp_rc wp_moment_write_iso(struct wp_buffer *into, int64_t us, int digits)
{
	int64_t fraction = (us % US_PER_SECOND + US_PER_SECOND) % US_PER_SECOND;
	int64_t seconds = us / US_PER_SECOND - (us % US_PER_SECOND < 0);
	char text[WP_CALENDAR_TEXT_SIZE];
	size_t size = wp_calendar_text(seconds, text) - 1;

	assert(digits >= 0 && digits <= FRACTION_DIGITS_MAX);
	enum wp_rc rc = wp_buffer_append(into, (struct wp_span){ (const uint8_t *)text, size });
	if (rc == WP_OK)
		rc = write_fraction(into, fraction, digits);
	return rc == WP_OK ? wp_buffer_append_byte(into, 'Z') : rc;
}
