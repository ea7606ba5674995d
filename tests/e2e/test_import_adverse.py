"""Configurations that were made to be misread: what they hide, and what is said of them. No server is needed."""

import json

import pytest

from e2e.test_import import GOLDEN, ROUTER, WHOLE, _import, _loads, _properties, _settings

JSON = {"value.converter": "org.apache.kafka.connect.json.JsonConverter"}
DECODER = "io.debezium.connector.postgresql.transforms.DecodeLogicalDecodingMessageContent"
MESSAGES = {"transforms": "decode,outbox", "transforms.decode.type": DECODER, "message.prefix.include.list": "event"}
OAUTH = "producer.override.sasl.oauthbearer."
REPLACEMENT = f"{ROUTER}route.topic.replacement"
OLD_MISSING = f"{ROUTER}table.fields.additional.error.on.missing"
NEW_MISSING = f"{ROUTER}table.field.additional.missing"
SERVER = {
    "DEBEZIUM_SOURCE_CONNECTOR_CLASS": WHOLE["connector.class"], "DEBEZIUM_SOURCE_PLUGIN_NAME": "pgoutput",
    "DEBEZIUM_SOURCE_DATABASE_HOSTNAME": "db", "DEBEZIUM_SOURCE_TABLE_INCLUDE_LIST": "public.outbox",
    "DEBEZIUM_SOURCE_TOPIC_PREFIX": "t", "DEBEZIUM_SOURCE_EXTENDED_HEADERS_ENABLED": '"false"',
    "DEBEZIUM_SINK_TYPE": "kafka", "DEBEZIUM_TRANSFORMS": "outbox",
    "DEBEZIUM_TRANSFORMS_OUTBOX_TYPE": WHOLE["transforms.outbox.type"],
}


def _compose(beside="", **more):
    variables = "".join(f"      {name}: {value}\n" for name, value in {**SERVER, **more}.items())
    return ("services:\n  app:\n    env_file: app.env\n    environment:\n      QUARKUS_PROFILE: app\n  debezium:\n"
            f"    image: quay.io/debezium/server\n{beside}    environment:\n{variables}")


def _only(topic, of):
    return {f"transforms.{of}.predicate": "p", "predicates": "p", "predicates.p.pattern": topic,
            "predicates.p.type": "org.apache.kafka.connect.transforms.predicates.TopicNameMatches"}


def _marks(done):
    """What is marked, without the brokers, which no connector has."""
    lines = [line.split(": ", 2) for line in done.stderr.splitlines() if line.count(": ") >= 2]
    return [(mark, about.split(": ")[0]) for _, mark, about in lines if "bootstrap.servers" not in about]


