"""Events that nobody wants: of a type under outbox.skip.types, or past outbox.column.expires."""

import json

import pytest

from e2e.test_http import LISTEN, _value
from e2e.test_park import PARK, TooLarge, parked, prepare, wait_parked
from e2e.test_poison import _noise
from lib.asked import get, http_port
from lib.relay import config_text, run_command

EXPIRES = {"outbox.column.expires": "valid_until"}
SKIPS = {"outbox.skip.types": "Debug*, CacheWarmed"}
DEAD = "dead"
OK, CONFIG = 0, 2


def with_expiry(stage):
    stage.sql(f"ALTER TABLE {stage.table} ADD valid_until timestamptz")


def emit(stage, aggregate="1", lives=None, type="created", payload='{"n": 1}'):
    """One row, its end `lives` from the server's now. Returns its id."""
    ((id,),) = stage.sql(
        f"""INSERT INTO {stage.table} (id, aggregatetype, aggregateid, type, payload, valid_until)
            VALUES (gen_random_uuid(), 'order', %s, %s, %s, CASE WHEN %s THEN 'infinity' ELSE now() + %s::interval END)
            RETURNING id::text""",
        (aggregate, type, payload, lives == "infinity", None if lives == "infinity" else lives))
    return id


def command(stage, name, changes, *words):
    path = stage.folder / f"{name}.conf"
    path.write_text(config_text(stage.config(changes)))
    return run_command(name, "-c", path, *words)


@pytest.mark.on("all")
def test_what_nobody_wants_is_not_sent_and_counted(stage):
    with_expiry(stage)
    stage.create_topic()
    relay = stage.relay({**EXPIRES, **SKIPS, **LISTEN})
    wanted = [emit(stage), emit(stage, lives="1 hour"), emit(stage, lives="infinity"), emit(stage, type="debug")]
    emit(stage, lives="-1 second")
    for type in ("Debug", "DebugCache", "CacheWarmed"):
        emit(stage, type=type)
    last = emit(stage)
    stage.wait_all_confirmed(relay=relay)
    messages = stage.read()
    assert sorted(message.id for message in messages) == sorted([*wanted, last])
    assert _value(relay, "walpost_events_dropped_total", outbox=stage.table, reason="type") == 3
    assert _value(relay, "walpost_events_dropped_total", outbox=stage.table, reason="expired") == 1
    status = json.loads(get(relay, "/status")[1])
    dropped = [{"outbox": stage.table, "type": 3, "expired": 1}]
    assert status["dropped"] == dropped
    asked = {**EXPIRES, **SKIPS, "http.listen": f"127.0.0.1:{http_port(relay)}"}
    assert json.loads(command(stage, "status", asked, "--json").stdout)["dropped"] == dropped
    done = command(stage, "status", asked)
    assert f"1 expired, 3 of a skipped type, of {stage.table} since the relay started" in done.stdout, done.stdout
    # Another slot's relay answers there; none is asked; none answers.
    stage.sql("SELECT pg_create_logical_replication_slot(%s, 'pgoutput')", (f"{stage.slot}_other",))
    for other in ({"postgres.slot": f"{stage.slot}_other"}, {"http.listen": None}, {"http.listen": "127.0.0.1:1"}):
        done = command(stage, "status", {**asked, **other}, "--json")
        assert json.loads(done.stdout)["dropped"] is None, done
    stage.sql("SELECT pg_drop_replication_slot(%s)", (f"{stage.slot}_other",))
    relay.stop()

    done = command(stage, "diff", {**EXPIRES, **SKIPS}, "--json")
    assert done.returncode == OK, done.stdout + done.stderr
    table, = json.loads(done.stdout)["tables"]
    assert (table["rows"], table["dropped"]) == (9, 4)
    assert command(stage, "diff", {}).returncode != OK, "the rows that were dropped are not missing"


@pytest.mark.on("all")
def test_an_expired_event_goes_to_the_dead_letter_topic_if_asked_for(stage):
    with_expiry(stage)
    stage.create_topic()
    stage.create_topic(DEAD)
    relay = stage.relay({**EXPIRES, "outbox.expired": "dead-letter", "relay.dead_letter.topic": stage.topic(DEAD)})
    late, good = emit(stage, lives="-1 minute"), emit(stage)
    stage.wait_all_confirmed(relay=relay)
    assert [message.id for message in stage.read()] == [good]
    (letter,) = stage.read(DEAD)
    assert letter.id == late
    assert b"it expired at 2" in letter.header("walpost-dead-letter-reason")


def test_one_that_expires_while_it_is_parked_is_given_up_and_its_aggregate_goes_on(stage):
    with_expiry(stage)
    prepare(stage)
    stage.create_topic(partitions=2, **TooLarge.topic)
    relay = stage.relay({**PARK, **TooLarge.relay, **EXPIRES})
    emit(stage, "a", lives="15 seconds", payload=_noise(300_000))
    later = [emit(stage, "a") for _ in range(3)]
    wait_parked(stage, 4, relay)
    relay.wait_until(lambda: not parked(stage), 120, "nothing is parked")
    after = emit(stage, "a")
    stage.wait_all_confirmed(relay=relay)
    assert [message.id for message in stage.read()] == [*later, after]


def test_a_dead_letter_needs_a_topic(stage):
    done = command(stage, "check", {"outbox.expired": "dead-letter"})
    assert done.returncode == CONFIG
    assert "outbox.expired" in done.stderr and "relay.dead_letter.topic" in done.stderr


def test_tail_says_what_is_not_sent(stage):
    with_expiry(stage)
    emit(stage, type="CacheWarmed")
    emit(stage, lives="-1 second")
    done = command(stage, "tail", {**EXPIRES, **SKIPS}, "--backlog", "--no-follow")
    assert done.returncode == OK, done.stderr
    assert "its type CacheWarmed is under outbox.skip.types" in done.stdout + done.stderr
    assert "it expired at 2" in done.stdout + done.stderr
