"""A database that walpost's own commands look after: check, init, and the cures they print."""

import json
import re
import uuid
from pathlib import Path

from lib import process
from lib.relay import clean_environment, config_text, run_command

_SETTING = re.compile(r"-- (?:then )?set ([a-z._]+) = (.*)")


class Administered:
    """A database of its own on `server`, and the configuration of a relay for it."""

    def __init__(self, server, folder, encoding="UTF8", **config):
        self.server = server
        self.name = "a" + uuid.uuid4().hex[:12]
        self.folder = Path(folder)
        self.kafka_tools = None  # where cures of Kafka are to be applied: lib.kafka_tools
        server.create_database(self.name, f"ENCODING '{encoding}' LOCALE 'C'")
        self.config = {
            "postgres.conninfo": server.conninfo(self.name),
            "postgres.slot": self.name,
            "relay.sink": "stdout",
            **config,
        }

    @property
    def slot(self):
        return self.config["postgres.slot"]

    @property
    def publication(self):
        return self.config.get("postgres.publication", "walpost")

    def sql(self, statement, parameters=None):
        return self.server.query(statement, parameters, self.name)

    def command(self, *arguments, deadline=60, environment=None):
        """One walpost command with the configuration in a file."""
        file = self.folder / f"{self.name}.conf"
        file.write_text(config_text(self.config))
        return run_command(*arguments, "-c", file, deadline=deadline, environment=environment)

    def init(self, *arguments):
        done = self.command("init", *arguments)
        assert done.returncode == 0, done.stderr
        return done

    def psql(self, text):
        """As a DBA would, statement by statement, as a superuser."""
        return process.run(["psql", "-X", "-q", "-v", "ON_ERROR_STOP=1", "-d", self.server.conninfo(self.name)],
                           input=text, env=clean_environment())

    def check(self):
        """Exit code, and the findings by their name."""
        done = self.command("check", "--json")
        assert done.returncode in (0, 1), done.stderr
        findings = {finding["name"]: finding for finding in json.loads(done.stdout)}
        failed = [f for f in findings.values() if f["level"] == "fail"]
        assert done.returncode == (1 if failed else 0)
        return findings

    def failures(self):
        return [finding for finding in self.check().values() if finding["level"] == "fail"]

    def apply(self, finding):
        """The printed cure, word for word; settings into the configuration, restarts where it says so."""
        cure = finding["cure"]
        assert cure, f"no cure for {finding}"
        if finding["room"] not in ("kafka", "topic"):
            done = self.psql(cure)
            assert done.returncode == 0, f"{cure}\n{done.stderr}"
        elif not cure.startswith("--"):
            self.kafka_tools.shell(cure)
        if "-- for a first start: walpost init" in cure:
            self.init()
        for key, value in _SETTING.findall(cure):
            self.config[key] = value
        if "restart" in finding["what"]:
            self.server.restart()

    def cure(self, rounds=2):
        """What a cure uncovers (a new table is not yet published) is cured in the next round."""
        for _ in range(rounds):
            failures = self.failures()
            for finding in failures:
                self.apply(finding)
            if not failures:
                return
        assert not self.failures()

    def end(self):
        for slot, pid in self.server.query("SELECT slot_name, active_pid FROM pg_replication_slots"):
            if pid is not None:
                self.server.query("SELECT pg_terminate_backend(%s, 5000)", (pid,))
            self.server.query("SELECT pg_drop_replication_slot(slot_name) FROM pg_replication_slots "
                              "WHERE slot_name = %s AND NOT temporary", (slot,))
        self.server.query(f"DROP DATABASE {self.name} WITH (FORCE)")
