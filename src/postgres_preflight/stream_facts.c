#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "walpost/base/log.h"
#include "walpost/base/utf8.h"
#include "walpost/postgres_preflight/columns.h"
#include "walpost/postgres/connection.h"
#include "walpost/postgres_preflight/partitions.h"
#include "walpost/postgres_preflight/preflight.h"
#include "walpost/postgres_preflight/publication.h"
#include "walpost/postgres/query.h"
#include "walpost/postgres_preflight/slot.h"
#include "walpost/postgres_preflight/slot_checkpoint.h"
#include "walpost/postgres/sql.h"
#include "walpost/postgres_preflight/stream_facts.h"
#include "walpost/source/slot_cure.h"

#define SQL_SIZE_MAX (1024 * 1024)
#define SLOT_CHECKPOINT_IS_WHOLE WP_SLOT_CHECKPOINT_IS_WHOLE("c.oid")

struct wp_stream_facts {
	struct ev_loop *loop; /* borrowed */
	PGconn *replication;  /* borrowed */
	PGconn *pg;	      /* borrowed; for SQL */
	struct wp_stream_facts_setup setup;
	wp_stream_facts_done done;
	void *arg;
	struct wp_query *query;
	struct wp_buffer sql;
	bool ended_old; /* once: pg_terminate_backend was called */
	bool doubted;	/* preflight found something wrong, and is asked once more */
	struct wp_stream_facts_answer answer;
};

/* slot_sql answers these, in this order. */
enum slot_column {
	SLOT_CONFIRMED,
	SLOT_HOLDER_PID,
	SLOT_HOLDER_STARTED,
	SLOT_HOLDER,
	SLOT_HOLDER_IS_WALPOST,
	SLOT_SELF_PID,
	SLOT_SELF_STARTED,
	SLOT_TIMEOUT_MS,
	SLOT_CHECKPOINT_READABLE,
	SLOT_CHECKPOINT_WRITABLE,
	SLOT_REISSUE,
	SLOT_COLUMNS,
};

/* The slot checkpoint is asked for only when it can be read: an error would be in the server's log. */
static const char slot_sql[] =
	"SELECT s.confirmed_flush_lsn, s.active_pid, holder.backend_start,\n"
	"  %s,\n"
	"  %s,\n"
	"  %s, self.backend_start, timeout.setting,\n"
	"  coalesce(w.whole AND w.usable AND w.readable, false),\n"
	"  coalesce(w.whole AND w.usable AND w.readable AND w.writable, false),\n"
	"  CASE WHEN NOT pg_catalog.pg_is_in_recovery() AND EXISTS (SELECT FROM\n"
	"    pg_catalog.pg_publication WHERE pubname = '" WP_REISSUE_PUBLICATION "')\n"
	"    THEN pg_catalog.pg_current_wal_insert_lsn() END\n"
	"FROM pg_catalog.pg_replication_slots s\n"
	"LEFT JOIN pg_catalog.pg_stat_activity holder ON holder.pid = s.active_pid\n"
	"LEFT JOIN pg_catalog.pg_stat_activity self ON self.pid = %s\n"
	"LEFT JOIN pg_catalog.pg_settings timeout ON timeout.name = 'wal_sender_timeout'\n"
	"LEFT JOIN LATERAL (\n"
	"  SELECT " SLOT_CHECKPOINT_IS_WHOLE " AS whole,\n"
	"    pg_catalog.has_schema_privilege(n.oid, 'USAGE') AS usable,\n"
	"    pg_catalog.has_table_privilege(c.oid, 'SELECT') AS readable,\n"
	"    pg_catalog.has_table_privilege(c.oid, 'INSERT')\n"
	"      AND pg_catalog.has_table_privilege(c.oid, 'UPDATE')\n"
	"      AND NOT pg_catalog.pg_is_in_recovery()\n"
	"      AND pg_catalog.current_setting('transaction_read_only') = 'off' AS writable\n"
	"  FROM pg_catalog.pg_class c\n"
	"  JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace\n"
	"  WHERE n.nspname = 'walpost' AND c.relname = 'slot_checkpoint') w ON true\n"
	"WHERE s.slot_name = %L";

static void finish(struct wp_stream_facts *f, const struct wp_source_failure *failure)
{
	f->done(f->arg, failure ? NULL : &f->answer, failure);
}

