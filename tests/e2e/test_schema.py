"""Tables as people have them: altered, oddly named, partitioned, and not alone in the publication."""

import json
import re
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from lib import process
from lib.checker import check_all
from lib.relay import run_command
from lib.stage import OUTBOX_COLUMNS, identifier
from lib.waiting import holds_for

ROWS = "SELECT gen_random_uuid(), 'order', '1', 'created', '{}'"


def _delivered(stage, count, names=("order",)):
    stage.wait_all_confirmed()
    messages = stage.read(*names)
    assert len(messages) == count
    check_all(messages, stage.truth.events())
    return messages


@pytest.mark.on("all")
def test_the_outbox_may_be_altered_while_we_stream(stage):
    stage.create_topic(partitions=1)
    stage.relay()
    stage.insert()
    stage.sql("ALTER TABLE outbox ADD COLUMN note text DEFAULT 'n'")
    stage.insert()
    stage.sql("ALTER TABLE outbox RENAME COLUMN note TO remark")
    stage.insert()
    stage.sql("ALTER TABLE outbox DROP COLUMN remark")
    stage.insert()
    with stage.transaction() as connection:  # the payload is now the last column, all in one transaction
        stage.insert(connection=connection)
        connection.execute("ALTER TABLE outbox DROP COLUMN aggregateid")
        connection.execute("ALTER TABLE outbox ADD COLUMN aggregateid text")
        connection.execute("ALTER TABLE outbox ALTER COLUMN type TYPE text")
        stage.insert("9", '{"last": true}', connection=connection)
    messages = _delivered(stage, 6)
    assert (messages[-1].key, messages[-1].value) == (b"9", b'{"last": true}')
    assert {m.key for m in messages[:-1]} == {b"1"}


@pytest.mark.on("all")
@pytest.mark.parametrize("old, value, change", [
    ("int", "7", "ALTER aggregateid TYPE text"),
    ("timestamptz", "'2026-01-02 03:04:05+00'", "ALTER aggregateid TYPE text"),
    ("pair", "'(1,2)'", "ALTER aggregateid TYPE text"),
    ("text", "'7'", "ALTER aggregateid TYPE int USING aggregateid::int, ALTER type TYPE bytea USING type::bytea"),
    ("text", "'7'", "DROP type, DROP payload, ADD payload int, ADD type bytea"),
])
def test_rows_from_before_a_change_of_types_that_we_slept_through_arrive_as_they_were(make_stage, old, value, change):
    """A walsender that had looked at the table of today before it decoded would crash here, or send nonsense."""
    stage = make_stage(set_up=False)
    stage.sql("CREATE TYPE pair AS (a int, b int)")
    stage.sql(f"CREATE TABLE outbox (id uuid PRIMARY KEY, aggregatetype text, aggregateid {old}, type text, "
              "payload jsonb)")
    stage.publish("outbox")
    stage.create_slot(with_truth=False)
    stage.create_topic(partitions=1)
    stage.sql(f"""INSERT INTO outbox SELECT gen_random_uuid(), 'order', {value}, 'created', '{{"a": 1}}'
        FROM generate_series(1, 3)""")
    with stage.connect(options="-c timezone=UTC") as connection:
        keys = [key.encode() for (key,) in connection.execute("SELECT aggregateid::text FROM outbox")]
    stage.sql(f"ALTER TABLE outbox {change}")
    started = stage.sql("SELECT pg_postmaster_start_time()")
    relay = stage.relay()
    relay.wait_until(lambda: len(stage.read()) >= 3, 30, "all rows are in Kafka")
    relay.stop()
    records = [(m.key, m.value, dict(m.headers)["type"]) for m in stage.read()]
    assert records == [(key, b'{"a": 1}', b"created") for key in keys]
    assert stage.sql("SELECT pg_postmaster_start_time()") == started and relay.log("stream_broken") == []


