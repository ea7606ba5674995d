"""relay.poison = park: what is seen of it, by HTTP, in walpost status, and when its table is in trouble."""

import json

import pytest

from e2e.test_http import LISTEN, _samples, _status
from e2e.test_park import PARK, parked, prepare, wait_parked
from e2e.test_poison import TooLarge, _noise
from lib.asked import get
from lib.relay import config_text, run_command

OPTIONS = {**PARK, **TooLarge.relay, **LISTEN}


@pytest.fixture
def parking(stage):
    prepare(stage)
    stage.create_topic(partitions=1, **TooLarge.topic)
    return stage


def by_walpost_status(stage):
    file = stage.folder / "look.conf"
    file.write_text(config_text(stage.config()))
    done = run_command("status", "--json", "-c", file)
    return done.returncode, json.loads(done.stdout)


def test_what_is_parked_is_seen_until_it_is_delivered(parking):
    stage = parking
    relay = stage.relay(OPTIONS)
    stage.insert("another")
    stage.wait_all_confirmed(60, relay)
    assert _samples(relay)["walpost_parked_events"][()] == 0
    stage.insert("a-secret-key", _noise(300_000))
    for _ in range(2):
        stage.insert("a-secret-key")
    wait_parked(stage, 3, relay)
    relay.wait_until(lambda: _status(relay)["parked"]["attempts_failed"] > 0, 60, "an attempt has failed")
    samples = _samples(relay)
    assert samples["walpost_parked_aggregates"][()] == 1
    assert samples["walpost_parked_aggregates_by_code"][(("code", "MSG_SIZE_TOO_LARGE"),)] == 1
    assert (samples["walpost_parked_events"][()], samples["walpost_events_parked_total"][()]) == (3, 3)
    assert samples["walpost_parked_oldest_age_seconds"][()] > 0
    assert samples["walpost_parked_attempts_failed_total"][()] > 0
    assert samples["walpost_parking_unavailable"][()] == 0
    seen = _status(relay)["parked"]
    assert seen["on"] and (seen["aggregates"], seen["events"], seen["parked"]) == (1, 3, 3)
    assert seen["aggregates_by_code"] == {"MSG_SIZE_TOO_LARGE": 1} and seen["trouble"] is None
    assert 0 < seen["oldest_seconds"] < 600
    # Each failed attempt costs a stream: in between nobody streams.
    relay.wait_until(lambda: _status(relay)["ready"], 30, "it is ready")

    def readies():
        code, text, _ = get(relay, "/readyz")
        return code == 200 and "parked events: 3, aggregates: 1 (walpost parked list)" in text

    relay.wait_until(readies, 30, "it says what is parked")
    code, page, _ = get(relay, "/")
    assert 'id="parked"' in page and "<th>MSG_SIZE_TOO_LARGE</th><td>1</td>" in page
    for path in ("/metrics", "/status", "/"):
        assert "a-secret-key" not in get(relay, path)[1]

    def streams():
        code, shown = by_walpost_status(stage)
        return code == 0 and shown

    shown = relay.wait_until(streams, 30, "it streams")
    assert (shown["parked_aggregates"], shown["parked_events"]) == (1, 3)
    assert "; parked events: 3, aggregates: 1, the oldest for " in shown["means"]

    stage.kafka.set_topic_config(stage.topic(), max_message_bytes=2_000_000)
    relay.wait_until(lambda: not parked(stage), 60, "nothing is parked")
    relay.wait_until(lambda: _status(relay)["parked"]["events"] == 0, 10, "it has noticed")
    samples = _samples(relay)
    assert (samples["walpost_parked_aggregates"][()], samples["walpost_parked_oldest_age_seconds"][()]) == (0, 0)
    assert samples["walpost_parked_delivered_total"][()] == 3
    assert _status(relay)["parked"]["aggregates_by_code"] == {}
    assert 'id="parked"' not in get(relay, "/")[1]
    assert "parked" not in by_walpost_status(stage)[1]["means"]


def test_without_relay_poison_park_it_is_off(stage):
    relay = stage.relay(LISTEN)
    seen = _status(relay)["parked"]
    assert seen["on"] is False and seen["aggregates"] is None
    assert "walpost_parked_events" not in _samples(relay)
    assert _samples(relay)["walpost_events_parked_total"][()] == 0


def test_a_table_that_cannot_be_written_is_trouble_and_a_stall(parking):
    stage = parking
    relay = stage.relay(OPTIONS)
    stage.insert("a")
    stage.wait_all_confirmed(60, relay)
    stage.sql("ALTER TABLE walpost.parked RENAME TO elsewhere")
    stage.insert(None)  # without a key, which is refused before it is sent
    relay.wait_until(lambda: _status(relay)["parked"]["trouble"], 30, "it is in trouble")
    assert _samples(relay)["walpost_parking_unavailable"][()] == 1
    assert "walpost.parked" in _status(relay)["parked"]["trouble"]
    assert "Parking unavailable" in get(relay, "/")[1]
    assert "parked events cannot be read or written" in get(relay, "/readyz")[1]
    relay.wait_until(lambda: by_walpost_status(stage)[1]["state"] == "stalled", 60, "the slot is stalled")
    assert "events cannot be parked" in by_walpost_status(stage)[1]["trouble"]
    stage.sql("ALTER TABLE walpost.elsewhere RENAME TO parked")
    wait_parked(stage, 1, relay)
    relay.wait_until(lambda: _samples(relay)["walpost_parking_unavailable"][()] == 0, 60, "it is over")
    relay.wait_until(lambda: by_walpost_status(stage)[1]["state"] == "streams", 60, "it streams")


def test_a_relay_that_cannot_read_what_is_parked_is_stalled(parking):
    stage = parking
    stage.sql("ALTER TABLE walpost.parked RENAME TO elsewhere")
    relay = stage.relay(OPTIONS)
    stage.insert("a")
    relay.wait_until(lambda: by_walpost_status(stage)[1]["state"] == "stalled", 60, "the slot is stalled")
    assert "parked events cannot be read" in by_walpost_status(stage)[1]["trouble"]
    assert _status(relay)["parked"]["aggregates"] is None
    stage.sql("ALTER TABLE walpost.elsewhere RENAME TO parked")
    stage.wait_all_confirmed(60, relay)
    relay.wait_until(lambda: by_walpost_status(stage)[1]["state"] == "streams", 60, "it streams")


def test_a_limit_below_what_is_parked_stops_it_at_the_start(parking):
    stage = parking
    relay = stage.relay({**PARK, **TooLarge.relay})
    for key in "ab":
        stage.insert(key, _noise(300_000))
    wait_parked(stage, 2, relay)
    relay.stop()
    relay = stage.new_relay({**PARK, **TooLarge.relay, "park.aggregates.max": "1"}).start()
    assert relay.wait_exit(60) == 3
    (error,) = relay.log("parked_too_many")
    assert "park.aggregates.max" in error["reason"]
