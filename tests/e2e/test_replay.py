"""walpost replay: rows of the outbox are sent again beside the relay, once each, whatever ends the command."""

import json
import subprocess
import uuid

import pytest

from e2e.test_park import PARK
from e2e.test_poison import TooLarge, _noise
from lib import places
from lib.process import finish
from lib.relay import binary, clean_environment, config_text, run_command
from lib.sql_scripts import passing_role, run_script
from lib.stage import identifier
from lib.waiting import holds_for, wait_until

pytestmark = pytest.mark.on("all")
ANY = ("--order-by", "none")


def _command(stage, *arguments, changes=None):
    file = stage.folder / f"replay-{uuid.uuid4().hex[:6]}.conf"
    file.write_text(config_text(stage.config(changes)))
    words = list(arguments)
    at = 1 if words and not words[0].startswith("-") else 0
    return ["replay", *words[:at], "-c", file, *words[at:]]


def _replay(stage, *arguments, changes=None, **options):
    return run_command(*_command(stage, *arguments, changes=changes), **options)


def _json(done):
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def _again(stage):
    """The ids that were sent again, in the order of their partitions."""
    return [_id(m) for m in stage.read() if _header(m, "walpost-reissued") is not None]


def _header(message, name):
    return dict(message.headers).get(name)


def _id(message):
    return _header(message, "id").decode()


@pytest.fixture
def delivered(stage):
    """A hundred rows with a bigint key, of ten aggregates, delivered, and a relay that runs."""
    stage.create_topic(partitions=1)
    made = run_script(stage, "reissue.sql", options=["-v", "ON_ERROR_STOP=1"])
    assert made.returncode == 0, made.stderr
    stage.sql(f"ALTER TABLE {stage.table} ADD at timestamptz, ADD n bigint")
    stage.sql(f"""INSERT INTO {stage.table} (id, aggregatetype, aggregateid, type, payload, at, n)
        SELECT gen_random_uuid(), 'order', (n % 10)::text, CASE WHEN n % 4 = 0 THEN 'paid' ELSE 'made' END,
            jsonb_build_object('n', n), '2026-01-01 00:00:00+00'::timestamptz + n * interval '1 hour', n
        FROM generate_series(1, 100) n""")
    stage.relay()
    stage.wait_all_confirmed()
    return stage


def _ids(stage, where="true", order="at"):
    return [str(id) for (id,) in stage.sql(f"SELECT id FROM {stage.table} WHERE {where} ORDER BY {order}")]


CHOICES = {
    "all by a column": (("--order-by", "n"), "true"),
    "since": (("--time-column", "at", "--since", "2026-01-03T00:00:00Z"), "n >= 48"),
    "between": (("--time-column", "at", "--since", "2026-01-03T00:00:00Z", "--until", "2026-01-04T00:00:00Z"),
                "n >= 48 AND n < 72"),
    "key": (("--order-by", "n", "--key", "3,7"), "aggregateid IN ('3', '7')"),
    "type": (("--order-by", "n", "--type", "paid"), "type = 'paid'"),
    "where": (("--order-by", "n", "--where", "o.n % 2 = 0 -- even"), "n % 2 = 0"),
    "all of it": (("--order-by", "n", "--key", "2", "--type", "made", "--where", "o.n < 50"),
                  "aggregateid = '2' AND type = 'made' AND n < 50"),
}


@pytest.mark.parametrize("choice", CHOICES)
def test_what_is_chosen_is_sent_again_marked_and_in_order(delivered, choice):
    stage = delivered
    stage.sql(f"ALTER TABLE {stage.table} ALTER n SET NOT NULL")
    arguments, where = CHOICES[choice]
    wanted = _ids(stage, where)
    said = _json(_replay(stage, "--dry-run", "--json", *arguments))
    assert said["total"] == len(wanted) and said["state"] == "dry-run" and _again(stage) == []
    said = _json(_replay(stage, "start", "--json", *arguments))
    assert said["state"] == "done" and said["sent"] == said["total"] == len(wanted)
    assert _again(stage) == wanted
    (mark,) = {_header(m, "walpost-reissued") for m in stage.read() if _header(m, "walpost-reissued")}
    assert mark.decode() == f"replay {said['id']}"
    (job,) = _json(_replay(stage, "list", "--json"))
    assert job["state"] == "done" and job["sent"] == len(wanted) and job["by_role"]
    assert stage.sql("SELECT count(*) FROM walpost.reissue") == [(0,)]


