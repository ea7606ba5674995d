"""walpost.schedule(): an event comes when its time has come, once, in order; nobody sends one that is not theirs."""

import json
import random
import threading

import psycopg
import pytest

from lib import asked, places
from lib.relay import config_text, run_command
from lib.sql_scripts import forget_role, good, run_script, slot_status

SCRIPT = places.TREE / "sql" / "schedule.sql"
IN_TIME = 10


def prepare(stage):
    stage.sql(SCRIPT.read_text())


def schedule(stage, delay="0 s", key="1", connection=None, **columns):
    row = {"id": str(columns.pop("id", "")) or None, "aggregatetype": "order", "aggregateid": key, "type": "created",
           **columns}
    if row["id"] is None:
        row["id"] = stage.sql("SELECT gen_random_uuid()::text")[0][0]
    run = connection.execute if connection else stage.sql
    run("SELECT walpost.schedule(clock_timestamp() + %s::interval, 'outbox', %s::jsonb)", (delay, json.dumps(row)))
    return row["id"]


def waiting(stage):
    return stage.sql("SELECT \"row\" ->> 'aggregateid', attempts, error FROM walpost.scheduled ORDER BY id")


def wait_moved(stage, relay, deadline=IN_TIME):
    relay.wait_until(lambda: not waiting(stage), deadline, "all that is due is moved")


@pytest.mark.on("all")
def test_an_event_comes_when_it_is_due(stage):
    prepare(stage)
    stage.create_topic()
    relay = stage.relay({"http.listen": "127.0.0.1:0"})
    soon = schedule(stage, "300 ms", "soon", payload={"n": 1})
    tomorrow = schedule(stage, "1 day", "tomorrow")
    at_once = schedule(stage, "-1 s", "at once")
    relay.wait_until(lambda: len(waiting(stage)) == 1, IN_TIME, "two are moved")
    stage.wait_all_confirmed(relay=relay)
    assert {message.id for message in stage.read()} == {at_once, soon}
    assert stage.sql("SELECT walpost.unschedule(id), walpost.unschedule(id) FROM walpost.scheduled") == [(True, False)]
    assert tomorrow and waiting(stage) == []


@pytest.mark.on("all")
def test_an_event_without_a_table_comes_too(stage):
    prepare(stage)
    stage.create_topic()
    relay = stage.relay({"outbox.message.prefix": "later"})
    stage.sql("""SELECT walpost.schedule(now(), 'later', '{"aggregatetype": "order", "aggregateid": "7", "type": "due",
                 "payload": {"n": 1}, "headers": {"a": "b"}}', message => true)""")
    wait_moved(stage, relay)
    stage.wait_all_confirmed(relay=relay)
    (message,) = stage.read()
    assert message.key == b"7" and json.loads(message.value) == {"n": 1} and (b"b" in dict(message.headers).values())


@pytest.mark.on("all")
def test_a_row_that_no_longer_fits_holds_up_nothing_and_is_not_lost(stage):
    """The constraint is a deferred one: without more it would fail the whole transaction in its end."""
    prepare(stage)
    stage.create_topic()
    stage.sql("""CREATE FUNCTION forbid() RETURNS trigger LANGUAGE plpgsql AS
                   $$ BEGIN IF NEW.aggregateid = 'bad' THEN RAISE 'forbidden now'; END IF; RETURN NEW; END $$;
                 CREATE CONSTRAINT TRIGGER late AFTER INSERT ON outbox DEFERRABLE INITIALLY DEFERRED
                   FOR EACH ROW EXECUTE FUNCTION forbid()""")
    for number in range(20):
        schedule(stage, "-1 s", "bad" if number in (0, 7) else f"good{number}")
    relay = stage.relay({"http.listen": "127.0.0.1:0"})
    relay.wait_until(lambda: len(waiting(stage)) == 2, IN_TIME, "the others are moved")
    relay.wait_until(lambda: relay.log("scheduled_failed"), IN_TIME, "it says so")
    stage.sql("UPDATE walpost.scheduled SET retry_at = now() + interval '1 h'")
    refused = waiting(stage)
    assert [(key, error) for key, _, error in refused] == [("bad", "forbidden now")] * 2
    schedule(stage, "0 s", "later")
    relay.wait_until(lambda: len(waiting(stage)) == 2, IN_TIME, "a later one is moved as well")
    assert waiting(stage) == refused  # their time has not come
    stage.sql("DROP TRIGGER late ON outbox; UPDATE walpost.scheduled SET retry_at = now()")
    wait_moved(stage, relay)
    assert stage.sql("SELECT count(*), count(DISTINCT id) FROM outbox") == [(21, 21)]


