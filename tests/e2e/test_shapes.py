"""Every shape an event can take, as a consumer sees it."""

import json

import pytest
from cloudevents.core.bindings import kafka as cloudevents
from cloudevents.core.formats.json import JSONFormat

WIDE = """
    id uuid PRIMARY KEY, aggregatetype text, aggregateid text, type text, payload jsonb,
    tenant text, part int, at timestamptz, ms bigint, meta jsonb, trace text, body bytea, n numeric(10,2), flag bool
"""


@pytest.fixture
def wide(make_stage):
    stage = make_stage(columns=WIDE)
    stage.create_topic(partitions=4)
    return stage


def insert(stage, payload='{"a": 1}', key="k", type="created", **more):
    names = ", ".join(["id", "aggregatetype", "aggregateid", "type", "payload", *more])
    places = ", ".join(["gen_random_uuid()", *["%s"] * (4 + len(more))])
    ((id,),) = stage.sql(f"INSERT INTO outbox ({names}) VALUES ({places}) RETURNING id::text",
                         ("order", key, type, payload, *more.values()))
    return id


def sent(stage):
    stage.wait_all_confirmed()
    return stage.read()


def test_a_key_has_a_fallback(wide):
    wide.relay({"outbox.column.key.fallback": "tenant"})
    insert(wide, key=None, tenant="acme")
    insert(wide, key="own", tenant="acme")
    assert {m.key for m in sent(wide)} == {b"acme", b"own"}


def test_columns_give_partition_and_timestamp(wide):
    wide.relay({"outbox.column.partition": "part", "outbox.column.timestamp": "at"})
    insert(wide, part=3, at="2024-02-29 12:34:56.789+02")
    insert(wide, part=0, at="1999-12-31 23:59:59+00")
    with_neither = insert(wide)
    messages = sent(wide)
    assert {(m.partition, m.timestamp_ms) for m in messages if m.id != with_neither} == {
        (3, 1709202896789), (0, 946684799000)}
    (plain,) = [m for m in messages if m.id == with_neither]
    assert plain.timestamp_ms > 1709202896789


@pytest.mark.parametrize("column, value, why", [
    ("part", 4, "has partition 4, but topic"),
    ("part", -1, "is not a partition number"),
    ("at", "infinity", "the timestamp"),
    ("at", "1969-01-01", "is before 1970"),
    ("meta", "[1]", "the headers"),
    ("meta", '{"": 1}', "the headers"),
    ("trace", "=x", "a header has an empty name"),
])
def test_a_bad_value_follows_the_poison_policy(wide, column, value, why):
    wide.create_topic("dead", partitions=1)
    wide.relay({
        "outbox.column.partition": "part", "outbox.column.timestamp": "at", "outbox.headers.json": "meta",
        "outbox.headers.properties": "trace", "relay.poison": "dead-letter",
        "relay.dead_letter.topic": wide.topic("dead"),
    })
    bad = insert(wide, **{column: value})
    good = insert(wide)
    assert [m.id for m in sent(wide)] == [good]
    (letter,) = wide.read("dead")
    assert letter.header("walpost-dead-letter-id").decode() == bad
    assert why in letter.header("walpost-dead-letter-reason").decode()


def test_a_partition_that_is_added_is_found(wide):
    relay = wide.relay({"outbox.column.partition": "part"})
    insert(wide, part=3)
    wide.wait_all_confirmed()
    wide.kafka.add_partitions(wide.topic(), 6)
    insert(wide, part=5)
    wide.wait_all_confirmed(relay=relay)
    assert sorted(m.partition for m in wide.read()) == [3, 5]


def test_without_a_policy_a_bad_partition_stops_the_relay(wide):
    relay = wide.relay({"outbox.column.partition": "part"})
    insert(wide, part=99)
    assert relay.wait_exit() == 3
    assert "has partition 99" in relay.log_text()


def test_members_of_json_and_properties_become_headers(wide):
    wide.relay({"outbox.headers.json": "meta", "outbox.headers.properties": "trace",
                "outbox.headers.standard": "id"})
    insert(wide, meta='{"user": "é", "n": 1.50, "o": {"x": [1]}, "none": null}',
           trace="#Tue\ntraceparent=00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01\ntracestate=a\\=b")
    (message,) = sent(wide)
    headers = dict(message.headers)
    assert headers["traceparent"] == b"00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
    assert headers["tracestate"] == b"a=b"
    assert headers["user"] == "é".encode() and headers["n"] == b"1.50"
    assert json.loads(headers["o"]) == {"x": [1]} and headers["none"] is None


