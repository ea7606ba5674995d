-- Removes rows of the outbox whose events are in Kafka, with cleanup.mode: what the relay does it with.
--
--   psql -X -v ON_ERROR_STOP=1 -d shop -f cleanup.sql
--
-- `walpost init` creates the same. Run it as a role with CREATE on the database, the owner of walpost.slot_checkpoint,
-- which then owns all of it; grants.sql grants the relay's role what it needs here, but not the right to delete from
-- your table (or to update its column of cleanup.mode = mark):
--
--   GRANT SELECT, DELETE ON outbox TO walpost;
--
-- For cleanup.mode = drop-partitions run it as a member of the outbox's owner; the relay needs no right on the table then.
--
-- It may be repeated. PostgreSQL 14 or newer.
--
-- A row whose event is not in Kafka is kept so: the relay looks for a batch of old rows, and notes how far the WAL is after
-- that (cleanup_look). All that was visible then was committed before. Once all events up to there are confirmed it removes
-- these rows, if they are the same still (cleanup_remove). Rows that were never relayed, because they are older than the
-- slot, than the table's place in the publication, or than a move of the slot, are at or below the floor and stay.
BEGIN;

CREATE SCHEMA IF NOT EXISTS walpost;

-- One row for each outbox of a slot, and for each of its partitions. A row that is not above the floor, by the
-- time in its own column, is not known to be in Kafka.
CREATE TABLE IF NOT EXISTS walpost.cleanup_floor (
  slot text NOT NULL,
  outbox regclass NOT NULL,
  leaf regclass NOT NULL,            -- the outbox itself, or a partition
  generation text NOT NULL,          -- by what the outbox was in the stream; with another a new floor is found
  owner text NOT NULL,               -- the relay that found it
  wait_for text,                     -- until the floor is known: a transaction, before which none may run; NULL: it is
  floor text,                        -- the latest time of a row then; NULL: there was none, or all are in Kafka
  since timestamptz NOT NULL DEFAULT clock_timestamp(),
  reason text NOT NULL,
  PRIMARY KEY (slot, outbox, leaf)
);

-- A command that moves the slot, or makes a new one, says so in walpost.slot_checkpoint, and leaves slot_transactions empty:
-- `walpost slot skip`, `slot accept`, `init`, and the scripts. All that the relay has not read then is below a new floor.
-- So are outboxes of which a relay confirms events without having sent them: in walpost.sent it names its publication and those
-- that it sends.
CREATE OR REPLACE FUNCTION walpost.cleanup_forget()
RETURNS trigger
LANGUAGE plpgsql
SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
SET lock_timeout = '15s'
AS $walpost$
DECLARE
  moved text := CASE TG_OP WHEN 'DELETE' THEN OLD.slot ELSE NEW.slot END;
  said oid[];
  forgotten oid[];
  taken_over boolean := true;
BEGIN
  IF TG_OP = 'UPDATE' AND NEW.slot_transactions IS NOT NULL THEN
    said := nullif(current_setting('walpost.sent', true), '');
    taken_over := NEW.owner <> OLD.owner;
    IF said IS NULL THEN
      RETURN NULL;
    END IF;
  END IF;
  -- A look of a relay that is gone may still be finding a floor, or detaching a partition: cleanup_hold().
  IF taken_over THEN
    PERFORM pg_advisory_xact_lock(860227599, hashtext(moved));
  END IF;
  forgotten := ARRAY(SELECT f.outbox::oid FROM walpost.cleanup_floor f WHERE f.slot = moved AND (said IS NULL
      OR f.outbox <> ALL (said[2:]) OR f.leaf = f.outbox AND split_part(f.generation, ' ', 4) NOT LIKE said[1]::text || '/%')
    UNION SELECT d.outbox FROM walpost.cleanup_detached d WHERE d.slot = moved AND (said IS NULL OR d.outbox <> ALL (said[2:])));
  UPDATE walpost.cleanup_detached d SET floor = 'infinity' WHERE d.slot = moved AND d.outbox = ANY (forgotten);
  DELETE FROM walpost.cleanup_floor f WHERE f.slot = moved AND f.outbox = ANY (forgotten);
  RETURN NULL;
END
$walpost$;
CREATE OR REPLACE TRIGGER walpost_cleanup_forget AFTER INSERT OR UPDATE OR DELETE ON walpost.slot_checkpoint
  FOR EACH ROW EXECUTE FUNCTION walpost.cleanup_forget();

-- Until the transaction ends no floor of the slot is forgotten: called before one is written.
CREATE OR REPLACE FUNCTION walpost.cleanup_hold(slot text)
RETURNS void
LANGUAGE sql
SET search_path = pg_catalog, pg_temp
AS $walpost$
  SELECT pg_advisory_xact_lock_shared(860227599, hashtext(slot))
$walpost$;

-- By what an outbox is in the stream: each change that could have kept a row out of it gives another text. Read by the
-- snapshot of the statement that asks.
CREATE OR REPLACE FUNCTION walpost.cleanup_generation(
  slot text,
  publication text,
  outbox regclass,
  "column" name,         -- with the time by which the floor is found
  OUT generation text,
  OUT owner text,
  OUT refusal text)      -- why nothing may be removed now; NULL: it may
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $walpost$
#variable_conflict use_variable
DECLARE
  named oid[];           -- the outbox, and what it is a partition of
  leaves oid[];          -- its partitions
  p pg_publication;
  members text;
  is_member boolean;
  schemas text;
