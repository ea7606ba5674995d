/*
 * Writes the SQL to create, to drop and to look at logical replication slots. Slots are made for pgoutput,
 * without two_phase, and survive a failover where the server can do that (PostgreSQL 17 or newer).
 */
#ifndef WALPOST_POSTGRES_PREFLIGHT_SLOT_H
#define WALPOST_POSTGRES_PREFLIGHT_SLOT_H

#include "walpost/postgres/sql.h"

enum wp_slot_failover { WP_SLOT_LOCAL, WP_SLOT_FAILOVER };

/* Returns WP_SLOT_FAILOVER where a server of this version can do it; a standby cannot. */
enum wp_slot_failover wp_slot_failover(int server_version);
/* The answer is one row, slot_name and lsn. It waits for all transactions that run when it begins. */
void wp_slot_create_sql(struct wp_sql *sql, const char *slot, enum wp_slot_failover failover);
/* The same; the server drops the slot as the session that made it ends. */
void wp_slot_create_temporary_sql(struct wp_sql *sql, const char *slot);
/* The same, holding what slot `from` holds now, which may be in use. It waits for nobody. */
void wp_slot_copy_temporary_sql(struct wp_sql *sql, const char *slot, const char *from);
void wp_slot_drop_sql(struct wp_sql *sql, const char *slot);
/*
 * The answer has a row for each transaction that slot creation may wait for: kind ('backend' or 'prepared'),
 * pid or gid, seconds, state, application, user. `waiter` is the backend that creates.
 */
void wp_slot_waits_sql(struct wp_sql *sql, int waiter);

/*
 * Do standbys get their copies of a failover slot (PostgreSQL 17 and newer)? This is an expression
 * over `slot`, whose column j is the slot's row of pg_replication_slots as JSON. It is NULL when
 * nothing is wrong that is seen here.
 *
 *   incomplete  this standby's copy is still temporary: a promotion now ends it. It stays once the
 *               primary's slot has moved beyond the position where the copy begins (slotsync.c)
 *   in_the_way  this standby has a slot of that name that is no copy, from when it was the primary.
 *               Its slot sync worker stops at it: "exiting from slot synchronization because same
 *               name slot ... already exists on the standby" (slotsync.c, synchronize_one_slot())
 *   not_copied  this server was promoted (the flag synced stays), standbys replicate from it, and
 *               none of them copies slots now, as its own slot of that name would bring about
 */
#define WP_SLOT_SYNC_SQL                                                                           \
	"(SELECT CASE WHEN j->>'slot_type' <> 'logical' OR j->>'synced' IS NULL THEN NULL "        \
	"WHEN pg_is_in_recovery() THEN CASE WHEN j->>'synced' = 'true' AND j->>'temporary' = "     \
	"'true' THEN 'incomplete' WHEN j->>'synced' = 'false' AND (j->>'failover' = "              \
	"'true' OR current_setting('sync_replication_slots', true) = 'on') THEN 'in_the_way' END " \
	"WHEN j->>'synced' = 'true' AND EXISTS (SELECT FROM pg_replication_slots "                 \
	"WHERE slot_type = 'physical' AND active AND NOT temporary) "                              \
	"AND NOT EXISTS (SELECT FROM pg_stat_activity WHERE application_name LIKE "                \
	"'%slotsync worker') THEN 'not_copied' END FROM slot)"

/*
 * Says in words who has the slot, and whether that is a walpost by its application_name: walpost..., or that
 * of this session, which is of the same configuration. It is NULL when that process has just ended. `pid_` is
 * an expression for pg_replication_slots.active_pid. Any role sees application_name.
 */
#define WP_SLOT_HOLDER_SQL(pid_)                                                             \
	"(SELECT 'process ' || a.pid || ' (' || coalesce(nullif(a.application_name, ''), "   \
	"'without application_name') || ', user ' || coalesce(a.usename, 'unknown') || ')' " \
	"FROM pg_catalog.pg_stat_activity a WHERE a.pid = " pid_ ")"
#define WP_SLOT_HOLDER_IS_WALPOST_SQL(pid_)                                                      \
	"(SELECT pg_catalog.starts_with(a.application_name, 'walpost') OR a.application_name = " \
	"pg_catalog.current_setting('application_name') "                                        \
	"FROM pg_catalog.pg_stat_activity a WHERE a.pid = " pid_ ")"

/*
 * Finds the slots that synchronized_standby_slots names (PostgreSQL 17 or newer), with what is wrong with
 * each, where something is; to be followed by WHERE, or nothing. The list is read as the server reads it:
 * names in quotes or not. A slot that holds walsenders up is one that they would wait for, see
 * StandbySlotsHaveCaughtup() in slot.c.
 */
#define WP_STANDBY_SLOT_FAULT_SQL                                                       \
	"CASE WHEN s.slot_name IS NULL THEN ' does not exist'"                          \
	" WHEN s.slot_type <> 'physical' THEN ' is not a physical slot'"                \
	" WHEN to_jsonb(s)->>'invalidation_reason' IS NOT NULL THEN ' was invalidated'" \
	" WHEN NOT s.active THEN ' is not in use' END"
#define WP_STANDBY_SLOTS_FROM_SQL                                                                \
	" FROM unnest(string_to_array(translate(lower("                                          \
	"current_setting('synchronized_standby_slots', true)), E'\" \\t\\n\\r\\f', ''), ',')) n" \
	" LEFT JOIN pg_replication_slots s ON s.slot_name = n"

/* A name has lower-case letters, digits and underscores, 1 to 63; else it returns WP_CONFIG with the error. */
enum wp_rc wp_slot_name_check(const char *slot, struct wp_error *error) WP_MUST_CHECK;

#endif
