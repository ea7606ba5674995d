"""A network of our own, where names stand for one address, as services of a compose.yaml have theirs."""

import subprocess
from pathlib import Path

from lib import process

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
            stderr=subprocess.STDOUT, text=True, timeout=deadline, **options,
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
