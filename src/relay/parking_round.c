/*
 * A round sends parked events again: it chooses aggregates that are due, loads their first rows,
 * sends these, and has the table changed by what became of them.
 */
#include "parking_internal.h"

#include <assert.h>
#include <string.h>

#include "walpost/outbox/dead_letter.h"
#include "walpost/relay/faults.h"

enum {
	ROUND_SIZE_MAX = 4 * 1024 * 1024,
	/* What does not come to rest by then (a partition without a leader) holds up the rest. */
	QUIET_MS = 5 * 1000,
	/* Each failed attempt at what Kafka refused costs a new producer: so long none follows. */
	ALONE_PAUSE_MS = 10 * 1000,
};

/* True while the log may bring the event. One of an earlier epoch was in another log. */
bool wp_parking_is_at_or_behind(const struct wp_parking *p, const struct wp_position *position,
				wp_lsn lsn)
{
	return position->epoch >= p->epoch && position->commit_lsn >= lsn;
}

static bool may_come_again(const struct wp_parking *p, const struct wp_position *position)
{
	return wp_parking_is_at_or_behind(p, position, p->confirmed) &&
	       !wp_fault(WP_FAULT_PARKED_EARLY);
}

static void end_round(struct wp_parking *p)
{
	p->round.state = ROUND_NONE;
	p->round.number++;
	p->round.alone = false;
	p->round.chosen_count = p->round.row_count = p->round.next = 0;
}

/* -- choosing -------------------------------------------------------------------------- */

static bool is_due(const struct wp_parking *p, const struct wp_aggregate *a, bool alone)
{
	return a->due_ms <= p->now_ms && a->alone == alone &&
	       (!alone || p->alone_ms <= p->now_ms) && !may_come_again(p, &a->position);
}

static bool is_before(const struct wp_aggregate *a, const struct wp_aggregate *b)
{
	return a->due_ms != b->due_ms ? a->due_ms < b->due_ms : a->round < b->round;
}

/* Puts it among those that were chosen, if it has been due for longer than one of them. */
static void choose_one(struct round *r, struct wp_aggregate *a, size_t max)
{
	size_t at = r->chosen_count < max ? r->chosen_count++ : max;

	if (at == max && !is_before(a, r->chosen[--at].aggregate))
		return;
	for (; at > 0 && is_before(a, r->chosen[at - 1].aggregate); at--)
		r->chosen[at].aggregate = r->chosen[at - 1].aggregate;
	r->chosen[at].aggregate = a;
}

/*
 * Chooses those that have been due for longest: where some fail again and again, and each attempt
 * takes longer than they wait, all others have their turn.
 */
static void choose_from(struct wp_parking *p, bool alone, size_t max)
{
	struct round *r = &p->round;

	for (size_t i = 0; i < p->set.bucket_count; i++) {
		for (struct wp_aggregate *a = p->set.buckets[i]; a != NULL; a = a->next) {
			if (is_due(p, a, alone))
				choose_one(r, a, max);
		}
	}
	for (size_t i = 0; i < r->chosen_count; i++)
		r->chosen[i] = (struct chosen){ .aggregate = r->chosen[i].aggregate };
}

static void find_due(struct wp_parking *p)
{
	p->set.due_ms = INT64_MAX;
	p->waits_for_it = false;
	for (size_t i = 0; i < p->set.bucket_count; i++) {
		for (const struct wp_aggregate *a = p->set.buckets[i]; a != NULL; a = a->next) {
			int64_t due_ms = a->due_ms;
			if (due_ms <= p->now_ms && may_come_again(p, &a->position)) {
				p->waits_for_it = true;
				continue;
			}
			if (due_ms != INT64_MAX && a->alone && due_ms < p->alone_ms)
				due_ms = p->alone_ms;
			if (due_ms < p->set.due_ms)
				p->set.due_ms = due_ms;
		}
	}
}

/* Those that go alone and the others take turns: neither kind waits for all of the other. */
static void choose_aggregates(struct wp_parking *p)
{
	struct round *r = &p->round;

	r->chosen_count = 0;
	p->alone_turn = !p->alone_turn;
	r->alone = p->alone_turn;
	choose_from(p, r->alone, r->alone ? 1 : WP_ROUND_AGGREGATES_MAX);
	if (r->chosen_count > 0)
		return;
	r->alone = !r->alone;
	choose_from(p, r->alone, r->alone ? 1 : WP_ROUND_AGGREGATES_MAX);
}

