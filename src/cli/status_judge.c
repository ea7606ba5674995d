/* Asks Postgres for `walpost status` how the slot stands, judges what that means, and prints it. */
#include "status.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "walpost/base/error.h"
#include "walpost/cli/cli.h"
#include "walpost/cli/outbox.h"
#include "walpost/postgres/sql.h"
#include "walpost/postgres_preflight/slot_checkpoint.h"
#include "walpost/postgres_preflight/slot.h"
#include "walpost/source/slot_cure.h"

enum kind { TEXT, NUMBER, YES_NO };

#define ACTIVE_PID_SQL "(j->>'active_pid')::int"
#define FOREIGN_SQL                                             \
	"(SELECT CASE WHEN NOT " WP_SLOT_HOLDER_IS_WALPOST_SQL( \
		ACTIVE_PID_SQL) " THEN " WP_SLOT_HOLDER_SQL(ACTIVE_PID_SQL) " END FROM slot)"

/*
 * The SQL, the text and the JSON share one list: name, kind, unit, expression over slot (as JSON: a
 * missing column is a missing key), pub, here and walsender.
 */
static const struct fact {
	const char *name;
	enum kind kind;
	const char *unit;
	const char *sql;
} facts[] = {
	{ "slot_exists", YES_NO, "", "EXISTS (SELECT FROM slot)" },
	{ "plugin", TEXT, "", "(SELECT j->>'plugin' FROM slot)" },
	{ "database", TEXT, "", "(SELECT j->>'database' FROM slot)" },
	{ "active_pid", NUMBER, "", "(SELECT j->>'active_pid' FROM slot)" },
	{ "application_name", TEXT, "", "(SELECT application_name FROM walsender)" },
	{ "foreign_client", TEXT, "", FOREIGN_SQL }, /* when that is no walpost by its name */
	{ "walsender_state", TEXT, "", "(SELECT state FROM walsender)" },
	{ "confirmed_flush_lsn", TEXT, "", "(SELECT j->>'confirmed_flush_lsn' FROM slot)" },
	{ "restart_lsn", TEXT, "", "(SELECT j->>'restart_lsn' FROM slot)" },
	{ "server_lsn", TEXT, "", "(SELECT lsn FROM here)" },
	{ "lag_bytes", NUMBER, " bytes",
	  "(SELECT pg_wal_lsn_diff(lsn, (j->>'confirmed_flush_lsn')::pg_lsn) FROM slot, "
	  "here)" },
	{ "lag_seconds", NUMBER, " s",
	  "(SELECT round(extract(epoch FROM flush_lag), 3) FROM walsender)" },
	{ "retained_wal_bytes", NUMBER, " bytes",
	  "(SELECT pg_wal_lsn_diff(lsn, (j->>'restart_lsn')::pg_lsn) FROM slot, here)" },
	{ "safe_wal_size", NUMBER, " bytes", "(SELECT j->>'safe_wal_size' FROM slot)" },
	{ "wal_status", TEXT, "", "(SELECT j->>'wal_status' FROM slot)" },
	{ "invalidation", TEXT, "",
	  "(SELECT coalesce(j->>'invalidation_reason', CASE WHEN j->>'wal_status' = 'lost' "
	  "THEN "
	  "'wal_removed' "
	  "WHEN j->>'conflicting' = 'true' THEN 'conflicting' END) FROM slot)" },
	{ "standby", YES_NO, "", "pg_is_in_recovery()" },
	{ "publication_exists", YES_NO, "", "EXISTS (SELECT FROM pub)" },
	{ "slot_sync", TEXT, "", WP_SLOT_SYNC_SQL },
};

#define FACT_COUNT (sizeof(facts) / sizeof(facts[0]))

