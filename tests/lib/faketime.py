"""libfaketime: another wall clock for one process and its children. CLOCK_MONOTONIC goes on."""

import contextlib
import re
import subprocess
from pathlib import Path

from lib import places


def library():
    """Where Debian has it; None when it is not installed."""
    return next(Path("/usr/lib").glob("*/faketime/libfaketimeMT.so.1"), None)


def sweep():
    """Its shared memory is named by process ids: that of a killed process stays, and keeps the next one of that id
    from starting."""
    for file in Path("/dev/shm").glob("*faketime_*"):
        owner = re.search(r"faketime_(?:sem|shm)_(\d+)$", file.name)
        if owner and not Path(f"/proc/{owner[1]}").exists():
            with contextlib.suppress(OSError):  # another run was faster, or it is another user's
                file.unlink()


def _environment(*preloaded):
    sweep()
    return {"LD_PRELOAD": " ".join(map(str, (*preloaded, library()))), "FAKETIME_DONT_FAKE_MONOTONIC": "1"}


def shifted(seconds):
    """Environment of a process whose clock is `seconds` ahead from its start on; none that waits with librdkafka."""
    return {**_environment(), "FAKETIME": f"{seconds:+d}"}


class Clock:
    """A wall clock that is stepped while processes read it: those started with its `environment`."""

    def __init__(self, folder):
        self._file = folder / "clock"
        self.set(0)
        waits = folder / "clock.so"
        source = places.TREE / "tests" / "support" / "clock.c"
        subprocess.run(["cc", "-shared", "-fPIC", "-O2", "-o", waits, source], check=True)
        self.environment = {**_environment(waits), "FAKETIME_TIMESTAMP_FILE": str(self._file),
                            "FAKETIME_CACHE_DURATION": "1"}

    def set(self, seconds):
        """So far ahead of the machine's, from within a second on."""
        part = self._file.with_suffix(".part")
        part.write_text(f"{seconds:+d}\n")
        part.rename(self._file)
