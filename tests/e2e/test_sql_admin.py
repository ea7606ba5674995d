"""The scripts of sql/, as a DBA runs them: what they have in common, slots made and dropped."""

import re
import shutil
import subprocess
import threading

import pytest

from lib import process
from lib.process import wait_exit
from lib.relay import clean_environment
from lib.sql_scripts import (
    SCRIPTS, confirmed_text, end_text, forget_slot, good, other_slot, passing_role, reader, refused, run_psql,
    run_script, script_command, skip_records, slot_advance, slot_create, slot_drop,
    slot_row, slot_status,
)
from lib.waiting import wait_until

pytestmark = pytest.mark.on("all")

# --- what they have in common

_NEEDED = {
    "slot_status.sql": {"slot": "s", "publication": "p"},
    "slot_create.sql": {"slot": "s", "publication": "p"},
    "slot_drop.sql": {"slot": "s", "publication": "p"},
    "slot_advance.sql": {"slot": "s", "publication": "p", "to": "0/1"},
    "slot_accept.sql": {"slot": "s"},
    "slot_failover.sql": {"slot": "s", "failover": "on"},
    "grants.sql": {"role": "r"},
    "grants_drop.sql": {"role": "r"},
}


def test_a_variable_that_is_missing_or_empty_is_named(stage):
    for script, needed in _NEEDED.items():
        for name in needed:
            for value in (None, ""):
                ran = refused(run_script(stage, script, **{**needed, name: value}),
                              f"the variable {name} is missing: add -v {name}=")
                assert len(ran.stderr.strip().splitlines()) == 1 and not ran.stdout


def test_each_script_is_in_the_table_of_who_runs_what():
    text = (SCRIPTS / "README.md").read_text()
    assert not [path.name for path in SCRIPTS.glob("*.sql") if f"[{path.name}]({path.name})" not in text]


def test_an_unreachable_server_is_psqls_exit_code(stage):
    ran = run_psql(["psql", "-X", "-d", "host=127.0.0.1 port=1", "-f", SCRIPTS / "slot_status.sql"])
    assert ran.returncode == 2


def test_a_script_may_come_by_standard_input(stage):
    for script in ("slot_status.sql", "slot_drop.sql"):
        command = script_command(stage, script, slot=stage.slot, publication=stage.publication)[:-2]
        with open(SCRIPTS / script) as text:
            good(run_psql(command, stdin=text, cwd=SCRIPTS), f"slot {stage.slot}")
    with open(SCRIPTS / "slot_drop.sql") as text:
        refused(run_psql(command, stdin=text, cwd=SCRIPTS), f"there is no slot {stage.slot}")


def test_neither_functions_nor_settings_of_the_database_mislead_them(stage):
    stage.sql("CREATE SCHEMA evil; "
              "CREATE FUNCTION evil.format(text, text) RETURNS text LANGUAGE sql AS $$SELECT 'x'$$; "
              "CREATE VIEW evil.pg_replication_slots AS SELECT 'nothing'::text AS slot_name")
    stage.sql(f"ALTER DATABASE {stage.database} SET search_path = evil, pg_catalog; "
              f"ALTER DATABASE {stage.database} SET default_transaction_read_only = on")
    hostile = ("-v", "AUTOCOMMIT=off", "-v", "ON_ERROR_ROLLBACK=on", "-v", "VERBOSITY=verbose")
    with stage.connect() as connection:
        connection.execute("SET default_transaction_read_only = off")
        stage.insert(connection=connection)
    end = end_text(stage)
    stage.postgres.query(f"ALTER DATABASE {stage.database} SET statement_timeout = '1s'")
    good(slot_status(stage, options=hostile), f"no relay reads slot {stage.slot}")
    refused(slot_advance(stage, to=end, options=hostile), "give_up=1")
    good(slot_advance(stage, to=end, give_up=1, options=hostile), "recorded in walpost.skip")
    assert [record[3] for record in skip_records(stage)] == [1]


# --- slot_create.sql


def test_a_slot_is_made_once_with_the_flag_where_the_server_can(stage, version):
    forget_slot(stage)
    good(slot_create(stage), f"slot {stage.slot}: created at ")
    plugin, kind, temporary, two_phase, failover = slot_row(
        stage, "plugin, slot_type, temporary, two_phase, to_jsonb(s)->>'failover'")
    assert (plugin, kind, temporary, two_phase) == ("pgoutput", "logical", False, False)
    assert failover == ("true" if int(version) >= 17 else None)
    refused(slot_create(stage), f"slot {stage.slot} already exists, with plugin pgoutput, in database {stage.database}")


