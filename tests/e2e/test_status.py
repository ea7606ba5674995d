"""walpost status: does it flow, and --watch: how it goes on."""

import json
import os
import signal
import subprocess

import pytest

from lib import places
from lib.administered import Administered
from lib.process import finish, wait_exit
from lib.relay import Relay, binary, clean_environment, config_text, run_command
from lib.sql_scripts import facts_of, slot_status
from lib.terminal import Terminal
from lib.waiting import wait_until


@pytest.fixture
def relay(ready, folder):
    """Made, not started; events go to its standard output."""
    relays = []

    def make(**config):
        relays.append(Relay({**ready.config, **config}, folder))
        return relays[-1]

    yield make
    for made in relays:
        made.end()


@pytest.fixture
def watch(ready):
    """`walpost status --watch` on a terminal."""
    terminals = []

    def begin(seconds, *arguments, **more):
        (ready.folder / "watch.conf").write_text((ready.folder / f"{ready.name}.conf").read_text())
        command = [binary(), "status", "-c", ready.folder / "watch.conf", f"--watch={seconds}", *arguments]
        terminals.append(Terminal(command, **more))
        return terminals[-1]

    yield begin
    for terminal in terminals:
        terminal.end()


def _insert(database):
    database.sql("INSERT INTO outbox (id, aggregatetype, aggregateid, type, payload) "
                 "VALUES (gen_random_uuid(), 't', '1', 'x', '{}')")


def _status(database):
    """Exit code and facts."""
    done = database.command("status", "--json")
    return done.returncode, json.loads(done.stdout)


def _wait_for(database, state):
    wait_until(lambda: _status(database)[1]["state"] == state, 20, f"the state is {state}")


# --- once


def test_it_flows_while_a_relay_streams(ready, relay):
    code, shown = _status(ready)
    assert (code, shown["state"], shown["active_pid"]) == (1, "nobody", None) and "start walpost run" in shown["means"]
    running = relay().start()
    _wait_for(ready, "streams")
    code, shown = _status(ready)
    assert code == 0 and shown["application_name"] == "walpost" and shown["active_pid"]
    text = ready.command("status")
    assert text.returncode == 0 and text.stderr == "" and "state                streams: walpost" in text.stdout
    running.stop()
    code, shown = _status(ready)
    assert (code, shown["state"]) == (1, "nobody") and "stopped or halted" in shown["means"]
    assert ready.command("status").stderr.startswith("walpost: no relay streams from slot")


def test_a_relay_that_went_without_a_word(ready, relay):
    running = relay().start()
    _wait_for(ready, "streams")
    wait_until(lambda: ready.sql("SELECT slot FROM walpost.slot_checkpoint"), 20, "it has written that it has the slot")
    running.kill()
    _wait_for(ready, "nobody")
    code, shown = _status(ready)
    assert code == 1 and "ended unexpectedly" in shown["means"]


def test_a_relay_that_halted_and_holds_is_no_flow(ready, relay):
    running = relay(**{"relay.on_halt": "hold"}).start()
    _wait_for(ready, "streams")
    ready.sql("ALTER TABLE outbox ALTER aggregateid DROP NOT NULL")
    ready.sql("INSERT INTO outbox (id, aggregatetype, type, payload) VALUES (gen_random_uuid(), 't', 'x', '{}')")
    running.wait_until(lambda: "-> held" in running.log_text(), 20, "it is held")
    code, shown = _status(ready)
    assert (code, shown["state"]) == (1, "nobody") and running.is_alive()
    assert "reported a problem" in shown["means"] and "event_undeliverable: the event of table" in shown["means"]
    assert shown["trouble"] == ready.check()["relay_trouble"]["what"].split(" s ago: ", 1)[1]
    running.kill()
    relay(**{"relay.poison": "dead-letter", "relay.dead_letter.topic": "dead"}).start()
    _wait_for(ready, "streams")
    assert _status(ready)[1]["trouble"] is None and "relay_trouble" not in ready.check()


def test_a_relay_that_is_refused_before_it_streams_says_why_and_changes_nothing_else(ready, relay):
    running = relay().start()
    _wait_for(ready, "streams")
    running.stop()
    moved = ("UPDATE walpost.slot_checkpoint SET confirmed_lsn = '0/1' "
             "RETURNING owner, confirmed_lsn, confirmed_at, stopped")
    before = ready.sql(moved)
    assert relay().start().wait_exit(20) == 3
    code, shown = _status(ready)
    assert (code, shown["state"]) == (1, "nobody") and "slot_moved: slot" in shown["means"]
    assert ready.sql("SELECT owner, confirmed_lsn, confirmed_at, stopped FROM walpost.slot_checkpoint") == before


