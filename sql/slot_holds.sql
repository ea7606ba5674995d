-- Part of slot_drop.sql and slot_advance.sql, which include it from their own folder: lists and counts the unconfirmed
-- events in slot :slot, up to :holds_to ('' for all), of :publication. Reads without consuming. Messages with prefixes
-- other than :message_prefix ('': all count) are not events; nor are rows of walpost's own tables, but for those of
-- walpost.reissue for this slot, where its publication certainly existed all the time.
--
-- PostgreSQL 18 omits, with only a warning, changes that were written before the publication was created.
--
-- Sets held_known (whether the rest is valid), held_why (why not), held_events, held_all (f: counting stopped at
-- :holds_max changes, NULL for never) and held_text.
SELECT count(set_config(name, '0', false)) AS timeouts FROM pg_settings
WHERE name IN ('statement_timeout', 'transaction_timeout') \gset
\set held_events ''
\set held_text ''
\set held_all f

-- An error of the server is shown, and the script then explains it.
\set ON_ERROR_STOP off
WITH change AS MATERIALIZED (
  SELECT at, xid, chr(get_byte(data, 0)) AS kind, length(data) AS size, substr(data, 1, 600) AS head
  FROM pg_logical_slot_peek_binary_changes(:'slot', nullif(:'holds_to', '')::pg_lsn, :holds_max,
    'proto_version', '1', 'publication_names', quote_ident(:'publication') || (SELECT CASE WHEN EXISTS (
      SELECT FROM pg_publication p, pg_replication_slots s WHERE p.pubname = 'walpost_reissue' AND s.slot_name = :'slot'
        AND age(p.xmin) NOT BETWEEN 0 AND age(s.catalog_xmin)) THEN ',walpost_reissue' ELSE '' END), 'messages', 'true')
    WITH ORDINALITY AS c(lsn, xid, data, at)),
-- pgoutput's Begin: 'B', the LSN of the commit. A slot at an LSN has what commits there or later.
begun AS (
  SELECT xid, (encode(substr(head, 2, 4), 'hex') || '/' || encode(substr(head, 6, 4), 'hex'))::pg_lsn AS commit_lsn
  FROM change WHERE kind = 'B'),
-- Relation: 'R', oid, namespace and a zero byte, name and a zero byte, a byte, the number of columns, and of
-- each a byte, its name and a zero byte. The last before a row counts.
relation AS (
  SELECT at, oid, nsp, name, substr(rest, 5, greatest(position('\x00'::bytea IN substr(rest, 5)) - 1, 0)) AS first
  FROM change, LATERAL (SELECT substr(head, 2, 4) AS oid, substr(head, 6) AS names) n,
    LATERAL (SELECT substr(names, 1, position('\x00'::bytea IN names) - 1) AS nsp) s,
    LATERAL (SELECT substr(names, length(nsp) + 2) AS after) a,
    LATERAL (SELECT substr(after, 1, position('\x00'::bytea IN after) - 1) AS name) m,
    LATERAL (SELECT substr(after, length(name) + 2) AS rest) r
  WHERE kind = 'R'),
named AS (
  SELECT at, oid, convert_from(nsp, pg_client_encoding()) AS nsp, convert_from(name, pg_client_encoding()) AS name,
    convert_from(first, pg_client_encoding()) AS first
  FROM relation),
