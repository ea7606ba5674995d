"""A Debian of its own in a folder: commands run in it, and systemd booted in it, in namespaces of their own.

It shares the network with the tests, so that it reaches their servers, and nothing else. Wants root.
"""

import contextlib
import os
import shutil
import signal
import subprocess
import threading
from pathlib import Path

from lib import places, process
from lib.waiting import wait_until
from servers import cache

# Beyond a minimal Debian: what an installed machine has.
_INCLUDED = "systemd,systemd-sysv,dbus,ca-certificates"
_NAMESPACES = ("--mount", "--pid", "--uts", "--ipc", "--fork", "--kill-child")

# $1 is the root; the rest is run in it. What the kernel says of itself is read-only: sysctl is not for us.
_ENTER = """
set -e
root=$1
shift
mount --make-rprivate /
mount --bind "$root" "$root"
mount -t proc proc "$root/proc"
mount --bind "$root/proc/sys" "$root/proc/sys"
mount -o remount,bind,ro "$root/proc/sys"
mount -t sysfs -o ro sysfs "$root/sys"
mount -t tmpfs -o mode=755 tmpfs "$root/run"
mount -t tmpfs -o mode=755 tmpfs "$root/dev"
mkdir "$root/dev/pts" "$root/dev/shm" "$root/run/lock"
mount -t devpts -o newinstance,ptmxmode=0666 devpts "$root/dev/pts"
mount -t tmpfs -o mode=1777 tmpfs "$root/dev/shm"
for folder in $SHARED; do
	mkdir -p "$root$folder"
	mount --bind "$folder" "$root$folder"
done
unset SHARED
ln -s pts/ptmx "$root/dev/ptmx"
ln -s /proc/self/fd "$root/dev/fd"
ln -s fd/0 "$root/dev/stdin"
ln -s fd/1 "$root/dev/stdout"
ln -s fd/2 "$root/dev/stderr"
for device in null zero full random urandom tty; do
	touch "$root/dev/$device"
	mount --bind "/dev/$device" "$root/dev/$device"
done
[ -z "$CGROUP" ] || mount -t cgroup2 cgroup2 "$root/sys/fs/cgroup"
unset CGROUP
cd "$root"
pivot_root . mnt
umount -l /mnt
mount --make-rshared / # as systemd wants it for credentials, and leaves to whom it is a container of
exec setpriv --bounding-set=-sys_module,-sys_time "$@"
"""

# In a cgroup of its own first, which is the root of the namespace then.
_JOIN = 'mkdir "$CGROUP"; echo $$ > "$CGROUP/cgroup.procs"; exec "$@"'

_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


def debian(suite):
    """The folder of a clean Debian, once per machine from Debian's servers."""
    if os.geteuid() != 0:
        raise RuntimeError("a Debian is made by debootstrap, which wants root")
    return cache.filled(f"debian-{suite}", lambda folder: _bootstrap(suite, folder))


def _bootstrap(suite, folder):
    cache.run("debootstrap", "--variant=minbase", f"--include={_INCLUDED}", suite, str(folder))
    for timer in ("apt-daily", "apt-daily-upgrade"):  # would take apt's lock from us
        (folder / f"etc/systemd/system/{timer}.timer").symlink_to("/dev/null")
    run(folder, "apt-get", "clean")


def copy(folder, to):
    subprocess.run(["cp", "-a", "--reflink=auto", folder, to], check=True)
    return Path(to)


def _environment(more=None):
    proxies = {name: value for name, value in os.environ.items() if name.lower().endswith("_proxy")}
    return {"PATH": _PATH, "LC_ALL": "C.UTF-8", "DEBIAN_FRONTEND": "noninteractive", **proxies, **(more or {})}


def _entering(folder, command, environment, shared=()):
    """Arguments of Popen."""
    return {
        "args": ["unshare", *_NAMESPACES, "sh", "-c", _ENTER, "enter", str(folder), *map(str, command)],
        "env": {"CGROUP": "", "SHARED": " ".join(map(str, shared)), **_environment(environment)},
        "text": True, "errors": "replace", "stdout": subprocess.PIPE, "stderr": subprocess.STDOUT,
        "preexec_fn": process.dies_with_us(),
    }


def run(folder, *command, environment=None, input=None, deadline=900):
    """Runs a command as root in the Debian in `folder`; what it said. A failure shows it."""
    done = subprocess.run(
        **_entering(folder, command, environment), timeout=deadline,
        input=input, stdin=subprocess.DEVNULL if input is None else None,
    )
    assert done.returncode == 0, f"{' '.join(map(str, command))} failed:\n{done.stdout[-6000:]}"
    return done.stdout


def follow(folder, *command, say, environment=None, shared=(), deadline):
    """As run(), with each line given to `say` when it comes, and with some of our folders in their places: the exit
    code, None if it took longer than `deadline` seconds."""
    with subprocess.Popen(**_entering(folder, command, environment, shared), stdin=subprocess.DEVNULL) as running:
        end = threading.Timer(deadline, running.kill)
        end.start()
        for line in running.stdout:
            say(line.rstrip("\n"))
        code = running.wait()
        was_in_time = end.is_alive()
        end.cancel()
    return code if was_in_time else None


