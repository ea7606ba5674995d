/*
 * What the server has of parked events: the tables, the statements on their way to it, the standby
 * that they must reach, and people who meddle with them. And which events cannot be delivered.
 */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "walpost/base/backoff.h"
#include "walpost/relay/faults.h"
#include "world.h"

enum {
	LOCK_TIMEOUT_MS = 3000,
	LATE_MS = 6000,
	CURE_MAX_MS = 30 * 1000,
};

/* -- which events cannot be delivered ------------------------------------------ */

bool park_is_refused(const struct world *w, uint32_t event, enum refusal by)
{
	return w->park != NULL && w->park->refusal[event] == by &&
	       w->now_ms < w->park->cure_ms[event];
}

static bool is_refused(const struct world *w, uint32_t event)
{
	return w->park->refusal[event] != DELIVERABLE && w->now_ms < w->park->cure_ms[event];
}

/* As a row. Hashed, so that it is the same each time: most are small, some are of megabytes. */
size_t park_size_of(const struct world *w, uint32_t event)
{
	uint64_t state = w->park->size_seed ^ (event * UINT64_C(0x9E3779B97F4A7C15));
	uint64_t n = wp_random_next(&state);

	return n % 32 == 0 ? 1 + (n >> 8) % (5 * 1024 * 1024) : 500;
}

static enum refusal draw_refusal(struct world *w)
{
	uint64_t n = any(w, 10);

	if (w->park->is_calm)
		return BY_SINK;
	return n == 0 ? BY_SHAPE : n < 5 ? BY_SINK : BY_KAFKA;
}

void park_commit(struct world *w, uint32_t event)
{
	struct park *p = w->park;

	w->server.aggregate_of[event] =
		chance(w, p->hot_per_mille) ? 0 : (uint8_t)any(w, p->aggregates);
	p->keyless[event] = chance(w, p->keyless_per_mille);
	if (!chance(w, p->guilty_per_mille) || p->guilty_ever == p->guilty_max)
		return;
	p->guilty_ever++;
	p->refusal[event] = draw_refusal(w);
	p->cure_ms[event] = p->refusal[event] == BY_SHAPE || chance(w, p->never_per_mille)
				    ? INT64_MAX
				    : w->now_ms + (int64_t)any(w, (uint64_t)p->cure_max_ms);
	p->bulky[event] = chance(w, 300);
	p->unstorable[event] = chance(w, p->unstorable_per_mille);
	p->guilty[p->guilty_count++] = event;
	w->broker.was_poison[event] = true;
	w->broker.is_poison[event] = p->refusal[event] == BY_KAFKA;
	trace(w, "event %u of a%u is refused by %d, until %lld", event,
	      w->server.aggregate_of[event], (int)p->refusal[event], (long long)p->cure_ms[event]);
}

static void cure(struct world *w)
{
	struct park *p = w->park;
	size_t kept = 0;

	for (size_t i = 0; i < p->guilty_count; i++) {
		uint32_t event = p->guilty[i];
		if (w->now_ms < p->cure_ms[event])
			p->guilty[kept++] = event;
		else
			w->broker.is_poison[event] = false;
	}
	p->guilty_count = kept;
}

/* -- the table -------------------------------------------------------------------- */

static bool is_there(const struct park *p, uint32_t event)
{
	return p->rows[event].there;
}

static void enter(struct park *p, uint32_t event)
{
	size_t at = p->there_count++;

	for (; at > 0 && p->there[at - 1] > event; at--)
		p->there[at] = p->there[at - 1];
	p->there[at] = event;
}

static void leave(struct park *p, uint32_t event)
{
	size_t at = 0;

	while (p->there[at] != event)
		at++;
	memmove(&p->there[at], &p->there[at + 1], (--p->there_count - at) * sizeof(p->there[0]));
}

static void note(struct park *p, const struct journal_entry *entry)
{
	if (!p->has_standby)
		return;
	if (p->journal_count == p->journal_room) {
		p->journal_room = p->journal_room == 0 ? 1024 : p->journal_room * 2;
		p->journal = realloc(p->journal, p->journal_room * sizeof(*p->journal));
		assert(p->journal != NULL);
	}
	p->journal[p->journal_count++] = *entry;
}

static void write_row(struct park *p, uint32_t event, const struct parked_row *row)
{
	if (row->there && !is_there(p, event))
		enter(p, event);
	else if (!row->there && is_there(p, event))
		leave(p, event);
	p->rows[event] = *row;
	note(p, &(struct journal_entry){ .event = event, .row = *row });
}

