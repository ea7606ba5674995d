"""walpost backfill and its slot: killed between two steps, or with a relay that is started meanwhile."""

import signal

import pytest

from lib import backfill
from lib.process import finish
from lib.sql_scripts import run_script
from lib.waiting import wait_until

pytestmark = [pytest.mark.on("all"), pytest.mark.timeout(300)]
MISSING = ("--missing", "--order-by", "n")


def _lost(stage):
    return backfill.lose_slot_under_load(stage, 600)


def _held(stage):
    """The slot is there, and no relay."""
    stage.create_topic(partitions=3)
    backfill.number_rows(stage)
    relay = stage.relay()
    stage.insert_many(100, "a{0}")
    stage.wait_all_confirmed(30, relay)
    relay.kill()
    stage.wait_released()
    stage.insert_many(500, "a{0}")
    return stage


@pytest.fixture
def lost(stage):
    return _lost(stage)


@pytest.fixture
def held(stage):
    return _held(stage)


def _everything_arrives(stage):
    """What is in the table, and what a relay reads from the slot that is there."""
    stage.insert_many(20, "later")
    relay = stage.relay()
    stage.wait_all_confirmed(60, relay)
    assert set(backfill.sent(stage)) == set(backfill.ids(stage))
    relay.stop()


def _has_failover_flag(stage):
    return int(stage.postgres.version) < 17 or stage.sql(
        "SELECT failover FROM pg_replication_slots WHERE slot_name = %s", (stage.slot,)) == [(True,)]


def _refusal(stage):
    relay = stage.new_relay().start()
    assert relay.wait_exit(40) == 3
    return relay.log_text()


def _killed_at(stage, condition):
    """Killed where it writes walpost.slot_checkpoint and the condition holds."""
    stage.sql(f"""CREATE FUNCTION wait_there() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
        IF NEW.owner = 'walpost backfill' AND {condition} THEN PERFORM pg_advisory_xact_lock(42); END IF;
        RETURN NEW; END $$""")
    stage.sql("CREATE TRIGGER wait_there BEFORE UPDATE ON walpost.slot_checkpoint FOR EACH ROW "
              "EXECUTE FUNCTION wait_there()")
    with stage.connect() as connection:
        connection.execute("SELECT pg_advisory_lock(42)")
        process = backfill.start(stage, *MISSING, "--force")
        try:
            waits = ("SELECT pid FROM pg_locks WHERE locktype = 'advisory' AND NOT granted AND database = "
                     "(SELECT oid FROM pg_database WHERE datname = current_database())")
            wait_until(lambda: stage.sql(waits) or process.poll() is not None, 30, "it waits there")
            assert process.poll() is None, process.communicate()
            process.kill()
            process.communicate()
            stage.sql(f"SELECT pg_terminate_backend(pid) FROM ({waits}) w")
        finally:
            process.kill()
    wait_until(lambda: not stage.postgres.temporary_slots(stage.database), 20, "the temporary slot is gone")
    stage.sql("DROP TRIGGER wait_there ON walpost.slot_checkpoint")


_SLOT_IS_THERE = "EXISTS (SELECT FROM pg_replication_slots s WHERE s.slot_name = NEW.slot)"


@pytest.mark.parametrize("before", [_lost, _held])
def test_killed_between_the_two_slots_it_leaves_none_and_begins_again(stage, before):
    before(stage)
    _killed_at(stage, f"NOT {_SLOT_IS_THERE}")
    backfill.no_slot_is_left(stage)
    said = _refusal(stage)
    assert f"there is no slot {stage.slot}" in said and "walpost backfill --missing" in said
    backfill.no_slot_is_left(stage)  # a relay makes none, which would begin behind what was committed meanwhile
    stage.insert_many(30, "meanwhile")
    backfill.done(backfill.run(stage, *MISSING))
    backfill.check_order(stage)
    assert _has_failover_flag(stage)
    _everything_arrives(stage)