def give_tree(folder):
    """The tree as it is now, changes that are not committed too, as a repository in the Debian: its path there."""
    def git(*words):
        done = subprocess.run(["git", *map(str, words)], cwd=places.TREE, check=True, capture_output=True, text=True)
        return done.stdout.strip()

    commit = git("stash", "create") or git("rev-parse", "HEAD")
    git("init", "-q", "--bare", Path(folder) / "walpost.git")
    git("push", "-q", Path(folder) / "walpost.git", f"{commit}:refs/heads/main")
    return "/walpost.git"


def _own_cgroup():
    """Below the one that this process is in."""
    mounts = [line.split() for line in Path("/proc/self/mounts").read_text().splitlines()]
    places = [mount[1] for mount in mounts if mount[2] == "cgroup2"]
    paths = [line[3:] for line in Path("/proc/self/cgroup").read_text().splitlines() if line.startswith("0::")]
    if not places or not paths:
        raise RuntimeError("systemd cannot be booted here: there is no cgroup2")
    return Path(places[0]) / paths[0].lstrip("/") / f"walpost-machine-{os.getpid()}-{os.urandom(4).hex()}"


class Machine:
    """The Debian in `folder` with its systemd running."""

    def __init__(self, folder):
        self.folder = Path(folder)
        self._cgroup = _own_cgroup()
        self._unshare = None
        self._log = self.folder.parent / f"{self.folder.name}.boot"

    def start(self):
        with open(self._log, "wb") as log:
            self._unshare = subprocess.Popen(
                ["sh", "-c", _JOIN, "join", "unshare", "--cgroup", *_NAMESPACES, "sh", "-c", _ENTER, "enter",
                 str(self.folder), "/lib/systemd/systemd", "--unit=multi-user.target"],
                env={"CGROUP": str(self._cgroup), "PATH": _PATH, "container": "walpost-tests"},
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, preexec_fn=process.dies_with_us(),
            )
        wait_until(self._is_running, 60, "systemd has booted", self._log.read_text)
        return self

    def _is_running(self):
        assert self._unshare.poll() is None, f"systemd exited\n{self._log.read_text()}"
        asked = [self._ask(child, "systemctl", "is-system-running") for child in self._children()]
        return any(done.stdout.strip() == "running" for done in asked)

    def _children(self):
        with contextlib.suppress(FileNotFoundError):
            return Path(f"/proc/{self._unshare.pid}/task/{self._unshare.pid}/children").read_text().split()
        return []

    def ask(self, *command, input=None, deadline=300):
        """Runs a command as root beside systemd: returncode, stdout, stderr."""
        (init,) = self._children()
        return self._ask(init, *command, input=input, deadline=deadline)

    @staticmethod
    def _ask(init, *command, input=None, deadline=300):
        return subprocess.run(
            ["nsenter", "--target", init, "--mount", "--uts", "--ipc", "--pid", "--root", "--wd=/", "--",
             *map(str, command)],
            env=_environment(), text=True, errors="replace", timeout=deadline, capture_output=True,
            input=input, stdin=subprocess.DEVNULL if input is None else None,
        )

    def run(self, *command, **options):
        """Likewise, to its good end: what it said."""
        done = self.ask(*command, **options)
        assert done.returncode == 0, (
            f"{' '.join(map(str, command))} exited with {done.returncode}:\n{done.stdout}{done.stderr}"
        )
        return done.stdout

    def end(self):
        if self._unshare is not None:
            with contextlib.suppress(ProcessLookupError):
                self._unshare.send_signal(signal.SIGKILL)
            self._unshare.wait()
        for folder in sorted(self._cgroup.rglob("*/"), reverse=True):
            wait_until(lambda folder=folder: self._removed(folder), 20, f"{folder} is empty")
        wait_until(lambda: self._removed(self._cgroup), 20, f"{self._cgroup} is empty")
        shutil.rmtree(self.folder, ignore_errors=True)

    @staticmethod
    def _removed(folder):
        try:
            folder.rmdir()
        except FileNotFoundError:
            return True
        except OSError:  # its processes are still dying
            return False
        return True

    # --- services

    def facts(self, unit, *names):
        """{property: value} of a unit, as `systemctl show` has them."""
        said = self.run("systemctl", "show", unit, *(f"--property={name}" for name in names))
        return dict(line.split("=", 1) for line in said.splitlines())

    def journal(self, unit):
        return self.run("journalctl", "--no-pager", "--output=cat", f"--unit={unit}")

    def signal(self, pid, name):
        """By the machine's own count of processes."""
        self.run("sh", "-c", f"kill -{name} {pid}")

    def has_process(self, pid):
        return self.ask("test", "-e", f"/proc/{pid}").returncode == 0

    def write(self, path, text, mode=0o644):
        target = self.folder / path.lstrip("/")
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text)
        target.chmod(mode)
