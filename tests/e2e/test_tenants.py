"""A pattern of tables is one outbox: a schema for each tenant, also those that come later."""

import json
import re
import time
import uuid

import pytest

from lib.relay import run_command

COLUMNS = "id uuid PRIMARY KEY, aggregatetype text, aggregateid text, type text, payload jsonb"


def _quoted(name):
    return '"' + name.replace('"', '""') + '"'


class Tenants:
    """A stage whose publication has all tables."""

    def __init__(self, stage, *names, columns=COLUMNS):
        self.stage = stage
        self.columns = columns
        self.add(*names)
        stage.sql(f"CREATE PUBLICATION {stage.publication} FOR ALL TABLES WITH (publish = 'insert')")
        stage.create_slot(with_truth=False)
        self.config = {
            "outbox.table": "tenant_*.outbox", "outbox.ignore": "*", "outbox.headers": "${schema}:tenant, ${table}",
            "outbox.key.prefix": "${schema}/", "outbox.topic.replacement": f"{stage.name}.${{routedByValue}}"}

    def add(self, *names, columns="", more=""):
        for name in names:
            self.stage.sql(f"CREATE SCHEMA {_quoted(name)}")
            self.stage.sql(f"CREATE TABLE {_quoted(name)}.outbox ({columns or self.columns}) {more}")

    def insert(self, name, key="1", topic="order", payload="1", table="outbox", connection=None):
        statement = (f"INSERT INTO {_quoted(name)}.{table} (id, aggregatetype, aggregateid, type, payload) "
                     "VALUES (gen_random_uuid(), %s, %s, 'created', %s)")
        if connection is not None:
            connection.execute(statement, (topic, key, payload))
        else:
            self.stage.sql(statement, (topic, key, payload))


@pytest.fixture
def tenants(make_stage):
    def make(*names, **options):
        return Tenants(make_stage(set_up=False), *names, **options)
    return make


def _told(messages):
    return sorted((message.key, message.header("tenant"), message.header("table"), message.value)
                  for message in messages)


@pytest.mark.on("all")
def test_events_of_all_tenants_arrive_with_their_names_also_of_those_that_come_later(tenants):
    shop = tenants("tenant_a", "tenant_b", "other")
    stage = shop.stage
    stage.create_topic()
    relay = stage.relay({**shop.config, "outbox.ignore": "*, other.outbox"})
    shop.insert("tenant_a", payload="1")
    shop.insert("tenant_b", payload="2")
    shop.insert("other", payload="3")  # fits no pattern, and is ignored
    shop.add("tenant_c", 'tenant_"D, 4')
    shop.insert("tenant_c", payload="4")
    shop.insert('tenant_"D, 4', payload="5")
    stage.wait_all_confirmed(relay=relay)
    assert _told(stage.read()) == [
        (b'tenant_"D, 4/1', b'tenant_"D, 4', b"outbox", b"5"), (b"tenant_a/1", b"tenant_a", b"outbox", b"1"),
        (b"tenant_b/1", b"tenant_b", b"outbox", b"2"), (b"tenant_c/1", b"tenant_c", b"outbox", b"4")]
    relay.stop()


@pytest.mark.on("all")
def test_a_partition_has_the_name_of_its_table(tenants):
    shop = tenants("tenant_a")
    stage = shop.stage
    stage.create_topic()
    stage.sql("CREATE SCHEMA tenant_p")
    stage.sql("CREATE TABLE tenant_p.outbox (id uuid, aggregatetype text, aggregateid text, type text, payload jsonb, "
              "day int) PARTITION BY LIST (day)")
    stage.sql("CREATE TABLE tenant_p.outbox_1 PARTITION OF tenant_p.outbox DEFAULT")
    relay = stage.relay({**shop.config, "outbox.leaves": "tenant_*.outbox_*"})
    shop.insert("tenant_p", payload="1")
    stage.sql("CREATE SCHEMA tenant_q")
    stage.sql("CREATE TABLE tenant_q.outbox (LIKE tenant_p.outbox) PARTITION BY LIST (day)")
    stage.sql('CREATE TABLE tenant_q."outbox of, later" PARTITION OF tenant_q.outbox DEFAULT')
    shop.insert("tenant_q", payload="2")
    shop.insert("tenant_a", payload="3")
    stage.wait_all_confirmed(relay=relay)
    assert _told(stage.read()) == [
        (b"tenant_a/1", b"tenant_a", b"outbox", b"3"), (b"tenant_p/1", b"tenant_p", b"outbox", b"1"),
        (b"tenant_q/1", b"tenant_q", b"outbox", b"2")]
    relay.stop()


