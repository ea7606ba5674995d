"""What goes wrong. A fault is injected, held for a while, and healed; a class each.

`spares_relay`: the relay's process lives on, so that a soak may have it. `share`: how often it is drawn.
"""

import contextlib
import os
import re
import signal
import subprocess
import threading
import time
from pathlib import Path

import psycopg

from chaos import events
from chaos.world import DATABASE, ROLE, WAL_SENDER_TIMEOUT_SECONDS, Broken, now_ms
from lib import process
from lib.relay import run_command
from lib.waiting import TooLate, wait_until

# A free slot is looked for every half to one and a half seconds (src/relay), and the server needs a moment to notice
# that its client is gone; then connecting and the slot checkpoint row. This much is promised; twice that is waited.
TAKEOVER_PROMISED_SECONDS = 5


class Fault:
    """Drawn with the run's random numbers, before the run: what it does depends on the seed only."""

    name = ""
    share = 1.0
    group = ""  # what ails: two of one group never overlap
    spares_relay = False
    hold = (0.5, 3.0)  # seconds
    overlaps = True  # another one may hold meanwhile
    parks = False  # events cannot be delivered meanwhile: not with relay.poison = stop

    def __init__(self, rng):
        self.seconds = rng.uniform(*self.hold)
        self.draw(rng)

    def draw(self, rng):
        """More of what is left to chance."""

    @staticmethod
    def possible(world):
        return True

    def inject(self, world):
        raise NotImplementedError

    def has_shown(self, world):
        """Has it had its effect? It is not healed before."""
        return True

    def heal(self, world):
        pass

    def describe(self):
        """The name, and what was drawn; what begins with _ came about later or is too long."""
        said = [self.name]
        for name, value in vars(self).items():
            if not name.startswith("_"):
                said.append(f"{name}={value:.2f}" if isinstance(value, float) else f"{name}={value}")
        return " ".join(said)


# --- the relay


class KillRelay(Fault):
    """kill -9, several times in a row, at any moment of its life: also before it streams."""

    name = "kill -9 relay"
    group = "relay"
    hold = (0, 0)

    def draw(self, rng):
        self._gaps = [
            rng.uniform(0.02, 0.4) if rng.random() < 0.3 else rng.uniform(0.4, 1.6) for _ in range(rng.randint(4, 14))
        ]
        self._streams_first = [rng.random() < 0.6 for _ in self._gaps]
        self.times = len(self._gaps)

    def inject(self, world):
        for gap, streams_first in zip(self._gaps, self._streams_first):
            if streams_first and world.is_well():
                world.wait_streaming()
            world.pass_time(gap)
            world.kill_relay(kind=self.name)
            world.counts[self.name] += 1
            world.start_relay()


class StopRelay(Fault):
    name = "SIGTERM relay"
    group = "relay"
    share = 0.6
    hold = (0, 0)

    def inject(self, world):
        _ask_to_stop(world, world.relay)
        world.counts[self.name] += 1
        _wait_stopped(world, world.relay)
        world.start_relay()


def _ask_to_stop(world, relay):
    world._expected_down.add(relay)
    relay.signal(signal.SIGTERM)


def _wait_stopped(world, relay):
    code = relay.wait_exit(60)
    world.timeline.producer_ended(now_ms())
    world.audit()
    allowed = {0} if world.is_well() and not world.ailing["poison"] else {0, 1}
    if not world.said(relay, "event=started"):
        allowed.add(-signal.SIGTERM)  # the loader was still at work
    if code not in allowed:
        raise Broken(f"SIGTERM ended the relay with {code}\n{relay.log_tail()}")


class StartTogether(Fault):
    """Two relays race for the free slot, and each is stopped at a moment of its own, before or after one has it."""

    name = "two relays started at once and stopped early"
    group = "relay"
    share = 0.6
    hold = (0, 0)
    overlaps = False

    def draw(self, rng):
        self.times = rng.randint(3, 8)
        self._races = [[(first, rng.uniform(0, 0.4)), (1 - first, rng.uniform(0, 1.2))]
                       for first in (rng.randrange(2) for _ in range(self.times))]

    def inject(self, world):
        _ask_to_stop(world, world.relay)
        _wait_stopped(world, world.relay)
        for race in self._races:
            for relay in world.relays:
                world.start_relay(relay)
            world.counts[self.name] += 1
            for number, gap in race:
                world.pass_time(gap)
                _ask_to_stop(world, world.relays[number])
            for relay in world.relays:
                _wait_stopped(world, relay)
        world.start_relay()


