"""An outbox in which nothing happens must not hold the server's log back."""

import time

import pytest

from lib.waiting import check_in_time, wait_until


@pytest.mark.on("all")
def test_an_idle_outbox_follows_while_another_database_writes(make_stage, own_postgres):
    stage = make_stage(postgres=own_postgres)
    stage.create_topic()
    stage.insert()
    relay = stage.relay()
    stage.wait_all_confirmed()
    own_postgres.query("CREATE TABLE busy AS SELECT generate_series(1, 10000)")
    _follows_and_releases(stage, relay, "INSERT INTO busy SELECT generate_series(1, 50000)", "postgres")


@pytest.mark.on("all")
def test_an_idle_outbox_follows_while_other_tables_write(make_stage, own_postgres):
    stage = make_stage(postgres=own_postgres)
    stage.create_topic()
    stage.insert()
    relay = stage.relay()
    stage.wait_all_confirmed()
    stage.sql("CREATE TABLE busy (n int)")
    _follows_and_releases(stage, relay, "INSERT INTO busy SELECT generate_series(1, 50000)", stage.database)


def _follows_and_releases(stage, relay, busy, database):
    stage.sql("SELECT pg_drop_replication_slot(%s)", (stage.name + "_truth",))
    before = stage.slot_row()[1]
    for _ in range(3):
        stage.postgres.query(busy, database=database)
        stage.wait_all_confirmed(20, relay)

    def released():
        stage.postgres.query("CHECKPOINT")
        return stage.slot_row()[1] > before + 5_000_000

    wait_until(released, 30, "restart_lsn has moved past what was written")


def test_a_long_open_transaction_does_not_hold_the_others_back(stage):
    stage.create_topic()
    relay = stage.relay()
    with stage.transaction() as connection:
        late = stage.insert("late", connection=connection)
        early = stage.insert("early")
        relay.wait_until(lambda: [m.id for m in stage.read()] == [early], 20, "the other event is there")
    stage.wait_all_confirmed()
    assert {m.id for m in stage.read()} == {early, late}


@pytest.mark.alone
def test_an_event_is_there_a_moment_after_its_commit(make_stage, own_postgres):
    """By the broker's clock, of a server that has nothing else to decode."""
    stage = make_stage(postgres=own_postgres)
    stage.create_topic(partitions=1, message_timestamp_type="LogAppendTime")
    relay = stage.relay()
    committed_ms = []
    for n in range(1, 12):
        stage.insert()
        committed_ms.append(time.time() * 1000)
        relay.wait_until(lambda n=n: len(stage.read()) == n, 20, "the event is there")
    took = sorted(message.timestamp_ms - at for message, at in zip(stage.read(), committed_ms))
    check_in_time(took[len(took) // 2] / 1000, 1, f"of {took} ms the median")
