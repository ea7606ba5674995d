/* Keys, values and headers in other forms than raw, and where a record goes besides. */
#include <stdio.h>
#include <string.h>

#include "support/rows.h"
#include "support/check.h"
#include "walpost/outbox/shape.h"
#include "walpost/outbox/subjects.h"

static const struct wp_column_type text_type = { .type = WP_TYPE_TEXT,
						 .modifier = -1,
						 .is_optional = true };
static const struct wp_column_type uuid_type = { .type = WP_TYPE_UUID, .modifier = -1 };
static const struct wp_column_type json_type = { .type = WP_TYPE_JSONB,
						 .modifier = -1,
						 .is_optional = true };
static const struct wp_column_type bytea_type = { .type = WP_TYPE_BYTEA,
						  .modifier = -1,
						  .is_optional = true };
static const struct wp_column_type int8_type = { .type = WP_TYPE_INT8,
						 .modifier = -1,
						 .is_optional = true };
static const struct wp_column_type bool_type = { .type = WP_TYPE_BOOL,
						 .modifier = -1,
						 .is_optional = true };
static const struct wp_column_type timestamptz_type = { .type = WP_TYPE_TIMESTAMPTZ,
							.modifier = -1 };

static struct wp_outbox_options options;
static struct wp_event event;
static struct wp_shape *shape;
static struct wp_record record;
static struct wp_error error;

static int set_up(void **state)
{
	options = default_options();
	options.headers_standard = "";
	shape = NULL;
	event = (struct wp_event){
		.id = wp_span_of("7"),
		.key = wp_span_of("42"),
		.type = wp_span_of("Created"),
		.route = wp_span_of("Order"),
		.payload = wp_span_of("{\"a\": 1}"),
		.id_type = &uuid_type,
		.key_type = &text_type,
		.type_type = &text_type,
		.payload_type = &json_type,
		.timestamp_type = &timestamptz_type,
		.table = "public.outbox",
		.schema = wp_span_of("public"),
		.name = wp_span_of("outbox"),
		.commit_time_us = 1500,
		.position = { .timeline = 1, .commit_lsn = 0x194AB88, .ordinal = 2 },
	};
	return 0;
}

static int tear_down(void **state)
{
	wp_shape_free(shape);
	return 0;
}

static enum wp_rc form(void)
{
	wp_shape_free(shape);
	shape = NULL;
	error.text[0] = '\0';
	if (wp_shape_new(&options, 4096, &shape, &error) != WP_OK)
		fail_msg("%s", error.text);
	return wp_shape_record(shape, &event, &record, &error);
}

static void formed(void)
{
	if (form() != WP_OK)
		fail_msg("%s", error.text);
}

static void poisoned(const char *reason)
{
	CHECK_EQ(form(), WP_DATA);
	CHECK_HAS(error.text, "table public.outbox, id 7: ");
	CHECK_HAS(error.text, reason);
}

static void not_together(const char *reason)
{
	struct wp_shape *none = NULL;

	CHECK_EQ(wp_shape_new(&options, 4096, &none, &error), WP_CONFIG);
	CHECK(none == NULL);
	CHECK_HAS(error.text, reason);
}

static void has_header(size_t index, const char *name, const char *value)
{
	CHECK(index < record.header_count);
	CHECK_SPAN(record.headers[index].name, name);
	CHECK_EQ(record.headers[index].name.data[strlen(name)], '\0');
	if (value == NULL)
		CHECK(wp_span_is_null(record.headers[index].value));
	else
		CHECK_SPAN(record.headers[index].value, value);
}

/* -- key and value ------------------------------------------------------------- */

static void json_puts_quotes_around_a_key_and_escapes_as_jackson_does(void **state)
{
	options.key_format = WP_FORM_JSON;
	formed();
	CHECK_SPAN(record.key, "\"42\"");
	event.key = wp_span_of("a\"\xF0\x9F\x98\x80");
	formed();
	CHECK_SPAN(record.key, "\"a\\\"\\uD83D\\uDE00\"");
}

static void a_null_key_is_null_raw_and_four_letters_in_json(void **state)
{
	event.key = (struct wp_span){ 0 };
	formed();
	CHECK(wp_span_is_null(record.key));
	options.key_format = WP_FORM_JSON;
	formed();
	CHECK_SPAN(record.key, "null");
	options.key_format = WP_FORM_JSON_SCHEMA;
	formed();
	CHECK_SPAN(record.key, "{\"schema\":{\"type\":\"string\",\"optional\":true},"
			       "\"payload\":null}");
}

static void a_number_is_one_as_debezium_renders_it_and_a_text_as_postgres_does(void **state)
{
	event.key_type = &int8_type;
	options.key_format = WP_FORM_JSON;
	formed();
	CHECK_SPAN(record.key, "\"42\"");
	options.types = WP_RENDERING_DEBEZIUM;
	formed();
	CHECK_SPAN(record.key, "42");
	options.key_format = WP_FORM_RAW;
	formed();
	CHECK_SPAN(record.key, "42");
	event.key = wp_span_of("t");
	event.key_type = &bool_type;
	formed();
	CHECK_SPAN(record.key, "true");
	options.types = WP_RENDERING_POSTGRES;
	formed();
	CHECK_SPAN(record.key, "t");
}

static void a_json_payload_is_a_string_in_json_unless_it_is_validated(void **state)
{
	options.value_format = WP_FORM_JSON;
	formed();
	CHECK_SPAN(record.value, "\"{\\\"a\\\": 1}\"");
	options.payload_json = WP_PAYLOAD_JSON_VALIDATE;
	formed();
	CHECK_SPAN(record.value, "{\"a\": 1}");
	options.value_format = WP_FORM_JSON_SCHEMA;
	formed();
	CHECK_SPAN(record.value, "{\"schema\":null,\"payload\":{\"a\": 1}}");
}

