#include "walpost/cli/outbox.h"

#include <string.h>

#include "walpost/base/clock.h"
#include "walpost/kafka/properties.h"
#include "walpost/outbox/names.h"
#include "walpost/postgres_preflight/columns.h"
#include "walpost/postgres_preflight/partitions.h"
#include "walpost/postgres_preflight/slot.h"

#define ASK_EVERY_S 0.05

enum wp_rc wp_cli_preflight(struct wp_session *s, const struct wp_postgres_options *options,
			    const struct wp_requirements *wanted, struct wp_preflight *ret,
			    struct wp_error *error)
{
	struct wp_buffer sql;
	PGresult *answer;
	wp_buffer_init(&sql, WP_SQL_SIZE_MAX);
	enum wp_rc rc = wp_preflight_sql(wp_session_pg(s), options, wanted, 0, &sql, error);
	if (rc == WP_OK)
		rc = wp_session_query(s, (const char *)sql.data, &answer, error);
	if (rc == WP_OK) {
		rc = wp_preflight_judge(wp_session_pg(s), answer, options, wanted, ret, error);
		PQclear(answer);
	}
	wp_buffer_release(&sql);
	return rc;
}

static void add_missing_tables(struct wp_sql *sql, const struct wp_requirements *wanted)
{
	wp_sql_add(sql, "SELECT pg_catalog.quote_ident(w.schema) || '.' || "
			"pg_catalog.quote_ident(w.name), pg_catalog.current_database()\n"
			"FROM (VALUES ");
	for (size_t i = 0; i < wanted->count; i++)
		wp_sql_add(sql, "%s(%L, %L, %s)", i ? ", " : "", wanted->tables[i].schema,
			   wanted->tables[i].name, wanted->tables[i].is_pattern ? "true" : "false");
	wp_sql_add(sql, ") w (schema, name, is_pattern)\n"
			"WHERE NOT w.is_pattern AND NOT EXISTS (SELECT FROM pg_catalog.pg_class c\n"
			"  JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace\n"
			"  WHERE n.nspname = w.schema AND c.relname = w.name)");
}

enum wp_rc wp_cli_check_tables(struct wp_session *s, const struct wp_requirements *wanted,
			       struct wp_error *error)
{
	struct wp_statement statement;
	PGresult *missing = NULL;
	if (wanted->count == 0)
		return WP_OK;
	wp_statement_begin(&statement, s);
	add_missing_tables(&statement.sql, wanted);
	enum wp_rc rc = wp_statement_ask(&statement, &missing, error);
	if (rc == WP_OK && PQntuples(missing) > 0)
		rc = wp_error_set(error, WP_CONFIG,
				  "there is no table %s in database %s: create it with walpost "
				  "init, or correct outbox.table",
				  PQgetvalue(missing, 0, 0), PQgetvalue(missing, 0, 1));
	PQclear(missing);
	return rc;
}

/* Tells what slot creation waits for, by a second session that is opened when it takes long. */
struct watch {
	const struct wp_postgres_options *options;
	struct wp_session *creator;
	struct wp_session session;
	bool opened;
	int64_t until_ms; /* then it is given up; 0: never */
	bool given_up;
	char first[300]; /* whom it waits for */
};

static void print_wait(const PGresult *waits, int row)
{
	const char *who = PQgetvalue(waits, row, 1), *seconds = PQgetvalue(waits, row, 2);
	if (!strcmp(PQgetvalue(waits, row, 0), "prepared"))
		(void)fprintf(stderr, "  prepared transaction %s of %s, %s s old\n", who,
			      PQgetvalue(waits, row, 5), seconds);
	else
		(void)fprintf(stderr,
			      "  process %s, transaction %s s old, %s, application %s, user %s\n",
			      who, seconds, PQgetvalue(waits, row, 3), PQgetvalue(waits, row, 4),
			      PQgetvalue(waits, row, 5));
}

/* The statement then fails, and the server drops what there is of the slot. */
static void give_up_in_time(struct watch *w)
{
	char problem[256];

	if (w->until_ms == 0 || w->given_up || wp_clock_us() / 1000 < w->until_ms)
		return;
	w->given_up = true;
	PGcancel *request = PQgetCancel(wp_session_pg(w->creator));
	if (request != NULL) /* if this fails, it goes on to wait */
		(void)PQcancel(request, problem, sizeof(problem));
	PQfreeCancel(request);
}

