"""The double of a cloud's Postgres door: who has the right token is let in, to the real server, by a client that is
none of ours."""

import threading
import time

import psycopg
import pytest

from lib.doubles import checkers
from lib.doubles.checkers import AZURE_POSTGRES, DeniedByServer
from lib.doubles.clouds import new_credentials
from lib.doubles.postgres_front import PostgresFront
from lib.doubles.sigv4 import Verifier, presign
from lib.doubles.tokens import Key
from lib.waiting import wait_until

REGION, MINE, ADDRESS = "eu-central-1", new_credentials(), "db.example:5432"


def _rds_password(user="postgres", address=ADDRESS, credentials=MINE, action="connect", service="rds-db", **options):
    url = presign(f"https://{address}/?Action={action}&DBUser={user}", credentials, service, REGION, **options)
    return url.removeprefix("https://")


def _denied(check, password, words, user="postgres"):
    with pytest.raises(DeniedByServer) as denied:
        check(user, password)
    assert words in denied.value.why


def test_rds_takes_a_presigned_url_without_its_scheme():
    check, now = checkers.rds(Verifier(MINE), REGION, ADDRESS), time.time()
    assert now + 895 < check("postgres", _rds_password()) <= now + 905
    for password, words in (
            ("https://" + _rds_password(), "scheme"), (_rds_password("other"), "another user"),
            (_rds_password(address="db.example"), "it is for"), (_rds_password(action="Connect"), "action"),
            (_rds_password(service="rds"), "correct service"), (_rds_password(expires=901), "900"),
            (_rds_password(at=now - 901), "expired"), (_rds_password(credentials=new_credentials()), "security token"),
            (_rds_password()[:-1] + "g", "does not match"), ("secret", "it is for")):
        _denied(check, password, words)


def test_azure_and_google_take_an_access_token():
    key, now = Key(), int(time.time())
    check = checkers.azure_postgres(key)
    assert check("any", key.jwt(aud=AZURE_POSTGRES, exp=now + 9)) == now + 9
    _denied(check, key.jwt(aud="https://other", exp=now + 9), "not for")
    _denied(check, key.jwt(aud=AZURE_POSTGRES, exp=now - 9), "expired")
    check = checkers.google_postgres({"ya29.x": ("me@p.iam.gserviceaccount.com", now + 9)})
    assert check("me@p.iam", "ya29.x") == now + 9
    _denied(check, "ya29.x", "another's", "you@p.iam")
    _denied(check, "ya29.y", "unknown", "me@p.iam")


@pytest.fixture
def front(stage, authority):
    with PostgresFront(authority.issue("server"), stage.postgres.port,
                       checkers.rds(Verifier(MINE), REGION, ADDRESS)) as front:
        yield front


def test_it_lets_sessions_replication_and_cancels_through(stage, front, authority):
    conninfo = front.conninfo(stage, "postgres", authority)
    with psycopg.connect(conninfo, password=_rds_password(), autocommit=True) as connection:
        assert connection.execute("SELECT current_user, current_database()").fetchall() == [
            ("postgres", stage.database)]

        def cancel():
            sleeps = "SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event = 'PgSleep'"
            wait_until(lambda: stage.sql(sleeps), 20, "the session sleeps")
            connection.cancel_safe()  # cancel() keeps the lock that the front needs

        canceller = threading.Thread(target=cancel)
        canceller.start()
        with pytest.raises(psycopg.errors.QueryCanceled):
            connection.execute("SELECT pg_sleep(200)")
        canceller.join()
    wait_until(lambda: front.cancels == 1, 5, "the cancel has come")
    with psycopg.connect(conninfo + " replication=database", password=_rds_password(), autocommit=True,
                         cursor_factory=psycopg.ClientCursor) as connection:
        assert connection.execute("IDENTIFY_SYSTEM").fetchone()[3] == stage.database
    assert [login.again for login in front.good] == [False, True]


def test_it_refuses_as_the_provider_does_and_cuts(stage, front, authority):
    conninfo = front.conninfo(stage, "postgres", authority)
    with pytest.raises(psycopg.OperationalError, match='PAM authentication failed for user "postgres"'):
        psycopg.connect(conninfo, password="wrong")
    with pytest.raises(psycopg.OperationalError, match="no encryption"):
        psycopg.connect(conninfo.replace("verify-full", "disable"), password=_rds_password())
    front.refuse(DeniedByServer("not today", "as told"))
    with pytest.raises(psycopg.OperationalError, match="not today"):
        psycopg.connect(conninfo, password=_rds_password())
    assert [login.who for login in front.logins] == ["", ""] and not front.good
    front.refuse(None)
    with psycopg.connect(conninfo, password=_rds_password(), autocommit=True) as connection:
        front.cut()
        with pytest.raises(psycopg.OperationalError):
            connection.execute("SELECT 1")


def test_much_goes_through_both_ways_at_once(stage, front, authority):
    with psycopg.connect(front.conninfo(stage, "postgres", authority), password=_rds_password(),
                         autocommit=True) as connection:
        text = "x" * 20_000_000
        assert connection.execute("SELECT %s || 'y'", (text,)).fetchone()[0] == text + "y"
