"""The commands beside `run`: init, status, slot, config, --help and --version."""

import json
import re
import subprocess

import pytest

from lib import places
from lib.relay import binary, clean_environment, config_text, run_command

COMMANDS = [
    ("run",), ("init",), ("check",), ("status",), ("slot", "create"), ("slot", "drop"), ("slot", "list"),
    ("config", "reference"), ("config", "sample"), ("config", "show"),
]


def _walpost(stage, *arguments, changes=None, **options):
    path = stage.folder / "command.conf"
    path.write_text(config_text(stage.config(changes)))
    return run_command(*arguments, "-c", path, **options)


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_each_command_has_help_with_its_exit_codes(command):
    done = run_command(*command, "--help")
    assert done.returncode == 0
    assert "walpost " + " ".join(command) in done.stdout
    assert re.search(r"^\s*0\b", done.stdout, re.MULTILINE), "the exit codes are not told"


def test_help_lists_the_commands():
    done = run_command("--help")
    assert done.returncode == 0
    for name in ("run", "init", "check", "status", "slot", "config"):
        assert re.search(rf"^\s+{name}\b", done.stdout, re.MULTILINE)


def test_version_names_the_linked_libraries():
    said = run_command("--version").stdout
    for library in ("walpost", "libpq", "librdkafka", "libev"):
        assert re.search(rf"{library}[ :]*v?\d+(\.\d+)+", said), said


@pytest.mark.on(18, 15)
def test_init_makes_table_publication_and_slot_and_a_second_time_nothing(make_stage):
    stage = make_stage(set_up=False)
    done = _walpost(stage, "init")
    assert done.returncode == 0, done.stderr
    assert _walpost(stage, "init").returncode == 0
    assert stage.sql("SELECT pubinsert, pubupdate, pubdelete, pubtruncate, pubviaroot FROM pg_publication") == [
        (True, False, False, False, True)]
    assert stage.sql("SELECT tablename FROM pg_publication_tables") == [("outbox",)]
    stage.create_topic()
    stage.relay()
    id = stage.insert()
    stage.wait_all_confirmed()
    assert [m.id for m in stage.read()] == [id]


@pytest.mark.on(18, 15)
def test_init_can_be_handed_over_as_sql(make_stage):
    stage = make_stage(set_up=False)
    table = '"Sch.ema"."Out""Box"'
    script = _walpost(stage, "init", "--print-sql", changes={"outbox.table": table})
    assert script.returncode == 0, script.stderr
    assert stage.sql("SELECT count(*) FROM pg_publication") == [(0,)]
    for _ in range(2):
        subprocess.run(
            ["psql", "-X", "-q", "-v", "ON_ERROR_STOP=1", "-d", stage.postgres.conninfo(stage.database)],
            input=script.stdout, text=True, check=True, capture_output=True)
    stage.table = table
    stage.create_topic()
    stage.relay()
    id = stage.insert()
    stage.wait_all_confirmed()
    assert [m.id for m in stage.read()] == [id]


@pytest.mark.on(18)
def test_init_makes_the_slot_ready_for_failover_where_the_server_can(make_stage):
    stage = make_stage(set_up=False)
    assert _walpost(stage, "init").returncode == 0
    assert stage.sql("SELECT failover FROM pg_replication_slots WHERE slot_name = %s", (stage.slot,)) == [(True,)]


def test_init_names_the_transaction_that_slot_creation_waits_for(make_stage, own_postgres):
    stage = make_stage(postgres=own_postgres, set_up=False)
    with stage.connect(application_name="the-slow-one") as slow:
        slow.execute("BEGIN")
        pid = slow.execute("SELECT pg_backend_pid(), txid_current()").fetchone()[0]
        path = stage.folder / "slow.conf"
        path.write_text(config_text(stage.config()))
        waiting = subprocess.Popen([binary(), "init", "-c", path], stderr=subprocess.PIPE, stdout=subprocess.DEVNULL,
                                   text=True, env=clean_environment())
        said = ""
        while "the-slow-one" not in said:
            line = waiting.stderr.readline()
            assert line, said
            said += line
        assert str(pid) in said
        slow.execute("ROLLBACK")
    waiting.stderr.close()
    assert waiting.wait(20) == 0


