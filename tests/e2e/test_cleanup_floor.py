"""Cleanup's floor: whatever may have kept a row out of the stream between two looks raises it, and the row stays."""

import pytest

from e2e.test_cleanup import (
    CLEANED, RANGES, SCRIPT, SETTINGS, WAIT, insert, insert_at, make_days, prepare, present, relay_with, wait_floor,
    wait_gone, wait_two_rounds,
)
from e2e.test_failover_slot import pair  # noqa: F401 - a fixture
from lib import process
from lib.relay import run_command
from lib.sql_scripts import slot_accept
from lib.waiting import wait_until

KEYED = ("PARTITION BY LIST (aggregateid)", *RANGES[1:])
SLOWLY = {"cleanup.interval": "2s"}  # so that all is done between two looks


@pytest.fixture
def stage(make_stage):
    return make_stage(set_up=False)


def advance(stage):
    """What is there now is never streamed."""
    stage.sql("SELECT pg_replication_slot_advance(%s, pg_current_wal_insert_lsn())", (stage.slot,))


def cleaning(stage, changes=None):
    relay = relay_with(stage, changes)
    wait_floor(stage, relay)
    wait_two_rounds(stage, relay)
    return relay


def check_stay(stage, relay, ids, column="created_at"):
    wait_floor(stage, relay, column)
    wait_two_rounds(stage, relay)
    assert ids <= present(stage)
    assert not ids & {message.id for message in stage.read()}


def partitions(stage, **more):
    prepare(stage, CLEANED.replace("PRIMARY KEY ", ""), *KEYED, **more)
    for name, key in (("one", "1"), ("two", "2")):
        stage.sql(f"CREATE TABLE {name} PARTITION OF outbox FOR VALUES IN ('{key}')")


def test_with_another_column_it_is_found_anew(stage):
    prepare(stage, CLEANED + ", sent_at timestamptz DEFAULT '2026-01-02'")
    insert(stage, 1, created_at="2020-01-01")
    advance(stage)
    old = present(stage)
    cleaning(stage).stop()
    stage.sql("CREATE INDEX ON outbox (sent_at)")
    stage.sql("ALTER TABLE outbox ALTER sent_at SET DEFAULT clock_timestamp()")
    check_stay(stage, relay_with(stage, {"outbox.column.inserted": "sent_at"}), old, "sent_at")


def test_so_it_is_with_a_column_that_was_dropped_and_added(stage):
    prepare(stage)
    old = insert(stage, 3)
    advance(stage)
    relay = cleaning(stage)
    stage.sql("ALTER TABLE outbox DROP created_at")
    stage.sql("ALTER TABLE outbox ADD created_at timestamptz DEFAULT now()")
    stage.sql("ALTER TABLE outbox ALTER created_at SET DEFAULT clock_timestamp()")
    stage.sql("CREATE INDEX ON outbox (created_at)")
    check_stay(stage, relay, old)


def test_so_it_is_with_another_type(stage):
    utc = "timestamp DEFAULT (clock_timestamp() AT TIME ZONE 'UTC' - interval '1 d')"
    prepare(stage, CLEANED.replace("timestamptz  DEFAULT clock_timestamp()", utc))
    old = insert(stage, 3)
    advance(stage)
    relay = cleaning(stage)
    with stage.connect() as connection:
        connection.execute("SET TimeZone = 'America/New_York'")
        connection.execute("ALTER TABLE outbox ALTER created_at TYPE timestamptz, "
                           "ALTER created_at SET DEFAULT clock_timestamp()")
    relay.wait_until(lambda: stage.sql("SELECT coalesce(max(created_at) < clock_timestamp(), true) FROM outbox")
                     == [(True,)], WAIT, "the clock is past all rows")
    check_stay(stage, relay, old)


def test_rows_of_a_partition_that_was_unlogged_stay(stage):
    partitions(stage)
    relay = cleaning(stage, SLOWLY)
    stage.sql("ALTER TABLE two SET UNLOGGED")
    lost = insert(stage, 3, aggregateid="2")
    stage.sql("ALTER TABLE two SET LOGGED")
    check_stay(stage, relay, lost)


@pytest.mark.on(since=15)
def test_rows_of_a_table_that_left_its_published_schema_stay(stage):
    prepare(stage)
    name = stage.publication
    stage.sql(f"DROP PUBLICATION {name}; CREATE SCHEMA away")
    stage.sql(f"CREATE PUBLICATION {name} FOR TABLES IN SCHEMA public WITH (publish = 'insert')")
    stage.sql("DROP TRIGGER remember ON outbox; DROP TABLE removed")
    stage.sql(f"ALTER DATABASE {stage.database} SET search_path = public, away")
    relay = cleaning(stage, SLOWLY)
    with process.held(relay.pid):  # for it would stop, if it saw the table away twice
        stage.sql("ALTER TABLE outbox SET SCHEMA away")
        with stage.connect() as connection:
            lost = insert(stage, 3, connection)
        stage.sql("ALTER TABLE outbox SET SCHEMA public")
    check_stay(stage, relay, lost)


