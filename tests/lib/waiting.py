"""The one place where tests let time pass: a condition and a deadline.

A deadline of wait_until() says that something happens at all, not how soon: on a busy machine it is longer. Where the
time is the promise, the test is marked `alone` and runs while nothing else does, with a patience of 1.
"""

import os
import time

PATIENCE_MAX = 4
POLL_SECONDS = 0.02
# Who has waited for a second asks less often: a question costs a core what the tests beside may need.
SLOWEST_POLL_SECONDS = 0.1


class TooLate(AssertionError):
    """The condition did not come true before the deadline."""


def patience():
    """By how much a deadline is stretched now: WALPOST_PATIENCE, or how many processes want each core, 4 at most."""
    if "WALPOST_PATIENCE" in os.environ:
        return float(os.environ["WALPOST_PATIENCE"])
    return min(PATIENCE_MAX, max(1.0, os.getloadavg()[0] / len(os.sched_getaffinity(0))))


def limit_factor():
    """By how much a limit is stretched that was set before anyone knew how busy the machine would be."""
    return float(os.environ.get("WALPOST_PATIENCE", PATIENCE_MAX))


def is_late(took, deadline):
    """Is that longer than it may take?"""
    return took >= deadline and took >= deadline * patience()


def wait_until(condition, deadline, what, on_failure=None):
    """Returns the first true value of `condition()`, asked every 20 ms, later every 100, for `deadline` seconds.

    `what` completes the sentence "waited in vain until ..."; `on_failure()` may add to it.
    """
    start = time.monotonic()
    while True:
        value = condition()
        if value:
            return value
        if is_late(time.monotonic() - start, deadline):
            more = f"\n{on_failure()}" if on_failure else ""
            raise TooLate(f"waited {time.monotonic() - start:.3g} s in vain until {what}{more}")
        time.sleep(min(SLOWEST_POLL_SECONDS, max(POLL_SECONDS, (time.monotonic() - start) / 10)))


def check_in_time(took, limit, what):
    """`what` took less than `limit` seconds; where that is a promise, the test is `alone`."""
    if is_late(took, limit):
        raise TooLate(f"{what} took {took:.3g} s, not below {limit:g} s")


def holds_for(condition, seconds, what):
    """Fails as soon as `condition()` is false within the next `seconds`: for what must not happen.

    Asked every 20 ms; where the answer takes longer, half of the time.
    """
    now = time.monotonic()
    end = now + seconds
    while now < end:
        asked = now
        assert condition(), f"it did not last {seconds:g} s that {what}"
        time.sleep(max(POLL_SECONDS, time.monotonic() - asked))
        now = time.monotonic()


def let_grow_old(seconds):
    """For what is about an age, which no condition can stand for."""
    end = time.monotonic() + seconds
    wait_until(lambda: time.monotonic() >= end, seconds + 5, f"{seconds} s have passed")


def sleep_until(moment):
    """Until then by time.monotonic(): for what delays on purpose."""
    time.sleep(max(0.0, moment - time.monotonic()))