BEGIN
  SELECT c.system_identifier || '/' || c.epoch, c.owner INTO generation, owner
    FROM walpost.slot_checkpoint c WHERE c.slot = cleanup_generation.slot;
  IF NOT FOUND THEN
    refusal := format('walpost.slot_checkpoint has no row of slot %s', slot);
    RETURN;
  END IF;
  -- A table that merely inherits is not published with its parent.
  WITH RECURSIVE up AS (SELECT outbox::oid AS id
    UNION ALL SELECT i.inhparent FROM up JOIN pg_class c ON c.oid = up.id AND c.relispartition
      JOIN pg_inherits i ON i.inhrelid = up.id)
  SELECT array_agg(id) INTO named FROM up;
  WITH RECURSIVE down AS (SELECT i.inhrelid AS id FROM pg_inherits i
      JOIN pg_class c ON c.oid = i.inhparent AND c.relkind = 'p' WHERE i.inhparent = outbox
    UNION ALL SELECT i.inhrelid FROM down JOIN pg_inherits i ON i.inhparent = down.id)
  SELECT coalesce(array_agg(id), '{}') INTO leaves FROM down;
  -- The row type changes when the table gets another schema or name; the file of a plain table, when it was unlogged
  -- for a while, which an explicitly published table cannot be.
  generation := generation || (SELECT format(' %s/%s %s', a.attnum, a.atttypid, t.xmin) FROM pg_class c
    JOIN pg_type t ON t.oid = c.reltype JOIN pg_attribute a ON a.attrelid = c.oid AND a.attname = "column"
    WHERE c.oid = outbox);
  IF generation IS NULL THEN
    refusal := format('table %s has no column %s', outbox, "column");
    RETURN;
  END IF;
  SELECT q.* INTO p FROM pg_publication q WHERE q.pubname = publication;
  IF NOT FOUND OR NOT p.pubinsert THEN
    refusal := format('publication %s does not exist, or does not publish inserts', publication);
    RETURN;
  END IF;
  generation := generation || format(' %s/%s', p.oid,
    (SELECT q.xmin FROM pg_publication q WHERE q.oid = p.oid));
  SELECT string_agg(r.oid || '/' || r.xmin, ' ' ORDER BY r.oid), coalesce(bool_or(r.prrelid = outbox), false)
    INTO members, is_member FROM pg_publication_rel r WHERE r.prpubid = p.oid AND r.prrelid = ANY (named || leaves);
  IF current_setting('server_version_num')::int >= 150000 THEN
    EXECUTE 'SELECT string_agg(n.oid || ''/'' || n.xmin, '' '' ORDER BY n.oid) FROM pg_publication_namespace n
      WHERE n.pnpubid = $1 AND n.pnnspid IN (SELECT relnamespace FROM pg_class WHERE oid = ANY ($2))'
      INTO schemas USING p.oid, named;
    EXECUTE 'SELECT min(CASE WHEN r.prqual IS NOT NULL THEN format(''publication %s has a row filter, and rows that it ''
      ''leaves out are not in Kafka'', $3) END) FROM pg_publication_rel r
      WHERE r.prpubid = $1 AND r.prrelid = ANY ($2)'
      INTO refusal USING p.oid, named || leaves, publication;
  END IF;
  -- PostgreSQL 19: FOR ALL TABLES EXCEPT (TABLE ...).
  IF EXISTS (SELECT FROM pg_publication_rel r WHERE r.prpubid = p.oid AND r.prrelid = ANY (named || leaves)
      AND (to_jsonb(r)->>'prexcept')::boolean) THEN
    refusal := format('publication %s is for all tables except some, among them this one', publication);
  END IF;
  IF p.puballtables OR schemas IS NOT NULL THEN
    generation := generation || format(' %s', (SELECT CASE c.relkind WHEN 'r' THEN c.relfilenode END
      FROM pg_class c WHERE c.oid = outbox));
  ELSIF NOT is_member THEN
    refusal := format('publication %s does not have the table itself', publication);
  END IF;
  -- Else a partition may have a filter of its own for a while, which leaves no trace in the catalog.
  IF NOT p.pubviaroot AND cardinality(leaves) > 0 THEN
    refusal := format('publication %s lacks publish_via_partition_root', publication);
  END IF;
  generation := concat_ws(' ', generation, members, schemas);
  IF EXISTS (SELECT FROM pg_class c WHERE c.oid = ANY (outbox::oid || leaves)
      AND (c.relpersistence <> 'p' OR c.relkind NOT IN ('r', 'p'))) THEN
    refusal := 'it is, or has a partition that is, an unlogged or foreign table';
  END IF;
END
$walpost$;

-- The partitions that have rows, each with what tells its attachment from another: a table may have had rows before it
-- became a partition, and nothing tells that from one that was created as one.
CREATE OR REPLACE FUNCTION walpost.cleanup_leaves(
  outbox regclass,
  OUT leaf regclass,
  OUT attachment text,
  OUT is_attached boolean) -- when it was a table already
