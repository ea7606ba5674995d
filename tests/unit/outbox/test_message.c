#include <string.h>

#include "support/rows.h"
#include "support/check.h"
#include "walpost/outbox/message.h"

static struct wp_outbox_options options;
static struct wp_message_reader *reader;
static struct wp_buffer texts;
static struct wp_event event;
static struct wp_error error;
static const char *encoding;

static int set_up(void **state)
{
	options = default_options();
	options.message_prefix = "outbox";
	encoding = "UTF8";
	reader = NULL;
	wp_buffer_init(&texts, 1 << 20);
	error.text[0] = '\0';
	return 0;
}

static int tear_down(void **state)
{
	wp_message_reader_free(reader);
	wp_buffer_release(&texts);
	return 0;
}

static enum wp_rc read_bytes(const void *content, size_t size)
{
	wp_message_reader_free(reader);
	reader = NULL;
	CHECK_EQ(wp_message_reader_new(&options, &reader, &error), WP_OK);
	return wp_message_event(reader, (struct wp_span){ content, size }, encoding, &texts, &event,
				&error);
}

static enum wp_rc read_json(const char *content)
{
	return read_bytes(content, strlen(content));
}

static void refused(const char *content, const char *reason)
{
	CHECK_EQ(read_json(content), WP_DATA);
	CHECK_HAS(error.text, "messages of prefix outbox");
	CHECK_HAS(error.text, reason);
}

/* The last event was a row of a pattern's table. */
static void it_comes_from_no_table(void **state)
{
	event.outbox = "tenant_1.outbox";
	event.origin = (struct wp_origin){ wp_span_of("tenant_1"), wp_span_of("outbox") };
	(void)read_json("{}");
	CHECK(event.outbox == NULL);
	CHECK(wp_span_is_null(event.origin.schema) && wp_span_is_null(event.origin.table));
}

static void debeziums_content_is_an_event(void **state)
{
	CHECK_EQ(
		read_json("{\"id\": \"e-1\", \"aggregatetype\": \"order\", \"aggregateid\": \"42\","
			  " \"type\": \"Created\", \"payload\": {\"a\": [1, null]}}"),
		WP_OK);
	CHECK_SPAN(event.id, "e-1");
	CHECK_SPAN(event.route, "order");
	CHECK_SPAN(event.key, "42");
	CHECK_SPAN(event.type, "Created");
	CHECK_SPAN(event.payload, "{\"a\": [1, null]}");
	CHECK_EQ(event.payload_type->type, WP_TYPE_JSON);
	CHECK(!event.payload_is_bytea);
	CHECK_TEXT(event.table, "messages of prefix outbox");
	CHECK(wp_span_is_null(event.timestamp) && wp_span_is_null(event.json_headers));
}

static void members_go_by_the_names_of_the_columns(void **state)
{
	options.column_id = "event";
	options.column_key = "customer";
	options.route_by = "kind";
	options.column_type = "";
	options.column_payload = "body";
	options.column_timestamp = "at";
	options.column_partition = "p";
	options.headers = "tenant:t,gone";
	CHECK_EQ(read_json("{\"event\":7,\"kind\":\"k\",\"customer\":true,\"body\":\"text\","
			   "\"at\":1700000000000,\"p\":3,\"tenant\":\"acme\",\"id\":\"other\"}"),
		 WP_OK);
	CHECK_SPAN(event.id, "7");
	CHECK_SPAN(event.key, "true");
	CHECK_SPAN(event.payload, "text");
	CHECK_EQ(event.payload_type->type, WP_TYPE_TEXT);
	CHECK_SPAN(event.timestamp, "1700000000000");
	CHECK_EQ(event.timestamp_type->type, WP_TYPE_INT8);
	CHECK_SPAN(event.partition, "3");
	CHECK_EQ(event.headers.count, 2);
	CHECK_SPAN(event.headers.items[0].name, "t");
	CHECK_SPAN(event.headers.items[0].value, "acme");
	CHECK_SPAN(event.headers.items[1].name, "gone");
	CHECK(wp_span_is_null(event.headers.items[1].value));
	CHECK(wp_span_is_null(event.type));
}

#define CONTENT(key_) "{\"id\": \"1\", \"aggregatetype\": \"o\", \"aggregateid\": \"" key_ "\"}"

