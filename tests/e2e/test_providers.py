"""`walpost check` on a provider's server, imitated by what only that has: roles, settings, functions, sessions."""

import contextlib

import pytest

from lib import process
from lib.administered import Administered
from lib.relay import clean_environment, config_text, run_command

pytestmark = pytest.mark.on("all")

_RDS = ["CREATE ROLE rds_replication"]
_CLOUD_SQL = ["CREATE ROLE cloudsqlsuperuser"]
_AZURE = ["CREATE ROLE azure_pg_admin"]


@contextlib.contextmanager
def _like(server, statements):
    """While roles are there that are there on the provider's servers only."""
    for statement in statements:
        server.query(statement)
    try:
        yield
    finally:
        for statement in statements:
            server.query(statement.replace("CREATE", "DROP"))


@contextlib.contextmanager
def _wal_level_replica(server):
    for (slot,) in server.query("SELECT slot_name FROM pg_replication_slots"):
        server.query("SELECT pg_drop_replication_slot(%s)", (slot,))
    server.query("ALTER SYSTEM SET wal_level = 'replica'")
    server.restart()
    try:
        yield
    finally:
        server.query("ALTER SYSTEM RESET wal_level")
        server.restart()


@pytest.mark.parametrize("statements, name, cure", [
    (_RDS, "Amazon RDS", "rds.logical_replication = 1\n-- then reboot"),
    (_CLOUD_SQL, "Google Cloud SQL", "cloudsql.logical_decoding=on"),
    (_AZURE, "Azure Database for PostgreSQL", "--name wal_level --value logical"),
], ids=["rds", "cloud sql", "azure"])
def test_a_server_without_a_logical_wal_is_cured_as_its_provider_wants(bare, server, statements, name, cure):
    with _like(server, statements), _wal_level_replica(server):
        found = bare.check()
    assert name in found["provider"]["what"]
    assert found["wal_level"]["level"] == "fail" and cure in found["wal_level"]["cure"]
    assert "ALTER SYSTEM" not in "".join(finding["cure"] for finding in found.values())


def test_a_server_of_ones_own_has_no_provider(ready):
    assert "provider" not in ready.check()


def test_aurora_is_known_by_its_function(ready):
    ready.sql("CREATE FUNCTION aurora_version() RETURNS text LANGUAGE sql RETURN '17.4.1'")
    assert "Amazon Aurora" in ready.check()["provider"]["what"]


def test_a_setting_that_only_a_provider_has_tells(ready):
    ready.sql(f"ALTER DATABASE {ready.name} SET neon.timeline_id = 'abc'")
    found = ready.check()
    assert "Neon" in found["provider"]["what"]
    assert found["provider_slots"]["level"] == "warn" and "40 hours" in found["provider_slots"]["what"]


def test_patroni_is_known_by_its_sessions(ready, server):
    with server.connect(application_name="Patroni heartbeat"):
        found = ready.check()
    assert "Patroni" in found["provider"]["what"]
    assert "patronictl edit-config CLUSTER --pg max_slot_wal_keep_size=" in found["slot_retention"]["cure"]


def test_cloudnativepg_is_known_by_its_files(bare, server):
    server.set_conf(ssl_cert_file="/controller/certificates/server.crt")
    found = bare.check()
    assert "CloudNativePG" in found["provider"]["what"]
    assert 'spec.postgresql.parameters: max_slot_wal_keep_size: "' in found["slot_retention"]["cure"]


def test_a_relay_is_let_in_by_the_role_that_the_provider_gives(ready, server):
    """A role without REPLICATION: refused with the grant that RDS has, which `check` then takes for what it is."""
    role = f"relay_{ready.name}"
    server.query(f"CREATE ROLE {role} LOGIN")
    with _like(server, _RDS):
        ready.config["postgres.conninfo"] = server.conninfo(ready.name, user=role)
        found = ready.check()["role"]
        assert found["level"] == "fail" and found["cure"] == f'GRANT rds_replication TO "{role}";'
        server.query(found["cure"])
        assert ready.check()["role"]["level"] == "ok"
    ready.sql(f"DROP OWNED BY {role}")
    server.query(f"DROP ROLE {role}")


