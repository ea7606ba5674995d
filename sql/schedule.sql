-- walpost.schedule(): sends an event at a given time, "tomorrow at nine".
--
--   psql -X -v ON_ERROR_STOP=1 -d shop -f schedule.sql
--
-- `walpost init` creates the same. Run it as a role with CREATE on the database, which then owns all of it; grants.sql
-- grants the relay's role what it needs. It may be repeated. PostgreSQL 14 or newer. For applications:
--
--   GRANT USAGE ON SCHEMA walpost TO app;
--   GRANT SELECT, INSERT, DELETE ON walpost.scheduled TO app;
--
-- An application's right to schedule an event is its own right to INSERT it. schedule() is SECURITY INVOKER, so that the
-- row is checked with that right; but who may insert into walpost.scheduled may do so by hand, for any outbox. So each
-- row tells its author, which row-level security keeps to the truth, and the right is checked again when the row is
-- moved. The mover runs as its owner, and so do the triggers and defaults of the outbox: it inserts only where the
-- outbox's owner could act as the mover's owner anyway, or a trigger would give its owner the rights of the other.
BEGIN;

SET LOCAL client_min_messages = warning; -- of what exists, or does not yet
CREATE SCHEMA IF NOT EXISTS walpost;

CREATE TABLE IF NOT EXISTS walpost.scheduled (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  deliver_at timestamptz NOT NULL,
  outbox text NOT NULL,                      -- the table, with its schema; or the prefix of a message
  message boolean NOT NULL DEFAULT false,    -- it is one
  "row" jsonb NOT NULL,                      -- columns of the outbox; all others get their defaults when it is moved
  author name NOT NULL DEFAULT current_user, -- the role that scheduled it
  scheduled_at timestamptz NOT NULL DEFAULT now(),
  attempts integer NOT NULL DEFAULT 0,       -- to move it, that failed
  error text,                                -- of the last
  retry_at timestamptz CHECK (attempts = 0 OR retry_at IS NOT NULL)
) WITH (autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 1000);
-- Rows far in the future are never looked at; those that failed are not in the way of the others.
CREATE INDEX IF NOT EXISTS scheduled_due ON walpost.scheduled (deliver_at, id) WHERE attempts = 0;
CREATE INDEX IF NOT EXISTS scheduled_retry ON walpost.scheduled (retry_at, id) WHERE attempts > 0;

ALTER TABLE walpost.scheduled ENABLE ROW LEVEL SECURITY;
DROP POLICY IF EXISTS scheduled_insert ON walpost.scheduled;
CREATE POLICY scheduled_insert ON walpost.scheduled FOR INSERT WITH CHECK (author = current_user);
DROP POLICY IF EXISTS scheduled_select ON walpost.scheduled;
CREATE POLICY scheduled_select ON walpost.scheduled FOR SELECT USING (author = current_user);
DROP POLICY IF EXISTS scheduled_delete ON walpost.scheduled;
CREATE POLICY scheduled_delete ON walpost.scheduled FOR DELETE USING (author = current_user);

-- Why this author may not send this row by this outbox, in a sentence; NULL: it may. The catalog is asked by OIDs, for a
-- name whose schema is not visible to the caller is an error.
CREATE OR REPLACE FUNCTION walpost.schedule_refusal(author name, outbox text, message boolean, "row" jsonb)
RETURNS text
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $walpost$
DECLARE
  role oid := (SELECT r.oid FROM pg_roles r WHERE r.rolname = schedule_refusal.author);
  mover oid := (SELECT p.proowner FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace
    WHERE n.nspname = 'walpost' AND p.proname = 'move_due');
  emit oid := (SELECT p.oid FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace
    WHERE n.nspname = 'walpost' AND p.proname = 'emit' LIMIT 1);
  t record;
  problem text;
