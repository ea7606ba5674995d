"""Secrets in files, and how they are rotated: put in place as a whole, or by the swap that Kubernetes does."""

import itertools
import os
from pathlib import Path


def put(path, text):
    """A file in place of the one before, at once: nobody ever sees half of it."""
    path = Path(path)
    fresh = path.with_name(path.name + ".new")
    fresh.write_text(text)
    fresh.chmod(0o600)
    fresh.rename(path)
    return path


class Mounted:
    """A mounted secret: NAME -> ..data/NAME, and ..data -> a folder of this version, which an update swaps."""

    def __init__(self, folder):
        self.folder = Path(folder)
        self.folder.mkdir(parents=True)
        self._versions = itertools.count(1)

    def update(self, **texts):
        """All of its files anew; underscores in a name stand for dots: tls_crt."""
        version = self.folder / f"..version{next(self._versions)}"
        version.mkdir()
        for name, text in texts.items():
            file = version / name.replace("_", ".")
            file.write_text(text)
            file.chmod(0o600)
            link = self.folder / file.name
            if not link.is_symlink():
                link.symlink_to(Path("..data") / file.name)
        fresh = self.folder / "..data_tmp"
        fresh.symlink_to(version.name)
        os.rename(fresh, self.folder / "..data")
        return self

    def path(self, name):
        return self.folder / name
