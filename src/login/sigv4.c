#include "sigv4.h"

#include <assert.h>
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include <openssl/evp.h>
#include <openssl/hmac.h>

#include "walpost/base/calendar.h"
#include "walpost/base/percent.h"
#include "walpost/base/secret_buffer.h"

#define DIGEST_SIZE 32
#define HEX_SIZE (DIGEST_SIZE * 2 + 1)
#define SECRET_SIZE_MAX 256
#define ALGORITHM "AWS4-HMAC-SHA256"

/* ---- digests ---- */

static void to_hex(const uint8_t digest[DIGEST_SIZE], char ret[HEX_SIZE])
{
	for (size_t i = 0; i < DIGEST_SIZE; i++)
		(void)snprintf(ret + 2 * i, 3, "%02x", digest[i]); /* fits */
}

static enum wp_rc sha256_hex(struct wp_span bytes, char ret[HEX_SIZE])
{
	uint8_t digest[DIGEST_SIZE];

	if (EVP_Digest(bytes.data, bytes.size, digest, NULL, EVP_sha256(), NULL) != 1)
		return WP_NOMEM;
	to_hex(digest, ret);
	return WP_OK;
}

static enum wp_rc hmac(struct wp_span key, struct wp_span bytes, uint8_t ret[DIGEST_SIZE])
{
	unsigned size = DIGEST_SIZE;

	return HMAC(EVP_sha256(), key.data, (int)key.size, bytes.data, bytes.size, ret, &size) ==
			       NULL
		       ? WP_NOMEM
		       : WP_OK;
}

struct wp_sigv4_date wp_sigv4_date_of(int64_t now_s)
{
	struct wp_sigv4_date date;
	char text[WP_CALENDAR_TEXT_SIZE];

	/* This is 2015-08-30T12:36:00Z, without what separates its parts. */
	(void)wp_calendar_text(now_s, text);
	(void)snprintf(date.text, sizeof(date.text), "%.4s%.2s%.5s%.2s%.3s", text, text + 5,
		       text + 8, text + 14, text + 17); /* fits */
	return date;
}

/*
 * The key is derived in steps: kSecret = "AWS4" + secret; kDate = HMAC(kSecret, yyyymmdd);
 * kRegion = HMAC(kDate, region); kService = HMAC(kRegion, service);
 * kSigning = HMAC(kService, "aws4_request").
 */
static enum wp_rc signing_key(const struct wp_sigv4_request *r, const char *secret,
			      uint8_t ret[DIGEST_SIZE])
{
	struct wp_sigv4_date date = wp_sigv4_date_of(r->now_s);
	struct wp_span parts[] = { { .data = (const uint8_t *)date.text, .size = 8 },
				   wp_span_of(r->region),
				   wp_span_of(r->service),
				   wp_span_of("aws4_request") };
	char first[SECRET_SIZE_MAX];
	int size = snprintf(first, sizeof(first), "AWS4%s", secret);
	uint8_t key[DIGEST_SIZE] = { 0 };
	enum wp_rc rc = size < 0 || (size_t)size >= sizeof(first) ? WP_FULL : WP_OK;

	for (size_t i = 0; rc == WP_OK && i < sizeof(parts) / sizeof(parts[0]); i++) {
		uint8_t next[DIGEST_SIZE];
		struct wp_span with =
			i == 0 ? (struct wp_span){ (const uint8_t *)first, (size_t)size }
			       : (struct wp_span){ key, DIGEST_SIZE };
		rc = hmac(with, parts[i], next);
		memcpy(key, next, DIGEST_SIZE);
		explicit_bzero(next, sizeof(next));
	}
	memcpy(ret, key, DIGEST_SIZE);
	explicit_bzero(first, sizeof(first));
	explicit_bzero(key, sizeof(key));
	return rc;
}

/* ---- fields, in their canonical form and order ---- */

struct field {
	size_t name; /* where it stands in `text`, NUL-terminated */
	size_t value;
};

