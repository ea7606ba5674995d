#include "parked_sql.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "walpost/base/json.h"
#include "walpost/base/utf8.h"
#include "walpost/postgres_preflight/slot.h"

/* What is due later than in a hundred years is not due by itself. */
#define NEVER_MS "3153600000000"

/*
 * A generation is a number, and who raised it to that: a standby that is promoted may not have got
 * the last, and then it is raised to the same number once more.
 */
#define GENERATION_SQL(of_) of_ "generation::text || ' ' || " of_ "owner"

#define LOCKED_SQL                                                          \
	"WITH g AS (SELECT slot FROM walpost.parking WHERE slot = $1::text" \
	" AND " GENERATION_SQL("") " = $2::text FOR UPDATE)"

/* The time is by the server's clock, which reads it too. */
#define DUE_SQL                                                                         \
	"CASE WHEN r.due_in_ms > " NEVER_MS " THEN timestamptz 'infinity'"              \
	" ELSE clock_timestamp() + greatest(r.due_in_ms, 0) * interval '1 millisecond'" \
	" END"

#define EPOCH_SQL "timestamptz '2000-01-01 00:00:00+00'"

#define RAISE_SQL(failover_)                                                    \
	"INSERT INTO walpost.parking AS p (slot, generation, owner)"            \
	" SELECT $1::text, 1, $2::text WHERE $3::int IS NULL OR EXISTS (SELECT" \
	" FROM pg_replication_slots s WHERE s.slot_name = $1::text"             \
	" AND s.active_pid = $3::int)"                                          \
	" ON CONFLICT (slot) DO UPDATE SET generation = p.generation + 1,"      \
	" owner = excluded.owner, raised_at = clock_timestamp()"                \
	" RETURNING " GENERATION_SQL("p.") ", " failover_

const char *wp_parked_raise_sql(int server_version)
{
	return server_version >= 170000
		       ? RAISE_SQL("coalesce((SELECT s.failover FROM pg_replication_slots s"
				   " WHERE s.slot_name = $1::text), false)")
		       : RAISE_SQL("false");
}

const char wp_parked_put_sql[] = LOCKED_SQL
	", i AS (INSERT INTO walpost.parked (slot, \"position\", outbox, key, id, type, topic, "
	"relation, \"row\", content, reissued, settings, committed_at, code, reason, first_reason, "
	"alone, next_attempt_at) SELECT g.slot, r.\"position\", r.outbox, r.key, r.id, r.type, "
	"r.topic, r.relation, r.\"row\", r.content::bytea, r.reissued, r.settings, " EPOCH_SQL
	" + r.committed_at_us * interval '1 microsecond', r.code, r.reason, r.first_reason, "
	"coalesce(r.alone, false), CASE WHEN r.due_in_ms IS NOT NULL THEN " DUE_SQL
	" END FROM g, json_to_recordset($3::json) AS r(\"position\" text, outbox text, key text, "
	"id text, type text, topic text, relation text, \"row\" json, content text, reissued text, "
	"settings text, committed_at_us bigint, code text, reason text, first_reason text, alone "
	"boolean, due_in_ms bigint) ON CONFLICT DO NOTHING) SELECT count(*) FROM g";

const char wp_parked_change_sql[] = LOCKED_SQL
	", r AS MATERIALIZED (SELECT * FROM json_to_recordset($3::json) AS r(kind text, "
	"\"position\" text COLLATE \"C\", reason text, code text, attempts integer, alone boolean, "
	"due_in_ms bigint)), d AS (DELETE FROM walpost.parked p USING g, r WHERE r.kind = 'delete' "
	"AND p.slot = g.slot AND p.\"position\" = r.\"position\"), u AS (UPDATE walpost.parked p "
	"SET reason = CASE r.kind WHEN 'failed' THEN coalesce(r.reason, p.reason) ELSE p.reason "
	"END, code = CASE r.kind WHEN 'failed' THEN coalesce(r.code, p.code) ELSE p.code END, "
	"attempts = CASE r.kind WHEN 'failed' THEN r.attempts WHEN 'heard' THEN 0 ELSE p.attempts "
	"END, last_attempt_at = CASE r.kind WHEN 'failed' THEN clock_timestamp() ELSE "
	"p.last_attempt_at END, next_attempt_at = CASE r.kind WHEN 'failed' THEN " DUE_SQL
	" WHEN 'heard' THEN clock_timestamp() ELSE p.next_attempt_at END, alone = CASE r.kind WHEN "
	"'failed' THEN r.alone WHEN 'alone' THEN true ELSE p.alone END,"
	/* A skip that was asked for since the retry was seen stays. */
	" act = CASE r.kind WHEN 'heard' THEN nullif(p.act, 'retry') ELSE p.act END FROM g, r "
	"WHERE r.kind <> 'delete' AND p.slot = g.slot AND p.\"position\" = r.\"position\""
	/* What an earlier stream left to be written is older than what another relay wrote since. */
	" AND (r.kind <> 'failed' OR p.attempts = r.attempts - 1)) SELECT count(*) FROM g";

