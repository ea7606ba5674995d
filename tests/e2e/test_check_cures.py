"""Each refusal of `walpost check`: brought about, named, cured by the printed words, gone."""

import re

import psycopg.pq
import pytest

from lib import places
from lib.administered import Administered
from lib.postgres import Postgres
from lib.waiting import wait_until

pytestmark = pytest.mark.on("all")
# Row filters, column lists and publications of schemas.
since_15 = pytest.mark.on(since=15)


def _refused_then_cured(database, name, part="", rounds=2):
    finding = database.check()[name]
    assert finding["level"] == "fail", finding
    assert part in finding["what"]
    database.cure(rounds)


def _replaced_by_backfill(database, name, part):
    """There is no Kafka here. The command is run in test_exit_cures."""
    finding = database.check()[name]
    assert finding["level"] == "fail" and part in finding["what"]
    assert finding["cure"].endswith("-- walpost backfill --missing --force")
    return finding


# --- the server


def _without_slots(server):
    for (slot,) in server.query("SELECT slot_name FROM pg_replication_slots"):
        server.query("SELECT pg_drop_replication_slot(%s)", (slot,))


def test_wal_level(bare, server):
    _without_slots(server)
    server.query("ALTER SYSTEM SET wal_level = 'replica'")
    server.restart()
    _refused_then_cured(bare, "wal_level", "replica", rounds=3)


def test_max_wal_senders(ready, server):
    server.query("ALTER SYSTEM SET max_wal_senders = 1")
    server.restart()
    other = psycopg.pq.PGconn.connect(server.conninfo(replication="true").encode())
    assert other.status == psycopg.pq.ConnStatus.OK
    _refused_then_cured(ready, "max_wal_senders", "all 1 are in use")
    other.finish()
    server.query("ALTER SYSTEM RESET max_wal_senders")
    server.restart()


def test_max_replication_slots(ready, server):
    _without_slots(server)
    server.query("SELECT pg_create_physical_replication_slot('other')")
    server.query("ALTER SYSTEM SET max_replication_slots = 1")
    server.restart()
    _refused_then_cured(ready, "max_replication_slots", "all 1 are in use", rounds=3)
    server.query("ALTER SYSTEM RESET max_replication_slots")
    server.restart()


def test_a_role_without_replication(ready, server):
    server.query('CREATE ROLE "re""lay" LOGIN')
    ready.config["postgres.conninfo"] = server.conninfo(ready.name, user='re"lay')
    findings = ready.check()
    assert "replication_connection" not in findings  # it would only say the same again
    _refused_then_cured(ready, "role", 're"lay')
    checkpoint = ready.check()["checkpoint"]
    assert checkpoint["level"] == "warn"
    ready.apply(checkpoint)
    assert ready.check()["checkpoint"]["level"] == "ok"
    ready.sql('DROP OWNED BY "re""lay"; DROP ROLE "re""lay"')


def test_a_standby(ready, server, version, folder):
    standby = Postgres(version, folder / "standby")
    (standby.data / "standby.signal").touch()
    standby.start()
    try:
        found = Administered.check(_pointed_at(ready, standby.conninfo()))["primary"]
        assert found["level"] == "fail" and found["cure"].endswith(": target_session_attrs=read-write")
        both = f"host=127.0.0.1,127.0.0.1 port={standby.port},{server.port} user=postgres dbname=postgres"
        _pointed_at(ready, both + " target_session_attrs=read-write")
        assert ready.check()["primary"]["level"] == "ok"
    finally:
        standby.end()


def _pointed_at(database, conninfo):
    database.config["postgres.conninfo"] = conninfo
    return database


@pytest.fixture
def synchronous(ready, server):
    """Sets synchronous_standby_names; no standby is there, so that every commit then waits."""
    yield lambda names: server.set_conf(synchronous_standby_names=names)
    server.set_conf(synchronous_standby_names="")


