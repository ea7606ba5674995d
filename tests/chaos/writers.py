"""Applications: transactions of all sizes and ends, over many aggregates, through every restart of the server."""

import contextlib
import logging
import random
import threading
import time

import psycopg

from chaos import events

# Of connections that broke in a transaction: here they all do.
logging.getLogger("psycopg").setLevel(logging.ERROR)
_COLUMNS = "(id, aggregatetype, aggregateid, type, payload)"


class Writers:
    """`rate` events a second in all, by `threads`. What became of a transaction whose commit was cut off, the truth
    knows. Each transaction writes the ids of its events into the table `ledger` too. `row_of(id)` is an outbox row."""

    def __init__(self, postgres, database, seed, rate=300, threads=4, large_every=40.0, row_of=events.row_of):
        self.allowed = threading.Event()  # cleared while the rest of the world cannot follow
        self.allowed.set()
        self.committed = 0  # transactions whose COMMIT was answered
        self.rolled_back = 0
        self.broken = 0
        self.errors = {}
        self.rate = rate
        self.large_every = large_every
        self.row_of = row_of
        self.thread_count = threads
        self._postgres, self._database = postgres, database
        self._stop = threading.Event()
        self._threads = [_Writer(self, n, random.Random(f"{seed} writer {n}")) for n in range(threads)]
        self.share = rate / threads

    def start(self):
        for thread in self._threads:
            thread.start()
        return self

    def stop(self):
        """Lets each finish what it is in; then nothing is prepared any more."""
        self._stop.set()
        for thread in self._threads:
            thread.join(120)
            assert not thread.is_alive(), "a writer hangs"
            if thread.failure:
                raise thread.failure
        with self._postgres.connect(self._database) as connection:
            for thread in self._threads:
                thread.resolve(connection)


