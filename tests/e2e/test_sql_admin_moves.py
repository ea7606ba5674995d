"""sql/slot_advance.sql, slot_accept.sql, slot_failover.sql: what changes a slot that is there."""

import re
import signal
import subprocess

import pytest

from lib.failover import Standby
from lib.process import wait_exit
from lib.relay import clean_environment, config_text, run_command
from lib.sql_scripts import (
    confirmed_text, end_text, facts_of, good, note_of_a_relay, other_slot, passing_role, reader, refused, run_psql,
    script_command, skip_records, slot_accept, slot_advance, slot_create, slot_drop, slot_failover, slot_row,
    slot_status,
)
from lib.stage import identifier
from lib.waiting import wait_until

pytestmark = pytest.mark.on("all")

# --- slot_advance.sql


def test_events_are_given_up_by_their_number_only_and_a_relay_goes_on(stage):
    stage.create_topic()
    relay = stage.relay()
    stage.insert()
    stage.wait_all_confirmed(relay=relay)
    relay.stop()
    given_up = [stage.insert("a"), stage.insert("b")]
    to = end_text(stage)
    later = stage.insert("a")
    before = confirmed_text(stage)

    ran = refused(slot_advance(stage, to=to), "nothing was changed; to discard these events, add -v give_up=2")
    assert f"slot {stage.slot}, from {before} to {to}:" in ran.stdout
    assert all(id in ran.stdout for id in given_up) and later not in ran.stdout
    assert "2 events in 2 transactions" in ran.stdout and "may already be in Kafka" in ran.stdout
    refused(slot_advance(stage, to=to, give_up=3),
            "nothing was changed: there are 2 events, not 3; to discard them, use -v give_up=2")
    refused(slot_advance(stage, to=to, give_up="unknown"), "there are 2 events, not unknown")
    assert confirmed_text(stage) == before and not skip_records(stage)

    good(slot_advance(stage, to=to, give_up=2), f"slot {stage.slot}: now at {to}; events discarded, and recorded in "
         "walpost.skip; start walpost again")
    assert confirmed_text(stage) == to
    assert skip_records(stage) == [(stage.slot, before, to, 2, "postgres")]
    rows = stage.sql("SELECT taken_at_lsn::text, confirmed_lsn::text, slot_transactions FROM walpost.slot_checkpoint")
    assert rows == [(to, to, None)]
    relay.start()
    stage.wait_streaming(relay)
    last = stage.insert("b")
    stage.wait_all_confirmed(relay=relay)
    seen = [message.id for message in stage.read()]
    assert later in seen and last in seen and not set(given_up) & set(seen)
    relay.stop()


def test_what_is_listed_is_what_walpost_slot_skip_lists(stage):
    for _ in range(3):
        stage.insert()
    stage.insert_many(4)
    end = end_text(stage)
    file = stage.folder / "skip.conf"
    file.write_text(config_text(stage.config()))
    theirs = run_command("slot", "skip", "-c", file, "--to", end, "--json").stdout
    ran = refused(slot_advance(stage, to=end), "give_up=7")
    assert re.findall(r"  id (\S+)  ", ran.stdout) == re.findall(r'"id":"(\S+?)"', theirs)
    assert "7 events in 4 transactions" in ran.stdout and '"events":7,"transactions":4' in theirs


def test_a_transaction_is_given_up_when_it_commits_before_the_place_and_kept_when_there(stage):
    id = stage.insert()
    ran = refused(slot_advance(stage, to=end_text(stage)), "give_up=1")
    high, low = re.search(r"commit ([0-9A-F]+)/([0-9A-F]+)  ", ran.stdout).groups()
    commit, beyond = f"{high}/{low}", f"{high}/{int(low, 16) + 1:X}"
    refused(slot_advance(stage, to=beyond), "give_up=1")
    good(slot_advance(stage, to=commit, give_up=0), "0 events in 0 transactions", f"now at {commit};")
    stage.create_topic()
    relay = stage.relay()
    stage.wait_all_confirmed(relay=relay)
    assert [message.id for message in stage.read()] == [id]
    relay.stop()


