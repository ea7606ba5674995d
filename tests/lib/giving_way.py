"""Processes that no deadline watches: beside tests that a deadline watches they take what is left of the cores.

The first row of a stage is timed, the others give way to it. Once the first has ended they are as eager as any process:
on a machine whose cores are never idle, the least share for long would be no progress at all.
"""

import contextlib
import os
import subprocess
import threading
from pathlib import Path

from lib import process

NICE = 19
_lock = threading.Lock()
_row = threading.local()  # of the thread: does it give way?
_running = set()
_is_timed = False


def begin():
    """Before the rows of a stage start."""
    global _is_timed
    with _lock:
        _is_timed = True


def end():
    """The row that is timed has ended."""
    global _is_timed
    with _lock:
        _is_timed = False
        for pid in _with_descendants(_running):
            _share(pid, os.getpriority(os.PRIO_PROCESS, 0))


def this_thread(gives_way):
    _row.gives_way = gives_way


def run(command, **options):
    """subprocess.run() without its time-out, `check` and `input`."""
    if not getattr(_row, "gives_way", False):
        return subprocess.run(command, **options)
    with _lock:
        started = subprocess.Popen(command, preexec_fn=_give_way if _is_timed else _alone, **options)
        _running.add(started.pid)
    try:
        said, errors = started.communicate()
    finally:
        with _lock:
            _running.discard(started.pid)
    return subprocess.CompletedProcess(command, started.returncode, said, errors)


_die_with_us = process.dies_with_us()


def _alone():
    os.setsid()
    _die_with_us()


def _give_way():
    _alone()
    _share(os.getpid(), NICE)


def _with_descendants(pids):
    """They may have sessions of their own, as the tests of `meson test` have."""
    children = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            parent = int(stat.read_text().rpartition(")")[2].split()[1])
            children.setdefault(parent, []).append(int(stat.parent.name))
    found = list(pids)
    for pid in found:
        found += children.get(pid, [])
    return found


def _share(pid, nice):
    """Only root may take it back; others wait a little longer."""
    with contextlib.suppress(OSError):
        os.setpriority(os.PRIO_PROCESS, pid, nice)
    with contextlib.suppress(OSError), open(f"/proc/{pid}/autogroup", "w") as group:
        group.write(str(nice))  # where the kernel shares the cores by sessions first: sched(7)
