"""What a run plays in: one Postgres, three Kafka nodes, two relays, writers, the truth, a consumer, the checker."""

import contextlib
import os
import shutil
import signal
import subprocess
import threading
import time
from collections import Counter

import confluent_kafka
import psycopg

from chaos import events
from chaos.checker import Audit, Checker, Timeline
from chaos.consumer import Consumer
from chaos.proxy import Proxies
from chaos.truth import TruthReader
from chaos.writers import Writers
from lib import faketime, places, process
from lib.cluster import KafkaCluster
from lib.murmur2 import partition_of
from lib.ports import take_port
from lib.postgres import Postgres
from lib.relay import Relay
from lib.sql_scripts import SCRIPTS, run_psql
from lib.waiting import TooLate, wait_until

DATABASE = SLOT = "chaos"
WAL_SENDER_TIMEOUT_SECONDS = 5
WAL_DISK = "320m"
RETAINED_HIGH, RETAINED_LOW = 32 << 20, 8 << 20
ROLE = "relay"
# Small, so that a cure is met while its cause is remembered; and few in flight: when Kafka refuses one, each of them is
# sent alone, which takes a round trip, on a busy machine some 20 ms.
PARK = {"relay.poison": "park", "park.retry.first": "300ms", "park.retry.max": "2s", "relay.in_flight.events": "1024"}
LIVENESS_SECONDS = 120
RECOVERY_SECONDS = 600  # while more and more is confirmed: the machine may be busy with other things

_SERVER = {
    "wal_sender_timeout": f"{WAL_SENDER_TIMEOUT_SECONDS}s",
    "max_prepared_transactions": 40,
    "autovacuum": "on",
    "max_wal_size": "96MB",
    "min_wal_size": "32MB",
    "checkpoint_timeout": "30s",
    "logical_decoding_work_mem": "1MB",
}


def now_ms():
    return time.time_ns() // 1_000_000


def place_of(id):
    """Where the event belongs."""
    topic = events.topic_of(id)
    return topic, partition_of(events.key_of(id).encode(), events.TOPICS[topic])


def aggregate_of(id):
    return events.topic_of(id), events.key_of(id)


def ends_of(answers):
    """Of list_offsets(): where each partition ends; None when a leader did not answer, which it tells by an offset
    below zero and no error."""
    ends = {(part.topic, part.partition): future.result(5).offset for part, future in answers.items()}
    return ends if min(ends.values()) >= 0 else None


class Broken(AssertionError):
    """A promise did not hold, or the world did not come back; the run ends."""