@pytest.mark.parametrize("more", [
    {"database.hostname": "postgres://u:hush@db/x"}, {"database.user": "postgres://u:hush@db/x"},
    {"database.dbname": "postgres://u:hush@db/x"}, {"database.dbname": "host=x password=hush"},
    {"database.dbname": "host=x PASSWORD = 'hush'"}, {"database.hostname": "jdbc:postgresql://db/x?password=hush"},
    {"database.sslkey": "-----BEGIN PRIVATE KEY-----hush"}, {"slot.name": "postgres://u:hush@db/x"},
    {"producer.override.client.id": "https://u:hush@x/"}, {"nobody.knows": "https://u:hush@x/"},
    {"database.user": "postgres://u:hu,hush@db/x"}, {"database.user": "a@b.c, postgres://u:hush@db"},
    {"database.user": "user@server:hush@db"}, {"nobody.knows": "https://x/?oauth2_token=hush"},
    {"slot.name": "https://x/a?k1=hush"}, {"database.hostname": "u:hush@db"},
    {"database.hostname": "${DB:-u:hush@db}"}, {"database.dbname": "u:hush@db/x"},
    {"producer.override.bootstrap.servers": "u:hush@h:9092"}, {"https://u:hush@x/": "1"}, {"password=hush": "1"},
    {"database.password": "${env:PW:-hush}"}, {"database.password": "${env:PW:hush}"},
    {f"{ROUTER}table.field.event.key": "postgres://u:hush@db/x", "time.precision.mode": "connect"},
    {f"{ROUTER}table.field.event.key": "postgres://u:hush@db/x", "topic.prefix": None, "database.server.name": "t"},
    {f"{ROUTER}route.topic.replacement": "https://u:hush@x/"},
    {"predicates": "p", "predicates.p.type": "a.B", "predicates.p.apikey": "hush"},
    {"producer.override.sasl.mechanism": "OAUTHBEARER", f"{OAUTH}token.endpoint.url": "https://u:hush@x/"},
    {"producer.override.sasl.mechanism": "OAUTHBEARER", f"{OAUTH}token.endpoint.url": "https://x/?k=hush"},
    {"producer.override.sasl.mechanism": "OAUTHBEARER", "producer.override.sasl.login.callback.handler.class":
     "io.strimzi.kafka.oauth.client.JaasClientOauthLoginCallbackHandler", "producer.override.sasl.jaas.config":
     'a.B required oauth.token.endpoint.uri="https://u:hush@x/" ;'},
    {"producer.override.sasl.mechanism": "OAUTHBEARER", f"{OAUTH}token.endpoint.url": "https://x/",
     "producer.override.sasl.jaas.config": "a.B required clientId=a extension_secret=hush ;"},
    {"producer.override.sasl.mechanism": "AWS_MSK_IAM",
     "producer.override.sasl.jaas.config": 'a.B required awsProfileName="password=hush" ;'},
])
def test_no_setting_holds_what_may_be_a_secret(more):
    for text in (_properties(**more), json.dumps({**WHOLE, **more})):
        done = _import(text)
        assert "hush" not in done.stdout + done.stderr
        # All others are accounted for by their names.
        lost = [name for name in more if "hush" not in name and name not in done.stdout]
        assert done.returncode in (0, 1) and not lost


def test_no_secret_is_told_by_a_refusal_or_by_the_name_of_a_variable():
    mask = "DEBEZIUM_SOURCE_COLUMN_MASK_HASH_SHA_256_WITH_SALT_HUSH"
    done = _import(_compose(**{f"_PROD_{mask}": "public.outbox.a"}))
    assert done.returncode == 1 and "hush" not in (done.stdout + done.stderr).lower()
    other = _compose(**{mask: "b"}).replace("services:\n", "").replace("debezium:", "other:")
    done = _import(_compose(**{mask: "a"}) + other)
    assert done.returncode == 2 and "hush" not in done.stderr and "with.salt." in done.stderr


def test_a_topic_that_is_not_copied_is_to_be_judged():
    done = _import(_properties(**{f"{ROUTER}route.topic.replacement": "https://u:hush@x/${routedByValue}"}))
    assert done.returncode == 1 and "set topic.replacement by hand" in done.stdout
    regex = "urn://(?<routedByValue>.*)"
    done = _import(_properties(**{f"{ROUTER}route.topic.regex": regex}))
    assert _settings(done.stdout)["outbox.topic.regex"] == regex


