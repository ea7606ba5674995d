"""deploy/release, without building: what it refuses, the changelog's section, the bill of materials, the archive."""

import hashlib
import io
import json
import os
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

TREE = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(TREE / "deploy" / "generate"))

import changes  # noqa: E402
import image  # noqa: E402
import spdx  # noqa: E402

_MESON = "project(\n  'walpost',\n  'c',\n  version: '0.2.0',\n)\n"
_CHANGES = """# Changelog

## [Unreleased]

## [0.2.0] - 2026-12-01

### Added

- A thing.

## [0.1.0] - 2026-11-01

- Another.

[0.1.0]: https://example.org/compare
"""
_SCRIPTS = ("deploy/release", "deploy/debian/build", "deploy/generate/changes.py")


def _git(folder, *words):
    environment = {
        **os.environ, "GIT_CONFIG_GLOBAL": "/dev/null",
        **{f"GIT_{who}_{what}": "a@b.org" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")},
    }
    subprocess.run(["git", *words], cwd=folder, check=True, capture_output=True, env=environment)


def _commit(folder, subject="release: 0.2.0"):
    _git(folder, "add", "--all")
    _git(folder, "commit", "-q", "--allow-empty", "-m", subject)


@pytest.fixture
def checkout(tmp_path):
    """A clean one of a walpost that is ready for the release 0.2.0."""
    folder = tmp_path / "checkout"
    for script in _SCRIPTS:
        (folder / script).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(TREE / script, folder / script)
    (folder / "meson.build").write_text(_MESON)
    (folder / "CHANGELOG.md").write_text(_CHANGES)
    _git(folder, "init", "-q", "-b", "main")
    _commit(folder)
    return folder


def _release(checkout, *arguments):
    done = subprocess.run([checkout / "deploy/release", *arguments], capture_output=True, text=True, cwd="/")
    return done.returncode, done.stdout + done.stderr


# A base that is none ends the script before it needs root or the network.
_STOP = ("--base", "yesterday")


def test_a_commit_that_is_ready_is_the_release_without_a_tag(checkout):
    code, said = _release(checkout, *_STOP, "0.2.0")
    assert code == 2 and "walpost 0.2.0, commit" in said and "pre-release" not in said
    assert "--base yesterday is neither a mirror's URL nor a date" in said


@pytest.mark.parametrize("named, written, why", [
    ("0.2.0", ("## [0.2.0]", "## [0.1.9]"), "CHANGELOG.md has no section [0.2.0]"),
    ("0.2.0", ("## [Unreleased]\n", "## [Unreleased]\n\n- More.\n"), "CHANGELOG.md has changes under [Unreleased]"),
])
def test_a_commit_that_is_not_ready_is_a_pre_release_and_no_release(checkout, named, written, why):
    (checkout / "CHANGELOG.md").write_text(_CHANGES.replace(*written))
    _commit(checkout)
    code, said = _release(checkout, *_STOP, named)
    assert code == 1 and f"{named} cannot be released: {why}" in said
    code, said = _release(checkout, *_STOP)
    assert code == 2 and "walpost 0.2.0~git" in said and f"a pre-release: {why}" in said


def test_a_version_that_is_tagged_elsewhere_is_not_released_again(checkout):
    _git(checkout, "tag", "v0.2.0")
    assert "walpost 0.2.0, commit" in _release(checkout, *_STOP, "0.2.0")[1]
    _commit(checkout, "docs: a word")
    code, said = _release(checkout, *_STOP, "0.2.0")
    assert code == 1 and "the tag v0.2.0 is at another commit" in said and "raise the version in meson.build" in said


@pytest.mark.parametrize("arguments, code, sentence", [
    (["0.3.0"], 2, "VERSION 0.3.0 is not that of meson.build, 0.2.0: change it there and commit, or name 0.2.0"),
    (["--frobnicate"], 2, "there is no option --frobnicate"),
    (["--to"], 2, "--to needs a value"),
    (["0.2.0", "0.3.0"], 2, "it takes one VERSION; 0.3.0 is another"),
    (["--to", "{checkout}/out"], 2, "is in the checkout, which must stay clean"),
    (["--to", "/"], 1, "/ exists: remove it, or choose another folder with --to"),
])
def test_the_script_says_what_is_wrong(checkout, arguments, code, sentence):
    ended, said = _release(checkout, *(word.format(checkout=checkout) for word in arguments))
    assert ended == code and sentence in said


@pytest.mark.parametrize("name", ["meson.build", "new"])
def test_a_checkout_that_is_not_clean_is_refused(checkout, name):
    with open(checkout / name, "a") as file:
        file.write("# more\n")
    code, said = _release(checkout, "0.2.0")
    assert code == 1 and f"the checkout is not clean: commit or remove {name}" in said


def test_a_section_is_what_is_below_its_heading(tmp_path):
    assert changes.section(_CHANGES, "0.2.0") == "### Added\n\n- A thing."
    assert changes.section(_CHANGES, "0.1.0") == "- Another."
    assert changes.section(_CHANGES, "Unreleased") == ""
    assert changes.section(_CHANGES, "0.3.0") is None


def test_the_changelog_has_what_is_not_released(tree):
    assert changes.section((tree / "CHANGELOG.md").read_text(), "Unreleased") is not None


_STATUS = """Package: libpq5
Status: install ok installed
Maintainer: Someone <someone@example.org>
Architecture: amd64
Source: postgresql-17 (17.7-0+deb13u1)
Version: 17.7-0+deb13u1
Description: client
 of several lines

Package: libgone1
Status: deinstall ok config-files
Architecture: amd64
Version: 1

Package: libstdc++6
Status: install ok installed
Architecture: amd64
Source: gcc-14
Version: 14.2.0-19
"""


def test_only_installed_packages_are_listed_with_what_scanners_look_for():
    packages = spdx.installed(_STATUS)
    assert list(packages) == ["libpq5", "libstdc++6"]
    one = spdx.library(packages["libpq5"], "13")
    assert one["versionInfo"] == "17.7-0+deb13u1"
    assert one["sourceInfo"] == "built from source package postgresql-17 17.7-0+deb13u1"
    assert one["externalRefs"][0]["referenceLocator"] == (
        "pkg:deb/debian/libpq5@17.7-0%2Bdeb13u1?arch=amd64&distro=debian-13")
    assert spdx.library(packages["libstdc++6"], "13")["SPDXID"] == "SPDXRef-debian13-libstdc--6-14.2.0-19"


def test_of_alternatives_the_installed_one_is_depended_on():
    packages = spdx.installed(_STATUS)
    assert list(spdx.of_depends("libpq5 (>= 15), libnone | libstdc++6, libgone1", packages)) == ["libpq5", "libstdc++6"]


def test_an_image_with_one_file_per_package_has_a_bill_too(tmp_path):
    folder = tmp_path / "var/lib/dpkg/status.d"
    folder.mkdir(parents=True)
    (folder / "libpq5").write_text("Package: libpq5\nArchitecture: amd64\nVersion: 17.7-0\n")
    (folder / "libpq5.md5sums").write_text("0 usr/lib/libpq.so.5\n")
    assert list(spdx.of_root(tmp_path)) == ["libpq5"]


def test_the_bill_refers_to_what_it_lists_and_is_the_same_each_time(tmp_path):
    file = tmp_path / "walpost-0.2.0-image-amd64.tar.gz"
    file.write_bytes(b"image")
    packages = [spdx.library(one, "13") for one in spdx.installed(_STATUS).values()]
    bill = spdx.document("0.2.0", 0, [(file, "CONTAINS", packages)])
    assert bill["creationInfo"]["created"] == "1970-01-01T00:00:00Z"
    ids = {one["SPDXID"] for one in bill["packages"]} | {bill["SPDXID"]}
    assert len(ids) == 4
    assert {(one["spdxElementId"] in ids, one["relatedSpdxElement"] in ids) for one in bill["relationships"]} == {
        (True, True)}
    assert bill["packages"][0]["checksums"][0]["checksumValue"] == hashlib.sha256(b"image").hexdigest()
    assert json.dumps(bill) == json.dumps(spdx.document("0.2.0", 0, [(file, "CONTAINS", packages)]))
    file.write_bytes(b"another")
    assert spdx.document("0.2.0", 0, [(file, "CONTAINS", packages)])["documentNamespace"] != bill["documentNamespace"]


def _archive(path, identifier):
    """As buildah writes it, of a build in the container `identifier`."""
    config = {"container": identifier, "container_config": {"Hostname": identifier}, "architecture": "amd64",
              "config": {"Hostname": identifier, "User": "65532:65532"}}
    manifest = [{"Config": "1.json", "RepoTags": ["localhost/walpost:1"], "Layers": ["2.tar"]}]
    with tarfile.open(path, "w") as to:
        for name, content in (("2.tar", b"layer"), ("1.json", json.dumps(config).encode()), ("repositories", b"{}"),
                              ("manifest.json", json.dumps(manifest).encode())):
            member = tarfile.TarInfo(name)
            member.size, member.mtime = len(content), os.getpid()
            to.addfile(member, io.BytesIO(content))
    return path


def test_archives_of_one_image_built_in_two_containers_become_the_same(tmp_path):
    made = [tmp_path / "first", tmp_path / "second"]
    for path in made:
        image.main(_archive(tmp_path / "built", path.name), "walpost:0.2.0", path)
    assert made[0].read_bytes() == made[1].read_bytes()
    with tarfile.open(made[0]) as opened:
        (manifest,) = json.load(opened.extractfile("manifest.json"))
        assert opened.getnames() == ["manifest.json", manifest["Config"], "2.tar"]
        config = opened.extractfile(manifest["Config"]).read()
        assert json.loads(config) == {"architecture": "amd64", "config": {"User": "65532:65532"}}
        assert manifest == {"Config": f"{hashlib.sha256(config).hexdigest()}.json", "RepoTags": ["walpost:0.2.0"],
                            "Layers": ["2.tar"]}
        assert opened.extractfile("2.tar").read() == b"layer"
