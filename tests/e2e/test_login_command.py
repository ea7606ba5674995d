"""kafka.token_command and postgres.password_command that misbehave, and a password that changes all the time."""

import os
import random
import signal
import threading
import time
from pathlib import Path

import pytest

from lib import process
from lib.checker import check_all
from lib.doubles import checkers
from lib.doubles.tokens import Key
from lib.logins import Home, check, keeps_to_itself
from lib.secrets import put
from lib.waiting import check_in_time, wait_until
from lib.writer import Writer

# Each is run by sh with the folder of the test as $1; there is `token`, good for a few seconds.
BAD = {
    "hangs": "echo why it hangs >&2; exec sleep 1000",
    "hangs_by_a_child": "sleep 1000 & wait",
    "hangs_and_ignores_sigterm": "trap '' TERM INT HUP; while :; do sleep 1; done",
    "prints_garbage": "head -c 2000 /dev/urandom",
    "prints_broken_json": "echo '{\"token\": '; cat $1/token",
    "prints_two_lines": "cat $1/token; echo; cat $1/token",
    "prints_nothing": "exit 0",
    "prints_1_mb": "head -c 1048576 /dev/zero | tr '\\0' x",
    "prints_without_end": "while cat $1/token; do :; done",
    "dies": "kill -9 $$",
    "fails": "cat $1/token; exit 3",
    "writes_much_to_stderr": "yes trouble | head -c 10000000 >&2; exit 1",
}


def _script(folder, text):
    return put(folder / "program", f"echo >> $1/count\n{text}\n")


def _count(folder):
    file = folder / "count"
    return file.read_text().count("\n") if file.exists() else 0


def _left_behind(folder):
    """Command lines of processes of this test's program, but for strace's and the relay's."""
    found = []
    for each in Path("/proc").glob("[0-9]*"):
        try:
            environment = (each / "environ").read_bytes()
            words = (each / "cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        if f"WALPOST_TEST_FOLDER={folder}".encode() in environment and Path(words[0].decode()).name not in (
                "walpost", "strace", "env"):
            found.append(b" ".join(words))
    return found


class Tokens:
    """`token` in a folder, good for `lifetime` seconds, made anew all the while."""

    def __init__(self, folder, lifetime):
        self.key = Key()
        self.made = []
        self._folder, self._lifetime = folder, lifetime
        self._over = threading.Event()
        self._make()
        self._thread = threading.Thread(target=self._go_on, daemon=True)
        self._thread.start()

    def _make(self):
        now = int(time.time())
        self.made.append(self.key.jwt(aud="kafka", sub="orders", iat=now, exp=now + self._lifetime))
        put(self._folder / "token", self.made[-1])

    def _go_on(self):
        while not self._over.wait(1):
            self._make()

    def end(self):
        self._over.set()
        self._thread.join()


@pytest.fixture
def enter(make_stage, fronted, folder):
    tokens = Tokens(folder, 15)
    fronted.front.check = checkers.oidc(tokens.key)
    fronted.front.refuse(None)
    fronted.front.logins.clear()
    stage = make_stage(kafka=fronted)
    stage.create_topic(partitions=2)
    script = _script(folder, "cat $1/token")
    home = Home(stage.folder, WALPOST_TEST_FOLDER=str(folder))
    config = {**fronted.relay_config(), "http.listen": "127.0.0.1:0", "kafka.login.timeout": "1s",
              "kafka.token_command": f"sh {script} {folder}"}
    yield stage, config, home, tokens
    tokens.end()


def _goes_on(stage, relay):
    stage.insert_many(50, "a{0}")
    stage.wait_all_confirmed(60, relay)


@pytest.mark.parametrize("bad", BAD)
def test_a_token_command_that_misbehaves_costs_no_event(enter, fronted, folder, bad):
    stage, config, home, tokens = enter
    relay = stage.relay(config, **home.options)
    _goes_on(stage, relay)
    _script(folder, BAD[bad])
    relay.wait_log("event=login_not_renewed", 30)
    _goes_on(stage, relay)  # on the connection that it has
    before = _count(folder)
    relay.wait_until(lambda: _count(folder) > before, 30, "it is run again")
    _script(folder, "cat $1/token")
    relay.wait_log("event=login_renewed", 40)
    fronted.front.cut()
    _goes_on(stage, relay)
    assert not fronted.front.bad
    assert process.rss_kb(relay.pid) < 100_000
    keeps_to_itself(relay, home, tokens.made)
    relay.stop()
    wait_until(lambda: not _left_behind(folder), 5, "no process is left", lambda: str(_left_behind(folder)))
    check_all(stage.read(), stage.truth.events())


