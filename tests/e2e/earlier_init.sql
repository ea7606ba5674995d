-- What `walpost init --print-sql --role the_role` printed before there were walpost.reissue and walpost.parked (commit
-- d4d448d), for slot the_slot and publication the_publication. tests/debezium/test_earlier_walpost.py compares.
-- In the database of the outbox, by its owner or a superuser, with REPLICATION:
--   psql -v ON_ERROR_STOP=1 -f THIS_FILE
SET client_encoding = 'UTF8';

BEGIN;
DO $walpost$ DECLARE found text;
BEGIN
SELECT min(quote_ident(schemaname) || '.' || quote_ident(tablename)) INTO found FROM pg_tables WHERE lower(schemaname) = lower('public') AND lower(tablename) = lower('outbox');
IF found IS NOT NULL AND NOT EXISTS (SELECT FROM pg_tables WHERE schemaname = 'public' AND tablename = 'outbox') THEN
  RAISE EXCEPTION USING MESSAGE = 'there is ' || found || ', whose name differs only in case: correct outbox.table';
END IF;
END $walpost$;
CREATE TABLE IF NOT EXISTS "public"."outbox" (
  "id" uuid PRIMARY KEY,
  "aggregatetype" varchar(255) NOT NULL,
  "aggregateid" varchar(255) NOT NULL,
  "type" varchar(255) NOT NULL,
  "payload" jsonb
);

-- A relay records here that it has taken over the slot.
CREATE SCHEMA IF NOT EXISTS walpost;
CREATE TABLE IF NOT EXISTS walpost.slot_checkpoint (
  slot text PRIMARY KEY,
  owner text NOT NULL,
  system_identifier text NOT NULL,
  timeline bigint NOT NULL,
  epoch int NOT NULL,
  taken_at_lsn pg_lsn NOT NULL,
  taken_at timestamptz NOT NULL DEFAULT now(),
  confirmed_lsn pg_lsn,
  confirmed_at timestamptz,
  stopped boolean NOT NULL DEFAULT false,
  server_started timestamptz,
  slot_transactions bigint,
  topics text,
  trouble text,
  trouble_at timestamptz
);
CREATE TABLE IF NOT EXISTS walpost.skip (
  slot text NOT NULL,
  from_lsn pg_lsn NOT NULL,
  to_lsn pg_lsn NOT NULL,
  events bigint,
  skipped_at timestamptz NOT NULL DEFAULT now(),
  skipped_by text NOT NULL DEFAULT session_user
);

DO $walpost$ BEGIN
IF NOT EXISTS (SELECT FROM pg_publication WHERE pubname = 'the_publication') THEN
IF EXISTS (SELECT FROM pg_replication_slots WHERE slot_name = 'the_slot') THEN
  RAISE EXCEPTION 'the slot exists but the publication does not: the server cannot decode a slot that is older than its publication; drop the slot first';
END IF;
CREATE PUBLICATION "the_publication" FOR TABLE ONLY "public"."outbox"
  WITH (publish = 'insert', publish_via_partition_root = true);
END IF;
END $walpost$;
GRANT USAGE ON SCHEMA walpost TO "the_role";
GRANT SELECT, INSERT, UPDATE ON walpost.slot_checkpoint TO "the_role";
GRANT SELECT, INSERT ON walpost.skip TO "the_role";
ALTER ROLE "the_role" REPLICATION;
COMMIT;

-- After the publication, and outside its transaction. Waits until all transactions
-- that run now have ended; pg_stat_activity and pg_prepared_xacts show them.
SELECT NOT EXISTS (SELECT FROM pg_replication_slots WHERE slot_name = 'the_slot') AS walpost_slot_new \gset
SELECT current_setting('server_version_num')::int >= 170000 AS walpost_slot_failover \gset
\if :walpost_slot_failover
SELECT pg_create_logical_replication_slot('the_slot', 'pgoutput', false, false, true)
 WHERE NOT EXISTS (SELECT FROM pg_replication_slots WHERE slot_name = 'the_slot');
\else
SELECT pg_create_logical_replication_slot('the_slot', 'pgoutput')
 WHERE NOT EXISTS (SELECT FROM pg_replication_slots WHERE slot_name = 'the_slot');
\endif
\if :walpost_slot_new
SELECT set_config('synchronous_commit', 'local', true), set_config('lock_timeout', '5000', true);
UPDATE walpost.slot_checkpoint w SET owner = 'walpost init', taken_at_lsn = s.confirmed_flush_lsn, taken_at = now(),
  confirmed_lsn = s.confirmed_flush_lsn, confirmed_at = now(), stopped = true,
  server_started = pg_postmaster_start_time(), slot_transactions = NULL
FROM pg_replication_slots s, walpost.slot_checkpoint o
WHERE w.slot = 'the_slot' AND o.slot = w.slot AND s.slot_name = w.slot AND NOT s.active
  AND w.system_identifier = (SELECT system_identifier::text FROM pg_control_system())
  AND NOT coalesce(pg_current_wal_lsn() < w.confirmed_lsn, false)
RETURNING w.confirmed_lsn, o.owner, o.confirmed_lsn,
  to_char(o.confirmed_at AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SS') || ' UTC';
\endif
