"""A database in which walpost parks: Debezium reads the same publication and meets nothing of that."""

import contextlib
import dataclasses
import time

import pytest

from debezium.compare import id_of
from debezium.original import STRING
from e2e.test_park import PARK, parked
from e2e.test_poison import TooLarge, _noise
from lib.checker import check_nothing_lost, check_once, check_order
from lib.relay import run_command
from lib.stage import OUTBOX_COLUMNS
from lib.truth import Truth
from lib.writer import Writer

KEYS = 24
GUILTY = 4  # of them cannot be delivered for a while
REISSUED = 60  # events, while Debezium reads


class Shared:
    """One outbox, one publication; walpost reads it from its slot, and Debezium from another, or from that."""

    def __init__(self, stage, all_tables):
        self.stage = stage
        self.all_tables = all_tables
        stage.sql(f"CREATE TABLE {stage.table} ({OUTBOX_COLUMNS})")
        if all_tables:  # as Debezium itself makes it
            stage.sql(f"CREATE PUBLICATION {stage.publication} FOR ALL TABLES")
        stage.truth = Truth(stage)
        stage.create_topic(partitions=4, **TooLarge.topic)
        stage.create_topic("beside.order", partitions=4)
        self.relay = stage.new_relay({**PARK, **TooLarge.relay})
        for command in ("init", "check"):
            done = run_command(command, "-c", self.relay.config_file)
            assert done.returncode == 0, f"walpost {command}: {done.stdout}{done.stderr}"

    def properties(self, slot, prefix):
        """Without a list of tables it takes whatever the publication holds; FOR ALL TABLES cannot be read so."""
        stage = self.stage
        return {
            "connector.class": "io.debezium.connector.postgresql.PostgresConnector",
            "tasks.max": "1",
            "plugin.name": "pgoutput",
            "database.hostname": "127.0.0.1",
            "database.port": str(stage.postgres.port),
            "database.user": "postgres",
            "database.password": "none",
            "database.dbname": stage.database,
            "topic.prefix": "shop",
            "slot.name": slot,
            "slot.drop.on.stop": "false",
            "publication.name": stage.publication,
            "publication.autocreate.mode": "disabled",
            "snapshot.mode": "no_data",
            "offset.flush.interval.ms": "1000",
            "key.converter": STRING,
            "value.converter": STRING,
            "transforms": "outbox",
            "transforms.outbox.type": "io.debezium.transforms.outbox.EventRouter",
            "transforms.outbox.route.topic.replacement": prefix + ".${routedByValue}",
            **({"table.include.list": "public.outbox"} if self.all_tables else {}),
        }

    def messages(self, name="order"):
        """All in the topic, with the id as text; apart, by position, what walpost sent again."""
        found = [(message, "walpost-reissued" in dict(message.headers)) for message in self.stage.read(name)]
        first = [dataclasses.replace(message, headers=(("id", id_of(message).encode()),))
                 for message, again in found if not again]
        return first, {message.position for message, again in found if again}

    def reissue(self, count):
        """Events of keys that are not parked, each in a transaction of its own."""
        with self.stage.connect() as connection:
            for n in range(count):
                connection.execute(
                    f"SELECT walpost.reissue(%s, 'public.outbox', o, 'again') FROM {self.stage.table} o "
                    "WHERE aggregateid = %s LIMIT 1", (self.stage.slot, f"a{GUILTY + n % (KEYS - GUILTY)}"))

    def park(self):
        """Returns the ids of those that cannot be delivered."""
        return [self.stage.insert(f"a{n}", _noise(300_000)) for n in range(GUILTY)]

    def retry_by_hand(self):
        """The statements of walpost parked retry."""
        self.stage.sql("""
            WITH asked AS (UPDATE walpost.parked SET act = 'retry' WHERE slot = %s AND code <> 'FOLLOWS' RETURNING *)
            INSERT INTO walpost.parked_acts (slot, act, outbox, key, "position", events, code, reason)
            SELECT slot, 'retry', outbox, key, "position", 1, code, reason FROM asked""", (self.stage.slot,))

    def waiting(self):
        return {row[1] for row in parked(self.stage)}

    def has(self, name, ids):
        return lambda: set(ids) <= {message.id for message in self.messages(name)[0]}

    def committed(self):
        return [event.id for event in self.stage.truth.events()]


@pytest.fixture(params=[False, True], ids=["its own tables", "all tables"])
def shared(make_stage, request):
    return Shared(make_stage(), request.param)


