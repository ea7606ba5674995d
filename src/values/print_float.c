/*
 * The shortest decimal that reads back as the same number, and of those the nearest:
 * digit by digit in exact arithmetic (Steele and White 1990, Burger and Dybvig 1996).
 * Postgres finds the same one with tables (Ryu, d2s.c and f2s.c); it does not take a
 * decimal that lies exactly between two numbers, nor do we. No printf: its point is the
 * locale's.
 */
#include "print.h"
#include "walpost/base/wire.h"

/* The largest is 2^1076, the unit for a double's least, times 10, and a sum of two such. */
#define LIMB_COUNT 36
#define DIGITS_MAX 17

struct big {
	uint32_t limbs[LIMB_COUNT]; /* least first; zeroes from `count` on */
	size_t count;
};

/* IEEE 754's two forms that Postgres has, and where printing changes to an exponent. */
struct form {
	unsigned mantissa_bits;
	unsigned exponent_max; /* as it stands in the bits: not finite */
	int bias;
	int plain_max; /* of the decimal exponent, exclusive */
};

/* mantissa * 2^exponent */
struct binary {
	uint64_t mantissa;
	int exponent;
	bool lower_is_nearer; /* the one below is half as far away as the one above */
};

/* 0.d1d2d3... * 10^point */
struct decimal {
	char digits[DIGITS_MAX];
	size_t count;
	int point;
};

/* value = number / unit; a decimal within `below` and `above` of it reads back as it. */
struct search {
	struct big number;
	struct big unit;
	struct big below;
	struct big above;
};

/* -- numbers of any size --------------------------------------------------- */

static void big_multiply(struct big *b, uint32_t factor)
{
	uint64_t carry = 0;

	for (size_t i = 0; i < b->count; i++) {
		carry += (uint64_t)b->limbs[i] * factor;
		b->limbs[i] = (uint32_t)carry;
		carry >>= 32;
	}
	if (carry > 0) {
		assert(b->count < LIMB_COUNT);
		b->limbs[b->count++] = (uint32_t)carry;
	}
}

/* start * 2^power */
static struct big big_of(uint64_t start, int power)
{
	struct big b = { .count = 0 };
	size_t at = (size_t)power / 32;

	assert(at + 2 <= LIMB_COUNT);
	b.limbs[at] = (uint32_t)start;
	b.limbs[at + 1] = (uint32_t)(start >> 32);
	b.count = at + 2;
	big_multiply(&b, UINT32_C(1) << (power % 32));
	return b;
}

static struct big big_sum(const struct big *a, const struct big *b)
{
	struct big sum = { .count = LIMB_COUNT };
	uint64_t carry = 0;

	for (size_t i = 0; i < LIMB_COUNT; i++) {
		carry += (uint64_t)a->limbs[i] + b->limbs[i];
		sum.limbs[i] = (uint32_t)carry;
		carry >>= 32;
	}
	assert(carry == 0);
	while (sum.count > 0 && sum.limbs[sum.count - 1] == 0)
		sum.count--;
	return sum;
}

static int big_compare(const struct big *a, const struct big *b)
{
	for (size_t i = LIMB_COUNT; i-- > 0;) {
		if (a->limbs[i] != b->limbs[i])
			return a->limbs[i] < b->limbs[i] ? -1 : 1;
	}
	return 0;
}

/* `b` is not the larger. */
static void big_subtract(struct big *a, const struct big *b)
{
	uint64_t borrow = 0;

	for (size_t i = 0; i < LIMB_COUNT; i++) {
		uint64_t less = b->limbs[i] + borrow;
		borrow = a->limbs[i] < less;
		a->limbs[i] = (uint32_t)(a->limbs[i] - less);
	}
	assert(borrow == 0);
}

/* -- digits ---------------------------------------------------------------- */

/* Everything is doubled, so that half the way to a neighbour is a whole number. */
static void begin(struct search *s, const struct binary *b)
{
	int up = b->exponent > 0 ? b->exponent : 0;
	int down = b->exponent < 0 ? -b->exponent : 0;
	int finer = b->lower_is_nearer ? 1 : 0;

	s->number = big_of(b->mantissa, up + 1 + finer);
	s->unit = big_of(1, down + 1 + finer);
	s->below = big_of(1, up);
	s->above = big_of(1, up + finer);
}

static bool reaches(const struct search *s, const struct big *bound)
{
	struct big most = big_sum(&s->number, &s->above);

	return big_compare(&most, bound) > 0;
}

static void scale_up(struct search *s)
{
	big_multiply(&s->number, 10);
	big_multiply(&s->below, 10);
	big_multiply(&s->above, 10);
}

/* To where number / unit, and what is above it with it, has one digit before the point. */
static int scale(struct search *s)
{
	int point = 0;

	while (reaches(s, &s->unit)) {
		big_multiply(&s->unit, 10);
		point++;
	}
	scale_up(s);
	while (!reaches(s, &s->unit)) {
		scale_up(s);
		point--;
	}
	return point;
}