@pytest.fixture
def administrator(server, folder):
    """As a provider gives it: owner of the database, no superuser, and cannot give REPLICATION."""
    database = Administered(server, folder)
    name = f"admin_{database.name}"
    server.query(f"CREATE ROLE {name} LOGIN CREATEROLE CREATEDB; ALTER DATABASE {database.name} OWNER TO {name}")
    if int(server.version) >= 15:
        database.sql(f"ALTER SCHEMA public OWNER TO {name}")
    database.config["postgres.conninfo"] = server.conninfo(database.name, user=name)
    yield database
    database.end()
    server.query(f"DROP ROLE {name}")


@contextlib.contextmanager
def _relays_role(database):
    name = f"relay_{database.name}"
    database.server.query(f"CREATE ROLE {name} LOGIN")
    try:
        yield name
    finally:
        database.sql(f"DROP OWNED BY {name}; DROP ROLE {name}")


_HAVE_ALL = """SELECT count(*) FROM pg_class c WHERE relnamespace = to_regnamespace('walpost') AND relname IN
               ('slot_checkpoint', 'skip', 'reissue', 'dead_letters_retried', 'replay', 'parked', 'parking',
                'parked_acts', 'scheduled', 'cleanup_floor')"""


def _without_a_superuser(administrator, relay, cure):
    """`init` does all but what only others may, and says how they do it."""
    done = administrator.command("init", "--role", relay)
    assert done.returncode == 1 and "not ready: fix the problems above" in done.stderr, done.stderr
    assert f"role {relay} may not replicate yet" in done.stderr and cure in done.stderr
    slot = f"slot {administrator.slot} was not created"
    assert slot in done.stderr and done.stderr.count("was not created") == 1
    assert f"(role {relay}): walpost slot create" in done.stderr
    assert f"role {relay}: may write walpost.slot_checkpoint" in done.stdout
    assert administrator.sql(_HAVE_ALL) == [(10,)]


@pytest.mark.parametrize("statements, cure", [
    (_CLOUD_SQL, "-- as a user with the role cloudsqlsuperuser, such as postgres:"),
    (_AZURE, "-- as the administrator of the server:"),
    ([], "ALTER ROLE"),
], ids=["cloud sql", "azure", "own"])
def test_without_a_superuser_init_does_all_but_what_only_others_may_and_says_how_they_do_it(
        administrator, server, statements, cure):
    with _relays_role(administrator) as relay, _like(server, statements):
        _without_a_superuser(administrator, relay, cure)
        server.query(f"ALTER ROLE {relay} REPLICATION")  # by those who may; then the relay's role creates the slot
        administrator.config["postgres.conninfo"] = server.conninfo(administrator.name, user=relay)
        done = administrator.command("slot", "create")
        assert done.returncode == 0, done.stderr
        assert not administrator.failures()


@pytest.mark.on(since=16)  # before, CREATEROLE is enough to grant any role
def test_without_a_member_of_rds_superuser_init_says_what_that_one_grants(administrator, server):
    with _relays_role(administrator) as relay, _like(server, _RDS):
        _without_a_superuser(administrator, relay, "GRANT rds_replication TO")


