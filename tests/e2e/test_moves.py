"""The recipes of upgrades.md and moves.md, step by step. Each command that a test runs is on the page."""

import contextlib
import json

import pytest

from lib import places
from lib.postgres import Postgres
from lib.relay import config_text, run_command
from lib.sql_scripts import run_script
from lib.waiting import wait_until
from lib.writer import Writer

pytestmark = pytest.mark.on("all")
PAGES = places.TREE / "deploy" / "docs" / "pages" / "operations"


class Recipe:
    """A page: `run` runs a command that it shows, with the configuration of a stage."""

    def __init__(self, page, stage):
        self._text = (PAGES / page).read_text()
        self.stage = stage
        self.file = stage.folder / "walpost.conf"
        self.configure()

    def configure(self, changes=None):
        self.file.write_text(config_text(self.stage.config(changes)))

    def run(self, command):
        assert command in self._text, f"the page does not show: {command}"
        words = command.replace("walpost.conf", str(self.file)).split()
        assert words[0] == "walpost"
        done = run_command(*words[1:], deadline=120)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def says(self, text):
        assert text in " ".join(self._text.split()), f"the page does not say: {text}"


def numbered(stage, first, count):
    """Events of ten keys, whose payload says in which order they were committed."""
    for n in range(first, first + count):
        stage.insert(str(n % 10), json.dumps({"n": n}))


def check(stage, count):
    """Each event once; in order for each key, by offset as by position."""
    messages = stage.read()
    assert sorted(json.loads(m.value)["n"] for m in messages) == list(range(count))
    last, place = {}, {}
    for message in messages:
        number, position = json.loads(message.value)["n"], message.header("walpost-position")
        assert last.get(message.key, -1) < number
        assert place.get(message.partition, b"") < position
        last[message.key], place[message.partition] = number, position


@contextlib.contextmanager
def other_server(folder):
    server = Postgres("18", folder / "new-postgres").start()
    try:
        yield server
    finally:
        server.end()


def copy_table(old, new, table):
    with old.connect() as source, new.connect() as target:
        with source.cursor().copy(f"COPY {table} TO STDOUT") as out, \
                target.cursor().copy(f"COPY {table} FROM STDIN") as into:
            for data in out:
                into.write(data)
        target.commit()


def restore(old, new):
    """What pg_upgrade, and pg_dump with pg_restore, bring over: schema, rows and publications, but no slot."""
    for script in ("slot_checkpoint.sql", "reissue.sql"):
        new.sql((places.TREE / "sql" / script).read_text())
    new.publish(new.table)
    for table in (old.table, "walpost.slot_checkpoint"):
        copy_table(old, new, table)


def sibling(stage, server, make_stage):
    """The same database on another server: its names, topics and configuration but for the connection."""
    new = make_stage(postgres=server, set_up=False)
    new.name, new.slot, new.publication = stage.name, stage.slot, stage.publication
    new.sql(f"CREATE TABLE {new.table} (id uuid PRIMARY KEY, aggregatetype text NOT NULL, aggregateid text NOT NULL, "
            "type text NOT NULL, payload jsonb)")
    return new


@pytest.fixture
def old(make_stage, own_postgres):
    stage = make_stage(postgres=own_postgres)
    stage.create_topic(partitions=2)
    run_script(stage, "reissue.sql", options=["-v", "ON_ERROR_STOP=1"])
    return stage


def test_a_new_walpost_takes_the_place_of_the_old_one(old):
    recipe = Recipe("upgrades.md", old)
    relay = old.relay()
    with Writer(old, threads=2, pause=0.01):
        goal = old.confirmed() + 20_000
        relay.wait_until(lambda: old.confirmed() >= goal, 30, "it works")
        recipe.run("walpost drain -c walpost.conf")
        assert relay.wait_exit(20) == 0
        relay.start()  # the new program
        old.wait_streaming(relay)
    old.wait_all_confirmed(30, relay)
    ids = [m.header("id") for m in old.read()]
    assert len(ids) == len(set(ids)) == len(old.truth.events())