@pytest.mark.on("all")
def test_nobody_sends_what_they_may_not_insert(stage):
    """Not by schedule(), not by a row made by hand, not as another role; nor does a trigger run as the mover."""
    prepare(stage)
    stage.create_topic()
    role = f"{stage.name}_app"
    stage.sql(f"""CREATE ROLE {role} LOGIN; GRANT USAGE ON SCHEMA walpost TO {role};
                  GRANT SELECT, INSERT, DELETE ON walpost.scheduled TO {role};
                  CREATE SCHEMA {role} AUTHORIZATION {role}""")
    refused = psycopg.errors.InsufficientPrivilege
    try:
        with psycopg.connect(stage.postgres.conninfo(stage.database, user=role), autocommit=True) as app:
            with pytest.raises(refused, match="may not insert into public.outbox"):
                schedule(stage, connection=app)
            insert = "INSERT INTO walpost.scheduled (deliver_at, outbox, \"row\", author) VALUES (now(), %s, %s, %s)"
            row = json.dumps({"id": "11111111-1111-1111-1111-111111111111", "aggregatetype": "order",
                              "aggregateid": "1", "type": "t"})
            with pytest.raises(refused, match="row-level security"):
                app.execute(insert, ("public.outbox", row, "postgres"))
            with pytest.raises(refused):
                app.execute("SELECT * FROM walpost.move_due(10)")
            app.execute(insert, ("public.outbox", row, role))
            app.execute(f"""CREATE TABLE {role}.trap (id int);
                CREATE FUNCTION {role}.spring() RETURNS trigger LANGUAGE plpgsql AS
                  $$ BEGIN EXECUTE 'ALTER ROLE {role} SUPERUSER'; RETURN NEW; END $$;
                CREATE TRIGGER t BEFORE INSERT ON {role}.trap FOR EACH ROW EXECUTE FUNCTION {role}.spring()""")
            app.execute(insert, (f"{role}.trap", '{"id": 1}', role))
        relay = stage.relay()
        relay.wait_until(lambda: [attempts for _, attempts, _ in waiting(stage)] == [1, 1], IN_TIME, "both are refused")
        by_hand, trap = (error for _, _, error in waiting(stage))
        assert "may not insert into public.outbox" in by_hand and "whose triggers would run as" in trap
        assert stage.sql("SELECT rolsuper FROM pg_roles WHERE rolname = %s", (role,)) == [(False,)]
        assert stage.sql("SELECT count(*) FROM outbox") == [(0,)]
        stage.sql(f"GRANT INSERT ON outbox TO {role}; UPDATE walpost.scheduled SET retry_at = now()")
        relay.wait_until(lambda: len(waiting(stage)) == 1, IN_TIME, "what it may insert now is moved")
    finally:
        stage.sql(f"DROP OWNED BY {role}; DROP ROLE {role}")


