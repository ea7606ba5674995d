/*
 * `walpost cleanup` tells why rows of the outboxes are still there, by sql/cleanup.sql. It removes
 * none, which is for the relay to do. --release proves rows that this slot did not deliver: they
 * are compared with the topics, as `walpost diff` does, and if none is missing they are no longer
 * below the floor.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "json_output.h"
#include "walpost/cli/cli.h"
#include "walpost/cli/diff.h"
#include "walpost/cli/output.h"
#include "walpost/run/requirements.h"

struct cleanup {
	struct wp_diff diff; /* with the configuration, and the console */
	struct wp_session session;
	struct wp_cleaned cleaned;
	bool release;
	bool json;
	json_t *array;
	bool failed; /* something is not released */
};

/* These are the columns of the first answer, in order. */
enum { REFUSAL, KNOWN, FLOOR, REASON, LAG };
/* These are the columns of the second answer, in order. */
enum { GROUP, ROWS, OLDEST };

static const struct {
	const char *name;
	const char *what;
} groups[] = {
	{ "due", "old enough, and above the floor" },
	{ "young", "younger than cleanup.keep" },
	{ "unproved", "not known to be in Kafka" },
	{ "parked", "parked (walpost parked list)" },
	{ "untimed", "without a time" },
	{ "marked", "marked already" },
};

static void add_arguments(struct wp_sql *sql, const struct cleanup *c,
			  const struct wp_cleanup_table *t)
{
	const struct wp_postgres_options *p = &c->diff.config.postgres;
	wp_sql_add(sql, "%L, %L, format('%%I.%%I', %L, %L)::regclass", p->slot, p->publication,
		   t->schema, t->name);
}

/* The answer has the highest floor, the outbox's own or that of a partition, and its reason. */
static enum wp_rc ask_state(struct cleanup *c, const struct wp_cleanup_table *t, PGresult **ret,
			    struct wp_error *error)
{
	const char *slot = c->diff.config.postgres.slot;
	struct wp_statement s;
	wp_statement_begin(&s, &c->session);
	wp_sql_add(&s.sql,
		   "SELECT coalesce(g.refusal, ''), f.slot IS NOT NULL AND f.wait_for IS NULL AND "
		   "f.generation = g.generation, coalesce(h.highest, ''), coalesce(n.reason, "
		   "f.reason, ''), "
		   "(SELECT pg_wal_lsn_diff(pg_current_wal_insert_lsn(), s.confirmed_flush_lsn) "
		   "FROM pg_replication_slots s WHERE s.slot_name = ");
	wp_sql_add(&s.sql, "%L) FROM walpost.cleanup_generation(", slot);
	add_arguments(&s.sql, c, t);
	wp_sql_add(&s.sql, ", %L) g CROSS JOIN walpost.cleanup_floors(%L, ", t->inserted, slot);
	wp_sql_add(&s.sql, "format('%%I.%%I', %L, %L)::regclass, %L) h\n", t->schema, t->name,
		   t->inserted);
	wp_sql_add(&s.sql, "LEFT JOIN walpost.cleanup_floor f ON (f.slot, f.outbox, f.leaf) = ");
	wp_sql_add(&s.sql, "(%L, format('%%I.%%I', %L, %L)::regclass, f.outbox)\n", slot, t->schema,
		   t->name);
	wp_sql_add(&s.sql, "LEFT JOIN LATERAL (SELECT k.reason FROM walpost.cleanup_floor k WHERE "
			   "k.slot = f.slot AND k.outbox = f.outbox AND k.floor = h.highest ORDER "
			   "BY k.leaf = k.outbox DESC LIMIT 1) n ON true");
	return wp_statement_ask(&s, ret, error);
}

static enum wp_rc ask_groups(struct cleanup *c, const struct wp_cleanup_table *t, PGresult **ret,
			     struct wp_error *error)
{
	char keep[32];
	struct wp_statement s;
	(void)snprintf(keep, sizeof(keep), "%" PRId64 " ms", c->diff.config.relay.cleanup.keep_ms);
	wp_statement_begin(&s, &c->session);
	wp_sql_add(&s.sql,
		   "SELECT \"group\", rows, coalesce(oldest, '') FROM walpost.cleanup_report(");
	add_arguments(&s.sql, c, t);
	wp_sql_add(&s.sql, ", %L, %L, nullif(%L, ''), %L) ORDER BY 1", t->inserted, t->id,
		   t->processed ? t->processed : "", keep);
	return wp_statement_ask(&s, ret, error);
}

