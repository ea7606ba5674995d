#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/check.h"
#include "walpost/import/properties.h"

static struct wp_import_properties properties_of(const char *text)
{
	struct wp_import_properties p;
	struct wp_error error = { "" };

	if (wp_import_read(wp_span_of(text), &p, &error) != WP_OK)
		CHECK_TEXT(error.text, "nothing");
	return p;
}

/* The only property of a text. */
static void one_is(const char *text, const char *name, const char *value)
{
	struct wp_import_properties p = properties_of(text);

	CHECK_EQ(p.count, 1);
	CHECK_TEXT(p.items[0].name, name);
	if (value == NULL)
		CHECK(p.items[0].value == NULL);
	else
		CHECK_TEXT(p.items[0].value, value);
	wp_import_properties_release(&p);
}

static void refused(const char *text, const char *said)
{
	struct wp_import_properties p;
	struct wp_error error = { "" };

	CHECK_EQ(wp_import_read(wp_span_of(text), &p, &error), WP_CONFIG);
	CHECK_TEXT(error.text, said);
}

static void a_separator_is_an_equal_sign_a_colon_or_space(void **state)
{
	one_is("a=b", "a", "b");
	one_is("a:b\n", "a", "b");
	one_is("a b", "a", "b");
	one_is("  a \t =  b ", "a", "b ");
	one_is("a==b", "a", "=b");
	one_is("a : = b", "a", "= b");
	one_is("a", "a", "");
	one_is("a=", "a", "");
	one_is("=b", "", "b");
}

static void a_backslash_makes_ordinary_what_follows(void **state)
{
	one_is("a\\ b\\=c\\:d=e", "a b=c:d", "e");
	one_is("a=\\t\\n\\r\\f\\q\\\\", "a", "\t\n\r\fq\\");
	one_is("regex=(?<c>[a-z]+)\\\\.(?<e>\\\\w+)", "regex", "(?<c>[a-z]+)\\.(?<e>\\w+)");
	one_is("\\#a=b", "#a", "b");
	one_is("a=b\\", "a", "b");
}

static void an_escaped_unit_is_a_character(void **state)
{
	one_is("a=\\u0041\\u00e9\\u20AC", "a", "A\xc3\xa9\xe2\x82\xac");
	one_is("a=\\ud83d\\ude00", "a", "\xf0\x9f\x98\x80");
	one_is("a=\xc3\xa9", "a", "\xc3\xa9");
}

static void a_line_goes_on_behind_a_backslash(void **state)
{
	one_is("a=b,\\\n   c,\\\r\n\td", "a", "b,c,d");
	one_is("a\\\n  b=c", "ab", "c");
	one_is("a=\\u00\\\n41", "a", "A");
	one_is("\\\n\n# x\na=b", "a", "b");
	one_is("a=b\\\\\n", "a", "b\\");
	one_is("a=b\\\n", "a", "b");
}

static void comments_and_blank_lines_are_nothing(void **state)
{
	one_is("# x=y \\\n! z\n\n  \t\n  # q\na=b # c\n", "a", "b # c");
	one_is("\xef\xbb\xbf"
	       "a=b",
	       "a", "b");
	one_is("\r\na=b\r\n", "a", "b");
}

static void each_property_knows_its_line(void **state)
{
	struct wp_import_properties p = properties_of("a=1\n# no\nb=2,\\\n3\nc=4\n");

	CHECK_EQ(p.count, 3);
	CHECK_EQ(p.items[0].line, 1);
	CHECK_EQ(p.items[1].line, 3);
	CHECK_EQ(p.items[2].line, 5);
	CHECK(p.form == NULL);
	wp_import_properties_release(&p);
}

static void json_is_an_object_of_properties(void **state)
{
	one_is("{\"a\": \"b\\n\\u0041\"}", "a", "b\nA");
	one_is(" {\"a\": 12.50}", "a", "12.50");
	one_is("{\"a\": true}", "a", "true");
	one_is("{\"a\": null}", "a", NULL);
	one_is("{\"config\": \"b\"}", "config", "b");
	one_is("{\"config\": {\"a\": \"b\"}}", "a", "b");
}

