"""walpost parked: what is parked is listed, shown, sent again or discarded. The tests play the relay by SQL."""

import json
import re
import signal
import subprocess
import uuid
from concurrent.futures import ThreadPoolExecutor

import pytest

from e2e.test_poison import TooLarge, _noise
from lib.process import finish
from lib.relay import binary, clean_environment, config_text, run_command
from lib.sql_scripts import passing_role, reader, run_script
from lib.stage import identifier
from lib.terminal import Terminal
from lib.waiting import wait_until

pytestmark = pytest.mark.on("all")


def position(number):
    return f"0000-00000001-{number:016X}-00000000"


@pytest.fixture
def parking(stage):
    """A stage with the tables of sql/parked.sql."""
    made = run_script(stage, "parked.sql", options=["-v", "ON_ERROR_STOP=1"])
    assert made.returncode == 0, made.stderr
    return stage


def _command(stage, act, *arguments, changes=None):
    file = stage.folder / f"parked-{uuid.uuid4().hex[:6]}.conf"
    file.write_text(config_text(stage.config(changes)))
    return ["parked", act, "-c", file, *arguments]


def _parked(stage, *arguments, changes=None, **options):
    return run_command(*_command(stage, *arguments, changes=changes), **options)


def _json(done):
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def _shown(done):
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def _park(stage, number, key="1", outbox="public.outbox", **columns):
    """A row of walpost.parked, as the relay writes it; what it is about can be told by its number."""
    row = [{"name": "id", "type": 25, "modifier": -1, "value": f"id-{number}"},
           {"name": "payload", "type": 25, "modifier": -1, "value": f"secret-{number}"}]
    values = {
        "slot": stage.slot, "position": position(number), "outbox": outbox, "key": key, "id": f"id-{number}",
        "type": "created", "topic": "orders", "relation": outbox, "row": json.dumps(row), "settings": "key=aggregateid",
        "committed_at": "2026-01-02 03:04:05+00", "code": "MSG_SIZE_TOO_LARGE", "reason": f"too large: {number}",
        "first_reason": f"first: {number}", **columns,
    }
    names = ", ".join(identifier(name) for name in values)
    stage.sql(f"INSERT INTO walpost.parked ({names}) VALUES ({', '.join(['%s'] * len(values))})",
              tuple(values.values()))


def _park_three(stage):
    """Two events of key a, one of key b, one without a key."""
    _park(stage, 1, "a", attempts=3, next_attempt_at="infinity", last_attempt_at="2026-01-02 04:00:00+00")
    _park(stage, 2, "b", code="TOPIC_EXCEPTION", next_attempt_at="2999-01-01 00:00:00+00")
    _park(stage, 3, "a", code="FOLLOWS")
    _park(stage, 4, None)


def _park_many(stage, events, aggregates):
    stage.sql("""INSERT INTO walpost.parked (slot, "position", outbox, key, settings, committed_at, code, reason,
                   first_reason)
                 SELECT %s, format('0000-00000001-%%s-00000000', lpad(upper(to_hex(n)), 16, '0')), 'public.outbox',
                   (n %% %s)::text, 's', now(), 'X', 'x', 'x' FROM generate_series(1, %s) n""",
              (stage.slot, aggregates, events))


# -- list


def test_nothing_parked_is_said(parking):
    done = _parked(parking, "list")
    assert (done.returncode, done.stdout) == (0, f"slot {parking.slot}: nothing is parked\n")
    assert _json(_parked(parking, "list", "--json")) == {
        "slot": parking.slot, "aggregate_count": 0, "event_count": 0, "aggregates": []}


def test_aggregates_are_listed_by_their_first_event(parking):
    _park_three(parking)
    facts = _json(_parked(parking, "list", "--json"))
    assert (facts["slot"], facts["aggregate_count"], facts["event_count"]) == (parking.slot, 3, 4)
    first, second, third = facts["aggregates"]
    age = first.pop("parked_for_s")
    assert 0 <= age < 300 and first.pop("parked_at").endswith("Z")
    assert first == {
        "outbox": "public.outbox", "key": "a", "events": 2, "discarded": 0, "position": position(1), "id": "id-1",
        "code": "MSG_SIZE_TOO_LARGE", "attempts": 3, "next_attempt_at": None, "next_attempt_in_s": None, "act": None}
    assert (second["key"], second["code"], second["events"]) == ("b", "TOPIC_EXCEPTION", 1)
    assert second["next_attempt_at"] == "2999-01-01T00:00:00.000Z" and second["next_attempt_in_s"] > 1e9
    assert (third["key"], third["position"], third["next_attempt_in_s"]) == (None, position(4), 0)


