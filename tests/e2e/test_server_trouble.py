"""Postgres and its machine in trouble: a silent line, a full disk, synchronous commits, a clock that jumps."""

import contextlib
import json
import subprocess
import time

import psycopg
import pytest

from lib import faketime
from lib.checker import check_all, check_once
from lib.disk import small_disk
from lib.line import Line
from lib.postgres import Postgres
from lib.relay import config_text, run_command
from lib.waiting import check_in_time, holds_for, wait_until
from lib.writer import Writer


@pytest.fixture
def line(stage):
    line = Line(stage.postgres.port)
    yield line
    line.end()


def test_a_line_to_postgres_that_drops_everything_is_noticed(stage, line):
    stage.create_topic()
    relay = stage.relay({"postgres.conninfo": stage.postgres.conninfo(stage.database, port=line.port)})
    stage.insert("a")
    stage.wait_all_confirmed(20, relay)
    line.silence()
    stage.insert("a")
    relay.wait_until(lambda: relay.log("half_open"), 60, "the silence is noticed")
    line.restore()
    stage.wait_all_confirmed(60, relay)
    check_all(stage.read(), stage.truth.events())


@contextlib.contextmanager
def _no_more_sessions(postgres):
    taken = []
    try:
        with pytest.raises(psycopg.OperationalError, match="too many clients"):
            while True:
                taken.append(postgres.connect())
        yield
    finally:
        for connection in taken:
            connection.close()


def test_a_server_without_room_for_one_more_session_still_gets_its_log_read(make_stage, own_postgres):
    """What we ask by SQL, we then ask as a walsender: these have room of their own."""
    own_postgres.restart(max_connections=12)
    stage = make_stage(postgres=own_postgres)
    stage.create_topic()
    stage.insert()
    relay = stage.new_relay({"relay.feedback.interval": "100ms"})
    with _no_more_sessions(own_postgres):
        relay.start()
        relay.wait_until(lambda: len(stage.read()) == 1, 20, "the event is in Kafka")
    wait_until(own_postgres.answers_now, 20, "there is room again")
    stage.wait_all_confirmed(20, relay)
    assert relay.log("stream_broken") == [] and relay.log("watch_unavailable") == []


def test_a_server_without_room_for_our_questions_is_tried_again(make_stage, own_postgres):
    own_postgres.restart(max_connections=12, max_wal_senders=1)
    stage = make_stage(postgres=own_postgres)
    stage.create_topic()
    stage.insert()
    relay = stage.new_relay()
    with _no_more_sessions(own_postgres):
        relay.start()
        relay.wait_until(lambda: relay.log("stream_broken"), 20, "the refusal is told")
        assert "max_wal_senders" in relay.log("stream_broken")[0]["reason"]
    wait_until(own_postgres.answers_now, 20, "there is room again")
    stage.wait_all_confirmed(40, relay)


# --- synchronous commits


@pytest.mark.alone
@pytest.mark.on("all")
@pytest.mark.parametrize("names", ["*", "walpost"])
def test_when_we_are_a_synchronous_standby_commits_wait_for_kafka_and_no_longer(make_stage, own_postgres, names):
    stage = make_stage(postgres=own_postgres)
    stage.create_topic(partitions=1)
    own_postgres.query("CREATE TABLE unrelated (n int)")
    relay = stage.relay({"postgres.allow_synchronous": "true", "relay.feedback.interval": "10ms"})
    stage.insert()
    stage.wait_all_confirmed()
    own_postgres.set_conf(synchronous_standby_names=names)
    wait_until(lambda: own_postgres.query("SELECT sync_state FROM pg_stat_replication") == [("sync",)],
               10, "we are synchronous")
    for n in range(2, 22):
        began = time.monotonic()
        stage.insert()
        own_postgres.query("INSERT INTO unrelated VALUES (1)")
        check_in_time(time.monotonic() - began, 10, "a commit")
        assert len(stage.read()) == n, "a commit came back before Kafka had the event"
    own_postgres.set_conf(synchronous_standby_names="")
    relay.stop()


