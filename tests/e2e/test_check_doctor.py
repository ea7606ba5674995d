"""What `walpost check` warns of: brought about, named, cured by the printed words."""

import json
import uuid

import pytest

from lib.failover import Standby
from lib.relay import Relay
from lib.waiting import wait_until

pytestmark = pytest.mark.on("all")
since_17 = pytest.mark.on(since=17)
since_18 = pytest.mark.on(since=18)


@pytest.fixture
def relay(ready, folder):
    """Made, not started; events go to its standard output."""
    relays = []

    def make():
        relays.append(Relay(ready.config, folder))
        return relays[-1]

    yield make
    for made in relays:
        made.end()


def _warned(database, name, part=""):
    finding = database.check()[name]
    assert finding["level"] == "warn" and part in finding["what"], finding
    assert not database.failures()
    return finding


def _is_fine(database, name):
    finding = database.check().get(name)
    return finding is None or finding["level"] == "ok"


def _cured(database, finding):
    database.apply(finding)
    after = database.check().get(finding["name"])
    assert after is None or after["level"] == "ok", after


def _insert(database):
    database.sql("INSERT INTO outbox (id, aggregatetype, aggregateid, type, payload) "
                 "VALUES (%s, 't', '1', 'x', '{}')", (str(uuid.uuid4()),))


def _confirmed(database):
    (row,) = database.sql("SELECT confirmed_flush_lsn >= pg_current_wal_lsn() - 1000 FROM pg_replication_slots "
                          "WHERE slot_name = %s", (database.slot,))
    return row == (True,)


# --- settings


def test_a_sender_timeout_of_none_is_cured_where_it_is_set(ready, server):
    server.set_conf(wal_sender_timeout="0")
    _cured(ready, _warned(ready, "wal_sender_timeout", "0 (disabled)"))
    ready.sql(f"ALTER DATABASE {ready.name} SET wal_sender_timeout = 0")
    finding = _warned(ready, "wal_sender_timeout", "0 (disabled)")
    assert "ALTER DATABASE" in finding["cure"]
    _cured(ready, finding)
    ready.sql("ALTER ROLE postgres SET wal_sender_timeout = '1s'")
    _cured(ready, _warned(ready, "wal_sender_timeout", "1000 ms"))
    ready.sql("ALTER ROLE postgres RESET ALL")


def test_wal_without_a_limit(ready):
    _cured(ready, _warned(ready, "slot_retention", "unlimited"))


def test_how_fast_wal_is_written_is_not_told_from_seconds(ready, server):
    server.set_conf(max_slot_wal_keep_size="64MB")
    ((before,),) = ready.sql("SELECT clock_timestamp()")
    ready.sql("SELECT pg_stat_reset_shared('wal')")
    ready.sql("CREATE TABLE noise AS SELECT repeat('x', 1000) FROM generate_series(1, 10000)")
    # PostgreSQL 14 counts later.
    wait_until(lambda: ready.sql("SELECT 1 FROM pg_stat_wal WHERE stats_reset > %s AND wal_bytes > 5000000", (before,)),
               30, "the server has counted the WAL of one table")
    assert _is_fine(ready, "slot_retention")


@since_18
def test_a_timeout_of_idle_slots(ready, server):
    server.set_conf(idle_replication_slot_timeout="1d")
    _cured(ready, _warned(ready, "idle_replication_slot_timeout", "1d"))


def test_messages_that_everybody_may_send(ready):
    ready.config["outbox.message.prefix"] = "outbox"
    _cured(ready, _warned(ready, "message_rights", "pg_logical_emit_message"))


def test_updates_that_are_to_stop_the_relay_and_do_not_come(ready):
    ready.config["outbox.on_update"] = "stop"
    _cured(ready, _warned(ready, "publication_updates", "outbox.on_update = stop has no effect"))
    assert ready.sql("SELECT pubinsert, pubupdate, pubdelete FROM pg_publication "
                     "WHERE pubname <> 'walpost_reissue'") == [(True, True, False)]


# --- what the log holds


@pytest.fixture
def little_wal(server):
    """The server keeps little by itself, so that little more is much."""
    server.set_conf(max_wal_size="32MB", min_wal_size="32MB")


def _write_wal(database, segments=6):
    for _ in range(segments):
        database.sql("SELECT pg_logical_emit_message(false, 'noise', 'x')")
        database.sql("SELECT pg_switch_wal()")
    database.sql("CHECKPOINT")


def _status_of(database, slot):
    ((status,),) = database.sql("SELECT wal_status FROM pg_replication_slots WHERE slot_name = %s", (slot,))
    return status


def test_a_slot_that_nobody_reads_any_more(ready, little_wal):
    ready.sql("SELECT pg_create_physical_replication_slot('left_behind', true)")
    assert _is_fine(ready, "other_slots")
    _write_wal(ready)
    assert _status_of(ready, "left_behind") == "extended"
    _cured(ready, _warned(ready, "other_slots", "left_behind (keeps "))


