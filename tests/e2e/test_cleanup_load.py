"""Cleanup beside live inserts: how many rows a second, and how long an insert takes with and without; both are told."""

import threading
import time

import pytest

from e2e.test_cleanup import CLEANED, SETTINGS, WAIT, wait_floor
from lib import places

# One backend, a transaction for each event, at its time; it notes how long each took.
LIVE = """DO $$ DECLARE began timestamptz := clock_timestamp(); t timestamptz; i int := 0; took float[] := '{{}}'; BEGIN
    WHILE clock_timestamp() < began + {seconds} * interval '1 second' LOOP
        t := clock_timestamp();
        INSERT INTO outbox (aggregateid, payload) VALUES ('live ' || i % 50, to_jsonb(i));
        COMMIT;
        took := took || 1000 * extract(epoch FROM clock_timestamp() - t)::float;
        i := i + 1;
        PERFORM pg_sleep(greatest(0, extract(epoch FROM began + i * interval '1 second' / {rate} - clock_timestamp())));
    END LOOP;
    INSERT INTO waits SELECT '{label}', unnest(took); END $$"""


def _write(stage, seconds, rate, label):
    with stage.connect() as connection:
        connection.execute(LIVE.format(seconds=seconds, rate=rate, label=label))


@pytest.mark.on(18)
def test_inserts_go_on_beside_cleanup_and_their_waits_are_recorded(make_stage, scaled, record_property):
    stage = make_stage(set_up=False)
    rows, rate, seconds = scaled(20_000, 1_000_000), scaled(300, 2_000), scaled(2, 20)
    for script in ("slot_checkpoint.sql", "cleanup.sql"):
        stage.sql((places.TREE / "sql" / script).read_text())
    stage.sql(f"CREATE TABLE outbox ({CLEANED}); CREATE INDEX ON outbox (created_at); "
              "CREATE TABLE waits (label text, ms float)")
    stage.publish("outbox")
    stage.create_topic()
    stage.create_slot(with_truth=False)
    relay = stage.relay({**SETTINGS, "cleanup.keep": "1h", "cleanup.batch": "2000", "cleanup.pause": "100ms"})
    wait_floor(stage, relay)
    _write(stage, seconds, rate, "alone")
    stage.sql("INSERT INTO outbox (aggregateid, payload, created_at) SELECT n %% 1000, to_jsonb(n), "
              "now() - interval '2 h' + n * interval '1 ms' FROM generate_series(1, %s) n", (rows,))
    old = "SELECT count(*) FROM outbox WHERE created_at < now() - interval '1 h'"
    stage.wait_all_confirmed(300, relay)
    before, began = stage.sql(old)[0][0], time.monotonic()
    done = threading.Event()

    def live():
        while not done.is_set():
            _write(stage, seconds, rate, "beside")

    writer = threading.Thread(target=live)
    writer.start()
    try:
        relay.wait_until(lambda: stage.sql(old + " LIMIT 1")[0][0] == 0, WAIT + rows / 500, "all old rows are removed")
        took = time.monotonic() - began
    finally:
        done.set()
        writer.join()
    figures = stage.sql("SELECT label, count(*), percentile_disc(ARRAY[0.5, 0.99, 1.0]) WITHIN GROUP (ORDER BY ms) "
                        "FROM waits GROUP BY 1 ORDER BY 1")
    record_property("inserts: how many, ms at median, p99, most", str(figures))
    record_property("rows removed a second", before / took)
    print(figures, before / took)
    assert {label for label, *_ in figures} == {"alone", "beside"}
