"""What the pages and the runbook say to do after a lost, moved or restored slot, to the letter."""

import shutil
import subprocess

import pytest

from e2e.test_moves import Recipe
from lib import backfill
from lib.relay import run_command
from lib.waiting import wait_until

pytestmark = [pytest.mark.on("all"), pytest.mark.timeout(300)]
RUNBOOK = "../../../runbook.md"


class Cure(Recipe):
    """Its commands may be shown without their configuration."""

    def words(self, command):
        assert command in " ".join(self._text.split()), f"the page does not show: {command}"
        words = command.split()
        if "-c" not in words:
            words += ["-c", "walpost.conf"]
        return [str(self.file) if word == "walpost.conf" else word for word in words[1:]]

    def run(self, command):
        return backfill.done(run_command(*self.words(command), deadline=120))

    def refused(self, command):
        return backfill.refused(run_command(*self.words(command), deadline=120))


@pytest.fixture
def stage(make_stage, own_postgres):
    """The order of its rows is that of their primary key, so that nobody has to say it."""
    stage = make_stage(postgres=own_postgres)
    stage.create_topic(partitions=2)
    backfill.give_order(stage)
    return stage


def _deliver(stage, count, changes=None):
    relay = stage.relay(changes)
    stage.insert_many(count, "a{0}")
    stage.wait_all_confirmed(30, relay)
    relay.stop()
    return relay


def _refusal(stage, changes=None):
    relay = stage.new_relay(changes).start()
    assert relay.wait_exit(40) == 3
    return [line["reason"] for line in relay.log() if line["level"] == "error"][0]


def _every_row_arrives(stage, changes=None, others=()):
    """Those of the table, and those that are written from now on; by the command `walpost run -c walpost.conf`."""
    stage.insert_many(20, "after")
    relay = stage.relay(changes)
    stage.wait_all_confirmed(60, relay)
    sent = backfill.sent(stage)
    assert set(sent) == {*backfill.ids(stage), *others}
    if not others:  # before 17 a server that was restarted has forgotten what the slot had confirmed last
        assert len(sent) == len(set(sent))
    relay.stop()


def _skip_some(stage):
    """Somebody moves the slot past events that no relay has read."""
    stage.insert_many(30, "skipped")
    stage.sql("SELECT pg_replication_slot_advance(%s, pg_current_wal_lsn())", (stage.slot,))
    stage.insert_many(10, "held")


def _make_anew(stage):
    stage.insert_many(30, "skipped")
    stage.sql("SELECT pg_drop_replication_slot(%s)", (stage.slot,))
    stage.sql("SELECT pg_create_logical_replication_slot(%s, 'pgoutput')", (stage.slot,))


@pytest.mark.parametrize("move", [_skip_some, _make_anew])
@pytest.mark.parametrize("page", ["slots.md", RUNBOOK])
def test_a_slot_that_was_moved(stage, page, move):
    _deliver(stage, 50)
    move(stage)
    command = "walpost backfill --missing --force"
    assert f"run `{command}`" in _refusal(stage)
    Cure(page, stage).run(command)
    backfill.check_order(stage)
    _every_row_arrives(stage)


def _lose(stage):
    """By max_slot_wal_keep_size."""
    stage.postgres.set_conf(max_slot_wal_keep_size="1MB")

    def is_lost():
        for _ in range(2):
            stage.sql("CREATE TABLE filler AS SELECT 1; DROP TABLE filler; SELECT pg_switch_wal()")
        stage.sql("CHECKPOINT")
        (state,) = stage.sql("SELECT wal_status FROM pg_replication_slots WHERE slot_name = %s", (stage.slot,))
        return state == ("lost",)
    wait_until(is_lost, 60, "the slot is lost")
    stage.postgres.set_conf(max_slot_wal_keep_size="-1")


