/*
 * The whole relay, simulated: the real machine, pipeline and ledger in a world of one
 * Postgres and one Kafka made of memory, with every crash, pause and error in any
 * order from one seed. The checker asserts loss, order, the confirmed LSN and
 * liveness.
 *
 *   sim [--park] [--cleanup] [--seed S] [--count N] [--fault NAME] [--trace]
 *
 * --park: with relay.poison = park, and events that cannot be delivered for a while or for ever.
 * --cleanup: with one that removes rows whose events were delivered; of the odd seeds as with --park.
 * Exit code 0: no promise was broken (with --fault: it was found). A seed that fails is
 * printed and fails again.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "walpost/base/backoff.h"
#include "walpost/relay/faults.h"
#include "support/rows.h"
#include "world.h"

#ifdef WALPOST_PLANTED_FAULTS
enum wp_fault wp_planted_fault = WP_FAULT_NONE;
static const char *const FAULT_NAMES[WP_FAULT_COUNT] = {
	[WP_FAULT_NONE] = "none",
	[WP_FAULT_CONFIRM_ON_RECEIPT] = "confirm_on_receipt",
	[WP_FAULT_KEEPALIVE_JUMPS] = "keepalive_jumps",
	[WP_FAULT_ERROR_SETTLES] = "error_settles",
	[WP_FAULT_PURGE_SETTLES] = "purge_settles",
	[WP_FAULT_ANY_ENTRY_PASSES] = "any_entry_passes",
	[WP_FAULT_RESUME_AFTER_MOVE] = "resume_after_move",
	[WP_FAULT_RESUME_AFTER_PURGE] = "resume_after_purge",
	[WP_FAULT_REWIND_TO_RECEIVED] = "rewind_to_read",
	[WP_FAULT_GO_ON_AFTER_ERROR] = "go_on_after_error",
	[WP_FAULT_SILENT_WHEN_PAUSED] = "silent_when_paused",
	[WP_FAULT_DEAF_WHEN_PAUSED] = "deaf_when_paused",
	[WP_FAULT_NEVER_LET_GO] = "never_let_go",
	[WP_FAULT_NO_DRAIN] = "no_drain",
	[WP_FAULT_HASTY_REWIND] = "hasty_rewind",
	[WP_FAULT_GUESS_GUILTY] = "guess_guilty",
	[WP_FAULT_LETTER_SETTLES] = "letter_settles",
	[WP_FAULT_CONFIRM_WHEN_BROKEN] = "confirm_when_broken",
	[WP_FAULT_TRUST_SLOT] = "trust_slot",
	[WP_FAULT_TRUST_HOLDER] = "trust_holder",
	[WP_FAULT_PARKED_SETTLES] = "parked_settles",
	[WP_FAULT_PARKED_HASTY_DELETE] = "parked_hasty_delete",
	[WP_FAULT_PARKED_LOAD_FIRST] = "parked_load_first",
	[WP_FAULT_PARKED_UNFENCED] = "parked_unfenced",
	[WP_FAULT_PARKED_RELEASED] = "parked_released",
	[WP_FAULT_PARKED_OVERTAKEN] = "parked_overtaken",
	[WP_FAULT_PARKED_MOVES_BACK] = "parked_moves_back",
	[WP_FAULT_PARKED_SET_KEPT] = "parked_set_kept",
	[WP_FAULT_PARKED_EARLY] = "parked_early",
	[WP_FAULT_DRAIN_HASTY] = "drain_hasty",
	[WP_FAULT_DRAIN_UNASKED] = "drain_unasked",
	[WP_FAULT_CLEANUP_RECEIVED] = "cleanup_received",
	[WP_FAULT_CLEANUP_LSN_FIRST] = "cleanup_lsn_first",
	[WP_FAULT_CLEANUP_NO_FLOOR] = "cleanup_no_floor",
	[WP_FAULT_CLEANUP_PARKED] = "cleanup_parked",
	[WP_FAULT_CLEANUP_ANY_ROW] = "cleanup_any_row",
	[WP_FAULT_CLEANUP_KEPT_BATCH] = "cleanup_kept_batch",
};
#endif

enum {
	TICK_MS = 5,
	RELAYS = 2,
	IN_FLIGHT_EVENTS = 64,
	SHUTDOWN_MS = 5000,
	STOP_SLACK_MS = 500,
	SERVER_STOP_MAX_MS = 20 * 1000,
	HEAL_MAX_MS = 180 * 1000,
	PARKED_MAX_MS = 1800 * 1000, /* likewise, when thousands go one by one */
	STALE_MAX_MS = 10 * 1000,    /* what a relay knows that was frozen */
	NOTICE_MAX_MS = 5 * 1000,
	MISCHIEF_EVERY = 5, /* seeds; likewise: */
	RELOAD_EVERY = 8,   /* of seeds the last */
	DRAIN_EVERY = 7,
	THEFT_EVERY = 3,
	TASKS = 3,
	PARKED_IN_FLIGHT = 256, /* of a round */
	TEND_EVERY_MS = 1000,
	NEVER_MS = 4000,
};

