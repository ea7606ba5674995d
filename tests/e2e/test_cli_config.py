"""Usage and configuration as the program itself reads them: no server is needed."""

import subprocess

import pytest

from lib.relay import binary, clean_environment, run_command
from lib.waiting import limit_factor

RIGHT = "[postgres]\nconninfo = dbname=app\n[kafka]\nbootstrap.servers = k:9092\n"


def _show(folder, text, *arguments, **environment):
    path = folder / "walpost.conf"
    path.write_text(text)
    return run_command("config", "show", "-c", path, *arguments, environment=environment)


@pytest.mark.parametrize("arguments, said", [
    ((), "a command is missing"),
    (("rnu",), "did you mean `walpost run`?"),
    (("frobnicate",), "`walpost --help` lists them"),
    (("config",), "a command is missing"),
    (("config", "shwo"), "did you mean `walpost config show`?"),
    (("run", "--confg", "x"), "did you mean --config?"),
    (("run", "-x"), "walpost run has no option -x"),
    (("run", "extra"), "walpost run takes no arguments besides its options"),
    (("run", "-c"), "-c: a value is missing"),
    (("run", "--set"), "--set: a value is missing"),
    (("run", "-c", "a", "--config=b"), "given twice"),
    (("config", "sample", "-c", "x"), "walpost config sample has no option -c"),
    (("--versoin",), "`walpost --help` lists them"),
])
def test_wrong_usage_ends_with_code_2_and_says_what_is_right(arguments, said):
    done = run_command(*arguments)
    assert done.returncode == 2
    assert said in done.stderr
    assert not done.stdout


@pytest.mark.parametrize("arguments", [("--help",), ("-h",), ("help",), ("config", "--help"), ("run", "-c", "x", "-h")])
def test_help_is_no_error(arguments):
    done = run_command(*arguments)
    assert done.returncode == 0
    assert done.stdout.startswith("Usage: walpost") and not done.stderr


def test_what_stands_behind_an_unknown_option_is_not_repeated():
    done = run_command("run", "--pasword=hush")
    assert done.returncode == 2 and "hush" not in done.stderr


@pytest.mark.parametrize("arguments", [("--version",), ("--help",), ("config", "sample"), ("config", "reference")])
def test_output_that_cannot_be_written_is_a_failure(arguments):
    with open("/dev/full", "w") as full:
        done = subprocess.run([binary(), *arguments], stdout=full, stderr=subprocess.PIPE, text=True,
                              env=clean_environment())
    assert done.returncode == 1
    assert "cannot be written" in done.stderr


@pytest.mark.parametrize("closed", [">&-", "<&- >&-"])
def test_a_closed_standard_output_is_no_place_for_events(closed, tmp_path):
    file = tmp_path / "walpost.conf"
    file.write_text(RIGHT)
    done = subprocess.run(
        ["sh", "-c", f'exec "$0" "$@" {closed}', binary(), "run", "-c", file, "--set", "relay.sink=stdout"],
        stderr=subprocess.PIPE, text=True, env=clean_environment(), timeout=20 * limit_factor(),
    )
    assert done.returncode == 2
    assert "standard output is not open for writing" in done.stderr


def test_the_file_may_stand_on_a_pipe():
    done = run_command("config", "show", "-c", "/dev/stdin", input=RIGHT)
    assert done.returncode == 0, done.stderr
    assert "(/dev/stdin:2)" in done.stdout


def test_set_wins_over_the_environment_and_that_over_the_file(tmp_path):
    text = RIGHT + "[log]\nlevel = debug\nformat = json\n[relay]\nepoch = 1\n"
    done = _show(tmp_path, text, "--set", "relay.epoch=3", "--set=outbox.ignore=audit",
                 WALPOST__RELAY__EPOCH="2", WALPOST__LOG__LEVEL="warn")
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert "relay.epoch = 3    (--set)" in lines
    assert "outbox.ignore = audit    (--set)" in lines
    assert "log.level = warn    (environment WALPOST__LOG__LEVEL)" in lines
    assert f"log.format = json    ({tmp_path}/walpost.conf:7)" in lines


