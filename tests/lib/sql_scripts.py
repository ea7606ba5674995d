"""The scripts of sql/, run as a DBA runs them: by psql, with variables."""

import contextlib

import psycopg.pq

from lib import places, process
from lib.relay import clean_environment
from lib.stage import identifier
from lib.waiting import wait_until

SCRIPTS = places.TREE / "sql"


def script_command(stage, script, options=(), database=None, user="postgres", server=None, **variables):
    conninfo = (server or stage.postgres).conninfo(database or stage.database, user=user)
    given = [word for name, value in variables.items() if value is not None for word in ("-v", f"{name}={value}")]
    return ["psql", "-X", *options, "-d", conninfo, *given, "-f", SCRIPTS / script]


def run_psql(command, environment=None, **more):
    return process.run(command, env=clean_environment(environment), **more)


def run_script(stage, script, **more):
    """One script to its end, with these variables: returncode, stdout, stderr."""
    return run_psql(script_command(stage, script, **more))


def _of_slot(stage, script, **more):
    """The same, of the stage's slot and publication unless others are named; None leaves one out."""
    needed = {"slot": stage.slot}
    if script in ("slot_status.sql", "slot_create.sql", "slot_drop.sql", "slot_advance.sql"):
        needed["publication"] = stage.publication
    return run_script(stage, script, **{**needed, **more})


def slot_status(stage, **more):
    return _of_slot(stage, "slot_status.sql", **more)


def slot_create(stage, **more):
    return _of_slot(stage, "slot_create.sql", **more)


def slot_drop(stage, **more):
    return _of_slot(stage, "slot_drop.sql", **more)


def slot_advance(stage, **more):
    return _of_slot(stage, "slot_advance.sql", **more)


def slot_accept(stage, **more):
    return _of_slot(stage, "slot_accept.sql", **more)


def slot_failover(stage, **more):
    return _of_slot(stage, "slot_failover.sql", **more)


def good(ran, *parts):
    """It did what was asked, and said this."""
    assert ran.returncode == 0, ran.stderr
    for part in parts:
        assert part in ran.stdout, ran.stdout
    return ran


def refused(ran, *parts):
    """It did not do what was asked, and said this."""
    assert ran.returncode == 3, ran.stdout + ran.stderr
    for part in parts:
        assert part in ran.stderr, ran.stderr
    return ran


def facts_of(ran):
    """What slot_status.sql shows above its verdict."""
    return dict(line.split(None, 1) for line in ran.stdout.split("\n\n")[0].splitlines())


def slot_row(stage, columns, slot=None, server=None):
    rows = (server or stage.postgres).query(
        f"SELECT {columns} FROM pg_replication_slots s WHERE slot_name = %s", (slot or stage.slot,))
    return rows[0] if rows else None


def confirmed_text(stage):
    return slot_row(stage, "confirmed_flush_lsn::text")[0]


def end_text(stage):
    return stage.sql("SELECT pg_current_wal_flush_lsn()::text")[0][0]


def skip_records(stage):
    return stage.sql("SELECT slot, from_lsn::text, to_lsn::text, events, skipped_by FROM walpost.skip")


def forget_slot(stage):
    stage.sql("SELECT pg_drop_replication_slot(%s)", (stage.slot,))


@contextlib.contextmanager
def reader(stage):
    """A process that streams from the slot; its pid."""
    stream = psycopg.pq.PGconn.connect(stage.postgres.conninfo(stage.database, replication="database").encode())
    started = stream.exec_((f"START_REPLICATION SLOT {stage.slot} LOGICAL 0/0 "
                            f"(proto_version '1', publication_names '{stage.publication}')").encode())
    assert started.status == psycopg.pq.ExecStatus.COPY_BOTH
    try:
        yield stream.backend_pid
    finally:
        stream.finish()
        stage.wait_released()


@contextlib.contextmanager
def passing_role(stage, name, attributes="LOGIN"):
    """A role that is gone afterwards."""
    stage.sql(f"CREATE ROLE {identifier(name)} {attributes}")
    try:
        yield name
    finally:
        forget_role(stage, name)


def forget_role(stage, name):
    if stage.sql("SELECT FROM pg_roles WHERE rolname = %s", (name,)):
        stage.sql(f"REASSIGN OWNED BY {identifier(name)} TO postgres; DROP OWNED BY {identifier(name)}; "
                  f"DROP ROLE {identifier(name)}")


def other_slot(stage, kind):
    """The name of a slot that is not walpost's."""
    name = f"{stage.slot}_{kind}"
    stage.also_drops(name)
    if kind == "physical":
        stage.sql("SELECT pg_create_physical_replication_slot(%s)", (name,))
    else:
        stage.sql("SELECT pg_create_logical_replication_slot(%s, %s)", (name, kind))
    return name


def note_of_a_relay(stage, confirmed):
    """Of another cluster, epoch 3."""
    stage.sql("INSERT INTO walpost.slot_checkpoint (slot, owner, system_identifier, timeline, epoch, taken_at_lsn, "
              "confirmed_lsn) VALUES (%s, 'host:1', '7', 1, 3, '0/10', %s)", (stage.slot, confirmed))


def make_lag(server, megabytes):
    """At the end it is written out, as a commit is."""
    server.query("SELECT count(pg_logical_emit_message(true, 'noise', repeat('x', 100000))) "
                 "FROM generate_series(1, %s)", (10 * megabytes,))


def lose_slot(stage):
    """As the server does when the slot is too far behind."""
    stage.postgres.set_conf(max_slot_wal_keep_size="1MB")

    def lost():
        make_lag(stage.postgres, 1)
        stage.sql("SELECT pg_switch_wal()")
        stage.sql("CHECKPOINT")
        return slot_row(stage, "wal_status") == ("lost",)

    wait_until(lost, 30, "the slot is lost")
