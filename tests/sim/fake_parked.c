/*
 * A store of parked events (source/parked.h) on the simulated server's tables: one statement after the
 * other on a connection of its own, in any order that the contract leaves open.
 */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "walpost/base/json.h"
#include "walpost/relay/faults.h"
#include "world.h"

enum { CHANGES_MAX = 20000, STANDBY_EVERY_MS = 50 };

static struct fake_parked *self(struct wp_parked_store *s)
{
	return (struct fake_parked *)s;
}

static struct wp_span text_span(const char *text)
{
	return text != NULL ? wp_span_of(text) : (struct wp_span){ 0 };
}

/* -- what was put ------------------------------------------------------------------ */

static char *copy_text(struct wp_span text)
{
	char *copy = calloc(1, text.size + 1);

	assert(copy != NULL);
	memcpy(copy, text.data, text.size);
	return copy;
}

/* NULL: it is null. */
static char *text_of(const struct wp_json *value)
{
	struct wp_buffer text;

	if (value->kind == WP_JSON_NULL)
		return NULL;
	if (value->kind != WP_JSON_STRING)
		return copy_text(value->text);
	wp_buffer_init(&text, 1 << 20);
	if (wp_json_unescape(value->text, &text) != WP_OK)
		abort();
	char *copy = copy_text(wp_buffer_span(&text));
	wp_buffer_release(&text);
	return copy;
}

static void keep(char **to, char *text)
{
	free(*to);
	*to = text;
}

static void keep_short(char *to, size_t size, const struct wp_json *value)
{
	char *text = text_of(value);

	snprintf(to, size, "%s", text);
	free(text);
}

struct member {
	const char *name;
	struct wp_json value;
};

enum member_at {
	POSITION,
	COMMITTED,
	OUTBOX,
	KEY,
	RELATION,
	ROW,
	SETTINGS,
	CODE,
	REASON,
	FIRST_REASON,
	DUE,
	ALONE,
	MEMBERS,
};

static void read_members(struct wp_span row, struct member *members)
{
	struct wp_json_walk walk;
	struct wp_span name;
	struct wp_json value;

	wp_json_walk_text(&walk, row);
	while (wp_json_walk_next(&walk, &name, &value)) {
		for (size_t i = 0; i < MEMBERS; i++) {
			if (name.size == strlen(members[i].name) + 2 &&
			    memcmp(name.data + 1, members[i].name, name.size - 2) == 0)
				members[i].value = value;
		}
	}
	assert(walk.state == WP_JSON_WALK_ENDED);
}

static int64_t number_of(const struct wp_json *value)
{
	return strtoll((const char *)value->text.data, NULL, 10);
}

static void keep_content(struct parked_content *c, const struct member *m)
{
	keep(&c->outbox, text_of(&m[OUTBOX].value));
	keep(&c->key, text_of(&m[KEY].value));
	keep(&c->relation, text_of(&m[RELATION].value));
	keep(&c->row, text_of(&m[ROW].value));
	keep(&c->settings, text_of(&m[SETTINGS].value));
	c->commit_time_us = number_of(&m[COMMITTED].value);
}

static struct put read_put(struct fake_parked *s, struct wp_span row)
{
	struct member m[MEMBERS] = {
		[POSITION] = { .name = "position" }, [COMMITTED] = { .name = "committed_at_us" },
		[OUTBOX] = { .name = "outbox" },     [KEY] = { .name = "key" },
		[RELATION] = { .name = "relation" }, [ROW] = { .name = "row" },
		[SETTINGS] = { .name = "settings" }, [CODE] = { .name = "code" },
		[REASON] = { .name = "reason" },     [FIRST_REASON] = { .name = "first_reason" },
		[DUE] = { .name = "due_in_ms" },     [ALONE] = { .name = "alone" },
	};
	struct wp_position position;
	struct put put = { 0 };

