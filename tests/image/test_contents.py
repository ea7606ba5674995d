"""What libraries open at run time is in the image: certificates, names, users, OpenSSL's modules. With real servers
that look who comes, and always a read-only root file system, no capability, and no more than the test mounts."""

import json
import os
import re
import subprocess

import pytest

from lib import process
from lib.certificates import Authority
from lib.checker import check_all
from lib.container import Jailed, MemoryLimit
from lib.doubles.clouds import Oidc
from lib.doubles.name_server import NameServer
from lib.guarded import GuardedKafka, GuardedPostgres
from lib.relay import config_text
from lib.stage import Stage
from lib.waiting import wait_until

CONF = "/etc/walpost/walpost.conf"
BUNDLE = "/etc/ssl/certs/ca-certificates.crt"
OWN = "/run/secrets/walpost-certificates"
USER, PASSWORD = "relay", "not so secret"
MEBIBYTE = 1 << 20


@pytest.fixture(scope="module")
def guarded_postgres(house):
    server = GuardedPostgres("18", house / "guarded-postgres").start()
    yield server
    server.end()


@pytest.fixture(scope="module")
def guarded_kafka(house):
    broker = GuardedKafka(house / "guarded-kafka").start()
    broker.set_password(USER, PASSWORD)
    yield broker
    broker.end()


@pytest.fixture
def guarded(guarded_postgres, guarded_kafka, folder):
    """A stage between servers that let walpost in by TLS only; Postgres with a certificate and a password."""
    made = Stage(guarded_postgres, guarded_kafka, folder)
    guarded_postgres.admit(made)
    made.create_topic(partitions=1)
    yield made
    made.end()


class Pod:
    """A container's mounts, and commands in it with one configuration."""

    def __init__(self, image, stage):
        self.image, self.stage, self.config = image, stage, {}
        self.mounts = {}
        self._files = stage.folder / "mounted"
        self._files.mkdir()
        self.mount("/etc/hosts", "127.0.0.1 localhost\n")  # by the container engine

    def mount(self, place, text):
        """A file of this text or these bytes, readable by the container's user alone."""
        path = self._files / place.rsplit("/")[-1]
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        path.chmod(0o400)
        os.chown(path, 65532, 65532)
        self.mounts[place] = path
        return place

    def trust(self, *authorities):
        """A bundle of the system's certificates and these, in place of the system's."""
        texts = [(self.image.root / BUNDLE[1:]).read_text(), *(each.certificate.read_text() for each in authorities)]
        self.mount(BUNDLE, "".join(texts))

    def run(self, *arguments, **more):
        self.mount(CONF, config_text(self.stage.config(self.config)))
        return Jailed(self.image, [*arguments, "-c", CONF], mounts=self.mounts, **more)

    def check(self):
        """Exit code of walpost check, and what it found, by name."""
        jail = self.run("check", "--json")
        try:
            code, said = jail.finish()
        finally:
            jail.end()
        return code, {finding["name"]: finding["what"] for finding in json.loads(said)}

    def by_system(self, **changes):
        """Postgres is who it says by the system's certificates; the client's key is in files of their own."""
        server = self.stage.postgres
        files = {
            "sslcert": self.mount(f"{OWN}/postgres.crt", server.client.certificate.read_text()),
            "sslkey": self.mount(f"{OWN}/postgres.key", server.client.key.read_text()),
        }
        self.config["postgres.conninfo"] = server.relay_conninfo(
            self.stage, **{"sslmode": "verify-full", "sslrootcert": "system", **files, **changes})

    def by_scram(self, **changes):
        """SASL_SSL by the system's certificates, which are librdkafka's default."""
        self.config.update({
            **self.stage.kafka.by_password("SCRAM-SHA-256", USER), "kafka.sasl.password": PASSWORD,
            "kafka.ssl.ca.location": None, **changes,
        })


@pytest.fixture
def pod(image, guarded):
    made = Pod(image, guarded)
    made.trust(guarded.postgres.authority, guarded.kafka.authority)
    made.by_system()
    made.by_scram()
    return made


def _openssl(*words):
    subprocess.run(["openssl", *map(str, words)], check=True, capture_output=True, stdin=subprocess.DEVNULL)


# --- certificates


def test_the_systems_certificates_are_debians(image):
    assert (image.root / BUNDLE[1:]).read_text().count("BEGIN CERTIFICATE") > 100
    # Where OpenSSL looks by default.
    assert os.readlink(image.root / "usr/lib/ssl/cert.pem") == BUNDLE
    assert os.readlink(image.root / "usr/lib/ssl/certs") == "/etc/ssl/certs"


@pytest.mark.parametrize("location", [None, "probe", BUNDLE])
def test_both_servers_are_known_by_the_systems_certificates(pod, location):
    pod.by_scram(**{"kafka.ssl.ca.location": location})
    code, findings = pod.check()
    assert code == 0, str(findings)


