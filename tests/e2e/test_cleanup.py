"""Cleanup: rows whose events are in Kafka go; a row whose event is not there stays, whatever happens."""

import json

import pytest

from lib import places, process
from lib.relay import run_command
from lib.sql_scripts import run_script, slot_accept

CLEANED = """
    id            uuid         NOT NULL PRIMARY KEY DEFAULT gen_random_uuid(),
    aggregatetype varchar(255) NOT NULL DEFAULT 'order',
    aggregateid   varchar(255) DEFAULT '1',
    type          varchar(255) NOT NULL DEFAULT 'created',
    payload       jsonb,
    created_at    timestamptz  DEFAULT clock_timestamp(),
    processed_at  timestamptz
"""
SETTINGS = {"cleanup.mode": "delete", "cleanup.keep": "0s", "cleanup.interval": "100ms", "cleanup.pause": "0s",
            "cleanup.batch": "1000", "outbox.column.inserted": "created_at"}
SCRIPT = places.TREE / "sql" / "cleanup.sql"
WAIT = 30


def prepare(stage, table=CLEANED, rest="", options="publish = 'insert'", slot=True):
    """The outbox, and what remembers all that was ever in it and when it left."""
    for script in ("slot_checkpoint.sql", "parked.sql", "cleanup.sql"):
        stage.sql((places.TREE / "sql" / script).read_text())
    stage.sql(f"CREATE TABLE outbox ({table}) {rest}")
    stage.sql("""CREATE TABLE removed (id uuid, at timestamptz); CREATE INDEX ON removed (id);
        CREATE FUNCTION remember() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
            -- A row that moves to another partition is deleted and inserted.
            IF TG_OP = 'INSERT' THEN DELETE FROM public.removed WHERE id = NEW.id;
            ELSIF TG_OP = 'DELETE' THEN INSERT INTO public.removed VALUES (OLD.id, clock_timestamp());
            ELSIF NEW.processed_at IS NOT NULL AND OLD.processed_at IS NULL THEN
                INSERT INTO public.removed VALUES (NEW.id, clock_timestamp()); END IF;
            RETURN NULL; END $$""")
    stage.sql("""CREATE TRIGGER remember AFTER INSERT OR UPDATE OR DELETE ON outbox
        FOR EACH ROW EXECUTE FUNCTION remember()""")
    stage.sql("CREATE INDEX ON outbox (created_at)")
    stage.publish("outbox", options=options)
    stage.create_topic(**{"message.timestamp.type": "LogAppendTime"})
    if slot:
        stage.create_slot(with_truth=False)


def insert(stage, count=1, connection=None, **columns):
    """Returns their ids."""
    names = "".join(f", {name}" for name in columns)
    values = "".join(", %s" for _ in columns)
    statement = f"""INSERT INTO outbox (payload{names}) SELECT to_jsonb(n){values} FROM generate_series(1, %s) n
        RETURNING id"""
    parameters = (*columns.values(), count)
    rows = connection.execute(statement, parameters).fetchall() if connection else stage.sql(statement, parameters)
    return {str(id) for (id,) in rows}


def present(stage):
    return {str(id) for (id,) in stage.sql("SELECT id FROM outbox")}


def check_removed(stage):
    """Each was in Kafka when it was removed. Returns how many there were."""
    arrived = {}
    for message in stage.read():
        arrived.setdefault(message.id, message.timestamp_ms)
    removed = stage.sql("SELECT id::text, 1000 * extract(epoch FROM at)::float FROM removed")
    for id, at in removed:
        assert id in arrived, f"{id} was removed, and is not in Kafka"
        assert arrived[id] <= at + 1, f"{id} was removed {arrived[id] - at} ms before it was in Kafka"
    return len(removed)


