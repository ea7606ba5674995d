"""Parked events and standbys: what Postgres may forget is on those that may take over; and nothing waits for itself."""

import pytest

from e2e.test_failover_slot import pair  # noqa: F401 - a fixture
from e2e.test_park import PARK, parked, prepare
from e2e.test_poison import TooLarge, _noise
from lib.waiting import holds_for, wait_until

LARGE = _noise(300_000)


@pytest.mark.on(since=17)
def test_a_promoted_standby_that_lacks_what_was_parked_brings_it_again(pair, own_postgres):  # noqa: F811
    stage, standby, relay = pair
    stage.kafka.set_topic_config(stage.topic(), max_message_bytes=TooLarge.topic["max_message_bytes"])
    relay.stop()
    relay = stage.relay({**PARK, **TooLarge.relay, "postgres.conninfo": (
        f"host=127.0.0.1,127.0.0.1 port={own_postgres.port},{standby.port} user=postgres dbname={stage.database} "
        "target_session_attrs=read-write")})
    stage.insert("a")
    stage.wait_all_confirmed(relay=relay)
    standby.wait_synced(stage.slot)

    # The insert into walpost.parked waits for a lock until the standby is away; the event itself is there.
    locking = own_postgres.connect(stage.database)
    with locking.transaction():
        locking.execute("LOCK TABLE walpost.parked IN SHARE MODE")
        guilty = stage.insert("a", LARGE)
        end = stage.wal_end()
        later = stage.insert("a")
        relay.wait_until(lambda: own_postgres.query(
            "SELECT 1 FROM pg_locks WHERE NOT granted AND relation IS NOT NULL", database=stage.database),
            40, "the relay wants to park it")
        standby.stop("immediate")
    locking.close()
    relay.wait_until(lambda: len(parked(stage)) == 2, 20, "both are parked")
    holds_for(lambda: relay.is_alive() and stage.confirmed() < end, 2, "they are not confirmed")
    confirmed = stage.confirmed()
    own_postgres.stop("immediate")
    standby.start()
    standby.promote()
    with standby.connect(stage.database) as connection:
        assert connection.execute("SELECT count(*) FROM walpost.parked").fetchone() == (0,), "it was there: no test"

        def on_standby():
            return [id for (id,) in connection.execute(
                "SELECT id FROM walpost.parked ORDER BY \"position\"").fetchall()]

        relay.wait_until(lambda: on_standby() == [guilty, later], 60, f"they are parked again, after {confirmed:X}")
        stage.kafka.set_topic_config(stage.topic(), max_message_bytes=2_000_000)
        relay.wait_until(lambda: on_standby() == [], 60, "nothing is parked")
        ids = [id for (id,) in connection.execute("SELECT id::text FROM outbox").fetchall()]
    relay.stop()
    messages = stage.read()
    assert {message.id for message in messages} == set(ids)
    order = [message.id for message in messages if message.id in (guilty, later)]
    assert order.index(guilty) < order.index(later)


@pytest.mark.on("all")
def test_a_relay_that_every_commit_waits_for_does_not_wait_for_itself(make_stage, own_postgres):
    stage = make_stage(postgres=own_postgres)
    prepare(stage)
    stage.create_topic(partitions=1, **TooLarge.topic)
    relay = stage.relay({**PARK, **TooLarge.relay, "postgres.allow_synchronous": "on"})
    own_postgres.set_conf(synchronous_standby_names="*")
    try:
        wait_until(lambda: own_postgres.query(
            "SELECT 1 FROM pg_stat_replication WHERE sync_state IN ('sync', 'quorum')"), 20, "it counts")
        guilty = stage.insert("a", LARGE)  # each commit returns when the relay has confirmed it
        later = stage.insert("a")
        other = stage.insert("b")
        assert [row[1] for row in parked(stage)] == [guilty, later]
        assert other in {message.id for message in stage.read()}
        stage.kafka.set_topic_config(stage.topic(), max_message_bytes=2_000_000)
        relay.wait_until(lambda: not parked(stage), 60, "nothing is parked")
        assert {message.id for message in stage.read()} == {guilty, later, other}
    finally:
        own_postgres.set_conf(synchronous_standby_names="")
