"""tests/PROOF.md is what the recorded runs say, and names their sources."""

import subprocess
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from chaos import proof  # noqa: E402

RUN = {
    "sources": "aaaa", "kind": "chaos", "date": "2026-01-01", "seed": 1, "minutes": 30.0, "postgres": "18.4.0",
    "good": True, "kills": 100, "faults": {"kill -9 relay": 100}, "ways": {}, "events": 5000, "lost": 0,
    "out_of_order": 0, "violations": {}, "duplicates": {"kill -9 relay": 7}, "late": {}, "audits": 90,
    "versions": {"walpost": "1", "Kafka": "4.3.0", "librdkafka": "2.0.2", "libpq": "15.1"},
}


def test_the_proof_tells_the_truth():
    wrong = proof.judgement()
    assert wrong is None, f"\n{wrong}"


def test_it_names_the_sources_and_the_commit_of_its_runs():
    assert "`aaaa`" in proof.text([RUN]) and "commit `" not in proof.text([RUN])
    assert "commit `c0ffee`" in proof.text([{**RUN, "commit": "c0ffee"}])
    assert "No run has been recorded" in proof.text([])


def test_a_document_that_is_not_of_the_runs_is_found(monkeypatch, tmp_path):
    monkeypatch.setattr(proof, "PROOF", tmp_path / "PROOF.md")
    assert proof.AGAIN in proof.judgement()
    proof.PROOF.write_text(proof.text([RUN]))
    assert proof.AGAIN in proof.judgement()


@pytest.mark.parametrize("commit, wanted", [(None, "of other sources (aaaa)"), ("0" * 40, "of other sources (aaaa)"),
                                            ("HEAD", "are 0 commits ahead of tests/PROOF.md (HEAD)")])
def test_how_far_the_sources_have_gone_on_is_told(monkeypatch, commit, wanted):
    monkeypatch.setattr(proof, "runs", lambda: [{**RUN, "commit": commit}])
    assert wanted in proof.distance()
    monkeypatch.setattr(proof, "source_hash", lambda: "aaaa")
    assert proof.distance() == "tests/PROOF.md is of these sources"


def test_runs_of_other_sources_are_added_to_nothing():
    other = {**RUN, "sources": "bbbb", "events": 1_000_000, "lost": 3, "good": False}
    told = proof.text([other, RUN])
    above, history = told.split("## History")
    assert "1,000,000" not in above and "**0**" in above
    assert "1,000,000 events, 3 lost" in history


def test_a_run_that_failed_is_told():
    bad = {**RUN, "good": False, "lost": 2, "violations": {"lost": 2}}
    told = proof.text([RUN, bad])
    assert "| **lost** | **2** |" in told and "| runs that failed | 1 |" in told and "failed: lost" in told


@pytest.mark.parametrize("change", ["content", "name", "untracked"])
def test_the_hash_follows_what_is_tracked_and_nothing_else(tmp_path, change):
    def git(*words):
        subprocess.run(["git", "-c", "user.name=x", "-c", "user.email=x@x", *words], cwd=tmp_path, check=True,
                       capture_output=True)

    git("init", "-q")
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "a.c").write_text("int a;\n")
    git("add", ".")
    before = proof.source_hash(tmp_path)
    if change == "content":
        (tmp_path / "src" / "a.c").write_text("int b;\n")
    elif change == "name":
        git("mv", "src/a.c", "src/b.c")
    else:
        (tmp_path / "src" / "b.c").write_text("int b;\n")
    assert (proof.source_hash(tmp_path) == before) == (change == "untracked")
