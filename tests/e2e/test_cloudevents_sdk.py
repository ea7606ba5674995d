"""CloudEvents as walpost writes them, read by others: the SDK for Python, and protobuf's own runtime."""

import json
import subprocess
import sys
from datetime import datetime, timedelta, timezone

import pytest
from cloudevents.core.bindings import kafka
from cloudevents.core.formats.json import JSONFormat
from google.protobuf import any_pb2, descriptor_pb2, descriptor_pool, message_factory, timestamp_pb2

from lib import places

WRITER = places.build("gcc") / "tests" / "unit" / "outbox" / "write_cloudevents"
EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
LAST_US = 253402300799999999

BARE = {"id": "7", "source": "/orders", "type": "placed", "time_us": 1522949460123456}
FULL = {
    **BARE, "source": "https://example.com/orders?a=%20#b", "type": "com.example.placed", "subject": "order 42",
    "datacontenttype": "application/json", "dataschema": "https://example.com/order/1",
    "extensions": {"tenant": "t1", "region2": "", "z": "\u20ac \U0001f600 100% \"\\/"},
    "data": '{"a": [1, null, "\u00e9"]}',
}
SAMPLES = {
    "bare": BARE,
    "full": FULL,
    "no data but its type": {**FULL, "data": None},
    "characters": {**FULL, "id": "\u00e9\"\\ \U0001f600", "type": "\u20ac", "subject": "a/b c%"},
    "json scalar": {**FULL, "data": "12.50"},
    "json string": {**FULL, "data": '"{\\"a\\": \\u0031}"'},
    "json with a suffix": {**FULL, "datacontenttype": "application/vnd.order+json", "data": " [1, 2]\n"},
    "text": {**FULL, "datacontenttype": "text/plain; charset=\"utf-8\"", "data": "a \"line\"\nand\t{another} \u20ac"},
    "xml": {**FULL, "datacontenttype": "application/xml", "data": "<much wow=\"xml\"/>"},
    "binary": {**FULL, "datacontenttype": "application/octet-stream", "data": bytes(range(256))},
    "begin of time": {**BARE, "time_us": -62135596800000000},
    "before 1970": {**BARE, "time_us": -1},
    "1970": {**BARE, "time_us": 0},
    "end of time": {**BARE, "time_us": LAST_US},
    "leap day": {**BARE, "time_us": 951868799999999},
    "large": {**FULL, "data": json.dumps({"a": "x" * 300_000})},
}

# The protobuf format of CloudEvents 1.0.2: name, number, type of each field.
FIELD = descriptor_pb2.FieldDescriptorProto
CLOUD_EVENT = [
    ("id", 1, FIELD.TYPE_STRING), ("source", 2, FIELD.TYPE_STRING), ("spec_version", 3, FIELD.TYPE_STRING),
    ("type", 4, FIELD.TYPE_STRING), ("attributes", 5, FIELD.TYPE_MESSAGE), ("binary_data", 6, FIELD.TYPE_BYTES),
    ("text_data", 7, FIELD.TYPE_STRING), ("proto_data", 8, FIELD.TYPE_MESSAGE),
]
ATTRIBUTE_VALUE = [
    ("ce_boolean", 1, FIELD.TYPE_BOOL), ("ce_integer", 2, FIELD.TYPE_INT32), ("ce_string", 3, FIELD.TYPE_STRING),
    ("ce_bytes", 4, FIELD.TYPE_BYTES), ("ce_uri", 5, FIELD.TYPE_STRING), ("ce_uri_ref", 6, FIELD.TYPE_STRING),
    ("ce_timestamp", 7, FIELD.TYPE_MESSAGE),
]
ENTRY = [("key", 1, FIELD.TYPE_STRING), ("value", 2, FIELD.TYPE_MESSAGE)]
MESSAGES = {
    "attributes": ".io.cloudevents.v1.CloudEvent.AttributesEntry", "proto_data": ".google.protobuf.Any",
    "ce_timestamp": ".google.protobuf.Timestamp", "value": ".io.cloudevents.v1.CloudEvent.CloudEventAttributeValue",
}