static void validation_keeps_each_byte_and_refuses_what_is_no_json(void **state)
{
	static const char odd[] = " {\"b\":1.50,\"a\":null,\"a\":[],\"n\":123456789012345678901} ";

	options.payload_json = WP_PAYLOAD_JSON_VALIDATE;
	event.payload = wp_span_of(odd);
	event.payload_type = &text_type;
	formed();
	CHECK_SPAN(record.value, odd);
	event.payload = (struct wp_span){ 0 };
	formed();
	CHECK(wp_span_is_null(record.value));
	event.payload = wp_span_of("{\"a\":");
	poisoned("the value: the payload is not JSON at byte 5 of 5");
	CHECK_SPAN(record.value, "{\"a\":");
}

static void expansion_writes_json_anew(void **state)
{
	options.value_format = WP_FORM_JSON;
	options.payload_json = WP_PAYLOAD_JSON_EXPAND;
	event.payload = wp_span_of("{\"a\": 1.50, \"b\": null, \"c\": []}");
	formed();
	CHECK_SPAN(record.value, "{\"a\":1.5}");
	options.expand_nulls = options.expand_empty_arrays = WP_EXPAND_KEEP;
	formed();
	CHECK_SPAN(record.value, "{\"a\":1.5,\"b\":null,\"c\":[]}");
	event.payload = wp_span_of("\"text\"");
	formed();
	CHECK_SPAN(record.value, "\"\\\"text\\\"\"");
	event.payload = wp_span_of("[1]");
	poisoned("the value: ");
}

static void bytes_are_base64_in_json(void **state)
{
	event.payload_type = &bytea_type;
	event.payload = wp_span_of("\\x00ff");
	event.payload_is_bytea = true;
	options.value_format = WP_FORM_JSON;
	formed();
	CHECK_SPAN(record.value, "\"AP8=\"");
	options.value_format = WP_FORM_JSON_SCHEMA;
	formed();
	CHECK_SPAN(record.value,
		   "{\"schema\":{\"type\":\"bytes\",\"optional\":true},\"payload\":\"AP8=\"}");
}

static void an_empty_payload_can_be_a_tombstone(void **state)
{
	static const char *const blank[] = { "", " \t\n ", "\x01" };

	for (size_t i = 0; i < 3; i++) {
		event.payload = wp_span_of(blank[i]);
		options.payload_empty = WP_PAYLOAD_EMPTY_KEEP;
		formed();
		CHECK_SPAN(record.value, blank[i]);
		options.payload_empty = WP_PAYLOAD_EMPTY_TOMBSTONE;
		formed();
		CHECK(wp_span_is_null(record.value));
	}
	event.payload = wp_span_of("\xC2\xA0"); /* a space to people, not to Java */
	formed();
	CHECK_SPAN(record.value, "\xC2\xA0");
	options.value_format = WP_FORM_JSON;
	event.payload = (struct wp_span){ 0 };
	formed();
	CHECK(wp_span_is_null(record.value));
	options.payload_empty = WP_PAYLOAD_EMPTY_KEEP;
	formed();
	CHECK_SPAN(record.value, "null");
}

static void columns_stand_beside_the_payload(void **state)
{
	options.value_format = WP_FORM_JSON;
	options.value_columns = "n,t";
	options.types = WP_RENDERING_DEBEZIUM;
	event.members.count = 2;
	event.members.items[0] =
		(struct wp_event_field){ wp_span_of("n"), wp_span_of("5"), &int8_type };
	event.members.items[1] = (struct wp_event_field){ wp_span_of("t\""), { 0 }, &text_type };
	formed();
	CHECK_SPAN(record.value, "{\"payload\":\"{\\\"a\\\": 1}\",\"n\":5,\"t\\\"\":null}");
	options.value_format = WP_FORM_JSON_SCHEMA;
	options.debezium_name = "shop";
	formed();
	CHECK_SPAN(record.value,
		   "{\"schema\":{\"type\":\"struct\",\"fields\":["
		   "{\"type\":\"string\",\"optional\":true,\"name\":\"io.debezium.data.Json\","
		   "\"version\":1,\"field\":\"payload\"},"
		   "{\"type\":\"int64\",\"optional\":true,\"field\":\"n\"},"
		   "{\"type\":\"string\",\"optional\":true,\"field\":\"t\\\"\"}],"
		   "\"optional\":false,\"name\":\"shop.public.outbox.Order.Value\"},"
		   "\"payload\":{\"payload\":\"{\\\"a\\\": 1}\",\"n\":5,\"t\\\"\":null}}");
	event.schema_version = wp_span_of("3");
	formed();
	static const char named[] = "Order.Value\",\"version\":3},";
	char text[1024] = "";
	memcpy(text, record.value.data, record.value.size);
	CHECK_HAS(text, named);
	static const char *const none[] = { "",
					    "007",
					    "-0",
					    "+1",
					    " 1",
					    "1 ",
					    "1.0",
					    "x",
					    "-",
					    "2147483648",
					    "123456789012345678901234" };
	for (size_t i = 0; i < sizeof(none) / sizeof(none[0]); i++) {
		event.schema_version = wp_span_of(none[i]);
		poisoned("\" is not a version");
	}
	event.schema_version = wp_span_of("-2147483648");
	formed();
}