@pytest.mark.parametrize("setting, rest", [
    ("walpost", ""), ("*", ""), ("WALPOST, s1", '"s1"'), ("FIRST 2 (s1, walpost)", 'FIRST 1 ("s1")'),
    ('ANY 1 ("walpost", "S 2", s3)', 'ANY 1 ("S 2", "s3")'), ("2 (*)", ""),
])
def test_synchronous_standby_names(ready, server, synchronous, setting, rest):
    synchronous(setting)
    assert _allowed(ready)["level"] == "ok"
    _refused_then_cured(ready, "synchronous_standby_names", setting)
    wait_until(lambda: server.query("SHOW synchronous_standby_names") == [(rest,)], 5, "only our name is gone")


def _allowed(database):
    database.config["postgres.allow_synchronous"] = "true"
    finding = database.check()["synchronous_standby_names"]
    del database.config["postgres.allow_synchronous"]
    return finding


def test_synchronous_standby_names_with_an_application_name_of_ones_own(ready, server, synchronous):
    ready.config["postgres.conninfo"] = server.conninfo(ready.name, application_name="Relay 1")
    synchronous("walpost")
    assert not ready.failures()
    synchronous('"relay 1"')
    _refused_then_cured(ready, "synchronous_standby_names", "Relay 1")


# --- the table


def test_a_missing_table(ready):
    ready.sql("DROP TABLE outbox")
    _refused_then_cured(ready, "table", "there is no table")


def test_a_view(ready):
    ready.sql('ALTER TABLE outbox RENAME TO "Base"; CREATE VIEW outbox AS SELECT * FROM "Base"')
    _refused_then_cured(ready, "table", "a view")
    assert ready.config["outbox.table"] == 'public."Base"'


def test_a_materialized_view(ready):
    ready.sql("CREATE MATERIALIZED VIEW m AS SELECT * FROM outbox")
    ready.config["outbox.table"] = "m"
    _refused_then_cured(ready, "table", "a materialized view")


def test_a_foreign_table(ready, server):
    elsewhere = ready.config["postgres.conninfo"]
    server.query("CREATE DATABASE near")
    server.query("CREATE FOREIGN DATA WRAPPER w; CREATE SERVER s FOREIGN DATA WRAPPER w; "
                 "CREATE FOREIGN TABLE outbox (id uuid) SERVER s", database="near")
    found = Administered.check(_pointed_at(ready, server.conninfo("near")))["table"]
    assert found["level"] == "fail" and "foreign" in found["what"] and "postgres.conninfo" in found["cure"]
    _pointed_at(ready, elsewhere)
    assert not ready.failures()
    server.query("DROP DATABASE near")


def test_a_temporary_table(ready):
    with ready.server.connect(ready.name) as session:
        session.execute("CREATE TEMP TABLE outbox (LIKE outbox)")
        (schema,) = session.execute("SELECT nspname FROM pg_namespace WHERE oid = pg_my_temp_schema()").fetchone()
        ready.config["outbox.table"] = f"{schema}.outbox"
        found = ready.check()["table_storage"]
        assert found["level"] == "fail" and "temporary" in found["what"] and "outbox.table" in found["cure"]
    ready.config["outbox.table"] = "outbox"
    assert not ready.failures()


def test_missing_columns(ready):
    ready.sql("ALTER TABLE outbox DROP COLUMN payload, DROP COLUMN aggregateid")
    ready.config["outbox.headers"] = 'Trace'
    _refused_then_cured(ready, "table_columns", "payload")
    types = dict(ready.sql("SELECT attname, format_type(atttypid, atttypmod) FROM pg_attribute "
                           "WHERE attrelid = 'outbox'::regclass AND attnum > 0"))
    assert types["payload"] == "jsonb" and types["aggregateid"] == "character varying(255)"


