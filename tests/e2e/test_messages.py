"""Events without a table: transactional logical messages."""

import json

import pytest

from lib import places
from lib.relay import config_text, run_command

CONFIG = {"outbox.message.prefix": "outbox"}
CONTENT = {"id": "m-1", "aggregatetype": "order", "aggregateid": "7", "type": "placed", "payload": {"n": 1}}


@pytest.fixture
def emitting(stage):
    """A stage with walpost.emit()."""
    stage.create_topic(partitions=1)
    stage.sql((places.TREE / "sql" / "outbox_emit.sql").read_text())
    return stage


def emit(stage, content=None, prefix="outbox", transactional=True, connection=None):
    text = content if isinstance(content, str) else json.dumps(content or CONTENT)
    statement = "SELECT pg_logical_emit_message(%s, %s, %s::text)"
    if connection is None:
        stage.sql(statement, (transactional, prefix, text))
    else:
        connection.execute(statement, (transactional, prefix, text))


@pytest.mark.on("all")
def test_a_message_is_an_event_in_its_place_among_rows(emitting):
    stage = emitting
    stage.relay(CONFIG)
    with stage.transaction() as connection:
        stage.insert("7", '{"n": 0}', connection=connection)
        emit(stage, connection=connection)
        emit(stage, CONTENT, prefix="other", connection=connection)
        stage.insert("7", '{"n": 2}', connection=connection)
    stage.wait_all_confirmed()
    first, message, last = stage.read()
    assert (message.key, message.value) == (b"7", b'{"n": 1}')
    assert message.header("id") == b"m-1" and message.header("type") == b"placed"
    assert [int(m.position[-8:], 16) for m in (first, message, last)] == [0, 1, 3]
    assert message.timestamp_ms == first.timestamp_ms


def test_what_rolls_back_is_never_sent(emitting):
    stage = emitting
    stage.relay(CONFIG)
    with stage.connect() as connection:
        connection.autocommit = False
        emit(stage, connection=connection)
        connection.rollback()
    emit(stage, {**CONTENT, "id": "m-2"})
    stage.wait_all_confirmed()
    assert [m.header("id") for m in stage.read()] == [b"m-2"]


@pytest.mark.on("all")
def test_the_function_takes_the_columns_and_returns_the_id(emitting):
    stage = emitting
    stage.relay(CONFIG)
    ((id,),) = stage.sql(
        "SELECT walpost.emit('order', '7', 'placed', '{\"a\": [1, null]}', '{\"trace\": \"t\", \"n\": 1, \"x\": null}')"
    )
    stage.wait_all_confirmed()
    (message,) = stage.read()
    assert message.value == b'{"a": [1, null]}'
    assert message.header("id").decode() == str(id)
    assert dict(message.headers)["trace"] == b"t" and dict(message.headers)["n"] == b"1"
    assert ("x", None) in list(message.headers)


def test_the_function_refuses_what_walpost_would(emitting):
    stage = emitting
    for call, why in (
        ("walpost.emit(NULL, '7', 't', '{}')", "must not be NULL"),
        ("walpost.emit('o', NULL, 't', '{}')", "must not be NULL"),
        ("walpost.emit('o', '7', 't', '{}', id => NULL)", "must not be NULL"),
        ("walpost.emit('', '7', 't', '{}')", "must not be empty"),
        ("walpost.emit('o', '', 't', '{}')", "must not be empty"),
        ("walpost.emit('o', '7', 't', '{}', '[1]')", "must be a JSON object, not array"),
        ("walpost.emit('o', '7', 't', '{}', '{\"a\": 1, \"\": 2}')", "the name of a header is empty"),
    ):
        with pytest.raises(Exception, match=f"walpost.emit.*{why}"):
            stage.sql(f"SELECT {call}")
    assert stage.sql("SELECT walpost.emit('order', '7', NULL, NULL, '{}')")


def test_only_who_may_can_call_it(emitting):
    stage = emitting
    role = f"{stage.name}_app"
    stage.sql(f"CREATE ROLE {role} LOGIN")
    try:
        stage.sql(f"GRANT USAGE ON SCHEMA walpost TO {role}")
        call = "SELECT walpost.emit('order', '7', 'placed', '{}')"
        with stage.connect(user=role) as connection, pytest.raises(Exception, match="permission denied"):
            connection.execute(call)
        stage.sql(f"GRANT EXECUTE ON FUNCTION walpost.emit(text, text, text, jsonb, jsonb, uuid, text) TO {role}")
        stage.relay(CONFIG)
        with stage.connect(user=role) as connection:
            connection.execute(call)
        stage.wait_all_confirmed()
        assert len(stage.read()) == 1
    finally:
        stage.sql(f"DROP OWNED BY {role}")
        stage.sql(f"DROP ROLE {role}")


def test_one_that_is_not_transactional_is_refused_counted_and_told(emitting):
    stage = emitting
    relay = stage.relay(CONFIG)
    emit(stage, transactional=False)
    emit(stage, transactional=False, prefix="other")
    emit(stage)
    stage.wait_log_confirmed()  # a mark would be ignored, and counted
    assert len(stage.read()) == 1
    (line,) = relay.log("message_refused")
    assert line["level"] == "warn" and "pass true as the first argument" in line["reason"]
    relay.stop()
    (stopped,) = relay.log("stopped")
    assert (stopped["messages_refused"], stopped["messages_ignored"]) == ("1", "1")


