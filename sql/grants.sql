-- Creates the relay's role if it does not exist, and grants it exactly the privileges that a relay needs.
--
--   psql -X -d shop -v role=walpost -f grants.sql
--
-- Run it as a superuser, or as a role with CREATEROLE that owns the database and walpost.slot_checkpoint; in the outbox's
-- database, on the primary, after slot_checkpoint.sql or `walpost init`. It changes all or nothing, and may be repeated, except
-- for the right to replicate: a role that may not grant that does all the rest, and the script ends with an error that
-- says how it is granted there. A new role has no password: set one with \password walpost. grants_drop.sql revokes
-- everything. PostgreSQL 14 or newer.
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

SELECT set_config('walpost.refusal', CASE
    WHEN :'role' = '' THEN 'the variable role is missing: add -v role=NAME, the role that walpost connects as'
    WHEN pg_is_in_recovery() THEN 'the server is a standby; run this on the primary'
    WHEN 2 > (SELECT count(*) FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
        WHERE n.nspname = 'walpost' AND c.relname IN ('slot_checkpoint', 'skip')) THEN
      format('walpost.slot_checkpoint or walpost.skip is missing in database %s: run slot_checkpoint.sql or `walpost init` first',
        current_database())
    WHEN (SELECT rolsuper FROM pg_roles WHERE rolname = :'role') THEN
      format('role %s is a superuser and needs no grants: use an unprivileged role', :'role')
    ELSE '' END, false) AS refusal,
  EXISTS (SELECT FROM pg_roles WHERE rolname = :'role') AS role_exists,
  to_regclass('walpost.reissue') IS NOT NULL AS reissue_exists,
  3 = (SELECT count(*) FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE n.nspname = 'walpost' AND c.relname IN ('parked', 'parking', 'parked_acts')) AS parked_exists,
  to_regclass('walpost.dead_letters_retried') IS NOT NULL AS retried_exists,
  to_regprocedure('walpost.move_due(integer)') IS NOT NULL AS schedule_exists,
  to_regclass('walpost.replay') IS NOT NULL AS replay_exists,
  to_regclass('walpost.cleanup_floor') IS NOT NULL AS cleanup_exists \gset
DO $walpost$ BEGIN IF current_setting('walpost.refusal') <> '' THEN
  RAISE EXCEPTION '%', current_setting('walpost.refusal'); END IF; END $walpost$;

BEGIN READ WRITE;
\if :role_exists
-- Existing attributes stay, so that a role that may not alter roles can run this script.
SELECT format('ALTER ROLE %I LOGIN', rolname) FROM pg_roles WHERE rolname = :'role' AND NOT rolcanlogin \gexec
\else
CREATE ROLE :"role" LOGIN;
\endif
SELECT set_config('walpost.role', :'role', false) AS role, set_config('walpost.not_replicating', '', false) AS reason \gset walpost_
DO $walpost$
DECLARE
  role pg_roles;
BEGIN
  SELECT * INTO role FROM pg_roles WHERE rolname = current_setting('walpost.role');
  IF EXISTS (SELECT FROM pg_roles WHERE rolname = 'rds_replication') THEN
    IF NOT pg_has_role(role.rolname, 'rds_replication', 'MEMBER') THEN
      EXECUTE format('GRANT rds_replication TO %I', role.rolname);
    END IF;
  ELSIF NOT role.rolreplication THEN
    EXECUTE format('ALTER ROLE %I REPLICATION', role.rolname);
  END IF;
EXCEPTION WHEN insufficient_privilege THEN
  PERFORM set_config('walpost.not_replicating', SQLERRM, false);
