"""walpost diff: what would be sent for the rows that are there, against what the topics hold."""

import contextlib
import json
import os
import re
import subprocess
import time
import uuid

import confluent_kafka
import pytest
from confluent_kafka.admin import AclOperation

from lib import places, process
from lib.murmur2 import partition_of
from lib.relay import binary, clean_environment, config_text, run_command
from lib.stage import OUTBOX_COLUMNS
from lib.waiting import limit_factor

EQUAL, DIFFERENT, WRONG = 0, 1, 2
PARTITIONS = 4
KEY, VALUE = b"1", b'{"n": 1}'  # of Stage.insert
HOUR_MS = 3600 * 1000


def _run(stage, *arguments, changes=None, more="", **options):
    path = stage.folder / "diff.conf"
    path.write_text(config_text(stage.config(changes)) + more)
    return run_command("diff", "-c", path, *arguments, **options)


def _diff(stage, *arguments, **options):
    """Exit code and the result."""
    done = _run(stage, "--json", *arguments, **options)
    assert done.stdout, done.stderr
    return done.returncode, json.loads(done.stdout)


class Hand:
    """Makes records as something else than walpost would."""

    def __init__(self, stage):
        self.stage = stage
        self._producer = confluent_kafka.Producer({"bootstrap.servers": stage.kafka.address})

    def write(self, id, key=KEY, value=VALUE, headers=None, topic="order", partition=None, timestamp=0):
        """The record of a row as Stage.insert makes them, but for what is named here."""
        if headers is None:
            headers = [("id", str(id)), ("type", "created")]
        self._producer.produce(
            self.stage.topic(topic), value, key, headers=headers, timestamp=timestamp,
            partition=partition_of(key or b"", PARTITIONS) if partition is None else partition)
        assert self._producer.flush(20) == 0


@pytest.fixture
def hand(stage):
    """A topic, and who fills it."""
    stage.create_topic(partitions=PARTITIONS)
    return Hand(stage)


def _counts(result):
    return {name: result[name] for name in ("compared", "equal", "different", "missing", "no_record", "repeated")}


def _all_equal(rows):
    return {"compared": rows, "equal": rows, "different": 0, "missing": 0, "no_record": 0, "repeated": 0}


def _only_difference(result):
    """Of one record, in one part."""
    (record,) = result["differences"]
    (part,) = record["parts"]
    return record, part


# --- all is equal


@pytest.mark.on("all")
def test_what_a_relay_has_sent_is_equal(stage):
    stage.create_topic(partitions=PARTITIONS)
    stage.relay()
    stage.insert_many(300, "a{0}", size=300)
    stage.insert(payload=None)
    stage.insert(payload='{"ä": "€ \\u0001"}', aggregate="ä€")
    stage.wait_all_confirmed()
    code, result = _diff(stage)
    assert (code, _counts(result)) == (EQUAL, _all_equal(302))
    done = _run(stage)
    assert done.returncode == EQUAL and re.search(r"equal +302\n", done.stdout), done.stdout


TYPES = """
    id bigint PRIMARY KEY, aggregatetype varchar(40) NOT NULL, aggregateid text, type text NOT NULL,
    payload jsonb, part int, at timestamptz(3), mood mood, amount money_amount, maybe numeric(10,2),
    day date NOT NULL, noon time, bytes bytea, list int[], precise double precision
"""
FORMS = [
    {},
    {"outbox.key.format": "json", "outbox.headers.format": "json", "outbox.value.format": "json",
     "outbox.value.columns": "mood,amount,maybe,day,noon,bytes,list,precise"},
    {"outbox.key.format": "json-schema", "outbox.headers.format": "json-schema",
     "outbox.value.format": "json-schema", "outbox.value.columns": "mood,amount,maybe,day,noon,bytes,list,precise"},
    {"outbox.envelope": "cloudevents-binary", "outbox.cloudevents.source": "/orders"},
    {"outbox.envelope": "cloudevents-json", "outbox.cloudevents.source": "/orders"},
    {"outbox.envelope": "protobuf"},
]