struct fields {
	struct wp_buffer text; /* may hold a session token */
	struct field all[WP_SIGV4_FIELDS_MAX + 8];
	size_t count;
};

static const char *at(const struct fields *f, size_t offset)
{
	return (const char *)f->text.data + offset;
}

/* Fields are sorted by name, then by value; as bytes, of the form that is sent. */
static void sort_last(struct fields *f)
{
	size_t i = f->count - 1;

	for (; i > 0; i--) {
		struct field *a = &f->all[i - 1];
		struct field *b = &f->all[i];
		int by_name = strcmp(at(f, a->name), at(f, b->name));
		if (by_name < 0 || (by_name == 0 && strcmp(at(f, a->value), at(f, b->value)) <= 0))
			break;
		struct field swapped = *a;
		*a = *b;
		*b = swapped;
	}
}

static void add_parameter(struct fields *f, struct wp_writer *w, const char *name,
			  const char *value)
{
	assert(f->count < sizeof(f->all) / sizeof(f->all[0]));
	struct field *field = &f->all[f->count];

	field->name = f->text.size;
	wp_writer_keep(w, wp_percent_write(&f->text, wp_span_of(name), WP_PERCENT_ALL));
	wp_writer_keep(w, wp_buffer_append_byte(&f->text, '\0'));
	field->value = f->text.size;
	wp_writer_keep(w, wp_percent_write(&f->text, wp_span_of(value), WP_PERCENT_ALL));
	wp_writer_keep(w, wp_buffer_append_byte(&f->text, '\0'));
	if (w->rc != WP_OK)
		return;
	f->count++;
	sort_last(f);
}

/* The value has no space around it, and one blank for each run of them. */
static void put_header_value(struct wp_writer *w, const char *value)
{
	bool was_blank = true;
	size_t begin = w->into->size;

	for (; *value != '\0' && w->rc == WP_OK; value++) {
		bool is_blank = isspace((unsigned char)*value) != 0;
		if (!is_blank || !was_blank)
			wp_writer_keep(w, wp_buffer_append_byte(w->into,
								is_blank ? ' ' : (uint8_t)*value));
		was_blank = is_blank;
	}
	if (w->into->size > begin && was_blank)
		w->into->size--;
}

static void add_header(struct fields *f, struct wp_writer *w, const char *name, const char *value)
{
	assert(f->count < sizeof(f->all) / sizeof(f->all[0]));
	struct field *field = &f->all[f->count];

	field->name = f->text.size;
	for (; *name != '\0'; name++)
		wp_writer_keep(
			w, wp_buffer_append_byte(&f->text, (uint8_t)tolower((unsigned char)*name)));
	wp_writer_keep(w, wp_buffer_append_byte(&f->text, '\0'));
	field->value = f->text.size;
	put_header_value(w, value);
	wp_writer_keep(w, wp_buffer_append_byte(&f->text, '\0'));
	if (w->rc != WP_OK)
		return;
	f->count++;
	sort_last(f);
}

/* ---- the signature ---- */

struct signing {
	const struct wp_sigv4_request *request;
	const struct wp_sigv4_keys *keys;
	struct wp_sigv4_date date;
	struct fields query;
	struct fields headers;
	char scope[256];      /* 20150830/us-east-1/service/aws4_request */
	char credential[384]; /* AKIDEXAMPLE/ and the scope */
	char signed_names[512];
	char signature[HEX_SIZE];
};

