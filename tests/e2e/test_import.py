"""`walpost config import-debezium`: what Debezium was told, as a walpost.conf. No server is needed."""

import os
import re
import subprocess

import pytest

from lib import places
from lib.relay import binary, clean_environment, run_command

GOLDEN = places.TREE / "tests" / "golden"
INPUTS = sorted(path for path in (GOLDEN / "import").iterdir() if path.is_file())
CONFIGS = sorted(path.stem for path in (GOLDEN / "configs").glob("*.properties") if path.stem != "base")
# Of these not all means to walpost what it means to Debezium.
EXITS = dict.fromkeys(["tutorial.json", "unsupported.properties", "several.json", "old.properties",
                       "messages.properties", "server.properties", "compose-list.yaml", "register.sh",
                       "playbook.yaml", "flat.yaml", "heredoc.sh", "connector-configmap.yaml", "dockerfile",
                       "mysql.json", "several-tables.yaml", "compose-unescaped.yaml"], 1)
# Of these neither with the version that it is of.
UNLIKE = {"compose-unescaped.yaml", "heredoc.sh", "mysql.json", "old.properties", "several-tables.yaml",
          "several.json", "tutorial.json", "unsupported.properties"}
WHOLE = {
    "connector.class": "io.debezium.connector.postgresql.PostgresConnector", "plugin.name": "pgoutput",
    "database.hostname": "db", "table.include.list": "public.outbox", "topic.prefix": "t",
    "key.converter": "org.apache.kafka.connect.storage.StringConverter",
    "value.converter": "org.apache.kafka.connect.storage.StringConverter",
    "transforms": "outbox", "transforms.outbox.type": "io.debezium.transforms.outbox.EventRouter",
    "extended.headers.enabled": "false",
}


OLD = {"topic.prefix": None, "database.server.name": "shop"}
ROUTER = "transforms.outbox."
EXPANDS = {
    "value.converter": "org.apache.kafka.connect.json.JsonConverter", "value.converter.schemas.enable": "false",
    f"{ROUTER}table.expand.json.payload": "true",
}


def _import(text, *arguments, **options):
    return run_command("config", "import-debezium", *arguments, "-", input=text, **options)


def _properties(**more):
    return "".join(f"{name}={value}\n" for name, value in {**WHOLE, **more}.items() if value is not None)


def _settings(text):
    """{"outbox.table": ...} of a walpost.conf."""
    section, found = None, {}
    for line in text.splitlines():
        if line.startswith("["):
            section = line.strip("[]")
        elif line and not line.startswith("#"):
            key, value = line.split("=", 1)
            found[f"{section}.{key.strip()}"] = value.strip()
    return found


def _loads(text, folder):
    path = folder / "imported.conf"
    path.write_text(text)
    filled_in = {"WALPOST__KAFKA__SASL_OAUTHBEARER_CLIENT_SECRET": "hush"} if "CLIENT_SECRET_FILE" in text else {}
    done = run_command("config", "show", "-c", path, environment=filled_in)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("path", INPUTS, ids=lambda path: path.name)
def test_each_input_becomes_what_is_written_down(path, tmp_path):
    done = run_command("config", "import-debezium", path)
    wanted = GOLDEN / "import" / "expected" / f"{path.name}.conf"
    if "WALPOST_WRITE_EXPECTED" in os.environ:
        wanted.write_text(done.stdout)
    assert done.stdout == wanted.read_text()
    assert done.returncode == EXITS.get(path.name, 0), done.stderr
    _loads(done.stdout, tmp_path)


@pytest.mark.parametrize("path", INPUTS, ids=lambda path: path.name)
def test_with_its_version_a_file_without_differences_ends_with_code_0(path):
    done = run_command("config", "import-debezium", "--debezium", "3.0", path)
    assert done.returncode == (path.name in UNLIKE), done.stderr