@pytest.mark.on("all")
@pytest.mark.parametrize("binary_rows", ["off", "on"])
@pytest.mark.parametrize("form", range(len(FORMS)))
def test_every_form_of_key_headers_and_value_is_made_alike(make_stage, form, binary_rows):
    stage = make_stage(set_up=False)
    stage.sql("CREATE TYPE mood AS ENUM ('sad', 'so so', 'glad')")
    stage.sql("CREATE DOMAIN money_amount AS numeric(12,3) NOT NULL")
    stage.sql(f"CREATE TABLE outbox ({TYPES})")
    stage.sql((places.TREE / "sql" / "slot_checkpoint.sql").read_text())
    stage.publish(stage.table)
    stage.create_slot()
    stage.create_topic(partitions=PARTITIONS)
    changes = {
        "outbox.types": "debezium", "outbox.column.partition": "part", "outbox.column.timestamp": "at",
        "outbox.headers": "mood,amount,maybe,day:the day,precise", "outbox.headers.source": "here",
        "postgres.binary": binary_rows, **FORMS[form],
    }
    stage.relay(changes)
    stage.sql("""INSERT INTO outbox SELECT n, 'order', 'k' || n, 'made', jsonb_build_object('n', n), n % 4,
                 '2024-02-29 10:00:00.123+00'::timestamptz + n * interval '1 minute', 'so so', n / 7.0,
                 CASE WHEN n % 2 = 0 THEN n / 3.0 END, '2024-02-29', '12:00:00.5', '\\x00ff', ARRAY[n, NULL], n / 3.0
                 FROM generate_series(1, 20) n""")
    stage.wait_all_confirmed()
    code, result = _diff(stage, changes=changes)
    assert (code, _counts(result)) == (EQUAL, _all_equal(20)), result
    (table,) = result["tables"]
    assert table["timestamps_compared"] and table["values_compared"] == (form != 5)


@pytest.mark.on("all")
@pytest.mark.parametrize("form", ["raw", "json-schema"])
def test_types_that_are_known_by_their_text_are_made_alike(make_stage, form):
    stage = make_stage(set_up=False)
    stage.sql("CREATE EXTENSION citext; CREATE EXTENSION ltree; CREATE DOMAIN handle AS citext")
    stage.sql("""CREATE TABLE outbox (id inet PRIMARY KEY, aggregatetype varchar(40), aggregateid citext, type text,
                 payload xml, path ltree, span int4range, mac macaddr, words tsvector, name handle)""")
    stage.sql((places.TREE / "sql" / "slot_checkpoint.sql").read_text())
    stage.publish(stage.table)
    stage.create_slot()
    stage.create_topic(partitions=PARTITIONS)
    changes = {"outbox.types": "debezium", "outbox.key.format": form, "outbox.headers.format": form,
               "outbox.value.format": form, "outbox.headers": "path,span,mac,words,name"}
    stage.relay(changes)
    stage.sql("""INSERT INTO outbox SELECT '10.0.0.0'::inet + n, 'order', 'K' || n, 'made', '<a>ä</a>',
                 ('Top.n' || n)::ltree, int4range(n, n + 1), '08:00:2b:01:02:03', to_tsvector('a b'), 'Zoë'
                 FROM generate_series(1, 20) n""")
    stage.wait_all_confirmed()
    code, result = _diff(stage, changes=changes)
    assert (code, _counts(result)) == (EQUAL, _all_equal(20)), result


def test_several_outboxes_are_compared_and_one_can_be_named(make_stage):
    stage = make_stage(set_up=False)
    for table in ("public.outbox", "public.second"):
        stage.sql(f"CREATE TABLE {table} ({OUTBOX_COLUMNS})")
    stage.sql((places.TREE / "sql" / "slot_checkpoint.sql").read_text())
    stage.publish("public.outbox", "public.second")
    stage.create_slot(with_truth=False)
    stage.create_topic(partitions=PARTITIONS)
    stage.create_topic("b", partitions=1)
    more = "[outbox.first]\ntable = public.outbox\n[outbox.second]\ntable = public.second\nkey.format = json\n"
    relay = stage.new_relay({"outbox.table": None})
    relay.config_file.write_text(relay.config_file.read_text() + more)
    relay.start()
    stage.wait_streaming(relay)
    stage.insert_many(10, "a{0}")
    stage.table = "public.second"
    same_id = stage.insert(topic="b")
    stage.table = "public.outbox"
    stage.insert(id=same_id)
    stage.wait_all_confirmed()
    options = {"changes": {"outbox.table": None}, "more": more}
    code, result = _diff(stage, **options)
    assert (code, _counts(result)) == (EQUAL, _all_equal(12)), result
    assert [table["rows"] for table in result["tables"]] == [11, 1]
    code, result = _diff(stage, "--outbox", "second", **options)
    assert (code, _counts(result)) == (EQUAL, _all_equal(1)), result
    assert _run(stage, "--outbox", "third", **options).returncode == WRONG


