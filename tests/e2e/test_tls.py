"""TLS and passwords on both sides: what is right works, what is wrong says so, and nothing is ever sent in the open."""

import json
import re
import socket
import threading

import pytest

from lib import process
from lib.asked import get
from lib.checker import check_all
from lib.guarded import SCRAM, GuardedPostgres
from lib.relay import config_text, run_command
from lib.waiting import holds_for, wait_until
from lib.writer import Writer

USER, PASSWORD = "relay", "not so secret"
CLIENT = "CN=client"  # by its certificate


@pytest.fixture
def server(guarded_postgres):
    return guarded_postgres


@pytest.fixture
def guarded(make_stage, server, mortal_kafka):
    """A stage whose relay comes in by the guarded door of Postgres, and by the open one of Kafka."""
    stage = make_stage(postgres=server, kafka=mortal_kafka)
    server.admit(stage)
    stage.create_topic(partitions=1)
    return stage


def _check(stage, changes, environment=None):
    """Exit code and findings of walpost check."""
    file = stage.folder / "check.conf"
    file.write_text(config_text(stage.config(changes)))
    done = run_command("check", "--json", "-c", file, environment=environment)
    assert done.returncode in (0, 1), done.stderr
    return done.returncode, {finding["name"]: finding for finding in json.loads(done.stdout)}


def _mutual(kafka, **changes):
    client = kafka.authority.issue("client")
    return {**kafka.by_certificate(kafka.authority.certificate, client.certificate, client.key), **changes}


def _scram(kafka, mechanism="SCRAM-SHA-256", **changes):
    kafka.set_password(USER, PASSWORD, mechanism)
    return {**kafka.by_password(mechanism, USER), "kafka.sasl.password": PASSWORD, **changes}


# --- what is right works


@pytest.mark.on("all")
@pytest.mark.parametrize("by", ["certificate", *SCRAM])
def test_events_arrive_with_tls_and_passwords_on_both_sides(guarded, server, mortal_kafka, newer, by):
    changes = {
        "postgres.conninfo": server.relay_conninfo(guarded),
        **(_mutual(mortal_kafka) if by == "certificate" else _scram(mortal_kafka, by)),
    }
    environment = None if by == "certificate" else newer
    code, findings = _check(guarded, changes, environment)
    assert code == 0, findings
    relay = guarded.relay(changes, environment=environment)
    guarded.insert_many(200, "a{0}")
    guarded.wait_all_confirmed(30, relay)
    ((tls, subject),) = guarded.sql(
        "SELECT ssl, client_dn FROM pg_stat_ssl WHERE pid = %s", (guarded.slot_row()[2],))
    assert tls and subject == "/CN=relay"
    relay.stop()
    assert server.PASSWORD not in relay.log_text() and PASSWORD not in relay.log_text()
    check_all(guarded.read(), guarded.truth.events())


@pytest.mark.alone
def test_over_tls_many_messages_are_read_at_a_wake(guarded, server):
    """Each is a TLS record, and OpenSSL reads one at a time; once each waited for a wake of its own, and a pause."""
    relay = guarded.new_relay({"postgres.conninfo": server.relay_conninfo(guarded)})
    guarded.insert_many(20_000, "a{0}")
    relay.start()
    guarded.wait_all_confirmed(60, relay)
    assert process.sleeps(relay.pid) < 10_000


@pytest.mark.alone
def test_over_tls_a_relay_that_waits_for_kafka_is_heard(guarded, server, mortal_kafka, scaled):
    """Small records fill the receive buffer so that it takes no acknowledgement: then some are read into libpq."""
    guarded.sql(f"ALTER DATABASE {guarded.database} SET wal_sender_timeout = '6s'")
    relay = guarded.relay({"postgres.conninfo": server.relay_conninfo(guarded), "relay.in_flight.events": "16"})
    guarded.insert()
    guarded.wait_all_confirmed(30, relay)
    walsender = guarded.slot_row()[2]
    mortal_kafka.pause()
    with Writer(guarded, threads=1, pause=0.001, single_rows=True):
        holds_for(lambda: guarded.slot_row()[2] == walsender and relay.is_alive(), scaled(15, 60),
                  "the same walsender serves us")
        mortal_kafka.resume()
    guarded.wait_all_confirmed(60, relay)
    relay.stop()
    check_all(guarded.read(), guarded.truth.events())