def test_a_slot_that_was_made_serves_a_relay(stage):
    forget_slot(stage)
    good(slot_create(stage))
    stage.create_topic()
    relay = stage.relay()
    id = stage.insert()
    stage.wait_all_confirmed(relay=relay)
    assert [message.id for message in stage.read()] == [id]
    relay.stop()


@pytest.mark.on(since=17)
def test_a_slot_may_be_made_without_the_flag(stage):
    forget_slot(stage)
    good(slot_create(stage, failover="off"))
    assert slot_row(stage, "failover") == (False,)


@pytest.mark.on(below=17)
def test_a_flag_that_the_server_does_not_have_is_refused(stage):
    refused(slot_create(stage, slot="other", failover="on"), "failover = on: PostgreSQL 1", "leave it out")
    assert slot_row(stage, "1", "other") is None


def test_a_flag_that_is_neither_on_nor_off_is_refused(stage):
    refused(slot_create(stage, slot="other", failover="maybe"), "failover = maybe: use on or off")


def test_a_name_that_no_slot_may_have_is_refused(stage):
    for name in ("Walpost", "wal-post", "walp'ost", 'wal"post', "wälpost", "w" * 64, "a b", "a; b", ":slot", "\\"):
        refused(slot_create(stage, slot=name), f"slot = {name}: a slot's name has 1 to 63 lower-case letters")


def test_a_name_as_long_as_may_be_is_taken(stage):
    name = stage.name.ljust(63, "_")
    stage.also_drops(name)
    good(slot_create(stage, slot=name), f"slot {name}: created at")
    good(slot_drop(stage, slot=name))


def test_no_slot_is_made_before_the_publication_and_the_cure_works(stage):
    forget_slot(stage)
    publication = f'Pub, "1".é\'s {stage.name}'
    ran = refused(slot_create(stage, publication=publication),
                  f"there is no publication {publication} in database {stage.database}: the server cannot "
                  "decode a slot that is older")
    assert slot_row(stage, "1") is None
    stage.sql(re.search(r"CREATE PUBLICATION .*", ran.stderr)[0])
    good(slot_create(stage, publication=publication))
    stage.create_topic()
    relay = stage.relay({"postgres.publication": publication})
    stage.insert()
    stage.wait_all_confirmed(relay=relay)
    relay.stop()
    stage.insert()
    refused(slot_drop(stage, publication=publication), "it holds unconfirmed events")
    good(slot_drop(stage, publication=publication, force="yes"), "table public.outbox: 1")


def test_a_publication_that_brings_nothing_yet_is_told(stage):
    stage.also_drops(stage.slot + "_b")
    stage.sql("CREATE PUBLICATION bare WITH (publish = 'insert'); CREATE PUBLICATION deaf FOR TABLE outbox WITH "
              "(publish = 'delete')")
    good(slot_create(stage, slot=stage.slot + "_b", publication="bare"), "publication bare publishes no table yet")
    good(slot_drop(stage, slot=stage.slot + "_b"))
    good(slot_create(stage, slot=stage.slot + "_b", publication="deaf"), "publication deaf publishes no inserts")


def test_what_slot_creation_waits_for_is_named_and_a_timeout_does_not_end_it(stage):
    forget_slot(stage)
    stage.sql(f"ALTER DATABASE {stage.database} SET lock_timeout = '200ms'")
    with stage.connect(application_name="long job") as busy:
        busy.execute("BEGIN; SELECT pg_current_xact_id()")
        pid = busy.info.backend_pid
        with subprocess.Popen(script_command(stage, "slot_create.sql", slot=stage.slot, publication=stage.publication),
                              env=clean_environment(), stdout=subprocess.PIPE, text=True) as creating:
            lines = [creating.stdout.readline()]
            while f"process {pid}" not in lines[-1]:
                lines.append(creating.stdout.readline())
                assert lines[-1], "it ended without naming the transaction"
            assert lines[0] == "slot creation waits for these transactions to end:\n"
            assert re.search(r"transaction \d+ s old, idle in transaction, application long job, user postgres",
                             lines[-1])
            waiting = "SELECT 1 FROM pg_stat_activity WHERE datname = %s AND query LIKE '%%create_logical%%' " \
                      "AND wait_event_type = 'Lock' AND now() - query_start > interval '500 ms'"
            wait_until(lambda: stage.postgres.query(waiting, (stage.database,)), 10, "it outlasts lock_timeout")
            busy.execute("COMMIT")
            assert "created at" in creating.stdout.read() and wait_exit(creating, 10, "psql") == 0


