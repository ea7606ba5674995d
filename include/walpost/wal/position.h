/*
 * The public position of an event: where in which log it was committed. Its
 * text sorts in delivery order within one source, so that a consumer which
 * keeps the highest per partition and source drops every repetition.
 *
 *   <epoch 4 hex>-<timeline 8 hex>-<commit LSN 16 hex>-<ordinal 8 hex>
 *   0000-00000001-000000000194AB88-00000002     (upper-case, 39 characters)
 *
 * The ordinal counts, from 0, inserts and messages of the transaction before
 * any filter. A public contract: it never changes its form.
 */
#ifndef WALPOST_WAL_POSITION_H
#define WALPOST_WAL_POSITION_H

#include "walpost/wal/lsn.h"

#define WP_POSITION_TEXT_SIZE 40 /* with its NUL */

struct wp_position {
	uint16_t epoch;
	uint32_t timeline;
	wp_lsn commit_lsn;
	uint32_t ordinal;
};

/* Reads 39 characters as above, with nothing around them; WP_DATA otherwise. */
enum wp_rc wp_position_parse(struct wp_span text, struct wp_position *ret) WP_MUST_CHECK;
char *wp_position_text(const struct wp_position *position, char text[WP_POSITION_TEXT_SIZE]);
/* Returns less than, equal to or greater than 0, as the texts would compare. */
int wp_position_compare(const struct wp_position *a, const struct wp_position *b);

#endif
