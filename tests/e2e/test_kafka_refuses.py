"""What Kafka never takes is the fault of one event; what it does not take yet is waited for, and named."""

import json
import re

import pytest

from lib.cures import walpost
from lib.kafka import Kafka
from lib.kafka_tools import KafkaTools
from lib.relay import config_text, run_command
from lib.waiting import wait_until

INTERNAL = "__consumer_offsets"
BY_VALUE = {"outbox.topic.replacement": "$1"}


@pytest.fixture
def fine(stage):
    """The topic that the others' events go to."""
    name = f"{stage.name}-fine"
    stage.kafka.create_topic(name, 1)
    return name


def test_an_event_for_an_internal_topic_goes_to_the_dead_letters_and_no_neighbour_is_sent_again(stage, fine):
    dead = f"{stage.name}-dead"
    stage.kafka.create_topic(dead, 1)
    relay = stage.relay({**BY_VALUE, "relay.poison": "dead-letter", "relay.dead_letter.topic": dead})
    with stage.transaction() as connection:
        before = stage.insert("a", topic=fine, connection=connection)
        guilty = stage.insert("a", topic=INTERNAL, connection=connection)
        after = stage.insert("b", topic=fine, connection=connection)
    stage.wait_all_confirmed(30, relay)
    assert [m.id for m in stage.kafka.read(fine)] == [before, after]
    (letter,) = stage.kafka.read(dead)
    assert letter.id == guilty
    assert b"internal to Kafka" in letter.header("walpost-dead-letter-reason")
    assert not relay.log("topic_waiting") and not relay.log("event_refused")


@pytest.mark.parametrize("name", [INTERNAL, "__transaction_state", "__share_group_state", "__cluster_metadata"])
def test_it_stops_the_relay_at_once_with_the_brokers_reason(stage, fine, name):
    relay = stage.new_relay(BY_VALUE)
    stage.insert("a", topic=fine)
    guilty = stage.insert("a", topic=name)
    relay.start()
    assert relay.wait_exit(30) == 3
    (error,) = relay.log("event_undeliverable")
    assert guilty in error["reason"] and name in error["reason"] and "INVALID_TOPIC_EXCEPTION" in error["reason"]
    assert not relay.log("topic_waiting")


def test_a_dead_letter_topic_cannot_be_internal(stage, folder):
    file = folder / "walpost.conf"
    file.write_text(config_text(stage.config({"relay.poison": "dead-letter", "relay.dead_letter.topic": INTERNAL})))
    done = run_command("check", "-c", file)
    assert done.returncode == 2 and "relay.dead_letter.topic" in done.stderr and "internal to Kafka" in done.stderr


@pytest.fixture
def making_kafka(folder):
    """A broker that makes the topics that it is asked for."""
    kafka = Kafka(folder / "making", "auto.create.topics.enable=true\n").start()
    yield kafka
    kafka.end()


def _waits_for(relay, word):
    """The first line on a topic that is waited for whose reason has the word: a broker that has just begun may have
    given another one before."""
    def found():
        return next((line for line in relay.log("topic_waiting") if word in line["reason"]), None)

    return relay.wait_until(found, 90, f"a topic is waited for because of {word}")


def test_a_name_that_collides_is_told_with_both_names_and_with_the_brokers_reason(make_stage, making_kafka):
    stage = make_stage(kafka=making_kafka)
    stage.kafka.create_topic("a.b", 1)
    relay = stage.relay({**BY_VALUE, "kafka.allow.auto.create.topics": "true"})
    stage.insert("a", topic="a_b")
    line = _waits_for(relay, "collides")
    assert "a_b" in line["reason"] and "a.b" in line["reason"]
    assert "auto.create.topics.enable" not in line["reason"]


def test_a_topic_that_the_brokers_would_create_and_do_not_is_told_with_their_setting(stage):
    relay = stage.relay({"kafka.allow.auto.create.topics": "true"})  # and the broker creates none
    stage.insert()
    _waits_for(relay, "auto.create.topics.enable")


def test_a_refused_timestamp_names_the_column_that_it_is_of(stage):
    stage.create_topic(partitions=1)
    stage.sql("ALTER TABLE outbox ADD at timestamptz")
    stage.insert("k")
    stage.sql("UPDATE outbox SET at = now()")
    stage.sql("INSERT INTO outbox (id, aggregatetype, aggregateid, type, payload, at) "
              "VALUES (gen_random_uuid(), 'order', 'k', 'created', '{}', now() + interval '2 days')")
    relay = stage.new_relay({"outbox.column.timestamp": "at"}).start()
    assert relay.wait_exit(60) == 3
    (error,) = relay.log("event_undeliverable")
    assert "INVALID_TIMESTAMP" in error["reason"] and "outbox.column.timestamp (at)" in error["reason"]