/* Nobody's JSON has them, but examples and files that are kept beside the connector do. */
static void comments_in_json_are_passed_over(void **state)
{
	one_is("// one\n{ // two\n \"a\": /* {\n} */ \"b\" } // three", "a", "b");
	one_is("/* license\n * { */ {\"a\": \"b\"}", "a", "b");
	one_is("# one\n{ # two\n\"a\": \"b\" }\n", "a", "b");
	one_is("{\"a\": \"http://x/*#*/ \\\" // y\"}", "a", "http://x/*#*/ \" // y");
	one_is("# {\na=b", "a", "b");
	refused("{\n/* x\n", "line 2: a comment is not closed");
	refused("// x\n{\n", "line 3: a name in double quotes is missing");
	struct wp_import_properties p =
		properties_of("// 1\n{\n# 3\n\"a\": 1 /* 4\n5 */,\n\"b\": 2}");
	CHECK_EQ(p.items[0].line, 4);
	CHECK_EQ(p.items[1].line, 6);
	CHECK_TEXT(p.form, "a Kafka Connect connector's JSON");
	wp_import_properties_release(&p);
}

static void what_stands_beside_the_config_is_marked(void **state)
{
	struct wp_import_properties p = properties_of(
		"{\"name\": \"n\",\n\"config\": {\"a\":\n1},\n\"tasks\": [{\"b\": 2}]}");

	CHECK_EQ(p.count, 3);
	CHECK_TEXT(p.form, "a Kafka Connect connector's JSON");
	CHECK_TEXT(p.items[0].name, "name");
	CHECK(p.items[0].outside && !p.items[1].outside && p.items[2].outside);
	CHECK_EQ(p.items[1].line, 2);
	CHECK(p.items[2].value == NULL);
	CHECK_EQ(p.items[2].line, 4);
	wp_import_properties_release(&p);
}

#define ANSWERS "; from Kafka Connect, pass the answer to GET /connectors/NAME"

static void what_is_no_configuration_is_refused_with_its_line(void **state)
{
	refused("", "it contains no property");
	refused("{}", "it contains no property");
	refused("a=b\nc=\xff", "line 2: not UTF-8");
	refused("a=\\u00", "line 1: \\u requires four hexadecimal digits");
	refused("\na=\\uzzzz", "line 2: \\u requires four hexadecimal digits");
	refused("a=\\ud83d", "line 1: a \\u escape is half of a character");
	refused("a=\\ud83d\\u0041", "line 1: a \\u escape is half of a character");
	refused("a=\\ude00", "line 1: a \\u escape is half of a character");
	refused("a=\\u0000", "line 1: a NUL character in a text");
	refused("[]", "line 1: an array without a connector in it; an object is required" ANSWERS);
	refused("{\"a\": \"\\u0000\"}", "line 1: a NUL character in a text");
	refused("{\"a\":\n\"\\ud800\"}", "line 1: a \\u escape is half of a character");
	refused("{\"a\":\n1,\n\"b\": [2]}",
		"line 3: the value of a property is an object or an array; it must be a text, a "
		"number, true, false or null" ANSWERS);
}

#define CLASS "io.debezium.connector.postgresql.PostgresConnector"
#define ROUTER "io.debezium.transforms.outbox.EventRouter"

/* Name and value of each in turn; NULL ends them. */
static void all_are(const char *text, const char *form, const char *const *wanted)
{
	struct wp_import_properties p = properties_of(text);
	size_t i = 0;

	if (form == NULL)
		CHECK(p.form == NULL);
	else
		CHECK_TEXT(p.form, form);
	for (; wanted[2 * i] != NULL; i++) {
		CHECK(i < p.count);
		CHECK_TEXT(p.items[i].name, wanted[2 * i]);
		CHECK_TEXT(p.items[i].value, wanted[2 * i + 1]);
	}
	CHECK_EQ(p.count, i);
	wp_import_properties_release(&p);
}

#define ALL_ARE(text, form, ...) all_are(text, form, (const char *const[]){ __VA_ARGS__, NULL })

