#include <assert.h>

#include "walpost/relay/machine.h"

#define CLOSE WP_ACT_CLOSE
#define DROP WP_ACT_DROP_OPEN
#define PURGE WP_ACT_PURGE
#define RESTART WP_ACT_RESTART
#define TAKE_OVER WP_ACT_TAKE_OVER
#define CONNECT WP_ACT_CONNECT
#define REFRESH WP_ACT_REFRESH
#define START WP_ACT_START
#define BEGIN WP_ACT_BEGIN
#define OFF WP_ACT_READ_OFF
#define ON WP_ACT_READ_ON
#define FINISH WP_ACT_FINISH
#define LATER WP_ACT_REFRESH_LATER
#define BACK_OFF WP_ACT_BACK_OFF
#define AWAY WP_ACT_STAY_AWAY
#define TIME WP_ACT_GIVE_TIME
#define PART WP_ACT_PART

/*
 * A row that is not given means nothing in that state (0 is WP_CONNECTING with
 * no actions, which no real move has).
 */
static const struct wp_move MOVES[WP_STATE_COUNT][WP_MACHINE_EVENT_COUNT] = {
	[WP_CONNECTING] = {
		/* What is queued must not race with the holder's. */
		[WP_SLOT_ACTIVE] = { WP_STANDBY, PURGE | LATER },
		[WP_SLOT_RESUME] = { WP_STARTING, START | TIME },
		[WP_SLOT_TAKEN] = { WP_SETTLING, PURGE | TIME },
		[WP_LOST] = { WP_BACKING_OFF, CLOSE | BACK_OFF },
		[WP_TIME_UP] = { WP_BACKING_OFF, CLOSE | BACK_OFF },
		[WP_LET_GO] = { WP_BACKING_OFF, CLOSE | AWAY },
		[WP_SINK_ERROR] = { WP_REWINDING, CLOSE | PURGE | TIME },
		[WP_CHANGED] = { WP_CONNECTING, CLOSE | CONNECT | TIME },
		[WP_STOP] = { WP_FINISHING, PART },
	},
	[WP_STANDBY] = { /* no last word: another has the slot */
		[WP_SLOT_ACTIVE] = { WP_STANDBY, LATER },
		[WP_TIME_UP] = { WP_STANDBY, REFRESH },
		[WP_SLOT_RESUME] = { WP_STARTING, START | TIME },
		[WP_SLOT_TAKEN] = { WP_SETTLING, PURGE | TIME },
		[WP_LOST] = { WP_BACKING_OFF, CLOSE | BACK_OFF },
		[WP_LET_GO] = { WP_BACKING_OFF, CLOSE | AWAY },
		[WP_SINK_ERROR] = { WP_REWINDING, CLOSE | PURGE | TIME },
		[WP_CHANGED] = { WP_CONNECTING, CLOSE | CONNECT | TIME },
		[WP_STOP] = { WP_STOPPED, CLOSE },
	},
	[WP_SETTLING] = {
		[WP_AT_REST] = { WP_STARTING, TAKE_OVER | START | TIME },
		/* What does not come to rest goes with its producer. */
		[WP_TIME_UP] = { WP_REBUILDING, CLOSE | RESTART | TIME },
		[WP_LOST] = { WP_BACKING_OFF, CLOSE | BACK_OFF },
		[WP_LET_GO] = { WP_BACKING_OFF, CLOSE | AWAY },
		[WP_SINK_ERROR] = { WP_REWINDING, CLOSE | PURGE | TIME },
		[WP_CHANGED] = { WP_CONNECTING, CLOSE | CONNECT | TIME },
		[WP_STOP] = { WP_FINISHING, PART },
	},
	[WP_STARTING] = {
		[WP_COPYING] = { WP_STREAMING, BEGIN },
		[WP_TIME_UP] = { WP_BACKING_OFF, CLOSE | BACK_OFF },
		[WP_LOST] = { WP_BACKING_OFF, CLOSE | BACK_OFF },
		[WP_LET_GO] = { WP_BACKING_OFF, CLOSE | AWAY },
		[WP_SINK_ERROR] = { WP_REWINDING, CLOSE | PURGE | TIME },
		[WP_CHANGED] = { WP_CONNECTING, CLOSE | CONNECT | TIME },
		[WP_STOP] = { WP_FINISHING, PART },
	},
	[WP_STREAMING] = {
		[WP_NO_ROOM] = { WP_PAUSED, OFF },
		[WP_LOST] = { WP_BACKING_OFF, CLOSE | DROP | BACK_OFF },
		[WP_LET_GO] = { WP_BACKING_OFF, CLOSE | DROP | AWAY },
		[WP_SINK_ERROR] = { WP_REWINDING, CLOSE | DROP | PURGE | TIME },
		[WP_CHANGED] = { WP_CONNECTING, CLOSE | DROP | CONNECT | TIME },
		[WP_OVERGROWN] = { WP_CONNECTING, CLOSE | DROP | CONNECT | TIME },
		[WP_STOP] = { WP_DRAINING, OFF | TIME },
	},
	[WP_PAUSED] = {
		[WP_ROOM] = { WP_STREAMING, ON },
		[WP_LOST] = { WP_BACKING_OFF, CLOSE | DROP | BACK_OFF },
		[WP_LET_GO] = { WP_BACKING_OFF, CLOSE | DROP | AWAY },
		[WP_SINK_ERROR] = { WP_REWINDING, CLOSE | DROP | PURGE | TIME },
		[WP_CHANGED] = { WP_CONNECTING, CLOSE | DROP | CONNECT | TIME },
		[WP_STOP] = { WP_DRAINING, OFF | TIME },
	},
	[WP_BACKING_OFF] = {
		[WP_TIME_UP] = { WP_CONNECTING, CONNECT | TIME },
		[WP_SINK_ERROR] = { WP_REWINDING, PURGE | TIME },
		[WP_STOP] = { WP_FINISHING, PART },
	},
	[WP_REWINDING] = {
		[WP_AT_REST] = { WP_REBUILDING, RESTART | TIME },
		[WP_TIME_UP] = { WP_REBUILDING, RESTART | TIME },
		[WP_STOP] = { WP_FINISHING, PART },
	},
	[WP_REBUILDING] = {
		[WP_SINK_NEW] = { WP_BACKING_OFF, BACK_OFF },
		[WP_STOP] = { WP_FINISHING, PART },
	},
	[WP_DRAINING] = {
		[WP_AT_REST] = { WP_FINISHING, FINISH | TIME },
		[WP_TIME_UP] = { WP_FINISHING, FINISH | TIME },
		[WP_SINK_ERROR] = { WP_FINISHING, FINISH | TIME },
		[WP_LOST] = { WP_FINISHING, PART },
		[WP_LET_GO] = { WP_FINISHING, FINISH | TIME },
	},
	[WP_FINISHING] = {
		[WP_COPY_ENDED] = { WP_STOPPED, CLOSE },
		[WP_LOST] = { WP_FINISHING, PART },
		[WP_TIME_UP] = { WP_STOPPED, CLOSE },
	},
	[WP_STOPPED] = {
		/* What is queued must not race with that of the next holder of the slot. */
		[WP_HALTED] = { WP_HELD, PURGE },
	},
	[WP_HELD] = {
		[WP_STOP] = { WP_STOPPED, 0 },
	},
};

