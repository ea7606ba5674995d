"""Every refusal of `walpost check` carries its cure: taken word for word, `check` then passes."""

import json
import re
import socket
import subprocess

import pytest

from lib.ports import take_port
from lib.relay import config_text, run_command
from lib.stage import OUTBOX_COLUMNS

# "-- set outbox.table = x", "-- then set postgres.slot = y"
_SETTING = re.compile(r"^-- (?:then )?set ([a-z_.]+) = (.*)$", re.MULTILINE)


class Checked:
    """A stage and the configuration that `check` is given."""

    def __init__(self, stage, changes=None):
        self.stage = stage
        self.config = stage.config(changes)

    def findings(self):
        """What `check --json` says: exit code, findings by level."""
        path = self.stage.folder / "check.conf"
        path.write_text(config_text(self.config))
        done = run_command("check", "--json", "-c", path)
        assert done.returncode in (0, 1), done.stderr
        found = json.loads(done.stdout)
        assert (done.returncode == 1) == any(f["level"] == "fail" for f in found), found
        return found

    def failures(self):
        return [f for f in self.findings() if f["level"] == "fail"]

    def warnings(self):
        return {f["name"] for f in self.findings() if f["level"] == "warn"}

    def take(self, finding):
        """Does what the cure says, and nothing else."""
        assert finding["cure"], finding
        for key, value in _SETTING.findall(finding["cure"]):
            self.config[key] = value
        subprocess.run(
            ["psql", "-X", "-q", "-v", "ON_ERROR_STOP=1", "-d", self.stage.postgres.conninfo(self.stage.database)],
            input=finding["cure"], text=True, check=True, capture_output=True,
        )
        if "restart the server" in finding["what"]:
            self.stage.postgres.restart()

    def cured(self, *names):
        """It fails for exactly these reasons; each cure is taken; then it passes."""
        failed = self.failures()
        assert [f["name"] for f in failed] == list(names), failed
        for finding in failed:
            self.take(finding)
        assert self.failures() == []


@pytest.mark.on(18, 15)
def test_check_passes_where_all_is_well(stage):
    checked = Checked(stage)
    assert checked.failures() == []
    path = stage.folder / "check.conf"
    done = run_command("check", "-c", path)
    assert done.returncode == 0 and "FAIL" not in done.stdout
    assert len(done.stdout.splitlines()) >= 10


def test_check_passes_right_after_init(make_stage):
    stage = make_stage(set_up=False)
    checked = Checked(stage)
    path = stage.folder / "check.conf"
    path.write_text(config_text(checked.config))
    done = run_command("init", "-c", path)
    assert done.returncode == 0, done.stderr
    assert checked.failures() == [] and not checked.warnings() - {"server_version", "sslmode"}


@pytest.mark.on(18, 15)
def test_wal_level(make_stage, own_postgres):
    stage = make_stage(postgres=own_postgres, set_up=False)
    stage.sql(f"CREATE TABLE outbox ({OUTBOX_COLUMNS})")
    stage.publish("outbox")
    with open(own_postgres.data / "postgresql.conf", "a") as conf:
        conf.write("wal_level = replica\n")
    own_postgres.restart()
    checked = Checked(stage)
    by_name = {f["name"]: f for f in checked.failures()}
    assert set(by_name) == {"wal_level", "slot"}
    checked.take(by_name["wal_level"])
    checked.take(by_name["slot"])
    assert checked.failures() == []


@pytest.mark.on(18, 15)
def test_nothing_at_all(make_stage):
    stage = make_stage(set_up=False)
    Checked(stage).cured("table", "publication", "slot")


def test_missing_columns(stage):
    stage.sql("ALTER TABLE outbox DROP COLUMN type, DROP COLUMN payload")
    Checked(stage).cured("table_columns")


def test_a_view(stage):
    stage.sql("CREATE VIEW looks_like_it AS SELECT * FROM outbox")
    checked = Checked(stage, {"outbox.table": "looks_like_it"})
    failed = {f["name"]: f for f in checked.failures()}
    assert "table" in failed
    checked.take(failed["table"])
    assert checked.failures() == []


@pytest.mark.on(18, 15)
def test_an_unlogged_outbox(stage):
    stage.sql(f"DROP PUBLICATION {stage.publication}")
    stage.sql("ALTER TABLE outbox SET UNLOGGED")
    checked = Checked(stage)
    failed = {f["name"]: f for f in checked.failures()}
    assert "table_storage" in failed
    for finding in [failed.pop("table_storage"), *failed.values()]:
        checked.take(finding)
    assert checked.failures() == []


