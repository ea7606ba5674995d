"""Which faults come in which order: drawn from the seed alone, however fast the machine is."""

import random
from dataclasses import dataclass

from chaos import faults


@dataclass
class Step:
    """Faults that overlap: injected one after the other, held together, healed in the same order."""

    faults: list
    recovers: bool  # is recovery waited for, or does the next step begin meanwhile?

    def describe(self):
        return " + ".join(fault.describe() for fault in self.faults) + ("" if self.recovers else " ...")


def schedule(seed, kinds=faults.ALL):
    """Steps without an end. Kills of the relay dominate, alone or while something else is the matter."""
    rng = random.Random(f"{seed} schedule")
    others = [kind for kind in kinds if not issubclass(kind, faults.KillRelay)]
    kills = [kind for kind in kinds if issubclass(kind, faults.KillRelay)]
    bag = []
    while True:
        if not bag:
            # Each kind comes up before one comes up again more often than its share.
            bag = [kind for kind in others for _ in range(2 * int(kind.share) or 1)
                   if kind.share >= 0.5 or rng.random() < kind.share * 2]
            rng.shuffle(bag)
        way = rng.random()
        recovers = rng.random() < 0.75
        if not others or kills and way < 0.3:
            yield Step([kills[0](rng)], recovers)
            continue
        first = bag.pop()(rng)
        if kills and way < 0.6 and first.group != "relay" and type(first) is not faults.HalfOpen:
            yield Step([first, kills[0](rng)], recovers)
            continue
        second = bag[-1] if bag else None
        if way < 0.8 and second and first.overlaps and second.overlaps and second.group != first.group:
            yield Step([first, bag.pop()(rng)], recovers)
        else:
            yield Step([first], recovers)
