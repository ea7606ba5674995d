"""kafka.login against doubles that look at tokens as the providers' brokers do, in front of a real node."""

import json
import shutil
import time

import pytest

from lib.checker import check_all
from lib.doubles import checkers, clouds, endpoint
from lib.doubles.checkers import Denied
from lib.doubles.sigv4 import Verifier
from lib.doubles.tokens import Key
from lib.logins import Home, check, keeps_to_itself
from lib.oauth_kafka import OauthKafka
from lib.secrets import put
from lib.waiting import check_in_time

REGION = "eu-central-1"
ROLE = "arn:aws:iam::123456789012:role/walpost"


class Cloud:
    """One provider, and how a relay finds it."""

    def __init__(self, double, check, changes, environment=None, secrets=()):
        self.double = double  # or None: no endpoint
        self.check = check  # of the broker
        self.changes = changes
        self.environment = environment or {}
        self._secrets = secrets

    def secrets(self):
        """All that it has given, and what it was asked with."""
        given = getattr(self.double, "given", [])
        return [*self._secrets, *(each if isinstance(each, str) else each.secret for each in given),
                *(each.token for each in given if not isinstance(each, str))]

    @property
    def asked(self):
        return [] if self.double is None else self.double.asked


def _aws(double, environment, verifier=None, secrets=(), **changes):
    verifier = verifier or double.verifier
    return Cloud(double, checkers.msk(verifier, REGION),
                 {"kafka.login": "aws-msk-iam", "kafka.login.region": REGION, **changes},
                 {"AWS_EC2_METADATA_DISABLED": "true", **environment}, secrets)


def _keys(credentials):
    return {"AWS_ACCESS_KEY_ID": credentials.key_id, "AWS_SECRET_ACCESS_KEY": credentials.secret,
            **({"AWS_SESSION_TOKEN": credentials.token} if credentials.token else {})}


def _aws_keys(folder):
    mine = clouds.new_credentials(token=False)
    return _aws(None, _keys(mine), Verifier(mine), [mine.secret])


def _aws_session(folder):
    mine = clouds.new_credentials()
    return _aws(None, _keys(mine), Verifier(mine), [mine.secret, mine.token])


def _aws_shared_file(folder):
    mine, other = clouds.new_credentials(), clouds.new_credentials()
    file = put(folder / "credentials", "".join(
        f"[{name}]\naws_access_key_id = {each.key_id}\naws_secret_access_key = {each.secret}\n"
        f"aws_session_token = {each.token}\n\n" for name, each in (("default", other), ("shop", mine))))
    return _aws(None, {"AWS_SHARED_CREDENTIALS_FILE": str(file), "AWS_CONFIG_FILE": str(folder / "none"),
                       "AWS_PROFILE": "shop"}, Verifier(mine), [mine.secret, mine.token])


def _aws_web_identity(folder):
    sts = clouds.Sts(region=REGION)
    token = sts.web_token()
    file = put(folder / "web-token", token)
    return _aws(sts, {**sts.environment, "AWS_WEB_IDENTITY_TOKEN_FILE": str(file), "AWS_ROLE_ARN": ROLE},
                secrets=[token])


def _aws_role(folder):
    mine = clouds.new_credentials()
    sts = clouds.Sts(Verifier(mine), region=REGION)
    return _aws(sts, {**sts.environment, **_keys(mine)}, secrets=[mine.secret, mine.token],
                **{"kafka.login.role": ROLE})


def _aws_container(folder):
    double = clouds.ContainerCredentials(folder)
    return _aws(double, double.environment, secrets=[double.token])


def _aws_instance(folder):
    double = clouds.Ec2Metadata()
    return _aws(double, {"AWS_EC2_METADATA_DISABLED": "false", **double.environment})


def _azure(double, environment, secrets=()):
    return Cloud(double, checkers.azure_event_hubs(double.key, "localhost"), {"kafka.login": "azure"},
                 environment, secrets)


def _azure_instance(folder):
    double = clouds.AzureMetadata()
    return _azure(double, double.environment)


def _azure_workload(folder):
    double = clouds.AzureAuthority()
    token = double.federated_token()
    file = put(folder / "federated-token", token)
    return _azure(double, {**double.environment, "AZURE_FEDERATED_TOKEN_FILE": str(file)}, [token])


def _azure_secret(folder):
    double = clouds.AzureAuthority()
    return _azure(double, {**double.environment, "AZURE_CLIENT_SECRET": double.secret}, [double.secret])