def test_an_id_is_known_in_each_form_that_a_converter_writes(stage, hand):
    schema = '{"schema":{"type":"string","optional":false},"payload":"%s"}'
    forms = ["%s", '"%s"', schema]
    for form in forms:
        id = stage.insert()
        hand.write(id, headers=[("id", form % id), ("type", "created")])
    code, result = _diff(stage)
    assert code == DIFFERENT
    assert result["equal"] == 1 and result["different_in"]["headers"] == {"id": 2}


def test_the_id_may_stand_in_another_header(stage, hand):
    id = stage.insert()
    headers = [("id", str(id)), ("type", "created")]
    hand.write(id, headers=[("event", str(id)), *headers])
    code, result = _diff(stage, "--id-header", "event")
    assert code == DIFFERENT and result["different_in"]["headers"] == {"event": 1}
    assert _only_difference(result)[1]["walpost"] == {"is": "none"}


def test_what_only_walpost_adds_is_left_out_of_it(stage, hand):
    hand.write(stage.insert())
    changes = {"outbox.headers.source": "here"}
    assert _diff(stage, changes=changes)[0] == EQUAL
    done = _run(stage, changes=changes)
    assert "Not compared: headers walpost-position and walpost-source" in done.stdout


# --- what differs is found, and named


DIFFERENCES = {
    "key": dict(key=b"2", partition=partition_of(KEY, PARTITIONS)),
    "partition": dict(partition=(partition_of(KEY, PARTITIONS) + 1) % PARTITIONS),
    "value": dict(value=b'{"n": 2}'),
}


@pytest.mark.parametrize("part", DIFFERENCES)
def test_a_record_that_differs_is_named_with_both_sides(stage, hand, part):
    good, bad = stage.insert(), stage.insert()
    hand.write(good)
    hand.write(bad, **DIFFERENCES[part])
    code, result = _diff(stage)
    assert (code, result["equal"], result["different"]) == (DIFFERENT, 1, 1)
    assert [name for name, rows in result["different_in"].items() if rows and name != "headers"] == [part]
    record, named = _only_difference(result)
    (message,) = [m for m in stage.read() if m.id == bad]
    assert (record["table"], record["id"]) == (stage.table, bad)
    assert (record["topic"], record["partition"], record["offset"]) == (
        message.topic, message.partition, message.offset)
    assert named["part"] == part
    if part == "value":
        assert named["at"] == 6
        assert (named["walpost"]["excerpt"], named["kafka"]["excerpt"]) == ('{"n": 1}', '{"n": 2}')


def test_the_first_byte_that_differs_is_marked_for_people(stage, hand):
    hand.write(stage.insert(), value=b'{"n": 2}')
    lines = _run(stage).stdout.splitlines()
    (at,) = [i for i, line in enumerate(lines) if line.strip() == "^"]
    column = lines[at].index("^")
    assert lines[at - 2].endswith('{"n": 1}') and lines[at - 2][column] == "1"
    assert lines[at - 1].endswith('{"n": 2}') and lines[at - 1][column] == "2"


def test_null_and_empty_and_missing_differ(stage, hand):
    null, text = stage.insert(payload=None), stage.insert()
    hand.write(null, value=b"")
    hand.write(text, value=None)
    code, result = _diff(stage)
    sides = [(part["walpost"]["is"], part["kafka"]["is"]) for r in result["differences"] for part in r["parts"]]
    assert code == DIFFERENT and sorted(sides) == [("bytes", "null"), ("null", "bytes")]


@pytest.mark.parametrize("headers, named", [
    ([("type", "made")], {"type": 1}),
    ([], {"type": 1}),
    ([("type", None)], {"type": 1}),
    ([("type", "created"), ("trace", "7")], {"trace": 1}),
    ([("type", "created"), ("type", "created")], {"type": 1}),
])
def test_a_header_that_differs_is_named(stage, hand, headers, named):
    id = stage.insert()
    hand.write(id, headers=[("id", str(id)), *headers])
    code, result = _diff(stage)
    assert code == DIFFERENT and result["different_in"]["headers"] == named


