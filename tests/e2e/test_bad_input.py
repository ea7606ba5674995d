"""Whatever is wrong, one clear sentence says what, and what to do; nothing is confirmed, nothing lost."""

import socket
import subprocess
import threading

import pytest

from lib.asked import get
from lib.ports import take_port
from lib.relay import run_command


def _fails(stage, changes, code, *words, deadline=30, **options):
    """`walpost run` ends with `code` and says these words; the slot has not moved."""
    before = stage.confirmed()
    relay = stage.new_relay(changes, **options).start()
    said = relay.wait_exit(deadline), relay.log_text()
    assert said[0] == code, said[1]
    for word in words:
        assert word in said[1], said[1]
    assert stage.confirmed() == before
    return said[1]


@pytest.mark.parametrize("key, value, words", [
    ("relay.in_flight.event", "5", ("relay.in_flight.event", "relay.in_flight.events")),
    ("relay.in_flight.events", "0", ("relay.in_flight.events", "1048576")),
    ("relay.in_flight.events", "many", ("relay.in_flight.events", "many")),
    ("relay.in_flight.bytes", "1", ("relay.in_flight.bytes",)),
    ("relay.feedback.interval", "5 parsecs", ("relay.feedback.interval", "parsecs")),
    ("relay.sink", "kafla", ("relay.sink", "kafka", "stdout")),
    ("relay.epoch", "65536", ("relay.epoch", "65535")),
    ("relay.topic.wait", "-1s", ("relay.topic.wait",)),
    ("relay.shutdown.timeout", "0", ("relay.shutdown.timeout",)),
    ("log.level", "loud", ("log.level", "debug", "error")),
    ("log.format", "xml", ("log.format", "logfmt", "json")),
    ("outbox.envelope", "avro", ("outbox.envelope", "raw", "protobuf")),
    ("outbox.key.null", "maybe", ("outbox.key.null", "stop", "allow")),
    ("outbox.table", "a.b.c", ("outbox.table", "a.b.c")),
    ("outbox.topic.regex", "(", ("outbox.topic.regex",)),
    ("outbox.topic.replacement", "${nobody}", ("outbox.topic.replacement", "nobody")),
    ("outbox.headers.standard", "id,position", ("outbox.headers.standard", "walpost-position")),
    ("outbox.headers", "a:b:c:d,,", ("outbox.headers",)),
    ("outbox.ignore", '"open', ("outbox.ignore",)),
    ("outbox.leaves", 'a.b.c.d', ("outbox.leaves",)),
    ("outbox.column.id", "", ("outbox.column.id",)),
    ("outbox.column.key", "", ("outbox.column.key",)),
    ("outbox.column.payload", "", ("outbox.column.payload",)),
    ("outbox.route.by", "", ("outbox.route.by",)),
    ("postgres.slot", "Upper-Case", ("postgres.slot",)),
    ("postgres.publication", "", ("postgres.publication",)),
    ("postgres.conninfo", "hots=nowhere", ("postgres.conninfo", "hots")),
    ("postgres.connect_timeout", "1", ("postgres.connect_timeout",)),
    ("postgres.decoding_work_mem", "much", ("postgres.decoding_work_mem",)),
    ("postgres.binary", "yes", ("postgres.binary", "off", "on", "auto")),
    ("postgres.allow_synchronous", "perhaps", ("postgres.allow_synchronous", "yes", "no")),
    ("nothing.here", "1", ("nothing",)),
    ("kafka.no.such.property", "1", ("no.such.property",)),
    ("kafka.acks", "1", ("acks",)),
    ("kafka.request.required.acks", "1", ("acks",)),
    ("kafka.enable.idempotence", "false", ("enable.idempotence",)),
    ("kafka.enable.gapless.guarantee", "false", ("enable.gapless.guarantee",)),
    ("kafka.message.timeout.ms", "5000", ("message.timeout.ms",)),
    ("kafka.delivery.timeout.ms", "5000", ("timeout.ms",)),
    ("kafka.plugin.library.paths", "/tmp/x.so", ("plugin.library.paths",)),
    ("kafka.delivery.report.only.error", "true", ("delivery.report.only.error",)),
    ("kafka.transactional.id", "me", ("transactional.id",)),
    ("kafka.compression.type", "rar", ("compression.type", "rar")),
    ("kafka.linger.ms", "soon", ("linger.ms", "soon")),
    ("kafka.bootstrap.servers", None, ("bootstrap.servers",)),
    ("postgres.conninfo", None, ("postgres.conninfo",)),
])
def test_a_wrong_value_ends_with_code_2_naming_it(stage, key, value, words):
    said = _fails(stage, {key: value}, 2, *words)
    if value:
        assert ".conf:" in said, "the file and line are not named"


