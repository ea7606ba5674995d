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
#include "walpost/relay/options.h"
#include "walpost/relay/pipeline.h"

struct wp_relay_setup {
	struct wp_source *source;
	struct wp_sink *sink;
	const struct wp_relay_options *options;
	const struct wp_outboxes *outboxes;
	const char *slot;  /* for messages */
	const char *owner; /* this process's name in the witness row */
	uint64_t seed;	   /* for jitter */
};

/* Time is passed in. */
struct wp_now {
	int64_t ms;	 /* monotonic */
	int64_t wall_us; /* since 2000-01-01 UTC, for status messages only */
};

enum wp_note_level { WP_NOTE_DEBUG, WP_NOTE_INFO, WP_NOTE_WARN, WP_NOTE_ERROR };

/* Something a person may want to know; the edges log it. */
struct wp_note {
	enum wp_note_level level;
	const char *event; /* constant */
	struct wp_why why; /* "" : none */
	wp_lsn lsn;
	int64_t wait_ms; /* -1: none */
};

struct wp_relay_snapshot {
	enum wp_state state;
	struct wp_pipeline_counts counts;
	uint64_t confirmed; /* events */
	uint64_t reconnects;
	uint64_t rewinds;
	uint64_t moves;
	wp_lsn safe;
	wp_lsn read;
	wp_lsn server;
	size_t in_flight;
	size_t in_flight_bytes;
};

struct wp_relay;

enum wp_rc wp_relay_new(const struct wp_relay_setup *setup, struct wp_relay **ret,
			struct wp_why *why) WP_MUST_CHECK;
void wp_relay_free(struct wp_relay *r);

enum wp_step {
	WP_STEP_WAIT, /* until a wake or wp_relay_due() */
	WP_STEP_MORE, /* the budget is spent, there is more: soon again */
	WP_STEP_OVER, /* stopped: wp_relay_exit_code() */
};
enum wp_step wp_relay_step(struct wp_relay *r, struct wp_now now);
/* When the next step is due at the latest, monotonic ms. */
int64_t wp_relay_due(const struct wp_relay *r);
/* Begin to stop: take no more, wait for reports, end the copy. */
void wp_relay_stop(struct wp_relay *r, struct wp_now now);
int wp_relay_exit_code(const struct wp_relay *r);
/* Takes the oldest note; false: none. At most 64 are kept, the oldest go first. */
bool wp_relay_take_note(struct wp_relay *r, struct wp_note *ret);
void wp_relay_look(const struct wp_relay *r, struct wp_relay_snapshot *ret);
/* The most bytes that were in flight since it was asked last. */
size_t wp_relay_take_highest(struct wp_relay *r);

#endif
