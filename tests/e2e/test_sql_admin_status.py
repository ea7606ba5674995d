"""sql/slot_status.sql: how a slot stands, and what is to be done."""

import re

import pytest

from lib.failover import Standby
from lib.relay import config_text, run_command
from lib.sql_scripts import (
    confirmed_text, end_text, facts_of, good, lose_slot, make_lag, note_of_a_relay, other_slot, passing_role,
    reader, refused, run_script, slot_accept, slot_advance, slot_create, slot_drop, slot_failover, slot_row,
    slot_status,
)

pytestmark = pytest.mark.on("all")


@pytest.fixture
def standby(own_postgres, make_stage, folder):
    """A stage on a primary, and a standby of it that has replayed all."""
    stage = make_stage(postgres=own_postgres)
    follower = Standby(own_postgres, folder / "standby").start()
    follower.wait_caught_up()
    yield stage, follower
    follower.end()


def test_the_status_of_a_slot_that_nobody_reads(stage, version):
    before = facts_of(good(slot_status(stage)))
    make_lag(stage.postgres, 1)
    ran = good(slot_status(stage), f"warn no relay reads slot {stage.slot}: the server keeps ",
               "more without a limit, until the disk is full", "to do: start the relay; if it was removed for good")
    after = facts_of(ran)
    assert after["confirmed_flush_lsn"] == before["confirmed_flush_lsn"] == confirmed_text(stage)
    grown = int(after["lag_bytes"].split()[0]) - int(before["lag_bytes"].split()[0])
    assert grown >= 1_000_000
    assert int(after["retained_wal_bytes"].split()[0]) >= int(after["lag_bytes"].split()[0])
    assert (after["active_pid"], after["plugin"], after["database"]) == ("none", "pgoutput", stage.database)
    assert (after["state"], after["standby"]) == ("nobody", "no")
    assert after["owner"] == "none yet" and after["safe_wal_size"].startswith("unlimited")
    assert ("slot_failover.sql" if int(version) >= 17 else "PostgreSQL before 17") in ran.stdout


def test_the_status_has_all_that_walpost_status_has_in_the_same_words(stage):
    stage.create_topic()
    relay = stage.relay()
    stage.insert()
    stage.wait_all_confirmed(relay=relay)
    relay.stop()
    file = stage.folder / "status.conf"
    file.write_text(config_text(stage.config()))
    ours = dict(line.split(None, 1) for line in run_command("status", "-c", file).stdout.splitlines())
    theirs = facts_of(good(slot_status(stage)))
    changing = {"server_lsn", "lag_bytes", "retained_wal_bytes", "seconds_since_taken", "seconds_since_noted"}
    assert set(ours) <= set(theirs) and changing <= set(ours)
    assert ours["state"].startswith(theirs["state"] + ": ")
    changing.add("state")
    assert {k: v for k, v in ours.items() if k not in changing} == {
        k: v for k, v in theirs.items() if k in ours and k not in changing}


def test_the_status_of_a_slot_that_a_relay_reads(stage):
    stage.create_topic()
    relay = stage.relay()
    stage.insert()
    stage.wait_all_confirmed(relay=relay)
    stage.wait_claimed(relay)
    (pid,) = slot_row(stage, "active_pid")
    streams = "SELECT FROM pg_stat_replication WHERE state = 'streaming' AND pid = %s"  # and does not catch up
    relay.wait_until(lambda: stage.sql(streams, (pid,)), 60, "the walsender has caught up")
    ran = good(slot_status(stage), f"ok   slot {stage.slot} is read by process {pid} (streaming); ")
    facts = facts_of(ran)
    assert (facts["active_pid"], facts["walsender_state"], facts["walsender_user"]) == (
        str(pid), "streaming", "postgres")
    assert (facts["application_name"], facts["stopped"], facts["state"]) == ("walpost", "no", "streams")
    assert re.fullmatch(r"\d+ s", facts["seconds_since_taken"])
    relay.stop()
    assert facts_of(slot_status(stage))["stopped"] == "yes"


def test_the_status_for_a_role_that_may_see_little(stage):
    with passing_role(stage, f"guest_{stage.name}") as guest, reader(stage) as pid:
        ran = good(slot_status(stage, user=guest), f"is read by process {pid}; ")
        assert facts_of(ran)["walsender_state"].startswith("hidden: it belongs to another role")
        assert facts_of(ran)["owner"].startswith(
            "unknown: walpost.slot_checkpoint is missing or not readable by this role")
        stage.sql(f"GRANT pg_monitor TO {guest}")
        assert facts_of(slot_status(stage, user=guest))["walsender_state"] in ("catchup", "streaming")


def test_the_status_of_a_slot_that_is_not_there(stage):
    ran = refused(slot_status(stage, slot="O'Hare"), "there is no slot O'Hare on this server")
    assert "FAIL there is no slot O'Hare" in ran.stdout and "to do: check the name (postgres.slot)" in ran.stdout
    assert (facts_of(ran)["slot_exists"], facts_of(ran)["state"]) == ("no", "no_slot")


