"""A consumer as Debezium's outbox example has it (its shipment service), on records of Debezium and of walpost."""

import json
import uuid

import pytest

from debezium.original import JSON
from lib import places
from lib.relay import run_command

EXAMPLE = places.TREE / "tests" / "golden" / "configs" / "b-tutorial.properties"
ORDERS = 200
# What its docker-compose.yaml tells the Connect worker.
WORKER = {"key.converter": JSON, "key.converter.schemas.enable": "false",
          "value.converter": JSON, "value.converter.schemas.enable": "false"}
# Quarkus makes this table, and deletes each row in the transaction that inserted it.
SCHEMA = """
CREATE SCHEMA inventory;
CREATE TABLE inventory.outboxevent (
  id uuid PRIMARY KEY, aggregatetype varchar(255) NOT NULL, aggregateid varchar(255) NOT NULL,
  type varchar(255) NOT NULL, "timestamp" timestamp NOT NULL, payload varchar(8000), tracingspancontext varchar(256)
);
"""


class Shipments:
    """The consumer: header by header and step by step what the Java of the example does."""

    def __init__(self, unescapes):
        self.made = {}
        self.lines = []
        self._processed = set()
        self._unescapes = unescapes

    def on_message(self, message):
        self._on_order_event(
            uuid.UUID(self._header_as_string(message, "id")), self._header_as_string(message, "eventType"),
            message.value.decode("utf-8"),
        )

    @staticmethod
    def _header_as_string(message, name):
        values = [value for key, value in message.headers if key == name]
        if not values:
            raise ValueError(f"Expected record header '{name}' not present")
        return values[-1].decode("utf-8")

    def _on_order_event(self, id, type, event):
        if id in self._processed:
            return
        payload = self._deserialize(event)
        if type == "OrderCreated":
            self.made[payload["id"]] = (payload["customerId"], payload["orderDate"])
        elif type == "OrderLineUpdated":
            self.lines.append((payload["orderId"], payload["newStatus"]))
        self._processed.add(id)

    def _deserialize(self, event):
        """JsonConverter makes a JSON string of the payload, which the example reads first."""
        if self._unescapes:
            event = json.loads(event)
            assert isinstance(event, str)
        payload = json.loads(event)
        return payload["payload"] if "schema" in payload else payload


def add_orders(stage):
    with stage.connect() as connection:
        for number in range(1, ORDERS + 1):
            created = {"id": number, "customerId": 123 + number, "orderDate": f"2018-12-10T00:00:{number % 60:02}",
                       "lineItems": [{"id": 1, "item": "Débezium in Action 😀", "status": "ENTERED", "quantity": 2}]}
            updated = {"orderId": number, "orderLineId": 1, "oldStatus": "ENTERED", "newStatus": "SHIPPED"}
            for type, payload in (("OrderCreated", created), ("OrderLineUpdated", updated)):
                with connection.transaction():
                    id = uuid.uuid4()
                    connection.execute(
                        "INSERT INTO inventory.outboxevent VALUES (%s, 'Order', %s, %s, now(), %s, NULL)",
                        (id, str(number), type, json.dumps(payload, ensure_ascii=number % 2 == 0)),
                    )
                    connection.execute("DELETE FROM inventory.outboxevent WHERE id = %s", (id,))


def properties(stage, configuration, slot):
    """The example's register-postgres.json with its worker's converters; or the golden configuration b-tutorial."""
    whole = {
        "connector.class": "io.debezium.connector.postgresql.PostgresConnector",
        "tasks.max": "1",
        "database.hostname": "127.0.0.1",
        "database.port": str(stage.postgres.port),
        "database.user": "postgres",
        "database.password": "none",
        "database.dbname": stage.database,
        "topic.prefix": "dbserver1",
        "extended.headers.enabled": "true",
        "schema.include.list": "inventory",
        "table.include.list": "inventory.outboxevent",
        "tombstones.on.delete": "false",
        "transforms": "outbox",
        "transforms.outbox.type": "io.debezium.transforms.outbox.EventRouter",
        "transforms.outbox.route.topic.replacement": "${routedByValue}.events",
        "transforms.outbox.table.fields.additional.placement": "type:header:eventType",
        # The example's image of Postgres has decoderbufs too.
        "plugin.name": "pgoutput",
        "slot.name": slot,
        "publication.name": stage.publication,
    }
    if configuration == "example":
        whole |= WORKER
    else:
        golden = dict(line.split("=", 1) for line in EXAMPLE.read_text().splitlines() if line)
        whole |= {key: value for key, value in golden.items() if key != "table.include.list"}
    whole["transforms.outbox.route.topic.replacement"] = \
        f"{slot}.{whole['transforms.outbox.route.topic.replacement']}"
    return whole


def consumed(messages, configuration):
    shipments = Shipments(unescapes=configuration == "example")
    for message in messages:
        shipments.on_message(message)
    return shipments


def run_walpost(stage, configuration, slot):
    file = stage.folder / "register-postgres.json"
    file.write_text(json.dumps(properties(stage, configuration, slot)))
    imported = run_command("config", "import-debezium", file)
    assert imported.returncode == 0, imported.stderr
    relay = stage.new_relay(arguments=["--set", f"kafka.bootstrap.servers={stage.kafka.address}"])
    relay.config_file.write_text(imported.stdout)
    done = run_command("init", "-c", relay.config_file)
    assert done.returncode == 0, done.stderr
    relay.start()
    return relay


@pytest.mark.parametrize("configuration", ["example", "b-tutorial"])
def test_the_examples_consumer_does_not_notice(make_stage, connect, configuration):
    stage = make_stage()
    stage.sql(SCHEMA)
    original, ours = f"{stage.name}_d", f"{stage.name}_w"
    for slot in (original, ours):
        stage.kafka.create_topic(f"{slot}.Order.events")
        stage.also_drops(slot)
    connect.add(original, properties(stage, configuration, original))
    connect.wait_until(
        lambda: stage.sql("SELECT 1 FROM pg_replication_slots WHERE slot_name = %s AND active", (original,)), 60,
        "Debezium reads its slot")
    stage.sql("SELECT pg_create_logical_replication_slot(%s, 'pgoutput')", (ours,))
    add_orders(stage)

    def read(slot, who):
        who.wait_until(lambda: len(stage.kafka.read(f"{slot}.Order.events")) >= 2 * ORDERS, 60, "all events are there")
        return stage.kafka.read(f"{slot}.Order.events")

    relay = run_walpost(stage, configuration, ours)
    ours_read = read(ours, relay)
    relay.stop()
    originals = read(original, connect)
    connect.remove(original)
    assert len(ours_read) == len(originals) == 2 * ORDERS
    one, other = consumed(originals, configuration), consumed(ours_read, configuration)
    assert len(one.made) == len(one.lines) == ORDERS
    assert one.made == other.made and sorted(one.lines) == sorted(other.lines)
    print(f"{configuration}: {len(other.made)} shipments and {len(other.lines)} lines, the same of both")
