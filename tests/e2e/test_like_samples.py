"""Frameworks themselves around walpost: their libraries make the table and write the rows, and their consumers read."""

import hashlib
import json
import shutil

import pytest

from lib import places, process
from lib.relay import clean_environment
from servers import cache
from test_like import TABLES, configurations, settings

WATERMILL = places.TREE / "tests" / "e2e" / "like" / "watermill"
COLUMNS = """SELECT column_name, data_type, is_nullable, column_default FROM information_schema.columns
             WHERE table_name = %s ORDER BY ordinal_position"""
PLACED = {"name": "OrderPlaced"}
MESSAGES = [
    {"uuid": "11111111-0000-0000-0000-000000000001", "metadata": {**PLACED, "partition_key": "order-1"},
     "payload": '{"order": 1}'},
    {"uuid": "11111111-0000-0000-0000-000000000002", "metadata": {**PLACED, "partition_key": "order-2"},
     "payload": '{"order": "zwei € <&>"}'},
    {"uuid": "11111111-0000-0000-0000-000000000003", "metadata": {}, "payload": "{}"},
]


@pytest.fixture(scope="session")
def watermill():
    """The program, made once for each state of its sources."""
    files = sorted(WATERMILL.iterdir())
    digest = hashlib.sha256(b"".join(file.name.encode() + file.read_bytes() for file in files)).hexdigest()[:12]

    def fill(folder):
        for file in files:
            shutil.copy(file, folder / file.name)
        cache.fetch("go", "build", "-o", "watermill", ".", cwd=folder)

    program = cache.filled(f"like-watermill-{digest}", fill) / "watermill"

    def run(*words):
        done = process.run([program, *words], 90, env=clean_environment())
        assert done.returncode == 0, done.stdout + done.stderr
        return [json.loads(line) for line in done.stdout.splitlines()]

    return run


@pytest.mark.parametrize("name, how, topic_of_table", [
    ("watermill", "write", "orders"), ("watermill-forwarder", "forward", "events_to_forward")])
def test_watermill_reads_what_watermill_wrote(make_stage, watermill, name, how, topic_of_table):
    given = settings(configurations()[name])
    stage = make_stage(set_up=False)
    stage.sql((TABLES / f"{name}.sql").read_text())
    table = f"watermill_{topic_of_table}"
    written_down = stage.sql(COLUMNS, (table,))
    stage.sql(f"DROP TABLE {table}")
    stage.sql((places.TREE / "sql" / "slot_checkpoint.sql").read_text())
    stage.sql(f"CREATE PUBLICATION {stage.publication} FOR ALL TABLES WITH (publish = 'insert')")
    stage.create_slot(with_truth=False)
    stage.create_topic("orders")
    topic = stage.topic("orders")
    forwarded = name == "watermill-forwarder"
    url = f"postgres://postgres@127.0.0.1:{stage.postgres.port}/{stage.database}"
    watermill(how, url, topic_of_table, topic if forwarded else topic_of_table)
    assert stage.sql(COLUMNS, (table,)) == written_down
    relay = stage.relay({**given, "outbox.topic.replacement": "${routedByValue}" if forwarded else topic,
                         "outbox.ignore": "walpost.*,public.watermill_offsets_*", "cleanup.mode": "none"})
    stage.wait_all_confirmed(relay=relay)
    found = watermill("read", stage.kafka.address, topic, len(MESSAGES))
    for message in found:
        assert message["metadata"].pop("walpost-position")
    assert sorted(found, key=lambda message: message["uuid"]) == MESSAGES
    assert {m.key for m in stage.read("orders")} == {b"order-1", b"order-2", MESSAGES[2]["uuid"].encode()}
