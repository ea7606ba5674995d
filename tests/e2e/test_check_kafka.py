"""What `walpost check` finds in Kafka: brought about, named, cured by the printed words."""

import uuid

import pytest
from confluent_kafka.admin import AclBinding, AclOperation, AclPermissionType, ResourcePatternType, ResourceType

from lib.guarded import PLAIN, GuardedKafka
from lib.kafka import Kafka
from lib.kafka_tools import KafkaTools
from lib.ports import take_port
from lib.relay import Relay
from lib.second_broker import SecondBroker
from lib.waiting import wait_until

USER = "plain"


class Setting:
    """A database with everything, and a topic that all its events go to; it is not there yet."""

    def __init__(self, database, kafka, folder, **config):
        self.database = database
        self.kafka = kafka
        self.topic = "t" + uuid.uuid4().hex[:12]
        database.config.update({"relay.sink": None, "kafka.bootstrap.servers": kafka.address,
                                "outbox.topic.replacement": self.topic, **config})
        database.kafka_tools = KafkaTools(folder / "tools")

    def create(self, **config):
        self.kafka.create_topic(self.topic, 2, **config)

    def findings(self):
        """Those about our topic, and about Kafka."""
        return {name: finding for name, finding in self.database.check().items()
                if finding["about"] in ("", self.topic)}

    def is_fine(self, name):
        finding = self.findings().get(name)
        return finding is None or finding["level"] == "ok"

    def found(self, name, level, part):
        finding = self.findings()[name]
        assert finding["level"] == level and part in finding["what"], finding
        return finding

    def cured(self, finding):
        """The printed words help; some take a moment in Kafka."""
        self.database.apply(finding)
        wait_until(lambda: self.is_fine(finding["name"]), 30, f"{finding['name']} is fine")


@pytest.fixture
def setting(ready, house, folder):
    return Setting(ready, house.kafka(), folder)


def test_a_topic_that_will_do_and_nothing_is_written(setting):
    setting.create()
    findings = setting.findings()
    assert findings["topic"]["level"] == "ok" and "2 partitions" in findings["topic"]["what"]
    assert findings["topic"]["room"] == "topic" and findings["kafka"]["room"] == "kafka"
    for name in ("librdkafka", "kafka", "kafka_idempotence", "topic_write", "topic_in_sync", "topic_size"):
        assert findings[name]["level"] == "ok", findings[name]
    assert not setting.database.failures()
    assert setting.kafka.read(setting.topic) == []


def test_more_requests_in_flight_than_keep_the_order(setting):
    setting.database.config["kafka.max.in.flight"] = "6"
    assert "max.in.flight" in setting.found("kafka", "fail", "max.in.flight")["what"]


# --- do its brokers answer where they say that they are

_ADVERTISED = """
listeners=PLAINTEXT://127.0.0.1:{{port}},ADV://127.0.0.1:{port},CONTROLLER://127.0.0.1:{{controller}}
advertised.listeners=PLAINTEXT://127.0.0.1:{{port}},ADV://{advertised}
listener.security.protocol.map=PLAINTEXT:PLAINTEXT,ADV:PLAINTEXT,CONTROLLER:PLAINTEXT
"""


@pytest.mark.parametrize("advertised, why", [
    ("kafka-0.kafka-headless.invalid:20094", "resolve"), ("127.0.0.1:1", "Connection refused")])
def test_an_advertised_listener_that_nobody_reaches(ready, folder, advertised, why):
    """The bootstrap server answers, and no right is missing."""
    port = take_port()
    kafka = Kafka(folder / "advertising", _ADVERTISED.format(port=port, advertised=advertised)).start()
    try:
        setting = Setting(ready, kafka, folder, **{"kafka.bootstrap.servers": f"127.0.0.1:{port}"})
        setting.create()
        finding = setting.found("kafka_brokers", "fail", advertised)
        assert why in finding["what"] and "advertised.listeners" in finding["cure"]
        assert not [one for one in setting.findings().values() if "DescribeConfigs" in one["what"]]
    finally:
        kafka.end()


# --- is it there


def test_a_missing_topic(setting):
    setting.cured(setting.found("topic", "fail", "does not exist (outbox.topic.replacement"))


def test_a_missing_dead_letter_topic(setting):
    setting.create()
    letters = setting.topic + ".letters"
    setting.database.config.update({"relay.poison": "dead-letter", "relay.dead_letter.topic": letters})
    finding = setting.database.check()["dead_letter_topic"]
    assert finding["level"] == "fail" and finding["about"] == letters
    setting.database.apply(finding)
    assert setting.database.check()["dead_letter_topic"]["level"] == "ok"