static unsigned next_digit(struct search *s)
{
	unsigned digit = 0;

	while (big_compare(&s->number, &s->unit) >= 0) {
		big_subtract(&s->number, &s->unit);
		digit++;
	}
	return digit;
}

/* What is left is nearer to the next digit; a tie goes to the even one. */
static bool rounds_up(const struct search *s, unsigned digit)
{
	struct big twice = big_sum(&s->number, &s->number);
	int order = big_compare(&twice, &s->unit);

	return order > 0 || (order == 0 && digit % 2 == 1);
}

static void add_digit(struct decimal *d, unsigned digit)
{
	assert(d->count < DIGITS_MAX && digit <= 9);
	d->digits[d->count++] = (char)('0' + digit);
}

static struct decimal shortest(const struct binary *b)
{
	struct decimal d = { .count = 0 };
	struct search s;

	begin(&s, b);
	d.point = scale(&s);
	for (;;) {
		unsigned digit = next_digit(&s);
		bool may_stay = big_compare(&s.number, &s.below) < 0;
		bool may_rise = reaches(&s, &s.unit);
		if (may_stay || may_rise) {
			bool rises = may_rise && (!may_stay || rounds_up(&s, digit));
			add_digit(&d, digit + rises);
			return d;
		}
		add_digit(&d, digit);
		scale_up(&s);
	}
}

/* -- text ------------------------------------------------------------------ */

static void print_zeroes(struct wp_buffer *texts, int count)
{
	for (int i = 0; i < count; i++)
		wp_print_char(texts, '0');
}

static void print_plain(struct wp_buffer *texts, const struct decimal *d)
{
	size_t whole = d->point > 0 ? (size_t)d->point : 0;

	if (whole >= d->count) {
		wp_print_bytes(texts, d->digits, d->count);
		print_zeroes(texts, (int)(whole - d->count));
		return;
	}
	if (whole == 0)
		wp_print_char(texts, '0');
	wp_print_bytes(texts, d->digits, whole);
	wp_print_char(texts, '.');
	print_zeroes(texts, -d->point);
	wp_print_bytes(texts, d->digits + whole, d->count - whole);
}

static void print_scientific(struct wp_buffer *texts, const struct decimal *d)
{
	int exponent = d->point - 1;

	wp_print_char(texts, d->digits[0]);
	if (d->count > 1)
		wp_print_char(texts, '.');
	wp_print_bytes(texts, d->digits + 1, d->count - 1);
	wp_print_char(texts, 'e');
	wp_print_char(texts, exponent < 0 ? '-' : '+');
	wp_print_padded(texts, (uint64_t)(exponent < 0 ? -exponent : exponent), 2);
}

static void print_finite(const struct form *form, const struct binary *b, struct wp_buffer *texts)
{
	if (b->mantissa == 0) {
		wp_print_char(texts, '0');
		return;
	}
	struct decimal d = shortest(b);
	int exponent = d.point - 1;
	if (exponent >= -4 && exponent < form->plain_max)
		print_plain(texts, &d);
	else
		print_scientific(texts, &d);
}

static void print_bits(const struct form *form, uint64_t bits, struct wp_buffer *texts)
{
	uint64_t fraction = bits & ((UINT64_C(1) << form->mantissa_bits) - 1);
	unsigned biased = (unsigned)(bits >> form->mantissa_bits) & form->exponent_max;
	bool is_normal = biased > 0;

	if (biased == form->exponent_max && fraction != 0) {
		wp_print_text(texts, "NaN");
		return;
	}
	if (bits >> form->mantissa_bits > form->exponent_max)
		wp_print_char(texts, '-');
	if (biased == form->exponent_max) {
		wp_print_text(texts, "Infinity");
		return;
	}
	const struct binary b = {
		.mantissa = fraction | (uint64_t)is_normal << form->mantissa_bits,
		.exponent = (is_normal ? (int)biased : 1) - form->bias - (int)form->mantissa_bits,
		.lower_is_nearer = fraction == 0 && biased > 1,
	};
	print_finite(form, &b, texts);
}

/* float4send, float8send: the bits; float4out, float8out with extra_float_digits = 3. */
enum wp_rc wp_print_float(enum wp_type type, struct wp_span value, struct wp_buffer *texts)
{
	static const struct form form4 = { 23, 255, 127, 6 };
	static const struct form form8 = { 52, 2047, 1023, 15 };
	bool is_small = type == WP_TYPE_FLOAT4;
	struct wp_wire w;

	wp_wire_init(&w, value);
	uint64_t bits = is_small ? wp_wire_u32(&w) : wp_wire_u64(&w);
	if (wp_wire_end(&w) != WP_OK)
		return WP_CONFIG;
	print_bits(is_small ? &form4 : &form8, bits, texts);
	return WP_OK;
}
