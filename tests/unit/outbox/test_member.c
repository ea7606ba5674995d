/* Members of JSON columns in place of columns. */
#include <stdio.h>
#include <string.h>

#include "support/memory.h"
#include "support/rows.h"
#include "support/check.h"
#include "walpost/outbox/columns.h"
#include "walpost/outbox/shape.h"
#include "walpost/outbox/table.h"

#define JSON_OID 114
#define JSONB_OID 3802
#define INT4_OID 23

static struct wp_outbox_options options;
static struct wp_relations *relations;
static struct wp_relation *relation;
static struct wp_mapping *m;
static struct wp_event event;
static struct wp_buffer texts;
static struct wp_error error;
static struct wp_value row[3]; /* id, name, content */

static void table_with(uint32_t content_oid)
{
	const struct wp_column columns[] = {
		{ .name = wp_span_of("id"), .type_oid = TEXT_OID },
		{ .name = wp_span_of("name"), .type_oid = TEXT_OID },
		{ .name = wp_span_of("content"), .type_oid = content_oid },
	};
	const struct wp_change change = {
		.kind = WP_CHANGE_RELATION,
		.as.relation = { .oid = 7,
				 .schema = wp_span_of("cap"),
				 .name = wp_span_of("published"),
				 .columns = columns,
				 .column_count = 3 },
	};

	CHECK_EQ(wp_relations_put(relations, &change, &relation), WP_OK);
}

static int set_up(void **state)
{
	options = default_options();
	options.column_key = "content->headers->>key";
	options.column_type = "";
	options.route_by = "name";
	options.column_payload = "content->value";
	wp_buffer_init(&texts, 1 << 20);
	CHECK_EQ(wp_relations_new(2, NULL, &relations), WP_OK);
	table_with(TEXT_OID);
	return 0;
}

static int tear_down(void **state)
{
	wp_mapping_free(m);
	m = NULL;
	wp_relations_free(relations);
	wp_buffer_release(&texts);
	return 0;
}

static enum wp_rc new_mapping(enum wp_transfer transfer)
{
	const struct wp_mapping_setup setup = {
		.options = &options,
		.relation = relation,
		.types = relations,
		.transfer = transfer,
	};

	wp_mapping_free(m);
	m = NULL;
	return wp_mapping_new(&setup, &m, &error);
}

static struct wp_value text_value(struct wp_span text)
{
	return (struct wp_value){ .kind = WP_VALUE_TEXT, .bytes = text };
}

static enum wp_rc map_row(void)
{
	error.text[0] = '\0';
	return wp_mapping_event(m, &(struct wp_tuple){ .values = row, .count = 3 }, &texts, &event,
				&error);
}

static enum wp_rc map_span(struct wp_span content)
{
	CHECK_EQ(new_mapping(WP_TRANSFER_TEXT), WP_OK);
	row[0] = text_value(wp_span_of("7"));
	row[1] = text_value(wp_span_of("orders"));
	row[2] = text_value(content);
	return map_row();
}

static enum wp_rc map(const char *content)
{
	return map_span(wp_span_of(content));
}

static void an_arrow_gives_json_and_two_heads_give_text(void **state)
{
	options.headers_json = "content->headers";
	options.headers = "content->value->>total:total, content->value->who:who";
	CHECK_EQ(map("{\"headers\": {\"key\":\"o-1\", \"n\":null},"
		     " \"value\": {\"total\": 1.50, \"who\": \"Zo\\u00eb\"}}"),
		 WP_OK);
	CHECK_SPAN(event.id, "7");
	CHECK_SPAN(event.route, "orders");
	CHECK_SPAN(event.key, "o-1");
	CHECK_SPAN(event.payload, "{\"total\": 1.50, \"who\": \"Zo\\u00eb\"}");
	CHECK_SPAN(event.json_headers, "{\"key\":\"o-1\", \"n\":null}");
	CHECK_SPAN(event.headers.items[0].name, "total");
	CHECK_SPAN(event.headers.items[0].value, "1.50");
	CHECK_SPAN(event.headers.items[1].value, "\"Zo\\u00eb\"");
}

