"""C without its comments and strings, and the words that must not be in it."""

import re

_SKIPPED = re.compile(
    r"""//[^\n]*|/\*.*?\*/|"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'""", re.DOTALL
)

BANNED = (
    "strcpy", "strcat", "strncat", "sprintf", "vsprintf", "strtok", "atoi", "atol", "atof", "gets", "gmtime",
    "localtime", "signal", "alloca", "rand", "exit", "abort", "system", "popen", "usleep", "nanosleep", "sleep",
    "longjmp", "setjmp",
)
# Words with a reason: where, and which.
ALLOWED = {
    ("src/main.c", "exit"),
}


def code_of(text):
    """The same lines, comments and literals emptied."""
    return _SKIPPED.sub(lambda m: re.sub(r"[^\n]", " ", m[0]), text)


def without_comments(text):
    """The same lines, comments emptied."""
    return _SKIPPED.sub(lambda m: re.sub(r"[^\n]", " ", m[0]) if m[0].startswith("/") else m[0], text)


def calls(text, names):
    """(line number, name) of each call of one of `names`."""
    pattern = re.compile(r"(?<![\w.>])(" + "|".join(names) + r")\s*\(")
    code = code_of(text)
    return [(code.count("\n", 0, match.start()) + 1, match[1]) for match in pattern.finditer(code)]


def tags(text):
    """Of the types of ours that are defined there: only those of one file go without wp_."""
    return re.findall(r"^(?:struct|enum|union) (wp_\w+)\s*\{", code_of(text), re.MULTILINE)
