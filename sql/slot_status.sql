-- Shows the state of walpost's slot, with a verdict. Changes nothing.
--
--   psql -X -d shop -v slot=walpost -v publication=walpost -f slot_status.sql
--
-- Run it as any role that may connect; pg_monitor also shows the walsenders of other roles. The exit code is 3 if no
-- relay can continue from this slot (a line FAIL), as with `walpost status`, and 0 otherwise, even if no relay reads
-- it: psql has no other code; see `state`. PostgreSQL 14 or newer.
\set ON_ERROR_STOP on
\set AUTOCOMMIT on
\set QUIET on
\set SHOW_CONTEXT never
\pset pager off
\pset format unaligned
\pset tuples_only on
\pset expanded off
SET search_path = pg_catalog, pg_temp;
\if :{?slot} \else
\set slot ''
\endif
\if :{?publication} \else
\set publication ''
\endif

SELECT set_config('walpost.refusal', CASE
  WHEN :'slot' = '' THEN 'the variable slot is missing: add -v slot=NAME (walpost''s default is walpost)'
  WHEN :'publication' = '' THEN
    'the variable publication is missing: add -v publication=NAME (walpost''s default is walpost)'
  ELSE '' END, false) AS refusal \gset
DO $walpost$ BEGIN IF current_setting('walpost.refusal') <> '' THEN
  RAISE EXCEPTION '%', current_setting('walpost.refusal'); END IF; END $walpost$;

-- One snapshot of all facts. The slot is JSON, so that a field which a version lacks is a missing key.
WITH slot AS (SELECT to_jsonb(s) AS j FROM pg_replication_slots s WHERE s.slot_name = :'slot'),
here AS (SELECT CASE WHEN pg_is_in_recovery() THEN pg_last_wal_replay_lsn() ELSE pg_current_wal_lsn() END AS lsn),
checkpoint AS (SELECT has_schema_privilege(n.oid, 'USAGE') AND has_table_privilege(c.oid, 'SELECT') AS readable
  FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
  WHERE n.nspname = 'walpost' AND c.relname = 'slot_checkpoint'),
parked AS (SELECT has_schema_privilege(n.oid, 'USAGE') AND has_table_privilege(c.oid, 'SELECT') AS readable
  FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
  WHERE n.nspname = 'walpost' AND c.relname = 'parked' AND 6 = (SELECT count(*) FROM pg_attribute a
    WHERE a.attrelid = c.oid AND NOT a.attisdropped
    AND a.attname IN ('slot', 'position', 'outbox', 'key', 'parked_at', 'act'))),
scheduled AS (SELECT has_schema_privilege(n.oid, 'USAGE') AND has_function_privilege(p.oid, 'EXECUTE') AS readable
  FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace
  WHERE n.nspname = 'walpost' AND p.proname = 'scheduled_state')
SELECT coalesce(s.j, '{}') || jsonb_build_object(
    'exists', s.j IS NOT NULL,
    'here', current_database(),
    'version', current_setting('server_version_num')::int,
    'in_recovery', pg_is_in_recovery(),
    'server_lsn', h.lsn,
    'lag', pg_wal_lsn_diff(h.lsn, (s.j->>'confirmed_flush_lsn')::pg_lsn),
    'retained', pg_wal_lsn_diff(h.lsn, (s.j->>'restart_lsn')::pg_lsn),
    'horizon_age', age((s.j->>'catalog_xmin')::xid),
    'invalidation', coalesce(s.j->>'invalidation_reason', CASE WHEN s.j->>'wal_status' = 'lost' THEN 'wal_removed'
      WHEN s.j->>'conflicting' = 'true' THEN 'conflicting' END),
    'limit', (SELECT setting::bigint FROM pg_settings WHERE name = 'max_slot_wal_keep_size'),
    'idle_limit', (SELECT current_setting(name) FROM pg_settings WHERE name = 'idle_replication_slot_timeout'
      AND setting <> '0'),
    'publication_exists', EXISTS (SELECT FROM pg_publication WHERE pubname = :'publication'),
    -- By a client whose application_name does not begin with walpost.
    'foreign_client', (SELECT 'process ' || a.pid || ' (' || coalesce(nullif(a.application_name, ''), 'without application_name')
        || ', user ' || coalesce(a.usename, 'unknown') || ')'
      FROM pg_stat_activity a WHERE a.pid::text = s.j->>'active_pid' AND NOT starts_with(a.application_name, 'walpost')),
    'connected', (SELECT a.backend_start FROM pg_stat_activity a WHERE a.pid::text = s.j->>'active_pid'),
    'walsender', (SELECT to_jsonb(r) || jsonb_build_object('lag', round(extract(epoch FROM r.flush_lag), 3))
      FROM pg_stat_replication r WHERE r.pid::text = s.j->>'active_pid'))
    AS fact,
  coalesce((SELECT readable FROM checkpoint), false) AS checkpoint_readable,
  coalesce((SELECT readable FROM parked), false) AS parked_readable,
  coalesce((SELECT readable FROM scheduled), false) AS scheduled_readable
