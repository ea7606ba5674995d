/*
 * A value as it may stand in a sentence for a human: escaped as base/display.h has it, at most
 * 100 bytes, cut at a character. Pure.
 */
#ifndef WALPOST_BASE_EXCERPT_H
#define WALPOST_BASE_EXCERPT_H

#include "walpost/base/span.h"

#define WP_EXCERPT_SIZE 104 /* with "..." and NUL */

struct wp_excerpt {
	char text[WP_EXCERPT_SIZE];
};

/* Writes into `e` and returns its text; NULL for a null span. */
const char *wp_excerpt(struct wp_excerpt *e, struct wp_span value);

#endif
