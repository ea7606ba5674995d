"""walpost.reissue: what is inserted there is sent once more, as the event that a row of the outbox would be."""

import base64
import json

import psycopg
import pytest

from e2e.test_http import _value
from lib import places
from lib.asked import get
from lib.relay import config_text, run_command

SCRIPT = places.TREE / "sql" / "reissue.sql"
MESSAGE = '{"id": "m-1", "aggregatetype": "order", "aggregateid": "7", "type": "placed", "payload": {"n": 1}}'

# One of each type that has two forms, or whose text depends on settings.
TYPES = """
    id uuid PRIMARY KEY, aggregatetype text NOT NULL, aggregateid bigint, type varchar(20), payload {payload},
    gone text, c_bool boolean, c_small smallint, c_num numeric(12,3), c_free numeric, c_real real,
    c_double double precision, c_date date, c_time time, c_ts timestamp(3), c_tstz timestamptz, c_interval interval,
    c_bytea bytea, c_char char(5), c_chr "char", c_texts text[], c_times timestamptz[], c_mood mood, c_dom amount,
    c_json json, c_null text, at timestamptz NOT NULL DEFAULT '2021-03-04 05:06:07.891+00'
"""
ROW = """
    INSERT INTO outbox (id, aggregatetype, aggregateid, type, payload, c_bool, c_small, c_num, c_free, c_real, c_double,
        c_date, c_time, c_ts, c_tstz, c_interval, c_bytea, c_char, c_chr, c_texts, c_times, c_mood, c_dom, c_json)
    VALUES (%s, 'order', 77, 'made', %s, true, -3, 1.5, 1e-20, 0.1, 'NaN', '2020-02-29', '01:02:03.4',
        '2020-02-29 01:02:03.456', '2020-02-29 01:02:03.456789+05', '1 year 2 days -03:04', '\\x00ff', 'ab', 'x',
        '{a,"b \\"c",NULL}', '{2020-01-01 00:00+02}', 'so so', 2.50, '{"a" : 1}')
"""
FURTHER = ("c_bool c_small c_num c_free c_real c_double c_date c_time c_ts c_tstz c_interval c_bytea c_char c_chr "
           "c_texts c_times c_mood c_dom c_json c_null").split()
HEADERS = ",".join(FURTHER)
DEBEZIUM = ",".join(name for name in FURTHER if name not in ("c_interval", "c_dom"))
CLOUDEVENT = {"outbox.cloudevents.source": "/orders", "outbox.column.timestamp": "at"}
SHAPES = {
    "raw": {"outbox.headers": HEADERS},
    "bytea": {"payload": "bytea"},
    "text": {"payload": "text", "outbox.column.timestamp": "at"},
    "json": {"outbox.value.format": "json", "outbox.value.columns": HEADERS, "outbox.key.format": "json",
             "outbox.headers": HEADERS, "outbox.headers.format": "json"},
    "json-schema": {"outbox.value.format": "json-schema", "outbox.value.columns": HEADERS,
                    "outbox.headers": HEADERS, "outbox.headers.format": "json-schema"},
    "expand": {"outbox.value.format": "json-schema", "outbox.payload.json": "expand", "outbox.types": "debezium",
               "outbox.value.columns": DEBEZIUM},
    "debezium": {"outbox.types": "debezium", "outbox.headers": DEBEZIUM, "outbox.headers.format": "json-schema",
                 "outbox.key.format": "json-schema", "outbox.value.format": "json-schema",
                 "outbox.value.columns": DEBEZIUM},
    "debezium-plain": {"outbox.types": "debezium", "outbox.headers": DEBEZIUM},
    "cloudevents-binary": {**CLOUDEVENT, "outbox.envelope": "cloudevents-binary"},
    "cloudevents-json": {**CLOUDEVENT, "outbox.envelope": "cloudevents-json", "payload": "bytea"},
    "cloudevents-protobuf": {**CLOUDEVENT, "outbox.envelope": "cloudevents-protobuf"},
    "protobuf": {"outbox.envelope": "protobuf", "outbox.column.timestamp": "at"},
    "columns-missing": {"outbox.headers": "gone,nothing", "outbox.columns.missing": "ignore",
                        "outbox.headers.standard": ""},
}
TEXT_ONLY = {"raw", "json", "json-schema"}  # an interval has no binary form that is read
PAYLOADS = {"jsonb": '{"n": [1, {"m": "\u00e9\\n"}]}', "text": 'a "text"\n\\', "bytea": "\\x00ff22"}


