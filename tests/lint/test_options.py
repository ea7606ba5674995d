"""An option is not done before it is in the sample, in the reference and in a test."""

import os
import re
import subprocess
from pathlib import Path

import pytest

from lib.relay import config_text

PROGRAM = Path(os.environ["WALPOST_BUILDS"]) / "gcc" / "src" / "walpost"
_KEY = re.compile(r'^\t\{ "([a-z]+\.[a-z_.]+)",', re.MULTILINE)


@pytest.fixture(scope="module")
def keys(tree):
    found = _KEY.findall((tree / "src/config/options.c").read_text())
    assert len(found) > 20
    return found


@pytest.fixture(scope="module")
def walpost():
    def said(*arguments):
        return subprocess.run([PROGRAM, *arguments], check=True, capture_output=True, text=True).stdout

    return said


SMALLEST = {"postgres.conninfo": "dbname=shop", "kafka.bootstrap.servers": "localhost:9092"}
# What some examples are nothing without.
COMPANIONS = {
    "outbox.expired": {"relay.dead_letter.topic": "dead"},
    "outbox.value.columns": {"outbox.value.format": "json"},
    "outbox.envelope": {"outbox.cloudevents.source": "/shop"},
    "outbox.debezium.context.headers": {"outbox.debezium.name": "shop"},
    "kafka.token_file": {"kafka.login": "file"},
    "cleanup.mode": {"outbox.column.inserted": "created_at"},
}


def show(tmp_path, text):
    """`walpost config show` of a file, without any variable."""
    file = tmp_path / "walpost.conf"
    file.write_text(text)
    return subprocess.run([PROGRAM, "config", "show", "-c", file], capture_output=True, text=True, env={})


def examples():
    reference = subprocess.run([PROGRAM, "config", "reference"], check=True, capture_output=True, text=True).stdout
    return re.findall(r"^### `(.*)`$(?:\n+.+)*?\n+- Example: `(.*)`\. Default: (.*)\.$", reference, re.MULTILINE)


def test_each_example_is_taken_and_is_not_the_default(keys, tmp_path):
    found = examples()
    assert [key for key, _, _ in found] == keys
    wrong = {}
    for key, example, default in found:
        if example.startswith("WALPOST__"):
            continue
        name, value = example.split(" = ", 1)
        assert key.endswith(f".{name}") and f"`{value}`" != default
        done = show(tmp_path, config_text({**SMALLEST, **COMPANIONS.get(key, {}), key: value}))
        if done.returncode != 0 or f"\n{key} = " not in f"\n{done.stdout}":
            wrong[key] = done.stderr
    assert not wrong, "\n".join(wrong.values())


def test_the_six_files_of_the_page_are_read(tree, tmp_path):
    page = (tree / "deploy/docs/pages/configuration.md").read_text()
    files = re.findall(r'^```ini title="walpost.conf"\n(.*?)^```$', page, re.MULTILINE | re.DOTALL)
    assert len(files) == 6
    for text in files:
        settings = re.findall(r"^(\S+) = ", text, re.MULTILINE)
        assert text.count("\n") >= 3 and len(settings) <= 8
        done = show(tmp_path, text)
        assert done.returncode == 0, done.stderr
        assert not [name for name in settings
                    if not re.search(rf"^\S*{re.escape(name)} = .*walpost\.conf", done.stdout, re.MULTILINE)]


def test_each_option_is_in_the_sample_that_deploy_ships(tree, keys, walpost):
    sample = walpost("config", "sample")
    assert sample == (tree / "deploy/walpost.conf").read_text(), "walpost config sample > deploy/walpost.conf"
    section, found = None, set()
    for line in sample.splitlines():
        if line.startswith("["):
            section = line.strip("[]")
        elif match := re.match(r"[#;]?\s*([a-z_.]+) =", line):
            found.add(f"{section}.{match[1]}")
    assert set(keys) <= found, set(keys) - found


def test_each_option_is_in_the_reference(keys, walpost):
    reference = walpost("config", "reference")
    missing = [key for key in keys if not re.search(rf"`{re.escape(key)}`", reference)]
    assert not missing


def test_each_option_is_named_in_a_test(tree, keys):
    text = "".join(path.read_text() for path in (tree / "tests/e2e").glob("test_*.py"))
    assert not [key for key in keys if f'"{key}"' not in text]
