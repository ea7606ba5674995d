"""The metrics that dashboard, alerts and docs name are those that walpost has; the dashboard has all."""

import json
import os
import re
import subprocess
from pathlib import Path

import pytest

_NAME = re.compile(r"(?<![\w/.-])((?:walpost|process)_[a-z][a-z0-9_]*[a-z0-9])(?![\w/*-])")
_OF_A_HISTOGRAM = re.compile(r"_(bucket|sum|count)$")
_WHERE = (
    "README.md", "deploy/**/*.md", "deploy/**/*.yaml", "deploy/**/*.yml", "deploy/**/*.json", "deploy/**/*.tpl",
)
# Words of that form that are no metrics.
_OTHERS = {
    "walpost_password",  # a secret of deploy/compose.yaml
    "walpost_reissue",  # a publication
}


@pytest.fixture(scope="module")
def reference():
    """{name: its line} out of `walpost metrics reference`: a table whose first column has names in backticks."""
    program = Path(os.environ["WALPOST_BUILDS"]) / "gcc" / "src" / "walpost"
    said = subprocess.run([program, "metrics", "reference"], check=True, capture_output=True, text=True).stdout
    found = {match[1]: match[0] for match in re.finditer(r"^\| `([a-z0-9_]+)[^`]*`.*$", said, re.MULTILINE)}
    assert len(found) > 40, said
    return found


def _named(text):
    return set(_NAME.findall(text)) - _OTHERS


def _unknown(names, reference):
    def is_known(name):
        base = _OF_A_HISTOGRAM.sub("", name)
        return name in reference or (base != name and "histogram" in reference.get(base, ""))

    return sorted(name for name in names if not is_known(name))


def test_each_metric_that_is_named_exists(tree, reference):
    wrong = {
        str(path.relative_to(tree)): unknown
        for pattern in _WHERE for path in tree.glob(pattern)
        if (unknown := _unknown(_named(path.read_text()), reference))
    }
    assert not wrong


def test_each_metric_is_on_the_dashboard(tree, reference):
    panels = json.loads((tree / "deploy/grafana/dashboard.json").read_text())["panels"]
    shown = _named("\n".join(target["expr"] for panel in panels for target in panel.get("targets", [])))
    shown |= {_OF_A_HISTOGRAM.sub("", name) for name in shown}
    assert not sorted(set(reference) - shown)


@pytest.mark.parametrize("text, unknown", [
    ("rate(walpost_events_totl[5m])", ["walpost_events_totl"]),
    ("`walpost_delivery_seconds_bucket{le}`", []),
    ("walpost_events_total_count", ["walpost_events_total_count"]),
    ("process_open_fds and tests/walpost_x.py, walpost-status", []),
])
def test_a_planted_name_is_found(text, unknown):
    reference = {
        "walpost_events_total": "| `walpost_events_total` | counter |",
        "walpost_delivery_seconds": "| `walpost_delivery_seconds` | histogram |",
        "process_open_fds": "| `process_open_fds` | gauge |",
    }
    assert _unknown(_named(text), reference) == unknown
