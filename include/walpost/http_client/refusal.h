/*
 * Says what may be told of a request that was refused: where, the status, and the code that the answer says,
 * as AWS, OAuth (RFC 6749, 5.2) and Azure write one. It never says more of the answer. Pure.
 */
#ifndef WALPOST_HTTP_CLIENT_REFUSAL_H
#define WALPOST_HTTP_CLIENT_REFUSAL_H

#include <stdbool.h>

#include "walpost/base/error.h"
#include "walpost/base/span.h"

/* This is a URL for people: without user, query and fragment, and not too long. */
struct wp_http_place {
	char text[256];
};

struct wp_http_place wp_http_place_of(const char *url);

/* Is the other side overloaded, or in trouble that passes? */
bool wp_http_may_pass(long status, struct wp_span body);
/* Returns WP_IO when the same may succeed later; else WP_CONFIG. */
enum wp_rc wp_http_refusal(const struct wp_http_place *place, long status, struct wp_span body,
			   struct wp_error *error);

#endif