@pytest.mark.on("all")
@pytest.mark.parametrize("others", [True, False])
def test_a_partition_of_a_tenant_whose_schema_was_dropped_before_it_was_read_stops_the_relay(tenants, others):
    shop = tenants()
    stage = shop.stage
    stage.create_topic(partitions=1)
    stage.sql("CREATE SCHEMA tenant_p")
    stage.sql("CREATE TABLE tenant_p.outbox (id uuid, aggregatetype text, aggregateid text, type text, payload jsonb) "
              "PARTITION BY LIST (type)")
    stage.sql("CREATE TABLE tenant_p.created PARTITION OF tenant_p.outbox DEFAULT")
    if others:
        stage.sql("CREATE SCHEMA tenant_q; "
                  "CREATE TABLE tenant_q.outbox (LIKE tenant_p.outbox) PARTITION BY LIST (type)")
    shop.insert("tenant_p")
    stage.sql("DROP SCHEMA tenant_p CASCADE")
    relay = stage.new_relay(shop.config).start()
    assert relay.wait_exit() == 3
    assert ("publish_via_partition_root" if others else "tenant_p.created") in relay.log_text()
    assert "outbox.leaves" in relay.log_text()
    relay = stage.relay({**shop.config, "outbox.leaves": "tenant_*.created"})
    stage.wait_all_confirmed(relay=relay)
    assert [message.value for message in stage.read()] == [b"1"]
    relay.stop()


@pytest.mark.on("all")
def test_a_topic_for_each_tenant(tenants):
    shop = tenants("tenant_a", "tenant_b")
    stage = shop.stage
    for name in ("tenant_a.order", "tenant_b.order"):
        stage.create_topic(name, partitions=1)
    relay = stage.relay({**shop.config, "outbox.key.prefix": "",
                         "outbox.topic.replacement": f"{stage.name}.${{schema}}.${{routedByValue}}"})
    for number in range(20):
        shop.insert("tenant_a", key=str(number), payload=str(number))
        shop.insert("tenant_b", key=str(number), payload=str(number))
    stage.wait_all_confirmed(relay=relay)
    for tenant in ("tenant_a", "tenant_b"):
        messages = stage.read(f"{tenant}.order")
        assert [message.value for message in messages] == [str(number).encode() for number in range(20)]
        assert {message.header("tenant") for message in messages} == {tenant.encode()}
    relay.stop()


@pytest.mark.on("all")
def test_one_tenant_s_bad_event_parks_its_own_aggregate_only(tenants):
    shop = tenants("tenant_a", "tenant_b")
    stage = shop.stage
    stage.create_topic(partitions=1)
    home = stage.new_relay({**shop.config, "relay.poison": "park"})
    run_command("init", "-c", home.config_file)
    relay = home.start()
    stage.wait_streaming(relay)
    shop.insert("tenant_a", key="7", topic="no topic", payload="1")
    shop.insert("tenant_a", key="7", payload="2")
    shop.insert("tenant_b", key="7", payload="3")
    stage.wait_all_confirmed(relay=relay)
    assert [message.key for message in stage.read()] == [b"tenant_b/7"]
    assert stage.sql("SELECT DISTINCT outbox, key FROM walpost.parked") == [("tenant_a.outbox", "7")]
    listed = run_command("parked", "list", "-c", home.config_file, "--outbox", "tenant_a.outbox")
    assert listed.returncode == 0 and "tenant_a.outbox" in listed.stdout, listed
    relay.reload(stage.config({
        **shop.config, "relay.poison": "park", "outbox.topic.regex": ".*",
        "outbox.topic.replacement": stage.topic()}))
    done = run_command("parked", "retry", "-c", home.config_file, "--all")
    assert done.returncode == 0, done
    relay.wait_until(lambda: stage.sql("SELECT count(*) FROM walpost.parked") == [(0,)], 20, "none is parked")
    assert [message.value for message in stage.read() if message.key == b"tenant_a/7"] == [b"1", b"2"]
    relay.stop()


