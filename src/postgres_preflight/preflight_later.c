#include "walpost/postgres_preflight/preflight_later.h"

#include <stdio.h>
#include <string.h>

#include "preflight_later_answer.h"
#include "preflight_judge.h"
#include "walpost/postgres/sql.h"
#include "walpost/source/slot_cure.h"

/*
 * These subqueries stand before the SELECT of the one row:
 *
 *   slot     ours, as JSON: what a version lacks is a missing key
 *   plugins  those that the server lets us decode with, since the minors of August 2026
 *   since    for how long the server has counted its WAL
 *   writers  the transactions that have an xid, seen by every role
 *   awaited  the slots that synchronized_standby_slots names
 *   orphans  slots that nobody reads and that keep more WAL than the server would by itself
 *   ours     the outboxes, what they are partitions of, and their partitions
 *   pub      ours, and whether a transaction that the slot still decodes made or changed it; an
 *            xid far in the past has a negative age
 */
static const char with[] =
	"slot AS (SELECT to_jsonb(s) AS j FROM pg_replication_slots s WHERE s.slot_name = %L),\n"
	"here AS (SELECT CASE WHEN pg_is_in_recovery() THEN pg_last_wal_replay_lsn()\n"
	"  ELSE pg_current_wal_lsn() END AS lsn),\n"
	"plugins AS (SELECT btrim(n, ' \"') AS name FROM pg_settings,\n"
	"  regexp_split_to_table(setting, ',') n WHERE pg_settings.name = "
	"'output_plugin_libraries'),\n"
	"since AS (SELECT extract(epoch FROM now() - stats_reset)::bigint AS s FROM pg_stat_wal),\n"
	"writers AS (SELECT pid, transactionid AS xid FROM pg_locks WHERE locktype = "
	"'transactionid'\n"
	"  AND mode = 'ExclusiveLock' AND granted AND pid IS NOT NULL AND pid <> "
	"pg_backend_pid()),\n"
	"awaited AS (SELECT w.name, s.slot_type AS type, s.active FROM regexp_split_to_table(\n"
	"    replace(current_setting('synchronized_standby_slots', true), ' ', ''), ',') w (name)\n"
	"  LEFT JOIN pg_replication_slots s ON s.slot_name = w.name WHERE w.name <> ''),\n"
	"orphans AS (SELECT slot_name, CASE WHEN s.wal_status = 'lost' OR "
	"to_jsonb(s)->>'invalidation_reason' IS NOT NULL\n"
	"    THEN 'invalidated' ELSE 'keeps ' || pg_size_pretty(here.lsn - s.restart_lsn) END AS "
	"why\n"
	"  FROM pg_replication_slots s, here WHERE s.slot_name <> %L AND NOT s.active AND NOT "
	"s.temporary\n"
	"    AND NOT pg_is_in_recovery() AND (s.wal_status <> 'reserved'\n"
	"      OR to_jsonb(s)->>'invalidation_reason' IS NOT NULL)\n"
	"  ORDER BY here.lsn - s.restart_lsn DESC NULLS LAST, slot_name LIMIT 5),\n"
	"ours AS (WITH there AS (SELECT c.oid FROM tables t\n"
	"    JOIN pg_namespace n ON n.nspname = t.schema\n"
	"    JOIN pg_class c ON c.relnamespace = n.oid AND c.relname = t.name)\n"
	"  SELECT oid FROM there\n"
	"  UNION SELECT a.relid FROM there h, pg_partition_ancestors(h.oid::regclass) a\n"
	"  UNION SELECT p.relid FROM there h, pg_partition_tree(h.oid::regclass) p),\n"
	"pub AS (SELECT p.oid, coalesce(age(p.xmin) BETWEEN 0 AND\n"
	"    age(((SELECT j FROM slot)->>'catalog_xmin')::xid), false) AS is_younger\n"
	"  FROM pg_publication p WHERE p.pubname = %L)\n"
	"SELECT ";

static const char *const expressions[] = {
#define COLUMN(name_, sql_) sql_,
	WP_PREFLIGHT_LATER_COLUMNS(COLUMN)
#undef COLUMN
};

enum wp_rc wp_preflight_later_sql(PGconn *pg, const struct wp_postgres_options *options,
				  const struct wp_requirements *wanted, struct wp_buffer *into,
				  struct wp_error *error)
{
	struct wp_sql sql;

	wp_sql_init(&sql, pg, into);
	wp_sql_add(&sql, "WITH ");
	wp_preflight_add_tables(&sql, wanted);
	wp_sql_add(&sql, with, options->slot, options->slot, options->publication);
	for (size_t i = 0; i < D_COUNT; i++)
		wp_sql_add(&sql, "%s%s", i > 0 ? ",\n  " : "", expressions[i]);
	return wp_sql_end(&sql, error);
}

/* -- the server ------------------------------------------------------------------ */

