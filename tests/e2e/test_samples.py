"""The sample programs of the documentation: producers in one transaction, consumers with an inbox."""

import collections
import contextlib
import itertools
import json
import random
from concurrent.futures import ThreadPoolExecutor

import pytest
from confluent_kafka import ConsumerGroupTopicPartitions, Producer
from confluent_kafka.admin import AdminClient

from lib import places, samples
from lib.kafka import Reader
from lib.sql_scripts import run_script
from lib.waiting import wait_until

EMIT = (places.TREE / "sql" / "outbox_emit.sql").read_text()
ORDERS = (samples.SAMPLES / "orders.sql").read_text()
# So that the commit fails, after the order and its event were written.
CUSTOMERS = """
CREATE TABLE customer (name text PRIMARY KEY);
INSERT INTO customer VALUES ('carol');
ALTER TABLE orders ADD FOREIGN KEY (customer) REFERENCES customer DEFERRABLE INITIALLY DEFERRED;
"""


@pytest.mark.parametrize("name", samples.wanted_producers())
def test_a_sample_producer_writes_the_order_and_its_event_or_neither(stage, name):
    stage.sql(EMIT)
    stage.sql(ORDERS + CUSTOMERS)
    stage.create_topic()
    relay = stage.relay({"outbox.message.prefix": "outbox"})
    for how, order, customer, good in (
        ("outbox", "order-1", "nobody", False), ("emit", "order-2", "nobody", False),
        ("outbox", "order-3", "carol", True), ("emit", "order-4", "carol", True),
    ):
        done = samples.place_order(name, stage, how, order, customer, 4250)
        assert (done.returncode == 0) == good, f"{how} {customer}: {done.returncode}\n{done.stdout}{done.stderr}"
        assert good or "customer" in done.stderr, done.stderr
    stage.wait_all_confirmed(relay=relay)
    assert stage.sql("SELECT id, customer, cents FROM orders ORDER BY id") == [
        ("order-3", "carol", 4250), ("order-4", "carol", 4250)]
    seen = {(m.key.decode(), m.header("type"), tuple(sorted(json.loads(m.value).items()))) for m in stage.read()}
    assert seen == {
        (order, b"OrderPlaced", (("cents", 4250), ("customer", "carol"), ("order", order)))
        for order in ("order-3", "order-4")
    }
    assert len(stage.read()) == 2


class Orders:
    """Events of a dozen orders; the cents of each count up from 1, so that order and number can be seen."""

    KEYS = 12

    def __init__(self, stage):
        self._stage = stage
        self._cents = {f"order-{number}": 0 for number in range(self.KEYS)}
        self._random = random.Random(1)

    def write(self, count):
        """In transactions of one to eight events; each fifth one is rolled back."""
        for number in itertools.count():
            if count <= 0:
                return
            keep = number % 5 != 0
            cents = dict(self._cents)
            with self._stage.transaction() as connection:
                for key in self._random.choices(list(cents), k=self._random.randint(1, 8)):
                    cents[key] += 1
                    event = json.dumps({"order": key, "cents": cents[key]})
                    self._stage.insert(key, event, type="OrderPlaced", connection=connection)
                    count -= keep
                if not keep:
                    connection.rollback()
            if keep:
                self._cents = cents

    def expected(self):
        return {key: list(range(1, cents + 1)) for key, cents in self._cents.items()}


@contextlib.contextmanager
def held_at_the_twentieth(stage, consumers):
    """Each consumer stops within the transaction of its twentieth order."""
    for consumer in consumers:
        stage.sql(f"""
            CREATE FUNCTION {consumer.schema}.hold() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN
                IF NEW.number = 20 THEN PERFORM pg_advisory_xact_lock(20); END IF;
                RETURN NEW;
            END$$;
            CREATE TRIGGER hold BEFORE INSERT ON {consumer.schema}.booking
                FOR EACH ROW EXECUTE FUNCTION {consumer.schema}.hold()""")
    with stage.connect() as brake:
        brake.execute("SELECT pg_advisory_lock(20)")
        yield


def by_order(bookings):
    found = {}
    for order, cents in bookings:
        found.setdefault(order, []).append(cents)
    return found


