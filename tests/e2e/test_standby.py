"""Two relays and one slot: one works, one waits."""

import pytest

from lib.checker import check_all, check_once
from lib.waiting import holds_for, wait_until
from lib.writer import Writer


def _pair(stage):
    first = stage.relay()
    mark = stage.postgres.log_size()
    second = stage.new_relay().start()
    second.wait_until(lambda: "standby" in second.log_text(), 20, "the second says that it stands by")
    return first, second, mark


def test_the_second_relay_waits_without_errors_in_the_servers_log(make_stage, own_postgres):
    stage = make_stage(postgres=own_postgres)
    stage.create_topic()
    first, second, mark = _pair(stage)
    stage.insert()
    holds_for(lambda: first.is_alive() and second.is_alive(), 4, "both are there")
    stage.wait_all_confirmed(relay=first)
    assert "ERROR" not in own_postgres.log_since(mark) and "FATAL" not in own_postgres.log_since(mark)
    second.stop()
    first.stop()


@pytest.mark.on("all")
def test_the_second_takes_over_when_the_first_stops_and_nothing_is_sent_twice(stage):
    stage.create_topic(partitions=3)
    first, second, _ = _pair(stage)
    with Writer(stage, threads=4, pause=0.01):
        goal = stage.confirmed() + 30_000
        first.wait_until(lambda: stage.confirmed() >= goal, 30, "the first works")
        first.stop()
        goal = stage.confirmed() + 30_000
        second.wait_until(lambda: stage.confirmed() >= goal, 20, "the second works")
    stage.wait_all_confirmed(30, second)
    messages = stage.read()
    check_all(messages, stage.truth.events())
    check_once(messages)


@pytest.mark.on("all")
def test_the_second_takes_over_when_the_first_is_killed_and_order_is_kept(stage):
    stage.create_topic(partitions=3)
    first, second, _ = _pair(stage)
    with Writer(stage, threads=4, pause=0.01):
        goal = stage.confirmed() + 30_000
        first.wait_until(lambda: stage.confirmed() >= goal, 30, "the first works")
        first.kill()
        goal = stage.confirmed() + 30_000
        second.wait_until(lambda: stage.confirmed() >= goal, 20, "the second works")
    stage.wait_all_confirmed(30, second)
    check_all(stage.read(), stage.truth.events())


def test_the_two_may_hand_over_many_times(stage):
    stage.create_topic(partitions=3)
    first, second, _ = _pair(stage)
    with Writer(stage, threads=2, pause=0.01):
        for _ in range(3):
            first.stop()
            goal = stage.confirmed() + 5_000
            second.wait_until(lambda goal=goal: stage.confirmed() >= goal, 20, "the other works")
            first.start()
            first, second = second, first
    stage.wait_all_confirmed(30, first)
    messages = stage.read()
    check_all(messages, stage.truth.events())
    check_once(messages)


def test_a_relay_cut_off_and_overtaken_stands_by(stage):
    stage.create_topic(partitions=3)
    first, second, _ = _pair(stage)
    stage.insert("a")
    stage.wait_all_confirmed(relay=first)
    old = stage.slot_row()[2]
    for _ in range(20):
        stage.insert("a")
    stage.sql("SELECT pg_terminate_backend(%s)", (old,))
    first.wait_until(lambda: stage.slot_row()[2] not in (None, old), 20, "one of them has the slot")
    stage.insert("a")
    stage.wait_all_confirmed(relay=first)
    assert first.is_alive() and second.is_alive()
    check_all(stage.read(), stage.truth.events())


@pytest.mark.on(18, 15, 14)
@pytest.mark.parametrize("mode", ["fast", "smart"])
def test_a_relay_that_stands_by_keeps_no_server_from_stopping(make_stage, own_postgres, mode):
    stage = make_stage(postgres=own_postgres)
    stage.create_topic()
    first, second, _ = _pair(stage)
    own_postgres.begin_stop(mode)
    own_postgres.wait_stopped(20 if mode == "fast" else 60)
    own_postgres.start()
    stage.insert("a")
    stage.wait_all_confirmed(40)
    second.stop()
    first.stop()
    check_all(stage.read(), stage.truth.events())


def test_a_relay_that_stands_by_long_takes_over_as_well(stage):
    """Its connection for SQL is given back meanwhile, and asked for again."""
    stage.create_topic()
    first = stage.relay()
    second = stage.new_relay(
        {"postgres.conninfo": stage.postgres.conninfo(stage.database, application_name="second")}).start()

    def session():
        return stage.sql("SELECT pid FROM pg_stat_activity WHERE application_name = 'second' "
                         "AND backend_type = 'client backend'")

    before = wait_until(session, 10, "it asks")
    wait_until(lambda: session() not in ([], before), 30, "it asks over another connection")
    assert "standby" in second.log_text()
    first.stop()
    stage.insert("a")
    stage.wait_all_confirmed(30, second)
    second.stop()
    check_all(stage.read(), stage.truth.events())