static void a_null_is_optional_whatever_the_catalog_said(void **state)
{
	static const struct wp_column_type not_null = { .type = WP_TYPE_TEXT, .modifier = -1 };

	options.value_format = WP_FORM_JSON_SCHEMA;
	options.headers_format = WP_FORM_JSON_SCHEMA;
	options.value_columns = "n";
	options.headers_standard = "id";
	options.types = WP_RENDERING_DEBEZIUM;
	event.payload_type = &not_null;
	event.payload = (struct wp_span){ 0 };
	event.members.count = event.headers.count = 1;
	event.members.items[0] = (struct wp_event_field){ wp_span_of("n"), { 0 }, &not_null };
	event.headers.items[0] =
		(struct wp_event_field){ wp_span_of("h"), wp_span_of("x"), &not_null };
	formed();
	char text[1024] = "";
	memcpy(text, record.value.data, record.value.size);
	CHECK_HAS(text, "{\"type\":\"string\",\"optional\":true,\"field\":\"payload\"},"
			"{\"type\":\"string\",\"optional\":true,\"field\":\"n\"}");
	has_header(1, "h",
		   "{\"schema\":{\"type\":\"string\",\"optional\":false},\"payload\":\"x\"}");
	event.headers.items[0].value = (struct wp_span){ 0 };
	formed();
	has_header(1, "h", "{\"schema\":{\"type\":\"string\",\"optional\":true},\"payload\":null}");
}

static void a_schema_is_not_named_by_what_is_no_text(void **state)
{
	options.value_format = WP_FORM_JSON_SCHEMA;
	options.value_columns = "n";
	event.members.count = 1;
	event.members.items[0] =
		(struct wp_event_field){ wp_span_of("n"), wp_span_of("5"), &text_type };
	event.name = wp_span_of("outb\xF6x");
	poisoned("the raw topic or the table's name");
}

/* -- a schema registry ----------------------------------------------------------- */

static enum wp_schema_kind kind_of_all; /* that the registry has; each id is the name's size */

static enum wp_rc answer(void *arg, struct wp_subject *subject, const struct wp_registry_options *o)
{
	const struct wp_schema schema = { .id = (uint32_t)strlen(subject->name),
					  .version = 1,
					  .kind = kind_of_all };

	if (strstr(subject->name, "Unknown") == NULL)
		wp_subjects_answer(arg, subject, &schema, 1000);
	return WP_AGAIN;
}

static void framed(struct wp_subjects *subjects, const void *bytes, size_t size)
{
	wp_shape_free(shape);
	CHECK_EQ(wp_shape_new(&options, 4096, &shape, &error), WP_OK);
	wp_shape_use_subjects(shape, subjects);
	if (wp_shape_record(shape, &event, &record, &error) != WP_OK)
		fail_msg("%s", error.text);
	CHECK_EQ(record.value.size, size);
	assert_memory_equal(record.value.data, bytes, size);
}

static void what_a_registry_has_stands_before_what_is_there(void **state)
{
	struct wp_subjects subjects;

	wp_subjects_init(&subjects, WP_SUBJECTS_WAIT, answer, &subjects);
	options.registry.url = "http://a";
	kind_of_all = WP_SCHEMA_AVRO;
	framed(&subjects, "\0\0\0\0\x18{\"a\": 1}", 13); /* outbox.event.Order-value */
	kind_of_all = WP_SCHEMA_PROTOBUF;
	options.subject = WP_SUBJECT_RECORD;
	options.record_name = "a.${type}.b";
	framed(&subjects, "\0\0\0\0\x0b\0{\"a\": 1}", 14);
	options.schema_versions = "a.*:latest:1/0";
	framed(&subjects, "\0\0\0\0\x0b\4\2\0{\"a\": 1}", 16);
	options.subject = WP_SUBJECT_TOPIC_RECORD;
	options.record_name = "fixed";
	options.schema_versions = "";
	framed(&subjects, "\0\0\0\0\x18\0{\"a\": 1}", 14); /* outbox.event.Order-fixed */
	wp_subjects_release(&subjects);
}

static void an_event_sent_again_elsewhere_has_the_schema_of_its_own_topic(void **state)
{
	struct wp_subjects subjects;

	wp_subjects_init(&subjects, WP_SUBJECTS_WAIT, answer, &subjects);
	options.registry.url = "http://a";
	kind_of_all = WP_SCHEMA_AVRO;
	event.topic = wp_span_of("elsewhere");
	event.target = "outbox -> elsewhere";
	framed(&subjects, "\0\0\0\0\x18{\"a\": 1}", 13);
	CHECK_SPAN(record.topic, "elsewhere");
	wp_subjects_release(&subjects);
}

static void what_waits_for_a_schema_is_no_record_and_no_dead_letter(void **state)
{
	struct wp_subjects subjects;

	wp_subjects_init(&subjects, WP_SUBJECTS_WAIT, answer, &subjects);
	options.registry.url = "http://a";
	event.route = wp_span_of("Unknown");
	event.key = (struct wp_span){ 0 };
	CHECK_EQ(wp_shape_new(&options, 4096, &shape, &error), WP_OK);
	wp_shape_use_subjects(shape, &subjects);
	CHECK_EQ(wp_shape_record(shape, &event, &record, &error), WP_AGAIN);
	CHECK_HAS(error.text, "subject outbox.event.Unknown-value");
	CHECK_TEXT(wp_shape_awaited(shape)->name, "outbox.event.Unknown-value");
	/* Wrong in itself: that is told once the schema is known. */
	event.partition = wp_span_of("x");
	CHECK_EQ(wp_shape_record(shape, &event, &record, &error), WP_AGAIN);
	event.payload = (struct wp_span){ 0 };
	CHECK_EQ(wp_shape_record(shape, &event, &record, &error), WP_DATA);
	CHECK(wp_shape_awaited(shape) == NULL);
	wp_subjects_release(&subjects);
}

static void without_who_asks_nothing_is_sent_unframed(void **state)
{
	options.registry.url = "http://a";
	CHECK_EQ(form(), WP_CONFIG);
	CHECK_HAS(error.text, "the schema registry is not asked here");
}

