#include "walpost/values/binary.h"

#include "print.h"

size_t wp_binary_room(enum wp_type type, enum wp_type element, struct wp_span value)
{
	return type == WP_TYPE_ARRAY ? wp_array_room(element, value) : wp_scalar_room(type, value);
}

enum wp_rc wp_binary_text(enum wp_type type, enum wp_type element, struct wp_span value,
			  struct wp_buffer *texts, struct wp_span *ret)
{
	size_t start = texts->size;

	if (type != WP_TYPE_ARRAY)
		return wp_scalar_text(type, value, texts, ret);
	enum wp_rc rc = wp_print_array(element, value, texts);
	if (rc == WP_OK)
		*ret = (struct wp_span){ .data = texts->data + start, .size = texts->size - start };
	return rc;
}
