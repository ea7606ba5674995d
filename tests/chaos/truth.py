"""What was committed, in which order: read from a second slot, batch by batch, so that it pins no WAL."""

import re
import threading

import psycopg

_ROW = re.compile(r"table public\.(outbox|ledger): INSERT: id\[bigint\]:(\d+)\b")
BATCH = 4000
PAUSE_SECONDS = 0.7


class TruthReader:
    """Peeks, hands over, and only then advances: what a crash of the server takes back is read again and dropped."""

    def __init__(self, postgres, database, slot, lock, on_committed, on_strange):
        self.upto = 0  # everything that committed up to here was handed over
        self.transactions = 0
        self.largest = 0
        self._postgres, self._database, self._slot = postgres, database, slot
        self._lock, self._on_committed, self._on_strange = lock, on_committed, on_strange
        self._last = 0
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def start(self):
        self._thread.start()
        return self

    def stop(self):
        self._stop.set()
        self._thread.join(60)

    def _run(self):
        while not self._stop.is_set():
            try:
                with self._postgres.connect(self._database, options="-c statement_timeout=60s") as connection:
                    while not self._stop.is_set():
                        if not self._batch(connection):
                            self._stop.wait(PAUSE_SECONDS)
            except psycopg.Error:
                self._stop.wait(0.3)

    def _batch(self, connection):
        """Whether there may be more at once."""
        flushed = int(connection.execute("SELECT pg_current_wal_flush_lsn() - '0/0'::pg_lsn").fetchone()[0])
        rows = connection.execute(
            """SELECT lsn - '0/0'::pg_lsn, left(data, 80) FROM pg_logical_slot_peek_changes(
                   %s, NULL, %s, 'include-xids', '0', 'skip-empty-xacts', '1')""", (self._slot, BATCH)).fetchall()
        end = self._take(rows)
        full = len(rows) >= BATCH
        self.upto = max(self.upto, end if full else flushed)
        if rows:
            connection.execute(
                "SELECT pg_replication_slot_advance(%s, '0/0'::pg_lsn + %s::numeric)", (self._slot, end))
        return full

    def _take(self, rows):
        """Hands over the transactions that are new; returns where the last one ends."""
        open_rows, end = {"outbox": [], "ledger": []}, self._last
        for lsn, data in rows:
            found = _ROW.match(data)
            if found:
                open_rows[found[1]].append(int(found[2]))
            elif data.startswith("COMMIT"):
                end = int(lsn)
                if end > self._last:
                    self._commit(open_rows, end)
                open_rows = {"outbox": [], "ledger": []}
        return end

    def _commit(self, rows, end):
        self._last = end
        if not rows["outbox"] and not rows["ledger"]:
            return
        self.transactions += 1
        self.largest = max(self.largest, len(rows["outbox"]))
        with self._lock:
            if sorted(rows["outbox"]) != sorted(rows["ledger"]):
                self._on_strange(end, rows)
            for id in rows["outbox"]:
                self._on_committed(id, end)
