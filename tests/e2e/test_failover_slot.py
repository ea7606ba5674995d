"""Failover slots (PostgreSQL 17 and newer): the slot that `init` makes is there after a promotion."""

import json
import subprocess

import pytest

from lib import process
from lib.asked import get
from lib.failover import Standby, return_as_standby
from lib.process import finish
from lib.relay import binary, clean_environment, run_command
from lib.waiting import holds_for, wait_until

pytestmark = pytest.mark.on(since=17)


@pytest.fixture
def pair(make_stage, own_postgres, folder):
    """A stage made by `walpost init` on a primary, for which the primary's standby counts; the standby; a relay."""
    stage = make_stage(postgres=own_postgres, set_up=False)
    stage.create_topic(partitions=2)
    done = run_command("init", "-c", stage.new_relay().config_file)
    assert done.returncode == 0, done.stderr
    standby = Standby(own_postgres, folder / "standby").start()
    standby.follow_by_slot("standby1")
    own_postgres.set_conf(synchronized_standby_slots="standby1")
    relay = stage.relay({"postgres.conninfo": (
        f"host=127.0.0.1,127.0.0.1 port={own_postgres.port},{standby.port} user=postgres dbname={stage.database} "
        "target_session_attrs=read-write")})
    yield stage, standby, relay
    standby.end()


@pytest.mark.parametrize("relay_too", ["lives", "is killed"])
def test_a_promoted_standby_with_the_slot_goes_on_where_the_primary_stopped(pair, own_postgres, relay_too):
    stage, standby, relay = pair
    stage.insert_many(50, "a{0}")
    stage.wait_all_confirmed(relay=relay)
    standby.wait_synced(stage.slot)
    stage.insert_many(50, "a{0}")
    relay.wait_until(lambda: len(stage.read()) >= 100, 20, "all is in Kafka")
    if relay_too == "is killed":
        relay.kill()
    own_postgres.stop("immediate")
    standby.promote()

    with standby.connect(stage.database) as connection:
        connection.execute("""INSERT INTO outbox SELECT gen_random_uuid(), 'order', 'a' || n, 'created', '{}'
                              FROM generate_series(1, 50) AS n""")
        rows = connection.execute("SELECT id::text FROM outbox").fetchall()
    checked = run_command("check", "-c", relay.config_file)
    assert checked.returncode == 0, checked.stdout
    if relay_too == "is killed":
        relay.start()
    relay.wait_until(lambda: len({message.id for message in stage.read()}) == 150, 40, "all rows are in Kafka")
    relay.stop()
    messages = stage.read()
    assert {message.id for message in messages} == {id for (id,) in rows}
    if relay_too == "is killed":
        assert len(messages) > 150, "the copy of the slot was behind, and yet nothing came again"
    highest, kept = {}, 0
    for message in messages:
        if message.position > highest.get(message.partition, ""):
            highest[message.partition] = message.position
            kept += 1
    assert kept == 150


def test_while_a_standby_that_counts_is_away_the_relay_waits(pair):
    """The server holds the events back and warns with the code that means a missing publication in another warning."""
    stage, standby, relay = pair
    stage.insert_many(10, "a{0}")
    relay.wait_until(lambda: len(stage.read()) == 10, 20, "the first events are in Kafka")
    standby.stop()
    stage.insert_many(10, "b{0}")
    relay.wait_log("synchronized_standby_slots")
    holds_for(lambda: relay.is_alive() and len(stage.read()) == 10, 1, "nothing is sent, and the relay lives")
    standby.start()
    wait_until(lambda: len(stage.read()) == 20, 30, "the rest comes", relay.log_tail)
    stage.wait_all_confirmed(relay=relay)
    relay.stop()


def _status(relay):
    done = run_command("status", "--json", "-c", relay.config_file)
    return done.returncode, json.loads(done.stdout)


@pytest.mark.parametrize("named, fault", [("standby1", "is not in use"), ("nowhere", "does not exist")])
def test_what_the_server_withholds_is_told(pair, own_postgres, named, fault):
    stage, standby, relay = pair
    relay.stop()
    relay = stage.relay({"http.listen": "127.0.0.1:0"})
    assert _status(relay)[1]["state"] == "streams"
    standby.stop()
    own_postgres.set_conf(synchronized_standby_slots=named)
    stage.insert("a")
    relay.wait_until(lambda: _status(relay)[1]["state"] == "stalled", 60, "the slot is stalled")
    code, shown = _status(relay)
    for said in (shown["means"], get(relay, "/readyz")[1]):
        assert "synchronized_standby_slots" in said and f"slot {named} {fault}" in said
    assert code == 1 and get(relay, "/readyz")[0] == 503
    checked = run_command("check", "-c", relay.config_file)
    assert checked.returncode == 1 and "standby_slots" in checked.stdout and named in checked.stdout
    own_postgres.set_conf(synchronized_standby_slots="")
    stage.wait_all_confirmed(40, relay)
    relay.wait_until(lambda: _status(relay)[1]["state"] == "streams", 40, "it streams again")
    relay.wait_until(lambda: get(relay, "/readyz")[0] == 200, 20, "it is ready again")
    relay.stop()


