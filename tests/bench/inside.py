"""A benchmark is a program of its own: it brings the environment of the tests, and the folder, to be imported from."""

import argparse
import os
import signal
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


def to_the_end(main):
    """`main` to its end, or until we are told to stop: servers, relay and files go either way."""
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda number, _: sys.exit(128 + number))
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        print("\nstopped", file=sys.stderr)
        sys.exit(130)


def count(text):
    """Of an option: a number from 1 on."""
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text}: not a number from 1 on")
    return int(text)


def counts(text):
    return [count(word) for word in text.split(",")]
