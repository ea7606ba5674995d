"""Hundreds of outboxes of different shapes in one relay: they come and go while events of the others flow."""

import collections
import itertools
import re
import threading

from lib.relay import config_text, run_command
from lib.stage import OUTBOX_COLUMNS

# What each kind of outbox looks like: columns besides its number, options, and an INSERT's values.
KINDS = (
    ("id uuid, aggregateid text, type text, payload jsonb", (), "gen_random_uuid(), '{0}', 'made', '{{\"a\": 1}}'"),
    ("event uuid, owner text, body bytea",
     ("column.id = event", "column.key = owner", "column.type =", "column.payload = body"),
     "gen_random_uuid(), '{0}', '\\x00ff'"),
    ("id uuid, aggregateid text, type text, payload text",
     ("envelope = cloudevents-binary", "cloudevents.source = /here"), "gen_random_uuid(), '{0}', 'made', 'x'"),
    ("id uuid, aggregateid text, type text, payload text", ("envelope = protobuf",),
     "gen_random_uuid(), '{0}', 'made', 'x'"),
    ("id uuid, aggregateid text, type text, payload jsonb", ("value.format = json-schema",),
     "gen_random_uuid(), '{0}', 'made', '{{\"a\": 1}}'"),
    ("id uuid, aggregateid text, type text, payload text", ("payload.encoding = base64",),
     "gen_random_uuid(), '{0}', 'made', 'eA=='"),
    ("Id bigint, Data json",
     ("column.id = Id", "column.key = Data->owner", "column.type =", "column.payload = Data->of"),
     "1, '{{\"owner\": \"{0}\", \"of\": {{\"deep\": 1}}}}'"),
)
GROUPS = 4


class Outbox:
    def __init__(self, number):
        self.name = f"o{number}"
        self.columns, self.options, self.values = KINDS[number % len(KINDS)]
        self.group = number % GROUPS
        self.table = f"many.{self.name}"

    def section(self, stage):
        lines = (f"table = {self.table}", f"topic.replacement = {stage.topic()}", "headers = n:n", "route.by = n",
                 *self.options)
        return "\n".join((f"[outbox.{self.name}]", *lines, ""))


class Tenant:
    def __init__(self, number):
        self.name = f"tenant_{number}"
        self.values = KINDS[0][2]
        self.table = f"{self.name}.outbox"


class Writer:
    """Rows into all that are given to it, in transactions of several; counts what it committed."""

    def __init__(self, stage):
        self.written = collections.Counter()
        self._stage, self._outboxes = stage, []
        self._lock, self._ends = threading.Lock(), threading.Event()
        self._thread = threading.Thread(target=self._run)

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._ends.set()
        self._thread.join()

    def writes_to(self, outboxes):
        """These from now on, and no others once this returns."""
        with self._lock:
            self._outboxes = list(outboxes)

    def _run(self):
        with self._stage.connect() as connection:
            for turn in itertools.count(step=5):
                if self._ends.wait(0.002):
                    return
                with self._lock:
                    among = self._outboxes
                    chosen = [among[(turn + i) % len(among)] for i in range(5 if among else 0)]
                    with connection.transaction():
                        for outbox in chosen:
                            connection.execute(insert(outbox))
                    self.written.update(outbox.name for outbox in chosen)


def insert(outbox):
    return f"INSERT INTO {outbox.table} VALUES (DEFAULT, {outbox.values.format(outbox.name)})"


def _key(message):
    return (message.key or b"").decode().strip('"')


