-- Sets or takes the failover flag of walpost's slot: PostgreSQL 17 and newer keep a copy of a slot
-- that has it on standbys, so that a relay can go on there after a promotion.
--
--   psql -X -d shop -v slot=walpost -v failover=on -f slot_failover.sql
--
-- By a role with REPLICATION, on the primary, while the relay is stopped. The flag of a slot that is
-- there can be changed by ALTER_REPLICATION_SLOT only, which is no SQL: the script connects once
-- more, with replication=database and all else as it is. sql/README.md says what the standbys need.
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
    WHEN :'failover' NOT IN ('on', 'off') THEN format('failover = %s: it is on or off', :'failover')
    WHEN current_setting('server_version_num')::int < 170000 THEN
      format('PostgreSQL %s has no failover flag: 17 is the first that copies slots to standbys. After a promotion '
        'make the slot anew at once (slot_create.sql)', current_setting('server_version'))
    WHEN s.slot_name IS NULL THEN format('there is no slot %s', :'slot')
    WHEN s.slot_type = 'physical' THEN
      format('slot %s is not walpost''s: it is a physical one, of a standby or a backup', :'slot')
    WHEN s.plugin <> 'pgoutput' OR s.database <> current_database() THEN
      format('slot %s is not walpost''s: it is of plugin %s and database %s, the connection is to %s',
        :'slot', s.plugin, s.database, current_database())
    WHEN pg_is_in_recovery() THEN 'the server is a standby; change the flag on the primary'
    WHEN s.temporary THEN format('slot %s is temporary, and vanishes with its session', :'slot')
    WHEN s.wal_status = 'lost' THEN
      format('slot %s is lost: the server has removed the log it needs; slot_status.sql says how to begin anew',
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