@pytest.mark.on("all")
def test_a_change_in_the_moment_we_look_at_the_table_stops_nobody(stage):
    """What the server lists of a publication is of the moment, the columns beside it are of the question's snapshot.
    From PostgreSQL 15 on it opens this catalog in between."""
    catalog = "pg_publication_namespace" if int(stage.postgres.version) >= 15 else "pg_publication_rel"
    stage.create_topic(partitions=1)
    relay = stage.new_relay()
    with stage.connect() as session:
        session.execute(f"BEGIN; LOCK TABLE pg_catalog.{catalog} IN ACCESS EXCLUSIVE MODE")
        relay.start()
        stage.wait_until(lambda: stage.sql("SELECT 1 FROM pg_locks WHERE NOT granted AND database = "
                                           "(SELECT oid FROM pg_database WHERE datname = current_database())"),
                         20, "it waits within its question")
        session.execute("ALTER TABLE outbox DROP COLUMN type, ADD COLUMN type text; COMMIT")
    stage.wait_streaming(relay)
    stage.insert()
    _delivered(stage, 1)


def test_a_needed_column_that_is_renamed_stops_with_code_3_naming_it(stage):
    stage.create_topic(partitions=1)
    relay = stage.relay()
    stage.insert()
    stage.wait_all_confirmed()
    stage.sql("ALTER TABLE outbox RENAME COLUMN payload TO body")
    stage.sql("INSERT INTO outbox (id, aggregatetype, aggregateid, type, body) " + ROWS)
    assert relay.wait_exit() == 3
    assert "payload" in relay.log_text()
    stage.wait_released()
    assert len(stage.read()) == 1
    assert stage.confirmed() < stage.truth.events()[1].end_lsn


def test_the_outbox_may_be_renamed_and_another_take_its_place(stage):
    stage.create_topic(partitions=1)
    relay = stage.relay()
    stage.insert()
    stage.wait_all_confirmed()
    relay.stop()
    with stage.transaction() as connection:
        connection.execute("ALTER TABLE outbox RENAME TO outbox_old")
        connection.execute("CREATE TABLE outbox (LIKE outbox_old INCLUDING ALL)")
        connection.execute(f"ALTER PUBLICATION {stage.publication} SET TABLE outbox")
    stage.insert()
    relay.start()
    _delivered(stage, 2)


@pytest.mark.on("all")
@pytest.mark.parametrize("binary", ["off", "on"])
def test_rows_of_an_outbox_dropped_and_made_anew_are_delivered_from_both(stage, binary):
    stage.create_topic(partitions=1)
    stage.insert()
    stage.sql("DROP TABLE outbox")
    stage.sql(f"CREATE TABLE outbox (note text, {OUTBOX_COLUMNS})")
    stage.sql(f"ALTER PUBLICATION {stage.publication} ADD TABLE outbox")
    stage.insert()
    stage.relay({"postgres.binary": binary})
    _delivered(stage, 2)


@pytest.mark.on("all")
@pytest.mark.parametrize("schema, table", [
    ("public", "Out.Box"),
    ("Sch.ema", 'say "hi"'),
    ("caf\u00e9", "\u51fa\u53e3 box"),
    ("MiXed", "select"),
])
def test_a_table_may_have_any_name(make_stage, schema, table):
    stage = make_stage(set_up=False)
    stage.table = f"{identifier(schema)}.{identifier(table)}"
    stage.sql(f"CREATE SCHEMA IF NOT EXISTS {identifier(schema)}")
    stage.sql(f"CREATE TABLE {stage.table} ({OUTBOX_COLUMNS})")
    stage.publish(stage.table)
    stage.create_slot()
    stage.create_topic()
    stage.relay()
    stage.insert()
    _delivered(stage, 1)