FROM here h LEFT JOIN slot s ON true \gset

\set checkpoint null
\if :checkpoint_readable
SELECT coalesce((SELECT to_jsonb(w)::text FROM walpost.slot_checkpoint w WHERE w.slot = :'slot'), 'null') AS checkpoint \gset
\endif

-- By aggregate: an event without a key is one of its own. Rows that are to be skipped are given up.
\set parked null
\if :parked_readable
SELECT jsonb_build_object('aggregates', count(*), 'events', coalesce(sum(events), 0),
  'seconds', extract(epoch FROM clock_timestamp() - min(since))::bigint) AS parked
FROM (SELECT count(*) AS events, min(parked_at) AS since FROM walpost.parked
  WHERE slot = :'slot' AND act IS DISTINCT FROM 'skip'
  GROUP BY outbox, key, CASE WHEN key IS NULL THEN "position" END) a \gset
\endif

\set scheduled null
\if :scheduled_readable
SELECT to_jsonb(s) AS scheduled FROM walpost.scheduled_state() s \gset
\endif

SELECT rpad(name, 21) || value
FROM (SELECT :'fact'::jsonb AS f, nullif(:'checkpoint', 'null')::jsonb AS w, nullif(:'parked', 'null')::jsonb AS p,
    nullif(:'scheduled', 'null')::jsonb AS s)
  known, LATERAL (VALUES
  ('state', CASE WHEN NOT (f->>'exists')::bool THEN 'no_slot'
    WHEN f->>'plugin' IS DISTINCT FROM 'pgoutput' OR f->>'database' <> f->>'here' THEN 'not_walposts'
    WHEN f->>'invalidation' IS NOT NULL THEN 'lost'
    WHEN NOT (f->>'publication_exists')::bool THEN 'no_publication'
    WHEN (f->>'in_recovery')::bool THEN 'standby'
    WHEN f->>'active_pid' IS NULL THEN 'nobody'
    -- A relay by another name: it has written its row since it connected.
    WHEN f->>'foreign_client' IS NOT NULL AND coalesce((f->>'connected')::timestamptz
      > (w->>'confirmed_at')::timestamptz, true) THEN 'foreign'
    WHEN w->>'trouble' IS NOT NULL THEN 'stalled'
    WHEN f->'walsender'->>'state' = 'catchup' THEN 'catches_up' ELSE 'streams' END),
  ('slot', :'slot'),
  ('publication', :'publication'),
  ('slot_exists', CASE WHEN (f->>'exists')::bool THEN 'yes' ELSE 'no' END),
  ('slot_type', f->>'slot_type'),
  ('plugin', f->>'plugin'),
  ('database', f->>'database'),
  ('active_pid', coalesce(f->>'active_pid', CASE WHEN (f->>'exists')::bool THEN 'none' END)),
  ('inactive_since', f->>'inactive_since'),
  ('foreign_client', f->>'foreign_client'),
  ('application_name', f->'walsender'->>'application_name'),
  ('walsender_state', CASE WHEN f->>'active_pid' IS NULL THEN NULL
    WHEN f->'walsender' = 'null' THEN 'none: the process is not a walsender'
    ELSE coalesce(f->'walsender'->>'state', 'hidden: it belongs to another role (grant pg_monitor to see it)')
    END),
  ('walsender_user', f->'walsender'->>'usename'),
  ('walsender_client', f->'walsender'->>'client_addr'),
  ('walsender_since', f->'walsender'->>'backend_start'),
  ('walsender_sent_lsn', f->'walsender'->>'sent_lsn'),
  ('confirmed_flush_lsn', f->>'confirmed_flush_lsn'),
  ('restart_lsn', f->>'restart_lsn'),
  ('server_lsn', f->>'server_lsn'),
  ('lag_bytes', (f->>'lag') || ' bytes'),
  ('lag_seconds', (f->'walsender'->>'lag') || ' s'),
  ('retained_wal_bytes', (f->>'retained') || ' bytes'),
  ('safe_wal_size', coalesce((f->>'safe_wal_size') || ' bytes',
    CASE WHEN (f->>'exists')::bool AND (f->>'limit')::bigint < 0 THEN 'unlimited: max_slot_wal_keep_size is -1' END)),
  ('wal_status', f->>'wal_status'),
  ('invalidation', f->>'invalidation'),
  ('catalog_xmin_age', (f->>'horizon_age') || ' transactions, whose dead catalog rows are kept'),
  ('two_phase', f->>'two_phase'),
  ('temporary', f->>'temporary'),
  ('failover', f->>'failover'),
  ('synced', f->>'synced'),
  ('standby', CASE WHEN (f->>'in_recovery')::bool THEN 'yes' ELSE 'no' END),
  ('publication_exists', CASE WHEN (f->>'publication_exists')::bool THEN 'yes' ELSE 'no' END),
  ('owner', coalesce(w->>'owner', CASE WHEN :'checkpoint_readable'::bool THEN 'none yet'
    ELSE 'unknown: walpost.slot_checkpoint is missing or not readable by this role' END)),
  ('owner_epoch', w->>'epoch'),
  ('taken_at_lsn', w->>'taken_at_lsn'),
  ('seconds_since_taken', extract(epoch FROM now() - (w->>'taken_at')::timestamptz)::bigint || ' s'),
  ('noted_lsn', w->>'confirmed_lsn'),
  ('seconds_since_noted', extract(epoch FROM now() - (w->>'confirmed_at')::timestamptz)::bigint || ' s'),
  ('stopped', CASE WHEN (w->>'stopped')::bool THEN 'yes' WHEN w IS NOT NULL THEN 'no' END),
  ('trouble', w->>'trouble'),
  ('seconds_in_trouble', extract(epoch FROM now() - (w->>'trouble_at')::timestamptz)::bigint || ' s'),
  ('parked_aggregates', p->>'aggregates'),
  ('parked_events', p->>'events'),
  ('seconds_since_parked', (p->>'seconds') || ' s'),
  ('scheduled_due', s->>'due'),
  ('scheduled_overdue', s->>'overdue'),
  ('scheduled_failed', s->>'failed'),
  ('seconds_since_due', CASE WHEN (s->>'due')::int + (s->>'failed')::int > 0
    THEN (s->>'late_ms')::bigint / 1000 || ' s' END)
) shown(name, value) WHERE coalesce(value, '') <> '';

