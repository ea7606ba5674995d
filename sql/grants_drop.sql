-- Revokes in this database the privileges granted by grants.sql, and also REPLICATION, which applies to the whole
-- server, unless the role has privileges in another database.
--
--   psql -X -d shop -v role=walpost -f grants_drop.sql
--
--   -v drop_role=yes    drops the role too
--
-- Run it as a role that may run grants.sql, while no relay runs as that role. It changes all or nothing, except for
-- REPLICATION: if the role that runs the script may not revoke that, the script does all the rest, and ends with an error that
-- says so. The data of walpost stays: its tables are dropped by DROP SCHEMA walpost CASCADE. PostgreSQL 14 or newer.
\set ON_ERROR_STOP on
\set AUTOCOMMIT on
\set QUIET on
\set SHOW_CONTEXT never
\pset pager off
\pset format unaligned
\pset tuples_only on
\pset expanded off
SET search_path = pg_catalog, pg_temp;
\if :{?role} \else
\set role ''
\endif
\if :{?drop_role} \else
\set drop_role no
\endif

SELECT set_config('walpost.refusal', CASE
    WHEN :'role' = '' THEN 'the variable role is missing: add -v role=NAME, the role that walpost connected as'
    WHEN :'drop_role' NOT IN ('yes', 'no') THEN format('drop_role = %s: use yes or no', :'drop_role')
    WHEN pg_is_in_recovery() THEN 'the server is a standby; run this on the primary'
    WHEN r.oid IS NULL THEN format('there is no role %s', :'role')
    WHEN r.rolname IN (current_user, session_user) THEN
      format('role %s is running this script: run it as another role', :'role')
    WHEN r.rolsuper THEN format('role %s is a superuser, to which grants.sql grants nothing', :'role')
    WHEN EXISTS (SELECT FROM pg_stat_activity WHERE usesysid = r.oid) THEN
      (SELECT format('role %s is connected (process %s): stop its relay first', :'role',
        string_agg(pid::text, ', ' ORDER BY pid)) FROM pg_stat_activity WHERE usesysid = r.oid)
    ELSE '' END, false) AS refusal,
  :'drop_role' = 'yes' AS with_role,
  EXISTS (SELECT FROM pg_namespace WHERE nspname = 'walpost') AS schema_exists,
  EXISTS (SELECT FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE n.nspname = 'walpost' AND c.relname = 'slot_checkpoint') AS checkpoint_exists,
  EXISTS (SELECT FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE n.nspname = 'walpost' AND c.relname = 'skip') AS skip_exists,
  EXISTS (SELECT FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE n.nspname = 'walpost' AND c.relname = 'reissue') AS reissue_exists,
  3 = (SELECT count(*) FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE n.nspname = 'walpost' AND c.relname IN ('parked', 'parking', 'parked_acts')) AS parked_exists,
  EXISTS (SELECT FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE n.nspname = 'walpost' AND c.relname = 'dead_letters_retried') AS retried_exists,
  2 = (SELECT count(*) FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace
    WHERE n.nspname = 'walpost' AND p.proname IN ('move_due', 'scheduled_state')) AS schedule_exists,
  EXISTS (SELECT FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE n.nspname = 'walpost' AND c.relname = 'replay') AS replay_exists,
  EXISTS (SELECT FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE n.nspname = 'walpost' AND c.relname = 'cleanup_floor') AS cleanup_exists,
  coalesce((SELECT string_agg(DISTINCT quote_ident(d.datname), ', ') FROM pg_shdepend h
    JOIN pg_database d ON d.oid = CASE h.classid WHEN 'pg_database'::regclass THEN h.objid ELSE h.dbid END
    WHERE h.refclassid = 'pg_authid'::regclass AND h.refobjid = r.oid AND d.datname <> current_database()), '')
    AS elsewhere
FROM (SELECT) one LEFT JOIN pg_roles r ON r.rolname = :'role' \gset
DO $walpost$ BEGIN IF current_setting('walpost.refusal') <> '' THEN
  RAISE EXCEPTION '%', current_setting('walpost.refusal'); END IF; END $walpost$;

