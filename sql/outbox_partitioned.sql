-- public.outbox, partitioned by day, of which the relay drops old partitions and makes new ones (cleanup.mode =
-- drop-partitions, outbox.column.inserted = created_at).
--
--   psql -X -v ON_ERROR_STOP=1 -d shop -f outbox_partitioned.sql
--
-- Run it before `walpost init`, which finds the table and makes the rest, as the role that is to own the outbox; and
-- cleanup.sql as that role, too. PostgreSQL 14 or newer. For another width make the first partition by hand: each that the
-- relay makes is as wide as the last one (a day, a week, a month).
BEGIN;

CREATE TABLE public.outbox (
  id            uuid         NOT NULL,
  aggregatetype varchar(255) NOT NULL,
  aggregateid   varchar(255) NOT NULL,
  type          varchar(255) NOT NULL,
  payload       jsonb,
  created_at    timestamptz  NOT NULL DEFAULT clock_timestamp(),
  PRIMARY KEY (id, created_at)
) PARTITION BY RANGE (created_at);
CREATE INDEX ON public.outbox (created_at);

-- Today, tomorrow and the day after, by UTC; the relay goes on from there.
DO $walpost$
DECLARE
  today timestamp := date_trunc('day', now() AT TIME ZONE 'UTC');
  day timestamp;
BEGIN
  FOR n IN 0..2 LOOP
    day := today + n * interval '1 day';
    EXECUTE format('CREATE TABLE public.%I PARTITION OF public.outbox FOR VALUES FROM (%L) TO (%L)',
      'outbox_' || to_char(day, 'YYYYMMDD'), day AT TIME ZONE 'UTC', (day + interval '1 day') AT TIME ZONE 'UTC');
  END LOOP;
END
$walpost$;

COMMIT;
