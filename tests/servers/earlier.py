"""An earlier walpost in the cache, built from the history of this repository."""

import subprocess
import tempfile

from lib.places import TREE
from servers import cache

COMMIT = "d4d448df34d5aaff4ff0ea602dca85853774ca53"  # the last without walpost.reissue and walpost.parked


class NoHistory(Exception):
    """The message is for a human."""


def program():
    """The walpost of that commit."""
    return cache.filled(f"walpost-{COMMIT[:12]}", _fill) / "walpost"


def _fill(folder):
    known = subprocess.run(["git", "-C", TREE, "cat-file", "-e", f"{COMMIT}^{{commit}}"], capture_output=True)
    if known.returncode != 0:
        raise NoHistory(f"commit {COMMIT[:12]}, an earlier walpost, is not in {TREE}: this test needs the "
                        "whole history (git fetch --unshallow)")
    with tempfile.TemporaryDirectory() as work:
        cache.run("git", "-C", str(TREE), "archive", "-o", f"{work}/source.tar", COMMIT)
        cache.run("mkdir", f"{work}/source")
        cache.run("tar", "-xf", f"{work}/source.tar", "-C", f"{work}/source")
        cache.run("meson", "setup", f"{work}/build", f"{work}/source", "-Dtests=disabled")
        cache.run("ninja", "-C", f"{work}/build", "src/walpost")
        cache.run("cp", f"{work}/build/src/walpost", str(folder / "walpost"))
