"""A client that is no relay has the slot for a while, in front of a relay that runs: what it confirmed is missing in
Kafka, and somebody says so. Who loses the connection and gets it again is no such client."""

import json
import struct

import psycopg
import pytest

from lib import process
from lib.asked import get
from lib.checker import check_all
from lib.line import Line
from lib.relay import config_text, run_command
from lib.sql_scripts import facts_of, slot_status
from lib.waiting import wait_until

pytestmark = pytest.mark.on(18, 17, 14)

PAUSED_S = 5


class _Client:
    """Reads from the slot as pg_recvlogical does, and confirms what it is told to."""

    def __init__(self, stage, name="pg_recvlogical"):
        self._stage = stage
        conninfo = stage.postgres.conninfo(stage.database, application_name=name, replication="database")
        self._connection = psycopg.pq.PGconn.connect(conninfo.encode())
        start = (f"START_REPLICATION SLOT {stage.slot} LOGICAL 0/0 "
                 f"(proto_version '1', publication_names '{stage.publication}')")
        started = self._connection.exec_(start.encode())
        assert started.status == psycopg.pq.ExecStatus.COPY_BOTH, started.error_message

    def confirm_all(self):
        """What is written by now."""
        end = self._stage.wal_end()
        self._connection.put_copy_data(struct.pack("!cQQQqB", b"r", end, end, end, 0, 0))
        self._connection.flush()
        wait_until(lambda: self._stage.confirmed() >= end, 20, "the slot has moved")

    def end(self):
        self._connection.finish()
        self._stage.wait_released()


def _by_recvlogical(stage):
    client = _Client(stage)
    client.confirm_all()
    client.end()


def _by_one_that_is_called_walpost(stage):
    client = _Client(stage, "walpost-old")
    client.confirm_all()
    client.end()


def _by_advance(stage):
    stage.sql("SELECT pg_replication_slot_advance(%s, pg_current_wal_lsn())", (stage.slot,))


def _by_get_changes(stage):
    stage.sql("SELECT count(*) FROM pg_logical_slot_get_binary_changes(%s, NULL, NULL, 'proto_version', '1', "
              "'publication_names', %s)", (stage.slot, stage.publication))


MOVES = [_by_recvlogical, _by_one_that_is_called_walpost, _by_advance, _by_get_changes]


def _end_backend(stage):
    stage.sql("SELECT pg_terminate_backend(active_pid) FROM pg_replication_slots WHERE slot_name = %s", (stage.slot,))
    stage.wait_released()


def _restart(stage):
    stage.postgres.restart("immediate")


def _time_out(stage):
    stage.wait_released(PAUSED_S + 20)


def _stage_with_relays(make_stage, postgres=None, standbys=0, **changes):
    stage = make_stage(postgres=postgres)
    stage.create_topic()
    relay = stage.relay(changes)
    stage.insert("a")
    stage.wait_all_confirmed(relay=relay)
    stage.wait_claimed(relay)
    others = [stage.new_relay().start() for _ in range(standbys)]
    for other in others:
        other.wait_log("standby")
    return stage, relay, others


def _status(stage):
    file = stage.folder / "look.conf"
    file.write_text(config_text(stage.config()))
    done = run_command("status", "--json", "-c", file)
    return done.returncode, json.loads(done.stdout)


def _check_told(relay, lost):
    """By the one error it ends with, whose gap is not empty."""
    assert relay.wait_exit() == 3, relay.log_tail()
    (error,) = [line for line in relay.log() if line["level"] == "error"]
    assert error["event"] == "slot_moved" and "this process had confirmed only" in error["reason"]
    assert " 0 bytes of WAL" not in error["reason"] and "walpost backfill --missing --force" in error["reason"]
    assert lost


@pytest.mark.parametrize("move", MOVES)
def test_a_slot_that_moved_while_its_relay_was_away_is_told(make_stage, move):
    stage, relay, _ = _stage_with_relays(make_stage)
    process.pause(relay.pid)
    _end_backend(stage)
    lost = stage.insert("lost")
    move(stage)
    process.resume(relay.pid)
    _check_told(relay, lost)
    code, shown = _status(stage)
    assert (code, shown["state"]) == (1, "nobody") and "slot_moved" in shown["means"]
    assert lost not in [m.id for m in stage.read()]


@pytest.mark.parametrize("lose", [_restart, _time_out])
@pytest.mark.parametrize("move", MOVES)
def test_however_the_connection_was_lost(make_stage, own_postgres, lose, move):
    own_postgres.set_conf(wal_sender_timeout=f"{PAUSED_S}s")
    stage, relay, _ = _stage_with_relays(make_stage, own_postgres)
    process.pause(relay.pid)
    lose(stage)
    lost = stage.insert("lost")
    move(stage)
    process.resume(relay.pid)
    _check_told(relay, lost)


