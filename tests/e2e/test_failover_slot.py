"""Failover slots (PostgreSQL 17 and newer): the slot that `init` makes is there after a promotion."""

import subprocess

import pytest

from lib.failover import Standby
from lib.relay import binary, clean_environment, run_command
from lib.waiting import holds_for, wait_until

pytestmark = pytest.mark.on(since=17)


@pytest.fixture
def pair(make_stage, own_postgres, folder):
    """A stage made by `walpost init` on a primary, for which the primary's standby counts; the standby; a relay."""
    stage = make_stage(postgres=own_postgres, set_up=False)
    stage.create_topic(partitions=2)
    done = run_command("init", "-c", stage.new_relay().config_file)
    assert done.returncode == 0, done.stderr
    standby = Standby(own_postgres, folder / "standby").start()
    standby.follow_by_slot("standby1")
    own_postgres.set_conf(synchronized_standby_slots="standby1")
    relay = stage.relay({"postgres.conninfo": (
        f"host=127.0.0.1,127.0.0.1 port={own_postgres.port},{standby.port} user=postgres dbname={stage.database} "
        "target_session_attrs=read-write")})
    yield stage, standby, relay
    standby.end()


@pytest.mark.parametrize("relay_too", ["lives", "is killed"])
def test_a_promoted_standby_with_the_slot_goes_on_where_the_primary_stopped(pair, own_postgres, relay_too):
    stage, standby, relay = pair
    stage.insert_many(50, "a{0}")
    stage.wait_all_confirmed(relay=relay)
    standby.wait_synced(stage.slot)
    stage.insert_many(50, "a{0}")
    relay.wait_until(lambda: len(stage.read()) >= 100, 20, "all is in Kafka")
    if relay_too == "is killed":
        relay.kill()
    own_postgres.stop("immediate")
    standby.promote()

    with standby.connect(stage.database) as connection:
        connection.execute("""INSERT INTO outbox SELECT gen_random_uuid(), 'order', 'a' || n, 'created', '{}'
                              FROM generate_series(1, 50) AS n""")
        rows = connection.execute("SELECT id::text FROM outbox").fetchall()
    checked = run_command("check", "-c", relay.config_file)
    assert checked.returncode == 0, checked.stdout
    if relay_too == "is killed":
        relay.start()
    relay.wait_until(lambda: len({message.id for message in stage.read()}) == 150, 40, "all rows are in Kafka")
    relay.stop()
    messages = stage.read()
    assert {message.id for message in messages} == {id for (id,) in rows}
    if relay_too == "is killed":
        assert len(messages) > 150, "the copy of the slot was behind, and yet nothing came again"
    highest, kept = {}, 0
    for message in messages:
        if message.position > highest.get(message.partition, ""):
            highest[message.partition] = message.position
            kept += 1
    assert kept == 150


def test_while_a_standby_that_counts_is_away_the_relay_waits(pair):
    """The server holds the events back and warns with the code that means a missing publication in another warning."""
    stage, standby, relay = pair
    stage.insert_many(10, "a{0}")
    relay.wait_until(lambda: len(stage.read()) == 10, 20, "the first events are in Kafka")
    standby.stop()
    stage.insert_many(10, "b{0}")
    relay.wait_log("synchronized_standby_slots")
    holds_for(lambda: relay.is_alive() and len(stage.read()) == 10, 1, "nothing is sent, and the relay lives")
    standby.start()
    wait_until(lambda: len(stage.read()) == 20, 30, "the rest comes", relay.log_tail)
    stage.wait_all_confirmed(relay=relay)
    relay.stop()


def test_while_a_standby_that_counts_is_away_slot_skip_waits_and_then_lists_all(pair, own_postgres):
    stage, standby, relay = pair
    relay.stop()
    standby.stop()
    stage.insert_many(3, "a{0}")
    (end,) = stage.sql("SELECT pg_current_wal_flush_lsn()::text")[0]
    command = [binary(), "slot", "skip", "-c", relay.config_file, "--to", end]
    with subprocess.Popen(command, env=clean_environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          text=True) as skipping:
        waiting = "SELECT 1 FROM pg_stat_activity WHERE query LIKE '%FETCH%' AND wait_event LIKE '%Standby%'"
        wait_until(lambda: own_postgres.query(waiting), 20, "it waits for the standby")
        standby.start()
        said, complained = skipping.communicate(timeout=60)
    assert "3 events in 1 transaction" in said and "to discard these events, use --force" in complained, complained
