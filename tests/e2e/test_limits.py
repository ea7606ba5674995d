"""At the ends of what is possible: rows of hundreds of megabytes, a million rows at once, no file descriptors."""

import os
import subprocess
import uuid

import pytest

from lib.kafka import Reader
from lib.process import Peak
from lib.waiting import wait_until

LONG = os.environ.get("WALPOST_LENGTHS") == "full"  # `tests/run matrix`
MB = 1000 * 1000
BYTEA = "id uuid PRIMARY KEY, aggregatetype text, aggregateid text, type text, payload bytea"

# --- one row of hundreds of megabytes


@pytest.fixture
def huge_stage(make_stage, own_postgres):
    stage = make_stage(postgres=own_postgres, set_up=False)
    stage.sql(f"CREATE TABLE outbox ({BYTEA})")
    stage.sql("ALTER TABLE outbox ALTER payload SET STORAGE EXTERNAL")
    stage.publish("outbox")
    stage.create_slot(with_truth=False)
    stage.create_topic(partitions=1)
    return stage


def _insert_huge(stage, size):
    """In two halves: no text may be above 1 GB."""
    id = str(uuid.uuid4())
    stage.sql("""INSERT INTO outbox SELECT %s, 'order', '1', 't', half || half
                 FROM (SELECT decode(repeat('ab', %s), 'hex') AS half) AS h""", (id, size // 2))
    return id


def _stops(stage, folder, changes, *words):
    """It ends with code 3 and these words; returns its peak of memory."""
    peak = Peak(folder)
    relay = stage.new_relay(changes, wrapper=peak.wrapper).start()
    assert relay.wait_exit(240) == 3, relay.log_tail()
    for word in words:
        assert word in relay.log_text(), relay.log_tail()
    stage.wait_released(60)
    return peak.bytes(), relay


@pytest.mark.timeout(900)
@pytest.mark.parametrize("binary", ["off", "on"])
def test_a_row_far_above_message_max_bytes_stops_with_code_3_each_time_in_bounded_memory(
        huge_stage, folder, binary, record_property):
    size = 500 * MB if LONG else 60 * MB
    stage = huge_stage
    before = stage.insert(payload=b"small")
    id = _insert_huge(stage, size)
    mark = stage.wal_end()
    sent = size if binary == "on" else 2 * size  # in text mode a bytea is hexadecimal digits
    for _ in range(2):
        peak, _ = _stops(stage, folder, {"postgres.binary": binary}, "public.outbox", id, "message.max.bytes")
        record_property("peak", f"{peak >> 20} MiB for a bytea of {size >> 20} MiB, binary = {binary}")
        assert peak < 100 * MB + 4 * sent
    assert stage.confirmed() < mark
    assert [m.id for m in stage.read()] == [before]


@pytest.mark.parametrize("megabytes", [16, 80])
def test_memory_comes_down_again_after_a_huge_row(huge_stage, record_property, megabytes):
    stage = huge_stage
    with open(os.devnull, "wb") as nowhere:
        relay = stage.new_relay({"relay.sink": "stdout"}, stdout=nowhere).start()
        stage.insert(payload=b"small")
        stage.wait_confirmed(stage.wal_end(), 20, relay)
        before, peak = relay.rss_kb(), relay.peak_rss_kb()
        _insert_huge(stage, megabytes * MB)
        stage.wait_confirmed(stage.wal_end(), 60, relay)
        assert relay.peak_rss_kb() > peak + megabytes * 1000
        relay.wait_until(lambda: relay.rss_kb() < before + 8 * 1024, 40, "it has given back what it held")
        record_property("rss", f"{before} kB before, {relay.rss_kb()} kB after")
        stage.insert(payload=b"small")
        stage.wait_confirmed(stage.wal_end(), 20, relay)
        relay.stop()
    renewed = relay.log("stream_renewed")
    assert len(renewed) == 1 and renewed[0]["level"] == "info"
    stopped = relay.log("stopped")[0]
    assert stopped["events"] == "3" and stopped["reconnects"] == "0"  # none came twice
    assert {line["event"] for line in relay.log() if line["level"] != "info"} == {"preflight"}  # no slot checkpoint


if LONG:

    @pytest.mark.timeout(900)
    @pytest.mark.on(18, 15, 14)
    def test_a_row_that_the_server_cannot_print_stops_after_three_tries_and_passes_in_binary(huge_stage, folder):
        stage = huge_stage
        id = _insert_huge(stage, 560 * MB)
        mark = stage.wal_end()
        _, relay = _stops(stage, folder, {}, "stream_stuck", "postgres.binary = on")
        assert len(relay.log("stream_broken")) == 2
        assert stage.confirmed() < mark
        peak, _ = _stops(stage, folder, {"postgres.binary": "on"}, "public.outbox", id, "message.max.bytes")
        assert peak < 100 * MB + 4 * 560 * MB
        with open(os.devnull, "wb") as nowhere:
            relay = stage.new_relay({"postgres.binary": "on", "relay.sink": "stdout"}, stdout=nowhere).start()
            stage.wait_confirmed(mark, 240, relay)
            relay.stop()


# --- one transaction of very many rows

@pytest.mark.timeout(900)
def test_a_huge_transaction_passes_in_bounded_memory_and_again_from_its_start_after_a_kill(
        make_stage, own_postgres, record_property):
    count = 1_000_000 if LONG else 250_000
    stage = make_stage(postgres=own_postgres, set_up=False)
    stage.sql("CREATE TABLE outbox (id int PRIMARY KEY, aggregatetype text, aggregateid text, type text, payload text)")
    stage.publish("outbox")
    stage.create_slot(with_truth=False)
    stage.create_topic(partitions=4)
    own_postgres.set_conf(wal_sender_timeout="5s")
    stage.sql("INSERT INTO outbox SELECT n, 'order', 'a' || n %% 100, 't', repeat(md5(n::text), 6)"
              " FROM generate_series(1, %s) AS n", (count,))
    mark = stage.wal_end()
    with Reader(stage.kafka, stage.topic()) as reader:
        slow = stage.relay({"relay.in_flight.events": "20"})  # so that there is a middle to be killed in
        reader.read_until(1000, 120)
        slow.kill()
    assert stage.confirmed() < mark
    stage.wait_released(30)
    relay = stage.relay({"relay.in_flight.bytes": "8MiB"})
    stage.wait_confirmed(mark, 300, relay)
    record_property("peak", f"{relay.peak_rss_kb() >> 10} MiB for {count} rows")
    assert relay.peak_rss_kb() < 100 * 1024
    assert relay.log("stream_broken") == []  # it never was silent for wal_sender_timeout
    relay.stop()
    _check_replayed(stage, count)


def _check_replayed(stage, count):
    """All rows are there, those of each partition in order, and what was sent before the kill twice."""
    highest, first, twice = {}, set(), 0
    for message in stage.read():
        id = int(message.id)
        twice += id in first
        if id in first:
            continue
        first.add(id)
        assert id > highest.get(message.partition, 0)
        highest[message.partition] = id
    assert len(first) == count and twice > 0


# --- without file descriptors

def _limited(count):
    return "prlimit", f"--nofile={count}:{count}"


@pytest.mark.parametrize("count", [4, 6, 8, 10, 12, 14, 16, 20, 24, 28])
def test_with_few_file_descriptors_it_ends_with_a_reason_or_waits_and_never_confirms_undelivered(stage, count):
    stage.create_topic(partitions=1)
    stage.insert()
    (event,) = stage.truth.events()
    relay = stage.new_relay(wrapper=_limited(count)).start()

    def is_clear():
        return not relay.is_alive() or stage.confirmed() >= event.end_lsn or "oo many open files" in relay.log_text()

    wait_until(is_clear, 30, "it ends, delivers, or says what is missing", relay.log_tail)
    if stage.confirmed() >= event.end_lsn:
        assert len(stage.read()) == 1
    elif not relay.is_alive():
        assert relay.wait_exit() not in (0, None) and relay.log_text() + relay.stdout_text() != ""
    relay.end()
    stage.wait_released(20)
    stage.relay()
    stage.wait_all_confirmed()
    assert event.id in [m.id for m in stage.read()]


def test_file_descriptors_that_run_out_while_it_runs_are_waited_for(stage):
    stage.create_topic(partitions=1)
    relay = stage.relay()
    stage.insert()
    stage.wait_all_confirmed()
    subprocess.run(["prlimit", f"--pid={relay.pid}", "--nofile=5:1024"], check=True)
    stage.sql("SELECT pg_terminate_backend(%s)", (stage.slot_row()[2],))
    last = stage.insert()
    lsn = stage.truth.events()[-1].end_lsn
    relay.wait_until(lambda: len(relay.log("stream_broken")) >= 3, 30, "it fails to connect, and tries again")
    assert stage.confirmed() < lsn
    subprocess.run(["prlimit", f"--pid={relay.pid}", "--nofile=1024:1024"], check=True)
    stage.wait_confirmed(lsn, 40, relay)
    assert [m.id for m in stage.read()][-1] == last
