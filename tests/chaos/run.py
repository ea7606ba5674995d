"""One run under faults: tests/run chaos, tests/run soak."""

import argparse
import json
import os
import signal
import statistics
import sys
import threading
import time
import traceback
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from chaos import any_relay, faults, proof  # noqa: E402
from chaos.schedule import schedule  # noqa: E402
from chaos.world import LIVENESS_SECONDS, World, now_ms  # noqa: E402
from lib import places  # noqa: E402
from lib.relay import run_command  # noqa: E402
from servers import cache  # noqa: E402

# What is promised, and the violations that say it did not hold.
PROMISES = {
    "nothing is lost": ("lost",),
    "nothing is sent that was not committed": ("never committed",),
    "each aggregate is in commit order": ("out of order",),
    "each key is in its partition": ("wrong partition",),
    "repetitions are re-runs": ("late repetition",),
    "walpost-position names the commit": ("position",),
    "dropping by walpost-position leaves each once": ("dropping by position",),
    "what Postgres may forget is in Kafka, or parked": ("confirmed ahead",),
    "bytes arrive as they were written": ("content",),
    "table, log and consumer agree on what was committed": ("truth", "harness"),
}
OF_ANY_RELAY = {
    "nothing is lost": ("lost",),
    "nothing is sent that was not committed": ("never committed",),
    "each key is in commit order": ("out of order",),
    "each key is in one partition": ("wrong partition",),
    "each message has an event's id in its payload": ("content",),
    "table, log and consumer agree on what was committed": ("truth", "harness"),
}
ALIVE = "it comes back from every fault by itself"
ANY_RELAY_ALIVE = "it comes back from every fault, or when it is started again"
PROGRESS_SECONDS = 30


def poison_of(seed):
    """Half of the seeds: what is promised of partitions holds only where nothing is parked."""
    return "stop" if seed % 2 else "park"


def kinds_for(poison, kinds):
    return tuple(kind for kind in kinds if poison == "park" or not kind.parks)


class Samples:
    """What the relay's process costs, over time."""

    def __init__(self, world, every=5.0):
        self.rows = []  # seconds, pid, RSS in kB, descriptors, threads
        self._world, self._every = world, every
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._stop.set()
        self._thread.join()

    def _run(self):
        while not self._stop.wait(self._every):
            try:
                self._take()
            except (OSError, KeyError):  # it is being replaced
                pass

    def _take(self):
        pid = self._world.relay.pid
        status = dict(
            line.split(":", 1) for line in Path(f"/proc/{pid}/status").read_text().splitlines() if ":" in line)
        self.rows.append((
            round(self._world.elapsed(), 1), pid, int(status["VmRSS"].split()[0]),
            len(os.listdir(f"/proc/{pid}/fd")), int(status["Threads"]),
        ))