class FreezeRelay(Fault):
    """Shorter than the server waits for it."""

    name = "SIGSTOP relay, short"
    group = "relay"
    share = 0.6
    hold = (0.3, 3.0)

    def inject(self, world):
        self._relay = world.relay
        process.pause(self._relay.pid)
        world.timeline.producer_ended(now_ms())
        world.counts[self.name] += 1

    def heal(self, world):
        if self._relay.is_alive():
            process.resume(self._relay.pid)
        world.timeline.producer_ended(now_ms())


class FreezeRelayLong(FreezeRelay):
    """The server gives it up meanwhile."""

    name = "SIGSTOP relay, past wal_sender_timeout"
    share = 0.4
    hold = (WAL_SENDER_TIMEOUT_SECONDS + 2, WAL_SENDER_TIMEOUT_SECONDS + 6)


class TakeOver(Fault):
    """A second relay waits on the slot; the first is killed, or frozen for good; the second must work in time."""

    name = "standby takeover"
    group = "relay"
    share = 1.0
    hold = (0, 0)
    overlaps = False

    def draw(self, rng):
        self.frozen = rng.random() < 0.3  # then it wakes up when the other one works

    def inject(self, world):
        old, new = world.relay, world.spare
        world.wait_recovered()  # so that it is the first that has the slot
        world.start_relay(new)
        world.wait(lambda: world.said(new, "standby"), 30, "the second relay stands by")
        world.pass_time(0.5)
        world.counts[self.name] += 1
        if self.frozen:
            before = world.walsender()
            process.pause(old.pid)
            world.timeline.producer_ended(now_ms())
            extra = WAL_SENDER_TIMEOUT_SECONDS + 2  # until the server lets go of the frozen one
        else:
            before = None
            world.kill_relay(old)
            extra = 0
        world.active = 1 - world.active
        deadline = 2 * TAKEOVER_PROMISED_SECONDS + extra
        killed = time.monotonic()
        try:
            wait_until(lambda: world.walsender() not in (None, before), deadline, "the second relay has taken over")
        except TooLate as late:
            raise Broken(f"{late}\n{new.log_tail()}") from None
        took = time.monotonic() - killed
        if took > deadline:  # a promise, however busy the machine is
            raise Broken(f"the second relay took over after {took:.1f} s, not within {deadline} s\n{new.log_tail()}")
        world.takeovers.append(round(took, 2))
        if self.frozen:
            world.wait_recovered()
            process.resume(old.pid)
            world.timeline.producer_ended(now_ms())
            world.pass_time(1.5)
            world.kill_relay(old)


class TakeSlot(Fault):
    """A client that is no relay has the slot while the relay is stopped. All events are confirmed before, and none is
    committed meanwhile; but where the client moves the slot the relay cannot know that, and must say so. Then it is
    told to go on. Where the client only reads, the relay goes on by itself."""

    name = "another client takes the slot"
    group = "relay"
    share = 0.8
    hold = (0, 0)
    overlaps = False

    def draw(self, rng):
        self.moves = rng.random() < 0.6
        self._seconds = rng.uniform(0.1, 2.5)

    def inject(self, world):
        world.wait_recovered()
        try:
            with world.postgres.connect(DATABASE, options="-c lock_timeout=3s") as connection:
                connection.execute("BEGIN; LOCK TABLE ledger IN EXCLUSIVE MODE")
                self._take(world, connection)
        except psycopg.Error as error:  # a prepared transaction holds the table
            world.note(f"nobody could take the slot: {error}")

    def _take(self, world, connection):
        relay = world.relay
        asked = "SELECT (pg_current_wal_insert_lsn() - '0/0'::pg_lsn)::bigint"
        (end,) = connection.execute(asked).fetchone()
        world.wait(lambda: (world.slot() or (0,))[0] >= end, 60, "all events are confirmed")
        pid, mark = relay.pid, relay.stderr_file.stat().st_size
        process.pause(pid)
        world.timeline.producer_ended(now_ms())
        world.counts[self.name] += 1
        world.try_query("SELECT pg_terminate_backend(%s)", (world.walsender(),))
        world.wait(lambda: world.walsender() is None, 30, "the slot is free")
        if self.moves:
            world.expect_down(relay)
            self._move(world)
        else:
            self._read(world, pid)
        connection.execute("COMMIT")
        process.resume(pid)
        world.timeline.producer_ended(now_ms())
        if self.moves:
            self._check_told(world, relay, mark)
        world.wait_recovered()
        if not self.moves and b"slot_moved" in relay.log_since(mark):
            raise Broken(f"an alarm that was false\n{relay.log_tail()}")

    @staticmethod
    def _move(world):
        """Behind what is no event."""
        world.try_query("SELECT pg_logical_emit_message(true, 'nobody', '')")
        if world.try_query("SELECT pg_replication_slot_advance('chaos', pg_current_wal_flush_lsn())") is None:
            raise Broken("the slot cannot be moved")

    def _read(self, world, pid):
        conninfo = world.postgres.conninfo(DATABASE, replication="database")
        stream = psycopg.pq.PGconn.connect(conninfo.encode())
        started = stream.exec_(b"START_REPLICATION SLOT chaos LOGICAL 0/0 "
                               b"(proto_version '1', publication_names 'chaos')")
        if started.status != psycopg.pq.ExecStatus.COPY_BOTH:
            raise Broken(f"the slot cannot be read: {started.error_message}")
        process.resume(pid)
        world.pass_time(self._seconds)
        stream.finish()

    @staticmethod
    def _check_told(world, relay, mark):
        code = relay.wait_exit(60)
        if code != 3 or b"event=slot_moved" not in relay.log_since(mark):
            raise Broken(f"a slot that was moved was not told: exit code {code}\n{relay.log_tail()}")
        accepted = run_command("slot", "accept", "-c", relay.config_file)
        if accepted.returncode != 0:
            raise Broken(f"the slot was not accepted: {accepted.stderr}")
        world.start_relay()


