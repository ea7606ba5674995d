"""A private Kafka broker: real, one node, on its own port, gone with us. And what is in its topics."""

import shutil
import signal
import subprocess
from dataclasses import dataclass
from pathlib import Path

import confluent_kafka
from confluent_kafka.admin import AdminClient, AlterConfigOpType, ConfigEntry, ConfigResource, NewPartitions, NewTopic

from lib import process
from lib.ports import take_port
from lib.waiting import wait_until
from servers import cache

# Without end of retention: Kafka counts it from a record's timestamp, and some tests write old ones. Idle it costs
# half of what it costs as it comes: without a record for its own log twice a second, and with few threads.
_SETTINGS = """
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:{controller}
listeners=PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller}
advertised.listeners=PLAINTEXT://127.0.0.1:{port}
controller.listener.names=CONTROLLER
inter.broker.listener.name=PLAINTEXT
log.dirs={log}
num.partitions=4
auto.create.topics.enable=false
offsets.topic.replication.factor=1
offsets.topic.num.partitions=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
transaction.state.log.num.partitions=1
share.coordinator.state.topic.replication.factor=1
share.coordinator.state.topic.min.isr=1
group.initial.rebalance.delay.ms=0
log.cleaner.enable=false
log.retention.ms=-1
broker.session.timeout.ms=2000
broker.heartbeat.interval.ms=400
metadata.max.idle.interval.ms=0
num.network.threads=2
num.io.threads=3
background.threads=2
"""

# No first connection of a client should wait a second for a broker that is just starting.
_CLIENT = {
    "socket.timeout.ms": 5000,
    "reconnect.backoff.ms": 20,
    "reconnect.backoff.max.ms": 200,
    "log_level": 0,
}


@dataclass(frozen=True)
class Message:
    """What a consumer sees."""

    topic: str
    partition: int
    offset: int
    key: bytes
    value: bytes
    headers: tuple
    timestamp_ms: int

    def header(self, name):
        """The value of the one header of that name."""
        (value,) = [value for key, value in self.headers if key == name]
        return value

    @property
    def id(self):
        return self.header("id").decode()

    @property
    def position(self):
        return self.header("walpost-position").decode()


