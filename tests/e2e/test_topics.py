"""Topics that are missing, small or gone; events that are too large for them."""

import json
import random
import re
import time

import pytest

from lib.asked import get
from lib.checker import check_all, check_once
from lib.kafka import Kafka
from lib.relay import run_command
from lib.waiting import holds_for


def test_a_missing_topic_is_waited_for_and_then_it_flows_on(stage):
    relay = stage.new_relay().start()
    id = stage.insert()
    relay.wait_log(stage.topic())
    holds_for(lambda: relay.is_alive() and stage.confirmed() < stage.truth.events()[0].end_lsn, 3, "it waits")
    stage.create_topic()
    stage.wait_all_confirmed(30, relay)
    assert [m.id for m in stage.read()] == [id]


@pytest.fixture
def making_kafka(folder):
    """A broker that makes the topics that it is asked for."""
    kafka = Kafka(folder / "making", "auto.create.topics.enable=true\n").start()
    yield kafka
    kafka.end()


def test_topics_that_the_broker_makes_are_no_matter_of_alarm(make_stage, making_kafka):
    stage = make_stage(kafka=making_kafka)
    relay = stage.relay({"kafka.allow.auto.create.topics": "true"})
    stage.insert(topic="zero")  # the broker's first topic takes it longer, maybe so long that it is told
    stage.wait_all_confirmed(30, relay)
    before = len(relay.log("topic_waiting"))
    ids = [stage.insert(topic=name) for name in ("one", "two", "three")]
    stage.wait_all_confirmed(30, relay)
    assert [m.id for name in ("one", "two", "three") for m in stage.read(name)] == ids
    assert len(relay.log("topic_waiting")) == before


@pytest.mark.alone
def test_new_topics_are_looked_up_together(make_stage, mortal_kafka):
    """One after the other, with four answers each, they would take 64 s. Within 20 answers is promised."""
    answer_time, names = 0.4, [f"new{n}" for n in range(40)]
    stage = make_stage(kafka=mortal_kafka)
    for name in ("order", *names):
        stage.create_topic(name, partitions=1)
    relay = stage.relay({
        "kafka.bootstrap.servers": mortal_kafka.slow_address, "kafka.max.in.flight.requests.per.connection": "5"})
    stage.insert()
    stage.wait_all_confirmed(30, relay)
    mortal_kafka.line.delay = answer_time / 2  # each way
    with stage.transaction() as connection:
        for name in names:
            for _ in range(3):
                stage.insert("k", topic=name, connection=connection)
    began = time.monotonic()
    stage.wait_all_confirmed(2 * 20 * answer_time, relay)
    print(f"{len(names)} new topics, answers after {answer_time} s: {time.monotonic() - began:.1f} s")
    messages = stage.read("order", *names)
    check_all(messages, stage.truth.events())
    check_once(messages)


def test_a_topic_that_stays_missing_stops_with_code_3_after_topic_wait(stage):
    stage.create_topic("there")
    relay = stage.new_relay({"relay.topic.wait": "2s"}).start()
    with stage.transaction() as connection:
        waiting = stage.insert(connection=connection)
        stage.insert(topic="there", connection=connection)
    assert relay.wait_exit(30) == 3
    (error,) = relay.log("topic_missing")
    assert stage.topic() in error["reason"] and f"with id {waiting} (position" in error["reason"]
    assert stage.confirmed() < stage.truth.events()[0].end_lsn


def test_a_stop_does_not_wait_for_a_missing_topic(stage):
    stage.create_topic("there")
    relay = stage.relay({"relay.shutdown.timeout": "5min"})
    with stage.transaction() as connection:
        for name in ("there", "order", "there"):
            stage.insert(topic=name, connection=connection)
    relay.wait_log("topic_waiting")
    relay.stop(30)
    stage.create_topic()
    relay.start()
    stage.wait_all_confirmed(30, relay)
    check_all(stage.read("order", "there"), stage.truth.events())