static void name_waits(void *arg)
{
	struct watch *w = arg;
	struct wp_statement statement;
	struct wp_error error;
	PGresult *waits;
	if (!w->opened) {
		w->opened = true;
		enum wp_rc rc = wp_session_open(&w->session, w->creator->console, w->options,
						WP_CONNECTION_SQL, &error);
		if (rc != WP_OK)
			(void)fprintf(stderr,
				      "slot creation waits, but its blockers cannot be read: %s\n",
				      error.text);
	}
	give_up_in_time(w);
	if (!w->session.connection || !wp_session_pg(&w->session))
		return;
	wp_statement_begin(&statement, &w->session);
	wp_slot_waits_sql(&statement.sql, PQbackendPID(wp_session_pg(w->creator)));
	if (wp_statement_ask(&statement, &waits, &error) != WP_OK)
		return;
	if (PQntuples(waits) > 0) {
		bool is_prepared = strcmp(PQgetvalue(waits, 0, 0), "prepared") == 0;
		(void)snprintf(w->first, sizeof(w->first), "%s %s, %s s old",
			       is_prepared ? "prepared transaction" : "process",
			       PQgetvalue(waits, 0, 1), PQgetvalue(waits, 0, 2));
		(void)fprintf(stderr, "slot creation waits for these transactions to end:\n");
	}
	for (int row = 0; row < PQntuples(waits); row++)
		print_wait(waits, row);
	PQclear(waits);
}

/* `sql` creates the slot, and is ended here. */
static enum wp_rc create(struct wp_session *s, const struct wp_postgres_options *options,
			 struct wp_sql *sql, char ret_lsn[WP_LSN_TEXT_SIZE], struct wp_error *error)
{
	struct watch watch = { .options = options, .creator = s };
	PGresult *slot;
	enum wp_rc rc = wp_sql_end(sql, error);
	if (rc != WP_OK)
		return rc;
	s->waiting = name_waits;
	s->waiting_arg = &watch;
	s->waiting_every_s = 2.;
	rc = wp_session_query(s, (const char *)sql->into->data, &slot, error);
	s->waiting = NULL;
	if (rc == WP_OK) {
		(void)snprintf(ret_lsn, WP_LSN_TEXT_SIZE, "%s", PQgetvalue(slot, 0, 1));
		PQclear(slot);
	}
	wp_session_release(&watch.session);
	return rc;
}

enum wp_rc wp_cli_create_slot(struct wp_session *s, const struct wp_postgres_options *options,
			      char ret_lsn[WP_LSN_TEXT_SIZE], struct wp_error *error)
{
	PGconn *pg = wp_session_pg(s);
	struct wp_buffer text;
	struct wp_sql sql;
	wp_buffer_init(&text, WP_SQL_SIZE_MAX);
	wp_sql_init(&sql, pg, &text);
	wp_slot_create_sql(&sql, options->slot, wp_slot_failover(PQserverVersion(pg)));
	enum wp_rc rc = create(s, options, &sql, ret_lsn, error);
	wp_buffer_release(&text);
	return rc;
}

enum wp_rc wp_cli_create_temporary_slot(struct wp_session *s,
					const struct wp_postgres_options *options, const char *slot,
					char ret_lsn[WP_LSN_TEXT_SIZE], struct wp_error *error)
{
	struct wp_buffer text;
	struct wp_sql sql;
	wp_buffer_init(&text, WP_SQL_SIZE_MAX);
	wp_sql_init(&sql, wp_session_pg(s), &text);
	wp_slot_create_temporary_sql(&sql, slot);
	enum wp_rc rc = create(s, options, &sql, ret_lsn, error);
	wp_buffer_release(&text);
	return rc;
}

static enum wp_rc create_exported(struct watch *w, struct wp_sql *sql, PGresult **ret,
				  struct wp_error *error)
{
	struct wp_session *s = w->creator;
	enum wp_rc rc = wp_sql_end(sql, error);

	if (rc != WP_OK)
		return rc;
	s->waiting = name_waits;
	s->waiting_arg = w;
	s->waiting_every_s = 1.;
	rc = wp_session_query(s, (const char *)sql->into->data, ret, error);
	s->waiting = NULL;
	return rc;
}