class Kafka:
    """One broker. `start` may follow `stop` or `kill` as often as wanted: same port, same data."""

    heap = ("-Xms128m", "-Xmx512m")
    replicas = 1

    def __init__(self, folder, more=""):
        """`more`: settings that win, with {port} and {controller} for the ports."""
        self._installed = cache.kafka()
        self.folder = Path(folder)
        self.folder.mkdir(parents=True)
        self.log = self.folder / "broker.log"
        self.port = take_port()
        self.controller_port = take_port()
        self._process = None
        shutil.copytree(self._installed / "formatted", self.folder / "log")
        self._settings = self.folder / "server.properties"
        self._settings.write_text(
            (_SETTINGS + more).format(port=self.port, controller=self.controller_port, log=self.folder / "log")
        )

    @classmethod
    def attached(cls, port):
        """A broker that another process of this test run has started, and ends."""
        self = cls.__new__(cls)
        self.port = port
        self._process = None
        return self

    @property
    def address(self):
        return f"127.0.0.1:{self.port}"

    def start(self):
        self.launch()
        wait_until(self.answers, 180, "Kafka answers", self.log_tail)
        return self

    def launch(self):
        """Starts without waiting."""
        assert not self.is_running()
        self._process = self.launch_broker(self._settings, self.log)

    def launch_broker(self, settings, log_file):
        """A process of this Kafka's program."""
        with open(log_file, "ab") as log:
            return subprocess.Popen(
                [*cache.JAVA, *self.heap, f"-XX:SharedArchiveFile={cache.kafka_classes()}",
                 f"-Djava.io.tmpdir={self.folder}",  # nothing is left in /tmp: libraries that it unpacks
                 "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn",
                 "-Dorg.slf4j.simpleLogger.showDateTime=true",
                 "-Dorg.slf4j.simpleLogger.dateTimeFormat=HH:mm:ss.SSS",
                 "-cp", f"{self._installed}/libs/*", "kafka.Kafka", settings],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=self.folder,
                preexec_fn=process.dies_with_us(), start_new_session=True,
            )

    def is_running(self):
        return self._process is not None and self._process.poll() is None

    def answers(self):
        assert self.is_running(), f"Kafka exited\n{self.log_tail()}"
        try:
            return self._admin().list_topics(timeout=1).brokers
        except confluent_kafka.KafkaException:
            return False

    def stop(self):
        """As its service would: clean."""
        self._process.send_signal(signal.SIGTERM)
        process.wait_exit(self._process, 60, "Kafka")

    def kill(self):
        self._process.kill()
        self._process.wait()

    def pause(self):
        """Alive and deaf: connections stay open, nothing is answered."""
        process.pause(self._process.pid)

    def resume(self):
        process.resume(self._process.pid)

    def ensure_running(self):
        """As a test finds it: up and answering, whatever the one before did."""
        if self.is_running():
            self.resume()
            wait_until(self.answers, 180, "Kafka answers", self.log_tail)
        else:
            self.start()

    def end(self):
        if self.is_running():
            self.kill()
        shutil.rmtree(self.folder, ignore_errors=True)

    def log_tail(self):
        return "--- Kafka says:\n" + "\n".join(self.log.read_text(errors="replace").splitlines()[-30:])

    def _admin(self):
        """Whose requests may take as long as results are waited for."""
        return AdminClient({"bootstrap.servers": self.address, **_CLIENT, "socket.timeout.ms": 20_000})

    def create_topic(self, name, partitions=4, **config):
        """Underscores in `config` stand for dots: max_message_bytes=65536. Usable when this returns."""
        settings = {key.replace("_", "."): str(value) for key, value in config.items()}
        admin = self._admin()
        topic = NewTopic(name, num_partitions=partitions, replication_factor=self.replicas, config=settings)
        wait_until(lambda: self._is_made(admin, topic), 60, f"topic {name} is made")
        wait_until(lambda: self._has_leaders(admin, name, partitions), 20, f"topic {name} has leaders")
        return name

    @staticmethod
    def _is_made(admin, topic):
        """Not while the broker is fenced: for a moment, after it stood still."""
        try:
            admin.create_topics([topic])[topic.topic].result(20)
        except confluent_kafka.KafkaException as failure:
            if failure.args[0].code() != confluent_kafka.KafkaError.INVALID_REPLICATION_FACTOR:
                raise
            return False
        return True

    @staticmethod
    def _has_leaders(admin, name, partitions):
        try:
            topic = admin.list_topics(name, timeout=5).topics[name]
        except confluent_kafka.KafkaException:
            return False
        return len(topic.partitions) == partitions and all(p.leader >= 0 for p in topic.partitions.values())

    def add_partitions(self, name, total):
        admin = self._admin()
        admin.create_partitions([NewPartitions(name, total)])[name].result(20)
        wait_until(lambda: self._has_leaders(admin, name, total), 20, f"topic {name} has {total} partitions")

    def delete_topic(self, name):
        admin = self._admin()  # a result needs its client alive
        admin.delete_topics([name])[name].result(20)
        wait_until(lambda: name not in self.topics(), 20, f"topic {name} is gone")

    def set_topic_config(self, name, **config):
        changes = [
            ConfigEntry(key.replace("_", "."), str(value), incremental_operation=AlterConfigOpType.SET)
            for key, value in config.items()
        ]
        resource = ConfigResource(ConfigResource.Type.TOPIC, name, incremental_configs=changes)
        admin = self._admin()
        admin.incremental_alter_configs([resource])[resource].result(20)
        wanted = {change.name: change.value for change in changes}

        def is_told():
            """The broker hears of it a moment after the controller."""
            told = admin.describe_configs([resource])[resource].result(20)
            return all(told[key].value == value for key, value in wanted.items())

        wait_until(is_told, 20, f"{name} has {wanted}")

    def topics(self):
        return set(self._admin().list_topics(timeout=10).topics)

    def groups(self):
        """The ids of all consumer groups that the broker knows."""
        admin = self._admin()  # a result needs its client alive
        return {group.group_id for group in admin.list_consumer_groups().result(20).valid}

    def read(self, *names):
        """Everything that is in these topics now, per topic and partition in order."""
        with Reader(self, *names) as reader:
            return reader.read_to_end()