BEGIN READ WRITE;
\if :parked_exists
REVOKE ALL ON walpost.parked, walpost.parking, walpost.parked_acts FROM :"role";
\endif
\if :schedule_exists
REVOKE ALL ON FUNCTION walpost.move_due(integer), walpost.scheduled_state() FROM :"role";
\endif
\if :cleanup_exists
REVOKE ALL ON walpost.cleanup_floor, walpost.cleanup_detached FROM :"role";
REVOKE ALL ON FUNCTION walpost.cleanup_look_partition, walpost.cleanup_remove_partition FROM :"role";
\endif
\if :replay_exists
REVOKE ALL ON walpost.replay FROM :"role";
\endif
\if :retried_exists
REVOKE ALL ON walpost.dead_letters_retried FROM :"role";
\endif
\if :reissue_exists
REVOKE ALL ON walpost.reissue FROM :"role";
\endif
\if :skip_exists
REVOKE ALL ON walpost.skip FROM :"role";
\endif
\if :checkpoint_exists
REVOKE ALL ON walpost.slot_checkpoint FROM :"role";
\endif
\if :schema_exists
REVOKE ALL ON SCHEMA walpost FROM :"role";
\endif
REVOKE CONNECT ON DATABASE :"DBNAME" FROM :"role";
-- Amazon grants it by membership in a role. A role that is dropped loses it in any case.
SELECT set_config('walpost.keeps', '', false), set_config('walpost.revoke', coalesce((
  SELECT CASE WHEN m.member IS NULL THEN format('ALTER ROLE %I NOREPLICATION', r.rolname)
    ELSE format('REVOKE rds_replication FROM %I', r.rolname) END
  FROM pg_roles r LEFT JOIN (pg_auth_members m JOIN pg_roles g ON g.oid = m.roleid AND g.rolname = 'rds_replication')
    ON m.member = r.oid
  WHERE r.rolname = :'role' AND (r.rolreplication OR m.member IS NOT NULL)
    AND :'elsewhere' = '' AND NOT :'with_role'::bool), ''), false) AS revoke \gset walpost_
DO $walpost$ BEGIN
  IF current_setting('walpost.revoke') <> '' THEN
    EXECUTE current_setting('walpost.revoke');
  END IF;
EXCEPTION WHEN insufficient_privilege THEN
  PERFORM set_config('walpost.keeps', SQLERRM, false);
END $walpost$;

-- Without the privilege to revoke, the server raises at most a warning, not an error.
SELECT set_config('walpost.refusal', CASE WHEN count(*) = 0 THEN ''
  ELSE format('nothing was changed: role %s may not revoke all privileges, which %s granted; run this as that role or '
    'as a superuser', current_user, string_agg(DISTINCT quote_ident(pg_get_userbyid(grantor)), ', ')) END, false)
  AS refusal
FROM (SELECT a.* FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace, aclexplode(c.relacl) a
    WHERE n.nspname = 'walpost' AND c.relname IN ('slot_checkpoint', 'skip', 'reissue', 'dead_letters_retried', 'replay',
      'parked', 'parking', 'parked_acts', 'cleanup_floor',
      'cleanup_detached')
  UNION ALL SELECT a.* FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace, aclexplode(p.proacl) a
    WHERE n.nspname = 'walpost' AND p.proname IN ('move_due', 'scheduled_state', 'cleanup_look_partition',
      'cleanup_remove_partition')
  UNION ALL SELECT a.* FROM pg_namespace n, aclexplode(n.nspacl) a WHERE n.nspname = 'walpost'
  UNION ALL SELECT a.* FROM pg_database d, aclexplode(d.datacl) a
    WHERE d.datname = current_database() AND a.privilege_type = 'CONNECT') granted
WHERE grantee = (SELECT oid FROM pg_roles WHERE rolname = :'role') \gset
DO $walpost$ BEGIN IF current_setting('walpost.refusal') <> '' THEN
  RAISE EXCEPTION '%', current_setting('walpost.refusal'); END IF; END $walpost$;
\if :with_role
DROP ROLE :"role";
\endif
COMMIT;

SELECT format('role %s: %s', :'role', CASE
  WHEN :'with_role'::bool THEN 'dropped, with all its grants'
  WHEN :'elsewhere' <> '' THEN format('has no more privileges on walpost''s objects in database %s; it keeps '
    'REPLICATION because it has privileges in %s (revoke it with ALTER ROLE %I NOREPLICATION)',
    current_database(), :'elsewhere', :'role')
  ELSE format('has no more privileges on walpost''s objects in database %s%s',
    current_database(), CASE WHEN current_setting('walpost.keeps') = '' THEN ', and no REPLICATION' ELSE '' END) END);
SELECT set_config('walpost.refusal', CASE WHEN current_setting('walpost.keeps') = '' THEN '' ELSE
  format('role %s still may replicate (%s); all else is done. To do, as an administrator who may: %s', :'role',
    current_setting('walpost.keeps'), current_setting('walpost.revoke')) END, false) AS refusal \gset
DO $walpost$ BEGIN IF current_setting('walpost.refusal') <> '' THEN
  RAISE EXCEPTION '%', current_setting('walpost.refusal'); END IF; END $walpost$;