static void fail(struct wp_stream_facts *f, enum wp_reaction reaction, const char *what)
{
	struct wp_source_failure failure = { .reaction = reaction };
	(void)wp_error_set(&failure.error, WP_IO, "%s", what);
	finish(f, &failure);
}

/* Broken answers and lost connections are alike: the next try may fare better. */
static void fail_again(struct wp_stream_facts *f, const struct wp_error *error)
{
	fail(f, WP_REACT_RECONNECT, error->text);
}

static enum wp_rc send(struct wp_stream_facts *f, PGconn *to, const char *text, wp_query_done done,
		       struct wp_error *error)
{
	wp_query_free(f->query);
	f->query = NULL;
	return wp_query_new(f->loop, to, text, done, f, &f->query, error);
}

static void ask_written(struct wp_stream_facts *f, enum wp_rc rc, const struct wp_error *error,
			wp_query_done done)
{
	struct wp_error not_sent;
	if (rc != WP_OK)
		fail(f,
		     rc == WP_CONFIG || rc == WP_FULL ? WP_REACT_STOP_CONFIG : WP_REACT_RECONNECT,
		     error->text);
	else if (send(f, f->pg, (const char *)f->sql.data, done, &not_sent) != WP_OK)
		fail_again(f, &not_sent);
}

static const char *value(const PGresult *answer, int column)
{
	return PQgetvalue(answer, 0, column);
}

static enum wp_rc read_lsn(const char *text, wp_lsn *ret)
{
	return wp_lsn_parse(wp_span_of(text), ret);
}

static bool is_walsender(const struct wp_walsender *a, const char *pid, const char *started)
{
	return *a->pid && *a->started && !strcmp(a->pid, pid) && !strcmp(a->started, started);
}

static void on_partitions(void *arg, const PGresult *result,
			  const struct wp_source_failure *failure)
{
	struct wp_stream_facts *f = arg;
	struct wp_error error;
	if (!failure && wp_partitions_answer(result, &f->answer.partitions, &error) != WP_OK)
		fail_again(f, &error);
	else
		finish(f, failure);
}

/* Partitions are asked for last, when all else is known. */
static void ask_partitions(struct wp_stream_facts *f)
{
	struct wp_sql sql;
	struct wp_error error;
	wp_buffer_reset(&f->sql);
	wp_sql_init(&sql, f->pg, &f->sql);
	wp_sql_add(&sql, "%s", wp_sql_impatiently);
	wp_partitions_sql(&sql, f->setup.wanted, WP_PARTITIONS_FOR_ANYBODY);
	ask_written(f, wp_sql_end(&sql, &error), &error, on_partitions);
}

static void on_columns(void *arg, const PGresult *result, const struct wp_source_failure *failure)
{
	struct wp_stream_facts *f = arg;
	struct wp_source_facts *facts = &f->answer.source;
	if (failure) {
		finish(f, failure);
		return;
	}
	facts->transfer = wp_columns_read(result, f->setup.options->binary, &facts->columns);
	facts->text_will_do = f->setup.options->binary != WP_BINARY_ON;
	/* A standby looks every second; before it starts, it asks all of this again. */
	if (facts->slot_active)
		finish(f, NULL);
	else
		ask_partitions(f);
}

static void ask_columns(struct wp_stream_facts *f)
{
	struct wp_sql sql;
	struct wp_error error;
	if (f->setup.wanted->count == 0) {
		on_columns(f, NULL, NULL);
		return;
	}
	wp_buffer_reset(&f->sql);
	wp_sql_init(&sql, f->pg, &f->sql);
	wp_sql_add(&sql, "%s", wp_sql_impatiently);
	wp_columns_sql(&sql, f->setup.wanted);
	ask_written(f, wp_sql_end(&sql, &error), &error, on_columns);
}

static void on_slot_checkpoint(void *arg, const PGresult *result,
			       const struct wp_source_failure *failure)
{
	struct wp_stream_facts *f = arg;
	if (failure && !*failure->sqlstate) {
		finish(f, failure);
		return;
	}
	/* Without it a takeover cannot be told from a loss; streaming is possible. */
	f->answer.source.slot_checkpoint_unsure = failure != NULL;
	if (failure)
		f->answer.slot_checkpoint_error = failure->error;
	else if (wp_slot_checkpoint_read(result, &f->answer.source,
					 &f->answer.slot_checkpoint_error) != WP_OK)
		f->answer.source.slot_checkpoint_readable = false;
	ask_columns(f);
}

