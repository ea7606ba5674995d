"""Builds what the rings need, runs them, counts. Called by tests/run; standard library only."""

import contextlib
import functools
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import threading
import time
import xml.etree.ElementTree as ElementTree
from collections import namedtuple
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from chaos import proof  # noqa: E402
from lib import bare, facts, giving_way, passed, places, process, samples as sample_programs  # noqa: E402
from lib.leftovers import remove_leftovers  # noqa: E402
from lib.second_try import LATE_PROPERTY, Late, second_tries  # noqa: E402
from lib.waiting import limit_factor  # noqa: E402
from servers import apicurio, arm64 as arm64_debian, cache, debezium as real_debezium, go_tools  # noqa: E402

TESTS = places.TREE / "tests"
_PURE = ("unit", "property", "sim", "sanitize unit property sim", "lint", "fuzz")
# Stages, of rows side by side. The component tests mostly wait: beside them what only compiles and computes, and gives
# way to them. Then what takes its time. Then what wants the machine for itself: tests whose promise is a time.
GATE = (
    (("component beside",), _PURE),
    (("e2e beside",),),
    (("component alone", "e2e alone"),),
)
ALL = (
    (("component beside", "sanitize component beside"), _PURE),
    (("e2e beside",), ("chaos", "bench instructions")),
    (("component alone", "sanitize component alone", "e2e alone", "bench run --short"),),
)
NEWEST = "18"
SANITIZED = ("unit", "property", "sim", "component")
EMULATED = SANITIZED
PATIENT = {"fuzz": 5, "arm64": 10}  # times as long as a test may take, for a suite or a kind of build
IN_MEMORY = ("e2e", "lint")
WORKERS_A_CORE = 4
WORKER_BYTES = 1 << 30  # with the servers that its tests start

# What a build of a kind is made with: environment, then arguments of meson setup.
KINDS = {
    "gcc": ({"CC": "gcc"}, ("--werror",)),
    "clang": ({"CC": "clang"}, ("--werror", "-Dfuzz=true", "-Db_lundef=false")),
    "sanitize": ({"CC": "gcc"}, ("-Db_sanitize=address,undefined", "-Doptimization=1", "-Dc_args=-g1")),
    "program": ({}, ("-Dtests=disabled",)),
    "arm64": ({}, ("--werror",)),
}

Part = namedtuple("Part", "of_meson of_pytest")
# Of a ring: all tests but those that want the machine for themselves, or only these.
PARTS = {"beside": Part(("--no-suite", "alone"), "not alone"), "alone": Part(("--suite", "alone"), "alone")}
IMPATIENT = {"WALPOST_PATIENCE": "1"}
LATE = re.compile(r"too late: (.*)")
REPORTS = ("Sanitizer: ", "runtime error: ")

Count = namedtuple("Count", "passed failed skipped")


def add(counts):
    return Count(*map(sum, zip((0, 0, 0), *counts)))


def say(text):
    print(text, flush=True)


class Failed(Exception):
    """A ring could not be run; the message is for a human."""


_late = []  # by whatever thread


def run(command, **options):
    """Runs quietly; a failure shows the end of what it said."""
    done = giving_way.run(
        list(map(str, command)), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        text=True, errors="replace", **options,
    )
    if done.returncode != 0:
        raise Failed(f"{' '.join(map(str, command))} failed:\n{done.stdout[-6000:]}")
    return done.stdout


def targets_of(folder, suite):
    """What ninja has to make for one suite: its programs and what they depend on."""
    tests = json.loads(run(["meson", "introspect", folder, "--tests"]))
    mine = [test for test in tests if any(name.split(":")[-1] == suite for name in test["suite"])]
    if not mine:
        raise Failed(f"suite {suite} has no test in {folder}")
    needed = {id for test in mine for id in test["depends"]}
    named = {os.path.join(folder, word) for test in mine for word in test["cmd"]}
    targets = json.loads(run(["meson", "introspect", folder, "--targets"]))
    return sorted(
        os.path.relpath(file, folder)
        for target in targets for file in target["filename"] if target["id"] in needed or file in named
    )


