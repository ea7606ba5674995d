"""Which log lines the program writes with level=error: their events' names, read from the source.

A line is written by wp_log(LEVEL, "event", ...), by wp_relay_note(r, LEVEL, "event"), or by what stops the relay,
wp_relay_halt(r, code, "event", ...). A level that is no plain constant is looked up where it is made: a variable's
last value, a function's body. Functions that are handed the event, or the level, are looked at where they are called.
"""

import re

import words

WRITERS = ("wp_log", "wp_log_facts", "wp_log_once", "wp_relay_note")
# Writers that call another one.
THROUGH = ("wp_log_facts_once", "wp_relay_note")
STOPPERS = ("wp_relay_halt", "wp_relay_halt_for_event")
EVENT = re.compile(r'^"([a-z0-9_]+)"$')
_CONSTANT = re.compile(r"^WP_(LOG|NOTE)_(DEBUG|INFO|WARN|ERROR)$")
# Hands on what has been noted, and found, elsewhere.
NOT_AN_EVENT = {("src/run/run.c", "n.event")}


class Unclear(Exception):
    """The source has a form that this does not read; the message says where."""


def _arguments(text, start):
    """The arguments of a call whose parenthesis opens at `start`, as they stand."""
    depth, begin, found, quoted = 0, start + 1, [], False
    for at in range(start, len(text)):
        char = text[at]
        if char == '"' and text[at - 1] != "\\":
            quoted = not quoted
        if quoted:
            continue
        if char in "({[":
            depth += 1
        elif char in ")}]":
            depth -= 1
        if depth == 0 or (depth == 1 and char == ","):
            found.append(" ".join(text[begin:at].split()))
            begin = at + 1
        if depth == 0:
            return found
    raise Unclear(f"a call that does not end: {text[start:start + 60]}")


class Function:
    """One function definition of the source."""

    def __init__(self, path, name, parameters, body):
        self.path, self.name, self.parameters, self.body = path, name, parameters, body

    def calls(self, names):
        """(name, arguments, place) of each call of one of `names`."""
        pattern = r"(?<![\w.>])(" + "|".join(map(re.escape, names)) + r")\s*(\()"
        for match in re.finditer(pattern, self.body):
            yield match[1], _arguments(self.body, match.start(2)), match.start()


_DEFINITION = re.compile(r"^(?:[a-z][^\n;{}()#]*?[ *])(\w+)\(([^;{}]*?)\)\n\{\n(.*?)^\}", re.MULTILINE | re.DOTALL)


def functions(tree):
    found = []
    for path in sorted((tree / "src").rglob("*.c")):
        text = words.without_comments(path.read_text())
        for match in _DEFINITION.finditer(text):
            parameters = [re.split(r"[ *]", " ".join(one.split()))[-1] for one in match[2].split(",")]
            found.append(Function(path.relative_to(tree).as_posix(), match[1], parameters, match[3]))
    return found


class Reader:
    """Reads all of the source: `errors` are the events of level error, `others` all others, `read` the calls found."""

    def __init__(self, tree):
        self.functions = functions(tree)
        self.errors = set()
        self.others = set()
        self.read = 0
        for function in self.functions:
            if function.name in STOPPERS:
                continue
            for name, arguments, place in function.calls(STOPPERS):
                self.read += 1
                self._take(function, self._event_of(function, arguments), "WP_NOTE_ERROR", place)
            for name, arguments, place in function.calls(WRITERS):
                self.read += 1
                at = 1 if name == "wp_relay_note" else 0
                if function.name not in THROUGH:
                    self._take(function, arguments[at + 1], arguments[at], place)

    @staticmethod
    def _event_of(function, arguments):
        named = [one for one in arguments if EVENT.match(one)]
        if len(named) != 1:
            raise Unclear(f"{function.path}: {function.name}() stops without naming one event: {arguments}")
        return named[0]

    def _take(self, function, event, level, place):
        if (function.path, event) in NOT_AN_EVENT:
            return
        if event in function.parameters or level in function.parameters:
            self._take_callers(function, event, level, place)
            return
        if not EVENT.match(event):
            raise Unclear(f"{function.path}: {function.name}() writes a line whose event is {event}")
        name = EVENT.match(event)[1]
        (self.errors if self._is_error(function, level, place) else self.others).add(name)

    def _take_callers(self, function, event, level, place):
        callers = [
            (caller, arguments, at) for caller in self.functions if caller.path == function.path
            for _, arguments, at in caller.calls([function.name])
        ]
        if not callers:
            raise Unclear(f"{function.path}: nobody in that file calls {function.name}()")
        for caller, arguments, at in callers:
            given = dict(zip(function.parameters, arguments))
            self._take(caller, given.get(event, event), given.get(level, level), at)

    def _is_error(self, function, level, place):
        if _CONSTANT.match(level):
            return level.endswith("ERROR")
        if re.search(r"WP_(LOG|NOTE)_", level):
            return "_ERROR" in level
        if re.match(r"^\w+$", level):
            made = re.findall(rf"\b{level} =\s*([^;]+);", function.body[:place])
            if made:
                return self._is_error(function, " ".join(made[-1].split()), place)
        called = re.match(r"^(\w+)\(", level)
        for other in self.functions:
            if called and other.name == called[1] and other.path == function.path:
                return "_ERROR" in other.body
        raise Unclear(f"{function.path}: {function.name}() writes a line whose level is {level}")
