#include "walpost/postgres_preflight/slot.h"

#include <stdio.h>
#include <string.h>

enum wp_slot_failover wp_slot_failover(int server_version)
{
	return server_version >= 170000 ? WP_SLOT_FAILOVER : WP_SLOT_LOCAL;
}

void wp_slot_create_sql(struct wp_sql *sql, const char *slot, enum wp_slot_failover failover)
{
	/* The arguments are slot_name, plugin, temporary, twophase, failover. */
	wp_sql_add(sql,
		   "SELECT slot_name, lsn FROM pg_create_logical_replication_slot(%L, "
		   "'pgoutput'%s);\n",
		   slot, failover == WP_SLOT_FAILOVER ? ", false, false, true" : "");
}

void wp_slot_create_temporary_sql(struct wp_sql *sql, const char *slot)
{
	wp_sql_add(sql,
		   "SELECT slot_name, lsn FROM pg_create_logical_replication_slot(%L, "
		   "'pgoutput', true);\n",
		   slot);
}

void wp_slot_copy_temporary_sql(struct wp_sql *sql, const char *slot, const char *from)
{
	wp_sql_add(sql,
		   "SELECT slot_name, lsn FROM pg_copy_logical_replication_slot(%L, %L, true);\n",
		   from, slot);
}

void wp_slot_drop_sql(struct wp_sql *sql, const char *slot)
{
	wp_sql_add(sql, "SELECT pg_drop_replication_slot(%L);\n", slot);
}

void wp_slot_waits_sql(struct wp_sql *sql, int waiter)
{
	char pid[16];
	(void)snprintf(pid, sizeof(pid), "%d", waiter);
	/*
	 * Slot creation waits for transactions with an xid of their own, one after
	 * the other (SnapBuildWaitSnapshot); idle readers do not hold it up. Their
	 * locks are visible to every role, their backend_xid is not.
	 */
	wp_sql_add(sql,
		   "SELECT 'backend', l.pid::text, coalesce(extract(epoch FROM now() - "
		   "a.xact_start), 0)::bigint,\n"
		   "  coalesce(a.state, ''), coalesce(a.application_name, ''), coalesce(a.usename, "
		   "'')\n"
		   "FROM (SELECT DISTINCT pid FROM pg_locks WHERE locktype = 'transactionid'\n"
		   "    AND mode = 'ExclusiveLock' AND granted AND pid IS NOT NULL) l\n"
		   "  LEFT JOIN pg_stat_activity a USING (pid)\n"
		   "WHERE l.pid <> %s AND l.pid <> pg_backend_pid()\n"
		   "UNION ALL\n"
		   "SELECT 'prepared', gid, extract(epoch FROM now() - prepared)::bigint, '', '', "
		   "owner\n"
		   "FROM pg_prepared_xacts\n"
		   "ORDER BY 3 DESC LIMIT 10;\n",
		   pid);
}

enum wp_rc wp_slot_name_check(const char *slot, struct wp_error *error)
{
	size_t size = strlen(slot);
	if (size >= 1 && size <= 63 &&
	    strspn(slot, "abcdefghijklmnopqrstuvwxyz0123456789_") == size)
		return WP_OK;
	return wp_error_set(error, WP_CONFIG,
			    "postgres.slot = %s: a slot's name has 1 to 63 lower-case letters, "
			    "digits and underscores",
			    slot);
}
