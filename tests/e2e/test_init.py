"""walpost init: creates what is missing, in order, and only that."""

import contextlib
import json
import re
import signal
import subprocess
import threading

import psycopg
import pytest

from lib import places, process
from lib.administered import Administered
from lib.relay import binary, clean_environment
from lib.waiting import wait_until

pytestmark = pytest.mark.on("all")

REISSUE = places.TREE / "sql" / "reissue.sql"


@pytest.fixture
def make_database(house, version, folder):
    made = []

    def make(**more):
        made.append(Administered(house.postgres(version), folder, **more))
        made[-1].config["postgres.publication"] = made[-1].name
        return made[-1]

    yield make
    for database in made:
        database.server.wait_no_temporary_slots(database.name, 30)
        for (slot,) in database.sql("SELECT slot_name FROM pg_replication_slots WHERE database = current_database()"):
            database.sql("SELECT pg_drop_replication_slot(%s)", (slot,))
        database.server.query(f"DROP DATABASE {database.name} WITH (FORCE)")


@pytest.fixture
def database(make_database):
    return make_database()


def _catalog(database):
    """What there is, by name: columns, constraints, publication, slot."""
    return [database.sql(query) for query in (
        "SELECT attrelid::regclass::text, attname, format_type(atttypid, atttypmod), attnotnull FROM pg_attribute "
        "WHERE attrelid IN ('outbox'::regclass, 'walpost.slot_checkpoint'::regclass, to_regclass('walpost.reissue'), "
        "to_regclass('walpost.parked'), to_regclass('walpost.parking'), to_regclass('walpost.parked_acts'), "
        "to_regclass('walpost.scheduled'), to_regclass('walpost.cleanup_floor')) "
        "AND attnum > 0 ORDER BY 1, attnum",
        "SELECT indexdef FROM pg_indexes WHERE schemaname = 'walpost' ORDER BY 1",
        "SELECT conrelid::regclass::text, contype, pg_get_constraintdef(oid) FROM pg_constraint "
        "WHERE conrelid <> 0 ORDER BY 1, 3",
        "SELECT puballtables, pubinsert, pubupdate, pubdelete, pubtruncate, pubviaroot FROM pg_publication "
        "ORDER BY pubname = 'walpost_reissue'",
        "SELECT schemaname, tablename FROM pg_publication_tables ORDER BY 1, 2",
        "SELECT oid::regprocedure::text, prosecdef, proconfig FROM pg_proc "
        "WHERE pronamespace = 'walpost'::regnamespace ORDER BY 1",
        "SELECT plugin, slot_type, temporary, two_phase, to_jsonb(s)->>'failover' FROM pg_replication_slots s "
        "WHERE database = current_database() AND NOT temporary",  # that of a check that has just ended
    )]


def test_before_it_check_says_to_run_it_first(database):
    findings = database.check()
    assert findings["init"]["level"] == "fail" and "walpost init has not been run" in findings["init"]["what"]
    assert "run walpost init first" in findings["init"]["cure"]
    for name in ("table", "publication", "checkpoint"):
        assert findings[name]["cure"].startswith("-- create it with walpost init, or by hand:\n"), findings[name]
    assert findings["slot"]["cure"].endswith("-- for a first start: walpost init")
    shown = database.command("check").stdout
    assert shown.index("walpost init") < shown.index("there is no slot")
    database.init()
    assert not database.failures() and "init" not in database.check()


def test_everything_is_made_and_a_second_time_is_left_as_it_is(database):
    said = database.init().stdout.splitlines()
    assert [line.split(": ")[1].split(" at ")[0] for line in said] == ["created"] * 9
    first = _catalog(database)
    said = database.init().stdout.splitlines()
    assert [line.split(": ")[1] for line in said] == ["already exists"] * 9
    assert _catalog(database) == first
    assert not database.failures()


_WITHOUT_REISSUE = ("DROP PUBLICATION walpost_reissue; DROP TABLE walpost.reissue, walpost.dead_letters_retried; "
                    "DROP FUNCTION walpost.reissue, walpost.reissue_message")
_WITHOUT_SCHEDULE = ("DROP FUNCTION walpost.schedule, walpost.unschedule, walpost.schedule_refusal, walpost.move_one, "
                     "walpost.move_due, walpost.scheduled_state; DROP TABLE walpost.scheduled")
