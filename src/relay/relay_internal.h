/*
 * The files of the relay share this: its modules side by side, each with its own state, and the
 * few things that any of the files may do. Calls go one way:
 *
 *   relay.c -> relay_source.c, relay_sink.c, relay_parking.c, relay_cleanup.c, relay_slot.c
 *           -> relay_behind.c, relay_reload.c
 *           -> relay_actions.c -> the modules, which call none of these
 *
 * relay.c is life and time; relay_source.c and relay_sink.c are the relay's answers to what comes
 * from either side, relay_slot.c to what is seen beside the stream.
 */
#ifndef WALPOST_SRC_RELAY_RELAY_INTERNAL_H
#define WALPOST_SRC_RELAY_RELAY_INTERNAL_H

#include "delivery.h"
#include "isolation.h"
#include "notes.h"
#include "parking.h"
#include "partition_question.h"
#include "reload.h"
#include "stream_renewal.h"
#include "retry.h"
#include "row_warnings.h"
#include "shutdown_probe.h"
#include "sink_watch.h"
#include "slot_watch.h"
#include "slot_identity.h"
#include "standstill.h"
#include "stop.h"
#include "walpost/relay/behind_check.h"
#include "topic_wait.h"
#include "walpost/base/error.h"
#include "walpost/relay/feedback.h"
#include "slot_checkpoint_schedule.h"

/* relay_source.c keeps here what the source gave last, as long as the pipeline does not take it. */
struct wp_pending {
	struct wp_span frame; /* null: none */
	int64_t refused_ms;   /* the next event, first, through all streams; INT64_MAX: it is not */
	struct wp_topic_wait
		schema; /* for the id of its schema; the topic is a subject of a registry */
};

/* relay_parking.c notes here that walpost.parked cannot be read or written. */
struct wp_parking_trouble {
	bool on;
	bool noted;
	int64_t since_ms;
	int64_t note_ms; /* when it is told of, next */
};

enum { WP_REBUILD_MS = 60 * 1000 };

struct wp_relay {
	struct wp_relay_setup setup; /* but for the task: that in effect is in `reload` */
	struct wp_machine machine;
	struct wp_notes notes;

	/* From a frame to the position that the server is told. */
	struct wp_pending pending;
	struct wp_pipeline *pipeline;
	struct wp_ledger ledger;
	struct wp_meter meter;
	struct wp_feedback feedback;

	/* The source. */
	struct wp_retry retry;
	struct wp_slot_identity identity;
	struct wp_behind_check behind;
	struct wp_shutdown_probe probe;
	struct wp_slot_watch slot_watch;
	struct wp_slot_checkpoint_schedule slot_checkpoint;
	struct wp_partition_question question;
	struct wp_stream_renewal renewal;
	struct wp_repeated_trouble stream_trouble;
	struct wp_row_warnings warnings;
	wp_lsn reissue_from; /* the view's, as of this step: asked for with each frame */
	wp_lsn server;	     /* how far its log is known to be */
	int64_t heard_ms;    /* anything of the server, last; INT64_MIN: never */

	/* The sink. */
	struct wp_sink_watch sink;
	struct wp_topic_wait topic;
	struct wp_isolation isolation;
	struct wp_delivery delivery;

	/* Events that cannot be delivered; NULL unless relay.poison = park. */
	struct wp_parking *parking;
	struct wp_parking_trouble parking_trouble;

	/* The process. */
	struct wp_standstill standstill;
	struct wp_reload reload;
	struct wp_stop stop;
};

