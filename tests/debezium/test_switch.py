"""From Debezium to walpost on the same slot while applications write, and back again."""

import dataclasses

import pytest

from debezium.compare import id_of
from debezium.original import START_SECONDS, STRING, as_server, write_properties
from lib.checker import check_nothing_lost, check_order, repeated
from lib.kafka import Reader
from lib.relay import run_command
from lib.stage import OUTBOX_COLUMNS
from lib.truth import Truth
from lib.waiting import wait_until
from lib.writer import Writer

KEYS = 24
PHASE = 1500  # events that each of them sends
BEHIND = 200  # events that nobody reads while none of them runs


class Switch:
    """One outbox, one slot, one topic; Debezium and walpost take turns."""

    def __init__(self, stage, make_server):
        self.stage = stage
        stage.sql(f"CREATE TABLE {stage.table} ({OUTBOX_COLUMNS})")
        stage.truth = Truth(stage)
        stage.create_topic(partitions=4)
        self.server = make_server(self.properties())
        self.writer = Writer(stage, threads=4, aggregates=KEYS, pause=0.02)
        self._reader = Reader(stage.kafka, stage.topic())
        self.found = []

    def properties(self):
        """As much as Debezium's tutorial says: publication and slot are Debezium's to make."""
        stage = self.stage
        return {
            "connector.class": "io.debezium.connector.postgresql.PostgresConnector",
            "plugin.name": "pgoutput",
            "database.hostname": "127.0.0.1",
            "database.port": str(stage.postgres.port),
            "database.user": "postgres",
            "database.password": "none",
            "database.dbname": stage.database,
            "topic.prefix": "shop",
            "extended.headers.enabled": "true",
            "slot.name": stage.slot,
            "publication.name": stage.publication,
            "table.include.list": "public.outbox",
            "offset.flush.interval.ms": "1000",
            "key.converter": STRING,
            "value.converter": STRING,
            "transforms": "outbox",
            "transforms.outbox.type": "io.debezium.transforms.outbox.EventRouter",
            "transforms.outbox.route.topic.replacement": stage.name + ".${routedByValue}",
        }

    def messages(self):
        """All in Kafka, with the id as text."""
        return [
            dataclasses.replace(message, headers=(("id", id_of(message).encode()),))
            for message in self._reader.read_to_end()
        ]

    def wait_more(self, who, count=PHASE):
        """Until `count` more records are in Kafka than there were."""
        wanted = self._reader.count() + count
        who.wait_until(lambda: self._reader.count() >= wanted, 90, f"{count} more events are in Kafka")

    def fall_behind(self):
        """Nobody reads, all go on writing."""
        self.stage.wait_released()
        wanted = self.writer.committed + BEHIND
        wait_until(lambda: self.writer.committed >= wanted, 30, f"{BEHIND} transactions are committed meanwhile")

    def note_repetitions(self, when):
        messages = self.messages()
        count = len(messages) - len({message.id for message in messages})
        before = sum(number for _, number in self.found)
        self.found.append((when, count - before))

    def prepare(self):
        """What an administrator does while Debezium still runs: import, init, check. Returns a relay to start."""
        stage = self.stage
        file = write_properties(stage.folder / "application.properties",
                                as_server(self.properties(), stage.kafka.address))
        imported = run_command("config", "import-debezium", file)
        assert imported.returncode == 0, imported.stderr
        relay = stage.new_relay()
        relay.config_file.write_text(imported.stdout)
        for command in ("init", "check"):
            done = run_command(command, "-c", relay.config_file)
            assert done.returncode == 0, f"walpost {command}: {done.stdout}{done.stderr}"
        return relay

    def has_all(self):
        committed = {event.id for event in self.stage.truth.events()}
        return committed <= {message.id for message in self.messages()}

    def check(self):
        """Nothing lost, each key in one partition, in order of the commits once repetitions are dropped."""
        messages, events = self.messages(), self.stage.truth.events()
        check_nothing_lost(messages, events)
        check_order(messages, events)
        keys = {message.key for message in messages}
        assert len(keys) == KEYS
        told = ", ".join(f"{count} {when}" for when, count in self.found)
        print(f"{len(events)} events, {len(messages)} records, {len(keys)} keys; sent twice: {told}; "
              f"{len(repeated(messages))} of them in all")

    def end(self):
        self.writer.stop()
        self._reader.__exit__()


@pytest.fixture
def switch(make_stage, make_server):
    switch = Switch(make_stage(), make_server)
    yield switch
    switch.end()


