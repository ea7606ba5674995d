"""How large the program is, and how it is cut: `python3 tests/lint/counts.py` prints a table, `--lower` notes what has
become less. No count may grow: a change that needs more of something takes as much out elsewhere. One that cannot,
a new feature, raises the figure in counts.json by hand, and its commit says why."""

import json
import re
import sys
from pathlib import Path

import arrows
import stays
import words

NOTED = Path(__file__).with_name("counts.json")
SHORT_LINES = 5  # of a body

_FUNCTION = re.compile(r"^(?:\w[\w *]*[ *])?\w+\([^;{}]*\)\n\{\n(.*?)^\}", re.MULTILINE | re.DOTALL)
_ROOMS = re.compile(r"^foreach room : \[(.*?)\]", re.MULTILINE | re.DOTALL)


def rooms_in_order(tree):
    """As meson.build lists them: each sees earlier ones only."""
    (listed,) = _ROOMS.findall((tree / "meson.build").read_text())
    return [*re.findall(r"'(\w+)'", listed), "main"]


def room_of(path, tree):
    parts = path.relative_to(tree).parts
    if parts == ("src", "main.c"):
        return "main"
    return parts[1] if parts[0] == "src" else parts[2]


def later_includes(path, text, tree, rooms):
    """Headers of ours that stand in a room behind this one's."""
    at = rooms.index(room_of(path, tree))
    names = [name.split("/")[1] for name in arrows.includes(text) if name.startswith("walpost/")]
    return [room for room in names if rooms.index(room) > at]


def short_functions(text):
    """Bodies of so few lines, blank ones and comments not counted."""
    bodies = _FUNCTION.findall(words.code_of(text))
    return sum(1 for body in bodies if sum(1 for line in body.split("\n") if line.strip()) <= SHORT_LINES)


def has_header(path, tree):
    """Of its own: that has its name."""
    name, room = f"{path.stem}.h", room_of(path, tree)
    return (path.parent / name).exists() or (tree / "include/walpost" / room / name).exists()


def counted(tree):
    files = {path: path.read_text() for path in arrows.sources(tree)}
    sources = {path: text for path, text in files.items() if path.suffix == ".c"}
    rooms = rooms_in_order(tree)
    sizes = dict.fromkeys(rooms, 0)
    for path, text in sources.items():
        sizes[room_of(path, tree)] += text.count("\n")
    tags = [tag for text in files.values() for tag in words.tags(text)]
    return {
        "lines of src and include": sum(text.count("\n") for text in files.values()),
        "files of src and include": len(files),
        "lines of the largest room, without headers": max(sizes.values()),
        "includes of a later room": sum(len(later_includes(*file, tree, rooms)) for file in files.items()),
        f"functions of {SHORT_LINES} lines or fewer": sum(map(short_functions, sources.values())),
        "sources without a header of their own": sum(1 for path in sources if not has_header(path, tree)),
        "type tags defined twice": len(tags) - len(set(tags)),
        "stays of a record from send to librdkafka": len(stays.stays(tree)),
    }


def grown(now, noted):
    """Sentences."""
    return [f"{name}: {now[name]}, {now[name] - most} more than noted: take as much out, here or elsewhere"
            for name, most in noted.items() if now[name] > most]


def main():
    now, noted = counted(Path(__file__).resolve().parents[2]), json.loads(NOTED.read_text())
    for name, number in now.items():
        print(f"{number:>7} {name}" + (f" ({noted[name]} noted)" if number != noted[name] else ""))
    if "--lower" in sys.argv:
        lower = {name: min(number, noted[name]) for name, number in now.items()}
        NOTED.write_text(json.dumps(lower, indent=2) + "\n")


if __name__ == "__main__":
    main()
