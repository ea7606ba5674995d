"""What is sent again after a restart, and what is not: of the relay, of Postgres, of both."""

from datetime import datetime

import pytest

from lib.checker import after, check_all, check_once, repeated
from lib.waiting import wait_until


@pytest.mark.alone
@pytest.mark.on("all")
def test_killed_between_kafkas_report_and_ours_exactly_what_postgres_has_not_heard_is_sent_again(stage):
    stage.create_topic(partitions=1)
    relay = stage.relay({"relay.feedback.interval": "10s"})
    with stage.connect() as connection:  # quickly: ten seconds after its last word it has to say the next
        for _ in range(30):
            stage.insert("a", connection=connection)
    relay.wait_until(lambda: len(stage.read()) == 30, 9, "all is in Kafka")
    relay.kill()
    stage.wait_released()
    confirmed = stage.confirmed()
    relay.start()
    stage.wait_all_confirmed(30, relay)
    messages, events = stage.read(), stage.truth.events()
    check_all(messages, events)
    assert repeated(messages) == after(confirmed, events)
    assert len(repeated(messages)) == 30


@pytest.mark.on("all")
@pytest.mark.parametrize("how", ("immediate", "fast"))
def test_after_restarts_of_postgres_a_living_relay_sends_nothing_twice(make_stage, own_postgres, how):
    stage = make_stage(postgres=own_postgres)
    stage.create_topic(partitions=1)
    relay = stage.relay()
    for _ in range(3):
        for _ in range(10):
            stage.insert("a")
        stage.wait_all_confirmed(40, relay)
        own_postgres.restart(how)
        stage.wait_streaming(relay, 40)
    stage.insert("a")
    stage.wait_all_confirmed(40, relay)
    messages = stage.read()
    check_all(messages, stage.truth.events())
    check_once(messages)


@pytest.mark.on("all")
def test_after_a_crash_of_both_what_the_slot_has_forgotten_is_sent_again_and_no_more(make_stage, own_postgres):
    stage = make_stage(postgres=own_postgres)
    stage.create_topic(partitions=1)
    relay = stage.relay()
    for _ in range(20):
        stage.insert("a")
    stage.wait_all_confirmed()
    relay.kill()
    own_postgres.restart("immediate")
    confirmed = stage.confirmed()
    relay.start()
    stage.insert("a")
    stage.wait_all_confirmed(30, relay)
    messages, events = stage.read(), stage.truth.events()
    check_all(messages, events)
    assert repeated(messages) == after(confirmed, events[:20])


def _stopped_restarted_started(stage, relay, postgres):
    """Everything in good order. How far the slot fell back, what was sent again and what that should be."""
    for _ in range(5):
        stage.insert("a")
    stage.wait_all_confirmed(20, relay)
    relay.stop()
    before, sent = stage.confirmed(), len(stage.read())
    postgres.restart("fast")
    confirmed, events = stage.confirmed(), stage.truth.events()
    relay.start()
    stage.wait_streaming(relay)
    stage.wait_all_confirmed(20, relay)
    again = {message.id for message in stage.read()[sent:]}
    return before - confirmed, again, after(confirmed, events)


@pytest.mark.on(since=17)
def test_the_slot_of_postgres_17_survives_a_clean_restart_and_nothing_is_sent_twice(make_stage, own_postgres):
    stage = make_stage(postgres=own_postgres)
    stage.create_topic(partitions=1)
    relay = stage.relay()
    for _ in range(3):
        back, again, _ = _stopped_restarted_started(stage, relay, own_postgres)
        assert back <= 0 and not again
    check_once(stage.read())


@pytest.mark.on(below=17)
def test_the_slot_of_postgres_16_falls_back_at_a_clean_restart_and_what_it_forgot_is_sent_again(
        make_stage, own_postgres):
    stage = make_stage(postgres=own_postgres)
    stage.create_topic(partitions=1)
    relay = stage.relay()

    def fell_back():
        back, again, expected = _stopped_restarted_started(stage, relay, own_postgres)
        assert again == expected
        return back > 0 and again

    # A slot is saved now and then for other reasons: just then nothing is forgotten.
    wait_until(fell_back, 60, "the slot falls back")
    check_all(stage.read(), stage.truth.events())