def test_types_that_are_not_read_in_binary(ready):
    ready.sql("CREATE DOMAIN words AS text; CREATE DOMAIN names AS words; CREATE TYPE kind AS ENUM ('t'); "
              "CREATE DOMAIN texts AS text[]")
    ready.sql("ALTER TABLE outbox ALTER type TYPE kind USING 't', ALTER aggregatetype TYPE names")
    ready.config["postgres.binary"] = "on"
    assert not ready.failures()
    for type, value in (("int", "1"), ("text[]", "'{}'"), ("\"char\"[]", "'{}'"), ("words", "'1'"), ("texts", "'{}'")):
        ready.sql(f"ALTER TABLE outbox ALTER aggregateid TYPE {type} USING {value}")
        assert not ready.failures()
    for type in ("kind[]", "words[]", "int2vector", "inet"):
        ready.sql(f"ALTER TABLE outbox ALTER aggregateid TYPE {type} USING NULL")
        assert ready.failures()
    _refused_then_cured(ready, "table_binary", "not read in binary: aggregateid (inet); boolean,")


def test_an_unlogged_table(ready):
    ready.sql("CREATE UNLOGGED TABLE quick (LIKE outbox)")
    ready.config["outbox.table"] = "quick"
    _refused_then_cured(ready, "table_storage", "unlogged")


def test_an_unlogged_partition(bare):
    bare.sql("CREATE TABLE outbox (id uuid, aggregatetype text, aggregateid text, type text, payload jsonb) "
             "PARTITION BY HASH (id); "
             "CREATE UNLOGGED TABLE p0 PARTITION OF outbox FOR VALUES WITH (MODULUS 1, REMAINDER 0); "
             "CREATE PUBLICATION walpost FOR ALL TABLES WITH (publish = 'insert')")
    _refused_then_cured(bare, "table_storage", "a partition of the outbox is unlogged")


def test_a_foreign_partition(bare):
    bare.sql("CREATE TABLE outbox (id int, aggregatetype text, aggregateid text, type text, payload jsonb) "
             "PARTITION BY RANGE (id); CREATE TABLE p0 PARTITION OF outbox FOR VALUES FROM (0) TO (9); "
             "CREATE FOREIGN DATA WRAPPER w; CREATE SERVER s FOREIGN DATA WRAPPER w")
    bare.init()
    bare.sql("ALTER PUBLICATION walpost SET (publish_via_partition_root = false);"
             "CREATE FOREIGN TABLE p1 PARTITION OF outbox FOR VALUES FROM (9) TO (19) SERVER s")
    found = bare.check()["table_storage"]
    assert found["level"] == "fail" and "public.p1" in found["what"] and "public.p1" in found["cure"]
    bare.sql("ALTER TABLE outbox DETACH PARTITION p1")
    assert not bare.failures()


# --- the publication


def test_a_missing_publication(ready):
    ready.sql("DROP PUBLICATION walpost")
    finding = _replaced_by_backfill(ready, "publication", "there is no publication")
    assert "CREATE PUBLICATION \"walpost\" FOR TABLE ONLY" in finding["cure"]


def test_a_publication_without_the_table(ready):
    ready.sql("ALTER PUBLICATION walpost DROP TABLE outbox")
    _refused_then_cured(ready, "publication_table", "lacks", rounds=1)


def test_a_publication_of_some_of_the_partitions(bare):
    bare.sql("CREATE TABLE outbox (id int, aggregatetype text, aggregateid text, type text, payload jsonb) "
             "PARTITION BY RANGE (id); CREATE TABLE p0 PARTITION OF outbox FOR VALUES FROM (0) TO (9); "
             "CREATE TABLE p1 PARTITION OF outbox FOR VALUES FROM (9) TO (19); "
             "CREATE PUBLICATION walpost FOR TABLE p0 WITH (publish = 'insert')")
    _refused_then_cured(bare, "publication_table", "public.p1")


def test_a_publication_under_the_name_of_a_table_above(bare):
    bare.sql("CREATE TABLE whole (id int, aggregatetype text, aggregateid text, type text, payload jsonb) "
             "PARTITION BY RANGE (id); CREATE TABLE outbox PARTITION OF whole FOR VALUES FROM (0) TO (9); "
             "CREATE PUBLICATION walpost FOR TABLE whole WITH (publish = 'insert', publish_via_partition_root)")
    _refused_then_cured(bare, "publication_root", "public.whole")


