"""What sends rows again keeps the order of each key, also where rows do not lie in the order of their inserts."""

import json
import random
import string
import subprocess

import pytest

from e2e.test_backfill_recipes import Cure
from lib import backfill
from lib.process import wait_exit
from lib.relay import config_text, run_command
from lib.sql_scripts import run_script
from lib.waiting import wait_until

pytestmark = pytest.mark.on("all")
NOTHING = "table public.outbox: nothing says the order of its rows, and several of those to be sent have key W-1"
GIVE_UP = "reversed: --order-by none"


@pytest.fixture
def shop(stage):
    stage.create_topic(partitions=2)
    made = run_script(stage, "reissue.sql", options=["-v", "ON_ERROR_STOP=1"])
    assert made.returncode == 0, made.stderr
    return stage


def _noise(size):
    return json.dumps({"noise": "".join(random.choices(string.ascii_letters, k=size))})


def _lies(stage, key):
    rows = stage.sql(f"SELECT id FROM {stage.table} WHERE aggregateid = %s ORDER BY ctid", (key,))
    return [str(id) for (id,) in rows]


def _make_room(stage, before):
    """Until a row finds its place before that one: what another session may still see is not cleaned away."""
    def has_room():
        with stage.connect() as connection:
            connection.autocommit = True
            connection.execute(f"VACUUM {stage.table}")
        probe = stage.insert("filler")
        ((lies_before,),) = stage.sql(
            f"SELECT (SELECT ctid FROM {stage.table} WHERE id = %s) < (SELECT ctid FROM {stage.table} WHERE id = %s)",
            (probe, before))
        stage.sql(f"DELETE FROM {stage.table} WHERE id = %s", (probe,))
        return lies_before
    wait_until(has_room, 20, "the place of deleted rows is free")


def _scatter(stage, key="W-1"):
    """Six events of a key, of which the later three lie before the others: in the place of rows that were deleted."""
    filler = [stage.insert("filler") for _ in range(60)]
    rows = [stage.insert(key) for _ in range(3)]
    stage.sql(f"DELETE FROM {stage.table} WHERE id = ANY(%s::uuid[])", (filler,))
    _make_room(stage, rows[0])
    rows += [stage.insert(key) for _ in range(3)]
    lies = _lies(stage, key)
    assert sorted(lies) == sorted(rows) and lies != rows
    return rows


def _scatter_one_transaction(stage, key="W-1"):
    """Two events of a key with one now(), of which the second fits into a gap before the first."""
    stage.sql(f"ALTER TABLE {stage.table} ALTER payload SET STORAGE PLAIN, "
              "ADD created_at timestamptz NOT NULL DEFAULT now()")
    filler = [stage.insert("filler", _noise(1_000)) for _ in range(14)]
    stage.sql(f"DELETE FROM {stage.table} WHERE id = %s", (filler[0],))
    _make_room(stage, filler[1])
    with stage.transaction() as connection:
        rows = [stage.insert(key, _noise(size), connection=connection) for size in (7_800, 400)]
    lies = _lies(stage, key)
    assert lies == rows[::-1]
    return rows


def _ordered(stage):
    """A column that has the order, from the first row on."""
    stage.sql(f"ALTER TABLE {stage.table} ADD created_at timestamptz NOT NULL DEFAULT clock_timestamp()")


def _timed(stage):
    """A column that has the order, which nothing says."""
    stage.sql(f"ALTER TABLE {stage.table} ADD created_at timestamptz NOT NULL DEFAULT now()")


def _half_timed(stage, key="W-1"):
    """The rows from before a column was added have no value in it."""
    rows = [stage.insert(key) for _ in range(2)]
    stage.sql(f"ALTER TABLE {stage.table} ADD created_at timestamptz")
    stage.sql(f"ALTER TABLE {stage.table} ALTER created_at SET DEFAULT now()")
    return rows + [stage.insert(key) for _ in range(2)]


def _replay(stage, *arguments, changes=None):
    file = stage.folder / "replay.conf"
    file.write_text(config_text(stage.config(changes)))
    return run_command("replay", "start", "-c", file, *arguments)


def _again(stage):
    return [m.id for m in stage.read() if "walpost-reissued" in dict(m.headers)]


def _delivered(stage):
    relay = stage.relay()
    stage.wait_all_confirmed(30, relay)
    return relay


def _lose(stage):
    """No row of the table is in Kafka, and there is no slot."""
    backfill.drop_slot(stage)


# --- replay


