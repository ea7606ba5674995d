"""Reads everything of all topics, for as long as a run lasts, through all that happens to the brokers."""

import re
import threading
from collections import Counter

import confluent_kafka
from confluent_kafka import TopicPartition

from chaos import events
from chaos.checker import Seen

_CONFIG = {
    "group.id": "walpost-chaos",
    "enable.auto.commit": False,
    "auto.offset.reset": "error",
    "fetch.wait.max.ms": 50,
    "fetch.queue.backoff.ms": 50,
    "queued.max.messages.kbytes": 32768,
    "socket.timeout.ms": 10000,
    "topic.metadata.refresh.interval.ms": 5000,
    "reconnect.backoff.ms": 50,
    "reconnect.backoff.max.ms": 500,
    "log_level": 0,
}


class Consumer:
    """Every message goes to `on_message` (as checker.Seen); one whose bytes are wrong to `on_strange`.

    It takes no heed of errors: brokers die here. That it stands still is noticed by who waits for it.
    """

    def __init__(self, address, parts, lock, on_message, on_strange):
        self.next = {part: 0 for part in parts}  # offset
        self.strange = 0
        self.compared = 0
        self._lock, self._on_message, self._on_strange = lock, on_message, on_strange
        self.errors = Counter()
        self._address = address
        self._consumer = self._opened()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self.failure = None

    def _opened(self):
        consumer = confluent_kafka.Consumer({"bootstrap.servers": self._address, **_CONFIG})
        consumer.assign([TopicPartition(*part, offset) for part, offset in self.next.items()])
        return consumer

    def start(self):
        self._thread.start()
        return self

    def stop(self):
        self._stop.set()
        self._thread.join(60)
        self._consumer.close()

    def has_read(self, ends):
        return all(self.next[part] >= end for part, end in ends.items())

    def _run(self):
        try:
            while not self._stop.is_set():
                self._take(self._consumer.consume(500, timeout=0.2))
        except Exception as failure:  # noqa: BLE001 - told by the run
            self.failure = failure

    def _take(self, messages):
        good = []
        for message in messages:
            error = message.error()
            if error is None:
                good.append(message)
            else:
                self.errors[error.str()] += 1
        with self._lock:
            for message in good:
                self._one(message)

    def _one(self, message):
        part = message.topic(), message.partition()
        if message.offset() != self.next[part]:
            self._strange(message, f"offset {self.next[part]} is not there")
        self.next[part] = message.offset() + 1
        headers = dict(message.headers() or ())
        id = self._id_of(message, headers)
        if id is not None:
            self.deliver(Seen(message.topic(), message.partition(), message.offset(), id,
                              headers.get("walpost-position", b"").decode(errors="replace"), message.timestamp()[1]))

    def _id_of(self, message, headers):
        """None if it has none. The rest of the message must be what belongs to that id."""
        try:
            id = int(headers["id"])
        except (KeyError, ValueError):
            self._strange(message, "no id in its headers")
            return None
        if headers.get("type") != events.TYPE.encode():
            self._strange(message, f"type of {id} is not what was written")
        self._compare(message, id)
        return id

    def deliver(self, seen):
        """Overridden by consumers that are no good, which the checker must find."""
        self._on_message(seen)

    def _compare(self, message, id):
        self.compared += 1
        payload = events.payload_of(id)
        if message.value() != (None if payload is None else payload.encode()):
            self._strange(message, f"value of {id} is not what was written")
        if message.key() != events.key_of(id).encode():
            self._strange(message, f"key of {id} is not what was written")
        if message.topic() != events.topic_of(id):
            self._strange(message, f"topic of {id} is not what was written")

    def _strange(self, message, what):
        self._on_strange(what=what, topic=message.topic(), partition=message.partition(), offset=message.offset(),
                         value=repr((message.value() or b"")[:80]), headers=repr(message.headers()))


class ByPayload(Consumer):
    """Finds the id in the payload, whatever is around it (events.row_with_id_in_payload), and compares nothing else."""

    _ID = re.compile(rb"\b%s(\d+)\." % events.ID_IN_PAYLOAD.encode())

    def _id_of(self, message, headers):
        found = self._ID.search(message.value() or b"")
        if found is None:
            self._strange(message, "no id in its payload")
            return None
        return int(found[1])


class Forgetful(Consumer):
    """Loses one message."""

    def __init__(self, *arguments, at=100):
        super().__init__(*arguments)
        self._before = at
        self._known = set()
        self._lost = None

    def deliver(self, seen):
        if self._lost is None and len(self._known) >= self._before and seen.id not in self._known:
            self._lost = seen.id
        self._known.add(seen.id)
        if seen.id != self._lost:  # its repetitions neither: they would make up for it
            super().deliver(seen)


class Confused(Consumer):
    """Takes one message for the next of its partition, and that for the one before."""

    def __init__(self, *arguments, at=100):
        super().__init__(*arguments)
        self._before = at
        self._known = set()
        self._held = None
        self._is_done = False

    def deliver(self, seen):
        is_new = seen.id not in self._known  # repetitions may come in any order
        self._known.add(seen.id)
        held = self._held
        if held and (seen.topic, seen.partition) == (held.topic, held.partition):
            self._held = None
            if is_new:
                self._is_done = True
                held, seen = swapped(seen, held.offset), swapped(held, seen.offset)
            super().deliver(held)
            super().deliver(seen)
        elif is_new and not self._held and not self._is_done and len(self._known) > self._before:
            self._held = seen
        else:
            super().deliver(seen)


def swapped(seen, offset):
    return Seen(seen.topic, seen.partition, offset, seen.id, seen.position, seen.at_ms)