def test_outboxes_and_tenants_come_and_go_while_others_flow(make_stage, scaled):
    count, rounds, tenants = int(scaled(28, 200)), int(scaled(4, 24)), int(scaled(3, 20))
    stage = make_stage(set_up=False)
    stage.create_topic(partitions=4)
    outboxes = [Outbox(number) for number in range(count)]
    stage.sql("CREATE SCHEMA many")
    for outbox in outboxes:
        stage.sql(f"CREATE TABLE {outbox.table} (n bigint GENERATED ALWAYS AS IDENTITY, {quoted(outbox.columns)})")
    stage.sql(f"CREATE PUBLICATION {stage.publication} FOR ALL TABLES WITH (publish = 'insert')")
    stage.create_slot(with_truth=False)
    pattern = stage.config({"outbox.table": "tenant_*.outbox", "outbox.ignore": "*", "outbox.headers": "n:n",
                            "outbox.route.by": "n", "outbox.topic.replacement": stage.topic()})

    def text(left_out=None):
        ignored = ["*", *(outbox.table for outbox in outboxes if outbox.group == left_out)]
        return config_text({**pattern, "outbox.ignore": ", ".join(ignored)}) + "\n" + "\n".join(
            outbox.section(stage) for outbox in outboxes if outbox.group != left_out)

    relay = stage.new_relay()
    relay.config_file.write_text(text())
    relay.start()
    stage.wait_streaming(relay)
    memory, streams, made, old = [relay.rss_kb()], 1, 0, []
    passed_over = collections.Counter()

    def change(left_out=None):
        nonlocal streams
        relay.reload(text(left_out))
        streams += 1
        relay.wait_log("event=streaming", 30, count=streams)

    with Writer(stage) as writer:
        for number in range(rounds):
            group = number % GROUPS
            stay = [outbox for outbox in outboxes if outbox.group != group]
            new = [Tenant(made + i) for i in range(tenants)]
            made += tenants
            for tenant in new:
                stage.sql(f"CREATE SCHEMA {tenant.name}; CREATE TABLE {tenant.table} "
                          f"(n bigint GENERATED ALWAYS AS IDENTITY, {KINDS[0][0]})")
            writer.writes_to([*stay, *new])
            stage.wait_all_confirmed(60, relay)
            for tenant in old:
                stage.sql(f"DROP SCHEMA {tenant.name} CASCADE")
            old = new
            change(left_out=group)
            for outbox in outboxes:
                if outbox.group == group:
                    stage.sql(insert(outbox))
                    passed_over[outbox.name] += 1
            stage.wait_all_confirmed(60, relay)
            change()
            writer.writes_to([*outboxes, *new])
            stage.wait_until(lambda: all(writer.written[outbox.name] for outbox in new), 60, "new tenants have rows")
            memory.append(relay.rss_kb())
    stage.wait_all_confirmed(60, relay)
    print(f"{count} outboxes of {len(KINDS)} shapes, {made} tenants, {2 * rounds} reloads, "
          f"{sum(writer.written.values())} events: RSS in kB, round by round: {memory}")
    relay.stop()
    arrived = collections.defaultdict(list)
    for message in stage.read():
        arrived[_key(message)].append(int(message.header("n")))
    assert {name: len(numbers) for name, numbers in arrived.items()} == dict(writer.written)
    for name, numbers in arrived.items():
        assert numbers == sorted(set(numbers)), name
        assert numbers[-1] <= writer.written[name] + passed_over[name], name


def _plain(stage, count):
    """As many outboxes alike; the configuration's text."""
    stage.sql("CREATE SCHEMA many")
    with stage.connect() as connection, connection.transaction():
        for number in range(count):
            connection.execute(f"CREATE TABLE many.o{number} ({OUTBOX_COLUMNS})")
    stage.publish(*(f"many.o{number}" for number in range(count)))
    stage.create_slot(with_truth=False)
    return config_text(stage.config({"outbox.table": None})) + "\n" + "\n".join(
        f"[outbox.o{number}]\ntable = many.o{number}\n" for number in range(count))


def _work(stage, folder, count):
    """How many rows the server looks at to answer what a check and a watch ask."""
    file = folder / f"{count}.conf"
    file.write_text(_plain(stage, count))
    stage.sql(f"ALTER DATABASE {stage.database} SET log_min_duration_statement = 0")
    done = run_command("check", "-c", file)
    assert f"tables: {count} outboxes" in done.stdout, done.stdout + done.stderr
    log = stage.postgres.log.read_text()
    said = re.split(r"^\d{4}-\d\d-\d\d .*?:  (?:duration: \S+ ms  statement: )?", log, flags=re.M)
    (asked,) = (text for text in said if text.startswith("WITH given") and "slot_checkpoint" in text
                and f"'{stage.publication}'" in text)
    with stage.connect() as connection:
        connection.execute("SET search_path = pg_catalog")
        (plans,) = connection.execute(f"EXPLAIN (ANALYZE, TIMING OFF, FORMAT JSON) {asked}").fetchone()
    return sum(_rows(plans[0]["Plan"]))


def _rows(node):
    seen = [value for key, value in node.items() if key == "Actual Rows" or key.startswith("Rows Removed")]
    yield sum(seen) * node["Actual Loops"]
    for below in node.get("Plans", ()):
        yield from _rows(below)


def test_what_a_check_asks_is_no_more_work_for_each_outbox_when_there_are_many(make_stage, folder):
    few, many = (_work(make_stage(set_up=False), folder, count) for count in (70, 280))
    assert many < 5 * few, (few, many)


def test_a_relay_of_as_many_outboxes_as_there_may_be_notices_that_one_is_no_longer_published(make_stage):
    stage = make_stage(set_up=False)
    relay = stage.new_relay()
    relay.config_file.write_text(_plain(stage, 1024))
    relay.start()
    stage.wait_streaming(relay)
    stage.sql(f"ALTER PUBLICATION {stage.publication} DROP TABLE many.o1023")
    assert relay.wait_exit(60) == 3
    (line,) = relay.log("events_would_be_lost")
    assert '"many"."o1023"' in line["reason"]
    assert not relay.log("watch_unavailable")


def quoted(columns):
    """Names with capitals are meant as they are."""
    return ", ".join(f'"{name}" {of}' for name, of in (column.split(" ") for column in columns.split(", ")))