static void a_connector_of_strimzi_is_its_class_and_its_config(void **state)
{
	static const char form[] = "a KafkaConnector of Strimzi";

	ALL_ARE("kind: KafkaConnector\nspec:\n  class: C\n  tasksMax: 1\n  config:\n"
		"    a: \"b\" # c\n    d: 'e'\n    f: no\n    g: \"no\"\n    h: 5\n",
		form, "connector.class", "C", "tasks.max", "1", "a", "b", "d", "e", "f", "false",
		"g", "no", "h", "5");
	ALL_ARE("kind: List\nitems:\n- {kind: ConfigMap}\n- spec: {class: C, config: {a: b}}\n",
		form, "connector.class", "C", "a", "b");
	ALL_ARE("kind: ConfigMap\n---\nkind: KafkaConnector\nspec: {class: C, config: {a: b}}\n",
		form, "connector.class", "C", "a", "b");
	ALL_ARE("{\"items\": [{\"spec\": {\"class\": \"C\", \"config\": {\"a\": \"b\"}}}]}", form,
		"connector.class", "C", "a", "b");
}

static void a_strimzi_worker_names_converters_and_brokers(void **state)
{
	ALL_ARE("kind: KafkaConnect\nspec:\n  bootstrapServers: k:9092\n  config:\n    group.id: "
		"g\n"
		"    key.converter: K\n    value.converter: V\n    value.converter.schemas.enable: "
		"false\n"
		"---\nkind: KafkaConnector\nspec:\n  class: C\n  config: {key.converter: L}\n",
		"a KafkaConnector of Strimzi", "connector.class", "C", "bootstrap.servers",
		"k:9092", "value.converter", "V", "value.converter.schemas.enable", "false",
		"key.converter", "L");
}

static void what_yaml_merges_comes_first(void **state)
{
	ALL_ARE("x: &x {a: 1, b: 2}\nspec:\n  class: C\n  config: {b: 3, <<: *x}\n",
		"a KafkaConnector of Strimzi", "connector.class", "C", "a", "1", "b", "2", "b",
		"3");
	ALL_ARE("spec: {class: C, config: {a: !vault b, <<: [{c: d, <<: {e: f}}]}}\n",
		"a KafkaConnector of Strimzi", "connector.class", "C", "e", "f", "c", "d", "a",
		"${a YAML tag}");
	ALL_ARE("---\ndebezium: {source: {a: own, <<: {a: base, b: c}}}\n\"%prod\": {debezium: {x: "
		"y}}\n",
		"Debezium Server's application.yaml", "debezium.source.a", "base",
		"debezium.source.b", "c", "debezium.source.a", "own", "%prod", "(below it)");
	refused("---\nspec: {class: C, config: {<<: [{a: b}, {c: d}]}}\n",
		"line 2: << is read with one map only");
	ALL_ARE("spec: {class: C, config: {a: !!str no}}\n", "a KafkaConnector of Strimzi",
		"connector.class", "C", "a", "no");
}

static void a_flat_map_is_yaml_and_equal_signs_are_properties(void **state)
{
	ALL_ARE("connector.class: \"C\" # c\na: b # d\n", "a Kafka Connect connector's YAML",
		"connector.class", "C", "a", "b");
	ALL_ARE("connector.class=C\na: \"b\"\n", NULL, "connector.class", "C", "a", "\"b\"");
	ALL_ARE("connector.class: C\na: [b: c]+\n", NULL, "connector.class", "C", "a", "[b: c]+");
	ALL_ARE("a: b # c\n", NULL, "a", "b # c");
	ALL_ARE("DEBEZIUM_SOURCE_A: b\nDEBEZIUM_SOURCE_C: d\n", "Debezium Server's environment",
		"debezium.source.a", "b", "debezium.source.c", "d");
}

static void variables_win_over_the_file_of_the_server(void **state)
{
	ALL_ARE("data:\n  application.properties: |\n    debezium.source.connector.class=C\n---\n"
		"env: [{name: DEBEZIUM_SOURCE_A, value: b}]\n",
		"Debezium Server's properties", "debezium.source.connector.class", "C",
		"debezium.source.a", "b");
}

