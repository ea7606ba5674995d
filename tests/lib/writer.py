"""Applications that write: several at once, in all the ways in which a transaction can go."""

import json
import random
import threading
import uuid

import psycopg


class Writer:
    """Threads that commit and roll back until they have done `transactions`, or until `stop`.

    Losing the server they connect again and go on: what became of a transaction the truth knows.
    """

    def __init__(self, stage, threads=8, transactions=None, aggregates=500, pause=0.0, seed=1, topic="order",
                 connect=None, single_rows=False):
        self.rolled_back = set()
        self.committed = 0
        self._stage = stage
        self._aggregates = aggregates
        self._pause = pause
        self._topic = topic
        self._connect = connect or stage.connect
        self._single_rows = single_rows
        self._left = transactions
        self._lock = threading.Lock()
        self._stop = threading.Event()
        self._failures = []
        self._threads = [
            threading.Thread(target=self._run, args=(random.Random(seed * 1000 + n),), daemon=True)
            for n in range(threads)
        ]

    def start(self):
        for thread in self._threads:
            thread.start()
        return self

    def join(self, deadline=120):
        """Waits until all is done; the first failure of a writer is ours."""
        for thread in self._threads:
            thread.join(deadline)
            assert not thread.is_alive(), "a writer hangs"
        if self._failures:
            raise self._failures[0]

    def stop(self):
        self._stop.set()
        self.join()

    def __enter__(self):
        return self.start()

    def __exit__(self, *_):
        self._stop.set()
        self.join()

    def _take(self):
        with self._lock:
            if self._left is None:
                return True
            self._left -= 1
            return self._left >= 0

    def _run(self, rng):
        try:
            while not self._stop.is_set() and self._take():
                self._connected(rng)
        except Exception as failure:  # noqa: BLE001 - told in join()
            self._failures.append(failure)

    def _connected(self, rng):
        try:
            with self._connect() as connection:
                self._transaction(connection, rng)
                while not self._stop.wait(self._pause * rng.random() * 2) and self._take():
                    self._transaction(connection, rng)
        except psycopg.OperationalError:
            self._stop.wait(0.1)

    def _row(self, rng):
        key = f"a{rng.randrange(self._aggregates)}"
        payload = json.dumps({"key": key, "noise": "x" * rng.randrange(200), "é": rng.random()})
        return str(uuid.uuid4()), self._topic, key, rng.choice(("created", "changed")), payload

    def _insert(self, connection, rows):
        places = ", ".join(["(%s,%s,%s,%s,%s)"] * len(rows))
        connection.execute(
            f"INSERT INTO {self._stage.table} (id, aggregatetype, aggregateid, type, payload) VALUES {places}",
            [value for row in rows for value in row],
        )

    def _rolled_back_part(self, connection, rng):
        row = self._row(rng)
        with connection.transaction(force_rollback=True):
            self._insert(connection, [row])
        self.rolled_back.add(row[0])

    def _transaction(self, connection, rng):
        kind = rng.random()
        if kind < 0.10:
            self._rolled_back_part(connection, rng)
            return
        with connection.transaction():
            if kind < 0.60 or self._single_rows:
                self._insert(connection, [self._row(rng)])
            elif kind < 0.80:
                self._insert(connection, [self._row(rng) for _ in range(rng.randrange(2, 6))])
            elif kind < 0.95:
                self._insert(connection, [self._row(rng)])
                self._rolled_back_part(connection, rng)
                self._insert(connection, [self._row(rng)])
            else:
                self._copy(connection, [self._row(rng) for _ in range(rng.randrange(3, 12))])
        with self._lock:
            self.committed += 1

    def _copy(self, connection, rows):
        table = self._stage.table
        with connection.cursor() as cursor:
            with cursor.copy(f"COPY {table} (id, aggregatetype, aggregateid, type, payload) FROM STDIN") as copy:
                for row in rows:
                    copy.write_row(row)
