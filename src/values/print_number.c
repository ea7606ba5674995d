/* Prints integers and numerics that came in binary. */
#include "print.h"
#include "walpost/base/wire.h"

#define DIGITS_MAX 20 /* of 2^64 */

/* Digits of base 10000 need these. */
#define GROUP_SIZE 4
#define GROUP_MAX 9999

/* These are of numeric.c: NUMERIC_SIGN_MASK and NUMERIC_EXT_SIGN_MASK, NUMERIC_DSCALE_MASK. */
#define SIGN_POSITIVE 0x0000
#define SIGN_NEGATIVE 0x4000
#define SIGN_NAN 0xC000
#define SIGN_INFINITY 0xD000
#define SIGN_MINUS_INFINITY 0xF000
#define SCALE_MAX 0x3FFF

void wp_print_padded(struct wp_buffer *texts, uint64_t number, size_t width)
{
	char digits[DIGITS_MAX];
	size_t at = DIGITS_MAX;

	assert(width <= DIGITS_MAX);
	memset(digits, '0', sizeof(digits));
	do {
		digits[--at] = (char)('0' + number % 10);
		number /= 10;
	} while (number > 0);
	if (at > DIGITS_MAX - width)
		at = DIGITS_MAX - width;
	wp_print_bytes(texts, digits + at, DIGITS_MAX - at);
}

void wp_print_integer(struct wp_buffer *texts, int64_t number)
{
	if (number < 0)
		wp_print_char(texts, '-');
	wp_print_padded(texts, number < 0 ? 0 - (uint64_t)number : (uint64_t)number, 1);
}

enum wp_rc wp_print_int(enum wp_type type, struct wp_span value, struct wp_buffer *texts)
{
	struct wp_wire w;
	int64_t number;

	wp_wire_init(&w, value);
	if (type == WP_TYPE_INT2)
		number = (int16_t)wp_wire_u16(&w);
	else if (type == WP_TYPE_INT4)
		number = (int32_t)wp_wire_u32(&w);
	else
		number = (int64_t)wp_wire_u64(&w);
	if (wp_wire_end(&w) != WP_OK)
		return WP_CONFIG;
	wp_print_integer(texts, number);
	return WP_OK;
}

/*
 * numeric_send:
 *   Int16  how many groups of four decimal digits follow
 *   Int16  weight: the first group counts 10000^weight
 *   Int16  sign, or what else it is
 *   Int16  digits behind the point
 *   Int16  ... the groups, without zeroes before and behind
 */
struct numeric {
	size_t group_count;
	int16_t weight;
	uint16_t sign;
	uint16_t scale;
	struct wp_span groups;
};

static bool read_numeric(struct wp_span value, struct numeric *ret)
{
	struct wp_wire w;

	wp_wire_init(&w, value);
	ret->group_count = wp_wire_u16(&w);
	ret->weight = (int16_t)wp_wire_u16(&w);
	ret->sign = wp_wire_u16(&w);
	ret->scale = wp_wire_u16(&w);
	ret->groups = wp_wire_bytes(&w, ret->group_count * 2);
	return wp_wire_end(&w) == WP_OK;
}

/* NULL: it is a number. Weight and scale of the others are whatever the server had there. */
static const char *special_text(const struct numeric *n)
{
	switch (n->sign) {
	case SIGN_NAN:
		return "NaN";
	case SIGN_INFINITY:
		return "Infinity";
	case SIGN_MINUS_INFINITY:
		return "-Infinity";
	default:
		return NULL;
	}
}

static unsigned group_at(const struct numeric *n, size_t index)
{
	if (index >= n->group_count)
		return 0;
	return (unsigned)(n->groups.data[2 * index] << 8 | n->groups.data[2 * index + 1]);
}

static bool is_valid_numeric(const struct numeric *n)
{
	if ((n->sign != SIGN_POSITIVE && n->sign != SIGN_NEGATIVE) || n->scale > SCALE_MAX)
		return false;
	for (size_t i = 0; i < n->group_count; i++) {
		if (group_at(n, i) > GROUP_MAX)
			return false;
	}
	return true;
}

/* There are at most 131072 digits before the point and 16383 behind it, whatever the value says. */
size_t wp_numeric_room(struct wp_span value)
{
	struct numeric n;

	if (!read_numeric(value, &n))
		return 0;
	if (special_text(&n) != NULL)
		return strlen(special_text(&n));
	size_t before = n.weight < 0 ? 1 : ((size_t)n.weight + 1) * GROUP_SIZE;
	return sizeof("-.") - 1 + before + n.scale;
}

static void print_before_point(struct wp_buffer *texts, const struct numeric *n)
{
	if (n->weight < 0) {
		wp_print_char(texts, '0');
		return;
	}
	wp_print_padded(texts, group_at(n, 0), 1);
	for (size_t i = 1; i <= (size_t)n->weight; i++)
		wp_print_padded(texts, group_at(n, i), GROUP_SIZE);
}

static void print_behind_point(struct wp_buffer *texts, const struct numeric *n)
{
	static const unsigned divisors[GROUP_SIZE] = { 1000, 100, 10, 1 };

	for (size_t i = 0; i < n->scale; i++) {
		/* Before the first group there are none but zeroes. */
		long index = n->weight + 1L + (long)(i / GROUP_SIZE);
		unsigned group = index < 0 ? 0 : group_at(n, (size_t)index);
		wp_print_char(texts, (char)('0' + group / divisors[i % GROUP_SIZE] % 10));
	}
}

/* This is get_str_from_var() of numeric.c. */
enum wp_rc wp_print_numeric(struct wp_span value, struct wp_buffer *texts)
{
	struct numeric n;

	if (!read_numeric(value, &n))
		return WP_CONFIG;
	if (special_text(&n) != NULL) {
		wp_print_text(texts, special_text(&n));
		return WP_OK;
	}
	if (!is_valid_numeric(&n))
		return WP_CONFIG;
	if (n.sign == SIGN_NEGATIVE)
		wp_print_char(texts, '-');
	print_before_point(texts, &n);
	if (n.scale > 0) {
		wp_print_char(texts, '.');
		print_behind_point(texts, &n);
	}
	return WP_OK;
}
