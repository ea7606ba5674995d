#include "oauth.h"

#include <string.h>
#include <strings.h>

#include "walpost/base/secret_buffer.h"
#include "walpost/http_client/answer_fields.h"

#define MS_PER_S 1000

static enum wp_rc read_text(struct wp_span answer, const char *place, struct wp_token *ret,
			    struct wp_error *error)
{
	struct wp_json value;
	struct wp_buffer text;
	struct wp_error why = { .text = "it has no \"access_token\"" };

	if (!wp_json_member(answer, "access_token", &value) || value.kind != WP_JSON_STRING)
		return wp_error_set(error, WP_IO, "%s did not answer with a token: %s", place,
				    why.text);
	enum wp_rc rc = wp_secret_buffer_init(&text, value.text.size, &why);
	if (rc == WP_OK)
		rc = wp_json_unescape(value.text, &text);
	if (rc == WP_OK)
		rc = wp_token_set(ret, wp_buffer_span(&text), &why);
	wp_secret_buffer_release(&text);
	if (rc == WP_OK || rc == WP_NOMEM)
		return rc == WP_OK ? rc : wp_error_set(error, rc, "out of memory for a token");
	return wp_error_set(error, WP_IO, "%s answered with a token that is of no use: %s", place,
			    why.text);
}

static void read_end(struct wp_span answer, int64_t now_ms, struct wp_token *t)
{
	int64_t seconds;

	if (wp_json_number_member(answer, "expires_in", &seconds) && seconds > 0)
		t->expires_at_ms = now_ms + seconds * MS_PER_S;
	else if (wp_json_number_member(answer, "expires_on", &seconds) && seconds > 0)
		t->expires_at_ms = seconds * MS_PER_S;
}

enum wp_rc wp_oauth_read(struct wp_span answer, const char *place, int64_t now_ms,
			 struct wp_token *ret, struct wp_error *error)
{
	char type[32];

	if (wp_json_text_member(answer, "token_type", type, sizeof(type)) &&
	    strcasecmp(type, "bearer") != 0)
		return wp_error_set(
			error, WP_CONFIG,
			"%s gives tokens of type \"%s\"; only bearer tokens can be used", place,
			type);
	enum wp_rc rc = read_text(answer, place, ret, error);
	if (rc != WP_OK)
		return rc;
	ret->fetched_at_ms = now_ms;
	read_end(answer, now_ms, ret);
	wp_token_read_claims(ret);
	return WP_OK;
}

enum wp_rc wp_oauth_ask(const struct wp_fetch *f, const struct wp_http_request *r,
			struct wp_token *ret, struct wp_http_response *answer,
			struct wp_error *error)
{
	struct wp_http_response own;
	struct wp_http_response *a = answer == NULL ? &own : answer;

	enum wp_rc rc = wp_http_send(r, a, error);
	if (rc == WP_OK)
		rc = wp_oauth_read(wp_buffer_span(&a->body), wp_http_place_of(r->url).text,
				   f->now_ms, ret, error);
	if (answer == NULL)
		wp_http_response_release(&own);
	return rc;
}

struct wp_http_request wp_oauth_form(const struct wp_fetch *f, const char *url,
				     const struct wp_buffer *form, const char *cure)
{
	struct wp_http_request r = wp_fetch_request(f, "POST", url);

	r.body = wp_buffer_span(form);
	r.headers[0] = "Content-Type: application/x-www-form-urlencoded";
	r.headers[1] = "Accept: application/json";
	r.cure = cure;
	return r;
}
