"""What a running relay tells over HTTP, and to the service manager."""

import http.client
import json
import re
import signal
import socket
import subprocess

import pytest
from prometheus_client.parser import text_string_to_metric_families

from lib.asked import get, http_port
from lib.ports import take_port
from lib.relay import clean_environment, run_command
from lib.service_manager import ServiceManager
from lib.waiting import limit_factor, wait_until

LISTEN = {"http.listen": "127.0.0.1:0"}


def _samples(relay):
    """{name: {labels: value}}, as Prometheus' own parser reads it."""
    code, text, headers = get(relay, "/metrics")
    assert code == 200 and headers["Content-Type"].startswith("text/plain; version=0.0.4")
    samples = {}
    for family in text_string_to_metric_families(text):
        assert family.documentation and family.type != "unknown", family.name
        for sample in family.samples:
            labels = tuple(sorted(sample.labels.items()))
            assert labels not in samples.setdefault(sample.name, {}), sample
            samples[sample.name][labels] = sample.value
    return samples


def _value(relay, name, **labels):
    return _samples(relay).get(name, {}).get(tuple(sorted(labels.items())))


def _status(relay):
    code, text, _ = get(relay, "/status")
    assert code == 200
    return json.loads(text)


# --- metrics


def test_metrics_tell_what_was_delivered_by_topic(stage):
    stage.create_topic("order")
    stage.create_topic("customer")
    relay = stage.relay(LISTEN)
    stage.insert_many(30, "a{0}")
    stage.insert("b", topic="customer")
    stage.sql(f"UPDATE {stage.table} SET type = 'x'")
    stage.wait_all_confirmed(relay=relay)
    wait_until(lambda: _samples(relay).get("walpost_slot_wal_status"), 10, "the slot was asked for")
    samples = _samples(relay)
    assert samples["walpost_events_total"][()] == 31
    assert samples["walpost_transactions_total"][()] == 2
    for topic, count in (("order", 30), ("customer", 1)):
        labels = (("topic", stage.topic(topic)),)
        assert samples["walpost_delivery_seconds_count"][labels] == count
        assert 0 < samples["walpost_delivery_seconds_sum"][labels] < 60 * count
    assert samples["walpost_state"][(("state", "streaming"),)] == 1 == sum(samples["walpost_state"].values())
    assert samples["walpost_ready"][()] == 1
    assert samples["walpost_in_flight_events"][()] == 0
    assert samples["walpost_oldest_unconfirmed_seconds"][()] == 0
    assert samples["walpost_slot_wal_status"][(("status", "reserved"),)] == 1
    assert samples["process_resident_memory_bytes"][()] > 1e6
    assert samples["process_cpu_seconds_total"][()] > 0
    wait_until(lambda: _value(relay, "walpost_lag_bytes") == 0, 10, "nothing is behind")
    wait_until(lambda: _samples(relay).get("walpost_kafka_broker_up"), 15, "librdkafka has told of itself")
    samples = _samples(relay)
    assert set(samples["walpost_kafka_broker_up"].values()) == {1}
    assert samples["walpost_kafka_requests_total"][()] > 0


def test_every_metric_is_in_the_reference(stage):
    relay = stage.relay(LISTEN)
    reference = run_command("metrics", "reference")
    assert reference.returncode == 0
    rows = re.findall(r"^\| `([a-z_]+)` \| ([a-z, ]*) \| (\w+) \| (.+) \|$", reference.stdout, re.MULTILINE)
    families = re.findall(r"^# TYPE (\S+) (\S+)$", get(relay, "/metrics")[1], re.MULTILINE)
    assert [(name, kind) for name, _, kind, _ in rows] == families


def test_how_old_the_oldest_commit_is_grows_while_kafka_is_away(make_stage, mortal_kafka):
    stage = make_stage(kafka=mortal_kafka)
    stage.create_topic()
    relay = stage.relay(LISTEN)
    stage.insert("a")
    stage.wait_all_confirmed(relay=relay)
    mortal_kafka.pause()
    try:
        stage.insert("b")
        wait_until(lambda: (_value(relay, "walpost_oldest_unconfirmed_seconds") or 0) > 2, 20, "it grows old")
        assert _value(relay, "walpost_in_flight_events") == 1
        relay.wait_log("sink_unreachable", 60)
        stage.insert("c")
        wait_until(lambda: _value(relay, "walpost_in_flight_events") == 2, 10, "it reads on up to its limits")
        wait_until(lambda: ' id="state">Kafka unreachable<' in get(relay, "/")[1], 60, "the page says so")
        assert "What to do:" in get(relay, "/")[1] and 'class="badge bad"' in get(relay, "/")[1]
    finally:
        mortal_kafka.resume()
    stage.wait_all_confirmed(relay=relay)
    assert _value(relay, "walpost_oldest_unconfirmed_seconds") == 0
    wait_until(lambda: ' id="state">Streaming<' in get(relay, "/")[1], 10, "all is well again")
    assert 'id="trouble"' not in get(relay, "/")[1]


