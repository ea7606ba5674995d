"""The outbox tables of frameworks, with the configurations of the documentation: rows as each library writes them
give the record that its own consumers read."""

import dataclasses
import json
import re

import pytest

from lib import places
from lib.relay import run_command

PAGE = places.TREE / "deploy" / "docs" / "pages" / "producers" / "frameworks.md"
LIKE = places.TREE / "deploy" / "like"
TABLES = places.TREE / "tests" / "golden" / "like"
NAMES = sorted(path.stem for path in LIKE.glob("*.conf"))


def configurations():
    """{name: the configuration that the page shows}."""
    return dict(re.findall(r'^```ini title="([a-z-]+)\.conf"\n(.*?)^```$', PAGE.read_text(), re.DOTALL | re.MULTILINE))


def settings(conf):
    found = {}
    for line in conf.splitlines():
        if section := re.fullmatch(r"\[(.+)\]", line):
            prefix = section[1]
        elif setting := re.fullmatch(r"([a-z._]+) =(?: (.*))?", line):
            found[f"{prefix}.{setting[1]}"] = setting[2] or ""
    return found


@dataclasses.dataclass
class Recipe:
    name: str
    topic: str
    rows: str  # SQL
    records: list  # (key, value, headers but for those of walpost), in the order of the rows
    rest: str = None  # what is left to clean up, in SQL


CAP_HEADERS = ('{"cap-callback-name":null,"cap-msg-id":"%s",%s"cap-corr-id":"%s","cap-corr-seq":"0",'
               '"cap-msg-name":"orders.placed","cap-msg-type":"OrderPlaced","cap-senttime":"11/26/2026 10:00:00"}')


def cap_row(id, key, value):
    headers = CAP_HEADERS % (id, f'"cap-kafka-key":"{key}",' if key else "", id)
    return f"""INSERT INTO cap.published ("Id", "Version", "Name", "Content", "Retries", "Added", "ExpiresAt",
        "StatusName") VALUES ({id}, 'v1', 'orders.placed', '{{"Headers":{headers},"Value":{value}}}', 0, now(), NULL,
        'Scheduled')"""


def cap_record(id, key, value):
    headers = json.loads(CAP_HEADERS % (id, f'"cap-kafka-key":"{key}",' if key else "", id))
    return key or id, value, [(name, value and value.encode()) for name, value in headers.items()]


MESSAGE_HEADERS = ('{"PARTITION_ID":"order-1","event-aggregate-id":"order-1","event-aggregate-type":"shop.Order",'
                   '"event-type":"shop.OrderPlaced","DATE":"Thu, 26 Nov 2026 10:00:00 GMT","DESTINATION":"shop.Order",'
                   '"ID":"0000019abcdef012-0242ac1100020000"}')
COMMAND_HEADERS = '{"DESTINATION":"shop.Order","ID":"0000019abcdef013-0242ac1100020000"}'
BODY = {
    "messageId": "11111111-0000-0000-0000-000000000001", "conversationId": "22222222-0000-0000-0000-000000000002",
    "sourceAddress": "loopback://localhost/shop", "messageType": ["urn:message:Shop.Contracts:OrderPlaced"],
    "message": {"orderId": "order-1", "total": 42.50}, "sentTime": "2026-11-26T10:00:00Z", "headers": {},
    "host": {"machineName": "shop"},
}
WRAPPED = ('{"destination_topic":"orders","uuid":"9f1b3f5e-0001","payload":"eyJvcmRlciI6IDF9",'
           '"metadata":{"name":"OrderPlaced","partition_key":"order-1"}}')

