"""A real schema registry: Apicurio's, which has Confluent's API too, with the Java that it wants."""

import json
import subprocess
import tempfile
import urllib.error
import urllib.request
from pathlib import Path
from urllib.parse import quote

from bench import rivals
from lib import process
from lib.ports import take_port
from lib.waiting import wait_until
from servers import cache

VERSION = "3.3.3"


def installed():
    """The folder that holds quarkus-run.jar and java/."""
    return cache.filled(f"apicurio-{VERSION}-{rivals.JAVA}", _fill)


def _fill(folder):
    with tempfile.TemporaryDirectory() as work:
        rivals.fill_java(folder, Path(work))
        cache.fetch(
            "mvn", "-q", "-B", f"{cache.DEPENDENCY_PLUGIN}:copy",
            f"-Dartifact=io.apicurio:apicurio-registry-app:{VERSION}:tar.gz:all", f"-DoutputDirectory={work}", cwd=work,
        )
        (archive,) = Path(work).glob("*.tar.gz")
        cache.run("tar", "-xzf", str(archive), "-C", str(folder), "--no-same-owner")


class Apicurio:
    """In memory, on its own port, gone with us."""

    def __init__(self, folder):
        self.folder = Path(folder)
        self.folder.mkdir(parents=True)
        self.port = take_port()
        self.log = self.folder / "registry.log"
        home = installed()
        with open(self.log, "ab") as log:
            self._process = subprocess.Popen(
                [home / "java" / "bin" / "java", "-Xmx512m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1",
                 "-jar", home / "quarkus-run.jar"],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=self.folder, preexec_fn=process.dies_with_us(),
                env={"QUARKUS_HTTP_HOST": "127.0.0.1", "QUARKUS_HTTP_PORT": str(self.port),
                     "QUARKUS_MANAGEMENT_PORT": str(take_port())},
            )
        wait_until(self._answers, 120, "the registry answers", lambda: self.log.read_text()[-4000:])

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}/apis/ccompat/v7"

    def _answers(self):
        assert self._process.poll() is None, self.log.read_text()[-4000:]
        try:
            return bool(self._ask("/schemas/types"))
        except (urllib.error.URLError, ConnectionError):
            return False

    def _ask(self, path, facts=None):
        request = urllib.request.Request(self.url + path, data=json.dumps(facts).encode() if facts else None,
                                         headers={"Content-Type": "application/vnd.schemaregistry.v1+json"})
        with urllib.request.urlopen(request, timeout=30) as answer:
            return json.load(answer)

    def register(self, subject, schema, kind="AVRO"):
        """Its id."""
        text = schema if isinstance(schema, str) else json.dumps(schema)
        return self._ask(f"/subjects/{quote(subject, safe='')}/versions", {"schema": text, "schemaType": kind})["id"]

    def end(self):
        self._process.kill()
        self._process.wait()