class Reader:
    """A consumer of whole topics from their beginning; remembers what it has read."""

    def __init__(self, kafka, *names):
        self.messages = []
        self._names = names
        self._next = {}
        self._trouble = None
        self._consumer = confluent_kafka.Consumer({
            "bootstrap.servers": kafka.address,
            "group.id": "walpost-tests",
            "enable.auto.commit": False,
            "fetch.wait.max.ms": 20,
            "fetch.queue.backoff.ms": 20,
            **_CLIENT,
        })

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._consumer.close()

    def _assign_new_partitions(self):
        found = False
        for name in self._names:
            for number in self._consumer.list_topics(name, timeout=10).topics[name].partitions:
                found |= self._next.setdefault((name, number), 0) == 0
        if found:
            self._consumer.assign([
                confluent_kafka.TopicPartition(name, number, offset)
                for (name, number), offset in self._next.items()
            ])

    def count(self):
        """How many messages the topics hold, without reading them."""
        self._assign_new_partitions()
        return sum((self._ends() or {}).values())

    def read_to_end(self):
        """Reads up to the ends as they are now; returns all messages read so far."""
        wait_until(self._finds_partitions, 60, "the broker tells the partitions", lambda: str(self._trouble))
        what = "the broker tells the ends of the topics"
        ends = wait_until(self._ends, 60, what, lambda: str(self._trouble)) if self._next else {}
        wait_until(lambda: self._poll(ends), 60, "the consumer has reached the end of the topics")
        return self.messages

    def _finds_partitions(self):
        """False while a broker that was just frozen or restarted does not answer yet."""
        try:
            self._assign_new_partitions()
        except confluent_kafka.KafkaException as trouble:
            self._trouble = trouble
            return False
        return True

    def _ends(self):
        """None while there is no leader to ask: it was just frozen or restarted.

        Metadata told in that moment may name no leader, and then the client answers from its cache for a long time:
        so it is made to ask anew.
        """
        try:
            return {
                part: self._consumer.get_watermark_offsets(confluent_kafka.TopicPartition(*part), timeout=10)[1]
                for part in self._next
            }
        except confluent_kafka.KafkaException as trouble:
            self._trouble = trouble
            self._finds_partitions()
            return None

    def _poll(self, ends):
        while any(self._next[part] < end for part, end in ends.items()):
            got = self._consumer.consume(1000, timeout=0.1)
            if not got:
                return False
            for message in got:
                self._add(message)
        return True

    def read_until(self, count, deadline=30, on_failure=None):
        """Reads on until `count` messages are there in all; returns them."""
        wait_until(
            lambda: len(self.read_to_end()) >= count, deadline,
            f"{count} messages are in {', '.join(self._names)}",
            lambda: f"{len(self.messages)} are there\n{on_failure() if on_failure else ''}",
        )
        return self.messages

    def _add(self, message):
        error = message.error()
        if error is not None:
            raise confluent_kafka.KafkaException(error)
        self._next[message.topic(), message.partition()] = message.offset() + 1
        self.messages.append(Message(
            message.topic(), message.partition(), message.offset(), message.key(), message.value(),
            tuple(message.headers() or ()), message.timestamp()[1],
        ))
