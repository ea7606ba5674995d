"""postgres.login against doubles that look at passwords as the providers' servers do, in front of a real server."""

import json
import time

import pytest

from lib.checker import check_all
from lib.doubles import checkers, clouds, endpoint
from lib.doubles.checkers import DeniedByServer
from lib.doubles.postgres_front import PostgresFront
from lib.doubles.sigv4 import Verifier
from lib.logins import Home, check, keeps_to_itself
from lib.relay import run_command
from lib.secrets import put
from lib.waiting import wait_until

REGION = "eu-central-1"


class Cloud:
    """One provider: its double, the checker of the server, the role, and how a relay finds it."""

    def __init__(self, double, check, user, changes, environment, secrets=()):
        self.double = double
        self.check = check
        self.user = user
        self.changes = changes
        self.environment = environment
        self._secrets = secrets

    def secrets(self):
        given = getattr(self.double, "given", [])
        return [*self._secrets, *(each if isinstance(each, str) else each.secret for each in given)]


def _rds_keys(folder, front, name):
    mine = clouds.new_credentials()
    return Cloud(None, checkers.rds(Verifier(mine), REGION, f"localhost:{front.port}"), name,
                 {"postgres.login": "aws-rds-iam", "postgres.login.region": REGION},
                 {"AWS_EC2_METADATA_DISABLED": "true", "AWS_ACCESS_KEY_ID": mine.key_id,
                  "AWS_SECRET_ACCESS_KEY": mine.secret, "AWS_SESSION_TOKEN": mine.token}, [mine.secret, mine.token])


def _rds_instance(folder, front, name):
    double = clouds.Ec2Metadata()
    return Cloud(double, checkers.rds(double.verifier, REGION, f"localhost:{front.port}"), name,
                 {"postgres.login": "aws-rds-iam", "postgres.login.region": REGION}, double.environment)


def _rds_role(folder, front, name):
    mine = clouds.new_credentials()
    double = clouds.Sts(Verifier(mine), region=REGION)
    return Cloud(double, checkers.rds(double.verifier, REGION, f"localhost:{front.port}"), name,
                 {"postgres.login": "aws-rds-iam", "postgres.login.region": REGION,
                  "postgres.login.role": "arn:aws:iam::123456789012:role/walpost"},
                 {"AWS_EC2_METADATA_DISABLED": "true", "AWS_ACCESS_KEY_ID": mine.key_id, **double.environment,
                  "AWS_SECRET_ACCESS_KEY": mine.secret, "AWS_SESSION_TOKEN": mine.token}, [mine.secret, mine.token])


def _azure_instance(folder, front, name):
    double = clouds.AzureMetadata()
    return Cloud(double, checkers.azure_postgres(double.key), f"{name}@example.org", {"postgres.login": "azure"},
                 double.environment)


def _azure_workload(folder, front, name):
    double = clouds.AzureAuthority()
    token = double.federated_token()
    file = put(folder / "federated-token", token)
    return Cloud(double, checkers.azure_postgres(double.key), f"{name}@example.org", {"postgres.login": "azure"},
                 {**double.environment, "AZURE_FEDERATED_TOKEN_FILE": str(file)}, [token])


def _google_instance(folder, front, name):
    double = clouds.GoogleMetadata()
    double.email = f"{name}@project.iam.gserviceaccount.com"
    return Cloud(double, checkers.google_postgres(double.good), double.email.removesuffix(".gserviceaccount.com"),
                 {"postgres.login": "gcp"}, double.environment)


def _google_account(folder, front, name):
    double = clouds.GoogleTokens()
    double.email = f"{name}@project.iam.gserviceaccount.com"
    file = put(folder / "account.json", json.dumps(double.service_account()))
    return Cloud(double, checkers.google_postgres(double.good), double.email.removesuffix(".gserviceaccount.com"),
                 {"postgres.login": "gcp"}, {"GOOGLE_APPLICATION_CREDENTIALS": str(file)},
                 double.key.pem.splitlines()[1:-1])


WAYS = [_rds_keys, _rds_instance, _rds_role, _azure_instance, _azure_workload, _google_instance, _google_account]


def _name(way):
    return way.__name__.lstrip("_")


@pytest.fixture
def enter(stage, authority, folder):
    """A relay's configuration and its home, for a cloud."""
    front = PostgresFront(authority.issue("server"), stage.postgres.port, None)
    ended, roles = [front], []

    def enter(way):
        cloud = way(folder, front, f"relay_{stage.name}")
        if cloud.double is not None:
            ended.append(cloud.double)
        front.check = cloud.check
        stage.create_topic(partitions=2)
        roles.append(cloud.user)
        stage.sql(f'CREATE ROLE "{cloud.user}" LOGIN SUPERUSER')
        home = Home(stage.folder, **cloud.environment)
        config = {"postgres.conninfo": front.conninfo(stage, cloud.user, authority), "http.listen": "127.0.0.1:0",
                  "log.level": "debug", **cloud.changes}
        return cloud, front, config, home

    yield enter
    for relay in stage.relays:
        relay.end()
    for each in ended:
        each.end()
    for role in roles:
        stage.sql(f'DROP ROLE "{role}"')


def _goes_on(stage, relay):
    stage.insert_many(100, "a{0}")
    stage.wait_all_confirmed(40, relay)


