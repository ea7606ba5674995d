"""walpost backfill: what lies before a slot's first position is sent, and the slot begins behind it."""

import json
import os

import confluent_kafka
import pytest

from lib import backfill
from lib.sql_scripts import run_script
from lib.waiting import wait_until

FULL = os.environ.get("WALPOST_BACKFILL") == "full"
ROWS, KILLS, RATE = (50_000, 10, 500) if FULL else (1_500, 3, 50)


@pytest.fixture
def lost(stage):
    return backfill.lose_slot_under_load(stage, ROWS)


@pytest.mark.on("all")
@pytest.mark.timeout(600)
def test_a_slot_dropped_in_the_middle_of_load_loses_nothing(lost):
    before = backfill.sent(lost)
    said = backfill.done(backfill.run(lost, "--missing", "--order-by", "n"))
    assert f"slot {lost.slot}: created" in said
    lost.insert_many(100, "later")
    relay = lost.relay()
    lost.wait_all_confirmed(60, relay)
    sent = backfill.sent(lost)
    assert len(sent) == len(set(sent)) and set(before) < set(sent)
    assert set(sent) == set(backfill.ids(lost))
    backfill.check_order(lost)
    if int(lost.postgres.version) >= 17:
        assert lost.sql("SELECT failover FROM pg_replication_slots WHERE slot_name = %s", (lost.slot,)) == [(True,)]