static void load_chosen(struct wp_parking *p)
{
	struct wp_parked_choice choices[WP_ROUND_AGGREGATES_MAX];
	struct round *r = &p->round;

	choose_aggregates(p);
	if (r->chosen_count == 0) {
		find_due(p);
		return;
	}
	for (size_t i = 0; i < r->chosen_count; i++) {
		struct wp_aggregate *a = r->chosen[i].aggregate;
		bool one = !a->sending || r->alone;
		r->chosen[i].rows_max = one ? 1 : (uint32_t)(WP_ROUND_ROWS_MAX / r->chosen_count);
		choices[i] = (struct wp_parked_choice){
			.outbox = a->outbox,
			.key = a->has_key ? (struct wp_span){ .data = a->key, .size = a->key_size }
					  : (struct wp_span){ 0 },
			.position = a->position,
			.rows_max = r->chosen[i].rows_max,
		};
		a->fresh = 0;
		a->round = r->number + 1;
	}
	r->state = ROUND_LOADING;
	r->begun_ms = p->now_ms;
	p->loads++;
	p->store->ops->load(p->store, choices, r->chosen_count, ROUND_SIZE_MAX);
}

/* -- the rows have come ------------------------------------------------------------------ */

static void add_news(struct wp_parking *p, const struct wp_parking_news *news)
{
	if (p->news_count < WP_PARKING_NEWS_MAX)
		p->news[p->news_count++] = *news;
}

static void release_aggregate(struct wp_parking *p, struct wp_aggregate *a)
{
	const struct wp_parking_news news = {
		.released = true,
		.position = a->sent,
		.events = a->delivered,
	};

	if (a->delivered > 0)
		add_news(p, &news);
	p->set.codes[a->code].aggregates--;
	wp_aggregates_count(&p->set, a, 0);
	wp_aggregates_drop(&p->set, a);
}

static bool is_row_of(const struct wp_aggregate *a, const struct wp_parked_row *row)
{
	return wp_aggregate_is(a, row->outbox, row->key, &row->position);
}

/* The reason begins with this when that much of the dead letter cannot be delivered either. */
static const char *const LETTER_FAILED[] = {
	[WP_LETTER_WHOLE] = "its dead letter cannot be delivered: ",
	[WP_LETTER_WITHOUT_VALUE] = "its dead letter without a value cannot be delivered: ",
	[WP_LETTER_BARE] = "its dead letter with nothing but headers cannot be delivered: ",
};

/* The attempts alone do not tell which is next: park.retry.attempts may have been another. */
static int next_letter(const struct wp_parking *p, const struct wp_parked_row *row)
{
	size_t max = p->options.retry_attempts;
	int least = (int)wp_dead_letter_least(wp_span_is_null(row->row));

	if (max == 0 || !p->has_dead_letters || row->attempts < max)
		return -1;
	for (int letter = 0; letter <= least; letter++) {
		if (wp_span_begins(row->reason, LETTER_FAILED[letter]))
			return letter < least ? letter + 1 : least;
	}
	return WP_LETTER_WHOLE;
}

/*
 * Fewer rows than were asked for are all that there are, but for those put since. A person may have
 * asked to skip what is missing: it is looked for, even when nothing else is parked.
 */
static void correct(struct wp_parking *p, struct chosen *c, bool is_cut)
{
	uint64_t known = c->came + c->aggregate->fresh;

	if (c->came < c->rows_max && !is_cut && known < c->aggregate->events) {
		p->asked_left = true;
		p->missed_by = p->looks;
	}
	if ((c->came < c->rows_max && !is_cut) || c->aggregate->events < known)
		wp_aggregates_count(&p->set, c->aggregate, known);
}

static void take_parked_row(struct wp_parking *p, struct chosen *c, const struct wp_parked_row *row)
{
	struct round *r = &p->round;

	if (c->came++ == 0)
		c->aggregate->position = row->position;
	if (c->has_next)
		return;
	/* An event from before it may still come by the log. */
	bool is_early = may_come_again(p, &row->position);
	c->next_alone = row->alone && !r->alone;
	c->has_next = is_early || c->next_alone;
	c->next_position = row->position;
	if (c->has_next)
		return;
	r->rows[r->row_count] = (struct row){
		.aggregate = c->aggregate,
		.letter = next_letter(p, row),
	};
	r->loaded[r->row_count++] = row;
	c->rows++;
}