#define LOADED_SQL                                                                       \
	"q.\"position\", q.outbox, q.key, q.relation, q.\"row\", q.content, q.reissued," \
	" q.first_reason, q.reason, q.attempts, q.alone, q.committed_at"

#define CHOSEN_SQL                                                                       \
	"SELECT c.n, p.* FROM json_to_recordset($2::json) AS c(n integer, outbox text,"  \
	" key text, \"position\" text COLLATE \"C\", rows_max bigint), LATERAL ("        \
	"(SELECT " LOADED_SQL " FROM walpost.parked q WHERE c.key IS NOT NULL"           \
	" AND q.slot = $1::text AND q.outbox = c.outbox"                                 \
	" AND hashtextextended(q.key, 0) = hashtextextended(c.key, 0) AND q.key = c.key" \
	" AND q.act IS DISTINCT FROM 'skip' ORDER BY q.\"position\" LIMIT c.rows_max)"   \
	" UNION ALL "                                                                    \
	"(SELECT " LOADED_SQL " FROM walpost.parked q WHERE c.key IS NULL"               \
	" AND q.slot = $1::text AND q.\"position\" = c.\"position\""                     \
	" AND q.outbox = c.outbox AND q.key IS NULL AND q.act IS DISTINCT FROM 'skip')) p"

/* This sums up all that come before, by the window `o`. */
#define BEHIND_SQL " OVER (o ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), 0) AS before"

/*
 * What a row takes in memory is known only when all of it is read. So that not all that are chosen
 * are read to send one that is large, those are left out first that are too many by what is stored.
 */
const char wp_parked_load_sql[] =
	"SELECT w.\"position\", w.outbox, w.key, w.relation, w.\"row\", w.content, w.reissued, "
	"w.first_reason, w.reason, w.attempts, w.alone, CASE WHEN isfinite(w.committed_at) THEN "
	"round(extract(epoch FROM w.committed_at - " EPOCH_SQL
	") * 1000000) ELSE 0 END::bigint, w.found, " GENERATION_SQL(
		"g.") " FROM walpost.parking g LEFT JOIN LATERAL"
		      " (SELECT v.*, coalesce(sum(v.size)" BEHIND_SQL
		      " FROM (SELECT u.\"position\", u.outbox, u.key, u.relation, u.\"row\", "
		      "u.content,"
		      " u.reissued, u.first_reason, u.reason, u.attempts, u.alone, u.committed_at, "
		      "u.n, u.found,"
		      " coalesce(octet_length(u.\"row\"::text), 0)::bigint"
		      " + 2 * coalesce(octet_length(u.content), 0)::bigint AS size"
		      " FROM (SELECT t.*, count(*) OVER () AS found,"
		      /* The size counts a header of up to four bytes, if the value is not in a
		       * TOAST table. */
		      " coalesce(sum(coalesce(pg_column_size(t.\"row\"), "
		      "pg_column_size(t.content), 4) - "
		      "4)" BEHIND_SQL " FROM (" CHOSEN_SQL
		      ") t WINDOW o AS (ORDER BY t.n, t.\"position\")) u"
		      " WHERE u.before <= $3::bigint) v WINDOW o AS (ORDER BY v.n, "
		      "v.\"position\")) w"
		      " ON w.before <= $3::bigint WHERE g.slot = $1::text ORDER BY w.n, "
		      "w.\"position\"";

#define TEXT_OF(number_) #number_
#define TEXT_OF_VALUE(macro_) TEXT_OF(macro_)
#define LOOK_MAX_SQL TEXT_OF_VALUE(WP_PARKED_LOOK_MAX)