def test_other_slots_that_are_lost(ready, server):
    ready.sql("SELECT pg_create_physical_replication_slot('lost', true)")
    server.set_conf(max_slot_wal_keep_size="1MB")
    ready.sql("SELECT pg_drop_replication_slot(%s)", (ready.slot,))
    _write_wal(ready, 3)
    wait_until(lambda: ready.sql("CHECKPOINT") or _status_of(ready, "lost") == "lost", 30, "the slot is lost")
    server.set_conf(max_slot_wal_keep_size="-1")
    ready.sql("SELECT pg_create_logical_replication_slot(%s, 'pgoutput')", (ready.slot,))
    _cured(ready, _warned(ready, "other_slots", "lost (invalidated)"))


def test_wal_that_is_kept_for_a_relay_that_is_not_there(ready, little_wal, relay):
    _write_wal(ready)
    assert "walpost run" in _warned(ready, "slot_wal", "no relay reads it")["cure"]
    relay().start()

    def is_caught_up():
        ready.sql("CHECKPOINT")  # notes what runs, and so how far the slot may forget
        return _is_fine(ready, "slot_wal")

    wait_until(is_caught_up, 30, "the relay has caught up, and the slot keeps little")


def test_a_slot_that_is_nearly_lost(ready, server):
    server.set_conf(max_slot_wal_keep_size="256MB", max_wal_size="1GB")
    assert _is_fine(ready, "slot_wal")
    _write_wal(ready, 14)  # of 16 MB each
    warned = _warned(ready, "slot_wal", "and is lost with its events after ")
    assert "(max_slot_wal_keep_size is 256 MB): no relay reads it" in warned["what"]
    assert "walpost run" in warned["cure"] and "raise max_slot_wal_keep_size" in warned["cure"]


def test_wal_that_is_kept_for_an_open_transaction(ready, little_wal, relay):
    relay().start()
    session = ready.server.connect(ready.name)
    session.execute("BEGIN")
    session.execute("CREATE TABLE open_still ()")  # what it has in the log is what the slot must keep
    wait_until(lambda: _confirmed(ready), 20, "the relay streams")

    def is_held():
        _write_wal(ready)
        return not _is_fine(ready, "slot_wal") and _confirmed(ready)

    wait_until(is_held, 60, "the slot is held back, and its relay is not behind")
    ready.apply(_warned(ready, "slot_wal", f"process {session.info.backend_pid}"))

    def is_free():
        ready.sql("CHECKPOINT")
        return _is_fine(ready, "slot_wal")

    wait_until(is_free, 30, "the slot keeps little again")
    session.close()


# --- publication and slot


def _publication_made_anew(database, between):
    database.sql("DROP PUBLICATION walpost")
    between()
    database.sql("CREATE PUBLICATION walpost FOR TABLE outbox WITH (publish = 'insert')")


def test_a_slot_with_rows_from_before_its_publication(ready):
    _publication_made_anew(ready, between=lambda: _insert(ready))
    finding = ready.check()["slot_decodes"]
    assert finding["level"] == "fail" and "walpost" in finding["what"]
    assert finding["cure"] == "-- walpost backfill --missing --force"  # run in test_exit_cures, where there is Kafka
    wait_until(lambda: not ready.sql("SELECT 1 FROM pg_replication_slots WHERE slot_name LIKE 'walpost_check%%'"), 20,
               "its own slot is gone with its session")


def test_a_publication_that_is_younger_than_its_slot_and_lost_nothing(ready):
    _publication_made_anew(ready, between=lambda: None)
    _insert(ready)
    place = "SELECT confirmed_flush_lsn, restart_lsn FROM pg_replication_slots WHERE slot_name = %s"
    before = ready.sql(place, (ready.slot,))
    assert ready.check()["slot_decodes"]["level"] == "ok"
    assert ready.sql(place, (ready.slot,)) == before


def test_a_table_that_its_publication_was_given_late(ready, relay):
    ready.sql("ALTER PUBLICATION walpost DROP TABLE outbox")
    _insert(ready)
    ready.sql("ALTER PUBLICATION walpost ADD TABLE outbox")
    finding = _warned(ready, "publication_since", "received public.outbox after slot")
    assert "walpost diff" in finding["cure"]
    relay().start()

    def is_past():
        ready.sql("CHECKPOINT")
        return _is_fine(ready, "publication_since")

    wait_until(is_past, 30, "the slot stands behind that")


def test_another_cluster_behind_the_same_name(ready, relay):
    first = relay().start()
    wait_until(lambda: ready.sql("SELECT slot FROM walpost.slot_checkpoint"), 20, "the relay has the slot")
    first.stop()
    assert _is_fine(ready, "system_identifier")
    ready.sql("UPDATE walpost.slot_checkpoint SET system_identifier = '4711'")
    finding = ready.check()["system_identifier"]
    assert finding["level"] == "fail" and "4711" in finding["what"]
    ready.cure(1)
    assert ready.config["relay.epoch"] == "1"


