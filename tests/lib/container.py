"""The container image, built by buildah, and processes in it: as buildah runs them, and as strictly as Kubernetes does.

Nothing here wants a container engine, nor control groups. A strict process has a root file system that is read-only,
the image's numeric user, no capability, no way to get one, a /proc of its own, and is process 1 there.
"""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

from lib import places, process
from lib.waiting import limit_factor, wait_until

BASE = "docker.io/library/debian:trixie-slim"
_SUITE = "trixie"
_MIRROR = "http://deb.debian.org/debian"


def buildah(*words, **options):
    """Runs it in a storage of our own; returns what it said."""
    storage = places.cache() / "containers"
    done = subprocess.run(
        ["buildah", "--root", storage / "root", "--runroot", storage / "run", "--storage-driver", "vfs",
         *map(str, words)],
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options,
    )
    if done.returncode != 0:
        raise RuntimeError(f"buildah {' '.join(map(str, words))} failed:\n{done.stdout[-4000:]}{done.stderr[-4000:]}")
    return done.stdout.strip()


def buildah_command(*words):
    """The same, to be started."""
    storage = places.cache() / "containers"
    return ["buildah", "--root", str(storage / "root"), "--runroot", str(storage / "run"), "--storage-driver", "vfs",
            *map(str, words)]


def ensure_base(*architectures):
    """Debian's slim image: from its registry, or where that is out of reach made as Debian makes it."""
    with places.lock("container-base"):
        there = _architectures_of_base()
        if there.issuperset(architectures):
            return
        # What was there stays: another run may be building on it.
        names = [_base(architecture) for architecture in sorted(there.union(architectures))]
        _forget_base()
        buildah("manifest", "create", BASE, *names)


def _architectures_of_base():
    if not _exists(BASE):
        return set()
    try:
        found = json.loads(buildah("manifest", "inspect", BASE))["manifests"]
    except RuntimeError:
        return set()  # the image of one alone, as it is pulled
    return {one["platform"]["architecture"] for one in found}


def _exists(name):
    return buildah("images", "--quiet", "--filter", f"reference={name}") != ""


def _forget_base():
    """The name alone: that of all platforms, or of one."""
    if _exists(BASE):
        try:
            buildah("manifest", "rm", BASE)
        except RuntimeError:
            buildah("rmi", BASE)


def _base(architecture):
    name = f"localhost/walpost-base-{architecture}"
    if not _exists(name):
        try:
            buildah("pull", "--quiet", "--arch", architecture, BASE, timeout=300)
            buildah("tag", BASE, name)
        except (RuntimeError, subprocess.TimeoutExpired):
            _make_base(architecture, name)
    return name


