/*
 * What OAuth 2.0 token endpoints have alike: a form that is posted, and an answer with an access token
 * (RFC 6749, 5.1). Endpoints of machines answer likewise, with numbers as texts.
 */
#ifndef WALPOST_LOGIN_OAUTH_H
#define WALPOST_LOGIN_OAUTH_H

#include "provider.h"

/*
 * Sends `r` and reads the token, with its end: of expires_in, else expires_on, else of a JWT its own, and its
 * subject. `answer` may be NULL; else it is the caller's to release in any case. WP_CONFIG, WP_IO, WP_NOMEM.
 */
enum wp_rc wp_oauth_ask(const struct wp_fetch *f, const struct wp_http_request *r,
			struct wp_token *ret, struct wp_http_response *answer,
			struct wp_error *error) WP_MUST_CHECK;
/* A POST of a form. `cure`: what to do where it is refused. */
struct wp_http_request wp_oauth_form(const struct wp_fetch *f, const char *url,
				     const struct wp_buffer *form, const char *cure);
/* The token in an answer. `place` is whose. Pure. */
enum wp_rc wp_oauth_read(struct wp_span answer, const char *place, int64_t now_ms,
			 struct wp_token *ret, struct wp_error *error) WP_MUST_CHECK;

#endif
