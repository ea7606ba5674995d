/*
 * walpost.parked keeps what an event was read from: the columns of a row as text in the
 * form that walpost.reissue has them (reissue.h), or the bytes of a message.
 *
 * Owns nothing. Pure.
 */
#ifndef WALPOST_SRC_OUTBOX_PARKED_ROW_H
#define WALPOST_SRC_OUTBOX_PARKED_ROW_H

#include "walpost/base/buffer.h"
#include "walpost/wal/relations.h"

/*
 * Appends the array. `texts` is for values that come in binary. A column whose binary form is not
 * read is left out: no configuration under which the row came in binary uses it. WP_DATA: a value is
 * not UTF-8, which a json cannot hold. WP_FULL, WP_NOMEM.
 */
enum wp_rc wp_parked_row_write(struct wp_buffer *into, const struct wp_relations *types,
			       const struct wp_relation *relation, const struct wp_tuple *row,
			       struct wp_buffer *texts) WP_MUST_CHECK;

/* Writes `"name": "text"` with a comma before it, or null; likewise numbers. */
enum wp_rc wp_parked_text(struct wp_buffer *into, const char *name,
			  struct wp_span text) WP_MUST_CHECK;
/* Writes the bytes as \x and digits. */
enum wp_rc wp_parked_bytes(struct wp_buffer *into, const char *name,
			   struct wp_span bytes) WP_MUST_CHECK;

#endif