def test_a_duration_is_counted_back_from_now_and_becomes_a_time(delivered):
    delivered.sql(f"UPDATE {delivered.table} SET at = now() - n * interval '1 hour' + interval '30 min'")
    done = _replay(delivered, "--time-column", "at", "--since", "5h", "--until", "90000s")
    assert done.returncode == 0 and "no row of public.outbox is chosen: nothing was sent" in done.stdout
    assert _again(delivered) == []
    said = _json(_replay(delivered, "--json", "--time-column", "at", "--until", "9999h"))
    assert (said["state"], said["total"], said["sent"], "id" in said) == ("done", 0, 0, False)
    assert _replay(delivered, "--time-column", "at", "--since", "5h", "--until", "120min").returncode == 0
    assert _again(delivered) == _ids(delivered, "n BETWEEN 3 AND 5")
    ((since, is_right),) = delivered.sql("""SELECT chosen->>'since', now() - (chosen->>'since')::timestamptz
        BETWEEN '5 h' AND '5 h 5 min' FROM walpost.replay ORDER BY id DESC LIMIT 1""")
    assert since.endswith("Z") and is_right


def test_one_by_its_id(delivered):
    (id,) = _ids(delivered, "n = 17")
    done = _replay(delivered, "--id", id)
    assert done.returncode == 0, done.stderr
    assert "replay 1: 1 row of public.outbox sent again and confirmed" in done.stdout
    assert _again(delivered) == [id]


def test_by_the_time_of_the_commit_where_the_server_keeps_it(delivered):
    done = _replay(delivered, "--by-commit-time", "--since", "2026-01-01")
    assert done.returncode == 2 and "track_commit_timestamp is off" in done.stderr


def test_by_the_time_of_the_commit(make_stage, own_postgres):
    own_postgres.query("ALTER SYSTEM SET track_commit_timestamp = on")
    own_postgres.restart("fast")
    stage = make_stage(postgres=own_postgres)
    stage.create_topic(partitions=1)
    run_script(stage, "reissue.sql")
    stage.relay()
    first, second = stage.insert("1"), stage.insert("2")
    ((at,),) = stage.sql("SELECT clock_timestamp()::text")
    third, fourth = stage.insert("3"), stage.insert("4")
    stage.wait_all_confirmed()
    assert _replay(stage, "--by-commit-time", "--since", at).returncode == 0
    assert _again(stage) == [third, fourth]
    assert _replay(stage, "--by-commit-time", "--until", at).returncode == 0
    assert _again(stage) == [third, fourth, first, second]


