#include <stdarg.h>

#include "values.h"

static void integers_have_their_limits(void **state)
{
	refuses_sizes_around(WP_TYPE_INT2, 2);
	refuses_sizes_around(WP_TYPE_INT4, 4);
	refuses_sizes_around(WP_TYPE_INT8, 8);
	CHECK_TEXT(of_number(WP_TYPE_INT2, 2, 0), "0");
	CHECK_TEXT(of_number(WP_TYPE_INT2, 2, 0x7FFF), "32767");
	CHECK_TEXT(of_number(WP_TYPE_INT2, 2, 0x8000), "-32768");
	CHECK_TEXT(of_number(WP_TYPE_INT2, 2, 0xFFFF), "-1");
	CHECK_TEXT(of_number(WP_TYPE_INT4, 4, 10), "10");
	CHECK_TEXT(of_number(WP_TYPE_INT4, 4, 0x7FFFFFFF), "2147483647");
	CHECK_TEXT(of_number(WP_TYPE_INT4, 4, 0x80000000), "-2147483648");
	CHECK_TEXT(of_number(WP_TYPE_INT8, 8, 9), "9");
	CHECK_TEXT(of_number(WP_TYPE_INT8, 8, INT64_MAX), "9223372036854775807");
	CHECK_TEXT(of_number(WP_TYPE_INT8, 8, UINT64_C(1) << 63), "-9223372036854775808");
	CHECK_TEXT(of_number(WP_TYPE_INT8, 8, UINT64_MAX), "-1");
}

static const char *of_double(double number)
{
	uint64_t bits;

	memcpy(&bits, &number, sizeof(bits));
	return of_number(WP_TYPE_FLOAT8, 8, bits);
}

static const char *of_float(float number)
{
	uint32_t bits;

	memcpy(&bits, &number, sizeof(bits));
	return of_number(WP_TYPE_FLOAT4, 4, bits);
}

static void a_double_has_an_exponent_below_1e_4_and_from_1e15_on(void **state)
{
	refuses_sizes_around(WP_TYPE_FLOAT8, 8);
	CHECK_TEXT(of_double(0.0001), "0.0001");
	CHECK_TEXT(of_double(0.00012345), "0.00012345");
	CHECK_TEXT(of_double(0.00009999999999999999), "9.999999999999999e-05");
	CHECK_TEXT(of_double(1e14), "100000000000000");
	CHECK_TEXT(of_double(999999999999999.9), "999999999999999.9");
	CHECK_TEXT(of_double(1e15), "1e+15");
	CHECK_TEXT(of_double(-1234567890123456.0), "-1.234567890123456e+15");
	CHECK_TEXT(of_double(1e100), "1e+100");
	CHECK_TEXT(of_double(1.5), "1.5");
	CHECK_TEXT(of_double(-120.25), "-120.25");
}

static void a_double_is_the_shortest_that_reads_back(void **state)
{
	CHECK_TEXT(of_double(0.1), "0.1");
	CHECK_TEXT(of_double(0.1 + 0.2), "0.30000000000000004");
	CHECK_TEXT(of_number(WP_TYPE_FLOAT8, 8, 1), "5e-324");
	CHECK_TEXT(of_number(WP_TYPE_FLOAT8, 8, UINT64_C(0x000FFFFFFFFFFFFF)),
		   "2.225073858507201e-308");
	CHECK_TEXT(of_number(WP_TYPE_FLOAT8, 8, UINT64_C(0x0010000000000000)),
		   "2.2250738585072014e-308");
	CHECK_TEXT(of_number(WP_TYPE_FLOAT8, 8, UINT64_C(0x7FEFFFFFFFFFFFFF)),
		   "1.7976931348623157e+308");
	/* 2^-44: the nearest of that length lies below, where the next number is too near. */
	CHECK_TEXT(of_double(5.684341886080802e-14), "5.684341886080802e-14");
	/* Exactly between two numbers: 1e23 reads back, but only by the rule for ties. */
	CHECK_TEXT(of_double(1e23), "9.999999999999999e+22");
}

