"""What bash, zsh and fish complete: everything that the program's own help tells, and nothing else."""

import os
import re
import subprocess
from pathlib import Path

import pytest
import shells

BUILD = Path(os.environ["WALPOST_BUILDS"]) / "gcc"


def _help(*words):
    said = subprocess.run([BUILD / "src/walpost", *words, "--help"], check=True, capture_output=True, text=True)
    return said.stdout


def _commands(*above):
    return re.findall(r"^  ([a-z-]+) ", _help(*above), re.MULTILINE)


GROUPS = [name for name in _commands() if " COMMAND " in _help(name).splitlines()[0]]
LEAVES = [(name,) for name in _commands() if name not in GROUPS]
LEAVES += [(group, name) for group in GROUPS for name in _commands(group)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("shell")
    (path / "some.conf").touch()
    (path / "other.json").touch()
    return path


@pytest.fixture(scope="module", params=[shells.Bash, shells.Zsh, shells.Fish], ids=["bash", "zsh", "fish"])
def shell(request, folder):
    shell = request.param(BUILD / "deploy", folder)
    yield shell
    shell.end()


@pytest.fixture(scope="module")
def keys(tree):
    return set(re.findall(r'^\t\{ "([a-z]+\.[a-z_.]+)",', (tree / "src/config/options.c").read_text(), re.MULTILINE))


def test_commands(shell):
    assert shell.completed("walpost ") - {"--help", "--version"} == set(_commands())
    assert shell.completed("walpost s") == {name for name in _commands() if name.startswith("s")}


def test_commands_of_commands(shell):
    assert GROUPS
    for group in GROUPS:
        assert shell.completed(f"walpost {group} ") - {"--help"} == set(_commands(group))


def test_options_of_each_command(shell):
    assert len(LEAVES) > 12
    for words in LEAVES:
        wanted = set(re.findall(r"^  (?:-[a-z], )?(--[a-z-]+)", _help(*words), re.MULTILINE))
        assert shell.completed(f"walpost {' '.join(words)} --") == wanted, words


def test_options_behind_other_options(shell):
    assert shell.completed("walpost check -c some.conf --set log.level=info --js") == {"--json"}


def test_files_where_files_are_wanted(shell):
    for words in ("run -c ", "run --config ", "run --config=", "config import-debezium "):
        assert shell.completed(f"walpost {words}") == {"some.conf", "other.json"}, words


def test_no_files_where_none_are(shell):
    for words in ("run ", "slot drop ", "init --role ", "tail --count "):
        assert not {"some.conf", "other.json"} & shell.completed(f"walpost {words}"), words


def test_keys_of_all_sections_but_no_secrets(shell, keys):
    assert len(keys) > 50
    offered = shell.completed("walpost run --set ")
    secrets = {"postgres.password", "outbox.schema.registry.basic_auth", "outbox.schema.registry.bearer_token"}
    assert offered == keys - secrets | {"kafka.bootstrap.servers"}
    assert shell.completed("walpost run --set relay.on") == {"relay.on_halt"}
    assert shell.completed("walpost run --set=relay.on") == {"relay.on_halt"}


def test_values_of_keys_that_have_only_some(shell):
    assert shell.completed("walpost run --set relay.poison=") == {"stop", "dead-letter", "park"}
    assert shell.completed("walpost run --set outbox.key.format=json-") == {"json-schema"}
    assert shell.completed("walpost run --set=postgres.allow_synchronous=") == {"yes", "no"}


def test_a_name_that_is_a_command_elsewhere_misleads_nobody(shell):
    assert "--to" not in shell.completed("walpost slot drop skip --")
    assert "--force" in shell.completed("walpost slot drop skip --")
