"""What pages of the documentation say to do works to the letter."""

import re

import pytest

from lib import places

PAGES = places.TREE / "deploy" / "docs" / "pages"


def _blocks(page, language):
    return re.findall(rf"^```{language}\n(.*?)^```$", (PAGES / page).read_text(), re.DOTALL | re.MULTILINE)


def _sql(page):
    return _blocks(page, "sql")


def test_an_event_is_sent_later(stage):
    """What the page says to an application, by a role that has what the page grants and no more."""
    blocks = _sql("producers/delay.md")
    tomorrow, message = (block for block in blocks if "walpost.schedule(" in block)
    (unschedule,) = (block for block in blocks if "walpost.unschedule(" in block)
    (grants,) = (block for block in blocks if "GRANT" in block)
    role = f"{stage.name}_app"
    stage.create_topic()
    stage.sql((places.TREE / "sql" / "schedule.sql").read_text())
    stage.sql(f"CREATE ROLE {role} LOGIN; GRANT INSERT ON outbox TO {role};" + re.sub(r"\bapp\b", role, grants))
    try:
        with stage.connect(user=role) as app:
            (first,) = app.execute(tomorrow).fetchone()
            for block in (tomorrow, message):
                app.execute(block)
            (withdrawn,) = app.execute(unschedule.replace("42", str(first))).fetchone()
            assert withdrawn and app.execute(unschedule).fetchone() == (False,)
        assert stage.sql("SELECT deliver_at > now(), message FROM walpost.scheduled ORDER BY id") == [
            (True, False), (True, True)]
        relay = stage.relay({"outbox.message.prefix": "outbox"})
        stage.sql("UPDATE walpost.scheduled SET deliver_at = now()")
        relay.wait_until(lambda: stage.sql("SELECT count(*) FROM walpost.scheduled") == [(0,)], 10, "they are moved")
        stage.wait_all_confirmed(relay=relay)
        assert sorted(message.key for message in stage.read()) == [b"order-1", b"order-1"]
    finally:
        stage.sql(f"DROP OWNED BY {role}; DROP ROLE {role}")


def test_old_rows_are_deleted_by_the_relay(stage):
    (prepare,) = [block for block in _sql("operations/cleanup.md") if "SET DEFAULT clock_timestamp()" in block]
    (options,) = [block for block in _blocks("operations/cleanup.md", "ini") if "mode = delete" in block]
    given = dict(re.findall(r"^(\S+) = (.*)$", options, re.MULTILINE))
    assert given == {"column.inserted": "created_at", "mode": "delete", "keep": "168h"}
    stage.create_topic()
    stage.sql((places.TREE / "sql" / "cleanup.sql").read_text())
    for statement in prepare.split(";")[:3]:  # the last is for the relay's role
        stage.sql(statement)
    relay = stage.relay({"outbox.column.inserted": given["column.inserted"], "cleanup.mode": given["mode"],
                         "cleanup.keep": given["keep"], "cleanup.interval": "100ms"})
    known = "SELECT count(*) FROM walpost.cleanup_floor WHERE wait_for IS NULL"
    relay.wait_until(lambda: stage.sql(known) == [(1,)], 30, "the floor is known")
    stage.insert("new")
    stage.sql("""INSERT INTO outbox (id, aggregatetype, aggregateid, type, created_at)
                 SELECT gen_random_uuid(), 'order', 'old', 't', now() - interval '8 days'
                 FROM generate_series(1, 10)""")
    rest = "SELECT aggregateid FROM outbox"
    relay.wait_until(lambda: stage.sql(rest) == [("new",)], 30, "the old ones are deleted")
    stage.wait_all_confirmed(relay=relay)
    assert len(stage.read()) == 11


@pytest.mark.on("all")
def test_what_an_earlier_build_recorded_of_its_slot_is_kept(stage):
    """Grants, too: the relay writes the renamed table as a role of its own."""
    (rename,) = _sql("operations/upgrades.md")
    role = f"{stage.name}_relay"
    stage.create_topic()
    stage.sql("ALTER TABLE walpost.slot_checkpoint RENAME TO witness")
    stage.sql(f"""CREATE ROLE {role} LOGIN REPLICATION; GRANT USAGE ON SCHEMA walpost TO {role};
                  GRANT SELECT, INSERT, UPDATE ON walpost.witness TO {role}""")
    try:
        stage.sql(rename)
        relay = stage.relay({"postgres.conninfo": stage.postgres.conninfo(stage.database, user=role)})
        stage.insert()
        stage.wait_all_confirmed(relay=relay)
        relay.stop()
        assert stage.sql("SELECT slot, stopped FROM walpost.slot_checkpoint") == [(stage.slot, True)]
        stage.sql("ALTER TABLE walpost.slot_checkpoint RENAME TO witness")  # as an earlier build would have left it
        stage.sql("SELECT pg_replication_slot_advance(%s, pg_current_wal_lsn())", (stage.slot,))
        stage.sql(rename)
        relay.start()
        assert relay.wait_exit() == 3 and relay.log("slot_moved")
    finally:
        stage.sql(f"DROP OWNED BY {role}; DROP ROLE {role}")
