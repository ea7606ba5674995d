#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "walpost/base/utf8.h"
#include "walpost/postgres/sql.h"
#include "walpost/postgres_preflight/slot_checkpoint.h"
#include "walpost/postgres/connection.h"

/* The SQL to read answers these, in this order. */
enum column {
	OWNER,
	SYSTEM_ID,
	EPOCH,
	TAKEN_AT,
	TIMELINE,
	CONFIRMED,
	CONFIRMED_AT,
	STOPPED,
	TOPICS,
	TRANSACTIONS,
	TRANSACTIONS_NOW,
	LOG_END,
	VERSION,
	HOLDER_WROTE,
	COLUMNS,
};

/*
 * All statements of one simple query are one transaction. A session that holds the row or
 * the table must not hold up a stream: what cannot be had at once is not had.
 */
#define IMPATIENTLY                                                     \
	"SELECT pg_catalog.set_config('lock_timeout', '1000', true),\n" \
	"  pg_catalog.set_config('statement_timeout', '3000', true),\n" \
	"  pg_catalog.set_config('synchronous_commit', 'local', true);\n"

#define TRANSACTIONS_OF(slot_)                                                    \
	"(SELECT t.total_txns FROM pg_catalog.pg_stat_replication_slots t WHERE " \
	"t.slot_name = " slot_ ")"

enum wp_rc wp_slot_checkpoint_read_sql(PGconn *pg, const char *slot, struct wp_buffer *into,
				       struct wp_error *error)
{
	struct wp_sql sql;
	wp_sql_init(&sql, pg, into);
	wp_sql_add(&sql,
		   IMPATIENTLY
		   "SELECT w.owner, w.system_identifier, w.epoch, w.taken_at_lsn, w.timeline,\n"
		   "  w.confirmed_lsn,\n"
		   "  pg_catalog.to_char(w.confirmed_at AT TIME ZONE 'UTC',\n"
		   "    'YYYY-MM-DD HH24:MI:SS') || ' UTC',\n"
		   "  w.stopped, w.topics,\n"
		   "  CASE WHEN " WP_SLOT_CHECKPOINT_IS_COMPARABLE
		   " THEN w.slot_transactions END,\n"
		   "  t.total_txns, CASE WHEN NOT pg_catalog.pg_is_in_recovery()\n"
		   "    THEN pg_catalog.pg_current_wal_lsn() END,\n"
		   "  w.xmin, (SELECT a.backend_start <= w.confirmed_at\n"
		   "    FROM pg_catalog.pg_replication_slots s\n"
		   "    JOIN pg_catalog.pg_stat_activity a ON a.pid = s.active_pid\n"
		   "    WHERE s.slot_name = w.slot)\n"
		   "FROM walpost.slot_checkpoint w\n"
		   "LEFT JOIN pg_catalog.pg_stat_replication_slots t ON t.slot_name = w.slot\n"
		   "CROSS JOIN pg_catalog.pg_stat_bgwriter b\n"
		   "WHERE w.slot = %L",
		   slot);
	return wp_sql_end(&sql, error);
}

static enum wp_rc read_number(const char *text, uint64_t max, uint64_t *ret)
{
	char *end;
	errno = 0;
	unsigned long long number = strtoull(text, &end, 10);
	if (errno || end == text || *end || *text == '-' || number > max)
		return WP_PROTO;
	*ret = number;
	return WP_OK;
}

/* SQL's NULL gives `none`. */
static enum wp_rc read_count(const PGresult *answer, enum column column, int64_t *ret)
{
	uint64_t number;
	*ret = -1;
	if (PQgetisnull(answer, 0, (int)column))
		return WP_OK;
	enum wp_rc rc = read_number(PQgetvalue(answer, 0, (int)column), INT64_MAX, &number);
	if (rc == WP_OK)
		*ret = (int64_t)number;
	return rc;
}

static enum wp_rc read_position(const PGresult *answer, enum column column, wp_lsn *ret)
{
	*ret = 0;
	if (PQgetisnull(answer, 0, (int)column))
		return WP_OK;
	return wp_lsn_parse(wp_span_of(PQgetvalue(answer, 0, (int)column)), ret);
}