def _make_base(architecture, name):
    with tempfile.TemporaryDirectory(dir=places.cache()) as work:
        archive = Path(work) / "root.tar"
        subprocess.run([places.TREE / "deploy/debian/slim", "--arch", architecture, _SUITE, _MIRROR, archive],
                       check=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
        container = buildah("from", "--arch", architecture, "scratch")
        try:
            buildah("add", container, archive, "/")
            buildah("config", "--arch", architecture, "--cmd", "bash", container)
            buildah("commit", container, name)
        finally:
            buildah("rm", container)


# On the network of this machine: that of the build fetches Debian's packages.
_BUD = ("bud", "--isolation", "chroot", "--ulimit", "nofile=1024:1024", "--pull-never", "--format", "docker",
        "--ignorefile", places.TREE / "deploy/Dockerfile.dockerignore", "-f", places.TREE / "deploy/Dockerfile")


class Platforms:
    """What deploy/Dockerfile makes for several platforms: one name. `end` removes it."""

    def __init__(self, *architectures):
        ensure_base("amd64")  # of the build: no other is needed
        self.name = f"localhost/walpost-test-platforms-{os.getpid()}"
        self._containers = []
        buildah(
            *_BUD, "--platform", ",".join(f"linux/{architecture}" for architecture in architectures),
            # buildah before 1.30 does not say it.
            "--build-arg", "BUILDPLATFORM=linux/amd64", "--manifest", self.name, places.TREE, timeout=1700,
        )

    def manifest(self):
        return json.loads(buildah("manifest", "inspect", self.name))["manifests"]

    def container(self, architecture):
        self._containers.append(buildah("from", "--pull-never", "--arch", architecture, self.name))
        return self._containers[-1]

    def run(self, architecture, *command):
        return buildah("run", "--isolation", "chroot", self.container(architecture), "--", *command)

    def root(self, architecture):
        """A folder with its files."""
        return Path(buildah("mount", self.container(architecture)))

    def end(self):
        for container in self._containers:
            buildah("rm", container)
        buildah("manifest", "rm", self.name)
        buildah("rmi", "--prune", "--force")


class Image:
    """What deploy/Dockerfile makes. `end` removes it."""

    def __init__(self):
        ensure_base("amd64")
        self.name = f"localhost/walpost-test-{os.getpid()}"
        self._containers = []
        buildah(*_BUD, "-t", self.name, places.TREE, timeout=1500)
        self.container = self.new_container()
        self.root = Path(buildah("mount", self.container))

    def new_container(self):
        container = buildah("from", "--pull-never", self.name)
        self._containers.append(container)
        return container

    @property
    def facts(self):
        """Its configuration, as Docker tells it."""
        return json.loads(buildah("inspect", "--type", "image", self.name))["Docker"]["config"]

    def size(self):
        """In bytes, of all layers as tar archives."""
        manifest = json.loads(buildah("inspect", "--type", "image", self.name))["Manifest"]
        return sum(layer["size"] for layer in json.loads(manifest)["layers"])

    def packed_size(self):
        """What a registry sends of it, about: all of it as one compressed archive."""
        tar = subprocess.Popen(["tar", "-C", str(self.root), "-c", "."], stdout=subprocess.PIPE)
        with tar.stdout as archive:
            packed = subprocess.run(["gzip", "-c"], stdin=archive, stdout=subprocess.PIPE, check=True).stdout
        assert tar.wait() == 0
        return len(packed)

    def files(self):
        """{path in it: size} of its plain files."""
        return {str(path.relative_to(self.root)): path.lstat().st_size for path in self.root.rglob("*")
                if path.is_file() and not path.is_symlink()}

    def packages(self):
        """{name: what dpkg tells of it, by field}, as scanners read it."""
        found = {}
        for path in (self.root / "var/lib/dpkg/status.d").iterdir():
            found[path.name] = dict(line.split(": ", 1) for line in path.read_text().splitlines()
                                    if re.match(r"[\w-]+: ", line))
        return found

    def end(self):
        for container in self._containers:
            buildah("rm", container)
        buildah("rmi", "--force", self.name)
        buildah("rmi", "--prune")


_JAIL = """
set -eu
root=$1; shift
mount --bind "$root" "$root"
cd "$root"
mount -t proc proc proc
mount -t tmpfs -o mode=755,size=64k tmpfs dev
for device in null zero urandom; do : > dev/$device; mount --bind /dev/$device dev/$device; done
while [ "$1" != -- ]; do
	mount --bind "$1" "$root$2"
	mount -o remount,bind,ro "$root$2"
	shift 2
done
shift
mount -o remount,bind,ro "$root"
exec "$@"
"""

# The last step: nothing of the image is run before its own program.
_ENTER = """
import ctypes, json, os, sys, warnings  # of which execvpe() needs the last
root, user, group, environment, *command = sys.argv[1:]
prctl = ctypes.CDLL(None, use_errno=True).prctl
with open("/proc/sys/kernel/cap_last_cap") as last:
    capabilities = range(int(last.read()) + 1)
os.chroot(root)
os.chdir("/")
for capability in capabilities:
    assert prctl(24, capability, 0, 0, 0) == 0  # PR_CAPBSET_DROP
os.setgroups([])
os.setgid(int(group))
os.setuid(int(user))
assert prctl(38, 1, 0, 0, 0) == 0  # PR_SET_NO_NEW_PRIVS
os.execvpe(command[0], command, json.loads(environment))
"""


class MemoryLimit:
    """A control group that has so many bytes, as a container with a limit: the kernel kills who wants more. OSError:
    this machine lets us make none."""

    def __init__(self, size):
        memory = Path("/sys/fs/cgroup/memory")
        top, limit = (memory, "memory.limit_in_bytes") if memory.exists() else (memory.parent, "memory.max")
        self._folder = top / f"walpost-test-{os.getpid()}"
        self._folder.mkdir()
        try:
            (self._folder / limit).write_text(str(size))
        except OSError:
            self.end()
            raise

    @property
    def within(self):
        """What stands before a command that is to run there."""
        return ["bash", "-c", 'echo $$ > "$0" && exec "$@"', str(self._folder / "cgroup.procs")]

    def end(self):
        wait_until(lambda: not (self._folder / "cgroup.procs").read_text(), 10, "its processes have ended")
        self._folder.rmdir()


class Jailed:
    """A process in the image, strictly. `mounts`: {path in the image: file or folder that stands there, read-only}.
    `user`: numbers of user and group, as 65532:65532; by default the image's."""

    def __init__(self, image, arguments, environment=None, mounts=None, log=None, within=(), user=None):
        config = image.facts
        env = dict(one.split("=", 1) for one in config["Env"])
        user, group = (user or config["User"]).split(":")
        # A place to mount at must be there, as a container engine makes it.
        for place in mounts or {}:
            _ensure_place(image.root, place, Path(mounts[place]))
        places_ = [word for place, path in (mounts or {}).items() for word in (str(path), place)]
        command = [
            *within, "unshare", "--mount", "--pid", "--fork", "--kill-child", "--propagation", "private", "--",
            "bash", "-c", _JAIL, "jail", str(image.root), *places_, "--",
            sys.executable, "-c", _ENTER, str(image.root), user, group, json.dumps({**env, **(environment or {})}),
            *config.get("Entrypoint", []), *arguments,
        ]
        self._log = Path(log) if log else None
        out = open(self._log, "ab") if self._log else subprocess.PIPE
        self._process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=out, stderr=out, text=not log, preexec_fn=process.dies_with_us(),
        )
        if self._log:
            out.close()

    def finish(self, deadline=60):
        """Its exit code and what it said, unless that is in its log."""
        said = self._process.communicate(timeout=deadline * limit_factor())
        return self._process.returncode, "".join(part or "" for part in said)

    @property
    def pid(self):
        """Of the process itself, as seen from outside."""
        return _leaf(self._process.pid)

    def is_alive(self):
        return self._process.poll() is None

    def log_text(self):
        return self._log.read_text(errors="replace")

    def wait_log(self, text, deadline=30):
        def there():
            assert self.is_alive(), f"it ended with {self._process.returncode}\n{self.log_text()}"
            return text in self.log_text()

        wait_until(there, deadline, f"the log says {text!r}", self.log_text)

    def stop(self, deadline=30):
        """SIGTERM to the process itself; its exit code."""
        os.kill(self.pid, signal.SIGTERM)
        return process.wait_exit(self._process, deadline, "the process in the container")

    def end(self):
        if self.is_alive():
            # unshare's own death would not reach it: what changes its user has no parent's death told.
            os.kill(self.pid, signal.SIGKILL)
            self._process.kill()
            self._process.wait()


def _ensure_place(root, place, path):
    at = root / place.lstrip("/")
    if path.is_dir():
        at.mkdir(parents=True, exist_ok=True)
    else:
        at.parent.mkdir(parents=True, exist_ok=True)
        at.touch()


def _leaf(pid):
    """The last of a chain of processes that each have one child."""
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return _leaf(int(children[0])) if children else pid
