-- walpost.reissue: sends an event once more, through the log, beside a running relay.
--
--   psql -X -v ON_ERROR_STOP=1 -d shop -f reissue.sql
--
-- `walpost init` creates the same. Run it as a role with CREATE on the database, which then owns the table; grants.sql
-- grants the relay's role what it needs. It may be repeated. PostgreSQL 14 or newer.
BEGIN;

SET LOCAL client_min_messages = warning; -- of what does not exist
CREATE SCHEMA IF NOT EXISTS walpost;

-- A row inserted here, but for the marks of `walpost drain`, becomes the event that it describes. The transaction that inserts it deletes it, so that nothing
-- is stored; the primary key is for publications that publish deletes.
CREATE TABLE IF NOT EXISTS walpost.reissue (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  slot text NOT NULL,
  outbox text NOT NULL,                 -- the table, or the prefix of a message; and to another topic: table -> topic
  "row" jsonb,
  content bytea,
  reason text NOT NULL,
  "position" text,
  kind text NOT NULL DEFAULT 'row' CHECK (kind IN ('row', 'mark'))
);

-- Sends a row of an outbox once more: SELECT walpost.reissue('walpost', 'outbox', o, 'why') FROM outbox o WHERE ...
-- The outbox is the table that outbox.table names, of a partitioned one the root. Values are written as the relay's
-- session writes them, whatever the caller's settings. With `topic` the event goes there, and not to the topic of its
-- route; a relay that is too old for that passes it over, with an error in its log.
DROP FUNCTION IF EXISTS walpost.reissue(text, regclass, anyelement, text, text); -- as it was before there was `topic`
CREATE OR REPLACE FUNCTION walpost.reissue(
  slot text,
  outbox regclass,
  "row" anyelement,
  reason text,
  "position" text DEFAULT NULL,
  topic text DEFAULT NULL)
RETURNS void
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
SET DateStyle = 'ISO'
SET IntervalStyle = 'postgres'
SET TimeZone = 'UTC'
SET bytea_output = 'hex'
SET extra_float_digits = 3
SET lc_monetary = 'C'
AS $walpost$
DECLARE
  question text;
  described jsonb;
  written bigint;
