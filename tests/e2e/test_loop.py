"""Nothing blocks the loop: status messages leave in time and SIGTERM is obeyed, whatever hangs."""

import fcntl
import os
import re
import signal
import socket

import pytest

from lib.checker import check_all, check_confirmed
from lib.waiting import holds_for, wait_until

F_SETPIPE_SZ = 1031


def _impatient(stage):
    """The server gives up on a client that says nothing for six seconds."""
    stage.sql(f"ALTER DATABASE {stage.database} SET wal_sender_timeout = '6s'")


def _same_walsender_for(stage, relay, seconds):
    pid = stage.slot_row()[2]
    assert pid is not None
    holds_for(lambda: relay.is_alive() and stage.slot_row()[2] == pid, seconds, "the same walsender serves us")


@pytest.fixture
def full_pipe():
    """(read end, write end) of a pipe that takes no byte more."""
    read, write = os.pipe()
    fcntl.fcntl(write, F_SETPIPE_SZ, 4096)
    os.set_blocking(write, False)
    try:
        while True:
            os.write(write, b"." * 4096)
    except BlockingIOError:
        pass
    os.set_blocking(write, True)
    yield read, write
    for end in (read, write):
        try:
            os.close(end)
        except OSError:
            pass


def _drain(read):
    os.set_blocking(read, False)
    parts = []
    try:
        while part := os.read(read, 1 << 16):
            parts.append(part)
    except BlockingIOError:
        pass
    return b"".join(parts)


def test_a_postgres_name_that_never_resolves_does_not_hold_up_sigterm(stage, shim, folder):
    hang = folder / "hang"
    hang.touch()
    conninfo = stage.postgres.conninfo(stage.database, host="localhost")
    relay = stage.new_relay(
        {"postgres.conninfo": conninfo, "postgres.connect_timeout": "1s"},
        environment=shim(resolver_hangs=hang),
    ).start()
    relay.wait_until(lambda: relay.log("stream_broken"), 20, "it says that it cannot connect")
    relay.signal(signal.SIGTERM)
    assert relay.wait_exit(10) == 0


def test_a_resolver_that_hangs_for_a_while_only_delays(stage, shim, folder):
    hang = folder / "hang"
    hang.touch()
    stage.create_topic()
    stage.insert()
    conninfo = stage.postgres.conninfo(stage.database, host="localhost")
    relay = stage.new_relay(
        {"postgres.conninfo": conninfo, "postgres.connect_timeout": "1s"}, environment=shim(resolver_hangs=hang)
    ).start()
    relay.wait_until(lambda: relay.log("stream_broken"), 20, "it says that it cannot connect")
    hang.unlink()
    stage.wait_streaming(relay, 40)
    stage.wait_all_confirmed(30, relay)
    assert len(stage.read()) == 1


@pytest.mark.alone
def test_a_kafka_name_that_never_resolves_delays_neither_status_nor_sigterm(stage, shim, folder):
    hang = folder / "hang"
    hang.touch()
    _impatient(stage)
    relay = stage.new_relay(
        {"kafka.bootstrap.servers": f"localhost:{stage.kafka.port}", "relay.shutdown.timeout": "2s"},
        environment=shim(resolver_hangs=hang),
    ).start()
    stage.insert()
    stage.wait_streaming(relay)
    _same_walsender_for(stage, relay, 14)
    relay.stop_within(8)
    assert stage.confirmed() < stage.truth.events()[0].end_lsn


def test_paused_with_a_resolver_that_hangs_status_goes_on(make_stage, mortal_kafka, shim, folder):
    hang = folder / "hang"
    stage = make_stage(kafka=mortal_kafka)
    stage.create_topic()
    _impatient(stage)
    conninfo = stage.postgres.conninfo(stage.database, host="localhost")
    relay = stage.relay(
        {"postgres.conninfo": conninfo, "relay.in_flight.events": "16"}, environment=shim(resolver_hangs=hang)
    )
    stage.insert()
    stage.wait_all_confirmed()
    mortal_kafka.pause()
    hang.touch()
    stage.insert_many(1000)
    _same_walsender_for(stage, relay, 14)
    mortal_kafka.resume()
    stage.wait_all_confirmed(30, relay)
    relay.stop()
    check_all(stage.read(), stage.truth.events())


