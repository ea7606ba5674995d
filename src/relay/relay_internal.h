/*
 * What the files of the relay share: its state, and the few things that each of them
 * may do to it. relay.c holds life, actions and time; relay_sink.c what comes
 * from the sink; relay_source.c what comes from the source; relay_change.c a new task.
 */
#ifndef WALPOST_SRC_RELAY_RELAY_INTERNAL_H
#define WALPOST_SRC_RELAY_RELAY_INTERNAL_H

#include "walpost/base/backoff.h"
#include "walpost/base/exit.h"
#include "walpost/relay/feedback.h"
#include "walpost/relay/guard.h"
#include "walpost/relay/meter.h"
#include "walpost/relay/relay.h"
#include "walpost/relay/window.h"

enum {
	NOTES_MAX = 64,
	BACKOFF_FIRST_MS = 200,
	BACKOFF_MAX_MS = 10 * 1000,
	REWIND_FIRST_MS = 100,
	REWIND_MAX_MS = 5 * 1000,
	LOOK_EVERY_MS = 1000,
	AWAY_MS = 10 * 1000,
	REST_MS = 10 * 1000,
	REST_BROKEN_MS = 2 * 1000,
	REBUILD_MS = 60 * 1000,
	LASTING_MS = 10 * 1000,
	ANSWER_MS = 60 * 1000,
	PROBE_AFTER_MS = 2 * 1000,
	PROBE_EVERY_MS = 2500,
	TOPIC_NOTE_EVERY_MS = 60 * 1000,
	STALL_NOTE_EVERY_MS = 60 * 1000,
	OUTAGE_NOTE_EVERY_MS = 60 * 1000,
	ASK_AGAIN_MS = 1000,
	ASK_EVERY_MS = 20,
	FINISH_MS = 3 * 1000,
	SAME_TROUBLE_MAX = 3,
	WALL_JUMP_MS = 60 * 1000,
	SUSPENDED_MS = 100,
	WAIT_MAX_MS = 60 * 1000, /* of run, between two turns */
	HELD_NOTE_EVERY_MS = 60 * 1000,
	ONLY_IGNORED_MS = 60 * 1000,
	RENEW_FROM_BYTES = 8 * 1024 * 1024,
	RENEW_AFTER_MS = 5 * 1000,
	RENEW_EVERY_MS = 60 * 1000,
	RENEW_RETAINED_MAX = 512 * 1024 * 1024, /* bytes of log from restart_lsn on */
};

/* The same trouble at the same place: three times is not bad luck. */
struct trouble {
	char code[40];
	wp_lsn at;
	unsigned count;
};

/*
 * An event-level error was reported: one message a batch until the transaction is
 * passed, and one event in flight until the last event is that was in flight then.
 */
struct isolation {
	bool on;
	bool crawling;
	wp_lsn until;
	struct wp_position until_event;
	wp_ticket alone; /* sent last while crawling: nothing else is in flight, nor in its batch */
};

/* Kafka answers and confirms nothing. */
struct stall {
	uint64_t confirmed; /* as it began */
	int64_t since_ms;
	int64_t noted_ms;
	bool noted;
};

/* Nobody answers. */
struct outage {
	bool on; /* and was told */
	int64_t since_ms;
	int64_t noted_ms;
};

/* Is anything confirmed while something waits for it? Over all streams. */
struct delivery {
	uint64_t confirmed;  /* as of the last turn */
	bool waits;	     /* likewise */
	int64_t since_ms;    /* when something was confirmed last, or began to wait */
	int64_t waited_ms;   /* when something waited last */
	const char *stalled; /* why nothing is confirmed; NULL: it is, or nothing waits */
};

/* What is seen beside the stream, and how it was judged. Anew with each stream. */
struct health {
	uint64_t answers; /* judged */
	int64_t asked_ms;
	int64_t interval_ms;
	bool suspect;	     /* the last answer was bad: the flush that is told stands still */
	int64_t reminded_ms; /* of that, when no further answer comes */
	enum wp_keeping keeping;
	wp_lsn good; /* all that was committed below it came under a publication that was whole */
	wp_lsn good_next;
	int64_t write_due_ms;
	wp_lsn written;
	uint64_t written_events;
};

/*
 * About the outboxes' partitions, for a row that may be of one. Tables that come for the first
 * time come in numbers: asked seldom, one answer does for all that was committed until then.
 */
struct question {
	bool open;
	uint32_t xid;	  /* the transaction that the answer must cover */
	int64_t due_ms;	  /* when to ask; INT64_MAX: an answer is awaited */
	int64_t asked_ms; /* last */
	int64_t wait_ms;  /* from there to the next */
};

/* NULL outboxes: none. */
struct change {
	struct wp_relay_task asked;  /* not in effect yet */
	struct wp_relay_task before; /* to go back to, until the one in effect proved good */
	uint64_t transactions;	     /* with events, as it took effect */
	bool accepted;		     /* the server has let a stream begin with it */
};

