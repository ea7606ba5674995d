"""deploy/runbook.md has an entry for each alert and each log line of level error, and none for others."""

import re

import log_events
import pytest
import words


@pytest.fixture(scope="module")
def runbook(tree):
    return (tree / "deploy/runbook.md").read_text()


@pytest.fixture(scope="module")
def rules(tree):
    return (tree / "deploy/prometheus/alerts.yaml").read_text()


@pytest.fixture(scope="module")
def events(tree):
    return log_events.Reader(tree)


def _entries(runbook, section):
    """{heading: text} of a section."""
    text = re.search(rf"^## {section}\n(.*?)(?=^## |\Z)", runbook, re.MULTILINE | re.DOTALL)[1]
    parts = re.split(r"^### (.*)\n", text, flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2]))


def _alerts(rules):
    """{name: its rule} of each alert."""
    parts = re.split(r"^      - alert: (\w+)\n", rules, flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2]))


def test_each_line_of_level_error_has_its_entry_and_no_other_has(runbook, events):
    assert set(_entries(runbook, "Log lines of level error")) == events.errors


def test_every_place_that_writes_a_line_was_read(tree, events):
    names = (*log_events.WRITERS, *log_events.STOPPERS)
    written = sum(
        len(re.findall(r"^[\t ].*?(?<![\w.>])(?:" + "|".join(names) + r")\s*\(", line))
        for path in (tree / "src").rglob("*.c")
        for line in words.without_comments(path.read_text()).splitlines()
    )
    within = sum(
        len(list(function.calls(names))) for function in events.functions if function.name in log_events.STOPPERS
    )
    assert events.read + within == written > 40


def test_each_alert_has_its_entry_and_no_other_has(runbook, rules):
    assert set(_entries(runbook, "Alerts")) == set(_alerts(rules))


def test_each_alert_names_its_entry(rules):
    wrong = [
        name for name, rule in _alerts(rules).items()
        if f"          runbook: deploy/runbook.md#{name.lower()}\n" not in rule
    ]
    assert not wrong


def test_each_alert_is_tried(tree, rules):
    tests = (tree / "deploy/prometheus/alerts_test.yaml").read_text()
    assert not [name for name in _alerts(rules) if f'alertname="{name}"' not in tests]


def test_each_threshold_is_explained(runbook, rules):
    table = re.search(r"^## Thresholds\n(.*?)(?=^## |\Z)", runbook, re.MULTILINE | re.DOTALL)[1]
    explained = re.findall(r"^\| (Walpost\w+) \|", table, re.MULTILINE)
    assert sorted(explained) == sorted(_alerts(rules))


def test_each_entry_says_what_to_do(runbook):
    entries = {**_entries(runbook, "Alerts"), **_entries(runbook, "Log lines of level error")}
    assert not [name for name, text in entries.items() if not re.search(r"^(Do|Look, and do)\b", text, re.MULTILINE)]


def test_each_link_within_the_runbook_leads_somewhere(runbook):
    headings = re.findall(r"^#+ (.*)$", runbook, re.MULTILINE)
    anchors = {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}
    assert not set(re.findall(r"\]\(#([^)]*)\)", runbook)) - anchors


def _source(tmp_path, code):
    path = tmp_path / "src" / "run" / "run.c"
    path.parent.mkdir(parents=True)
    path.write_text(code)
    return log_events.Reader(tmp_path)


@pytest.mark.parametrize("line", [
    'wp_log(WP_LOG_ERROR, "planted", WP_INT("n", 1));',
    'wp_log(bad ? WP_LOG_ERROR : WP_LOG_WARN, "planted");',
    'enum wp_log_level level = bad ? WP_LOG_ERROR : WP_LOG_WARN;\n\n\twp_log(level, "planted");',
    'wp_relay_note(r, WP_NOTE_ERROR, "planted")->why = *why;',
    'wp_relay_halt(r, code_of("x"), "planted", &why, now);',
])
def test_a_planted_line_of_level_error_is_found(tmp_path, line):
    assert _source(tmp_path, f"static void f(int bad)\n{{\n\t{line}\n}}\n").errors == {"planted"}


def test_a_warning_is_none(tmp_path):
    assert _source(tmp_path, 'static void f(void)\n{\n\twp_log(WP_LOG_WARN, "x");\n}\n').errors == set()


def test_an_event_that_is_handed_on_is_found_where_it_is_named(tmp_path):
    code = (
        "static void tell(const char *event, enum wp_log_level level)\n{\n\twp_log(level, event);\n}\n\n"
        'static void f(void)\n{\n\ttell("planted", WP_LOG_ERROR);\n\ttell("other", WP_LOG_INFO);\n}\n'
    )
    reader = _source(tmp_path, code)
    assert (reader.errors, reader.others) == ({"planted"}, {"other"})


def test_a_form_that_cannot_be_read_fails(tmp_path):
    with pytest.raises(log_events.Unclear):
        _source(tmp_path, "static void f(void)\n{\n\twp_log(WP_LOG_ERROR, name_of(x));\n}\n")
