"""The relay's sessions are its own: neither environment, nor settings of role or database, nor a trigger ON login
changes a byte."""

import contextlib
import json

import pytest

from e2e.test_tail import Tail
from lib.asked import get
from lib.relay import config_text, run_command
from lib.session_worlds import Worlds, login_trigger
from lib.sql_scripts import passing_role
from lib.stage import identifier
from lib.waiting import wait_until

since_17 = pytest.mark.on(since=17)

DATED = """
    id uuid PRIMARY KEY DEFAULT gen_random_uuid(), aggregatetype text NOT NULL, aggregateid text, type text,
    payload text, ts timestamptz, d date
"""
MOMENT, DAY = b"2026-02-03 04:05:06+00", b"2026-02-03"
WORD = "caf\u00e9"
RIGHT = (WORD.encode(), WORD.encode(), WORD.encode(), MOMENT, DAY)


def _insert_dated(stage, word=WORD):
    statement = f"""INSERT INTO {stage.table} (aggregatetype, aggregateid, type, payload, ts, d)
                    VALUES ('order', %s, %s, %s, '2026-02-03 04:05:06+00', '2026-02-03')"""
    stage.sql(statement, (word, word, word))


def _dated(message):
    return (message.key, message.value, message.header("type"), message.header("ts"), message.header("d"))


def _messages(stage, relay, count):
    relay.wait_until(lambda: len(stage.read()) >= count, 30, f"{count} events are in Kafka")
    return stage.read()


# --- the environment

ENVIRONMENTS = [
    {"PGTZ": "Asia/Tokyo"}, {"PGDATESTYLE": "German"}, {"PGCLIENTENCODING": "LATIN1"},
    {"PGCLIENTENCODING": "SQL_ASCII"},
    {"PGOPTIONS": "-c timezone=Asia/Tokyo -c datestyle=German -c bytea_output=escape"},
    {"PGOPTIONS": "-c client_encoding=LATIN1 -c default_transaction_read_only=on -c statement_timeout=1"},
    {"TZ": "Asia/Tokyo"}, {"LC_ALL": "de_DE.UTF-8", "LANG": "tr_TR.UTF-8"}, {"LC_ALL": "C"},
    {"PGTZ": "-12:34", "PGDATESTYLE": "SQL, DMY", "PGCLIENTENCODING": "EUC_JP", "TZ": "Asia/Tokyo", "PGGEQO": "off"},
]


@pytest.mark.parametrize("environment", ENVIRONMENTS, ids=lambda given: " ".join(given))
def test_the_environment_changes_no_byte(make_stage, environment):
    stage = make_stage(columns=DATED)
    stage.create_topic(partitions=1)
    _insert_dated(stage)
    for key in ("aggregateid", "ts"):
        relay = stage.relay({"outbox.headers": "ts,d", "outbox.column.key": key}, environment=environment)
        if key == "ts":
            _insert_dated(stage, "\u20ac")
        _messages(stage, relay, {"aggregateid": 1, "ts": 2}[key])
        relay.stop()
        stage.wait_released()
    first, second = stage.read()
    assert _dated(first) == RIGHT
    assert _dated(second) == (MOMENT, b"\xe2\x82\xac", b"\xe2\x82\xac", MOMENT, DAY)


@pytest.mark.parametrize("environment", [{"PGDATESTYLE": "German"}, {"PGTZ": "Asia/Tokyo"}], ids=["style", "zone"])
def test_the_environment_changes_nothing_of_debeziums_types(make_stage, environment):
    stage = make_stage(columns=DATED)
    stage.create_topic(partitions=1)
    _insert_dated(stage)
    relay = stage.relay({"outbox.headers": "ts,d", "outbox.types": "debezium", "postgres.binary": "off"},
                        environment=environment)
    (message,) = _messages(stage, relay, 1)
    assert b"2026-02-03T04:05:06" in message.header("ts") and message.key == WORD.encode()


@pytest.mark.parametrize("encoding", ["LATIN1", "UTF8"])
def test_bytes_of_an_sqlascii_database_pass_whatever_encoding_the_environment_asks_for(make_stage, encoding):
    stage = make_stage(columns=DATED, encoding="SQL_ASCII")
    stage.create_topic(partitions=1)
    with stage.connect(client_encoding="SQL_ASCII") as connection:
        connection.execute(b"INSERT INTO outbox (aggregatetype, aggregateid, payload) "
                           b"VALUES ('order', E'k\\xff', E'\\xe9\\x80')")
    relay = stage.relay(environment={"PGCLIENTENCODING": encoding})
    (message,) = _messages(stage, relay, 1)
    assert (message.key, message.value) == (b"k\xff", b"\xe9\x80")


# --- a trigger ON login

