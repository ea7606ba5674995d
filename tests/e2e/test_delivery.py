"""What is committed arrives: every event, once, in order, byte for byte."""

import time
import uuid

import pytest

from lib.checker import check_all, check_once
from lib.kafka import Reader
from lib.murmur2 import murmur2, partition_of
from lib.writer import Writer

# org.apache.kafka.common.utils.UtilsTest.testMurmur2
PUBLISHED = {
    b"21": -973932308,
    b"foobar": -790332482,
    b"a-little-bit-long-string": -985981536,
    b"a-little-bit-longer-string": -1486304829,
    b"lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8": -58897971,
    b"abc": 479470107,
}


@pytest.mark.parametrize("key", PUBLISHED)
def test_our_murmur2_gives_the_published_values(key):
    assert murmur2(key) == PUBLISHED[key]


def test_an_event_lands_in_the_partition_of_the_java_partitioner(stage):
    stage.create_topic(partitions=7)
    keys = [key.decode() for key in PUBLISHED] + ["", "é", "日本", "1", "12", "123", "1234"]
    with stage.transaction() as connection:
        for key in keys:
            stage.insert(key, connection=connection)
    stage.relay()
    stage.wait_all_confirmed()
    messages = stage.read()
    assert {m.key.decode(): m.partition for m in messages} == {key: partition_of(key.encode(), 7) for key in keys}


@pytest.mark.heavy
@pytest.mark.on("all")
def test_ten_thousand_transactions_of_eight_writers_arrive_once_in_order_byte_for_byte(stage):
    stage.create_topic(partitions=6)
    relay = stage.relay()
    writer = Writer(stage, threads=8, transactions=10_000, aggregates=500)
    writer.start().join()
    stage.wait_all_confirmed(60, relay)
    relay.stop()

    messages, events = stage.read(), stage.truth.events()
    assert len(events) > 10_000
    check_all(messages, events)
    check_once(messages)
    assert not writer.rolled_back & {message.id for message in messages}
    rows = {
        str(row[0]): row[1:]
        for row in stage.sql("SELECT id, aggregateid, type, payload::text FROM outbox")
    }
    for message in messages:
        key, type, payload = rows[message.id]
        assert message.key == key.encode()
        assert message.value == payload.encode()
        assert message.header("type") == type.encode()
        assert [name for name, _ in message.headers] == ["id", "type", "walpost-position"]
        assert message.partition == partition_of(message.key, 6)


@pytest.mark.on("all")
def test_the_position_is_epoch_timeline_commit_and_ordinal(stage):
    stage.create_topic(partitions=1)
    stage.relay({"relay.epoch": "10"})
    with stage.transaction() as connection:
        first, second = (stage.insert(connection=connection) for _ in range(2))
    third = stage.insert()
    stage.wait_all_confirmed()

    messages = stage.read()
    assert [m.id for m in messages] == [first, second, third]
    parts = [m.position.split("-") for m in messages]
    assert [(p[0], p[1], p[3]) for p in parts] == [
        ("000A", "00000001", "00000000"), ("000A", "00000001", "00000001"), ("000A", "00000001", "00000000"),
    ]
    assert parts[0][2] == parts[1][2] < parts[2][2]
    ends = [event.end_lsn for event in stage.truth.events()]
    assert all(len(p[2]) == 16 and int(p[2], 16) < end for p, end in zip(parts, ends))


def test_the_timestamp_is_the_time_of_the_commit(stage):
    stage.create_topic()
    before = int(time.time() * 1000)
    stage.insert()
    after = int(time.time() * 1000)
    stage.relay()
    stage.wait_all_confirmed()
    (message,) = stage.read()
    assert before <= message.timestamp_ms <= after


def test_rolled_back_transactions_and_savepoints_never_arrive(stage):
    stage.create_topic()
    stage.relay()
    with stage.connect() as connection:
        with connection.transaction(force_rollback=True):
            stage.insert("gone", connection=connection)
        with connection.transaction():
            kept = stage.insert("kept", connection=connection)
            with connection.transaction(force_rollback=True):
                stage.insert("gone", connection=connection)
    stage.wait_all_confirmed()
    assert [m.id for m in stage.read()] == [kept]


