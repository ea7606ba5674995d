"""`meson install` puts what users and packagers expect where they expect it, and nothing else."""

import json
import os
import re
import subprocess
from pathlib import Path

import pytest

BUILD = Path(os.environ["WALPOST_BUILDS"]) / "gcc"


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """The gcc build, whose prefix is /usr/local, in a folder of its own."""
    root = tmp_path_factory.mktemp("destdir")
    subprocess.run(["meson", "install", "-C", BUILD, "--no-rebuild", "--quiet", "--destdir", root], check=True)
    return root


def _files(root):
    return {str(path.relative_to(root)) for path in root.rglob("*") if not path.is_dir()}


def test_all_that_is_installed(tree, installed):
    documents = {f"share/doc/walpost/{path.relative_to(tree)}" for path in (tree / "deploy/docs/pages").rglob("*.*")
                 if path.suffix != ".css"}
    contracts = {f"share/walpost/{path.relative_to(tree)}" for path in (tree / "proto").rglob("*.proto")}
    scripts = {f"share/walpost/sql/{path.name}" for path in (tree / "sql").glob("*.sql")}
    assert documents and len(contracts) == 3 and scripts
    assert _files(installed / "usr/local") == documents | contracts | scripts | {
        "bin/walpost",
        "share/man/man1/walpost.1",
        "share/man/man5/walpost.conf.5",
        "share/bash-completion/completions/walpost",
        "share/zsh/site-functions/_walpost",
        "share/fish/vendor_completions.d/walpost.fish",
        "share/doc/walpost/README.md",
        "share/doc/walpost/CHANGELOG.md", "share/doc/walpost/deploy/README.md", "share/doc/walpost/deploy/runbook.md",
        "share/doc/walpost/deploy/prometheus/alerts.yaml", "share/doc/walpost/deploy/grafana/dashboard.json",
        "share/doc/walpost/LICENSE",
        "share/doc/walpost/sql/README.md",
        "share/doc/walpost/examples/walpost.conf",
        "share/doc/walpost/examples/credentials.conf",
        "lib/systemd/system/walpost.service",
        "lib/systemd/system/walpost@.service",
        "lib/sysusers.d/walpost.conf",
    }
    assert _files(installed) == {f"usr/local/{name}" for name in _files(installed / "usr/local")}


def test_the_sample_is_what_the_program_prints(installed):
    sample = (installed / "usr/local/share/doc/walpost/examples/walpost.conf").read_text()
    said = subprocess.run([installed / "usr/local/bin/walpost", "config", "sample"], check=True, capture_output=True)
    assert said.stdout.decode() == sample


def test_no_word_of_a_template_is_left(installed):
    filled = [name for name in _files(installed) if not name.startswith(("usr/local/bin/", "usr/local/share/doc/"))]
    left = [f"{name}: {word}" for name in filled for word in re.findall(r"@\w+@", (installed / name).read_text())]
    assert not left


@pytest.fixture(scope="module")
def configured(tree, tmp_path_factory):
    """A build as a packager has it, configured and not made."""
    folder = tmp_path_factory.mktemp("packager") / "build"
    subprocess.run(
        ["meson", "setup", folder, tree, "--prefix=/usr", "-Dtests=disabled", "-Dfishcompletiondir=no",
         "-Dzshcompletiondir=/usr/share/zsh/vendor-completions"], check=True, capture_output=True,
    )
    return folder


def _introspected(folder, what):
    """What `meson introspect` would say."""
    return json.loads((folder / "meson-info" / f"intro-{what}.json").read_text())


def test_for_the_prefix_usr_it_is_all_where_distributions_have_it(configured):
    units = subprocess.run(
        ["pkg-config", "--variable=systemdsystemunitdir", "systemd"], capture_output=True, text=True
    ).stdout.strip() or "/usr/lib/systemd/system"
    to = set(_introspected(configured, "installed").values())
    assert {"/usr/bin/walpost", "/usr/share/man/man1/walpost.1", f"{units}/walpost.service"} <= to
    text = (configured / "deploy/walpost@.service").read_text()
    assert "ExecStart=/usr/bin/walpost run -c /etc/walpost/%i.conf\n" in text


def test_packagers_may_say_where(configured):
    to = set(_introspected(configured, "installed").values())
    assert "/usr/share/zsh/vendor-completions/_walpost" in to
    assert not [path for path in to if "fish" in path or "site-functions" in path]


def test_a_build_for_packagers_makes_no_test_program(configured):
    programs = {target["name"] for target in _introspected(configured, "targets") if target["type"] == "executable"}
    assert programs == {"walpost", "walpost-embedded-broker"}
    assert "cmocka" not in {dependency["name"] for dependency in _introspected(configured, "dependencies")}


def _packages(text):
    return set(re.findall(r"lib[a-z0-9-]+-dev\b", text)) - {"libc6-dev", "libcmocka-dev"}


@pytest.mark.parametrize("place", ["deploy/quickstart", ".github/CONTRIBUTING.md", "tests/install"])
def test_all_name_the_same_libraries_to_build_with(tree, place):
    control = (tree / "deploy/debian/control").read_text()
    assert _packages((tree / place).read_text()) == _packages(control)