static void a_registry_does_not_go_with_every_option(void **state)
{
	options.registry.url = "registry:8081";
	not_together("is not the http or https URL of one schema registry");
	options.registry.url = "https://";
	not_together("is not the http or https URL of one schema registry");
	options.registry.url = "https://a,https://b";
	not_together("is not the http or https URL of one schema registry");
	options.registry.url = "https://me:word@a/x";
	not_together("holds a user");
	options.registry.url = "https://a/x@y";
	options.registry.basic_auth = "me";
	not_together("is not user:password");
	options.registry.basic_auth = "me:word";
	options.registry.bearer_token = "t";
	not_together("are two logins");
	options.registry.bearer_token = "";
	options.schema_versions = "a";
	not_together("outbox.schema.versions");
	options.schema_versions = "";
	options.confluent_schemas = "a:1";
	not_together("keep one of them");
	options.confluent_schemas = "";
	options.value_format = WP_FORM_JSON;
	not_together("outbox.schema.registry: a schema id precedes");
	options.value_format = WP_FORM_RAW;
	options.subject = WP_SUBJECT_RECORD;
	options.record_name = "${type}${type}";
	not_together("is not a record name");
	options.record_name = "";
	not_together("is not a record name");
	options.record_name = "${type}";
	options.column_type = "";
	not_together("outbox.column.type is empty");
}

static void a_schema_id_stands_before_what_is_there(void **state)
{
	options.confluent_schemas = "outbox.event.Order:7:0";
	formed();
	CHECK_EQ(record.value.size, 6 + 8);
	assert_memory_equal(record.value.data, "\0\0\0\0\7\0{\"a\": 1}", 14);
	event.payload_type = &bytea_type;
	event.payload = wp_span_of("\\xff");
	event.payload_is_bytea = true;
	formed();
	assert_memory_equal(record.value.data, "\0\0\0\0\7\0\xff", 7);
	event.payload = (struct wp_span){ 0 };
	formed();
	CHECK(wp_span_is_null(record.value));
	event.payload = wp_span_of("\\xff");
	event.route = wp_span_of("Other");
	formed();
	CHECK_EQ(record.value.size, 1);
}

/* -- headers -------------------------------------------------------------------- */

static void members_of_json_become_headers_behind_the_others(void **state)
{
	options.headers_standard = "id";
	event.json_headers = wp_span_of("{\"traceparent\": \"00-a\\u0062\", \"n\": 1.50, \"o\": "
					"{\"x\": [1, 2]}, \"none\": null, \"\\u0061\": true}");
	formed();
	CHECK_EQ(record.header_count, 6);
	has_header(0, "id", "7");
	has_header(1, "traceparent", "00-ab");
	has_header(2, "n", "1.50");
	has_header(3, "o", "{\"x\": [1, 2]}");
	has_header(4, "none", NULL);
	has_header(5, "a", "true");
}

static void properties_become_headers_before_the_others(void **state)
{
	options.headers_standard = "id";
	event.properties = wp_span_of("#comment\ntraceparent=00-1\\:2\ntracestate : a\n");
	event.json_headers = wp_span_of("{\"last\":\"x\\ny\"}");
	formed();
	CHECK_EQ(record.header_count, 4);
	has_header(0, "traceparent", "00-1:2");
	has_header(1, "tracestate", "a");
	has_header(2, "id", "7");
	has_header(3, "last", "x\ny");
}

/* As java.util.Properties, for which a name is a key. */
static void of_a_property_that_stands_twice_the_last_value_counts(void **state)
{
	options.headers_standard = "id";
	event.properties = wp_span_of("a=1\nb=2\n\\u0061:3\nid=x\nc\nb=4\na=5\n");
	event.json_headers = wp_span_of("{\"b\":\"json\"}");
	formed();
	CHECK_EQ(record.header_count, 5);
	has_header(0, "a", "5");
	has_header(1, "b", "4");
	has_header(2, "c", "");
	has_header(3, "id", "7");
	has_header(4, "b", "json");
}

static void a_property_that_stands_twice_takes_no_place_of_another(void **state)
{
	char text[4 * 300 + 1] = "";

	for (size_t i = 0; i < 300; i++)
		memcpy(text + 4 * i, "a=1\n", 5);
	event.properties = wp_span_of(text);
	formed();
	has_header(0, "a", "1");
	CHECK(record.header_count < 5);
}

static void headers_that_cannot_be_are_poison(void **state)
{
	event.json_headers = wp_span_of("[1]");
	poisoned("the headers: ");
	event.json_headers = wp_span_of("{\"\":1}");
	poisoned("empty");
	event.json_headers = (struct wp_span){ 0 };
	event.properties = wp_span_of("=x");
	poisoned("a header has an empty name");
	event.properties = wp_span_of("a=\\u12");
	poisoned("the headers: ");
}

static void a_record_has_128_headers_at_most(void **state)
{
	char json[8 * 130] = "{";
	size_t size = 1;

	options.headers_standard = "id";
	for (int i = 0; i < 127; i++)
		size += (size_t)snprintf(json + size, sizeof(json) - size, "%s\"%d\":1",
					 i == 0 ? "" : ",", i);
	(void)snprintf(json + size, sizeof(json) - size, "}");
	event.json_headers = wp_span_of(json);
	formed();
	CHECK_EQ(record.header_count, 128);
	(void)snprintf(json + size, sizeof(json) - size, ",\"x\":1}");
	event.json_headers = wp_span_of(json);
	poisoned("more than 128 headers");
	CHECK_EQ(record.header_count, 128);
}

static void the_context_of_debezium_comes_first(void **state)
{
	options.headers_standard = "id";
	options.debezium_context_headers = true;
	options.debezium_name = "shop";
	CHECK_EQ(wp_shape_new(&options, 4096, &shape, &error), WP_OK);
	wp_shape_name_run(shape, "00000000-0000-4000-8000-000000000000");
	CHECK_EQ(wp_shape_record(shape, &event, &record, &error), WP_OK);
	CHECK_EQ(record.header_count, 5);
	has_header(0, "__debezium.context.connectorLogicalName", "shop");
	has_header(1, "__debezium.context.taskId", "0");
	has_header(2, "__debezium.context.connectorName", "postgresql");
	has_header(3, "__debezium.context.runId", "00000000-0000-4000-8000-000000000000");
	has_header(4, "id", "7");
}