struct process {
	bool alive;
	bool exists; /* this run uses it */
	struct wp_relay *relay;
	struct fake_source source;
	struct fake_sink sink;
	struct fake_parked parked;
	struct fake_cleanup cleanup;
	char owner[WP_OWNER_SIZE];
	int64_t start_ms;
	int64_t thaw_ms;
	bool suspended;	       /* frozen with its machine: its monotonic clock stands still */
	int64_t suspended_ms;  /* so far */
	int64_t frozen_ms;     /* when it began */
	int64_t stop_asked_ms; /* -1 */
	bool accepts;	       /* the slot as it stands: people will, once it has ended */
	uint64_t rewinds_before;
	bool more;
	unsigned generation;
};

struct sim {
	struct world world;
	struct process processes[RELAYS];
	struct wp_outbox_options outbox;
	struct wp_relay_task tasks[TASKS]; /* the last is refused */
	struct wp_outboxes outboxes[TASKS];
	struct wp_relay_options options;
	uint32_t first_max[PARTITIONS];	   /* event + 1 of the newest first occurrence */
	uint32_t first_of[AGGREGATES_MAX]; /* likewise, where something is parked */
	size_t checked[PARTITIONS];
	bool seen[EVENTS_MAX];
	uint64_t duplicates;
	uint64_t removed;   /* rows, in all of the run */
	unsigned kinds;	    /* of trouble that this run knows, a bit each */
	uint64_t reloads;   /* likewise: relays get new tasks */
	uint64_t drains;    /* likewise: people drain */
	uint64_t thefts;    /* likewise: others take the slot */
	uint64_t mischief;  /* randomness of its own; 0: nobody meddles in this run */
	int64_t noticed_ms; /* since when a relay streams and could see a broken publication, */
	int64_t theft_noticed_ms; /* or that its slot was moved as it started */
};

/* -- processes ------------------------------------------------------------ */

static void process_start(struct sim *sim, int i)
{
	struct process *p = &sim->processes[i];
	struct wp_error error;

	snprintf(p->owner, sizeof(p->owner), "relay-%d-%u", i, ++p->generation);
	fake_source_init(&p->source, &sim->world, i, p->owner);
	fake_sink_init(&p->sink, &sim->world, i);
	if (sim->world.park != NULL)
		fake_parked_init(&p->parked, &sim->world, i, &p->source);
	if (sim->world.table != NULL)
		fake_cleanup_init(&p->cleanup, &sim->world, i, &p->source);
	struct wp_relay_setup setup = {
		.source = &p->source.base,
		.sink = &p->sink.base,
		.options = &sim->options,
		.task = sim->tasks[0],
		.parked = sim->world.park != NULL ? &p->parked.base : NULL,
		.cleanup = sim->world.table != NULL ? &p->cleanup.base : NULL,
		.slot = "walpost",
		.owner = p->owner,
		.seed = any(&sim->world, UINT32_MAX),
	};
	if (wp_relay_new(&setup, &p->relay, &error) != WP_OK)
		abort();
	p->alive = true;
	p->suspended_ms = 0;
	p->stop_asked_ms = -1;
	p->more = true;
	sim->world.wake[i] = true;
	trace(&sim->world, "%s starts", p->owner);
}

static void process_end(struct sim *sim, int i, int64_t away_ms)
{
	struct process *p = &sim->processes[i];

	if (sim->world.server.found_by == i)
		sim->world.server.found_by = -1;
	fake_source_die(&p->source);
	fake_sink_die(&p->sink);
	wp_relay_free(p->relay);
	if (sim->world.park != NULL)
		fake_parked_die(&p->parked);
	p->relay = NULL;
	p->alive = false;
	p->start_ms = sim->world.now_ms + away_ms;
	p->thaw_ms = 0;
	sim->world.frozen[i] = false;
}

static bool names_the_poison(const struct sim *sim, const struct wp_note *n)
{
	char id[32];

	for (uint32_t e = 0; e < EVENTS_MAX; e++) {
		if (!sim->world.broker.was_poison[e])
			continue;
		snprintf(id, sizeof(id), " id %u ", (unsigned)e);
		if (strstr(n->error.text, id) != NULL)
			return true;
	}
	return false;
}

/* The limit is raised. */
static void heal_poison(struct world *w)
{
	memset(w->broker.is_poison, 0, sizeof(w->broker.is_poison));
	w->broker.poison = -1;
}

/* From now on it must confirm nothing more; what is on its way has been said before. */
static void found_broken(struct sim *sim, const struct process *p)
{
	struct server *s = &sim->world.server;
	const struct link *l = p->source.link >= 0 ? &s->links[p->source.link] : NULL;

	s->broken = false;
	s->found_by = (int)(p - sim->processes);
	s->found_at = s->confirmed;
	if (l != NULL && l->status_waits)
		s->found_at = wp_lsn_max(s->found_at, l->status_flush);
}