def test_a_name_that_cannot_be_a_topic_stops_with_code_3_naming_it(stage):
    stage.create_topic()
    id = stage.insert(topic="two words")
    relay = stage.new_relay().start()
    assert relay.wait_exit() == 3
    assert "two words" in relay.log_text() and id in relay.log_text()
    assert stage.confirmed() < stage.truth.events()[0].end_lsn


def test_a_topic_with_a_limit_of_64_kb_takes_all_of_a_heavy_load(stage):
    stage.create_topic(partitions=2, max_message_bytes=65536)
    relay = stage.relay()
    stage.insert_many(20_000, "a{0}", size=300)
    for _ in range(200):
        stage.insert("b")
    stage.wait_all_confirmed(60, relay)
    messages = stage.read()
    check_all(messages, stage.truth.events())
    check_once(messages)


def test_with_many_partitions_more_may_be_in_flight_and_nothing_is_lost_or_out_of_order(stage):
    stage.create_topic(partitions=512)
    limits = {"relay.in_flight.events": "2000", "relay.in_flight.bytes_max": "16MiB"}
    relay = stage.relay({"http.listen": "127.0.0.1:0", **limits})
    limit = "\nwalpost_in_flight_events_limit {}\n"
    assert limit.format(2000) in get(relay, "/metrics")[1]
    for part in range(3):
        stage.insert_many(5_000, f"a{part}-{{0}}")
        stage.insert_many(5_000, "b")
    stage.wait_all_confirmed(60, relay)
    assert limit.format(4000) in get(relay, "/metrics")[1]
    messages = stage.read()
    check_all(messages, stage.truth.events())
    check_once(messages)


def test_a_small_topic_met_after_a_large_one_is_respected_too(stage):
    stage.create_topic("large")
    stage.create_topic("small", max_message_bytes=65536)
    relay = stage.relay()
    stage.insert_many(5_000, "a{0}", size=300, topic="large")
    stage.wait_all_confirmed(30, relay)
    stage.insert_many(10_000, "a{0}", size=300, topic="small")
    stage.wait_all_confirmed(60, relay)
    check_all(stage.read("large", "small"), stage.truth.events())


