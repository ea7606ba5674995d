#include "walpost/base/secret_buffer.h"

#include <stdlib.h>
#include <string.h>

enum wp_rc wp_secret_buffer_init(struct wp_buffer *b, size_t size_max, struct wp_error *error)
{
	wp_buffer_init(b, size_max);
	enum wp_rc rc = wp_buffer_reserve(b, size_max);
	if (rc != WP_OK)
		return wp_error_set(error, rc, "out of memory");
	return WP_OK;
}

void wp_secret_buffer_release(struct wp_buffer *b)
{
	if (b->data != NULL)
		explicit_bzero(b->data, b->capacity);
	wp_buffer_release(b);
}

const char *wp_secret_buffer_text(struct wp_buffer *b)
{
	if (b->data == NULL)
		return "";
	b->data[b->size] = '\0'; /* there is always room for it (base/buffer.c) */
	return (const char *)b->data;
}

void wp_secret_text_free(char *text)
{
	if (text != NULL)
		explicit_bzero(text, strlen(text));
	free(text);
}
