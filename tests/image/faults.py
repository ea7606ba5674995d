"""Real faults, each at a walpost of its own that was well before. An alert of Prometheus has to name each.

Each fault has a job of Prometheus, which is the name of its class: there alone its alerts may fire.
"""

import fcntl
import os
import random
import signal
import threading
import time

from lib import places
from lib.doubles.endpoint import broken
from lib.doubles.registry import Registry
from lib.guarded import GuardedKafka
from lib.kafka import Kafka
from lib.kafka_tools import KafkaTools
from lib.line import Line
from lib.ports import take_port
from lib.postgres import Postgres
from lib.second_broker import SecondBroker
from lib.stage import Stage
from lib.waiting import wait_until

_MIB = 1 << 20


class World:
    """The servers, each started when a fault first wants it."""

    def __init__(self, folder):
        self.folder = folder
        self._servers = {}

    def _server(self, name, make):
        if name not in self._servers:
            self._servers[name] = make().start()
        return self._servers[name]

    def postgres(self):
        """Stays as it is."""
        return self._server("postgres", lambda: Postgres("18", self.folder / "postgres"))

    def mortal_postgres(self):
        return self._server("mortal", lambda: Postgres("18", self.folder / "mortal"))

    def limited_postgres(self):
        """One that gives a slot up, late at first."""
        return self._server("limited", lambda: _Limited("18", self.folder / "limited"))

    def kafka(self):
        """Stays as it is; has a door at the end of a line."""
        return self._server("kafka", lambda: GuardedKafka(self.folder / "kafka"))

    def mortal_kafka(self):
        return self._server("away", lambda: Kafka(self.folder / "away"))

    def first_broker(self):
        """One of two."""
        return self._server("first", lambda: Kafka(self.folder / "first"))

    def second_broker(self):
        """The other, for replicas that go missing."""
        first = self.first_broker()
        return self._server("second", lambda: SecondBroker(first, self.folder / "second"))

    def end(self):
        for server in reversed(self._servers.values()):
            server.end()


class _Limited(Postgres):
    """Room for half an hour of the log that LogOutrunsKafka writes: more than a quarter, less than a whole."""

    def start(self):
        super().start()
        self.set_conf(max_slot_wal_keep_size=f"{LogOutrunsKafka.MIB_PER_SECOND * 1800}MB", max_wal_size="64MB",
                      min_wal_size="32MB")
        return self


class Fault:
    """`begin` does it; `keep_up` is called again and again from then on. `also`: alerts that may fire with it."""

    also = ()
    options = {}

    def __init__(self, world):
        self.world = world
        self.relays = []
        self.ports = []
        self.stage = self.make_stage()
        self.prepare()
        self.started = self.relay(self.options)

    @classmethod
    def job(cls):
        return f"walpost-{cls.__name__}"

    def make_stage(self):
        return Stage(self.world.postgres(), self.world.kafka(), self.world.folder)

    def prepare(self):
        """Before the relay is started."""
        self.stage.create_topic()

    def relay(self, changes, start=True, **options):
        port = take_port()
        relay = self.stage.new_relay({"http.listen": str(port), **changes}, **options)
        self.ports.append(port)
        self.relays.append(relay)
        if start:
            relay.start()
            self.stage.wait_streaming(relay)
        return relay

    def deliver_one(self):
        """So that it is well, and not merely new."""
        self.stage.insert("well")
        self.stage.wait_all_confirmed(30, self.started)

    def begin(self):
        raise NotImplementedError

    def keep_up(self, fired):
        """What has to be done again, or next; `fired`: the alerts that were seen firing by it."""

    def end(self):
        self.stage.end()


# ---- is anybody at work? ----


class Killed(Fault):
    """kill -9, and nobody starts it again."""

    def begin(self):
        self.started.kill()


class KilledUnderAnotherName(Killed):
    """Likewise, where the job's name does not tell what it is."""

    @classmethod
    def job(cls):
        return "outbox"