@pytest.mark.on("all")
def test_a_publication_may_have_any_name(make_stage):
    stage = make_stage(set_up=False)
    name = 'My "Events", v1.\u00e9'
    stage.sql(f"CREATE TABLE outbox ({OUTBOX_COLUMNS})")
    stage.sql(f"CREATE PUBLICATION {identifier(name)} FOR TABLE outbox WITH (publish = 'insert')")
    stage.create_slot()
    stage.create_topic()
    stage.relay({"postgres.publication": name})
    stage.insert()
    _delivered(stage, 1)


# --- partitions

LEAVES = """
    CREATE TABLE outbox (day int NOT NULL, id uuid, aggregatetype text, aggregateid text, type text, payload jsonb)
        PARTITION BY RANGE (day);
    CREATE TABLE outbox_1 PARTITION OF outbox FOR VALUES FROM (1) TO (2);
    CREATE TABLE outbox_2 (payload jsonb, type text, id uuid, aggregatetype text, aggregateid text, day int NOT NULL);
    ALTER TABLE outbox ATTACH PARTITION outbox_2 FOR VALUES FROM (2) TO (3);
"""


def _partitioned(make_stage, via_root, **options):
    stage = make_stage(set_up=False, **options)
    stage.sql(LEAVES)
    stage.publish("outbox", options=f"publish = 'insert', publish_via_partition_root = {via_root}")
    stage.create_slot()
    stage.create_topic(partitions=1)
    return stage


def _insert_into(stage, *days):
    for day in days:
        stage.sql("""INSERT INTO outbox (day, id, aggregatetype, aggregateid, type, payload)
                      SELECT %s, gen_random_uuid(), 'order', 'k', 'day', jsonb_build_object('day', %s::int)""",
                  (day, day))


@pytest.mark.alone
def test_a_start_while_a_partition_is_locked_waits_and_leaves_no_sessions_behind(make_stage, own_postgres):
    stage = _partitioned(make_stage, "true", postgres=own_postgres)  # the lock's transaction holds up new slots
    with stage.transaction() as connection:
        connection.execute("LOCK TABLE outbox_1 IN ACCESS EXCLUSIVE MODE")
        relay = stage.new_relay().start()
        relay.wait_log("an outbox or a partition of it is locked", 60, count=2)
        sessions = ("SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() "
                    "AND application_name = 'walpost' AND backend_type = 'client backend'")
        stage.wait_until(lambda: stage.sql(sessions)[0][0] <= 1, 5, "no session is left behind")
    stage.wait_streaming(relay, 40)
    _insert_into(stage, 1)
    _delivered(stage, 1)


@pytest.mark.on("all")
@pytest.mark.parametrize("via_root", ["true", "false"])
def test_a_partitioned_outbox_is_one_outbox(make_stage, via_root):
    stage = _partitioned(make_stage, via_root)
    stage.relay()
    _insert_into(stage, 1, 2, 1, 2)
    stage.sql("CREATE TABLE outbox_3 PARTITION OF outbox FOR VALUES FROM (3) TO (4)")
    _insert_into(stage, 3, 1)
    messages = _delivered(stage, 6)
    assert [m.value for m in messages] == [b'{"day": %d}' % day for day in (1, 2, 1, 2, 3, 1)]


@pytest.mark.on("all")
@pytest.mark.parametrize("via_root", ["true", "false"])
def test_an_update_that_moves_a_row_to_another_partition_is_an_event_again(make_stage, via_root):
    stage = _partitioned(make_stage, via_root)
    stage.relay()
    _insert_into(stage, 1)
    stage.sql("UPDATE outbox SET day = 2")
    stage.wait_all_confirmed()
    first, second = stage.read()
    assert first.id == second.id and first.position < second.position