	read_members(row, m);
	char *text = text_of(&m[POSITION].value);
	if (wp_position_parse(wp_span_of(text), &position) != WP_OK)
		abort();
	free(text);
	put.event = park_event_at(s->world, &position);
	put.size = park_size_of(s->world, put.event);
	struct parked_content *content = &s->world->park->contents[put.event];
	if (content->outbox == NULL) {
		keep_content(content, m);
		content->position = position;
	}
	put.row.alone = m[ALONE].value.kind == WP_JSON_TRUE;
	/* Without one it is a later event: due when the first is. */
	put.row.due_ms = wp_span_is_null(m[DUE].value.text) ? 0 : number_of(&m[DUE].value);
	keep_short(put.row.code, sizeof(put.row.code), &m[CODE].value);
	keep_short(put.row.reason, sizeof(put.row.reason), &m[REASON].value);
	keep_short(put.row.first_reason, sizeof(put.row.first_reason), &m[FIRST_REASON].value);
	return put;
}

/* -- failures ------------------------------------------------------------------------ */

static void wake(struct fake_parked *s)
{
	s->world->wake[s->relay] = true;
}

static void fail(struct fake_parked *s, const char *why)
{
	(void)wp_error_set(&s->view.error, WP_IO, "%s", why);
	s->again_ms = s->world->now_ms + 20 + (int64_t)any(s->world, 500);
	wake(s);
}

static void drop(struct fake_parked *s)
{
	if (s->statement != NULL)
		park_abandon(s->world, s->statement);
	s->statement = NULL;
	s->sent = s->committed;
	s->changes_sent = 0;
}

/* -- what the server answers ------------------------------------------------------------ */

/* What is told of it outlives the row. */
static struct wp_span constant(const char *code)
{
	static const char *const CODES[] = { "FOLLOWS", "NOT_SENDABLE", "MSG_SIZE_TOO_LARGE" };

	for (size_t i = 0; i < sizeof(CODES) / sizeof(CODES[0]); i++) {
		if (strcmp(CODES[i], code) == 0)
			return wp_span_of(CODES[i]);
	}
	return wp_span_of("ANOTHER");
}

static void *room_for(size_t count, size_t size)
{
	void *room = calloc(count + 1, size);

	assert(room != NULL);
	return room;
}

static void read_first(const struct fake_parked *s, uint32_t event, struct wp_parked_aggregate *a)
{
	const struct park *p = s->world->park;
	const struct parked_row *row = &p->rows[event];

	*a = (struct wp_parked_aggregate){
		.outbox = text_span(p->contents[event].outbox),
		.key = text_span(p->contents[event].key),
		.position = p->contents[event].position,
		.code = constant(row->code),
		.settings = text_span(p->contents[event].settings),
		.alone = row->alone,
		.due_in_ms = row->due_ms == INT64_MAX ? INT64_MAX : row->due_ms - s->world->now_ms,
		.age_ms = s->world->now_ms - row->parked_ms,
	};
}

/* By place, which is by position. */
static size_t find_aggregate(const struct fake_parked *s, size_t count, uint32_t event)
{
	const struct parked_content *c = &s->world->park->contents[event];
	size_t i = 0;

	while (i < count && (c->key == NULL || !wp_span_is(s->aggregates[i].key, c->key)))
		i++;
	return i;
}

static void read_set(struct fake_parked *s)
{
	const struct park *p = s->world->park;
	size_t count = 0, position_count = 0;

	free(s->aggregates);
	free(s->positions);
	s->aggregates = room_for(p->there_count, sizeof(*s->aggregates));
	s->positions = room_for(p->there_count, sizeof(*s->positions));
	for (size_t i = 0; i < p->there_count; i++) {
		uint32_t event = p->there[i];
		if (p->contents[event].position.commit_lsn >= s->from)
			s->positions[position_count++] = p->contents[event].position;
		if (p->rows[event].act == ASKED_SKIP)
			continue;
		size_t at = find_aggregate(s, count, event);
		if (at == count)
			read_first(s, event, &s->aggregates[count++]);
		s->aggregates[at].events++;
	}
	s->read_set = (struct wp_parked_set){
		.aggregates = s->aggregates,
		.count = count > s->aggregates_max + 1 ? s->aggregates_max + 1 : count,
		.positions = s->positions,
		.position_count = position_count,
	};
}

static void forget_rows(struct fake_parked *s)
{
	free(s->rows);
	free(s->reasons);
	s->rows = NULL;
	s->reasons = NULL;
	s->view.rows = NULL;
	s->view.row_count = 0;
	s->view.rows_cut = false;
}

