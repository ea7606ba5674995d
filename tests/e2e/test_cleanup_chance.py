"""Cleanup against chance: whatever is done to tables, transactions, publication, slot, relay and server in any order, a
row whose event is not in Kafka is never removed, and in the end what is in Kafka goes."""

import random
import signal
import uuid

import psycopg
import pytest

from e2e.test_cleanup import CLEANED, WAIT, check_removed, insert, prepare, relay_with, wait_floor, wait_two_rounds
from lib.relay import run_command
from lib.sql_scripts import slot_accept
from lib.waiting import wait_until

PARTITIONED = CLEANED.replace("PRIMARY KEY ", "")
KEYS = "123"


class Schedule:
    def __init__(self, stage, seed):
        self.stage = stage
        self.random = random.Random(seed)
        self.partitioned = seed % 2 == 1
        self.open = []      # connections in a transaction
        self.prepared = []
        partitions = PARTITIONED, "PARTITION BY LIST (aggregateid)", "publish = 'insert', publish_via_partition_root"
        prepare(stage, *(partitions if self.partitioned else ()))
        if self.partitioned:
            for key in KEYS:
                stage.sql(f"CREATE TABLE outbox_{key} PARTITION OF outbox FOR VALUES IN ('{key}')")
        self.relay = relay_with(stage)

    def start(self, changes=None):
        """Where the slot may have been moved behind its back it refuses, and a person accepts that."""
        try:
            return relay_with(self.stage, changes)
        except AssertionError as refused:
            if "exited with 3" not in str(refused):
                raise
            assert slot_accept(self.stage).returncode == 0
            return relay_with(self.stage, changes)

    def stop(self):
        """Where nothing was published for long, or just as it connected again, it has seen that, and ended."""
        if self.relay.is_alive():
            self.relay.signal(signal.SIGTERM)
        code = self.relay.wait_exit()
        refused = [line for line in self.relay.log("stream_refused") if line["reason"].startswith("publication ")]
        assert code == 0 or code == 3 and (self.relay.log("events_would_be_lost") or refused), self.relay.log_tail()

    def columns(self):
        """Clocks go back and forth; a time is never changed."""
        step = self.random.choice([0, 0, 0, -3600, -1, 0.5])
        return {"aggregateid": self.random.choice(KEYS), "created_at": self.stage.sql(
            "SELECT clock_timestamp() + %s * interval '1 s'", (step,))[0][0]}

    def rows(self, connection=None):
        insert(self.stage, self.random.randrange(1, 30), connection, **self.columns())

    def asynchronous(self):
        with self.stage.connect() as c:
            c.execute("SET synchronous_commit = off")
            self.rows(c)

    def subtransactions(self):
        with self.stage.connect() as c, c.transaction():
            self.rows(c)
            for fate in (None, psycopg.Rollback):
                with c.transaction():
                    self.rows(c)
                    if fate:
                        raise fate()

    def begin(self):
        c = self.stage.connect()
        c.execute("BEGIN")
        self.rows(c)
        self.open.append(c)

    def end(self):
        if self.open:
            c = self.open.pop(self.random.randrange(len(self.open)))
            self.rows(c)
            c.execute(self.random.choice(["COMMIT", "COMMIT", "ROLLBACK"]))
            c.close()

    def prepare(self):
        name = uuid.uuid4().hex
        with self.stage.connect() as c:
            c.execute("BEGIN")
            self.rows(c)
            c.execute(f"PREPARE TRANSACTION '{name}'")
        self.prepared.append(name)

    def finish(self):
        if self.prepared:
            self.stage.sql(f"COMMIT PREPARED '{self.prepared.pop(0)}'")

    def touch(self):
        self.stage.sql("UPDATE outbox SET payload = '0' WHERE random() < 0.3")

    def move(self):
        if self.partitioned:
            self.stage.sql("UPDATE outbox SET aggregateid = '2' WHERE aggregateid = '1' AND random() < 0.5")

    def vacuum(self):
        full = [] if self.open or self.prepared else ["VACUUM (FULL) outbox"]
        self.stage.sql(self.random.choice(["VACUUM (FREEZE) outbox", "VACUUM outbox", *full]))

    def unpublish(self):
        self.stage.sql(f"ALTER PUBLICATION {self.stage.publication} SET (publish = '')")
        self.rows()
        self.stage.sql(f"ALTER PUBLICATION {self.stage.publication} SET (publish = 'insert')")

    def leave(self):
        name = self.stage.publication
        self.stage.sql(f"ALTER PUBLICATION {name} DROP TABLE outbox")
        self.rows()
        self.stage.sql(f"ALTER PUBLICATION {name} ADD TABLE outbox")

    def attach(self):
        if self.partitioned and not self.open and not self.prepared:
            key = self.random.choice(KEYS)
            self.stage.sql(f"ALTER TABLE outbox DETACH PARTITION outbox_{key}")
            self.stage.sql(f"INSERT INTO outbox_{key} (aggregateid) VALUES ('{key}')")
            self.stage.sql(f"ALTER TABLE outbox ATTACH PARTITION outbox_{key} FOR VALUES IN ('{key}')")

    def kill(self):
        self.relay.kill()
        self.stage.wait_released()
        if self.random.random() < 0.5:
            self.rows()
        self.relay = self.start()

    def renew_slot(self):
        if self.open or self.prepared:
            return
        self.stop()
        self.rows()
        self.stage.sql("SELECT pg_drop_replication_slot(%s)", (self.stage.slot,))
        self.stage.create_slot(with_truth=False)
        assert slot_accept(self.stage).returncode == 0
        self.relay = self.start()

    def skip(self):
        self.stop()
        self.rows()
        to = self.stage.sql("SELECT pg_current_wal_insert_lsn()::text")[0][0]
        self.rows()
        run_command("slot", "skip", "--to", to, "--force", "-c", self.relay.config_file)
        self.relay = self.start()

    def drop(self):
        """By a relay that does not clean, and confirms without sending."""
        self.stop()
        how = self.random.choice([{"outbox.skip.types": "created"}, {"relay.sink": "stdout"}])
        self.relay = self.start({"cleanup.mode": "none", **how})
        self.rows()
        self.pause()
        self.stop()
        self.relay = self.start()

    def crash(self):
        for c in self.open:
            c.close()
        self.open = []
        self.stage.postgres.stop("immediate")
        self.stage.postgres.start(max_prepared_transactions=20)
        if not self.relay.is_alive():
            self.relay = self.start()

    def pause(self):
        with self.stage.connect() as c:
            c.execute("SELECT pg_sleep(%s)", (self.random.random() / 2,))

    def end_all(self):
        while self.open:
            self.end()
        while self.prepared:
            self.finish()