static void values_are_as_postgres_operators_give_them(void **state)
{
	static const struct {
		const char *json;
		const char *as_json;
		const char *as_text; /* NULL: NULL */
	} cases[] = {
		{ "\"a\\\"b\\u20ac\\ud83d\\ude00\\n\"", "\"a\\\"b\\u20ac\\ud83d\\ude00\\n\"",
		  "a\"b\xe2\x82\xac\xf0\x9f\x98\x80\n" },
		{ "\"\"", "\"\"", "" },
		{ " 12345678901234567890.10 ", "12345678901234567890.10",
		  "12345678901234567890.10" },
		{ "true", "true", "true" },
		{ "null", "null", NULL },
		{ "[1, {\"a\":2}]", "[1, {\"a\":2}]", "[1, {\"a\":2}]" },
		{ "{}", "{}", "{}" },
	};
	char content[256];

	options.key_null = WP_KEY_NULL_ALLOW;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		(void)snprintf(content, sizeof(content), "{\"headers\":{\"key\":%s},\"value\":%s}",
			       cases[i].json, cases[i].json);
		CHECK_EQ(map(content), WP_OK);
		CHECK_SPAN(event.payload, cases[i].as_json);
		if (cases[i].as_text != NULL)
			CHECK_SPAN(event.key, cases[i].as_text);
		else
			CHECK(wp_span_is_null(event.key));
	}
}

static void names_are_literal_and_the_last_of_several_is_it(void **state)
{
	options.column_key = "content -> 'he->aders' ->> key";
	CHECK_EQ(map("{\"value\":1}"),
		 WP_DATA); /* no such quoting: a step is never empty or split */
	options.column_key = "content -> 'headers' ->> 'a key.1'";
	CHECK_EQ(map("{\"headers\":0,\"he\\u0061ders\":{\"a key.1\":\"1\",\"a key.1\":\"2\"},"
		     "\"value\":0,\"value\":1}"),
		 WP_OK);
	CHECK_SPAN(event.key, "2");
	CHECK_SPAN(event.payload, "1");
}

static void what_is_not_there_is_null_or_refused_with_the_reason(void **state)
{
	CHECK_EQ(map("{\"headers\":{},\"value\":1}"), WP_DATA);
	CHECK_HAS(error.text, "table cap.published, id 7: column \"content->headers->>key\" "
			      "(outbox.column.key) is NULL");
	CHECK_HAS(error.text, ": correct the row, or set outbox.column.key.fallback");
	CHECK(!event.key_is_unknown);
	options.column_key_fallback = "id";
	options.headers = "content->>trace";
	CHECK_EQ(map("{\"headers\":[\"key\"],\"value\":1}"), WP_OK);
	CHECK_SPAN(event.key, "7");
	CHECK(wp_span_is_null(event.headers.items[0].value));
	CHECK_EQ(map("{\"headers\":{\"key\":\"k\"}}"), WP_DATA);
	CHECK_HAS(error.text, "table cap.published, id 7: column \"content\" has no member "
			      "content->value (outbox.column.payload): correct the row, or set "
			      "outbox.column.payload");
	CHECK(event.is_refused);
	CHECK_SPAN(event.key, "k");
	options.route_by = "content->>topic";
	CHECK_EQ(map("{\"value\":1}"), WP_DATA);
	CHECK_HAS(error.text,
		  "(outbox.route.by) is NULL, so the event has no topic: correct the row");
	options.column_type = "content->>type";
	CHECK_EQ(map("{\"topic\":\"t\",\"value\":1}"), WP_DATA);
	CHECK_HAS(error.text, "has no member content->>type (outbox.column.type)");
	row[2] = (struct wp_value){ .kind = WP_VALUE_NULL };
	CHECK_EQ(map_row(), WP_DATA);
	CHECK_HAS(error.text, "has no member");
}

static void what_is_no_json_is_refused_and_its_key_not_guessed(void **state)
{
	options.column_key_fallback = "id";
	CHECK_EQ(map("{\"headers\":{\"key\":\"k\"},\"value\":}"), WP_DATA);
	CHECK_HAS(error.text,
		  "table cap.published, id 7: column \"content\" (outbox.column.key) is not "
		  "JSON at byte 31 of 32: ");
	CHECK(wp_span_is_null(event.key) && event.key_is_unknown);
	CHECK_SPAN(event.id, "7");
	CHECK_EQ(map("{\"headers\":{\"key\":\"\\ud800\"},\"value\":1}"), WP_DATA);
	CHECK_HAS(error.text, "id 7: content->headers->>key (outbox.column.key) contains half of a "
			      "surrogate pair");
	CHECK(event.key_is_unknown);
	row[0] = (struct wp_value){ .kind = WP_VALUE_NULL };
	CHECK_EQ(map_row(), WP_DATA);
	CHECK_HAS(error.text, "a row has NULL in column \"id\"");
}