def test_the_list_is_a_table_with_a_total(parking):
    _park_three(parking)
    _park(parking, 5, "c", act="retry")
    _park(parking, 6, "d", act="skip")
    *table, total = _parked(parking, "list").stdout.splitlines()
    heading, a, b, none, c, d = table
    for word in ("outbox", "events", "code", "attempts", "next", "since", "first position", "id", "key"):
        assert word in heading
    assert "never by itself" in a and position(1) in a and "id-1" in a and a.endswith(" a")
    assert " days " in b and b.index("in ") == a.index("never by itself") == heading.index("next")
    assert " now " in none and none.endswith(" -")
    assert " asked for " in c and " discarded " in d
    assert total == f"slot {parking.slot}: 6 events of 5 aggregates parked"


def test_a_limit_cuts_the_list_and_says_so(parking):
    for number in range(1, 6):
        _park(parking, number, f"k{number}")
    done = _parked(parking, "list", "--limit", "2")
    assert "and 3 more (--limit 5 shows them)" in done.stdout and "5 events of 5 aggregates" in done.stdout
    facts = _json(_parked(parking, "list", "--limit", "2", "--json"))
    assert facts["aggregate_count"] == 5 and [a["key"] for a in facts["aggregates"]] == ["k1", "k2"]
    for wrong in ("0", "-1", "x", "1000001"):
        assert _parked(parking, "list", "--limit", wrong).returncode == 2


def test_other_slots_are_not_listed_unless_they_are_named(parking):
    _park(parking, 1, slot="other")
    assert "nothing is parked" in _parked(parking, "list").stdout
    facts = _json(_parked(parking, "list", "--slot", "other", "--json"))
    assert facts["slot"] == "other" and facts["aggregate_count"] == 1


def _keys(stage, *filters, changes=None):
    return [a["key"] for a in _json(_parked(stage, "list", "--json", *filters, changes=changes))["aggregates"]]


def test_each_filter_narrows_and_all_of_them_together(parking):
    _park_three(parking)
    _park(parking, 5, "a", outbox="public.other")
    assert _keys(parking, "--all") == ["a", "b", None, "a"]
    assert _keys(parking, "--key", "a") == ["a", "a"]
    assert _keys(parking, "--code", "TOPIC_EXCEPTION") == ["b"]
    assert _keys(parking, "--outbox", "other") == ["a"]
    assert _keys(parking, "--key", "a", "--outbox", "outbox") == ["a"]
    # The aggregate of an event that is not its first; one without a key is alone.
    assert _keys(parking, "--position", position(3)) == ["a"]
    assert _keys(parking, "--position", position(4)) == [None]


@pytest.mark.parametrize("named", ['"Sa.les"."Out""Box"', "Sa.les.OutBox", "prices"])
def test_an_outbox_is_named_as_a_table_with_or_without_quotes_or_by_its_section(parking, named):
    _park(parking, 1, "a", outbox='"Sa.les"."Out""Box"')
    _park(parking, 2, "b")
    assert _keys(parking, "--outbox", named, changes={"outbox.prices.table": '"Sa.les"."Out""Box"'}) == ["a"]


@pytest.mark.parametrize("named", ["public.outbox", "outbox", "OUTBOX", '"outbox"', 'PUBLIC."outbox"'])
def test_a_plain_table_is_named_as_sql_would(parking, named):
    _park(parking, 1, "a")
    _park(parking, 2, "b", outbox="public.other")
    assert _keys(parking, "--outbox", named) == ["a"]


def test_a_prefix_of_messages_is_an_outbox_too(parking):
    _park(parking, 1, "a", outbox="order-events", row=None, relation=None, content=b"{}")
    _park(parking, 2, "b")
    assert _keys(parking, "--outbox", "order-events") == ["a"]
    assert _keys(parking, "--outbox", "mail", changes={"outbox.mail.table": "", "outbox.table": parking.table,
                 "outbox.mail.message.prefix": "order-events"}) == ["a"]