def test_the_status_of_slots_that_are_not_walposts(stage, make_stage):
    physical, foreign = other_slot(stage, "physical"), other_slot(stage, "test_decoding")
    refused(slot_status(stage, slot=physical), f"slot {physical} is a physical slot of a standby or a backup")
    refused(slot_status(stage, slot=foreign),
            f"slot {foreign} uses plugin test_decoding, but walpost requires pgoutput")
    elsewhere = make_stage()
    ran = refused(slot_status(stage, slot=elsewhere.slot),
                  f"slot {elsewhere.slot} belongs to database {elsewhere.database}, but the connection is to "
                  f"{stage.database}")
    assert f"to do: connect to database {elsewhere.database}" in ran.stdout
    assert facts_of(ran)["state"] == "not_walposts"
    with stage.connect() as session:
        session.execute("SELECT pg_create_logical_replication_slot(%s, 'pgoutput', true)", (stage.slot + "_passing",))
        refused(slot_status(stage, slot=stage.slot + "_passing"), "is temporary and ends with session")


def test_the_status_of_a_slot_with_two_phase(stage):
    stage.also_drops(stage.slot + "_two")
    stage.sql("SELECT pg_create_logical_replication_slot(%s, 'pgoutput', false, true)", (stage.slot + "_two",))
    refused(slot_status(stage, slot=stage.slot + "_two"), "has two_phase")


def test_the_status_without_the_publication(stage):
    stage.sql(f"DROP PUBLICATION {stage.publication}")
    ran = refused(slot_status(stage), f"there is no publication {stage.publication} in database {stage.database}")
    assert "slot_drop.sql, slot_create.sql, slot_accept.sql" in ran.stdout
    assert facts_of(ran)["state"] == "no_publication"


def test_the_status_of_a_slot_that_was_moved_behind_a_relays_back(stage):
    stage.create_topic()
    relay = stage.relay()
    stage.wait_claimed(relay)
    relay.stop()
    assert "slot_moved" not in good(slot_status(stage)).stdout
    stage.insert()
    stage.sql("SELECT pg_replication_slot_advance(%s, pg_current_wal_lsn())", (stage.slot,))
    good(slot_status(stage), "had stopped cleanly", "a relay refuses to start (slot_moved)",
         "to do: stop all relays and run walpost backfill --missing --force", "slot_accept.sql")
    relay.start()
    assert relay.wait_exit() == 3 and relay.log("slot_moved")


def test_the_status_of_a_database_that_is_older_than_what_was_relayed(stage):
    note_of_a_relay(stage, "FF/0")
    good(slot_status(stage), "before FF/0, which relay host:1 recorded", "relay.epoch = 4")


def test_how_a_slot_gets_lost_and_what_can_be_done_with_it(make_stage, own_postgres):
    """max_slot_wal_keep_size, from the limit that is shown to the slot that is gone."""
    stage = make_stage(postgres=own_postgres)
    own_postgres.set_conf(max_wal_size="32MB", max_slot_wal_keep_size="1GB")
    ran = good(slot_status(stage), "and invalidates it after ")
    assert re.fullmatch(r"\d+ bytes", facts_of(ran)["safe_wal_size"])
    make_lag(own_postgres, 96)
    good(slot_status(stage), f"of WAL for slot {stage.slot}, more than max_wal_size")
    own_postgres.set_conf(max_wal_size="1GB")  # no checkpoint comes by itself now
    own_postgres.query("CHECKPOINT")
    own_postgres.set_conf(max_slot_wal_keep_size="1MB")
    good(slot_status(stage), f"slot {stage.slot} will be lost at one of the next checkpoints")
    lose_slot(stage)

    reason = f"slot {stage.slot} is lost (wal_removed): events committed since "
    ran = refused(slot_status(stage), reason)
    assert (facts_of(ran)["invalidation"], facts_of(ran)["state"]) == ("wal_removed", "lost")
    assert "FAIL " + reason in ran.stdout
    assert "to do: run walpost backfill --missing --force" in ran.stdout
    end = end_text(stage)
    refused(slot_advance(stage, to=end, give_up="unknown"), "is lost: the server has removed WAL that it needs")
    if int(own_postgres.version) >= 17:
        refused(slot_failover(stage, failover="on"), "is lost: the server has removed WAL that it needs")
    good(slot_drop(stage),
         f"slot {stage.slot}: dropped, which was lost: its unconfirmed events may be missing in Kafka")
    own_postgres.set_conf(max_slot_wal_keep_size="-1")
    good(slot_create(stage))
    assert facts_of(good(slot_status(stage)))["wal_status"] == "reserved"


@pytest.mark.on(since=18)
def test_the_status_tells_of_a_slot_that_must_not_be_idle(make_stage, own_postgres):
    stage = make_stage(postgres=own_postgres)
    own_postgres.set_conf(idle_replication_slot_timeout="2h")
    good(slot_status(stage), "or when it is idle for 2h")


def test_a_standby_is_told_apart_and_nothing_is_changed_there(standby):
    stage, follower = standby
    there = {"server": follower}
    ran = refused(slot_status(stage, **there), "there is no slot")
    assert "warn this server is a standby" in ran.stdout and "to do: run this on the primary" in ran.stdout
    refused(slot_create(stage, **there), "the server is a standby; run this on the primary")
    refused(slot_accept(stage, **there), "the server is a standby; run this on the primary")
    refused(run_script(stage, "grants.sql", role="x", **there), "the server is a standby; run this on the primary")
    refused(run_script(stage, "grants_drop.sql", role="x", **there), "the server is a standby; run this on the primary")
    refused(slot_drop(stage, **there), f"there is no slot {stage.slot}")
