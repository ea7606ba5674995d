"""A slot made anew or moved while no relay ran is noticed at the next start; what is normal is not."""

import os
import re
import shutil
import signal
import subprocess

import pytest

from lib import places, process
from lib.checker import check_all
from lib.postgres import Postgres
from lib.relay import clean_environment, config_text, run_command
from lib.waiting import wait_until

pytestmark = pytest.mark.on(18, 17, 14)


def _start_anew(stage):
    """As after a mistake: the slot is dropped and made again, with rows between."""
    stage.insert("lost")
    stage.sql("SELECT pg_drop_replication_slot(%s)", (stage.slot,))
    stage.insert("lost")
    stage.create_slot(with_truth=False)


def _wait_statistics_are_new(stage):
    """PostgreSQL 14 shows them up to half a second late."""
    wait_until(lambda: stage.sql("SELECT total_txns FROM pg_stat_replication_slots WHERE slot_name = %s",
                                 (stage.slot,)) == [(0,)], 10, "the slot's statistics begin anew")


def _advance(stage):
    stage.insert("lost")
    stage.sql("SELECT pg_replication_slot_advance(%s, pg_current_wal_lsn())", (stage.slot,))


def _refusal(relay):
    """Starts it; the one error by which it refuses."""
    seen = len(relay.log())
    relay.start()
    assert relay.wait_exit() == 3, relay.log_tail()
    (error,) = [line for line in relay.log()[seen:] if line["level"] == "error"]
    assert error["event"] == "slot_moved"
    return error["reason"]


def test_that_the_slot_is_gone_is_written_down_once(stage):
    stage.create_topic()
    stage.insert("1")
    relay = stage.relay()
    stage.wait_all_confirmed(relay=relay)
    relay.stop()
    stage.sql("SELECT pg_drop_replication_slot(%s)", (stage.slot,))
    seen = len(relay.log())
    relay.start()
    assert relay.wait_exit() == 3, relay.log_tail()
    complaints = [line["event"] for line in relay.log()[seen:] if line["level"] in ("warn", "error")]
    assert set(complaints) - {"kafka_log", "sink_unreachable", "stopped"} == {"stream_refused"}, relay.log_tail()
    assert complaints.count("stream_refused") == 1
    ((trouble,),) = stage.sql("SELECT trouble FROM walpost.slot_checkpoint WHERE slot = %s", (stage.slot,))
    assert f"there is no slot {stage.slot}" in trouble


def _check(stage):
    file = stage.folder / "check.conf"
    file.write_text(config_text(stage.config()))
    return run_command("check", "-c", file)


def _accept(stage, *more):
    file = stage.folder / "accept.conf"
    file.write_text(config_text(stage.config()))
    return run_command("slot", "accept", *more, "-c", file)


def _noted(stage, columns="*"):
    rows = stage.sql(f"SELECT {columns} FROM walpost.slot_checkpoint WHERE slot = %s", (stage.slot,))
    return rows[0] if rows else None


def _relay_that_worked(stage):
    stage.create_topic()
    relay = stage.relay()
    stage.insert("a")
    stage.wait_all_confirmed(relay=relay)
    return relay


def _goes_on(stage, relay):
    relay.start()
    stage.wait_streaming(relay)
    stage.insert("a")
    stage.wait_all_confirmed(30, relay)
    assert not relay.log("slot_moved")


# --- refused


@pytest.mark.parametrize("move", [_start_anew, _advance])
def test_a_slot_moved_after_a_good_stop_is_refused_until_it_is_accepted(stage, move):
    relay = _relay_that_worked(stage)
    relay.stop()
    confirmed, stopped = _noted(stage, "confirmed_lsn, stopped")
    assert stopped
    move(stage)
    for _ in range(2):  # and again: a supervisor's restart changes nothing
        why = _refusal(relay)
        assert stage.slot in why and confirmed in why and " UTC" in why and "bytes of WAL" in why
        assert "walpost slot accept" in why and "walpost backfill --missing --force" in why
    checked = _check(stage)
    assert checked.returncode == 1 and "walpost slot accept" in checked.stdout
    done = _accept(stage)
    assert done.returncode == 0 and "accepted" in done.stdout, done.stderr
    assert _noted(stage, "slot_transactions") == (None,)  # PostgreSQL 14 may still show those of the old slot
    relay.start()
    stage.wait_streaming(relay)
    last = stage.insert("a")
    stage.wait_all_confirmed(relay=relay)
    assert last in [m.id for m in stage.read()]
    relay.stop()


