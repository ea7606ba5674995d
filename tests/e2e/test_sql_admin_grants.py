"""sql/grants.sql and grants_drop.sql: a role for the relay with what it needs and nothing more."""

import json

import psycopg
import pytest

from lib.relay import config_text, run_command
from lib.sql_scripts import (
    end_text, forget_role, good, passing_role, refused, run_psql, run_script, script_command, skip_records,
    slot_accept, slot_advance, slot_create, slot_drop, slot_status,
)
from lib.stage import identifier

pytestmark = pytest.mark.on("all")


def _rights(stage, role):
    """REPLICATION, LOGIN, and what was granted to that role by name in this database."""
    (attributes,) = stage.sql("SELECT rolreplication, rolcanlogin FROM pg_roles WHERE rolname = %s", (role,))
    granted = stage.sql(
        """SELECT what, string_agg(privilege_type, ' ' ORDER BY privilege_type) FROM (
             SELECT c.relname::text AS what, a.* FROM pg_class c, aclexplode(c.relacl) a
               WHERE c.relnamespace = to_regnamespace('walpost')
             UNION ALL SELECT 'schema', a.* FROM pg_namespace n, aclexplode(nspacl) a WHERE nspname = 'walpost'
             UNION ALL SELECT 'database', a.* FROM pg_database d, aclexplode(datacl) a
               WHERE datname = current_database()) g
           WHERE grantee = (SELECT oid FROM pg_roles WHERE rolname = %s) GROUP BY what ORDER BY what""", (role,))
    return attributes, dict(granted)


_ALL_GRANTED = {
    "database": "CONNECT", "schema": "USAGE", "skip": "INSERT SELECT", "slot_checkpoint": "INSERT SELECT UPDATE",
}


@pytest.fixture
def role(stage):
    """A name for a role, which is gone afterwards."""
    name = f'Re"lay\'s é {stage.name}'
    yield name
    forget_role(stage, name)


def test_a_relay_works_with_the_role_that_is_made_and_with_nothing_else(stage, role):
    """In a database where PUBLIC may do nothing, from the first start to the administration and on."""
    stage.sql(f"REVOKE ALL ON DATABASE {stage.database} FROM PUBLIC; REVOKE ALL ON SCHEMA public FROM PUBLIC")
    good(run_script(stage, "grants.sql", role=role),
         f"role {role}: created, may log in and replicate", "no password yet")
    assert _rights(stage, role) == ((True, True), _ALL_GRANTED)
    with pytest.raises(psycopg.Error, match="permission denied"):
        with stage.connect(user=role) as connection:
            connection.execute("SELECT FROM public.outbox")
    stage.create_topic()
    changes = {"postgres.conninfo": stage.postgres.conninfo(stage.database, user=role)}
    relay = stage.relay(changes)
    first = stage.insert()
    stage.wait_all_confirmed(relay=relay)
    stage.wait_claimed(relay)
    complaints = [line for line in relay.log() if line["level"] in ("warn", "error")
                  and line["event"] not in ("kafka_log", "sink_unreachable")]  # a late answer, say
    assert {line.get("name") for line in complaints} <= {"server_version"}, relay.log_tail()  # bugs of its minor
    refused(run_script(stage, "grants_drop.sql", role=role),
            f"role {role} is connected (process ", "stop its relay first")
    relay.stop()
    assert stage.sql("SELECT stopped FROM walpost.slot_checkpoint") == [(True,)]
    file = stage.folder / "check.conf"
    file.write_text(config_text(stage.config(changes)))
    findings = {f["name"]: f["level"] for f in json.loads(run_command("check", "-c", file, "--json").stdout)}
    assert (findings["role"], findings["checkpoint"]) == ("ok", "ok") and "fail" not in findings.values()

    given_up = stage.insert()
    end = end_text(stage)
    good(slot_status(stage, user=role), "no relay reads slot")
    good(slot_advance(stage, to=end, give_up=1, user=role), "recorded in walpost.skip")
    assert [record[3:] for record in skip_records(stage)] == [(1, role)]
    good(slot_drop(stage, user=role))
    good(slot_create(stage, user=role))
    good(slot_accept(stage, user=role), "accepted at")
    relay.start()
    stage.wait_streaming(relay)
    last = stage.insert()
    stage.wait_all_confirmed(relay=relay)
    seen = [message.id for message in stage.read()]
    assert first in seen and last in seen and given_up not in seen
    relay.stop()


