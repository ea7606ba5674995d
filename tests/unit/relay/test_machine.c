#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "support/check.h"
#include "walpost/relay/machine.h"

/*
 * The wanted moves in words, one line for each pair that means something. What is not
 * here means nothing: the state stays and nothing is done.
 */
static const char *const WANTED[] = {
	"connecting + slot_active -> standby: purge, refresh_later",
	"connecting + slot_resume -> starting: start, give_time",
	"connecting + slot_taken -> settling: purge, give_time",
	"connecting + lost -> backing_off: close, back_off",
	"connecting + let_go -> backing_off: close, stay_away",
	"connecting + sink_error -> rewinding: close, purge, give_time",
	"connecting + time_up -> backing_off: close, back_off",
	"connecting + changed -> connecting: close, connect, give_time",
	"connecting + stop -> finishing: part",

	"standby + slot_active -> standby: refresh_later",
	"standby + slot_resume -> starting: start, give_time",
	"standby + slot_taken -> settling: purge, give_time",
	"standby + lost -> backing_off: close, back_off",
	"standby + let_go -> backing_off: close, stay_away",
	"standby + sink_error -> rewinding: close, purge, give_time",
	"standby + time_up -> standby: refresh",
	"standby + changed -> connecting: close, connect, give_time",
	"standby + stop -> stopped: close",

	"settling + at_rest -> starting: take_over, start, give_time",
	"settling + time_up -> rebuilding: close, restart, give_time",
	"settling + lost -> backing_off: close, back_off",
	"settling + let_go -> backing_off: close, stay_away",
	"settling + sink_error -> rewinding: close, purge, give_time",
	"settling + changed -> connecting: close, connect, give_time",
	"settling + stop -> finishing: part",

	"starting + copying -> streaming: begin",
	"starting + lost -> backing_off: close, back_off",
	"starting + let_go -> backing_off: close, stay_away",
	"starting + sink_error -> rewinding: close, purge, give_time",
	"starting + time_up -> backing_off: close, back_off",
	"starting + changed -> connecting: close, connect, give_time",
	"starting + stop -> finishing: part",

	"streaming + no_room -> paused: read_off",
	"streaming + lost -> backing_off: close, drop_open, back_off",
	"streaming + let_go -> backing_off: close, drop_open, stay_away",
	"streaming + sink_error -> rewinding: close, drop_open, purge, give_time",
	"streaming + changed -> connecting: close, drop_open, connect, give_time",
	"streaming + overgrown -> connecting: close, drop_open, connect, give_time",
	"streaming + stop -> draining: read_off, give_time",

	"paused + room -> streaming: read_on",
	"paused + lost -> backing_off: close, drop_open, back_off",
	"paused + let_go -> backing_off: close, drop_open, stay_away",
	"paused + sink_error -> rewinding: close, drop_open, purge, give_time",
	"paused + changed -> connecting: close, drop_open, connect, give_time",
	"paused + stop -> draining: read_off, give_time",

	"backing_off + time_up -> connecting: connect, give_time",
	"backing_off + sink_error -> rewinding: purge, give_time",
	"backing_off + stop -> finishing: part",

	"rewinding + at_rest -> rebuilding: restart, give_time",
	"rewinding + time_up -> rebuilding: restart, give_time",
	"rewinding + stop -> finishing: part",

	"rebuilding + sink_new -> backing_off: back_off",
	"rebuilding + stop -> finishing: part",

	"draining + at_rest -> finishing: finish, give_time",
	"draining + time_up -> finishing: finish, give_time",
	"draining + sink_error -> finishing: finish, give_time",
	"draining + let_go -> finishing: finish, give_time",
	"draining + lost -> finishing: part",

	"finishing + copy_ended -> stopped: close",
	"finishing + lost -> finishing: part",
	"finishing + time_up -> stopped: close",

	"stopped + halted -> held: purge",
	"held + stop -> stopped:",
};