FOREIGN = """
    SET datestyle = 'German'; SET timezone = 'Asia/Tokyo'; SET client_encoding = 'LATIN1';
    SET intervalstyle = 'iso_8601'; SET extra_float_digits = -10; SET bytea_output = 'escape';
    SET lc_monetary = 'C.UTF-8'; SET search_path = ''; SET quote_all_identifiers = on;
    SET standard_conforming_strings = off; SET row_security = off; SET default_transaction_read_only = on;
    SET SESSION CHARACTERISTICS AS TRANSACTION ISOLATION LEVEL SERIALIZABLE, READ ONLY, DEFERRABLE;
    SET client_min_messages = 'error'; SET lock_timeout = '1ms'; SET array_nulls = off;
"""
OTHERS = ["SET ROLE", "SET SESSION AUTHORIZATION"]
SHORT = """
    SET statement_timeout = '{statement}'; SET transaction_timeout = '50ms';
    SET idle_in_transaction_session_timeout = '50ms'; SET idle_session_timeout = '100ms';
"""


@pytest.fixture
def foreign(make_stage):
    """A stage, and the configuration of a relay whose sessions a trigger changes."""
    stage = make_stage(columns=DATED)
    stage.create_topic(partitions=1)
    with passing_role(stage, stage.name + "_other") as other, \
            passing_role(stage, stage.name + "_relay", "SUPERUSER LOGIN REPLICATION") as role:

        def change(statement_timeout, become="SET ROLE"):
            with stage.connect() as session:
                login_trigger(session, role,
                              FOREIGN + SHORT.format(statement=statement_timeout) + f"{become} {identifier(other)};")
            return {"postgres.conninfo": stage.postgres.conninfo(stage.database, user=role), "outbox.headers": "ts,d"}

        yield stage, change
        for relay in stage.relays:
            relay.end()
        stage.wait_released()
        stage.sql("DROP EVENT TRIGGER IF EXISTS at_login")


@since_17
@pytest.mark.parametrize("become", OTHERS, ids=["role", "authorization"])
def test_a_trigger_on_login_changes_no_byte(foreign, become):
    stage, change = foreign
    relay = stage.relay(change("1ms", become))
    _insert_dated(stage)
    _insert_dated(stage, "\u20ac")
    first, second = _messages(stage, relay, 2)
    assert _dated(first) == RIGHT
    assert _dated(second) == (b"\xe2\x82\xac",) * 3 + (MOMENT, DAY)
    stage.wait_claimed(relay)  # so that it may write, too
    relay.stop()


@since_17
@pytest.mark.alone  # the commands' first statements have 20 ms
def test_after_a_trigger_on_login_check_and_diff_are_right(foreign):
    stage, change = foreign
    changes = change("20ms")
    relay = stage.relay(changes)
    _insert_dated(stage)
    _insert_dated(stage, "\u20ac")
    _messages(stage, relay, 2)
    stage.wait_all_confirmed(relay=relay)
    file = stage.folder / "commands.conf"
    file.write_text(config_text(stage.config(changes)))
    checked = run_command("check", "-c", file)
    assert checked.returncode == 0, checked.stdout + checked.stderr
    compared = run_command("diff", "--json", "-c", file)
    assert compared.returncode == 0, compared.stdout + compared.stderr
    assert json.loads(compared.stdout)["equal"] == 2


@since_17
@pytest.mark.alone
def test_after_a_trigger_on_login_tail_shows_what_is_sent(foreign):
    stage, change = foreign
    changes = change("20ms")
    tail = Tail(stage, changes=changes)
    try:
        tail.wait_begun()
        _insert_dated(stage)
        (line,) = tail.wait_lines(1)
        shown = json.dumps(line, ensure_ascii=False)
        assert shown.count(WORD) == 3 and MOMENT.decode() in shown
    finally:
        tail.end()


# --- what comes with each login

NOTICE = "your password expires in 3 days"


def _notices(relay):
    """As the metrics count them."""
    _, text, _ = get(relay, "/metrics")
    return sum(float(line.split()[-1]) for line in text.splitlines()
               if "postgres_notice" in line and not line.startswith("#"))


@since_17
@pytest.mark.parametrize("texts", [(NOTICE,), (NOTICE, "the house is on fire")], ids=["one", "two"])
def test_what_each_login_warns_of_is_logged_once_and_counted(stage, texts):
    stage.create_topic()
    with stage.connect() as session:
        login_trigger(session, "postgres", " ".join(f"RAISE WARNING '{text}';" for text in texts))
    relay = stage.relay({"http.listen": "127.0.0.1:0"})
    relay.wait_until(lambda: _notices(relay) >= 3 * len(texts), 90, "three sessions have been warned")
    logged = [line["text"] for line in relay.log("postgres_notice")]
    assert sorted(logged) == sorted(texts), relay.log_tail()
    stage.insert()
    stage.wait_all_confirmed(relay=relay)


# --- by chance

