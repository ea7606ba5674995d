/* What is printed of binary values against the simplest thing that could be right. Seeded. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/check.h"
#include "walpost/base/backoff.h"
#include "walpost/values/binary.h"

#define ROUNDS 20000
#define TEXT_SIZE 256
#define SIGNIFICANT_MAX 17

static uint64_t seed = 4711;

static uint64_t random_bits(void)
{
	return wp_random_next(&seed);
}

/* The value's last `size` bytes, as they come. */
static void print(enum wp_type type, uint64_t value, size_t size, char text[TEXT_SIZE])
{
	uint8_t bytes[8];
	uint8_t room[64];
	struct wp_buffer texts = { .data = room,
				   .capacity = sizeof(room),
				   .size_max = sizeof(room) };
	struct wp_span printed;

	for (size_t i = size; i-- > 0; value >>= 8)
		bytes[i] = (uint8_t)value;
	struct wp_span span = { .data = bytes, .size = size };
	CHECK(wp_binary_room(type, WP_TYPE_OTHER, span) <= sizeof(room));
	CHECK_EQ(wp_binary_text(type, WP_TYPE_OTHER, span, &texts, &printed), WP_OK);
	memcpy(text, printed.data, printed.size);
	text[printed.size] = '\0';
}

static double double_of(uint64_t bits)
{
	double number;

	memcpy(&number, &bits, sizeof(number));
	return number;
}

static float float_of(uint64_t bits)
{
	uint32_t low = (uint32_t)bits;
	float number;

	memcpy(&number, &low, sizeof(number));
	return number;
}

/* Of the number without zeroes at its ends. */
static int significant_digits(const char *text)
{
	int count = 0;
	int zeroes = 0;

	for (; *text != '\0' && *text != 'e'; text++) {
		if (*text < '0' || *text > '9' || (count == 0 && *text == '0'))
			continue;
		count++;
		zeroes = *text == '0' ? zeroes + 1 : 0;
	}
	return count - zeroes;
}

static void an_integer_is_what_printf_prints(void **state)
{
	for (int i = 0; i < ROUNDS; i++) {
		char text[TEXT_SIZE];
		char wanted[TEXT_SIZE];
		uint64_t bits = random_bits() >> random_bits() % 64;
		(void)snprintf(wanted, sizeof(wanted), "%lld", (long long)(int64_t)bits);
		print(WP_TYPE_INT8, bits, 8, text);
		CHECK_TEXT(text, wanted);
		(void)snprintf(wanted, sizeof(wanted), "%d", (int)(int32_t)bits);
		print(WP_TYPE_INT4, bits, 4, text);
		CHECK_TEXT(text, wanted);
		(void)snprintf(wanted, sizeof(wanted), "%d", (int)(int16_t)bits);
		print(WP_TYPE_INT2, bits, 2, text);
		CHECK_TEXT(text, wanted);
	}
}

/*
 * With one digit less printf's best would be another number. Only an odd one is asked:
 * strtod takes a decimal exactly between two for the even one, which Postgres does not.
 */
static void a_double_reads_back_and_has_no_digit_too_many(void **state)
{
	for (int i = 0; i < ROUNDS; i++) {
		char text[TEXT_SIZE];
		char shorter[TEXT_SIZE];
		uint64_t bits = random_bits();
		double number = double_of(bits);
		if (number != number || number - number != 0)
			continue;
		print(WP_TYPE_FLOAT8, bits, 8, text);
		double again = strtod(text, NULL);
		assert_memory_equal(&again, &number, sizeof(number));
		int digits = significant_digits(text);
		CHECK(digits <= SIGNIFICANT_MAX);
		(void)snprintf(shorter, sizeof(shorter), "%.*e", digits - 2 > 0 ? digits - 2 : 0,
			       number);
		CHECK(bits % 2 == 0 || digits < 2 || strtod(shorter, NULL) != number);
	}
}