# --- Postgres: what is wrong says so


def _refused_by_postgres(stage, conninfo, *words):
    """`run` ends with exit code 2, `check` fails, both in these words."""
    changes = {"postgres.conninfo": conninfo}
    stage.insert()
    relay = stage.new_relay(changes).start()
    assert relay.wait_exit() == 2
    (said,) = [line["reason"] for line in relay.log() if line["level"] == "error"]
    code, findings = _check(stage, changes)
    found = findings["connection"]
    assert code == 1 and found["level"] == "fail"
    for text in (said, found["what"]):
        for word in words:
            assert word in text, text
        assert stage.postgres.PASSWORD not in text
    assert stage.sql("SELECT count(*) FROM pg_stat_replication")[0] == (0,)
    return said


def test_an_authority_of_postgres_that_we_do_not_trust(guarded, server):
    conninfo = server.relay_conninfo(guarded, sslrootcert=server.stranger.certificate)
    _refused_by_postgres(guarded, conninfo, "certificate verify failed", "sslrootcert")


def test_a_certificate_of_postgres_that_has_expired(guarded, server):
    server.stop()
    server.start(expired=True)
    _refused_by_postgres(guarded, server.relay_conninfo(guarded), "certificate", "expired")


def test_a_certificate_of_postgres_for_another_host(guarded, server):
    server.stop()
    server.start(names="DNS:elsewhere.example")
    _refused_by_postgres(guarded, server.relay_conninfo(guarded), "elsewhere.example", "localhost", "host")


def test_no_certificate_for_postgres(guarded, server):
    conninfo = server.relay_conninfo(guarded, sslcert="/nowhere.crt", sslkey=None)
    _refused_by_postgres(guarded, conninfo, "client certificate", "sslcert", "sslkey")


def test_a_certificate_for_postgres_of_an_authority_that_it_does_not_trust(guarded, server):
    foreign = server.stranger.issue("relay")
    conninfo = server.relay_conninfo(guarded, sslcert=foreign.certificate, sslkey=foreign.key)
    _refused_by_postgres(guarded, conninfo, "unknown ca", "sslcert")


def test_a_wrong_password_for_postgres(guarded, server):
    conninfo = server.relay_conninfo(guarded, password="wrong")
    _refused_by_postgres(guarded, conninfo, "password authentication failed", "relay", "postgres.password")


def test_a_passfile_that_others_can_read_is_one_line_in_the_logs_format(guarded, server):
    """libpq ignores it, and says so on standard error in a format of its own, at each connection."""
    passfile = guarded.folder / ".pgpass"
    passfile.write_text(f"*:*:*:*:{server.PASSWORD}\n")
    passfile.chmod(0o440)
    home = {"HOME": str(guarded.folder)}
    relay = guarded.new_relay({"postgres.conninfo": server.relay_conninfo(guarded, password=None),
                               "log.format": "json"}, environment=home).start()
    assert relay.wait_exit() == 2
    lines = [json.loads(line) for line in relay.log_text().splitlines()]
    (said,) = [line for line in lines if str(passfile) in line.get("reason", "")]
    assert "mode 0440" in said["reason"] and "chmod 0600" in said["reason"]
    ran = run_command("status", "-c", relay.config_file, environment=home)
    assert "0440" in ran.stdout + ran.stderr and "WARNING" not in ran.stderr
    ran = run_command("init", "--print-sql", "-c", relay.config_file, environment=home)
    assert ran.returncode == 0 and ran.stderr == ""


@pytest.mark.parametrize("mode", ["require", "verify-full"])
def test_a_postgres_without_tls_is_refused(guarded, server, mode):
    server.stop()
    super(GuardedPostgres, server).start(ssl="off")
    conninfo = server.relay_conninfo(guarded, sslmode=mode, user="postgres", sslcert=None, sslkey=None)
    _refused_by_postgres(guarded, conninfo, "does not support SSL", "sslmode")