class StepClock(Fault):
    """The relay's wall clock only, both ways, by libfaketime; CLOCK_MONOTONIC goes on."""

    name = "clock step"
    group = "clock"
    spares_relay = True
    share = 0.7
    hold = (2, 6)

    def draw(self, rng):
        self.step = rng.choice((-1, 1)) * rng.choice((1, 3, 61, 3_600, 86_400 * 30))

    @staticmethod
    def possible(world):
        return world.can_step_clock

    def inject(self, world):
        world.use_first_relay()
        world.clock.set(self.step)
        world.counts[self.name] += 1

    def heal(self, world):
        world.clock.set(0)
        world.pass_time(2)  # until it shows: a jump ahead ends the stream, and a second relay would have the slot


class ReloadRelay(Fault):
    """SIGHUP: one header more or less, a column that the server has not, a file that is wrong. The file is as before
    when it has been read."""

    name = "SIGHUP relay"
    group = "relay"
    share = 0.8
    hold = (0, 0)

    def draw(self, rng):
        wants = ("headers = type:kind", "headers = no_such_column", "headers.source = chaos", "heders = x")
        self._wants = [rng.choice(wants) for _ in range(rng.randint(2, 8))]
        self._gaps = [rng.choice((0, 0.05, 0.5, 1.5)) for _ in self._wants]
        self.times = len(self._wants)

    def inject(self, world):
        relay = world.relay
        before = relay.config_file.read_text()
        for want, gap in zip(self._wants, self._gaps):
            try:
                wait_until(lambda: relay.has_read_config() or not relay.is_alive(), 20, "the relay has begun")
                if not relay.is_alive():
                    break
                mark = relay.stderr_file.stat().st_size
                relay.config_file.write_text(before.replace("[outbox]\n", f"[outbox]\n{want}\n"))
                relay.signal(signal.SIGHUP)
                world.counts[self.name] += 1
                wait_until(lambda mark=mark: self._has_read(relay, mark), 20, "the relay has read its file")
            except TooLate as late:
                raise Broken(f"{late}\n{relay.log_tail()}") from None
            finally:
                relay.config_file.write_text(before)
            world.pass_time(gap)

    @staticmethod
    def _has_read(relay, mark):
        said = relay.log_since(mark)
        return b"event=reloaded" in said or b"event=reload_refused" in said or not relay.is_alive()


# --- Postgres


class TerminateWalsender(Fault):
    name = "pg_terminate_backend(walsender)"
    group = "postgres"
    spares_relay = True
    hold = (0, 0)

    def draw(self, rng):
        self.times = rng.randint(1, 4)

    def inject(self, world):
        for _ in range(self.times):
            pid = world.walsender()
            if pid is None:
                world.pass_time(0.5)
                continue
            world.try_query("SELECT pg_terminate_backend(%s)", (pid,))
            world.counts[self.name] += 1
            world.pass_time(0.7)