static void a_text_is_utf8_where_the_database_is(void **state)
{
	CHECK_EQ(read_json(CONTENT("\xC3\xA9")), WP_OK);
	CHECK_SPAN(event.key, "\xC3\xA9");
	refused(CONTENT("\xE9"), "a string is not UTF-8");
}

/* By what may be read as UTF-8 and is not, too. */
static void in_another_encoding_a_text_must_be_ascii(void **state)
{
	static const char *const others[] = { "LATIN1", "EUC_JP", "SQL_ASCII", "" };

	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		encoding = others[i];
		CHECK_EQ(read_json(CONTENT("\x7F \\u00e9 \\ud83d\\ude00")), WP_OK);
		CHECK_SPAN(event.key, "\x7F \xC3\xA9 \xF0\x9F\x98\x80");
		refused(CONTENT("\x80"), encoding);
		refused(CONTENT("\xC3\xA9"), "walpost.emit()");
		CHECK_HAS(error.text, "outbox.message.format = protobuf");
		CHECK(event.key_is_unknown && wp_span_is_null(event.key));
		CHECK_SPAN(event.content, CONTENT("\xC3\xA9"));
	}
}

static void behind_a_byte_order_mark_it_is_utf8_everywhere(void **state)
{
	static const char *const all[] = { "UTF8", "LATIN1", "EUC_JP", "SQL_ASCII" };

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		encoding = all[i];
		CHECK_EQ(read_json(WP_BYTE_ORDER_MARK CONTENT("\xC3\xA9")), WP_OK);
		CHECK_SPAN(event.key, "\xC3\xA9");
		CHECK_SPAN(event.content, WP_BYTE_ORDER_MARK CONTENT("\xC3\xA9"));
		refused(WP_BYTE_ORDER_MARK CONTENT("\xE9"), "a string is not UTF-8");
		refused(WP_BYTE_ORDER_MARK WP_BYTE_ORDER_MARK CONTENT("1"), "not a JSON object");
		refused(WP_BYTE_ORDER_MARK, "not a JSON object");
	}
	encoding = "LATIN1";
	refused("\xEF\xBB" CONTENT("1"), "LATIN1");
}

static void protobuf_is_the_same_in_every_encoding(void **state)
{
	static const char content[] = "\x0A\x01p\x12\x01o\x1A\x02\xC3\xA9";

	options.message_format = WP_MESSAGE_PROTOBUF;
	encoding = "LATIN1";
	CHECK_EQ(read_bytes(content, sizeof(content) - 1), WP_OK);
	CHECK_SPAN(event.key, "\xC3\xA9");
}

static void escapes_are_undone_in_names_and_texts(void **state)
{
	CHECK_EQ(read_json("{\"i\\u0064\":\"a\\\"b\\n\\u00e9\",\"aggregatetype\":\"o\","
			   "\"aggregateid\":\"\\uD83D\\uDE00\",\"payload\":null}"),
		 WP_OK);
	CHECK_SPAN(event.id, "a\"b\n\xC3\xA9");
	CHECK_SPAN(event.key, "\xF0\x9F\x98\x80");
	CHECK(wp_span_is_null(event.payload));
}

static void of_two_members_of_one_name_the_last_counts(void **state)
{
	CHECK_EQ(read_json("{\"id\":\"1\",\"aggregatetype\":\"o\",\"aggregateid\":\"k\",\"id\":"
			   "\"2\"}"),
		 WP_OK);
	CHECK_SPAN(event.id, "2");
}

static void headers_have_a_member_of_their_own(void **state)
{
	static const char content[] = "{\"id\":\"1\",\"aggregatetype\":\"o\",\"aggregateid\":\"k\","
				      "\"headers\":{\"a\":1},\"meta\":{\"b\":2}}";

	CHECK_EQ(read_json(content), WP_OK);
	CHECK_SPAN(event.json_headers, "{\"a\":1}");
	options.headers_json = "meta";
	CHECK_EQ(read_json(content), WP_OK);
	CHECK_SPAN(event.json_headers, "{\"b\":2}");
}

