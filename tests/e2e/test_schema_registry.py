"""outbox.schema.registry: the payload that the application encoded, preceded by the id of its subject's schema."""

import json
import os
import struct
import time
import urllib.error
import urllib.request

import psycopg
import pytest

from lib import schema_consumers as consumers
from lib.certificates import Authority
from lib.doubles.endpoint import broken, garbage, json_answer, silent
from lib.doubles.registry import Registry
from lib.relay import run_command
from lib.secrets import put
from lib.waiting import check_in_time

COLUMNS = """id uuid PRIMARY KEY DEFAULT gen_random_uuid(), aggregatetype text, aggregateid text, type text,
             payload jsonb, body bytea"""
AVRO = {"type": "record", "name": "Order", "fields": [{"name": "n", "type": "long"}]}


@pytest.fixture
def registry():
    with Registry() as one:
        yield one


@pytest.fixture
def stage(make_stage):
    one = make_stage(columns=COLUMNS)
    one.create_topic(partitions=1)
    return one


@pytest.fixture(scope="module")
def authority(tmp_path_factory):
    return Authority(tmp_path_factory.mktemp("certificates"), "registry")


def conf(registry, **more):
    return {"outbox.column.payload": "body", "outbox.schema.registry": registry.url,
            **{f"outbox.schema.{name}": value for name, value in more.items()}}


def insert(stage, body=b"\x02", topic="order", type="created", key="1"):
    stage.sql("INSERT INTO outbox (aggregatetype, aggregateid, type, body) VALUES (%s, %s, %s, %s)",
              (topic, key, type, body))


def subject(stage, topic="order"):
    return f"{stage.topic(topic)}-value"


def frame(id, *index):
    return b"\0" + struct.pack(">I", id) + bytes(index)


def values(stage, *topics):
    stage.wait_all_confirmed()
    return [m.value for m in stage.read(*topics)]


def waits(relay, text):
    relay.wait_until(lambda: any(text in line["reason"] for line in relay.log("schema_waiting")), 20, "it waits")


def get(relay, path):
    """Status and text."""
    (line,) = relay.log("http_listens")
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{line['port']}{path}", timeout=10) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as answer:
        return answer.code, answer.read().decode()


def metrics(relay):
    lines = [line.split() for line in get(relay, "/metrics")[1].splitlines() if not line.startswith("#")]
    return {name: float(number) for name, number in lines if "{" not in name}


# --- the frame


@pytest.mark.parametrize("kind, versions, index", [
    ("AVRO", "", b""), ("JSON", "", b""), ("PROTOBUF", "", b"\0"), ("PROTOBUF", "*:latest:1/0", b"\4\2\0"),
    ("AVRO", "*:latest:1/0", b""),
])
def test_the_id_stands_before_the_payload_and_of_protobuf_the_index(stage, registry, kind, versions, index):
    id = registry.register(subject(stage), "the schema", kind)
    stage.relay(conf(registry, versions=versions))
    insert(stage, b"\xff\x00")
    insert(stage, None)
    insert(stage, b"")
    assert values(stage) == [frame(id) + index + b"\xff\x00", None, frame(id) + index]


def test_what_is_framed_already_is_framed_again(stage, registry):
    id = registry.register(subject(stage), AVRO)
    stage.relay(conf(registry))
    insert(stage, frame(id) + b"\x02")
    assert values(stage) == [frame(id) + frame(id) + b"\x02"]


@pytest.mark.parametrize("strategy, record, wanted", [
    ("record-name", "${type}", "Created"),
    ("record-name", "com.example.${type}.v1", "com.example.Created.v1"),
    ("record-name", "com.example.Event", "com.example.Event"),
    ("topic-record-name", "com.example.${type}", "{topic}-com.example.Created"),
])
def test_the_subject_is_of_the_record_name(stage, registry, strategy, record, wanted):
    id = registry.register(wanted.format(topic=stage.topic()), AVRO)
    relay = stage.relay(conf(registry, subject=strategy, record=record))
    insert(stage, type="Created")
    assert values(stage) == [frame(id) + b"\x02"]
    insert(stage, type="")
    if "${type}" in record:
        assert relay.wait_exit() == 3
        assert "it has no type" in relay.log_text()
    else:
        assert len(values(stage)) == 2


