/*
 * The columns of preflight_later's one row, in the order of its SELECT. Shared by the one that asks
 * and those that judge; no one else needs it.
 */
#ifndef WALPOST_POSTGRES_PREFLIGHT_PREFLIGHT_LATER_ANSWER_H
#define WALPOST_POSTGRES_PREFLIGHT_PREFLIGHT_LATER_ANSWER_H

#include "walpost/postgres_preflight/slot.h"

/* X(name, SQL expression). The expressions see the WITH tables of preflight_later.c. */
#define WP_PREFLIGHT_LATER_COLUMNS(X)                                                             \
	X(IN_RECOVERY, "pg_is_in_recovery()")                                                     \
	X(VERSION, "current_setting('server_version_num')")                                       \
	X(ROLE, "current_user")                                                                   \
	X(DATABASE, "current_database()")                                                         \
	X(PLUGINS, "(SELECT setting FROM pg_settings WHERE name = 'output_plugin_libraries')")    \
	X(PLUGINS_HAVE_OURS, "(SELECT bool_or(name IN ('pgoutput', '$libdir/pgoutput')) FROM "    \
			     "plugins)")                                                          \
	X(PLUGINS_QUOTED, "(SELECT string_agg(quote_literal(name), ', ') FROM plugins "           \
			  "WHERE name <> '')")                                                    \
	X(KEEP_MB, "(SELECT setting FROM pg_settings WHERE name = 'max_slot_wal_keep_size')")     \
	X(WAL_RATE, "(SELECT floor(wal_bytes / since.s) FROM pg_stat_wal, since WHERE since.s > " \
		    "0)")                                                                         \
	X(WAL_RATE_SINCE, "(SELECT s FROM since)")                                                \
	X(SLOT, "(SELECT j->>'slot_name' FROM slot)")                                             \
	X(SLOT_WAL_STATUS, "(SELECT j->>'wal_status' FROM slot)")                                 \
	X(SLOT_ACTIVE_PID, "(SELECT j->>'active_pid' FROM slot)")                                 \
	X(SLOT_HOLDER, "(SELECT " WP_SLOT_HOLDER_SQL("(j->>'active_pid')::int") " FROM slot)")    \
	X(SLOT_HOLDER_IS_WALPOST,                                                                 \
	  "(SELECT " WP_SLOT_HOLDER_IS_WALPOST_SQL("(j->>'active_pid')::int") " FROM slot)")      \
	X(SLOT_FAILOVER, "(SELECT j->>'failover' FROM slot)")                                     \
	X(SLOT_SYNCED, "(SELECT j->>'synced' FROM slot)")                                         \
	X(SLOT_RETAINED, "(SELECT pg_size_pretty(here.lsn - (j->>'restart_lsn')::pg_lsn) "        \
			 "FROM slot, here)")                                                      \
	X(SLOT_SAFE_MB, "(SELECT (j->>'safe_wal_size')::bigint / 1048576 FROM slot)")             \
	X(SLOT_LAGS, "(SELECT (here.lsn - (j->>'confirmed_flush_lsn')::pg_lsn) * 2 > "            \
		     "here.lsn - (j->>'restart_lsn')::pg_lsn FROM slot, here)")                   \
	X(OLD_PREPARED, "(SELECT gid FROM pg_prepared_xacts WHERE database = current_database() " \
			"ORDER BY prepared LIMIT 1)")                                             \
	X(OLD_PREPARED_S, "(SELECT extract(epoch FROM now() - prepared)::bigint "                 \
			  "FROM pg_prepared_xacts WHERE database = current_database() "           \
			  "ORDER BY prepared LIMIT 1)")                                           \
	X(OLD_PID, "(SELECT pid FROM writers ORDER BY age(xid) DESC LIMIT 1)")                    \
	X(SYNC_WORKER, "EXISTS (SELECT FROM pg_stat_activity "                                    \
		       "WHERE application_name LIKE '%slotsync worker')")                         \
	X(SLOT_SYNC, WP_SLOT_SYNC_SQL)                                                            \
	X(OTHER_FAILOVER, "(SELECT min(s.slot_name) FROM pg_replication_slots s, slot "           \
			  "WHERE to_jsonb(s)->>'failover' = 'true' "                              \
			  "AND s.slot_name <> slot.j->>'slot_name')")                             \
	X(STANDBYS, "nullif(current_setting('synchronized_standby_slots', true), '')")            \
	X(STANDBYS_MISSING, "(SELECT string_agg(name, ', ' ORDER BY name) FROM awaited "          \
			    "WHERE type IS DISTINCT FROM 'physical')")                            \
	X(STANDBYS_IDLE, "(SELECT string_agg(name, ', ' ORDER BY name) FROM awaited "             \
			 "WHERE type = 'physical' AND NOT active)")                               \
	X(STANDBYS_REST, "(SELECT coalesce(string_agg(name, ', ' ORDER BY name), '') "            \
			 "FROM awaited WHERE type = 'physical' AND active)")                      \
	X(STANDBYS_ACTIVE, "(SELECT string_agg(slot_name, ', ' ORDER BY slot_name) "              \
			   "FROM pg_replication_slots WHERE slot_type = 'physical' AND active "   \
			   "AND NOT temporary)")                                                  \
	X(ORPHANS, "(SELECT string_agg(format('%s (%s)', slot_name, why), ', ' "                  \
		   "ORDER BY slot_name) FROM orphans)")                                           \
	X(ORPHANS_DROP,                                                                           \
	  "(SELECT string_agg(format('SELECT pg_drop_replication_slot(%L);', slot_name), "        \
	  "E'\\n' ORDER BY slot_name) FROM orphans)")                                             \
	X(PUB_IS_YOUNGER, "(SELECT is_younger FROM pub)")                                         \
	X(PUB_TABLES_YOUNGER,                                                                     \
	  "(SELECT string_agg(r.prrelid::regclass::text, ', ' ORDER BY 1) "                       \
	  "FROM pub, slot, pg_publication_rel r "                                                 \
	  "WHERE r.prpubid = pub.oid AND NOT pub.is_younger "                                     \
	  "AND r.prrelid IN (SELECT oid FROM ours) "                                              \
	  "AND age(r.xmin) BETWEEN 0 AND age((slot.j->>'catalog_xmin')::xid))")                   \
	X(ENCODING, "current_setting('server_encoding')")                                         \
	X(EMIT, "EXISTS (SELECT FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace "    \
		"WHERE n.nspname = 'walpost' AND p.proname = 'emit')")                            \
	X(EMIT_OLD, "(SELECT string_agg(DISTINCT format('walpost.%s()', p.proname), ' and ') "    \
		    "FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace "               \
		    "WHERE n.nspname = 'walpost' AND p.proname IN ('emit', 'move_one') "          \
		    "AND p.prosrc NOT LIKE '%' || 'efbbbf' || '%')")                              \
	X(EMIT_REVOKE, "(SELECT string_agg(format('REVOKE EXECUTE ON FUNCTION %s FROM PUBLIC;', " \
		       "oid::regprocedure), E'\\n' ORDER BY oid) FROM pg_proc "                   \
		       "WHERE proname = 'pg_logical_emit_message' "                               \
		       "AND has_function_privilege('public', oid, 'EXECUTE'))")

#define WP_PREFLIGHT_LATER_NAME(name_, sql_) D_##name_,
enum wp_preflight_later_column { WP_PREFLIGHT_LATER_COLUMNS(WP_PREFLIGHT_LATER_NAME) D_COUNT };
#undef WP_PREFLIGHT_LATER_NAME

#endif
