"""The manual pages: whole, readable by man and mandoc, and of this program."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

BUILD = Path(os.environ["WALPOST_BUILDS"]) / "gcc"
PAGES = ("walpost.1", "walpost.conf.5")


def _said(*command, **options):
    return subprocess.run(list(map(str, command)), check=True, capture_output=True, text=True, **options).stdout


@pytest.fixture(scope="module")
def walpost():
    return lambda *words: _said(BUILD / "src" / "walpost", *words)


@pytest.fixture(scope="module")
def rendered():
    """The pages as they are read, each paragraph on one line."""
    return {
        page: re.sub(r"\s+", " ", _said("man", "--local-file", BUILD / "deploy" / page,
                                        env={**os.environ, "MANWIDTH": "200", "LC_ALL": "C.UTF-8"}))
        for page in PAGES
    }


def _commands(walpost, *above):
    """Every command that can be run, found the way a user does."""
    for name in re.findall(r"^  ([a-z-]+) ", walpost(*above, "--help"), re.MULTILINE):
        if "COMMAND" in walpost(*above, name, "--help").splitlines()[0]:
            yield from _commands(walpost, *above, name)
        else:
            yield (*above, name)


def test_each_command_is_in_it_with_all_that_its_help_says(walpost, rendered):
    page, missing = rendered["walpost.1"], []
    commands = list(_commands(walpost))
    assert ("slot", "skip") in commands and len(commands) > 12
    for command in commands:
        help = walpost(*command, "--help")
        about = re.sub(r"\s+", " ", help.split("\n\n")[1])
        options = re.findall(r"(--[a-z-]+(?: [A-Z][A-Z.=]*)?) ", help)
        for text in ["walpost " + " ".join(command), about.split(". ")[0].replace("`", ""), *options]:
            if text not in page:
                missing.append(f"{' '.join(command)}: {text}")
    assert not missing


def test_each_option_of_the_table_is_in_it(tree, rendered):
    keys = re.findall(r'^\t\{ "([a-z]+\.[a-z_.]+)",', (tree / "src/config/options.c").read_text(), re.MULTILINE)
    assert len(keys) > 50
    assert not [key for key in keys if f" {key} " not in rendered["walpost.conf.5"]]


def test_each_option_is_told_as_the_reference_tells_it(walpost, rendered):
    page = rendered["walpost.conf.5"]
    helps = re.findall(r"^### `\S+`\n\n(.*?)\n\n- Example", walpost("config", "reference"), re.MULTILINE | re.DOTALL)
    assert len(helps) > 50
    assert not [help for help in helps if re.sub(r"\s+", " ", help) not in page]


@pytest.mark.parametrize("page", PAGES)
def test_mandoc_has_nothing_to_say(page):
    done = subprocess.run(["mandoc", "-T", "lint", BUILD / "deploy" / page], capture_output=True, text=True)
    # Whether other pages are on this machine is none of ours.
    told = [line for line in done.stdout.splitlines() if "referenced manual not found" not in line]
    assert not told, "\n".join(told)


@pytest.mark.parametrize("page", PAGES)
def test_man_warns_of_nothing(page):
    done = subprocess.run(
        ["man", "--warnings", "-E", "UTF-8", "-l", "-Tutf8", "-Z", BUILD / "deploy" / page],
        capture_output=True, text=True, env={**os.environ, "MANWIDTH": "80", "LC_ALL": "C.UTF-8"},
    )
    assert done.returncode == 0 and not done.stderr


def test_the_date_is_that_of_the_sources_where_a_packager_says_it(tree, tmp_path):
    subprocess.run(
        [sys.executable, "-B", tree / "deploy/generate/manual.py", tree / "deploy/docs/pages",
         tree / "deploy/man/walpost.1.in", tmp_path / "page",
         "VERSION=1", "sysconfdir=/etc", "datadir=/usr/share", "docdir=/d"],
        check=True, env={**os.environ, "SOURCE_DATE_EPOCH": "1700000000"},
    )
    assert " 2023-11-14 " in (tmp_path / "page").read_text().split("\n")[1]


def test_help_of_another_form_breaks_the_build(tree, tmp_path):
    pages = tmp_path / "pages"
    (pages / "reference").mkdir(parents=True)
    for page in ("configuration.md", "reference/commands.md"):
        text = (tree / "deploy/docs/pages" / page).read_text()
        (pages / page).write_text(text.replace("\n  --json ", "\n  --JSON "))
    done = subprocess.run(
        [sys.executable, "-B", tree / "deploy/generate/manual.py", pages, tree / "deploy/man/walpost.1.in",
         tmp_path / "page"], capture_output=True, text=True,
    )
    assert done.returncode != 0 and "--JSON" in done.stderr