BEGIN
  IF role IS NULL THEN
    RETURN format('role %s, which scheduled it, does not exist', author);
  END IF;
  IF jsonb_typeof("row") <> 'object' THEN
    RETURN format('the row must be a JSON object, not %s', jsonb_typeof("row"));
  END IF;
  IF message THEN
    -- PostgreSQL 17 and newer have one more argument.
    IF NOT EXISTS (SELECT FROM pg_proc p WHERE p.pronamespace = 'pg_catalog'::regnamespace
         AND p.proname = 'pg_logical_emit_message' AND p.proargtypes[2] = 'text'::regtype
         AND has_function_privilege(role, p.oid, 'EXECUTE'))
       AND NOT coalesce(has_function_privilege(role, emit, 'EXECUTE'), false) THEN
      RETURN format('role %s may not emit logical messages', author);
    END IF;
    problem := (SELECT string_agg(quote_ident(k), ', ') FROM jsonb_object_keys("row") k
      WHERE k NOT IN ('id', 'aggregatetype', 'aggregateid', 'type', 'payload', 'headers'));
    IF problem IS NOT NULL THEN
      RETURN format('a message has no member %s; its members are id, aggregatetype, aggregateid, type, payload, headers',
        problem);
    END IF;
    -- convert() of a byte above 127 gives two.
    IF getdatabaseencoding() = 'SQL_ASCII'
       AND convert(convert_to("row"::text, 'SQL_ASCII'), 'LATIN1', 'UTF8') <> convert_to("row"::text, 'SQL_ASCII') THEN
      RETURN 'the message has a character above ASCII, and in a database of encoding SQL_ASCII none is known';
    END IF;
    RETURN NULL;
  END IF;
  SELECT c.oid, c.relnamespace, c.relkind, c.relowner, c.relrowsecurity, c.relforcerowsecurity INTO t
    FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE format('%I.%I', n.nspname, c.relname) = outbox AND c.relname = (parse_ident(outbox))[2];
  IF NOT FOUND OR t.relkind NOT IN ('r', 'p') THEN
    RETURN format('table %s does not exist', outbox);
  END IF;
  problem := (SELECT string_agg(quote_ident(k), ', ') FROM jsonb_object_keys("row") k
    WHERE NOT EXISTS (SELECT FROM pg_attribute a WHERE a.attrelid = t.oid AND a.attname = k AND a.attnum > 0
      AND NOT a.attisdropped AND a.attgenerated = '' AND a.attidentity <> 'a'));
  IF problem IS NOT NULL THEN
    RETURN format('table %s has no column %s that can be inserted', outbox, problem);
  END IF;
  -- A right on each of its columns is enough.
  IF NOT has_schema_privilege(role, t.relnamespace, 'USAGE') OR NOT has_table_privilege(role, t.oid, 'INSERT')
     AND ("row" = '{}' OR EXISTS (SELECT FROM jsonb_object_keys("row") k
       WHERE NOT has_column_privilege(role, t.oid, k, 'INSERT'))) THEN
    RETURN format('role %s may not insert into %s', author, outbox);
  END IF;
  IF NOT pg_has_role(t.relowner, mover, 'MEMBER') THEN
    RETURN format('table %s belongs to %s, whose triggers would run as %s, the owner of walpost.move_due(): '
      'let one role own both, or make %2$s a member of %3$s', outbox, t.relowner::regrole, mover::regrole);
  END IF;
  IF NOT has_table_privilege(mover, t.oid, 'INSERT') OR NOT has_schema_privilege(mover, t.relnamespace, 'USAGE') THEN
    RETURN format('role %s, the owner of walpost.move_due(), may not insert into %s', mover::regrole, outbox);
  END IF;
  -- The policies would be those for the mover's owner.
  IF t.relrowsecurity AND NOT EXISTS (SELECT FROM pg_roles r WHERE r.oid = role AND (r.rolsuper OR r.rolbypassrls))
     AND (t.relforcerowsecurity OR NOT pg_has_role(role, t.relowner, 'USAGE')) THEN
    RETURN format('table %s has row-level security, which cannot be applied to an event that is sent later', outbox);
  END IF;
  RETURN NULL;
