/*
 * Makes text of others safe to show to people: keys, names, messages of servers. What steers a terminal or
 * changes the order in which letters are read is escaped: C0 and C1 controls and DEL, bidirectional marks,
 * line and paragraph separators; so are bytes that are not UTF-8. All else stands as it is, a backslash too:
 * this is for reading, not for parsing. Pure.
 */
#ifndef WALPOST_BASE_DISPLAY_H
#define WALPOST_BASE_DISPLAY_H

#include <stdio.h>

#include "walpost/base/buffer.h"
#include "walpost/base/span.h"

/* Must it be escaped, whatever the escape looks like? JSON and log lines have their own. */
bool wp_display_must_escape(uint32_t character);

struct wp_display {
	char text
		[8]; /* a character, or its escape: \x1b for a byte, \u202E above; NUL-terminated */
	size_t size;
};

/* Takes the character, or the byte that is none, at the front of `left` (1 or more) bytes. Returns how many it took. */
size_t wp_display_next(const uint8_t *at, size_t left, struct wp_display *ret);
/* Returns WP_FULL, WP_NOMEM. */
enum wp_rc wp_display_append(struct wp_buffer *into, struct wp_span text) WP_MUST_CHECK;
void wp_display_print(FILE *to, struct wp_span text);

/*
 * This is a value as it may stand in a sentence for a human: escaped likewise, at most 100 bytes, cut at a
 * character.
 */
#define WP_EXCERPT_SIZE 104 /* with "..." and NUL */

struct wp_excerpt {
	char text[WP_EXCERPT_SIZE];
};

/* Writes into `e` and returns its text; NULL for a null span. */
const char *wp_excerpt(struct wp_excerpt *e, struct wp_span value);

#endif
