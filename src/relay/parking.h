/*
 * Which aggregates are parked, and which of their events are to be sent when? An event that cannot
 * be delivered is kept in walpost.parked, by a store (source/parked.h), and so are all later ones of
 * its outbox and key: all others flow. From there the relay sends them again, in order:
 *
 *   due -> the first row of each of some aggregates is loaded, and sent: nothing of an aggregate goes
 *   before that is confirmed -> then more of them at a time -> with the last row it is no longer parked
 *
 * What the log brings again from before the first row of an aggregate flows: it went before, and was
 * not parked. So that it is not overtaken, a row is sent only once the server may forget all up to
 * its event. An event of an earlier epoch was in another log, which comes no more.
 *
 * A row is deleted once the sink has confirmed its event, one that fails keeps its place. Until its
 * last row is gone, an aggregate's events from the log are parked too. While it is being sent, one
 * more is let in for two that have gone, and else the stream waits, for some seconds at most: so a
 * hot key comes to an end.
 *
 * What Kafka refused is sent again while nothing else is in flight: else all that shared its batch
 * would be suspect.
 *
 * Owns: the set of aggregates, in memory. Borrows: store, options. Calls: the store. Pure but for
 * that; time is passed in (monotonic ms). Bounded: park.aggregates.max; one round of at most
 * ROWS_MAX rows at a time.
 */
#ifndef WALPOST_SRC_RELAY_PARKING_H
#define WALPOST_SRC_RELAY_PARKING_H

#include "walpost/relay/options.h"
#include "walpost/relay/parking_figures.h"
#include "walpost/sink/sink.h"
#include "walpost/source/parked.h"

/* Tickets from here on are those of parked events that are sent again; the ledger's never come so far. */
#define WP_PARKED_TICKETS (UINT64_C(1) << 63)

enum wp_parking_answer {
	WP_PARKING_FLOWS,   /* it is of no parked aggregate */
	WP_PARKING_FOLLOWS, /* it is to be parked, too */
	WP_PARKING_KNOWN,   /* it is in the table already: passed over */
	WP_PARKING_WAITS,   /* not now: its aggregate is being sent */
};

struct wp_parking;

/* This row is to be sent now. */
struct wp_parking_row {
	const struct wp_parked_row *row;
	wp_ticket ticket;
	int letter; /* its dead letter is, with so much of it (enum wp_letter); -1: itself */
};

/* A step found this, for the relay to tell. */
struct wp_parking_news {
	bool failed;	/* an event could not be sent again: position, error */
	bool letter;	/* its dead letter was confirmed */
	bool exhausted; /* with `failed`: and will not be tried again by itself */
	bool released;	/* an aggregate flows again: its events, since it was taken up */
	struct wp_position position;
	struct wp_error error;
	uint64_t events;
};

/* `epoch` is that of what the log brings. */
enum wp_rc wp_parking_new(const struct wp_park_options *options, uint16_t epoch,
			  bool has_dead_letters, struct wp_parked_store *store,
			  struct wp_parking **ret) WP_MUST_CHECK;
void wp_parking_free(struct wp_parking *p);

/* To be called with each turn, before all else. */
void wp_parking_tick(struct wp_parking *p, int64_t now_ms);
/* A stream begins, by which what commits at or behind `from` may come again: all is loaded anew. */
void wp_parking_begin(struct wp_parking *p, wp_lsn from);
/* All tickets are forgotten. */
void wp_parking_forget(struct wp_parking *p);
/* The set is in memory: events may be taken. */
bool wp_parking_is_ready(const struct wp_parking *p);
/* Returns the next aggregate of the set that the store has read; NULL: none is left, or not read yet. */
const struct wp_parked_aggregate *wp_parking_next_loaded(struct wp_parking *p);
/* Takes the aggregate into memory. WP_DATA with the error: it is one too many. WP_NOMEM. */
enum wp_rc wp_parking_load(struct wp_parking *p, const struct wp_parked_aggregate *a,
			   struct wp_error *error) WP_MUST_CHECK;

/* -- events from the log ------------------------------------------------------- */

enum wp_parking_answer wp_parking_find(struct wp_parking *p, struct wp_span outbox,
				       struct wp_span key, const struct wp_position *position);
/*
 * An event is put into the store: the first of its aggregate with a code of its own, a later one
 * with NULL. WP_FULL: not now; WP_DATA with the error: a limit; WP_NOMEM.
 */
struct wp_parking_event {
	struct wp_span outbox;
	struct wp_span key;
	const struct wp_position *position;
	const char *code; /* NULL: it follows */
	bool alone;
};
enum wp_rc wp_parking_put(struct wp_parking *p, wp_ticket ticket,
			  const struct wp_parking_event *event, struct wp_span row,
			  struct wp_error *error) WP_MUST_CHECK;
/* Returns the time until the first attempt at one. */
int64_t wp_parking_first_wait(const struct wp_parking *p);
/* Takes tickets whose events are durable in the table. */
size_t wp_parking_collect(struct wp_parking *p, wp_ticket *tickets, size_t max);

/* -- sending again ---------------------------------------------------------------- */

/*
 * Does what is due, as far as it goes without the sink: asks the store, hears its answers. `may_send`: a new round may
 * begin. `confirmed`: what the server may forget, so that this stream does not bring it again. `told`: what the server
 * was told of that, so that the next one does not. WP_NOMEM.
 */
enum wp_rc wp_parking_step(struct wp_parking *p, bool may_send, wp_lsn confirmed,
			   wp_lsn told) WP_MUST_CHECK;
/*
 * No more is to be sent, for the relay stops: what was confirmed is deleted still. `sink_rests`: what it has waits for
 * topics, and is not waited for. Returns true while a change, or something that was put, is under way.
 */
bool wp_parking_end(struct wp_parking *p, bool sink_rests);
/* A row is to be sent while nothing else is in flight. */
bool wp_parking_wants_quiet(const struct wp_parking *p);
/* Gives the next row that is to be sent; `quiet`: nothing is in flight. False: there is none now. */
bool wp_parking_next(struct wp_parking *p, bool quiet, struct wp_parking_row *ret);
/* The next row was sent (WP_OK), or cannot be (WP_DATA, with why). With any other answer it stays the next. */
void wp_parking_sent(struct wp_parking *p, enum wp_rc rc, const struct wp_error *error);
/* Nobody wants the next row any more: it is deleted. */
void wp_parking_dropped(struct wp_parking *p);
/* A report with a ticket of ours came. For an event that was refused alone, `reason` says why in words. */
void wp_parking_report(struct wp_parking *p, const struct wp_report *report, const char *reason);
/* Did that ticket go while nothing else was in flight? */
bool wp_parking_went_alone(const struct wp_parking *p, wp_ticket ticket);
/* Some event in flight was refused for a reason of its own: what we have in flight is suspect. WP_NOMEM. */
enum wp_rc wp_parking_suspect(struct wp_parking *p) WP_MUST_CHECK;
/* Takes what there is to tell since the last call. */
bool wp_parking_take_news(struct wp_parking *p, struct wp_parking_news *ret);
int64_t wp_parking_due(const struct wp_parking *p, bool may_send);

void wp_parking_figures(const struct wp_parking *p, struct wp_parking_figures *ret);

#endif
