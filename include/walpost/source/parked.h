/*
 * The relay asks this of one that keeps parked events, the rows of walpost.parked;
 * postgres/parked_store is the real one, the simulation has another. Everything is asked without
 * waiting, on a connection of its own. An operation begins something, view() tells how it stands.
 *
 *   CLOSED -open-> OPENING -> READY    (the slot's generation is raised, then the set is read)
 *   READY -open-> OPENING              (a new stream: the same again; what was put is kept)
 *   OPENING, READY -> FENCED           (another process raised the generation, or the stream beside it
 *                                       has no longer the slot: the error tells)
 *   OPENING, READY -> REFUSED          (a row that Postgres can never take: the error names it)
 *   any -close-> CLOSED                (at once: what was put and asked is forgotten; what was to be
 *                                       changed is kept, and done after the next open)
 *
 * open and close forget a load and a look that are under way: they are never answered.
 *
 * Nothing else fails: what cannot be done now (no connection, no right, a lock, a full disk) is
 * tried again until it can, and view()->error says why it waits. Each statement that writes locks the
 * slot's row of walpost.parking and checks the generation: one of a process that has lost the slot,
 * still on its way to the server, changes nothing.
 *
 * A ticket is sink.h's wp_ticket: the store only gives it back.
 *
 * A set, and what is loaded, is as of all that was put before it was asked for.
 *
 * Single-threaded: all calls on the loop's thread. Bounded: PUT_MAX events and PUT_SIZE_MAX bytes
 * put and not durable yet; one load and one look at a time.
 */
#ifndef WALPOST_SOURCE_PARKED_H
#define WALPOST_SOURCE_PARKED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "walpost/base/error.h"
#include "walpost/wal/position.h"

#define WP_PARKED_PUT_MAX 4096
#define WP_PARKED_LOOK_MAX 1000 /* rows of one look; with as many there may be more */
#define WP_PARKED_PUT_SIZE_MAX (16 * 1024 * 1024) /* one larger may be put when alone */

enum wp_parked_state {
	WP_PARKED_CLOSED,
	WP_PARKED_OPENING,
	WP_PARKED_READY,
	WP_PARKED_FENCED,
	WP_PARKED_REFUSED,
};

/* An aggregate is the events of one outbox and key, the first of which cannot be delivered. Spans are the store's. */
struct wp_parked_aggregate {
	struct wp_span outbox; /* as walpost.reissue names it: table, or prefix of messages */
	struct wp_span key;    /* as Postgres prints it; null: one event without a key, alone */
	struct wp_position position; /* of its first event; so are these: */
	struct wp_span code;	     /* why it cannot, in a word */
	struct wp_span settings;     /* the configuration that it was read by, in words */
	bool alone;		     /* Kafka refused it: to be sent while nothing else is */
	int64_t due_in_ms;	     /* < 0: it was due; INT64_MAX: never by itself */
	uint64_t events;	     /* of the aggregate */
	int64_t age_ms;		     /* since its oldest was parked */
};

/* A set is all aggregates of the slot, and the events that the log may bring again. */
struct wp_parked_set {
	const struct wp_parked_aggregate *aggregates; /* by position */
	size_t count;
	const struct wp_position *positions; /* of rows at or behind `from`; ascending */
	size_t position_count;
};

struct wp_parked_row {
	struct wp_position position;
	struct wp_span outbox;
	struct wp_span key;
	struct wp_span relation; /* schema.table in which it was; null: a message */
	struct wp_span row;	 /* JSON, as of walpost.reissue; null: a message */
	struct wp_span content;	 /* of a message: \x and digits; null: a row */
	struct wp_span reissued; /* the event's walpost-reissued; null: it has none */
	struct wp_span first_reason;
	struct wp_span reason; /* the last */
	uint32_t attempts;     /* that failed since it was parked, or since a retry was asked for */
	bool alone;
	int64_t commit_time_us; /* since 2000-01-01 UTC */
};