@pytest.mark.on("all")
def test_an_event_of_a_tenant_is_sent_again(tenants):
    shop = tenants("tenant_a", "tenant_b")
    stage = shop.stage
    stage.create_topic(partitions=1)
    relay = stage.new_relay(shop.config)
    run_command("init", "-c", relay.config_file)
    relay.start()
    stage.wait_streaming(relay)
    shop.insert("tenant_a", payload="1")
    shop.insert("tenant_b", payload="2")
    for name in ("tenant_b", "tenant_a", "tenant_b"):
        stage.sql(f"SELECT walpost.reissue(%s, '{name}.outbox', o, 'again') FROM {name}.outbox o", (stage.slot,))
    stage.wait_all_confirmed(relay=relay)
    assert [(message.key, message.header("tenant")) for message in stage.read()] == [
        (f"{name}/1".encode(), name.encode())
        for name in ("tenant_a", "tenant_b", "tenant_b", "tenant_a", "tenant_b")]
    relay.stop()


@pytest.mark.on("all")
def test_check_counts_the_tables_and_names_what_is_not_published(tenants):
    shop = tenants("tenant_a", "tenant_b")
    stage = shop.stage
    stage.create_topic()
    relay = stage.new_relay(shop.config)
    run_command("init", "-c", relay.config_file)
    checked = run_command("check", "-c", relay.config_file)
    assert checked.returncode == 0, checked.stdout
    assert "2 tables fit the pattern; the newest is tenant_b.outbox" in checked.stdout
    assert "has all tables, also later ones" in checked.stdout
    stage.sql(f"DROP PUBLICATION {stage.publication}")
    stage.publish("tenant_a.outbox")
    checked = run_command("check", "-c", relay.config_file)
    assert "lacks 1 of the 2 tables that fit the pattern" in checked.stdout, checked.stdout


@pytest.mark.on("all")
def test_init_makes_a_publication_of_all_tables_and_no_table(make_stage):
    stage = make_stage(set_up=False)
    relay = stage.new_relay({"outbox.table": "tenant_*.outbox", "outbox.ignore": "*"})
    made = run_command("init", "-c", relay.config_file)
    assert made.returncode == 0, made
    assert stage.sql("SELECT puballtables FROM pg_publication WHERE pubname = %s", (stage.publication,)) == [(True,)]
    assert stage.sql("SELECT count(*) FROM pg_class c JOIN pg_namespace n ON n.oid = relnamespace "
                     "WHERE nspname LIKE 'tenant%'") == [(0,)]
    checked = run_command("check", "-c", relay.config_file)
    assert "has no table yet for a pattern in outbox.table" in checked.stdout


@pytest.mark.on("all")
def test_the_printed_sql_makes_what_init_makes(bare):
    bare.config.update({"outbox.table": "tenant_*.outbox", "outbox.ignore": "*"})
    printed = bare.command("init", "--print-sql")
    assert not re.search(r"CREATE (TABLE|SCHEMA)[^\n]*tenant", printed.stdout)
    done = bare.psql(printed.stdout)
    assert done.returncode == 0, done.stderr
    assert not bare.failures()
    assert bare.sql("SELECT puballtables, pubviaroot FROM pg_publication WHERE pubname = %s",
                    (bare.publication,)) == [(True, True)]


def _found(stage, config, name):
    """The findings of that name about the pattern's outbox."""
    relay = stage.new_relay(config)
    run_command("init", "-c", relay.config_file)
    checked = run_command("check", "-c", relay.config_file, "--json")
    return [found for found in json.loads(checked.stdout)
            if found["name"] == name and found["about"] == config["outbox.table"]]


@pytest.mark.parametrize("make, name, words", [
    ("ALTER TABLE tenant_b.outbox DROP COLUMN type", "table_columns",
     "1 of the 3 tables that fit the pattern lack required columns, such as tenant_b.outbox"),
    ("ALTER TABLE tenant_b.outbox SET UNLOGGED", "table_storage", "a table that fits the pattern is unlogged"),
    ("DROP TABLE tenant_b.outbox; CREATE TABLE tenant_b.outbox (LIKE tenant_a.outbox) PARTITION BY HASH (id); "
     "CREATE TABLE tenant_0.outbox (LIKE tenant_a.outbox)", "publication_root",
     "outbox.ignore (*) has a pattern"),
])
def test_check_looks_at_each_tenant_and_not_only_at_the_newest(tenants, make, name, words):
    shop = tenants("tenant_b", "tenant_a")
    shop.stage.sql("CREATE SCHEMA tenant_0")
    shop.stage.sql(make)
    if name != "publication_root":
        shop.stage.sql("CREATE TABLE tenant_0.outbox (LIKE tenant_a.outbox)")
    (found,) = _found(shop.stage, shop.config, name)
    assert found["level"] == ("fail" if name == "publication_root" else "warn") and words in found["what"], found