const char wp_parked_look_sql[] = "SELECT p.\"position\", p.outbox, p.key, p.act, " GENERATION_SQL(
	"g.") " FROM walpost.parking g LEFT JOIN LATERAL (SELECT q.\"position\", q.outbox, q.key,"
	      " q.act FROM walpost.parked q WHERE q.slot = $1::text AND q.act IS NOT NULL"
	      " ORDER BY q.\"position\" LIMIT " LOOK_MAX_SQL ") p ON true"
	      " WHERE g.slot = $1::text ORDER BY p.\"position\"";

const char wp_parked_standby_sql[] =
	"SELECT pg_current_wal_flush_lsn(), min(CASE WHEN s.slot_type = 'physical' AND "
	"s.invalidation_reason IS NULL AND s.restart_lsn IS NOT NULL THEN s.restart_lsn ELSE "
	"'0/0'::pg_lsn END), string_agg('slot ' || n || " WP_STANDBY_SLOT_FAULT_SQL
	", ', ' ORDER BY n)" WP_STANDBY_SLOTS_FROM_SQL;

/* The set is read once in the life of a stream, and has up to a million rows. */
static const char patiently_sql[] = "SELECT set_config('statement_timeout', '120000', true);\n";

void wp_parked_set_sql(struct wp_sql *sql, const char *slot, size_t aggregates_max)
{
	char limit[24];
	(void)snprintf(limit, sizeof(limit), "%zu", aggregates_max + 1);
	wp_sql_add(sql,
		   "%sSELECT a.first, a.outbox, a.key, p.code, p.settings, p.alone, CASE WHEN "
		   "p.next_attempt_at IS NULL OR p.next_attempt_at = '-infinity' THEN CASE WHEN "
		   "isfinite(p.parked_at) THEN round(extract(epoch FROM p.parked_at - "
		   "clock_timestamp()) * 1000) ELSE 0 END WHEN p.next_attempt_at = 'infinity' THEN "
		   "9223372036854775807 ELSE round(extract(epoch FROM p.next_attempt_at - "
		   "clock_timestamp()) * 1000) END::bigint, a.events, CASE WHEN isfinite(a.oldest) "
		   "THEN greatest(0, round(extract(epoch FROM clock_timestamp() - a.oldest) * "
		   "1000)) ELSE 0 END::bigint",
		   patiently_sql);
	wp_sql_add(sql,
		   " FROM (SELECT min(\"position\") AS first, outbox, key, count(*) AS events,"
		   " min(parked_at) AS oldest FROM walpost.parked WHERE slot = %L"
		   " AND act IS DISTINCT FROM 'skip'"
		   " GROUP BY outbox, key, CASE WHEN key IS NULL THEN \"position\" END"
		   " ORDER BY 1 LIMIT %s) a"
		   " JOIN walpost.parked p ON p.slot = %L AND p.\"position\" = a.first"
		   " ORDER BY a.first",
		   slot, limit, slot);
}

/*
 * The index serves, though the LSN is not its first part: it is asked for each epoch and timeline
 * that there is, from that LSN on ("G" is behind all digits).
 */
void wp_parked_positions_sql(struct wp_sql *sql, const char *slot, wp_lsn from)
{
	char text[17];
	(void)snprintf(text, sizeof(text), "%016" PRIX64, from);
	wp_sql_add(sql,
		   "%sWITH RECURSIVE t(prefix) AS ((SELECT left(\"position\", 14)"
		   " FROM walpost.parked WHERE slot = %L ORDER BY \"position\" LIMIT 1)"
		   " UNION ALL SELECT (SELECT left(q.\"position\", 14) FROM walpost.parked q"
		   " WHERE q.slot = %L AND q.\"position\" > t.prefix || 'G'"
		   " ORDER BY q.\"position\" LIMIT 1) FROM t WHERE t.prefix IS NOT NULL)",
		   patiently_sql, slot, slot);
	wp_sql_add(sql,
		   " SELECT p.\"position\" FROM t, LATERAL (SELECT q.\"position\""
		   " FROM walpost.parked q WHERE q.slot = %L AND q.\"position\" >= t.prefix || %L"
		   " AND q.\"position\" < t.prefix || 'G' ORDER BY q.\"position\" OFFSET 0) p"
		   " ORDER BY p.\"position\"",
		   slot, text);
}

/* ---- what is sent ---- */

static void put(struct wp_writer *w, const char *name, struct wp_span text)
{
	wp_writer_printf(w, ",\"%s\":", name);
	if (w->rc != WP_OK)
		return;
	if (wp_span_is_null(text))
		wp_writer_put(w, "null");
	else
		wp_writer_keep(w, wp_json_write_string(w->into, text, WP_JSON_NEEDED));
}