RETURNS SETOF record
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $walpost$
  WITH RECURSIVE tree AS (
    SELECT outbox::oid AS id, NULL::text AS attachment, false AS is_attached
    UNION ALL
    SELECT i.inhrelid, concat_ws(' ', t.attachment, i.inhrelid || '/' || i.xmin), t.is_attached OR i.xmin <> a.xmin
    FROM tree t JOIN pg_inherits i ON i.inhparent = t.id
    JOIN pg_attribute a ON a.attrelid = i.inhrelid AND a.attname = 'tableoid') -- as old as the table
  -- The file is another when it was unlogged meanwhile.
  SELECT t.id::regclass, t.attachment || ' ' || c.relfilenode, t.is_attached FROM tree t JOIN pg_class c ON c.oid = t.id
  WHERE t.attachment IS NOT NULL AND c.relkind <> 'p' AND (SELECT r.relkind = 'p' FROM pg_class r WHERE r.oid = outbox)
$walpost$;

-- The conditions for a row "o" of the outbox to be removed, as SQL: looked at when it is looked for, and again when it is
-- removed. $1 slot, $2 publication, $3 outbox.
CREATE OR REPLACE FUNCTION walpost.cleanup_condition(
  outbox regclass,
  "column" name,         -- when the row was inserted: timestamptz, timestamp or date in UTC, bigint of ms
  id name,               -- of the event; NULL: the table has none
  mark name,             -- NULL: rows are deleted
  keep interval,
  OUT cutoff text,       -- the time, as SQL
  OUT above_floor text,
  OUT is_free text)      -- neither parked, nor marked
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $walpost$
DECLARE
  type text := (SELECT a.atttypid::regtype::text FROM pg_attribute a
    WHERE a.attrelid = outbox AND a.attname = "column" AND NOT a.attisdropped);
  least text;
BEGIN
  cutoff := CASE type
    WHEN 'timestamp with time zone' THEN format('(statement_timestamp() - %L::interval)', keep)
    WHEN 'timestamp without time zone' THEN format('(statement_timestamp() AT TIME ZONE ''UTC'' - %L::interval)', keep)
    WHEN 'date' THEN format('(statement_timestamp() AT TIME ZONE ''UTC'' - %L::interval)::date', keep)
    WHEN 'bigint' THEN format('(1000 * extract(epoch FROM statement_timestamp() - %L::interval))::bigint', keep) END;
  IF cutoff IS NULL THEN
    RAISE EXCEPTION 'column % of table % is %, but cleanup needs a timestamptz, timestamp, date, or a bigint of milliseconds',
      quote_ident("column"), outbox, coalesce(type, 'missing')
      USING ERRCODE = CASE WHEN type IS NULL THEN 'undefined_column' ELSE 'datatype_mismatch' END;
  END IF;
  IF mark IS NOT NULL AND EXISTS (WITH RECURSIVE tree AS (SELECT outbox::oid AS id
      UNION ALL SELECT i.inhrelid FROM tree t JOIN pg_inherits i ON i.inhparent = t.id)
      SELECT FROM tree t JOIN pg_partitioned_table p ON p.partrelid = t.id
      JOIN pg_attribute a ON a.attrelid = t.id AND a.attname = mark
      WHERE p.partexprs IS NOT NULL OR a.attnum = ANY (p.partattrs::int2[])) THEN
    RAISE EXCEPTION 'column % of table % cannot be marked: it is, or may be, in a partition key, and a row that moves is sent again',
      quote_ident(mark), outbox USING ERRCODE = 'feature_not_supported';
  END IF;
  least := CASE type WHEN 'bigint' THEN '-9223372036854775808' ELSE '-infinity' END;
  above_floor := format('o.%1$I > (SELECT coalesce(f.floor, %2$L)::%3$s FROM walpost.cleanup_floor f,
    walpost.cleanup_generation($1, $2, $3, %4$L) g WHERE f.slot = $1 AND f.outbox = $3 AND f.leaf = $3 AND f.wait_for IS NULL
    AND f.generation = g.generation AND g.refusal IS NULL)', "column", least, type, "column");
  IF (SELECT c.relkind = 'p' FROM pg_class c WHERE c.oid = outbox) THEN
    -- A partition that this snapshot does not know has no place in the list.
    above_floor := above_floor || format(' AND o.%1$I > (ARRAY(SELECT coalesce(f.floor, %2$L)::%3$s
      FROM walpost.cleanup_leaves($3) l JOIN walpost.cleanup_floor f ON f.slot = $1 AND f.outbox = $3
        AND f.leaf = l.leaf AND f.generation = l.attachment AND f.wait_for IS NULL ORDER BY l.leaf::oid))
      [array_position(ARRAY(SELECT l.leaf::oid FROM walpost.cleanup_leaves($3) l JOIN walpost.cleanup_floor f
        ON f.slot = $1 AND f.outbox = $3 AND f.leaf = l.leaf AND f.generation = l.attachment AND f.wait_for IS NULL
        ORDER BY 1), o.tableoid)]',
      "column", least, type);
  END IF;
  is_free := concat_ws(' AND ', 'true', CASE WHEN mark IS NOT NULL THEN format('o.%I IS NULL', mark) END,
    CASE WHEN to_regclass('walpost.parked') IS NOT NULL THEN
      CASE WHEN id IS NOT NULL THEN
        -- One that was parked without an id, or when another column was that, may be any.
        format('NOT EXISTS (SELECT FROM walpost.parked k WHERE k.relation IS NOT NULL AND (k.id IS NULL OR NOT EXISTS ('
          'SELECT FROM json_array_elements(k."row") e WHERE e ->> ''name'' = %1$L AND e ->> ''value'' = k.id))) AND '
          'NOT EXISTS (SELECT FROM walpost.parked k WHERE k.id = format(''%%s'', o.%1$I))', id)
      ELSE 'NOT EXISTS (SELECT FROM walpost.parked k WHERE k.relation IS NOT NULL)' END END);
