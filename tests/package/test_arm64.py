"""The package for arm64, cross-built."""

import pytest

from package.test_package import field, said
from servers import arm64


@pytest.fixture(scope="module")
def debian(suite, arm64_deb, tmp_path_factory):
    """A folder with the package and all that it depends on, of an arm64 Debian, unpacked."""
    folder = tmp_path_factory.mktemp("arm64")
    arm64.unpack(folder, suite, arm64_deb)
    return folder


def test_it_is_for_arm64(arm64_deb, debian):
    assert field(arm64_deb, "Architecture") == "arm64" and arm64_deb.name.endswith("_arm64.deb")
    assert "AArch64" in said("readelf", "--file-header", debian / "usr/bin/walpost")


def test_the_program_runs_with_the_libraries_that_the_package_depends_on(debian):
    version = arm64.run(debian, "usr/bin/walpost", "--version")
    assert version.startswith("walpost ") and "librdkafka" in version
    shown = arm64.run(debian, "usr/bin/walpost", "config", "show", "-c", debian / "etc/walpost/walpost.conf")
    assert "postgres.slot" in shown


def test_manual_pages_and_completions_are_those_of_the_native_package(deb, arm64_deb, tmp_path):
    for name, package in (("native", deb), ("foreign", arm64_deb)):
        said("dpkg-deb", "--extract", package, tmp_path / name)
    share = [path.relative_to(tmp_path / "native") for path in (tmp_path / "native/usr/share").rglob("*")
             if path.is_file() and path.parent.name.startswith(("man", "completions", "vendor"))]
    assert len(share) == 5
    assert [path for path in share
            if (tmp_path / "native" / path).read_bytes() != (tmp_path / "foreign" / path).read_bytes()] == []
