"""walpost dead-letters: what the dead-letter topic holds, and sending it again."""

import concurrent.futures
import contextlib
import itertools
import json
import random
import signal
import time
import uuid

import confluent_kafka
import pytest

from lib import places
from lib.relay import config_text, run_command
from lib.waiting import let_grow_old

DEAD = "dead"
OK, FAILED, WRONG = 0, 1, 2


def noise(size):
    """Text that no compression makes much smaller."""
    return '"' + random.Random(size).randbytes(size // 2 + 1).hex()[:size] + '"'


def diverting(stage, **more):
    return {"relay.poison": "dead-letter", "relay.dead_letter.topic": stage.topic(DEAD), **more}


_NUMBERS = itertools.count()


def command(stage, *words, changes=None, more="", **options):
    path = stage.folder / f"dead-letters-{next(_NUMBERS)}.conf"  # of its own: some run at once
    path.write_text(config_text(stage.config(diverting(stage, **(changes or {})))) + more)
    return run_command("dead-letters", words[0], "-c", path, *words[1:], **options)


def listed(stage, *words, **options):
    done = command(stage, "list", "--json", *words, **options)
    assert done.returncode == OK, done.stderr
    return json.loads(done.stdout)


def ids(result):
    return [letter["id"] for letter in result["letters"]]


@pytest.fixture
def three(stage):
    """A topic with three dead letters of three reasons, in two partitions."""
    stage.create_topic(partitions=3, max_message_bytes=10_000_000)
    stage.create_topic(DEAD, partitions=2)
    relay = stage.relay(diverting(stage))
    stage.insert("k")
    stage.no_topic = stage.insert("a", topic="two words")
    stage.no_key = stage.insert(None)
    stage.huge = stage.insert("b", noise(2_000_000))
    stage.wait_all_confirmed(30, relay)
    relay.stop()
    return stage


# --- list


@pytest.mark.on("all")
def test_list_names_each_letter_in_the_order_of_commits(three):
    stage = three
    result = listed(stage)
    assert (result["topic"], result["records"], result["other_records"]) == (stage.topic(DEAD), 3, 0)
    assert ids(result) == [stage.no_topic, stage.no_key, stage.huge] and result["sent_again_known"]
    letters = {message.id: message for message in stage.read(DEAD)}
    for letter in result["letters"]:
        message = letters[letter["id"]]
        headers = dict(message.headers)
        assert (letter["partition"], letter["offset"]) == (message.partition, message.offset)
        assert letter["table"] == "public.outbox" and letter["prefix"] is None and letter["sent_again"] is None
        for name in ("reason", "position"):
            assert letter[name] == headers[f"walpost-dead-letter-{name}"].decode()
        assert letter["size"] == int(headers["walpost-dead-letter-size"])
    assert [letter["topic"] for letter in result["letters"]] == [None, stage.topic(), stage.topic()]
    assert [letter["omitted"] is None for letter in result["letters"]] == [True, True, False]
    text = command(stage, "list").stdout
    for id in ids(result):
        assert f"id {id}" in text
    assert f"{stage.topic(DEAD)}: 3 of 3 records\n" in text and "topic none" in text


def test_list_shows_what_is_asked_for(three):
    stage = three
    assert ids(listed(stage, "--reason", "outbox.key.null")) == [stage.no_key]
    assert ids(listed(stage, "--id", stage.huge)) == [stage.huge]
    assert ids(listed(stage, "--table", "Outbox")) == [stage.no_topic, stage.no_key, stage.huge]
    assert ids(listed(stage, "--table", "public.other")) == []
    limited = listed(stage, "--limit", "2")
    assert ids(limited) == [stage.no_topic, stage.no_key] and limited["matched"] == 3
    assert "of which the first 2 are shown" in command(stage, "list", "--limit", "2").stdout
    none = command(stage, "list", "--reason", "no such")
    assert none.returncode == OK and f"{stage.topic(DEAD)}: 0 of 3 records\n" == none.stdout


@pytest.mark.parametrize("kept", ["CreateTime", "LogAppendTime"])
def test_list_knows_when_a_letter_was_sent(stage, kept):
    stage.create_topic(partitions=1)
    stage.create_topic(DEAD, partitions=2, message_timestamp_type=kept)
    relay = stage.relay(diverting(stage))
    first = stage.insert(None)
    stage.wait_all_confirmed(30, relay)
    let_grow_old(1.5)
    between = time.time()
    let_grow_old(1.5)
    second = stage.insert(None)
    stage.wait_all_confirmed(30, relay)
    text = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(between))
    assert ids(listed(stage, "--since", text)) == [second]
    assert ids(listed(stage, "--until", text)) == [first]
    later = time.strftime("%Y-%m-%d %H:%M:%S+01:00", time.gmtime(between + 3600))
    assert ids(listed(stage, "--since", later)) == [second]
    assert ids(listed(stage, "--since", "1h")) == [first, second]
    assert ids(listed(stage, "--until", "1h")) == []
    assert [letter["time"][:10] for letter in listed(stage)["letters"]] == [text[:10]] * 2