class _Writer(threading.Thread):
    def __init__(self, all, number, rng):
        super().__init__(daemon=True)
        self.failure = None
        self._all, self._number, self._rng = all, number, rng
        self._next = [0, 0, 0]
        self._prepared = 0
        self._large_at = time.monotonic() + rng.uniform(5, all.large_every)

    def _next_large(self, now):
        """Whatever the rate, all writers together come to one about every `large_every` seconds."""
        return now + self._rng.uniform(0.5, 1.5) * self._all.large_every * self._all.thread_count

    # --- life

    def run(self):
        try:
            while not self._all._stop.is_set():
                self._connected()
        except Exception as failure:  # noqa: BLE001 - told by stop()
            self.failure = failure

    def _connected(self):
        try:
            with self._all._postgres.connect(
                self._all._database, options="-c statement_timeout=60s -c lock_timeout=20s"
            ) as connection:
                self.resolve(connection)
                while not self._all._stop.is_set():
                    count = self._transaction(connection)
                    self._all._stop.wait(self._rng.random() * 2 * count / self._all.share)
                    while not self._all.allowed.wait(0.2) and not self._all._stop.is_set():
                        pass
        except psycopg.Error as error:
            self._all.broken += 1
            self._all.errors[type(error).__name__] = str(error)
            self._all._stop.wait(0.2)

    def resolve(self, connection):
        """Prepared transactions outlive a crash: ours get their end."""
        for (gid,) in connection.execute(
            "SELECT gid FROM pg_prepared_xacts WHERE database = current_database() AND gid LIKE %s",
            (f"w{self._number}-%",),
        ).fetchall():
            verb = self._rng.choice(("COMMIT", "COMMIT", "ROLLBACK"))
            connection.execute(f"{verb} PREPARED '{gid}'")

    # --- rows

    def _ids(self, count, kind=events.MIXED):
        first = self._next[kind]
        self._next[kind] += count
        return [events.event_id(self._number, kind, first + n) for n in range(count)]

    def _rows(self, ids):
        return [self._all.row_of(id) for id in ids]

    def _insert(self, connection, ids):
        rows = self._rows(ids)
        places = ", ".join(["(%s,%s,%s,%s,%s)"] * len(rows))
        connection.execute(
            f"INSERT INTO outbox {_COLUMNS} VALUES {places}", [value for row in rows for value in row])
        self._note(connection, ids)

    @staticmethod
    def _note(connection, ids):
        connection.execute("INSERT INTO ledger SELECT unnest(%s::bigint[])", (ids,))

    def _copy(self, connection, ids):
        with connection.cursor() as cursor:
            with cursor.copy(f"COPY outbox {_COLUMNS} FROM STDIN") as copy:
                for row in self._rows(ids):
                    copy.write_row(row)
        self._note(connection, ids)

    def _few(self):
        return 1 if self._rng.random() < 0.5 else min(60, int(self._rng.expovariate(0.25)) + 1)

    # --- transactions; each returns how many events it wrote, kept or not

    def _transaction(self, connection):
        if time.monotonic() >= self._large_at:
            self._large_at = self._next_large(time.monotonic())
            return self._large(connection)
        kind = self._rng.random()
        if kind < 0.08:
            return self._rolled_back(connection)
        if kind < 0.18:
            return self._with_savepoints(connection)
        if kind < 0.26:
            return self._prepared_one(connection)
        if kind < 0.36:
            return self._copied(connection)
        return self._plain(connection)

    def _done(self, count):
        self._all.committed += 1
        return count

    def _plain(self, connection):
        ids = self._ids(self._few())
        with connection.transaction():
            half = len(ids) // 2
            for part in (ids[:half], ids[half:]):
                if part:
                    self._insert(connection, part)
            self._perhaps_delete(connection, ids)
        return self._done(len(ids))

    def _perhaps_delete(self, connection, ids):
        """As many services do: the event is sent all the same."""
        if self._rng.random() < 0.7:
            connection.execute("DELETE FROM outbox WHERE id = ANY(%s)", (ids,))

    def _rolled_back(self, connection):
        ids = self._ids(self._few())
        with connection.transaction(force_rollback=True):
            self._insert(connection, ids)
        self._all.rolled_back += 1
        return len(ids)

    def _with_savepoints(self, connection):
        count = 0
        with connection.transaction():
            for _ in range(self._rng.randrange(1, 5)):
                ids = self._ids(self._few())
                count += len(ids)
                with connection.transaction(force_rollback=self._rng.random() < 0.5):
                    self._insert(connection, ids)
                    with connection.transaction(force_rollback=self._rng.random() < 0.3):
                        self._insert(connection, self._ids(1))
        return self._done(count)

    def _prepared_one(self, connection):
        self._prepared += 1
        gid = f"w{self._number}-{self._prepared}-{self._rng.randrange(1 << 30)}"
        ids = self._ids(self._few())
        connection.execute("BEGIN")
        try:
            self._insert(connection, ids)
            connection.execute(f"PREPARE TRANSACTION '{gid}'")
        except psycopg.Error:
            with contextlib.suppress(psycopg.Error):
                connection.execute("ROLLBACK")
            raise
        self._all._stop.wait(self._rng.choice((0, 0, 0.05, 0.5)))
        verb = "COMMIT" if self._rng.random() < 0.7 else "ROLLBACK"
        connection.execute(f"{verb} PREPARED '{gid}'")
        return self._done(len(ids))

    def _copied(self, connection):
        ids = self._ids(self._few() + self._few())
        with connection.transaction():
            self._copy(connection, ids)
        return self._done(len(ids))

    def _large(self, connection):
        """Thousands of rows, or a few of the largest."""
        with connection.transaction():
            if self._rng.random() < 0.5:
                ids = self._ids(self._rng.randrange(1_000, 4_000), events.SMALL)
                self._copy(connection, ids)
            else:
                ids = self._ids(self._rng.randrange(1, 4), events.LARGEST) + self._ids(2)
                self._insert(connection, ids)
            connection.execute("DELETE FROM outbox WHERE id = ANY(%s)", (ids,))
        return self._done(len(ids))
