/* Logs in by the client credentials grant of OAuth 2.0, as kafka.login = oidc asks for. */
#include <stdio.h>
#include <string.h>

#include "oauth.h"
#include "walpost/base/base64.h"
#include "walpost/base/percent.h"
#include "walpost/base/secret_buffer.h"

#define FIELD_SIZE_MAX 16384

/* Both are encoded as in a form before they are joined (RFC 6749, 2.3.1). */
static enum wp_rc write_basic(const struct wp_login_oidc *o, struct wp_buffer *into)
{
	struct wp_buffer pair;
	enum wp_rc rc = wp_secret_buffer_init(&pair, FIELD_SIZE_MAX, NULL);

	if (rc == WP_OK)
		rc = wp_percent_write(&pair, wp_span_of(o->client_id), WP_PERCENT_ALL);
	if (rc == WP_OK)
		rc = wp_buffer_append_byte(&pair, ':');
	if (rc == WP_OK)
		rc = wp_percent_write(&pair, wp_span_of(o->client_secret), WP_PERCENT_ALL);
	if (rc == WP_OK)
		rc = wp_buffer_append_text(into, "Authorization: Basic ");
	if (rc == WP_OK)
		rc = wp_base64_write(into, wp_buffer_span(&pair));
	wp_secret_buffer_release(&pair);
	return rc;
}

static enum wp_rc write_form(const struct wp_login_oidc *o, struct wp_buffer *into)
{
	struct wp_writer form = { .into = into, .rc = WP_OK };

	wp_form_put(&form, "grant_type", "client_credentials");
	if (o->scope[0] != '\0')
		wp_form_put(&form, "scope", o->scope);
	return form.rc;
}

static enum wp_rc check(const struct wp_login_oidc *o, struct wp_error *error)
{
	const char *missing = o->token_url[0] == '\0'	    ? "token.endpoint.url"
			      : o->client_id[0] == '\0'	    ? "client.id"
			      : o->client_secret[0] == '\0' ? "client.secret"
							    : NULL;

	if (missing == NULL)
		return WP_OK;
	return wp_error_set(
		error, WP_CONFIG,
		"kafka.login = oidc needs sasl.oauthbearer.%s, which is not set; set it", missing);
}

enum wp_rc wp_login_oidc(const struct wp_login_request *r, struct wp_token *ret,
			 struct wp_error *error)
{
	struct wp_fetch f = wp_fetch_begin(r);
	struct wp_buffer form = { 0 }, basic = { 0 };

	enum wp_rc rc = check(&r->oidc, error);
	if (rc == WP_OK)
		rc = wp_secret_buffer_init(&form, FIELD_SIZE_MAX, error);
	if (rc == WP_OK)
		rc = wp_secret_buffer_init(&basic, 2 * FIELD_SIZE_MAX, error);
	if (rc == WP_OK &&
	    (write_form(&r->oidc, &form) != WP_OK || write_basic(&r->oidc, &basic) != WP_OK))
		rc = wp_error_set(
			error, WP_CONFIG,
			"sasl.oauthbearer.client.id, .client.secret or .scope is too long");
	if (rc == WP_OK) {
		struct wp_http_request request =
			wp_oauth_form(&f, r->oidc.token_url, &form,
				      "correct sasl.oauthbearer.token.endpoint.url, .client.id, "
				      ".client.secret or "
				      ".scope");
		request.headers[2] = wp_secret_buffer_text(&basic);
		rc = wp_oauth_ask(&f, &request, ret, NULL, error);
	}
	wp_secret_buffer_release(&form);
	wp_secret_buffer_release(&basic);
	if (rc == WP_OK && ret->principal[0] == '\0')
		(void)snprintf(ret->principal, sizeof(ret->principal), "%s",
			       r->oidc.client_id); /* a long one is cut: it is a name only */
	return rc;
}