static void judge_plugins(struct judge *j)
{
	if (answer_null(j, D_PLUGINS) || answer_yes(j, D_PLUGINS_HAVE_OURS))
		return;
	wp_sql_add(&j->cure,
		   "ALTER SYSTEM SET output_plugin_libraries = %s%spgoutput; "
		   "SELECT pg_reload_conf();",
		   answer_text(j, D_PLUGINS_QUOTED), answer_null(j, D_PLUGINS_QUOTED) ? "" : ", ");
	FOUND_WRONG(j, "output_plugin_libraries",
		    "\"%s\" lacks pgoutput, the plugin that walpost uses",
		    answer_text(j, D_PLUGINS));
}

/* With logical messages any role that may log in could send events, past all rights of tables. */
static void judge_emit(struct judge *j)
{
	if (!j->wanted->messages || answer_null(j, D_EMIT_REVOKE))
		return;
	wp_sql_add(&j->cure, "%s", answer_text(j, D_EMIT_REVOKE));
	FOUND_WARN(j, "message_rights",
		   "every role that may connect to database %s may call pg_logical_emit_message() "
		   "and thereby send events (outbox.message.prefix is set); the cure limits it to "
		   "the owner and to roles with an explicit grant",
		   answer_text(j, D_DATABASE));
}

/* The bytes of a message are in the log as they are (outbox/message.h). */
static void judge_message_encoding(struct judge *j)
{
	const char *encoding = answer_text(j, D_ENCODING), *old = answer_text(j, D_EMIT_OLD);
	if (!j->wanted->text_messages || !strcmp(encoding, "UTF8"))
		return;
	if (*old != '\0') {
		wp_sql_add(&j->cure,
			   "-- run sql/outbox_emit.sql of this version for walpost.emit(), "
			   "sql/schedule.sql for walpost.move_one()");
		FOUND_WRONG(j, "message_encoding",
			    "%s of an earlier version writes messages in the database's encoding, "
			    "%s, of which walpost delivers only those that are ASCII",
			    old, encoding);
	} else if (!answer_yes(j, D_EMIT)) {
		wp_sql_add(&j->cure, "-- run sql/outbox_emit.sql and send messages with "
				     "walpost.emit(), or set outbox.message.format = protobuf");
		FOUND_WRONG(j, "message_encoding",
			    "the encoding of the database is %s: a message that is text is in the "
			    "WAL in that encoding, and walpost delivers it only if it is ASCII "
			    "(outbox.message.prefix is set); walpost.emit() does not exist",
			    encoding);
	} else {
		FOUND_OK(j, "message_encoding",
			 "walpost.emit() sends messages as UTF-8 from a database whose encoding is "
			 "%s%s; of others only those that are ASCII are delivered",
			 encoding,
			 strcmp(encoding, "SQL_ASCII") == 0 ? " (it takes ASCII only)" : "");
	}
}

/* -- entry ----------------------------------------------------------------------- */

enum wp_rc wp_preflight_later_judge(PGconn *pg, const PGresult *answer,
				    const struct wp_postgres_options *options,
				    const struct wp_requirements *wanted, struct wp_preflight *ret,
				    enum wp_publication_age *ret_age, struct wp_error *error)
{
	if (PQresultStatus(answer) != PGRES_TUPLES_OK || PQntuples(answer) != 1 ||
	    PQnfields(answer) != D_COUNT)
		return wp_error_set(
			error, WP_PROTO,
			"unexpected form of the server's answer to the extended checks");
	struct judge j = {
		.pg = pg,
		.answer = answer,
		.options = options,
		.wanted = wanted,
		.ret = ret,
		.version = (int)strtol(PQgetvalue(answer, 0, D_VERSION), NULL, 10),
		.in_recovery = *PQgetvalue(answer, 0, D_IN_RECOVERY) == 't',
		.room = WP_ROOM_SERVER,
	};
	wp_judge_begin(&j);
	judge_plugins(&j);
	judge_emit(&j);
	judge_message_encoding(&j);
	j.room = WP_ROOM_SLOT;
	wp_judge_slot_kept(&j);
	*ret_age = answer_yes(&j, D_PUB_IS_YOUNGER) && !answer_null(&j, D_SLOT)
			   ? WP_PUBLICATION_YOUNGER
			   : WP_PUBLICATION_OLDER;
	wp_judge_end(&j);
	return WP_OK;
}

void wp_preflight_later_decoded(PGconn *pg, const struct wp_postgres_options *options,
				const char *trouble, struct wp_preflight *ret)
{
	struct judge j = {
		.pg = pg,
		.options = options,
		.ret = ret,
		.version = PQserverVersion(pg),
		.room = WP_ROOM_SLOT,
	};
	wp_judge_begin(&j);
	if (trouble) {
		wp_sql_add(&j.cure, WP_SLOT_REPLACED);
		FOUND_LOST(&j, "slot_decodes",
			   "the contents of slot %s cannot be decoded with publication %s, which "
			   "is newer (%s). " WP_SLOT_REPLACE,
			   options->slot, options->publication, trouble);
	} else {
		FOUND_OK(&j, "slot_decodes",
			 "publication %s was created or altered after the start of decoding of "
			 "slot %s, but decoding works",
			 options->publication, options->slot);
	}
	wp_judge_end(&j);
}
