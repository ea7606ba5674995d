#include "walpost/base/base64.h"

enum wp_rc wp_base64_write(struct wp_buffer *into, struct wp_span bytes)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	size_t groups = bytes.size / 3 + (bytes.size % 3 != 0);

	enum wp_rc rc = wp_buffer_reserve(into, groups * 4);
	if (rc != WP_OK)
		return rc;
	uint8_t *to = into->data + into->size;
	for (size_t i = 0; i < bytes.size; i += 3) {
		size_t left = bytes.size - i;
		uint32_t three = (uint32_t)bytes.data[i] << 16;
		if (left > 1)
			three |= (uint32_t)bytes.data[i + 1] << 8;
		if (left > 2)
			three |= bytes.data[i + 2];
		*to++ = (uint8_t)digits[three >> 18];
		*to++ = (uint8_t)digits[three >> 12 & 63];
		*to++ = (uint8_t)(left > 1 ? digits[three >> 6 & 63] : '=');
		*to++ = (uint8_t)(left > 2 ? digits[three & 63] : '=');
	}
	into->size += groups * 4;
	return WP_OK;
}