@since_15
def test_a_publication_that_hides_a_column(ready):
    ready.sql("DROP PUBLICATION walpost;"
              "CREATE PUBLICATION walpost FOR TABLE outbox (id, aggregateid) WITH (publish = 'insert')")
    _refused_then_cured(ready, "publication_columns", "payload", rounds=1)


@since_15
def test_a_publication_that_filters_rows(ready):
    ready.sql("DROP PUBLICATION walpost;"
              "CREATE PUBLICATION walpost FOR TABLE outbox WHERE (type <> 'x') WITH (publish = 'insert')")
    _refused_then_cured(ready, "publication_filter", "type", rounds=1)


@since_15
def test_a_publication_that_hides_and_filters(ready):
    ready.sql("DROP PUBLICATION walpost;"
              "CREATE PUBLICATION walpost FOR TABLE outbox (id) WHERE (type <> 'x') WITH (publish = 'insert')")
    _refused_then_cured(ready, "publication_filter", "type", rounds=1)


def test_a_publication_without_inserts(ready):
    ready.sql("ALTER PUBLICATION walpost SET (publish = 'update, truncate')")
    _refused_then_cured(ready, "publication_inserts", rounds=1)
    kinds = ready.sql("SELECT pubinsert, pubupdate, pubdelete, pubtruncate FROM pg_publication "
                      "WHERE pubname <> 'walpost_reissue'")
    assert kinds == [(True, True, False, True)]


def test_generated_columns(bare):
    bare.sql('CREATE TABLE outbox (id uuid, "aggregateTYPE" text GENERATED ALWAYS AS (\'t\' || kind) STORED, '
             "aggregateid text, type text GENERATED ALWAYS AS ('x' || kind) STORED, payload jsonb, kind text)")
    bare.config["outbox.route.by"] = "aggregateTYPE"
    bare.sql("CREATE PUBLICATION walpost FOR TABLE outbox WITH (publish = 'insert')")
    bare.command("init")  # an earlier publication stays as it is
    _refused_then_cured(bare, "publication_generated", "aggregateTYPE", rounds=3)


def test_a_publication_of_all_tables_is_fine_but_for_what_else_it_brings(ready):
    _wide_publication_is_fine(ready, "FOR ALL TABLES")


@since_15
def test_a_publication_of_a_schema_is_fine_but_for_what_else_it_brings(ready):
    _wide_publication_is_fine(ready, "FOR TABLES IN SCHEMA public")


def _wide_publication_is_fine(ready, what):
    ready.sql("DROP PUBLICATION walpost; CREATE TABLE other (x int);"
              f"CREATE PUBLICATION walpost {what} WITH (publish = 'insert')")
    assert not ready.failures()
    others = ready.check()["publication_others"]
    assert others["level"] == "warn" and "has 1 more table (public.other)" in others["what"]
    # Rows of walpost's own tables stop nobody.
    assert others["cure"].splitlines()[1:] == ["-- set outbox.ignore = public.other"]
    ready.sql("DROP TABLE other")
    assert ready.check()["publication_others"]["level"] == "ok"


# --- the slot


def test_a_missing_slot(ready):
    ready.sql("SELECT pg_drop_replication_slot(%s)", (ready.slot,))
    _refused_then_cured(ready, "slot", "there is no slot", rounds=1)


def _replaced(database, call, name=None):
    database.sql("SELECT pg_drop_replication_slot(%s)", (database.slot,))
    database.server.query(f"SELECT {call}", database=name or database.name)


def test_a_slot_of_another_plugin(ready):
    _replaced(ready, f"pg_create_logical_replication_slot('{ready.slot}', 'test_decoding')")
    _refused_then_cured(ready, "slot", "test_decoding", rounds=1)


def test_a_physical_slot(ready):
    _replaced(ready, f"pg_create_physical_replication_slot('{ready.slot}')")
    _refused_then_cured(ready, "slot", "physical", rounds=1)


def test_a_slot_of_another_database(ready):
    _replaced(ready, f"pg_create_logical_replication_slot('{ready.slot}', 'pgoutput')", "postgres")
    _refused_then_cured(ready, "slot", "database postgres", rounds=1)


