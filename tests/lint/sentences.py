"""Every sentence that a user can meet, read from the sources: `python3 tests/lint/sentences.py` prints them.

From src/ and include/: string literals, adjacent ones joined, that contain words; SQL and markup are left out by their
form. From sql/ and proto/: comments and texts. From Markdown: prose and tables, not code. From deploy/: comments and
texts of YAML, templates, scripts and manual pages. Also the names of log events and findings.
"""

import ast
import re
import sys
from pathlib import Path

import log_events

_TOKEN = re.compile(
    r"""(?P<skip>//[^\n]*|/\*.*?\*/|'(?:[^'\\\n]|\\.)*')|(?P<text>"(?:[^"\\\n]|\\.)*")""", re.DOTALL)
_BETWEEN = re.compile(r"[\s\\]*(?:(?:PRI[a-zA-Z0-9]+|[A-Z][A-Z0-9_]+)[\s\\]*)?")  # a macro that is text
_SQL = re.compile(
    r"^[\s(,|]*(SELECT|WITH|CREATE|DROP|ALTER|INSERT|UPDATE|DELETE|GRANT|REVOKE|FROM|WHERE|AND|OR|JOIN|LEFT|ORDER|"
    r"GROUP|UNION|CASE|WHEN|ELSE|END|EXISTS|NOT|COALESCE|VALUES|SET|START_REPLICATION|IDENTIFY|BEGIN|COMMIT|DO|ON|AS|"
    r"IN|CROSS|LATERAL|pg_\w+\(|coalesce\(|to_jsonb\(|count\()\b")
_CODE = re.compile(r"^```.*?^```$|<!--.*?-->", re.DOTALL | re.MULTILINE)
_FIGURES = re.compile(r"^[-| :]+$|\|[ \d.,()to%±-]*\d[ \d.,()to%±-]*\|")  # rules and figures of tables
_MARKUP = re.compile(r"</?(div|span|p|table|tr|td|th|svg|path|rect|style|section|h\d)\b|^[^<]*\{[^}]*:[^}]*;")


def literals(text):
    """(line, joined text) of each run of adjacent literals."""
    run, line, end = [], 0, 0
    for match in _TOKEN.finditer(text):
        if match["skip"] is not None:
            continue
        if text[text.rfind("\n", 0, match.start()) + 1:].startswith("#include"):
            continue
        if run and not _BETWEEN.fullmatch(text, end, match.start()):
            yield line, "".join(run)
            run = []
        if not run:
            line = text.count("\n", 0, match.start()) + 1
        elif text[end:match.start()].strip(" \t\n\\"):
            run.append("…")
        run.append(_value(match["text"]))
        end = match.end()
    if run:
        yield line, "".join(run)


def _value(literal):
    try:
        return ast.literal_eval(literal)
    except (SyntaxError, ValueError):
        return literal[1:-1]


def is_sentence(text):
    """Words for people: two of them, with a blank between; SQL and markup are none."""
    return (re.search(r"[A-Za-z][a-z']*[,:;.]? +[`(]?[a-z%]", text) is not None and not _SQL.match(text)
            and not _MARKUP.search(text))


def _comments(text, mark):
    """(line, paragraph) of comments that begin with `mark`; a line without text ends one."""
    run, start = [], 0
    for number, line in enumerate(text.splitlines() + [""], 1):
        match = re.match(rf"^(.*?)(?:(?<=\s)|^){mark}+ ?(.*)$", line)
        said = match[2].strip() if match else ""
        if run and (not said or match[1].strip()):
            yield start, " ".join(run)
            run = []
        if said:
            start = start if run else number
            run.append(said)


def _prose(text):
    """(line, paragraph) of Markdown outside of code blocks and comments; a row of a table is one."""
    text = _CODE.sub(lambda m: re.sub(r"[^\n]", "", m[0]), text)
    run, start = [], 0
    for number, line in enumerate(text.splitlines() + [""], 1):
        said = line.strip()
        if run and (not said or re.match(r"^([-*|#>]|\d+\.) ?", said)):
            yield start, " ".join(run)
            run = []
        if said and not _FIGURES.search(said):
            start = start if run else number
            run.append(said)


def _plain(text):
    """(line, line) of a text in which words and marks stand side by side."""
    for number, line in enumerate(text.splitlines(), 1):
        if re.search(r"[a-z]+ [a-z]+ [a-z]+", line):
            yield number, line.strip()