def test_several_mistakes_are_told_at_once(stage):
    _fails(stage, {"relay.sink": "x", "log.level": "y", "outbox.envelope": "z"}, 2, "relay.sink", "log.level",
           "outbox.envelope")


def test_a_file_that_is_not_there_or_not_readable_is_named(folder):
    done = run_command("run", "-c", folder / "none.conf")
    assert done.returncode == 2 and "none.conf" in done.stderr
    done = run_command("run", "-c", folder)
    assert done.returncode == 2 and str(folder) in done.stderr


def test_a_file_of_garbage_is_refused(folder):
    path = folder / "garbage.conf"
    path.write_bytes(bytes(range(256)) * 20)
    done = run_command("run", "-c", path)
    assert done.returncode == 2 and "garbage.conf" in done.stderr


def test_the_environment_wins_over_the_file_and_set_over_both(stage):
    text = _fails(stage, {"log.format": "json"}, 2, "relay.sink", "WALPOST__RELAY__SINK",
                  environment={"WALPOST__RELAY__SINK": "wrong"})
    assert "wrong" in text
    _fails(stage, {}, 2, "--set", arguments=["--set", "relay.sink=wronger"])


def test_an_unknown_variable_of_the_environment_only_warns(stage):
    relay = stage.relay(environment={"WALPOST__RELAY__SINKK": "x"})
    assert "WALPOST__RELAY__SINKK" in relay.log_text()


def test_a_secret_may_come_from_a_file_and_is_never_said(stage, folder):
    secret = folder / "password"
    secret.write_text("hunter2secret\n")
    relay = stage.relay({"log.level": "debug"}, environment={
        "WALPOST__POSTGRES__PASSWORD_FILE": str(secret), "WALPOST__KAFKA__SASL_PASSWORD": "hunter3secret"})
    relay.stop()
    assert "secret" not in relay.log_text()
    shown = run_command("config", "show", "-c", relay.config_file,
                        environment={"WALPOST__POSTGRES__PASSWORD_FILE": str(secret),
                                     "WALPOST__KAFKA__SASL_PASSWORD": "hunter3secret"})
    assert shown.returncode == 0 and "hunter" not in shown.stdout


def test_a_server_that_refuses_is_tried_again_until_it_is_there(make_stage, own_postgres):
    stage = make_stage(postgres=own_postgres)
    stage.create_topic()
    own_postgres.stop()
    relay = stage.new_relay().start()
    relay.wait_until(lambda: len(relay.log("stream_broken")) >= 2, 20, "it tries again")
    own_postgres.start()
    stage.wait_streaming(relay, 40)
    stage.insert()
    stage.wait_all_confirmed(20, relay)


def test_a_database_that_does_not_exist_is_a_clear_failure(stage):
    _fails(stage, {"postgres.conninfo": stage.postgres.conninfo("nowhere_at_all")}, 2, "nowhere_at_all")


