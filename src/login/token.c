#include "walpost/login/token.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "walpost/base/base64.h"
#include "walpost/base/calendar.h"
#include "walpost/base/json.h"
#include "walpost/base/secret_buffer.h"

#define SECOND_MS 1000
#define CLAIMS_SIZE_MAX 65536
/* Seconds of this or more are milliseconds: as seconds, this is in the year 5138. */
#define MILLISECONDS_FROM INT64_C(100000000000)

static enum wp_rc judge(struct wp_span text, struct wp_error *error)
{
	if (text.size == 0)
		return wp_error_set(error, WP_CONFIG, "it is empty");
	if (text.size > WP_TOKEN_SIZE_MAX)
		return wp_error_set(error, WP_CONFIG, "it is longer than %d bytes",
				    WP_TOKEN_SIZE_MAX);
	for (size_t i = 0; i < text.size; i++) {
		uint8_t c = text.data[i];
		if (c == '\n' || c == '\r')
			return wp_error_set(error, WP_CONFIG, "it has more than one line");
		if (c < ' ' || c == 127)
			return wp_error_set(error, WP_CONFIG, "it holds the control character %d",
					    c);
	}
	return WP_OK;
}

enum wp_rc wp_token_set(struct wp_token *t, struct wp_span text, struct wp_error *error)
{
	enum wp_rc rc = judge(text, error);

	if (rc != WP_OK)
		return rc;
	char *copy = malloc(text.size + 1);
	if (copy == NULL)
		return wp_error_set(error, WP_NOMEM, "out of memory for a token");
	memcpy(copy, text.data, text.size);
	copy[text.size] = '\0';
	wp_secret_text_free(t->text);
	t->text = copy;
	return WP_OK;
}

void wp_token_release(struct wp_token *t)
{
	wp_secret_text_free(t->text);
	*t = (struct wp_token){ 0 };
}

enum wp_rc wp_token_copy(const struct wp_token *t, struct wp_token *ret)
{
	struct wp_token copy = *t;

	copy.text = NULL;
	enum wp_rc rc = wp_token_set(&copy, wp_span_of(t->text), NULL);
	if (rc == WP_OK)
		*ret = copy;
	return rc;
}

/* ---- times ---- */

static bool digits(const char **at, size_t count, int64_t *ret)
{
	*ret = 0;
	for (size_t i = 0; i < count; i++, (*at)++) {
		if (**at < '0' || **at > '9')
			return false;
		*ret = *ret * 10 + (**at - '0');
	}
	return true;
}

static bool one_of(const char **at, const char *set)
{
	return **at != '\0' && strchr(set, *(*at)++) != NULL;
}

/* Reads "Z" or "+02:00". */
static bool read_offset(const char **at, int64_t *ret_minutes)
{
	int64_t hours, minutes;
	char sign = **at;

	if (!one_of(at, "Zz+-"))
		return false;
	*ret_minutes = 0;
	if (sign != '+' && sign != '-')
		return true;
	if (!digits(at, 2, &hours) || !one_of(at, ":") || !digits(at, 2, &minutes))
		return false;
	*ret_minutes = (sign == '-' ? -1 : 1) * (hours * 60 + minutes);
	return true;
}

static void skip_fraction(const char **at)
{
	if (**at != '.')
		return;
	do
		(*at)++;
	while (**at >= '0' && **at <= '9');
}

bool wp_token_time(const char *text, int64_t *ret_ms)
{
	int64_t year, month, day, hour, minute, second, offset;
	const char *at = text;

	if (!digits(&at, 4, &year) || !one_of(&at, "-") || !digits(&at, 2, &month) ||
	    !one_of(&at, "-") || !digits(&at, 2, &day) || !one_of(&at, "Tt ") ||
	    !digits(&at, 2, &hour) || !one_of(&at, ":") || !digits(&at, 2, &minute) ||
	    !one_of(&at, ":") || !digits(&at, 2, &second))
		return false;
	skip_fraction(&at);
	if (!read_offset(&at, &offset) || *at != '\0' || month < 1 || month > 12 || day < 1 ||
	    day > 31 || hour > 23 || minute > 59 || second > 60)
		return false;
	struct wp_date date = { .year = year, .month = month, .day = day };
	int64_t seconds = wp_calendar_days(date) * WP_DAY_S + hour * 3600 + minute * 60 + second;
	*ret_ms = (seconds - offset * 60) * SECOND_MS;
	return true;
}

