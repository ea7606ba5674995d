/* `walpost parked list` shows which aggregates are parked, as a table or as JSON. */
#include "parked.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "walpost/base/display.h"
#include "walpost/cli/cli.h"

/* These are from pg_type.h. */
enum { OID_BOOL = 16, OID_INT8 = 20, OID_INT4 = 23 };

static int64_t number(const PGresult *r, int row, int column)
{
	return strtoll(PQgetvalue(r, row, column), NULL, 10);
}

/* -- rows as JSON --------------------------------------------------------------------------- */

static json_t *value_of(const PGresult *r, int row, int column)
{
	if (PQgetisnull(r, row, column))
		return json_null();
	switch (PQftype(r, column)) {
	case OID_BOOL:
		return json_boolean(*PQgetvalue(r, row, column) == 't');
	case OID_INT4:
	case OID_INT8:
		return json_integer((json_int_t)number(r, row, column));
	default:
		return wp_cli_json_text(wp_span_of(PQgetvalue(r, row, column)));
	}
}

json_t *wp_cli_parked_json_row(const PGresult *r, int row, int hidden)
{
	json_t *object = json_object();

	for (int column = hidden; column < PQnfields(r); column++)
		(void)json_object_set_new(object, PQfname(r, column), value_of(r, row, column));
	return object;
}

json_t *wp_cli_parked_json(const PGresult *r, int hidden)
{
	json_t *array = json_array();

	for (int row = 0; row < PQntuples(r); row++)
		(void)json_array_append_new(array, wp_cli_parked_json_row(r, row, hidden));
	return array;
}

/* -- times ------------------------------------------------------------------------------------ */

struct text {
	char text[WP_EXCERPT_SIZE];
};

static void write_span(struct text *t, int64_t s)
{
	if (s < 120)
		(void)snprintf(t->text, sizeof(t->text), "%" PRId64 " s", s);
	else if (s < 2 * 3600)
		(void)snprintf(t->text, sizeof(t->text), "%" PRId64 " min", s / 60);
	else if (s < 48 * 3600)
		(void)snprintf(t->text, sizeof(t->text), "%" PRId64 " h", s / 3600);
	else
		(void)snprintf(t->text, sizeof(t->text), "%" PRId64 " days", s / (24 * 3600));
}

/* Writes when the relay sends an aggregate's first event again. */
static void write_next(struct text *t, const PGresult *r, int row, int act, int next_in_s)
{
	struct text span;

	if (strcmp(PQgetvalue(r, row, act), "skip") == 0)
		(void)snprintf(t->text, sizeof(t->text), "discarded");
	else if (strcmp(PQgetvalue(r, row, act), "retry") == 0)
		(void)snprintf(t->text, sizeof(t->text), "asked for");
	else if (PQgetisnull(r, row, next_in_s))
		(void)snprintf(t->text, sizeof(t->text), "never by itself");
	else if (number(r, row, next_in_s) == 0)
		(void)snprintf(t->text, sizeof(t->text), "now");
	else {
		write_span(&span, number(r, row, next_in_s));
		(void)snprintf(t->text, sizeof(t->text), "in %.90s", span.text);
	}
}

/* -- list ------------------------------------------------------------------------------------- */

enum aggregate_column {
	A_COUNT,
	A_EVENT_COUNT,
	A_OUTBOX,
	A_KEY,
	A_EVENTS,
	A_DISCARDED,
	A_POSITION,
	A_ID,
	A_CODE,
	A_ATTEMPTS,
	A_NEXT_ATTEMPT_AT,
	A_NEXT_ATTEMPT_IN_S,
	A_ACT,
	A_PARKED_AT,
	A_PARKED_FOR_S,
};

void wp_cli_parked_time_sql(struct wp_sql *sql, const char *column, const char *name)
{
	wp_sql_add(sql,
		   ", to_char(%s AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS.MS\"Z\"') AS %s",
		   column, name);
}

/* An event that has no time yet is due; NULL means that it is never sent by itself. */
static const char next_sql[] =
	", CASE WHEN coalesce(next_attempt_at, '-infinity') = '-infinity' THEN 0 WHEN "
	"isfinite(next_attempt_at) THEN greatest(0, round(extract(epoch FROM next_attempt_at - "
	"clock_timestamp()))) END::bigint AS next_attempt_in_s, act";

enum wp_rc wp_cli_parked_ask_aggregates(struct wp_cli_parked *p, PGresult **ret,
					struct wp_error *error)
{
	struct wp_statement statement;
	struct wp_sql *sql = &statement.sql;
	char limit[24];

