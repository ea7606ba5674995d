"""The servers of a benchmark, set as servers of their own would be, and the events that are written into them."""

import contextlib
import json
import os
import subprocess
import threading
import time
from pathlib import Path

import confluent_kafka
import psycopg.errors
from confluent_kafka.admin import NewTopic

from lib import process
from lib.certificates import Authority
from lib.kafka import Kafka
from lib.postgres import Postgres
from lib.relay import run_command
from lib.waiting import wait_until

KEYS = 10_000
PUBLICATION = "walpost"
SLOT = "bench"  # what a relay drains; made anew for each run
GIVE_UP_SECONDS = 900

# As a server of its own would be set, not as the tests set theirs.
SERVER = {
    "shared_buffers": "512MB", "max_wal_size": "8GB", "fsync": "on", "full_page_writes": "on", "autovacuum": "on",
    "max_replication_slots": "40", "max_wal_senders": "40",
}
# The tests' broker starts fast rather than runs fast; this wins over its command line.
BROKER = "-XX:TieredStopAtLevel=4 -Xms256m -Xmx768m"

# The event of every load: 271 bytes of jsonb, with its number and the time when it was inserted; as a row, or as the
# logical message that walpost.emit() (sql/outbox_emit.sql) would write.
MESSAGE_PREFIX = "outbox"
SCHEMA = f"""
CREATE OR REPLACE FUNCTION bench_payload(k bigint, n bigint) RETURNS jsonb LANGUAGE sql AS $$
  SELECT ('{{"n": ' || n || ', "t": ' || trunc(extract(epoch FROM clock_timestamp()) * 1000, 3)
    || ', "orderId": "order-' || k || '", "customer": {{"id": 48213, "name": "Ada Lovelace", "tier": "gold"}}, "lines":'
    ' [{{"sku": "A-1009", "qty": 2, "price": 19.95}}, {{"sku": "B-2210", "qty": 1, "price": 5.5}}], "currency": "EUR",'
    ' "note": "leave at the door"}}'
    )::jsonb
$$;
CREATE OR REPLACE FUNCTION bench_add(k bigint, n bigint) RETURNS void LANGUAGE sql AS $$
  INSERT INTO outbox (id, aggregatetype, aggregateid, type, payload)
  VALUES (gen_random_uuid(), 'order', 'order-' || k, 'OrderCreated', bench_payload(k, n))
$$;
CREATE OR REPLACE PROCEDURE bench_add_each(rows bigint, keys bigint) LANGUAGE plpgsql AS $$
BEGIN FOR n IN 1..rows LOOP PERFORM bench_add(1 + n::bigint * 7919 % keys, n); COMMIT; END LOOP; END $$;
CREATE OR REPLACE FUNCTION bench_emit(k bigint, n bigint) RETURNS void LANGUAGE sql AS $$
  SELECT pg_logical_emit_message(true, '{MESSAGE_PREFIX}', jsonb_build_object(
    'id', gen_random_uuid(), 'aggregatetype', 'order', 'aggregateid', 'order-' || k, 'type', 'OrderCreated',
    'payload', bench_payload(k, n), 'headers', NULL)::text)
$$;
CREATE OR REPLACE PROCEDURE bench_emit_each(rows bigint, keys bigint) LANGUAGE plpgsql AS $$
BEGIN FOR n IN 1..rows LOOP PERFORM bench_emit(1 + n::bigint * 7919 % keys, n); COMMIT; END LOOP; END $$;

-- One-row transactions at moments that are drawn, not waited for: a slow one does not delay the next. Writer w of so
-- many has the numbers and the keys that are w modulo writers, so that its keys show its own order.
CREATE OR REPLACE PROCEDURE bench_pace(w bigint, writers bigint, per_second float8, seconds float8, keys bigint)
LANGUAGE plpgsql AS $$
DECLARE
  began timestamptz := clock_timestamp();
  due float8 := 0;
  early float8;
  i bigint := 0;
BEGIN
  LOOP
    due := due - ln(1 - random()) / per_second;
    early := due - extract(epoch FROM clock_timestamp() - began);
    EXIT WHEN due > seconds OR due - early > seconds; -- drawn beyond the end, or too slow to get there
    IF early > 0.0005 THEN PERFORM pg_sleep(early); END IF;
    PERFORM bench_add(w + writers * (i * 7919 % (keys / writers)), w + writers * i);
    COMMIT;
    i := i + 1;
  END LOOP;
END $$;
"""