unsigned park_aggregate(struct wp_span key)
{
	unsigned n = 0;

	for (size_t i = 1; i < key.size; i++)
		n = n * 10 + (unsigned)(key.data[i] - '0');
	return n;
}

uint32_t park_event_at(const struct world *w, const struct wp_position *position)
{
	const struct server *s = &w->server;
	size_t low = 0, high = s->transaction_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (s->transactions[middle].commit_lsn < position->commit_lsn)
			low = middle + 1;
		else
			high = middle;
	}
	assert(low < s->transaction_count &&
	       s->transactions[low].commit_lsn == position->commit_lsn);
	return s->transactions[low].first_event + position->ordinal;
}

/* Of the aggregate of that key; without one, of itself. */
bool park_is_of(const struct world *w, uint32_t event, struct wp_span key,
		const struct wp_position *position)
{
	if (wp_span_is_null(key))
		return event == park_event_at(w, position);
	return !w->park->keyless[event] && w->server.aggregate_of[event] == park_aggregate(key);
}

static bool is_same_aggregate(const struct world *w, uint32_t a, uint32_t b)
{
	if (a == b)
		return true;
	return !w->park->keyless[a] && !w->park->keyless[b] &&
	       w->server.aggregate_of[a] == w->server.aggregate_of[b];
}

/* -- the standby ------------------------------------------------------------------- */

static void apply(struct park *p)
{
	const struct journal_entry *e = &p->journal[p->applied++];

	if (e->is_generation)
		p->standby_generation = e->generation;
	else
		p->standby[e->event] = e->row;
}

static void standby_tick(struct world *w)
{
	struct park *p = w->park;

	if (!p->has_standby || w->now_ms < p->standby_stalls_until_ms)
		return;
	if (chance(w, 5) && !p->is_calm)
		p->standby_stalls_until_ms = w->now_ms + (int64_t)any(w, 3000);
	for (uint64_t n = any(w, 40); n > 0 && p->applied < p->journal_count; n--)
		apply(p);
}

void park_failover(struct world *w)
{
	struct park *p = w->park;

	trace(w, "failover: %zu changes of parked events are lost", p->journal_count - p->applied);
	for (size_t i = p->applied; i < p->journal_count; i++) {
		uint32_t event = p->journal[i].event;
		/* What a person asked for is lost, too. */
		if (!p->journal[i].is_generation && p->rows[event].act != p->standby[event].act)
			trace(w, "event %u: what was asked for is lost", event);
	}
	memcpy(p->rows, p->standby, sizeof(p->rows));
	p->generation = p->standby_generation;
	p->journal_count = p->applied;
	p->there_count = 0;
	for (uint32_t e = 0; e < w->server.event_count; e++)
		if (p->rows[e].there)
			p->there[p->there_count++] = e;
}

/* -- promises ----------------------------------------------------------------------- */

bool park_is_safe(const struct world *w, uint32_t event)
{
	const struct park *p = w->park;

	if (w->broker.kept[event])
		return true;
	if (p == NULL)
		return false;
	return p->given_up[event] ||
	       (is_there(p, event) && (!p->has_standby || p->standby[event].there));
}

uint32_t park_first_unsettled(const struct world *w)
{
	const struct park *p = w->park;
	bool blocked[AGGREGATES_MAX] = { false };

	for (uint32_t e = 0; e < w->server.event_count; e++) {
		bool *is_blocked = &blocked[w->server.aggregate_of[e]];
		bool blocks = is_there(p, e) && is_refused(w, e) && !p->ends_as_letter;
		*is_blocked |= blocks && !p->keyless[e];
		bool waits = p->keyless[e] ? blocks : *is_blocked;
		if (is_there(p, e) ? !waits : !w->broker.kept[e] && !p->given_up[e])
			return e;
	}
	return w->server.event_count;
}

static void check_delete(struct world *w, uint32_t event)
{
	const struct park *p = w->park;

	if (!w->broker.kept[event] && !p->given_up[event])
		violate(w, "a parked event was deleted before Kafka had it", "event %u", event);
}

/* -- statements ---------------------------------------------------------------------- */

static bool is_fenced(const struct park *p, const struct statement *s)
{
	if (s->kind == STATEMENT_PUT && wp_fault(WP_FAULT_PARKED_UNFENCED))
		return false;
	return s->generation != p->generation;
}

