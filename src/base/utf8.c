#include <assert.h>

#include "walpost/base/utf8.h"

/* Says how many bytes a lead byte announces; 0 when it is none. */
static size_t announced(uint8_t lead)
{
	if (lead < 0x80)
		return 1;
	if (lead < 0xC2 || lead > 0xF4)
		return 0;
	return lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
}

/* More is asked of the second byte: it tells overlong forms, surrogates, what is too large. */
static bool second_fits(uint8_t lead, uint8_t second)
{
	uint8_t low = lead == 0xE0 ? 0xA0 : lead == 0xF0 ? 0x90 : 0x80;
	uint8_t high = lead == 0xED ? 0x9F : lead == 0xF4 ? 0x8F : 0xBF;

	return second >= low && second <= high;
}

size_t wp_utf8_size(const uint8_t *at, size_t left)
{
	size_t size = announced(at[0]);

	if (size <= 1 || size > left)
		return size <= left ? size : 0;
	if (!second_fits(at[0], at[1]))
		return 0;
	for (size_t i = 2; i < size; i++) {
		if ((at[i] & 0xC0) != 0x80)
			return 0;
	}
	return size;
}

uint32_t wp_utf8_character(const uint8_t *at, size_t size)
{
	static const uint8_t lead_bits[] = { 0, 0x7F, 0x1F, 0x0F, 0x07 };

	assert(size >= 1 && size <= 4);
	uint32_t character = at[0] & lead_bits[size];
	for (size_t i = 1; i < size; i++)
		character = character << 6 | (at[i] & 0x3F);
	return character;
}

size_t wp_utf8_encode(uint32_t character, uint8_t bytes[WP_UTF8_SIZE_MAX])
{
	assert(character <= 0x10FFFF && !(character >= 0xD800 && character <= 0xDFFF));
	if (character < 0x80) {
		bytes[0] = (uint8_t)character;
		return 1;
	}
	size_t size = character < 0x800 ? 2 : character < 0x10000 ? 3 : 4;
	for (size_t i = size - 1; i > 0; i--, character >>= 6)
		bytes[i] = (uint8_t)(0x80 | (character & 0x3F));
	bytes[0] = (uint8_t)((0xF00u >> size & 0xF0) | character);
	return size;
}

bool wp_utf8_is_valid(struct wp_span text)
{
	for (size_t i = 0; i < text.size;) {
		size_t size = wp_utf8_size(text.data + i, text.size - i);
		if (size == 0)
			return false;
		i += size;
	}
	return true;
}

void wp_utf8_cut(char *text, size_t size)
{
	size_t start = size;

	while (start > 0 && size - start < 3 && ((unsigned char)text[start - 1] & 0xC0) == 0x80)
		start--;
	if (start == 0)
		return;

	unsigned char lead = (unsigned char)text[start - 1];
	size_t wanted = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : lead >= 0xC0 ? 2 : 1;
	if (wanted > size - start + 1)
		text[start - 1] = '\0';
}