class BenchKafka(Kafka):
    @property
    def pid(self):
        return self._process.pid

    def create_topics(self, names, partitions):
        """Many at once; usable when this returns."""
        admin = self._admin()
        made = admin.create_topics([NewTopic(name, num_partitions=partitions, replication_factor=1) for name in names])
        for future in made.values():
            future.result(120)
        wait_until(lambda: self._are_led(admin, names, partitions), 120, "the topics have leaders")

    def delete_topics(self, names):
        admin = self._admin()
        for future in admin.delete_topics(names).values():
            future.result(120)
        wait_until(lambda: not set(names) & self.topics(), 120, "the topics are gone")

    @staticmethod
    def _are_led(admin, names, partitions):
        topics = admin.list_topics(timeout=20).topics
        return all(
            name in topics and len(topics[name].partitions) == partitions
            and all(p.leader >= 0 for p in topics[name].partitions.values())
            for name in names
        )


class Stack:
    """One Postgres and one broker, gone with us; `config` is what walpost needs to know of them."""

    def __init__(self, version, folder):
        os.environ["_JAVA_OPTIONS"] = BROKER
        self.folder = Path(folder)
        self.server = Postgres(version, self.folder / "postgres")
        self.kafka = BenchKafka(self.folder / "kafka")

    def _tls(self):
        """For those who ask for it; for all others it is off (PGSSLMODE)."""
        folder = self.folder / "certificates"
        folder.mkdir()
        folder.chmod(0o755)
        issued = Authority(folder, "authority").issue("server")
        issued.key.chmod(0o600)
        self.server.hand_over(issued.key)
        return {"ssl": "on", "ssl_cert_file": issued.certificate, "ssl_key_file": issued.key}

    def __enter__(self):
        os.environ["PGSSLMODE"] = "disable"
        try:
            self.server.start(**SERVER, **self._tls())
            self.kafka.start()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        self.kafka.end()
        self.server.end()

    @property
    def socket_folder(self):
        """Where Postgres listens without TCP."""
        return self.server.folder

    def query(self, sql):
        return self.server.query(sql)


def prepare(server, kafka_address):
    """Outbox, publication and what writes rows."""
    config = {
        "postgres.conninfo": server.conninfo(), "postgres.slot": "first", "postgres.publication": PUBLICATION,
        "kafka.bootstrap.servers": kafka_address,
    }
    done = run_command("init", *(f"--set={name}={value}" for name, value in config.items()))
    if done.returncode != 0:
        raise SystemExit(f"walpost init failed:\n{done.stderr}")
    server.query("SELECT pg_drop_replication_slot('first')")
    server.query(SCHEMA)


# ---- slots --------------------------------------------------------------------------------------------------------

def is_active(server, name=SLOT):
    """None: there is no such slot."""
    rows = server.query(f"SELECT active FROM pg_replication_slots WHERE slot_name = '{name}'")
    return rows[0][0] if rows else None


def drop_slot(server, name):
    wait_until(lambda: not is_active(server, name), 30, f"slot {name} is let go")
    server.query(f"SELECT pg_drop_replication_slot(slot_name) FROM pg_replication_slots WHERE slot_name = '{name}'")


@contextlib.contextmanager
def slot_here(server):
    """The slot SLOT at the end of the log."""
    drop_slot(server, SLOT)
    forget_slot_checkpoint(server)
    server.query(f"SELECT pg_create_logical_replication_slot('{SLOT}', 'pgoutput')")
    yield
    drop_slot(server, SLOT)


def forget_slot_checkpoint(server):
    """The slot is made anew on purpose."""
    with contextlib.suppress(psycopg.errors.UndefinedTable):
        server.query(f"DELETE FROM walpost.slot_checkpoint WHERE slot = '{SLOT}'")


