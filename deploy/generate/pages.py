#!/usr/bin/python3
"""Fills the generated parts of the pages under deploy/docs/pages: deploy/generate/pages.py PROGRAM [--check].

PROGRAM is a built walpost. A part stands between two comments; the first one names its source, which is a file of the
repository or a command of walpost:

    <!-- generated from deploy/docs/samples/orders.sql -->
    <!-- generated from `walpost config reference` -->
    <!-- end -->

`walpost help` means the help of each command. --check changes nothing and fails when a page is out of date.
"""

import re
import subprocess
import sys
from pathlib import Path

sys.dont_write_bytecode = True

TREE = Path(__file__).resolve().parents[2]
PAGES = TREE / "deploy" / "docs" / "pages"
LANGUAGES = {".py": "python", ".java": "java", ".cs": "csharp", ".go": "go", ".ts": "typescript", ".sql": "sql",
             ".xml": "xml", ".csproj": "xml", ".conf": "ini"}

_PART = re.compile(r"^<!-- generated from (.+?) -->\n(.*?)^<!-- end -->$", re.MULTILINE | re.DOTALL)



def said(program, *words):
    done = subprocess.run([program, *words], check=True, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    return done.stdout.rstrip("\n")


def helps(program, words=()):
    """(command, its help) of the program and of each of its commands, in the order of the help."""
    text = said(program, *words, "--help")
    yield words, text
    if text.splitlines()[0].split("[")[0].split()[-1] == "COMMAND":
        for name in re.findall(r"^  ([a-z][a-z-]*) +\S", text, re.MULTILINE):
            yield from helps(program, (*words, name))


def fenced(language, text, title=None):
    head = f"```{language}" + (f' title="{title}"' if title else "")
    return f"{head}\n{text.rstrip()}\n```\n"


def part(program, source):
    """The Markdown that `source` stands for."""
    if source == "`walpost help`":
        return "\n".join(f"## {' '.join(('walpost', *words))}\n\n{fenced('text', text)}"
                         for words, text in helps(program))
    if command := re.fullmatch(r"`walpost (.+)`", source):
        return re.sub(r"\A# .*\n+", "", said(program, *command[1].split())) + "\n"
    path = TREE / source
    return fenced(LANGUAGES[path.suffix], path.read_text(), path.name)


def filled(program, text):
    """The page with its parts made anew."""
    def made(match):
        return f"<!-- generated from {match[1]} -->\n\n{part(program, match[1])}\n<!-- end -->"

    return _PART.sub(made, text)


def stale(program, pages=PAGES):
    """{page: what it should be} of all that differ."""
    found = {}
    for path in sorted(pages.rglob("*.md")):
        text = path.read_text()
        if (wanted := filled(program, text)) != text:
            found[path] = wanted
    return found


def main(words):
    if len(words) not in (1, 2) or words[1:] not in ([], ["--check"]):
        sys.exit("usage: deploy/generate/pages.py PROGRAM [--check]")
    found = stale(words[0])
    for path, text in found.items():
        print(path.relative_to(TREE))
        if words[1:] == []:
            path.write_text(text)
    if words[1:] and found:
        sys.exit("these pages are out of date: deploy/generate/pages.py PROGRAM writes them anew")


if __name__ == "__main__":
    main(sys.argv[1:])
