"""What Debezium is told. walpost is told the same, by way of `walpost config import-debezium`."""

from dataclasses import dataclass

from debezium.original import JSON, STRING
from debezium.rows import CALLED, DEFAULTED, PLACED, PRINTED, STRUNG

CONNECT, SERVER = "connect", "server"
STRINGS = {"key.converter": STRING, "value.converter": STRING}
PLAIN_JSON = {"key.converter": JSON, "key.converter.schemas.enable": "false",
              "value.converter": JSON, "value.converter.schemas.enable": "false"}
SCHEMA_JSON = {"key.converter": JSON, "key.converter.schemas.enable": "true",
               "value.converter": JSON, "value.converter.schemas.enable": "true"}
ROUTER = "transforms.outbox."
PLACEMENT = ROUTER + "table.fields.additional.placement"


def placed(where, columns=PLACED):
    return ",".join(f"{name}:{where}" for name in columns)


def router(**options):
    """Underscores stand for dots."""
    return {ROUTER + name.replace("_", "."): value for name, value in options.items()}


@dataclass(frozen=True)
class Configuration:
    name: str
    properties: dict
    form: str = CONNECT

    @property
    def expands(self):
        """Are payloads expanded?"""
        return ROUTER + "table.expand.json.payload" in self.properties

    @property
    def has_envelope(self):
        return ":envelope" in self.properties.get(PLACEMENT, "")

    @property
    def stamps(self):
        """Is the record's timestamp out of a column?"""
        return ROUTER + "table.field.event.timestamp" in self.properties

    def whole(self, server, database, slot, topics):
        """All properties: one connector, its own slot, its own topics."""
        return {
            "connector.class": "io.debezium.connector.postgresql.PostgresConnector",
            "tasks.max": "1",
            "database.hostname": "127.0.0.1",
            "database.port": str(server.port),
            "database.user": "postgres",
            "database.password": "none",
            "database.dbname": database,
            "topic.prefix": "shop",
            "plugin.name": "pgoutput",
            "slot.name": slot,
            "publication.name": "original",
            "publication.autocreate.mode": "disabled",
            "table.include.list": "public.outbox",
            "snapshot.mode": "no_data",
            "poll.interval.ms": "50",
            "extended.headers.enabled": "false",
            "errors.tolerance": "all",
            "errors.log.enable": "true",
            "transforms": "outbox",
            "transforms.outbox.type": "io.debezium.transforms.outbox.EventRouter",
            "transforms.outbox.route.topic.replacement": topics + ".${routedByValue}",
            **self.properties,
        }


def _key(column, converters, name):
    return Configuration(f"key-{column}-{name}", {**converters, **router(table_field_event_key=column)})


KEYS = ("c_small", "c_big", "c_bool", "c_num", "c_double", "c_date", "c_ts", "c_ts3", "c_tstz", "c_uuid", "c_json",
        "c_enum", "c_amount", "c_time", "c_ints", "c_texts", "c_inet", "c_rangez", "c_xml", "c_lexemes", "c_citext",
        "c_path")

CONSTANT = tuple(name for name in DEFAULTED if name not in CALLED)

CONFIGURATIONS = [
    Configuration("string", STRINGS),
    Configuration("string-headers", {**STRINGS, PLACEMENT: placed("header") + ",type:header:eventType"}),
    Configuration("string-converted-headers", {
        **STRINGS, "header.converter": STRINGS["value.converter"], PLACEMENT: placed("header", STRUNG)}),
    Configuration("defaults", {**STRINGS, PLACEMENT: placed("header", CONSTANT),
                               **router(table_field_event_payload="d_json", table_field_event_key="d_text")}),
    Configuration("defaults-envelope", {**PLAIN_JSON, PLACEMENT: placed("envelope", CONSTANT),
                                        **router(table_field_event_payload="d_text", table_field_event_key="d_int")}),
    Configuration("context-headers", {**STRINGS, "extended.headers.enabled": "true"}),
    Configuration("string-json", {**STRINGS, **router(table_field_event_payload="p_json")}),
    Configuration("string-text", {**STRINGS, **router(table_field_event_payload="p_text")}),
    Configuration("tombstones", {**STRINGS, **router(table_field_event_payload="p_text",
                                                     route_tombstone_on_empty_payload="true")}),
    Configuration("binary", {**STRINGS, **router(table_field_event_payload="p_bytea"),
                             "value.converter": "io.debezium.converters.BinaryDataConverter"}),
    Configuration("json", PLAIN_JSON),
    Configuration("json-schema", SCHEMA_JSON),
    Configuration("json-text", {**SCHEMA_JSON, **router(table_field_event_payload="p_text")}),
    Configuration("json-bytea", {**SCHEMA_JSON, **router(table_field_event_payload="p_bytea")}),
    Configuration("envelope", {**PLAIN_JSON, PLACEMENT: placed("envelope")}),
    Configuration("envelope-schema", {**SCHEMA_JSON, PLACEMENT: placed("envelope") + ",type:envelope:eventType"}),
    Configuration("envelope-tombstones", {
        **PLAIN_JSON, PLACEMENT: placed("envelope", ("type", "c_int", "c_enum")),
        **router(table_field_event_payload="p_text", route_tombstone_on_empty_payload="true")}),
    Configuration("expand", {**PLAIN_JSON, **router(table_expand_json_payload="true")}),
    Configuration("expand-schema", {**SCHEMA_JSON, **router(table_expand_json_payload="true")}),
    Configuration("expand-text", {**PLAIN_JSON, **router(table_expand_json_payload="true",
                                                         table_field_event_payload="p_text")}),
    Configuration("expand-nulls", {**PLAIN_JSON, **router(table_expand_json_payload="true",
                                                          table_json_payload_null_behavior="optional_bytes")}),
    Configuration("expand-envelope", {**SCHEMA_JSON, PLACEMENT: placed("envelope", ("type", "c_num")),
                                      **router(table_expand_json_payload="true")}),
    Configuration("printed-headers", {**STRINGS, PLACEMENT: placed("header", PRINTED)}),
    Configuration("printed-envelope", {**PLAIN_JSON, PLACEMENT: placed("envelope", PRINTED)}),
    Configuration("printed-envelope-schema", {**SCHEMA_JSON, PLACEMENT: placed("envelope", PRINTED)}),
    Configuration("timestamp", {**STRINGS, **router(table_field_event_timestamp="happened")}),
    *(_key(column, STRINGS, "string") for column in KEYS if column not in ("c_json", "c_double")),
    *(_key(column, SCHEMA_JSON, "json-schema") for column in KEYS),
    Configuration("server-string", {**STRINGS, "extended.headers.enabled": "true"}, SERVER),
    Configuration("server-json-headers", {
        **PLAIN_JSON, PLACEMENT: placed("header") + ",type:header:eventType"}, SERVER),
    Configuration("server-quoted-headers", {
        **SCHEMA_JSON, PLACEMENT: placed("header") + ",type:envelope",
        "format.header.schemas.enable": "false"}, SERVER),
    Configuration("server-envelope", {**SCHEMA_JSON, PLACEMENT: placed("envelope")}, SERVER),
]