def _yaml(text):
    yield from _comments(text, "#")
    for number, line in enumerate(text.splitlines(), 1):
        match = re.match(r"^\s*[\w-]+: (?:[>|]-?)?(.*)$", line)
        if match and re.search(r"[a-z]+ [a-z]+ [a-z]+", match[1]) and not match[1].lstrip().startswith("#"):
            yield number, match[1].strip().strip("'\"")


def _json(text):
    for number, line in enumerate(text.splitlines(), 1):
        match = re.match(r'^\s*"(?:title|description|text|content)": (".*?"),?$', line)
        if match and " " in match[1]:
            yield number, _value(match[1])


def _script(text):
    yield from _comments(text, "#")
    for number, said in literals(re.sub(r"^\s*#.*$", "", text, flags=re.MULTILINE)):
        if is_sentence(said):
            yield number, said


def _sources(text):
    for line, said in literals(re.sub(r"\bassert\([^;]*;", lambda m: re.sub(r"[^\n]", " ", m[0]), text)):
        if is_sentence(said):
            yield line, said


def _sql(text):
    """Comments, and texts in single quotes, which go on in the next line."""
    yield from _comments(text, "--")
    code = re.sub(r"--[^\n]*", "", text)
    for match in re.finditer(r"'(?:[^']|'')*'(?:\s*\n\s*'(?:[^']|'')*')*", code):
        said = re.sub(r"'\s*\n\s*'", "", match[0])[1:-1].replace("''", "'")
        if is_sentence(said) and "\n" not in said:
            yield code.count("\n", 0, match.start()) + 1, said


def _is_generated(path):
    return path.name in ("configuration.md", "commands.md", "metrics.md") or "helm/walpost/files" in str(path)


# Which files hold sentences, and how they are read out of them.
READERS = (
    ("src/**/*.c", _sources), ("src/**/*.h", _sources), ("include/**/*.h", _sources),
    ("sql/*.sql", _sql), ("proto/walpost/**/*.proto", lambda text: _comments(text, "//")),
    ("README.md", _prose), ("sql/README.md", _prose), ("deploy/*.md", _prose), ("deploy/docs/pages/**/*.md", _prose),
    ("deploy/debian/README.Debian", _prose), ("deploy/**/*.yaml", _yaml), ("deploy/grafana/*.json", _json),
    ("deploy/helm/walpost/values.schema.json", _json), ("deploy/helm/**/NOTES.txt", _plain),
    ("deploy/man/*.in", _plain), ("deploy/quickstart", _script), ("deploy/docs/samples/*.sql", _sql),
    ("deploy/systemd/*", _script), ("deploy/debian/walpost.*", _script),
)


def split(paragraph):
    """Its sentences."""
    return [one for one in re.split(r"(?<=[.!?:;]) +(?=[A-Z`*])|\n+", paragraph) if one.strip()]


def findings(tree):
    """The names of what `walpost check` finds."""
    made = re.compile(r'\b(?:(?:FOUND_\w+|FINE|WARN|FAIL)\(\s*\w+,|wp_findings_add\([^;"]*)\s*"([a-z0-9_]+)"')
    return {name for path in (tree / "src").rglob("*.c") for name in made.findall(path.read_text())}


def names(tree):
    """(file, line, name) of each log event and finding, wherever it is written."""
    events = log_events.Reader(tree)
    named = events.errors | events.others | findings(tree)
    for path in sorted((tree / "src").rglob("*.c")):
        for line, said in literals(path.read_text()):
            if said in named:
                yield path.relative_to(tree).as_posix(), line, said


def paragraphs(tree):
    """(file, line, text) of all that users read."""
    for pattern, reader in READERS:
        for path in sorted(tree.glob(pattern)):
            if path.is_file() and not _is_generated(path):
                for line, text in reader(path.read_text()):
                    yield path.relative_to(tree).as_posix(), line, text


def sentences(tree):
    """(file, line, sentence), each once in its file."""
    for path, line, text in paragraphs(tree):
        for one in split(text):
            yield path, line, " ".join(one.split())


def main():
    tree = Path(__file__).resolve().parents[2]
    for path, line, said in [*sentences(tree), *names(tree)]:
        print(f"{path}:{line}: {said}")


if __name__ == "__main__":
    sys.exit(main())
