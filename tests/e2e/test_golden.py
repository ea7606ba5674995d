"""What real Debezium wrote for a list of rows (tests/golden), and what walpost writes for the same.

The configurations go through `walpost config import-debezium`. What differs on purpose stands in DIFFERENT,
and, with the reason, in deploy/docs/pages/debezium/differences.md.
"""

import base64
import hashlib
import json
import re

import pytest

from lib import places
from lib.murmur2 import partition_of
from lib.relay import run_command

GOLDEN = places.TREE / "tests" / "golden"
PARTITIONS = 4
DEAD = "dead-letters"
CONFIGS = sorted(file.stem for file in (GOLDEN / "expected").glob("*.jsonl"))

# Rows of which Debezium made nothing, or something else, and what walpost makes of them.
DELIVERED, DEAD_LETTER = "delivered", "dead letter"
DIFFERENT = {
    "e-expand": {"0008": DEAD_LETTER, "0009": DEAD_LETTER, "0015": DEAD_LETTER},
    "k-timestamp-tstz": {"0601": DELIVERED, "0602": DELIVERED},
    "n-bad-route": {"1101": DEAD_LETTER, "1103": DEAD_LETTER},
}
RUN_ID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}")


def read_properties(name):
    lines = (GOLDEN / "configs" / f"{name}.properties").read_text().splitlines()
    return dict(line.split("=", 1) for line in lines if "=" in line and not line.startswith("#"))


def as_server(properties):
    """The same for Debezium Server."""
    formats = {
        "org.apache.kafka.connect.storage.StringConverter": "simplestring",
        "org.apache.kafka.connect.json.JsonConverter": "json",
    }
    lines = {"debezium.sink.type": "kafka", "debezium.sink.kafka.producer.bootstrap.servers": "localhost:9092"}
    for key, value in properties.items():
        if key in ("key.converter", "value.converter"):
            lines[f"debezium.format.{key.split('.')[0]}"] = formats[value]
        elif key.endswith(".converter.schemas.enable"):
            lines[f"debezium.format.{key.split('.')[0]}.schemas.enable"] = value
        elif key.startswith("transforms"):
            lines[f"debezium.{key}"] = value
        elif not key.startswith("errors.") and key != "tasks.max":
            lines[f"debezium.source.{key}"] = value
    return lines


# Each is like an outbox, which a pattern does not ignore; the one that is configured is events all the same.
OTHERS = ", ".join(["*", *re.findall(r"^CREATE TABLE (\w+)", (GOLDEN / "schema.sql").read_text(), re.MULTILINE)])


def debezium_file(config, folder):
    plain = config.removeprefix("server-")
    properties = {**read_properties("base"), **read_properties(plain)}
    if config.startswith("server-"):
        properties = as_server(properties)
    file = folder / f"{config}.properties"
    file.write_text("".join(f"{key}={value}\n" for key, value in properties.items()))
    return file


def decoded(line, name):
    """A member of the sink's line: bytes, or None."""
    if f"{name}_base64" in line:
        return base64.b64decode(line[f"{name}_base64"])
    return None if line[name] is None else line[name].encode()


def row_of(line):
    headers = {header["name"]: header.get("value") for header in line["headers"]}
    id = headers.get("walpost-dead-letter-id") or headers["id"]
    return (json.loads(id)["payload"] if id.startswith("{") else id)[-4:]


class Sent:
    """A line of the sink in the form of the golden files."""

    def __init__(self, line):
        self.row = row_of(line)
        self.topic = line["topic"]
        self.key = decoded(line, "key")
        self.value = decoded(line, "value")
        self.headers = [(header["name"], decoded(header, "value")) for header in line["headers"]]
        self.timestamp = line.get("timestamp")  # a dead letter has none
        self.partition = line.get("partition")
        if self.partition is None and self.key is not None:
            self.partition = partition_of(self.key, PARTITIONS)


def unbase(text):
    return None if text is None else base64.b64decode(text)


def check_header(got, wanted):
    if wanted[0] == "__debezium.context.runId":
        assert got[0] == wanted[0] and RUN_ID.fullmatch(got[1].decode())
    else:
        assert got == wanted


def check_value(got, wanted):
    if "value_len" in wanted:
        assert len(got) == wanted["value_len"] and hashlib.sha256(got).hexdigest() == wanted["value_sha256"]
    else:
        assert got == unbase(wanted["value_b64"])