/* The second is the one that routes. */
static void of_several_connectors_the_only_router_is_taken(void **state)
{
	static const char sink[] = "[{\"config\": {\"connector.class\": \"S\"}},\n";
	char text[1024];

	(void)snprintf(text, sizeof(text),
		       "%s{\"config\": {\"connector.class\": \"%s\", \"t\": \"%s\"}}]", sink, CLASS,
		       ROUTER);
	ALL_ARE(text, "a Kafka Connect connector's JSON", "connector.class", CLASS, "t", ROUTER);
	(void)snprintf(text, sizeof(text), "%s{\"config\": {\"connector.class\": \"T\"}}]", sink);
	refused(text, "it holds 2 connectors, in lines 1, 2: pass one of them");
	(void)snprintf(text, sizeof(text),
		       "%s{\"connector.class\": \"%s\", \"t\": \"%s\"},\n"
		       "{\"connector.class\": \"%s\", \"t\": \"%s\"}]",
		       sink, CLASS, ROUTER, CLASS, ROUTER);
	refused(text, "it holds 3 connectors, in lines 1, 2, 3: pass one of them");
	ALL_ARE("{\"n\": {\"info\": {\"name\": \"n\", \"config\": {\"connector.class\": \"C\"}}}}",
		"a Kafka Connect connector's JSON", "name", "n", "connector.class", "C");
}