def test_a_slot_with_two_phase(ready):
    _replaced(ready, f"pg_create_logical_replication_slot('{ready.slot}', 'pgoutput', false, true)")
    _replaced_by_backfill(ready, "slot", "two_phase")


def test_a_temporary_slot(ready):
    ready.sql("SELECT pg_drop_replication_slot(%s)", (ready.slot,))
    with ready.server.connect(ready.name) as session:
        session.execute(f"SELECT pg_create_logical_replication_slot('{ready.slot}', 'pgoutput', true)")
        _refused_then_cured(ready, "slot", "temporary", rounds=1)


def test_a_lost_slot(ready, server):
    server.set_conf(max_slot_wal_keep_size="1MB")
    ready.sql("CREATE TABLE noise (x text)")

    def lost():
        ready.sql("INSERT INTO noise SELECT repeat('x', 1000) FROM generate_series(1, 1000)")
        ready.sql("SELECT pg_switch_wal()")
        ready.sql("CHECKPOINT")
        status = ready.sql("SELECT wal_status FROM pg_replication_slots WHERE slot_name = %s", (ready.slot,))
        return status == [("lost",)]

    wait_until(lost, 30, "the slot is lost")
    shown = ready.command("status")
    assert shown.returncode == 3 and "is lost (" in shown.stderr
    _replaced_by_backfill(ready, "slot", "invalidated")


# --- the connections, and Kafka


def test_an_unreachable_server(ready):
    right = ready.config["postgres.conninfo"]
    found = Administered.check(_pointed_at(ready, "host=127.0.0.1 port=1 user=postgres"))["connection"]
    assert found["level"] == "fail" and "postgres.conninfo" in found["cure"]
    _pointed_at(ready, right)
    assert not ready.failures()


@pytest.mark.on("first")
def test_an_unreachable_kafka(ready, house):
    ready.config["relay.sink"] = None
    ready.config["kafka.bootstrap.servers"] = "127.0.0.1:1"
    found = ready.check()["kafka"]
    assert found["level"] == "fail" and "bootstrap.servers" in found["cure"]
    ready.config["kafka.bootstrap.servers"] = house.kafka().address
    assert not ready.failures()


# --- children by inheritance


@pytest.mark.parametrize("made, named", [
    ("CREATE TABLE child () INHERITS (outbox)", "public.child"),
    ("CREATE TABLE child (note text) INHERITS (outbox); CREATE SCHEMA old; "
     'CREATE TABLE old."grand, Child" () INHERITS (child)', 'old."grand, Child", public.child'),
    ("CREATE UNLOGGED TABLE child () INHERITS (outbox); CREATE TABLE other () INHERITS (outbox)",
     "public.child, public.other, of which unlogged"),
    ("CREATE TABLE child (LIKE outbox); ALTER TABLE child INHERIT outbox; CREATE TABLE base (LIKE outbox); "
     "ALTER TABLE child INHERIT base", "public.child"),
], ids=["direct", "grandchild", "unlogged", "attached"])
def test_a_child_by_inheritance_that_is_not_published(ready, made, named):
    ready.sql(made)
    _refused_then_cured(ready, "publication_children", f": {named}")
    assert "publication_others" not in ready.check() or ready.check()["publication_others"]["level"] == "ok"


def test_a_child_that_is_published_and_not_configured_beside_leaves_that_are_set(ready):
    ready.sql("CREATE TABLE one () INHERITS (outbox); CREATE TABLE two () INHERITS (one)")
    ready.sql("ALTER PUBLICATION walpost SET TABLE outbox")  # without ONLY: all that is below
    ready.config.update({"outbox.ignore": "*", "outbox.leaves": "public.o*"})
    _refused_then_cured(ready, "publication_children", "covers them: public.two. Their first row stops")
    assert ready.config["outbox.leaves"] == "public.o*, public.two"


