"""walpost tail: the events as they are committed, without taking anything from the relay."""

import contextlib
import json
import os
import signal
import subprocess
import uuid
from concurrent.futures import ThreadPoolExecutor

import psycopg
import pytest

from lib import process
from lib.failover import Standby
from lib.relay import binary, clean_environment, config_text, run_command
from lib.waiting import holds_for, limit_factor, wait_until

pytestmark = pytest.mark.on("all")

TO_STDOUT = {"relay.sink": "stdout"}
ORDERS = """
[outbox.orders]
table = public.orders
column.key = customer
column.payload = body
column.timestamp = at
topic.replacement = {name}.orders
headers = mood:x-mood,amount
"""
MESSAGES = """
[outbox.messages]
table =
message.prefix = outbox
"""


class Tail:
    """One `walpost tail` that goes on until it is stopped."""

    def __init__(self, stage, *arguments, changes=None, more="", stdout=None):
        self._stage = stage
        folder = stage.folder / f"tail{uuid.uuid4().hex[:6]}"
        folder.mkdir()
        self.config_file = _config_file(stage, changes, more)
        self.stdout_file, self.stderr_file = folder / "stdout", folder / "stderr"
        with open(self.stdout_file, "wb") as out, open(self.stderr_file, "wb") as err:
            self._process = subprocess.Popen(
                [str(binary()), "tail", "-c", str(self.config_file), *map(str, arguments)], stdin=subprocess.DEVNULL,
                stdout=out if stdout is None else stdout, stderr=err, env=clean_environment(),
                preexec_fn=process.dies_with_us(),
            )

    @property
    def pid(self):
        return self._process.pid

    def kill(self):
        self._process.kill()
        self._process.wait()

    def is_alive(self):
        return self._process.poll() is None

    def wait_exit(self, deadline=20):
        return process.wait_exit(self._process, deadline, "walpost tail")

    def stop(self, how=signal.SIGTERM):
        self._process.send_signal(how)
        code = self.wait_exit()
        assert code == 0, f"exit code {code} after {how}: {self.said()}"

    def said(self):
        return self.stderr_file.read_text()

    def wait_until(self, condition, what, deadline=20):
        def check():
            value = condition()
            assert value or self.is_alive(), f"it ended, waiting until {what}: {self.said()}"
            return value

        return wait_until(check, deadline, what, self.said)

    def wait_begun(self):
        self.wait_until(lambda: "events from " in self.said(), "its slot is made", 60)  # others' transactions end
        return self

    def lines(self):
        """Those that are whole."""
        text = self.stdout_file.read_text()
        return [json.loads(line) for line in text[:text.rfind("\n") + 1].splitlines()]

    def wait_lines(self, count):
        self.wait_until(lambda: len(self.lines()) >= count, f"{count} lines are shown")
        return self.lines()

    def slots(self):
        return self._stage.postgres.temporary_slots(self._stage.database)

    def end(self):
        if self.is_alive():
            self.kill()
            _wait_no_slots(self._stage)


@pytest.fixture
def tailing(request):
    """Tails that end with the test."""
    with contextlib.ExitStack() as tails:
        def make(stage, *arguments, **options):
            tail = Tail(stage, *arguments, **options)
            tails.callback(tail.end)
            return tail

        yield make


def _config_file(stage, changes=None, more=""):
    file = stage.folder / f"tail-{uuid.uuid4().hex[:6]}.conf"
    file.write_text(config_text(stage.config(changes)) + more)
    return file


def _tail(stage, *arguments, changes=None, more=""):
    return run_command("tail", "-c", _config_file(stage, changes, more), *arguments)


def _backlog(stage, *arguments, changes=None, more=""):
    """What the slot holds, as lines."""
    done = _tail(stage, "--backlog", "--no-follow", *arguments, changes=changes, more=more)
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def _ids(lines):
    return [next(h["value"] for h in line["headers"] if h["name"] == "id") for line in lines]


def _wait_no_slots(stage):
    stage.postgres.wait_no_temporary_slots(stage.database, 10)


def _message(stage, content, transactional=True, prefix="outbox", connection=None):
    statement = "SELECT pg_logical_emit_message(%s, %s, %s::text)"
    parameters = (transactional, prefix, content)
    if connection is not None:
        connection.execute(statement, parameters)
    else:
        stage.sql(statement, parameters)


# -- the same as run ----------------------------------------------------------


