"""upgrades.md with pg_upgrade itself: from PostgreSQL 15 to 17, as an administrator of Debian 13 does it."""

import shutil
import tempfile
from pathlib import Path

import pytest

from e2e.test_moves import Recipe, check, numbered
from lib import machine as machines
from lib.ports import take_port
from lib.postgres import Postgres
from lib.sql_scripts import run_script
from lib.stage import Stage
from servers import cache

OLD, NEW = "15", "17"


def _fill(part):
    """A clean Debian 13 with its own PostgreSQL and Debian 12's, and no cluster yet."""
    shutil.rmtree(part)
    machines.copy(machines.debian("trixie"), part)
    (part / "etc/apt/sources.list.d/bookworm.list").write_text("deb http://deb.debian.org/debian bookworm main\n")
    machines.run(part, "sh", "-e", "-c", """
        apt-get update
        apt-get install -y --no-install-recommends postgresql-common
        echo 'create_main_cluster = false' >> /etc/postgresql-common/createcluster.conf
        apt-get install -y --no-install-recommends "$@"
        apt-get clean
    """, "install", f"postgresql-{OLD}", f"postgresql-{NEW}")


class Cluster(Postgres):
    """The cluster `main` of that machine, of the one version and then of the other, on one port."""

    def __init__(self, machine, folder):
        self.machine, self.folder, self.port, self.version = machine, folder, take_port(), OLD
        self.log = folder / "server.log"
        machine.run("pg_createcluster", "--port", self.port, OLD, "main", "--", "--auth=trust", "--encoding=UTF8")
        machine.run("pg_conftool", OLD, "main", "set", "wal_level", "logical")
        machine.run("systemctl", "start", f"postgresql@{OLD}-main")

    def upgrade(self):
        """The new one takes the old one's port."""
        self.machine.run("pg_upgradecluster", "--method=upgrade", OLD, "main", deadline=900)
        self.version = NEW


@pytest.fixture
def cluster(folder):
    installed = cache.filled(f"debian-trixie-postgresql-{OLD}-{NEW}", _fill)
    machine = machines.Machine(machines.copy(installed, Path(tempfile.mkdtemp(dir=folder)) / "root"))
    try:
        yield Cluster(machine.start(), Path(tempfile.mkdtemp(dir=folder)))
    finally:
        machine.end()


def test_the_recipe_brings_all_events_over_once_and_in_order(cluster, kafka, folder):
    stage = Stage(cluster, kafka, folder)
    stage.create_topic(partitions=2)
    made = run_script(stage, "reissue.sql", options=["-v", "ON_ERROR_STOP=1"])
    assert made.returncode == 0, made.stderr
    recipe = Recipe("upgrades.md", stage)
    relay = stage.relay()
    try:
        numbered(stage, 0, 40)
        assert recipe.run("walpost drain -c walpost.conf").startswith(f"slot {stage.slot}: drained at ")
        assert relay.wait_exit(20) == 0
        ((before,),) = stage.sql("SELECT system_identifier FROM pg_control_system()")
        cluster.upgrade()
        assert stage.sql("SELECT current_setting('server_version_num')::int / 10000") == [(int(NEW),)]
        assert stage.sql("SELECT system_identifier FROM pg_control_system()") != [(before,)]
        assert stage.sql("SELECT FROM pg_replication_slots") == []
        recipe.run("walpost init -c walpost.conf")
        relay.start()
        assert relay.wait_exit(20) == 3 and relay.log("system_changed")
        recipe.says("Raise `relay.epoch` by one")
        recipe.configure({"relay.epoch": "1"})
        relay = stage.relay({"relay.epoch": "1"})
        numbered(stage, 40, 40)
        stage.wait_all_confirmed(30, relay)
        check(stage, 80)
        relay.stop()
    finally:
        stage.end()