def test_a_slot_made_anew_after_a_halt_is_refused(stage):
    stage.sql("ALTER TABLE outbox ALTER COLUMN aggregateid DROP NOT NULL")
    relay = _relay_that_worked(stage)
    stage.insert(None)
    assert relay.wait_exit(30) == 3
    stage.wait_released()
    _start_anew(stage)
    assert "stopped cleanly" in _refusal(relay)


def test_a_slot_advanced_after_the_server_ended_the_stream_is_refused(stage):
    """A relay whose stream ended with an error has a last word all the same, each time."""
    relay = _relay_that_worked(stage)
    confirmed = stage.confirmed()
    stage.sql(f"DROP PUBLICATION {stage.publication}")
    stage.insert("lost")
    assert relay.wait_exit(30) == 3
    assert _noted(stage, "stopped") == (True,)
    stage.publish("outbox")
    relay.start()  # at this place of the log the publication is still missing
    assert relay.wait_exit(30) == 3
    stopped, told = _noted(stage, "stopped, confirmed_lsn - '0/0'::pg_lsn")
    assert stopped and told >= confirmed
    stage.wait_released()
    _advance(stage)
    assert "stopped cleanly" in _refusal(relay)


def test_a_slot_moved_after_a_stop_without_a_stream_is_refused(make_stage, own_postgres):
    stage = make_stage(postgres=own_postgres)
    relay = _relay_that_worked(stage)
    own_postgres.stop()
    relay.wait_log("event=stream_broken", 60, count=5)  # by now it waits for seconds
    process.pause(relay.pid)  # or it may be just taking the slot
    own_postgres.start()
    relay.signal(signal.SIGTERM)
    process.resume(relay.pid)
    assert relay.wait_exit() == 0
    assert _noted(stage, "stopped") == (True,)
    _advance(stage)
    assert "stopped cleanly" in _refusal(relay)


def test_a_last_word_that_the_server_cannot_take_is_said_to_be_missing(make_stage, own_postgres):
    stage = make_stage(postgres=own_postgres)
    relay = _relay_that_worked(stage)
    own_postgres.stop()
    relay.wait_log("event=stream_broken")
    relay.stop(10)
    assert relay.log("checkpoint_not_written")
    own_postgres.start()
    assert _noted(stage, "stopped") == (False,)
    _goes_on(stage, relay)
    relay.stop()


def test_a_slot_made_anew_after_a_kill_is_refused_by_what_it_has_decoded(stage):
    relay = _relay_that_worked(stage)
    relay.wait_until(lambda: _noted(stage, "slot_transactions")[0] or 0, 90, "it has written down how far it is")
    relay.kill()
    stage.wait_released()
    _start_anew(stage)
    _wait_statistics_are_new(stage)
    checked = _check(stage)
    assert checked.returncode == 1 and "slot_moved" in checked.stdout and "fewer" in checked.stdout
    assert "fewer transactions" in _refusal(relay)
    assert _accept(stage).returncode == 0
    relay.start()
    stage.wait_streaming(relay)
    relay.stop()


def test_an_accepted_slot_in_use_or_missing_is_refused_in_words(stage):
    relay = _relay_that_worked(stage)
    done = _accept(stage)
    assert done.returncode == 1 and "in use by process" in done.stderr
    relay.stop()
    done = _accept(stage, "nothing")
    assert done.returncode == 1 and "there is no slot nothing" in done.stderr
    stage.sql("DELETE FROM walpost.slot_checkpoint")
    done = _accept(stage)
    assert done.returncode == 0 and "nothing to accept" in done.stdout
    stage.sql("DROP TABLE walpost.slot_checkpoint")
    done = _accept(stage)
    assert done.returncode == 1 and "walpost check" in done.stderr


def test_it_is_accepted_also_when_commits_wait_for_the_relay_that_is_not_there(make_stage, own_postgres):
    stage = make_stage(postgres=own_postgres)
    relay = _relay_that_worked(stage)
    relay.stop()
    _advance(stage)
    own_postgres.set_conf(synchronous_standby_names="walpost")
    done = _accept(stage)
    assert done.returncode == 0, done.stderr
    own_postgres.set_conf(synchronous_standby_names="")


# --- not refused