def test_a_role_that_is_there_is_given_what_it_lacks_and_a_second_time_does_no_harm(stage, role):
    stage.sql(f"CREATE ROLE {identifier(role)} NOLOGIN")
    for _ in range(2):
        ran = good(run_script(stage, "grants.sql", role=role), f"role {role}: already exists, may log in and replicate")
        assert "password" not in ran.stdout and "more privileges than it needs" not in ran.stdout
        assert _rights(stage, role) == ((True, True), _ALL_GRANTED)


def test_walpost_reissue_is_granted_where_it_exists_and_revoked(stage, role):
    good(run_script(stage, "grants.sql", role=role), "walpost.reissue does not exist", "run reissue.sql")
    good(run_psql(script_command(stage, "reissue.sql", options=("-q", "-v", "ON_ERROR_STOP=1"))))
    good(run_script(stage, "grants.sql", role=role),
         "walpost.skip, and walpost.reissue and walpost.dead_letters_retried")
    assert _rights(stage, role) == ((True, True), {
        **_ALL_GRANTED, "reissue": "DELETE INSERT SELECT", "dead_letters_retried": "INSERT SELECT UPDATE",
        "replay": "INSERT SELECT UPDATE"})
    with stage.connect(user=role) as connection:
        connection.execute("SELECT walpost.reissue_message('s', 'note', 'x', 'r')")
        assert connection.execute("SELECT count(*) FROM walpost.reissue").fetchone() == (0,)
    good(run_script(stage, "grants_drop.sql", role=role))
    assert _rights(stage, role)[1] == {}


def test_tables_of_parked_events_are_granted_where_they_exist_and_revoked(stage, role):
    good(run_script(stage, "grants.sql", role=role), "walpost.parked does not exist", "run parked.sql")
    good(run_psql(script_command(stage, "parked.sql", options=("-q", "-v", "ON_ERROR_STOP=1"))))
    good(run_script(stage, "grants.sql", role=role), ", and walpost.parked")
    everything = "DELETE INSERT SELECT UPDATE"
    assert _rights(stage, role) == ((True, True), {
        **_ALL_GRANTED, "parked": everything, "parking": everything, "parked_acts": "INSERT SELECT"})
    with stage.connect(user=role) as connection:
        connection.execute("INSERT INTO walpost.parked_acts (slot, act, outbox, position, events, code, reason) "
                           "VALUES ('s', 'skip', 'o', 'p', 1, 'c', 'r')")
    good(run_script(stage, "grants_drop.sql", role=role))
    assert _rights(stage, role)[1] == {}


def test_cleanup_is_granted_where_its_table_is_and_revoked(stage, role):
    good(run_script(stage, "grants.sql", role=role))
    good(run_psql(script_command(stage, "cleanup.sql", options=("-q", "-v", "ON_ERROR_STOP=1"))))
    good(run_script(stage, "grants.sql", role=role))
    assert _rights(stage, role) == ((True, True), {
        **_ALL_GRANTED, "cleanup_floor": "DELETE INSERT SELECT UPDATE", "cleanup_detached": "SELECT"})
    good(run_script(stage, "grants_drop.sql", role=role))
    assert _rights(stage, role)[1] == {}


def test_moving_scheduled_events_is_granted_where_there_are_any_and_revoked(stage, role):
    good(run_script(stage, "grants.sql", role=role), "walpost.scheduled does not exist", "run schedule.sql")
    good(run_psql(script_command(stage, "schedule.sql", options=("-q", "-v", "ON_ERROR_STOP=1"))))
    good(run_script(stage, "grants.sql", role=role), ", and move scheduled events")
    with stage.connect(user=role) as connection:
        assert connection.execute("SELECT moved, due FROM walpost.move_due(1)").fetchone() == (0, 0)
        assert connection.execute("SELECT due FROM walpost.scheduled_state()").fetchone() == (0,)
    good(run_script(stage, "grants_drop.sql", role=role))
    assert _rights(stage, role)[1] == {}
    assert stage.sql("SELECT has_function_privilege(%s, 'walpost.move_due(integer)', 'EXECUTE')", (role,)) == [(False,)]


def test_a_role_that_has_more_than_it_needs_is_told(stage, role):
    stage.sql(f"CREATE ROLE {identifier(role)} CREATEDB BYPASSRLS IN ROLE pg_monitor")
    good(run_script(stage, "grants.sql", role=role),
         f"role {role} has more privileges than it needs: CREATEDB, BYPASSRLS, member of pg_monitor")


