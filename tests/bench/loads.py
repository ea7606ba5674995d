"""The loads: each takes a relay (the name of its plug-in) through one run and tells what it did as a dictionary."""

import contextlib
import json
import subprocess
import time
from pathlib import Path

from bench.audit import Audit
from bench.stack import (
    GIVE_UP_SECONDS, PUBLICATION, SLOT, Costs, Program, Topic, Writers, asked, cpu_seconds, is_active, slot_here,
    waited_seconds,
)
from lib import process
from lib.ports import take_port
from lib.waiting import wait_until

HERE = Path(__file__).resolve().parent
PARTITIONS = 4
TOPIC = "outbox.event.order"
WARM_SECONDS = 5
LIMITS = ("pg_recvlogical", "reader", "reader-socket")  # they read the slot, and that is all
# Of the reader: the longest pause, the gulp that ends it before, the receive buffer. TCP: a small window is full by
# then, and the walsender's rows gather behind it (postgres/receive_batching.h). Unix: more than 300 us are worse.
TCP_READER = (10_000, 400_000, 96 * 1024)
UNIX_READER = (200, 400_000, 0)


class Bench:
    """The servers, and what is the same for every run."""

    def __init__(self, stack, cache, programs):
        """`programs`: pg_recvlogical and reader."""
        self.stack, self._cache, self.programs = stack, cache, programs
        self._folders = 0

    def new_folder(self):
        self._folders += 1
        return self.stack.folder / "runs" / str(self._folders)

    def environment(self):
        server = self.stack.server
        return {
            "PGHOST": "127.0.0.1", "PGPORT": str(server.port), "PGUSER": "postgres", "PGDATABASE": "postgres",
            "PGSOCKET": str(self.stack.socket_folder), "SLOT": SLOT, "PUBLICATION": PUBLICATION, "TOPIC": TOPIC,
            "KAFKA": self.stack.kafka.address, "BENCH_CACHE": str(self._cache), "BENCH_PORT": str(take_port()),
        }

    def launch(self, relay, folder):
        return Program(HERE / "relays" / relay, folder, self.environment())

    def topic(self):
        return Topic(self.stack.kafka, TOPIC, PARTITIONS)


@contextlib.contextmanager
def running(bench, relay):
    folder = bench.new_folder()
    program = bench.launch(relay, folder)
    costs = Costs(bench.stack, program)
    try:
        yield program, costs
    finally:
        costs.close()
        program.end()


def wait_arrived(topic, program, costs, wanted):
    """False: it ended, or took too long."""
    end = time.monotonic() + GIVE_UP_SECONDS
    while time.monotonic() < end:
        costs.look()
        if topic.arrived() >= wanted:
            costs.look()
            return True
        if not program.is_alive():
            break
        time.sleep(0.05)
    return False


def gave_up(relay, program, topic, wanted):
    return {"failed": f"{relay}: {topic.arrived()} of {wanted} arrived; it said:\n{program.tail()}"}


# ---- a backlog ----------------------------------------------------------------------------------------------------

def drain(bench, relay, backlog):
    return drain_to_nowhere(bench, relay, backlog) if relay in LIMITS else drain_to_kafka(bench, relay, backlog)


def drain_to_kafka(bench, relay, backlog):
    with backlog.copied(bench.stack.server), bench.topic() as topic, running(bench, relay) as (program, costs):
        costs.begin_with_broker()
        if not wait_arrived(topic, program, costs, backlog.rows):
            return gave_up(relay, program, topic, backlog.rows)
        program.stop()
        seen = Audit(topic.messages(), backlog.rows)
        took = seen.last_ms / 1000 - program.started
        return {
            "rate": backlog.rows / took, "seconds": took,
            "steady_rate": backlog.rows / max(seen.last_ms - seen.first_ms, 1) * 1000,
            "first_seconds": seen.first_ms / 1000 - program.started,
            **per_million(costs, backlog.rows), "peak_mib": costs.peak_kb / 1024, **seen.facts(),
        }


def per_million(costs, events):
    names = ("cpu", "walsender_cpu", "walsender_waited", "broker_cpu")
    return {name: costs.used(name) / events * 1e6 for name in names if costs.is_known(name)}


def reader_command(bench, relay, backlog):
    server = bench.stack.server
    if relay == "pg_recvlogical":
        return [bench.programs[relay], "-d", server.conninfo(), f"--slot={SLOT}", "--start", "--no-loop", "-F", "0",
                "-f", "/dev/null", f"--endpos={backlog.end}", "-o", "proto_version=1",
                "-o", f"publication_names={PUBLICATION}", "-o", "messages=true"]
    host, manner = {}, TCP_READER
    if relay == "reader-socket":
        host, manner = {"host": str(bench.stack.socket_folder)}, UNIX_READER
    conninfo = server.conninfo(replication="database", **host)
    return [bench.programs["reader"], conninfo, SLOT, PUBLICATION, backlog.end, *manner]


