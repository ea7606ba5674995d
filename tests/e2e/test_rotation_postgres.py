"""Passwords and certificates of Postgres that are rotated while we run: the next connection has the new ones."""

import shutil
import signal

import pytest

from lib.checker import check_all
from lib.guarded import GuardedPostgres
from lib.secrets import Mounted, put
from lib.waiting import holds_for

OLD, NEW = "the first password", "another  one's \\ password"


@pytest.fixture
def server(guarded_postgres):
    return guarded_postgres


@pytest.fixture
def guarded(make_stage, server):
    stage = make_stage(postgres=server)
    server.admit(stage)
    stage.create_topic(partitions=1)
    return stage


def _set_password(stage, password):
    literal = "'" + password.replace("'", "''") + "'"
    stage.sql(f"SET password_encryption = 'scram-sha-256'; ALTER ROLE relay PASSWORD {literal}")


@pytest.fixture
def rotating(guarded, server, folder):
    """A relay that streams, its password in a file."""
    _set_password(guarded, OLD)
    file = put(folder / "password", OLD + "\n")
    relay = guarded.relay({"postgres.conninfo": server.relay_conninfo(guarded, password=None)},
                          environment={"WALPOST__POSTGRES__PASSWORD_FILE": str(file)})
    relay.password_file = file
    guarded.insert()
    guarded.wait_all_confirmed(30, relay)
    return relay


def _sever(stage):
    """Ends all that the relay has; true when it had something."""
    return stage.sql("SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE usename = 'relay'")[0][0]


def _goes_on(stage, relay):
    """What comes now is delivered by the same process."""
    stage.insert_many(100, "a{0}")
    stage.wait_all_confirmed(40, relay)
    assert relay.is_alive()
    for secret in (OLD, NEW, GuardedPostgres.PASSWORD):
        assert secret not in relay.log_text()
    check_all(stage.read(), stage.truth.events())


@pytest.mark.on("all")
def test_a_password_that_was_rotated_is_used_at_the_next_connection(guarded, rotating):
    put(rotating.password_file, NEW + "\n")
    _set_password(guarded, NEW)
    guarded.insert()
    guarded.wait_all_confirmed(30, rotating)  # the old connection is as good as before
    _sever(guarded)
    _goes_on(guarded, rotating)
    rotating.wait_log("event=postgres_secret_reread")
    (said, *_) = rotating.log("postgres_secret_reread")
    assert said["key"] == "postgres.password" and said["file"] == str(rotating.password_file)
    assert not rotating.log("postgres_secret_unreadable")
    rotating.signal(signal.SIGHUP)
    rotating.wait_log("event=reloaded")
    assert not rotating.log("restart_needed")


@pytest.mark.parametrize("first", ["server", "file"])
def test_while_server_and_file_disagree_about_the_password_it_is_tried_again(guarded, rotating, first):
    change = {"server": lambda: _set_password(guarded, NEW), "file": lambda: put(rotating.password_file, NEW)}
    change.pop(first)()
    _sever(guarded)
    guarded.insert()
    rotating.wait_log("password authentication failed", count=2)
    holds_for(lambda: rotating.is_alive() and not guarded.is_streaming(), 1, "it waits")
    change.popitem()[1]()
    _goes_on(guarded, rotating)


def test_a_file_that_is_just_being_replaced_does_no_harm_and_is_told_once(guarded, rotating):
    rotating.password_file.unlink()
    for _ in range(3):
        pid = guarded.slot_row()[2]
        _sever(guarded)
        rotating.wait_until(lambda: guarded.slot_row()[2] not in (None, pid), 20, "it streams again")
    rotating.password_file.write_text("")
    _sever(guarded)
    _goes_on(guarded, rotating)
    (said,) = rotating.log("postgres_secret_unreadable")
    assert said["level"] == "warn" and str(rotating.password_file) in said["reason"]


def test_a_conninfo_in_a_file_is_read_at_the_next_connection(guarded, server, folder):
    """Operators hand over a whole URI."""
    file = put(folder / "uri", server.relay_conninfo(guarded) + "\n")
    relay = guarded.relay({"postgres.conninfo": None}, environment={"WALPOST__POSTGRES__CONNINFO_FILE": str(file)})
    put(file, server.relay_conninfo(guarded, password=NEW) + "\n")
    _set_password(guarded, NEW)
    _sever(guarded)
    _goes_on(guarded, relay)
    # Half of one is none.
    put(file, "host=localhost passw")
    _sever(guarded)
    _goes_on(guarded, relay)
    (said,) = relay.log("postgres_secret_unreadable")
    assert said["key"] == "postgres.conninfo"


def test_a_passfile_is_read_at_the_next_connection(guarded, server, folder):
    _set_password(guarded, "plain")
    file = put(folder / "passfile", "localhost:*:*:relay:plain\n")
    relay = guarded.relay({"postgres.conninfo": server.relay_conninfo(guarded, password=None, passfile=file)})
    put(file, "localhost:*:*:relay:newer\n")
    _set_password(guarded, "newer")
    _sever(guarded)
    _goes_on(guarded, relay)


def test_a_standby_too_waits_for_the_new_password_and_then_takes_over(guarded, rotating, server):
    """It was let in before, though it never streamed."""
    standby = guarded.new_relay({"postgres.conninfo": server.relay_conninfo(guarded, password=None)}, environment={
        "WALPOST__POSTGRES__PASSWORD_FILE": str(rotating.password_file)}).start()
    standby.wait_log("-> standby")
    _set_password(guarded, NEW)
    rotating.stop()
    _sever(guarded)
    standby.wait_log("password authentication failed", count=2)
    put(rotating.password_file, NEW)
    _goes_on(guarded, standby)


def test_without_the_right_password_at_the_start_it_ends_as_ever(guarded, server, folder):
    file = put(folder / "password", OLD)
    relay = guarded.new_relay({"postgres.conninfo": server.relay_conninfo(guarded, password=None)},
                              environment={"WALPOST__POSTGRES__PASSWORD_FILE": str(file)}).start()
    assert relay.wait_exit() == 2
    file.unlink()
    relay.start()
    assert relay.wait_exit() == 2
    assert "cannot be read" in relay.log_text()


@pytest.mark.on("all")
def test_certificates_of_both_sides_and_their_authority_are_rotated(guarded, server, folder):
    """libpq reads its files at each connection; no signal, no restart."""
    def texts(authority):
        client = authority.issue("relay")
        return {"tls_crt": client.certificate.read_text(), "tls_key": client.key.read_text(),
                "ca_crt": authority.certificate.read_text()}

    def issuer():
        return guarded.sql("SELECT issuer_dn FROM pg_stat_ssl WHERE pid = %s", (guarded.slot_row()[2],))

    mounted = Mounted(folder / "mounted").update(**texts(server.authority))
    relay = guarded.relay({"postgres.conninfo": server.relay_conninfo(
        guarded, sslcert=mounted.path("tls.crt"), sslkey=mounted.path("tls.key"), sslrootcert=mounted.path("ca.crt"))})
    guarded.insert()
    guarded.wait_all_confirmed(30, relay)
    assert issuer() == [("/CN=authority",)]

    server.renew(server.stranger)
    _sever(guarded)
    relay.wait_log("certificate verify failed")
    mounted.update(**texts(server.stranger))
    _goes_on(guarded, relay)
    assert issuer() == [("/CN=stranger",)]
    shutil.rmtree(mounted.folder)