def build(kind, suite=None):
    """The build folder of that kind, up to date: all of it, or what a suite needs."""
    folder = places.build(kind)
    environment, arguments = KINDS[kind]
    if kind == "arm64":
        arguments = (*arguments, "--cross-file", str(arm64_debian.cross_file()))
    start = time.monotonic()
    with places.lock(f"build-{folder.parent.name}-{kind}"):
        made_with, wanted = folder / "made-with", " ".join(arguments)
        if not made_with.exists() or made_with.read_text() != wanted:
            shutil.rmtree(folder, ignore_errors=True)
            folder.parent.mkdir(parents=True, exist_ok=True)
            run(["meson", "setup", folder, places.TREE, *arguments], env={**os.environ, **environment})
            made_with.write_text(wanted)
        run(["ninja", "-C", folder, "build.ninja"])  # configures again where a meson.build has changed
        targets = targets_of(folder, suite) if suite else []
        run(["ninja", "-C", folder, *targets])
    if (seconds := time.monotonic() - start) > 5:
        say(f"build {kind} {suite or ''}: {seconds:.0f} s")
    return folder


def subtests(text):
    """How many cmocka tests a program says it ran and how many failed; None if it says nothing."""
    ran = [int(n) for n in re.findall(r"^\[=+\] (?:[^:\n]*: )?(\d+) test\(s\) run", text, re.MULTILINE)]
    if not ran:
        return None
    failed = [int(n) for n in re.findall(r"^\[  FAILED  \] (?:[^:\n]*: )?(\d+) test\(s\)", text, re.MULTILINE)]
    skipped = [int(n) for n in re.findall(r"^\[  SKIPPED \] (?:[^:\n]*: )?(\d+) test\(s\)", text, re.MULTILINE)]
    return Count(sum(ran) - sum(failed) - sum(skipped), sum(failed), sum(skipped))


def counted(entry):
    """One program of meson's testlog.json."""
    inner = subtests(said(entry))
    good = is_good(entry)
    if entry["result"] == "SKIP":
        return Count(0, 0, 1)
    if inner is None or sum(inner) == 0:
        return Count(int(good), int(not good), 0)
    if not good and inner.failed == 0:  # it crashed, or a sanitizer spoke
        return inner._replace(failed=1)
    return inner


def meson_test(suite, kind, folder, words, more=None):
    """The programs that the words select, as meson's log has them."""
    log = folder / "meson-logs" / f"{suite}.json"
    log.unlink(missing_ok=True)
    multiplier = max(limit_factor(), PATIENT.get(kind, 1), PATIENT.get(suite, 1))
    start = giving_way.run if suite == "fuzz" else subprocess.run
    done = start(
        ["meson", "test", "-C", str(folder), "--no-rebuild", "--logbase", suite, "--print-errorlogs",
         "--timeout-multiplier", str(multiplier), *words],
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
        env={**os.environ, **test_environment(suite), **(more or {})},
    )
    if not log.exists():
        raise Failed(f"suite {suite} did not run:\n{done.stdout[-4000:]}")
    entries = [json.loads(line) for line in log.read_text(errors="replace").splitlines()]
    if not entries:
        raise Failed(f"suite {suite} has no test in {folder}")
    return entries


def meson_suite(suite, kind, extra=(), part=None):
    folder = build(kind, suite)
    if part == "alone":
        entries = meson_test(suite, kind, folder, PARTS[part].of_meson, IMPATIENT)
    else:
        entries = meson_test(suite, kind, folder, ["--suite", suite, *(PARTS[part].of_meson if part else ()), *extra])
    for entry in entries:
        if is_good(entry):
            continue
        say(f"--- {entry['name']}: {entry['result']}\n{said(entry)[-4000:]}")
        if suite == "component" and was_late(entry):
            note_late(f"{entry['name']} ({kind})", counted(entry).failed, reasons(entry),
                      functools.partial(program_again, suite, kind, folder, entry["name"].split(" / ")[-1]))
    return add(map(counted, entries))


def program_again(suite, kind, folder, name):
    (entry,) = meson_test(suite, kind, folder, [name])
    return None if is_good(entry) else said(entry)[-4000:]


