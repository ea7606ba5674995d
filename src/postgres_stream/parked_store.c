#include "walpost/postgres_stream/parked_store.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "parked_changes.h"
#include "parked_puts.h"
#include "parked_sql.h"
#include "walpost/base/json.h"
#include "walpost/postgres/async_session.h"
#include "walpost/postgres/connection.h"
#include "walpost/postgres_stream/stream.h"

#define STANDBY_EVERY_S .1 /* a standby is looked after */

enum {
	SET_ANSWER_S = 130,
	JSON_SIZE_MAX = 1 << 30,
	/* A message of the protocol ends below 1 GB, with the statement in it. */
	ROW_SIZE_MAX = (1 << 30) - (64 << 10),
	SQL_SIZE_MAX = 16 * 1024,
	LOOKS_TO_TELL = 50, /* after standbys that are well but late */
};

enum job {
	JOB_NONE,
	JOB_RAISE,
	JOB_STANDBY,
	JOB_PUT,
	JOB_CHANGE,
	JOB_SET,
	JOB_POSITIONS,
	JOB_LOAD,
	JOB_LOOK,
};

struct store {
	struct wp_parked_store store; /* first: a wp_parked_store is one */
	struct ev_loop *loop;	      /* borrowed */
	struct wp_parked_store_setup setup;
	struct wp_parked_view view;
	struct wp_error end;   /* why it is FENCED or REFUSED */
	struct wp_error waits; /* for which standby */

	struct wp_async_session *session; /* owned */
	enum job job;			  /* what is under way */

	/* These are for opening. */
	wp_lsn from;
	size_t aggregates_max;
	char generation[WP_OWNER_SIZE + 24]; /* with its owner */
	bool raised;
	bool has_set;
	bool has_positions;
	struct wp_parked_answer aggregates;
	struct wp_parked_answer positions;

	/* The slot is a failover slot: what is committed must be on the standbys. */
	bool failover;
	bool is_on_standbys; /* what was committed before the generation was raised */
	bool looks;	     /* may look now, not at `again_standby` */
	ev_timer again_standby;
	wp_lsn standby_target; /* 0: none yet */
	size_t standby_count;  /* of those committed, that are durable when it is reached */
	unsigned standby_looks;

	struct wp_parked_puts puts;
	size_t load_waits; /* so many not committed are to be before a load */
	struct wp_parked_changes changes;

	struct wp_buffer choices; /* JSON */
	char load_size[24];
	bool loading;
	bool looking;
	struct wp_parked_answer rows;
	struct wp_parked_answer asked;
};

static struct store *store_of(struct wp_parked_store *s)
{
	return (struct store *)s;
}

static PGconn *store_pg(const struct store *s)
{
	return wp_async_session_pg(s->session);
}

static void wake_parking(struct store *s)
{
	const struct wp_error *trouble = wp_async_session_trouble(s->session);
	s->view.error = *s->end.text ? s->end : *trouble->text ? *trouble : s->waits;
	s->setup.wake.call(s->setup.wake.arg);
}

/* When the outcome of a statement is not known, it is repeated. */
static void forget_job(struct store *s)
{
	s->job = JOB_NONE;
	wp_parked_puts_unsent(&s->puts);
	wp_parked_changes_unsent(&s->changes);
}

/* What is committed is durable, or is to be looked for on the standbys. */
static void note_committed(struct store *s)
{
	if (!s->failover)
		wp_parked_puts_durable(&s->puts, s->puts.committed - s->puts.durable);
	else if (s->standby_target == 0)
		s->looks = true;
}

/* ---- failures ---- */

static const struct {
	const char *sqlstate;
	const char *cure;
} cures[] = {
	{ "3F000", "create walpost.parked by walpost init or sql/parked.sql" },
	{ "42P01", "create walpost.parked by walpost init or sql/parked.sql" },
	{ "42703", "walpost.parked has other columns than this version needs: compare it with "
		   "sql/parked.sql" },
	{ "42501", "grant the role USAGE ON SCHEMA walpost, and SELECT, INSERT, UPDATE, DELETE ON "
		   "walpost.parked, walpost.parking (sql/grants.sql)" },
	{ "53100", "free disk space on the server" },
	{ "55P03", "end the session that locks walpost.parked or walpost.parking, or waits for a "
		   "synchronous standby (pg_locks, pg_stat_activity)" },
	{ "57014", "walpost.parked is busy: pg_stat_activity shows with what" },
};