static void the_environment_of_debezium_server_is_its_properties(void **state)
{
	static const char form[] = "Debezium Server's environment";

	ALL_ARE("# a\nexport DEBEZIUM_SOURCE_A_B=\"c \\\"d\\\" # e\"\nX=y\nDEBEZIUM_TRANSFORMS=o\n"
		"DEBEZIUM_SINK_TYPE = 'no'\nDEBEZIUM_SINK_TYPE='k' # f\n#DEBEZIUM_X_Y=z\n"
		"DEBEZIUM_FORMAT_KEY=a b  # c\ndebezium.format.value=l\n",
		form, "debezium.source.a.b", "c \"d\" # e", "debezium.transforms", "o",
		"debezium.sink.type", "k", "debezium.format.key", "a b", "debezium.format.value",
		"l");
	ALL_ARE("docker run -e DEBEZIUM_SOURCE_A=b -e 'DEBEZIUM_SOURCE_C=d e' "
		"--env=DEBEZIUM_SOURCE_F=g \\\n"
		"  --env DEBEZIUM_SOURCE_H=\"i \\\\. $J\" x=y \\\n  -e debezium.sink.type=k "
		"-eDEBEZIUM_TRANSFORMS=o \\\n"
		"-e DEBEZIUM_SOURCE_L i -e OTHER\n",
		form, "debezium.source.a", "b", "debezium.source.c", "d e", "debezium.source.f",
		"g", "debezium.source.h", "i \\. $J", "debezium.sink.type", "k",
		"debezium.transforms", "o", "debezium.source.l", "${from the environment}");
	ALL_ARE("ENV DEBEZIUM_TRANSFORMS=o DEBEZIUM_SOURCE_A=\"b c\" \\\n  DEBEZIUM_SOURCE_D=e\n"
		"DEBEZIUM_SOURCE_F=g \\\n  DEBEZIUM_SOURCE_H=i\nexport DEBEZIUM_SOURCE_J=k; export "
		"DEBEZIUM_SOURCE_L=m\n",
		form, "debezium.transforms", "o", "debezium.source.a", "b c", "debezium.source.d",
		"e", "debezium.source.f", "g", "debezium.source.h", "i", "debezium.source.j", "k",
		"debezium.source.l", "m");
	refused("DEBEZIUM_TRANSFORMS=o\nDEBEZIUM_SOURCE_A='b\nc\n",
		"line 2: a quotation mark is not closed");
	ALL_ARE("ENV DEBEZIUM_TRANSFORMS o p\nDEBEZIUM_SOURCE_A=/b\\\nDEBEZIUM_SOURCE_C=d\n", form,
		"debezium.transforms", "o p", "debezium.source.a", "/b\\", "debezium.source.c",
		"d");
	ALL_ARE("export DEBEZIUM_TRANSFORMS=o\ndocker run -e DEBEZIUM_TRANSFORMS -e "
		"DEBEZIUM_SOURCE_A=b x\n"
		"docker run -e DEBEZIUM_TRANSFORMS=\"${DEBEZIUM_TRANSFORMS}\" x\n",
		form, "debezium.transforms", "o", "debezium.source.a", "b");
	refused("docker run -e DEBEZIUM_TRANSFORMS=o x; docker run -e DEBEZIUM_TRANSFORMS=p x\n",
		"lines 1 and 1 set debezium.transforms to different values, as for two Debezium "
		"Servers: "
		"pass the environment of one");
	refused("docker run -e DEBEZIUM_TRANSFORMS=o x\ndocker run -e DEBEZIUM_TRANSFORMS=p x\n",
		"lines 1 and 2 set debezium.transforms to different values, as for two Debezium "
		"Servers: "
		"pass the environment of one");
	/* Others' lines are none. */
	ALL_ARE("DEBEZIUM_SOURCE_HOST=db\ncurl -d '{\"connector.class\": \"C\"}'",
		"a Kafka Connect connector's JSON", "connector.class", "C");
	ALL_ARE("debezium.source.plugin.name=pgoutput\nDEBEZIUM_SOURCE_A=b\n", NULL,
		"debezium.source.plugin.name", "pgoutput", "DEBEZIUM_SOURCE_A", "b");
	ALL_ARE("services:\n  s:\n    environment:\n      DEBEZIUM_SOURCE_A: $$${b}\n"
		"      DEBEZIUM_SOURCE_C:\n      OTHER: d\n",
		form, "debezium.source.a", "$${b}", "debezium.source.c", "${from the environment}");
	ALL_ARE("services:\n  s:\n    environment:\n    - DEBEZIUM_SOURCE_A=b=c\n"
		"    - debezium.sink.type=kafka\n    - OTHER=d\n    - DEBEZIUM_SOURCE_E\n",
		form, "debezium.source.a", "b=c", "debezium.sink.type", "kafka",
		"debezium.source.e", "${from the environment}");
	ALL_ARE("env:\n- {name: DEBEZIUM_SOURCE_A, value: \"1\"}\n"
		"- {name: DEBEZIUM_SOURCE_B, valueFrom: {secretKeyRef: {name: DEBEZIUM_X}}}\n",
		form, "debezium.source.a", "1", "debezium.source.b", "${from the environment}");
	ALL_ARE("x: &x\n  DEBEZIUM_SOURCE_A: b\ny:\n  <<: *x\n  DEBEZIUM_SOURCE_C: d\n", form,
		"debezium.source.a", "b", "debezium.source.c", "d");
	ALL_ARE("x: &x {DEBEZIUM_SOURCE_A: b, DEBEZIUM_SOURCE_B: c}\ny:\n  <<: *x\n  "
		"DEBEZIUM_SOURCE_A: d\n",
		form, "debezium.source.a", "b", "debezium.source.b", "c", "debezium.source.a", "d");
	ALL_ARE("{\"env\": [{\"name\": \"DEBEZIUM_SOURCE_A\", \"value\": \"1\"}]}", form,
		"debezium.source.a", "1");
	ALL_ARE("kind: Secret\ndata: {DEBEZIUM_SOURCE_DATABASE_USER: czNj}\n", form,
		"debezium.source.database.user", "${from the environment}");
	refused("a:\n  DEBEZIUM_SOURCE_SLOT_NAME: C\nb:\n  DEBEZIUM_SOURCE_SLOT_NAME: D\n",
		"lines 2 and 4 set debezium.source.slot.name to different values, as for two "
		"Debezium "
		"Servers: pass the environment of one");
	ALL_ARE("kind: ConfigMap\ndata: {DEBEZIUM_SOURCE_A: b}\n---\nenv: [{name: "
		"DEBEZIUM_SOURCE_A, value: c}]\n",
		form, "debezium.source.a", "b", "debezium.source.a", "c");
	ALL_ARE("a: &a {DEBEZIUM_SOURCE_A: b}\nc: &c {<<: *a}\nd: {<<: *c, DEBEZIUM_SOURCE_A: e}\n",
		form, "debezium.source.a", "b", "debezium.source.a", "e");
	ALL_ARE("a: &a {DEBEZIUM_SOURCE_A: b}\nc: &c {DEBEZIUM_SOURCE_A: d}\ne: {<<: [*a, *c]}\n",
		form, "debezium.source.a", "b");
	refused("x: &x {DEBEZIUM_SOURCE_A: b}\ny: {<<: *x, DEBEZIUM_SOURCE_C: d}\n"
		"z: {<<: *x, DEBEZIUM_SOURCE_C: e}\n",
		"lines 2 and 3 set debezium.source.c to different values, as for two Debezium "
		"Servers: pass "
		"the environment of one");
}

