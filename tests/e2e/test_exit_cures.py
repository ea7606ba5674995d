"""Each message that ends in exit code 3 says what to do. Here that is done to the letter, and events flow again."""

import re
import signal
from dataclasses import dataclass
from typing import Callable

import pytest

from lib import places
from lib.backfill import give_order
from lib.cures import failures, follow_check, walpost
from lib.relay import config_text, run_command
from lib.waiting import wait_until

@dataclass(frozen=True)
class Case:
    """What stops a relay that streams, in which words, and what is done about it: the changed configuration."""
    name: str
    stop: Callable
    event: str
    words: str
    follow: Callable
    config: dict = None


def _by_check(stage, relay, why):
    return follow_check(stage, relay, relay.changes)


def _set(key, value):
    """The message names the option; what it is to be, the reader knows."""
    def follow(stage, relay, why):
        assert key in why
        return {key: value.format(topic=stage.topic())}
    return follow


def _set_as_said(key):
    def follow(stage, relay, why):
        (value,) = re.findall(re.escape(key) + r" = ([\w-]+)", why)
        return {key: value}
    return follow


def _foreign_row(stage):
    stage.sql("CREATE TABLE audit (n int PRIMARY KEY)")
    stage.sql(f"ALTER PUBLICATION {stage.publication} ADD TABLE audit")
    stage.sql("INSERT INTO audit SELECT generate_series(1, 3)")


def _renamed_column(stage):
    stage.sql("ALTER TABLE outbox RENAME COLUMN payload TO body")
    stage.sql("INSERT INTO outbox (id, aggregatetype, aggregateid, type, body) "
              "VALUES (gen_random_uuid(), 'order', 'k', 't', '{}')")


def _updated_row(stage):
    stage.sql(f"ALTER PUBLICATION {stage.publication} SET (publish = 'insert, update')")
    stage.sql("UPDATE outbox SET type = 'x'")


def _null_key(stage):
    stage.sql("ALTER TABLE outbox ALTER aggregateid DROP NOT NULL")
    stage.sql("INSERT INTO outbox (id, aggregatetype, type, payload) VALUES (gen_random_uuid(), 'order', 't', '{}')")


def _missing_topic(stage):
    stage.insert("a", topic="elsewhere")


def _skipped(stage, relay, why):
    (lsn,) = re.findall(r"walpost slot skip --to ([0-9A-F]+/[0-9A-F]+)", why)
    walpost(relay, "slot", "skip", "--to", lsn, "--force")
    return {}


def _topic_made(stage, relay, why):
    (topic,) = re.findall(r"topic (\S*elsewhere)", why)[:1]
    assert topic == stage.topic("elsewhere")
    stage.create_topic("elsewhere")
    return {}


def _parked_as_said(stage, relay, why):
    assert "walpost init creates the tables" in why
    stage.sql((places.TREE / "sql" / "parked.sql").read_text())
    return {"relay.poison": re.findall(r"relay.poison = ([a-z-]+)", why)[0]}


def _set_aside_by_check(stage, relay, why):
    relay.changes["relay.dead_letter.topic"] = stage.create_topic("dead", partitions=1)
    return follow_check(stage, relay, relay.changes)


