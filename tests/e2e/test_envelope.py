"""The protobuf envelope, read by a consumer generated from the same file."""

import importlib
import subprocess
import sys

import pytest

from lib import places


@pytest.fixture(scope="session")
def event_class(request):
    """walpost.v1.Event, generated from proto/ for Python."""
    into = request.config.house.folder / "generated"
    into.mkdir(exist_ok=True)
    subprocess.run(
        [sys.executable, "-m", "grpc_tools.protoc", f"-I{places.TREE / 'proto'}", f"--python_out={into}",
         "walpost/v1/event.proto"], check=True,
    )
    sys.path.insert(0, str(into))
    return importlib.import_module("walpost.v1.event_pb2").Event


def test_the_protobuf_envelope_holds_all_that_is_known(stage, event_class):
    stage.create_topic(partitions=1)
    stage.relay({"outbox.envelope": "protobuf", "outbox.headers": "type:kind", "relay.epoch": "3"})
    with stage.transaction() as connection:
        stage.insert("other", connection=connection)
        id = stage.insert("k\u00e9y", '{"n": 1}', type="changed", connection=connection)
    stage.wait_all_confirmed()

    message = stage.read()[1]
    event = event_class.FromString(message.value)
    assert (event.id, event.type, event.aggregate) == (id, "changed", "order")
    assert event.key == message.key == "k\u00e9y".encode()
    assert event.payload == b'{"n": 1}'
    assert event.commit_time_us // 1000 == message.timestamp_ms
    assert (event.epoch, event.timeline, event.ordinal) == (3, 1, 1)
    position = f"{event.epoch:04X}-{event.timeline:08X}-{event.commit_lsn:016X}-{event.ordinal:08X}"
    assert position == message.position
    assert [(h.name, h.value) for h in event.headers] == list(message.headers)
    assert [h.name for h in event.headers] == ["id", "type", "walpost-position", "kind"]


def test_null_and_empty_stay_apart_in_the_envelope(stage, event_class):
    stage.create_topic(partitions=1)
    stage.relay({"outbox.envelope": "protobuf", "outbox.key.null": "allow"})
    stage.insert(None, None)
    stage.insert("", '""')
    stage.wait_all_confirmed()
    by_payload = {m.key: event_class.FromString(m.value) for m in stage.read()}
    assert not by_payload[None].HasField("key") and not by_payload[None].HasField("payload")
    assert by_payload[b""].HasField("key") and by_payload[b""].payload == b'""'


def test_a_bytea_payload_is_raw_bytes_in_the_envelope(make_stage, event_class):
    stage = make_stage(columns="id uuid PRIMARY KEY, aggregatetype text, aggregateid text, type text, payload bytea")
    stage.create_topic()
    stage.relay({"outbox.envelope": "protobuf"})
    stage.insert(payload=bytes(range(256)))
    stage.wait_all_confirmed()
    (message,) = stage.read()
    assert event_class.FromString(message.value).payload == bytes(range(256))
