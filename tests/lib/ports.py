"""Ports that nobody else takes: below the ephemeral range, each under a lock while we live."""

import fcntl
import os
import random
import socket
from pathlib import Path

_FIRST, _LAST = 20000, 31999
_held = []


def _is_free(port):
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as s:
        s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            s.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


def take_port():
    """A free port on 127.0.0.1 that no other test run on this machine will pick."""
    folder = Path("/tmp") / f"walpost-ports-{os.geteuid()}"  # one for all, whatever TMPDIR is
    folder.mkdir(exist_ok=True)
    while True:
        port = random.randint(_FIRST, _LAST)
        lock = open(folder / str(port), "w")
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            lock.close()
            continue
        if _is_free(port):
            _held.append(lock)
            return port
        lock.close()