static const char *session_cure(void *arg, const char *sqlstate)
{
	(void)arg; /* the same for all */
	for (size_t i = 0; i < sizeof(cures) / sizeof(cures[0]); i++)
		if (!strcmp(cures[i].sqlstate, sqlstate))
			return cures[i].cure;
	return NULL;
}

/* Leaves OPENING or READY; only close() and open() lead further. */
static void end_store(struct store *s, enum wp_parked_state state, const struct wp_error *error)
{
	wp_async_session_close(s->session);
	forget_job(s);
	ev_timer_stop(s->loop, &s->again_standby);
	s->loading = s->looking = false;
	s->view.state = state;
	s->end = *error;
	wake_parking(s);
}

static void end_fenced(struct store *s)
{
	struct wp_error error;
	/* Or the walsender is gone, and the stream does not know it: its connection is
	 * half-open, say. */
	if (s->job == JOB_RAISE)
		(void)wp_error_set(&error, WP_IO, "slot %.64s is not in use by this relay",
				   s->setup.options->slot);
	else
		(void)wp_error_set(&error, WP_IO,
				   "another process uses slot %.64s: it raised the generation in "
				   "walpost.parking",
				   s->setup.options->slot);
	end_store(s, WP_PARKED_FENCED, &error);
}

/* Reads the row's position, as its JSON has it; "" when it has none. */
static void position_in(const char *row, size_t size, char *into, size_t into_size)
{
	struct wp_json_walk walk;
	struct wp_span name;
	struct wp_json value;
	into[0] = '\0';
	wp_json_walk_text(&walk, (struct wp_span){ (const uint8_t *)row, size });
	while (wp_json_walk_next(&walk, &name, &value))
		if (wp_span_is(name, "\"position\"") && value.kind == WP_JSON_STRING) {
			(void)snprintf(into, into_size, "%.*s", (int)value.text.size - 2,
				       (const char *)value.text.data + 1);
			return;
		}
}

static void end_refused(struct store *s, const char *reason)
{
	struct wp_error error;
	char position[64];
	const struct wp_parked_put *p = wp_parked_puts_next(&s->puts);
	position_in(p->text + 1, p->size, position, sizeof(position));
	(void)wp_error_set(
		&error, WP_DATA,
		"the event at %s (%zu bytes) cannot be stored in walpost.parked: %.1500s", position,
		p->size, reason);
	end_store(s, WP_PARKED_REFUSED, &error);
}

static bool session_failed(void *arg, const struct wp_source_failure *f)
{
	struct store *s = arg;
	enum job job = s->job;
	/* Such rows would be refused each time: for a value that the column does not take, or a
	 * limit of the server. */
	bool of_data = !strncmp(f->sqlstate, "22", 2) || !strncmp(f->sqlstate, "54", 2) ||
		       (!strcmp(f->sqlstate, "XX000") &&
			strstr(f->error.text, "invalid memory alloc request size"));
	bool divided = false;
	if (of_data && job == JOB_PUT)
		divided = wp_parked_puts_divide(&s->puts);
	else if (of_data && job == JOB_CHANGE)
		divided = wp_parked_changes_divide(&s->changes);
	forget_job(s);
	if (of_data && job == JOB_PUT && !divided)
		end_refused(s, f->error.text);
	return divided;
}

/* ---- answers ---- */

static void raised(struct store *s, const PGresult *result)
{
	(void)snprintf(s->generation, sizeof(s->generation), "%s", PQgetvalue(result, 0, 0));
	s->raised = true;
	s->failover = *PQgetvalue(result, 0, 1) == 't';
	s->is_on_standbys = !s->failover;
	s->looks = true;
	note_committed(s);
}

static void look_again(struct store *s)
{
	s->looks = false;
	ev_timer_stop(s->loop, &s->again_standby);
	ev_timer_set(&s->again_standby, STANDBY_EVERY_S, 0.);
	ev_timer_start(s->loop, &s->again_standby);
}

