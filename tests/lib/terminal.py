"""A program on a terminal of its own, and what one would see there."""

import fcntl
import os
import pty
import re
import select
import signal
import struct
import termios

from lib.relay import clean_environment
from lib.waiting import wait_until

_SEQUENCE = re.compile(r"\x1b\[(\??)([0-9;]*)([A-Za-z])")


class Screen:
    """As much of a terminal as walpost uses: home, erase to the end of line and screen, the other screen, a cursor."""

    def __init__(self):
        self.is_other = False
        self.has_cursor = True
        self._lines = {False: [""], True: [""]}
        self._row = {False: 0, True: 0}
        self._column = 0
        self._left = ""

    def lines(self):
        return list(self._lines[self.is_other])

    def text(self):
        return "\n".join(self.lines())

    def feed(self, text):
        """A sequence that is cut waits for its end."""
        text = self._left + text
        self._left = ""
        while text:
            if text[0] == "\x1b":
                match = _SEQUENCE.match(text)
                if match is None:
                    self._left = text
                    return
                self._obey(*match.groups())
                text = text[match.end():]
            else:
                self._print(text[0])
                text = text[1:]

    def _obey(self, private, numbers, letter):
        lines, row = self._lines[self.is_other], self._row[self.is_other]
        if private:
            if numbers == "1049":
                self.is_other = letter == "h"
                if self.is_other:
                    self._lines[True], self._row[True], self._column = [""], 0, 0
            elif numbers == "25":
                self.has_cursor = letter == "h"
        elif letter == "H":
            self._row[self.is_other] = self._column = 0
        elif letter == "K":
            lines[row] = lines[row][:self._column]
        elif letter == "J":
            del lines[row + 1:]
            lines[row] = lines[row][:self._column]
        else:
            raise AssertionError(f"an unknown sequence: {private}{numbers}{letter}")

    def _print(self, character):
        lines, row = self._lines[self.is_other], self._row[self.is_other]
        if character == "\r":
            self._column = 0
        elif character == "\n":
            self._row[self.is_other] += 1
            if len(lines) <= self._row[self.is_other]:
                lines.append("")
        else:
            line = lines[row].ljust(self._column)
            lines[row] = line[:self._column] + character + line[self._column + 1:]
            self._column += 1


class Terminal:
    """Runs a program; `wait_until` reads what it paints."""

    def __init__(self, command, rows=40, columns=100, environment=None):
        self.screen = Screen()
        self.raw = ""
        self._code = None
        self._pid, self._fd = pty.fork()
        if self._pid == 0:
            try:
                os.execvpe(str(command[0]), [str(word) for word in command],
                           clean_environment({"TERM": "xterm", **(environment or {})}))
            finally:
                os._exit(127)
        self.resize(rows, columns)

    def resize(self, rows, columns):
        """The program is told by SIGWINCH."""
        fcntl.ioctl(self._fd, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def type(self, keys):
        os.write(self._fd, keys.encode())

    def _read(self, seconds):
        if not select.select([self._fd], [], [], seconds)[0]:
            return
        try:
            text = os.read(self._fd, 65536).decode(errors="replace")
        except OSError:  # the program is gone
            return
        self.raw += text
        self.screen.feed(text)

    def wait_until(self, condition, deadline, what):
        def holds():
            self._read(0.05)
            return condition()

        wait_until(holds, deadline, what, self.screen.text)

    def wait_for(self, text, deadline=20):
        self.wait_until(lambda: text in self.screen.text(), deadline, f"the screen shows {text!r}")

    def is_stopped(self):
        """By Ctrl-Z."""
        with open(f"/proc/{self._pid}/stat") as stat:
            return stat.read().rsplit(")", 1)[1].split()[0] == "T"

    def go_on(self):
        os.kill(self._pid, signal.SIGCONT)

    def _is_over(self):
        if self._code is None:
            pid, status = os.waitpid(self._pid, os.WNOHANG)
            if pid != 0:
                self._code = os.waitstatus_to_exitcode(status)
        return self._code is not None

    def wait_exit(self, deadline=10):
        """Its exit code, all that it painted read."""
        self.wait_until(self._is_over, deadline, "the program has ended")
        before = None
        while before != self.raw:
            before = self.raw
            self._read(0.1)
        return self._code

    def end(self):
        if not self._is_over():
            os.kill(self._pid, signal.SIGKILL)
            os.waitpid(self._pid, 0)
        os.close(self._fd)