def told_to_kafka(stage, consumer):
    """The offsets up to which its group has committed, by partition."""
    admin = AdminClient({"bootstrap.servers": stage.kafka.address})
    answer = admin.list_consumer_group_offsets([ConsumerGroupTopicPartitions(consumer.group)])[consumer.group]
    return {part.partition: max(0, part.offset) for part in answer.result(20).topic_partitions}


def write_and_kill(stage, relay, reader, orders, count):
    """The relay is killed after a third of the events, of which Postgres has hardly heard, and starts again."""
    before = reader.count()
    with ThreadPoolExecutor(1) as pool:
        written = pool.submit(orders.write, count)
        relay.wait_until(lambda: reader.count() >= before + count // 3, 20, f"{count // 3} more messages are there")
        relay.kill()
        stage.wait_released()
        relay.start()
        wait_until(written.done, 30, "all is written")
        written.result()


def killed_at_the_twentieth(stage, consumer):
    """At once: it tells Kafka every few seconds how far it is. Returns what it has told."""
    consumer.wait_until(lambda: consumer.is_held(), 60, f"{consumer.name} is at its twentieth order")
    consumer.kill()
    return told_to_kafka(stage, consumer)


def ends(messages):
    """How many there are, by partition."""
    return collections.Counter(message.partition for message in messages)


def deliver_twice_more(stage, messages):
    """Whole records, headers and all."""
    producer = Producer({"bootstrap.servers": stage.kafka.address})
    for message in 2 * messages:
        producer.produce(stage.topic(), message.value, message.key, message.partition, headers=list(message.headers))
    assert producer.flush(20) == 0


def test_the_sample_consumers_book_each_order_once_and_in_order(make_stage, own_postgres):
    stage = make_stage(postgres=own_postgres)  # transactions held open hold up new slots
    stage.create_topic(partitions=3)
    orders = Orders(stage)
    relay = stage.relay({"relay.feedback.interval": "10s"})
    assert run_script(stage, "inbox.sql").returncode == 0
    consumers = [samples.Consumer(f"consumer-{language}", stage) for language in ("python", "java")]
    with contextlib.ExitStack() as stack:
        reader = stack.enter_context(Reader(stage.kafka, stage.topic()))
        for consumer in consumers:
            stack.callback(consumer.end)

        write_and_kill(stage, relay, reader, orders, 300)
        reader.read_until(300)
        with held_at_the_twentieth(stage, consumers), ThreadPoolExecutor(len(consumers)) as pool:
            for consumer in consumers:
                consumer.start()
            told = dict(zip(consumers, pool.map(lambda consumer: killed_at_the_twentieth(stage, consumer), consumers)))
        for consumer in consumers:
            assert len(consumer.bookings()) == 19
            consumer.start()
        for _ in range(2):
            write_and_kill(stage, relay, reader, orders, 100)
        orders.write(30)
        expected = orders.expected()
        total = sum(map(len, expected.values()))
        for consumer in consumers:
            consumer.wait_until(lambda: len(consumer.bookings()) >= total, 60, f"{consumer.name} has booked all")
        stage.wait_all_confirmed(relay=relay)
        messages = reader.read_to_end()
        deliver_twice_more(stage, messages)
        end = {part: 3 * count for part, count in ends(messages).items()}
        for consumer in consumers:
            consumer.wait_until(lambda: told_to_kafka(stage, consumer) == end, 60, f"{consumer.name} reads all again")
        for consumer in consumers:
            assert consumer.stop() in (0, 143), consumer.tail()

    assert len({message.id for message in messages}) == total < len(messages), "the relay repeated nothing"
    repeated = False
    for consumer in consumers:
        known = {m.id for m in messages if m.offset < told[consumer].get(m.partition, 0)}
        repeated |= len(known) < 19  # one that tells Kafka every five seconds may just have done so
        assert by_order(consumer.bookings()) == expected, consumer.name
    assert repeated, "both were killed with nothing to repeat"


def test_the_samples_of_python_name_what_the_tests_run_them_with():
    tested = (places.TREE / "tests" / "requirements.txt").read_text().splitlines()
    for name in samples.PYTHON:
        assert set((samples.SAMPLES / name / "requirements.txt").read_text().splitlines()) <= set(tested)