def test_headers_in_another_order_differ_in_that(stage, hand):
    id = stage.insert()
    hand.write(id, headers=[("type", "created"), ("id", str(id))])
    code, result = _diff(stage)
    assert code == DIFFERENT and result["different_in"]["order of headers"] == 1


def test_a_timestamp_is_compared_where_a_column_gives_it(make_stage):
    stage = make_stage(columns=OUTBOX_COLUMNS + ", at timestamptz DEFAULT '2024-02-29 10:00:00.123+00'")
    stage.create_topic(partitions=PARTITIONS)
    ms = 1709200800123
    right, wrong = stage.insert(), stage.insert()
    hand = Hand(stage)
    hand.write(right, timestamp=ms)
    hand.write(wrong, timestamp=ms + 1)
    code, result = _diff(stage, changes={"outbox.column.timestamp": "at"})
    record, part = _only_difference(result)
    assert (code, record["id"], part) == (DIFFERENT, wrong, {"part": "timestamp", "walpost": ms, "kafka": ms + 1})
    assert _diff(stage)[0] == EQUAL


def test_a_row_without_record_is_missing_also_when_there_is_no_topic(stage, hand):
    there, lost = stage.insert(), stage.insert()
    nowhere = stage.insert(topic="nowhere")
    hand.write(there)
    code, result = _diff(stage)
    assert (code, result["equal"], result["missing"]) == (DIFFERENT, 1, 2)
    assert {row["id"]: row["topic"] for row in result["missing_rows"]} == {
        lost: stage.topic(), nowhere: stage.topic("nowhere")}
    assert f"no such topic: {stage.topic('nowhere')} (1)" in _run(stage).stdout
    assert stage.topic("nowhere") not in stage.kafka.topics()


def test_a_record_in_the_topic_of_others_is_found_there(stage, hand):
    stage.create_topic("other", partitions=1)
    misplaced, good = stage.insert(), stage.insert(topic="other")
    hand.write(misplaced, topic="other", partition=0)
    hand.write(good, topic="other", partition=0)
    code, result = _diff(stage)
    record, part = _only_difference(result)
    assert (code, record["id"], part["part"]) == (DIFFERENT, misplaced, "topic")
    assert record["topic"] == stage.topic("other")


def test_repetitions_are_counted_and_one_that_differs_counts(stage, hand):
    twice, spoilt = stage.insert(), stage.insert()
    for id in (twice, twice, spoilt):
        hand.write(id)
    code, result = _diff(stage)
    assert (code, result["equal"], result["repeated"], result["repeated_unequal"]) == (EQUAL, 2, 1, 0)
    hand.write(spoilt, value=b"{}")
    code, result = _diff(stage)
    assert (code, result["equal"], result["repeated"], result["repeated_unequal"]) == (DIFFERENT, 1, 2, 1)


def test_a_row_of_which_no_record_can_be_made_is_told_with_its_reason(stage, hand):
    hand.write(stage.insert())
    bad = stage.insert(aggregate=None)
    code, result = _diff(stage)
    (row,) = result["rows_without_record"]
    assert (code, result["equal"], result["no_record"]) == (DIFFERENT, 1, 1)
    assert row["id"] == bad and "outbox.column.key" in row["reason"]
    assert bad in _run(stage).stdout


def test_a_null_key_may_lie_in_any_partition(stage, hand):
    for partition in range(PARTITIONS):
        hand.write(stage.insert(aggregate=None), key=None, partition=partition)
    assert _diff(stage, changes={"outbox.key.null": "allow"})[0] == EQUAL


# --- which rows and which records


def test_where_chooses_rows_and_cannot_write(stage, hand):
    hand.write(stage.insert())
    stage.insert(aggregate="lost")
    assert _diff(stage)[0] == DIFFERENT
    code, result = _diff(stage, "--where", "aggregateid <> 'lost' -- but not that one")
    assert (code, result["compared"]) == (EQUAL, 1)
    wrong = _run(stage, "--where", "nobody = 1")
    assert wrong.returncode == WRONG and "--where" in wrong.stderr and "nobody" in wrong.stderr
    stage.sql("""CREATE FUNCTION spoil() RETURNS bool LANGUAGE plpgsql AS
                 'BEGIN DELETE FROM public.outbox; RETURN true; END'""")
    refused = _run(stage, "--where", "public.spoil()")
    assert refused.returncode == DIFFERENT and "read-only transaction" in refused.stderr
    assert stage.sql("SELECT count(*) FROM outbox") == [(2,)]


