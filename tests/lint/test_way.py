"""On the way of an event, and of its report back, the name of a function says which one it is: a stack, a profile."""

import re
from fnmatch import fnmatch

import words

# What an event comes by, from the bytes of the server to the record in librdkafka's hands, and its delivery report
# from there to the position that is confirmed. tests/bench/instructions runs the common part; the rest is for logical
# messages, members of JSON, CloudEvents, schemas, dead letters, parked events, and what is refused or too large.
WAY = """
base/base64 base/buffer base/json base/span base/utf8 base/wire
wal/*
postgres_stream/copy postgres_stream/parked_puts postgres_stream/parked_store postgres_stream/receive_batching
postgres_stream/stream
outbox/dead_letter outbox/decoder outbox/drop outbox/json_headers outbox/member outbox/message outbox/message_protobuf
outbox/origin outbox/outboxes outbox/parked_row outbox/reissue outbox/replacement outbox/route outbox/row outbox/shape*
outbox/subjects outbox/table
values/*
envelope/*
sink/json sink/stdout
relay/aggregates relay/delivery relay/drop_counts relay/feedback relay/isolation relay/ledger relay/meter relay/parking
relay/parking_round relay/pending_dead_letters relay/pipeline relay/relay_parking relay/relay_sink relay/relay_source
relay/behind_check
kafka/batch kafka/placement kafka/reaction
kafka_send/admission kafka_send/backlog kafka_send/clients kafka_send/decision kafka_send/delivery_reports
kafka_send/producer* kafka_send/topics
""".split()

_FUNCTION = re.compile(r"^(?:\w[\w *]*[ *])?(\w+)\([^;{}]*\)\n\{", re.MULTILINE)


def _sources(tree):
    """Text by path of all that is compiled into the program."""
    paths = sorted([*tree.glob("src/**/*.[ch]"), *tree.glob("include/walpost/**/*.h")])
    return {path.relative_to(tree).as_posix(): path.read_text() for path in paths}


def _is_on_way(path):
    return any(fnmatch(path, f"src/{pattern}.c") for pattern in WAY)


def shared(sources):
    """Sentences: functions of files on the way whose name another file has for one of its own."""
    places = {}
    for path, text in sources.items():
        for name in _FUNCTION.findall(words.code_of(text)):
            places.setdefault(name, set()).add(path)
    return [
        f"{name}() is defined in {' and '.join(sorted(files))}: a stack or a profile does not tell which. In the file "
        "on the way of an event give it the name of what it does there; where both are the same, share one"
        for name, files in sorted(places.items()) if len(files) > 1 and any(map(_is_on_way, files))
    ]


def test_functions_on_the_way_of_an_event_have_names_of_their_own(tree):
    assert not shared(_sources(tree))


def test_each_file_of_the_way_is_there(tree):
    assert not [pattern for pattern in WAY if not list(tree.glob(f"src/{pattern}.c"))]


def test_each_function_of_the_way_is_seen(tree):
    for path, text in _sources(tree).items():
        if _is_on_way(path):
            code = words.code_of(text)
            assert len(_FUNCTION.findall(code)) == len(re.findall(r"^\{", code, re.MULTILINE)), path


def test_a_planted_name_is_found():
    at_home = "static void take(int a,\n\t\t int b)\n{\n}\n"
    assert shared({"src/wal/frame.c": at_home, "src/cli/tail.c": "struct x *\ntake(void)\n{\n}\n"}) == [
        "take() is defined in src/cli/tail.c and src/wal/frame.c: a stack or a profile does not tell which. In the "
        "file on the way of an event give it the name of what it does there; where both are the same, share one"]
    assert shared({"src/wal/frame.c": at_home, "include/walpost/base/a.h": "static inline int take(int x)\n{\n}\n"})


def test_a_name_beside_the_way_or_only_called_is_not():
    text = "static void take(void)\n{\n}\n"
    assert not shared({"src/cli/tail.c": text, "src/cli/diff.c": text})
    assert not shared({"src/wal/frame.c": text, "src/cli/tail.c": "void take(void);\n/* take(x)\n{ */\nint a;\n"})
