"""walpost backfill and events that cannot be delivered, before they are sent and on the way."""

import json
import os

import pytest

from lib import backfill
from lib.process import finish
from lib.waiting import wait_until

MISSING = ("--missing", "--order-by", "n")
LOW, HIGH = 40_000, 2_000_000
STOPS = ["stop", "park"]


def _poison(stage, poison):
    changes = {"relay.poison": poison, "kafka.compression.type": "none", "outbox.key.null": "allow"}
    if poison == "dead-letter":
        stage.create_topic("dead", partitions=1)
        changes["relay.dead_letter.topic"] = stage.topic("dead")
    return changes


def _noise():
    return json.dumps({"noise": os.urandom(LOW).hex()})


KINDS = {
    "large": ({"max_message_bytes": LOW}, "a", {"max_message_bytes": HIGH}),
    "without key": ({"cleanup_policy": "compact"}, None, {"cleanup_policy": "delete"}),
}


@pytest.fixture(params=KINDS)
def lost(request, stage):
    """No row is in Kafka, and one is among many that the broker does not take."""
    topic, key, stage.cure = KINDS[request.param]
    stage.create_topic(partitions=2, **topic)
    backfill.number_rows(stage)
    for n in range(40):
        stage.insert_many(10, "ab"[n % 2])
        if n == 15:
            stage.bad = stage.insert(key, _noise())
    backfill.drop_slot(stage)
    return stage


def _first_ones_are_in_order(stage, but=()):
    """A batch of which one event is refused is sent again, and some of it may have arrived."""
    place = {str(id): (key, n) for id, key, n in stage.sql(f"SELECT id, aggregateid, n FROM {stage.table}")}
    seen, last = set(), {}
    for id in backfill.sent(stage):
        key, n = place[id]
        assert id in seen or key is None or n > last.get(key, 0), (id, key)
        last[key] = max(n, last.get(key, 0))
        seen.add(id)
    assert seen == set(place) - set(but)


@pytest.mark.parametrize("poison", STOPS)
def test_an_event_that_kafka_refuses_is_named_and_no_later_one_of_its_key_arrives(lost, poison):
    changes = _poison(lost, poison)
    why = backfill.refused(backfill.run(lost, *MISSING, changes=changes))
    assert f"with id {lost.bad} can never be delivered" in why and " of the topic" in why
    backfill.no_slot_is_left(lost)
    (bad,) = lost.sql(f"SELECT n FROM {lost.table} WHERE id = %s", (lost.bad,))[0]
    later = set(backfill.ids(lost, f"aggregateid = 'a' AND n > {bad}"))
    assert lost.bad not in backfill.sent(lost)
    if "max_message_bytes" in lost.cure:  # else it has no key, and is before no other
        assert not later & set(backfill.sent(lost))
    lost.kafka.set_topic_config(lost.topic(), **lost.cure)
    backfill.done(backfill.run(lost, *MISSING, changes=changes))
    _first_ones_are_in_order(lost)


def test_a_dead_letter_that_kafka_refuses_too_ends_it(lost):
    changes = _poison(lost, "dead-letter")
    lost.kafka.set_topic_config(lost.topic("dead"), max_message_bytes=10)
    why = backfill.refused(backfill.run(lost, *MISSING, changes=changes))
    assert f"with id {lost.bad} can never be delivered" in why
    backfill.no_slot_is_left(lost)


def test_an_event_that_kafka_refuses_becomes_a_dead_letter(lost):
    said = backfill.done(backfill.run(lost, *MISSING, changes=_poison(lost, "dead-letter")))
    assert ", 1 of them dead letters" in said and f"slot {lost.slot}: created" in said
    (letter,) = lost.read("dead")
    assert letter.header("walpost-dead-letter-id").decode() == lost.bad
    _first_ones_are_in_order(lost, [lost.bad])


def test_several_that_kafka_refuses_are_dead_letters_each(lost):
    keys = "abab" if "max_message_bytes" in lost.cure else [None] * 4
    large = {lost.bad, *(lost.insert(key, _noise()) for key in keys)}
    lost.insert_many(50, "a")
    said = backfill.done(backfill.run(lost, *MISSING, changes=_poison(lost, "dead-letter")))
    assert ", 5 of them dead letters" in said
    assert {letter.header("walpost-dead-letter-id").decode() for letter in lost.read("dead")} == large
    _first_ones_are_in_order(lost, large)


@pytest.mark.parametrize("poison", [*STOPS, "dead-letter"])
def test_a_row_of_which_no_record_can_be_made(lost, poison):
    lost.sql(f"UPDATE {lost.table} SET aggregatetype = 'no topic!' WHERE id = %s", (lost.bad,))
    ran = backfill.run(lost, *MISSING, changes=_poison(lost, poison))
    if poison == "dead-letter":
        assert ", 1 of them dead letters" in backfill.done(ran)
        (letter,) = lost.read("dead")
        assert letter.header("walpost-dead-letter-id").decode() == lost.bad
        _first_ones_are_in_order(lost, [lost.bad])
    else:
        why = backfill.refused(ran)
        assert lost.bad in why and "can never be delivered" in why
        backfill.no_slot_is_left(lost)
        assert backfill.sent(lost) == []


@pytest.mark.on("all")
def test_a_prepared_transaction_that_blocks_the_slot_is_named(make_stage, own_postgres):
    own_postgres.restart(max_prepared_transactions=5)
    stage = make_stage(postgres=own_postgres)
    stage.create_topic()
    backfill.number_rows(stage)
    backfill.drop_slot(stage)
    stage.sql("BEGIN; SELECT pg_current_xact_id(); PREPARE TRANSACTION 'it''s forgotten'")
    stage.insert("1")
    why = backfill.refused(backfill.run(stage, *MISSING, "--timeout", "2s"))
    assert "prepared transaction it's forgotten, " in why and "longer than 2 s" in why and "raise --timeout" in why
    backfill.no_slot_is_left(stage)
    assert backfill.sent(stage) == []
    process = backfill.start(stage, *MISSING, "--timeout", "60s")
    wait_until(lambda: backfill.has_slot(stage) or process.poll() is not None, 20, "it waits")
    stage.sql("ROLLBACK PREPARED 'it''s forgotten'")
    _, said = finish(process, 60)
    assert process.returncode == 0, said
    assert backfill.sent(stage) == backfill.ids(stage)
