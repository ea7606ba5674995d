"""Logging in with what a program prints: passwords for Postgres, tokens for Kafka."""

import time

import pytest

from lib.checker import check_all
from lib.kafka import Kafka
from lib.ports import take_port
from lib.relay import run_command

_DOOR = """
listeners=PLAINTEXT://127.0.0.1:{{port}},TOKEN://127.0.0.1:{token},CONTROLLER://127.0.0.1:{{controller}}
advertised.listeners=PLAINTEXT://127.0.0.1:{{port}},TOKEN://127.0.0.1:{token}
listener.security.protocol.map=PLAINTEXT:PLAINTEXT,TOKEN:SASL_PLAINTEXT,CONTROLLER:PLAINTEXT
sasl.enabled.mechanisms=OAUTHBEARER
listener.name.token.oauthbearer.sasl.jaas.config=\
org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule required;
connections.max.reauth.ms=3600000
"""

# An unsigned JWT that is as good as any to the validator that Kafka has for tests; $1: its lifetime in seconds.
_PRINT_TOKEN = r"""
echo >> "$0.count"
b64() { printf %s "$1" | base64 -w0 | tr '+/' '-_' | tr -d '='; }
now=$(date +%s)
echo "$(b64 '{"alg":"none"}').$(b64 "{\"sub\":\"orders\",\"iat\":$now,\"exp\":$((now + $1))}")."
"""


@pytest.fixture(scope="module")
def token_kafka(tmp_path_factory):
    """A node with a door that lets in by token only."""
    port = take_port()
    kafka = Kafka(tmp_path_factory.mktemp("token-kafka") / "node", _DOOR.format(token=port))
    kafka.token_address = f"127.0.0.1:{port}"
    kafka.start()
    yield kafka
    kafka.end()


def _script(folder, text):
    file = folder / "token.sh"
    file.write_text(text)
    file.chmod(0o755)
    return file


def _by_command(kafka, command, **more):
    return {"kafka.bootstrap.servers": kafka.token_address, "kafka.security.protocol": "SASL_PLAINTEXT",
            "kafka.token_command": command, **more}


def test_a_relay_streams_on_while_tokens_of_fifteen_seconds_expire(make_stage, token_kafka, folder, scaled):
    stage = make_stage(kafka=token_kafka)
    stage.create_topic()
    script = _script(folder, _PRINT_TOKEN)
    relay = stage.relay(_by_command(token_kafka, f"sh {script} 15"))
    until = time.monotonic() + scaled(30, 120)
    while time.monotonic() < until:
        stage.insert_many(50, "a{0}")
        stage.wait_all_confirmed(30, relay)
    assert (folder / "token.sh.count").read_text().count("\n") >= 3
    check_all(stage.read(), stage.truth.events())
    assert not [line for line in relay.log() if line["level"] in ("warn", "error") and line.get("facility") != "GETPID"]
    ran = run_command("check", "-c", relay.config_file)
    assert "the token came from the command, for orders, expires in " in ran.stdout
    relay.stop()


def _set_password(stage, password):
    stage.sql(f"SET password_encryption = 'scram-sha-256'; ALTER ROLE relay PASSWORD '{password}'")


@pytest.mark.on("all")
def test_a_password_that_a_program_prints_is_fetched_for_each_connection(make_stage, guarded_postgres, folder):
    stage = make_stage(postgres=guarded_postgres)
    guarded_postgres.admit(stage)
    stage.create_topic()
    password = folder / "password"
    script = _script(folder, f'echo >> "$0.count"\ncat {password}\n')
    password.write_text("first one\n")
    _set_password(stage, "first one")
    relay = stage.relay({
        "postgres.conninfo": guarded_postgres.relay_conninfo(stage, password=None),
        "postgres.password_command": f"sh {script}",
    })
    for number in range(3):
        stage.insert_many(100, "a{0}")
        stage.wait_all_confirmed(30, relay)
        password.write_text(f"number {number}\n")
        _set_password(stage, f"number {number}")
        stage.sql("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'relay'")
    stage.insert_many(100, "a{0}")
    stage.wait_all_confirmed(30, relay)
    check_all(stage.read(), stage.truth.events())
    assert "number" not in relay.log_text() and "first one" not in relay.log_text()
    ran = run_command("check", "-c", relay.config_file)
    assert "the password came from the command, no lifetime stated" in ran.stdout
    relay.stop()


@pytest.mark.on("all")
def test_a_refused_password_is_fetched_once_more_and_then_told(make_stage, guarded_postgres, folder):
    stage = make_stage(postgres=guarded_postgres)
    guarded_postgres.admit(stage)
    _set_password(stage, "right")
    script = _script(folder, 'echo >> "$0.count"\n[ $(wc -l < "$0.count") -lt 2 ] && echo wrong || echo right\n')
    changes = {"postgres.conninfo": guarded_postgres.relay_conninfo(stage, password=None),
               "postgres.password_command": f"sh {script}"}
    stage.create_topic()
    relay = stage.relay(changes)
    stage.wait_streaming(relay)
    relay.stop()
    script.write_text("echo wrong\n")
    ran = run_command("check", "-c", relay.config_file)
    assert ran.returncode == 1
    assert "the password came from postgres.login or postgres.password_command" in ran.stdout


# Nothing of this machine is a credential, and no cloud is asked.
_NOWHERE = {"AWS_EC2_METADATA_DISABLED": "true", "HOME": "/nonexistent"}


def test_a_login_that_finds_no_credentials_says_where_it_looked(stage):
    changes = {
        "kafka.bootstrap.servers": "127.0.0.1:1", "kafka.login": "aws-msk-iam", "kafka.login.region": "eu-west-1",
        "kafka.login.role": "arn:aws:iam::123456789012:role/relay", "kafka.login.timeout": "5s",
        "postgres.conninfo": "host=127.0.0.1 port=1 user=relay sslmode=require", "postgres.login": "aws-rds-iam",
        "postgres.login.region": "eu-west-1", "postgres.login.role": "", "postgres.login.timeout": "5s",
    }
    relay = stage.new_relay(changes)
    ran = run_command("check", "-c", relay.config_file, environment=_NOWHERE)
    assert ran.returncode == 1
    assert ran.stdout.count("AWS_ACCESS_KEY_ID") == 2


def test_a_token_file_and_no_login_by_file_is_refused(stage):
    relay = stage.new_relay({"kafka.token_file": "/run/token"})
    ran = run_command("check", "-c", relay.config_file)
    assert ran.returncode == 2
    assert "kafka.token_file is set without kafka.login = file" in ran.stderr