static void doubles_that_are_no_numbers_have_names(void **state)
{
	CHECK_TEXT(of_number(WP_TYPE_FLOAT8, 8, 0), "0");
	CHECK_TEXT(of_number(WP_TYPE_FLOAT8, 8, UINT64_C(1) << 63), "-0");
	CHECK_TEXT(of_number(WP_TYPE_FLOAT8, 8, UINT64_C(0x7FF0000000000000)), "Infinity");
	CHECK_TEXT(of_number(WP_TYPE_FLOAT8, 8, UINT64_C(0xFFF0000000000000)), "-Infinity");
	CHECK_TEXT(of_number(WP_TYPE_FLOAT8, 8, UINT64_C(0x7FF8000000000000)), "NaN");
	CHECK_TEXT(of_number(WP_TYPE_FLOAT8, 8, UINT64_C(0xFFF0000000000001)), "NaN");
}

static void a_float_has_its_own_limits(void **state)
{
	refuses_sizes_around(WP_TYPE_FLOAT4, 4);
	CHECK_TEXT(of_float(0.1f), "0.1");
	CHECK_TEXT(of_float(999999.0f), "999999");
	CHECK_TEXT(of_float(1e6f), "1e+06");
	CHECK_TEXT(of_float(0.0001f), "0.0001");
	CHECK_TEXT(of_float(0.00001f), "1e-05");
	CHECK_TEXT(of_float(16777216.0f), "1.6777216e+07");
	CHECK_TEXT(of_number(WP_TYPE_FLOAT4, 4, 1), "1e-45");
	CHECK_TEXT(of_number(WP_TYPE_FLOAT4, 4, 0x00800000), "1.1754944e-38");
	CHECK_TEXT(of_number(WP_TYPE_FLOAT4, 4, 0x7F7FFFFF), "3.4028235e+38");
	CHECK_TEXT(of_number(WP_TYPE_FLOAT4, 4, 0x80000000), "-0");
	CHECK_TEXT(of_number(WP_TYPE_FLOAT4, 4, 0xFF800000), "-Infinity");
	CHECK_TEXT(of_number(WP_TYPE_FLOAT4, 4, 0x7FC00000), "NaN");
}

/* Groups end at a negative one. */
static void numeric_of(int weight, unsigned sign, unsigned scale, ...)
{
	va_list groups;
	size_t count = 0;

	value.size = 0;
	put(0, 2);
	put((uint64_t)weight, 2);
	put(sign, 2);
	put(scale, 2);
	va_start(groups, scale);
	for (int group = va_arg(groups, int); group >= 0; group = va_arg(groups, int)) {
		put((uint64_t)group, 2);
		count++;
	}
	va_end(groups);
	value.data[0] = (uint8_t)(count >> 8);
	value.data[1] = (uint8_t)count;
}

#define POSITIVE 0x0000
#define NEGATIVE 0x4000

static void a_numeric_has_as_many_decimals_as_its_scale(void **state)
{
	numeric_of(0, POSITIVE, 0, -1);
	CHECK_EQ(print(WP_TYPE_NUMERIC), WP_OK);
	CHECK_TEXT(text, "0");
	numeric_of(0, POSITIVE, 3, -1);
	CHECK_EQ(print(WP_TYPE_NUMERIC), WP_OK);
	CHECK_TEXT(text, "0.000");
	numeric_of(0, NEGATIVE, 2, 1, 5000, -1);
	CHECK_EQ(print(WP_TYPE_NUMERIC), WP_OK);
	CHECK_TEXT(text, "-1.50");
	numeric_of(1, POSITIVE, 5, 1, 1, 1, 1000, -1);
	CHECK_EQ(print(WP_TYPE_NUMERIC), WP_OK);
	CHECK_TEXT(text, "10001.00011");
	numeric_of(0, POSITIVE, 1, 9, 9876, -1); /* more groups than its scale shows */
	CHECK_EQ(print(WP_TYPE_NUMERIC), WP_OK);
	CHECK_TEXT(text, "9.9");
}

