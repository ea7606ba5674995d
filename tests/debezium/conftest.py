"""One PostgreSQL, one Kafka and one Kafka Connect for the run; Debezium Servers one at a time."""

import shutil
import tempfile
from pathlib import Path

import pytest

from debezium.original import Connect, Server
from lib import places
from lib.kafka import Kafka
from lib.postgres import Postgres
from lib.stage import Stage


@pytest.fixture(scope="session")
def folder():
    path = places.run_folder("walpost-debezium-")
    yield path
    shutil.rmtree(path, ignore_errors=True)


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


@pytest.fixture(scope="session")
def connect(folder, kafka):
    worker = Connect(kafka.address, folder / "connect")
    yield worker
    worker.end()


@pytest.fixture
def make_server(kafka, folder):
    """Debezium Servers, not started yet."""
    made = []

    def make(properties):
        made.append(Server(properties, kafka.address, Path(tempfile.mkdtemp(dir=folder)) / "debezium"))
        return made[-1]

    yield make
    for server in made:
        server.end()


@pytest.fixture
def make_stage(postgres, kafka, folder):
    """A database of its own, empty."""
    made = []

    def make():
        made.append(Stage(postgres, kafka, folder, set_up=False))
        return made[-1]

    yield make
    for stage in made:
        stage.end()