static void a_missing_key_may_have_a_fallback_or_be_allowed(void **state)
{
	static const char content[] = "{\"id\":\"1\",\"aggregatetype\":\"o\",\"tenant\":9}";

	refused(content, "id 1: the content has no key (member \"aggregateid\")");
	options.column_key_fallback = "tenant";
	CHECK_EQ(read_json(content), WP_OK);
	CHECK_SPAN(event.key, "9");
	options.column_key_fallback = "";
	options.key_null = WP_KEY_NULL_ALLOW;
	CHECK_EQ(read_json(content), WP_OK);
	CHECK(wp_span_is_null(event.key));
}

static void what_is_no_event_is_refused_with_what_there_is(void **state)
{
	refused("", ": the content is not a JSON object, at byte");
	refused("[1]", "it does not begin with {");
	refused("{\"id\":1", "the content is not a JSON object, at byte 7 of 7");
	CHECK(wp_span_is_null(event.id)); /* of what is no JSON nothing is known */
	refused("{\"id\":1} x", "there is text after the value");
	refused("{}", "id NULL: the content has no id (member \"id\")");
	refused("{\"id\":null}", "has no id");
	refused("{\"id\":\"5\"}", "id 5: the content has no raw topic (member \"aggregatetype\")");
	refused("{\"id\":\"\\uD83D\",\"aggregatetype\":\"o\",\"aggregateid\":\"k\"}",
		"half of a surrogate pair");
	CHECK_SPAN(event.key, "k");
	CHECK_EQ(read_bytes("{\"id\":\"\xFF\"}", 10), WP_DATA);
}

/* It stands nowhere else: there is no row that a dead letter could point to. */
static void what_is_no_event_is_kept_whole(void **state)
{
	refused("no JSON", ": the content is not a JSON object, at byte");
	CHECK_SPAN(event.content, "no JSON");
	CHECK(event.is_refused);
	refused("{\"payload\":1,\"x\":\"\\uD83D\"}", "half of a surrogate pair");
	CHECK_SPAN(event.content, "{\"payload\":1,\"x\":\"\\uD83D\"}");
	refused("{\"payload\":1,\"kind\":2}", "has no id");
	CHECK_SPAN(event.content, "{\"payload\":1,\"kind\":2}");
	options.message_format = WP_MESSAGE_PROTOBUF;
	refused("\x0a\x01\xff", "the content is not a walpost.v1.Message");
	CHECK_SPAN(event.content, "\x0a\x01\xff");
	CHECK(event.is_refused);
	options.message_format = WP_MESSAGE_JSON;
	CHECK_EQ(read_json("{\"id\":1,\"aggregatetype\":\"o\",\"aggregateid\":2}"), WP_OK);
	CHECK_SPAN(event.content, "{\"id\":1,\"aggregatetype\":\"o\",\"aggregateid\":2}");
	CHECK(!event.is_refused);
}

static void a_list_of_columns_that_is_none_is_refused(void **state)
{
	options.headers = "a,,b";
	CHECK_EQ(wp_message_reader_new(&options, &reader, &error), WP_CONFIG);
	CHECK_HAS(error.text, "outbox.headers = ");
	CHECK(reader == NULL);
}

/* -- protobuf -------------------------------------------------------------------- */

#define FULL                   \
	"\x0a\x03"             \
	"e-1"                  \
	"\x12\x05"             \
	"order"                \
	"\x1a\x02"             \
	"42"                   \
	"\x22\x07"             \
	"Created"              \
	"\x2a\x03\x00\xff\x80" \
	"\x32\x06\x0a\x01"     \
	"h\x12\x01"            \
	"v"                    \
	"\x32\x03\x0a\x01"     \
	"n"

static void begin_protobuf(void)
{
	options.message_format = WP_MESSAGE_PROTOBUF;
}

static void a_protobuf_message_is_an_event(void **state)
{
	begin_protobuf();
	CHECK_EQ(read_bytes(FULL, sizeof(FULL) - 1), WP_OK);
	CHECK_SPAN(event.id, "e-1");
	CHECK_SPAN(event.route, "order");
	CHECK_SPAN(event.key, "42");
	CHECK_SPAN(event.type, "Created");
	CHECK_EQ(event.payload.size, 3);
	assert_memory_equal(event.payload.data, "\0\xff\x80", 3);
	CHECK_EQ(event.payload_type->type, WP_TYPE_BYTEA);
	CHECK(!event.payload_is_bytea);
	CHECK_EQ(event.headers.count, 2);
	CHECK_SPAN(event.headers.items[0].name, "h");
	CHECK_EQ(event.headers.items[0].name.data[1], '\0');
	CHECK_SPAN(event.headers.items[0].value, "v");
	CHECK_SPAN(event.headers.items[1].name, "n");
	CHECK(wp_span_is_null(event.headers.items[1].value));
}