END
$walpost$;

-- In the application's transaction: the event is inserted into `outbox` at `deliver_at`. Returns its id, for
-- walpost.unschedule(). The values are read as the columns' types now, with the caller's settings; what the row does not
-- have gets its default when it is moved. With `message` the outbox is the prefix of a logical message, whose content is
-- that of walpost.emit(): said explicitly, or a misspelled table would be one.
CREATE OR REPLACE FUNCTION walpost.schedule(
  deliver_at timestamptz,
  outbox text,
  "row" jsonb,
  message boolean DEFAULT false)
RETURNS bigint
LANGUAGE plpgsql
SET IntervalStyle = postgres
SET extra_float_digits = 1
SET bytea_output = hex
AS $walpost$
#variable_conflict use_variable
DECLARE
  target text := outbox;
  refusal text;
  typed jsonb := "row";
  ret bigint;
BEGIN
  IF deliver_at IS NULL OR outbox IS NULL OR "row" IS NULL OR message IS NULL THEN
    RAISE EXCEPTION 'walpost.schedule(): deliver_at, outbox, row and message must not be NULL'
      USING ERRCODE = 'null_value_not_allowed';
  END IF;
  IF NOT isfinite(deliver_at) THEN
    RAISE EXCEPTION 'walpost.schedule(): deliver_at must be a point in time, not %', deliver_at
      USING ERRCODE = 'invalid_parameter_value';
  END IF;
  IF NOT message THEN
    target := (SELECT format('%I.%I', n.nspname, c.relname) FROM pg_catalog.pg_class c
      JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace WHERE c.oid = pg_catalog.to_regclass(outbox));
    IF target IS NULL THEN
      RAISE EXCEPTION 'walpost.schedule(): table % does not exist', outbox USING ERRCODE = 'undefined_table',
        HINT = 'A table outside the search_path is named with its schema, as in sales.outbox. For an event without '
          'a table add message => true; outbox is then the prefix of the message.';
    END IF;
  END IF;
  refusal := walpost.schedule_refusal(current_user, target, message, typed);
  IF refusal IS NOT NULL THEN
    RAISE EXCEPTION 'walpost.schedule(): %', refusal USING ERRCODE = CASE
      WHEN refusal LIKE '% may not %' THEN 'insufficient_privilege' ELSE 'invalid_parameter_value' END;
  END IF;
  IF message THEN
    IF coalesce(typed ->> 'aggregatetype', '') = '' OR coalesce(typed ->> 'aggregateid', '') = '' THEN
      RAISE EXCEPTION 'walpost.schedule(): aggregatetype and aggregateid must not be empty'
        USING ERRCODE = 'invalid_parameter_value';
    END IF;
    IF jsonb_typeof(typed -> 'headers') NOT IN ('object', 'null') OR jsonb_exists(typed -> 'headers', '') THEN
      RAISE EXCEPTION 'walpost.schedule(): headers must be a JSON object without an empty name'
        USING ERRCODE = 'invalid_parameter_value';
    END IF;
    typed := jsonb_build_object('id', coalesce((typed ->> 'id')::uuid, gen_random_uuid()),
      'aggregatetype', typed ->> 'aggregatetype', 'aggregateid', typed ->> 'aggregateid', 'type', typed ->> 'type',
      'payload', typed -> 'payload', 'headers', typed -> 'headers');
  ELSIF typed <> '{}' THEN
    -- Printed again as Postgres prints it, so that no setting of the mover's changes what it means.
    EXECUTE format('SELECT jsonb_object_agg(t.key, t.value) FROM jsonb_each(to_jsonb(jsonb_populate_record(NULL::%s, $1))) t '
      'WHERE jsonb_exists($1, t.key)', target) INTO typed USING typed;
  END IF;
  INSERT INTO walpost.scheduled AS s (deliver_at, outbox, message, "row")
    VALUES (deliver_at, target, message, typed) RETURNING s.id INTO ret;
  -- A mover looks every second anyway; and a NOTIFY takes a lock of the whole server at commit.
  IF deliver_at < clock_timestamp() + interval '2 s' THEN
    PERFORM pg_notify('walpost_scheduled', '');
  END IF;
  RETURN ret;
