-- Moves walpost's slot forward, as `walpost slot skip` does: the events that were committed before
-- that are given up, and never sent. Lists them first, and changes nothing until it is run again
-- with their number.
--
--   psql -X -d shop -v slot=walpost -v publication=walpost -v to=0/194AB89 -f slot_advance.sql
--   psql -X -d shop -v slot=walpost -v publication=walpost -v to=0/194AB89 -v give_up=3 -f slot_advance.sql
--
--   -v to=LSN                 give up the transactions that commit before this; the relay's log line
--                             event_undeliverable names it, and pg_current_wal_flush_lsn() is the end
--   -v give_up=NUMBER         do it, if it is that many events; unknown: where they cannot be counted
--   -v message_prefix=NAME    of transactional messages only those of this prefix are events
--                             (outbox.message.prefix)
--
-- By a role with REPLICATION that may write walpost.skip and walpost.slot_checkpoint, in the slot's
-- database, on the primary; the relay must be stopped. The move is recorded in walpost.skip, and
-- walpost.slot_checkpoint is told, so that no relay takes it for a stranger's. Needs slot_holds.sql beside
-- it. PostgreSQL 14 or newer.
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
    'the variable to is missing: add -v to=LSN; the line event_undeliverable of the relay''s log names it'
  WHEN :'to' !~ '^[0-9A-Fa-f]{1,8}/[0-9A-Fa-f]{1,8}$' OR :'to' ~ '^0+/0+$' THEN
    format('to = %s is not an LSN, which looks like 16/B374D848', :'to')
  WHEN :'give_up' !~ '^([0-9]{1,18}|unknown|)$' THEN format('give_up = %s: it is a number, or unknown', :'give_up')
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
      format('slot %s is not walpost''s: it is a physical one, of a standby or a backup', :'slot')
    WHEN NOT ours THEN
      format('slot %s is not walpost''s: it is of plugin %s and database %s, the connection is to %s', :'slot', plugin,
        database, current_database())
    WHEN pg_is_in_recovery() THEN 'the server is a standby; advance on the primary'
    WHEN active_pid IS NOT NULL THEN
      format('slot %s is in use by process %s: stop its relay first', :'slot', active_pid)
    WHEN wal_status = 'lost' THEN
      format('slot %s is lost: the server has removed the log it needs; slot_status.sql says how to begin anew',
        :'slot')
    WHEN :'to'::pg_lsn < confirmed_flush_lsn THEN
      format('slot %s stands at %s already, beyond to = %s: a slot does not go back, and what lies below was confirmed',
        :'slot', confirmed_flush_lsn, :'to')
    WHEN :'to'::pg_lsn > here.lsn THEN
      format('to = %s lies beyond the server''s log, which ends at %s: events that are not written yet would be '
        'given up', :'to', here.lsn)
    ELSE '' END, false) AS refusal,
  confirmed_flush_lsn AS from_lsn, :'to'::pg_lsn AS to_lsn, confirmed_flush_lsn = :'to'::pg_lsn AS is_there,
  EXISTS (SELECT FROM pg_publication WHERE pubname = :'publication') AS publication_exists
FROM here LEFT JOIN slot ON true \gset
DO $walpost$ BEGIN IF current_setting('walpost.refusal') <> '' THEN
  RAISE EXCEPTION '%', current_setting('walpost.refusal'); END IF; END $walpost$;

\if :is_there
SELECT format('slot %s stands at %s already: there is nothing to give up', :'slot', :'to_lsn');
\else

SELECT format('slot %s, from %s to %s:', :'slot', :'from_lsn', :'to_lsn');
\if :publication_exists
\set holds_to :to_lsn
\set holds_max NULL
\ir slot_holds.sql
SELECT :'held_text' || CASE WHEN :'held_events' <> '0' THEN chr(10)
  || 'The first of these transactions may be in Kafka in part already.' ELSE '' END WHERE :'held_text' <> '';
\else
\set held_known f
\set held_events ''
SELECT format('publication %s is not there', :'publication') AS held_why \gset
\endif

SELECT set_config('walpost.refusal', CASE
  WHEN :'held_known'::bool AND :'give_up' = '' THEN
    format('nothing was changed; -v give_up=%s gives up these events', :'held_events')
  WHEN :'held_known'::bool AND :'give_up' <> :'held_events' THEN
    format('nothing was changed: it is %s events, not %s; -v give_up=%s gives up these', :'held_events', :'give_up',
      :'held_events')
  WHEN NOT :'held_known'::bool AND :'give_up' <> 'unknown' THEN
    format('nothing was changed: which events would be given up cannot be listed: %s; -v give_up=unknown gives up '
      'whatever there is', :'held_why')
  ELSE '' END, false) AS refusal \gset
DO $walpost$ BEGIN IF current_setting('walpost.refusal') <> '' THEN
  RAISE EXCEPTION '%', current_setting('walpost.refusal'); END IF; END $walpost$;

-- Whether the record can be written, and the slot checkpoint told.
SELECT coalesce(bool_or(c.relname = 'skip' AND has_table_privilege(c.oid, 'INSERT')), false) AS can_record,
  coalesce(bool_or(c.relname = 'slot_checkpoint' AND has_table_privilege(c.oid, 'SELECT')
    AND has_table_privilege(c.oid, 'UPDATE')
    AND 5 = (SELECT count(*) FROM pg_attribute a WHERE a.attrelid = c.oid AND NOT a.attisdropped AND a.attname IN
      ('slot', 'taken_at_lsn', 'confirmed_lsn', 'confirmed_at', 'slot_transactions'))), false) AS can_tell
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE n.nspname = 'walpost' AND c.relname IN ('skip', 'slot_checkpoint') AND has_schema_privilege(n.oid, 'USAGE') \gset

BEGIN READ WRITE;
SET LOCAL lock_timeout = '5s';
-- Never waits for synchronous standbys: the relay, which is stopped, may be one.
SET LOCAL synchronous_commit = 'local';
\if :can_record
INSERT INTO walpost.skip (slot, from_lsn, to_lsn, events)
VALUES (:'slot', :'from_lsn', :'to_lsn', CASE WHEN :'held_known'::bool THEN nullif(:'held_events', '')::bigint END);
\else
SELECT 'not recorded in walpost.skip, keep this output instead: the table is missing, or not for this role to write '
  '(slot_checkpoint.sql makes it)';
\endif
\if :can_tell
UPDATE walpost.slot_checkpoint SET taken_at_lsn = greatest(taken_at_lsn, :'to_lsn'), confirmed_lsn = :'to_lsn',
  confirmed_at = now(), slot_transactions = NULL WHERE slot = :'slot';
\else
SELECT 'walpost.slot_checkpoint was not told, for it is missing, or not for this role to write: a relay may take the move for '
  'a stranger''s';
\endif
-- Last: what it moves does not come back with a ROLLBACK.
SELECT end_lsn AS moved_to FROM pg_replication_slot_advance(:'slot', :'to_lsn') \gset
COMMIT;
SELECT format('slot %s: stands at %s now; given up%s; start walpost again (one that is held, too)',
  :'slot', :'moved_to', CASE WHEN :'can_record'::bool THEN ', and recorded in walpost.skip' ELSE '' END);
\endif
