"""The same rows, the same configuration, through real Debezium and through walpost: every record is the same."""

import os
import random

import pytest

from debezium import compare
from debezium.configurations import CONFIGURATIONS, CONNECT, SERVER
from debezium.original import as_server, write_properties
from debezium.rows import SCHEMA, TOPICS, insert, rows
from lib import places
from lib.relay import run_command
from lib.stage import Stage

SEED = int(os.environ.get("WALPOST_SEED", "1"))
COUNT = int(os.environ.get("WALPOST_ROWS", "600"))
DEAD = "dead"  # the topic of dead letters, behind a configuration's prefix
PARTITIONS = 4
EPOCH = "1970-01-01 00:00:00"
LOSES = '{"o": [[{"a": 1}], [{"b": 2}]]}'  # expanded by Debezium, it has no b


class Known:
    """What debezium/differences.md of the documentation says of a configuration: where the two may differ."""

    def __init__(self, configuration, dead):
        self._configuration = configuration
        self._dead = dead
        self._loose = configuration.expands or configuration.has_envelope

    def has_timestamp(self, row):
        return self._configuration.stamps and row.columns["happened"] is not None

    def is_known(self, row, original, ours):
        """A record that one of them did not write."""
        if self._configuration.stamps and row.columns["happened"] == EPOCH:
            return row.id in self._dead
        if self._configuration.expands and row.columns["payload"] == LOSES:
            return row.id in self._dead
        if not self._configuration.expands or original is not None:
            return False
        if ours is None:
            return row.id in self._dead
        return self._configuration.has_envelope and row.columns["payload"] == "[]"

    def are_equal(self, row, one, other):
        return self._loose and compare.are_alike(row.columns["aggregatetype"], one, other)


class Table:
    """The rows, and what there is of each configuration: two slots and two sets of topics."""

    def __init__(self, postgres, kafka, folder):
        self.stage = Stage(postgres, kafka, folder, set_up=False)
        self.kafka = kafka
        self.stage.sql(SCHEMA)
        self.stage.sql((places.TREE / "sql" / "slot_checkpoint.sql").read_text())
        self.rows = rows(SEED, COUNT)
        for configuration in CONFIGURATIONS:
            for side in ("d", "w"):
                self.stage.sql("SELECT pg_create_logical_replication_slot(%s, 'pgoutput')",
                               (self.slot(configuration, side),))
                self.stage.also_drops(self.slot(configuration, side))
        with self.stage.connect() as connection:
            insert(connection, self.rows, random.Random(SEED))

    def slot(self, configuration, side):
        return f"{side}_{configuration.name}".replace("-", "_")

    def prefix(self, configuration, side):
        return f"{side}.{configuration.name}"

    def create_topics(self, configuration):
        for side in ("d", "w"):
            for topic in (*TOPICS, DEAD):
                self.kafka.create_topic(f"{self.prefix(configuration, side)}.{topic}", PARTITIONS)

    def properties(self, configuration, side):
        return configuration.whole(
            self.stage.postgres, self.stage.database, self.slot(configuration, side), self.prefix(configuration, side))

    def records(self, configuration, side):
        prefix = self.prefix(configuration, side)
        return compare.Side(self.kafka.read(*(f"{prefix}.{topic}" for topic in TOPICS)), prefix)

    def dead(self, configuration):
        """Ids of the rows that walpost could not deliver."""
        messages = self.kafka.read(f"{self.prefix(configuration, 'w')}.{DEAD}")
        return {message.header("walpost-dead-letter-id").decode() for message in messages}

    def has(self, configuration, row):
        """Is Debezium's record of this row in Kafka?"""
        topic = f"{self.prefix(configuration, 'd')}.{row.columns['aggregatetype']}"
        return any(compare.id_of(message) == row.id for message in self.kafka.read(topic))


@pytest.fixture(scope="module")
def table(postgres, kafka, folder):
    table = Table(postgres, kafka, folder)
    yield table
    table.stage.end()


def run_in_connect(table, configuration, connect):
    """Debezium, until the last row is there and all is sent."""
    connect.add(configuration.name, table.properties(configuration, "d"))

    def is_done():
        failure = connect.failure(configuration.name)
        assert failure is None, f"the task has failed:\n{failure[:3000]}"
        return table.has(configuration, table.rows[-1])

    connect.wait_until(is_done, 60, f"Debezium has sent the last row with {configuration.name}")
    connect.remove(configuration.name)


def run_in_server(table, configuration, make_server):
    server = make_server(table.properties(configuration, "d")).start()
    server.wait_until(lambda: table.has(configuration, table.rows[-1]), 120, "Debezium has sent the last row")
    assert server.stop() in (0, 143)


def run_walpost(table, configuration):
    """walpost, with what Debezium was told."""
    stage = table.stage
    properties = table.properties(configuration, "w")
    if configuration.form == SERVER:
        properties = as_server(properties, stage.kafka.address)
    file = write_properties(stage.folder / f"{configuration.name}.properties", properties)
    imported = run_command("config", "import-debezium", file)
    assert imported.returncode == 0, imported.stderr
    relay = stage.new_relay(arguments=[
        "--set", f"kafka.bootstrap.servers={stage.kafka.address}", "--set", "relay.poison=dead-letter",
        "--set", f"relay.dead_letter.topic={table.prefix(configuration, 'w')}.{DEAD}",
    ])
    relay.config_file.write_text(imported.stdout)
    relay.start()
    end = stage.wal_end()
    slot = table.slot(configuration, "w")
    query = "SELECT confirmed_flush_lsn - '0/0'::pg_lsn FROM pg_replication_slots WHERE slot_name = %s"
    relay.wait_until(lambda: stage.sql(query, (slot,))[0][0] >= end, 60, "all is confirmed")
    relay.stop()


@pytest.mark.parametrize("configuration", CONFIGURATIONS, ids=lambda one: one.name)
def test_walpost_writes_what_debezium_writes(table, configuration, request):
    table.create_topics(configuration)
    if configuration.form == CONNECT:
        run_in_connect(table, configuration, request.getfixturevalue("connect"))
    else:
        run_in_server(table, configuration, request.getfixturevalue("make_server"))
    run_walpost(table, configuration)
    debezium, walpost = table.records(configuration, "d"), table.records(configuration, "w")
    known = Known(configuration, table.dead(configuration))
    found = list(compare.differences(
        table.rows, debezium, walpost, known.has_timestamp, known.is_known, known.are_equal))
    order = list(compare.order_differences(debezium, walpost))
    assert not found and not order, compare.told(configuration.name, found, order)
    print(f"{configuration.name}: {len(debezium.by_id)} and {len(walpost.by_id)} records of {len(table.rows)} rows")
