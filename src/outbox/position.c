#include <assert.h>

#include "walpost/outbox/position.h"

/* The lowest `digits` hexadecimal digits of `value`; returns what comes behind them. */
static char *put_hex(char *at, uint64_t value, unsigned digits)
{
	static const char hex[16] = "0123456789ABCDEF";

	for (unsigned i = digits; i > 0; i--) {
		at[i - 1] = hex[value & 15];
		value >>= 4;
	}
	return at + digits;
}

/* By hand and not by snprintf(): it stands in every record. */
char *wp_position_text(const struct wp_position *position, char text[WP_POSITION_TEXT_SIZE])
{
	char *at = put_hex(text, position->epoch, 4);
	*at++ = '-';
	at = put_hex(at, position->timeline, 8);
	*at++ = '-';
	at = put_hex(at, position->commit_lsn, 16);
	*at++ = '-';
	at = put_hex(at, position->ordinal, 8);
	*at = '\0';
	assert(at - text == WP_POSITION_TEXT_SIZE - 1);
	return text;
}