END
$walpost$;

-- Finds the floors that are not known yet. NULL: all are; else what is waited for, or why nothing may be removed.
CREATE OR REPLACE FUNCTION walpost.cleanup_find_floor(slot text, publication text, outbox regclass, "column" name)
RETURNS text
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
SET DateStyle = ISO
SET TimeZone = 'UTC'
AS $walpost$
#variable_conflict use_variable
DECLARE
  g record;
  f record;
  l record;
BEGIN
  SELECT * INTO g FROM walpost.cleanup_generation(slot, publication, outbox, "column");
  IF g.refusal IS NOT NULL THEN
    RETURN g.refusal;
  END IF;
  SELECT * INTO f FROM walpost.cleanup_floor c WHERE c.slot = cleanup_find_floor.slot
    AND c.outbox = cleanup_find_floor.outbox AND c.leaf = c.outbox;
  IF NOT FOUND OR f.generation <> g.generation OR (f.wait_for IS NOT NULL AND f.owner <> g.owner) THEN
    PERFORM walpost.cleanup_hold(slot);
    -- A transaction that runs now may have written before the table was published.
    INSERT INTO walpost.cleanup_floor AS c (slot, outbox, leaf, generation, owner, wait_for, reason)
      SELECT slot, outbox, outbox, n.generation, n.owner, pg_snapshot_xmax(pg_current_snapshot())::text,
        CASE WHEN f.generation IS NULL THEN 'it is from before the first cleanup by this slot, or from before the slot was moved'
          ELSE 'the publication, relay.epoch or the server was changed' END
      FROM walpost.cleanup_generation(slot, publication, outbox, "column") n
      ON CONFLICT ON CONSTRAINT cleanup_floor_pkey DO UPDATE SET generation = excluded.generation, owner = excluded.owner,
        wait_for = excluded.wait_for, floor = NULL, since = excluded.since, reason = excluded.reason;
    SELECT * INTO f FROM walpost.cleanup_floor c WHERE c.slot = cleanup_find_floor.slot
      AND c.outbox = cleanup_find_floor.outbox AND c.leaf = c.outbox;
  END IF;
  IF f.wait_for IS NOT NULL THEN
    PERFORM walpost.cleanup_hold(slot);
    -- The generation and the rows in one snapshot, in which all that ran then has ended.
    EXECUTE format('UPDATE walpost.cleanup_floor f SET wait_for = NULL, floor = (SELECT max(o.%I)::text FROM %s %s o)
      FROM walpost.cleanup_generation($1, $2, $3, $4) g WHERE f.slot = $1 AND f.outbox = $3 AND f.leaf = $3
      AND f.generation = g.generation AND f.owner = g.owner AND g.refusal IS NULL
      AND pg_snapshot_xmin(pg_current_snapshot()) >= f.wait_for::xid8', "column",
      walpost.cleanup_only(outbox), outbox) USING slot, publication, outbox, "column";
    IF NOT EXISTS (SELECT FROM walpost.cleanup_floor c WHERE c.slot = cleanup_find_floor.slot
      AND c.outbox = cleanup_find_floor.outbox AND c.leaf = c.outbox AND c.wait_for IS NULL) THEN
      RETURN format('transactions that ran at %s must end first: see pg_stat_activity and pg_prepared_xacts',
        to_char(f.since, 'YYYY-MM-DD HH24:MI:SS UTC'));
    END IF;
  END IF;
  FOR l IN SELECT n.* FROM walpost.cleanup_leaves(outbox) n LEFT JOIN walpost.cleanup_floor c
    ON c.slot = cleanup_find_floor.slot AND c.outbox = cleanup_find_floor.outbox AND c.leaf = n.leaf AND c.generation = n.attachment
    WHERE c.leaf IS NULL OR (c.wait_for IS NOT NULL AND c.owner <> g.owner)
  LOOP
    PERFORM walpost.cleanup_hold(slot);
    -- Nobody writes to a table while it is being attached. The attachment and the rows in one snapshot, here too. A walsender
    -- of PostgreSQL 14 remembers that a table is not published, although it is attached meanwhile (14.23; tried).
    EXECUTE format('INSERT INTO walpost.cleanup_floor AS c (slot, outbox, leaf, generation, owner, wait_for, floor, reason)
      SELECT $1, $2, n.leaf, n.attachment, $3, CASE WHEN m.is_missed AND NOT EXISTS (SELECT FROM walpost.cleanup_floor k
          WHERE k.slot = $1 AND k.outbox = $2 AND k.leaf = n.leaf AND k.generation = n.attachment AND k.owner <> $3)
        THEN ''a restart of the relay'' END, m.latest,
        CASE WHEN m.is_missed THEN ''its partition was attached while a relay ran, which PostgreSQL 14 may miss''
          ELSE ''its partition had it before the first cleanup of that'' END
      FROM walpost.cleanup_leaves($2) n, LATERAL (SELECT max(o.%1$I)::text AS latest, (n.is_attached OR count(*) > 0)
        AND current_setting(''server_version_num'')::int < 150000 AS is_missed FROM %2$s o WHERE o.tableoid = $4) m
      WHERE n.leaf = $4
      ON CONFLICT ON CONSTRAINT cleanup_floor_pkey DO UPDATE SET generation = excluded.generation, owner = excluded.owner,
        wait_for = excluded.wait_for, floor = excluded.floor, since = excluded.since, reason = excluded.reason', "column",
      CASE WHEN has_table_privilege(l.leaf, 'SELECT') THEN l.leaf ELSE outbox END) USING slot, outbox, g.owner, l.leaf;
    DELETE FROM walpost.cleanup_floor c WHERE c.slot = cleanup_find_floor.slot
      AND c.outbox = cleanup_find_floor.outbox AND NOT EXISTS (SELECT FROM pg_class t WHERE t.oid = c.leaf);
  END LOOP;
  RETURN NULL;
