/*
 * `walpost parked show` shows all that is known of parked events, and their payloads if asked to.
 */
#include "parked.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "walpost/base/display.h"
#include "walpost/cli/cli.h"

enum { OID_BOOL = 16 }; /* of pg_type.h */

enum event_column {
	E_COUNT,
	E_POSITION,
	E_OUTBOX,
	E_KEY,
	E_ID,
	E_TYPE,
	E_TOPIC,
	E_CODE,
};

static void write_columns(struct wp_sql *sql)
{
	wp_sql_add(sql, "SELECT e.count, p.\"position\", p.outbox, p.key, p.id, p.type, p.topic, "
			"p.code, p.reason, p.first_reason, e.is_first AS first_of_aggregate, "
			"p.attempts");
	wp_cli_parked_time_sql(sql, "p.last_attempt_at", "last_attempt_at");
	wp_cli_parked_time_sql(sql, "p.next_attempt_at", "next_attempt_at");
	wp_sql_add(sql, ", p.next_attempt_at = 'infinity' AS never_by_itself, p.act, p.alone");
	wp_cli_parked_time_sql(sql, "p.committed_at", "committed_at");
	wp_cli_parked_time_sql(sql, "p.parked_at", "parked_at");
	wp_sql_add(sql, ", p.relation, p.reissued, coalesce(octet_length(p.\"row\"::text), "
			"octet_length(p.content)) AS size, p.settings ");
}

/* Rows, which may be large, are looked at when it is known which are shown. */
enum wp_rc wp_cli_parked_ask_events(struct wp_cli_parked *p, PGresult **ret, struct wp_error *error)
{
	struct wp_statement statement;
	char limit[24];

	(void)snprintf(limit, sizeof(limit), "%" PRId64, p->limit);
	wp_statement_begin(&statement, &p->session);
	wp_cli_parked_seen_sql(&statement.sql, p);
	write_columns(&statement.sql);
	wp_sql_add(&statement.sql,
		   "FROM (SELECT count(*) OVER () AS count, \"position\", is_first ");
	wp_cli_parked_chosen_sql(&statement.sql, p);
	wp_sql_add(&statement.sql,
		   " ORDER BY \"position\" LIMIT %s) e JOIN walpost.parked p ON p.slot = %L "
		   "AND p.\"position\" = e.\"position\" ORDER BY p.\"position\"",
		   limit, p->postgres.slot);
	return wp_statement_ask(&statement, ret, error);
}

/* The topic of an event that follows another is determined when it is its turn. */
static const char *excerpt(struct wp_excerpt *e, const PGresult *r, int row, int column)
{
	if (PQgetisnull(r, row, column))
		return column == E_TOPIC ? "unknown" : "none";
	return wp_excerpt(e, wp_span_of(PQgetvalue(r, row, column)));
}

void wp_cli_parked_print_events(const PGresult *r)
{
	struct wp_excerpt outbox, id, key, topic;

	for (int row = 0; row < PQntuples(r); row++)
		wp_cli_say(stdout, "  %s  outbox %s  id %s  key %s  topic %s  %s\n",
			   PQgetvalue(r, row, E_POSITION), excerpt(&outbox, r, row, E_OUTBOX),
			   excerpt(&id, r, row, E_ID), excerpt(&key, r, row, E_KEY),
			   excerpt(&topic, r, row, E_TOPIC), PQgetvalue(r, row, E_CODE));
	if (PQntuples(r) > 0 && strtoll(PQgetvalue(r, 0, E_COUNT), NULL, 10) > PQntuples(r))
		wp_cli_say(stdout, "  and %lld more (--limit N shows more)\n",
			   strtoll(PQgetvalue(r, 0, E_COUNT), NULL, 10) - PQntuples(r));
}

/* -- payloads: one at a time, for they may be large ------------------------------------------ */

static enum wp_rc ask_payload(struct wp_cli_parked *p, const char *position, PGresult **ret,
			      struct wp_error *error)
{
	struct wp_statement statement;

	wp_statement_begin(&statement, &p->session);
	wp_sql_add(
		&statement.sql,
		"SELECT \"row\", content FROM walpost.parked WHERE slot = %L AND \"position\" = %L",
		p->postgres.slot, position);
	return wp_statement_ask(&statement, ret, error);
}

enum { P_ROW, P_CONTENT };

static void print_line(const char *name, struct wp_span value)
{
	wp_cli_say(stdout, "  %-20s ", name);
	wp_display_print(stdout, value);
	(void)putchar('\n'); /* wp_cli_done() notices a failure */
}