@pytest.mark.parametrize("path", INPUTS, ids=lambda path: path.name)
def test_no_secret_is_printed(path):
    done = run_command("config", "import-debezium", path)
    assert "hush" not in done.stdout + done.stderr
    names = path.read_text().lower().replace("_", ".")
    if "database.password" in names and "login provides the password" not in done.stdout:
        assert "WALPOST__POSTGRES__PASSWORD_FILE" in done.stdout


@pytest.mark.parametrize("path", [path for path in INPUTS if path.suffix not in (".json", ".properties")],
                         ids=lambda path: path.name)
def test_each_property_of_the_other_forms_is_accounted_for(path):
    text = path.read_text()
    names = {name.lower().replace("_", ".") for name in re.findall(r"\bDEBEZIUM_[A-Z0-9_]+(?=[=:\n])", text)}
    names |= set(re.findall(r'^ *"?((?:debezium|database|topic|plugin|slot|table|key|value|transforms)\.[\w.]+)"?[:=]',
                            text, re.MULTILINE))
    assert len(names) > 8 or path.name == "application.yaml"
    done = run_command("config", "import-debezium", path)
    # In application.yaml what is above a name belongs to it.
    prefix = r"([\w.]+\.)?" if path.name == "application.yaml" else ""
    assert not [name for name in names if not re.search(rf"^# {prefix}{re.escape(name)}\b", done.stdout, re.MULTILINE)]


@pytest.mark.parametrize("path", [path for path in INPUTS if path.suffix in (".json", ".properties")
                                  and path.name != "strimzi-list.json"], ids=lambda path: path.name)
def test_each_property_is_accounted_for(path):
    done = run_command("config", "import-debezium", path)
    names = set()
    for line in path.read_text().splitlines():
        line = line.strip().strip("{},")
        if line and not line.startswith(("#", '"config"', "audit")):
            names.add(line.split('"')[1] if line.startswith('"') else line.replace(":", "=").split("=")[0].split()[0])
    assert len(names) > 8
    lost = [name for name in names if f"# {name}" not in done.stdout and ".with.salt." not in name]
    assert not lost


@pytest.mark.parametrize("config", CONFIGS)
def test_each_configuration_of_the_golden_outputs_is_imported_whole(config, tmp_path):
    base = (GOLDEN / "configs" / "base.properties").read_text()
    own = (GOLDEN / "configs" / f"{config}.properties").read_text()
    done = _import(f"{base}database.hostname=db\n{own}")
    assert done.returncode == 0, done.stderr
    _loads(done.stdout, tmp_path)
    found = _settings(done.stdout)
    assert found["outbox.types"] == "debezium" and found["outbox.key.null"] == "allow"
    assert found["outbox.headers.standard"] == "id" and found["outbox.column.type"] == ""
    assert found["outbox.debezium.name"] == "golden"
    for key, value in SETTINGS.get(config, {}).items():
        assert found[key] == value, key


SETTINGS = {
    "a-string": {"outbox.table": "public.outbox", "outbox.key.format": "raw", "outbox.value.format": "raw",
                 "outbox.headers.format": "raw", "outbox.debezium.context.headers": "no"},
    "a-string-extended-headers": {"outbox.debezium.context.headers": "yes"},
    "b-tutorial": {"outbox.topic.replacement": "${routedByValue}.events", "outbox.headers": "type:eventType"},
    "c-json-noschema": {"outbox.key.format": "json", "outbox.value.format": "json"},
    "d-json-schema": {"outbox.key.format": "json-schema", "outbox.value.format": "json-schema"},
    "e-expand": {"outbox.payload.json": "expand", "outbox.value.format": "json", "outbox.key.format": "raw"},
    "f-tombstone": {"outbox.payload.empty": "tombstone"},
    "g-headers-envelope": {"outbox.headers": "c_int:n,c_tstz", "outbox.value.columns": "type:eventType,c_big"},
    "h-bytea-binarydata": {"outbox.value.format": "raw", "outbox.table": "public.outbox_bytea"},
    "h-bytea-bytearray": {"outbox.value.format": "raw"},
    "i-routeby": {"outbox.route.by": "dest", "outbox.topic.regex": r"(?<ctx>[a-z]+)\.(?<entity>[A-Z]\w+)",
                  "outbox.topic.replacement": "${ctx}-${entity}.v1"},
    "j-partition": {"outbox.column.partition": "part"},
    "k-timestamp-ts3": {"outbox.column.timestamp": "ts3"},
    "m-names": {"outbox.column.id": "event_id", "outbox.column.key": "agg_id", "outbox.column.payload": "body",
                "outbox.route.by": "agg_type", "outbox.headers": "ev_type:type"},
    "o-ops": {"postgres.publication": "golden_ops"},
}


