"""The same bytes, whatever way the server sends them, whatever it holds, whatever it was set to."""

import uuid

import pytest

from lib.stage import identifier

MIB = 1 << 20
KEYS = "id uuid PRIMARY KEY, aggregatetype text, aggregateid text, type text, payload text"

# --- binary transfer

TYPED = """
    id uuid PRIMARY KEY, aggregatetype varchar(20), aggregateid bytea, type name, unmapped int[],
    other timestamptz DEFAULT now(),
    a_text text, a_varchar varchar(2000000), a_char char(12), a_name name, a_json json, a_jsonb jsonb, a_uuid uuid,
    a_bytea bytea, d_text d_text, d_jsonb d_jsonb, d_uuid d_uuid, d_bytea d_bytea, a_mood mood, d_mood d_mood,
    a_bool bool, an_int2 int2, an_int4 int4, an_int8 int8, a_float4 float4, a_float8 float8, a_numeric numeric,
    a_date date, a_time time, a_timestamp timestamp, a_timestamptz timestamptz, a_byte "char", many_texts text[],
    many_uuids uuid[], many_moments timestamptz[], d_int8 d_int8, d_texts d_texts
"""
COLUMNS = ("a_text", "a_varchar", "a_char", "a_name", "a_json", "a_jsonb", "a_uuid", "a_bytea", "d_text", "d_jsonb",
           "d_uuid", "d_bytea", "a_mood", "d_mood", "a_bool", "an_int2", "an_int4", "an_int8", "a_float4", "a_float8",
           "a_numeric", "a_date", "a_time", "a_timestamp", "a_timestamptz", "a_byte", "many_texts", "many_uuids",
           "many_moments", "d_int8", "d_texts")
LARGE = 50_000_000
ODD_JSON = '{"b":1,  "a" : [1,2.50, null ],\n"\u00e9":"\\u00e9"  }'


def _values(text, short, json, an_uuid, raw):
    """One row of COLUMNS."""
    size = len(text)
    moment = f"{1 + size % 9999:04}-02-28 01:02:03.0405{' BC' if size < 2 else ''}"
    return (text, text, short, short, json, json, an_uuid, raw, text, json, an_uuid, raw, "b\u00f6se", "gut",
            size > 1, size % 32768, -size, size << 40, size / 7, -1 / (1 + size), f"{size}.00{size}0", moment[:10],
            "24:00:00", moment, moment, "x", [short, None, "", "null"], [an_uuid], "{2024-02-29,infinity,NULL}",
            size, "[2:3]={a,b c}")


