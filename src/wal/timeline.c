#include <inttypes.h>
#include <string.h>

#include "walpost/wal/timeline.h"

static bool is_blank_byte(uint8_t c)
{
	return c == ' ' || (c >= '\t' && c <= '\r');
}

static void skip_history_blanks(struct wp_span *text)
{
	while (text->size > 0 && is_blank_byte(text->data[0])) {
		text->data++;
		text->size--;
	}
}

/* Takes up to the next newline, which is taken too and not given. */
static struct wp_span take_history_line(struct wp_span *text)
{
	const uint8_t *newline = memchr(text->data, '\n', text->size);
	size_t size = newline == NULL ? text->size : (size_t)(newline - text->data);
	struct wp_span line = { .data = text->data, .size = size };

	size += newline != NULL;
	text->data += size;
	text->size -= size;
	return line;
}

/* Takes what stands before the next blank. */
static struct wp_span take_history_word(struct wp_span *text)
{
	struct wp_span word = { .data = text->data, .size = 0 };

	while (word.size < text->size && !is_blank_byte(text->data[word.size]))
		word.size++;
	text->data += word.size;
	text->size -= word.size;
	return word;
}

static bool parse_timeline(struct wp_span digits, uint32_t *ret)
{
	uint64_t value = 0;

	for (size_t i = 0; i < digits.size; i++) {
		if (digits.data[i] < '0' || digits.data[i] > '9')
			return false;
		value = value * 10 + (uint64_t)(digits.data[i] - '0');
		if (value > UINT32_MAX)
			return false;
	}
	*ret = (uint32_t)value;
	return value > 0;
}

static void forget_oldest(struct wp_timelines *t)
{
	memmove(&t->past[0], &t->past[1], (WP_TIMELINES_MAX - 1) * sizeof(t->past[0]));
	t->count--;
}

/* Reads tli, blanks, switch LSN, blanks, reason. Both numbers only grow from line to line. */
static bool read_switch(struct wp_timelines *t, struct wp_span line)
{
	uint32_t timeline;
	wp_lsn ends_at;

	if (!parse_timeline(take_history_word(&line), &timeline))
		return false;
	skip_history_blanks(&line);
	if (wp_lsn_parse(take_history_word(&line), &ends_at) != WP_OK)
		return false;
	if (timeline >= t->current)
		return false;
	if (t->count > 0 &&
	    (timeline <= t->past[t->count - 1].timeline || ends_at < t->past[t->count - 1].ends_at))
		return false;

	if (t->count == WP_TIMELINES_MAX)
		forget_oldest(t);
	t->past[t->count].timeline = timeline;
	t->past[t->count].ends_at = ends_at;
	t->count++;
	return true;
}

enum wp_rc wp_timelines_read(struct wp_timelines *t, uint32_t current, struct wp_span history,
			     struct wp_error *error)
{
	struct wp_timelines fresh = { .current = current };

	if (current == 0)
		return wp_error_set(error, WP_PROTO,
				    "the server reported timeline 0, which does not exist");
	for (unsigned number = 1; history.size > 0; number++) {
		struct wp_span line = take_history_line(&history);
		skip_history_blanks(&line);
		if (line.size == 0 || line.data[0] == '#')
			continue;
		if (!read_switch(&fresh, line))
			return wp_error_set(error, WP_PROTO,
					    "the history of timeline %" PRIu32
					    " is malformed at line %u: expected an older timeline, "
					    "the LSN where it ended and a reason, oldest first",
					    current, number);
	}
	*t = fresh;
	return WP_OK;
}

uint32_t wp_timelines_at(const struct wp_timelines *t, wp_lsn lsn)
{
	for (size_t i = 0; i < t->count; i++) {
		if (lsn < t->past[i].ends_at)
			return t->past[i].timeline;
	}
	return t->current;
}