def test_other_records_of_the_topic_are_counted(stage):
    stage.create_topic(DEAD)
    producer = confluent_kafka.Producer({"bootstrap.servers": stage.kafka.address})
    producer.produce(stage.topic(DEAD), b"v", headers=[("walpost-dead-letter-reason", b"why")])
    assert producer.flush(20) == 0
    result = listed(stage)
    assert (result["records"], result["other_records"], result["letters"]) == (1, 1, [])
    assert "1 record is not walpost's dead letters" in command(stage, "list").stdout


def test_letters_of_an_aborted_transaction_are_not_there(three):
    stage = three
    letter, *_ = stage.read(DEAD)
    for ended in ("abort", "commit"):
        producer = confluent_kafka.Producer({
            "bootstrap.servers": stage.kafka.address, "transactional.id": f"{stage.name}.{ended}"})
        producer.init_transactions(30)
        producer.begin_transaction()
        producer.produce(stage.topic(DEAD), letter.value, letter.key, headers=list(letter.headers))
        producer.flush(20)
        getattr(producer, f"{ended}_transaction")(30)
    assert len(listed(stage)["letters"]) == 4


def test_the_list_needs_no_database(three):
    stage = three
    done = command(stage, "list", "--json", changes={"postgres.conninfo": "host=127.0.0.1 port=9 dbname=x"})
    assert done.returncode == OK and len(json.loads(done.stdout)["letters"]) == 3
    assert json.loads(done.stdout)["sent_again_known"] is False
    assert "cannot determine which of the dead letters were sent again" in done.stderr


def test_a_topic_that_is_not_there_is_named(stage):
    done = command(stage, "list")
    assert done.returncode == WRONG
    assert f"topic {stage.topic(DEAD)} (relay.dead_letter.topic) does not exist" in done.stderr
    assert f"--create --topic {stage.topic(DEAD)}" in done.stderr
    done = command(stage, "list", "--topic", stage.topic("other"))
    assert done.returncode == WRONG and f"topic {stage.topic('other')} (--topic)" in done.stderr


@pytest.mark.parametrize("words, changes, said", [
    ((), {"relay.poison": "stop", "relay.dead_letter.topic": None}, ("relay.dead_letter.topic is not set", "--topic")),
    ((), {"relay.sink": "stdout"}, ("relay.sink is not kafka",)),
    (("--topic", "two words"), {}, ("--topic two words",)),
    (("--limit", "0"), {}, ("--limit 0", "from 1 to 100000")),
    (("--since", "yesterday"), {}, ("--since yesterday", "2026-01-31T12:00:00Z")),
    (("--until", "2026-02-30T00:00:00Z"), {}, ("--until 2026-02-30", "a duration")),
])
def test_what_is_wrong_is_named(stage, words, changes, said):
    done = command(stage, "list", *words, changes=changes)
    assert done.returncode == WRONG
    for text in said:
        assert text in done.stderr


# --- retry: the row is there

LARGE = 300_000


def prepare(stage):
    stage.sql((places.TREE / "sql" / "reissue.sql").read_text())


def too_large(stage, changes=None, **more):
    """A relay whose topic takes no event of LARGE bytes yet."""
    prepare(stage)
    stage.create_topic(partitions=2, max_message_bytes=65536)
    stage.create_topic(DEAD, partitions=2, max_message_bytes=4_000_000)
    return stage.relay({**diverting(stage, **more), "kafka.compression.type": "none", **(changes or {})})


def raise_limit(stage):
    stage.kafka.set_topic_config(stage.topic(), max_message_bytes=4_000_000)
    let_grow_old(1.5)  # the relay asks for it again


def retried(stage, *words, **options):
    """Exit code and the result."""
    done = command(stage, "retry", "--json", *words, **options)
    assert done.stdout, done.stderr
    return done.returncode, json.loads(done.stdout)


def counts(result):
    return tuple(result[name] for name in ("sent", "passed_over", "refused"))


def reissued(messages):
    return [message for message in messages if "walpost-reissued" in dict(message.headers)]


def content(message):
    """What an event is, wherever and when it was sent."""
    headers = [(name, value) for name, value in message.headers if not name.startswith("walpost-")]
    return message.key, message.value, headers


