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

enum wp_rc wp_base64url_write(struct wp_buffer *into, struct wp_span bytes)
{
	size_t before = into->size;

	enum wp_rc rc = wp_base64_write(into, bytes);
	if (rc != WP_OK)
		return rc;
	for (size_t i = before; i < into->size; i++) {
		uint8_t *digit = &into->data[i];
		*digit = (uint8_t)(*digit == '+' ? '-' : *digit == '/' ? '_' : *digit);
	}
	while (into->size > before && into->data[into->size - 1] == '=')
		into->size--;
	return WP_OK;
}

static int digit_value(uint8_t digit, const char last[2])
{
	if (digit >= 'A' && digit <= 'Z')
		return digit - 'A';
	if (digit >= 'a' && digit <= 'z')
		return digit - 'a' + 26;
	if (digit >= '0' && digit <= '9')
		return digit - '0' + 52;
	return digit == last[0] ? 62 : digit == last[1] ? 63 : -1;
}

/* `last` holds the two digits in which the alphabets differ. */
static enum wp_rc read_unpadded(struct wp_buffer *into, struct wp_span text, const char last[2])
{
	uint32_t bits = 0;
	unsigned count = 0;

	if (text.size % 4 == 1)
		return WP_DATA;
	enum wp_rc rc = wp_buffer_reserve(into, text.size / 4 * 3 + 2);
	if (rc != WP_OK)
		return rc;
	size_t size = into->size;
	for (size_t i = 0; i < text.size; i++) {
		int value = digit_value(text.data[i], last);
		if (value < 0)
			return WP_DATA;
		bits = bits << 6 | (uint32_t)value;
		count += 6;
		if (count < 8)
			continue;
		count -= 8;
		into->data[size++] = (uint8_t)(bits >> count);
	}
	into->size = size;
	return WP_OK;
}

enum wp_rc wp_base64_read(struct wp_buffer *into, struct wp_span text)
{
	if (text.size % 4 != 0)
		return WP_DATA;
	for (int i = 0; i < 2 && text.size > 0 && text.data[text.size - 1] == '='; i++)
		text.size--;
	return read_unpadded(into, text, "+/");
}

enum wp_rc wp_base64url_read(struct wp_buffer *into, struct wp_span text)
{
	return read_unpadded(into, text, "-_");
}
