"""Logins where everything that may go wrong does: programs that hang, refused tokens, clocks that are wrong."""

import contextlib
import time
import uuid
from pathlib import Path

import pytest

from lib import places
from lib.checker import check_all
from lib.doubles.checkers import Denied
from lib.relay import run_command
from lib.stage import OUTBOX_COLUMNS
from lib.waiting import check_in_time, wait_until

# Does what the file beside it says, and counts how often it ran.
_PROGRAM = r"""
echo >> "$0.count"
[ -e "$0.hang" ] && { sleep 1000; exit 1; }
[ -e "$0.fail" ] && { echo "the vault is sealed" >&2; exit 3; }
now=$(date +%s)
echo "{\"token\": \"secret-$(date +%s%N)-$((now + $1))\", \"expires_at\": $((now + $1)), \"principal\": \"orders\"}"
"""


class Program:
    def __init__(self, folder):
        self.file = Path(folder) / "token.sh"
        self.file.write_text(_PROGRAM)

    def command(self, lifetime):
        return f"sh {self.file} {lifetime}"

    def set(self, mode=None):
        for each in ("hang", "fail"):
            flag = self.file.with_name(f"{self.file.name}.{each}")
            flag.touch() if each == mode else flag.unlink(missing_ok=True)

    @property
    def runs(self):
        count = self.file.with_name(self.file.name + ".count")
        return count.read_text().count("\n") if count.exists() else 0


class Door:
    """Looks at what the program printed."""

    def __init__(self):
        self.forgotten = set()
        self.seen = []

    def forget_all(self):
        self.forgotten.update(self.seen)

    def __call__(self, token, extensions):
        self.seen.append(token)
        end = int(token.rsplit("-", 1)[1])
        if token in self.forgotten or end <= time.time():
            raise Denied('{"status":"invalid_token"}', "forgotten" if token in self.forgotten else "expired")
        return "orders", end


@pytest.fixture
def door(fronted):
    fronted.front.cut()
    fronted.front.refuse(None)
    fronted.front.session_ms = 3600_000
    fronted.front.logins.clear()
    fronted.front.check = Door()
    return fronted.front.check


@pytest.fixture
def program(folder):
    return Program(folder)


def _config(fronted, program, lifetime, **more):
    return {**fronted.relay_config(), "kafka.token_command": program.command(lifetime), "http.listen": "127.0.0.1:0",
            **more}


def _goes_on(stage, relay, count=100, deadline=40):
    stage.insert_many(count, "a{0}")
    stage.wait_all_confirmed(deadline, relay)


def test_check_tells_a_token_that_does_not_come_from_one_that_is_refused(make_stage, fronted, door, program):
    relay = make_stage(kafka=fronted).new_relay(_config(fronted, program, 600))
    program.set("fail")
    ran = run_command("check", "-c", relay.config_file)
    assert ran.returncode == 1
    assert "sh exited with status 3" in ran.stdout and "rejects" not in ran.stdout
    assert "the vault is sealed" in ran.stdout + ran.stderr
    assert "-- see kafka.login or kafka.token_command" in ran.stdout
    program.set()
    fronted.front.refuse(Denied('{"status":"invalid_token"}', "told to"))
    ran = run_command("check", "-c", relay.config_file)
    assert ran.returncode == 1 and "Kafka rejects the login" in ran.stdout



def _processes(words):
    """Their ids, by what stands on their command lines."""
    found = []
    for each in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if words in (each / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace"):
                found.append(int(each.name))
    return found


@pytest.mark.alone
def test_a_relay_that_stops_leaves_nothing_of_a_program_behind(make_stage, fronted, door, program):
    stage = make_stage(kafka=fronted)
    stage.create_topic()
    length = f"sleep {uuid.uuid4().int % 10**9 + 10**6}"
    program.file.write_text(_PROGRAM.replace("sleep 1000", length))
    relay = stage.relay(_config(fronted, program, 4))
    _goes_on(stage, relay)
    program.set("hang")
    relay.wait_until(lambda: _processes(length), 20, "the program hangs")
    began = time.monotonic()
    relay.stop()
    check_in_time(time.monotonic() - began, 5, "the stop")
    wait_until(lambda: not _processes(length), 5, "nothing is left")
    assert not _processes(str(program.file))


# --- Postgres

_PRINT = r"""
[ -e "$0.hang" ] && { sleep 1000; exit 1; }
cat "$0.password"
"""


def test_a_program_that_hangs_keeps_no_connection_from_the_password_that_is_known(make_stage, guarded_postgres, folder):
    """Several connections ask at once, each would wait longer than a connection may take."""
    stage = make_stage(postgres=guarded_postgres, columns=OUTBOX_COLUMNS + ", at timestamptz DEFAULT now()")
    guarded_postgres.admit(stage)
    stage.create_topic()
    stage.sql((places.TREE / "sql" / "parked.sql").read_text())
    stage.sql("GRANT ALL ON ALL TABLES IN SCHEMA public, walpost TO relay")
    program = Program(folder)
    program.file.write_text(_PRINT)
    program.file.with_name(program.file.name + ".password").write_text(guarded_postgres.PASSWORD)
    relay = stage.relay({
        "postgres.conninfo": guarded_postgres.relay_conninfo(stage, password=None),
        "postgres.password_command": f"sh {program.file}", "postgres.login.timeout": "9s",
        "postgres.connect_timeout": "3s", "relay.poison": "park", "cleanup.mode": "delete", "cleanup.interval": "1s",
        "outbox.column.inserted": "at"})
    _goes_on(stage, relay)
    program.set("hang")
    for _ in range(2):
        stage.sql("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'relay'")
        _goes_on(stage, relay, 10, 90)
    assert "no name server" not in relay.log_text()
    check_all(stage.read(), stage.truth.events())
