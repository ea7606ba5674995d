"""Hooks of pytest for every ring: limits that follow the machine, and what is noted of a test that was late.

A test was late when a deadline passed (`TooLate`) and nothing is known that is wrong besides: it is worth a second try,
alone (see lib/second_try.py).
"""

import pytest

from lib.second_try import LATE_PROPERTY
from lib.waiting import TooLate, limit_factor


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config, items):
    for item in items:
        marker = item.get_closest_marker("timeout")
        seconds = marker.args[0] if marker else config.getoption("timeout") or config.getini("timeout")
        item.add_marker(pytest.mark.timeout(float(seconds) * limit_factor()), append=False)


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    yield
    if call.when == "call" and call.excinfo is not None and call.excinfo.errisinstance(TooLate) and not _broke(item):
        what = str(call.excinfo.value).splitlines()[0]
        item.user_properties.append((LATE_PROPERTY, f"{item.nodeid}\n{what}"))


def _broke(item):
    """Did a relay of the test end by a mistake of its own?"""
    return any(relay.broke() for stage in getattr(item, "stages", ()) for relay in stage.relays)
