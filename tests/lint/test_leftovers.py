"""What a killed run left is removed by the next, and nothing else."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from lib import leftovers, places  # noqa: E402
from lib.waiting import wait_until  # noqa: E402

# Takes a folder as a run does, starts what a test would start, and is killed.
_RUN = """
import pathlib, signal, subprocess, sys
from lib import places
folder = places.run_folder("walpost-e2e-", sys.argv[1])
(folder / "data").mkdir()
server = subprocess.Popen(["sleep", "1000"], cwd=folder / "data")
relay = subprocess.Popen([sys.executable, "-c", "import signal; signal.pause()", str(folder / "walpost.conf")])
pathlib.Path(sys.argv[1], "started").write_text(f"{folder} {server.pid} {relay.pid}")
signal.pause()
"""


def _is_there(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


@pytest.fixture
def run(tmp_path):
    """A run at work: its process, its folder, the processes that it started."""
    process = subprocess.Popen(
        [sys.executable, "-c", _RUN, tmp_path], cwd=places.TREE / "tests", start_new_session=True)
    started = tmp_path / "started"
    wait_until(lambda: started.exists() and started.read_text(), 20, "the run has started")
    folder, *pids = started.read_text().split()
    yield process, Path(folder), list(map(int, pids))
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _swept(tmp_path):
    said = []
    leftovers.remove_leftovers(said.append, [tmp_path])
    return said


def test_a_run_at_work_is_left_alone(tmp_path, run):
    _, folder, pids = run
    assert _swept(tmp_path) == []
    assert folder.exists() and all(map(_is_there, pids))


def test_what_a_killed_run_left_is_removed_and_told(tmp_path, run):
    process, folder, pids = run
    process.kill()
    process.wait()
    assert all(map(_is_there, pids))
    said = _swept(tmp_path)
    assert not folder.exists() and not any(map(_is_there, pids))
    assert len(said) == 3 and all(line.startswith("removed, left by a run that was killed: ") for line in said)
    assert _swept(tmp_path) == []


def test_a_folder_without_a_lock_is_left_and_named(tmp_path):
    (tmp_path / "walpost-chaos-41-evidence").mkdir()
    (tmp_path / "walpost-quickstart.abc").mkdir()
    other = subprocess.Popen(["sleep", "1000"], cwd=tmp_path / "walpost-chaos-41-evidence")
    assert _swept(tmp_path) == [f"left alone, for it has no lock of a run: {tmp_path}/walpost-chaos-41-evidence"]
    assert other.poll() is None
    other.kill()
    other.wait()


def test_what_is_kept_as_evidence_is_not_removed(tmp_path):
    folder = places.run_folder("walpost-chaos-", tmp_path)
    places.keep(folder)
    _swept(tmp_path)
    assert folder.exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="mounts and rules want root")
def test_mounts_and_rules_of_a_killed_run_go_with_it(tmp_path, run):
    process, folder, _ = run
    subprocess.run(["mount", "-t", "tmpfs", "tmpfs", folder / "data"], check=True)
    rule = ["OUTPUT", "-o", "lo", "-p", "tcp", "--dport", "1", "-m", "comment", "--comment", str(folder), "-j", "DROP"]
    has_rules = subprocess.run(["iptables", "-w", "5", "-I", *rule], check=False).returncode == 0
    process.kill()
    process.wait()
    said = _swept(tmp_path)
    assert f"removed, left by a run that was killed: mount {folder}/data" in said
    assert str(folder) not in Path("/proc/self/mounts").read_text()
    if has_rules:
        assert any("rule of iptables" in line for line in said)
        assert str(folder) not in subprocess.run(["iptables", "-S"], capture_output=True, text=True).stdout