/* -- telling ------------------------------------------------------------------------------ */

static void tell_group(const PGresult *state, const PGresult *r, int row, const char *what)
{
	const char *name = PQgetvalue(r, row, GROUP);
	wp_cli_say(stdout, "%12s  %s", PQgetvalue(r, row, ROWS), what);
	if (*PQgetvalue(r, row, OLDEST))
		wp_cli_say(stdout, ", the oldest from %s", PQgetvalue(r, row, OLDEST));
	if (!strcmp(name, "unproved") && *PQgetvalue(state, 0, KNOWN) == 't')
		wp_cli_say(
			stdout,
			": up to %s, %s; walpost cleanup --release compares them with the topics",
			*PQgetvalue(state, 0, FLOOR) ? PQgetvalue(state, 0, FLOOR) : "no time",
			PQgetvalue(state, 0, REASON));
	else if (!strcmp(name, "unproved"))
		wp_cli_say(stdout, ": no relay has cleaned this outbox yet, or it waits for "
				   "transactions that run");
	else if (!strcmp(name, "due") && !PQgetisnull(state, 0, LAG))
		wp_cli_say(stdout,
			   "; removed once confirmed (the relay has %s bytes of WAL to confirm)",
			   PQgetvalue(state, 0, LAG));
	wp_cli_say(stdout, "\n");
}

static void tell(const struct wp_cleanup_table *t, const PGresult *state, const PGresult *r)
{
	wp_cli_say(stdout, "outbox %s:\n", t->outbox);
	if (*PQgetvalue(state, 0, REFUSAL))
		wp_cli_say(stdout, "  nothing is removed: %s\n", PQgetvalue(state, 0, REFUSAL));
	if (PQntuples(r) == 0)
		wp_cli_say(stdout, "  no rows\n");
	for (size_t g = 0; g < sizeof(groups) / sizeof(groups[0]); g++)
		for (int row = 0; row < PQntuples(r); row++)
			if (!strcmp(PQgetvalue(r, row, GROUP), groups[g].name))
				tell_group(state, r, row, groups[g].what);
}

static void add_json(struct cleanup *c, const struct wp_cleanup_table *t, const PGresult *state,
		     const PGresult *r)
{
	json_t *object = json_object(), *rows = json_object();
	for (int row = 0; row < PQntuples(r); row++)
		(void)json_object_set_new(
			rows, PQgetvalue(r, row, GROUP),
			json_integer(strtoll(PQgetvalue(r, row, ROWS), NULL, 10)));
	(void)json_object_set_new(object, "outbox", json_string(t->outbox));
	(void)json_object_set_new(object, "rows", rows);
	(void)json_object_set_new(object, "refusal", json_string(PQgetvalue(state, 0, REFUSAL)));
	(void)json_object_set_new(object, "floor_known",
				  json_boolean(*PQgetvalue(state, 0, KNOWN) == 't'));
	(void)json_object_set_new(object, "floor", json_string(PQgetvalue(state, 0, FLOOR)));
	(void)json_object_set_new(object, "floor_reason",
				  json_string(PQgetvalue(state, 0, REASON)));
	(void)json_array_append_new(c->array, object);
}

static enum wp_rc report(struct cleanup *c, const struct wp_cleanup_table *t,
			 struct wp_error *error)
{
	PGresult *state = NULL, *r = NULL;
	enum wp_rc rc = ask_state(c, t, &state, error);
	if (rc == WP_OK)
		rc = ask_groups(c, t, &r, error);
	if (rc == WP_OK && c->json)
		add_json(c, t, state, r);
	else if (rc == WP_OK)
		tell(t, state, r);
	PQclear(state);
	PQclear(r);
	return rc;
}

/* -- proving -------------------------------------------------------------------------------- */

/* These are the columns of the answer to ask_floors(), in order. */
enum { HIGHEST, FLOORS, WAITS };

static enum wp_rc ask_floors(struct cleanup *c, const struct wp_cleanup_table *t, PGresult **ret,
			     struct wp_error *error)
{
	struct wp_statement s;
	wp_statement_begin(&s, &c->session);
	wp_sql_add(&s.sql,
		   "SELECT highest, floors, waits FROM walpost.cleanup_floors(%L, "
		   "format('%%I.%%I', %L, %L)::regclass, %L)",
		   c->diff.config.postgres.slot, t->schema, t->name, t->inserted);
	return wp_statement_ask(&s, ret, error);
}

