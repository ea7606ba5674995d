"""What arrived: is it all there, once, in order, and when did it come?"""

import re

_NUMBER = re.compile(rb'\\?"n\\?": ?([0-9.e+]+)')
_MOMENT = re.compile(rb'\\?"t\\?": ?([0-9.e+]+)')


def moment_of(value):
    """When the row was inserted, in ms since 1970."""
    return float(_MOMENT.search(value)[1])


def share(ordered, part):
    """The value that so much of them lies below: .5 is the median."""
    return ordered[min(len(ordered) - 1, int(len(ordered) * part))]


class Audit:
    """Of a run's messages. `rows` were written, numbered from `first` on, in the order of their numbers per key."""

    def __init__(self, messages, rows, first=1, numbers=None):
        """`numbers`: how many numbers there are when not all of them were used."""
        counts = bytearray(first + (numbers or rows))
        highest, partition_of = {}, {}
        self.received = self.again = self.out_of_order = self.split_keys = 0
        self.first_ms, self.last_ms = None, 0
        self.delays = []  # (when inserted, ms until the broker appended it)
        for message in messages:
            self.received += 1
            value = message.value()
            number = int(float(_NUMBER.search(value)[1]))
            stamp = message.timestamp()[1]
            self.first_ms = stamp if self.first_ms is None else min(self.first_ms, stamp)
            self.last_ms = max(self.last_ms, stamp)
            if counts[number]:
                self.again += 1
                continue
            counts[number] = 1
            key = message.key()
            self.out_of_order += highest.get(key, -1) > number
            highest[key] = number
            self.split_keys += partition_of.setdefault(key, message.partition()) != message.partition()
            inserted = moment_of(value)
            self.delays.append((inserted, stamp - inserted))
        self.lost = rows - sum(counts)

    def facts(self):
        return {
            "received": self.received, "lost": self.lost, "again": self.again, "out_of_order": self.out_of_order,
            "split_keys": self.split_keys,
        }

    def latencies(self, begin_ms, end_ms):
        """Of what was inserted in between, in ms."""
        found = sorted(delay for inserted, delay in self.delays if begin_ms <= inserted <= end_ms)
        if not found:
            return {}
        shares = {name: share(found, part) for name, part in (("p50", .5), ("p95", .95), ("p99", .99))}
        return {"measured": len(found), **shares, "max": found[-1]}