def test_what_cannot_be_a_row_is_refused_at_once(stage):
    prepare(stage)
    stage.sql("ALTER TABLE outbox ADD made int GENERATED ALWAYS AS (1) STORED, ADD at timestamptz")
    call = "SELECT walpost.schedule(now(), %s, %s, %s)"
    for outbox, row, message, expected in [
        ("outbx", {}, False, "table outbx does not exist"),
        ("outbox", {"keyy": 1}, False, "no column keyy"),
        ("outbox", {"made": 1}, False, "no column made that can be inserted"),
        ("outbox", {"id": "7"}, False, "invalid input syntax for type uuid"),
        ("outbox", [], False, "must be a JSON object, not array"),
        ("outbox", {"aggregatetype": "a"}, True, "aggregateid must not be empty"),
        ("outbox", {"aggregatetype": "a", "aggregateid": "1", "key": 1}, True, "no member key"),
    ]:
        with pytest.raises(psycopg.Error, match=expected):
            stage.sql(call, (outbox, json.dumps(row), message))
    # A time without a zone is the caller's.
    with stage.connect() as app:
        app.execute("SET TimeZone = 'Asia/Tokyo'")
        app.execute(call, ("outbox", json.dumps({"at": "2030-01-02 09:00"}), False))
    assert stage.sql("SELECT (\"row\" ->> 'at')::timestamptz = '2030-01-02 00:00Z' FROM walpost.scheduled") == [(True,)]


def test_without_the_function_nothing_is_asked_and_nothing_is_said(stage):
    stage.create_topic()
    named = stage.postgres.conninfo(stage.database, application_name=stage.name)
    relay = stage.relay({"postgres.conninfo": named})
    stage.insert()
    stage.wait_all_confirmed(relay=relay)
    relay.stop()
    assert not relay.log("scheduling_unavailable")
    said = [line for line in stage.postgres.log.read_text().splitlines() if f"] {stage.name} " in line]
    assert said and not [line for line in said if "move_due" in line]


def test_with_it_off_nothing_is_moved(stage):
    prepare(stage)
    stage.create_topic()
    schedule(stage, "-1 s")
    relay = stage.relay({"relay.schedule": "no"})
    stage.insert()
    stage.wait_all_confirmed(relay=relay)
    assert not stage.sql("SELECT FROM pg_stat_activity WHERE query LIKE '%move_due%' AND pid <> pg_backend_pid() "
                         "AND datname = current_database()")
    assert len(waiting(stage)) == 1


def findings(stage, changes):
    file = stage.folder / "check.conf"
    file.write_text(config_text(stage.config(changes)))
    return [f for f in json.loads(run_command("check", "-c", file, "--json").stdout) if f["name"] == "scheduled"]


@pytest.mark.on("all")
def test_a_relay_without_the_right_streams_and_says_so_and_the_cure_of_check_helps(stage, folder):
    prepare(stage)
    stage.create_topic()
    role = f"{stage.name}_relay"
    good(run_script(stage, "grants.sql", role=role), ", and move scheduled events")
    stage.sql(f"REVOKE EXECUTE ON FUNCTION walpost.move_due(integer) FROM {role}")
    changes = {"postgres.conninfo": stage.postgres.conninfo(stage.database, user=role), "http.listen": "127.0.0.1:0"}
    try:
        schedule(stage, "-20 s")
        relay = stage.relay(changes)
        sent = stage.insert()
        stage.wait_all_confirmed(relay=relay)
        relay.wait_until(lambda: relay.log("scheduling_unavailable"), 20, "it says so")
        (line,) = relay.log("scheduling_unavailable")
        assert f"role {role} may not execute walpost.move_due()" in line["reason"]
        assert shown_by(relay) == {"due": None, "overdue": None, "failed": None, "oldest_seconds": None,
                                           "moved": 0, "attempts_failed": 0, "trouble": line["reason"]}
        (finding,) = findings(stage, changes)
        assert finding["level"] == "warn" and f"role {role} may not execute" in finding["what"]
        (overdue,) = findings(stage, {})
        assert overdue["level"] == "warn" and "1 scheduled events or more are overdue" in overdue["what"]
        stage.sql(finding["cure"])
        relay.wait_until(lambda: not waiting(stage), 30, "the relay notices by itself")
        relay.wait_until(lambda: relay.log("scheduling_resumed"), 30, "and says so")
        fine = {"due": 0, "overdue": 0, "failed": 0, "oldest_seconds": None, "moved": 1, "attempts_failed": 0,
                "trouble": None}
        relay.wait_until(lambda: shown_by(relay) == fine, 20, f"it shows {fine}")
        (finding,) = findings(stage, changes)
        assert (finding["level"], finding["what"]) == ("ok", "scheduled events can be moved, and none is overdue")
        stage.wait_all_confirmed(relay=relay)
        assert sent in {message.id for message in stage.read()}
        relay.stop()
        good(run_script(stage, "grants_drop.sql", role=role))
    finally:
        forget_role(stage, role)


