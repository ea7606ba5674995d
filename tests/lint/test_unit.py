"""The systemd units, as far as they can be judged without a running systemd; the ring `package` runs them."""

import os
import re
import subprocess
from pathlib import Path

import pytest

BUILD = Path(os.environ["WALPOST_BUILDS"]) / "gcc"
UNITS = ("walpost.service", "walpost@orders.service")
EXPOSURE_MAX = 1.5


def _text(name):
    return (BUILD / "deploy" / name).read_text()


def _values(key, name="walpost.service"):
    return re.findall(rf"^{key}=(.*)$", _text(name), re.MULTILINE)


def _seconds(duration):
    number, unit = re.fullmatch(r"(\d+)(ms|s|min|h)", duration).groups()
    return int(number) * {"ms": 0.001, "s": 1, "min": 60, "h": 3600}[unit]


@pytest.fixture
def folder(tmp_path):
    """The units with a program that is there."""
    for name in ("walpost.service", "walpost@.service"):
        text, count = re.subn(r"^(ExecStart=)\S+", rf"\g<1>{BUILD}/src/walpost", _text(name), flags=re.MULTILINE)
        assert count == 1
        (tmp_path / name).write_text(text)
    return tmp_path


def _verify(folder, unit):
    done = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", folder / unit], capture_output=True, text=True
    )
    return done.returncode, [line for line in done.stderr.splitlines() if "walpost" in line]


@pytest.mark.parametrize("unit", UNITS)
def test_systemd_has_nothing_to_say_of_it(folder, unit):
    assert _verify(folder, unit) == (0, [])


def test_a_planted_mistake_is_found(folder):
    unit = folder / "walpost.service"
    unit.write_text(unit.read_text().replace("NoNewPrivileges=", "NoNewPriviledges="))
    assert "NoNewPriviledges" in str(_verify(folder, "walpost.service"))


def _exposure(unit):
    said = subprocess.run(
        ["systemd-analyze", "security", "--offline=yes", "--no-pager", unit], capture_output=True, text=True
    ).stdout
    return float(re.search(r"Overall exposure level for \S+: ([\d.]+) ", said)[1])


def test_it_is_hardened(folder):
    assert _exposure(folder / "walpost.service") <= EXPOSURE_MAX


def test_a_sandbox_with_a_hole_is_found(folder):
    unit = folder / "walpost.service"
    unit.write_text(re.sub(r"^SystemCallFilter=.*\n", "", unit.read_text(), flags=re.MULTILINE))
    assert _exposure(unit) > EXPOSURE_MAX


def test_the_command_line_is_one_of_the_program():
    (line,) = _values("ExecStart")
    program, *words = line.split()
    assert program == "/usr/local/bin/walpost" and words[:2] == ["run", "-c"]
    done = subprocess.run([BUILD / "src/walpost", *words[:2], "/none", "--help"], capture_output=True, text=True)
    assert done.returncode == 0


def test_what_only_a_human_can_mend_is_not_started_again():
    said = subprocess.run([BUILD / "src/walpost", "run", "--help"], check=True, capture_output=True, text=True).stdout
    codes = dict(re.findall(r"^  (\d)  (.*)$", said, re.MULTILINE))
    hopeless = [code for code, meaning in codes.items() if "configuration" in meaning or "operator" in meaning]
    assert len(hopeless) == 2 and _values("RestartPreventExitStatus") == [" ".join(hopeless)]
    assert _values("Restart") == ["on-failure"]


def test_a_stop_has_more_time_than_the_relay_takes():
    said = subprocess.run([BUILD / "src/walpost", "config", "reference"], check=True, capture_output=True, text=True)
    entry = said.stdout.split("### `relay.shutdown.timeout`")[1]
    timeout = re.search(r"Default: `(\w+)`", entry)[1]
    assert f"relay.shutdown.timeout ({timeout})" in _text("walpost.service")
    assert _seconds(_values("TimeoutStopSec")[0]) >= _seconds(timeout) + 3 + 5  # 3 s for walpost.slot_checkpoint


def test_the_template_is_the_same_but_for_its_configuration():
    plain, template = (_text(name).splitlines() for name in ("walpost.service", "walpost@.service"))
    assert len(plain) == len(template)
    assert {line.split("=")[0] for line, other in zip(plain, template) if line != other and line[0] != "#"} == {
        "Description", "ExecStart",
    }


def test_the_user_of_the_unit_is_the_one_that_is_made(tree):
    text = (tree / "deploy/systemd/walpost.sysusers").read_text()
    assert re.search(r"^u (\S+) ", text, re.MULTILINE)[1] == _values("User")[0] == _values("Group")[0]


def test_the_drop_in_for_secrets_names_a_variable_of_the_program(tree):
    text = (tree / "deploy/systemd/credentials.conf").read_text()
    for variable, path in re.findall(r"^#?Environment=(WALPOST__\w+)=%d/(\S+)$", text, re.MULTILINE):
        assert f"LoadCredential={path}:/etc/walpost/{path}\n" in text
        done = subprocess.run(
            [BUILD / "src/walpost", "config", "show"], capture_output=True, text=True,
            env={**os.environ, variable: "/dev/null"},
        )
        assert "there is no such key" not in done.stderr
