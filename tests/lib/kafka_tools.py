"""Kafka's own command line tools, under the names that its distribution gives them."""

import os
from pathlib import Path

from lib import process
from servers import cache

_CLASSES = {
    "kafka-topics.sh": "org.apache.kafka.tools.TopicCommand",
    "kafka-configs.sh": "kafka.admin.ConfigCommand",
    "kafka-acls.sh": "org.apache.kafka.tools.AclCommand",
    "kafka-reassign-partitions.sh": "org.apache.kafka.tools.reassign.ReassignPartitionsCommand",
}

_SCRIPT = """#!/bin/sh
exec {java} -Xmx128m '-XX:SharedArchiveFile={classes}' -Djava.io.tmpdir='{folder}' \\
    -Dorg.slf4j.simpleLogger.defaultLogLevel=error -cp '{libs}/*' {name} "$@" {more}
"""


class KafkaTools:
    """`more`: what an administrator adds to each, such as --command-config."""

    def __init__(self, folder, more=""):
        self.folder = Path(folder)
        self.folder.mkdir(parents=True)
        for script, name in _CLASSES.items():
            path = self.folder / script
            path.write_text(_SCRIPT.format(
                java=" ".join(cache.JAVA), classes=cache.kafka_classes(), folder=self.folder,
                libs=cache.kafka() / "libs", name=name, more=more))
            path.chmod(0o755)

    def shell(self, text):
        """As typed into a shell; what it said."""
        path = f"{self.folder}:{os.environ['PATH']}"
        done = process.run(["sh", "-ec", text], env={**os.environ, "PATH": path}, cwd=self.folder)
        assert done.returncode == 0, f"{text}\n{done.stdout}\n{done.stderr}"
        return done.stdout
