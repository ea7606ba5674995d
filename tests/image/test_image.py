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
    base, packages = image.layers()[0], image.packages()
    # As files: what Debian has mended since its base was made is in two layers.
    files = (path.lstat() for path in image.root.rglob("*") if path.is_file() and not path.is_symlink())
    ours = sum(file.st_size for file in files) - base
    largest = sorted(packages, key=packages.get, reverse=True)[:8]
    print(f"image: {(base + ours) / MEGABYTE:.0f} MB, of which Debian {base / MEGABYTE:.0f} MB; "
          f"to fetch, compressed: {image.packed_size() / MEGABYTE:.0f} MB")
    print(f"image: {len(packages)} packages, the largest: "
          + ", ".join(f"{name} {packages[name] / 1024:.1f} MiB" for name in largest))
    assert ours < 30 * MEGABYTE


def test_nothing_in_it_compiles(image):
    programs = {path.name for folder in ("usr/bin", "usr/local/bin") for path in (image.root / folder).iterdir()}
    tools = re.compile(r"^(.*-)?(gcc|g\+\+|cc|c\+\+|cpp|clang|ld|as|make|ninja|meson|python3?|protoc)(-\d+)?$")
    assert "walpost" in programs and not sorted(filter(tools.match, programs))
    assert not [name for name in image.packages() if name.endswith("-dev")]
    assert not list((image.root / "usr/include").rglob("*.h"))


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


def test_the_jail_of_these_tests_is_one(image):
    """What the tests below show would be nothing if they could write, or had rights."""
    script = "touch /written; touch /etc/walpost/written; touch /dev/written; cat /proc/self/status; echo pid $$"
    jail = Jailed(_Shell(image), ["-c", script])
    code, said = jail.finish()
    assert code == 0 and said.count("Read-only file system") == 2, said
    assert "touch: cannot touch '/dev/written': Permission denied" in said
    assert re.search(r"^Uid:\t65532\t65532\t65532\t65532$", said, re.MULTILINE)
    assert re.search(r"^NoNewPrivs:\t1$", said, re.MULTILINE)
    assert all(re.search(rf"^Cap{kind}:\t0+$", said, re.MULTILINE) for kind in ("Inh", "Prm", "Eff", "Bnd", "Amb"))
    assert "\npid 1\n" in said


class _Shell:
    """The image with a shell for its entry point."""

    def __init__(self, image):
        self.root = image.root
        self.facts = {**image.facts, "Entrypoint": ["sh"]}


def test_its_libraries_are_all_there(image):
    code, said = _jailed(image, ["version"])
    assert code == 0 and "librdkafka" in said, said


def test_the_library_that_a_login_loads_is_there(image):
    assert [path for path in (image.root / "usr/lib").rglob("libcurl.so.4") if path.exists()]


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
