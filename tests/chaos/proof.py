"""What the recorded runs add up to: tests/chaos/runs.jsonl, told in tests/PROOF.md.

A run counts for the sources it was made with: the content of the tracked files under src/ and include/.
"""

import fcntl
import hashlib
import json
import subprocess
import sys
from collections import Counter
from pathlib import Path

_HERE = Path(__file__).resolve().parent
TREE = _HERE.parents[1]
RUNS = _HERE / "runs.jsonl"
FOUND = _HERE / "found.md"
PROOF = TREE / "tests" / "PROOF.md"
SOURCES = ("src", "include")
AGAIN = "tests/run chaos --seed S --minutes M --record"
MARK = "tests/chaos/proof --mark"


def source_hash(tree=TREE):
    """Of names and contents of what is tracked under src/ and include/, as it stands in the work tree."""
    said = subprocess.run(["git", "ls-files", "-z", *SOURCES], cwd=tree, check=True, capture_output=True).stdout
    digest = hashlib.sha256()
    for name in sorted(filter(None, said.decode().split("\0"))):
        file = Path(tree) / name
        content = file.read_bytes() if file.exists() else b""
        digest.update(f"{name}\0{len(content)}\0".encode() + content)
    return digest.hexdigest()[:16]


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


def found():
    """What the runs brought to light, a line each."""
    lines = FOUND.read_text().splitlines() if FOUND.exists() else []
    return [line for line in lines if line.startswith("- ") or line.startswith("  ")]


def write():
    PROOF.write_text(text(runs(), source_hash(), found()))


def claimed(document):
    """The sources that the document says it speaks of, or None where it says that it is stale."""
    for line in document.splitlines():
        if line.startswith("**Current**"):
            return line.split("`")[1]
        if line.startswith("**Stale**"):
            return None
    raise ValueError("tests/PROOF.md says neither that it is current nor that it is stale")


def text(all_runs, sources, found_lines):
    """The document. Runs of other sources are history: told in a line, added to nothing. What is told at length are the
    runs of `sources`, or, where there are none, of those that were recorded last: then it is stale."""
    of = [run for run in all_runs if run["sources"] == sources]
    current = bool(of)
    if not current and all_runs:
        of = [run for run in all_runs if run["sources"] == all_runs[-1]["sources"]]
    older = [run for run in all_runs if run not in of]
    lines = ["# Proof", "", *_head(current, sources, of), ""]
    if of:
        lines += _body(of)
    lines += ["## Found on the way", "", *(found_lines or ["Nothing yet."]), ""]
    if older:
        lines += ["## History", "", _history(older), ""]
    return "\n".join(lines).rstrip("\n") + "\n"


def _head(current, sources, of):
    told = of[0]["sources"] if of else ""
    if current:
        state = f"**Current** for the sources `{sources}` (a hash of what is tracked under `src/` and `include/`)."
    elif of:
        state = f"**Stale**: the sources have changed since the runs below (`{told}`). To run it again: `{AGAIN}`."
    else:
        state = f"**Stale**: no run has been recorded. To run it: `{AGAIN}`."
    return [
        state, "",
        "Written by the runs themselves (`--record`) from `tests/chaos/runs.jsonl`; not by hand. What a run does and",
        "how it judges, [tests/README.md](README.md) tells; the same seed draws the same schedule of faults.",
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
    """None when the document tells the truth, else what is wrong with it and what to do."""
    if not PROOF.exists():
        return f"tests/PROOF.md is missing: {MARK} writes it"
    document = PROOF.read_text()
    claim, now = claimed(document), source_hash()
    if claim is not None and claim != now:
        return (
            f"tests/PROOF.md claims to be current for the sources {claim}, but they are {now} now.\n"
            f"Run it again:  {AGAIN}\nor only mark it stale:  {MARK}"
        )
    if document != text(runs(), now, found()):
        return f"tests/PROOF.md is not what tests/chaos/runs.jsonl and found.md say: {MARK} writes it anew"
    return None


def main(words):
    """tests/chaos/proof [--mark]: says whether tests/PROOF.md tells the truth; --mark writes it anew from the runs."""
    if words == ["--mark"]:
        write()
    elif words:
        print(main.__doc__)
        return 0 if words in (["-h"], ["--help"]) else 2
    wrong = judgement()
    if wrong:
        print(wrong)
        return 1
    print(f"tests/PROOF.md is {'stale, and says so' if claimed(PROOF.read_text()) is None else 'current'}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