OFTEN = ("rows", "asynchronous", "subtransactions", "begin", "end", "end", "prepare", "finish", "pause", "pause")
SELDOM = ("touch", "move", "vacuum", "unpublish", "leave", "attach", "kill", "renew_slot", "skip",
          "drop", "crash")


@pytest.mark.on("all")
def test_random_schedules(own_postgres, make_stage, scaled):
    own_postgres.stop("fast")
    own_postgres.start(max_prepared_transactions=20)
    removed = 0
    for seed in range(scaled(4, 100)):
        stage = make_stage(postgres=own_postgres, set_up=False)
        schedule = Schedule(stage, seed)
        steps = []
        for _ in range(scaled(25, 40)):
            steps.append(schedule.random.choice(OFTEN if schedule.random.random() < 0.75 else SELDOM))
            print(seed, steps[-1], flush=True)
            getattr(schedule, steps[-1])()
        schedule.end_all()
        if {"unpublish", "leave"} & set(steps):  # it may be about to stop for that
            schedule.relay.end()
            stage.wait_released()
        if not schedule.relay.is_alive():
            schedule.relay = schedule.start()
        if stage.postgres.version == "14" and schedule.partitioned:
            # It may not send rows of an attached partition to a relay that ran then.
            leaves = """SELECT count(*) FROM walpost.cleanup_leaves('outbox') l JOIN walpost.cleanup_floor f
                ON f.leaf = l.leaf AND f.generation = l.attachment"""
            schedule.relay.wait_until(lambda: stage.sql(leaves) == [(3,)], WAIT, "it has looked at all")
            schedule.relay.stop()
            schedule.relay = schedule.start()
            schedule.relay.wait_until(lambda: stage.sql(leaves + " WHERE f.wait_for IS NULL") == [(3,)], WAIT,
                                      "it has looked at all again")
        wait_floor(stage, schedule.relay)
        past = "SELECT coalesce(max(created_at) < clock_timestamp(), true) FROM outbox"
        wait_until(lambda: stage.sql(past) == [(True,)], WAIT, "the clock is past all rows")
        wait_two_rounds(stage, schedule.relay)
        stage.wait_all_confirmed(60, schedule.relay)
        removed += check_removed(stage)
        schedule.relay.stop()
        stage.end()
    print("removed", removed)
    assert removed > 0