static void insert(struct world *w, const struct put *put)
{
	struct parked_row row = put->row;

	if (is_there(w->park, put->event))
		return;
	row.there = true;
	row.place = put->event;
	row.parked_ms = w->now_ms;
	if (row.due_ms != INT64_MAX)
		row.due_ms += w->now_ms;
	write_row(w->park, put->event, &row);
	trace(w, "event %u is in the table", put->event);
}

static uint64_t place_behind(const struct world *w, uint32_t event)
{
	uint64_t place = 0;

	for (size_t i = 0; i < w->park->there_count; i++) {
		uint32_t other = w->park->there[i];
		if (is_same_aggregate(w, other, event) && w->park->rows[other].place >= place)
			place = w->park->rows[other].place + 1;
	}
	return place;
}

static void change(struct world *w, const struct stored_change *c)
{
	struct parked_row row = w->park->rows[c->event];

	if (!row.there)
		return;
	switch (c->kind) {
	case WP_PARKED_DELETE:
		check_delete(w, c->event);
		row = (struct parked_row){ 0 };
		trace(w, "event %u is deleted from the table", c->event);
		break;
	case WP_PARKED_FAILED:
		if (row.attempts + 1 != c->row.attempts)
			return;
		memcpy(row.code, c->row.code, sizeof(row.code));
		memcpy(row.reason, c->row.reason, sizeof(row.reason));
		row.attempts = c->row.attempts;
		row.alone = c->row.alone;
		row.due_ms = c->due_in_ms == INT64_MAX ? INT64_MAX : w->now_ms + c->due_in_ms;
		if (wp_fault(WP_FAULT_PARKED_MOVES_BACK))
			row.place = place_behind(w, c->event);
		break;
	case WP_PARKED_ALONE:
		row.alone = true;
		break;
	case WP_PARKED_HEARD:
		row.attempts = 0;
		row.due_ms = w->now_ms;
		row.act = row.act == ASKED_RETRY ? NOT_ASKED : row.act;
		break;
	}
	write_row(w->park, c->event, &row);
}

/* Only the process that streams from the slot takes its parked events over. */
static void raise_generation(struct world *w, struct statement *s)
{
	const struct server *server = &w->server;

	if (server->holder < 0 || server->links[server->holder].serial != s->link_serial) {
		s->fenced = true;
		return;
	}
	w->park->generation++;
	note(w->park,
	     &(struct journal_entry){ .is_generation = true, .generation = w->park->generation });
}

/* Postgres can never take one of its rows. */
static bool is_of_data(const struct park *p, const struct statement *s)
{
	for (size_t i = 0; i < s->count && s->kind == STATEMENT_PUT; i++) {
		if (p->unstorable[s->puts[i].event])
			return true;
	}
	return false;
}

static void execute(struct world *w, struct statement *s)
{
	struct park *p = w->park;

	switch (s->kind) {
	case STATEMENT_RAISE:
		raise_generation(w, s);
		break;
	case STATEMENT_PUT:
		s->fenced = is_fenced(p, s);
		for (size_t i = 0; i < s->count && !s->fenced; i++)
			insert(w, &s->puts[i]);
		break;
	case STATEMENT_CHANGE:
		s->fenced = is_fenced(p, s);
		for (size_t i = 0; i < s->count && !s->fenced; i++)
			change(w, &s->changes[i]);
		break;
	case STATEMENT_LOAD:
	case STATEMENT_LOOK:
		s->fenced = is_fenced(p, s);
		break;
	default:
		break;
	}
	s->generation_now = p->generation;
	s->mark = s->kind == STATEMENT_STANDBY ? p->applied : p->journal_count;
	if (s->asker != NULL && !s->refused && !s->fenced)
		fake_parked_read(s->asker, s->kind);
}

static bool writes(const struct statement *s)
{
	return s->kind == STATEMENT_RAISE || s->kind == STATEMENT_PUT ||
	       s->kind == STATEMENT_CHANGE;
}

static void land(struct world *w, struct statement *s)
{
	const struct park *p = w->park;
	bool locked = w->now_ms < p->locked_until_ms && writes(s);

	if (w->server.state != SERVER_UP) {
		s->landed = s->broken = true;
	} else if (locked && w->now_ms - s->lands_ms < LOCK_TIMEOUT_MS) {
		return;
	} else {
		s->landed = true;
		if (locked || (w->now_ms < p->trouble_until_ms && (p->troubled >> s->kind & 1)))
			s->refused = true;
		else if (is_of_data(p, s))
			s->refused_for_good = true;
		else
			execute(w, s);
		s->broken = s->loses_answer;
	}
	s->answers_ms = w->now_ms + 1 + (int64_t)any(w, 6);
	if (s->asker == NULL)
		s->used = false;
}

