"""What is noticed beside a running stream: the publication, and the log kept for the slot."""

import signal

import psycopg
import pytest

from lib import places, process
from lib.checker import check_all, check_confirmed
from lib.backfill import give_order
from lib.cures import follow_check
from lib.postgres import Postgres
from lib.waiting import holds_for, let_grow_old, wait_until

# ALTER PUBLICATION ... SET TABLE t WHERE (...) came with PostgreSQL 15.
FILTERS = 15

BREAKS = {
    "dropped": "DROP PUBLICATION {publication}",
    "without the table": "ALTER PUBLICATION {publication} DROP TABLE {table}",
    "without inserts": "ALTER PUBLICATION {publication} SET (publish = 'update')",
    "filtered": "ALTER PUBLICATION {publication} SET TABLE {table} WHERE (id <> "
                "'00000000-0000-0000-0000-000000000000')",
    "without a column": "ALTER PUBLICATION {publication} SET TABLE {table} (id, type)",
}


def _break(stage, how):
    stage.sql(BREAKS[how].format(publication=stage.publication, table=stage.table))


def _skip_missing(how, version):
    """Filters and column lists are not there to be broken by before 15: nothing to show."""
    return how in ("filtered", "without a column") and int(version) < FILTERS


def _exit_after_break(stage, relay, deadline=30):
    assert relay.wait_exit(deadline) == 3, relay.log_tail()
    errors = [line for line in relay.log() if line["level"] == "error"]
    assert len(errors) == 1, relay.log_tail()
    return errors[0]


@pytest.mark.on(18, 15, 14)
@pytest.mark.parametrize("how", BREAKS)
def test_a_publication_that_loses_events_is_noticed_while_idle(stage, version, how):
    if _skip_missing(how, version):
        return
    stage.create_topic()
    relay = stage.relay()
    before = stage.insert("a")
    stage.wait_all_confirmed(relay=relay)
    stage.wait_claimed(relay)
    if how == "dropped":  # what it writes next would be decoded without the publication
        stage.wait_noted(relay)
    _break(stage, how)
    error = _exit_after_break(stage, relay)
    assert error["event"] == "events_would_be_lost"
    assert stage.publication in error["reason"] and "may be missing" in error["reason"] and "cure" in error["reason"]
    assert [m.id for m in stage.read()] == [before]


@pytest.mark.on(18, 15, 14)
@pytest.mark.parametrize("how", BREAKS)
def test_rows_behind_a_broken_publication_are_not_confirmed(make_stage, version, how, mortal_kafka):
    if _skip_missing(how, version):
        return
    stage = make_stage(kafka=mortal_kafka)
    stage.create_topic()
    relay = stage.relay()
    stage.insert("a")
    stage.wait_all_confirmed(relay=relay)
    mortal_kafka.pause()
    stage.insert("a")  # on its way, and not confirmed
    sent = stage.wal_end()
    _break(stage, how)
    for _ in range(3):
        stage.insert("a")
    _exit_after_break(stage, relay)
    stage.wait_released()
    assert stage.confirmed() < sent
    mortal_kafka.resume()
    check_confirmed(stage.confirmed(), stage.read(), stage.truth.events())


@pytest.mark.on(18, 15, 14)
def test_a_table_put_back_into_the_publication_flows_on(stage):
    stage.create_topic()
    relay = stage.relay()
    stage.insert("a")
    stage.wait_all_confirmed(relay=relay)
    stage.wait_claimed(relay)
    _break(stage, "without the table")
    _exit_after_break(stage, relay)
    relay.start()
    assert relay.wait_exit() == 3 and "lacks" in relay.log_text()
    stage.sql(f"ALTER PUBLICATION {stage.publication} ADD TABLE {stage.table}")
    relay.start()
    stage.wait_streaming(relay)
    stage.insert("a")
    stage.wait_all_confirmed(relay=relay)
    relay.stop()
    check_all(stage.read(), stage.truth.events())


def test_a_publication_changed_and_changed_back_at_once_stops_nobody(stage):
    stage.create_topic()
    relay = stage.relay()
    with stage.transaction() as connection:
        connection.execute(f"ALTER PUBLICATION {stage.publication} DROP TABLE {stage.table}")
        connection.execute(f"ALTER PUBLICATION {stage.publication} ADD TABLE {stage.table}")
    for _ in range(3):
        stage.insert("a")
    holds_for(relay.is_alive, 5, "it goes on")
    stage.wait_all_confirmed(relay=relay)
    check_all(stage.read(), stage.truth.events())