/* It is enough to ask how far the log is flushed: each commit that was answered is in it. */
static enum wp_rc standby_seen(struct store *s, const PGresult *result, struct wp_error *error)
{
	wp_lsn flushed, reached = UINT64_MAX;
	enum wp_rc rc = wp_lsn_parse(wp_span_of(PQgetvalue(result, 0, 0)), &flushed);
	if (rc == WP_OK && !PQgetisnull(result, 0, 1))
		rc = wp_lsn_parse(wp_span_of(PQgetvalue(result, 0, 1)), &reached);
	if (rc != WP_OK)
		return wp_error_set(error, rc,
				    "unexpected form of the server's answer about standbys");
	if (s->standby_target == 0) {
		s->standby_target = flushed;
		s->standby_count = s->puts.committed - s->puts.durable;
	}
	if (reached < s->standby_target) {
		const char *wrong = PQgetvalue(result, 0, 2);
		if (*wrong || ++s->standby_looks > LOOKS_TO_TELL)
			(void)wp_error_set(&s->waits, WP_IO,
					   "parked events are not yet on the standbys of "
					   "synchronized_standby_slots: %.500s",
					   *wrong ? wrong : "the standbys are behind");
		look_again(s);
		return WP_OK;
	}
	wp_parked_puts_durable(&s->puts, s->standby_count);
	s->is_on_standbys = true;
	s->standby_target = s->standby_count = 0;
	s->standby_looks = 0;
	s->waits.text[0] = '\0';
	s->looks = true;
	return WP_OK;
}

static void put_done(struct store *s)
{
	size_t count = wp_parked_puts_committed(&s->puts);
	s->load_waits -= count < s->load_waits ? count : s->load_waits;
	note_committed(s);
}

static enum wp_rc loaded(struct store *s, const PGresult *result, struct wp_error *error)
{
	enum wp_rc rc = wp_parked_load_answer(result, &s->rows, error);
	if (rc != WP_OK)
		return rc;
	s->loading = false;
	s->view.loads++;
	s->view.rows = s->rows.items;
	s->view.row_count = s->rows.count;
	s->view.rows_cut = wp_parked_load_is_cut(result);
	return WP_OK;
}

static enum wp_rc take_look_answer(struct store *s, const PGresult *result, struct wp_error *error)
{
	enum wp_rc rc = wp_parked_look_answer(result, &s->asked, error);
	if (rc != WP_OK)
		return rc;
	s->looking = false;
	s->view.looks++;
	s->view.asked = s->asked.items;
	s->view.asked_count = s->asked.count;
	return WP_OK;
}

/* Judges the answer to a load or a look. Without a generation the slot's row was deleted. */
static bool is_stale(const struct store *s, const PGresult *result)
{
	const char *generation = wp_parked_answer_generation(result);
	return !generation || strcmp(generation, s->generation) != 0;
}

/* Returns true when the generation was raised by another, or was not ours to raise. */
static bool tells_of_fence(const struct store *s, const PGresult *result)
{
	if (s->job == JOB_RAISE)
		return PQntuples(result) != 1;
	if (s->job == JOB_PUT || s->job == JOB_CHANGE)
		return PQntuples(result) != 1 || !strcmp(PQgetvalue(result, 0, 0), "0");
	/* An answer that open() has overtaken is nobody's. */
	if ((s->job == JOB_LOAD && s->loading) || (s->job == JOB_LOOK && s->looking))
		return is_stale(s, result);
	return false;
}

static enum wp_rc take_job_answer(struct store *s, const PGresult *result, struct wp_error *error)
{
	enum wp_rc rc = WP_OK;
	switch (s->job) {
	case JOB_RAISE:
		raised(s, result);
		return WP_OK;
	case JOB_STANDBY:
		return standby_seen(s, result, error);
	case JOB_PUT:
		put_done(s);
		return WP_OK;
	case JOB_CHANGE:
		s->view.changed += wp_parked_changes_committed(&s->changes);
		return WP_OK;
	case JOB_SET:
		rc = wp_parked_set_answer(result, &s->aggregates, error);
		s->has_set = rc == WP_OK;
		return rc;
	case JOB_POSITIONS:
		rc = wp_parked_positions_answer(result, &s->positions, error);
		s->has_positions = rc == WP_OK;
		return rc;
	case JOB_LOAD:
		return s->loading ? loaded(s, result, error) : WP_OK;
	case JOB_LOOK:
		return s->looking ? take_look_answer(s, result, error) : WP_OK;
	case JOB_NONE:
		break;
	}
	return rc;
}

