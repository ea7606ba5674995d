"""Real Debezium in the cache: the Server, with the Java that it wants, and what Kafka Connect needs to run it."""

import shutil
import tempfile
from pathlib import Path

from bench import rivals
from servers import cache


def server(say=print):
    """The folder that holds debezium/ and java/: the one of the benchmark."""
    return rivals.fetch_debezium(say)


def connect():
    """The folder of Kafka Connect's jars, Debezium's Postgres connector among them."""
    return cache.filled(f"connect-{cache.KAFKA}-{rivals.DEBEZIUM}", _fill_connect)


def _fill_connect(folder):
    with tempfile.TemporaryDirectory() as work:
        shutil.copy(Path(__file__).with_name("connect-pom.xml"), Path(work) / "pom.xml")
        cache.fetch(
            "mvn", "-q", "-B", f"{cache.DEPENDENCY_PLUGIN}:copy-dependencies", f"-DoutputDirectory={folder / 'libs'}",
            cwd=work,
        )