def prepare(stage):
    stage.sql(SCRIPT.read_text())


def reissue(stage, where="true", table=None, outbox=None, slot=None, reason="parked", position=None, connection=None):
    """Each row in a transaction of its own."""
    statement = (f"SELECT walpost.reissue(%s, %s, o, %s, %s) FROM {table or stage.table} o WHERE {where}")
    parameters = (slot or stage.slot, outbox or table or stage.table, reason, position)
    if connection is not None:
        connection.execute(statement, parameters)
    else:
        stage.sql(statement, parameters)


def stdout_relay(stage, changes=None):
    return stage.relay({"relay.sink": "stdout", **(changes or {})})


def lines(relay):
    return [json.loads(line) for line in relay.stdout_text().splitlines(keepends=True) if line.endswith("\n")]


def header(line, name):
    for one in line["headers"]:
        if one["name"] == name:
            return one.get("value")
    return None


def without_ours(line, timestamp=True, protobuf=False):
    """The record without what must differ: its position, and that it was sent before."""
    rest = {key: value for key, value in line.items() if key != "position" and (timestamp or key != "timestamp")}
    rest["headers"] = [h for h in line["headers"] if h["name"] not in ("walpost-position", "walpost-reissued")]
    if protobuf:
        rest["value_base64"] = protobuf_without_ours(base64.b64decode(line["value_base64"]))
    return rest


def protobuf_without_ours(message):
    """The fields of a walpost.v1.Event but the headers that must differ; all of them have a length."""
    fields, at = [], 0
    while at < len(message):
        start, size, shift = at, 0, 0
        at += 1
        while message[at] & 0x80:
            size |= (message[at] & 0x7F) << shift
            at, shift = at + 1, shift + 7
        at += 1 + (size | message[at] << shift)
        if b"walpost-position" not in message[start:at] and b"walpost-reissued" not in message[start:at]:
            fields.append(message[start:at])
    return fields


def ids(some):
    return [line["id"] if "id" in line else header(line, "id") for line in some]


def wait_older_than_the_slot(stage, relay):
    """Until the server has let go of the catalog from before the publication: then it is certain that it existed at
    each place that the slot holds. A new slot holds what the oldest one on the server does."""
    def is_older():
        stage.insert()
        stage.postgres.query("CHECKPOINT")
        return stage.sql(
            """SELECT age(p.xmin) > age(s.catalog_xmin) FROM pg_publication p, pg_replication_slots s
               WHERE p.pubname = 'walpost_reissue' AND s.slot_name = %s""", (stage.slot,)) == [(True,)]

    relay.wait_until(is_older, 30, "the publication is older than what the slot holds")


def is_read(stage):
    """What a command asks before it inserts: does the process that reads the slot read walpost.reissue?"""
    return stage.sql(
        """SELECT a.query LIKE '%%walpost_reissue%%' FROM pg_replication_slots s JOIN pg_stat_activity a
           ON a.pid = s.active_pid WHERE s.slot_name = %s""", (stage.slot,)) == [(True,)]


