"""Each login on a machine without network: what it is to speak to is all that it ever tries to speak to."""

import os
from types import SimpleNamespace

import pytest

from e2e import test_login_kafka as by_token
from e2e import test_login_postgres as by_password
from lib.certificates import Authority
from lib.checker import check_all
from lib.doubles import checkers, clouds
from lib.doubles.postgres_front import PostgresFront
from lib.logins import Home, check
from lib.network import Alone
from lib.oauth_kafka import FrontedKafka
from lib.postgres import Postgres
from lib.secrets import put

METADATA, CONTAINER = "169.254.169.254", "169.254.170.2"  # where the clouds have them
NAME_SERVER = "53"


@pytest.fixture(scope="module")
def alone():
    network = Alone(METADATA, CONTAINER)
    yield network
    network.end()


@pytest.fixture(scope="module")
def servers(alone, tmp_path_factory):
    """Those that the tests share there, made by the first."""
    found = {"authority": Authority(tmp_path_factory.mktemp("authority"), "authority")}
    yield found
    with alone.within():
        for server in (found.get("kafka"), *(found[name] for name in found if name.isdigit())):
            if server is not None:
                server.end()


@pytest.fixture
def world(alone, servers, version, house):
    """The test itself is in that network."""
    with alone.within():
        if "kafka" not in servers:
            servers["kafka"] = FrontedKafka(house.folder / f"alone-kafka-{os.getpid()}").start()
        if version not in servers:
            servers[version] = Postgres(version, house.folder / f"alone-postgres-{os.getpid()}").start()
        postgres = servers[version]
        front = PostgresFront(servers["authority"].issue("server"), postgres.port, None)
        yield SimpleNamespace(postgres=postgres, kafka=servers["kafka"], front=front, authority=servers["authority"])
        front.end()


@pytest.fixture
def enter(world, make_stage, folder):
    """A stage and the relay's home; the doubles end with the test."""
    ended = []

    def enter(cloud):
        if cloud.double is not None:
            ended.append(cloud.double)
        stage = make_stage(postgres=world.postgres, kafka=world.kafka)
        stage.create_topic(partitions=2)
        # With it off, what should not be asked could not be seen to be asked.
        environment = {name: value for name, value in cloud.environment.items() if name != "AWS_EC2_METADATA_DISABLED"}
        return stage, Home(stage.folder, **environment)

    yield enter
    for double in ended:
        double.end()


# --- at the addresses that they have in the clouds: nothing leads there


def _aws_instance(folder):
    double = clouds.Ec2Metadata(at=METADATA)
    return by_token._aws(double, {})


def _aws_instance_with_region(folder):
    """Nothing says the region but the instance."""
    cloud = _aws_instance(folder)
    cloud.changes["kafka.login.region"] = ""
    return cloud


def _aws_container(folder):
    double = clouds.ContainerCredentials(folder, at=CONTAINER)
    return by_token._aws(double, {"AWS_CONTAINER_CREDENTIALS_RELATIVE_URI": "/v1/credentials",
                                  "AWS_CONTAINER_AUTHORIZATION_TOKEN": double.token})


def _azure_instance(folder):
    return by_token._azure(clouds.AzureMetadata(at=METADATA), {})


def _google_instance(folder):
    return by_token._google(clouds.GoogleMetadata(at=METADATA), {})


def _azure_instance_for_postgres(folder, front, name):
    double = clouds.AzureMetadata(at=METADATA)
    return by_password.Cloud(double, checkers.azure_postgres(double.key), f"{name}@example.org",
                             {"postgres.login": "azure"}, {})


def _rds_instance_for_postgres(folder, front, name):
    double = clouds.Ec2Metadata(at=METADATA)
    return by_password.Cloud(
        double, checkers.rds(double.verifier, by_password.REGION, f"localhost:{front.port}"), name,
        {"postgres.login": "aws-rds-iam", "postgres.login.region": by_password.REGION}, {})


def _google_instance_for_postgres(folder, front, name):
    double = clouds.GoogleMetadata(at=METADATA)
    double.email = f"{name}@project.iam.gserviceaccount.com"
    return by_password.Cloud(double, checkers.google_postgres(double.good),
                             double.email.removesuffix(".gserviceaccount.com"), {"postgres.login": "gcp"}, {})


def _name(way):
    return way.__name__.lstrip("_")


def _streams(stage, config, home):
    """With check beside it."""
    relay = stage.relay({**config, "http.listen": "127.0.0.1:0"}, **home.options)
    stage.insert_many(100, "a{0}")
    stage.wait_all_confirmed(40, relay)
    code, said = check(relay, home)
    assert code == 0, said
    relay.stop()
    check_all(stage.read(), stage.truth.events())


def _peers(cloud, *ports):
    double = [] if cloud.double is None else [f"{cloud.double.address}:{cloud.double.port}"]
    return {*double, *(f"127.0.0.1:{port}" for port in ports)}


