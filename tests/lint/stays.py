"""In how many places does a record stay on its way from `send` to librdkafka?

`python3 tests/lint/stays.py` prints the walk. From the producer's send on, each call that is handed the record, or a
part of it, is followed in the order of the text, up to the first that hands it to librdkafka; a stay is a run of calls
within one file. To come back from another file is a stay as well: so does a reader's eye. Calls into base are none,
for its spans and errors are the words in which each file is written. Not followed: structs that hold it, other names
for it, pointers to functions, and of the arguments of a call all but the first that has to do with it.
"""

import re
import sys
from pathlib import Path

import words

FIRST = ("producer_send", "record")

_FUNCTION = re.compile(r"^(?:[\w*]+[ \n]+)*\**(\w+)\(([^;{}]*?)\)\n\{\n(.*?)^\}", re.MULTILINE | re.DOTALL)
_WORD = re.compile(r"\w+")
_CALL = re.compile(r"\b(\w+)\(")
_ENDS = "rd_kafka_producev"


def functions(sources):
    """{name: (file, parameters' names, body)}"""
    found = {}
    for path, text in sources.items():
        for name, parameters, body in _FUNCTION.findall(words.code_of(text)):
            found[name] = (path, [(_WORD.findall(one) or [""])[-1] for one in _split(parameters)], body)
    return found


def _split(arguments):
    """At the commas that are in no brackets."""
    parts, depth, last = [], 0, 0
    for at, char in enumerate(arguments):
        depth += (char in "([{") - (char in ")]}")
        if char == "," and depth == 0:
            parts.append(arguments[last:at])
            last = at + 1
    return [*parts, arguments[last:]]


def _calls(body):
    """(name, arguments) of each call, in the order of the text."""
    for match in _CALL.finditer(body):
        depth, at = 1, match.end()
        while depth:
            depth += (body[at] == "(") - (body[at] == ")")
            at += 1
        yield match[1], _split(body[match.end():at - 1])


def _is_handed(argument, name):
    """It, or a part of it."""
    return name in _WORD.findall(argument)


def walk(known, function, parameter):
    """Files, one after the other, without runs of the same."""
    path, _, body = known[function]
    files = [path]
    for name, arguments in _calls(body):
        if name == _ENDS:
            files.append("librdkafka")
            continue
        handed = [at for at, argument in enumerate(arguments) if _is_handed(argument, parameter)]
        if name not in known or not handed:
            continue
        parameters = known[name][1]
        files += [*walk(known, name, parameters[min(handed[0], len(parameters) - 1)]), path]
    return [file for at, file in enumerate(files) if at == 0 or file != files[at - 1]]


def stays(tree):
    paths = [path for path in sorted([*tree.glob("src/*/*.[ch]"), *tree.glob("include/walpost/*/*.h")])
             if path.parent.name != "base"]
    known = functions({path.relative_to(tree).as_posix(): path.read_text() for path in paths})
    files = walk(known, *FIRST)
    return files[:files.index("librdkafka")]


if __name__ == "__main__":
    print("\n".join(stays(Path(__file__).resolve().parents[2])))
    sys.exit(0)