# --- the connection beside the stream


def _watching(stage):
    """Sessions of a relay that are no walsenders."""
    return stage.postgres.query(
        "SELECT pid FROM pg_stat_activity WHERE datname = %s AND application_name = 'walpost' "
        "AND backend_type = 'client backend'", (stage.database,))


def test_losing_the_connection_beside_the_stream_does_not_matter(stage):
    stage.create_topic()
    relay = stage.relay()
    relay.wait_until(lambda: _watching(stage), 10, "it watches")
    stream = stage.slot_row()[2]
    for _ in range(3):
        for (pid,) in _watching(stage):
            stage.sql("SELECT pg_terminate_backend(%s, 5000)", (pid,))
        stage.insert("a")
        stage.wait_all_confirmed(relay=relay)
        relay.wait_until(lambda: _watching(stage), 15, "it watches again")
    assert stage.slot_row()[2] == stream
    relay.stop()


def _role_without_ordinary_connections(stage):
    """One that may have no ordinary session: walsenders are not counted."""
    role = stage.name + "_r"
    stage.sql(f"CREATE ROLE {role} LOGIN REPLICATION CONNECTION LIMIT 0")
    stage.sql(f"GRANT USAGE ON SCHEMA walpost TO {role}")
    stage.sql(f"GRANT SELECT, INSERT, UPDATE ON walpost.slot_checkpoint TO {role}")
    return role


def test_a_role_without_room_for_an_ordinary_connection_relays_and_watches_all_the_same(stage):
    stage.create_topic()
    role = _role_without_ordinary_connections(stage)
    relay = stage.relay({"postgres.conninfo": stage.postgres.conninfo(stage.database, user=role)})
    stage.insert("a")
    stage.wait_all_confirmed(relay=relay)
    stage.sql(f"DROP PUBLICATION {stage.publication}")
    assert relay.wait_exit(30) == 3 and not relay.log("watch_unavailable")
    stage.sql(f"DROP OWNED BY {role}")
    stage.sql(f"DROP ROLE {role}")


def test_without_any_room_for_a_second_connection_a_stream_goes_on(make_stage, own_postgres):
    own_postgres.restart(max_wal_senders=2)
    stage = make_stage(postgres=own_postgres)
    stage.create_topic()
    role = _role_without_ordinary_connections(stage)
    relay = stage.relay({"postgres.conninfo": own_postgres.conninfo(stage.database, user=role)})

    def last_walsender():
        try:
            return own_postgres.connect(stage.database, replication="database")
        except psycopg.OperationalError:
            return None

    with wait_until(last_walsender, 60, "the relay's second connection is given back, and then taken"):
        stage.insert("a")
        stage.wait_all_confirmed(relay=relay)
        relay.wait_log("watch_unavailable", 180)
        stage.insert("a")
        stage.wait_all_confirmed(relay=relay)
    relay.wait_log("watch_available", 60)
    relay.stop()
    check_all(stage.read(), stage.truth.events())


def test_the_last_walsender_is_enough(make_stage, own_postgres):
    own_postgres.restart(max_wal_senders=1)
    stage = make_stage(postgres=own_postgres)
    stage.create_topic()
    relay = stage.relay()
    stage.insert("a")
    stage.wait_all_confirmed(relay=relay)
    relay.stop()
    check_all(stage.read(), stage.truth.events())


@pytest.mark.on(18, 15, 14)
@pytest.mark.parametrize("mode", ["fast", "smart"])
def test_the_connection_beside_the_stream_keeps_no_server_from_stopping(make_stage, own_postgres, mode):
    stage = make_stage(postgres=own_postgres)
    stage.create_topic()
    relay = stage.relay()
    relay.wait_until(lambda: _watching(stage), 10, "it watches")
    own_postgres.begin_stop(mode)
    own_postgres.wait_stopped(10 if mode == "fast" else 60)
    own_postgres.start()
    stage.insert("a")
    stage.wait_all_confirmed(40, relay)
    relay.stop()