def test_rows_that_are_inserted_meanwhile_are_not_sent_by_it(delivered):
    stage = delivered
    stage.sql(f"ALTER TABLE {stage.table} ALTER n SET NOT NULL")
    command = subprocess.Popen(
        [binary(), *map(str, _command(stage, "--order-by", "n", "--rate", "50"))], env=clean_environment(),
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    wait_until(lambda: stage.sql("SELECT 1 FROM walpost.replay WHERE sent > 0"), 30, "it sends")
    stage.sql(f"""INSERT INTO {stage.table} (id, aggregatetype, aggregateid, type, payload, n)
        SELECT gen_random_uuid(), 'order', '1', 'later', '{{}}', n FROM generate_series(101, 120) n""")
    out, err = finish(command, 60)
    assert command.returncode == 0, err
    assert "100 rows" in out
    assert sorted(_again(stage)) == sorted(_ids(stage, "n <= 100"))


def test_killed_at_any_point_it_is_resumed_and_each_row_is_sent_once(delivered, scaled):
    stage, rows = delivered, scaled(5_000, 100_000)
    stage.sql(f"""INSERT INTO {stage.table} (id, aggregatetype, aggregateid, type, payload, n)
        SELECT gen_random_uuid(), 'order', (n % 10)::text, 'made', '{{}}', n FROM generate_series(101, {rows}) n""")
    stage.sql(f"ALTER TABLE {stage.table} ALTER n SET NOT NULL")
    words = ["--order-by", "n"]
    slow = ["--rate", rows // 10]  # ten seconds of it, so that there is something left after five kills
    for kill in range(5):
        command = subprocess.Popen([binary(), *map(str, _command(stage, *words, *slow))], env=clean_environment(),
                                   stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        goal = rows // 7 * (kill + 1)
        wait_until(lambda goal=goal: stage.sql("SELECT 1 FROM walpost.replay WHERE sent >= %s", (goal,)), 120,
                   "it has come so far")
        command.kill()
        command.wait()
        words = ["resume", "1"]
    (before,) = stage.sql("SELECT sent FROM walpost.replay")[0]
    assert before < rows
    # The backend of a process that was killed ends with its statement.
    done = _replay(stage, "resume", "1", "--json", deadline=500)
    assert _json(done)["sent"] == rows
    again = _again(stage)
    assert again == _ids(stage, order="n")
    done = _replay(stage, "resume", "1")
    assert done.returncode == 2 and "replay 1 is over: it is done" in done.stderr


def _other(stage):
    return stage.read("other")


def _order_by_time(stage):
    stage.sql(f"ALTER TABLE {stage.table} ALTER at SET NOT NULL, ALTER at SET DEFAULT now()")


def test_to_another_topic_only_marked_and_in_order_and_live_events_are_untouched(delivered):
    stage = delivered
    other = stage.create_topic("other", partitions=1)
    _order_by_time(stage)
    before = [_id(m) for m in stage.read()]
    said = _json(_replay(stage, "--to-topic", other, "--time-column", "at", "--dry-run", "--json"))
    assert said["to_topic"] == other and said["total"] == 100 and _other(stage) == []
    command = subprocess.Popen(
        [binary(), *map(str, _command(stage, "--to-topic", other, "--time-column", "at", "--rate", "50"))],
        env=clean_environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    wait_until(lambda: stage.sql("SELECT 1 FROM walpost.replay WHERE sent > 0"), 30, "it sends")
    live = [stage.insert(str(n % 10)) for n in range(20)]
    out, err = finish(command, 60)
    assert command.returncode == 0, err
    assert f"100 rows of public.outbox sent again to topic {other} and confirmed" in out
    stage.wait_all_confirmed()
    assert [_id(m) for m in stage.read()] == before + live and _again(stage) == []
    assert [_id(m) for m in _other(stage)] == _ids(stage, "n <= 100")
    assert {_header(m, "walpost-reissued") for m in _other(stage)} == {b"replay 1"}
    originals = {_id(m): m for m in stage.read()}
    for message in _other(stage):
        assert (message.key, message.value) == (originals[_id(message)].key, originals[_id(message)].value)


def test_interrupted_and_resumed_it_keeps_its_topic(delivered):
    stage = delivered
    other = stage.create_topic("other", partitions=1)
    command = subprocess.Popen(
        [binary(), *map(str, _command(stage, "--to-topic", other, "--rate", "2", *ANY))], env=clean_environment(),
        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    wait_until(lambda: stage.sql("SELECT 1 FROM walpost.replay WHERE sent > 0"), 30, "it sends")
    command.kill()
    command.wait()
    (job,) = _json(_replay(stage, "list", "--json"))
    assert job["chosen"]["to_topic"] == other and job["state"] == "running"
    assert _json(_replay(stage, "resume", "1", "--json"))["sent"] == 100
    assert sorted(map(_id, _other(stage))) == sorted(_ids(stage)) and _again(stage) == []


def test_what_is_parked_on_its_way_to_another_topic_keeps_it_and_holds_no_live_event_back(delivered):
    stage = delivered
    stage.relays[-1].stop()
    stage.sql((places.TREE / "sql" / "parked.sql").read_text())
    other = stage.create_topic("other", partitions=1, **TooLarge.topic)
    stage.relay({**PARK, **TooLarge.relay})
    _order_by_time(stage)
    stage.sql(f"UPDATE {stage.table} SET payload = %s WHERE n = 13", (json.dumps({"noise": _noise(300_000)}),))
    assert _json(_replay(stage, "--to-topic", other, "--time-column", "at", "--json"))["sent"] == 100
    parked = stage.sql("SELECT DISTINCT outbox, key, reissued FROM walpost.parked")
    assert parked == [(f"public.outbox -> {other}", "3", "replay 1")]
    # What was in flight when Kafka refused one comes twice.
    assert {_id(m) for m in _other(stage)} == set(_ids(stage, "n % 10 <> 3 OR n < 13"))
    live = stage.insert("3")
    stage.wait_all_confirmed()
    assert stage.read()[-1].id == live
    stage.relays[-1].kill()
    relay = stage.relay({**PARK, **TooLarge.relay})
    stage.kafka.set_topic_config(other, max_message_bytes=2_000_000)
    relay.wait_until(lambda: not stage.sql("SELECT 1 FROM walpost.parked"), 60, "nothing is parked")
    of_the_key = dict.fromkeys(_id(m) for m in _other(stage) if m.key == b"3")
    assert list(of_the_key) == _ids(stage, "aggregateid = '3' AND n <= 100") and _again(stage) == []


def test_a_dead_letter_of_it_says_where_it_was_to_go_and_is_not_sent_elsewhere(delivered):
    stage = delivered
    stage.relays[-1].stop()
    other = stage.create_topic("other", partitions=1, **TooLarge.topic)
    changes = {"relay.poison": "dead-letter", "relay.dead_letter.topic": stage.create_topic("dead", partitions=1)}
    stage.relay({**changes, **TooLarge.relay})
    stage.sql(f"UPDATE {stage.table} SET payload = %s WHERE n = 13", (json.dumps({"noise": _noise(300_000)}),))
    assert _json(_replay(stage, "--to-topic", other, "--json", *ANY))["sent"] == 100
    (letter,) = stage.read("dead")
    assert letter.header("walpost-dead-letter-topic").decode() == other
    assert letter.header("walpost-dead-letter-table").decode() == f"public.outbox -> {other}"
    file = stage.folder / "dead-letters.conf"
    file.write_text(config_text(stage.config(changes)))
    done = run_command("dead-letters", "retry", "-c", file, "--all")
    assert done.returncode == 1, done
    assert "replay its row again, with walpost replay --id and --to-topic" in done.stdout + done.stderr
    assert _again(stage) == []


def test_a_topic_that_does_not_exist_or_cannot_is_refused_before_anything_is_sent(delivered):
    stage = delivered
    wrong = {"no such": "contains characters other than", "": "is empty", "x" * 250: "longer than 249",
             "..": "Kafka does not allow", stage.topic("nowhere"): "there is no such topic"}
    for name, reason in wrong.items():
        done = _replay(stage, "--to-topic", name)
        assert done.returncode == 2 and reason in done.stderr, done.stderr
    assert stage.sql("SELECT count(*) FROM walpost.replay") == [(0,)]
    with pytest.raises(Exception, match="is not a topic name"):
        stage.sql(f"SELECT walpost.reissue(%s, %s, o, 'why', topic => 'no such') FROM {stage.table} o",
                  (stage.slot, stage.table))


def test_a_function_from_before_there_were_other_topics_is_told_and_replaced(delivered):
    stage = delivered
    other = stage.create_topic("other", partitions=1)
    earlier = (places.TREE / "sql" / "reissue.sql").read_text().replace(
        ',\n  topic text DEFAULT NULL', '').replace("reissue.topic", "NULL::text")
    stage.sql("DROP FUNCTION walpost.reissue(text, regclass, anyelement, text, text, text)")
    stage.sql(earlier)
    done = _replay(stage, "--to-topic", other)
    assert done.returncode == 2 and "walpost.reissue() is older than this option" in done.stderr
    assert _json(_replay(stage, "--json", "--key", "3", *ANY))["sent"] == 10
    for _ in range(2):
        stage.sql((places.TREE / "sql" / "reissue.sql").read_text())
    assert _json(_replay(stage, "--json", "--key", "3", *ANY))["sent"] == 10
    assert _json(_replay(stage, "--to-topic", other, "--json", "--key", "3", *ANY))["sent"] == 10
    assert len(_other(stage)) == 10 and len(_again(stage)) == 20


def test_a_condition_is_executed_by_who_gives_it_only(delivered):
    stage = delivered
    stage.sql("INSERT INTO walpost.replay (slot, outbox, chosen, total) VALUES (%s, 'public.outbox', "
              "'{\"where\": \"o.n < 4\"}', 3)", (stage.slot,))
    done = _replay(stage, "resume", "1")
    assert done.returncode == 2
    assert "not executed unless it is given again: --where 'o.n < 4'" in done.stderr
    assert _replay(stage, "resume", "1", "--where", "o.n < 5").returncode == 2
    assert _again(stage) == []
    assert _json(_replay(stage, "resume", "1", "--where", "o.n < 4", "--json"))["sent"] == 3


def test_cancelled_it_stops_where_it_runs_and_is_not_resumed(delivered):
    stage = delivered
    command = subprocess.Popen([binary(), *map(str, _command(stage, "--rate", "2", *ANY))], env=clean_environment(),
                               stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    wait_until(lambda: stage.sql("SELECT 1 FROM walpost.replay WHERE sent > 0"), 30, "it sends")
    done = _replay(stage, "cancel", "1")
    assert done.returncode == 0 and "replay 1: cancelled after" in done.stdout
    _, err = finish(command, 30)
    assert command.returncode == 1 and "replay 1 was ended by another: it is cancelled" in err
    done = _replay(stage, "resume", "1")
    assert done.returncode == 2 and "replay 1 is over: it is cancelled" in done.stderr
    assert 0 < len(_again(stage)) < 100
    assert "cancelled" in _replay(stage, "list").stdout


def test_while_no_relay_reads_it_waits_and_nothing_piles_up(delivered):
    stage = delivered
    stage.sql(f"""INSERT INTO {stage.table} (id, aggregatetype, aggregateid, type, payload)
        SELECT gen_random_uuid(), 'order', 'x', 'made', '{{}}' FROM generate_series(1, 4000) n""")
    stage.wait_all_confirmed()
    relay = stage.relays[-1]
    command = subprocess.Popen([binary(), *map(str, _command(stage, "--rate", "200", *ANY))], env=clean_environment(),
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    wait_until(lambda: stage.sql("SELECT 1 FROM walpost.replay WHERE sent > 0"), 30, "it has begun")
    relay.stop()
    while "no relay reads slot" not in (line := command.stderr.readline()):
        assert line, "it ended"
    assert "waiting for one" in line
    ((sent,),) = stage.sql("SELECT sent FROM walpost.replay")
    holds_for(lambda: stage.sql("SELECT sent FROM walpost.replay") == [(sent,)], 2, "nothing more is sent")
    relay.start()
    _, err = finish(command, 60)
    assert command.returncode == 0, err
    again = _again(stage)
    assert len(again) == len(set(again)) == 4100


def test_a_table_without_a_unique_key_is_refused_with_the_cure(delivered):
    delivered.sql(f"ALTER TABLE {delivered.table} DROP CONSTRAINT {delivered.table.split('.')[-1]}_pkey")
    done = _replay(delivered)
    assert done.returncode == 2
    assert "has no primary key, nor a unique index over columns that are NOT NULL" in done.stderr
    assert "Create one" in done.stderr


REFUSED = {
    "no column": (("--since", "2026-01-01"), "--since and --until need --time-column COLUMN, or --by-commit-time"),
    "two orders": (("--by-commit-time", "--order-by", "n"), "leave --time-column and --order-by out"),
    "no such column": (("--order-by", "m"), "table public.outbox has no column m"),
    "nullable": (("--order-by", "n"), "column n of table public.outbox may be NULL"),
    "rate": (("--rate", "0"), "--rate 0: allowed is a number of rows a second"),
    "outbox": (("--outbox", "other"), "--outbox other: no outbox with that table or name is configured"),
    "no job": (("resume", "7"), "there is no replay 7"),
    "no number": (("cancel", "x"), "walpost replay cancel: which one?"),
    "no number at all": (("resume",), "walpost replay resume: which one?"),
}


@pytest.mark.parametrize("wrong", REFUSED)
def test_what_is_wrong_is_told_and_changes_nothing(delivered, wrong):
    arguments, reason = REFUSED[wrong]
    done = _replay(delivered, *arguments)
    assert done.returncode == 2 and reason in done.stderr, done.stderr
    assert delivered.sql("SELECT count(*) FROM walpost.replay") == [(0,)] and _again(delivered) == []


@pytest.mark.parametrize("count, names", [(2, "(public.outbox, public.a1, public.a2)"), (60, ", public.a9, ")])
def test_of_several_outboxes_those_to_choose_from_are_named(delivered, count, names):
    done = _replay(delivered, "--id", "1", changes={f"outbox.a{i}.table": f"public.a{i}" for i in range(1, count + 1)})
    assert done.returncode == 2 and names in done.stderr and done.stderr.count("public.a1,") == 1, done.stderr
    assert (", ...)" in done.stderr) == (count > 2)


MEMBERS = {"outbox.column.key": "payload->>n", "outbox.column.type": "payload->>n",
           "outbox.column.payload": "payload->n"}


@pytest.mark.parametrize("choice, option", [("--key", "outbox.column.key"), ("--type", "outbox.column.type")])
def test_a_member_of_a_column_cannot_be_chosen_by_and_where_is_named(delivered, choice, option):
    done = _replay(delivered, choice, "1", changes={option: MEMBERS[option]})
    assert done.returncode == 2, done.stdout
    assert f"{choice}: {option} = {MEMBERS[option]} is a member of a column. Use --where" in done.stderr
    assert delivered.sql("SELECT count(*) FROM walpost.replay") == [(0,)] and _again(delivered) == []


def test_rows_are_sent_again_with_the_members_of_their_columns(delivered):
    (relay,) = delivered.relays
    relay.reload(delivered.config(MEMBERS))
    done = _replay(delivered, "--where", "payload->>'n' = '7'", changes=MEMBERS)
    assert done.returncode == 0, done.stderr
    (message,) = [m for m in delivered.read() if _header(m, "walpost-reissued") is not None]
    assert (message.key, message.value, _header(message, "type")) == (b"7", b"7", b"7")


def test_without_the_table_and_without_the_right_the_cure_is_named(delivered):
    stage = delivered
    with passing_role(stage, f"replayer_{stage.slot}", "LOGIN IN ROLE pg_read_all_stats") as role:
        stage.sql(f"GRANT USAGE ON SCHEMA walpost TO {identifier(role)}; "
                  f"GRANT SELECT ON {stage.table} TO {identifier(role)}")
        done = _replay(stage, *ANY, changes={"postgres.conninfo": stage.postgres.conninfo(stage.database, user=role)})
        assert done.returncode == 2 and "GRANT SELECT, INSERT, UPDATE ON walpost.replay" in done.stderr, done.stderr
    stage.sql("DROP TABLE walpost.replay")
    done = _replay(stage)
    assert done.returncode == 2 and "table walpost.replay is missing in database" in done.stderr
