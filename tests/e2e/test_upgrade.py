"""A database that an earlier walpost prepared, and what is parked while a walpost runs that does not know of it."""

import json

import pytest

from e2e.test_park import PARK, check_all, parked, wait_parked
from e2e.test_poison import TooLarge, _noise
from lib import places, process
from lib.checker import check_nothing_lost
from lib.relay import clean_environment, run_command
from lib.truth import Truth

EARLIER = places.TREE / "tests" / "e2e" / "earlier_init.sql"


def prepare_as_earlier(stage):
    """By its own statements, with a role of its own, which the relay then has."""
    role = f"relay_{stage.name}"
    stage.sql(f"CREATE ROLE {role} LOGIN")
    script = EARLIER.read_text()
    for name, ours in (("the_slot", stage.slot), ("the_publication", stage.publication), ("the_role", role)):
        script = script.replace(name, ours)
    done = process.run(["psql", "-X", "-q", "-v", "ON_ERROR_STOP=1", "-d", stage.postgres.conninfo(stage.database)],
                       input=script, env=clean_environment())
    assert done.returncode == 0, done.stderr
    return role


@pytest.fixture
def earlier(make_stage):
    stage = make_stage(set_up=False)
    stage.truth = Truth(stage)
    role = prepare_as_earlier(stage)
    stage.create_topic(partitions=2, **TooLarge.topic)
    stage.create_topic("dead", partitions=1, max_message_bytes=4_000_000)
    stage.administrator = stage.postgres.conninfo(stage.database)
    stage.as_role = {"postgres.conninfo": stage.postgres.conninfo(stage.database, user=role)}
    stage.role = role
    yield stage
    for relay in stage.relays:
        relay.end()
    stage.sql(f"DROP OWNED BY {role}; DROP ROLE {role}")


def findings(relay):
    done = run_command("check", "--json", "-c", relay.config_file)
    assert done.returncode in (0, 1), done.stderr
    return {finding["name"]: finding for finding in json.loads(done.stdout)}


def failures(relay):
    return [finding for finding in findings(relay).values() if finding["level"] == "fail"]


def ours(stage):
    """What there is of walpost in the database."""
    return stage.sql("SELECT relname::text FROM pg_class "
                     "WHERE relnamespace = 'walpost'::regnamespace AND relkind = 'r' "
                     "UNION SELECT proname FROM pg_proc WHERE pronamespace = 'walpost'::regnamespace "
                     "UNION SELECT pubname FROM pg_publication ORDER BY 1")


@pytest.mark.on("all")
@pytest.mark.parametrize("poison", ["stop", "dead-letter"])
def test_what_an_earlier_walpost_prepared_runs_on_unchanged(earlier, poison):
    stage = earlier
    before = ours(stage)
    assert before == [("skip",), ("slot_checkpoint",), (stage.publication,)]
    relay = stage.new_relay({**stage.as_role, **TooLarge.relay, "relay.poison": poison,
                             "relay.dead_letter.topic": stage.topic("dead"), "relay.on_halt": "exit"})
    assert not failures(relay)
    relay.start()
    first = [stage.insert(f"a{n % 5}") for n in range(50)]
    stage.wait_all_confirmed(relay=relay)
    assert not [line for line in relay.log() if line["level"] in ("warn", "error")
                and line["event"] not in ("kafka_log", "sink_unreachable")]  # Kafka may answer late
    guilty = stage.insert("a1", _noise(300_000))
    later = stage.insert("a1")
    if poison == "stop":
        assert relay.wait_exit(60) == 3
        assert guilty in relay.log("event_undeliverable")[0]["reason"]
        assert {message.id for message in stage.read()} == set(first)
        stage.kafka.set_topic_config(stage.topic(), max_message_bytes=2_000_000)
        relay.start()
    stage.wait_all_confirmed(60, relay)
    relay.stop()
    if poison == "stop":
        check_all(stage)
    else:
        check_all(stage, {*first, later})
        assert [letter.id for letter in stage.read("dead")] == [guilty]
    assert ours(stage) == before