@pytest.mark.on("all")
def test_retry_sends_an_event_again_once_and_says_whose_place_it_takes(stage):
    relay = too_large(stage)
    id = stage.insert("k", noise(LARGE))
    other = stage.insert("k")
    stage.wait_all_confirmed(30, relay)
    raise_limit(stage)
    code, result = retried(stage, "--reason", "65536")
    assert (code, counts(result)) == (OK, (1, 0, 0)) and result["confirmed"]
    (letter,) = result["letters"]
    assert (letter["id"], letter["result"], letter["from"]) == (id, "sent", "row")
    assert [message.id for message in stage.read()] == [other, id]
    (message,) = reissued(stage.read())
    assert message.header("walpost-reissued").decode() == f"dead letter; {letter['position']}"
    assert content(message) == content(stage.read(DEAD)[0])
    assert ids(listed(stage)) == [id] and listed(stage)["letters"][0]["sent_again"]["times"] == 1

    code, result = retried(stage, "--all")
    assert (code, counts(result)) == (OK, (0, 1, 0)) and result["lsn"] is None
    assert "it was sent again at" in result["letters"][0]["why"]
    code, result = retried(stage, "--all", "--again")
    assert (code, counts(result)) == (OK, (1, 0, 0))
    assert [message.id for message in stage.read()] == [other, id, id]
    ((slot, topic, position, times, by_role),) = stage.sql(
        "SELECT slot, topic, position, times, by_role FROM walpost.dead_letters_retried")
    assert (slot, topic, position, times) == (stage.slot, stage.topic(DEAD), letter["position"], 2)
    assert by_role == stage.sql("SELECT session_user")[0][0]
    text = command(stage, "list").stdout
    assert "sent again at" in text and "2 times in all" in text and "; 1 sent again" in text
    assert stage.sql("SELECT count(*) FROM walpost.reissue") == [(0,)]


def test_letters_of_all_partitions_go_back_in_the_order_of_commits(stage):
    relay = too_large(stage)
    sent = [stage.insert(f"k{n % 5}", noise(LARGE + n)) for n in range(12)]
    stage.wait_all_confirmed(60, relay)
    raise_limit(stage)
    assert {message.partition for message in stage.read(DEAD)} == {0, 1}
    dry = command(stage, "retry", "--all", "--dry-run")
    assert dry.returncode == OK and dry.stdout.count("would send") == 12 and ": its row in public.outbox" in dry.stdout
    assert stage.sql("SELECT count(*) FROM walpost.dead_letters_retried") == [(0,)] and stage.read() == []
    code, result = retried(stage, "--all", "--limit", "5")
    assert (code, counts(result), result["left"]) == (OK, (5, 0, 0), 7)
    code, result = retried(stage, "--all", "--limit", "5")
    assert (code, counts(result), result["left"]) == (OK, (5, 5, 0), 2)
    code, result = retried(stage, "--all")
    assert (code, counts(result), result["left"]) == (OK, (2, 10, 0), 0)
    assert [letter["id"] for letter in result["letters"]] == sent
    for key in {message.key for message in stage.read()}:
        got = [message.id for message in stage.read() if message.key == key]
        assert got == [id for n, id in enumerate(sent) if f"k{n % 5}".encode() == key]


def test_what_is_chosen_goes_back_and_no_more(stage):
    relay = too_large(stage)
    first, second = (stage.insert(key, noise(LARGE)) for key in "ab")
    stage.wait_all_confirmed(30, relay)
    raise_limit(stage)
    nothing = command(stage, "retry")
    assert nothing.returncode == WRONG and "use --all" in nothing.stderr
    assert counts(retried(stage, "--table", "public.other")[1]) == (0, 0, 0)
    assert counts(retried(stage, "--id", second)[1]) == (1, 0, 0)
    assert [message.id for message in stage.read()] == [second]
    assert counts(retried(stage, "--since", "1h")[1]) == (1, 1, 0)
    assert sorted(message.id for message in stage.read()) == sorted([first, second])


def test_two_at_once_send_each_event_once_and_in_order(stage):
    relay = too_large(stage)
    sent = [stage.insert(f"k{n % 2}", noise(LARGE + n)) for n in range(8)]
    stage.wait_all_confirmed(60, relay)
    raise_limit(stage)
    with concurrent.futures.ThreadPoolExecutor() as pool:
        results = [future.result() for future in [pool.submit(retried, stage, "--all") for _ in range(3)]]
    assert [code for code, _ in results] == [OK] * 3
    assert sum(result["sent"] for _, result in results) == 8
    assert sum(result["passed_over"] for _, result in results) == 16
    assert [message.id for message in stage.read() if message.key == b"k0"] == sent[::2]
    assert [message.id for message in stage.read() if message.key == b"k1"] == sent[1::2]


