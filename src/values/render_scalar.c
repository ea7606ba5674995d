/* Renders values of all types but arrays, from the text that Postgres prints. */
#include <inttypes.h>
#include <string.h>

#include "walpost/base/base64.h"
#include "walpost/base/display.h"
#include "walpost/base/json.h"
#include "walpost/base/utf8.h"
#include "walpost/values/moment.h"

#include "render_parts.h"

#define US_PER_MS 1000
#define MS_DIGITS_MAX 3

int wp_render_precision(int32_t modifier)
{
	return modifier < 0 ? 6 : modifier;
}

/* ---- texts ---- */

/* Values.escape() escapes nothing but these two. */
static enum wp_rc write_quoted(struct wp_buffer *into, struct wp_span text)
{
	enum wp_rc rc = wp_buffer_append_byte(into, '"');

	for (size_t i = 0; i < text.size && rc == WP_OK; i++) {
		uint8_t c = text.data[i];
		if (c == '"' || c == '\\')
			rc = wp_buffer_append_byte(into, '\\');
		if (rc == WP_OK)
			rc = wp_buffer_append_byte(into, c);
	}
	return rc == WP_OK ? wp_buffer_append_byte(into, '"') : rc;
}

static enum wp_rc render_text(struct wp_buffer *into, struct wp_span text, enum wp_render_form form,
			      struct wp_error *error)
{
	struct wp_excerpt shown;

	if (form == WP_RENDER_PLAIN)
		return wp_buffer_append(into, text);
	if (form == WP_RENDER_QUOTED)
		return write_quoted(into, text);
	if (!wp_utf8_is_valid(text))
		return wp_error_set(error, WP_DATA,
				    "the text \"%s\" is not UTF-8, as JSON requires",
				    wp_excerpt(&shown, text));
	return wp_json_write_string(into, text, WP_JSON_JACKSON);
}

static enum wp_rc write_quote(struct wp_buffer *into, enum wp_render_form form)
{
	return form == WP_RENDER_PLAIN ? WP_OK : wp_buffer_append_byte(into, '"');
}