struct wp_relay {
	struct wp_relay_setup setup;
	struct change change;
	struct wp_ledger ledger;
	struct wp_meter meter;
	struct wp_pipeline *pipeline;
	struct wp_feedback feedback;
	struct wp_backoff connect_backoff;
	struct wp_backoff rewind_backoff;
	uint64_t random;

	enum wp_state state;
	int64_t entered_ms;  /* the state */
	int64_t deadline_ms; /* of the state; INT64_MAX: none */
	int64_t away_until_ms;
	bool looking;	       /* in standby: the slot was asked for, no answer yet */
	struct wp_now stepped; /* the last turn; ms 0: none yet */
	int64_t wait_ms;       /* that could pass after it, for all that was due */

	/* The source. */
	struct wp_span held; /* a frame that was offered and not taken; null: none */
	/* When the sink first did not take the next event, through all streams; INT64_MAX: it does. */
	int64_t refused_ms;
	bool let_in;   /* a connection of this process was good for streaming */
	bool started;  /* this process has streamed before: facts below hold */
	bool had_slot; /* and nobody else since, as far as it knows */
	uint64_t system_id;
	uint32_t timeline;
	int64_t begun_ms;  /* the stream */
	int64_t broken_ms; /* when the sink was first seen so; INT64_MAX: it is not */
	bool gap; /* a ticket was purged or refused: only a stream from the confirmed LSN heals that */
	struct question question;
	size_t largest_frame; /* of this stream */
	int64_t event_ms;     /* when an event was sent, or a larger frame came, last */
	int64_t renewed_ms;   /* when the connection was renewed last, if it was */
	int64_t quiet_ms;     /* when we last were at the end of what the server had sent */
	int64_t paused_ms;    /* when we last did not read */
	int64_t probed_ms;

	/* Is the database behind what was delivered? */
	struct wp_position delivered; /* the highest sent by this process; all 0: none */
	bool tail_asked;
	bool tail_looked;    /* at the server, after the answer */
	uint64_t tail_moves; /* `moves` as it was asked */

	/* The sink. */
	enum wp_batching batching; /* for the next restart */
	enum wp_batching batching_now;
	struct isolation isolation;
	struct trouble rewind_trouble;
	struct trouble stream_trouble;
	bool waiting; /* for a topic */
	char waiting_topic[WP_SINK_TOPIC_SIZE];
	int64_t waiting_since_ms;
	int64_t waiting_note_ms;
	wp_lsn waiting_lsn;
	bool reached; /* once */
	struct outage outage;
	struct stall stall;

	struct health health;
	struct delivery delivery;
	size_t partitions;	     /* that the window is for */
	struct wp_topic_list topics; /* that took events: as written down, and by this process */
	struct wp_guard guard;

	/* Stopping. */
	bool stop_asked;
	int64_t stop_by_ms; /* the end of all patience */
	int exit_code;
	bool told_to_leave; /* asked from outside, not by a halt of our own */
	const char *halt_event;
	struct wp_error halt_error;
	bool slot_lost; /* that is why */
	int64_t held_note_ms;
	bool asked_anew; /* about types, with the stream begun anew there */
	wp_lsn asked_anew_at;
	bool unlabelled_noted;
	bool as_text;		 /* rows did not come in binary */
	int64_t update_noted_ms; /* 0: never; of an outbox that warns */
	int64_t update_error_noted_ms;
	int64_t message_noted_ms; /* likewise */
	int64_t passed_over_ms;	  /* the first ignored row was seen, and no event yet; 0: not so */
	bool only_ignored_noted;

	wp_lsn server;
	uint64_t confirmed;
	uint64_t reconnects;
	uint64_t renewals;
	uint64_t rewinds;
	uint64_t written; /* by the pipeline, as this step began */
	uint64_t moves;
	uint64_t moves_to[WP_STATE_COUNT];
	uint64_t changes;
	uint64_t changes_refused;
	uint64_t keepalives;
	uint64_t statuses;
	int64_t heard_ms;     /* anything of the server, last; INT64_MIN: never */
	int64_t confirmed_ms; /* by the sink, likewise */
	struct wp_guard_estimate estimate;

	struct wp_note notes[NOTES_MAX]; /* a ring */
	size_t note_first;
	size_t note_count;
};