static void the_files_of_debezium_server_are_read_within_yaml(void **state)
{
	ALL_ARE("debezium:\n  source:\n    plugin.name: pgoutput\n    a: {b: c}\n"
		"  transforms: {~: o, o: {type: t}}\nquarkus: {x: y}\n",
		"Debezium Server's application.yaml", "debezium.source.plugin.name", "pgoutput",
		"debezium.source.a.b", "c", "debezium.transforms", "o",
		"debezium.transforms.o.type", "t");
	struct wp_import_properties p =
		properties_of("kind: ConfigMap\ndata:\n  application.properties: |\n    # one\n"
			      "    debezium.source.connector.class=a\\\n     b\n    c=d\n");
	CHECK_EQ(p.count, 2);
	CHECK_TEXT(p.items[0].value, "ab");
	CHECK_EQ(p.items[0].line, 5);
	CHECK_EQ(p.items[1].line, 7);
	wp_import_properties_release(&p);
}

static void json_within_a_script_is_read(void **state)
{
	ALL_ARE("curl ${URL} -d '{\"x\": 1}' && {\ncurl -d '{\"config\": {\n\"connector.class\": "
		"\"C\"}}'\n}",
		"a Kafka Connect connector's JSON", "connector.class", "C");
	refused("curl -d \"{\\\"connector.class\\\": 1}\"",
		"it holds JSON with a backslash before each quote: pass the JSON alone, as it is "
		"sent");
	refused("curl -d '\n{\"connector.class\": 1,\n \"a\": $B}'",
		"the JSON that begins in line 2 cannot be read from line 3 on: a value is missing. "
		"Pass the JSON alone, as it is sent");
	refused("curl -d '{\"connector.class\": 1, \"a\": $B}'\ncurl -d '{\"connector.class\": "
		"\"C\"}'",
		"the JSON that begins in line 1 cannot be read from line 1 on: a value is missing. "
		"Pass the JSON alone, as it is sent");
	ALL_ARE("# {\"connector.class\": \"C\"}\nslot.name=e\n", NULL, "slot.name", "e");
}

#define NO_CONNECTOR                                                               \
	"it is YAML, but has no KafkaConnector, no connector.class, no variables " \
	"DEBEZIUM_SOURCE_... and no debezium: as in Debezium Server's application.yaml"

static void yaml_without_a_connector_is_refused(void **state)
{
	char deep[2 * 80 + 8] = "a:\n- ";

	refused("kind: Pod\nspec:\n  env: []\n", NO_CONNECTOR);
	refused("image:\n  environment: {DEBEZIUM_VERSION: 2.1}\n", NO_CONNECTOR);
	refused("--- \na: b\n", NO_CONNECTOR);
	refused("kind: DebeziumServer\nspec:\n  source: {class: C, config: {a: b}}\n",
		"line 1: a DebeziumServer of Debezium's operator is not read: pass the "
		"application.properties that the operator makes of it");
	refused("a:\n  b: \"c\n",
		"line 3: as YAML it cannot be read: found unexpected end of stream");
	refused("a:\n  b: {{ .Values.c }}\n", "line 2: as YAML it cannot be read: a name must be a "
					      "text; if it is a template, pass what "
					      "is made of it, for example by `helm template`");
	refused("a:\n  - &b [*b]\n",
		"line 2: as YAML it cannot be read: an alias stands for nothing above it, or for "
		"what it is within");
	for (size_t i = 0; i < 80; i++)
		(void)strcat(deep, "[");
	refused(deep, "line 2: as YAML it cannot be read: too much within each other");
}

static void properties_are_not_taken_for_yaml(void **state)
{
	one_is("a:\n", "a", "");
	one_is("a: \\\n  b\n", "a", "b");
	one_is("--- a", "---", "a");

	struct wp_import_properties p = properties_of("a:\nb:\n  # c\nd=e:\n  f=g\nh\\:\n  i=j\n");
	CHECK_EQ(p.count, 6);
	wp_import_properties_release(&p);
}

