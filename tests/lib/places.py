"""Where things are kept: nothing of it in the work tree."""

import atexit
import contextlib
import fcntl
import functools
import hashlib
import os
import re
import shutil
import tempfile
from pathlib import Path

TREE = Path(__file__).resolve().parents[2]
_MEMORY = Path("/dev/shm")
_SCRATCH_BYTES = 8 << 30  # several times what the tests of one run write at once


def cache():
    """Downloads and builds. As root not under the home folder: the servers run as another user."""
    if "WALPOST_CACHE" in os.environ:
        folder = Path(os.environ["WALPOST_CACHE"])
    elif os.geteuid() == 0:
        folder = Path("/var/cache/walpost")
    else:
        folder = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "walpost"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def build(kind, tree=TREE):
    """The build folder of a checkout, by default of this one, for one kind of build (gcc, sanitize, ...)."""
    name = hashlib.sha256(str(tree).encode()).hexdigest()[:12]
    return cache() / f"build-{name}" / kind


@contextlib.contextmanager
def lock(name):
    """Held by one process at a time on this machine."""
    path = cache() / f".lock-{name}"
    with open(path, "w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        yield


@functools.cache
def scratch():
    """
    The folder for what tests write, gone with this process: in memory, where files cost a server a tenth of what they
    cost it on a disk. Where TMPDIR says so, or memory is short, what Python takes.
    """
    if "TMPDIR" in os.environ or not _has_memory():
        return Path(tempfile.gettempdir())
    with lock("scratch"):
        for left in _MEMORY.glob("walpost-*"):  # by a run that was killed
            if _lock_folder(left):
                shutil.rmtree(left, ignore_errors=True)
        folder = Path(tempfile.mkdtemp(prefix="walpost-", dir=_MEMORY))
        folder.chmod(0o755)
        _lock_folder(folder)
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def _has_memory():
    try:
        place, available = os.statvfs(_MEMORY), re.search(r"MemAvailable: *(\d+)", Path("/proc/meminfo").read_text())
    except OSError:
        return False
    free = min(place.f_bavail * place.f_frsize, int(available[1]) << 10)
    return free >= _SCRATCH_BYTES and not place.f_flag & os.ST_NOEXEC


_locked = []


def _lock_folder(folder):
    """As long as this process lives; False when another has it."""
    try:
        held = os.open(folder, os.O_RDONLY)
        fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    _locked.append(held)
    return True
