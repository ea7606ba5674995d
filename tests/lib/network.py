"""Networks of our own: where names stand for one address, as services of a compose.yaml have theirs; and of one's own
machine alone."""

import contextlib
import ctypes
import os
import subprocess
from pathlib import Path

from lib import process
from lib.waiting import limit_factor

_libc = ctypes.CDLL(None, use_errno=True)
_CLONE_NEWNET = 0x40000000

_SET_UP = """
set -eu
ip link set lo up
mount --bind "$1" /etc/hosts
mount -t tmpfs -o mode=755 tmpfs /run
mkdir /run/secrets
shift
while [ $# -gt 0 ]; do cp "$1" "/run/secrets/$2"; chmod 644 "/run/secrets/$2"; shift 2; done
echo ready
exec cat
"""


class Network:
    """Namespaces of network and mounts: all ports are free there, and nothing of outside is reached."""

    def __init__(self, folder, names, secrets):
        """`secrets`: {name: file}, which are in /run/secrets there."""
        self.hosts = Path(folder) / "hosts"
        self.hosts.write_text(f"127.0.0.1 localhost {' '.join(names)}\n")
        words = [word for name, file in secrets.items() for word in (str(file), name)]
        self._holder = subprocess.Popen(
            ["unshare", "--net", "--mount", "--propagation", "private", "--", "bash", "-c", _SET_UP, "network",
             str(self.hosts), *words],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd="/", preexec_fn=process.dies_with_us(),
        )
        assert self._holder.stdout.readline() == "ready\n"

    @property
    def within(self):
        """What stands before a command that is to run there."""
        return ["nsenter", "--target", str(self._holder.pid), "--net", "--mount", "--wd", "--"]

    def run(self, *command, user=None, deadline=60, **options):
        """A command to its end, there: returncode, stdout with stderr."""
        return subprocess.run(
            [*self.within, *_as(user), *map(str, command)], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, text=True, timeout=deadline * limit_factor(), **options,
        )

    def start(self, *command, log, user=None, **options):
        with open(log, "ab") as out:
            return subprocess.Popen(
                [*self.within, *_as(user), *map(str, command)], stdin=subprocess.DEVNULL, stdout=out, stderr=out,
                preexec_fn=process.dies_with_us(), **options,
            )

    def end(self):
        self._holder.stdin.close()
        self._holder.wait(10)


def _as(user):
    return ["setpriv", "--reuid", user, "--regid", "nogroup", "--clear-groups", "--"] if user else []


class Alone:
    """A network without routes, of which only the loopback is up: it has these addresses besides its own. As root."""

    def __init__(self, *addresses):
        with self._back_again():
            self._call(_libc.unshare, _CLONE_NEWNET)
            self._inside = os.open("/proc/thread-self/ns/net", os.O_RDONLY)
            for words in ("link set lo up", *(f"address add {each}/32 dev lo" for each in addresses)):
                subprocess.run(["ip", *words.split()], check=True)
            routes = subprocess.run(["ip", "route"], check=True, capture_output=True, text=True).stdout
            assert not routes, f"there are routes: {routes}"

    @contextlib.contextmanager
    def within(self):
        """This thread is in it meanwhile, and so is each thread and each process that it starts."""
        with self._back_again():
            self._call(_libc.setns, self._inside, _CLONE_NEWNET)
            yield

    @contextlib.contextmanager
    def _back_again(self):
        outside = os.open("/proc/thread-self/ns/net", os.O_RDONLY)
        try:
            yield
        finally:
            self._call(_libc.setns, outside, _CLONE_NEWNET)
            os.close(outside)

    @staticmethod
    def _call(function, *arguments):
        if function(*arguments) != 0:
            raise OSError(ctypes.get_errno(), f"no network of our own: {os.strerror(ctypes.get_errno())}")

    def end(self):
        os.close(self._inside)
