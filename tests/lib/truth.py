"""What was really committed, and in which order: read from a second slot by test_decoding."""

import re
from dataclasses import dataclass

_ID = re.compile(r" INSERT: .*?\bid\[[^\]]*\]:'?([^' ]*)'?")


@dataclass(frozen=True)
class Committed:
    """One event: its id, and where the commit record of its transaction ends."""

    id: str
    end_lsn: int


class Truth:
    """A slot that nobody confirms: it can be asked as often as wanted."""

    def __init__(self, stage, pattern=_ID):
        self._stage = stage
        self._slot = stage.name + "_truth"
        self._pattern = pattern
        stage.also_drops(self._slot)
        stage.sql("SELECT pg_create_logical_replication_slot(%s, 'test_decoding')", (self._slot,))

    def events(self):
        """All events committed so far, in the order of their commits."""
        rows = self._stage.sql(
            """SELECT lsn - '0/0'::pg_lsn, data FROM pg_logical_slot_peek_changes(
                   %s, NULL, NULL, 'include-xids', '0', 'skip-empty-xacts', '1')""",
            (self._slot,),
        )
        events, open_ids = [], []
        for lsn, data in rows:
            if data.startswith("COMMIT"):
                events += [Committed(id, int(lsn)) for id in open_ids]
                open_ids = []
                continue
            if data.startswith("table walpost."):  # what is parked has an id as well
                continue
            found = self._pattern.search(data)
            if found:
                open_ids.append(found[1])
        return events