@pytest.mark.on(18)
@pytest.mark.parametrize("way", ["by itself", "as SQL for psql"])
def test_a_slot_that_was_dropped_and_made_anew_by_init_is_known_to_be_new(stage, way):
    relay = _relay_that_worked(stage)
    relay.stop()
    confirmed, owner = _noted(stage, "confirmed_lsn, owner")
    dropped = run_command("slot", "drop", "-c", relay.config_file)
    assert dropped.returncode == 0, dropped.stderr
    stage.insert("lost")
    if way == "by itself":
        made = run_command("init", "-c", relay.config_file)
        assert made.returncode == 0, made.stderr
        assert confirmed in made.stdout and owner in made.stdout
    else:
        script = run_command("init", "-c", relay.config_file, "--print-sql").stdout
        for _ in range(2):  # a slot that is there is not taken for new
            ran = process.run(["psql", "-X", "-q", "-v", "ON_ERROR_STOP=1", "-d",
                               stage.postgres.conninfo(stage.database)], input=script, env=clean_environment())
            assert ran.returncode == 0, ran.stderr
    assert _noted(stage, "owner, stopped") == ("walpost init", True)
    _goes_on(stage, relay)
    relay.stop()
    _advance(stage)  # only what init did itself
    assert run_command("init", "-c", relay.config_file).returncode in (0, 1)
    assert "stopped cleanly" in _refusal(relay)


def test_what_another_relay_writes_while_the_server_is_asked_accuses_nobody(make_stage, own_postgres):
    """The new one of a rolling update has asked for the end of the log; then the old one confirms more, and stops."""
    stage = make_stage(postgres=own_postgres)
    old = _relay_that_worked(stage)
    new = stage.new_relay({"postgres.conninfo": stage.postgres.conninfo(stage.database, application_name="new")})
    with stage.connect() as session:
        session.execute("BEGIN; LOCK TABLE pg_catalog.pg_publication IN ACCESS EXCLUSIVE MODE")
        new.start()
        stage.wait_until(lambda: stage.postgres.query(
            "SELECT 1 FROM pg_stat_activity a JOIN pg_locks l USING (pid) WHERE NOT l.granted AND application_name = "
            "'new'"), 20, "the new one waits for its answer")
        stage.insert("a")
        stage.wait_all_confirmed(20, old)
        old.stop()
        session.execute("ROLLBACK")
    stage.wait_streaming(new, 30)
    stage.insert("a")
    stage.wait_all_confirmed(30, new)
    check_all(stage.read(), stage.truth.events())


def test_a_row_that_could_not_be_written_for_a_while_accuses_nobody(stage):
    relay = _relay_that_worked(stage)
    relay.stop()
    with stage.transaction() as session:  # as a forgotten psql would
        session.execute("SELECT * FROM walpost.slot_checkpoint FOR UPDATE")
        relay.start()
        stage.wait_streaming(relay)
        stage.insert("a")
        stage.wait_all_confirmed(30, relay)
        assert relay.log("checkpoint_not_written")
    relay.wait_until(lambda: _noted(stage, "owner, stopped") == (relay.log("started")[-1]["owner"], False), 30,
                     "the row is written after all")
    relay.kill()
    stage.wait_released()
    _goes_on(stage, relay)
    relay.stop()


def test_a_row_that_could_only_be_written_at_the_end_accuses_nobody(stage):
    relay = _relay_that_worked(stage)
    relay.stop()
    with stage.transaction() as session:
        session.execute("SELECT * FROM walpost.slot_checkpoint FOR UPDATE")
        relay.start()
        stage.wait_streaming(relay)
        stage.insert("a")
        stage.wait_all_confirmed(30, relay)
    relay.stop()
    _goes_on(stage, relay)
    relay.stop()


def test_the_end_of_one_relay_is_not_written_over_the_beginning_of_the_next(stage):
    """The slot is free before a relay that stops has said so in the slot checkpoint row."""
    stage.create_topic()
    relay = stage.relay()
    stage.wait_claimed(relay)
    next_one = _noted(stage, "owner")[0]
    relay.stop()
    relay.start()
    stage.wait_streaming(relay)
    before = stage.wal_end()
    stage.insert("a")
    stage.wait_all_confirmed(relay=relay)
    # Once it has written that down, it does so again in a minute.
    relay.wait_until(
        lambda: (_noted(stage, "confirmed_lsn - '0/0'::pg_lsn")[0] or 0) > before, 90, "it is written")
    stage.sql("UPDATE walpost.slot_checkpoint SET owner = %s, stopped = false WHERE slot = %s", (next_one, stage.slot))
    begun = _noted(stage)
    relay.stop()
    assert _noted(stage) == begun