def _with_all_kinds(make_stage):
    """A stage with two tables, one of them with types that are rendered, and messages."""
    stage = make_stage(set_up=False)
    stage.sql("""CREATE TYPE mood AS ENUM ('calm', 'cross');
                 CREATE DOMAIN cents AS numeric(12, 2);
                 CREATE TABLE outbox (id uuid PRIMARY KEY, aggregatetype text, aggregateid text, type text,
                                      payload jsonb);
                 CREATE TABLE orders (id uuid PRIMARY KEY, aggregatetype text, customer text, type text, body bytea,
                                      at timestamptz, mood mood, amount cents, total int);
                 CREATE TABLE noise (n int)""")
    stage.publish("outbox", "orders", "noise")
    stage.create_slot(with_truth=False)
    more = ORDERS.format(name=stage.name) + MESSAGES
    return stage, {**TO_STDOUT, "outbox.ignore": "public.noise"}, more


def _fill(stage):
    stage.insert("one")
    with stage.transaction() as connection:
        connection.execute("INSERT INTO noise VALUES (1)")
        stage.insert("tw\u00f6", '{"text": "line\\nend \\"quoted\\" \u65e5\u672c"}', connection=connection)
        _message(stage, '{"id": "m-1", "aggregatetype": "order", "aggregateid": "7", "type": "t", "payload": [1]}',
                 connection=connection)
        _message(stage, "not ours", prefix="other", connection=connection)
        connection.execute("""INSERT INTO orders VALUES (gen_random_uuid(), 'a', 'c-1', 'placed', '\\x00ff41',
                              '2024-02-29 12:34:56.789+02', 'cross', 12.3, 7)""")
        connection.execute("INSERT INTO orders VALUES (gen_random_uuid(), 'a', 'c-2', 'placed', NULL, now())")
        stage.insert("last", None, connection=connection)
    stage.insert_many(2_000, "a{0}", size=300)


def _lines_of_run(stage, changes, more, **options):
    relay = stage.new_relay(changes, **options)
    with open(relay.config_file, "a") as file:
        file.write(more)
    relay.start()
    stage.wait_streaming(relay)
    return relay


@pytest.mark.parametrize("binary", ["off", "auto", "on"])
@pytest.mark.parametrize("types", ["postgres", "debezium"])
def test_the_lines_are_those_of_a_relay_to_standard_output(make_stage, tailing, binary, types):
    stage, changes, more = _with_all_kinds(make_stage)
    changes = {**changes, "postgres.binary": binary, "outbox.types": types, "relay.epoch": "3"}
    tail = tailing(stage, changes=changes, more=more).wait_begun()
    _fill(stage)
    backlog = _tail(stage, "--backlog", "--no-follow", changes=changes, more=more)
    assert backlog.returncode == 0, backlog.stderr
    relay = _lines_of_run(stage, changes, more)
    stage.wait_all_confirmed(relay=relay)
    said = relay.stdout_text().splitlines()
    relay.stop()
    tail.wait_lines(len(said))
    tail.stop()
    shown = tail.stdout_file.read_text().splitlines()
    assert len(said) == 2_006
    for mine, theirs, late in zip(shown, said, backlog.stdout.splitlines(), strict=True):
        assert mine == theirs == late


def test_the_lines_are_those_of_a_relay_on_a_promoted_server_too(make_stage, own_postgres, folder):
    stage = make_stage(postgres=own_postgres)
    standby = Standby(own_postgres, folder / "standby").start()
    try:
        standby.wait_caught_up()
        standby.promote()
        changes = {**TO_STDOUT, "postgres.conninfo": standby.conninfo(stage.database)}
        standby.query("SELECT pg_create_logical_replication_slot(%s, 'pgoutput')", (stage.slot,), stage.database)
        standby.query("""INSERT INTO outbox VALUES (gen_random_uuid(), 'order', '1', 'created', '{}')""", None,
                      stage.database)
        done = _tail(stage, "--backlog", "--no-follow", changes=changes)
        relay = stage.new_relay(changes).start()
        relay.wait_until(relay.stdout_text, 20, "the event is written")
        relay.stop()
        assert done.stdout == relay.stdout_text(), done.stderr
        assert json.loads(done.stdout)["position"].startswith("0000-00000002-")
    finally:
        standby.end()


def test_events_are_shown_as_they_are_committed(stage, tailing):
    before = stage.insert()
    tail = tailing(stage).wait_begun()
    with stage.transaction() as connection:
        first = stage.insert(connection=connection)
        second = stage.insert(connection=connection)
        third = stage.insert()
        assert _ids(tail.wait_lines(1)) == [third]
    assert _ids(tail.wait_lines(3)) == [third, first, second] and before not in tail.stdout_file.read_text()
    tail.stop()