def test_a_pinned_version_is_kept_and_latest_followed(stage, registry):
    first = registry.register(subject(stage), AVRO)
    other = registry.register(subject(stage, "bill"), AVRO)
    stage.create_topic("bill", partitions=1)
    relay = stage.relay({
        **conf(registry, versions=f"{subject(stage)}:1"), "outbox.schema.refresh": "1s"})
    insert(stage)
    insert(stage, topic="bill")
    assert values(stage) == [frame(first) + b"\x02"] and values(stage, "bill") == [frame(other) + b"\x02"]
    registry.register(subject(stage), {**AVRO, "doc": "2"})
    newest = registry.register(subject(stage, "bill"), {**AVRO, "doc": "2"})

    def follows():
        insert(stage)
        insert(stage, topic="bill")
        return values(stage, "bill")[-1] == frame(newest) + b"\x02"
    relay.wait_until(follows, 20, "the latest is followed")
    assert set(values(stage)) == {frame(first) + b"\x02"}
    assert len(registry.asked_for(subject(stage))) == 1
    (line,) = relay.log("schema_changed")
    assert (line["subject"], line["id"], line["version"]) == (subject(stage, "bill"), str(newest), "2")


@pytest.mark.parametrize("kind", consumers.KINDS)
def test_confluents_consumer_reads_what_was_framed(stage, registry, kind):
    schema, index, payload, wanted = consumers.KINDS[kind]
    registry.register(subject(stage), schema, kind)
    stage.relay(conf(registry, versions=f"*:latest{index}"))
    insert(stage, payload)
    (value,) = values(stage)
    assert consumers.consume(kind, registry.url, stage.topic(), value) == wanted


# --- closed


def fixed(stage):
    return {"outbox.topic.replacement": stage.topic()}


def says(**facts):
    return lambda *_: json_answer(facts)


@pytest.mark.parametrize("prepare, more, words", [
    (lambda r, s: None, {}, "is not in the schema registry at"),
    (lambda r, s: r.register(s, AVRO), {"versions": "*:7"}, "has no version 7 in the schema registry at"),
    (lambda r, s: r.forbidden.add(s), {}, "give it the right to read the subject"),
    (lambda r, s: setattr(r, "login", "Basic x"), {}, "correct outbox.schema.registry.basic_auth"),
    (lambda r, s: r.fail(garbage, None), {}, "is not what a schema registry does"),
    (lambda r, s: r.register(s, "{}", "XML"), {}, "is not what a schema registry does"),
    (lambda r, s: r.register(s, "{}", "AN-UNKNOWN-KIND-OF-SCHEMA"), {}, "is not what a schema registry does"),
    (lambda r, s: r.fail(says(id=1.5, version=1), None), {}, "is not what a schema registry does"),
    (lambda r, s: r.fail(says(id="1", version=1), None), {}, "is not what a schema registry does"),
    (lambda r, s: r.fail(says(id=2147483648, version=1), None), {}, "is not what a schema registry does"),
    (lambda r, s: r.fail(says(id=1, version=2), None), {"versions": "*:1"}, "is not what a schema registry does"),
])
def test_a_registry_that_says_no_at_the_start_ends_it(stage, registry, prepare, more, words):
    prepare(registry, subject(stage))
    insert(stage)
    relay = stage.new_relay({**conf(registry, **more), **fixed(stage)}).start()
    assert relay.wait_exit() == 2
    (line,) = relay.log("start_failed")
    assert words in line["reason"] and subject(stage) in line["reason"]
    assert registry.url.split("//")[1] in line["reason"] or "outbox.schema.versions" in line["reason"]
    assert stage.read() == []


def test_a_url_that_is_no_registry_ends_it(stage, registry):
    relay = stage.new_relay({**conf(registry), "outbox.schema.registry": registry.url + "/elsewhere"}).start()
    assert relay.wait_exit() == 2
    assert "as no schema registry does" in relay.log("start_failed")[0]["reason"]


@pytest.mark.parametrize("changes, words", [
    ({"outbox.schema.registry": "registry:8081"}, "is not the http or https URL"),
    ({"outbox.schema.registry": "http://me:pass@registry"}, "holds a user"),
    ({"outbox.schema.registry.basic_auth": "me"}, "is not user:password"),
    ({"outbox.schema.versions": "a"}, "a subject has no version"),
    ({"outbox.schema.versions": "a:0"}, "a version is 0"),
    ({"outbox.schema.subject": "record-name", "outbox.schema.record": "a.${x}"}, "is not a record name"),
    ({"outbox.envelope": "protobuf"}, "to raw"),
    ({"outbox.confluent.schemas": "a:1"}, "keep one of them"),
])
def test_what_does_not_go_together_is_refused(stage, registry, changes, words):
    relay = stage.new_relay({**conf(registry), **changes}).start()
    assert relay.wait_exit() == 2
    assert words in relay.log_text()
    assert "me:pass" not in relay.log_text()