static void headers_have_a_form_of_their_own(void **state)
{
	options.headers_standard = "id,type,walpost-position";
	options.headers_format = WP_FORM_JSON_SCHEMA;
	options.types = WP_RENDERING_DEBEZIUM;
	event.headers.count = 1;
	event.headers.items[0] =
		(struct wp_event_field){ wp_span_of("b"), wp_span_of("f"), &bool_type };
	formed();
	has_header(0, "id",
		   "{\"schema\":{\"type\":\"string\",\"optional\":false,\"name\":"
		   "\"io.debezium.data.Uuid\",\"version\":1},\"payload\":\"7\"}");
	has_header(2, "walpost-position", "0000-00000001-000000000194AB88-00000002");
	has_header(3, "b",
		   "{\"schema\":{\"type\":\"boolean\",\"optional\":true},\"payload\":false}");
	options.headers_format = WP_FORM_JSON;
	formed();
	has_header(1, "type", "\"Created\"");
	has_header(3, "b", "false");
	options.headers_format = WP_FORM_RAW;
	formed();
	has_header(3, "b", "false");
}

static void an_array_in_a_header_is_a_list_with_quotes_or_javas_without(void **state)
{
	static const struct wp_column_type texts = {
		.type = WP_TYPE_ARRAY,
		.element = WP_TYPE_TEXT,
		.modifier = -1,
		.is_optional = true,
	};

	options.headers_standard = "id";
	options.types = WP_RENDERING_DEBEZIUM;
	event.headers.count = 2;
	event.headers.items[0] =
		(struct wp_event_field){ wp_span_of("a"), wp_span_of("{a,\"b c\",NULL,\"\"}"),
					 &texts };
	event.headers.items[1] = (struct wp_event_field){ wp_span_of("n"), { NULL, 0 }, &texts };
	formed();
	has_header(1, "a", "[\"a\",\"b c\",null,\"\"]");
	options.headers_format = WP_FORM_STRING;
	formed();
	has_header(1, "a", "[a, b c, null, ]");
	CHECK(wp_span_is_null(record.headers[2].value));
	options.types = WP_RENDERING_POSTGRES;
	formed();
	has_header(1, "a", "{a,\"b c\",NULL,\"\"}");
}

/* -- timestamp and partition -------------------------------------------------------- */

static void a_column_can_be_the_timestamp(void **state)
{
	formed();
	CHECK_EQ(record.timestamp_ms, INT64_C(946684800001));
	event.timestamp = wp_span_of("2024-02-29 12:34:56.789654+02");
	formed();
	CHECK_EQ(record.timestamp_ms, INT64_C(1709202896789));
	event.timestamp_type = &int8_type;
	event.timestamp = wp_span_of("1709202896789");
	formed();
	CHECK_EQ(record.timestamp_ms, INT64_C(1709202896789));
	event.timestamp = wp_span_of("1");
	formed();
	CHECK_EQ(record.timestamp_ms, 1);
}

static void what_is_no_time_to_kafka_is_poison(void **state)
{
	event.timestamp_type = &int8_type;
	event.timestamp = wp_span_of("0");
	poisoned("the timestamp: \"0\" is 1970-01-01 00:00:00, which a producer replaces by the "
		 "present time");
	static const char *const none[] = { "2024-02-29 12:34:56", "1e12", "1.5", "", "soon",
					    "99999999999999999999" };
	for (size_t i = 0; i < sizeof(none) / sizeof(none[0]); i++) {
		event.timestamp = wp_span_of(none[i]);
		poisoned("\" is not a number of milliseconds since 1970");
	}
	event.timestamp = wp_span_of("-9223372036854775808");
	poisoned("is before 1970");
	event.timestamp = wp_span_of("9223372036854775807");
	poisoned("\" milliseconds since 1970 are after the year 294246");
	event.timestamp = wp_span_of("9223372036854776");
	poisoned("\" milliseconds since 1970 are after the year 294246");
	event.timestamp = wp_span_of("9223372036854775");
	formed();
	event.timestamp_type = &timestamptz_type;
	event.timestamp = wp_span_of("1969-12-31 23:59:59.999+00");
	poisoned("is before 1970");
	event.timestamp = wp_span_of("1970-01-01 00:00:00+00");
	poisoned("\"1970-01-01 00:00:00+00\" is 1970-01-01 00:00:00, which a producer replaces by "
		 "the present time");
	event.timestamp = wp_span_of("infinity");
	poisoned("the timestamp: ");
	CHECK_EQ(record.timestamp_ms, INT64_C(946684800001));
}

/* -- what a dead letter has of an event that cannot be sent ------------------------------ */

static void check_column(size_t index, const char *name, const char *text)
{
	CHECK(index < record.column_count);
	CHECK_SPAN(record.columns[index].name, name);
	CHECK_SPAN(record.columns[index].value, text);
}

static void behind_a_header_that_cannot_be_the_others_are_there(void **state)
{
	options.headers_standard = "id";
	options.headers_json = "h";
	options.headers_properties = "p";
	event.properties = wp_span_of("=x\nb=1\nc=\\u12\nd=2");
	event.json_headers = wp_span_of("{\"\":1,\"half\":\"\\uD83D\",\"t\":\"x\"}");
	event.headers.count = 1;
	event.headers.items[0] =
		(struct wp_event_field){ wp_span_of("n"), wp_span_of("5"), &int8_type };
	poisoned("a header has an empty name");
	CHECK_EQ(record.header_count, 4);
	has_header(0, "b", "1");
	has_header(1, "id", "7");
	has_header(2, "n", "5");
	has_header(3, "t", "x");
	wp_shape_leftover(shape, &event, &record);
	CHECK_EQ(record.beside_value, 2);
	check_column(0, "p", "=x\nb=1\nc=\\u12\nd=2");
	check_column(1, "h", "{\"\":1,\"half\":\"\\uD83D\",\"t\":\"x\"}");
}