def test_a_letter_that_came_twice_goes_back_once(stage):
    relay = too_large(stage)
    id = stage.insert("k", noise(LARGE))
    stage.wait_all_confirmed(30, relay)
    (letter,) = stage.read(DEAD)
    producer = confluent_kafka.Producer({"bootstrap.servers": stage.kafka.address})
    producer.produce(stage.topic(DEAD), letter.value, letter.key, partition=1 - letter.partition,
                     headers=list(letter.headers))
    assert producer.flush(20) == 0
    raise_limit(stage)
    code, result = retried(stage, "--all")
    assert (code, counts(result)) == (OK, (1, 1, 0))
    assert {letter["why"] for letter in result["letters"]} == {None, "the same event as the one before"}
    assert [message.id for message in stage.read()] == [id]


@pytest.mark.on("all")
def test_a_row_of_a_partition_goes_back_from_the_root(make_stage):
    stage = make_stage(set_up=False)
    stage.sql("""
        CREATE TABLE outbox (id int, aggregatetype text, aggregateid text, type text, payload text)
            PARTITION BY LIST (aggregatetype);
        CREATE TABLE outbox_orders PARTITION OF outbox FOR VALUES IN ('order')""")
    stage.publish("outbox", options="publish = 'insert', publish_via_partition_root = false")
    stage.create_slot(with_truth=False)
    relay = too_large(stage)
    stage.sql("INSERT INTO outbox VALUES (1, 'order', 'k', 't', %s)", (noise(LARGE),))
    stage.wait_all_confirmed(30, relay)
    raise_limit(stage)
    code, result = retried(stage, "--all")
    assert (code, counts(result)) == (OK, (1, 0, 0)), result
    assert [message.id for message in reissued(stage.read())] == ["1"]


# --- retry: the row is gone


REBUILT = {
    "debezium": ("", {}),
    "imported": ("", {"outbox.types": "debezium", "outbox.headers.format": "string"}),
    "text": ("payload text", {}),
    "bytea": ("payload bytea", {}),
    "headers": ("tenant text, n int, note text", {"outbox.headers": "tenant,n:number,note"}),
    "json-headers": ("meta jsonb", {"outbox.headers.json": "meta"}),
    "timestamp": ("at timestamptz(3)", {"outbox.column.timestamp": "at"}),
    "milliseconds": ("at bigint", {"outbox.column.timestamp": "at"}),
    "other-names": ("", {"outbox.topic.regex": "(ord.*)", "outbox.headers.standard": "id,walpost-position"}),
}
COLUMNS = "id uuid PRIMARY KEY, aggregatetype text NOT NULL, aggregateid text, type text, extra text, "
VALUES = {"tenant": "acme", "n": "7", "note": None, "meta": '{"trace": "t", "n": 1.50, "none": null}',
          "at": "2026-01-31 12:00:00.5+00"}


@pytest.mark.on("all")
@pytest.mark.parametrize("shape", REBUILT)
def test_a_row_that_is_gone_is_made_from_its_letter(make_stage, shape):
    more, changes = REBUILT[shape]
    payload = "" if "payload" in more else "payload jsonb, "
    stage = make_stage(columns=COLUMNS + payload + (more or "last text"))
    if shape == "other-names":
        changes = {**changes, "outbox.topic.replacement": f"{stage.name}.$1"}
    relay = too_large(stage, changes)
    names = [name for name in VALUES if f"{name} " in f" {more} " and more]
    values = ["1769860800500" if shape == "milliseconds" and name == "at" else VALUES[name] for name in names]
    text = "\\x00ff" + "ab" * LARGE if shape == "bytea" else noise(LARGE)
    id = str(uuid.uuid4())
    stage.sql(
        f"INSERT INTO outbox (id, aggregatetype, aggregateid, type, payload{''.join(', ' + n for n in names)}) "
        f"VALUES (%s, 'order', 'k', 'made', %s{', %s' * len(names)})", (id, text, *values))
    stage.sql("DELETE FROM outbox")
    stage.wait_all_confirmed(30, relay)
    raise_limit(stage)
    code, result = retried(stage, "--all", changes=changes)
    assert (code, counts(result)) == (OK, (1, 0, 0)), result
    assert result["letters"][0]["from"] == "letter"
    (message,), (letter,) = stage.read(), stage.read(DEAD)
    assert content(message) == content(letter)
    assert message.header("walpost-reissued").decode() == f"dead letter; {result['letters'][0]['position']}"
    if "at" in names:
        assert message.timestamp_ms == int(letter.header("walpost-dead-letter-timestamp")) == 1769860800500


