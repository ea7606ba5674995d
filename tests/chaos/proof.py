"""What the recorded runs add up to: tests/chaos/runs.jsonl, told in tests/PROOF.md.

A run counts for the sources it was made with: the content of the tracked files under src/ and include/. The document
tells of those that were recorded last. Only `--record` writes it; when the sources go on, it stays true of older ones.
"""

import fcntl
import hashlib
import json
import subprocess
from collections import Counter
from pathlib import Path

_HERE = Path(__file__).resolve().parent
TREE = _HERE.parents[1]
RUNS = _HERE / "runs.jsonl"
PROOF = TREE / "tests" / "PROOF.md"
SOURCES = ("src", "include")
AGAIN = "tests/run chaos --seed S --minutes M --record"


def source_hash(tree=TREE):
    """Of names and contents of what is tracked under src/ and include/, as it stands in the work tree."""
    said = subprocess.run(["git", "ls-files", "-z", *SOURCES], cwd=tree, check=True, capture_output=True).stdout
    digest = hashlib.sha256()
    for name in sorted(filter(None, said.decode().split("\0"))):
        file = Path(tree) / name
        content = file.read_bytes() if file.exists() else b""
        digest.update(f"{name}\0{len(content)}\0".encode() + content)
    return digest.hexdigest()[:16]


def _git(*words):
    done = subprocess.run(["git", *words], cwd=TREE, capture_output=True, text=True)
    return done.stdout.strip() if done.returncode == 0 else None


def source_commit():
    """Where the sources are to be found again: the commit that is checked out, or None where they differ from it."""
    return _git("rev-parse", "HEAD") if _git("status", "--porcelain", "--", *SOURCES) == "" else None


