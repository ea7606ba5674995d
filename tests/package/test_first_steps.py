"""What README and quickstart say to type, on a clean Debian that has the package's file and no checkout."""

import shutil
import tempfile
from pathlib import Path

import pytest

from lib import machine as machines
from lib.pages import FirstSteps, assert_seen, blocks
from lib.relay import config_text
from lib.stage import Stage
from package.test_service import delivers


@pytest.fixture
def empty_stage(postgres, kafka, folder):
    """A database without anything."""
    stage = Stage(postgres, kafka, folder, set_up=False)
    stage.create_topic()
    yield stage
    stage.end()


def test_the_first_block_of_the_readme_brings_a_record(suite, folder, deb, empty_stage):
    place = machines.copy(machines.debian(suite), Path(tempfile.mkdtemp(dir=folder)) / "root")
    shutil.copy(deb, place / "root")
    steps = FirstSteps(empty_stage)
    machines.run(place, "apt-get", "update")
    install = steps.install.removeprefix("sudo ").replace("install", "install -y")
    machines.run(place, "sh", "-e", "-c", f"cd /root; {install}")
    empty_stage.also_drops("walpost")
    said = machines.run(place, "sh", "-e", "-c", f"""
        {steps.init}
        {steps.run} & relay=$!
        {steps.insert}
        until {steps.read} | grep -q .; do :; done
        {steps.read}
        kill $relay; wait $relay
        """, environment=steps.environment)
    assert_seen(steps.seen, said)
    shutil.rmtree(place)


def test_the_quickstarts_service_delivers(machine, stage):
    """Its user reads the file, and a passfile of its own, without which the server does not let it in."""
    block, = (block for block in blocks("quickstart.md") if "systemctl enable" in block)
    role = f"{stage.name}_relay"
    hba = stage.postgres.data / "pg_hba.conf"
    hba.write_text(f"host all {role} all scram-sha-256\n" + hba.read_text())
    stage.sql(f"""SELECT pg_reload_conf(); CREATE ROLE {role} LOGIN REPLICATION PASSWORD 'secret';
                  GRANT USAGE ON SCHEMA walpost TO {role}; GRANT ALL ON ALL TABLES IN SCHEMA walpost TO {role}""")
    conninfo = stage.postgres.conninfo(stage.database, user=role)
    machine.write("/home/walpost.conf", config_text(stage.config({"postgres.conninfo": conninfo})))
    machine.write("/home/.pgpass", f"127.0.0.1:{stage.postgres.port}:{stage.database}:{role}:secret\n", 0o600)
    for line in block.replace("sudo ", "").replace("~", "/home").replace("db.example.org", "127.0.0.1").splitlines():
        machine.run("sh", "-e", "-c", f"cd /home; {line}")
    delivers(stage, machine)
    assert machine.run("stat", "-c", "%U:%G %a", "/etc/walpost/pgpass").strip() == "walpost:walpost 600"
    assert machine.run("cat", "/etc/walpost/pgpass") == machine.run("cat", "/home/.pgpass")
    conninfo, = (line for line in machine.run("cat", "/etc/walpost/walpost.conf").splitlines() if "conninfo" in line)
    assert conninfo.endswith(" passfile=/etc/walpost/pgpass")
