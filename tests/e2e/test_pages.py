"""What pages of the documentation say to do works to the letter."""

import contextlib
import json
import re
import shlex
import subprocess

import pytest

from lib import places
from lib.pages import PAGES, FirstSteps, assert_seen, blocks
from lib.process import dies_with_us
from lib.relay import binary, clean_environment, config_text, run_command
from lib.waiting import wait_until


def _sql(page):
    return blocks(page, "sql")


def _words(page, command, file, role="walpost"):
    """Of a command that the page shows, with this file, and this role for the relay's."""
    assert command in (PAGES / page).read_text(), f"the page does not show: {command}"
    names = {"walpost.conf": file, "walpost": role}
    return [names.get(word, word) for word in shlex.split(command.replace("\\\n", " "))[1:]]


@contextlib.contextmanager
def _role(stage, options):
    role = f"{stage.name}_relay"
    stage.sql(f"CREATE ROLE {role} {options}")
    try:
        yield role
    finally:
        stage.sql(f"DROP OWNED BY {role}; DROP ROLE {role}")


def _messages(stage, first, count):
    stage.sql(f"""INSERT INTO app.messages (message_id, order_id, kind, content)
                  SELECT gen_random_uuid(), n % 4, 'OrderPaid', jsonb_build_object('n', n)
                  FROM generate_series({first}, {first + count - 1}) n""")


def test_the_first_block_of_the_readme_brings_a_record(make_stage, own_postgres):
    stage = make_stage(postgres=own_postgres, set_up=False)
    stage.create_topic()  # a broker that tests share makes none by itself
    steps = FirstSteps(stage)
    done = run_command(*shlex.split(steps.init)[1:], environment=steps.environment)
    assert done.returncode == 0, done.stderr
    relay = subprocess.Popen([binary(), *shlex.split(steps.run)[1:]], env=clean_environment(steps.environment),
                             stderr=subprocess.PIPE, text=True, preexec_fn=dies_with_us())
    try:
        subprocess.run(["sh", "-c", steps.insert], check=True, env=clean_environment())
        wait_until(stage.read, 30, "the event is there")
        read = subprocess.run(shlex.split(steps.read), check=True, capture_output=True, text=True)
        assert_seen(steps.seen, read.stdout)
    finally:
        relay.terminate()
        log = relay.communicate()[1]
    assert relay.returncode == 0, log


def test_the_quickstart_shows_what_one_sees(make_stage, own_postgres):
    """Its steps in their order, with the addresses of these servers."""
    page = "quickstart.md"
    seen = blocks(page, "text")
    stage = make_stage(postgres=own_postgres, set_up=False)
    (options,), (role, grant, event) = blocks(page, "ini"), _sql(page)
    of_role, = (line for line in role.splitlines() if "CREATE ROLE" in line)
    stage.sql(of_role + "CREATE TABLE orders (id int, paid bool)")
    conninfo = own_postgres.conninfo(stage.database, user="walpost")
    options = re.sub("(?m)^conninfo = .*", f"conninfo = {conninfo}", options)
    file = stage.folder / "walpost.conf"
    file.write_text(options.replace("kafka.example.org:9092", stage.kafka.address)
                    + f"[outbox]\ntopic.replacement = {stage.topic('${routedByValue}')}\n")
    admin = "host=db.example.org dbname=shop user=postgres"
    init = f"walpost init -c walpost.conf --role walpost \\\n    --set 'postgres.conninfo={admin}'"
    words = [word.replace(admin, own_postgres.conninfo(stage.database)) for word in _words(page, init, str(file))]
    done = run_command(*words)
    assert done.returncode == 0, done.stderr
    assert_seen(seen.pop(0), done.stdout)
    stage.sql("ALTER ROLE walpost NOREPLICATION; REVOKE ALL ON SCHEMA walpost FROM walpost")  # as without --role
    check = _words(page, "walpost check -c walpost.conf", file)
    done = run_command(*check)
    assert done.returncode == 1
    assert_seen(seen.pop(0), done.stdout)
    for cure in re.findall(r"^        ([A-Z].*;)$", done.stdout, re.MULTILINE):
        if "max_slot_wal_keep_size" not in cure:
            stage.sql(cure)
    assert ", 0 failures" in run_command(*check).stdout
    stage.create_topic()
    relay = stage.new_relay()
    relay.config_file.write_text(file.read_text())
    assert _words(page, "walpost run -c walpost.conf", file)[0] == "run"
    relay.start()
    relay.wait_log("event=streaming")
    assert_seen(seen.pop(0), re.sub("(?m)^time=[^ ]* level=[a-z]* ", "", relay.log_text()))
    stage.sql(f"CREATE ROLE app; {grant}")
    stage.sql(event)
    relay.wait_until(lambda: stage.read(), 20, "the event is there")
    kcat = "kcat -C -e -q -b kafka.example.org:9092 -t outbox.event.order -o beginning -f '%k | %h | %s\\n'"
    assert kcat in (PAGES / page).read_text()
    kcat = kcat.replace("kafka.example.org:9092", stage.kafka.address).replace("outbox.event.order", stage.topic())
    assert_seen(seen.pop(0), subprocess.run(shlex.split(kcat), check=True, capture_output=True, text=True).stdout)
    assert not seen
    relay.stop()