enum wp_parked_act { WP_PARKED_ACT_RETRY, WP_PARKED_ACT_SKIP };

/* A person asked for this by `walpost parked`, and it is not done yet. */
struct wp_parked_asked {
	enum wp_parked_act act;
	struct wp_position position;
	struct wp_span outbox;
	struct wp_span key;
};

struct wp_parked_choice {
	struct wp_span outbox;
	struct wp_span key; /* null: the one event at `position` */
	struct wp_position position;
	uint32_t rows_max; /* its first so many; those that are to be skipped are left out */
};

enum wp_parked_change_kind {
	WP_PARKED_DELETE, /* delivered, or given up */
	/* The reason, code, attempts, alone and due_in_ms are its new ones. It applies only when the row has one
	 * attempt less: else another relay has tried it since, or a person asked for a retry. */
	WP_PARKED_FAILED,
	WP_PARKED_ALONE, /* it was in flight when Kafka refused some event: alone from now on */
	WP_PARKED_HEARD, /* the retry that was asked for begins: attempts 0, due now, nothing asked */
};

struct wp_parked_change {
	enum wp_parked_change_kind kind;
	struct wp_position position;
	const char *reason;
	const char *code;
	uint32_t attempts;
	bool alone;
	int64_t due_in_ms; /* INT64_MAX: never by itself */
};

struct wp_parked_view {
	enum wp_parked_state state;
	struct wp_error error;	  /* why nothing goes on, or why REFUSED; "": nothing waits */
	struct wp_parked_set set; /* READY, until set_taken() */
	uint64_t loads;		  /* that were answered, so far */
	uint64_t looks;		  /* likewise */
	uint64_t changed;	  /* changes that are durable, so far */
	const struct wp_parked_row *rows; /* of the last load, until the next, open() or close() */
	size_t row_count;
	bool rows_cut; /* size_max ended them: there may be more for the last choice that has any,
			* and for all behind it */
	const struct wp_parked_asked *asked; /* of the last look, likewise */
	size_t asked_count;
};

struct wp_parked_store;

struct wp_parked_store_ops {
	/* Any state will do. `from`: rows of transactions that commit at or behind it may come again by the log. No
	 * more than aggregates_max + 1 of the set are read. */
	void (*open)(struct wp_parked_store *s, wp_lsn from, size_t aggregates_max);
	/* The set has been copied. */
	void (*set_taken)(struct wp_parked_store *s);
	void (*close)(struct wp_parked_store *s);
	/*
	 * Must be READY. `row` is a JSON object, copied: the columns of walpost.parked by name, but for slot and the
	 * times; with "due_in_ms" when it is the first of its aggregate. A row that is there already stays as it is.
	 * WP_FULL: later, after a wake. WP_NOMEM.
	 */
	enum wp_rc (*put)(struct wp_parked_store *s, uint64_t ticket, struct wp_span row);
	/* Takes tickets of what was put and is durable: committed, and where a failover slot protects the stream, on
	 * the standbys too. */
	size_t (*collect)(struct wp_parked_store *s, uint64_t *tickets, size_t max);
	/* Any state will do; `changes` is copied. Rows that are not there are passed over. WP_NOMEM. */
	enum wp_rc (*change)(struct wp_parked_store *s, const struct wp_parked_change *changes,
			     size_t count);
	/* Must be READY, with no load under way. Rows come in the order of the choices, by position; no more once
	 * their bytes exceed size_max. */
	void (*load)(struct wp_parked_store *s, const struct wp_parked_choice *choices,
		     size_t count, size_t size_max);
	/* Must be READY, with no look under way: what was asked for is looked for, the first LOOK_MAX by position. */
	void (*look)(struct wp_parked_store *s);
	/* The view is the same for life: what it says changes. */
	const struct wp_parked_view *(*view)(struct wp_parked_store *s);
};

struct wp_parked_store {
	const struct wp_parked_store_ops *ops;
};

#endif
