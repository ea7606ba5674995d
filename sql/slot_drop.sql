-- Drops walpost's slot, like `walpost slot drop`, and lists the events lost with it.
--
--   psql -X -d shop -v slot=walpost -v publication=walpost -f slot_drop.sql
--
--   -v terminate=yes          first end the connection of a relay that reads the slot; prefer to stop the relay,
--                            which reconnects within seconds
--   -v force=yes              drop the slot even if unconfirmed or parked events are lost or cannot be determined,
--                            and if it is not walpost's
--   -v message_prefix=NAME    only transactional messages with this prefix are events
--                             (outbox.message.prefix)
--
-- Run it as a role with REPLICATION, in the slot's database. Needs slot_holds.sql in the same folder.
-- PostgreSQL 14 or newer.
\set ON_ERROR_STOP on
\set AUTOCOMMIT on
\set QUIET on
\set SHOW_CONTEXT never
\pset pager off
\pset format unaligned
\pset tuples_only on
\pset expanded off
SET search_path = pg_catalog, pg_temp;
\if :{?slot} \else
\set slot ''
\endif
\if :{?publication} \else
\set publication ''
\endif
\if :{?terminate} \else
\set terminate no
\endif
\if :{?force} \else
\set force no
\endif
\if :{?message_prefix} \else
\set message_prefix ''
\endif

SELECT set_config('walpost.refusal', CASE
  WHEN :'slot' = '' THEN 'the variable slot is missing: add -v slot=NAME (walpost''s default is walpost)'
  WHEN :'publication' = '' THEN
    'the variable publication is missing: add -v publication=NAME (walpost''s default is walpost)'
  WHEN :'terminate' NOT IN ('yes', 'no') THEN format('terminate = %s: use yes or no', :'terminate')
  WHEN :'force' NOT IN ('yes', 'no') THEN format('force = %s: use yes or no', :'force')
  ELSE '' END, false) AS refusal \gset
DO $walpost$ BEGIN IF current_setting('walpost.refusal') <> '' THEN
  RAISE EXCEPTION '%', current_setting('walpost.refusal'); END IF; END $walpost$;

-- Ours: with pgoutput and in this database, so that its contents can be read.
WITH slot AS (
  SELECT s.slot_name, s.slot_type, s.plugin, s.database, s.active_pid, to_jsonb(s) AS j,
    coalesce(s.plugin = 'pgoutput' AND s.database = current_database(), false) AS ours
  FROM pg_replication_slots s WHERE s.slot_name = :'slot')
SELECT set_config('walpost.refusal', CASE
    WHEN slot_name IS NULL THEN format('there is no slot %s', :'slot')
    WHEN pg_is_in_recovery() AND (j->>'synced')::bool THEN
      format('slot %s is the copy of a failover slot: drop the slot on the primary, which also drops the copy', :'slot')
    WHEN NOT ours AND :'force' = 'no' THEN
      format('slot %s was not dropped: it is not walpost''s, but %s; to drop it nevertheless, add -v force=yes',
        :'slot', CASE WHEN slot_type = 'physical' THEN 'a physical slot of a standby or a backup'
          ELSE format('uses plugin %s in database %s', plugin, database) END)
    WHEN active_pid IS NOT NULL AND (:'terminate' = 'no' OR NOT ours) THEN
      format('slot %s is in use by process %s: stop its %s first%s', :'slot', active_pid,
        CASE WHEN ours THEN 'relay' ELSE 'reader' END,
        CASE WHEN ours THEN ', or add -v terminate=yes' ELSE '' END)
    ELSE '' END, false) AS refusal,
  active_pid IS NOT NULL AS active, coalesce(active_pid, 0) AS pid,
  coalesce(j->>'wal_status' = 'lost', false) AS lost, ours AND coalesce(j->>'wal_status' <> 'lost', true) AS can_hold,
  EXISTS (SELECT FROM pg_publication WHERE pubname = :'publication') AS publication_exists
FROM (SELECT) one LEFT JOIN slot ON true \gset
DO $walpost$ BEGIN IF current_setting('walpost.refusal') <> '' THEN
  RAISE EXCEPTION '%', current_setting('walpost.refusal'); END IF; END $walpost$;

