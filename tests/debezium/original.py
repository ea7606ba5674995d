"""Debezium itself, in both its forms: a connector in Kafka Connect, and Debezium Server."""

import json
import signal
import subprocess
import urllib.error
import urllib.request
from pathlib import Path

from lib import process
from lib.ports import take_port
from lib.waiting import wait_until
from servers import debezium

HEAP = ("-Xmx512m", "-XX:+UseSerialGC", "-XX:-UsePerfData")
STRING = "org.apache.kafka.connect.storage.StringConverter"
JSON = "org.apache.kafka.connect.json.JsonConverter"
_FORMATS = {STRING: "simplestring", JSON: "json"}
START_SECONDS = 90


def as_server(properties, kafka):
    """What a connector is told, as Debezium Server wants it."""
    lines = {
        "debezium.sink.type": "kafka",
        "debezium.sink.kafka.producer.bootstrap.servers": kafka,
        "debezium.sink.kafka.producer.key.serializer": "org.apache.kafka.common.serialization.StringSerializer",
        "debezium.sink.kafka.producer.value.serializer": "org.apache.kafka.common.serialization.StringSerializer",
    }
    for key, value in properties.items():
        value = value.replace("${", "$${")  # of one $ Quarkus makes a variable
        if key in ("key.converter", "value.converter"):
            lines[f"debezium.format.{key.split('.')[0]}"] = _FORMATS[value]
        elif key.endswith(".converter.schemas.enable"):
            lines[f"debezium.format.{key.split('.')[0]}.schemas.enable"] = value
        elif key.startswith(("transforms", "predicates", "format.")):
            lines[f"debezium.{key}"] = value
        elif not key.startswith("errors.") and key != "tasks.max":
            lines[f"debezium.source.{key}"] = value
    return lines


def write_properties(file, properties):
    """As Java reads them: a backslash is written twice."""
    file.write_text("".join(f"{key}={value}\n".replace("\\", "\\\\") for key, value in properties.items()))
    return file


class _Java:
    """A program of Java: one process, its log, its end."""

    name = "Java"

    def __init__(self, folder):
        self.folder = Path(folder)
        self.folder.mkdir(parents=True)
        self.log = self.folder / "log"
        self._process = None

    def _launch(self, *arguments, environment=None):
        with open(self.log, "ab") as log:
            self._process = subprocess.Popen(
                [debezium.server() / "java" / "bin" / "java", *HEAP, f"-Djava.io.tmpdir={self.folder}", *arguments],
                cwd=self.folder, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True,
                preexec_fn=process.dies_with_us(),
            )

    def is_alive(self):
        return self._process is not None and self._process.poll() is None

    def log_text(self):
        return self.log.read_text(errors="replace") if self.log.exists() else ""

    def log_tail(self, lines=40):
        return f"--- {self.name} says:\n" + "\n".join(line[:400] for line in self.log_text().splitlines()[-lines:])

    def wait_until(self, condition, deadline, what):
        """While it lives."""

        def check():
            value = condition()
            assert value or self.is_alive(), f"{self.name} ended, waiting until {what}\n{self.log_tail()}"
            return value

        return wait_until(check, deadline, what, self.log_tail)

    def stop(self):
        """SIGTERM, as a service manager does it; returns the exit code."""
        self._process.send_signal(signal.SIGTERM)
        return process.wait_exit(self._process, 60, self.name)

    def wait_exit(self, deadline):
        return process.wait_exit(self._process, deadline, self.name)

    def kill(self):
        self._process.kill()
        self._process.wait()

    def end(self):
        if self.is_alive():
            self.kill()


class Server(_Java):
    """Debezium Server. Its offsets are in `offsets`; started again it goes on from there."""

    name = "Debezium Server"

    def __init__(self, properties, kafka, folder):
        super().__init__(folder)
        (self.folder / "config").mkdir()
        self.offsets = self.folder / "offsets.dat"
        self.properties = as_server(properties, kafka)
        self.file = self.folder / "config" / "application.properties"

    def start(self, **more):
        """`more`: properties of the source for this start, with underscores for dots."""
        changed = {f"debezium.source.{key.replace('_', '.')}": value for key, value in more.items()}
        write_properties(self.file, {
            **self.properties,
            "debezium.source.offset.storage.file.filename": str(self.offsets),
            "quarkus.http.host": "127.0.0.1",
            "quarkus.http.port": str(take_port()),
            "quarkus.log.level": "INFO",
            "quarkus.log.console.json.enabled": "false",
            **changed,
        })
        home = debezium.server() / "debezium"
        (runner,) = home.glob("debezium-server-*runner.jar")
        self._launch("-cp", f"{runner}:{self.folder}/config:{home}/lib/*", "io.debezium.server.Main")
        return self

    def wait_streaming(self, stage, slot):
        def is_read():
            rows = stage.sql("SELECT active FROM pg_replication_slots WHERE slot_name = %s", (slot,))
            return rows and rows[0][0]

        self.wait_until(is_read, START_SECONDS, f"Debezium reads slot {slot}")


class Connect(_Java):
    """A standalone worker of Kafka Connect."""

    name = "Kafka Connect"

    def __init__(self, kafka, folder):
        super().__init__(folder)
        self._port = take_port()
        self.offsets = self.folder / "offsets"
        worker = write_properties(self.folder / "worker.properties", {
            "bootstrap.servers": kafka,
            "key.converter": JSON,
            "value.converter": JSON,
            "listeners": f"http://127.0.0.1:{self._port}",
            "offset.storage.file.filename": str(self.offsets),
            "offset.flush.interval.ms": "1000",
        })
        libraries = debezium.connect() / "libs"
        self._launch("-cp", f"{libraries}/*", "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn",
                     "-Dorg.slf4j.simpleLogger.showDateTime=true",
                     "org.apache.kafka.connect.cli.ConnectStandalone", str(worker))
        self.wait_until(lambda: self._ask("GET", "/connectors") is not None, START_SECONDS, "Kafka Connect answers")

    def _ask(self, method, path, body=None):
        """None while there is no answer, or no such thing."""
        request = urllib.request.Request(
            f"http://127.0.0.1:{self._port}{path}", method=method,
            data=None if body is None else json.dumps(body).encode(), headers={"Content-Type": "application/json"},
        )
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                return json.loads(answer.read() or b"{}")
        except urllib.error.HTTPError as error:
            said = error.read().decode(errors="replace")
            assert error.code in (404, 409), f"{method} {path}: {error.code} {said}\n{self.log_tail()}"
            return None
        except OSError:
            return None

    def add(self, name, properties):
        assert self._ask("PUT", f"/connectors/{name}/config", {"name": name, **properties}) is not None

    def failure(self, name):
        """Why its task has failed, None if it has not."""
        status = self._ask("GET", f"/connectors/{name}/status") or {"tasks": []}
        return next((task["trace"] for task in status["tasks"] if task["state"] == "FAILED"), None)

    def remove(self, name):
        """Gone when this returns, and all it has sent is in Kafka."""
        self._ask("DELETE", f"/connectors/{name}")
        self.wait_until(lambda: self._ask("GET", f"/connectors/{name}") is None, 60, f"connector {name} is gone")