def test_a_filter_that_nothing_matches_names_itself(parking):
    _park(parking, 1, "a")
    done = _parked(parking, "list", "--key", "it's", "--outbox", "gone", "--code", "X", "--position", position(9))
    assert (done.returncode, done.stdout) == (1, "")
    assert f"--key it's --outbox gone --position {position(9)} --code X" in done.stderr
    assert _parked(parking, "list", "--json", "--key", "x").returncode == 1
    wrong = _parked(parking, "list", "--position", "12")
    assert wrong.returncode == 2 and "is not a position such as" in wrong.stderr


_WEIRD = ["", "it's", 'say "x"', "Schlüssel 鍵 🔑", "a\\b", "%L %s", "-",
          "line\nbreak\x1b[2J", "x" * 10240, "'; DROP TABLE x"]


@pytest.mark.parametrize("key", _WEIRD, ids=range(len(_WEIRD)))
def test_any_key_can_be_chosen(parking, key):
    _park(parking, 1, key)
    _park(parking, 2, key + "2")
    assert _keys(parking, f"--key={key}") == [key]
    text = _parked(parking, "list", f"--key={key}").stdout
    assert len(text.splitlines()) == 3 and "\x1b" not in text
    (event,) = _shown(_parked(parking, "show", f"--key={key}", "--json"))
    assert event["key"] == key and event["position"] == position(1)


# -- show


def test_an_event_is_shown_with_all_that_is_known_but_its_payload(parking):
    _park(parking, 1, "a", attempts=2, alone=True, next_attempt_at="infinity", reissued="by hand; x",
          last_attempt_at="2026-01-02 04:00:00.5+00", parked_at="2026-01-02 03:30:00+00")
    _park(parking, 2, "a", code="FOLLOWS")
    (event,) = _shown(_parked(parking, "show", "--position", position(1), "--json"))
    assert event.pop("size") > 100
    assert event == {
        "position": position(1), "outbox": "public.outbox", "key": "a", "id": "id-1", "type": "created",
        "topic": "orders", "code": "MSG_SIZE_TOO_LARGE", "reason": "too large: 1", "first_reason": "first: 1",
        "first_of_aggregate": True, "attempts": 2, "last_attempt_at": "2026-01-02T04:00:00.500Z",
        "next_attempt_at": None, "never_by_itself": True, "act": None, "alone": True,
        "committed_at": "2026-01-02T03:04:05.000Z", "parked_at": "2026-01-02T03:30:00.000Z",
        "relation": "public.outbox", "reissued": "by hand; x", "settings": "key=aggregateid"}
    text = _parked(parking, "show", "--position", position(1)).stdout
    for fact in (position(1), "too large: 1", "first: 1", "id-1", "orders", "never_by_itself", "alone", "by hand; x"):
        assert fact in text
    assert "secret" not in text and position(2) not in text


def test_the_events_of_an_aggregate_are_shown_in_order(parking):
    _park_three(parking)
    events = _shown(_parked(parking, "show", "--key", "a", "--json"))
    assert [(e["position"], e["first_of_aggregate"]) for e in events] == [(position(1), True), (position(3), False)]
    assert len(_shown(_parked(parking, "show", "--all", "--json"))) == 4
    cut = _parked(parking, "show", "--all", "--limit", "3")
    assert cut.stdout.endswith("and 1 more (--limit N shows more)\n")


def test_a_payload_is_shown_when_it_is_asked_for(parking):
    _park(parking, 1, "a")
    _park(parking, 2, "b", outbox="mail", row=None, relation=None, content=b'{"x": "\xff"}')
    text = _parked(parking, "show", "--all", "--payload").stdout
    assert "column payload" in text and "secret-1" in text and r'{"x": "\xff"}' in text
    row, message = _shown(_parked(parking, "show", "--all", "--payload", "--json"))
    assert {column["name"]: column["value"] for column in row["row"]} == {"id": "id-1", "payload": "secret-1"}
    assert row["content"] is None and message["row"] is None
    assert bytes.fromhex(message["content"].removeprefix("\\x")) == b'{"x": "\xff"}'


# -- retry, skip, purge


def _rows(stage):
    return stage.sql("SELECT \"position\", act FROM walpost.parked ORDER BY 1")


