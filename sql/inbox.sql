-- walpost.accept(): applies each event once in the consumer's database, however often it is delivered.
--
--   psql -X -v ON_ERROR_STOP=1 -d billing -f inbox.sql
--
-- In the transaction of the effect:
--
--   BEGIN;
--   SELECT walpost.accept('billing', '5f2b…');  -- the header id: true once, false ever after
--   INSERT INTO booking …                       -- only if true
--   COMMIT;
--
-- Two transactions that accept the same event at once: the second waits, and answers by how the first ends. A rollback
-- leaves nothing. Run once a day, by cron or pg_cron: SELECT * FROM walpost.inbox_maintain();
--
-- The database needs nothing else of walpost. Run this as a role with CREATE on it, which then owns the inbox and runs
-- inbox_maintain(); it may be repeated. PostgreSQL 14 or newer.
BEGIN;

CREATE SCHEMA IF NOT EXISTS walpost;

-- A period begins when the one before it ends, not by the calendar: an event just before the change of periods may be
-- delivered again, or be on its way in another transaction, just behind it. Of the current one `until` is NULL.
CREATE TABLE IF NOT EXISTS walpost.inbox_period (
  number integer PRIMARY KEY,
  since timestamptz NOT NULL DEFAULT clock_timestamp(),
  until timestamptz
);

-- Each period is a partition, and is dropped as one.
CREATE TABLE IF NOT EXISTS walpost.inbox (
  consumer text COLLATE "C" NOT NULL,
  id text COLLATE "C" NOT NULL,
  period integer NOT NULL,
  PRIMARY KEY (consumer, id, period)
) PARTITION BY LIST (period);

DO $walpost$ BEGIN
  IF NOT EXISTS (SELECT FROM walpost.inbox_period) THEN
    CREATE TABLE walpost.inbox_1 PARTITION OF walpost.inbox FOR VALUES IN (1);
    INSERT INTO walpost.inbox_period (number) VALUES (1);
  END IF;
END $walpost$;

-- True: the event is new to this consumer. False: it was accepted before.
--
-- A unique key holds within a partition; that an event is in no earlier one is looked up. Two transactions in different
-- periods would not see each other's event: so the period changes only while no accepting transaction is open, which a
-- advisory lock says that all of them share ('walpost!' as a bigint). A transaction above READ COMMITTED may have begun before the change, and sees
-- neither the new period nor what was accepted since: it fails with serialization_failure (40001), as such transactions
-- may, and is to be repeated.
CREATE OR REPLACE FUNCTION walpost.accept(consumer text, id text)
RETURNS boolean
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $walpost$
DECLARE
  current integer;
BEGIN
  IF accept.consumer IS NULL OR accept.id IS NULL THEN
    RAISE EXCEPTION 'walpost.accept(): consumer and id must not be NULL' USING ERRCODE = 'null_value_not_allowed';
  END IF;
  PERFORM pg_advisory_xact_lock_shared(8602275993416332321);
  IF current_setting('transaction_isolation') = 'read committed' THEN
    SELECT number INTO current FROM walpost.inbox_period WHERE until IS NULL;
  ELSE
    SELECT number INTO current FROM walpost.inbox_period WHERE until IS NULL FOR SHARE;
  END IF;
  INSERT INTO walpost.inbox (consumer, id, period)
    SELECT accept.consumer, accept.id, current
    WHERE NOT EXISTS (SELECT FROM walpost.inbox i WHERE i.consumer = accept.consumer AND i.id = accept.id)
    ON CONFLICT DO NOTHING;
  RETURN FOUND;
END
$walpost$;

-- Begins a new period where the current one is older than `period`, and drops those that ended more than `keep` ago:
-- what is delivered again later than that is applied again. Returns what it did. While it waits for transactions that
-- have accepted something to end, others wait for it: for a second at most, then it gives up until the next time.
CREATE OR REPLACE FUNCTION walpost.inbox_maintain(keep interval DEFAULT '7 days', period interval DEFAULT '1 day')
RETURNS SETOF text
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
SET lock_timeout = '1s'
AS $walpost$
DECLARE
  current record;
  ended record;
BEGIN
  IF inbox_maintain.keep < interval '0' OR inbox_maintain.period < interval '0' THEN
    RAISE EXCEPTION 'walpost.inbox_maintain(): keep and period must not be negative'
      USING ERRCODE = 'invalid_parameter_value';
  END IF;
  -- One at a time; of two the second has nothing left to do.
  LOCK TABLE walpost.inbox_period IN SHARE UPDATE EXCLUSIVE MODE;
  SELECT p.* INTO STRICT current FROM walpost.inbox_period p WHERE p.until IS NULL;
  IF current.since <= clock_timestamp() - inbox_maintain.period THEN
    BEGIN
      -- Attached: PARTITION OF would lock the inbox against everything.
      EXECUTE format('CREATE TABLE walpost.inbox_%s (LIKE walpost.inbox INCLUDING ALL)', current.number + 1);
      EXECUTE format('ALTER TABLE walpost.inbox ATTACH PARTITION walpost.inbox_%s FOR VALUES IN (%s)',
        current.number + 1, current.number + 1);
      PERFORM pg_advisory_xact_lock(8602275993416332321);
      UPDATE walpost.inbox_period p SET until = clock_timestamp() WHERE p.number = current.number;
      INSERT INTO walpost.inbox_period (number) VALUES (current.number + 1);
      RETURN NEXT format('period %s begins', current.number + 1);
    EXCEPTION WHEN lock_not_available THEN
      RETURN NEXT format('period %s goes on: a transaction that has accepted something did not end within a second; '
        'pg_stat_activity shows which', current.number);
    END;
  END IF;
  FOR ended IN SELECT p.* FROM walpost.inbox_period p
      WHERE p.until < clock_timestamp() - inbox_maintain.keep ORDER BY p.number LOOP
    BEGIN
      EXECUTE format('DROP TABLE IF EXISTS walpost.inbox_%s', ended.number);
      DELETE FROM walpost.inbox_period p WHERE p.number = ended.number;
      RETURN NEXT format('period %s, which ended at %s, is dropped', ended.number, ended.until);
    EXCEPTION WHEN lock_not_available THEN
      RETURN NEXT format('period %s is not dropped yet: a transaction that uses the inbox did not end within a second; '
        'pg_stat_activity shows which', ended.number);
      EXIT;
    END;
  END LOOP;
END
$walpost$;

COMMIT;

-- Both functions run with their caller's rights. A consumer needs:
--
--   GRANT USAGE ON SCHEMA walpost TO billing;
--   GRANT SELECT, INSERT ON walpost.inbox TO billing;
--   GRANT SELECT ON walpost.inbox_period TO billing; -- and UPDATE, for transactions above READ COMMITTED