-- Insert: 'I', oid, 'N', the number of columns, and of each 't', its size and its text, or another letter.
-- Message: 'M', 1 if transactional, an LSN, the prefix and a zero byte.
event AS (
  SELECT c.at, c.xid, b.commit_lsn, c.size,
    regexp_replace(CASE c.kind WHEN 'I' THEN format('table %I.%I', r.nsp, r.name)
      ELSE 'message of prefix ' || encode(m.prefix, 'escape') END, '[[:cntrl:]]', '?', 'g') AS what,
    CASE WHEN c.kind = 'I' AND c.size > 8 THEN r.first || ' ' || CASE WHEN get_byte(c.head, 8) = ascii('t') THEN
      encode(substr(c.head, 14, least(('x' || encode(substr(c.head, 10, 4), 'hex'))::bit(32)::int, 64)), 'escape')
      ELSE 'NULL' END END AS first
  FROM change c JOIN begun b USING (xid)
  LEFT JOIN LATERAL (SELECT nsp, name, first FROM named n
    WHERE c.kind = 'I' AND n.oid = substr(c.head, 2, 4) AND n.at < c.at ORDER BY n.at DESC LIMIT 1) r ON true
  LEFT JOIN LATERAL (SELECT substr(tail, 1, greatest(position('\x00'::bytea IN tail) - 1, 0)) AS prefix
    FROM (SELECT substr(c.head, 11) AS tail WHERE c.kind = 'M') t) m ON true
  -- Its second column.
  LEFT JOIN LATERAL (SELECT substr(tail, 6, ('x' || encode(substr(tail, 2, 4), 'hex'))::bit(32)::int) AS slot
    FROM (SELECT substr(c.head, 14 + ('x' || encode(substr(c.head, 10, 4), 'hex'))::bit(32)::int) AS tail
      WHERE c.kind = 'I' AND r.nsp = 'walpost' AND r.name = 'reissue') t) s ON true
  WHERE (b.commit_lsn < nullif(:'holds_to', '')::pg_lsn OR :'holds_to' = '')
    AND (c.kind = 'I' AND (r.nsp IS DISTINCT FROM 'walpost' OR s.slot = convert_to(:'slot', pg_client_encoding()))
      OR c.kind = 'M' AND get_byte(c.head, 1) & 1 = 1
      AND (:'message_prefix' = '' OR m.prefix = convert_to(:'message_prefix', pg_client_encoding()))))
SELECT count(*) AS held_events,
  coalesce((SELECT count(*) < :holds_max FROM change), true) AS held_all,
  concat_ws(chr(10),
    (SELECT string_agg(concat_ws('  ', '  commit ' || commit_lsn, what, regexp_replace(first, '[[:cntrl:]]', '?', 'g'),
      size || ' bytes'), chr(10) ORDER BY at) FROM (SELECT * FROM event ORDER BY at LIMIT 20) shown),
    CASE WHEN count(*) > 20 THEN format('  and %s more', count(*) - 20) END,
    (SELECT string_agg(format('%s: %s', what, n), chr(10) ORDER BY what)
      FROM (SELECT what, count(*) AS n FROM event GROUP BY what) counted),
    format('%s event%s in %s transaction%s', count(*), CASE count(*) WHEN 1 THEN '' ELSE 's' END,
      count(DISTINCT commit_lsn), CASE count(DISTINCT commit_lsn) WHEN 1 THEN '' ELSE 's' END)) AS held_text
FROM event \gset
\if :ERROR
\set held_known f
\set held_why :LAST_ERROR_MESSAGE
\set ON_ERROR_STOP on
SELECT set_config('walpost.refusal', CASE WHEN :'LAST_ERROR_SQLSTATE' = '42501' THEN
  format('role %s lacks REPLICATION, which is required to use replication slots', current_user) ELSE '' END, false)
  AS refusal
\gset
DO $walpost$ BEGIN IF current_setting('walpost.refusal') <> '' THEN
  RAISE EXCEPTION '%', current_setting('walpost.refusal'); END IF; END $walpost$;
\else
\set held_known t
\set held_why ''
\endif
\set ON_ERROR_STOP on

-- Older servers fail in this case; and the publication certainly existed all the time if its row is older than the
-- slot's catalog_xmin. There is no other way to detect it, because a warning only reaches the terminal.
SELECT format('See the server''s warning above that it skipped loading publication %s: changes written before the '
  'publication was created are not listed here, and a relay cannot read them from this slot.', p.pubname)
FROM pg_publication p, pg_replication_slots s
WHERE p.pubname = :'publication' AND s.slot_name = :'slot' AND :'held_known'::bool
  AND current_setting('server_version_num')::int >= 180000 AND age(p.xmin) <= age(s.catalog_xmin);
