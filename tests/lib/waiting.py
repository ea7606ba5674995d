"""The one place where tests let time pass: a condition and a deadline."""

import time

POLL_SECONDS = 0.02
# Who has waited for a second asks less often: a question costs a core what the tests beside may need.
SLOWEST_POLL_SECONDS = 0.1


class TooLate(AssertionError):
    """The condition did not come true before the deadline."""


def wait_until(condition, deadline, what, on_failure=None):
    """Returns the first true value of `condition()`, asked every 20 ms, later every 100, for `deadline` seconds.

    `what` completes the sentence "waited in vain until ..."; `on_failure()` may add to it.
    """
    start = time.monotonic()
    end = start + deadline
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() >= end:
            more = f"\n{on_failure()}" if on_failure else ""
            raise TooLate(f"waited {deadline:g} s in vain until {what}{more}")
        time.sleep(min(SLOWEST_POLL_SECONDS, max(POLL_SECONDS, (time.monotonic() - start) / 10)))


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
