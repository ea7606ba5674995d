/*
 * Floats by the thousand, as Postgres and as Java print them. What is wanted are hashes of the
 * texts that two other searches printed: one by the digit in exact arithmetic, and one of all
 * decimals with two digits, three, and so on.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rendering.h"
#include "values.h"
#include "walpost/base/backoff.h"
#include "walpost/base/hash.h"

struct hashes {
	uint64_t postgres;
	uint64_t java;
};

static struct hashes none(void)
{
	return (struct hashes){ WP_HASH_BEGIN, WP_HASH_BEGIN };
}

static void add(struct hashes *h, enum wp_type type, uint64_t bits)
{
	struct wp_column_type column = column_of(type, -1);
	char java[64];
	struct wp_buffer into = { .data = (uint8_t *)java,
				  .capacity = sizeof(java),
				  .size_max = sizeof(java) };
	struct wp_span printed = wp_span_of(of_number(type, type == WP_TYPE_FLOAT4 ? 4 : 8, bits));

	CHECK_EQ(wp_render_string(&into, &column, printed, NULL), WP_OK);
	h->postgres = wp_hash(wp_hash(h->postgres, printed), wp_span_of(" "));
	h->java = wp_hash(wp_hash(h->java, wp_buffer_span(&into)), wp_span_of(" "));
}

static void check(struct hashes got, uint64_t postgres, uint64_t java)
{
	CHECK_EQ(got.postgres, postgres);
	CHECK_EQ(got.java, java);
}

/* The bits of 2^k are those of its exponent; among the subnormal ones, a single one. */
static struct hashes around_powers_of_two(enum wp_type type, unsigned bits, uint64_t end)
{
	struct hashes h = none();

	for (uint64_t power = 1; power < end << bits;) {
		for (uint64_t number = power - 1; number <= power + 1; number++)
			add(&h, type, number);
		power = power >> bits == 0 ? power * 2 : power + (UINT64_C(1) << bits);
	}
	return h;
}

static void powers_of_two_and_their_neighbours_have_their_texts(void **state)
{
	check(around_powers_of_two(WP_TYPE_FLOAT8, 52, 2047), UINT64_C(0x600967E1E8AE2C5A),
	      UINT64_C(0xE8B69D321CE1E6F3));
	check(around_powers_of_two(WP_TYPE_FLOAT4, 23, 255), UINT64_C(0xAEC63301E2D24397),
	      UINT64_C(0xDD64DB320D58D5D7));
}

static void subnormal_numbers_have_their_texts(void **state)
{
	struct hashes of8 = none(), of4 = none();

	for (uint64_t bits = 1; bits < 1000; bits++) {
		add(&of8, WP_TYPE_FLOAT8, bits);
		add(&of4, WP_TYPE_FLOAT4, bits);
	}
	for (uint64_t bits = 1; bits < UINT64_C(1) << 52; bits += UINT64_C(1000000000039))
		add(&of8, WP_TYPE_FLOAT8, bits);
	for (uint64_t bits = 1; bits < UINT64_C(1) << 23; bits += 10007)
		add(&of4, WP_TYPE_FLOAT4, bits);
	check(of8, UINT64_C(0xF70B6069009C2ACD), UINT64_C(0x99B6C926D70A79D3));
	check(of4, UINT64_C(0xA86A7E3F41167846), UINT64_C(0x3ADCAFD94505D96E));
}

static void floats_of_each_size_have_their_texts(void **state)
{
	struct hashes h = none();

	for (uint64_t bits = 0; bits < 0x7F800000; bits += 100003)
		add(&h, WP_TYPE_FLOAT4, bits);
	check(h, UINT64_C(0xE8F349234F4515A2), UINT64_C(0x625AE118F06F92BD));
}

static void doubles_at_random_have_their_texts(void **state)
{
	struct hashes h = none();
	uint64_t seed = 4711;

	for (int i = 0; i < 20000; i++) {
		uint64_t bits = wp_random_next(&seed);
		if ((bits >> 52 & 2047) != 2047)
			add(&h, WP_TYPE_FLOAT8, bits);
	}
	check(h, UINT64_C(0x9E003338C235D5FA), UINT64_C(0xAC7ACAF0824D125B));
}

/* Each decimal's number and its neighbours: some decimals lie exactly between two. */
static void neighbours_of_short_decimals_have_their_texts(void **state)
{
	struct hashes of8 = none(), of4 = none();

	for (unsigned digits = 1; digits < 1000; digits += 2) {
		for (int exponent = 0; exponent < 25; exponent++) {
			char decimal[32];
			(void)snprintf(decimal, sizeof(decimal), "%ue%d", digits, exponent);
			double number = strtod(decimal, NULL);
			float single = strtof(decimal, NULL);
			uint64_t bits;
			uint32_t single_bits;
			memcpy(&bits, &number, sizeof(bits));
			memcpy(&single_bits, &single, sizeof(single_bits));
			for (unsigned i = 0; i < 3; i++) {
				add(&of8, WP_TYPE_FLOAT8, bits + i - 1);
				add(&of4, WP_TYPE_FLOAT4, single_bits + i - 1);
			}
		}
	}
	check(of8, UINT64_C(0xF94EDDEAE15951C7), UINT64_C(0xC16DA660D5AB38B3));
	check(of4, UINT64_C(0x5399B8A15E1A2BBF), UINT64_C(0x4EAA83BF5DE1E843));
}

int main(void)
{
	return RUN(PLAIN(powers_of_two_and_their_neighbours_have_their_texts),
		   PLAIN(subnormal_numbers_have_their_texts),
		   PLAIN(floats_of_each_size_have_their_texts),
		   PLAIN(doubles_at_random_have_their_texts),
		   PLAIN(neighbours_of_short_decimals_have_their_texts));
}