def record(run):
    """One more run, and the document anew. Runs may end side by side."""
    with open(RUNS, "a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        file.write(json.dumps(run, sort_keys=True) + "\n")
        file.flush()
        write()


def runs():
    if not RUNS.exists():
        return []
    return [json.loads(line) for line in RUNS.read_text().splitlines() if line.strip()]


def write():
    PROOF.write_text(text(runs()))


def _told(all_runs):
    """Those of the sources that were recorded last."""
    return [run for run in all_runs if run["sources"] == all_runs[-1]["sources"]]


def _commit(told):
    return next((run["commit"] for run in reversed(told) if run.get("commit")), None)


def text(all_runs):
    """The document. Runs of other sources are history: told in a line, added to nothing."""
    of = _told(all_runs)
    older = [run for run in all_runs if run not in of]
    lines = ["# Proof", "", *_head(of), ""]
    if of:
        lines += _body(of)
    if older:
        lines += ["## History", "", _history(older), ""]
    return "\n".join(lines).rstrip("\n") + "\n"


def _head(of):
    if of:
        commit = _commit(of)
        where = f", commit `{commit}`" if commit else ""
        sources = of[0]["sources"]
        state = f"Runs on the sources `{sources}` (a hash of what is tracked under `src/` and `include/`{where})."
    else:
        state = f"No run has been recorded. To run it: `{AGAIN}`."
    return [
        state, "",
        "Written by the runs themselves (`--record`) from `tests/chaos/runs.jsonl`; not by hand. What a run does and",
        "how it judges, [tests/README.md](README.md) tells; the same seed draws the same schedule of faults.",
        "What the runs brought to light: [found](chaos/found.md).",
    ]


def _sum(of, key):
    total = Counter()
    for run in of:
        total.update(run[key])
    return total


def _table(head, rows):
    yield "| " + " | ".join(head) + " |"
    yield "|" + "---|" * len(head)
    for row in rows:
        yield "| " + " | ".join(map(str, row)) + " |"
    yield ""


def _number(n):
    return f"{n:,}" if isinstance(n, int) else f"{n:,.0f}"


def _body(of):
    chaos = [run for run in of if run["kind"] == "chaos"]
    soaks = [run for run in of if run["kind"] == "soak"]
    lines = ["## In sum", ""]
    minutes = sum(run["minutes"] for run in of)
    bad = [run for run in of if not run["good"]]
    lines += _table(("", ""), (
        ("runs", f"{len(chaos)} under all faults, {len(soaks)} soak"),
        ("of them with relay.poison = park", sum(run.get("poison") == "park" for run in of)),
        ("minutes", f"{minutes:,.0f}"),
        ("PostgreSQL", ", ".join(sorted({run["postgres"] for run in of}, key=_version))),
        *((name, ", ".join(sorted({run["versions"][name] for run in of}))) for name in
          ("walpost", "Kafka", "librdkafka", "libpq")),
        ("faults", _number(sum(_sum(of, "faults").values()))),
        ("of them kills of the relay (kill -9)", _number(sum(run["kills"] for run in of))),
        ("events committed", _number(sum(run["events"] for run in of))),
        ("of them seen parked", _number(sum(run.get("parked", 0) for run in of))),
        ("**lost**", f"**{_number(sum(run['lost'] for run in of))}**"),
        ("**out of order**", f"**{_number(sum(run['out_of_order'] for run in of))}**"),
        ("other promises broken", _number(sum(
            sum(count for kind, count in run["violations"].items() if kind not in _COUNTED) for run in of))),
        ("repetitions", _number(sum(_sum(of, "duplicates").values()))),
        ("of them late, after a killed or frozen producer", _number(sum(_sum(of, "late").values()))),
        ("times the slot was held against Kafka", _number(sum(run["audits"] for run in of))),
        ("runs that failed", len(bad)),
    ))
    lines += [
        "## Faults", "", "Repetitions are counted for the fault that had begun last when the broker took them.", "",
    ]
    faults, duplicates, late = (_sum(of, key) for key in ("faults", "duplicates", "late"))
    lines += _table(("fault", "times", "repetitions", "of them late"), (
        (name, _number(faults[name]), _number(duplicates[name]), _number(late[name]))
        for name in sorted({*faults, *duplicates})
    ))
    ways = _sum(of, "ways")
    if ways:
        lines += [*(f"- {way}: {count} times" for way, count in sorted(ways.items())), ""]
    lines += ["## Runs", ""]
    lines += _table(
        ("date", "kind", "seed", "PostgreSQL", "minutes", "faults", "kills", "events", "lost", "out of order", ""),
        ((run["date"], run["kind"], run["seed"], run["postgres"], f"{run['minutes']:.0f}",
          _number(sum(run["faults"].values())), _number(run["kills"]), _number(run["events"]), run["lost"],
          run["out_of_order"], "" if run["good"] else "failed: " + ", ".join(run["violations"] or ("liveness",)))
         for run in of),
    )
    lines += ["## Soak", ""]
    if not soaks:
        lines += ["Not run on these sources.", ""]
    for run in soaks:
        lines += [
            f"{run['minutes']:.0f} minutes, seed {run['seed']}, PostgreSQL {run['postgres']}: one process through"
            f" {_number(sum(run['faults'].values()))} faults and {_number(run['events'])} events;"
            f" at most {_number(run['peak_rss_kb'])} kB resident.", "",
        ]
        lines += _table(
            ("median of the", "second third", "last third", ""),
            ((name, _number(before), _number(after), "flat" if flat else "GREW")
             for name, (before, after, flat) in run["soak"].items()),
        )
    return lines


_COUNTED = ("lost", "confirmed ahead", "out of order")


def _version(text):
    return tuple(map(int, text.split(".")))


def _history(older):
    return (
        f"Earlier sources: {len(older)} runs, {sum(run['minutes'] for run in older):,.0f} minutes,"
        f" {sum(run['kills'] for run in older):,} kills, {sum(run['events'] for run in older):,} events,"
        f" {sum(run['lost'] for run in older):,} lost, {sum(run['out_of_order'] for run in older):,} out of order,"
        f" {sum(not run['good'] for run in older):,} runs failed. Counted nowhere above."
    )


def judgement():
    """None when the document is what the recorded runs say, else what is wrong with it and what to do."""
    if not PROOF.exists():
        return f"tests/PROOF.md is missing; it is written by: {AGAIN}"
    if PROOF.read_text() != text(runs()):
        return f"tests/PROOF.md is not what tests/chaos/runs.jsonl says; it is written by: {AGAIN}"
    return None


def distance():
    """How far the sources have gone on since the runs of the document."""
    told = _told(runs())
    if not told:
        return f"tests/PROOF.md has no run; to run it: {AGAIN}"
    if told[-1]["sources"] == source_hash():
        return "tests/PROOF.md is of these sources"
    commit = _commit(told)
    if commit is None or (count := _git("rev-list", "--count", f"{commit}..HEAD", "--", *SOURCES)) is None:
        return f"tests/PROOF.md is of other sources ({told[-1]['sources']}); to run it again: {AGAIN}"
    return f"src/ and include/ are {count} commits ahead of tests/PROOF.md ({commit[:12]}); to run it again: {AGAIN}"