static void fields_that_are_not_known_are_passed_over(void **state)
{
	/* 15: a varint, 16: eight bytes, 17: four, 18: a text. */
	static const char more[] = FULL "\x78\x96\x01"
					"\x81\x01"
					"12345678"
					"\x8d\x01"
					"1234"
					"\x92\x01\x02"
					"xx";

	begin_protobuf();
	CHECK_EQ(read_bytes(more, sizeof(more) - 1), WP_OK);
	CHECK_SPAN(event.id, "e-1");
}

static void each_cut_of_it_is_refused_or_lacks_something(void **state)
{
	begin_protobuf();
	options.key_null = WP_KEY_NULL_ALLOW;
	size_t whole = 0;
	for (size_t size = 0; size < sizeof(FULL) - 1; size++) {
		enum wp_rc rc = read_bytes(FULL, size);
		whole += rc == WP_OK ? 1 : 0;
		CHECK(rc == WP_OK || rc == WP_DATA);
	}
	/* Behind the raw topic, the key, the type, the payload and the first header. */
	CHECK_EQ(whole, 5);
}

static void what_is_no_message_is_refused(void **state)
{
	static const struct {
		const char *bytes;
		size_t size;
	} wrong[] = {
		{ "\x0b", 1 },			   /* a group */
		{ "\x02\x00", 2 },		   /* field number 0 */
		{ "\x0a\xff\xff\xff\xff\x0f", 6 }, /* longer than there is */
		{ "\x0a\x01\xff", 3 },		   /* not UTF-8 */
		{ "\x08\x01", 2 },		   /* a number where a text belongs */
		{ "\x32\x00", 2 },		   /* a header without a name */
		{ "\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01",
		  11 }, /* a varint without an end */
	};

	begin_protobuf();
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		CHECK_EQ(read_bytes(wrong[i].bytes, wrong[i].size), WP_DATA);
		CHECK_HAS(error.text, "the content is not a walpost.v1.Message");
	}
}

static void sixty_headers_fit(void **state)
{
	static char bytes[sizeof(FULL) + 61 * 5];
	size_t size = sizeof("\x0a\x03"
			     "e-1\x12\x05"
			     "order\x1a\x02"
			     "42") -
		      1;

	begin_protobuf();
	memcpy(bytes, FULL, size);
	for (size_t i = 0; i < WP_EVENT_FIELDS_MAX; i++, size += 5)
		memcpy(bytes + size, "\x32\x03\x0a\x01h", 5);
	CHECK_EQ(read_bytes(bytes, size), WP_OK);
	CHECK_EQ(event.headers.count, WP_EVENT_FIELDS_MAX);
	memcpy(bytes + size, "\x32\x03\x0a\x01h", 5);
	CHECK_EQ(read_bytes(bytes, size + 5), WP_DATA);
}

int main(void)
{
	return RUN(TEST(it_comes_from_no_table), TEST(debeziums_content_is_an_event),
		   TEST(members_go_by_the_names_of_the_columns),
		   TEST(a_text_is_utf8_where_the_database_is),
		   TEST(in_another_encoding_a_text_must_be_ascii),
		   TEST(behind_a_byte_order_mark_it_is_utf8_everywhere),
		   TEST(protobuf_is_the_same_in_every_encoding),
		   TEST(escapes_are_undone_in_names_and_texts),
		   TEST(of_two_members_of_one_name_the_last_counts),
		   TEST(headers_have_a_member_of_their_own),
		   TEST(a_missing_key_may_have_a_fallback_or_be_allowed),
		   TEST(what_is_no_event_is_refused_with_what_there_is),
		   TEST(what_is_no_event_is_kept_whole),
		   TEST(a_list_of_columns_that_is_none_is_refused),
		   TEST(a_protobuf_message_is_an_event),
		   TEST(fields_that_are_not_known_are_passed_over),
		   TEST(each_cut_of_it_is_refused_or_lacks_something),
		   TEST(what_is_no_message_is_refused), TEST(sixty_headers_fit));
}