class Backlog:
    """Rows 1 to `rows`, in the log behind a slot of its own; every run drains a copy of that slot."""

    def __init__(self, name, rows, statement):
        self.name, self.rows, self._statement = name, rows, statement
        self._slot = f"master_{name}"
        self.end = None

    def write(self, server, keys=KEYS):
        server.query(f"SELECT pg_create_logical_replication_slot('{self._slot}', 'pgoutput')")
        with server.connect() as connection:
            connection.execute("TRUNCATE outbox")
            connection.execute("SET synchronous_commit = off")
            connection.execute(self._statement.format(rows=self.rows, keys=keys))
            (self.end,) = connection.execute("SELECT pg_current_wal_insert_lsn()").fetchone()
            connection.execute("CHECKPOINT")

    @contextlib.contextmanager
    def copied(self, server):
        drop_slot(server, SLOT)
        forget_slot_checkpoint(server)
        server.query(f"SELECT pg_copy_logical_replication_slot('{self._slot}', '{SLOT}')")
        yield
        drop_slot(server, SLOT)

    def is_confirmed(self, connection):
        """Has Postgres heard that all of it is in Kafka?"""
        query = f"SELECT confirmed_flush_lsn >= '{self.end}' FROM pg_replication_slots WHERE slot_name = '{SLOT}'"
        return connection.execute(query).fetchone()[0]

    def forget(self, server):
        drop_slot(server, self._slot)


def one_transaction(rows, name="rows"):
    numbers = "generate_series(1, {rows}::bigint) n"
    return Backlog(name, rows, "SELECT count(bench_add(1 + n * 7919 % {keys}, n)) FROM " + numbers)


def many_transactions(rows, name="transactions"):
    return Backlog(name, rows, "CALL bench_add_each({rows}, {keys})")


def many_messages(count, name="messages"):
    """Transactions of one logical message each."""
    return Backlog(name, count, "CALL bench_emit_each({rows}, {keys})")


class Writers:
    """One-row transactions at a rate, from several sessions at once, for so many seconds."""

    def __init__(self, server, per_second, seconds):
        self.count = 8 if per_second <= 5000 else 32
        self._server, self._seconds = server, seconds
        self._rate = per_second / self.count
        self._trouble = []
        self._threads = [threading.Thread(target=self._write, args=(w,)) for w in range(self.count)]

    def _write(self, w):
        try:
            with self._server.connect() as connection:
                connection.execute(
                    f"CALL bench_pace({w}, {self.count}, {self._rate}, {self._seconds}, {KEYS})", prepare=False)
        except Exception as trouble:  # told by join(), in the thread that counts
            self._trouble.append(trouble)

    def start(self):
        for thread in self._threads:
            thread.start()

    def join(self):
        """How many events they wrote."""
        for thread in self._threads:
            thread.join()
        if self._trouble:
            raise self._trouble[0]
        return self._server.query("SELECT count(*) FROM outbox")[0][0]


# ---- the topic ----------------------------------------------------------------------------------------------------

class Topic:
    """A topic whose records are stamped by the broker as it appends them; what is there before is not looked at."""

    def __init__(self, kafka, name, partitions):
        self._kafka, self.name, self._partitions = kafka, name, partitions
        if name not in kafka.topics():
            kafka.create_topic(name, partitions, message_timestamp_type="LogAppendTime")
        self._consumer = confluent_kafka.Consumer({
            "bootstrap.servers": kafka.address, "group.id": "bench", "enable.auto.commit": False,
            "enable.partition.eof": True, "check.crcs": False, "fetch.message.max.bytes": 8 << 20, "log_level": 0,
        })
        wait_until(self._is_led, 60, f"topic {name} has leaders")
        self._begin = self._ends()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        """What was read is thrown away: the disk is not ours."""
        self._consumer.close()
        admin = self._kafka._admin()
        parts = [confluent_kafka.TopicPartition(self.name, p, end) for p, end in enumerate(self._ends_after)]
        for future in admin.delete_records(parts).values():
            future.result(30)

    def _is_led(self):
        try:
            return self._ends()
        except confluent_kafka.KafkaException:  # just made
            return None

    def _ends(self):
        part = confluent_kafka.TopicPartition
        self._ends_after = [
            self._consumer.get_watermark_offsets(part(self.name, number), timeout=30)[1]
            for number in range(self._partitions)
        ]
        return self._ends_after

    def arrived(self):
        return sum(self._ends()) - sum(self._begin)

    def messages(self):
        """All of this run, to the end as it is now."""
        part = confluent_kafka.TopicPartition
        ends = self._ends()
        open_parts = {p for p in range(self._partitions) if ends[p] > self._begin[p]}
        self._consumer.assign([part(self.name, p, self._begin[p]) for p in sorted(open_parts)])
        while open_parts:
            for message in self._consumer.consume(10_000, 1.0):
                error = message.error()
                if error is None:
                    yield message
                    if message.offset() + 1 >= ends[message.partition()]:
                        open_parts.discard(message.partition())
                elif error.code() == confluent_kafka.KafkaError._PARTITION_EOF:
                    open_parts.discard(message.partition())
                else:
                    raise confluent_kafka.KafkaException(error)
        self._consumer.unassign()