class AlterOutbox(Fault):
    """The table gets new columns for old, under its writers: rows still in the log are of another shape than it is.
    Mostly the relay is dead meanwhile, so that it comes back to such rows."""

    name = "ALTER TABLE outbox"
    group = "relay"
    share = 1.0
    hold = (0, 0)

    def draw(self, rng):
        self.asleep = rng.random() < 0.7
        self.anew = rng.choice(("type", "payload", "type, payload"))

    def inject(self, world):
        if self.asleep:
            world.pass_time(1.0)
            world.kill_relay(kind=self.name)
        world.pass_time(0.3)
        changes = [change for column in self.anew.split(", ")
                   for change in (f"DROP COLUMN {column}", f"ADD COLUMN {column} text")]
        try:
            with world.postgres.connect(DATABASE, options="-c lock_timeout=3s") as connection:
                connection.execute(f"BEGIN; TRUNCATE outbox; ALTER TABLE outbox {', '.join(changes)}; COMMIT")
            world.counts[self.name] += 1
        except psycopg.Error as error:  # a prepared transaction holds the table, or the server is away
            world.note(f"the outbox could not be altered: {error}")
        if self.asleep:
            world.pass_time(0.3)
            world.start_relay()


def _signal_walsender(fault, world, number):
    pid = world.walsender()
    if pid is None:
        return
    with contextlib.suppress(ProcessLookupError):  # that of a relay that was killed a moment ago
        os.kill(pid, number)
        world.counts[fault.name] += 1


class FreezeWalsender(Fault):
    name = "SIGSTOP walsender"
    group = "postgres"
    spares_relay = True
    share = 0.6
    hold = (1, 12)

    def inject(self, world):
        _signal_walsender(self, world, signal.SIGSTOP)

    def heal(self, world):
        world.thaw_postgres()


class KillWalsender(Fault):
    """The postmaster takes it for a crash and restarts the whole server."""

    name = "kill -9 walsender (server crashes)"
    group = "postgres"
    spares_relay = True
    share = 0.6
    hold = (0, 0)

    def inject(self, world):
        _signal_walsender(self, world, signal.SIGKILL)

    def heal(self, world):
        world.ensure_postgres()


class RestartPostgres(Fault):
    name = "Postgres fast restart"
    group = "postgres"
    mode = "fast"
    spares_relay = True
    share = 0.6
    hold = (0, 3)

    def inject(self, world):
        world.counts[self.name] += 1
        world.thaw_postgres()
        world.postgres.begin_stop(self.mode)
        world.wait(lambda: not world.postgres.is_running(), 60, f"Postgres has stopped ({self.mode})")

    def heal(self, world):
        world.ensure_postgres()


class CrashPostgres(RestartPostgres):
    name = "Postgres immediate restart"
    mode = "immediate"
    share = 0.8


class FillDisk(Fault):
    """The disk of the WAL, a small tmpfs, is full: the server panics and stays down until there is room."""

    name = "WAL disk full"
    group = "postgres"
    spares_relay = True
    share = 0.4
    hold = (1, 5)
    overlaps = False

    @staticmethod
    def possible(world):
        return world.wal_disk

    def inject(self, world):
        self._filler = world.folder / "wal" / "filler"
        mark = world.postgres.log_size()
        world.counts[self.name] += 1
        with open(self._filler, "wb", buffering=0) as file:
            chunk = b"\0" * (1 << 16)
            try:
                while True:
                    file.write(chunk)
            except OSError:
                pass

        def is_down():
            world.tick()
            if not world.postgres.is_running():
                return True
            world.try_query("SELECT pg_logical_emit_message(false, 'fill', repeat('x', 1000000)), pg_switch_wal()")
            return "No space left on device" in world.postgres.log_since(mark)

        try:
            wait_until(is_down, 40, "the disk is full")
        except TooLate as late:
            raise Broken(f"the fault did not come about: {late}") from None

    def heal(self, world):
        self._filler.unlink()
        world.ensure_postgres()


# --- the network


