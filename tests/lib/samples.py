"""The sample programs of the documentation, built as their pages say and run as they stand there."""

import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

from lib import places, process
from lib.relay import clean_environment
from servers import cache

SAMPLES = places.TREE / "deploy" / "docs" / "samples"
# Small, and quick to start; nothing is left in /tmp.
_JAVA = ("java", "-Xmx128m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-XX:-UsePerfData")
# What makes a program of a copy of its folder.
_BUILDS = {
    "spring": [["mvn", "-q", "-B", "compile"]],
    "consumer-java": [["mvn", "-q", "-B", "compile"]],
    "go": [["go", "build", "-o", "place_order", "."]],
    "typescript": [["npm", "ci", "--no-audit", "--no-fund"], ["npm", "run", "build"]],
}
# Of these the tests' own Python has all: tests/requirements.txt.
PYTHON = ("python", "consumer-python")


def built(name):
    """A copy of the sample's folder, with its program; made once for each state of the sources."""
    source = SAMPLES / name
    if name in PYTHON:
        return source
    files = subprocess.run(["git", "ls-files", "-co", "--exclude-standard", "."], cwd=source, check=True,
                           capture_output=True, text=True).stdout.split()
    digest = hashlib.sha256()
    for file in sorted(files):
        digest.update(f"{file}\n".encode() + (source / file).read_bytes())

    def fill(folder):
        for file in files:
            (folder / file).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(source / file, folder / file)
        for command in _BUILDS[name]:
            cache.fetch(*command, cwd=folder)

    return cache.filled(f"sample-{name}-{digest.hexdigest()[:12]}", fill)


def command(name):
    """How the sample is called."""
    folder = built(name)
    return {
        "python": [sys.executable, folder / "place_order.py"],
        "spring": [*_JAVA, "-cp", f"{folder}/target/classes:{folder}/target/dependency/*", "shop.PlaceOrder"],
        "go": [folder / "place_order"],
        "typescript": ["node", folder / "dist" / "place_order.js"],
        "consumer-python": [sys.executable, folder / "order_consumer.py"],
        "consumer-java": [*_JAVA, "-cp", f"{folder}/target/classes:{folder}/target/dependency/*",
                          "billing.OrderConsumer"],
    }[name]


def database_url(name, stage, schema="public"):
    """DATABASE_URL as the sample's library wants it."""
    place = f"127.0.0.1:{stage.postgres.port}/{stage.database}"
    return {
        "python": f"postgresql+psycopg://postgres@{place}",
        "spring": f"jdbc:postgresql://{place}?user=postgres",
        "go": f"postgres://postgres@{place}",
        "typescript": f"postgres://postgres@{place}",
        "consumer-python": f"postgresql://postgres@{place}?options=-csearch_path%3D{schema}&application_name={schema}",
        "consumer-java": f"jdbc:postgresql://{place}?user=postgres&currentSchema={schema}&ApplicationName={schema}",
    }[name]


def place_order(name, stage, how, order, customer, cents):
    """Runs a producer to its end: what it said, and its exit code."""
    return process.run([*command(name), how, order, customer, cents],
                       env=clean_environment({"DATABASE_URL": database_url(name, stage)}))


class Consumer:
    """One of the consumers, with tables of its own."""

    def __init__(self, name, stage):
        self.name = name
        self.schema = self.name.replace("-", "_")
        self.group = f"{stage.name}-{self.name}"
        self._stage = stage
        self._command = [*map(str, command(name))]
        self._environment = clean_environment({
            "BOOTSTRAP_SERVERS": stage.kafka.address,
            "TOPIC": stage.topic(),
            "GROUP": self.group,
            "GROUP_INSTANCE": "1",
            "DATABASE_URL": database_url(name, stage, self.schema),
            "JAVA_TOOL_OPTIONS": f"-Djava.io.tmpdir={stage.folder}",  # libraries that it unpacks, left behind by a kill
        })
        self._process = None
        self.log = Path(stage.folder) / f"{self.name}.log"
        with stage.connect() as connection:
            connection.execute(f"CREATE SCHEMA {self.schema}")
            connection.execute(f"SET search_path = {self.schema}")
            connection.execute((SAMPLES / "consumer.sql").read_text())

    def start(self):
        with open(self.log, "ab") as log:
            self._process = subprocess.Popen(
                self._command, env=self._environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                preexec_fn=process.dies_with_us(),
            )

    def kill(self):
        """SIGKILL, wherever it is."""
        self._process.kill()
        self._process.wait()

    def stop(self):
        """SIGTERM; its exit code."""
        self._process.terminate()
        return process.wait_exit(self._process, 20, self.name)

    def end(self):
        if self._process is not None and self._process.poll() is None:
            self.kill()

    def bookings(self):
        """(order, cents) in the order in which they were made."""
        return self._stage.sql(f"SELECT order_id, cents FROM {self.schema}.booking ORDER BY number")

    def is_held(self):
        """Does it wait for a lock?"""
        return self._stage.sql(
            "SELECT pid FROM pg_locks JOIN pg_stat_activity USING (pid) WHERE NOT granted AND application_name = %s",
            (self.schema,)) != []

    def wait_until(self, condition, deadline, what):
        """While it lives."""

        def check():
            value = condition()
            assert value or self._process.poll() is None, f"{self.name} ended, waiting until {what}\n{self.tail()}"
            return value

        return self._stage.wait_until(check, deadline, what)

    def tail(self):
        return f"--- {self.name} says:\n" + "\n".join(self.log.read_text(errors="replace").splitlines()[-30:])


def wanted_producers():
    """Those of this run: WALPOST_SAMPLES, by default the languages that the other tests need anyway."""
    return tuple(os.environ.get("WALPOST_SAMPLES", "python spring").split())
