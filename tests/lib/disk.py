"""File systems in memory, mounted as root or with sudo."""

import os
import subprocess
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def small_disk(place, size):
    """`place` holds `size` ("96m") while this lasts; what comes makes it larger."""
    place.mkdir()
    _as_root("mount", "-t", "tmpfs", "-o", f"size={size},mode=0777", "tmpfs", place)
    try:
        yield lambda larger: _as_root("mount", "-o", f"remount,size={larger}", place)
    finally:
        _as_root("umount", "-l", place)


@contextmanager
def below_a_mount_point(place):
    """
    A folder whose file system Java can name: a broker that moves replicas asks how full its disk is. In a chroot no
    mount point may be above it; then it is one itself.
    """
    if _mount_points() & {str(parent) for parent in (place.resolve(), *place.resolve().parents)}:
        place.mkdir()
        yield place
        return
    with small_disk(place, "4g"):
        yield place


def _mount_points():
    return {line.split()[1] for line in Path("/proc/self/mounts").read_text().splitlines()}


def _as_root(*command):
    sudo = () if os.geteuid() == 0 else ("sudo", "-n")
    subprocess.run([*sudo, *map(str, command)], check=True)