class HalfOpen(Fault):
    """Packets of the relay's connection to Postgres are dropped, both ways, and nobody is told."""

    name = "half-open connection to Postgres"
    group = "network"
    spares_relay = True
    share = 0.25
    hold = (0, 0)
    overlaps = False

    def inject(self, world):
        world.counts[self.name] += 1
        relay = world.relay
        target = int(re.search(r"port=(\d+)", relay.config_file.read_text())[1])
        world.wait_streaming()
        old = world.walsender()
        ports = _ports_to(relay.pid, target)
        if not ports:
            return
        rules = [
            ("OUTPUT", "-o", "lo", "-p", "tcp", *pair, "-m", "comment", "--comment", str(world.folder), "-j", "DROP")
            for port in ports
            for pair in (("--sport", str(port), "--dport", str(target)), ("--sport", str(target), "--dport", str(port)))
        ]
        with_proxy = world.active == 0
        by_iptables = all([_iptables("-I", *rule) for rule in rules])
        world.ways["half-open by iptables" if by_iptables else "half-open by a deaf proxy"] += 1
        if not by_iptables and not with_proxy:
            world.use_first_relay()
            with_proxy = True
        if with_proxy:
            world.proxies.cut("postgres")
        try:
            # It is silent for 40 s before it is taken for dead (src/relay/feedback.c).
            world.wait(lambda: world.walsender() not in (None, old), 150, "the dead connection is noticed and replaced")
        finally:
            for rule in rules:
                _iptables("-D", *rule)
            if with_proxy:
                world.proxies.end_cut("postgres")
            world.timeline.producer_ended(now_ms())


def _iptables(*arguments):
    try:
        return subprocess.run(["iptables", "-w", "5", *arguments], capture_output=True).returncode == 0
    except FileNotFoundError:
        return False


def _ports_to(pid, remote):
    """Local ports of this process's connections to 127.0.0.1:`remote`."""
    inodes = set()
    for entry in Path(f"/proc/{pid}/fd").iterdir():
        try:
            found = re.match(r"socket:\[(\d+)\]", os.readlink(entry))
        except FileNotFoundError:
            continue
        if found:
            inodes.add(found[1])
    ports = []
    for line in Path("/proc/net/tcp").read_text().splitlines()[1:]:
        fields = line.split()
        if fields[9] in inodes and int(fields[2].split(":")[1], 16) == remote:
            ports.append(int(fields[1].split(":")[1], 16))
    return ports


class SlowNetwork(Fault):
    name = "slow network"
    group = "network"
    spares_relay = True
    hold = (3, 12)
    share = 0.8

    def draw(self, rng):
        self.rate = rng.choice((60_000, 200_000, 1_000_000))
        self.delay = rng.choice((0.005, 0.05, 0.3))
        self.side = rng.choice(("postgres", "kafka", "both"))

    def ways(self, world):
        return [name for name in world.proxies.names if self.side == "both" or name.startswith(self.side)]

    def inject(self, world):
        world.use_first_relay()
        world.proxies.set(*self.ways(world), rate=self.rate, delay=self.delay)
        world.counts[self.name] += 1

    def heal(self, world):
        world.proxies.set(*self.ways(world))
        world.timeline.producer_ended(now_ms())


class CutOffKafka(SlowNetwork):
    """Nothing passes between the relay and the brokers; connections stay open."""

    name = "relay cut off from Kafka"
    hold = (1, 12)
    share = 0.6

    def draw(self, rng):
        self.side = "kafka"

    def inject(self, world):
        world.use_first_relay()
        world.proxies.set(*self.ways(world), deaf=True)
        world.counts[self.name] += 1


class LateAnswers(SlowNetwork):
    """The brokers answer, half a second to three seconds late: slow, not gone."""

    name = "Kafka answers late"
    hold = (8, 20)
    share = 0.6

    def draw(self, rng):
        self.side = "kafka"
        self.answer_time = rng.uniform(0.5, 3.0)

    def inject(self, world):
        world.use_first_relay()
        world.proxies.set(*self.ways(world), delay=self.answer_time / 2)  # each way
        world.counts[self.name] += 1


# --- Kafka


class KillBroker(Fault):
    name = "kill -9 broker"
    group = "kafka"
    spares_relay = True
    share = 1.0
    hold = (0, 4)

    def draw(self, rng):
        self.node = rng.randrange(3)

    def inject(self, world):
        world.cluster.nodes[self.node].kill()
        world.counts[self.name] += 1

    def heal(self, world):
        node = world.cluster.nodes[self.node]
        if not node.is_running():
            node.launch()


