"""Several outboxes in one stream, each with a mapping of its own."""

import pytest

from lib.relay import config_text, run_command

ORDERS = "id uuid PRIMARY KEY, aggregatetype text, aggregateid text, type text, payload jsonb"
BILLS = "event uuid PRIMARY KEY, kind text, customer bigint, body bytea, n int"


@pytest.fixture
def shop(make_stage):
    """Two tables, and a prefix of messages."""
    stage = make_stage(set_up=False)
    stage.sql("CREATE SCHEMA sales")
    stage.sql(f"CREATE TABLE sales.orders ({ORDERS}); CREATE TABLE bills ({BILLS})")
    stage.publish("sales.orders", "bills")
    stage.create_slot(with_truth=False)
    for topic in ("order", "bill", "note"):
        stage.create_topic(topic, partitions=2)
    stage.outboxes = {
        "outbox.table": None, "outbox.topic.replacement": None,
        "outbox.orders.table": "sales.orders",
        "outbox.orders.topic.replacement": f"{stage.name}.${{routedByValue}}",
        "outbox.bills.table": "bills", "outbox.bills.column.id": "event", "outbox.bills.column.key": "customer",
        "outbox.bills.column.type": "", "outbox.bills.column.payload": "body", "outbox.bills.route.by": "kind",
        "outbox.bills.topic.replacement": f"{stage.name}.$1", "outbox.bills.topic.regex": "(.*)s",
        "outbox.bills.headers": "n:number",
        "outbox.notes.message.prefix": "note", "outbox.notes.topic.replacement": f"{stage.name}.note",
        "outbox.notes.envelope": "cloudevents-binary", "outbox.notes.cloudevents.source": "/notes",
    }
    return stage


def sectioned(config):
    """outbox.NAME.key belongs to [outbox.NAME]."""
    sections = {}
    for name, value in config.items():
        if value is None:
            continue
        parts = name.split(".")
        named = parts[0] == "outbox" and parts[1] in ("orders", "bills", "notes")
        section, key = (".".join(parts[:2]), ".".join(parts[2:])) if named else (parts[0], ".".join(parts[1:]))
        sections.setdefault(section, []).append(f"{key} = {value}")
    return "\n".join(f"[{name}]\n" + "\n".join(lines) + "\n" for name, lines in sections.items())


def relay_of(stage, changes=None):
    relay = stage.new_relay()
    relay.config_file.write_text(sectioned({**stage.config(), **stage.outboxes, **(changes or {})}))
    relay.start()
    stage.wait_streaming(relay)
    return relay


def write_all(stage):
    with stage.transaction() as connection:
        connection.execute("INSERT INTO sales.orders VALUES (gen_random_uuid(), 'order', 'k', 'placed', '{\"a\": 1}')")
        connection.execute("INSERT INTO bills VALUES (gen_random_uuid(), 'bills', 7, '\\x00ff', 5)")
        connection.execute(
            "SELECT pg_logical_emit_message(true, 'note', "
            "'{\"id\": \"n-1\", \"aggregatetype\": \"x\", \"aggregateid\": \"a\", \"type\": \"t\", \"payload\": [1]}')")


@pytest.mark.on("all")
def test_each_has_its_own_mapping_and_all_one_order(shop):
    relay = relay_of(shop)
    write_all(shop)
    shop.wait_all_confirmed(relay=relay)
    (order,), (bill,), (note,) = shop.read("order"), shop.read("bill"), shop.read("note")
    assert (order.key, order.value) == (b"k", b'{"a": 1}') and order.header("type") == b"placed"
    assert (bill.key, bill.value) == (b"7", b"\0\xff") and bill.header("number") == b"5"
    assert "type" not in dict(bill.headers)
    assert note.value == b"[1]" and note.header("ce_source") == b"/notes" and note.header("ce_id") == b"n-1"
    assert order.position < bill.position < note.position
    assert order.position[:-8] == note.position[:-8]


@pytest.mark.on("all")
def test_init_makes_all_of_them_and_check_finds_them(make_stage):
    stage = make_stage(set_up=False)
    stage.outboxes = {}
    config = {
        **stage.config(), "outbox.table": None, "outbox.orders.table": '"Or ders"', "outbox.bills.table": "bills",
        "outbox.bills.column.key": "customer",
    }
    file = stage.folder / "walpost.conf"
    file.write_text(sectioned(config))
    made = run_command("init", "-c", file)
    assert made.returncode == 0, made.stderr
    assert 'table public."Or ders": created' in made.stdout and "table public.bills: created" in made.stdout
    assert stage.sql("SELECT count(*) FROM pg_publication_tables WHERE pubname = %s", (stage.publication,)) == [(2,)]
    assert stage.sql("SELECT customer FROM bills") == []
    checked = run_command("check", "-c", file)
    assert checked.returncode == 0, checked.stdout
    assert 'table: "public"."Or ders" exists' in checked.stdout
    stage.sql("DROP TABLE bills")
    checked = run_command("check", "-c", file)
    assert checked.returncode == 1
    assert 'there is no table "public"."bills"' in checked.stdout
    again = run_command("init", "-c", file)
    assert "publication" in again.stderr  # which lacks it now: with the cure
    script = run_command("init", "-c", file, "--print-sql")
    assert script.stdout.count("CREATE TABLE IF NOT EXISTS") == 13


def test_a_publication_that_loses_one_of_them_stops_the_relay(shop):
    relay = relay_of(shop)
    write_all(shop)
    shop.wait_all_confirmed(relay=relay)
    shop.sql(f"ALTER PUBLICATION {shop.publication} DROP TABLE bills")
    assert relay.wait_exit() == 3
    assert "lacks public.bills" in relay.log_text().replace('\\"', "")