# --- Kafka: what is wrong says so


def _refused_by_kafka(stage, changes, *words, environment=None):
    """`run` ends with exit code 2, `check` fails, both in these words; nothing is sent."""
    stage.insert()
    relay = stage.new_relay(changes, environment=environment).start()
    assert relay.wait_exit(40) == 2
    (said,) = [line["reason"] for line in relay.log() if line["level"] == "error"]
    code, findings = _check(stage, changes, environment)
    found = findings["kafka"]
    assert code == 1 and found["level"] == "fail"
    for text in (said, found["what"]):
        for word in ("Kafka", *words):
            assert word in text, text
    assert PASSWORD not in relay.log_text()
    assert stage.read() == []
    assert stage.confirmed() < stage.truth.events()[0].end_lsn


def test_an_authority_of_kafka_that_we_do_not_trust(stage_of_kafka, mortal_kafka):
    changes = _mutual(mortal_kafka, **{"kafka.ssl.ca.location": mortal_kafka.stranger.certificate})
    _refused_by_kafka(stage_of_kafka, changes, "certificate", "ssl.ca.location")


def test_a_certificate_of_kafka_that_has_expired(stage_of_kafka, mortal_kafka):
    changes = _mutual(mortal_kafka, **{"kafka.bootstrap.servers": mortal_kafka.door("expired")})
    _refused_by_kafka(stage_of_kafka, changes, "certificate", "expired")


def test_a_certificate_of_kafka_for_another_host(stage_of_kafka, mortal_kafka):
    changes = _mutual(mortal_kafka, **{"kafka.bootstrap.servers": mortal_kafka.door("elsewhere")})
    _refused_by_kafka(stage_of_kafka, changes, "certificate", "name", "bootstrap.servers")


def test_no_certificate_for_kafka(stage_of_kafka, mortal_kafka):
    changes = _mutual(mortal_kafka, **{"kafka.ssl.certificate.location": None, "kafka.ssl.key.location": None})
    _refused_by_kafka(stage_of_kafka, changes, "ssl.certificate.location")


@pytest.mark.parametrize("mechanism", SCRAM)
def test_a_wrong_password_for_kafka(stage_of_kafka, mortal_kafka, newer, mechanism):
    changes = _scram(mortal_kafka, mechanism, **{"kafka.sasl.password": "wrong"})
    _refused_by_kafka(stage_of_kafka, changes, "uthentication failed", "sasl.password", environment=newer)


def test_a_librdkafka_too_old_for_scram_with_kafka_4_says_so(stage_of_kafka, mortal_kafka):
    changes = _scram(mortal_kafka)
    version = re.search(r"librdkafka (\d+)\.(\d+)\.(\d+)", run_command("version").stdout)
    if tuple(map(int, version.groups())) >= (2, 6, 1):
        assert _check(stage_of_kafka, changes)[0] == 0
    else:
        _refused_by_kafka(stage_of_kafka, changes, version[0], "2.6.1")


def test_a_kafka_without_tls_is_waited_for_and_named_and_never_spoken_to_in_the_open(stage_of_kafka, mortal_kafka):
    """It hangs up in the handshake, as a proxy does whose broker is not there yet."""
    stage = stage_of_kafka
    changes = _mutual(mortal_kafka, **{"kafka.bootstrap.servers": mortal_kafka.address})
    stage.insert()
    for _ in range(3):
        relay = stage.new_relay(changes).start()
        relay.wait_log("event=sink_unreachable")
        (said,) = relay.log("sink_unreachable")
        if "does not use TLS" in said["reason"]:
            break
        relay.kill()  # its first question ended before the broker had hung up
        stage.wait_released()
    code, findings = _check(stage, changes)
    assert code == 1 and findings["kafka"]["level"] == "fail"
    for text in (said["reason"], findings["kafka"]["what"]):
        assert "does not use TLS" in text and "security.protocol" in text, text
    assert relay.is_alive()
    relay.stop_within(40)
    assert stage.read() == []
    assert stage.confirmed() < stage.truth.events()[0].end_lsn