def wait_floor(stage, relay, column="created_at"):
    """Until it is known, as things are now; on PostgreSQL 14 that of a partition may wait for the next relay."""
    known = """SELECT EXISTS (SELECT FROM walpost.cleanup_floor f, walpost.cleanup_generation(%s, %s, 'outbox', %s) g
            WHERE f.outbox = f.leaf AND f.wait_for IS NULL AND f.generation = g.generation)
        AND NOT EXISTS (SELECT FROM walpost.cleanup_leaves('outbox') l LEFT JOIN walpost.cleanup_floor f
            ON f.leaf = l.leaf AND f.generation = l.attachment WHERE f.leaf IS NULL)"""
    relay.wait_until(lambda: stage.sql(known, (stage.slot, stage.publication, column)) == [(True,)], WAIT,
                     "the floor is known")


def wait_gone(stage, relay, ids):
    relay.wait_until(lambda: not present(stage) & ids, WAIT, "the rows are removed")


def relay_with(stage, changes=None, **options):
    return stage.relay({**SETTINGS, **(changes or {})}, **options)


def wait_two_rounds(stage, relay):
    """What could be removed is: a row that is written now is."""
    for _ in range(2):
        wait_gone(stage, relay, insert(stage))


@pytest.fixture
def empty(make_stage):
    return make_stage(set_up=False)


@pytest.mark.on("all")
def test_rows_go_once_their_events_are_in_kafka_and_older_ones_stay(empty):
    stage = empty
    prepare(stage)
    before = insert(stage, 3)
    relay = relay_with(stage, {"http.listen": "127.0.0.1:0"})
    wait_floor(stage, relay)
    young = insert(stage, 2, created_at="2999-01-01")
    untimed = insert(stage, 1, created_at=None)
    wait_gone(stage, relay, insert(stage, 5000))
    wait_two_rounds(stage, relay)
    assert present(stage) == before | young | untimed
    assert check_removed(stage) == 5002


@pytest.mark.on("all")
def test_a_row_waits_for_kafka(empty):
    stage = empty
    prepare(stage)
    relay = relay_with(stage)
    wait_floor(stage, relay)
    waiting = insert(stage, 3, aggregatetype="missing")
    relay.wait_until(lambda: relay.log("topic_waiting"), WAIT, "it waits for the topic")
    behind = insert(stage, 3)
    with stage.connect() as watcher:
        watcher.execute("SELECT pg_sleep(1)")  # ten looks
    assert present(stage) >= waiting | behind
    stage.create_topic("missing")
    wait_gone(stage, relay, waiting | behind)


@pytest.mark.on("all")
def test_what_was_never_streamed_stays(empty):
    stage = empty
    prepare(stage)
    relay = relay_with(stage)
    wait_floor(stage, relay)
    wait_two_rounds(stage, relay)
    # Out of the publication and back: what was written meanwhile is in no stream.
    with process.held(relay.pid):  # for it would stop, if it saw the table away twice
        stage.sql(f"ALTER PUBLICATION {stage.publication} DROP TABLE outbox")
        unpublished = insert(stage, 3)
        long = stage.connect()
        long.execute("BEGIN")
        late = insert(stage, 2, long)
        stage.sql(f"ALTER PUBLICATION {stage.publication} ADD TABLE outbox")
    published = insert(stage, 3)
    relay.wait_until(lambda: "event=cleanup_waits" in relay.log_text(), WAIT, "it waits for the transaction")
    assert published <= present(stage)
    long.execute("COMMIT")
    long.close()
    wait_floor(stage, relay)
    wait_two_rounds(stage, relay)
    assert present(stage) == unpublished | late | published
    # Behind a slot that was made anew, and accepted.
    relay.stop()
    skipped = insert(stage, 4)
    stage.sql("SELECT pg_drop_replication_slot(%s)", (stage.slot,))
    stage.create_slot(with_truth=False)
    assert slot_accept(stage).returncode == 0
    relay = relay_with(stage)
    wait_floor(stage, relay)
    wait_two_rounds(stage, relay)
    assert present(stage) == unpublished | late | published | skipped
    # Passed over by hand.
    relay.stop()
    given_up = insert(stage, 2)
    to = stage.sql("SELECT pg_current_wal_insert_lsn()::text")[0][0]
    insert(stage, 1)
    done = run_command("slot", "skip", "--to", to, "--force", "-c", relay.config_file)
    assert done.returncode == 0, done.stderr
    relay = relay_with(stage)
    wait_floor(stage, relay)
    wait_two_rounds(stage, relay)
    stay = unpublished | late | published | skipped | given_up
    assert present(stage) >= stay and len(present(stage)) == len(stay) + 1
    check_removed(stage)


