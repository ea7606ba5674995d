/*
 * OAuth 2.0 token endpoints have this alike: a form that is posted, and an answer with an access token
 * (RFC 6749, 5.1). Endpoints of machines answer likewise, with numbers as texts.
 */
#ifndef WALPOST_LOGIN_OAUTH_H
#define WALPOST_LOGIN_OAUTH_H

#include "provider.h"

/*
 * Sends `r` and reads the token, with its end (from expires_in, else from expires_on, else from a JWT's own)
 * and its subject. `answer` may be NULL; else it is the caller's to release in any case. Returns WP_CONFIG,
 * WP_IO, WP_NOMEM.
 */
enum wp_rc wp_oauth_ask(const struct wp_fetch *f, const struct wp_http_request *r,
			struct wp_token *ret, struct wp_http_response *answer,
			struct wp_error *error) WP_MUST_CHECK;
/* Makes a POST of a form. `cure` is what to do where it is refused. */
struct wp_http_request wp_oauth_form(const struct wp_fetch *f, const char *url,
				     const struct wp_buffer *form, const char *cure);
/* Reads the token in an answer. `place` is whose it is. Pure. */
enum wp_rc wp_oauth_read(struct wp_span answer, const char *place, int64_t now_ms,
			 struct wp_token *ret, struct wp_error *error) WP_MUST_CHECK;

#endif
