"""What a code host reads: forms that ask for what a report needs, and a workflow that runs all tests."""

import re

import pytest


@pytest.fixture(scope="module")
def forge(tree):
    return tree / ".github"


@pytest.mark.parametrize("wanted", ["walpost version", "walpost check --json", "Log"])
def test_the_form_for_bugs_asks_for_it(forge, wanted):
    fields = (forge / "ISSUE_TEMPLATE/bug.yml").read_text().split("  - type: ")
    (field,) = [field for field in fields if re.search(rf"^      label: {re.escape(wanted)}$", field, re.MULTILINE)]
    assert "required: true" in field


def test_the_workflow_runs_the_gate_and_all_tests_on_both_releases_of_debian(tree, forge):
    text = (forge / "workflows/tests.yaml").read_text()
    assert 'debian: ["12", "13"]' in text and "image: debian:${{ matrix.debian }}" in text
    assert 'tests: [".ci/run", "tests/run all"]' in text
    assert re.search(r"^        run: \${{ matrix\.tests }}$", text, re.MULTILINE)
    assert re.search(r'^exec .*/tests/run" </dev/null$', (tree / ".ci/run").read_text(), re.MULTILINE)


def test_contributors_find_what_they_need(forge):
    text = (forge / "CONTRIBUTING.md").read_text()
    for heading in ("Build", "The fast ring", "Commits", "Releases"):
        assert f"\n## {heading}\n" in text
    assert "A test's name is a statement" in text
