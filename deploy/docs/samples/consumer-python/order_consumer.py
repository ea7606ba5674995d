"""Books each order once, however often it is delivered.

    python order_consumer.py

Settings are in the environment: BOOTSTRAP_SERVERS, TOPIC, GROUP, GROUP_INSTANCE (a name that this process keeps when it
is started again, so that it goes on at once), DATABASE_URL. Its table is in consumer.sql, walpost.accept() in
inbox.sql.
"""

import json
import os
import signal

import psycopg
from confluent_kafka import Consumer, KafkaException


def handle(database, consumer, message):
    """One transaction: that the event is accepted, and what it does."""
    event = json.loads(message.value())
    id = dict(message.headers())["id"].decode()
    with database.transaction():
        is_new, = database.execute("SELECT walpost.accept(%s, %s)", (consumer, id)).fetchone()
        if is_new:
            database.execute("INSERT INTO booking (order_id, cents) VALUES (%s, %s)", (event["order"], event["cents"]))


def main():
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
            handle(database, os.environ["GROUP"], message)
            consumer.store_offsets(message)
    consumer.close()


if __name__ == "__main__":
    main()
