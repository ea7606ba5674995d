"""What deploy/debian/build makes, as packages."""

import re
import subprocess

import pytest

from lib import places


def said(*command):
    return subprocess.run(list(map(str, command)), check=True, capture_output=True, text=True).stdout


def field(deb, name):
    return said("dpkg-deb", "--field", deb, name).strip()


# Bytes of machine code that happen to be a word.
_NO_WORD = re.compile(r"spelling-error-in-binary \w{1,3} with ")


def test_lintian_has_nothing_to_say(packages):
    (changes,) = packages.glob("*.changes")
    done = subprocess.run(
        ["lintian", "--allow-root", "--display-info", "--tag-display-limit", "0", changes],
        capture_output=True, text=True,
    )
    told = [line for line in done.stdout.splitlines() if not line.startswith("N:") and not _NO_WORD.search(line)]
    assert not told, "\n".join(told)
    assert done.returncode == 0, done.stderr


def test_the_version_sorts_before_that_of_the_release(deb):
    (release,) = re.findall(r"^  version: '(.*)',$", (places.TREE / "meson.build").read_text(), re.MULTILINE)
    version = field(deb, "Version")
    assert re.fullmatch(rf"{re.escape(release)}~git\d{{14}}\.[0-9a-f]{{7}}-1~deb\d+", version)
    said("dpkg", "--compare-versions", version, "lt", release)


def test_there_are_packages_for_debugging_and_for_the_source(packages):
    assert list(packages.glob("walpost-dbgsym_*.deb"))
    assert list(packages.glob("*.dsc")) and list(packages.glob("*.orig.tar.gz"))


def test_it_depends_on_libraries_and_on_the_makers_of_its_user(deb):
    for one in field(deb, "Depends").split(", "):
        assert re.match(r"lib|systemd \| systemd-standalone-sysusers \| systemd-sysusers$", one), one
    assert "libcurl4t64 | libcurl4" in field(deb, "Depends")  # loaded, not linked


def test_only_its_configuration_is_in_etc(deb):
    files = [line.split()[-1] for line in said("dpkg-deb", "--contents", deb).splitlines() if line[0] != "d"]
    assert [name for name in files if name.startswith("./etc/")] == ["./etc/walpost/walpost.conf"]
    assert said("dpkg-deb", "--info", deb, "conffiles").split() == ["/etc/walpost/walpost.conf"]


def test_the_program_is_hardened(deb, tmp_path):
    said("dpkg-deb", "--extract", deb, tmp_path)
    headers = said("readelf", "--wide", "--file-header", "--program-headers", "--dynamic", tmp_path / "usr/bin/walpost")
    assert "DYN (" in headers and "GNU_RELRO" in headers and "BIND_NOW" in headers
    assert re.search(r"GNU_STACK .* RW ", headers)


@pytest.mark.parametrize("arguments, code, sentence", [
    (["--frobnicate"], 2, "there is no option --frobnicate"),
    (["--to"], 2, "--to wants a folder"),
    (["--arch"], 2, "--arch wants an architecture of Debian"),
    (["--arch", "arm65"], 2, "--arch arm65: dpkg knows no such architecture"),
    (["no-such-commit"], 1, "there is no commit no-such-commit"),
])
def test_the_script_says_what_is_wrong(arguments, code, sentence, tmp_path):
    done = subprocess.run(
        [places.TREE / "deploy/debian/build", *arguments], cwd=tmp_path, capture_output=True, text=True
    )
    assert done.returncode == code and sentence in done.stderr
    assert not list(tmp_path.iterdir())
