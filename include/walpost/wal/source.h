/*
 * What the relay asks of one that streams the log; postgres/stream is the real
 * one, the simulation has another. Everything is asked without waiting: an
 * operation begins something, view() tells how it stands.
 *
 *   CLOSED -connect-> CONNECTING -> READY -start-> STARTING -> STREAMING
 *                                   READY -look-> LOOKING -> READY (fresh facts)
 *   STREAMING -finish-> FINISHING -> FINISHED      (CopyDone both ways)
 *   STREAMING -> FINISHED                (the server ended the copy in good order)
 *   any -> FAILED                        (failure says why and what it calls for)
 *   any -close-> CLOSED                  (at once, from any state)
 *
 * READY means: session settings forced, preflight passed, facts read.
 * Single-threaded: all calls on the loop's thread.
 */
#ifndef WALPOST_WAL_SOURCE_H
#define WALPOST_WAL_SOURCE_H

#include "walpost/base/why.h"
#include "walpost/wal/frame.h"
#include "walpost/wal/timeline.h"

#define WP_OWNER_SIZE 64
#define WP_ENUMS_MAX 80

enum wp_source_state {
	WP_SOURCE_CLOSED,
	WP_SOURCE_CONNECTING,
	WP_SOURCE_READY,
	WP_SOURCE_LOOKING,
	WP_SOURCE_STARTING,
	WP_SOURCE_STREAMING,
	WP_SOURCE_FINISHING,
	WP_SOURCE_FINISHED,
	WP_SOURCE_FAILED,
};

struct wp_source_facts {
	uint64_t system_id;
	struct wp_timelines timelines;
	wp_lsn server_lsn;	       /* flushed WAL at the time of asking */
	wp_lsn slot_confirmed;	       /* confirmed_flush_lsn */
	bool slot_held;		       /* active, by a process that is not our own old walsender */
	int64_t wal_sender_timeout_ms; /* 0: none */
	/* The witness row: who took the slot over last. */
	bool witness_readable;		   /* the table is there and may be read */
	char witness_owner[WP_OWNER_SIZE]; /* "" when there is no row */
	wp_lsn witness_taken_at;	   /* where the slot stood as that owner took it over */
	uint64_t witness_system_id;
	uint32_t witness_timeline;
	uint16_t witness_epoch;
	/* Types of the outbox's columns that are enums, or domains over one: the stream
	 * does not tell. Only for values in binary. */
	uint32_t enums[WP_ENUMS_MAX];
	size_t enum_count;
};

struct wp_source_failure {
	enum wp_reaction reaction;
	char sqlstate[6]; /* "" when the server gave none */
	bool in_copy;	  /* it came while streaming */
	struct wp_why why;
};

enum wp_probe {
	WP_PROBE_NONE,
	WP_PROBE_RUNNING,
	WP_PROBE_ALIVE,
	WP_PROBE_STOPPING,
	WP_PROBE_UNREACHABLE
};

enum wp_root_state { WP_ROOT_NONE, WP_ROOT_ASKING, WP_ROOT_KNOWN, WP_ROOT_GONE, WP_ROOT_FAILED };

struct wp_root {
	enum wp_root_state state;
	uint32_t leaf_oid;
	char schema[256]; /* of the topmost partitioned table */
	char name[256];
};

struct wp_source_view {
	enum wp_source_state state;
	struct wp_source_facts facts; /* as of the last READY */
	struct wp_source_failure failure;
	enum wp_probe probe;
	struct wp_root root;
};

enum wp_witness { WP_WITNESS_KEEP, WP_WITNESS_WRITE };
enum wp_reading { WP_READING_OFF, WP_READING_ON };

struct wp_source;

struct wp_source_ops {
	/* CLOSED, FINISHED or FAILED only. */
	void (*connect)(struct wp_source *s);
	/* READY only: reads the facts again. */
	void (*look)(struct wp_source *s);
	/* READY only. WRITE: first write the witness row (owner, system, epoch). */
	void (*start)(struct wp_source *s, wp_lsn at, enum wp_witness witness);
	/*
	 * STREAMING only: the next CopyData. WP_OK: `ret` is valid until the next
	 * call of next() or close(); WP_AGAIN: none now, wake will tell; WP_IO:
	 * state() has become FINISHED or FAILED.
	 */
	enum wp_rc (*next)(struct wp_source *s, struct wp_span *ret);
	/* OFF: leave the socket alone until ON. It is ON at STREAMING. */
	void (*reading)(struct wp_source *s, enum wp_reading reading);
	/* STREAMING only. WP_IO as in next(). Never waits: what the socket does
	 * not take now follows when it can. */
	enum wp_rc (*status)(struct wp_source *s, const struct wp_status *status);
	/* STREAMING only: CopyDone, then read and discard until the server ends. */
	void (*finish)(struct wp_source *s);
	void (*close)(struct wp_source *s);
	/* Is the server shutting down? Asked on a connection of its own. */
	void (*probe)(struct wp_source *s);
	/* Which partitioned table is this leaf's root? Likewise. */
	void (*ask_root)(struct wp_source *s, uint32_t leaf_oid);
	const struct wp_source_view *(*view)(struct wp_source *s);
};

struct wp_source {
	const struct wp_source_ops *ops;
};

#endif
