"""The promises, checked on plain data: what was committed, in commit order, and what stands in Kafka.

Fed piece by piece, in any interleaving: `committed` in commit order, `message` in the order of each partition. The
first occurrence of an event is its first message in its partition.

- *Nothing lost*: every committed event has a message. *Nothing foreign*: every message is of a committed event.
- *In order*: first occurrences of a lane come in commit order, out of the partition that the key belongs to. A lane is
  a partition, hence all of its aggregates; where events are parked, it is an aggregate.
- *Repetitions are re-runs*: after going back, a lane's messages go on one by one in commit order. Where a re-run
  breaks off and the sequence jumps forward over events that are there already, the part that broke off is a *late
  repetition*: what a dead or frozen producer had sent, and the broker took late. Allowed within one request window of
  such an end, counted apart; elsewhere a violation.
- *Positions tell repetitions*: keeping the highest walpost-position per lane keeps each event exactly once; a
  repetition has the position of its first occurrence, which lies in its transaction's commit record.
- *Confirmed means in Kafka*, or parked: see `confirmed`.
"""

import bisect
from array import array
from collections import Counter, deque
from dataclasses import dataclass, field

KEPT_PER_KIND = 50

# A broker lets a request wait for replicas for as long as the client says (request.timeout.ms: 30 s by default), and
# reads what came behind it on that connection only then.
WINDOW_MS = 31_000

# How long what an audit misses is waited for.
DOUBT_SECONDS = 20.0


@dataclass(frozen=True)
class Seen:
    """One message. `at_ms`: when the broker appended it."""

    topic: str
    partition: int
    offset: int
    id: int
    position: str
    at_ms: int = 0


class Timeline:
    """Which faults began when, and when producers died, froze or came back."""

    BEFORE = "before any fault"

    def __init__(self, window_ms=WINDOW_MS):
        self.window_ms = window_ms
        self._begun = [], []
        self._marks = []

    def begin(self, at_ms, kind):
        at = bisect.bisect(self._begun[0], at_ms)
        self._begun[0].insert(at, at_ms)
        self._begun[1].insert(at, kind)

    def producer_ended(self, at_ms):
        """Killed, frozen, thawed, or what it had sent was held up until now."""
        bisect.insort(self._marks, at_ms)

    def kind_at(self, at_ms):
        """The fault that began last."""
        at = bisect.bisect(self._begun[0], at_ms)
        return self._begun[1][at - 1] if at else self.BEFORE

    def allows_late(self, at_ms):
        at = bisect.bisect(self._marks, at_ms)
        return at > 0 and at_ms - self._marks[at - 1] <= self.window_ms


@dataclass
class _Part:
    """What is known of one partition."""

    waiting: deque = field(default_factory=deque)  # messages whose transaction is not known yet
    offset: int = -1


@dataclass(slots=True)
class _Lane:
    """What is known of what is in order."""

    committed: int = 0  # events of it, so far
    first: int = -1  # the highest place of a first occurrence
    last: int = -1  # place of the last message
    run: list = field(default_factory=list)  # repetitions since the sequence last went back: (id, offset, at)
    highest: tuple = ()


def parsed_position(text):
    """epoch, timeline, commit LSN, ordinal."""
    epoch, timeline, lsn, ordinal = text.split("-")
    assert (len(epoch), len(timeline), len(lsn), len(ordinal)) == (4, 8, 16, 8), text
    return int(epoch, 16), int(timeline, 16), int(lsn, 16), int(ordinal, 16)