def begin_with_debezium(switch, how):
    """Returns a relay to start; Debezium has been stopped."""
    switch.server.start()
    switch.server.wait_streaming(switch.stage, switch.stage.slot)
    assert switch.stage.sql("SELECT puballtables FROM pg_publication") == [(True,)]
    switch.writer.start()
    switch.wait_more(switch.server)
    relay = switch.prepare()
    if how == "SIGTERM":
        switch.server.stop()
    else:
        switch.server.kill()
    switch.fall_behind()
    return relay


def go_on_with_walpost(switch, relay):
    """For longer than Postgres keeps log for Debezium's offset: a matter of seconds."""
    stopped_at = switch.stage.wal_end()
    relay.start()
    switch.wait_more(relay)

    def is_forgotten():
        switch.stage.sql("SELECT pg_log_standby_snapshot()")
        return switch.stage.slot_row()[1] > stopped_at

    relay.wait_until(is_forgotten, 30, "the slot's restart_lsn has passed the place where Debezium stopped")
    switch.note_repetitions("by walpost after Debezium")
    relay.stop()
    switch.fall_behind()


@pytest.mark.parametrize("how", ["SIGTERM", "SIGKILL"])
def test_walpost_takes_over_from_debezium(switch, how):
    relay = begin_with_debezium(switch, how).start()
    switch.wait_more(relay)
    switch.writer.stop()
    switch.stage.wait_all_confirmed(relay=relay)
    switch.note_repetitions("by walpost after Debezium")
    relay.stop()
    switch.check()


def finish_with_debezium(switch):
    switch.server.wait_streaming(switch.stage, switch.stage.slot)
    switch.wait_more(switch.server)
    switch.writer.stop()
    switch.server.wait_until(switch.has_all, 30, "all is in Kafka")
    switch.note_repetitions("by Debezium after walpost")


def test_debezium_goes_on_after_walpost_if_it_trusts_the_slot(switch):
    go_on_with_walpost(switch, begin_with_debezium(switch, "SIGTERM"))
    switch.server.start(offset_mismatch_strategy="trust_slot")
    finish_with_debezium(switch)
    switch.check()


def test_debezium_goes_on_after_walpost_without_its_offsets(switch):
    go_on_with_walpost(switch, begin_with_debezium(switch, "SIGKILL"))
    switch.server.offsets.unlink()
    switch.server.start(snapshot_mode="no_data")
    finish_with_debezium(switch)
    switch.check()


def test_without_its_offsets_debezium_sends_the_table_again_unless_told_otherwise(switch):
    go_on_with_walpost(switch, begin_with_debezium(switch, "SIGTERM"))
    before = len({message.id for message in switch.messages()})
    switch.server.offsets.unlink()
    switch.server.start()
    finish_with_debezium(switch)
    check_nothing_lost(switch.messages(), switch.stage.truth.events())
    again = switch.found[-1][1]
    print(f"sent again: {again} events, where {before} had been sent")
    assert again >= before


def test_walpost_takes_over_once_more_when_it_is_told_that_this_was_meant(switch):
    go_on_with_walpost(switch, begin_with_debezium(switch, "SIGTERM"))
    switch.server.start(offset_mismatch_strategy="trust_slot")
    switch.server.wait_streaming(switch.stage, switch.stage.slot)
    switch.wait_more(switch.server)
    switch.server.stop()
    switch.note_repetitions("by Debezium after walpost")
    switch.fall_behind()
    relay = switch.stage.relays[-1].start()
    assert relay.wait_exit() == 3 and "slot_moved" in relay.log_text()
    accepted = run_command("slot", "accept", "-c", relay.config_file)
    assert accepted.returncode == 0, accepted.stderr
    relay.start()
    switch.wait_more(relay)
    switch.writer.stop()
    switch.stage.wait_all_confirmed(relay=relay)
    switch.note_repetitions("by walpost after Debezium")
    relay.stop()
    switch.check()


@pytest.mark.parametrize("more", [
    {}, {"offset_mismatch_strategy": "trust_offset"}, {"slot_seek_to_known_offset_on_start": "true"},
], ids=["default", "trust_offset", "seek"])
def test_debezium_does_not_start_from_an_offset_that_is_older_than_the_slot(switch, more):
    go_on_with_walpost(switch, begin_with_debezium(switch, "SIGTERM"))
    switch.writer.stop()
    switch.server.start(**more)
    switch.server.wait_exit(START_SECONDS)
    assert "no longer available on the server" in switch.server.log_text()