@pytest.mark.on(since=15)
@pytest.mark.parametrize("published, name, words", [
    ("tenant_b.outbox WHERE (type <> 'x'), tenant_a.outbox", "publication_filter", "filters rows: (type <> 'x'"),
    ("tenant_b.outbox (id, aggregatetype, aggregateid, payload), tenant_a.outbox", "publication_columns",
     "omits required columns: type"),
])
def test_check_finds_what_the_publication_leaves_out_of_any_tenant(tenants, published, name, words):
    shop = tenants("tenant_b", "tenant_a")
    stage = shop.stage
    stage.sql(f"DROP PUBLICATION {stage.publication}")
    stage.sql("ALTER TABLE tenant_a.outbox ALTER COLUMN type SET NOT NULL")
    stage.publish(published)
    (found,) = _found(stage, shop.config, name)
    assert words in found["what"] and "tenant_b.outbox" in found["cure"], found
    stage.sql(f"DROP PUBLICATION {stage.publication}")
    stage.publish("tenant_b.outbox, tenant_a.outbox")
    (found,) = _found(stage, shop.config, name)
    assert found["level"] == "ok", found


def test_a_table_of_two_patterns_is_of_the_first_and_one_that_is_named_of_its_section(tenants):
    shop = tenants("tenant_vip", "tenant_a")
    stage = shop.stage
    stage.sql("CREATE SCHEMA tenant_x")
    stage.sql("CREATE TABLE tenant_x.outbox (id uuid PRIMARY KEY, topic text, key text, body text)")
    stage.create_topic(partitions=1)
    config = {**shop.config, "outbox.table": None,
              "outbox.a.table": "tenant_v*.outbox", "outbox.a.headers": "${schema}:vip",
              "outbox.b.table": "tenant_*.outbox", "outbox.c.table": "tenant_x.outbox", "outbox.c.route.by": "topic",
              "outbox.c.column.key": "key", "outbox.c.column.payload": "body", "outbox.c.column.type": ""}
    relay = stage.relay(config)
    shop.insert("tenant_vip", payload="1")
    shop.insert("tenant_a", payload="2")
    stage.sql("INSERT INTO tenant_x.outbox VALUES (gen_random_uuid(), 'order', 'k', '3')")
    stage.wait_all_confirmed(relay=relay)
    assert [(m.value, dict(m.headers).get("vip"), dict(m.headers).get("tenant")) for m in stage.read()] == [
        (b"1", b"tenant_vip", None), (b"2", None, b"tenant_a"), (b"3", None, b"tenant_x")]
    checked = run_command("check", "-c", relay.config_file).stdout
    assert "Outbox tenant_*.outbox\n  ok    table: 1 table fits the pattern; the newest is tenant_a.outbox" in checked
    assert "Outbox tenant_v*.outbox\n  ok    table: 1 table fits the pattern" in checked
    findings = json.loads(run_command("check", "-c", relay.config_file, "--json").stdout)
    tables = {"tenant_v*.outbox", "tenant_*.outbox", "tenant_x.outbox"}
    of_outboxes = [found for found in findings if found["about"] in tables]
    assert {found["about"] for found in of_outboxes} == tables
    # The other findings are of the server, where the slots of other tests come and go.
    assert not [found for found in of_outboxes if found["level"] != "ok"]
    relay.stop()


def test_the_types_of_a_pattern_s_columns_are_judged_by_the_newest(tenants):
    shop = tenants("tenant_a", columns=COLUMNS + ", at text")
    config = {**shop.config, "outbox.column.timestamp": "at"}
    (found,) = _found(shop.stage, config, "table_types")
    assert "tenant_a.outbox" in found["what"] and "ALTER TABLE \"tenant_a\".\"outbox\"" in found["cure"], found