@pytest.mark.on("all")
@pytest.mark.parametrize("gone", ["detached", "dropped"])
@pytest.mark.parametrize("via_root", ["true", "false"])
def test_rows_of_a_leaf_that_is_gone_are_delivered(make_stage, via_root, gone):
    stage = _partitioned(make_stage, via_root)
    _insert_into(stage, 1, 2, 1)
    stage.sql("ALTER TABLE outbox DETACH PARTITION outbox_1")
    if gone == "dropped":
        stage.sql("DROP TABLE outbox_1")
    stage.relay({"outbox.leaves": "public.outbox_*"})
    messages = _delivered(stage, 3)
    assert [m.value for m in messages] == [b'{"day": 1}', b'{"day": 2}', b'{"day": 1}']


def test_a_leaf_that_is_gone_and_not_covered_stops_with_code_3_and_the_way_on(make_stage):
    stage = _partitioned(make_stage, "false")
    _insert_into(stage, 1)
    stage.sql("DROP TABLE outbox_1")
    relay = stage.new_relay().start()
    assert relay.wait_exit() == 3
    assert "outbox_1" in relay.log_text() and "outbox.leaves" in relay.log_text()
    assert stage.read() == []
    assert stage.confirmed() < stage.truth.events()[0].end_lsn


def _all_tables(make_stage, tables=LEAVES):
    """Its partitions come under their own names, as in a publication that Debezium makes."""
    stage = make_stage(set_up=False)
    stage.sql(tables)
    stage.sql(f"CREATE PUBLICATION {stage.publication} FOR ALL TABLES WITH (publish = 'insert')")
    stage.create_slot(with_truth=False)
    stage.create_topic(partitions=1)
    return stage


def _stops_at_the_start(stage, changes):
    before = stage.confirmed()
    relay = stage.new_relay({"outbox.ignore": "*", **changes}).start()
    assert relay.wait_exit() == 3
    assert stage.read() == []
    stage.wait_released()
    assert stage.confirmed() == before
    return relay


def _failures(relay):
    done = run_command("check", "-c", relay.config_file, "--json")
    return {found["name"]: found for found in json.loads(done.stdout) if found["level"] == "fail"}


@pytest.mark.on("all")
@pytest.mark.parametrize("gone", ["SELECT", "ALTER TABLE outbox DETACH PARTITION outbox_1", "DROP TABLE outbox_1"])
def test_partitions_under_their_own_names_are_refused_beside_a_pattern_of_ignored_tables(make_stage, gone):
    stage = _all_tables(make_stage)
    _insert_into(stage, 1, 2)
    stage.sql(gone)
    relay = _stops_at_the_start(stage, {})
    assert "publish_via_partition_root" in relay.log_text() and "outbox.leaves" in relay.log_text()
    found = _failures(relay)["publication_root"]
    assert "publish_via_partition_root = true" in found["cure"] and "outbox.leaves" in found["cure"]
    relay = stage.relay({"outbox.ignore": "*", "outbox.leaves": "outbox_*"})
    stage.wait_until(lambda: [m.value for m in stage.read()] == [b'{"day": 1}', b'{"day": 2}'], 20, "both are there")
    relay.stop()


VIA_ROOT = "ALTER PUBLICATION {publication} SET (publish_via_partition_root = true);"
PLAIN = f"CREATE TABLE outbox ({OUTBOX_COLUMNS}, day int);"


