"""What pages of the documentation say to do works to the letter."""

import re

import pytest

from lib import places

PAGES = places.TREE / "deploy" / "docs" / "pages"


def _sql(page):
    """The blocks of SQL of a page."""
    return re.findall(r"^```sql\n(.*?)^```$", (PAGES / page).read_text(), re.DOTALL | re.MULTILINE)


def test_an_event_is_delayed_by_a_table_of_its_own(stage):
    ((create, move),) = [block.split("\n\n") for block in _sql("producers/delay.md")]
    stage.create_topic()
    stage.sql(create)
    stage.sql("""INSERT INTO outbox_later (due, id, aggregatetype, aggregateid, type, payload)
                 VALUES (now() - interval '1 s', gen_random_uuid(), 'order', 'due', 'created', '{}'),
                        (now() + interval '1 h', gen_random_uuid(), 'order', 'not due', 'created', '{}')""")
    relay = stage.relay()
    for _ in range(2):
        stage.sql(move)
    stage.wait_all_confirmed(relay=relay)
    assert [message.key for message in stage.read()] == [b"due"]
    assert stage.sql("SELECT aggregateid FROM outbox_later") == [("not due",)]


def test_old_rows_are_deleted_in_batches(stage):
    ((add, delete),) = [block.split("\n\n") for block in _sql("operations/cleanup.md") if "ctid" in block]
    stage.create_topic()
    relay = stage.relay()
    stage.sql(add)
    stage.insert_many(10, "old{0}")
    stage.sql("UPDATE outbox SET created_at = now() - interval '8 days'")
    stage.insert("new")
    stage.sql(delete)
    stage.wait_all_confirmed(relay=relay)
    assert stage.sql("SELECT aggregateid FROM outbox") == [("new",)]
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
