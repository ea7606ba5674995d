"""deploy/Dockerfile for both platforms: as `docker buildx build --platform linux/amd64,linux/arm64` makes it."""

import contextlib

import pytest

from lib.container import Platforms
from servers import arm64

_MACHINES = {"amd64": 62, "arm64": 183}  # of elf.h
_ARCHITECTURES = tuple(_MACHINES)


@pytest.fixture(scope="module")
def platforms():
    with contextlib.ExitStack() as until_the_end:
        try:
            until_the_end.enter_context(arm64.binfmt_registered())
        except OSError as error:
            pytest.skip(f"this kernel does not run programs for arm64 by an emulator (binfmt_misc): {error}")
        built = Platforms(*_ARCHITECTURES)
        until_the_end.callback(built.end)
        yield built


def test_the_manifest_has_both(platforms):
    found = [(one["platform"]["os"], one["platform"]["architecture"]) for one in platforms.manifest()]
    assert sorted(found) == [("linux", architecture) for architecture in _ARCHITECTURES]


@pytest.mark.parametrize("architecture", _ARCHITECTURES)
def test_all_files_of_each_are_for_it(platforms, architecture):
    """By the ELF header: its machine is at byte 18."""
    root = platforms.root(architecture)
    found = [path for path in (root / "usr").rglob("*")
             if path.is_file() and not path.is_symlink() and path.read_bytes()[:4] == b"\x7fELF"]
    assert root / "usr/local/bin/walpost" in found and len(found) > 20
    assert {int.from_bytes(path.read_bytes()[18:20], "little") for path in found} == {_MACHINES[architecture]}


@pytest.mark.parametrize("architecture", _ARCHITECTURES)
def test_the_program_of_each_runs(platforms, architecture):
    assert "librdkafka" in platforms.run(architecture, "walpost", "--version")