static void a_float_reads_back_and_has_no_digit_too_many(void **state)
{
	for (int i = 0; i < ROUNDS; i++) {
		char text[TEXT_SIZE];
		char shorter[TEXT_SIZE];
		uint64_t bits = random_bits() >> 32;
		float number = float_of(bits);
		if (number != number || number - number != 0)
			continue;
		print(WP_TYPE_FLOAT4, bits, 4, text);
		float again = strtof(text, NULL);
		assert_memory_equal(&again, &number, sizeof(number));
		int digits = significant_digits(text);
		(void)snprintf(shorter, sizeof(shorter), "%.*e", digits - 2 > 0 ? digits - 2 : 0,
			       (double)number);
		CHECK(bits % 2 == 0 || digits < 2 || strtof(shorter, NULL) != number);
	}
}

static int days_of_month(int64_t year, int month)
{
	static const int days[] = { 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31 };
	bool leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);

	return month == 2 && leap ? 29 : days[month - 1];
}

static void date_text(int64_t year, int month, int day, char text[TEXT_SIZE])
{
	(void)snprintf(text, TEXT_SIZE, "%04lld-%02d-%02d%s",
		       (long long)(year > 0 ? year : 1 - year), month, day, year > 0 ? "" : " BC");
}

/* Day by day, from one that everybody knows. */
static void days_follow_one_another_as_in_a_calendar(void **state)
{
	int64_t year = 2000;
	int month = 1;
	int day = 1;

	for (int64_t n = 0; n < 500 * 366; n++) {
		char text[TEXT_SIZE];
		char wanted[TEXT_SIZE];
		print(WP_TYPE_DATE, (uint64_t)n, 4, text);
		date_text(year, month, day, wanted);
		CHECK_TEXT(text, wanted);
		if (++day > days_of_month(year, month)) {
			day = 1;
			month = month % 12 + 1;
			year += month == 1;
		}
	}
}

static void days_precede_one_another_as_in_a_calendar(void **state)
{
	int64_t year = 2000;
	int month = 1;
	int day = 1;

	for (int64_t n = 0; n >= -2451545; n--) {
		char text[TEXT_SIZE];
		char wanted[TEXT_SIZE];
		if (n % 7 == 0 || day == 1 || day >= 28) {
			print(WP_TYPE_DATE, (uint64_t)n, 4, text);
			date_text(year, month, day, wanted);
			CHECK_TEXT(text, wanted);
		}
		if (--day == 0) {
			month = month == 1 ? 12 : month - 1;
			year -= month == 12;
			day = days_of_month(year, month);
		}
	}
}

/* The parts, printed alone, and put together. */
static void a_timestamp_is_its_date_and_its_time(void **state)
{
	for (int i = 0; i < ROUNDS; i++) {
		char text[TEXT_SIZE];
		char wanted[TEXT_SIZE];
		char date[TEXT_SIZE];
		char time[TEXT_SIZE];
		int64_t day = (int64_t)(random_bits() % 100000000) - 2000000;
		uint64_t us = random_bits() % UINT64_C(86400000000);
		print(WP_TYPE_DATE, (uint64_t)day, 4, date);
		print(WP_TYPE_TIME, us, 8, time);
		char *era = strstr(date, " BC");
		if (era != NULL)
			*era = '\0';
		(void)snprintf(wanted, sizeof(wanted), "%.30s %.30s+00%s", date, time,
			       era != NULL ? " BC" : "");
		print(WP_TYPE_TIMESTAMPTZ, (uint64_t)day * UINT64_C(86400000000) + us, 8, text);
		CHECK_TEXT(text, wanted);
	}
}