@pytest.mark.on(18, 15)
def test_a_publication_that_is_missing(stage):
    stage.sql(f"DROP PUBLICATION {stage.publication}")
    Checked(stage).cured("publication")


@pytest.mark.on(18, 15)
@pytest.mark.parametrize("flaw, name", [
    ("ALTER PUBLICATION {0} DROP TABLE outbox", "publication_table"),
    ("ALTER PUBLICATION {0} SET TABLE outbox (id, aggregateid, aggregatetype)", "publication_columns"),
    ("ALTER PUBLICATION {0} SET TABLE outbox WHERE (type = 'x')", "publication_filter"),
    ("ALTER PUBLICATION {0} SET (publish = 'update, delete')", "publication_inserts"),
])
def test_a_publication_that_lacks_something(stage, flaw, name):
    if "WHERE" in flaw:
        stage.sql("ALTER TABLE outbox REPLICA IDENTITY FULL")
    stage.sql(flaw.format(stage.publication))
    Checked(stage).cured(name)


@pytest.mark.on(18, 15)
def test_a_generated_column_that_is_not_published(make_stage):
    stage = make_stage(columns="""
        id uuid PRIMARY KEY, aggregatetype text, aggregateid text, type text, body text,
        payload text GENERATED ALWAYS AS (upper(body)) STORED""")
    Checked(stage).cured("publication_generated")


@pytest.mark.on(18, 15)
def test_a_slot_that_is_missing(stage):
    stage.sql("SELECT pg_drop_replication_slot(%s)", (stage.slot,))
    Checked(stage).cured("slot")


@pytest.mark.on(18, 15)
@pytest.mark.parametrize("made_by", [
    "SELECT pg_create_logical_replication_slot(%s, 'test_decoding')",
    "SELECT pg_create_physical_replication_slot(%s)",
    "SELECT pg_create_logical_replication_slot(%s, 'pgoutput', false, true)",
])
def test_a_slot_of_the_wrong_kind(stage, made_by):
    stage.sql("SELECT pg_drop_replication_slot(%s)", (stage.slot,))
    stage.sql(made_by, (stage.slot,))
    stage.also_drops(f"{stage.slot}_new")
    Checked(stage).cured("slot")


def test_a_slot_of_another_database(stage):
    stage.sql("SELECT pg_drop_replication_slot(%s)", (stage.slot,))
    stage.postgres.query("SELECT pg_create_logical_replication_slot(%s, 'pgoutput')", (stage.slot,))
    stage.also_drops(f"{stage.slot}_new")
    Checked(stage).cured("slot")


@pytest.mark.on(18, 15)
def test_a_slot_that_the_server_has_invalidated(make_stage, own_postgres):
    stage = make_stage(postgres=own_postgres)
    stage.sql("SELECT pg_drop_replication_slot(%s)", (stage.name + "_truth",))
    own_postgres.set_conf(max_slot_wal_keep_size="1MB", max_wal_size="32MB", min_wal_size="32MB")
    stage.sql("CREATE TABLE bulk (t text)")

    def is_lost():
        stage.sql("INSERT INTO bulk SELECT repeat('x', 1000) FROM generate_series(1, 20000)")
        stage.sql("SELECT pg_switch_wal()")
        stage.sql("CHECKPOINT")
        return stage.sql("SELECT wal_status FROM pg_replication_slots WHERE slot_name = %s", (stage.slot,)) == [
            ("lost",)]

    stage.wait_until(is_lost, 60, "the slot is lost")
    relay = stage.new_relay().start()
    assert relay.wait_exit() == 3 and stage.slot in relay.log_text()
    own_postgres.set_conf(max_slot_wal_keep_size="-1")
    Checked(stage).cured("slot")


def test_a_role_without_replication(stage):
    role = stage.name + "_role"
    stage.postgres.query(f"CREATE ROLE {role} LOGIN")
    try:
        stage.sql(f"GRANT USAGE ON SCHEMA walpost TO {role}")
        checked = Checked(stage, {"postgres.conninfo": stage.postgres.conninfo(stage.database, user=role)})
        checked.cured("role")
    finally:
        stage.sql(f"DROP OWNED BY {role}")
        stage.postgres.query(f"DROP ROLE {role}")