@pytest.mark.on("all")
def test_rows_are_marked_and_stay(empty):
    stage = empty
    prepare(stage)
    relay = relay_with(stage, {"cleanup.mode": "mark", "outbox.column.processed": "processed_at"})
    wait_floor(stage, relay)
    ids = insert(stage, 10)
    done = "SELECT count(*) FROM outbox WHERE processed_at IS NOT NULL"
    relay.wait_until(lambda: stage.sql(done) == [(10,)], WAIT, "they are marked")
    first = stage.sql("SELECT max(processed_at) FROM outbox")
    relay.wait_until(lambda: insert(stage) and stage.sql(done)[0][0] > 15, WAIT, "more are marked")
    assert ids <= present(stage)
    assert stage.sql("SELECT max(processed_at) FROM outbox WHERE id = ANY (%s)", (list(ids),)) == first
    stage.wait_all_confirmed(relay=relay)
    sent = [message.id for message in stage.read()]
    assert len(sent) == len(set(sent))
    check_removed(stage)


def test_a_column_of_a_partition_key_is_not_marked(empty):
    stage = empty
    columns = CLEANED.replace("PRIMARY KEY ", "").replace("processed_at  timestamptz", "processed_at boolean")
    prepare(stage, columns, "PARTITION BY LIST (processed_at)", "publish = 'insert', publish_via_partition_root")
    stage.sql("CREATE TABLE fresh PARTITION OF outbox FOR VALUES IN (NULL)")
    stage.sql("CREATE TABLE done PARTITION OF outbox FOR VALUES IN (true)")
    relay = relay_with(stage, {"cleanup.mode": "mark", "outbox.column.processed": "processed_at"})
    insert(stage, 3)
    line = relay.wait_log("cleanup_unavailable")
    assert "a row that moves is sent again" in relay.log_text(), line
    assert stage.sql("SELECT count(*) FROM done") == [(0,)]


@pytest.mark.on("all")
def test_a_partition_that_came_with_rows_keeps_them(empty, version):
    stage = empty
    columns = CLEANED.replace("PRIMARY KEY ", "")
    prepare(stage, columns, "PARTITION BY LIST (aggregateid)", "publish = 'insert', publish_via_partition_root")
    stage.sql("CREATE TABLE one PARTITION OF outbox FOR VALUES IN ('1')")
    relay = relay_with(stage)
    wait_floor(stage, relay)
    wait_two_rounds(stage, relay)
    stage.sql("CREATE TABLE two (LIKE outbox INCLUDING DEFAULTS)")
    old = stage.sql("""INSERT INTO two (aggregateid, created_at) VALUES ('2', '2020-01-01'), ('2', now())
        RETURNING id::text""")
    stage.sql("ALTER TABLE outbox ATTACH PARTITION two FOR VALUES IN ('2')")
    stage.sql("CREATE TABLE three PARTITION OF outbox FOR VALUES IN ('3', '4')")
    floors = "SELECT count(*) FROM walpost.cleanup_floor"
    relay.wait_until(lambda: stage.sql(floors) == [(4,)], WAIT, "all have a floor")
    kept = {id for (id,) in old}
    if version == "14":
        # It knows the table as one that is not published, and goes on so: these events are lost.
        kept |= insert(stage, 3, aggregateid="2")
        wait_two_rounds(stage, relay)
        relay.stop()
        relay = relay_with(stage)
        relay.wait_until(lambda: stage.sql(floors + " WHERE wait_for IS NULL") == [(4,)], WAIT, "all have a floor")
    ids = insert(stage, 3, aggregateid="2") | insert(stage, 3, aggregateid="3")
    wait_gone(stage, relay, ids)
    # A row that moves to another partition is an event again.
    moved = insert(stage, 1, aggregateid="1", created_at="2999-01-01")
    stage.wait_all_confirmed(relay=relay)
    stage.sql("UPDATE outbox SET aggregateid = '3' WHERE id = ANY (%s::uuid[])", (list(moved),))
    wait_two_rounds(stage, relay)
    assert present(stage) == kept | moved
    check_removed(stage)