/* Reads a number of seconds, maybe with a fraction. */
static bool read_number(struct wp_span text, int64_t *ret_ms)
{
	char copy[32];
	double value;
	int size = 0;

	(void)snprintf(copy, sizeof(copy), "%.*s", (int)(text.size < 31 ? text.size : 31),
		       (const char *)text.data);
	if (text.size > 31 || sscanf(copy, "%lf%n", &value, &size) != 1 ||
	    (size_t)size != text.size || !(value > 0 && value < 1e15))
		return false;
	*ret_ms = (int64_t)(value < (double)MILLISECONDS_FROM ? value * SECOND_MS : value);
	return true;
}

/* ---- JSON ---- */

static bool is_named(struct wp_span quoted, const char *name)
{
	size_t size = strlen(name);

	return quoted.size == size + 2 && memcmp(quoted.data + 1, name, size) == 0;
}

/* Returns false when it is no string, does not fit, or is not text. */
static bool read_text(const struct wp_json *value, char *ret, size_t size)
{
	struct wp_buffer b;

	if (value->kind != WP_JSON_STRING)
		return false;
	bool done = wp_secret_buffer_init(&b, size - 1, NULL) == WP_OK &&
		    wp_json_unescape(value->text, &b) == WP_OK &&
		    (b.size == 0 || memchr(b.data, '\0', b.size) == NULL);
	if (done) {
		if (b.size > 0)
			memcpy(ret, b.data, b.size);
		ret[b.size] = '\0';
	}
	wp_secret_buffer_release(&b);
	return done;
}

static enum wp_rc read_secret(struct wp_token *t, const struct wp_json *value,
			      struct wp_error *error)
{
	struct wp_buffer b;
	enum wp_rc rc = WP_DATA;

	if (wp_secret_buffer_init(&b, WP_TOKEN_SIZE_MAX + 1, NULL) != WP_OK)
		rc = WP_NOMEM;
	else if (value->kind == WP_JSON_STRING)
		rc = wp_json_unescape(value->text, &b);
	if (rc == WP_DATA)
		rc = wp_error_set(error, WP_CONFIG, "its \"token\" is not a text");
	else if (rc == WP_NOMEM)
		rc = wp_error_set(error, WP_NOMEM, "out of memory for a token");
	else
		rc = wp_token_set(t, wp_buffer_span(&b), error);
	wp_secret_buffer_release(&b);
	return rc;
}

static bool read_expiry(struct wp_token *t, const struct wp_json *value)
{
	char text[64];

	if (value->kind == WP_JSON_NUMBER)
		return read_number(value->text, &t->expires_at_ms);
	return read_text(value, text, sizeof(text)) && wp_token_time(text, &t->expires_at_ms);
}

static bool read_extensions(struct wp_token *t, const struct wp_json *value)
{
	struct wp_json_walk walk;
	struct wp_span name;
	struct wp_json one;

	if (value->kind != WP_JSON_OBJECT)
		return false;
	wp_json_walk_init(&walk, value);
	while (wp_json_walk_next(&walk, &name, &one)) {
		struct wp_json named = { .kind = WP_JSON_STRING, .text = name };
		if (t->extension_count == WP_TOKEN_EXTENSIONS_MAX)
			return false;
		struct wp_token_extension *to = &t->extensions[t->extension_count++];
		if (!read_text(&named, to->name, sizeof(to->name)) ||
		    !read_text(&one, to->value, sizeof(to->value)))
			return false;
	}
	return true;
}

