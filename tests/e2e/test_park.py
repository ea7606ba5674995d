"""relay.poison = park: an event that cannot be delivered stops its aggregate only, until it can."""

import json

import pytest

from e2e.test_poison import TooLarge, _noise
from e2e.test_reissue import PAYLOADS, ROW, SHAPES, TEXT_ONLY, TYPES
from lib import places
from lib.checker import check_nothing_lost, check_once, check_order
from lib.writer import Writer

SCRIPT = places.TREE / "sql" / "parked.sql"
PARK = {"relay.poison": "park", "park.retry.first": "200ms", "park.retry.max": "1s"}
LIMIT = TooLarge.topic["max_message_bytes"]


def prepare(stage):
    stage.sql(SCRIPT.read_text())
    if "walpost_reissue" not in {name for name, in stage.sql("SELECT pubname FROM pg_publication")}:
        stage.sql((places.TREE / "sql" / "reissue.sql").read_text())


def parked(stage):
    return stage.sql("SELECT key, id, code, attempts, alone, \"position\" FROM walpost.parked WHERE slot = %s "
                     "ORDER BY \"position\"", (stage.slot,))


def wait_parked(stage, count, relay, deadline=60):
    relay.wait_until(lambda: len(parked(stage)) == count, deadline, f"{count} events are parked")


def check_all(stage, ids=None):
    events = [event for event in stage.truth.events() if ids is None or event.id in ids]
    messages = stage.read()
    check_nothing_lost(messages, events)
    check_order(messages, events)
    return messages


@pytest.fixture
def parking(stage):
    prepare(stage)
    return stage


def test_refused_by_kafka_it_waits_with_its_aggregate_and_comes_in_order_once_it_can(parking):
    stage = parking
    stage.create_topic(partitions=2, **TooLarge.topic)
    relay = stage.relay({**PARK, **TooLarge.relay})
    for n in range(5):
        stage.insert("a", f'{{"n": {n}}}')
    guilty = stage.insert("a", _noise(300_000))
    later = [stage.insert("a", f'{{"later": {n}}}') for n in range(5)]
    others = [stage.insert(f"b{n}", f'{{"n": {n}}}') for n in range(5)]
    stage.wait_all_confirmed(60, relay)
    wait_parked(stage, 6, relay)
    rows = parked(stage)
    assert [row[1] for row in rows] == [guilty, *later]
    assert {row[0] for row in rows} == {"a"}
    assert [row[2] for row in rows] == ["MSG_SIZE_TOO_LARGE"] + ["FOLLOWS"] * 5
    assert [row[4] for row in rows] == [True] + [False] * 5
    assert set(others) <= {message.id for message in stage.read()}
    (line,) = relay.log("event_parked")
    assert guilty in line["reason"] and "MSG_SIZE_TOO_LARGE" in line["reason"]

    relay.wait_until(lambda: parked(stage)[0][3] >= 1, 60, "an attempt has failed")
    stage.kafka.set_topic_config(stage.topic(), max_message_bytes=2_000_000)
    relay.wait_until(lambda: not parked(stage), 60, "nothing is parked")
    more = [stage.insert("a") for _ in range(3)]
    stage.wait_all_confirmed(60, relay)
    messages = check_all(stage)
    of_a = [message for message in messages if message.key == b"a"]
    assert [message.id for message in of_a][-3:] == more
    assert [message.position for message in of_a] == sorted(message.position for message in of_a)
    relay.stop()
    assert not [line for line in relay.log() if line["level"] == "error"]


def test_what_walpost_itself_refuses_waits_for_another_configuration(parking):
    stage = parking
    stage.create_topic(partitions=2, max_message_bytes=4_000_000)
    relay = stage.relay({**PARK, "kafka.message.max.bytes": "100000"})
    stage.insert("a")
    guilty = stage.insert("a", _noise(300_000))
    stage.insert("a")
    stage.insert("b")
    stage.wait_all_confirmed(60, relay)
    wait_parked(stage, 2, relay)
    assert parked(stage)[0][1] == guilty and parked(stage)[0][2] == "NOT_SENDABLE" and not parked(stage)[0][4]
    relay.wait_until(lambda: parked(stage)[0][3] >= 2, 60, "two attempts have failed")
    relay.stop()
    # It is not forgotten, nor overtaken, by who comes next.
    relay = stage.relay({**PARK, "kafka.message.max.bytes": "100000"})
    stage.insert("a")
    stage.wait_all_confirmed(60, relay)
    assert len(parked(stage)) == 3
    relay.stop()
    relay = stage.relay({**PARK, "kafka.message.max.bytes": "2000000"})
    relay.wait_until(lambda: not parked(stage), 60, "nothing is parked")
    stage.insert("a")
    stage.wait_all_confirmed(60, relay)
    check_once(check_all(stage))


