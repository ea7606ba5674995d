"""Events in the three encodings that schema registries know, and Confluent's own consumers of them."""

import json
import warnings
from io import BytesIO

import fastavro
from confluent_kafka.serialization import MessageField, SerializationContext
from google.protobuf import wrappers_pb2

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # of the libraries that it uses
    from confluent_kafka.schema_registry import SchemaRegistryClient
    from confluent_kafka.schema_registry.avro import AvroDeserializer
    from confluent_kafka.schema_registry.json_schema import JSONDeserializer
    from confluent_kafka.schema_registry.protobuf import ProtobufDeserializer

AVRO = {"type": "record", "name": "Order", "namespace": "com.example", "fields": [
    {"name": "id", "type": "long"}, {"name": "customer", "type": "string"}]}
JSON = {"$schema": "http://json-schema.org/draft-07/schema#", "title": "Order", "type": "object",
        "properties": {"id": {"type": "integer"}, "customer": {"type": "string"}}, "required": ["id"]}
# The second message of its file, as StringValue is the eighth of wrappers.proto.
PROTOBUF = 'syntax = "proto3";\npackage example;\nmessage Other { int64 id = 1; }\nmessage Text { string value = 1; }\n'
ORDER = {"id": 4711, "customer": "Ada"}


def avro(value):
    into = BytesIO()
    fastavro.schemaless_writer(into, fastavro.parse_schema(AVRO), value)
    return into.getvalue()


# kind: the schema, what follows "latest" in outbox.schema.versions, the payload, what a consumer is to read
KINDS = {
    "AVRO": (AVRO, "", avro(ORDER), ORDER),
    "JSON": (JSON, "", json.dumps(ORDER).encode(), ORDER),
    "PROTOBUF": (PROTOBUF, ":1", wrappers_pb2.StringValue(value="Ada").SerializeToString(), "Ada"),
}


def consume(kind, registry_url, topic, value):
    """What Confluent's deserializer makes of a record's value, which asks the registry for the schema by its id.

    But for Protobuf, of which it skips id and index, and has the message."""
    client = SchemaRegistryClient({"url": registry_url})
    context = SerializationContext(topic, MessageField.VALUE)
    if kind == "AVRO":
        return AvroDeserializer(client)(value, context)
    if kind == "JSON":
        return JSONDeserializer(None, schema_registry_client=client)(value, context)
    # Without the registry, which only Confluent's gives the file in the form that this one wants.
    return ProtobufDeserializer(wrappers_pb2.StringValue, {"use.deprecated.format": False})(value, context).value
