/*
 * This is a buffer for secrets: all of its memory is asked for at once, so that no copy is left behind
 * where it grew from, and it is overwritten before it is freed. Filled by wp_buffer_*().
 *
 * Owns: its memory. Bounded: size_max. Pure.
 */
#ifndef WALPOST_BASE_SECRET_BUFFER_H
#define WALPOST_BASE_SECRET_BUFFER_H

#include "walpost/base/buffer.h"

/* Returns WP_NOMEM with the error, which may be NULL; it is to be released all the same. */
enum wp_rc wp_secret_buffer_init(struct wp_buffer *b, size_t size_max,
				 struct wp_error *error) WP_MUST_CHECK;
void wp_secret_buffer_release(struct wp_buffer *b);
/* Returns its content, NUL-terminated; valid until it changes. */
const char *wp_secret_buffer_text(struct wp_buffer *b);
/* Overwrites and frees a heap text of others; NULL is fine. */
void wp_secret_text_free(char *text);

#endif
