"""The Debian package, built once for each release, and machines with it: a clean Debian, its systemd running."""

import hashlib
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest

from lib import machine as machines
from lib import places
from lib.kafka import Kafka
from lib.postgres import Postgres
from lib.relay import config_text
from lib.stage import Stage
from servers import cache

SUITES = os.environ.get("WALPOST_DEBIAN", "bookworm").split()
_CONTROL = places.TREE / "deploy" / "debian" / "control"


@pytest.fixture(scope="session")
def folder():
    path = places.run_folder("walpost-package-")
    yield path
    shutil.rmtree(path, ignore_errors=True)


@pytest.fixture(scope="session", params=SUITES)
def suite(request):
    return request.param


def _fill_builder(suite, part):
    """A clean Debian with what control asks for, and git."""
    shutil.rmtree(part)
    machines.copy(machines.debian(suite), part)
    sources = part / "tmp" / "sources"
    (sources / "debian").mkdir(parents=True)
    shutil.copy(_CONTROL, sources / "debian" / "control")
    (sources / "debian" / "changelog").write_text(
        "walpost (0) unstable; urgency=low\n\n  * None.\n\n -- a <a@b.org>  Thu, 01 Jan 1970 00:00:00 +0000\n"
    )
    machines.run(part, "sh", "-e", "-c", """
        sed -i 's/@MAINTAINER@/a <a@b.org>/' /tmp/sources/debian/control
        apt-get update
        apt-get install -y --no-install-recommends git
        apt-get build-dep -y --no-install-recommends /tmp/sources
        apt-get clean
        rm -r /tmp/sources
    """)


def _built(suite, folder, *arguments):
    """The folder with what deploy/debian/build made, of the tree as it is now, on a clean Debian."""
    made = Path(tempfile.mkdtemp(dir=folder)) / "packages"
    wanted = hashlib.sha256(_CONTROL.read_bytes()).hexdigest()[:12]
    builder = cache.filled(f"debian-{suite}-builder-{wanted}", lambda part: _fill_builder(suite, part))
    place = machines.copy(builder, made.parent / "builder")
    repository = machines.give_tree(place)
    machines.run(
        place, "sh", "-e", "-c", """
            git clone -q -b main "$1" /walpost
            shift
            /walpost/deploy/debian/build --deps --to /packages "$@"
        """, "build", repository, *arguments,
        environment={"DEBFULLNAME": "walpost tests", "DEBEMAIL": "tests@example.org"},
    )
    shutil.copytree(place / "packages", made)
    shutil.rmtree(place)
    return made


@pytest.fixture(scope="session")
def packages(suite, folder):
    return _built(suite, folder, "--source")


@pytest.fixture(scope="session")
def arm64_deb(suite, folder):
    """Cross-built."""
    (found,) = _built(suite, folder, "--arch", "arm64").glob("walpost_*.deb")
    return found


@pytest.fixture(scope="session")
def deb(packages):
    (found,) = packages.glob("walpost_*.deb")
    return found


def install(place, deb, update=True):
    """apt installs the file, and what it depends on, in a Debian that is not running."""
    shutil.copy(deb, place / "walpost.deb")
    if update:
        machines.run(place, "apt-get", "update")
    said = machines.run(place, "apt-get", "install", "-y", "--no-install-recommends", "/walpost.deb")
    (place / "walpost.deb").unlink()
    return said


@pytest.fixture(scope="session")
def installed(suite, folder, deb):
    """A clean Debian with the package and nothing done since; for copies."""
    place = machines.copy(machines.debian(suite), folder / f"installed-{suite}")
    install(place, deb)
    return place


@pytest.fixture
def machine(folder, installed):
    """A running machine with the package."""
    place = machines.copy(installed, Path(tempfile.mkdtemp(dir=folder)) / "root")
    machine = machines.Machine(place)
    try:
        yield machine.start()
    finally:
        machine.end()


@pytest.fixture(scope="session")
def postgres(folder):
    server = Postgres("18", folder / "postgres").start()
    yield server
    server.end()


@pytest.fixture(scope="session")
def kafka(folder):
    broker = Kafka(folder / "kafka").start()
    yield broker
    broker.end()


@pytest.fixture
def make_stage(postgres, kafka, folder):
    stages = []

    def make():
        stages.append(Stage(postgres, kafka, folder))
        stages[-1].create_topic()
        return stages[-1]

    yield make
    for stage in stages:
        stage.end()


@pytest.fixture
def stage(make_stage):
    return make_stage()


@pytest.fixture
def configure(machine):
    """Writes /etc/walpost/NAME.conf as an administrator would; `changes` as in Stage.config()."""

    def write(stage, name="walpost", changes=None):
        path = f"/etc/walpost/{name}.conf"
        machine.write(path, config_text(stage.config(changes)), 0o640)
        machine.run("chown", "root:walpost", path)

    return write