/*
 * Counts the rows at or below the highest floor that have no record in the topics that is the same.
 * The id alone would be fooled by one that is used again.
 */
static enum wp_rc compare(struct cleanup *c, const struct wp_cleanup_table *t, const char *highest,
			  uint64_t *missing, struct wp_error *error)
{
	struct wp_buffer where;
	struct wp_sql sql;
	struct wp_diff *d = &c->diff;
	wp_buffer_init(&where, WP_SQL_SIZE_MAX);
	wp_sql_init(&sql, wp_session_pg(&c->session), &where);
	wp_sql_add(&sql, "%I <= %L", t->inserted, highest);
	enum wp_rc rc = wp_sql_end(&sql, error);
	d->options.where = (const char *)where.data;
	if (rc == WP_OK)
		rc = wp_diff_compare(d, error);
	if (rc == WP_OK && (d->is_full || (d->table_count > 0 && d->tables[0].is_limited)))
		rc = wp_error_set(
			error, WP_CONFIG,
			"outbox %s has more rows that are not known to be in Kafka than can be "
			"compared at once (%d): delete those that you know to be delivered",
			t->outbox, WP_DIFF_LIMIT_MAX);
	if (rc == WP_OK) {
		const struct wp_matching_counts *counts = wp_matching_finish(d->matching);
		const struct wp_outbox_options *o = d->outboxes.items;
		bool may_go =
			d->config.relay.cleanup.dropped == WP_CLEANUP_DROPPED_REMOVE &&
			(o->column_expires[0] == '\0' || o->expired != WP_EXPIRED_DEAD_LETTER);
		*missing = counts->rows - counts->equal + d->unmade_count +
			   (may_go ? 0 : wp_diff_dropped(d));
	}
	d->options.where = NULL;
	wp_buffer_release(&where);
	return rc;
}

static enum wp_rc lift(struct cleanup *c, const struct wp_cleanup_table *t, const PGresult *floors,
		       struct wp_error *error)
{
	struct wp_statement s;
	PGresult *r;
	wp_statement_begin(&s, &c->session);
	wp_sql_add(&s.sql,
		   "SELECT walpost.cleanup_release(%L, format('%%I.%%I', %L, %L)::regclass, "
		   "%L::text[], 'released: all rows were in the topics at ' || "
		   "to_char(now() AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SS') || ' UTC')",
		   c->diff.config.postgres.slot, t->schema, t->name, PQgetvalue(floors, 0, FLOORS));
	enum wp_rc rc = wp_statement_ask(&s, &r, error);
	if (rc == WP_OK)
		PQclear(r);
	return rc;
}

static void say_released(struct cleanup *c, const struct wp_cleanup_table *t, const char *highest,
			 uint64_t missing)
{
	c->failed = c->failed || missing > 0;
	if (c->json) {
		json_t *object = json_object();
		(void)json_object_set_new(object, "outbox", json_string(t->outbox));
		(void)json_object_set_new(object, "compared_until", json_string(highest));
		(void)json_object_set_new(object, "missing", json_integer((json_int_t)missing));
		(void)json_object_set_new(object, "released", json_boolean(missing == 0));
		(void)json_array_append_new(c->array, object);
	} else if (missing > 0) {
		wp_cli_say(stdout,
			   "outbox %s: not released: %" PRIu64
			   " rows until %s have no record in their topic, or another, or expired "
			   "or are "
			   "of a skipped type; walpost diff "
			   "shows them, walpost backfill --missing or walpost replay sends them; "
			   "delete those that consumers should not get\n",
			   t->outbox, missing, highest);
	} else if (*highest == '\0') {
		wp_cli_say(stdout, "outbox %s: nothing to release\n", t->outbox);
	} else {
		wp_cli_say(stdout, "outbox %s: released: all rows until %s are in Kafka%s\n",
			   t->outbox, highest,
			   c->diff.config.relay.cleanup.dropped == WP_CLEANUP_DROPPED_REMOVE
				   ? ", or of dropped events"
				   : "");
	}
}