/* These are what the relay wrote down in walpost.slot_checkpoint. */
static const struct fact slot_checkpoint_facts[] = {
	{ "owner", TEXT, "", "owner" },
	{ "owner_epoch", NUMBER, "", "epoch" },
	{ "taken_at_lsn", TEXT, "", "taken_at_lsn" },
	{ "seconds_since_taken", NUMBER, " s", "extract(epoch FROM now() - taken_at)::bigint" },
	{ "noted_lsn", TEXT, "", "confirmed_lsn" },
	{ "seconds_since_noted", NUMBER, " s", "extract(epoch FROM now() - confirmed_at)::bigint" },
	{ "stopped", YES_NO, "", "stopped" },
	{ "trouble", TEXT, "", "trouble" },
	{ "seconds_in_trouble", NUMBER, " s", "extract(epoch FROM now() - trouble_at)::bigint" },
};

#define SLOT_CHECKPOINT_COUNT (sizeof(slot_checkpoint_facts) / sizeof(slot_checkpoint_facts[0]))

/* These are of walpost.parked, by aggregate. */
static const struct fact parked_facts[] = {
	{ "parked_aggregates", NUMBER, "", "count(*)" },
	{ "parked_events", NUMBER, "", "coalesce(sum(events), 0)::bigint" },
	{ "seconds_since_parked", NUMBER, " s",
	  "extract(epoch FROM clock_timestamp() - min(since))::bigint" },
};

enum { PARKED_AGGREGATES, PARKED_EVENTS, PARKED_SINCE, PARKED_COUNT };

/* walpost.scheduled_state() tells these of the whole database, whichever relay moves them. */
static const struct fact scheduled_facts[] = {
	{ "scheduled_due", NUMBER, "", "due" },
	{ "scheduled_overdue", NUMBER, "", "overdue" },
	{ "scheduled_failed", NUMBER, "", "failed" },
	{ "seconds_since_due", NUMBER, " s", "CASE WHEN due + failed > 0 THEN late_ms / 1000 END" },
};

enum {
	SCHEDULED_DUE,
	SCHEDULED_OVERDUE,
	SCHEDULED_FAILED,
	SCHEDULED_OLDEST,
	SCHEDULED_COUNT,
};

/* -- asking -------------------------------------------------------------------------- */

static void add_facts(struct wp_sql *sql, const struct fact *list, size_t count)
{
	for (size_t i = 0; i < count; i++)
		wp_sql_add(sql, "%s%s AS %I", i ? ", " : "SELECT ", list[i].sql, list[i].name);
}

static void add_slot_question(struct wp_sql *sql, const struct wp_postgres_options *options)
{
	wp_sql_add(sql,
		   "WITH slot AS (SELECT to_jsonb(s) AS j FROM pg_replication_slots s WHERE "
		   "slot_name = %L),\n"
		   "pub AS (SELECT FROM pg_publication WHERE pubname = %L),\n"
		   "here AS (SELECT CASE WHEN pg_is_in_recovery() THEN pg_last_wal_replay_lsn()\n"
		   "  ELSE pg_current_wal_lsn() END AS lsn),\n"
		   "walsender AS (SELECT r.state, r.flush_lag, r.application_name FROM "
		   "pg_stat_replication r, slot\n"
		   "  WHERE r.pid::text = j->>'active_pid')\n",
		   options->slot, options->publication);
	add_facts(sql, facts, FACT_COUNT);
	wp_sql_add(sql, ",\n  current_database()");
	wp_sql_add(sql, ",\n  (SELECT has_schema_privilege(n.oid, 'USAGE') AND "
			"has_table_privilege(c.oid, 'SELECT')\n"
			"  FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace\n"
			"  WHERE n.nspname = 'walpost' AND c.relname = 'slot_checkpoint'\n"
			"    AND " WP_SLOT_CHECKPOINT_IS_WHOLE("c.oid") ")");
	wp_sql_add(
		sql,
		",\n  (SELECT has_schema_privilege(n.oid, 'USAGE') AND has_table_privilege(c.oid, "
		"'SELECT')\n"
		"  FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace\n"
		"  WHERE n.nspname = 'walpost' AND c.relname = 'parked' AND 6 = (SELECT count(*)\n"
		"    FROM pg_attribute a WHERE a.attrelid = c.oid AND NOT a.attisdropped\n"
		"    AND a.attname IN ('slot', 'position', 'outbox', 'key', 'parked_at', 'act')))");
	wp_sql_add(sql, ",\n  (SELECT has_schema_privilege(n.oid, 'USAGE') AND "
			"has_function_privilege(p.oid, 'EXECUTE')\n"
			"  FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace\n"
			"  WHERE n.nspname = 'walpost' AND p.proname = 'scheduled_state')");
	wp_sql_add(
		sql,
		",\n  (SELECT extract(epoch FROM a.backend_start) FROM pg_stat_activity a, slot\n"
		"  WHERE a.pid::text = j->>'active_pid')");
}