@pytest.mark.on("all")
@pytest.mark.parametrize("before, after, table", [
    (LEAVES, VIA_ROOT + "DROP TABLE outbox_1", "outbox_1"),
    (LEAVES, VIA_ROOT + "DROP TABLE outbox_1; CREATE TABLE outbox_1 (n int)", "outbox_1"),
    (LEAVES, VIA_ROOT + "ALTER TABLE outbox DETACH PARTITION outbox_1; ALTER TABLE outbox_1 RENAME TO old", "outbox_1"),
    (LEAVES, "DROP TABLE outbox; " + PLAIN, "outbox_1"),
    (PLAIN, "ALTER TABLE outbox RENAME TO events", "outbox"),
    (PLAIN + "CREATE TABLE child () INHERITS (outbox); CREATE RULE r AS ON INSERT TO outbox DO INSTEAD"
     " INSERT INTO child VALUES (new.*)", "ALTER TABLE child NO INHERIT outbox;" + VIA_ROOT, "child"),
    (PLAIN + "CREATE TABLE child () INHERITS (outbox); CREATE RULE r AS ON INSERT TO outbox DO INSTEAD"
     " INSERT INTO child VALUES (new.*)", "DROP TABLE child CASCADE;" + VIA_ROOT, "child"),
], ids=["dropped", "made anew", "detached", "outbox made anew", "outbox renamed", "inherited", "dropped child"])
def test_a_row_of_a_table_with_the_columns_of_an_outbox_is_ignored_by_its_exact_name_only(
        make_stage, before, after, table):
    """What it was a partition of, the catalog does not say any more; or it never was one."""
    stage = _all_tables(make_stage, before)
    _insert_into(stage, 1)
    stage.sql(after.format(publication=stage.publication))
    changes = {"outbox.table": "events"} if table == "outbox" else {}
    relay = _stops_at_the_start(stage, changes)
    (line,) = relay.log("stream_refused")
    assert f"public.{table}" in line["reason"] and "outbox.leaves" in line["reason"]
    assert re.search("at [0-9A-F]+/[0-9A-F]+", line["reason"])
    found = _failures(relay)["slot_holds_foreign"]
    assert f"1 of public.{table}" in found["what"] and f"-- set outbox.ignore = *, public.{table}" in found["cure"]
    stage.relay({"outbox.ignore": "*", "outbox.leaves": f"public.{table}", **changes})
    stage.wait_until(lambda: [m.value for m in stage.read()] == [b'{"day": 1}'], 20, "the event is there")


@pytest.mark.on("all")
def test_rows_of_a_dropped_table_that_is_nothing_like_an_outbox_are_ignored_by_a_pattern(make_stage):
    others = "CREATE TABLE scratch (id uuid, payload jsonb); CREATE TABLE old (LIKE outbox)"
    stage = _all_tables(make_stage, LEAVES + others)
    stage.sql("INSERT INTO scratch DEFAULT VALUES; INSERT INTO old (day) VALUES (1)")
    stage.sql("DROP TABLE scratch, old")
    _insert_into(stage, 1)
    stage.relay({"outbox.ignore": "*, public.old", "outbox.leaves": "public.outbox_*"})
    stage.wait_until(lambda: [m.value for m in stage.read()] == [b'{"day": 1}'], 20, "the event is there")


# --- what else is in the stream

def test_updates_deletes_and_truncates_of_the_outbox_are_ignored_and_counted(make_stage):
    stage = make_stage(set_up=False)
    stage.sql(f"CREATE TABLE outbox ({OUTBOX_COLUMNS})")
    stage.publish("outbox", options="publish = 'insert, update, delete, truncate'")
    stage.create_slot()
    stage.create_topic()
    relay = stage.relay()
    for _ in range(3):
        stage.insert()
    stage.sql("UPDATE outbox SET type = 'other'")
    stage.sql("DELETE FROM outbox WHERE id IN (SELECT id FROM outbox LIMIT 2)")
    stage.sql("TRUNCATE outbox")
    _delivered(stage, 3)
    relay.stop()
    said = relay.log_text()
    assert "updates_ignored=3" in said and "deletes_ignored=2" in said and "truncates_ignored=1" in said


def test_a_row_of_a_table_that_nobody_configured_stops_with_code_3(stage):
    stage.create_topic()
    stage.sql("CREATE TABLE audit (n int PRIMARY KEY)")
    stage.sql(f"ALTER PUBLICATION {stage.publication} ADD TABLE audit")
    relay = stage.relay()
    stage.insert()
    stage.wait_all_confirmed()
    stage.sql("INSERT INTO audit VALUES (1)")
    lsn = stage.wal_end()
    stage.insert()
    assert relay.wait_exit() == 3
    assert "audit" in relay.log_text() and "outbox.ignore" in relay.log_text()
    stage.wait_released()
    assert stage.confirmed() < lsn
    assert len(stage.read()) == 1