def is_good(entry):
    return entry["result"] in ("OK", "EXPECTEDFAIL", "SKIP")


def said(entry):
    return entry.get("stdout", "") + "\n" + entry.get("stderr", "")


def was_late(entry):
    """Is nothing known of a program that failed, but that its tests were late (support/patience.h)?"""
    text, count = said(entry), counted(entry)
    return (0 < entry["returncode"] == count.failed == len(LATE.findall(text))
            and not any(report in text for report in REPORTS))


def reasons(entry):
    return "; ".join(LATE.findall(said(entry)))


def note_late(name, count, what, again):
    _late.append(Late(name, count, what, os.getloadavg()[0], again))


def test_environment(suite):
    """Where the C tests find what they do not bring."""
    found = {
        "ASAN_OPTIONS": "detect_leaks=1:detect_stack_use_after_return=1:abort_on_error=0",
        "UBSAN_OPTIONS": "halt_on_error=1:print_stacktrace=1",
    }
    if suite in ("component", "sim"):
        found["WALPOST_TEST_PG_BIN"] = str(cache.postgres("18") / "bin")
        found["WALPOST_TEST_PG_BIN_14"] = str(cache.postgres("14") / "bin")
        found["TMPDIR"] = str(places.scratch())
    return found


def venv(*files):
    """A Python with what these files of requirements name; without one, the Python of the tests."""
    files = files or (TESTS / "requirements.txt",)
    wanted = "".join(file.read_text() for file in files) + sys.version
    folder = places.cache() / f"venv-{hashlib.sha256(wanted.encode()).hexdigest()[:12]}"
    python = folder / "bin" / "python"
    with places.lock(folder.name):
        if not (folder / "complete").exists():
            shutil.rmtree(folder, ignore_errors=True)
            run([sys.executable, "-m", "venv", folder])
            named = [word for file in files for word in ("-r", file)]
            run([python, "-m", "pip", "install", "-q", "--disable-pip-version-check", *named])
            (folder / "complete").touch()
    return python


def pytest(folder, arguments, shows=None, requirements=(), environment=None):
    """Runs a ring; of what its tests printed those lines are shown that `shows` finds."""
    done, suite = run_pytest(folder, arguments, requirements, environment)
    tally = suite.attrib
    total, failed, skipped = int(tally["tests"]), int(tally["failures"]) + int(tally["errors"]), int(tally["skipped"])
    if done.returncode not in (0, 1) or total == 0:
        raise Failed(f"pytest exited with {done.returncode}:\n{done.stdout[-6000:]}")
    if failed:
        say(done.stdout[-24000:])
    elif shows:
        say("\n".join(line for line in done.stdout.splitlines() if re.search(shows, line)))
    if folder == "e2e":
        for name, what in late_tests(suite):
            note_late(name, 1, what, functools.partial(test_again, name, environment))
    return Count(total - failed - skipped, failed, skipped)


def late_tests(suite):
    """(id, what it waited for) of those that failed by a deadline alone."""
    for case in suite.iter("testcase"):
        noted = case.find(f"properties/property[@name='{LATE_PROPERTY}']")
        if noted is not None and case.find("failure") is not None and case.find("error") is None:
            yield noted.get("value").split("\n", 1)


def test_again(name, environment):
    done, _ = run_pytest(name, ["-p", "no:xdist"], more=environment)
    return done.stdout[-6000:] if done.returncode else None


def run_pytest(place, arguments, requirements=(), more=None):
    """What it said, and its report. `place`: a folder of tests/, or the id of a test."""
    folder = place.split("::")[0]
    report = places.build("reports") / f"{folder}.xml"
    report.parent.mkdir(parents=True, exist_ok=True)
    report.unlink(missing_ok=True)
    python = venv(TESTS / "requirements.txt", *requirements)
    environment = {
        **os.environ,
        "PYTHONDONTWRITEBYTECODE": "", "PYTHONPYCACHEPREFIX": str(places.cache() / "bytecode"),
        "PATH": f"{python.parent}:{os.environ['PATH']}",
        "WALPOST_BUILDS": str(places.build("")),
        **(more or {}),
    }
    if folder.split("/")[0] in IN_MEMORY:
        environment["TMPDIR"] = str(places.scratch())
    done = subprocess.run(
        [str(python), "-m", "pytest", "-q", "-c", str(TESTS / "pytest.ini"), f"--junitxml={report}",
         str(TESTS / place), *arguments],
        cwd=TESTS, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        errors="replace", env=environment,
    )
    if not report.exists():
        raise Failed(f"pytest gave no report:\n{done.stdout[-6000:]}")
    return done, ElementTree.parse(report).getroot().find("testsuite")


