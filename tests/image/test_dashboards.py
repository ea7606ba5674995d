"""Rules by promtool; dashboard and provisioning by Grafana's own schema, for Grafana itself cannot be had."""

import json
import subprocess

import pytest
import yaml
from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.cog.plugins import register_default_plugins
from grafana_foundation_sdk.models.dashboard import Dashboard

from servers import go_tools

# Grafana has these, its schema does not.
BEYOND_THE_SCHEMA = {"definition", "titleFormat", "textFormat", "step"}


def _promtool(*words):
    done = subprocess.run([go_tools.tool("promtool"), *words], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_the_rules_are_rules(tree):
    rules = tree / "deploy/prometheus/alerts.yaml"
    said = _promtool("check", "rules", "--lint=all", "--lint-fatal", rules)
    assert f"{rules.read_text().count('- alert:')} rules found" in said


def test_the_rules_fire_when_they_should_and_not_else(tree):
    assert "SUCCESS" in _promtool("test", "rules", tree / "deploy/prometheus/alerts_test.yaml")


@pytest.mark.parametrize("before, after", [
    ("walpost_oldest_unconfirmed_seconds > 60", "walpost_oldest_unconfirmed_seconds > 6000"),
    ("for: 1m", "for: 1h"),
    ("> 5 * 1024 * 1024", ">= 5 * 1024 * 1024"),
    ('event!="held"', 'event!="x"'),
])
def test_a_planted_mistake_in_a_rule_is_found(tree, tmp_path, before, after):
    rules = (tree / "deploy/prometheus/alerts.yaml").read_text()
    assert before in rules
    (tmp_path / "alerts.yaml").write_text(rules.replace(before, after))
    (tmp_path / "alerts_test.yaml").write_text((tree / "deploy/prometheus/alerts_test.yaml").read_text())
    with pytest.raises(AssertionError):
        _promtool("test", "rules", tmp_path / "alerts_test.yaml")


def test_the_configuration_of_prometheus_is_one(tree):
    _promtool("check", "config", "--syntax-only", tree / "deploy/compose/prometheus.yml")


def _lost(before, after, path=""):
    """What the one has and the other does not."""
    if isinstance(before, dict):
        for name, value in before.items():
            if name not in after:
                if value not in ({}, [], None, "") and name not in BEYOND_THE_SCHEMA:
                    yield f"{path}.{name}"
            else:
                yield from _lost(value, after[name], f"{path}.{name}")
    elif isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        for number, (one, other) in enumerate(zip(before, after)):
            yield from _lost(one, other, f"{path}[{number}]")
    elif before != after:
        yield f"{path}: {before} became {after}"


def _through_the_schema(dashboard):
    register_default_plugins()
    return json.loads(JSONEncoder(sort_keys=True).encode(Dashboard.from_json(dashboard)))


@pytest.fixture
def dashboard(tree):
    return json.loads((tree / "deploy/grafana/dashboard.json").read_text())


def test_the_dashboard_is_as_grafanas_schema_has_it(dashboard):
    assert not list(_lost(dashboard, _through_the_schema(dashboard)))


def test_a_planted_property_is_found(dashboard):
    dashboard["panels"][1]["fieldConfig"]["defaults"]["unitt"] = "bytes"
    dashboard["panels"][2]["gridpos"] = {"h": 1}
    assert len(list(_lost(dashboard, _through_the_schema(dashboard)))) == 2


def test_panels_have_their_own_numbers_and_places(dashboard):
    panels = dashboard["panels"]
    assert len({panel["id"] for panel in panels}) == len(panels)
    taken = set()
    for panel in panels:
        at = panel["gridPos"]
        assert at["x"] + at["w"] <= 24
        cells = {(x, y) for x in range(at["x"], at["x"] + at["w"]) for y in range(at["y"], at["y"] + at["h"])}
        assert not cells & taken, panel["title"]
        taken |= cells


def test_every_panel_asks_the_chosen_source_for_the_chosen_relays(dashboard):
    for panel in dashboard["panels"]:
        for target in panel.get("targets", []):
            assert target["datasource"]["uid"] == "${datasource}", panel["title"]
            assert 'job=~"$job",instance=~"$instance"' in target["expr"], panel["title"]


def test_provisioning_names_what_is_there(tree):
    compose = yaml.safe_load((tree / "deploy/compose.yaml").read_text())["services"]
    source = yaml.safe_load((tree / "deploy/compose/grafana/datasource.yaml").read_text())["datasources"][0]
    assert source["url"] == "http://prometheus:9090" and "prometheus" in compose
    provider = yaml.safe_load((tree / "deploy/compose/grafana/dashboards.yaml").read_text())["providers"][0]
    home = compose["grafana"]["environment"]["GF_DASHBOARDS_DEFAULT_HOME_DASHBOARD_PATH"]
    assert home == provider["options"]["path"] + "/walpost.json"
    assert any(volume.endswith(f":{home}:ro") for volume in compose["grafana"]["volumes"])
