#include "walpost/base/percent.h"

#include <ctype.h>
#include <string.h>

static bool stands(uint8_t c, enum wp_percent which)
{
	return (c < 0x80 && isalnum(c)) || (c != '\0' && strchr("-._~", c) != NULL) ||
	       (which == WP_PERCENT_PATH && c == '/');
}

enum wp_rc wp_percent_write(struct wp_buffer *into, struct wp_span text, enum wp_percent which)
{
	static const char digits[] = "0123456789ABCDEF";

	for (size_t i = 0; i < text.size; i++) {
		uint8_t c = text.data[i];
		uint8_t escaped[3] = { '%', (uint8_t)digits[c >> 4], (uint8_t)digits[c & 15] };
		enum wp_rc rc = stands(c, which)
					? wp_buffer_append_byte(into, c)
					: wp_buffer_append(into, (struct wp_span){ .data = escaped,
										   .size = 3 });
		if (rc != WP_OK)
			return rc;
	}
	return WP_OK;
}

void wp_form_put(struct wp_writer *form, const char *name, const char *value)
{
	if (form->into->size > 0)
		wp_writer_put(form, "&");
	wp_writer_keep(form, wp_percent_write(form->into, wp_span_of(name), WP_PERCENT_ALL));
	wp_writer_put(form, "=");
	wp_writer_keep(form, wp_percent_write(form->into, wp_span_of(value), WP_PERCENT_ALL));
}