def test_an_epoch_lower_than_that_of_events_that_were_sent_is_refused(stage):
    stage.create_topic()
    relay = stage.relay({"relay.epoch": "2"})
    stage.insert("a")
    stage.wait_all_confirmed(relay=relay)
    relay.stop()
    older = stage.new_relay({"relay.epoch": "1"}).start()
    assert older.wait_exit() == 3
    (error,) = [line for line in older.log() if line["level"] == "error"]
    assert error["event"] == "epoch_lowered" and "relay.epoch = 2" in error["reason"]
    checked = run_command("check", "-c", older.config_file)
    assert checked.returncode == 1 and "-- set relay.epoch = 2" in checked.stdout
    assert _noted(stage, "epoch") == (2,)
    relay.start()
    stage.insert("a")
    stage.wait_all_confirmed(30, relay)
    relay.stop()
    check_all(stage.read(), stage.truth.events())


def test_who_has_the_slot_is_in_the_row_though_another_wrote_it_last(stage):
    """As when two find the slot free at once: both write the row, one gets the slot."""
    stage.create_topic()
    stage.sql("CREATE FUNCTION walpost.race() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN "
              "IF NOT (SELECT active FROM pg_replication_slots WHERE slot_name = NEW.slot) THEN "
              "NEW.owner = 'another'; END IF; RETURN NEW; END $$; "
              "CREATE TRIGGER race BEFORE INSERT OR UPDATE ON walpost.slot_checkpoint "
              "FOR EACH ROW EXECUTE FUNCTION walpost.race()")
    relay = stage.relay()
    assert _noted(stage, "owner") is not None
    owner = relay.log("started")[0]["owner"]
    relay.wait_until(lambda: _noted(stage, "owner") == (owner,), 20, "it writes the row once it has the slot")
    stage.sql("DROP TRIGGER race ON walpost.slot_checkpoint")
    relay.stop()


def test_a_clean_restart_and_a_kill_are_no_gap(stage):
    relay = _relay_that_worked(stage)
    relay.stop()
    _goes_on(stage, relay)
    relay.wait_until(lambda: _noted(stage, "slot_transactions")[0] or 0, 90, "it has written down how far it is")
    for _ in range(3):
        stage.insert("a")
    stage.wait_all_confirmed(relay=relay)
    relay.kill()
    stage.wait_released()
    _goes_on(stage, relay)
    assert relay.log("slot_beyond_checkpoint")
    relay.stop()
    check_all(stage.read(), stage.truth.events())


def test_a_standby_that_takes_over_is_not_refused(stage):
    first = _relay_that_worked(stage)
    second = stage.new_relay().start()
    second.wait_until(lambda: "standby" in second.log_text(), 20, "the second stands by")
    first.stop()
    stage.wait_streaming(second)
    stage.insert("a")
    stage.wait_all_confirmed(relay=second)
    first.start()
    first.wait_until(lambda: first.log_text().count("standby") > 0, 20, "the first stands by")
    second.kill()
    stage.wait_until(lambda: stage.is_streaming() and _noted(stage, "owner")[0].split(":")[1] == str(first.pid),
                     30, "the first has it again")
    stage.insert("a")
    stage.wait_all_confirmed(relay=first)
    first.stop()
    assert not first.log("slot_moved") and not second.log("slot_moved")
    check_all(stage.read(), stage.truth.events())


@pytest.mark.parametrize("how", ["stopped", "killed"])
@pytest.mark.parametrize("crash", ["the server", "a backend"])
def test_a_crash_of_the_server_is_no_gap(make_stage, own_postgres, how, crash):
    stage = make_stage(postgres=own_postgres)
    relay = _relay_that_worked(stage)
    relay.wait_until(lambda: _noted(stage, "slot_transactions")[0] or 0, 90, "it has written down how far it is")
    if how == "stopped":
        relay.stop()
    else:
        relay.kill()
        stage.wait_released()
    if crash == "the server":
        own_postgres.restart("immediate")
    else:  # the same postmaster goes through recovery: statistics are gone, its start time is not
        mark = own_postgres.log_size()
        victim = own_postgres.connect()
        os.kill(victim.info.backend_pid, signal.SIGKILL)
        victim.close()
        wait_until(lambda: "ready to accept connections" in own_postgres.log_since(mark), 30, "it has recovered")
    _goes_on(stage, relay)
    relay.stop()
    check_all(stage.read(), stage.truth.events())


def test_statistics_that_were_reset_are_no_gap(stage):
    relay = _relay_that_worked(stage)
    relay.wait_until(lambda: _noted(stage, "slot_transactions")[0] or 0, 90, "it has written down how far it is")
    relay.kill()
    stage.wait_released()
    stage.sql("SELECT pg_stat_reset_replication_slot(%s)", (stage.slot,))
    _wait_statistics_are_new(stage)
    _goes_on(stage, relay)
    relay.stop()