def _records(stage):
    return stage.sql("""SELECT act, outbox, key, id_of_event, "position", events, code, reason, slot
                        FROM walpost.parked_acts ORDER BY id""")


def _record(stage, act, number, key, events, code="MSG_SIZE_TOO_LARGE", outbox="public.outbox"):
    return (act, outbox, key, f"id-{number}", position(number), events, code, f"too large: {number}", stage.slot)


class _RelayBySql:
    """What a relay does with what was asked for. Meanwhile somebody streams from the slot."""

    def __init__(self, stage):
        self.stage = stage

    def wait_asked(self, count=1):
        wait_until(lambda: len(self.asked()) == count, 20, "a retry is asked for")

    def asked(self):
        return [row[0] for row in self.stage.sql(
            "SELECT \"position\" FROM walpost.parked WHERE act = 'retry' ORDER BY 1")]

    def hear(self):
        self.stage.sql("""UPDATE walpost.parked SET act = NULL, attempts = 0, next_attempt_at = now()
                          WHERE act = 'retry'""")

    def deliver(self, *numbers):
        self.stage.sql("DELETE FROM walpost.parked WHERE \"position\" = ANY(%s)", ([position(n) for n in numbers],))

    def fail(self, number, code, reason):
        self.stage.sql("""UPDATE walpost.parked SET attempts = attempts + 1, last_attempt_at = clock_timestamp(),
                          next_attempt_at = now() + interval '10 s', code = %s, reason = %s
                          WHERE "position" = %s""", (code, reason, position(number)))


@pytest.fixture
def relay_by_sql(parking):
    with reader(parking):
        yield _RelayBySql(parking)


@pytest.fixture
def meanwhile():
    with ThreadPoolExecutor() as pool:
        yield pool.submit


def test_a_retry_is_asked_of_the_first_events_and_recorded(parking):
    _park_three(parking)
    done = _parked(parking, "retry", "--key", "a", "--no-wait")
    assert done.returncode == 0, done.stderr
    assert "a retry is asked for 2 events of 1 aggregate" in done.stdout
    assert "No relay streams from slot" in done.stdout and "relay.poison = park" in done.stdout
    assert _rows(parking) == [(position(1), "retry"), (position(2), None), (position(3), None), (position(4), None)]
    assert _records(parking) == [_record(parking, "retry", 1, "a", 2)]
    assert parking.sql("SELECT by_role, by_client, at > now() - interval '5 min' FROM walpost.parked_acts") == [
        ("postgres", "127.0.0.1", True)]


def test_a_retry_of_all_skips_nothing_and_an_event_without_a_key_is_chosen_by_its_position(parking):
    _park_three(parking)
    assert _parked(parking, "retry", "--position", position(4), "--no-wait").returncode == 0
    assert _records(parking) == [_record(parking, "retry", 4, None, 1)]
    assert _parked(parking, "retry", "--all", "--no-wait").returncode == 0
    assert [act for _, act in _rows(parking)] == ["retry", "retry", None, "retry"]
    assert len(_records(parking)) == 4


def test_a_retry_passes_over_events_that_are_discarded(parking):
    _park_three(parking)
    parking.sql("UPDATE walpost.parked SET act = 'skip' WHERE id IN ('id-1', 'id-2')")
    assert _parked(parking, "retry", "--all", "--no-wait").returncode == 0
    assert [act for _, act in _rows(parking)] == ["skip", "skip", "retry", "retry"]
    done = _parked(parking, "retry", "--key", "b")
    assert done.returncode == 0 and "all of that is discarded already" in done.stdout


def test_events_that_are_discarded_are_not_counted_as_delivered(parking, relay_by_sql, meanwhile):
    for number in (1, 2, 3):
        _park(parking, number, "a")
    assert _parked(parking, "skip", "--position", position(2), "--force").returncode == 0
    retry = meanwhile(_parked, parking, "retry", "--all")
    relay_by_sql.wait_asked()
    relay_by_sql.deliver(1, 3)
    assert "2 of 2 events delivered\n" in retry.result().stdout
    assert _rows(parking) == [(position(2), "skip")]