static void take_loaded(struct wp_parking *p)
{
	const struct wp_parked_view *v = wp_parking_view(p);
	struct round *r = &p->round;
	size_t at = 0;
	size_t last = 0; /* the last one that has rows */

	r->row_count = r->next = 0;
	for (size_t i = 0; i < r->chosen_count; i++) {
		struct chosen *c = &r->chosen[i];
		while (at < v->row_count && c->came < c->rows_max &&
		       is_row_of(c->aggregate, &v->rows[at]))
			take_parked_row(p, c, &v->rows[at++]);
		last = c->came > 0 ? i : last;
	}
	for (size_t i = 0; i < r->chosen_count; i++)
		correct(p, &r->chosen[i], v->rows_cut && i >= last);
	r->begun_ms = p->now_ms;
	r->state = ROUND_SENDING;
}

/* -- sending ----------------------------------------------------------------------------- */

static struct chosen *chosen_of(struct round *r, const struct wp_aggregate *a)
{
	size_t i = 0;

	while (r->chosen[i].aggregate != a)
		i++;
	assert(i < r->chosen_count);
	return &r->chosen[i];
}

bool wp_parking_wants_quiet(const struct wp_parking *p)
{
	return p->round.state == ROUND_SENDING && p->round.alone && p->round.row_count > 0 &&
	       (p->may_send || p->round.next > 0);
}

bool wp_parking_next(struct wp_parking *p, bool quiet, struct wp_parking_row *ret)
{
	struct round *r = &p->round;

	if (r->state != ROUND_SENDING || (r->alone && !quiet))
		return false;
	while (r->next < r->row_count && chosen_of(r, r->rows[r->next].aggregate)->failed)
		r->rows[r->next++].state = ROW_LEFT;
	if (r->next == r->row_count)
		return false;
	*ret = (struct wp_parking_row){
		.row = r->loaded[r->next],
		.ticket = WP_PARKED_TICKETS | (r->number & 0xffffffff) << 16 | r->next,
		.letter = r->rows[r->next].letter,
	};
	return true;
}

static int64_t wait_after(const struct wp_parking *p, uint32_t attempts)
{
	int64_t wait_ms = p->options.retry_first_ms;

	for (uint32_t i = 0; i < attempts && wait_ms < p->options.retry_max_ms; i++)
		wait_ms *= 2;
	return wait_ms < p->options.retry_max_ms ? wait_ms : p->options.retry_max_ms;
}

/* After that many attempts comes another, the dead letter or less of it, or a person. */
static void fail_row(struct wp_parking *p, size_t index, const char *code, const char *reason)
{
	const struct wp_parked_row *row = p->round.loaded[index];
	struct row *at = &p->round.rows[index];
	struct chosen *c = chosen_of(&p->round, at->aggregate);
	size_t max = p->options.retry_attempts;
	bool is_last = max > 0 && row->attempts >= max - 1;
	int least = (int)wp_dead_letter_least(wp_span_is_null(row->row));

	at->state = ROW_FAILED;
	c->failed = c->has_next = true;
	c->next_position = row->position;
	c->attempts = row->attempts < INT32_MAX ? row->attempts + 1 : INT32_MAX;
	c->exhausted = is_last && (!p->has_dead_letters || at->letter == least);
	c->due_in_ms = c->exhausted ? INT64_MAX : is_last ? 0 : wait_after(p, c->attempts);
	size_t size = strlen(code);
	size = size < sizeof(c->code) ? size : sizeof(c->code) - 1;
	memcpy(c->code, code, size);
	c->code[size] = '\0';
	(void)wp_error_set(&c->error, WP_DATA, "%s%s",
			   at->letter >= 0 ? LETTER_FAILED[at->letter] : "", reason);
	p->figures.failed++;
	const struct wp_parking_news news = {
		.failed = true,
		.exhausted = c->exhausted,
		.position = row->position,
		.error = c->error,
	};
	add_news(p, &news);
}

void wp_parking_sent(struct wp_parking *p, enum wp_rc rc, const struct wp_error *error)
{
	struct round *r = &p->round;

	if (rc == WP_OK) {
		r->is_quiet = r->alone;
		r->rows[r->next++].state = ROW_SENT;
	} else if (rc == WP_DATA) {
		fail_row(p, r->next++, "NOT_SENDABLE", error->text);
	}
}

void wp_parking_dropped(struct wp_parking *p)
{
	p->round.rows[p->round.next++].state = ROW_DROPPED;
}