def test_a_place_where_the_slot_stands_already_is_no_failure(stage):
    stands = confirmed_text(stage)
    good(slot_advance(stage, to=stands), f"slot {stage.slot} is already at {stands}: there is nothing to discard")
    assert not skip_records(stage)


def test_a_place_or_a_number_that_is_none_is_refused(stage):
    for text in ("12", "x/y", "0/0", "0/1 ", "0/1'", "1/123456789", "0/1;"):
        refused(slot_advance(stage, to=text, give_up="unknown"),
                f"to = {text} is not an LSN such as 16/B374D848")
    for text in ("all", "-1", "1; x", "yes", "9" * 19):
        refused(slot_advance(stage, to="0/1", give_up=text), f"give_up = {text}: use a number, or unknown")


def test_a_place_below_the_slot_or_beyond_the_log_is_refused(stage):
    before = confirmed_text(stage)
    refused(slot_advance(stage, to="0/1", give_up=0), f"slot {stage.slot} is already at {before}, beyond to = 0/1",
            "cannot move backward")
    refused(slot_advance(stage, to="FFFF/0", give_up=0), "to = FFFF/0 is beyond the end of the server's WAL, ")
    assert confirmed_text(stage) == before and not skip_records(stage)


def test_a_slot_in_use_is_not_moved(stage):
    stage.insert()
    end = end_text(stage)
    with reader(stage) as pid:
        refused(slot_advance(stage, to=end, give_up=1),
                f"slot {stage.slot} is in use by process {pid}: stop its relay first")
    assert not skip_records(stage)


def test_a_slot_that_is_not_there_or_not_walposts_is_not_moved(stage, make_stage):
    end = end_text(stage)
    refused(slot_advance(stage, slot="Nothing", to=end, give_up=0), "there is no slot Nothing")
    physical, foreign = other_slot(stage, "physical"), other_slot(stage, "test_decoding")
    elsewhere = make_stage()
    refused(slot_advance(stage, slot=physical, to=end, give_up=0),
            f"slot {physical} is not walpost's, but a physical slot")
    refused(slot_advance(stage, slot=foreign, to=end, give_up=0), f"slot {foreign} is not walpost's: it uses plugin")
    refused(slot_advance(stage, slot=elsewhere.slot, to=end, give_up=0),
            f"slot {elsewhere.slot} is not walpost's: it uses plugin pgoutput and belongs to database "
            f"{elsewhere.database}")
    assert not skip_records(stage)


def test_a_log_that_cannot_be_decoded_is_given_up_unseen_only_when_told(stage):
    stage.sql(f"DROP PUBLICATION {stage.publication}")
    stage.insert()
    end, before = end_text(stage), confirmed_text(stage)
    for wrong in (None, 0, 1):
        refused(slot_advance(stage, to=end, give_up=wrong), "cannot list the events that would be discarded: "
                f"publication {stage.publication} does not exist; to discard everything before to=LSN, add "
                "-v give_up=unknown")
    assert confirmed_text(stage) == before
    good(slot_advance(stage, to=end, give_up="unknown"), "recorded in walpost.skip")
    assert skip_records(stage) == [(stage.slot, before, end, None, "postgres")]
    assert confirmed_text(stage) == end


@pytest.mark.on(below=18)
def test_a_log_that_is_older_than_the_publication_is_given_up_unseen_only_when_told(stage):
    stage.sql(f"DROP PUBLICATION {stage.publication}")
    stage.insert()
    end, before = end_text(stage), confirmed_text(stage)
    stage.publish(stage.table)
    refused(slot_advance(stage, to=end, give_up=1), "cannot list the events that would be discarded: ",
            "to discard everything before to=LSN, add -v give_up=unknown")
    good(slot_advance(stage, to=end, give_up="unknown"))
    assert skip_records(stage) == [(stage.slot, before, end, None, "postgres")]


