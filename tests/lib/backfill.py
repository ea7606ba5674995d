"""What the tests of `walpost backfill` have in common."""

import subprocess
import uuid

from lib.relay import binary, clean_environment, config_text, run_command
from lib.waiting import wait_until


def give_order(stage):
    """To the rows of the outbox, by their primary key."""
    stage.sql(f"ALTER TABLE {stage.table} DROP CONSTRAINT outbox_pkey")
    stage.sql(f"ALTER TABLE {stage.table} ADD n bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY")


def command(stage, *arguments, changes=None):
    file = stage.folder / f"backfill-{uuid.uuid4().hex[:6]}.conf"
    file.write_text(config_text(stage.config(changes)))
    # The slot's creation waits for transactions of other tests as well.
    patience = () if "--timeout" in arguments else ("--timeout", "240s")
    return ["backfill", "-c", file, *arguments, *patience]


def run(stage, *arguments, changes=None):
    return run_command(*command(stage, *arguments, changes=changes), deadline=300)


def start(stage, *arguments, changes=None):
    """One that a test kills, or that ends by itself."""
    return subprocess.Popen([binary(), *command(stage, *arguments, changes=changes)], env=clean_environment(),
                            text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def done(ran):
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


def complaints(ran):
    """What it says on standard error, but for the transactions that a slot's creation waits for: they may be another
    test's."""
    lines, waits = [], False
    for line in ran.stderr.splitlines(keepends=True):
        waits = line.startswith("slot creation waits for ") or (waits and line.startswith("  "))
        lines += [] if waits else [line]
    return "".join(lines)


def refused(ran):
    assert ran.returncode != 0, ran.stdout
    return ran.stderr


def number_rows(stage):
    stage.sql(f"ALTER TABLE {stage.table} ADD n bigint GENERATED ALWAYS AS IDENTITY")


def drop_slot(stage):
    stage.wait_released()
    stage.sql("SELECT pg_drop_replication_slot(%s)", (stage.slot,))


def ids(stage, where="true"):
    return [str(id) for (id,) in stage.sql(f"SELECT id FROM {stage.table} WHERE {where} ORDER BY n")]


def sent(stage):
    return [dict(m.headers)["id"].decode() for m in stage.read()]


def _slots(stage):
    found = stage.sql("SELECT slot_name FROM pg_replication_slots WHERE database = current_database() "
                      "AND (slot_name LIKE %s OR slot_name = %s)", ("walpost_backfill_%", stage.slot))
    return [name for (name,) in found]


def has_slot(stage):
    return bool(_slots(stage))


def no_slot_is_left(stage, but=()):
    """A temporary slot is gone when the server has noticed that its command is, a moment later."""
    wait_until(lambda: _slots(stage) == list(but), 20, f"no slot is left but {list(but)}", lambda: str(_slots(stage)))


def check_order(stage):
    """Of each aggregate the events come in the order of the rows, and each once."""
    place = {str(id): (key, n) for id, key, n in stage.sql(f"SELECT id, aggregateid, n FROM {stage.table}")}
    last = {}
    for id in sent(stage):
        key, n = place[id]
        assert n > last.get(key, 0), (id, key)
        last[key] = n


def lose_slot_under_load(stage, rows, partitions=3):
    """A third of the rows is in Kafka, and the slot was dropped in the middle of load."""
    stage.create_topic(partitions=partitions)
    number_rows(stage)
    relay = stage.relay()
    for n in range(0, rows // 3, 100):
        stage.insert_many(100, f"a{n // 100 % 7}")
    stage.wait_all_confirmed(120)
    relay.kill()
    drop_slot(stage)
    for n in range(rows // 3, rows, 100):
        stage.insert_many(100, f"a{n // 100 % 7}")
    return stage
