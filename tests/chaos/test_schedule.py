"""What a seed stands for, what an event is, and what a soak calls flat."""

import itertools
import random
import zlib
from types import SimpleNamespace

import pytest

from chaos import events, faults
from chaos.run import kinds_for, poison_of, soak_verdict
from chaos.schedule import schedule


def _first(seed, count=200, **options):
    return list(itertools.islice(schedule(seed, **options), count))


def _words(steps):
    return [step.describe() for step in steps]


def test_the_same_seed_gives_the_same_faults_in_the_same_order():
    assert _words(_first(7)) == _words(_first(7))
    assert _words(_first(7)) != _words(_first(8))


def test_every_kind_of_fault_comes_up_and_kills_of_the_relay_dominate():
    steps = _first(1)
    drawn = [fault for step in steps for fault in step.faults]
    assert {type(fault) for fault in drawn} == set(faults.ALL)
    kills = sum(fault.times for fault in drawn if isinstance(fault, faults.KillRelay))
    assert kills > len(steps) * 3


def test_faults_overlap_and_those_of_one_group_never_do():
    pairs = [step.faults for step in _first(1) if len(step.faults) > 1]
    assert len(pairs) > 50
    assert all(len({fault.group for fault in pair}) == len(pair) for pair in pairs)
    assert any(not any(isinstance(fault, faults.KillRelay) for fault in pair) for pair in pairs)


def test_a_soak_draws_only_faults_that_spare_the_relay():
    kinds = tuple(kind for kind in faults.ALL if kind.spares_relay)
    assert not {fault.group for step in _first(1, kinds=kinds) for fault in step.faults} & {"relay"}


def test_each_fault_has_a_name_of_its_own_and_a_group():
    assert len({kind.name for kind in faults.ALL}) == len(faults.ALL)
    assert all(kind.group for kind in faults.ALL)


def test_without_parking_no_fault_makes_an_event_undeliverable():
    assert {kind for kind in faults.ALL if kind not in kinds_for("stop", faults.ALL)} == {
        faults.LowerLimit, faults.LockParked, faults.RevokeParked, faults.TerminateParking, faults.LowerOwnLimit}
    assert kinds_for("park", faults.ALL) == faults.ALL
    assert {poison_of(seed) for seed in range(2)} == {"stop", "park"}


def test_a_lowered_limit_has_shown_when_some_were_parked_since():
    world = SimpleNamespace(parked_ids={1, 2, 3})
    fault = faults.LowerLimit(random.Random(1))
    fault.begin_to_show(world)
    world.parked_ids |= set(range(fault.shows))
    assert not fault.has_shown(world)
    world.parked_ids |= set(range(fault.shows + 4))
    assert fault.has_shown(world)
    assert faults.KillRelay(random.Random(1)).has_shown(world)


def test_a_lowered_limit_catches_some_however_they_are_compressed():
    ids = [events.event_id(1, events.MIXED, n) for n in range(20_000)]
    sizes = [len(zlib.compress(payload.encode())) for payload in map(events.payload_of, ids) if payload]
    for limit in (16_000, 40_000):
        assert 10 < sum(size > limit for size in sizes) < 200


def test_payloads_are_of_all_sizes_from_none_and_empty_to_the_largest():
    payloads = [events.payload_of(events.event_id(1, events.MIXED, n)) for n in range(20_000)]
    sizes = {len(payload) for payload in payloads if payload is not None}
    assert None in payloads and "" in payloads and 1 in sizes and max(sizes) > 40_000
    largest = [events.payload_of(events.event_id(1, events.LARGEST, n)) for n in range(20)]
    assert max(map(len, largest)) == events.LARGEST_BYTES


def test_an_event_is_the_same_each_time_it_is_asked_for():
    id = events.event_id(3, events.MIXED, 77)
    assert (events.payload_of(id), events.key_of(id), events.topic_of(id)) == (
        events.payload_of(id), events.key_of(id), events.topic_of(id))


def _rows(memory, descriptors=20, threads=5, pid=1):
    return [(n, pid, kb, descriptors, threads) for n, kb in enumerate(memory)]


def test_a_soak_that_stays_is_flat_and_one_that_grows_is_not():
    assert all(flat for _, _, flat in soak_verdict(_rows([9_000] * 30 + [20_000] * 60)).values())
    assert not soak_verdict(_rows(range(20_000, 110_000, 1000)))["RSS in kB"][2]


@pytest.mark.parametrize("what", ["descriptors", "threads"])
def test_one_descriptor_or_thread_more_is_not_flat(what):
    rows = _rows([20_000] * 60) + _rows([20_000] * 30, **{what: 21})
    assert not soak_verdict(rows)[what][2]


def test_a_soak_without_samples_is_not_flat():
    assert not all(flat for _, _, flat in soak_verdict([]).values())


def test_a_relay_that_was_replaced_is_not_flat():
    assert not soak_verdict(_rows([20_000] * 60) + _rows([20_000] * 30, pid=2))["processes"][2]