/* In the order in which they are carried out. */
static const struct {
	enum wp_action action;
	const char *name;
} ACTIONS[] = {
	{ WP_ACT_CLOSE, "close" },
	{ WP_ACT_DROP_OPEN, "drop_open" },
	{ WP_ACT_PURGE, "purge" },
	{ WP_ACT_RESTART, "restart" },
	{ WP_ACT_TAKE_OVER, "take_over" },
	{ WP_ACT_CONNECT, "connect" },
	{ WP_ACT_REFRESH, "refresh" },
	{ WP_ACT_START, "start" },
	{ WP_ACT_BEGIN, "begin" },
	{ WP_ACT_READ_OFF, "read_off" },
	{ WP_ACT_READ_ON, "read_on" },
	{ WP_ACT_FINISH, "finish" },
	{ WP_ACT_REFRESH_LATER, "refresh_later" },
	{ WP_ACT_BACK_OFF, "back_off" },
	{ WP_ACT_STAY_AWAY, "stay_away" },
	{ WP_ACT_GIVE_TIME, "give_time" },
	{ WP_ACT_PART, "part" },
};

#define ACTION_COUNT (sizeof(ACTIONS) / sizeof(ACTIONS[0]))
#define WANTED_COUNT (sizeof(WANTED) / sizeof(WANTED[0]))

static void append(char *text, size_t size, const char *more)
{
	size_t at = strlen(text);

	(void)snprintf(text + at, size - at, "%s", more);
}

/* A move in the words of WANTED. */
static void say(enum wp_state from, enum wp_machine_event what, char *text, size_t size)
{
	struct wp_move move = wp_machine_move(from, what);
	const char *between = " ";

	(void)snprintf(text, size, "%s + %s -> %s:", wp_state_name(from),
		       wp_machine_event_name(what), wp_state_name(move.to));
	for (size_t i = 0; i < ACTION_COUNT; i++) {
		if (!(move.actions & ACTIONS[i].action))
			continue;
		append(text, size, between);
		append(text, size, ACTIONS[i].name);
		between = ", ";
	}
}

/* The line of WANTED about this pair, or NULL. */
static const char *wanted(enum wp_state from, enum wp_machine_event what)
{
	char start[64];

	(void)snprintf(start, sizeof(start), "%s + %s ->", wp_state_name(from),
		       wp_machine_event_name(what));
	for (size_t i = 0; i < WANTED_COUNT; i++) {
		if (strncmp(WANTED[i], start, strlen(start)) == 0)
			return WANTED[i];
	}
	return NULL;
}

static void every_pair_moves_as_written_here(void **state)
{
	size_t found = 0;

	for (int from = 0; from < WP_STATE_COUNT; from++) {
		for (int what = 0; what < WP_MACHINE_EVENT_COUNT; what++) {
			char got[256];
			const char *line = wanted((enum wp_state)from, (enum wp_machine_event)what);
			if (line == NULL)
				continue;
			say((enum wp_state)from, (enum wp_machine_event)what, got, sizeof(got));
			CHECK_TEXT(got, line);
			found++;
		}
	}
	CHECK_EQ(found, WANTED_COUNT); /* each line speaks of a pair that exists */
}

static void what_is_not_written_here_means_nothing(void **state)
{
	size_t quiet = 0;

	for (int from = 0; from < WP_STATE_COUNT; from++) {
		for (int what = 0; what < WP_MACHINE_EVENT_COUNT; what++) {
			if (wanted((enum wp_state)from, (enum wp_machine_event)what) != NULL)
				continue;
			struct wp_move move =
				wp_machine_move((enum wp_state)from, (enum wp_machine_event)what);
			CHECK_EQ(move.to, from);
			CHECK_EQ(move.actions, 0);
			quiet++;
		}
	}
	CHECK_EQ(quiet + WANTED_COUNT, (size_t)WP_STATE_COUNT * WP_MACHINE_EVENT_COUNT);
}

static void from_every_state_a_stop_leads_to_stopped(void **state)
{
	for (int from = 0; from < WP_STATE_COUNT; from++) {
		enum wp_state at = wp_machine_move((enum wp_state)from, WP_STOP).to;
		/* Whatever else is missing, time goes on. */
		for (int i = 0; i < WP_STATE_COUNT && at != WP_STOPPED; i++)
			at = wp_machine_move(at, WP_TIME_UP).to;
		CHECK_EQ(at, WP_STOPPED);
	}
}