static void read_row(struct fake_parked *s, uint32_t event)
{
	const struct parked_content *c = &s->world->park->contents[event];
	const struct parked_row *row = &s->world->park->rows[event];
	char(*reasons)[REASON_SIZE] = s->reasons[s->row_count];

	memcpy(reasons[0], row->first_reason, REASON_SIZE);
	memcpy(reasons[1], row->reason, REASON_SIZE);
	s->rows[s->row_count++] = (struct wp_parked_row){
		.position = c->position,
		.outbox = text_span(c->outbox),
		.key = text_span(c->key),
		.relation = text_span(c->relation),
		.row = text_span(c->row),
		.first_reason = wp_span_of(reasons[0]),
		.reason = wp_span_of(reasons[1]),
		.attempts = row->attempts,
		.alone = row->alone,
		.commit_time_us = c->commit_time_us,
	};
}

/* The next of the choice's, in its aggregate's order; false: none is left. */
static bool next_row(const struct fake_parked *s, const struct wp_parked_choice *c,
		     const uint64_t *behind, uint32_t *ret)
{
	const struct park *p = s->world->park;
	bool found = false;

	for (size_t i = 0; i < p->there_count; i++) {
		uint32_t event = p->there[i];
		const struct parked_row *row = &p->rows[event];
		if (row->act == ASKED_SKIP || row->place < *behind ||
		    !park_is_of(s->world, event, c->key, &c->position))
			continue;
		if (!found || row->place < p->rows[*ret].place)
			*ret = event;
		found = true;
		if (row->place == event && *ret == event)
			return true; /* in its own place: all others are behind it, but those moved */
	}
	return found;
}

static void read_rows(struct fake_parked *s)
{
	const struct park *p = s->world->park;
	size_t room = 0, before = 0;
	uint32_t event;

	forget_rows(s);
	for (size_t i = 0; i < s->choice_count; i++)
		room += s->choices[i].rows_max;
	s->rows = room_for(room, sizeof(*s->rows));
	s->reasons = room_for(room, sizeof(*s->reasons));
	s->row_count = 0;
	s->rows_cut = false;
	for (size_t i = 0; i < s->choice_count; i++) {
		uint64_t behind = 0;
		for (uint32_t n = 0; n < s->choices[i].rows_max; n++) {
			if (!next_row(s, &s->choices[i], &behind, &event))
				break;
			behind = p->rows[event].place + 1;
			if (before > s->size_max)
				s->rows_cut = true;
			else
				read_row(s, event);
			before += park_size_of(s->world, event);
		}
	}
}

static void read_asked(struct fake_parked *s)
{
	const struct park *p = s->world->park;

	free(s->asked);
	s->asked = room_for(p->there_count, sizeof(*s->asked));
	s->view.asked = NULL;
	s->view.asked_count = 0;
	s->asked_count = 0;
	for (size_t i = 0; i < p->there_count && s->asked_count < 1000; i++) {
		uint32_t event = p->there[i];
		if (p->rows[event].act == NOT_ASKED)
			continue;
		s->asked[s->asked_count++] = (struct wp_parked_asked){
			.act = p->rows[event].act == ASKED_SKIP ? WP_PARKED_ACT_SKIP
								: WP_PARKED_ACT_RETRY,
			.position = p->contents[event].position,
			.outbox = text_span(p->contents[event].outbox),
			.key = text_span(p->contents[event].key),
		};
	}
}

void fake_parked_read(struct fake_parked *s, enum statement_kind kind)
{
	if (kind == STATEMENT_SET)
		read_set(s);
	else if (kind == STATEMENT_LOAD && s->loading)
		read_rows(s);
	else if (kind == STATEMENT_LOOK && s->looking)
		read_asked(s);
}

/* -- what the answers mean ---------------------------------------------------------------- */

static void note_durable(struct fake_parked *s, size_t applied)
{
	const struct park *p = s->world->park;

	while (s->durable < s->committed &&
	       (!p->has_standby || s->puts[s->durable].mark <= applied))
		s->put_size -= s->puts[s->durable++].size;
}

