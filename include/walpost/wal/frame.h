/*
 * These are the CopyData payloads of a replication stream, both ways.
 * Source: PostgreSQL documentation, "Streaming Replication Protocol",
 * START_REPLICATION.
 *
 *   'w' Int64 start, Int64 end, Int64 sent_at, bytes     XLogData
 *   'k' Int64 end, Int64 sent_at, Byte reply_requested   keepalive
 *   'r' Int64 write, Int64 flush, Int64 apply, Int64 now, Byte reply  status
 *
 * Times are microseconds since 2000-01-01 UTC. `start` and `end` of an XLogData
 * may be 0 (Relation, Type): never take them for a position without max().
 * Pure.
 */
#ifndef WALPOST_WAL_FRAME_H
#define WALPOST_WAL_FRAME_H

#include "walpost/base/error.h"
#include "walpost/wal/lsn.h"

#define WP_STATUS_SIZE 34

enum wp_frame_kind { WP_FRAME_DATA, WP_FRAME_KEEPALIVE };

struct wp_frame {
	enum wp_frame_kind kind;
	wp_lsn start;	      /* data only */
	wp_lsn end;	      /* server's WAL end as it sent this */
	int64_t sent_at_us;   /* since 2000-01-01 */
	bool reply_requested; /* keepalive only */
	struct wp_span body;  /* data only: one pgoutput message; borrowed */
};

struct wp_status {
	wp_lsn write;
	wp_lsn flush;
	wp_lsn apply;
	int64_t now_us; /* since 2000-01-01 */
	bool reply_requested;
};

/* WP_PROTO with the error on anything else than a whole 'w' or 'k'. */
enum wp_rc wp_frame_read(struct wp_span copy_data, struct wp_frame *ret,
			 struct wp_error *error) WP_MUST_CHECK;
void wp_status_write(const struct wp_status *status, uint8_t bytes[WP_STATUS_SIZE]);

#endif