def _noise(size):
    """Text that no compression makes much smaller."""
    return '"' + random.Random(size).randbytes(size // 2 + 1).hex()[:size] + '"'


@pytest.mark.parametrize("compression", ["none", "lz4"])
def test_an_event_above_the_topics_limit_stops_there_and_is_the_only_one_named(stage, compression):
    stage.create_topic(partitions=1, max_message_bytes=65536)
    relay = stage.new_relay({"kafka.compression.type": compression})
    stage.insert_many(2_000, "a{0}", size=200)
    huge = stage.insert("a7", _noise(400_000))
    stage.insert_many(2_000, "a{0}", size=200)
    relay.start()
    assert relay.wait_exit(60) == 3
    stage.wait_released()

    confirmed, messages, events = stage.confirmed(), stage.read(), stage.truth.events()
    assert {m.id for m in messages} == {event.id for event in events[:2_000]}
    assert events[1_999].end_lsn <= confirmed < events[2_000].end_lsn
    errors = [line for line in relay.log_text().splitlines() if "level=error" in line]
    named = {id for id in re.findall(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", str(errors))}
    assert named == {huge}
    assert "public.outbox" in str(errors) and "65536" in str(errors)
    assert "does not answer" not in relay.log_text().partition("event=event_refused")[2]

    stage.kafka.set_topic_config(stage.topic(), max_message_bytes=1_000_000)
    relay.start()
    stage.wait_all_confirmed(60, relay)
    check_all(stage.read(), stage.truth.events())


def test_an_oversized_event_in_one_partition_of_a_busy_topic_stops_that_partition(stage):
    stage.create_topic(partitions=3, max_message_bytes=65536)
    relay = stage.new_relay({"kafka.compression.type": "lz4"})
    with stage.transaction() as connection:
        for n in range(3_000):
            if n == 1_500:
                huge = stage.insert("k1", _noise(300_000), connection=connection)
            stage.insert(f"k{n % 30}", connection=connection)
    relay.start()
    assert relay.wait_exit(60) == 3
    messages, events = stage.read(), stage.truth.events()
    ids = [event.id for event in events]
    behind = set(ids[ids.index(huge):])
    partition_of_it = {m.partition for m in messages if m.key == b"k1"}
    assert not [m for m in messages if m.partition in partition_of_it and m.id in behind]
    assert huge in relay.log_text()


def test_a_topic_that_was_made_anew_has_lost_what_was_confirmed_and_that_is_told(stage):
    stage.create_topic(partitions=1)
    relay = stage.relay({"http.listen": "127.0.0.1:0"})
    stage.insert_many(10)
    stage.wait_all_confirmed(relay=relay)
    stage.kafka.delete_topic(stage.topic())
    stage.create_topic(partitions=1)
    stage.insert_many(5)
    stage.wait_all_confirmed(60, relay)  # it goes on

    (line,) = relay.log("kafka_data_loss")
    told = {key: line[key] for key in ("level", "topic", "partition", "offset", "confirmed_offset")}
    assert told == {"level": "error", "topic": stage.topic(), "partition": "0", "offset": "0", "confirmed_offset": "9"}
    assert "\nwalpost_kafka_data_loss_total 1\n" in get(relay, "/metrics")[1]
    assert len(stage.read()) == 5
    found = run_command("diff", "-c", relay.config_file, "--json")
    assert found.returncode == 1 and json.loads(found.stdout)["missing"] == 10, found.stdout


@pytest.mark.on(18)
def test_nothing_passes_an_oversized_event_in_a_topic_that_was_made_anew(make_stage, mortal_kafka):
    stage = make_stage(kafka=mortal_kafka)
    stage.create_topic(partitions=1, max_message_bytes=65536)
    relay = stage.relay({"kafka.compression.type": "lz4"})
    stage.insert("k")
    stage.wait_all_confirmed()
    # The new topic's leader has never heard of this producer: it takes any sequence number.
    mortal_kafka.delete_topic(stage.topic())
    stage.create_topic(partitions=1, max_message_bytes=65536)
    mortal_kafka.pause()
    with stage.transaction() as connection:
        huge = stage.insert("k", _noise(300_000), connection=connection)
        for _ in range(500):
            stage.insert("k", connection=connection)
    stage.wait_sent(relay)
    holds_for(relay.is_alive, 1, "what it lets go ahead is on its way")
    mortal_kafka.resume()
    assert relay.wait_exit(60) == 3
    assert huge in relay.log_text()
    assert stage.read() == []

    mortal_kafka.set_topic_config(stage.topic(), max_message_bytes=1_000_000)
    relay.start()
    stage.wait_all_confirmed(60, relay)
    check_all(stage.read(), stage.truth.events()[1:])


def test_an_event_above_message_max_bytes_stops_with_code_3_and_names_size_and_limit(stage):
    stage.create_topic(partitions=1, max_message_bytes=10_000_000)
    before = stage.insert()
    huge = stage.insert(payload=_noise(2_000_000))
    relay = stage.new_relay().start()
    assert relay.wait_exit(60) == 3
    assert huge in relay.log_text() and "message.max.bytes" in relay.log_text()
    stage.wait_released()
    assert [m.id for m in stage.read()] == [before]
    assert stage.confirmed() < stage.truth.events()[1].end_lsn


def test_a_topic_deleted_while_we_run_is_waited_for(stage):
    stage.create_topic(partitions=1)
    relay = stage.relay()
    stage.insert()
    stage.wait_all_confirmed()
    stage.kafka.delete_topic(stage.topic())
    id = stage.insert()
    relay.wait_log(stage.topic(), 30)
    stage.create_topic(partitions=1)
    stage.wait_all_confirmed(60, relay)
    assert id in [m.id for m in stage.read()]


def test_a_topic_may_get_more_partitions_while_we_run(stage):
    stage.create_topic(partitions=1)
    relay = stage.relay()
    stage.insert_many(100, "a{0}")
    stage.wait_all_confirmed()
    stage.kafka.add_partitions(stage.topic(), 3)
    stage.insert_many(100, "b{0}")
    stage.wait_all_confirmed(30, relay)
    assert len({m.id for m in stage.read()}) == 200