class RestartBroker(KillBroker):
    name = "clean restart of a broker"
    share = 0.6

    def inject(self, world):
        world.counts[self.name] += 1
        world.cluster.nodes[self.node].end_with_patience()


class FreezeBroker(KillBroker):
    name = "SIGSTOP broker"
    share = 0.8
    hold = (1, 12)

    def inject(self, world):
        world.cluster.nodes[self.node].pause()
        world.counts[self.name] += 1

    def heal(self, world):
        world.cluster.nodes[self.node].resume()
        world.timeline.producer_ended(now_ms())  # what it had received of a dead producer it takes now


class MoveLeaders(Fault):
    """The node that leads most stops cleanly and comes back, then takes its leadership back: two changes of leader."""

    name = "leader change"
    group = "kafka"
    spares_relay = True
    share = 0.6
    hold = (0, 1)

    def draw(self, rng):
        self.topic = rng.choice(sorted(events.TOPICS))

    def inject(self, world):
        world.counts[self.name] += 1
        leaders = list(world.cluster.leaders(self.topic).values())
        self._node = world.cluster.nodes[max(max(set(leaders), key=leaders.count), 1) - 1]
        self._node.end_with_patience()

    def heal(self, world):
        if not self._node.is_running():
            self._node.launch()
        world.wait_kafka()
        world.cluster.elect_preferred(world.parts)


class LoseTwoBrokers(Fault):
    """Two of three go, one after the other and cleanly, so that the last one knows that it is alone: what it answers
    to a producer is asked, and must be NOT_ENOUGH_REPLICAS."""

    name = "two of three brokers down"
    group = "kafka"
    spares_relay = True
    share = 0.5
    hold = (3, 10)
    overlaps = False

    def draw(self, rng):
        self.left = rng.randrange(3)

    def inject(self, world):
        world.counts[self.name] += 1
        for node in self._gone(world):
            node.end_with_patience()
        world.ways[f"two of three brokers down: {world.probe_producer(self.left)}"] += 1

    def _gone(self, world):
        return [node for number, node in enumerate(world.cluster.nodes) if number != self.left]

    def heal(self, world):
        for node in self._gone(world):
            if not node.is_running():
                node.launch()


class ForgetTopic(Fault):
    """A topic is deleted and made anew under load: what Kafka had confirmed is gone, and the relay must say so. It is a
    topic that the checker knows nothing of, for what Kafka loses is not the relay's loss."""

    name = "topic made anew"
    group = "relay"  # it must be the process that saw what was confirmed
    share = 0.4
    hold = (0, 0)
    overlaps = False

    def draw(self, rng):
        self.before, self.after = rng.randint(1, 200), rng.randint(1, 20)

    def inject(self, world):
        world.wait_recovered()
        world.write_scratch(self.before)
        world.wait_recovered()
        relay, pid, mark = world.relay, world.relay.pid, world.relay.stderr_file.stat().st_size
        world.cluster.nodes[0].delete_topic(events.SCRATCH_TOPIC)
        world.create_scratch()
        world.counts[self.name] += 1
        world.write_scratch(self.after)
        world.wait_recovered()
        told = re.search(rb"event=kafka_data_loss .*topic=scratch ", relay.log_since(mark))
        if relay.pid == pid and not told:
            raise Broken(f"nothing was told of what Kafka lost\n{relay.log_tail()}")


# --- events that cannot be delivered for a while


class Poison(Fault):
    """Some events cannot be delivered. That has shown once so many are parked: Kafka names a batch and no event, so the
    relay sends again what was in flight, one event at a time, and on a busy machine that takes longer than any hold."""

    group = "poison"
    parks = True
    shows = 10

    def begin_to_show(self, world):
        self._parked_before = len(world.parked_ids)

    def has_shown(self, world):
        return len(world.parked_ids) >= self._parked_before + self.shows


class LowerLimit(Poison):
    """Kafka refuses the larger events of some topics, until their limit is raised again."""

    name = "limit of a topic lowered"
    spares_relay = True
    share = 2.0
    hold = (5, 20)

    def draw(self, rng):
        self.topics = rng.sample(sorted(events.TOPICS), rng.randint(1, len(events.TOPICS)))
        self.limit = rng.choice((16_000, 25_000, 40_000))

    def inject(self, world):
        self.begin_to_show(world)
        self._set_limit(world, self.limit)
        world.counts[self.name] += 1

    def heal(self, world):
        self._set_limit(world, None)

    def _set_limit(self, world, limit):
        for topic in self.topics:
            world.cluster.set_limit(topic, limit)