def test_a_topic_that_took_events_and_is_gone(setting, folder):
    setting.create()
    relay = Relay(setting.database.config, folder).start()
    setting.database.sql("INSERT INTO outbox (id, aggregatetype, aggregateid, type, payload) "
                         "VALUES (gen_random_uuid(), 't', '1', 'x', '{}')")
    wait_until(lambda: setting.kafka.read(setting.topic), 20, "the event is there")
    relay.stop()
    setting.database.config["outbox.topic.replacement"] = None  # of another configuration
    assert setting.found("topic", "ok", "it received events before")
    setting.kafka.delete_topic(setting.topic)
    setting.cured(setting.found("topic", "warn", "does not exist: it received events before"))


def test_a_name_that_no_topic_can_have(setting):
    setting.database.config["outbox.topic.replacement"] = "no good"
    finding = setting.database.check()["topic"]
    assert finding["level"] == "fail" and "outbox.topic.replacement" in finding["cure"]


def test_topics_that_the_broker_does_not_make(setting):
    setting.create()
    setting.database.config["kafka.allow.auto.create.topics"] = "true"
    setting.cured(setting.found("kafka_auto_create", "warn", "missing topics are not created"))


def test_topics_that_the_broker_makes_are_not_made_by_asking(ready, folder):
    kafka = Kafka(folder / "willing", "auto.create.topics.enable=true\n").start()
    try:
        setting = Setting(ready, kafka, folder, **{"kafka.allow.auto.create.topics": "true"})
        assert "created when it is needed" in setting.findings()["topic"]["what"]
        assert setting.findings()["kafka_auto_create"]["level"] == "ok"
        assert setting.topic not in kafka.topics()
    finally:
        kafka.end()


# --- its configuration


def test_a_topic_that_takes_less_than_we_send(setting):
    setting.create(max_message_bytes=65536)
    setting.cured(setting.found("topic_size", "warn", "max.message.bytes is 65536"))


def test_a_topic_that_is_compacted(setting):
    setting.create(cleanup_policy="compact")
    setting.database.config["outbox.key.null"] = "allow"
    setting.cured(setting.found("topic_cleanup", "warn", "outbox.key.null is allow"))


def test_a_topic_that_may_lose_what_it_took(setting):
    setting.create(unclean_leader_election_enable="true")
    setting.cured(setting.found("topic_unclean", "warn", "unclean.leader.election.enable"))


def test_a_topic_with_times_of_its_own(setting):
    setting.create(message_timestamp_type="LogAppendTime")
    assert setting.is_fine("topic_timestamp")
    setting.database.sql("ALTER TABLE outbox ADD at timestamptz")
    setting.database.config["outbox.column.timestamp"] = "at"
    setting.cured(setting.found("topic_timestamp", "warn", "LogAppendTime"))


def test_more_replicas_in_sync_than_there_are(setting):
    setting.create(min_insync_replicas=2)
    setting.cured(setting.found("topic_in_sync", "warn", "min.insync.replicas is 2, but there are only 1"))


# --- its replicas


@pytest.fixture
def two_brokers(ready, mortal_kafka, folder):
    # Beside the first, for both need a mount point above them.
    second = SecondBroker(mortal_kafka, mortal_kafka.folder.with_name(f"second-{folder.name}")).start()
    setting = Setting(ready, mortal_kafka, folder)
    yield setting, second
    mortal_kafka.delete_topic(setting.topic)
    second.end()
    wait_until(second.is_forgotten, 30, "the broker is forgotten")


def test_one_replica_where_there_could_be_two(two_brokers):
    setting, _ = two_brokers
    setting.create()
    setting.cured(setting.found("topic_replication", "warn", "one replica"))
    setting.cured(setting.found("topic_in_sync", "warn", "min.insync.replicas is 1"))


def test_a_broker_that_is_away(two_brokers):
    setting, second = two_brokers
    second.create_topic(setting.topic, 2, led_by_us=False, min_insync_replicas=2)
    assert setting.is_fine("topic_in_sync")
    second.kill()
    wait_until(lambda: not setting.is_fine("topic_in_sync"), 30, "a replica is missing")
    assert "start the brokers" in setting.found("topic_in_sync", "fail", "has 1 in sync now")["cure"]
    second.start()
    wait_until(lambda: setting.is_fine("topic_in_sync"), 60, "it is in sync again")


