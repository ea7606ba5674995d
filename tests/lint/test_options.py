"""An option is not done before it is in the sample, in the reference and in a test."""

import os
import re
import subprocess
from pathlib import Path

import pytest

_KEY = re.compile(r'^\t\{ "([a-z]+\.[a-z_.]+)",', re.MULTILINE)


@pytest.fixture(scope="module")
def keys(tree):
    found = _KEY.findall((tree / "src/config/options.c").read_text())
    assert len(found) > 20
    return found


@pytest.fixture(scope="module")
def walpost():
    def said(*arguments):
        program = Path(os.environ["WALPOST_BUILDS"]) / "gcc" / "src" / "walpost"
        return subprocess.run([program, *arguments], check=True, capture_output=True, text=True).stdout

    return said


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