def test_a_superuser_is_granted_nothing(stage):
    refused(run_script(stage, "grants.sql", role="postgres"), "role postgres is a superuser and needs no grants")
    stage.sql(f"CREATE ROLE root_{stage.name} SUPERUSER")
    refused(run_script(stage, "grants_drop.sql",
            role=f"root_{stage.name}"), "is a superuser, to which grants.sql grants nothing")
    stage.sql(f"DROP ROLE root_{stage.name}")


def test_without_the_slot_checkpoint_nothing_is_granted_and_no_role_is_made(stage, role):
    stage.sql("DROP TABLE walpost.skip")
    refused(run_script(stage, "grants.sql", role=role),
            "walpost.slot_checkpoint or walpost.skip is missing in database "
            f"{stage.database}: run slot_checkpoint.sql or `walpost init` first")
    assert not stage.sql("SELECT FROM pg_roles WHERE rolname = %s", (role,))
    good(run_psql(script_command(stage, "slot_checkpoint.sql", options=("-q", "-v", "ON_ERROR_STOP=1"))))
    good(run_script(stage, "grants.sql", role=role))


def test_one_who_may_not_grant_changes_nothing(stage, role):
    """The server only warns then."""
    with passing_role(stage, f"guest_{stage.name}", "LOGIN CREATEROLE") as guest:
        stage.sql(f"CREATE ROLE {identifier(role)} LOGIN REPLICATION")
        stage.sql(f"GRANT USAGE ON SCHEMA walpost TO {guest}; "
                  f"GRANT SELECT ON walpost.slot_checkpoint, walpost.skip TO {guest}")
        refused(run_script(stage, "grants.sql", role=role, user=guest), "nothing was changed: role "
                f"{guest} may not grant all privileges; run this as the owner")
        assert _rights(stage, role)[1] == {}
        good(run_script(stage, "grants.sql", role=role))
        refused(run_script(stage, "grants_drop.sql", role=role, user=guest), "ERROR:  ")
        assert _rights(stage, role) == ((True, True), _ALL_GRANTED)


def _administrator(stage, attributes):
    """Owns the database and the slot checkpoint, and is no superuser."""
    name = f"dba_{stage.name}"
    stage.sql(f"CREATE ROLE {name} LOGIN {attributes}; ALTER DATABASE {stage.database} OWNER TO {name}; "
              f"ALTER SCHEMA walpost OWNER TO {name}; ALTER TABLE walpost.slot_checkpoint OWNER TO {name}; "
              f"ALTER TABLE walpost.skip OWNER TO {name}")
    return name


@pytest.mark.on(since=16)
def test_since_16_an_owner_who_may_create_roles_and_replicate_can_do_it(stage, role):
    dba = _administrator(stage, "CREATEROLE REPLICATION")
    try:
        good(run_script(stage, "grants.sql", role=role, user=dba), "created, may log in and replicate")
        assert _rights(stage, role) == ((True, True), _ALL_GRANTED)
        good(run_script(stage, "grants_drop.sql", role=role, user=dba))
        assert _rights(stage, role) == ((False, True), {})
        good(run_script(stage, "grants_drop.sql", role=role, user=dba, drop_role="yes"))
    finally:
        forget_role(stage, role)
        forget_role(stage, dba)


@pytest.mark.on(below=16)
def test_before_16_only_a_superuser_gives_replication(stage, role):
    dba = _administrator(stage, "CREATEROLE REPLICATION")
    try:
        refused(run_script(stage, "grants.sql", role=role, user=dba), "must be superuser to alter replication")
        assert _rights(stage, role) == ((False, True), _ALL_GRANTED)
        stage.sql(f"ALTER ROLE {identifier(role)} REPLICATION")
        good(run_script(stage, "grants.sql", role=role, user=dba), "already exists, may log in and replicate")
        assert _rights(stage, role) == ((True, True), _ALL_GRANTED)
    finally:
        forget_role(stage, role)
        forget_role(stage, dba)


def _done_but_replication(make_stage, server, sign, cure):
    stage = make_stage(postgres=server)
    dba = _administrator(stage, "CREATEROLE CREATEDB")
    if sign:
        stage.sql(f"CREATE ROLE {sign}")
    refused(run_script(stage, "grants.sql", role="walpost", user=dba),
            "role walpost may not replicate yet (", "; all else is done. To do: " + cure + "walpost")
    assert _rights(stage, "walpost") == ((False, True), _ALL_GRANTED)
    good(run_script(stage, "grants.sql", role="walpost"), "already exists, may log in and replicate")
    refused(run_script(stage, "grants_drop.sql", role="walpost", user=dba),
            "role walpost still may replicate (", "; all else is done. To do, as an administrator who may: ")
    assert _rights(stage, "walpost")[1] == {}
    good(run_script(stage, "grants_drop.sql", role="walpost"), "and no REPLICATION")


