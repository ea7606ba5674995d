"""What killed runs left on the machine, which the next run removes before it starts.

A folder of a run carries a lock (`places.run_folder`). When nobody holds it any more, the folder is abandoned, and with
it the processes that were started from it, the mounts below it, and the rules of iptables that name it. A folder that
has no such lock cannot be judged: it is left, and named. Whatever is not in such a folder is not looked at.
"""

import contextlib
import fcntl
import os
import re
import shutil
import signal
import subprocess
import tempfile
from pathlib import Path

from lib import places
from lib.waiting import wait_until

# They are there on purpose, and have no lock: of ports (lib/ports.py); a user's own (deploy/quickstart).
_KNOWN = ("walpost-ports-", "walpost-quickstart.")
_COMMENT = re.compile(r'--comment "?(/[^ "]*/walpost-[^ "/]+)"?')


def _roots():
    return dict.fromkeys((places.MEMORY, Path("/tmp"), Path(tempfile.gettempdir())))


def remove_leftovers(say, roots=None):
    """Removes all that is abandoned, and says what; names what it cannot judge."""
    with places.lock_of_run_folders():
        folders = [folder for root in roots or _roots() for folder in sorted(root.glob("walpost-*")) if folder.is_dir()]
        abandoned = []
        for folder in folders:
            if folder.name.startswith(_KNOWN):
                continue
            if not (folder / places.RUN_LOCK).exists():
                say(f"left alone, for it has no lock of a run: {folder}")
            elif _is_free(folder / places.RUN_LOCK):
                abandoned.append(folder)
        removed = [what for folder in abandoned for what in _remove(folder)]
        removed += _remove_rules(lambda folder: folder in abandoned or not folder.exists())
    for what in removed:
        say(f"removed, left by a run that was killed: {what}")


def _is_free(lock):
    try:
        with open(lock) as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return True
    except OSError:
        return False


def _remove(folder):
    """What there was, a line each."""
    for pid, command in _processes_of(folder):
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(pid, signal.SIGKILL)
            yield f"process {pid} ({command[:60]})"
    wait_until(lambda: not list(_processes_of(folder)), 20, f"no process of {folder} is left")
    for place in _mounts_below(folder):
        subprocess.run(["umount", "-l", place], check=False)
        yield f"mount {place}"
    shutil.rmtree(folder, ignore_errors=True)
    yield f"folder {folder}"


def _processes_of(folder):
    """(id, command line) of those that work in it, or name it as an argument."""
    for each in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            words = (each / "cmdline").read_bytes().decode(errors="replace").split("\0")
            if int(each.name) == os.getpid() or (each / "stat").read_text().rsplit(")", 1)[1].split()[0] == "Z":
                continue
            cwd = Path(os.readlink(each / "cwd"))
            if folder in (cwd, *cwd.parents) or any(f"{folder}/" in f"{word}/" for word in words):
                yield int(each.name), " ".join(words).strip()


def _mounts_below(folder):
    """The deepest first."""
    places_of_mounts = [line.split()[1] for line in Path("/proc/self/mounts").read_text().splitlines()]
    return sorted((place for place in places_of_mounts if place.startswith(f"{folder}/")), reverse=True)


def _remove_rules(is_abandoned):
    """Of iptables; where there is none, or no right to ask it, there are no rules of ours."""
    with contextlib.suppress(FileNotFoundError):
        said = subprocess.run(["iptables", "-w", "5", "-S"], capture_output=True, text=True)
        for line in said.stdout.splitlines():
            found = _COMMENT.search(line)
            if found and line.startswith("-A ") and is_abandoned(Path(found[1])):
                subprocess.run(["iptables", "-w", "5", "-D", *line.replace('"', "").split()[1:]], check=False)
                yield f"rule of iptables {line[3:]}"