static void json_without_a_connector_is_refused(void **state)
{
	refused("{\"apiVersion\": \"v1\", \"spec\": {\"containers\": []}}",
		"line 1: a resource of Kubernetes without a KafkaConnector in it, and without "
		"variables "
		"DEBEZIUM_SOURCE_...");
	refused("{\"a\": {\"status\": {}}}", "line 1: the value of a property is an object or an "
					     "array; it must be a text, a number, "
					     "true, false or null" ANSWERS);
}

static void json_that_is_none_is_refused_with_its_line(void **state)
{
	struct wp_import_properties p;
	struct wp_error error = { "" };

	CHECK_EQ(wp_import_read(wp_span_of("{\n\"a\": \"b\",\n}"), &p, &error), WP_CONFIG);
	CHECK_HAS(error.text, "line 3: ");
}

/* As many properties as asked for, each a line. */
static enum wp_rc read_many(size_t count, struct wp_error *error)
{
	struct wp_import_properties p = { .count = 0 };
	char *text = malloc(count * 2 + 1);

	assert_non_null(text);
	for (size_t i = 0; i < count; i++)
		memcpy(text + 2 * i, "a\n", 2);
	text[2 * count] = '\0';
	enum wp_rc rc = wp_import_read(wp_span_of(text), &p, error);
	if (rc == WP_OK) {
		CHECK_EQ(p.count, count);
		CHECK_TEXT(p.items[count - 1].name, "a");
		wp_import_properties_release(&p);
	}
	free(text);
	return rc;
}

static void there_is_a_limit_of_properties(void **state)
{
	struct wp_error error;

	CHECK_EQ(read_many(WP_IMPORT_PROPERTIES_MAX, &error), WP_OK);
	CHECK_EQ(read_many(WP_IMPORT_PROPERTIES_MAX + 1, &error), WP_CONFIG);
	CHECK_TEXT(error.text, "it has more than 4096 properties");
}

static void there_is_a_limit_of_bytes(void **state)
{
	struct wp_import_properties p;
	struct wp_error error;
	char *text = calloc(1, WP_IMPORT_SIZE_MAX + 1);

	assert_non_null(text);
	memset(text, 'a', WP_IMPORT_SIZE_MAX + 1);
	CHECK_EQ(
		wp_import_read((struct wp_span){ (uint8_t *)text, WP_IMPORT_SIZE_MAX }, &p, &error),
		WP_OK);
	wp_import_properties_release(&p);
	CHECK_EQ(wp_import_read((struct wp_span){ (uint8_t *)text, WP_IMPORT_SIZE_MAX + 1 }, &p,
				&error),
		 WP_CONFIG);
	CHECK_TEXT(error.text, "it is larger than 1 MiB");
	free(text);
}

int main(void)
{
	return RUN(PLAIN(a_separator_is_an_equal_sign_a_colon_or_space),
		   PLAIN(a_backslash_makes_ordinary_what_follows),
		   PLAIN(an_escaped_unit_is_a_character), PLAIN(a_line_goes_on_behind_a_backslash),
		   PLAIN(comments_and_blank_lines_are_nothing), PLAIN(each_property_knows_its_line),
		   PLAIN(json_is_an_object_of_properties), PLAIN(comments_in_json_are_passed_over),
		   PLAIN(what_stands_beside_the_config_is_marked),
		   PLAIN(what_is_no_configuration_is_refused_with_its_line),
		   PLAIN(a_connector_of_strimzi_is_its_class_and_its_config),
		   PLAIN(of_several_connectors_the_only_router_is_taken),
		   PLAIN(a_strimzi_worker_names_converters_and_brokers),
		   PLAIN(what_yaml_merges_comes_first),
		   PLAIN(a_flat_map_is_yaml_and_equal_signs_are_properties),
		   PLAIN(variables_win_over_the_file_of_the_server),
		   PLAIN(the_environment_of_debezium_server_is_its_properties),
		   PLAIN(the_files_of_debezium_server_are_read_within_yaml),
		   PLAIN(json_within_a_script_is_read), PLAIN(yaml_without_a_connector_is_refused),
		   PLAIN(properties_are_not_taken_for_yaml),
		   PLAIN(json_without_a_connector_is_refused),
		   PLAIN(json_that_is_none_is_refused_with_its_line),
		   PLAIN(there_is_a_limit_of_properties), PLAIN(there_is_a_limit_of_bytes));
}