@pytest.mark.on("all")
def test_a_job_that_polls_is_replaced(make_stage):
    """By the steps of the page: each event that the job had not sent comes once, in order."""
    page = "producers/existing.md"
    stage = make_stage(set_up=False)
    stage.create_topic("orders", partitions=3)
    table, = (block for block in _sql(page) if "CREATE TABLE" in block)
    options, = (block for block in blocks(page, "ini") if "table = app.messages" in block)
    given = {f"outbox.{name}": value for name, value in re.findall(r"^(\S+) = (.*)$", options, re.MULTILINE)}
    given["outbox.topic.replacement"] = stage.topic("orders")
    file = stage.folder / "walpost.conf"
    with _role(stage, "LOGIN REPLICATION") as role:
        stage.sql("CREATE SCHEMA app;" + table)
        stage.sql(f"GRANT USAGE ON SCHEMA app TO {role};" + re.sub(
            r"\bwalpost$", role, re.search(r"`(GRANT SELECT [^`]*)`", (PAGES / page).read_text())[1]))
        _messages(stage, 0, 20)
        mark = "UPDATE app.messages SET processed_at = now() WHERE (content->>'n')::int < %s"
        stage.sql(mark, (10,))
        file.write_text(config_text(stage.config(given)))
        done = run_command(*_words(page, "walpost init -c walpost.conf --role walpost", file, role))
        assert done.returncode == 0, done.stdout + done.stderr
        _messages(stage, 20, 10)
        stage.sql(mark, (17,))  # what the job still sends
        given["postgres.conninfo"] = stage.postgres.conninfo(stage.database, user=role)
        file.write_text(config_text(stage.config(given)))
        send = 'walpost backfill -c walpost.conf --force --where "processed_at IS NULL"'
        done = run_command(*_words(page, send + " --dry-run", file))
        assert done.returncode == 0 and "13 rows" in done.stdout, done.stdout + done.stderr
        assert not stage.read("orders")
        done = run_command(*_words(page, send, file))
        assert done.returncode == 0, done.stdout + done.stderr
        _messages(stage, 30, 10)
        relay = stage.relay(given)
        stage.wait_all_confirmed(relay=relay)
        of_keys = {}
        for message in stage.read("orders"):
            of_keys.setdefault(message.key, []).append(json.loads(message.value)["n"])
        assert of_keys == {str(key).encode(): [n for n in range(17, 40) if n % 4 == key] for key in range(4)}
        relay.stop()


def test_the_name_of_a_dotnet_class_gives_a_topic(stage):
    options, = (block for block in blocks("producers/existing.md", "ini") if "topic.regex" in block)
    given = {f"outbox.{name}": value for name, value in re.findall(r"^(\S+) = (.*)$", options, re.MULTILINE)}
    given["outbox.topic.replacement"] = stage.topic(given["outbox.topic.replacement"])
    stage.create_topic("OrderShipped")
    relay = stage.relay(given)
    for type in ("Shop.Domain.OrderShipped, Shop", "Shop.OrderShipped", "OrderShipped"):
        stage.insert(type=type)
    stage.wait_all_confirmed(relay=relay)
    assert len(stage.read("OrderShipped")) == 3
    relay.stop()