@pytest.mark.on("all")
def test_parking_waits_for_its_tables_and_goes_on_once_init_has_added_them(earlier):
    stage = earlier
    relay = stage.new_relay({**stage.as_role, **PARK, **TooLarge.relay})
    (finding,) = failures(relay)
    assert finding["name"] == "parked" and "walpost.parked and walpost.parking is missing" in finding["what"]
    assert "run walpost init" in finding["cure"] + finding["what"] and "sql/parked.sql" in finding["cure"]
    guilty = stage.insert("a", _noise(300_000))
    others = [stage.insert("b") for _ in range(5)]
    relay.start()
    relay.wait_until(lambda: relay.log("parking_unavailable"), 60, "it is told")
    assert 'relation "walpost.parking" does not exist' in relay.log("parking_unavailable")[0]["reason"]
    assert stage.read() == [] and stage.confirmed() < stage.truth.events()[0].end_lsn

    done = run_command("init", "-c", relay.config_file, "--role", stage.role,
                       "--set", f"postgres.conninfo={stage.administrator}")
    assert done.returncode == 0, done.stdout + done.stderr
    assert sorted(line.rsplit(": ", 1)[0].split(" ")[-1] for line in done.stdout.splitlines()
                  if line.endswith(": created")) == [
        "walpost.cleanup_floor", "walpost.dead_letters_retried", "walpost.parked", "walpost.reissue",
        "walpost.scheduled"]
    wait_parked(stage, 1, relay)
    assert parked(stage)[0][1] == guilty
    later = stage.insert("a")
    wait_parked(stage, 2, relay)
    stage.wait_all_confirmed(60, relay)
    assert not failures(relay)
    assert {message.id for message in stage.read()} == set(others)
    stage.kafka.set_topic_config(stage.topic(), max_message_bytes=2_000_000)
    relay.wait_until(lambda: not parked(stage), 60, "nothing is parked")
    messages = check_all(stage)
    assert [message.id for message in messages if message.key == b"a"] == [guilty, later]
    assert relay.log("parking_available") and len(relay.log("started")) == 1
    # And what is new besides works as well.
    stage.sql("SELECT walpost.reissue(%s, 'outbox', o, 'again') FROM outbox o WHERE id = %s", (stage.slot, later))
    relay.wait_until(lambda: [message.id for message in stage.read() if "walpost-reissued" in dict(message.headers)]
                     == [later], 60, "it is sent again")
    relay.stop()


@pytest.mark.on("all")
def test_what_is_parked_stays_while_a_walpost_runs_that_does_not_know_of_it(stage):
    """Later events of its aggregate are delivered first: what Going back says in the documentation."""
    stage.create_topic(partitions=2, **TooLarge.topic)
    park = stage.new_relay({**PARK, **TooLarge.relay})
    assert run_command("init", "-c", park.config_file).returncode == 0
    park.start()
    before = stage.insert("a")
    waiting = [stage.insert("a", _noise(300_000)), stage.insert("a")]
    wait_parked(stage, 2, park)
    stage.wait_all_confirmed(60, park)
    park.stop()

    other = stage.relay(TooLarge.relay)
    finding = findings(other)["parked"]
    assert finding["level"] == "warn" and "2 events of 1 aggregate" in finding["what"]
    later = [stage.insert("a"), stage.insert("a")]
    stage.wait_all_confirmed(60, other)
    other.stop()
    assert [row[1] for row in parked(stage)] == waiting
    assert [message.id for message in stage.read()] == [before, *later]

    stage.kafka.set_topic_config(stage.topic(), max_message_bytes=2_000_000)
    park.start()
    park.wait_until(lambda: not parked(stage), 60, "nothing is parked")
    last = stage.insert("a")
    stage.wait_all_confirmed(60, park)
    messages = stage.read()
    check_nothing_lost(messages, stage.truth.events())
    assert [message.id for message in messages] == [before, *later, *waiting, last]
    by_position = sorted(messages, key=lambda message: message.position)
    assert [message.id for message in by_position] == [before, *waiting, *later, last]
