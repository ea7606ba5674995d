-- Advances walpost's slot, like `walpost slot skip`: earlier events are discarded and never sent. Lists them first, and
-- changes nothing until it is run again with their number.
--
--   psql -X -d shop -v slot=walpost -v publication=walpost -v to=0/194AB89 -f slot_advance.sql
--   psql -X -d shop -v slot=walpost -v publication=walpost -v to=0/194AB89 -v give_up=3 -f slot_advance.sql
--
--   -v to=LSN                 discard the transactions that commit before this LSN; see event_undeliverable in the
--                            relay's log; pg_current_wal_flush_lsn() is the end
--   -v give_up=NUMBER         discard them if they are that many events; unknown: if they cannot be counted
--   -v message_prefix=NAME    only transactional messages with this prefix are events
--                             (outbox.message.prefix)
--
-- Run it as a role with REPLICATION that may write walpost.skip and walpost.slot_checkpoint, in the slot's database, on the
-- primary, while the relay is stopped. It records the move in walpost.skip and in walpost.slot_checkpoint, so that no relay
-- reports it as made by someone else. Needs slot_holds.sql in the same folder. PostgreSQL 14 or newer.
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
\if :{?to} \else
\set to ''
\endif
\if :{?give_up} \else
\set give_up ''
\endif
\if :{?message_prefix} \else
\set message_prefix ''
\endif

SELECT set_config('walpost.refusal', CASE
  WHEN :'slot' = '' THEN 'the variable slot is missing: add -v slot=NAME (walpost''s default is walpost)'
  WHEN :'publication' = '' THEN
    'the variable publication is missing: add -v publication=NAME (walpost''s default is walpost)'
  WHEN :'to' = '' THEN
    'the variable to is missing: add -v to=LSN; see event_undeliverable in the relay''s log'
  WHEN :'to' !~ '^[0-9A-Fa-f]{1,8}/[0-9A-Fa-f]{1,8}$' OR :'to' ~ '^0+/0+$' THEN
    format('to = %s is not an LSN such as 16/B374D848', :'to')
  WHEN :'give_up' !~ '^([0-9]{1,18}|unknown|)$' THEN format('give_up = %s: use a number, or unknown', :'give_up')
  ELSE '' END, false) AS refusal \gset
DO $walpost$ BEGIN IF current_setting('walpost.refusal') <> '' THEN
  RAISE EXCEPTION '%', current_setting('walpost.refusal'); END IF; END $walpost$;

WITH slot AS (
  SELECT s.*, coalesce(s.plugin = 'pgoutput' AND s.database = current_database(), false) AS ours
  FROM pg_replication_slots s WHERE s.slot_name = :'slot'),
here AS (SELECT CASE WHEN NOT pg_is_in_recovery() THEN pg_current_wal_flush_lsn() END AS lsn)
SELECT set_config('walpost.refusal', CASE
    WHEN slot_name IS NULL THEN format('there is no slot %s', :'slot')
    WHEN slot_type = 'physical' THEN
      format('slot %s is not walpost''s, but a physical slot of a standby or a backup', :'slot')
    WHEN NOT ours THEN
      format('slot %s is not walpost''s: it uses plugin %s and belongs to database %s; the connection is to %s',
        :'slot', plugin, database, current_database())
    WHEN pg_is_in_recovery() THEN 'the server is a standby; run this on the primary'
    WHEN active_pid IS NOT NULL THEN
      format('slot %s is in use by process %s: stop its relay first', :'slot', active_pid)
    WHEN wal_status = 'lost' THEN
      format('slot %s is lost: the server has removed WAL that it needs; run slot_status.sql for the cure',
        :'slot')
    WHEN :'to'::pg_lsn < confirmed_flush_lsn THEN
      format('slot %s is already at %s, beyond to = %s: a slot cannot move backward, and earlier events were confirmed',
        :'slot', confirmed_flush_lsn, :'to')
    WHEN :'to'::pg_lsn > here.lsn THEN
      format('to = %s is beyond the end of the server''s WAL, %s: events that are not yet written would be '
        'discarded', :'to', here.lsn)
    ELSE '' END, false) AS refusal,
  confirmed_flush_lsn AS from_lsn, :'to'::pg_lsn AS to_lsn, confirmed_flush_lsn = :'to'::pg_lsn AS is_there,
  EXISTS (SELECT FROM pg_publication WHERE pubname = :'publication') AS publication_exists