/* The operator makes room, in one way or the other. */
static bool was_full(struct sim *sim, const struct wp_note *n)
{
	struct wp_park_options *park = &sim->options.park;

	if (sim->world.park == NULL || (strstr(n->error.text, "park.aggregates.max") == NULL &&
					strstr(n->error.text, "park.events.max") == NULL))
		return false;
	trace(&sim->world, "the table is full");
	sim->world.park->is_calm = false; /* it stopped in the middle of a transaction */
	if (chance(&sim->world, 500)) {
		park->aggregates_max *= 2;
		park->events_max *= 2;
	} else {
		park_purge(&sim->world);
	}
	return true;
}

static bool is_within(const struct world *w, int64_t at_ms, int64_t max_ms)
{
	return at_ms > 0 && w->now_ms - at_ms < max_ms;
}

static void hear_of_distance(struct world *w, const char *owner)
{
	snprintf(w->server.told_by, sizeof(w->server.told_by), "%s", owner);
	if (strcmp(w->server.unnoticed_by, owner) == 0)
		w->server.unnoticed_by[0] = '\0';
}

/* A stop that nobody asked for must name its cause. */
static void check_note(struct sim *sim, struct process *p, const struct wp_note *n)
{
	struct world *w = &sim->world;

	trace(w, "%s: %s %s", p->owner, n->event, n->error.text);
	if (strcmp(n->event, "slot_beyond_checkpoint") == 0)
		hear_of_distance(w, p->owner);
	if (n->level != WP_NOTE_ERROR)
		return;
	if (was_full(sim, n))
		return;
	if (w->park != NULL && strcmp(n->event, "parking_refused") == 0) {
		park_make_storable(w);
		w->park->is_calm = false;
		return;
	}
	if (strcmp(n->event, "event_undeliverable") == 0) {
		if (!names_the_poison(sim, n))
			violate(w, "an innocent event was named", "%.200s", n->error.text);
		heal_poison(w);
	} else if (strcmp(n->event, "slot_moved") == 0 &&
		   strcmp(w->server.unnoticed_by, p->owner) == 0) {
		w->server.unnoticed_by[0] = '\0'; /* the rest was dealt with as it began */
	} else if (strcmp(n->event, "slot_moved") == 0 && w->server.moved_from != 0) {
		if (!w->server.stolen)
			server_unmove_slot(w);
		p->accepts = w->server.stolen;
	} else if (strcmp(n->event, "slot_moved") == 0 &&
		   is_within(w, w->server.unmoved_ms, STALE_MAX_MS)) {
		return; /* it saw that before it asked Kafka for the ends of topics */
	} else if (strcmp(n->event, "slot_moved") == 0 &&
		   is_within(w, w->server.written_off_ms, STALE_MAX_MS)) {
		p->accepts = true; /* or the last word of another that said so came after that */
	} else if (strcmp(n->event, "stream_refused") == 0 && w->server.broken) {
		w->server.broken = false;
	} else if (strcmp(n->event, "events_would_be_lost") == 0 && w->server.broken) {
		found_broken(sim, p);
	} else if (strcmp(n->event, "reload_refused") == 0 && sim->reloads != 0) {
		return;
	} else if (strcmp(n->event, "sink_refuses") != 0) {
		violate(w, "stopped without a cause", "%s %.200s", n->event, n->error.text);
	}
}

/* Of what was committed before the mark nothing is missing, and somebody waited for that. */
static void check_drained(struct sim *sim, const struct process *p)
{
	struct world *w = &sim->world;
	const struct server *s = &w->server;
	uint32_t number = p->source.drain;

	if (number == 0) {
		violate(w, "stopped without being asked", "%s", p->owner);
		return;
	}
	for (size_t i = 0; i < s->transaction_count && s->transactions[i].drain != number; i++) {
		const struct transaction *tx = &s->transactions[i];
		for (uint32_t e = tx->first_event; e < tx->first_event + tx->event_count; e++) {
			if (!park_is_safe(w, e))
				violate(w, "drained before all was confirmed", "event %u",
					(unsigned)e);
		}
	}
	if (s->drain == number)
		w->server.drain = 0;
}

static void process_over(struct sim *sim, int i)
{
	struct world *w = &sim->world;
	struct process *p = &sim->processes[i];
	int code = wp_relay_exit_code(p->relay);

	trace(w, "%s exits with %d", p->owner, code);
	if (p->stop_asked_ms < 0 && code == 0)
		check_drained(sim, p);
	if (p->accepts)
		server_accept_slot(w);
	p->accepts = false;
	process_end(sim, i, 200 + (int64_t)any(w, 2000));
}

/* As the process sees it. */
static struct wp_now process_now(const struct sim *sim, int i)
{
	int64_t now_ms = sim->world.now_ms;

