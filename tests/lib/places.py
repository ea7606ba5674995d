"""Where things are kept: nothing of it in the work tree."""

import contextlib
import fcntl
import hashlib
import os
from pathlib import Path

TREE = Path(__file__).resolve().parents[2]


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