# --- logins


def test_a_password_file_is_read_again(stage, tmp_path):
    with Registry(user="me:first") as registry:
        stage.create_topic("bill", partitions=1)
        ids = [registry.register(subject(stage, name), AVRO) for name in ("order", "bill")]
        file = put(tmp_path / "login", "me:first\n")
        relay = stage.relay(conf(registry), environment={
            "WALPOST__OUTBOX__SCHEMA_REGISTRY_BASIC_AUTH_FILE": str(file)})
        insert(stage)
        assert values(stage) == [frame(ids[0]) + b"\x02"]
        registry.login = "Basic bWU6c2Vjb25k"
        insert(stage, topic="bill")
        waits(relay, "does not accept the login")
        put(file, "me:second\n")
        assert values(stage, "bill") == [frame(ids[1]) + b"\x02"]
        assert "first" not in relay.log_text() and "second" not in relay.log_text()


def test_a_bearer_token_and_a_certificate_of_ones_own(stage, authority):
    with Registry(token="abc.def", certificate=authority.issue("server")) as registry:
        id = registry.register(subject(stage), AVRO)
        stage.relay({
            **conf(registry), "outbox.schema.registry.bearer_token": "abc.def",
            "outbox.schema.registry.ca_file": authority.certificate})
        insert(stage)
        assert values(stage) == [frame(id) + b"\x02"]


def test_a_certificate_that_is_not_trusted_names_the_option(stage, authority):
    with Registry(certificate=authority.issue("server")) as registry:
        relay = stage.new_relay(conf(registry)).start()
        assert relay.wait_exit() == 2
        assert "outbox.schema.registry.ca_file" in relay.log("start_failed")[0]["reason"]


# --- outages


DOWN_SECONDS = int(os.environ.get("WALPOST_REGISTRY_DOWN", "5"))  # 3600: an hour


@pytest.mark.timeout(300 + DOWN_SECONDS)
def test_what_is_known_serves_while_the_registry_is_down(stage, registry):
    id = registry.register(subject(stage), AVRO)
    relay = stage.relay({**conf(registry, refresh="1s"), "http.listen": "127.0.0.1:0"})
    insert(stage)
    assert values(stage) == [frame(id) + b"\x02"]
    registry.fail(broken(503), None)
    until, sent = time.monotonic() + DOWN_SECONDS, 1
    while time.monotonic() < until or metrics(relay)["walpost_schema_registry_failures_total"] == 0:
        insert(stage)
        sent += 1
        stage.wait_all_confirmed()
        if sent % 5 == 0:
            stage.sql("SELECT pg_terminate_backend(active_pid) FROM pg_replication_slots WHERE slot_name = %s",
                      (stage.slot,))
            stage.wait_streaming(relay)
    read = values(stage)
    assert set(read) == {frame(id) + b"\x02"} and len(read) >= sent
    (line,) = relay.log("schema_registry_unreachable")
    assert line["subjects_known"] == "1"
    facts = metrics(relay)
    assert facts["walpost_schema_registry_reachable"] == 0 and facts["walpost_schema_subjects"] == 1
    registry.mend()

    def reached():
        insert(stage)
        return metrics(relay)["walpost_schema_registry_reachable"] == 1
    relay.wait_until(reached, 60, "it is reached again")
    assert len(relay.log("schema_registry_reachable")) == 1


