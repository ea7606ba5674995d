-- The role that walpost runs as, with what it needs and nothing more; made if it is not there.
--
--   psql -X -d shop -v role=walpost -f grants.sql
--
-- By a superuser, or from PostgreSQL 16 on by a role with CREATEROLE and REPLICATION that owns the
-- database and the slot checkpoint; in the database of the outbox, on the primary, after slot_checkpoint.sql or
-- `walpost init`. All or nothing, and a second time does no harm. A role that it makes has no
-- password yet: \password walpost. grants_drop.sql takes all of it back. PostgreSQL 14 or newer.
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
    WHEN pg_is_in_recovery() THEN 'the server is a standby; grant on the primary'
    WHEN 2 > (SELECT count(*) FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
        WHERE n.nspname = 'walpost' AND c.relname IN ('slot_checkpoint', 'skip')) THEN
      format('walpost.slot_checkpoint or walpost.skip is missing in database %s: run slot_checkpoint.sql or `walpost init` first',
        current_database())
    WHEN (SELECT rolsuper FROM pg_roles WHERE rolname = :'role') THEN
      format('role %s is a superuser, who needs no grants and may far too much: name another', :'role')
    ELSE '' END, false) AS refusal,
  EXISTS (SELECT FROM pg_roles WHERE rolname = :'role') AS role_exists,
  -- Amazon's servers give REPLICATION to nobody, but a role to be a member of.
  EXISTS (SELECT FROM pg_roles WHERE rolname = 'rds_replication') AS by_membership \gset
DO $walpost$ BEGIN IF current_setting('walpost.refusal') <> '' THEN
  RAISE EXCEPTION '%', current_setting('walpost.refusal'); END IF; END $walpost$;

BEGIN READ WRITE;
\if :role_exists
-- What it has is left alone, so that one who may not alter roles can still grant.
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

-- One who may not grant gets a warning from the server, no error.
SELECT set_config('walpost.refusal', CASE
  WHEN has_database_privilege(oid, current_database(), 'CONNECT') AND has_schema_privilege(oid, 'walpost', 'USAGE')
    AND has_table_privilege(oid, 'walpost.slot_checkpoint', 'SELECT') AND has_table_privilege(oid, 'walpost.slot_checkpoint', 'INSERT')
    AND has_table_privilege(oid, 'walpost.slot_checkpoint', 'UPDATE')
    AND has_table_privilege(oid, 'walpost.skip', 'SELECT') AND has_table_privilege(oid, 'walpost.skip', 'INSERT')
  THEN '' ELSE format('nothing was changed: role %s may not grant all of it; run this as the owner of the database '
    'and of walpost.slot_checkpoint, or as a superuser', current_user) END, false) AS refusal
FROM pg_roles WHERE rolname = :'role' \gset
DO $walpost$ BEGIN IF current_setting('walpost.refusal') <> '' THEN
  RAISE EXCEPTION '%', current_setting('walpost.refusal'); END IF; END $walpost$;
COMMIT;

SELECT format('role %s: %s, may log in and replicate, connect to database %s, and write walpost.slot_checkpoint and '
  'walpost.skip%s', :'role', CASE WHEN :'role_exists'::bool THEN 'was there' ELSE 'created' END, current_database(),
  CASE WHEN :'role_exists'::bool THEN '' ELSE '; it has no password yet: \password ' || quote_ident(:'role') END);
SELECT format('role %s has more than it needs: %s', rolname, concat_ws(', ',
  CASE WHEN rolcreaterole THEN 'CREATEROLE' END, CASE WHEN rolcreatedb THEN 'CREATEDB' END,
  CASE WHEN rolbypassrls THEN 'BYPASSRLS' END,
  (SELECT string_agg('member of ' || quote_ident(g.rolname), ', ' ORDER BY g.rolname)
    FROM pg_auth_members m JOIN pg_roles g ON g.oid = m.roleid
    WHERE m.member = r.oid AND g.rolname <> 'rds_replication')))
FROM pg_roles r WHERE rolname = :'role' AND (rolcreaterole OR rolcreatedb OR rolbypassrls
  OR EXISTS (SELECT FROM pg_auth_members m JOIN pg_roles g ON g.oid = m.roleid
    WHERE m.member = r.oid AND g.rolname <> 'rds_replication'));
