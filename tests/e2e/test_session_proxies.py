"""What stands between relay and server: a pooler, and what changes or cuts the settings on their way."""

import re

import pytest

from lib.line import Line
from lib.pooler import Pooler
from lib.relay import config_text, run_command

SETTINGS = {
    "timezone": (re.compile(rb"(?is)(time\s*zone\W{1,20}?(?:to\W+)?)UTC"), b"CET"),
    "datestyle": (re.compile(rb"(?is)(datestyle\W{1,20}?(?:to\W+)?)ISO"), b"SQL"),
}
QUERY = b"Q"
_ONE_OF_THEM = SETTINGS["timezone"][0]


def _through(stage, port):
    return {"postgres.conninfo": stage.postgres.conninfo(stage.database, port=port)}


def _check(stage, changes):
    file = stage.folder / "check.conf"
    file.write_text(config_text(stage.config(changes)))
    return run_command("check", "-c", file)


@pytest.mark.on("all")
def test_check_names_a_pooler_between(stage):
    stage.create_topic()
    pooler = Pooler(stage.postgres.port)
    try:
        checked = _check(stage, _through(stage, pooler.port))
        assert checked.returncode in (1, 2), checked.stdout
        assert "pooler" in (checked.stdout + checked.stderr).lower(), checked.stdout + checked.stderr
    finally:
        pooler.end()
    direct = _check(stage, {})
    assert direct.returncode == 0 and "pooler" not in direct.stdout, direct.stdout


def _rewriting(setting, of_streams_only):
    """Of the first query of a connection that sets it, another value of the same length."""
    pattern, value = SETTINGS[setting]

    def editor():
        seen = {"stream": not of_streams_only, "done": False}

        def edit(piece):
            seen["stream"] = seen["stream"] or b"replication\0" in piece
            if seen["done"] or not seen["stream"] or not piece.startswith(QUERY):
                return piece
            piece, count = pattern.subn(rb"\1" + value, piece, count=1)
            seen["done"] = count > 0
            return piece

        return edit

    return editor


@pytest.mark.on("all")
@pytest.mark.parametrize("of_streams_only", [False, True], ids=["all", "streams"])
@pytest.mark.parametrize("setting, wanted, found", [("timezone", "UTC", "CET"), ("datestyle", "ISO", "SQL")])
def test_a_value_that_stays_other_is_a_stop_that_names_it(stage, setting, wanted, found, of_streams_only):
    stage.create_topic()
    line = Line(stage.postgres.port, _rewriting(setting, of_streams_only))
    try:
        relay = stage.new_relay(_through(stage, line.port)).start()
        stage.insert()
        assert relay.wait_exit() in (2, 3), relay.log_tail()
        (error,) = [entry for entry in relay.log() if entry["level"] == "error"]
        for word in (setting, wanted, found):
            assert word.lower() in str(error).lower(), error
        assert stage.read() == []
    finally:
        line.end()


@pytest.mark.on("all")
@pytest.mark.parametrize("of_streams_only", [False, True], ids=["all", "streams"])
def test_connections_that_are_cut_as_they_are_set_are_made_again(stage, of_streams_only):
    stage.create_topic()
    cuts = [3]

    def editor():
        seen = {"stream": not of_streams_only}

        def edit(piece):
            seen["stream"] = seen["stream"] or b"replication\0" in piece
            if seen["stream"] and cuts[0] > 0 and piece.startswith(QUERY) and _ONE_OF_THEM.search(piece):
                cuts[0] -= 1
                return b""
            return piece

        return edit

    line = Line(stage.postgres.port, editor)
    try:
        relay = stage.new_relay(_through(stage, line.port)).start()
        relay.wait_until(lambda: cuts[0] == 0, 30, "three connections were cut")
        stage.wait_streaming(relay, 40)
        stage.insert()
        stage.wait_all_confirmed(relay=relay)
        assert len(stage.read()) == 1
        relay.stop()
    finally:
        line.end()
