"""The service on a running Debian: real systemd, with the servers of the tests."""

import re
import subprocess
import urllib.request

import pytest

from lib.ports import take_port
from lib.waiting import holds_for, wait_until


def main_pid(machine, unit="walpost"):
    return machine.facts(unit, "MainPID")["MainPID"]


def wait_state(machine, state, unit="walpost", deadline=30):
    wait_until(lambda: machine.facts(unit, "ActiveState", "SubState") == dict(zip(("ActiveState", "SubState"), state)),
               deadline, f"{unit} is {state}", lambda: machine.journal(unit))


def delivers(stage, machine, unit="walpost"):
    """One event more, from its transaction to Kafka and back to the slot."""
    id = stage.insert()
    stage.wait_until(lambda: id in [message.id for message in stage.read()], 30,
                     f"the event is in Kafka\n{machine.journal(unit)}")
    stage.wait_until(lambda: stage.confirmed() >= stage.wal_end(), 30, "it is confirmed")


def test_it_is_not_started_before_somebody_does(machine):
    assert machine.facts("walpost", "ActiveState", "UnitFileState", "NRestarts") == {
        "ActiveState": "inactive", "UnitFileState": "disabled", "NRestarts": "0",
    }


def test_started_it_delivers_and_stopped_it_ends_in_good_order(machine, stage, configure):
    configure(stage)
    machine.run("systemctl", "enable", "--now", "walpost")
    delivers(stage, machine)
    machine.run("systemctl", "stop", "walpost")
    assert machine.facts("walpost", "ActiveState", "Result", "ExecMainStatus", "NRestarts") == {
        "ActiveState": "inactive", "Result": "success", "ExecMainStatus": "0", "NRestarts": "0",
    }
    assert not stage.is_streaming()


def test_it_says_what_it_does(machine, stage, configure):
    configure(stage)
    machine.run("systemctl", "start", "walpost")
    wait_until(lambda: machine.facts("walpost", "StatusText")["StatusText"] == "streaming", 20, "it says so")
    stage.kafka.delete_topic(stage.topic())
    stage.insert()
    wait_until(lambda: machine.facts("walpost", "StatusText")["StatusText"] == "paused", 30, "it says so")


def test_a_reload_changes_what_is_sent_and_the_process_stays(machine, stage, configure):
    configure(stage)
    machine.run("systemctl", "start", "walpost")
    pid = main_pid(machine)
    delivers(stage, machine)
    configure(stage, changes={"outbox.headers.source": "reloaded"})
    machine.run("systemctl", "reload", "walpost")
    wait_until(lambda: "outbox_changed" in machine.journal("walpost"), 20, "it has changed")
    delivers(stage, machine)
    assert dict(stage.read()[-1].headers)["walpost-source"] == b"reloaded" and main_pid(machine) == pid
    assert machine.facts("walpost", "ActiveState")["ActiveState"] == "active"


def test_stuck_it_is_killed_and_started_again(machine, stage, configure):
    machine.write("/etc/systemd/system/walpost.service.d/soon.conf",
                  "[Service]\nWatchdogSec=2s\nTimeoutAbortSec=1s\nRestartSec=100ms\n")
    machine.run("systemctl", "daemon-reload")
    configure(stage)
    machine.run("systemctl", "start", "walpost")
    delivers(stage, machine)
    first = main_pid(machine)
    holds_for(lambda: main_pid(machine) == first, 5, "a relay that lives is left alone")
    machine.signal(first, "STOP")
    wait_until(lambda: main_pid(machine) not in (first, "0"), 30, "another runs", lambda: machine.journal("walpost"))
    assert "Watchdog timeout" in machine.journal("walpost")
    delivers(stage, machine)


def test_it_answers_what_it_is_asked_of_itself(machine, stage, configure):
    """Within its sandbox it sees of /proc what /metrics tells."""
    port = take_port()
    configure(stage, changes={"http.listen": f"127.0.0.1:{port}"})
    machine.run("systemctl", "start", "walpost")
    delivers(stage, machine)
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=10) as answer:
        figures = dict(re.findall(r"^(process_\w+) (\S+)$", answer.read().decode(), re.MULTILINE))
    assert float(figures["process_open_fds"]) > 3 and float(figures["process_resident_memory_bytes"]) > 1e6
    machine.run("runuser", "-u", "walpost", "--", "walpost", "status", "--local", "-c", "/etc/walpost/walpost.conf")