	return (struct wp_now){
		.ms = now_ms - sim->processes[i].suspended_ms,
		.boot_ms = now_ms,
		.wall_us = now_ms * 1000,
	};
}

static void check_parked(struct sim *sim, struct process *p, const struct wp_relay_snapshot *s)
{
	const struct wp_sink_view *sink = p->sink.base.ops->view(&p->sink.base);

	if (sink->in_flight > IN_FLIGHT_EVENTS + PARKED_IN_FLIGHT)
		violate(&sim->world, "more of the parked in flight than allowed", "%zu",
			sink->in_flight);
	if (s->parking.aggregates > sim->options.park.aggregates_max ||
	    s->parking.events > sim->options.park.events_max + IN_FLIGHT_EVENTS)
		violate(&sim->world, "more is parked than allowed", "%" PRIu64 ", %" PRIu64,
			s->parking.aggregates, s->parking.events);
}

static void process_step(struct sim *sim, int i)
{
	struct world *w = &sim->world;
	struct process *p = &sim->processes[i];
	struct wp_now now = process_now(sim, i);
	struct wp_note n;
	struct wp_relay_snapshot s;

	w->wake[i] = false;
	enum wp_step step = wp_relay_step(p->relay, now);
	while (wp_relay_take_note(p->relay, &n))
		check_note(sim, p, &n);
	wp_relay_take_snapshot(p->relay, &s);
	if (s.in_flight > IN_FLIGHT_EVENTS)
		violate(w, "more in flight than allowed", "%zu", s.in_flight);
	if (w->park != NULL)
		check_parked(sim, p, &s);
	p->more = step == WP_STEP_MORE;
	if (step == WP_STEP_OVER)
		process_over(sim, i);
}

static void process_tick(struct sim *sim, int i)
{
	struct world *w = &sim->world;
	struct process *p = &sim->processes[i];

	if (!p->exists)
		return;
	if (!p->alive) {
		if (w->now_ms >= p->start_ms)
			process_start(sim, i);
		return;
	}
	if (w->now_ms < p->thaw_ms)
		return;
	if (w->frozen[i] && p->suspended) {
		p->suspended_ms += w->now_ms - p->frozen_ms;
		w->wake[i] = true; /* by the clock (run/run.c) */
	}
	w->frozen[i] = false;
	fake_source_tick(&p->source);
	fake_sink_tick(&p->sink);
	if (w->park != NULL)
		fake_parked_tick(&p->parked);
	if (w->table != NULL)
		fake_cleanup_tick(&p->cleanup);
	if (w->wake[i] || p->more || process_now(sim, i).ms >= wp_relay_due(p->relay))
		process_step(sim, i);
	if (p->alive && p->stop_asked_ms >= 0 &&
	    w->now_ms > p->stop_asked_ms + SHUTDOWN_MS + STOP_SLACK_MS)
		violate(w, "did not stop in time", "%s", p->owner);
}

/* -- faults --------------------------------------------------------------- */

static void freeze(struct sim *sim, int i)
{
	struct process *p = &sim->processes[i];

	if (!p->alive || p->stop_asked_ms >= 0)
		return;
	p->thaw_ms = sim->world.now_ms + 500 + (int64_t)any(&sim->world, 9000);
	p->frozen_ms = sim->world.now_ms;
	p->suspended = p->thaw_ms % 2 != 0;
	sim->world.frozen[i] = true;
	trace(&sim->world, "%s is %s", p->owner, p->suspended ? "suspended" : "frozen");
}

static void ask_to_stop(struct sim *sim, int i)
{
	struct process *p = &sim->processes[i];

	if (!p->alive || p->stop_asked_ms >= 0 || sim->world.frozen[i])
		return;
	trace(&sim->world, "%s is asked to stop", p->owner);
	p->stop_asked_ms = sim->world.now_ms;
	wp_relay_stop(p->relay, process_now(sim, i));
	sim->world.wake[i] = true;
}

static void hurt_link(struct sim *sim, bool cut)
{
	struct world *w = &sim->world;
	int holder = w->server.holder;

	if (holder < 0)
		return;
	trace(w, cut ? "connection cut" : "connection closed");
	if (cut)
		w->server.links[holder].cut = true;
	else
		link_break(w, holder);
}

/* Each run knows only some kinds of trouble: all together, one hides the other. */
static bool knows(const struct sim *sim, unsigned kind)
{
	return (sim->kinds >> kind & 1) != 0;
}

static void hurt_postgres(struct sim *sim)
{
	struct world *w = &sim->world;
	unsigned kind = (unsigned)any(w, 5);

	if (!knows(sim, kind))
		return;
	switch (kind) {
	case 0:
		server_crash(w, 500 + (int64_t)any(w, 8000));
		break;
	case 1:
		server_stop(w);
		if (chance(w, 500)) /* a whole rack is restarted */
			w->broker.down_until_ms = w->now_ms + 40 * 1000;
		break;
	case 2:
		hurt_link(sim, true);
		break;
	default:
		hurt_link(sim, false);
		break;
	}
}

