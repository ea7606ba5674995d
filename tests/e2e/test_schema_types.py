"""Types that come and go: what the log does not tell of them is asked of the catalog, anew where it must be."""

import json

import pytest

TABLE = "id int PRIMARY KEY, aggregatetype text, aggregateid {key}, type {type}, payload text, at {at}"
DEBEZIUM = {"outbox.types": "debezium", "outbox.key.format": "raw", "outbox.headers": "at"}
SCHEMAS = {"outbox.types": "debezium", "outbox.value.format": "json-schema", "outbox.value.columns": "type,at"}
MADE = "2024-01-01 00:00:00.123"
MS = b"1704067200123"


def staged(make_stage, before="", key="text", type="text", at="text"):
    stage = make_stage(columns=TABLE.format(key=key, type=type, at=at), before=before)
    stage.create_topic(partitions=1)
    return stage


def insert(stage, *, type="made", key="1.50", at=MADE):
    """As literals, which take whatever type their column has."""
    stage.sql("INSERT INTO outbox "
              f"SELECT coalesce(max(id), 0) + 1, 'order', '{key}', '{type}', 'p', '{at}' FROM outbox")


def sent(stage, relay=None):
    stage.wait_all_confirmed(relay=relay)
    return stage.read("order")


def field(message, name):
    return next(f for f in json.loads(message.value)["schema"]["fields"] if f["field"] == name)


@pytest.mark.on("all")
def test_a_column_that_becomes_one_of_a_new_domain_is_written_as_before(make_stage):
    stage = staged(make_stage, key="numeric(10,2)", at="timestamp(3)")
    relay = stage.relay(DEBEZIUM)
    insert(stage)
    stage.wait_all_confirmed(relay=relay)
    stage.sql("CREATE DOMAIN amount AS numeric(10,2); CREATE DOMAIN moment AS timestamp(3); "
              "ALTER TABLE outbox ALTER aggregateid TYPE amount, ALTER at TYPE moment")
    insert(stage)
    messages = sent(stage, relay)
    assert [(m.key, m.header("at")) for m in messages] == [(b"1.50", MS)] * 2
    assert relay.is_alive() and len(relay.log("types_asked_anew")) == 1


@pytest.mark.on("all")
def test_rows_of_a_column_that_lost_its_domain_while_we_slept_are_written_as_they_were(make_stage):
    stage = staged(make_stage, "CREATE DOMAIN amount AS numeric(10,2); CREATE DOMAIN moment AS timestamp(3)",
                   key="amount", at="moment")
    insert(stage)
    stage.sql("ALTER TABLE outbox ALTER aggregateid TYPE numeric(10,2), ALTER at TYPE timestamp(3)")
    insert(stage)
    relay = stage.relay(DEBEZIUM)
    assert [(m.key, m.header("at")) for m in sent(stage, relay)] == [(b"1.50", MS)] * 2
    assert relay.log("types_asked_anew") == []


def test_rows_of_a_domain_that_is_gone_stop_the_relay_which_says_the_way_on(make_stage):
    stage = staged(make_stage, "CREATE DOMAIN amount AS numeric(10,2)", key="amount")
    insert(stage)
    stage.sql("ALTER TABLE outbox ALTER aggregateid TYPE numeric(10,2); DROP DOMAIN amount")
    insert(stage)
    relay = stage.new_relay(DEBEZIUM).start()
    assert relay.wait_exit() == 3
    assert "is of a domain over numeric, which the database does not describe (it may" in relay.log_text()
    assert len(relay.log("types_asked_anew")) == 1
    assert stage.read("order") == []
    relay = stage.relay({**DEBEZIUM, "outbox.types": "postgres"})
    assert [m.key for m in sent(stage, relay)] == [b"1.50"] * 2


