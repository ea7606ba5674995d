"""walpost slot skip: the way on past events that can never be delivered."""

import json
import re
import uuid

import psycopg.pq
import pytest

from lib.relay import config_text, run_command

pytestmark = pytest.mark.on("all")

_ADVICE = re.compile(r"[0-9A-F]+/[0-9A-F]+")


def _config_file(stage, **changes):
    file = stage.folder / f"skip-{uuid.uuid4().hex[:6]}.conf"
    file.write_text(config_text(stage.config(changes)))
    return file


def _skip(stage, *arguments, **changes):
    return run_command("slot", "skip", "-c", _config_file(stage, **changes), *arguments)


def _lines(done):
    *events, result = [json.loads(line) for line in done.stdout.splitlines()]
    return events, result


def _confirmed_text(stage):
    return stage.sql("SELECT confirmed_flush_lsn::text FROM pg_replication_slots WHERE slot_name = %s",
                     (stage.slot,))[0][0]


def _end_text(stage):
    return stage.sql("SELECT pg_current_wal_flush_lsn()::text")[0][0]


def _records(stage):
    return stage.sql("SELECT slot, from_lsn::text, to_lsn::text, events, skipped_by FROM walpost.skip")


def _large(stage, size=2_000_000):
    return '{"fill": "%s"}' % ("x" * size)


def _stopped_by_poison(stage):
    """A relay stopped by the second of three events of a transaction: its ids, and the LSN of its advice."""
    stage.create_topic()
    relay = stage.relay()
    stage.insert("before")
    stage.wait_all_confirmed(relay=relay)
    with stage.transaction() as connection:
        ids = [stage.insert("a", connection=connection),
               stage.insert("b", payload=_large(stage), connection=connection),
               stage.insert("a", connection=connection)]
    assert relay.wait_exit(60) == 3
    (line,) = relay.log("event_undeliverable")
    assert ids[1] in line["reason"]
    (stopped,) = relay.log("stopped")
    assert (stopped["level"], stopped["exit_code"]) == ("warn", "3")
    return relay, ids, _ADVICE.findall(line["reason"])[-1]


def test_what_the_relay_advises_gives_up_its_transaction_and_nothing_more(stage):
    relay, ids, lsn = _stopped_by_poison(stage)
    later = stage.insert("a")
    before = _confirmed_text(stage)

    listed = _skip(stage, "--to", lsn, "--json")
    assert listed.returncode == 1 and "nothing was changed; to discard these events, use --force" in listed.stderr
    events, result = _lines(listed)
    assert [event["id"] for event in events] == ids
    assert [event["key"] for event in events] == ["a", "b", "a"]
    assert {event["topic"] for event in events} == {stage.topic()}
    assert {event["table"] for event in events} == {"public.outbox"}
    assert events[1]["size"] > 2_000_000 > events[0]["size"]
    positions = [event["position"] for event in events]
    assert relay.log("event_undeliverable")[0]["reason"].count(positions[1])
    assert positions == sorted(positions) and [p[-1] for p in positions] == ["0", "1", "2"]
    assert result == {"slot": stage.slot, "from_lsn": before, "to_lsn": lsn, "events": 3, "transactions": 1,
                      "unmapped_rows": 1, "foreign_rows": 0, "skipped": False, "recorded": False}
    assert _confirmed_text(stage) == before and not _records(stage)

    done = _skip(stage, "--to", lsn, "--force")
    assert done.returncode == 0, done.stderr
    assert all(id in done.stdout for id in ids) and "3 events in 1 transaction" in done.stdout
    assert later not in done.stdout
    assert "recorded in walpost.skip" in done.stdout
    assert _records(stage) == [(stage.slot, before, lsn, 3, "postgres")]
    assert _confirmed_text(stage) == lsn

    relay.start()
    last = stage.insert("b")
    stage.wait_all_confirmed(relay=relay)
    seen = {message.id for message in stage.read()}
    assert {later, last} <= seen and ids[1] not in seen and ids[2] not in seen
    relay.stop()


def test_a_long_list_is_cut_unless_all_is_asked_for(stage):
    stage.insert_many(50)
    stage.insert_many(3)
    end = _end_text(stage)
    short = _skip(stage, "--to", end).stdout
    assert short.count("table public.outbox") == 20 and "and 33 more (--all lists them)" in short
    assert "53 events in 2 transactions" in short
    assert _skip(stage, "--to", end, "--all").stdout.count("table public.outbox") == 53