static enum wp_rc init(struct signing *s, const struct wp_sigv4_request *r,
		       const struct wp_sigv4_keys *keys)
{
	assert(r->query_count <= WP_SIGV4_FIELDS_MAX && r->header_count <= WP_SIGV4_FIELDS_MAX);
	*s = (struct signing){ .request = r, .keys = keys, .date = wp_sigv4_date_of(r->now_s) };
	enum wp_rc rc = wp_secret_buffer_init(&s->query.text, WP_SIGV4_SIZE_MAX, NULL);
	if (rc != WP_OK)
		return rc;
	rc = wp_secret_buffer_init(&s->headers.text, WP_SIGV4_SIZE_MAX, NULL);
	if (rc != WP_OK)
		return rc;
	int scope = snprintf(s->scope, sizeof(s->scope), "%.8s/%s/%s/aws4_request", s->date.text,
			     r->region, r->service);
	int credential =
		snprintf(s->credential, sizeof(s->credential), "%s/%s", keys->id, s->scope);
	return scope < 0 || credential < 0 || (size_t)scope >= sizeof(s->scope) ||
			       (size_t)credential >= sizeof(s->credential)
		       ? WP_FULL
		       : WP_OK;
}

static void release(struct signing *s)
{
	wp_secret_buffer_release(&s->query.text);
	wp_secret_buffer_release(&s->headers.text);
}

static enum wp_rc add_fields(struct signing *s)
{
	const struct wp_sigv4_request *r = s->request;
	struct wp_writer query = { .into = &s->query.text, .rc = WP_OK };
	struct wp_writer headers = { .into = &s->headers.text, .rc = WP_OK };

	for (size_t i = 0; i < r->query_count; i++)
		add_parameter(&s->query, &query, r->query[i].name, r->query[i].value);
	add_header(&s->headers, &headers, "host", r->host);
	for (size_t i = 0; i < r->header_count; i++)
		add_header(&s->headers, &headers, r->headers[i].name, r->headers[i].value);
	return query.rc != WP_OK ? query.rc : headers.rc;
}

static enum wp_rc name_signed_headers(struct signing *s)
{
	size_t size = 0;

	for (size_t i = 0; i < s->headers.count; i++) {
		const char *name = at(&s->headers, s->headers.all[i].name);
		if (strlen(name) + 2 > sizeof(s->signed_names) - size)
			return WP_FULL;
		size += (size_t)snprintf(s->signed_names + size, sizeof(s->signed_names) - size,
					 "%s%s", i > 0 ? ";" : "", name);
	}
	return WP_OK;
}

static void put_query(const struct signing *s, struct wp_writer *w)
{
	for (size_t i = 0; i < s->query.count; i++) {
		wp_writer_put(w, i > 0 ? "&" : "");
		wp_writer_put(w, at(&s->query, s->query.all[i].name));
		wp_writer_put(w, "=");
		wp_writer_put(w, at(&s->query, s->query.all[i].value));
	}
}

/*
 * The request has a line each for method, path, query, headers, names of the headers that are
 * signed, and the digest of the body; an empty one follows the headers.
 */
static enum wp_rc canonical_digest(const struct signing *s, char ret[HEX_SIZE])
{
	const struct wp_sigv4_request *r = s->request;
	char body[HEX_SIZE] = "";
	struct wp_buffer canonical;
	enum wp_rc rc = wp_secret_buffer_init(&canonical, 3 * WP_SIGV4_SIZE_MAX, NULL);

	if (rc == WP_OK)
		rc = sha256_hex(r->body, body);
	struct wp_writer w = { .into = &canonical, .rc = rc };
	wp_writer_put(&w, r->method);
	wp_writer_put(&w, "\n");
	if (w.rc == WP_OK)
		wp_writer_keep(&w,
			       wp_percent_write(&canonical, wp_span_of(r->path), WP_PERCENT_PATH));
	wp_writer_put(&w, "\n");
	put_query(s, &w);
	wp_writer_put(&w, "\n");
	for (size_t i = 0; i < s->headers.count; i++) {
		wp_writer_put(&w, at(&s->headers, s->headers.all[i].name));
		wp_writer_put(&w, ":");
		wp_writer_put(&w, at(&s->headers, s->headers.all[i].value));
		wp_writer_put(&w, "\n");
	}
	wp_writer_put(&w, "\n");
	wp_writer_put(&w, s->signed_names);
	wp_writer_put(&w, "\n");
	wp_writer_put(&w, body);
	if (w.rc == WP_OK)
		w.rc = sha256_hex(wp_buffer_span(&canonical), ret);
	wp_secret_buffer_release(&canonical);
	return w.rc;
}

