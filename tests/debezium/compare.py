"""Record by record: what Debezium wrote and what walpost wrote, and where they differ."""

import json
import re
from collections import defaultdict
from dataclasses import dataclass

SHOWN = 4  # examples of one kind of difference
RUN_ID = "__debezium.context.runId"
AROUND = 60  # bytes before and behind the first that differs


@dataclass(frozen=True)
class Difference:
    row: int
    part: str
    debezium: object
    walpost: object

    def text(self):
        one, other = _excerpts(self.debezium, self.walpost)
        return f"    row {self.row}\n      Debezium {one}\n      walpost  {other}"


def _excerpts(one, other):
    if not (isinstance(one, bytes) and isinstance(other, bytes)):
        return repr(one), repr(other)
    at = next((i for i, (a, b) in enumerate(zip(one, other)) if a != b), min(len(one), len(other)))
    begin = max(0, at - AROUND)
    told = f" (from byte {begin} of {len(one)} and {len(other)})" if begin or at + AROUND < len(one) else ""
    return f"{one[begin:at + AROUND]!r}{told}", f"{other[begin:at + AROUND]!r}"


def id_of(message):
    """The text of the header `id`, in whatever form headers are."""
    text = message.id
    if text.startswith("{"):
        text = json.loads(text)["payload"]
    return text.strip('"')


class Side:
    """All records of one of the two, by the id of the row."""

    def __init__(self, messages, prefix):
        self.by_id = {}
        self.sequences = defaultdict(list)
        for message in messages:
            id = id_of(message)
            assert id not in self.by_id, f"{id} is there twice, and nobody was restarted"
            self.by_id[id] = message
            if message.key is not None:
                self.sequences[self._topic(message, prefix), message.partition].append(id)
        self.prefix = prefix

    @staticmethod
    def _topic(message, prefix):
        return message.topic.removeprefix(prefix + ".")

    def topic(self, message):
        return self._topic(message, self.prefix)


def _header_differences(row, original, ours):
    names, our_names = [name for name, _ in original.headers], [name for name, _ in ours.headers]
    if names != our_names:
        yield Difference(row, "names of headers", names, our_names)
        return
    for (name, value), (_, our_value) in zip(original.headers, ours.headers):
        if name == RUN_ID:  # of the process, in whatever form: of the same length then
            value, our_value = len(value), len(our_value)
        if value != our_value:
            yield Difference(row, f"header {name}", value, our_value)


def _differences_of(row, original, ours, with_timestamp, are_equal):
    if original.value != ours.value and not are_equal(row, original.value, ours.value):
        yield Difference(row.number, "value", original.value, ours.value)
    for part, value, our_value in (
        ("key", original.key, ours.key),
        ("partition", original.partition, ours.partition), ("timestamp", original.timestamp_ms, ours.timestamp_ms),
    ):
        if part == "partition" and original.key is None or part == "timestamp" and not with_timestamp:
            continue
        if value != our_value:
            yield Difference(row.number, part, value, our_value)
    yield from _header_differences(row.number, original, ours)


def differences(rows, debezium, walpost, with_timestamp, is_known, are_equal):
    """All of them. `is_known` tells what may be missing on one side, `are_equal` which values may have other bytes."""
    for row in rows:
        original, ours = debezium.by_id.get(row.id), walpost.by_id.get(row.id)
        if original is None or ours is None:
            if not is_known(row, original, ours):
                yield Difference(row.number, "record", _whether(original), _whether(ours))
            continue
        if debezium.topic(original) != walpost.topic(ours):
            yield Difference(row.number, "topic", debezium.topic(original), walpost.topic(ours))
        yield from _differences_of(row, original, ours, with_timestamp(row), are_equal)


def _whether(message):
    return "wrote none" if message is None else "wrote one"


_ENVELOPE_NAME = re.compile(rb'"name":"shop\.public\.outbox\.[^"]*\.Value"')


def are_alike(topic, one, other):
    """But for what the page debezium/differences.md names: Debezium calls an envelope's schema after the first topic
    that it saw, where walpost names the row's own; and the members of objects in an array come in another order."""
    if one is None or other is None:
        return False
    one = _ENVELOPE_NAME.sub(f'"name":"shop.public.outbox.{topic}.Value"'.encode(), one)
    return one == other or _sorted(one) == _sorted(other)


def _sorted(value):
    """JSON whose objects within arrays have their members in order of names, and so have their schemas."""
    return json.dumps(_sorted_value(json.loads(value), False))


def _sorted_value(value, in_array):
    if isinstance(value, dict):
        members = [(name, _sorted_value(one, in_array or name == "items")) for name, one in value.items()]
        return dict(sorted(members)) if in_array else dict(members)
    if isinstance(value, list):
        of_schema = all(isinstance(one, dict) and "field" in one for one in value)
        values = [_sorted_value(one, in_array or not of_schema) for one in value]
        return sorted(values, key=lambda one: one["field"]) if of_schema and in_array else values
    return value


def order_differences(debezium, walpost):
    """Each partition holds the same keyed records in the same order."""
    both = debezium.by_id.keys() & walpost.by_id.keys()
    for part in sorted(debezium.sequences.keys() | walpost.sequences.keys()):
        one, other = ([id for id in side.sequences[part] if id in both] for side in (debezium, walpost))
        if one != other:
            at = next((i for i, (a, b) in enumerate(zip(one, other)) if a != b), min(len(one), len(other)))
            yield f"  order in {part[0]}/{part[1]}: from record {at} on\n" \
                  f"      Debezium {one[at:at + 5]}\n      walpost  {other[at:at + 5]}"


def told(name, found, order):
    """For a human."""
    kinds = defaultdict(list)
    for difference in found:
        kinds[difference.part].append(difference)
    lines = [f"{name}: {len(found)} differences"]
    for part, of_kind in kinds.items():
        lines.append(f"  {part}: {len(of_kind)} rows")
        lines += [difference.text() for difference in of_kind[:SHOWN]]
    return "\n".join([*lines, *order])
