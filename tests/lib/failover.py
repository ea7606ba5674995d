"""A streaming standby of a server, for promotions."""

import shutil
import subprocess

from lib.postgres import Postgres
from lib.waiting import wait_until


class Standby(Postgres):
    """A copy of `primary`, which is stopped for it and started again, that follows it. No slots come along."""

    def __init__(self, primary, folder):
        super().__init__(primary.version, folder)
        primary.stop()
        shutil.rmtree(self.data)
        subprocess.run(["cp", "-a", primary.data, self.data], check=True)
        primary.start()
        for slot in (self.data / "pg_replslot").iterdir():
            shutil.rmtree(slot)
        signal = self.data / "standby.signal"
        signal.touch()
        self.hand_over(signal)
        with open(self.data / "postgresql.conf", "a") as conf:
            conf.write(f"unix_socket_directories = '{self.folder}'\n")
            conf.write(f"primary_conninfo = 'host=127.0.0.1 port={primary.port} user=postgres'\n")
        self._primary = primary

    def wait_caught_up(self, deadline=30):
        """Until it has all that the primary has written."""
        (end,) = self._primary.query("SELECT pg_current_wal_flush_lsn()::text")[0]
        wait_until(lambda: self.query("SELECT pg_last_wal_replay_lsn() >= %s::pg_lsn", (end,)) == [(True,)],
                   deadline, "the standby has replayed all", self.log_tail)

    def cut_off(self):
        """It hears no more from the primary."""
        self.set_conf(primary_conninfo="")
        wait_until(lambda: not self.query("SELECT FROM pg_stat_wal_receiver"), 30, "no walreceiver runs")

    def promote(self):
        assert self.query("SELECT pg_promote(true, 60)") == [(True,)], self.log_tail()