@pytest.mark.on("all")
@pytest.mark.parametrize("binary", ["off", "on"])
@pytest.mark.parametrize("shape", SHAPES)
def test_a_row_is_the_record_that_it_was(make_stage, shape, binary):
    """But for position and header; the caller's settings and what the table is by now change nothing."""
    if binary == "on" and shape in TEXT_ONLY:
        pytest.skip("a type that is not read in binary")
    changes = dict(SHAPES[shape])
    payload = changes.pop("payload", "jsonb")
    stage = make_stage(set_up=False)
    stage.sql("CREATE TYPE mood AS ENUM ('sad', 'so so'); CREATE DOMAIN amount AS numeric(8,2)")
    stage.sql(f"CREATE TABLE outbox ({TYPES.format(payload=payload)}); ALTER TABLE outbox DROP COLUMN gone")
    prepare(stage)
    stage.publish("outbox")
    stage.create_slot(with_truth=False)
    relay = stdout_relay(stage, {**changes, "postgres.binary": binary})
    id = "00000000-0000-4000-8000-000000000001"
    stage.sql(ROW, (id, PAYLOADS[payload]))
    with stage.connect() as connection:
        for setting in ("DateStyle = 'German, DMY'", "TimeZone = 'Asia/Tokyo'", "IntervalStyle = 'iso_8601'",
                        "bytea_output = 'escape'", "extra_float_digits = -5"):
            connection.execute(f"SET {setting}")
        reissue(stage, connection=connection, position="0001-00000001-0000000000000010-00000000")
    stage.sql("ALTER TABLE outbox ADD COLUMN later text")
    reissue(stage, reason="again")
    stage.wait_all_confirmed(relay=relay)
    first, second, third = lines(relay)
    has_time = "outbox.column.timestamp" in changes
    assert header(first, "walpost-reissued") is None
    assert header(second, "walpost-reissued") == "parked; 0001-00000001-0000000000000010-00000000"
    assert header(third, "walpost-reissued") == "again"
    is_protobuf = shape == "protobuf"
    for again in (second, third):
        assert without_ours(again, has_time, is_protobuf) == without_ours(first, has_time, is_protobuf)
    if is_protobuf:
        assert b"walpost-reissued" in base64.b64decode(second["value_base64"])
    if shape != "columns-missing":
        positions = [header(line, "walpost-position") for line in (first, second, third)]
        assert positions == sorted(positions) and len(set(positions)) == 3
    assert stage.sql("SELECT count(*) FROM walpost.reissue") == [(0,)]


@pytest.mark.on("all")
def test_messages_two_outboxes_and_partitions(make_stage):
    stage = make_stage(set_up=False)
    stage.sql("""
        CREATE TABLE outbox (id uuid, aggregatetype text, aggregateid text, type text, payload text)
            PARTITION BY HASH (id);
        CREATE TABLE outbox_0 PARTITION OF outbox FOR VALUES WITH (MODULUS 2, REMAINDER 0);
        CREATE TABLE outbox_1 (payload text, type text, aggregateid text, aggregatetype text, id uuid);
        ALTER TABLE outbox ATTACH PARTITION outbox_1 FOR VALUES WITH (MODULUS 2, REMAINDER 1);
        CREATE TABLE "Bills" (event uuid PRIMARY KEY, kind text, customer bigint, body bytea)""")
    prepare(stage)
    stage.publish("outbox", '"Bills"', options="publish = 'insert', publish_via_partition_root = false")
    stage.create_slot(with_truth=False)
    relay = stage.new_relay()
    relay.config_file.write_text(f"""
[postgres]
conninfo = {stage.postgres.conninfo(stage.database)}
slot = {stage.slot}
publication = {stage.publication}
[relay]
sink = stdout
[outbox]
table = outbox
[outbox.bills]
table = "Bills"
column.id = event
column.key = customer
column.type =
column.payload = body
route.by = kind
[outbox.notes]
message.prefix = note
""")
    relay.start()
    stage.wait_streaming(relay)
    stage.sql("INSERT INTO outbox SELECT gen_random_uuid(), 'order', n::text, 't', 'p' || n "
              "FROM generate_series(1, 8) n")
    stage.sql("INSERT INTO \"Bills\" VALUES (gen_random_uuid(), 'bill', 7, '\\x00ff')")
    stage.sql("SELECT pg_logical_emit_message(true, 'note', %s)", (MESSAGE,))
    reissue(stage, table="outbox", reason="r")
    reissue(stage, table='"Bills"', reason="r")
    stage.sql("SELECT walpost.reissue_message(%s, 'note', %s, 'r', 'p')", (stage.slot, MESSAGE.encode()))
    stage.wait_all_confirmed(relay=relay)
    all_lines = lines(relay)
    before, again = all_lines[:10], all_lines[10:]
    assert {header(line, "walpost-reissued") for line in before} == {None}
    assert [header(line, "walpost-reissued") for line in again] == ["r"] * 9 + ["r; p"]

    def content(line):
        return json.dumps({key: value for key, value in without_ours(line, False).items()}, sort_keys=True)

    assert sorted(map(content, again)) == sorted(map(content, before))
    with pytest.raises(psycopg.errors.DatatypeMismatch):
        stage.sql("SELECT walpost.reissue('s', 'outbox', 5, 'r')")
    with pytest.raises(psycopg.errors.NullValueNotAllowed):
        stage.sql("SELECT walpost.reissue(NULL, 'outbox', o, 'r') FROM outbox o")