def test_from_standard_input_it_is_the_same():
    path = GOLDEN / "import" / "complete.json"
    assert _import(path.read_text()).stdout == run_command("config", "import-debezium", path).stdout


def test_the_worker_decides_where_no_converter_is_named():
    text = "".join(line + "\n" for line in _properties().splitlines() if "converter" not in line)
    done = _import(text)
    assert done.returncode == 1
    assert _settings(done.stdout)["outbox.value.format"] == "json-schema"
    assert "walpost: CHECK: key.converter is not set" in done.stderr


@pytest.mark.parametrize("more, marked", [
    ({"plugin.name": "decoderbufs"}, "plugin.name"),
    ({"value.converter": "io.confluent.connect.avro.AvroConverter"}, "value.converter"),
    ({"transforms.outbox.type": "org.apache.kafka.connect.transforms.RegexRouter"}, "transforms"),
    ({"table.include.list": r"public\..*box"}, "table.include.list"),
    ({"snapshot.mode": "initial_only"}, "snapshot.mode"),
    ({"nobody.knows.this": "1"}, "nobody.knows.this"),
    ({"slot.drop.on.stop": "true"}, "slot.drop.on.stop"),
    ({"connector.class": "com.acme.PostgresConnector"}, "connector.class"),
    ({"transforms.outbox.type": "com.acme.kafka.EventRouter"}, "transforms.outbox.type"),
    ({"value.converter": "com.acme.StringConverter"}, "value.converter"),
    ({"value.converter": "io.debezium.converters.BinaryDataConverter",
      "value.converter.delegate.converter.type": "org.apache.kafka.connect.json.JsonConverter"}, "value.converter"),
    ({"decimal.handling.mode": "string"}, "decimal.handling.mode"),
    ({"time.precision.mode": "connect"}, "time.precision.mode"),
])
def test_what_a_consumer_would_see_is_marked_and_told(more, marked, tmp_path):
    done = _import(_properties(**more))
    assert done.returncode == 1
    assert f"#   {marked}\n" in done.stdout and f" {marked}: " in done.stderr
    assert done.stderr.startswith("walpost: ") and " to judge, marked CHECK or NOT SUPPORTED, because" in done.stderr
    _loads(done.stdout, tmp_path)


@pytest.mark.parametrize("value", [
    "max.request.size=2147483647", "batch.size=0", "retry.backoff.ms=0", "connections.max.idle.ms=-1",
    "metadata.max.age.ms=-1", "request.timeout.ms=1800000", "linger.ms=9000000000", "reconnect.backoff.max.ms=99999999",
    "sasl.mechanism=AWS_MSK_IAM",
])
def test_what_javas_producer_takes_gives_a_file_that_walpost_takes(value, tmp_path):
    name, value = value.split("=")
    _loads(_import(_properties(**{f"producer.override.{name}": value})).stdout, tmp_path)


@pytest.mark.parametrize("more, marked", [
    ({"transforms": "outbox,outbox"}, "CHECK: transforms: outbox is listed twice"),
    ({"topic.creation.default.partitions": "12"}, "CHECK: topic.creation.default.partitions: Kafka Connect creates"),
    ({"table.include.list": "public.OutboxEvents"}, "CHECK: table.include.list: Debezium ignores case in names"),
])
def test_what_is_assumed_is_marked(more, marked, tmp_path):
    done = _import(_properties(**more))
    assert marked in done.stderr
    _loads(done.stdout, tmp_path)


