#include <assert.h>
#include <stdlib.h>

#include "walpost/base/base64.h"

#include "decimal.h"

/* So many digits are taken at once: their value, and what it is multiplied by, has 32 bits. */
#define CHUNK_DIGITS 9

static bool is_digit(uint8_t c)
{
	return c >= '0' && c <= '9';
}

static struct wp_span read_digits(const uint8_t **at, const uint8_t *end)
{
	struct wp_span digits = { .data = *at };

	while (*at < end && is_digit(**at))
		(*at)++;
	digits.size = (size_t)(*at - digits.data);
	return digits;
}

static bool is_zero(struct wp_span digits)
{
	for (size_t i = 0; i < digits.size; i++) {
		if (digits.data[i] != '0')
			return false;
	}
	return true;
}

bool wp_decimal_read(struct wp_span text, struct wp_decimal *ret)
{
	const uint8_t *at = text.data;
	const uint8_t *end = text.data + text.size;
	struct wp_decimal d = { 0 };

	if (at < end && *at == '-') {
		d.is_negative = true;
		at++;
	}
	d.whole = read_digits(&at, end);
	d.fraction = (struct wp_span){ .data = at };
	if (d.whole.size == 0)
		return false;
	if (at < end && *at == '.') {
		at++;
		d.fraction = read_digits(&at, end);
		if (d.fraction.size == 0)
			return false;
	}
	if (at != end || d.whole.size + d.fraction.size > WP_DECIMAL_DIGITS_MAX)
		return false;
	for (; d.whole.size > 0 && *d.whole.data == '0'; d.whole.size--)
		d.whole.data++;
	if (d.whole.size == 0 && is_zero(d.fraction))
		d.is_negative = false;
	*ret = d;
	return true;
}

bool wp_decimal_set_scale(struct wp_decimal *d, size_t scale)
{
	if (scale >= d->fraction.size) {
		d->zeros = scale - d->fraction.size;
		return true;
	}
	struct wp_span cut = { d->fraction.data + scale, d->fraction.size - scale };
	if (!is_zero(cut))
		return false;
	d->fraction.size = scale;
	d->zeros = 0;
	return true;
}

void wp_decimal_strip(struct wp_decimal *d)
{
	d->zeros = 0;
	while (d->fraction.size > 0 && d->fraction.data[d->fraction.size - 1] == '0')
		d->fraction.size--;
}

size_t wp_decimal_scale(const struct wp_decimal *d)
{
	return d->fraction.size + d->zeros;
}

/* Zeros behind the point that no other digit stands before. */
static size_t zeros_ahead(const struct wp_decimal *d)
{
	size_t count = 0;

	if (d->whole.size > 0)
		return 0;
	while (count < d->fraction.size && d->fraction.data[count] == '0')
		count++;
	return count == d->fraction.size ? count + d->zeros : count;
}

size_t wp_decimal_size(const struct wp_decimal *d)
{
	return d->whole.size + wp_decimal_scale(d) - zeros_ahead(d);
}

/* Of all digits, the zeros at the front included. */
static unsigned digit_at(const struct wp_decimal *d, size_t index)
{
	if (index < d->whole.size)
		return d->whole.data[index] - (unsigned)'0';
	index -= d->whole.size;
	return index < d->fraction.size ? d->fraction.data[index] - (unsigned)'0' : 0;
}

enum wp_rc wp_decimal_write_digits(struct wp_buffer *into, const struct wp_decimal *d, size_t from,
				   size_t count)
{
	size_t first = zeros_ahead(d) + from;

	enum wp_rc rc = wp_buffer_reserve(into, count);
	if (rc != WP_OK)
		return rc;
	for (size_t i = first; i < first + count; i++)
		into->data[into->size++] = (uint8_t)('0' + digit_at(d, i));
	return WP_OK;
}

/* A magnitude: its lowest 32 bits come first. */
struct magnitude {
	uint32_t *words; /* owned */
	size_t count;
};

/* Room is there: each chunk of digits adds one word at most. */
static void multiply_and_add(struct magnitude *m, uint32_t factor, uint32_t summand)
{
	uint64_t carry = summand;

	for (size_t i = 0; i < m->count; i++) {
		carry += (uint64_t)m->words[i] * factor;
		m->words[i] = (uint32_t)carry;
		carry >>= 32;
	}
	if (carry > 0)
		m->words[m->count++] = (uint32_t)carry;
}

static void convert(const struct wp_decimal *d, struct magnitude *m)
{
	size_t ahead = zeros_ahead(d);
	size_t end = ahead + wp_decimal_size(d);
	uint32_t factor = 1;
	uint32_t chunk = 0;

	for (size_t i = ahead; i < end; i++) {
		factor *= 10;
		chunk = chunk * 10 + digit_at(d, i);
		if ((i - ahead) % CHUNK_DIGITS == CHUNK_DIGITS - 1 || i + 1 == end) {
			multiply_and_add(m, factor, chunk);
			factor = 1;
			chunk = 0;
		}
	}
}

/* Big-endian, with a byte for the sign in front; returns without what says nothing. */
static struct wp_span print(const struct magnitude *m, bool negative, uint8_t *bytes)
{
	size_t size = m->count * 4 + 1;
	unsigned carry = negative;

	bytes[0] = negative ? 0xFF : 0;
	for (size_t i = size - 1; i > 0; i--) {
		size_t place = size - 1 - i;
		unsigned byte = m->words[place / 4] >> place % 4 * 8 & 0xFF;
		byte = (negative ? byte ^ 0xFF : byte) + carry;
		bytes[i] = (uint8_t)byte;
		carry = byte >> 8;
	}
	size_t from = 0;
	while (from + 1 < size && bytes[from] == (bytes[from + 1] & 0x80 ? 0xFF : 0))
		from++;
	return (struct wp_span){ bytes + from, size - from };
}

enum wp_rc wp_decimal_write_base64(struct wp_buffer *into, const struct wp_decimal *d)
{
	size_t count = wp_decimal_size(d) / CHUNK_DIGITS + 1;
	struct magnitude m = { 0 };
	enum wp_rc rc = WP_NOMEM;

	m.words = malloc(count * sizeof(uint32_t));
	uint8_t *bytes = malloc(count * 4 + 1);
	if (m.words != NULL && bytes != NULL) {
		convert(d, &m);
		assert(m.count <= count);
		rc = wp_base64_write(into, print(&m, d->is_negative, bytes));
	}
	free(bytes);
	free(m.words);
	return rc;
}
