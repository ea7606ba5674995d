/* Writes the text of one log line. */
#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "walpost/base/calendar.h"
#include "walpost/base/display.h"
#include "walpost/base/log.h"
#include "walpost/base/log_memory.h"
#include "walpost/base/utf8.h"

/* So much is kept free for the mark of a cut line, its brace and its newline. */
#define END_SIZE 16
#define REPLACEMENT 0xFFFDu

/* Puts all or nothing, so that no escape and no character is torn. */
static bool put(struct wp_log_line *line, const char *text, size_t size, size_t limit)
{
	if (size > limit - line->size) {
		line->cut = true;
		return false;
	}
	memcpy(line->text + line->size, text, size);
	line->size += size;
	return true;
}

static bool put_text(struct wp_log_line *line, const char *text)
{
	return put(line, text, strlen(text), WP_LOG_LINE_MAX - END_SIZE);
}

/*
 * Reads the character at the front of a NUL-terminated text, and its size. Bytes that begin no
 * character (overlong forms, surrogates and what lies past U+10FFFF included) give U+FFFD one by
 * one.
 */
static uint32_t next_character(const char *text, size_t *ret_size)
{
	const uint8_t *at = (const uint8_t *)text;
	size_t size = wp_utf8_size(at, strnlen(text, WP_UTF8_SIZE_MAX));

	*ret_size = size == 0 ? 1 : size;
	return size == 0 ? REPLACEMENT : wp_utf8_character(at, size);
}

/* Puts one character as it stands between quotes, in logfmt and JSON alike. */
static bool put_character(struct wp_log_line *line, uint32_t character, const char *bytes,
			  size_t size, size_t limit)
{
	char escape[8];

	switch (character) {
	case '"':
		return put(line, "\\\"", 2, limit);
	case '\\':
		return put(line, "\\\\", 2, limit);
	case '\n':
		return put(line, "\\n", 2, limit);
	case '\r':
		return put(line, "\\r", 2, limit);
	case '\t':
		return put(line, "\\t", 2, limit);
	case REPLACEMENT:
		return put(line, "\xEF\xBF\xBD", 3, limit);
	default:
		break;
	}
	if (!wp_display_must_escape(character))
		return put(line, bytes, size, limit);
	(void)snprintf(escape, sizeof(escape), "\\u%04X", (unsigned)character);
	return put(line, escape, 6, limit);
}

static void put_quoted(struct wp_log_line *line, const char *text)
{
	size_t limit = WP_LOG_LINE_MAX - END_SIZE - 1; /* its closing quote has room */
	bool fits = put(line, "\"", 1, limit);

	while (fits && *text != '\0') {
		size_t size;
		uint32_t character = next_character(text, &size);
		fits = put_character(line, character, text, size, limit);
		text += size;
	}
	(void)put_text(line, "\"");
}

static bool must_quote(const char *text)
{
	if (*text == '\0')
		return true;
	while (*text != '\0') {
		size_t size;
		uint32_t character = next_character(text, &size);
		if (character == ' ' || character == '=' || character == '"' ||
		    character == REPLACEMENT || wp_display_must_escape(character))
			return true;
		text += size;
	}
	return false;
}

static void put_value(struct wp_log_line *line, enum wp_log_format format, const char *text)
{
	if (text == NULL)
		(void)put_text(line, "null");
	else if (format == WP_LOG_JSON || must_quote(text))
		put_quoted(line, text);
	else if (!put_text(line, text))
		put_quoted(line, text); /* longer than the line: cut it there */
}

/* Puts the name and what joins it to its neighbours; returns false when there is no room. */
static bool put_name(struct wp_log_line *line, enum wp_log_format format, const char *name)
{
	bool json = format == WP_LOG_JSON;
	const char *before = json ? (line->size == 0 ? "{\"" : ",\"") : line->size == 0 ? "" : " ";

	return put_text(line, before) && put_text(line, name) && put_text(line, json ? "\":" : "=");
}

static void put_fact(struct wp_log_line *line, enum wp_log_format format,
		     const struct wp_fact *fact)
{
	/* There must be room for the widest number (20), an LSN in quotes (19) or the start of a
	 * text. */
	static const size_t value_size = 24;
	size_t start = line->size;
	char number[32];

	if (!put_name(line, format, fact->name) ||
	    line->size + value_size > WP_LOG_LINE_MAX - END_SIZE) {
		line->size = start;
		line->cut = true;
		return;
	}
	switch (fact->kind) {
	case WP_FACT_TEXT:
		put_value(line, format, fact->text);
		break;
	case WP_FACT_INT:
		(void)snprintf(number, sizeof(number), "%" PRId64, fact->number);
		(void)put_text(line, number);
		break;
	case WP_FACT_LSN:
		(void)snprintf(number, sizeof(number), "%" PRIX32 "/%" PRIX32,
			       (uint32_t)((uint64_t)fact->number >> 32), (uint32_t)fact->number);
		put_value(line, format, number);
		break;
	case WP_FACT_END:
		break;
	}
}

static void put_time(struct wp_log_line *line, enum wp_log_format format, int64_t time_ms)
{
	char text[WP_CALENDAR_TEXT_SIZE + 4];
	size_t size = wp_calendar_text(time_ms / 1000, text) - 1; /* without the Z */

	(void)snprintf(text + size, sizeof(text) - size, ".%03dZ", (int)(time_ms % 1000));
	put_fact(line, format, &WP_TEXT("time", text));
}

void wp_log_line_write(struct wp_log_line *line, enum wp_log_format format, int64_t time_ms,
		       enum wp_log_level level, const char *event, const struct wp_fact *facts)
{
	bool json = format == WP_LOG_JSON;

	assert(time_ms >= 0);
	line->size = 0;
	line->cut = false;
	put_time(line, format, time_ms);
	put_fact(line, format, &WP_TEXT("level", wp_log_level_name(level)));
	put_fact(line, format, &WP_TEXT("event", event));
	for (size_t i = 0; facts[i].kind != WP_FACT_END; i++) {
		assert(i < WP_LOG_FACTS_MAX);
		put_fact(line, format, &facts[i]);
	}

	const char *end = line->cut ? (json ? ",\"cut\":1}\n" : " cut=1\n") : json ? "}\n" : "\n";
	(void)put(line, end, strlen(end), WP_LOG_LINE_MAX);
}
