"""A promoted standby that is behind what was delivered is refused; one that is not goes on."""

import signal
import socket
import subprocess

import pytest

from lib.checker import check_all
from lib.failover import Standby
from lib.relay import run_command
from lib.waiting import wait_until

pytestmark = pytest.mark.on("all")


@pytest.fixture
def pair(make_stage, own_postgres, folder):
    """A stage on a primary, and its standby."""
    stage = make_stage(postgres=own_postgres)
    stage.create_topic(partitions=2)
    standby = Standby(own_postgres, folder / "standby").start()
    yield stage, standby
    standby.end()


def _deliver(stage, relay, count):
    stage.insert_many(count, "a{0}")
    stage.wait_all_confirmed(relay=relay)


def _wait_topics_written(stage, relay):
    """Until the slot checkpoint row, which goes to the standby too, says where the events went."""
    relay.wait_until(
        lambda: stage.sql(
            "SELECT topics FROM walpost.slot_checkpoint WHERE slot = %s", (stage.slot,)) == [(stage.topic(),)],
        90, "the topics are written down")


def _create_slot(stage, standby):
    standby.query("SELECT pg_create_logical_replication_slot(%s, 'pgoutput')", (stage.slot,), stage.database)


def _relay_of(stage, standby, **changes):
    return stage.new_relay({"postgres.conninfo": standby.conninfo(stage.database), **changes})


def _insert_on(stage, standby, count):
    """Ids of new events, of the aggregates there were, committed one by one."""
    with standby.connect(stage.database) as connection:
        return [
            connection.execute(
                f"""INSERT INTO {stage.table} VALUES (gen_random_uuid(), 'order', %s, 'created', '{{}}')
                    RETURNING id::text""", (f"a{number + 1}",)).fetchone()[0]
            for number in range(count)
        ]


def _kept_by_position(messages):
    """What a consumer keeps that drops all that is not above the highest of its partition."""
    highest, kept = {}, set()
    for message in messages:
        if message.position > highest.get(message.partition, ""):
            highest[message.partition] = message.position
            kept.add(message.id)
    return kept


def _refusal(relay):
    assert relay.wait_exit(60) == 3
    (line,) = relay.log("server_behind")
    return line["reason"]


def test_a_promoted_standby_that_was_cut_off_is_refused_until_the_epoch_is_raised(pair):
    stage, standby = pair
    relay = stage.relay()
    _deliver(stage, relay, 20)
    _wait_topics_written(stage, relay)
    standby.wait_caught_up()
    standby.cut_off()
    _deliver(stage, relay, 30)
    relay.stop()
    before = stage.read()
    assert len(before) == 50
    stage.postgres.stop("immediate")
    standby.promote()
    _create_slot(stage, standby)

    refused = _relay_of(stage, standby).start()
    why = _refusal(refused)
    assert max(m.position for m in before) in why
    assert f"topic {stage.topic()}, partition" in why
    assert "of timeline 1" in why and "now on timeline 2" in why
    assert "relay.epoch = 1" in why
    again = _relay_of(stage, standby).start()
    assert _refusal(again) == why  # what was refused is not forgotten by refusing

    raised = _relay_of(stage, standby, **{"relay.epoch": 1}).start()
    new = _insert_on(stage, standby, 20)
    raised.wait_until(lambda: set(new) <= {m.id for m in stage.read()}, 60, "the new events are in Kafka")
    assert set(new) <= _kept_by_position(stage.read())
    raised.stop()


def test_a_promoted_standby_that_has_all_goes_on(pair):
    stage, standby = pair
    relay = stage.relay()
    _deliver(stage, relay, 20)
    truth = stage.truth.events()
    standby.wait_caught_up()
    relay.stop()
    stage.postgres.stop()
    standby.promote()
    _create_slot(stage, standby)

    # Nothing in the database tells that the new slot misses nothing: a human says so.
    relay = _relay_of(stage, standby).start()
    assert relay.wait_exit(60) == 3
    assert "walpost slot accept" in relay.log("slot_moved")[0]["reason"]
    done = run_command("slot", "accept", "-c", relay.config_file)
    assert done.returncode == 0, done.stderr
    relay = _relay_of(stage, standby).start()
    new = _insert_on(stage, standby, 20)
    relay.wait_until(lambda: set(new) <= {m.id for m in stage.read()}, 60, "the new events are in Kafka")
    assert relay.log("tail_asked") and not relay.log("tail_unread") and not relay.log("server_behind")
    messages = stage.read()
    check_all([m for m in messages if m.id not in new], truth)
    assert _kept_by_position(messages) == {m.id for m in messages}
    relay.stop()

    # From now on it is an ordinary start.
    relay.start()
    _insert_on(stage, standby, 1)
    relay.wait_until(lambda: len(stage.read()) == 41, 60, "one more is in Kafka")
    assert len(relay.log("tail_asked")) == 1
    relay.stop()