@pytest.mark.parametrize("more, mark, about", [
    ({**MESSAGES, **_only(r"t\\.public\\..*", "outbox")}, "NOT SUPPORTED", "transforms.decode.type"),
    ({**MESSAGES, **_only(r"t\\.public\\..*", "decode")}, "NOT SUPPORTED", "transforms.decode.type"),
    ({**MESSAGES, **_only("${TOPIC}", "decode")}, "CHECK", "transforms.decode.type"),
    ({**MESSAGES, "transforms": "outbox,decode"}, "NOT SUPPORTED", "transforms.decode.type"),
    ({**JSON, f"{ROUTER}table.fields.additional.placement": "a:envelope", "topic.delimiter": "_"},
     "NOT SUPPORTED", "topic.delimiter"),
    ({**JSON, f"{ROUTER}table.fields.additional.placement": "a:envelope", "topic.naming.strategy": "org.example.S"},
     "NOT SUPPORTED", "topic.naming.strategy"),
    ({"schema.include.list": "sales, audit"}, "NOT SUPPORTED", "schema.include.list"),
    ({"schema.include.list": "publi[a-z&&[^a]]"}, "CHECK", "schema.include.list"),
    ({"schema.exclude.list": "PUB.*"}, "NOT SUPPORTED", "schema.exclude.list"),
    ({f"{ROUTER}route.topic.regex": r"(?<routedByValue>\\p{Alpha}+)"}, "NOT SUPPORTED", f"{ROUTER}route.topic.regex"),
    ({f"{ROUTER}route.topic.regex": r"(?<routedByValue>\\0101.*)"}, "NOT SUPPORTED", f"{ROUTER}route.topic.regex"),
    ({f"{ROUTER}route.topic.regex": r"(?ix)(?<routedByValue>[a b]+)"}, "NOT SUPPORTED", f"{ROUTER}route.topic.regex"),
    ({f"{ROUTER}route.topic.regex": "(.*)"}, "NOT SUPPORTED", f"{ROUTER}route.topic.regex"),
    ({f"{ROUTER}table.field.additional.missing": "ignore", f"{ROUTER}table.fields.additional.placement": "a:header",
      "column.exclude.list": "public.outbox.a"}, "CHECK", "column.exclude.list"),
    ({"notification.enabled.channels": "log, sink"}, "NOT SUPPORTED", "notification.enabled.channels"),
    ({"skipped.operations": "c,d"}, "NOT SUPPORTED", "skipped.operations"),
    ({"topic.creation.groups": "a", "topic.creation.a.include": "x.*", "topic.creation.a.partitions": "3"},
     "CHECK", "topic.creation.a.partitions"),
    ({"topic.creation.default.cleanup.policy": "compact"}, "CHECK", "topic.creation.default.cleanup.policy"),
    ({"column.mask.with.5.chars": r"public.other.a,public\\.outbox\\.a"}, "NOT SUPPORTED", "column.mask.with.5.chars"),
    ({"column.mask.with.5.chars": "public.(other|outbox).a"}, "NOT SUPPORTED", "column.mask.with.5.chars"),
    ({"debezium.foo": "1"}, "NOT SUPPORTED", "debezium.foo"),
    ({"column.mask.with.5.chars": "public.out.*.payload"}, "NOT SUPPORTED", "column.mask.with.5.chars"),
    ({"schema.exclude.list": "${EXCLUDED}"}, "CHECK", "schema.exclude.list"),
    ({"schema.exclude.list": "x" * 256}, "CHECK", "schema.exclude.list"),
    ({REPLACEMENT: "${ENV_NAME}.${routedByValue}"}, "CHECK", REPLACEMENT),
    ({REPLACEMENT: "${ENV}.${routedByValue}"}, "CHECK", REPLACEMENT),
    ({"topic.creation.default.retention.ms": "1"}, "CHECK", "topic.creation.default.retention.ms"),
    ({OLD_MISSING: "false", NEW_MISSING: "error"}, "CHECK", OLD_MISSING),
    ({**MESSAGES, "transforms": "decode,outbox,again", "transforms.again.type": DECODER},
     "CHECK", "transforms.again.type"),
    ({"column.mask.with.5.chars": "${COLUMNS}"}, "NOT SUPPORTED", "column.mask.with.5.chars"),
])
def test_what_debezium_would_send_otherwise_is_marked_once(more, mark, about, tmp_path):
    done = _import(_properties(**more))
    assert done.returncode == 1 and _marks(done) == [(mark, about)], done.stderr
    _loads(done.stdout, tmp_path)