@pytest.mark.parametrize("bad", BAD)
def test_check_says_what_is_wrong_with_a_command(enter, folder, bad):
    stage, config, home, tokens = enter
    _script(folder, BAD[bad])
    relay = stage.new_relay(config, **home.options)
    began = time.monotonic()
    code, said = check(relay, home)
    assert code == 1
    check_in_time(time.monotonic() - began, 30, "check")
    assert "sh " in said, said
    assert not any(token in said for token in tokens.made)
    assert not _left_behind(folder)


def test_what_a_command_leaves_in_the_background_goes_with_it(enter, folder):
    stage, config, home, tokens = enter
    _script(folder, "sleep 1000 & cat $1/token")
    relay = stage.relay(config, **home.options)
    _goes_on(stage, relay)
    wait_until(lambda: not _left_behind(folder), 5, "no process is left", lambda: str(_left_behind(folder)))
    relay.stop()


@pytest.mark.alone
def test_a_command_that_hangs_does_not_keep_a_relay_from_stopping(enter, folder):
    stage, config, home, tokens = enter
    relay = stage.relay({**config, "kafka.login.timeout": "60s"}, **home.options)
    _goes_on(stage, relay)
    _script(folder, BAD["hangs"])
    before = _count(folder)
    relay.wait_until(lambda: _count(folder) > before, 30, "it hangs")
    began = time.monotonic()
    relay.signal(signal.SIGTERM)
    assert relay.wait_exit(30) == 0
    check_in_time(time.monotonic() - began, 10, "the stop")
    wait_until(lambda: not _left_behind(folder), 5, "no process is left", lambda: str(_left_behind(folder)))


def test_no_shell_is_involved(enter, folder):
    stage, config, home, tokens = enter
    config = {**config, "kafka.token_command": f"cat '{folder}/token' ; touch {folder}/shell"}
    code, said = check(stage.new_relay(config, **home.options), home)
    assert code == 1 and not (folder / "shell").exists()
    config = {**config, "kafka.token_command": f"$SHELL -c 'cat {folder}/token'"}
    code, said = check(stage.new_relay(config, **home.options), home)
    assert code == 1 and "$SHELL" in said


# --- a password that changes


@pytest.mark.on("all")
def test_a_password_that_changes_every_few_seconds_under_load_loses_nothing(
        make_stage, guarded_postgres, folder, scaled):
    """Full length: every 20 s for ten minutes."""
    stage = make_stage(postgres=guarded_postgres)
    guarded_postgres.admit(stage)
    stage.create_topic()
    passwords = []

    def change():
        passwords.append(f"p{len(passwords)}-{os.urandom(12).hex()}")
        stage.sql(f"ALTER ROLE {guarded_postgres.RELAY} PASSWORD '{passwords[-1]}'")
        put(folder / "password", passwords[-1] + "\n")

    change()
    home = Home(stage.folder)
    relay = stage.relay({
        "postgres.conninfo": guarded_postgres.relay_conninfo(stage, password=None),
        "postgres.password_command": f"cat {folder}/password", "http.listen": "127.0.0.1:0",
    }, **home.options)
    chance = random.Random(24)
    until, pause = time.monotonic() + scaled(30, 600), scaled(3, 20)
    due = time.monotonic() + pause
    with Writer(stage, threads=2, pause=0.005):
        while time.monotonic() < until:
            wait_until(lambda: time.monotonic() >= due - pause * chance.random() / 2, pause + 1, "it is time")
            # Connections end at any moment, also between the server's new password and the program's.
            stage.sql("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = %s",
                      (guarded_postgres.RELAY,))
            wait_until(lambda: time.monotonic() >= due, pause + 1, "it is time")
            change()
            due += pause
    stage.wait_all_confirmed(60, relay)
    assert len(passwords) >= scaled(8, 28)
    assert len([line for line in relay.log() if line["level"] == "error"]) == 0
    keeps_to_itself(relay, home, passwords)
    relay.stop()
    messages, events = stage.read(), stage.truth.events()
    check_all(messages, events)
    print(f"{len(passwords)} passwords, {len(relay.log('streaming'))} streams, {len(events)} events, "
          f"{len(messages)} messages, {len([x for x in relay.log() if x['level'] == 'warn'])} lines of warning")