@pytest.mark.on("all")
def test_being_a_synchronous_standby_without_leave_is_refused_by_run_and_check(make_stage, own_postgres):
    stage = make_stage(postgres=own_postgres)
    stage.create_topic()
    own_postgres.set_conf(synchronous_standby_names="*")
    file = stage.folder / "check.conf"
    file.write_text(config_text(stage.config()))
    done = run_command("check", "--json", "-c", file)
    found = {finding["name"]: finding for finding in json.loads(done.stdout)}["synchronous_standby_names"]
    assert done.returncode == 1 and found["level"] == "fail"
    relay = stage.new_relay().start()
    assert relay.wait_exit() == 2
    assert "synchronous_standby_names" in relay.log_text() and "allow_synchronous" in relay.log_text()
    own_postgres.set_conf(synchronous_standby_names="")


# --- a full disk


@pytest.fixture
def disk(folder):
    """A file system of 96 MB; and what makes it larger."""
    place = folder / "disk"
    with small_disk(place, "96m") as enlarge:
        yield place, lambda: enlarge("512m")


@pytest.mark.on("all")
def test_a_full_disk_under_the_log_of_postgres_loses_nothing(make_stage, version, folder, disk, mortal_kafka):
    place, enlarge = disk
    server = Postgres(version, folder / "small")
    (server.data / "pg_wal").rename(folder / "pg_wal")
    subprocess.run(["cp", "-a", folder / "pg_wal", place / "pg_wal"], check=True)
    (server.data / "pg_wal").symlink_to(place / "pg_wal")
    limits = {"min_wal_size": "32MB", "max_wal_size": "32MB"}
    server.start(**limits)
    try:
        stage = make_stage(postgres=server, kafka=mortal_kafka)
        stage.create_topic(partitions=1)
        relay = stage.relay()
        stage.insert("a")
        stage.wait_all_confirmed()
        mortal_kafka.pause()

        def is_full():
            if server.is_running() and server.answers_now():
                try:
                    stage.insert_many(2000, "a{0}", size=1000)
                except Exception:  # noqa: BLE001 - in whichever way the server goes
                    pass
            return "No space left on device" in server.log_since()

        wait_until(is_full, 90, "the disk is full")
        enlarge()
        mortal_kafka.resume()

        def is_inserted():
            if not server.is_running():
                server.start(**limits)
            try:
                stage.insert("a")
            except psycopg.Error:  # it may be only about to crash, or recover from that
                return False
            return True

        wait_until(is_inserted, 60, "Postgres takes rows again")
        stage.wait_all_confirmed(60, relay)
        check_all(stage.read(), stage.truth.events())
        relay.stop()
        stage.end()
    finally:
        server.end()


# --- the clock


@pytest.mark.parametrize("days", [400, -400])
def test_a_clock_that_jumps_changes_neither_order_nor_timeouts(stage, folder, days):
    """Ahead it may be set right after a pause of the machine, which is worth a new connection, once."""
    stage.create_topic(partitions=2)
    stage.sql(f"ALTER DATABASE {stage.database} SET wal_sender_timeout = '6s'")
    clock = faketime.Clock(folder)
    relay = stage.relay(environment=clock.environment)
    is_ahead = days > 0
    with Writer(stage, threads=2, pause=0.02, aggregates=20):
        goal = stage.confirmed() + 20_000
        relay.wait_until(lambda: stage.confirmed() >= goal, 30, "the slot moves")
        walsender = stage.slot_row()[2]
        clock.set(days * 86_400)
        if is_ahead:
            relay.wait_log("event=stood_still", 30)
            walsender = relay.wait_until(
                lambda: stage.slot_row()[2] not in (None, walsender) and stage.slot_row()[2], 30, "it is back")
        goal = stage.confirmed() + 20_000
        relay.wait_until(lambda: stage.confirmed() >= goal, 30, "the slot moves on")
    stage.wait_all_confirmed(20, relay)
    holds_for(lambda: relay.is_alive() and stage.slot_row()[2] == walsender, 14, "the same walsender serves us")
    stage.insert("a")
    stage.wait_all_confirmed(20, relay)
    relay.stop()
    messages = stage.read()
    check_all(messages, stage.truth.events())
    assert len(relay.log("stood_still")) == is_ahead
    if not is_ahead:
        check_once(messages)
    years = {line["time"][:4] for line in relay.log()}
    assert len(years) == 2, "the clock of the relay did not jump"
    assert all(abs(m.timestamp_ms / 1000 - time.time()) < 3600 for m in messages)
