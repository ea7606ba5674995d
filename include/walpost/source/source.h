/*
 * The relay asks this of one that streams the log; postgres/stream is the real
 * one, the simulation has another. Everything is asked without waiting: an
 * operation begins something, view() tells how it stands.
 *
 *   CLOSED -connect-> CONNECTING -> READY -start-> STARTING -> STREAMING
 *                                   READY -refresh-> REFRESHING -> READY (fresh facts)
 *   STREAMING -finish-> FINISHING -> FINISHED      (CopyDone both ways, then the slot checkpoint)
 *   STREAMING -> FINISHED                (the server ended the copy in good order)
 *   any -part-> FINISHING -> FINISHED    (at once closed; then the slot checkpoint)
 *   any -part-> CLOSED                   (there is nothing to write)
 *   any -> FAILED                        (failure says why and what it calls for)
 *   any -close-> CLOSED                  (at once, from any state)
 *
 * READY means: session settings forced, preflight passed, facts read.
 * Single-threaded: all calls on the loop's thread.
 */
#ifndef WALPOST_SOURCE_SOURCE_H
#define WALPOST_SOURCE_SOURCE_H

#include "walpost/base/error.h"
#include "walpost/wal/column_facts.h"
#include "walpost/wal/frame.h"
#include "walpost/wal/partitions.h"
#include "walpost/wal/pgoutput.h"
#include "walpost/wal/timeline.h"

#define WP_OWNER_SIZE 64
#define WP_HOLDER_SIZE 128
#define WP_SLOT_CHECKPOINT_TOPICS_SIZE 4096
#define WP_SLOT_CHECKPOINT_TROUBLE_SIZE 2304
#define WP_DRAINS_SIZE 128
#define WP_ENCODING_SIZE 32
#define WP_WITHHELD_SIZE 512

enum wp_source_state {
	WP_SOURCE_CLOSED,
	WP_SOURCE_CONNECTING,
	WP_SOURCE_READY,
	WP_SOURCE_REFRESHING,
	WP_SOURCE_STARTING,
	WP_SOURCE_STREAMING,
	WP_SOURCE_FINISHING,
	WP_SOURCE_FINISHED,
	WP_SOURCE_FAILED,
};

struct wp_source_facts {
	uint64_t system_id;
	char encoding[WP_ENCODING_SIZE]; /* server_encoding */
	struct wp_timelines timelines;
	wp_lsn server_lsn;	       /* flushed WAL at the time of asking */
	wp_lsn slot_confirmed;	       /* confirmed_flush_lsn */
	bool slot_active;	       /* active, by a process that is not our own old walsender */
	char holder[WP_HOLDER_SIZE];   /* that process, in words; "": it has just ended */
	bool holder_is_walpost;	       /* as far as its application_name tells */
	bool holder_wrote;	       /* the slot checkpoint row was written since it came */
	int64_t wal_sender_timeout_ms; /* 0: none */
	/* The slot checkpoint row tells who took the slot over last, and how far that one has come. */
	bool slot_checkpoint_readable; /* the table is there and may be read */
	bool slot_checkpoint_unsure; /* it may, but not now: locked, perhaps. What it says is not known */
	bool slot_checkpoint_writable; /* and has all columns and may be written: it can be believed */
	char slot_checkpoint_owner[WP_OWNER_SIZE]; /* "" when there is no row */
	char slot_checkpoint_version[16];	   /* another each time that the row is written */
	wp_lsn slot_checkpoint_taken_at; /* where the slot stood as that owner took it over */
	uint64_t slot_checkpoint_system_id;
	uint32_t slot_checkpoint_timeline;
	uint16_t slot_checkpoint_epoch;
	struct wp_column_facts columns; /* of the outboxes' tables, in their order */
	enum wp_transfer transfer;	/* how rows had best be asked for */
	bool text_will_do;		/* as text too, when they do not come so */
	bool slot_checkpoint_stopped; /* in good order: the slot stood at slot_checkpoint_confirmed then */
	wp_lsn slot_checkpoint_confirmed;      /* what that owner wrote down last; 0: nothing */
	char slot_checkpoint_confirmed_at[32]; /* when, in words */
	char slot_checkpoint_topics
		[WP_SLOT_CHECKPOINT_TOPICS_SIZE]; /* that took events, comma-separated */
	wp_lsn reissue_lsn;			  /* as in wp_slot_state */
	/* So many transactions were decoded for the slot, then and now; -1: not known, or not to be compared. */
	int64_t slot_checkpoint_transactions;
	int64_t slot_transactions;
};

