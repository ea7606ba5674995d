-- Drops walpost's slot, as `walpost slot drop` does, and says what is given up with it.
--
--   psql -X -d shop -v slot=walpost -v publication=walpost -f slot_drop.sql
--
--   -v terminate=yes          ends the relay's connection first, where one reads the slot; better
--                             stop the relay: it comes back within seconds
--   -v force=yes              also when events that are not confirmed are lost with it, when that
--                             cannot be told, and when the slot is not walpost's
--   -v message_prefix=NAME    of transactional messages only those of this prefix are events
--                             (outbox.message.prefix)
--
-- By a role with REPLICATION, in the slot's database. Needs slot_holds.sql beside it.
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
  WHEN :'terminate' NOT IN ('yes', 'no') THEN format('terminate = %s: it is yes or no', :'terminate')
  WHEN :'force' NOT IN ('yes', 'no') THEN format('force = %s: it is yes or no', :'force')
  ELSE '' END, false) AS refusal \gset
DO $walpost$ BEGIN IF current_setting('walpost.refusal') <> '' THEN
  RAISE EXCEPTION '%', current_setting('walpost.refusal'); END IF; END $walpost$;

-- Ours: of pgoutput and of this database, so that what it holds can be read.
WITH slot AS (
  SELECT s.slot_name, s.slot_type, s.plugin, s.database, s.active_pid, to_jsonb(s) AS j,
    coalesce(s.plugin = 'pgoutput' AND s.database = current_database(), false) AS ours
  FROM pg_replication_slots s WHERE s.slot_name = :'slot')
SELECT set_config('walpost.refusal', CASE
    WHEN slot_name IS NULL THEN format('there is no slot %s', :'slot')
    WHEN pg_is_in_recovery() AND (j->>'synced')::bool THEN
      format('slot %s is the copy of a failover slot: drop it on the primary, and the copy goes too', :'slot')
    WHEN NOT ours AND :'force' = 'no' THEN
      format('slot %s was not dropped: it is not walpost''s: %s; -v force=yes drops it all the same', :'slot',
        CASE WHEN slot_type = 'physical' THEN 'a physical one, of a standby or a backup'
          ELSE format('of plugin %s and database %s', plugin, database) END)
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
  THEN format('process %s, which read slot %s, was ended', :pid, :'slot')
  ELSE format('process %s, which reads slot %s, has not ended within 10 s', :pid, :'slot') END;
\endif

-- What goes with it. What a lost slot held cannot be read any more, dropped or not.
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
SELECT format('without its publication, and %s is not there', :'publication') AS held_why \gset
\endif
\endif

SELECT set_config('walpost.refusal', CASE
  WHEN :'force' = 'yes' THEN ''
  WHEN NOT :'held_known'::bool THEN
    format('slot %s was not dropped: whether it holds events that are not confirmed cannot be told: %s. -v force=yes '
      'drops it all the same', :'slot', :'held_why')
  WHEN :'held_events' <> '0' THEN
    format('slot %s was not dropped: it holds events that are not confirmed; they would never be relayed. '
      '-v force=yes drops it all the same', :'slot')
  WHEN NOT :'held_all'::bool THEN
    format('slot %s was not dropped: none of its first %s changes is an event, and it was not read further. -v '
      'force=yes drops it all the same', :'slot', :'holds_max')
  ELSE '' END, false) AS refusal \gset
DO $walpost$ BEGIN IF current_setting('walpost.refusal') <> '' THEN
  RAISE EXCEPTION '%', current_setting('walpost.refusal'); END IF; END $walpost$;

SELECT count(pg_drop_replication_slot(:'slot')) AS dropped \gset
SELECT format('slot %s: dropped%s; what is committed from now on until there is a new slot is not sent', :'slot',
  CASE WHEN :'lost'::bool THEN ', which was lost: what it had not confirmed may be missing in Kafka'
    WHEN NOT :'held_known'::bool THEN ', with whatever it held'
    WHEN :'held_events' NOT IN ('', '0') THEN ', and given up what it held'
    ELSE '' END);
