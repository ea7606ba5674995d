"""outbox.schema.registry with a real registry, Apicurio's, and Confluent's consumers. Ring `samples`: 220 MB."""

import pytest

from lib import schema_consumers as consumers
from lib.relay import run_command
from servers.apicurio import Apicurio


@pytest.fixture(scope="module")
def registry(tmp_path_factory):
    one = Apicurio(tmp_path_factory.mktemp("registry") / "apicurio")
    yield one
    one.end()


@pytest.fixture
def stage(make_stage):
    one = make_stage(columns="id uuid PRIMARY KEY DEFAULT gen_random_uuid(), aggregatetype text, aggregateid text, "
                             "type text, body bytea")
    one.create_topic(partitions=1)
    return one


def conf(registry, **more):
    return {"outbox.column.payload": "body", "outbox.schema.registry": registry.url,
            **{f"outbox.schema.{name}": value for name, value in more.items()}}


def insert(stage, body, type="created"):
    stage.sql("INSERT INTO outbox (aggregatetype, aggregateid, type, body) VALUES ('order', '1', %s, %s)", (type, body))


@pytest.mark.parametrize("kind", consumers.KINDS)
def test_confluents_consumer_reads_what_was_framed(stage, registry, kind):
    schema, index, payload, wanted = consumers.KINDS[kind]
    id = registry.register(f"{stage.topic()}-value", schema, kind)
    relay = stage.relay(conf(registry, versions=f"*:latest{index}"))
    insert(stage, payload)
    stage.wait_all_confirmed()
    (message,) = stage.read()
    assert int.from_bytes(message.value[1:5], "big") == id
    assert consumers.consume(kind, registry.url, stage.topic(), message.value) == wanted
    done = run_command("check", "-c", relay.config_file, "--set", f"outbox.topic.replacement={stage.topic()}")
    assert f"subject {stage.topic()}-value has id {id}: version 1 (the latest)" in done.stdout, done.stderr


def test_versions_are_pinned_and_records_have_names_with_slashes(stage, registry):
    first = registry.register(f"{stage.name}/a b.created", consumers.AVRO)
    newer = {**consumers.AVRO, "fields": [*consumers.AVRO["fields"], {"name": "n", "type": "int", "default": 0}]}
    assert registry.register(f"{stage.name}/a b.created", newer) != first
    record = f"{stage.name}/a b.${{type}}"
    stage.relay(conf(registry, subject="record-name", record=record, versions=f"{stage.name}*:1"))
    insert(stage, b"x")
    stage.wait_all_confirmed()
    (message,) = stage.read()
    assert int.from_bytes(message.value[1:5], "big") == first


@pytest.mark.parametrize("versions, words", [
    ("", "is not in the schema registry at"), ("*:7", "has no version 7 in the schema registry at")])
def test_what_it_does_not_have_ends_the_start(stage, registry, versions, words):
    if versions:
        registry.register(f"{stage.topic()}-value", consumers.AVRO)
    relay = stage.new_relay({**conf(registry, versions=versions), "outbox.topic.replacement": stage.topic()}).start()
    assert relay.wait_exit() == 2
    assert words in relay.log("start_failed")[0]["reason"]


def test_a_path_that_is_not_its_own_ends_the_start(stage, registry):
    relay = stage.new_relay({**conf(registry), "outbox.schema.registry": registry.url + "/nothing"}).start()
    assert relay.wait_exit() == 2
    assert "as no schema registry does" in relay.log("start_failed")[0]["reason"]