@pytest.mark.parametrize("more", [
    MESSAGES, {**MESSAGES, **_only(r"t\\.message", "decode")},
    {**MESSAGES, **_only(r"t\\.(message|public\\..*)", "outbox")},
    {"topic.delimiter": "_"}, {"schema.include.list": "sales, PUBLI."}, {"schema.exclude.list": "sales"},
    {"schema.include.list": "public", "schema.exclude.list": "public"},
    {f"{ROUTER}route.topic.regex": r"(?x) (?<routedByValue>\\p{Lu}+)"},
    {f"{ROUTER}table.field.additional.missing": "ignore", f"{ROUTER}table.fields.additional.placement": "a:header",
     "column.exclude.list": r"public.other.a,sales\\.outbox\\..*"},
    {f"{ROUTER}table.fields.additional.placement": "a:header", "column.exclude.list": "public.outbox.b"},
    {"notification.enabled.channels": "log,jmx"}, {"skipped.operations": "u, d, r"}, {"skipped.operations": "none"},
    {"slot.stream.params": ""}, {"database.hostname": "[2001:db8::1]"}, {"database.port": "5432 "},
    {"topic.creation.default.replication.factor": "3", "topic.creation.default.partitions": "-1"},
    {"column.mask.with.5.chars": r"public.customers.ssn, public\\.x\\..*"}, {"task.class": "x.Task"},
    {f"{ROUTER}table.fields.additional.placement": "a:header: b"},
    {"heartbeat.action.query": "SELECT pg_logical_emit_message(false, 'beat', now()::text)"},
])
def test_what_changes_nothing_is_not_marked(more, tmp_path):
    done = _import(_properties(**more))
    assert done.returncode == 0 and not _marks(done), done.stderr
    _loads(done.stdout, tmp_path)


@pytest.mark.parametrize("more, release, wanted, code", [
    ({OLD_MISSING: "false"}, None, "ignore", 1), ({OLD_MISSING: "true"}, None, "error", 0),
    ({OLD_MISSING: "false"}, "3.5", "ignore", 0), ({OLD_MISSING: "false"}, "2.5.0.Final", "ignore", 0),
    ({OLD_MISSING: "false"}, "3.6", None, 0), ({OLD_MISSING: "false"}, "2.4", None, 0),
    ({NEW_MISSING: "ignore"}, None, "ignore", 0), ({NEW_MISSING: "ignore"}, "3.5", None, 0),
    ({OLD_MISSING: "false", NEW_MISSING: "error"}, None, "error", 1),
    ({OLD_MISSING: "false", NEW_MISSING: "error"}, "3.6", "error", 0),
    ({OLD_MISSING: "false", NEW_MISSING: "error"}, "3.0", "ignore", 0),
    ({NEW_MISSING: "skip"}, None, None, 1),
])
def test_columns_that_are_missing_are_as_in_the_version_that_is_imitated(more, release, wanted, code, tmp_path):
    done = _import(_properties(**more), *([] if release is None else ["--debezium", release]))
    assert done.returncode == code, done.stderr
    assert _settings(done.stdout).get("outbox.columns.missing") == wanted
    _loads(done.stdout, tmp_path)


def test_blanks_of_a_placement_count_before_2_5():
    placed = _properties(**{f"{ROUTER}table.fields.additional.placement": "a:header: b"})
    assert _marks(_import(placed, "--debezium", "2.4")) == [("CHECK", f"{ROUTER}table.fields.additional.placement")]
    assert _import(placed, "--debezium", "2.5").returncode == 0


UNKNOWN = "its value is defined elsewhere, so its effect is unknown: replace the placeholder and import the file"


@pytest.mark.parametrize("name", [
    "plugin.name", "snapshot.mode", "skipped.operations", "lsn.flush.mode", "flush.lsn.source", "transforms",
    "provide.transaction.metadata", "converters", "producer.override.partitioner.class", f"{ROUTER}type",
    f"{ROUTER}table.op.invalid.behavior", f"{ROUTER}route.tombstone.on.empty.payload", NEW_MISSING,
    f"{ROUTER}table.fields.additional.placement",
])
def test_what_a_placeholder_stands_for_is_not_judged(name, tmp_path):
    done = _import(_properties(**{name: "${FOO}"}))
    assert done.returncode == 1 and _marks(done) == [("CHECK", name)], done.stderr
    assert UNKNOWN in done.stderr
    _loads(done.stdout, tmp_path)


@pytest.mark.parametrize("table", ["$SCHEMA.outbox", "<schema>.outbox", "%SCHEMA%.outbox", "@schema@.outbox",
                                   "__SCHEMA__.outbox", "public.outbox_<env>"])
