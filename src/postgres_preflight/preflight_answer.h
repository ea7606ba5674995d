/*
 * The columns of the preflight's rows, in the order of its SELECT; behind them stands the
 * row's number. Shared by the one that asks and the one that judges; no one else needs it.
 */
#ifndef WALPOST_POSTGRES_PREFLIGHT_PREFLIGHT_ANSWER_H
#define WALPOST_POSTGRES_PREFLIGHT_PREFLIGHT_ANSWER_H

#include "walpost/postgres_preflight/columns.h"
#include "walpost/postgres/connection.h"
#include "walpost/postgres/provider.h"
#include "walpost/postgres_preflight/publication.h"
#include "walpost/postgres_preflight/slot.h"
#include "walpost/postgres_preflight/slot_checkpoint.h"

/* Does one of those that each table must have lack a column? One lookup is made for each. */
#define LACKS_A_COLUMN                                                                 \
	"EXISTS (SELECT FROM unnest(asked.columns) w (name) WHERE NOT EXISTS "         \
	"(SELECT FROM pg_attribute a WHERE a.attrelid = f.oid AND a.attname = w.name " \
	"AND a.attnum > 0 AND NOT a.attisdropped))"

/* X(name, SQL expression). The expressions see the WITH tables of preflight_sql.c. */
#define WP_PREFLIGHT_COLUMNS(X)                                                                    \
	X(VERSION, "current_setting('server_version_num')")                                        \
	X(VERSION_TEXT, "current_setting('server_version')")                                       \
	X(IN_RECOVERY, "pg_is_in_recovery()")                                                      \
	X(DATABASE, "current_database()")                                                          \
	X(ENCODING, "current_setting('server_encoding')")                                          \
	X(PROVIDER_SIGNS, wp_provider_signs_sql)                                                   \
	X(WAL_LEVEL, "current_setting('wal_level')")                                               \
	X(WAL_LEVEL_EFFECTIVE, "current_setting('effective_wal_level', true)")                     \
	X(MAX_SENDERS, "current_setting('max_wal_senders')")                                       \
	X(SENDERS, "(SELECT count(*) FROM pg_stat_replication r, mine WHERE r.pid NOT IN "         \
		   "(mine.pid, pg_backend_pid()))")                                                \
	X(MAX_SLOTS, "current_setting('max_replication_slots')")                                   \
	X(SLOTS, "(SELECT count(*) FROM pg_replication_slots)")                                    \
	X(SENDER_TIMEOUT, "(SELECT reset_val FROM pg_settings WHERE name = 'wal_sender_timeout')") \
	X(SENDER_TIMEOUT_SOURCE,                                                                   \
	  "(SELECT source FROM pg_settings WHERE name = 'wal_sender_timeout')")                    \
	X(SLOT_IDLE, "nullif((SELECT setting FROM pg_settings "                                    \
		     "WHERE name = 'idle_replication_slot_timeout'), '0')")                        \
	X(SLOT_IDLE_TEXT, "current_setting('idle_replication_slot_timeout', true)")                \
	X(SYNC_NAMES, "current_setting('synchronous_standby_names')")                              \
	X(APPLICATION, "current_setting('application_name')")                                      \
	X(STANDBYS, "(SELECT string_agg(DISTINCT quote_ident(application_name), ', ') "            \
		    "FROM pg_stat_replication r WHERE application_name <> '' AND NOT EXISTS "      \
		    "(SELECT FROM pg_replication_slots s "                                         \
		    "WHERE s.active_pid = r.pid AND s.slot_type = 'logical'))")                    \
	X(ROLE, "current_user")                                                                    \
	X(ROLE_MAY, "(SELECT rolsuper OR rolreplication FROM role)")                               \
	X(ROLE_CLOUD, "(SELECT bool_or(pg_has_role(current_user, oid, 'MEMBER')) "                 \
		      "FROM pg_roles WHERE rolname IN ('rds_replication', 'neon_superuser'))")     \
	X(ROLE_BEFORE, "(SELECT rolname FROM before)")                                             \
	X(ROLE_GRANTS,                                                                             \
	  "(SELECT string_agg('GRANT ' || privileges || ' ON ' || object || ' TO ' "               \
	  "|| quote_ident(current_user) || ';', E'\\n' ORDER BY object) FROM grants)")             \
	X(ROLE_LACKS, "(SELECT string_agg(DISTINCT what, ', ') FROM lacks)")                       \
	X(POLICIES, "(SELECT string_agg(quoted, ', ' ORDER BY quoted) FROM policed WHERE ours)")   \
	X(POLICIES_BESIDE, "(SELECT string_agg(quoted, ', ' ORDER BY quoted) FROM policed "        \
			   "WHERE NOT ours)")                                                      \
	X(SLOT_TYPE, "(SELECT j->>'slot_type' FROM slot)")                                         \
	X(SLOT_PLUGIN, "(SELECT j->>'plugin' FROM slot)")                                          \
	X(SLOT_DATABASE, "(SELECT j->>'database' FROM slot)")                                      \
	X(SLOT_TEMPORARY, "(SELECT j->>'temporary' FROM slot)")                                    \
	X(SLOT_SYNCED, "(SELECT j->>'synced' FROM slot)")                                          \
	X(SLOT_TWO_PHASE, "(SELECT j->>'two_phase' FROM slot)")                                    \
	X(SLOT_WAL_STATUS, "(SELECT j->>'wal_status' FROM slot)")                                  \
	X(SLOT_INVALIDATION, "(SELECT j->>'invalidation_reason' FROM slot)")                       \
	X(SLOT_CONFLICTING, "(SELECT j->>'conflicting' FROM slot)")                                \
	X(SLOT_SAFE_SIZE, "(SELECT j->>'safe_wal_size' FROM slot)")                                \
	X(SLOT_RESTART, "(SELECT j->>'restart_lsn' FROM slot)")                                    \
	X(SERVER_LSN, "CASE WHEN pg_is_in_recovery() THEN pg_last_wal_replay_lsn() "               \
		      "ELSE pg_current_wal_lsn() END")                                             \
	X(SLOT_ACTIVE_PID, "(SELECT j->>'active_pid' FROM slot)")                                  \
	X(SLOT_CONFIRMED, "(SELECT j->>'confirmed_flush_lsn' FROM slot)")                          \
	X(WITHHELD, "(SELECT string_agg('slot ' || n || coalesce(" WP_STANDBY_SLOT_FAULT_SQL       \
		    ", ' is behind'), ', ' ORDER BY n)" WP_STANDBY_SLOTS_FROM_SQL                  \
		    " WHERE EXISTS (SELECT FROM pg_stat_activity a, mine WHERE a.pid = mine.pid "  \
		    "AND a.wait_event = 'WaitForStandbyConfirmation'))")                           \
	X(PUB_THERE, "(SELECT string_agg(pubname, ', ' ORDER BY pubname) FROM "                    \
		     "(SELECT pubname FROM pg_publication ORDER BY pubname LIMIT 5) p)")           \
	X(PUB, "(SELECT oid FROM pub)")                                                            \
	X(PUB_ALL, "(SELECT j->>'puballtables' FROM pub)")                                         \
	X(PUB_INSERT, "(SELECT j->>'pubinsert' FROM pub)")                                         \
	X(PUB_UPDATE, "(SELECT j->>'pubupdate' FROM pub)")                                         \
	X(PUB_DELETE, "(SELECT j->>'pubdelete' FROM pub)")                                         \
	X(PUB_TRUNCATE, "(SELECT j->>'pubtruncate' FROM pub)")                                     \
	X(PUB_VIA_ROOT, "(SELECT j->>'pubviaroot' FROM pub)")                                      \
	X(PUB_NAMES_TABLE,                                                                         \
	  "coalesce(asked.has_up, false) OR EXISTS (SELECT FROM near WHERE is_up)")                \
	X(PUB_EXCEPTED, "array_to_string(asked.excepted, ', ')")                                   \
	X(PUB_LISTED, "(SELECT count(*) FROM leaf WHERE covered)")                                 \
	X(PUB_UNLISTED, "(SELECT string_agg(quoted, ', ' ORDER BY quoted) FROM "                   \
			"(SELECT quoted FROM leaf WHERE NOT covered ORDER BY quoted LIMIT 5) l)")  \
	X(PUB_ABOVE, "(SELECT string_agg(quoted, ', ') FROM near "                                 \
		     "WHERE is_up AND oid <> asked.oid)")                                          \
	X(PUB_LIMITED, "'ONLY ' || array_to_string(asked.limited, ', ONLY ')")                     \
	X(PUB_HIDDEN,                                                                              \
	  "(SELECT string_agg(quote_ident(name), ', ' ORDER BY at) FROM wanted w "                 \
	  "WHERE w.generated = '' AND EXISTS (SELECT FROM near l "                                 \
	  "WHERE jsonb_typeof(l.j->'attnames') = 'array' AND NOT l.j->'attnames' ? w.name "        \
	  "AND EXISTS (SELECT FROM pg_attribute a WHERE a.attrelid = l.oid "                       \
	  "AND a.attname = w.name AND a.attnum > 0 AND NOT a.attisdropped)))")                     \
	X(PUB_GENERATED,                                                                           \
	  "(SELECT string_agg(quote_ident(name), ', ' ORDER BY at) FROM wanted w "                 \
	  "WHERE w.generated <> '' AND (current_setting('server_version_num')::int < 180000 "      \
	  "OR EXISTS (SELECT FROM near l "                                                         \
	  "WHERE jsonb_typeof(l.j->'attnames') = 'array' AND NOT l.j->'attnames' ? w.name)))")     \
	X(PUB_FILTER, "(SELECT string_agg(DISTINCT j->>'rowfilter', '; ') FROM near)")             \
	X(CASE_IN_PUB, "(SELECT min(quoted) FROM alike WHERE at = asked.at AND is_listed)")        \
	X(CASE_THERE, "(SELECT min(quoted) FROM alike WHERE at = asked.at)")                       \
	X(PUB_OTHERS, "(SELECT count(*) FROM listed WHERE oid NOT IN (SELECT oid FROM mates) "     \
		      "AND quoted NOT LIKE 'walpost.%')")                                          \
	X(PUB_OTHER_NAMES, "(SELECT string_agg(quoted, ', ') FROM (SELECT quoted FROM listed "     \
			   "WHERE oid NOT IN (SELECT oid FROM mates) "                             \
			   "AND quoted NOT LIKE 'walpost.%' ORDER BY quoted LIMIT 5) o)")          \
	X(PUB_LOOKALIKES, "(SELECT count(*) FROM lookalike)")                                      \
	X(PUB_LOOKALIKE_NAMES, "(SELECT string_agg(quoted, ', ') FROM (SELECT quoted FROM "        \
			       "lookalike ORDER BY quoted LIMIT 5) l)")                            \
	X(TABLE_QUOTED, "quote_ident(asked.schema) || '.' || quote_ident(asked.name)")             \
	X(TABLE_FITTING, "(SELECT count(*) FROM fitting f WHERE f.at = asked.at)")                 \
	X(TABLE_FITTING_UNLISTED,                                                                  \
	  "(SELECT count(*) FROM fitting f WHERE f.at = asked.at "                                 \
	  "AND f.oid NOT IN (SELECT oid FROM listed) "                                             \
	  "AND NOT (f.relkind = 'p' AND EXISTS (SELECT FROM pg_partition_tree(f.oid::regclass) p " \
	  "WHERE p.relid IN (SELECT oid FROM listed))))")                                          \
	X(FITTING_LACKING,                                                                         \
	  "(SELECT count(*) FROM fitting f WHERE f.at = asked.at AND " LACKS_A_COLUMN ")")         \
	X(FITTING_LACKS, "(SELECT quote_ident(f.nspname) || '.' || quote_ident(f.relname) "        \
			 "FROM fitting f WHERE f.at = asked.at AND " LACKS_A_COLUMN " "            \
			 "ORDER BY f.oid DESC LIMIT 1)")                                           \
	X(FITTING_PARTITIONED,                                                                     \
	  "EXISTS (SELECT FROM fitting f WHERE f.at = asked.at AND f.relkind = 'p')")              \
	X(TABLE_KIND, "asked.relkind")                                                             \
	X(TABLE_PERSISTENCE, "asked.relpersistence")                                               \
	X(TABLE_MISSING, "(SELECT string_agg(quote_ident(name), ', ' ORDER BY at) FROM wanted "    \
			 "WHERE generated IS NULL)")                                               \
	X(TABLE_MISSING_AT, "(SELECT string_agg((at - 1)::text, ',' ORDER BY at) FROM wanted "     \
			    "WHERE generated IS NULL)")                                            \
	X(TABLE_COLUMNS, "(SELECT string_agg(quote_ident(attname), ', ' ORDER BY attnum) "         \
			 "FROM pg_attribute WHERE attrelid = asked.oid "                           \
			 "AND attnum > 0 AND NOT attisdropped)")                                   \
	X(TABLE_NOT_BINARY,                                                                        \
	  "(SELECT string_agg(quote_ident(name) || ' (' || format_type(type, NULL) || ')', ', ' "  \
	  "ORDER BY at) FROM wanted w WHERE type IS NOT NULL AND NOT EXISTS ("                     \
	  "WITH RECURSIVE under AS (SELECT w.type AS oid UNION SELECT t.typbasetype FROM under u " \
	  "JOIN pg_type t ON t.oid = u.oid WHERE t.typtype = 'd') "                                \
	  "SELECT FROM under u JOIN pg_type t ON u.oid IN (t.oid, t.typarray) "                    \
	  "WHERE (t.typtype = 'e' AND t.oid = u.oid) "                                             \
	  "OR (t.typnamespace = 'pg_catalog'::regnamespace AND t.typname IN "                      \
	  "(" WP_BINARY_TYPE_NAMES "))))")                                                         \
	X(TABLE_LEAVES, "(SELECT count(*) FROM leaf)")                                             \
	X(LEAVES_UNLOGGED,                                                                         \
	  "(SELECT string_agg('ALTER TABLE ' || quoted || ' SET LOGGED;', ' ' ORDER BY quoted) "   \
	  "FROM (SELECT quoted FROM leaf WHERE persistence = 'u' UNION "                           \
	  "SELECT quote_ident(f.nspname) || '.' || quote_ident(f.relname) FROM fitting f "         \
	  "JOIN pg_class c ON c.oid = f.oid WHERE f.at = asked.at AND c.relpersistence = 'u' "     \
	  "ORDER BY 1 LIMIT 10) u)")                                                               \
	X(CHILD_UNLISTED, "array_to_string(asked.unlisted, ', ')")                                 \
	X(CHILD_TO_LIST, "'ONLY ' || array_to_string(asked.unlisted, ', ONLY ')")                  \
	X(CHILD_TO_LOG, "'ALTER TABLE ' || array_to_string(asked.unlogged, ' SET LOGGED; "         \
			"ALTER TABLE ') || ' SET LOGGED;'")                                        \
	X(CHILD_UNCONFIGURED, "array_to_string(asked.unconfigured, ', ')")                         \
	X(CHILD_FOREIGN, "array_to_string(asked.elsewhere, ', ')")                                 \
	X(CHILD_CHUNK, "array_to_string(asked.chunks, ', ')")                                      \
	X(LEAVES_UNCOVERED,                                                                        \
	  "(SELECT min(quote_ident(n.nspname) || '.' || quote_ident(c.relname)) "                  \
	  "FROM (SELECT asked.oid WHERE asked.relkind = 'p' UNION "                                \
	  "SELECT oid FROM fitting WHERE at = asked.at AND relkind = 'p') r "                      \
	  "CROSS JOIN LATERAL pg_partition_tree(r.oid::regclass) p "                               \
	  "JOIN pg_class c ON c.oid = p.relid AND c.relkind <> 'p' "                               \
	  "JOIN pg_namespace n ON n.oid = c.relnamespace "                                         \
	  "WHERE NOT EXISTS (SELECT FROM leaves v WHERE v.at = asked.at "                          \
	  "AND n.nspname LIKE v.schema AND c.relname LIKE v.name))")                               \
	X(LEAVES_FOREIGN, "(SELECT string_agg(quoted, ', ' ORDER BY quoted) FROM leaf "            \
			  "WHERE kind = 'f')")                                                     \
	X(TABLE_BENEATH,                                                                           \
	  "(SELECT min(quote_ident(n.nspname) || '.' || quote_ident(c.relname)) "                  \
	  "FROM pg_rewrite w JOIN pg_depend d ON d.classid = 'pg_rewrite'::regclass "              \
	  "AND d.objid = w.oid AND d.refclassid = 'pg_class'::regclass "                           \
	  "JOIN pg_class c ON c.oid = d.refobjid AND c.relkind IN ('r', 'p') "                     \
	  "JOIN pg_namespace n ON n.oid = c.relnamespace "                                         \
	  "WHERE w.ev_class = asked.oid)")                                                         \
	X(NO_IDENTITY,                                                                             \
	  "EXISTS (SELECT FROM leaf l JOIN pg_class c ON c.oid = l.oid "                           \
	  "WHERE c.relreplident = 'n' OR (c.relreplident IN ('d', 'i') "                           \
	  "AND NOT EXISTS (SELECT FROM pg_index i WHERE i.indrelid = c.oid AND "                   \
	  "CASE c.relreplident WHEN 'd' THEN i.indisprimary ELSE i.indisreplident END)))")         \
	X(SLOT_CHECKPOINT, "EXISTS (SELECT FROM slot_checkpoint)")                                 \
	X(SLOT_CHECKPOINT_MAY,                                                                     \
	  "(SELECT has_schema_privilege(current_user, nsp, 'USAGE') "                              \
	  "AND has_table_privilege(current_user, oid, 'SELECT') "                                  \
	  "AND has_table_privilege(current_user, oid, 'INSERT') "                                  \
	  "AND has_table_privilege(current_user, oid, 'UPDATE') FROM slot_checkpoint)")            \
	X(SLOT_CHECKPOINT_WHOLE, WP_SLOT_CHECKPOINT_IS_WHOLE("(SELECT oid FROM slot_checkpoint)")) \
	X(REISSUE, "EXISTS (SELECT FROM reissue)")                                                 \
	X(REISSUE_WHOLE,                                                                           \
	  "(SELECT count(*) = 8 FROM pg_attribute WHERE attrelid = (SELECT oid FROM reissue) "     \
	  "AND NOT attisdropped AND attname IN ('id', 'slot', 'outbox', 'row', 'content', "        \
	  "'reason', 'position', 'kind')) AND 2 = (SELECT count(DISTINCT proname) FROM pg_proc "   \
	  "p, reissue r "                                                                          \
	  "WHERE p.pronamespace = r.nsp AND p.proname IN ('reissue', 'reissue_message'))")         \
	X(REISSUE_TOPIC, "EXISTS (SELECT FROM pg_proc p, reissue r WHERE p.pronamespace = r.nsp "  \
			 "AND p.proname = 'reissue' AND 'topic' = ANY (p.proargnames))")           \
	X(REISSUE_MAY, "(SELECT has_schema_privilege(current_user, nsp, 'USAGE') "                 \
		       "AND has_table_privilege(current_user, oid, 'SELECT') "                     \
		       "AND has_table_privilege(current_user, oid, 'INSERT') "                     \
		       "AND has_table_privilege(current_user, oid, 'DELETE') FROM reissue)")       \
	X(REISSUE_PUB, "EXISTS (SELECT FROM reissue_pub)")                                         \
	X(REISSUE_PUB_RIGHT,                                                                       \
	  "(SELECT count(*) = 1 AND bool_and(p.pubinsert AND t.schemaname = 'walpost' "            \
	  "AND t.tablename = 'reissue' AND to_jsonb(t)->>'rowfilter' IS NULL "                     \
	  "AND coalesce(jsonb_array_length(nullif(to_jsonb(t)->'attnames', 'null')), 8) >= 8) "    \
	  "FROM reissue_pub p JOIN pg_publication_tables t ON t.pubname = p.pubname)")             \
	X(DRAINS, "(SELECT string_agg(substr(application_name, "                                   \
		  "length('" WP_DRAIN_SESSION "') + 1), ' ') FROM pg_stat_activity "               \
		  "WHERE datname = current_database() "                                            \
		  "AND starts_with(application_name, '" WP_DRAIN_SESSION "'))")                    \
	X(REISSUE_LSN, "CASE WHEN EXISTS (SELECT FROM reissue_pub) AND NOT pg_is_in_recovery() "   \
		       "THEN pg_current_wal_insert_lsn() END")

#define WP_PREFLIGHT_NAME(name_, sql_) A_##name_,
enum wp_preflight_column { WP_PREFLIGHT_COLUMNS(WP_PREFLIGHT_NAME) A_COUNT };
#undef WP_PREFLIGHT_NAME

#endif