@pytest.mark.on("all")
def test_parked_rows_stay(empty):
    stage = empty
    prepare(stage)
    relay = relay_with(stage, {"relay.poison": "park", "park.retry.first": "24h", "park.retry.max": "24h"})
    wait_floor(stage, relay)
    parked = insert(stage, 1, aggregatetype="no/topic") | insert(stage, 2, aggregatetype="no/topic")
    wait_gone(stage, relay, insert(stage, 5, aggregateid="2"))
    relay.wait_until(lambda: stage.sql("SELECT count(*) FROM walpost.parked") == [(3,)], WAIT, "three are parked")
    wait_gone(stage, relay, insert(stage, 1, aggregateid="3"))
    assert present(stage) == parked
    check_removed(stage)


@pytest.mark.on("all")
def test_who_may_not_delete_is_told_how_to(empty):
    stage = empty
    prepare(stage)
    role = stage.name + "_relay"
    stage.sql(f"CREATE ROLE {role} LOGIN REPLICATION")
    try:
        assert run_script(stage, "grants.sql", role=role).returncode == 0
        relay = relay_with(stage, {"postgres.conninfo": stage.postgres.conninfo(stage.database, user=role)})
        relay.wait_log("cleanup_unavailable")
        assert "permission denied for table outbox" in relay.log_text()
        assert "grant it USAGE on the schema" in relay.log_text() and "SELECT and DELETE" in relay.log_text()
        stage.sql(f"GRANT SELECT, DELETE ON outbox TO {role}")
        stage.sql(f"GRANT SELECT, INSERT, DELETE ON removed TO {role}")
        relay.wait_log("cleanup_resumed", 60)
        wait_floor(stage, relay)
        wait_two_rounds(stage, relay)
        relay.stop()
    finally:
        stage.sql(f"DROP OWNED BY {role}; DROP ROLE {role}")


def test_who_may_not_use_the_schema_is_told_so_by_check_and_by_the_command(empty):
    stage = empty
    role = f"{stage.name}_relay"
    stage.sql(f"""CREATE SCHEMA "Sales"; CREATE ROLE {role} LOGIN REPLICATION;
        CREATE TABLE "Sales".outbox ({CLEANED})""")
    changes = {**SETTINGS, "outbox.table": '"Sales".outbox'}
    made = run_command("init", "-c", stage.new_relay(changes).config_file, "--role", role)
    assert made.returncode == 0, made.stderr
    stage.sql(f'GRANT SELECT, DELETE ON "Sales".outbox TO {role}')
    changes["postgres.conninfo"] = stage.postgres.conninfo(stage.database, user=role)
    config = stage.new_relay(changes).config_file
    grant = f"""GRANT USAGE ON SCHEMA "Sales" TO {role};
GRANT SELECT, DELETE ON "Sales".outbox TO {role};
GRANT USAGE ON SCHEMA walpost TO {role};
GRANT SELECT, INSERT, UPDATE ON walpost.cleanup_floor TO {role};"""
    try:
        found = json.loads(run_command("check", "--json", "-c", config).stdout)
        (finding,) = [finding for finding in found if finding["name"] == "cleanup"]
        assert (finding["level"], finding["cure"]) == ("fail", grant), finding
        ran = run_command("cleanup", "-c", config)
        assert ran.returncode == 2 and f'GRANT USAGE ON SCHEMA "Sales" TO "{role}"' in ran.stderr, ran.stderr
        stage.sql(grant)
        assert run_command("cleanup", "-c", config).returncode == 0
    finally:
        stage.sql(f"DROP OWNED BY {role}; DROP ROLE {role}")


def cleanup(relay, *arguments):
    ran = run_command("cleanup", "--json", *arguments, "-c", relay.config_file)
    assert ran.stdout, ran.stderr
    return ran, json.loads(ran.stdout)


