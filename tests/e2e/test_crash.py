"""Whatever dies, nothing is lost and Postgres forgets nothing that Kafka does not have."""

import random
import signal
import time

import pytest

from lib import process
from lib.checker import check_all, check_confirmed, check_once
from lib.kafka import Reader
from lib.waiting import holds_for, wait_until
from lib.writer import Writer


def _wait_moved(stage, relay, bytes):
    """Until the slot has moved on by so much log: a moment that differs from run to run."""
    goal = stage.confirmed() + bytes
    relay.wait_until(lambda: stage.confirmed() >= goal, 30, "the slot moves")


@pytest.mark.timeout(300)
@pytest.mark.on("all")
def test_killed_twenty_times_under_load_the_relay_loses_nothing(make_stage, own_postgres, scaled):
    stage = make_stage(postgres=own_postgres)  # the truth is read from its beginning, over all that is in the log
    stage.create_topic(partitions=3)
    rng = random.Random(7)
    relay = stage.relay()
    with Reader(stage.kafka, stage.topic()) as reader, Writer(stage, aggregates=50, pause=scaled(0.02, 0.2)):
        for number in range(scaled(20, 1000)):
            _wait_moved(stage, relay, rng.randrange(100_000))
            relay.kill()
            stage.wait_released()
            if number < 20 or number % 50 == 0:
                confirmed = stage.confirmed()
                messages = reader.read_to_end()
                check_confirmed(confirmed, messages, stage.truth.events())
            relay.start()
            stage.wait_streaming(relay)
    stage.wait_all_confirmed(30, relay)
    relay.stop()
    check_all(stage.read(), stage.truth.events())


def test_a_relay_that_confirms_early_is_caught_by_that_check(make_stage, mortal_kafka, shim):
    stage = make_stage(kafka=mortal_kafka)
    stage.create_topic()
    relay = stage.relay(environment=shim(confirm_early=1))
    # The second one to a partition is sent when the first is confirmed; so is the third, without a broker.
    stage.insert()
    stage.insert()
    relay.wait_until(lambda: len(stage.read()) == 2, 20, "the way to Kafka is open")
    mortal_kafka.kill()
    stage.insert()
    stage.wait_all_confirmed()
    relay.kill()
    stage.wait_released()
    confirmed = stage.confirmed()
    mortal_kafka.start()
    with pytest.raises(AssertionError, match="are not in Kafka"):
        check_confirmed(confirmed, stage.read(), stage.truth.events())


@pytest.mark.alone
@pytest.mark.timeout(240)
def test_kafka_stopped_for_long_the_server_does_not_time_us_out(make_stage, mortal_kafka, scaled):
    stage = make_stage(kafka=mortal_kafka)
    stage.create_topic(partitions=3)
    stage.sql(f"ALTER DATABASE {stage.database} SET wal_sender_timeout = '5s'")
    relay = stage.relay()
    walsender = stage.slot_row()[2]
    mark = stage.postgres.log_size()
    with Writer(stage, pause=scaled(0.01, 0.05)):
        _wait_moved(stage, relay, 50_000)
        mortal_kafka.stop()
        holds_for(
            lambda: stage.slot_row()[2] == walsender and relay.is_alive(), scaled(40, 600),
            "the same walsender serves us"
        )
        mortal_kafka.start()
        _wait_moved(stage, relay, 50_000)
    stage.wait_all_confirmed(scaled(60, 300), relay)
    assert not [
        line for line in stage.postgres.log_since(mark).splitlines()
        if f"[{walsender}]" in line and "replication timeout" in line
    ]
    assert relay.peak_rss_kb() < 120 * 1024
    relay.stop()
    messages, events = stage.read(), stage.truth.events()
    check_all(messages, events)
    check_once(messages)


def test_kafka_killed_under_load_comes_back_and_nothing_is_lost(make_stage, mortal_kafka):
    stage = make_stage(kafka=mortal_kafka)
    stage.create_topic(partitions=3)
    relay = stage.relay()
    with Writer(stage, pause=0.01):
        for _ in range(2):
            _wait_moved(stage, relay, 50_000)
            mortal_kafka.kill()
            mortal_kafka.start()
        _wait_moved(stage, relay, 50_000)
    stage.wait_all_confirmed(60, relay)
    relay.stop()
    check_all(stage.read(), stage.truth.events())


@pytest.mark.heavy
def test_memory_stays_bounded_while_kafka_is_frozen_and_a_lot_is_committed(make_stage, mortal_kafka):
    stage = make_stage(kafka=mortal_kafka)
    stage.create_topic()
    relay = stage.relay()
    stage.insert()
    stage.wait_all_confirmed()
    mortal_kafka.pause()
    stage.insert_many(200_000, "a{0}", size=500)
    holds_for(lambda: relay.rss_kb() < 120 * 1024, 6, "the relay is small")
    mortal_kafka.resume()
    stage.wait_all_confirmed(90, relay)
    assert relay.peak_rss_kb() < 120 * 1024