def lint(arguments):
    build("gcc")
    return pytest("lint", arguments)


def fetch():
    """What e2e needs beside the program, much of it by network."""
    venv()
    for version in os.environ.get("WALPOST_POSTGRES", "18 14").split():
        cache.postgres(version)
    cache.kafka_classes()
    for name in (*sample_programs.wanted_producers(), "consumer-java"):
        sample_programs.built(name)


def e2e(arguments, only=""):
    """Named with a choice of tests, one after the other; else as in the whole."""
    if only or {"-n", "-k", "-m", "--pdb"} & set(arguments):
        build("gcc")
        fetch()
        return pytest(f"e2e/{only}".rstrip("/"), arguments)
    return add([e2e_part("beside", arguments), e2e_part("alone", arguments)])


def e2e_part(part, arguments=()):
    build("gcc")
    fetch()
    selected = ["-m", PARTS[part].of_pytest, *arguments]
    if part == "alone":
        return pytest("e2e", ["-p", "no:xdist", *selected], environment=IMPATIENT)
    return pytest("e2e", ["-n", str(workers()), "--dist", "worksteal", *selected])


def workers():
    """How many tests of e2e run at a time: as cores and memory allow, or WALPOST_E2E_WORKERS."""
    if "WALPOST_E2E_WORKERS" in os.environ:
        return int(os.environ["WALPOST_E2E_WORKERS"])
    return max(1, min(WORKERS_A_CORE * len(os.sched_getaffinity(0)), places.available_bytes() // WORKER_BYTES))


def matrix(arguments):
    """The ring e2e on every version, or on those of WALPOST_POSTGRES, one after the other, at full lengths: hours."""
    counts = []
    versions = os.environ.get("WALPOST_POSTGRES", "").split() or list(cache.POSTGRES)
    if unknown := set(versions) - cache.POSTGRES.keys():
        raise Failed(f"WALPOST_POSTGRES names {' '.join(sorted(unknown))}: choose from {' '.join(cache.POSTGRES)}")
    os.environ["WALPOST_LENGTHS"] = "full"
    for version in versions:
        os.environ["WALPOST_POSTGRES"] = version
        count = e2e(arguments)
        say(f"PostgreSQL {version}: {count.passed} passed, {count.failed} failed, {count.skipped} skipped")
        counts.append(count)
    return add(counts)


def samples(arguments):
    """The sample programs of the documentation, in all languages that can be had."""
    os.environ["WALPOST_SAMPLES"] = "python spring go typescript"
    os.environ["WALPOST_REGISTRY"] = "real"
    apicurio.installed()
    return add([e2e(arguments, "test_samples.py"), e2e(arguments, "test_like_samples.py"),
                e2e(arguments, "test_schema_registry_real.py")])


def debezium(arguments):
    """Real Debezium beside walpost; what each test found is printed, passed or not."""
    build("gcc")
    cache.postgres("18")
    cache.kafka()
    real_debezium.server(say)
    real_debezium.connect()
    return pytest("debezium", ["-p", "no:xdist", "-rP", "--timeout=600", *arguments], shows=r"^\S+.*: \d+|^\d+ events")


def image(arguments):
    """The container image and all else that deploy/ holds for running it."""
    build("gcc")
    cache.postgres("18")
    cache.kafka()
    for name in go_tools.TOOLS:
        go_tools.tool(name)
    go_tools.monitoring_crds()
    return pytest(
        "image", ["-p", "no:xdist", "-rP", "--timeout=1800", *arguments], shows=r"^(image|prometheus): ",
        requirements=[TESTS / "image" / "requirements.txt"],
    )


def package(arguments):
    """The Debian package, built and installed on clean Debians, its service run by their systemd."""
    build("gcc")
    cache.postgres("18")
    cache.kafka()
    return pytest("package", ["-p", "no:xdist", "--timeout=1500", *arguments])


def chaos(arguments):
    build("gcc")
    for version in os.environ.get("WALPOST_POSTGRES", "18 14").split():
        cache.postgres(version)
    cache.kafka()
    return pytest("chaos", ["-p", "no:xdist", *arguments])


def chaos_command(words):
    """The long runs: their own process, their own exit code."""
    build("gcc")
    return subprocess.run(
        [str(venv()), str(TESTS / "chaos" / "run.py"), *words], cwd=TESTS,
        env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"},
    ).returncode


def bench(arguments):
    """The short benchmark and the instruction counts: their tables are printed, no figure is judged."""
    counts = []
    for command in ((["run", "--short"], ["instructions"]) if not arguments else (arguments,)):
        done = subprocess.run([str(venv()), str(TESTS / "bench" / command[0]), *command[1:]], stdin=subprocess.DEVNULL)
        counts.append(Count(int(done.returncode == 0), int(done.returncode != 0), 0))
    return add(counts)


def sanitize(arguments, suites=SANITIZED, part=None):
    return add([meson_suite(suite, "sanitize", arguments, part) for suite in suites])


def arm64(arguments):
    """The same on arm64, emulated: what is compiled for it; the servers are this machine's own."""
    return add([meson_suite(suite, "arm64", arguments) for suite in EMULATED])


def debian13(arguments):
    """What a change must pass, or the words that are given, on a bare Debian 13."""
    lines = []

    def hear(line):
        lines.append(line)
        say(f"  {line}")

    code = bare.tests("trixie", arguments, hear)
    if code is None:
        raise Failed(f"tests/run took longer than {bare.DEADLINE // 60} minutes")
    closed = re.fullmatch(r"(\d+) passed, (\d+) failed, (\d+) skipped", lines[-1]) if lines else None
    if not closed or (code != 0) != (int(closed[2]) > 0):
        raise Failed(f"tests/run exited with {code} and no such line")
    return Count(*map(int, closed.groups()))


def fuzz_for(seconds, target, folder):
    """One target under libFuzzer for so long; what it finds new stays in the build folder."""
    found = folder / "tests" / "fuzz" / f"found-{target}"
    found.mkdir(parents=True, exist_ok=True)
    done = subprocess.run(
        [folder / "tests" / "fuzz" / f"fuzz_{target}", f"-max_total_time={seconds}", "-max_len=4096",
         f"-artifact_prefix={found.parent}/{target}-", found, TESTS / "fuzz" / "corpus" / target],
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
        env={**os.environ, **test_environment("fuzz")},
    )
    if done.returncode != 0:
        say(f"--- fuzz {target}: exited with {done.returncode}\n{done.stdout[-4000:]}")
        return Count(0, 1, 0)
    last = re.findall(r"^#(\d+)\s+DONE\s+cov: (\d+)", done.stdout, re.MULTILINE)
    say(f"fuzz {target}: {last[-1][0]} executions, coverage {last[-1][1]}" if last else f"fuzz {target}: done")
    return Count(1, 0, 0)


def fuzz(arguments):
    """The corpus and seeded mutations; with `--seconds N` every target under libFuzzer for so long."""
    if "--seconds" not in arguments:
        return meson_suite("fuzz", "clang", arguments)
    seconds = int(arguments[arguments.index("--seconds") + 1])
    folder = build("clang", "fuzz")
    return add([fuzz_for(seconds, corpus.name, folder) for corpus in sorted((TESTS / "fuzz" / "corpus").iterdir())])


def ring_runner(ring):
    runners = {"lint": lint, "fuzz": fuzz, "e2e": e2e, "matrix": matrix, "chaos": chaos, "sanitize": sanitize,
               "bench": bench, "debezium": debezium, "samples": samples, "image": image,
               "package": package, "arm64": arm64, "debian13": debian13}
    name, *words = ring.split()
    if words:  # of a ring that the rows have in parts
        of_row = {
            "bench": lambda _: bench(words),
            "component": lambda _: meson_suite("component", "gcc", part=words[0]),
            "e2e": lambda _: e2e_part(words[0]),
            "sanitize": lambda _: sanitize((), [word for word in words if word not in PARTS],
                                           words[-1] if words[-1] in PARTS else None),
        }
        return of_row[name]
    return runners.get(ring) or (lambda arguments: meson_suite(ring, "gcc", arguments))


def warnings_as_errors():
    """Both compilers are content with every line, at the warnings of meson.build: --werror."""
    results = []
    for kind in ("gcc", "clang"):
        try:
            build(kind)
            results.append(Count(1, 0, 0))
        except Failed as failure:
            say(f"--- {kind}: {failure}")
            results.append(Count(0, 1, 0))
    return add(results)


def run_ring(ring, arguments):
    start = time.monotonic()
    try:
        count = ring_runner(ring)(arguments)
        if ring == "lint" and not arguments:
            count = add([count, warnings_as_errors()])
    except (Failed, RuntimeError) as failure:
        say(f"--- {ring}: {failure}")
        count = Count(0, 1, 0)
    say(
        f"{ring}: {count.passed} passed, {count.failed} failed, {count.skipped} skipped"
        f" in {time.monotonic() - start:.0f} s"
    )
    return count


def try_(step):
    """Beforehand: the ring that needs it tries again, and says what it was."""
    with contextlib.suppress(Failed, RuntimeError):
        step()


def run_row(rings, counts, is_timed):
    giving_way.this_thread(not is_timed)
    try:
        for ring in rings:
            counts.append(run_ring(ring, []))
    finally:
        if is_timed:
            giving_way.end()


def run_whole(stages):
    """The stages begin when the program is built and what they need is fetched."""
    counts = []
    beforehand = [threading.Thread(target=try_, args=(step,), daemon=True) for step in (fetch, lambda: build("gcc"))]
    for step in beforehand:
        step.start()
    for step in beforehand:
        step.join()
    for stage in stages:
        giving_way.begin()
        rows = [threading.Thread(target=run_row, args=(row, counts, number == 0), daemon=True)
                for number, row in enumerate(stage)]
        for row in rows:
            row.start()
        for row in rows:
            row.join()
    # Of a row that an error ended, which it has printed.
    lost = sum(len(row) for stage in stages for row in stage) - len(counts)
    return [*counts, Count(0, lost, 0)]


def main(words):
    if words[:1] == ["--passed"]:
        return passed.answer(words[1:])
    remove_leftovers(say)
    if words[:1] == ["--command"]:
        try:
            return chaos_command(words[1:])
        except (Failed, RuntimeError) as failure:
            say(f"--- {failure}\n0 passed, 1 failed")
            return 1
    arguments = []
    if "--" in words:
        at = words.index("--")
        words, arguments = words[:at], words[at + 1:]
    if words in ([], ["all"]):
        return gate("all" if words else "gate")
    return closing(with_second_tries(add([run_ring(ring, arguments) for ring in words])))


def gate(which):
    """The whole: what a change must pass, or all of it that has no ring of its own."""
    as_is = not {"WALPOST_BINARY", "WALPOST_POSTGRES"} & os.environ.keys()
    if which == "gate":
        os.environ.setdefault("WALPOST_POSTGRES", NEWEST)
    tree = passed.clean_tree() if as_is else None
    total = with_second_tries(add(run_whole(ALL if which == "all" else GATE)))
    say(proof.distance())
    if which == "all":
        say(facts.age_now())
    if total.failed == 0 and tree is not None and tree == passed.clean_tree():
        passed.note(tree, which, total._asdict())
    return closing(total)


def with_second_tries(total):
    """What was late has run again, now that nothing else does."""
    in_time = second_tries(_late, say)
    _late.clear()
    return total._replace(passed=total.passed + in_time, failed=total.failed - in_time)


def closing(total):
    print(f"{total.passed} passed, {total.failed} failed, {total.skipped} skipped", flush=True)
    return 1 if total.failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
