"""What users read is plain English, in the field's own words: what was mended once stays mended."""

import re

import log_events
import pytest
import sentences

# Coined, quaint or ambiguous, and what to write.
FORBIDDEN = {
    r"\banew\b": "again; recreated",
    r"\bhence\b|\blest\b|\bwhereof\b": "so; because",
    r"\bfor ever\b": "forever",
    r"\bcan not\b": "cannot",
    r"\bbeside (it|them|that|walpost)\b": "next to, in addition to",
    r"\bthere again\b": "",
    r"\btells us\b|\b(is|are|was|were) told\b": "reports; receives",
    r"\b(walpost|it|server|slot|relay|Kafka|Postgres|librdkafka|driver|file) (wants|knows|lives)\b": "requires; runs",
    r"\b(lets?|letting) (us|walpost|it|them) in\b|\b(is|was|be|never) let in\b": "authenticated",
    r"\ba (human|person) must\b|\bneeds? a human\b": "operator action is required",
    r"\bstands? (at|in|there|still|beside|behind)\b": "is at, is in",
    r"\bin good order\b": "cleanly",
    r"\bbehind .{1,20} back\b": "by someone else",
    r"(?<!there )\bis no (event|LSN|address|topic|table|time|number)\b": "is not a",
    r"\brepetitions?\b": "duplicates",
    r"\ball the same\b": "nevertheless",
    # A sentence does not begin with "What" or "Who", unless it is a question or a heading.
    r"^(?!#)(\d+\. |[-*] |\| )?(What|Who|Whoever)\b(?![^.]*\?)": "name the subject",
}
MEASURED = "deploy/docs/pages/benchmarks.md"  # has repetitions of measurements


def _wrong(said):
    return [f"{pattern}: {better}" for pattern, better in FORBIDDEN.items() if re.search(pattern, said)]


def test_no_sentence_has_words_that_were_mended(tree):
    found = [
        f"{path}:{line}: {said}" for path, line, said in sentences.sentences(tree) if path != MEASURED and _wrong(said)
    ]
    assert not found, "\n".join(found)


def test_all_kinds_of_files_are_read(tree):
    files = {path for path, _, _ in sentences.sentences(tree)}
    for one in ("src/config/options.c", "sql/slot_status.sql", "proto/walpost/v1/event.proto", "README.md",
                "deploy/runbook.md", "deploy/prometheus/alerts.yaml", "deploy/grafana/dashboard.json",
                "deploy/helm/walpost/values.yaml", "deploy/man/walpost.1.in", "deploy/docs/pages/promises.md"):
        assert one in files


def test_each_log_event_and_finding_is_in_the_list(tree):
    events, findings = log_events.Reader(tree), sentences.findings(tree)
    assert len(findings) > 40
    assert events.errors | events.others | findings == {name for _, _, name in sentences.names(tree)}


@pytest.mark.parametrize("said", [
    "the broker lets us in", "Slots are made anew", "What is missing is created", "| Who deletes rows |",
    "a human must act", "walpost wants it",
])
def test_a_planted_sentence_is_found(said):
    assert _wrong(said)


@pytest.mark.parametrize("said", ["## What walpost promises", "| Who deletes old rows? |", "the relay stands by"])
def test_a_question_and_a_heading_are_none(said):
    assert not _wrong(said)


def test_adjacent_literals_are_one_sentence():
    code = 'f("the slot "\n  "is lost" PRIu64 " now", x); // "no text"\n#include "a b"\n'
    assert list(sentences.literals(code)) == [(1, "the slot is lost… now")]


@pytest.mark.parametrize("text, is_one", [
    ("the slot is lost", True), ("SELECT slot FROM x", False), ("slot_lost", False), ("%s: no memory for %s", True),
])
def test_sql_and_names_are_no_sentences(text, is_one):
    assert sentences.is_sentence(text) == is_one