def test_what_is_parked_is_confirmed_once_the_standby_has_it(pair, own_postgres):
    """The event was sent to the relay when the standby had it; the row of walpost.parked comes after that."""
    stage, standby, relay = pair
    relay.stop()
    relay = stage.relay({"relay.poison": "park"})
    stage.insert("a")
    stage.wait_all_confirmed(relay=relay)
    with own_postgres.connect(stage.database) as locking:
        locking.execute("BEGIN; LOCK walpost.parked IN SHARE MODE")
        (before,) = stage.sql("SELECT pg_current_wal_flush_lsn()::text")[0]
        stage.insert("b", topic="no topic")
        (poison,) = stage.sql("SELECT pg_current_wal_flush_lsn()::text")[0]
        waiting = "SELECT 1 FROM pg_stat_activity WHERE query LIKE %s AND wait_event_type = 'Lock'"
        wait_until(lambda: stage.sql(waiting, ("%INSERT INTO walpost.parked%",)), 20, "it is to be parked",
                   relay.log_tail)
        standby.stop()
        locking.execute("COMMIT")
    wait_until(lambda: stage.sql("SELECT count(*) FROM walpost.parked") == [(1,)], 20, "it is parked", relay.log_tail)
    is_confirmed = "SELECT confirmed_flush_lsn >= %s::pg_lsn FROM pg_replication_slots WHERE slot_name = %s"
    holds_for(lambda: stage.sql(is_confirmed, (poison, stage.slot)) == [(False,)], 3, "it is not confirmed")
    standby.start()
    wait_until(lambda: stage.sql(is_confirmed, (poison, stage.slot)) == [(True,)], 30, "it is", relay.log_tail)
    assert stage.sql(is_confirmed, (before, stage.slot)) == [(True,)]
    relay.stop()


def test_while_a_standby_that_counts_is_away_slot_skip_waits_and_then_lists_all(pair, own_postgres):
    stage, standby, relay = pair
    relay.stop()
    standby.stop()
    stage.insert_many(3, "a{0}")
    (end,) = stage.sql("SELECT pg_current_wal_flush_lsn()::text")[0]
    command = [binary(), "slot", "skip", "-c", relay.config_file, "--to", end]
    with subprocess.Popen(command, env=clean_environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          text=True) as skipping:
        waiting = "SELECT 1 FROM pg_stat_activity WHERE query LIKE '%FETCH%' AND wait_event LIKE '%Standby%'"
        wait_until(lambda: own_postgres.query(waiting), 20, "it waits for the standby")
        standby.start()
        said, complained = finish(skipping, 60)
    assert "3 events in 1 transaction" in said and "to discard these events, use --force" in complained, complained


def _findings(relay, **conninfo):
    words = " ".join(f"{name}={value}" for name, value in conninfo.items())
    done = run_command("check", "--json", "-c", relay.config_file, "--set", f"postgres.conninfo={words}")
    assert done.returncode in (0, 1), done.stderr
    return {finding["name"]: finding for finding in json.loads(done.stdout)}


def _psql(server, database, cure):
    done = process.run(["psql", "-X", "-q", "-v", "ON_ERROR_STOP=1", "-d", server.conninfo(database)], input=cure,
                       env=clean_environment())
    assert done.returncode == 0, done.stderr


@pytest.fixture
def switched(pair, own_postgres):
    """The standby was promoted, and the former primary follows it, with the slot that was made on it."""
    stage, standby, relay = pair
    stage.insert_many(10, "a{0}")
    stage.wait_all_confirmed(relay=relay)
    standby.wait_synced(stage.slot)
    relay.stop()
    standby.wait_caught_up()
    own_postgres.stop()
    standby.promote()
    standby.set_conf(synchronized_standby_slots="")
    return_as_standby(own_postgres, standby, "standby2")
    wait_until(lambda: "because same name slot" in own_postgres.log_since(), 60, "the server refuses to copy slots",
               own_postgres.log_tail)
    return stage, standby, own_postgres, relay