def test_an_unlogged_child_beside_a_publication_of_all_tables(ready):
    ready.sql("DROP PUBLICATION walpost; CREATE PUBLICATION walpost FOR ALL TABLES WITH (publish = 'insert')")
    ready.sql("CREATE UNLOGGED TABLE child () INHERITS (outbox)")
    ready.config["outbox.ignore"] = "walpost.*"
    assert "ADD TABLE" not in ready.check()["publication_children"]["cure"]
    _refused_then_cured(ready, "publication_children", "public.child")


def test_a_child_of_the_outbox_of_a_section(ready):
    ready.sql("CREATE TABLE child () INHERITS (outbox); CREATE TABLE bills (LIKE outbox); "
              "ALTER PUBLICATION walpost ADD TABLE ONLY bills")
    ready.config.update({"outbox.orders.table": "public.outbox", "outbox.bills.table": "public.bills"})
    _refused_then_cured(ready, "publication_children", "public.child")
    assert ready.config["outbox.orders.leaves"] == "public.child"


@pytest.mark.parametrize("made, config", [
    ("CREATE TABLE child () INHERITS (outbox)", {"outbox.ignore": "public.child"}),
    ("CREATE TABLE child () INHERITS (outbox); ALTER PUBLICATION walpost ADD TABLE child",
     {"outbox.ignore": "*, public.child"}),
    ("CREATE TABLE child () INHERITS (outbox); ALTER PUBLICATION walpost ADD TABLE child",
     {"outbox.all.table": "public.outbox", "outbox.child.table": "public.child"}),
    ("CREATE TABLE child () INHERITS (outbox); ALTER TABLE child NO INHERIT outbox", {}),
    ("CREATE TABLE base (LIKE outbox); ALTER TABLE outbox INHERIT base; CREATE TABLE other () INHERITS (base)", {}),
], ids=["ignored", "ignored and published", "a section", "no longer", "a parent's"])
def test_a_child_that_is_decided_on_is_no_failure(ready, made, config):
    ready.sql(made)
    ready.config.update(config)
    assert "publication_children" not in ready.check() and not ready.failures()


def test_a_foreign_child(ready):
    ready.sql("CREATE EXTENSION postgres_fdw; CREATE SERVER far FOREIGN DATA WRAPPER postgres_fdw; "
              "CREATE FOREIGN TABLE far () INHERITS (outbox) SERVER far")
    found = ready.check()["publication_children"]
    assert found["level"] == "fail" and "another server's WAL: public.far" in found["what"], found
    ready.config["outbox.ignore"] = "public.far"
    assert not ready.failures()


def test_a_hypertable_of_timescaledb(ready):
    """Its chunks as TimescaleDB names them; the extension itself is not here."""
    ready.sql("CREATE SCHEMA _timescaledb_internal; "
              "CREATE TABLE _timescaledb_internal._hyper_1_2_chunk () INHERITS (outbox)")
    found = ready.check()["publication_children"]
    assert found["level"] == "fail" and "is a TimescaleDB hypertable" in found["what"], found
    assert "_timescaledb_internal._hyper_1_2_chunk" in found["what"] and "a plain table" in found["cure"]
    assert "ADD TABLE" not in found["cure"]
    ready.sql("ALTER TABLE outbox RENAME TO hyper; CREATE TABLE outbox (LIKE hyper INCLUDING ALL); "
              "ALTER PUBLICATION walpost SET TABLE ONLY outbox")
    assert not ready.failures()


# --- what is only warned of


def _warned_then_cured(database, name, part):
    finding = database.check()[name]
    assert finding["level"] == "warn" and part in finding["what"]
    assert not database.failures()
    database.apply(finding)
    after = database.check().get(name)
    assert after is None or after["level"] == "ok", after


def test_a_missing_slot_checkpoint(ready):
    ready.sql("DROP SCHEMA walpost CASCADE")
    _warned_then_cured(ready, "checkpoint", "is missing")


def test_a_slot_checkpoint_of_another_shape(ready):
    ready.sql("ALTER TABLE walpost.slot_checkpoint DROP COLUMN epoch")
    _warned_then_cured(ready, "checkpoint", "lacks columns")


