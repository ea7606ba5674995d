"""walpost drain: the relay stops once all that was committed so far is confirmed, and only while the drain waits."""

import json
import re
import subprocess
import uuid
from contextlib import ExitStack

import psycopg
import pytest

from lib import process
from lib.checker import check_all, check_once
from lib.process import finish
from lib.relay import binary, clean_environment, config_text, run_command
from lib.sql_scripts import passing_role, run_script
from lib.stage import identifier
from lib.waiting import holds_for, let_grow_old, wait_until
from lib.writer import Writer

pytestmark = pytest.mark.on("all")


@pytest.fixture
def prepared(stage):
    """A stage with a topic and sql/reissue.sql."""
    stage.create_topic(partitions=3)
    made = run_script(stage, "reissue.sql", options=["-v", "ON_ERROR_STOP=1"])
    assert made.returncode == 0, made.stderr
    return stage


def _command(stage, *arguments, changes=None):
    file = stage.folder / f"drain-{uuid.uuid4().hex[:6]}.conf"
    file.write_text(config_text(stage.config(changes)))
    return ["drain", "-c", file, *arguments]


def _drain(stage, *arguments, **options):
    return run_command(*_command(stage, *arguments, **options))


def _start(stage, *arguments):
    """The command, running."""
    return subprocess.Popen([binary(), *map(str, _command(stage, *arguments))], env=clean_environment(),
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def _start_and_wait_marked(stage):
    """The command, once its mark is committed: it has its number then, and asks how far the slot is."""
    command = _start(stage)
    asks = ("SELECT FROM pg_stat_activity WHERE datname = current_database() "
            "AND application_name ~ '^walpost drain [0-9]+$' AND query LIKE 'WITH ours AS %%'")
    wait_until(lambda: stage.sql(asks), 20, "the drain waits")
    return command


def _lsn(text):
    high, low = text.split("/")
    return int(high, 16) << 32 | int(low, 16)


def _standby_of_another_database(stage):
    """A connection such as a standby relay has."""
    return psycopg.connect(stage.postgres.conninfo("postgres", application_name="walpost", replication="database"),
                           autocommit=True)


def _is_held_connected(stage, standby):
    """Is the standby stopped by a signal, and connected? One that is not goes on."""
    asked = """SELECT pid FROM pg_stat_replication JOIN pg_stat_activity USING (pid) WHERE datname = current_database()
               AND pid NOT IN (SELECT active_pid FROM pg_replication_slots WHERE active_pid IS NOT NULL)"""
    process.pause(standby.pid)
    seen = stage.sql(asked)
    let_grow_old(0.5)  # one that it has just closed is gone then
    if seen and stage.sql(asked) == seen:
        return True
    process.resume(standby.pid)
    return False


def _mark(stage, number="123456789", slot=None):
    """The mark of a drain that nobody runs."""
    with psycopg.connect(stage.postgres.conninfo(stage.database)) as connection:
        connection.execute("INSERT INTO walpost.reissue (slot, outbox, reason, \"position\", kind) "
                           "VALUES (%s, '', 'drain', %s, 'mark')", (slot or stage.slot, number))
        connection.execute("DELETE FROM walpost.reissue")


def test_it_stops_the_relay_under_load_with_all_confirmed_that_was_committed_before(prepared):
    stage = prepared
    relay = stage.relay()
    stage.wait_streaming(relay)
    stage.insert_many(20_000, "a{0}", size=200)
    before = stage.wal_end()
    with Writer(stage, threads=4, pause=0.005):
        done = _drain(stage, "--json")
        assert done.returncode == 0, done.stderr
        assert relay.wait_exit(10) == 0
    said = json.loads(done.stdout)
    assert said["drained"] and _lsn(said["confirmed_lsn"]) == stage.confirmed() >= before
    (line,) = relay.log("drained")
    assert line["lsn"] == said["confirmed_lsn"]
    # What came behind the mark was not read: nothing is sent twice by the next.
    relay.start()
    stage.wait_all_confirmed(30, relay)
    relay.stop()
    messages, events = stage.read(), stage.truth.events()
    check_all(messages, events)
    check_once(messages)


def test_a_drain_that_gave_up_stops_nobody_later(make_stage, mortal_kafka):
    stage = make_stage(kafka=mortal_kafka)
    stage.create_topic()
    run_script(stage, "reissue.sql")
    relay = stage.relay()
    stage.insert("1")
    stage.wait_all_confirmed()
    mortal_kafka.stop()
    stage.insert("2")
    done = _drain(stage, "--timeout", "3s")
    assert done.returncode == 1
    assert "after 3 s slot" in done.stderr and "the relay continues" in done.stderr
    mortal_kafka.start()
    stage.wait_all_confirmed(60, relay)
    relay.wait_log("drain_void", 20)
    stage.insert("3")
    stage.wait_all_confirmed(20, relay)
    assert relay.is_alive()
    assert len(stage.read()) == 3


def test_an_old_mark_that_is_read_again_stops_nobody(prepared):
    stage = prepared
    stage.insert("1")
    _mark(stage)
    _mark(stage, slot="another")
    stage.insert("2")
    relay = stage.relay()
    stage.wait_all_confirmed(20, relay)
    relay.wait_log("drain_void", 10)
    holds_for(relay.is_alive, 1, "the relay runs")
    assert len(stage.read()) == 2


def test_killed_it_leaves_the_relay_alone(make_stage, mortal_kafka):
    stage = make_stage(kafka=mortal_kafka)
    stage.create_topic()
    run_script(stage, "reissue.sql")
    relay = stage.relay()
    stage.insert("1")
    stage.wait_all_confirmed()
    mortal_kafka.stop()
    stage.insert("2")
    command = _start_and_wait_marked(stage)
    command.kill()
    command.wait()
    mortal_kafka.start()
    stage.wait_all_confirmed(60, relay)
    relay.wait_log("drain_void", 20)
    assert relay.is_alive()


def test_a_relay_that_is_killed_and_started_meanwhile_is_drained_all_the_same(make_stage, mortal_kafka):
    stage = make_stage(kafka=mortal_kafka)
    stage.create_topic()
    run_script(stage, "reissue.sql")
    relay = stage.relay()
    stage.insert("1")
    stage.wait_all_confirmed()
    mortal_kafka.stop()
    stage.insert("2")
    command = _start_and_wait_marked(stage)
    relay.kill()
    relay.start()
    mortal_kafka.start()
    out, err = finish(command, 90)
    assert command.returncode == 0, err
    assert out.startswith(f"slot {stage.slot}: drained at ")
    assert relay.wait_exit(10) == 0
    check_all(stage.read(), stage.truth.events())


def test_without_a_relay_it_says_what_is_missing(prepared):
    prepared.insert()
    done = _drain(prepared)
    assert done.returncode == 1
    assert f"no relay reads slot {prepared.slot}" in done.stderr
    assert "may hold events that are not in Kafka" in done.stderr and "Start a relay" in done.stderr
    assert done.stdout == ""


@pytest.mark.alone  # the standby has the slot within five seconds
def test_a_standby_that_takes_over_is_told_with_the_cure(prepared):
    first = prepared.relay()
    prepared.wait_streaming(first)
    second = prepared.new_relay().start()
    second.wait_log("standby", 20)
    prepared.insert()
    with ExitStack() as others:
        for _ in range(3):
            others.enter_context(_standby_of_another_database(prepared))
        wait_until(lambda: _is_held_connected(prepared, second), 20, "the standby is held while it is connected")
        command = _start(prepared)
        assert first.wait_exit(30) == 0
        let_grow_old(1)  # by then the drain has seen the slot without a reader, which it would miss else
        process.resume(second.pid)
        out, err = finish(command, 60)
    assert command.returncode == 1, err
    assert f"slot {prepared.slot}: drained at" in out
    # One that connects again is there twice for a moment.
    assert re.search("(1 standby relay waits|2 standby relays wait)", err)
    assert "Stop the standby relays first" in err
    prepared.wait_streaming(second)
    assert _drain(prepared).returncode == 0
    assert second.wait_exit(10) == 0


def test_parked_events_that_stay_are_told(prepared):
    run_script(prepared, "parked.sql")
    relay = prepared.relay({"relay.poison": "park"})
    prepared.insert(topic="no/topic")
    relay.wait_log("event_parked", 20)
    done = _drain(prepared)
    assert done.returncode == 0, done.stderr
    assert "1 event remains parked in walpost.parked" in done.stdout


def test_scheduled_events_that_stay_are_told(prepared):
    run_script(prepared, "schedule.sql", options=["-v", "ON_ERROR_STOP=1"])
    relay = prepared.relay()
    assert "Scheduled events" not in _drain(prepared).stdout
    assert relay.wait_exit(10) == 0
    prepared.sql("SELECT walpost.schedule(now() + interval '1 day', 'outbox', "
                 "jsonb_build_object('id', gen_random_uuid(), 'aggregatetype', 'order', 'aggregateid', '1', "
                 "'type', 'due', 'payload', '{}'::jsonb))")
    relay.start()
    prepared.wait_streaming(relay)
    done = _drain(prepared)
    assert done.returncode == 0, done.stderr
    assert "Scheduled events remain in walpost.scheduled" in done.stdout


def test_without_the_table_it_names_the_cure(stage):
    done = _drain(stage)
    assert done.returncode == 2
    assert "table walpost.reissue is missing in database" in done.stderr and "walpost init" in done.stderr


def test_a_role_without_the_right_is_told_the_grant(prepared):
    relay = prepared.relay()
    prepared.wait_streaming(relay)
    with passing_role(prepared, f"drainer_{prepared.slot}", "LOGIN IN ROLE pg_read_all_stats") as role:
        prepared.sql(f"GRANT USAGE ON SCHEMA walpost TO {identifier(role)}")
        done = _drain(prepared, changes={
            "postgres.conninfo": prepared.postgres.conninfo(prepared.database, user=role)})
    assert done.returncode == 2, done.stderr
    assert "GRANT SELECT, INSERT, DELETE ON walpost.reissue" in done.stderr
    assert relay.is_alive()


@pytest.mark.parametrize("text", ["0", "5", "x", "-1s"])
def test_a_timeout_that_is_none_is_refused(stage, text):
    done = _drain(stage, "--timeout", text)
    assert done.returncode == 2 and f"--timeout {text}: allowed is a duration" in done.stderr


def test_there_is_no_such_slot(prepared):
    done = _drain(prepared, "--slot", "nothing")
    assert done.returncode == 2 and "there is no slot nothing (postgres.slot)" in done.stderr
