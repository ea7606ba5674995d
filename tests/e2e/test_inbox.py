"""sql/inbox.sql: walpost.accept() answers true once for each event, through every change of periods."""

import contextlib
import random
import threading
from concurrent.futures import ThreadPoolExecutor

import psycopg
import pytest
from psycopg import IsolationLevel

from lib.sql_scripts import run_script
from lib.waiting import wait_until

pytestmark = pytest.mark.on("all")
ROTATE = "SELECT * FROM walpost.inbox_maintain('7 days', '0')"


@pytest.fixture
def inbox(stage):
    done = run_script(stage, "inbox.sql", options=("-v", "ON_ERROR_STOP=1"))
    assert done.returncode == 0, done.stderr
    return stage


def accept(connection, id, consumer="billing"):
    (answer,) = connection.execute("SELECT walpost.accept(%s, %s)", (consumer, id)).fetchone()
    return answer


def maintain(stage, keep="7 days", period="1 day"):
    return [line for line, in stage.sql("SELECT * FROM walpost.inbox_maintain(%s, %s)", (keep, period))]


@contextlib.contextmanager
def session(stage, isolation=IsolationLevel.READ_COMMITTED):
    with stage.connect() as connection:
        connection.autocommit = False
        connection.isolation_level = isolation
        yield connection


def waits(stage, connection):
    return stage.sql("SELECT 1 FROM pg_locks WHERE pid = %s AND NOT granted", (connection.info.backend_pid,)) != []


def test_an_event_is_accepted_once_by_each_consumer(inbox):
    with session(inbox) as one:
        assert [accept(one, "a"), accept(one, "a"), accept(one, "b"), accept(one, "a", "mail")] == [
            True, False, True, True]
        one.rollback()
        assert accept(one, "a"), "a rollback left something"
        one.commit()
        assert not accept(one, "a")
        with pytest.raises(psycopg.errors.NullValueNotAllowed, match="must not be NULL"):
            accept(one, None)


@pytest.mark.parametrize("ends", ["commit", "rollback"])
def test_of_two_at_once_the_second_answers_by_how_the_first_ends(inbox, ends):
    with session(inbox) as one, session(inbox) as two, ThreadPoolExecutor(1) as pool:
        assert accept(one, "a")
        second = pool.submit(accept, two, "a")
        wait_until(lambda: waits(inbox, two), 20, "the second waits for the first")
        getattr(one, ends)()
        assert second.result(20) == (ends == "rollback")
        two.rollback()


def test_a_period_begins_once_it_is_due_and_is_dropped_once_it_is_old(inbox):
    assert maintain(inbox) == []
    with session(inbox) as one:
        assert accept(one, "a")
        one.commit()
        assert maintain(inbox, period="0") == ["period 2 begins"]
        assert not accept(one, "a"), "forgotten with the change of periods"
        assert accept(one, "b")
        one.commit()
        assert maintain(inbox, period="0") == ["period 3 begins"]
        assert [accept(one, id) for id in "abc"] == [False, False, True]
        one.commit()
        said = maintain(inbox, keep="0")
        assert [line.split(",")[0] for line in said] == ["period 1", "period 2"]
        assert [accept(one, id) for id in "abc"] == [True, True, False]
        one.commit()
    assert inbox.sql("SELECT number FROM walpost.inbox_period ORDER BY 1") == [(3,)]


def test_the_period_does_not_change_while_a_transaction_that_accepted_is_open(inbox):
    """The one on the other side would not see its event."""
    with session(inbox) as one, session(inbox) as two:
        assert accept(one, "a")
        (said,) = maintain(inbox, period="0")
        assert said.startswith("period 1 goes on: ")
        one.commit()
        assert maintain(inbox, period="0") == ["period 2 begins"]
        assert not accept(two, "a")
        two.rollback()


@pytest.mark.alone  # within that second it is to be seen
def test_who_accepts_while_the_period_is_to_change_waits_a_second_at_most(inbox):
    with session(inbox) as one, session(inbox) as two, ThreadPoolExecutor(2) as pool:
        assert accept(one, "a")
        changing = pool.submit(maintain, inbox, "7 days", "0")
        waits = """SELECT FROM pg_locks WHERE locktype = 'advisory' AND NOT granted
                   AND database = (SELECT oid FROM pg_database WHERE datname = current_database())"""
        with inbox.connect() as watcher:  # it waits for a second at most
            wait_until(lambda: watcher.execute(waits).fetchall(), 20, "the change waits")
        assert pool.submit(accept, two, "b").result(20)
        assert changing.result(20)[0].startswith("period 1 goes on: ")