END
$walpost$;

-- Tables that merely inherit from the outbox are not published with it.
CREATE OR REPLACE FUNCTION walpost.cleanup_only(outbox regclass)
RETURNS text
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $walpost$
  SELECT CASE WHEN c.relkind = 'p' THEN '' ELSE 'ONLY' END FROM pg_class c WHERE c.oid = outbox
$walpost$;

-- This server, since it was started: what was looked at on another is not removed.
CREATE OR REPLACE FUNCTION walpost.cleanup_server()
RETURNS text
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $walpost$
  SELECT concat(system_identifier, ' ', extract(epoch FROM pg_postmaster_start_time())) FROM pg_control_system()
$walpost$;

-- Looks for rows to be removed, the oldest first. The caller removes them, with the same arguments, when all events up to
-- `lsn` are confirmed, in the stream that it had when it looked, of the same server.
CREATE OR REPLACE FUNCTION walpost.cleanup_look(
  slot text,
  publication text,
  outbox regclass,
  "column" name,
  id name,
  mark name,
  keep interval,
  batch integer,
  OUT looked bigint,
  OUT rows text[],        -- each as its table, place and transaction
  OUT first text,         -- the times of the first and the last
  OUT last text,
  OUT server text,
  OUT lsn pg_lsn,
  OUT waits text)         -- why nothing can be removed now; NULL: nothing prevents it
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
SET enable_seqscan = off   -- what was never analyzed is taken for small
SET enable_bitmapscan = off
SET enable_sort = off
SET enable_hashjoin = on
SET lock_timeout = '1s'
SET DateStyle = ISO
SET IntervalStyle = postgres
SET TimeZone = 'UTC'
SET bytea_output = hex
SET extra_float_digits = 3
AS $walpost$
DECLARE
  c record;
BEGIN
  looked := 0;
  server := walpost.cleanup_server();
  waits := walpost.cleanup_find_floor(slot, publication, outbox, "column");
  IF waits IS NULL THEN
    SELECT * INTO c FROM walpost.cleanup_condition(outbox, "column", id, mark, keep);
    EXECUTE format('SELECT count(*), array_agg(r), min(t)::text, max(t)::text FROM (
      SELECT concat(o.tableoid, o.ctid, o.xmin) AS r, o.%1$I AS t FROM %2$s %3$s o
      WHERE o.%1$I < %4$s AND %5$s AND %6$s ORDER BY o.%1$I LIMIT $4) x',
      "column", walpost.cleanup_only(outbox), outbox, c.cutoff, c.above_floor, c.is_free)
      INTO looked, rows, first, last USING slot, publication, outbox, batch;
  END IF;
  -- After the snapshot of the look: all that it saw was committed before. (pg_current_wal_lsn() may lie behind that.)
  lsn := pg_current_wal_insert_lsn();
END
$walpost$;

-- Removes what was looked at: what is the same still, and still to be removed. Returns how many.
CREATE OR REPLACE FUNCTION walpost.cleanup_remove(
  slot text,
  publication text,
  outbox regclass,
  "column" name,
  id name,
  mark name,
  keep interval,
  rows text[],
  first text,
  last text,
  server text)
RETURNS bigint
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
SET lock_timeout = '1s'
SET DateStyle = ISO
SET IntervalStyle = postgres
SET TimeZone = 'UTC'
SET bytea_output = hex
SET extra_float_digits = 3
AS $walpost$
DECLARE
  c record;
  removed bigint;
  type text := (SELECT a.atttypid::regtype FROM pg_attribute a WHERE a.attrelid = outbox AND a.attname = "column");
  value text := (SELECT CASE a.atttypid WHEN 'boolean'::regtype THEN 'true' ELSE 'statement_timestamp()' END
    FROM pg_attribute a WHERE a.attrelid = outbox AND a.attname = mark);