@pytest.mark.alone
@pytest.mark.parametrize("partitions", [1, 4])
def test_a_relay_that_waits_for_kafka_leaves_the_processor_alone(make_stage, mortal_kafka, partitions):
    stage = make_stage(kafka=mortal_kafka)
    stage.create_topic(partitions=partitions)
    relay = stage.relay()
    stage.insert_many(100, "a{0}")
    stage.wait_all_confirmed(30, relay)
    mortal_kafka.pause()
    with Writer(stage, threads=2, pause=0.01):
        began, before = time.monotonic(), process.cpu_seconds(relay.pid)
        holds_for(lambda: process.cpu_seconds(relay.pid) - before < 0.5 + 0.1 * (time.monotonic() - began), 8,
                  "it uses less than a tenth of a core")
        mortal_kafka.resume()
    stage.wait_all_confirmed(60, relay)


@pytest.mark.heavy
def test_memory_comes_down_again_after_a_burst(make_stage, mortal_kafka):
    stage = make_stage(kafka=mortal_kafka)
    stage.create_topic(partitions=1)
    relay = stage.relay({"relay.in_flight.bytes": "64MiB", "relay.in_flight.events": "200000"})
    stage.insert()
    stage.wait_all_confirmed()
    before = relay.rss_kb()
    mortal_kafka.pause()
    stage.insert_many(80_000, "a{0}", size=500)
    relay.wait_until(lambda: relay.rss_kb() > before + 48 * 1024, 60, "it holds what waits for Kafka")
    mortal_kafka.resume()
    stage.wait_all_confirmed(90, relay)
    relay.wait_until(lambda: relay.rss_kb() < before + 12 * 1024, 30, "it has given back what it held")


@pytest.mark.on("all")
@pytest.mark.parametrize("mode", ["fast", "immediate"])
def test_postgres_restarted_under_load_nothing_is_lost(make_stage, own_postgres, mode):
    stage = make_stage(postgres=own_postgres)
    stage.create_topic(partitions=3)
    relay = stage.relay()
    with Writer(stage, threads=4, pause=0.01):
        for _ in range(2):
            _wait_moved(stage, relay, 20_000)
            own_postgres.restart(mode)
            stage.wait_streaming(relay, 30)
        _wait_moved(stage, relay, 20_000)
    stage.wait_all_confirmed(30, relay)
    relay.stop()
    check_all(stage.read(), stage.truth.events())


def test_a_terminated_walsender_is_replaced_and_nothing_whole_is_sent_twice(stage):
    stage.create_topic(partitions=3)
    relay = stage.relay()
    with Writer(stage, threads=4, pause=0.01, single_rows=True):  # one that was cut in two would begin anew
        for _ in range(20):
            _wait_moved(stage, relay, 20_000)
            pid = stage.slot_row()[2]
            stage.sql("SELECT pg_terminate_backend(%s)", (pid,))
            relay.wait_until(lambda: stage.slot_row()[2] not in (None, pid), 20, "a new walsender serves us")
    stage.wait_all_confirmed(30, relay)
    relay.stop()
    messages, events = stage.read(), stage.truth.events()
    check_all(messages, events)
    # Cut between its row and its commit a transaction begins anew; the rest is not asked for again.
    (stopped,) = relay.log("stopped")
    cut = int(stopped["events"]) - int(stopped["transactions"])
    assert len(messages) - len({m.id for m in messages}) == cut <= 20


@pytest.mark.alone
def test_a_relay_frozen_past_the_servers_timeout_comes_back(stage):
    stage.create_topic()
    stage.sql(f"ALTER DATABASE {stage.database} SET wal_sender_timeout = '1500ms'")
    relay = stage.relay()
    stage.insert("a")
    stage.wait_all_confirmed()
    process.pause(relay.pid)
    stage.insert("a")
    wait_until(lambda: not stage.is_streaming(), 10, "the server has given us up")
    process.resume(relay.pid)
    stage.insert("a")
    stage.wait_all_confirmed(30, relay)
    check_all(stage.read(), stage.truth.events())


def test_a_half_open_connection_is_noticed(make_stage, own_postgres):
    stage = make_stage(postgres=own_postgres)
    stage.create_topic()
    relay = stage.relay()
    old = stage.slot_row()[2]
    own_postgres.freeze_backend(old)
    relay.wait_until(lambda: relay.log("half_open") or relay.log("stream_broken"), 100, "the silence is noticed")
    own_postgres.thaw_backend(old)
    stage.insert()
    stage.wait_all_confirmed(30, relay)
    check_all(stage.read(), stage.truth.events())


@pytest.mark.heavy
@pytest.mark.on("all")
def test_a_relay_killed_in_a_large_transaction_sends_it_again_from_its_start(stage, scaled):
    stage.create_topic(partitions=1)
    relay = stage.relay({"relay.in_flight.events": "1000"})  # which takes a while
    with Reader(stage.kafka, stage.topic()) as reader:
        assert reader.count() == 0  # and knows the topic from now on
        stage.insert_many(scaled(200_000, 1_000_000), "a{0}", size=100)
        relay.wait_until(lambda: reader.count() > 1000, scaled(30, 300), "some of it is in Kafka")
        relay.signal(signal.SIGKILL)
    relay.wait_exit()
    stage.wait_released()
    relay.start()
    stage.wait_all_confirmed(scaled(60, 600), relay)
    messages = stage.read()
    check_all(messages, stage.truth.events())
    first = messages[0].id
    assert [message.id for message in messages].count(first) == 2