def test_a_table_altered_between_two_looks_gives_the_rows_of_each_time(stage, tailing):
    tail = tailing(stage).wait_begun()
    stage.insert("before")
    tail.wait_lines(1)
    stage.sql("ALTER TABLE outbox ADD COLUMN tenant text, DROP COLUMN payload, ADD COLUMN payload text DEFAULT 'new'")
    stage.sql("""INSERT INTO outbox (id, aggregatetype, aggregateid, type, tenant)
                 VALUES (gen_random_uuid(), 'order', 'after', 'created', 't')""")
    assert [(line["key"], line["value"]) for line in tail.wait_lines(2)] == [("before", '{"n": 1}'), ("after", "new")]
    tail.stop()


# -- what it leaves alone -----------------------------------------------------


def test_a_type_made_while_it_looks_is_understood(stage, tailing):
    tail = tailing(stage, changes={"outbox.types": "debezium", "outbox.value.format": "json-schema",
                                   "outbox.value.columns": "type"}).wait_begun()
    stage.insert()
    tail.wait_lines(1)
    stage.sql("CREATE TYPE mood AS ENUM ('created', 'lost'); CREATE DOMAIN moods AS mood; "
              "ALTER TABLE outbox ALTER type TYPE moods USING type::mood")
    stage.insert()
    before, after = (line["value"] for line in tail.wait_lines(2))
    assert "io.debezium.data.Enum" not in before and "created,lost" in after
    tail.stop()


def test_a_table_that_is_not_visible_yet_is_waited_for_whatever_isolation_is_the_default(make_stage, own_postgres,
                                                                                         tailing):
    """A commit that waits for a synchronous standby is in the log, and read, before any other session sees it."""
    stage = make_stage(postgres=own_postgres)
    stage.sql(f"CREATE TABLE audit (n int); ALTER PUBLICATION {stage.publication} ADD TABLE audit")
    stage.sql(f"ALTER DATABASE {stage.database} SET default_transaction_isolation = 'repeatable read'")
    tail = tailing(stage).wait_begun()
    own_postgres.set_conf(synchronous_standby_names="nobody")
    asks = "SELECT count(*) FROM pg_stat_activity WHERE query LIKE '%WITH RECURSIVE given%' AND state LIKE 'idle in %'"
    with stage.connect() as connection, ThreadPoolExecutor(1) as pool:
        committed = pool.submit(connection.execute, "INSERT INTO audit VALUES (1)")
        try:
            wait_until(lambda: stage.sql(asks) == [(1,)], 20, "it asks whose partition that is")
        finally:  # or the pool would wait for the commit for ever
            own_postgres.set_conf(synchronous_standby_names="")
        committed.result(20)
    event = stage.insert()
    assert _ids(tail.wait_lines(1)) == [event]
    tail.stop()


def test_the_real_slot_and_the_slot_checkpoint_stay_as_they_were(stage, tailing):
    stage.insert_many(50)
    before, checkpoint = stage.slot_row(), stage.sql("SELECT * FROM walpost.slot_checkpoint")
    tail = tailing(stage, "--backlog")
    tail.wait_lines(50)
    stage.insert()
    tail.wait_lines(51)
    tail.stop()
    assert stage.slot_row() == before and stage.sql("SELECT * FROM walpost.slot_checkpoint") == checkpoint
    assert len(_backlog(stage)) == 51


def test_its_own_slot_follows_and_keeps_nothing_that_was_shown(stage, tailing):
    tail = tailing(stage).wait_begun()
    (slot,) = tail.slots()
    stage.insert()
    end = stage.wal_end()
    tail.wait_until(
        lambda: stage.sql("SELECT confirmed_flush_lsn - '0/0'::pg_lsn >= %s FROM pg_replication_slots "
                          "WHERE slot_name = %s", (end, slot)) == [(True,)], "its slot has followed")
    tail.stop()


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_its_slot_is_gone_after_its_end(stage, tailing, how):
    tail = tailing(stage).wait_begun()
    assert len(tail.slots()) == 1
    if how == signal.SIGKILL:
        tail.kill()
    else:
        tail.stop(how)
    _wait_no_slots(stage)
    waits = ("slot creation waits", "  ")  # for transactions of other tests
    assert len([line for line in tail.said().splitlines() if not line.startswith(waits)]) == 1, tail.said()


