"""What asks a walpost in a container by HTTP: health check, probes, Prometheus with its rules."""

import json
import urllib.error
import urllib.request

import pytest

from lib.container import Jailed
from lib.ports import take_port
from lib.prometheus import Prometheus
from lib.relay import config_text
from lib.waiting import wait_until

CONF = "/etc/walpost/walpost.conf"


class Relay:
    """One in the image, with a port of its own."""

    def __init__(self, image, stage, name="first"):
        self.image, self.stage, self.port = image, stage, take_port()
        self.conf = stage.folder / f"{name}.conf"
        self.conf.write_text(config_text(stage.config()))
        self.conf.chmod(0o644)
        self.environment = {"WALPOST__HTTP__LISTEN": f"127.0.0.1:{self.port}"}
        self.process = Jailed(image, ["run", "-c", CONF], environment=self.environment, mounts={CONF: self.conf},
                              log=stage.folder / f"{name}.log")

    def health(self):
        """The exit code of the image's health check."""
        kind, program, *arguments = self.image.facts["Healthcheck"]["Test"]
        assert (kind, program) == ("CMD", "walpost")
        return Jailed(self.image, arguments, environment=self.environment, mounts={CONF: self.conf}).finish()[0]

    def get(self, path):
        try:
            return urllib.request.urlopen(f"http://127.0.0.1:{self.port}{path}", timeout=5).status
        except urllib.error.HTTPError as answer:
            return answer.code
        except (urllib.error.URLError, ConnectionError):
            return None  # it is just starting


@pytest.fixture
def relay(image, stage):
    stage.create_topic(partitions=3)
    made = Relay(image, stage)
    wait_until(stage.is_streaming, 30, "it streams", made.process.log_text)
    yield made
    made.process.end()


@pytest.fixture
def standby(relay):
    made = Relay(relay.image, relay.stage, "second")
    wait_until(lambda: made.get("/readyz") == 200, 30, "it stands by", made.process.log_text)
    yield made
    made.process.end()


def test_the_health_check_says_whether_it_lives(relay):
    wait_until(lambda: relay.health() == 0, 20, "it is healthy", relay.process.log_text)
    assert relay.process.stop() == 0
    assert relay.health() == 1


def test_the_probes_say_whether_it_lives_and_is_ready(relay):
    wait_until(lambda: relay.get("/readyz") == 200, 20, "it is ready", relay.process.log_text)
    assert relay.get("/livez") == 200


def test_prometheus_has_their_metrics_and_no_alert_is_near(relay, standby, tree, folder):
    prometheus = Prometheus(folder, tree / "deploy/prometheus/alerts.yaml", {"walpost": [relay.port, standby.port]})
    ask, log_text = prometheus.ask, prometheus.log_text
    prometheus.start()
    try:
        wait_until(lambda: len(ask("up == 1")) == 2, 30, "they are scraped", log_text)
        relay.stage.insert_many(500, "a{0}")
        wait_until(lambda: ask("walpost_events_total >= 500"), 30, "its events are counted", log_text)
        dashboard = json.loads((tree / "deploy/grafana/dashboard.json").read_text())

        # No series: the server has no max_slot_wal_keep_size, nothing went wrong; and what is not configured.
        allowed = {"Slot can be lost in", "Time until the slot is lost", "Errors", "Warnings", "Parked aggregates",
                   "Parked events", "Oldest parked event", "Scheduled events due", "Oldest scheduled event",
                   "Schema registry", "Rows removed"}
        silent = {panel["title"]: panel["targets"] for panel in dashboard["panels"] if panel.get("targets")}

        def all_shown():
            """Not all at the same time: a round trip is only told of while there are some."""
            for title, targets in list(silent.items()):
                if any(ask(target["expr"].replace("$__rate_interval", "1m").replace("$job", ".*")
                           .replace("$instance", ".*")) for target in targets):
                    del silent[title]
            relay.stage.insert("one more")
            return set(silent) <= allowed
        wait_until(all_shown, 60, "every panel has something to show", lambda: str(set(silent)))
        assert len(ask('walpost_state{state="standby"} == 1')) == 1
        # Nor does one wait for its time to come.
        wait_until(lambda: not ask("ALERTS"), 30, "no alert is pending", lambda: str(ask("ALERTS")))
    finally:
        prometheus.end()
