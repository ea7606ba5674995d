"""Books each order once, whatever comes twice.

    python order_consumer.py position|id

Settings are in the environment: BOOTSTRAP_SERVERS, TOPIC, GROUP, GROUP_INSTANCE (a name that this process keeps when it
is started again, so that it goes on at once), DATABASE_URL. Its tables are in consumer.sql.
"""

import json
import os
import signal
import sys

import psycopg
from confluent_kafka import Consumer, KafkaException

NEW_POSITION = """
    INSERT INTO consumed_position (topic, partition, source, position) VALUES (%s, %s, %s, %s)
    ON CONFLICT (topic, partition, source) DO UPDATE SET position = EXCLUDED.position
    WHERE consumed_position.position < EXCLUDED.position
"""
NEW_ID = "INSERT INTO consumed_event (id) VALUES (%s) ON CONFLICT DO NOTHING"


def new_by_position(database, message, headers):
    """False: this event, or a later one, was here before."""
    source = headers.get("walpost-source", b"").decode()
    position = headers["walpost-position"].decode()
    return database.execute(NEW_POSITION, (message.topic(), message.partition(), source, position)).rowcount == 1


def new_by_id(database, _, headers):
    """False: this event was here before."""
    return database.execute(NEW_ID, (headers["id"].decode(),)).rowcount == 1


def handle(database, message, is_new):
    """One transaction: that the event was consumed, and what it does."""
    event = json.loads(message.value())
    with database.transaction():
        if is_new(database, message, dict(message.headers())):
            database.execute("INSERT INTO booking (order_id, cents) VALUES (%s, %s)", (event["order"], event["cents"]))


def main(is_new):
    consumer = Consumer({
        "bootstrap.servers": os.environ["BOOTSTRAP_SERVERS"],
        "group.id": os.environ["GROUP"],
        "group.instance.id": os.environ["GROUP_INSTANCE"],
        "auto.offset.reset": "earliest",
        # The client commits the offsets named by store_offsets() to Kafka from time to time.
        "enable.auto.offset.store": False,
    })
    stopping = []
    signal.signal(signal.SIGTERM, lambda *_: stopping.append(True))
    consumer.subscribe([os.environ["TOPIC"]])
    with psycopg.connect(os.environ["DATABASE_URL"], autocommit=True) as database:
        while not stopping:
            message = consumer.poll(0.2)
            if message is None:
                continue
            if message.error():
                raise KafkaException(message.error())
            handle(database, message, is_new)
            consumer.store_offsets(message)
    consumer.close()


if __name__ == "__main__":
    main({"position": new_by_position, "id": new_by_id}[sys.argv[1]])