def test_a_new_subject_waits_for_the_registry_and_keeps_the_order(stage, registry):
    id = registry.register(subject(stage), AVRO)
    registry.fail(broken(503), None)
    relay = stage.relay({**conf(registry), "http.listen": "127.0.0.1:0"})
    for n in range(20):
        insert(stage, bytes([n]))
    waits(relay, "answered with status 503")
    assert stage.read() == [] and metrics(relay)["walpost_schema_missing"] == 1
    code, ready = get(relay, "/readyz")
    assert code == 503 and f"waiting for the schema id of subject {subject(stage)}" in ready and "Kafka" not in ready
    assert json.loads(get(relay, "/status")[1])["schemas"]["missing_subject"] == subject(stage)

    def trouble():
        shown = json.loads(run_command("status", "--json", "-c", relay.config_file).stdout)
        return shown["state"] == "stalled" and "the id of a schema is not known: subject" in shown["trouble"]
    relay.wait_until(trouble, 60, "the slot is stalled, and says why")
    ready = get(relay, "/readyz")[1]
    assert f"waiting for the schema id of subject {subject(stage)}" in ready and "Kafka" not in ready
    registry.mend()
    assert values(stage) == [frame(id) + bytes([n]) for n in range(20)]
    assert metrics(relay)["walpost_schema_missing"] == 0


def test_a_missing_subject_waits_until_it_is_registered(stage, registry):
    relay = stage.relay(conf(registry))
    insert(stage)
    waits(relay, f"subject {subject(stage)} is not in the schema registry")
    assert stage.read() == []
    id = registry.register(subject(stage), AVRO)
    assert values(stage) == [frame(id) + b"\x02"]
    relay.wait_until(lambda: relay.log("schema_found"), 10, "it tells so")


def test_a_missing_subject_is_not_awaited_for_ever(stage, registry):
    relay = stage.relay({**conf(registry), "relay.topic.wait": "1s"})
    insert(stage)
    assert relay.wait_exit() == 3
    (line,) = relay.log("schema_missing")
    assert "is not in the schema registry" in line["reason"] and "relay.topic.wait" in line["reason"]


@pytest.mark.alone
@pytest.mark.parametrize("fault", [silent, broken(503)])
def test_neither_a_stop_nor_a_reload_waits_for_the_registry(stage, registry, fault):
    registry.register(subject(stage), AVRO)
    registry.fail(fault, None)
    relay = stage.relay(conf(registry))
    with psycopg.connect(stage.postgres.conninfo(stage.database)) as connection:
        for _ in range(2):
            connection.execute("INSERT INTO outbox (aggregatetype, aggregateid, type, body) "
                               "VALUES ('order', '1', 'created', 'x')")
    relay.wait_until(lambda: registry.asked, 20, "it asks")
    before = time.monotonic()
    relay.reload(stage.config({**conf(registry), "log.level": "debug"}))
    relay.stop()
    check_in_time(time.monotonic() - before, 5, "the stop")
    assert stage.read() == []


def test_a_reload_keeps_what_is_known_and_brings_another_registry(stage, registry):
    id = registry.register(subject(stage), AVRO)
    relay = stage.relay(conf(registry))
    insert(stage)
    assert values(stage) == [frame(id) + b"\x02"]
    registry.fail(broken(503), None)
    relay.reload(stage.config({**conf(registry), "outbox.headers.standard": "id"}))
    insert(stage)
    assert values(stage)[-1] == frame(id) + b"\x02"
    with Registry() as other:
        other.register("more", "more")
        new = other.register(subject(stage), AVRO)
        relay.reload(stage.config(conf(other)))
        insert(stage)
        assert values(stage)[-1] == frame(new) + b"\x02"


# --- commands


def test_check_tells_subject_id_version_and_type(stage, registry):
    id = registry.register(subject(stage), "x", "PROTOBUF")
    relay = stage.new_relay({**conf(registry), **fixed(stage)})
    done = run_command("check", "-c", relay.config_file, "--json")
    found = [each for each in json.loads(done.stdout) if each["name"] == "schema"]
    assert [(f["level"], f["about"], f["what"]) for f in found] == [
        ("ok", stage.topic(), f"subject {subject(stage)} has id {id}: version 1 (the latest), Protobuf")]
    registry.remove(subject(stage))
    done = run_command("check", "-c", relay.config_file)
    assert done.returncode == 1 and f"subject {subject(stage)} is not in the schema registry" in done.stdout


def test_diff_and_tail_frame_likewise(stage, registry):
    id = registry.register(subject(stage), AVRO)
    relay = stage.relay(conf(registry))
    insert(stage)
    assert values(stage) == [frame(id) + b"\x02"]
    done = run_command("diff", "-c", relay.config_file)
    assert done.returncode == 0, done.stdout + done.stderr
    registry.remove(subject(stage))
    done = run_command("diff", "-c", relay.config_file)
    assert done.returncode == 2 and "is not in the schema registry" in done.stderr
