"""deploy/Dockerfile: what is in the image, and that it relays: real Postgres, real Kafka, no rights."""

import os
import re
import signal
import subprocess
from pathlib import Path

import pytest

from lib import process
from lib.checker import check_all
from lib.container import Jailed, buildah_command
from lib.relay import config_text
from lib.waiting import wait_until

CONF = "/etc/walpost/walpost.conf"
MEGABYTE = 1_000_000
# No servers: a relay waits for them.
NOWHERE = {
    "WALPOST__POSTGRES__CONNINFO": "host=127.0.0.1 port=1 dbname=shop user=walpost",
    "WALPOST__KAFKA__BOOTSTRAP_SERVERS": "127.0.0.1:1",
}


@pytest.fixture
def conf(stage):
    """A file with the stage's configuration, readable by the container's user."""
    path = stage.folder / "walpost.conf"
    path.write_text(config_text(stage.config()))
    path.chmod(0o644)
    return path


def _jailed(image, arguments, **more):
    jail = Jailed(image, arguments, **more)
    try:
        return jail.finish()
    finally:
        jail.end()


def test_it_is_small(image):
    size, files = image.size(), image.files()
    largest = sorted(files, key=files.get, reverse=True)[:12]
    print(f"image: {size / MEGABYTE:.1f} MB; to fetch, compressed: {image.packed_size() / MEGABYTE:.1f} MB")
    print("image: the largest files: "
          + ", ".join(f"{path.rsplit('/')[-1]} {files[path] / MEGABYTE:.1f} MB" for path in largest))
    assert size < 30 * MEGABYTE


def test_the_only_program_in_it_is_walpost(image):
    found = {path for path in image.files() if os.access(image.root / path, os.X_OK)}
    assert sorted(path for path in found if ".so" not in path) == ["usr/local/bin/walpost"]
    assert not list((image.root / "usr").rglob("*.h"))


def test_what_it_holds_of_debian_is_known_to_scanners_with_its_licence(image):
    packages = image.packages()
    assert {"base-files", "ca-certificates", "libc6", "libcurl4t64", "libpq5", "librdkafka1", "libssl3t64", "openssl",
            "tzdata"} <= set(packages)
    for name, said in packages.items():
        assert said["Package"] == name and said["Version"] and "installed" in said["Status"]
    licences = {path.parent.name for path in (image.root / "usr/share/doc").glob("*/copyright")}
    assert licences == {*packages, "walpost"}
    assert "\nID=debian\n" in (image.root / "etc/os-release").resolve().read_text()
    # Many name the licence's text by its path.
    for path in (image.root / "usr/share/doc").glob("*/copyright"):
        for text in re.findall(r"/usr/share/common-licenses/[\w.-]*\w", path.read_text(errors="replace")):
            assert (image.root / text[1:]).exists(), f"{path} names {text}"


def test_it_says_how_it_is_run(image):
    facts = image.facts
    assert facts["User"] == "65532:65532"
    assert facts["Entrypoint"] == ["walpost"] and facts["Cmd"] == ["run", "-c", CONF]
    assert facts["Healthcheck"]["Test"] == ["CMD", "walpost", "status", "--local", "-c", CONF]
    assert list(facts["ExposedPorts"]) == ["9187/tcp"]


def test_no_program_in_it_gives_rights(image):
    found = subprocess.run(["find", str(image.root), "-xdev", "-perm", "/6000", "-type", "f"], check=True,
                           capture_output=True, text=True).stdout
    assert not found


def test_the_jail_of_these_tests_is_one(image, folder):
    """What the tests below show would be nothing if they could write, or had rights."""
    relay = Jailed(image, ["run"], environment=NOWHERE, log=folder / "log")
    try:
        relay.wait_log("event=started")
        status, root = Path(f"/proc/{relay.pid}/status").read_text(), Path(f"/proc/{relay.pid}/root")
        for place in ("written", "tmp/written", "etc/walpost/written"):
            with pytest.raises(OSError, match="Read-only file system"):
                (root / place).touch()
        assert (root / "dev").stat().st_uid == 0 and (root / "dev").stat().st_mode & 0o777 == 0o755
    finally:
        relay.end()
    assert re.search(r"^Uid:\t65532\t65532\t65532\t65532$", status, re.MULTILINE)
    assert re.search(r"^NoNewPrivs:\t1$", status, re.MULTILINE)
    assert all(re.search(rf"^Cap{kind}:\t0+$", status, re.MULTILINE) for kind in ("Inh", "Prm", "Eff", "Bnd", "Amb"))
    assert re.search(r"^NSpid:\t\d+\t1$", status, re.MULTILINE)


