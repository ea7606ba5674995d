#include "parking_internal.h"

#include <stdlib.h>
#include <string.h>

#include "walpost/relay/faults.h"

enum {
	LOOK_MS = 1000,
	/* The stream does not wait for an aggregate of which no event has gone for so long. */
	WAIT_MS = 5 * 1000,
	/* Each event that Kafka refuses again costs a stream: figures must not blink meanwhile. */
	KEPT_MS = 60 * 1000,
};

/*
 * Each failed attempt at what Kafka refused costs a new producer, a new stream, and the set read
 * anew: the next such attempt comes no sooner than a few times as long as that took.
 */
enum { ALONE_PAUSE_TIMES = 2, RESTART_MS = 500 };

/* -- life -------------------------------------------------------------------------- */

enum wp_rc wp_parking_new(const struct wp_park_options *options, uint16_t epoch,
			  bool has_dead_letters, struct wp_parked_store *store,
			  struct wp_parking **ret)
{
	struct wp_parking *p = calloc(1, sizeof(*p));

	if (p == NULL)
		return WP_NOMEM;
	p->options = *options;
	p->epoch = epoch;
	p->has_dead_letters = has_dead_letters;
	p->store = store;
	if (wp_aggregates_init(&p->set) != WP_OK) {
		free(p);
		return WP_NOMEM;
	}
	*ret = p;
	return WP_OK;
}

static void forget_all(struct wp_parking *p)
{
	wp_aggregates_clear(&p->set);
	free(p->positions);
	p->positions = NULL;
	p->position_count = 0;
}

void wp_parking_free(struct wp_parking *p)
{
	if (p == NULL)
		return;
	forget_all(p);
	wp_aggregates_release(&p->set);
	free(p);
}

void wp_parking_tick(struct wp_parking *p, int64_t now_ms)
{
	p->now_ms = now_ms;
	wp_aggregates_tick(&p->set, now_ms);
}

static void end_ready(struct wp_parking *p)
{
	if (!p->ready)
		return;
	wp_parking_figures(p, &p->kept);
	p->kept_ms = p->now_ms;
	p->ready = false;
}

void wp_parking_begin(struct wp_parking *p, wp_lsn from)
{
	wp_parking_give_up_round(p);
	end_ready(p);
	if (!wp_fault(WP_FAULT_PARKED_SET_KEPT))
		forget_all(p);
	p->loaded = 0;
	p->confirmed = from;
	p->told = 0;
	p->begun_ms = p->now_ms;
	p->has_looked = false;
	p->loads = wp_parking_view(p)->loads;
	p->looks = wp_parking_view(p)->looks;
	p->store->ops->open(p->store, from, p->options.aggregates_max);
}

void wp_parking_forget(struct wp_parking *p)
{
	end_ready(p);
	p->under_way = 0;
	wp_parking_give_up_round(p);
	p->store->ops->close(p->store);
}

bool wp_parking_is_ready(const struct wp_parking *p)
{
	return p->ready;
}

/* -- loading -------------------------------------------------------------------------- */

static enum wp_rc copy_positions(struct wp_parking *p)
{
	const struct wp_parked_set *set = &wp_parking_view(p)->set;

	free(p->positions);
	p->positions = NULL;
	p->position_count = 0;
	if (set->position_count == 0)
		return WP_OK;
	p->positions = malloc(set->position_count * sizeof(*p->positions));
	if (p->positions == NULL)
		return WP_NOMEM;
	memcpy(p->positions, set->positions, set->position_count * sizeof(*p->positions));
	p->position_count = set->position_count;
	return WP_OK;
}

static void pause_after_refusal(struct wp_parking *p)
{
	int64_t cost_ms = p->now_ms - p->begun_ms + RESTART_MS;

	if (p->is_refused && p->alone_ms < p->now_ms + cost_ms * ALONE_PAUSE_TIMES)
		p->alone_ms = p->now_ms + cost_ms * ALONE_PAUSE_TIMES;
	p->is_refused = false;
}

