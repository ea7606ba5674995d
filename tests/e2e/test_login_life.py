"""Logins in the life of one relay: hundreds of tokens, files that are rewritten, a stop while nobody answers."""

import contextlib
import os
import socket
import statistics
import subprocess
import time
from pathlib import Path

import pytest

from e2e import test_login_kafka as by_token
from e2e.test_login_command import Tokens
from lib.checker import check_all, check_once
from lib.doubles import checkers, clouds, endpoint
from lib.doubles.postgres_front import PostgresFront
from lib.logins import Home, keeps_to_itself
from lib.ports import take_port
from lib.secrets import put
from lib.waiting import check_in_time, wait_until
from lib.writer import Writer


@pytest.fixture
def ends():
    """What ends with the test."""
    with contextlib.ExitStack() as stack:
        yield stack


@pytest.fixture
def enter(make_stage, fronted):
    """A stage whose relays come in to Kafka by what `check` takes."""
    front = fronted.front
    front.cut()
    front.refuse(None)
    front.session_ms = None

    def enter(check):
        front.check = check
        front.logins.clear()
        stage = make_stage(kafka=fronted)
        stage.create_topic(partitions=2)
        return stage

    return enter


def _goes_on(stage, relay, count=50):
    stage.insert_many(count, "a{0}")
    stage.wait_all_confirmed(40, relay)


def _lines(relay, *levels):
    """But for what a fresh node says to its first producers."""
    return [line for line in relay.log() if line["level"] in levels and line.get("facility") != "GETPID"]


# --- hundreds of tokens


def _oidc(folder, ends):
    cloud = by_token._oidc(folder, lifetime=3)
    ends.callback(cloud.double.end)
    return cloud, lambda: len(cloud.double.given)


def _aws_instance(folder, ends):
    cloud = by_token._aws_instance(folder)
    ends.callback(cloud.double.end)
    cloud.double.lifetime = 4
    return cloud, lambda: len(cloud.double.given)


def _command(folder, ends):
    tokens = Tokens(folder, 3)
    ends.callback(tokens.end)
    script = put(folder / "program", "echo >> $1/count\ncat $1/token\n")
    cloud = by_token.Cloud(None, checkers.oidc(tokens.key), {"kafka.token_command": f"sh {script} {folder}"})
    return cloud, lambda: (folder / "count").stat().st_size


def _held(relay):
    """Memory in kB, descriptors, threads."""
    place = Path(f"/proc/{relay.pid}")
    return relay.rss_kb(), len(os.listdir(place / "fd")), len(os.listdir(place / "task"))


@pytest.mark.parametrize("way, sessions", [(_oidc, True), (_aws_instance, False), (_command, False)],
                         ids=["oidc", "aws_instance", "command"])
def test_hundreds_of_tokens_in_one_life_cost_no_event_and_no_memory(
        enter, fronted, folder, ends, scaled, way, sessions):
    """Full length: ten minutes. With sessions the broker ends each at its token's end, unless another came."""
    cloud, fetched = way(folder, ends)
    stage = enter(cloud.check)
    fronted.front.session_ms = 3600_000 if sessions else None
    home = Home(stage.folder, **cloud.environment)
    relay = stage.relay({**fronted.relay_config(), **cloud.changes}, environment=home.environment)
    _goes_on(stage, relay)
    held = []
    until = time.monotonic() + scaled(24, 600)
    with Writer(stage, threads=1, pause=0.02):
        while time.monotonic() < until:
            due = time.monotonic() + 1
            relay.wait_until(lambda due=due: time.monotonic() >= due, 5, "a second has passed")
            held.append(_held(relay))
    stage.wait_all_confirmed(60, relay)
    third = len(held) // 3
    middle, last = ([statistics.median_low(column) for column in zip(*part)]
                    for part in (held[third:2 * third], held[2 * third:]))
    messages, events = stage.read(), stage.truth.events()
    print(f"{fetched()} tokens, {len(fronted.front.good)} logins, {len(events)} events, {len(messages)} messages, "
          f"kB, descriptors, threads: {middle} then {last}, {len(_lines(relay, 'warn'))} lines of warning")
    assert fetched() >= scaled(4, 200)
    assert last[0] <= middle[0] + max(2048, middle[0] * 0.03) and last[1] <= middle[1] + 1 and last[2] <= middle[2]
    assert not _lines(relay, "error")
    relay.stop()
    check_all(messages, events)