def drain_to_nowhere(bench, relay, backlog):
    server = bench.stack.server
    with backlog.copied(server), server.connect() as connection:
        began = time.monotonic()
        child = subprocess.Popen(
            list(map(str, reader_command(bench, relay, backlog))), stdout=subprocess.PIPE, text=True)
        walsender = used = walsender_used = waited = peak = None
        while child.poll() is None:
            if walsender is None:
                query = f"SELECT active_pid FROM pg_replication_slots WHERE slot_name = '{SLOT}'"
                walsender = connection.execute(query).fetchone()[0]
            walsender_used = (cpu_seconds(walsender) if walsender else None) or walsender_used
            waited = (waited_seconds(walsender) if walsender else None) or waited
            used = cpu_seconds(child.pid) or used
            peak = asked(process.peak_rss_kb, child.pid) or peak
            time.sleep(0.01)
        took = time.monotonic() - began
        said = child.stdout.read()
        if child.returncode != 0:
            return {"failed": f"{relay} ended with {child.returncode}"}
        if relay != "pg_recvlogical" and json.loads(said)["events"] != backlog.rows:
            return {"failed": f"{relay} read {said}, not {backlog.rows} events"}
        million = backlog.rows / 1e6
        return {
            "rate": backlog.rows / took, "seconds": took, "cpu": (used or 0) / million,
            "walsender_cpu": (walsender_used or 0) / million,
            **({} if waited is None else {"walsender_waited": waited / million}), "peak_mib": (peak or 0) / 1024,
        }


# ---- killed in the middle -----------------------------------------------------------------------------------------

def killed(bench, relay, backlog):
    """kill -9 when half has arrived, started again: what is missing, what came twice?"""
    with backlog.copied(bench.stack.server), bench.topic() as topic:
        folder = bench.new_folder()
        first = bench.launch(relay, folder)
        costs = Costs(bench.stack, first)
        try:
            if not wait_arrived(topic, first, costs, backlog.rows // 2):
                return gave_up(relay, first, topic, backlog.rows // 2)
            first.kill()
        finally:
            costs.close()
            first.end()
        wait_until(lambda: is_active(bench.stack.server) is False, 60, "the killed relay's slot is free")
        at_kill = topic.arrived()
        second = bench.launch(relay, folder)
        try:
            if not wait_quiet(topic, second, backlog.rows):
                return gave_up(relay, second, topic, backlog.rows)
            second.stop()
        finally:
            second.end()
        return {"at_kill": at_kill, **Audit(topic.messages(), backlog.rows).facts()}


def wait_quiet(topic, program, wanted):
    """Until at least so many have come and nothing more does for 3 s."""
    end = time.monotonic() + GIVE_UP_SECONDS
    last, since = -1, time.monotonic()
    while time.monotonic() < end and program.is_alive():
        now = topic.arrived()
        if now != last:
            last, since = now, time.monotonic()
        if now >= wanted and time.monotonic() - since > 3:
            return True
        time.sleep(0.2)
    return False


# ---- a steady rate ------------------------------------------------------------------------------------------------

def steady(bench, relay, per_second, seconds):
    server = bench.stack.server
    server.query("TRUNCATE outbox")
    server.query("CHECKPOINT")
    with slot_here(server), bench.topic() as topic, running(bench, relay) as (program, costs):
        wait_until(lambda: is_active(server), 60, f"{relay} streams", program.tail)
        writers = Writers(server, per_second, WARM_SECONDS + seconds)
        began = time.time()
        writers.start()
        time.sleep(WARM_SECONDS)
        costs.look()
        costs.begin()
        at_begin, begin_ms = topic.arrived(), time.time() * 1000
        while time.time() < began + WARM_SECONDS + seconds - 0.2:
            time.sleep(0.2)
            costs.look()
            costs.look_at_log()
        end_ms, moved = time.time() * 1000, topic.arrived() - at_begin
        used = {name: costs.used(name) for name in ("cpu", "walsender_cpu", "broker_cpu")}
        rss, peak = costs.rss_kb(), costs.peak_kb
        rows = writers.join()
        if not wait_arrived(topic, program, costs, rows):
            return gave_up(relay, program, topic, rows)
        program.stop()
        numbers = writers.count * int(per_second * (WARM_SECONDS + seconds))
        seen = Audit(topic.messages(), rows, first=0, numbers=numbers)
        return {
            "written_per_second": rows / (WARM_SECONDS + seconds),
            "percent_of_a_core": used["cpu"] / (end_ms - begin_ms) * 1e5,
            **{name: value / max(moved, 1) * 1e6 for name, value in used.items()},
            **seen.latencies(begin_ms, end_ms), "steady_mib": rss / 1024, "peak_mib": peak / 1024,
            "retained_mib": costs.retained / 2**20, **seen.facts(),
        }
