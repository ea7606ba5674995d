"""The ring matrix: on which versions of PostgreSQL it runs, and what it says of each."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from lib import rings  # noqa: E402


@pytest.mark.parametrize("named, versions", [("", ["14", "15", "16", "17", "18"]), ("16", ["16"])])
def test_the_matrix_runs_on_each_version_or_on_those_that_are_named(monkeypatch, capsys, named, versions):
    monkeypatch.setenv("WALPOST_LENGTHS", "")
    monkeypatch.setenv("WALPOST_POSTGRES", named)
    monkeypatch.setattr(rings, "e2e", lambda arguments: rings.Count(3, 0, 1))
    assert rings.matrix([]) == rings.Count(3 * len(versions), 0, len(versions))
    assert capsys.readouterr().out.splitlines() == [
        f"PostgreSQL {version}: 3 passed, 0 failed, 1 skipped" for version in versions]


def test_the_matrix_refuses_a_version_that_it_does_not_know(monkeypatch):
    monkeypatch.setenv("WALPOST_POSTGRES", "16 13")
    with pytest.raises(rings.Failed, match="WALPOST_POSTGRES names 13: choose from 14 15 16 17 18"):
        rings.matrix([])
