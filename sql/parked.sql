-- walpost.parked: events that cannot be delivered, and all later ones of their aggregates, with relay.poison = park.
--
--   psql -X -v ON_ERROR_STOP=1 -d shop -f parked.sql
--
-- `walpost init` creates the same. Run it as a role with CREATE on the database, which then owns the tables; grants.sql
-- grants the relay's role what it needs. It may be repeated. PostgreSQL 14 or newer.
BEGIN;

CREATE SCHEMA IF NOT EXISTS walpost;

-- One row for each slot. A relay that gets the slot raises the generation first; every statement of a relay that
-- changes walpost.parked locks this row and checks the generation, so that one of a relay that has lost the slot changes
-- nothing, however late it arrives.
CREATE TABLE IF NOT EXISTS walpost.parking (
  slot text PRIMARY KEY,
  generation bigint NOT NULL,
  owner text NOT NULL,
  raised_at timestamptz NOT NULL DEFAULT now()
);

-- An aggregate is a slot, an outbox and a key; its events are delivered in the order of their positions. An event
-- without a key is an aggregate of its own.
CREATE TABLE IF NOT EXISTS walpost.parked (
  slot text NOT NULL,
  "position" text COLLATE "C" NOT NULL, -- of the event in the log, as its header walpost-position
  outbox text NOT NULL,                 -- its table, or the prefix of its message; replayed to another topic: table -> topic
  key text,                             -- as Postgres prints the column
  id text,                              -- so are these; NULL: not known
  type text,
  topic text,
  relation text,                        -- the table in which it was; a partition, perhaps
  "row" json,                           -- its columns, as in walpost.reissue; NULL: a logical message
  content bytea,                        -- of that
  reissued text,                        -- its header walpost-reissued
  settings text NOT NULL,               -- what the configuration said of its outbox when it was parked
  committed_at timestamptz NOT NULL,    -- the application's transaction
  parked_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  code text NOT NULL,                   -- why it cannot be delivered, in a word; FOLLOWS: one before it cannot
  reason text NOT NULL,                 -- in a sentence, as of the last attempt
  first_reason text NOT NULL,
  attempts integer NOT NULL DEFAULT 0,  -- that failed, since it was parked or a retry was asked for
  last_attempt_at timestamptz,
  next_attempt_at timestamptz,          -- of the first event of an aggregate; infinity: only when it is asked for
  alone boolean NOT NULL DEFAULT false, -- Kafka refused it: it is sent while nothing else is
  act text CHECK (act IN ('retry', 'skip')), -- asked for by `walpost parked`, and not done yet
  PRIMARY KEY ("position", slot)
);
-- No index for all rows begins with the slot: with outdated statistics the planner takes a slot to have one row, and
-- would read all of them for each row that is wanted.
CREATE INDEX IF NOT EXISTS parked_aggregate ON walpost.parked (hashtextextended(key, 0), outbox, slot, "position");
CREATE INDEX IF NOT EXISTS parked_act ON walpost.parked (slot, "position") WHERE act IS NOT NULL;

-- The acts of `walpost parked`: one row for each event, or for each aggregate that was retried.
CREATE TABLE IF NOT EXISTS walpost.parked_acts (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  at timestamptz NOT NULL DEFAULT clock_timestamp(),
  by_role text NOT NULL DEFAULT session_user,
  by_client text NOT NULL DEFAULT coalesce(host(inet_client_addr()), 'local'),
  slot text NOT NULL,
  act text NOT NULL CHECK (act IN ('retry', 'skip', 'purge')),
  outbox text NOT NULL,
  key text,
  id_of_event text,
  "position" text NOT NULL,
  events bigint NOT NULL,  -- of the aggregate, at that time
  code text NOT NULL,
  reason text NOT NULL
);

COMMIT;