def test_without_its_tables_the_record_is_the_output(stage):
    id = stage.insert()
    stage.sql("DROP SCHEMA walpost CASCADE")
    ran = good(slot_advance(stage, to=end_text(stage), give_up=1), "cannot update walpost.slot_checkpoint", id,
               "not recorded in walpost.skip")
    assert "and recorded" not in ran.stdout


def test_a_role_that_may_replicate_but_not_write_the_record_is_told(stage):
    stage.insert()
    with passing_role(stage, f"guest_{stage.name}", "LOGIN REPLICATION") as guest:
        good(slot_advance(stage, to=end_text(stage), give_up=1, user=guest), "not recorded in walpost.skip",
             "cannot update walpost.slot_checkpoint")
    assert not skip_records(stage)


def test_a_move_whose_record_fails_is_not_made(stage):
    stage.insert()
    stage.sql("ALTER TABLE walpost.skip ADD CHECK (slot = 'x')")
    before = confirmed_text(stage)
    refused(slot_advance(stage, to=end_text(stage), give_up=1), "violates check constraint")
    assert confirmed_text(stage) == before


def test_a_move_that_fails_leaves_no_record(stage):
    """A reader comes between: here one that a trigger of the record lets in."""
    stage.insert()
    stage.sql("CREATE FUNCTION meddle() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN "
              f"PERFORM pg_drop_replication_slot('{stage.slot}'); RETURN NEW; END $$; "
              "CREATE TRIGGER meddle BEFORE INSERT ON walpost.skip FOR EACH ROW EXECUTE FUNCTION meddle()")
    refused(slot_advance(stage, to=end_text(stage), give_up=1), "does not exist")
    assert not skip_records(stage)


# --- slot_accept.sql


def test_a_slot_made_anew_is_refused_by_a_relay_until_it_is_accepted(stage):
    stage.create_topic()
    relay = stage.relay()
    stage.insert()
    stage.wait_all_confirmed(relay=relay)
    relay.stop()
    stage.insert("lost")
    good(slot_drop(stage, force="yes"), "1 event in 1 transaction")
    good(slot_create(stage), "used a slot of that name up to ", "run slot_accept.sql")
    relay.start()
    assert relay.wait_exit() == 3 and relay.log("slot_moved")
    good(slot_accept(stage), f"slot {stage.slot}: accepted at {confirmed_text(stage)}; relay ", " had confirmed ",
         "bytes earlier")
    rows = stage.sql("SELECT owner, stopped, slot_transactions FROM walpost.slot_checkpoint")
    assert rows == [("slot_accept.sql", True, None)]
    relay.start()
    stage.wait_streaming(relay)
    last = stage.insert()
    stage.wait_all_confirmed(relay=relay)
    assert stage.read()[-1].id == last
    relay.stop()


def test_what_no_relay_has_had_needs_no_acceptance(stage):
    good(slot_accept(stage), f"slot {stage.slot}: no relay has used it yet, so there is nothing to accept")


def test_what_cannot_be_accepted_is_refused(stage, make_stage):
    elsewhere = make_stage()
    refused(slot_accept(stage, slot="nothing"), "there is no slot nothing")
    refused(slot_accept(stage, slot=other_slot(stage, "physical")), "but a physical slot")
    refused(slot_accept(stage, slot=elsewhere.slot),
            f"it uses plugin pgoutput and belongs to database {elsewhere.database}")
    with reader(stage) as pid:
        refused(slot_accept(stage), f"is in use by process {pid}: there is nothing to accept")
    note_of_a_relay(stage, "0/20")
    refused(slot_accept(stage), "this database is another one, or an older state", "set relay.epoch = 4 instead")
    with passing_role(stage, f"guest_{stage.name}") as guest:
        refused(slot_accept(stage, user=guest), f"role {guest} may not read and write walpost.slot_checkpoint")
    stage.sql("ALTER TABLE walpost.slot_checkpoint DROP COLUMN trouble")
    refused(slot_accept(stage), "walpost.slot_checkpoint is missing or lacks columns")
    stage.sql("DROP TABLE walpost.slot_checkpoint")
    refused(slot_accept(stage), "walpost.slot_checkpoint is missing or lacks columns")