static void add_slot_checkpoint_question(struct wp_sql *sql,
					 const struct wp_postgres_options *options)
{
	add_facts(sql, slot_checkpoint_facts, SLOT_CHECKPOINT_COUNT);
	wp_sql_add(sql,
		   ", extract(epoch FROM confirmed_at) AS noted_at FROM walpost.slot_checkpoint "
		   "WHERE slot = %L",
		   options->slot);
}

/* An event that is to be skipped only waits for the relay to delete it. */
static void add_parked_question(struct wp_sql *sql, const struct wp_postgres_options *options)
{
	add_facts(sql, parked_facts, PARKED_COUNT);
	wp_sql_add(sql,
		   " FROM (SELECT count(*) AS events, min(parked_at) AS since FROM walpost.parked\n"
		   "  WHERE slot = %L AND act IS DISTINCT FROM 'skip'\n"
		   "  GROUP BY outbox, key, CASE WHEN key IS NULL THEN \"position\" END) a",
		   options->slot);
}

static void add_scheduled_question(struct wp_sql *sql, const struct wp_postgres_options *options)
{
	(void)options; /* the question is the same for all */
	add_facts(sql, scheduled_facts, SCHEDULED_COUNT);
	wp_sql_add(sql, " FROM walpost.scheduled_state()");
}

static enum wp_rc ask(struct wp_slot_status *s,
		      void (*question)(struct wp_sql *, const struct wp_postgres_options *),
		      PGresult **ret, struct wp_error *error)
{
	struct wp_buffer text;
	struct wp_sql sql;
	wp_buffer_init(&text, WP_SQL_SIZE_MAX);
	wp_sql_init(&sql, wp_session_pg(&s->session), &text);
	question(&sql, &s->config.postgres);
	enum wp_rc rc = wp_sql_end(&sql, error);
	if (rc == WP_OK)
		rc = wp_session_query(&s->session, (const char *)text.data, ret, error);
	wp_buffer_release(&text);
	return rc;
}

/* -- what it means ------------------------------------------------------------------- */

/* `name` is one of our own. */
static int place_of(const char *name)
{
	size_t i = 0;

	while (strcmp(facts[i].name, name) != 0) {
		i++;
		assert(i < FACT_COUNT);
	}
	return (int)i;
}

/* Returns "" if it is NULL, or if nothing is known. */
static const char *value_of(const struct wp_slot_status *s, const char *name)
{
	return s->slot == NULL ? "" : PQgetvalue(s->slot, 0, place_of(name));
}

static bool is_yes(const struct wp_slot_status *s, const char *name)
{
	return *value_of(s, name) == 't';
}

static const char *noted(const struct wp_slot_status *s, const char *name)
{
	if (s->slot_checkpoint == NULL || PQntuples(s->slot_checkpoint) == 0)
		return "";
	return PQgetvalue(s->slot_checkpoint, 0, PQfnumber(s->slot_checkpoint, name));
}

/* These answers to the question about the slot stand behind the facts. */
enum {
	HERE = FACT_COUNT,
	SLOT_CHECKPOINT_READABLE,
	PARKED_READABLE,
	SCHEDULED_READABLE,
	CONNECTED_AT,
};

/* No relay can stream from a slot of another plugin or database, nor from a physical one. */
static bool is_walposts(const struct wp_slot_status *s)
{
	return strcmp(value_of(s, "plugin"), "pgoutput") == 0 &&
	       strcmp(value_of(s, "database"), PQgetvalue(s->slot, 0, HERE)) == 0;
}