@pytest.mark.parametrize("content, why", [
    ("no JSON", "not a JSON object"),
    ('{"aggregatetype": "order"}', "has no id"),
    ('{"id": "m-1", "aggregatetype": "order"}', "has no key"),
])
def test_malformed_content_follows_the_poison_policy(emitting, content, why):
    stage = emitting
    stage.create_topic("dead", partitions=1)
    relay = stage.relay({**CONFIG, "relay.poison": "dead-letter", "relay.dead_letter.topic": stage.topic("dead")})
    emit(stage, content)
    emit(stage, {**CONTENT, "id": "good"})
    stage.wait_all_confirmed(relay=relay)
    assert [m.header("id") for m in stage.read()] == [b"good"]
    (letter,) = stage.read("dead")
    assert why in letter.header("walpost-dead-letter-reason").decode()
    assert letter.header("walpost-dead-letter-table") == b"messages of prefix outbox"
    assert letter.value.decode() == content  # which stands nowhere else


@pytest.mark.parametrize("change, reason", [
    ({"payload": "no JSON"}, "the payload is not JSON"),
    ({"headers": {"": "x", "tenant": "acme"}}, "headers' JSON object is empty"),
    ({"headers": {str(n): n for n in range(200)}}, "more than 128 headers"),
    ({"aggregatetype": "q" * 300}, 'the topic "'),
    ({"version": "007"}, '"007" is not a version'),
    ({"happened": 2 ** 62}, "after the year 294246"),
])
def test_one_that_cannot_be_shaped_is_a_letter_as_it_came(emitting, change, reason):
    stage = emitting
    stage.create_topic("dead", partitions=1)
    relay = stage.relay({
        **CONFIG, "outbox.table": "", "outbox.value.format": "json-schema", "outbox.value.columns": "amount",
        "outbox.payload.json": "validate", "outbox.debezium.schema.version": "version",
        "outbox.column.timestamp": "happened", "relay.poison": "dead-letter",
        "relay.dead_letter.topic": stage.topic("dead")})
    content = json.dumps({**CONTENT, "amount": 5, **change})
    emit(stage, content)
    emit(stage, {**CONTENT, "id": "good", "amount": 6})
    stage.wait_all_confirmed(relay=relay)
    assert [m.header("id") for m in stage.read()] == [b"good"]
    (letter,) = stage.read("dead")
    assert letter.value.decode() == content
    assert reason in letter.header("walpost-dead-letter-reason").decode()
    (line,) = relay.log("dead_letter")
    assert "the event of the messages of prefix outbox with id m-1" in line["reason"]


def test_its_headers_say_nothing_that_walpost_says(emitting):
    stage = emitting
    stage.relay(CONFIG)
    emit(stage, {**CONTENT, "headers": {"walpost-position": "f" * 42, "id": "x", "type": "x", "tenant": "acme"}})
    stage.wait_all_confirmed()
    (message,) = stage.read()
    assert [name for name, _ in message.headers] == ["id", "type", "walpost-position", "tenant"]
    assert message.header("id") == b"m-1" and message.position.startswith("0000-")


def test_without_the_dead_letter_topic_it_stops_the_relay(emitting):
    stage = emitting
    relay = stage.relay(CONFIG)
    emit(stage, "no JSON")
    assert relay.wait_exit() == 3
    (line,) = relay.log("event_undeliverable")
    assert "not a JSON object" in line["reason"] and "see outbox.message.format. Nothing after it" in line["reason"]


def test_a_protobuf_message_is_an_event_too(emitting):
    stage = emitting
    stage.relay({**CONFIG, "outbox.message.format": "protobuf"})

    def field(number, data):
        return bytes([number << 3 | 2, len(data)]) + data

    content = (field(1, b"p-1") + field(2, b"order") + field(3, b"7") + field(4, b"placed")
               + field(5, bytes([0, 255])) + field(6, field(1, b"h") + field(2, b"v")))
    stage.sql("SELECT pg_logical_emit_message(true, 'outbox', %s::bytea)", (content,))
    stage.wait_all_confirmed()
    (message,) = stage.read()
    assert (message.key, message.value) == (b"7", bytes([0, 255]))
    assert message.header("id") == b"p-1" and message.header("h") == b"v"


@pytest.mark.on("all")
def test_messages_alone_need_no_table(make_stage):
    stage = make_stage(set_up=False)
    config = {**stage.config(), "outbox.table": "", **CONFIG}
    file = stage.folder / "walpost.conf"
    file.write_text(config_text(config))
    made = run_command("init", "-c", file)
    assert made.returncode == 0, made.stderr
    checked = run_command("check", "-c", file)
    assert checked.returncode == 0, checked.stdout
    stage.create_topic(partitions=1)
    stage.relay({"outbox.table": "", **CONFIG})
    emit(stage)
    stage.wait_all_confirmed()
    assert len(stage.read()) == 1