def test_an_event_without_a_key_is_parked_alone(parking):
    stage = parking
    stage.create_topic(partitions=1, **TooLarge.topic)
    relay = stage.relay({**PARK, **TooLarge.relay, "outbox.key.null": "allow"})
    guilty = stage.insert(None, _noise(300_000))
    others = [stage.insert(None) for _ in range(3)]
    stage.wait_all_confirmed(60, relay)
    assert [row[1] for row in parked(stage)] == [guilty]
    assert set(others) <= {message.id for message in stage.read()}
    stage.kafka.set_topic_config(stage.topic(), max_message_bytes=2_000_000)
    relay.wait_until(lambda: not parked(stage), 60, "nothing is parked")
    assert guilty in {message.id for message in stage.read()}


def test_after_its_attempts_it_is_a_dead_letter_and_its_aggregate_continues(parking):
    stage = parking
    stage.create_topic(partitions=1, **TooLarge.topic)
    dead = stage.create_topic("dead", partitions=1, max_message_bytes=4_000_000)
    relay = stage.relay({**PARK, **TooLarge.relay, "park.retry.attempts": "2", "relay.dead_letter.topic": dead})
    guilty = stage.insert("a", _noise(300_000))
    later = [stage.insert("a") for _ in range(5)]
    relay.wait_until(lambda: {message.id for message in stage.read()} == set(later), 60, "the others have arrived")
    relay.wait_until(lambda: not parked(stage), 60, "nothing is parked")
    (letter,) = stage.read("dead")
    assert letter.id == guilty and letter.key == b"a"
    assert letter.header("walpost-dead-letter-attempts") == b"2"
    assert b"MSG_SIZE_TOO_LARGE" in letter.header("walpost-dead-letter-reason")
    assert b"MSG_SIZE_TOO_LARGE" in letter.header("walpost-dead-letter-first-reason")
    check_all(stage, set(later))


def test_without_the_right_it_waits_says_so_and_goes_on(parking):
    stage = parking
    stage.create_topic(partitions=1, **TooLarge.topic)
    stage.sql("CREATE FUNCTION walpost.full() RETURNS trigger LANGUAGE plpgsql AS "
              "$$BEGIN RAISE SQLSTATE '53100' USING MESSAGE = 'no space left'; END$$")
    stage.sql("CREATE TRIGGER full_disk BEFORE INSERT ON walpost.parked FOR EACH ROW EXECUTE FUNCTION walpost.full()")
    relay = stage.relay({**PARK, **TooLarge.relay})
    guilty = stage.insert("a", _noise(300_000))
    later = stage.insert("a")
    other = stage.insert("b")
    relay.wait_until(lambda: relay.log("parking_unavailable"), 30, "it is told")
    assert "no space left" in relay.log("parking_unavailable")[0]["reason"]
    relay.wait_until(lambda: other in {message.id for message in stage.read()}, 30, "the others flow")
    assert stage.confirmed() < stage.truth.events()[0].end_lsn
    stage.sql("DROP TRIGGER full_disk ON walpost.parked")
    wait_parked(stage, 2, relay)
    stage.wait_all_confirmed(60, relay)
    assert [row[1] for row in parked(stage)] == [guilty, later]
    relay.wait_until(lambda: relay.log("parking_available"), 30, "that is told too")


def test_above_the_limit_it_stops_and_says_which(parking):
    stage = parking
    stage.create_topic(partitions=1, **TooLarge.topic)
    relay = stage.new_relay({**PARK, **TooLarge.relay, "park.events.max": "3"}).start()
    stage.insert("a", _noise(300_000))
    for _ in range(3):
        stage.insert("a")
    assert relay.wait_exit(60) == 3
    (error,) = relay.log("event_undeliverable")
    assert "park.events.max" in error["reason"]
    relay = stage.relay({**PARK, **TooLarge.relay})
    wait_parked(stage, 4, relay)


def test_another_key_column_is_refused_while_something_is_parked(parking):
    stage = parking
    stage.create_topic(partitions=1, **TooLarge.topic)
    relay = stage.relay({**PARK, **TooLarge.relay})
    stage.insert("a", _noise(300_000))
    wait_parked(stage, 1, relay)
    relay.stop()
    relay = stage.new_relay({**PARK, **TooLarge.relay, "outbox.column.key": "type"}).start()
    assert relay.wait_exit(60) == 3
    (error,) = relay.log("parked_unfit")
    assert "aggregateid" in error["reason"] and "walpost parked list" in error["reason"]
    stage.kafka.set_topic_config(stage.topic(), max_message_bytes=2_000_000)
    relay = stage.relay({**PARK, **TooLarge.relay})
    relay.wait_until(lambda: not parked(stage), 60, "nothing is parked")
    check_all(stage)


