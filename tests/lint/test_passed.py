"""tests/run --passed: which trees have passed."""

import subprocess
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from lib import passed, places  # noqa: E402

COUNTS = {"passed": 6000, "failed": 0, "skipped": 2}


@pytest.fixture
def checkout(tmp_path, monkeypatch):
    """A repository with one commit; git(...) acts in it."""
    monkeypatch.setattr(places, "TREE", tmp_path / "tree")
    monkeypatch.setenv("WALPOST_CACHE", str(tmp_path / "cache"))
    places.TREE.mkdir()

    def git(*words):
        subprocess.run(["git", "-c", "user.name=x", "-c", "user.email=x@x", *words], cwd=places.TREE, check=True,
                       capture_output=True)

    git("init", "-q")
    (places.TREE / "a").write_text("a")
    git("add", ".")
    git("commit", "-q", "-m", "one")
    return git


def test_a_tree_that_has_passed_is_told_by_the_exit_code(checkout, capsys):
    assert passed.answer([]) == 1
    assert "HEAD has not passed" in capsys.readouterr().out
    passed.note(passed.clean_tree(), "all", COUNTS)
    assert passed.answer([]) == passed.answer(["HEAD"]) == 0
    assert "HEAD has passed tests/run all on 2" in (said := capsys.readouterr().out)
    assert "6000 passed, 0 failed, 2 skipped" in said
    assert passed.answer(["nonsense"]) == 2 and passed.answer(["a", "b"]) == 2


def test_another_commit_has_not_passed_and_one_of_the_same_tree_has(checkout):
    passed.note(passed.clean_tree(), "gate", COUNTS)
    checkout("commit", "-q", "--allow-empty", "-m", "two")
    assert passed.answer([]) == 0
    (places.TREE / "a").write_text("b")
    checkout("commit", "-q", "-a", "-m", "three")
    assert passed.answer([]) == 1 and passed.answer(["HEAD~1"]) == 0


@pytest.mark.parametrize("file", ["a", "untracked"])
def test_a_tree_that_is_not_clean_is_none(checkout, file):
    assert passed.clean_tree()
    (places.TREE / file).write_text("c")
    assert passed.clean_tree() is None
