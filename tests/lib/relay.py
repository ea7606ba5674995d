"""The program under test, run as its users run it."""

import os
import signal
import subprocess
from pathlib import Path

from lib import places, process
from lib.logfmt import parse_line
from lib.waiting import TooLate, wait_until

# What a developer's shell may hold must not reach the program.
_FOREIGN = ("WALPOST", "PG")
_MISTAKES = (signal.SIGABRT, signal.SIGBUS, signal.SIGFPE, signal.SIGILL, signal.SIGSEGV, signal.SIGSYS, signal.SIGTRAP)
_REPORTS = ("Sanitizer: ", "runtime error: ")


def binary():
    """The walpost to test."""
    return Path(os.environ.get("WALPOST_BINARY") or places.build("gcc") / "src" / "walpost")


def config_text(config):
    """An INI file from {"postgres.slot": "s", "kafka.bootstrap.servers": ...}; None leaves a key out."""
    sections = {}
    for name, value in config.items():
        if value is None:
            continue
        section, key = name.split(".", 1)
        sections.setdefault(section, []).append(f"{key} = {value}")
    return "\n".join(f"[{name}]\n" + "\n".join(lines) + "\n" for name, lines in sections.items())


def clean_environment(more=None):
    inherited = {k: v for k, v in os.environ.items() if not k.startswith(_FOREIGN)}
    return {**inherited, **(more or {})}


def run_command(*arguments, environment=None, deadline=60, input=None):
    """One walpost command to its end: returncode, stdout, stderr."""
    options = {} if input is None else {"input": input}
    return process.run([binary(), *arguments], deadline, env=clean_environment(environment), **options)


class Relay:
    """One `walpost run`."""

    _count = 0

    def __init__(self, config, folder, environment=None, arguments=(), stdout=None, stderr=None, wrapper=()):
        Relay._count += 1
        self.folder = Path(folder) / f"relay{Relay._count}"
        self.folder.mkdir(parents=True)
        self.config_file = self.folder / "walpost.conf"
        self.config_file.write_text(config_text(config))
        self._environment = clean_environment(environment)
        self._command = [*wrapper, binary(), "run", "-c", self.config_file, *arguments]
        self._stdout = stdout
        self._stderr = stderr
        self.stdout_file = self.folder / "stdout"
        self.stderr_file = self.folder / "stderr"
        self._process = None
        self._log_before = 0

    def start(self):
        """Starts it; the log goes on in the same file when it is started again."""
        with open(self.stdout_file, "ab") as out, open(self.stderr_file, "ab") as err:
            self._log_before = err.tell()
            self._process = subprocess.Popen(
                list(map(str, self._command)), stdin=subprocess.DEVNULL,
                stdout=out if self._stdout is None else self._stdout,
                stderr=err if self._stderr is None else self._stderr,
                env=self._environment, preexec_fn=process.dies_with_us(),
            )
        return self

    @property
    def pid(self):
        return self._process.pid

    def is_alive(self):
        return self._process is not None and self._process.poll() is None

    def has_read_config(self):
        """The process that was started last has: before, it would find a file that is written now."""
        return b"event=started" in self.log_since(self._log_before)

    def log_since(self, mark):
        """The bytes of the log behind its first `mark` ones."""
        with open(self.stderr_file, "rb") as log:
            log.seek(mark)
            return log.read()

    def signal(self, number):
        self._process.send_signal(number)

    def reload(self, config):
        """Another file (a text, or as for a new relay), SIGHUP, and the log lines since."""
        mark = len(self.log())
        self.config_file.write_text(config if isinstance(config, str) else config_text(config))
        self.signal(signal.SIGHUP)

        def heard():
            return [line for line in self.log()[mark:] if line.get("event") in ("reloaded", "reload_refused")]

        self.wait_until(heard, 10, "it has reloaded")
        return self.log()[mark:]

    def wait_exit(self, deadline=30):
        """Its exit code."""
        try:
            return process.wait_exit(self._process, deadline, "walpost")
        except TooLate as late:
            raise TooLate(f"{late}\n{self.log_tail()}") from None

    def stop(self, deadline=30):
        """SIGTERM; it must end by itself, and in good order."""
        self.signal(signal.SIGTERM)
        code = self.wait_exit(deadline)
        assert code == 0, f"walpost exited with {code} after SIGTERM\n{self.log_tail()}"

    def stop_within(self, deadline):
        """SIGTERM while something hangs: it may have to give up, but must end."""
        self.signal(signal.SIGTERM)
        code = self.wait_exit(deadline)
        assert code in (0, 1), f"walpost exited with {code} after SIGTERM\n{self.log_tail()}"

    def kill(self):
        """SIGKILL: no chance to say anything."""
        self._process.kill()
        self._process.wait()

    def end(self):
        if self.is_alive():
            self.kill()

    def log_text(self):
        if not self.stderr_file.exists():  # never started
            return ""
        return self.stderr_file.read_text(errors="replace")

    def log_tail(self):
        return f"--- walpost says ({self.config_file}):\n" + "\n".join(self.log_text().splitlines()[-30:])

    def log(self, event=None):
        """The log lines as facts, all or those of one event."""
        lines = [parse_line(line) for line in self.log_text().splitlines()]
        return [line for line in lines if event is None or line.get("event") == event]

    def stdout_text(self):
        return self.stdout_file.read_text()

    def wait_until(self, condition, deadline, what):
        """While it lives."""

        def check():
            value = condition()
            assert value or self.is_alive(), (
                f"walpost exited with {self._process.returncode}, waiting until {what}\n{self.log_tail()}"
            )
            return value

        return wait_until(check, deadline, what, self.log_tail)

    def wait_log(self, text, deadline=20, count=1):
        """Until the log holds `text`."""
        self.wait_until(lambda: self.log_text().count(text) >= count, deadline, f"the log says {text!r}")

    def broke(self):
        """Has it ended by a mistake of its own: an assertion, a wrong address, what a sanitizer found?"""
        code = self._process.poll() if self._process else None
        log = self.log_text()
        return (code is not None and -code in _MISTAKES) or any(report in log for report in _REPORTS)

    def rss_kb(self):
        return process.rss_kb(self.pid)

    def peak_rss_kb(self):
        return process.peak_rss_kb(self.pid)