def test_a_placeholder_of_a_table_is_none_of_an_expression(table, tmp_path):
    done = _import(_properties(**{"table.include.list": table}))
    assert "CHECK: table.include.list: its value is defined elsewhere" in done.stderr
    assert "regular expression" not in done.stderr
    _loads(done.stdout, tmp_path)


def test_a_brokers_name_is_verified_while_nobody_knows_whether_it_is():
    name = "producer.override.ssl.endpoint.identification.algorithm"
    done = _import(_properties(**{name: "${FOO}"}))
    assert f"TO FILL IN: {name}" in done.stderr
    assert "kafka.ssl.endpoint.identification.algorithm" not in _settings(done.stdout)
    assert _settings(_import(_properties(**{name: ""})).stdout)["kafka.ssl.endpoint.identification.algorithm"] == "none"


@pytest.mark.parametrize("name, value, conninfo, said", [
    ("database.port", "abc", "host=db", "it is not a port number: set port in conninfo"),
    ("database.port", "65536", "host=db", "it is not a port number: set port in conninfo"),
    ("database.hostname", "db:5432", "", "it is not a host name or an address: set host in conninfo"),
    ("database.hostname", "", "", "it is empty: set host in conninfo"),
    ("database.hostname", "::1", "host=::1", None), ("database.hostname", "a.b,c-d", "host=a.b,c-d", None),
    ("database.sslmode", "VERIFY-Full", "host=db sslmode=verify-full", None),
])
def test_what_is_no_part_of_a_connection_is_to_be_filled_in(name, value, conninfo, said, tmp_path):
    done = _import(_properties(**{name: value}))
    assert done.returncode == 0, done.stderr
    assert _settings(done.stdout)["postgres.conninfo"] == conninfo
    assert _marks(done) == ([] if said is None else [("TO FILL IN", name)]) and (said or "") in done.stderr
    _loads(done.stdout, tmp_path)


def test_several_modes_share_one_long_sentence():
    done = _import(_properties(**{"time.precision.mode": "connect", "decimal.handling.mode": "string"}))
    assert done.stderr.count("its events would move to another partition") == 1
    assert "the same as for time.precision.mode applies to a value that is a numeric or a money" in done.stderr


def test_a_name_of_the_workers_counts_in_its_own_file_only():
    more = {"producer.compression.type": "zstd"}
    assert _settings(_import(_properties(**more)).stdout)["kafka.compression.type"] == "zstd"
    done = _import(json.dumps({"name": "shop", "config": {**WHOLE, **more}}))
    assert done.returncode == 0 and "kafka.compression.type" not in _settings(done.stdout)


@pytest.mark.parametrize("value, said", [
    ('"{}"', "A .properties file has neither quotes around a value nor comments after it"),
    ("{} # of the shop", "A .properties file has neither quotes around a value nor comments after it"),
    ("PostgresCdcSourceV2", "it is Confluent Cloud's connector"),
    ("io.debezium.connector.mysql.MySqlConnector", "walpost supports only Postgres"),
])
def test_a_class_that_is_not_debeziums_is_named_by_what_it_is(value, said):
    done = _import(_properties(**{"connector.class": value.format(WHOLE["connector.class"])}))
    assert done.returncode == 1 and said in done.stderr