@pytest.mark.parametrize("changes, more, said", [
    ({"outbox.envelope": "cloudevents-json", "outbox.cloudevents.source": "/o"}, "",
     "outbox.envelope = cloudevents-json"),
    ({"outbox.value.format": "json"}, "", "outbox.value.format = json"),
    ({"outbox.key.format": "json"}, "", "outbox.key.format = json"),
    ({"outbox.column.payload": "payload::json"}, "", "outbox.column.payload = payload::json"),
    ({"outbox.column.key": "part->>k"}, "part jsonb DEFAULT '{\"k\": \"k\"}'", "outbox.column.key = part->>k"),
    ({"outbox.headers": "part->>k:k"}, "part jsonb DEFAULT '{\"k\": \"k\"}'", "outbox.headers = part->>k:k"),
    ({"outbox.column.partition": "part"}, "part int DEFAULT 1", "outbox.column.partition = part"),
    ({"outbox.headers.properties": "part"}, "part text DEFAULT 'a=1'", "outbox.headers.properties = part"),
    ({"outbox.types": "debezium", "outbox.headers": "at"}, "at timestamptz DEFAULT now()",
     'column "at" is not written'),
    ({"outbox.topic.regex": "(.)(.*)", "outbox.topic.replacement": "{name}.${{1}}x${{2}}"}, "",
     'column "aggregatetype" (outbox.route.by) cannot be derived'),
])
def test_a_row_that_is_gone_and_not_whole_in_its_letter_is_refused(make_stage, changes, more, said):
    stage = make_stage(columns=COLUMNS + "payload jsonb, " + (more or "last text"))
    changes = {name: value.format(name=stage.name) if "{name}" in value else value for name, value in changes.items()}
    relay = too_large(stage, changes)
    if "outbox.topic.regex" in changes:
        stage.create_topic("oxrder", max_message_bytes=65536)
    id = stage.insert("k", noise(LARGE))
    stage.sql("DELETE FROM outbox")
    stage.wait_all_confirmed(30, relay)
    kept = stage.insert("k", noise(LARGE))
    stage.wait_all_confirmed(30, relay)
    code, result = retried(stage, "--all", "--dry-run", changes=changes)
    assert (code, counts(result)) == (FAILED, (1, 0, 1)), result
    refused, sent = result["letters"]
    assert refused["id"] == id and said in refused["why"]
    assert "its row is gone from public.outbox" in refused["why"]
    assert (sent["id"], sent["from"]) == (kept, "row")
    done = command(stage, "retry", "--id", id, changes=changes)
    assert done.returncode == FAILED and "0 sent again, 0 passed over, 1 refused" in done.stdout
    assert stage.sql("SELECT count(*) FROM walpost.dead_letters_retried") == [(0,)]


def test_a_letter_without_its_value_is_refused_once_the_row_is_gone(three):
    stage = three
    prepare(stage)
    stage.sql("DELETE FROM outbox WHERE id = %s", (stage.huge,))
    code, result = retried(stage, "--id", stage.huge, "--dry-run")
    assert (code, counts(result)) == (FAILED, (0, 0, 1))
    assert "omitted is the value of" in result["letters"][0]["why"]


@pytest.mark.parametrize("is_there", [True, False])
def test_what_was_no_event_goes_back_when_the_configuration_lets_it(three, is_there):
    stage = three
    prepare(stage)
    if not is_there:
        stage.sql("DELETE FROM outbox")
    changes = {"outbox.key.null": "allow", "outbox.topic.regex": "(two) (words)|(.*)",
               "outbox.topic.replacement": f"{stage.name}.$1$2$3"}
    stage.create_topic("twowords")
    relay = stage.relay(diverting(stage, **changes))
    for id in (stage.no_topic, stage.no_key):
        code, result = retried(stage, "--id", id, changes=changes)
        if is_there or id == stage.no_topic:
            assert (code, counts(result)) == (OK, (1, 0, 0)), result
            assert result["letters"][0]["from"] == ("row" if is_there else "letter")
        else:  # the expression has three groups: which of them it was, the topic does not say
            assert (code, counts(result)) == (FAILED, (0, 0, 1)) and "cannot be derived" in result["letters"][0]["why"]
    (message,) = stage.read("twowords")
    assert (message.id, message.key) == (stage.no_topic, b"a")
    assert [m.key for m in reissued(stage.read())] == ([None] if is_there else [])
    relay.stop()


