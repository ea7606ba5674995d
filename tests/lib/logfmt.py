"""Log lines of walpost, parsed."""

import re

_FACT = re.compile(r'([A-Za-z0-9_.]+)=("(?:[^"\\]|\\.)*"|\S*)|(\S+)')
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r"}


def _unquoted(text):
    if not text.startswith('"'):
        return text
    return re.sub(r"\\(.)", lambda m: _ESCAPES.get(m[1], m[1]), text[1:-1])


def parse_line(line):
    """The facts of one logfmt line; a word without "=" is the event's name."""
    facts = {}
    for match in _FACT.finditer(line):
        if match[3] is not None:
            facts.setdefault("event", match[3])
        else:
            facts[match[1]] = _unquoted(match[2])
    return facts
