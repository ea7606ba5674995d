"""README and documentation, read as files: small at the front, whole behind, and every link leads somewhere."""

import os
import re
import subprocess
import sys
from pathlib import Path

import links
import pytest

PROGRAM = Path(os.environ["WALPOST_BUILDS"]) / "gcc" / "src" / "walpost"
PAGES = "deploy/docs/pages"
# What newcomers ask: the page that answers, and its heading.
QUESTIONS = {
    "a table that is there": ("producers/existing.md", "Replace the job that polls"),
    "two outboxes": ("producers/outboxes.md", "Two outboxes in one database"),
    "Amazon MSK": ("kafka.md", "Amazon MSK"),
    "rotating a password": ("operations/secrets.md", "A password, step by step"),
    "too large an event": ("operations/undeliverable.md", "An event that is too large"),
    "old rows": ("operations/cleanup.md", "Old rows"),
    "sending again": ("operations/resend.md", "Events are missing in Kafka"),
    "delaying": ("producers/delay.md", "Schedule it"),
    "moving from Debezium": ("debezium/moving.md", "The switch, step by step"),
    "how many relays": ("operations/standby.md", "How many relays"),
    "lag in Grafana": ("operations/monitoring.md", "Lag in Grafana"),
}


@pytest.fixture(scope="module")
def documents(tree):
    """All Markdown under version control, or about to be."""
    said = subprocess.run(["git", "ls-files", "-co", "--exclude-standard", "*.md"], cwd=tree, check=True,
                          capture_output=True, text=True).stdout
    found = [tree / line for line in said.splitlines()]
    return [path for path in found if path.is_file()]


@pytest.fixture(scope="module")
def pages(tree):
    return sorted((tree / PAGES).rglob("*.md"))


def test_the_readme_is_short(tree):
    text = (tree / "README.md").read_bytes()
    assert text.count(b"\n") <= 150
    assert len(text) <= 10_000


def test_each_relative_link_leads_to_a_file_and_a_heading(tree, documents):
    assert len(documents) > 50
    wrong = {str(path.relative_to(tree)): found for path in documents
             if (found := links.broken(path, path.read_text()))}
    assert not wrong


@pytest.mark.parametrize("question", QUESTIONS)
def test_a_newcomers_question_is_answered_within_two_clicks_of_the_readme(tree, question):
    page, heading = QUESTIONS[question]
    path = tree / PAGES / page
    assert links.reached(tree / "README.md", 2).get(path, 99) <= 2
    assert heading in [title for _, title, _ in links.headings(path.read_text())]


def test_the_index_lists_every_page(tree, pages):
    index = tree / PAGES / "README.md"
    assert index in links.reached(tree / "README.md", 1)
    assert not set(pages) - set(links.reached(index, 1))


def test_every_page_is_within_two_clicks_of_the_readme(tree, pages):
    reached = links.reached(tree / "README.md", 2)
    assert not [str(path.relative_to(tree)) for path in pages if path not in reached]


def test_each_page_has_one_title_and_sections(tree, pages):
    wrong = []
    for path in pages:
        levels = [level for level, _, _ in links.headings(path.read_text())]
        if levels[:1] != [1] or levels.count(1) != 1 or (2 not in levels and path.name != "glossary.md"):
            wrong.append(str(path.relative_to(tree)))
    assert not wrong


def test_a_page_is_readable_as_it_is(tree, pages):
    assert not [str(path.relative_to(tree)) for path in pages if "{{" in path.read_text()]


def test_the_generated_parts_say_what_their_sources_say(tree):
    sys.path.insert(0, str(tree / "deploy" / "generate"))
    import pages as generator

    named = [str(path.relative_to(tree)) for path in generator.stale(PROGRAM)]
    assert not named, "deploy/generate/pages.py PROGRAM writes them anew"
    text = "x\n<!-- generated from deploy/docs/samples/orders.sql -->\nold\n<!-- end -->\n"
    assert "CREATE TABLE" in generator.filled(PROGRAM, text)


def test_walpost_takes_each_configuration_that_a_page_shows(pages, tmp_path):
    shown = [(path, block) for path in pages
             for block in re.findall(r"^```ini\n(.*?)^```$", path.read_text(), re.DOTALL | re.MULTILINE)]
    assert len(shown) > 5
    file = tmp_path / "walpost.conf"
    for path, block in shown:
        file.write_text(block)
        words = [PROGRAM, "config", "show", "-c", file]
        for section, key, value in (("postgres", "conninfo", "host=x"), ("kafka", "bootstrap.servers", "x:9092")):
            if not re.search(rf"^{re.escape(key)} *=", block, re.MULTILINE):
                words += ["--set", f"{section}.{key}={value}"]
        done = subprocess.run(words, capture_output=True, text=True)
        assert done.returncode == 0, f"{path}: {done.stderr}"


def test_the_glossary_is_short(tree):
    rows = [line for line in (tree / PAGES / "glossary.md").read_text().splitlines() if line.startswith("| ")]
    assert len(rows) - 1 <= 25


def test_pictures_are_small(tree):
    sizes = {path.name: path.stat().st_size for path in (tree / PAGES).rglob("*")
             if path.suffix in (".png", ".svg", ".jpg")}
    assert all(size <= 150_000 for size in sizes.values()) and sum(sizes.values()) <= 300_000, sizes


@pytest.mark.parametrize("text, wrong", [
    ("# A b\n[x](#a-b)\n", []),
    ("# A\n[x](#b)\n", ["#b"]),
    ("[x](nowhere.md)\n", ["nowhere.md"]),
    ("[x](README.md#nowhere)\n", ["README.md#nowhere"]),
    ("[x](README.md)\n", []),
    ("[x](https://example.org/y)\n", []),
    ("```\n[x](nowhere.md)\n```\n`[x](nowhere.md)`\n", []),
    ("# A\n# A\n[x](#a-1)\n", []),
    ("# `relay.poison`\n[x](#relaypoison)\n", []),
])
def test_a_planted_link_is_found(tree, text, wrong):
    assert links.broken(tree / "planted.md", text) == wrong


def test_the_fields_of_the_line_progress_are_those_of_the_log(tree):
    page = (tree / "deploy/docs/pages/operations/monitoring.md").read_text()
    table = page.split("a line `progress`", 1)[1].split("logs `held`", 1)[0]
    fields = set(re.findall(r"`(\w+)`", table))
    assert {"events", "confirmed_lsn", "holder"} <= fields
    written = (tree / "src/run/run.c").read_text()
    assert not [field for field in fields if f'("{field}", ' not in written]


def test_the_map_of_the_code_names_files_that_are_there(tree):
    names = set(re.findall(r"`(\w+/\w+(?:\.[ch])?)`", (tree / "src/README.md").read_text()))
    assert len(names) > 30

    def is_there(name):
        return (tree / name).is_dir() or any((tree / f"{root}/{name}{ending}").is_file()
                                             for root in ("src", "include/walpost") for ending in ("", ".c", ".h"))

    assert not [name for name in names if not is_there(name)]