# --- slot_failover.sql


@pytest.mark.on(below=17)
def test_before_17_there_is_no_flag_and_that_is_said(stage):
    for wanted in ("on", "off"):
        refused(slot_failover(stage, failover=wanted), f"PostgreSQL {stage.postgres.version}", "has no failover flag",
                "slot_create.sql")


@pytest.mark.on(since=17)
def test_the_flag_is_set_and_taken(stage):
    assert slot_row(stage, "failover") == (False,)
    good(slot_failover(stage, failover="off"), f"slot {stage.slot}: failover was off already")
    good(slot_failover(stage, failover="on"), f"slot {stage.slot}: failover is on now")
    assert slot_row(stage, "failover") == (True,)
    good(slot_failover(stage, failover="on"), f"slot {stage.slot}: failover was on already")
    good(slot_failover(stage, failover="off"), f"slot {stage.slot}: failover is off now")
    assert slot_row(stage, "failover") == (False,)
    refused(slot_failover(stage, failover="maybe"), "failover = maybe: use on or off")


@pytest.mark.on(since=17)
def test_the_flag_of_a_slot_in_use_is_left_and_a_relay_goes_on_when_it_is_set(stage):
    stage.create_topic()
    relay = stage.relay()
    (pid,) = slot_row(stage, "active_pid")
    refused(slot_failover(stage, failover="on"), f"slot {stage.slot} is in use by process {pid}: stop its relay first")
    good(slot_failover(stage, failover="off"), "failover was off already")
    relay.stop()
    good(slot_failover(stage, failover="on"))
    relay.start()
    stage.wait_streaming(relay)
    id = stage.insert()
    stage.wait_all_confirmed(relay=relay)
    assert [message.id for message in stage.read()] == [id]
    relay.stop()


@pytest.mark.on(since=17)
def test_the_flag_of_what_is_not_walposts_is_left(stage, make_stage):
    elsewhere = make_stage()
    refused(slot_failover(stage, slot="Noth'ing", failover="on"), "there is no slot Noth'ing")
    refused(slot_failover(stage, slot=other_slot(stage, "physical"), failover="on"), "but a physical slot")
    refused(slot_failover(stage, slot=other_slot(stage, "test_decoding"), failover="on"),
            "it uses plugin test_decoding")
    refused(slot_failover(stage, slot=elsewhere.slot, failover="on"),
            f"it uses plugin pgoutput and belongs to database {elsewhere.database}")
    assert slot_row(stage, "failover", elsewhere.slot) == (False,)


@pytest.mark.on(since=17)
def test_the_flag_wants_a_role_that_may_replicate_and_no_more(stage):
    with passing_role(stage, f"guest_{stage.name}") as guest:
        refused(slot_failover(stage, failover="on", user=guest), "permission denied to start WAL sender")
        assert slot_row(stage, "failover") == (False,)
        stage.sql(f"ALTER ROLE {guest} REPLICATION")
        good(slot_failover(stage, failover="on", user=guest), "failover is on now")


@pytest.mark.on(since=17)
def test_the_flag_is_set_in_a_database_of_any_name_with_a_password(make_stage, own_postgres):
    """The second connection takes all from the first: name, password, settings."""
    stage = make_stage(postgres=own_postgres)
    stage.sql("CREATE ROLE guarded LOGIN REPLICATION PASSWORD 'it''s \"x\"'")
    hba = own_postgres.data / "pg_hba.conf"
    hba.write_text("host all guarded 127.0.0.1/32 scram-sha-256\n" + hba.read_text())
    name = 'Sh"o\'p é =x\\'
    own_postgres.query(f"ALTER DATABASE {stage.database} RENAME TO {identifier(name)}")
    stage.database = name
    own_postgres.restart()
    command = script_command(stage, "slot_failover.sql", user="guarded", slot=stage.slot, failover="on")
    good(run_psql(command, {"PGPASSWORD": "it's \"x\""}), "failover is on now")
    command[command.index("-d") + 1] = own_postgres.conninfo(name, user="guarded", password="it's \"x\"")
    command[command.index("failover=on")] = "failover=off"
    good(run_psql(command), "failover is off now")
    stage.database = stage.name
    own_postgres.query(f"ALTER DATABASE {identifier(name)} RENAME TO {stage.name}")