def test_the_owner_of_the_database_makes_all_but_the_slot_and_the_relays_role_that(administrator, server):
    """As next to CloudNativePG, where the operator has given REPLICATION: neither has a right too many."""
    owner = f"admin_{administrator.name}"
    server.query(f"ALTER ROLE {owner} NOCREATEROLE NOCREATEDB")
    with _relays_role(administrator) as relay:
        server.query(f"ALTER ROLE {relay} REPLICATION")
        done = administrator.command("init", "--role", relay)
        assert done.returncode == 1 and done.stderr.count("FAIL") == 1, done.stderr
        assert f"with the relay's own conninfo (role {relay}): walpost slot create" in done.stderr
        administrator.config["postgres.conninfo"] = server.conninfo(administrator.name, user=relay)
        assert administrator.command("slot", "create").returncode == 0
        assert not administrator.failures()
        with server.connect(administrator.name, user=owner) as application:
            application.execute("INSERT INTO outbox (id, aggregatetype, aggregateid, type, payload) "
                                "VALUES (gen_random_uuid(), 'a', 'b', 'c', '{}')")


def test_an_administrator_who_may_give_replication_does_it_as_the_provider_wants(administrator, server):
    """Amazon's administrator has the role rds_replication with the right to grant it."""
    admin = f"admin_{administrator.name}"
    with _relays_role(administrator) as relay, _like(server, _RDS):
        server.query(f"GRANT rds_replication TO {admin} WITH ADMIN OPTION")
        done = administrator.command("init", "--role", relay)
        assert f"role {relay}: may replicate and may write" in done.stdout, done.stderr
        assert server.query("SELECT pg_has_role(%s, 'rds_replication', 'MEMBER')", (relay,)) == [(True,)]


def test_the_printed_sql_gives_replication_or_warns_and_does_the_rest(administrator, server):
    with _relays_role(administrator) as relay:
        script = administrator.command("init", "--print-sql", "--role", relay).stdout
        with _like(server, _RDS):
            assert administrator.psql(script).returncode == 0
            assert server.query("SELECT pg_has_role(%s, 'rds_replication', 'MEMBER')", (relay,)) == [(True,)]
        administrator.sql("SELECT pg_drop_replication_slot(%s)", (administrator.slot,))
        administrator.sql("DROP SCHEMA walpost CASCADE; DROP PUBLICATION walpost, walpost_reissue; DROP TABLE outbox")
        done = run_psql(administrator, script)
        assert "WARNING:  the role may not replicate yet" in done.stderr
        assert administrator.sql(_HAVE_ALL) == [(10,)]


def run_psql(database, script):
    """By the administrator of the configuration, statement by statement, to the end."""
    return process.run(["psql", "-X", "-q", "-d", database.config["postgres.conninfo"]], input=script,
                       env=clean_environment())


def test_a_pooler_is_named_with_the_server_behind_it(ready, server):
    """By its name: the address is that of a server, which would do."""
    ready.config["postgres.conninfo"] = (
        f"host=ep-a-1-pooler.eu-central-1.aws.neon.tech hostaddr=127.0.0.1 port={server.port} user=postgres "
        f"dbname={ready.name} sslmode=disable")
    found = ready.check()
    assert "Neon" in found["provider"]["what"]
    assert found["pooler"]["level"] == "warn" and "does not support replication" in found["pooler"]["what"]
    assert found["pooler"]["cure"] == "-- in postgres.conninfo: host=ep-a-1.eu-central-1.aws.neon.tech"


def test_a_host_with_ipv6_only_that_is_not_reached_is_told(ready):
    ready.config["postgres.conninfo"] = "host=db.abcdefghijkl.supabase.co hostaddr=127.0.0.1 port=1 user=x dbname=x"
    found = ready.check()["connection"]
    assert found["level"] == "fail" and "has an IPv6 address only" in found["cure"]


def test_event_hubs_is_told_which_compression_it_takes(folder):
    """By the host name alone: without a broker that answers, the rest is not known."""
    file = folder / "hubs.conf"
    file.write_text(config_text({
        "postgres.conninfo": "host=127.0.0.1 port=1 user=x dbname=x", "postgres.slot": "x",
        "kafka.bootstrap.servers": "localhost.servicebus.windows.net:1", "kafka.compression.type": "lz4"}))
    done = run_command("check", "--json", "-c", file)
    assert done.returncode == 1
    assert "compression.type is lz4: Azure Event Hubs refuses" in done.stdout, done.stdout