FROM here LEFT JOIN slot ON true \gset
DO $walpost$ BEGIN IF current_setting('walpost.refusal') <> '' THEN
  RAISE EXCEPTION '%', current_setting('walpost.refusal'); END IF; END $walpost$;

\if :is_there
SELECT format('slot %s is already at %s: there is nothing to discard', :'slot', :'to_lsn');
\else

SELECT format('slot %s, from %s to %s:', :'slot', :'from_lsn', :'to_lsn');
\if :publication_exists
\set holds_to :to_lsn
\set holds_max NULL
\ir slot_holds.sql
SELECT :'held_text' || CASE WHEN :'held_events' <> '0' THEN chr(10)
  || 'Part of the first of these transactions may already be in Kafka.' ELSE '' END WHERE :'held_text' <> '';
\else
\set held_known f
\set held_events ''
SELECT format('publication %s does not exist', :'publication') AS held_why \gset
\endif

SELECT set_config('walpost.refusal', CASE
  WHEN :'held_known'::bool AND :'give_up' = '' THEN
    format('nothing was changed; to discard these events, add -v give_up=%s', :'held_events')
  WHEN :'held_known'::bool AND :'give_up' <> :'held_events' THEN
    format('nothing was changed: there are %s events, not %s; to discard them, use -v give_up=%s',
      :'held_events', :'give_up', :'held_events')
  WHEN NOT :'held_known'::bool AND :'give_up' <> 'unknown' THEN
    format('nothing was changed: cannot list the events that would be discarded: %s; to discard everything before to=LSN, '
      'add -v give_up=unknown', :'held_why')
  ELSE '' END, false) AS refusal \gset
DO $walpost$ BEGIN IF current_setting('walpost.refusal') <> '' THEN
  RAISE EXCEPTION '%', current_setting('walpost.refusal'); END IF; END $walpost$;

-- Whether walpost.skip and walpost.slot_checkpoint can be written.
SELECT coalesce(bool_or(c.relname = 'skip' AND has_table_privilege(c.oid, 'INSERT')), false) AS can_record,
  coalesce(bool_or(c.relname = 'slot_checkpoint' AND has_table_privilege(c.oid, 'SELECT')
    AND has_table_privilege(c.oid, 'UPDATE')
    AND 5 = (SELECT count(*) FROM pg_attribute a WHERE a.attrelid = c.oid AND NOT a.attisdropped AND a.attname IN
      ('slot', 'taken_at_lsn', 'confirmed_lsn', 'confirmed_at', 'slot_transactions'))), false) AS can_tell
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE n.nspname = 'walpost' AND c.relname IN ('skip', 'slot_checkpoint') AND has_schema_privilege(n.oid, 'USAGE') \gset

BEGIN READ WRITE;
SET LOCAL lock_timeout = '5s';
-- Never wait for synchronous standbys: the stopped relay may be one.
SET LOCAL synchronous_commit = 'local';
\if :can_record
INSERT INTO walpost.skip (slot, from_lsn, to_lsn, events)
VALUES (:'slot', :'from_lsn', :'to_lsn', CASE WHEN :'held_known'::bool THEN nullif(:'held_events', '')::bigint END);
\else
SELECT 'not recorded in walpost.skip, which is missing or not writable by this role (create it with slot_checkpoint.sql): '
  'keep this output instead';
\endif
\if :can_tell
UPDATE walpost.slot_checkpoint SET taken_at_lsn = greatest(taken_at_lsn, :'to_lsn'), confirmed_lsn = :'to_lsn',
  confirmed_at = now(), slot_transactions = NULL WHERE slot = :'slot';
\else
SELECT 'cannot update walpost.slot_checkpoint, which is missing or not writable by this role: a relay may report that the slot '
  'was moved by someone else';
\endif
-- Last, because a ROLLBACK does not undo the move.
SELECT end_lsn AS moved_to FROM pg_replication_slot_advance(:'slot', :'to_lsn') \gset
COMMIT;
SELECT format('slot %s: now at %s; events discarded%s; start walpost again, even if it is held',
  :'slot', :'moved_to', CASE WHEN :'can_record'::bool THEN ', and recorded in walpost.skip' ELSE '' END);
\endif