static inline int64_t wp_sooner(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

/* -- relay_actions.c ---------------------------------------------------------- */

struct wp_note *wp_relay_note(struct wp_relay *r, enum wp_note_level level, const char *event);
const struct wp_source_view *wp_relay_source(const struct wp_relay *r);
const struct wp_sink_view *wp_relay_sink(const struct wp_relay *r);
bool wp_relay_is_streaming(const struct wp_relay *r);
/* Is it STREAMING or PAUSED? */
bool wp_relay_reads(const struct wp_relay *r);
/*
 * Returns what may be told to the server as flushed: the confirmed LSN, but nothing more once events would be lost, or
 * before the slot checkpoint row names us.
 */
wp_lsn wp_relay_flush(const struct wp_relay *r);
/* Tells the server how far we are. WP_IO shows in the source's view at the next turn. */
void wp_relay_send_status(struct wp_relay *r, struct wp_now now);
/* Returns the topics that took events, so far as is known, for the slot checkpoint row. */
const char *wp_relay_topics(struct wp_relay *r);
/* Moves by the machine's table and carries the actions out. Not to be called by an action. */
void wp_relay_handle(struct wp_relay *r, enum wp_machine_event event, struct wp_now now);
/* A human must act, or a restart may help: stops in good order with that exit code. */
void wp_relay_halt(struct wp_relay *r, int exit_code, const char *event,
		   const struct wp_error *error, struct wp_now now);
int wp_relay_exit_code_of(enum wp_reaction reaction);
/* An event, the one offered last, can not be delivered; `reason` with what to change. */
void wp_relay_halt_for_event(struct wp_relay *r, const char *event, const struct wp_error *reason,
			     bool is_its_fault, struct wp_now now);
/* Returns "table " before a table's name, "the " before the messages of a prefix. */
const char *wp_relay_event_kind(const struct wp_event_name *e);
/* Takes back what the sink did not send yet: only a stream from what is confirmed brings it again. */
void wp_relay_take_back(struct wp_relay *r);
/* The sink begins anew, and the stream from what is confirmed. */
void wp_relay_rewind(struct wp_relay *r, struct wp_now now);
/* Returns the subject whose schema id the next event waits for, after a question that failed; NULL: none. */
const struct wp_subject *wp_relay_awaited_subject(const struct wp_relay *r);
/* Was the relay asked to stop, and is this a place for it? */
bool wp_relay_stops_here(const struct wp_relay *r, struct wp_now now);
/* Returns how long the next event has not been taken; 0: it is, or there is none. */
int64_t wp_relay_refused_for(const struct wp_relay *r, int64_t now_ms);
/* Is it isolating, and what was suspect confirmed? Then what is in flight need only come to rest. */
bool wp_relay_is_past_trouble(const struct wp_relay *r);

/* -- relay_behind.c, relay_reload.c --------------------------------------------- */

/*
 * Connected, and the slot is ours to take: true when the database has all that was
 * delivered from it. False: an answer is awaited, or the relay stops or tries later.
 */
bool wp_relay_may_stream(struct wp_relay *r, struct wp_now now);
/* A new task waits, and this is a place for it to take effect, once nothing is in flight. */
bool wp_relay_may_change_here(const struct wp_relay *r);
void wp_relay_watch_change(struct wp_relay *r, struct wp_now now);
/* True: a task that has not proved good yet is what was refused, and the one before is back. */
bool wp_relay_takes_back(struct wp_relay *r, const struct wp_error *error, struct wp_now now);

/* -- relay_sink.c --------------------------------------------------------------- */

/* Returns true when there may be more. */
bool wp_relay_collect(struct wp_relay *r, struct wp_now now);
/* Allows more in flight when events go to more partitions than before. */
void wp_relay_widen(struct wp_relay *r);
void wp_relay_watch_sink(struct wp_relay *r, struct wp_now now);
int64_t wp_relay_sink_due(const struct wp_relay *r);
/* Once the place of trouble is passed and nothing is in flight, events go in batches again. */
void wp_relay_end_isolation(struct wp_relay *r, struct wp_now now);

/* -- relay_parking.c ------------------------------------------------------------- */

/* Collects, loads and sends again what is parked. */
void wp_relay_park(struct wp_relay *r, struct wp_now now);
/* Needs `parking`. No frame is to be taken when it is not known what is parked, or something is to go alone. */
bool wp_relay_parking_holds_up(const struct wp_relay *r);
/* Returns why walpost.parked cannot be read or written; NULL: it can. */
const char *wp_relay_parking_trouble(const struct wp_relay *r);
int64_t wp_relay_parking_due(const struct wp_relay *r);
void wp_relay_parking_figures(const struct wp_relay *r, struct wp_parking_figures *ret);
/* True for a parked event that was sent again: nothing is left to be done, unless it was refused. */
bool wp_relay_parked_report(struct wp_relay *r, const struct wp_report *report);

/* -- relay_cleanup.c ------------------------------------------------------------- */

/* Old rows are looked for while it streams, and removed once all that was committed before is confirmed. */
void wp_relay_clean(struct wp_relay *r);

/* -- relay_slot.c ------------------------------------------------------------- */

void wp_relay_watch_slot(struct wp_relay *r, struct wp_now now);
int64_t wp_relay_slot_due(const struct wp_relay *r);
/* At the mark of a drain the relay stops, if that is wanted still. */
void wp_relay_drain(struct wp_relay *r, struct wp_now now);

/* -- relay_source.c ------------------------------------------------------------- */

/* Returns who we are, and how far we came. */
struct wp_slot_progress wp_relay_slot_progress(const struct wp_relay *r);
void wp_relay_watch_source(struct wp_relay *r, struct wp_now now);
/* Returns true when the budget was spent; `written_before`: by the pipeline, as this step began. */
bool wp_relay_take_frames(struct wp_relay *r, uint64_t written_before, struct wp_now now);
/* The relay is paused: has what was missing come? */
void wp_relay_try_again(struct wp_relay *r, struct wp_now now);
/*
 * After a huge row, once it is quiet and all is confirmed: the stream goes on over a new
 * connection.
 */
void wp_relay_renew(struct wp_relay *r, struct wp_now now);
int64_t wp_relay_renew_due(const struct wp_relay *r);

#endif