def test_a_relay_that_lives_through_a_promotion_refuses_the_server_that_is_behind(pair):
    stage, standby = pair
    ports = f"{stage.postgres.port},{standby.port}"
    conninfo = (f"host=127.0.0.1,127.0.0.1 port={ports} user=postgres dbname={stage.database} "
                "target_session_attrs=read-write")
    relay = stage.relay({"postgres.conninfo": conninfo})
    _deliver(stage, relay, 20)
    standby.wait_caught_up()
    standby.cut_off()
    _deliver(stage, relay, 30)
    relay.signal(signal.SIGSTOP)
    stage.postgres.stop("immediate")
    standby.promote()
    _create_slot(stage, standby)
    relay.signal(signal.SIGCONT)
    why = _refusal(relay)
    assert "was sent to Kafka by this process" in why and "now on timeline 2" in why


def test_a_promoted_standby_without_the_slot_is_refused(pair):
    stage, standby = pair
    relay = stage.relay()
    _deliver(stage, relay, 5)
    standby.wait_caught_up()
    relay.stop()
    stage.postgres.stop()
    standby.promote()
    refused = _relay_of(stage, standby).start()
    assert refused.wait_exit(60) == 3
    (line,) = refused.log("stream_refused")
    assert stage.slot in line["reason"] and "slot" in line["reason"]
    wait_until(lambda: standby.query("SELECT count(*) FROM pg_replication_slots") == [(0,)], 10, "no slot was made")


def _server_of_its_own(make_stage, own_postgres, **more):
    """A stage whose relay has delivered something and stopped, on a server that was started anew since."""
    stage = make_stage(postgres=own_postgres, **more)
    stage.create_topic(partitions=2)
    relay = stage.relay()
    _deliver(stage, relay, 3)
    relay.stop()
    own_postgres.restart()
    return stage


def test_a_start_after_a_restart_of_the_server_asks_and_finds_nothing_wrong(make_stage, own_postgres):
    stage = _server_of_its_own(make_stage, own_postgres)
    relay = stage.relay()
    assert len(relay.log("tail_asked")) == 1
    assert not relay.log("tail_unread")
    _deliver(stage, relay, 1)
    relay.stop()
    relay.start()
    stage.wait_streaming(relay)
    assert len(relay.log("tail_asked")) == 1


def test_a_first_start_asks_nothing(stage):
    stage.create_topic(partitions=2)
    assert not stage.relay().log("tail_asked")


def test_another_databases_events_in_topics_of_the_same_form_are_no_reason(make_stage, own_postgres):
    stage = _server_of_its_own(make_stage, own_postgres)
    other = make_stage()  # on a server whose log is longer
    prefix = {"outbox.topic.replacement": f"{stage.name}.${{routedByValue}}"}
    stage.create_topic("others")
    foreign = other.relay(prefix)
    while other.wal_end() < stage.wal_end() + 10_000_000:
        other.sql("SELECT pg_logical_emit_message(false, 'x', repeat('x', 1000000))")
    other.insert(topic="others")
    other.wait_all_confirmed(30, foreign)
    relay = stage.relay()
    assert relay.log("tail_asked") and not relay.log("server_behind")


@pytest.mark.on("first")
def test_such_a_start_waits_for_a_kafka_that_is_away(make_stage, own_postgres, mortal_kafka):
    stage = _server_of_its_own(make_stage, own_postgres, kafka=mortal_kafka)
    stage.insert()
    mortal_kafka.kill()
    relay = stage.new_relay().start()
    relay.wait_log("event=tail_unread", 60)
    assert not relay.log("streaming") and not stage.is_streaming()
    assert "no Kafka broker answers" in relay.log("tail_unread")[0]["reason"]
    mortal_kafka.ensure_running()
    stage.wait_streaming(relay, 60)
    stage.wait_all_confirmed(30, relay)
    assert len({m.id for m in stage.read()}) == 4
    relay.stop()


def test_a_stop_does_not_wait_for_the_tail(make_stage, own_postgres):
    stage = _server_of_its_own(make_stage, own_postgres)
    with socket.create_server(("127.0.0.1", 0)) as deaf:
        relay = stage.new_relay({"kafka.bootstrap.servers": f"127.0.0.1:{deaf.getsockname()[1]}"}).start()
        relay.wait_log("event=tail_asked", 20)
        relay.stop(8)


def test_a_database_restored_from_before_is_refused(make_stage, own_postgres, folder):
    """The same timeline, a shorter log, and a row that says that all was well."""
    stage = make_stage(postgres=own_postgres)
    stage.create_topic(partitions=2)
    relay = stage.relay()
    _deliver(stage, relay, 3)
    relay.stop()
    own_postgres.stop()
    saved = folder / "saved"
    own_postgres.data.rename(saved)
    subprocess.run(["cp", "-a", saved, own_postgres.data], check=True)
    own_postgres.start()
    relay = stage.relay()
    _deliver(stage, relay, 200)
    relay.stop()
    own_postgres.stop("immediate")
    own_postgres.data.rename(folder / "lost")
    saved.rename(own_postgres.data)
    own_postgres.start()
    why = _refusal(stage.new_relay().start())
    assert "where the WAL of this server ends at" in why and "positions below it" in why
