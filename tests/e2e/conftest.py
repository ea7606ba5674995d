"""One server per PostgreSQL version and one broker for the whole run; a stage for each test."""

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import confluent_kafka
import pytest

from lib import places
from lib.administered import Administered
from lib.certificates import Authority
from lib.disk import below_a_mount_point
from lib.guarded import GuardedKafka, GuardedPostgres
from lib.kafka import Kafka
from lib.oauth_kafka import FrontedKafka
from lib.postgres import Postgres
from lib.relay import run_command
from lib.stage import Stage

VERSIONS = tuple(os.environ.get("WALPOST_POSTGRES", "18 14").split())
# What only the ring `samples` runs.
collect_ignore = [] if os.environ.get("WALPOST_REGISTRY") == "real" else ["test_schema_registry_real.py"]
if "go" not in os.environ.get("WALPOST_SAMPLES", "").split():
    collect_ignore.append("test_like_samples.py")
LONG = os.environ.get("WALPOST_LENGTHS") == "full"
LONG_TIMEOUT_SECONDS = 2 * 3600
NOT_IN_THIS_RUN = "none"

# Nobody kills the broker that all share, so that it need not be missed soon.
_PATIENT = "broker.session.timeout.ms=18000\nbroker.heartbeat.interval.ms=2000\n"


class House:
    """The servers that all tests share, started at first use by the process that pytest was called as. Tests that write
    very much share others: each slot of a server decodes all that is written on it."""

    def __init__(self):
        self.folder = places.run_folder("walpost-e2e-")
        self._postgres = {}
        self._kafka = None

    def postgres(self, version, heavy=False):
        if (version, heavy) not in self._postgres:
            folder = self.folder / f"postgres{version}{'-heavy' if heavy else ''}"
            self._postgres[version, heavy] = Postgres(version, folder).start()
        return self._postgres[version, heavy]

    def kafka(self):
        if self._kafka is None:
            self._kafka = Kafka(self.folder / "kafka", _PATIENT).start()
        return self._kafka

    def addresses(self):
        """For another process, `Lodger`: everything is running then."""
        return {
            "kafka": self.kafka().port,
            "postgres": [(v, heavy, str(self.postgres(v, heavy).folder), self.postgres(v, heavy).port)
                         for v in VERSIONS for heavy in (False, True)],
        }

    def end(self):
        for server in [*self._postgres.values(), self._kafka]:
            if server is not None:
                server.end()
        shutil.rmtree(self.folder, ignore_errors=True)


class Lodger:
    """The house as seen by a worker of pytest-xdist."""

    def __init__(self, addresses):
        self.folder = places.run_folder("walpost-e2e-")
        self._kafka = Kafka.attached(addresses["kafka"])
        self._postgres = {(v, heavy): Postgres.attached(v, *place) for v, heavy, *place in addresses["postgres"]}

    def postgres(self, version, heavy=False):
        return self._postgres[version, heavy]

    def kafka(self):
        return self._kafka

    def end(self):
        shutil.rmtree(self.folder, ignore_errors=True)


def pytest_configure(config):
    addresses = getattr(config, "workerinput", {}).get("house")
    config.house = Lodger(addresses) if addresses else House()


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node):
    node.workerinput["house"] = node.config.house.addresses()


def pytest_unconfigure(config):
    if hasattr(config, "house"):
        config.house.end()


def _wanted_versions(marker):
    """Those of this run that a test is for; see pytest.ini."""
    if marker is None or marker.args == ("first",):
        return VERSIONS[:1]
    if len(marker.args) == 1 and marker.args != ("all",):
        return [v for v in VERSIONS if v == str(marker.args[0])]
    since, below = marker.kwargs.get("since", 0), marker.kwargs.get("below", 1000)
    return [v for v in VERSIONS if since <= int(v) < below]


def pytest_generate_tests(metafunc):
    if "version" in metafunc.fixturenames:  # by way of make_stage too
        wanted = _wanted_versions(metafunc.definition.get_closest_marker("on"))
        metafunc.parametrize("version", wanted or [NOT_IN_THIS_RUN])


def pytest_collection_modifyitems(config, items):
    """What is for other versions is not there, rather than skipped; what is long may take its time."""
    other = [item for item in items if getattr(item, "callspec", None)
             and item.callspec.params.get("version") == NOT_IN_THIS_RUN]
    if other:
        config.hook.pytest_deselected(items=other)
        items[:] = [item for item in items if item not in other]
    for item in items:
        if LONG and "scaled" in item.fixturenames:
            item.add_marker(pytest.mark.timeout(LONG_TIMEOUT_SECONDS), append=False)


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item):
    outcome = yield
    report = outcome.get_result()
    if report.failed and report.when == "call":
        for stage in getattr(item, "stages", []):
            report.sections.append((f"logs of {stage.name}", stage.log_tails()))


@pytest.fixture
def house(request):
    return request.config.house