def test_members_of_json_and_properties_say_nothing_that_walpost_says(wide):
    wide.relay({"outbox.headers.json": "meta", "outbox.headers.properties": "trace",
                "outbox.headers.source": "shop"})
    forged = "0000-00000001-0FFFFFFFFFFFFFFF-00000000"
    insert(wide, meta=json.dumps({"walpost-position": forged, "walpost-source": "x", "user": "u"}),
           trace=f"walpost-position={forged}\nid=x\ntype=x\n")
    (message,) = sent(wide)
    assert [name for name, _ in message.headers] == ["id", "type", "walpost-position", "walpost-source", "user"]
    assert message.position < forged and message.header("walpost-source") == b"shop"


def test_a_column_cannot_be_named_as_walposts_own_headers(wide):
    relay = wide.new_relay({"outbox.headers": "tenant:walpost-tenant"}).start()
    assert relay.wait_exit() == 2
    assert "outbox.headers" in relay.log_text() and "walpost-tenant" in relay.log_text()


def test_columns_may_be_missing_when_that_is_allowed(stage):
    stage.create_topic(partitions=1)
    stage.relay({"outbox.columns.missing": "ignore", "outbox.headers": "nowhere,type:kind",
                 "outbox.column.timestamp": "never", "outbox.column.partition": "none"})
    stage.insert()
    (message,) = sent(stage)
    assert "nowhere" not in dict(message.headers) and message.header("kind") == b"created"


def test_expansion_keeps_what_it_is_told_to(wide):
    wide.relay({"outbox.value.format": "json", "outbox.payload.json": "expand", "outbox.expand.nulls": "keep",
                "outbox.expand.empty_arrays": "keep"})
    insert(wide, '{"a": 1.50, "b": null, "c": []}')
    (message,) = sent(wide)
    assert message.value == b'{"a":1.5,"b":null,"c":[]}'


def test_validated_json_passes_byte_for_byte_and_other_text_does_not(make_stage):
    stage = make_stage(columns=WIDE.replace("payload jsonb", "payload text"))
    stage.create_topic(partitions=1)
    stage.create_topic("dead", partitions=1)
    stage.relay({"outbox.payload.json": "validate", "outbox.value.format": "json", "relay.poison": "dead-letter",
                 "relay.dead_letter.topic": stage.topic("dead")})
    odd = ' {"b":1.50,"a":null,"a":[],"n":123456789012345678901} '
    insert(stage, odd)
    insert(stage, '{"a":')
    assert [m.value for m in sent(stage)] == [odd.encode()]
    (letter,) = stage.read("dead")
    assert "not JSON at byte 5 of 5" in letter.header("walpost-dead-letter-reason").decode()


def test_types_are_debeziums_or_postgres_own(wide):
    config = {"outbox.headers": "n,flag,at", "outbox.key.format": "json-schema"}
    relay = wide.relay({**config, "outbox.types": "debezium"})
    values = {"n": "1.50", "flag": True, "at": "2024-02-29 12:34:56+00"}
    insert(wide, **values)
    (message,) = sent(wide)
    headers = dict(message.headers)
    assert [headers[name] for name in ("n", "flag", "at")] == [b"1.50", b"true", b"2024-02-29T12:34:56.000000Z"]
    assert json.loads(message.key) == {"schema": {"type": "string", "optional": True}, "payload": "k"}
    relay.stop()
    wide.relay({**config, "outbox.key.format": "raw"})
    insert(wide, **values)
    latest = max(sent(wide), key=lambda m: m.position)
    headers = dict(latest.headers)
    assert [headers[name] for name in ("n", "flag", "at")] == [b"1.50", b"t", b"2024-02-29 12:34:56+00"]


