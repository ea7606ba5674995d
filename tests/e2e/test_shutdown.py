"""Stopping: the relay's own, and Postgres's, which may never hang for our sake."""

import signal

import pytest

from lib.checker import check_all, check_confirmed, check_once
from lib.line import Line
from lib.waiting import holds_for, wait_until
from lib.writer import Writer


@pytest.mark.on("all")
def test_after_sigterm_and_start_nothing_is_sent_twice(stage):
    stage.create_topic(partitions=3)
    relay = stage.relay()
    with Writer(stage, threads=4, pause=0.005):
        for _ in range(3):
            goal = stage.confirmed() + 30_000
            relay.wait_until(lambda goal=goal: stage.confirmed() >= goal, 30, "the slot moves")
            relay.stop()
            relay.start()
            stage.wait_streaming(relay)
    stage.wait_all_confirmed(30, relay)
    relay.stop()
    messages, events = stage.read(), stage.truth.events()
    check_all(messages, events)
    check_once(messages)


@pytest.mark.on(18)
def test_with_a_clean_restart_of_postgres_between_nothing_is_sent_twice(make_stage, own_postgres):
    stage = make_stage(postgres=own_postgres)
    stage.create_topic()
    relay = stage.relay()
    for _ in range(3):
        stage.insert_many(100, "a{0}")
        stage.wait_all_confirmed()
        stage.insert_many(100, "a{0}")
        relay.stop()
        own_postgres.restart("fast")
        relay.start()
        stage.wait_streaming(relay)
    stage.wait_all_confirmed(30, relay)
    messages = stage.read()
    check_all(messages, stage.truth.events())
    check_once(messages)


def test_sigint_stops_like_sigterm(stage):
    stage.create_topic()
    relay = stage.relay()
    stage.insert()
    relay.signal(signal.SIGINT)
    assert relay.wait_exit(20) == 0


@pytest.mark.alone
def test_an_idle_relay_stops_at_once(stage):
    stage.create_topic()
    relay = stage.relay()
    stage.insert()
    stage.wait_all_confirmed()
    relay.signal(signal.SIGTERM)
    assert relay.wait_exit(8) == 0  # long before any status is due


def test_what_is_in_flight_at_sigterm_is_confirmed_before_the_end(stage):
    stage.create_topic(partitions=3)
    relay = stage.relay()
    stage.insert_many(20_000, "a{0}", size=200)
    relay.wait_until(lambda: len(stage.read()) > 100, 30, "some of it is in Kafka")
    relay.stop()
    stage.wait_released()
    confirmed, messages = stage.confirmed(), stage.read()
    check_confirmed(confirmed, messages, stage.truth.events())


def _frozen_with_events_in_flight(make_stage, kafka, changes=None):
    stage = make_stage(kafka=kafka)
    stage.create_topic()
    relay = stage.relay({"relay.in_flight.events": "16", "log.level": "debug", **(changes or {})})
    stage.insert()
    stage.wait_all_confirmed()
    kafka.pause()
    stage.insert_many(100)
    relay.wait_until(
        lambda: relay.log("state")[-1]["reason"].startswith("streaming -> paused"), 10, "it has taken all it can"
    )
    return stage, relay


@pytest.mark.alone
def test_a_stop_waits_no_longer_than_its_timeout_for_a_deaf_kafka(make_stage, mortal_kafka):
    stage, relay = _frozen_with_events_in_flight(make_stage, mortal_kafka, {"relay.shutdown.timeout": "2s"})
    relay.signal(signal.SIGTERM)
    assert relay.wait_exit(10) in (0, 1)
    stage.wait_released()
    confirmed = stage.confirmed()
    mortal_kafka.resume()
    check_confirmed(confirmed, stage.read(), stage.truth.events())
    relay.start()
    stage.wait_all_confirmed(30, relay)
    check_all(stage.read(), stage.truth.events())


@pytest.mark.alone
def test_a_second_signal_leaves_at_once(make_stage, mortal_kafka):
    stage, relay = _frozen_with_events_in_flight(make_stage, mortal_kafka)
    relay.signal(signal.SIGTERM)
    relay.wait_log("event=stopping")
    holds_for(relay.is_alive, 1, "the first signal waits for Kafka")  # one within half a second is taken for the same
    relay.signal(signal.SIGTERM)
    relay.wait_exit(5)


@pytest.mark.on("all")
@pytest.mark.parametrize("kafka_is", ["gone", "frozen"])
@pytest.mark.parametrize("relay_is", ["streaming", "paused"])
def test_postgres_stops_fast_while_kafka_is_down(make_stage, own_postgres, mortal_kafka, kafka_is, relay_is):
    stage = make_stage(postgres=own_postgres, kafka=mortal_kafka)
    stage.create_topic(partitions=3)
    relay = stage.relay({"relay.in_flight.events": "16"})
    stage.insert_many(20, "a{0}")
    stage.wait_all_confirmed()
    (mortal_kafka.kill if kafka_is == "gone" else mortal_kafka.pause)()
    stage.insert_many(500 if relay_is == "paused" else 5, "a{0}")
    wait_until(lambda: _seen_by_walsender(stage), 10, "the walsender has sent something of it")

    own_postgres.begin_stop("fast")
    own_postgres.wait_stopped(20)

    assert relay.is_alive()
    own_postgres.start()
    mortal_kafka.ensure_running()
    stage.wait_all_confirmed(60, relay)
    check_all(stage.read(), stage.truth.events())


@pytest.mark.on("all")
def test_postgres_stops_fast_in_the_middle_of_a_backlog(make_stage, own_postgres):
    # Minutes of it, where it may take the relay half of one until it looks; the relay takes whatever comes, and Kafka
    # too, so that nothing ever waits.
    stage = make_stage(postgres=own_postgres)
    stage.create_topic(partitions=3)
    stage.insert_many(10_000, "a{0}", size=4000)
    line = Line(own_postgres.port)
    line.rate = 300_000
    try:
        relay = stage.relay({"postgres.conninfo": own_postgres.conninfo(stage.database, port=line.port)})
        wait_until(lambda: len(stage.read()) > 100, 20, "events arrive")

        own_postgres.begin_stop("fast")
        own_postgres.wait_stopped(60)

        assert relay.is_alive()
        line.rate = None
        own_postgres.start()
        stage.wait_all_confirmed(60, relay)
    finally:
        line.end()
    check_all(stage.read(), stage.truth.events())


def _seen_by_walsender(stage):
    """Has the server sent more than was confirmed?"""
    rows = stage.postgres.query(
        """SELECT r.sent_lsn > s.confirmed_flush_lsn FROM pg_stat_replication r
           JOIN pg_replication_slots s ON s.active_pid = r.pid WHERE s.slot_name = %s""", (stage.slot,))
    return rows == [(True,)]


@pytest.mark.alone  # a relay that is late lets go of the server, rightly
@pytest.mark.on("all")
def test_postgres_stops_fast_while_all_is_well(make_stage, own_postgres):
    stage = make_stage(postgres=own_postgres)
    stage.create_topic()
    relay = stage.relay()
    # The way to Kafka is open: while one is made the relay may let go of a server that stops.
    stage.insert_many(20, "a{0}")
    stage.wait_all_confirmed()
    stage.insert_many(1000, "a{0}")
    own_postgres.begin_stop("fast")
    own_postgres.wait_stopped(20)
    assert len(stage.read()) == 1020
    own_postgres.start()
    stage.wait_streaming(relay, 40)
    relay.stop()
