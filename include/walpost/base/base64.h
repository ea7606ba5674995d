/* Writes and reads bytes as base64 (RFC 4648): of section 4, padded, or of section 5 for URLs, unpadded. Pure. */
#ifndef WALPOST_BASE_BASE64_H
#define WALPOST_BASE_BASE64_H

#include "walpost/base/buffer.h"

/* Appends four characters for each three bytes begun. */
enum wp_rc wp_base64_write(struct wp_buffer *into, struct wp_span bytes) WP_MUST_CHECK;
enum wp_rc wp_base64url_write(struct wp_buffer *into, struct wp_span bytes) WP_MUST_CHECK;
/* Appends what `text` stands for, or nothing. Returns WP_DATA when it is not such a text. */
enum wp_rc wp_base64_read(struct wp_buffer *into, struct wp_span text) WP_MUST_CHECK;
enum wp_rc wp_base64url_read(struct wp_buffer *into, struct wp_span text) WP_MUST_CHECK;

#endif
