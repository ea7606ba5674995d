"""walpost backfill sends the record that `walpost run` sent, but for its position and the time of a commit."""

import re

import pytest

from e2e.test_golden import CONFIGS, GOLDEN, OTHERS, PASSING, debezium_file, expected
from lib import backfill, places
from lib.relay import run_command

CONFIGS = [config for config in CONFIGS if not config.endswith("o-ops")]  # its rows change
RUN = "__debezium.context.runId"
LONG_AGO_MS = 1_735_686_000_000  # the times in rows are of 2024


def _environment(stage, imported):
    """Topics of its own."""
    found = re.search("^topic.replacement = (.*)", imported, re.MULTILINE)
    replacement = found[1] if found else "outbox.event.${routedByValue}"
    return {
        "WALPOST__POSTGRES__CONNINFO": stage.postgres.conninfo(stage.database),
        "WALPOST__POSTGRES__SLOT": stage.slot,
        "WALPOST__KAFKA__BOOTSTRAP_SERVERS": stage.kafka.address,
        "WALPOST__OUTBOX__IGNORE": OTHERS,
        "WALPOST__OUTBOX__TOPIC_REPLACEMENT": f"{stage.name}.{replacement}",
        "WALPOST__RELAY__POISON": "dead-letter",
        "WALPOST__RELAY__DEAD_LETTER_TOPIC": f"{stage.name}.dead",
    }


def _parts(message):
    """Without a key any partition will do, and without a column that gives it the time is that of the commit."""
    headers = [(name, len(value) if name == RUN else value) for name, value in message.headers if name not in PASSING]
    return (message.topic, message.partition if message.key is not None else None, message.key, message.value, headers,
            message.timestamp_ms if message.timestamp_ms < LONG_AGO_MS else None)


def _id(message):
    headers = dict(message.headers)
    return headers.get("walpost-dead-letter-id") or headers["id"]


@pytest.mark.parametrize("config", CONFIGS)
@pytest.mark.timeout(180)
def test_a_record_is_the_one_that_the_relay_sent(make_stage, config):
    stage = make_stage(set_up=False)
    stage.sql((GOLDEN / "schema.sql").read_text())
    stage.sql((places.TREE / "sql" / "slot_checkpoint.sql").read_text())
    stage.publication = "golden"
    stage.create_slot(with_truth=False)
    stage.sql((GOLDEN / "rows.sql").read_text())
    imported = run_command("config", "import-debezium", debezium_file(config, stage.folder)).stdout
    environment = _environment(stage, imported)
    names = {row["topic"] for row in expected(config).values() if "topic" in row} | {"outbox.event.order"}
    names = [name for name in names if re.fullmatch(r"[A-Za-z0-9._-]+", name)] + ["dead"]
    topics = [stage.topic(name) for name in names]
    if config == "i-routeby":  # no topic of another configuration has such a name
        topics += [name for name in names if not name.startswith("outbox.event")]
    for topic in topics:
        stage.kafka.create_topic(topic)
    relay = stage.new_relay(environment=environment)
    relay.config_file.write_text(imported)
    relay.start()
    stage.wait_streaming(relay)
    stage.wait_all_confirmed(30, relay)
    relay.stop()
    table = re.search("^table = (.*)", imported, re.MULTILINE)[1]
    stage.sql(f"ALTER TABLE {table} ADD sent_in_order bigint GENERATED ALWAYS AS IDENTITY")
    first = {_id(message): message for message in stage.kafka.read(*topics)}
    backfill.done(run_command("backfill", "-c", relay.config_file, "--force", "--order-by", "sent_in_order",
                              environment=environment))
    again = [message for message in stage.kafka.read(*topics) if message not in first.values()]
    assert again and len(again) == len(first) and {_id(message) for message in again} == set(first)
    different = [(one, other) for one, other in ((_parts(m), _parts(first[_id(m)])) for m in again) if one != other]
    assert not different, "\n".join(f"{one}\n{other}\n" for one, other in different)