static void put_done(struct fake_parked *s, const struct statement *done)
{
	for (size_t i = 0; i < done->count; i++)
		s->puts[s->committed++].mark = done->mark;
	s->singly -= done->count < s->singly ? done->count : s->singly;
	s->load_waits -= done->count < s->load_waits ? done->count : s->load_waits;
	if (!s->world->park->has_standby)
		note_durable(s, 0);
}

static void change_done(struct fake_parked *s, const struct statement *done)
{
	s->view.changed += done->count;
	s->change_count -= done->count;
	memmove(s->changes, s->changes + done->count, s->change_count * sizeof(*s->changes));
	s->changes_sent = 0;
}

static void loaded(struct fake_parked *s)
{
	s->loading = false;
	s->view.loads++;
	s->view.rows = s->rows;
	s->view.row_count = s->row_count;
	s->view.rows_cut = s->rows_cut;
}

static void looked(struct fake_parked *s)
{
	s->looking = false;
	s->view.looks++;
	s->view.asked = s->asked;
	s->view.asked_count = s->asked_count;
}

static void take_answer(struct fake_parked *s, const struct statement *done)
{
	switch (done->kind) {
	case STATEMENT_RAISE:
		s->raised = true;
		s->generation = done->generation_now;
		s->raise_mark = done->mark;
		s->on_standby = !s->world->park->has_standby;
		break;
	case STATEMENT_SET:
		s->has_set = true;
		break;
	case STATEMENT_STANDBY:
		note_durable(s, done->mark);
		s->on_standby = s->on_standby || done->mark >= s->raise_mark;
		s->standby_ms = s->world->now_ms + STANDBY_EVERY_MS;
		break;
	case STATEMENT_PUT:
		put_done(s, done);
		break;
	case STATEMENT_CHANGE:
		change_done(s, done);
		break;
	case STATEMENT_LOAD:
		loaded(s);
		break;
	case STATEMENT_LOOK:
		looked(s);
		break;
	default:
		break;
	}
}

static void become_ready(struct fake_parked *s)
{
	s->view.state = WP_PARKED_READY;
	s->view.set = s->read_set;
}

static void end(struct fake_parked *s, enum wp_parked_state state, const char *why)
{
	s->loading = s->looking = false;
	s->view.state = state;
	(void)wp_error_set(&s->view.error, WP_IO, "%s", why);
	trace(s->world, "store of relay %d: %s", s->relay, why);
}

static void hear(struct fake_parked *s)
{
	struct statement done = *s->statement;

	s->statement->used = false;
	s->statement = NULL;
	wake(s);
	if (done.broken || done.refused || done.refused_for_good || done.fenced) {
		s->sent = s->committed;
		s->changes_sent = 0;
	}
	if (done.broken) {
		fail(s, "the connection is gone");
	} else if (done.refused) {
		fail(s, "permission denied, or a lock");
	} else if (done.refused_for_good && done.count > 1) {
		s->singly = done.count;
	} else if (done.refused_for_good) {
		end(s, WP_PARKED_REFUSED, "the row cannot be stored");
	} else if (done.fenced) {
		end(s, WP_PARKED_FENCED,
		    done.kind == STATEMENT_RAISE ? "the stream has not the slot"
						 : "another process raised the generation");
	} else {
		s->view.error.text[0] = '\0';
		take_answer(s, &done);
		if (s->view.state == WP_PARKED_OPENING && s->raised && s->has_set && s->on_standby)
			become_ready(s);
	}
}

/* -- what is asked next ---------------------------------------------------------------------- */

static bool wants_standby(const struct fake_parked *s)
{
	return s->world->park->has_standby && s->world->now_ms >= s->standby_ms &&
	       (!s->on_standby || s->committed > s->durable);
}

/* Any that the contract allows. */
static enum statement_kind next_kind(struct fake_parked *s)
{
	enum statement_kind kinds[STATEMENT_KINDS];
	bool opens = s->view.state == WP_PARKED_OPENING;
	bool all_put = s->put_count == s->committed;
	size_t count = 0;