struct wp_note *wp_relay_note(struct wp_relay *r, enum wp_note_level level, const char *event);
const struct wp_source_view *wp_relay_source(const struct wp_relay *r);
const struct wp_sink_view *wp_relay_sink(const struct wp_relay *r);
bool wp_relay_is_streaming(const struct wp_relay *r);
void wp_relay_drop_held(struct wp_relay *r);
/* How far we are, to the server. */
void wp_relay_send_status(struct wp_relay *r, struct wp_now now);
/* Moves by the machine's table and carries the actions out. */
void wp_relay_happen(struct wp_relay *r, enum wp_happening what, struct wp_now now);
/* A human must act, or a restart may help: stops in good order with that exit code. */
void wp_relay_halt(struct wp_relay *r, int exit_code, const char *event,
		   const struct wp_error *error, struct wp_now now);
int wp_relay_exit_code_of(enum wp_reaction reaction);
/* What the sink has and did not send yet: only a stream from what is confirmed brings it again. */
void wp_relay_take_back(struct wp_relay *r);
bool wp_relay_may_stop_here(const struct wp_relay *r, struct wp_now now);
/* "table " before a table's name, "the " before the messages of a prefix. */
const char *wp_relay_event_kind(const struct wp_event_name *e);
/* An event, the one offered last, can not be delivered; `reason` with what to change. */
void wp_relay_halt_for_event(struct wp_relay *r, const char *event, const struct wp_error *reason,
			     bool is_its_fault, struct wp_now now);
/* True when the same trouble has come `max` times without getting past `at`. */
bool wp_relay_is_too_often(struct trouble *t, const char *code, wp_lsn at, size_t max);

/* relay_sink.c */
/* True when there may be more. */
bool wp_relay_collect(struct wp_relay *r, struct wp_now now);
/* More in flight, when events go to more partitions than before. */
void wp_relay_widen(struct wp_relay *r);
void wp_relay_watch_sink(struct wp_relay *r, struct wp_now now);
int64_t wp_relay_sink_due(const struct wp_relay *r);
/* How long the next event has not been taken; 0: it is, or there is none. */
int64_t wp_relay_refused_for(const struct wp_relay *r, int64_t now_ms);
void wp_relay_rewind(struct wp_relay *r, struct wp_now now);
/* Isolating, and what was suspect is confirmed: what is in flight need only come to rest. */
bool wp_relay_is_past_trouble(const struct wp_relay *r);
/* Past the place of trouble and nothing in flight: batches again. */
void wp_relay_end_isolation(struct wp_relay *r, struct wp_now now);

/* relay_behind.c */
/* The topics that took events, so far as is known: for the slot checkpoint row. */
const char *wp_relay_topics(struct wp_relay *r);
/*
 * Connected, and the slot is ours to take: true when the database has all that was
 * delivered from it. False: an answer is awaited, or the relay stops or tries later.
 */
bool wp_relay_may_stream(struct wp_relay *r, struct wp_now now);
/* Another has the slot: an answer that came ages. */
void wp_relay_forget_tail(struct wp_relay *r);
/* An event of this position went to the sink. */
void wp_relay_note_delivered(struct wp_relay *r, const struct wp_position *position);

/* relay_health.c */
void wp_relay_begin_health(struct wp_relay *r, struct wp_now now);
void wp_relay_watch_health(struct wp_relay *r, struct wp_now now);
int64_t wp_relay_health_due(const struct wp_relay *r);
/* What may be told to the server as flushed: safe, but nothing more once events would be lost. */
wp_lsn wp_relay_flush(const struct wp_relay *r);

/* relay_gap.c: was the slot moved or made anew behind our back? */
/* True with the error. */
bool wp_relay_finds_gap(const struct wp_relay *r, const struct wp_source_facts *f,
			struct wp_error *error);
/* What a start finds that nothing can judge is told at least. */
void wp_relay_tell_start(struct wp_relay *r, const struct wp_source_facts *f);

/* relay_change.c */
/* A new task waits, and this is a place for it to take effect, once nothing is in flight. */
bool wp_relay_may_change_here(const struct wp_relay *r);
void wp_relay_watch_change(struct wp_relay *r, struct wp_now now);
/* The server takes it: what it refuses from now on is no matter of it, but rows may be. */
void wp_relay_note_accepted(struct wp_relay *r);
bool wp_relay_may_be_refused(const struct wp_relay *r);
/* True: a task that has not proved good yet is what was refused, and the one before is back. */
bool wp_relay_takes_back(struct wp_relay *r, const struct wp_error *error, struct wp_now now);

/* relay_source.c */
void wp_relay_watch_source(struct wp_relay *r, struct wp_now now);
/* True when the budget was spent. */
bool wp_relay_take_frames(struct wp_relay *r, struct wp_now now);
/* Paused: has what was missing come? */
void wp_relay_try_again(struct wp_relay *r, struct wp_now now);
/*
 * After a huge row, once it is quiet and all is confirmed: the stream goes on over a new
 * connection. What libpq once had to hold, it keeps room for until its connection ends.
 */
void wp_relay_renew(struct wp_relay *r, struct wp_now now);
int64_t wp_relay_renew_due(const struct wp_relay *r);

#endif