def test_its_libraries_are_all_there(image):
    """Of the program, and of each library that is opened at run time."""
    files = [path for path in image.files() if ".so" in path or path == "usr/local/bin/walpost"]
    names = {path.name for path in (image.root / "usr/lib").rglob("*.so*")}
    assert {"libcurl.so.4", "libgcc_s.so.1", "legacy.so"} <= names
    assert not [name for name in names if "gnutls" in name]  # of two libraries for TLS one suffices
    for file in files:
        said = subprocess.run(["readelf", "-d", image.root / file], check=True, capture_output=True, text=True).stdout
        needed = re.findall(r"\(NEEDED\).*\[(.*)\]", said)
        assert set(needed) <= names, file
    code, said = _jailed(image, ["version"])
    assert code == 0 and "librdkafka" in said, said


def test_environment_alone_configures_it(image):
    code, said = _jailed(image, ["config", "show", "-c", CONF], environment={
        "WALPOST__POSTGRES__CONNINFO": "host=db.example.org dbname=shop user=walpost",
        "WALPOST__KAFKA__BOOTSTRAP_SERVERS": "kafka.example.org:9092",
    })
    assert code == 0 and "host=db.example.org" in said, said


def test_it_relays_with_a_read_only_root_and_no_rights(image, stage, conf):
    stage.create_topic(partitions=3)
    stage.insert_many(500, "a{0}")
    relay = Jailed(image, ["run", "-c", CONF], mounts={CONF: conf}, log=stage.folder / "log")
    try:
        wait_until(stage.is_streaming, 30, "it streams", relay.log_text)
        stage.insert_many(500, "b{0}")
        end = stage.wal_end()
        wait_until(lambda: stage.confirmed() >= end, 30, "all is confirmed", relay.log_text)
        status = Path(f"/proc/{relay.pid}/status").read_text()
        assert re.search(r"^NSpid:\t\d+\t1$", status, re.MULTILINE) and "\nUid:\t65532\t" in status
        assert relay.stop() == 0, relay.log_text()
    finally:
        relay.end()
    check_all(stage.read(), stage.truth.events())
    assert "stopped" in relay.log_text()


def test_it_relays_as_buildah_runs_it(image, stage, conf):
    stage.create_topic(partitions=3)
    stage.insert_many(500, "a{0}")
    container = image.new_container()
    log = stage.folder / "log"
    with open(log, "ab") as out:
        run = subprocess.Popen(
            buildah_command("run", "--isolation", "chroot", "--volume", f"{conf}:{CONF}:ro", container, "--",
                            "walpost", "run", "-c", CONF),
            stdin=subprocess.DEVNULL, stdout=out, stderr=out, preexec_fn=process.dies_with_us(signal.SIGTERM),
        )
    try:
        end = stage.wal_end()
        wait_until(lambda: stage.confirmed() >= end, 40, "all is confirmed", log.read_text)
        (pid,) = _walposts_of(run.pid)
        assert "\nUid:\t65532\t" in Path(f"/proc/{pid}/status").read_text()
        os.kill(pid, signal.SIGTERM)
        assert process.wait_exit(run, 30, "buildah run") == 0, log.read_text()
    finally:
        for pid in _walposts_of(run.pid):
            os.kill(pid, signal.SIGKILL)
        process.wait_exit(run, 30, "buildah run")
    check_all(stage.read(), stage.truth.events())


def _walposts_of(pid):
    """The pids of walpost below this process."""
    found, todo = [], [pid]
    while todo:
        one = todo.pop()
        try:
            if Path(f"/proc/{one}/comm").read_text() == "walpost\n":
                found.append(one)
            for task in Path(f"/proc/{one}/task").iterdir():
                todo += map(int, (task / "children").read_text().split())
        except (FileNotFoundError, ProcessLookupError):
            continue
    return found