_WAIT = {"relay.topic.wait": "1s"}
CASES = [
    Case("a foreign row, by its message", _foreign_row, "stream_refused", "public.audit, neither the outbox",
         _set("outbox.ignore", "public.audit")),
    Case("a foreign row, by check", _foreign_row, "stream_refused", "this one is already in the WAL", _by_check),
    Case("a renamed column", _renamed_column, "stream_refused", 'has no column "payload"',
         _set("outbox.column.payload", "body")),
    Case("an updated row", _updated_row, "stream_refused", "outbox.on_update = stop",
         lambda stage, relay, why: {"outbox.on_update": re.findall(r"outbox.on_update = (\w+)$", why)[0]},
         {"outbox.on_update": "stop"}),
    Case("a NULL key, given up", _null_key, "event_undeliverable", "is NULL", _skipped),
    Case("a NULL key, allowed", _null_key, "event_undeliverable", "is NULL", _set_as_said("outbox.key.null")),
    Case("a NULL key, set aside", _null_key, "event_undeliverable", "is NULL", _parked_as_said),
    Case("a NULL key, by check", _null_key, "event_undeliverable", "is NULL", _set_aside_by_check),
    Case("a missing topic, made", _missing_topic, "topic_missing", "elsewhere", _topic_made, _WAIT),
    Case("a missing topic, given up", _missing_topic, "topic_missing", "elsewhere", _skipped, _WAIT),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_what_stops_a_relay_is_cured_by_what_it_says(stage, case):
    stage.create_topic(partitions=1)
    relay = stage.relay(case.config)
    relay.changes = dict(case.config or {})
    stage.insert("a")
    stage.wait_all_confirmed(relay=relay)
    case.stop(stage)
    assert relay.wait_exit(40) == 3
    (line,) = [line for line in relay.log() if line["level"] == "error"]
    assert line["event"] == case.event and case.words in line["reason"]
    stage.wait_released()
    changes = case.follow(stage, relay, line["reason"])
    _flows(stage, {**relay.changes, **changes})


def _flows(stage, config):
    column = "body" if config.get("outbox.column.payload") == "body" else "payload"
    relay = stage.new_relay(config).start()
    stage.sql(f"INSERT INTO outbox (id, aggregatetype, aggregateid, type, {column}) "
              "VALUES ('00000000-0000-0000-0000-00000000000f', 'order', 'z', 't', '{}')")
    relay.wait_until(lambda: any(m.id.endswith("00000000000f") for m in stage.read()), 30, "the next event arrives")
    relay.stop()


def test_check_counts_the_rows_that_the_slot_holds_by_table_after_it_left_the_publication(stage):
    """To take the table out of the publication is no cure: the rows are in the log already."""
    stage.create_topic(partitions=1)
    relay = stage.relay()
    relay.changes = {}
    stage.wait_claimed(relay)
    stage.sql('CREATE TABLE "Audit 2" (n int PRIMARY KEY)')
    _foreign_row(stage)
    assert relay.wait_exit(40) == 3
    stage.sql(f'ALTER PUBLICATION {stage.publication} ADD TABLE "Audit 2"')
    stage.sql('INSERT INTO "Audit 2" VALUES (1)')
    stage.insert("a")
    stage.sql(f'ALTER PUBLICATION {stage.publication} DROP TABLE audit, "Audit 2"')
    stage.wait_released()
    before = stage.slot_row()[:2]
    found = failures(relay)["slot_holds_foreign"]
    assert "holds 4 rows" in found["what"] and '3 of public.audit, 1 of public."Audit 2"' in found["what"]
    assert found["cure"] == (
        "-- if one holds events, add a section [outbox.NAME] with that table, or cover it by outbox.leaves if it was a "
        "partition or inherits from an outbox; only rows of others may be dropped:\n"
        '-- set outbox.ignore = public.audit, public."Audit 2"')
    assert stage.slot_row()[:2] == before
    again = stage.new_relay().start()
    assert again.wait_exit(40) == 3 and "public.audit" in again.log("stream_refused")[0]["reason"]
    (lsn,) = re.findall(r"walpost slot skip --to (\S+)", found["what"])
    walpost(relay, "slot", "skip", "--to", lsn, "--force")
    _flows(stage, {})


def test_check_counts_an_event_without_a_valid_topic_as_a_relay_refuses_it(stage):
    stage.create_topic(partitions=1)
    relay = stage.relay()
    relay.changes = {}
    stage.wait_claimed(relay)
    relay.stop()
    stage.insert("a", topic="no topic")
    found = failures(relay)["slot_holds_refused"]
    assert "holds 1 event that can never be delivered" in found["what"] and "no topic" in found["what"]
    ((type,),) = stage.sql(f"SELECT type FROM {stage.table}")
    for change in ({"relay.poison": "park"}, {"outbox.skip.types": type},
                   {"relay.poison": "dead-letter", "relay.dead_letter.topic": stage.topic("dead")}):
        relay.config_file.write_text(config_text(stage.config(change)))
        assert "slot_holds_refused" not in failures(relay)
    relay.config_file.write_text(config_text(stage.config()))
    (lsn,) = re.findall(r"walpost slot skip --to (\S+)", found["what"])
    walpost(relay, "slot", "skip", "--to", lsn, "--force")
    _flows(stage, {})


@pytest.mark.parametrize("how", ["dropped", "without the table", "without inserts",
                                 pytest.param("filtered", marks=pytest.mark.on(since=15)),
                                 pytest.param("without a column", marks=pytest.mark.on(since=15))])
def test_a_publication_that_loses_events_is_cured_by_what_check_prints(stage, how):
    breaks = {
        "dropped": "DROP PUBLICATION {publication}",
        "without the table": "ALTER PUBLICATION {publication} DROP TABLE outbox",
        "without inserts": "ALTER PUBLICATION {publication} SET (publish = 'update')",
        "filtered": "ALTER PUBLICATION {publication} SET TABLE outbox WHERE (type <> 'x')",
        "without a column": "ALTER PUBLICATION {publication} SET TABLE outbox (id, type)",
    }
    stage.create_topic(partitions=1)
    give_order(stage)
    # Rows that lack columns are in the log already, and can only be set aside.
    relay = stage.relay()
    relay.changes = {"relay.dead_letter.topic": stage.create_topic("dead", partitions=1)}
    stage.insert("a")
    stage.wait_all_confirmed(relay=relay)
    stage.sql(breaks[how].format(publication=stage.publication))
    stage.insert("b")
    assert relay.wait_exit(60) == 3
    stage.wait_released()
    _flows(stage, {**relay.changes, **_by_check(stage, relay, "")})


def _one_answer(pattern, text):
    """What is said in one place is there, once, as others say it."""
    (answer,) = set(re.findall(pattern, text))
    return answer


def _said(stage, relay, reason):
    """What log, status and check say about the same slot: their sentences."""
    shown = run_command("status", "-c", relay.config_file)
    assert shown.returncode in (1, 3)
    return {"log": reason, "status": shown.stderr, "check": failures(relay)["slot"]["what"]}


def _drop(stage):
    stage.sql("SELECT pg_drop_replication_slot(%s)", (stage.slot,))


def _make_two_phase(stage):
    _drop(stage)
    stage.sql("SELECT pg_create_logical_replication_slot(%s, 'pgoutput', false, true)", (stage.slot,))


@pytest.mark.parametrize("where", ["log", "status", "check", "cure of check"])
def test_a_slot_that_is_gone_has_one_cure_in_all_places(stage, where):
    give_order(stage)
    relay = _worked(stage)
    _drop(stage)
    lost = stage.insert("b")
    again = stage.new_relay().start()
    assert again.wait_exit(40) == 3
    said = _said(stage, relay, again.log("stream_refused")[0]["reason"])
    sentence = r"there is no slot \S+\. If a relay has used it, stop all relays and run `walpost backfill --missing`" \
        r", [^`]*; for a first start, run `walpost init`"
    assert len({_one_answer(sentence, text) for text in said.values()}) == 1
    if where == "cure of check":
        follow_check(stage, relay, {})
    else:
        walpost(relay, *_one_answer(r"`walpost (backfill[^`]*)`", said[where]).split())
    assert "start walpost run" in run_command("status", "-c", relay.config_file).stderr
    _flows(stage, {})
    assert lost in [m.id for m in stage.read()]


def test_the_table_that_init_makes_is_brought_back_by_the_cure_alone(make_stage):
    stage = make_stage(set_up=False)
    stage.create_topic(partitions=1)
    relay = stage.new_relay()
    relay.changes = {}
    walpost(relay, "init")
    relay.start()
    stage.wait_streaming(relay)
    relay.stop()
    rows = [stage.insert("a") for _ in range(3)]
    _drop(stage)
    follow_check(stage, relay, {})
    _flows(stage, {})
    assert [m.id for m in stage.read()][:3] == rows


@pytest.mark.parametrize("where", ["log", "check", "cure of check"])
def test_a_slot_that_cannot_be_used_has_one_cure_in_all_places(stage, where):
    give_order(stage)
    relay = _worked(stage)
    _make_two_phase(stage)
    lost = stage.insert("b")
    again = stage.new_relay().start()
    assert again.wait_exit(40) == 3
    said = _said(stage, relay, again.log("stream_refused")[0]["reason"])
    if where == "cure of check":
        follow_check(stage, relay, {})
    else:
        walpost(relay, *_one_answer(r"`walpost (backfill --missing --force)`", said[where]).split())
    _flows(stage, {})
    assert lost in [m.id for m in stage.read()]


@pytest.mark.parametrize("where", ["log", "status", "check", "cure of check"])
def test_a_slot_that_was_moved_has_one_cure_in_all_places(stage, where):
    give_order(stage)
    relay = _worked(stage)
    lost = stage.insert("b")
    _drop(stage)
    stage.create_slot(with_truth=False)
    again = stage.new_relay().start()
    assert again.wait_exit(40) == 3
    found = failures(relay)["slot_moved"]
    said = {"log": again.log("slot_moved")[0]["reason"], "check": found["what"],
            "status": run_command("status", "-c", relay.config_file).stderr}
    sentence = "Stop all relays and run `walpost backfill --missing --force`, [^`]*; or, if nothing is missing, " \
        "`walpost slot accept`"
    assert len({_one_answer(sentence, text) for text in said.values()}) == 1
    words = found["cure"] if where == "cure of check" else said[where]
    walpost(relay, *_one_answer("walpost (backfill --missing --force)", words).split())
    _flows(stage, {})
    assert lost in [m.id for m in stage.read()]


def _held(stage, change):
    """A relay that waits for a person, because of what status says."""
    relay = stage.new_relay({"relay.on_halt": "hold"})
    change(stage)
    relay.start()
    relay.wait_log("held")
    wait_until(lambda: not stage.postgres.query("SELECT FROM pg_replication_slots WHERE slot_name = %s AND active",
                                                (stage.slot,)), 10, "nobody streams")
    return relay


@pytest.mark.parametrize("command", ["init", "backfill --missing", "slot create"])
def test_status_forgets_that_there_was_no_slot_once_there_is_one(stage, command):
    give_order(stage)
    _worked(stage)
    held = _held(stage, _drop)
    before = run_command("status", "-c", held.config_file)
    assert before.returncode == 3 and "there is no slot" in before.stderr
    walpost(held, *command.split())
    after = run_command("status", "-c", held.config_file)
    assert after.returncode == 1 and "there is no slot" not in after.stderr
    # Who made it by `slot create` has not said that he knows what is missing.
    wanted = "run `walpost backfill --missing --force`" if command == "slot create" else "start walpost run"
    assert wanted in after.stderr
    held.signal(signal.SIGTERM)
    assert held.wait_exit() == 3


def _worked(stage):
    """Its relay has delivered, and ended."""
    stage.create_topic(partitions=1)
    relay = stage.relay()
    relay.changes = {}
    stage.insert("a")
    stage.wait_all_confirmed(relay=relay)
    relay.stop()
    return relay


def test_a_publication_younger_than_the_slot_is_cured_by_what_the_message_says(stage):
    give_order(stage)
    stage.create_topic(partitions=1)
    relay = stage.relay()
    stage.insert("a")
    stage.wait_all_confirmed(relay=relay)
    relay.stop()
    stage.sql(f"DROP PUBLICATION {stage.publication}")
    stage.insert("b")
    stage.publish("outbox")
    again = stage.new_relay().start()
    assert again.wait_exit(60) == 3
    (line,) = again.log("stream_refused")
    assert "does not exist at this position of the WAL" in line["reason"]
    stage.wait_released()
    walpost(relay, *_one_answer(r"`walpost (backfill --missing --force)`", line["reason"]).split())
    _flows(stage, {})
    assert {m.id for m in stage.read()} == {event.id for event in stage.truth.events()}


def test_another_cluster_behind_the_same_name_goes_on_with_the_epoch_that_is_named(stage):
    stage.create_topic(partitions=1)
    relay = stage.relay()
    stage.insert("a")
    stage.wait_all_confirmed(relay=relay)
    relay.stop()
    stage.sql("UPDATE walpost.slot_checkpoint SET system_identifier = '42' WHERE slot = %s", (stage.slot,))
    again = stage.new_relay().start()
    assert again.wait_exit(40) == 3
    (line,) = again.log("system_changed")
    (epoch,) = re.findall(r"relay.epoch = (\d+)", line["reason"])
    wait_until(lambda: not stage.is_streaming(), 10, "nobody streams")
    _flows(stage, {"relay.epoch": epoch})