class ServerStopped(Fault):
    """Postgres is stopped, and stays so."""

    def make_stage(self):
        return Stage(self.world.mortal_postgres(), self.world.kafka(), self.world.folder)

    def begin(self):
        self.world.mortal_postgres().stop("immediate")


class SlotTaken(Fault):
    """Somebody whom Prometheus does not know reads the slot; all that it knows stand by."""

    def begin(self):
        self.started.signal(signal.SIGSTOP)
        self.stage.postgres.query("SELECT pg_terminate_backend(active_pid) FROM pg_replication_slots "
                                  "WHERE slot_name = %s", (self.stage.slot,))
        self.stage.wait_released()
        self.stage.relay()
        self.started.signal(signal.SIGCONT)


class PublicationDropped(Fault):
    """With relay.on_halt = hold it stays up for a human."""

    options = {"relay.on_halt": "hold"}
    also = ("WalpostNotDelivering", "WalpostNotReady", "WalpostErrors")

    def begin(self):
        self.stage.sql(f"DROP PUBLICATION {self.stage.publication}")


class EndsAgainAndAgain(Fault):
    """Exit code 3 after a while, and a supervisor that starts it again each time."""

    options = {"relay.topic.wait": "3s"}
    also = ("WalpostNotDelivering", "WalpostNotReady", "WalpostErrors", "WalpostTopicMissing", "WalpostCommitLate",
            "WalpostCommitStuck", "WalpostDown")

    def begin(self):
        self.stage.insert("a", topic="nobody-made-it")

    def keep_up(self, fired):
        if not self.started.is_alive():
            assert self.started.wait_exit() == 3
            self.started.start()


class StandbyKilled(Fault):
    """One of two goes on."""

    def prepare(self):
        super().prepare()
        self.standby = self.relay({}, start=False)

    def deliver_one(self):
        super().deliver_one()
        self.standby.start()

    def begin(self):
        self.standby.kill()


# ---- are events late? ----


class KafkaSlow(Fault):
    """It confirms, all the while, more slowly than the log is read: the way to it is narrow."""

    # WalpostConfirmsNothing: a large batch takes some seconds, which is long in hurried time.
    also = ("WalpostCommitStuck", "WalpostNotReady", "WalpostConfirmsNothing")
    _RATE = 150_000

    def make_stage(self):
        kafka = self.world.kafka()
        self.options = {"kafka.bootstrap.servers": kafka.slow_address}
        return Stage(self.world.postgres(), kafka, self.world.folder)

    def begin(self):
        self.world.kafka().line.rate = self._RATE
        self.stage.sql(
            f"""INSERT INTO {self.stage.table} (id, aggregatetype, aggregateid, type, payload)
                SELECT gen_random_uuid(), 'order', 'a' || n, 'created', to_jsonb(string_agg(md5(random()::text), ''))
                FROM generate_series(1, 60000) AS n, generate_series(1, 8) GROUP BY n""")

    def end(self):
        self.world.kafka().line.rate = None
        super().end()


class ServerSlow(Fault):
    """The way from Postgres is narrow: what comes is confirmed at once, and comes late."""

    also = ("WalpostCommitStuck",)

    def prepare(self):
        super().prepare()
        self._line = Line(self.stage.postgres.port)
        self.options = {"postgres.conninfo": self.stage.postgres.conninfo(self.stage.database, port=self._line.port)}

    def begin(self):
        self._line.rate = 100_000
        self.stage.insert_many(40_000, "a{0}", size=200)

    def end(self):
        self._line.end()
        super().end()


class KafkaThrottles(Fault):
    """A quota of the brokers: they answer, and then read nothing for a while."""

    also = ("WalpostCommitLate", "WalpostCommitStuck", "WalpostConfirmsNothing", "WalpostInFlightFull",
            "WalpostNotReady")
    options = {"kafka.compression.type": "none", "kafka.client.id": "throttled"}

    def begin(self):
        kafka = self.world.kafka()
        KafkaTools(self.world.folder / "throttling").shell(
            f"kafka-configs.sh --bootstrap-server {kafka.address} --alter --entity-type clients "
            "--entity-name throttled --add-config producer_byte_rate=20000")
        self.stage.insert_many(3000, "a{0}", size=2000)