def test_an_event_is_sent_later(stage):
    """What the page says to an application, by a role that has what the page grants and no more."""
    blocks = _sql("producers/delay.md")
    tomorrow, message = (block for block in blocks if "walpost.schedule(" in block)
    (unschedule,) = (block for block in blocks if "walpost.unschedule(" in block)
    (grants,) = (block for block in blocks if "GRANT" in block)
    role = f"{stage.name}_app"
    stage.create_topic()
    stage.sql((places.TREE / "sql" / "schedule.sql").read_text())
    stage.sql(f"CREATE ROLE {role} LOGIN; GRANT INSERT ON outbox TO {role};" + re.sub(r"\bapp\b", role, grants))
    try:
        with stage.connect(user=role) as app:
            (first,) = app.execute(tomorrow).fetchone()
            for block in (tomorrow, message):
                app.execute(block)
            (withdrawn,) = app.execute(unschedule.replace("42", str(first))).fetchone()
            assert withdrawn and app.execute(unschedule).fetchone() == (False,)
        assert stage.sql("SELECT deliver_at > now(), message FROM walpost.scheduled ORDER BY id") == [
            (True, False), (True, True)]
        relay = stage.relay({"outbox.message.prefix": "outbox"})
        stage.sql("UPDATE walpost.scheduled SET deliver_at = now()")
        relay.wait_until(lambda: stage.sql("SELECT count(*) FROM walpost.scheduled") == [(0,)], 10, "they are moved")
        stage.wait_all_confirmed(relay=relay)
        assert sorted(message.key for message in stage.read()) == [b"order-1", b"order-1"]
    finally:
        stage.sql(f"DROP OWNED BY {role}; DROP ROLE {role}")


def test_old_rows_are_deleted_by_the_relay(stage):
    (prepare,) = [block for block in _sql("operations/cleanup.md") if "SET DEFAULT clock_timestamp()" in block]
    (options,) = [block for block in blocks("operations/cleanup.md", "ini") if "mode = delete" in block]
    given = dict(re.findall(r"^(\S+) = (.*)$", options, re.MULTILINE))
    assert given == {"column.inserted": "created_at", "mode": "delete", "keep": "168h"}
    stage.create_topic()
    stage.sql((places.TREE / "sql" / "cleanup.sql").read_text())
    for statement in prepare.split(";")[:3]:  # the last is for the relay's role
        stage.sql(statement)
    relay = stage.relay({"outbox.column.inserted": given["column.inserted"], "cleanup.mode": given["mode"],
                         "cleanup.keep": given["keep"], "cleanup.interval": "100ms"})
    known = "SELECT count(*) FROM walpost.cleanup_floor WHERE wait_for IS NULL"
    relay.wait_until(lambda: stage.sql(known) == [(1,)], 30, "the floor is known")
    stage.insert("new")
    stage.sql("""INSERT INTO outbox (id, aggregatetype, aggregateid, type, created_at)
                 SELECT gen_random_uuid(), 'order', 'old', 't', now() - interval '8 days'
                 FROM generate_series(1, 10)""")
    rest = "SELECT aggregateid FROM outbox"
    relay.wait_until(lambda: stage.sql(rest) == [("new",)], 30, "the old ones are deleted")
    stage.wait_all_confirmed(relay=relay)
    assert len(stage.read()) == 11


@pytest.mark.on("all")
def test_what_an_earlier_build_recorded_of_its_slot_is_kept(stage):
    """Grants, too: the relay writes the renamed table as a role of its own."""
    (rename,) = _sql("operations/upgrades.md")
    stage.create_topic()
    stage.sql("ALTER TABLE walpost.slot_checkpoint RENAME TO witness")
    with _role(stage, "LOGIN REPLICATION") as role:
        stage.sql(f"""GRANT USAGE ON SCHEMA walpost TO {role};
                      GRANT SELECT, INSERT, UPDATE ON walpost.witness TO {role}""")
        stage.sql(rename)
        relay = stage.relay({"postgres.conninfo": stage.postgres.conninfo(stage.database, user=role)})
        stage.insert()
        stage.wait_all_confirmed(relay=relay)
        relay.stop()
        assert stage.sql("SELECT slot, stopped FROM walpost.slot_checkpoint") == [(stage.slot, True)]
        stage.sql("ALTER TABLE walpost.slot_checkpoint RENAME TO witness")  # as an earlier build would have left it
        stage.sql("SELECT pg_replication_slot_advance(%s, pg_current_wal_lsn())", (stage.slot,))
        stage.sql(rename)
        relay.start()
        assert relay.wait_exit() == 3 and relay.log("slot_moved")