static void become_ready(struct store *s)
{
	s->view.set = (struct wp_parked_set){
		.aggregates = s->aggregates.items,
		.count = s->aggregates.count,
		.positions = s->positions.items,
		.position_count = s->positions.count,
	};
	s->view.state = WP_PARKED_READY;
}

static enum wp_rc session_answer(void *arg, const PGresult *result, struct wp_error *error)
{
	struct store *s = arg;
	if (tells_of_fence(s, result)) {
		end_fenced(s);
		return WP_OK;
	}
	enum wp_rc rc = take_job_answer(s, result, error);
	forget_job(s);
	if (rc == WP_OK && s->view.state == WP_PARKED_OPENING && s->raised && s->has_set &&
	    s->has_positions && s->is_on_standbys)
		become_ready(s);
	return rc;
}

/* ---- questions ---- */

static enum wp_rc send_job(struct store *s, enum job job, const char *sql,
			   const char *const *values, size_t count, struct wp_error *error)
{
	struct wp_async_session_statement statement = {
		.sql = sql,
		.values = values,
		.count = count,
		.what = (int)job,
		.limit_s = job == JOB_SET || job == JOB_POSITIONS ? SET_ANSWER_S : 0,
	};
	enum wp_rc rc = wp_async_session_send(s->session, &statement, error);
	if (rc == WP_OK)
		s->job = job;
	return rc;
}

static enum wp_rc no_memory(struct wp_error *error)
{
	return wp_error_set(error, WP_NOMEM, "out of memory for parked events");
}

static enum wp_rc raise_generation(struct store *s, struct wp_error *error)
{
	char pid[16];
	const PGconn *stream = s->setup.stream ? wp_stream_connection(s->setup.stream) : NULL;
	(void)snprintf(pid, sizeof(pid), "%d", stream ? PQbackendPID(stream) : 0);
	const char *values[] = { s->setup.options->slot, s->setup.owner,
				 s->setup.stream ? pid : NULL };
	return send_job(s, JOB_RAISE, wp_parked_raise_sql(PQserverVersion(store_pg(s))), values, 3,
			error);
}

static enum wp_rc send_job_rows(struct store *s, enum job job, const char *sql, const char *json,
				struct wp_error *error)
{
	const char *values[] = { s->setup.options->slot, s->generation, json };
	return send_job(s, job, sql, values, 3, error);
}

static enum wp_rc send_joined(struct store *s, size_t count, struct wp_error *error)
{
	struct wp_buffer json;
	wp_buffer_init(&json, JSON_SIZE_MAX);
	enum wp_rc rc = wp_parked_puts_json(&s->puts, count, &json);
	rc = rc == WP_OK
		     ? send_job_rows(s, JOB_PUT, wp_parked_put_sql, (const char *)json.data, error)
		     : no_memory(error);
	wp_buffer_release(&json);
	return rc;
}

static enum wp_rc send_puts(struct store *s, struct wp_error *error)
{
	size_t count = wp_parked_puts_batch(&s->puts);
	const struct wp_parked_put *p = wp_parked_puts_next(&s->puts);
	if (count == 1 && p->size > ROW_SIZE_MAX) {
		end_refused(s, "PostgreSQL accepts less than 1 GB at once");
		return WP_OK;
	}
	/* A single row is sent as it is: a large one is not to be in memory once more. */
	enum wp_rc rc = count == 1 ? send_job_rows(s, JOB_PUT, wp_parked_put_sql, p->text, error)
				   : send_joined(s, count, error);
	if (rc == WP_OK)
		wp_parked_puts_sent(&s->puts, count);
	return rc;
}

static enum wp_rc send_changes(struct store *s, struct wp_error *error)
{
	enum wp_parked_text text = !strcmp(wp_server_encoding(store_pg(s)), "UTF8")
					   ? WP_PARKED_TEXT_ANY
					   : WP_PARKED_TEXT_ASCII;
	size_t count = wp_parked_changes_batch(&s->changes);
	struct wp_buffer json;
	wp_buffer_init(&json, JSON_SIZE_MAX);
	enum wp_rc rc = wp_parked_changes_json(&json, s->changes.items, count, text);
	rc = rc == WP_OK ? send_job_rows(s, JOB_CHANGE, wp_parked_change_sql,
					 (const char *)json.data, error)
			 : no_memory(error);
	wp_buffer_release(&json);
	if (rc == WP_OK)
		s->changes.sent = count;
	return rc;
}