@pytest.mark.parametrize("way", WAYS, ids=_name)
def test_each_login_lets_a_relay_stream_and_speaks_to_nobody_else(stage, enter, way):
    cloud, front, config, home = enter(way)
    relay = stage.relay(config, **home.options)
    _goes_on(stage, relay)
    assert front.good and not front.bad, front.bad
    assert {login.who for login in front.good} == {cloud.user} and any(login.again for login in front.good)
    assert not [line for line in relay.log()
                if line["level"] in ("warn", "error") and line.get("facility") != "GETPID"]
    code, said = check(relay, home)
    assert code == 0 and "the password came from " in said, said
    keeps_to_itself(relay, home, [*cloud.secrets(), *(login.secret for login in front.logins)])
    relay.stop()
    known = {front.port, stage.kafka.port, *([cloud.double.port] if cloud.double else [])}
    assert home.ports() == known
    check_all(stage.read(), stage.truth.events())


@pytest.mark.parametrize("way", [_rds_instance, _azure_workload, _google_instance], ids=_name)
def test_each_connection_has_a_password_that_is_good_then(stage, enter, way):
    cloud, front, config, home = enter(way)
    # Its end is a whole second, up to one before what "expires_in" says: the last fifth is to be longer than that.
    cloud.double.lifetime = 15
    relay = stage.relay(config, **home.options)
    for _ in range(2):
        _goes_on(stage, relay)
        _grow_old(front, front.good[-1])
        front.cut()
    _goes_on(stage, relay)
    assert not front.bad and len(cloud.double.given) >= 3
    assert not [line for line in relay.log() if line["level"] == "error"]
    relay.stop()
    check_all(stage.read(), stage.truth.events())


def _grow_old(front, login=None):
    """Until the password of that login has ended; without one, of whichever login is the last by then."""
    wait_until(lambda: time.time() > (login or front.good[-1]).end, 30, "the password has ended")


def test_a_stream_outlives_its_password(stage, enter):
    """A server asks for it when one connects, and never again."""
    cloud, front, config, home = enter(_azure_instance)
    cloud.double.lifetime = 3
    relay = stage.relay(config, **home.options)
    _goes_on(stage, relay)
    cloud.double.fail(endpoint.broken(500), None)
    streams = [login for login in front.good if login.again]
    _grow_old(front)
    _goes_on(stage, relay)
    assert [login for login in front.good if login.again] == streams
    relay.stop()


def test_a_password_that_is_refused_is_told_with_its_cure_and_waited_for(stage, enter):
    cloud, front, config, home = enter(_rds_keys)
    relay = stage.relay(config, **home.options)
    _goes_on(stage, relay)
    front.refuse(DeniedByServer(f'PAM authentication failed for user "{cloud.user}"', "as told"))
    front.cut()
    stage.insert()
    relay.wait_log("PAM authentication failed", 40)
    assert relay.is_alive()
    front.refuse(None)
    _goes_on(stage, relay)
    keeps_to_itself(relay, home, [*cloud.secrets(), *(login.secret for login in front.logins)])
    relay.stop()
    check_all(stage.read(), stage.truth.events())


REFUSALS = {
    _rds_keys: (DeniedByServer('PAM authentication failed for user "relay"', "as told"), "rds-db:connect"),
    _azure_workload: (DeniedByServer("The access token has expired. Acquire a new token and retry", "as told", "28P01"),
                      "postgres.login"),
    _google_instance: (DeniedByServer('Cloud SQL IAM service account authentication failed for user "relay"', "as told",
                                      "28P01"), "postgres.login"),
}


@pytest.mark.parametrize("way", REFUSALS, ids=_name)
def test_check_says_that_the_server_refused_a_login_and_what_to_look_at(stage, enter, way):
    cloud, front, config, home = enter(way)
    denial, cure = REFUSALS[way]
    front.refuse(denial)
    relay = stage.new_relay(config, **home.options)
    code, said = check(relay, home)
    assert code == 1 and str(denial) in said and cure in said, said
    assert len(front.bad) >= 2, "a second one is tried, for the first may just have been replaced"
    for secret in [*cloud.secrets(), *(login.secret for login in front.logins)]:
        assert secret not in said


@pytest.mark.parametrize("fault", ["garbage", "refused", "silent"])
@pytest.mark.parametrize("way", [_rds_instance, _azure_workload, _google_instance], ids=_name)
def test_an_endpoint_that_answers_nonsense_is_told_by_check(stage, enter, way, fault):
    cloud, front, config, home = enter(way)
    faults = {"garbage": endpoint.garbage, "refused": endpoint.broken(403), "silent": endpoint.silent}
    cloud.double.fail(faults[fault], None)
    relay = stage.new_relay({**config, "postgres.login.timeout": "2s"}, **home.options)
    code, said = check(relay, home)
    assert code == 1 and not front.logins, said
    assert f":{cloud.double.port}" in said or "the metadata server" in said, said
    assert "<html>" not in said


def test_while_no_password_comes_the_relay_waits_and_goes_on_once_it_does(stage, enter):
    cloud, front, config, home = enter(_azure_instance)
    cloud.double.lifetime = 4
    relay = stage.relay({**config, "postgres.login.timeout": "1s"}, **home.options)
    _goes_on(stage, relay)
    _grow_old(front)
    cloud.double.fail(endpoint.broken(500), None)
    front.cut()
    stage.insert()
    relay.wait_log(f":{cloud.double.port}", 40)
    assert relay.is_alive()
    cloud.double.mend()
    _goes_on(stage, relay)
    relay.stop()
    check_all(stage.read(), stage.truth.events())


def test_every_command_logs_in_so(stage, enter):
    cloud, front, config, home = enter(_google_instance)
    relay = stage.relay(config, **home.options)
    _goes_on(stage, relay)
    for command in (("status",), ("diff",), ("slot", "list")):
        before = len(front.good)
        done = run_command(*command, "-c", relay.config_file, environment=home.environment)
        assert "assword" not in done.stderr and len(front.good) > before, (command, done.stderr)
    assert not front.bad
    relay.stop()