def test_a_slot_of_a_former_primary_is_found_on_either_server_and_its_cure_lets_slots_be_copied(switched):
    stage, primary, former, relay = switched
    one = {"host": "127.0.0.1", "user": "postgres", "dbname": stage.database}

    on_former = _findings(relay, **one, port=former.port)["slot_failover"]
    assert on_former["level"] == "warn" and "was created here when this server was the primary" in on_former["what"]
    on_primary = _findings(relay, **one, port=primary.port)["slot_failover"]
    assert on_primary["level"] == "warn" and "no standby copies slot" in on_primary["what"]
    both = {**one, "host": "127.0.0.1,127.0.0.1", "target_session_attrs": "read-write"}
    named = _findings(relay, **both, port=f"{former.port},{primary.port}")["standby_slot"]
    assert named["level"] == "warn" and f"port {former.port}, is not a copy" in named["what"]

    for server in former, primary:
        conninfo = f"postgres.conninfo=host=127.0.0.1 user=postgres dbname={stage.database} port={server.port}"
        status = json.loads(run_command("status", "--json", "-c", relay.config_file, "--set", conninfo).stdout)
        assert status["slot_sync"] == ("in_the_way" if server is former else "not_copied"), status
        assert status["slot_sync"] != "in_the_way" or "pg_drop_replication_slot" in status["means"]
        listed = run_command("slot", "list", "-c", relay.config_file, "--set", conninfo)
        assert listed.returncode == 0 and f"slot {stage.slot}" in listed.stderr, listed.stderr

    _psql(primary, stage.database, named["cure"])
    assert primary.query("SELECT 1 FROM pg_replication_slots WHERE slot_name = %s", (stage.slot,)) == [(1,)]
    _psql(former, stage.database, on_former["cure"])
    wait_until(lambda: former.query("SELECT 1 FROM pg_replication_slots WHERE slot_name = %s AND synced AND temporary",
                                    (stage.slot,)), 60, "the copy begins", former.log_tail)
    begun = _findings(relay, **one, port=former.port)
    assert begun["slot_failover"]["level"] == "warn" and "not complete yet" in begun["slot_failover"]["what"]
    assert "slot" not in begun or begun["slot"]["level"] == "ok", begun["slot"]
    assert "slot_foreign" not in begun
    named = _findings(relay, **both, port=f"{former.port},{primary.port}")["standby_slot"]
    assert named["level"] == "warn" and f"port {former.port}, is not complete yet" in named["what"]
    conninfo = f"postgres.conninfo=host=127.0.0.1 user=postgres dbname={stage.database} port={former.port}"
    listed = run_command("slot", "list", "-c", relay.config_file, "--set", conninfo)
    assert "is not complete yet" in listed.stderr, listed.stderr
    relay.start()

    def is_copied():  # once the slot has moved beyond what the standby began with
        primary.query("SELECT pg_log_standby_snapshot()")
        primary.query("INSERT INTO outbox VALUES (gen_random_uuid(), 'order', 'b', 'created', '{}')",
                      database=stage.database)
        return former.query("SELECT 1 FROM pg_replication_slots WHERE slot_name = %s AND synced AND NOT temporary",
                            (stage.slot,))

    wait_until(is_copied, 60, "the slot is copied", former.log_tail)
    relay.stop()
    assert "standby_slot" not in _findings(relay, **both, port=f"{former.port},{primary.port}")
    copied = _findings(relay, **one, port=former.port)["slot_failover"]
    assert copied["level"] == "ok" and "a copy of the primary's slot" in copied["what"]
    wait_until(lambda: "was promoted" not in _findings(relay, **one, port=primary.port)["slot_failover"]["what"], 30,
               "the primary sees that slots are copied")


def test_the_cure_for_the_primary_removes_the_former_primarys_slot_only(switched):
    stage, primary, former, relay = switched
    one = {"host": "127.0.0.1", "user": "postgres", "dbname": stage.database}
    cure = _findings(relay, **one, port=primary.port)["slot_failover"]["cure"]
    slots = "SELECT synced FROM pg_replication_slots WHERE slot_name = %s AND NOT synced"
    for server in primary, former:
        _psql(server, stage.database, cure)
        assert not server.query(slots, (stage.slot,))
    assert primary.query("SELECT 1 FROM pg_replication_slots WHERE slot_name = %s", (stage.slot,)) == [(1,)]