def _azure_app_service(folder):
    double = clouds.AppService()
    return _azure(double, double.environment, [double.secret])


def _google(double, environment, secrets=()):
    return Cloud(double, checkers.google(double.good), {"kafka.login": "gcp"}, environment, secrets)


def _google_instance(folder):
    double = clouds.GoogleMetadata()
    return _google(double, double.environment)


def _google_account(folder):
    double = clouds.GoogleTokens()
    file = put(folder / "account.json", json.dumps(double.service_account()))
    return _google(double, {"GOOGLE_APPLICATION_CREDENTIALS": str(file)}, double.key.pem.splitlines()[1:-1])


def _oidc(folder, **options):
    double = clouds.Oidc(**options)
    secret = put(folder / "client-secret", double.secret)
    return Cloud(double, checkers.oidc(double.key), {
        "kafka.login": "oidc", "kafka.sasl.oauthbearer.token.endpoint.url": double.token_url,
        "kafka.sasl.oauthbearer.client.id": double.client_id, "kafka.sasl.oauthbearer.scope": double.scope,
    }, {"WALPOST__KAFKA__SASL_OAUTHBEARER_CLIENT_SECRET_FILE": str(secret)}, [double.secret])


def _file(folder):
    key, now = Key(), int(time.time())
    token = key.jwt(aud="kafka", sub="walpost", iat=now, exp=now + 3600)
    return Cloud(None, checkers.oidc(key), {"kafka.login": "file",
                                            "kafka.token_file": put(folder / "token", token + "\n")}, {}, [token])


def _command(folder):
    cloud = _file(folder)
    return Cloud(None, cloud.check, {"kafka.token_command": f"cat '{folder}/token'"}, {}, cloud.secrets())


WAYS = [_aws_keys, _aws_session, _aws_shared_file, _aws_web_identity, _aws_role, _aws_container, _aws_instance,
        _azure_instance, _azure_workload, _azure_secret, _azure_app_service, _google_instance, _google_account,
        _oidc, _file, _command]


@pytest.fixture
def enter(make_stage, fronted, folder):
    """A stage, a relay's configuration and its home, for a cloud."""
    ended = []
    fronted.front.cut()
    fronted.front.refuse(None)
    fronted.front.session_ms = None
    fronted.front.expired = 0

    def enter(way, **options):
        cloud = way(folder, **options)
        if cloud.double is not None:
            ended.append(cloud.double)
        fronted.front.check = cloud.check
        fronted.front.logins.clear()
        stage = make_stage(kafka=fronted)
        stage.create_topic(partitions=2)
        home = Home(stage.folder, **cloud.environment)
        config = {**fronted.relay_config(), "http.listen": "127.0.0.1:0", "log.level": "debug",
                  **cloud.changes}
        return cloud, stage, config, home

    yield enter
    for double in ended:
        double.end()


def _goes_on(stage, relay, count=100):
    stage.insert_many(count, "a{0}")
    stage.wait_all_confirmed(40, relay)


def _bad_lines(relay):
    """But for what a fresh node says to its first producers."""
    return [line for line in relay.log()
            if line["level"] in ("warn", "error") and line.get("facility") != "GETPID"]


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__.lstrip("_"))
def test_each_login_lets_events_through_and_speaks_to_nobody_else(enter, fronted, way):
    cloud, stage, config, home = enter(way)
    relay = stage.relay(config, **home.options)
    _goes_on(stage, relay)
    front = fronted.front
    assert front.good and not front.bad, front.bad
    assert not _bad_lines(relay)
    code, said = check(relay, home)
    assert code == 0 and "the token came from " in said, said
    keeps_to_itself(relay, home, [*cloud.secrets(), *(login.secret for login in front.logins)])
    relay.stop()
    known = {stage.postgres.port, front.port, *([cloud.double.port] if cloud.double else [])}
    assert {front.port, *([cloud.double.port] if cloud.double else [])} <= home.ports() <= known
    check_all(stage.read(), stage.truth.events())


# --- renewal


def _short(way, seconds):
    def made(folder, **options):
        cloud = way(folder, **options)
        cloud.double.lifetime = seconds
        return cloud
    return made


@pytest.mark.parametrize("way", [_azure_workload, _google_instance, _oidc, _aws_instance],
                         ids=lambda way: way.__name__.lstrip("_"))