def test_two_of_them_are_not_in_each_others_way(stage, tailing):
    tails = [tailing(stage).wait_begun(), tailing(stage).wait_begun()]
    assert len(set(tails[0].slots())) == 2
    id = stage.insert()
    for tail in tails:
        assert _ids(tail.wait_lines(1)) == [id]
        tail.stop()


# -- the backlog --------------------------------------------------------------


def test_the_backlog_of_a_stopped_relay_is_what_it_sends_when_it_starts(stage):
    relay = stage.relay(TO_STDOUT)
    stage.insert()
    stage.wait_all_confirmed()
    relay.stop()
    stage.wait_released()
    ids = [stage.insert(), stage.insert()]
    assert _ids(_backlog(stage)) == ids
    relay.start()
    stage.wait_all_confirmed()
    relay.stop()
    assert _ids(map(json.loads, relay.stdout_text().splitlines()))[1:] == ids


def test_the_backlog_of_a_running_relay_is_what_it_has_not_confirmed(stage, tailing):
    relay = stage.relay(TO_STDOUT)
    done = stage.insert()
    stage.wait_all_confirmed()
    process.pause(relay.pid)
    try:
        waiting = stage.insert()
        assert _ids(_backlog(stage)) == [waiting]
        tail = tailing(stage, "--backlog")
        assert _ids(tail.wait_lines(1)) == [waiting]
    finally:
        process.resume(relay.pid)
    later = stage.insert()
    assert _ids(tail.wait_lines(2)) == [waiting, later]
    stage.wait_all_confirmed()
    tail.stop()
    relay.stop()
    assert _ids(map(json.loads, relay.stdout_text().splitlines())) == [done, waiting, later]


def test_without_a_backlog_nothing_is_shown_and_it_ends(stage):
    assert _backlog(stage) == []


@pytest.mark.heavy
@pytest.mark.on("first")
def test_a_backlog_of_many_transactions_and_one_that_is_huge_comes_whole_and_in_order(stage):
    for _ in range(30):
        stage.insert_many(100)
    stage.insert_many(120_000, "h{0}")
    last = stage.insert()
    lines = _backlog(stage)
    positions = [line["position"] for line in lines]
    assert len(lines) == 123_001 and positions == sorted(set(positions)) and _ids(lines[-1:]) == [last]


@pytest.mark.heavy
@pytest.mark.on("first")
def test_a_huge_transaction_needs_no_memory_for_it(stage, tailing):
    stage.sql("""INSERT INTO outbox SELECT gen_random_uuid(), 'order', n::text, 'created',
                        jsonb_build_object('fill', repeat(md5(n::text), 3000))
                 FROM generate_series(1, 3000) AS n""")
    tail = tailing(stage, "--backlog")
    tail.wait_until(lambda: tail.stdout_file.stat().st_size > 3000 * 32 * 3000, "nearly all is shown", 150)
    assert len(tail.wait_lines(3000)) == 3000
    assert process.peak_rss_kb(tail.pid) < 64 * 1024
    tail.stop()


def test_rows_of_any_size_come_in_their_order(stage):
    sizes = [10, 16_000, 17_000, 5, 5_000_000, 40_000, 7, *[20_000] * 5, *range(300), 30_000, 1]
    with stage.transaction() as connection:
        for size in sizes:
            stage.insert(payload=json.dumps({"fill": "x" * size}), connection=connection)
    assert [len(json.loads(line["value"])["fill"]) for line in _backlog(stage)] == sizes


# -- where it ends ------------------------------------------------------------


def test_count_ends_it_within_a_transaction(stage):
    stage.insert_many(10)
    done = _tail(stage, "--backlog", "--count", "3")
    assert done.returncode == 0 and len(done.stdout.splitlines()) == 3
    _wait_no_slots(stage)


def test_only_events_of_a_topic_or_with_a_key_are_shown_and_counted(stage):
    for topic, key in (("order", "a"), ("order", "b"), ("bill", "b"), ("order", "b")):
        stage.insert(key, topic=topic)
    assert [line["key"] for line in _backlog(stage, "--topic", stage.topic())] == ["a", "b", "b"]
    assert [line["topic"] for line in _backlog(stage, "--key", "b")] == [
        stage.topic(), stage.topic("bill"), stage.topic()]
    assert len(_backlog(stage, "--key", "b", "--topic", stage.topic(), "--count", "1")) == 1


