"""What is tried once more, alone: a deadline that passed, and nothing else."""

import subprocess
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from lib import rings  # noqa: E402
from lib.second_try import AT_MOST, TIMES, Late, second_tries  # noqa: E402

_CONFTEST = """
import pytest
from lib.late import pytest_collection_modifyitems, pytest_runtest_makereport
from lib.relay import Relay


@pytest.fixture
def relay(request, tmp_path):
    made = Relay({}, tmp_path)
    request.node.stages = [type("Stage", (), {"relays": [made]})]
    return made


@pytest.fixture
def bad_end():
    yield
    raise RuntimeError("the end of a fixture went wrong")
"""
_TESTS = """
import pathlib
import subprocess

from lib.waiting import TooLate, check_in_time, wait_until

FLAG = pathlib.Path(__file__).with_name("flag")


def test_late_beside_others():
    wait_until(FLAG.exists, 0.1, "the flag is there")


def test_a_promise_that_was_late():
    check_in_time(2, 1, "the stop")


def test_an_event_is_lost():
    assert [1, 3] == [1, 2, 3], "lost: 2"


def test_late_for_the_relay_crashed(relay):
    relay._process = subprocess.Popen(["sh", "-c", "kill -ABRT $$"])
    relay._process.wait()
    wait_until(lambda: False, 0.1, "it streams")


def test_late_beside_a_report_of_a_sanitizer(relay):
    relay.stderr_file.write_text("==7==ERROR: AddressSanitizer: heap-use-after-free on address 0x1")
    wait_until(lambda: False, 0.1, "it streams")


def test_late_with_an_error_at_the_end(bad_end):
    wait_until(lambda: False, 0.1, "it streams")


def test_good():
    pass
"""


@pytest.fixture(scope="module")
def ran(tmp_path_factory):
    """The folder of tests that were run, and {name: what it waited for} of those that are tried again."""
    folder = tmp_path_factory.mktemp("planted")
    (folder / "conftest.py").write_text(_CONFTEST)
    (folder / "test_planted.py").write_text(_TESTS)
    done, suite = rings.run_pytest(str(folder), [], more={"WALPOST_PATIENCE": "1"})
    assert "6 failed, 1 passed, 1 error" in done.stdout, done.stdout
    return folder, dict(rings.late_tests(suite))


def test_of_pytest_only_what_was_late_is_tried_again(ran):
    _, late = ran
    whats = {name.split("::")[-1]: what for name, what in late.items()}
    assert whats.keys() == {"test_late_beside_others", "test_a_promise_that_was_late"}
    assert whats["test_late_beside_others"].endswith("s in vain until the flag is there")
    assert whats["test_a_promise_that_was_late"] == "the stop took 2 s, not below 1 s"


def test_a_test_runs_again_by_its_name(ran):
    folder, late = ran
    (name,) = [name for name in late if name.endswith("test_late_beside_others")]
    assert "the flag is there" in rings.test_again(f"{folder}/{name}", {"WALPOST_PATIENCE": "1"})
    (folder / "flag").touch()
    assert rings.test_again(f"{folder}/{name}", None) is None


_PROGRAM = """
#include "support/patience.h"

static void late(void **state) { CHECK_IN_TIME(2, 1); }
static void late_too(void **state) { FAIL_LATE("it streams"); }
static void lost(void **state) { CHECK_EQ(2, 3); }
static void overflow(void **state) { char *p = malloc(1); p[atoi("1")] = 1; free(p); }
static void good(void **state) { CHECK(1); }
int main(void) { return RUN(PLAIN(good), %s); }
"""


def _entry(tree, folder, tests):
    """As meson's log has it: one program, of the good test and these."""
    (folder / "planted.c").write_text(_PROGRAM % ", ".join(f"PLAIN({name})" for name in tests))
    subprocess.run(["cc", "-fsanitize=address", "-I", tree / "tests", "-w", "-o", folder / "planted",
                    folder / "planted.c", "-lcmocka"], check=True)
    done = subprocess.run([folder / "planted"], capture_output=True, text=True, env={"WALPOST_PATIENCE": "1"})
    return {"name": "planted", "result": "FAIL" if done.returncode else "OK", "returncode": done.returncode,
            "stdout": done.stdout, "stderr": done.stderr}


@pytest.mark.parametrize("tests, wanted", [
    (["late"], True), (["late", "late_too"], True), (["late", "lost"], False), (["lost"], False),
    (["late", "overflow"], False), (["good"], False),
])
def test_of_c_only_a_program_all_of_whose_failures_were_late_is_tried_again(tree, tmp_path, tests, wanted):
    entry = _entry(tree, tmp_path, tests)
    assert rings.was_late(entry) == wanted, entry
    if wanted:
        assert rings.counted(entry).failed == len(tests) and "took longer than 1" in rings.reasons(entry)


def _late(name, *outcomes, count=1):
    """outcomes: of each try, None or how it failed."""
    tries = iter(outcomes)
    return Late(name, count, "waited 20 s in vain", 17.3, lambda: next(tries))


def test_what_passes_three_times_in_a_row_counts_as_passed_and_is_listed():
    said = []
    assert second_tries([_late("slow", *[None] * TIMES, count=2)], said.append) == 2
    assert said[-2:] == ["late beside others, in time alone:", "  slow: waited 20 s in vain (load average 17.3)"]


@pytest.mark.parametrize("outcomes", [["late again"], [None, None, "late again"]])
def test_what_fails_alone_stays_a_failure(outcomes):
    said = []
    assert second_tries([_late("slow", *outcomes)], said.append) == 0
    assert said[-1] == "--- slow, alone:\nlate again"


def test_more_than_twenty_are_no_accident():
    said = []
    assert second_tries([_late("slow") for _ in range(AT_MOST + 1)], said.append) == 0
    assert "21 were late beside others" in said[-1]


def test_in_the_sum_what_was_in_time_alone_has_passed():
    rings.note_late("slow", 2, "waited 20 s in vain", lambda: None)
    assert rings.with_second_tries(rings.Count(10, 3, 1)) == rings.Count(12, 1, 1)
    assert rings.with_second_tries(rings.Count(10, 3, 1)) == rings.Count(10, 3, 1)