static void hurt_kafka(struct sim *sim)
{
	struct world *w = &sim->world;
	unsigned kind = (unsigned)any(w, 6);

	if (!knows(sim, 8 + kind))
		return;
	switch (kind) {
	case 0:
	case 1:
		w->broker.down_until_ms =
			w->now_ms + 500 + (int64_t)any(w, chance(w, 200) ? 90000 : 20000);
		trace(w, "broker down");
		break;
	case 2:
		w->broker.slow_until_ms = w->now_ms + 2000 + (int64_t)any(w, 10000);
		break;
	case 3:
		w->broker.refuse_next = 1;
		break;
	case 4:
		w->broker.topic_missing_until_ms = w->now_ms + 500 + (int64_t)any(w, 8000);
		break;
	default:
		if (w->park != NULL)
			break; /* events come with their fate */
		if ((w->broker.poison < 0 || sim->options.poison == WP_POISON_DEAD_LETTER) &&
		    w->server.event_count + 20 < EVENTS_MAX)
			w->broker.poison = w->server.event_count + (uint32_t)any(w, 20);
		w->broker.poisons = 1 + (int64_t)any(w, 3);
		for (int64_t i = 0; w->broker.poison >= 0 && i < w->broker.poisons; i++) {
			w->broker.is_poison[w->broker.poison + i] = true;
			w->broker.was_poison[w->broker.poison + i] = true;
		}
		trace(w, "poison %" PRId64, w->broker.poison);
		break;
	}
}

static void hurt_relay(struct sim *sim)
{
	struct world *w = &sim->world;
	int i = (int)any(w, RELAYS);
	struct process *p = &sim->processes[i];
	unsigned kind = (unsigned)any(w, 4);

	if (!knows(sim, 16 + kind))
		return;
	switch (kind) {
	case 0:
		freeze(sim, i);
		break;
	case 1:
		ask_to_stop(sim, i);
		break;
	default:
		if (p->alive) {
			trace(w, "%s is killed", p->owner);
			process_end(sim, i, 100 + (int64_t)any(w, 3000));
		}
		break;
	}
}

static void hurt(struct sim *sim, unsigned per_mille)
{
	struct world *w = &sim->world;

	if (!chance(w, per_mille))
		return;
	switch (any(w, 3)) {
	case 0:
		hurt_relay(sim);
		break;
	case 1:
		hurt_postgres(sim);
		break;
	default:
		hurt_kafka(sim);
		break;
	}
}

/* What is moved between a relay's reading of the facts and its start nobody could see. */
static bool is_starting(const struct sim *sim)
{
	for (int i = 0; i < RELAYS; i++) {
		enum wp_source_state at = sim->processes[i].source.view.state;
		if (sim->processes[i].alive && (at == WP_SOURCE_READY || at == WP_SOURCE_STARTING))
			return true;
	}
	return false;
}

/* A hand that did not ask the relays. Draws from its own numbers, so that other seeds stay. */
static void meddle(struct sim *sim)
{
	if (sim->mischief == 0 || wp_random_next(&sim->mischief) % 400 != 0)
		return;
	if (wp_random_next(&sim->mischief) % 2 != 0)
		server_break_publication(&sim->world);
	else if (!is_starting(sim))
		server_move_slot(&sim->world);
}

/* For a moment or for some seconds. Draws from its own numbers too. */
static void steal(struct sim *sim)
{
	uint64_t number = sim->thefts != 0 ? wp_random_next(&sim->thefts) : 1;

	if (number % 200 != 0)
		return;
	bool is_short = number >> 16 & 1;
	int64_t for_ms = is_short ? TICK_MS : 100 + (int64_t)((number >> 32) % 4000);
	server_steal_slot(&sim->world, for_ms, number % 3 == 0);
}

/* What is relayed stays the same, but the relay must begin anew for it. Draws from its own too. */
static void reload(struct sim *sim)
{
	struct wp_error error;

	if (sim->reloads == 0 || wp_random_next(&sim->reloads) % 100 != 0)
		return;
	int i = (int)(wp_random_next(&sim->reloads) % RELAYS);
	const struct wp_relay_task *task = &sim->tasks[wp_random_next(&sim->reloads) % TASKS];
	if (!sim->processes[i].alive || sim->world.frozen[i])
		return;
	trace(&sim->world, "%s gets task %td", sim->processes[i].owner, task - sim->tasks);
	/* Refused while it stops. */
	(void)!wp_relay_reload(sim->processes[i].relay, task, &error);
	sim->world.wake[i] = true;
}

/* Also one that gives up long before its mark is read. Draws from its own numbers. */
static void drain(struct sim *sim)
{
	uint64_t number = sim->drains != 0 ? wp_random_next(&sim->drains) : 1;

	if (number % 400 != 0 || sim->world.server.drain != 0)
		return;
	server_drain(&sim->world, 20 + (int64_t)(number >> 32) % (number % 3 == 0 ? 200 : 10000));
}

