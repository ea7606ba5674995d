"""Small faults in C sources, found by machine: which there are, and which of them a seed draws.

Works on text: our formatting (clang-format) makes operators, statements and functions easy to recognise. A fault
that does not compile is no fault: the next takes its place.
"""

import hashlib
import re
from collections import namedtuple
from fnmatch import fnmatch

Mutant = namedtuple("Mutant", "module file line function operator start end before after text key")

_BLANKED = re.compile(
    r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])+\'|^#(?:[^\n]*\\\n)*[^\n]*', re.DOTALL | re.MULTILINE)
_FUNCTION = re.compile(r"^\{\n(.*?)^\}", re.DOTALL | re.MULTILINE)
# Not the program's behaviour: our own assertions, log lines, faults that the simulation plants.
_PASSED_OVER = re.compile(
    r"^\t*(?:(?:static_)?assert|_Static_assert|wp_log)\(|^\t*if \([^;{]*\bwp_fault\(", re.MULTILINE)
_PLAIN_LEFT = r"\*?[A-Za-z_][\w.\[\]>-]*"
_CALL = re.compile(r"(?:\(void\)!?)?[A-Za-z_][\w.>-]*\(")
_ASSIGNMENT = re.compile(_PLAIN_LEFT + r" (?:[-+*|&^]|<<|>>)?= ")
_STEP = re.compile(_PLAIN_LEFT + r"(?:\+\+|--);")

