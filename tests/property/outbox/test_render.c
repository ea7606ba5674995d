/* Rendered values against the simplest thing that could be right. Seeded. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/check.h"
#include "walpost/base/backoff.h"
#include "walpost/base/base64.h"
#include "walpost/base/json.h"
#include "walpost/values/moment.h"
#include "walpost/values/render.h"

#define ROUNDS 20000
#define US_PER_DAY 86400000000

static uint64_t seed = 271828;
static struct wp_buffer got;

static size_t random_below(size_t bound)
{
	return (size_t)(wp_random_next(&seed) % bound);
}

/* Big and small ones alike. */
static uint64_t random_bits(void)
{
	return wp_random_next(&seed) >> random_below(64);
}

static const char *rendered(struct wp_column_type type, const char *text)
{
	struct wp_error error = { "" };

	wp_buffer_reset(&got);
	enum wp_rc rc = wp_render_json(&got, &type, wp_span_of(text), &error);
	CHECK_TEXT(error.text, "");
	CHECK_EQ(rc, WP_OK);
	CHECK_EQ(wp_buffer_append_byte(&got, '\0'), WP_OK);
	return (const char *)got.data;
}

/* ---- numerics against 128-bit integers ---- */

__extension__ typedef __int128 wide;

/* With a point before the last `scale` digits, as Postgres prints it. */
static void print_wide(wide number, size_t scale, char text[64])
{
	char digits[48];
	size_t count = 0;
	size_t size = 0;
	bool negative = number < 0;

	while (number != 0 || count <= scale) {
		int digit = (int)(number % 10);
		digits[count++] = (char)('0' + (digit < 0 ? -digit : digit));
		number /= 10;
	}
	if (negative)
		text[size++] = '-';
	while (count > 0) {
		if (count == scale)
			text[size++] = '.';
		text[size++] = digits[--count];
	}
	text[size] = '\0';
}

/* As many bytes as are needed for the same number to come back. */
static void write_wide(struct wp_buffer *into, wide number)
{
	uint8_t bytes[16];
	size_t from = 0;

	for (size_t i = 0; i < 16; i++)
		bytes[i] = (uint8_t)(number >> (15 - i) * 8);
	while (from < 15) {
		int8_t sign = (int8_t)bytes[from + 1];
		if (bytes[from] != (sign < 0 ? 0xFF : 0))
			break;
		from++;
	}
	CHECK_EQ(wp_base64_write(into, (struct wp_span){ bytes + from, 16 - from }), WP_OK);
}

static void a_numeric_has_the_bytes_of_its_unscaled_value(void **state)
{
	struct wp_buffer wanted;

	wp_buffer_init(&wanted, 1000);
	for (int i = 0; i < ROUNDS; i++) {
		char text[64];
		size_t scale = random_below(20);
		struct wp_column_type type = { .type = WP_TYPE_NUMERIC,
					       .modifier = (int32_t)(38 << 16 | scale) + 4 };
		wide number = (wide)(random_bits() >> 2) << random_below(64);
		number = (random_below(2) == 0 ? number : -number) + (int)random_below(3) - 1;
		print_wide(number, scale, text);
		wp_buffer_reset(&wanted);
		CHECK_EQ(wp_buffer_append_byte(&wanted, '"'), WP_OK);
		write_wide(&wanted, number);
		CHECK_EQ(wp_buffer_append(&wanted, (struct wp_span){ (const uint8_t *)"\"", 2 }),
			 WP_OK);
		CHECK_TEXT(rendered(type, text), (const char *)wanted.data);
	}
	wp_buffer_release(&wanted);
}

/* ---- floats ---- */

static size_t digits_in(const char *text)
{
	size_t from = strcspn(text, "123456789");
	size_t count = 0;
	size_t zeros = 0;

	for (const char *c = text + from; *c != '\0' && *c != 'E'; c++) {
		if (*c == '.')
			continue;
		zeros = *c == '0' ? zeros + 1 : 0;
		count++;
	}
	return count - zeros;
}

/* Digits of the nearest decimal that is read as the same number. */
static int digits_needed(double number, enum wp_type type)
{
	char text[64];
	int count = 2;

	for (;; count++) {
		(void)snprintf(text, sizeof(text), "%.*e", count - 1, number);
		double again =
			type == WP_TYPE_FLOAT4 ? (double)strtof(text, NULL) : strtod(text, NULL);
		if (again == number)
			return count;
	}
}