def test_the_slot_checkpoint_table_of_an_earlier_build(ready):
    """The statement of the page on upgrades keeps what the table holds."""
    page = (places.TREE / "deploy/docs/pages/operations/upgrades.md").read_text()
    (rename,) = re.findall(r"^ALTER TABLE walpost\..*;$", page, re.MULTILINE)
    earlier = re.search(r"walpost\.(\w+) RENAME", rename)[1]
    ready.sql("INSERT INTO walpost.slot_checkpoint (slot, owner, system_identifier, timeline, epoch, taken_at_lsn) "
              "VALUES ('s', 'one', '1', 1, 0, '0/1')")
    ready.sql(f"ALTER TABLE walpost.slot_checkpoint RENAME TO {earlier}")
    assert ready.check()["checkpoint"]["level"] == "warn"
    ready.sql(rename)
    assert ready.check()["checkpoint"]["level"] == "ok"
    assert ready.sql("SELECT slot FROM walpost.slot_checkpoint") == [("s",)]


def test_deletes_without_a_replica_identity(ready):
    ready.sql("ALTER TABLE outbox DROP CONSTRAINT outbox_pkey;"
              "ALTER PUBLICATION walpost SET (publish = 'insert, delete')")
    _warned_then_cured(ready, "publication_deletes", "fail")


def test_partitions_under_their_own_names(bare):
    bare.sql("CREATE TABLE outbox (id int, aggregatetype text, aggregateid text, type text, payload jsonb) "
             "PARTITION BY RANGE (id); CREATE TABLE p0 PARTITION OF outbox FOR VALUES FROM (0) TO (9)")
    bare.init()
    bare.sql("ALTER PUBLICATION walpost SET (publish_via_partition_root = false)")
    _warned_then_cured(bare, "publication_root", "names of the partitions")


def test_partitions_under_their_own_names_beside_a_pattern_of_ignored_tables(bare):
    bare.sql("CREATE TABLE outbox (id int, aggregatetype text, aggregateid text, type text, payload jsonb) "
             "PARTITION BY RANGE (id); CREATE TABLE p0 PARTITION OF outbox FOR VALUES FROM (0) TO (9)")
    bare.init()
    bare.config["outbox.ignore"] = "*"
    bare.sql("ALTER PUBLICATION walpost SET (publish_via_partition_root = false)")
    _refused_then_cured(bare, "publication_root", "has a pattern")


def test_a_table_like_an_outbox_that_only_a_pattern_ignores(ready):
    ready.sql("CREATE TABLE other (LIKE outbox); ALTER PUBLICATION walpost ADD TABLE other")
    ready.config["outbox.ignore"] = "*"
    found = ready.check()["publication_lookalikes"]
    assert found["level"] == "warn" and "(public.other)" in found["what"], found
    ready.config["outbox.ignore"] = "*, public.other"
    assert "publication_lookalikes" not in ready.check()


def test_a_publication_of_all_partitions_but_not_of_their_root(bare):
    bare.sql("CREATE TABLE outbox (id int, aggregatetype text, aggregateid text, type text, payload jsonb) "
             "PARTITION BY RANGE (id); CREATE TABLE p0 PARTITION OF outbox FOR VALUES FROM (0) TO (9); "
             "CREATE PUBLICATION walpost FOR TABLE p0 WITH (publish = 'insert')")
    bare.init()
    _warned_then_cured(bare, "publication_table", "later partitions")


def test_a_short_wal_sender_timeout(ready, server):
    server.set_conf(wal_sender_timeout="2s")
    _warned_then_cured(ready, "wal_sender_timeout", "2000 ms")


def test_weak_transport_that_is_written_out(ready, server):
    ready.config["postgres.conninfo"] = "host=db.invalid sslmode=prefer"
    found = ready.check()["sslmode"]
    assert found["level"] == "warn" and found["cure"].endswith("sslmode=verify-full")


def test_sql_ascii_is_told(server, folder):
    database = Administered(server, folder, encoding="SQL_ASCII")
    database.init()
    assert "SQL_ASCII" in database.check()["encoding"]["what"]
    database.end()
