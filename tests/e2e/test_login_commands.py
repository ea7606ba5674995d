"""Every command of walpost logs in to both sides, in the life of one outbox."""

import subprocess
from types import SimpleNamespace

import pytest

from lib import process
from lib.doubles import checkers, clouds
from lib.doubles.postgres_front import PostgresFront
from lib.process import finish
from lib.relay import binary, clean_environment, config_text, run_command
from lib.stage import identifier

REGION = "eu-central-1"


def _aws(name, port):
    double = clouds.Ec2Metadata()
    return SimpleNamespace(
        double=double, token=checkers.msk(double.verifier, REGION), user=name,
        password=checkers.rds(double.verifier, REGION, f"localhost:{port}"),
        changes={"kafka.login": "aws-msk-iam", "kafka.login.region": REGION, "postgres.login": "aws-rds-iam",
                 "postgres.login.region": REGION})


def _azure(name, _):
    double = clouds.AzureMetadata()
    return SimpleNamespace(
        double=double, token=checkers.azure_event_hubs(double.key, "localhost"), user=f"{name}@example.org",
        password=checkers.azure_postgres(double.key), changes={"kafka.login": "azure", "postgres.login": "azure"})


def _google(name, _):
    double = clouds.GoogleMetadata()
    double.email = f"{name}@project.iam.gserviceaccount.com"
    return SimpleNamespace(
        double=double, token=checkers.google(double.good), user=f"{name}@project.iam",
        password=checkers.google_postgres(double.good), changes={"kafka.login": "gcp", "postgres.login": "gcp"})


class World:
    """An empty database, and commands and relays that come in by the two fronts alone."""

    def __init__(self, stage, cloud, kafka, door, authority):
        self.stage, self.kafka, self.door = stage, kafka, door
        self.environment = cloud.double.environment
        self.config = {**kafka.relay_config(), **cloud.changes,
                       "postgres.conninfo": door.conninfo(stage, cloud.user, authority)}
        self._file = stage.folder / "commands.conf"
        self._file.write_text(config_text(stage.config(self.config)))

    def words(self, *arguments):
        at = next((n for n, word in enumerate(arguments) if word.startswith("-")), len(arguments))
        return [*arguments[:at], "-c", self._file, *arguments[at:]]

    def run(self, *arguments, kafka=True):
        """It ends well, and has logged in: to Postgres, and to Kafka where it needs that."""
        before = self.logins()
        done = run_command(*self.words(*arguments), environment=self.environment)
        assert done.returncode == 0, f"{arguments}: {done.stdout}{done.stderr}"
        self.has_logged_in(before, kafka, arguments)
        return done.stdout + done.stderr

    def logins(self):
        return len(self.door.good), len(self.kafka.front.good)

    def has_logged_in(self, before, kafka, what):
        now = self.logins()
        assert now[0] > before[0] and (now[1] > before[1] or not kafka), (what, before, now)

    def new_relay(self):
        return self.stage.new_relay(self.config, environment=self.environment)


@pytest.fixture(params=[_aws, _azure, _google], ids=["aws", "azure", "google"])
def world(request, make_stage, fronted, authority):
    stage = make_stage(kafka=fronted, set_up=False)
    door = PostgresFront(authority.issue("server"), stage.postgres.port, None)
    cloud = request.param(f"relay_{stage.name}", door.port)
    door.check, fronted.front.check = cloud.password, cloud.token
    fronted.front.cut()
    fronted.front.logins.clear()
    stage.sql(f"CREATE ROLE {identifier(cloud.user)} LOGIN SUPERUSER")
    yield World(stage, cloud, fronted, door, authority)
    for relay in stage.relays:
        relay.end()
    door.end()
    cloud.double.end()
    stage.sql(f"DROP OWNED BY {identifier(cloud.user)} CASCADE")
    stage.sql(f"DROP ROLE {identifier(cloud.user)}")


def _ids(stage):
    return {str(id) for (id,) in stage.sql(f"SELECT id FROM {stage.table}")}


def test_every_command_logs_in_to_both_sides(world):
    stage = world.stage
    stage.create_topic(partitions=2)
    world.run("init", kafka=False)
    world.run("check")

    first = world.new_relay().start()
    stage.wait_streaming(first)
    before = world.logins()
    standby = world.new_relay().start()
    standby.wait_log("standby", 20)
    stage.insert_many(100, "a{0}")
    stage.wait_all_confirmed(40, first)

    world.run("check")
    world.run("diff")
    world.run("status", kafka=False)
    world.run("slot", "list", kafka=False)
    world.run("parked", "list", kafka=False)
    again = next(iter(_ids(stage)))
    world.run("replay", "start", "--id", again, kafka=False)
    assert [message.id for message in stage.read()].count(again) == 2
    _tail(world)

    first.kill()
    stage.insert_many(100, "b{0}")
    stage.wait_released()
    standby.wait_until(stage.is_streaming, 20, "the standby has taken over")
    stage.wait_all_confirmed(40, standby)
    world.has_logged_in(before, True, "standby")

    world.run("drain", kafka=False)
    assert standby.wait_exit(20) == 0
    stage.sql(f"ALTER TABLE {stage.table} ADD n bigint GENERATED ALWAYS AS IDENTITY")
    stage.sql("SELECT pg_drop_replication_slot(%s)", (stage.slot,))
    stage.insert_many(100, "c{0}")
    world.run("backfill", "--missing", "--order-by", "n")
    assert {message.id for message in stage.read()} == _ids(stage)
    assert not world.door.bad and not world.kafka.front.bad


def _tail(world):
    """An event is shown that comes while it follows."""
    before = world.logins()
    tail = subprocess.Popen(
        [binary(), *map(str, world.words("tail", "--count", "1"))], env=clean_environment(world.environment), text=True,
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, preexec_fn=process.dies_with_us())
    try:
        world.stage.wait_until(lambda: world.stage.postgres.temporary_slots(world.stage.database), 20, "it has a slot")
        while tail.poll() is None:
            world.stage.insert()
            world.stage.wait_all_confirmed(20)
        shown, said = finish(tail, 20)
    finally:
        tail.kill()
    assert tail.returncode == 0 and world.stage.name in shown, said
    world.has_logged_in(before, False, "tail")