static enum wp_rc read_row(const PGresult *answer, struct wp_source_facts *ret)
{
	uint64_t timeline = 0, epoch = 0;
	if (read_number(PQgetvalue(answer, 0, SYSTEM_ID), UINT64_MAX,
			&ret->slot_checkpoint_system_id) != WP_OK ||
	    read_number(PQgetvalue(answer, 0, EPOCH), UINT16_MAX, &epoch) != WP_OK ||
	    read_number(PQgetvalue(answer, 0, TIMELINE), UINT32_MAX, &timeline) != WP_OK ||
	    read_position(answer, TAKEN_AT, &ret->slot_checkpoint_taken_at) != WP_OK ||
	    read_position(answer, CONFIRMED, &ret->slot_checkpoint_confirmed) != WP_OK ||
	    read_count(answer, TRANSACTIONS, &ret->slot_checkpoint_transactions) != WP_OK ||
	    read_count(answer, TRANSACTIONS_NOW, &ret->slot_transactions) != WP_OK)
		return WP_PROTO;
	ret->slot_checkpoint_timeline = (uint32_t)timeline;
	ret->slot_checkpoint_epoch = (uint16_t)epoch;
	ret->slot_checkpoint_stopped = *PQgetvalue(answer, 0, STOPPED) == 't';
	(void)snprintf(ret->slot_checkpoint_confirmed_at, sizeof(ret->slot_checkpoint_confirmed_at),
		       "%s", PQgetvalue(answer, 0, CONFIRMED_AT));
	(void)snprintf(ret->slot_checkpoint_topics, sizeof(ret->slot_checkpoint_topics), "%s",
		       PQgetvalue(answer, 0, TOPICS));
	(void)snprintf(ret->slot_checkpoint_version, sizeof(ret->slot_checkpoint_version), "%s",
		       PQgetvalue(answer, 0, VERSION));
	ret->holder_wrote = *PQgetvalue(answer, 0, HOLDER_WROTE) == 't';
	/* A longer one is not ours: cut, it stays different from any of ours. */
	(void)snprintf(ret->slot_checkpoint_owner, sizeof(ret->slot_checkpoint_owner), "%.*s",
		       WP_OWNER_SIZE - 1, PQgetvalue(answer, 0, OWNER));
	return WP_OK;
}

/* Sets what is known without a row. */
static void forget_row(struct wp_source_facts *facts)
{
	facts->slot_checkpoint_owner[0] = facts->slot_checkpoint_confirmed_at[0] = '\0';
	facts->slot_checkpoint_topics[0] = facts->slot_checkpoint_version[0] = '\0';
	facts->holder_wrote = false;
	facts->slot_checkpoint_taken_at = facts->slot_checkpoint_confirmed = 0;
	facts->slot_checkpoint_system_id = 0;
	facts->slot_checkpoint_timeline = 0;
	facts->slot_checkpoint_epoch = 0;
	facts->slot_checkpoint_stopped = false;
	facts->slot_checkpoint_transactions = facts->slot_transactions = -1;
}

enum wp_rc wp_slot_checkpoint_read(const PGresult *answer, struct wp_source_facts *facts,
				   struct wp_error *error)
{
	struct wp_source_facts read = *facts;
	if (PQnfields(answer) != COLUMNS || PQntuples(answer) > 1)
		return wp_error_set(error, WP_PROTO,
				    "walpost.slot_checkpoint gave %d rows of %d columns",
				    PQntuples(answer), PQnfields(answer));
	forget_row(&read);
	if (PQntuples(answer) == 1 && read_row(answer, &read) != WP_OK)
		return wp_error_set(error, WP_PROTO,
				    "walpost.slot_checkpoint contains system_identifier \"%.40s\" "
				    "and epoch \"%.40s\", which walpost did not write",
				    PQgetvalue(answer, 0, SYSTEM_ID), PQgetvalue(answer, 0, EPOCH));
	/* The end of the log is not older than what the row says, which another relay may have
	 * written just now. */
	wp_lsn end = 0;
	if (PQntuples(answer) == 1 && read_position(answer, LOG_END, &end) != WP_OK)
		return wp_error_set(error, WP_PROTO,
				    "the server reports \"%.40s\" as the end of its WAL",
				    PQgetvalue(answer, 0, LOG_END));
	read.server_lsn = wp_lsn_max(read.server_lsn, end);
	read.slot_checkpoint_readable = true;
	*facts = read;
	return WP_OK;
}

struct numbers {
	char system_id[24];
	char timeline[16];
	char epoch[8];
	char trouble_s[24];
};