@contextlib.contextmanager
def in_connect(connect, shared, slot, prefix):
    """Debezium's connector on a slot; it must not have failed at the end."""
    name = f"back-{shared.stage.name}"
    connect.add(name, shared.properties(slot, prefix))
    try:
        connect.wait_until(lambda: shared.stage.sql(
            "SELECT active FROM pg_replication_slots WHERE slot_name = %s", (slot,)) == [(True,)], 60, "it reads")
        yield
        failure = connect.failure(name)
        assert failure is None, f"the task has failed:\n{failure[:3000]}"
    finally:
        connect.remove(name)


def read_beside_walpost(shared, make_server):
    """Debezium from its own slot, while walpost parks and sends again what is inserted into walpost.reissue."""
    stage, relay = shared.stage, shared.relay
    slot = stage.slot + "_beside"
    stage.sql("SELECT pg_create_logical_replication_slot(%s, 'pgoutput')", (slot,))
    stage.also_drops(slot)
    server = make_server(shared.properties(slot, stage.topic("beside"))).start()
    server.wait_streaming(stage, slot)
    relay.start()
    stage.wait_streaming(relay)
    with Writer(stage, threads=2, aggregates=KEYS, pause=0.02) as writer:
        relay.wait_until(lambda: writer.committed > 300, 60, "there are some events")
        guilty = shared.park()
        relay.wait_until(lambda: set(guilty) <= shared.waiting(), 60, "they are parked")
        shared.reissue(REISSUED)
        shared.retry_by_hand()
        wanted = writer.committed + 300
        relay.wait_until(lambda: writer.committed > wanted, 60, "and more")
    stage.wait_all_confirmed(60, relay)
    relay.wait_until(lambda: stage.sql("SELECT count(*) FROM walpost.parked WHERE act IS NOT NULL") == [(0,)], 30,
                     "the retry that was asked for is done")
    committed = shared.committed()
    server.wait_until(shared.has("beside.order", committed), 60, "Debezium has sent all")
    messages, again = shared.messages("beside.order")
    events = stage.truth.events()
    assert not again
    check_nothing_lost(messages, events)
    check_once(messages)
    check_order(messages, events)
    assert {row for row, in stage.sql("SELECT act FROM walpost.parked_acts")} == {"retry"}
    assert not [line for line in server.log_text().splitlines() if " ERROR " in line], server.log_tail()
    assert server.stop() in (0, 143)
    return messages


def check_walpost(shared):
    """What flows is there, what is parked is not; what was to be sent again was."""
    messages, again = shared.messages()
    waiting = shared.waiting()
    sent = {message.id for message in messages}
    assert sent == set(shared.committed()) - waiting and len(waiting) > GUILTY
    assert len(again) == REISSUED
    return waiting


def test_debezium_reads_what_walpost_prepared_and_meets_only_the_outbox(shared, make_server, connect):
    stage, relay = shared.stage, shared.relay
    beside = read_beside_walpost(shared, make_server)
    waiting = check_walpost(shared)
    relay.stop()

    # On the slot of walpost, which holds rows of walpost.reissue and walpost.parked.
    shared.reissue(5)
    stage.sql("UPDATE walpost.parked SET attempts = attempts + 1")
    between = [stage.insert(f"a{n}") for n in range(KEYS)]
    with in_connect(connect, shared, stage.slot, stage.name):
        writer = Writer(stage, threads=2, aggregates=KEYS, pause=0.01, transactions=400).start()
        shared.reissue(20)
        stage.sql("UPDATE walpost.parked SET attempts = attempts + 1")
        writer.join()
        last = [stage.insert(f"a{n}") for n in range(KEYS)]
        connect.wait_until(shared.has("order", [*between, *last]), 60, "Debezium has sent all")
    stage.wait_released()
    messages, again = shared.messages()
    flowing = [event for event in stage.truth.events() if event.id not in waiting]
    assert len(again) == REISSUED
    check_nothing_lost(messages, flowing)
    check_order(messages, flowing)
    assert shared.waiting() == waiting
    by_debezium = len(flowing) - (len(beside) - len(waiting))

    # And walpost again: what it had parked is known, and comes behind.
    accepted = run_command("slot", "accept", "-c", relay.config_file)
    assert accepted.returncode == 0, accepted.stderr
    stage.kafka.set_topic_config(stage.topic(), max_message_bytes=2_000_000)
    began = time.monotonic()
    relay.start()
    relay.wait_until(lambda: not parked(stage), 60, "nothing is parked")
    stage.wait_all_confirmed(60, relay)
    relay.stop()
    messages, _ = shared.messages()
    events = stage.truth.events()
    check_nothing_lost(messages, events)
    check_order([message for message in messages if message.id in waiting], events)
    print(f"{len(events)} events; {len(beside)} by Debezium beside walpost, {by_debezium} by it on walpost's slot; "
          f"{len(waiting)} parked, delivered in the end in {time.monotonic() - began:.1f} s; "
          f"{REISSUED + 25} rows of walpost.reissue")
