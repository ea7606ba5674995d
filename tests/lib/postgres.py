"""A private PostgreSQL server: real, on its own port, gone with us."""

import os
import shutil
import signal
import subprocess
import threading
from pathlib import Path

import psycopg
import psycopg.conninfo
import psycopg.sql

from lib import process
from lib.ports import take_port
from lib.waiting import wait_until
from servers import cache

_SETTINGS = """
listen_addresses = '127.0.0.1'
unix_socket_directories = '{socket}'
wal_level = logical
max_replication_slots = 200
max_wal_senders = 200
max_connections = 300
shared_buffers = 64MB
fsync = off
full_page_writes = off
autovacuum = off
log_line_prefix = '%m [%p] %a '
log_connections = off
lc_messages = 'C'
"""

_STOP_SIGNALS = {"smart": signal.SIGTERM, "fast": signal.SIGINT, "immediate": signal.SIGQUIT}


def _rows(connection, sql, parameters):
    cursor = connection.execute(sql, parameters)
    return cursor.fetchall() if cursor.description is not None else []  # "SELECT FROM x" has rows of no column


class _Kept:
    """A session with a server that nobody stops: a new one for each question costs what ten tests' questions do."""

    def __init__(self, server):
        self._server = server
        self._lock = threading.Lock()
        self._connection = None

    def query(self, sql, parameters):
        with self._lock:
            if self._connection is None or self._connection.closed:
                self._connection = self._server.connect()
            return _rows(self._connection, sql, parameters)


class Postgres:
    """One server. `start` may follow `stop` as often as wanted: same port, same data."""

    _kept = None

    def __init__(self, version, folder):
        self.version = str(version)
        self._installed = cache.postgres(self.version)
        self.folder = Path(folder)
        self.folder.mkdir(parents=True)
        self.folder.chmod(0o755)
        self.data = self.folder / "data"
        self.log = self.folder / "server.log"
        self.port = take_port()
        self._process = None
        process.give_away(self.folder)
        subprocess.run(["cp", "-a", self._installed / "template", self.data], check=True)
        with open(self.data / "postgresql.conf", "a") as conf:
            conf.write(_SETTINGS.format(socket=self.folder))

    def start(self, **settings):
        """Starts and waits until it answers."""
        self.launch(**settings)
        wait_until(self.answers, 30, "Postgres answers", self.log_tail)
        return self

    def launch(self, **settings):
        """Starts without waiting."""
        assert self._process is None or self._process.poll() is not None
        command = [self._installed / "bin/postgres", "-D", self.data, "-p", str(self.port)]
        for name, value in settings.items():
            command += ["-c", f"{name}={value}"]
        with open(self.log, "ab") as log:
            self._process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd="/",
                preexec_fn=process.dies_with_us(signal.SIGQUIT), start_new_session=True, **process.unprivileged(),
            )

    def begin_stop(self, mode="fast"):
        """Asks it to stop; `wait_stopped` waits for the end."""
        self._process.send_signal(_STOP_SIGNALS[mode])

    def wait_stopped(self, deadline):
        process.wait_exit(self._process, deadline, "Postgres")

    def stop(self, mode="fast", deadline=30):
        """Stops as pg_ctl stop -m MODE does."""
        self.begin_stop(mode)
        self.wait_stopped(deadline)

    def restart(self, mode="fast", **settings):
        self.stop(mode)
        self.start(**settings)

    def end(self):
        """Gone, with its files."""
        if self._process is not None and self._process.poll() is None:
            self.stop("immediate")
        shutil.rmtree(self.folder, ignore_errors=True)

    @classmethod
    def attached(cls, version, folder, port):
        """A server that another process of this test run has started, and ends."""
        self = cls.__new__(cls)
        self.version = version
        self._installed = cache.postgres(version)
        self.folder = Path(folder)
        self.data = self.folder / "data"
        self.log = self.folder / "server.log"
        self.port = port
        self._process = None
        self._kept = _Kept(self)
        return self

    def create_database(self, name, options=""):
        """An empty one. By copying files: written to the log it is megabytes that all relays of the server decode."""
        copies = " STRATEGY file_copy" if int(self.version) >= 15 else ""  # before, it was the only way
        self.query(f"CREATE DATABASE {name} {options} TEMPLATE template0{copies}")

    def answers_now(self):
        try:
            self.connect(connect_timeout=5).close()
        except psycopg.OperationalError:
            return False
        return True

    def answers(self):
        """And not another that has its port."""
        assert self._process.poll() is None, f"Postgres exited\n{self.log_tail()}"
        return self.answers_now()

    def set_conf(self, **settings):
        """Settings that a reload is enough for, in force when this returns."""
        with self.connect() as connection:
            for name, value in settings.items():
                connection.execute(psycopg.sql.SQL("ALTER SYSTEM SET {} = {}").format(
                    psycopg.sql.Identifier(name), psycopg.sql.Literal(value)))
        self.reload_conf()

    def reload_conf(self):
        """Its files, in force when this returns."""
        loaded = self.query("SELECT pg_conf_load_time()")
        self.query("SELECT pg_reload_conf()")
        wait_until(lambda: self.query("SELECT pg_conf_load_time()") != loaded, 10, "the configuration is reloaded")

    def conninfo(self, database="postgres", **more):
        """A libpq connection string over TCP."""
        facts = {"host": "127.0.0.1", "port": self.port, "user": "postgres", "dbname": database, **more}
        return psycopg.conninfo.make_conninfo(**facts)

    def connect(self, database="postgres", **more):
        """A connection in autocommit mode."""
        return psycopg.connect(self.conninfo(database, **{"connect_timeout": 30, **more}), autocommit=True)

    def query(self, sql, parameters=None, database="postgres"):
        """All rows of one statement; of several statements without parameters, none."""
        if self._kept and database == "postgres":
            return self._kept.query(sql, parameters)
        with self.connect(database) as connection:
            return _rows(connection, sql, parameters)

    def temporary_slots(self, database):
        """The names of those that belong to sessions of this database."""
        return [name for (name,) in self.query(
            "SELECT slot_name FROM pg_replication_slots WHERE temporary AND database = %s", (database,))]

    def wait_no_temporary_slots(self, database, deadline):
        """They go with their sessions, a moment after those who had them."""
        wait_until(lambda: not self.temporary_slots(database), deadline, "no temporary slot is left")

    def log_size(self):
        """A mark for `log_since`."""
        return self.log.stat().st_size

    def log_since(self, mark=0):
        with open(self.log, "rb") as log:
            log.seek(mark)
            return log.read().decode(errors="replace")

    def log_tail(self):
        return "--- Postgres says:\n" + "\n".join(self.log_since().splitlines()[-30:])

    def is_running(self):
        return self._process is not None and self._process.poll() is None

    def pid(self):
        return self._process.pid

    @staticmethod
    def hand_over(path):
        """Makes a file the server's user's."""
        process.give_away(path)

    def freeze_backend(self, pid):
        """SIGSTOP to one of its processes."""
        process.pause(pid)

    def thaw_backend(self, pid):
        os.kill(pid, signal.SIGCONT)
