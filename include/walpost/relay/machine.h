/*
 * The states of a relay are one table: (state, event) gives the next state and the list of
 * actions on the way. The relay's files notice events; relay_actions.c carries the actions out.
 *
 * Owns: the state, since when, and how often each was entered. Pure: time is passed in.
 */
#ifndef WALPOST_RELAY_MACHINE_H
#define WALPOST_RELAY_MACHINE_H

#include <stdbool.h>
#include <stdint.h>

enum wp_state {
	WP_CONNECTING,
	WP_STANDBY,  /* another process holds the slot */
	WP_SETTLING, /* the slot was moved: what is in flight comes to rest first */
	WP_STARTING, /* START_REPLICATION is under way */
	WP_STREAMING,
	WP_PAUSED,	/* not reading: no room, a topic or an answer is awaited */
	WP_BACKING_OFF, /* not connected, until a given time */
	WP_REWINDING,	/* an event was refused: what is in flight comes to rest first */
	WP_REBUILDING,	/* the sink begins anew */
	WP_DRAINING,	/* stopping: waiting for reports */
	WP_FINISHING,	/* stopping: ending the copy, or without one: the last word */
	WP_HELD,	/* stopped for a human, and kept up until asked to stop (on_halt) */
	WP_STOPPED,
	WP_STATE_COUNT,
};

enum wp_machine_event {
	WP_SLOT_ACTIVE, /* connected; another process streams from the slot */
	WP_SLOT_RESUME, /* connected; the slot stands where we left it */
	WP_SLOT_TAKEN,	/* connected; it is ours to take from where it stands */
	WP_COPYING,	/* the stream runs */
	WP_NO_ROOM,	/* nothing more can be taken for now */
	WP_ROOM,
	WP_LOST,       /* the connection or the stream */
	WP_LET_GO,     /* the server wants to stop and waits for us */
	WP_SINK_ERROR, /* an event was refused, or the sink broke */
	WP_SINK_NEW,   /* the sink is ready to begin anew */
	WP_AT_REST,    /* nothing is in flight any more */
	WP_TIME_UP,    /* the time given to this state is over */
	WP_STOP,       /* asked to, or must */
	WP_COPY_ENDED, /* both sides ended the copy, and the last word is said */
	WP_HALTED,     /* stopped for a human, and not to leave yet */
	WP_CHANGED,    /* what is relayed: the source must be asked for it */
	WP_OVERGROWN,  /* the stream's connection: a new one is smaller */
	WP_MACHINE_EVENT_COUNT,
	WP_NO_EVENT = WP_MACHINE_EVENT_COUNT,
};

/* Actions are carried out in this order. */
enum wp_action {
	WP_ACT_CLOSE = 1 << 0,	   /* the stream */
	WP_ACT_DROP_OPEN = 1 << 1, /* the ledger's open entry */
	WP_ACT_PURGE = 1 << 2,	   /* the sink's queue */
	WP_ACT_RESTART =
		1 << 3, /* the sink; and forget all tickets: stream from the confirmed LSN */
	WP_ACT_TAKE_OVER = 1 << 4, /* forget all tickets: stream from the slot */
	WP_ACT_CONNECT = 1 << 5,
	WP_ACT_REFRESH = 1 << 6, /* the facts, of the slot above all */
	WP_ACT_START = 1 << 7,	 /* the stream */
	WP_ACT_BEGIN = 1 << 8,	 /* clocks of a new stream */
	WP_ACT_READ_OFF = 1 << 9,
	WP_ACT_READ_ON = 1 << 10,
	WP_ACT_FINISH = 1 << 11,	/* last status, CopyDone, last word */
	WP_ACT_REFRESH_LATER = 1 << 12, /* timers of the new state */
	WP_ACT_BACK_OFF = 1 << 13,
	WP_ACT_STAY_AWAY = 1 << 14,
	WP_ACT_GIVE_TIME = 1 << 15,
	WP_ACT_PART = 1 << 16, /* close the stream; the last word, with a time of its own */
};

struct wp_move {
	enum wp_state to;
	unsigned actions; /* of wp_action */
};

struct wp_machine {
	enum wp_state state;
	int64_t entered_ms;  /* the state, monotonic */
	int64_t deadline_ms; /* of the state; INT64_MAX: none */
	bool reads_facts;    /* in standby: they are being read again */
	uint64_t moves;	     /* to another state */
	uint64_t moves_to[WP_STATE_COUNT];
};

/* An event that means nothing in a state gives that state and no actions. */
struct wp_move wp_machine_move(enum wp_state from, enum wp_machine_event event);
/*
 * Moves, with no deadline in the new state as yet; returns the actions, of wp_action. 0: the event
 * means nothing here, and all is as it was, or nothing is to be done.
 */
unsigned wp_machine_take(struct wp_machine *m, enum wp_machine_event event, int64_t now_ms);
const char *wp_state_name(enum wp_state state);
const char *wp_machine_event_name(enum wp_machine_event event);

#endif