# --- files that are rewritten


def test_a_token_and_a_password_that_are_rewritten_are_used_without_a_word(enter, fronted, folder, authority, ends):
    tokens = Tokens(folder, 12)
    ends.callback(tokens.end)
    passwords = []
    stage = enter(checkers.oidc(tokens.key))
    fronted.front.session_ms = 3600_000
    door = ends.enter_context(PostgresFront(
        authority.issue("server"), stage.postgres.port, lambda user, password: _is_one_of(password, passwords[-2:])))

    def change_password():
        passwords.append(f"password {len(passwords)} of many")
        put(folder / "password", passwords[-1] + "\n")

    change_password()
    relay = stage.relay({
        **fronted.relay_config(), "kafka.login": "file", "kafka.token_file": folder / "token",
        "http.listen": "127.0.0.1:0", "postgres.conninfo": door.conninfo(stage, "postgres", authority)},
        environment={"WALPOST__POSTGRES__PASSWORD_FILE": str(folder / "password")})
    _goes_on(stage, relay)
    with Writer(stage, threads=1, pause=0.05):  # a session's end is met by who asks for something
        for count in range(2, 5):
            relay.wait_until(lambda count=count: len({each.secret for each in fronted.front.good}) >= count, 40,
                             "a new token is used, once the session with the last has ended")
            change_password()
            door.cut()
            _goes_on(stage, relay)
            assert door.good[-1].secret == passwords[-1]
    stage.wait_all_confirmed(40, relay)
    assert relay.is_alive() and len(relay.log("started")) == 1 and not _lines(relay, "error")
    assert not fronted.front.bad and not door.bad
    keeps_to_itself(relay, Home(stage.folder), [*tokens.made, *passwords])
    relay.stop()
    check_all(stage.read(), stage.truth.events())


def _is_one_of(password, those):
    if password not in those:
        raise checkers.DeniedByServer("password authentication failed", "it is an old one", "28P01")
    return time.time() + 3600


# --- a stop while nobody answers


class _Mute:
    """An address where connections are taken, and no word is said: not even TLS's first."""

    def __init__(self):
        self.port = take_port()
        self._listener = socket.create_server(("127.0.0.1", self.port), backlog=16)

    def is_asked(self):
        """Somebody has connected."""
        told = subprocess.run(["ss", "-Htn", "state", "established", f"( dport = :{self.port} )"], check=True,
                              capture_output=True, text=True)
        return bool(told.stdout.strip())

    def end(self):
        self._listener.close()


LIMIT = 5  # relay.shutdown.timeout in these, in seconds; login.timeout is far longer


def _stops(relay, what):
    began = time.monotonic()
    relay.stop(LIMIT + 5)
    took = time.monotonic() - began
    print(f"{what}: stopped after {took:.2f} s")
    check_in_time(took, LIMIT, "the stop")


def _secured_oidc(folder, authority):
    cloud = by_token._oidc(folder, certificate=authority.issue("oidc"), lifetime=5)
    cloud.changes |= {"kafka.login.timeout": "60s", "relay.shutdown.timeout": f"{LIMIT}s",
                      "kafka.https.ca.location": str(authority.certificate)}
    return cloud


@pytest.mark.alone
def test_a_stop_before_the_first_token_has_come(enter, fronted, folder, authority, ends):
    cloud = _secured_oidc(folder, authority)
    ends.callback(cloud.double.end)
    cloud.double.fail(endpoint.silent, None)
    stage = enter(cloud.check)
    relay = stage.new_relay({**fronted.relay_config(), **cloud.changes}, environment=cloud.environment).start()
    relay.wait_until(lambda: cloud.double.asked, 20, "it has asked for a token")
    _stops(relay, "before the first token")