@pytest.mark.parametrize("page, command", [
    ("backfill.md", "walpost backfill -c walpost.conf --missing --force"),
    ("slots.md", "walpost backfill -c walpost.conf --missing --force"),
    (RUNBOOK, "walpost backfill --missing --force"),
])
def test_a_lost_slot(stage, page, command):
    relay = _deliver(stage, 50)
    stage.insert_many(40, "lost")
    _lose(stage)
    assert "walpost backfill --missing --force" in _refusal(stage)
    checked = run_command("check", "-c", relay.config_file)
    assert "walpost backfill --missing --force" in checked.stdout
    before = set(backfill.sent(stage))
    cure = Cure(page, stage)
    if page == "backfill.md":
        assert "would send 40 rows" in cure.run(command + " --dry-run")
        assert set(backfill.sent(stage)) == before
    said = cure.run(command)
    assert "40 of 90 rows have no record in Kafka" in said
    if page != RUNBOOK:
        cure.words("walpost run -c walpost.conf")
    _every_row_arrives(stage)


@pytest.mark.parametrize("page, command", [
    ("failover.md", "walpost backfill -c walpost.conf --missing"),
    ("slots.md", "walpost backfill -c walpost.conf --missing"),
    (RUNBOOK, "walpost backfill --missing"),
])
def test_a_slot_that_was_dropped(stage, page, command):
    relay = _deliver(stage, 50)
    stage.sql("SELECT pg_drop_replication_slot(%s)", (stage.slot,))
    stage.insert_many(40, "lost")
    assert "walpost backfill --missing`" in _refusal(stage)
    Cure(page, stage).run(command)
    assert run_command("check", "-c", relay.config_file).returncode == 0
    _every_row_arrives(stage)


def _restore(stage, folder, has_slot):
    """To a state of before 200 events that are in Kafka, with 20 rows that are not."""
    _deliver(stage, 50)
    server = stage.postgres
    server.stop()
    saved = folder / "saved"
    subprocess.run(["cp", "-a", server.data, saved], check=True)
    server.start()
    kept = backfill.ids(stage)
    stage.sql("SELECT pg_switch_wal()")  # what is written after the restore does not come as far
    _deliver(stage, 200)
    later = set(backfill.ids(stage)) - set(kept)
    server.stop("immediate")
    shutil.rmtree(server.data)
    if not has_slot:  # as pg_basebackup leaves them out
        for slot in (saved / "pg_replslot").iterdir():
            shutil.rmtree(slot)
    saved.rename(server.data)
    server.start()
    assert backfill.ids(stage) == kept
    stage.insert_many(20, "restored")
    return later


@pytest.mark.parametrize("has_slot", [True, False])
def test_a_restored_database(stage, folder, has_slot):
    """Its log ends before events that Kafka has: nothing is sent before relay.epoch is raised."""
    later = _restore(stage, folder, has_slot)
    before = sorted(backfill.sent(stage))
    command = "walpost backfill -c walpost.conf --missing --force"
    cure = Cure("failover.md", stage)
    said = cure.refused(command)
    assert "the database is behind the events delivered from it" in said and "set relay.epoch = 1" in said
    assert sorted(backfill.sent(stage)) == before
    backfill.no_slot_is_left(stage, but=[stage.slot] if has_slot else [])
    if has_slot:
        why = _refusal(stage)
        assert "set relay.epoch = 1" in why and "`walpost backfill --missing --force`" in why
    cure.says("Raise `relay.epoch` by one")
    cure.configure({"relay.epoch": 1})
    assert "20 of 70 rows have no record in Kafka" in cure.run(command)
    # A relay with the old epoch would send positions below those: refused also once the log is as far as it was.
    for _ in range(3):
        stage.sql("SELECT pg_switch_wal()")
        stage.insert_many(1, "held")
    assert "Set relay.epoch = 1" in _refusal(stage)
    cure.configure()
    assert "set relay.epoch = 1" in cure.refused(command)
    _every_row_arrives(stage, {"relay.epoch": 1}, later)
    taken, places = set(), {}
    for message in stage.read():  # who keeps the highest position takes all
        place = message.header("walpost-position")
        if places.get(message.partition, b"") < place:
            places[message.partition] = place
            taken.add(message.id)
    assert taken == set(backfill.sent(stage))


def test_a_server_that_is_behind_by_the_runbook(stage, folder):
    later = _restore(stage, folder, True)
    assert "the database is behind the events delivered from it" in _refusal(stage)
    cure = Cure(RUNBOOK, stage)
    cure.says("raise `relay.epoch` by one, send the rows that Kafka does not have with")
    cure.configure({"relay.epoch": 1})
    cure.run("walpost backfill --missing --force")
    _every_row_arrives(stage, {"relay.epoch": 1}, later)