@pytest.mark.timeout(600)
def test_killed_at_any_point_it_leaves_no_slot_and_begins_again(lost):
    for kill in range(KILLS):
        process = backfill.start(lost, "--missing", "--order-by", "n", "--rate", str(RATE))
        enough = len(backfill.sent(lost)) + kill * (ROWS * 2 // 3) // KILLS ** 2
        wait_until(lambda: len(backfill.sent(lost)) > enough or process.poll() is not None, 60, "some are sent")
        assert process.poll() is None
        process.kill()
        process.communicate()
        backfill.no_slot_is_left(lost)
    backfill.done(backfill.run(lost, "--missing", "--order-by", "n"))
    assert set(backfill.sent(lost)) == set(backfill.ids(lost))
    backfill.check_order(lost)
    backfill.no_slot_is_left(lost, but=[lost.slot])


def test_a_dry_run_sends_nothing_and_leaves_no_slot(lost):
    before = backfill.sent(lost)
    said = json.loads(backfill.done(backfill.run(lost, "--missing", "--order-by", "n", "--dry-run", "--json")))
    assert (said["rows"], said["sent"]) == (len(backfill.ids(lost)) - len(before), 0)
    assert said["topics"] == {lost.topic(): said["rows"]}
    backfill.no_slot_is_left(lost)
    assert sorted(backfill.sent(lost)) == sorted(before)


def test_the_rows_of_a_condition_are_sent_whether_they_are_in_kafka_or_not(lost):
    before = backfill.sent(lost)
    backfill.done(backfill.run(lost, "--where", "n <= 10 -- the first", "--order-by", "n", "--rate", "1000"))
    assert sorted(backfill.sent(lost)) == sorted(before + backfill.ids(lost, "n <= 10"))


def test_an_order_that_nothing_says_is_asked_for(lost):
    why = backfill.refused(backfill.run(lost, "--missing"))
    assert "--order-by. Candidates: n" in why
    why = backfill.refused(backfill.run(lost, "--missing", "--order-by", "payload"))
    assert "column payload is neither a number nor a time" in why
    backfill.no_slot_is_left(lost)


def test_beside_a_relay_nothing_is_sent(stage):
    stage.create_topic()
    backfill.number_rows(stage)
    stage.insert("1")
    relay = stage.relay()
    stage.wait_all_confirmed(20, relay)
    why = backfill.refused(backfill.run(stage, "--force", "--order-by", "n"))
    assert "is in use by process" in why and "walpost replay" in why
    assert len(backfill.sent(stage)) == 1


def test_a_healthy_slot_is_replaced_by_force_only(stage):
    stage.create_topic()
    backfill.number_rows(stage)
    stage.insert("1")
    why = backfill.refused(backfill.run(stage, "--missing", "--order-by", "n"))
    assert "can be read: start walpost run" in why and "--force" in why
    backfill.done(backfill.run(stage, "--missing", "--order-by", "n", "--force"))
    assert backfill.sent(stage) == backfill.ids(stage)
    stage.insert("2")
    stage.wait_all_confirmed(20, stage.relay())
    assert sorted(backfill.sent(stage)) == sorted(backfill.ids(stage))


def test_a_transaction_that_blocks_the_slot_is_named(lost):
    connection = lost.connect()
    connection.execute("BEGIN")
    connection.execute("SELECT pg_current_xact_id()")
    why = backfill.refused(backfill.run(lost, "--missing", "--order-by", "n", "--timeout", "10s"))
    assert f"process {connection.info.backend_pid}," in why and "raise --timeout" in why
    backfill.no_slot_is_left(lost)
    connection.execute("ROLLBACK")


def test_a_row_that_can_never_be_delivered_is_named_before_anything_is_sent(lost):
    before = backfill.sent(lost)
    lost.sql(f"UPDATE {lost.table} SET aggregatetype = 'no topic!' WHERE n = {ROWS}")
    (bad,) = backfill.ids(lost, f"n = {ROWS}")
    why = backfill.refused(backfill.run(lost, "--missing", "--order-by", "n"))
    assert bad in why and "can never be delivered" in why
    backfill.no_slot_is_left(lost)
    assert sorted(backfill.sent(lost)) == sorted(before)


@pytest.mark.parametrize("more", [(), ("--dry-run",)])
def test_a_row_that_is_too_large_is_named_before_anything_is_sent(lost, more):
    before = backfill.sent(lost)
    lost.sql(f"""UPDATE {lost.table} SET payload = json_build_object('x', repeat('y', 5000)) WHERE n = {ROWS}""")
    (bad,) = backfill.ids(lost, f"n = {ROWS}")
    small = {"kafka.message.max.bytes": 2000}
    why = backfill.refused(backfill.run(lost, "--missing", "--order-by", "n", *more, changes=small))
    assert bad in why and "exceeds message.max.bytes = 2000" in why and "can never be delivered" in why
    backfill.no_slot_is_left(lost)
    assert sorted(backfill.sent(lost)) == sorted(before)


def test_events_that_were_discarded_are_spoken_of(lost):
    assert run_script(lost, "parked.sql", options=["-v", "ON_ERROR_STOP=1"]).returncode == 0
    plan = backfill.run(lost, "--missing", "--order-by", "n", "--dry-run")
    assert "discarded with walpost parked" not in backfill.done(plan)
    sent = set(backfill.sent(lost))
    missing = [id for id in backfill.ids(lost, "true") if id not in sent]
    discarded, retried, delivered = missing[0], missing[1], min(sent)
    acts = [("skip", discarded, lost.slot), ("purge", discarded, lost.slot), ("retry", retried, lost.slot),
            ("skip", delivered, lost.slot), ("skip", None, lost.slot), ("skip", missing[2], "other")]
    for act, id, slot in acts:
        lost.sql("""INSERT INTO walpost.parked_acts (slot, act, outbox, id_of_event, "position", events, code, reason)
            VALUES (%s, %s, 'public.outbox', %s, 'x', 1, 'X', 'x')""", (slot, act, id))
    said = backfill.done(backfill.run(lost, "--missing", "--order-by", "n", "--dry-run"))
    assert "discarded with walpost parked: 1;" in said and f"Their ids: {discarded}\n" in said
    assert "slot skip" not in said
    lost.sql("INSERT INTO walpost.parked_acts (slot, act, outbox, id_of_event, \"position\", events, code, reason) "
             f"SELECT %s, 'purge', 'public.outbox', id::text, 'x', 1, 'X', 'x' FROM {lost.table}", (lost.slot,))
    lost.sql("INSERT INTO walpost.skip (slot, from_lsn, to_lsn, events) VALUES (%s, '0/1', '0/2', 1), "
             "('other', '0/1', '0/2', 5)", (lost.slot,))
    said = backfill.done(backfill.run(lost, "--missing", "--order-by", "n", "--dry-run"))
    assert f"discarded with walpost parked: {len(missing)};" in said and said.count(", ...\n") == 1
    assert f"walpost slot skip discarded 1 event of slot {lost.slot}, whose ids" in said
    lost.sql("INSERT INTO walpost.skip (slot, from_lsn, to_lsn) VALUES (%s, '0/2', '0/3')", (lost.slot,))
    as_json = backfill.run(lost, "--missing", "--order-by", "n", "--dry-run", "--json")
    assert json.loads(as_json.stdout)["discarded"] == len(missing)
    said = backfill.done(backfill.run(lost, "--missing", "--order-by", "n", "--dry-run"))
    assert "slot skip discarded 1 or more events" in said


def test_rows_that_are_parked_are_left_to_the_relay(lost):
    made = run_script(lost, "parked.sql", options=["-v", "ON_ERROR_STOP=1"])
    assert made.returncode == 0, made.stderr
    lost.insert("parked")
    lost.insert("other")
    (parked,) = backfill.ids(lost, "aggregateid = 'parked'")
    lost.sql(f"""INSERT INTO walpost.parked (slot, "position", outbox, key, id, settings, committed_at, code, reason,
        first_reason) SELECT %s, '0000-00000001-0000000000000001-00000000', 'public.outbox', aggregateid, id::text, '',
        now(), 'X', 'x', 'x' FROM {lost.table} WHERE aggregateid = 'parked'""", (lost.slot,))
    said = backfill.done(backfill.run(lost, "--missing", "--order-by", "n", "--dry-run"))
    assert "parked events of slot" in said
    lost.insert("parked")
    why = backfill.refused(backfill.run(lost, "--missing", "--order-by", "n"))
    assert "an event with key parked is parked" in why and "walpost parked skip --key" in why
    backfill.no_slot_is_left(lost)
    lost.sql(f"DELETE FROM {lost.table} WHERE aggregateid = 'parked' AND id::text <> %s", (parked,))
    backfill.done(backfill.run(lost, "--missing", "--order-by", "n"))
    assert set(backfill.sent(lost)) == set(backfill.ids(lost)) - {parked}


def test_a_database_that_is_behind_its_topics_is_refused_until_an_epoch_is_given(lost):
    """As a restored one is: its log ends before an event that a topic holds."""
    producer = confluent_kafka.Producer({"bootstrap.servers": lost.kafka.address})
    producer.produce(lost.topic(), b"{}", b"k", headers=[
        ("id", b"later"), ("walpost-position", b"0000-00000001-0FFFFFFF00000000-00000000")])
    assert producer.flush(20) == 0
    why = backfill.refused(backfill.run(lost, "--missing", "--order-by", "n"))
    backfill.no_slot_is_left(lost)
    assert "set relay.epoch = 1" in why
    backfill.done(backfill.run(lost, "--missing", "--order-by", "n", changes={"relay.epoch": 1}))
    assert set(backfill.sent(lost)) == {*backfill.ids(lost), "later"}


def test_a_lost_slot_is_replaced(make_stage, own_postgres):
    stage = make_stage(postgres=own_postgres)
    stage.create_topic()
    backfill.number_rows(stage)
    relay = stage.relay()
    stage.insert("1")
    stage.wait_all_confirmed(20, relay)
    relay.kill()
    stage.wait_released()
    stage.insert("2")
    stage.sql("ALTER SYSTEM SET max_slot_wal_keep_size = '1MB'")
    stage.sql("SELECT pg_reload_conf()")

    def is_lost():
        stage.sql("SELECT pg_switch_wal()")
        stage.sql("CREATE TABLE filler AS SELECT 1")
        stage.sql("DROP TABLE filler")
        stage.sql("CHECKPOINT")
        return stage.sql("SELECT wal_status FROM pg_replication_slots WHERE slot_name = %s",
                         (stage.slot,)) == [("lost",)]
    wait_until(is_lost, 60, "the slot is lost")
    why = backfill.refused(backfill.run(stage, "--missing", "--order-by", "n"))
    assert "is lost" in why and "--force" in why
    backfill.done(backfill.run(stage, "--missing", "--order-by", "n", "--force"))
    stage.insert("3")
    relay.start()
    wait_until(lambda: len(backfill.sent(stage)) == 3, 30, "all are in Kafka")
    assert sorted(backfill.sent(stage)) == sorted(backfill.ids(stage))


def test_the_relays_role_needs_to_read_the_table_besides_and_all_of_it(lost):
    role = lost.name + "_role"
    made = run_script(lost, "grants.sql", options=["-v", f"role={role}"])
    assert made.returncode == 0, made.stderr
    changes = {"postgres.conninfo": lost.postgres.conninfo(lost.database, user=role)}
    try:
        why = backfill.refused(backfill.run(lost, "--missing", "--order-by", "n", changes=changes))
        assert "walpost backfill reads the table, unlike a relay: GRANT SELECT ON public.outbox TO its role" in why
        lost.sql(f"GRANT SELECT ON {lost.table} TO {role}")
        lost.sql(f"ALTER TABLE {lost.table} ENABLE ROW LEVEL SECURITY; "
                 f"CREATE POLICY old ON {lost.table} USING (n < {ROWS // 2})")
        why = backfill.refused(backfill.run(lost, "--missing", "--order-by", "n", changes=changes))
        backfill.no_slot_is_left(lost)
        assert "row-level security" in why and "give the role BYPASSRLS" in why
        lost.sql(f"ALTER ROLE {role} BYPASSRLS")
        ran = backfill.run(lost, "--missing", "--order-by", "n", changes=changes)
        backfill.done(ran)
        assert backfill.complaints(ran) == ""  # it has written the slot checkpoint
        assert set(backfill.sent(lost)) == set(backfill.ids(lost))
        lost.wait_all_confirmed(60, lost.relay(changes))
        lost.relays[-1].stop()
    finally:
        lost.sql(f"DROP OWNED BY {role}; DROP ROLE {role}")
