#include <assert.h>
#include <inttypes.h>

#include "walpost/base/display.h"

#include "decimal.h"
#include "render_parts.h"

#define VARHDRSZ 4
/* BigDecimal.toString() turns to an exponent below it (its documentation). */
#define PLAIN_EXPONENT_MIN (-6)

/* ---- integers ---- */

/* Postgres prints no zeros at the front, and no sign of zero. */
static bool is_integer(struct wp_span text, uint64_t max)
{
	bool negative = text.size > 0 && text.data[0] == '-';
	uint64_t number = 0;

	for (size_t i = negative; i < text.size; i++) {
		uint8_t c = text.data[i];
		if (c < '0' || c > '9' || number > max / 10)
			return false;
		number = number * 10 + (uint64_t)(c - '0');
	}
	return text.size > negative && number <= max + negative &&
	       (text.data[negative] != '0' || text.size == 1);
}

enum wp_rc wp_render_integer(struct wp_buffer *into, enum wp_type type, struct wp_span text,
			     struct wp_error *error)
{
	int size = type == WP_TYPE_INT2 ? 2 : type == WP_TYPE_INT4 ? 4 : 8;
	uint64_t max = UINT64_MAX >> (64 - 8 * size + 1);
	struct wp_excerpt shown;

	if (is_integer(text, max))
		return wp_buffer_append(into, text);
	return wp_error_set(error, WP_DATA, "\"%s\" is not an int%d in Postgres's format",
			    wp_excerpt(&shown, text), size);
}

/* ---- numerics ---- */

/*
 * precision << 16 | scale of eleven bits, plus VARHDRSZ (make_numeric_typmod() in PostgreSQL's
 * src/backend/utils/adt/numeric.c; the scale has a sign since version 15).
 */
struct wp_render_scale wp_render_scale(int32_t modifier)
{
	if (modifier < VARHDRSZ)
		return (struct wp_render_scale){ .is_variable = modifier < 0 };
	int32_t packed = modifier - VARHDRSZ;
	return (struct wp_render_scale){
		.precision = packed >> 16 & 0xFFFF,
		.scale = ((packed & 0x7FF) ^ 1024) - 1024,
	};
}

static enum wp_rc blame(struct wp_span text, struct wp_error *error)
{
	struct wp_excerpt shown;

	if (wp_span_is(text, "NaN") || wp_span_is(text, "Infinity") ||
	    wp_span_is(text, "-Infinity"))
		return wp_error_set(error, WP_DATA,
				    "a numeric is %s, which Connect's decimals cannot represent",
				    wp_excerpt(&shown, text));
	return wp_error_set(error, WP_DATA, "\"%s\" is not a numeric in Postgres's format",
			    wp_excerpt(&shown, text));
}

/* 12345.678 */
static enum wp_rc write_plain(struct wp_buffer *into, const struct wp_decimal *d)
{
	enum wp_rc rc = wp_buffer_append(into, d->whole);

	if (rc == WP_OK && d->whole.size == 0)
		rc = wp_buffer_append_byte(into, '0');
	if (rc == WP_OK && wp_decimal_scale(d) > 0)
		rc = wp_buffer_append_byte(into, '.');
	if (rc == WP_OK)
		rc = wp_buffer_append(into, d->fraction);
	for (size_t i = 0; i < d->zeros && rc == WP_OK; i++)
		rc = wp_buffer_append_byte(into, '0');
	return rc;
}

/* 1.234E-7, all digits of the unscaled value; zero has one too. */
static enum wp_rc write_scientific(struct wp_buffer *into, const struct wp_decimal *d, size_t size,
				   long exponent)
{
	enum wp_rc rc = wp_decimal_write_digits(into, d, 0, 1);

	if (rc == WP_OK && size > 1)
		rc = wp_buffer_append_byte(into, '.');
	if (rc == WP_OK)
		rc = wp_decimal_write_digits(into, d, 1, size - 1);
	return rc == WP_OK ? wp_buffer_printf(into, "E%ld", exponent) : rc;
}

/* As BigDecimal.toString(). */
static enum wp_rc write_big_decimal(struct wp_buffer *into, const struct wp_decimal *d)
{
	size_t size = wp_decimal_size(d) > 0 ? wp_decimal_size(d) : 1;
	long exponent = (long)size - 1 - (long)wp_decimal_scale(d);
	enum wp_rc rc = WP_OK;

	if (d->is_negative)
		rc = wp_buffer_append_byte(into, '-');
	if (rc != WP_OK)
		return rc;
	return exponent >= PLAIN_EXPONENT_MIN ? write_plain(into, d)
					      : write_scientific(into, d, size, exponent);
}

/* Debezium's VariableScaleDecimal, the same in each form. */
static enum wp_rc write_variable(struct wp_buffer *into, const struct wp_decimal *d)
{
	enum wp_rc rc = wp_buffer_printf(into, "{\"scale\":%zu,\"value\":\"", wp_decimal_scale(d));

	if (rc == WP_OK)
		rc = wp_decimal_write_base64(into, d);
	return rc == WP_OK ? wp_buffer_append_text(into, "\"}") : rc;
}

static enum wp_rc write_decimal(struct wp_buffer *into, const struct wp_decimal *d)
{
	enum wp_rc rc = wp_buffer_append_byte(into, '"');

	if (rc == WP_OK)
		rc = wp_decimal_write_base64(into, d);
	return rc == WP_OK ? wp_buffer_append_byte(into, '"') : rc;
}

enum wp_rc wp_render_numeric(struct wp_buffer *into, int32_t modifier, struct wp_span text,
			     enum wp_render_form form, struct wp_error *error)
{
	struct wp_render_scale scale = wp_render_scale(modifier);
	struct wp_excerpt shown;
	struct wp_decimal d;

	if (!wp_decimal_read(text, &d))
		return blame(text, error);
	if (scale.is_variable) {
		wp_decimal_strip(&d);
		return write_variable(into, &d);
	}
	assert(scale.scale >= 0);
	if (!wp_decimal_set_scale(&d, (size_t)scale.scale))
		return wp_error_set(
			error, WP_DATA,
			"the numeric %s has more fractional digits than the column's scale %d",
			wp_excerpt(&shown, text), scale.scale);
	return form == WP_RENDER_JSON ? write_decimal(into, &d) : write_big_decimal(into, &d);
}