static enum wp_rc send_reading(struct store *s, enum job job, struct wp_error *error)
{
	struct wp_buffer text;
	struct wp_sql sql;
	wp_buffer_init(&text, SQL_SIZE_MAX);
	wp_sql_init(&sql, store_pg(s), &text);
	if (job == JOB_SET)
		wp_parked_set_sql(&sql, s->setup.options->slot, s->aggregates_max);
	else
		wp_parked_positions_sql(&sql, s->setup.options->slot, s->from);
	enum wp_rc rc = wp_sql_end(&sql, error);
	if (rc == WP_OK)
		rc = send_job(s, job, (const char *)text.data, NULL, 0, error);
	wp_buffer_release(&text);
	return rc;
}

static enum wp_rc do_job(struct store *s, enum job job, struct wp_error *error)
{
	const char *load[] = { s->setup.options->slot, (const char *)s->choices.data,
			       s->load_size };
	switch (job) {
	case JOB_RAISE:
		return raise_generation(s, error);
	case JOB_STANDBY:
		return send_job(s, job, wp_parked_standby_sql, NULL, 0, error);
	case JOB_PUT:
		return send_puts(s, error);
	case JOB_CHANGE:
		return send_changes(s, error);
	case JOB_SET:
	case JOB_POSITIONS:
		return send_reading(s, job, error);
	case JOB_LOAD:
		return send_job(s, job, wp_parked_load_sql, load, 3, error);
	case JOB_LOOK:
		return send_job(s, job, wp_parked_look_sql, load, 1, error);
	case JOB_NONE:
		break;
	}
	return WP_OK;
}

static enum job next_job(const struct store *s)
{
	bool opening = s->view.state == WP_PARKED_OPENING;
	if (!opening && s->view.state != WP_PARKED_READY)
		return JOB_NONE;
	if (!s->raised)
		return JOB_RAISE;
	if (s->failover && s->looks && (!s->is_on_standbys || s->puts.committed > s->puts.durable))
		return JOB_STANDBY;
	/* What is put without end must not hold up what is sent again. */
	if (!opening && s->changes.count > 0)
		return JOB_CHANGE;
	if (s->loading && s->load_waits == 0)
		return JOB_LOAD;
	if (s->looking)
		return JOB_LOOK;
	if (s->puts.count > s->puts.committed)
		return JOB_PUT;
	if (s->changes.count > 0)
		return JOB_CHANGE;
	if (opening && !s->has_set)
		return JOB_SET;
	return opening && !s->has_positions ? JOB_POSITIONS : JOB_NONE;
}

static bool session_wants(void *arg)
{
	return next_job(arg) != JOB_NONE;
}

static enum wp_rc session_ask(void *arg, struct wp_error *error)
{
	return do_job(arg, next_job(arg), error);
}

static void session_changed(void *arg)
{
	wake_parking(arg);
}

static const struct wp_async_session_calls session_calls = {
	.wants = session_wants,
	.ask = session_ask,
	.answer = session_answer,
	.failed = session_failed,
	.changed = session_changed,
	.cure = session_cure,
};

static void poke_session(struct store *s)
{
	wp_async_session_poke(s->session);
}

static void on_again_standby(struct ev_loop *loop, ev_timer *timer, int events)
{
	(void)loop, (void)events; /* one timer, always for its end */
	struct store *s = timer->data;
	s->looks = true;
	poke_session(s);
}

/* ---- what the relay asks ---- */

static void store_set_taken(struct wp_parked_store *store)
{
	struct store *s = store_of(store);
	s->view.set = (struct wp_parked_set){ 0 };
	wp_parked_answer_release(&s->aggregates);
	wp_parked_answer_release(&s->positions);
}

/* Forgets the answers, with those that are under way. */
static void forget_answers(struct store *s)
{
	wp_parked_answer_release(&s->rows);
	wp_parked_answer_release(&s->asked);
	s->view.rows = NULL;
	s->view.asked = NULL;
	s->view.row_count = s->view.asked_count = 0;
	s->view.rows_cut = s->loading = s->looking = false;
}