static enum wp_rc release(struct cleanup *c, const struct wp_outbox_options *o,
			  const struct wp_cleanup_table *t, struct wp_error *error)
{
	PGresult *floors;
	uint64_t missing = 0;
	enum wp_rc rc = ask_floors(c, t, &floors, error);
	if (rc != WP_OK)
		return rc;
	wp_diff_take_outboxes(&c->diff);
	c->diff.outboxes.items = o;
	c->diff.outboxes.count = 1;
	if (*PQgetvalue(floors, 0, WAITS) == 't') {
		rc = wp_error_set(
			error, WP_CONFIG,
			"outbox %s: no relay has cleaned it yet, or it still waits for "
			"transactions to end; start walpost run with cleanup.mode and try again",
			t->outbox);
	} else if (!PQgetisnull(floors, 0, HIGHEST)) {
		rc = compare(c, t, PQgetvalue(floors, 0, HIGHEST), &missing, error);
		if (rc == WP_OK && missing == 0)
			rc = lift(c, t, floors, error);
		wp_diff_release(&c->diff);
	}
	if (rc == WP_OK)
		say_released(c, t, PQgetvalue(floors, 0, HIGHEST), missing);
	PQclear(floors);
	return rc;
}

/* -- the command ---------------------------------------------------------------------------- */

static enum wp_rc each(struct cleanup *c, struct wp_error *error)
{
	const struct wp_cleaned *all = &c->cleaned;
	enum wp_rc rc = WP_OK;
	for (size_t i = 0; i < all->count && rc == WP_OK; i++)
		rc = c->release ? release(c, all->outboxes[i], &all->tables[i], error)
				: report(c, &all->tables[i], error);
	return rc;
}

static int act(struct cleanup *c)
{
	struct wp_error error;
	const struct wp_config *config = &c->diff.config;
	enum wp_rc rc = wp_session_begin(&c->session, &c->diff.console, &config->postgres, &error);
	c->array = json_array();
	if (rc == WP_OK)
		rc = each(c, &error);
	wp_cli_say_progress("%s", "");
	if (rc == WP_CONFIG && !strcmp(c->session.failure.sqlstate, "42883"))
		(void)wp_error_set(&error, rc,
				   "%.1500s; run walpost init or sql/cleanup.sql once as an "
				   "administrator",
				   error.text);
	int exit_code =
		rc == WP_OK ? wp_cli_done() : wp_cli_fail(wp_cli_exit_of(rc), "%s", error.text);
	if (rc == WP_OK && c->json)
		exit_code = wp_cli_json_print(json_incref(c->array), "the result");
	if (exit_code == WP_EXIT_OK && c->failed)
		exit_code = WP_EXIT_FAILED;
	json_decref(c->array);
	wp_session_release(&c->session);
	wp_console_release(&c->diff.console);
	return exit_code;
}

static int start(struct cleanup *c, const struct wp_cli_line *line)
{
	struct wp_config *config = &c->diff.config;
	int exit_code = wp_cli_config(line, config);
	if (exit_code == WP_EXIT_OK) {
		wp_requirements_cleaned(&config->outboxes, &config->relay.cleanup, &c->cleaned);
		exit_code =
			c->cleaned.count == 0
				? wp_cli_fail(
					  WP_EXIT_CONFIG,
					  "no outbox has outbox.column.inserted: cleanup leaves "
					  "all of them alone")
				: act(c);
	}
	wp_config_release(config);
	return exit_code;
}

int wp_command_cleanup(int argc, char **argv)
{
	static struct cleanup c; /* static because it is large; there is only one */
	const struct wp_cli_option options[] = {
		{ "--release", NULL,
		  "compare rows that this slot did not deliver with the topics, and let them go",
		  &c.release, NULL },
		{ "--json", NULL, "as a JSON array", &c.json, NULL },
	};
	const struct wp_cli_usage usage = {
		.command = "walpost cleanup",
		.about = "Shows how many rows of the outboxes cleanup.mode would remove, and why the others stay.\n"
"Removes nothing: walpost run does that. Reads all of each table.",
		WP_CLI_OPTIONS(options),
		.exits = {
			[WP_EXIT_OK] = "shown, or all are released",
			[WP_EXIT_FAILED] = "rows are missing in Kafka, or a server does not answer",
		},
	};
	struct wp_cli_line line;
	int exit_code;

	c.diff.options = (struct wp_diff_options){
		.id_header = "id",
		.limit = WP_DIFF_LIMIT_MAX,
	};
	if (!wp_cli_parse(&usage, argc, argv, &line, &exit_code))
		return exit_code;
	return start(&c, &line);
}
