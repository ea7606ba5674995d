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


# --- encodings: the WAL holds the bytes of a message as they were given

NOT_UTF8 = ["LATIN1", "EUC_JP", "SQL_ASCII"]


def in_encoding(make_stage, encoding):
    """A stage of that encoding, with an outbox of messages alone and functions to send them."""
    stage = make_stage(set_up=False, encoding=encoding)
    stage.create_topic(partitions=1)
    for script in ("slot_checkpoint", "schedule", "outbox_emit"):
        stage.sql((places.TREE / "sql" / f"{script}.sql").read_text())
    stage.sql(f"CREATE PUBLICATION {stage.publication} WITH (publish = 'insert')")
    stage.create_slot(with_truth=False)
    return stage


def check_of(stage, config):
    file = stage.folder / "walpost.conf"
    file.write_text(config_text({**stage.config(), "outbox.table": "", **config}))
    run = run_command("check", "--json", "-c", file)
    return {found["name"]: found for found in json.loads(run.stdout)}


@pytest.mark.on("all")
@pytest.mark.parametrize("encoding, text", [
    ("UTF8", "\u00e9 \u00c3\u00a9 \u65e5\u672c \U0001f600"),
    ("LATIN1", "\u00e9 \u00c3\u00a9 \u00ff"),
    ("EUC_JP", "\u65e5\u672c \u00e9"),
    ("EUC_JIS_2004", "\u65e5\u672c \U0002000b \u304b\u309a"),
    ("SQL_ASCII", "ASCII"),
])
def test_the_function_is_right_in_every_encoding(make_stage, encoding, text):
    stage = in_encoding(make_stage, encoding)
    relay = stage.relay({"outbox.table": "", **CONFIG})
    body = json.dumps({text: text}, ensure_ascii=False)
    with stage.connect(client_encoding="UTF8") as connection:
        connection.execute("SELECT walpost.emit('order', %s, %s, to_jsonb(%s::text), %s)", (text, text, text, body))
        connection.execute("SELECT walpost.emit('order', %s, %s, %s, %s)", (text, text, body, body))
        connection.execute("SELECT walpost.schedule(now(), 'outbox', %s, message => true)", (json.dumps({
            "aggregatetype": "order", "aggregateid": text, "type": text, "payload": text, "headers": {text: text},
        }, ensure_ascii=False),))
    wanted = text.encode()
    relay.wait_until(lambda: len(stage.read()) == 3, 20, "all three are sent")
    for message, value in zip(stage.read(), (wanted, body.encode(), wanted)):
        assert (message.key, message.value, message.header("type"), message.header(text)) == (
            wanted, value, wanted, wanted)


@pytest.mark.on("all")
@pytest.mark.parametrize("encoding, raw", [("LATIN1", b"\xe9"), ("LATIN1", b"\xc3\xa9"), ("EUC_JP", b"\xc6\xfc"),
                                           ("EUC_JP", b"\xc3\xa9"), ("SQL_ASCII", b"\xc3\xa9")])
def test_a_text_that_may_be_no_utf8_is_never_read_as_such(make_stage, encoding, raw):
    stage = in_encoding(make_stage, encoding)
    stage.create_topic("dead", partitions=1)
    relay = stage.relay({"outbox.table": "", **CONFIG, "relay.poison": "dead-letter",
                         "relay.dead_letter.topic": stage.topic("dead")})
    content = json.dumps({**CONTENT, "aggregateid": "KEY"}).encode().replace(b"KEY", raw)
    with stage.connect(client_encoding=encoding) as connection:
        connection.execute(b"SELECT pg_logical_emit_message(true, 'outbox', '" + content + b"')")
    emit(stage, {**CONTENT, "id": "good"})  # ASCII is the same in every encoding
    relay.wait_until(lambda: stage.read(), 20, "the event behind it is sent")
    assert [m.header("id") for m in stage.read()] == [b"good"]
    relay.wait_until(lambda: stage.read("dead"), 20, "the letter is written")
    (letter,) = stage.read("dead")
    assert letter.value == content and letter.key is None
    reason = letter.header("walpost-dead-letter-reason").decode()
    for word in (encoding, "walpost.emit()", "outbox.message.format = protobuf"):
        assert word in reason


def test_without_known_characters_the_functions_take_ascii_only(make_stage):
    stage = in_encoding(make_stage, "SQL_ASCII")
    event = '{"aggregatetype": "order", "aggregateid": "7", "payload": "\u00e9"}'
    for call in ("walpost.emit('order', '7', 't', '\"\u00e9\"')", "walpost.emit('order', '\u00e9', 't', '{}')",
                 f"walpost.schedule(now(), 'outbox', '{event}', message => true)"):
        with stage.connect(client_encoding="SQL_ASCII") as connection, pytest.raises(Exception) as refused:
            connection.execute(f"SELECT {call}".encode())
        assert "SQL_ASCII" in str(refused.value) and "above ASCII" in str(refused.value)


@pytest.mark.parametrize("encoding", NOT_UTF8)
def test_check_wants_the_function_in_another_encoding(make_stage, encoding):
    stage = in_encoding(make_stage, encoding)
    assert check_of(stage, CONFIG)["message_encoding"]["level"] == "ok"
    text = "SELECT pg_logical_emit_message(true, ''outbox'', ''{}'')"
    stage.sql("CREATE OR REPLACE FUNCTION walpost.move_one(event walpost.scheduled) RETURNS void "
              f"LANGUAGE sql AS '{text}'")
    found = check_of(stage, CONFIG)["message_encoding"]
    assert found["level"] == "fail" and "move_one" in found["what"] and encoding in found["what"]
    assert "sql/schedule.sql" in found["cure"]
    stage.sql((places.TREE / "sql" / "schedule.sql").read_text())
    stage.sql("DROP FUNCTION walpost.emit")
    found = check_of(stage, CONFIG)["message_encoding"]
    assert found["level"] == "fail" and encoding in found["what"] and "sql/outbox_emit.sql" in found["cure"]
    assert "message_encoding" not in check_of(stage, {**CONFIG, "outbox.message.format": "protobuf"})
