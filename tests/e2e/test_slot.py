"""walpost slot and walpost status: looking after the slot without losing events."""

import json

import psycopg.pq
import pytest

from lib.administered import Administered
from lib.waiting import wait_until

pytestmark = pytest.mark.on("all")


@pytest.fixture
def ready(house, version, folder):
    database = Administered(house.postgres(version), folder)
    database.init()
    yield database
    database.sql("SELECT pg_drop_replication_slot(slot_name) FROM pg_replication_slots "
                 "WHERE database = current_database()")
    database.server.query(f"DROP DATABASE {database.name} WITH (FORCE)")


def _slots(database):
    rows = database.sql("SELECT slot_name FROM pg_replication_slots WHERE database = current_database() ORDER BY 1")
    return [slot for (slot,) in rows]


def _insert(database):
    database.sql("INSERT INTO outbox (id, aggregatetype, aggregateid, type, payload) "
                 "VALUES (gen_random_uuid(), 't', '1', 'x', '{}')")


def test_a_second_slot_is_made_and_dropped_by_name(ready):
    other = ready.slot + "_b"
    assert ready.command("slot", "create", other).returncode == 0
    assert _slots(ready) == [ready.slot, other]
    assert ready.command("slot", "drop", other).returncode == 0
    assert _slots(ready) == [ready.slot]


def test_a_slot_that_is_there_is_not_made_again(ready):
    done = ready.command("slot", "create")
    assert done.returncode == 1 and "already exists" in done.stderr


def test_no_slot_is_made_before_the_publication(ready):
    ready.config["postgres.publication"] = "later"
    done = ready.command("slot", "create", ready.slot + "_b")
    assert done.returncode == 1 and "there is no publication later" in done.stderr
    assert _slots(ready) == [ready.slot]


def test_a_slot_with_events_is_dropped_by_force_only(ready):
    _insert(ready)
    done = ready.command("slot", "drop")
    assert done.returncode == 1 and "unconfirmed" in done.stderr and "--force" in done.stderr
    assert _slots(ready) == [ready.slot]
    assert ready.command("slot", "drop", "--force").returncode == 0
    assert _slots(ready) == []


def _park(ready, slot=None):
    """As a relay that had the slot left it."""
    ready.sql("INSERT INTO walpost.parking (slot, generation, owner) VALUES (%s, 7, 'relay')", (slot or ready.slot,))
    ready.sql("INSERT INTO walpost.parked (slot, position, outbox, key, settings, committed_at, code, reason, "
              "first_reason) SELECT %s, '0000-00000001-00000000000000A0-0000000' || n, 'public.outbox', 'k', '', "
              "now(), 'LARGE', 'r', 'r' FROM generate_series(1, 2) n", (slot or ready.slot,))


def _rows(ready):
    return ready.sql("SELECT (SELECT count(*) FROM walpost.parked), (SELECT count(*) FROM walpost.parking)")[0]


def test_a_slot_for_which_events_are_parked_is_dropped_by_force_only_and_they_with_it(ready):
    _park(ready)
    _park(ready, "another")
    done = ready.command("slot", "drop")
    assert done.returncode == 1 and "2 events of 1 aggregates are parked for it" in done.stderr
    assert "--force" in done.stderr and _slots(ready) == [ready.slot] and _rows(ready) == (4, 2)
    done = ready.command("slot", "drop", "--force")
    assert done.returncode == 0 and f"slot {ready.slot}: 2 parked events deleted" in done.stdout
    assert _slots(ready) == [] and _rows(ready) == (2, 1)


def test_the_generation_of_a_slot_goes_with_it(ready):
    _park(ready)
    ready.sql("DELETE FROM walpost.parked")
    done = ready.command("slot", "drop")
    assert done.returncode == 0 and done.stderr == "" and _rows(ready) == (0, 0)


def test_without_the_right_to_see_what_is_parked_a_slot_is_dropped_by_force_only(ready):
    role = f"relay_{ready.name}"
    ready.sql(f"CREATE ROLE {role} LOGIN REPLICATION")
    ready.config["postgres.conninfo"] = ready.server.conninfo(ready.name, user=role)
    done = ready.command("slot", "drop")
    assert done.returncode == 1 and "cannot determine whether events are parked for it" in done.stderr
    done = ready.command("slot", "drop", "--force")
    assert done.returncode == 0 and "in walpost.parking and walpost.parked were not deleted" in done.stderr
    assert _slots(ready) == []
    ready.sql(f"DROP ROLE {role}")


def test_a_slot_is_dropped_where_nothing_can_be_parked(ready):
    ready.sql("DROP TABLE walpost.parked, walpost.parking, walpost.parked_acts")
    done = ready.command("slot", "drop")
    assert done.returncode == 0 and done.stderr == ""


def test_a_slot_behind_other_tables_only_is_dropped(ready):
    ready.sql("CREATE TABLE other (x int)")
    ready.sql("INSERT INTO other VALUES (1)")
    assert ready.command("slot", "drop").returncode == 0


def test_a_slot_with_events_behind_what_other_tables_wrote_is_dropped_by_force_only(ready):
    ready.sql("CREATE TABLE other (x int)")
    _insert(ready)
    assert ready.command("slot", "drop").returncode == 1