/* `text` is an array of objects with name, type, modifier and value, as in walpost.reissue. */
static void print_columns(const char *text)
{
	json_t *columns = json_loads(text, JSON_DECODE_ANY, NULL), *column;
	size_t i;

	if (!json_is_array(columns)) /* it is a DBA's own, or in bytes that are no UTF-8 */
		print_line("row", wp_span_of(text));
	json_array_foreach(columns, i, column)
	{
		const char *name = json_string_value(json_object_get(column, "name"));
		const char *value = json_string_value(json_object_get(column, "value"));
		char label[256];
		(void)snprintf(label, sizeof(label), "column %.200s", name != NULL ? name : "?");
		print_line(label, wp_span_of(value != NULL ? value : "NULL"));
	}
	json_decref(columns);
}

static void print_content(const char *hex)
{
	size_t size;
	unsigned char *bytes = PQunescapeBytea((const unsigned char *)hex, &size);

	if (bytes != NULL)
		print_line("content", (struct wp_span){ .data = bytes, .size = size });
	PQfreemem(bytes);
}

static void print_payload(const PGresult *r)
{
	if (PQntuples(r) == 0)
		print_line("payload", wp_span_of("gone: the event was delivered or discarded"));
	else if (!PQgetisnull(r, 0, P_ROW))
		print_columns(PQgetvalue(r, 0, P_ROW));
	else if (!PQgetisnull(r, 0, P_CONTENT))
		print_content(PQgetvalue(r, 0, P_CONTENT));
}

static void add_payload(json_t *event, const PGresult *r)
{
	bool has_row = PQntuples(r) > 0 && !PQgetisnull(r, 0, P_ROW);
	bool has_content = PQntuples(r) > 0 && !PQgetisnull(r, 0, P_CONTENT);
	json_t *columns =
		has_row ? json_loads(PQgetvalue(r, 0, P_ROW), JSON_DECODE_ANY, NULL) : json_null();

	if (columns == NULL)
		columns = json_null();
	(void)json_object_set_new(event, "row", columns);
	(void)json_object_set_new(event, "content",
				  has_content ? json_string(PQgetvalue(r, 0, P_CONTENT))
					      : json_null());
}

/* -- the command ------------------------------------------------------------------------------- */

static void print_text(const PGresult *r, int row, const PGresult *payload)
{
	wp_cli_say(stdout, "%s\n", PQgetvalue(r, row, E_POSITION));
	for (int column = E_OUTBOX; column < PQnfields(r); column++) {
		const char *value = PQgetvalue(r, row, column);
		if (PQftype(r, column) == OID_BOOL)
			value = *value == 't' ? "yes" : "no";
		if (!PQgetisnull(r, row, column))
			print_line(PQfname(r, column), wp_span_of(value));
	}
	if (payload != NULL)
		print_payload(payload);
}

static void print_json(const PGresult *r, int row, const PGresult *payload)
{
	json_t *event = wp_cli_parked_json_row(r, row, WP_CLI_PARKED_EVENT_HIDDEN);

	if (payload != NULL)
		add_payload(event, payload);
	/* wp_cli_done() notices a failure. */
	(void)json_dumpf(event, stdout, JSON_COMPACT | JSON_ENSURE_ASCII);
	(void)putchar('\n');
	json_decref(event);
}

static enum wp_rc print_event(struct wp_cli_parked *p, const PGresult *r, int row,
			      struct wp_error *error)
{
	PGresult *payload = NULL;
	enum wp_rc rc = p->payload ? ask_payload(p, PQgetvalue(r, row, E_POSITION), &payload, error)
				   : WP_OK;

	if (rc != WP_OK)
		return rc;
	if (p->json)
		print_json(r, row, payload);
	else
		print_text(r, row, payload);
	PQclear(payload);
	return WP_OK;
}

static int print_events(struct wp_cli_parked *p, const PGresult *r)
{
	struct wp_error error;
	long long count = strtoll(PQgetvalue(r, 0, E_COUNT), NULL, 10);

	for (int row = 0; row < PQntuples(r); row++) {
		enum wp_rc rc = print_event(p, r, row, &error);
		if (rc != WP_OK)
			return wp_cli_fail(wp_cli_exit_of(rc), "%s", error.text);
	}
	if (count > PQntuples(r))
		wp_cli_say(p->json ? stderr : stdout, "and %lld more (--limit N shows more)\n",
			   count - PQntuples(r));
	return wp_cli_done();
}

int wp_cli_parked_show(struct wp_cli_parked *p)
{
	struct wp_error error;
	PGresult *r;
	enum wp_rc rc = wp_cli_parked_ask_events(p, &r, &error);

	if (rc != WP_OK)
		return wp_cli_fail(wp_cli_exit_of(rc), "%s", error.text);
	int exit_code = PQntuples(r) == 0 ? wp_cli_parked_none(p) : print_events(p, r);
	PQclear(r);
	return exit_code;
}
