"""A second broker beside a Kafka: for replicas that go missing and leaders that change."""

import base64
import itertools
import shutil
import uuid
from pathlib import Path

from confluent_kafka.admin import AdminClient, NewTopic

from lib import process
from lib.ports import take_port
from lib.waiting import wait_until

_SETTINGS = """
process.roles=broker
node.id={id}
controller.quorum.voters=1@127.0.0.1:{controller}
listeners=PLAINTEXT://127.0.0.1:{port}
advertised.listeners=PLAINTEXT://127.0.0.1:{port}
listener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT
controller.listener.names=CONTROLLER
inter.broker.listener.name=PLAINTEXT
log.dirs={log}
broker.session.timeout.ms=6000
broker.heartbeat.interval.ms=400
replica.lag.time.max.ms=3000
"""


_ids = itertools.count(2)  # that of a dead one is known for a while


class SecondBroker:
    """Registered with the controller of `first`, which must stay alive."""

    def __init__(self, first, folder):
        self._first = first
        self.id = next(_ids)
        self.folder = Path(folder)
        (self.folder / "log").mkdir(parents=True)
        self._log = self.folder / "broker.log"
        cluster = next(line for line in (first.folder / "log" / "meta.properties").read_text().splitlines()
                       if line.startswith("cluster.id="))
        directory = base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")
        (self.folder / "log" / "meta.properties").write_text(
            f"version=1\n{cluster}\nnode.id={self.id}\ndirectory.id={directory}\n")
        self._settings = self.folder / "server.properties"
        self._settings.write_text(_SETTINGS.format(
            id=self.id, controller=first.controller_port, port=take_port(), log=self.folder / "log"))
        self._process = None

    def start(self):
        self._process = self._first.launch_broker(self._settings, self._log)
        wait_until(self._is_known, 60, "the second broker is there", lambda: self._log.read_text()[-3000:])
        return self

    def _is_known(self):
        assert self._process.poll() is None, self._log.read_text()[-3000:]
        return self.id in self._told().brokers

    def is_forgotten(self):
        """Does nobody name it any more, as a broker or as the one to ask for changes?"""
        return self.id not in self._told().brokers

    def is_running(self):
        return self._process is not None and self._process.poll() is None

    def kill(self):
        self._process.kill()
        self._process.wait()

    def stop(self):
        self._process.terminate()
        process.wait_exit(self._process, 60, "the second broker")

    def end(self):
        if self.is_running():
            self.kill()
        shutil.rmtree(self.folder, ignore_errors=True)

    def _admin(self):
        return AdminClient({"bootstrap.servers": self._first.address, "log_level": 0})

    def _told(self, *topic):
        """What the first broker tells of the cluster."""
        return self._admin().list_topics(*topic, timeout=20)

    def _partitions(self, name):
        return self._told(name).topics[name].partitions.values()

    def create_topic(self, name, partitions, led_by_us, alone=False, **config):
        """A replica on each of the two, or with `alone` only one; one of them leads all partitions."""
        leader, other = (self.id, 1) if led_by_us else (1, self.id)
        settings = {key.replace("_", "."): str(value) for key, value in config.items()}
        topic = NewTopic(name, num_partitions=partitions, config=settings,
                         replica_assignment=[[leader] if alone else [leader, other]] * partitions)
        admin = self._admin()
        admin.create_topics([topic])[name].result(20)
        wait_until(lambda: self.leaders(name) == {leader}, 20, f"broker {leader} leads {name}")

    def leaders(self, name):
        return {partition.leader for partition in self._partitions(name)}

    def in_sync(self, name):
        """The smallest number of replicas in sync."""
        return min(len(partition.isrs) for partition in self._partitions(name))