def test_a_null_key_is_null_again(three):
    stage = three
    prepare(stage)
    stage.sql("DELETE FROM outbox")
    stage.relay(diverting(stage, **{"outbox.key.null": "allow"}))
    code, result = retried(stage, "--id", stage.no_key, changes={"outbox.key.null": "allow"})
    assert (code, counts(result)) == (OK, (1, 0, 0)), result
    (message,) = reissued(stage.read())
    assert message.key is None and message.id == stage.no_key and message.value == b'{"n": 1}'


# --- retry: another event


def test_a_row_with_the_id_of_another_event_is_not_sent(make_stage):
    stage = make_stage(columns="id int PRIMARY KEY, aggregatetype text, aggregateid text, type text, payload jsonb")
    relay = too_large(stage)
    insert = "INSERT INTO outbox VALUES (1, 'order', %s, 'created', %s)"
    stage.sql(insert, ("mine", noise(LARGE)))
    stage.sql("DELETE FROM outbox")
    stage.sql(insert, ("yours", '{}'))
    stage.wait_all_confirmed(30, relay)
    code, result = retried(stage, "--all")
    assert (code, counts(result)) == (FAILED, (0, 0, 1))
    assert 'has key "yours", and the letter "mine"' in result["letters"][0]["why"]
    stage.sql("ALTER TABLE outbox DROP CONSTRAINT outbox_pkey")
    stage.sql(insert, ("mine", '{}'))
    assert "more than one row with this id" in retried(stage, "--all")[1]["letters"][0]["why"]


def test_letters_of_another_relay_are_refused(stage):
    relay = too_large(stage, {"outbox.headers.source": "a"})
    id = stage.insert("k", noise(LARGE))
    stage.wait_all_confirmed(30, relay)
    code, result = retried(stage, "--all", changes={"outbox.headers.source": "b"})
    assert code == FAILED and "walpost-source is a, and outbox.headers.source is b" in result["letters"][0]["why"]
    stage.sql("CREATE TABLE other (LIKE outbox)")
    code, result = retried(stage, "--all", changes={"outbox.table": "other"})
    assert code == FAILED and result["letters"][0]["id"] == id
    assert "table public.outbox is not of an outbox of this configuration" in result["letters"][0]["why"]


# --- retry: messages


MESSAGES = {"outbox.message.prefix": "note"}


def emit(stage, **members):
    text = json.dumps({"id": "m-1", "aggregatetype": "order", "aggregateid": "7", "type": "placed", **members})
    stage.sql("SELECT pg_logical_emit_message(true, 'note', %s)", (text,))


@pytest.mark.on("all")
@pytest.mark.parametrize("members, more", [
    ({"payload": {"fill": noise(LARGE), "n": 1.50}}, {}),
    ({"payload": noise(LARGE)}, {}),
    ({"payload": {"fill": noise(LARGE)}, "headers": {"tenant": "ac\"me", "n": 1, "none": None}, "type": None}, {}),
    ({"payload": {"fill": noise(LARGE)}, "tenant": "acme", "headers": {"n": 1}}, {
        "outbox.debezium.context.headers": "true", "outbox.debezium.name": "shop", "outbox.headers": "tenant:who",
        "outbox.table": ""}),
])
def test_a_message_is_made_from_its_letter(stage, members, more):
    changes = {**MESSAGES, **more}
    relay = too_large(stage, changes)
    emit(stage, **members)
    stage.wait_all_confirmed(30, relay)
    raise_limit(stage)
    code, result = retried(stage, "--table", "note", changes=changes)
    assert (code, counts(result)) == (OK, (1, 0, 0)), result
    assert (result["letters"][0]["prefix"], result["letters"][0]["from"]) == ("note", "letter")
    (message,), (letter,) = stage.read(), stage.read(DEAD)
    assert content(message) == content(letter)
    assert message.header("walpost-reissued").decode() == f"dead letter; {result['letters'][0]['position']}"
    assert counts(retried(stage, "--all", changes=changes)[1]) == (0, 1, 0)


@pytest.mark.on("all")
def test_a_message_of_which_no_record_was_made_goes_back_as_it_was(stage):
    prepare(stage)
    stage.create_topic(DEAD, partitions=1)
    stage.create_topic("two")
    relay = stage.relay(diverting(stage, **MESSAGES))
    emit(stage, aggregatetype="two words", payload={"n": 1}, more=[1])
    stage.wait_all_confirmed(30, relay)
    relay.stop()
    changes = {**MESSAGES, "outbox.topic.regex": "(.*) .*", "outbox.topic.replacement": f"{stage.name}.$1"}
    stage.relay(diverting(stage, **changes))
    code, result = retried(stage, "--all", changes=changes)
    assert (code, counts(result)) == (OK, (1, 0, 0)), result
    (message,) = stage.read("two")
    assert (message.id, message.value, message.key) == ("m-1", b'{"n": 1}', b"7")