/* -- the checker ---------------------------------------------------------- */

/*
 * A person's act is done at some time, and not in the order of anything. And what became a dead
 * letter may be delivered all the same, when a slot that falls back brings it again.
 */
static bool is_out_of_hand(const struct world *w, uint32_t event)
{
	const struct park *p = w->park;

	return w->broker.dead[event] || p->given_up[event] || p->was_retried[event] ||
	       p->keyless[event];
}

static void check_aggregate(struct sim *sim, uint32_t event)
{
	uint32_t *first = &sim->first_of[sim->world.server.aggregate_of[event]];

	if (is_out_of_hand(&sim->world, event))
		return;
	if (event < *first)
		violate(&sim->world, "out of order", "event %u after %u of a%u", event, *first - 1,
			(unsigned)sim->world.server.aggregate_of[event]);
	*first = event + 1;
}

static void check_partition(struct sim *sim, size_t p)
{
	struct broker *b = &sim->world.broker;

	for (; sim->checked[p] < b->log_count[p]; sim->checked[p]++) {
		uint32_t event = b->log[p][sim->checked[p]];
		if (sim->seen[event]) {
			sim->duplicates++;
			continue;
		}
		sim->seen[event] = true;
		if (sim->world.server.written_off[event])
			continue; /* a crash may bring it back, later than others */
		if (sim->world.park != NULL) {
			check_aggregate(sim, event);
			continue;
		}
		if (event < sim->first_max[p])
			violate(&sim->world, "out of order", "event %u after %u in partition %zu",
				event, sim->first_max[p] - 1, p);
		sim->first_max[p] = event + 1;
	}
}

/* Only a relay that streams undisturbed can see either. */
static void check_noticed(struct sim *sim)
{
	const struct server *s = &sim->world.server;
	bool seen = false;

	for (int i = 0; i < RELAYS; i++) {
		const struct process *p = &sim->processes[i];
		bool drains = sim->world.park != NULL && p->stop_asked_ms >= 0;
		seen = seen ||
		       (p->alive && !drains && !sim->world.frozen[i] && p->source.link >= 0 &&
			p->source.link == s->holder && !s->links[s->holder].cut);
	}
	if (s->unnoticed_by[0] == '\0' || !seen || s->state != SERVER_UP)
		sim->theft_noticed_ms = sim->world.now_ms;
	else if (sim->world.now_ms - sim->theft_noticed_ms > NOTICE_MAX_MS)
		violate(&sim->world, "a slot that was moved at the start was not noticed",
			"for %d ms", NOTICE_MAX_MS);
	if (!s->broken || !seen || s->state != SERVER_UP)
		sim->noticed_ms = sim->world.now_ms;
	else if (sim->world.now_ms - sim->noticed_ms > NOTICE_MAX_MS)
		violate(&sim->world, "a broken publication was not noticed", "for %d ms",
			NOTICE_MAX_MS);
}

static void check(struct sim *sim)
{
	struct server *s = &sim->world.server;

	check_noticed(sim);

	for (size_t p = 0; p < PARTITIONS; p++)
		check_partition(sim, p);
	if (s->state == SERVER_STOPPING &&
	    sim->world.now_ms - s->stopping_since_ms > SERVER_STOP_MAX_MS)
		violate(&sim->world, "a stopping server was held up", "for %d ms",
			SERVER_STOP_MAX_MS);
	if (s->timeouts > 0)
		violate(&sim->world, "the server timed the relay out", "%u times", s->timeouts);
}

static uint32_t first_undelivered(const struct world *w)
{
	uint32_t e = 0;

	if (w->park != NULL)
		return park_first_unsettled(w);
	while (e < w->server.event_count && w->broker.kept[e])
		e++;
	return e;
}

static bool all_delivered(const struct sim *sim)
{
	const struct server *s = &sim->world.server;

	if (first_undelivered(&sim->world) < s->event_count)
		return false;
	return s->transaction_count == 0 ||
	       s->confirmed >= s->transactions[s->transaction_count - 1].end_lsn;
}

static void check_end(struct sim *sim)
{
	const struct server *s = &sim->world.server;

	if (sim->world.violation != NULL || all_delivered(sim))
		return;
	uint32_t e = first_undelivered(&sim->world);
	if (e < s->event_count)
		violate(&sim->world,
			sim->world.broker.kept[e] ? "parked for ever" : "not delivered",
			"event %u of %u; confirmed %llX", e, s->event_count,
			(unsigned long long)s->confirmed);
	violate(&sim->world, "the slot does not follow", "confirmed %llX, wal %llX",
		(unsigned long long)s->confirmed, (unsigned long long)s->wal);
}

/* -- a run ---------------------------------------------------------------- */

