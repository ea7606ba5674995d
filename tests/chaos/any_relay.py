"""The same world around another relay, or around walpost judged as if it were another: a plug-in of the benchmark."""

import os
import time
from collections import Counter

from bench import rivals
from chaos import events, faults
from chaos.checker import AnyRelay
from chaos.consumer import ByPayload
from chaos.world import DATABASE, LIVENESS_SECONDS, RECOVERY_SECONDS, SLOT, World
from lib import places
from lib.ports import take_port
from lib.relay import Relay, binary

PLUG_INS = places.TREE / "tests" / "bench" / "relays"
# Plug-ins that this world is no place for.
_UNFIT = {
    "walpost-tls": "the server here has no TLS",
    "wal-listener": "it makes its publication itself, after events are written",
}
TOPIC = "outbox.event.order"
# A JVM begins within it, also beside three brokers on two cores, and a session that is dead is noticed.
QUIET_SECONDS = 120
RESTART_SECONDS = 1.0
# So many events behind, the writers wait for it, until it is only so many.
BEHIND_HIGH, BEHIND_LOW = 20_000, 5_000


class KillAnyRelay(faults.KillRelay):
    """Whoever begins slowly would else be killed before it has read anything."""

    before = "kill -9 relay, before it streamed"

    def inject(self, world):
        for gap, streams_first in zip(self._gaps, self._streams_first):
            if streams_first:
                world.wait(world.has_new_walsender, LIVENESS_SECONDS, "the relay streams")
            world.pass_time(gap)
            world.counts[self.name if world.has_new_walsender() else self.before] += 1
            world.kill_relay(kind=self.name)
            world.start_relay()


# Of a relay of which no more is known than its process and its slot.
KINDS = (KillAnyRelay, faults.TerminateWalsender)


def plug_ins():
    names = (path.name for path in PLUG_INS.iterdir() if os.access(path, os.X_OK) and path.is_file())
    return sorted(name for name in names if name not in _UNFIT)


def obstacle(name):
    """Why that relay cannot be run; None if it can."""
    if name in _UNFIT:
        return f"{name}: {_UNFIT[name]}"
    if name not in plug_ins():
        return f"{name}: no plug-in of tests/bench/relays, which are {', '.join(plug_ins())}"
    variable = rivals.GIVEN.get(name)
    if variable and not os.access(os.environ.get(variable, ""), os.X_OK):
        return f"{name} is not fetched: name its program by {variable} (tests/bench/relays/README.md)"
    return None


class Process(Relay):
    """Started in a folder of its own, the same one again after a kill."""

    def __init__(self, script, folder, environment):
        super().__init__({}, folder, environment)
        self._command = ["sh", "-c", 'cd "$1" && exec "$2"', "relay", self.folder, script]

    def log(self, event=None):
        """Lines of another form than ours."""
        return []


class AnyRelayWorld(World):
    relay_count = 1
    topics = {TOPIC: 4}
    row_of = staticmethod(events.row_with_id_in_payload)
    consumer_kind = ByPayload

    def __init__(self, name, *arguments, environment=None, **options):
        super().__init__(*arguments, **options)
        self.name = name
        self.restarts = Counter()  # by exit code, of a relay that nobody asked to end
        self._restart_at = None
        self._walsender_before = None  # of the life before
        self._more_environment = environment or {}
        self._cache = rivals.fetch_debezium(print) if name.startswith("debezium") else "/nowhere"

    def new_checker(self, timeline):
        return AnyRelay(events.key_of, timeline)

    def _move_wal(self):
        """No small disk: one that confirms seldom keeps much of the log."""

    def _new_relay(self, number):
        return Process(PLUG_INS / self.name, self.folder, {
            "PGHOST": "127.0.0.1", "PGPORT": str(self.postgres.port), "PGUSER": "postgres", "PGDATABASE": DATABASE,
            "PGSOCKET": str(self.postgres.folder), "SLOT": SLOT, "PUBLICATION": "chaos", "TOPIC": TOPIC,
            "KAFKA": self.cluster.address, "BENCH_CACHE": str(self._cache), "BENCH_PORT": str(take_port()),
            "WALPOST_BINARY": str(binary()), **self._more_environment,
        })

    # --- the relay

    def has_new_walsender(self):
        """One that is not of a relay that was killed."""
        return self.walsender() not in (None, self._walsender_before)

    def kill_relay(self, which=None, kind=None):
        self._walsender_before = self.walsender() or self._walsender_before
        super().kill_relay(which, kind)

    def supervise(self):
        """As its service would."""
        relay = self.relay
        if relay._process is None or relay.is_alive() or relay in self._expected_down:
            return
        if self._restart_at is None:
            code = relay._process.returncode
            self.restarts[code] += 1
            self.note(f"relay exited with {code}")
            self._restart_at = time.monotonic() + RESTART_SECONDS
        elif time.monotonic() >= self._restart_at:
            self._restart_at = None
            self.start_relay()

    # --- how far it is

    def audit(self):
        """What it tells Postgres, and when, is its own; what it should not have told shows in what is lost."""

    def _newest(self):
        """Rank of the newest event that was seen."""
        with self.lock:
            self.checker.settle()
            return self.checker.newest

    def _known(self):
        """How many events are committed up to now."""
        goal = self.wait(self.slot, LIVENESS_SECONDS, "Postgres answers")[2]
        self.wait(lambda: self.truth.upto >= goal, LIVENESS_SECONDS, "the truth has read all")
        return self.checker.event_count()

    def _valve(self):
        if time.monotonic() < self._valve_at:
            return
        self._valve_at = time.monotonic() + 1
        behind = self.checker.event_count() - self._newest()
        if behind > BEHIND_HIGH:
            self.writers.allowed.clear()
        elif behind < BEHIND_LOW:
            self.writers.allowed.set()

    def wait_recovered(self, deadline=LIVENESS_SECONDS, longest=RECOVERY_SECONDS):
        """Until it has sent an event that was committed after now."""
        goal = self._known()
        if self.wait_grown(self._newest, goal, deadline, longest, "newer events come") < goal:
            raise self.broken(f"waited in vain for newer events: for {deadline:g} s none came")

    def settle(self, deadline=300):
        """Until all is there, or no message has come for long from a relay that reads."""
        self._known()
        self.wait_streaming()

        def progress():
            with self.lock:
                self.checker.settle()
                return float("inf") if self.checker.missing() == 0 else self.checker.messages

        self.wait_grown(progress, float("inf"), QUIET_SECONDS, RECOVERY_SECONDS, "all is there, or no more comes")
        if self.checker.missing():
            self.wait_streaming(RESTART_SECONDS)
        self.read_and_judge(deadline)