def test_a_row_of_a_table_that_is_ignored_is_passed_over(stage):
    stage.create_topic()
    stage.sql("CREATE TABLE audit (n int PRIMARY KEY)")
    stage.sql(f"ALTER PUBLICATION {stage.publication} ADD TABLE audit")
    stage.relay({"outbox.ignore": "public.aud*"})
    stage.sql("INSERT INTO audit VALUES (1)")
    stage.insert()
    _delivered(stage, 1)


@pytest.mark.alone
def test_two_thousand_tables_of_others_cost_no_connection_each_and_a_new_stream_asks_nothing_for_what_lies_before_it(
        make_stage, own_postgres, record_property):
    """publish_via_partition_root is off, as in FOR ALL TABLES: any of them could be a partition of the outbox."""
    stage = make_stage(postgres=own_postgres, set_up=False)
    own_postgres.set_conf(log_connections="on")
    stage.sql(LEAVES)
    stage.sql("DO $$ BEGIN FOR i IN 1..2000 LOOP EXECUTE format('CREATE TABLE other_%s (n int)', i);"
              " IF i % 200 = 0 THEN COMMIT; END IF; END LOOP; END $$")
    stage.sql(f"CREATE PUBLICATION {stage.publication} FOR ALL TABLES WITH (publish = 'insert')")
    stage.create_slot(with_truth=False)
    stage.create_topic(partitions=1)

    def one_row_in_each():
        stage.sql("DO $$ BEGIN FOR i IN 1..2000 LOOP EXECUTE format('INSERT INTO other_%s VALUES (1)', i);"
                  " COMMIT; END LOOP; END $$")
        _insert_into(stage, 1)

    def delivered(count):
        relay.wait_until(lambda: len(stage.read()) == count, 60, f"{count} events are in Kafka")

    def connections():
        return own_postgres.log_since(mark).count("application_name=walpost")

    relay = stage.relay({"outbox.ignore": "public.other_*", "outbox.leaves": "public.outbox_*", "log.level": "debug"})
    mark, began = own_postgres.log_size(), time.monotonic()
    one_row_in_each()
    delivered(1)
    record_property("live", f"{time.monotonic() - began:.1f} s, {connections()} connections")
    assert connections() < 20  # one in ten seconds, beside what is asked every two
    relay.stop()
    one_row_in_each()
    mark, began = own_postgres.log_size(), time.monotonic()
    relay.start()
    delivered(2)
    record_property("backlog", f"{time.monotonic() - began:.1f} s, {connections()} connections")
    assert connections() < 8
    assert len([line for line in relay.log("state") if "no_room" in line["reason"]]) < 400  # it was one for each table