@pytest.mark.on(18, 14)
@pytest.mark.parametrize("mode", ["fast", "smart"])
def test_the_connection_for_parked_events_keeps_no_server_from_stopping(make_stage, own_postgres, mode):
    stage = make_stage(postgres=own_postgres)
    stage.create_topic()
    stage.sql((places.TREE / "sql" / "parked.sql").read_text())
    relay = stage.relay({"relay.poison": "park", "park.retry.first": "1s"})
    stage.insert("a", topic="no topic")
    relay.wait_until(lambda: stage.sql("SELECT count(*) FROM walpost.parked WHERE attempts > 0") == [(1,)], 20,
                     "it is parked, and was tried again")
    own_postgres.begin_stop(mode)
    own_postgres.wait_stopped(10 if mode == "fast" else 60)
    own_postgres.start()
    stage.insert("b")
    stage.insert("a")
    stage.wait_all_confirmed(40, relay)
    assert stage.sql("SELECT count(*) FROM walpost.parked") == [(2,)] and len(stage.read()) == 1
    relay.stop()


# --- the log that is kept for the slot


def _write_log(stage, megabytes):
    stage.sql("SELECT count(*) FROM (SELECT pg_logical_emit_message(false, 'fill', repeat('x', 1000000)) "
              "FROM generate_series(1, %s)) x", (megabytes,))


def _wal_status(stage):
    return stage.postgres.query("SELECT wal_status FROM pg_replication_slots WHERE slot_name = %s",
                                (stage.slot,))[0][0]


def _lose_slot(stage):
    """Writes log and lets checkpoints pass until the slot is lost."""

    def lost():
        _write_log(stage, 20)
        stage.postgres.query("CHECKPOINT")
        return _wal_status(stage) == "lost"

    wait_until(lost, 60, "the slot is lost")


@pytest.fixture
def limited(version, folder, make_stage, mortal_kafka):
    """On a server that gives a slot up early; without the truth, whose slot would go as well."""
    server = Postgres(version, folder / "limited").start(
        max_slot_wal_keep_size="64MB", max_wal_size="64MB", min_wal_size="32MB")
    yield make_stage(postgres=server, kafka=mortal_kafka)
    server.end()


@pytest.mark.timeout(180)
@pytest.mark.on(18, 15, 14)
def test_the_guard_warns_before_the_slot_is_lost_and_its_loss_ends_in_three(limited, mortal_kafka):
    stage = limited
    stage.create_topic()
    relay = stage.relay()
    stage.insert("a")
    stage.wait_all_confirmed(relay=relay)
    mortal_kafka.pause()
    stage.insert("a")

    def warned():
        _write_log(stage, 1)
        let_grow_old(0.5)  # it wants to see it become less
        return relay.log("wal_guard")

    relay.wait_until(warned, 60, "the guard warns")
    line = relay.log("wal_guard")[0]
    assert line["level"] in ("warn", "error") and "max_slot_wal_keep_size" in line["reason"]
    _lose_slot(stage)
    assert relay.wait_exit(40) == 3
    errors = [line["reason"] for line in relay.log() if line["level"] == "error"
              and line["event"] not in ("wal_guard", "slot_unreserved")]
    assert len(errors) == 1 and "invalidated" in errors[0]
    mortal_kafka.resume()
    assert _wal_status(stage) == "lost"


@pytest.mark.timeout(180)
@pytest.mark.on(18, 15, 14)
def test_a_slot_lost_while_no_relay_ran_is_told_and_not_made_anew(limited):
    stage = limited
    stage.create_topic()
    give_order(stage)
    relay = stage.relay()
    stage.insert("a")
    stage.wait_all_confirmed(relay=relay)
    relay.stop()
    _lose_slot(stage)
    relay.start()
    assert relay.wait_exit() == 3
    assert "invalidated" in relay.log_text() and "walpost backfill --missing --force" in relay.log_text()
    assert _wal_status(stage) == "lost"
    follow_check(stage, relay, {})  # what the line says, as check prints it
    relay.start()
    stage.insert("b")
    relay.wait_until(lambda: len(stage.read()) == 2, 30, "events flow again")


def test_a_frozen_relay_does_not_matter_to_the_watch(stage):
    stage.create_topic()
    relay = stage.relay()
    relay.wait_until(lambda: _watching(stage), 10, "it watches")
    process.pause(relay.pid)
    stage.insert("a")
    process.resume(relay.pid)
    stage.wait_all_confirmed(relay=relay)
    relay.signal(signal.SIGTERM)
    assert relay.wait_exit() == 0
