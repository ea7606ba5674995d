"""Markdown as a code host shows it: headings with their anchors, and relative links."""

import os
import re
from pathlib import Path

_BLOCK = re.compile(r"^( {0,3})(`{3,}|~{3,})[^\n]*\n.*?^ {0,3}\2[ \t]*$", re.DOTALL | re.MULTILINE)
_SPAN = re.compile(r"(`+)(?!`).+?(?<!`)\1(?!`)", re.DOTALL)
_HEADING = re.compile(r"^(#{1,6}) +(.+?) *#*$", re.MULTILINE)
_LINK = re.compile(r"\]\(([^()\s]+)\)")


def headings(text):
    """[(level, heading, anchor)]"""
    found, seen = [], {}
    for match in _HEADING.finditer(_BLOCK.sub("", text)):
        title = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", match[2])
        slug = re.sub(r"[^\w\- ]", "", re.sub(r"[`*]", "", title).strip().lower()).replace(" ", "-")
        number = seen[slug] = seen.get(slug, -1) + 1
        found.append((len(match[1]), title, f"{slug}-{number}" if number else slug))
    return found


def links(path, text):
    """[(link, file, anchor)] of the relative links of the page at `path`."""
    text = _SPAN.sub("", _BLOCK.sub("", text))
    found = []
    for link in _LINK.findall(text):
        if re.match(r"[a-z]+:", link):
            continue
        name, _, anchor = link.partition("#")
        found.append((link, Path(os.path.normpath(path.parent / name)) if name else path, anchor))
    return found


def broken(path, text):
    """The links of a page that lead nowhere."""
    return [
        link for link, file, anchor in links(path, text)
        if file != path and not file.exists()
        or anchor and (file.suffix != ".md"
                       or anchor not in {known for _, _, known in headings(text if file == path else file.read_text())})
    ]


def reached(start, clicks):
    """{page: how many clicks away} of the Markdown files that are at most `clicks` from `start`."""
    found, edge = {start: 0}, [start]
    for distance in range(1, clicks + 1):
        edge = [
            file for page in edge for _, file, _ in links(page, page.read_text())
            if file.suffix == ".md" and file.exists() and found.setdefault(file, distance) == distance
        ]
    return found
