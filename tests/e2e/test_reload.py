"""SIGHUP: what changes in flight, what needs a restart, and what is refused."""

import json
import os
import signal
import time
from pathlib import Path

import pytest

from lib import process
from lib.asked import get
from lib.checker import check_nothing_lost, check_once, check_order
from lib.kafka import Reader
from lib.relay import run_command
from lib.service_manager import ServiceManager
from lib.waiting import holds_for, wait_until
from lib.writer import Writer

LISTEN = {"http.listen": "127.0.0.1:0"}


def _text(relay, path):
    return get(relay, path)[1]


def _metric(relay, name):
    (value,) = [line.split()[-1] for line in _text(relay, "/metrics").splitlines() if line.startswith(name + " ")]
    return float(value)


def _headers(message):
    return dict(message.headers)


def _of(lines, event):
    return [line for line in lines if line["event"] == event]


def _wait_changed(relay, count=1):
    relay.wait_until(lambda: len(relay.log("outbox_changed")) >= count, 20, "the outbox has changed")


@pytest.mark.on("all")
def test_headers_topics_and_the_level_change_in_flight(stage):
    for topic in ("order", "new.order"):
        stage.create_topic(topic)
    pauses = {"relay.in_flight.events": "1"}  # which are told at that level
    relay = stage.relay({"outbox.headers": "aggregatetype:kind", **pauses})
    before = stage.insert("a")
    stage.wait_all_confirmed(relay=relay)
    lines = relay.reload(stage.config({
        "outbox.headers": "type:what", "outbox.topic.replacement": f"{stage.name}.new.${{routedByValue}}",
        "outbox.headers.source": "here", "log.level": "debug", **pauses,
    }))
    (reloaded,) = _of(lines, "reloaded")
    assert set(reloaded["changed"].split()) == {
        "outbox.headers", "outbox.topic.replacement", "outbox.headers.source", "log.level"}
    _wait_changed(relay)
    after = stage.insert("a")
    stage.wait_all_confirmed(relay=relay)
    (old,) = stage.read()
    (new,) = stage.read("new.order")
    assert (old.id, new.id) == (before, after)
    assert _headers(old)["kind"] == b"order" and "what" not in _headers(old)
    assert _headers(new)["what"] == b"created" and _headers(new)["walpost-source"] == b"here"
    assert "kind" not in _headers(new)
    assert "level=debug" in relay.log_text()
    relay.stop()


def test_reloads_under_load_lose_and_repeat_nothing(stage):
    """In a storm of them, between transactions of several rows; and nothing is kept of the old ones."""
    stage.create_topic()
    relay = stage.relay()
    relay.wait_log("event=streaming")  # the server says so a moment before
    sources = [{"outbox.headers.source": "a"}, {"outbox.headers.source": "b", "outbox.headers": "type:kind"}]
    wanted = {}  # by the id of an event, the source it must name
    with Writer(stage, threads=4, pause=0.005):
        for number in range(10):
            source = sources[number % 2]
            relay.reload(stage.config(source))
            relay.wait_log("event=streaming", count=number + 2)
            # A stream may be replaced before its first event, so the next file waits until this one has had an event.
            wanted[stage.insert("z")] = source["outbox.headers.source"].encode()
            stage.wait_all_confirmed(60, relay)
    stage.wait_all_confirmed(60, relay)
    memory, files = relay.rss_kb(), len(os.listdir(f"/proc/{relay.pid}/fd"))
    with Writer(stage, threads=4, pause=0.005):
        for number in range(40):  # what comes before the last took effect, or had a stream, replaces it
            relay.reload(stage.config(sources[number % 2]))
    stage.wait_all_confirmed(60, relay)
    assert relay.rss_kb() < memory + 8192
    assert len(os.listdir(f"/proc/{relay.pid}/fd")) <= files + 4  # one to connect with, perhaps
    relay.stop()
    messages, events = stage.read(), stage.truth.events()
    check_nothing_lost(messages, events)
    check_once(messages)
    check_order(messages, events)
    sources_of = {message.id: _headers(message).get("walpost-source") for message in messages}
    assert {id: sources_of[id] for id in wanted} == wanted


