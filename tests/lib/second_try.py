"""What was late beside others is tried once more, alone; nothing else is.

Late is a test of e2e or component of which nothing is known but that a deadline passed. When all else has ended it runs
again, by itself, and counts as passed when it passes three times in a row. A lost, foreign, repeated or changed event,
a crash, a sanitizer's report, an error in a fixture has failed at the first try, as has each test of another ring.
"""

from collections import namedtuple

LATE_PROPERTY = "late"  # in pytest's report: the test's id, a line break, what it waited for
TIMES = 3
AT_MOST = 20  # more of them are no accident

# count: of tests that failed by it. load: the load average then. again(): runs it alone; None, or how it failed.
Late = namedtuple("Late", "name count what load again")


def second_tries(lates, say):
    """How many of the tests that were late have passed now. Says which, and how the others failed."""
    if len(lates) > AT_MOST:
        say(f"{len(lates)} were late beside others, more than the {AT_MOST} that are tried once more")
        return 0
    in_time = []
    for late in lates:
        say(f"late, tried again alone: {late.name}")
        failure = next(filter(None, (late.again() for _ in range(TIMES))), None)
        if failure:
            say(f"--- {late.name}, alone:\n{failure}")
        else:
            in_time.append(late)
    if in_time:
        say("late beside others, in time alone:")
    for late in in_time:
        say(f"  {late.name}: {late.what} (load average {late.load:.1f})")
    return sum(late.count for late in in_time)