_WITHOUT_CLEANUP = ("DROP TABLE walpost.cleanup_floor; "
                    "DROP TRIGGER walpost_cleanup_forget ON walpost.slot_checkpoint; "
                    "DROP FUNCTION " + ", ".join("walpost.cleanup_" + name for name in (
                        "forget", "server", "generation", "leaves", "condition", "find_floor", "only", "look",
                        "remove", "report",
                        "floors", "release", "ranges", "make_partitions", "keeps", "look_partition",
                        "remove_partition"))
                    + "; DROP TABLE walpost.cleanup_detached")
_WITHOUT_PARKED = "DROP TABLE walpost.parked, walpost.parking, walpost.parked_acts"


def _as_an_earlier_walpost_left_it(database):
    database.init()
    database.sql(f"{_WITHOUT_REISSUE}; {_WITHOUT_PARKED}; {_WITHOUT_SCHEDULE}; {_WITHOUT_CLEANUP}")


def test_what_an_earlier_walpost_prepared_is_well_and_what_is_new_is_added(database):
    database.init()
    whole = _catalog(database)
    database.sql(_WITHOUT_REISSUE)
    finding = database.check()["reissue"]
    assert finding["level"] == "ok" and "run walpost init or sql/reissue.sql" in finding["what"]
    said = database.init().stdout.splitlines()
    assert "reissue table walpost.reissue: created" in said
    assert sum(line.endswith("already exists") for line in said) == 7
    assert _catalog(database) == whole
    assert database.check()["reissue"] == {**finding, "what": "walpost.reissue and its publication exist"}


def test_a_function_from_before_replay_to_another_topic_is_well_and_replaced(database):
    database.init()
    whole = _catalog(database)
    earlier = REISSUE.read_text().replace(",\n  topic text DEFAULT NULL", "").replace("reissue.topic", "NULL::text")
    database.sql("DROP FUNCTION walpost.reissue(text, regclass, anyelement, text, text, text)")
    assert database.psql(earlier).returncode == 0
    finding = database.check()["reissue"]
    assert finding["level"] == "ok" and "older than walpost replay --to-topic" in finding["what"]
    assert "reissue table walpost.reissue: created" in database.init().stdout.splitlines()
    assert _catalog(database) == whole
    assert "older" not in database.check()["reissue"]["what"]


@pytest.mark.parametrize("missing", ["walpost.parked, walpost.parking, walpost.parked_acts", "walpost.parked_acts"])
def test_tables_of_parked_events_are_added_as_a_whole(database, missing):
    database.init()
    whole = _catalog(database)
    database.sql(f"DROP TABLE {missing}")
    said = database.init().stdout.splitlines()
    assert "tables of parked events walpost.parked: created" in said
    assert sum(line.endswith("already exists") for line in said) == 8
    assert _catalog(database) == whole


@pytest.mark.parametrize("missing", ["walpost.dead_letters_retried", "walpost.replay"])
def test_the_tables_of_what_was_sent_again_are_added_beside_an_earlier_reissue(database, missing):
    database.init()
    whole = _catalog(database)
    database.sql(f"DROP TABLE {missing}")
    said = database.init().stdout.splitlines()
    assert "tables of retried dead letters and replays walpost.dead_letters_retried: created" in said
    assert sum(line.endswith("already exists") for line in said) == 8
    assert _catalog(database) == whole


def test_what_sends_events_later_is_added_as_a_whole(database):
    database.init()
    whole = _catalog(database)
    database.sql("DROP FUNCTION walpost.move_due")
    said = database.init().stdout.splitlines()
    assert "table of scheduled events walpost.scheduled: created" in said
    assert sum(line.endswith("already exists") for line in said) == 8
    assert _catalog(database) == whole


def test_what_removes_old_rows_is_added_as_a_whole(database):
    database.init()
    whole = _catalog(database)
    database.sql(_WITHOUT_CLEANUP)
    assert "functions of cleanup walpost.cleanup_floor: created" in database.init().stdout.splitlines()
    assert _catalog(database) == whole


