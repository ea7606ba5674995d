"""Child processes that do not outlive the test run, and what /proc says about them."""

import ctypes
import os
import pwd
import signal
import subprocess
from pathlib import Path

from lib.waiting import wait_until

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


def wait_exit(process, deadline, what):
    """The exit code of a Popen, within `deadline` seconds."""
    try:
        return process.wait(deadline)
    except subprocess.TimeoutExpired:
        raise AssertionError(f"{what} was still running after {deadline:g} s") from None


def rss_kb(pid):
    """Resident memory now."""
    return _status(pid, "VmRSS")


def peak_rss_kb(pid):
    """The most that was ever resident."""
    return _status(pid, "VmHWM")


def peak_of(command, environment):
    """Runs a command to its good end: the most kB that were ever resident of it, and what it said."""
    child = subprocess.Popen(list(map(str, command)), env=environment, stdin=subprocess.DEVNULL,
                             stdout=subprocess.PIPE, preexec_fn=dies_with_us())
    with child.stdout as said:
        text = said.read()
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    assert child.returncode == 0, text
    return usage.ru_maxrss, text


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


def resume(pid):
    """SIGCONT."""
    os.kill(pid, signal.SIGCONT)
