/*
 * The witness table walpost.witness tells who took a slot over last: one row per
 * slot, written by the new owner before it streams. A relay that finds its slot
 * moved reads there whether another relay did it.
 *
 * Here: its SQL and the reading of the answers; asking is stream_facts' and stream's.
 * Pure but for quoting. The table itself: sql/witness.sql.
 */
#ifndef WALPOST_POSTGRES_WITNESS_H
#define WALPOST_POSTGRES_WITNESS_H

#include <libpq-fe.h>

#include "walpost/base/buffer.h"
#include "walpost/wal/source.h"

struct wp_witness_row {
	const char *slot;
	const char *owner;
	uint64_t system_id;
	uint32_t timeline;
	uint16_t epoch;
};

/* One row or none: owner, system_identifier, epoch, taken_at_lsn, timeline. */
enum wp_rc wp_witness_read_sql(PGconn *pg, const char *slot, struct wp_buffer *into,
			       struct wp_why *why) WP_MUST_CHECK;
/* Fills the witness_* members of `facts`. WP_PROTO: not the answer to that SQL. */
enum wp_rc wp_witness_read(const PGresult *answer, struct wp_source_facts *facts,
			   struct wp_why *why) WP_MUST_CHECK;
/*
 * Writes the row, with where the slot stands as taken_at_lsn; only while nobody
 * streams from the slot, and only when it says something else. Commits without waiting for synchronous standbys: we may be one.
 */
enum wp_rc wp_witness_write_sql(PGconn *pg, const struct wp_witness_row *row,
				struct wp_buffer *into, struct wp_why *why) WP_MUST_CHECK;

#endif