def test_check_and_status_say_how_it_stands_with_scheduled_events(database):
    _as_an_earlier_walpost_left_it(database)
    assert "scheduled" not in database.check()
    assert json.loads(database.command("status", "--json").stdout)["scheduled_due"] is None
    database.init()
    finding = database.check()["scheduled"]
    assert finding["level"] == "ok" and "none is overdue" in finding["what"]
    for name, seconds, attempts in (("due", 3, 0), ("overdue", 60, 0), ("failed", 90, 2), ("future", -900, 0)):
        database.sql("INSERT INTO walpost.scheduled (deliver_at, outbox, \"row\", attempts, error, retry_at) VALUES "
                     "(now() - %s * interval '1 s', %s, '{}', %s, 'it does not fit', now() + interval '1 h')",
                     (seconds, name, attempts))
    not_overdue = "UPDATE walpost.scheduled SET deliver_at = now() WHERE outbox = 'due'"
    database.sql(not_overdue)
    finding = database.check()["scheduled"]
    assert finding["level"] == "warn" and "1 scheduled events or more are overdue" in finding["what"]
    database.sql(not_overdue)
    shown = json.loads(database.command("status", "--json").stdout)
    assert [shown[f"scheduled_{name}"] for name in ("due", "overdue", "failed")] == [2, 1, 1]
    assert 90 <= shown["seconds_since_due"] < 1000
    assert "; scheduled events: 1 overdue, 1 set aside, the oldest due for " in shown["means"]
    database.sql("DELETE FROM walpost.scheduled WHERE attempts = 0")
    finding = database.check()["scheduled"]
    assert finding["level"] == "warn" and "it does not fit" in finding["what"]
    role = f"relay_{database.name}"
    database.sql(f"CREATE ROLE {role} LOGIN REPLICATION; GRANT USAGE ON SCHEMA walpost TO {role}; "
                 f"GRANT SELECT, INSERT, UPDATE ON walpost.slot_checkpoint TO {role}")
    database.config["postgres.conninfo"] = database.server.conninfo(database.name, user=role)
    finding = database.check()["scheduled"]
    assert finding["level"] == "warn" and "may not execute walpost.move_due()" in finding["what"]
    database.apply(finding)
    assert "set aside" in database.check()["scheduled"]["what"]
    database.sql(f"ALTER TABLE outbox OWNER TO {role}; DELETE FROM walpost.scheduled")
    with pytest.raises(psycopg.Error, match="whose triggers would run as postgres"):
        database.sql("SELECT walpost.schedule(now(), 'outbox', '{}')")
    database.sql(f"REASSIGN OWNED BY {role} TO postgres; DROP OWNED BY {role}; DROP ROLE {role}")


def test_who_may_not_add_it_is_told_and_the_rest_is_well(database):
    _as_an_earlier_walpost_left_it(database)
    role = f"relay_{database.name}"
    database.sql(f"CREATE ROLE {role} LOGIN REPLICATION; GRANT USAGE ON SCHEMA walpost TO {role}; "
                 f"GRANT SELECT, INSERT, UPDATE ON walpost.slot_checkpoint TO {role}")
    administrator = database.config["postgres.conninfo"]
    database.config["postgres.conninfo"] = database.server.conninfo(database.name, user=role)
    done = database.init()
    for name in ("walpost.reissue", "walpost.parked", "walpost.scheduled", "walpost.cleanup_floor"):
        assert f"{name} was not created: " in done.stderr and "as an administrator" in done.stderr
    done = database.command("init", "--role", role, "--set", f"postgres.conninfo={administrator}")
    assert done.returncode == 0, done.stderr
    assert database.check()["reissue"]["level"] == "ok"
    assert database.sql("SELECT string_agg(privilege_type, ' ' ORDER BY privilege_type) FROM "
                        "information_schema.role_table_grants WHERE grantee = %s AND table_name IN "
                        "('parked', 'parking', 'parked_acts') GROUP BY table_name ORDER BY table_name", (role,)) == [
        ("DELETE INSERT SELECT UPDATE",), ("INSERT SELECT",), ("DELETE INSERT SELECT UPDATE",)]
    database.sql(f"DROP OWNED BY {role}; DROP ROLE {role}")