def test_a_tables_owner_that_is_not_a_member_is_named(stage):
    """Its triggers would run as the mover, which its owner is not."""
    prepare(stage)
    role = f"{stage.name}_owner"
    stage.sql(f"CREATE ROLE {role}")
    try:
        stage.sql(f"ALTER TABLE outbox OWNER TO {role}")
        whose = [finding["what"] for finding in findings(stage, {})]
        assert any("events for table public.outbox cannot be scheduled" in what and role in what for what in whose)
        stage.sql(f"GRANT postgres TO {role}")
        assert not any("cannot be scheduled" in finding["what"] for finding in findings(stage, {}))
    finally:
        stage.sql(f"ALTER TABLE outbox OWNER TO postgres; DROP ROLE {role}")


@pytest.mark.on("all")
def test_status_says_what_is_due_and_what_was_set_aside(stage):
    prepare(stage)
    stage.create_topic()
    schedule(stage, "-2000 s")
    schedule(stage, "1 day")
    assert status(stage)["scheduled_due"] == status(stage)["scheduled_overdue"] == 1
    assert "scheduled events: 1 overdue, 0 set aside, the oldest due for 20" in status(stage)["means"]
    assert "warn scheduled events: 1 overdue, 0 set aside" in slot_status(stage).stdout
    relay = stage.relay()
    relay.wait_until(lambda: len(waiting(stage)) == 1, IN_TIME, "one is moved")
    shown = status(stage)
    assert (shown["scheduled_due"], shown["scheduled_failed"], shown["seconds_since_due"]) == (0, 0, None)
    assert "scheduled" not in shown["means"]
    stage.sql("DROP FUNCTION walpost.scheduled_state")
    assert status(stage)["scheduled_due"] is None


def status(stage):
    file = stage.folder / "status.conf"
    file.write_text(config_text(stage.config()))
    return json.loads(run_command("status", "-c", file, "--json").stdout)


def shown_by(relay):
    return json.loads(asked.get(relay, "/status")[1])["scheduled"]


@pytest.mark.timeout(600)
@pytest.mark.on("all")
def test_four_relays_are_killed_while_all_of_them_move(stage, scaled):
    """Each event is once in the outbox, none before it is due, those of an aggregate in the order of their times."""
    events, span, aggregates = scaled(3_000, 20_000), scaled(3, 10), 50
    prepare(stage)
    stage.create_topic()
    stage.sql("ALTER TABLE outbox ADD due timestamptz, ADD inserted timestamptz DEFAULT clock_timestamp()")
    slots = [stage.slot, *(f"{stage.name}_{number}" for number in (2, 3, 4))]
    for slot in slots[1:]:
        stage.also_drops(slot)
        stage.sql("SELECT pg_create_logical_replication_slot(%s, 'pgoutput')", (slot,))
    relays = [stage.new_relay({"postgres.slot": slot, **({} if slot == stage.slot else {"relay.sink": "stdout"})})
              for slot in slots]
    for relay in relays:
        relay.start()
        relay.wait_until(lambda relay=relay: relay.log("streaming"), 20, "it streams")
    stage.sql(f"""SELECT count(walpost.schedule(due, 'outbox', jsonb_build_object('id', gen_random_uuid(),
                    'aggregatetype', 'order', 'aggregateid', (n % {aggregates})::text, 'type', 't', 'due', due)))
                  FROM (SELECT n, clock_timestamp() + interval '1 s' + random() * interval '{span} s' AS due
                        FROM generate_series(1, {events}) n OFFSET 0) x""")
    rng = random.Random(5)
    kills = 0
    while kills < 4 or waiting_count(stage) > 0:
        threading.Event().wait(rng.random() * 0.6)  # a moment that differs from run to run
        relay = rng.choice(relays)
        relay.kill()
        kills += 1
        relay.start()
        assert kills < 1000, "it does not come to an end"
    assert stage.sql("SELECT count(*), count(DISTINCT id), count(*) FILTER (WHERE inserted < due) FROM outbox") == [
        (events, events, 0)]
    due = dict(stage.sql("SELECT id::text, (aggregateid, due) FROM outbox"))
    last = {}
    for event in stage.truth.events():
        key, at = due[event.id]
        assert last.get(key, at) <= at, f"{event.id} of aggregate {key} was overtaken"
        last[key] = at
    stage.wait_all_confirmed(60, relays[0])
    assert {message.id for message in stage.read()} == set(due)
    print(f"{events} events, {kills} kills, late by at most", stage.sql("SELECT max(inserted - due) FROM outbox")[0][0])


