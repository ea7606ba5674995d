"""The image, built once; real servers; a stage as in e2e."""

import os
import shutil
import sys
import tempfile
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from lib import places  # noqa: E402
from lib.container import Image  # noqa: E402
from lib.kafka import Kafka  # noqa: E402
from lib.postgres import Postgres  # noqa: E402
from lib.stage import Stage  # noqa: E402


@pytest.fixture(scope="session")
def house():
    """A folder that the servers' user and the container's may enter."""
    folder = places.run_folder("walpost-image-")
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def folder(house):
    path = Path(tempfile.mkdtemp(dir=house))
    path.chmod(0o755)
    return path


@pytest.fixture(scope="session")
def image():
    if os.geteuid() != 0:
        pytest.fail("the ring image wants root: it makes a Debian to build on, and containers")
    built = Image()
    yield built
    built.end()


@pytest.fixture(scope="session")
def postgres(house):
    server = Postgres("18", house / "postgres").start()
    yield server
    server.end()


@pytest.fixture(scope="session")
def kafka(house):
    broker = Kafka(house / "kafka").start()
    yield broker
    broker.end()


@pytest.fixture
def stage(postgres, kafka, folder):
    made = Stage(postgres, kafka, folder)
    yield made
    made.end()


@pytest.fixture(scope="session")
def tree():
    return places.TREE