RECIPES = [
    Recipe(
        "axon", "Axon.Events",
        """INSERT INTO domain_event_entry VALUES (1, 'e-1', '{"traceId":"t-1","correlationId":"c-1"}',
            '{"orderId":"order-1","total":42.5}', '1.0', 'shop.OrderPlaced', '2026-11-26T10:00:00.123Z', 'order-1', 0,
            'Order'), (2, 'e-2', '{}', '{"n":2}', NULL, 'shop.Ping', '2026-11-26T10:00:00.123Z', 'e-2', 0, NULL)""",
        [("order-1", '{"orderId":"order-1","total":42.5}', [
            ("ce_specversion", b"1.0"), ("ce_id", b"e-1"), ("ce_source", b"https://www.axoniq.io/"),
            ("ce_type", b"shop.OrderPlaced"), ("ce_time", ...),
            ("ce_axonmessagerevision", b"1.0"), ("ce_axonmessageaggregateid", b"order-1"),
            ("ce_axonmessageaggregateseq", b"0"), ("ce_axonmessageaggregatetype", b"Order"),
            ("ce_traceid", b"t-1"), ("ce_correlationid", b"c-1"), ("content-type", b"application/json")]),
         ("e-2", '{"n":2}', [
             ("ce_specversion", b"1.0"), ("ce_id", b"e-2"), ("ce_source", b"https://www.axoniq.io/"),
             ("ce_type", b"shop.Ping"), ("ce_time", ...), ("ce_axonmessageaggregateid", b"e-2"),
             ("ce_axonmessageaggregateseq", b"0"), ("content-type", b"application/json")])],
    ),
    Recipe(
        "cap", "orders.placed",
        ";".join([cap_row("7001", "order-1", '{"OrderId":"order-1","Total":42.50}'), cap_row("7002", "", '"text"'),
                  cap_row("7003", "order-1", "null")]),
        [cap_record("7001", "order-1", '{"OrderId":"order-1","Total":42.50}'), cap_record("7002", "", '"text"'),
         cap_record("7003", "order-1", "null")],
    ),
    Recipe(
        "dotnet", "orders.events",
        """INSERT INTO outbox_messages (id, type, content, occurred_on_utc) VALUES
            ('aaaaaaaa-0000-0000-0000-000000000001', 'OrderPlaced', '{"OrderId": "order-1", "Total": 42.50}', now()),
            ('aaaaaaaa-0000-0000-0000-000000000002', 'Ping', '{"n": 2}', now())""",
        [("order-1", '{"Total": 42.50, "OrderId": "order-1"}',
          [("id", b"aaaaaaaa-0000-0000-0000-000000000001"), ("type", b"OrderPlaced")]),
         ("aaaaaaaa-0000-0000-0000-000000000002", '{"n": 2}',
          [("id", b"aaaaaaaa-0000-0000-0000-000000000002"), ("type", b"Ping")])],
        "SELECT 1 FROM outbox_messages WHERE processed_on_utc IS NULL",
    ),
    Recipe(
        "dotnet-pascal", "orders.events",
        """INSERT INTO app."OutboxMessages" ("Id", "OccurredOn", "Type", "Data") VALUES
            ('aaaaaaaa-0000-0000-0000-000000000001', now(), 'OrderPlaced', '{"OrderId":"order-1","Total":42.50}')""",
        [("order-1", '{"OrderId":"order-1","Total":42.50}',
          [("id", b"aaaaaaaa-0000-0000-0000-000000000001"), ("type", b"OrderPlaced")])],
        'SELECT 1 FROM app."OutboxMessages" WHERE "ProcessedDate" IS NULL',
    ),
    Recipe(
        "eventuate", "shop.Order",
        f"""INSERT INTO eventuate.message (id, destination, headers, payload, creation_time, published) VALUES
            ('0000019abcdef012-0242ac1100020000', 'shop.Order', '{MESSAGE_HEADERS}', '{{"total": 42.50}}',
             round(extract(epoch FROM current_timestamp) * 1000)::bigint, 0),
            ('0000019abcdef013-0242ac1100020000', 'shop.Order', '{COMMAND_HEADERS}', '{{}}',
             round(extract(epoch FROM current_timestamp) * 1000)::bigint, 0)""",
        [("order-1", f'{{"payload":"{{\\"total\\": 42.50}}","headers":{MESSAGE_HEADERS}}}', []),
         ("0000019abcdef013-0242ac1100020000", f'{{"payload":"{{}}","headers":{COMMAND_HEADERS}}}', [])],
        "SELECT 1 FROM eventuate.message",
    ),
    Recipe(
        "masstransit", "OrderPlaced",
        f"""INSERT INTO "OutboxMessage" ("SentTime", "MessageId", "ConversationId", "SourceAddress", "ContentType",
            "MessageType", "Body") VALUES (now(), '{BODY["messageId"]}', '{BODY["conversationId"]}',
            '{BODY["sourceAddress"]}', 'application/vnd.masstransit+json',
            'urn:message:Shop.Contracts:OrderPlaced;urn:message:Shop.Contracts:Event', '{json.dumps(BODY)}')""",
        [("order-1", json.dumps(BODY["message"]), [
            ("MessageId", BODY["messageId"].encode()), ("CorrelationId", None),
            ("ConversationId", BODY["conversationId"].encode()), ("InitiatorId", None),
            ("SourceAddress", BODY["sourceAddress"].encode()), ("DestinationAddress", None)])],
        'SELECT 1 FROM "OutboxMessage"',
    ),
    Recipe(
        "modulith", "OrderCompleted",
        "".join(f"""INSERT INTO event_publication (id, event_type, listener_id, publication_date, serialized_event,
            status, completion_attempts, last_resubmission_date) VALUES ('bbbbbbbb-0000-0000-0000-00000000000{n}',
            'com.shop.order.OrderCompleted', '{listener}', now(), '{{"orderId":"order-1"}}', 'PUBLISHED', 1, now());"""
                for n, listener in enumerate(["com.shop.inventory.Inventory.on(com.shop.OrderCompleted)", "outbox"])),
        [("order-1", '{"orderId":"order-1"}', [("__TypeId__", b"com.shop.order.OrderCompleted")])],
    ),
    Recipe(
        "watermill", "orders",
        """INSERT INTO "watermill_orders" (uuid, payload, metadata, transaction_id) VALUES
            ('9f1b3f5e-0001', '{"order": 1}', '{"name":"OrderPlaced","partition_key":"order-1"}', pg_current_xact_id()),
            ('9f1b3f5e-0002', '{"order": 2}', '{}', pg_current_xact_id())""",
        [("order-1", '{"order": 1}', [("_watermill_message_uuid", b"9f1b3f5e-0001"), ("name", b"OrderPlaced"),
                                      ("partition_key", b"order-1")]),
         ("9f1b3f5e-0002", '{"order": 2}', [("_watermill_message_uuid", b"9f1b3f5e-0002")])],
        'SELECT 1 FROM "watermill_orders"',
    ),
    Recipe(
        "watermill-forwarder", "orders",
        f"""INSERT INTO "watermill_events_to_forward" (uuid, payload, metadata, transaction_id) VALUES
            ('7c00-wrapper', '{WRAPPED}', '{{}}', pg_current_xact_id())""",
        [("order-1", '{"order": 1}', [("_watermill_message_uuid", b"9f1b3f5e-0001"), ("name", b"OrderPlaced"),
                                      ("partition_key", b"order-1")])],
        'SELECT 1 FROM "watermill_events_to_forward"',
    ),
]