struct statement *park_send(struct world *w, struct fake_parked *asker, enum statement_kind kind)
{
	struct park *p = w->park;
	struct statement *s = NULL;

	for (size_t i = 0; i < STATEMENTS_MAX && s == NULL; i++)
		s = p->statements[i].used ? NULL : &p->statements[i];
	for (size_t i = 0; i < STATEMENTS_MAX && s == NULL; i++)
		s = p->statements[i].asker == NULL ? &p->statements[i] : NULL;
	assert(s != NULL);
	bool is_slow = chance(w, p->slow_per_mille);
	*s = (struct statement){
		.used = true,
		.asker = asker,
		.kind = kind,
		.generation = asker->generation,
		.sent_ms = w->now_ms,
		.lands_ms = w->now_ms + 1 + (int64_t)any(w, is_slow ? 2000 : 6),
	};
	if (chance(w, p->loss_per_mille)) {
		s->loses_answer = true;
		if (chance(w, 500)) { /* nor did it arrive */
			s->landed = s->broken = true;
			s->answers_ms = s->lands_ms;
		}
	}
	return s;
}

void park_abandon(struct world *w, struct statement *s)
{
	s->asker = NULL;
	if (s->landed || chance(w, 400))
		s->used = false;
	else if (chance(w, 500))
		s->lands_ms += (int64_t)any(w, LATE_MS);
}

void park_break_connections(struct world *w)
{
	for (size_t i = 0; i < STATEMENTS_MAX; i++) {
		struct statement *s = &w->park->statements[i];
		if (s->used && s->asker == NULL)
			s->used = false;
		if (!s->used || s->broken)
			continue;
		s->landed = s->broken = true;
		s->answers_ms = w->now_ms + 1;
	}
}

static void statements_tick(struct world *w)
{
	for (size_t i = 0; i < STATEMENTS_MAX; i++) {
		struct statement *s = &w->park->statements[i];
		if (s->used && !s->landed && w->now_ms >= s->lands_ms)
			land(w, s);
	}
}

static void trouble(struct world *w)
{
	struct park *p = w->park;

	if (!chance(w, p->trouble_per_mille))
		return;
	if (chance(w, 500)) {
		p->locked_until_ms = w->now_ms + (int64_t)any(w, 8000);
		trace(w, "walpost.parking is locked");
		return;
	}
	p->trouble_until_ms = w->now_ms + (int64_t)any(w, 10000);
	p->troubled = (unsigned)any(w, 1 << STATEMENT_KINDS);
	trace(w, "statements are refused: %x", p->troubled);
}

/* -- people -------------------------------------------------------------------------- */

static void ask(struct world *w, uint32_t event, enum parked_act act)
{
	struct parked_row row = w->park->rows[event];

	if (row.act == ASKED_SKIP)
		return;
	if (row.act == act)
		return;
	row.act = act;
	w->park->given_up[event] |= act == ASKED_SKIP;
	w->park->was_retried[event] |= act == ASKED_RETRY;
	write_row(w->park, event, &row);
	trace(w, "a person asks for event %u: %s", event, act == ASKED_SKIP ? "skip" : "retry");
}

static uint32_t head_of(const struct world *w, uint32_t event)
{
	size_t i = 0;

	while (!is_same_aggregate(w, w->park->there[i], event) ||
	       (w->park->rows[w->park->there[i]].act == ASKED_SKIP && w->park->there[i] != event))
		i++;
	return w->park->there[i];
}

void park_people(struct world *w)
{
	struct park *p = w->park;

	if (w->server.state != SERVER_UP || !chance(w, p->people_per_mille) || p->there_count == 0)
		return;
	uint32_t event = p->there[any(w, p->there_count)];
	switch (any(w, 10)) {
	case 0:
		for (size_t i = 0; i < p->there_count; i++)
			if (is_same_aggregate(w, p->there[i], event))
				ask(w, p->there[i], ASKED_SKIP);
		break;
	case 1:
		ask(w, event, ASKED_SKIP);
		break;
	case 2:
		ask(w, event, ASKED_RETRY);
		break;
	case 3:
	case 4:
		ask(w, head_of(w, event), ASKED_SKIP);
		break;
	default:
		ask(w, head_of(w, event), ASKED_RETRY);
		break;
	}
}