static enum wp_rc read_member(struct wp_token *t, struct wp_span name, const struct wp_json *value,
			      struct wp_error *error)
{
	if (is_named(name, "token"))
		return read_secret(t, value, error);
	if (is_named(name, "expires_at") && !read_expiry(t, value))
		return wp_error_set(error, WP_CONFIG,
				    "its \"expires_at\" is neither seconds of Unix time nor like "
				    "\"2030-01-31T12:00:00Z\"");
	if (is_named(name, "principal") && !read_text(value, t->principal, sizeof(t->principal)))
		return wp_error_set(error, WP_CONFIG,
				    "its \"principal\" is not a text of at most %zu bytes",
				    sizeof(t->principal) - 1);
	if (is_named(name, "extensions") && !read_extensions(t, value))
		return wp_error_set(error, WP_CONFIG,
				    "its \"extensions\" are not an object of at most %d texts",
				    WP_TOKEN_EXTENSIONS_MAX);
	return WP_OK;
}

static enum wp_rc read_object(struct wp_token *t, struct wp_span text, struct wp_error *error)
{
	struct wp_json_walk walk;
	struct wp_span name;
	struct wp_json value;
	enum wp_rc rc = WP_OK;

	wp_json_walk_text(&walk, text);
	while (rc == WP_OK && wp_json_walk_next(&walk, &name, &value))
		rc = read_member(t, name, &value, error);
	if (rc != WP_OK)
		return rc;
	if (walk.state != WP_JSON_WALK_ENDED)
		return wp_error_set(error, WP_CONFIG, "it begins with { but is not a JSON object");
	if (t->text == NULL)
		return wp_error_set(error, WP_CONFIG, "it is a JSON object without \"token\"");
	return WP_OK;
}

static bool is_space(uint8_t c)
{
	return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

enum wp_rc wp_token_parse(struct wp_span text, int64_t now_ms, struct wp_token *ret,
			  struct wp_error *error)
{
	struct wp_token t = { .fetched_at_ms = now_ms };
	size_t at = 0;

	/* echo, or an editor, may have left a newline at the end. */
	if (text.size > 0 && text.data[text.size - 1] == '\n')
		text.size--;
	if (text.size > 0 && text.data[text.size - 1] == '\r')
		text.size--;
	while (at < text.size && is_space(text.data[at]))
		at++;
	bool is_object = at < text.size && text.data[at] == '{';
	enum wp_rc rc = is_object ? read_object(&t, text, error) : wp_token_set(&t, text, error);
	if (rc == WP_OK) {
		wp_token_read_claims(&t);
		*ret = t;
	} else {
		wp_token_release(&t);
	}
	return rc;
}

/* ---- JWT ---- */

static void read_claim(struct wp_token *t, struct wp_span name, const struct wp_json *value)
{
	if (is_named(name, "exp") && t->expires_at_ms == 0 && value->kind == WP_JSON_NUMBER &&
	    !read_number(value->text, &t->expires_at_ms))
		t->expires_at_ms = 0;
	if (is_named(name, "sub") && t->principal[0] == '\0' &&
	    !read_text(value, t->principal, sizeof(t->principal)))
		t->principal[0] = '\0';
}

bool wp_token_claims(const char *jwt, struct wp_buffer *ret)
{
	const char *first = strchr(jwt, '.');
	const char *second = first != NULL ? strchr(first + 1, '.') : NULL;

	if (wp_secret_buffer_init(ret, CLAIMS_SIZE_MAX, NULL) != WP_OK || second == NULL ||
	    strchr(second + 1, '.') != NULL)
		return false;
	struct wp_span middle = { (const uint8_t *)first + 1, (size_t)(second - first - 1) };
	return wp_base64url_read(ret, middle) == WP_OK && ret->size > 0 && ret->data[0] == '{';
}

void wp_token_read_claims(struct wp_token *t)
{
	struct wp_buffer claims;
	struct wp_json_walk walk;
	struct wp_span name;
	struct wp_json value;

	if (wp_token_claims(t->text, &claims)) {
		wp_json_walk_text(&walk, wp_buffer_span(&claims));
		while (wp_json_walk_next(&walk, &name, &value))
			read_claim(t, name, &value);
	}
	wp_secret_buffer_release(&claims);
}

int64_t wp_token_renew_at_ms(const struct wp_token *t)
{
	if (t->expires_at_ms == 0)
		return 0;
	return t->fetched_at_ms + (t->expires_at_ms - t->fetched_at_ms) / 5 * 4;
}