def test_a_retry_that_is_interrupted_goes_on_in_the_relay(parking, relay_by_sql):
    _park(parking, 1, "a")
    retry = subprocess.Popen([binary(), *_command(parking, "retry", "--all")], stderr=subprocess.PIPE, text=True,
                             env=clean_environment())
    relay_by_sql.wait_asked()
    assert retry.stderr.readline() == "0 of 1 events delivered\n"
    retry.send_signal(signal.SIGINT)
    said = finish(retry, 20)[1]
    assert retry.returncode == 1 and "interrupted; the retry was asked for, and goes on" in said
    assert relay_by_sql.asked() == [position(1)]


def test_without_a_relay_a_retry_is_asked_for_and_not_waited_for(parking):
    _park(parking, 1, "a")
    done = _parked(parking, "retry", "--all")
    assert done.returncode == 1
    assert "it is done when one runs with relay.poison = park" in done.stdout and "no relay streams" in done.stderr
    assert _rows(parking) == [(position(1), "retry")]


def test_a_retry_waits_until_all_is_delivered(parking, relay_by_sql, meanwhile):
    _park_three(parking)
    retry = meanwhile(_parked, parking, "retry", "--all")
    relay_by_sql.wait_asked(3)
    relay_by_sql.hear()
    relay_by_sql.deliver(1, 4)
    _park(parking, 9, "a", code="FOLLOWS")  # later events of an aggregate are not waited for
    relay_by_sql.deliver(2, 3)
    done = retry.result()
    assert done.returncode == 0, done.stderr
    assert f"slot {parking.slot}: 4 of 4 events delivered\n" in done.stdout
    assert re.fullmatch(r"([0-4] of 4 events delivered\n)*", done.stderr), done.stderr


def test_a_retry_that_fails_again_tells_why(parking, relay_by_sql, meanwhile):
    _park_three(parking)
    retry = meanwhile(_parked, parking, "retry", "--all")
    relay_by_sql.wait_asked(3)
    relay_by_sql.fail(1, "OLD", "an attempt that was under way before")
    relay_by_sql.hear()
    relay_by_sql.deliver(1, 4)
    relay_by_sql.fail(3, "INVALID_RECORD", "no key")
    relay_by_sql.fail(2, "TOPIC_EXCEPTION", "no such topic")
    done = retry.result()
    assert done.returncode == 3
    assert "2 of 4 events delivered; 2 of 3 aggregates still parked:" in done.stdout
    assert f"key a  events left 1  first {position(3)}  id id-3  INVALID_RECORD: no key" in done.stdout
    assert "TOPIC_EXCEPTION: no such topic" in done.stdout and "OLD" not in done.stdout
    assert "2 aggregates failed again" in done.stderr and "walpost parked skip" in done.stderr


def test_a_retry_as_json(parking, relay_by_sql, meanwhile):
    _park_three(parking)
    retry = meanwhile(_parked, parking, "retry", "--key", "a", "--json")
    relay_by_sql.wait_asked()
    relay_by_sql.hear()
    relay_by_sql.fail(1, "X", "y")
    done = retry.result()
    assert done.returncode == 3
    facts = json.loads(done.stdout)
    assert facts.pop("aggregates") == [{
        "outbox": "public.outbox", "key": "a", "events": 2, "position": position(1), "id": "id-1", "failed": True,
        "code": "X", "reason": "y"}]
    assert facts == {
        "slot": parking.slot, "act": "retry", "aggregate_count": 1, "event_count": 2, "recorded": 1,
        "relay_streams": True, "delivered": 0, "failed_aggregates": 1, "aggregates_under_way": 0}


def test_a_retry_that_takes_too_long_says_that_it_is_under_way(parking, relay_by_sql):
    _park(parking, 1, "a")
    done = _parked(parking, "retry", "--all", "--timeout", "300ms")
    assert done.returncode == 1
    assert "after 0.3 s 1 aggregate is still under way" in done.stderr
    assert "does it run with relay.poison = park?" in done.stderr
    assert "0 of 1 event delivered; 1 of 1 aggregate still parked" in done.stdout
    assert _parked(parking, "retry", "--all", "--timeout", "soon").returncode == 2


def test_a_terminal_shows_a_bar(parking, relay_by_sql):
    _park(parking, 1, "a")
    _park(parking, 2, "a", code="FOLLOWS")
    terminal = Terminal([binary(), *_command(parking, "retry", "--all")])
    try:
        terminal.wait_for("0 of 2 events delivered")
        relay_by_sql.hear()
        relay_by_sql.deliver(1)
        terminal.wait_for("[###############               ] 1 of 2 events delivered")
        relay_by_sql.deliver(2)
        assert terminal.wait_exit() == 0
        assert "2 of 2 events delivered" in terminal.screen.text() and "[" not in terminal.screen.text()
    finally:
        terminal.end()