def test_insert_and_delete_in_one_transaction_still_delivers(stage):
    stage.create_topic()
    stage.relay()
    with stage.transaction() as connection:
        id = stage.insert(connection=connection)
        connection.execute("DELETE FROM outbox")
    stage.wait_all_confirmed()
    assert [m.id for m in stage.read()] == [id]


def test_a_prepared_transaction_arrives_when_it_is_committed(make_stage, own_postgres):
    own_postgres.restart(max_prepared_transactions=5)
    stage = make_stage(postgres=own_postgres)
    stage.create_topic()
    stage.relay()
    with stage.connect() as connection:
        connection.execute("BEGIN")
        first = stage.insert("prepared", connection=connection)
        connection.execute("PREPARE TRANSACTION 'later'")
        second = stage.insert("direct", connection=connection)
        stage.wait_all_confirmed()
        assert [m.id for m in stage.read()] == [second]
        connection.execute("COMMIT PREPARED 'later'")
    stage.wait_all_confirmed()
    assert {m.id for m in stage.read()} == {first, second}


def test_payload_bytes_of_each_column_type_are_exact(make_stage):
    values = {
        "jsonb": ('{"b":1,  "a": [1, 2.50, null]}', b'{"a": [1, 2.50, null], "b": 1}'),
        "json": ('{"b":1,  "a": [1]}', b'{"b":1,  "a": [1]}'),
        "text": ("line\nend \\ 'quote' \u00e9", "line\nend \\ 'quote' \u00e9".encode()),
    }
    for type, (given, expected) in values.items():
        stage = make_stage(columns=f"""
            id uuid PRIMARY KEY, aggregatetype text, aggregateid text, type text, payload {type}""")
        stage.create_topic()
        stage.insert(payload=given)
        stage.relay()
        stage.wait_all_confirmed()
        assert [m.value for m in stage.read()] == [expected]


@pytest.mark.on("all")
def test_bytea_arrives_as_raw_bytes_even_when_the_role_prefers_escape_format(make_stage):
    stage = make_stage(columns="id uuid PRIMARY KEY, aggregatetype text, aggregateid text, type text, payload bytea")
    stage.create_topic(partitions=1)
    stage.sql(f"ALTER DATABASE {stage.database} SET bytea_output = 'escape'")
    payloads = [bytes(range(256)), b"", b"\x00", b"\xff" * 100_000]
    for payload in payloads:
        stage.insert(payload=payload)
    stage.relay()
    stage.wait_all_confirmed()
    assert [m.value for m in stage.read()] == payloads


def test_a_null_payload_is_a_null_value(stage):
    stage.create_topic()
    stage.insert(payload=None)
    stage.relay()
    stage.wait_all_confirmed()
    assert [m.value for m in stage.read()] == [None]


def test_a_null_key_stops_with_code_3_and_confirms_nothing(stage):
    stage.create_topic()
    good = stage.insert("a")
    id = stage.insert(None)
    stage.insert("a")
    relay = stage.new_relay().start()
    assert relay.wait_exit() == 3
    assert id in relay.log_text() and "key.null" in relay.log_text()
    stage.wait_released()
    confirmed, messages = stage.confirmed(), stage.read()
    assert [m.id for m in messages] in ([], [good])
    assert confirmed < stage.truth.events()[1].end_lsn


def test_a_null_key_passes_when_allowed(stage):
    stage.create_topic()
    id = stage.insert(None)
    stage.relay({"outbox.key.null": "allow"})
    stage.wait_all_confirmed()
    assert [(m.id, m.key) for m in stage.read()] == [(id, None)]


