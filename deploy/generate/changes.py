#!/usr/bin/env python3
"""Prints the section of a version in CHANGELOG.md, without its heading.

    changes.py FILE VERSION        a version, or Unreleased

Exit code: 0 printed, also when it is empty; 1 there is no such section.
"""

import re
import sys
from pathlib import Path


def section(text, version):
    """What is below `## [version]`, up to the next heading of that level; None without such a heading."""
    parts = re.split(r"^## \[([^\]\n]+)\].*\n", text, flags=re.MULTILINE)
    found = dict(zip(parts[1::2], parts[2::2])).get(version)
    if found is None:
        return None
    found = re.sub(r"^\[[^\]\n]+\]: \S+\n?", "", found, flags=re.MULTILINE)  # link targets at the file's end
    return found.strip("\n")


def main(path, version):
    found = section(Path(path).read_text(), version)
    if found is None:
        sys.exit(f"{path} has no section [{version}]")
    if found:
        print(found)


if __name__ == "__main__":
    main(*sys.argv[1:])