def test_a_slot_is_made_while_the_catalog_changes(stage):
    """A function or DO block that makes one fails then: "snapshot reference ... is not owned by resource owner"."""
    forget_slot(stage)
    stop = threading.Event()

    def change(name):
        while not stop.is_set():
            stage.sql(f"CREATE TABLE {name} (a int); SELECT pg_sleep(random() * 0.05); "
                      f"ALTER TABLE {name} ADD b int; SELECT pg_sleep(random() * 0.05); DROP TABLE {name}")

    threads = [threading.Thread(target=change, args=(f"passing{i}",)) for i in range(4)]
    for thread in threads:
        thread.start()
    try:
        for _ in range(8):
            good(slot_create(stage))
            forget_slot(stage)
    finally:
        stop.set()
        for thread in threads:
            thread.join()


def test_a_role_that_may_not_replicate_makes_drops_and_moves_no_slot(stage):
    stage.insert()
    before, end = confirmed_text(stage), end_text(stage)
    with passing_role(stage, f"guest_{stage.name}") as guest:
        stage.sql(f"GRANT USAGE ON SCHEMA walpost TO {guest}; "
                  f"GRANT ALL ON walpost.skip, walpost.slot_checkpoint TO {guest}")
        ran = refused(slot_create(stage, slot=stage.slot + "_b", user=guest), "ERROR:  ")
        assert "replication role" in ran.stderr or "REPLICATION" in ran.stderr
        denied = f"role {guest} lacks REPLICATION, which is required to use replication slots"
        refused(slot_drop(stage, user=guest), denied)
        refused(slot_drop(stage, user=guest, force="yes"), denied)
        refused(slot_advance(stage, user=guest, to=end), denied)
        refused(slot_advance(stage, user=guest, to=end, give_up="unknown"), denied)
        stage.sql(f"DROP PUBLICATION {stage.publication}")
        refused(slot_advance(stage, user=guest, to=end, give_up="unknown"), "ERROR:  ")
    assert slot_row(stage, "1", stage.slot + "_b") is None
    assert confirmed_text(stage) == before and not skip_records(stage)


def test_a_server_without_logical_wal_is_told_the_cure(make_stage, own_postgres):
    stage = make_stage(postgres=own_postgres, set_up=False)
    own_postgres.restart(wal_level="replica")
    refused(slot_create(stage), "wal_level is replica", "ALTER SYSTEM SET wal_level = 'logical'")


def test_a_server_whose_slots_are_all_in_use_is_told_the_cure(make_stage, own_postgres):
    stage = make_stage(postgres=own_postgres)
    own_postgres.restart(max_replication_slots=2)
    refused(slot_create(stage, slot="third"), "all 2 replication slots are in use", "max_replication_slots")


# --- slot_drop.sql


def test_a_slot_that_holds_nothing_is_dropped(stage):
    stage.sql("CREATE TABLE other (x int); INSERT INTO other VALUES (1)")
    ran = good(slot_drop(stage), f"slot {stage.slot}: dropped; events committed before a new slot exists",
               "0 events in 0 transactions")
    assert "discarded" not in ran.stdout and slot_row(stage, "1") is None
    refused(slot_drop(stage), f"there is no slot {stage.slot}")


def test_a_slot_with_events_is_dropped_by_force_only_and_they_are_told(stage):
    ids = [stage.insert() for _ in range(2)]
    stage.insert_many(30)
    ran = refused(slot_drop(stage), f"slot {stage.slot} was not dropped: it holds unconfirmed events",
                  "To drop it nevertheless, add -v force=yes")
    assert all(f"table public.outbox  id {id}  " in ran.stdout for id in ids)
    assert ran.stdout.count("  table public.outbox  id ") == 20 and "  and 12 more" in ran.stdout
    assert "table public.outbox: 32" in ran.stdout and "32 events in 3 transactions" in ran.stdout
    assert slot_row(stage, "1")
    good(slot_drop(stage, force="yes"), "32 events in 3 transactions", "dropped, and its events discarded")
    assert slot_row(stage, "1") is None