@pytest.fixture
def follower(own_postgres, folder):
    """A standby that is to copy failover slots, with the settings that sql/README.md names; not started.

    Copying itself is off: a standby that begins before it has replayed the slot's place is in step at once.
    """
    own_postgres.query("SELECT pg_create_physical_replication_slot('follower', true)")
    standby = Standby(own_postgres, folder / "standby")
    with open(standby.data / "postgresql.conf", "a") as conf:
        conf.write("hot_standby_feedback = on\nprimary_slot_name = 'follower'\n"
                   f"primary_conninfo = 'host=127.0.0.1 port={own_postgres.port} user=postgres dbname=postgres'\n")
    yield standby
    standby.end()


def _read_ids(stage):
    return [message.id for message in stage.read()]


@pytest.mark.on(since=17)
def test_a_relay_goes_on_from_the_copy_of_a_slot_that_was_given_the_flag(make_stage, own_postgres, follower):
    stage = make_stage(postgres=own_postgres)
    stage.create_topic()
    good(slot_failover(stage, failover="on"))
    events = [stage.insert()]
    follower.start()
    follower.wait_caught_up()
    follower.set_conf(sync_replication_slots="on")
    wait_until(lambda: slot_row(stage, "synced AND temporary", server=follower) == (True,), 60, "a copy is begun")
    good(slot_status(stage, server=follower), "warn this is the copy of a failover slot, not yet synchronized with ")
    relay = stage.relay()

    def in_step():
        own_postgres.query("SELECT pg_log_standby_snapshot()")
        return slot_row(stage, "synced AND NOT temporary", server=follower) == (True,)

    wait_until(in_step, 60, "the copy is in step", follower.log_tail)
    ran = good(slot_status(stage, server=follower), "ok   this is the copy of a failover slot, synchronized")
    assert (facts_of(ran)["synced"], facts_of(ran)["state"]) == ("true", "standby")
    refused(slot_drop(stage, server=follower), "is the copy of a failover slot: drop the slot on the primary")
    refused(slot_advance(stage, server=follower, to=end_text(stage), give_up=0), "run this on the primary")
    refused(slot_failover(stage, server=follower, failover="off"), "run this on the primary")
    relay.stop()
    follower.wait_caught_up()
    own_postgres.stop("immediate")
    follower.promote()
    relay = stage.new_relay({"postgres.conninfo": follower.conninfo(stage.database)}).start()
    with follower.connect(stage.database) as connection:
        events.append(stage.insert(connection=connection))
    relay.wait_until(lambda: set(events) <= set(_read_ids(stage)), 60, "it relays from there")
    relay.stop()


@pytest.mark.on(since=17)
def test_a_script_that_waits_for_such_a_standby_changes_nothing_when_interrupted(make_stage, own_postgres, follower):
    stage = make_stage(postgres=own_postgres)
    stage.insert()
    good(slot_failover(stage, failover="on"))
    own_postgres.set_conf(synchronized_standby_slots="follower")
    waiting = "SELECT pid FROM pg_stat_activity WHERE query LIKE '%peek_binary%' AND wait_event LIKE '%Standby%'"
    for more in ({"force": "yes"}, {}):
        command = script_command(stage, "slot_drop.sql", slot=stage.slot, publication=stage.publication, **more)
        with subprocess.Popen(command, env=clean_environment(), stderr=subprocess.PIPE, text=True) as dropping:
            wait_until(lambda: own_postgres.query(waiting), 20, "it waits for the standby")
            dropping.send_signal(signal.SIGINT)
            assert "canceling statement due to user request" in dropping.stderr.read()
            assert wait_exit(dropping, 10, "psql") == 3
    assert slot_row(stage, "1")