class KafkaFrozen(Fault):
    """Its connections stay, and nothing answers."""

    also = ("WalpostCommitLate", "WalpostNotReady", "WalpostConfirmsNothing")  # see LogOutrunsKafka

    def make_stage(self):
        return Stage(self.world.postgres(), self.world.mortal_kafka(), self.world.folder)

    def begin(self):
        self.world.mortal_kafka().pause()
        self.stage.insert("a")

    def end(self):
        self.world.mortal_kafka().resume()
        super().end()


class ReplicasMissing(Fault):
    """One of the two replicas that a record must have is gone: the broker that leads answers, and takes nothing."""

    also = ("WalpostCommitLate", "WalpostCommitStuck", "WalpostNotReady")

    def make_stage(self):
        return Stage(self.world.postgres(), self.world.first_broker(), self.world.folder)

    def prepare(self):
        self.world.second_broker().create_topic(self.stage.topic(), 2, led_by_us=False, min_insync_replicas=2)

    def begin(self):
        second = self.world.second_broker()
        if second.is_running():
            second.kill()
        wait_until(lambda: second.in_sync(self.stage.topic()) == 1, 30, "a replica is missed")
        self.stage.insert("a")


class ReplicasMissingForANewcomer(ReplicasMissing):
    """Likewise, and the relay, started since, has never seen a confirmation."""

    def begin(self):
        super().begin()
        self.started.kill()
        self.started.start()


# ---- will the slot live? ----


class LogOutrunsKafka(Fault):
    """Kafka is away and the log is written on: it is kept, until max_slot_wal_keep_size says no."""

    options = {"relay.on_halt": "hold"}
    # WalpostConfirmsNothing: until walpost knows that Kafka is away, some 10 s, which is long in hurried time.
    also = ("WalpostCommitLate", "WalpostCommitStuck", "WalpostNotReady", "WalpostKafkaUnreachable", "WalpostHeld",
            "WalpostErrors", "WalpostNotDelivering", "WalpostConfirmsNothing")
    MIB_PER_SECOND = 16
    _FIRST = {"WalpostLagGrows", "WalpostRetainedWalLarge", "WalpostSlotRunsOut"}

    def make_stage(self):
        return Stage(self.world.limited_postgres(), self.world.mortal_kafka(), self.world.folder)

    def begin(self):
        self.world.mortal_kafka().pause()
        self.stage.insert("a")
        self._begun = time.monotonic()
        self._written = 0
        self._lowered = False

    def keep_up(self, fired):
        self._write()
        if not self._FIRST <= fired:
            assert not fired & {"WalpostSlotNearlyLost", "WalpostSlotLost"}, "too early"
        elif not self._lowered:
            self._lowered = True
            self._keep(self._written + self.MIB_PER_SECOND * 300)
        elif "WalpostSlotNearlyLost" in fired:
            self._keep(64)
            self.stage.postgres.query("CHECKPOINT")

    def _keep(self, megabytes):
        self.stage.postgres.set_conf(max_slot_wal_keep_size=f"{megabytes}MB")

    def _write(self):
        due = int((time.monotonic() - self._begun) * self.MIB_PER_SECOND) - self._written
        if due > 0:
            self._written += due
            self.stage.sql("SELECT count(*) FROM (SELECT pg_logical_emit_message(false, 'fill', repeat('x', %s)) "
                           "FROM generate_series(1, %s)) x", (_MIB, due))

    def end(self):
        self.world.mortal_kafka().resume()
        super().end()


# ---- is something wrong with events, or with Kafka? ----


class TopicMissing(Fault):
    """An event for a topic that nobody made."""

    also = ("WalpostCommitLate", "WalpostCommitStuck", "WalpostNotReady")

    def begin(self):
        self.stage.insert("a", topic="nobody-made-it")