def test_check_finds_what_is_wrong_with_it_and_its_cure_helps(database):
    database.init()
    role = f"relay_{database.name}"
    database.sql(f"CREATE ROLE {role} LOGIN REPLICATION; GRANT USAGE ON SCHEMA walpost TO {role}; "
                 f"GRANT SELECT, INSERT, UPDATE ON walpost.slot_checkpoint TO {role}")
    database.config["postgres.conninfo"] = database.server.conninfo(database.name, user=role)
    for wrong, what in (
            ("SELECT", f"role {role} may not read, insert into and delete from walpost.reissue"),
            ("ALTER PUBLICATION walpost_reissue SET (publish = 'delete')", "does not publish the inserts"),
            ("ALTER PUBLICATION walpost_reissue ADD TABLE outbox", "does not publish the inserts"),
            ("ALTER PUBLICATION walpost_reissue SET TABLE outbox", "does not publish the inserts"),
            ("ALTER TABLE walpost.reissue DROP COLUMN reason", "lacks columns"),
            ("DROP FUNCTION walpost.reissue_message", "one of its functions is missing")):
        database.sql(wrong)
        finding = database.check()["reissue"]
        assert finding["level"] == "warn" and what in finding["what"], finding
        if "sql/reissue.sql" in finding["cure"]:
            database.sql("DROP PUBLICATION walpost_reissue; DROP TABLE walpost.reissue")
            assert database.psql(REISSUE.read_text()).returncode == 0
            database.sql(f"GRANT SELECT, INSERT, DELETE ON walpost.reissue TO {role}")
        else:
            database.apply(finding)
        finding = database.check()["reissue"]
        assert finding["level"] == "ok", finding
    database.sql("DROP PUBLICATION walpost_reissue")
    assert "publication walpost_reissue is missing" in database.check()["reissue"]["what"]
    database.sql(f"DROP OWNED BY {role}; DROP ROLE {role}")


def _park(database, count):
    database.sql("INSERT INTO walpost.parked (slot, position, outbox, key, settings, committed_at, parked_at, code, "
                 "reason, first_reason) SELECT s, '0000-00000001-00000000000000A0-0000000' || n, 'public.outbox', "
                 "nullif(n %% 2, 1), '', now(), '2026-01-02 03:04:05+00', 'LARGE', 'r', 'r' "
                 "FROM generate_series(1, %s) n, unnest(ARRAY[%s, 'another']) s", (count, database.slot))


def test_check_names_what_is_parked(database):
    database.init()
    assert "parked" not in database.check()
    database.config["relay.poison"] = "park"
    finding = database.check()["parked"]
    assert finding["level"] == "ok" and f"nothing is parked for slot {database.slot}" in finding["what"]
    _park(database, 4)
    parked = f"4 events of 3 aggregates are parked for slot {database.slot}, the oldest since 2026-01-02 03:04:05 UTC"
    finding = database.check()["parked"]
    assert finding["level"] == "ok" and parked in finding["what"]
    database.config["relay.poison"] = "stop"
    finding = database.check()["parked"]
    assert finding["level"] == "warn" and parked in finding["what"] and "no relay sends them" in finding["what"]
    assert finding["cure"] == "-- set relay.poison = park"


def test_check_finds_what_parking_lacks_and_its_cure_helps(database):
    _as_an_earlier_walpost_left_it(database)
    role = f"relay_{database.name}"
    database.sql(f"CREATE ROLE {role} LOGIN REPLICATION; GRANT USAGE ON SCHEMA walpost TO {role}; "
                 f"GRANT SELECT, INSERT, UPDATE ON walpost.slot_checkpoint TO {role}")
    database.config.update({"relay.poison": "park", "postgres.conninfo":
                            database.server.conninfo(database.name, user=role)})
    parked = (places.TREE / "sql" / "parked.sql").read_text()
    (finding,) = database.failures()
    assert "walpost.parked and walpost.parking is missing" in finding["what"] and "sql/parked.sql" in finding["cure"]
    assert database.psql(parked).returncode == 0
    for wrong, what in (("SELECT", f"role {role} may not read and write walpost.parked and walpost.parking"),
                        (f"REVOKE UPDATE ON walpost.parking FROM {role}", "may not read and write"),
                        (f"REVOKE DELETE ON walpost.parked FROM {role}", "may not read and write"),
                        (f"REVOKE USAGE ON SCHEMA walpost FROM {role}", "may not read and write")):
        database.sql(wrong)
        failures = {finding["name"]: finding for finding in database.failures()}
        assert what in failures["parked"]["what"]
        database.apply(failures["parked"])
        assert database.check()["parked"]["level"] == "ok"
    database.sql("ALTER TABLE walpost.parked DROP COLUMN act; ALTER TABLE walpost.parking DROP COLUMN owner")
    (finding,) = database.failures()
    assert {"walpost.parked.act", "walpost.parking.owner"} <= set(re.split("[ ,;]+", finding["what"]))
    database.config["relay.poison"] = "stop"
    assert not database.failures()
    database.sql(f"DROP OWNED BY {role}; DROP ROLE {role}")