def test_partitions_that_may_have_filters_of_their_own_are_left_alone(stage):
    partitions(stage)
    stage.sql(f"ALTER PUBLICATION {stage.publication} SET (publish_via_partition_root = false)")
    relay = relay_with(stage)
    ids = insert(stage, 3, aggregateid="2")
    relay.wait_log("cleanup_waits")
    assert "lacks publish_via_partition_root" in relay.log_text()
    stage.wait_all_confirmed(relay=relay)
    assert ids <= present(stage)


def test_a_parent_by_inheritance_publishes_nothing_and_a_child_hinders_nothing(stage):
    prepare(stage)
    stage.sql("CREATE TABLE base (LIKE outbox); ALTER TABLE outbox INHERIT base")
    stage.sql("CREATE UNLOGGED TABLE child () INHERITS (outbox)")
    stage.sql(f"ALTER PUBLICATION {stage.publication} ADD TABLE ONLY base")
    relays = []

    def cleanup_sees_it():
        """Before the relay does, which stops then."""
        stage.sql(f"ALTER PUBLICATION {stage.publication} ADD TABLE ONLY outbox")
        relays.append(cleaning(stage, {"outbox.ignore": "public.child"}))
        stage.sql(f"ALTER PUBLICATION {stage.publication} DROP TABLE ONLY outbox")
        wait_until(lambda: relays[-1].log("cleanup_waits") or not relays[-1].is_alive(), WAIT, "it is seen")
        return relays[-1].log("cleanup_waits")

    stage.sql(f"ALTER PUBLICATION {stage.publication} DROP TABLE ONLY outbox")
    wait_until(cleanup_sees_it, 120, "cleanup looks first")
    lost = insert(stage, 2)
    with stage.connect() as watcher:
        watcher.execute("SELECT pg_sleep(1)")
    assert lost <= present(stage)


def test_a_look_that_its_relay_does_not_wait_for_is_waited_for_by_skip(stage):
    prepare(stage)
    relay = relay_with(stage)
    wait_floor(stage, relay)
    relay.stop()
    stage.sql("DELETE FROM walpost.cleanup_floor")
    with stage.connect() as under_way:
        under_way.execute("BEGIN")
        under_way.execute("SELECT walpost.cleanup_look(%s, %s, 'outbox', 'created_at', 'id', NULL, '0s', 10)",
                          (stage.slot, stage.publication))
        lost = insert(stage, 3)
        to = stage.sql("SELECT pg_current_wal_insert_lsn()::text")[0][0]
        insert(stage, 1)
        # It moves the slot, and says that walpost.slot_checkpoint could not be written.
        done = run_command("slot", "skip", "--to", to, "--force", "-c", relay.config_file)
        assert done.returncode == 0, done.stderr
        assert "a lock of type advisory is locked by process" in done.stderr, done.stderr
        under_way.execute("COMMIT")
    assert slot_accept(stage).returncode == 0
    relay = relay_with(stage)
    wait_floor(stage, relay)
    wait_two_rounds(stage, relay)
    assert lost <= present(stage)


def unsent(stage, changes, **columns):
    """Events that a relay between two that clean confirms, and does not send."""
    prepare(stage)
    cleaning(stage).stop()
    relay = stage.relay(changes)
    ids = insert(stage, 3, **columns)
    stage.wait_all_confirmed(relay=relay)
    relay.stop()
    return ids


@pytest.mark.on("all")
@pytest.mark.parametrize("changes", [
    {"outbox.skip.types": "debug"},
    {"outbox.column.expires": "created_at"},
    {"relay.sink": "stdout"},
    {"outbox.table": "", "outbox.message.prefix": "outbox", "outbox.ignore": "public.outbox"},
], ids=["skipped", "expired", "printed", "ignored"])
def test_what_a_relay_confirmed_and_did_not_send_stays(stage, changes):
    ids = unsent(stage, changes, type="debug")
    check_stay(stage, relay_with(stage), ids)


def test_what_another_publication_left_out_stays(stage):
    prepare(stage, slot=False)
    stage.sql("CREATE TABLE different (LIKE outbox)")
    stage.sql("CREATE PUBLICATION another FOR TABLE different")
    stage.create_slot(with_truth=False)
    cleaning(stage).stop()
    ids = insert(stage, 3)
    stage.sql("ALTER PUBLICATION another ADD TABLE outbox")
    relay = stage.relay({"postgres.publication": "another", "outbox.ignore": "public.different"})
    stage.wait_all_confirmed(relay=relay)
    relay.stop()
    check_stay(stage, relay_with(stage), ids)


