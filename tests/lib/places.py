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
MEMORY = Path("/dev/shm")
RUN_LOCK = ".run"
_run_locks = {}
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
def lock(name, folder=None):
    """Held by one process at a time of those that have this folder; by default the cache."""
    path = (folder or cache()) / f".lock-{name}"
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
    folder = run_folder("walpost-", MEMORY)
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def lock_of_run_folders():
    """Where those of a Debian beside us (lib/bare.py) look, too."""
    return lock(f"walpost-run-folders-{os.geteuid()}", Path("/tmp"))


def run_folder(prefix, parent=None):
    """A new folder for what this process runs. Its lock ends with the process: then what is left in it, or was started
    from it, is nobody's (lib/leftovers.py)."""
    with lock_of_run_folders():
        folder = Path(tempfile.mkdtemp(prefix=prefix, dir=parent))
        folder.chmod(0o755)
        _run_locks[folder] = held = open(folder / RUN_LOCK, "w")
        fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
    return folder


def keep(folder):
    """Of evidence: it is nobody's to remove from now on."""
    (folder / RUN_LOCK).unlink(missing_ok=True)


def available_bytes():
    """Of memory, without swapping."""
    return int(re.search(r"MemAvailable: *(\d+)", Path("/proc/meminfo").read_text())[1]) << 10


def _has_memory():
    try:
        place, available = os.statvfs(MEMORY), available_bytes()
    except OSError:
        return False
    return min(place.f_bavail * place.f_frsize, available) >= _SCRATCH_BYTES and not place.f_flag & os.ST_NOEXEC