@pytest.fixture
def scaled():
    """scaled(40, 600): the short length, or with WALPOST_LENGTHS=full (`tests/run matrix`) the full one."""
    return lambda short, full: full if LONG else short


@pytest.fixture
def folder(house):
    """For files of this test; the servers' user may enter it."""
    path = Path(tempfile.mkdtemp(dir=house.folder))
    path.chmod(0o755)
    yield path
    shutil.rmtree(path, ignore_errors=True)


@pytest.fixture
def make_stage(request, house, version, folder):
    """Stages, by default on the shared servers."""
    request.node.stages = []

    heavy = request.node.get_closest_marker("heavy") is not None

    def make(postgres=None, kafka=None, **options):
        stage = Stage(postgres or house.postgres(version, heavy), kafka or house.kafka(), folder, **options)
        request.node.stages.append(stage)
        return stage

    yield make
    for stage in request.node.stages:
        stage.end()


@pytest.fixture
def stage(make_stage):
    """A database with Debezium's outbox, a publication and a slot; no topic yet."""
    return make_stage()


@pytest.fixture
def own_postgres(version, folder):
    """A server that this test may stop."""
    server = Postgres(version, folder / "own-postgres").start()
    yield server
    server.end()


@pytest.fixture(scope="session")
def _mortal_kafka(request):
    with below_a_mount_point(request.config.house.folder / "mortal") as place:
        kafka = GuardedKafka(place / "kafka")
        yield kafka
        kafka.end()


@pytest.fixture
def mortal_kafka(_mortal_kafka):
    """A broker that this test may stop: it finds it running. For its other doors see lib/guarded.py."""
    _mortal_kafka.ensure_running()
    yield _mortal_kafka
    if _mortal_kafka.is_running():
        _mortal_kafka.resume()
    _mortal_kafka.line.delay = 0
    _mortal_kafka.line.restore()


@pytest.fixture
def guarded_postgres(version, folder):
    """A server that lets the relay in by TLS only, with a certificate and a password."""
    server = GuardedPostgres(version, folder / "guarded-postgres").start()
    yield server
    server.end()


@pytest.fixture
def stage_of_kafka(make_stage, mortal_kafka):
    """A stage on the shared Postgres and a broker with guarded doors, with one topic."""
    stage = make_stage(kafka=mortal_kafka)
    stage.create_topic(partitions=1)
    return stage


@pytest.fixture(scope="module")
def fronted(tmp_path_factory):
    """A node of a module's own, behind a front that looks at tokens."""
    kafka = FrontedKafka(tmp_path_factory.mktemp("fronted") / "kafka").start()
    yield kafka
    kafka.end()


@pytest.fixture(scope="module")
def authority(tmp_path_factory):
    return Authority(tmp_path_factory.mktemp("authority"), "authority")


@pytest.fixture(scope="session")
def shim(request):
    """Environment of a relay that makes the world worse: see support/shim.c."""
    source = places.TREE / "tests" / "support" / "shim.c"
    library = request.config.house.folder / f"shim-{os.getpid()}.so"
    flags = subprocess.run(
        ["pkg-config", "--cflags", "libpq", "rdkafka"], check=True, capture_output=True, text=True
    ).stdout.split()
    subprocess.run(["cc", "-shared", "-fPIC", "-o", library, source, *flags], check=True)

    def environment(**faults):
        return {"LD_PRELOAD": str(library), **{f"SHIM_{name.upper()}": str(value) for name, value in faults.items()}}

    return environment


@pytest.fixture(scope="session")
def _administered_servers():
    servers = {}
    yield servers
    for server in servers.values():
        server.end()


@pytest.fixture
def server(version, house, _administered_servers):
    """One whose settings a test may change; it finds them as they were."""
    servers = _administered_servers
    if version not in servers:
        servers[version] = Postgres(version, house.folder / f"administered{version}-{os.getpid()}").start()
    yield servers[version]
    servers[version].query("ALTER SYSTEM RESET ALL")
    servers[version].reload_conf()


@pytest.fixture
def bare(server, folder):
    """A database without anything of ours."""
    database = Administered(server, folder)
    yield database
    database.end()


@pytest.fixture
def ready(bare):
    """Everything is there."""
    bare.init()
    assert not bare.failures()
    return bare


@pytest.fixture(scope="session")
def newer(tmp_path_factory):
    """Environment of a walpost with the librdkafka of the Python client: Kafka 4 wants 2.6.1 or newer for SCRAM."""
    (library,) = Path(confluent_kafka.__file__).parents[1].glob("confluent_kafka.libs/librdkafka-*.so.1")
    folder = tmp_path_factory.mktemp("librdkafka")
    (folder / "librdkafka.so.1").symlink_to(library)
    environment = {"LD_LIBRARY_PATH": f"{folder}:{library.parent}"}
    assert f"librdkafka {confluent_kafka.libversion()[0]}" in run_command("version", environment=environment).stdout
    return environment
