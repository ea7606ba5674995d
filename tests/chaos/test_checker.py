"""The checker on plain data: each way of breaking a promise is found, and what is allowed passes."""

from concurrent.futures import Future

import pytest
from confluent_kafka import TopicPartition
from confluent_kafka.admin import ListOffsetsResultInfo

from chaos.checker import DOUBT_SECONDS, AnyRelay, Audit, Checker, Seen, Timeline
from chaos.world import ends_of

ONE = ("t", 0)
WINDOW_MS = 1000


def position(end_lsn, ordinal=0):
    return f"0000-00000001-{end_lsn - 5:016X}-{ordinal:08X}"


class Case:
    """Events 1..count, each committed by itself, the n-th ending at n * 10; all in one partition."""

    def __init__(self, count=10, partition_of=lambda id: ONE, lane_of=None):
        self.timeline = Timeline(WINDOW_MS)
        self.checker = Checker(partition_of, self.timeline, lane_of)
        self.offset = 0
        for id in range(1, count + 1):
            self.checker.committed(id, id * 10)

    def sees(self, *ids, at_ms=0, topic="t", partition=0):
        for id in ids:
            self.checker.message(Seen(topic, partition, self.offset, id, position(id * 10), at_ms))
            self.offset += 1
        return self

    def violations(self):
        self.checker.finish()
        return set(self.checker.violation_counts)


def test_all_once_and_in_order_is_right():
    assert Case().sees(*range(1, 11)).violations() == set()


def test_a_message_may_be_seen_before_its_transaction_is_known():
    case = Case(0).sees(1, 2, 3)
    assert case.checker.unique == 0
    for id in (1, 2, 3):
        case.checker.committed(id, id * 10)
    assert case.violations() == set() and case.checker.unique == 3


def test_a_lost_event_is_found():
    case = Case().sees(1, 2, 3, 4, 6, 7, 8, 9, 10)
    assert case.violations() == {"lost"}
    assert [facts["id"] for facts in case.checker.violations["lost"]] == [5]


def test_a_lost_last_event_is_found():
    assert Case().sees(*range(1, 10)).violations() == {"lost"}


def test_two_swapped_events_are_found():
    assert "out of order" in Case().sees(1, 2, 4, 3, *range(5, 11)).violations()


def test_a_rolled_back_event_is_found():
    case = Case().sees(*range(1, 6), 99, *range(6, 11))
    assert "never committed" in case.violations()


def test_a_re_run_of_a_suffix_is_right_and_counted():
    case = Case()
    case.timeline.begin(100, "kill")
    case.sees(1, 2, 3, 4, 5).sees(3, 4, 5, at_ms=200).sees(6, 7, 8, 9, 10)
    assert case.violations() == set()
    assert case.checker.duplicates == {"kill": 3} and not case.checker.late


def test_a_re_run_of_a_re_run_is_right():
    assert Case().sees(1, 2, 3, 4, 5, 2, 3, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10).violations() == set()


def test_a_first_occurrence_after_newer_ones_is_found_also_when_repetitions_surround_it():
    # 4 is missing in the first run; the re-run brings it, too late.
    case = Case().sees(1, 2, 3, 5, 6).sees(3, 4, 5, 6, 7, 8, 9, 10)
    assert "out of order" in case.violations()
    assert case.checker.violations["out of order"][0]["id"] == 4


def test_an_old_event_repeated_among_newer_ones_is_found():
    case = Case().sees(1, 2, 3, 4, 5, 6, 2, 7, 8, 9, 10)
    assert case.violations() == {"late repetition"}
    assert case.checker.violations["late repetition"][0]["id"] == 2


def test_a_re_run_with_a_hole_is_found():
    assert Case().sees(1, 2, 3, 4, 5, 2, 3, 5, 6, 7, 8, 9, 10).violations() == {"late repetition"}


def test_a_late_repetition_within_the_window_of_a_killed_producer_is_counted_apart():
    case = Case()
    case.timeline.begin(1000, "kill")
    case.timeline.producer_ended(1000)
    case.sees(1, 2, 3, 4, 5, 6).sees(2, 3, at_ms=1000 + WINDOW_MS).sees(7, 8, 9, 10, at_ms=5000)
    assert case.violations() == set()
    assert case.checker.late == {"kill": 2} and case.checker.duplicates == {"kill": 2}


@pytest.mark.parametrize("at_ms", [999, 1001 + WINDOW_MS])
def test_the_same_outside_of_the_window_is_found(at_ms):
    case = Case()
    case.timeline.producer_ended(1000)
    case.sees(1, 2, 3, 4, 5, 6).sees(2, 3, at_ms=at_ms).sees(7, 8, 9, 10, at_ms=5000)
    assert case.violations() == {"late repetition"}


