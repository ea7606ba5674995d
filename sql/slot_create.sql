-- Creates walpost's slot, like `walpost slot create`. The publication must exist.
--
--   psql -X -d shop -v slot=walpost -v publication=walpost -f slot_create.sql
--
--   -v failover=off    without PostgreSQL 17's failover flag, which it has by default
--
-- Run it as a role with REPLICATION, in the outbox's database, on the primary. It waits for all running transactions
-- and lists them; Ctrl-C leaves no slot behind. Events committed before the slot exists are not sent. PostgreSQL 14 or
-- newer.
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
\if :{?failover} \else
\set failover default
\endif

SELECT set_config('walpost.refusal', CASE
  WHEN :'slot' = '' THEN 'the variable slot is missing: add -v slot=NAME (walpost''s default is walpost)'
  WHEN :'publication' = '' THEN
    'the variable publication is missing: add -v publication=NAME (walpost''s default is walpost)'
  WHEN :'slot' !~ '^[a-z0-9_]{1,63}$' THEN
    format('slot = %s: a slot''s name has 1 to 63 lower-case letters, digits and underscores', :'slot')
  WHEN :'failover' NOT IN ('on', 'off', 'default') THEN format('failover = %s: use on or off', :'failover')
  WHEN :'failover' = 'on' AND current_setting('server_version_num')::int < 170000 THEN
    format('failover = on: PostgreSQL %s does not support it, 17 is the first version that copies slots to standbys; '
      'leave it out',
      current_setting('server_version'))
  WHEN pg_is_in_recovery() THEN 'the server is a standby; run this on the primary'
  -- With effective_wal_level (PostgreSQL 19) the first logical slot raises it from replica.
  WHEN current_setting('wal_level') <> 'logical'
    AND (current_setting('effective_wal_level', true) IS NULL OR current_setting('wal_level') = 'minimal') THEN
    format('wal_level is %s: the WAL contains no rows to relay; ALTER SYSTEM SET wal_level = ''logical'', then restart '
      'the server', current_setting('wal_level'))
  WHEN EXISTS (SELECT FROM pg_replication_slots WHERE slot_name = :'slot') THEN
    (SELECT format('slot %s already exists, %s; slot_status.sql shows it', slot_name,
      CASE slot_type WHEN 'physical' THEN 'a physical slot'
        ELSE format('with plugin %s, in database %s', plugin, database) END)
      FROM pg_replication_slots WHERE slot_name = :'slot')
  WHEN NOT EXISTS (SELECT FROM pg_publication WHERE pubname = :'publication') THEN
    format('there is no publication %s in database %s: the server cannot decode a slot that is older than its '
      'publication; create the publication first: CREATE PUBLICATION %I FOR TABLE ONLY public.outbox '
      'WITH (publish = ''insert'', publish_via_partition_root = true)',
      :'publication', current_database(), :'publication')
  WHEN (SELECT count(*) FROM pg_replication_slots) >= current_setting('max_replication_slots')::int THEN
    format('all %s replication slots are in use: drop one that is no longer needed, or raise max_replication_slots and '
      'restart the server', current_setting('max_replication_slots'))
  ELSE '' END, false) AS refusal \gset
DO $walpost$ BEGIN IF current_setting('walpost.refusal') <> '' THEN
  RAISE EXCEPTION '%', current_setting('walpost.refusal'); END IF; END $walpost$;

-- Slot creation waits for transactions with an assigned xid, not for readers.
WITH busy AS (
  SELECT format('process %s, transaction %s s old, %s, application %s, user %s', l.pid,
      coalesce(extract(epoch FROM now() - a.xact_start), 0)::bigint, a.state, a.application_name, a.usename) AS who,
    now() - a.xact_start AS age
  FROM (SELECT DISTINCT pid FROM pg_locks WHERE locktype = 'transactionid' AND mode = 'ExclusiveLock' AND granted
    AND pid <> pg_backend_pid()) l LEFT JOIN pg_stat_activity a USING (pid)
  UNION ALL
  SELECT format('prepared transaction %s of %s, %s s old', gid, owner, extract(epoch FROM now() - prepared)::bigint),
    now() - prepared FROM pg_prepared_xacts)
SELECT 'slot creation waits for these transactions to end:' || chr(10)
    || string_agg('  ' || who, chr(10) ORDER BY age DESC NULLS LAST)
FROM busy HAVING count(*) > 0;

SELECT count(set_config(name, '0', false)) AS timeouts FROM pg_settings
WHERE name IN ('statement_timeout', 'lock_timeout', 'transaction_timeout') \gset

-- This must be a separate statement: within a function or a DO block it fails occasionally, when a catalog change is
-- decoded meanwhile ("snapshot reference ... is not owned by resource owner"). PostgreSQL before 17 lacks the last
-- parameter: slot_name, plugin, temporary, twophase, failover.
SELECT current_setting('server_version_num')::int >= 170000 AND :'failover' <> 'off' AS with_failover \gset
\if :with_failover
SELECT format('slot %s: created at %s, with the failover flag', slot_name, lsn)
FROM pg_create_logical_replication_slot(:'slot', 'pgoutput', false, false, true);
\else
SELECT format('slot %s: created at %s', slot_name, lsn) FROM pg_create_logical_replication_slot(:'slot', 'pgoutput');
\endif

SELECT format('publication %s publishes %s: rows written meanwhile are not sent; run `walpost check` for the cure',
    p.pubname, CASE WHEN p.pubinsert THEN 'no table yet' ELSE 'no inserts' END)
FROM pg_publication p WHERE p.pubname = :'publication'
  AND (NOT p.pubinsert OR NOT EXISTS (SELECT FROM pg_publication_tables t WHERE t.pubname = p.pubname));

SELECT coalesce(has_schema_privilege(n.oid, 'USAGE') AND has_table_privilege(c.oid, 'SELECT'), false)
  AS checkpoint_readable
FROM (SELECT) one LEFT JOIN (pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
  AND n.nspname = 'walpost' AND c.relname = 'slot_checkpoint') ON true \gset
\if :checkpoint_readable
SELECT format('relay %s used a slot of that name up to %s: run slot_accept.sql, otherwise a relay refuses to start '
  '(slot_moved)', w.owner, w.confirmed_lsn)
FROM walpost.slot_checkpoint w WHERE w.slot = :'slot' AND w.confirmed_lsn IS NOT NULL;
\endif