def check(got, wanted):
    assert got.topic == wanted["topic"]
    assert got.key == unbase(wanted["key_b64"])
    if wanted["partition"] is not None:
        assert got.partition == wanted["partition"]
    check_value(got.value, wanted)
    headers = [(name, unbase(value)) for name, value in wanted["headers"]]
    assert len(got.headers) == len(headers)
    for one, other in zip(got.headers, headers):
        check_header(one, other)
    if isinstance(wanted.get("timestamp"), int):
        assert got.timestamp == wanted["timestamp"]


@pytest.fixture
def sent_with(make_stage):
    """What walpost sends for all rows with a configuration that was Debezium's: {row: Sent}."""

    def run(config, again=False):
        stage = make_stage(set_up=False)
        stage.sql((GOLDEN / "schema.sql").read_text())
        for script in ("slot_checkpoint.sql", "reissue.sql"):
            stage.sql((places.TREE / "sql" / script).read_text())
        stage.publication = "golden_ops" if config.endswith("o-ops") else "golden"
        stage.create_slot(with_truth=False)
        stage.sql((GOLDEN / "rows.sql").read_text())
        imported = run_command("config", "import-debezium", debezium_file(config, stage.folder))
        assert imported.returncode in (0, 1), imported.stderr
        relay = stage.new_relay(environment={
            "WALPOST__POSTGRES__CONNINFO": stage.postgres.conninfo(stage.database),
            "WALPOST__POSTGRES__SLOT": stage.slot,
            "WALPOST__OUTBOX__IGNORE": OTHERS,
            "WALPOST__RELAY__SINK": "stdout",
            "WALPOST__RELAY__POISON": "dead-letter",
            "WALPOST__RELAY__DEAD_LETTER_TOPIC": DEAD,
        })
        relay.config_file.write_text(imported.stdout)
        relay.start()
        stage.wait_streaming(relay)
        stage.wait_all_confirmed(relay=relay)
        if again:
            table = re.search("^table = (.*)", imported.stdout, re.MULTILINE)[1]
            stage.sql(f"SELECT walpost.reissue(%s, '{table}', o, 'again') FROM {table} o", (stage.slot,))
            stage.wait_all_confirmed(relay=relay)
        relay.stop()
        return [Sent(json.loads(line)) for line in relay.stdout_text().splitlines()]

    return run


def expected(config):
    lines = (GOLDEN / "expected" / f"{config}.jsonl").read_text().splitlines()
    return {next(iter(row["row"].values()))[-4:]: row for row in map(json.loads, lines)}


# What differs in one that is sent again; those of a dead letter tell its own position, time and size.
PASSING = {"walpost-position", "walpost-reissued", "walpost-dead-letter-position", "walpost-dead-letter-timestamp",
           "walpost-dead-letter-size"}


@pytest.mark.parametrize("config", [config for config in CONFIGS if not config.endswith("o-ops")])  # its rows change
def test_what_is_sent_again_is_what_it_was(sent_with, config):
    sent = sent_with(config, again=True)
    first = {one.row: one for one in reversed(sent)}
    again = [one for one in sent if ("walpost-reissued", b"again") in one.headers]
    assert again and {one.row for one in again} == set(first)
    for one in again:
        other = first[one.row]
        assert one is not other and (one.topic, one.key, one.value, one.partition) == (
            other.topic, other.key, other.value, other.partition)
        kept = [[header for header in some.headers if header[0] not in PASSING] for some in (one, other)]
        assert kept[0] == kept[1]


@pytest.mark.parametrize("config", CONFIGS)
def test_what_debezium_wrote_is_what_walpost_writes(sent_with, config):
    sent = {one.row: one for one in sent_with(config)}
    different = DIFFERENT.get(config, {})
    for row, wanted in expected(config).items():
        what = different.get(row)
        if what == DEAD_LETTER:
            assert sent[row].topic == DEAD
        elif what == DELIVERED:
            assert sent[row].topic != DEAD
        else:
            assert "error" not in wanted, f"{row}: {wanted['error']}"
            check(sent[row], wanted)


def test_what_differs_is_in_the_docs():
    text = (places.TREE / "deploy/docs/pages/debezium/differences.md").read_text()
    for config, rows in DIFFERENT.items():
        for row in rows:
            assert re.search(rf"\| `{config}` \|[^\n]*\b{row}\b", text), f"{config} {row}"
