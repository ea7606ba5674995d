#include "lock_wait.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { IS_TABLE, LOCKED, HOLDER, HOLDER_IS, HOLDERS };

/*
 * A session that waits for a row waits for the transaction that changed it, and has the row's lock
 * of kind tuple itself: that tells the table. A prepared transaction blocks as process 0. What
 * others do is not shown to every role.
 */
static const char lock_wait_sql[] =
	"SELECT l.locktype = 'relation',\n"
	"  CASE WHEN c.oid IS NULL THEN 'a lock of type ' || l.locktype\n"
	"    ELSE CASE WHEN l.locktype <> 'relation' THEN 'a row of ' ELSE '' END\n"
	"      || CASE WHEN c.relkind IN ('r', 'p') THEN 'table ' ELSE 'relation ' END\n"
	"      || pg_catalog.quote_ident(n.nspname) || '.' || pg_catalog.quote_ident(c.relname) "
	"END,\n"
	"  b.pid, pg_catalog.concat_ws(', ', 'user ' || a.usename,\n"
	"    'application ' || nullif(a.application_name, ''), a.state,\n"
	"    'in a transaction since ' || pg_catalog.to_char(a.xact_start AT TIME ZONE 'UTC',\n"
	"      'YYYY-MM-DD HH24:MI:SS') || ' UTC'),\n"
	"  pg_catalog.cardinality(w.pids)\n"
	"FROM pg_catalog.pg_locks l\n"
	"LEFT JOIN pg_catalog.pg_locks t ON t.pid = l.pid AND t.granted AND t.locktype = 'tuple'\n"
	"LEFT JOIN pg_catalog.pg_class c ON c.oid = coalesce(l.relation, t.relation)\n"
	"LEFT JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace,\n"
	"LATERAL (SELECT pg_catalog.pg_blocking_pids(l.pid) AS pids) w,\n"
	"LATERAL (SELECT w.pids[1] AS pid) b\n"
	"LEFT JOIN pg_catalog.pg_stat_activity a ON a.pid = b.pid\n"
	"WHERE l.pid = %s AND NOT l.granted AND b.pid IS NOT NULL\n"
	"  AND pg_catalog.clock_timestamp() - l.waitstart > '%s s'::pg_catalog.interval\n"
	"LIMIT 1";

void wp_lock_wait_sql(struct wp_sql *sql, int waiter)
{
	char pid[16], seconds[16];

	(void)snprintf(pid, sizeof(pid), "%d", waiter);
	(void)snprintf(seconds, sizeof(seconds), "%d", WP_LOCK_WAIT_S);
	wp_sql_add(sql, lock_wait_sql, pid, seconds);
}

bool wp_lock_wait_is_for_table(const PGresult *answer)
{
	return *PQgetvalue(answer, 0, IS_TABLE) == 't';
}

void wp_lock_wait_say(const PGresult *answer, struct wp_error *ret)
{
	const char *locked = PQgetvalue(answer, 0, LOCKED), *pid = PQgetvalue(answer, 0, HOLDER);
	const char *is = PQgetvalue(answer, 0, HOLDER_IS);
	long others = strtol(PQgetvalue(answer, 0, HOLDERS), NULL, 10) - 1;
	char more[40] = "";

	if (!strcmp(pid, "0")) {
		(void)wp_error_set(ret, WP_IO,
				   "%s is locked by a prepared transaction, for longer than %d s: "
				   "commit it or roll it back (pg_prepared_xacts), or try again "
				   "later",
				   locked, WP_LOCK_WAIT_S);
		return;
	}
	if (others > 0)
		(void)snprintf(more, sizeof(more), " and %ld others", others);
	(void)wp_error_set(
		ret, WP_IO,
		"%s is locked by process %s (%s)%s, for longer than %d s: try again when that "
		"transaction has ended, or end it with SELECT pg_terminate_backend(%s)",
		locked, pid, *is != '\0' ? is : "of another role", more, WP_LOCK_WAIT_S, pid);
}