static struct numbers numbers_of(const struct wp_slot_checkpoint_row *row)
{
	struct numbers n;
	(void)snprintf(n.system_id, sizeof(n.system_id), "%" PRIu64, row->system_id);
	(void)snprintf(n.timeline, sizeof(n.timeline), "%" PRIu32, row->timeline);
	(void)snprintf(n.epoch, sizeof(n.epoch), "%u", (unsigned)row->epoch);
	(void)snprintf(n.trouble_s, sizeof(n.trouble_s), "%" PRId64, row->trouble_ms / 1000);
	return n;
}

/*
 * A sentence that quotes others must never be why a row is not written: what is cut or not valid,
 * and what a database of another encoding may not have, becomes a question mark.
 */
static void put_trouble(PGconn *pg, const struct wp_slot_checkpoint_row *row,
			char ret[WP_SLOT_CHECKPOINT_TROUBLE_SIZE])
{
	bool any = strcmp(wp_server_encoding(pg), "UTF8") == 0;
	size_t size;

	(void)snprintf(ret, WP_SLOT_CHECKPOINT_TROUBLE_SIZE, "%s",
		       row->trouble != NULL ? row->trouble : "");
	size = strlen(ret);
	if (any && wp_utf8_is_valid((struct wp_span){ (const uint8_t *)ret, size }))
		return;
	for (size_t i = 0; i < size; i++)
		if ((unsigned char)ret[i] >= 0x80)
			ret[i] = '?';
}

/* Adds two values: the trouble, and since when it lasts. */
static void add_trouble(struct wp_sql *sql, const struct wp_slot_checkpoint_row *row,
			const char *between)
{
	char text[WP_SLOT_CHECKPOINT_TROUBLE_SIZE];

	put_trouble(sql->pg, row, text);
	wp_sql_add(sql,
		   "nullif(%L, '')%s CASE WHEN %L <> '' THEN pg_catalog.now() - "
		   "pg_catalog.make_interval(secs => %s) END",
		   text, between, text, numbers_of(row).trouble_s);
}

/* Are all events of this table in Kafka that we confirm, or such that their rows are to go all the same? */
static bool is_sent(const struct wp_slot_checkpoint_row *row, const struct wp_requirements_table *t)
{
	return !row->prints && !t->is_pattern &&
	       (!t->drops || (row->removes_dropped && t->is_timed));
}

/* Tells the trigger of sql/cleanup.sql, as an array of oids, the publication, and behind it
 * these tables. */
static void add_sent(struct wp_sql *sql, const struct wp_slot_checkpoint_row *row)
{
	wp_sql_add(
		sql,
		"SELECT pg_catalog.set_config('walpost.sent', (ARRAY[coalesce((SELECT p.oid FROM "
		"pg_catalog.pg_publication p WHERE p.pubname = %L), 0)] || ARRAY(SELECT c.oid\n"
		"  FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = "
		"c.relnamespace\n"
		"  WHERE (n.nspname, c.relname) IN ((NULL, NULL)",
		row->publication);
	for (size_t i = 0; i < row->sent->count; i++)
		if (is_sent(row, &row->sent->tables[i]))
			wp_sql_add(sql, ", (%L, %L)", row->sent->tables[i].schema,
				   row->sent->tables[i].name);
	wp_sql_add(sql, ")))::text, true);\n");
}

/* `taken` is an SQL expression over the slot's row `s`. */
static void add_insert(struct wp_sql *sql, const struct wp_slot_checkpoint_row *row,
		       const char *taken, wp_lsn confirmed)
{
	struct numbers n = numbers_of(row);
	char lsn[WP_LSN_TEXT_SIZE];
	wp_sql_add(sql,
		   "INSERT INTO walpost.slot_checkpoint AS w\n"
		   "  (slot, owner, system_identifier, timeline, epoch, taken_at_lsn, "
		   "taken_at,\n"
		   "   confirmed_lsn, confirmed_at, stopped, server_started, "
		   "topics, slot_transactions, trouble, trouble_at)\n"
		   "SELECT s.slot_name, %L, %L, %s, %s, %s, "
		   "pg_catalog.now(),\n",
		   row->owner, n.system_id, n.timeline, n.epoch, taken);
	wp_sql_add(
		sql,
		"  '%s'::pg_lsn, pg_catalog.now(), false, pg_catalog.pg_postmaster_start_time(),\n"
		"  %L,\n  " TRANSACTIONS_OF("s.slot_name") ",\n  ",
		wp_lsn_text(confirmed, lsn), row->topics != NULL ? row->topics : "");
	add_trouble(sql, row, ",");
	wp_sql_add(sql,
		   "\nFROM pg_catalog.pg_replication_slots s\n"
		   "WHERE s.slot_name = %L",
		   row->slot);
}

