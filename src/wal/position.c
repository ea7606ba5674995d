#include <assert.h>

#include "walpost/wal/position.h"

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

/* 16 or more for what is no digit of ours: upper-case only, as we write it. */
static unsigned digit_of(uint8_t c)
{
	if (c >= '0' && c <= '9')
		return (unsigned)(c - '0');
	return c >= 'A' && c <= 'F' ? (unsigned)(c - 'A') + 10 : 16;
}

/* False: not `digits` hexadecimal digits. */
static bool take_hex(const uint8_t **at, unsigned digits, uint64_t *ret)
{
	uint64_t value = 0;

	for (unsigned i = 0; i < digits; i++) {
		unsigned digit = digit_of(*(*at)++);
		if (digit > 15)
			return false;
		value = value << 4 | digit;
	}
	*ret = value;
	return true;
}

static bool take_dash(const uint8_t **at)
{
	return *(*at)++ == '-';
}

enum wp_rc wp_position_parse(struct wp_span text, struct wp_position *ret)
{
	const uint8_t *at = text.data;
	uint64_t epoch, timeline, commit_lsn, ordinal;

	if (text.size != WP_POSITION_TEXT_SIZE - 1)
		return WP_DATA;
	if (!take_hex(&at, 4, &epoch) || !take_dash(&at) || !take_hex(&at, 8, &timeline) ||
	    !take_dash(&at) || !take_hex(&at, 16, &commit_lsn) || !take_dash(&at) ||
	    !take_hex(&at, 8, &ordinal))
		return WP_DATA;
	*ret = (struct wp_position){
		.epoch = (uint16_t)epoch,
		.timeline = (uint32_t)timeline,
		.commit_lsn = commit_lsn,
		.ordinal = (uint32_t)ordinal,
	};
	return WP_OK;
}

static int order(uint64_t a, uint64_t b)
{
	return (a > b) - (a < b);
}

int wp_position_compare(const struct wp_position *a, const struct wp_position *b)
{
	if (a->epoch != b->epoch)
		return order(a->epoch, b->epoch);
	if (a->timeline != b->timeline)
		return order(a->timeline, b->timeline);
	if (a->commit_lsn != b->commit_lsn)
		return order(a->commit_lsn, b->commit_lsn);
	return order(a->ordinal, b->ordinal);
}