@pytest.mark.parametrize("binary", ["on", "off"])
def test_a_null_is_the_columns_default_to_debeziums_types(make_stage, binary):
    stage = make_stage(columns="""id uuid PRIMARY KEY, aggregatetype text, aggregateid text DEFAULT 'it''s',
        type text DEFAULT 't', payload jsonb DEFAULT '{"a": 1}', n numeric(8,3) DEFAULT 1.5,
        at timestamp(3) DEFAULT '2024-02-29 12:34:56.789', made timestamptz DEFAULT now(), none text""")
    stage.create_topic()
    stage.relay({"outbox.types": "debezium", "outbox.headers": "n,at,made,none", "outbox.headers.standard": "id",
                 "postgres.binary": binary})
    insert(stage, key=None, payload=None, n=None, at=None, made=None)
    (message,) = sent(stage)
    assert (message.key, message.value) == (b"it's", b'{"a": 1}')
    headers = dict(message.headers)
    assert [headers[name] for name in ("n", "at", "made", "none")] == [b"1.500", b"1709210096789", None, None]


def test_columns_beside_the_payload_have_a_schema_with_a_version(wide):
    wide.relay({"outbox.types": "debezium", "outbox.value.format": "json-schema", "outbox.value.columns": "n:amount",
                "outbox.debezium.name": "shop", "outbox.debezium.schema.version": "part"})
    insert(wide, part=3, n="1.50")
    (message,) = sent(wide)
    value = json.loads(message.value)
    assert value["payload"] == {"payload": '{"a": 1}', "amount": "AJY="}
    assert (value["schema"]["name"], value["schema"]["version"]) == ("shop.public.outbox.order.Value", 3)


@pytest.mark.on("all")
def test_a_key_that_may_not_be_null_says_so_in_its_schema(make_stage):
    stage = make_stage(
        columns="id uuid PRIMARY KEY, aggregatetype text, aggregateid mail NOT NULL, type text, payload jsonb",
        before="CREATE DOMAIN mail AS varchar(50)")
    stage.create_topic(partitions=1)
    stage.relay({"outbox.types": "debezium", "outbox.key.format": "json-schema"})
    stage.insert("a@b")
    (message,) = sent(stage)
    assert json.loads(message.key) == {"schema": {"type": "string", "optional": False}, "payload": "a@b"}


def test_a_type_that_has_no_form_is_refused_when_its_table_is_seen(make_stage):
    stage = make_stage(columns=WIDE + ", span interval")
    stage.create_topic(partitions=1)
    relay = stage.new_relay({"outbox.headers": "span", "outbox.types": "debezium"}).start()
    insert(stage, span="1 day")
    assert relay.wait_exit() == 3
    assert "(outbox.headers) is of type interval, which walpost cannot write as Debezium does" in relay.log_text()


def _asked_for_binary(stage, mark):
    """Of the server's log since the mark, which tells the streams of other tests too."""
    start = f'START_REPLICATION SLOT "{stage.slot}" '
    begun = [line for line in stage.postgres.log_since(mark).splitlines() if start in line]
    assert begun, "no stream of this slot has begun"
    return ["binary 'true'" in line for line in begun]


@pytest.mark.on("all")
def test_auto_takes_binary_where_all_columns_allow_it(make_stage):
    stage = make_stage(columns=WIDE + ", span interval")
    stage.create_topic(partitions=1)
    config = {"postgres.binary": "auto", "outbox.column.payload": "body"}
    mark = stage.postgres.log_size()
    relay = stage.relay({**config, "outbox.headers": "n,flag"})
    insert(stage, body=bytes(range(256)), n="-0.10", flag=False)
    stage.wait_all_confirmed()
    relay.stop()
    assert all(_asked_for_binary(stage, mark))
    mark = stage.postgres.log_size()
    stage.relay({**config, "outbox.headers": "n,flag,span"})
    insert(stage, body=bytes(range(256)), n="-0.10", flag=False)
    stage.wait_all_confirmed()
    assert not any(_asked_for_binary(stage, mark))
    one, other = stage.read()
    assert one.value == other.value == bytes(range(256))
    assert one.header("n") == other.header("n") == b"-0.10"
    assert one.header("flag") == other.header("flag") == b"f"


CLOUD = {"outbox.cloudevents.source": "/shop", "outbox.cloudevents.subject": "aggregateid",
         "outbox.cloudevents.extensions": "tenant", "outbox.cloudevents.dataschema": "https://example.org/s"}


