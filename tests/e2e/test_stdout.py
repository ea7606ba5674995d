"""The stdout sink: a line for each event, confirmed when it is written."""

import base64
import json

from lib.checker import check_confirmed
from lib.kafka import Message


def _messages(relay):
    """The lines as a consumer of Kafka would see them."""
    found = []
    for number, line in enumerate(relay.stdout_text().splitlines()):
        fields = json.loads(line)
        headers = tuple(
            (h["name"], h["value"].encode() if h.get("value") is not None else None) for h in fields["headers"]
        )
        found.append(Message(
            fields["topic"], 0, number, _bytes(fields, "key"), _bytes(fields, "value"), headers, fields["timestamp"]))
    return found


def _bytes(fields, name):
    if f"{name}_base64" in fields:
        return base64.b64decode(fields[f"{name}_base64"])
    return None if fields[name] is None else fields[name].encode()


def test_each_event_is_a_line_of_json(stage):
    relay = stage.relay({"relay.sink": "stdout", "kafka.bootstrap.servers": None})
    id = stage.insert("k\u00e9y", '{"text": "line\\nend \\"quoted\\" \u65e5\u672c"}')
    stage.wait_all_confirmed()
    (line,) = relay.stdout_text().splitlines()
    fields = json.loads(line)
    (row,) = stage.sql("SELECT payload::text FROM outbox")
    assert set(fields) == {"topic", "key", "headers", "value", "timestamp", "position"}
    assert (fields["topic"], fields["key"], fields["value"]) == (stage.topic(), "k\u00e9y", row[0])
    assert fields["headers"][0] == {"name": "id", "value": id}
    assert fields["position"] == fields["headers"][2]["value"]
    relay.stop()


def test_bytes_that_are_not_utf8_stand_as_base64_under_another_name(make_stage):
    stage = make_stage(columns="id uuid PRIMARY KEY, aggregatetype text, aggregateid bytea, type text, payload bytea")
    relay = stage.relay({"relay.sink": "stdout"})
    stage.insert("plain", bytes(range(256)))
    stage.insert("null", None)
    stage.wait_all_confirmed()
    first, second = (json.loads(line) for line in relay.stdout_text().splitlines())
    assert base64.b64decode(first["value_base64"]) == bytes(range(256)) and "value" not in first
    assert second["value"] is None


def _cut_torn_line(relay):
    """A kill may tear a write(2), as it may any program's."""
    with open(relay.stdout_file, "r+b") as out:
        out.truncate(out.read().rfind(b"\n") + 1)


def test_what_is_confirmed_was_written_when_the_relay_is_killed(stage):
    relay = stage.relay({"relay.sink": "stdout"})
    for _ in range(5):
        stage.insert_many(2_000, "a{0}")
        goal = stage.confirmed() + 1
        relay.wait_until(lambda goal=goal: stage.confirmed() > goal, 20, "the slot moves")
        relay.kill()
        stage.wait_released()
        _cut_torn_line(relay)
        check_confirmed(stage.confirmed(), _messages(relay), stage.truth.events())
        relay.start()
        stage.wait_streaming(relay)
    stage.wait_all_confirmed(30, relay)
    check_confirmed(stage.confirmed(), _messages(relay), stage.truth.events())
    relay.stop()


def test_the_log_and_the_events_do_not_mix(stage):
    relay = stage.relay({"relay.sink": "stdout", "log.level": "debug"})
    stage.insert_many(100)
    stage.wait_all_confirmed()
    relay.stop()
    assert all(json.loads(line) for line in relay.stdout_text().splitlines())
    assert len(relay.stdout_text().splitlines()) == 100


def test_log_lines_may_be_json_and_hold_no_payload(stage):
    stage.create_topic()
    relay = stage.relay({"log.format": "json", "log.level": "debug"})
    stage.insert("secretkey", '{"secret": "topsecret"}')
    stage.wait_all_confirmed()
    relay.stop()
    lines = relay.log_text().splitlines()
    assert lines and all(isinstance(json.loads(line), dict) for line in lines)
    assert "topsecret" not in relay.log_text() and "secretkey" not in relay.log_text()