def test_replay_refuses_several_rows_of_a_key_that_nothing_orders_and_sends_them_when_told_so(shop):
    rows = _scatter(shop)
    _delivered(shop)
    for words in ((), ("--key", "W-1"), ("--id", ",".join(rows[:2])), ("--dry-run",)):
        done = _replay(shop, *words)
        assert done.returncode == 2 and NOTHING in done.stderr, done
        assert "no column is a number or a time to give to --order-by" in done.stderr and GIVE_UP in done.stderr
    assert shop.sql("SELECT count(*) FROM walpost.replay") == [(0,)] and _again(shop) == []
    assert "in any order" in _replay(shop, "--dry-run", "--order-by", "none").stdout
    done = _replay(shop, "--order-by", "none")
    assert done.returncode == 0, done.stderr
    assert sorted(_again(shop)) == sorted(rows)


def test_replay_sends_rows_of_different_keys_without_an_order(shop):
    rows = _scatter(shop)
    others = [shop.insert(f"once-{n}") for n in range(5)] + [shop.insert(None)]
    changes = {"outbox.key.null": "allow"}
    relay = shop.relay(changes)
    shop.wait_all_confirmed(30, relay)
    done = _replay(shop, "--where", "o.aggregateid IS DISTINCT FROM 'W-1'", changes=changes)
    assert done.returncode == 0, done.stderr
    assert sorted(_again(shop)) == sorted(others)
    done = _replay(shop, "--id", f"{rows[1]},{others[0]}", changes=changes)
    assert done.returncode == 0, done.stderr
    assert sorted(_again(shop)) == sorted([*others, rows[1], others[0]])


@pytest.mark.parametrize("how", ["--order-by", "--time-column", "outbox.column.timestamp", "outbox.column.inserted",
                                 "identity", "clock_timestamp()"])
def test_replay_keeps_the_order_by_the_column_that_says_it(shop, how):
    if how == "identity":
        shop.sql(f"ALTER TABLE {shop.table} DROP CONSTRAINT outbox_pkey, ADD UNIQUE (id), "
                 "ADD n bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY")
    elif how == "clock_timestamp()":
        _ordered(shop)
    else:
        _timed(shop)
    rows = _scatter(shop)
    changes = {how: "created_at"} if how.startswith("outbox.") else None
    relay = shop.relay(changes)
    shop.wait_all_confirmed(30, relay)
    words = (how, "created_at") if how.startswith("--") else ()
    done = _replay(shop, *words, changes=changes)
    assert done.returncode == 0, done.stderr
    assert _again(shop) == rows and done.stderr == ""


def test_replay_names_the_candidates(shop):
    _timed(shop)
    _scatter(shop)
    _delivered(shop)
    done = _replay(shop)
    assert done.returncode == 2 and NOTHING in done.stderr
    assert "--order-by. Candidates: created_at. " in done.stderr and GIVE_UP in done.stderr


def test_replay_takes_rows_of_one_transaction_in_the_order_of_their_statements(shop):
    shop.sql(f"ALTER TABLE {shop.table} ADD created_at timestamptz NOT NULL DEFAULT now()")
    with shop.transaction() as connection:
        rows = [shop.insert("W-1", connection=connection) for _ in range(600)]
    _delivered(shop)
    done = _replay(shop, "--order-by", "created_at")
    assert done.returncode == 0, done.stderr
    assert _again(shop) == rows and done.stderr == ""


def test_replay_tells_rows_whose_order_is_not_known_and_takes_them_as_they_lie(shop):
    shop.sql(f"ALTER TABLE {shop.table} ADD created_at timestamptz NOT NULL DEFAULT now()")
    shop.insert("W-2")
    shop.insert_many(300, "W-1")
    _delivered(shop)
    done = _replay(shop, "--order-by", "created_at")
    assert done.returncode == 0, done.stderr
    assert "table public.outbox: 300 rows have the same created_at as another of the same key" in done.stderr
    lies = _lies(shop, "W-1")
    assert [id for id in _again(shop) if id in lies] == lies


def test_a_row_that_is_updated_while_others_of_its_time_are_sent_is_sent_or_told(shop):
    shop.sql(f"ALTER TABLE {shop.table} ADD created_at timestamptz NOT NULL DEFAULT now()")
    rows = []
    with shop.transaction() as connection:
        rows = [shop.insert("W-1", connection=connection) for _ in range(3)]
    relay = _delivered(shop)
    relay.stop()
    shop.sql("""CREATE FUNCTION moved() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
        PERFORM 1; PERFORM 2;
        UPDATE public.outbox SET type = 'moved' WHERE id = (SELECT id FROM public.outbox ORDER BY cmin::text::int DESC
            LIMIT 1); RETURN NULL; END $$""")
    shop.sql("CREATE TRIGGER moved AFTER INSERT ON walpost.replay EXECUTE FUNCTION moved()")
    relay.start()
    done = _replay(shop, "--order-by", "created_at")
    assert done.returncode == 0, done.stderr
    assert len(_again(shop)) == 3 or "were not sent: they were deleted or updated meanwhile" in done.stderr
    assert rows[-1] in _again(shop)


