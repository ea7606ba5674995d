"""The program does not grow, and is not cut smaller than helps."""

import json

import counts
import stays


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
    assert counts.later_includes(tree / "src/kafka_send/topics.c", text, tree, rooms) == ["relay"]
    assert counts.later_includes(tree / "src/run/run.c", text, tree, rooms) == []


def test_the_walk_of_a_record_passes_where_it_is_decided(tree):
    """A part of the way that is no longer followed is not a way that is shorter."""
    files = {"src/kafka_send/decision.c", "src/kafka/batch.c", "src/kafka/placement.c", "src/kafka_send/topics.c"}
    assert files <= set(stays.stays(tree))


def test_a_stay_is_a_run_of_calls_in_one_file():
    sources = {
        "src/a.c": ("static void producer_send(int t, int *record)\n{\n\tnote(t);\n\tlook(t, record->key);\n"
                    "\tpass(record);\n\tgo(&t, record);\n}\n\nstatic void pass(int *r)\n{\n\tlook(0, r);\n}\n"),
        "src/b.c": "int look(int t, int key)\n{\n\treturn key;\n}\n\nvoid note(int t)\n{\n}\n",
        "src/c.c": "int\ngo(int *t,\n   int *r)\n{\n\trd_kafka_producev(r);\n}\n",
    }
    assert stays.walk(stays.functions(sources), *stays.FIRST) == [
        "src/a.c", "src/b.c", "src/a.c", "src/b.c", "src/a.c", "src/c.c", "librdkafka", "src/a.c"]