def test_a_window_never_excuses_a_first_occurrence_out_of_order():
    case = Case()
    case.timeline.producer_ended(0)
    assert "out of order" in case.sees(1, 3, 2, *range(4, 11), at_ms=1).violations()


def test_a_key_in_another_partition_is_found():
    case = Case(2).sees(1).sees(2, partition=1)
    assert "wrong partition" in case.violations()


def test_partitions_are_judged_one_by_one():
    case = Case(4, partition_of=lambda id: ("t", id % 2))
    case.sees(2, 4, partition=0).sees(1, 3, partition=1)
    assert case.violations() == set()


def test_an_event_that_postgres_may_forget_and_kafka_has_not_is_found():
    case = Case().sees(1, 2)
    case.checker.confirmed(20, at_ms=0)
    assert not case.checker.violation_counts
    case.checker.confirmed(30, at_ms=0)
    assert set(case.checker.violation_counts) == {"confirmed ahead"}
    # That it came later makes it no better.
    assert case.sees(*range(3, 11)).violations() == {"confirmed ahead"}


def test_the_commit_that_ends_behind_the_confirmed_position_is_not_yet_owed():
    case = Case().sees(1, 2)
    case.checker.confirmed(29, at_ms=0)
    assert not case.checker.violation_counts


def test_an_event_that_was_appended_after_postgres_had_forgotten_it_is_found():
    case = Case(2).sees(1, at_ms=500).sees(2, at_ms=501)
    case.checker.confirmed(20, at_ms=500)
    assert case.violations() == {"confirmed ahead"}
    assert [facts["id"] for facts in case.checker.violations["confirmed ahead"]] == [2]


@pytest.mark.parametrize(("at_ms", "found"), [(500, set()), (501, {"confirmed ahead"})])
def test_what_an_audit_misses_may_come_late_but_must_have_been_there(at_ms, found):
    case, audit = Case(2).sees(1), Audit(lsn=20, at_ms=500)
    assert not audit.judge(case.checker, now=0.0)
    case.sees(2, at_ms=at_ms)
    assert audit.judge(case.checker, now=1.0)
    assert case.violations() == found


def test_what_an_audit_misses_is_not_waited_for_without_end():
    case, audit = Case(2).sees(1), Audit(lsn=20, at_ms=500)
    assert not audit.judge(case.checker, now=7.0)
    assert not audit.judge(case.checker, now=6.9 + DOUBT_SECONDS)
    assert audit.judge(case.checker, now=7.0 + DOUBT_SECONDS)
    assert "confirmed ahead" in case.violations()


def parity(id):
    """Aggregates of a case in which events are parked: the odd ones, the even ones."""
    return id % 2


def test_where_events_are_parked_aggregates_of_a_partition_may_overtake_each_other():
    case = Case(lane_of=parity).sees(1, 3, 5, 2, 7, 4, 6, 9, 8, 10)
    assert case.violations() == set()
    assert Case().sees(1, 3, 5, 2, 7, 4, 6, 9, 8, 10).violations() == {"out of order", "dropping by position"}


def test_there_too_events_of_one_aggregate_must_not():
    assert Case(lane_of=parity).sees(1, 2, 3, 4, 7, 5, 6, 8, 9, 10).violations() == {
        "out of order", "dropping by position"}


def test_there_too_repetitions_are_re_runs_of_the_aggregate():
    assert Case(lane_of=parity).sees(*range(1, 9)).sees(5, 2, 4, 7, 9, 6, 8, 10).violations() == set()
    assert Case(lane_of=parity).sees(*range(1, 9)).sees(3, 9, 10).violations() == {"late repetition"}


def test_what_is_parked_postgres_may_forget():
    case = Case(2).sees(1)
    case.checker.confirmed(20, at_ms=0, parked={2})
    assert case.sees(2, at_ms=1).violations() == set()


def test_what_was_parked_and_is_neither_there_nor_in_kafka_is_found():
    case = Case(3).sees(1)
    case.checker.confirmed(30, at_ms=0, parked={2, 3})
    case.checker.confirmed(30, at_ms=10, parked={2, 3})
    case.sees(2, at_ms=20)
    assert case.checker.is_all_there(30, {3}) and not case.checker.is_all_there(30)
    case.checker.confirmed(30, at_ms=20, parked={3})
    assert not case.checker.violation_counts
    case.checker.confirmed(30, at_ms=30)
    assert set(case.checker.violation_counts) == {"confirmed ahead"}
    assert [facts["id"] for facts in case.checker.violations["confirmed ahead"]] == [3]


