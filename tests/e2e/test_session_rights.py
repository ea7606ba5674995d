"""As which role the relay acts, and what row-level security hides from it."""

import json
import re

import pytest

from e2e.test_park import PARK
from lib import backfill
from lib.administered import Administered
from lib.relay import Relay, config_text, run_command
from lib.sql_scripts import passing_role, run_script

pytestmark = pytest.mark.on(18, 17, 14)

REFUSED = 2


def _run(stage, *arguments, changes):
    file = stage.folder / f"{arguments[0]}.conf"
    file.write_text(config_text(stage.config(changes)))
    return run_command(*arguments, "-c", file)


def _as(stage, role, **more):
    return {"postgres.conninfo": stage.postgres.conninfo(stage.database, user=role, **more)}


# --- a role that the settings give


def _by_role(database, role, other):
    database.sql(f"ALTER ROLE {role} SET role = '{other}'")
    return {}


def _by_role_in_database(database, role, other):
    ((name,),) = database.sql("SELECT current_database()")
    database.sql(f"ALTER ROLE {role} IN DATABASE {name} SET role = '{other}'")
    return {}


def _by_options(database, role, other):
    return {"PGOPTIONS": f"-c role={other}"}


WAYS = [_by_role, _by_role_in_database, _by_options]
ways = pytest.mark.parametrize("give", WAYS, ids=["role", "database", "options"])


@ways
def test_the_relay_acts_as_its_login_role_and_finds_its_moved_slot(stage, give):
    stage.create_topic()
    with passing_role(stage, stage.name + "_owner", "NOLOGIN") as other, \
            passing_role(stage, stage.name + "_v", f"LOGIN REPLICATION IN ROLE {other}") as role:
        environment = give(stage, role, other)
        stage.sql(f"GRANT USAGE ON SCHEMA walpost TO {role}; GRANT ALL ON ALL TABLES IN SCHEMA walpost TO {role}")
        relay = stage.relay(_as(stage, role), environment=environment)
        stage.insert()
        stage.wait_all_confirmed(relay=relay)
        relay.stop()
        stage.wait_released()
        assert stage.sql("SELECT count(*) FROM walpost.slot_checkpoint") == [(1,)]
        stage.insert()
        stage.sql("SELECT pg_drop_replication_slot(%s)", (stage.slot,))
        stage.create_slot(with_truth=False)
        stage.insert()
        relay.start()
        assert relay.wait_exit() == 3 and relay.log("slot_moved"), relay.log_tail()
        assert len(stage.read()) == 1


@pytest.fixture
def owned(house, version, folder):
    """A database whose objects are to belong to one role, and a configuration with another's login, which has no right
    of its own."""
    database = Administered(house.postgres(version), folder)
    owner, role = database.name + "_owner", database.name + "_v"
    database.config["postgres.publication"] = database.name
    database.sql(f"CREATE ROLE {owner} NOLOGIN; CREATE ROLE {role} LOGIN REPLICATION NOINHERIT IN ROLE {owner}; "
                 f"GRANT CREATE ON DATABASE {database.name} TO {owner}; GRANT CREATE ON SCHEMA public TO {owner}")
    database.config["postgres.conninfo"] = database.server.conninfo(database.name, user=role)
    database.owner, database.role = owner, role
    yield database
    database.server.wait_no_temporary_slots(database.name, 30)
    database.sql(f"DROP OWNED BY {owner}, {role} CASCADE")
    for (slot, pid) in database.sql("SELECT slot_name, active_pid FROM pg_replication_slots "
                                    "WHERE database = current_database()"):
        assert pid is None
        database.sql("SELECT pg_drop_replication_slot(%s)", (slot,))
    database.server.query(f"DROP DATABASE {database.name} WITH (FORCE)")
    database.server.query(f"DROP ROLE {role}; DROP ROLE {owner}")


def _owners(database):
    return {owner for (owner,) in database.sql("""
        SELECT pg_get_userbyid(relowner) FROM pg_class WHERE relnamespace = 'walpost'::regnamespace AND relkind = 'r'
        UNION SELECT pg_get_userbyid(relowner) FROM pg_class WHERE oid = 'public.outbox'::regclass
        UNION SELECT pg_get_userbyid(pubowner) FROM pg_publication
        UNION SELECT pg_get_userbyid(nspowner) FROM pg_namespace WHERE nspname = 'walpost'""")}