static enum wp_rc sign(struct signing *s)
{
	char digest[HEX_SIZE];
	char text[512];
	uint8_t key[DIGEST_SIZE];
	uint8_t signature[DIGEST_SIZE];

	enum wp_rc rc = canonical_digest(s, digest);
	if (rc != WP_OK)
		return rc;
	int size = snprintf(text, sizeof(text), ALGORITHM "\n%s\n%s\n%s", s->date.text, s->scope,
			    digest);
	assert(size > 0 && (size_t)size < sizeof(text)); /* `scope` is bounded */
	rc = signing_key(s->request, s->keys->secret, key);
	if (rc == WP_OK)
		rc = hmac((struct wp_span){ key, sizeof(key) }, wp_span_of(text), signature);
	explicit_bzero(key, sizeof(key));
	if (rc == WP_OK)
		to_hex(signature, s->signature);
	return rc;
}

/* ---- the two places for it ---- */

static enum wp_rc add_query_fields(struct signing *s, int expires_s)
{
	struct wp_writer w = { .into = &s->query.text, .rc = WP_OK };
	char expires[16];

	(void)snprintf(expires, sizeof(expires), "%d", expires_s); /* fits */
	add_parameter(&s->query, &w, "X-Amz-Algorithm", ALGORITHM);
	add_parameter(&s->query, &w, "X-Amz-Credential", s->credential);
	add_parameter(&s->query, &w, "X-Amz-Date", s->date.text);
	add_parameter(&s->query, &w, "X-Amz-Expires", expires);
	if (s->keys->session[0] != '\0')
		add_parameter(&s->query, &w, "X-Amz-Security-Token", s->keys->session);
	add_parameter(&s->query, &w, "X-Amz-SignedHeaders", s->signed_names);
	return w.rc;
}

enum wp_rc wp_sigv4_presign(const struct wp_sigv4_request *r, const struct wp_sigv4_keys *keys,
			    int expires_s, struct wp_buffer *into)
{
	struct signing s;

	enum wp_rc rc = init(&s, r, keys);
	if (rc == WP_OK)
		rc = add_fields(&s);
	if (rc == WP_OK)
		rc = name_signed_headers(&s);
	if (rc == WP_OK)
		rc = add_query_fields(&s, expires_s);
	if (rc == WP_OK)
		rc = sign(&s);
	struct wp_writer w = { .into = into, .rc = rc };
	put_query(&s, &w);
	wp_writer_printf(&w, "&X-Amz-Signature=%s", s.signature);
	release(&s);
	return w.rc;
}

static enum wp_rc add_header_fields(struct signing *s)
{
	struct wp_writer w = { .into = &s->headers.text, .rc = WP_OK };

	add_header(&s->headers, &w, "X-Amz-Date", s->date.text);
	if (s->keys->session[0] != '\0')
		add_header(&s->headers, &w, "X-Amz-Security-Token", s->keys->session);
	return w.rc;
}

enum wp_rc wp_sigv4_authorize(const struct wp_sigv4_request *r, const struct wp_sigv4_keys *keys,
			      struct wp_buffer *into)
{
	struct signing s;

	enum wp_rc rc = init(&s, r, keys);
	if (rc == WP_OK)
		rc = add_fields(&s);
	if (rc == WP_OK)
		rc = add_header_fields(&s);
	if (rc == WP_OK)
		rc = name_signed_headers(&s);
	if (rc == WP_OK)
		rc = sign(&s);
	struct wp_writer w = { .into = into, .rc = rc };
	wp_writer_printf(&w, ALGORITHM " Credential=%s, SignedHeaders=%s, Signature=%s",
			 s.credential, s.signed_names, s.signature);
	release(&s);
	return w.rc;
}