def lines(relay):
    return [json.loads(line) for line in relay.stdout_text().splitlines(keepends=True) if line.endswith("\n")]


def by_position(some):
    return sorted(some, key=lambda line: line["position"])


# No topic has so long a name.
ASTRAY = {"outbox.topic.replacement": "${routedByValue}" + "x" * 249}


def copy_slot(stage):
    name = stage.slot + "_copy"
    stage.sql("SELECT pg_copy_logical_replication_slot(%s, %s)", (stage.slot, name))
    stage.also_drops(name)
    return name


@pytest.mark.on("all")
@pytest.mark.parametrize("shape, binary", [
    (shape, binary) for shape in SHAPES for binary in ("off", "on") if binary == "off" or shape not in TEXT_ONLY])
def test_an_event_that_was_parked_is_the_record_that_it_would_have_been(make_stage, shape, binary):
    changes = dict(SHAPES[shape])
    payload = changes.pop("payload", "jsonb")
    stage = make_stage(set_up=False)
    stage.sql("CREATE TYPE mood AS ENUM ('sad', 'so so'); CREATE DOMAIN amount AS numeric(8,2)")
    stage.sql(f"CREATE TABLE outbox ({TYPES.format(payload=payload)}); ALTER TABLE outbox DROP COLUMN gone")
    prepare(stage)
    stage.publish("outbox")
    stage.create_slot(with_truth=False)
    copy = copy_slot(stage)
    stage.sql(ROW, ("00000000-0000-4000-8000-000000000001", PAYLOADS[payload]))
    base = {"relay.sink": "stdout", "postgres.binary": binary, **changes}
    parking = stage.relay({**base, **PARK, **ASTRAY})
    wait_parked(stage, 1, parking)
    parking.stop()
    assert lines(parking) == []
    relay = stage.relay({**base, **PARK})
    relay.wait_until(lambda: not parked(stage), 30, "nothing is parked")
    relay.stop()
    other = stage.new_relay({**base, "postgres.slot": copy}).start()
    stage.wait_until(lambda: len(lines(other)) == 1, 30, "the other has it too")
    assert lines(relay) == lines(other)


@pytest.mark.on("all")
def test_messages_two_outboxes_and_partitions_are_parked_as_well(make_stage):
    stage = make_stage(set_up=False)
    stage.sql("""
        CREATE TABLE outbox (id uuid, aggregatetype text, aggregateid text, type text, payload text)
            PARTITION BY HASH (id);
        CREATE TABLE outbox_0 PARTITION OF outbox FOR VALUES WITH (MODULUS 2, REMAINDER 0);
        CREATE TABLE outbox_1 (payload text, type text, aggregateid text, aggregatetype text, id uuid);
        ALTER TABLE outbox ATTACH PARTITION outbox_1 FOR VALUES WITH (MODULUS 2, REMAINDER 1);
        CREATE TABLE "Bills" (event uuid PRIMARY KEY, kind text, customer bigint, body bytea)""")
    prepare(stage)
    stage.publish("outbox", '"Bills"', options="publish = 'insert', publish_via_partition_root = false")
    stage.create_slot(with_truth=False)
    copy = copy_slot(stage)
    stage.sql("INSERT INTO outbox SELECT gen_random_uuid(), 'order', n::text, 't', 'p' || n "
              "FROM generate_series(1, 8) n")
    stage.sql("INSERT INTO \"Bills\" SELECT gen_random_uuid(), 'bill', n % 2, '\\xff00' FROM generate_series(1, 5) n")
    for n in range(3):
        stage.sql("SELECT pg_logical_emit_message(true, 'note', %s)", (json.dumps(
            {"id": f"m{n}", "aggregatetype": "order", "aggregateid": "7", "type": "t", "payload": {"n": n}}),))

    def relay_of(slot, poison, astray):
        relay = stage.new_relay()
        topic = f"topic.replacement = {ASTRAY['outbox.topic.replacement']}\n" if astray else ""
        relay.config_file.write_text(f"""
[postgres]
conninfo = {stage.postgres.conninfo(stage.database)}
slot = {slot}
publication = {stage.publication}
[relay]
sink = stdout
poison = {poison}
[park]
retry.first = 100ms
[outbox]
table = outbox
{topic}
[outbox.bills]
table = "Bills"
column.id = event
column.key = customer
column.type =
column.payload = body
route.by = kind
{topic}
[outbox.notes]
message.prefix = note
{topic}
""")
        return relay.start()

    first = relay_of(stage.slot, "park", True)
    wait_parked(stage, 16, first)
    first.stop()
    again = relay_of(stage.slot, "park", False)
    again.wait_until(lambda: not parked(stage), 30, "nothing is parked")
    again.stop()
    other = relay_of(copy, "stop", False)
    stage.wait_until(lambda: len(lines(other)) == 16, 30, "the other has them too")
    assert by_position(lines(again)) == by_position(lines(other))