BEGIN
  IF server <> walpost.cleanup_server() THEN
    RETURN 0;
  END IF;
  SELECT * INTO c FROM walpost.cleanup_condition(outbox, "column", id, mark, keep);
  EXECUTE format(CASE WHEN mark IS NULL THEN 'DELETE FROM %s %s o' ELSE 'UPDATE %s %s o SET %I = %s' END
      || ' WHERE o.ctid = ANY (ARRAY(SELECT substring(r, ''\(.*\)'')::tid FROM unnest($4) r))',
      walpost.cleanup_only(outbox), outbox, mark, value)
    || format(' AND concat(o.tableoid, o.ctid, o.xmin) = ANY ($4) AND o.%1$I >= $5::%2$s AND o.%1$I <= $6::%2$s
      AND o.%1$I < %3$s AND %4$s AND %5$s', "column", type, c.cutoff, c.above_floor, c.is_free)
    USING slot, publication, outbox, rows, first, last;
  GET DIAGNOSTICS removed = ROW_COUNT;
  RETURN removed;
END
$walpost$;

-- Why the rows of an outbox are there, by group: reads all of the table.
CREATE OR REPLACE FUNCTION walpost.cleanup_report(
  slot text,
  publication text,
  outbox regclass,
  "column" name,
  id name,
  mark name,
  keep interval,
  OUT "group" text,       -- due, young, unproved, parked, untimed, marked
  OUT rows bigint,
  OUT oldest text)
RETURNS SETOF record
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
SET DateStyle = ISO
SET IntervalStyle = postgres
SET TimeZone = 'UTC'
SET bytea_output = hex
SET extra_float_digits = 3
AS $walpost$
DECLARE
  c record;
BEGIN
  SELECT * INTO c FROM walpost.cleanup_condition(outbox, "column", id, NULL, keep);
  RETURN QUERY EXECUTE format('SELECT x.why, count(*), min(x.t)::text FROM (SELECT CASE
    WHEN %7$s THEN ''marked'' WHEN o.%1$I IS NULL THEN ''untimed'' WHEN o.%1$I >= %4$s THEN ''young''
    WHEN (%5$s) IS NOT TRUE THEN ''unproved'' WHEN NOT (%6$s) THEN ''parked'' ELSE ''due'' END AS why, o.%1$I AS t
    FROM %2$s %3$s o) x GROUP BY 1', "column", walpost.cleanup_only(outbox), outbox, c.cutoff, c.above_floor, c.is_free,
    CASE WHEN mark IS NULL THEN 'false' ELSE format('o.%I IS NOT NULL', mark) END) USING slot, publication, outbox;
END
$walpost$;

-- For `walpost cleanup --release`: the highest floor, and which they are.
CREATE OR REPLACE FUNCTION walpost.cleanup_floors(
  slot text,
  outbox regclass,
  "column" name,
  OUT highest text,      -- NULL: there is nothing to prove
  OUT floors text[],
  OUT waits boolean)     -- one is not known yet
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
SET DateStyle = ISO
SET TimeZone = 'UTC'
AS $walpost$
BEGIN
  EXECUTE format('SELECT max(f.floor::%s)::text, array_agg(concat(f.leaf::oid, '' '', f.xmin)) FILTER (WHERE f.floor IS NOT NULL),
    coalesce(bool_or(f.wait_for IS NOT NULL), true) FROM walpost.cleanup_floor f WHERE f.slot = $1 AND f.outbox = $2',
    (SELECT a.atttypid::regtype FROM pg_attribute a WHERE a.attrelid = outbox AND a.attname = "column"))
    INTO highest, floors, waits USING slot, outbox;
END
$walpost$;

-- All rows at or below these floors are in Kafka: they are lifted, unless one has changed meanwhile.
CREATE OR REPLACE FUNCTION walpost.cleanup_release(slot text, outbox regclass, floors text[], reason text)
RETURNS bigint
LANGUAGE sql
SET search_path = pg_catalog, pg_temp
AS $walpost$
  WITH lifted AS (
    UPDATE walpost.cleanup_floor f SET floor = NULL, reason = cleanup_release.reason
    WHERE f.slot = cleanup_release.slot AND f.outbox = cleanup_release.outbox
      AND concat(f.leaf::oid, ' ', f.xmin) = ANY (floors)
    RETURNING 1)
  SELECT count(*) FROM lifted
$walpost$;

-- With cleanup.mode = drop-partitions: a partition whose time is over is detached first, so that nothing comes into it any
-- more; then it is looked at; and it is dropped once all that was committed before is confirmed. The owner of these
-- functions must own the outbox, or be a member of its owner.
CREATE TABLE IF NOT EXISTS walpost.cleanup_detached (
  slot text NOT NULL,
  outbox regclass NOT NULL,          -- of which it was a partition
  leaf regclass NOT NULL PRIMARY KEY,
  floor text,                        -- as in walpost.cleanup_floor, of outbox and partition the later one; infinity: all stay
  detached_at timestamptz NOT NULL DEFAULT clock_timestamp()
);

-- The partitions of an outbox that is partitioned by ranges of its column, with their bounds.
CREATE OR REPLACE FUNCTION walpost.cleanup_ranges(
  outbox regclass,
  "column" name,
  OUT leaf regclass,
  OUT lower text,
  OUT upper text)
RETURNS SETOF record
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
SET DateStyle = ISO
SET TimeZone = 'UTC'
AS $walpost$
BEGIN
  IF NOT EXISTS (SELECT FROM pg_partitioned_table p JOIN pg_attribute a ON a.attrelid = p.partrelid
      WHERE p.partrelid = outbox AND p.partstrat = 'r' AND p.partnatts = 1 AND a.attname = "column"
      AND p.partattrs[0] = a.attnum) THEN
    RAISE EXCEPTION 'table % is not partitioned by ranges of column %, which cleanup.mode = drop-partitions needs', outbox,
      quote_ident("column") USING ERRCODE = 'wrong_object_type';
  END IF;
  RETURN QUERY SELECT b.id, b.range[1], b.range[2] FROM (
    SELECT c.oid::regclass AS id, regexp_match(pg_get_expr(c.relpartbound, c.oid),
      $re$^FOR VALUES FROM \('?(.*?)'?\) TO \('?(.*?)'?\)$$re$) AS range
    FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid WHERE i.inhparent = outbox AND c.relkind = 'r') b
  WHERE b.range IS NOT NULL AND b.range[1] <> 'MINVALUE' AND b.range[2] <> 'MAXVALUE';
END
$walpost$;

