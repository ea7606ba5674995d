"""What pages of the documentation show: blocks to type, and what one should see."""

import re

from lib import places

PAGES = places.TREE / "deploy" / "docs" / "pages"
README = places.TREE / "README.md"
_FRESH = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|[0-9A-F]{16}|0/[0-9A-F]+|\d+(?= ok,| warn)|\.\.\.")


def blocks(page, language=""):
    """Of a file, or of a page by its name."""
    found = re.findall(r"^```(\w*)[^\n]*\n(.*?)^```$", (PAGES / page).read_text(), re.DOTALL | re.MULTILINE)
    return [text for of, text in found if of == language]


def assert_seen(block, said):
    """All of the block but for what differs from run to run was said. `...` stands for any lines, or for the rest of a
    word."""
    def pattern(line):
        return r"[^ |]+".join(map(re.escape, _FRESH.split(line)))

    lines = ["(?:.*\n)*?.*" if line == "..." else pattern(line) for line in block.splitlines()]
    assert re.search("^" + "\n".join(lines) + "$", said, re.MULTILINE), said


class FirstSteps:
    """The commands that the README begins with, for the servers of this stage: `install`, `init`, `run`, `insert`,
    `read`; and the record that should be `seen`. With them goes an `environment`: topics have names of their own."""

    def __init__(self, stage):
        first, second = blocks(README)[:2]
        port = stage.postgres.port
        for one, other in {
            "dbname=shop": f"dbname={stage.database} port={port}", " shop ": f" {stage.database} ",
            "-h localhost": f"-h 127.0.0.1 -p {port}", "host=localhost": "host=127.0.0.1",
            "localhost:9092": stage.kafka.address, "outbox.event.order": stage.topic(),
        }.items():
            first, second = first.replace(one, other), second.replace(one, other)
        self.install, self.init, self.run = first.replace("\\\n", " ").splitlines()
        self.insert, self.read = re.split(r"\n(?=kcat)", second.rstrip("\n"))
        self.seen = blocks(README, "text")[0]
        self.environment = {"WALPOST__OUTBOX__TOPIC_REPLACEMENT": stage.topic("${routedByValue}")}