class Run:
    """`kinds`: the faults to draw from; it goes on past its minutes until `enough(world)`. `finish(world)` may look at
    what is there before it is torn down. `relay`: the name of another one (any_relay.py)."""

    def __init__(self, seed, minutes, postgres="18", rate=300, kinds=faults.ALL, poison="stop", say=print,
                 enough=lambda world: True, relay=None, **of_world):
        self.seed, self.minutes, self.postgres, self.poison = seed, minutes, str(postgres), poison
        self.relay = relay
        self.kinds = kinds_for(poison, kinds)
        self.failures = []
        self.judged = False  # all was read and compared
        self.steps = []
        self.world = (any_relay.AnyRelayWorld(relay, postgres, seed, rate, **of_world) if relay else
                      World(postgres, seed, rate, parks=poison == "park", **of_world))
        self.samples = Samples(self.world)
        self._say, self._enough = say, enough
        self.trace = ""
        self.seconds = 0.0
        self._said_at = 0.0
        self._ends_at = float("inf")

    def run(self, finish=None):
        """True when every promise held. Evidence stays in `world.folder` when one did not."""
        world = self.world
        try:
            world.start()
            world.begun = time.monotonic()
            world.on_tick = self._progress
            self._ends_at = time.monotonic() + self.minutes * 60
            world.writers.start()
            with self.samples:
                world.wait_streaming()
                self._faults()
                world.wait_recovered()
                world.pass_time(1)
            world.writers.stop()
            self.seconds = world.elapsed()
            world.settle()
            world.check_told_losses()
            self.judged = True
            if finish:
                finish(world)
        except Exception as failure:  # noqa: BLE001 - what broke is the result
            self.failures.append(f"{type(failure).__name__}: {failure}")
            self.trace = traceback.format_exc()
            self.seconds = world.elapsed()
        except BaseException:  # asked to end: nothing stays
            world.end()
            world.remove()
            raise
        self._heal_all()
        world.end()
        self._report()
        return self.good

    @property
    def good(self):
        return not self.failures and not self.world.checker.violation_counts and not self.world.exits

    def remove(self):
        self.world.remove()

    def _faults(self):
        for step in schedule(self.seed, self.kinds):
            if time.monotonic() >= self._ends_at and self._enough(self.world):
                return
            self._step(step)

    def _step(self, step):
        world = self.world
        injected = []
        self.steps.append(step)
        for fault in step.faults:
            if not fault.possible(world):
                world.note(f"not possible here: {fault.name}")
                continue
            world.note(f"inject {fault.describe()}")
            if not isinstance(fault, faults.KillRelay):
                world.timeline.begin(now_ms(), fault.name)
            world.ailing[fault.group] += 1
            injected.append(fault)
            fault.inject(world)
        self._await_shown(injected)
        if not any(isinstance(fault, faults.KillRelay) for fault in injected):
            world.pass_time(max((fault.seconds for fault in injected), default=0))
        for fault in injected:
            world.note(f"heal {fault.name}")
            fault.heal(world)
            world.ailing[fault.group] -= 1
        if any(fault.group == "kafka" for fault in injected):
            world.wait_kafka()
        if step.recovers:
            world.wait_recovered()
            world.note("recovered")
            world.audit()

    def _await_shown(self, injected):
        """The hold of a fault begins when it has had its effect. One that has none in time is healed all the same."""
        world, end = self.world, time.monotonic() + LIVENESS_SECONDS
        while not all(fault.has_shown(world) for fault in injected):
            if time.monotonic() >= end:
                world.note("no effect was seen")
                return
            world.pass_time(0.5)

    def _heal_all(self):
        """After a failure: nothing may stay frozen."""
        if not self.steps:
            return
        for fault in self.steps[-1].faults:
            try:
                fault.heal(self.world)
            except Exception:  # noqa: BLE001, S110 - it was not injected, or is healed
                pass

    # --- what is said

    def _progress(self):
        world, now = self.world, time.monotonic()
        on_terminal = sys.stdout.isatty()
        if now - self._said_at < (1 if on_terminal else PROGRESS_SECONDS):
            return
        self._said_at = now
        line = (
            f"{world.elapsed() / 60:5.1f} of {self.minutes:g} min: {sum(world.counts.values())} faults,"
            f" {world.kills} kills of the relay, {world.checker.event_count()} events committed,"
            f" {world.checker.missing()} on their way, {sum(world.checker.duplicates.values())} repetitions"
        )
        self._say(f"\r\033[K{line}" if on_terminal else line, end="" if on_terminal else "\n", flush=True)

    def promises(self):
        """(promise, kept) of each. None: not judged, for the run ended before all was read."""
        counts = self.world.checker.violation_counts
        for promise, kinds in (OF_ANY_RELAY if self.relay else PROMISES).items():
            broken = any(counts[kind] for kind in kinds)
            yield promise, False if broken else True if self.judged else None
        yield ANY_RELAY_ALIVE if self.relay else ALIVE, not self.world.exits and (not self.failures or bool(counts))

    def result(self):
        """Everything a reader of the proof wants to know of this run."""
        world, checker = self.world, self.world.checker
        return {
            "date": time.strftime("%Y-%m-%d"), "seed": self.seed, "minutes": round(self.seconds / 60, 2),
            "postgres": cache.POSTGRES[self.postgres], "poison": self.poison, "good": self.good, "kills": world.kills,
            "faults": dict(sorted(world.counts.items())), "ways": dict(world.ways),
            "events": checker.event_count(), "transactions": world.truth.transactions if world.truth else 0,
            "largest_transaction": world.truth.largest if world.truth else 0,
            "rolled_back": world.writers.rolled_back if world.writers else 0,
            "messages": checker.messages, "lost": checker.lost, "out_of_order": checker.out_of_order,
            "parked": len(world.parked_ids), "parked_most": world.parked_most,
            "violations": dict(checker.violation_counts),
            "duplicates": dict(checker.duplicates), "late": dict(checker.late),
            "audits": world.audited, "takeover_seconds_max": max(world.takeovers, default=None),
            "exits": [exit["code"] for exit in world.exits],
            **({"relay": self.relay, "restarts": dict(world.restarts)} if self.relay else {}),
        }

    def _report(self):
        world, say = self.world, self._say
        result = self.result()
        if sys.stdout.isatty():
            say()
        rows = [
            *((("relay", self.relay),) if self.relay else (("relay.poison", self.poison),)),
            ("seed", self.seed), ("PostgreSQL", result["postgres"]), ("minutes", result["minutes"]),
            ("kills of the relay", world.kills), ("faults", sum(result["faults"].values())),
            *((f"  {name}", count) for name, count in result["faults"].items()),
            *((f"  ({name})", count) for name, count in result["ways"].items()),
            ("transactions", result["transactions"]), ("largest transaction", f"{result['largest_transaction']} rows"),
            ("events committed", result["events"]), ("messages in Kafka", result["messages"]),
            ("lost", result["lost"] if self.judged else "not judged: the run broke off"),
            ("out of order", result["out_of_order"]),
            ("repetitions, by the fault they arose in", sum(result["duplicates"].values())),
            *((f"  {name}", count) for name, count in sorted(result["duplicates"].items())),
            *(self._rows_of_any_relay() if self.relay else self._rows_of_walpost(result)),
        ]
        width = max(len(name) for name, _ in rows)
        for name, value in rows:
            say(f"{name:<{width}}  {value}")
        for promise, kept in self.promises():
            say(f"{ {True: 'kept', False: 'BROKEN', None: 'not judged'}[kept]:<10}  {promise}")
        for failure in self.failures:
            say(f"--- {failure[:6000]}")
        if not self.good:
            self._keep_evidence(result)

    @staticmethod
    def _rows_of_walpost(result):
        yield "of these late (dead or frozen producer)", sum(result["late"].values())
        yield from ((f"  {name}", count) for name, count in sorted(result["late"].items()))
        yield "seen parked, at most at a time", f"{result['parked']}, {result['parked_most']}"
        yield "checks of the slot against Kafka", result["audits"]
        yield "slowest takeover", f"{result['takeover_seconds_max'] or '-'} s"
        yield from (("relay ended by itself", code) for code in result["exits"])

    def _rows_of_any_relay(self):
        yield from ((f"ended by itself with {code}, and started again", count)
                    for code, count in sorted(self.world.restarts.items()))
        yield "judged", "lost, foreign, repeated and out of order by key, by the id in the payload; nothing else"

    def _keep_evidence(self, result):
        world = self.world
        places.keep(world.folder)
        world.shrink()
        (world.folder / "evidence.json").write_text(json.dumps({
            "result": result, "failures": self.failures, "trace": self.trace, "violating": world.checker.violations,
            "exits": world.exits, "consumer_errors": world.consumer and world.consumer.errors,
            "course": world.notes, "writers": world.writers and world.writers.errors,
            "replay": f"tests/run chaos --seed {self.seed} --minutes {self.minutes:g} --postgres {self.postgres}"
                      + (f" --relay {self.relay}" if self.relay else f" --poison {self.poison}"),
        }, indent=1, default=str))
        (world.folder / "course").write_text("\n".join(world.notes) + "\n")
        self._say(f"evidence: {world.folder} (evidence.json, course, relay*/stderr, postgres/server.log)")