@pytest.mark.parametrize("isolation", [IsolationLevel.REPEATABLE_READ, IsolationLevel.SERIALIZABLE])
def test_a_snapshot_from_before_the_change_of_periods_is_refused(inbox, isolation):
    with session(inbox, isolation) as old, session(inbox) as new:
        old.execute("SELECT 1")  # its snapshot
        assert maintain(inbox, period="0") == ["period 2 begins"]
        assert accept(new, "a")
        new.commit()
        with pytest.raises(psycopg.errors.SerializationFailure):
            accept(old, "a")
        old.rollback()
        assert not accept(old, "a")
        old.rollback()


def test_a_snapshot_from_before_the_same_event_is_refused(inbox):
    with session(inbox, IsolationLevel.REPEATABLE_READ) as old, session(inbox) as new:
        old.execute("SELECT 1")
        assert accept(new, "a")
        new.commit()
        with pytest.raises(psycopg.errors.SerializationFailure):
            accept(old, "a")


def test_a_consumer_needs_three_grants(inbox):
    role = f"{inbox.name}_consumer"
    inbox.sql(f"CREATE ROLE {role}")
    try:
        inbox.sql(f"GRANT USAGE ON SCHEMA walpost TO {role}")
        inbox.sql(f"GRANT SELECT, INSERT ON walpost.inbox TO {role}")
        inbox.sql(f"GRANT SELECT ON walpost.inbox_period TO {role}")
        inbox.sql(ROTATE)
        with session(inbox) as one:
            one.execute(f"SET ROLE {role}")
            assert [accept(one, "a"), accept(one, "a")] == [True, False]
    finally:
        inbox.sql(f"DROP OWNED BY {role}")
        inbox.sql(f"DROP ROLE {role}")


def test_the_script_may_be_repeated(inbox):
    with session(inbox) as one:
        assert accept(one, "a")
        one.commit()
        inbox.sql(ROTATE)
        assert run_script(inbox, "inbox.sql", options=("-v", "ON_ERROR_STOP=1")).returncode == 0
        assert not accept(one, "a")
    assert inbox.sql("SELECT count(*) FROM walpost.inbox_period") == [(2,)]


def test_many_at_once_through_many_changes_of_periods_accept_each_event_once(inbox, scaled):
    """Six consumers at different places get each event, again and again until enough has changed; some roll back."""
    events = scaled(400, 5_000)
    periods = "SELECT count(*) FROM walpost.inbox_period"
    inbox.sql("CREATE TABLE effect (id text)")
    enough, done = threading.Event(), threading.Event()

    def consume(seed):
        rng = random.Random(seed)
        with inbox.connect() as connection:
            connection.autocommit = False
            connection.isolation_level = rng.choice((IsolationLevel.READ_COMMITTED, IsolationLevel.REPEATABLE_READ))
            at = 0
            while at < events or not (enough.is_set() or done.is_set()):
                try:
                    at %= events
                    batch = range(at, min(events, at + rng.randint(1, 5)))
                    for id in batch:
                        if accept(connection, str(id)):
                            connection.execute("INSERT INTO effect VALUES (%s)", (str(id),))
                    if rng.random() < 0.2:
                        connection.rollback()
                        continue
                    connection.commit()
                    at = batch.stop
                except (psycopg.errors.SerializationFailure, psycopg.errors.DeadlockDetected):
                    connection.rollback()

    def change():
        while not done.wait(0.1):
            inbox.sql(ROTATE)
            if inbox.sql(periods)[0][0] > 10:
                enough.set()

    with ThreadPoolExecutor(7) as pool:
        changing = pool.submit(change)
        try:
            for consumer in [pool.submit(consume, seed) for seed in range(6)]:
                wait_until(consumer.done, scaled(60, 600), "a consumer is through")
                consumer.result()
        finally:
            done.set()
        changing.result()
    assert inbox.sql("SELECT count(*), count(DISTINCT id) FROM effect") == [(events, events)]
    assert inbox.sql(periods)[0][0] > 10