# --- health


def test_a_relay_that_streams_is_live_and_ready(stage):
    relay = stage.relay(LISTEN)
    wait_until(lambda: get(relay, "/readyz")[0] == 200, 10, "it is ready")
    assert get(relay, "/livez")[:2] == (200, "ok\n")
    assert get(relay, "/readyz")[1].startswith("ready\n")
    assert _status(relay)["state"] == "streaming"


def test_without_a_server_it_lives_and_is_not_ready(stage):
    nobody = f"host=127.0.0.1 port={take_port()} dbname=x user=x"
    relay = stage.new_relay({**LISTEN, "postgres.conninfo": nobody}).start()
    code, text, _ = get(relay, "/readyz")
    assert code == 503 and text.startswith("not ready\n") and "not streamed yet" in text
    assert get(relay, "/livez")[0] == 200


def test_a_standby_is_ready_and_says_so(stage):
    relay = stage.relay()
    stage.wait_claimed(relay)
    standby = stage.new_relay(LISTEN).start()
    wait_until(lambda: get(standby, "/readyz")[0] == 200, 10, "the standby is ready")
    owner = relay.log("started")[0]["owner"]
    said = f"another process streams from slot {stage.slot}: {owner}\n"
    wait_until(lambda: get(standby, "/readyz")[1].endswith(said), 10, "it names who streams")
    assert _value(standby, "walpost_state", state="standby") == 1
    page = get(standby, "/")[1]
    assert f"relay {owner} streams from the slot" in page and "0/0" not in page
    standby.stop()
    (stopped,) = standby.log("stopped")
    assert not {"safe", "read", "lag_bytes"} & set(stopped)


def test_a_missing_topic_is_named(stage):
    relay = stage.relay(LISTEN)
    stage.insert("a")
    wait_until(lambda: f"topic {stage.topic()}" in get(relay, "/readyz")[1], 20, "the topic is named")
    assert get(relay, "/readyz")[0] == 503
    assert _value(relay, "walpost_topic_missing") == 1
    wait_until(lambda: _value(relay, "walpost_oldest_unconfirmed_seconds") > 0, 10, "its age is told")
    stage.create_topic()
    stage.wait_all_confirmed(relay=relay)
    assert get(relay, "/readyz")[0] == 200


def test_one_that_is_held_lives_and_says_why_it_is_not_ready(stage):
    stage.create_topic()
    relay = stage.relay({**LISTEN, "relay.on_halt": "hold"})
    stage.wait_claimed(relay)
    stage.sql(f"ALTER PUBLICATION {stage.publication} DROP TABLE {stage.table}")
    wait_until(lambda: _value(relay, "walpost_state", state="held") == 1, 20, "it is held")
    code, text, _ = get(relay, "/readyz")
    assert code == 503 and "events_would_be_lost" in text
    assert get(relay, "/livez")[0] == 200
    assert _value(relay, "walpost_errors_total", event="events_would_be_lost") == 1


def test_a_process_that_stands_still_does_not_look_alive(stage):
    relay = stage.relay({"http.listen": str(take_port())})
    asked = run_command("status", "--local", "-c", relay.config_file)
    assert (asked.returncode, asked.stdout) == (0, "ok\n"), asked.stderr
    relay.signal(signal.SIGSTOP)
    try:
        asked = run_command("status", "--local", "-c", relay.config_file)
        assert asked.returncode == 1 and "no relay answers" in asked.stderr
    finally:
        relay.signal(signal.SIGCONT)
    wait_until(lambda: run_command("status", "--local", "-c", relay.config_file).returncode == 0, 20, "it is back")
    relay.stop()
    asked = run_command("status", "--local", "-c", relay.config_file)
    assert asked.returncode == 1 and "Connection refused" in asked.stderr