def _init(database, give):
    """It makes everything; that the login role may not use it, it says at once."""
    environment = give(database, database.role, database.owner)
    done = database.command("init", environment=environment)
    assert done.returncode in (0, 1) and f"slot {database.slot}: created" in done.stdout, done.stdout + done.stderr
    assert done.returncode == 0 or "GRANT" in done.stderr, done.stderr
    return environment


def _relay(database, environment, folder):
    return Relay(database.config, folder, environment=environment)


def _check(database, environment):
    done = database.command("check", "--json", environment=environment)
    return done.returncode, [finding for finding in json.loads(done.stdout) if finding["level"] == "fail"]


@ways
def test_init_makes_its_objects_as_the_role_that_the_settings_give(owned, give):
    _init(owned, give)
    assert _owners(owned) == {owned.owner}


def _cured_by_check(database, environment, refused):
    code, failures = _check(database, environment)
    assert code == 1 and any("GRANT" in finding["cure"] and "walpost" in finding["cure"] for finding in failures)
    for finding in failures:
        database.apply(finding)


def test_missing_rights_are_granted_once_each_on_what_exists(owned):
    """A database that an earlier init prepared has less of what belongs together."""
    environment = _init(owned, _by_role)
    owned.sql("DROP TABLE walpost.replay, walpost.cleanup_detached CASCADE; "
              f"GRANT USAGE ON SCHEMA walpost TO {owned.role}; "
              f"GRANT SELECT, UPDATE ON walpost.slot_checkpoint TO {owned.role}")
    (finding,) = [finding for finding in _check(owned, environment)[1] if finding["name"] == "rights"]
    grants = finding["cure"].splitlines()
    assert len(set(grants)) == len(grants) and all(grant.endswith(f" TO {owned.role};") for grant in grants), grants
    assert f"GRANT INSERT ON walpost.slot_checkpoint TO {owned.role};" in grants
    assert not any("USAGE" in grant or "walpost.replay" in grant for grant in grants)
    owned.apply(finding)
    assert "rights" not in owned.check()


def _cured_by_run(database, environment, refused):
    said = " ".join(line.get("reason", "") for line in refused.log() if line["level"] == "error")
    grants = re.findall(r"GRANT .*? TO (?:\"[^\"]*\"|\w+)", said)
    assert grants, said
    for grant in grants:
        database.sql(grant)


@ways
@pytest.mark.parametrize("cure", [_cured_by_check, _cured_by_run], ids=["check", "run"])
def test_what_the_login_role_lacks_is_named_and_cured_by_the_grant(owned, folder, give, cure):
    environment = _init(owned, give)
    refused = _relay(owned, environment, folder).start()
    try:
        assert refused.wait_exit() in (2, 3), refused.log_tail()
        assert "GRANT" in refused.log_text() and "walpost" in refused.log_text() and owned.role in refused.log_text()
        code, failures = _check(owned, environment)
        assert code == 1 and "GRANT" in str(failures) and owned.role in str(failures), failures
        cure(owned, environment, refused)
        code, failures = _check(owned, environment)
        assert code == 0, failures
    finally:
        refused.end()
    relay = _relay(owned, environment, folder).start()
    try:
        owned.sql("INSERT INTO outbox (id, aggregatetype, aggregateid, type, payload) "
                  "VALUES (gen_random_uuid(), 'order', '1', 't', '{}')")
        relay.wait_until(relay.stdout_text, 30, "the event is written")
        relay.stop()
    finally:
        relay.end()
    assert owned.sql("SELECT count(*) FROM walpost.slot_checkpoint") == [(1,)]


# --- row-level security

POLICY = "CREATE POLICY part ON outbox FOR SELECT USING (aggregateid < 'k5')"