def write(*events):
    """The records of events; an event has its mode."""
    lines = []
    for event in events:
        data = event.get("data")
        line = {**event, "is_binary": isinstance(data, bytes)}
        if data is not None:
            line["data"] = (data if isinstance(data, bytes) else data.encode()).hex()
        lines.append(json.dumps(line))
    done = subprocess.run([WRITER], input="\n".join(lines), capture_output=True, text=True, check=True)
    records = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(records) == len(events)
    return records


def record_of(event, mode):
    """Headers and value, as the SDK wants them."""
    (record,) = write({**event, "mode": mode})
    assert "refused" not in record, record
    value = record["value"]
    return kafka.KafkaMessage(
        headers={name: bytes.fromhex(value) for name, value in record["headers"]}, key=None,
        value=None if value is None else bytes.fromhex(value),
    )


def attributes_of(event):
    """As any reader must see them."""
    plain = {key: event[key] for key in ("id", "source", "type", "subject", "datacontenttype", "dataschema")
             if key in event}
    return {
        "specversion": "1.0", "time": EPOCH + timedelta(microseconds=event["time_us"]), **plain,
        **event.get("extensions", {}),
    }


def data_of(event):
    """As JSON, as text or as bytes, by what it says it is."""
    data = event.get("data")
    if isinstance(data, str) and "json" in event["datacontenttype"]:
        return json.loads(data)
    return data


@pytest.fixture(scope="module")
def cloud_event():
    """io.cloudevents.v1.CloudEvent as the specification has it, with Google's own Any and Timestamp."""
    file = descriptor_pb2.FileDescriptorProto(
        name="of_the_specification.proto", package="io.cloudevents.v1", syntax="proto3",
        dependency=["google/protobuf/any.proto", "google/protobuf/timestamp.proto"],
    )
    event = file.message_type.add(name="CloudEvent")
    event.oneof_decl.add(name="data")
    add_fields(event, CLOUD_EVENT, ("binary_data", "text_data", "proto_data"))
    event.field[4].label = FIELD.LABEL_REPEATED
    entry = event.nested_type.add(name="AttributesEntry")
    entry.options.map_entry = True
    add_fields(entry, ENTRY, ())
    value = event.nested_type.add(name="CloudEventAttributeValue")
    value.oneof_decl.add(name="attr")
    add_fields(value, ATTRIBUTE_VALUE, [name for name, _, _ in ATTRIBUTE_VALUE])
    pool = descriptor_pool.DescriptorPool()
    for known in (any_pb2, timestamp_pb2):
        pool.AddSerializedFile(known.DESCRIPTOR.serialized_pb)
    pool.AddSerializedFile(file.SerializeToString())
    return message_factory.GetMessageClass(pool.FindMessageTypeByName("io.cloudevents.v1.CloudEvent"))


def add_fields(message, fields, in_oneof):
    for name, number, type in fields:
        field = message.field.add(name=name, number=number, type=type, label=FIELD.LABEL_OPTIONAL)
        if type == FIELD.TYPE_MESSAGE:
            field.type_name = MESSAGES[name]
        if name in in_oneof:
            field.oneof_index = 0