static int hex_value(uint8_t c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Reads \x and two digits for each byte. */
static bool read_bytea(struct wp_span text, struct wp_buffer *bytes)
{
	if (text.size < 2 || text.size % 2 != 0 || memcmp(text.data, "\\x", 2) != 0)
		return false;
	for (size_t i = 2; i < text.size; i += 2) {
		int high = hex_value(text.data[i]);
		int low = hex_value(text.data[i + 1]);
		if (high < 0 || low < 0)
			return false;
		bytes->data[bytes->size++] = (uint8_t)(high << 4 | low);
	}
	return true;
}

static enum wp_rc render_bytea(struct wp_buffer *into, struct wp_span text,
			       enum wp_render_form form, struct wp_error *error)
{
	struct wp_excerpt shown;
	struct wp_buffer bytes;

	wp_buffer_init(&bytes, text.size / 2);
	enum wp_rc rc = wp_buffer_reserve(&bytes, text.size / 2);
	if (rc == WP_OK && !read_bytea(text, &bytes))
		rc = wp_error_set(error, WP_DATA, "\"%s\" is not a bytea in hex format",
				  wp_excerpt(&shown, text));
	if (rc == WP_OK)
		rc = write_quote(into, form);
	if (rc == WP_OK)
		rc = wp_base64_write(into, wp_buffer_span(&bytes));
	if (rc == WP_OK)
		rc = write_quote(into, form);
	wp_buffer_release(&bytes);
	return rc;
}

static enum wp_rc render_bool(struct wp_buffer *into, struct wp_span text, struct wp_error *error)
{
	struct wp_excerpt shown;

	if (wp_span_is(text, "t"))
		return wp_buffer_append_text(into, "true");
	if (wp_span_is(text, "f"))
		return wp_buffer_append_text(into, "false");
	return wp_error_set(error, WP_DATA, "\"%s\" is not a bool in Postgres's format",
			    wp_excerpt(&shown, text));
}

/* ---- dates and times ---- */

/*
 * Debezium makes this of infinity; of timestamps as its documentation says. A date's is a day in
 * the year -5877611 for both, one apart (PostgresValueConverter, *_INFINITY_LOCAL_DATE).
 */
static const struct infinity {
	enum wp_type type;
	const char *text;
	int64_t number;
} infinities[] = {
	{ WP_TYPE_DATE, "infinity", -2147472692 },
	{ WP_TYPE_DATE, "-infinity", -2147472691 },
	{ WP_TYPE_TIMESTAMP, "infinity", 9223372036825200000 },
	{ WP_TYPE_TIMESTAMP, "-infinity", -9223372036832400000 },
};

static const struct infinity *find_infinity(enum wp_type type, struct wp_span text)
{
	for (size_t i = 0; i < sizeof(infinities) / sizeof(infinities[0]); i++) {
		if (infinities[i].type == type && wp_span_is(text, infinities[i].text))
			return &infinities[i];
	}
	return NULL;
}

static enum wp_rc render_date(struct wp_buffer *into, struct wp_span text, struct wp_error *error)
{
	const struct infinity *infinity = find_infinity(WP_TYPE_DATE, text);
	int32_t days;

	if (infinity != NULL)
		return wp_buffer_printf(into, "%" PRId64, infinity->number);
	enum wp_rc rc = wp_moment_days(text, &days, error);
	return rc == WP_OK ? wp_buffer_printf(into, "%" PRId32, days) : rc;
}

/* Returns of a moment before 1970 the millisecond that it is in, not the next. */
static int64_t ms_of(int64_t us)
{
	return us / US_PER_MS - (us % US_PER_MS < 0);
}

/* Renders a time or a timestamp. */
static enum wp_rc render_count(struct wp_buffer *into, enum wp_type type, int32_t modifier,
			       struct wp_span text, struct wp_error *error)
{
	const struct infinity *infinity = find_infinity(type, text);
	int64_t us;

	if (infinity != NULL) {
		us = infinity->number;
	} else {
		enum wp_rc rc = wp_moment_us(type, text, &us, error);
		if (rc != WP_OK)
			return rc;
	}
	return wp_buffer_printf(into, "%" PRId64,
				wp_render_precision(modifier) <= MS_DIGITS_MAX ? ms_of(us) : us);
}

static enum wp_rc render_timestamptz(struct wp_buffer *into, int32_t modifier, struct wp_span text,
				     enum wp_render_form form, struct wp_error *error)
{
	int64_t us;

	if (wp_span_is(text, "infinity") || wp_span_is(text, "-infinity"))
		return render_text(into, text, form, error);
	enum wp_rc rc = wp_moment_us(WP_TYPE_TIMESTAMPTZ, text, &us, error);
	if (rc == WP_OK)
		rc = write_quote(into, form);
	if (rc == WP_OK)
		rc = wp_moment_write_iso(into, us, wp_render_precision(modifier));
	return rc == WP_OK ? write_quote(into, form) : rc;
}

/* ---- values ---- */

enum wp_rc wp_render_scalar(struct wp_buffer *into, enum wp_type type, int32_t modifier,
			    struct wp_span text, enum wp_render_form form, struct wp_error *error)
{
	switch (type) {
	case WP_TYPE_BYTEA:
		return render_bytea(into, text, form, error);
	case WP_TYPE_BOOL:
		return render_bool(into, text, error);
	case WP_TYPE_INT2:
	case WP_TYPE_INT4:
	case WP_TYPE_INT8:
		return wp_render_integer(into, type, text, error);
	case WP_TYPE_FLOAT4:
	case WP_TYPE_FLOAT8:
		return wp_render_float(into, type, text, form, error);
	case WP_TYPE_NUMERIC:
		return wp_render_numeric(into, modifier, text, form, error);
	case WP_TYPE_DATE:
		return render_date(into, text, error);
	case WP_TYPE_TIME:
	case WP_TYPE_TIMESTAMP:
		return render_count(into, type, modifier, text, error);
	case WP_TYPE_TIMESTAMPTZ:
		return render_timestamptz(into, modifier, text, form, error);
	default:
		return render_text(into, text, form, error);
	}
}
