"""Prepared transactions: nothing of them before COMMIT PREPARED, everything once after it."""

import pytest

from lib.checker import check_all

pytestmark = pytest.mark.on("all")


@pytest.fixture
def preparing(make_stage, own_postgres):
    own_postgres.restart(max_prepared_transactions=5)
    stage = make_stage(postgres=own_postgres)
    stage.create_topic()
    return stage


def _prepare(stage, name):
    """The id of an event in a prepared transaction."""
    with stage.connect() as connection:
        connection.execute("BEGIN")
        id = stage.insert("prepared", connection=connection)
        connection.execute(f"PREPARE TRANSACTION '{name}'")
    return id


def test_what_is_prepared_and_rolled_back_never_arrives(preparing):
    relay = preparing.relay()
    _prepare(preparing, "gone")
    direct = preparing.insert()
    preparing.wait_all_confirmed()
    preparing.sql("ROLLBACK PREPARED 'gone'")
    later = preparing.insert()
    preparing.wait_all_confirmed(20, relay)
    assert {m.id for m in preparing.read()} == {direct, later}


def test_what_is_prepared_outlives_relay_and_server_and_arrives_once_at_its_commit(preparing, own_postgres):
    relay = preparing.relay()
    _prepare(preparing, "gone")
    prepared = _prepare(preparing, "later")
    direct = preparing.insert()
    preparing.wait_all_confirmed(20, relay)
    relay.stop()
    own_postgres.restart("fast", max_prepared_transactions=5)
    relay.start()
    preparing.wait_streaming(relay)
    before = len(preparing.read())  # Postgres before 17 may have sent `direct` again
    preparing.sql("ROLLBACK PREPARED 'gone'")
    preparing.sql("COMMIT PREPARED 'later'")
    preparing.wait_all_confirmed(20, relay)
    messages = preparing.read()
    check_all(messages, preparing.truth.events())
    assert {m.id for m in messages} == {prepared, direct}
    assert [m.id for m in messages].count(prepared) == 1 and before >= 1


def test_a_slot_that_decodes_at_prepare_is_refused_by_run(make_stage):
    stage = make_stage()
    stage.sql("SELECT pg_drop_replication_slot(%s)", (stage.slot,))
    stage.sql("SELECT pg_create_logical_replication_slot(%s, 'pgoutput', false, true)", (stage.slot,))
    stage.create_topic()
    stage.insert()
    before = stage.confirmed()
    relay = stage.new_relay().start()
    assert relay.wait_exit() in (2, 3)
    (said,) = [line["reason"] for line in relay.log() if line["level"] == "error"]
    assert "two_phase" in said
    assert stage.read() == [] and stage.confirmed() == before
    assert stage.sql("SELECT count(*) FROM pg_stat_replication WHERE application_name = 'walpost'") is not None
