-- walpost.emit(): sends an event without a table, as a transactional logical message.
--
--   psql -v ON_ERROR_STOP=1 -f outbox_emit.sql
--
-- and in walpost.conf:
--
--   [outbox]
--   message.prefix = outbox
--
-- The event is sent if and when its transaction commits. No table stores it, so there is nothing to clean up and
-- nothing to resend from. PostgreSQL 14 or newer.
BEGIN;

CREATE SCHEMA IF NOT EXISTS walpost;

-- Returns the event's id. The members of the object `headers` become headers of the record. SECURITY DEFINER, so that
-- callers need no privilege on pg_logical_emit_message() itself.
CREATE OR REPLACE FUNCTION walpost.emit(
  aggregatetype text,
  aggregateid text,
  type text,
  payload jsonb,
  headers jsonb DEFAULT NULL,
  id uuid DEFAULT pg_catalog.gen_random_uuid(),
  prefix text DEFAULT 'outbox')
RETURNS uuid
LANGUAGE plpgsql
SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $walpost$
DECLARE
  content text := jsonb_build_object('id', emit.id, 'aggregatetype', emit.aggregatetype, 'aggregateid', emit.aggregateid,
    'type', emit.type, 'payload', emit.payload, 'headers', emit.headers);
BEGIN
  IF emit.id IS NULL OR emit.aggregatetype IS NULL OR emit.aggregateid IS NULL
     OR emit.prefix IS NULL THEN
    RAISE EXCEPTION 'walpost.emit(): id, aggregatetype, aggregateid and prefix must not be NULL'
      USING ERRCODE = 'null_value_not_allowed';
  END IF;
  IF emit.aggregatetype = '' OR emit.aggregateid = '' THEN
    RAISE EXCEPTION 'walpost.emit(): aggregatetype and aggregateid must not be empty'
      USING ERRCODE = 'invalid_parameter_value';
  END IF;
  IF pg_catalog.jsonb_typeof(emit.headers) <> 'object' THEN
    RAISE EXCEPTION 'walpost.emit(): headers must be a JSON object, not %',
      pg_catalog.jsonb_typeof(emit.headers) USING ERRCODE = 'invalid_parameter_value';
  END IF;
  IF pg_catalog.jsonb_exists(emit.headers, '') THEN
    RAISE EXCEPTION 'walpost.emit(): the name of a header is empty'
      USING ERRCODE = 'invalid_parameter_value';
  END IF;
  -- convert() of a byte above 127 gives two.
  IF getdatabaseencoding() = 'SQL_ASCII'
     AND convert(convert_to(content, 'SQL_ASCII'), 'LATIN1', 'UTF8') <> convert_to(content, 'SQL_ASCII') THEN
    RAISE EXCEPTION 'walpost.emit(): the event has a character above ASCII, and in a database of encoding SQL_ASCII none is known'
      USING ERRCODE = 'untranslatable_character',
        HINT = 'Insert a row into an outbox table, whose bytes are sent as they are, or use outbox.message.format = protobuf.';
  END IF;
  -- The WAL keeps the bytes of a message as they are given. Where a text may be in another encoding, the byte order mark
  -- tells the relay that these are UTF-8.
  PERFORM pg_logical_emit_message(true, emit.prefix,
    CASE WHEN getdatabaseencoding() = 'UTF8' THEN '' ELSE decode('efbbbf', 'hex') END || convert_to(content, 'UTF8'));
  RETURN emit.id;
END
$walpost$;

COMMENT ON FUNCTION walpost.emit(text, text, text, jsonb, jsonb, uuid, text) IS
  'Sends an event through walpost when the transaction commits. An event that cannot be delivered stops the relay, '
  'unless relay.poison = dead-letter: grant EXECUTE with care.';

-- Only roles with a grant may call it. A caller can stop the relay with an event that this function cannot check: an
-- aggregatetype that yields no valid topic ('two words'), a missing topic, or an event larger than Kafka accepts. With
-- relay.poison = dead-letter undeliverable events go to the dead-letter topic, and delivery continues.
--
--   GRANT USAGE ON SCHEMA walpost TO app;
--   GRANT EXECUTE ON FUNCTION walpost.emit(text, text, text, jsonb, jsonb, uuid, text) TO app;
REVOKE ALL ON FUNCTION walpost.emit(text, text, text, jsonb, jsonb, uuid, text) FROM PUBLIC;

COMMIT;

-- Every role may call pg_logical_emit_message() and so send events without this function. To prevent that, revoke the
-- privilege from PUBLIC (in each database; the owner of walpost.emit() must be a superuser or keep the privilege):
--
--   DO $$ DECLARE f regprocedure; BEGIN
--     FOR f IN SELECT oid FROM pg_proc WHERE proname = 'pg_logical_emit_message' LOOP
--       EXECUTE format('REVOKE EXECUTE ON FUNCTION %s FROM PUBLIC', f);
--     END LOOP;
--   END $$;
