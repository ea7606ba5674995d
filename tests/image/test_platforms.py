"""deploy/Dockerfile for both platforms: as `docker buildx build --platform linux/amd64,linux/arm64` makes it."""

import contextlib

import pytest

from lib.container import Platforms
from servers import arm64

_ARCHITECTURES = ("amd64", "arm64")


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
def test_the_program_of_each_runs(platforms, architecture):
    assert platforms.run(architecture, "dpkg", "--print-architecture") == architecture
    assert "librdkafka" in platforms.run(architecture, "walpost", "--version")
