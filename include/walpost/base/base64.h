/* Bytes as base64 (RFC 4648, section 4), padded. Pure. */
#ifndef WALPOST_BASE_BASE64_H
#define WALPOST_BASE_BASE64_H

#include "walpost/base/buffer.h"

/* Appends four characters for each three bytes begun. */
enum wp_rc wp_base64_write(struct wp_buffer *into, struct wp_span bytes) WP_MUST_CHECK;

#endif