def waiting_count(stage):
    return stage.sql("SELECT count(*) FROM walpost.scheduled")[0][0]


@pytest.mark.on("all")
def test_a_relay_that_has_nothing_to_move_asks_seldom(stage):
    prepare(stage)
    stage.create_topic()
    assert stage.sql("SELECT next_ms FROM walpost.move_due(10)") == [(None,)]
    relay = stage.relay()
    commits = "SELECT xact_commit FROM pg_stat_database WHERE datname = current_database()"
    schedule(stage)
    wait_moved(stage, relay)
    before = stage.sql(commits)[0][0]
    with stage.connect() as watcher:
        watcher.execute("SELECT pg_sleep(3)")  # the server's own time, in which nothing is scheduled
    assert stage.sql(commits)[0][0] - before < 100


def test_one_by_one_they_come_and_none_early(stage, scaled):
    """How late is a measurement, so it is printed; the limits are the waits' deadlines."""
    prepare(stage)
    stage.create_topic()
    stage.sql("ALTER TABLE outbox ADD due timestamptz, ADD inserted timestamptz DEFAULT clock_timestamp()")
    relay = stage.relay()
    for number in range(scaled(30, 500)):
        delay = f"{random.Random(number).randrange(50, 400 if number % 10 else 2500)} ms"
        stage.sql("""SELECT walpost.schedule(due, 'outbox', jsonb_build_object('id', gen_random_uuid(), 'aggregatetype',
                     'order', 'aggregateid', '1', 'type', 't', 'due', due))
                     FROM (SELECT clock_timestamp() + %s::interval AS due OFFSET 0) x""", (delay,))
        wait_moved(stage, relay)
    (figures,) = stage.sql("""SELECT min(late), percentile_disc(ARRAY[0.5, 0.99, 1.0]) WITHIN GROUP (ORDER BY late)
        FROM (SELECT 1000 * extract(epoch FROM inserted - due)::float AS late FROM outbox) x""")
    print("late by ms: earliest, median, p99, most", figures)
    assert figures[0] >= 0


def test_ten_million_that_are_far_in_the_future_cost_nothing(stage, scaled):
    """As many pages are touched as for one; by the server's own count, without ANALYZE."""
    prepare(stage)
    stage.sql("ALTER TABLE walpost.scheduled SET (autovacuum_enabled = off)")
    stage.sql("""INSERT INTO walpost.scheduled (deliver_at, outbox, "row")
                 SELECT now() + interval '1 year' * n / 1000000, 'public.outbox', '{}'
                 FROM generate_series(1, %s) n""", (scaled(200_000, 10_000_000),))
    schedule(stage, "-1 s")
    with stage.connect() as session:
        explain = "EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) SELECT * FROM walpost.move_due(500)"
        plans = [session.execute(explain).fetchone()[0][0] for _ in range(3)]  # the first fills the session's caches
    pages = [plan["Plan"]["Shared Hit Blocks"] + plan["Plan"]["Shared Read Blocks"] for plan in plans]
    print("pages, ms:", pages, [plan["Execution Time"] for plan in plans])
    assert stage.sql("SELECT count(*) FROM outbox") == [(1,)]
    assert pages[0] < 2000 and pages[2] < 50