	if (opens && !s->raised)
		return wp_fault(WP_FAULT_PARKED_LOAD_FIRST) && all_put && !s->has_set
			       ? STATEMENT_SET
			       : STATEMENT_RAISE;
	if (wants_standby(s))
		kinds[count++] = STATEMENT_STANDBY;
	if (!all_put)
		kinds[count++] = STATEMENT_PUT;
	if (s->change_count > 0)
		kinds[count++] = STATEMENT_CHANGE;
	if (opens && all_put && !s->has_set)
		kinds[count++] = STATEMENT_SET;
	if (s->loading && s->load_waits == 0)
		kinds[count++] = STATEMENT_LOAD;
	if (s->looking)
		kinds[count++] = STATEMENT_LOOK;
	return count == 0 ? STATEMENT_KINDS : kinds[any(s->world, count)];
}

static void send_puts(struct fake_parked *s)
{
	size_t size = 0;

	size_t max = s->singly > 0 ? 1 : STATEMENT_ROWS_MAX;

	while (s->sent < s->put_count && s->statement->count < max &&
	       (size == 0 || size + s->puts[s->sent].size < 4 * 1024 * 1024)) {
		size += s->puts[s->sent].size;
		s->statement->puts[s->statement->count++] = s->puts[s->sent++];
	}
}

/* One statement changes a row once. */
static bool is_among(const struct statement *s, uint32_t event)
{
	for (size_t i = 0; i < s->count; i++) {
		if (s->changes[i].event == event)
			return true;
	}
	return false;
}

static void send_changes(struct fake_parked *s)
{
	while (s->changes_sent < s->change_count && s->statement->count < STATEMENT_ROWS_MAX &&
	       !is_among(s->statement, s->changes[s->changes_sent].event))
		s->statement->changes[s->statement->count++] = s->changes[s->changes_sent++];
}

static void begin(struct fake_parked *s)
{
	bool works = s->view.state == WP_PARKED_OPENING || s->view.state == WP_PARKED_READY;

	if (!works || s->statement != NULL || s->world->now_ms < s->again_ms)
		return;
	enum statement_kind kind = next_kind(s);
	if (kind == STATEMENT_KINDS)
		return;
	if (s->source->link < 0) { /* it goes to the server of the stream */
		fail(s, "the stream is not connected");
		return;
	}
	s->statement = park_send(s->world, s, kind);
	s->statement->link_serial = s->world->server.links[s->source->link].serial;
	if (kind == STATEMENT_PUT)
		send_puts(s);
	else if (kind == STATEMENT_CHANGE)
		send_changes(s);
}

/* -- what the relay asks ------------------------------------------------------------------------ */

static void forget_answers(struct fake_parked *s)
{
	forget_rows(s);
	free(s->asked);
	s->asked = NULL;
	s->view.asked = NULL;
	s->view.asked_count = 0;
	s->loading = s->looking = false;
	s->load_waits = 0;
}

static void op_set_taken(struct wp_parked_store *base)
{
	struct fake_parked *s = self(base);

	free(s->aggregates);
	free(s->positions);
	s->aggregates = NULL;
	s->positions = NULL;
	s->view.set = s->read_set = (struct wp_parked_set){ 0 };
}

static void start_over(struct fake_parked *s, enum wp_parked_state state)
{
	drop(s);
	op_set_taken(&s->base);
	forget_answers(s);
	s->raised = s->has_set = s->on_standby = false;
	s->committed = s->sent = s->durable;
	s->view.state = state;
	s->view.error.text[0] = '\0';
	s->again_ms = s->standby_ms = 0;
}

static void op_open(struct wp_parked_store *base, wp_lsn from, size_t aggregates_max)
{
	struct fake_parked *s = self(base);

	start_over(s, WP_PARKED_OPENING);
	s->from = from;
	s->aggregates_max = aggregates_max;
}

static void op_close(struct wp_parked_store *base)
{
	struct fake_parked *s = self(base);

	start_over(s, WP_PARKED_CLOSED);
	s->put_count = s->committed = s->sent = s->durable = s->singly = 0;
	s->put_size = 0;
}

static enum wp_rc op_put(struct wp_parked_store *base, uint64_t ticket, struct wp_span row)
{
	struct fake_parked *s = self(base);
	struct world *w = s->world;

