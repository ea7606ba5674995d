/*
 * Writes percent encoding (RFC 3986, section 2.1) and forms of application/x-www-form-urlencoded, where a
 * blank is written as %20, which all read alike. Pure.
 */
#ifndef WALPOST_BASE_PERCENT_H
#define WALPOST_BASE_PERCENT_H

#include "walpost/base/buffer.h"

enum wp_percent {
	WP_PERCENT_ALL,	 /* but letters, digits, and - . _ ~ */
	WP_PERCENT_PATH, /* and / */
};

enum wp_rc wp_percent_write(struct wp_buffer *into, struct wp_span text,
			    enum wp_percent which) WP_MUST_CHECK;
/* Puts name=value, after a & where something stands before it. */
void wp_form_put(struct wp_writer *form, const char *name, const char *value);

#endif