def test_a_skip_lists_and_only_with_force_discards(parking):
    _park_three(parking)
    listed = _parked(parking, "skip", "--key", "a")
    assert listed.returncode == 1 and "nothing was changed; to discard this event, use --force" in listed.stderr
    assert "1 event of 1 aggregate would be discarded; consumers would never get it:" in listed.stdout
    for fact in (position(1), "id id-1", "key a", "topic orders", "MSG_SIZE_TOO_LARGE"):
        assert fact in listed.stdout
    dry = _parked(parking, "skip", "--key", "a", "--force", "--dry-run")
    assert dry.returncode == 0 and dry.stdout == listed.stdout and "nothing was changed" in dry.stderr
    assert not _records(parking) and not any(act for _, act in _rows(parking))
    done = _parked(parking, "skip", "--key", "a", "--force")
    assert done.returncode == 0, done.stderr
    assert "1 of 1 event discarded and recorded in walpost.parked_acts; consumers never get it, unless" in done.stdout
    assert "id id-1" in done.stdout and "No relay streams from slot" in done.stdout
    assert [act for _, act in _rows(parking)] == ["skip", None, None, None]
    assert _records(parking) == [_record(parking, "skip", 1, "a", 2)]


def test_a_skip_takes_the_next_event_when_the_first_is_discarded(parking):
    _park_three(parking)
    for _ in range(2):
        assert _parked(parking, "skip", "--key", "a", "--force").returncode == 0
    assert [act for _, act in _rows(parking)] == ["skip", None, "skip", None]
    done = _parked(parking, "skip", "--key", "a", "--force")
    assert done.returncode == 0 and "all of that is discarded already" in done.stdout
    assert len(_records(parking)) == 2


def test_a_skip_by_position_discards_an_event_in_the_middle(parking):
    for number in (1, 2, 3):
        _park(parking, number, "a")
    done = _parked(parking, "skip", "--position", position(2), "--force", "--json")
    facts = _json(done)
    (event,) = facts.pop("events")
    assert (event["position"], event["id"], event["first_of_aggregate"]) == (position(2), "id-2", False)
    assert facts == {"slot": parking.slot, "act": "skip", "aggregate_count": 1, "event_count": 1, "recorded": 1,
                     "relay_streams": False}
    assert _records(parking) == [_record(parking, "skip", 2, "a", 3)]


def test_a_skip_of_several_aggregates_is_refused(parking):
    _park_three(parking)
    done = _parked(parking, "skip", "--all", "--force")
    assert done.returncode == 2 and "3 aggregates are chosen" in done.stderr
    assert not _records(parking)


def test_a_purge_discards_all_events_of_its_aggregates(parking):
    _park_three(parking)
    listed = _parked(parking, "purge", "--key", "a")
    assert listed.returncode == 1 and "to discard these events, use --force" in listed.stderr
    assert "2 events of 1 aggregate would be discarded; consumers would never get them:" in listed.stdout
    assert "id id-1" in listed.stdout and "id id-3" in listed.stdout and "id id-2" not in listed.stdout
    assert not _records(parking)
    done = _parked(parking, "purge", "--key", "a", "--force")
    assert done.returncode == 0, done.stderr
    assert "2 of 2 events discarded and recorded" in done.stdout and "id id-3" in done.stdout
    assert _rows(parking) == [(position(1), "skip"), (position(2), None), (position(3), "skip"), (position(4), None)]
    assert _records(parking) == [_record(parking, "purge", 1, "a", 2), _record(parking, "purge", 3, "a", 2, "FOLLOWS")]


@pytest.mark.parametrize("act", ["retry", "skip", "purge"])
def test_a_dry_run_changes_nothing_and_says_what_would_be(parking, act):
    _park_three(parking)
    before = parking.sql("SELECT p::text FROM walpost.parked p ORDER BY 1")
    done = _parked(parking, act, "--key", "a", "--dry-run")
    assert done.returncode == 0 and position(1) in done.stdout and "would be" in done.stdout
    assert "nothing was changed" in done.stderr
    facts = _json(_parked(parking, act, "--key", "a", "--dry-run", "--json"))
    assert facts["act"] == act and facts["recorded"] == 0 and facts["event_count"] == (1 if act == "skip" else 2)
    assert parking.sql("SELECT p::text FROM walpost.parked p ORDER BY 1") == before and not _records(parking)