END $walpost$;
GRANT CONNECT ON DATABASE :"DBNAME" TO :"role";
GRANT USAGE ON SCHEMA walpost TO :"role";
GRANT SELECT, INSERT, UPDATE ON walpost.slot_checkpoint TO :"role";
GRANT SELECT, INSERT ON walpost.skip TO :"role";
\if :reissue_exists
GRANT SELECT, INSERT, DELETE ON walpost.reissue TO :"role";
\endif
\if :retried_exists
GRANT SELECT, INSERT, UPDATE ON walpost.dead_letters_retried TO :"role";
\endif
\if :replay_exists
GRANT SELECT, INSERT, UPDATE ON walpost.replay TO :"role";
\endif
\if :parked_exists
GRANT SELECT, INSERT, UPDATE, DELETE ON walpost.parked, walpost.parking TO :"role";
GRANT SELECT, INSERT ON walpost.parked_acts TO :"role";
\endif
\if :cleanup_exists
GRANT SELECT, INSERT, UPDATE, DELETE ON walpost.cleanup_floor TO :"role";
GRANT SELECT ON walpost.cleanup_detached TO :"role";
GRANT EXECUTE ON FUNCTION walpost.cleanup_look_partition, walpost.cleanup_remove_partition TO :"role";
\endif
\if :schedule_exists
GRANT EXECUTE ON FUNCTION walpost.move_due(integer), walpost.scheduled_state() TO :"role";
\endif

-- Without the grant option the server raises a warning, not an error.
SELECT set_config('walpost.refusal', CASE
  WHEN has_database_privilege(oid, current_database(), 'CONNECT') AND has_schema_privilege(oid, 'walpost', 'USAGE')
    AND has_table_privilege(oid, 'walpost.slot_checkpoint', 'SELECT') AND has_table_privilege(oid, 'walpost.slot_checkpoint', 'INSERT')
    AND has_table_privilege(oid, 'walpost.slot_checkpoint', 'UPDATE')
    AND has_table_privilege(oid, 'walpost.skip', 'SELECT') AND has_table_privilege(oid, 'walpost.skip', 'INSERT')
    AND (to_regclass('walpost.reissue') IS NULL OR has_table_privilege(oid, to_regclass('walpost.reissue'), 'SELECT')
      AND has_table_privilege(oid, to_regclass('walpost.reissue'), 'INSERT')
      AND has_table_privilege(oid, to_regclass('walpost.reissue'), 'DELETE'))
    AND NOT EXISTS (SELECT FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace,
      unnest(ARRAY['SELECT', 'INSERT', 'UPDATE', 'DELETE']) privilege
      WHERE n.nspname = 'walpost' AND c.relname IN ('parked', 'parking', 'parked_acts') AND :'parked_exists'::bool
        AND (c.relname <> 'parked_acts' OR privilege IN ('SELECT', 'INSERT'))
        AND NOT has_table_privilege(r.oid, c.oid, privilege))
    AND (to_regprocedure('walpost.move_due(integer)') IS NULL
      OR has_function_privilege(oid, to_regprocedure('walpost.move_due(integer)'), 'EXECUTE'))
    AND (to_regclass('walpost.dead_letters_retried') IS NULL
      OR has_table_privilege(oid, to_regclass('walpost.dead_letters_retried'), 'SELECT')
      AND has_table_privilege(oid, to_regclass('walpost.dead_letters_retried'), 'INSERT')
      AND has_table_privilege(oid, to_regclass('walpost.dead_letters_retried'), 'UPDATE'))
    AND (to_regclass('walpost.cleanup_floor') IS NULL
      OR has_table_privilege(oid, to_regclass('walpost.cleanup_floor'), 'SELECT')
      AND has_table_privilege(oid, to_regclass('walpost.cleanup_floor'), 'INSERT')
      AND has_table_privilege(oid, to_regclass('walpost.cleanup_floor'), 'UPDATE')
      AND has_table_privilege(oid, to_regclass('walpost.cleanup_floor'), 'DELETE'))
    AND (to_regclass('walpost.replay') IS NULL OR has_table_privilege(oid, to_regclass('walpost.replay'), 'SELECT')
      AND has_table_privilege(oid, to_regclass('walpost.replay'), 'INSERT')
      AND has_table_privilege(oid, to_regclass('walpost.replay'), 'UPDATE'))
  THEN '' ELSE format('nothing was changed: role %s may not grant all privileges; run this as the owner of the '
    'database and of walpost.slot_checkpoint, or as a superuser', current_user) END, false) AS refusal