-- The verdict: each rule that applies, the worst first. FAIL: no relay can continue from this slot.
WITH known AS (SELECT :'fact'::jsonb AS f, nullif(:'checkpoint', 'null')::jsonb AS w,
  nullif(:'parked', 'null')::jsonb AS p, nullif(:'scheduled', 'null')::jsonb AS s),
fact AS (SELECT f, w, p, s,
    (f->>'exists')::bool AS there,
    coalesce(f->>'plugin' = 'pgoutput' AND f->>'database' = f->>'here', false) AS ours,
    f->>'active_pid' AS pid,
    coalesce((f->>'synced')::bool, false) AS synced,
    coalesce(w->>'trouble' LIKE '%there is no slot %', false) AS found_none, -- the last relay, in its words
    (f->>'confirmed_flush_lsn')::pg_lsn AS confirmed,
    pg_size_pretty((f->>'lag')::bigint) AS lag,
    pg_size_pretty((f->>'retained')::bigint) AS retained,
    pg_size_pretty((f->>'safe_wal_size')::bigint) AS safe
  FROM known),
verdict AS (SELECT rule.* FROM fact, LATERAL (VALUES
  (1, 'FAIL', NOT there,
    format('there is no slot %s on this server', :'slot'),
    'check the name (postgres.slot). If a relay has used it, stop all relays and run walpost backfill --missing, which '
    'sends the rows that Kafka does not have and creates the slot; for a first start, run walpost init'),
  (2, 'FAIL', f->>'slot_type' = 'physical',
    format('slot %s is a physical slot of a standby or a backup', :'slot'),
    'set postgres.slot to another name'),
  (3, 'FAIL', f->>'plugin' <> 'pgoutput',
    format('slot %s uses plugin %s, but walpost requires pgoutput', :'slot', f->>'plugin'),
    'set postgres.slot to another name'),
  (4, 'FAIL', f->>'database' <> f->>'here',
    format('slot %s belongs to database %s, but the connection is to %s', :'slot', f->>'database', f->>'here'),
    format('connect to database %s', f->>'database')),
  (5, 'FAIL', (f->>'temporary')::bool AND NOT synced,
    format('slot %s is temporary and ends with session %s', :'slot', pid),
    'set postgres.slot to another name'),
  (6, 'FAIL', ours AND f->>'invalidation' IS NOT NULL,
    format('slot %s is lost (%s): events committed since %s that are not in Kafka can no longer be read from the WAL',
      :'slot', f->>'invalidation', coalesce(confirmed::text, 'its last confirmation')),
    'run walpost backfill --missing --force, which sends the rows that Kafka does not have and replaces the slot; then '
    'start the relay'),
  (7, 'FAIL', ours AND (f->>'two_phase')::bool,
    format('slot %s has two_phase, which sends transactions before they are committed', :'slot'),
    'run walpost backfill --missing --force, which sends the rows that Kafka does not have and replaces the slot; then '
    'start the relay'),
  (8, 'FAIL', NOT (f->>'publication_exists')::bool AND (ours OR NOT there),
    format('there is no publication %s in database %s', :'publication', f->>'here'),
    CASE WHEN there THEN 'check the name (postgres.publication); if it was dropped, recreate it, and then the slot, '
      'which is older and cannot be decoded: slot_drop.sql, slot_create.sql, slot_accept.sql'
      ELSE 'check the name (postgres.publication); create it before the slot' END),
  (9, 'warn', (f->>'in_recovery')::bool AND NOT synced,
    'this server is a standby: walpost requires the primary',
    'run this on the primary'),
  (10, 'warn', (f->>'in_recovery')::bool AND synced AND (f->>'temporary')::bool,
    'this is the copy of a failover slot, not yet synchronized with the primary''s: a failover now loses it',
    'wait, and run this again; see the server''s log for the cause of the delay'),
  (10, 'warn', (f->>'in_recovery')::bool AND ours AND NOT synced AND (f->>'version')::int >= 170000
      AND ((f->>'failover')::bool OR coalesce(current_setting('sync_replication_slots', true) = 'on', false)),
    format('slot %s of this standby is not a copy of the primary''s slot, but was created here when this server was the '
      'primary: the server cannot copy slots while it exists', :'slot'),
    format('on this standby: SELECT pg_drop_replication_slot(''%s''); its copy of the primary''s slot then follows',
      :'slot')),
  (11, 'warn', ours AND f->>'wal_status' = 'unreserved',
    format('slot %s will be lost at one of the next checkpoints: it keeps %s, more than max_slot_wal_keep_size',
      :'slot', retained),
    'let the relay catch up; if the disk has room, ALTER SYSTEM SET max_slot_wal_keep_size = ''-1''; '
    'SELECT pg_reload_conf()'),
  (12, 'warn', ours AND pid IS NULL AND NOT (f->>'in_recovery')::bool AND f->>'invalidation' IS NULL,
    format('no relay reads slot %s: the server keeps %s of WAL for it, and %s', :'slot', retained,
      CASE WHEN (f->>'limit')::bigint < 0 THEN 'more without a limit, until the disk is full'
        ELSE format('invalidates it after %s more', safe) END
      || coalesce(', or when it is idle for ' || (f->>'idle_limit'), '')),
    'start the relay; if it was removed for good, run slot_drop.sql'),
  (13, 'warn', ours AND pid IS NULL
      AND ((w->>'stopped')::bool AND confirmed > (w->>'confirmed_lsn')::pg_lsn OR found_none),
    format('slot %s is at %s, but relay %s %s: someone advanced or recreated it, and a relay refuses to start '
      '(slot_moved)', :'slot', confirmed, w->>'owner', CASE WHEN found_none THEN 'found no such slot'
        ELSE 'had stopped cleanly at ' || (w->>'confirmed_lsn') END),
    'stop all relays and run walpost backfill --missing --force, which sends the rows that Kafka does not have and '
    'replaces the slot; or, if nothing is missing, run slot_accept.sql; then start the relay'),
  (14, 'warn', ours AND pid IS NULL AND (f->>'server_lsn')::pg_lsn < (w->>'confirmed_lsn')::pg_lsn
      AND NOT (f->>'in_recovery')::bool,
    format('the server''s WAL ends at %s, before %s, which relay %s recorded as confirmed: the database is an older '
      'state or a copy, and a relay refuses to start', f->>'server_lsn', w->>'confirmed_lsn',
      w->>'owner'),
    format('if that is intended, set relay.epoch = %s in walpost.conf, run walpost backfill --missing --force, and '
      'start the relay', (w->>'epoch')::int + 1)),
  (15, 'warn', ours AND w->>'trouble' IS NOT NULL AND NOT found_none,
    format(CASE WHEN pid IS NULL THEN 'the last relay of slot %s reported a problem %s s ago: %s'
      ELSE 'the relay that reads slot %s has received no confirmation for %s s: %s' END, :'slot',
      extract(epoch FROM now() - (w->>'trouble_at')::timestamptz)::bigint, w->>'trouble'),
    'follow the instruction in the message; the next relay that streams clears it'),
  (16, 'warn', ours AND f->>'wal_status' = 'extended',
    format('the server keeps %s of WAL for slot %s, more than max_wal_size', retained, :'slot'),
    'find out why the relay is behind: see its log, Kafka, long transactions'),
  (17, 'warn', p->>'seconds' IS NOT NULL,
    format('parked events: %s, aggregates: %s, the oldest for %s s: they cannot be delivered, or follow one that '
      'cannot', p->>'events', p->>'aggregates', p->>'seconds'),
    'walpost parked list shows the reasons; remove them, and the relay delivers the events'),
  (18, 'warn', (s->>'overdue')::int + (s->>'failed')::int > 0,
    format('scheduled events: %s overdue, %s set aside, the oldest due for %s s', s->>'overdue', s->>'failed',
      (s->>'late_ms')::bigint / 1000),
    'the column error of walpost.scheduled has the reasons; what is overdue without an error waits for a relay with '
      'relay.schedule that streams'),
  (19, 'ok', ours AND pid IS NOT NULL AND NOT synced AND f->>'invalidation' IS NULL,
    format('slot %s is read by process %s%s; %s of WAL are not confirmed', :'slot', pid,
      coalesce(' (' || (f->'walsender'->>'state') || ')', ''), lag),
    'nothing; if that grows, see the relay''s log: Kafka may be slow or unreachable'),
  (20, 'ok', (f->>'in_recovery')::bool AND synced AND NOT (f->>'temporary')::bool
      AND f->>'invalidation' IS NULL,
    'this is the copy of a failover slot, synchronized with the primary''s: a relay can continue from it after a '
    'promotion',
    'nothing'),
  (21, 'note', ours AND NOT synced AND (f->>'version')::int >= 170000 AND NOT (f->>'failover')::bool,
    'a failover loses the slot: it lacks the failover flag of PostgreSQL 17',
    'stop the relay and run slot_failover.sql'),
  (22, 'note', ours AND (f->>'version')::int < 170000,
    'a failover loses the slot: PostgreSQL before 17 does not copy it to standbys',
    'run slot_create.sql immediately after a promotion, then slot_accept.sql')
) rule(rank, level, applies, what, todo) WHERE applies)
SELECT coalesce(string_agg(format('%s %s' || chr(10) || '     to do: %s', rpad(level, 4), what, todo), chr(10)
    ORDER BY rank), '') AS verdict,
  set_config('walpost.refusal', coalesce((array_agg(what ORDER BY rank) FILTER (WHERE level = 'FAIL'))[1], ''), false)
    AS refusal
FROM verdict \gset
SELECT chr(10) || :'verdict';
DO $walpost$ BEGIN IF current_setting('walpost.refusal') <> '' THEN
  RAISE EXCEPTION '%', current_setting('walpost.refusal'); END IF; END $walpost$;