class Checker:
    """`partition_of(id)` says where an event belongs: (topic, partition). `lane_of(id)`: what it is in order with."""

    def __init__(self, partition_of, timeline=None, lane_of=None):
        self.timeline = timeline or Timeline()
        self.violations = {}  # kind: the first of them, as facts
        self.violation_counts = Counter()
        self.duplicates = Counter()  # by the fault they arose in
        self.late = Counter()  # of them, late repetitions
        self.messages = 0
        self.unique = 0
        self._partition_of = partition_of
        self._lane_of = lane_of or partition_of
        self._parts, self._lanes = {}, {}
        self._rank = {}  # id: place in the commit order of all
        self._ids = array("q")
        self._end = array("Q")
        self._begin = array("Q")  # end of the transaction before
        self._place = array("I")  # place in its lane's commit order
        self._seen = bytearray()
        self._appended = array("Q")  # of the first occurrence, ms
        self._lsn = array("Q")
        self._ordinal = array("I")
        self._closed = 0, 0  # ends of the last transaction, and of the one before
        self._confirmed = 0  # events up to here were found in Kafka, or parked, when Postgres was told so
        self._parked = []  # ranks of those of them that were parked then

    # --- what happened

    def committed(self, id, end_lsn):
        """The next event in commit order; those of one transaction have the same `end_lsn`."""
        if id in self._rank:
            self._violation("truth", id=id, what="committed twice, says the second slot")
            return
        last, before = self._closed
        if end_lsn != last:
            self._closed = end_lsn, last
            before = last
        lane = self._lane(id)
        self._rank[id] = len(self._ids)
        self._ids.append(id)
        self._end.append(end_lsn)
        self._begin.append(before)
        self._place.append(lane.committed)
        lane.committed += 1
        self._seen.append(0)
        self._appended.append(0)
        self._lsn.append(0)
        self._ordinal.append(0)

    def message(self, message):
        """The next message of its partition."""
        part = self._part((message.topic, message.partition))
        self.messages += 1
        if message.offset <= part.offset:
            self._violation("harness", what="the consumer went back", **_facts(message))
        part.offset = message.offset
        part.waiting.append(message)
        self._work(part)

    def settle(self):
        """Looks at what waited for its transaction to be known."""
        for part in self._parts.values():
            self._work(part)

    def confirmed(self, lsn, at_ms, parked=frozenset()):
        """Postgres had been told before `at_ms` that it may forget up to `lsn`; all that Kafka then held has been given
        to us, and all transactions up to there too. `parked`: ids that stood in walpost.parked after it had been told,
        before `at_ms`. One that was parked is owed from then on: it is parked, or in Kafka."""
        self.settle()
        owed, self._parked = self._owed(lsn), []
        for rank in owed:
            if self._seen[rank] and self._appended[rank] <= at_ms:
                continue
            if self._ids[rank] in parked:
                self._parked.append(rank)
            else:
                self._violation("confirmed ahead", confirmed=lsn, at_ms=at_ms, appended_ms=self._appended[rank] or None,
                                was_parked=rank < self._confirmed, **self._event(rank))
        while self._confirmed < len(self._ids) and self._end[self._confirmed] <= lsn:
            self._confirmed += 1

    def is_all_there(self, lsn, parked=frozenset()):
        """Has each event up to `lsn`, of those that are owed, been seen, or is it parked?"""
        self.settle()
        return all(self._seen[rank] or self._ids[rank] in parked for rank in self._owed(lsn))

    def _owed(self, lsn):
        """Ranks of those up to `lsn` that were not found in Kafka yet."""
        end = self._confirmed
        while end < len(self._ids) and self._end[end] <= lsn:
            end += 1
        return [*self._parked, *range(self._confirmed, end)]

    def finish(self):
        """All is known and all was read: what is missing now is lost, what is unknown now was never committed."""
        self.settle()
        for part in self._parts.values():
            while part.waiting:
                self._violation("never committed", **_facts(part.waiting.popleft()))
                self._work(part)
        for rank, seen in enumerate(self._seen):
            if not seen:
                self._violation("lost", **self._event(rank))

    # --- what is known

    def event_count(self):
        return len(self._ids)

    def missing(self):
        return len(self._ids) - self.unique

    def ids(self):
        return self._ids

    def events(self):
        """(id, end_lsn) of all that was committed, in that order."""
        return zip(self._ids, self._end)

    @property
    def lost(self):
        return self.violation_counts["lost"] + self.violation_counts["confirmed ahead"]

    @property
    def out_of_order(self):
        return self.violation_counts["out of order"]

    # --- how

    def _part(self, name):
        part = self._parts.get(name)
        if part is None:
            part = self._parts[name] = _Part()
        return part

    def _lane(self, id):
        name = self._lane_of(id)
        lane = self._lanes.get(name)
        if lane is None:
            lane = self._lanes[name] = _Lane()
        return lane

    def _violation(self, kind, **facts):
        self.violation_counts[kind] += 1
        kept = self.violations.setdefault(kind, [])
        if len(kept) < KEPT_PER_KIND:
            kept.append(facts)

    violation = _violation

    def _event(self, rank):
        topic, partition = self._partition_of(self._ids[rank])
        return {"id": self._ids[rank], "rank": rank, "end_lsn": self._end[rank], "topic": topic,
                "partition": partition, "place": self._place[rank]}

    def _work(self, part):
        while part.waiting:
            rank = self._rank.get(part.waiting[0].id)
            if rank is None:
                return
            self._one(part.waiting.popleft(), rank)

    def _one(self, message, rank):
        if not self._is_in_place(message):
            self._violation("wrong partition", **_facts(message))
            return
        lane, place = self._lane(message.id), self._place[rank]
        again = bool(self._seen[rank])
        self._position(lane, message, rank, again)
        if again:
            self.duplicates[self.timeline.kind_at(message.at_ms)] += 1
        else:
            self._seen[rank] = 1
            self._appended[rank] = message.at_ms
            self.unique += 1
            if place < lane.first:
                self._violation("out of order", after_place=lane.first, **self._event(rank), **_at(message))
        if place <= lane.last:
            lane.run = []
        elif place > lane.last + 1 and lane.last < lane.first:
            self._broke_off(lane, message)
        if again:
            lane.run.append((message.id, message.offset, message.at_ms))
        else:
            lane.run = []
        lane.last = place
        lane.first = max(lane.first, place)

    def _is_in_place(self, message):
        return (message.topic, message.partition) == self._partition_of(message.id)

    def _broke_off(self, lane, message):
        """Forward over what is there already: the repetitions just read were no re-run."""
        for id, offset, at_ms in lane.run:
            self.late[self.timeline.kind_at(at_ms)] += 1
            if not self.timeline.allows_late(at_ms):
                self._violation("late repetition", id=id, offset=offset, at_ms=at_ms, topic=message.topic,
                                partition=message.partition, then=message.id)
        lane.run = []

    def _position(self, lane, message, rank, again):
        try:
            position = parsed_position(message.position)
        except (ValueError, AssertionError):
            self._violation("position", what="not in its form", position=message.position, **_facts(message))
            return
        lsn, ordinal = position[2:]
        if not self._begin[rank] <= lsn < self._end[rank]:
            self._violation("position", what="its LSN is not that of the commit record", position=message.position,
                            **self._event(rank))
        if again and (self._lsn[rank], self._ordinal[rank]) != (lsn, ordinal):
            self._violation("position", what="a repetition has another position", position=message.position,
                            first=f"{self._lsn[rank]:016X}-{self._ordinal[rank]:08X}", **_facts(message))
        kept = position > lane.highest
        if kept:
            lane.highest = position
        if kept and again:
            self._violation("dropping by position", what="a repetition is kept", **_facts(message))
        if not kept and not again:
            self._violation("dropping by position", what="a first occurrence is dropped", **_facts(message))
        if not again:
            self._lsn[rank], self._ordinal[rank] = lsn, ordinal