def test_partitions_without_a_leader(two_brokers):
    setting, second = two_brokers
    second.create_topic(setting.topic, 2, led_by_us=True, alone=True)
    assert "topic_leaders" not in setting.findings()
    second.kill()
    wait_until(lambda: setting.findings().get("topic_leaders", {}).get("level") == "fail", 60,
               "the partitions have no leader")
    second.start()
    wait_until(lambda: "topic_leaders" not in setting.findings(), 60, "they have one again")


# --- rights


def _watched(database, kafka, folder):
    """Comes in by password, as a user whom ACLs can mean."""
    setting = Setting(database, kafka, folder, **{
        **kafka.by_password("PLAIN", USER), "kafka.security.protocol": "sasl_ssl", "kafka.sasl.password": PLAIN[USER]})
    more = f"--command-config {kafka.command_config(folder)}"
    database.kafka_tools = KafkaTools(folder / "admin-tools", more)
    return setting


@pytest.fixture
def watched(ready, mortal_kafka, folder):
    setting = _watched(ready, mortal_kafka, folder)
    setting.create()
    yield setting
    mortal_kafka.delete_topic(setting.topic)


def _acl(kind, name, who, operation, permission, pattern=ResourcePatternType.LITERAL):
    return AclBinding(kind, name, pattern, f"User:{who}", "*", operation, permission)


def _of_topic(name, who, operation=AclOperation.WRITE, permission=AclPermissionType.DENY, **more):
    return _acl(ResourceType.TOPIC, name, who, operation, permission, **more)


@pytest.fixture
def allowed(watched):
    """By an ACL, beside which others count too."""
    allowance = _of_topic(watched.topic, USER, AclOperation.ALL, AclPermissionType.ALLOW)
    watched.kafka.change_acls(allowance)
    assert watched.is_fine("topic_write")
    yield watched
    watched.kafka.change_acls(allowance, take_back=True)


def test_a_topic_that_an_acl_denies_us(allowed):
    allowed.kafka.change_acls(_of_topic(allowed.topic, USER))
    allowed.cured(allowed.found("topic_write", "fail", allowed.topic))


def test_topics_that_an_acl_denies_everybody_by_the_beginning_of_their_name(allowed):
    allowed.kafka.change_acls(_of_topic(allowed.topic[:6], "*", pattern=ResourcePatternType.PREFIXED))
    allowed.cured(allowed.found("topic_write", "fail", allowed.topic))


def test_a_topic_that_we_may_not_even_see(watched):
    denial = _of_topic(watched.topic, USER, AclOperation.ALL)
    watched.kafka.change_acls(denial)
    watched.found("topic", "fail", "walpost may not describe and write it")
    watched.kafka.change_acls(denial, take_back=True)
    assert watched.is_fine("topic")


def test_a_topic_whose_acls_are_for_others(watched):
    others = _of_topic(watched.topic, "other", permission=AclPermissionType.ALLOW)
    see = _of_topic(watched.topic, USER, AclOperation.DESCRIBE, AclPermissionType.ALLOW)
    watched.kafka.change_acls(others, see)
    finding = watched.findings()["topic_write"]
    assert finding["level"] in ("warn", "fail")  # before and since librdkafka 2.3.0
    watched.cured(finding)
    watched.kafka.change_acls(others, see, take_back=True)


def test_a_producer_that_gets_no_id(watched):
    """Neither by a right to the cluster, nor by one to write to some topic."""
    nowhere = _of_topic("*", USER)
    cluster = _acl(ResourceType.BROKER, "kafka-cluster", "other", AclOperation.IDEMPOTENT_WRITE,
                   AclPermissionType.ALLOW)
    watched.kafka.change_acls(nowhere, cluster)
    try:
        watched.cured(watched.found("kafka_idempotence", "fail", "no producer id"))
    finally:
        ours = _acl(ResourceType.BROKER, "kafka-cluster", USER, AclOperation.IDEMPOTENT_WRITE,
                    AclPermissionType.ALLOW)
        watched.kafka.change_acls(nowhere, cluster, ours, take_back=True)


def test_a_user_who_may_not_make_topics(ready, folder):
    kafka = GuardedKafka(folder / "guarded", "auto.create.topics.enable=true\n").start()
    try:
        setting = _watched(ready, kafka, folder)
        ready.config["kafka.allow.auto.create.topics"] = "true"
        assert "created when it is needed" in setting.findings()["topic"]["what"]
        kafka.change_acls(
            _of_topic("*", USER, AclOperation.CREATE),
            _acl(ResourceType.BROKER, "kafka-cluster", "other", AclOperation.CREATE, AclPermissionType.ALLOW))
        setting.cured(setting.found("kafka_auto_create", "warn", "walpost may not create topics"))
    finally:
        kafka.end()