static void ask_slot_checkpoint(struct wp_stream_facts *f)
{
	struct wp_error error;
	wp_buffer_reset(&f->sql);
	enum wp_rc rc = wp_slot_checkpoint_read_sql(f->pg, f->setup.options->slot, &f->sql, &error);
	ask_written(f, rc, &error, on_slot_checkpoint);
}

static void ask_slot(struct wp_stream_facts *f);

static void on_old_ended(void *arg, const PGresult *result, const struct wp_source_failure *failure)
{
	(void)result; /* the slot tells whether it worked */
	struct wp_stream_facts *f = arg;
	if (failure && !*failure->sqlstate)
		finish(f, failure);
	else
		ask_slot(f);
}

static void end_old(struct wp_stream_facts *f)
{
	wp_log(WP_LOG_INFO, "old_walsender_ended", WP_TEXT("pid", f->setup.old.pid));
	f->ended_old = true;
	struct wp_sql sql;
	struct wp_error error;
	wp_buffer_reset(&f->sql);
	wp_sql_init(&sql, f->pg, &f->sql);
	/* The server waits for its end, 5 s at most. */
	wp_sql_add(&sql, "SELECT pg_catalog.pg_terminate_backend(%s, 5000)", f->setup.old.pid);
	ask_written(f, wp_sql_end(&sql, &error), &error, on_old_ended);
}

static enum wp_rc read_slot(struct wp_stream_facts *f, const PGresult *result)
{
	struct wp_source_facts *facts = &f->answer.source;
	if (PQnfields(result) != SLOT_COLUMNS ||
	    read_lsn(value(result, SLOT_CONFIRMED), &facts->slot_confirmed) != WP_OK)
		return WP_PROTO;
	facts->wal_sender_timeout_ms = strtoll(value(result, SLOT_TIMEOUT_MS), NULL, 10);
	facts->slot_active = !PQgetisnull(result, 0, SLOT_HOLDER_PID);
	facts->holder_is_walpost = *value(result, SLOT_HOLDER_IS_WALPOST) == 't';
	(void)snprintf(facts->holder, sizeof(facts->holder), "%s", value(result, SLOT_HOLDER));
	wp_utf8_cut(facts->holder, strlen(facts->holder));
	struct wp_walsender *self = &f->answer.self;
	(void)snprintf(self->pid, sizeof(self->pid), "%s", value(result, SLOT_SELF_PID));
	(void)snprintf(self->started, sizeof(self->started), "%s",
		       value(result, SLOT_SELF_STARTED));
	facts->slot_checkpoint_writable = *value(result, SLOT_CHECKPOINT_WRITABLE) == 't';
	facts->reissue_lsn = 0;
	return PQgetisnull(result, 0, SLOT_REISSUE)
		       ? WP_OK
		       : read_lsn(value(result, SLOT_REISSUE), &facts->reissue_lsn);
}

static void on_slot(void *arg, const PGresult *result, const struct wp_source_failure *failure)
{
	struct wp_stream_facts *f = arg;
	if (failure) {
		finish(f, failure);
		return;
	}
	if (PQntuples(result) == 0) {
		char what[320];
		(void)snprintf(what, sizeof(what), WP_SLOT_MISSING, f->setup.options->slot);
		fail(f, WP_REACT_STOP_HUMAN, what);
		return;
	}
	if (read_slot(f, result) != WP_OK) {
		fail(f, WP_REACT_STOP_HUMAN,
		     "pg_replication_slots shows no confirmed position; check that the slot is "
		     "logical");
		return;
	}
	if (!f->ended_old && is_walsender(&f->setup.old, value(result, SLOT_HOLDER_PID),
					  value(result, SLOT_HOLDER_STARTED)))
		end_old(f);
	else if (*value(result, SLOT_CHECKPOINT_READABLE) == 't')
		ask_slot_checkpoint(f);
	else
		ask_columns(f);
}