def test_json_with_comments_is_read(tmp_path):
    text = "// of the shop\n" + (GOLDEN / "import" / "complete.json").read_text().replace("{", "{ # theirs", 1)
    done = _import(text)
    assert done.returncode == 0, done.stderr
    assert _settings(done.stdout)["postgres.slot"] == "shop_outbox"


@pytest.mark.parametrize("release, arrays, code", [
    (None, "keep", 1), ("1.9", "keep", 1), ("2.0.1.Final", "keep", 1),
    ("2", None, 1), ("2.1", None, 0), ("3.6", None, 0),
])
def test_a_payload_is_expanded_as_by_the_version_that_is_imitated(release, arrays, code, tmp_path):
    done = _import(_properties(**OLD, **EXPANDS), *([] if release is None else ["--debezium", release]))
    assert done.returncode == code, done.stderr
    assert _settings(done.stdout).get("outbox.expand.empty_arrays") == arrays
    assert "CHECK: transforms.outbox.table.expand.json.payload: expanded as Debezium 2.1" in done.stderr or code == 0
    assert "# This file imitates Debezium " in done.stdout
    assert "# The configuration is of Debezium 1.x: it has database.server.name and no topic.prefix.\n" in done.stdout
    _loads(done.stdout, tmp_path)


@pytest.mark.parametrize("more, fallback, code", [
    ({"key": "customer_key"}, None, 1),
    ({"key": "customer_key", "payload.id": "aggregate_id"}, "aggregate_id", 0),
    ({"key": "aggregateid"}, None, 0),
    ({}, None, 0),
])
def test_a_null_key_of_1_has_its_fallback(more, fallback, code, tmp_path):
    options = {f"{ROUTER}table.field.event.{name}": value for name, value in more.items()}
    done = _import(_properties(**OLD, **options))
    assert done.returncode == code, done.stderr
    assert _settings(done.stdout).get("outbox.column.key.fallback") == fallback
    assert ("CHECK: table.field.event.payload.id is not set" in done.stderr) == (code == 1)
    _loads(done.stdout, tmp_path)
    assert _import(_properties(**OLD, **options), "--debezium", "3.6").returncode == 0


@pytest.mark.parametrize("given", ["", "latest", "36", "3.", "v3", "3.6.0.Final.1", "1,9"])
def test_a_version_that_is_none_is_refused(given):
    done = _import(_properties(), f"--debezium={given}")
    assert done.returncode == 2 and not done.stdout
    assert f"{given or 'an empty text'} is not a Debezium version: write it as 3, 2.7 or 2.0.1.Final" in done.stderr


@pytest.mark.parametrize("name, value", [
    ("database.hostname", "${DB_HOST}"), ("database.user", "${DB_USER:?relay}"), ("database.dbname", "$DB_NAME"),
    ("database.hostname", "{{ .Values.db.host }}"), ("database.hostname", "<%= db %>"),
    ("publication.name", "%{ if x }"),
    ("database.user", "<USER>"), ("producer.override.bootstrap.servers", "{{kafka}}:9092"),
])
def test_a_placeholder_is_to_be_filled_in(name, value, tmp_path):
    done = _import(_properties(**{name: value}))
    assert done.returncode == 0, done.stderr
    assert f"TO FILL IN: {name}: its value is defined elsewhere, entirely or in part: replace the" in done.stderr
    _loads(done.stdout, tmp_path)


def test_the_default_of_a_placeholder_is_taken(tmp_path):
    done = _import(_properties(**{"database.user": "${DB_USER:-relay}"}))
    assert done.returncode == 0, done.stderr
    assert "TO FILL IN: database.user: the default that the file has for it was taken" in done.stderr
    assert _settings(done.stdout)["postgres.conninfo"] == "host=db user=relay"
    _loads(done.stdout, tmp_path)