class World:
    """`relays[active]` is the one that works. `parks`: with relay.poison = park. `shim` are variables of
    support/shim.c for the relays, `sql` runs in their database before they do."""

    relay_count = 2
    topics = events.TOPICS  # name: partitions
    row_of = staticmethod(events.row_of)
    consumer_kind = Consumer

    def __init__(self, version, seed, rate=300, parks=False, shim=None, sql=(), config=None):
        self.version, self.seed, self.rate = str(version), seed, rate
        self.folder = places.run_folder(f"walpost-chaos-{seed}-")
        self.lock = threading.Lock()  # of the checker
        self.timeline = Timeline()
        self.parks = parks
        self.checker = self.new_checker(self.timeline)
        self.parked_ids = set()  # seen in walpost.parked, ever
        self.parked_most = 0  # at a time
        self.relays = []
        self.active = 0
        self.kills = 0
        self.exits = []  # of relays that nobody asked to
        self.notes = []  # what happened, for the evidence
        self.begun = time.monotonic()
        self.wal_disk = False
        self._expected_down = set()  # relays that a fault has stopped
        self._shim, self._sql, self._more_config = shim or {}, sql, config or {}
        self.counts = Counter()  # of faults, by name
        self._scratches = 0
        self.ways = Counter()  # how they came about, where there is more than one way
        self.takeovers = []  # seconds
        self.ailing = Counter()  # groups of faults that hold now
        self._audits = []
        self._audit_lock = threading.Lock()
        self._audit_wanted = threading.Event()
        self._ending = False
        self.on_tick = lambda: None
        self.audited = 0
        self._valve_at = 0.0
        self.cluster = self.postgres = self.proxies = self.truth = self.consumer = self.writers = None

    # --- beginning and end

    def start(self):
        self.cluster = KafkaCluster(self.folder / "kafka")
        for node in self.cluster.nodes:
            node.launch()
        self._start_postgres()
        wait_until(self.cluster.is_whole, 180, "three brokers are there", self.cluster.log_tails)
        for topic, partitions in self.topics.items():
            self.cluster.create_topic(
                topic, partitions, message_timestamp_type="LogAppendTime", retention_bytes=96 << 20,
                segment_bytes=16 << 20, min_insync_replicas=2,
            )
        self.cluster.create_topic("probe", 1, min_insync_replicas=2)
        self.create_scratch()
        wait_until(lambda: self.cluster.in_sync(self.topics), 60, "all replicas are in sync")
        self._admin = self.cluster.admin()
        self._start_proxies()
        self.relays = [self._new_relay(number) for number in range(self.relay_count)]
        self.truth = TruthReader(
            self.postgres, DATABASE, "truth", self.lock, self._committed, self._strange_truth).start()
        self.consumer = self.new_consumer(self.checker).start()
        self.writers = Writers(self.postgres, DATABASE, self.seed, self.rate, row_of=self.row_of)
        threading.Thread(target=self._auditor, daemon=True).start()
        self.start_relay()
        return self

    def _start_postgres(self):
        self.postgres = Postgres(self.version, self.folder / "postgres")
        self._move_wal()
        with open(self.postgres.data / "postgresql.conf", "a") as conf:
            conf.writelines(f"{name} = '{value}'\n" for name, value in _SERVER.items())
        self.postgres.start()
        self.postgres.query(f"CREATE DATABASE {DATABASE} TEMPLATE template0")
        for statement in (
            """CREATE TABLE outbox (id bigint PRIMARY KEY, aggregatetype text NOT NULL, aggregateid text NOT NULL,
                                    type text NOT NULL, payload text)""",
            "CREATE TABLE ledger (id bigint PRIMARY KEY)",
            (places.TREE / "sql" / "slot_checkpoint.sql").read_text(),
            "CREATE PUBLICATION chaos FOR TABLE outbox WITH (publish = 'insert')",
            "SELECT pg_create_logical_replication_slot('truth', 'test_decoding')",
            "SELECT pg_create_logical_replication_slot('chaos', 'pgoutput')",
            (places.TREE / "sql" / "parked.sql").read_text(),
            *self._sql,
        ):
            self.postgres.query(statement, database=DATABASE)
        granted = run_psql(["psql", "-X", "-d", self.postgres.conninfo(DATABASE), "-v", f"role={ROLE}", "-f",
                            SCRIPTS / "grants.sql"])
        assert granted.returncode == 0, granted.stderr

    def _move_wal(self):
        """Onto a small disk of its own, which a fault can fill. Needs root."""
        if os.geteuid() != 0:
            return
        disk = self.folder / "wal"
        disk.mkdir()
        done = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={WAL_DISK}", "walpost-chaos", disk],
                              capture_output=True)
        if done.returncode != 0:
            return
        self.wal_disk = True
        process.give_away(disk)
        old = self.postgres.data / "pg_wal"
        subprocess.run(["cp", "-a", old, disk / "pg_wal"], check=True)
        shutil.rmtree(old)
        old.symlink_to(disk / "pg_wal")

    def _start_proxies(self):
        self.postgres_proxy = take_port()
        self.proxies = Proxies({
            "postgres": [self.postgres_proxy, self.postgres.port],
            **{f"kafka{node.number}": [node.proxy, node.inner] for node in self.cluster.nodes},
        })

    def end(self):
        """Everything is stopped; the folder stays."""
        self._ending = True
        for part in (self.writers, self.consumer, self.truth):
            if part is not None:
                part._stop.set()
        for relay in self.relays:
            if relay.is_alive():
                relay.signal(signal.SIGCONT)
            relay.end()
        if self.proxies:
            self.proxies.end()
        if self.postgres is not None and self.postgres.is_running():
            self.thaw_postgres()
            self.postgres.stop("immediate")
        for node in self.cluster.nodes if self.cluster else ():
            if node.is_running():
                node.kill()
        if self.wal_disk:
            subprocess.run(["umount", "-l", self.folder / "wal"], check=False)

    def remove(self):
        shutil.rmtree(self.folder, ignore_errors=True)

    def shrink(self):
        """What stays as evidence: logs and reports, not the servers' data but for topics that lack something."""
        shutil.rmtree(self.folder / "postgres" / "data", ignore_errors=True)
        if self.checker.lost:
            return
        for node in self.cluster.nodes:
            shutil.rmtree(node.folder / "log", ignore_errors=True)

    # --- the relays

    def _config(self, number):
        """The first goes by way of the proxies, the second straight."""
        proxied = number == 0
        port = self.postgres_proxy if proxied else self.postgres.port
        return {
            "postgres.conninfo": f"host=127.0.0.1 port={port} user={ROLE} dbname={DATABASE}",
            "postgres.slot": SLOT,
            "postgres.publication": "chaos",
            "outbox.table": "public.outbox",
            "outbox.topic.replacement": "${routedByValue}",
            "kafka.bootstrap.servers": self.cluster.proxied_address if proxied else self.cluster.address,
            **(PARK if self.parks else {}),
            **self._more_config,
        }

    def _new_relay(self, number):
        environment = dict(self._shim)
        if number == 0 and self.can_step_clock:
            self.clock = faketime.Clock(self.folder)
            stepped = self.clock.environment
            preloaded = filter(None, (stepped["LD_PRELOAD"], environment.get("LD_PRELOAD")))
            environment = {**environment, **stepped, "LD_PRELOAD": " ".join(preloaded)}
        return Relay(self._config(number), self.folder, environment=environment)

    @property
    def can_step_clock(self):
        return faketime.library() is not None

    @property
    def relay(self):
        return self.relays[self.active]

    @property
    def spare(self):
        return self.relays[1 - self.active]

    def start_relay(self, which=None):
        relay = which or self.relay
        relay.log_mark = relay.stderr_file.stat().st_size if relay.stderr_file.exists() else 0
        faketime.sweep()
        relay.start()
        self._expected_down.discard(relay)

    @staticmethod
    def said(relay, words):
        """Has its log these words, since it was started last?"""
        with open(relay.stderr_file, "rb") as log:
            log.seek(relay.log_mark)
            return words.encode() in log.read()

    def kill_relay(self, which=None, kind=None):
        """kill -9. Then what Postgres was told is compared with what Kafka holds."""
        relay = which or self.relay
        self._expected_down.add(relay)
        if kind:
            self.timeline.begin(now_ms(), kind)
        relay.kill()
        self.kills += 1
        self.timeline.producer_ended(now_ms())
        self.audit()

    def expect_down(self, relay):
        """Until it is started again it may end."""
        self._expected_down.add(relay)

    def supervise(self):
        """A relay that ended though nobody asked it to is started again, as its service would, and told about."""
        for relay in self.relays:
            if relay._process is None or relay.is_alive() or relay in self._expected_down:
                continue
            code = relay._process.returncode
            self.exits.append({"code": code, "after": self.elapsed(), "log": relay.log_text()[-1500:]})
            self.note(f"relay exited with {code}")
            if code in (2, 3):
                raise Broken(f"the relay asked for a human: exit code {code}\n{relay.log_tail()}")
            relay.start()

    # --- Postgres

    def try_query(self, statement, parameters=None):
        """Rows, or None when the server does not answer."""
        try:
            options = "-c statement_timeout=10s -c lock_timeout=300ms"
            with self.postgres.connect(DATABASE, options=options) as connection:
                return connection.execute(statement, parameters).fetchall()
        except psycopg.Error:
            return None

    def slot(self):
        """confirmed_flush_lsn, pid of the walsender, WAL flushed; None when the server does not answer."""
        rows = self.try_query(
            """SELECT (confirmed_flush_lsn - '0/0'::pg_lsn)::bigint, active_pid,
                      (pg_current_wal_flush_lsn() - '0/0'::pg_lsn)::bigint, wal_status
               FROM pg_replication_slots WHERE slot_name = 'chaos'""")
        if rows is None:
            return None
        if not rows or rows[0][3] == "lost":
            raise Broken(f"the slot is gone or lost: {rows}")
        return rows[0][:3]

    def parked(self):
        """Ids of what stands in walpost.parked; None when the server does not answer, or the table is locked."""
        if not self.parks:
            return frozenset()
        rows = self.try_query("SELECT id::bigint FROM walpost.parked WHERE slot = %s", (SLOT,))
        if rows is None:
            return None
        ids = frozenset(id for id, in rows)
        self.parked_ids |= ids
        self.parked_most = max(self.parked_most, len(ids))
        return ids

    def walsender(self):
        row = self.slot()
        return row[1] if row else None

    def thaw_postgres(self):
        """Whatever of it was frozen."""
        for line in subprocess.run(["ps", "-o", "pid=,stat=", "--ppid", str(self.postgres.pid())],
                                   capture_output=True, text=True).stdout.splitlines():
            pid, state = line.split()
            if "T" in state:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(int(pid), signal.SIGCONT)

    def ensure_postgres(self):
        """Up and answering, launched again when it had ended."""

        def up():
            if not self.postgres.is_running():
                self.postgres.launch()
            return self.postgres.answers_now()

        wait_until(up, LIVENESS_SECONDS, "Postgres answers", self.postgres.log_tail)

    # --- Kafka held against Postgres

    def audit(self):
        """Reads the slot first, then up to where Kafka goes; judged when consumer and truth have come that far."""
        row = self.slot()
        parked = self.parked()  # then: what is deleted meanwhile was in Kafka before
        if row is None or parked is None:
            return
        with self._audit_lock:
            self._audits.append(Audit(row[0], now_ms(), parked))
        self._audit_wanted.set()

    def _ends(self):
        latest = confluent_kafka.admin.OffsetSpec.latest()
        asked = {confluent_kafka.TopicPartition(*part): latest for part in self.parts}
        ends = None
        with contextlib.suppress(confluent_kafka.KafkaException, TimeoutError):
            ends = ends_of(self._admin.list_offsets(asked, request_timeout=2))
        if ends is None:
            with contextlib.suppress(confluent_kafka.KafkaException):
                self._admin.list_topics(timeout=2)  # who leads now: it would not ask by itself
        return ends

    def _auditor(self):
        while not self._ending:
            self._audit_wanted.wait(0.3)
            self._audit_wanted.clear()
            if self._audits:
                self._judge()

    def _judge(self):
        with self._audit_lock:
            audits = list(self._audits)
        ends = self._ends() if any(audit.until is None for audit in audits) else None
        for audit in audits:
            if audit.until is None:
                audit.until = ends
            if audit.until is None or not self.consumer.has_read(audit.until) or self.truth.upto < audit.lsn:
                return
            with self.lock:
                judged = audit.judge(self.checker, time.monotonic())
            if not judged:
                return
            self.audited += 1
            if audit.doubted_at is not None:
                self.note(f"what the slot at {audit.lsn:X} owed was found late")
            with self._audit_lock:
                self._audits.remove(audit)

    # --- the course of things

    @property
    def parts(self):
        return [(topic, number) for topic, count in self.topics.items() for number in range(count)]

    def elapsed(self):
        return time.monotonic() - self.begun

    def note(self, what):
        self.notes.append(f"{self.elapsed():8.1f} s {what}")

    def new_checker(self, timeline):
        return Checker(_Places(), timeline, lane_of=aggregate_of if self.parks else None)

    def new_consumer(self, checker, kind=None, **options):
        return (kind or self.consumer_kind)(
            self.cluster.address, self.parts, self.lock, checker.message,
            lambda **facts: checker.violation("content", **facts), **options)

    def _committed(self, id, end):
        if events.kind_of(id) != events.SCRATCH:
            self.checker.committed(id, end)

    def create_scratch(self):
        self.cluster.create_topic(events.SCRATCH_TOPIC, 1, min_insync_replicas=2)

    def write_scratch(self, count):
        """One transaction."""
        ids = [events.event_id(0, events.SCRATCH, self._scratches + n) for n in range(count)]
        self._scratches += count
        with self.postgres.connect(DATABASE) as connection, connection.transaction(), connection.cursor() as cursor:
            cursor.executemany(
                "INSERT INTO outbox VALUES (%s, %s, %s, %s, %s)", [events.row_of(id) for id in ids])
            cursor.executemany("INSERT INTO ledger VALUES (%s)", [(id,) for id in ids])

    def check_told_losses(self):
        """Kafka keeps all that it confirms here, but for what the scratch topic had."""
        for relay in self.relays:
            for line in relay.log("kafka_data_loss"):
                if line["topic"] != events.SCRATCH_TOPIC:
                    raise Broken(f"a loss that was none: {line}")

    def _strange_truth(self, end, rows):
        self.checker.violation("truth", what="outbox and ledger differ in one transaction", end_lsn=end,
                               outbox=rows["outbox"][:20], ledger=rows["ledger"][:20])

    def tick(self):
        """Now and then, whatever else is going on."""
        self.on_tick()
        self.supervise()
        self._valve()
        if self.consumer.failure:
            raise self.consumer.failure
        if self.checker.violation_counts:
            raise Broken(f"violated: {dict(self.checker.violation_counts)}")

    def _valve(self):
        """Writers pause while more waits in the log than its disk should hold."""
        if time.monotonic() < self._valve_at:
            return
        self._valve_at = time.monotonic() + 1
        self.parked()
        row = self.slot()
        if row is None:
            return
        retained = row[2] - min(row[0], self.truth.upto)
        if retained > RETAINED_HIGH:
            self.writers.allowed.clear()
        elif retained < RETAINED_LOW:
            self.writers.allowed.set()

    def pass_time(self, seconds):
        """Lets the world go on."""
        end = time.monotonic() + seconds
        with contextlib.suppress(TooLate):
            wait_until(lambda: self.tick() or time.monotonic() >= end, seconds + 1, "time passes")

    def wait(self, condition, deadline, what):
        """`condition` with everything else going on."""
        try:
            return wait_until(lambda: (self.tick(), condition())[1], deadline, what)
        except TooLate as late:
            raise self.broken(late) from None

    def broken(self, what):
        return Broken(f"{what}\n{self.where_it_stands()}\n{self.relay.log_tail()}\n{self.postgres.log_tail()}")

    def where_it_stands(self):
        return (
            f"slot {self.slot()}, truth {self.truth.upto}, ends of Kafka {self._ends()},"
            f" consumer {self.consumer.next}, its errors {dict(self.consumer.errors)},"
            f" audits {[audit.lsn for audit in self._audits]}, parked {self.where_parked_stands()}"
        )

    def where_parked_stands(self):
        return self.parks and self.try_query(
            """SELECT outbox, key, "position", code, left(reason, 200), attempts, alone, next_attempt_at - now(),
                      count(*) OVER () FROM walpost.parked WHERE code <> 'FOLLOWS' ORDER BY "position" LIMIT 10""")

    def is_well(self):
        """Does no fault hold that a relay could feel?"""
        return not any(self.ailing[group] for group in ("postgres", "kafka", "network"))

    def use_first_relay(self):
        """The one that goes by way of the proxies, and whose clock can be stepped."""
        if self.active == 0:
            return
        old = self.relay
        self._expected_down.add(old)
        old.signal(signal.SIGCONT)  # another fault may have frozen it
        old.signal(signal.SIGTERM)
        old.wait_exit(60)
        self.timeline.producer_ended(now_ms())
        self.active = 0
        self.start_relay()
        if self.is_well():
            self.wait_streaming()

    def wait_kafka(self):
        """All brokers there and all replicas in sync."""
        self.wait(
            lambda: self.cluster.is_whole() and self.cluster.in_sync([*self.topics, "probe"]), LIVENESS_SECONDS,
            "all replicas are in sync")

    def probe_producer(self, number):
        """What a producer with acks=all and no retries is told by the leader of a topic beside."""
        producer = confluent_kafka.Producer({
            "bootstrap.servers": self.cluster.nodes[number].address, "acks": "all", "retries": 0,
            "message.timeout.ms": 8000, "request.timeout.ms": 5000, "log_level": 0,
        })
        answer = "no answer"
        for _ in range(3):  # the last one may not know at once that it leads
            answers = []
            producer.produce("probe", b"?", on_delivery=lambda error, _, answers=answers: answers.append(error))
            producer.flush(10)
            if answers:
                answer = "accepted" if answers[0] is None else answers[0].name()
            if answer.startswith("NOT_ENOUGH_REPLICAS"):
                break
        return answer

    def wait_streaming(self, deadline=LIVENESS_SECONDS):
        self.wait(lambda: self.walsender() is not None, deadline, "a relay reads from the slot")

    def wait_recovered(self, deadline=LIVENESS_SECONDS, longest=RECOVERY_SECONDS):
        """Until what is in the log now is confirmed: liveness. Whenever more is confirmed the deadline begins anew, for
        how long the whole way takes depends on the machine; `longest` seconds at most."""
        goal = self.wait(self.slot, deadline, "Postgres answers")[2]
        reached = self.wait_grown(lambda: (self.slot() or (0,))[0], goal, deadline, longest, f"{goal:X} is confirmed")
        if reached < goal:
            raise self.broken(
                f"waited in vain until {goal:X} is confirmed: for {deadline:g} s no more than {reached:X} was")

    def wait_grown(self, value, goal, deadline, longest, what):
        """Until value() is `goal`, or has not grown for `deadline` seconds: the value."""
        reached, since = 0, time.monotonic()

        def is_over():
            nonlocal reached, since
            now = value()
            if now > reached:
                reached, since = now, time.monotonic()
            return reached >= goal or time.monotonic() - since >= deadline

        self.wait(is_over, longest, what)
        return reached

    def settle(self, deadline=300):
        """After the writers have stopped: all is confirmed, nothing is parked, all is consumed and checked."""
        self.wait_recovered(deadline)
        self.wait(lambda: self.parked() == frozenset(), deadline, "nothing is parked any more")
        goal = self.wait(self.slot, deadline, "Postgres answers")[2]
        self.audit()
        self.wait(lambda: not self._audits, deadline, "all that is in Kafka is read")
        self.wait(lambda: self.truth.upto >= goal, deadline, "the truth has read all")
        self.read_and_judge(deadline)

    def read_and_judge(self, deadline):
        """All that is in Kafka."""
        ends = self.wait(self._ends, deadline, "Kafka tells its ends")
        self.wait(lambda: self.consumer.has_read(ends), deadline, "the consumer has read all")
        self.compare_ledger()
        with self.lock:
            self.checker.finish()

    def compare_ledger(self):
        """What the table holds is what the second slot said; else the truth is none."""
        with self.postgres.connect(DATABASE) as connection, self.lock:
            with connection.cursor() as cursor:
                ledger = {id for (id,) in cursor.stream("SELECT id FROM ledger")
                          if events.kind_of(id) != events.SCRATCH}
            decoded = set(self.checker.ids())
            for id in list(ledger ^ decoded)[:50]:
                self.checker.violation("truth", id=id, in_ledger=id in ledger, decoded=id in decoded)


class _Places:
    """place_of, remembered for each topic and key."""

    def __init__(self):
        self._known = {}

    def __call__(self, id):
        key = events.topic_of(id), events.key_of(id)
        place = self._known.get(key)
        if place is None:
            place = self._known[key] = place_of(id)
        return place