@pytest.mark.on("all")
def test_rows_of_a_table_that_became_a_partition_arrive_though_all_is_ignored(make_stage):
    """The server tells of a relation anew when it, or one above it, was attached; also before our first look."""
    stage = make_stage(set_up=False)
    stage.sql(LEAVES)
    stage.sql("""
        CREATE TABLE plain (LIKE outbox);
        CREATE TABLE early (LIKE outbox);
        CREATE TABLE middle (LIKE outbox) PARTITION BY RANGE (day);
        CREATE TABLE below PARTITION OF middle FOR VALUES FROM (5) TO (7);
    """)
    stage.sql(f"CREATE PUBLICATION {stage.publication} FOR ALL TABLES WITH (publish = 'insert')")
    stage.create_slot(with_truth=False)
    stage.create_topic(partitions=1)
    relay = stage.relay({"outbox.ignore": "*, plain, below", "outbox.leaves": "outbox_*"})
    row = "INSERT INTO {} (day) VALUES ({})"
    stage.sql(row.format("plain", 3))
    stage.sql(row.format("below", 5))
    _insert_into(stage, 1)
    stage.wait_until(lambda: len(stage.read()) == 1, 20, "the outbox's event is there")  # the others were passed over
    stage.sql("ALTER TABLE outbox ATTACH PARTITION plain FOR VALUES FROM (3) TO (4)")
    stage.sql("ALTER TABLE outbox ATTACH PARTITION early FOR VALUES FROM (4) TO (5)")
    stage.sql("ALTER TABLE outbox ATTACH PARTITION middle FOR VALUES FROM (5) TO (7)")
    _insert_into(stage, 3, 4, 5, 6)
    with stage.transaction() as connection:  # made and filled by one transaction
        connection.execute("CREATE TABLE outbox_7 PARTITION OF outbox FOR VALUES FROM (7) TO (8)")
        connection.execute("""INSERT INTO outbox (day, id, aggregatetype, aggregateid, type, payload)
                              VALUES (7, gen_random_uuid(), 'order', 'k', 'day', '{"day": 7}')""")
    days = [b'{"day": %d}' % day for day in (1, 3, 4, 5, 6, 7)]
    stage.wait_until(lambda: [m.value for m in stage.read()] == days, 20, "what was attached brings events")
    stage.sql("ALTER TABLE outbox DETACH PARTITION plain")
    stage.sql(row.format("plain", 3))
    _insert_into(stage, 1)
    stage.wait_until(lambda: len(stage.read()) >= 7, 20, "the next event is there")
    assert [m.value for m in stage.read()] == days + days[:1]  # the row of what is no partition any more is none
    relay.stop()


def test_a_partition_whose_transaction_is_not_visible_yet_is_waited_for(make_stage, own_postgres):
    """A commit that waits for a synchronous standby is in the log, and streamed, before any other session sees it."""
    stage = _partitioned(make_stage, "false", postgres=own_postgres)
    relay = stage.relay({"outbox.ignore": "*", "outbox.leaves": "outbox_*", "log.level": "debug"})
    own_postgres.set_conf(synchronous_standby_names="nobody")
    waiting = "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'SyncRep'"
    with stage.connect() as connection, ThreadPoolExecutor(1) as pool:
        committed = pool.submit(connection.execute, """
            BEGIN;
            CREATE TABLE outbox_3 PARTITION OF outbox FOR VALUES FROM (3) TO (4);
            INSERT INTO outbox (day, id, aggregatetype, aggregateid, type, payload)
                VALUES (3, gen_random_uuid(), 'order', 'k', 'day', '{"day": 3}');
            COMMIT""")
        stage.wait_until(lambda: stage.sql(waiting) == [(1,)], 10, "the commit waits")
        relay.wait_log("streaming -> paused", 10)  # the row has come
        holds_for(relay.is_alive, 2, "it waits as well")
        own_postgres.set_conf(synchronous_standby_names="")
        committed.result(20)
    messages = _delivered(stage, 1)
    assert messages[0].value == b'{"day": 3}'


def test_commits_that_wait_for_us_are_not_held_up_by_the_question_whose_partition_it_is(make_stage, own_postgres):
    """They are visible only once we have confirmed them: an answer that covers all that has ended never comes."""
    stage = make_stage(postgres=own_postgres, set_up=False)
    stage.sql(LEAVES)
    stage.sql("CREATE TABLE other (n int)")
    stage.sql(f"CREATE PUBLICATION {stage.publication} FOR ALL TABLES WITH (publish = 'insert')")
    stage.create_slot(with_truth=False)
    stage.create_topic(partitions=1)
    relay = stage.relay({"postgres.allow_synchronous": "yes", "outbox.ignore": "*", "outbox.leaves": "outbox_*",
                         "relay.feedback.interval": "10ms"})
    own_postgres.set_conf(synchronous_standby_names="walpost")
    synchronous = "SELECT sync_state FROM pg_stat_replication"
    stage.wait_until(lambda: stage.sql(synchronous) == [("sync",)], 10, "we are synchronous")
    with ThreadPoolExecutor(1) as pool:
        committed = [pool.submit(_insert_into, stage, 1), pool.submit(stage.sql, "INSERT INTO other VALUES (1)"),
                     pool.submit(_insert_into, stage, 2)]
        try:
            for one in committed:
                one.result(20)
        finally:
            own_postgres.set_conf(synchronous_standby_names="")  # or they would wait for ever
    stage.wait_until(lambda: len(stage.read()) == 2, 20, "both events are there")
    relay.stop()