struct wp_move wp_machine_move(enum wp_state from, enum wp_machine_event event)
{
	assert(from < WP_STATE_COUNT && event < WP_MACHINE_EVENT_COUNT);
	struct wp_move move = MOVES[from][event];
	if (move.to == WP_CONNECTING && move.actions == 0)
		return (struct wp_move){ .to = from };
	return move;
}

unsigned wp_machine_take(struct wp_machine *m, enum wp_machine_event event, int64_t now_ms)
{
	struct wp_move move = wp_machine_move(m->state, event);

	if (move.to == m->state && move.actions == 0)
		return 0;
	m->deadline_ms = INT64_MAX;
	m->reads_facts = (move.actions & WP_ACT_REFRESH) != 0;
	if (move.to != m->state) {
		m->state = move.to;
		m->entered_ms = now_ms;
		m->moves++;
		m->moves_to[move.to]++;
	}
	return move.actions;
}

const char *wp_state_name(enum wp_state state)
{
	static const char *const NAMES[WP_STATE_COUNT] = {
		[WP_CONNECTING] = "connecting",	  [WP_STANDBY] = "standby",
		[WP_SETTLING] = "settling",	  [WP_STARTING] = "starting",
		[WP_STREAMING] = "streaming",	  [WP_PAUSED] = "paused",
		[WP_BACKING_OFF] = "backing_off", [WP_REWINDING] = "rewinding",
		[WP_REBUILDING] = "rebuilding",	  [WP_DRAINING] = "draining",
		[WP_FINISHING] = "finishing",	  [WP_HELD] = "held",
		[WP_STOPPED] = "stopped",
	};

	return NAMES[state];
}

const char *wp_machine_event_name(enum wp_machine_event event)
{
	static const char *const NAMES[WP_MACHINE_EVENT_COUNT] = {
		[WP_SLOT_ACTIVE] = "slot_active",
		[WP_SLOT_RESUME] = "slot_resume",
		[WP_SLOT_TAKEN] = "slot_taken",
		[WP_COPYING] = "copying",
		[WP_NO_ROOM] = "no_room",
		[WP_ROOM] = "room",
		[WP_LOST] = "lost",
		[WP_LET_GO] = "let_go",
		[WP_SINK_ERROR] = "sink_error",
		[WP_SINK_NEW] = "sink_new",
		[WP_AT_REST] = "at_rest",
		[WP_TIME_UP] = "time_up",
		[WP_STOP] = "stop",
		[WP_COPY_ENDED] = "copy_ended",
		[WP_HALTED] = "halted",
		[WP_CHANGED] = "changed",
		[WP_OVERGROWN] = "overgrown",
	};

	return NAMES[event];
}