/* An error may be in any bytes; for that alone no change is to fail. */
static void put_reason(struct wp_writer *w, const char *reason, enum wp_parked_text text)
{
	char ascii[sizeof(((struct wp_error *)NULL)->text)];
	struct wp_span span = wp_span_of(reason);
	if (reason && (text == WP_PARKED_TEXT_ASCII || !wp_utf8_is_valid(span))) {
		size_t size = 0;
		for (; reason[size] && size + 1 < sizeof(ascii); size++)
			ascii[size] = (uint8_t)reason[size] < 0x80 ? reason[size] : '?';
		ascii[size] = '\0';
		span = wp_span_of(ascii);
	}
	put(w, "reason", span);
}

static void put_change(struct wp_writer *w, const struct wp_parked_change *c,
		       enum wp_parked_text text)
{
	static const char *const kinds[] = {
		[WP_PARKED_DELETE] = "delete",
		[WP_PARKED_FAILED] = "failed",
		[WP_PARKED_ALONE] = "alone",
		[WP_PARKED_HEARD] = "heard",
	};
	char position[WP_POSITION_TEXT_SIZE];
	wp_writer_printf(w, "{\"kind\":\"%s\",\"position\":\"%s\"", kinds[c->kind],
			 wp_position_text(&c->position, position));
	if (c->kind == WP_PARKED_FAILED) {
		put_reason(w, c->reason, text);
		put(w, "code", wp_span_of(c->code));
		wp_writer_printf(w, ",\"attempts\":%" PRIu32 ",\"alone\":%s,\"due_in_ms\":%" PRId64,
				 c->attempts, c->alone ? "true" : "false", c->due_in_ms);
	}
	wp_writer_put(w, "}");
}

enum wp_rc wp_parked_changes_json(struct wp_buffer *into, const struct wp_parked_change *changes,
				  size_t count, enum wp_parked_text text)
{
	struct wp_writer w = { .into = into };
	for (size_t i = 0; i < count; i++) {
		wp_writer_put(&w, i > 0 ? "," : "[");
		put_change(&w, &changes[i], text);
	}
	wp_writer_put(&w, "]");
	return w.rc == WP_OK ? wp_buffer_append_byte(into, 0) : w.rc;
}

enum wp_rc wp_parked_choices_json(struct wp_buffer *into, const struct wp_parked_choice *choices,
				  size_t count)
{
	char position[WP_POSITION_TEXT_SIZE];
	struct wp_writer w = { .into = into };
	wp_writer_put(&w, "[");
	for (size_t i = 0; i < count; i++) {
		const struct wp_parked_choice *c = &choices[i];
		wp_writer_printf(&w, "%s{\"n\":%zu,\"rows_max\":%" PRIu32 ",\"position\":\"%s\"",
				 i > 0 ? "," : "", i, c->rows_max,
				 wp_position_text(&c->position, position));
		put(&w, "outbox", c->outbox);
		put(&w, "key", c->key);
		wp_writer_put(&w, "}");
	}
	wp_writer_put(&w, "]");
	return w.rc == WP_OK ? wp_buffer_append_byte(into, 0) : w.rc;
}

/* ---- answers ---- */

static struct wp_span span_at(const PGresult *result, int row, int column)
{
	if (PQgetisnull(result, row, column))
		return (struct wp_span){ 0 };
	return (struct wp_span){ (const uint8_t *)PQgetvalue(result, row, column),
				 (size_t)PQgetlength(result, row, column) };
}

static int64_t number_at(const PGresult *result, int row, int column)
{
	return strtoll(PQgetvalue(result, row, column), NULL, 10);
}

static bool is_true_at(const PGresult *result, int row, int column)
{
	return *PQgetvalue(result, row, column) == 't';
}

/* The first column of each answer is the position. */
static bool read_position(const PGresult *result, int row, struct wp_position *ret)
{
	return wp_position_parse(span_at(result, row, 0), ret) == WP_OK;
}

static bool read_place(const PGresult *result, int row, void *item)
{
	return read_position(result, row, item);
}

static bool read_aggregate(const PGresult *result, int row, void *item)
{
	struct wp_parked_aggregate *a = item;
	*a = (struct wp_parked_aggregate){
		.outbox = span_at(result, row, 1),
		.key = span_at(result, row, 2),
		.code = span_at(result, row, 3),
		.settings = span_at(result, row, 4),
		.alone = is_true_at(result, row, 5),
		.due_in_ms = number_at(result, row, 6),
		.events = (uint64_t)number_at(result, row, 7),
		.age_ms = number_at(result, row, 8),
	};
	return read_position(result, row, &a->position);
}