@pytest.mark.alone
def test_a_full_stdout_pipe_delays_neither_status_nor_sigterm(stage, full_pipe):
    read, write = full_pipe
    _impatient(stage)
    relay = stage.relay({"relay.sink": "stdout", "relay.shutdown.timeout": "2s"}, stdout=write)
    stage.insert_many(20_000, size=100)
    _same_walsender_for(stage, relay, 14)
    relay.stop_within(8)
    assert stage.confirmed() < stage.truth.events()[-1].end_lsn


def test_a_slow_reader_of_stdout_gets_every_line(stage):
    read, write = os.pipe()
    relay = stage.relay({"relay.sink": "stdout"}, stdout=write)
    os.close(write)
    stage.insert_many(20_000, size=100)
    holds_for(relay.is_alive, 1, "it waits for its reader")
    lines = 0
    with os.fdopen(read, "rb") as reader:
        for line in reader:
            lines += 1
            if lines == 20_000:
                break
        stage.wait_all_confirmed(30, relay)
        relay.signal(signal.SIGTERM)
        assert reader.read() == b""
    assert relay.wait_exit() == 0


def test_a_closed_stdout_pipe_stops_with_one_clear_line(stage):
    read, write = os.pipe()
    relay = stage.relay({"relay.sink": "stdout"}, stdout=write)
    os.close(write)
    os.close(read)
    stage.insert()
    assert relay.wait_exit() in (1, 3)
    assert "standard output" in relay.log_text() or "stdout" in relay.log_text()
    assert stage.confirmed() < stage.truth.events()[0].end_lsn


def test_a_full_stderr_pipe_drops_lines_and_counts_them(stage, full_pipe):
    read, write = full_pipe
    stage.create_topic()
    _impatient(stage)
    relay = stage.relay({"log.level": "debug"}, stderr=write)
    stage.insert_many(5000, "a{0}")
    stage.wait_all_confirmed(30)
    _same_walsender_for(stage, relay, 14)
    _drain(read)
    stage.sql("SELECT pg_terminate_backend(%s)", (stage.slot_row()[2],))
    wait_until(lambda: b"dropped=" in _drain(read), 20, "the next line tells of the lost")
    relay.signal(signal.SIGTERM)
    assert relay.wait_exit(10) == 0
    assert len(stage.read()) == 5000


@pytest.mark.alone
def test_a_slow_end_of_the_producer_delays_neither_status_nor_sigterm(make_stage, shim):
    stage = make_stage()
    stage.create_topic(partitions=1, max_message_bytes=65536)
    _impatient(stage)
    relay = stage.relay(
        {"kafka.compression.type": "lz4", "relay.shutdown.timeout": "3s"}, environment=shim(destroy_ms=10000)
    )
    stage.insert_many(100)
    # Noise that only the broker can refuse, for with compression nobody else knows: then comes a rewind.
    noise = os.urandom(150_000).hex()
    stage.insert(payload=f'"{noise}"')
    relay.wait_log("rewind", 60)
    timeouts = stage.postgres.log_size()
    holds_for(relay.is_alive, 8, "it is alive while the old producer ends")
    said = stage.postgres.log_since(timeouts)  # by the walsenders of other tests too
    assert not re.search(rf'replication timeout\n.* STATEMENT: .* SLOT "{stage.slot}"', said), said
    relay.stop_within(8)
    stage.wait_released()
    check_confirmed(stage.confirmed(), stage.read(), stage.truth.events())


@pytest.mark.alone
def test_a_kafka_that_accepts_and_says_nothing_is_no_reason_to_hang(stage):
    _impatient(stage)
    with socket.create_server(("127.0.0.1", 0)) as deaf:
        relay = stage.new_relay(
            {"kafka.bootstrap.servers": f"127.0.0.1:{deaf.getsockname()[1]}", "relay.shutdown.timeout": "2s"}
        ).start()
        stage.insert()
        stage.wait_streaming(relay)
        _same_walsender_for(stage, relay, 5)
        relay.stop_within(8)