static void ask_slot(struct wp_stream_facts *f)
{
	char pid[16];
	struct wp_sql sql;
	struct wp_error error;
	wp_buffer_reset(&f->sql);
	wp_sql_init(&sql, f->pg, &f->sql);
	(void)snprintf(pid, sizeof(pid), "%d", PQbackendPID(f->replication));
	wp_sql_add(&sql, "%s", wp_sql_impatiently);
	wp_sql_add(&sql, slot_sql, WP_SLOT_HOLDER_SQL("s.active_pid"),
		   WP_SLOT_HOLDER_IS_WALPOST_SQL("s.active_pid"), pid, pid, f->setup.options->slot);
	ask_written(f, wp_sql_end(&sql, &error), &error, on_slot);
}

static void log_warnings(const struct wp_findings *findings)
{
	for (size_t i = 0; i < findings->count; i++) {
		const struct wp_finding *f = &findings->items[i];
		if (f->level == WP_FINDING_WARN)
			wp_log(WP_LOG_WARN, "preflight", WP_TEXT("name", f->name),
			       WP_TEXT("what", f->what), WP_TEXT("cure", f->cure));
	}
}

static void fail_preflight(struct wp_stream_facts *f, const struct wp_finding *finding,
			   const struct wp_preflight *p)
{
	struct wp_source_failure failure = {
		.reaction = finding->reaction,
		.slot_lost = p->slot_state.keeping == WP_KEEPING_LOST,
		.slot_checkpoint_writable = p->slot_checkpoint_ready,
	};
	if (failure.reaction == WP_REACT_NONE)
		failure.reaction = WP_REACT_STOP_HUMAN;
	wp_finding_say(finding, failure.error.text, sizeof(failure.error.text));
	finish(f, &failure);
}

static void ask_preflight(struct wp_stream_facts *f);

/* A question sees two moments of the catalog when it is changed meanwhile: a failure is believed
 * only twice. */
static void on_finding(struct wp_stream_facts *f, const struct wp_finding *finding,
		       const struct wp_preflight *p)
{
	if (f->doubted) {
		fail_preflight(f, finding, p);
		return;
	}
	f->doubted = true;
	ask_preflight(f);
}

/* The preflight asks no more than catalogs, but the server locks the outbox and its partitions
 * for that. */
static void fail_preflight_question(struct wp_stream_facts *f,
				    const struct wp_source_failure *failure)
{
	struct wp_source_failure said = *failure;
	if (!strcmp(failure->sqlstate, "57014"))
		(void)wp_error_set(&said.error, WP_IO,
				   "the server did not describe the outbox tables within 10 s; "
				   "check whether an outbox or a partition of it is locked, with "
				   "pg_locks and pg_blocking_pids() (%.200s)",
				   failure->error.text);
	finish(f, &said);
}

static void on_preflight(void *arg, const PGresult *result, const struct wp_source_failure *failure)
{
	struct wp_stream_facts *f = arg;
	if (failure) {
		fail_preflight_question(f, failure);
		return;
	}
	struct wp_error error;
	struct wp_preflight *p = calloc(1, sizeof(*p));
	if (!p) {
		fail(f, WP_REACT_RECONNECT, "out of memory for the preconditions");
		return;
	}
	enum wp_rc rc =
		wp_preflight_judge(f->pg, result, f->setup.options, f->setup.wanted, p, &error);
	const struct wp_finding *finding = rc == WP_OK ? wp_findings_failure(&p->findings) : NULL;
	if (rc == WP_OK && !finding && f->setup.asking == WP_ASK_FIRST)
		log_warnings(&p->findings);
	if (rc != WP_OK)
		fail_again(f, &error);
	else if (finding)
		on_finding(f, finding, p); /* may free `f` */
	else
		ask_slot(f);
	wp_findings_release(&p->findings);
	free(p);
}

static void ask_preflight(struct wp_stream_facts *f)
{
	if (f->setup.asking == WP_ASK_AGAIN) {
		ask_slot(f);
		return;
	}
	struct wp_error error;
	wp_buffer_reset(&f->sql);
	enum wp_rc rc = wp_buffer_append_text(&f->sql, wp_sql_impatiently);
	if (rc == WP_OK)
		rc = wp_preflight_sql(f->pg, f->setup.options, f->setup.wanted,
				      PQbackendPID(f->replication), &f->sql, &error);
	else
		(void)wp_error_set(&error, rc,
				   "out of memory for the question of the preconditions");
	ask_written(f, rc, &error, on_preflight);
}