def test_hostile_settings_of_the_database_change_no_byte(make_stage):
    stage = make_stage(columns="""
        id uuid PRIMARY KEY, aggregatetype text, aggregateid timestamptz, type text, payload jsonb,
        amount float8, price money, since interval""")
    stage.create_topic()
    for setting in ("datestyle = 'German, DMY'", "timezone = 'Asia/Tokyo'", "intervalstyle = 'iso_8601'",
                    "extra_float_digits = -10", "client_encoding = 'LATIN1'", "search_path = ''"):
        stage.sql(f"ALTER DATABASE {stage.database} SET {setting}")
    stage.sql("""
        INSERT INTO public.outbox VALUES (gen_random_uuid(), 'order', '2026-01-02 03:04:05+00', 'caf\u00e9', '{}',
                                          0.1::float8 + 0.2::float8, 12.5, '1 day 2 hours')""")
    stage.relay({"outbox.headers": "amount, since:duration"})
    stage.wait_all_confirmed()
    (message,) = stage.read()
    assert message.key == b"2026-01-02 03:04:05+00"
    assert message.header("type") == "caf\u00e9".encode()
    assert message.header("amount") == b"0.30000000000000004"
    assert message.header("duration") == b"1 day 02:00:00"


def test_configured_columns_topics_and_headers_are_used(make_stage):
    stage = make_stage(columns="""
        "Event Id" bigint PRIMARY KEY, kind text, "who.is" int, body text, tenant text, trace text""")
    stage.kafka.create_topic(f"{stage.name}.eu.invoice", 2)
    stage.sql("INSERT INTO outbox VALUES (9007199254740993, 'sales/invoice', 42, 'x', 'eu', NULL)")
    stage.relay({
        "outbox.column.id": "Event Id", "outbox.column.key": "who.is", "outbox.column.type": "",
        "outbox.column.payload": "body", "outbox.route.by": "kind", "outbox.topic.regex": "sales/(?<what>[a-z]+)",
        "outbox.topic.replacement": f"{stage.name}.eu.${{what}}", "outbox.headers": "tenant:x-tenant, trace",
        "outbox.headers.source": "shop", "outbox.headers.standard": "id,walpost-position",
    })
    stage.wait_all_confirmed()
    (message,) = stage.read("eu.invoice")
    assert message.key == b"42" and message.value == b"x"
    headers = dict(message.headers)
    assert headers.pop("walpost-position")
    assert headers == {"id": b"9007199254740993", "x-tenant": b"eu", "trace": None, "walpost-source": b"shop"}


def test_one_transaction_fans_out_to_several_topics_in_order(stage):
    for name in ("order", "invoice", "mail"):
        stage.create_topic(name, partitions=1)
    stage.relay()
    sent = {"order": [], "invoice": [], "mail": []}
    with stage.transaction() as connection:
        for n in range(300):
            name = ("order", "invoice", "mail")[n % 3]
            sent[name].append(stage.insert("k", topic=name, connection=connection))
    stage.wait_all_confirmed()
    for name, ids in sent.items():
        assert [m.id for m in stage.read(name)] == ids


@pytest.mark.heavy
def test_a_very_large_transaction_passes_in_bounded_memory_and_the_server_hears_of_us(stage, scaled):
    rows = scaled(100_000, 1_000_000)
    stage.create_topic()
    stage.sql(f"ALTER DATABASE {stage.database} SET wal_sender_timeout = '5s'")
    relay = stage.relay({"relay.in_flight.bytes": "8MiB"})
    walsender = stage.slot_row()[2]
    stage.insert_many(rows, "a{0}", size=200)
    stage.wait_all_confirmed(scaled(90, 900), relay)
    assert relay.peak_rss_kb() < 100 * 1024
    assert stage.slot_row()[2] == walsender
    with Reader(stage.kafka, stage.topic()) as reader:
        assert len(reader.read_until(rows, scaled(30, 300))) == rows


def test_events_of_a_sqlascii_database_pass_as_they_are(make_stage):
    stage = make_stage(encoding="SQL_ASCII", columns="""
        id uuid PRIMARY KEY, aggregatetype text, aggregateid text, type text, payload text""")
    stage.create_topic()
    with stage.connect(client_encoding="SQL_ASCII") as connection:
        connection.execute(
            f"INSERT INTO outbox VALUES ('{uuid.uuid4()}', 'order', '1', 't', E'caf\\xe9')".encode())
    stage.relay()
    stage.wait_all_confirmed()
    assert [m.value for m in stage.read()] == [b"caf\xe9"]