def test_a_row_that_is_no_event_is_counted_or_named_with_its_reason(stage):
    stage.sql("CREATE TABLE other (id int)")
    stage.sql(f"ALTER PUBLICATION {stage.publication} ADD TABLE other")
    stage.sql("INSERT INTO other VALUES (1), (2)")
    bad = stage.insert(topic="no topic")
    events, result = _lines(_skip(stage, "--to", _end_text(stage), "--json"))
    assert [event["id"] for event in events] == [bad]
    assert events[0]["topic"] is None and "no topic" in events[0]["reason"]
    assert result["foreign_rows"] == 2
    events, result = _lines(_skip(stage, "--to", _end_text(stage), "--json", **{"outbox.column.key": "gone"}))
    assert result["events"] == 1 and result["unmapped_rows"] == 1
    assert events[0]["id"] == bad and "gone" in events[0]["reason"]


def test_a_row_of_many_megabytes_is_named_without_being_read_whole(stage):
    id = stage.insert(payload=_large(stage, 30_000_000))
    events, _ = _lines(_skip(stage, "--to", _end_text(stage), "--json"))
    assert [(event["id"], event["topic"]) for event in events] == [(id, stage.topic())]
    assert events[0]["size"] > 30_000_000


def test_rows_of_partitions_are_events(make_stage):
    stage = make_stage(set_up=False)
    stage.sql("""CREATE TABLE outbox (id uuid, aggregatetype text, aggregateid text, type text, payload jsonb)
                 PARTITION BY HASH (id)""")
    stage.sql("CREATE TABLE leaf PARTITION OF outbox FOR VALUES WITH (MODULUS 1, REMAINDER 0)")
    stage.publish("outbox")
    stage.create_slot(with_truth=False)
    id = stage.insert()
    events, result = _lines(_skip(stage, "--to", _end_text(stage), "--json"))
    assert [(event["id"], event["table"]) for event in events] == [(id, "public.leaf")]
    assert result["foreign_rows"] == 0


def test_a_place_that_is_none_is_refused(stage):
    assert _skip(stage).returncode == 2
    for text in ("", "12", "x/y", "0/0", "0/1 "):
        done = _skip(stage, "--to", text, "--force")
        assert done.returncode == 2 and "is not an LSN" in done.stderr, text


def test_a_place_where_the_slot_is_already_gives_up_nothing(stage):
    stage.insert()
    here = _confirmed_text(stage)
    said = _skip(stage, "--to", here)
    assert said.returncode == 0 and f"already at {here}" in said.stdout
    done = _skip(stage, "--to", here, "--json", "--force")
    assert done.returncode == 0, done.stderr
    events, result = _lines(done)
    assert not events and (result["from_lsn"], result["to_lsn"]) == (here, here)
    assert (result["events"], result["skipped"], result["recorded"]) == (0, False, False)
    assert not _records(stage)


def test_a_place_below_the_slot_or_beyond_the_log_is_refused(stage):
    before = _confirmed_text(stage)
    done = _skip(stage, "--to", "0/1", "--force")
    assert done.returncode == 1 and "is already at" in done.stderr and "cannot move backward" in done.stderr
    done = _skip(stage, "--to", "FFFF/0", "--force")
    assert done.returncode == 1 and "beyond the end of the server's WAL" in done.stderr
    assert _confirmed_text(stage) == before and not _records(stage)


def test_a_slot_in_use_is_refused_with_its_process(stage):
    conninfo = stage.postgres.conninfo(stage.database, replication="database")
    stream = psycopg.pq.PGconn.connect(conninfo.encode())
    started = stream.exec_((f"START_REPLICATION SLOT {stage.slot} LOGICAL 0/0 "
                            f"(proto_version '1', publication_names '{stage.publication}')").encode())
    assert started.status == psycopg.pq.ExecStatus.COPY_BOTH
    done = _skip(stage, "--to", _end_text(stage), "--force")
    assert done.returncode == 1 and f"in use by process {stream.backend_pid}: stop its relay" in done.stderr
    stream.finish()
    stage.wait_released()


