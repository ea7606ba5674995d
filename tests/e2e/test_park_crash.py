"""Killed while it parks, retries and deletes, the relay loses nothing and keeps each aggregate's order."""

import json
import random
import threading

import pytest

from e2e.test_park import PARK, parked, prepare
from lib.checker import check_nothing_lost, check_order
from lib.writer import Writer

LOW, HIGH = 40_000, 2_000_000


class SomeLarge(Writer):
    """One row in thirty is larger than LOW, and so random that no compression changes that."""

    def _row(self, rng):
        id, topic, key, type, payload = super()._row(rng)
        if rng.random() < 1 / 30:
            payload = json.dumps({"noise": rng.randbytes(LOW // 2 + rng.randrange(20_000)).hex() * 2})
        return id, topic, key, type, payload


def confirmed_is_kept(stage, confirmed, seen, kept):
    """All that Postgres may forget is in Kafka, or in walpost.parked."""
    lost = [event.id for event in stage.truth.events()
            if event.end_lsn <= confirmed and event.id not in seen and event.id not in kept]
    assert not lost, f"{len(lost)} confirmed events are neither in Kafka nor parked: {lost[:5]}"


@pytest.mark.timeout(300)
@pytest.mark.on("all")
def test_killed_while_it_parks_and_retries(stage, scaled):
    prepare(stage)
    stage.create_topic(partitions=3, max_message_bytes=LOW)
    rng = random.Random(11)
    writers = SomeLarge(stage, threads=3, aggregates=15, pause=scaled(0.05, 0.1))
    relay = None
    kills = scaled(15, 300)
    with writers:
        for number in range(kills):
            # Kafka's limit, or walpost's own, is low or high, so that some are refused, some are cured.
            stage.kafka.set_topic_config(stage.topic(), max_message_bytes=rng.choice((LOW, HIGH)))
            relay = stage.new_relay({
                **PARK, "park.retry.first": "50ms", "park.retry.max": "300ms", "kafka.compression.type": "none",
                "kafka.message.max.bytes": str(rng.choice((LOW, HIGH, HIGH)))}).start()
            stage.wait_streaming(relay)
            threading.Event().wait(rng.random() * 1.2)  # a moment that differs from run to run
            relay.kill()
            stage.wait_released()
            if number < 15 or number % 50 == 0:
                # In this order: what is deleted was in Kafka before.
                kept = {row[1] for row in parked(stage)}
                confirmed = stage.confirmed()
                confirmed_is_kept(stage, confirmed, {message.id for message in stage.read()}, kept)
    stage.kafka.set_topic_config(stage.topic(), max_message_bytes=HIGH)
    relay = stage.relay({**PARK, "park.retry.max": "300ms", "kafka.message.max.bytes": str(HIGH)})
    stage.wait_all_confirmed(120, relay)
    relay.wait_until(lambda: not parked(stage), 120, "all that was parked is delivered")
    relay.stop()
    events, messages = stage.truth.events(), stage.read()
    check_nothing_lost(messages, events)
    check_order(messages, events)
    assert not [line for line in relay.log() if line["level"] == "error"]