def test_a_closed_pipe_ends_it_quietly(stage, tailing):
    stage.insert_many(20_000)
    read, write = os.pipe()
    tail = tailing(stage, "--backlog", stdout=write)
    os.close(write)
    with os.fdopen(read) as pipe:
        assert json.loads(pipe.readline())
    assert tail.wait_exit() == 0
    assert tail.said().count("\n") == 1
    _wait_no_slots(stage)


def test_a_pipe_that_is_closed_while_nothing_happens_ends_it_too(stage, tailing):
    read, write = os.pipe()
    tail = tailing(stage, stdout=write).wait_begun()
    os.close(write)
    os.close(read)
    assert tail.wait_exit() == 0


def test_a_reader_that_does_not_read_does_not_keep_it_from_ending(stage, tailing):
    stage.insert_many(20_000)
    read, write = os.pipe()
    tail = tailing(stage, "--backlog", stdout=write).wait_begun()
    wait_until(lambda: process.sleeps(tail.pid) > 0 and _is_waiting_for_us(stage), 20, "it waits for its reader")
    tail.stop()
    os.close(read)
    os.close(write)


def _is_waiting_for_us(stage):
    return stage.sql("SELECT count(*) FROM pg_stat_activity WHERE state = 'idle in transaction' "
                     "AND datname = current_database()") == [(1,)]


def test_a_full_disk_is_said(stage):
    stage.insert()
    with open("/dev/full", "wb") as full:
        done = subprocess.run([binary(), "tail", "-c", _config_file(stage), "--backlog"], stdout=full, text=True,
                              stderr=subprocess.PIPE, env=clean_environment(), timeout=30 * limit_factor())
    assert done.returncode == 1 and "standard output cannot be written" in done.stderr


def test_a_server_that_ends_is_said(make_stage, own_postgres, tailing):
    stage = make_stage(postgres=own_postgres)
    tail = tailing(stage).wait_begun()
    own_postgres.stop("fast")
    assert tail.wait_exit() == 1 and tail.said()
    own_postgres.start()


# -- poison -------------------------------------------------------------------


@pytest.mark.parametrize("policy", ["stop", "dead-letter"])
def test_an_event_that_cannot_be_sent_is_shown_with_the_reason_and_it_goes_on(stage, policy):
    first, bad, last = stage.insert(), stage.insert("k", topic="no topic"), stage.insert()
    nameless = stage.insert(aggregate=None)
    changes = {"relay.poison": policy, "relay.dead_letter.topic": stage.topic("dead")}
    lines = _backlog(stage, changes=changes)
    assert _ids(lines) == [first, bad, last, nameless]
    assert "error" not in lines[0] and "error" not in lines[2]
    assert "no topic" in lines[1]["error"] and lines[1]["topic"] is None
    assert (lines[1]["table"], lines[1]["id"], lines[1]["key"]) == ("public.outbox", bad, "k")
    assert lines[1]["value"] == '{"n": 1}' and lines[1]["position"][-8:] == "00000000"
    assert "aggregateid" in lines[3]["error"] and lines[3]["topic"] == stage.topic()


def test_a_column_that_is_missing_is_the_reason_at_each_row(stage):
    id = stage.insert()
    (line,) = _backlog(stage, changes={"outbox.column.key": "gone"})
    assert line["id"] == id and "gone" in line["error"]


def test_a_message_that_is_none_is_shown_with_the_reason_and_one_out_of_order_is_noted(stage):
    _message(stage, "{}", transactional=False)  # in the log, but flushed only with the next commit
    _message(stage, "{")
    done = _tail(stage, "--backlog", "--no-follow", changes={"outbox.message.prefix": "outbox"})
    (line,) = map(json.loads, done.stdout.splitlines())
    assert "messages of prefix outbox" in line["error"]
    assert "not transactional" in done.stderr


def test_a_row_of_a_table_that_nobody_configured_is_noted_once(stage):
    stage.sql("CREATE TABLE other (id int)")
    stage.sql(f"ALTER PUBLICATION {stage.publication} ADD TABLE other")
    stage.sql("INSERT INTO other VALUES (1), (2)")
    id = stage.insert()
    done = _tail(stage, "--backlog", "--no-follow")
    assert done.returncode == 0 and done.stderr.count("a row of public.other, neither the outbox") == 1
    assert _ids(map(json.loads, done.stdout.splitlines())) == [id]