def test_replay_keeps_its_order_when_the_configuration_has_another_one_meanwhile(shop):
    _timed(shop)
    rows = _scatter(shop)
    relay = shop.relay({"outbox.column.timestamp": "created_at"})
    shop.wait_all_confirmed(30, relay)
    assert _replay(shop, changes={"outbox.column.timestamp": "created_at"}).returncode == 0
    ((chosen,),) = shop.sql("SELECT chosen FROM walpost.replay")
    assert chosen["order_by"] == "created_at"
    shop.sql("UPDATE walpost.replay SET state = 'running', sent = 0, last_key = NULL")
    file = shop.folder / "other.conf"
    file.write_text(config_text(shop.config()))
    assert run_command("replay", "resume", "-c", file, "1").returncode == 0
    assert _again(shop) == rows * 2


def test_a_key_in_a_member_of_a_column_counts_as_one(shop):
    changes = {"outbox.column.key": "payload->>n"}
    for n in (1, 2):
        shop.insert("a", json.dumps({"n": n}))
    relay = shop.relay(changes)
    shop.wait_all_confirmed(30, relay)
    done = _replay(shop, changes=changes)
    assert done.returncode == 2 and "several of those to be sent may have the same key; no column" in done.stderr
    done = _replay(shop, "--where", "payload->>'n' = '2'", changes=changes)
    assert done.returncode == 0, done.stderr
    assert len(_again(shop)) == 1


# --- backfill


def test_backfill_refuses_several_rows_of_a_key_that_nothing_orders_and_sends_them_when_told_so(shop):
    rows = _scatter(shop)
    _lose(shop)
    why = backfill.refused(backfill.run(shop, "--missing"))
    assert NOTHING in why and "no column is a number or a time to give to --order-by" in why and GIVE_UP in why
    backfill.no_slot_is_left(shop)
    assert backfill.sent(shop) == []
    said = backfill.done(backfill.run(shop, "--missing", "--order-by", "none"))
    assert "from table public.outbox, in any order\n" in said
    assert sorted(backfill.sent(shop)) == sorted(rows)


def test_backfill_sends_what_is_missing_of_different_keys_without_an_order(shop):
    rows = _scatter(shop)
    relay = _delivered(shop)
    relay.stop()
    _lose(shop)
    others = [shop.insert(f"once-{n}") for n in range(5)] + [shop.insert("W-1")]
    said = backfill.done(backfill.run(shop, "--missing"))
    assert "6 of 12 rows have no record in Kafka" in said and "in any order" in said
    assert set(backfill.sent(shop)) >= {*rows, *others}
    assert [m.id for m in shop.read() if m.key == b"W-1"][-1] == others[-1]


def test_backfill_keeps_the_order_by_the_column_that_says_it(shop):
    _timed(shop)
    rows = _scatter(shop)
    _lose(shop)
    why = backfill.refused(backfill.run(shop, "--missing"))
    assert NOTHING in why and "--order-by. Candidates: created_at. " in why
    ran = backfill.run(shop, "--missing", "--order-by", "created_at")
    assert "in the order of created_at" in backfill.done(ran) and backfill.complaints(ran) == ""
    assert backfill.sent(shop) == rows


def test_backfill_knows_the_time_of_the_insert(shop):
    """Also while a transaction of another database is open, for which the slot's creation waits."""
    _ordered(shop)
    rows = _scatter(shop)
    _lose(shop)
    with shop.postgres.connect() as other, other.transaction():
        other.execute("SELECT pg_current_xact_id()")
        began = backfill.start(shop, "--missing")
        said = began.stderr.readline()
    code = wait_exit(began, 240, "walpost backfill")
    ran = subprocess.CompletedProcess(began.args, code, began.stdout.read(), said + began.stderr.read())
    assert said.startswith("slot creation waits for these transactions to end")
    assert "in the order of created_at" in backfill.done(ran) and backfill.complaints(ran) == ""
    assert backfill.sent(shop) == rows