@pytest.mark.parametrize("dropped", ["error", "remove"])
def test_release_does_not_take_what_it_does_not_compare_for_delivered(stage, dropped):
    prepare(stage)
    old = insert(stage, 3, type="debug")
    advance(stage)
    cleaning(stage).stop()
    settings = {**SETTINGS, "cleanup.mode": "none", "outbox.skip.types": "debug", "cleanup.dropped": dropped}
    relay = stage.new_relay(settings)
    done = run_command("cleanup", "--release", "-c", relay.config_file)
    if dropped == "error":
        assert done.returncode == 1 and "not released: 3 rows" in done.stdout, done.stdout
        assert old <= present(stage)
    else:
        assert done.returncode == 0, done.stdout


def test_what_a_relay_that_cleans_drops_goes_if_that_is_said(stage):
    prepare(stage)
    dropping = {"outbox.skip.types": "debug", "cleanup.dropped": "remove"}
    cleaning(stage, dropping).stop()
    relay = relay_with(stage, dropping)
    wait_gone(stage, relay, insert(stage, 3, type="debug"))
    assert not stage.sql("SELECT FROM walpost.cleanup_floor WHERE floor IS NOT NULL")


def test_a_type_that_is_skipped_by_a_reload_is_one_of_them(stage):
    prepare(stage)
    cleaning(stage).stop()
    relay = stage.relay({})
    relay.reload(stage.config({"outbox.skip.types": "debug"}))
    ids = insert(stage, 3, type="debug")
    stage.wait_all_confirmed(relay=relay)
    relay.stop()
    check_stay(stage, relay_with(stage), ids)


@pytest.mark.on("all")
def test_a_partition_that_is_detached_keeps_what_was_skipped(stage):
    prepare(stage, CLEANED.replace("PRIMARY KEY ", ""), *RANGES)
    make_days(stage, 5, 0)
    dropping = {"cleanup.mode": "drop-partitions", "cleanup.keep": "24h"}
    relay = relay_with(stage, {"cleanup.keep": "24h"})
    wait_floor(stage, relay)
    relay.stop()
    lost = insert_at(stage, 5, 2, aggregatetype="missing")
    relay = relay_with(stage, dropping)
    relay.wait_until(lambda: stage.sql("SELECT leaf::text FROM walpost.cleanup_detached") == [("day5",)], WAIT,
                     "it is detached")
    relay.kill()
    stage.wait_released()
    to = stage.sql("SELECT pg_current_wal_insert_lsn()::text")[0][0]
    insert(stage)
    skipped = run_command("slot", "skip", "--to", to, "--force", "-c", relay.config_file)
    assert skipped.returncode == 0, skipped.stderr
    relay = relay_with(stage, dropping)
    relay.wait_log("cleanup_waits")
    assert "day5 was detached and has rows that are not known to be in Kafka" in relay.log_text()
    assert lost <= {str(id) for (id,) in stage.sql("SELECT id FROM day5")}


@pytest.mark.on("all")
def test_a_partition_that_is_made_filled_and_attached_at_once(stage):
    partitions(stage)
    relay = cleaning(stage)
    with stage.connect() as connection, connection.transaction():
        connection.execute("CREATE TABLE three (LIKE outbox INCLUDING DEFAULTS)")
        connection.execute("INSERT INTO three (aggregateid) VALUES ('3')")
        connection.execute("ALTER TABLE outbox ATTACH PARTITION three FOR VALUES IN ('3')")
    relay.wait_until(lambda: stage.sql("SELECT count(*) FROM walpost.cleanup_floor") == [(4,)], WAIT, "it has looked")
    ids = insert(stage, 3, aggregateid="3")
    stage.wait_all_confirmed(relay=relay)
    wait_two_rounds(stage, relay)
    gone = ids - present(stage)
    assert gone <= {message.id for message in stage.read()}


