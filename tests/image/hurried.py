"""deploy/prometheus/alerts.yaml for who cannot wait: the same rules, thirty times as fast."""

import re

import yaml

# Prometheus scrapes and judges once a second here: the 30 s that the rules allow, by the same factor.
FACTOR = 30

# Alert: what of its expression is changed beyond windows, into what, and why. All others are as they are.
THRESHOLDS = {
    "WalpostCommitLate": ("> 60", "> 2", "an age: by the factor"),
    "WalpostCommitStuck": ("> 600", "> 20", "an age: by the factor"),
    "WalpostConfirmsNothing": ("<= 60", "<= 2", "an age: by the factor"),
    "WalpostKafkaThrottles": ("> 60", "> 2", "a time within a window: by the factor"),
    "WalpostEventsParked": ("> 900", "> 30", "an age: by the factor"),
    "WalpostScheduledLate": ("> 300", "> 10", "an age: by the factor"),
    "WalpostRetainedWalLarge": ("> 5 * 1024 * 1024 * 1024", "> 64 * 1024 * 1024", "a test does not fill a disk"),
}

_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400}
_DURATION = r"(\d+)([smhd])"
_RANGE = re.compile(rf"\[{_DURATION}(?::{_DURATION})?\]")
_OFFSET = re.compile(rf"\boffset {_DURATION}")


def _hurried(count, unit):
    seconds, rest = divmod(int(count) * _SECONDS[unit], FACTOR)
    assert rest == 0 and seconds > 0, f"{count}{unit} is no multiple of {FACTOR} s"
    return f"{seconds}s"


def _range(found):
    step = f":{_hurried(*found.group(3, 4))}" if found[3] else ""
    return f"[{_hurried(*found.group(1, 2))}{step}]"


def _expression(name, text):
    text = _RANGE.sub(_range, text)
    text = _OFFSET.sub(lambda found: f"offset {_hurried(*found.group(1, 2))}", text)
    if name in THRESHOLDS:
        before, after, _ = THRESHOLDS[name]
        assert before in text, f"{name} has no {before!r} any more"
        text = re.sub(re.escape(before) + r"(?! *[\d*])", after, text)
        assert after in text
    return text


def rules(text):
    """The text of alerts.yaml: every `for` and every window shorter by the factor, thresholds by the table."""
    whole = yaml.safe_load(text)
    names = alerts(text)
    assert set(THRESHOLDS) <= set(names), "a threshold of an alert that is none"
    for group in whole["groups"]:
        for rule in group["rules"]:
            rule["expr"] = _expression(rule["alert"], rule["expr"])
            if "for" in rule:
                rule["for"] = _hurried(*re.fullmatch(_DURATION, rule["for"]).groups())
            assert "keep_firing_for" not in rule  # would want to be shortened too
    return yaml.safe_dump(whole)


def alerts(text):
    """The names of all alerts, in their order."""
    return [rule["alert"] for group in yaml.safe_load(text)["groups"] for rule in group["rules"]]