class SubjectMissing(Fault):
    """An event whose schema nobody registered."""

    also = ("WalpostCommitLate", "WalpostCommitStuck", "WalpostNotReady")

    def prepare(self):
        super().prepare()
        self._registry = Registry()
        self._registry.register(f"{self.stage.topic()}-value", "{}", "JSON")
        self.options = {"outbox.schema.registry": self._registry.url}

    def begin(self):
        self.stage.insert("a", topic="nobody-registered-it")

    def end(self):
        super().end()
        self._registry.end()


class RegistryAway(SubjectMissing):
    """The registry is away, and a subject comes that it was not asked for before."""

    def begin(self):
        self._registry.fail(broken(503), None)
        super().begin()


class Poison(Fault):
    """An event that can never be delivered is set aside."""

    def prepare(self):
        super().prepare()
        self.stage.create_topic("dead")
        self.options = {"relay.poison": "dead-letter", "relay.dead_letter.topic": self.stage.topic("dead")}

    def begin(self):
        self.stage.insert(None)


class PoisonInABacklog(Poison):
    """Likewise by a relay that was just started, in place of another, before Prometheus has seen it."""

    def prepare(self):
        super().prepare()
        self.later = self.relay(self.options, start=False)

    def begin(self):
        self.started.stop()
        self.stage.insert(None)
        self.later.start()


class EventParked(Fault):
    """An event that can never be delivered is parked, and nobody cures it."""

    options = {"relay.poison": "park"}

    def prepare(self):
        super().prepare()
        self.stage.sql((places.TREE / "sql" / "parked.sql").read_text())

    def begin(self):
        self.stage.insert(None)


class TableOfParkedGone(EventParked):
    """It is to be parked, and the table is not there."""

    # WalpostEventsParked: what waits to be parked counts. WalpostConfirmsNothing: for some seconds, which are long in
    # hurried time.
    also = ("WalpostCommitLate", "WalpostCommitStuck", "WalpostNotReady", "WalpostEventsParked",
            "WalpostConfirmsNothing")

    def begin(self):
        self.stage.sql("ALTER TABLE walpost.parked RENAME TO other")
        super().begin()


class ScheduledDoesNotFit(Fault):
    """An event was scheduled, and when it is due its outbox does not take it."""

    def prepare(self):
        super().prepare()
        self.stage.sql((places.TREE / "sql" / "schedule.sql").read_text())

    def begin(self):
        self.stage.sql("""SELECT walpost.schedule(now(), 'outbox', jsonb_build_object('id', gen_random_uuid(),
            'aggregatetype', 'order', 'aggregateid', '1'));
            ALTER TABLE outbox ADD CONSTRAINT forbidden CHECK (aggregateid <> '1') NOT VALID""")


class MoverFails(ScheduledDoesNotFit):
    """The function that moves scheduled events fails each time."""

    def begin(self):
        self.stage.sql("ALTER TABLE walpost.scheduled RENAME TO other")


class TopicMadeAnew(Fault):
    """Somebody deletes a topic and makes it again: what it had confirmed is gone."""

    # Half of the times the client notices by itself, and waits for the topic or begins anew.
    also = ("WalpostErrors", "WalpostTopicMissing", "WalpostRewinds")

    def prepare(self):
        self.stage.create_topic(partitions=1)

    def begin(self):
        self.stage.kafka.delete_topic(self.stage.topic())
        self.stage.create_topic(partitions=1)
        self.stage.insert("a")


class RowUpdated(Fault):
    """An outbox row is updated, where that is an error."""

    options = {"outbox.on_update": "error"}

    def prepare(self):
        super().prepare()
        self.stage.sql(f"ALTER PUBLICATION {self.stage.publication} SET (publish = 'insert, update')")

    def begin(self):
        self.stage.sql(f"UPDATE {self.stage.table} SET type = 'x'")