def versions():
    """What took part, apart from Postgres: of the program, and of the consumer."""
    said = dict(line.split(" ", 1) for line in run_command("version").stdout.splitlines() if " " in line)
    return {
        "walpost": said["walpost"], "librdkafka": said["librdkafka"], "libpq": said["libpq"], "Kafka": cache.KAFKA,
    }


def chaos_command(arguments):
    kinds = any_relay.KINDS if arguments.relay else faults.ALL
    if arguments.only:
        kinds = tuple(kind for kind in kinds if any(word in kind.name for word in arguments.only.split(",")))
    poison = "stop" if arguments.relay else arguments.poison or poison_of(arguments.seed)
    if arguments.schedule:
        steps = schedule(arguments.seed, kinds_for(poison, kinds))
        for _ in range(arguments.schedule):
            print(next(steps).describe())
        return 0
    sources = {"sources": proof.source_hash(), "commit": proof.source_commit()}
    run = Run(arguments.seed, arguments.minutes, arguments.postgres, arguments.rate, kinds, poison,
              relay=arguments.relay)
    run.run()
    if run.good and not arguments.keep:
        run.remove()
    else:
        places.keep(run.world.folder)
    if arguments.record:
        proof.record({"kind": "chaos", **sources, **run.result(), "versions": versions()})
    promises = [kept for _, kept in run.promises()]
    print(f"{promises.count(True)} passed, {promises.count(False)} failed")
    return 0 if run.good else 1