def test_check_finds_in_the_slot_what_the_relays_own_limit_refuses(stage, folder):
    stage.create_topic(partitions=1)
    fine = stage.insert("k")
    guilty = stage.insert("k", json.dumps({"fill": "x" * 1_200_000}))
    file = folder / "walpost.conf"
    file.write_text(config_text(stage.config({"kafka.message.max.bytes": "1000000"})))
    done = run_command("check", "--json", "-c", file)
    assert done.returncode == 1, done.stderr
    found = [finding for finding in json.loads(done.stdout) if finding["level"] == "fail"]
    (held,) = [finding for finding in found if finding["name"] == "slot_holds_refused"]
    assert guilty in held["what"] and "message.max.bytes = 1000000" in held["what"] and fine not in held["what"]
    assert any(finding["about"] == stage.topic() for finding in json.loads(done.stdout))
    file.write_text(config_text(stage.config({"kafka.message.max.bytes": "2000000"})))
    done = run_command("check", "--json", "-c", file)
    names = {finding["name"] for finding in json.loads(done.stdout)}
    assert "slot_holds_refused" not in names


# --- check finds in the slot what only a topic's own limit refuses

PLAIN = {"kafka.compression.type": "none"}
LARGE = json.dumps({"fill": "x" * 100_000})


class _Small:
    """A topic that takes less than walpost sends; events for it wait in the slot."""

    def __init__(self, stage, config):
        stage.create_topic("small", partitions=1, max_message_bytes=65536)
        self.stage = stage
        self.relay = stage.new_relay(config)
        self.config = config

    def check(self, config=None):
        """The exit code, and what is found about the topic."""
        self.relay.config_file.write_text(config_text(self.stage.config({**self.config, **(config or {})})))
        done = run_command("check", "--json", "-c", self.relay.config_file)
        about = [found for found in json.loads(done.stdout) if found["about"] == self.stage.topic("small")]
        return done.returncode, {found["name"]: found for found in about}

    def flows(self):
        last = self.stage.insert("z", topic="small")
        relay = self.stage.relay(self.config)
        self.stage.wait_all_confirmed(relay=relay)
        relay.stop()
        seen = [message.id for message in self.stage.read("small")]
        assert seen[-1] == last
        return seen


def test_check_names_the_largest_event_that_a_topic_refuses_and_its_cure_delivers_it(stage, folder):
    small = _Small(stage, PLAIN)
    fitting = stage.insert("a", topic="small")
    stage.insert("a", LARGE, topic="small", type="other")
    guilty = stage.insert("a", json.dumps({"fill": "x" * 100_200}), topic="small")
    exit_code, found = small.check()
    said = found["topic_size"]
    assert exit_code == 1 and said["level"] == "fail" and said["room"] == "topic"
    assert f"max.message.bytes of topic {stage.topic('small')} is 65536" in said["what"]
    assert f"(id {guilty}): walpost run stops at it." in said["what"]
    for change in ({"relay.poison": "park"}, {"relay.poison": "dead-letter", "relay.dead_letter.topic": "dead"},
                   {"outbox.skip.types": "created, other"}):
        assert small.check(change)[1]["topic_size"]["level"] == "warn"
    KafkaTools(folder / "tools").shell(said["cure"])
    wait_until(lambda: small.check()[1]["topic_size"]["level"] == "ok", 30, "the topic takes it")
    assert small.check()[0] == 0
    seen = small.flows()
    assert fitting in seen and guilty in seen and len(seen) == 4


def test_what_a_topic_refuses_is_discarded_as_check_says(stage):
    """A relay stopped at it: right after that, its topic is listed, which took no event yet."""
    small = _Small(stage, PLAIN)
    guilty = stage.insert("a", LARGE, topic="small")
    after = stage.insert("a", topic="small")
    small.relay.start()
    assert small.relay.wait_exit(40) == 3
    stage.wait_released()
    exit_code, found = small.check()
    assert exit_code == 1 and guilty in found["topic_size"]["what"]
    (lsn,) = re.findall(r"walpost slot skip --to (\S+)$", found["topic_size"]["what"])
    walpost(small.relay, "slot", "skip", "--to", lsn, "--force")
    exit_code, found = small.check()
    assert exit_code == 0 and found["topic_size"]["level"] == "warn"
    seen = small.flows()
    assert guilty not in seen and seen[0] == after


def test_what_may_fit_when_compressed_is_a_warning(stage):
    small = _Small(stage, {"kafka.compression.type": "lz4"})
    guilty = stage.insert("a", LARGE, topic="small")
    exit_code, found = small.check()
    assert exit_code == 0 and found["topic_size"]["level"] == "warn"
    assert guilty in found["topic_size"]["what"] and "compressed with lz4" in found["topic_size"]["what"]
    assert guilty in small.flows()


@pytest.mark.parametrize("above", [0, 1])
def test_check_and_the_relay_draw_the_line_at_the_same_byte(stage, above):
    small = _Small(stage, PLAIN)
    stage.insert("a", LARGE, topic="small")
    (size,) = re.findall(r"event of (\d+) bytes", small.check()[1]["topic_size"]["what"])
    stage.kafka.set_topic_config(stage.topic("small"), max_message_bytes=int(size) - above)
    exit_code, found = small.check()
    assert (exit_code, found["topic_size"]["level"] == "fail") == ((1, True) if above else (0, False))
    relay = small.relay.start()
    if above:
        assert relay.wait_exit(40) == 3
    else:
        stage.wait_all_confirmed(relay=relay)