def test_limit_takes_the_newest_where_a_column_tells(make_stage):
    stage = make_stage(columns=OUTBOX_COLUMNS + ", at timestamptz DEFAULT clock_timestamp()")
    stage.create_topic(partitions=PARTITIONS)
    for _ in range(5):
        stage.insert()
    newest = stage.insert()
    code, result = _diff(stage, "--limit", "1", changes={"outbox.column.timestamp": "at"})
    assert [row["id"] for row in result["missing_rows"]] == [newest]
    assert result["tables"][0]["left_off"] == result["rows_left_off"] == 5 and result["tables"][0]["newest"]
    code, result = _diff(stage, "--limit", "6")
    assert result["compared"] == 6 and result["rows_left_off"] == 0
    code, result = _diff(stage, "--limit", "5")
    assert result["compared"] == 5 and result["rows_left_off"] == 1 and not result["tables"][0]["newest"]
    assert code == DIFFERENT


LEFT_OFF = 3  # its exit code


def test_rows_that_were_left_off_are_never_well(make_stage):
    stage = make_stage()
    stage.create_topic(partitions=PARTITIONS)
    relay = stage.relay()
    for number in range(12):
        stage.insert(aggregate=str(number))
    stage.wait_all_confirmed(30, relay)
    relay.stop()
    assert _diff(stage)[0] == 0
    code, result = _diff(stage, "--limit", "5")
    assert code == LEFT_OFF and result["equal"] == 5 and result["rows_left_off"] == 7
    said = _run(stage, "--limit", "5")
    assert said.returncode == LEFT_OFF and said.stdout.startswith("7 rows were not compared (--limit 5")
    assert _diff(stage, "--limit", "5", "--where", "aggregateid IN ('1', '2')")[0] == 0


def test_all_rows_are_compared_and_json_lists_every_missing_one(make_stage):
    stage = make_stage()
    stage.create_topic(partitions=PARTITIONS)
    stage.insert_many(12_000, "k{0}")
    code, result = _diff(stage)
    assert code == DIFFERENT and result["compared"] == result["missing"] == 12_000
    assert len({row["id"] for row in result["missing_rows"]}) == 12_000 and result["missing_rows_left_out"] == 0
    code, result = _diff(stage, "--show", "7")
    assert len(result["missing_rows"]) == 7 and result["missing_rows_left_out"] == 11_993
    assert "and 11990 more rows that are missing" in _run(stage).stdout


def test_since_leaves_older_records_unread(stage, hand):
    now_ms = int(time.time() * 1000)
    old, new = stage.insert(), stage.insert(aggregate="2")
    hand.write(old, timestamp=now_ms - 3 * HOUR_MS)
    hand.write(new, key=b"2", timestamp=now_ms)
    assert _diff(stage)[0] == EQUAL
    code, result = _diff(stage, "--since", "2h")
    assert (code, result["equal"]) == (DIFFERENT, 1)
    assert [row["id"] for row in result["missing_rows"]] == [old]
    assert _diff(stage, "--since", "4h")[0] == EQUAL


def test_show_says_how_many_are_shown(stage, hand):
    for _ in range(5):
        hand.write(stage.insert(), value=b"{}")
        stage.insert()
    code, result = _diff(stage, "--show", "3")
    assert (result["different"], len(result["differences"])) == (5, 3)
    assert (result["missing"], len(result["missing_rows"])) == (5, 3)
    code, result = _diff(stage, "--show", "0")
    assert (code, result["different"], result["differences"], result["missing_rows"]) == (DIFFERENT, 5, [], [])


@pytest.mark.parametrize("arguments", [(), ("--json",)])
def test_without_values_none_is_shown(stage, hand, arguments):
    hand.write(stage.insert(payload='{"s": "secret"}', aggregate="hidden", type="veiled"), value=b"other secret",
               partition=0)
    assert "secret" in _run(stage, *arguments).stdout
    said = _run(stage, "--no-values", *arguments).stdout
    for word in ("secret", "hidden", "veiled"):
        assert word not in said
    assert "value" in said and "type" in said