	(void)snprintf(limit, sizeof(limit), "%" PRId64, p->limit);
	wp_statement_begin(&statement, &p->session);
	wp_cli_parked_seen_sql(sql, p);
	wp_sql_add(sql, "SELECT count(*) OVER (), (sum(events) OVER ())::bigint, outbox, key, "
			"events, discarded, \"position\", id, code, attempts");
	wp_cli_parked_time_sql(sql, "next_attempt_at", "next_attempt_at");
	wp_sql_add(sql, next_sql);
	wp_cli_parked_time_sql(sql, "since", "parked_at");
	wp_sql_add(sql, ", greatest(0, round(extract(epoch FROM clock_timestamp() - "
			"since)))::bigint AS parked_for_s FROM seen WHERE is_first");
	if (p->filter.code != NULL)
		wp_sql_add(sql, " AND code = %L", p->filter.code);
	wp_sql_add(sql, " ORDER BY \"position\" LIMIT %s", limit);
	return wp_statement_ask(&statement, ret, error);
}

enum { SHOWN_COUNT = 9 };

static const struct {
	const char *heading;
	int column;
} shown[SHOWN_COUNT] = {
	{ "outbox", A_OUTBOX },
	{ "events", A_EVENTS },
	{ "code", A_CODE },
	{ "attempts", A_ATTEMPTS },
	{ "next", A_NEXT_ATTEMPT_IN_S },
	{ "since", A_PARKED_FOR_S },
	{ "first position", A_POSITION },
	{ "id", A_ID },
	{ "key", A_KEY },
};

/* Row -1 is the heading. */
static void write_cell(struct text *t, const PGresult *r, int row, int i)
{
	struct wp_excerpt excerpt;
	int column = shown[i].column;

	if (row < 0)
		(void)snprintf(t->text, sizeof(t->text), "%s", shown[i].heading);
	else if (column == A_NEXT_ATTEMPT_IN_S)
		write_next(t, r, row, A_ACT, column);
	else if (column == A_PARKED_FOR_S)
		write_span(t, number(r, row, column));
	else if (PQgetisnull(r, row, column))
		(void)snprintf(t->text, sizeof(t->text), "-");
	else
		(void)snprintf(t->text, sizeof(t->text), "%s",
			       wp_excerpt(&excerpt, wp_span_of(PQgetvalue(r, row, column))));
}

static int width_of(const char *text)
{
	int width = 0;

	for (; *text != '\0'; text++)
		width += ((unsigned char)*text & 0xC0) != 0x80;
	return width;
}

void wp_cli_parked_print_aggregates(const PGresult *r)
{
	int widths[SHOWN_COUNT] = { 0 };
	struct text cell;

	for (int row = -1; row < PQntuples(r); row++) {
		for (int i = 0; i < SHOWN_COUNT; i++) {
			write_cell(&cell, r, row, i);
			int width = width_of(cell.text);
			widths[i] = width > widths[i] ? width : widths[i];
		}
	}
	for (int row = -1; row < PQntuples(r); row++) {
		for (int i = 0; i < SHOWN_COUNT; i++) {
			bool is_last = i == SHOWN_COUNT - 1;
			write_cell(&cell, r, row, i);
			wp_cli_say(stdout, "%s%*s", cell.text,
				   is_last ? 0 : widths[i] + 2 - width_of(cell.text),
				   is_last ? "\n" : "");
		}
	}
}

static int list_json(const struct wp_cli_parked *p, const PGresult *r)
{
	bool some = PQntuples(r) > 0;
	json_t *object = json_object();

	(void)json_object_set_new(object, "slot", json_string(p->postgres.slot));
	(void)json_object_set_new(object, "aggregate_count",
				  json_integer(some ? number(r, 0, A_COUNT) : 0));
	(void)json_object_set_new(object, "event_count",
				  json_integer(some ? number(r, 0, A_EVENT_COUNT) : 0));
	(void)json_object_set_new(object, "aggregates",
				  wp_cli_parked_json(r, WP_CLI_PARKED_AGGREGATE_HIDDEN));
	return wp_cli_json_print(object, "the result");
}

static int list_text(const struct wp_cli_parked *p, const PGresult *r)
{
	int64_t aggregates = number(r, 0, A_COUNT), events = number(r, 0, A_EVENT_COUNT);

	wp_cli_parked_print_aggregates(r);
	if (aggregates > PQntuples(r))
		wp_cli_say(stdout, "and %" PRId64 " more (--limit %" PRId64 " shows them)\n",
			   aggregates - PQntuples(r), aggregates);
	wp_cli_say(stdout, "slot %s: %" PRId64 " event%s of %" PRId64 " aggregate%s parked\n",
		   p->postgres.slot, events, events == 1 ? "" : "s", aggregates,
		   aggregates == 1 ? "" : "s");
	return wp_cli_done();
}

int wp_cli_parked_list(struct wp_cli_parked *p)
{
	struct wp_error error;
	PGresult *r;
	int exit_code;
	enum wp_rc rc = wp_cli_parked_ask_aggregates(p, &r, &error);

	if (rc != WP_OK)
		return wp_cli_fail(wp_cli_exit_of(rc), "%s", error.text);
	if (PQntuples(r) == 0 && (!p->json || wp_cli_parked_is_narrowed(&p->filter)))
		exit_code = wp_cli_parked_none(p);
	else
		exit_code = p->json ? list_json(p, r) : list_text(p, r);
	PQclear(r);
	return exit_code;
}