def test_a_slot_that_is_not_there_or_not_ours_is_refused(stage):
    done = _skip(stage, "--to", _end_text(stage), "--force", **{"postgres.slot": "nothing"})
    assert done.returncode == 1 and "there is no slot nothing" in done.stderr
    other = stage.slot + "_t"
    stage.sql("SELECT pg_create_logical_replication_slot(%s, 'test_decoding')", (other,))
    stage.also_drops(other)
    done = _skip(stage, "--to", _end_text(stage), "--force", **{"postgres.slot": other})
    assert done.returncode == 1 and "not walpost's" in done.stderr


def test_without_the_publication_it_goes_on_without_a_list_by_force_only(stage):
    stage.insert()
    stage.sql(f"DROP PUBLICATION {stage.publication}")
    end, before = _end_text(stage), _confirmed_text(stage)
    done = _skip(stage, "--to", end)
    assert done.returncode == 1 and "cannot list the events" in done.stderr and stage.publication in done.stderr
    assert "to discard everything before --to, use --force" in done.stderr
    assert _confirmed_text(stage) == before
    done = _skip(stage, "--to", end, "--force")
    assert done.returncode == 0 and "cannot list the events" in done.stderr
    assert _records(stage) == [(stage.slot, before, end, None, "postgres")]
    assert _confirmed_text(stage) == end


def test_a_log_that_cannot_be_decoded_is_skipped_by_force_only(stage):
    """A publication younger than the events: the server fails there, or (18) warns and leaves them out."""
    stage.sql(f"DROP PUBLICATION {stage.publication}")
    stage.insert()
    stage.publish(stage.table)
    end = _end_text(stage)
    done = _skip(stage, "--to", end)
    assert done.returncode == 1 and "cannot list the events" in done.stderr and "publication" in done.stderr
    assert _skip(stage, "--to", end, "--force").returncode == 0
    assert _confirmed_text(stage) == end


def test_without_its_table_the_record_is_the_output(stage):
    id = stage.insert()
    stage.sql("DROP TABLE walpost.skip")
    done = _skip(stage, "--to", _end_text(stage), "--force")
    assert done.returncode == 0 and "not recorded in walpost.skip" in done.stderr
    assert id in done.stdout and "recorded" not in done.stdout


def test_the_slot_checkpoint_is_told_of_the_move(stage):
    stage.create_topic()
    relay = stage.relay()
    stage.wait_claimed(relay)
    relay.stop()
    stage.insert()
    end = _end_text(stage)
    assert _skip(stage, "--to", end, "--force").returncode == 0
    rows = stage.sql(
        "SELECT taken_at_lsn::text, confirmed_lsn::text, confirmed_at IS NULL FROM walpost.slot_checkpoint")
    assert rows == [(end, end, False)]


def test_init_makes_the_table_where_it_is_missing(stage):
    stage.sql("DROP TABLE walpost.skip")
    done = run_command("init", "-c", _config_file(stage))
    assert done.returncode == 0, done.stderr
    assert stage.sql("SELECT count(*) FROM walpost.skip") == [(0,)]


def test_a_publication_of_all_tables_does_not_stop_the_relay_at_the_record(stage):
    stage.sql(f"DROP PUBLICATION {stage.publication}")
    stage.sql(f"CREATE PUBLICATION {stage.publication} FOR ALL TABLES WITH (publish = 'insert')")
    stage.postgres.query("SELECT pg_replication_slot_advance(%s, pg_current_wal_lsn())", (stage.slot,), stage.database)
    stage.create_topic()
    stage.insert()
    assert _skip(stage, "--to", _end_text(stage), "--force").returncode == 0
    relay = stage.relay()
    id = stage.insert()
    stage.wait_all_confirmed(relay=relay)
    assert [message.id for message in stage.read()] == [id]
    relay.stop()


@pytest.mark.on(18)
def test_positions_from_before_a_promotion_are_those_that_a_relay_sends(make_stage, own_postgres):
    stage = make_stage(postgres=own_postgres)
    stage.create_topic(partitions=1)
    stage.insert("before")
    own_postgres.stop()
    (own_postgres.data / "standby.signal").touch()
    own_postgres.hand_over(own_postgres.data / "standby.signal")
    own_postgres.start()
    assert own_postgres.query("SELECT pg_promote(true, 60)") == [(True,)], own_postgres.log_tail()
    stage.insert("after")
    events, _ = _lines(_skip(stage, "--to", _end_text(stage), "--json"))
    relay = stage.relay()
    stage.wait_all_confirmed(30, relay)
    assert [event["position"] for event in events] == [message.position for message in stage.read()]