static void store_open(struct wp_parked_store *store, wp_lsn from, size_t aggregates_max)
{
	struct store *s = store_of(store);
	s->from = from;
	s->aggregates_max = aggregates_max;
	s->raised = s->has_set = s->has_positions = s->is_on_standbys = false;
	s->standby_target = s->standby_count = 0;
	s->standby_looks = 0;
	store_set_taken(store);
	forget_answers(s);
	s->view.state = WP_PARKED_OPENING;
	s->end.text[0] = s->waits.text[0] = s->view.error.text[0] = '\0';
	ev_timer_stop(s->loop, &s->again_standby);
	/* Perhaps it is another server: what is not durable yet is repeated, on whichever it is. */
	wp_async_session_close(s->session);
	wp_parked_puts_uncommitted(&s->puts);
	forget_job(s);
	poke_session(s);
}

static void store_close(struct wp_parked_store *store)
{
	struct store *s = store_of(store);
	wp_async_session_close(s->session);
	forget_job(s);
	ev_timer_stop(s->loop, &s->again_standby);
	wp_parked_puts_clear(&s->puts);
	store_set_taken(store);
	forget_answers(s);
	s->view.state = WP_PARKED_CLOSED;
	s->end.text[0] = s->waits.text[0] = s->view.error.text[0] = '\0';
}

static enum wp_rc store_put(struct wp_parked_store *store, uint64_t ticket, struct wp_span row)
{
	struct store *s = store_of(store);
	assert(s->view.state == WP_PARKED_READY);
	enum wp_rc rc = wp_parked_puts_add(&s->puts, ticket, row);
	if (rc == WP_OK)
		poke_session(s);
	return rc;
}

static size_t store_collect(struct wp_parked_store *store, uint64_t *tickets, size_t max)
{
	return wp_parked_puts_collect(&store_of(store)->puts, tickets, max);
}

static enum wp_rc store_change(struct wp_parked_store *store,
			       const struct wp_parked_change *changes, size_t count)
{
	struct store *s = store_of(store);
	enum wp_rc rc = wp_parked_changes_add(&s->changes, changes, count);
	poke_session(s);
	return rc;
}

static void store_load(struct wp_parked_store *store, const struct wp_parked_choice *choices,
		       size_t count, size_t size_max)
{
	struct store *s = store_of(store);
	assert(s->view.state == WP_PARKED_READY && !s->loading);
	(void)snprintf(s->load_size, sizeof(s->load_size), "%zu", size_max);
	wp_buffer_reset(&s->choices);
	s->loading = true;
	s->load_waits = s->puts.count - s->puts.committed;
	if (wp_parked_choices_json(&s->choices, choices, count) == WP_OK) {
		poke_session(s);
		return;
	}
	struct wp_error error;
	(void)wp_error_set(&error, WP_NOMEM, "out of memory for parked events");
	end_store(s, WP_PARKED_REFUSED, &error);
}

static void store_look(struct wp_parked_store *store)
{
	struct store *s = store_of(store);
	assert(s->view.state == WP_PARKED_READY && !s->looking);
	s->looking = true;
	poke_session(s);
}

static const struct wp_parked_view *store_view(struct wp_parked_store *store)
{
	return &store_of(store)->view;
}

static const struct wp_parked_store_ops ops = {
	.open = store_open,
	.set_taken = store_set_taken,
	.close = store_close,
	.put = store_put,
	.collect = store_collect,
	.change = store_change,
	.load = store_load,
	.look = store_look,
	.view = store_view,
};

struct wp_parked_store *wp_parked_store_new(struct ev_loop *loop,
					    const struct wp_parked_store_setup *setup)
{
	struct store *s = calloc(1, sizeof(*s));
	if (!s)
		return NULL;
	s->store.ops = &ops;
	s->loop = loop;
	s->setup = *setup;
	s->session = wp_async_session_new(loop, &(struct wp_async_session_setup){
							.options = setup->options,
							.stream = setup->stream,
							.connection_of = wp_stream_connection,
							.purpose = "parked events",
							.calls = &session_calls,
							.arg = s,
						});
	if (!s->session) {
		free(s);
		return NULL;
	}
	wp_buffer_init(&s->choices, JSON_SIZE_MAX);
	ev_timer_init(&s->again_standby, on_again_standby, 0., 0.);
	s->again_standby.data = s;
	return &s->store;
}

void wp_parked_store_free(struct wp_parked_store *store)
{
	if (!store)
		return;
	struct store *s = store_of(store);
	store_close(store);
	wp_async_session_free(s->session);
	wp_parked_changes_release(&s->changes);
	wp_buffer_release(&s->choices);
	free(s);
}