def test_its_user_may_check_with_the_same_configuration(machine, stage, configure):
    configure(stage)
    said = machine.run("runuser", "-u", "walpost", "--", "walpost", "check", "-c", "/etc/walpost/walpost.conf")
    assert "ok " in said


def test_killed_it_is_started_again(machine, stage, configure):
    configure(stage)
    machine.run("systemctl", "start", "walpost")
    delivers(stage, machine)
    first = main_pid(machine)
    machine.signal(first, "KILL")
    wait_until(lambda: main_pid(machine) not in (first, "0"), 30, "it runs again", lambda: machine.journal("walpost"))
    delivers(stage, machine)


def test_told_to_stop_by_a_signal_it_stays_stopped(machine, stage, configure):
    configure(stage)
    machine.run("systemctl", "start", "walpost")
    delivers(stage, machine)
    machine.signal(main_pid(machine), "TERM")
    wait_state(machine, ("inactive", "dead"))


@pytest.mark.parametrize("changes, code", [
    ({"relay.poison": "frobnicate"}, "2"),
    ({"postgres.publication": "none_such"}, "3"),
])
def test_what_only_a_human_can_mend_is_not_started_again(machine, stage, configure, changes, code):
    configure(stage, changes=changes)
    machine.run("systemctl", "start", "--no-block", "walpost")
    wait_state(machine, ("failed", "failed"))
    holds_for(lambda: main_pid(machine) == "0", 7, "it is not started again")  # above RestartSec
    assert machine.facts("walpost", "ExecMainStatus", "NRestarts") == {"ExecMainStatus": code, "NRestarts": "0"}


def test_a_relay_of_its_own_for_each_instance(machine, make_stage, configure):
    first, second = make_stage(), make_stage()
    configure(first)
    configure(second, "orders")
    machine.run("systemctl", "start", "walpost", "walpost@orders")
    delivers(first, machine)
    delivers(second, machine, "walpost@orders")
    assert "(orders)" in machine.facts("walpost@orders", "Description")["Description"]


def status_of(machine, pid):
    lines = machine.run("cat", f"/proc/{pid}/status").splitlines()
    return {name: value.strip() for name, _, value in (line.partition(":") for line in lines)}