	assert(s->view.state == WP_PARKED_READY);
	if (s->put_count > 0 &&
	    (s->put_count >= w->park->puts_max || s->put_size + row.size > WP_PARKED_PUT_SIZE_MAX))
		return WP_FULL;
	struct put put = read_put(s, row);
	put.ticket = ticket;
	s->puts[s->put_count++] = put;
	s->put_size += put.size;
	begin(s);
	return WP_OK;
}

static size_t op_collect(struct wp_parked_store *base, uint64_t *tickets, size_t max)
{
	struct fake_parked *s = self(base);
	size_t count = s->durable < max ? s->durable : max;

	for (size_t i = 0; i < count; i++)
		tickets[i] = s->puts[i].ticket;
	s->put_count -= count;
	memmove(s->puts, s->puts + count, s->put_count * sizeof(*s->puts));
	s->durable -= count;
	s->committed -= count;
	s->sent -= count;
	return count;
}

static void store_change(struct fake_parked *s, const struct wp_parked_change *c,
			 struct stored_change *ret)
{
	*ret = (struct stored_change){
		.kind = c->kind,
		.event = park_event_at(s->world, &c->position),
		.row = { .attempts = c->attempts, .alone = c->alone },
		.due_in_ms = c->due_in_ms,
	};
	if (c->kind != WP_PARKED_FAILED)
		return;
	snprintf(ret->row.code, sizeof(ret->row.code), "%s", c->code);
	snprintf(ret->row.reason, sizeof(ret->row.reason), "%s", c->reason);
}

static enum wp_rc op_change(struct wp_parked_store *base, const struct wp_parked_change *changes,
			    size_t count)
{
	struct fake_parked *s = self(base);

	while (s->change_count + count > s->change_room) {
		s->change_room = s->change_room == 0 ? 256 : s->change_room * 2;
		s->changes = realloc(s->changes, s->change_room * sizeof(*s->changes));
		assert(s->changes != NULL);
	}
	for (size_t i = 0; i < count; i++)
		store_change(s, &changes[i], &s->changes[s->change_count++]);
	if (s->change_count > CHANGES_MAX)
		violate(s->world, "changes without end", "%zu wait", s->change_count);
	begin(s);
	return WP_OK;
}

static void op_load(struct wp_parked_store *base, const struct wp_parked_choice *choices,
		    size_t count, size_t size_max)
{
	struct fake_parked *s = self(base);

	assert(s->view.state == WP_PARKED_READY && !s->loading);
	assert(count > 0 && count <= sizeof(s->choices) / sizeof(s->choices[0]));
	for (size_t i = 0; i < count; i++) {
		struct wp_span key = choices[i].key;
		s->choices[i] = choices[i];
		if (wp_span_is_null(key))
			continue;
		assert(key.size < sizeof(s->keys[i]));
		memcpy(s->keys[i], key.data, key.size);
		s->choices[i].key.data = (const uint8_t *)s->keys[i];
	}
	forget_rows(s);
	s->choice_count = count;
	s->size_max = size_max;
	s->loading = true;
	s->load_waits = s->put_count - s->committed;
	begin(s);
}

static void op_look(struct wp_parked_store *base)
{
	struct fake_parked *s = self(base);

	assert(s->view.state == WP_PARKED_READY && !s->looking);
	s->looking = true;
	begin(s);
}

static const struct wp_parked_view *op_view(struct wp_parked_store *base)
{
	return &self(base)->view;
}

static const struct wp_parked_store_ops OPS = {
	.open = op_open,
	.set_taken = op_set_taken,
	.close = op_close,
	.put = op_put,
	.collect = op_collect,
	.change = op_change,
	.load = op_load,
	.look = op_look,
	.view = op_view,
};

void fake_parked_init(struct fake_parked *s, struct world *w, int relay,
		      const struct fake_source *source)
{
	*s = (struct fake_parked){
		.base = { &OPS },
		.world = w,
		.relay = relay,
		.source = source,
	};
}

void fake_parked_tick(struct fake_parked *s)
{
	if (s->statement != NULL && s->statement->landed &&
	    s->world->now_ms >= s->statement->answers_ms)
		hear(s);
	begin(s);
}

/* kill -9: what was sent may arrive still. */
void fake_parked_die(struct fake_parked *s)
{
	start_over(s, WP_PARKED_CLOSED);
	free(s->changes);
	s->changes = NULL;
}