static void write_some(struct sim *sim, unsigned per_mille)
{
	struct world *w = &sim->world;

	if (chance(w, per_mille))
		server_commit(w,
			      chance(w, 20) ? 20 + (uint32_t)any(w, 100) : 1 + (uint32_t)any(w, 5));
	if (chance(w, 30))
		server_other_wal(w);
}

static void tick(struct sim *sim)
{
	struct world *w = &sim->world;

	w->now_ms += TICK_MS;
	server_tick(w);
	broker_tick(w);
	if (w->park != NULL)
		park_tick(w);
	if (w->table != NULL)
		table_tick(w);
	for (int i = 0; i < RELAYS; i++)
		process_tick(sim, i);
	check(sim);
}

static void heal(struct sim *sim)
{
	struct broker *b = &sim->world.broker;

	b->down_until_ms = 0;
	b->slow_until_ms = 0;
	b->topic_missing_until_ms = 0;
	b->refuse_next = 0;
	if (sim->world.park != NULL)
		park_heal(&sim->world, chance(&sim->world, 600));
	trace(&sim->world, "healed");
}

static void release(struct sim *sim)
{
	for (int i = 0; i < RELAYS; i++) {
		if (!sim->processes[i].alive)
			continue;
		wp_relay_free(sim->processes[i].relay);
		if (sim->world.park != NULL)
			fake_parked_die(&sim->processes[i].parked);
	}
	sim->removed = sim->world.table != NULL ? sim->world.table->removed : 0;
	table_release(&sim->world);
	park_release(&sim->world);
	broker_release(&sim->world);
}

static void draw_park(struct sim *sim)
{
	struct world *w = &sim->world;
	struct wp_park_options *o = &sim->options.park;

	park_init(w);
	sim->options.poison = WP_POISON_PARK;
	sim->outbox.key_null = WP_KEY_NULL_ALLOW;
	*o = (struct wp_park_options){
		.aggregates_max = chance(w, 900) ? 10000 : 1 + any(w, 20),
		.events_max = chance(w, 900) ? 1000000 : 1 + any(w, 300),
		.retry_first_ms = 10 + (int64_t)any(w, chance(w, 500) ? 200 : 2000),
	};
	o->retry_max_ms = o->retry_first_ms << any(w, 5);
	if (chance(w, 700))
		sim->options.dead_letter_topic = "";
	if (chance(w, 400))
		o->retry_attempts = 1 + any(w, 5);
	w->park->ends_as_letter =
		sim->options.dead_letter_topic[0] != '\0' && o->retry_attempts > 0;
	if (w->park->never_per_mille == 0)
		return;
	/* One after the other ends so; or each attempt, for ever, costs a new producer. */
	if (w->park->ends_as_letter)
		o->retry_max_ms = o->retry_first_ms;
	else if (o->retry_max_ms < NEVER_MS)
		o->retry_max_ms = NEVER_MS;
}

static void run(struct sim *sim, uint64_t seed, bool parks, bool cleans, bool tracing)
{
	struct world *w = &sim->world;

	*sim = (struct sim){
		.world = { .random = seed * 0x9E3779B97F4A7C15u + 1, .trace = tracing },
		.outbox = default_options(),
		.options = {
			.in_flight_events = IN_FLIGHT_EVENTS,
			.in_flight_bytes = 1 << 20,
			.feedback_interval_ms = 100,
			.topic_wait_ms = 600 * 1000,
			.shutdown_timeout_ms = SHUTDOWN_MS,
			/* Of each pair of seeds one sets aside what the other stops for. */
			.poison = seed % 2 == 0 ? WP_POISON_DEAD_LETTER : WP_POISON_STOP,
			.dead_letter_topic = "dead",
			.rewinds_max = 3,
		},
	};
	for (size_t i = 0; i < TASKS; i++) {
		sim->outboxes[i] = only(&sim->outbox, "");
		sim->outboxes[i].slot = "walpost";
		sim->tasks[i].outboxes = &sim->outboxes[i];
	}
	sim->tasks[TASKS - 1].wanted = refused_wanted;
	server_init(w);
	broker_init(w);
	if (seed % MISCHIEF_EVERY == 0)
		sim->mischief = seed * 0xD1342543DE82EF95u + 1;
	if (seed % THEFT_EVERY == 0)
		sim->thefts = seed * 0xD1342543DE82EF95u + 5;
	if (seed % RELOAD_EVERY == RELOAD_EVERY - 1)
		sim->reloads = seed * 0xD1342543DE82EF95u + 1;
	if (seed % DRAIN_EVERY == 0)
		sim->drains = seed * 0xD1342543DE82EF95u + 1;
	if (parks)
		draw_park(sim);
	if (cleans)
		table_init(w, seed * 0xD1342543DE82EF95u + 3);
	sim->processes[0].exists = true;
	sim->processes[1].exists = chance(w, 500);
	/* Without faults, relays are only asked to stop now and then: nothing may come twice. */
	unsigned faults = chance(w, 200) ? 0 : 1 + (unsigned)any(w, 10);
	sim->kinds = (unsigned)wp_random_next(&w->random) |
		     (chance(w, 300) ? (unsigned)wp_random_next(&w->random) : 0);
	unsigned writes = chance(w, 300) ? 1 + (unsigned)any(w, 10) : 20 + (unsigned)any(w, 200);
	int64_t every_ms = parks ? 100 : TICK_MS;
	int64_t busy_ms = 20 * 1000 + (int64_t)any(w, 40 * 1000);
	while (w->now_ms < busy_ms && w->violation == NULL) {
		write_some(sim, writes);
		hurt(sim, faults);
		if (parks)
			park_people(w);
		meddle(sim);
		steal(sim);
		reload(sim);
		drain(sim);
		if (faults == 0 && chance(w, 1))
			ask_to_stop(sim, (int)any(w, RELAYS));
		tick(sim);
		/* A standby may take the slot in a reload, before the last status has come. */
		bool may_slip = sim->reloads != 0 && sim->processes[1].exists;
		/* In a reload the reports of a round that is in flight find nobody. */
		bool is_calm = !parks || (w->park->is_calm && sim->reloads == 0);
		if (faults == 0 && is_calm && sim->mischief == 0 && sim->thefts == 0 && !may_slip &&
		    sim->duplicates > 0)
			violate(w, "sent twice without a fault", "%" PRIu64 " events",
				sim->duplicates);
	}
	heal(sim);
	int64_t end_ms = w->now_ms + (parks ? PARKED_MAX_MS : HEAL_MAX_MS);
	while (w->now_ms < end_ms && w->violation == NULL &&
	       (w->now_ms % every_ms != 0 || !all_delivered(sim))) {
		if (chance(w, 30))
			server_other_wal(w);
		if (parks && w->now_ms % TEND_EVERY_MS == 0)
			park_tend(w);
		tick(sim);
	}
	check_end(sim);
	release(sim);
}

