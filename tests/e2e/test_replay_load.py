"""A replay beside live traffic: the live events keep their order, and hardly notice."""

import json
import threading

import pytest

from e2e.test_replay import _command, _header, _id
from lib.relay import run_command
from lib.sql_scripts import run_script

# One backend, a transaction for each event, at its time; the payload says when.
LIVE = """DO $$ DECLARE began timestamptz := clock_timestamp(); i int := 0; BEGIN
    WHILE clock_timestamp() < began + {seconds} * interval '1 second' LOOP
        INSERT INTO {table} (id, aggregatetype, aggregateid, type, payload) VALUES (gen_random_uuid(), 'order',
            'live ' || i % 50, 'live',
            jsonb_build_object('n', {first} + i, 'at', round(extract(epoch FROM clock_timestamp()) * 1000)));
        COMMIT;
        i := i + 1;
        PERFORM pg_sleep(greatest(0, extract(epoch FROM began + i * interval '1 second' / {rate} - clock_timestamp())));
    END LOOP; END $$"""


def _write(stage, seconds, rate, first):
    with stage.connect() as connection:
        connection.autocommit = True
        connection.execute(LIVE.format(table=stage.table, seconds=seconds, rate=rate, first=first))


def _quantile(values, share):
    return sorted(values)[min(len(values) - 1, int(len(values) * share))]


@pytest.mark.on(18)
def test_live_events_keep_their_order_beside_a_replay_and_their_waits_are_recorded(stage, scaled, record_property):
    rows, rate, seconds = scaled(5_000, 100_000), scaled(300, 2_000), scaled(3, 20)
    stage.create_topic(partitions=4, **{"message.timestamp.type": "LogAppendTime"})
    run_script(stage, "reissue.sql", options=["-v", "ON_ERROR_STOP=1"])
    relay = stage.relay()
    stage.insert_many(rows, "old {0}", size=100)
    stage.wait_all_confirmed(120, relay)
    _write(stage, seconds, rate, 0)
    stage.wait_all_confirmed(60, relay)
    alone = [m for m in stage.read() if _header(m, "type") == b"live"]

    done = []
    replay = threading.Thread(target=lambda: done.append(run_command(*_command(
        stage, "--where", "o.aggregateid LIKE 'old %'", "--json"), deadline=500)))
    replay.start()
    count = 0
    while replay.is_alive() or count == 0:
        count += 1
        _write(stage, seconds, rate, count * 10_000_000)
    replay.join()
    assert done[0].returncode == 0, done[0].stderr
    assert json.loads(done[0].stdout)["sent"] == rows
    stage.wait_all_confirmed(120, relay)

    messages = stage.read()
    live = [m for m in messages if _header(m, "type") == b"live"]
    beside = [m for m in live if json.loads(m.value)["n"] >= 10_000_000]
    again = [_id(m) for m in messages if _header(m, "walpost-reissued") is not None]
    assert len(again) == len(set(again)) == rows
    assert not any(_header(m, "walpost-reissued") for m in live)
    last = {}
    for message in live:
        number = json.loads(message.value)["n"]
        assert last.get(message.key, -1) < number, f"{message.key}: {number} after {last[message.key]}"
        last[message.key] = number
    waits = [[m.timestamp_ms - json.loads(m.value)["at"] for m in some] for some in (alone, beside)]
    figures = [(len(some), _quantile(some, 0.5), _quantile(some, 0.99)) for some in waits]
    record_property("live events, median, p99 in ms: alone; beside the replay", str(figures))
    ((seconds,),) = stage.sql("SELECT extract(epoch FROM updated_at - created_at)::float FROM walpost.replay")
    record_property("rows a second", rows / seconds)