static void a_fault_elsewhere_leaves_the_key_as_it_is(void **state)
{
	options.headers = "content->headers->>trace:trace, name::json:name";
	CHECK_EQ(map("{\"headers\":{\"key\":\"k\",\"trace\":\"\\ud800\"},\"value\":1}"), WP_DATA);
	CHECK_HAS(error.text, "column \"name\" (outbox.headers) is not JSON");
	CHECK(!event.key_is_unknown);
	CHECK_SPAN(event.key, "k");
	CHECK_EQ(map("{\"headers\":{\"key\":\"\\ud800\"},\"value\":1}"), WP_DATA);
	CHECK(wp_span_is_null(event.key) && event.key_is_unknown);
	options.headers = "";
	options.column_key_fallback = "content->>id";
	CHECK_EQ(map("{\"headers\":{\"key\":\"k\"},\"id\":\"\\ud800\",\"value\":1}"), WP_DATA);
	CHECK_SPAN(event.key, "k");
	CHECK_EQ(map("{\"headers\":{},\"id\":\"\\ud800\",\"value\":1}"), WP_DATA);
	CHECK(wp_span_is_null(event.key) && event.key_is_unknown);
}

static void binary_and_bytea_give_the_same(void **state)
{
	static const char json[] = "{\"headers\":{\"key\":\"\\u0041\"},\"value\":[1]}";
	static const uint32_t oids[] = { TEXT_OID, JSON_OID, JSONB_OID, BYTEA_OID };
	uint8_t with_version[sizeof(json)] = { 1 };
	char hex[2 * sizeof(json) + 3] = "\\x";

	memcpy(with_version + 1, json, sizeof(json) - 1);
	for (size_t i = 0; i < sizeof(json) - 1; i++)
		(void)snprintf(hex + 2 + 2 * i, 3, "%02x", (unsigned char)json[i]);
	for (size_t i = 0; i < sizeof(oids) / sizeof(oids[0]); i++) {
		table_with(oids[i]);
		CHECK_EQ(map(oids[i] == BYTEA_OID ? hex : json), WP_OK);
		CHECK_SPAN(event.key, "A");
		CHECK_SPAN(event.payload, "[1]");
		CHECK(!event.payload_is_bytea);
		CHECK_EQ(new_mapping(WP_TRANSFER_BINARY), WP_OK);
		row[2] = (struct wp_value){ .kind = WP_VALUE_BINARY, .bytes = wp_span_of(json) };
		if (oids[i] == JSONB_OID)
			row[2].bytes = (struct wp_span){ with_version, sizeof(json) };
		CHECK_EQ(map_row(), WP_OK);
		CHECK_SPAN(event.key, "A");
		CHECK_SPAN(event.payload, "[1]");
	}
}

static void a_column_that_is_not_there_or_no_json_is_named(void **state)
{
	options.column_key = "data->>key";
	CHECK_EQ(new_mapping(WP_TRANSFER_TEXT), WP_CONFIG);
	CHECK_HAS(error.text, "has no column \"data->>key\" (outbox.column.key); it has: id, name");
	options.column_key = "content->>a->b"; /* no operator of Postgres's goes on behind a text */
	CHECK_EQ(new_mapping(WP_TRANSFER_TEXT), WP_CONFIG);
	CHECK_HAS(error.text, "has no column \"content->>a->b\"");
	options.column_key = "content->";
	CHECK_EQ(new_mapping(WP_TRANSFER_TEXT), WP_CONFIG);
	options.column_key = "content->>key";
	table_with(INT4_OID);
	CHECK_EQ(new_mapping(WP_TRANSFER_TEXT), WP_CONFIG);
	CHECK_HAS(error.text,
		  "is of type integer, which cannot have members: it must be json, jsonb");
	table_with(TEXT_OID);
	options.column_timestamp = "content->>at";
	CHECK_EQ(new_mapping(WP_TRANSFER_TEXT), WP_CONFIG);
	CHECK_HAS(error.text, "(outbox.column.timestamp) is of type text, which is not a time");
}

static void the_column_is_needed_and_not_its_member(void **state)
{
	static struct wp_needed_columns needed;

	options.headers = "content -> a:a, meta::json:meta, name";
	options.route_by = "other->>topic";
	CHECK_EQ(wp_needed_columns(&options, &needed, &error), WP_OK);
	CHECK_EQ(needed.all_count, 5);
	CHECK_TEXT(needed.names[0], "id");
	CHECK_TEXT(needed.names[1], "other");
	CHECK_TEXT(needed.definitions[1], "jsonb");
	CHECK_TEXT(needed.names[2], "content");
	CHECK_TEXT(needed.definitions[2], "jsonb");
	CHECK_TEXT(needed.names[3], "meta");
	CHECK_TEXT(needed.names[4], "name");
}

/* The record of `content`, with a value of that form. */
static struct wp_record shaped(enum wp_form form, const char *content)
{
	static struct wp_shape *shape;
	struct wp_record record;