def test_a_large_transaction_is_not_torn(stage):
    """All of it by the old configuration, all after it by the new one."""
    stage.create_topic()
    relay = stage.relay({"relay.in_flight.events": 100, "outbox.headers.source": "old"})
    stage.insert_many(15_000, "a{0}")
    with Reader(stage.kafka, stage.topic()) as reader:
        relay.wait_until(lambda: reader.count() > 0, 20, "it is under way")
    relay.reload(stage.config({"relay.in_flight.events": 100, "outbox.headers.source": "new"}))
    last = stage.insert("z")
    stage.wait_all_confirmed(60, relay)
    messages = stage.read()
    check_once(messages)
    by_source = {}
    for message in messages:
        by_source.setdefault(_headers(message)["walpost-source"], []).append(message.id)
    assert len(by_source[b"old"]) == 15_000 and by_source[b"new"] == [last]


def test_a_wrong_file_changes_nothing_and_is_told(stage):
    stage.create_topic()
    relay = stage.relay(LISTEN)
    lines = relay.reload(stage.config({
        **LISTEN, "outbox.headers": "x", "relay.poison": "explode", "log.level": "loud", "outbox.heders": "y"}))
    relay.wait_log("did you mean outbox.headers?")  # the last of several lines
    lines = relay.log()
    why = " ".join(line["reason"] for line in _of(lines, "reload_refused"))
    for part in ("walpost.conf:", "relay.poison = explode", "stop, dead-letter or park", "log.level = loud",
                 "did you mean outbox.headers?"):
        assert part in why, (part, why)
    assert not _of(lines, "reloaded")
    relay.config_file.unlink()
    relay.signal(signal.SIGHUP)
    relay.wait_until(lambda: "No such file" in relay.log("reload_refused")[-1]["reason"], 10, "a missing file is told")
    assert _metric(relay, "walpost_reload_refused") == 1
    assert json.loads(_text(relay, "/status"))["reloads"] == {"done": 0, "refused": 2, "last_refused": True}
    assert "last reload was refused" in _text(relay, "/")
    stage.insert()
    stage.wait_all_confirmed(relay=relay)
    assert "x" not in _headers(stage.read()[0])
    relay.reload(stage.config(LISTEN))
    assert relay.log("reloaded")[-1]["changed"] == "nothing"
    assert _metric(relay, "walpost_reload_refused") == 0
    assert _metric(relay, 'walpost_reloads_total{result="refused"}') == 2
    assert not relay.log("outbox_changed")


@pytest.mark.on("all")
def test_what_the_server_refuses_is_taken_back_until_it_is_mended(stage):
    """A column that is not there yet: events go on as before; once it is there, the same file does it."""
    stage.create_topic()
    relay = stage.relay(LISTEN)
    wanted = stage.config({**LISTEN, "outbox.headers": "tenant"})
    relay.reload(wanted)
    relay.wait_until(lambda: relay.log("reload_refused"), 20, "the server refuses it")
    (refused,) = relay.log("reload_refused")
    assert "tenant" in refused["reason"] and "the previous configuration of events" in refused["reason"]
    assert _metric(relay, "walpost_reload_refused") == 1
    assert "outbox.headers = tenant" not in _text(relay, "/")
    stage.insert("a")
    stage.wait_all_confirmed(relay=relay)
    stage.sql(f"ALTER TABLE {stage.table} ADD tenant text DEFAULT 't1'")
    relay.reload(wanted)
    assert relay.log("reloaded")[-1]["changed"] == "outbox.headers"
    _wait_changed(relay, 2)
    stage.insert("a")
    stage.wait_all_confirmed(relay=relay)
    first, second = stage.read()
    assert "tenant" not in _headers(first) and _headers(second)["tenant"] == b"t1"
    assert "outbox.headers = tenant" in _text(relay, "/")
    assert len(relay.log("reload_refused")) == 1
    relay.stop()


