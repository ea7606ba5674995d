#include <assert.h>
#include <endian.h>
#include <string.h>

#include "walpost/wal/position.h"

/* Writes eight hexadecimal digits, returns what is behind them. All at once: each record has it. */
static char *put_hex(char *at, uint32_t value)
{
	uint64_t digits = value;

	digits = (digits << 16 | digits) & 0x0000FFFF0000FFFF;
	digits = (digits << 8 | digits) & 0x00FF00FF00FF00FF;
	digits = (digits << 4 | digits) & 0x0F0F0F0F0F0F0F0F;
	uint64_t is_letter = (digits + 0x0606060606060606) >> 4 & 0x0101010101010101;
	digits += 0x3030303030303030 + is_letter * ('A' - '9' - 1);
	digits = htobe64(digits);
	memcpy(at, &digits, sizeof(digits));
	return at + sizeof(digits);
}

char *wp_position_text(const struct wp_position *position, char text[WP_POSITION_TEXT_SIZE])
{
	char epoch[8];

	put_hex(epoch, position->epoch);
	memcpy(text, epoch + 4, 4);
	text[4] = '-';
	char *at = put_hex(text + 5, position->timeline);
	*at++ = '-';
	at = put_hex(at, (uint32_t)(position->commit_lsn >> 32));
	at = put_hex(at, (uint32_t)position->commit_lsn);
	*at++ = '-';
	at = put_hex(at, position->ordinal);
	*at = '\0';
	assert(at - text == WP_POSITION_TEXT_SIZE - 1);
	return text;
}

/* Returns 16 or more for what is no digit of ours: upper-case only, as we write it. */
static unsigned digit_of(uint8_t c)
{
	if (c >= '0' && c <= '9')
		return (unsigned)(c - '0');
	return c >= 'A' && c <= 'F' ? (unsigned)(c - 'A') + 10 : 16;
}

/* False: there are not `digits` hexadecimal digits. */
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