def test_while_kafka_is_down_the_slot_is_stalled_and_else_it_is_not(stage_of_kafka, mortal_kafka):
    stage = stage_of_kafka
    file = stage.folder / "look.conf"
    file.write_text(config_text(stage.config()))

    def look():
        done = run_command("status", "--json", "-c", file)
        return done.returncode, json.loads(done.stdout)

    relay = stage.relay()
    stage.insert()
    stage.wait_all_confirmed(relay=relay)
    wait_until(lambda: look()[1]["state"] == "streams", 20, "it streams")
    assert look()[0] == 0
    mortal_kafka.stop()
    stage.insert()
    wait_until(lambda: look()[1]["state"] == "stalled", 60, "the slot is stalled")
    code, shown = look()
    assert code == 1 and "nothing has been confirmed for" in shown["means"]
    assert shown["seconds_in_trouble"] >= 15 and "Kafka is not reachable" in shown["trouble"]
    theirs = facts_of(slot_status(stage))
    assert theirs["state"] == "stalled" and "Kafka is not reachable" in theirs["trouble"]
    mortal_kafka.start()
    stage.wait_all_confirmed(relay=relay)
    wait_until(lambda: look()[1]["state"] == "streams", 20, "it streams again")
    assert look()[1]["trouble"] is None


def test_a_slot_of_another_plugin_is_no_matter_of_starting_a_relay(ready):
    ready.sql("SELECT pg_create_logical_replication_slot(%s, 'test_decoding')", (ready.name + "_other",))
    ready.config["postgres.slot"] = ready.name + "_other"
    code, shown = _status(ready)
    ready.sql("SELECT pg_drop_replication_slot(%s)", (ready.name + "_other",))
    assert (code, shown["state"], shown["plugin"]) == (3, "not_walposts", "test_decoding")
    assert "uses plugin test_decoding" in shown["means"] and "start walpost run" not in shown["means"]


# --- what is parked


PARKED = (places.TREE / "sql" / "parked.sql").read_text()


def _park(database, position, key, seconds, act=None, slot=None):
    database.sql(
        "INSERT INTO walpost.parked (slot, \"position\", outbox, key, settings, committed_at, parked_at, code, "
        "reason, first_reason, act) "
        "VALUES (%s, %s, 'outbox', %s, '', now(), now() - %s * interval '1 s', 'TOO_LARGE', 'it is', 'it is', %s)",
        (slot or database.slot, f"0000-00000001-{position:016X}-00000000", key, seconds, act))


def _by_psql(database):
    return slot_status(database, server=database.server, database=database.name)


def test_what_is_parked_is_told_and_is_no_failure(ready, relay):
    ready.sql(PARKED)
    relay().start()
    _wait_for(ready, "streams")
    code, shown = _status(ready)
    assert (shown["parked_aggregates"], shown["parked_events"], shown["seconds_since_parked"]) == (0, 0, None)
    assert "parked" not in shown["means"]
    for position, key in enumerate(("a", "b", "a", None, None)):
        _park(ready, position, key, 100 + 10 * position)
    _park(ready, 90, "c", 9000, act="skip")
    _park(ready, 91, "d", 9000, slot="another")
    code, shown = _status(ready)
    assert (code, shown["state"], shown["parked_aggregates"], shown["parked_events"]) == (0, "streams", 4, 5)
    assert 140 <= shown["seconds_since_parked"] < 1000
    since = shown["seconds_since_parked"]
    assert shown["means"].endswith(f"; parked events: 5, aggregates: 4, the oldest for {since} s "
                                   "(walpost parked list)")
    text = ready.command("status")
    assert text.returncode == 0 and "\nparked_aggregates    4\nparked_events        5\n" in text.stdout
    theirs = _by_psql(ready)
    assert theirs.returncode == 0 and facts_of(theirs)["parked_events"] == "5"
    assert "warn parked events: 5, aggregates: 4, the oldest for " in theirs.stdout