def value_of(attribute):
    kind = attribute.WhichOneof("attr")
    if kind == "ce_timestamp":
        assert attribute.ce_timestamp.nanos % 1000 == 0
        return EPOCH + timedelta(seconds=attribute.ce_timestamp.seconds,
                                 microseconds=attribute.ce_timestamp.nanos // 1000)
    return getattr(attribute, kind)


@pytest.mark.parametrize("name", SAMPLES)
def test_binary_mode_is_read_by_the_sdk(name):
    sample = SAMPLES[name]
    record = record_of(sample, "binary")
    event = kafka.from_kafka(record, JSONFormat())
    assert event.get_attributes() == attributes_of(sample)
    assert event.get_data() == data_of(sample)
    data = sample.get("data")
    assert record.value == (data.encode() if isinstance(data, str) else data)


@pytest.mark.parametrize("name", SAMPLES)
def test_structured_json_is_read_by_the_sdk(name):
    sample = SAMPLES[name]
    record = record_of(sample, "json")
    assert record.headers == {"content-type": b"application/cloudevents+json; charset=UTF-8"}
    event = kafka.from_kafka(record, JSONFormat())
    assert event.get_attributes() == attributes_of(sample)
    assert event.get_data() == data_of(sample)


@pytest.mark.parametrize("name", SAMPLES)
def test_structured_protobuf_is_read_by_the_specifications_own_message(name, cloud_event):
    sample = SAMPLES[name]
    record = record_of(sample, "protobuf")
    assert record.headers == {"content-type": b"application/cloudevents+protobuf"}
    event = cloud_event.FromString(record.value)
    attributes = {key: value_of(value) for key, value in event.attributes.items()}
    attributes.update(id=event.id, source=event.source, specversion=event.spec_version, type=event.type)
    assert attributes == attributes_of(sample)
    kinds = {key: value.WhichOneof("attr") for key, value in event.attributes.items()}
    assert kinds == {key: {"time": "ce_timestamp", "dataschema": "ce_uri"}.get(key, "ce_string") for key in kinds}
    data = sample.get("data")
    kind = event.WhichOneof("data")
    assert kind == {type(None): None, str: "text_data", bytes: "binary_data"}[type(data)]
    assert kind is None or getattr(event, kind) == data


def test_protobuf_holds_nothing_that_the_specification_does_not_know(cloud_event):
    for sample in SAMPLES.values():
        record = record_of(sample, "protobuf")
        event = cloud_event.FromString(record.value)
        event.DiscardUnknownFields()
        assert event.ByteSize() == len(record.value)


def test_our_proto_file_has_the_fields_of_the_specification(tmp_path):
    subprocess.run(
        [sys.executable, "-m", "grpc_tools.protoc", f"-I{places.TREE / 'proto'}",
         f"--descriptor_set_out={tmp_path / 'set'}", "io/cloudevents/v1/cloudevents.proto"], check=True,
    )
    (file,) = descriptor_pb2.FileDescriptorSet.FromString((tmp_path / "set").read_bytes()).file
    assert (file.package, file.syntax) == ("io.cloudevents.v1", "proto3")
    event = file.message_type[0]
    nested = {message.name: message for message in event.nested_type}

    def fields(message):
        return [(field.name, field.number, field.type) for field in message.field]

    assert (event.name, fields(event)) == ("CloudEvent", CLOUD_EVENT)
    assert fields(nested["CloudEventAttributeValue"]) == ATTRIBUTE_VALUE
    assert fields(nested["AttributesEntry"]) == ENTRY and nested["AttributesEntry"].options.map_entry
    for known in (any_pb2.Any, timestamp_pb2.Timestamp):
        (ours,) = [message for message in file.message_type if message.name == known.DESCRIPTOR.name]
        assert fields(ours) == [(field.name, field.number, field.type) for field in known.DESCRIPTOR.fields]


@pytest.mark.parametrize("change, said", [
    ({"id": ""}, 'the CloudEvents attribute id "" is empty'),
    ({"source": None}, "the CloudEvents attribute source is missing"),
    ({"time_us": LAST_US + 1}, "the CloudEvents attribute time is 253402300800000000 microseconds"),
    ({"extensions": {"Tenant": "x"}}, 'the name of the CloudEvents extension "Tenant"'),
])
def test_what_the_specification_forbids_is_not_written(change, said):
    records = write(*({**FULL, **change, "mode": mode} for mode in ("binary", "json", "protobuf")))
    assert all(record["refused"].startswith(said) for record in records)