# --- nothing in the open


class Ear:
    """Listens on a port and keeps what comes; to each who comes it says `answer`."""

    def __init__(self, answer=b""):
        self.heard = []
        self._answer = answer
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        threading.Thread(target=self._listen, daemon=True).start()

    def _listen(self):
        while True:
            try:
                caller, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._hear, args=(caller,), daemon=True).start()

    def _hear(self, caller):
        at = len(self.heard)
        self.heard.append(b"")
        try:
            while piece := caller.recv(65536):
                self.heard[at] += piece
                if self._answer:
                    caller.sendall(self._answer)
        except OSError:
            pass

    def end(self):
        self._listener.close()


@pytest.fixture
def make_ear():
    ears = []

    def make(answer=b""):
        ears.append(Ear(answer))
        return ears[-1]

    yield make
    for ear in ears:
        ear.end()


SSL_REQUEST = bytes.fromhex("0000000804d2162f")
HANDSHAKE = b"\x16\x03"


def test_a_listener_in_place_of_postgres_hears_no_more_than_the_wish_for_tls(guarded, server, make_ear):
    ear = make_ear(b"N")  # no TLS here
    conninfo = server.relay_conninfo(guarded, port=ear.port)
    relay = guarded.new_relay({"postgres.conninfo": conninfo}).start()
    assert relay.wait_exit() == 2
    assert ear.heard and set(ear.heard) == {SSL_REQUEST}


@pytest.mark.parametrize("protocol", ["SSL", "SASL_SSL"])
def test_a_listener_in_place_of_kafka_hears_no_more_than_the_begin_of_tls(
        stage_of_kafka, mortal_kafka, make_ear, protocol):
    ear = make_ear()
    changes = _mutual(mortal_kafka) if protocol == "SSL" else _scram(mortal_kafka)
    relay = stage_of_kafka.new_relay({
        **changes, "kafka.bootstrap.servers": f"localhost:{ear.port}", "relay.shutdown.timeout": "1s",
    }).start()
    stage_of_kafka.insert(payload='{"private": "matter"}')
    relay.wait_until(lambda: any(ear.heard), 20, "it tries")
    holds_for(lambda: all(said.startswith(HANDSHAKE) for said in ear.heard if said), 1, "all of it is TLS")
    assert not [said for said in ear.heard if b"matter" in said or USER.encode() in said]
    relay.stop_within(30)


# --- what was right and is wrong now


def test_a_password_of_kafka_taken_away_while_we_run_is_waited_for(stage_of_kafka, mortal_kafka, newer):
    stage = stage_of_kafka
    relay = stage.relay(_scram(mortal_kafka), environment=newer)
    stage.insert()
    stage.wait_all_confirmed(30, relay)
    mortal_kafka.forget_password(USER)
    mortal_kafka.stop()
    mortal_kafka.start()
    stage.insert()
    relay.wait_log("uthentication failed", 40)
    holds_for(lambda: relay.is_alive() and stage.confirmed() < stage.truth.events()[1].end_lsn, 2, "it waits")
    mortal_kafka.set_password(USER, PASSWORD)
    stage.wait_all_confirmed(60, relay)
    check_all(stage.read(), stage.truth.events())


def test_a_certificate_of_postgres_that_expires_while_we_run_is_waited_for(guarded, server):
    relay = guarded.relay({"postgres.conninfo": server.relay_conninfo(guarded)})
    guarded.insert()
    guarded.wait_all_confirmed(30, relay)
    server.stop()
    server.start(expired=True)
    guarded.insert()
    relay.wait_log("expired", 40)
    server.stop()
    server.start()
    guarded.wait_all_confirmed(40, relay)
    check_all(guarded.read(), guarded.truth.events())


# --- who may write


