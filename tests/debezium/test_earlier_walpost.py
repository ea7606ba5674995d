"""An earlier walpost, without walpost.reissue and walpost.parked, on what this version prepared; and back."""

import contextlib

import pytest

from e2e.test_park import PARK, parked
from e2e.test_poison import TooLarge, _noise
from e2e.test_upgrade import EARLIER
from lib.checker import check_nothing_lost, check_order
from lib.relay import run_command
from lib.stage import OUTBOX_COLUMNS
from lib.truth import Truth
from lib.writer import Writer
from servers import earlier

KEYS = 24
GUILTY = 4  # of them cannot be delivered for a while


@pytest.fixture(scope="module")
def old():
    """While it is entered, what is run is the earlier walpost."""
    program = earlier.program()

    @contextlib.contextmanager
    def run_it():
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("WALPOST_BINARY", str(program))
            yield

    return run_it


@pytest.fixture(params=[False, True], ids=["its own tables", "all tables"])
def stage(make_stage, request):
    stage = make_stage()
    stage.sql(f"CREATE TABLE {stage.table} ({OUTBOX_COLUMNS})")
    if request.param:
        stage.sql(f"CREATE PUBLICATION {stage.publication} FOR ALL TABLES")
    stage.common = {**TooLarge.relay, "outbox.ignore": "walpost.*" if request.param else None}
    stage.truth = Truth(stage)
    stage.create_topic(partitions=4, **TooLarge.topic)
    return stage


def succeeds(command, relay):
    done = run_command(command, "-c", relay.config_file)
    assert done.returncode == 0, f"walpost {command}: {done.stdout}{done.stderr}"


def reissue(stage, count):
    """Events of keys that are not parked, each in a transaction of its own."""
    for n in range(count):
        stage.sql(f"SELECT walpost.reissue(%s, 'public.outbox', o, 'again') FROM {stage.table} o "
                  "WHERE aggregateid = %s LIMIT 1", (stage.slot, f"a{GUILTY + n % (KEYS - GUILTY)}"))


def sent_again(messages):
    """By position: a producer that broke sends some twice."""
    return {message.position for message in messages if "walpost-reissued" in dict(message.headers)}


def write(stage, relay, transactions=400):
    with Writer(stage, threads=2, aggregates=KEYS, pause=0.01, transactions=transactions) as writer:
        relay.wait_until(lambda: writer.committed >= transactions // 2, 60, "there are some events")
        reissue(stage, 20)


def is_well(relay):
    return not [line for line in relay.log() if line["level"] == "error"] and not relay.log("stream_broken")


def test_an_earlier_walpost_runs_on_what_this_one_prepared_and_parked_and_this_one_again(stage, old):
    relay = stage.new_relay({**stage.common, **PARK})
    succeeds("init", relay)
    succeeds("check", relay)
    relay.start()
    write(stage, relay)
    guilty = [stage.insert(f"a{n}", _noise(300_000)) for n in range(GUILTY)]
    write(stage, relay)
    stage.wait_all_confirmed(60, relay)
    relay.stop()
    waiting = [row[1] for row in parked(stage)]
    assert set(guilty) < set(waiting)
    assert len(sent_again(stage.read())) == 40

    # What the slot holds has rows of walpost.reissue, and changes of walpost.parked.
    reissue(stage, 10)
    stage.sql("UPDATE walpost.parked SET attempts = attempts + 1")
    between = stage.insert("a0")
    with old():
        refused = run_command("run", "-c", relay.config_file)
        assert refused.returncode == 2 and "park" in refused.stderr, refused
        before = stage.new_relay(stage.common)
        succeeds("check", before)
        succeeds("init", before)
        before.start()
        stage.wait_streaming(before)
        write(stage, before)
        stage.sql("UPDATE walpost.parked SET attempts = attempts + 1")
        stage.wait_all_confirmed(60, before)
        succeeds("check", before)
        before.stop()
    assert is_well(before), before.log_tail()
    messages = stage.read()
    flowing = [event for event in stage.truth.events() if event.id not in waiting]
    assert len(sent_again(messages)) == 40
    check_nothing_lost(messages, flowing)
    check_order(messages, flowing)
    assert between in {message.id for message in messages}
    assert [row[1] for row in parked(stage)] == waiting
    by_earlier = len(flowing)

    # And this one: what it had parked it knows, and it comes behind what the earlier one delivered.
    stage.kafka.set_topic_config(stage.topic(), max_message_bytes=2_000_000)
    relay.start()
    relay.wait_until(lambda: not parked(stage), 60, "nothing is parked")
    write(stage, relay)
    stage.wait_all_confirmed(60, relay)
    relay.stop()
    messages, events = stage.read(), stage.truth.events()
    check_nothing_lost(messages, events)
    check_order([message for message in messages if message.id in waiting], events)
    check_order([message for message in messages if message.id not in waiting], events)
    assert len(sent_again(messages)) == 60
    of_a0 = [message.id for message in messages if message.key == b"a0"]
    assert of_a0.index(between) < of_a0.index(guilty[0])
    print(f"{len(events)} events, {len(messages)} records; {by_earlier} flowed until the earlier walpost ended, "
          f"{len(waiting)} were parked meanwhile; 70 rows of walpost.reissue, 60 sent again, none by the earlier one")


def test_what_an_earlier_walpost_prepared_and_relayed_this_one_goes_on_with(stage, old):
    with old():
        relay = stage.new_relay(stage.common)
        succeeds("init", relay)
        succeeds("check", relay)
        relay.start()
        stage.wait_streaming(relay)
        with Writer(stage, threads=2, aggregates=KEYS, pause=0.01, transactions=300) as writer:
            relay.wait_until(lambda: writer.committed >= 100, 60, "there are some events")
            relay.stop()
            stage.wait_released()
    succeeds("check", relay)
    after = stage.new_relay(stage.common).start()
    stage.wait_all_confirmed(60, after)
    assert is_well(after), after.log_tail()
    after.stop()
    messages, events = stage.read(), stage.truth.events()
    check_nothing_lost(messages, events)
    check_order(messages, events)
    assert stage.sql("SELECT to_regclass('walpost.reissue'), to_regclass('walpost.parked')") == [(None, None)]
    print(f"{len(events)} events, {len(messages)} records: of the earlier walpost, then of this one")


def test_the_statements_that_e2e_replays_are_those_of_its_init(old, tmp_path):
    config = tmp_path / "walpost.conf"
    config.write_text("[postgres]\nconninfo = dbname=none\nslot = the_slot\npublication = the_publication\n"
                      "[kafka]\nbootstrap.servers = none:9\n")
    with old():
        printed = run_command("init", "-c", config, "--role", "the_role", "--print-sql")
    assert printed.returncode == 0, printed.stderr
    comment, statements = EARLIER.read_text().split("\n-- In the database", 1)
    assert "-- In the database" + statements == printed.stdout
