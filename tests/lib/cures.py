"""What `walpost check` prints as cures, done to the letter for a relay of a stage."""

import json
import re

from lib import process
from lib.relay import clean_environment, config_text, run_command

_SETTING = re.compile(r"-- (?:then )?set ([a-z._]+) = (.*)")


def failures(relay):
    """The findings that fail, by name."""
    done = run_command("check", "--json", "-c", relay.config_file)
    assert done.returncode in (0, 1), done.stderr
    return {f["name"]: f for f in json.loads(done.stdout) if f["level"] == "fail"}


def walpost(relay, *words):
    """One command with the relay's configuration, which succeeds."""
    done = run_command(*words, "-c", relay.config_file)
    assert done.returncode == 0, done.stdout + done.stderr


def follow_check(stage, relay, config, rounds=3):
    """SQL by psql, settings into the relay's file, commands as commands, until nothing fails. Returns the settings."""
    changes = {}
    for _ in range(rounds):
        relay.config_file.write_text(config_text(stage.config({**config, **changes})))
        found = failures(relay)
        if not found:
            return changes
        for finding in found.values():
            cure = finding["cure"]
            done = process.run(
                ["psql", "-X", "-q", "-v", "ON_ERROR_STOP=1", "-d", stage.postgres.conninfo(stage.database)],
                input=cure, env=clean_environment())
            assert done.returncode == 0, done.stderr
            changes.update(_SETTING.findall(cure))
            for command in re.findall(r"^-- (?:if a relay has used it: )?walpost (.*)$", cure, re.MULTILINE):
                walpost(relay, *command.split())
    relay.config_file.write_text(config_text(stage.config({**config, **changes})))
    assert not failures(relay)
    return changes