# --- failover


def _slot_without_failover(database):
    database.sql("SELECT pg_drop_replication_slot(%s)", (database.slot,))
    database.sql("SELECT pg_create_logical_replication_slot(%s, 'pgoutput')", (database.slot,))


@since_17
def test_a_slot_that_a_failover_loses_where_another_is_kept(ready):
    _slot_without_failover(ready)
    assert _is_fine(ready, "slot_failover")
    ready.sql("SELECT pg_create_logical_replication_slot('kept', 'pgoutput', false, false, true)")
    _cured(ready, _warned(ready, "slot_failover", "a slot with the flag exists: kept"))
    assert ready.sql("SELECT failover FROM pg_replication_slots WHERE slot_name = %s", (ready.slot,)) == [(True,)]


@since_17
def test_standbys_that_the_slot_waits_for_and_are_not_there(ready, server):
    ready.sql("SELECT pg_create_physical_replication_slot('gone')")
    server.set_conf(synchronized_standby_slots="gone")
    idle = ready.check()["standby_slots"]
    assert idle["level"] == "fail" and "no standby is reading: gone" in idle["what"]
    _cured(ready, idle)
    server.set_conf(synchronized_standby_slots="gone")
    ready.sql("SELECT pg_drop_replication_slot('gone')")
    finding = ready.check()["standby_slots"]
    assert finding["level"] == "fail" and "not physical slots of this server: gone" in finding["what"]
    _cured(ready, finding)


def _the_copy_is_told(database, standby):
    """By check and by status, asked of the standby."""
    primary = database.config["postgres.conninfo"]
    copied = "SELECT slot_name FROM pg_replication_slots WHERE slot_name = %s AND synced"
    wait_until(lambda: standby.query(copied, (database.slot,)), 60, "the slot is copied", standby.log_tail)
    database.config["postgres.conninfo"] = standby.conninfo(database.name)
    said = database.check()["slot_failover"]["what"]
    ((temporary,),) = standby.query("SELECT temporary FROM pg_replication_slots WHERE slot_name = %s", (database.slot,))
    assert ("is not complete yet" if temporary else "copy of the primary's") in said, said
    done = database.command("status", "--json")
    assert (done.returncode, json.loads(done.stdout)["state"]) == (1, "standby")
    database.config["postgres.conninfo"] = primary


@since_17
def test_a_standby_that_copies_slots_and_is_not_waited_for(ready, server, folder):
    ready.sql("SELECT pg_create_physical_replication_slot('standby')")
    standby = Standby(server, folder / "standby")
    with open(standby.data / "postgresql.conf", "a") as conf:
        conf.write(f"primary_conninfo = 'host=127.0.0.1 port={server.port} user=postgres dbname={ready.name}'\n"
                   "primary_slot_name = 'standby'\nhot_standby_feedback = on\nsync_replication_slots = on\n")
    standby.start()
    try:
        wait_until(lambda: not _is_fine(ready, "slot_failover"), 30, "the standby copies slots", standby.log_tail)
        _cured(ready, _warned(ready, "slot_failover", "synchronized_standby_slots is empty"))
        assert _is_fine(ready, "standby_slots")
        _the_copy_is_told(ready, standby)
        _slot_without_failover(ready)
        _cured(ready, _warned(ready, "slot_failover", "a standby copies slots"))
    finally:
        standby.end()


# --- types: what a stream would stop at is told before it does


@pytest.mark.parametrize("type, config", [
    ("point", {"outbox.types": "debezium", "outbox.headers": "extra"}),
    ("text", {"outbox.column.timestamp": "extra"}),
    ("numeric", {"outbox.column.partition": "extra"}),
])
def test_columns_of_types_that_do_not_do(ready, relay, type, config):
    ready.sql(f"ALTER TABLE outbox ADD extra {type}")
    assert not ready.failures()
    ready.config.update(config)
    finding = ready.check()["table_types"]
    assert finding["level"] == "fail" and finding["about"] == "public.outbox"
    refused = relay().start()
    _insert(ready)
    assert refused.wait_exit(20) in (2, 3)
    assert any(finding["what"] in str(line) for line in refused.log()), refused.log_tail()
    ready.cure(1)
    assert _is_fine(ready, "table_types")


def test_columns_of_types_that_do(ready):
    ready.sql("CREATE DOMAIN moment AS timestamptz; CREATE DOMAIN place AS moment; CREATE TYPE kind AS ENUM ('a');"
              "ALTER TABLE outbox ADD at place, ADD part smallint, ADD k kind, ADD many int[]")
    ready.config.update({"outbox.types": "debezium", "outbox.column.timestamp": "at",
                         "outbox.column.partition": "part", "outbox.headers": "k,many"})
    assert ready.check()["table_types"]["level"] == "ok"