@pytest.mark.parametrize("name, value", [
    ("topic.prefix", "${SERVICE}"), ("topic.prefix", "{{ service }}"), ("extended.headers.enabled", "$HEADERS"),
    (f"{ROUTER}route.topic.replacement", "{{ .Values.env }}.${routedByValue}"),
    (f"{ROUTER}route.topic.replacement", "${schema}.${routedByValue}"),
    (f"{ROUTER}route.topic.regex", "${ENV}(?<routedByValue>.*)"),
    (f"{ROUTER}table.fields.additional.placement", "type:header:{{ name }}"),
])
def test_a_placeholder_in_topics_or_headers_is_marked(name, value, tmp_path):
    done = _import(_properties(**{name: value}))
    assert done.returncode == 1
    assert f"CHECK: {name}: its value is defined elsewhere, entirely or in part: replace the placeholder" in done.stderr
    _loads(done.stdout, tmp_path)


@pytest.mark.parametrize("listed", ["public.outbox,public.beat", r"public\\.outbox,PUBLIC\\.BEAT"])
@pytest.mark.parametrize("more", [
    {"heartbeat.action.query": "UPDATE public.beat SET ts = now() WHERE id = 1"},
    {"heartbeat.action.query": 'update only "public"."beat" set ts = now()'},
    {"heartbeat.action.query": "INSERT INTO Beat VALUES (1) ON CONFLICT (id) DO UPDATE SET ts = now()"},
    {"signal.data.collection": "public.beat"},
    {"signal.data.collection": '"public"."beat"'},
])
def test_a_table_of_heartbeats_or_signals_is_no_outbox(more, listed, tmp_path):
    text = {"table.include.list": listed, **more}
    done = _import(_properties(**{"publication.autocreate.mode": "filtered", **text}))
    assert done.returncode == 0, done.stderr
    found = _settings(done.stdout)
    assert found["outbox.table"] == "public.outbox" and found["outbox.ignore"] == "public.beat"
    assert "[outbox." not in done.stdout
    _loads(done.stdout, tmp_path)
    assert _settings(_import(_properties(**text)).stdout)["outbox.ignore"] == "*, public.beat"


def test_a_table_of_heartbeats_that_an_expression_covers_is_ignored():
    done = _import(_properties(**{
        "publication.autocreate.mode": "filtered", "table.include.list": "public.(outbox|beat)",
        "heartbeat.action.query": "UPDATE public.beat SET ts = now()"}))
    assert done.returncode == 1 and "CHECK: table.include.list" in done.stderr
    assert _settings(done.stdout)["outbox.ignore"] == "public.beat"


@pytest.mark.parametrize("query", ["INSERT INTO public.outbox VALUES (1)", "UPDATE ${S}.beat SET ts = now()"])
def test_a_query_whose_table_may_be_an_outbox_is_marked(query):
    done = _import(_properties(**{"heartbeat.action.query": query}))
    assert done.returncode == 1 and "CHECK: heartbeat.action.query: " in done.stderr
    assert _settings(done.stdout)["outbox.table"] == "public.outbox"


def _not_replaced():
    """What the documentation says that walpost cannot replace, where it is a property."""
    text = (places.TREE / "deploy/docs/pages/debezium/differences.md").read_text()
    section = text.split("## What walpost cannot replace\n")[1].split("\n## ")[0]
    return re.findall(r"`([\w.-]+)=([^`]+)`", section)


@pytest.mark.parametrize("name, value", _not_replaced())
def test_what_the_documentation_says_cannot_be_replaced_is_marked(name, value):
    json = "org.apache.kafka.connect.json.JsonConverter"
    done = _import(_properties(**{
        "transforms.outbox.table.fields.additional.placement": "a:header",
        "value.converter": json if "adjustment" in name or "decimal.format" in name else WHOLE["value.converter"],
        name: value}))
    assert done.returncode == 1, done.stdout
    assert done.stderr.count("NOT SUPPORTED: ") + done.stderr.count("CHECK: ") == 1, done.stderr


def test_the_documentation_names_what_cannot_be_replaced():
    assert len(_not_replaced()) > 20


@pytest.mark.parametrize("more", [
    {}, {"snapshot.mode": "initial"}, {"heartbeat.interval.ms": "1000"}, {"tombstones.on.delete": "false"},
    {"max.batch.size": "10"}, {"decimal.handling.mode": "precise"}, {"errors.tolerance": "none"},
])
def test_what_no_consumer_sees_is_dropped_with_a_reason(more):
    done = _import(_properties(**more))
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("dropped: ") >= 2