class TroubledStore(LowerLimit):
    """The same, and walpost.parked is in trouble meanwhile: from some time after the limit was lowered until shortly
    before or after it is raised."""

    share = 1.0
    hold = (3, 10)
    shows = 0  # perhaps nothing can be parked

    def draw(self, rng):
        super().draw(rng)
        self.lead = rng.uniform(0, 3)
        self.cured_first = rng.random() < 0.5

    def inject(self, world):
        super().inject(world)
        world.pass_time(self.lead)
        try:
            self.begin(world)
        except psycopg.Error as error:  # another fault has taken the server away
            world.note(f"{self.name}: {error}")

    def heal(self, world):
        if self.cured_first:
            super().heal(world)
            world.pass_time(1.5)
        self.end(world)
        super().heal(world)

    def begin(self, world):
        raise NotImplementedError

    def end(self, world):
        raise NotImplementedError


class LockParked(TroubledStore):
    """A lock of that mode lets it be read, or not even that."""

    name = "walpost.parked locked"
    _session = None

    def draw(self, rng):
        super().draw(rng)
        self.mode = rng.choice(("EXCLUSIVE", "ACCESS EXCLUSIVE"))

    def begin(self, world):
        self._session = world.postgres.connect(DATABASE, options="-c lock_timeout=3s")
        self._session.execute(f"BEGIN; LOCK TABLE walpost.parked IN {self.mode} MODE")

    def end(self, world):
        if self._session:
            self._session.close()


class RevokeParked(TroubledStore):
    name = "right on walpost.parked revoked"

    def draw(self, rng):
        super().draw(rng)
        self.right = rng.choice(("INSERT", "DELETE", "SELECT, INSERT, UPDATE, DELETE"))

    def begin(self, world):
        world.postgres.query(f"REVOKE {self.right} ON walpost.parked FROM {ROLE}", database=DATABASE)

    def end(self, world):
        def granted():
            world.ensure_postgres()
            try:
                world.postgres.query(f"GRANT {self.right} ON walpost.parked TO {ROLE}", database=DATABASE)
            except psycopg.Error:
                return False
            return True

        world.wait(granted, 60, "the right is granted again")


class TerminateParking(TroubledStore):
    """Again and again."""

    name = "pg_terminate_backend(session of parked events)"
    _thread = None

    def draw(self, rng):
        super().draw(rng)
        self.gap = rng.choice((0.05, 0.3, 1.0))

    def begin(self, world):
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, args=(world,), daemon=True)
        self._thread.start()

    def _run(self, world):
        while not self._over.wait(self.gap):
            world.try_query(
                """SELECT pg_terminate_backend(pid) FROM pg_stat_activity
                   WHERE usename = %s AND backend_type = 'client backend' AND query LIKE '%%walpost.park%%'""", (ROLE,))

    def end(self, world):
        if self._thread:
            self._over.set()
            self._thread.join()


class LowerOwnLimit(Poison):
    """walpost refuses the larger events itself: those of its processes that begin meanwhile have a lower limit."""

    name = "message.max.bytes of walpost lowered"
    hold = (3, 12)

    def draw(self, rng):
        self.limit = rng.choice((16_000, 25_000, 40_000))

    def inject(self, world):
        self.begin_to_show(world)
        self._lines(world, "[kafka]\n", f"[kafka]\nmessage.max.bytes = {self.limit}\n")
        world.counts[self.name] += 1

    def heal(self, world):
        self._lines(world, f"[kafka]\nmessage.max.bytes = {self.limit}\n", "[kafka]\n")

    @staticmethod
    def _lines(world, old, new):
        for relay in world.relays:
            relay.config_file.write_text(relay.config_file.read_text().replace(old, new))
        world.kill_relay()
        world.start_relay()


ALL = (
    KillRelay, StopRelay, StartTogether, FreezeRelay, FreezeRelayLong, TakeOver, TakeSlot, StepClock, AlterOutbox,
    TerminateWalsender, FreezeWalsender, KillWalsender, RestartPostgres, CrashPostgres, FillDisk, HalfOpen, SlowNetwork,
    CutOffKafka, LateAnswers, KillBroker, RestartBroker, FreezeBroker, MoveLeaders, LoseTwoBrokers, ReloadRelay,
    ForgetTopic, LowerLimit, LockParked, RevokeParked, TerminateParking, LowerOwnLimit,
)
