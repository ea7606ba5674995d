"""What a code host reads: forms that ask for what a report needs, workflows that run all tests and make the release."""

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


def test_the_workflow_of_a_tag_attaches_what_the_script_builds_and_nothing_else(forge):
    text = (forge / "workflows/release.yaml").read_text()
    assert re.search(r'^on:\n  push:\n    tags: \["v\*"\]\n\n', text, re.MULTILINE)
    steps = re.findall(r"^        run: (.*)$", text, re.MULTILINE)
    assert [step.split()[0] for step in steps] == ["apt-get", "git", "deploy/release", "gh"]
    assert steps[2] == 'deploy/release --to /tmp/release "${GITHUB_REF_NAME#v}"'
    assert steps[3].endswith(" --notes-file /tmp/release/CHANGES.md /tmp/release/*")
    assert re.findall(r"uses: (.*)$", text, re.MULTILINE) == ["actions/checkout@v4"]


def test_the_workflow_of_a_tag_installs_what_the_script_asks_for(tree, forge):
    (named,) = re.findall(r"apt-get install -y --no-install-recommends (.*)$",
                          (forge / "workflows/release.yaml").read_text(), re.MULTILINE)
    (tools,) = re.findall(r"^\tfor tool in (.*); do$", (tree / "deploy/release").read_text(), re.MULTILINE)
    assert set(tools.split()) - {"dpkg-deb"} <= set(named.split())


def test_the_workflow_of_a_tag_may_write_releases_only_and_keeps_no_token_in_the_checkout(forge):
    text = (forge / "workflows/release.yaml").read_text()
    assert "\npermissions: {}\n" in text
    assert re.findall(r"^    permissions:\n((?:      .*\n)+)", text, re.MULTILINE) == ["      contents: write\n"]
    assert "persist-credentials: false" in text and text.count("github.token") == 1


def test_contributors_find_what_they_need(forge):
    text = (forge / "CONTRIBUTING.md").read_text()
    for heading in ("Build", "The fast ring", "Commits", "Releases"):
        assert f"\n## {heading}\n" in text
    assert "A test's name is a statement" in text