_OTHER_CODE = {"CONFIG": "DATA", "DATA": "CONFIG", "PROTO": "DATA", "IO": "CONFIG", "NOMEM": "DATA", "AGAIN": "IO"}
_COMPARISON = {"<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "=="}

# Operator: what it looks for, and what stands there then. Group 1 is replaced, or all of it.
_OPERATORS = {
    "comparison": (r"(?<= )([<>]=?|[=!]=)(?= )", lambda m: _COMPARISON[m[1]]),
    "and or": (r"(?<= )(&&|\|\|)(?=\s)", lambda m: "||" if m[1] == "&&" else "&&"),
    "off by one": (r"( [-+] 1)\b(?![.x])", lambda m: ""),
    "plus minus": (r"(?<=[\w)\]] )([-+])(?= [\w(])", lambda m: "-" if m[1] == "+" else "+"),
    "not": (r"(?<!\(void\))(!)(?=[A-Za-z_(*])", lambda m: ""),
    "condition": (r"\b(?:if|while) \(", None),
    "truth": (r"\b(true|false)\b", lambda m: "false" if m[1] == "true" else "true"),
    "answer": (r"\breturn (WP_(?:AGAIN|PAUSE|FULL|DATA|PROTO|IO|CONFIG|NOMEM));", lambda m: "WP_OK"),
    "code": (r"\b(?:why|error),\s+(WP_(?:CONFIG|DATA|PROTO|IO|NOMEM|AGAIN))\b",
             lambda m: "WP_" + _OTHER_CODE[m[1][3:]]),
    "step": (r"(\+\+|--|(?<= )\+=|(?<= )-=)", lambda m: m[1].translate(str.maketrans("+-", "-+"))),
    "min max": (r"\b((?:\w+_)?(?:min|max)(?:_\w+)?)\(",
                lambda m: re.sub(r"min|max", lambda n: "max" if n[0] == "min" else "min", m[1])),
    "choice": (r" \? ([^?:;,{}]+ : [^?:;,{}]+?)(?=[;,])", None),
    "dropped": (None, None),
}


def _blank(match):
    return re.sub(r"[^\n]", " ", match[0])


def _end_of(text, start, closes):
    """Behind the first `closes` from `start` on that stands outside of brackets opened since."""
    depth = 0
    for at in range(start, len(text)):
        if text[at] in "([{":
            depth += 1
        elif text[at] in ")]}":
            depth -= 1
        if depth <= 0 and text[at] == closes:
            return at + 1
    return len(text)


def masked(text):
    """The same length; what is no code, or not to be changed, is blank."""
    text = _BLANKED.sub(_blank, text)
    while found := _PASSED_OVER.search(text):
        end = _end_of(text, found.start(), ";")
        text = text[:found.start()] + re.sub(r"[^\n]", " ", text[found.start():end]) + text[end:]
    return text


def _functions(code):
    """Name, start and end of each body."""
    for found in _FUNCTION.finditer(code):
        head = code[:found.start()].rstrip().rsplit("\n\n", 1)[-1]
        name = re.search(r"(\w+)\(", head)
        yield name[1] if name else "?", found.start(1), found.end(1)


def _statements(code, start, end):
    """Where statements of their own line begin and end."""
    for found in re.finditer(r"^\t+(?=[A-Za-z_*(])", code[start:end], re.MULTILINE):
        at = start + found.end()
        before = code[:at].rstrip()
        if before[-1] in ";{}:)" or re.search(r"\b(?:else|do)$", before):
            yield at, _end_of(code, at, ";")


def _changes(code, start, end):
    """Operator, start, end, replacement."""
    for operator, (pattern, replacement) in _OPERATORS.items():
        if operator == "dropped":
            for at, to in _statements(code, start, end):
                statement = code[at:to]
                if any(p.match(statement) for p in (_CALL, _ASSIGNMENT, _STEP)):
                    yield operator, at, to, "(void)0;"
            continue
        for found in re.finditer(pattern, code[start:end]):
            if operator == "condition":
                at = start + found.end()
                to = _end_of(code, at - 1, ")") - 1
                yield operator, at, to, f"!({code[at:to]})"
                continue
            whole = found[1]
            new = replacement(found) if replacement else ""
            if whole.count("(") == whole.count(")") and new != whole:
                yield operator, start + found.start(1), start + found.end(1), new


def all_of(module, tree, path):
    """Every fault of one file, in the order of the text."""
    text = (tree / path).read_text()
    code = masked(text)
    seen = {}
    for function, start, end in _functions(code):
        for operator, at, to, new in sorted(_changes(code, start, end), key=lambda c: (c[1], c[0])):
            if operator == "condition":
                new = f"!({text[at:to]})"
            elif operator == "choice":  # with the strings that are blank in `code`
                colon = at + code[at:to].index(" : ")
                new = f"{text[colon + 3:to]} : {text[at:colon]}"
            line = text[text.rfind("\n", 0, at) + 1:text.find("\n", at)].strip()
            what = (function, operator, line)
            seen[what] = seen.get(what, 0) + 1
            # Of what a move of lines or files does not change.
            key = "\n".join((module, function, operator, line, str(seen[what])))
            yield Mutant(module, str(path), text.count("\n", 0, at) + 1, function, operator, at, to,
                         text[at:to], new, line, key)


def sources(tree, patterns):
    """Files of src by "room/stem"; the room may be *."""
    found = sorted(path.relative_to(tree) for path in tree.glob("src/*/*.c"))
    return [path for path in found if any(fnmatch(f"{path.parts[1]}/{path.stem}", p) for p in patterns)]


def _drawn(seed, text):
    return hashlib.sha256(f"{seed}\n{text}".encode()).digest()


def shuffled(seed, mutants):
    """An order that only the seed and the mutants themselves decide; one of each operator, then the next of each."""
    by_operator = {}
    for mutant in sorted(mutants, key=lambda m: _drawn(seed, m.key)):
        by_operator.setdefault(mutant.operator, []).append(mutant)
    ranked = [(rank, _drawn(seed, f"{m.module} {m.operator}"), m)
              for ms in by_operator.values() for rank, m in enumerate(ms)]
    return [mutant for _, _, mutant in sorted(ranked, key=lambda r: r[:2])]


def identity(mutant):
    return hashlib.sha256(mutant.key.encode()).hexdigest()[:8]


def planted(text, mutant):
    return text[:mutant.start] + mutant.after + text[mutant.end:]