/* Has the client that has the slot written the row since it came? Only a relay does. */
static bool has_written(const struct wp_slot_status *s)
{
	const char *connected = PQgetvalue(s->slot, 0, CONNECTED_AT);

	return *connected != '\0' && strtod(noted(s, "noted_at"), NULL) >= strtod(connected, NULL);
}

static enum wp_slot_status_state state_of(const struct wp_slot_status *s)
{
	if (!is_yes(s, "slot_exists"))
		return WP_SLOT_NO_SLOT;
	if (!is_walposts(s))
		return WP_SLOT_NOT_WALPOSTS;
	if (*value_of(s, "invalidation") != '\0')
		return WP_SLOT_LOST;
	if (!is_yes(s, "publication_exists"))
		return WP_SLOT_NO_PUBLICATION;
	if (is_yes(s, "standby"))
		return WP_SLOT_STANDBY;
	if (*value_of(s, "active_pid") == '\0')
		return WP_SLOT_NOBODY;
	if (*value_of(s, "foreign_client") != '\0' && !has_written(s))
		return WP_SLOT_FOREIGN;
	/* The relay itself judges this: positions do not tell a stalled one from an idle one. */
	if (*noted(s, "trouble") != '\0')
		return WP_SLOT_STALLED;
	return strcmp(value_of(s, "walsender_state"), "catchup") == 0 ? WP_SLOT_CATCHES_UP
								      : WP_SLOT_STREAMS;
}

/* Says which relay had the slot last, and what became of it, as far as it could write that down. */
static void say_nobody(struct wp_slot_status *s)
{
	const char *owner = noted(s, "owner"), *since = noted(s, "seconds_since_noted");
	const char *slot = s->config.postgres.slot;

	const char *trouble = noted(s, "trouble");

	if (strstr(trouble, WP_SLOT_MISSING_BEGINS) != NULL)
		(void)wp_error_set(&s->means, WP_OK,
				   "no relay streams from slot %s: the last one found no such slot "
				   "%s s ago, and it was created since. " WP_SLOT_MOVED,
				   slot, noted(s, "seconds_in_trouble"));
	else if (*owner == '\0')
		(void)wp_error_set(&s->means, WP_OK,
				   "no relay streams from slot %s; start walpost run", slot);
	else if (*trouble != '\0')
		(void)wp_error_set(&s->means, WP_OK,
				   "no relay streams from slot %s: the last one reported a problem "
				   "%s s ago (walpost check tells whether it lasts): %s",
				   slot, noted(s, "seconds_in_trouble"), trouble);
	else if (strchr(owner, ':') == NULL) /* no relay is called so: a command wrote it */
		(void)wp_error_set(&s->means, WP_OK,
				   "no relay streams from slot %s: %s recorded its position %s s "
				   "ago; start walpost run",
				   slot, owner, *since ? since : "?");
	else if (*noted(s, "stopped") == 't')
		(void)wp_error_set(
			&s->means, WP_OK,
			"no relay streams from slot %s: %s stopped or halted %s s ago; see its log",
			slot, owner, *since ? since : "?");
	else
		(void)wp_error_set(&s->means, WP_OK,
				   "no relay streams from slot %s: %s ended unexpectedly or is "
				   "reconnecting; it recorded its position %s s ago",
				   slot, owner, *since ? since : "?");
}

static void say_stalled(struct wp_slot_status *s)
{
	(void)wp_error_set(&s->means, WP_OK,
			   "%s reads slot %s, but nothing has been confirmed for %s s: %s",
			   value_of(s, "application_name"), s->config.postgres.slot,
			   noted(s, "seconds_in_trouble"), noted(s, "trouble"));
}

