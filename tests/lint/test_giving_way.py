"""What gives way to a row that is timed does so only while that one runs."""

import os
import subprocess
import sys
import threading

import pytest

from lib import giving_way

# Says how nice it is, and again after a line that it gets. So does a child with a session of its own, and a later one.
SAYS = """import os, subprocess, sys
nice = "import os; print(os.getpriority(os.PRIO_PROCESS, 0), flush=True);"
child = subprocess.Popen([sys.executable, "-c", "input();" + nice], stdin=subprocess.PIPE, start_new_session=True)
exec(nice)
sys.stdin.readline()
exec(nice)
child.communicate(b"\\n")
subprocess.run([sys.executable, "-c", nice])
"""


def _may_take_back():
    try:
        os.setpriority(os.PRIO_PROCESS, 0, os.getpriority(os.PRIO_PROCESS, 0) - 1)
    except OSError:
        return False
    os.setpriority(os.PRIO_PROCESS, 0, os.getpriority(os.PRIO_PROCESS, 0) + 1)
    return True


def _in_a_row(gives_way, **options):
    """A started thread that runs it in a row, and the list in which the ended process will be."""
    done = []

    def row():
        giving_way.this_thread(gives_way)
        done.append(giving_way.run([sys.executable, "-c", SAYS], text=True, **options))

    thread = threading.Thread(target=row, daemon=True)
    thread.start()
    return thread, done


@pytest.fixture
def timed():
    giving_way.begin()
    yield
    giving_way.end()


def _nice(gives_way, between):
    """How much nicer than we are a process is at first, and after `between`, and its children then."""
    stdin, to = os.pipe()
    out, stdout = os.pipe()
    thread, done = _in_a_row(gives_way, stdin=stdin, stdout=stdout)
    with os.fdopen(out) as said, os.fdopen(to, "w") as asks:
        first = said.readline()
        os.close(stdin)  # it has them by now, and what it says ends when it ends
        os.close(stdout)
        between()
        print("", file=asks, flush=True)
        found = [int(line) for line in (first, *said)]
    thread.join(30)
    assert done[0].returncode == 0
    return [nice - os.getpriority(os.PRIO_PROCESS, 0) for nice in found]


def test_it_is_nice_while_the_other_runs(timed):
    assert _nice(True, lambda: None) == [giving_way.NICE - os.getpriority(os.PRIO_PROCESS, 0)] * 4
    assert _nice(False, lambda: None) == [0] * 4


@pytest.mark.skipif(not _may_take_back(), reason="we may not take back how nice a process is")
def test_it_is_not_once_the_other_has_ended(timed):
    assert _nice(True, giving_way.end)[1:] == [0] * 3


def test_it_is_not_when_no_other_runs():
    giving_way.end()
    assert _nice(True, lambda: None) == [0] * 4


def test_what_it_says_and_how_it_ends_is_told(timed):
    giving_way.this_thread(True)
    try:
        done = giving_way.run([sys.executable, "-c", "print('x'); exit(3)"], stdout=subprocess.PIPE, text=True)
    finally:
        giving_way.this_thread(False)
    assert (done.returncode, done.stdout) == (3, "x\n")
