-- Creates the relay's role if it does not exist, and grants it exactly the privileges that a relay needs.
--
--   psql -X -d shop -v role=walpost -f grants.sql
--
-- Run it as a superuser, or in PostgreSQL 16 and newer as a role with CREATEROLE and REPLICATION that owns the database
-- and walpost.slot_checkpoint; in the outbox's database, on the primary, after slot_checkpoint.sql or `walpost init`. It changes all or
-- nothing, and may be repeated. A new role has no password: set one with \password walpost. grants_drop.sql revokes
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
  -- Amazon's servers grant replication by membership in a role, not by REPLICATION.
  EXISTS (SELECT FROM pg_roles WHERE rolname = 'rds_replication') AS by_membership \gset
DO $walpost$ BEGIN IF current_setting('walpost.refusal') <> '' THEN
  RAISE EXCEPTION '%', current_setting('walpost.refusal'); END IF; END $walpost$;

BEGIN READ WRITE;
\if :role_exists
-- Existing attributes stay, so that a role that may not alter roles can run this script.
SELECT format('ALTER ROLE %I LOGIN', rolname) FROM pg_roles WHERE rolname = :'role' AND NOT rolcanlogin \gexec
\else
CREATE ROLE :"role" LOGIN;
\endif
\if :by_membership
SELECT format('GRANT rds_replication TO %I', rolname) FROM pg_roles
WHERE rolname = :'role' AND NOT pg_has_role(rolname, 'rds_replication', 'MEMBER') \gexec
\else
SELECT format('ALTER ROLE %I REPLICATION', rolname) FROM pg_roles WHERE rolname = :'role' AND NOT rolreplication \gexec
\endif
GRANT CONNECT ON DATABASE :"DBNAME" TO :"role";
GRANT USAGE ON SCHEMA walpost TO :"role";
GRANT SELECT, INSERT, UPDATE ON walpost.slot_checkpoint TO :"role";
GRANT SELECT, INSERT ON walpost.skip TO :"role";

-- Without the grant option the server raises a warning, not an error.
SELECT set_config('walpost.refusal', CASE
  WHEN has_database_privilege(oid, current_database(), 'CONNECT') AND has_schema_privilege(oid, 'walpost', 'USAGE')
    AND has_table_privilege(oid, 'walpost.slot_checkpoint', 'SELECT') AND has_table_privilege(oid, 'walpost.slot_checkpoint', 'INSERT')
    AND has_table_privilege(oid, 'walpost.slot_checkpoint', 'UPDATE')
    AND has_table_privilege(oid, 'walpost.skip', 'SELECT') AND has_table_privilege(oid, 'walpost.skip', 'INSERT')
  THEN '' ELSE format('nothing was changed: role %s may not grant all privileges; run this as the owner of the '
    'database and of walpost.slot_checkpoint, or as a superuser', current_user) END, false) AS refusal
FROM pg_roles WHERE rolname = :'role' \gset
DO $walpost$ BEGIN IF current_setting('walpost.refusal') <> '' THEN
  RAISE EXCEPTION '%', current_setting('walpost.refusal'); END IF; END $walpost$;
COMMIT;

SELECT format('role %s: %s, may log in and replicate, connect to database %s, and write walpost.slot_checkpoint and '
  'walpost.skip%s', :'role', CASE WHEN :'role_exists'::bool THEN 'already exists' ELSE 'created' END,
  current_database(),
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