@pytest.mark.parametrize("arguments", [
    ("--limit", "0"), ("--limit", "x"), ("--show", "1001"), ("--since", "2"), ("--since", "0s"), ("--wher", "true"),
])
def test_wrong_options_are_refused(stage, arguments):
    done = _run(stage, *arguments)
    assert done.returncode == WRONG and arguments[0] in done.stderr


def test_a_terminal_sees_how_far_it_is(stage, hand):
    hand.write(stage.insert())
    path = stage.folder / "diff.conf"
    path.write_text(config_text(stage.config()))
    ours, its = os.openpty()
    done = subprocess.run([binary(), "diff", "-c", path], env=clean_environment(), stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=its, timeout=30 * limit_factor())
    os.close(its)
    said = b""
    with open(ours, "rb", buffering=0) as terminal, contextlib.suppress(OSError):  # EIO: that was all
        while more := terminal.read(65536):  # one read gives what is at hand
            said += more
    assert done.returncode == EQUAL
    assert b"1 rows read" in said and b"offsets read" in said and said.endswith(b"\r\x1b[K")
    assert _run(stage).stderr == ""


def test_an_empty_table_proves_nothing(stage, hand):
    done = _run(stage)
    assert done.returncode == DIFFERENT and "there are no rows to compare" in done.stderr


# --- what it needs, and what it leaves


def test_a_table_that_is_not_there_and_a_column_that_is_not_there_are_told(stage, hand):
    for changes, word in (({"outbox.table": "public.elsewhere"}, "public.elsewhere"),
                          ({"outbox.headers": "tenant"}, "tenant")):
        done = _run(stage, changes=changes)
        assert done.returncode == WRONG and word in done.stderr


def test_a_column_that_may_be_missing_is_read_where_it_is(make_stage):
    stage = make_stage(columns=OUTBOX_COLUMNS + ", tenant text DEFAULT 'one'")
    stage.create_topic(partitions=PARTITIONS)
    changes = {"outbox.headers": "tenant, nobody", "outbox.columns.missing": "ignore"}
    stage.relay(changes)
    stage.insert()
    stage.wait_all_confirmed()
    assert _diff(stage, changes=changes)[0] == EQUAL
    assert stage.read()[0].header("tenant") == b"one"


def test_a_role_that_may_not_use_the_schema_is_told_so_too(make_stage):
    stage = make_stage(set_up=False)
    role = "r" + uuid.uuid4().hex[:8]
    stage.sql(f'CREATE SCHEMA "Sales"; CREATE TABLE "Sales".outbox ({OUTBOX_COLUMNS}); CREATE ROLE {role} LOGIN')
    table = '"Sales".outbox'
    changes = {"postgres.conninfo": stage.postgres.conninfo(stage.database, user=role), "outbox.table": table}
    try:
        done = _run(stage, changes=changes)
        assert done.returncode == WRONG
        assert f'permission denied for schema Sales: GRANT USAGE ON SCHEMA "Sales" TO "{role}"; ' in done.stderr
        assert f"GRANT SELECT ON {table} TO its role" in done.stderr
        stage.sql(f'GRANT USAGE ON SCHEMA "Sales" TO {role}; GRANT SELECT ON {table} TO {role}')
        assert "there are no rows" in _run(stage, changes=changes).stderr
    finally:
        stage.sql(f"DROP OWNED BY {role}; DROP ROLE {role}")


def test_a_column_of_a_type_without_a_form_is_refused_by_its_name(make_stage):
    stage = make_stage(columns=OUTBOX_COLUMNS + ", more pair", before="CREATE TYPE pair AS (a int, b int)")
    done = _run(stage, changes={"outbox.types": "debezium", "outbox.headers": "more"})
    assert done.returncode == WRONG
    assert "is of type public.pair, which walpost cannot write as Debezium does" in done.stderr