struct wp_source_failure {
	enum wp_reaction reaction;
	char sqlstate[6];	       /* "" when the server gave none */
	bool slot_lost;		       /* the server has given the slot up */
	bool row_security;	       /* a policy would hide rows from us; the error says so */
	bool slot_checkpoint_writable; /* as in the facts, which were not read to their end */
	bool reissue_missing;	       /* its publication did not exist at this place of the log */
	struct wp_error error;
};

enum wp_probe {
	WP_PROBE_NONE,
	WP_PROBE_RUNNING,
	WP_PROBE_ALIVE,
	WP_PROBE_STOPPING,
	WP_PROBE_UNREACHABLE
};

enum wp_asked { WP_ASKED_NOTHING, WP_ASKED_OPEN, WP_ASKED_ANSWERED, WP_ASKED_FAILED };

/* How is the slot's log kept? This is pg_replication_slots.wal_status. */
enum wp_keeping {
	WP_KEEPING_UNKNOWN,
	WP_KEEPING_RESERVED,
	WP_KEEPING_EXTENDED,   /* more than max_wal_size, kept for the slot */
	WP_KEEPING_UNRESERVED, /* may be removed at the next checkpoint */
	WP_KEEPING_LOST,
};

/* This is seen beside the stream: publication, table and slot as they are now. */
struct wp_slot_state {
	bool asking;
	bool unanswered;  /* the last question: no connection, or an error */
	uint64_t answers; /* so far on this stream; 0: the rest means nothing */
	wp_lsn server_lsn;
	enum wp_keeping keeping;
	int64_t retained;  /* bytes of log from restart_lsn on; -1: not known */
	bool limited;	   /* max_slot_wal_keep_size is set, and safe_size known */
	int64_t safe_size; /* bytes that may be written until the slot can be lost */
	/* The log ended here, what is not written yet included, when the publication of walpost.reissue was seen:
	 * from here on it can be read. 0: there is none. */
	wp_lsn reissue_lsn;
	/* The server sends nothing before the standbys of synchronized_standby_slots have it: which of
	 * these are behind, and why, in words. "": it does not wait. */
	char withheld[WP_WITHHELD_SIZE];
	char drains[WP_DRAINS_SIZE]; /* the numbers of those that wait, a space between each two */
	/* "": going on loses nothing; else this is what is wrong, and its cure, in less than 800 bytes. */
	struct wp_error loss;
};

struct wp_source_view {
	enum wp_source_state state;
	struct wp_source_facts facts; /* as of the last READY */
	struct wp_source_failure failure;
	enum wp_probe probe;
	/* These are as of the last READY with a free slot, or of a later answer. */
	struct wp_partitions partitions;
	enum wp_asked partitions_asked;
	struct wp_slot_state slot_state;
	/* The slot checkpoint row could not be written at the start and names another owner still:
	 * write_down() claims it. */
	bool unclaimed;
	/* The slot stood here as that was done on this stream; 0: it was not, or this is where people had moved it
	 * who wrote that down. `claimed_from_other`: one had written the row after the facts were read, and may have
	 * had the slot. */
	wp_lsn claimed;
	bool claimed_from_other;
	/* The stream passes walpost.reissue over, whose publication came later than what it began
	 * with; a stream that begins here would not. 0: it reads it, or there is none. */
	wp_lsn reissue_from;
};

