"""Which trees have passed the whole of the tests on this machine: tests/run --passed."""

import json
import os
import subprocess
import time
from pathlib import Path

from lib import places

USAGE = "usage: tests/run --passed [COMMIT]"


def _git(*words):
    done = subprocess.run(["git", "-C", places.TREE, *words], capture_output=True, text=True)
    return done.stdout.strip() if done.returncode == 0 else None


def _folder():
    return places.cache() / "passed"


def clean_tree():
    """The hash of the tree that is checked out, or None where a file differs from it, or is not in it."""
    if _git("status", "--porcelain", "--untracked-files=all") != "":
        return None
    return _git("rev-parse", "HEAD^{tree}")


def note(tree, which, counts):
    """That it has passed the gate, or all."""
    fact = {"tree": tree, "which": which, "date": time.strftime("%Y-%m-%d %H:%M"), "debian": _debian(), **counts}
    file = _folder() / tree
    part = file.with_suffix(f".{os.getpid()}")
    file.parent.mkdir(exist_ok=True)
    part.write_text(json.dumps(fact))
    part.rename(file)


def _debian():
    try:
        return Path("/etc/debian_version").read_text().strip()
    except OSError:
        return "none"


def answer(words):
    """Exit code 0: the tree of this commit, by default HEAD, has passed; 1: it has not; 2: there is no such commit."""
    if len(words) > 1 or words[:1] in (["-h"], ["--help"]):
        print(USAGE)
        return 0 if len(words) == 1 else 2
    commit = words[0] if words else "HEAD"
    tree = _git("rev-parse", "--verify", "--quiet", f"{commit}^{{tree}}")
    if tree is None:
        print(f"tests/run: there is no commit {commit}")
        return 2
    try:
        fact = json.loads((_folder() / tree).read_text())
    except FileNotFoundError:
        print(f"{commit} has not passed on this machine: run tests/run in a clean checkout of it")
        return 1
    command = "tests/run all" if fact["which"] == "all" else "tests/run"
    print(f"{commit} has passed {command} on {fact['date']}, Debian {fact['debian']}:"
          f" {fact['passed']} passed, {fact['failed']} failed, {fact['skipped']} skipped")
    return 0