@pytest.mark.on("all")
@pytest.mark.parametrize("binary", ["off", "on", "auto"])
def test_a_column_that_becomes_an_enum_goes_on(make_stage, binary):
    stage = staged(make_stage)
    relay = stage.relay({**SCHEMAS, "postgres.binary": binary})
    insert(stage)
    stage.wait_all_confirmed(relay=relay)
    stage.sql("CREATE TYPE mood AS ENUM ('made', 'lost'); ALTER TABLE outbox ALTER type TYPE mood USING type::mood")
    insert(stage)
    before, after = sent(stage, relay)
    assert field(before, "type") == {"type": "string", "optional": True, "field": "type"}
    assert field(after, "type")["parameters"] == {"allowed": "made,lost"}
    assert json.loads(after.value)["payload"]["type"] == "made"
    assert relay.log("binary_given_up") == []


@pytest.mark.on("all")
def test_rows_of_a_column_that_was_an_enum_while_we_slept_are_sent(make_stage):
    stage = staged(make_stage, "CREATE TYPE mood AS ENUM ('made')", type="mood")
    insert(stage)
    stage.sql("ALTER TABLE outbox ALTER type TYPE text")
    insert(stage)
    relay = stage.relay(SCHEMAS)
    was, is_now = sent(stage, relay)
    assert field(was, "type")["name"] == "io.debezium.data.Enum"
    assert "name" not in field(is_now, "type")


def test_rows_of_an_enum_that_is_gone_stop_the_relay_with_its_name(make_stage):
    stage = staged(make_stage, "CREATE SCHEMA shop; CREATE TYPE shop.mood AS ENUM ('made')", type="shop.mood")
    insert(stage)
    stage.sql("ALTER TABLE outbox ALTER type TYPE text; DROP TYPE shop.mood")
    relay = stage.new_relay(SCHEMAS).start()
    assert relay.wait_exit() == 3
    assert "is of type shop.mood, which walpost cannot write as Debezium does (it may" in relay.log_text()


def test_a_composite_type_is_refused_by_its_name_at_once(make_stage):
    stage = staged(make_stage, "CREATE TYPE pair AS (a int, b int)", type="pair")
    relay = stage.new_relay(SCHEMAS).start()
    insert(stage, type="(1,2)")
    assert relay.wait_exit() == 3
    assert "is of type public.pair, which walpost cannot write as Debezium does; it writes boolean" in relay.log_text()
    assert relay.log("types_asked_anew") == []


def enum_of(count, length):
    labels = ", ".join(f"'{str(n).ljust(length, 'x')}'" for n in range(count))
    return f"CREATE TYPE mood AS ENUM ('made', {labels})"


def test_an_enum_of_a_thousand_labels_has_them_in_its_schema(make_stage):
    stage = staged(make_stage, enum_of(1200, 8), type="mood")
    relay = stage.relay(SCHEMAS)
    insert(stage)
    (message,) = sent(stage, relay)
    assert len(field(message, "type")["parameters"]["allowed"].split(",")) == 1201
    assert relay.log("enum_labels_left_out") == []


def test_labels_without_room_are_left_out_with_a_word(make_stage):
    stage = staged(make_stage, enum_of(1100, 60), type="mood")
    relay = stage.relay(SCHEMAS)
    insert(stage)
    (message,) = sent(stage, relay)
    assert field(message, "type")["name"] == "io.debezium.data.Enum" and "parameters" not in field(message, "type")
    assert len(relay.log("enum_labels_left_out")) == 1


def test_a_column_that_may_be_null_says_so_after_a_change_of_its_type(make_stage):
    stage = staged(make_stage)
    stage.sql("ALTER TABLE outbox REPLICA IDENTITY FULL")  # all columns are of the key, as the log tells it
    relay = stage.relay(SCHEMAS)
    insert(stage)
    stage.wait_all_confirmed(relay=relay)
    stage.sql("ALTER TABLE outbox ALTER type TYPE varchar(50)")
    insert(stage)
    before, after = sent(stage, relay)
    assert field(before, "type")["optional"] and field(after, "type")["optional"]