/* These set who holds the slot and where it stood as that one took it, by itself and with the
 * rest. */
#define SET_TAKEN                                                                   \
	"taken_at_lsn = CASE w.owner WHEN excluded.owner THEN w.taken_at_lsn ELSE " \
	"excluded.taken_at_lsn END,\n"                                              \
	"  taken_at = CASE w.owner WHEN excluded.owner THEN w.taken_at ELSE excluded.taken_at END"
#define SET_REST                                                                            \
	"owner = excluded.owner, system_identifier = excluded.system_identifier,\n"         \
	"  timeline = excluded.timeline, epoch = greatest(w.epoch, excluded.epoch),\n"      \
	"  confirmed_lsn = excluded.confirmed_lsn, confirmed_at = excluded.confirmed_at,\n" \
	"  stopped = excluded.stopped, server_started = excluded.server_started,\n"         \
	"  slot_transactions = excluded.slot_transactions,\n"                               \
	"  trouble = excluded.trouble, trouble_at = excluded.trouble_at"

enum wp_rc wp_slot_checkpoint_write_sql(PGconn *pg, const struct wp_slot_checkpoint_row *row,
					wp_lsn at, struct wp_buffer *into, struct wp_error *error)
{
	char lsn[WP_LSN_TEXT_SIZE], taken[WP_LSN_TEXT_SIZE + 16];
	struct wp_sql sql;
	(void)snprintf(taken, sizeof(taken), "'%s'::pg_lsn", wp_lsn_text(at, lsn));
	wp_sql_init(&sql, pg, into);
	wp_sql_add(&sql, IMPATIENTLY);
	add_sent(&sql, row);
	add_insert(&sql, row, taken, at);
	wp_sql_add(&sql,
		   " AND NOT s.active\n"
		   "ON CONFLICT (slot) DO UPDATE SET " SET_TAKEN ",\n  " SET_REST "\n"
		   "WHERE (%s OR (w.owner, w.system_identifier, w.timeline, w.epoch, w.stopped, "
		   "w.server_started, w.trouble) IS DISTINCT FROM\n"
		   "  (excluded.owner, excluded.system_identifier, excluded.timeline, "
		   "excluded.epoch, excluded.stopped, excluded.server_started, "
		   "excluded.trouble))\n"
		   "  AND (w.owner = excluded.owner OR w.xmin::text = %L)",
		   row->anew ? "true" : "false", row->before);
	return wp_sql_end(&sql, error);
}

enum wp_rc wp_slot_checkpoint_note_sql(PGconn *pg, const struct wp_slot_checkpoint_row *row,
				       const char *walsender, wp_lsn confirmed,
				       struct wp_buffer *into, struct wp_error *error)
{
	struct wp_sql sql;
	wp_sql_init(&sql, pg, into);
	wp_sql_add(&sql, IMPATIENTLY);
	add_sent(&sql, row);
	wp_sql_add(&sql,
		   "WITH was AS (SELECT w.owner, w.taken_at_lsn, w.xmin FROM "
		   "walpost.slot_checkpoint w WHERE w.slot = %L)\n",
		   row->slot);
	add_insert(&sql, row, "s.confirmed_flush_lsn", confirmed);
	wp_sql_add(&sql,
		   " AND s.active_pid = %L\n"
		   "ON CONFLICT (slot) DO UPDATE SET\n"
		   "  " SET_TAKEN ",\n  topics = excluded.topics, " SET_REST "\n"
		   "RETURNING (SELECT CASE WHEN s.confirmed_flush_lsn <= (SELECT was.taken_at_lsn "
		   "FROM was) THEN '0/0' ELSE s.confirmed_flush_lsn END\n"
		   "    FROM pg_catalog.pg_replication_slots s WHERE s.slot_name = w.slot),\n"
		   "  (SELECT was.owner <> %L AND was.xmin::text <> %L FROM was)",
		   walsender, row->owner, row->before);
	return wp_sql_end(&sql, error);
}