def test_the_default_table_is_shown_as_not_served_beside_other_outboxes(tmp_path):
    note = "(default, not served beside [outbox.NAME] sections unless set)"
    more = RIGHT + "[outbox.bills]\ntable = bills\n"
    assert "outbox.table = public.outbox    (default)" in _show(tmp_path, RIGHT).stdout.splitlines()
    assert f"outbox.table = public.outbox    {note}" in _show(tmp_path, more).stdout.splitlines()
    both = _show(tmp_path, more + "[outbox]\ntable = public.outbox\n").stdout
    assert "outbox.table = public.outbox    (" in both and "not served" not in both


def test_each_mistake_is_named_with_its_line(tmp_path):
    done = _show(tmp_path, "[relay]\nsink = x\n\n[log]\nlevel = y\nlevels = z\n")
    assert done.returncode == 2 and not done.stdout
    path = tmp_path / "walpost.conf"
    assert done.stderr.splitlines() == [
        f"walpost: {path}:2: relay.sink = x: it must be kafka or stdout",
        f"walpost: {path}:5: log.level = y: it must be debug, info, warn or error",
        f"walpost: {path}:6: log.levels: there is no such key; did you mean log.level?",
    ]


def test_names_and_expressions_are_judged_without_a_server(tmp_path):
    done = _show(tmp_path, RIGHT + "[outbox]\ntable = a.b.c\ntopic.regex = (\n")
    assert done.returncode == 2
    assert "walpost.conf:6: outbox.table" in done.stderr
    assert "walpost.conf:7: outbox.topic.regex" in done.stderr
    assert "outbox.table = a.b.c" in done.stdout, "values that could be read are shown"


def test_a_kafka_property_is_judged_by_librdkafka(tmp_path):
    done = _show(tmp_path, RIGHT + "no.such.property = 1\n")
    assert done.returncode == 2
    assert "no.such.property" in done.stderr and "walpost.conf:5" in done.stderr


def test_kafka_is_not_asked_for_when_events_go_to_standard_output(tmp_path):
    done = _show(tmp_path, "[postgres]\nconninfo =\n[relay]\nsink = stdout\n")
    assert done.returncode == 0, done.stderr


def test_an_unknown_variable_only_warns(tmp_path):
    done = _show(tmp_path, RIGHT, WALPOST__POSTGRES__SLOTT="x")
    assert done.returncode == 0
    assert done.stderr == (
        "walpost: warning: environment WALPOST__POSTGRES__SLOTT: ignored, there is no such key; did you mean "
        "WALPOST__POSTGRES__SLOT?\n")


def test_secrets_are_shown_nowhere(tmp_path):
    secret = tmp_path / "secret"
    secret.write_text("hush\n")
    text = "[postgres]\nconninfo = postgresql://u:hush@db/app\n[kafka]\nbootstrap.servers = k\n"
    done = _show(tmp_path, text, "--set", "kafka.sasl.username=relay", WALPOST__POSTGRES__PASSWORD_FILE=str(secret),
                 WALPOST__KAFKA__SASL_PASSWORD="hush", WALPOST__KAFKA__SSL_KEY_PASSWORD_FILE=str(secret))
    assert done.returncode == 0, done.stderr
    assert "hush" not in done.stdout + done.stderr
    for key in ("postgres.password", "kafka.sasl.password", "kafka.ssl.key.password"):
        assert f"{key} = ********" in done.stdout
    assert "password=********" in done.stdout


@pytest.mark.parametrize("setting", [
    "postgres.password=hush", "postgres.conninfo=host=db password=hush", "kafka.sasl.password=hush",
])
def test_a_secret_is_not_taken_from_the_command_line(tmp_path, setting):
    done = _show(tmp_path, RIGHT, "--set", setting)
    assert done.returncode == 2
    assert "ps" in done.stderr and "_FILE" in done.stderr and "hush" not in done.stderr


def test_the_reference_names_the_variable_of_each_key_in_the_sample():
    reference = run_command("config", "reference").stdout
    section = ""
    for line in run_command("config", "sample").stdout.splitlines():
        if line.startswith("["):
            section = line.strip("[]")
        elif " =" in line and not line.startswith("#") and section != "kafka":
            key = line.lstrip(";").split(" =")[0]
            assert f"### `{section}.{key}`\n" in reference
            variable = f"WALPOST__{section}__{key.replace('.', '_')}".upper()
            assert f"`{variable}`" in reference
