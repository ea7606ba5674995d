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
#ifndef WALPOST_OUTBOX_POSITION_H
#define WALPOST_OUTBOX_POSITION_H

#include "walpost/wal/lsn.h"

#define WP_POSITION_TEXT_SIZE 40 /* with its NUL */

struct wp_position {
	uint16_t epoch;
	uint32_t timeline;
	wp_lsn commit_lsn;
	uint32_t ordinal;
};

char *wp_position_text(const struct wp_position *position, char text[WP_POSITION_TEXT_SIZE]);

#endif