/* `history` may be null. */
static enum wp_rc read_timelines(struct wp_stream_facts *f, struct wp_span history,
				 struct wp_error *error)
{
	struct wp_timelines *t = &f->answer.source.timelines;
	return wp_timelines_read(t, t->current, history, error);
}

static void on_history(void *arg, const PGresult *result, const struct wp_source_failure *failure)
{
	struct wp_stream_facts *f = arg;
	struct wp_error error;
	enum wp_rc rc;
	if (failure && strcmp(failure->sqlstate, "58P01") != 0) {
		finish(f, failure);
		return;
	}
	if (failure) {
		/* The history file is gone: positions of a re-run across that promotion change. */
		wp_log(WP_LOG_WARN, "timeline_history_missing",
		       WP_TEXT("reason", failure->error.text));
		rc = read_timelines(f, (struct wp_span){ 0 }, &error);
	} else if (PQntuples(result) != 1 || PQnfields(result) != 2) {
		rc = wp_error_set(&error, WP_PROTO, "TIMELINE_HISTORY returned no history");
	} else {
		struct wp_span history = { (const uint8_t *)PQgetvalue(result, 0, 1),
					   (size_t)PQgetlength(result, 0, 1) };
		rc = read_timelines(f, history, &error);
	}
	if (rc == WP_OK)
		ask_preflight(f);
	else
		fail_again(f, &error);
}

static void ask_history(struct wp_stream_facts *f)
{
	struct wp_error error;
	uint32_t timeline = f->answer.source.timelines.current;
	if (timeline > 1) {
		char command[64];
		(void)snprintf(command, sizeof(command), "TIMELINE_HISTORY %u", timeline);
		if (send(f, f->replication, command, on_history, &error) != WP_OK)
			fail_again(f, &error);
	} else if (read_timelines(f, (struct wp_span){ 0 }, &error) == WP_OK) {
		ask_preflight(f);
	} else {
		fail_again(f, &error);
	}
}

static void on_system(void *arg, const PGresult *result, const struct wp_source_failure *failure)
{
	struct wp_stream_facts *f = arg;
	struct wp_source_facts *facts = &f->answer.source;
	if (failure) {
		finish(f, failure);
		return;
	}
	/* The columns are systemid, timeline, xlogpos, dbname. */
	if (PQntuples(result) != 1 || PQnfields(result) < 4 ||
	    read_lsn(value(result, 2), &facts->server_lsn) != WP_OK) {
		fail(f, WP_REACT_RECONNECT, "unexpected result of IDENTIFY_SYSTEM");
		return;
	}
	facts->system_id = strtoull(value(result, 0), NULL, 10);
	(void)snprintf(facts->encoding, sizeof(facts->encoding), "%s", wp_server_encoding(f->pg));
	facts->timelines.current = (uint32_t)strtoul(value(result, 1), NULL, 10);
	ask_history(f);
}

enum wp_rc wp_stream_facts_new(struct ev_loop *loop, PGconn *replication, PGconn *pg,
			       const struct wp_stream_facts_setup *setup, wp_stream_facts_done done,
			       void *arg, struct wp_stream_facts **ret, struct wp_error *error)
{
	struct wp_stream_facts *f = calloc(1, sizeof(*f));
	if (!f)
		return wp_error_set(error, WP_NOMEM,
				    "out of memory for the questions to the server");
	*f = (struct wp_stream_facts){
		.loop = loop,
		.replication = replication,
		.pg = pg,
		.setup = *setup,
		.done = done,
		.arg = arg,
	};
	wp_buffer_init(&f->sql, SQL_SIZE_MAX);
	enum wp_rc rc = send(f, replication, "IDENTIFY_SYSTEM", on_system, error);
	if (rc != WP_OK) {
		wp_stream_facts_free(f);
		return rc;
	}
	*ret = f;
	return WP_OK;
}

void wp_stream_facts_free(struct wp_stream_facts *f)
{
	if (!f)
		return;
	wp_query_free(f->query);
	wp_buffer_release(&f->sql);
	wp_partitions_release(&f->answer.partitions);
	free(f);
}