enum wp_rc wp_cli_create_exported_slot(struct wp_session *s,
				       const struct wp_postgres_options *options, const char *slot,
				       int64_t timeout_ms, char ret_lsn[WP_LSN_TEXT_SIZE],
				       char ret_snapshot[WP_SNAPSHOT_NAME_SIZE],
				       struct wp_error *error)
{
	struct watch watch = {
		.options = options,
		.creator = s,
		.until_ms = wp_clock_us() / 1000 + timeout_ms,
	};
	struct wp_buffer text;
	struct wp_sql sql;
	PGresult *made;

	wp_buffer_init(&text, WP_SQL_SIZE_MAX);
	wp_sql_init(&sql, wp_session_pg(s), &text);
	/* The form without parentheses is that of PostgreSQL 14, and understood by all since. */
	wp_sql_add(&sql, "CREATE_REPLICATION_SLOT %I TEMPORARY LOGICAL pgoutput EXPORT_SNAPSHOT",
		   slot);
	enum wp_rc rc = create_exported(&watch, &sql, &made, error);
	if (rc == WP_OK) {
		(void)snprintf(ret_lsn, WP_LSN_TEXT_SIZE, "%s", PQgetvalue(made, 0, 1));
		(void)snprintf(ret_snapshot, WP_SNAPSHOT_NAME_SIZE, "%s", PQgetvalue(made, 0, 2));
		PQclear(made);
	} else if (watch.given_up) {
		rc = wp_error_set(error, WP_IO,
				  "creating the temporary slot took longer than %g s, for it "
				  "waits for transactions to end, the oldest: %s. End it, or raise "
				  "--timeout",
				  (double)timeout_ms / 1000.,
				  watch.first[0] != '\0' ? watch.first : "not known");
	}
	wp_session_release(&watch.session);
	wp_buffer_release(&text);
	return rc;
}

size_t wp_cli_record_max(const struct wp_config *config)
{
	return config->relay.sink == WP_SINK_KIND_KAFKA ? wp_properties_record_max(&config->kafka)
							: 0;
}

/* -- what a relay would know ----------------------------------------------- */

enum wp_rc wp_cli_find_columns(struct wp_session *s, const struct wp_requirements *wanted,
			       enum wp_binary binary, struct wp_column_facts *ret,
			       enum wp_transfer *ret_transfer, struct wp_error *error)
{
	struct wp_statement statement;
	PGresult *r = NULL;
	enum wp_rc rc = WP_OK;
	if (wanted->count > 0) {
		wp_statement_begin(&statement, s);
		wp_columns_sql(&statement.sql, wanted);
		rc = wp_statement_ask(&statement, &r, error);
	}
	if (rc == WP_OK)
		*ret_transfer = wp_columns_read(r, binary, ret);
	PQclear(r);
	return rc;
}

static enum wp_rc find_partitions(const struct wp_cli_catalog *c, struct wp_error *error)
{
	struct wp_statement statement;
	PGresult *r = NULL;
	wp_statement_begin(&statement, c->session);
	wp_partitions_sql(&statement.sql, c->wanted,
			  c->options->allow_synchronous ? WP_PARTITIONS_FOR_SYNCHRONOUS
							: WP_PARTITIONS_FOR_ANYBODY);
	enum wp_rc rc = wp_statement_ask(&statement, &r, error);
	if (rc == WP_OK)
		rc = wp_partitions_answer(r, c->partitions, error);
	PQclear(r);
	return rc;
}

/* A transaction is not visible at once, nor while it waits for a synchronous standby. */
enum wp_rc wp_cli_offer(const struct wp_cli_catalog *c, wp_changes_take take, void *arg,
			struct wp_span message, struct wp_error *error)
{
	enum wp_rc rc = take(arg, message, error);
	int64_t asked_ms = 0;
	while (rc == WP_PAUSE) {
		int64_t now_ms = wp_clock_us() / 1000;
		if (asked_ms != 0 && now_ms - asked_ms >= c->patience_ms)
			return wp_error_set(
				error, WP_IO,
				"cannot determine whether a table is a partition of an outbox: the "
				"transaction that wrote to it was committed but still waits for a "
				"synchronous standby; try again when that is connected");
		if (asked_ms != 0)
			wp_console_wait(c->session->console, ASK_EVERY_S);
		if (c->session->console->interrupted)
			return wp_error_set(error, WP_IO, "interrupted");
		rc = find_partitions(c, error);
		if (rc == WP_OK)
			rc = take(arg, message, error);
		asked_ms = asked_ms != 0 ? asked_ms : now_ms;
	}
	return rc;
}
