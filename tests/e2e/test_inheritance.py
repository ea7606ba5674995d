"""Tables that inherit from an outbox: no row of one is passed over, and a relay that cannot have them says so."""

import re

import pytest

from lib.cures import failures, follow_check
from lib.relay import run_command
from lib.stage import OUTBOX_COLUMNS
from lib.waiting import holds_for

pytestmark = pytest.mark.on(18, 14)
WITHIN_S = 60
ROW = "(id, aggregatetype, aggregateid, type, payload) VALUES (gen_random_uuid(), 'order', '1', 'created', '{}')"


def _stage(make_stage, publication, columns=OUTBOX_COLUMNS):
    stage = make_stage(set_up=False)
    stage.sql(f"CREATE TABLE outbox ({columns})")
    stage.sql("CREATE TABLE child () INHERITS (outbox)" if "child" in publication else "SELECT")
    stage.sql(f"CREATE PUBLICATION {stage.publication} {publication.split('|')[0]} WITH (publish = 'insert')")
    stage.create_slot(with_truth=False)
    stage.create_topic(partitions=1)
    return stage


def _ends(relay, deadline=WITHIN_S):
    assert relay.wait_exit(deadline) == 3, relay.log_tail()
    (line,) = [line for line in relay.log() if line["level"] == "error"]
    return line


@pytest.mark.parametrize("made", [
    "CREATE TABLE child () INHERITS (outbox)",
    "CREATE TABLE child (LIKE outbox); ALTER TABLE child INHERIT outbox",
    "CREATE TABLE first () INHERITS (outbox); CREATE SCHEMA old; CREATE TABLE old.child (note text) INHERITS (first)",
], ids=["created", "attached", "grandchild"])
def test_a_child_that_is_not_published_is_named_while_the_relay_runs_and_cured_to_the_letter(stage, made):
    stage.create_topic(partitions=1)
    relay = stage.relay()
    relay.changes = {}
    stage.insert()
    stage.wait_all_confirmed(relay=relay)
    stage.wait_claimed(relay)
    stage.sql(made)
    line = _ends(relay)
    assert line["event"] == "events_would_be_lost" and "child" in line["reason"] and "inherit" in line["reason"]
    shown = run_command("status", "-c", relay.config_file)
    assert "child" in shown.stdout, shown.stdout
    assert "child" in failures(relay)["publication_children"]["what"]
    assert relay.start().wait_exit() == 3
    changes = follow_check(stage, relay, {})
    stage.relay(changes)
    stage.sql(f"INSERT INTO {'old.' if 'old' in made else ''}child {ROW}")
    stage.wait_until(lambda: len(stage.read()) == 2, 20, "the child's row is there")


@pytest.mark.parametrize("publication", ["FOR ALL TABLES", "FOR TABLE outbox|child", "FOR TABLES IN SCHEMA public"])
def test_a_child_that_is_published_is_never_dropped_by_a_pattern(make_stage, publication, version):
    if "SCHEMA" in publication and int(version) < 15:
        return
    stage = _stage(make_stage, publication)
    config = {"outbox.ignore": "*"}
    if "child" not in publication:
        relay = stage.relay(config)
        with stage.transaction() as connection:
            connection.execute("CREATE TABLE child () INHERITS (outbox)")
            connection.execute(f"INSERT INTO child {ROW}")
        line = _ends(relay)
        assert "public.child" in line["reason"] and "outbox.leaves" in line["reason"]
    else:
        stage.sql(f"INSERT INTO child {ROW}")
    stage.wait_released()
    relay = stage.new_relay(config).start()
    assert "public.child" in _ends(relay)["reason"]
    relay.changes = config
    found = failures(relay)["publication_children"]
    assert "public.child" in found["what"] and "Their first row stops the relay" in found["what"]
    changes = follow_check(stage, relay, config)
    assert changes["outbox.leaves"] == "public.child"
    stage.relay({**config, **changes})
    stage.wait_until(lambda: len(stage.read()) == 1, 20, "the child's row is there")


def test_a_row_of_a_child_stops_the_relay_also_where_its_columns_are_not_published(make_stage, version):
    """The catalog says what it is; a row of it, with other columns than an outbox's, does not."""
    stage = _stage(make_stage, "FOR TABLE ONLY outbox")
    columns = "(id)" if int(version) >= 15 else ""
    relay = stage.relay({"outbox.ignore": "*"})
    with stage.transaction() as connection:
        connection.execute("CREATE TABLE child () INHERITS (outbox)")
        connection.execute(f"ALTER PUBLICATION {stage.publication} ADD TABLE ONLY child {columns}")
        connection.execute(f"INSERT INTO child {ROW}")
    line = _ends(relay)
    assert line["event"] == "stream_refused"
    assert "public.child, which inherits from an outbox" in line["reason"] and "outbox.leaves" in line["reason"]
    assert re.search("at [0-9A-F]+/[0-9A-F]+", line["reason"])