def test_what_is_gone_back_to_is_what_was_in_force_before(stage):
    """Not what was before that, though no event came in between; and all of it, the log's level too."""
    stage.create_topic()
    relay = stage.relay(LISTEN)
    relay.wait_log("event=streaming")  # the server says so a moment before
    good = {**LISTEN, "outbox.headers.source": "good"}
    relay.reload(stage.config(good))
    relay.wait_log("event=streaming", count=2)
    relay.reload(stage.config({**good, "log.level": "debug"}))
    relay.reload(stage.config({**good, "log.level": "warn", "outbox.headers": "tenant"}))
    relay.wait_until(lambda: relay.log("reload_refused"), 20, "the server refuses it")
    page = _text(relay, "/")
    assert "headers.source = good" in page and "log.level = debug" in page
    assert "outbox.headers = tenant" not in page
    stage.insert()
    stage.wait_all_confirmed(relay=relay)
    assert _headers(stage.read()[0])["walpost-source"] == b"good"
    assert "(slot_resume)" in relay.log_text().split("event=reload_refused")[1]  # info is told again
    relay.stop()


def test_a_slot_that_is_lost_is_no_fault_of_a_reload_that_went_before(stage):
    relay = stage.relay()
    relay.wait_log("event=streaming")  # the server says so a moment before
    relay.reload(stage.config({"outbox.headers.source": "good"}))
    relay.wait_log("event=streaming", count=2)
    process.pause(relay.pid)  # or it may be back before the slot is gone
    stage.sql("SELECT pg_terminate_backend(active_pid) FROM pg_replication_slots WHERE slot_name = %s", (stage.slot,))
    stage.wait_released()
    stage.sql("SELECT pg_drop_replication_slot(%s)", (stage.slot,))
    process.resume(relay.pid)
    assert relay.wait_exit() == 3
    assert not relay.log("reload_refused") and relay.log("stream_refused")


def test_a_stop_that_was_asked_for_by_a_reload_is_no_reason_to_take_it_back(stage):
    stage.create_topic()
    stage.sql(f"ALTER PUBLICATION {stage.publication} SET (publish = 'insert, update')")
    relay = stage.relay()
    stage.insert()
    stage.wait_all_confirmed(relay=relay)
    relay.reload(stage.config({"outbox.on_update": "stop"}))
    relay.wait_log("event=streaming", count=2)
    stage.sql("UPDATE outbox SET type = 'other'")
    assert relay.wait_exit() == 3
    assert not relay.log("reload_refused") and "on_update = stop" in relay.log("stream_refused")[0]["reason"]


def test_a_configuration_that_came_by_a_pipe_is_not_taken_for_empty(stage):
    stage.create_topic()
    config = stage.config()
    by_variable = {f"WALPOST__{name.upper().replace('.', '__', 1).replace('.', '_')}": config.pop(name) for name in (
        "postgres.conninfo", "postgres.slot", "postgres.publication", "kafka.bootstrap.servers")}
    relay = stage.relay({name: None for name in stage.config() if name not in config}, environment=by_variable,
                        wrapper=["bash", "-c", 'exec "$1" run -c <(cat "$4")', "bash"])
    relay.signal(signal.SIGHUP)
    relay.wait_until(lambda: relay.log("reload_refused"), 10, "it cannot be read again")
    assert "is a pipe" in relay.log("reload_refused")[0]["reason"]
    stage.insert()
    stage.wait_all_confirmed(relay=relay)
    assert len(stage.read()) == 1
    relay.stop()


def test_a_hangup_at_the_start_waits_and_one_at_the_end_is_not_heard(stage):
    stage.create_topic()
    relay = stage.new_relay().start()

    def signalled_until(condition):
        status = Path(f"/proc/{relay.pid}/status").read_text()
        if f"SigBlk:\t{1:016x}" in status or relay.log("started"):  # not before it can hold one back
            relay.signal(signal.SIGHUP)
        return condition()

    relay.wait_until(lambda: signalled_until(lambda: relay.log("reloaded")), 10, "it has heard")
    relay.signal(signal.SIGTERM)
    while relay.is_alive():  # without a pause: the moment is short
        relay.signal(signal.SIGHUP)
    assert relay.wait_exit() == 0


