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