@pytest.mark.parametrize("ends", [True, False], ids=["with an end", "in silence"])
@pytest.mark.parametrize("move", MOVES)
def test_a_slot_that_moved_while_the_network_was_cut_is_told(make_stage, own_postgres, move, ends):
    """The relay runs; the server gives its silent walsender up."""
    own_postgres.set_conf(wal_sender_timeout=f"{PAUSED_S}s")
    line = Line(own_postgres.port)
    stage = make_stage(postgres=own_postgres)
    stage.create_topic()
    relay = stage.relay({"postgres.conninfo": own_postgres.conninfo(stage.database, port=line.port)})
    stage.insert("a")
    stage.wait_all_confirmed(relay=relay)
    line.silence()
    if ends:
        line.cut()
    stage.wait_released(PAUSED_S + 20)
    lost = stage.insert("lost")
    move(stage)
    line.restore()
    _check_told(relay, lost)
    line.end()
    assert lost not in [m.id for m in stage.read()]


def test_while_it_has_the_slot_nobody_is_said_to_deliver(make_stage):
    stage, relay, _ = _stage_with_relays(make_stage, **{"http.listen": "127.0.0.1:0"})
    process.pause(relay.pid)
    _end_backend(stage)
    client = _Client(stage)
    process.resume(relay.pid)
    relay.wait_log("slot_foreign")
    (line,) = relay.log("slot_foreign")
    holder = f"process {stage.slot_row()[2]} (pg_recvlogical, user "
    assert line["level"] == "warn" and holder in line["reason"]
    code, text, _ = get(relay, "/readyz")
    assert code == 503 and holder in text and "nobody delivers" in text
    code, shown = _status(stage)
    assert (code, shown["state"]) == (1, "foreign") and holder in shown["means"]
    theirs = facts_of(slot_status(stage))
    assert theirs["state"] == "foreign" and holder in theirs["foreign_client"]
    checked = run_command("check", "-c", stage.folder / "look.conf")
    assert holder in checked.stdout and "slot_foreign" in checked.stdout
    lost = stage.insert("lost")
    client.confirm_all()
    client.end()
    _check_told(relay, lost)


def test_a_relay_that_is_called_otherwise_is_no_such_client(make_stage):
    conninfo = "application_name=orders-1"
    stage, relay, _ = _stage_with_relays(make_stage)
    relay.stop()
    first = stage.relay({"postgres.conninfo": f"{stage.config()['postgres.conninfo']} {conninfo}"})
    # It is known by its row, which it writes once it has the slot.
    first.wait_until(lambda: _status(stage)[1]["state"] == "streams", 10, "it has written its row")
    second = stage.new_relay().start()
    second.wait_log("standby")
    assert _status(stage)[1]["state"] == "streams" and facts_of(slot_status(stage))["state"] == "streams"
    stage.insert("a")
    stage.wait_all_confirmed(relay=first)
    first.kill()
    stage.wait_streaming(second)
    second.stop()
    assert not second.log("slot_foreign") and not second.log("slot_moved")


def test_a_client_that_takes_nothing_is_no_reason_to_stop(make_stage):
    stage, relay, _ = _stage_with_relays(make_stage)
    process.pause(relay.pid)
    _end_backend(stage)
    client = _Client(stage)
    process.resume(relay.pid)
    relay.wait_log("slot_foreign")
    client.end()
    stage.wait_streaming(relay)
    stage.insert("a")
    stage.wait_all_confirmed(relay=relay)
    relay.stop()
    assert not relay.log("slot_moved")
    check_all(stage.read(), stage.truth.events())


@pytest.mark.parametrize("move", MOVES)
def test_a_standby_that_gets_the_slot_tells_how_far_it_is_beyond_what_is_known(make_stage, move):
    """It cannot know what the other confirmed last; what it saw itself it knows."""
    stage, relay, (standby,) = _stage_with_relays(make_stage, standbys=1)
    process.pause(relay.pid)
    process.pause(standby.pid)
    _end_backend(stage)
    lost = stage.insert("lost")
    move(stage)
    process.resume(standby.pid)
    stage.wait_streaming(standby)
    (line,) = standby.log("slot_beyond_checkpoint")
    assert "bytes beyond" in line["reason"]
    process.resume(relay.pid)
    standby.stop()
    relay.stop()
    assert lost not in [m.id for m in stage.read()]


def test_a_standby_that_saw_the_client_move_the_slot_stops(make_stage):
    stage, relay, (standby,) = _stage_with_relays(make_stage, standbys=1)
    process.pause(relay.pid)
    process.pause(standby.pid)
    _end_backend(stage)
    client = _Client(stage)
    process.resume(standby.pid)
    standby.wait_log("slot_foreign")
    stage.insert("lost")
    client.confirm_all()
    client.end()
    assert standby.wait_exit() == 3, standby.log_tail()
    (line,) = standby.log("slot_moved")
    assert "(pg_recvlogical, user " in line["reason"]
    relay.kill()


@pytest.mark.parametrize("standbys", [0, 1])
def test_who_loses_the_connection_and_gets_it_again_raises_no_alarm(make_stage, standbys, scaled):
    stage, relay, others = _stage_with_relays(make_stage, standbys=standbys)
    for _ in range(scaled(10, 200)):
        stage.insert("a")
        before = stage.slot_row()[2]
        stage.sql("SELECT pg_terminate_backend(%s)", (before,))
        # A standby may take it before anybody has seen it free.
        relay.wait_until(lambda: stage.slot_row()[2] not in (None, before), 20, "one of them has it")
    stage.insert("a")
    stage.wait_all_confirmed(30, relay)
    for one in (relay, *others):
        one.stop()
        assert not one.log("slot_moved") and not one.log("slot_foreign")
    check_all(stage.read(), stage.truth.events())