def test_a_slot_with_messages_that_are_events_is_dropped_by_force_only(ready):
    """Those of other prefixes, and those that may have rolled back, are none."""
    ready.config.update({"outbox.message.prefix": "ünd"})
    ready.sql("SELECT pg_logical_emit_message(true, 'ünder', 'x'), pg_logical_emit_message(false, 'ünd', 'x')")
    ready.sql("SELECT pg_logical_emit_message(true, 'ünd', '{}')")
    done = ready.command("slot", "drop")
    assert done.returncode == 1 and "the first in transaction" in done.stderr
    ready.sql("SELECT pg_logical_slot_get_binary_changes(%s, NULL, NULL, 'proto_version', '1', "
              "'publication_names', %s)", (ready.slot, ready.publication))
    ready.sql("SELECT pg_logical_emit_message(true, 'ünder', 'x'), pg_logical_emit_message(false, 'ünd', 'x')")
    assert ready.command("slot", "drop").returncode == 0


def test_a_slot_whose_publication_is_gone_is_dropped_by_force_only(ready):
    _insert(ready)
    ready.sql("DROP PUBLICATION walpost")
    done = ready.command("slot", "drop")
    assert done.returncode == 1 and "cannot determine whether" in done.stderr
    assert ready.command("slot", "drop", "--force").returncode == 0


def test_a_slot_of_someone_else_is_dropped_by_force_only(ready):
    other = ready.slot + "_b"
    ready.sql("SELECT pg_create_logical_replication_slot(%s, 'test_decoding')", (other,))
    done = ready.command("slot", "drop", other)
    assert done.returncode == 1 and "not walpost's" in done.stderr
    assert ready.command("slot", "drop", "--force", other).returncode == 0


def test_a_slot_in_use_is_not_dropped_even_by_force(ready):
    conninfo = ready.server.conninfo(ready.name, replication="database")
    stream = psycopg.pq.PGconn.connect(conninfo.encode())
    started = stream.exec_(
        f"START_REPLICATION SLOT {ready.slot} LOGICAL 0/0 (proto_version '1', publication_names 'walpost')".encode())
    assert started.status == psycopg.pq.ExecStatus.COPY_BOTH
    done = ready.command("slot", "drop", "--force")
    assert done.returncode == 1 and "in use by process" in done.stderr
    shown = json.loads(ready.command("status", "--json").stdout)
    assert shown["active_pid"] == stream.backend_pid
    stream.finish()
    wait_until(lambda: json.loads(ready.command("status", "--json").stdout)["active_pid"] is None, 10,
               "the slot is let go")


def test_a_slot_that_is_not_there_is_not_dropped(ready):
    done = ready.command("slot", "drop", "nothing")
    assert done.returncode == 1 and "there is no slot nothing" in done.stderr


def test_all_slots_are_listed(ready):
    listed = {slot["slot_name"]: slot for slot in json.loads(ready.command("slot", "list", "--json").stdout)}
    assert listed[ready.slot]["plugin"] == "pgoutput" and listed[ready.slot]["database"] == ready.name
    assert ready.slot in ready.command("slot", "list").stdout


def test_the_status_shows_how_far_the_slot_is_behind(ready):
    ready.sql("SELECT pg_replication_slot_advance(%s, pg_current_wal_lsn())", (ready.slot,))
    before = json.loads(ready.command("status", "--json").stdout)
    for _ in range(10):
        _insert(ready)
    after = json.loads(ready.command("status", "--json").stdout)
    assert after["slot_exists"] and after["publication_exists"]
    assert after["confirmed_flush_lsn"] == before["confirmed_flush_lsn"]
    assert after["lag_bytes"] >= before["lag_bytes"] + 1000
    assert after["wal_status"] == "reserved" and after["invalidation"] is None
    text = ready.command("status").stdout
    assert f"slot                 {ready.slot}" in text and "confirmed_flush_lsn" in text


def test_the_status_shows_who_took_the_slot_over(ready):
    ready.sql("INSERT INTO walpost.slot_checkpoint VALUES (%s, 'host:1', '7', 1, 3, '0/10', now() - interval '90 s')",
              (ready.slot,))
    shown = json.loads(ready.command("status", "--json").stdout)
    assert (shown["owner"], shown["owner_epoch"], shown["taken_at_lsn"]) == ("host:1", 3, "0/10")
    assert 90 <= shown["seconds_since_taken"] < 150
    ready.sql("UPDATE walpost.slot_checkpoint SET confirmed_lsn = '0/20', confirmed_at = now() - interval '30 s', "
              "stopped = true")
    shown = json.loads(ready.command("status", "--json").stdout)
    assert (shown["noted_lsn"], shown["stopped"]) == ("0/20", True) and 30 <= shown["seconds_since_noted"] < 90


def test_the_status_says_when_it_cannot_tell_the_owner(ready):
    assert "owner                none yet" in ready.command("status").stdout
    ready.sql("DROP SCHEMA walpost CASCADE")
    shown = ready.command("status")
    assert "owner                unknown: walpost.slot_checkpoint is missing" in shown.stdout


def test_the_status_without_a_publication_says_so(ready):
    ready.sql("DROP PUBLICATION walpost")
    done = ready.command("status", "--json")
    assert done.returncode == 3 and "there is no publication walpost" in done.stderr
    assert json.loads(done.stdout)["publication_exists"] is False


def test_the_status_without_a_slot_says_so(ready):
    ready.config["postgres.slot"] = "nothing"
    done = ready.command("status", "--json")
    assert done.returncode == 3 and "there is no slot nothing" in done.stderr
    shown = json.loads(done.stdout)
    assert shown["slot_exists"] is False and shown["lag_bytes"] is None


@pytest.mark.parametrize("command", [("status",), ("slot", "list"), ("slot", "create"), ("slot", "drop"), ("init",)])
def test_an_unreachable_server_is_one_sentence(ready, command):
    right, ready.config["postgres.conninfo"] = ready.config["postgres.conninfo"], "host=127.0.0.1 port=1"
    done = ready.command(*command)
    ready.config["postgres.conninfo"] = right
    assert done.returncode == 1 and len(done.stderr.strip().splitlines()) == 1
