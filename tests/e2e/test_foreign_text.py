"""Text of others before people: what would steer a terminal or turn the order of letters is escaped."""

import json
import uuid

import pytest

from lib.relay import config_text, run_command

CSI, TURN, ESC = "\x9b", "\u202e", "\x1b"
KEY = f"a{CSI}2J{TURN}gpj.exe{ESC}[31m"
SHOWN = r"a\u009b2j\u202egpj.exe\x1b[31m"


def _run(stage, *command):
    file = stage.folder / f"{uuid.uuid4().hex[:6]}.conf"
    file.write_text(config_text(stage.config({})))
    return run_command(*command, "-c", file)


def _steers(text):
    return any(mark in text for mark in (CSI, TURN, ESC))


def test_keys_and_topics_of_others_do_not_steer_a_terminal(stage):
    id = stage.insert(KEY)
    bad = stage.insert("b", topic=KEY)
    end = stage.sql("SELECT pg_current_wal_flush_lsn()::text")[0][0]

    tail = _run(stage, "tail", "--backlog", "--no-follow")
    assert not _steers(tail.stdout + tail.stderr)
    lines = [json.loads(line) for line in tail.stdout.splitlines()]
    assert [line["key"] for line in lines] == [KEY, "b"], "the data is the same"
    assert SHOWN in lines[1]["error"].lower()

    skip = _run(stage, "slot", "skip", "--to", end)
    assert not _steers(skip.stdout + skip.stderr)
    assert id in skip.stdout and bad in skip.stdout and f"key {SHOWN}" in skip.stdout.lower()
    skip = _run(stage, "slot", "skip", "--to", end, "--json")
    assert not _steers(skip.stdout + skip.stderr)
    assert json.loads(skip.stdout.splitlines()[0])["key"] == KEY

    diff = _run(stage, "diff")
    assert not _steers(diff.stdout + diff.stderr)
    assert bad in diff.stdout and SHOWN in diff.stdout.lower()


def test_the_name_of_a_relay_does_not_steer_a_terminal(stage):
    relay = stage.relay()
    stage.wait_claimed(relay)
    relay.stop()
    stage.sql("UPDATE walpost.slot_checkpoint SET owner = %s", (KEY,))
    for arguments in ((), ("--json",)):
        status = _run(stage, "status", *arguments)
        assert not _steers(status.stdout + status.stderr)
        assert SHOWN.replace(r"\x1b", "") in status.stdout.lower().replace(r"\x1b", "").replace(r"\u001b", "")


@pytest.mark.parametrize("conninfo", (
    "postgresql://relay:p@hush@127.0.0.1/app", "postgresql://relay:12/hush@127.0.0.1/app", "host=db user=relay hush",
    "postgresql://127.0.0.1:hush/app",
))
def test_a_password_that_libpq_takes_for_something_else_is_not_repeated(tmp_path, conninfo):
    file = tmp_path / "walpost.conf"
    file.write_text(f"[postgres]\nconninfo = {conninfo}\n[kafka]\nbootstrap.servers = k\n")
    for command in (("config", "show"), ("check",), ("run",)):
        done = run_command(*command, "-c", file)
        assert done.returncode == 2
        assert "hush" not in done.stdout + done.stderr
        assert ":2: postgres.conninfo = ********: " in done.stderr


@pytest.mark.parametrize("arguments", (
    ("run", "-phush"), ("run", "--passwd=hush"), ("run", "--set", "postgres.pw=hush"),
    ("run", "--set", "postgres.password", "hush"), ("postgresql://u:hush@db",), ("run", "hush"),
))
def test_what_the_command_line_does_not_know_is_not_repeated(arguments):
    done = run_command(*arguments)
    assert done.returncode == 2 and done.stderr
    assert "hush" not in done.stdout + done.stderr