static void a_numeric_may_begin_far_from_its_point(void **state)
{
	numeric_of(2, POSITIVE, 0, 5, -1);
	CHECK_EQ(print(WP_TYPE_NUMERIC), WP_OK);
	CHECK_TEXT(text, "500000000");
	numeric_of(-1, POSITIVE, 4, 12, -1);
	CHECK_EQ(print(WP_TYPE_NUMERIC), WP_OK);
	CHECK_TEXT(text, "0.0012");
	numeric_of(-3, NEGATIVE, 11, 1230, -1);
	CHECK_EQ(print(WP_TYPE_NUMERIC), WP_OK);
	CHECK_TEXT(text, "-0.00000000123");
	numeric_of(INT16_MIN, POSITIVE, 2, 1, -1);
	CHECK_EQ(print(WP_TYPE_NUMERIC), WP_OK);
	CHECK_TEXT(text, "0.00");
}

static void the_longest_numeric_fits(void **state)
{
	numeric_of(INT16_MAX, NEGATIVE, 0x3FFF, 9999, -1);
	CHECK_EQ(print(WP_TYPE_NUMERIC), WP_OK);
	CHECK_EQ(strlen(text), 1 + 131072 + 1 + 16383);
	text[8] = '\0';
	CHECK_TEXT(text, "-9999000");
}

static void numerics_that_are_no_numbers_have_names(void **state)
{
	static const struct {
		unsigned sign;
		const char *name;
	} names[] = { { 0xC000, "NaN" }, { 0xD000, "Infinity" }, { 0xF000, "-Infinity" } };

	for (size_t i = 0; i < 3; i++) {
		numeric_of(7, names[i].sign, 32, -1); /* what stands there means nothing */
		CHECK_EQ(print(WP_TYPE_NUMERIC), WP_OK);
		CHECK_TEXT(text, names[i].name);
	}
}

static void a_numeric_in_another_form_is_refused(void **state)
{
	static const unsigned signs[] = { 0x0001, 0x3FFF, 0x8000, 0xC001, 0xE000, 0xFFFF };

	numeric_of(0, POSITIVE, 0, 10000, -1);
	CHECK_EQ(print(WP_TYPE_NUMERIC), WP_CONFIG);
	numeric_of(0, POSITIVE, 0x4000, 1, -1);
	CHECK_EQ(print(WP_TYPE_NUMERIC), WP_CONFIG);
	for (size_t i = 0; i < sizeof(signs) / sizeof(signs[0]); i++) {
		numeric_of(0, signs[i], 0, 1, -1);
		CHECK_EQ(print(WP_TYPE_NUMERIC), WP_CONFIG);
	}
	numeric_of(0, POSITIVE, 0, 1, 2, -1);
	while (value.size-- > 0)
		CHECK_EQ(print(WP_TYPE_NUMERIC), WP_CONFIG);
	numeric_of(0, POSITIVE, 0, 1, -1);
	put(0, 1);
	CHECK_EQ(print(WP_TYPE_NUMERIC), WP_CONFIG);
	value.data[0] = value.data[1] = 0xFF; /* says 65535 groups */
	CHECK_EQ(print(WP_TYPE_NUMERIC), WP_CONFIG);
}

int main(void)
{
	return RUN(PLAIN(integers_have_their_limits),
		   PLAIN(a_double_has_an_exponent_below_1e_4_and_from_1e15_on),
		   PLAIN(a_double_is_the_shortest_that_reads_back),
		   PLAIN(doubles_that_are_no_numbers_have_names), PLAIN(a_float_has_its_own_limits),
		   PLAIN(a_numeric_has_as_many_decimals_as_its_scale),
		   PLAIN(a_numeric_may_begin_far_from_its_point), PLAIN(the_longest_numeric_fits),
		   PLAIN(numerics_that_are_no_numbers_have_names),
		   PLAIN(a_numeric_in_another_form_is_refused));
}
