"""The table of tests/README.md of what is read and not sent: its files, functions and tests are there."""

import re
from pathlib import Path

TREE = Path(__file__).parents[2]
_SECTION = re.compile(r"^## What is passed over.*?(?=^## )", re.DOTALL | re.MULTILINE)
_FILE = re.compile(r"`([\w/]+\.\w+)`((?:[:,] ?`?[\w.]+`?)*)")


def _rows():
    (section,) = _SECTION.findall((TREE / "tests" / "README.md").read_text())
    for line in section.splitlines():
        cells = line.strip("| ").split(" | ")
        if len(cells) == 4 and cells[0] != "passed over":
            yield cells


def _named(cell):
    """(file, names behind it), of each file in the cell."""
    for file, names in _FILE.findall(cell):
        yield file, re.findall(r"\w[\w.]*", names)


def test_each_place_is_there_and_decides():
    for passed_over, decided, _, _ in _rows():
        named = list(_named(decided))
        assert named, passed_over
        for file, names in named:
            path = TREE / file if file.startswith("sql/") else TREE / "src" / file
            for name in names:
                assert re.search(rf"\b{re.escape(name)}\(", path.read_text()), (file, name)


def test_each_test_is_there():
    for passed_over, _, _, tests in _rows():
        named = list(_named(tests))
        assert named, passed_over
        for file, names in named:
            path = TREE / "tests" / ("e2e" if file.endswith(".py") else "unit") / file
            assert names, (passed_over, file)
            for name in names:
                assert re.search(rf"(def test_|static void ){name}\w*\(", path.read_text()), (file, name)