SOAK_RSS_MARGIN_KB = 2048
SOAK_RSS_MARGIN = 0.03


def soak_verdict(rows):
    """{what: (median of the second third, of the last third, flat)} of samples of one process."""
    third = len(rows) // 3
    if third == 0:
        return {"samples": (1, 0, False)}
    middle, last = rows[third:2 * third], rows[2 * third:]
    found = {}
    for name, column in (("RSS in kB", 2), ("descriptors", 3), ("threads", 4)):
        before, after = (statistics.median_low([row[column] for row in part]) for part in (middle, last))
        margin = max(SOAK_RSS_MARGIN_KB, before * SOAK_RSS_MARGIN) if column == 2 else 0
        flat = after <= before + margin if column == 2 else after == before
        found[name] = before, after, flat
    one_process = len({row[1] for row in rows}) == 1
    found["processes"] = 1, len({row[1] for row in rows}), one_process
    return found


def soak_command(arguments):
    kinds = kinds_for("stop", [kind for kind in faults.ALL if kind.spares_relay])
    sources = {"sources": proof.source_hash(), "commit": proof.source_commit()}
    run = Run(arguments.seed, arguments.minutes, arguments.postgres, arguments.rate, kinds)
    run.run()
    print(f"{'':<14}{'middle':>10}{'last third':>12}")
    verdict = soak_verdict(run.samples.rows)
    for name, (before, after, flat) in verdict.items():
        print(f"{name:<14}{before:>10}{after:>12}  {'flat' if flat else 'GREW'}")
    results = [kept for _, kept in run.promises()] + [flat for _, _, flat in verdict.values()]
    good = run.good and all(results)
    if good and not arguments.keep:
        run.remove()
    else:
        places.keep(run.world.folder)
        (run.world.folder / "samples.json").write_text(json.dumps(run.samples.rows))
        print(f"samples: {run.world.folder}/samples.json")
    if arguments.record:
        proof.record({
            "kind": "soak", **sources, **run.result(), "good": good, "versions": versions(),
            "soak": {name: list(values) for name, values in verdict.items()},
            "peak_rss_kb": max((row[2] for row in run.samples.rows), default=0),
        })
    print(f"{results.count(True)} passed, {results.count(False)} failed")
    return 0 if good else 1


def _asked_to_end(*_):
    raise SystemExit("asked to end")


def main(words):
    signal.signal(signal.SIGTERM, _asked_to_end)
    parser = argparse.ArgumentParser(prog="tests/run", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    for name, what, minutes in (
        ("chaos", "A relay under faults of all kinds, on real servers: nothing lost, everything in order.", 5),
        ("soak", "One relay process under load, and under faults that spare it: its memory, descriptors and threads"
                 " stay as they are.", 60),
    ):
        command = commands.add_parser(name, help=what, description=what)
        command.add_argument("--seed", type=int, default=1, help="the same seed, the same schedule of faults (1)")
        command.add_argument("--minutes", type=float, default=minutes, help=f"how long ({minutes})")
        command.add_argument("--postgres", choices=sorted(cache.POSTGRES), default="18", help="major version (18)")
        command.add_argument("--rate", type=float, default=300, help="events a second (300)")
        command.add_argument("--keep", action="store_true", help="keep logs and data, whatever comes of it")
        command.add_argument("--record", action="store_true",
                             help="write the result into tests/chaos/runs.jsonl and tests/PROOF.md")
        if name == "chaos":
            command.add_argument("--poison", choices=("stop", "park"),
                                 help="relay.poison (park where the seed is even); with park some events become"
                                      " undeliverable for a while")
            command.add_argument("--only", metavar="WORD,...", help="only faults with one of these in their name")
            command.add_argument("--relay", metavar="NAME",
                                 help="another relay, by its plug-in of tests/bench/relays: killed, and its connections"
                                      " ended; judged by the id in the payload: lost, out of order by key, repeated"
                                      f" ({', '.join(any_relay.plug_ins())})")
            command.add_argument("--schedule", type=int, metavar="N", help="print the first N steps, do nothing")
    arguments = parser.parse_args(words)
    if arguments.record and "WALPOST_BINARY" in os.environ:
        parser.error("--record tells of these sources: not with WALPOST_BINARY")
    if getattr(arguments, "relay", None):
        if arguments.record or arguments.poison:
            parser.error("--record and --poison are walpost's: not with --relay")
        if why := any_relay.obstacle(arguments.relay):
            parser.error(f"--relay {why}")
    return {"chaos": chaos_command, "soak": soak_command}[arguments.command](arguments)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