def test_a_wrong_password_is_a_clear_failure(make_stage, own_postgres):
    stage = make_stage(postgres=own_postgres)
    own_postgres.query("CREATE ROLE guarded LOGIN REPLICATION PASSWORD 'right'")
    hba = own_postgres.data / "pg_hba.conf"
    hba.write_text("host all guarded 127.0.0.1/32 scram-sha-256\n" + hba.read_text())
    own_postgres.reload_conf()
    conninfo = own_postgres.conninfo(stage.database, user="guarded", password="wrong")
    said = _fails(stage, {"postgres.conninfo": conninfo}, 2, "guarded")
    assert "password=wrong" not in said


def test_a_role_without_replication_is_told_what_it_needs(stage):
    role = stage.name + "_plain"
    stage.postgres.query(f"CREATE ROLE {role} LOGIN")
    try:
        conninfo = stage.postgres.conninfo(stage.database, user=role)
        _fails(stage, {"postgres.conninfo": conninfo}, 2, "REPLICATION", "postgres.conninfo")
    finally:
        stage.postgres.query(f"DROP ROLE {role}")


def test_tls_that_the_server_does_not_have_is_a_clear_failure(stage):
    conninfo = stage.postgres.conninfo(stage.database, sslmode="require")
    _fails(stage, {"postgres.conninfo": conninfo}, 2, "SSL")


@pytest.fixture
def tls_postgres(own_postgres, folder):
    """A server with a certificate that its own authority signed; its path too."""
    key, certificate = own_postgres.folder / "server.key", own_postgres.folder / "server.crt"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=db.example",
         "-addext", "subjectAltName=DNS:db.example", "-keyout", key, "-out", certificate],
        check=True, capture_output=True,
    )
    key.chmod(0o600)
    own_postgres.hand_over(key)
    own_postgres.restart(ssl="on", ssl_cert_file=certificate, ssl_key_file=key)
    return own_postgres, certificate


def test_a_certificate_that_does_not_fit_is_refused_and_one_that_fits_is_taken(make_stage, tls_postgres):
    postgres, certificate = tls_postgres
    stage = make_stage(postgres=postgres)
    stage.create_topic()

    def conninfo(**tls):
        return {"postgres.conninfo": postgres.conninfo(stage.database, **tls)}

    _fails(stage, conninfo(sslmode="verify-full", sslrootcert=certificate), 2, "certificate")
    _fails(stage, conninfo(sslmode="verify-ca", sslrootcert="/nowhere/ca.crt"), 2, "/nowhere/ca.crt")
    stage.relay(conninfo(sslmode="verify-full", sslrootcert=certificate, host="db.example", hostaddr="127.0.0.1"))
    stage.insert()
    stage.wait_all_confirmed()
    assert stage.sql("SELECT ssl FROM pg_stat_ssl JOIN pg_replication_slots ON pid = active_pid") == [(True,)]
    assert len(stage.read()) == 1


def test_a_server_that_talks_garbage_is_left_and_tried_again(stage):
    with socket.create_server(("127.0.0.1", 0)) as garbage:

        def answer():
            while True:
                try:
                    connection, _ = garbage.accept()
                    with connection:
                        connection.recv(8)
                        connection.sendall(b"\x00\xffHTTP/1.1 400 Bad Request\r\n\r\n" * 50)
                except OSError:
                    return

        threading.Thread(target=answer, daemon=True).start()
        conninfo = stage.postgres.conninfo(stage.database, port=garbage.getsockname()[1])
        relay = stage.new_relay({"postgres.conninfo": conninfo}).start()
        relay.wait_until(lambda: len(relay.log("stream_broken")) >= 2, 30, "it tries again")
        relay.stop()
        garbage.shutdown(socket.SHUT_RDWR)


@pytest.mark.alone
def test_a_broker_that_is_not_there_is_waited_for_and_said(stage):
    relay = stage.new_relay({"kafka.bootstrap.servers": f"127.0.0.1:{take_port()}", "http.listen": "127.0.0.1:0"})
    relay.start()
    stage.wait_streaming(relay)
    before = stage.insert() and stage.truth.events()[0].end_lsn
    relay.wait_log("sink_unreachable", 20)
    assert stage.confirmed() < before
    code, text, _ = get(relay, "/readyz")
    assert code == 503 and "Kafka has not been reached yet" in text
    assert get(relay, "/livez")[0] == 200
    relay.stop_within(8)  # far below relay.shutdown.timeout: nothing was sent