@pytest.mark.on("all")
def test_the_command_tells_why_rows_stay_and_lets_go_what_it_proves(empty):
    stage = empty
    prepare(stage)
    before = insert(stage, 4)
    relay = relay_with(stage)
    wait_floor(stage, relay)
    insert(stage, 2, created_at="2999-01-01")
    insert(stage, 1, created_at=None)
    wait_two_rounds(stage, relay)
    stage.wait_all_confirmed(relay=relay)
    ran, (of,) = cleanup(relay)
    assert ran.returncode == 0, ran.stderr
    assert of["rows"] == {"unproved": 4, "young": 2, "untimed": 1} and of["floor_known"] and of["refusal"] == ""
    text = run_command("cleanup", "-c", relay.config_file).stdout
    assert "4  not known to be in Kafka" in text and "--release" in text and "7 min" not in text
    ran, (of,) = cleanup(relay, "--release")
    assert ran.returncode == 0 and of["released"] and of["missing"] == 0, ran.stdout + ran.stderr
    wait_gone(stage, relay, before)
    check_removed(stage)
    # What Kafka lacks is not let go. (A time in the future would raise the floor to it.)
    stage.sql("DELETE FROM outbox WHERE created_at > now()")
    relay.stop()
    lost = insert(stage, 2)
    stage.sql("SELECT pg_drop_replication_slot(%s)", (stage.slot,))
    stage.create_slot(with_truth=False)
    assert slot_accept(stage).returncode == 0
    relay = relay_with(stage)
    wait_floor(stage, relay)
    ran, (of,) = cleanup(relay, "--release")
    assert ran.returncode == 1 and not of["released"] and of["missing"] == 2, ran.stdout + ran.stderr
    wait_two_rounds(stage, relay)
    assert lost <= present(stage)


RANGES = ("PARTITION BY RANGE (created_at)", "publish = 'insert', publish_via_partition_root")
DROPPING = {"cleanup.mode": "drop-partitions", "cleanup.keep": "24h", "cleanup.partitions.ahead": "2"}


def partitions(stage):
    return {name for (name,) in stage.sql("SELECT inhrelid::regclass::text FROM pg_inherits WHERE inhparent = "
                                          "to_regclass('outbox')")}


def make_days(stage, *days):
    for day in days:
        first, behind = stage.sql("SELECT date_trunc('day', now()) - %s * interval '1 day', "
                                  "date_trunc('day', now()) - %s * interval '1 day'", (day, day - 1))[0]
        stage.sql(f"CREATE TABLE day{day} PARTITION OF outbox FOR VALUES FROM ('{first}') TO ('{behind}')")


def insert_at(stage, day, count=1, **columns):
    at = stage.sql("SELECT date_trunc('day', now()) - %s * interval '1 day' + interval '1 h'", (day,))[0][0]
    return insert(stage, count, created_at=at, **columns)


@pytest.mark.on("all")
def test_old_partitions_are_dropped_once_all_is_in_kafka_and_new_ones_are_made(empty):
    stage = empty
    prepare(stage, CLEANED.replace("PRIMARY KEY ", ""), *RANGES)
    make_days(stage, 6, 5, 4, 0)
    unproved = insert_at(stage, 6, 2)
    relay = relay_with(stage, {"cleanup.keep": "24h"})
    wait_floor(stage, relay)
    relay.stop()
    waiting = insert_at(stage, 5, 2, aggregatetype="missing")
    insert_at(stage, 4, 50)
    fresh = insert_at(stage, 0, 2)
    relay = relay_with(stage, DROPPING)
    relay.wait_until(lambda: stage.sql("SELECT leaf::text FROM walpost.cleanup_detached") == [("day5",)], WAIT,
                     "the oldest that may go is detached")
    relay.kill()
    assert stage.sql("SELECT count(*) FROM day5") == [(2,)] and {"day6", "day4", "day0"} < partitions(stage)
    stage.wait_released()
    relay = relay_with(stage, DROPPING)
    relay.wait_until(lambda: relay.log("topic_waiting"), WAIT, "it waits for the topic")
    with stage.connect() as watcher:
        watcher.execute("SELECT pg_sleep(1)")
    assert stage.sql("SELECT count(*) FROM day5") == [(2,)]
    stage.create_topic("missing")
    gone = "SELECT to_regclass('day5') IS NULL AND to_regclass('day4') IS NULL"
    relay.wait_until(lambda: stage.sql(gone) == [(True,)], WAIT, "both are dropped")
    relay.wait_until(lambda: stage.sql("SELECT * FROM walpost.cleanup_detached") == [], WAIT, "that is written down")
    stage.wait_all_confirmed(relay=relay)
    assert waiting == {message.id for message in stage.read("missing")} and len(stage.read()) >= 52
    assert "day6" in partitions(stage) and present(stage) == unproved | fresh
    assert len(partitions(stage) - {"day6", "day0"}) == 2
    insert_at(stage, -2)


