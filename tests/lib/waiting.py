"""The one place where tests let time pass: a condition and a deadline."""

import time

POLL_SECONDS = 0.02


class TooLate(AssertionError):
    """The condition did not come true before the deadline."""


def wait_until(condition, deadline, what, on_failure=None):
    """Returns the first true value of `condition()`, asked every 20 ms for `deadline` seconds.

    `what` completes the sentence "waited in vain until ..."; `on_failure()` may add to it.
    """
    end = time.monotonic() + deadline
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() >= end:
            more = f"\n{on_failure()}" if on_failure else ""
            raise TooLate(f"waited {deadline:g} s in vain until {what}{more}")
        time.sleep(POLL_SECONDS)


def holds_for(condition, seconds, what):
    """Fails as soon as `condition()` is false within the next `seconds`: for what must not happen."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        assert condition(), f"it did not last {seconds:g} s that {what}"
        time.sleep(POLL_SECONDS)


def let_grow_old(seconds):
    """For what is about an age, which no condition can stand for."""
    end = time.monotonic() + seconds
    wait_until(lambda: time.monotonic() >= end, seconds + 5, f"{seconds} s have passed")


def sleep_until(moment):
    """Until then by time.monotonic(): for what delays on purpose."""
    time.sleep(max(0.0, moment - time.monotonic()))