static void say_not_walposts(struct wp_slot_status *s)
{
	const char *plugin = value_of(s, "plugin"), *slot = s->config.postgres.slot;

	if (*plugin == '\0')
		(void)wp_error_set(&s->means, WP_OK,
				   "slot %s is a physical slot of a standby or a backup; set "
				   "postgres.slot to another name",
				   slot);
	else if (strcmp(plugin, "pgoutput") != 0)
		(void)wp_error_set(&s->means, WP_OK,
				   "slot %s uses plugin %s, but walpost requires pgoutput; set "
				   "postgres.slot to another name",
				   slot, plugin);
	else
		(void)wp_error_set(&s->means, WP_OK,
				   "slot %s belongs to database %s, but the connection is to %s; "
				   "connect to that database, or set postgres.slot to another name",
				   slot, value_of(s, "database"), PQgetvalue(s->slot, 0, HERE));
}

static void say(struct wp_slot_status *s)
{
	const char *slot = s->config.postgres.slot;
	const char *danger = strcmp(value_of(s, "wal_status"), "unreserved") == 0
				     ? "; the slot will be lost at one of the next checkpoints"
				     : "";

	switch (s->state) {
	case WP_SLOT_STREAMS:
	case WP_SLOT_CATCHES_UP:
		(void)wp_error_set(
			&s->means, WP_OK, "%s %s slot %s%s", value_of(s, "application_name"),
			s->state == WP_SLOT_STREAMS ? "streams from" : "reads the backlog of", slot,
			danger);
		break;
	case WP_SLOT_NOBODY:
		say_nobody(s);
		break;
	case WP_SLOT_FOREIGN:
		(void)wp_error_set(&s->means, WP_OK,
				   "slot %s is held by a client that is no walpost relay: %s; "
				   "nobody delivers events, and what it confirms is lost",
				   slot, value_of(s, "foreign_client"));
		break;
	case WP_SLOT_STALLED:
		say_stalled(s);
		break;
	case WP_SLOT_NOT_WALPOSTS:
		say_not_walposts(s);
		break;
	case WP_SLOT_STANDBY:
		(void)wp_error_set(&s->means, WP_OK,
				   "this server is a standby: the relay streams from the primary");
		break;
	case WP_SLOT_LOST:
		(void)wp_error_set(&s->means, WP_OK, "slot %s is lost (%s). " WP_SLOT_REPLACE, slot,
				   value_of(s, "invalidation"));
		break;
	case WP_SLOT_NO_SLOT:
		(void)wp_error_set(&s->means, WP_OK, WP_SLOT_MISSING, slot);
		break;
	case WP_SLOT_NO_PUBLICATION:
		(void)wp_error_set(&s->means, WP_OK,
				   "there is no publication %s in this database; run walpost check "
				   "for the cure",
				   s->config.postgres.publication);
		break;
	case WP_SLOT_UNREACHABLE:
		break; /* whoever knows why has said it */
	}
}

/* Adds that copies of the slot are missing where they will be wanted. */
static void say_slot_sync(struct wp_slot_status *s)
{
	const struct wp_error state = s->means;
	const char *slot = s->config.postgres.slot;

	if (strcmp(value_of(s, "slot_sync"), "incomplete") == 0)
		(void)wp_error_set(
			&s->means, WP_OK,
			"%.1500s; this standby's copy of slot %s is not complete yet, and a "
			"promotion now loses it: it is complete once the slot has moved further",
			state.text, slot);
	else if (strcmp(value_of(s, "slot_sync"), "in_the_way") == 0)
		(void)wp_error_set(
			&s->means, WP_OK,
			"%.1200s; slot %s of this standby is not a copy, was created here when the "
			"server was the primary, and stops the copying of slots: drop it on this "
			"standby, SELECT pg_drop_replication_slot('%s')",
			state.text, slot, slot);
	else if (strcmp(value_of(s, "slot_sync"), "not_copied") == 0)
		(void)wp_error_set(&s->means, WP_OK,
				   "%.1500s; this server was promoted, and no standby copies slot "
				   "%s from it: walpost check has the cure",
				   state.text, slot);
}