def test_the_slot_survives_a_failover_where_the_server_can(database, version):
    database.init()
    assert _catalog(database)[-1] == [("pgoutput", "logical", False, False, "true" if int(version) >= 17 else None)]


def test_the_printed_sql_makes_the_same(make_database):
    done, printed = make_database(), make_database()
    done.init()
    script = printed.command("init", "--print-sql").stdout
    for _ in range(2):  # and a second time does no harm
        ran = printed.psql(script)
        assert ran.returncode == 0, ran.stderr
    assert _catalog(printed) == _catalog(done)
    assert not printed.failures()


def test_the_printed_sql_makes_the_slot_while_the_catalog_changes(database):
    """PostgreSQL fails when a function or DO block makes a slot then: "snapshot reference is not owned"."""
    script = database.command("init", "--print-sql").stdout
    with _changing_the_catalog(database):
        for _ in range(15):
            ran = database.psql(script)
            assert ran.returncode == 0, ran.stderr
            database.sql("SELECT pg_drop_replication_slot(%s)", (database.slot,))


@contextlib.contextmanager
def _changing_the_catalog(database):
    """In transactions that overlap, so that a slot which is made now decodes the end of some."""
    stop = threading.Event()

    def change(name):
        while not stop.is_set():
            database.sql(f"CREATE TABLE {name} (a int); SELECT pg_sleep(random() * 0.05); "
                         f"ALTER TABLE {name} ADD b int; SELECT pg_sleep(random() * 0.05); DROP TABLE {name}")

    threads = [threading.Thread(target=change, args=(f"passing{i}",)) for i in range(4)]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        stop.set()
        for thread in threads:
            thread.join()


def test_the_printed_sql_needs_no_server(database):
    database.config["postgres.conninfo"] = "host=127.0.0.1 port=1"
    printed = database.command("init", "--print-sql")
    assert printed.returncode == 0 and "CREATE PUBLICATION" in printed.stdout


def test_a_role_of_its_own_is_given_what_it_needs(database):
    role = f'Re"lay.{database.name}'
    quoted = '"' + role.replace('"', '""') + '"'
    database.sql(f"CREATE ROLE {quoted} LOGIN")
    script = database.command("init", "--print-sql", "--role", role).stdout
    assert database.psql(script).returncode == 0
    database.config["postgres.conninfo"] = database.server.conninfo(database.name, user=role)
    assert {f["level"] for f in database.check().values() if f["name"] in ("role", "checkpoint")} == {"ok"}
    database.sql(f"DROP OWNED BY {quoted}; DROP ROLE {quoted}")


def test_what_a_role_was_given_is_said(database):
    role = f"relay_{database.name}"
    database.sql(f"CREATE ROLE {role} LOGIN")
    done = database.command("init", "--role", role)
    assert done.returncode == 0 and f"role {role}: may replicate and may write" in done.stdout, done.stderr
    assert database.sql("SELECT rolreplication FROM pg_roles WHERE rolname = %s", (role,)) == [(True,)]
    database.sql(f"DROP OWNED BY {role}; DROP ROLE {role}")


def test_a_role_that_may_not_make_it_is_told_who_may(database):
    role = f"minimal_{database.name}"
    database.sql("CREATE TABLE outbox (id uuid, aggregatetype text, aggregateid text, type text, payload jsonb); "
                 f"CREATE ROLE {role} LOGIN REPLICATION; GRANT SELECT ON outbox TO {role}; "
                 f"CREATE PUBLICATION {database.publication} FOR TABLE outbox WITH (publish_via_partition_root = true)")
    administrator = database.config["postgres.conninfo"]
    database.config["postgres.conninfo"] = database.server.conninfo(database.name, user=role)
    done = database.command("init")
    assert done.returncode == 2
    assert f"permission denied for database {database.name}; role {role} may not create it" in done.stderr
    assert f"add --role '{role}' --set 'postgres.conninfo=" in done.stderr
    done = database.command("init", "--role", role, "--set", f"postgres.conninfo={administrator}")
    assert done.returncode == 0, done.stderr
    assert not database.failures()
    database.sql(f"DROP OWNED BY {role}; DROP ROLE {role}")


