-- Sets or clears the failover flag of walpost's slot: PostgreSQL 17 and newer copy a slot with this flag to standbys,
-- so that a relay can continue there after a promotion.
--
--   psql -X -d shop -v slot=walpost -v failover=on -f slot_failover.sql
--
-- Run it as a role with REPLICATION, on the primary, while the relay is stopped. Only the replication command
-- ALTER_REPLICATION_SLOT can change the flag of an existing slot: the script makes a second connection with
-- replication=database. sql/README.md lists the settings that standbys need.
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
\if :{?failover} \else
\set failover ''
\endif

SELECT set_config('walpost.refusal', CASE
    WHEN :'slot' = '' THEN 'the variable slot is missing: add -v slot=NAME (walpost''s default is walpost)'
    WHEN :'failover' = '' THEN 'the variable failover is missing: add -v failover=on or -v failover=off'
    WHEN :'failover' NOT IN ('on', 'off') THEN format('failover = %s: use on or off', :'failover')
    WHEN current_setting('server_version_num')::int < 170000 THEN
      format('PostgreSQL %s has no failover flag: 17 is the first version that copies slots to standbys. Recreate the '
        'slot immediately after a promotion (slot_create.sql)', current_setting('server_version'))
    WHEN s.slot_name IS NULL THEN format('there is no slot %s', :'slot')
    WHEN s.slot_type = 'physical' THEN
      format('slot %s is not walpost''s, but a physical slot of a standby or a backup', :'slot')
    WHEN s.plugin <> 'pgoutput' OR s.database <> current_database() THEN
      format('slot %s is not walpost''s: it uses plugin %s and belongs to database %s; the connection is to %s',
        :'slot', s.plugin, s.database, current_database())
    WHEN pg_is_in_recovery() THEN 'the server is a standby; run this on the primary'
    WHEN s.temporary THEN format('slot %s is temporary and ends with its session', :'slot')
    WHEN s.wal_status = 'lost' THEN
      format('slot %s is lost: the server has removed WAL that it needs; run slot_status.sql for the cure',
        :'slot')
    WHEN s.active_pid IS NOT NULL AND (to_jsonb(s)->>'failover')::bool <> (:'failover' = 'on') THEN
      format('slot %s is in use by process %s: stop its relay first', :'slot', s.active_pid)
    ELSE '' END, false) AS refusal,
  coalesce((to_jsonb(s)->>'failover')::bool = (:'failover' = 'on'), false) AS is_so
FROM (SELECT) one LEFT JOIN pg_replication_slots s ON s.slot_name = :'slot' \gset
DO $walpost$ BEGIN IF current_setting('walpost.refusal') <> '' THEN
  RAISE EXCEPTION '%', current_setting('walpost.refusal'); END IF; END $walpost$;

\if :is_so
SELECT format('slot %s: failover was %s already', :'slot', :'failover');
\else
\connect -reuse-previous=on "replication=database"
SELECT :'failover' = 'on' AS wanted \gset
\if :wanted
ALTER_REPLICATION_SLOT :"slot" (FAILOVER true);
\else
ALTER_REPLICATION_SLOT :"slot" (FAILOVER false);
\endif
SELECT format('slot %s: failover is %s now', slot_name,
  CASE to_jsonb(s)->>'failover' WHEN 'true' THEN 'on' ELSE 'off' END)
FROM pg_catalog.pg_replication_slots s WHERE slot_name = :'slot';
\endif