def test_servers_of_another_authority_are_refused(pod, guarded):
    pod.trust(guarded.postgres.stranger)
    code, findings = pod.check()
    assert code == 1
    assert "certificate verify failed" in findings["connection"] and "certificate verify failed" in findings["kafka"]


def test_a_logins_http_requests_trust_the_systems_certificates(pod, folder):
    """libcurl is loaded for them."""
    authority = Authority(folder, "identity")
    with Oidc(certificate=authority.issue("identity")) as endpoint:
        pod.config.update({
            "kafka.sasl.mechanisms": None, "kafka.sasl.username": None, "kafka.sasl.password": None,
            "kafka.login": "oidc", "kafka.sasl.oauthbearer.token.endpoint.url": endpoint.token_url,
            "kafka.sasl.oauthbearer.client.id": endpoint.client_id,
            "kafka.sasl.oauthbearer.client.secret": endpoint.secret,
        })
        assert "certificate" in pod.check()[1]["kafka"] and not endpoint.given
        pod.trust(pod.stage.postgres.authority, pod.stage.kafka.authority, authority)
        pod.check()
        assert endpoint.given


# --- keys


def test_encrypted_keys_are_read(pod, guarded):
    server, broker = guarded.postgres, guarded.kafka
    encrypted = guarded.folder / "encrypted.key"
    _openssl("pkcs8", "-topk8", "-in", server.client.key, "-out", encrypted, "-passout", "pass:opens")
    pod.by_system(sslkey=pod.mount(f"{OWN}/encrypted.key", encrypted.read_text()), sslpassword="opens")
    client = broker.authority.issue("client")
    _openssl("pkcs8", "-topk8", "-in", client.key, "-out", encrypted, "-passout", "pass:opens too")
    pod.config.update({
        **broker.by_certificate(None, pod.mount(f"{OWN}/kafka.crt", client.certificate.read_text()),
                                pod.mount(f"{OWN}/kafka.key", encrypted.read_text())),
        "kafka.ssl.key.password": "opens too",
        "kafka.sasl.mechanisms": None, "kafka.sasl.username": None, "kafka.sasl.password": None,
    })
    code, findings = pod.check()
    assert code == 0, str(findings)
    pod.config["kafka.ssl.key.password"] = "opens nothing"
    assert pod.check()[0] != 0


def test_a_keystore_of_old_needs_the_legacy_provider(pod, guarded):
    """RC2, which OpenSSL 3 has in a module of its own: in the image's configuration it is not active."""
    client = guarded.kafka.authority.issue("client")
    store = guarded.folder / "client.p12"
    _openssl("pkcs12", "-export", "-legacy", "-descert", "-in", client.certificate, "-inkey", client.key, "-out", store,
             "-passout", "pass:opens", "-keypbe", "PBE-SHA1-RC2-40", "-certpbe", "PBE-SHA1-RC2-40", "-macalg", "sha1")
    pod.config.update({
        **guarded.kafka.by_certificate(None, None, None),
        "kafka.ssl.keystore.location": pod.mount(f"{OWN}/client.p12", store.read_bytes()),
        "kafka.ssl.keystore.password": "opens",
        "kafka.sasl.mechanisms": None, "kafka.sasl.username": None, "kafka.sasl.password": None,
    })
    assert pod.check()[0] != 0
    configured = (pod.image.root / "etc/ssl/openssl.cnf").read_text()
    activated = re.sub(r"^\[default_sect\]$.*?^# activate = 1$",
                       "legacy = legacy_sect\n[legacy_sect]\nactivate = 1\n[default_sect]\nactivate = 1",
                       configured, flags=re.MULTILINE | re.DOTALL)
    assert activated != configured
    pod.mount("/etc/ssl/openssl.cnf", activated)
    code, findings = pod.check()
    assert code == 0, str(findings)


# --- logins that it does not have


def test_gssapi_for_kafka_fails_with_its_reason(pod):
    """By the protocol of Kafka 0.9, in which a client does not ask the broker for its mechanisms."""
    pod.by_scram(**{
        "kafka.sasl.mechanisms": "GSSAPI", "kafka.sasl.username": None, "kafka.sasl.password": None,
        "kafka.sasl.kerberos.keytab": f"{OWN}/keytab", "kafka.sasl.kerberos.principal": "walpost@EXAMPLE.ORG",
        "kafka.api.version.request": "false", "kafka.broker.version.fallback": "0.9.0",
    })
    code, findings = pod.check()
    assert code == 1 and "no mechanism available" in findings["kafka"], str(findings)
    assert "the container image has no Kerberos" in findings["kafka"]
    relay = pod.run("run", log=pod.stage.folder / "log")
    try:
        assert relay.finish()[0] == 2
        assert "the container image has no Kerberos" in relay.log_text()
    finally:
        relay.end()