def _rows():
    an_uuid = uuid.UUID("01234567-89ab-cdef-fedc-ba9876543210")
    return [
        (None,) * len(COLUMNS),
        _values("", "", "null", uuid.UUID(int=0), b""),
        _values("x", "x", "1", uuid.UUID(int=2**128 - 1), b"\0"),
        _values("\u00e9 \u65e5\u672c \U0001f600 \\ ' \" \n\t\x01", "\u65e5\u672c \\x", ODD_JSON, an_uuid,
                bytes(range(256))),
        _values("\u00e9" * (MIB // 2), "\\x00", '["' + "y" * MIB + '"]', an_uuid, bytes(range(256)) * (MIB // 256)),
    ]


def _typed_stage(make_stage):
    stage = make_stage(set_up=False)
    stage.sql("CREATE TYPE mood AS ENUM ('gut', 'b\u00f6se')")
    for base in ("text", "jsonb", "uuid", "bytea", "mood"):
        stage.sql(f"CREATE DOMAIN d_{base} AS {base}")
    stage.sql("CREATE DOMAIN d_int8 AS int8; CREATE DOMAIN d_texts AS text[]")
    stage.sql(f"CREATE TABLE outbox ({TYPED})")
    stage.publish("outbox")
    return stage


def _insert_typed(stage):
    names = ", ".join(("id", "aggregatetype", "aggregateid", "type", "unmapped", *COLUMNS))
    places = ", ".join(["%s"] * (5 + len(COLUMNS)))
    for n, row in enumerate(_rows()):
        stage.sql(f"INSERT INTO outbox ({names}) VALUES ({places})",
                  (uuid.uuid4(), "order", bytes((0, 255, n)), f"Type {n}", [1, 2], *row))


def _relayed(stage, slot, payload, binary):
    """What a relay of its own makes of all rows, without the topic's name."""
    topic = f"{payload}.{binary}"
    stage.create_topic(topic, partitions=1, max_message_bytes=LARGE)
    relay = stage.new_relay({
        "postgres.slot": slot, "postgres.binary": binary, "outbox.column.payload": payload,
        "outbox.topic.replacement": stage.topic(topic), "outbox.headers": ", ".join(COLUMNS),
        "kafka.message.max.bytes": LARGE}).start()
    relay.wait_until(lambda: len(stage.read(topic)) >= len(_rows()), 60, "all rows are in Kafka")
    relay.stop()
    return [(m.key, m.value, m.headers, m.timestamp_ms, m.partition) for m in stage.read(topic)]


@pytest.mark.on(18, 15, 14)
def test_rows_sent_in_binary_give_the_records_that_they_give_as_text(make_stage):
    stage = _typed_stage(make_stage)
    payloads = ("a_text", "a_json", "a_jsonb", "a_uuid", "a_bytea", "d_bytea", "d_jsonb", "a_mood", "a_numeric",
                "many_texts")
    slots = {}
    for payload in payloads:
        for binary in ("off", "on"):
            slots[f"{payload}.{binary}"] = f"{stage.name}_{len(slots)}"
            stage.also_drops(slots[f"{payload}.{binary}"])
    for slot in slots.values():
        stage.sql("SELECT pg_create_logical_replication_slot(%s, 'pgoutput')", (slot,))
    _insert_typed(stage)
    raw = [row[COLUMNS.index("a_bytea")] for row in _rows()]
    for payload in payloads:
        as_text, in_binary = (_relayed(stage, slots[f"{payload}.{way}"], payload, way) for way in ("off", "on"))
        assert in_binary == as_text
        if payload.endswith("bytea"):
            assert [value for _, value, *_ in in_binary] == raw
        assert [key for key, *_ in in_binary] == [b"\\x00ff%02x" % n for n in range(len(raw))]


@pytest.mark.on(18, 15, 14)
@pytest.mark.parametrize("type, value", [("interval", "'1 day'"), ("pair", "'(1,2)'"), ("d_inet", "'::1'"),
                                         ("pair[]", "ARRAY['(1,2)'::pair]"), ("d_text[]", "ARRAY['x'::d_text]")])
def test_a_type_that_binary_cannot_do_is_refused_naming_the_column_and_the_cure(make_stage, type, value):
    stage = make_stage(set_up=False)
    stage.sql("CREATE TYPE pair AS (a int, b int)")
    stage.sql("CREATE DOMAIN d_inet AS inet; CREATE DOMAIN d_text AS text")
    stage.sql(f"CREATE TABLE outbox ({KEYS.replace('aggregateid text', f'aggregateid {type}')})")
    stage.publish("outbox")
    stage.create_slot()
    stage.create_topic()
    stage.sql(f"INSERT INTO outbox VALUES (gen_random_uuid(), 'order', {value}, 't', 'p')")
    relay = stage.new_relay({"postgres.binary": "on"}).start()
    assert relay.wait_exit() == 2
    assert "aggregateid (" in relay.log_text() and "postgres.binary = off" in relay.log_text()
    stage.sql("ALTER TABLE outbox ALTER aggregateid TYPE text")  # the rows in the log are of the type before
    relay = stage.new_relay({"postgres.binary": "on"}).start()
    assert relay.wait_exit() == 3
    for word in ("public.outbox", "aggregateid", "postgres.binary = off"):
        assert word in relay.log_text()
    stage.wait_released()
    assert stage.confirmed() < stage.truth.events()[0].end_lsn
    relay = stage.relay({"postgres.binary": "auto"})  # in binary, as the table is now; then as text
    stage.wait_all_confirmed()
    assert "binary_given_up" in relay.log_text()
    assert len(stage.read()) == 1


# --- keys, payloads, names

@pytest.mark.parametrize("binary", ["off", "on"])
def test_keys_and_payloads_of_any_content_arrive_as_they_are(make_stage, binary):
    stage = make_stage(columns=KEYS)
    stage.create_topic()
    odd = ["", " ", "'", '"', "\\", "\\x", "\\\\x00", "''--;", "\x01\x02\x1f\x7f", "\n", "\r\n\t", "%s%n", "${1}",
           "NULL", "\u00e9", "\u65e5\u672c", "\U0001f600", "\ufeff", "a" * 10_000]
    for text in odd:
        stage.insert(text, text)
    stage.relay({"postgres.binary": binary})
    stage.wait_all_confirmed()
    messages = stage.read()
    assert sorted((m.key, m.value) for m in messages) == sorted((t.encode(), t.encode()) for t in odd)


@pytest.mark.parametrize("binary", ["off", "on"])
def test_a_bytea_of_any_size_up_to_the_limit_arrives_whole(make_stage, binary):
    stage = make_stage(columns=KEYS.replace("payload text", "payload bytea"))
    stage.create_topic(partitions=1)
    sizes = [0, 1, 2, 100, 8191, 8192, 8193, 100_000, 999_000]
    noise = bytes(range(256)) * 4000
    for size in sizes:
        stage.insert(payload=noise[:size])
    stage.relay({"postgres.binary": binary})
    stage.wait_all_confirmed()
    assert [m.value for m in stage.read()] == [noise[:size] for size in sizes]


@pytest.mark.on("all")
@pytest.mark.parametrize("binary", ["off", "on"])
def test_columns_may_have_any_name(make_stage, binary):
    names = {"id": 'I"D', "aggregatetype": "Aggregate.Type", "aggregateid": "caf\u00e9 id", "type": "select",
             "payload": "\u51fa\u53e3,:"}
    columns = ", ".join(f"{identifier(name)} text" for name in names.values())
    stage = make_stage(columns=f'{columns}, "He,ad:er" text, "q""q" text')
    stage.create_topic()
    stage.sql("INSERT INTO outbox VALUES ('7', 'order', 'k', 't', 'p', 'h', 'q')")
    stage.relay({
        "postgres.binary": binary, "outbox.column.id": names["id"], "outbox.route.by": names["aggregatetype"],
        "outbox.column.key": names["aggregateid"], "outbox.column.type": names["type"],
        "outbox.column.payload": names["payload"], "outbox.headers": '"He,ad:er", "q""q":"x y"'})
    stage.wait_all_confirmed()
    (message,) = stage.read()
    assert (message.key, message.value, message.header("He,ad:er"), message.header("x y")) == (b"k", b"p", b"h", b"q")


# --- encodings

def _ascii_stage(make_stage):
    stage = make_stage(encoding="SQL_ASCII", columns=KEYS)
    stage.create_topic()
    return stage


def _insert_raw(stage, **columns):
    """One row; what is given is SQL, bytes and all."""
    row = {"id": f"'{uuid.uuid4()}'", "aggregatetype": "'order'", "aggregateid": "'1'", "type": "'t'", "payload": "'p'",
           **columns}
    with stage.connect(client_encoding="SQL_ASCII") as connection:
        connection.execute(f"INSERT INTO outbox ({', '.join(row)}) VALUES ({', '.join(row.values())})".encode())


@pytest.mark.parametrize("binary", ["off", "on"])
def test_invalid_utf8_of_a_sqlascii_database_passes_in_key_payload_and_type(make_stage, binary):
    stage = _ascii_stage(make_stage)
    _insert_raw(stage, aggregateid="E'k\\xff'", payload="E'\\xe9\\x80'", type="E't\\xfe'")
    stage.relay({"postgres.binary": binary})
    stage.wait_all_confirmed()
    (message,) = stage.read()
    assert (message.key, message.value, message.header("type")) == (b"k\xff", b"\xe9\x80", b"t\xfe")


@pytest.mark.parametrize("column, config, words", [
    ("aggregatetype", {}, ("UTF-8",)),
    ("type", {"outbox.envelope": "protobuf"}, ("UTF-8", "outbox.envelope")),
])
def test_what_must_be_utf8_and_is_not_stops_with_code_3_and_says_so(make_stage, column, config, words):
    stage = _ascii_stage(make_stage)
    _insert_raw(stage, **{column: "E'or\\xffder'"})
    mark = stage.wal_end()
    relay = stage.new_relay(config).start()
    assert relay.wait_exit() == 3
    for word in ("public.outbox", *words):
        assert word in relay.log_text()
    stage.wait_released()
    assert stage.confirmed() < mark and stage.read() == []


@pytest.mark.on("all")
@pytest.mark.parametrize("binary", ["off", "on"])
@pytest.mark.parametrize("encoding, text", [("LATIN1", "caf\u00e9 \u00ff"), ("EUC_JP", "\u65e5\u672c")])
def test_other_encodings_arrive_as_utf8(make_stage, encoding, text, binary):
    stage = make_stage(set_up=False, encoding=encoding)
    column = "na\u00efve" if encoding == "LATIN1" else "\u65e5"
    stage.sql(f'CREATE TABLE outbox ({KEYS}, "{column}" text)')
    stage.publish("outbox")
    stage.create_slot()
    stage.create_topic()
    stage.sql("INSERT INTO outbox VALUES (gen_random_uuid(), 'order', %s, %s, %s, %s)", (text,) * 4)
    stage.relay({"postgres.binary": binary, "outbox.headers": column})
    stage.wait_all_confirmed()
    (message,) = stage.read()
    wanted = text.encode()
    assert (message.key, message.value, message.header("type"), message.header(column)) == (wanted,) * 4


# --- settings

HOSTILE = {
    "datestyle": "German, DMY", "timezone": "Asia/Tokyo", "intervalstyle": "iso_8601", "extra_float_digits": "-10",
    "bytea_output": "escape", "lc_monetary": "C.UTF-8", "client_encoding": "LATIN1", "search_path": "",
    "standard_conforming_strings": "off", "escape_string_warning": "on", "row_security": "off",
    "statement_timeout": "1", "lock_timeout": "1", "idle_session_timeout": "1",
    "idle_in_transaction_session_timeout": "1", "transaction_timeout": "20", "default_transaction_read_only": "on",
    "default_transaction_isolation": "serializable", "client_min_messages": "error", "quote_all_identifiers": "on",
    "array_nulls": "off", "xmlbinary": "hex", "synchronous_commit": "off",
}
PRINTED = """
    id uuid PRIMARY KEY, aggregatetype text, aggregateid timestamptz, type text, payload bytea, amount float8,
    price money, since interval, day date, raw bytea
"""


def _printed(stage, conninfo):
    stage.create_topic()
    relay = stage.relay({"postgres.conninfo": conninfo, "outbox.headers": "amount, price, since, day, raw"})
    relay.wait_until(lambda: len(stage.read()) == 1, 20, "the event is in Kafka")
    stage.wait_all_confirmed(20, relay)
    (message,) = stage.read()
    return relay, (message.key, message.value, [h for h in message.headers if h[0] not in ("id", "walpost-position")])


def _insert_printed(stage):
    statement = """INSERT INTO public.outbox VALUES (
        gen_random_uuid(), 'order', '2026-01-02 03:04:05.6+00', E'caf\\u00e9', '\\x00ff5c', 0.1::float8 + 0.2::float8,
        12.5, '1 day 2 hours', '2026-02-01', '\\xdeadbeef')"""
    stage.sql(statement)


@pytest.mark.on(18, 15, 14, 16, 17)
def test_a_role_with_hostile_settings_gets_the_bytes_of_any_other_and_the_relay_lives(make_stage):
    plain, hostile = make_stage(columns=PRINTED), make_stage(columns=PRINTED)
    role = hostile.name + "_hostile"
    hostile.sql(f"CREATE ROLE {role} SUPERUSER LOGIN REPLICATION")
    try:
        known = {name for (name,) in hostile.sql("SELECT name FROM pg_settings")}
        for name, value in HOSTILE.items():
            if name in known:
                hostile.sql(f"ALTER ROLE {role} SET {name} = '{value}'")
        for stage in (plain, hostile):
            _insert_printed(stage)
        _, wanted = _printed(plain, plain.postgres.conninfo(plain.database))
        relay, got = _printed(hostile, hostile.postgres.conninfo(hostile.database, user=role))
        assert got == wanted
        assert not [line for line in relay.log("stream_broken") if line["reason"].startswith("the server ")]
        # A transaction that takes longer than every timeout above.
        hostile.sql("INSERT INTO public.outbox SELECT gen_random_uuid(), 'order', now(), 't', '\\x00', 0, 0, '1 day',"
                    " '2026-01-01', '\\x00' FROM generate_series(1, 20000)")
        hostile.wait_all_confirmed(60, relay)
        assert not [line for line in relay.log("stream_broken") if line["reason"].startswith("the server ")]
        relay.stop()
    finally:
        for relay in hostile.relays:
            relay.end()
        hostile.wait_released()
        hostile.sql(f"DROP ROLE {role}")
