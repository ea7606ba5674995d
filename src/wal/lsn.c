#include <inttypes.h>
#include <stdio.h>

#include "walpost/base/hex.h"
#include "walpost/wal/lsn.h"

#define HALF_DIGITS_MAX 8

char *wp_lsn_text(wp_lsn lsn, char *text)
{
	(void)snprintf(text, WP_LSN_TEXT_SIZE, "%" PRIX32 "/%" PRIX32, (uint32_t)(lsn >> 32),
		       (uint32_t)lsn);
	return text;
}

/* Takes one to eight hex digits off the front; false if there are none or more. */
static bool take_half(struct wp_span *text, uint32_t *ret)
{
	uint32_t value = 0;
	size_t count = 0;

	while (count < text->size && wp_hex_value(text->data[count]) >= 0) {
		if (count == HALF_DIGITS_MAX)
			return false;
		value = value << 4 | (uint32_t)wp_hex_value(text->data[count++]);
	}
	if (count == 0)
		return false;
	text->data += count;
	text->size -= count;
	*ret = value;
	return true;
}

enum wp_rc wp_lsn_parse(struct wp_span text, wp_lsn *ret)
{
	uint32_t high, low;

	if (!take_half(&text, &high) || text.size == 0 || text.data[0] != '/')
		return WP_DATA;
	text.data++;
	text.size--;
	if (!take_half(&text, &low) || text.size > 0)
		return WP_DATA;
	*ret = (wp_lsn)high << 32 | low;
	return WP_OK;
}