-- Makes partitions, as wide as the last one, until there are so many ahead of the present time. They are attached, for which
-- inserts need not wait.
CREATE OR REPLACE FUNCTION walpost.cleanup_make_partitions(outbox regclass, "column" name, ahead integer)
RETURNS integer
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
SET lock_timeout = '1s'
SET DateStyle = ISO
SET IntervalStyle = postgres
SET TimeZone = 'UTC'
AS $walpost$
DECLARE
  made integer := 0;
  type text := (SELECT a.atttypid::regtype FROM pg_attribute a WHERE a.attrelid = outbox AND a.attname = "column");
  bound text := CASE type WHEN 'bigint' THEN 'bigint' ELSE 'timestamptz' END;
  present text := CASE type WHEN 'bigint' THEN '(1000 * extract(epoch FROM statement_timestamp()))::bigint'
    ELSE 'statement_timestamp()' END;
  width text := CASE type WHEN 'bigint' THEN '(upper::bigint - lower::bigint)'
    ELSE 'age(upper::timestamptz, lower::timestamptz)' END;
  step record;
  name text;
BEGIN
  WHILE made < least(ahead, 100) LOOP
    EXECUTE format('SELECT upper AS lower, (upper::%1$s + %2$s)::%4$s::text AS upper, upper::%1$s <= %3$s + $3 * %2$s AS wanted,
      (upper::%1$s + %2$s)::%1$s > %3$s - %2$s AS is_near FROM walpost.cleanup_ranges($1, $2) ORDER BY upper::%1$s DESC LIMIT 1',
      bound, width, present, type) INTO step USING outbox, "column", ahead;
    EXIT WHEN step.wanted IS NOT TRUE;
    name := (SELECT format('%I.%I', n.nspname, left(c.relname, 40) || '_' || CASE type WHEN 'bigint' THEN step.lower
      ELSE to_char(step.lower::timestamptz, CASE WHEN date_trunc('day', step.lower::timestamptz) = step.lower::timestamptz
        THEN 'YYYYMMDD' ELSE 'YYYYMMDD"t"HH24MISS' END) END)
      FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.oid = outbox);
    EXECUTE format('CREATE TABLE %s (LIKE %s INCLUDING DEFAULTS INCLUDING CONSTRAINTS INCLUDING GENERATED INCLUDING STORAGE)',
      name, outbox);
    EXECUTE format('ALTER TABLE %s ATTACH PARTITION %s FOR VALUES FROM (%L) TO (%L)', outbox, name, step.lower, step.upper);
    made := made + 1;
  END LOOP;
  RETURN made;
END
$walpost$;

-- Is there a row in the table that may not be removed? NULL: none; else why.
CREATE OR REPLACE FUNCTION walpost.cleanup_keeps(leaf regclass, "column" name, id name, keep interval, floor text)
RETURNS text
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
SET DateStyle = ISO
SET IntervalStyle = postgres
SET TimeZone = 'UTC'
SET bytea_output = hex
SET extra_float_digits = 3
AS $walpost$
DECLARE
  c record;
  type text := (SELECT a.atttypid::regtype FROM pg_attribute a WHERE a.attrelid = leaf AND a.attname = "column");
  why text;
BEGIN
  SELECT * INTO c FROM walpost.cleanup_condition(leaf, "column", id, NULL, keep);
  IF floor = 'infinity' AND type = 'bigint' THEN
    floor := '9223372036854775807';
  END IF;
  EXECUTE format('SELECT CASE WHEN (o.%1$I < %2$s) IS NOT TRUE THEN ''rows that are not old enough''
    WHEN o.%1$I <= $1::%3$s THEN ''rows that are not known to be in Kafka'' ELSE ''parked rows'' END
    FROM ONLY %4$s o WHERE (o.%1$I < %2$s AND ($1 IS NULL OR o.%1$I > $1::%3$s) AND %5$s) IS NOT TRUE LIMIT 1',
    "column", c.cutoff, type, leaf, c.is_free) INTO why USING floor;
  RETURN why;
END
$walpost$;

CREATE OR REPLACE FUNCTION walpost.cleanup_look_partition(
  slot text,
  publication text,
  outbox regclass,
  "column" name,
  id name,
  mark name,              -- of no use here
  keep interval,
  ahead integer,
  OUT looked bigint,
  OUT rows text[],        -- the partition
  OUT first text,
  OUT last text,
  OUT server text,
  OUT lsn pg_lsn,
  OUT waits text)
LANGUAGE plpgsql
SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
SET lock_timeout = '1s'
SET DateStyle = ISO
SET TimeZone = 'UTC'
AS $walpost$
#variable_conflict use_variable
DECLARE
  d walpost.cleanup_detached;
  c record;
  p record;
  why text;