def test_leaves_of_a_partitioned_one_go_by_its_mapping(make_stage):
    stage = make_stage(set_up=False)
    stage.sql(f"CREATE TABLE one ({ORDERS})")
    stage.sql("CREATE TABLE many (id uuid, aggregatetype text, aggregateid text, type text, payload jsonb, day int) "
              "PARTITION BY LIST (day)")
    stage.sql("CREATE TABLE many_1 PARTITION OF many FOR VALUES IN (1)")
    stage.publish("one", "many")
    stage.create_slot(with_truth=False)
    stage.create_topic("one", partitions=1)
    stage.create_topic("many", partitions=1)
    stage.outboxes = {
        "outbox.table": None, "outbox.topic.replacement": f"{stage.name}.one", "outbox.orders.table": "one",
        "outbox.bills.table": "many", "outbox.bills.topic.replacement": f"{stage.name}.many",
        "outbox.bills.headers": "day",
    }
    relay = relay_of(stage)
    stage.sql("INSERT INTO one VALUES (gen_random_uuid(), 'x', 'k', 't', '1')")
    stage.sql("INSERT INTO many VALUES (gen_random_uuid(), 'x', 'k', 't', '2', 1)")
    stage.wait_all_confirmed(relay=relay)
    (one,), (many,) = stage.read("one"), stage.read("many")
    assert one.value == b"1" and many.value == b"2" and many.header("day") == b"1"


def test_a_leaf_goes_by_its_own_table_though_a_pattern_of_another_covers_it(make_stage):
    stage = make_stage(set_up=False)
    for table in ("one", "many"):
        stage.sql(f"CREATE TABLE {table} (id int, aggregatetype text, aggregateid text, type text, payload jsonb, "
                  f"day int) PARTITION BY LIST (day); CREATE TABLE {table}_1 PARTITION OF {table} FOR VALUES IN (1)")
        stage.create_topic(table, partitions=1)
    stage.publish("one", "many")
    stage.create_slot(with_truth=False)
    stage.outboxes = {
        "outbox.table": None, "outbox.orders.table": "one", "outbox.orders.leaves": "public.*_1",
        "outbox.orders.topic.replacement": f"{stage.name}.one", "outbox.bills.table": "many",
        "outbox.bills.topic.replacement": f"{stage.name}.many",
    }
    relay = relay_of(stage)
    stage.sql("INSERT INTO one VALUES (1, 'x', 'k', 't', '1', 1); INSERT INTO many VALUES (2, 'x', 'k', 't', '2', 1)")
    stage.sql("BEGIN; INSERT INTO one VALUES (3, 'x', 'k', 't', '3', 1); DROP TABLE one_1; COMMIT")
    stage.wait_all_confirmed(relay=relay)
    assert [m.value for m in stage.read("one")] == [b"1", b"3"]
    assert [m.value for m in stage.read("many")] == [b"2"]


def test_the_environment_names_them_too(shop):
    config = {k: v for k, v in shop.config().items() if not k.startswith("outbox.")}
    relay = shop.new_relay(environment={
        "WALPOST__OUTBOX__ORDERS__TABLE": "sales.orders",
        "WALPOST__OUTBOX__ORDERS__TOPIC_REPLACEMENT": f"{shop.name}.order",
        "WALPOST__OUTBOX__IGNORE": "bills",
    })
    relay.config_file.write_text(config_text(config))
    relay.start()
    shop.wait_streaming(relay)
    write_all(shop)
    shop.wait_all_confirmed(relay=relay)
    assert len(shop.read("order")) == 1 and shop.read("bill") == []


@pytest.mark.on("all")
def test_sixty_four_of_the_longest_names_are_checked_and_streamed(make_stage):
    stage = make_stage(set_up=False)
    schema, names = "S" + "y" * 62, [f"t{i:02d}_".ljust(63, "x") for i in range(64)]
    stage.sql(f'CREATE SCHEMA "{schema}"')
    stage.sql("CREATE TYPE first AS ENUM ('created'); CREATE TYPE last AS ENUM ('created')")
    for name in names:
        type = "last" if name == names[-1] else "first"
        stage.sql(f'CREATE TABLE "{schema}"."{name}" (id uuid PRIMARY KEY, aggregatetype text, aggregateid text, '
                  f"type {type}, payload jsonb, a text, b text, c text)")
    stage.publish(*[f'"{schema}"."{name}"' for name in names])
    stage.create_slot(with_truth=False)
    stage.create_topic("all", partitions=1)
    config = {
        **stage.config(), "outbox.table": None, "outbox.topic.replacement": stage.topic("all"),
        "outbox.headers": "a,b,c", "postgres.binary": "auto",
    }
    relay = stage.new_relay()
    relay.config_file.write_text(sectioned(config) + "".join(
        f'[outbox.o{i}]\ntable = "{schema}"."{name}"\n' for i, name in enumerate(names)))
    checked = run_command("check", "-c", relay.config_file)
    assert checked.returncode == 0, checked.stdout
    relay.start()
    stage.wait_streaming(relay)
    for name in (names[0], names[-1]):
        stage.sql(f'INSERT INTO "{schema}"."{name}" VALUES (gen_random_uuid(), \'x\', \'k\', \'created\', \'1\')')
    stage.wait_all_confirmed(relay=relay)
    assert [m.header("type") for m in stage.read("all")] == [b"created"] * 2
