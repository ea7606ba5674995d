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

    def follow_by_slot(self, name):
        """From now on by a physical slot of the primary, and ready to take its failover slots over (17 and newer)."""
        self._primary.query("SELECT pg_create_physical_replication_slot(%s)", (name,))
        self.set_conf(
            primary_conninfo=f"host=127.0.0.1 port={self._primary.port} user=postgres dbname=postgres",
            primary_slot_name=name, hot_standby_feedback="on")
        wait_until(lambda: self._primary.query("SELECT 1 FROM pg_replication_slots WHERE slot_name = %s AND active",
                                               (name,)), 30, f"the standby follows by {name}", self.log_tail)

    def wait_synced(self, slot, deadline=30):
        """Until it has a copy of the failover slot that outlives a promotion."""

        def is_synced():
            # Else the primary's slot moves on every fifteen seconds, and not when the primary rests.
            self._primary.query("SELECT pg_log_standby_snapshot()")
            self.query("SELECT pg_sync_replication_slots()")
            return self.query("SELECT 1 FROM pg_replication_slots WHERE slot_name = %s AND synced AND NOT temporary",
                              (slot,))

        wait_until(is_synced, deadline, f"slot {slot} is on the standby", self.log_tail)

    def promote(self):
        assert self.query("SELECT pg_promote(true, 60)") == [(True,)], self.log_tail()


def return_as_standby(server, primary, name):
    """A stopped former primary, which had sent all it had, follows `primary` by a physical slot and copies slots."""
    primary.query("SELECT pg_create_physical_replication_slot(%s)", (name,))
    signal = server.data / "standby.signal"
    signal.touch()
    server.hand_over(signal)
    with open(server.data / "postgresql.auto.conf", "a") as conf:
        conf.write(f"primary_conninfo = 'host=127.0.0.1 port={primary.port} user=postgres dbname=postgres'\n")
        conf.write(f"primary_slot_name = '{name}'\nhot_standby_feedback = on\nsync_replication_slots = on\n")
        conf.write("synchronized_standby_slots = ''\n")
    server.start()
    wait_until(lambda: primary.query("SELECT 1 FROM pg_replication_slots WHERE slot_name = %s AND active", (name,)),
               30, f"it follows by {name}", server.log_tail)
