CREATE SCHEMA IF NOT EXISTS walpost;
CREATE TABLE IF NOT EXISTS walpost.witness (
  slot text PRIMARY KEY,
  owner text NOT NULL,
  system_identifier text NOT NULL,
  timeline bigint NOT NULL,
  epoch int NOT NULL,
  taken_at_lsn pg_lsn NOT NULL,
  taken_at timestamptz NOT NULL DEFAULT now()
);