END
$walpost$;

-- False: there is no such event any more, for it was moved or unscheduled; or it is another role's.
CREATE OR REPLACE FUNCTION walpost.unschedule(id bigint)
RETURNS boolean
LANGUAGE plpgsql
AS $walpost$
BEGIN
  DELETE FROM walpost.scheduled s WHERE s.id = unschedule.id;
  RETURN FOUND;
END
$walpost$;

-- How things stand, by the server's clock. Counts end at 1000, so that they cost the same whatever there is.
CREATE OR REPLACE FUNCTION walpost.scheduled_state(
  OUT due bigint,          -- their time has come, and they were not tried yet
  OUT overdue bigint,      -- of these, for more than ten seconds
  OUT failed bigint,       -- set aside: they were tried, and do not fit their outbox
  OUT late_ms bigint,      -- how late the latest of all these is; 0: there is none
  OUT next_ms bigint,      -- until the next is to be tried; NULL: there is none
  OUT error text)          -- of one that failed
LANGUAGE plpgsql STABLE
SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
SET enable_seqscan = off   -- what was never analyzed is taken for small
SET enable_bitmapscan = off
AS $walpost$
DECLARE
  moment timestamptz := clock_timestamp();
  first timestamptz := (SELECT s.deliver_at FROM walpost.scheduled s WHERE s.attempts = 0
    ORDER BY s.deliver_at, s.id LIMIT 1);
  oldest timestamptz;
  again timestamptz;
BEGIN
  due := (SELECT count(*) FROM (SELECT FROM walpost.scheduled s WHERE s.attempts = 0 AND s.deliver_at <= moment
    LIMIT 1000) x);
  overdue := (SELECT count(*) FROM (SELECT FROM walpost.scheduled s WHERE s.attempts = 0
    AND s.deliver_at <= moment - interval '10 s' LIMIT 1000) x);
  SELECT count(*), min(x.deliver_at), min(x.retry_at), (array_agg(x.error))[1] INTO failed, oldest, again, error
    FROM (SELECT s.deliver_at, s.retry_at, s.error FROM walpost.scheduled s WHERE s.attempts > 0
      ORDER BY s.retry_at, s.id LIMIT 1000) x;
  late_ms := greatest(0, 1000 * extract(epoch FROM moment - least(first, oldest)));
  late_ms := coalesce(late_ms, 0);
  -- greatest() passes NULL over.
  next_ms := CASE WHEN least(first, again) IS NOT NULL
    THEN greatest(0, ceil(1000 * extract(epoch FROM least(first, again) - moment))) END;
END
$walpost$;

-- Inserts one event into its outbox, or emits it.
CREATE OR REPLACE FUNCTION walpost.move_one(event walpost.scheduled)
RETURNS void
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $walpost$
DECLARE
  refusal text := walpost.schedule_refusal(event.author, event.outbox, event.message, event."row");
  columns text;
BEGIN
  IF refusal IS NOT NULL THEN
    RAISE EXCEPTION '%', refusal USING ERRCODE = 'invalid_parameter_value';
  END IF;
  IF event.message THEN
    -- As walpost.emit() sends it: in another encoding the byte order mark tells that it is UTF-8.
    PERFORM pg_logical_emit_message(true, event.outbox,
      CASE WHEN getdatabaseencoding() = 'UTF8' THEN '' ELSE decode('efbbbf', 'hex') END || convert_to(event."row"::text, 'UTF8'));
  ELSIF event."row" = '{}' THEN
    EXECUTE format('INSERT INTO %s DEFAULT VALUES', event.outbox);
  ELSE
    columns := (SELECT string_agg(quote_ident(k), ', ') FROM jsonb_object_keys(event."row") k);
    EXECUTE format('INSERT INTO %s (%s) SELECT %2$s FROM jsonb_populate_record(NULL::%1$s, $1)', event.outbox, columns)
      USING event."row";
  END IF;