\if :active
SELECT CASE WHEN pg_terminate_backend(:pid, 10000)
  THEN format('process %s, a reader of slot %s, was terminated', :pid, :'slot')
  ELSE format('process %s, which reads slot %s, has not ended within 10 s', :pid, :'slot') END;
\endif

-- The events lost with the slot. The contents of a lost slot cannot be read any more, dropped or not.
\set held_known t
\set held_all t
\set held_why ''
\set held_events 0
\set held_text ''
\set holds_to ''
\set holds_max 100000
\if :can_hold
\if :publication_exists
\ir slot_holds.sql
SELECT format('slot %s holds%s', :'slot', CASE WHEN :'held_all'::bool THEN ':' ELSE ', counted in part:' END) || chr(10)
  || :'held_text' WHERE :'held_text' <> '';
\else
\set held_known f
SELECT format('its publication %s does not exist', :'publication') AS held_why \gset
\endif
\endif

-- Events that are parked for the slot are lost with it, but not with a lost slot, which is dropped to be recreated.
SELECT count(*) = 2 AS parking_exists, count(*) = 2 AND has_schema_privilege(oid_of_schema, 'USAGE')
  AND bool_and(has_table_privilege(c.oid, 'SELECT')) AS parked_readable,
  count(*) = 2 AND has_schema_privilege(oid_of_schema, 'USAGE') AND bool_and(has_table_privilege(c.oid, 'SELECT')
    AND has_table_privilege(c.oid, 'DELETE')) AND (NOT :'lost'::bool OR :'force' = 'yes') AS parked_dropped
FROM (SELECT (SELECT oid FROM pg_namespace WHERE nspname = 'walpost') AS oid_of_schema) n
LEFT JOIN pg_class c ON c.relnamespace = oid_of_schema AND c.relkind IN ('r', 'p')
  AND c.relname IN ('parked', 'parking')
GROUP BY oid_of_schema \gset
\set parked_events 0
\if :parked_readable
SELECT count(*) AS parked_events FROM walpost.parked WHERE slot = :'slot' \gset
\endif

SELECT set_config('walpost.refusal', CASE
  WHEN :'force' = 'yes' THEN ''
  WHEN :'parking_exists'::bool AND NOT :'parked_readable'::bool AND NOT :'lost'::bool THEN
    format('slot %s was not dropped: cannot determine whether events are parked for it, because role %s may not read '
      'walpost.parked. To drop it nevertheless, add -v force=yes', :'slot', current_user)
  WHEN :'parked_events' <> '0' AND NOT :'lost'::bool THEN
    format('slot %s was not dropped: %s events are parked for it (walpost.parked), which would never be delivered. To '
      'drop it nevertheless, add -v force=yes', :'slot', :'parked_events')
  WHEN NOT :'held_known'::bool THEN
    format('slot %s was not dropped: cannot determine whether it holds unconfirmed events: %s. To drop it '
      'nevertheless, add -v force=yes', :'slot', :'held_why')
  WHEN :'held_events' <> '0' THEN
    format('slot %s was not dropped: it holds unconfirmed events, which would never be relayed. To drop it '
      'nevertheless, add -v force=yes', :'slot')
  WHEN NOT :'held_all'::bool THEN
    format('slot %s was not dropped: none of its first %s changes is an event, and it was not read further. To drop '
      'it nevertheless, add -v force=yes', :'slot', :'holds_max')
  ELSE '' END, false) AS refusal \gset
DO $walpost$ BEGIN IF current_setting('walpost.refusal') <> '' THEN
  RAISE EXCEPTION '%', current_setting('walpost.refusal'); END IF; END $walpost$;

SELECT count(pg_drop_replication_slot(:'slot')) AS dropped \gset
\if :parked_dropped
WITH parked AS (DELETE FROM walpost.parked WHERE slot = :'slot'), parking AS (
  DELETE FROM walpost.parking WHERE slot = :'slot')
SELECT format('slot %s: %s parked events deleted', :'slot', :'parked_events') WHERE :'parked_events' <> '0';
\endif
SELECT format('slot %s: dropped%s; events committed before a new slot exists are not sent', :'slot',
  CASE WHEN :'lost'::bool THEN ', which was lost: its unconfirmed events may be missing in Kafka'
    WHEN NOT :'held_known'::bool THEN ', with unknown contents'
    WHEN :'held_events' NOT IN ('', '0') THEN ', and its events discarded'
    ELSE '' END);