@pytest.mark.parametrize("text, about", [
    (_compose("    env_file:\n    - a.env\n"), "env_file in line 9"),
    (_compose("    extends: {file: a.yaml, service: b}\n"), "extends in line 8"),
    (_compose("    volumes:\n    - ./conf:/debezium/conf\n"), "volumes in line 9"),
    (_compose("    volumes:\n    - ./all:/debezium:ro\n"), "volumes in line 9"),
    (_compose("    volumes:\n    - source: ./conf\n      target: /debezium/config\n"), "volumes in line 9"),
    (_compose("    configs:\n    - target: /debezium/conf/application.properties\n"), "configs in line 9"),
    (_compose("    command: [run, -Ddebezium.source.slot.name=x]\n"), "command in line 8"),
    ("x-a: &a\n  env_file: a.env\n" + _compose("    <<: *a\n"), "env_file in line 2"),
    (_compose().replace("services:", "x-a: &a {QUARKUS_PROFILE: prod}\nservices:").replace(
        "      DEBEZIUM_SINK", "      <<: *a\n      DEBEZIUM_SINK", 1), "QUARKUS_PROFILE"),
    (_compose(JAVA_OPTS="${MY_OPTS}"), "JAVA_OPTS"), (_compose(JAVA_OPTS=""), "JAVA_OPTS"),
    (_compose(**{"smallrye.config.locations": "/etc/x"}), "smallrye.config.locations"),
    (_compose(JAVA_OPTS="-Xmx1g -Ddebezium.source.slot.name=x"), "JAVA_OPTS"),
    (_compose(DEBEZIUM_OPTS="-Ddebezium.source.slot.name=x"), "debezium.opts"),
    (_compose(QUARKUS_PROFILE="prod"), "QUARKUS_PROFILE"),
    (_compose(_PROD_DEBEZIUM_SOURCE_SLOT_NAME="x"), "_PROD_DEBEZIUM_SOURCE_SLOT_NAME"),
    (_compose(DEBEZIUM_SOURCE_PROVIDE_TRANSACTION_METADATA="yes"), "debezium.source.provide.transaction.metadata"),
    ("docker run --env-file a.env \\\n" + "".join(f" -e {n}={v}" for n, v in SERVER.items()) + " debezium/server\n",
     "--env-file in line 1"),
    ("docker run" + "".join(f" -e {n}={v}" for n, v in SERVER.items()) + " debezium/server -Dquarkus.http.port=1\n",
     "-Dquarkus. in line 1"),
    ("docker run" + "".join(f" -e {n}={v}" for n, v in SERVER.items())
     + ' debezium/server "-Dquarkus.http.port=1 -Ddebezium.source.slot.name=x"\n', "-Ddebezium. in line 1"),
    ("docker run \\\n --mount=type=bind,target=/debezium/conf \\\n " + " ".join(
        f"-e {n}={v}" for n, v in SERVER.items()) + " debezium/server\n", "the volume in line 2"),
    ("docker run \\\n -v ./all:/debezium \\\n " + " ".join(
        f"-e {n}={v}" for n, v in SERVER.items()) + " debezium/server\n", "the volume in line 2"),
    ("".join(f"export {n}={v}\n" for n, v in SERVER.items()) + "docker run --env-file x " + " ".join(
        f"-e {n}" for n in SERVER) + " debezium/server\n", "--env-file in line 10"),
    ("docker run --mount type=bind,source=.,target=/debezium/conf " + " ".join(
        f"-e {n}={v}" for n, v in SERVER.items()) + " debezium/server\n", "the volume in line 1"),
    ("FROM debezium/server\nCOPY a.properties /debezium/conf/application.properties\n" + "".join(
        f"ENV {n}={v}\n" for n, v in SERVER.items()), "COPY or ADD in line 2"),
])
def test_what_sets_more_of_an_environment_is_marked(text, about, tmp_path):
    done = _import(text)
    assert done.returncode == 1 and [entry[1] for entry in _marks(done)] == [about], done.stderr
    _loads(done.stdout, tmp_path)


@pytest.mark.parametrize("more", [
    {}, {"JAVA_OPTS": "-Xmx1g"}, {"DEBEZIUM_OPTS": "-Dfoo"}, {"DEBEZIUM_SOURCE_PROVIDE_TRANSACTION_METADATA": "False"},
])
def test_what_sets_nothing_more_of_an_environment_is_not_marked(more):
    text = _compose("    volumes:\n    - ./data:/debezium/data\n    - ./debezium/conf/tls:/tls\n"
                    "    - /debezium/conf:/backup\n", **more)
    done = _import(text.replace("QUARKUS_PROFILE: app", "DEBEZIUM_VERSION: 3.0"))
    assert done.returncode == 0 and not _marks(done), done.stderr
    done = _import(text.replace("      QUARKUS_PROFILE: app", "    - QUARKUS_PROFILE=app\n    - JAVA_OPTS=$X"))
    assert done.returncode == 0 and not _marks(done), done.stderr