def test_a_message_without_a_key_goes_back_whole(stage):
    prepare(stage)
    stage.create_topic(partitions=1)
    stage.create_topic(DEAD, partitions=1)
    relay = stage.relay(diverting(stage, **MESSAGES))
    emit(stage, aggregateid=None, payload={"n": 1})
    stage.wait_all_confirmed(30, relay)
    relay.stop()
    changes = {**MESSAGES, "outbox.key.null": "allow"}
    stage.relay(diverting(stage, **changes))
    code, result = retried(stage, "--all", changes=changes)
    assert (code, counts(result)) == (OK, (1, 0, 0)), result
    (message,) = stage.read()
    assert (message.id, message.value, message.key) == ("m-1", b'{"n": 1}', None)


def test_a_message_that_cannot_be_made_is_refused(stage):
    changes = {**MESSAGES, "outbox.envelope": "protobuf"}
    relay = too_large(stage, changes)
    emit(stage, payload={"fill": noise(LARGE)})
    stage.wait_all_confirmed(30, relay)
    code, result = retried(stage, "--all", changes=changes)
    assert (code, counts(result)) == (FAILED, (0, 0, 1))
    assert "outbox.envelope = protobuf" in result["letters"][0]["why"]


def test_a_payload_that_looks_like_the_whole_message_is_not_taken_for_it(stage):
    relay = too_large(stage, MESSAGES)
    whole = {"id": "m-1", "aggregatetype": "order", "aggregateid": "7", "type": "placed"}
    emit(stage, payload={**whole, "payload": noise(LARGE)})
    stage.wait_all_confirmed(30, relay)
    raise_limit(stage)
    code, result = retried(stage, "--all", changes=MESSAGES)
    assert (code, counts(result)) == (OK, (1, 0, 0)), result
    (message,), (letter,) = stage.read(), stage.read(DEAD)
    assert content(message) == content(letter)
    other = {"walpost-dead-letter-reason": b"by another walpost",
             "walpost-dead-letter-position": b"0000-00000001-0000000000000010-00000000"}
    headers = [(name, other.get(name, value)) for name, value in letter.headers]
    producer = confluent_kafka.Producer({"bootstrap.servers": stage.kafka.address})
    producer.produce(stage.topic(DEAD), letter.value, letter.key, headers=headers)
    assert producer.flush(20) == 0
    code, result = retried(stage, "--reason", "another", changes=MESSAGES)
    assert (code, counts(result)) == (FAILED, (0, 0, 1)) and "nothing tells which" in result["letters"][0]["why"]


# --- retry: the relay, and what is missing


def is_read(stage):
    return stage.sql(
        """SELECT a.query LIKE '%%walpost_reissue%%' FROM pg_replication_slots s JOIN pg_stat_activity a
           ON a.pid = s.active_pid WHERE s.slot_name = %s""", (stage.slot,)) == [(True,)]


@contextlib.contextmanager
def slot_held_back(stage):
    """An open transaction: the slot goes on holding what is older than the publication that comes."""
    with stage.transaction() as connection:
        connection.execute("SELECT pg_current_xact_id()")
        yield


def wait_older_than_the_slot(stage, relay):
    """Until the slot holds nothing from before the publication: then no relay will pass a row over."""
    def is_older():
        stage.insert()
        stage.postgres.query("CHECKPOINT")
        return stage.sql(
            """SELECT age(p.xmin) > age(s.catalog_xmin) FROM pg_publication p, pg_replication_slots s
               WHERE p.pubname = 'walpost_reissue' AND s.slot_name = %s""", (stage.slot,)) == [(True,)]

    relay.wait_until(is_older, 30, "the publication is older than what the slot holds")


def test_without_a_relay_they_are_delivered_by_the_next(stage):
    relay = too_large(stage)
    wait_older_than_the_slot(stage, relay)
    id = stage.insert("k", noise(LARGE))
    stage.wait_all_confirmed(30, relay)
    relay.stop()
    raise_limit(stage)
    stage.wait_released()
    done = command(stage, "retry", "--all")
    assert done.returncode == OK and f"no relay reads slot {stage.slot}" in done.stderr
    assert "1 sent again" in done.stdout and reissued(stage.read()) == []
    relay.start()
    stage.wait_all_confirmed(30, relay)
    assert [message.id for message in reissued(stage.read())] == [id]


