"""An event that can never be delivered: the relay stops and names it, or sets it aside and goes on."""

import json
import random
import signal
import uuid

import pytest

from lib.checker import check_nothing_lost, check_once, check_order
from lib.relay import config_text, run_command
from lib.waiting import holds_for, let_grow_old

DEAD = "dead"


def _noise(size):
    """Text that no compression makes much smaller."""
    return '"' + random.Random(size).randbytes(size // 2 + 1).hex()[:size] + '"'


def _diverting(stage, **more):
    return {"relay.poison": "dead-letter", "relay.dead_letter.topic": stage.topic(DEAD), **more}


def _letter(message, name):
    return message.header(f"walpost-dead-letter-{name}").decode()


# --- what Kafka itself refuses: the closed list, each brought about on the real broker


class TooLarge:
    code = "MSG_SIZE_TOO_LARGE"
    topic = {"max_message_bytes": 65536}
    relay = {"kafka.compression.type": "lz4"}  # so that only the broker can tell

    @staticmethod
    def insert(stage):
        return stage.insert("k", _noise(300_000))


class LargerThanASegment:
    code = "RECORD_LIST_TOO_LARGE"
    topic = {"max_message_bytes": 4_000_000, "segment_bytes": 1_048_576}  # the least that Kafka 4 takes
    relay = {"kafka.message.max.bytes": "4000000"}

    @staticmethod
    def insert(stage):
        return stage.insert("k", _noise(3_000_000))


class NoKeyInACompactedTopic:
    code = "INVALID_RECORD"
    topic = {"cleanup_policy": "compact"}
    relay = {"outbox.key.null": "allow"}

    @staticmethod
    def insert(stage):
        return stage.insert(None)


class TooOld:
    code = "INVALID_TIMESTAMP"
    topic = {"message_timestamp_before_max_ms": 3600_000}
    relay = {"outbox.column.timestamp": "at"}

    @staticmethod
    def insert(stage):
        stage.sql("ALTER TABLE outbox ADD at timestamptz")  # NULL: the time of the commit
        id = str(uuid.uuid4())
        stage.sql("INSERT INTO outbox (id, aggregatetype, aggregateid, type, payload, at) "
                  "VALUES (%s, 'order', 'k', 'created', '{}', now() - interval '2 hours')", (id,))
        return id


REFUSED = [TooLarge, LargerThanASegment, NoKeyInACompactedTopic, TooOld]


@pytest.mark.parametrize("kind", REFUSED)
def test_refused_by_the_broker_it_stops_the_relay_which_names_it_and_the_way_on(stage, kind):
    stage.create_topic(partitions=1, **kind.topic)
    guilty = kind.insert(stage)
    stage.insert("k")
    relay = stage.new_relay(kind.relay).start()
    assert relay.wait_exit(60) == 3
    (error,) = relay.log("event_undeliverable")
    assert guilty in error["reason"] and kind.code in error["reason"]
    assert "walpost slot skip --to" in error["reason"] and "dead-letter" in error["reason"]
    stage.wait_released()
    assert stage.read() == []
    assert stage.confirmed() < stage.truth.events()[0].end_lsn


@pytest.mark.parametrize("kind", REFUSED)
def test_refused_by_the_broker_it_goes_to_the_dead_letters_and_the_others_keep_their_order(stage, kind):
    stage.create_topic(partitions=1, **kind.topic)
    stage.create_topic(DEAD, partitions=1, max_message_bytes=4_000_000)
    guilty = kind.insert(stage)
    relay = stage.relay(_diverting(stage, **kind.relay))
    for n in range(20):
        stage.insert("k", f'{{"n": {n}}}')
    stage.wait_all_confirmed(60, relay)
    relay.stop()
    assert not [line for line in relay.log() if line["level"] == "error"]  # it needs nobody

    (letter,) = stage.read(DEAD)
    assert letter.id == guilty
    assert kind.code in _letter(letter, "reason")
    assert _letter(letter, "table") == "public.outbox"
    assert _letter(letter, "id") == guilty
    assert _letter(letter, "topic") == stage.topic()
    assert _letter(letter, "position") == letter.position
    ((payload,),) = stage.sql("SELECT payload::text FROM outbox WHERE id = %s", (guilty,))
    assert letter.value == payload.encode()
    assert int(_letter(letter, "size")) > len(letter.value)
    assert not [name for name, _ in letter.headers if name.endswith("omitted")]

    events = [event for event in stage.truth.events() if event.id != guilty]
    messages = stage.read()
    assert len(events) == 20
    check_nothing_lost(messages, events)
    check_once(messages)
    check_order(messages, events)


def test_several_in_one_transaction_are_all_found(stage):
    stage.create_topic(partitions=2, **TooLarge.topic)
    stage.create_topic(DEAD)
    relay = stage.relay(_diverting(stage, **TooLarge.relay))
    guilty = []
    with stage.transaction() as connection:
        for n in range(60):
            huge = n in (3, 4, 30, 59)
            id = stage.insert(f"k{n % 3}", _noise(200_000 + n) if huge else "{}", connection=connection)
            if huge:
                guilty.append(id)
    after = stage.insert("k0")
    stage.wait_all_confirmed(90, relay)
    relay.stop()
    assert {m.id for m in stage.read(DEAD)} == set(guilty)
    events = [event for event in stage.truth.events() if event.id not in guilty]
    messages = stage.read()
    check_nothing_lost(messages, events)
    check_order(messages, events)
    assert events[-1].id == after


# --- what is known before it is sent


def test_known_before_they_are_sent_they_go_to_the_dead_letters_without_a_stop(stage):
    stage.create_topic(partitions=3, max_message_bytes=10_000_000)
    stage.create_topic(DEAD)
    relay = stage.relay(_diverting(stage))
    first = stage.insert("k")
    no_topic = stage.insert("k", topic="two words")
    no_key = stage.insert(None)
    huge = stage.insert("k", _noise(2_000_000))
    last = stage.insert("k")
    stage.wait_all_confirmed(30, relay)
    relay.stop()
    assert len(relay.log("dead_letter")) == 3
    assert "rewinds=0" in relay.log_text()

    assert [m.id for m in stage.read()] == [first, last]
    letters = {m.id: m for m in stage.read(DEAD)}
    assert set(letters) == {no_topic, no_key, huge}
    assert "two words" in _letter(letters[no_topic], "reason")
    assert letters[no_topic].header("walpost-dead-letter-topic") is None
    assert letters[no_topic].key == b"k" and letters[no_topic].value == b'{"n": 1}'
    assert letters[no_key].key is None and "outbox.key.null" in _letter(letters[no_key], "reason")
    assert letters[huge].value is None
    assert "message.max.bytes" in _letter(letters[huge], "reason")
    assert "payload" in _letter(letters[huge], "omitted") and huge in _letter(letters[huge], "omitted")
    assert int(_letter(letters[huge], "size")) > 2_000_000
    assert _letter(letters[huge], "topic") == stage.topic()


def test_above_the_topics_limit_without_compression_it_goes_to_the_dead_letters(stage):
    stage.create_topic(partitions=1, max_message_bytes=65536)
    stage.create_topic(DEAD)
    relay = stage.relay({**_diverting(stage), "kafka.compression.type": "none"})
    huge = stage.insert("k", _noise(300_000))
    last = stage.insert("k")
    stage.wait_all_confirmed(30, relay)
    assert [m.id for m in stage.read()] == [last]
    (letter,) = stage.read(DEAD)
    assert letter.id == huge and "65536" in _letter(letter, "reason")
    assert len(letter.value) >= 300_000


def test_an_id_larger_than_kafka_takes_is_cut_in_the_dead_letter(make_stage):
    stage = make_stage(columns="id text NOT NULL, aggregatetype text, aggregateid text, type text, payload text")
    stage.create_topic(partitions=1)
    stage.create_topic(DEAD)
    relay = stage.relay(_diverting(stage))
    stage.insert("k", id="x" * 2_000_000)
    last = stage.insert("k")
    stage.wait_all_confirmed(30, relay)
    (letter,) = stage.read(DEAD)
    assert letter.key is None and letter.value is None and _letter(letter, "id") == "x" * 1024
    assert [m.id for m in stage.read()] == [last]


def test_a_limit_that_was_just_raised_is_believed(stage):
    stage.create_topic(partitions=1, max_message_bytes=65536)
    stage.create_topic(DEAD)
    relay = stage.relay(_diverting(stage))
    stage.insert("k")
    stage.wait_all_confirmed(20, relay)
    stage.kafka.set_topic_config(stage.topic(), max_message_bytes=900_000)
    let_grow_old(1.5)
    large = stage.insert("k", _noise(300_000))
    stage.wait_all_confirmed(30, relay)
    assert large in [m.id for m in stage.read()] and stage.read(DEAD) == []


def test_rows_of_a_table_that_lost_a_column_go_to_the_dead_letters(stage):
    stage.create_topic(partitions=1)
    stage.create_topic(DEAD)
    relay = stage.relay(_diverting(stage))
    stage.sql("BEGIN; ALTER TABLE outbox RENAME COLUMN type TO kind; "
              "INSERT INTO outbox (id, aggregatetype, aggregateid, kind, payload) VALUES "
              "(gen_random_uuid(), 'order', 'k', 'created', '{}'); "
              "ALTER TABLE outbox RENAME COLUMN kind TO type; COMMIT")
    last = stage.insert("k")
    stage.wait_all_confirmed(30, relay)
    (letter,) = stage.read(DEAD)
    assert 'no column "type"' in _letter(letter, "reason") and letter.value == b"{}" and letter.key == b"k"
    assert [m.id for m in stage.read()] == [last]


ROW = "id int PRIMARY KEY, aggregatetype text, aggregateid text, type text, payload text, n numeric(10,2), " \
      "customer text, meta jsonb, trace text"


def _insert_and_delete(stage, **columns):
    """A row that nobody can look up when its letter is read."""
    columns = {"id": 1, "aggregatetype": "order", "aggregateid": "k", "type": "t", "payload": "{}", **columns}
    names, places = ", ".join(columns), ", ".join(["%s"] * len(columns))
    with stage.transaction() as connection:
        connection.execute(f"INSERT INTO outbox ({names}) VALUES ({places})", tuple(columns.values()))
        connection.execute("DELETE FROM outbox")


@pytest.mark.parametrize("config, columns, kept", [
    ({"outbox.types": "debezium", "outbox.headers": "n,customer"}, {"n": "NaN", "customer": "acme"},
     {"n": b"NaN", "customer": b"acme"}),
    ({"outbox.types": "debezium", "outbox.value.format": "json", "outbox.value.columns": "n,customer"},
     {"n": "NaN", "customer": "acme"},
     {"walpost-dead-letter-column-n": b"NaN", "walpost-dead-letter-column-customer": b"acme"}),
    ({"outbox.headers.json": "meta", "outbox.headers": "customer"},
     {"meta": '{"": 1, "tenant": "T"}', "customer": "acme"},
     {"tenant": b"T", "customer": b"acme", "walpost-dead-letter-column-meta": b'{"": 1, "tenant": "T"}'}),
    ({"outbox.headers.properties": "trace", "outbox.headers": "customer"},
     {"trace": "a=1\n" + "\n".join(f"h{n}={n}" for n in range(140)), "customer": "acme"},
     {"a": b"1", "id": b"1", "customer": b"acme"}),
    ({}, {"aggregatetype": "q" * 300}, {"walpost-dead-letter-column-aggregatetype": b"q" * 300}),
])
def test_what_cannot_be_made_of_a_row_is_in_its_letter_as_text(make_stage, config, columns, kept):
    stage = make_stage(columns=ROW)
    stage.create_topic(partitions=1)
    stage.create_topic(DEAD, partitions=1)
    relay = stage.relay(_diverting(stage, **config))
    _insert_and_delete(stage, **columns)
    stage.wait_all_confirmed(30, relay)
    (letter,) = stage.read(DEAD)
    headers = dict(letter.headers)
    assert letter.value == b"{}" and letter.key == b"k"
    assert {name: headers.get(name) for name in kept} == kept
    assert not [name for name in headers if name.endswith("omitted")]
    if "trace" in columns:
        assert headers["walpost-dead-letter-column-trace"].decode() == columns["trace"]


def test_a_value_that_is_left_out_leaves_its_columns(make_stage):
    stage = make_stage(columns=ROW)
    stage.create_topic(partitions=1)
    stage.create_topic(DEAD, partitions=1)
    relay = stage.relay(_diverting(stage, **{"outbox.value.format": "json", "outbox.value.columns": "customer"}))
    _insert_and_delete(stage, payload=_noise(1_200_000), customer="acme")
    stage.wait_all_confirmed(30, relay)
    (letter,) = stage.read(DEAD)
    assert letter.value is None and "message.max.bytes" in _letter(letter, "reason")
    assert letter.header("walpost-dead-letter-column-customer") == b"acme"


@pytest.mark.parametrize("binary", ["off", "on"])
def test_the_letter_of_a_bytea_is_its_bytes(make_stage, binary):
    stage = make_stage(columns="id text, aggregatetype text, aggregateid text, type text, payload bytea")
    stage.create_topic(partitions=1)
    stage.create_topic(DEAD, partitions=1)
    relay = stage.relay(_diverting(stage, **{"outbox.payload.json": "validate", "postgres.binary": binary}))
    stage.sql("INSERT INTO outbox VALUES ('1', 'order', 'k', 't', 'no JSON')")
    stage.wait_all_confirmed(30, relay)
    (letter,) = stage.read(DEAD)
    assert letter.value == b"no JSON"


# --- expanded, a payload may be larger than Kafka takes


UNLIKE = "SELECT jsonb_build_object('a', jsonb_agg(jsonb_build_object(gen_random_uuid()::text, 1))) " \
         "FROM generate_series(1, 4000)"


def test_an_expansion_stops_where_kafka_would_refuse_it(stage):
    stage.create_topic(partitions=1)
    stage.create_topic(DEAD, partitions=1)
    stage.sql(f"ALTER DATABASE {stage.database} SET wal_sender_timeout = '6s'")
    relay = stage.relay(_diverting(stage, **{
        "outbox.value.format": "json-schema", "outbox.payload.json": "expand"}))
    before = relay.peak_rss_kb()
    with stage.transaction() as connection:
        for n in range(20):
            stage.insert("k", "{}", connection=connection)
            connection.execute("INSERT INTO outbox (id, aggregatetype, aggregateid, type, payload) "
                               f"SELECT gen_random_uuid(), 'order', 'k', 't', ({UNLIKE})")
    stage.wait_all_confirmed(30, relay)
    assert relay.peak_rss_kb() - before < 64 * 1024  # written out, each is 700 MB
    assert not relay.log("stream_broken")
    assert len(stage.read()) == 20
    letters = stage.read(DEAD)
    assert len(letters) == 20 and all(len(letter.value) > 150_000 for letter in letters)
    reason = _letter(letters[0], "reason")
    assert "exceeds 1000000 bytes" in reason and "raise message.max.bytes" in reason


def test_a_limit_that_is_raised_lets_an_expansion_pass(stage):
    stage.create_topic(partitions=1, max_message_bytes=10_000_000)
    relay = stage.relay({"outbox.value.format": "json", "outbox.payload.json": "expand",
                         "kafka.message.max.bytes": "5000000"})
    stage.insert("k", '{"a": [' + ", ".join(f'{{"{n}": 1}}' for n in range(500)) + "]}")
    stage.wait_all_confirmed(30, relay)
    (message,) = stage.read()
    assert len(message.value) > 1_000_000


def test_a_member_that_expansion_would_lose_is_poison(stage):
    stage.create_topic(partitions=1)
    stage.create_topic(DEAD, partitions=1)
    relay = stage.relay(_diverting(stage, **{"outbox.value.format": "json", "outbox.payload.json": "expand"}))
    stage.insert("k", '{"a": [{"x": {"p": 1}}, {"x": {"q": 2}}]}')
    stage.wait_all_confirmed(30, relay)
    (letter,) = stage.read(DEAD)
    assert 'its member "q" does not fit the schema' in _letter(letter, "reason") and b'"q": 2' in letter.value


# --- the dead-letter topic itself


def test_nothing_is_confirmed_past_a_dead_letter_whose_topic_is_missing(stage):
    stage.create_topic(partitions=1)
    relay = stage.relay(_diverting(stage, **{"relay.topic.wait": "60s"}))
    stage.insert(None)
    relay.wait_log("topic_waiting")
    stage.insert("k")
    first = stage.truth.events()[0]
    holds_for(lambda: relay.is_alive() and stage.confirmed() < first.end_lsn, 2, "it waits")
    assert stage.read() == []
    stage.create_topic(DEAD)
    stage.wait_all_confirmed(30, relay)
    assert [m.id for m in stage.read(DEAD)] == [first.id]
    assert len(stage.read()) == 1


def test_a_dead_letter_topic_that_stays_missing_stops_the_relay(stage):
    stage.create_topic(partitions=1)
    relay = stage.relay(_diverting(stage, **{"relay.topic.wait": "1s"}))
    stage.insert(None)
    assert relay.wait_exit(30) == 3
    assert stage.topic(DEAD) in relay.log_text()
    assert stage.confirmed() < stage.truth.events()[0].end_lsn


def test_a_dead_letter_topic_that_refuses_stops_the_relay(stage):
    stage.create_topic(partitions=1)
    stage.create_topic(DEAD, cleanup_policy="compact")
    relay = stage.relay(_diverting(stage))
    id = stage.insert(None)
    assert relay.wait_exit(60) == 3
    (error,) = relay.log("event_undeliverable")
    assert id in error["reason"] and "INVALID_RECORD" in error["reason"] and "slot skip" in error["reason"]
    assert stage.confirmed() < stage.truth.events()[0].end_lsn


def test_forbidden_and_missing_topics_are_never_poison(stage):
    stage.create_topic(DEAD)
    relay = stage.relay(_diverting(stage))
    id = stage.insert("k")
    relay.wait_log("does not exist")
    holds_for(lambda: not stage.read(DEAD), 2, "nothing is set aside")
    stage.create_topic(partitions=1)
    stage.wait_all_confirmed(30, relay)
    assert [m.id for m in stage.read()] == [id]
    assert stage.read(DEAD) == []


def test_killed_while_it_diverts_it_loses_neither_the_letters_nor_the_others(stage):
    stage.create_topic(partitions=2, **TooLarge.topic)
    stage.create_topic(DEAD)
    relay = stage.relay(_diverting(stage, **TooLarge.relay))
    guilty = set()
    for round in range(4):
        for n in range(30):
            huge = n % 10 == 3
            id = stage.insert(f"k{n % 3}", _noise(150_000 + n) if huge else "{}")
            if huge:
                guilty.add(id)
        relay.kill()
        stage.wait_released()
        relay.start()
        stage.wait_streaming(relay)
    stage.wait_all_confirmed(90, relay)
    relay.stop()
    assert {m.id for m in stage.read(DEAD)} == guilty
    events = [event for event in stage.truth.events() if event.id not in guilty]
    check_nothing_lost(stage.read(), events)
    check_order(stage.read(), events)


def test_check_says_whether_the_dead_letter_topic_is_there(stage, folder):
    file = folder / "walpost.conf"
    file.write_text(config_text(stage.config(_diverting(stage))))

    def failures():
        found = json.loads(run_command("check", "--json", "-c", file).stdout)
        return [finding for finding in found if finding["about"] == stage.topic(DEAD) and finding["level"] == "fail"]

    (missing,) = failures()
    assert f"--create --topic {stage.topic(DEAD)}" in missing["cure"]
    stage.create_topic(DEAD, partitions=2)
    assert not failures()


# --- held


def test_held_it_stays_up_frees_the_slot_and_leaves_with_code_3_when_asked(stage):
    stage.create_topic(partitions=1)
    relay = stage.relay({"relay.on_halt": "hold"})
    stage.insert(None)
    relay.wait_log("halted")
    stage.wait_released()
    holds_for(relay.is_alive, 2, "it stays up")
    assert relay.log("event_undeliverable")
    relay.signal(signal.SIGTERM)
    assert relay.wait_exit(10) == 3
    assert stage.confirmed() < stage.truth.events()[0].end_lsn


# --- configuration


@pytest.mark.parametrize("changes, words", [
    ({"relay.poison": "ignore"}, ("relay.poison", "stop", "dead-letter")),
    ({"relay.poison": "dead-letter"}, ("relay.dead_letter.topic",)),
    ({"relay.dead_letter.topic": "two words"}, ("relay.dead_letter.topic", "characters")),
    ({"relay.rewind.limit": "0"}, ("relay.rewind.limit", "1000")),
    ({"relay.on_halt": "sleep"}, ("relay.on_halt", "exit", "hold")),
])
def test_wrong_policies_are_refused(stage, changes, words):
    relay = stage.new_relay(changes).start()
    assert relay.wait_exit() == 2
    for word in words:
        assert word in relay.log_text()
