"""Real shells at a terminal, asked what they complete."""

import os
import pty
import re
import select
import subprocess
import termios
import time

# Each inserts all completions on Ctrl-T and prints the line, and empties it, on Ctrl-G.
_BASH = r"""
PS1=; bind 'set bell-style none'; bind 'set enable-bracketed-paste off'
source /usr/share/bash-completion/bash_completion
source '{deploy}/walpost'
bind '"\C-t": insert-completions'
bind -x '"\C-g": printf "<<%s>>\n" "$READLINE_LINE"; READLINE_LINE='
echo rea''dy
"""
_ZSH = r"""
PS1=; unsetopt prompt_cr prompt_sp; unset zle_bracketed_paste
fpath=('{deploy}' $fpath); autoload -Uz compinit; compinit -u -D
insert-all() {{ compstate[insert]=all; compstate[list]= }}
complete-all() {{ comppostfuncs=(insert-all); zle expand-or-complete }}
zle -N complete-all; bindkey '^T' complete-all
show() {{ zle -I; print -r -- "<<$BUFFER>>"; BUFFER= }}
zle -N show; bindkey '^G' show
echo rea''dy
"""


def _bare(candidates, line):
    """The same from every shell: behind the = where the line has come so far, and without one that is put behind."""
    behind = "=" in line.split(" ")[-1]
    return {candidate.rstrip("=").rpartition("=")[2] if behind else candidate.rstrip("=") for candidate in candidates}


class Fish:
    """It says itself what it completes."""

    def __init__(self, deploy, folder):
        self._deploy, self._folder = deploy, folder

    def completed(self, line):
        """What the last word can become, or what is behind its =."""
        said = subprocess.run(
            ["fish", "--no-config", "-c", f"source '{self._deploy}/walpost.fish'; complete -C '{line}'"],
            cwd=self._folder, check=True, capture_output=True, text=True, stdin=subprocess.DEVNULL,
            env={**os.environ, "HOME": str(self._folder), "XDG_DATA_HOME": str(self._folder / ".data")},
        )
        assert not said.stderr, said.stderr
        return _bare([candidate.split("\t")[0] for candidate in said.stdout.splitlines()], line)

    def end(self):
        pass


class _AtTerminal:
    def __init__(self, command, setup, deploy, folder):
        self._pid, self._terminal = pty.fork()
        if self._pid == 0:
            os.chdir(folder)
            os.environ.update(TERM="dumb", HOME=str(folder))
            os.execvp(command[0], command)
        settings = termios.tcgetattr(self._terminal)
        settings[3] &= ~termios.ECHO
        termios.tcsetattr(self._terminal, termios.TCSANOW, settings)
        self._said = b""
        self._type(setup.format(deploy=deploy))
        self._until(rb"ready\r?\n")

    def _type(self, text):
        os.write(self._terminal, text.encode())

    def _until(self, pattern):
        end = time.monotonic() + 20
        while not (match := re.search(pattern, self._said, re.DOTALL)):
            left = end - time.monotonic()
            assert left > 0, f"the shell did not answer:\n{self._said.decode(errors='replace')}"
            if select.select([self._terminal], [], [], left)[0]:
                self._said += os.read(self._terminal, 65536)
        self._said = self._said[match.end():]
        return match

    def completed(self, line):
        """What the last word can become, or what is behind its =."""
        self._type(f"{line}\x14\x07")
        after = self._until(rb"<<(.*?)>>")[1].decode()
        start = line.rfind(" ") + 1
        assert after.startswith(line[:start]), after
        return _bare(after[start:].split(), line) - {""}

    def end(self):
        os.close(self._terminal)  # the shell is hung up
        os.waitpid(self._pid, 0)


class Bash(_AtTerminal):
    def __init__(self, deploy, folder):
        super().__init__(["bash", "--noprofile", "--norc", "-i"], _BASH, deploy, folder)


class Zsh(_AtTerminal):
    def __init__(self, deploy, folder):
        super().__init__(["zsh", "-f", "-i"], _ZSH, deploy, folder)