@pytest.mark.on(18, 15)
@pytest.mark.parametrize("names", ["*", "walpost", "ANY 1 (a, walpost)", "FIRST 1 (walpost, b)"])
def test_a_relay_that_synchronous_standby_names_would_count(make_stage, own_postgres, names):
    stage = make_stage(postgres=own_postgres)
    own_postgres.set_conf(synchronous_commit="local")
    own_postgres.set_conf(synchronous_standby_names=names)
    relay = stage.new_relay().start()
    assert relay.wait_exit() == 2 and "synchronous_standby_names" in relay.log_text()
    Checked(stage).cured("synchronous_standby_names")


def test_a_relay_that_synchronous_standby_names_counts_may_be_allowed(make_stage, own_postgres):
    stage = make_stage(postgres=own_postgres)
    own_postgres.set_conf(synchronous_commit="local")
    own_postgres.set_conf(synchronous_standby_names="walpost")
    checked = Checked(stage, {"postgres.allow_synchronous": "yes"})
    assert checked.failures() == []


@pytest.mark.parametrize("setting", ["max_replication_slots", "max_wal_senders"])
def test_no_room_for_one_more(make_stage, own_postgres, setting):
    stage = make_stage(postgres=own_postgres)
    if setting == "max_replication_slots":
        stage.sql("SELECT pg_drop_replication_slot(%s)", (stage.slot,))
    with open(own_postgres.data / "postgresql.conf", "a") as conf:
        conf.write(f"{setting} = 1\n")
    own_postgres.restart()
    checked = Checked(stage)
    if setting == "max_wal_senders":
        other = subprocess.Popen(
            ["pg_recvlogical", "-d", own_postgres.conninfo(stage.database), "--slot", stage.name + "_truth",
             "--start", "-f", "/dev/null"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            stage.wait_until(lambda: stage.sql("SELECT * FROM pg_stat_replication"), 10, "the only place is taken")
            failed = {f["name"]: f for f in checked.failures()}
        finally:
            other.kill()
            other.wait()
        checked.take(failed[setting])
    else:
        failed = {f["name"]: f for f in checked.failures()}
        checked.take(failed[setting])
        checked.take(failed["slot"])
    assert checked.failures() == []


def test_kafka_that_does_not_answer(stage):
    checked = Checked(stage, {"kafka.bootstrap.servers": f"127.0.0.1:{take_port()}"})
    assert [f["name"] for f in checked.failures()] == ["kafka"]


def test_postgres_that_does_not_answer(stage):
    checked = Checked(stage, {"postgres.conninfo": f"host=127.0.0.1 port={take_port()} dbname=x user=y"})
    assert "connection" in [f["name"] for f in checked.failures()]


def test_weak_tls_to_a_host_that_is_not_local_is_warned_of(stage):
    conninfo = stage.postgres.conninfo(stage.database, host="db.example", hostaddr="127.0.0.1", sslmode="prefer")
    assert "sslmode" in Checked(stage, {"postgres.conninfo": conninfo}).warnings()


def test_without_an_sslmode_a_host_that_is_not_local_gets_require(stage):
    conninfo = stage.postgres.conninfo(stage.database, host="db.example", hostaddr="127.0.0.1")
    failed = {f["name"]: f for f in Checked(stage, {"postgres.conninfo": conninfo}).failures()}
    assert "SSL" in failed["connection"]["what"]


def test_other_tables_of_the_publication_are_warned_of_and_the_cure_silences_it(stage):
    stage.sql('CREATE TABLE "Other One" (n int)')
    stage.sql(f'ALTER PUBLICATION {stage.publication} ADD TABLE "Other One"')
    checked = Checked(stage)
    (finding,) = [f for f in checked.findings() if f["name"] == "publication_others"]
    assert finding["level"] == "warn"
    checked.take(finding)
    stage.relay(checked.config)
    stage.sql('INSERT INTO "Other One" VALUES (1)')
    stage.wait_all_confirmed()


def test_a_server_that_says_nothing_is_given_up(stage):
    with socket.create_server(("127.0.0.1", 0)) as deaf:
        port = deaf.getsockname()[1]
        checked = Checked(stage, {
            "postgres.conninfo": f"host=127.0.0.1 port={port} dbname=x user=y", "postgres.connect_timeout": "1s"})
        assert "connection" in [f["name"] for f in checked.failures()]
