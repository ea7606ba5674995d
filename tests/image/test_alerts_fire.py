"""Each alert fires by the fault that it names: real relays, real servers, real Prometheus, the rules of alerts.yaml.

All relays are well at first, and no alert is near. Then every fault is done, each to a job of its own, and each
alert is waited for. hurried.py shortens the rules, faults.py has the faults.
"""

import contextlib

import pytest

import hurried
from faults import FAULTS, World
from lib.prometheus import Prometheus
from lib.waiting import wait_until

pytestmark = pytest.mark.timeout(600)  # the first has them all set up
DEADLINE_SECONDS = 120
CASES = [(alert, fault) for alert, faults in FAULTS.items() for fault in faults]


@pytest.fixture(scope="module")
def rules(tree):
    return (tree / "deploy/prometheus/alerts.yaml").read_text()


def test_every_alert_has_a_fault_and_every_fault_an_alert(rules):
    assert list(FAULTS) == hurried.alerts(rules)
    assert all(FAULTS.values())


def test_a_rule_that_is_hurried_is_the_same_but_for_its_times():
    rule = "groups: [{rules: [{alert: A, expr: 'max_over_time(x[1d:1m]) > 60 or y offset 10m > 5', for: 15m}]}]"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(hurried, "THRESHOLDS", {"A": ("> 60", "> 2", "")})
        text = hurried.rules(rule)
    assert "max_over_time(x[2880s:2s]) > 2 or y offset 20s > 5" in text and "for: 30s" in text


def _own(kind):
    """The alerts that this fault is for."""
    return {alert for alert, kinds in FAULTS.items() if kind in kinds}


class Wards:
    """The relays, well, and what becomes of them."""

    def __init__(self, folder, rules, kinds):
        self._until_end = contextlib.ExitStack()
        world = World(folder)
        self._until_end.callback(world.end)
        self.faults = {}
        self.fired = set()
        try:
            for kind in kinds:
                fault = self.faults[kind] = kind(world)
                self._until_end.callback(fault.end)
            for fault in self.faults.values():
                fault.deliver_one()
            (folder / "rules.yaml").write_text(hurried.rules(rules))
            jobs = {fault.job(): fault.ports for fault in self.faults.values()}
            self.prometheus = Prometheus(folder, folder / "rules.yaml", jobs)
            self._until_end.callback(self.prometheus.end)
            self.prometheus.start()
            self._wait_well()
            for fault in self.faults.values():
                fault.begin()
        except BaseException:
            self.end()
            raise

    def _wait_well(self):
        expected = sum(relay.is_alive() for fault in self.faults.values() for relay in fault.relays)
        wait_until(lambda: self.prometheus.value("sum(up)") == expected
                   and self.prometheus.value("sum(walpost_ready)") == expected, 60, "all are scraped and ready",
                   lambda: str(self.prometheus.ask("up == 0") + self.prometheus.ask("walpost_ready == 0")))
        self.prometheus.wait_judged()
        assert self.prometheus.alerts() == set(), "an alert of relays that are well"

    def _look(self):
        """What fires now, some for a short while only; each fault goes on until its own alerts have fired."""
        self.fired |= self.prometheus.alerts("firing")
        for kind, fault in self.faults.items():
            fired = {alert for job, alert in self.fired if job == fault.job()}
            if not _own(kind) <= fired:
                fault.keep_up(fired)

    def wait_fired(self, alert, kind):
        def has_fired():
            self._look()
            return (kind.job(), alert) in self.fired

        wait_until(has_fired, DEADLINE_SECONDS, f"{alert} fires by {kind.__name__}", lambda: self._tell(kind))

    def _tell(self, kind):
        fault = self.faults[kind]
        about = self.prometheus.ask(f'{{job="{kind.job()}",__name__=~"walpost_.*|up|ALERTS"}} != 0')
        lines = [f"{one['metric']} {one['value'][1]}" for one in about if "le" not in one["metric"]]
        return "\n".join([*lines, fault.stage.log_tails()])

    def tell_errors(self):
        return "\n".join(f"{fault.job()}: {line}" for fault in self.faults.values() for relay in fault.relays
                         for line in relay.log() if line.get("level") == "error")

    def end(self):
        self._until_end.close()


@pytest.fixture(scope="module")
def wards(request, house, rules):
    folder = house / "alerts"
    folder.mkdir(mode=0o755)
    kinds = dict.fromkeys(kind for _, kind in CASES)
    wanted = {item.callspec.params["kind"] for item in request.session.items
              if getattr(item, "callspec", None) and "kind" in item.callspec.params}
    made = Wards(folder, rules, [kind for kind in kinds if kind in (wanted or kinds)])
    yield made
    made.end()


@pytest.mark.parametrize("alert, kind", CASES, ids=[f"{alert}-{kind.__name__}" for alert, kind in CASES])
def test_the_alert_fires_by_its_fault(wards, alert, kind):
    wards.wait_fired(alert, kind)


def test_no_other_alert_fires(wards):
    """Each names its own fault, not that of another."""
    known = {fault.job(): _own(kind) | set(kind.also) for kind, fault in wards.faults.items()}
    too_many = {(job, alert) for job, alert in wards.fired if alert not in known[job]}
    assert not too_many, wards.tell_errors()