@pytest.mark.on("all")
def test_a_server_that_shut_down_is_left_alone_for_ten_seconds(make_stage, own_postgres, mortal_kafka):
    stage = make_stage(postgres=own_postgres, kafka=mortal_kafka)
    stage.create_topic()
    relay = stage.relay()
    stage.insert()
    stage.wait_all_confirmed()
    mortal_kafka.kill()
    stage.insert()
    own_postgres.begin_stop("fast")
    own_postgres.wait_stopped(20)
    own_postgres.start()
    mortal_kafka.start()
    stage.wait_all_confirmed(60, relay)
    let_go, back = _left_and_back(relay)
    assert (back - let_go).total_seconds() >= 9  # the lines are written a moment after what they tell
    check_all(stage.read(), stage.truth.events())


def _left_and_back(relay):
    """When it let go of the server, and when it came back."""
    moves = [(datetime.fromisoformat(line["time"].rstrip("Z")), line["reason"]) for line in relay.log("state")]
    left = next(n for n, (_, why) in enumerate(moves) if why.endswith("backing_off (let_go)"))
    back = next(n for n, (_, why) in enumerate(moves) if n > left and why.startswith("backing_off -> connecting"))
    return moves[left][0], moves[back][0]


@pytest.mark.on("all")
def test_a_long_open_transaction_holds_the_log_and_is_there_after_a_restart(stage):
    stage.create_topic(partitions=1)
    relay = stage.relay()
    with stage.transaction() as connection:
        late = stage.insert("late", connection=connection)
        begun = stage.wal_end()
        early = [stage.insert("early") for _ in range(20)]
        stage.wait_all_confirmed()
        stage.sql("CHECKPOINT")
        assert [m.id for m in stage.read()] == early
        assert stage.slot_row()[1] <= begun < stage.confirmed()
        relay.stop()
        relay.start()
        stage.wait_streaming(relay)
        early.append(stage.insert("early"))
        stage.wait_all_confirmed(20, relay)
        relay.kill()
        stage.wait_released()
    relay.start()
    stage.wait_all_confirmed(20, relay)
    messages = stage.read()
    check_all(messages, stage.truth.events())
    assert [m.id for m in messages if m.id == late] == [late]
    assert {m.id for m in messages} == {late, *early}


@pytest.mark.on("all")
@pytest.mark.parametrize("how", ["copy", "rows"])
def test_rows_that_share_a_place_in_the_log_are_not_lost_when_the_relay_is_killed_among_them(stage, how):
    stage.create_topic(partitions=1)
    relay = stage.relay({"relay.in_flight.events": "64"})
    stage.insert("before")
    if how == "rows":
        stage.insert_many(20_000, "a{0}", size=50)
    else:
        with stage.transaction() as connection, connection.cursor() as cursor, cursor.copy(
                "COPY outbox (id, aggregatetype, aggregateid, type, payload) FROM STDIN") as copy:
            for n in range(20_000):
                copy.write_row((f"00000000-0000-0000-0000-{n:012d}", "order", f"a{n}", "created", "{}"))
    relay.wait_until(lambda: len(stage.read()) > 500, 30, "some of it is in Kafka")
    relay.kill()
    stage.wait_released()
    stage.insert("after")
    relay.start()
    stage.wait_all_confirmed(60, relay)
    messages = stage.read()
    assert len({m.id for m in messages}) == 20_002
    check_all(messages, stage.truth.events())


@pytest.mark.on("all")
def test_of_two_adjacent_transactions_the_first_confirmed_the_second_is_delivered_and_the_first_not_again(stage):
    stage.create_topic("first")
    relay = stage.relay()
    stage.wait_claimed(relay)
    stage.wait_all_confirmed(relay=relay)
    with stage.connect() as one, stage.connect() as other:
        one.execute("BEGIN")
        other.execute("BEGIN")
        first = stage.insert(topic="first", connection=one)
        second = stage.insert(topic="second", connection=other)  # its topic is missing
        one.execute("COMMIT")
        other.execute("COMMIT")
    end_of_first, end_of_second = (event.end_lsn for event in stage.truth.events())
    stage.wait_confirmed(end_of_first, relay=relay)
    # Where the second's commit begins: at the end of the first, or what other databases wrote between them later.
    assert end_of_first <= stage.confirmed() < end_of_second
    relay.kill()
    stage.wait_released()
    stage.create_topic("second")
    relay.start()
    stage.wait_all_confirmed(30, relay)
    assert sorted(m.id for m in stage.read("first", "second")) == sorted([first, second])
