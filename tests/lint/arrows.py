"""Which way includes may point: rooms of ours, and foreign headers by room."""

import re
from pathlib import Path

_INCLUDE = re.compile(r'^\s*#\s*include\s+[<"]([^>"]+)[>"]', re.MULTILINE)

# A room sees itself and these.
SEES = {
    "base": set(),
    "http_client": {"base"},
    "login": {"base", "http_client"},
    "wal": {"base"},
    "source": {"base", "wal"},
    "postgres": {"base", "login", "wal", "source"},
    "postgres_preflight": {"base", "wal", "source", "postgres"},
    "postgres_stream": {"base", "wal", "source", "postgres", "postgres_preflight"},
    "values": {"base", "wal"},
    "sink": {"base", "wal"},
    "envelope": {"base", "wal", "values", "sink"},
    "outbox": {"base", "wal", "source", "values", "sink", "envelope"},
    "diff": {"base", "wal", "sink"},
    "kafka": {"base", "login", "wal", "sink"},
    "kafka_inspect": {"base", "wal", "sink", "kafka"},
    "kafka_send": {"base", "login", "wal", "sink", "kafka", "kafka_inspect"},
    "registry": {"base", "http_client", "outbox"},
    "relay": {"base", "wal", "source", "outbox", "sink"},
    "telemetry": {"base", "wal", "source", "sink", "relay"},
    "http": {"base"},
    "run": {
        "base", "login", "wal", "outbox", "sink", "postgres", "postgres_preflight", "postgres_stream", "kafka",
        "kafka_send", "registry", "relay", "telemetry", "http",
    },
    "config": {"base"},
    "import": {"base", "config"},
    "cli": {
        "base", "login", "wal", "source", "values", "outbox", "sink", "diff", "postgres", "postgres_preflight",
        "postgres_stream", "kafka", "kafka_inspect", "kafka_send", "registry", "relay", "telemetry", "http", "run",
        "config", "import",
    },
    "main": {"base", "cli"},
}
# Single headers beyond that: the configuration knows what each room can be told, and asks the
# rooms' own parsers whether a value is right.
ALSO_SEES = {
    "config": {
        "login/login.h", "login/options.h", "login/words.h", "postgres/options.h", "postgres/conninfo.h",
        "outbox/options.h", "kafka/options.h", "relay/options.h",
        "outbox/names.h", "outbox/route.h", "outbox/shape.h", "http/options.h", "http/address.h",
    },
    "import": {"outbox/names.h", "outbox/route.h", "postgres/conninfo.h"},
    "main": {"run/run.h"},  # its first act holds back a SIGHUP
}

FOREIGN = {
    "libpq-fe.h": {"postgres", "postgres_preflight", "postgres_stream", "cli"},
    "libpq-events.h": {"postgres"},
    "librdkafka/": {"kafka", "kafka_inspect", "kafka_send", "cli"},
    "ev.h": {"postgres", "postgres_stream", "http", "registry", "run", "cli"},
    "microhttpd.h": {"http/server", "cli/version"},
    "protobuf-c/": {"envelope", "cli/version"},
    "pcre2.h": {"outbox", "cli/version"},
    "jansson.h": {"cli", "kafka/statistics"},
    "openssl/": {"postgres_stream/copy", "login"},
    "yaml.h": {"import"},
    "curl/": {"http_client", "cli/version"},
}

# Pure: no descriptor, no clock, no thread, no log. "room/stem" are exceptions within a pure room.
PURE = {"base", "wal", "values", "envelope", "outbox", "diff", "relay", "telemetry", "import"}
IMPURE_FILES = {
    "base/clock", "base/file_text", "base/heap", "base/log", "base/log_line", "base/notify", "base/secret_file",
    "base/worker", "base/wake",
}
IMPURE_OURS = {
    "base/clock.h", "base/file_text.h", "base/heap.h", "base/log.h", "base/notify.h", "base/secret_file.h",
    "base/worker.h", "base/wake.h", "sink/stdout.h",
}
IMPURE_SYSTEM = re.compile(
    r"^(unistd|time|pthread|poll|signal|fcntl|netdb|termios|dirent)\.h$|^(sys/(?!types\.h)|netinet/|arpa/)"
)


def includes(text):
    return _INCLUDE.findall(text)


def _place(path, tree):
    """Room and "room/stem" of a source or header; table_row.c belongs to outbox/table."""
    relative = path.relative_to(tree)
    if relative == Path("src/main.c"):
        return "main", "main"
    parts = relative.parts[1:] if relative.parts[0] == "src" else relative.parts[2:]
    return parts[0], f"{parts[0]}/{path.stem.split('.')[0]}"


def _is_file(place, listed):
    return any(place == one or place.startswith(one + "_") for one in listed)


def _target(name):
    """ "base/error.h" of "walpost/base/error.h"; None for a header that is not ours."""
    return name.removeprefix("walpost/") if name.startswith("walpost/") and name.count("/") == 2 else None


def violations_of(path, tree):
    room, place = _place(path, tree)
    pure = room in PURE and not _is_file(place, IMPURE_FILES)
    for name in includes(path.read_text()):
        ours = _target(name)
        if ours is not None:
            to = ours.split("/")[0]
            if to != room and to not in SEES[room] and ours not in ALSO_SEES.get(room, ()):
                yield f"{path.relative_to(tree)}: {room} may not see {ours}"
            if pure and ours in IMPURE_OURS:
                yield f"{path.relative_to(tree)}: is pure and may not see {ours}"
            continue
        for header, rooms in FOREIGN.items():
            if name.startswith(header) and not (room in rooms or _is_file(place, rooms)):
                yield f"{path.relative_to(tree)}: {name} is not for {room}"
        if pure and IMPURE_SYSTEM.match(name):
            yield f"{path.relative_to(tree)}: is pure and may not see <{name}>"


def sources(tree):
    """All C of the program, in the rooms."""
    found = [*tree.glob("src/*/*.[ch]"), *tree.glob("src/main.c"), *tree.glob("include/walpost/*/*.h")]
    return sorted(found)


def violations(tree):
    return [line for path in sources(tree) for line in violations_of(path, tree)]