def test_logical_messages_of_others_are_passed_over_and_confirmed(stage):
    stage.create_topic()
    relay = stage.relay()
    stage.sql("SELECT pg_logical_emit_message(true, 'foreign', repeat('x', 100000))")
    stage.sql("SELECT pg_logical_emit_message(false, 'foreign', 'y')")
    stage.insert()
    with stage.transaction() as connection:
        stage.insert(connection=connection)
        connection.execute("SELECT pg_logical_emit_message(false, 'foreign', 'z')")
        connection.execute("SELECT pg_logical_emit_message(true, 'foreign', 'z')")
        connection.execute("SELECT pg_logical_emit_message(true, '', 'z')")
        stage.insert(connection=connection)
    messages = _delivered(stage, 3)
    assert sorted(m.position[-8:] for m in messages) == ["00000000", "00000000", "00000003"]
    said = [line["reason"].split(" is not an event")[0] for line in relay.log("message_ignored")]
    assert sorted(prefix for prefix in said if not prefix.endswith("test")) == [
        "a logical message of prefix ", "a logical message of prefix foreign"]


@pytest.mark.on("all")
def test_a_publication_dropped_while_we_stream_is_noticed_and_nothing_is_confirmed_past_it(stage):
    stage.create_topic()
    relay = stage.relay()
    stage.insert()
    stage.wait_all_confirmed()
    stage.sql(f"DROP PUBLICATION {stage.publication}")
    stage.insert()
    lost = stage.truth.events()[1]
    assert relay.wait_exit(60) == 3
    assert stage.publication in relay.log_text()
    stage.wait_released()
    assert stage.confirmed() < lost.end_lsn


def test_a_slot_dropped_and_made_anew_while_we_stream_is_noticed(stage):
    stage.create_topic()
    relay = stage.relay()
    stage.insert()
    stage.wait_all_confirmed()
    with stage.connect() as connection:
        process.pause(relay.pid)  # or it may be back before the slot is gone
        connection.execute("SELECT pg_terminate_backend(%s)", (stage.slot_row()[2],))
        stage.wait_released()
        connection.execute("SELECT pg_drop_replication_slot(%s)", (stage.slot,))
        stage.insert(connection=connection)
        connection.execute("SELECT pg_create_logical_replication_slot(%s, 'pgoutput')", (stage.slot,))
        process.resume(relay.pid)
    assert relay.wait_exit(40) == 3
    assert stage.slot in relay.log_text()


def test_an_enum_a_domain_and_an_array_are_sent_as_postgres_prints_them(make_stage):
    stage = make_stage(set_up=False)
    stage.sql("CREATE TYPE kind AS ENUM ('order', 'mail')")
    stage.sql("CREATE DOMAIN word AS text CHECK (value <> '')")
    stage.sql("CREATE TABLE outbox (id bigint PRIMARY KEY, aggregatetype kind, aggregateid word, type word, "
              "payload text, tags text[])")
    stage.publish("outbox")
    stage.create_slot()
    stage.create_topic()
    stage.relay({"outbox.headers": "tags"})
    stage.sql("""INSERT INTO outbox VALUES (1, 'order', 'k', 't', 'p', '{a,"b c"}')""")
    (message,) = _delivered(stage, 1)
    assert message.key == b"k" and message.header("tags") == b'{a,"b c"}'
    holds_for(stage.is_streaming, 0.2, "it streams")
