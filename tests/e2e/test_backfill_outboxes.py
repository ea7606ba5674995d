"""walpost backfill with several outboxes, one of them partitioned, and its rate."""

import time

import pytest

from e2e.test_outboxes import sectioned
from lib import backfill
from lib.relay import run_command

ROWS = 120
SCHEMA = """
    CREATE SEQUENCE place;
    CREATE TABLE orders (id uuid DEFAULT gen_random_uuid(), aggregatetype text DEFAULT 'order', aggregateid text,
        type text DEFAULT 'placed', payload jsonb DEFAULT '{"a": 1}', place bigint DEFAULT nextval('place'))
        PARTITION BY RANGE (place);
    CREATE TABLE orders_low (payload jsonb DEFAULT '{"a": 1}', place bigint DEFAULT nextval('place'), aggregateid text,
        id uuid DEFAULT gen_random_uuid(), type text DEFAULT 'placed', aggregatetype text DEFAULT 'order');
    ALTER TABLE orders ATTACH PARTITION orders_low FOR VALUES FROM (0) TO (100);
    CREATE TABLE orders_rest PARTITION OF orders DEFAULT;
    CREATE TABLE bills (event uuid DEFAULT gen_random_uuid(), kind text DEFAULT 'bills', customer bigint,
        body bytea DEFAULT '\\x00ff', n int, number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY)
"""


@pytest.fixture(params=[False, True], ids=["by leaf", "by root"])
def shop(request, make_stage):
    """Two tables and a prefix of messages; a third of the rows is in Kafka, and the slot is gone."""
    stage = make_stage(set_up=False)
    stage.sql(SCHEMA)
    via_root = ", publish_via_partition_root = true" if request.param else ""
    stage.publish("orders", "bills", options=f"publish = 'insert'{via_root}")
    stage.create_slot(with_truth=False)
    for topic in ("order", "bill", "note"):
        stage.create_topic(topic, partitions=2)
    stage.outboxes = {
        "outbox.table": None, "outbox.topic.replacement": None,
        "outbox.orders.table": "orders", "outbox.orders.topic.replacement": f"{stage.name}.${{routedByValue}}",
        "outbox.bills.table": "bills", "outbox.bills.column.id": "event", "outbox.bills.column.key": "customer",
        "outbox.bills.column.type": "", "outbox.bills.column.payload": "body", "outbox.bills.route.by": "kind",
        "outbox.bills.topic.replacement": f"{stage.name}.$1", "outbox.bills.topic.regex": "(.*)s",
        "outbox.notes.message.prefix": "note", "outbox.notes.topic.replacement": f"{stage.name}.note",
    }
    relay = stage.new_relay()
    stage.file = relay.config_file
    _configure(stage)
    relay.start()
    stage.wait_streaming(relay)
    _write(stage, ROWS // 3)
    stage.wait_all_confirmed(30, relay)
    relay.stop()
    backfill.drop_slot(stage)
    _write(stage, ROWS - ROWS // 3)
    return stage


def _configure(stage, changes=None):
    stage.file.write_text(sectioned({**stage.config(), **stage.outboxes, **(changes or {})}))


def _write(stage, count):
    for n in range(count):
        stage.sql(f"INSERT INTO orders (aggregateid) VALUES ('a{n % 5}')")
        stage.sql(f"INSERT INTO bills (customer, n) VALUES ({n % 5}, {n})")


def _backfill(stage, *arguments):
    return run_command("backfill", "-c", stage.file, *arguments, deadline=120)


def _ids(stage, topic):
    return [dict(message.headers)["id"].decode() for message in stage.read(topic)]


def _in_order(stage, topic, table, id, key, place):
    """Each once, and those of a key in the order of their rows."""
    rows = {str(row[0]): row[1:] for row in stage.sql(f"SELECT {id}, {key}, {place} FROM {table}")}
    last = {}
    ids = _ids(stage, topic)
    assert sorted(ids) == sorted(rows)
    for name in ids:
        key, number = rows[name]
        assert last.get(key, 0) < number
        last[key] = number


@pytest.mark.on("all")
def test_the_rows_of_all_outboxes_and_partitions_arrive_in_order(shop):
    why = backfill.refused(_backfill(shop, "--missing"))
    assert "table orders: nothing says the order of its rows" in why and "Candidates: place" in why
    shop.sql("ALTER TABLE bills RENAME number TO place")
    ran = _backfill(shop, "--missing", "--order-by", "place")
    said = backfill.done(ran)
    assert f"{2 * (ROWS - ROWS // 3)} of {2 * ROWS} rows have no record in Kafka" in said
    assert "messages with prefix note are in no table" in ran.stderr
    _in_order(shop, "order", "orders", "id", "aggregateid", "place")
    _in_order(shop, "bill", "bills", "event", "customer", "place")
    relay = shop.relays[0].start()
    shop.wait_streaming(relay)
    _write(shop, 10)
    shop.wait_all_confirmed(30, relay)
    relay.stop()
    _in_order(shop, "order", "orders", "id", "aggregateid", "place")
    _in_order(shop, "bill", "bills", "event", "customer", "place")


def test_one_outbox_alone_is_sent_and_the_others_are_named(shop):
    before = _ids(shop, "order")
    ran = _backfill(shop, "--missing", "--outbox", "bills")
    backfill.done(ran)
    assert "rows of orders are not sent, and the new slot does not have those committed before it" in ran.stderr
    assert sorted(_ids(shop, "order")) == sorted(before)
    _in_order(shop, "bill", "bills", "event", "customer", "number")
    # The cure that it names.
    shop.sql("ALTER TABLE bills RENAME number TO place")
    backfill.done(_backfill(shop, "--missing", "--force", "--order-by", "place"))
    _in_order(shop, "order", "orders", "id", "aggregateid", "place")
    _in_order(shop, "bill", "bills", "event", "customer", "place")


def test_no_more_events_are_sent_a_second_than_are_asked_for(shop):
    before = time.monotonic()
    said = backfill.done(_backfill(shop, "--outbox", "bills", "--where", "number > 40", "--rate", "40"))
    assert "80 records are confirmed" in said
    assert time.monotonic() - before >= 79 / 40