@pytest.mark.parametrize("changes, sentence", [
    ({"outbox.message.prefix": "note", "outbox.key.prefix": "${schema}"}, "logical messages have none"),
    ({"outbox.key.prefix": "$schema"}, "$ must begin ${schema} or ${table}"),
    ({"outbox.key.prefix": "a", "outbox.key.format": "json"}, "only a text can have a prefix"),
    ({"outbox.message.prefix": "note", "outbox.topic.replacement": "${schema}.events"}, "logical messages have none"),
    ({"outbox.table": "a_*.outbox", "cleanup.mode": "delete", "outbox.column.inserted": "at"},
     "cleanup removes no rows of a pattern's tables"),
    ({"outbox.table": "a_*.outbox, b_*.outbox"}, "is not one pattern of tables"),
    ({"outbox.table": "a_*.b.c"}, "more than two parts"),
])
def test_what_cannot_be_is_refused(make_stage, changes, sentence):
    relay = make_stage(set_up=False).new_relay(changes)
    shown = run_command("config", "show", "-c", relay.config_file)
    assert shown.returncode == 2 and sentence in shown.stderr, shown


def test_a_replay_is_of_one_tenant(tenants):
    shop = tenants("tenant_a", "tenant_b")
    stage = shop.stage
    stage.create_topic(partitions=1)
    relay = stage.new_relay(shop.config)
    run_command("init", "-c", relay.config_file)
    relay.start()
    stage.wait_streaming(relay)
    shop.insert("tenant_a")
    shop.insert("tenant_b")
    stage.wait_all_confirmed(relay=relay)
    words = ("replay", "-c", relay.config_file, "--key", "1", "--order-by", "id")
    refused = run_command(*words)
    assert refused.returncode == 2 and "stands for many tables: choose one by --outbox SCHEMA.TABLE" in refused.stderr
    unknown = run_command(*words, "--outbox", "other.outbox")
    assert unknown.returncode == 2 and "--outbox other.outbox: no outbox" in unknown.stderr
    done = run_command(*words, "--outbox", "tenant_b.outbox")
    assert done.returncode == 0, done
    stage.wait_all_confirmed(relay=relay)
    assert [message.key for message in stage.read()] == [b"tenant_a/1", b"tenant_b/1", b"tenant_b/1"]
    relay.stop()


def test_diff_makes_the_records_that_the_relay_made_of_all_tenants(tenants):
    shop = tenants("tenant_a", "tenant_B", "tenant_empty", "other")
    shop.add("tenant_p", columns=COLUMNS.replace("PRIMARY KEY", "NOT NULL") + ", n int DEFAULT 1, PRIMARY KEY (id, n)",
             more="PARTITION BY LIST (n)")
    stage = shop.stage
    stage.sql("CREATE TABLE tenant_p.p1 PARTITION OF tenant_p.outbox FOR VALUES IN (1)")
    stage.create_topic()
    relay = stage.relay({**shop.config, "outbox.ignore": "*, other.outbox", "outbox.leaves": "tenant_p.p1"})
    for name in ("tenant_a", "tenant_B", "tenant_p", "other"):
        shop.insert(name)
    stage.wait_all_confirmed(relay=relay)
    same = run_command("diff", "-c", relay.config_file, "--json")
    found = json.loads(same.stdout)
    assert same.returncode == 0 and found["equal"] == 3, same
    assert [table["table"] for table in found["tables"]] == ['"tenant_B".outbox', "tenant_a.outbox", "tenant_p.outbox"]
    relay.stop()


@pytest.mark.on("all")
def test_a_lost_slot_is_made_good_for_all_tenants(tenants):
    """Also for one that came after, and one with a configuration of its own; what is parked is left to the relay."""
    shop = tenants("tenant_a", "tenant_b", "tenant_own", columns=f"{COLUMNS}, n bigint GENERATED ALWAYS AS IDENTITY")
    stage = shop.stage
    stage.create_topic(partitions=1)
    config = {**shop.config, "outbox.own.table": "tenant_own.outbox", "outbox.own.key.prefix": "own/",
              "outbox.own.topic.replacement": stage.topic(), "relay.poison": "park"}
    relay = stage.new_relay(config)
    run_command("init", "-c", relay.config_file)
    relay.start()
    stage.wait_streaming(relay)
    same_id = str(uuid.uuid4())
    put = "INSERT INTO {}.outbox (id, aggregatetype, aggregateid, payload) VALUES (%s, %s, %s, '1')"
    stage.sql(put.format("tenant_a"), (same_id, "no topic", "parked"))
    shop.insert("tenant_b", key="arrived")
    stage.wait_all_confirmed(relay=relay)
    relay.stop()
    stage.sql("SELECT pg_drop_replication_slot(%s)", (stage.slot,))
    shop.add("tenant_late")
    stage.sql(put.format("tenant_b"), (same_id, "order", "same id as a parked one"))
    for name in ("tenant_a", "tenant_late", "tenant_own"):
        for number in range(3):
            shop.insert(name, key="missing", payload=str(number))
    plan = run_command("backfill", "-c", relay.config_file, "--missing", "--order-by", "n", "--dry-run")
    assert plan.returncode == 0 and "would send 10 rows" in plan.stdout, plan
    for name in ("tenant_a", "tenant_b", "tenant_late", "tenant_own"):
        assert f"from table {name}.outbox, in the order of n\n" in plan.stdout, plan
    done = run_command("backfill", "-c", relay.config_file, "--missing", "--order-by", "n")
    assert done.returncode == 0, done
    arrived = {}
    for message in stage.read():
        arrived.setdefault(message.key, []).append(message.value)
    assert arrived == {
        b"tenant_b/arrived": [b"1"], b"tenant_b/same id as a parked one": [b"1"], **{
            key: [b"0", b"1", b"2"] for key in (b"tenant_a/missing", b"tenant_late/missing", b"own/missing")}}
    assert stage.sql("SELECT outbox, key FROM walpost.parked") == [("tenant_a.outbox", "parked")]


