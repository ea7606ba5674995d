"""What a run takes for a relay that comes back, and what not."""

import itertools
import time

import pytest

from chaos.world import Broken, World
from lib.waiting import sleep_until

GOAL = 1 << 40


class OneSlot(World):
    """Of a world nothing but the slot, which tells what is confirmed each time it is asked."""

    def __init__(self, confirmed):
        self._confirmed = confirmed

    def slot(self):
        sleep_until(time.monotonic() + 0.15)
        return next(self._confirmed), None, GOAL

    def tick(self):
        pass

    def broken(self, what):
        return Broken(what)


def test_a_relay_that_moves_on_has_longer_than_one_that_does_not():
    OneSlot(iter(range(0, GOAL + 1, GOAL >> 3))).wait_recovered(deadline=1)


def test_a_relay_that_stands_still_does_not_recover():
    with pytest.raises(Broken, match="no more than 7 was"):
        OneSlot(itertools.repeat(7)).wait_recovered(deadline=0.5)


def test_a_relay_that_moves_on_and_never_arrives_does_not_recover():
    with pytest.raises(Broken, match="in vain"):
        OneSlot(itertools.count(1)).wait_recovered(deadline=0.9, longest=2)