@pytest.mark.on("all")
def test_two_relays_on_one_publication_send_only_their_own(stage):
    prepare(stage)
    stage.sql("SELECT pg_create_logical_replication_slot(%s, 'pgoutput')", (stage.slot + "_2",))
    stage.also_drops(stage.slot + "_2")
    id = stage.insert()
    one = stdout_relay(stage)
    other = stage.new_relay({"relay.sink": "stdout", "postgres.slot": stage.slot + "_2"}).start()
    reissue(stage)
    reissue(stage, slot=stage.slot + "_2", reason="other")
    last = stage.insert()
    for relay in (one, other):
        relay.wait_until(lambda relay=relay: last in ids(lines(relay)), 20, "the last has come")
    assert [header(line, "walpost-reissued") for line in lines(one)] == [None, "parked", None]
    assert [header(line, "walpost-reissued") for line in lines(other)] == [None, "other", None]
    assert ids(lines(one)) == [id, id, last]


def test_rows_for_another_slot_are_counted_and_told_once(stage):
    prepare(stage)
    relay = stdout_relay(stage, {"http.listen": "127.0.0.1:0"})
    id = stage.insert()
    for _ in range(3):
        reissue(stage, slot="misspelled")
    last = stage.insert()
    stage.wait_all_confirmed(relay=relay)
    assert ids(lines(relay)) == [id, last]
    (line,) = relay.log("reissue_of_other_slot")
    assert line["level"] == "info" and '"misspelled"' in line["reason"]
    assert _value(relay, "walpost_ignored_total", reason="reissue_of_other_slot") == 3
    assert json.loads(get(relay, "/status")[1])["ignored"]["reissue_of_other_slot"] == 3


@pytest.mark.on("all")
def test_in_a_publication_of_all_tables_each_comes_once(make_stage):
    stage = make_stage(set_up=False)
    stage.sql("CREATE TABLE outbox (id uuid PRIMARY KEY, aggregatetype text, aggregateid text, type text, "
              "payload text)")
    stage.sql((places.TREE / "sql" / "slot_checkpoint.sql").read_text())
    prepare(stage)
    stage.sql("CREATE TABLE walpost.parked (id int PRIMARY KEY)")
    stage.sql(f"CREATE PUBLICATION {stage.publication} FOR ALL TABLES")
    stage.create_slot(with_truth=False)
    relay = stdout_relay(stage)
    id = stage.insert(payload="p")
    reissue(stage)
    stage.sql("INSERT INTO walpost.parked VALUES (1); DELETE FROM walpost.parked")
    last = stage.insert(payload="q")
    stage.wait_all_confirmed(relay=relay)
    assert ids(lines(relay)) == [id, id, last]
    assert not relay.log("row_updated")


@pytest.mark.on("all")
def test_an_outbox_that_is_not_configured_is_passed_over_with_an_error(stage):
    prepare(stage)
    stage.sql("CREATE TABLE other (id int)")
    stage.sql("INSERT INTO other VALUES (1)")
    relay = stdout_relay(stage)
    reissue(stage, table="other")
    id = stage.insert()
    stage.wait_all_confirmed(relay=relay)
    assert ids(lines(relay)) == [id]
    (line,) = relay.log("reissue_refused")
    assert line["level"] == "error" and 'public.other' in line["reason"]