@pytest.mark.parametrize("act", ["show", "retry", "skip", "purge"])
def test_choosing_nothing_names_the_filters(parking, act):
    _park(parking, 1, "a")
    done = _parked(parking, act)
    assert done.returncode == 2
    for option in ("--key", "--outbox", "--position", "--code", "--all"):
        assert option in done.stderr
    assert not _records(parking)


@pytest.mark.parametrize("act", ["show", "retry", "skip", "purge"])
def test_what_is_not_there_is_named_and_nothing_at_all_is_fine(parking, act):
    done = _parked(parking, act, "--all")
    assert (done.returncode, done.stdout) == (0, f"slot {parking.slot}: nothing is parked\n")
    _park(parking, 1, "a")
    done = _parked(parking, act, "--position", position(2))
    assert done.returncode == 1 and f"--position {position(2)}" in done.stderr


@pytest.mark.parametrize("act", ["retry", "purge"])
def test_thousands_of_aggregates_are_done_in_batches(parking, act):
    _park_many(parking, 12000, aggregates=10000)
    done = _parked(parking, act, "--all", "--no-wait" if act == "retry" else "--force")
    assert done.returncode == 0, done.stderr
    assert done.stderr.startswith("1000 of "), done.stderr
    wanted = 10000 if act == "retry" else 12000
    assert parking.sql("SELECT count(*) FROM walpost.parked WHERE act IS NOT NULL") == [(wanted,)]
    assert parking.sql("SELECT count(*), count(DISTINCT \"position\"), sum(events) FROM walpost.parked_acts") == [
        (wanted, wanted, 12000 if act == "retry" else 16000)]


def test_what_is_interrupted_between_two_batches_says_how_far_it_came(parking):
    _park_many(parking, 1500, aggregates=1500)
    with parking.transaction() as other:
        other.execute('SELECT FROM walpost.parked WHERE "position" = %s FOR UPDATE', (position(1400),))
        retry = subprocess.Popen([binary(), *_command(parking, "retry", "--all")], stderr=subprocess.PIPE, text=True,
                                 env=clean_environment())
        assert retry.stderr.readline() == "1000 of 1500 asked for\n"
        retry.send_signal(signal.SIGINT)
        said = finish(retry, 20)[1]
    assert retry.returncode == 1 and "failed after 1000 of 1500, which are recorded" in said
    assert len(_records(parking)) == 1000


def test_ten_thousand_aggregates_are_waited_for(parking, relay_by_sql, meanwhile):
    _park_many(parking, 10000, aggregates=10000)
    retry = meanwhile(_parked, parking, "retry", "--all", "--json")
    relay_by_sql.wait_asked(10000)
    relay_by_sql.hear()
    parking.sql("DELETE FROM walpost.parked WHERE key <> '7'")
    relay_by_sql.fail(7, "X", "y")
    done = retry.result()
    facts = json.loads(done.stdout)
    assert done.returncode == 3 and facts["delivered"] == 9999 and [a["key"] for a in facts["aggregates"]] == ["7"]


@pytest.mark.parametrize("key", ["it's", "x" * 10240, None], ids=range(3))
def test_an_aggregate_of_any_key_is_sent_again(parking, relay_by_sql, meanwhile, key):
    _park(parking, 1, key)
    _park(parking, 2, "another")
    choice = ["--position", position(1)] if key is None else [f"--key={key}"]
    retry = meanwhile(_parked, parking, "retry", *choice)
    relay_by_sql.wait_asked()
    assert relay_by_sql.asked() == [position(1)]
    relay_by_sql.deliver(1)
    done = retry.result()
    assert done.returncode == 0 and "1 of 1 event delivered" in done.stdout, done.stderr


# -- with a relay