def test_where_it_may_not_or_cannot_be_read_it_is_not_known_what_is_parked(ready):
    ready.sql(PARKED)
    _park(ready, 1, "a", 100)
    assert "; parked events: 1, aggregates: 1" in _status(ready)[1]["means"]
    role = f"guest_{ready.name}"
    ready.sql(f"CREATE ROLE {role} LOGIN")
    try:
        ready.config["postgres.conninfo"] = ready.server.conninfo(ready.name, user=role)
        shown = _status(ready)[1]
        assert (shown["parked_events"], shown["seconds_since_parked"]) == (None, None) and shown["state"] == "nobody"
        assert "parked_events" not in ready.command("status").stdout
    finally:
        ready.config["postgres.conninfo"] = ready.server.conninfo(ready.name)
        ready.sql(f"DROP ROLE {role}")
    for statement in ("ALTER TABLE walpost.parked DROP COLUMN act", "DROP TABLE walpost.parked"):
        ready.sql(statement)
        shown = _status(ready)[1]
        assert (shown["parked_aggregates"], shown["parked_events"], shown["state"]) == (None, None, "nobody")
        assert "parked_events" not in facts_of(_by_psql(ready))


# --- again and again, on a terminal


def test_a_watch_repaints_in_place_and_leaves_the_terminal_as_it_was(ready, relay, watch):
    running = relay().start()
    _wait_for(ready, "streams")
    terminal = watch(0.2)
    terminal.wait_for("state                streams: walpost")
    assert terminal.screen.is_other and not terminal.screen.has_cursor
    terminal.wait_for("written              ")
    height = len(terminal.screen.lines())
    terminal.wait_for("lag                  none")
    running.stop()
    terminal.wait_for("state                nobody: no relay streams")
    assert "streams: walpost" not in terminal.screen.text() and len(terminal.screen.lines()) <= height + 8
    terminal.type("\x03")
    assert terminal.wait_exit() == 1
    assert not terminal.screen.is_other and terminal.screen.has_cursor
    assert "state                nobody" in terminal.screen.text()  # what was seen last stays
    assert terminal.raw.count("\x1b[?1049h") == 1


def test_a_watch_fits_the_terminal_also_when_that_changes(ready, watch):
    _status(ready)
    terminal = watch(3600, rows=4, columns=30)
    terminal.wait_for("state ")
    terminal.wait_until(lambda: len(terminal.screen.lines()) == 4, 10, "four lines are painted")
    assert max(map(len, terminal.screen.lines())) == 30
    terminal.resize(50, 120)
    terminal.wait_for("publication_exists   yes")
    assert max(map(len, terminal.screen.lines())) > 30
    terminal.resize(3, 20)
    terminal.wait_until(lambda: len(terminal.screen.lines()) == 3, 10, "three lines are painted")


def test_a_watch_that_is_stopped_gives_the_terminal_back(ready, watch):
    _status(ready)
    terminal = watch(0.2)
    terminal.wait_for("state ")
    terminal.type("\x1a")
    terminal.wait_until(terminal.is_stopped, 10, "it is stopped")
    terminal.wait_until(lambda: not terminal.screen.is_other, 10, "the usual screen is there")
    assert terminal.screen.has_cursor
    terminal.go_on()
    terminal.wait_until(lambda: terminal.screen.is_other, 10, "it paints again")
    terminal.type("\x03")
    assert terminal.wait_exit() == 1


@pytest.mark.alone
def test_a_watch_outlives_the_server(own_postgres, folder, watch, ready):
    database = Administered(own_postgres, folder)
    database.init()
    _status(database)
    (ready.folder / f"{ready.name}.conf").write_text((folder / f"{database.name}.conf").read_text())
    terminal = watch(0.2)
    terminal.wait_for("state                nobody")
    own_postgres.stop()
    terminal.wait_for("state                unreachable: ")
    own_postgres.start()
    terminal.wait_for("state                nobody")
    ((pid,),) = own_postgres.query("SELECT pid FROM pg_stat_activity WHERE application_name = 'walpost'")
    own_postgres.freeze_backend(pid)
    terminal.wait_for("the server has not answered for 1 s")
    terminal.type("\x03")
    terminal.wait_until(lambda: not terminal.screen.is_other, 5, "the terminal is given back at once")
    own_postgres.thaw_backend(pid)
    assert terminal.wait_exit() == 1


