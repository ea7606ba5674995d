"""The program does not grow, and is not cut smaller than helps."""

import json

import counts


def test_no_count_has_grown(tree):
    now, noted = counts.counted(tree), json.loads(counts.NOTED.read_text())
    assert now.keys() == noted.keys()
    assert not counts.grown(now, noted), "; ".join(counts.grown(now, noted))


def test_a_count_that_grew_is_told_and_one_that_fell_is_not():
    assert counts.grown({"a": 3, "b": 1}, {"a": 2, "b": 2}) == [
        "a: 3, 1 more than noted: take as much out, here or elsewhere"]


def test_what_is_counted():
    text = ("static int one(void)\n{\n\t/* a\n\t * b */\n\n\treturn 1;\n}\n\n"
            "int six(int a,\n\tint b)\n{\n" + "\ta++;\n" * 6 + "}\n\nint other(void);\n")
    assert counts.short_functions(text) == 1


def test_an_include_of_a_later_room_is_found(tree):
    rooms = counts.rooms_in_order(tree)
    assert rooms[0] == "base" and rooms[-1] == "main"
    text = '#include "walpost/relay/relay.h"\n#include "walpost/base/error.h"\n#include <stdio.h>\n'
    assert counts.later_includes(tree / "src/kafka/queue.c", text, tree, rooms) == ["relay"]
    assert counts.later_includes(tree / "src/run/run.c", text, tree, rooms) == []