	options.value_format = form;
	wp_shape_free(shape);
	CHECK_EQ(wp_shape_new(&options, 0, &shape, &error), WP_OK);
	CHECK_EQ(map(content), WP_OK);
	CHECK_EQ(wp_shape_record(shape, &event, &record, &error), WP_OK);
	return record;
}

static void json_stands_in_a_json_value_as_it_is(void **state)
{
	static const char content[] = "{\"value\": {\"a\": 1.50}, \"n\": null}";

	options.column_key = "id";
	CHECK_SPAN(shaped(WP_FORM_RAW, content).value, "{\"a\": 1.50}");
	options.value_columns =
		"content::json:all,content->n:n,content->absent:absent,content->>n:t,name";
	CHECK_SPAN(shaped(WP_FORM_JSON, content).value,
		   "{\"payload\":{\"a\": 1.50},\"all\":{\"value\": {\"a\": 1.50}, \"n\": null},"
		   "\"n\":null,\"absent\":null,\"t\":null,\"name\":\"orders\"}");
	options.types = WP_RENDERING_DEBEZIUM;
	options.value_columns = "content->n:n";
	CHECK_SPAN(shaped(WP_FORM_JSON, content).value, "{\"payload\":{\"a\": 1.50},\"n\":null}");
	CHECK_HAS((const char *)shaped(WP_FORM_JSON_SCHEMA, content).value.data,
		  "\"payload\":{\"payload\":\"{\\\"a\\\": 1.50}\",\"n\":\"null\"}}");
}

static void headers_that_are_null_are_none(void **state)
{
	options.column_key = "id";
	options.headers_json = "content->headers";
	CHECK_EQ(map("{\"headers\":null,\"value\":1}"), WP_OK);
	CHECK(wp_span_is_null(event.json_headers));
}

static void base64_is_decoded(void **state)
{
	options.column_key = "id";
	options.column_payload = "content->>value";
	options.payload_encoding = WP_PAYLOAD_ENCODING_BASE64;
	CHECK_SPAN(shaped(WP_FORM_RAW, "{\"value\":\"eyJhIjoxfQ==\"}").value, "{\"a\":1}");
	CHECK_SPAN(shaped(WP_FORM_RAW, "{\"value\":\"\"}").value, "");
}

static void an_id_is_no_member(void **state)
{
	struct wp_shape *shape;

	options.column_id = "content->>id";
	CHECK_EQ(wp_shape_new(&options, 0, &shape, &error), WP_CONFIG);
	CHECK_HAS(error.text, "outbox.column.id = \"content->>id\": an event's row is found again");
}

static void a_row_costs_no_memory_and_a_lack_of_it_is_said(void **state)
{
	static const char content[] = "{\"headers\":{\"ke\\u0079\":\"\\u0041\"},\"value\":[1]}";

	CHECK_EQ(map(content), WP_OK);
	size_t before = memory_calls();
	CHECK_EQ(map_row(), WP_OK);
	CHECK_EQ(memory_calls(), before);
	for (size_t i = 0; i < 5; i++) {
		memory_fails_after(i);
		CHECK_EQ(new_mapping(WP_TRANSFER_TEXT), WP_NOMEM);
		memory_works();
	}
	CHECK_EQ(new_mapping(WP_TRANSFER_TEXT), WP_OK);
	wp_buffer_release(&texts);
	wp_buffer_init(&texts, 1 << 20);
	memory_fails_after(0);
	CHECK_EQ(map_row(), WP_NOMEM);
	memory_fails_after(1);
	CHECK_EQ(map_row(), WP_NOMEM);
	memory_works();
	CHECK_EQ(map_row(), WP_OK);
}

int main(void)
{
	return RUN(TEST(an_arrow_gives_json_and_two_heads_give_text),
		   TEST(values_are_as_postgres_operators_give_them),
		   TEST(names_are_literal_and_the_last_of_several_is_it),
		   TEST(what_is_not_there_is_null_or_refused_with_the_reason),
		   TEST(what_is_no_json_is_refused_and_its_key_not_guessed),
		   TEST(a_fault_elsewhere_leaves_the_key_as_it_is),
		   TEST(binary_and_bytea_give_the_same),
		   TEST(a_column_that_is_not_there_or_no_json_is_named),
		   TEST(the_column_is_needed_and_not_its_member),
		   TEST(json_stands_in_a_json_value_as_it_is), TEST(an_id_is_no_member),
		   TEST(headers_that_are_null_are_none), TEST(base64_is_decoded),
		   TEST(a_row_costs_no_memory_and_a_lack_of_it_is_said));
}
