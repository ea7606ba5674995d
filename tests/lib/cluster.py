"""Three real Kafka nodes, each broker and controller, of which a test may stop, kill and freeze any."""

import shutil
import subprocess
import uuid
from base64 import urlsafe_b64encode
from pathlib import Path

import confluent_kafka
from confluent_kafka import ElectionType, TopicCollection, TopicPartition
from confluent_kafka.admin import AdminClient, AlterConfigOpType, ConfigEntry, ConfigResource

from lib.kafka import _CLIENT, Kafka
from lib.ports import take_port
from lib.waiting import wait_until
from servers import cache

_SETTINGS = """
process.roles=broker,controller
node.id={node}
controller.quorum.voters={voters}
listeners=PLAINTEXT://127.0.0.1:{port},PROXIED://127.0.0.1:{inner},CONTROLLER://127.0.0.1:{controller}
advertised.listeners=PLAINTEXT://127.0.0.1:{port},PROXIED://127.0.0.1:{proxy}
listener.security.protocol.map=PLAINTEXT:PLAINTEXT,PROXIED:PLAINTEXT,CONTROLLER:PLAINTEXT
controller.listener.names=CONTROLLER
inter.broker.listener.name=PLAINTEXT
log.dirs={log}
auto.create.topics.enable=false
default.replication.factor=3
min.insync.replicas=2
unclean.leader.election.enable=false
offsets.topic.num.partitions=1
offsets.topic.replication.factor=3
transaction.state.log.num.partitions=1
group.initial.rebalance.delay.ms=0
log.cleaner.enable=false
log.retention.check.interval.ms=60000
auto.leader.rebalance.enable=false
broker.session.timeout.ms=3000
broker.heartbeat.interval.ms=500
replica.lag.time.max.ms=4000
replica.fetch.max.bytes=4194304
controller.quorum.election.timeout.ms=1500
controller.quorum.fetch.timeout.ms=3000
num.network.threads=2
num.io.threads=4
background.threads=2
num.recovery.threads.per.data.dir=1
"""


class Node(Kafka):
    """One of the three. Beside its own port it has one that is advertised as `proxy`: who comes by the proxy stays."""

    heap = ("-Xms64m", "-Xmx320m")
    replicas = 3

    def __init__(self, folder, number, controllers):
        self._installed = cache.kafka()
        self.number = number
        self.folder = Path(folder)
        self.folder.mkdir(parents=True)
        self.log = self.folder / "broker.log"
        self.port, self.inner, self.proxy = take_port(), take_port(), take_port()
        self._process = None
        shutil.copytree(self._installed / "formatted", self.folder / "log")
        self._identify()
        voters = ",".join(f"{n}@127.0.0.1:{port}" for n, port in controllers.items())
        self._settings = self.folder / "server.properties"
        self._settings.write_text(_SETTINGS.format(
            node=number, voters=voters, port=self.port, inner=self.inner, proxy=self.proxy,
            controller=controllers[number], log=self.folder / "log",
        ))

    def _identify(self):
        """The log folder was formatted for node 1; nothing else in it is that node's own."""
        file = self.folder / "log" / "meta.properties"
        mine = {"node.id": self.number, "directory.id": urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")}
        lines = [line for line in file.read_text().splitlines() if line.split("=")[0] not in mine]
        file.write_text("\n".join(lines + [f"{key}={value}" for key, value in mine.items()]) + "\n")

    @property
    def pid(self):
        return self._process.pid

    def end_with_patience(self, deadline=40):
        """As its service would; killed when it cannot say good-bye, for lack of a quorum."""
        self._process.terminate()
        try:
            self._process.wait(deadline)
        except subprocess.TimeoutExpired:
            self.kill()


class KafkaCluster:
    """Topics with three replicas of which two must have a record; no unclean election."""

    def __init__(self, folder):
        self.folder = Path(folder)
        controllers = {number: take_port() for number in (1, 2, 3)}
        self.nodes = [Node(self.folder / f"node{number}", number, controllers) for number in (1, 2, 3)]

    def start(self):
        for node in self.nodes:
            node.launch()
        wait_until(self.is_whole, 120, "three brokers are there", self.log_tails)
        return self

    @property
    def address(self):
        return ",".join(node.address for node in self.nodes)

    @property
    def proxied_address(self):
        return ",".join(f"127.0.0.1:{node.proxy}" for node in self.nodes)

    def admin(self):
        return AdminClient({"bootstrap.servers": self.address, **_CLIENT})

    def is_whole(self):
        try:
            return len(self.admin().list_topics(timeout=2).brokers) == 3
        except confluent_kafka.KafkaException:
            return False

    def create_topic(self, name, partitions, **config):
        wait_until(lambda: self._created(name, partitions, config), 60, f"topic {name} is made", self.log_tails)

    def _created(self, name, partitions, config):
        try:
            self.nodes[0].create_topic(name, partitions, **config)
        except confluent_kafka.KafkaException as failure:
            return failure.args[0].code() == confluent_kafka.KafkaError.TOPIC_ALREADY_EXISTS
        return True

    def set_limit(self, topic, limit):
        """max.message.bytes; None: as it was made. Brokers may come and go."""
        operation = AlterConfigOpType.DELETE if limit is None else AlterConfigOpType.SET
        value = None if limit is None else str(limit)
        change = ConfigEntry("max.message.bytes", value, incremental_operation=operation)
        resource = ConfigResource(ConfigResource.Type.TOPIC, topic, incremental_configs=[change])

        def is_set():
            admin = self.admin()  # a result needs its client alive
            try:
                admin.incremental_alter_configs([resource], request_timeout=5)[resource].result(10)
            except (confluent_kafka.KafkaException, TimeoutError):
                return False
            return True

        wait_until(is_set, 60, f"max.message.bytes of {topic} is {limit}", self.log_tails)

    def leaders(self, topic):
        """{partition: number of the node that leads it}."""
        admin = self.admin()
        return {n: p.leader for n, p in admin.list_topics(topic, timeout=10).topics[topic].partitions.items()}

    def in_sync(self, topics):
        """Have all partitions all their replicas?"""
        admin = self.admin()
        try:
            described = admin.describe_topics(TopicCollection(list(topics)), request_timeout=5)
            return all(
                len(partition.isr) == 3 and partition.leader is not None
                for future in described.values() for partition in future.result(10).partitions
            )
        except (confluent_kafka.KafkaException, TimeoutError):
            return False

    def elect_preferred(self, parts):
        """Leadership goes to the first replica of each; who has it keeps it."""
        admin = self.admin()
        try:
            admin.elect_leaders(ElectionType.PREFERRED, [TopicPartition(*part) for part in parts]).result(15)
        except (confluent_kafka.KafkaException, TimeoutError):
            return False
        return True

    def end(self):
        for node in self.nodes:
            node.end()

    def log_tails(self):
        return "\n".join(node.log_tail() for node in self.nodes if node.log.exists())