static void a_header_without_its_form_is_its_text(void **state)
{
	static const struct wp_column_type numeric = { .type = WP_TYPE_NUMERIC,
						       .modifier = (10 << 16 | 2) + 4 };

	options.types = WP_RENDERING_DEBEZIUM;
	event.headers.count = 2;
	event.headers.items[0] =
		(struct wp_event_field){ wp_span_of("n"), wp_span_of("NaN"), &numeric };
	event.headers.items[1] =
		(struct wp_event_field){ wp_span_of("t"), wp_span_of("x"), &text_type };
	poisoned("the headers: ");
	has_header(0, "n", "NaN");
	has_header(1, "t", "x");
	CHECK_EQ(record.header_count, 2);
}

static void columns_are_there_when_properties_leave_no_room_for_them(void **state)
{
	char text[8 * 200];
	size_t size = 0;

	for (int i = 0; i < 140; i++)
		size += (size_t)snprintf(text + size, sizeof(text) - size, "%d=1\n", i);
	options.headers_standard = "id,type,walpost-position";
	options.envelope = WP_ENVELOPE_PROTOBUF;
	options.headers_properties = "p";
	event.properties = wp_span_of(text);
	event.headers.count = WP_EVENT_FIELDS_MAX;
	for (size_t i = 0; i < event.headers.count; i++)
		event.headers.items[i] =
			(struct wp_event_field){ wp_span_of("n"), wp_span_of("5"), &int8_type };
	poisoned("more than 128 headers");
	CHECK_EQ(record.header_count, 128 + 3 + WP_EVENT_FIELDS_MAX);
	has_header(128, "id", "7");
	CHECK_SPAN(record.value, "{\"a\": 1}");
	wp_shape_leftover(shape, &event, &record);
	check_column(0, "p", text);
	check_column(1, "aggregatetype", "Order");
	CHECK_EQ(record.column_count, 2);
}

static void what_is_not_in_the_record_is_left_over(void **state)
{
	options.value_format = WP_FORM_JSON;
	options.value_columns = "n";
	options.payload_json = WP_PAYLOAD_JSON_VALIDATE;
	options.column_timestamp = "at";
	options.column_partition = "part";
	options.debezium_schema_version = "v";
	event.members.count = 1;
	event.members.items[0] =
		(struct wp_event_field){ wp_span_of("n"), wp_span_of("5"), &int8_type };
	event.schema_version = wp_span_of("3");
	formed();
	wp_shape_leftover(shape, &event, &record);
	CHECK_EQ(record.beside_value, 0);
	CHECK_EQ(record.column_count, 2); /* where the value is left out */
	check_column(0, "n", "5");
	check_column(1, "v", "3");
	event.route = wp_span_of("a b");
	event.timestamp = wp_span_of("infinity");
	event.partition = wp_span_of("-1");
	event.payload = wp_span_of("no JSON");
	poisoned("the topic");
	CHECK_SPAN(record.value, "no JSON");
	wp_shape_leftover(shape, &event, &record);
	CHECK_EQ(record.beside_value, 5);
	CHECK_EQ(record.column_count, 5);
	check_column(0, "aggregatetype", "a b");
	check_column(1, "at", "infinity");
	check_column(2, "part", "-1");
	check_column(3, "n", "5");
}

static void of_a_cloudevent_what_was_to_be_around_the_payload_is_left_over(void **state)
{
	options.envelope = WP_ENVELOPE_CLOUDEVENTS_JSON;
	options.ce_source_column = "src";
	options.ce_subject = "sub";
	event.ce_source = wp_span_of("a b");
	event.ce_subject = wp_span_of("42");
	event.extensions.count = 1;
	event.extensions.items[0] =
		(struct wp_event_field){ wp_span_of("tenant"), wp_span_of("acme"), &text_type };
	poisoned("source");
	CHECK_SPAN(record.value, "{\"a\": 1}");
	wp_shape_leftover(shape, &event, &record);
	CHECK_EQ(record.beside_value, 5);
	check_column(0, "type", "Created");
	check_column(1, "aggregatetype", "Order");
	check_column(2, "src", "a b");
	check_column(3, "sub", "42");
	check_column(4, "tenant", "acme");
}

static void a_bytea_is_its_bytes_where_it_can_be_read(void **state)
{
	static const struct wp_column_type bytea = { .type = WP_TYPE_BYTEA, .modifier = -1 };

	options.payload_json = WP_PAYLOAD_JSON_VALIDATE;
	event.payload_type = &bytea;
	event.payload_is_bytea = true;
	event.payload = wp_span_of("\\x6e6f");
	poisoned("the payload is not JSON");
	CHECK_SPAN(record.value, "no");
	event.payload = wp_span_of("\\x6e6");
	poisoned("hexadecimal");
	CHECK_SPAN(record.value, "\\x6e6");
}

static void of_a_message_all_is_there(void **state)
{
	event.schema = event.name = (struct wp_span){ 0 };
	event.table = "messages of prefix outbox";
	event.content = wp_span_of("{all}");
	formed();
	CHECK_SPAN(record.value, "{\"a\": 1}");
	event.json_headers = wp_span_of("{\"\":1}");
	CHECK_EQ(form(), WP_DATA);
	CHECK_HAS(error.text, "messages of prefix outbox, id 7: the headers");
	CHECK(strncmp(error.text, "messages", 8) == 0);
	CHECK_SPAN(record.value, "{all}");
	wp_shape_leftover(shape, &event, &record);
	CHECK_EQ(record.column_count, 0);
	event.json_headers = (struct wp_span){ 0 };
	event.is_refused = true;
	formed();
	CHECK_SPAN(record.value, "{all}");
}

/* -- headers that data names ------------------------------------------------------------- */