static void say_parked(struct wp_slot_status *s)
{
	const struct wp_error state = s->means;

	if (s->parked == NULL || PQgetisnull(s->parked, 0, PARKED_SINCE))
		return;
	(void)wp_error_set(&s->means, WP_OK,
			   "%.1500s; parked events: %s, aggregates: %s, the oldest for %s s "
			   "(walpost parked list)",
			   state.text, PQgetvalue(s->parked, 0, PARKED_EVENTS),
			   PQgetvalue(s->parked, 0, PARKED_AGGREGATES),
			   PQgetvalue(s->parked, 0, PARKED_SINCE));
}

/* Events that are due are moved within a second. */
static void say_scheduled(struct wp_slot_status *s)
{
	const struct wp_error state = s->means;
	const PGresult *r = s->scheduled;

	if (r == NULL || (!strcmp(PQgetvalue(r, 0, SCHEDULED_OVERDUE), "0") &&
			  !strcmp(PQgetvalue(r, 0, SCHEDULED_FAILED), "0")))
		return;
	(void)wp_error_set(&s->means, WP_OK,
			   "%.1500s; scheduled events: %s overdue, %s set aside, the oldest due "
			   "for %s s (walpost.scheduled)",
			   state.text, PQgetvalue(r, 0, SCHEDULED_OVERDUE),
			   PQgetvalue(r, 0, SCHEDULED_FAILED), PQgetvalue(r, 0, SCHEDULED_OLDEST));
}

const char *wp_slot_status_state_name(enum wp_slot_status_state state)
{
	static const char *const names[] = {
		[WP_SLOT_STREAMS] = "streams",	       [WP_SLOT_CATCHES_UP] = "catches_up",
		[WP_SLOT_NOBODY] = "nobody",	       [WP_SLOT_STANDBY] = "standby",
		[WP_SLOT_UNREACHABLE] = "unreachable", [WP_SLOT_LOST] = "lost",
		[WP_SLOT_NO_SLOT] = "no_slot",	       [WP_SLOT_NO_PUBLICATION] = "no_publication",
		[WP_SLOT_STALLED] = "stalled",	       [WP_SLOT_NOT_WALPOSTS] = "not_walposts",
		[WP_SLOT_FOREIGN] = "foreign",
	};

	return names[state];
}

int wp_slot_status_exit_code(enum wp_slot_status_state state)
{
	switch (state) {
	case WP_SLOT_STREAMS:
	case WP_SLOT_CATCHES_UP:
		return WP_EXIT_OK;
	case WP_SLOT_STALLED:
	case WP_SLOT_NOBODY:
	case WP_SLOT_FOREIGN:
	case WP_SLOT_STANDBY:
	case WP_SLOT_UNREACHABLE:
		return WP_EXIT_FAILED;
	default:
		return WP_EXIT_HUMAN;
	}
}

static void clear(struct wp_slot_status *s)
{
	PQclear(s->scheduled);
	PQclear(s->parked);
	PQclear(s->slot_checkpoint);
	PQclear(s->slot);
	s->scheduled = s->parked = s->slot_checkpoint = s->slot = NULL;
	json_decref(s->dropped);
	s->dropped = NULL;
}

enum wp_rc wp_slot_status_ask(struct wp_slot_status *s, struct wp_error *error)
{
	clear(s);
	enum wp_rc rc = ask(s, add_slot_question, &s->slot, error);
	if (rc == WP_OK && *PQgetvalue(s->slot, 0, SLOT_CHECKPOINT_READABLE) == 't')
		rc = ask(s, add_slot_checkpoint_question, &s->slot_checkpoint, error);
	if (rc == WP_OK && *PQgetvalue(s->slot, 0, PARKED_READABLE) == 't')
		rc = ask(s, add_parked_question, &s->parked, error);
	if (rc == WP_OK && *PQgetvalue(s->slot, 0, SCHEDULED_READABLE) == 't')
		rc = ask(s, add_scheduled_question, &s->scheduled, error);
	if (rc != WP_OK)
		return rc;
	s->state = state_of(s);
	say(s);
	say_slot_sync(s);
	say_parked(s);
	say_scheduled(s);
	wp_slot_status_ask_dropped(s);
	return WP_OK;
}