@pytest.mark.heavy
@pytest.mark.timeout(300)
def test_a_hot_key_far_behind_comes_to_its_end(parking, scaled):
    """Its events come in the log and from an application while it is sent: one cure brings it back."""
    stage = parking
    stage.create_topic(partitions=1, **TooLarge.topic)
    relay = stage.relay({**PARK, **TooLarge.relay})
    guilty = stage.insert("hot", _noise(300_000))
    wait_parked(stage, 1, relay)
    relay.stop()
    behind = scaled(30_000, 1_000_000)
    stage.insert_many(behind, "hot")
    stage.kafka.set_topic_config(stage.topic(), max_message_bytes=2_000_000)
    with Writer(stage, aggregates=1, pause=0.008, threads=4):  # of key a0
        relay = stage.relay({**PARK, **TooLarge.relay})
        more = [stage.insert("hot") for _ in range(300)]
        relay.wait_until(lambda: not parked(stage) and guilty in {m.id for m in stage.read()}, scaled(120, 600),
                         "nothing is parked, with the key as hot as before")
        more += [stage.insert("hot") for _ in range(300)]
    stage.wait_all_confirmed(60, relay)
    messages = check_all(stage)
    hot = [message for message in messages if message.key == b"hot"]
    assert len({message.id for message in hot}) == 1 + behind + len(more)
    assert not relay.log("parked_attempt_failed")


@pytest.mark.heavy
@pytest.mark.timeout(300)
def test_large_transactions_of_one_aggregate_are_parked_and_sent_at_the_same_time(parking):
    stage = parking
    stage.create_topic(partitions=1, **TooLarge.topic)
    relay = stage.relay({**PARK, **TooLarge.relay, "relay.in_flight.events": "500"})
    for n in range(5):
        stage.kafka.set_topic_config(stage.topic(), max_message_bytes=LIMIT)
        stage.insert("a", _noise(300_000))
        stage.insert("a")
        wait_parked(stage, 2, relay)
        stage.kafka.set_topic_config(stage.topic(), max_message_bytes=2_000_000)
        stage.insert_many(20_000, "a")
        relay.wait_until(lambda: not parked(stage), 60, "nothing is parked")
        stage.wait_all_confirmed(60, relay)
    check_all(stage)


def test_a_head_that_cannot_be_cured_costs_one_event_an_attempt(parking):
    stage = parking
    stage.create_topic(partitions=1, max_message_bytes=4_000_000)
    relay = stage.relay({**PARK, "kafka.message.max.bytes": "100000", "park.retry.max": "200ms"})
    stage.insert("a", _noise(300_000))
    stage.insert_many(2000, "a")
    wait_parked(stage, 2001, relay)
    relay.wait_until(lambda: parked(stage)[0][3] >= 5, 60, "five attempts have failed")
    assert {row[3] for row in parked(stage)[1:]} == {0}
    assert stage.read() == []


@pytest.mark.on("all")
@pytest.mark.parametrize("end", ["pg_cancel_backend", "pg_terminate_backend"])
def test_a_stream_that_ends_while_the_set_is_awaited_begins_again(parking, end):
    """A walsender that fails ends the copy, not the connection, and a relay that waits reads nothing of it."""
    stage = parking
    stage.create_topic(partitions=1, **TooLarge.topic)
    events = [stage.insert("a") for _ in range(5)]
    with stage.transaction() as locking:
        locking.execute("LOCK TABLE walpost.parking IN ACCESS EXCLUSIVE MODE")
        relay = stage.relay({**PARK, **TooLarge.relay})
        relay.wait_until(lambda: relay.log("parking_unavailable"), 30, "it waits")
        stage.sql(f"SELECT {end}(active_pid) FROM pg_replication_slots WHERE slot_name = %s", (stage.slot,))
        stage.wait_released()
    stage.wait_all_confirmed(60, relay)
    assert [message.id for message in stage.read()] == events
    broken = [line["reason"] for line in relay.log("stream_broken")]
    assert any("canceling" in reason or "terminating" in reason for reason in broken), broken