static void data_does_not_say_what_walpost_says(void **state)
{
	options.headers_standard = "id,walpost-position";
	event.properties = wp_span_of("walpost-source=x\nid=x\n");
	event.json_headers =
		wp_span_of("{\"walpost-position\":\"x\",\"\\u0077alpost-x\":1,\"id\":\"x\","
			   "\"type\":\"x\",\"ID\":\"x\",\"ce_id\":\"x\",\"content-type\":\"x\"}");
	event.headers.count = 2;
	event.headers.items[0] =
		(struct wp_event_field){ wp_span_of("id"), wp_span_of("configured"), &text_type };
	event.headers.items[1] =
		(struct wp_event_field){ wp_span_of("id"), wp_span_of("data"), &text_type };
	event.data_headers = 1;
	formed();
	CHECK_EQ(record.header_count, 7);
	has_header(0, "id", "7");
	has_header(2, "id", "configured");
	has_header(3, "type", "x"); /* walpost sends none here */
	has_header(4, "ID", "x");
	has_header(5, "ce_id", "x");
	has_header(6, "content-type", "x");
	options.headers_standard = "type";
	event.headers.count = 0;
	event.data_headers = 0;
	options.debezium_context_headers = true;
	options.debezium_name = "shop";
	event.properties = wp_span_of("__debezium.context.taskId=1\nid=x\n");
	event.json_headers = wp_span_of("{\"type\":1}");
	formed();
	CHECK_EQ(record.header_count, 6);
	has_header(4, "id", "x");
	has_header(5, "type", "Created");
}

static void nor_what_a_cloudevent_says(void **state)
{
	event.json_headers =
		wp_span_of("{\"ce_id\":1,\"CE_Source\":1,\"Content-Type\":1,\"ce\":1}");
	options.envelope = WP_ENVELOPE_CLOUDEVENTS_BINARY;
	options.ce_source = "/shop";
	formed();
	CHECK_EQ(record.header_count, 7);
	has_header(0, "ce", "1");
	options.envelope = WP_ENVELOPE_CLOUDEVENTS_JSON;
	formed();
	CHECK_EQ(record.header_count, 4);
	has_header(0, "ce_id", "1");
	has_header(1, "CE_Source", "1");
	has_header(2, "ce", "1");
	has_header(3, "content-type", "application/cloudevents+json; charset=UTF-8");
}

static void a_column_can_be_the_partition(void **state)
{
	formed();
	CHECK_EQ(record.partition, WP_PARTITION_BY_KEY);
	event.partition = wp_span_of("0");
	formed();
	CHECK_EQ(record.partition, 0);
	event.partition = wp_span_of("2147483647");
	formed();
	CHECK_EQ(record.partition, INT32_MAX);
	event.partition = wp_span_of("-1");
	poisoned("the partition: -1 is not a partition number");
	CHECK_EQ(record.partition, WP_PARTITION_BY_KEY);
	event.partition = wp_span_of("2147483648");
	poisoned("2147483648 is not a partition number");
	static const char *const none[] = {
		"true", "1.5", "1e1", "", " 1", "3x", "0000000000000000000000000"
	};
	for (size_t i = 0; i < sizeof(none) / sizeof(none[0]); i++) {
		event.partition = wp_span_of(none[i]); /* of a logical message */
		poisoned("is not a partition number");
		CHECK_EQ(record.partition, WP_PARTITION_BY_KEY);
	}
}

/* -- CloudEvents -------------------------------------------------------------------- */

static void begin_cloudevent(enum wp_envelope envelope)
{
	options.envelope = envelope;
	options.ce_source = "/shop";
	event.ce_subject = wp_span_of("42");
	event.extensions.count = 1;
	event.extensions.items[0] =
		(struct wp_event_field){ wp_span_of("tenant"), wp_span_of("acme"), &text_type };
}

static void a_cloudevent_in_binary_mode_has_its_attributes_in_headers(void **state)
{
	begin_cloudevent(WP_ENVELOPE_CLOUDEVENTS_BINARY);
	formed();
	CHECK_SPAN(record.value, "{\"a\": 1}");
	has_header(0, "ce_specversion", "1.0");
	has_header(1, "ce_id", "7");
	has_header(2, "ce_source", "/shop");
	has_header(3, "ce_type", "Created");
	has_header(4, "ce_subject", "42");
	has_header(5, "ce_time", "2000-01-01T00:00:00.001500Z");
	has_header(6, "ce_tenant", "acme");
	has_header(7, "content-type", "application/json");
	CHECK_EQ(record.header_count, 8);
}

static void a_cloudevent_in_json_is_the_value(void **state)
{
	begin_cloudevent(WP_ENVELOPE_CLOUDEVENTS_JSON);
	options.ce_source_column = "src";
	event.ce_source = wp_span_of("urn:x");
	event.timestamp = wp_span_of("2024-02-29 12:34:56.789654+00");
	formed();
	CHECK_SPAN(
		record.value,
		"{\"specversion\":\"1.0\",\"id\":\"7\",\"source\":\"urn:x\",\"type\":\"Created\","
		"\"subject\":\"42\",\"time\":\"2024-02-29T12:34:56.789654Z\","
		"\"datacontenttype\":\"application/json\",\"tenant\":\"acme\","
		"\"data\":{\"a\": 1}}");
	has_header(0, "content-type", "application/cloudevents+json; charset=UTF-8");
}

static void a_cloudevent_in_protobuf_says_so(void **state)
{
	begin_cloudevent(WP_ENVELOPE_CLOUDEVENTS_PROTOBUF);
	formed();
	CHECK(record.value.size > 8 && record.value.data[0] == 0x0A);
	has_header(0, "content-type", "application/cloudevents+protobuf");
}