void wp_slot_status_forget(struct wp_slot_status *s, const struct wp_error *error)
{
	clear(s);
	s->state = WP_SLOT_UNREACHABLE;
	s->means = *error;
}

void wp_slot_status_release(struct wp_slot_status *s)
{
	clear(s);
}

struct wp_trend_sample wp_slot_status_trend_sample(const struct wp_slot_status *s, int64_t now_ms)
{
	struct wp_trend_sample sample = { .at_ms = now_ms };
	const char *safe_size = value_of(s, "safe_wal_size");

	if (wp_lsn_parse(wp_span_of(value_of(s, "confirmed_flush_lsn")), &sample.confirmed) !=
		    WP_OK ||
	    wp_lsn_parse(wp_span_of(value_of(s, "server_lsn")), &sample.server) != WP_OK)
		sample.confirmed = sample.server = 0; /* nothing is known of it */
	sample.is_limited = *safe_size != '\0';
	sample.safe_size = strtoll(safe_size, NULL, 10);
	return sample;
}

/* -- for people ------------------------------------------------------------------------- */

static void print_line(FILE *to, const char *name, const char *value, const char *unit)
{
	wp_cli_say(to, "%-20s %s%s\n", name, value, unit);
}

static void print_facts(FILE *to, const struct fact *list, size_t count, const PGresult *row)
{
	for (size_t i = 0; i < count; i++) {
		const char *value = PQgetvalue(row, 0, (int)i);
		if (PQgetisnull(row, 0, (int)i))
			continue;
		print_line(to, list[i].name,
			   list[i].kind == YES_NO ? (*value == 't' ? "yes" : "no") : value,
			   list[i].unit);
	}
}

static void print_slot_checkpoint(FILE *to, const struct wp_slot_status *s)
{
	if (!s->slot_checkpoint)
		print_line(
			to, "owner",
			"unknown: walpost.slot_checkpoint is missing or not readable by this role",
			"");
	else if (PQntuples(s->slot_checkpoint) == 0)
		print_line(to, "owner", "none yet", "");
	else
		print_facts(to, slot_checkpoint_facts, SLOT_CHECKPOINT_COUNT, s->slot_checkpoint);
}

struct text {
	char text[64];
};

static struct text rate_text(int64_t per_s)
{
	struct text t;

	if (per_s < 10000)
		(void)snprintf(t.text, sizeof(t.text), "%" PRId64 " bytes/s", per_s);
	else if (per_s < 10000000)
		(void)snprintf(t.text, sizeof(t.text), "%" PRId64 " kB/s", per_s / 1000);
	else
		(void)snprintf(t.text, sizeof(t.text), "%" PRId64 " MB/s", per_s / 1000000);
	return t;
}

static struct text time_text(int64_t s)
{
	struct text t;

	if (s < 120)
		(void)snprintf(t.text, sizeof(t.text), "%" PRId64 " s", s);
	else if (s < 2 * 3600)
		(void)snprintf(t.text, sizeof(t.text), "%" PRId64 " min", s / 60);
	else
		(void)snprintf(t.text, sizeof(t.text), "%" PRId64 " h", s / 3600);
	return t;
}

static void print_trend(FILE *to, const struct wp_trend_rates *r)
{
	const char *verb = r->lag_per_s < 0 ? "shrinks" : "grows";
	int64_t by = r->lag_per_s < 0 ? -r->lag_per_s : r->lag_per_s;

	if (r->caught_up_s == 0)
		print_line(to, "lag", "none", "");
	else if (r->caught_up_s < INT64_MAX)
		(void)fprintf(to, "%-20s %s by %s, gone in %s\n", "lag", verb, rate_text(by).text,
			      time_text(r->caught_up_s).text);
	else if (by == 0)
		print_line(to, "lag", "stays", "");
	else
		(void)fprintf(to, "%-20s %s by %s\n", "lag", verb, rate_text(by).text);
}