def test_a_broker_that_talks_garbage_is_no_reason_to_confirm(stage):
    relay = stage.new_relay(
        {"kafka.bootstrap.servers": f"127.0.0.1:{stage.postgres.port}", "relay.shutdown.timeout": "1s"}).start()
    stage.wait_streaming(relay)
    stage.insert()
    relay.wait_log("sink_unreachable", 20)
    assert stage.confirmed() < stage.truth.events()[0].end_lsn
    relay.stop_within(15)


@pytest.mark.parametrize("missing, code", [
    ("publication", 3),
    ("table", 2),
])
def test_what_is_missing_in_postgres_is_named_with_its_cure(stage, missing, code):
    stage.sql(f"DROP PUBLICATION {stage.publication}")
    if missing == "table":
        stage.sql("DROP TABLE outbox")
    _fails(stage, {}, code, "CREATE " + missing.upper())


def test_a_slot_that_is_missing_stops_with_code_3_and_its_cure(stage):
    stage.sql("SELECT pg_drop_replication_slot(%s)", (stage.slot,))
    relay = stage.new_relay().start()
    assert relay.wait_exit() == 3
    assert f"there is no slot {stage.slot}. " in relay.log_text() and "walpost backfill --missing" in relay.log_text()


@pytest.mark.on("all")
def test_a_slot_that_the_server_has_invalidated_stops_with_code_3(make_stage, own_postgres):
    stage = make_stage(postgres=own_postgres)
    stage.sql("SELECT pg_drop_replication_slot(%s)", (stage.name + "_truth",))
    own_postgres.set_conf(max_slot_wal_keep_size="1MB", max_wal_size="32MB", min_wal_size="32MB")
    stage.sql("CREATE TABLE bulk (t text)")

    def is_lost():
        stage.sql("INSERT INTO bulk SELECT repeat('x', 1000) FROM generate_series(1, 20000)")
        stage.sql("SELECT pg_switch_wal()")
        stage.sql("CHECKPOINT")
        return stage.sql("SELECT wal_status FROM pg_replication_slots WHERE slot_name = %s", (stage.slot,)) == [
            ("lost",)]

    stage.wait_until(is_lost, 60, "the slot is lost")
    relay = stage.new_relay().start()
    assert relay.wait_exit() == 3
    assert stage.slot in relay.log_text() and "invalidated" in relay.log_text()


@pytest.mark.parametrize("names", ["*", "ANY 1 (a, walpost)"])
def test_a_relay_that_synchronous_standby_names_would_count_is_refused_unless_allowed(
        make_stage, own_postgres, names):
    stage = make_stage(postgres=own_postgres)
    stage.create_topic()
    own_postgres.set_conf(synchronous_commit="local")
    own_postgres.set_conf(synchronous_standby_names=names)
    _fails(stage, {}, 2, "synchronous_standby_names", "postgres.allow_synchronous")
    stage.relay({"postgres.allow_synchronous": "yes"})
    stage.insert()
    stage.wait_all_confirmed()
    own_postgres.set_conf(synchronous_standby_names="")


@pytest.mark.parametrize("arguments, words", [
    ((), ("--help",)),
    (("rnu",), ("rnu", "run")),
    (("run", "--colour"), ("--colour",)),
    (("run", "--set", "relay.sink"), ("--set", "relay.sink")),
    (("run", "-c"), ("-c",)),
    (("slot", "destroy"), ("destroy",)),
    (("config", "explain"), ("explain",)),
])
def test_wrong_usage_ends_with_code_2_and_help(arguments, words):
    done = run_command(*arguments)
    assert done.returncode == 2
    for word in words:
        assert word in done.stderr + done.stdout
