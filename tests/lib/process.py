"""Child processes that do not outlive the test run, and what /proc says about them."""

import contextlib
import ctypes
import os
import pwd
import signal
import subprocess
import sys
import time
import uuid
from pathlib import Path

from lib.waiting import TooLate, is_late, limit_factor, wait_until

_libc = ctypes.CDLL(None, use_errno=True)
_PR_SET_PDEATHSIG = 1

# Postgres refuses to run as root: then its files and processes belong to this user.
UNPRIVILEGED = "nobody"


def dies_with_us(how=signal.SIGKILL):
    """For preexec_fn: the kernel sends `how` to the child when its parent is gone."""

    def ask():
        _libc.prctl(_PR_SET_PDEATHSIG, int(how), 0, 0, 0)

    return ask


def unprivileged():
    """Arguments of Popen that give up root, none when we are not root."""
    if os.geteuid() != 0:
        return {}
    user = pwd.getpwnam(UNPRIVILEGED)
    return {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}


def give_away(path):
    """Makes a folder the unprivileged user's."""
    who = unprivileged()
    if who:
        os.chown(path, who["user"], who["group"])


def run(command, deadline=60, **options):
    """A command to its end, for `deadline` seconds at most and longer on a busy machine: returncode, stdout, stderr."""
    words = list(map(str, command))
    if "input" not in options:
        options.setdefault("stdin", subprocess.DEVNULL)
    try:
        return subprocess.run(words, capture_output=True, text=True, timeout=deadline * limit_factor(), **options)
    except subprocess.TimeoutExpired as late:
        raise TooLate(f"{' '.join(words)} was still running after {late.timeout:.3g} s") from None


def finish(process, deadline):
    """What a Popen still says, to its end: stdout, stderr."""
    try:
        return process.communicate(timeout=deadline * limit_factor())
    except subprocess.TimeoutExpired as late:
        raise TooLate(f"{' '.join(map(str, process.args))} was still running after {late.timeout:.3g} s") from None


def wait_exit(process, deadline, what):
    """The exit code of a Popen, within `deadline` seconds."""
    start = time.monotonic()
    while True:
        try:
            return process.wait(deadline)
        except subprocess.TimeoutExpired:
            if is_late(time.monotonic() - start, deadline):
                raise TooLate(f"{what} was still running after {time.monotonic() - start:.3g} s") from None


def rss_kb(pid):
    """Resident memory now."""
    return _status(pid, "VmRSS")


def peak_rss_kb(pid):
    """The most that was ever resident."""
    return _status(pid, "VmHWM")


# A child counts what its parent held when it was forked, and we hold hundreds of MB: so a small process is in between.
_PEAK = """
import resource, subprocess, sys
code = subprocess.call(sys.argv[2:])
open(sys.argv[1], "w").write(str(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss))
sys.exit(code)
"""


class Peak:
    """The most memory that a command ever held, for when it may be gone before anyone asks."""

    def __init__(self, folder):
        self._file = Path(folder) / f"peak-{uuid.uuid4().hex}"
        self.wrapper = (sys.executable, "-c", _PEAK, self._file)  # to be put before the command

    def bytes(self):
        return int(self._file.read_text()) * 1024


def cpu_seconds(pid):
    """User and system time of all its threads so far."""
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def waited_for_core_seconds(pid):
    """How long its main thread was ready and had no core (proc(5), schedstat). None: this kernel does not tell."""
    path = Path(f"/proc/{pid}/schedstat")
    return int(path.read_text().split()[1]) / 1e9 if Path("/proc/self/schedstat").exists() else None


def sleeps(pid):
    """How often its main thread has waited for something."""
    return _status(pid, "voluntary_ctxt_switches")


def _status(pid, name):
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith(name + ":"):
            return int(line.split()[1])
    raise AssertionError(f"/proc/{pid}/status has no {name}")


def is_stopped(pid):
    """Has SIGSTOP reached it?"""
    return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] == "T"


def pause(pid):
    """SIGSTOP, and waits until it holds."""
    os.kill(pid, signal.SIGSTOP)
    wait_until(lambda: is_stopped(pid), 5, f"process {pid} has stopped")


@contextlib.contextmanager
def held(pid):
    """It stands still meanwhile."""
    try:
        pause(pid)
        yield
    finally:
        resume(pid)


def resume(pid):
    """SIGCONT."""
    os.kill(pid, signal.SIGCONT)
