"""No circles of calls between sources, and no struct that knows everything."""

import os
from pathlib import Path

import circles

BUILD = Path(os.environ["WALPOST_BUILDS"]) / "gcc"

# What ties much together may not grow into what knows all: members at most.
MEMBERS_MAX = {"wp_relay": 30, "wp_producer": 30}


def test_no_sources_call_each_other_in_a_circle(tree):
    graph = circles.calls(circles.objects(tree, BUILD))
    assert len(graph) > 100
    assert not [circles.told(graph, circle) for circle in circles.circles(graph)]


def test_the_structs_that_tie_all_together_stay_small(tree):
    for name, limit in MEMBERS_MAX.items():
        counts = [circles.members(path.read_text(), name) for path in tree.glob("src/**/*.[ch]")]
        counts = [count for count in counts if count is not None]
        assert counts, f"struct {name} is gone: name what took its place"
        assert max(counts) <= limit, f"struct {name} has {max(counts)} members, {limit} are allowed"


def test_a_circle_is_found():
    graph = {"a/a": {"a/b"}, "a/b": {"b/c"}, "b/c": {"a/a", "d/d"}, "d/d": set()}
    assert circles.circles(graph) == [{"a/a", "a/b", "b/c"}]


def test_members_are_counted():
    text = ("struct one {\n\tint a, b; /* c; d */\n\tvoid (*e)(int, int);\n"
            "\tstruct in {\n\t\tint x;\n\t\tint y;\n\t} f;\n};\n")
    assert circles.members(text, "one") == 4
    assert circles.members(text, "other") is None