def test_a_slot_for_which_events_are_parked_is_dropped_by_force_only_and_they_with_it(stage):
    good(run_psql(script_command(stage, "parked.sql", options=("-q", "-v", "ON_ERROR_STOP=1"))))
    stage.sql("INSERT INTO walpost.parking (slot, generation, owner) VALUES (%s, 7, 'relay'), ('other', 1, 'o')",
              (stage.slot,))
    stage.sql("INSERT INTO walpost.parked (slot, position, outbox, settings, committed_at, code, reason, first_reason) "
              "SELECT slot, 'p', 'o', '', now(), 'LARGE', 'r', 'r' FROM walpost.parking")
    refused(slot_drop(stage), f"slot {stage.slot} was not dropped: 1 events are parked for it (walpost.parked)")
    stage.sql(f"CREATE ROLE poor_{stage.name} LOGIN REPLICATION")
    refused(slot_drop(stage, user=f"poor_{stage.name}"), "cannot determine whether events are parked for it")
    stage.sql(f"DROP ROLE poor_{stage.name}")
    good(slot_drop(stage, force="yes"), f"slot {stage.slot}: 1 parked events deleted")
    assert stage.sql("SELECT slot FROM walpost.parked UNION ALL SELECT slot FROM walpost.parking") == [("other",)] * 2


def test_events_of_odd_tables_and_odd_values_are_told(stage):
    stage.sql('CREATE SCHEMA "Sch.é\'ma"; CREATE TABLE "Sch.é\'ma"."Out""box $1" ("I d" text, a text); '
              "CREATE TABLE bare (); CREATE TABLE empty (a int, b int)")
    stage.sql(f'ALTER PUBLICATION {stage.publication} ADD TABLE "Sch.é\'ma"."Out""box $1", bare, empty')
    stage.sql('INSERT INTO "Sch.é\'ma"."Out""box $1" VALUES (E\'one\\n\\x1b[2J\' || repeat(\'y\', 200), \'z\')')
    stage.sql("INSERT INTO bare DEFAULT VALUES")
    stage.sql("INSERT INTO empty VALUES (NULL, 1)")
    ran = refused(slot_drop(stage), "it holds unconfirmed events")
    assert f'table "Sch.é\'ma"."Out""box $1"  I d one??[2J{"y" * 56}  ' in ran.stdout and "\x1b" not in ran.stdout
    assert "table public.bare  8 bytes" in ran.stdout and "table public.empty  a NULL  " in ran.stdout
    assert "3 events in 3 transactions" in ran.stdout


def test_messages_are_events_unless_another_prefix_is_named(stage):
    stage.sql("SELECT pg_logical_emit_message(true, 'outbox', '{}'), pg_logical_emit_message(false, 'outbox', '{}')")
    ran = refused(slot_drop(stage), "it holds unconfirmed events")
    assert "message of prefix outbox: 1" in ran.stdout and "1 event in 1 transaction" in ran.stdout
    refused(slot_drop(stage, message_prefix="outbox"), "it holds unconfirmed events")
    good(slot_drop(stage, message_prefix="out"))


def test_rows_of_walposts_own_tables_are_no_events(make_stage):
    stage = make_stage(set_up=False)
    stage.sql((SCRIPTS / "slot_checkpoint.sql").read_text())
    stage.sql(f"CREATE PUBLICATION {stage.publication} FOR ALL TABLES WITH (publish = 'insert')")
    good(slot_create(stage))
    stage.sql("INSERT INTO walpost.skip VALUES ('x', '0/1', '0/2')")
    good(slot_drop(stage), "0 events")


def test_a_slot_whose_publication_is_gone_is_dropped_by_force_only(stage):
    stage.insert()
    stage.sql(f"DROP PUBLICATION {stage.publication}")
    refused(slot_drop(stage), f"unconfirmed events: its publication {stage.publication} does not exist")
    good(slot_drop(stage, force="yes"), "dropped, with unknown contents")


@pytest.mark.on(below=18)
def test_a_slot_that_is_older_than_its_publication_is_dropped_by_force_only(stage):
    stage.sql(f"DROP PUBLICATION {stage.publication}")
    stage.insert()
    stage.publish(stage.table)
    refused(slot_drop(stage), f"slot {stage.slot} was not dropped: cannot determine whether it holds",
            f'unconfirmed events: publication "{stage.publication}" does not exist')
    good(slot_drop(stage, force="yes"), "dropped, with unknown contents")