def test_status_local_without_a_server_to_ask_says_what_to_set(stage):
    relay = stage.relay()
    asked = run_command("status", "--local", "-c", relay.config_file)
    assert asked.returncode == 2 and "http.listen" in asked.stderr


# --- the server


def test_only_get_and_head_of_known_paths(stage):
    relay = stage.relay(LISTEN)
    for method in ("POST", "PUT", "DELETE", "OPTIONS", "PATCH"):
        code, _, headers = get(relay, "/metrics", method)
        assert code == 405 and headers["Allow"] == "GET, HEAD"
    assert get(relay, "/metric")[0] == 404
    assert get(relay, "/../etc/passwd")[0] == 404
    code, text, headers = get(relay, "/metrics", "HEAD")
    assert code == 200 and text == "" and int(headers["Content-Length"]) > 1000
    assert get(relay, "/metrics?name[]=x")[0] == 200
    assert _value(relay, "walpost_http_requests_total", code="405") == 5
    assert _value(relay, "walpost_http_requests_total", code="404") == 2


@pytest.mark.parametrize("listen, reason", [
    ("localhost:9187", "is not an address to listen on"),
    ("http", "is not an address to listen on"),
    ("1.2.3.999:80", "it is not an address"),
    ("192.0.2.1:9187", "Cannot assign requested address"),
])
def test_an_address_that_will_not_do_is_refused_at_the_start(stage, listen, reason):
    relay = stage.new_relay({"http.listen": listen}).start()
    assert relay.wait_exit() == 2
    assert reason in relay.log_text() and listen.split(":")[0] in relay.log_text()


def test_a_port_that_is_taken_is_refused_at_the_start(stage):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        relay = stage.new_relay({"http.listen": str(port)}).start()
        assert relay.wait_exit() == 2
        (line,) = relay.log("start_failed")
        assert f"port {port}: Address already in use; another process is listening there" in line["reason"]
        assert "set http.listen to another port" in line["reason"]


def test_over_ipv6_too(stage):
    relay = stage.relay({"http.listen": "[::1]:0"})
    connection = http.client.HTTPConnection("::1", http_port(relay), timeout=10 * limit_factor())
    connection.request("GET", "/livez")
    assert connection.getresponse().read() == b"ok\n"
    connection.close()


GARBAGE = [
    b"\x00\xff\xfe" * 1000,
    b"GET / HTTP/1.1\r\n" + b"X: y\r\n" * 100000,
    b"GET /" + b"a" * 1000000 + b" HTTP/1.1\r\n\r\n",
    b"POST /metrics HTTP/1.1\r\nContent-Length: 99999999999\r\n\r\n" + b"x" * 100000,
    b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"\x00" * 600,
]


def _send_garbage(port, text):
    with socket.create_connection(("127.0.0.1", port), timeout=5 * limit_factor()) as connection:
        try:
            connection.sendall(text)
            connection.recv(65536)
        except OSError:
            pass  # it was shown out


def test_bad_clients_change_nothing_for_the_relay(stage):
    """A thousand connections that say nothing, or half a request, and garbage."""
    stage.create_topic()
    relay = stage.relay(LISTEN)
    stage.insert("a")
    stage.wait_all_confirmed(relay=relay)
    port, before = http_port(relay), relay.rss_kb()
    idle = []
    try:
        for number in range(1000):
            connection = socket.socket()
            connection.setblocking(False)
            connection.connect_ex(("127.0.0.1", port))
            idle.append(connection)
        for connection in idle[::3]:
            try:
                connection.send(b"GET /metrics HTTP/1.1\r\nHost: x\r\nX-Slow: ")
            except OSError:
                pass
        for text in GARBAGE:
            _send_garbage(port, text)
        for number in range(20):
            stage.insert(f"k{number}")
        stage.wait_all_confirmed(relay=relay)
        # One address has a share of the connections only: another is answered all the while.
        assert get(relay, "/livez", source="127.0.0.2")[0] == 200
        assert relay.rss_kb() - before < 20 * 1024
        assert len(list(stage.read())) == 21
    finally:
        for connection in idle:
            connection.close()

    def answers():
        try:
            return get(relay, "/livez", timeout=5)[0] == 200
        except (OSError, http.client.HTTPException):  # it has not yet seen all of them go
            return False

    wait_until(answers, 30, "the first address is answered again")
    assert not [line for line in relay.log() if line["level"] == "error"]