def test_what_needs_a_restart_is_named_and_stays(stage):
    stage.create_topic()
    relay = stage.relay(LISTEN)
    lines = relay.reload(stage.config({
        **LISTEN, "relay.in_flight.events": 77, "kafka.client.id": "other", "postgres.slot": "another",
        "outbox.headers": "type:what"}))
    (needed,) = _of(lines, "restart_needed")
    assert set(needed["keys"].split()) == {"relay.in_flight.events", "kafka.client.id", "postgres.slot"}
    assert _of(lines, "reloaded")[0]["changed"] == "outbox.headers"
    page = _text(relay, "/")
    assert "client.id" not in page and "in_flight.events = 77" not in page and "outbox.headers = type:what" in page
    _wait_changed(relay)
    stage.insert()
    stage.wait_all_confirmed(relay=relay)
    assert _headers(stage.read()[0])["what"] == b"created"
    assert relay.reload(relay.config_file.read_text())  # told again, for it is so still
    assert len(relay.log("restart_needed")) == 2


def test_a_topic_that_is_waited_for_can_be_mended_by_a_reload(stage):
    stage.create_topic("right.order")
    relay = stage.relay({"outbox.topic.replacement": f"{stage.name}.wrong.${{routedByValue}}"})
    stage.insert_many(3)
    relay.wait_log("event=topic_waiting")
    relay.reload(stage.config({"outbox.topic.replacement": f"{stage.name}.right.${{routedByValue}}"}))
    stage.wait_all_confirmed(relay=relay)
    check_once(stage.read("right.order"))
    assert len(stage.read("right.order")) == 3


def test_an_outbox_can_come_and_go(stage):
    for topic in ("order", "bill"):
        stage.create_topic(topic)
    stage.sql("CREATE TABLE bills (LIKE outbox INCLUDING ALL)")
    relay = stage.relay()
    with_bills = "\n".join([relay.config_file.read_text(), "[outbox.bills]", "table = public.bills",
                            f"topic.replacement = {stage.name}.bill"])
    relay.reload(with_bills)
    relay.wait_until(lambda: relay.log("reload_refused"), 20, "a table outside the publication is refused")
    assert "bills" in relay.log("reload_refused")[0]["reason"]
    stage.sql(f"ALTER PUBLICATION {stage.publication} ADD TABLE bills")
    relay.reload(with_bills)
    _wait_changed(relay, 2)
    stage.insert("a")
    stage.sql("INSERT INTO bills SELECT gen_random_uuid(), 'x', 'y', 'billed', '{}'")
    stage.wait_all_confirmed(relay=relay)
    assert [_headers(message)["type"] for message in stage.read("bill")] == [b"billed"]
    stage.sql(f"ALTER PUBLICATION {stage.publication} DROP TABLE bills")
    relay.reload(stage.config())
    _wait_changed(relay, 3)
    stage.insert("a")
    stage.wait_all_confirmed(relay=relay)
    assert len(stage.read()) == 2
    relay.stop()


def test_a_standby_takes_it_over(stage):
    stage.create_topic()
    first = stage.relay()
    second = stage.new_relay().start()
    second.wait_log("(slot_active)")
    second.reload(stage.config({"outbox.headers.source": "second"}))
    _wait_changed(second)
    second.wait_until(lambda: second.log_text().count("(slot_active)") == 2, 20, "it stands by again")
    stage.insert("a")
    stage.wait_all_confirmed(relay=first)
    first.stop()
    stage.wait_streaming(second)
    stage.insert("a")
    stage.wait_all_confirmed(relay=second)
    old, new = stage.read()
    assert "walpost-source" not in _headers(old) and _headers(new)["walpost-source"] == b"second"


