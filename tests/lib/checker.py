"""The promises, as checks on what a consumer sees and what was committed."""

from collections import defaultdict


def check_nothing_lost(messages, events):
    """Every committed event is there, and nothing that was not committed."""
    seen = {message.id for message in messages}
    committed = {event.id for event in events}
    lost = [event.id for event in events if event.id not in seen]
    assert not lost, f"{len(lost)} of {len(committed)} committed events are not in Kafka: {lost[:5]}"
    foreign = seen - committed
    assert not foreign, f"{len(foreign)} events in Kafka were never committed: {sorted(foreign)[:5]}"


def check_once(messages):
    """No event is there twice."""
    counts = defaultdict(int)
    for message in messages:
        counts[message.id] += 1
    twice = [id for id, count in counts.items() if count > 1]
    assert not twice, f"{len(twice)} events are in Kafka more than once: {twice[:5]}"


def repeated(messages):
    """Ids of the events that are there more than once."""
    seen, twice = set(), set()
    for message in messages:
        (twice if message.id in seen else seen).add(message.id)
    return twice


def after(lsn, events):
    """Ids of the events whose transactions end past `lsn`: what a server sends that has heard no more."""
    return {event.id for event in events if event.end_lsn > lsn}


def check_order(messages, events):
    """Per aggregate the first occurrences come in the order of the commits, out of one partition."""
    rank = {event.id: number for number, event in enumerate(events)}
    partitions = defaultdict(set)
    last = {}
    seen = set()
    for message in messages:
        partitions[message.topic, message.key].add(message.partition)
        if message.id in seen or message.key is None:
            continue
        seen.add(message.id)
        key = message.topic, message.key
        assert last.get(key, -1) < rank[message.id], (
            f"aggregate {message.key!r}: {message.id} came after a later one, at {message.partition}/{message.offset}"
        )
        last[key] = rank[message.id]
    split = {key: numbers for key, numbers in partitions.items() if key[1] is not None and len(numbers) > 1}
    assert not split, f"aggregates in more than one partition: {dict(list(split.items())[:5])}"


def check_positions(messages, events):
    """A consumer that keeps the highest position per partition gets each event once, in order of the commits."""
    rank = {event.id: number for number, event in enumerate(events)}
    highest = {}
    id_at = {}
    kept = defaultdict(list)
    for message in messages:
        part = message.topic, message.partition
        assert id_at.setdefault(message.position, message.id) == message.id, (
            f"position {message.position} belongs to {id_at[message.position]} and to {message.id}"
        )
        if message.position > highest.get(part, ""):
            highest[part] = message.position
            kept[part].append(rank[message.id])
    for part, ranks in kept.items():
        assert ranks == sorted(ranks), f"{part}: the order of positions is not that of the commits"
    total = sum(map(len, kept.values()))
    assert total == len(events), f"by position {total} events remain of {len(events)} committed"


def check_all(messages, events):
    """At least once, in order, and repetitions can be told."""
    check_nothing_lost(messages, events)
    check_order(messages, events)
    check_positions(messages, events)


def check_confirmed(confirmed_lsn, messages, events):
    """Whatever Postgres may forget is in Kafka. Read the slot first, then Kafka to its end."""
    seen = {message.id for message in messages}
    gone = [event for event in events if event.end_lsn <= confirmed_lsn and event.id not in seen]
    assert not gone, f"{len(gone)} events up to the confirmed {confirmed_lsn} are not in Kafka: {gone[:5]}"