# --- the slot checkpoint itself


def test_a_slot_checkpoint_that_lacks_columns_is_warned_of_and_made_anew(stage):
    stage.sql("ALTER TABLE walpost.slot_checkpoint DROP COLUMN topics")
    relay = _relay_that_worked(stage)
    (warning,) = [line for line in relay.log("preflight") if line["name"] == "checkpoint"]
    assert "lacks columns" in warning["what"] and "DROP TABLE walpost.slot_checkpoint;" in warning["cure"]
    relay.stop()
    stage.sql(warning["cure"])
    _goes_on(stage, relay)
    relay.stop()
    assert _noted(stage, "stopped") == (True,)


@pytest.mark.parametrize("what", ["row", "table"])
def test_a_locked_slot_checkpoint_holds_up_neither_start_nor_stop(stage, what):
    relay = _relay_that_worked(stage)
    relay.stop()
    with stage.transaction() as connection:
        connection.execute("UPDATE walpost.slot_checkpoint SET epoch = epoch" if what == "row"
                           else "LOCK TABLE walpost.slot_checkpoint IN ACCESS EXCLUSIVE MODE")
        relay.start()
        stage.wait_streaming(relay)
        assert relay.log("checkpoint_not_written")[0]["reason"] or relay.log("checkpoint_unreadable")
        if what == "table":
            stage.sql("SELECT pg_terminate_backend(%s)", (stage.slot_row()[2],))
            relay.wait_until(lambda: relay.log("stream_broken"), 20, "the stream is broken")
            stage.wait_streaming(relay)
            (once,) = relay.log("checkpoint_unreadable")
            assert "lock" in once["reason"]
        last = stage.insert("a")
        stage.wait_all_confirmed(relay=relay)
        relay.stop(10)
    assert last in [m.id for m in stage.read()]


# --- copies of the server


def _copy_without_slots(stage, folder):
    """A copy as a base backup is one: all data, the slot checkpoint among them, and no slot."""
    server = stage.postgres
    clone = Postgres(server.version, folder / "clone")
    shutil.rmtree(clone.data)
    server.stop()
    subprocess.run(["cp", "-a", server.data, clone.data], check=True)
    server.start()
    for slot in (clone.data / "pg_replslot").iterdir():
        shutil.rmtree(slot)
    return clone


@pytest.mark.timeout(180)
@pytest.mark.parametrize("how", ["stopped", "killed"])
def test_a_restored_copy_with_a_slot_of_the_same_name_is_refused(make_stage, own_postgres, folder, how):
    stage = make_stage(postgres=own_postgres)
    relay = _relay_that_worked(stage)
    if how == "stopped":
        relay.stop()
    else:
        relay.kill()
        stage.wait_released()
    clone = _copy_without_slots(stage, folder)
    (clone.data / "standby.signal").touch()
    clone.hand_over(clone.data / "standby.signal")
    clone.start()
    clone.query("SELECT pg_promote()")
    wait_until(lambda: not clone.query("SELECT pg_is_in_recovery()")[0][0], 30, "the copy is promoted")
    clone.query("SELECT pg_create_logical_replication_slot(%s, 'pgoutput')", (stage.slot,), stage.database)
    copied = stage.new_relay({"postgres.conninfo": clone.conninfo(stage.database)})
    why = _refusal(copied)
    assert "promoted or restored" in why or "stopped cleanly" in why
    clone.end()


def test_what_the_documentation_says_to_compare_the_table_with_the_topics_finds_what_is_missing(stage):
    page = (places.TREE / "deploy/docs/pages/operations/resend.md").read_text()
    (commands,) = [block for block in re.findall(r"^```\w*\n(.*?)^```$", page, re.S | re.M) if "comm -23" in block]
    stage.create_topic(partitions=3)
    relay = stage.relay()
    for n in range(20):
        stage.insert(str(n))
    stage.wait_all_confirmed(20, relay)
    relay.stop()
    stage.insert("missing")
    commands = commands.replace("kafka:9092", stage.kafka.address).replace("outbox.event.order", stage.topic())
    database = {"PGHOST": "127.0.0.1", "PGPORT": str(stage.postgres.port), "PGUSER": "postgres",
                "PGDATABASE": stage.database}
    done = process.run(["bash", "-ec", commands], cwd=stage.folder, env={**os.environ, **database})
    ((missing,),) = stage.sql("SELECT id::text FROM outbox WHERE aggregateid = 'missing'")
    assert (done.stderr, done.stdout.split()) == ("", [missing])