def test_tokens_are_renewed_before_their_end_and_sessions_with_them(enter, fronted, scaled, way):
    cloud, stage, config, home = enter(_short(way, 15))
    fronted.front.session_ms = 3600_000
    relay = stage.relay(config, **home.options)
    until = time.monotonic() + scaled(30, 180)

    def goes_on():
        _goes_on(stage, relay, 20)
        return time.monotonic() >= until and len(cloud.double.given) >= scaled(3, 12)

    relay.wait_until(goes_on, scaled(60, 300), "tokens are renewed")
    assert not fronted.front.bad and not _bad_lines(relay)
    relay.stop()
    check_all(stage.read(), stage.truth.events())


def test_a_token_that_comes_late_ends_no_stream(enter, fronted):
    cloud, stage, config, home = enter(_short(_google_instance, 12))
    relay = stage.relay({**config, "kafka.login.timeout": "1s"}, **home.options)
    _goes_on(stage, relay)
    cloud.double.fail(endpoint.broken(503), None)
    relay.wait_log("event=login_not_renewed", 30)
    _goes_on(stage, relay)  # on the connection that it has
    assert relay.log_text().count("event=login_not_renewed") == 1
    cloud.double.mend()
    relay.wait_log("event=login_renewed", 60)
    fronted.front.cut()
    _goes_on(stage, relay)
    relay.stop()
    check_all(stage.read(), stage.truth.events())


# --- refused


def test_a_token_that_the_broker_refuses_is_told_with_its_cure_and_waited_for(enter, fronted):
    cloud, stage, config, home = enter(_aws_session)
    relay = stage.relay(config, **home.options)
    _goes_on(stage, relay)
    fronted.front.refuse(Denied("[1]: Access denied", "as told", direct=True))
    fronted.front.cut()
    stage.insert()
    relay.wait_log("Kafka rejects the login", 40)
    assert "Access denied" in relay.log_text()
    assert "the broker rejects the token" in relay.log_text()
    fronted.front.refuse(None)
    _goes_on(stage, relay)
    keeps_to_itself(relay, home, cloud.secrets())
    relay.stop()
    check_all(stage.read(), stage.truth.events())


@pytest.mark.parametrize("way", [_aws_instance, _azure_instance, _google_account, _oidc],
                         ids=lambda way: way.__name__.lstrip("_"))
def test_a_broker_that_takes_no_token_of_this_kind_is_told_by_check(enter, fronted, way):
    cloud, stage, config, home = enter(way)
    fronted.front.check = checkers.oidc(Key())
    relay = stage.new_relay(config, **home.options)
    code, said = check(relay, home)
    assert code == 1 and ("invalid_token" in said or "uthentication" in said), said
    for secret in (*cloud.secrets(), *(login.secret for login in fronted.front.logins)):
        assert secret not in said


# --- endpoints that misbehave


@pytest.mark.parametrize("way", [_aws_web_identity, _aws_container, _aws_instance, _azure_instance, _azure_workload,
                                 _google_instance, _google_account, _oidc],
                         ids=lambda way: way.__name__.lstrip("_"))
def test_an_endpoint_that_falters_is_asked_again(enter, fronted, way):
    cloud, stage, config, home = enter(way)
    cloud.double.fail(endpoint.throttled(1))
    cloud.double.fail(endpoint.broken(500))
    cloud.double.fail(endpoint.slow(1))
    relay = stage.relay(config, **home.options)
    _goes_on(stage, relay)
    asked = cloud.double.asked
    assert asked[1].at - asked[0].at >= 1.0, "Retry-After is heeded"
    assert not fronted.front.bad
    relay.stop()


FAULTS = {"garbage": endpoint.garbage, "empty": endpoint.empty, "huge": endpoint.huge(8 << 20), "cut": endpoint.cut,
          "refused": endpoint.broken(403)}


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("way", [_aws_web_identity, _aws_instance, _azure_instance, _azure_workload, _google_instance,
                                 _oidc], ids=lambda way: way.__name__.lstrip("_"))
def test_an_endpoint_that_answers_nonsense_is_told_by_check(enter, fronted, way, fault):
    cloud, stage, config, home = enter(way)
    cloud.double.fail(FAULTS[fault], None)
    relay = stage.new_relay({**config, "kafka.login.timeout": "2s"}, **home.options)
    began = time.monotonic()
    code, said = check(relay, home)
    assert code == 1 and not fronted.front.logins, said
    check_in_time(time.monotonic() - began, 20, "check")
    assert f":{cloud.double.port}" in said or "kafka.login" in said, said
    assert "<html>" not in said and "xxxx" not in said and not any(secret in said for secret in cloud.secrets())


