"""What the commands beside `run` have in common, and that what they make serves a relay."""

import json
import re
import subprocess

import pytest

from lib.relay import config_text, run_command

COMMANDS = [
    ("run",), ("init",), ("check",), ("diff",), ("status",), ("tail",), ("slot", "create"), ("slot", "drop"),
    ("slot", "list"),
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
    for name in ("run", "init", "check", "diff", "status", "tail", "slot", "config"):
        assert re.search(rf"^\s+{name}\b", done.stdout, re.MULTILINE)


def test_version_names_the_linked_libraries():
    said = run_command("--version").stdout
    for library in ("walpost", "libpq", "librdkafka", "libev"):
        assert re.search(rf"{library}[ :]*v?\d+(\.\d+)+", said), said


@pytest.mark.on("all")
def test_what_init_makes_serves_a_relay(make_stage):
    stage = make_stage(set_up=False)
    done = _walpost(stage, "init")
    assert done.returncode == 0, done.stderr
    assert _walpost(stage, "init").returncode == 0
    assert stage.sql("SELECT pubinsert, pubupdate, pubdelete, pubtruncate, pubviaroot FROM pg_publication "
                     "WHERE pubname <> 'walpost_reissue'") == [
        (True, False, False, False, True)]
    assert stage.sql("SELECT tablename FROM pg_publication_tables WHERE schemaname <> 'walpost'") == [("outbox",)]
    stage.create_topic()
    stage.relay()
    id = stage.insert()
    stage.wait_all_confirmed()
    assert [m.id for m in stage.read()] == [id]


@pytest.mark.on("all")
def test_what_the_printed_sql_of_init_makes_serves_a_relay(make_stage):
    stage = make_stage(set_up=False)
    table = '"Sch.ema"."Out""Box"'
    stage.sql('CREATE SCHEMA "Sch.ema"')
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


def test_the_applications_deletes_go_on_after_init(make_stage):
    stage = make_stage(set_up=False)
    stage.sql("CREATE TABLE outbox (id uuid, aggregatetype text, aggregateid text, type text, payload jsonb)")
    assert _walpost(stage, "init").returncode == 0
    stage.insert()
    stage.sql("DELETE FROM outbox")


@pytest.mark.on("all")
def test_status_tells_slot_and_lag(stage):
    stage.create_topic()
    relay = stage.relay()
    stage.insert()
    stage.wait_all_confirmed()
    relay.stop()
    stage.wait_released()
    stage.insert_many(1000)
    done = _walpost(stage, "status", "--json")
    facts = json.loads(done.stdout)
    assert facts["slot"] == stage.slot and facts["lag_bytes"] > 0
    assert done.returncode == 1 and "no relay streams" in done.stderr  # it was stopped
    text = _walpost(stage, "status")
    assert text.returncode == 1 and stage.slot in text.stdout


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
    assert last.get("events") == "50" and "confirmed_lsn" in last and "in_flight" in last