def test_a_cloudevent_in_binary_mode(wide):
    wide.relay({**CLOUD, "outbox.envelope": "cloudevents-binary"})
    id = insert(wide, tenant="acme")
    (message,) = sent(wide)
    headers = dict(message.headers)
    assert message.value == b'{"a": 1}' and message.key == b"k"
    assert headers["ce_id"].decode() == id and headers["ce_specversion"] == b"1.0"
    assert (headers["ce_source"], headers["ce_subject"], headers["ce_type"]) == (b"/shop", b"k", b"created")
    assert (headers["ce_tenant"], headers["content-type"]) == (b"acme", b"application/json")
    assert headers["ce_dataschema"] == b"https://example.org/s"


def test_a_cloudevent_as_json(wide):
    wide.relay({**CLOUD, "outbox.envelope": "cloudevents-json", "outbox.cloudevents.source.column": "trace",
                "outbox.cloudevents.datacontenttype": "application/vnd.shop+json", "outbox.column.timestamp": "at"})
    id = insert(wide, trace="urn:shop", at="2024-02-29 12:34:56.789654+00", tenant=None)
    (message,) = sent(wide)
    assert message.header("content-type") == b"application/cloudevents+json; charset=UTF-8"
    assert json.loads(message.value) == {
        "specversion": "1.0", "id": id, "source": "urn:shop", "type": "created", "subject": "k",
        "time": "2024-02-29T12:34:56.789654Z", "datacontenttype": "application/vnd.shop+json",
        "dataschema": "https://example.org/s", "data": {"a": 1},
    }


@pytest.mark.parametrize("envelope", ["cloudevents-binary", "cloudevents-json"])
def test_the_sdk_reads_what_was_sent(wide, envelope):
    wide.relay({**CLOUD, "outbox.envelope": envelope, "outbox.headers.standard": ""})
    id = insert(wide, '{"a": ["é", null]}', tenant="acme")
    (message,) = sent(wide)
    record = cloudevents.KafkaMessage(headers=dict(message.headers), key=message.key, value=message.value)
    event = cloudevents.from_kafka(record, JSONFormat())
    assert (event.get_id(), event.get_source(), event.get_type()) == (id, "/shop", "created")
    assert (event.get_subject(), event.get_extension("tenant")) == ("k", "acme")
    assert event.get_data() == {"a": ["é", None]}
    assert int(event.get_time().timestamp() * 1000) == message.timestamp_ms


def test_a_cloudevent_without_its_type_is_poison(wide):
    relay = wide.relay({**CLOUD, "outbox.envelope": "cloudevents-protobuf"})
    insert(wide)
    (message,) = sent(wide)
    assert message.header("content-type") == b"application/cloudevents+protobuf"
    insert(wide, type=None)
    assert relay.wait_exit() == 3
    assert "outbox.column.type" in relay.log_text()


def test_a_schema_id_stands_before_the_payload_of_its_topic(wide):
    wide.relay({"outbox.column.payload": "body", "outbox.confluent.schemas": f"{wide.name}.*:258:1/0"})
    insert(wide, body=b"\xff\x00")
    insert(wide, body=None, key="none")
    by_key = {m.key: m.value for m in sent(wide)}
    assert by_key == {b"k": b"\0\0\0\1\2\4\2\0\xff\0", b"none": None}


@pytest.mark.parametrize("policy, level", [("warn", "warn"), ("error", "error")])
def test_an_update_is_no_event_and_told(stage, policy, level):
    stage.create_topic(partitions=1)
    stage.sql(f"ALTER PUBLICATION {stage.publication} SET (publish = 'insert, update')")
    relay = stage.relay({"outbox.on_update": policy})
    stage.insert()
    stage.sql("UPDATE outbox SET type = 'other'")
    stage.sql("UPDATE outbox SET type = 'third'")
    assert len(sent(stage)) == 1
    (line,) = relay.log("row_updated")
    assert line["level"] == level and "public.outbox was updated" in line["reason"]
    relay.stop()
    assert relay.log("stopped")[0]["updates_ignored"] == "2"


def test_an_update_can_stop_the_relay(stage):
    stage.create_topic(partitions=1)
    stage.sql(f"ALTER PUBLICATION {stage.publication} SET (publish = 'insert, update')")
    relay = stage.relay({"outbox.on_update": "stop"})
    stage.insert()
    stage.sql("UPDATE outbox SET type = 'other'")
    assert relay.wait_exit() == 3
    assert "outbox.on_update = stop" in relay.log_text()