/* What is written is read as the same number, and no nearest decimal is shorter. */
static void check_float(double number, enum wp_type type)
{
	struct wp_column_type column = { .type = type, .modifier = -1 };
	char text[64];

	(void)snprintf(text, sizeof(text), "%.*g", type == WP_TYPE_FLOAT4 ? 9 : 17, number);
	const char *json = rendered(column, text);
	double again = type == WP_TYPE_FLOAT4 ? (double)strtof(json, NULL) : strtod(json, NULL);
	CHECK(again == number);
	CHECK_EQ(strchr(json, 'E') == NULL,
		 number == 0 || (fabs(number) >= 1e-3 && fabs(number) < 1e7));
	CHECK(strchr(json, '.') != NULL);
	CHECK((int)digits_in(json) <= digits_needed(number, type));
}

static double power_of_ten(size_t exponent)
{
	double power = 1;

	for (; exponent > 0; exponent--)
		power *= 10;
	return power;
}

static void a_double_is_read_as_the_same(void **state)
{
	for (int i = 0; i < ROUNDS; i++) {
		double number;
		uint64_t bits = wp_random_next(&seed);
		if (i % 4 == 0) /* powers of two, and their neighbours */
			bits = (bits & 0x7FF0000000000000) + random_below(3) - 1;
		memcpy(&number, &bits, sizeof(number));
		if (i % 4 == 1)
			number = (double)(int64_t)random_bits() / power_of_ten(random_below(20));
		if (isfinite(number))
			check_float(number, WP_TYPE_FLOAT8);
	}
}

static void a_float_is_read_as_the_same(void **state)
{
	for (int i = 0; i < ROUNDS; i++) {
		float number;
		uint32_t bits = (uint32_t)wp_random_next(&seed);
		if (i % 4 == 0)
			bits = (bits & 0x7F800000) + (uint32_t)random_below(3) - 1;
		memcpy(&number, &bits, sizeof(number));
		if (i % 4 == 1)
			number = (float)((double)random_bits() / power_of_ten(random_below(20)));
		if (isfinite(number))
			check_float((double)number, WP_TYPE_FLOAT4);
	}
}

/* ---- moments against a calendar that turns its pages ---- */

struct page {
	int64_t year; /* 0 is 1 BC */
	int month;
	int day;
};

static void turn(struct page *p)
{
	static const int days[] = { 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31 };
	bool leap = p->year % 400 == 0 || (p->year % 4 == 0 && p->year % 100 != 0);

	if (p->day++ < days[p->month - 1] + (p->month == 2 && leap))
		return;
	p->day = 1;
	if (p->month++ < 12)
		return;
	p->month = 1;
	p->year++;
}

static void check_page(const struct page *p, int64_t day)
{
	int64_t year = p->year > 0 ? p->year : 1 - p->year;
	const char *era = p->year > 0 ? "" : " BC";
	int64_t clock = (int64_t)random_below(86400);
	int32_t days;
	int64_t us;
	char text[80];
	char wanted[80];

	(void)snprintf(text, sizeof(text), "%04d-%02d-%02d%s", (int)year, p->month, p->day, era);
	CHECK_EQ(wp_moment_days(wp_span_of(text), &days, NULL), WP_OK);
	CHECK_EQ(days, day);
	(void)snprintf(text, sizeof(text), "%04d-%02d-%02d %02d:%02d:%02d.5%s", (int)year, p->month,
		       p->day, (int)(clock / 3600), (int)(clock / 60 % 60), (int)(clock % 60), era);
	CHECK_EQ(wp_moment_us(WP_TYPE_TIMESTAMP, wp_span_of(text), &us, NULL), WP_OK);
	CHECK_EQ(us, day * US_PER_DAY + clock * 1000000 + 500000);
	(void)snprintf(wanted, sizeof(wanted), "%s%04d-%02d-%02dT%02d:%02d:%02d.5Z",
		       p->year < 0	? "-"
		       : p->year > 9999 ? "+"
					: "",
		       (int)(p->year < 0 ? -p->year : p->year), p->month, p->day,
		       (int)(clock / 3600), (int)(clock / 60 % 60), (int)(clock % 60));
	wp_buffer_reset(&got);
	CHECK_EQ(wp_moment_write_iso(&got, us, 0), WP_OK);
	CHECK_SPAN(wp_buffer_span(&got), wanted);
}

static void each_day_has_its_number_and_its_name(void **state)
{
	struct page p = { .year = -4713, .month = 11, .day = 24 };

	for (int64_t day = -2440588; p.year < 10100; day++) {
		if (day % 7 == 0 || p.day == 29 || (p.month % 12 < 2 && p.day % 30 < 2))
			check_page(&p, day);
		turn(&p);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		PLAIN(a_numeric_has_the_bytes_of_its_unscaled_value),
		PLAIN(a_double_is_read_as_the_same),
		PLAIN(a_float_is_read_as_the_same),
		PLAIN(each_day_has_its_number_and_its_name),
	};

	wp_buffer_init(&got, 1000);
	int failed = cmocka_run_group_tests_name("render", tests, NULL, NULL);
	wp_buffer_release(&got);
	return failed;
}