def test_it_runs_with_no_more_rights_than_it_needs(machine, stage, configure):
    configure(stage)
    machine.run("systemctl", "start", "walpost")
    delivers(stage, machine)
    pid = main_pid(machine)
    status = status_of(machine, pid)
    uid = machine.run("id", "-u", "walpost").strip()
    assert status["Uid"].split() == [uid] * 4
    assert {status[name] for name in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb")} == {"0" * 16}
    assert status["NoNewPrivs"] == "1" and status["Seccomp"] == "2"
    mounts = machine.run("cat", f"/proc/{pid}/mounts")
    assert re.search(r"^\S+ / \S+ ro,", mounts, re.MULTILINE), "its root can be written to"


def test_nothing_that_it_may_not_do_is_asked_of_it(machine, stage, configure):
    """The kernel is made to kill it for any system call that the filter refuses, instead of refusing."""
    machine.write("/etc/systemd/system/walpost.service.d/strict.conf",
                  "[Service]\nSystemCallErrorNumber=kill\nRestart=no\n")
    machine.run("systemctl", "daemon-reload")
    assert int(machine.facts("walpost", "SystemCallErrorNumber")["SystemCallErrorNumber"]) > 4095  # no error: kill
    configure(stage, changes={"log.level": "debug"})
    machine.run("systemctl", "start", "walpost")
    delivers(stage, machine)
    machine.run("systemctl", "stop", "walpost")
    assert machine.facts("walpost", "Result", "ExecMainStatus") == {"Result": "success", "ExecMainStatus": "0"}


def test_its_password_is_handed_over_by_systemd(machine, stage, configure, postgres):
    role = f"relay_{stage.name}"
    stage.sql(f"CREATE ROLE {role} LOGIN REPLICATION PASSWORD 'open sesame'")
    stage.sql(f"GRANT USAGE ON SCHEMA walpost TO {role}; GRANT ALL ON ALL TABLES IN SCHEMA walpost TO {role}")
    rules = postgres.data / "pg_hba.conf"
    before = rules.read_text()
    rules.write_text(f"host all {role} 127.0.0.1/32 scram-sha-256\n{before}")
    postgres.reload_conf()
    try:
        configure(stage, changes={"postgres.conninfo": postgres.conninfo(stage.database, user=role)})
        machine.write("/etc/walpost/postgres.password", "open sesame\n", 0o600)
        example = (machine.folder / "usr/share/doc/walpost/examples/credentials.conf").read_text()
        machine.write("/etc/systemd/system/walpost.service.d/credentials.conf", example)
        machine.run("systemctl", "daemon-reload")
        machine.run("systemctl", "start", "walpost")
        delivers(stage, machine)
        environment = machine.run("cat", f"/proc/{main_pid(machine)}/environ")
        assert "open sesame" not in environment and "PASSWORD_FILE=/run/credentials/walpost.service/" in environment
        machine.run("systemctl", "stop", "walpost")
    finally:
        rules.write_text(before)
        postgres.reload_conf()
        stage.sql(f"DROP OWNED BY {role}; DROP ROLE {role}")


def rebuilt(deb, folder, version):
    """The same package with another version."""
    unpacked, made = folder / "unpacked", folder / "walpost-next.deb"
    subprocess.run(["dpkg-deb", "--raw-extract", deb, unpacked], check=True)
    control = unpacked / "DEBIAN" / "control"
    control.write_text(re.sub(r"^Version: .*$", f"Version: {version}", control.read_text(), flags=re.MULTILINE))
    sample = unpacked / "etc/walpost/walpost.conf"
    sample.write_text(sample.read_text() + "\n# A later version says more.\n")
    subprocess.run(["dpkg-deb", "--root-owner-group", "--build", unpacked, made], check=True, capture_output=True)
    return made


def test_an_upgrade_restarts_what_runs_and_leaves_the_rest(machine, make_stage, configure, deb, tmp_path):
    first, second = make_stage(), make_stage()
    configure(first)
    configure(second, "orders")
    machine.run("systemctl", "start", "walpost", "walpost@orders")
    delivers(first, machine)
    before = [main_pid(machine, unit) for unit in ("walpost", "walpost@orders")]
    configuration = (machine.folder / "etc/walpost/walpost.conf").read_text()
    newer = rebuilt(deb, tmp_path, "9.0-1")
    machine.write("/newer.deb", "")
    (machine.folder / "newer.deb").write_bytes(newer.read_bytes())
    machine.run("apt-get", "install", "-y", "-o", "Dpkg::Options::=--force-confold", "/newer.deb")
    after = [main_pid(machine, unit) for unit in ("walpost", "walpost@orders")]
    assert not set(before) & set(after) and "0" not in after
    assert (machine.folder / "etc/walpost/walpost.conf").read_text() == configuration
    assert machine.run("stat", "-c", "%U:%G %a", "/etc/walpost/walpost.conf").strip() == "root:walpost 640"
    delivers(first, machine)
    delivers(second, machine, "walpost@orders")


def test_an_upgrade_starts_nothing_that_does_not_run(machine, stage, configure, deb, tmp_path):
    configure(stage)
    machine.write("/newer.deb", "")
    (machine.folder / "newer.deb").write_bytes(rebuilt(deb, tmp_path, "9.0-1").read_bytes())
    machine.run("apt-get", "install", "-y", "-o", "Dpkg::Options::=--force-confold", "/newer.deb")
    assert machine.facts("walpost", "ActiveState", "UnitFileState") == {
        "ActiveState": "inactive", "UnitFileState": "disabled",
    }


def test_purged_while_it_runs_it_stops_first_and_is_gone(machine, make_stage, configure):
    first, second = make_stage(), make_stage()
    configure(first)
    configure(second, "orders")
    machine.run("systemctl", "enable", "--now", "walpost", "walpost@orders")
    delivers(first, machine)
    pids = [main_pid(machine, unit) for unit in ("walpost", "walpost@orders")]
    (machine.folder / "etc/walpost/orders.conf").unlink()
    machine.run("apt-get", "purge", "-y", "walpost")
    assert not [pid for pid in pids if machine.has_process(pid)]
    assert not first.is_streaming() and not second.is_streaming()
    left = machine.run("find", "/etc", "/usr", "/var/lib/systemd", "-name", "*walpost*").split()
    assert left == []
    assert machine.ask("getent", "passwd", "walpost").returncode != 0
