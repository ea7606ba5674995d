"""What deploy/release builds of the commit that is checked out: twice, with the same bytes."""

import json
import subprocess
import tarfile
from pathlib import Path

import pytest

from lib import machine as machines
from lib import places
from package.test_package import field, said

pytestmark = pytest.mark.timeout(7200)
_BASE = "http://deb.debian.org/debian"


def _release(tree, *arguments):
    # Beside other tests it takes what they leave of the cores.
    return subprocess.run(["nice", tree / "deploy/release", *arguments], capture_output=True, text=True, cwd="/")


@pytest.fixture(scope="module")
def checkout(folder):
    """A clean one of HEAD, by way of which releases are made."""
    said("git", "clone", "-q", f"file://{places.TREE}", folder / "checkout")
    return folder / "checkout"


@pytest.fixture(scope="module")
def release(folder, checkout):
    """The folder, built once."""
    done = _release(checkout, "--base", _BASE, "--to", folder / "release")
    assert done.returncode == 0, done.stdout + done.stderr
    return folder / "release"


def _one(release, pattern):
    (found,) = release.glob(pattern)
    return found


@pytest.fixture(scope="module")
def version(checkout):
    return said(checkout / "deploy/debian/build", "--print-version").strip()


def test_the_checksums_are_those_of_all_files(release):
    said("sh", "-c", 'cd "$1" && sha256sum --check --strict SHA256SUMS', "check", release)
    listed = [line.split("  ")[1] for line in (release / "SHA256SUMS").read_text().splitlines()]
    assert sorted([*listed, "SHA256SUMS"]) == sorted(path.name for path in release.iterdir())
    assert not [name for name in listed if "~" in name]


@pytest.mark.parametrize("debian", ["12", "13"])
def test_there_is_a_package_for_each_debian(release, version, debian):
    deb = _one(release, f"walpost_*.deb{debian}_amd64.deb")
    assert field(deb, "Version") == f"{version}-1~deb{debian}"
    assert _one(release, f"walpost-dbgsym_*.deb{debian}_amd64.deb")


def test_the_tarballs_program_runs_and_its_readme_names_its_libraries(release, tmp_path):
    archive = _one(release, "walpost-*-linux-amd64-glibc2.*.tar.gz")
    said("tar", "-x", "-C", tmp_path, "-f", archive)
    top = tmp_path / archive.name.removesuffix(".tar.gz")
    assert sorted(path.name for path in top.iterdir()) == ["LICENSE", "README", "bin", "share"]
    assert {path.name for path in (top / "share/man").rglob("*.gz")} == {"walpost.1.gz", "walpost.conf.5.gz"}
    dynamic = said("readelf", "--dynamic", top / "bin/walpost")
    readme = (top / "README").read_text()
    for library in ("librdkafka.so.1", "libpq.so.5"):
        assert f"[{library}]" in dynamic and f"    {library}\n" in readme
    assert readme.count("apt-get install") == 2 and " libpq5 " in readme and " libcurl4t64 " in readme
    with tarfile.open(archive) as opened:
        members = opened.getmembers()
    assert {(one.uid, one.gid) for one in members} == {(0, 0)} and len({one.mtime for one in members}) == 1


@pytest.mark.parametrize("debian, suite", [("12", "bookworm"), ("13", "trixie")])
def test_the_tarballs_program_runs_on_each_debian_with_what_its_readme_installs(release, folder, debian, suite):
    place = machines.copy(machines.debian(suite), folder / f"tarball-{suite}")
    said("tar", "-x", "-C", place / "opt", "--strip-components=1", "-f", _one(release, "walpost-*-linux-*.tar.gz"))
    install = (place / "opt/README").read_text().split(f"On Debian {debian}:")[1].split("\n\n")[1].split()
    machines.run(place, "apt-get", "update")
    machines.run(place, *install[:2], "-y", "--no-install-recommends", *install[2:])
    assert machines.run(place, "/opt/bin/walpost", "--version").startswith("walpost ")


def _config(image):
    with tarfile.open(image) as opened:
        (manifest,) = json.load(opened.extractfile("manifest.json"))
        return manifest, json.load(opened.extractfile(manifest["Config"]))


def test_the_image_has_its_tag_and_its_configuration(release, version):
    manifest, facts = _config(_one(release, "walpost-*-image-amd64.tar.gz"))
    assert manifest["RepoTags"] == [f"walpost:{version.replace('~', '-')}"]
    assert facts["config"]["User"] == "65532:65532" and facts["config"]["Entrypoint"] == ["walpost"]
    assert facts["config"]["Healthcheck"]["Test"][:3] == ["CMD", "walpost", "status"]
    assert facts["architecture"] == "amd64"


def test_the_bill_of_materials_names_packages_and_the_files_that_contain_them(release, version):
    bill = json.loads(_one(release, "walpost-*.spdx.json").read_text())
    assert bill["spdxVersion"] == "SPDX-2.3" and bill["name"] == f"walpost-{version}"
    packages = {one["SPDXID"]: one for one in bill["packages"]}
    for one in packages.values():
        assert one["versionInfo"] and one["downloadLocation"] and one["supplier"]
    for kind, source in (("CONTAINS", "-image-"), ("DEPENDS_ON", ".deb12_"), ("DEPENDS_ON", ".deb13_"),
                         ("DEPENDS_ON", "-linux-")):
        named = {packages[one["relatedSpdxElement"]]["name"] for one in bill["relationships"]
                 if one["relationshipType"] == kind and source in packages[one["spdxElementId"]]["packageFileName"]}
        assert {"libpq5", "librdkafka1"} <= named
    described = {packages[one["relatedSpdxElement"]]["packageFileName"] for one in bill["relationships"]
                 if one["relationshipType"] == "DESCRIBES"}
    assert len(described) == 4


def test_the_changes_are_the_changelogs(release, checkout):
    changes = (release / "CHANGES.md").read_text().strip()
    assert changes and changes in (checkout / "CHANGELOG.md").read_text()


def test_a_second_build_gives_the_same_bytes(release, folder, checkout):
    done = _release(checkout, "--base", _BASE, "--to", folder / "again")
    assert done.returncode == 0, done.stdout + done.stderr
    assert (folder / "again/SHA256SUMS").read_text() == (release / "SHA256SUMS").read_text()


def test_an_existing_folder_is_kept(release, checkout):
    done = _release(checkout, "--to", release)
    assert done.returncode == 1 and f"{release} exists: remove it" in done.stderr


def test_a_mirror_that_cannot_be_reached_is_named_with_another(checkout, tmp_path):
    done = _release(checkout, "--base", "http://127.0.0.1:1/debian", "--to", tmp_path / "release")
    assert done.returncode == 1 and not Path(tmp_path / "release").exists()
    assert "http://127.0.0.1:1/debian cannot be reached" in done.stderr
    assert "--base, such as http://deb.debian.org/debian" in done.stderr