END
$walpost$;

-- The mover, called by a relay while it streams: moves what is due to its outbox, all of it or as many as `batch`, in one
-- transaction, by time. One at a time, for a second mover would let a later event of an aggregate overtake one that the
-- first has claimed; the others return with `busy`. An event that another transaction is unscheduling is passed over,
-- for that may take long. One that its outbox refuses is set aside with the error, and tried again after 10 seconds, 20, 40
-- and at last every hour; what is not the event's fault (a lock, a full disk, a time limit) fails the call, and changes nothing.
CREATE OR REPLACE FUNCTION walpost.move_due(
  batch integer,
  OUT moved bigint,
  OUT set_aside bigint,
  OUT busy boolean,
  OUT due bigint, OUT overdue bigint, OUT failed bigint, OUT late_ms bigint, OUT next_ms bigint, OUT error text)
LANGUAGE plpgsql
SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
SET DateStyle = ISO
SET IntervalStyle = postgres
SET enable_seqscan = off
SET enable_bitmapscan = off
AS $walpost$
#variable_conflict use_column
DECLARE
  moment timestamptz := clock_timestamp();
  claimed walpost.scheduled[];
  event walpost.scheduled;
BEGIN
  moved := 0;
  set_aside := 0;
  busy := NOT pg_try_advisory_xact_lock(hashtextextended('walpost.scheduled', 0));
  IF NOT busy THEN
    -- A constraint that is looked at in the end would fail all of the transaction.
    SET CONSTRAINTS ALL IMMEDIATE;
    claimed := ARRAY(SELECT s FROM walpost.scheduled s WHERE s.attempts = 0 AND s.deliver_at <= moment
      ORDER BY s.deliver_at, s.id LIMIT batch FOR UPDATE SKIP LOCKED);
    BEGIN
      FOREACH event IN ARRAY claimed LOOP
        PERFORM walpost.move_one(event);
      END LOOP;
      DELETE FROM walpost.scheduled s WHERE s.id = ANY (ARRAY(SELECT c.id FROM unnest(claimed) c));
      moved := cardinality(claimed);
      claimed := '{}';
    EXCEPTION WHEN OTHERS THEN
      -- One by one, but not very many: each is a subtransaction.
      claimed := claimed[1:50];
    END;
    claimed := claimed || ARRAY(SELECT s FROM walpost.scheduled s WHERE s.attempts > 0 AND s.retry_at <= moment
      ORDER BY s.retry_at, s.id LIMIT 10 FOR UPDATE SKIP LOCKED);
    FOREACH event IN ARRAY claimed LOOP
      BEGIN
        PERFORM walpost.move_one(event);
        DELETE FROM walpost.scheduled s WHERE s.id = event.id;
        moved := moved + 1;
      EXCEPTION WHEN OTHERS THEN
        -- Rolled back or interrupted, no resources, a lock, an operator, the system.
        IF substr(SQLSTATE, 1, 2) IN ('40', '53', '55', '57', '58', 'XX') OR SQLSTATE = '25006' THEN
          RAISE;
        END IF;
        UPDATE walpost.scheduled s SET attempts = least(event.attempts, 1000000) + 1, error = SQLERRM,
          retry_at = clock_timestamp() + least(interval '1 h', interval '10 s' * 2 ^ least(event.attempts, 20))
          WHERE s.id = event.id;
        set_aside := set_aside + 1;
      END;
    END LOOP;
  END IF;
  SELECT s.due, s.overdue, s.failed, s.late_ms, s.next_ms, s.error INTO due, overdue, failed, late_ms, next_ms, error
    FROM walpost.scheduled_state() s;
END
$walpost$;

REVOKE ALL ON FUNCTION walpost.move_one(walpost.scheduled), walpost.move_due(integer), walpost.scheduled_state() FROM PUBLIC;

COMMIT;