def test_a_topic_that_an_acl_forbids_is_waited_for_and_then_it_flows_on(stage_of_kafka, mortal_kafka):
    stage = stage_of_kafka
    mortal_kafka.forbid(CLIENT, stage.topic())
    relay = stage.relay(_mutual(mortal_kafka))
    stage.insert_many(50, "a{0}")
    relay.wait_log(stage.topic(), 30)
    assert "allow WRITE" in relay.log_text()
    holds_for(lambda: relay.is_alive() and stage.confirmed() < stage.truth.events()[0].end_lsn, 2, "it waits")
    assert stage.read() == []
    mortal_kafka.allow_again(CLIENT, stage.topic())
    stage.wait_all_confirmed(60, relay)
    check_all(stage.read(), stage.truth.events())


def test_an_event_that_may_not_be_written_is_stalled_though_its_neighbours_are_delivered(stage_of_kafka, mortal_kafka):
    stage = stage_of_kafka
    stage.create_topic("shut")
    mortal_kafka.forbid(CLIENT, stage.topic("shut"))
    relay = stage.relay({**_mutual(mortal_kafka), "http.listen": "127.0.0.1:0"})
    file = stage.folder / "look.conf"
    file.write_text(config_text(stage.config(_mutual(mortal_kafka))))

    def state():
        return json.loads(run_command("status", "--json", "-c", file).stdout)["state"]
    with stage.transaction() as connection:
        for topic in ("order", "shut", "order"):
            stage.insert(topic=topic, connection=connection)
    relay.wait_until(lambda: state() == "stalled", 120, "the slot is stalled")
    assert get(relay, "/readyz")[0] == 503
    assert "may not write topic" in relay.log("topic_waiting")[0]["reason"]
    mortal_kafka.allow_again(CLIENT, stage.topic("shut"))
    stage.wait_all_confirmed(60, relay)


def test_rights_that_are_taken_away_under_load_and_given_back_lose_nothing_and_end_nothing(
        stage_of_kafka, mortal_kafka):
    stage = stage_of_kafka
    relay = stage.relay({**_mutual(mortal_kafka), "http.listen": "127.0.0.1:0"})
    stage.insert()
    stage.wait_all_confirmed(30, relay)
    with Writer(stage, threads=2, pause=0.01):
        with mortal_kafka.deprived(CLIENT):
            relay.wait_log("event=permission_waiting", 60)
            assert get(relay, "/readyz")[0] == 503
        wait_until(lambda: get(relay, "/readyz")[0] == 200, 60, "it goes on")
    stage.wait_all_confirmed(60, relay)
    assert "allow IDEMPOTENT_WRITE" in relay.log("permission_waiting")[0]["reason"]
    assert relay.log("permission_granted") + relay.log("topic_found")  # the topic was forbidden too
    relay.stop()
    check_all(stage.read(), stage.truth.events())


def test_without_the_right_from_the_start_it_is_the_configuration(stage_of_kafka, mortal_kafka):
    stage = stage_of_kafka
    with mortal_kafka.deprived(CLIENT):
        relay = stage.new_relay(_mutual(mortal_kafka)).start()
        assert relay.wait_exit(40) == 2
    assert "allow IDEMPOTENT_WRITE" in relay.log("sink_failed")[0]["reason"]


def test_a_topic_that_an_acl_forbids_under_load_loses_nothing_and_stops_after_topic_wait(stage_of_kafka, mortal_kafka):
    stage = stage_of_kafka
    relay = stage.relay({**_mutual(mortal_kafka), "relay.topic.wait": "2s"})
    stage.insert_many(50, "a{0}")
    stage.wait_all_confirmed(30, relay)
    mortal_kafka.forbid(CLIENT, stage.topic())
    stage.insert_many(50, "a{0}")
    assert relay.wait_exit(60) == 3
    stage.wait_released()
    assert len(stage.read()) == 50 and stage.confirmed() < stage.truth.events()[50].end_lsn
    mortal_kafka.allow_again(CLIENT, stage.topic())
    relay.start()
    stage.wait_all_confirmed(60, relay)
    check_all(stage.read(), stage.truth.events())
