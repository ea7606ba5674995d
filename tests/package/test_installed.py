"""The package on a clean Debian that is not running: installed, looked at, purged."""

import os
import shutil
import tempfile
from pathlib import Path

import pytest

from lib import machine as machines
from package.conftest import install

# What every package leaves: lists, logs and copies of the system's own.
_OF_THE_SYSTEM = (
    "var/lib/dpkg/", "var/lib/apt/", "var/cache/", "var/log/", "etc/passwd-", "etc/group-", "etc/shadow-",
    "etc/gshadow-", "etc/ld.so.cache", "walpost.deb",
)


def test_the_program_runs(installed):
    said = machines.run(installed, "walpost", "version")
    assert said.startswith("walpost ") and "librdkafka" in said


def test_it_has_a_user_that_owns_nothing_and_cannot_log_in(installed):
    name, _, uid, gid, _, home, shell = machines.run(installed, "getent", "passwd", "walpost").strip().split(":")
    assert (name, home) == ("walpost", "/nonexistent") and shell.endswith("nologin")
    assert 0 < int(uid) < 1000 and 0 < int(gid) < 1000
    assert machines.run(installed, "find", "/", "-xdev", "-user", "walpost") == ""


def test_the_configuration_is_for_root_and_the_service_alone(installed):
    stat = machines.run(installed, "stat", "-c", "%U:%G %a", "/etc/walpost", "/etc/walpost/walpost.conf")
    assert stat.split("\n")[:2] == ["root:walpost 2750", "root:walpost 640"]
    machines.run(installed, "cp", "/etc/walpost/walpost.conf", "/etc/walpost/copied.conf")
    for name in ("walpost", "copied"):
        machines.run(installed, "setpriv", "--reuid=walpost", "--regid=walpost", "--clear-groups",
                     "walpost", "config", "show", "-c", f"/etc/walpost/{name}.conf")
    machines.run(installed, "rm", "/etc/walpost/copied.conf")


def test_the_service_is_neither_enabled_nor_masked(installed):
    assert machines.run(installed, "sh", "-c", "systemctl is-enabled walpost || true").strip() == "disabled"


@pytest.mark.parametrize("path", [
    "usr/share/man/man1/walpost.1.gz", "usr/share/man/man5/walpost.conf.5.gz",
    "usr/share/bash-completion/completions/walpost", "usr/share/zsh/vendor-completions/_walpost",
    "usr/share/fish/vendor_completions.d/walpost.fish", "usr/share/walpost/sql/slot_checkpoint.sql",
    "usr/share/walpost/proto/walpost/v1/event.proto", "usr/share/doc/walpost/README.Debian",
    "usr/share/doc/walpost/changelog.gz", "usr/share/doc/walpost/copyright", "usr/lib/sysusers.d/walpost.conf",
    "usr/share/doc/walpost/examples/credentials.conf",
])
def test_what_belongs_to_it_is_where_debian_looks_for_it(installed, path):
    # A minimal Debian may be told to install no documentation; this one is not.
    assert (installed / path).is_file()


def _tree(place):
    """Every path in it, but for what every package leaves."""
    found = set()
    for folder, folders, files in os.walk(place):
        for name in folders + files:
            path = os.path.relpath(os.path.join(folder, name), place)
            if not path.startswith(_OF_THE_SYSTEM):
                found.add(path)
    return found


@pytest.fixture(scope="module")
def purged(suite, folder, deb):
    """A clean Debian with what the package needs, and without it."""
    place = machines.copy(machines.debian(suite), folder / f"purged-{suite}")
    install(place, deb)
    machines.run(place, "dpkg", "--purge", "walpost")
    yield place
    shutil.rmtree(place)


@pytest.fixture
def place(purged, folder):
    """A copy of that."""
    copied = machines.copy(purged, Path(tempfile.mkdtemp(dir=folder)) / "root")
    yield copied
    shutil.rmtree(copied)


def test_purged_it_leaves_nothing_behind(place, deb):
    accounts = [(place / "etc" / name).read_text() for name in ("passwd", "group", "shadow", "gshadow")]
    assert "walpost" not in "".join(accounts)
    before = _tree(place)
    assert not [path for path in before if "walpost" in path]
    install(place, deb, update=False)
    assert _tree(place) > before
    machines.run(place, "apt-get", "purge", "-y", "walpost")
    assert _tree(place) == before
    assert [(place / "etc" / name).read_text() for name in ("passwd", "group", "shadow", "gshadow")] == accounts


def test_removed_it_keeps_configuration_and_user_and_takes_them_up_again(place, deb):
    install(place, deb, update=False)
    configuration = place / "etc/walpost/walpost.conf"
    configuration.write_text("[postgres]\nconninfo = host=db\n\n[kafka]\nbootstrap.servers = kafka:9092\n")
    configuration.chmod(0o600)
    user = machines.run(place, "getent", "passwd", "walpost")
    machines.run(place, "apt-get", "remove", "-y", "walpost")
    assert not (place / "usr/bin/walpost").exists() and configuration.exists()
    install(place, deb, update=False)
    assert "host=db" in configuration.read_text() and configuration.stat().st_mode & 0o777 == 0o600
    assert machines.run(place, "getent", "passwd", "walpost") == user


def test_purged_it_leaves_an_administrators_files_and_their_owner(place, deb):
    install(place, deb, update=False)
    (place / "etc/walpost/pgpass").write_text("db:5432:shop:walpost:secret\n")
    machines.run(place, "chown", "walpost:", "/etc/walpost/pgpass")
    machines.run(place, "apt-get", "purge", "-y", "walpost")
    assert [path.name for path in (place / "etc/walpost").iterdir()] == ["pgpass"]
    assert machines.run(place, "stat", "-c", "%U", "/etc/walpost/pgpass").strip() == "walpost"