@pytest.mark.parametrize("flag", ["set", "not set"])
def test_killed_once_the_slot_is_there_a_relay_refuses_it_until_backfill_has_ended(held, flag):
    _killed_at(held, _SLOT_IS_THERE)
    backfill.no_slot_is_left(held, but=[held.slot])
    if flag == "not set" and int(held.postgres.version) >= 17:  # killed a moment earlier
        with held.connect(replication="database") as connection:
            connection.execute(f"ALTER_REPLICATION_SLOT {held.slot} (FAILOVER false)")
    held.insert_many(30, "meanwhile")
    said = _refusal(held)
    assert "slot_moved" in said and "walpost backfill --missing --force" in said
    backfill.done(backfill.run(held, *MISSING, "--force"))
    assert _has_failover_flag(held)
    backfill.check_order(held)
    _everything_arrives(held)


def test_once_the_slot_is_another_cleanup_takes_no_row_for_delivered(held):
    made = run_script(held, "cleanup.sql", options=["-v", "ON_ERROR_STOP=1"])
    assert made.returncode == 0, made.stderr
    held.sql("INSERT INTO walpost.cleanup_floor (slot, outbox, leaf, generation, owner, reason) "
             "VALUES (%s, %s, %s, 'g', 'o', 'all rows were in the topics')", (held.slot, held.table, held.table))
    _killed_at(held, _SLOT_IS_THERE)
    backfill.no_slot_is_left(held, but=[held.slot])
    assert held.sql("SELECT count(*) FROM walpost.cleanup_floor") == [(0,)]


def _interrupted_by(stage, act, *arguments):
    process = backfill.start(stage, *MISSING, *arguments, "--rate", "5")
    before = len(backfill.sent(stage))
    wait_until(lambda: len(backfill.sent(stage)) > before or process.poll() is not None, 240, "some are sent")
    act()
    _, said = finish(process, 60)
    assert process.returncode == 1 and "--missing --force" in said, said
    backfill.no_slot_is_left(stage, but=[stage.slot])
    return said


def test_a_relay_that_is_started_meanwhile_ends_it_at_once(held):
    position = held.confirmed()
    relay = held.new_relay()
    said = _interrupted_by(held, relay.start, "--force")
    assert "is in use by process" in said and "twice" in said
    held.wait_all_confirmed(60, relay)  # from the old slot, which is as it was
    sent = backfill.sent(held)
    assert set(sent) == set(backfill.ids(held)) and len(sent) < 2 * len(set(sent))
    assert held.confirmed() > position
    relay.stop()
    _everything_arrives(held)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_interrupted_it_says_that_no_slot_was_created(lost, number):
    process = backfill.start(lost, *MISSING, "--rate", "5")
    before = len(backfill.sent(lost))
    wait_until(lambda: len(backfill.sent(lost)) > before or process.poll() is not None, 240, "some are sent")
    process.send_signal(number)
    _, said = finish(process, 20)
    assert process.returncode == 1 and "interrupted: no slot was created" in said
    backfill.no_slot_is_left(lost)
    backfill.done(backfill.run(lost, *MISSING))
    backfill.check_order(lost)


def test_a_slot_that_is_made_meanwhile_ends_it(lost):
    said = _interrupted_by(lost, lambda: lost.sql(
        "SELECT pg_create_logical_replication_slot(%s, 'pgoutput')", (lost.slot,)))
    # While it is being created it is in use.
    assert "was created meanwhile" in said or "is in use by process" in said
    assert "never be delivered" not in said
    backfill.done(backfill.run(lost, *MISSING, "--force"))
    backfill.check_order(lost)
    _everything_arrives(lost)


def test_a_slot_that_is_moved_meanwhile_ends_it(held):
    said = _interrupted_by(held, lambda: held.sql(
        "SELECT pg_replication_slot_advance(%s, pg_current_wal_lsn())", (held.slot,)), "--force")
    assert "was moved meanwhile" in said
    backfill.done(backfill.run(held, *MISSING, "--force"))
    backfill.check_order(held)
    _everything_arrives(held)
