"""walpost as a package would build it."""

import subprocess

from lib import places


def release(*targets):
    """The folder of a release build of this checkout, in the cache, with these targets up to date."""
    folder = places.build("release-lto")
    folder.parent.mkdir(parents=True, exist_ok=True)
    with places.lock(f"build-{folder.parent.name}-release"):
        if not (folder / "build.ninja").exists():
            _run("meson", "setup", "--buildtype=release", "-Db_lto=true", folder, places.TREE)
        _run("ninja", "-C", folder, *targets)
    return folder


def _run(*command):
    done = subprocess.run(list(map(str, command)), stdin=subprocess.DEVNULL, capture_output=True, text=True)
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(map(str, command))} failed:\n{done.stdout[-3000:]}{done.stderr[-3000:]}")