BEGIN
  looked := 0;
  server := walpost.cleanup_server();
  PERFORM walpost.cleanup_make_partitions(outbox, "column", ahead);
  DELETE FROM walpost.cleanup_detached e WHERE e.slot = cleanup_look_partition.slot AND e.outbox = cleanup_look_partition.outbox
    AND (EXISTS (SELECT FROM pg_inherits i WHERE i.inhrelid = e.leaf) OR NOT EXISTS (SELECT FROM pg_class t WHERE t.oid = e.leaf));
  SELECT e.* INTO d FROM walpost.cleanup_detached e JOIN pg_class t ON t.oid = e.leaf
    WHERE e.slot = cleanup_look_partition.slot AND e.outbox = cleanup_look_partition.outbox ORDER BY e.detached_at LIMIT 1;
  IF FOUND THEN
    why := walpost.cleanup_keeps(d.leaf, "column", id, keep, d.floor);
    IF why IS NULL THEN
      looked := 1;
      rows := ARRAY[d.leaf::oid::text];
      first := d.leaf::text;
      last := first;
    ELSE
      waits := format('partition %s was detached and has %s: attach it again, or drop it',
        d.leaf, why);
    END IF;
    lsn := pg_current_wal_insert_lsn();
    RETURN;
  END IF;
  waits := walpost.cleanup_find_floor(slot, publication, outbox, "column");
  lsn := pg_current_wal_insert_lsn();
  IF waits IS NOT NULL THEN
    RETURN;
  END IF;
  SELECT * INTO c FROM walpost.cleanup_condition(outbox, "column", id, NULL, keep);
  FOR p IN EXECUTE format('SELECT r.leaf, greatest(b.floor::%1$s, f.floor::%1$s)::text AS floor, t.relfilenode AS file
    FROM walpost.cleanup_ranges($3, $4) r JOIN walpost.cleanup_leaves($3) l ON l.leaf = r.leaf
    JOIN pg_class t ON t.oid = r.leaf
    JOIN walpost.cleanup_floor f ON f.slot = $1 AND f.outbox = $3 AND f.leaf = r.leaf AND f.generation = l.attachment
      AND f.wait_for IS NULL
    JOIN walpost.cleanup_floor b ON b.slot = $1 AND b.outbox = $3 AND b.leaf = $3 AND b.wait_for IS NULL
    JOIN walpost.cleanup_generation($1, $2, $3, $4) g ON g.generation = b.generation AND g.refusal IS NULL
    WHERE r.upper::%1$s <= %2$s AND EXISTS (SELECT FROM walpost.cleanup_ranges($3, $4) n WHERE n.upper::%1$s > r.upper::%1$s)
    ORDER BY r.upper::%1$s', -- the last one stays: new ones are as wide
    (SELECT a.atttypid::regtype FROM pg_attribute a WHERE a.attrelid = outbox AND a.attname = "column"), c.cutoff)
    USING slot, publication, outbox, "column"
  LOOP
    CONTINUE WHEN walpost.cleanup_keeps(p.leaf, "column", id, keep, p.floor) IS NOT NULL;
    EXECUTE format('ALTER TABLE %s DETACH PARTITION %s', outbox, p.leaf);
    PERFORM walpost.cleanup_hold(slot);
    -- Nothing is written to it from here on. All that is in it came while the outbox was in the stream as it is now.
    IF NOT EXISTS (SELECT FROM walpost.cleanup_floor b JOIN walpost.cleanup_generation(slot, publication, outbox, "column") g
        ON g.generation = b.generation AND g.refusal IS NULL
        WHERE b.slot = cleanup_look_partition.slot AND b.outbox = cleanup_look_partition.outbox AND b.leaf = b.outbox)
        OR p.file <> (SELECT t.relfilenode FROM pg_class t WHERE t.oid = p.leaf) THEN
      RAISE EXCEPTION 'partition %, or the publication of table %, has changed', p.leaf, outbox USING ERRCODE = 'serialization_failure';
    END IF;
    INSERT INTO walpost.cleanup_detached (slot, outbox, leaf, floor) VALUES (slot, outbox, p.leaf, p.floor);
    waits := format('partition %s was detached, and is dropped once all is confirmed', p.leaf);
    RETURN;
  END LOOP;
END
$walpost$;

CREATE OR REPLACE FUNCTION walpost.cleanup_remove_partition(
  slot text,
  publication text,
  outbox regclass,
  "column" name,
  id name,
  mark name,
  keep interval,
  rows text[],
  first text,
  last text,
  server text)
RETURNS bigint
LANGUAGE plpgsql
SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
SET lock_timeout = '1s'
AS $walpost$
DECLARE
  d walpost.cleanup_detached;
BEGIN
  IF server <> walpost.cleanup_server() THEN
    RETURN 0;
  END IF;
  DELETE FROM walpost.cleanup_detached e WHERE e.slot = cleanup_remove_partition.slot
    AND e.outbox = cleanup_remove_partition.outbox AND e.leaf = rows[1]::oid RETURNING e.* INTO d;
  IF NOT FOUND THEN
    RETURN 0;
  END IF;
  EXECUTE format('LOCK TABLE ONLY %s IN ACCESS EXCLUSIVE MODE', d.leaf);
  IF walpost.cleanup_keeps(d.leaf, "column", id, keep, d.floor) IS NOT NULL
      OR EXISTS (SELECT FROM pg_inherits i WHERE i.inhrelid = d.leaf) THEN
    RAISE EXCEPTION 'partition % has changed since it was looked at', d.leaf USING ERRCODE = 'serialization_failure';
  END IF;
  EXECUTE format('DROP TABLE %s', d.leaf);
  DELETE FROM walpost.cleanup_floor f WHERE f.leaf = d.leaf;
  RETURN 1;
END
$walpost$;

REVOKE ALL ON FUNCTION walpost.cleanup_forget(), walpost.cleanup_make_partitions(regclass, name, integer),
  walpost.cleanup_look_partition(text, text, regclass, name, name, name, interval, integer),
  walpost.cleanup_remove_partition(text, text, regclass, name, name, name, interval, text[], text, text, text) FROM PUBLIC;

COMMIT;