def test_a_slot_of_another_plugin_stays_and_a_new_one_is_made_beside_it(database):
    old, new = database.slot, f"{database.slot}_new"
    database.sql("SELECT pg_create_logical_replication_slot(%s, 'test_decoding')", (old,))
    done = database.command("init")
    assert done.returncode == 1 and "walpost requires pgoutput; use another name" in done.stderr
    database.config["postgres.slot"] = new
    place = re.search(f"slot {new}: created at (.*)", database.init().stdout)[1]
    beyond = "SELECT confirmed_flush_lsn >= %s::pg_lsn FROM pg_replication_slots WHERE slot_name = %s"
    assert database.sql(beyond, (place, old)) == [(False,)]
    database.sql("INSERT INTO outbox (id, aggregatetype, aggregateid, type, payload) "
                 "VALUES (gen_random_uuid(), 'a', 'b', 'c', '{}')")
    assert database.sql("SELECT count(*) > 2 FROM pg_logical_slot_get_changes(%s, NULL, NULL)", (old,)) == [(True,)]
    assert database.sql(beyond, (place, old)) == [(True,)]
    tailed = database.sql("SELECT count(*) FROM pg_logical_slot_peek_binary_changes(%s, NULL, NULL, "
                          "'proto_version', '1', 'publication_names', %s)", (new, database.publication))
    assert tailed[0][0] >= 3
    assert not database.failures()


def test_a_schema_that_is_missing_is_named_with_its_cure(make_database):
    database = make_database(**{"outbox.table": '"Sch.é\'ma".outbox'})
    done = database.command("init")
    assert done.returncode == 1
    cure = done.stderr.split("create it first: ")[1].strip()
    assert cure == 'CREATE SCHEMA "Sch.é\'ma"'
    database.sql(cure)
    database.init()
    assert not database.failures()


def test_any_name_will_do(make_database):
    database = make_database(**{
        "outbox.table": '"Sch.é\'ma"."Out""box $1"',
        "outbox.column.payload": 'Pay"load.é',
        "outbox.route.by": "Ro'ute",
    })
    database.config["postgres.publication"] = f'Pub, "1".é {database.name}'
    database.sql('CREATE SCHEMA "Sch.é\'ma"')
    database.init()
    assert not database.failures()
    assert database.sql("SELECT schemaname, tablename FROM pg_publication_tables "
                        "WHERE schemaname <> 'walpost'") == [("Sch.é'ma", 'Out"box $1')]


def test_any_name_will_do_as_printed_sql(make_database):
    database = make_database(**{"outbox.table": '"Sch.é\'ma"."Out""box $1"'})
    database.sql('CREATE SCHEMA "Sch.é\'ma"')
    ran = database.psql(database.command("init", "--print-sql").stdout)
    assert ran.returncode == 0, ran.stderr
    assert not database.failures()


def test_a_partitioned_outbox_is_published_under_its_own_name(database):
    database.sql("CREATE TABLE outbox (id int, aggregatetype text, aggregateid text, type text, payload jsonb) "
                 "PARTITION BY RANGE (id); CREATE TABLE p0 PARTITION OF outbox FOR VALUES FROM (0) TO (9)")
    database.init()
    assert database.sql("SELECT tablename FROM pg_publication_tables WHERE schemaname <> 'walpost'") == [("outbox",)]


def test_half_right_things_are_refused_and_nothing_is_made(database):
    database.sql("CREATE TABLE outbox (id uuid)")
    done = database.command("init")
    assert done.returncode == 1
    assert "table_columns" in done.stderr and "nothing was created" in done.stderr
    assert database.sql("SELECT count(*) FROM pg_publication") == [(0,)]