def test_while_postgres_or_kafka_is_away_it_waits(make_stage, own_postgres, mortal_kafka):
    stage = make_stage(postgres=own_postgres, kafka=mortal_kafka)
    stage.create_topic()
    relay = stage.relay(LISTEN)
    stage.insert("a")
    stage.wait_all_confirmed(relay=relay)
    mortal_kafka.stop()
    in_flight = stage.insert("b")
    wait_until(lambda: _metric(relay, "walpost_in_flight_events") == 1, 20, "it is in flight")
    relay.reload(stage.config({**LISTEN, "outbox.headers.source": "one"}))
    holds_for(lambda: not relay.log("outbox_changed"), 2, "what is in flight is not left behind")
    mortal_kafka.start()
    _wait_changed(relay)
    own_postgres.stop("immediate")
    relay.reload(stage.config({**LISTEN, "outbox.headers.source": "two"}))
    own_postgres.start()
    _wait_changed(relay, 2)
    stage.wait_streaming(relay, 30)
    stage.insert("c")
    stage.wait_all_confirmed(30, relay)
    messages = stage.read()
    check_once(messages)
    sources = {message.id: _headers(message).get("walpost-source") for message in messages}
    assert len(sources) == 3 and sources[in_flight] is None
    assert sorted(filter(None, sources.values())) == [b"two"]
    relay.stop()


def test_one_that_comes_while_it_starts_is_kept_for_later(stage):
    stage.create_topic()
    relay = stage.new_relay()

    def minds_hangups():
        masks = [line.split()[1] for line in open(f"/proc/{relay.pid}/status") if line.startswith(("SigBlk", "SigCgt"))]
        return any(int(mask, 16) & 1 << signal.SIGHUP - 1 for mask in masks)

    for number in range(10):
        relay.start()
        relay.wait_until(minds_hangups, 10, "it has begun")
        relay.signal(signal.SIGHUP)
        relay.wait_log("event=reloaded", count=number + 1)
        relay.stop()


def test_one_that_comes_before_anything_is_read_ends_nothing(stage, shim):
    stage.create_topic()
    relay = stage.new_relay(environment=shim(hangup=1)).start()
    relay.wait_log("event=reloaded")
    relay.stop()


def test_other_commands_end_by_it(stage, shim):
    inherited = signal.signal(signal.SIGHUP, signal.SIG_DFL)  # ignored under nohup, and so by whom it starts
    try:
        done = run_command("config", "sample", environment=shim(hangup=1))
    finally:
        signal.signal(signal.SIGHUP, inherited)
    assert done.returncode == -signal.SIGHUP


def test_a_held_relay_says_that_it_must_be_restarted(stage):
    relay = stage.new_relay({"relay.on_halt": "hold", "postgres.publication": "gone"}).start()
    relay.wait_log("event=state", count=1)
    relay.wait_until(lambda: "held" in relay.log_text(), 20, "it is held")
    lines = relay.reload(stage.config({
        "relay.on_halt": "hold", "postgres.publication": "gone", "outbox.headers.source": "x"}))
    (refused,) = _of(lines, "reload_refused")
    assert "held" in refused["reason"] and "restart" in refused["reason"] and not _of(lines, "reloaded")
    relay.signal(signal.SIGTERM)
    assert relay.wait_exit() == 3


def test_the_service_manager_is_told(stage):
    """sd_notify(3): RELOADING=1 with the monotonic time, and READY=1 when it is over."""
    with ServiceManager(stage.folder / "notify") as manager:
        relay = stage.relay(environment=manager.environment)
        manager.hear_until("READY=1")
        before = time.clock_gettime_ns(time.CLOCK_MONOTONIC) // 1000
        relay.signal(signal.SIGHUP)
        said = manager.hear_until("RELOADING=1\nMONOTONIC_USEC=")
        assert before <= int(said.split("=")[-1]) <= time.clock_gettime_ns(time.CLOCK_MONOTONIC) // 1000
        manager.hear_until("READY=1")
        wait_until(lambda: relay.log("reloaded"), 10, "it says so in the log")