# ---- what a process costs -----------------------------------------------------------------------------------------

def asked(of, pid):
    """`of`: one of lib.process, which fails for a process that is gone; None then."""
    with contextlib.suppress(OSError, AssertionError):
        return of(pid)
    return None


def cpu_seconds(pid):
    return asked(process.cpu_seconds, pid)


def waited_seconds(pid):
    """For a core."""
    return asked(process.waited_for_core_seconds, pid)


class Program:
    """A relay or a reader, as its plug-in starts it: a process whose pid is the relay's own."""

    def __init__(self, script, folder, environment):
        self.log = Path(folder) / "log"
        Path(folder).mkdir(parents=True, exist_ok=True)
        self.started = time.time()
        with open(self.log, "ab") as log:
            self._process = subprocess.Popen(
                [str(script)], cwd=folder, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                env={**os.environ, **environment}, start_new_session=True, preexec_fn=process.dies_with_us(),
            )
        self.pid = self._process.pid

    def is_alive(self):
        return self._process.poll() is None

    def tail(self):
        return "\n".join(self.log.read_text(errors="replace").splitlines()[-15:])

    def stop(self):
        """In good order if it can."""
        self._process.terminate()
        try:
            self._process.wait(20)
        except subprocess.TimeoutExpired:
            self.kill()

    def kill(self):
        self._process.kill()
        self._process.wait()

    def end(self):
        if self.is_alive():
            self.kill()


class Costs:
    """What relay, walsender and broker have used between two looks, and the memory in between."""

    def __init__(self, stack, program):
        self._stack, self._program = stack, program
        self._connection = stack.server.connect()
        self._walsender = None
        self._began = {}
        self._ended = {}
        self._rss = []
        self.peak_kb = 0
        self.retained = 0

    def close(self):
        self._connection.close()

    def begin_with_broker(self):
        """The relay and its walsender count from their start."""
        self._began = {"broker_cpu": cpu_seconds(self._stack.kafka.pid)}

    def begin(self):
        """All count from here."""
        self._rss = []
        self._began = self._now()

    def look(self):
        """Called again and again: what is gone later cannot be asked any more."""
        if self._walsender is None:
            row = self._connection.execute(
                f"SELECT active_pid FROM pg_replication_slots WHERE slot_name = '{SLOT}'").fetchone()
            self._walsender = row and row[0]
        for name, value in self._now().items():
            if value is not None:
                self._ended[name] = value
        rss = asked(process.rss_kb, self._program.pid)
        if rss is not None:
            self._rss.append(rss)
            self.peak_kb = asked(process.peak_rss_kb, self._program.pid) or self.peak_kb

    def look_at_log(self):
        """How much of its log Postgres keeps for the slot."""
        kept = "SELECT pg_current_wal_lsn() - restart_lsn FROM pg_replication_slots"
        row = self._connection.execute(f"{kept} WHERE slot_name = '{SLOT}'").fetchone()
        if row and row[0] is not None:
            self.retained = max(self.retained, int(row[0]))

    def _now(self):
        return {
            "cpu": cpu_seconds(self._program.pid),
            "walsender_cpu": cpu_seconds(self._walsender) if self._walsender else None,
            "walsender_waited": waited_seconds(self._walsender) if self._walsender else None,
            "broker_cpu": cpu_seconds(self._stack.kafka.pid),
        }

    def is_known(self, name):
        return name in self._ended

    def used(self, name):
        return self._ended.get(name, 0) - (self._began.get(name) or 0)

    def rss_kb(self):
        return sorted(self._rss)[len(self._rss) // 2] if self._rss else 0


def append(path, run):
    """A run as a line of JSON."""
    with open(path, "a") as out:
        out.write(json.dumps(run) + "\n")
