/*
 * The relay itself: joins a source and a sink through pipeline and ledger, and
 * moves by the machine's table. It waits for nothing and reads no clock: whoever
 * runs it (run on libev, or the simulation) calls wp_relay_step() when
 * something woke it or the time it named has come.
 *
 * The rule above all rules: the flush position told to the server never passes
 * an event that the sink has not confirmed.
 *
 * Owns: ledger, pipeline, feedback. Borrows: source, sink, options. Pure but for
 * what source and sink do. Bounded: by in_flight_events and in_flight_bytes.
 */
#ifndef WALPOST_RELAY_RELAY_H
#define WALPOST_RELAY_RELAY_H

#include "walpost/relay/machine.h"
#include "walpost/relay/meter.h"
#include "walpost/relay/options.h"
#include "walpost/relay/parking_figures.h"
#include "walpost/relay/pipeline.h"
#include "walpost/source/cleanup.h"

/* A task is what is relayed, and what the source is to bring for it. Both are borrowed. */
struct wp_relay_task {
	const struct wp_outboxes *outboxes;
	const struct wp_requirements *wanted; /* for the source's want() */
};

struct wp_relay_setup {
	struct wp_source *source;
	struct wp_sink *sink;
	const struct wp_relay_options *options;
	struct wp_relay_task task;	  /* the source has been told */
	struct wp_parked_store *parked;	  /* with relay.poison = park; else NULL */
	struct wp_cleanup_store *cleanup; /* NULL: rows of the outboxes stay */
	const char *slot;		  /* for messages */
	const char *owner;		  /* this process's name in the slot checkpoint row */
	uint64_t seed;			  /* for jitter */
};

/* Time is passed in. */
struct wp_now {
	int64_t ms;	 /* CLOCK_MONOTONIC, as the loop's timers: all deadlines */
	int64_t boot_ms; /* CLOCK_BOOTTIME: counts a suspended machine's time too */
	int64_t wall_us; /* since 2000-01-01 UTC: for status messages, and to notice a paused VM */
};

enum wp_note_level { WP_NOTE_DEBUG, WP_NOTE_INFO, WP_NOTE_WARN, WP_NOTE_ERROR };

/* Something a person may want to know; the edges log it. */
struct wp_note {
	enum wp_note_level level;
	const char *event;     /* constant */
	struct wp_error error; /* "" : none */
	wp_lsn lsn;
	int64_t wait_ms; /* -1: none */
};

/* This is the oldest of what is in flight; when that is nothing, the row that cannot be sent yet. */
struct wp_relay_oldest {
	bool any;
	int64_t commit_time_us; /* since 2000-01-01 UTC, by the server's clock */
	int64_t waiting_ms; /* since it went to the sink, or was not taken at first; monotonic */
};

struct wp_relay_slot {
	bool known; /* else the rest means nothing */
	enum wp_keeping keeping;
	int64_t retained; /* bytes of log that the server keeps for it; -1: not known */
	bool limited;	  /* max_slot_wal_keep_size is set */
	int64_t safe_size;
	int64_t seconds; /* until it may be lost; INT64_MAX: not in sight */
	bool suspect;	 /* something is wrong with publication or table, perhaps */
};