def test_dead_letters_of_tenants_are_retried(tenants):
    shop = tenants("tenant_a", "tenant_b")
    stage = shop.stage
    stage.create_topic(partitions=1)
    letters = stage.create_topic("dead", partitions=1)
    config = {**shop.config, "relay.poison": "dead-letter", "relay.dead_letter.topic": stage.topic("dead")}
    relay = stage.new_relay(config)
    run_command("init", "-c", relay.config_file)
    relay.start()
    stage.wait_streaming(relay)
    for name in ("tenant_a", "tenant_b", "tenant_a"):
        shop.insert(name, topic="no topic")
    stage.wait_all_confirmed(relay=relay)
    assert len(stage.read("dead")) == 3, letters
    relay.reload(stage.config({**config, "outbox.topic.regex": ".*", "outbox.topic.replacement": stage.topic()}))
    done = run_command("dead-letters", "retry", "-c", relay.config_file, "--all")
    assert done.returncode == 0, done
    stage.wait_all_confirmed(relay=relay)
    assert [message.key for message in stage.read()] == [b"tenant_a/1", b"tenant_b/1", b"tenant_a/1"]
    relay.stop()


def test_a_dead_letter_of_a_message_is_retried_where_the_tables_are_a_pattern(tenants):
    shop = tenants("tenant_a")
    stage = shop.stage
    stage.create_topic(partitions=1)
    stage.create_topic("dead", partitions=1)
    config = {**shop.config, "outbox.headers": "", "outbox.key.prefix": "", "outbox.message.prefix": "note",
              "relay.poison": "dead-letter", "relay.dead_letter.topic": stage.topic("dead")}
    relay = stage.new_relay(config)
    run_command("init", "-c", relay.config_file)
    relay.start()
    stage.wait_streaming(relay)
    event = {"id": str(uuid.uuid4()), "aggregatetype": "no topic", "aggregateid": "1", "type": "noted",
             "payload": {"n": 1}}
    stage.sql("SELECT pg_logical_emit_message(true, 'note', %s)", (json.dumps(event),))
    shop.insert("tenant_a", topic="no topic")
    stage.wait_all_confirmed(relay=relay)
    assert len(stage.read("dead")) == 2
    relay.reload(stage.config({**config, "outbox.topic.regex": ".*", "outbox.topic.replacement": stage.topic()}))
    done = run_command("dead-letters", "retry", "-c", relay.config_file, "--all")
    assert done.returncode == 0, done
    stage.wait_all_confirmed(relay=relay)
    assert [message.header("type") for message in stage.read()] == [b"noted", b"created"]
    relay.stop()