/* -- main ----------------------------------------------------------------- */

struct arguments {
	uint64_t seed;
	uint64_t count;
	bool trace;
	bool fault;
	bool parks;
	bool cleans;
};

static bool read_fault(const char *name)
{
#ifdef WALPOST_PLANTED_FAULTS
	for (int i = 0; i < WP_FAULT_COUNT; i++) {
		if (FAULT_NAMES[i] != NULL && strcmp(FAULT_NAMES[i], name) == 0) {
			wp_planted_fault = (enum wp_fault)i;
			return true;
		}
	}
#endif
	fprintf(stderr, "sim: no fault is called %s in this build\n", name);
	return false;
}

static bool read_arguments(int argc, char **argv, struct arguments *a)
{
	const char *fault = NULL;

	for (int i = 1; i < argc; i++) {
		bool more = i + 1 < argc;
		if (strcmp(argv[i], "--seed") == 0 && more)
			a->seed = strtoull(argv[++i], NULL, 10);
		else if (strcmp(argv[i], "--count") == 0 && more)
			a->count = strtoull(argv[++i], NULL, 10);
		else if (strcmp(argv[i], "--trace") == 0)
			a->trace = true;
		else if (strcmp(argv[i], "--park") == 0)
			a->parks = true;
		else if (strcmp(argv[i], "--cleanup") == 0)
			a->cleans = true;
		else if (strcmp(argv[i], "--fault") == 0 && more)
			fault = argv[++i];
		else
			return false;
	}
	a->fault = fault != NULL;
	return fault == NULL || read_fault(fault); /* or a typing error would pass as found */
}

int main(int argc, char **argv)
{
	struct arguments a = { .seed = 1, .count = 1 };
	struct sim *sim = malloc(sizeof(*sim));
	uint64_t failures = 0;
	uint64_t events = 0;
	uint64_t duplicates = 0;
	uint64_t removed = 0;

	if (sim == NULL || !read_arguments(argc, argv, &a)) {
		fprintf(stderr, "usage: sim [--park] [--cleanup] [--seed S] [--count N] [--fault "
				"NAME] [--trace]\n");
		free(sim);
		return 2;
	}
	for (uint64_t seed = a.seed; seed < a.seed + a.count; seed++) {
		run(sim, seed, a.parks || (a.cleans && seed % 2 != 0), a.cleans, a.trace);
		removed += sim->removed;
		events += sim->world.server.event_count;
		duplicates += sim->duplicates;
		if (sim->world.violation == NULL)
			continue;
		failures++;
		printf("seed %" PRIu64 ": %s: %s\n", seed, sim->world.violation, sim->world.detail);
	}
	printf("%" PRIu64 " seeds, %" PRIu64 " events, %" PRIu64 " repeated, %" PRIu64
	       " seeds broke a promise\n",
	       a.count, events, duplicates, failures);
	if (a.cleans) {
		printf("%" PRIu64 " rows removed\n", removed);
		failures += !a.fault && removed < a.count;
	}
	free(sim);
	return (failures > 0) != a.fault;
}