def test_a_value_cannot_become_a_line_of_its_own():
    done = _import('{"table.include.list": "a.b", "slot.name": "x\\n[log]\\nlevel = debug", "q\\n[log]": "r"}')
    assert done.returncode == 1
    assert not [line for line in done.stdout.splitlines() if line.startswith(("[log]", "level"))]


def test_of_a_property_set_twice_the_last_counts():
    done = _import(_properties() + "slot.name=one\nslot.name=two\n")
    assert done.returncode == 0
    assert _settings(done.stdout)["postgres.slot"] == "two"
    assert "# slot.name\n#   dropped: it is set again in line 12, which takes precedence\n" in done.stdout


@pytest.mark.parametrize("text, said", [
    ("", "it contains no property"),
    ("# nothing\n\n! else\n", "it contains no property"),
    ('{\n  "a": "b",\n}', "/dev/stdin: line 3: "),
    ('{"a": "b"', "line 1: "),
    ("[1]", "an object is required"),
    ("kind: Pod\nspec:\n  env: []\n", "it is YAML, but has no KafkaConnector"),
    ("spec:\n  config:\n    slot.name: {{ .Values.slot }}\n", "by `helm template`"),
    ("CREATE TABLE outbox (id uuid);\n", "line 1: it is no configuration of Debezium: no name in it is known. "),
    ('curl -d "{\\"connector.class\\": \\"a\\"}"\n', "a backslash before each quote"),
    ('curl -d "{\n"connector.class": "a",\n $REST }"\n', "that begins in line 1 cannot be read from line 3 on: "),
    ('{"config": {"a": {"b": 1}}}', "the value of a property is an object or an array"),
    ('[{"connector.class": "b"},\n{"connector.class": "d"}]', "it holds 2 connectors, in lines 1, 2: pass one of them"),
    ('{"config":\n{"a": "\\ud800"}}', "line 2: a \\u escape is half of a character"),
    ("a=\\u12", "line 1: \\u requires four hexadecimal digits"),
    ("a=b\nc=\\u0000\n", "line 2: a NUL character"),
])
def test_what_cannot_be_read_is_refused_with_the_place(text, said):
    done = _import(text)
    assert done.returncode == 2
    assert said in done.stderr and not done.stdout


def test_bytes_that_are_no_text_are_refused():
    done = subprocess.run([binary(), "config", "import-debezium", "-"], input=b"a=b\nc=\xff\n", capture_output=True,
                          env=clean_environment())
    assert done.returncode == 2 and b"line 2: not UTF-8" in done.stderr


@pytest.mark.parametrize("arguments, said", [
    ((), "a FILE is missing, or - for standard input"),
    (("/nowhere/at/all.json",), "/nowhere/at/all.json cannot be read"),
    (("a", "b"), "takes one argument besides its options"),
    (("--json", "a"), "has no option --json"),
])
def test_wrong_usage_ends_with_code_2(arguments, said):
    done = run_command("config", "import-debezium", *arguments)
    assert done.returncode == 2
    assert said in done.stderr and not done.stdout


def test_the_help_says_what_is_read_and_what_the_codes_mean():
    done = run_command("config", "import-debezium", "--help")
    assert done.returncode == 0
    assert "Usage: walpost config import-debezium [OPTION]... FILE" in done.stdout
    assert "application.yaml" in done.stdout and "KafkaConnector" in done.stdout and "NOT SUPPORTED" in done.stdout
    assert "import-debezium" in run_command("config", "--help").stdout


def test_output_that_cannot_be_written_is_a_failure():
    with open("/dev/full", "w") as full:
        done = subprocess.run([binary(), "config", "import-debezium", GOLDEN / "import" / "complete.json"], stdout=full,
                              stderr=subprocess.PIPE, text=True, env=clean_environment())
    assert done.returncode == 1 and "cannot be written" in done.stderr