@pytest.mark.on("all")
def test_rows_come_in_binary_and_types_are_known(tenants):
    shop = tenants("tenant_a", columns="id uuid PRIMARY KEY, aggregatetype text NOT NULL, aggregateid text NOT NULL, "
                   "type text, payload jsonb NOT NULL, n int NOT NULL DEFAULT 7")
    stage = shop.stage
    stage.create_topic(partitions=1)
    relay = stage.relay({**shop.config, "postgres.binary": "on", "outbox.value.format": "json-schema",
                         "outbox.value.columns": "n, ${schema}:tenant"})
    shop.insert("tenant_a", payload='{"a": 1}')
    shop.add("tenant_b")
    shop.insert("tenant_b", payload='{"a": 1}')
    stage.wait_all_confirmed(relay=relay)
    first, second = (json.loads(message.value) for message in stage.read())
    assert [value["payload"]["tenant"] for value in (first, second)] == ["tenant_a", "tenant_b"]
    assert first["schema"]["fields"] == second["schema"]["fields"]
    fields = {field["field"]: field["optional"] for field in first["schema"]["fields"]}
    assert fields["n"] is False and first["payload"]["n"] == "7"
    relay.stop()


def _questions(stage):
    """How many connections of walpost the server has had for this database."""
    return stage.sql("SELECT sessions FROM pg_stat_database WHERE datname = current_database()")[0][0]


def test_a_relay_of_thousands_of_tenants(tenants, scaled):
    """How long it takes to start, its memory, and when the first event of a new tenant arrives."""
    count, active = int(scaled(100, 5_000)), int(scaled(20, 500))
    shop = tenants(columns=f"{COLUMNS}, n bigint GENERATED ALWAYS AS IDENTITY")
    stage = shop.stage
    stage.create_topic(partitions=1)
    for first in range(0, count, 100):
        stage.sql(f"DO $$ BEGIN FOR i IN {first}..{min(first + 100, count) - 1} LOOP "
                  "EXECUTE format('CREATE SCHEMA tenant_%s', i); "
                  f"EXECUTE format('CREATE TABLE tenant_%s.outbox ({shop.columns})', i); END LOOP; END $$")
    began = time.monotonic()
    relay = stage.relay(shop.config)
    started, memory = time.monotonic() - began, relay.rss_kb()
    with stage.connect() as connection:
        for number in range(active):
            shop.insert(f"tenant_{number}", payload=str(number), connection=connection)
    stage.wait_all_confirmed(60, relay)
    late = relay.rss_kb()
    shop.add("tenant_new")
    began = time.monotonic()
    shop.insert("tenant_new", payload="-1")
    stage.wait_all_confirmed(60, relay)
    print(f"{count} tenants, {active} active: streams after {started:.2f} s, RSS {memory} kB, then {late} kB; "
          f"the first event of a new one is confirmed after {time.monotonic() - began:.2f} s")
    assert sorted(int(message.value) for message in stage.read()) == [-1, *range(active)]
    relay.stop()
    stage.wait_released()
    for words in (("diff",), ("backfill", "--missing", "--force", "--dry-run", "--order-by", "n")):
        began = time.monotonic()
        done = run_command(*words, "-c", relay.config_file, deadline=300)
        print(f"{' '.join(words)} reads them in {time.monotonic() - began:.2f} s")
        assert done.returncode == 0, done


def test_thousands_of_tables_cost_no_connection_each(tenants, scaled):
    """Tenants that come while it streams, and rows of tables that are nobody's outbox."""
    shop = tenants("tenant_0")
    stage = shop.stage
    count, foreign = int(scaled(40, 500)), int(scaled(200, 10_000))
    stage.create_topic(partitions=1)
    stage.sql("CREATE SCHEMA many")
    for first in range(0, foreign, 500):
        stage.sql(f"DO $$ BEGIN FOR i IN {first}..{min(first + 500, foreign) - 1} LOOP "
                  "EXECUTE format('CREATE TABLE many.t%s (n int)', i); END LOOP; END $$")
    relay = stage.relay(shop.config)
    memory, before = relay.rss_kb(), _questions(stage)
    began = time.monotonic()
    with stage.connect() as connection:
        for number in range(foreign):
            connection.execute(f"INSERT INTO many.t{number} VALUES (1)")
    for number in range(1, count + 1):
        shop.add(f"tenant_{number}")
        shop.insert(f"tenant_{number}", payload=str(number))
    stage.wait_all_confirmed(120, relay)
    took, sessions = time.monotonic() - began, _questions(stage) - before
    ours = 1 + 3 * count  # of this test: a session for each statement
    print(f"{count} tenants, {foreign} foreign tables: {took:.1f} s, {sessions - ours} sessions beside the test's, "
          f"RSS {memory} kB, then {relay.rss_kb()} kB")
    assert sorted(int(message.value) for message in stage.read()) == list(range(1, count + 1))
    assert sessions - ours < 10 + took
    relay.stop()