enum wp_slot_checkpoint { WP_SLOT_CHECKPOINT_KEEP, WP_SLOT_CHECKPOINT_WRITE };
enum wp_reading { WP_READING_OFF, WP_READING_ON, WP_READING_LAST_WORD };

/* This is what a stream is to bring, told by who knows (postgres/options.h). */
struct wp_requirements;

struct wp_source;

struct wp_source_ops {
	/* Must be CLOSED, FINISHED or FAILED. */
	void (*connect)(struct wp_source *s);
	/* Any state will do; in force with the next connect(). Borrowed until then and from then on. */
	void (*want)(struct wp_source *s, const struct wp_requirements *wanted);
	/* Must be READY: reads the facts again. */
	void (*refresh)(struct wp_source *s);
	/* Must be READY. WRITE: first write the slot checkpoint row (owner, system, epoch). */
	void (*start)(struct wp_source *s, wp_lsn at, enum wp_transfer transfer,
		      enum wp_slot_checkpoint slot_checkpoint);
	/*
	 * Must be STREAMING: gives the next CopyData. WP_OK: `ret` is valid until the next call of next() or close();
	 * WP_AGAIN: none now, wake will tell; WP_IO: state() has become FINISHED or FAILED.
	 */
	enum wp_rc (*next)(struct wp_source *s, struct wp_span *ret);
	/*
	 * Must be STREAMING. OFF: leave the socket alone until ON. It is ON at STREAMING. LAST_WORD: the server uses
	 * the slot no more for this stream, as a query has shown: what has come is thrown away, and how the server
	 * ended it becomes the failure. FAILED, or FINISHED.
	 */
	void (*reading)(struct wp_source *s, enum wp_reading reading);
	/* Must be STREAMING. WP_IO as in next(). Never waits: what the socket does not take now follows when it can. */
	enum wp_rc (*status)(struct wp_source *s, const struct wp_status *status);
	/* Must be STREAMING: CopyDone, then read and discard until the server ends, then write the slot checkpoint:
	 * the flush of the last status, and how it ended. */
	void (*finish)(struct wp_source *s, const char *topics);
	/*
	 * Any state will do: closes, and writes the slot checkpoint on a connection of its own, if we ever had the slot
	 * and nobody else has it now; if we never had it, only what trouble() said. FINISHED, whether it could be
	 * written or not; for ever FINISHING when the server does not answer.
	 */
	void (*part)(struct wp_source *s, const char *topics);
	void (*close)(struct wp_source *s);
	/* Is the server shutting down? It is asked on a connection of its own. */
	void (*probe)(struct wp_source *s);
	/*
	 * Must be STREAMING, all on one more connection, and none ever fails but ask_partitions, which view() tells:
	 * what cannot be asked or written now is dropped. ask_partitions asks for those of the outboxes anew, watch for
	 * the state of the slot. write_down writes into the slot checkpoint row that all below `confirmed` was
	 * confirmed, by these topics (comma-separated, fewer than WP_SLOT_CHECKPOINT_TOPICS_SIZE bytes).
	 */
	void (*ask_partitions)(struct wp_source *s);
	void (*watch)(struct wp_source *s);
	void (*write_down)(struct wp_source *s, wp_lsn confirmed, const char *topics);
	/*
	 * Any state will do: tells what keeps events from being delivered, and for how long, as the slot checkpoint row
	 * is to say with each write from now on; "": nothing. Cut at WP_SLOT_CHECKPOINT_TROUBLE_SIZE.
	 */
	void (*trouble)(struct wp_source *s, const char *what, int64_t for_ms);
	/* The view is the same for life: what it says changes. */
	const struct wp_source_view *(*view)(struct wp_source *s);
};

struct wp_source {
	const struct wp_source_ops *ops;
};

#endif
