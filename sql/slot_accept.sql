-- Acknowledges that walpost's slot was recreated or moved, like `walpost slot accept`: records its present position in
-- walpost.slot_checkpoint. A relay that refused to start (slot_moved) then continues from there; sending earlier events again
-- is up to you.
--
--   psql -X -d shop -v slot=walpost -f slot_accept.sql
--
-- Run it as a role that may read and write walpost.slot_checkpoint, in its database, on the primary, while no relay runs.
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

SELECT set_config('walpost.refusal', CASE
  WHEN :'slot' = '' THEN 'the variable slot is missing: add -v slot=NAME (walpost''s default is walpost)'
  WHEN pg_is_in_recovery() THEN 'the server is a standby; run this on the primary'
  WHEN c.oid IS NULL OR 15 <> (SELECT count(*) FROM pg_attribute a WHERE a.attrelid = c.oid AND NOT a.attisdropped
      AND a.attname IN ('slot', 'owner', 'system_identifier', 'timeline', 'epoch', 'taken_at_lsn', 'taken_at',
        'confirmed_lsn', 'confirmed_at', 'stopped', 'server_started', 'slot_transactions', 'topics', 'trouble',
        'trouble_at')) THEN
    'walpost.slot_checkpoint is missing or lacks columns, so there is no recorded position to accept; create it with '
    'slot_checkpoint.sql'
  WHEN NOT (has_schema_privilege(n.oid, 'USAGE') AND has_table_privilege(c.oid, 'SELECT')
      AND has_table_privilege(c.oid, 'UPDATE')) THEN
    format('role %s may not read and write walpost.slot_checkpoint: run this as its owner, or run grants.sql', current_user)
  ELSE '' END, false) AS refusal
FROM (SELECT) one LEFT JOIN (pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
  AND n.nspname = 'walpost' AND c.relname = 'slot_checkpoint') ON true \gset
DO $walpost$ BEGIN IF current_setting('walpost.refusal') <> '' THEN
  RAISE EXCEPTION '%', current_setting('walpost.refusal'); END IF; END $walpost$;

SELECT set_config('walpost.refusal', CASE
    WHEN s.slot_name IS NULL THEN format('there is no slot %s', :'slot')
    WHEN s.slot_type = 'physical' THEN
      format('slot %s is not walpost''s, but a physical slot of a standby or a backup', :'slot')
    WHEN s.plugin <> 'pgoutput' OR s.database <> current_database() THEN
      format('slot %s is not walpost''s: it uses plugin %s and belongs to database %s; the connection is to %s',
        :'slot', s.plugin, s.database, current_database())
    WHEN s.active_pid IS NOT NULL THEN
      format('slot %s is in use by process %s: there is nothing to accept', :'slot', s.active_pid)
    WHEN w.system_identifier <> (SELECT system_identifier::text FROM pg_control_system())
        OR pg_current_wal_lsn() < w.confirmed_lsn THEN
      format('slot %s was not accepted: this database is another one, or an older state, than the one whose events '
        'were relayed, and its positions repeat; set relay.epoch = %s instead', :'slot', w.epoch + 1)
    ELSE '' END, false) AS refusal,
  w.slot IS NOT NULL AS was_relayed, w.owner, coalesce(w.confirmed_lsn::text, 'nothing') AS noted_lsn,
  coalesce(to_char(w.confirmed_at AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SS') || ' UTC', 'no time') AS noted_at,
  coalesce(pg_wal_lsn_diff(s.confirmed_flush_lsn, w.confirmed_lsn), 0) AS bytes
FROM (SELECT) one LEFT JOIN pg_replication_slots s ON s.slot_name = :'slot'
LEFT JOIN walpost.slot_checkpoint w ON w.slot = :'slot' \gset
DO $walpost$ BEGIN IF current_setting('walpost.refusal') <> '' THEN
  RAISE EXCEPTION '%', current_setting('walpost.refusal'); END IF; END $walpost$;

\if :was_relayed
BEGIN READ WRITE;
SET LOCAL lock_timeout = '5s';
-- The relay itself may be the synchronous standby that a commit would wait for.
SET LOCAL synchronous_commit = 'local';
-- The number of decoded transactions is not recorded: for half a second PostgreSQL 14 still shows that of the previous
-- slot with this name.
WITH accepted AS (
  UPDATE walpost.slot_checkpoint w SET owner = 'slot_accept.sql', taken_at_lsn = s.confirmed_flush_lsn, taken_at = now(),
    confirmed_lsn = s.confirmed_flush_lsn, confirmed_at = now(), stopped = true,
    server_started = pg_postmaster_start_time(), slot_transactions = NULL, trouble = NULL, trouble_at = NULL
  FROM pg_replication_slots s WHERE s.slot_name = w.slot AND NOT s.active AND w.slot = :'slot'
  RETURNING w.confirmed_lsn)
SELECT set_config('walpost.refusal', CASE WHEN count(*) = 0 THEN
    format('slot %s was not accepted: a relay has just acquired it', :'slot') ELSE '' END, false) AS refusal,
  max(confirmed_lsn) AS accepted_at
FROM accepted \gset
DO $walpost$ BEGIN IF current_setting('walpost.refusal') <> '' THEN
  RAISE EXCEPTION '%', current_setting('walpost.refusal'); END IF; END $walpost$;
COMMIT;
SELECT format('slot %s: accepted at %s; relay %s had confirmed %s at %s, %s bytes earlier', :'slot', :'accepted_at',
  :'owner', :'noted_lsn', :'noted_at', :'bytes');
\else
SELECT format('slot %s: no relay has used it yet, so there is nothing to accept', :'slot');
\endif
