"""PostgreSQL's versions stand in one header; pages, scripts and tests name the same."""

import re
from datetime import date

import pytest

from lib import facts
from servers import cache

PLACES = {
    "README.md": "PostgreSQL {oldest} to {newest}",
    "deploy/docs/pages/quickstart.md": "PostgreSQL {oldest} to {newest}",
    "sql/README.md": "PostgreSQL {oldest} to {newest}",
    "tests/README.md": "PostgreSQL {all} and {newest}",
    "tests/run": "PostgreSQL from {oldest} to {newest}",
}


@pytest.fixture(scope="module")
def versions(tree):
    text = (tree / "include/walpost/postgres/versions.h").read_text()
    return [int(re.search(rf"^#define WP_POSTGRES_{name} (\d+)", text, re.MULTILINE)[1])
            for name in ("OLDEST", "NEWEST")]


def test_the_tests_have_each_version(versions):
    oldest, newest = versions
    assert list(cache.POSTGRES) == [str(version) for version in range(oldest, newest + 1)]


@pytest.mark.parametrize("place", PLACES)
def test_a_page_names_the_same(tree, versions, place):
    oldest, newest = versions
    wanted = PLACES[place].format(oldest=oldest, newest=newest, all=", ".join(map(str, range(oldest, newest))))
    assert wanted in (tree / place).read_text()


def test_each_script_names_the_oldest(tree, versions):
    named = {path.name: set(re.findall(r"PostgreSQL (\d+) or(?: newer|$)", path.read_text(), re.MULTILINE))
             for path in (tree / "sql").glob("*.sql")}
    assert {name: found for name, found in named.items() if found - {str(versions[0])}} == {}
    assert sum(map(bool, named.values())) > 10


def test_the_age_of_what_is_known_of_minors_is_told(tree):
    text = "up to those of 15.20 (2026-11-12), 17.12 (2026-11-12) and 18.6 (2026-08-13)."
    assert facts.age(text, date(2026, 11, 13)).endswith(
        "15.20 of 2026-11-12, 17.12 of 2026-11-12, 18.6 of 2026-08-13: the oldest is 92 days old")
    assert "does not say" in facts.age("", date(2026, 11, 13))
    assert "days old" in facts.age_now()