class AnyRelay(Checker):
    """Of a relay that promises less: nothing lost, nothing foreign, each key in one partition and in commit order.
    Repetitions are counted, wherever they come, and there need be no walpost-position. `key_of(id)`."""

    def __init__(self, key_of, timeline=None):
        super().__init__(lambda id: self._place_of.get(key_of(id), (None, None)), timeline, lane_of=key_of)
        self.newest = -1  # rank of the newest event that was seen
        self._key_of = key_of
        self._place_of = {}  # key: (topic, partition) of its first message

    def _is_in_place(self, message):
        place = message.topic, message.partition
        return self._place_of.setdefault(self._key_of(message.id), place) == place

    def _position(self, lane, message, rank, again):
        self.newest = max(self.newest, rank)

    def _broke_off(self, lane, message):
        lane.run = []


@dataclass
class Audit:
    """The slot held against Kafka: it stood at `lsn` before `at_ms`, and after that these ids were `parked`. `until`:
    where partitions ended later."""

    lsn: int
    at_ms: int
    parked: frozenset = frozenset()
    until: dict = None
    doubted_at: float = None

    def judge(self, checker, now):
        """All up to `until` and `lsn` was read. False: not judged yet.

        What is missing is waited for, because a broker that was frozen and leads no more tells an old end until it has
        learned of its successor. When it was appended decides then.
        """
        if not checker.is_all_there(self.lsn, self.parked):
            if self.doubted_at is None:
                self.doubted_at = now
            if now - self.doubted_at < DOUBT_SECONDS:
                return False
        checker.confirmed(self.lsn, self.at_ms, self.parked)
        return True


def _facts(message):
    return {"id": message.id, "topic": message.topic, "partition": message.partition, **_at(message)}


def _at(message):
    return {"offset": message.offset, "at_ms": message.at_ms, "position_text": message.position}