def test_where_a_relay_could_pass_them_over_nothing_is_sent(three):
    """A relay that begins before the publication reads it only from the end of the log on, as that is then."""
    stage = three
    with slot_held_back(stage):
        prepare(stage)
        done = command(stage, "retry", "--all")
        assert done.returncode == FAILED
        assert f"no relay reads slot {stage.slot}, which may hold changes" in done.stderr
        relay = stage.relay(diverting(stage))
        relay.wait_until(lambda: is_read(stage), 20, "it reads walpost.reissue")
        done = command(stage, "retry", "--all", "--no-wait")
        assert done.returncode == FAILED and "without --no-wait" in done.stderr
    assert stage.sql("SELECT count(*) FROM walpost.dead_letters_retried") == [(0,)]
    wait_older_than_the_slot(stage, relay)
    done = command(stage, "retry", "--id", stage.huge, "--no-wait")
    assert done.returncode == OK and "1 sent again" in done.stdout


def test_a_relay_that_reconnects_meanwhile_leaves_a_doubt_that_is_named(stage):
    with slot_held_back(stage):
        relay = too_large(stage)
        stage.insert("k", noise(LARGE))
        stage.wait_all_confirmed(30, relay)
        relay.wait_until(lambda: is_read(stage), 20, "it reads walpost.reissue")
        relay.signal(signal.SIGSTOP)
        with concurrent.futures.ThreadPoolExecutor() as pool:
            done = pool.submit(command, stage, "retry", "--all")
            stage.wait_until(lambda: stage.sql("SELECT count(*) FROM walpost.dead_letters_retried") == [(1,)], 40,
                             "it is sent")
            relay.kill()
            done = done.result()
    assert done.returncode == FAILED and "1 sent again" in done.stdout
    assert "whether the events were sent cannot be determined" in done.stderr and "--again" in done.stderr


def test_a_relay_that_does_not_confirm_in_time_is_named(stage):
    relay = too_large(stage)
    stage.insert("k", noise(LARGE))
    stage.wait_all_confirmed(30, relay)
    relay.wait_until(lambda: is_read(stage), 20, "it reads walpost.reissue")
    relay.signal(signal.SIGSTOP)
    try:
        done = command(stage, "retry", "--all", "--timeout", "500ms")
    finally:
        relay.signal(signal.SIGCONT)
    assert done.returncode == FAILED and "1 sent again" in done.stdout
    assert f"slot {stage.slot} has confirmed" in done.stderr and "--timeout" in done.stderr


def test_a_relay_that_does_not_read_what_is_sent_again_is_waited_for_and_refused(three):
    stage = three
    relay = stage.relay(diverting(stage))
    relay.signal(signal.SIGSTOP)
    try:
        prepare(stage)
        done = command(stage, "retry", "--all")
    finally:
        relay.signal(signal.SIGCONT)
    assert done.returncode == FAILED
    assert f"reads slot {stage.slot} without publication walpost_reissue" in done.stderr
    assert stage.sql("SELECT count(*) FROM walpost.dead_letters_retried") == [(0,)]


def test_what_is_missing_is_named_with_its_cure(three):
    stage = three

    def fails(*words, **options):
        done = command(stage, "retry", "--all", *words, **options)
        assert done.returncode == WRONG and done.stdout == "", done
        return done.stderr

    assert "table walpost.reissue is missing" in fails() and "walpost init" in fails()
    prepare(stage)
    stage.sql("DROP PUBLICATION walpost_reissue")
    assert "publication walpost_reissue is missing" in fails()
    prepare(stage)
    stage.sql("DROP TABLE walpost.dead_letters_retried")
    assert "table walpost.dead_letters_retried is missing" in fails()
    prepare(stage)
    assert "there is no slot none" in fails(changes={"postgres.slot": "none"})
    assert "--timeout soon" in fails("--timeout", "soon")
    relay = stage.relay(diverting(stage))
    wait_older_than_the_slot(stage, relay)
    role = f"{stage.name}_app"
    stage.sql(f"CREATE ROLE {role} LOGIN; GRANT USAGE ON SCHEMA walpost TO {role}; "
              f"GRANT SELECT ON walpost.dead_letters_retried TO {role}")
    try:
        changes = {"postgres.conninfo": stage.postgres.conninfo(stage.database, user=role)}
        done = command(stage, "retry", "--all", changes=changes)
        assert done.returncode == WRONG and "GRANT SELECT ON public.outbox" in done.stderr
        stage.sql(f"GRANT SELECT ON outbox TO {role}")
        done = command(stage, "retry", "--all", changes=changes)
        assert done.returncode == WRONG and "INSERT, UPDATE ON walpost.dead_letters_retried" in done.stderr
        assert done.stdout == ""
    finally:
        stage.sql(f"DROP OWNED BY {role}; DROP ROLE {role}")