@pytest.mark.parametrize("way", [_aws_web_identity, _aws_container, _aws_instance, _azure_instance, _azure_workload,
                                 _google_instance, _google_account, _oidc],
                         ids=lambda way: way.__name__.lstrip("_"))
def test_a_redirect_is_not_followed(enter, fronted, way):
    """Whoever follows it carries what the endpoint alone should see."""
    cloud, stage, config, home = enter(way)
    with clouds.GoogleMetadata() as elsewhere:
        cloud.double.fail(endpoint.redirect(f"{elsewhere.url}/elsewhere"), None)
        relay = stage.new_relay({**config, "kafka.login.timeout": "2s"}, **home.options)
        code, said = check(relay, home)
        assert code == 1 and not elsewhere.asked and not fronted.front.logins, said


def test_an_instance_whose_hop_limit_is_too_low_is_told(enter, fronted):
    cloud, stage, config, home = enter(_aws_instance)
    cloud.double.fail(endpoint.silent, None)
    relay = stage.new_relay({**config, "kafka.login.timeout": "3s"}, **home.options)
    began = time.monotonic()
    code, said = check(relay, home)
    assert code == 1 and "hop" in said, said
    check_in_time(time.monotonic() - began, 15, "check")
    assert {asked.method for asked in cloud.double.asked} == {"PUT"}, "nothing without a session"


def test_an_instance_that_forgot_its_sessions_is_asked_for_another(enter, fronted):
    cloud, stage, config, home = enter(_short(_aws_instance, 8))
    relay = stage.relay(config, **home.options)
    _goes_on(stage, relay)
    cloud.double.forget_sessions()
    relay.wait_until(lambda: len(cloud.double.given) >= 2, 30, "credentials are renewed")
    fronted.front.cut()
    _goes_on(stage, relay)
    assert not _bad_lines(relay)
    relay.stop()


def test_without_any_credentials_all_places_are_named(enter, fronted):
    cloud, stage, config, home = enter(_aws_keys)
    home.environment = {"HOME": str(home.folder), "AWS_EC2_METADATA_DISABLED": "true"}
    relay = stage.new_relay(config, **home.options)
    code, said = check(relay, home)
    assert code == 1
    for place in ("AWS_ACCESS_KEY_ID", "AWS_WEB_IDENTITY_TOKEN_FILE"):
        assert place in said, said


def test_extensions_of_the_configuration_go_with_the_token(enter, fronted):
    cloud, stage, config, home = enter(_oidc)
    seen, look = [], cloud.check

    def look_and_note(token, extensions):
        seen.append(extensions)
        return look(token, extensions)

    fronted.front.check = look_and_note
    relay = stage.relay({**config, "kafka.sasl.oauthbearer.extensions": "logicalCluster=lkc-1,identityPoolId=pool-2"},
                        **home.options)
    _goes_on(stage, relay)
    assert seen and all(each == {"logicalCluster": "lkc-1", "identityPoolId": "pool-2"} for each in seen), seen
    relay.stop()


# --- a broker that looks itself


def test_kafka_itself_validates_what_an_issuer_gives(make_stage, folder):
    # The broker ends a connection whose token has expired. The relay renews it in the last fifth of its lifetime: on a
    # busy machine too that must be long enough.
    cloud = _oidc(folder, lifetime=15)
    kafka = OauthKafka(folder / "oauth-kafka", cloud.double)
    try:
        kafka.start()
        stage = make_stage(kafka=kafka)
        stage.create_topic(partitions=2)
        home = Home(stage.folder, **cloud.environment)
        relay = stage.relay({**kafka.relay_config(), "http.listen": "127.0.0.1:0", **cloud.changes}, **home.options)
        _goes_on(stage, relay)
        of_a_fresh_broker = _bad_lines(relay)
        until = time.monotonic() + 60
        while len(cloud.double.given) < 3 and time.monotonic() < until:
            _goes_on(stage, relay, 20)
        assert len(cloud.double.given) >= 3 and _bad_lines(relay) == of_a_fresh_broker, _bad_lines(relay)
        code, said = check(relay, home)
        assert code == 0 and "for walpost" in said, said
        keeps_to_itself(relay, home, cloud.secrets())
        relay.stop()
        check_all(stage.read(), stage.truth.events())
    finally:
        cloud.double.end()
        kafka.end()
        shutil.rmtree(folder / "oauth-kafka", ignore_errors=True)