def test_two_enums_are_compared_as_debezium_writes_them(make_stage):
    stage = make_stage(columns=OUTBOX_COLUMNS + ", x one DEFAULT 'a', y two DEFAULT 'b', z amount DEFAULT 1.5",
                       before="CREATE TYPE one AS ENUM ('a'); CREATE TYPE two AS ENUM ('b'); "
                              "CREATE DOMAIN amount AS numeric(10,2) NOT NULL")
    stage.create_topic(partitions=PARTITIONS)
    changes = {"outbox.types": "debezium", "outbox.value.format": "json-schema", "outbox.value.columns": "x,y,z"}
    relay = stage.relay(changes)
    stage.insert()
    stage.wait_all_confirmed(relay=relay)
    assert _diff(stage, changes=changes)[0] == EQUAL


def test_a_database_role_that_may_not_read_the_table_is_told_how_it_may(stage, hand):
    role = "r" + uuid.uuid4().hex[:8]
    stage.sql(f"CREATE ROLE {role} LOGIN")
    try:
        changes = {"postgres.conninfo": stage.postgres.conninfo(stage.database, user=role)}
        done = _run(stage, changes=changes)
        assert done.returncode == WRONG and f"GRANT SELECT ON {stage.table}" in done.stderr
        stage.sql(f"GRANT SELECT ON {stage.table} TO {role}")
        hand.write(stage.insert())
        assert _diff(stage, changes=changes)[0] == EQUAL
    finally:
        stage.sql(f"DROP OWNED BY {role}")
        stage.sql(f"DROP ROLE {role}")


def test_a_kafka_role_that_may_not_read_the_topic_is_told_how_it_may(make_stage, mortal_kafka):
    stage = make_stage(kafka=mortal_kafka)
    stage.create_topic(partitions=PARTITIONS)
    Hand(stage).write(stage.insert())
    client = mortal_kafka.authority.issue("reader")
    changes = mortal_kafka.by_certificate(mortal_kafka.authority.certificate, client.certificate, client.key)
    assert _diff(stage, changes=changes)[0] == EQUAL
    mortal_kafka.forbid("CN=reader", stage.topic(), AclOperation.READ)
    try:
        done = _run(stage, changes=changes)
        assert done.returncode == WRONG
        for word in (stage.topic(), "READ", "DESCRIBE", "kafka-acls.sh"):
            assert word in done.stderr
    finally:
        mortal_kafka.allow_again("CN=reader", stage.topic(), AclOperation.READ)


def test_servers_that_do_not_answer_are_told(stage):
    done = _run(stage, changes={"kafka.bootstrap.servers": "127.0.0.1:9"})
    assert done.returncode == DIFFERENT and "no Kafka broker answers" in done.stderr
    done = _run(stage, changes={"postgres.conninfo": "host=127.0.0.1 port=9"})
    assert done.returncode == DIFFERENT and "port 9" in done.stderr
    assert _run(stage, changes={"relay.sink": "stdout"}).returncode == WRONG


def test_nothing_is_written_anywhere(stage, hand):
    hand.write(stage.insert())
    stage.insert()
    before = stage.slot_row(), stage.kafka.groups(), len(stage.read())
    assert _diff(stage)[0] == DIFFERENT
    new = stage.kafka.groups() - {"walpost-tests"} - before[1]
    assert not [group for group in new if not re.match("t[0-9a-f]{12}-", group)]  # other tests run meanwhile
    assert (stage.slot_row(), len(stage.read())) == (before[0], before[2])
    assert stage.sql("SELECT count(*) FROM outbox") == [(2,)]


def test_many_rows_take_bounded_memory(make_stage, own_postgres, scaled):
    stage = make_stage(postgres=own_postgres)  # such a transaction holds up new slots
    stage.create_topic(partitions=PARTITIONS)
    rows = scaled(60_000, 200_000)  # 240 MB of values on each side
    stage.relay()
    stage.insert_many(rows, "a{0}", size=4000)
    stage.wait_all_confirmed(120)
    path = stage.folder / "diff.conf"
    path.write_text(config_text(stage.config()))
    peak = process.Peak(stage.folder)
    done = subprocess.run(
        [*peak.wrapper, binary(), "diff", "-c", path, "--json", "--limit", "1000000"], capture_output=True, text=True,
        env=clean_environment(), timeout=300 * limit_factor())
    assert done.returncode == EQUAL, done.stderr
    result = json.loads(done.stdout)
    assert _counts(result) == _all_equal(rows)
    assert result["rows_kept_as_digests"] > rows / 3
    assert peak.bytes() < 256 << 20