def _trickle(connections):
    """A byte of a request that does not end, on each that is still open; how many are."""
    open_ones = 0
    for connection in connections:
        try:
            connection.send(b"x")
            open_ones += 1
        except OSError:
            pass
    return open_ones


def test_clients_that_trickle_shut_out_nobody_else_and_themselves_not_for_good(stage):
    """All connections there are, from four addresses, each a byte a second."""
    relay = stage.relay(LISTEN)
    port = http_port(relay)
    connections = []
    try:
        for address in ("127.0.0.1", "127.0.0.2", "127.0.0.3", "127.0.0.4"):
            for _ in range(64):
                connections.append(socket.create_connection(("127.0.0.1", port), source_address=(address, 0)))
                connections[-1].send(b"GET /livez HTTP/1.1\r\nHost: x\r\nX-Slow: ")
            _trickle(connections)

        def answers():
            assert get(relay, "/livez", source="127.0.0.5")[0] == 200, "an address that has none is answered"
            _trickle(connections)
            try:
                return get(relay, "/livez", timeout=1)[0] == 200
            except (OSError, http.client.HTTPException):
                return False

        wait_until(answers, 20, "an address that trickles is answered again")
        wait_until(lambda: _trickle(connections) == 0, 20, "a request has a total time")
    finally:
        for connection in connections:
            connection.close()


def test_without_http_nothing_listens(stage):
    relay = stage.relay()
    assert not relay.log("http_listens")
    sockets = subprocess.run(["ls", "-l", f"/proc/{relay.pid}/fd"], capture_output=True, text=True).stdout
    inodes = set(re.findall(r"socket:\[(\d+)\]", sockets))
    for line in open(f"/proc/{relay.pid}/net/tcp").readlines()[1:]:
        fields = line.split()
        assert not (fields[3] == "0A" and fields[9] in inodes), "it listens"


# --- the page


def _dom(url):
    """What a browser has made of it."""
    done = subprocess.run(
        ["chromium", "--headless=new", "--no-sandbox", "--disable-gpu", "--virtual-time-budget=5000", "--dump-dom",
         url], capture_output=True, text=True, timeout=120 * limit_factor(), env=clean_environment())
    assert "</html>" in done.stdout, done.stderr[-2000:]
    return done.stdout


def test_the_page_tells_what_matters_and_no_secrets(stage):
    stage.create_topic()
    relay = stage.relay({**LISTEN, "kafka.sasl.password": "geheim-kafka", "outbox.headers.source": "<b>here</b>"})
    stage.insert_many(50, "geheimer-key-{0}")
    stage.wait_all_confirmed(relay=relay)
    wait_until(lambda: "reserved" in get(relay, "/")[1], 10, "the slot was asked for")
    code, text, headers = get(relay, "/")
    assert code == 200 and headers["Content-Type"] == "text/html; charset=utf-8"
    assert "default-src 'none'" in headers["Content-Security-Policy"]
    for wanted in ("streaming", "ready", stage.slot, stage.publication, "50 confirmed since the start",
                   stage.topic(), "reserved", "&lt;b&gt;here&lt;/b&gt;"):
        assert wanted in text, wanted
    for secret in ("geheim-kafka", "geheimer-key"):
        assert secret not in text and secret not in get(relay, "/status")[1] + get(relay, "/metrics")[1]


def test_a_browser_shows_the_page_and_brings_it_up_to_date(stage):
    stage.create_topic()
    relay = stage.relay(LISTEN)
    stage.insert("a")
    stage.wait_all_confirmed(relay=relay)
    wait_until(lambda: "<polyline" in get(relay, "/")[1], 10, "there are two samples, for a chart")
    assert 'id="fresh">reload for new figures<' in get(relay, "/")[1]  # what who runs no script sees
    dom = _dom(f"http://127.0.0.1:{http_port(relay)}/")
    assert '<b id="events">' in dom and "<polyline" in dom and 'id="state">Streaming<' in dom
    assert 'id="fresh">refreshed every 2 s<' in dom


# --- the service manager


def test_a_service_manager_is_told(stage):
    stage.create_topic()
    with ServiceManager(stage.folder / "notify") as manager:
        relay = stage.relay(environment={**manager.environment, "WATCHDOG_USEC": "400000"})
        manager.hear_until("READY=1")
        manager.hear_until("STATUS=streaming")
        manager.hear_until("WATCHDOG=1")
        relay.signal(signal.SIGTERM)
        manager.hear_until("STOPPING=1")
        assert relay.wait_exit() == 0