@pytest.mark.alone
def test_a_stop_while_an_endpoint_says_nothing_to_the_handshake(enter, fronted, folder, authority, ends):
    cloud, mute = _secured_oidc(folder, authority), _Mute()
    ends.callback(cloud.double.end)
    ends.callback(mute.end)
    stage = enter(cloud.check)
    url = f"https://localhost:{mute.port}/token"
    relay = stage.new_relay({**fronted.relay_config(), **cloud.changes,
                             "kafka.sasl.oauthbearer.token.endpoint.url": url}, environment=cloud.environment).start()
    relay.wait_until(mute.is_asked, 20, "it has connected")
    _stops(relay, "in TLS's handshake")


@pytest.mark.alone
def test_a_stop_while_a_stream_waits_for_its_next_token(enter, fronted, folder, authority, ends):
    """What was sent is confirmed, for the token that it has is still good."""
    cloud = _secured_oidc(folder, authority)
    ends.callback(cloud.double.end)
    stage = enter(cloud.check)
    relay = stage.relay({**fronted.relay_config(), **cloud.changes}, environment=cloud.environment)
    _goes_on(stage, relay)
    cloud.double.fail(endpoint.silent, None)
    before = len(cloud.double.asked)
    relay.wait_until(lambda: len(cloud.double.asked) > before, 20, "it has asked for another token")
    stage.insert_many(100, "a{0}")
    _stops(relay, "while it streams")
    cloud.double.mend()
    relay.start()
    stage.wait_all_confirmed(40, relay)
    relay.stop()
    messages, events = stage.read(), stage.truth.events()
    check_all(messages, events)
    check_once(messages)


@pytest.mark.alone
def test_a_stop_while_a_connection_waits_for_its_password(stage, folder, authority, ends):
    double = clouds.AzureAuthority(certificate=authority.issue("azure"), lifetime=2)
    ends.callback(double.end)
    door = ends.enter_context(PostgresFront(authority.issue("server"), stage.postgres.port,
                                            checkers.azure_postgres(double.key)))
    stage.create_topic()
    relay = stage.relay(
        {"postgres.conninfo": door.conninfo(stage, "postgres", authority), "postgres.login": "azure",
         "postgres.login.timeout": "60s", "relay.shutdown.timeout": f"{LIMIT}s"},
        environment={**double.environment, "AZURE_CLIENT_SECRET": double.secret,
                     "SSL_CERT_FILE": str(authority.certificate)})
    _goes_on(stage, relay)
    wait_until(lambda: time.time() > door.good[-1].end, 20, "the password has ended")
    double.fail(endpoint.silent, None)
    before = len(double.asked)
    door.cut()
    relay.wait_until(lambda: len(double.asked) > before, 20, "it has asked for another password")
    _stops(relay, "without a password")


# --- what a program is given


def test_a_program_is_given_the_environment_and_the_words_that_were_written_and_no_more(enter, fronted, folder, ends):
    tokens = Tokens(folder, 4)
    ends.callback(tokens.end)
    script = put(folder / "program", "cat /proc/$$/environ > $1/environ; cat /proc/$$/cmdline > $1/words\n"
                                     "echo >> $1/count; cat $1/token\n")
    stage = enter(checkers.oidc(tokens.key))
    secret = put(folder / "secret", "a secret of the file")
    relay = stage.relay(
        {**fronted.relay_config(), "kafka.token_command": f"sh {script} {folder}", "http.listen": "127.0.0.1:0",
         "log.level": "debug"}, environment={"WALPOST__POSTGRES__PASSWORD_FILE": str(secret)})
    _goes_on(stage, relay)
    relay.wait_until(lambda: (folder / "count").stat().st_size >= 3, 20, "it is run again")
    given = set((folder / "environ").read_bytes().split(b"\0"))
    assert given == set(Path(f"/proc/{relay.pid}/environ").read_bytes().split(b"\0"))
    assert (folder / "words").read_bytes().split(b"\0")[:-1] == [b"sh", str(script).encode(), str(folder).encode()]
    assert not any(token.encode() in part for token in tokens.made for part in given)
    assert b"a secret of the file" not in (folder / "environ").read_bytes()
    keeps_to_itself(relay, Home(stage.folder), [*tokens.made, "a secret of the file"])
    relay.stop()