static bool read_row(const PGresult *result, int row, void *item)
{
	struct wp_parked_row *r = item;
	*r = (struct wp_parked_row){
		.outbox = span_at(result, row, 1),
		.key = span_at(result, row, 2),
		.relation = span_at(result, row, 3),
		.row = span_at(result, row, 4),
		.content = span_at(result, row, 5),
		.reissued = span_at(result, row, 6),
		.first_reason = span_at(result, row, 7),
		.reason = span_at(result, row, 8),
		.attempts = (uint32_t)number_at(result, row, 9),
		.alone = is_true_at(result, row, 10),
		.commit_time_us = number_at(result, row, 11),
	};
	return read_position(result, row, &r->position);
}

static bool read_asked(const PGresult *result, int row, void *item)
{
	struct wp_parked_asked *a = item;
	*a = (struct wp_parked_asked){
		.outbox = span_at(result, row, 1),
		.key = span_at(result, row, 2),
		.act = wp_span_is(span_at(result, row, 3), "skip") ? WP_PARKED_ACT_SKIP
								   : WP_PARKED_ACT_RETRY,
	};
	return read_position(result, row, &a->position);
}

static enum wp_rc read_all(const PGresult *result, size_t item_size,
			   bool (*read)(const PGresult *, int, void *), struct wp_parked_answer *a,
			   struct wp_error *error)
{
	int rows = PQntuples(result);
	/* The one row may be a generation with nothing beside it. */
	if (rows == 1 && PQgetisnull(result, 0, 0))
		rows = 0;
	a->items = calloc((size_t)rows + 1, item_size);
	/* Items are read from the copy: spans point there. */
	a->result = PQcopyResult(result, PG_COPYRES_TUPLES);
	if (!a->items || !a->result)
		return wp_error_set(error, WP_NOMEM, "out of memory for parked events");
	for (int i = 0; i < rows; i++)
		if (!read(a->result, i, (uint8_t *)a->items + (size_t)i * item_size))
			return wp_error_set(error, WP_DATA,
					    "walpost.parked holds the position \"%.60s\", which no "
					    "walpost wrote: delete or correct that row",
					    PQgetvalue(a->result, i, 0));
	a->count = (size_t)rows;
	return WP_OK;
}

static enum wp_rc take(const PGresult *result, size_t item_size,
		       bool (*read)(const PGresult *, int, void *), struct wp_parked_answer *ret,
		       struct wp_error *error)
{
	struct wp_parked_answer a = { 0 };
	enum wp_rc rc = read_all(result, item_size, read, &a, error);
	if (rc != WP_OK) {
		wp_parked_answer_release(&a);
		return rc;
	}
	wp_parked_answer_release(ret);
	*ret = a;
	return WP_OK;
}

enum wp_rc wp_parked_set_answer(const PGresult *result, struct wp_parked_answer *ret,
				struct wp_error *error)
{
	return take(result, sizeof(struct wp_parked_aggregate), read_aggregate, ret, error);
}

enum wp_rc wp_parked_positions_answer(const PGresult *result, struct wp_parked_answer *ret,
				      struct wp_error *error)
{
	return take(result, sizeof(struct wp_position), read_place, ret, error);
}

enum wp_rc wp_parked_load_answer(const PGresult *result, struct wp_parked_answer *ret,
				 struct wp_error *error)
{
	return take(result, sizeof(struct wp_parked_row), read_row, ret, error);
}

enum wp_rc wp_parked_look_answer(const PGresult *result, struct wp_parked_answer *ret,
				 struct wp_error *error)
{
	return take(result, sizeof(struct wp_parked_asked), read_asked, ret, error);
}

bool wp_parked_load_is_cut(const PGresult *result)
{
	int rows = PQntuples(result);
	return rows > 0 && number_at(result, 0, 12) > rows;
}

const char *wp_parked_answer_generation(const PGresult *result)
{
	return PQntuples(result) > 0 ? PQgetvalue(result, 0, PQnfields(result) - 1) : NULL;
}

void wp_parked_answer_release(struct wp_parked_answer *a)
{
	PQclear(a->result);
	free(a->items);
	*a = (struct wp_parked_answer){ 0 };
}