@pytest.mark.parametrize(("at_ms", "found"), [(500, set()), (501, {"confirmed ahead"})])
def test_what_is_no_longer_parked_must_have_been_in_kafka_before(at_ms, found):
    case = Case(1)
    case.checker.confirmed(10, at_ms=400, parked={1})
    case.sees(1, at_ms=at_ms)
    case.checker.confirmed(10, at_ms=500)
    assert case.violations() == found


def _seen_with(position_text, id=2, offset=50):
    return Seen("t", 0, offset, id, position_text)


def test_a_position_of_another_transaction_is_found():
    case = Case(3).sees(1)
    case.checker.message(_seen_with(position(40)))
    case.offset = 60
    assert "position" in case.sees(3).violations()


def test_a_repetition_with_another_position_is_found():
    case = Case(2).sees(1, 2)
    case.checker.message(_seen_with(position(20, ordinal=1)))
    found = case.violations()
    assert "position" in found and "dropping by position" in found


def test_positions_that_do_not_grow_are_found():
    case = Case(0)
    for id in (1, 2):  # one transaction
        case.checker.committed(id, 10)
    for offset, (id, ordinal) in enumerate(((1, 7), (2, 3))):
        case.checker.message(Seen("t", 0, offset, id, position(10, ordinal)))
    assert case.violations() == {"dropping by position"}


def test_garbage_for_a_position_is_found():
    case = Case(1)
    case.checker.message(_seen_with("nonsense", id=1))
    assert "position" in case.violations()


def test_a_consumer_that_goes_back_is_told():
    case = Case(2).sees(1, 2)
    case.checker.message(_seen_with(position(20), offset=0))
    assert "harness" in case.violations()


def test_an_id_committed_twice_is_told():
    case = Case(1)
    case.checker.committed(1, 20)
    assert set(case.checker.violation_counts) == {"truth"}


def test_repetitions_are_counted_for_the_fault_that_began_last():
    case = Case()
    case.timeline.begin(200, "second")
    case.timeline.begin(100, "first")
    case.sees(1, 2, 3, at_ms=50).sees(1, 2, 3, at_ms=60).sees(1, 2, 3, at_ms=150).sees(1, at_ms=200)
    case.checker.settle()
    assert case.checker.duplicates == {Timeline.BEFORE: 3, "first": 3, "second": 1}


def _told(offset):
    future = Future()
    future.set_result(ListOffsetsResultInfo(offset, -1, -1))
    return future


def test_the_end_of_a_partition_whose_leader_does_not_answer_is_unknown():
    assert ends_of({TopicPartition("t", 0): _told(53), TopicPartition("t", 1): _told(0)}) == {("t", 0): 53, ("t", 1): 0}
    assert ends_of({TopicPartition("t", 0): _told(53), TopicPartition("t", 1): _told(-1001)}) is None


class OfAnyRelay:
    """Events 1..8 of two keys in turn, each committed by itself."""

    def __init__(self):
        self.checker = AnyRelay(lambda id: id % 2)
        self.offset = 0
        for id in range(1, 9):
            self.checker.committed(id, id * 10)

    def sees(self, *ids, partition=None):
        for id in ids:
            self.checker.message(Seen("t", id % 2 if partition is None else partition, self.offset, id, "", 0))
            self.offset += 1
        return self

    def violations(self):
        self.checker.finish()
        return set(self.checker.violation_counts)


def test_any_relay_may_repeat_what_it_likes_and_have_no_positions():
    case = OfAnyRelay().sees(1, 3, 2, 1, 4, 5, 3, 7, 6, 8, 2)
    assert case.violations() == set()
    assert sum(case.checker.duplicates.values()) == 3 and case.checker.newest == 7


def test_any_relays_loss_is_found():
    case = OfAnyRelay().sees(1, 2, 3, 4, 5, 6, 8)
    assert case.violations() == {"lost"} and case.checker.lost == 1


def test_any_relays_disorder_within_a_key_is_found():
    assert OfAnyRelay().sees(2, 4, 1, 5, 3, 6, 7, 8).violations() == {"out of order"}


def test_any_relays_key_in_two_partitions_is_found():
    assert "wrong partition" in OfAnyRelay().sees(*range(1, 8)).sees(8, partition=1).violations()


def test_what_any_relay_was_never_given_is_found():
    case = OfAnyRelay().sees(1, 3, 2, 99, 101, 98, 4, 5, 6, 7, 8)
    assert case.violations() == {"never committed"} and case.checker.violation_counts["never committed"] == 3