def test_the_outbox_of_the_script_is_cleaned_by_partitions(empty):
    stage = empty
    stage.sql((places.TREE / "sql" / "outbox_partitioned.sql").read_text())
    relay = stage.new_relay({**SETTINGS, **DROPPING})
    made = run_command("init", "-c", relay.config_file)
    assert made.returncode == 0, made.stderr

    def finding():
        found = json.loads(run_command("check", "--json", "-c", relay.config_file).stdout)
        return [f for f in found if f["name"] == "cleanup"][0]

    assert finding()["level"] == "ok", finding()
    stage.sql("CREATE TABLE outbox_rest PARTITION OF outbox DEFAULT")
    stage.sql("INSERT INTO outbox VALUES (gen_random_uuid(), 'order', '1', 't', NULL, '2001-01-01')")
    assert finding()["level"] == "warn" and "the default partition public.outbox_rest" in finding()["what"]


@pytest.mark.on("all")
def test_check_judges_rights_index_and_autovacuum(empty):
    stage = empty
    prepare(stage)
    role = stage.name + "_relay"
    stage.sql(f"CREATE ROLE {role} LOGIN REPLICATION")
    relay = stage.new_relay({**SETTINGS, "postgres.conninfo": stage.postgres.conninfo(stage.database, user=role)})
    marks = stage.new_relay({**SETTINGS, "cleanup.mode": "mark", "outbox.column.processed": "processed_at"})

    def finding(of=relay):
        found = json.loads(run_command("check", "--json", "-c", of.config_file).stdout)
        return [f for f in found if f["name"] == "cleanup"][0]

    try:
        assert run_script(stage, "grants.sql", role=role).returncode == 0
        stage.sql(f"GRANT SELECT (id, created_at), DELETE ON outbox TO {role}")
        assert finding()["level"] == "fail" and "may not remove rows" in finding()["what"]
        stage.sql(finding()["cure"])
        assert finding()["level"] == "ok", finding()
        stage.sql("DROP INDEX outbox_created_at_idx")
        assert finding()["level"] == "warn" and "no index that begins with created_at" in finding()["what"]
        stage.sql(finding()["cure"])
        assert finding()["level"] == "ok", finding()
        assert "created_at WHERE processed_at IS NULL" in finding(marks)["what"]
        stage.sql(finding(marks)["cure"])
        assert finding(marks)["level"] == "ok"
        stage.sql("ALTER TABLE outbox SET (autovacuum_enabled = off)")
        assert finding()["level"] == "warn" and "autovacuum is off" in finding()["what"]
        for older in ("CREATE OR REPLACE FUNCTION walpost.cleanup_forget() RETURNS trigger LANGUAGE plpgsql AS "
                      "'BEGIN RETURN NULL; END'", "DROP FUNCTION walpost.cleanup_remove_partition"):
            stage.sql(older)
            assert finding()["level"] == "fail" and "sql/cleanup.sql" in finding()["cure"]
            made = run_command("init", "-c", marks.config_file)
            assert "functions of cleanup walpost.cleanup_floor: created" in made.stdout, made
            assert finding()["level"] == "warn" and "autovacuum is off" in finding()["what"]
    finally:
        stage.sql(f"DROP OWNED BY {role}; DROP ROLE {role}")