@pytest.mark.parametrize("way", [*by_token.WAYS, _aws_instance, _aws_instance_with_region, _aws_container,
                                 _azure_instance, _google_instance], ids=_name)
def test_a_login_of_kafka_speaks_to_its_double_alone(world, enter, folder, way):
    cloud = way(folder)
    world.kafka.front.check = cloud.check
    stage, home = enter(cloud)
    _streams(stage, {**world.kafka.relay_config(), **cloud.changes}, home)
    assert home.peers() == _peers(cloud, world.postgres.port, world.kafka.front.port)


@pytest.mark.parametrize("way", [*by_password.WAYS, _rds_instance_for_postgres, _azure_instance_for_postgres,
                                 _google_instance_for_postgres], ids=_name)
def test_a_login_of_postgres_speaks_to_its_double_alone(world, enter, folder, way):
    cloud = way(folder, world.front, f"relay_{os.getpid()}")
    world.front.check = cloud.check
    stage, home = enter(cloud)
    stage.sql(f'CREATE ROLE "{cloud.user}" LOGIN SUPERUSER')
    try:
        _streams(stage, {"postgres.conninfo": world.front.conninfo(stage, cloud.user, world.authority),
                         **cloud.changes}, home)
    finally:
        for relay in stage.relays:
            relay.end()
        stage.sql(f'DROP ROLE "{cloud.user}"')
    assert home.peers() == _peers(cloud, world.front.port, world.kafka.port)


# --- that such a try would be seen


ELSEWHERE = {
    "aws": ({"kafka.login": "aws-msk-iam", "kafka.login.region": "eu-central-1"}, {}, f"{METADATA}:80"),
    "azure": ({"kafka.login": "azure"}, {}, f"{METADATA}:80"),
    "google": ({"kafka.login": "gcp"}, {}, f"{METADATA}:80"),
    "container": ({"kafka.login": "aws-msk-iam", "kafka.login.region": "eu-central-1"},
                  {"AWS_CONTAINER_CREDENTIALS_RELATIVE_URI": "/v1"}, f"{CONTAINER}:80"),
    "name": ({"kafka.login": "azure"}, {"AZURE_TENANT_ID": clouds.TENANT, "AZURE_CLIENT_ID": "walpost",
                                        "AZURE_CLIENT_SECRET": "secret"}, f":{NAME_SERVER}"),
}


@pytest.mark.parametrize("where", ELSEWHERE)
def test_a_try_to_speak_to_somebody_else_is_seen(world, enter, folder, where):
    """Where the login is to ask at an address that nobody has led away from."""
    changes, environment, peer = ELSEWHERE[where]
    stage, home = enter(by_token.Cloud(None, None, changes, environment))
    relay = stage.new_relay({**world.kafka.relay_config(), **changes, "kafka.login.timeout": "3s"}, **home.options)
    code, said = check(relay, home)
    assert code == 1, said
    assert any(each.endswith(peer) for each in home.peers()), home.peers()


# --- what was told otherwise is not looked for


def test_broken_credentials_of_the_environment_are_not_made_up_for_by_the_machine(world, enter, folder):
    """What is set and cannot be had is told: nobody is asked in its place."""
    missing = folder / "missing"
    for changes, environment in (
            ({"kafka.login": "aws-msk-iam", "kafka.login.region": "eu-central-1"}, {"AWS_ACCESS_KEY_ID": "AKIA"}),
            ({"kafka.login": "aws-msk-iam", "kafka.login.region": "eu-central-1"}, {"AWS_PROFILE": "none"}),
            ({"kafka.login": "aws-msk-iam", "kafka.login.region": "eu-central-1"},
             {"AWS_WEB_IDENTITY_TOKEN_FILE": str(missing), "AWS_ROLE_ARN": by_token.ROLE}),
            ({"kafka.login": "azure"}, {"AZURE_FEDERATED_TOKEN_FILE": str(missing), "AZURE_TENANT_ID": clouds.TENANT,
                                        "AZURE_CLIENT_ID": "walpost"}),
            ({"kafka.login": "gcp"}, {"GOOGLE_APPLICATION_CREDENTIALS": str(missing)}),
            ({"kafka.login": "gcp"}, {"GOOGLE_APPLICATION_CREDENTIALS": str(put(folder / "broken", "{}"))}),
            ({"kafka.login": "file", "kafka.token_file": missing}, {}),
            ({"kafka.token_command": "false"}, {})):
        stage, home = enter(by_token.Cloud(None, None, changes, environment))
        relay = stage.new_relay({**world.kafka.relay_config(), **changes, "kafka.login.timeout": "3s"}, **home.options)
        code, said = check(relay, home)
        assert code == 1, said
        assert home.peers() <= {f"127.0.0.1:{world.postgres.port}", f"127.0.0.1:{world.kafka.front.port}"}, changes
