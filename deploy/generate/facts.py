"""What walpost says of itself: its commands, their options, the keys of walpost.conf.

Read from the pages of the documentation that hold `--help` of every command and `config reference` (pages.py fills them
in, and the tests compare them with the program), so that manual pages and completions cannot say anything else, and the
program need not run where it is built. What has not the form that is expected is an error, and the build fails: nothing
is left out silently.
"""

import re
from dataclasses import dataclass, field
from pathlib import Path

# Options that all commands share: told once.
CONFIG, SET, HELP = "--config", "--set", "--help"

_PART = re.compile(r"^<!-- generated from `walpost (?:help|config reference)` -->\n\n(.*?)\n<!-- end -->$",
                   re.MULTILINE | re.DOTALL)
_HELP = re.compile(r"^## (walpost[a-z -]*)\n\n```text\n(.*?)\n```$", re.MULTILINE | re.DOTALL)
_USAGE = re.compile(r"Usage: (walpost(?: [a-z-]+)*?)(?: (COMMAND))? \[OPTION\]\.\.\.(?: (\S+))?$")
_COMMAND = re.compile(r"  ([a-z][a-z-]*) +(\S.*)$")
_OPTION = re.compile(r"  (?:(-[a-z]), )?(--[a-z][a-z-]*)(?: ([A-Z][A-Z.=]*))? +(\S.*)$")
_EXIT = re.compile(r"  ([0-9]+)  (\S.*)$")
_FURTHER_LINE = re.compile(r" {5,}(\S.*)$")


class Unexpected(Exception):
    """A page says something that is not understood here."""


@dataclass(frozen=True)
class Option:
    short: str  # "-c", or None
    name: str  # "--config"
    argument: str  # "FILE"; None: it is a flag
    help: str


@dataclass
class Command:
    words: tuple  # ("slot", "skip")
    summary: str
    arguments: str = None  # "[NAME]"
    about: str = ""
    options: list = field(default_factory=list)
    exits: list = field(default_factory=list)  # (code, what it means)
    commands: list = field(default_factory=list)  # of a command that has commands of its own

    @property
    def own_options(self):
        return [option for option in self.options if option.name not in (CONFIG, SET, HELP)]

    @property
    def is_configured(self):
        return any(option.name == SET for option in self.options)


@dataclass
class Key:
    name: str  # "postgres.slot"
    help: str
    allowed: str  # in words
    values: tuple  # of a choice
    default: str  # None: it must be set
    example: str  # "slot = orders", or a variable and its value
    variable: str  # "WALPOST__POSTGRES__SLOT"
    notes: list = field(default_factory=list)

    @property
    def is_secret(self):
        return any(note.startswith("A secret:") for note in self.notes)


@dataclass
class Section:
    name: str
    text: str  # what stands before its keys, as Markdown
    keys: list = field(default_factory=list)


@dataclass
class Program:
    commands: list
    reference_head: str  # what the reference says of all keys, as Markdown
    sections: list

    def leaves(self):
        """The commands that can be run."""
        return [leaf for command in self.commands for leaf in command.commands or [command]]

    def shared_option(self, name):
        return next(o for leaf in self.leaves() for o in leaf.options if o.name == name)

    def keys(self):
        return [key for section in self.sections for key in section.keys]


def of(pages):
    """As the pages in that folder have it."""
    helps = dict(_HELP.findall(_part(Path(pages) / "reference" / "commands.md")))
    head, sections = _reference(_part(Path(pages) / "configuration.md"))
    return Program(commands=_commands(helps, ()), reference_head=head, sections=sections)


def _part(page):
    """What is the program's own on a page."""
    found = _PART.findall(page.read_text(encoding="utf-8"))
    if len(found) != 1:
        raise Unexpected(f"{page}: {len(found)} parts that are generated from what walpost prints, not one")
    return found[0]


def _help(helps, words):
    name = " ".join(("walpost", *words))
    if name not in helps:
        raise Unexpected(f"there is no help of `{name}`")
    return helps[name]


def _commands(helps, above):
    """All commands of the program or of a command of it."""
    found = []
    for line in _help(helps, above).splitlines():
        match = _COMMAND.match(line)
        if match:
            found.append(_command(helps, (*above, match[1]), match[2]))
    if not found:
        raise Unexpected(f"walpost {' '.join(above)} --help lists no command")
    return found


def _command(helps, words, summary):
    text = _help(helps, words)
    usage = _USAGE.match(text.splitlines()[0])
    if usage is None or usage[1] != " ".join(("walpost", *words)):
        raise Unexpected(f"`walpost {' '.join(words)} --help` begins with {text.splitlines()[0]!r}")
    if usage[2]:
        return Command(words, summary, commands=_commands(helps, words))
    return _leaf(Command(words, summary, arguments=usage[3]), text)


def _leaf(command, text):
    parts = text.split("\n\n")[1:]
    titles = ["Options:\n", "Exit codes:\n"]
    if len(parts) < 3 or [p for p, title in zip(parts[-2:], titles) if not p.startswith(title)]:
        raise Unexpected(f"walpost {' '.join(command.words)} --help: no options or no exit codes at its end")
    command.about = "\n\n".join(parts[:-2])
    for match, more in _entries(parts[-2], _OPTION):
        command.options.append(Option(match[1], match[2], match[3], " ".join([match[4], *more])))
    for match, more in _entries(parts[-1], _EXIT):
        command.exits.append((int(match[1]), " ".join([match[2], *more])))
    return command


def _entries(part, pattern):
    """Each entry of a list below its title: its first line as matched, and its further lines."""
    found = []
    for line in part.splitlines()[1:]:
        first, further = pattern.match(line), _FURTHER_LINE.match(line)
        if first:
            found.append((first, []))
        elif further and found:
            found[-1][1].append(further[1])
        else:
            raise Unexpected(f"help: {line!r}")
    return found


def _reference(text):
    head, *parts = re.split(r"^## \[([a-z]+)\]\n", text, flags=re.MULTILINE)
    if not parts:
        raise Unexpected("config reference: no sections")
    sections = []
    for name, body in zip(parts[::2], parts[1::2]):
        before, *keys = re.split(r"^### `([a-z_.]+)`\n", body, flags=re.MULTILINE)
        section = Section(name, before.strip())
        section.keys = [_key(*pair) for pair in zip(keys[::2], keys[1::2])]
        sections.append(section)
    return head.strip(), sections


def _key(name, text):
    help, _, facts = text.strip().partition("\n\n- Example: ")
    first, second, *notes = facts.splitlines()
    default = re.fullmatch(r"`(?P<example>.*)`\. Default: (?:`(?P<text>.*)`|(?P<empty>empty)|none; .*)\.", first)
    allowed = re.fullmatch(
        r"- Allowed: (?P<words>.*?)\. Variable: `(?P<variable>WALPOST__[A-Z_]+)`\.(?: (?P<note>.*))?", second)
    if default is None or allowed is None:
        raise Unexpected(f"config reference: {name}: {first!r}, {second!r}")
    return Key(
        name, help, allowed["words"],
        values=tuple(re.split(r", | or ", allowed["words"])) if not allowed["words"].startswith("a ") else (),
        default="" if default["empty"] else default["text"],
        example=default["example"],
        variable=allowed["variable"],
        notes=[*filter(None, [allowed["note"]]), *(note.removeprefix("- ") for note in notes)],
    )
