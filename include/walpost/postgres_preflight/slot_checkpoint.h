/*
 * The slot checkpoint table walpost.slot_checkpoint tells who took a slot over last, how far
 * that one came, and what keeps it from delivering: one row per slot, written by the new
 * owner before it streams, rarely while it does, and when it stops. A relay that finds its slot moved reads
 * there whether another relay did it; one that starts, whether somebody moved the slot or
 * made it anew while no relay ran.
 *
 * This module has its SQL and reads the answers; stream_facts, stream and watch ask. Pure but for quoting.
 * sql/slot_checkpoint.sql makes the table. No statement waits long for another session's locks: the row is
 * never worth a stream that does not start.
 */
#ifndef WALPOST_POSTGRES_PREFLIGHT_SLOT_CHECKPOINT_H
#define WALPOST_POSTGRES_PREFLIGHT_SLOT_CHECKPOINT_H

#include <libpq-fe.h>

#include "walpost/base/buffer.h"
#include "walpost/postgres/options.h"
#include "walpost/postgres/sql.h"
#include "walpost/source/source.h"

/* SQL, true or false: does the table of that oid (an SQL expression) have all columns of sql/slot_checkpoint.sql? */
#define WP_SLOT_CHECKPOINT_IS_WHOLE(oid_)                                                     \
	"(SELECT pg_catalog.count(*) = 15 FROM pg_catalog.pg_attribute wa WHERE wa.attrelid " \
	"= " oid_ " AND NOT wa.attisdropped AND wa.attname IN ('slot', 'owner', "             \
	"'system_identifier', 'timeline', 'epoch', 'taken_at_lsn', 'taken_at', "              \
	"'confirmed_lsn', 'confirmed_at', 'stopped', 'server_started', "                      \
	"'slot_transactions', 'topics', 'trouble', 'trouble_at'))"

/*
 * SQL over the row `w`, pg_stat_replication_slots `t` and pg_stat_bgwriter `b`: can the number of
 * transactions decoded then be compared with the one now? It can while the server process is the same and its
 * statistics have not been reset: by hand, for this slot or all, or by the recovery after a crash (which
 * resets pg_stat_bgwriter too).
 */
#define WP_SLOT_CHECKPOINT_IS_COMPARABLE                              \
	"(w.server_started = pg_catalog.pg_postmaster_start_time()\n" \
	"    AND coalesce(b.stats_reset <= w.confirmed_at, true)\n"   \
	"    AND coalesce(t.stats_reset <= w.confirmed_at, true))"

struct wp_slot_checkpoint_row {
	const char *slot;
	const char *owner;
	const char *before; /* its version as the slot was looked at; "": there was no row */
	uint64_t system_id;
	uint32_t timeline;
	uint16_t epoch;
	const char *topics; /* that took events; NULL: not known yet */
	bool unclaimed;	    /* our walsender has not written it yet: it may name another */
	/* These tell which outboxes have all their events in Kafka once we have confirmed them: of others
	 * cleanup no longer knows that (sql/cleanup.sql). */
	const char *publication;
	const struct wp_requirements *sent;
	bool removes_dropped; /* rows of events that we drop may go as if they were sent: cleanup.dropped */
	bool prints;	      /* no event is sent: relay.sink = stdout */
	bool anew;	      /* the outboxes are others than when the row was written last */
	const char *trouble; /* that keeps events from being delivered; NULL: none */
	int64_t trouble_ms;  /* for how long */
};

/* Reads the row if there is one, of a whole table that may be read: else the server logs an error. */
enum wp_rc wp_slot_checkpoint_read_sql(PGconn *pg, const char *slot, struct wp_buffer *into,
				       struct wp_error *error) WP_MUST_CHECK;
/* Fills the slot_checkpoint_* members of `facts` but slot_checkpoint_writable, and slot_transactions.
 * Returns WP_PROTO when it is not the answer to that SQL. */
enum wp_rc wp_slot_checkpoint_read(const PGresult *answer, struct wp_source_facts *facts,
				   struct wp_error *error) WP_MUST_CHECK;
/*
 * Writes the row, with `at` as taken_at_lsn and confirmed_lsn, where the slot stood as it was judged; only
 * while nobody streams from the slot, and only when the row changes. What a third relay wrote meanwhile
 * stays. It commits without waiting for synchronous standbys: we may be one.
 */
enum wp_rc wp_slot_checkpoint_write_sql(PGconn *pg, const struct wp_slot_checkpoint_row *row,
					wp_lsn at, struct wp_buffer *into,
					struct wp_error *error) WP_MUST_CHECK;
/*
 * Does the same while process `walsender` streams from the slot for us, with what was confirmed, whoever the
 * row names. When it did, the answer is one row: the slot's confirmed_flush_lsn, 0/0 where the row had said
 * so much; and whether another had written the row since the slot was looked at.
 */
enum wp_rc wp_slot_checkpoint_note_sql(PGconn *pg, const struct wp_slot_checkpoint_row *row,
				       const char *walsender, wp_lsn confirmed,
				       struct wp_buffer *into,
				       struct wp_error *error) WP_MUST_CHECK;
/*
 * Is for the end of the stream: beyond `confirmed` the slot does not stand by us. It writes only while no
 * process but `walsender`, which was ours, has the slot: another relay's row is not to be written over, nor
 * awaited. A row that names another is written over only when it is unclaimed and the slot has moved since
 * that row was written, but not beyond `confirmed`: then we moved it.
 */
enum wp_rc wp_slot_checkpoint_end_sql(PGconn *pg, const struct wp_slot_checkpoint_row *row,
				      const char *walsender, wp_lsn confirmed,
				      struct wp_buffer *into, struct wp_error *error) WP_MUST_CHECK;
/* Is for a relay that never had the slot: it writes only the row's trouble, while nobody streams from the slot. */
enum wp_rc wp_slot_checkpoint_trouble_sql(PGconn *pg, const struct wp_slot_checkpoint_row *row,
					  struct wp_buffer *into,
					  struct wp_error *error) WP_MUST_CHECK;

/*
 * Writes that the slot stands where it stands by the hand of `by`, a command. When nobody has the slot and
 * the row is of this database and not of a later state of it, the answer is one row: where it stands, and
 * what the row had said: owner, confirmed_lsn, confirmed_at as text.
 */
void wp_slot_checkpoint_renew_sql(struct wp_sql *sql, const char *slot, const char *by);

#endif