@pytest.fixture
def hiding(stage):
    """Ten rows, of which the relay's role is to see five, and none of them in Kafka yet."""
    stage.create_topic(partitions=1)
    stage.sql(f"ALTER TABLE {stage.table} ADD n bigint GENERATED ALWAYS AS IDENTITY")
    for script in ("reissue.sql", "parked.sql"):
        made = run_script(stage, script)
        assert made.returncode == 0, made.stderr
    with passing_role(stage, stage.name + "_rls", "LOGIN REPLICATION") as role:
        made = run_script(stage, "grants.sql", role=role)
        assert made.returncode == 0, made.stderr
        stage.sql(f"GRANT SELECT ON {stage.table} TO {role}")
        for n in range(10):
            stage.insert(f"k{n}")
        yield stage, role
        for relay in stage.relays:
            relay.end()


def _hide(stage, policy=POLICY):
    stage.sql(f"ALTER TABLE {stage.table} ENABLE ROW LEVEL SECURITY; {policy}")


def _sends_all(stage, role):
    relay = stage.relay(_as(stage, role))
    stage.wait_all_confirmed(relay=relay)
    assert sorted(message.key for message in stage.read()) == [b"k%d" % n for n in range(10)]
    return relay


def _refuses(done):
    said = done.stdout + done.stderr
    assert done.returncode == REFUSED, said
    assert re.search("row.level.security|row_security", said, re.IGNORECASE), said
    assert re.search("BYPASSRLS|policy", said), said


@pytest.mark.parametrize("policy", [POLICY, ""], ids=["some", "none"])
def test_diff_refuses_where_policies_hide_rows_and_run_sends_them_all(hiding, policy):
    stage, role = hiding
    _hide(stage, policy)
    _sends_all(stage, role)
    _refuses(_run(stage, "diff", changes=_as(stage, role)))
    stage.sql(f"ALTER ROLE {role} BYPASSRLS")
    compared = _run(stage, "diff", "--json", changes=_as(stage, role))
    assert compared.returncode == 0 and json.loads(compared.stdout)["equal"] == 10, compared.stderr


def test_diff_refuses_the_owner_too_where_policies_are_forced_on_him(hiding):
    stage, role = hiding
    _hide(stage)
    stage.sql(f"ALTER TABLE {stage.table} OWNER TO {role}")
    _sends_all(stage, role)
    assert _run(stage, "diff", changes=_as(stage, role)).returncode == 0
    stage.sql(f"ALTER TABLE {stage.table} FORCE ROW LEVEL SECURITY")
    _refuses(_run(stage, "diff", changes=_as(stage, role)))


def test_replay_refuses_where_policies_hide_rows(hiding):
    stage, role = hiding
    _hide(stage)
    _sends_all(stage, role)
    _refuses(_run(stage, "replay", "start", "--order-by", "n", changes=_as(stage, role)))
    assert len(stage.read()) == 10


def test_backfill_refuses_where_policies_hide_rows(hiding):
    stage, role = hiding
    _hide(stage)
    backfill.drop_slot(stage)
    _refuses(backfill.run(stage, "--missing", "--order-by", "n", changes=_as(stage, role)))
    backfill.no_slot_is_left(stage)
    assert stage.read() == []


@pytest.mark.parametrize("table", ["slot_checkpoint", "parked", "reissue"])
def test_a_policy_on_a_table_of_walposts_is_named_by_check_and_stops_the_relay(hiding, table):
    stage, role = hiding
    changes = {**_as(stage, role), **PARK}
    stage.sql(f"ALTER TABLE walpost.{table} ENABLE ROW LEVEL SECURITY; "
              f"CREATE POLICY nobody ON walpost.{table} USING (false)")
    checked = _run(stage, "check", "--json", changes=changes)
    failures = [finding for finding in json.loads(checked.stdout) if finding["level"] == "fail"]
    assert checked.returncode == 1 and re.search(rf"\b{table}\b", str(failures)), failures
    relay = stage.new_relay(changes).start()
    assert relay.wait_exit() in (2, 3), relay.log_tail()
    (error,) = [line for line in relay.log() if line["level"] == "error"]
    assert re.search(rf"\b{table}\b", str(error)) and re.search("polic|row.level", str(error), re.IGNORECASE), error
    stage.sql(f"ALTER TABLE walpost.{table} DISABLE ROW LEVEL SECURITY")
    _sends_all(stage, role)