FROM pg_roles r WHERE rolname = :'role' \gset
DO $walpost$ BEGIN IF current_setting('walpost.refusal') <> '' THEN
  RAISE EXCEPTION '%', current_setting('walpost.refusal'); END IF; END $walpost$;
COMMIT;

SELECT format('role %s: %s, may log in%s, connect to database %s, and write walpost.slot_checkpoint and '
  'walpost.skip%s%s%s%s', :'role', CASE WHEN :'role_exists'::bool THEN 'already exists' ELSE 'created' END,
  CASE WHEN current_setting('walpost.not_replicating') = '' THEN ' and replicate' ELSE '' END, current_database(), CASE WHEN :'retried_exists'::bool THEN ', and walpost.reissue and walpost.dead_letters_retried'
    WHEN :'reissue_exists'::bool THEN ', and walpost.reissue'
    ELSE '; walpost.reissue does not exist: to send events again through the log, run reissue.sql and this script again'
    END,
  CASE WHEN :'parked_exists'::bool THEN ', and walpost.parked'
    ELSE '; walpost.parked does not exist: to use relay.poison = park, run parked.sql and this script again' END,
  CASE WHEN :'schedule_exists'::bool THEN ', and move scheduled events'
    ELSE '; walpost.scheduled does not exist: to use walpost.schedule(), run schedule.sql and this script again' END,
  CASE WHEN :'role_exists'::bool THEN '' ELSE '; it has no password yet: \password ' || quote_ident(:'role') END);
SELECT format('role %s has more privileges than it needs: %s', rolname, concat_ws(', ',
  CASE WHEN rolcreaterole THEN 'CREATEROLE' END, CASE WHEN rolcreatedb THEN 'CREATEDB' END,
  CASE WHEN rolbypassrls THEN 'BYPASSRLS' END,
  (SELECT string_agg('member of ' || quote_ident(g.rolname), ', ' ORDER BY g.rolname)
    FROM pg_auth_members m JOIN pg_roles g ON g.oid = m.roleid
    WHERE m.member = r.oid AND g.rolname <> 'rds_replication')))
FROM pg_roles r WHERE rolname = :'role' AND (rolcreaterole OR rolcreatedb OR rolbypassrls
  OR EXISTS (SELECT FROM pg_auth_members m JOIN pg_roles g ON g.oid = m.roleid
    WHERE m.member = r.oid AND g.rolname <> 'rds_replication'));

-- Amazon grants it by membership in a role, others by their administrator only.
SELECT set_config('walpost.refusal', CASE WHEN current_setting('walpost.not_replicating') = '' THEN '' ELSE
  format('role %s may not replicate yet (%s); all else is done. To do: %s', :'role',
    current_setting('walpost.not_replicating'), format(CASE
      WHEN 'rds_replication' = ANY (array_agg(rolname)) THEN 'as a member of rds_superuser, GRANT rds_replication TO %1$I'
      WHEN 'cloudsqlsuperuser' = ANY (array_agg(rolname)) THEN
        'as a user with the role cloudsqlsuperuser, ALTER USER %1$I WITH REPLICATION'
      WHEN 'azure_pg_admin' = ANY (array_agg(rolname)) THEN
        'as the administrator of the server, ALTER ROLE %1$I WITH REPLICATION'
      WHEN 'neon_superuser' = ANY (array_agg(rolname)) THEN
        'as a role that was created in the Neon console, ALTER ROLE %1$I WITH REPLICATION'
      ELSE 'as a superuser, or in PostgreSQL 16 and newer a role with CREATEROLE and REPLICATION, ALTER ROLE %1$I REPLICATION'
      END, :'role')) END, false) AS refusal
FROM pg_roles \gset
DO $walpost$ BEGIN IF current_setting('walpost.refusal') <> '' THEN
  RAISE EXCEPTION '%', current_setting('walpost.refusal'); END IF; END $walpost$;