def test_no_empty_outbox_is_made_beside_one_whose_name_differs_in_case_only(database):
    database.sql('CREATE TABLE "OutBox" (id uuid, aggregatetype text, aggregateid text, type text, payload jsonb)')
    database.sql(f"CREATE PUBLICATION {database.publication} FOR ALL TABLES")
    done = database.command("init")
    assert done.returncode == 1 and 'there is public."OutBox", whose name differs only in case' in done.stderr
    printed = database.psql(database.command("init", "--print-sql").stdout)
    assert printed.returncode != 0 and 'public."OutBox", whose name differs only in case' in printed.stderr
    assert database.sql("SELECT relname FROM pg_class WHERE relname ILIKE 'outbox'") == [("OutBox",)]
    (finding,) = [one for one in database.failures() if one["name"] == "table_case"]
    database.apply(finding)
    assert database.config["outbox.table"] == 'public."OutBox"'
    database.init()


def test_a_publication_is_not_made_for_a_slot_that_is_older(database):
    database.init()
    database.sql(f"DROP PUBLICATION {database.publication}")
    done = database.command("init")
    assert done.returncode == 1 and "there is no publication" in done.stderr
    assert database.sql("SELECT pubname FROM pg_publication") == [("walpost_reissue",)]
    printed = database.psql(database.command("init", "--print-sql").stdout)
    assert printed.returncode != 0 and "drop the slot first" in printed.stderr


def _begin_init(database):
    file = database.folder / f"{database.name}.conf"
    database.command("init", "--help")  # writes the file
    return subprocess.Popen([binary(), "init", "-c", file], env=clean_environment(), text=True,
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def test_what_the_slot_waits_for_is_named(database):
    with database.server.connect(database.name, application_name="long job") as busy:
        busy.execute("BEGIN; SELECT pg_current_xact_id()")
        pid = busy.info.backend_pid
        init = _begin_init(database)
        said = ""
        while f"process {pid}" not in said:
            said = init.stderr.readline()
            assert said or init.poll() is None
        assert re.search(r"transaction \d+ s old, idle in transaction, application long job, user postgres", said)
        busy.execute("COMMIT")
        assert process.wait_exit(init, 60, "walpost init") == 0  # transactions of other tests end too
        init.stdout.close(), init.stderr.close()


def test_an_interrupted_init_leaves_no_slot_behind(database):
    with database.server.connect(database.name) as busy:
        busy.execute("BEGIN; SELECT pg_current_xact_id()")
        init = _begin_init(database)
        waiting = ("SELECT 1 FROM pg_stat_activity WHERE datname = %s AND query LIKE '%%create_logical%%' "
                   "AND wait_event_type = 'Lock'")
        wait_until(lambda: database.server.query(waiting, (database.name,)), 10, "it waits")
        init.send_signal(signal.SIGINT)
        assert process.wait_exit(init, 10, "walpost init") == 1
        assert "interrupted" in init.stderr.read()
        init.stdout.close(), init.stderr.close()
        busy.execute("COMMIT")
    wait_until(lambda: not database.server.query(
        "SELECT 1 FROM pg_replication_slots WHERE slot_name = %s", (database.slot,)), 10, "no slot is there")


def test_a_wrong_slot_name_is_a_wrong_configuration(database):
    database.config["postgres.slot"] = "Not-A-Slot"
    done = database.command("init")
    assert done.returncode == 2 and "lower-case letters" in done.stderr


GENERATED = ("CREATE TABLE public.outbox (id uuid, aggregatetype text, payload jsonb, type text, "
             "aggregateid text GENERATED ALWAYS AS (payload->>'order') STORED)")


@pytest.mark.parametrize("by", ["init", "script"])
@pytest.mark.on(18, 14)
def test_a_generated_column_is_published_or_refused_before_anything_is_made(database, version, by):
    database.sql(GENERATED)
    if by == "init":
        done = database.command("init")
    else:
        done = database.psql(database.command("init", "--print-sql").stdout)
    code, said = done.returncode, done.stderr
    slots = database.sql("SELECT count(*) FROM pg_replication_slots WHERE database = current_database()")[0][0]
    publications = database.sql("SELECT count(*) FROM pg_publication")[0][0]
    if int(version) < 18:
        assert code != 0 and "column aggregateid of table" in said and "DROP EXPRESSION" in said
        assert (slots, publications) == (0, 0)
        assert database.sql("SELECT count(*) FROM pg_namespace WHERE nspname = 'walpost'") == [(0,)]
    else:
        assert code == 0, said
        published = database.sql("SELECT attnames FROM pg_publication_tables WHERE tablename = 'outbox'")
        assert "aggregateid" in str(published) and slots == 1