PRINTED = """
    id uuid PRIMARY KEY, aggregatetype text, aggregateid text, type text, payload text, ts timestamptz, t timestamp,
    d date, tz timetz, since interval, amount float8, small float4, price money, raw bytea, exact numeric, doc jsonb,
    moments timestamptz[], raws bytea[], amounts float8[], words text[], an_id uuid, text text
"""
HEADERS = "ts, t, d, tz, since, amount, small, price, raw, exact, doc, moments, raws, amounts, words, an_id, text"
ROW = r"""INSERT INTO public.outbox SELECT %s, 'order', E'k\\\\ \u20ac', E'caf\u00e9', E'\\\\x00 \u00e9\u20ac \' "',
    '2026-02-03 04:05:06.789+00', '2026-02-03 04:05:06.7', '2026-02-03', '04:05:06+02',
    '1 year 2 days -3 hours', 0.1::float8 + 0.2::float8, 1.1::float4 / 3, 1234.5::numeric::money, '\xdeadbeef005c',
    1234567.890, '{"a": "\u00e9\\\\ \u20ac", "b": [1.50, null]}', '{2026-02-03 04:05:06+00,infinity,NULL}',
    ARRAY['\x00ff5c'::bytea], ARRAY[0.1::float8 + 0.2::float8, 'NaN'], ARRAY['NULL', NULL, E'a\\\\b', 'x y'],
    '01234567-89ab-cdef-fedc-ba9876543210', E'\u20ac \\\\ \' \u00e9'"""
KEYS = ("aggregateid", "ts")
BINARY = ("auto", "off")


class _Sent:
    """What relays, one after the other, make of the same row."""

    def __init__(self, stage, session):
        self._stage, self._session = stage, session
        self._of = {}
        self.refused = 0

    def row(self):
        ((id,),) = self._session.execute("SELECT gen_random_uuid()").fetchall()
        self._session.execute(ROW, (id,))
        return str(id)

    def wait(self, relay, id):
        """Its record, but for what differs from row to row; None where the relay has ended."""
        wait_until(lambda: not relay.is_alive() or self._find(id), 60, f"event {id} is sent")
        return self._find(id)

    def _find(self, id):
        for message in self._stage.read():
            own = ("id", "walpost-position")
            self._of[message.id] = (message.key, message.value, [h for h in message.headers if h[0] not in own])
        return self._of.get(id)


@pytest.mark.on(18, 17, 14)
def test_settings_made_by_chance_change_no_byte_or_are_refused_by_name(make_stage, scaled):
    stage = make_stage(columns=PRINTED)
    stage.create_topic(partitions=1)
    with passing_role(stage, stage.name + "_other") as other, \
            passing_role(stage, stage.name + "_super", "SUPERUSER LOGIN REPLICATION") as one, \
            passing_role(stage, stage.name + "_plain", "LOGIN REPLICATION") as two:
        stage.sql(f"GRANT {identifier(other)} TO {identifier(one)}, {identifier(two)}; "
                  f"GRANT USAGE ON SCHEMA walpost TO {identifier(two)}; "
                  f"GRANT ALL ON ALL TABLES IN SCHEMA walpost TO {identifier(two)}")
        with contextlib.ExitStack() as ends:
            worlds = {role: ends.enter_context(Worlds(stage, role, other)) for role in (one, two)}
            sent = _Sent(stage, worlds[one].session)
            plain = {key: _in_a_plain_world(stage, sent, key) for key in KEYS}
            faults = []
            for seed in range(scaled(8, 300)):
                role = (one, two)[seed % 3 == 2]
                world = worlds[role].draw(seed)
                fault = _fault_of(stage, sent, world, *worlds[role].make(world), plain, seed)
                if fault:
                    faults.append(f"{world}\n{fault}")
            assert not faults, "\n\n".join(faults)
            assert sent.refused <= seed // 2, "most of the worlds are refused"


def _in_a_plain_world(stage, sent, key):
    id = sent.row()
    relay = stage.relay({"outbox.headers": HEADERS, "outbox.column.key": key})
    record = sent.wait(relay, id)
    assert record is not None, relay.log_tail()
    relay.stop()
    stage.wait_released()
    return record


def _fault_of(stage, sent, world, environment, conninfo, plain, seed):
    """Each fourth world is one of four kinds of key and transfer. None: all is well."""
    key = KEYS[seed % 2]
    id = sent.row()
    relay = stage.new_relay({
        "postgres.conninfo": conninfo, "outbox.headers": HEADERS, "outbox.column.key": key,
        "postgres.binary": BINARY[seed // 2 % 2]}, environment=environment).start()
    try:
        record = sent.wait(relay, id)
        if record is not None:
            assert record == plain[key]
            relay.stop()
        else:
            sent.refused += 1
            said = " ".join(line.get("reason", "") for line in relay.log() if line["level"] == "error")
            print(f"refused: {world}: {said}", flush=True)
            assert relay.wait_exit() != 0 and any(name in said for name in world.names()), said
    except AssertionError as fault:
        return f"{fault}\n{relay.log_tail()}"
    finally:
        relay.end()
        stage.relays.remove(relay)
        stage.wait_released()
    return None