enum wp_rc wp_slot_checkpoint_end_sql(PGconn *pg, const struct wp_slot_checkpoint_row *row,
				      const char *walsender, wp_lsn confirmed,
				      struct wp_buffer *into, struct wp_error *error)
{
	char lsn[WP_LSN_TEXT_SIZE];
	struct numbers n = numbers_of(row);
	struct wp_sql sql;
	wp_sql_init(&sql, pg, into);
	wp_sql_add(&sql, IMPATIENTLY);
	add_sent(&sql, row);
	wp_sql_add(&sql,
		   "UPDATE walpost.slot_checkpoint w SET confirmed_lsn = %L, confirmed_at = "
		   "pg_catalog.now(), stopped = true,\n"
		   "  server_started = pg_catalog.pg_postmaster_start_time(),\n"
		   "  slot_transactions = " TRANSACTIONS_OF("slot") ",\n",
		   wp_lsn_text(confirmed, lsn));
	wp_sql_add(&sql, "  trouble = ");
	add_trouble(&sql, row, ", trouble_at =");
	wp_sql_add(&sql,
		   ",\n  owner = %L, system_identifier = %L, timeline = %s, epoch = "
		   "greatest(epoch, %s), topics = %L\n"
		   "WHERE slot = %L AND (owner = %L",
		   row->owner, n.system_id, n.timeline, n.epoch,
		   row->topics != NULL ? row->topics : "", row->slot, row->owner);
	/*
	 * Two relays that find the slot free both write the row, and the one that does not get the
	 * slot may do so last. One that is about to start has written where the slot stands now.
	 */
	if (row->unclaimed)
		wp_sql_add(&sql,
			   " OR EXISTS (SELECT FROM pg_catalog.pg_replication_slots m\n"
			   "  WHERE m.slot_name = %L AND m.confirmed_flush_lsn > w.taken_at_lsn\n"
			   "    AND m.confirmed_flush_lsn <= %L)",
			   row->slot, lsn);
	wp_sql_add(&sql,
		   ") AND NOT EXISTS (SELECT FROM pg_catalog.pg_replication_slots h\n"
		   "  WHERE h.slot_name = %L AND h.active_pid <> %L)",
		   row->slot, walsender);
	return wp_sql_end(&sql, error);
}

enum wp_rc wp_slot_checkpoint_trouble_sql(PGconn *pg, const struct wp_slot_checkpoint_row *row,
					  struct wp_buffer *into, struct wp_error *error)
{
	struct wp_sql sql;
	wp_sql_init(&sql, pg, into);
	wp_sql_add(&sql, IMPATIENTLY "UPDATE walpost.slot_checkpoint SET trouble = ");
	add_trouble(&sql, row, ", trouble_at =");
	wp_sql_add(&sql,
		   "\nWHERE slot = %L AND NOT EXISTS (SELECT FROM "
		   "pg_catalog.pg_replication_slots h\n"
		   "  WHERE h.slot_name = %L AND h.active)",
		   row->slot, row->slot);
	return wp_sql_end(&sql, error);
}

/*
 * We may be the standby that a commit would wait for. The count of decoded transactions is not
 * taken over: PostgreSQL 14 shows for half a second yet that of the slot which stood here before.
 */
void wp_slot_checkpoint_renew_sql(struct wp_sql *sql, const char *slot, const char *by)
{
	wp_sql_add(
		sql,
		"SELECT set_config('synchronous_commit', 'local', true), "
		"set_config('lock_timeout', '5000', true);\n"
		"UPDATE walpost.slot_checkpoint w SET owner = %L, taken_at_lsn = "
		"s.confirmed_flush_lsn, taken_at = now(),\n"
		"  confirmed_lsn = s.confirmed_flush_lsn, confirmed_at = now(), stopped = true,\n"
		"  server_started = pg_postmaster_start_time(), slot_transactions = NULL,\n"
		"  trouble = NULL, trouble_at = NULL\n",
		by);
	wp_sql_add(
		sql,
		"FROM pg_replication_slots s, walpost.slot_checkpoint o\n"
		"WHERE w.slot = %L AND o.slot = w.slot AND s.slot_name = w.slot AND NOT s.active\n"
		"  AND w.system_identifier = (SELECT system_identifier::text FROM "
		"pg_control_system())\n"
		"  AND NOT coalesce(pg_current_wal_lsn() < w.confirmed_lsn, false)\n"
		"RETURNING w.confirmed_lsn, o.owner, o.confirmed_lsn,\n"
		"  to_char(o.confirmed_at AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SS') || ' UTC'",
		slot);
}