static struct row *row_of_ticket(struct wp_parking *p, wp_ticket ticket, size_t *ret_index)
{
	struct round *r = &p->round;

	*ret_index = ticket & 0xffff;
	if (r->state != ROUND_SENDING ||
	    ((ticket & ~WP_PARKED_TICKETS) >> 16) != (r->number & 0xffffffff) ||
	    *ret_index >= r->row_count || r->rows[*ret_index].state != ROW_SENT)
		return NULL;
	return &r->rows[*ret_index];
}

bool wp_parking_went_alone(const struct wp_parking *p, wp_ticket ticket)
{
	size_t index;

	return p->round.is_quiet && p->round.alone &&
	       row_of_ticket((struct wp_parking *)p, ticket, &index) != NULL;
}

void wp_parking_report(struct wp_parking *p, const struct wp_report *report, const char *reason)
{
	size_t index;
	struct row *row = row_of_ticket(p, report->ticket, &index);

	if (row == NULL)
		return;
	if (report->outcome == WP_CONFIRMED) {
		row->state = ROW_CONFIRMED;
	} else if (report->outcome == WP_REFUSED && reason != NULL) {
		fail_row(p, index, report->code, reason);
		/* The producer begins anew after this. */
		p->is_refused = true;
		p->alone_ms = p->now_ms + (p->options.retry_first_ms < ALONE_PAUSE_MS
						   ? p->options.retry_first_ms
						   : ALONE_PAUSE_MS);
	} else {
		row->state = ROW_LEFT;
	}
}

static bool is_round_over(const struct round *r)
{
	for (size_t i = 0; i < r->row_count; i++) {
		bool is_sent =
			r->rows[i].state == ROW_SENT && !wp_fault(WP_FAULT_PARKED_HASTY_DELETE);
		if (r->rows[i].state == ROW_UNSENT || is_sent)
			return false;
	}
	return true;
}

/* -- what became of it ---------------------------------------------------------------------- */

enum wp_rc wp_parking_submit(struct wp_parking *p, const struct wp_parked_change *changes,
			     size_t count)
{
	enum wp_rc rc = count > 0 ? p->store->ops->change(p->store, changes, count) : WP_OK;

	p->submitted += rc == WP_OK ? count : 0;
	return rc;
}

static void count_confirmed(struct wp_parking *p, const struct row *row,
			    struct wp_position position)
{
	struct wp_parking_news news = { .letter = true, .position = position };
	row->aggregate->delivered += row->letter < 0 ? 1 : 0;
	row->aggregate->sent = row->letter < 0 ? position : row->aggregate->sent;
	p->figures.delivered += row->letter < 0 ? 1 : 0;
	p->figures.dead_letters += row->letter < 0 ? 0 : 1;
	if (row->letter >= 0)
		add_news(p, &news);
}

/* Submits what became of rows that are over: what is in flight stays as it is. */
static enum wp_rc submit_changes(struct wp_parking *p)
{
	struct wp_parked_change changes[WP_ROUND_ROWS_MAX];
	struct round *r = &p->round;
	size_t count = 0;

	for (size_t i = 0; i < r->row_count; i++) {
		struct chosen *c = chosen_of(r, r->rows[i].aggregate);
		const struct wp_position position = r->loaded[i]->position;
		bool is_sent =
			r->rows[i].state == ROW_SENT && wp_fault(WP_FAULT_PARKED_HASTY_DELETE);
		bool is_dropped = r->rows[i].state == ROW_DROPPED;
		if (r->rows[i].state == ROW_CONFIRMED || is_sent || is_dropped) {
			changes[count++] = (struct wp_parked_change){
				.kind = WP_PARKED_DELETE,
				.position = position,
			};
			c->deleted++;
			if (!is_dropped)
				count_confirmed(p, &r->rows[i], position);
		} else if (r->rows[i].state == ROW_FAILED) {
			changes[count++] = (struct wp_parked_change){
				.kind = WP_PARKED_FAILED,
				.position = position,
				.reason = c->error.text,
				.code = c->code,
				.attempts = c->attempts,
				.alone = r->alone,
				.due_in_ms = c->due_in_ms,
			};
		}
	}
	r->state = ROUND_CHANGING;
	return wp_parking_submit(p, changes, count);
}

/* What is known of the round is not lost with it; without memory some of it is sent twice. */
void wp_parking_give_up_round(struct wp_parking *p)
{
	if (p->round.state == ROUND_SENDING)
		(void)!submit_changes(p);
	end_round(p);
}