BEGIN
  IF reissue.slot IS NULL OR reissue.outbox IS NULL OR reissue.reason IS NULL
     OR reissue."row" IS NOT DISTINCT FROM NULL THEN
    RAISE EXCEPTION 'walpost.reissue(): slot, outbox, row and reason must not be NULL'
      USING ERRCODE = 'null_value_not_allowed';
  END IF;
  IF reissue.topic !~ '^[a-zA-Z0-9._-]{1,249}$' OR reissue.topic IN ('.', '..') THEN
    RAISE EXCEPTION 'walpost.reissue(): "%" is not a topic name: 1 to 249 of a-z, A-Z, 0-9, ".", "_" and "-" are allowed',
      reissue.topic USING ERRCODE = 'invalid_parameter_value';
  END IF;
  -- format('%s') writes a value as the server sends it, which a cast to text does not (boolean, character).
  SELECT CASE WHEN count(*) > 0 THEN format('SELECT jsonb_agg(jsonb_build_object(''name'', c.name, ''type'', c.type, ''modifier'', c.modifier, '
      '''value'', c.value) ORDER BY c.at) FROM (SELECT ($1).*) r, LATERAL (VALUES %s) c (at, name, type, modifier, value)',
      string_agg(format('(%s, %L, %s::bigint, %s, CASE WHEN r.%I IS DISTINCT FROM NULL THEN format(''%%s'', r.%I) END)',
        a.attnum, a.attname, a.atttypid::bigint, a.atttypmod, a.attname, a.attname), ', ' ORDER BY a.attnum)) END
    INTO question
    FROM pg_type t JOIN pg_attribute a ON a.attrelid = t.typrelid AND a.attnum > 0 AND NOT a.attisdropped
    WHERE t.oid = pg_typeof(reissue."row") AND t.typtype = 'c' AND a.attgenerated <> 'v';
  IF question IS NULL THEN
    RAISE EXCEPTION 'walpost.reissue(): % is not a row of a table', pg_typeof(reissue."row")
      USING ERRCODE = 'datatype_mismatch';
  END IF;
  EXECUTE question INTO described USING reissue."row";
  -- Two statements: within one, the DELETE does not see the row that the INSERT creates.
  INSERT INTO walpost.reissue AS i (slot, outbox, "row", reason, "position")
    SELECT reissue.slot, quote_ident(n.nspname) || '.' || quote_ident(c.relname) || coalesce(' -> ' || reissue.topic, ''),
      described, reissue.reason,
      reissue."position"
    FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.oid = reissue.outbox
    RETURNING i.id INTO written;
  DELETE FROM walpost.reissue d WHERE d.id = written;
END
$walpost$;

-- The same for an event without a table: the content of a logical message, and the prefix that outbox.message.prefix
-- names.
CREATE OR REPLACE FUNCTION walpost.reissue_message(
  slot text,
  prefix text,
  content bytea,
  reason text,
  "position" text DEFAULT NULL)
RETURNS void
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $walpost$
DECLARE
  written bigint;
BEGIN
  IF reissue_message.content IS NULL THEN
    RAISE EXCEPTION 'walpost.reissue_message(): content must not be NULL' USING ERRCODE = 'null_value_not_allowed';
  END IF;
  INSERT INTO walpost.reissue AS i (slot, outbox, content, reason, "position")
    VALUES (reissue_message.slot, reissue_message.prefix, reissue_message.content, reissue_message.reason,
      reissue_message."position")
    RETURNING i.id INTO written;
  DELETE FROM walpost.reissue d WHERE d.id = written;
END
$walpost$;

-- Which dead letters `walpost dead-letters retry` has sent again: it passes these over. A row is written by the
-- transaction that sends the event; who deletes it lets the letter be sent once more.
CREATE TABLE IF NOT EXISTS walpost.dead_letters_retried (
  slot text NOT NULL,
  topic text NOT NULL,                  -- of the dead letters
  "position" text COLLATE "C" NOT NULL, -- of the event, when it was refused
  partition integer NOT NULL,           -- where its letter is in the topic
  "offset" bigint NOT NULL,
  outbox text NOT NULL,                 -- its table, or the prefix of its message
  id text,
  times integer NOT NULL DEFAULT 1,     -- more than once by --again
  at timestamptz NOT NULL DEFAULT clock_timestamp(),
  by_role text NOT NULL DEFAULT session_user,
  by_client text NOT NULL DEFAULT coalesce(host(inet_client_addr()), 'local'),
  PRIMARY KEY (slot, topic, "position")
);

-- The jobs of `walpost replay`. The transaction that sends a page of rows also updates the job.
CREATE TABLE IF NOT EXISTS walpost.replay (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  slot text NOT NULL,
  outbox text NOT NULL,                 -- the table
  chosen jsonb NOT NULL,                -- the command's options
  state text NOT NULL DEFAULT 'running' CHECK (state IN ('running', 'done', 'cancelled')),
  total bigint NOT NULL,                -- rows, when it began
  sent bigint NOT NULL DEFAULT 0,
  last_key text[],                      -- of the row sent last; so is this, of the last that is to be sent:
  until_key text[],
  created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  updated_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  by_role text NOT NULL DEFAULT session_user,
  by_client text NOT NULL DEFAULT coalesce(host(inet_client_addr()), 'local')
);

-- A publication of its own: a reader of the outbox's publication never receives these rows.
DO $walpost$ BEGIN
  IF NOT EXISTS (SELECT FROM pg_catalog.pg_publication WHERE pubname = 'walpost_reissue') THEN
    CREATE PUBLICATION walpost_reissue FOR TABLE walpost.reissue WITH (publish = 'insert');
  END IF;
END $walpost$;

COMMIT;

-- Both functions run with their caller's rights. A role that may insert here can make the relay send anything to any
-- topic of its outboxes: grant with care.
--
--   GRANT USAGE ON SCHEMA walpost TO operator;
--   GRANT SELECT, INSERT, DELETE ON walpost.reissue TO operator;
--   GRANT SELECT, INSERT, UPDATE ON walpost.dead_letters_retried TO operator; -- for walpost dead-letters retry
--   GRANT SELECT, INSERT, UPDATE ON walpost.replay TO operator; -- for walpost replay, with SELECT on the outbox
