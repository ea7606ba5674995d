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
	CHECK(!p.is_json);
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
	CHECK(p.is_json);
	wp_import_properties_release(&p);
}

static void what_stands_beside_the_config_is_marked(void **state)
{
	struct wp_import_properties p = properties_of(
		"{\"name\": \"n\",\n\"config\": {\"a\":\n1},\n\"tasks\": [{\"b\": 2}]}");

	CHECK_EQ(p.count, 3);
	CHECK(p.is_json);
	CHECK_TEXT(p.items[0].name, "name");
	CHECK(p.items[0].outside && !p.items[1].outside && p.items[2].outside);
	CHECK_EQ(p.items[1].line, 2);
	CHECK(p.items[2].value == NULL);
	CHECK_EQ(p.items[2].line, 4);
	wp_import_properties_release(&p);
}

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
	refused("[]", "line 1: it is an array; an object is required");
	refused("{\"a\": \"\\u0000\"}", "line 1: a NUL character in a text");
	refused("{\"a\":\n\"\\ud800\"}", "line 1: a \\u escape is half of a character");
	refused("{\"a\":\n1,\n\"b\": [2]}",
		"line 3: the value of a property is an object or an array; it must be a text, a "
		"number, true, false or null");
}

#define YAML_REFUSED                                                                               \
	"YAML is not supported. Pass the properties as name=value lines or as a JSON object: for " \
	"a KafkaConnector (Strimzi) the contents of config:, with its class: as connector.class; " \
	"for Debezium Server's application.yaml the same names with dots, such as "                \
	"debezium.source.plugin.name"

static void yaml_is_refused_in_one_sentence(void **state)
{
	refused("apiVersion: kafka.strimzi.io/v1\nkind: KafkaConnector\nmetadata:\n  name: n\n"
		"spec:\n  config:\n    plugin.name: pgoutput\n",
		"line 3: " YAML_REFUSED);
	refused("# mine\n---\nplugin.name: pgoutput\n", "line 2: " YAML_REFUSED);
	refused("debezium:\r\n\r\n  # mine\r\n  sink:\r\n    type: kafka\r\n",
		"line 1: " YAML_REFUSED);
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

static void a_list_of_connectors_is_refused_in_one_sentence(void **state)
{
	refused("{\"a\": {\"info\": {\"name\": \"a\", \"config\": {}}},\n\"b\": {\"info\": {}}}",
		"line 1: this is Kafka Connect's list of connectors; pass one of them, as GET "
		"/connectors/NAME returns it");
	refused("{\"a\": {\"status\": {}}}",
		"line 1: this is Kafka Connect's list of connectors; pass one of them, as GET "
		"/connectors/NAME returns it");
	refused("{\"apiVersion\": \"kafka.strimzi.io/v1\", \"spec\": {\"config\": {}}}",
		"line 1: this is a Kubernetes resource: pass the contents of its spec as config, "
		"with its class as connector.class");
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
		   PLAIN(yaml_is_refused_in_one_sentence), PLAIN(properties_are_not_taken_for_yaml),
		   PLAIN(a_list_of_connectors_is_refused_in_one_sentence),
		   PLAIN(json_that_is_none_is_refused_with_its_line),
		   PLAIN(there_is_a_limit_of_properties), PLAIN(there_is_a_limit_of_bytes));
}