def test_what_a_container_takes_from_elsewhere_is_marked_unless_it_is_in_the_file():
    variables = "".join(f"    - {{name: {name}, value: {value}}}\n" for name, value in SERVER.items())
    text = ("kind: Pod\nspec:\n  containers:\n  - name: debezium\n    envFrom:\n    - configMapRef: {name: here}\n"
            f"    - configMapRef: {{name: there}}\n    - secretRef: {{name: login}}\n    env:\n{variables}"
            "---\nkind: ConfigMap\nmetadata: {name: here}\ndata: {A: b}\n")
    done = _import(text)
    assert _marks(done) == [("CHECK", "configMapRef in line 7"), ("CHECK", "secretRef in line 8")], done.stderr
    done = _import(text.replace("{name: here}\n    - ", "{name: here}\n      prefix: DEBEZIUM_\n    - "))
    assert ("CHECK", "configMapRef in line 6") in _marks(done)


@pytest.mark.parametrize("value, code", [("e.$$$${routedByValue}", 0), ("e.$${routedByValue}", 1)])
def test_two_dollar_signs_of_a_container_are_one(value, code):
    more = {"DEBEZIUM_TRANSFORMS_OUTBOX_ROUTE_TOPIC_REPLACEMENT": value}
    listed = [json.dumps({"name": name, "value": value.strip('"')}) for name, value in {**SERVER, **more}.items()]
    variables = "".join(f"    - {variable}\n" for variable in listed)
    done = _import(f"kind: Pod\nspec:\n  containers:\n  - name: debezium\n    env:\n{variables}")
    assert done.returncode == code and ("two dollar signs are one" in done.stderr) == (code == 1), done.stderr
    assert _settings(done.stdout)["outbox.topic.replacement"] == "e.${routedByValue}"


@pytest.mark.parametrize("beside, about", [
    ("smallrye:\n  config:\n    locations: /etc/x\n", "smallrye"), ("quarkus:\n  profile: prod\n", "quarkus.profile"),
    ("smallrye.config.locations: /etc/x\n", "smallrye.config.locations"),
])
def test_what_stands_beside_debezium_in_application_yaml_is_marked(beside, about):
    text = (GOLDEN / "import" / "application.yaml").read_text()
    assert about not in _import(text).stderr
    done = _import(text + beside)
    assert done.returncode == 1 and ("NOT SUPPORTED", about) in _marks(done)
    assert "is set again" not in done.stdout


@pytest.mark.parametrize("text, said", [
    ('{"connector.class": "A", "a": "x,}" "b": 1}', ": "),
    ("[env]\nX = 1\n", "it is no configuration of Debezium"),
    ("DEBEZIUM_SOURCE_PLUGIN_NAME = pgoutput\n", "pass lines of NAME=value, without spaces around the equal sign"),
    ('c.withEnv("DEBEZIUM_SOURCE_PLUGIN_NAME", "pgoutput")\n', "are in a form that walpost does not read"),
    ('resource "kafka_connect_connector" "a" {\n  config = {\n    "connector.class" = "A"\n  }\n}\n', "Terraform"),
    ('{"config": {"connector.class": "A", "tasks.max": {{ .Values.tasks }}}}', "if it is a template, pass what"),
    ('{"connector.class": "A",\n}', "JSON allows no comma before a closing bracket"),
    ('["shop"]', "from Kafka Connect, pass the answer to GET /connectors/NAME"),
    ('{"error_code": 404, "message": "no"}', "an answer of Kafka Connect without a configuration"),
    ('{"name": "shop", "connector": {"state": "RUNNING", "worker_id": "a"}, "tasks": []}', "GET /connectors/NAME"),
    ('{"shop": {"topics": ["a"]}}', "GET /connectors/NAME"),
])
def test_what_cannot_be_read_is_named_by_what_it_is(text, said):
    done = _import(text)
    assert done.returncode == 2 and not done.stdout and said in done.stderr
    assert done.stderr.count("\n") == 1
