/*
 * Says where to listen: "9187" (on 127.0.0.1), "0.0.0.0:9187", "[::]:9187". Addresses only, no names: nothing
 * is resolved. Pure.
 */
#ifndef WALPOST_HTTP_ADDRESS_H
#define WALPOST_HTTP_ADDRESS_H

#include <stdbool.h>

#include "walpost/base/error.h"

#define WP_HTTP_HOST_SIZE 64

struct wp_http_address {
	char host[WP_HTTP_HOST_SIZE]; /* without brackets */
	bool is_ipv6;
	unsigned port; /* 0: any that is free, for tests */
};

/* Returns WP_CONFIG with the error, which names the value and what is allowed. */
enum wp_rc wp_http_address_parse(const char *text, struct wp_http_address *ret,
				 struct wp_error *error) WP_MUST_CHECK;
/* Says whom to ask when it listens on all: loopback of the same family. */
const char *wp_http_address_to_ask(const struct wp_http_address *a);

#endif