def test_one_outbox_that_fails_does_not_keep_another_from_its_turn(stage):
    prepare(stage)
    stage.sql("CREATE TABLE second (LIKE outbox INCLUDING ALL)")
    stage.sql(f"ALTER PUBLICATION {stage.publication} ADD TABLE second")
    relay = relay_with(stage, {
        "outbox.table": None, "outbox.column.inserted": None, "outbox.a.table": "public.outbox",
        "outbox.a.column.inserted": "created_at", "outbox.b.table": "public.second",
        "outbox.b.column.inserted": "created_at"})
    floors = "SELECT count(*) FROM walpost.cleanup_floor WHERE wait_for IS NULL"
    relay.wait_until(lambda: stage.sql(floors) == [(2,)], WAIT, "both floors are known")
    stage.sql("CREATE TABLE refs (id uuid REFERENCES outbox)")
    with stage.connect() as connection, connection.transaction():
        (id,) = insert(stage, 1, connection)
        connection.execute("INSERT INTO refs VALUES (%s)", (id,))
    relay.wait_log("cleanup_unavailable")
    stage.sql("INSERT INTO second DEFAULT VALUES")
    relay.wait_until(lambda: stage.sql("SELECT count(*) FROM second") == [(0,)], WAIT, "the other outbox is cleaned")


def test_a_parked_row_stays_when_another_column_is_the_id(stage):
    prepare(stage, CLEANED + ", other uuid DEFAULT gen_random_uuid()")
    park = {"relay.poison": "park", "park.retry.first": "24h", "park.retry.max": "24h"}
    relay = relay_with(stage, park)
    wait_floor(stage, relay)
    parked = insert(stage, 2, aggregatetype="no/topic")
    relay.wait_until(lambda: stage.sql("SELECT count(*) FROM walpost.parked") == [(2,)], WAIT, "two are parked")
    relay.reload(stage.config({**SETTINGS, **park, "outbox.column.id": "other"}))
    relay.wait_log("reloaded")
    later = insert(stage, 1, aggregateid="7")
    stage.wait_all_confirmed(relay=relay)
    with stage.connect() as watcher:
        watcher.execute("SELECT pg_sleep(1)")
    assert parked | later <= present(stage)
    stage.sql("DELETE FROM walpost.parked")  # as if they were delivered
    wait_gone(stage, relay, later)


def test_ids_that_are_used_again_do_not_fool_release(stage):
    columns = CLEANED.replace("uuid         NOT NULL PRIMARY KEY DEFAULT gen_random_uuid()", "bigserial PRIMARY KEY")
    prepare(stage, columns)
    stage.sql("DROP TRIGGER remember ON outbox")
    relay = relay_with(stage, {"cleanup.keep": "1h"})
    wait_floor(stage, relay)
    insert(stage, 3)
    stage.wait_all_confirmed(relay=relay)
    relay.stop()
    stage.sql("TRUNCATE outbox RESTART IDENTITY")
    stage.sql("INSERT INTO outbox (payload) SELECT '\"lost\"' FROM generate_series(1, 3)")
    stage.sql("SELECT pg_drop_replication_slot(%s)", (stage.slot,))
    stage.create_slot(with_truth=False)
    assert slot_accept(stage).returncode == 0
    relay = relay_with(stage)
    wait_floor(stage, relay)
    ran = run_command("cleanup", "--release", "-c", relay.config_file)
    assert ran.returncode == 1 and "not released: 3 rows" in ran.stdout, ran.stdout + ran.stderr
    wait_two_rounds(stage, relay)
    assert stage.sql("SELECT count(*) FROM outbox WHERE payload = '\"lost\"'") == [(3,)]


@pytest.mark.on(since=17)
def test_what_was_looked_at_before_a_failover_is_looked_at_again(pair, own_postgres):  # noqa: F811
    stage, standby, relay = pair
    relay.stop()
    stage.sql("ALTER TABLE outbox ADD IF NOT EXISTS created_at timestamptz DEFAULT clock_timestamp()")
    stage.sql(SCRIPT.read_text())
    relay = relay_with(stage, {"postgres.conninfo": (
        f"host=127.0.0.1,127.0.0.1 port={own_postgres.port},{standby.port} user=postgres dbname={stage.database} "
        "target_session_attrs=read-write")})
    wait_floor(stage, relay)
    gone = stage.insert("a")
    relay.wait_until(lambda: gone not in present(stage), WAIT, "the row is removed")
    standby.wait_synced(stage.slot)
    waiting = {stage.insert("a", topic="missing") for _ in range(3)}
    relay.wait_until(lambda: relay.log("topic_waiting"), WAIT, "it waits for the topic")
    standby.wait_caught_up()
    own_postgres.stop("immediate")
    standby.promote()
    with standby.connect(stage.database) as connection:
        def there():
            return {str(id) for (id,) in connection.execute("SELECT id FROM outbox").fetchall()}

        relay.wait_until(lambda: len(relay.log("streaming")) > 1, 60, "it streams from the new primary")
        connection.execute("SELECT pg_sleep(1)")
        assert waiting <= there()
        stage.create_topic("missing")
        relay.wait_until(lambda: not waiting & there(), 60, "the rows are removed")
    assert waiting <= {message.id for message in stage.read("missing")}
    relay.stop()