def prepare(make_stage, name):
    """A stage with the framework's table, published, and the settings of the page's configuration."""
    given = settings(configurations()[name])
    stage = make_stage(set_up=False)
    stage.sql((TABLES / f"{name}.sql").read_text())
    for script in ("slot_checkpoint.sql", "parked.sql", "cleanup.sql"):
        stage.sql((places.TREE / "sql" / script).read_text())
    stage.publish(given["outbox.table"])
    stage.create_slot(with_truth=False)
    return stage, {**given, "outbox.topic.replacement": f"{stage.name}.{given['outbox.topic.replacement']}"}


def test_each_recipe_is_here_and_on_the_page():
    assert [recipe.name for recipe in RECIPES] == NAMES == sorted(configurations())


@pytest.mark.on("all")
@pytest.mark.parametrize("recipe", RECIPES, ids=lambda recipe: recipe.name)
def test_a_row_of_the_framework_gives_the_record_that_its_consumers_read(make_stage, recipe):
    stage, given = prepare(make_stage, recipe.name)
    stage.create_topic(recipe.topic, partitions=1)
    relay = stage.new_relay({**given, "cleanup.interval": "100ms", "cleanup.pause": "0s"})
    checked = run_command("check", "-c", relay.config_file)
    assert checked.returncode == 0, checked.stdout
    relay.start()
    stage.wait_streaming(relay)
    if recipe.rest:
        known = "SELECT count(*) FROM walpost.cleanup_floor WHERE wait_for IS NULL"
        relay.wait_until(lambda: stage.sql(known) == [(1,)], 30, "the floor is known")
    stage.sql(recipe.rows)
    stage.wait_all_confirmed(relay=relay)
    seen = stage.read(recipe.topic)
    assert [(m.key.decode(), m.value.decode()) for m in seen] == [record[:2] for record in recipe.records]
    for message, (_, _, headers) in zip(seen, recipe.records):
        found = [(name, value) for name, value in message.headers if not name.startswith("walpost-")]
        assert [name for name, _ in found] == [name for name, _ in headers]
        assert all(value == wanted for (_, value), (_, wanted) in zip(found, headers) if wanted is not ...), found
        assert message.position