@pytest.mark.on(since=18)
def test_what_is_older_than_its_publication_is_not_counted_and_that_is_said(stage):
    """PostgreSQL 18 leaves it out with a warning, for a relay too."""
    stage.sql(f"DROP PUBLICATION {stage.publication}")
    stage.insert()
    end = end_text(stage)
    stage.publish(stage.table)
    listed = refused(slot_advance(stage, to=end), "give_up=0")
    dropped = good(slot_drop(stage), f"slot {stage.slot}: dropped")
    for ran in (listed, dropped):
        assert "See the server's warning above that it skipped loading publication " in ran.stdout
        assert "WARNING:  skipped loading publication" in ran.stderr


def test_nothing_of_a_warning_is_said_where_the_publication_is_older(make_stage, own_postgres):
    """A server of its own, for other slots hold a new one's horizon back."""
    stage = make_stage(postgres=own_postgres)
    stage.insert()
    ran = good(slot_drop(stage, force="yes"), "1 event in 1 transaction")
    assert "See the server's warning" not in ran.stdout and not ran.stderr


def test_a_slot_of_someone_else_is_dropped_by_force_only(stage, make_stage):
    physical, foreign = other_slot(stage, "physical"), other_slot(stage, "test_decoding")
    elsewhere = make_stage()
    for slot, what in ((physical, "a physical slot of a standby or a backup"),
                       (foreign, f"uses plugin test_decoding in database {stage.database}"),
                       (elsewhere.slot, f"uses plugin pgoutput in database {elsewhere.database}")):
        refused(slot_drop(stage, slot=slot),
                f"slot {slot} was not dropped: it is not walpost's, but {what}; to drop it nevertheless")
        assert slot_row(stage, "1", slot)
        good(slot_drop(stage, slot=slot, force="yes"), f"slot {slot}: dropped")
        assert slot_row(stage, "1", slot) is None


def test_a_slot_in_use_is_dropped_only_when_told_to_end_its_reader(stage):
    with reader(stage) as pid:
        refusal = f"slot {stage.slot} is in use by process {pid}: stop its relay first, or add -v terminate=yes"
        refused(slot_drop(stage), refusal)
        refused(slot_drop(stage, force="yes"), refusal)
        with passing_role(stage, f"guest_{stage.name}", "LOGIN REPLICATION") as guest:
            refused(slot_drop(stage, terminate="yes", user=guest), "terminate")
        assert slot_row(stage, "active_pid") == (pid,)
        good(slot_drop(stage, terminate="yes"),
             f"process {pid}, a reader of slot {stage.slot}, was terminated", "dropped")
        assert slot_row(stage, "1") is None
        stage.create_slot(with_truth=False)  # for the end of the block


def test_ending_its_reader_does_not_give_events_up(stage):
    with reader(stage) as pid:
        stage.insert()
        ran = refused(slot_drop(stage, terminate="yes"), "it holds unconfirmed events")
        assert f"process {pid}, a reader of slot {stage.slot}, was terminated" in ran.stdout
    assert slot_row(stage, "1")


def test_a_relay_whose_slot_is_dropped_under_its_feet_stops_for_a_human(stage):
    stage.create_topic()
    relay = stage.relay()
    stage.insert()
    stage.wait_all_confirmed(relay=relay)
    process.pause(relay.pid)  # or it may be back before the slot is gone
    good(slot_drop(stage, terminate="yes", force="yes"), "dropped")
    process.resume(relay.pid)
    assert relay.wait_exit(30) == 3


def test_the_reader_of_a_slot_that_is_not_walposts_is_not_ended(stage, make_stage):
    elsewhere = make_stage()
    with reader(elsewhere) as pid:
        refused(slot_drop(stage, slot=elsewhere.slot, terminate="yes", force="yes"),
                f"slot {elsewhere.slot} is in use by process {pid}: stop its reader first")
        assert slot_row(stage, "active_pid", elsewhere.slot) == (pid,)


def test_a_word_that_is_neither_yes_nor_no_is_refused(stage):
    for name in ("force", "terminate"):
        refused(slot_drop(stage, **{name: "maybe"}), f"{name} = maybe: use yes or no")


def test_a_script_without_the_one_it_reads_changes_nothing(stage, folder):
    alone = folder / "slot_drop.sql"
    shutil.copy(SCRIPTS / "slot_drop.sql", alone)
    ran = slot_drop(stage, force="yes", options=("-f", alone))
    assert ran.returncode == 3 and "slot_holds.sql" in ran.stderr
    assert slot_row(stage, "1")