def test_the_database_is_upgraded_by_pg_upgrade_or_restored_from_a_dump(old, make_stage, folder):
    recipe = Recipe("upgrades.md", old)
    relay = old.relay()
    numbered(old, 0, 40)
    assert recipe.run("walpost drain -c walpost.conf").startswith(f"slot {old.slot}: drained at ")
    assert relay.wait_exit(20) == 0
    with other_server(folder) as server:
        new = sibling(old, server, make_stage)
        restore(old, new)
        recipe.stage = new
        recipe.configure()
        recipe.run("walpost init -c walpost.conf")
        recipe.says("Raise `relay.epoch` by one")
        recipe.configure({"relay.epoch": "1"})
        relay = new.relay({"relay.epoch": "1"})
        numbered(new, 40, 40)
        new.wait_all_confirmed(30, relay)
        check(new, 80)
        relay.stop()


@pytest.mark.on(below=18)  # both servers of 18 are copies of one cluster
def test_without_a_new_epoch_the_relay_does_not_start_there(old, make_stage, folder):
    Recipe("upgrades.md", old).says("`system_changed`")
    relay = old.relay()
    numbered(old, 0, 5)
    old.wait_all_confirmed()
    relay.stop()
    with other_server(folder) as server:
        new = sibling(old, server, make_stage)
        restore(old, new)
        new.sql("SELECT pg_create_logical_replication_slot(%s, 'pgoutput')", (new.slot,))
        relay = new.new_relay().start()
        assert relay.wait_exit(20) == 3
        assert relay.log("system_changed")


def test_the_applications_move_to_a_copy_that_logical_replication_made(old, make_stage, folder):
    recipe = Recipe("moves.md", old)
    old.sql("CREATE TABLE shop (id int PRIMARY KEY)")
    relay = old.relay()
    with other_server(folder) as server:
        new = sibling(old, server, make_stage)
        new.sql(f"DROP TABLE {new.table}; CREATE TABLE shop (id int PRIMARY KEY)")
        recipe.says("CREATE PUBLICATION move FOR TABLE")
        old.sql("CREATE PUBLICATION move FOR TABLE shop")
        with new.connect() as connection:
            connection.autocommit = True
            connection.execute(f"CREATE SUBSCRIPTION move CONNECTION '{old.postgres.conninfo(old.database)}' "
                               f"PUBLICATION move WITH (slot_name = 'move_{old.name}')")
        old.also_drops(f"move_{old.name}")
        numbered(old, 0, 40)
        old.sql("INSERT INTO shop SELECT generate_series(1, 100)")
        wait_until(lambda: new.sql("SELECT count(*) FROM shop") == [(100,)], 60, "the copy has all rows")
        recipe.run("walpost drain -c walpost.conf")
        assert relay.wait_exit(20) == 0
        new.sql("ALTER SUBSCRIPTION move DISABLE")
        new.sql("ALTER SUBSCRIPTION move SET (slot_name = NONE)")
        new.sql("DROP SUBSCRIPTION move")
        recipe.says("Raise `relay.epoch` by one")
        recipe.stage = new
        recipe.configure({"relay.epoch": "1"})
        recipe.run("walpost init -c walpost.conf")
        relay = new.relay({"relay.epoch": "1"})
        numbered(new, 40, 40)
        new.wait_all_confirmed(30, relay)
        check(new, 80)
        relay.stop()


def test_the_database_moves_to_another_cluster(old, make_stage, folder):
    recipe = Recipe("moves.md", old)
    relay = old.relay()
    numbered(old, 0, 40)
    recipe.run("walpost drain -c walpost.conf")
    assert relay.wait_exit(20) == 0
    recipe.says("pg_restore")
    with other_server(folder) as server:
        new = sibling(old, server, make_stage)
        restore(old, new)
        recipe.stage = new
        recipe.configure({"relay.epoch": "1"})
        recipe.run("walpost init -c walpost.conf")
        relay = new.relay({"relay.epoch": "1"})
        numbered(new, 40, 40)
        new.wait_all_confirmed(30, relay)
        check(new, 80)
        relay.stop()