@pytest.mark.parametrize("sign, cure", [
    ("cloudsqlsuperuser", "as a user with the role cloudsqlsuperuser, ALTER USER "),
    ("azure_pg_admin", "as the administrator of the server, ALTER ROLE "),
    (None, "as a superuser, or in PostgreSQL 16 and newer a role with CREATEROLE and REPLICATION, ALTER ROLE "),
])
def test_an_administrator_who_may_not_give_replication_does_the_rest_and_is_told_who_may(
        make_stage, own_postgres, sign, cure):
    """As at a provider, where nobody is superuser."""
    _done_but_replication(make_stage, own_postgres, sign, cure)


@pytest.mark.on(since=16)  # before, CREATEROLE is enough to grant any role
def test_an_administrator_who_may_not_grant_amazons_role_does_the_rest(make_stage, own_postgres):
    _done_but_replication(make_stage, own_postgres, "rds_replication",
                          "as a member of rds_superuser, GRANT rds_replication TO ")


def test_where_replication_is_a_role_to_be_a_member_of_that_is_granted(make_stage, own_postgres):
    """As on Amazon's servers, as far as that can be played: a role rds_replication is there."""
    stage = make_stage(postgres=own_postgres)
    stage.sql("CREATE ROLE rds_replication")
    good(run_script(stage, "grants.sql", role="walpost"))
    assert _rights(stage, "walpost") == ((False, True), _ALL_GRANTED)
    assert stage.sql("SELECT pg_has_role('walpost', 'rds_replication', 'MEMBER')") == [(True,)]
    assert "more privileges than it needs" not in good(run_script(stage, "grants.sql", role="walpost")).stdout
    good(run_script(stage, "grants_drop.sql", role="walpost"))
    assert stage.sql("SELECT pg_has_role('walpost', 'rds_replication', 'MEMBER')") == [(False,)]


def test_what_was_granted_is_taken_back_and_what_walpost_wrote_stays(stage, role):
    stage.sql("INSERT INTO walpost.skip VALUES ('x', '0/1', '0/2')")
    good(run_script(stage, "grants.sql", role=role))
    for _ in range(2):
        good(run_script(stage, "grants_drop.sql", role=role), f"role {role}: has no more privileges on walpost's "
             f"objects in database {stage.database}, and no REPLICATION")
        assert _rights(stage, role) == ((False, True), {})
    assert len(skip_records(stage)) == 1
    refused(run_script(stage, "grants_drop.sql", role=role, drop_role="maybe"), "drop_role = maybe: use yes or no")
    good(run_script(stage, "grants_drop.sql", role=role, drop_role="yes"), f"role {role}: dropped, with all its grants")
    refused(run_script(stage, "grants_drop.sql", role=role), f"there is no role {role}")


def test_without_the_schema_the_rest_is_taken_back(stage, role):
    good(run_script(stage, "grants.sql", role=role))
    stage.sql("DROP SCHEMA walpost CASCADE")
    good(run_script(stage, "grants_drop.sql", role=role, drop_role="yes"), "dropped, with all its grants")


def test_a_role_that_serves_another_database_may_still_replicate(stage, make_stage, role):
    elsewhere = make_stage()
    for one in (stage, elsewhere):
        good(run_script(one, "grants.sql", role=role))
    ran = good(run_script(stage, "grants_drop.sql", role=role), "it keeps REPLICATION because it has privileges "
               f"in {elsewhere.database} (revoke it with ALTER ROLE ")
    assert _rights(stage, role) == ((True, True), {}) and _rights(elsewhere, role) == ((True, True), _ALL_GRANTED), ran
    refused(run_script(stage, "grants_drop.sql", role=role, drop_role="yes"),
            "cannot be dropped because some objects depend")
    assert _rights(elsewhere, role) == ((True, True), _ALL_GRANTED)
    good(run_script(elsewhere, "grants_drop.sql", role=role))
    assert _rights(stage, role) == ((False, True), {})


def test_nobody_takes_the_rights_of_the_role_that_runs_the_script(stage):
    with passing_role(stage, f"guest_{stage.name}") as guest:
        refused(run_script(stage, "grants_drop.sql", role=guest, user=guest), "is running this script")