class WalsenderTerminated(Fault):
    """Each time that it streams, the server ends it."""

    also = ("WalpostNotDelivering",)

    def begin(self):
        self._last = None

    def keep_up(self, fired):
        pid = self.stage.slot_row()[2]
        if pid not in (None, self._last):
            self._last = pid
            self.stage.postgres.query("SELECT pg_terminate_backend(%s)", (pid,))


class KafkaRefuses(Fault):
    """Events larger than their topic takes, one after the other; only the broker can tell."""

    also = ("WalpostDeadLetters",)

    def prepare(self):
        self.stage.create_topic(partitions=1, max_message_bytes=65536)
        self.stage.create_topic("dead", max_message_bytes=1_000_000)
        self.options = {"relay.poison": "dead-letter", "relay.dead_letter.topic": self.stage.topic("dead"),
                        "kafka.compression.type": "lz4"}

    def begin(self):
        self._inserted = 0

    def keep_up(self, fired):
        if self._inserted <= self.stage.confirmed():
            self.stage.insert("k", '"' + random.Random(1).randbytes(150_000).hex() + '"')
            self._inserted = self.stage.wal_end()


class LogReaderStands(Poison):
    """Who reads its standard error does so no more, and it has much to say."""

    also = ("WalpostDeadLetters",)

    def relay(self, changes, start=True, **options):
        reader, writer = os.pipe()
        fcntl.fcntl(writer, fcntl.F_SETPIPE_SZ, 4096)
        self._reads = True
        threading.Thread(target=self._read, args=(reader,), daemon=True).start()
        try:
            return super().relay(changes, start, stderr=writer)
        finally:
            os.close(writer)

    def _read(self, reader):
        while self._reads and os.read(reader, 65536):
            pass

    def begin(self):
        self._reads = False

    def keep_up(self, fired):
        self.stage.insert(None)  # each is a line


class ReloadedWrong(Fault):
    """SIGHUP finds a file that is wrong."""

    also = ("WalpostErrors",)

    def begin(self):
        self.started.reload(self.stage.config({"log.level": "loud"}))


FAULTS = {
    "WalpostDown": (Killed, KilledUnderAnotherName),
    "WalpostNotDelivering": (ServerStopped, SlotTaken),
    "WalpostNotReady": (ServerStopped,),
    "WalpostHeld": (PublicationDropped,),
    "WalpostRestarts": (EndsAgainAndAgain,),
    "WalpostNoStandby": (StandbyKilled,),
    "WalpostCommitLate": (KafkaSlow, ServerSlow),
    "WalpostCommitStuck": (KafkaFrozen,),
    "WalpostLagGrows": (LogOutrunsKafka,),
    "WalpostConfirmsNothing": (ReplicasMissing, ReplicasMissingForANewcomer),
    "WalpostInFlightFull": (KafkaSlow,),
    "WalpostSlotRunsOut": (LogOutrunsKafka,),
    "WalpostSlotNearlyLost": (LogOutrunsKafka,),
    "WalpostSlotLost": (LogOutrunsKafka,),
    "WalpostRetainedWalLarge": (LogOutrunsKafka,),
    "WalpostTopicMissing": (TopicMissing,),
    "WalpostSchemaMissing": (SubjectMissing, RegistryAway),
    "WalpostDeadLetters": (Poison, PoisonInABacklog),
    "WalpostEventsParked": (EventParked,),
    "WalpostParkingUnavailable": (TableOfParkedGone,),
    "WalpostScheduledLate": (ScheduledDoesNotFit, MoverFails),
    "WalpostErrors": (RowUpdated,),
    "WalpostKafkaUnreachable": (KafkaFrozen,),
    "WalpostKafkaThrottles": (KafkaThrottles,),
    "WalpostKafkaDataLoss": (TopicMadeAnew,),
    "WalpostReconnects": (WalsenderTerminated,),
    "WalpostRewinds": (KafkaRefuses,),
    "WalpostReloadRefused": (ReloadedWrong,),
    "WalpostLogLinesDropped": (LogReaderStands,),
}