const struct wp_parked_aggregate *wp_parking_next_loaded(struct wp_parking *p)
{
	const struct wp_parked_view *v = wp_parking_view(p);

	if (p->ready || v->state != WP_PARKED_READY)
		return NULL;
	bool is_kept = wp_fault(WP_FAULT_PARKED_SET_KEPT) && p->set.count > 0 && p->loaded == 0;
	if (p->loaded < v->set.count && !is_kept)
		return &v->set.aggregates[p->loaded];
	if (!is_kept && copy_positions(p) != WP_OK)
		return NULL; /* the next step tries again */
	p->store->ops->set_taken(p->store);
	p->ready = true;
	p->look_ms = 0;
	pause_after_refusal(p);
	return NULL;
}

static enum wp_rc say_full(const char *option, const char *what, size_t max, struct wp_error *error)
{
	return wp_error_set(error, WP_DATA,
			    "%zu %s are parked, as many as %s allows: cure what keeps them "
			    "(walpost parked list), discard them (walpost parked purge), or raise "
			    "%s",
			    max, what, option, option);
}

enum wp_rc wp_parking_load(struct wp_parking *p, const struct wp_parked_aggregate *a,
			   struct wp_error *error)
{
	if (p->set.count >= p->options.aggregates_max)
		return wp_error_set(error, WP_DATA,
				    "more aggregates are parked than park.aggregates.max = %zu "
				    "allows: raise it, or cure what keeps them (walpost parked "
				    "list), or discard them (walpost parked purge)",
				    p->options.aggregates_max);
	struct wp_aggregate *added = wp_aggregates_add(&p->set, a->outbox, a->key, &a->position);
	if (added == NULL)
		return wp_error_set(error, WP_NOMEM, "out of memory for %zu parked aggregates",
				    p->set.count + 1);
	wp_aggregates_count(&p->set, added, a->events);
	wp_aggregates_set_code(&p->set, added, a->code, true);
	added->alone = a->alone;
	wp_aggregates_set_since(&p->set, added, p->now_ms - a->age_ms);
	wp_aggregates_set_due(&p->set, added, wp_parking_after(p->now_ms, a->due_in_ms));
	p->loaded++;
	return WP_OK;
}

/* -- events from the log -------------------------------------------------------------- */