def test_a_dumb_terminal_gets_blocks(ready, watch):
    _status(ready)
    terminal = watch(0.2, environment={"TERM": "dumb"})
    terminal.wait_until(lambda: terminal.raw.count("state                nobody") >= 3, 20, "three blocks are printed")
    assert "\x1b" not in terminal.raw


# --- again and again, elsewhere


def _watching(database, *arguments):
    _status(database)
    command = [binary(), "status", "-c", database.folder / f"{database.name}.conf", *arguments]
    return subprocess.Popen(list(map(str, command)), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                            stdin=subprocess.DEVNULL, env=clean_environment())


def test_without_a_terminal_each_look_is_a_block(ready):
    process = _watching(ready, "--watch", "0.2")
    seen = ""
    while seen.count("\n\n") < 3:
        seen += process.stdout.readline()
    process.send_signal(signal.SIGTERM)
    out, err = finish(process, 10)
    blocks = (seen + out).split("\n\n")
    assert all("state                nobody" in block and block[:2] == "20" for block in blocks[:3])
    assert process.returncode == 1 and "\x1b" not in seen and err == ""


def test_json_comes_a_line_a_look_with_rates(ready, relay):
    relay().start()
    _wait_for(ready, "streams")
    process = _watching(ready, "--watch=0.2", "--json")
    first = json.loads(process.stdout.readline())
    assert first["confirmed_bytes_per_second"] is None and first["seconds_until_lost"] is None

    def has_rates():
        _insert(ready)
        shown = json.loads(process.stdout.readline())
        assert shown["lag_bytes_per_second"] in (
            0, shown["written_bytes_per_second"] - shown["confirmed_bytes_per_second"])
        return shown["confirmed_bytes_per_second"] > 0 and shown["written_bytes_per_second"] > 0

    wait_until(has_rates, 20, "both move")
    process.send_signal(signal.SIGINT)
    finish(process, 10)
    assert process.returncode == 0


def test_the_time_until_the_slot_is_lost(ready, server):
    server.set_conf(max_slot_wal_keep_size="64MB")
    process = _watching(ready, "--watch=0.5", "--json")

    def is_in_sight():
        ready.sql("SELECT pg_logical_emit_message(false, 'noise', 'x')")
        ready.sql("SELECT pg_switch_wal()")
        shown = json.loads(process.stdout.readline())
        return shown["seconds_until_lost"] is not None and 0 <= shown["seconds_until_lost"] < 600

    wait_until(is_in_sight, 60, "the end is in sight")
    process.send_signal(signal.SIGINT)
    finish(process, 10)


def test_a_reader_that_leaves_ends_the_watch(ready):
    process = _watching(ready, "--watch=0.1")
    process.stdout.readline()
    process.stdout.close()
    assert wait_exit(process, 10, "walpost status") == 1


def test_a_watch_that_cannot_begin_says_so_at_once(ready):
    ready.config["postgres.conninfo"] = "host=127.0.0.1 port=1"
    done = ready.command("status", "--watch", "1")
    assert done.returncode == 1 and len(done.stderr.strip().splitlines()) == 1 and done.stdout == ""


@pytest.mark.parametrize("seconds", ["0", "0.01", "3601", "1x"])
def test_an_interval_that_is_none(ready, seconds):
    done = ready.command("status", f"--watch={seconds}")
    assert done.returncode == 2 and "--watch" in done.stderr and "0.1 to 3600" in done.stderr


def test_colours_only_where_they_are_wanted(ready):
    ready.check()
    command = [binary(), "check", "-c", ready.folder / f"{ready.name}.conf"]
    seen = {}
    for name, environment in (("plain", {"NO_COLOR": "1"}), ("coloured", {}), ("dumb", {"TERM": "dumb"})):
        terminal = Terminal(command, environment=environment, columns=60)
        terminal.screen.feed = lambda text: None  # it prints, and paints nothing
        terminal.wait_exit(30)
        terminal.end()
        seen[name] = terminal.raw
    assert "\x1b[32mok" in seen["coloured"] and "\x1b" not in seen["plain"] and "\x1b" not in seen["dumb"]
    assert "Postgres server" in seen["plain"]
    prose = [line for line in seen["plain"].splitlines() if not line.startswith("        ALTER") and "--" not in line]
    assert max(map(len, prose)) <= 60
    assert os.linesep not in seen["plain"].strip().splitlines()[-1] and "failures" in seen["plain"]