@pytest.mark.parametrize("recipe", [recipe for recipe in RECIPES if recipe.rest], ids=lambda recipe: recipe.name)
def test_what_was_sent_is_marked_or_deleted(make_stage, recipe):
    stage, given = prepare(make_stage, recipe.name)
    stage.create_topic(recipe.topic, partitions=1)
    relay = stage.relay({**given, "cleanup.interval": "100ms", "cleanup.keep": "0s"})
    known = "SELECT count(*) FROM walpost.cleanup_floor WHERE wait_for IS NULL"
    relay.wait_until(lambda: stage.sql(known) == [(1,)], 30, "the floor is known")
    stage.sql(recipe.rows)
    relay.wait_until(lambda: stage.sql(recipe.rest) == [], 30, "no row is left to clean up")
    assert len(stage.read(recipe.topic)) == len(recipe.records)


@pytest.mark.parametrize("name", NAMES)
def test_init_prints_what_the_documentation_shows(name):
    done = run_command("init", "--like", name)
    assert (done.returncode, done.stdout, done.stderr) == (0, (LIKE / f"{name}.conf").read_text(), "")
    assert configurations()[name] == done.stdout


def test_init_like_what_is_not_known_names_the_nearest():
    assert "did you mean axon?" in run_command("init", "--like", "axn").stderr
    done = run_command("init", "--like", "hibernate")
    assert done.returncode == 2
    assert f'there is no configuration like "hibernate"; allowed are: {NAMES[0]}' in done.stderr
    listed = run_command("init", "--help").stdout
    assert all(name in listed for name in NAMES)


def test_a_payload_that_is_not_in_the_encoding_is_named(make_stage):
    stage, given = prepare(make_stage, "watermill-forwarder")
    assert given["outbox.payload.encoding"] == "base64"
    stage.create_topic("orders", partitions=1)
    relay = stage.relay(given)
    stage.sql("""INSERT INTO "watermill_events_to_forward" (uuid, payload, metadata, transaction_id) VALUES
        ('7', '{"destination_topic": "orders", "uuid": "8", "payload": "no base64", "metadata": null}', NULL,
         pg_current_xact_id())""")
    assert relay.wait_exit() == 3
    assert "id 7: the value: the payload is not in base64: correct the row" in relay.log_tail()