static bool is_position_known(const struct wp_parking *p, const struct wp_position *position)
{
	size_t low = 0, high = p->position_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		int order = wp_position_compare(&p->positions[middle], position);
		if (order == 0)
			return true;
		if (order < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return false;
}

/*
 * Rows are sent once their transactions are confirmed, and for that these must be read to their
 * end: so nothing waits in the middle of a transaction of which something is parked. Nor does
 * anything wait for an aggregate that is not being sent any more because the relay stops.
 */
static bool must_wait(const struct wp_parking *p, const struct wp_aggregate *a,
		      const struct wp_position *position)
{
	return p->may_send && a->sending && a->credit < 2 && a->last_lsn != position->commit_lsn &&
	       p->now_ms - a->moved_ms < WAIT_MS;
}

enum wp_parking_answer wp_parking_find(struct wp_parking *p, struct wp_span outbox,
				       struct wp_span key, const struct wp_position *position)
{
	if (p->set.count == 0 && p->position_count == 0)
		return WP_PARKING_FLOWS;
	bool known = p->position_count > 0 && is_position_known(p, position);
	struct wp_aggregate *a =
		wp_span_is_null(key) ? NULL : wp_aggregates_find(&p->set, outbox, key, position);
	if (known && a != NULL)
		a->last_lsn = position->commit_lsn;
	if (known)
		return WP_PARKING_KNOWN;
	if (a == NULL || wp_position_compare(position, &a->position) < 0)
		return WP_PARKING_FLOWS;
	if (wp_fault(WP_FAULT_PARKED_OVERTAKEN) && a->sending)
		return WP_PARKING_FLOWS;
	if (!must_wait(p, a, position))
		return WP_PARKING_FOLLOWS;
	p->held_ms = a->moved_ms + WAIT_MS;
	return WP_PARKING_WAITS;
}

enum wp_rc wp_parking_put(struct wp_parking *p, wp_ticket ticket,
			  const struct wp_parking_event *event, struct wp_span row,
			  struct wp_error *error)
{
	struct wp_aggregate *a =
		wp_aggregates_find(&p->set, event->outbox, event->key, event->position);
	bool is_new = a == NULL;

	if (is_new && p->set.count >= p->options.aggregates_max)
		return say_full("park.aggregates.max", "aggregates", p->options.aggregates_max,
				error);
	if (p->set.events >= p->options.events_max)
		return say_full("park.events.max", "events", p->options.events_max, error);
	if (is_new)
		a = wp_aggregates_add(&p->set, event->outbox, event->key, event->position);
	enum wp_rc rc = a != NULL ? p->store->ops->put(p->store, ticket, row) : WP_NOMEM;
	if (rc != WP_OK) {
		if (is_new && a != NULL)
			wp_aggregates_drop(&p->set, a);
		return rc;
	}
	/* It is the first: of a new aggregate, or it went before and was not parked then. */
	if (is_new || wp_position_compare(event->position, &a->position) < 0) {
		wp_aggregates_set_code(&p->set, a, wp_span_of(event->code), is_new);
		a->position = *event->position;
		a->alone = event->alone;
		if (is_new)
			wp_aggregates_set_since(&p->set, a, p->now_ms);
		wp_aggregates_set_due(&p->set, a, p->now_ms + p->options.retry_first_ms);
	}
	wp_aggregates_count(&p->set, a, a->events + 1);
	a->last_lsn = event->position->commit_lsn;
	a->fresh++;
	a->credit -= a->credit >= 2 ? 2 : 0;
	p->under_way++;
	p->figures.parked++;
	return WP_OK;
}

int64_t wp_parking_first_wait(const struct wp_parking *p)
{
	return p->options.retry_first_ms;
}

size_t wp_parking_collect(struct wp_parking *p, wp_ticket *tickets, size_t max)
{
	size_t count = p->store->ops->collect(p->store, tickets, max);

	p->under_way -= count < p->under_way ? count : p->under_way;
	return count;
}

/* -- what people asked for ---------------------------------------------------------------------- */

/* A load tells what is left, for what is to be skipped is not loaded. */
static void hear_asked(struct wp_parking *p, const struct wp_parked_asked *asked,
		       struct wp_parked_change *changes, size_t *count)
{
	struct wp_aggregate *a =
		wp_aggregates_find(&p->set, asked->outbox, asked->key, &asked->position);
	bool is_skip = asked->act == WP_PARKED_ACT_SKIP;
	bool is_gone = !wp_parking_is_at_or_behind(p, &asked->position, p->told);

	if (a != NULL)
		wp_aggregates_set_due(&p->set, a, p->now_ms);
	if (is_skip && !is_gone)
		return; /* the log may bring it again: until then its row tells that it is known */
	p->figures.skipped += is_skip ? 1 : 0;
	changes[(*count)++] = (struct wp_parked_change){
		.kind = is_skip ? WP_PARKED_DELETE : WP_PARKED_HEARD,
		.position = asked->position,
	};
}

static enum wp_rc take_asked(struct wp_parking *p)
{
	struct wp_parked_change changes[WP_ROUND_ROWS_MAX];
	const struct wp_parked_view *v = wp_parking_view(p);
	size_t done = 0;
	enum wp_rc rc = WP_OK;

	for (size_t i = 0; i < v->asked_count && rc == WP_OK;) {
		size_t count = 0;
		for (; i < v->asked_count && count < WP_ROUND_ROWS_MAX; i++)
			hear_asked(p, &v->asked[i], changes, &count);
		rc = wp_parking_submit(p, changes, count);
		done += count;
	}
	/* A large purge has more to come, and at once, but only if some of it was done. */
	bool more = done > 0 && v->asked_count >= WP_PARKED_LOOK_MAX;
	p->look_ms = more ? p->now_ms : p->now_ms + LOOK_MS;
	p->asked_left = v->asked_count > 0 || p->missed_by == p->looks;
	p->missed_by = 0;
	p->has_looked = true;
	return rc;
}

static bool is_looking(const struct wp_parking *p)
{
	return p->looks > wp_parking_view(p)->looks;
}

static bool has_answer(const struct wp_parking *p)
{
	return p->look_ms == INT64_MAX && !is_looking(p);
}

static bool looks_at_all(const struct wp_parking *p)
{
	return p->set.count > 0 || p->asked_left || !p->has_looked;
}

/*
 * What was asked for last is done first, or the next look would find it again. It is not heard in
 * the middle of a round, whose outcome would undo it.
 */
static enum wp_rc look_for_asked(struct wp_parking *p)
{
	enum wp_rc rc = WP_OK;

	if (has_answer(p) && p->round.state == ROUND_NONE)
		rc = take_asked(p);
	if (rc != WP_OK || is_looking(p) || !looks_at_all(p) || p->now_ms < p->look_ms ||
	    wp_parking_view(p)->changed < p->submitted)
		return rc;
	p->look_ms = INT64_MAX;
	p->looks++;
	p->store->ops->look(p->store);
	return WP_OK;
}

/* -- a step ------------------------------------------------------------------------------------ */

enum wp_rc wp_parking_step(struct wp_parking *p, bool may_send, wp_lsn confirmed, wp_lsn told)
{
	p->may_send = may_send;
	if (!p->ready || wp_parking_view(p)->state != WP_PARKED_READY)
		return WP_OK;
	if (confirmed > p->confirmed && p->waits_for_it)
		p->set.due_ms = p->now_ms;
	p->confirmed = confirmed;
	p->told = told < confirmed ? told : confirmed;
	if (p->position_count > 0 &&
	    !wp_parking_is_at_or_behind(p, &p->positions[p->position_count - 1], p->confirmed))
		p->position_count = 0;
	enum wp_rc rc = look_for_asked(p);
	return rc == WP_OK ? wp_parking_step_round(p, may_send) : rc;
}

int64_t wp_parking_due(const struct wp_parking *p, bool may_send)
{
	int64_t due_ms = INT64_MAX;

	if (!p->ready)
		return INT64_MAX;
	bool is_changed = wp_parking_view(p)->changed >= p->submitted;
	if (looks_at_all(p) && is_changed)
		due_ms = p->look_ms;
	if (has_answer(p) && p->round.state == ROUND_NONE)
		due_ms = p->now_ms;
	if (p->round.state == ROUND_NONE && may_send && is_changed && p->set.due_ms < due_ms)
		due_ms = p->set.due_ms;
	if (wp_parking_round_due(p) < due_ms)
		due_ms = wp_parking_round_due(p);
	if (p->held_ms > p->now_ms && p->held_ms < due_ms)
		due_ms = p->held_ms;
	return due_ms;
}

bool wp_parking_take_news(struct wp_parking *p, struct wp_parking_news *ret)
{
	if (p->news_taken == p->news_count) {
		p->news_taken = p->news_count = 0;
		return false;
	}
	*ret = p->news[p->news_taken++];
	return true;
}

void wp_parking_figures(const struct wp_parking *p, struct wp_parking_figures *ret)
{
	bool kept = !p->ready && p->kept.known && p->now_ms - p->kept_ms < KEPT_MS;

	*ret = p->figures;
	memcpy(ret->codes, p->set.codes, sizeof(ret->codes));
	ret->code_count = p->set.code_count;
	ret->on = true;
	ret->ready = p->ready;
	ret->known = p->ready || kept;
	ret->aggregates = kept ? p->kept.aggregates : p->set.count;
	ret->events = kept ? p->kept.events : p->set.events;
	ret->since_ms = kept ? p->kept.since_ms : p->set.since_ms;
	if (kept) {
		memcpy(ret->codes, p->kept.codes, sizeof(ret->codes));
		ret->code_count = p->kept.code_count;
	}
}