static void a_lost_connection_leaves_a_stopping_relay_only_its_last_word(void **state)
{
	CHECK_EQ(wp_machine_move(WP_DRAINING, WP_LOST).actions, WP_ACT_PART);
	CHECK_EQ(wp_machine_move(WP_FINISHING, WP_LOST).actions, WP_ACT_PART);
	CHECK_EQ(wp_machine_move(WP_FINISHING, WP_TIME_UP).to, WP_STOPPED);
}

static void nothing_leads_out_of_stopped_but_a_halt_into_held(void **state)
{
	for (int what = 0; what < WP_MACHINE_EVENT_COUNT; what++)
		CHECK_EQ(wp_machine_move(WP_STOPPED, (enum wp_machine_event)what).to,
			 what == WP_HALTED ? WP_HELD : WP_STOPPED);
}

/* States that can be reached from where a process begins, by anything that happens. */
static void every_state_can_be_reached(void **state)
{
	bool reached[WP_STATE_COUNT] = { [WP_BACKING_OFF] = true };

	for (int round = 0; round < WP_STATE_COUNT; round++) {
		for (int from = 0; from < WP_STATE_COUNT; from++) {
			for (int what = 0; reached[from] && what < WP_MACHINE_EVENT_COUNT; what++)
				reached[wp_machine_move((enum wp_state)from,
							(enum wp_machine_event)what)
						.to] = true;
		}
	}
	for (int s = 0; s < WP_STATE_COUNT; s++)
		CHECK(reached[s]);
}

static bool streams(enum wp_state s)
{
	return s == WP_STREAMING || s == WP_PAUSED;
}

static void leaving_a_stream_closes_it_and_drops_the_open_transaction(void **state)
{
	for (int from = 0; from < WP_STATE_COUNT; from++) {
		for (int what = 0; what < WP_MACHINE_EVENT_COUNT; what++) {
			struct wp_move move =
				wp_machine_move((enum wp_state)from, (enum wp_machine_event)what);
			if (!streams((enum wp_state)from) || streams(move.to) ||
			    move.to == WP_DRAINING)
				continue;
			CHECK(move.actions & WP_ACT_CLOSE);
			CHECK(move.actions & WP_ACT_DROP_OPEN);
		}
	}
}

static void a_new_producer_only_follows_a_rest(void **state)
{
	for (int from = 0; from < WP_STATE_COUNT; from++) {
		for (int what = 0; what < WP_MACHINE_EVENT_COUNT; what++) {
			struct wp_move move =
				wp_machine_move((enum wp_state)from, (enum wp_machine_event)what);
			if (!(move.actions & WP_ACT_RESTART))
				continue;
			CHECK(from == WP_REWINDING || from == WP_SETTLING);
			CHECK(what == WP_AT_REST || what == WP_TIME_UP);
		}
	}
}

static void every_state_and_event_has_a_name_of_its_own(void **state)
{
	for (int a = 0; a < WP_STATE_COUNT; a++) {
		assert_non_null(wp_state_name((enum wp_state)a));
		for (int b = 0; b < a; b++)
			assert_string_not_equal(wp_state_name((enum wp_state)a),
						wp_state_name((enum wp_state)b));
	}
	for (int a = 0; a < WP_MACHINE_EVENT_COUNT; a++) {
		assert_non_null(wp_machine_event_name((enum wp_machine_event)a));
		for (int b = 0; b < a; b++)
			assert_string_not_equal(wp_machine_event_name((enum wp_machine_event)a),
						wp_machine_event_name((enum wp_machine_event)b));
	}
}

int main(void)
{
	return RUN(PLAIN(every_pair_moves_as_written_here),
		   PLAIN(what_is_not_written_here_means_nothing),
		   PLAIN(from_every_state_a_stop_leads_to_stopped),
		   PLAIN(a_lost_connection_leaves_a_stopping_relay_only_its_last_word),
		   PLAIN(nothing_leads_out_of_stopped_but_a_halt_into_held),
		   PLAIN(every_state_can_be_reached),
		   PLAIN(leaving_a_stream_closes_it_and_drops_the_open_transaction),
		   PLAIN(a_new_producer_only_follows_a_rest),
		   PLAIN(every_state_and_event_has_a_name_of_its_own));
}