static void end_chosen(struct wp_parking *p, struct chosen *c)
{
	struct wp_aggregate *a = c->aggregate;
	uint64_t deleted = c->deleted < a->events ? c->deleted : a->events;

	wp_aggregates_count(&p->set, a, a->events - deleted);
	if (a->events == 0 || (wp_fault(WP_FAULT_PARKED_RELEASED) && a->events <= a->fresh)) {
		release_aggregate(p, a);
		return;
	}
	if (c->has_next)
		a->position = c->next_position;
	bool all = !c->failed && c->deleted == c->rows;
	a->sending = all && (c->rows > 0 || a->sending);
	a->credit = a->sending ? a->credit + deleted : 0;
	a->moved_ms = deleted > 0 ? p->now_ms : a->moved_ms;
	/* Whether the row behind those goes alone is not known, unless it came too. */
	a->alone = c->next_alone || (a->alone && deleted == 0);
	if (!c->failed) {
		wp_aggregates_set_due(&p->set, a, p->now_ms);
		return;
	}
	a->alone = p->round.alone;
	wp_aggregates_set_code(&p->set, a, wp_span_of(c->code), false);
	wp_aggregates_set_due(&p->set, a, wp_parking_after(p->now_ms, c->due_in_ms));
}

static bool is_in_flight(const struct round *r)
{
	for (size_t i = 0; i < r->row_count; i++) {
		if (r->rows[i].state == ROW_SENT)
			return true;
	}
	return false;
}

bool wp_parking_end(struct wp_parking *p, bool sink_rests)
{
	struct round *r = &p->round;

	if (r->state == ROUND_SENDING && (sink_rests || !is_in_flight(r)))
		wp_parking_give_up_round(p);
	enum wp_parked_state state = wp_parking_view(p)->state;
	bool is_awaited = p->under_way > 0 || wp_parking_view(p)->changed < p->submitted;
	/* A store that is fenced does nothing more. */
	bool works = state == WP_PARKED_OPENING || state == WP_PARKED_READY;
	return r->state == ROUND_SENDING || (works && is_awaited);
}

enum wp_rc wp_parking_suspect(struct wp_parking *p)
{
	struct wp_parked_change changes[WP_ROUND_ROWS_MAX];
	const struct round *r = &p->round;
	size_t count = 0;

	if (r->state != ROUND_SENDING || r->alone)
		return WP_OK;
	for (size_t i = 0; i < r->row_count; i++) {
		if (r->rows[i].state == ROW_SENT)
			changes[count++] = (struct wp_parked_change){
				.kind = WP_PARKED_ALONE,
				.position = r->loaded[i]->position,
			};
	}
	return wp_parking_submit(p, changes, count);
}

/* -- a step ------------------------------------------------------------------------------------ */

enum wp_rc wp_parking_step_round(struct wp_parking *p, bool may_send)
{
	struct round *r = &p->round;
	enum wp_rc rc = WP_OK;

	/* Loaded before the last changes are made, rows would be sent twice, or as they were. */
	if (r->state == ROUND_NONE && may_send && p->set.due_ms <= p->now_ms &&
	    wp_parking_view(p)->changed >= p->submitted)
		load_chosen(p);
	if (r->state == ROUND_LOADING && wp_parking_view(p)->loads >= p->loads)
		take_loaded(p);
	if (r->state == ROUND_SENDING && r->alone && r->next == 0 && r->row_count > 0 &&
	    p->now_ms - r->begun_ms >= QUIET_MS) {
		wp_aggregates_set_due(&p->set, r->chosen[0].aggregate,
				      p->now_ms + p->options.retry_first_ms);
		p->alone_ms = p->now_ms + ALONE_PAUSE_MS;
		end_round(p);
	}
	if (r->state == ROUND_SENDING && is_round_over(r))
		rc = submit_changes(p);
	if (r->state == ROUND_CHANGING && wp_parking_view(p)->changed >= p->submitted) {
		for (size_t i = 0; i < r->chosen_count; i++)
			end_chosen(p, &r->chosen[i]);
		end_round(p);
	}
	return rc;
}

int64_t wp_parking_round_due(const struct wp_parking *p)
{
	bool waits = wp_parking_wants_quiet(p) && p->round.next == 0;

	return waits ? p->round.begun_ms + QUIET_MS : INT64_MAX;
}
