"""A lock that others hold: no command waits for it without a word."""

import contextlib
import json
import re
import subprocess
from concurrent.futures import ThreadPoolExecutor

import pytest

from lib.relay import binary, clean_environment, config_text, run_command

DEADLINE = 20  # some ask twice
# Each needs the outbox itself.
READERS = [
    ("check",),
    ("diff",),
    ("init",),
    ("cleanup",),
    ("replay", "start", "--where", "true", "--dry-run"),
]
# These look at it at most by the catalog.
OTHERS = [
    ("status",),
    ("parked", "list"),
    ("parked", "purge", "--all"),
    ("replay", "list"),
    ("dead-letters", "list"),
    ("dead-letters", "retry", "--all"),
    ("slot", "list"),
    ("slot", "skip"),
    ("slot", "accept"),
    ("drain", "--timeout", "3s"),
]


@pytest.fixture
def ready(make_stage):
    """A stage that `walpost init` has set up, with a row; no relay runs."""
    stage = make_stage(set_up=False)
    stage.create_topic(partitions=1)
    stage.create_topic("dead", partitions=1)
    stage.file = stage.folder / "walpost.conf"
    stage.file.write_text(config_text(stage.config({
        "relay.poison": "dead-letter", "relay.dead_letter.topic": stage.topic("dead"), "cleanup.mode": "delete",
        "outbox.column.inserted": "created_at"})))
    stage.sql("""CREATE TABLE outbox (id uuid PRIMARY KEY, aggregatetype text NOT NULL, aggregateid text NOT NULL,
                   type text, payload jsonb, created_at timestamptz NOT NULL DEFAULT now())""")
    stage.sql("CREATE INDEX ON outbox (created_at)")
    made = run_command("init", "-c", stage.file)
    assert made.returncode == 0, made.stderr
    stage.sql("INSERT INTO outbox VALUES (gen_random_uuid(), 'order', '7', 't', '{}')")
    return stage


@contextlib.contextmanager
def locked(stage, tables):
    """Another session holds them; gives its process."""
    with stage.connect(application_name="migration") as connection:
        connection.autocommit = False
        connection.execute(f"LOCK TABLE {tables} IN ACCESS EXCLUSIVE MODE")
        yield connection.info.backend_pid
        connection.rollback()


def run_all(stage, commands):
    with ThreadPoolExecutor(len(commands)) as threads:
        runs = [threads.submit(run_command, *command, "-c", stage.file, deadline=DEADLINE) for command in commands]
        return dict(zip(commands, (run.result() for run in runs)))


@pytest.mark.on("all")
def test_a_command_says_who_has_locked_the_outbox(ready):
    with locked(ready, "outbox") as holder:
        runs = run_all(ready, READERS)
        for command, run in runs.items():
            words = run.stdout + run.stderr
            if command in (("check",), ("init",)) and run.returncode == 0:
                continue  # PostgreSQL 14 describes a table without a lock on it
            assert run.returncode != 0, command
            assert "table public.outbox is locked by process" in words, (command, words)
            assert f"process {holder} (" in words and "application migration" in words, (command, words)
            assert f"pg_terminate_backend({holder})" in words, (command, words)
    assert json.loads(run_command("check", "--json", "-c", ready.file).stdout)  # and nothing of it is left


def test_those_that_need_no_row_of_it_end_too(ready):
    with locked(ready, "outbox") as holder:
        for command, run in run_all(ready, OTHERS).items():
            assert run.stdout + run.stderr, command
        backfill = run_command("backfill", "--force", "--timeout", "10s", "-c", ready.file, deadline=DEADLINE)
        assert backfill.returncode != 0 and f"process {holder}" in backfill.stderr, backfill.stderr


@pytest.mark.parametrize("table", ["slot_checkpoint", "reissue", "parked", "scheduled"])
def test_a_table_of_walpost_that_is_locked_is_named(ready, table):
    with locked(ready, f"walpost.{table}") as holder:
        runs = run_all(ready, READERS + OTHERS)
        named = [command for command, run in runs.items() if f"table walpost.{table} is locked by process {holder}"
                 in run.stdout + run.stderr]
        assert ("check",) in named or table == "reissue"
        for command in named:
            assert runs[command].returncode != 0, command
        for command, run in runs.items():
            assert run.stdout + run.stderr, command
            assert "canceling statement" not in run.stdout + run.stderr, (command, run.stdout + run.stderr)


def test_check_asks_no_more_once_it_has_met_a_lock(ready):
    """A question that follows forgets the lock, unless it waits for the same, as a plan of the catalogs may have it."""
    before = ready.postgres.log_size()
    with locked(ready, "walpost.parked") as holder:
        checked = run_command("check", "-c", ready.file, deadline=DEADLINE)
    assert checked.returncode == 1 and f"table walpost.parked is locked by process {holder}" in checked.stdout, checked
    log = ready.postgres.log_since(before)
    asked = rf"\[(\d+)\] walpost STATEMENT: .*\n.*\n?.*FROM walpost.parked WHERE slot = '{ready.slot}'"
    (pid,) = set(re.findall(asked, log))
    assert len(re.findall(rf"\[{pid}\] walpost ERROR:  canceling statement due to user request", log)) == 1


def test_tail_says_for_whom_it_waits_and_goes_on(ready):
    errors = ready.folder / "tail.stderr"
    with errors.open("w") as stderr:
        tail = subprocess.Popen([binary(), "tail", "--count", "1", "-c", ready.file], stdout=subprocess.PIPE,
                                stderr=stderr, text=True, env=clean_environment())
    try:
        with locked(ready, "outbox") as holder:
            ready.wait_until(lambda: f"process {holder}" in errors.read_text(), 20, "tail names the holder")
        ready.wait_until(lambda: "events from" in errors.read_text(), 20, "tail reads")
        ready.sql("INSERT INTO outbox VALUES (gen_random_uuid(), 'order', '7', 't', '{}')")
        assert json.loads(tail.stdout.readline())["key"]
    finally:
        tail.kill()
        tail.wait()
        tail.stdout.close()
