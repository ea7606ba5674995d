"""The short run that is always run; and the whole of it on relays and consumers that are no good, which it finds."""

import os
import subprocess

import pytest

from chaos import any_relay, faults
from chaos.checker import Timeline
from chaos.consumer import Confused, Consumer, Forgetful
from chaos.run import Run
from lib import places
from lib.waiting import wait_until

VERSIONS = os.environ.get("WALPOST_POSTGRES", "18 14").split()
SEED = 41
# A run in which events are parked takes a minute or two, and on a busy machine a multiple of that.
SLOW_SECONDS = 1200
# Those that cost little time; the others are drawn by the long runs.
QUICK = (
    faults.KillRelay, faults.StopRelay, faults.FreezeRelay, faults.TerminateWalsender, faults.KillWalsender,
    faults.CrashPostgres, faults.StepClock, faults.KillBroker, faults.CutOffKafka, faults.TakeOver, faults.AlterOutbox,
    faults.ReloadRelay,
)


def judged_by(kind, world):
    """Everything once more from the beginning, through a consumer of that kind: what its checker finds."""
    checker = world.new_checker(Timeline())
    for id, end_lsn in world.checker.events():
        checker.committed(id, end_lsn)
    consumer = world.new_consumer(checker, kind).start()
    ends = wait_until(world._ends, 60, "the brokers tell the ends")
    wait_until(lambda: consumer.has_read(ends), 60, "all is read again")
    consumer.stop()
    checker.finish()
    # Outside of its windows: the faults of this run are not told to it.
    return {found for found in checker.violation_counts if found != "late repetition"}


@pytest.mark.timeout(400)
def test_a_short_run_keeps_every_promise_and_bad_consumers_are_found_in_it(capsys):
    found = {}

    def finish(world):
        for kind in (Consumer, Forgetful, Confused):
            found[kind] = judged_by(kind, world)

    run = Run(SEED, 0.5, VERSIONS[0], rate=250, kinds=QUICK,
              enough=lambda world: world.kills >= 5 and world.checker.event_count() > 1000)
    run.run(finish)
    assert run.good, capsys.readouterr().out
    run.remove()
    assert found[Consumer] == set()
    assert found[Forgetful] and found[Forgetful] <= {"lost", "out of order", "dropping by position"}
    assert {"out of order", "dropping by position"} <= found[Confused]


# One row in five is taken, and is not there.
FORGETS = """
    CREATE FUNCTION walpost.forgets() RETURNS trigger LANGUAGE plpgsql AS
        $$BEGIN RETURN CASE WHEN abs(hashtext(NEW.id)) % 5 > 0 THEN NEW END; END$$;
    CREATE TRIGGER forgets BEFORE INSERT ON walpost.parked FOR EACH ROW EXECUTE FUNCTION walpost.forgets()"""
PARKING = (faults.KillRelay, faults.LowerLimit, faults.LowerOwnLimit, faults.TerminateParking, faults.TakeOver)


@pytest.mark.timeout(SLOW_SECONDS)
def test_a_short_run_that_parks_keeps_every_promise(capsys):
    found = {}

    def finish(world):
        for kind in (Consumer, Forgetful):
            found[kind] = judged_by(kind, world)

    run = Run(SEED, 0.5, VERSIONS[0], rate=250, kinds=PARKING, poison="park",
              enough=lambda world: world.kills and len(world.parked_ids) > 50)
    run.run(finish)
    assert run.good, capsys.readouterr().out
    run.remove()
    assert found[Consumer] == set()
    assert found[Forgetful] and found[Forgetful] <= {"lost", "out of order", "dropping by position"}


@pytest.mark.timeout(SLOW_SECONDS)
def test_a_table_that_forgets_what_is_parked_is_found(capsys):
    run = Run(SEED, 3, VERSIONS[-1], rate=250, kinds=(faults.KillRelay, faults.LowerLimit), poison="park",
              sql=(FORGETS,), enough=lambda world: len(world.parked_ids) > 50)
    run.run()
    said = capsys.readouterr().out
    assert not run.good, said
    assert set(run.world.checker.violation_counts) & {"confirmed ahead", "lost"}, said
    run.remove()


@pytest.fixture
def confirms_early(tmp_path):
    """A relay that tells Postgres what it has received, not what Kafka has."""
    library = tmp_path / "shim.so"
    flags = subprocess.run(
        ["pkg-config", "--cflags", "libpq", "rdkafka"], check=True, capture_output=True, text=True).stdout.split()
    subprocess.run(
        ["cc", "-shared", "-fPIC", "-o", library, places.TREE / "tests" / "support" / "shim.c", *flags], check=True)
    return {"LD_PRELOAD": str(library), "SHIM_CONFIRM_EARLY": "1"}


@pytest.mark.timeout(400)
def test_a_relay_that_confirms_early_is_found(confirms_early, capsys):
    run = Run(SEED, 3, VERSIONS[-1], rate=250, kinds=(faults.KillRelay, faults.CutOffKafka), shim=confirms_early)
    run.run()
    said = capsys.readouterr().out
    assert not run.good, said
    assert set(run.world.checker.violation_counts) & {"confirmed ahead", "lost"}, said
    assert (run.world.folder / "evidence.json").exists()
    run.remove()


def _as_any_relay(kinds=any_relay.KINDS, environment=None):
    return Run(SEED, 0.3, VERSIONS[0], rate=250, kinds=kinds, relay="walpost", environment=environment,
               enough=lambda world: world.kills >= 5 and world.checker.event_count() > 1000)


@pytest.mark.timeout(400)
def test_a_relay_by_its_plug_in_is_judged_by_the_id_in_the_payload(capsys):
    run = _as_any_relay()
    run.run()
    said = capsys.readouterr().out
    assert run.good, said
    assert "by the id in the payload" in said and run.world.checker.unique == run.world.checker.event_count()
    run.remove()


@pytest.mark.timeout(400)
def test_what_a_relay_by_its_plug_in_drops_is_found(confirms_early, capsys):
    """It tells Postgres of events that it has not sent; a kill leaves it no trace of that, and they are gone."""
    run = _as_any_relay((any_relay.KillAnyRelay,), {
        "WALPOST_BENCH_PRELOAD": confirms_early["LD_PRELOAD"], "SHIM_CONFIRM_EARLY": "1",
        "WALPOST_BENCH_SET": "kafka.linger.ms=1000"})
    run.run()
    said = capsys.readouterr().out
    assert not run.good, said
    assert run.world.checker.lost and set(run.world.checker.violation_counts) == {"lost"}, said
    run.remove()


def test_a_relay_that_cannot_be_run_is_named_with_those_that_can(monkeypatch):
    assert any_relay.obstacle("walpost") is None
    assert "maxwell: no plug-in" in any_relay.obstacle("maxwell") and "debezium-tuned" in any_relay.obstacle("maxwell")
    monkeypatch.delenv("OUTBOXX_BIN", raising=False)
    assert "name its program by OUTBOXX_BIN" in any_relay.obstacle("outboxx")
