"""A benchmark is a program of its own: it brings the environment of the tests, and the folder, to be imported from."""

import os
import subprocess
import sys
from pathlib import Path

TESTS = Path(__file__).resolve().parents[1]


def enter(script):
    """Returns when we are in it; from outside it starts `script` anew in there."""
    try:
        import confluent_kafka  # noqa: F401
        import psycopg  # noqa: F401
    except ImportError:
        if sys.prefix != sys.base_prefix:
            raise
        subprocess.run([str(TESTS / "install"), "bench"], check=True, stdin=subprocess.DEVNULL)
        from lib.rings import venv

        os.execv(venv(), [str(venv()), str(Path(script).resolve()), *sys.argv[1:]])