@pytest.mark.parametrize("option", ["outbox.column.timestamp", "outbox.column.inserted"])
def test_rows_without_a_value_have_no_place(shop, option):
    """Sorted by it they would come last."""
    rows = _half_timed(shop)
    changes = {option: "created_at"}
    done = _replay(shop, changes=changes)
    assert done.returncode == 2 and NOTHING in done.stderr
    done = _replay(shop, "--order-by", "created_at", changes=changes)
    assert done.returncode == 2 and "may be NULL" in done.stderr
    _lose(shop)
    why = backfill.refused(backfill.run(shop, "--missing", changes=changes))
    assert NOTHING in why
    why = backfill.refused(backfill.run(shop, "--missing", "--order-by", "created_at", changes=changes))
    assert "column created_at, which is to give the order of its rows, is NULL in a row of key W-1" in why
    backfill.no_slot_is_left(shop)
    assert backfill.sent(shop) == []
    shop.sql(f"DELETE FROM {shop.table} WHERE created_at IS NULL")
    backfill.done(backfill.run(shop, "--missing", "--order-by", "created_at", changes=changes))
    assert backfill.sent(shop) == rows[2:]


def test_a_delete_that_was_rolled_back_leaves_no_order(shop):
    _timed(shop)
    with shop.transaction() as connection:
        rows = [shop.insert("W-1", connection=connection) for _ in range(2)]
    with shop.connect() as connection:
        connection.execute("BEGIN; SELECT 1")
        connection.execute(f"DELETE FROM {shop.table} WHERE id = %s", (rows[1],))
        connection.execute("ROLLBACK")
    said = "2 rows have the same created_at as another of the same key"
    assert said in _replay(shop, "--order-by", "created_at", "--dry-run").stderr
    _lose(shop)
    ran = backfill.run(shop, "--order-by", "created_at")
    backfill.done(ran)
    assert "1 row has the same created_at as another of the same key" in ran.stderr


def test_backfill_takes_rows_of_one_transaction_in_the_order_of_their_statements(shop):
    rows = _scatter_one_transaction(shop)
    _lose(shop)
    ran = backfill.run(shop, "--order-by", "created_at", "--where", "aggregateid = 'W-1'")
    backfill.done(ran)
    assert backfill.sent(shop) == rows and backfill.complaints(ran) == ""


def test_backfill_tells_rows_whose_order_is_not_known(shop):
    shop.sql(f"ALTER TABLE {shop.table} ADD created_at timestamptz NOT NULL DEFAULT now()")
    shop.insert_many(10, "W-1")
    shop.insert_many(10, "a{0}")
    _lose(shop)
    ran = backfill.run(shop, "--missing", "--order-by", "created_at")
    backfill.done(ran)
    assert "walpost: table public.outbox: 9 rows have the same created_at as another of the same key" in ran.stderr


def test_a_column_that_is_named_none_is_the_column(shop):
    shop.sql(f'ALTER TABLE {shop.table} ADD "none" bigint GENERATED ALWAYS AS IDENTITY')
    rows = _scatter(shop)
    relay = _delivered(shop)
    assert _replay(shop, "--order-by", "none").returncode == 0
    assert _again(shop) == rows
    relay.stop()
    _lose(shop)
    said = backfill.done(backfill.run(shop, "--order-by", "none"))
    assert "in the order of none\n" in said
    assert backfill.sent(shop)[-6:] == rows


# --- the pages, to the letter


IDS = "walpost replay -c walpost.conf --id ID,ID,..."


def _lose_records(stage):
    """Kafka no longer has what was delivered."""
    relay = stage.relays[-1]
    relay.stop()
    stage.kafka.delete_topic(stage.topic())
    stage.create_topic(partitions=2)
    relay.start()
    stage.wait_streaming(relay)


def _missing(cure):
    command = "walpost diff -c walpost.conf --json"
    done = run_command(*cure.words(command), deadline=120)
    assert done.returncode == 1, done.stderr
    return ",".join(row["id"] for row in json.loads(done.stdout)["missing_rows"])


def test_events_that_are_missing_in_kafka(shop):
    _timed(shop)
    rows = _scatter(shop)
    _delivered(shop)
    _lose_records(shop)
    cure = Cure("resend.md", shop)
    ids = _missing(cure)
    words = [ids if word == "ID,ID,..." else word for word in cure.words(IDS)]
    done = run_command(*words)
    assert done.returncode == 2 and "--order-by. Candidates: created_at" in done.stderr
    cure.says("add `--order-by COLUMN`")
    assert "6 rows of public.outbox sent again" in backfill.done(run_command(*words, "--order-by", "created_at"))
    assert [m.id for m in shop.read()] == rows
    assert run_command(*cure.words("walpost diff -c walpost.conf --json")).returncode == 0


def test_events_of_different_keys_that_are_missing_in_kafka(shop):
    rows = [shop.insert(f"k{n}") for n in range(4)]
    _delivered(shop)
    _lose_records(shop)
    cure = Cure("resend.md", shop)
    words = [_missing(cure) if word == "ID,ID,..." else word for word in cure.words(IDS)]
    backfill.done(run_command(*words))
    assert sorted(m.id for m in shop.read()) == sorted(rows)