/* Strings are borrowed, until the next step. */
struct wp_relay_snapshot {
	enum wp_state state;
	int64_t entered_ms;  /* monotonic; so are all in ms */
	int64_t deadline_ms; /* of the state; INT64_MAX: none */
	struct wp_pipeline_counts counts;
	const struct wp_drop_counts *dropped; /* the relay's */
	uint64_t confirmed;		      /* events */
	uint64_t reconnects;
	uint64_t renewals; /* of connections that had grown; no reconnects */
	uint64_t rewinds;
	uint64_t moves;
	uint64_t moves_to[WP_STATE_COUNT];
	uint64_t changes;	  /* of the task that took effect, */
	uint64_t changes_refused; /* and of these taken back, or never in effect */
	uint64_t keepalives;	  /* of the server */
	uint64_t statuses;	  /* told to it */
	wp_lsn confirmed_lsn;
	wp_lsn read;
	wp_lsn server;
	size_t in_flight;
	size_t in_flight_bytes;
	size_t in_flight_max;
	size_t in_flight_bytes_max;
	struct wp_relay_oldest oldest;
	int64_t heard_ms;     /* of the server, last; INT64_MIN: never */
	int64_t confirmed_ms; /* by the sink, likewise */
	struct wp_relay_slot slot;
	bool sink_reachable;
	bool sink_reached;	    /* it was once, by this process */
	bool sink_throttled;	    /* by a quota, just now */
	uint64_t sink_throttled_ms; /* for so long in all */
	uint64_t sink_data_losses;  /* times that what it had confirmed was found to be gone */
	bool isolating;		    /* one by one, after an event that was refused */
	bool stopping;
	int exit_code;		/* that it will stop with */
	int64_t unreachable_ms; /* since when the sink is not reachable; INT64_MIN: it is */
	const char *sink_error; /* why it is not; "": it is */
	bool repeats;		/* that is because Kafka refuses one again and again */
	int64_t stalled_ms;	/* since when nothing that waits is confirmed; INT64_MIN: it is */
	bool waiting;		/* for a topic or a right, until something is confirmed again */
	const char *waiting_topic;   /* "": none, or for a right on the cluster */
	int64_t waiting_ms;	     /* since when; INT64_MIN: none */
	const char *waiting_subject; /* whose schema id is awaited; NULL: none */
	const char *holder;	     /* in standby, who has the slot; "": not known */
	bool foreign;		     /* that is no relay: nobody delivers */
	const char *withheld;	     /* as in wp_slot_state, while that is why it is stalled; "" */
	struct wp_parking_figures parking;
	const struct wp_cleanup_view *cleanup; /* NULL: rows stay */
	const char *halt_event;		       /* NULL: nothing made it stop */
	const char *halt_error;
};

/*
 * Gives the bytes between what the server has and what was confirmed. False: they are not known, for this relay has not
 * streamed yet, or another has the slot by now.
 */
bool wp_relay_lag(const struct wp_relay_snapshot *s, uint64_t *ret);

struct wp_relay;

enum wp_rc wp_relay_new(const struct wp_relay_setup *setup, struct wp_relay **ret,
			struct wp_error *error) WP_MUST_CHECK;
void wp_relay_free(struct wp_relay *r);

enum wp_step {
	WP_STEP_WAIT, /* until a wake or wp_relay_due() */
	WP_STEP_MORE, /* the budget is spent, there is more: soon again */
	WP_STEP_OVER, /* stopped: wp_relay_exit_code() */
};
enum wp_step wp_relay_step(struct wp_relay *r, struct wp_now now);
/* Returns when the next step is due at the latest, as the last one left it; monotonic ms. */
int64_t wp_relay_due(const struct wp_relay *r);
/* Begins to stop: takes no more, waits for reports, ends the copy. */
void wp_relay_stop(struct wp_relay *r, struct wp_now now);
int wp_relay_exit_code(const struct wp_relay *r);
/*
 * A new task takes effect between two transactions (within one while a topic is awaited, for which it may be the cure),
 * once nothing is in flight: the stream begins anew. What the server, or the first row, then refuses is taken back,
 * with the note `reload_refused`. A task that is not in effect yet is replaced. WP_CONFIG with the error: too late, the
 * relay stops or is held.
 */
enum wp_rc wp_relay_reload(struct wp_relay *r, const struct wp_relay_task *task,
			   struct wp_error *error) WP_MUST_CHECK;
/* Must these outboxes still be there? */
bool wp_relay_uses(const struct wp_relay *r, const struct wp_outboxes *outboxes);
/* Takes the oldest note; false: none. At most 64 are kept, the oldest go first. */
bool wp_relay_take_note(struct wp_relay *r, struct wp_note *ret);
void wp_relay_take_snapshot(const struct wp_relay *r, struct wp_relay_snapshot *ret);
/* The meter is borrowed, until the relay is freed. */
const struct wp_meter *wp_relay_meter(const struct wp_relay *r);
/* Returns the most bytes that were in flight since it was asked last. */
size_t wp_relay_take_highest(struct wp_relay *r);

#endif