static void print_rates(FILE *to, const struct wp_trend_rates *r)
{
	if (r->is_known) {
		print_line(to, "confirmed", rate_text(r->confirmed_per_s).text, "");
		print_line(to, "written", rate_text(r->written_per_s).text, "");
		print_trend(to, r);
	}
	if (r->lost_in_s < INT64_MAX)
		(void)fprintf(to, "%-20s %s\n", "slot lost in", time_text(r->lost_in_s).text);
}

void wp_slot_status_print(FILE *to, const struct wp_slot_status *s,
			  const struct wp_trend_rates *rates)
{
	wp_cli_say(to, "%-20s %s: %s\n", "state", wp_slot_status_state_name(s->state),
		   s->means.text);
	print_line(to, "slot", s->config.postgres.slot, "");
	print_line(to, "publication", s->config.postgres.publication, "");
	if (s->slot == NULL)
		return;
	if (rates != NULL)
		print_rates(to, rates);
	print_facts(to, facts, FACT_COUNT, s->slot);
	print_slot_checkpoint(to, s);
	if (s->parked != NULL)
		print_facts(to, parked_facts, PARKED_COUNT, s->parked);
	if (s->scheduled != NULL)
		print_facts(to, scheduled_facts, SCHEDULED_COUNT, s->scheduled);
	wp_slot_status_print_dropped(to, s);
}

/* -- for machines ------------------------------------------------------------------------ */

static json_t *json_of(const struct fact *fact, const char *value)
{
	switch (fact->kind) {
	case YES_NO:
		return json_boolean(*value == 't');
	case NUMBER:
		return strchr(value, '.') ? json_real(strtod(value, NULL))
					  : json_integer(strtoll(value, NULL, 10));
	default:
		return json_string(value);
	}
}

static int add_json(json_t *object, const struct fact *list, size_t count, const PGresult *row)
{
	int failed = 0;
	for (size_t i = 0; i < count; i++) {
		bool null = !row || PQntuples(row) == 0 || PQgetisnull(row, 0, (int)i);
		json_t *value = null ? json_null() : json_of(&list[i], PQgetvalue(row, 0, (int)i));
		failed |= json_object_set_new(object, list[i].name, value);
	}
	return failed;
}

static json_t *seconds_json(int64_t seconds)
{
	return seconds == INT64_MAX ? json_null() : json_integer(seconds);
}

static int add_rates(json_t *object, const struct wp_trend_rates *r)
{
	return json_object_set_new(object, "confirmed_bytes_per_second",
				   r->is_known ? json_integer(r->confirmed_per_s) : json_null()) |
	       json_object_set_new(object, "written_bytes_per_second",
				   r->is_known ? json_integer(r->written_per_s) : json_null()) |
	       json_object_set_new(object, "lag_bytes_per_second",
				   r->is_known ? json_integer(r->lag_per_s) : json_null()) |
	       json_object_set_new(object, "seconds_until_caught_up",
				   r->is_known ? seconds_json(r->caught_up_s) : json_null()) |
	       json_object_set_new(object, "seconds_until_lost", seconds_json(r->lost_in_s));
}

json_t *wp_slot_status_json(const struct wp_slot_status *s, const struct wp_trend_rates *rates)
{
	json_t *object = json_object();
	int failed =
		json_object_set_new(object, "state",
				    json_string(wp_slot_status_state_name(s->state))) |
		json_object_set_new(object, "means", json_string(s->means.text)) |
		json_object_set_new(object, "slot", json_string(s->config.postgres.slot)) |
		json_object_set_new(object, "publication",
				    json_string(s->config.postgres.publication)) |
		add_json(object, facts, FACT_COUNT, s->slot) |
		add_json(object, slot_checkpoint_facts, SLOT_CHECKPOINT_COUNT, s->slot_checkpoint) |
		add_json(object, parked_facts, PARKED_COUNT, s->parked) |
		add_json(object, scheduled_facts, SCHEDULED_COUNT, s->scheduled) |
		json_object_set_new(object, "dropped",
				    s->dropped ? json_incref(s->dropped) : json_null());

	if (rates != NULL)
		failed |= add_rates(object, rates);
	if (failed == 0)
		return object;
	json_decref(object);
	return NULL;
}