@pytest.mark.on("all")
def test_a_row_that_cannot_become_an_event_is_poison(stage):
    prepare(stage)
    relay = stdout_relay(stage, {"relay.poison": "dead-letter", "relay.dead_letter.topic": "dead"})
    stage.sql("""WITH made AS (INSERT INTO walpost.reissue (slot, outbox, "row", reason) VALUES
        (%s, 'public.outbox', '[]', 'by hand') RETURNING id) SELECT id FROM made""", (stage.slot,))
    stage.insert()
    stage.wait_all_confirmed(relay=relay)
    dead, last = lines(relay)
    assert dead["topic"] == "dead" and header(dead, "walpost-reissued") == "by hand"
    assert header(dead, "walpost-dead-letter-table") == "public.outbox"
    assert 'has no column "id"' in header(dead, "walpost-dead-letter-reason")
    relay.stop()
    halted = stage.new_relay({"relay.sink": "stdout", "relay.on_halt": "exit"})
    stage.sql("INSERT INTO walpost.reissue (slot, outbox, \"row\", reason) VALUES (%s, 'outbox', 'null', 'x')",
              (stage.slot,))
    halted.start()
    assert halted.wait_exit() == 3
    assert halted.log("event_undeliverable")


@pytest.mark.on("all")
def test_without_a_grant_on_the_table_nobody_makes_the_relay_send(stage):
    prepare(stage)
    id = stage.insert()
    relay = stdout_relay(stage)
    role = stage.name + "_app"
    stage.sql(f"CREATE ROLE {role} LOGIN PASSWORD 'x'; GRANT USAGE ON SCHEMA walpost TO {role}; "
              f"GRANT SELECT, INSERT ON outbox TO {role}")
    try:
        with stage.connect(user=role, password="x") as connection:
            for statement in ("SELECT walpost.reissue(%s, 'outbox', o, 'r') FROM outbox o",
                              "SELECT walpost.reissue_message(%s, 'note', 'x', 'r')",
                              "INSERT INTO walpost.reissue (slot, outbox, reason) VALUES (%s, 'outbox', 'r')"):
                with pytest.raises(psycopg.errors.InsufficientPrivilege):
                    connection.execute(statement, (stage.slot,))
            stage.sql(f"GRANT SELECT, INSERT, DELETE ON walpost.reissue TO {role}")
            connection.execute("SELECT walpost.reissue(%s, 'outbox', o, 'r') FROM outbox o", (stage.slot,))
        stage.wait_all_confirmed(relay=relay)
        assert ids(lines(relay)) == [id, id]
    finally:
        stage.sql(f"DROP OWNED BY {role}; DROP ROLE {role}")


@pytest.mark.on("all")
def test_who_reads_the_outboxs_publication_alone_never_meets_it(stage):
    """Debezium, or an earlier walpost, on the same slot."""
    prepare(stage)
    relay = stdout_relay(stage)
    stage.insert()
    stage.wait_all_confirmed(relay=relay)
    relay.stop()
    reissue(stage)
    stage.insert()
    seen = stage.sql("SELECT encode(data, 'escape') FROM pg_logical_slot_peek_binary_changes(%s, NULL, NULL, "
                     "'proto_version', '1', 'publication_names', %s)", (stage.slot, stage.publication))
    assert sum(text.startswith("I") for (text,) in seen) == 1
    assert not any("walpost" in text for (text,) in seen)
    last = stage.insert()
    relay.start()
    stage.wait_all_confirmed(relay=relay)
    assert ids(lines(relay))[-1] == last


# --- where the publication comes, goes and comes again


@pytest.mark.on("all")
def test_a_database_without_it_is_relayed_as_ever_and_read_once_it_comes(stage):
    relay = stdout_relay(stage)
    first = stage.insert()
    stage.wait_all_confirmed(relay=relay)
    assert not is_read(stage)
    prepare(stage)
    relay.wait_until(lambda: is_read(stage), 30, "it reads walpost.reissue")
    reissue(stage)
    stage.wait_all_confirmed(relay=relay)
    assert ids(lines(relay)) == [first, first]
    assert relay.log("reissue_found") and not relay.log("stream_broken")


@pytest.mark.on("all")
def test_a_backlog_from_before_the_publication_is_sent_first(stage):
    before = [stage.insert() for _ in range(3)]
    prepare(stage)
    after = stage.insert()
    relay = stdout_relay(stage)
    relay.wait_until(lambda: is_read(stage), 30, "it reads walpost.reissue")
    reissue(stage, f"id = '{before[0]}'")
    stage.wait_all_confirmed(relay=relay)
    assert ids(lines(relay)) == [*before, after, before[0]]
    (broken,) = relay.log("stream_broken")
    assert "walpost_reissue" in broken["reason"] and broken["level"] == "info"