def test_gssapi_for_postgres_fails_with_its_reason(pod):
    pod.by_system(gssencmode="require", sslmode="disable", sslrootcert=None, sslcert=None, sslkey=None)
    code, findings = pod.check()
    assert code == 1 and "GSSAPI" in findings["connection"], str(findings)


# --- memory


def test_it_relays_with_tls_and_passwords_on_both_sides_in_64_mebibytes(pod, guarded):
    try:
        limit = MemoryLimit(64 * MEBIBYTE)
    except OSError as why:
        pytest.skip(f"this machine lets us make no control group for memory: {why}")
    try:
        relay = pod.run("run", within=limit.within, log=guarded.folder / "log")
        try:
            wait_until(guarded.is_streaming, 30, "it streams", relay.log_text)
            for _ in range(10):
                guarded.insert_many(2000, "a{0}", size=1000)
            end = guarded.wal_end()
            wait_until(lambda: guarded.confirmed() >= end, 60, "all is confirmed", relay.log_text)
            print(f"image: under load it held {process.peak_rss_kb(relay.pid) / 1024:.0f} MiB at most")
            assert relay.stop() == 0, relay.log_text()
        finally:
            relay.end()
    finally:
        limit.end()
    check_all(guarded.read(), guarded.truth.events())


# --- names and users


def _delivers(stage, relay):
    """It does, and ends in good order."""
    try:
        relay.wait_log("-> streaming")
        stage.insert_many(100, "a{0}")
        end = stage.wal_end()
        wait_until(lambda: stage.confirmed() >= end, 30, "all is confirmed", relay.log_text)
        assert relay.stop() == 0, relay.log_text()
    finally:
        relay.end()


@pytest.fixture
def named(image, stage):
    """A pod whose servers have the names db.walpost.test and kafka.walpost.test."""
    made = Pod(image, stage)
    stage.create_topic(partitions=1)
    made.config["postgres.conninfo"] = stage.postgres.conninfo(
        stage.database, host="db.walpost.test", sslmode="disable")
    made.config["kafka.bootstrap.servers"] = f"kafka.walpost.test:{stage.kafka.port}"
    return made


NAMES = {"db.walpost.test", "kafka.walpost.test"}


def test_names_are_resolved_by_dns(named, stage):
    server = NameServer(dict.fromkeys(NAMES, "127.0.0.1"))
    try:
        named.mount("/etc/resolv.conf", f"nameserver {server.address}\n")
        _delivers(stage, named.run("run", log=stage.folder / "log"))
        assert NAMES <= server.asked
    finally:
        server.end()


def test_names_in_etc_hosts_come_first(named, stage):
    server = NameServer({})
    try:
        named.mount("/etc/resolv.conf", f"nameserver {server.address}\n")
        named.mount("/etc/hosts", f"127.0.0.1 localhost {' '.join(NAMES)}\n")
        _delivers(stage, named.run("run", log=stage.folder / "log"))
        assert not NAMES & server.asked
    finally:
        server.end()


@pytest.mark.parametrize("user", ["65532:65532", "1000650000:0"])
def test_two_variables_suffice_for_its_user_and_for_an_arbitrary_one(image, postgres, kafka, folder, user):
    """A number without an entry in /etc/passwd, and the group root, are what OpenShift gives."""
    stage = Stage(postgres, kafka, folder, set_up=False)
    variables = {
        "WALPOST__POSTGRES__CONNINFO": postgres.conninfo(stage.database),
        "WALPOST__KAFKA__BOOTSTRAP_SERVERS": kafka.address,
    }
    stage.slot = "walpost"
    stage.also_drops(stage.slot)
    try:
        jail = Jailed(image, ["init"], environment=variables, user=user)
        code, said = jail.finish()
        assert code == 0, said
        if "outbox.event.order" not in kafka.topics():
            kafka.create_topic("outbox.event.order", partitions=1)
        before = len(kafka.read("outbox.event.order"))
        relay = Jailed(image, image.facts["Cmd"], environment=variables, user=user, log=stage.folder / "log")
        try:
            wait_until(stage.is_streaming, 30, "it streams", relay.log_text)
            identity = stage.insert()
            wait_until(lambda: len(kafka.read("outbox.event.order")) > before, 30, "it arrives", relay.log_text)
            assert kafka.read("outbox.event.order")[-1].id == identity
            number, group = user.split(":")
            status = open(f"/proc/{relay.pid}/status").read()
            assert f"\nUid:\t{number}\t" in status and f"\nGid:\t{group}\t" in status
            assert relay.stop() == 0, relay.log_text()
        finally:
            relay.end()
    finally:
        stage.end()


# --- time zones


def test_a_time_zone_by_its_name(image):
    zones = image.root / "usr/share/zoneinfo"
    for name in ("UTC", "Europe/Berlin", "America/New_York", "Asia/Tokyo"):
        assert (zones / name).resolve().read_bytes().startswith(b"TZif")