def test_a_child_that_leaves_cover_or_an_exact_name_ignores_hinders_nothing(make_stage):
    stage = _stage(make_stage, "FOR ALL TABLES")
    relay = stage.relay({"outbox.ignore": "*, public.archive", "outbox.leaves": "public.outbox_*"})
    stage.sql("CREATE TABLE outbox_1 (note text) INHERITS (outbox); CREATE TABLE archive () INHERITS (outbox)")
    stage.sql(f"INSERT INTO archive {ROW}; INSERT INTO outbox_1 {ROW}; INSERT INTO outbox {ROW}")
    stage.wait_all_confirmed(relay=relay)
    assert len(stage.read()) == 2
    assert relay.is_alive() and not failures(relay)


def test_a_child_of_a_pattern_s_table_is_named(make_stage):
    stage = make_stage(set_up=False)
    stage.sql(f"CREATE SCHEMA tenant_1; CREATE TABLE tenant_1.outbox ({OUTBOX_COLUMNS}); CREATE SCHEMA tenant_2; "
              "CREATE TABLE tenant_2.outbox (LIKE tenant_1.outbox)")
    stage.sql(f"CREATE PUBLICATION {stage.publication} FOR ALL TABLES WITH (publish = 'insert')")
    stage.create_slot(with_truth=False)
    stage.create_topic(partitions=1)
    config = {"outbox.table": "tenant_*.outbox", "outbox.ignore": "*"}
    relay = stage.relay(config)
    stage.sql("CREATE TABLE tenant_1.old () INHERITS (tenant_1.outbox)")
    assert "inherit from tenant_*.outbox, and neither" in _ends(relay)["reason"]
    assert ": tenant_1.old." in failures(relay)["publication_children"]["what"]
    stage.sql(f"INSERT INTO tenant_1.old {ROW}")
    changes = follow_check(stage, relay, config)
    stage.relay({**config, **changes})
    stage.wait_until(lambda: len(stage.read()) == 1, 20, "the child's row is there")


def test_a_detached_partition_is_no_child(make_stage):
    stage = make_stage(set_up=False)
    stage.sql(f"CREATE TABLE outbox ({OUTBOX_COLUMNS.replace('PRIMARY KEY', '')}, day int) PARTITION BY LIST (day); "
              "CREATE TABLE outbox_1 PARTITION OF outbox FOR VALUES IN (1)")
    stage.publish("outbox", options="publish = 'insert', publish_via_partition_root = true")
    stage.create_slot(with_truth=False)
    stage.create_topic(partitions=1)
    relay = stage.relay()
    stage.sql("ALTER TABLE outbox DETACH PARTITION outbox_1")
    assert "publication_children" not in failures(relay)
    stage.sql("CREATE TABLE child () INHERITS (outbox_1)")
    assert not failures(relay)


def test_a_child_is_added_while_the_relay_runs_as_the_documentation_says(stage):
    stage.create_topic(partitions=1)
    relay = stage.relay()
    relay.reload(stage.config({"outbox.leaves": "public.outbox_20*"}))
    with stage.transaction() as connection:
        connection.execute("CREATE TABLE outbox_2026 () INHERITS (outbox)")
        connection.execute(f"ALTER PUBLICATION {stage.publication} ADD TABLE ONLY outbox_2026")
    stage.sql(f"INSERT INTO outbox_2026 {ROW}")
    stage.wait_all_confirmed(relay=relay)
    assert len(stage.read()) == 1
    holds_for(relay.is_alive, 5, "it goes on")
    assert not failures(relay)


def test_a_child_beside_columns_that_are_configured_otherwise_and_logical_messages(make_stage):
    columns = OUTBOX_COLUMNS.replace("payload ", "body ").replace("aggregateid", "who")
    stage = _stage(make_stage, "FOR ALL TABLES", columns)
    config = {"outbox.column.payload": "body", "outbox.column.key": "who", "outbox.message.prefix": "note",
              "outbox.ignore": "*"}
    relay = stage.relay(config)
    with stage.transaction() as connection:
        connection.execute("CREATE TABLE child () INHERITS (outbox)")
        connection.execute("INSERT INTO child (id, aggregatetype, who, type, body) "
                           "VALUES (gen_random_uuid(), 'order', '1', 'created', '{}')")
    assert "public.child, which inherits from an outbox" in _ends(relay)["reason"]