void park_make_storable(struct world *w)
{
	memset(w->park->unstorable, 0, sizeof(w->park->unstorable));
}

void park_purge(struct world *w)
{
	for (size_t i = 0; i < w->park->there_count; i++)
		ask(w, w->park->there[i], ASKED_SKIP);
}

void park_heal(struct world *w, bool all)
{
	struct park *p = w->park;

	p->trouble_until_ms = p->locked_until_ms = p->standby_stalls_until_ms = 0;
	p->trouble_per_mille = p->people_per_mille = 0;
	p->all_cured = all;
	for (size_t i = 0; i < p->guilty_count; i++) {
		uint32_t event = p->guilty[i];
		if (p->refusal[event] != BY_SHAPE && (all || p->cure_ms[event] != INT64_MAX))
			p->cure_ms[event] = w->now_ms;
	}
	cure(w);
}

void park_tend(struct world *w)
{
	struct park *p = w->park;

	for (size_t i = 0; i < p->there_count && w->server.state == SERVER_UP; i++) {
		uint32_t event = p->there[i];
		if (p->all_cured && is_refused(w, event))
			ask(w, event, ASKED_SKIP); /* nobody can cure it */
		else if (p->rows[event].due_ms == INT64_MAX && !is_refused(w, event))
			ask(w, event, ASKED_RETRY);
	}
}

/* -- all ------------------------------------------------------------------------------ */

void park_init(struct world *w)
{
	struct park *p = calloc(1, sizeof(*p));

	assert(p != NULL);
	w->park = p;
	p->aggregates = chance(w, 300) ? 2 : chance(w, 500) ? 12 : 200;
	p->hot_per_mille = chance(w, 500) ? 0 : 1 + (unsigned)any(w, 700);
	p->keyless_per_mille = chance(w, 500) ? 0 : 1 + (unsigned)any(w, 300);
	p->guilty_per_mille = chance(w, 100) ? 0 : 1 + (unsigned)any(w, chance(w, 300) ? 100 : 15);
	p->never_per_mille = chance(w, 500) ? 0 : 1 + (unsigned)any(w, 1000);
	p->guilty_max = p->never_per_mille > 0 ? 1 + any(w, 40) : EVENTS_MAX;
	p->cure_max_ms = 1 + (int64_t)any(w, CURE_MAX_MS);
	p->puts_max = chance(w, 700) ? FAKE_PUTS_MAX : 1 + any(w, 20);
	p->trouble_per_mille = chance(w, 600) ? 0 : 1 + (unsigned)any(w, 4);
	p->loss_per_mille = chance(w, 500) ? 0 : 1 + (unsigned)any(w, 60);
	p->slow_per_mille = chance(w, 500) ? 10 : 1 + (unsigned)any(w, 150);
	p->people_per_mille = chance(w, 600) ? 0 : 1 + (unsigned)any(w, 10);
	p->unstorable_per_mille = chance(w, 800) ? 0 : 1 + (unsigned)any(w, 100);
	p->is_calm = chance(w, 200);
	if (p->is_calm) /* but for people, who make room */
		p->trouble_per_mille = p->loss_per_mille = p->slow_per_mille = p->people_per_mille =
			0;
	p->size_seed = wp_random_next(&w->random);
	p->has_standby = chance(w, 300);
	if (p->has_standby && p->puts_max < STATEMENT_ROWS_MAX)
		p->puts_max = STATEMENT_ROWS_MAX; /* else it would take too long */
	if (p->has_standby)
		p->standby = calloc(EVENTS_MAX, sizeof(*p->standby));
	assert(!p->has_standby || p->standby != NULL);
}

static void release_content(struct parked_content *c)
{
	free(c->outbox);
	free(c->key);
	free(c->relation);
	free(c->row);
	free(c->settings);
}

void park_release(struct world *w)
{
	if (w->park == NULL)
		return;
	for (size_t i = 0; i < EVENTS_MAX; i++)
		release_content(&w->park->contents[i]);
	free(w->park->standby);
	free(w->park->journal);
	free(w->park);
	w->park = NULL;
}

void park_tick(struct world *w)
{
	cure(w);
	trouble(w);
	statements_tick(w);
	standby_tick(w);
}