/* The digits of a number, in groups of four, with a point somewhere between them. */
static void a_numeric_is_its_digits_and_a_point(void **state)
{
	for (int i = 0; i < ROUNDS; i++) {
		char digits[41];
		uint8_t bytes[8 + 20] = { 0 };
		uint8_t room[TEXT_SIZE];
		struct wp_buffer texts = { room, 0, sizeof(room), sizeof(room) };
		struct wp_span printed;
		size_t groups = 1 + random_bits() % 10;
		size_t before = random_bits() % (groups + 1); /* groups before the point */
		size_t scale = random_bits() % (4 * (groups - before) + 1);
		for (size_t g = 0; g < groups; g++) {
			unsigned group = (unsigned)(random_bits() % 10000);
			(void)snprintf(digits + 4 * g, 5, "%04u", group);
			bytes[8 + 2 * g] = (uint8_t)(group >> 8);
			bytes[9 + 2 * g] = (uint8_t)group;
		}
		bytes[1] = (uint8_t)groups;
		bytes[2] = before == 0 ? 0xFF : 0;
		bytes[3] = (uint8_t)(before - 1);
		bytes[7] = (uint8_t)scale;
		char wanted[TEXT_SIZE];
		size_t zeroes = strspn(digits, "0");
		size_t skipped = before == 0 ? 0 : zeroes < 3 ? zeroes : 3;
		(void)snprintf(wanted, sizeof(wanted), "%s%.*s%s%.*s", before == 0 ? "0" : "",
			       (int)(4 * before - skipped), digits + skipped, scale > 0 ? "." : "",
			       (int)scale, digits + 4 * before);
		struct wp_span span = { .data = bytes, .size = 8 + 2 * groups };
		CHECK_EQ(wp_binary_text(WP_TYPE_NUMERIC, WP_TYPE_OTHER, span, &texts, &printed),
			 WP_OK);
		CHECK_SPAN(printed, wanted);
	}
}

/* As array_in() reads it, of one dimension: the items, or '\0' '\0' for NULL. */
static size_t read_items(const uint8_t *at, const uint8_t *end, char *items)
{
	size_t size = 0;

	CHECK(*at++ == '{' && *--end == '}');
	while (at < end) {
		const uint8_t *start = at;
		bool quoted = *at == '"';
		size_t first = size;
		for (at += quoted; at < end && *at != (quoted ? '"' : ','); at++) {
			at += *at == '\\';
			items[size++] = (char)*at;
		}
		at += quoted;
		if (!quoted && at - start == 4 && memcmp(start, "NULL", 4) == 0) {
			size = first;
			items[size++] = '\0';
		}
		items[size++] = '\0';
		CHECK(at == end || *at++ == ',');
	}
	return size;
}

static void an_array_reads_back(void **state)
{
	static const char alphabet[] = "ab,{}\"\\ \t\nNULLnull";

	for (int i = 0; i < ROUNDS; i++) {
		uint8_t bytes[256] = { [3] = 1, [19] = 1 };
		uint8_t room[1024];
		char wanted[256];
		char items[256];
		size_t size = 20;
		size_t wanted_size = 0;
		struct wp_buffer texts = { room, 0, sizeof(room), sizeof(room) };
		struct wp_span printed;
		uint8_t count = (uint8_t)(1 + random_bits() % 8);
		for (uint8_t n = 0; n < count; n++) {
			uint8_t length = (uint8_t)(random_bits() % 6);
			bool is_null = random_bits() % 5 == 0;
			memset(bytes + size, is_null ? 0xFF : 0, 4);
			size += 4;
			if (is_null) {
				wanted[wanted_size++] = '\0';
				wanted[wanted_size++] = '\0';
				continue;
			}
			bytes[size - 1] = length;
			for (; length > 0; length--) {
				char c = alphabet[random_bits() % (sizeof(alphabet) - 1)];
				bytes[size++] = (uint8_t)c;
				wanted[wanted_size++] = c;
			}
			wanted[wanted_size++] = '\0';
		}
		bytes[15] = count;
		struct wp_span span = { .data = bytes, .size = size };
		CHECK(wp_binary_room(WP_TYPE_ARRAY, WP_TYPE_TEXT, span) <= sizeof(room));
		CHECK_EQ(wp_binary_text(WP_TYPE_ARRAY, WP_TYPE_TEXT, span, &texts, &printed),
			 WP_OK);
		CHECK_EQ(read_items(printed.data, printed.data + printed.size, items), wanted_size);
		assert_memory_equal(items, wanted, wanted_size);
	}
}

int main(void)
{
	return RUN(PLAIN(an_integer_is_what_printf_prints),
		   PLAIN(a_double_reads_back_and_has_no_digit_too_many),
		   PLAIN(a_float_reads_back_and_has_no_digit_too_many),
		   PLAIN(days_follow_one_another_as_in_a_calendar),
		   PLAIN(days_precede_one_another_as_in_a_calendar),
		   PLAIN(a_timestamp_is_its_date_and_its_time),
		   PLAIN(a_numeric_is_its_digits_and_a_point), PLAIN(an_array_reads_back));
}