def _park_by_relay(stage):
    """A relay, and two events of key a, of which it cannot deliver the first, and will not try again by itself."""
    stage.create_topic(**TooLarge.topic)
    relay = stage.relay({**TooLarge.relay, "relay.poison": "park", "park.retry.first": "1h", "park.retry.max": "1h"})
    bad, later = stage.insert("a", _noise(300_000)), stage.insert("a")
    count = "SELECT count(*) FROM walpost.parked"
    relay.wait_until(lambda: stage.sql(count) == [(2,)], 60, "both are parked")
    return relay, bad, later


def test_a_relay_retries_what_it_is_asked_for(parking):
    relay, bad, later = _park_by_relay(parking)
    (aggregate,) = _json(_parked(parking, "list", "--json"))["aggregates"]
    assert (aggregate["key"], aggregate["id"], aggregate["events"]) == ("a", bad, 2)
    assert 3000 < aggregate["next_attempt_in_s"] <= 3600
    assert _keys(parking, "--outbox", "outbox", "--code", "MSG_SIZE_TOO_LARGE") == ["a"]
    again = _parked(parking, "retry", "--key", "a")
    assert again.returncode == 3 and f"id {bad}  MSG_SIZE_TOO_LARGE: " in again.stdout, again.stdout + again.stderr
    assert "0 of 2 events delivered; 1 of 1 aggregate still parked:" in again.stdout
    parking.kafka.set_topic_config(parking.topic(), max_message_bytes=2_000_000)
    done = _parked(parking, "retry", "--key", "a")
    assert done.returncode == 0 and "2 of 2 events delivered" in done.stdout, done.stderr
    assert [message.id for message in parking.read()] == [bad, later]
    relay.stop()


def test_a_relay_goes_on_without_what_is_skipped_or_purged(parking):
    relay, bad, later = _park_by_relay(parking)
    assert "The relay does it within seconds" in _parked(parking, "skip", "--key", "a", "--force").stdout
    relay.wait_until(lambda: not _rows(parking), 60, "nothing is parked")
    assert [message.id for message in parking.read()] == [later]
    for topic_event in (_noise(300_000), '{"n": 1}'):
        parking.insert("b", topic_event)
    relay.wait_until(lambda: len(_rows(parking)) == 2, 60, "both are parked")
    assert _parked(parking, "purge", "--key", "b", "--force").returncode == 0
    relay.wait_until(lambda: not _rows(parking), 60, "nothing is parked")
    last = parking.insert("b")
    parking.wait_all_confirmed(60, relay)
    assert [message.id for message in parking.read()] == [later, last]
    relay.stop()


# -- tables and rights


def test_without_the_tables_the_cure_is_named(stage):
    done = _parked(stage, "list")
    assert done.returncode == 2
    assert "walpost.parked" in done.stderr and "walpost init" in done.stderr and "sql/parked.sql" in done.stderr


def test_without_a_right_the_grant_is_named(parking):
    _park(parking, 1, "a")
    role = f"{parking.name} Reader"
    grants = ["USAGE ON SCHEMA walpost", "SELECT ON walpost.parked"]
    with passing_role(parking, role):
        conninfo = {"postgres.conninfo": parking.postgres.conninfo(parking.database, user=role)}
        for grant in grants:
            done = _parked(parking, "list", changes=conninfo)
            assert done.returncode == 2 and f'GRANT {grant} TO "{role}"' in done.stderr, done.stderr
            parking.sql(f"GRANT {grant} TO {identifier(role)}")
        assert "1 event of 1 aggregate parked" in _parked(parking, "list", changes=conninfo).stdout
        assert _parked(parking, "purge", "--all", changes=conninfo).returncode == 1
        for grant in ("SELECT, UPDATE (act) ON walpost.parked", "SELECT, INSERT ON walpost.parked_acts"):
            done = _parked(parking, "purge", "--all", "--force", changes=conninfo)
            assert done.returncode == 2 and f'GRANT {grant} TO "{role}"' in done.stderr, done.stderr
            parking.sql(f"GRANT {grant} TO {identifier(role)}")
        assert not _records(parking)
        assert _parked(parking, "purge", "--all", "--force", changes=conninfo).returncode == 0
        assert parking.sql("SELECT by_role, act FROM walpost.parked_acts") == [(role, "purge")]


def test_a_limit_does_not_limit_what_is_done(parking):
    done = _parked(parking, "purge", "--all", "--limit", "1", "--force")
    assert done.returncode == 2 and "not what is done" in done.stderr