@pytest.mark.on("all")
def test_a_transaction_that_began_before_the_publication_is_read_without_it(stage):
    """The server looks it up as of each change: there it did not exist, whatever the stream began with."""
    relay = stdout_relay(stage)
    with stage.transaction() as connection:
        long = stage.insert(connection=connection)
        prepare(stage)
        relay.wait_until(lambda: is_read(stage), 30, "it reads walpost.reissue")
        short = stage.insert()
        stage.wait_all_confirmed(relay=relay)
    stage.wait_all_confirmed(relay=relay)
    assert ids(lines(relay)) == [short, long]
    relay.wait_until(lambda: is_read(stage), 30, "it reads walpost.reissue again")
    reissue(stage, f"id = '{long}'")
    stage.wait_all_confirmed(relay=relay)
    assert ids(lines(relay)) == [short, long, long]


@pytest.mark.on("all")
def test_killed_while_it_has_unconfirmed_rows_they_are_sent_again_all_the_same(stage):
    """Nothing is passed over by a start with a backlog, though the publication is younger than nothing in it."""
    prepare(stage)
    relay = stdout_relay(stage)
    first = stage.insert()
    stage.wait_all_confirmed(relay=relay)
    relay.kill()
    stage.wait_released()
    reissue(stage)
    second = stage.insert()
    relay.start()
    stage.wait_all_confirmed(relay=relay)
    assert ids(lines(relay))[-3:] == [first, first, second]
    assert not relay.log("stream_broken")


@pytest.mark.on("all")
def test_dropped_while_a_relay_runs_it_goes_on_without(stage):
    prepare(stage)
    relay = stdout_relay(stage)
    first = stage.insert()
    reissue(stage)
    stage.wait_all_confirmed(relay=relay)
    assert is_read(stage)
    stage.sql("DROP PUBLICATION walpost_reissue")
    reissue(stage)
    second = stage.insert()
    stage.wait_all_confirmed(relay=relay)
    assert ids(lines(relay)) == [first, first, second]
    assert relay.is_alive() and not is_read(stage)
    prepare(stage)
    relay.wait_until(lambda: is_read(stage), 30, "it reads walpost.reissue")
    reissue(stage, f"id = '{second}'")
    stage.wait_all_confirmed(relay=relay)
    assert ids(lines(relay)) == [first, first, second, second]


@pytest.mark.on("all")
def test_it_comes_under_load_and_nothing_comes_twice(stage):
    relay = stdout_relay(stage)
    sent = [stage.insert(f"a{n % 7}") for n in range(50)]
    prepare(stage)
    while not is_read(stage):
        sent.append(stage.insert(f"a{len(sent) % 7}"))
        assert relay.is_alive() and len(sent) < 100000
    stage.wait_all_confirmed(relay=relay)
    assert ids(lines(relay)) == sent


# --- the other readers


@pytest.mark.on("all")
def test_tail_skip_and_drop_see_it_too(stage, folder):
    prepare(stage)
    file = folder / "walpost.conf"
    file.write_text(config_text(stage.config({"relay.sink": "stdout"})))
    relay = stdout_relay(stage)
    wait_older_than_the_slot(stage, relay)
    id = stage.insert()
    stage.wait_all_confirmed(relay=relay)
    relay.stop()
    reissue(stage, f"id = '{id}'", position="p-1")
    shown = run_command("tail", "-c", file, "--backlog", "--no-follow")
    assert shown.returncode == 0, shown.stderr
    (line,) = map(json.loads, shown.stdout.splitlines())
    assert header(line, "walpost-reissued") == "parked; p-1" and header(line, "id") == id
    dropped = run_command("slot", "drop", "-c", file)
    assert dropped.returncode == 1 and "unconfirmed events" in dropped.stderr, dropped
    end = stage.sql("SELECT pg_current_wal_lsn()")[0][0]
    skipped = run_command("slot", "skip", "-c", file, "--to", end)
    assert id in skipped.stdout and "1 event in 1 transaction" in skipped.stdout, skipped