static void a_cloudevent_without_what_it_must_have_is_poison(void **state)
{
	begin_cloudevent(WP_ENVELOPE_CLOUDEVENTS_JSON);
	event.type = (struct wp_span){ 0 };
	poisoned("column \"type\" (outbox.column.type) is NULL");
	event.type = wp_span_of("");
	poisoned("column \"type\" (outbox.column.type) is empty");
	event.type = wp_span_of("Created");
	event.ce_subject = wp_span_of("");
	options.ce_subject = "sub";
	poisoned("column \"sub\" (outbox.cloudevents.subject) is empty");
	event.ce_subject = (struct wp_span){ 0 };
	event.payload = wp_span_of("{");
	poisoned("the value: ");
}

static void a_cloudevents_source_that_no_column_has_is_the_configured_one(void **state)
{
	static const char *const none[] = { NULL, "" };

	begin_cloudevent(WP_ENVELOPE_CLOUDEVENTS_BINARY);
	options.ce_source_column = "src";
	for (size_t i = 0; i < 2; i++) {
		event.ce_source = wp_span_of(none[i]);
		formed();
		has_header(2, "ce_source", "/shop");
	}
}

static void a_cloudevent_without_any_source_says_which_column_lacks_it(void **state)
{
	begin_cloudevent(WP_ENVELOPE_CLOUDEVENTS_BINARY);
	options.ce_source = "";
	options.ce_source_column = "src";
	event.ce_source = (struct wp_span){ 0 };
	poisoned("column \"src\" (outbox.cloudevents.source.column) is NULL, but a CloudEvent must "
		 "have a source: correct the row, or set outbox.cloudevents.source for such rows");
	event.ce_source = wp_span_of("");
	poisoned("column \"src\" (outbox.cloudevents.source.column) is empty");
}

/* -- what does not go together -------------------------------------------------------- */

static void options_that_contradict_each_other_are_refused(void **state)
{
	options.value_columns = "a";
	not_together("outbox.value.columns = \"a\"");
	options.value_columns = "";
	options.envelope = WP_ENVELOPE_PROTOBUF;
	options.value_format = WP_FORM_JSON;
	not_together("set one of outbox.value.format and outbox.envelope to raw");
	options.value_format = WP_FORM_RAW;
	options.confluent_schemas = "a:1";
	not_together("outbox.confluent.schemas");
	options.confluent_schemas = "a";
	options.envelope = WP_ENVELOPE_RAW;
	not_together("outbox.confluent.schemas = \"a\"");
	options.confluent_schemas = "";
	options.payload_json = WP_PAYLOAD_JSON_EXPAND;
	not_together("outbox.payload.json = expand");
	options.payload_json = WP_PAYLOAD_JSON_ANY;
	options.debezium_context_headers = true;
	not_together("outbox.debezium.name is missing");
	options.debezium_context_headers = false;
	options.envelope = WP_ENVELOPE_CLOUDEVENTS_BINARY;
	not_together("outbox.cloudevents.source is missing");
	options.ce_source = "/s";
	options.column_type = "";
	not_together("outbox.column.type is missing");
	options.column_type = "type";
	options.ce_extensions = "a,,b";
	not_together("outbox.cloudevents.extensions = \"a,,b\"");
}

int main(void)
{
	return RUN(
		TEST(what_a_registry_has_stands_before_what_is_there),
		TEST(an_event_sent_again_elsewhere_has_the_schema_of_its_own_topic),
		TEST(what_waits_for_a_schema_is_no_record_and_no_dead_letter),
		TEST(without_who_asks_nothing_is_sent_unframed),
		TEST(a_registry_does_not_go_with_every_option),
		TEST(json_puts_quotes_around_a_key_and_escapes_as_jackson_does),
		TEST(a_null_key_is_null_raw_and_four_letters_in_json),
		TEST(a_number_is_one_as_debezium_renders_it_and_a_text_as_postgres_does),
		TEST(a_json_payload_is_a_string_in_json_unless_it_is_validated),
		TEST(validation_keeps_each_byte_and_refuses_what_is_no_json),
		TEST(expansion_writes_json_anew), TEST(bytes_are_base64_in_json),
		TEST(an_empty_payload_can_be_a_tombstone), TEST(columns_stand_beside_the_payload),
		TEST(a_null_is_optional_whatever_the_catalog_said),
		TEST(a_schema_is_not_named_by_what_is_no_text),
		TEST(a_schema_id_stands_before_what_is_there),
		TEST(members_of_json_become_headers_behind_the_others),
		TEST(properties_become_headers_before_the_others),
		TEST(of_a_property_that_stands_twice_the_last_value_counts),
		TEST(a_property_that_stands_twice_takes_no_place_of_another),
		TEST(headers_that_cannot_be_are_poison), TEST(a_record_has_128_headers_at_most),
		TEST(the_context_of_debezium_comes_first), TEST(headers_have_a_form_of_their_own),
		TEST(an_array_in_a_header_is_a_list_with_quotes_or_javas_without),
		TEST(a_column_can_be_the_timestamp), TEST(what_is_no_time_to_kafka_is_poison),
		TEST(behind_a_header_that_cannot_be_the_others_are_there),
		TEST(a_header_without_its_form_is_its_text),
		TEST(columns_are_there_when_properties_leave_no_room_for_them),
		TEST(what_is_not_in_the_record_is_left_over),
		TEST(of_a_cloudevent_what_was_to_be_around_the_payload_is_left_over),
		TEST(a_bytea_is_its_bytes_where_it_can_be_read), TEST(of_a_message_all_is_there),
		TEST(data_does_not_say_what_walpost_says), TEST(nor_what_a_cloudevent_says),
		TEST(a_column_can_be_the_partition),
		TEST(a_cloudevent_in_binary_mode_has_its_attributes_in_headers),
		TEST(a_cloudevent_in_json_is_the_value), TEST(a_cloudevent_in_protobuf_says_so),
		TEST(a_cloudevent_without_what_it_must_have_is_poison),
		TEST(a_cloudevents_source_that_no_column_has_is_the_configured_one),
		TEST(a_cloudevent_without_any_source_says_which_column_lacks_it),
		TEST(options_that_contradict_each_other_are_refused));
}