def test_rows_of_partitions_are_events_also_of_those_that_came_later(make_stage, tailing):
    stage = make_stage(set_up=False)
    stage.sql("""CREATE TABLE outbox (id uuid, aggregatetype text, aggregateid text, type text, payload jsonb)
                 PARTITION BY LIST (aggregateid)""")
    stage.sql("CREATE TABLE leaf_a PARTITION OF outbox FOR VALUES IN ('a')")
    stage.publish("outbox")
    stage.create_slot(with_truth=False)
    tail = tailing(stage).wait_begun()
    first = stage.insert("a")
    tail.wait_lines(1)
    stage.sql("CREATE TABLE leaf_b PARTITION OF outbox FOR VALUES IN ('b')")
    second = stage.insert("b")
    assert _ids(tail.wait_lines(2)) == [first, second]
    tail.stop()


# -- what it needs ------------------------------------------------------------


def test_wrong_options_are_refused(stage):
    for arguments, words in (
        (("--count", "0"), "--count 0 is not a positive number"),
        (("--count", "-1"), "is not a positive number"),
        (("--count", "x"), "is not a positive number"),
        (("--count", "99999999999999999999"), "is not a positive number"),
        (("--no-follow",), "requires --backlog"),
    ):
        done = _tail(stage, *arguments)
        assert done.returncode == 2 and words in done.stderr, arguments


def test_a_slot_that_is_not_there_or_not_ours_has_no_backlog(stage):
    done = _tail(stage, "--backlog", changes={"postgres.slot": "nothing"})
    assert done.returncode == 1 and "slot nothing does not exist" in done.stderr
    other = stage.slot + "_t"
    stage.sql("SELECT pg_create_logical_replication_slot(%s, 'test_decoding')", (other,))
    stage.also_drops(other)
    done = _tail(stage, "--backlog", changes={"postgres.slot": other})
    assert done.returncode == 1 and "not walpost's" in done.stderr
    _wait_no_slots(stage)


def test_without_the_configured_slot_it_shows_what_comes(stage, tailing):
    tail = tailing(stage, changes={"postgres.slot": "nothing"}).wait_begun()
    id = stage.insert()
    assert _ids(tail.wait_lines(1)) == [id]
    tail.stop()


def test_without_its_table_it_says_so_instead_of_waiting(stage):
    done = _tail(stage, changes={"outbox.table": None}, more="[outbox.orders]\ntable = nope.nope\n")
    assert done.returncode == 2 and f"there is no table nope.nope in database {stage.database}" in done.stderr


def test_without_its_publication_it_says_so(stage):
    stage.sql(f"DROP PUBLICATION {stage.publication}")
    done = _tail(stage)
    assert done.returncode == 1 and f"there is no publication {stage.publication}" in done.stderr


def test_a_role_that_may_not_replicate_is_told_what_it_lacks(stage):
    role = f"{stage.name}_reader"
    stage.sql(f"CREATE ROLE {role} LOGIN; GRANT SELECT ON ALL TABLES IN SCHEMA public TO {role}")
    try:
        done = _tail(stage, changes={"postgres.conninfo": stage.postgres.conninfo(stage.database, user=role)})
        assert done.returncode == 2 and f'ALTER ROLE "{role}" REPLICATION' in done.stderr
        stage.sql(f"ALTER ROLE {role} REPLICATION")
        id = stage.insert()
        lines = _backlog(stage, changes={"postgres.conninfo": stage.postgres.conninfo(stage.database, user=role)})
        assert _ids(lines) == [id]
    finally:
        stage.sql(f"DROP OWNED BY {role}; DROP ROLE {role}")


@pytest.mark.parametrize("arguments", [(), ("--backlog",)], ids=["now", "backlog"])
def test_without_a_free_slot_the_setting_is_named(make_stage, own_postgres, arguments):
    own_postgres.restart(max_replication_slots=2)
    stage = make_stage(postgres=own_postgres)
    assert stage.sql("SELECT count(*) FROM pg_replication_slots") == [(2,)]
    done = _tail(stage, *arguments)
    assert done.returncode == 2 and "max_replication_slots" in done.stderr and "slot list" in done.stderr


def test_a_transaction_that_holds_up_its_beginning_is_named_and_a_signal_ends_the_wait(stage, tailing):
    with psycopg.connect(stage.postgres.conninfo(stage.database, application_name="holdup")) as connection:
        stage.insert(connection=connection)
        tail = tailing(stage)
        tail.wait_until(lambda: "application holdup" in tail.said(), "it says what it waits for")
        holds_for(lambda: tail.is_alive() and not tail.lines(), 0.2, "it waits")
        tail.stop(signal.SIGINT)
    _wait_no_slots(stage)
