"""What one test plays on: a database with an outbox, a publication, a slot, topics, and relays."""

import contextlib
import uuid
from pathlib import Path

import psycopg
from psycopg import sql

from lib import places
from lib.relay import Relay
from lib.truth import Truth
from lib.waiting import wait_until

OUTBOX_COLUMNS = """
    id            uuid         NOT NULL PRIMARY KEY,
    aggregatetype varchar(255) NOT NULL,
    aggregateid   varchar(255),
    type          varchar(255) NOT NULL,
    payload       jsonb
"""

# Of the log, in bytes: access/xlog_internal.h, on 64-bit machines.
_PAGE, _PAGE_HEADER = 8192, 24
_SEGMENT, _SEGMENT_HEADER = 16 << 20, 40


class Stage:
    """Everything has a name of its own, so that many tests share one server and one broker."""

    def __init__(self, postgres, kafka, folder, set_up=True, columns=OUTBOX_COLUMNS, encoding="UTF8",
                 before=""):
        self.name = "t" + uuid.uuid4().hex[:12]
        self.postgres = postgres
        self.kafka = kafka
        self.folder = Path(folder) / self.name
        self.folder.mkdir(parents=True)
        self.database = self.name
        self.slot = self.name
        self.publication = self.name + "_events"
        self.table = "public.outbox"
        self.relays = []
        self.truth = None
        self._slots = [self.slot]
        postgres.create_database(self.database, f"ENCODING '{encoding}'")
        if before:
            self.sql(before)
        if set_up:
            self.sql(f"CREATE TABLE {self.table} ({columns})")
            self.sql((places.TREE / "sql" / "slot_checkpoint.sql").read_text())
            self.publish(self.table)
            self.create_slot()

    # --- the database

    def connect(self, **more):
        return self.postgres.connect(self.database, **more)

    def sql(self, statement, parameters=None):
        return self.postgres.query(statement, parameters, self.database)

    def publish(self, *tables, options="publish = 'insert'"):
        self.sql(f"CREATE PUBLICATION {self.publication} FOR TABLE {', '.join(tables)} WITH ({options})")

    def create_slot(self, with_truth=True):
        """The relay's slot; and before it that of the truth, which so misses nothing."""
        if with_truth:
            self.truth = Truth(self)
        self.sql("SELECT pg_create_logical_replication_slot(%s, 'pgoutput')", (self.slot,))

    def also_drops(self, slot):
        """Remembers one more slot to drop at the end."""
        self._slots.append(slot)

    def insert(self, aggregate="1", payload='{"n": 1}', topic="order", type="created", id=None, connection=None):
        """One event; in its own transaction unless `connection` has one open. Returns its id."""
        id = str(id or uuid.uuid4())
        statement = f"INSERT INTO {self.table} (id, aggregatetype, aggregateid, type, payload) VALUES (%s,%s,%s,%s,%s)"
        parameters = (id, topic, aggregate, type, payload)
        if connection is not None:
            connection.execute(statement, parameters)
        else:
            self.sql(statement, parameters)
        return id

    def insert_many(self, count, aggregate="1", size=20, topic="order"):
        """One transaction with `count` events of one aggregate, or of as many as {0} in `aggregate` gives."""
        self.sql(
            f"""INSERT INTO {self.table} (id, aggregatetype, aggregateid, type, payload)
                SELECT gen_random_uuid(), %s, replace(%s, '{{0}}', n::text), 'created',
                       jsonb_build_object('n', n, 'fill', left(repeat(md5(n::text), %s::int / 32 + 1), %s::int))
                FROM generate_series(1, %s) AS n""",
            (topic, aggregate, size, size, count),
        )

    @contextlib.contextmanager
    def transaction(self):
        with psycopg.connect(self.postgres.conninfo(self.database)) as connection:
            yield connection

    def slot_row(self):
        """confirmed_flush_lsn and restart_lsn as numbers, active_pid."""
        (row,) = self.postgres.query(
            """SELECT confirmed_flush_lsn - '0/0'::pg_lsn, restart_lsn - '0/0'::pg_lsn, active_pid
               FROM pg_replication_slots WHERE slot_name = %s""", (self.slot,))
        return row

    def confirmed(self):
        return int(self.slot_row()[0])

    def wal_end(self):
        """Where a record ends with its page, the server counts the header of the next one, which nobody confirms."""
        end = int(self.postgres.query("SELECT pg_current_wal_insert_lsn() - '0/0'::pg_lsn")[0][0])
        if end % _SEGMENT == _SEGMENT_HEADER:
            return end - _SEGMENT_HEADER
        return end - _PAGE_HEADER if end % _PAGE == _PAGE_HEADER else end

    def is_streaming(self):
        """Does somebody read from the slot?"""
        return self.slot_row()[2] is not None

    def wait_released(self, deadline=10):
        """Until nobody reads from the slot: after a kill the server needs a moment to notice."""
        wait_until(lambda: not self.is_streaming(), deadline, "the slot is free")

    def wait_claimed(self, relay):
        """Until the relay has written that it has the slot: the second version of its row in walpost.slot_checkpoint.
        That moves the log, and would be decoded under what a test does next."""
        relay.wait_until(lambda: self._slot_checkpoint_is_behind("(0,1)"), 10, "it has written that it has the slot")

    def wait_noted(self, relay):
        """Until it has also written how far it came: the third version of its row. Five seconds after it has the slot,
        or, if nothing was confirmed by then, a minute later."""
        relay.wait_until(lambda: self._slot_checkpoint_is_behind("(0,2)"), 90, "it has written how far it came")

    def _slot_checkpoint_is_behind(self, version):
        """Was the row in walpost.slot_checkpoint written again since this version of it?"""
        return self.sql("SELECT 1 FROM walpost.slot_checkpoint WHERE ctid > %s::tid", (version,))

    def wait_confirmed(self, lsn, deadline=20, relay=None):
        """Until the slot's confirmed_flush_lsn has reached `lsn`."""
        (relay or self).wait_until(lambda: self.confirmed() >= lsn, deadline, f"{lsn} is confirmed")

    def wait_all_confirmed(self, deadline=20, relay=None):
        """Until everything that was committed here is confirmed: until a mark is that is written now. What tests beside
        this one write afterwards is not waited for."""
        relay = relay or self.relays[-1]
        mark = self.mark()
        relay.wait_until(lambda: self.confirmed() > mark, deadline, f"what lies before {mark} is confirmed")

    def mark(self):
        """Where the one record of a transaction ends that does nothing, a logical message of the stage's database; its
        commit follows, which waits for no synchronous standby."""
        (row,) = self.sql(
            """SELECT set_config('synchronous_commit', 'local', true),
                      pg_logical_emit_message(true, 'test', '') - '0/0'::pg_lsn""")
        return int(row[1])

    def wait_log_confirmed(self, deadline=20, relay=None):
        """Until all of the server's log is confirmed: where a mark would be counted, or cannot be written."""
        self.wait_confirmed(self.wal_end(), deadline, relay or self.relays[-1])

    def wait_sent(self, relay, deadline=20):
        """Until the server has sent to who reads the slot all that is in the log now."""
        end, walsender = self.wal_end(), self.slot_row()[2]
        sent = "SELECT sent_lsn - '0/0'::pg_lsn >= %s FROM pg_stat_replication WHERE pid = %s"
        relay.wait_until(lambda: self.sql(sent, (end, walsender)) == [(True,)], deadline, "all is sent to the relay")

    @staticmethod
    def wait_until(condition, deadline, what):
        wait_until(condition, deadline, what)

    # --- Kafka

    def topic(self, name="order"):
        return f"{self.name}.{name}"

    def create_topic(self, name="order", partitions=4, **config):
        return self.kafka.create_topic(self.topic(name), partitions, **config)

    def read(self, *names):
        return self.kafka.read(*(self.topic(name) for name in names or ("order",)))

    # --- the relay

    def config(self, changes=None):
        """A working configuration; `changes` wins, None leaves a key out."""
        return {
            "postgres.conninfo": self.postgres.conninfo(self.database),
            "postgres.slot": self.slot,
            "postgres.publication": self.publication,
            "outbox.table": self.table,
            "outbox.topic.replacement": f"{self.name}.${{routedByValue}}",
            "kafka.bootstrap.servers": self.kafka.address if self.kafka else "127.0.0.1:9",
            "log.level": "info",
            **(changes or {}),
        }

    def new_relay(self, changes=None, **options):
        """A relay that is not started yet."""
        relay = Relay(self.config(changes), self.folder, **options)
        self.relays.append(relay)
        return relay

    def relay(self, changes=None, **options):
        """A relay that streams."""
        relay = self.new_relay(changes, **options).start()
        self.wait_streaming(relay)
        return relay

    def wait_streaming(self, relay, deadline=20):
        relay.wait_until(self.is_streaming, deadline, "it streams")

    def log_tails(self):
        tails = [relay.log_tail() for relay in self.relays]
        if self.postgres.log.exists():
            tails.append(self.postgres.log_tail())
        return "\n".join(tails)

    def end(self):
        for relay in self.relays:
            relay.end()
        if not self.postgres.answers_now():
            return
        for slot in self._slots:
            wait_until(lambda slot=slot: self._drop_slot(slot), 60, f"slot {slot} is dropped")
        self.postgres.wait_no_temporary_slots(self.database, 60)
        self.postgres.query(f"DROP DATABASE IF EXISTS {self.database} WITH (FORCE)")

    def _drop_slot(self, slot):
        # Who reads it and is ended are found in one statement: a number may be another test's session a moment later.
        rows = self.postgres.query(
            "SELECT pg_terminate_backend(active_pid) FROM pg_replication_slots WHERE slot_name = %s", (slot,))
        if not rows:
            return True
        if rows[0][0] is None:
            try:
                self.postgres.query("SELECT pg_drop_replication_slot(%s)", (slot,))
            except psycopg.errors.ObjectInUse:  # one whose start was on its way has it now
                pass
        return False


def identifier(name):
    """A name as SQL wants it, quoted."""
    return sql.Identifier(name).as_string(None)