def test_init_of_a_partitioned_table_publishes_its_root(make_stage):
    stage = make_stage(set_up=False)
    stage.sql("""CREATE TABLE outbox (id uuid, aggregatetype text, aggregateid text, type text, payload jsonb)
                 PARTITION BY HASH (id)""")
    stage.sql("CREATE TABLE outbox_0 PARTITION OF outbox FOR VALUES WITH (MODULUS 1, REMAINDER 0)")
    assert _walpost(stage, "init").returncode == 0
    assert stage.sql("SELECT tablename FROM pg_publication_tables") == [("outbox",)]


def test_the_applications_deletes_go_on_after_init(make_stage):
    stage = make_stage(set_up=False)
    stage.sql("CREATE TABLE outbox (id uuid, aggregatetype text, aggregateid text, type text, payload jsonb)")
    assert _walpost(stage, "init").returncode == 0
    stage.insert()
    stage.sql("DELETE FROM outbox")


@pytest.mark.on(18, 15)
def test_status_tells_slot_and_lag(stage):
    stage.create_topic()
    relay = stage.relay()
    stage.insert()
    stage.wait_all_confirmed()
    relay.stop()
    stage.wait_released()
    stage.insert_many(1000)
    done = _walpost(stage, "status", "--json")
    assert done.returncode == 0, done.stderr
    facts = json.loads(done.stdout)
    assert facts["slot"] == stage.slot or facts["slot"].get("name") == stage.slot
    assert "lag_bytes" in done.stdout
    text = _walpost(stage, "status")
    assert text.returncode == 0 and stage.slot in text.stdout


def test_status_of_a_missing_slot_fails_and_says_so(make_stage):
    stage = make_stage(set_up=False)
    done = _walpost(stage, "status")
    assert done.returncode in (1, 3) and stage.slot in done.stdout + done.stderr


@pytest.mark.on(18, 15)
def test_a_slot_is_created_listed_and_dropped(stage):
    stage.sql("SELECT pg_drop_replication_slot(%s)", (stage.slot,))
    assert _walpost(stage, "slot", "create").returncode == 0
    assert _walpost(stage, "slot", "create").returncode == 1
    listed = _walpost(stage, "slot", "list")
    assert listed.returncode == 0 and stage.slot in listed.stdout
    names = [slot["slot_name"] for slot in json.loads(_walpost(stage, "slot", "list", "--json").stdout)]
    assert stage.slot in names
    assert _walpost(stage, "slot", "drop").returncode == 0
    assert _walpost(stage, "slot", "drop").returncode == 1


@pytest.mark.on(18, 15)
def test_a_slot_that_holds_events_or_is_in_use_is_not_dropped_without_force(stage):
    stage.insert()
    done = _walpost(stage, "slot", "drop")
    assert done.returncode == 1 and "--force" in done.stderr
    stage.create_topic()
    relay = stage.relay()
    assert _walpost(stage, "slot", "drop", "--force").returncode == 1
    relay.stop()
    stage.wait_released()
    stage.insert()
    assert _walpost(stage, "slot", "drop", "--force").returncode == 0


def test_a_slot_of_another_program_is_not_dropped(stage):
    done = _walpost(stage, "slot", "drop", stage.name + "_truth")
    assert done.returncode == 1 and "test_decoding" in done.stderr


def test_the_sample_is_what_deploy_ships_and_a_configuration_that_works(folder):
    sample = run_command("config", "sample")
    assert sample.returncode == 0
    assert sample.stdout == (places.TREE / "deploy" / "walpost.conf").read_text()
    path = folder / "sample.conf"
    path.write_text(sample.stdout)
    shown = run_command("config", "show", "-c", path)
    assert shown.returncode == 0, shown.stderr


def test_show_tells_each_value_and_where_it_came_from(stage):
    done = _walpost(stage, "config", "show", "--set", "relay.epoch=7",
                    environment={"WALPOST__LOG__LEVEL": "warn", "WALPOST__KAFKA__LINGER_MS": "3"})
    assert done.returncode == 0, done.stderr
    assert "relay.epoch" in done.stdout or "epoch = 7" in done.stdout
    for word in ("--set", "WALPOST__LOG__LEVEL", "command.conf:", "linger.ms"):
        assert word in done.stdout, done.stdout


def test_a_progress_line_is_logged_and_the_last_one_at_the_end(stage):
    stage.create_topic()
    relay = stage.relay()
    stage.insert_many(50)
    stage.wait_all_confirmed()
    relay.stop()
    last = relay.log()[-1]
    assert last.get("events") == "50" and "safe" in last and "in_flight" in last
