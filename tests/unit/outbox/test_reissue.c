/* Rows of walpost.reissue, by way of the decoder and a shape: the event that a row of the outbox would be. */
#include <stdio.h>
#include <string.h>

#include "support/check.h"
#include "support/memory.h"
#include "support/partitions.h"
#include "support/rows.h"
#include "support/wire_writer.h"
#include "walpost/outbox/decoder.h"
#include "walpost/outbox/shape.h"

enum { OUTBOX = 16400, REISSUE, NOTES, TIMESTAMPTZ_OID = 1184, NUMERIC_OID = 1700 };

static struct wp_outbox_options options[3];
static struct wp_outboxes outboxes;
static struct wp_column_facts facts;
static struct wp_partitions partitions;
static struct wp_decoder *decoder;
static struct wp_shape *shape;
static struct wp_record record;
static struct wp_decoded decoded;
static struct wp_error error;

static const struct wp_timelines timelines = { .current = 1 };

static const struct wire_column reissue_columns[] = {
	{ "id", 20 },	   { "slot", TEXT_OID },   { "outbox", TEXT_OID },   { "row", 3802 },
	{ "content", 17 }, { "reason", TEXT_OID }, { "position", TEXT_OID }, { "kind", TEXT_OID },
};

static const struct wire_column columns[] = {
	{ "id", TEXT_OID },   { "aggregatetype", TEXT_OID }, { "aggregateid", TEXT_OID },
	{ "type", TEXT_OID }, { "payload", TEXT_OID },
};

/* A row as walpost.reissue() describes it; `more` are further columns. */
#define COLUMN(name_, type_, value_)                                                           \
	"{\"name\": \"" name_ "\", \"type\": " type_ ", \"value\": " value_ ", \"modifier\": " \
	"-1}"
#define ROW_OF(id_, payload_type_, payload_, more_)                                              \
	"[" COLUMN("id", "25", id_) ", " COLUMN("aggregatetype", "25", "\"order\"") ", " COLUMN( \
		"aggregateid", "25",                                                             \
		"\"k\"") ", " COLUMN("type", "25",                                               \
				     "\"made\"") ", " COLUMN("payload", payload_type_, payload_) \
		more_ "]"
#define ROW ROW_OF("\"one\"", "25", "\"{\\\"n\\\": 1}\"", "")

static int set_up(void **state)
{
	(void)state;
	for (size_t i = 0; i < 3; i++)
		options[i] = default_options();
	options[1].table = "sales.\"Notes\"";
	options[1].topic_replacement = "notes.${routedByValue}";
	options[2].table = "";
	options[2].message_prefix = "outbox";
	outboxes = (struct wp_outboxes){ .items = options, .count = 3, .ignore = "" };
	outboxes.slot = "walpost";
	wp_column_facts_begin(&facts);
	know_partitions(&partitions, "", WIRE_XID + 1);
	decoder = NULL;
	shape = NULL;
	error.text[0] = '\0';
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	memory_works();
	wp_shape_free(shape);
	wp_decoder_free(decoder);
	wp_partitions_release(&partitions);
	return 0;
}

static uint8_t room[16384];
static struct wire_writer w;

static struct wire_writer *message(void)
{
	wire_init(&w, room, sizeof(room));
	return &w;
}

static enum wp_rc take(void)
{
	return wp_decoder_take(decoder, wire_span(&w), &decoded, &error);
}

static void is(enum wp_decoded_kind kind)
{
	CHECK_EQ(take(), WP_OK);
	CHECK_EQ(decoded.kind, kind);
}

static void make(void)
{
	const struct wp_decoder_setup setup = {
		.outboxes = &outboxes,
		.epoch = 2,
		.record_max = 100000,
		.texts_max = 100000,
		.columns = WP_COLUMNS_ALL,
		.partitions = &partitions,
	};

	CHECK_EQ(wp_decoder_new(&setup, &decoder, &error), WP_OK);
	wp_decoder_begin(decoder, &timelines, "UTF8");
	CHECK_EQ(wp_decoder_know(decoder, &facts, WP_TRANSFER_TEXT), WP_OK);
	wire_begin(message(), 299, 1000000);
	is(WP_DECODED_BEGIN);
	wire_relation(message(), REISSUE, "walpost", "reissue", reissue_columns, 8);
	is(WP_DECODED_NOTHING);
}

static void write_reissue(const char *slot, const char *outbox, const char *row,
			  const char *content, const char *kind)
{
	const char *const values[] = { "7",
				       outbox == NULL ? NULL : slot,
				       outbox,
				       row,
				       content,
				       "parked",
				       "0001-00000001-0000000000000010-00000000",
				       kind };

	wire_insert(message(), REISSUE, values, 8);
}

static void reissue(const char *outbox, const char *row)
{
	write_reissue("walpost", outbox, row, NULL, "row");
	is(WP_DECODED_EVENT);
}

static enum wp_rc shape_it(void)
{
	wp_shape_free(shape);
	shape = NULL;
	CHECK_EQ(wp_shape_new(decoded.outbox->options, 100000, &shape, &error), WP_OK);
	return wp_shape_record(shape, decoded.event, &record, &error);
}

static struct wp_span header(const char *name)
{
	for (size_t i = 0; i < record.header_count; i++)
		if (wp_span_is(record.headers[i].name, name))
			return record.headers[i].value;
	return (struct wp_span){ 0 };
}

static void refused(const char *reason)
{
	is(WP_DECODED_EVENT);
	CHECK_EQ(decoded.verdict, WP_DATA);
	CHECK(decoded.event->is_refused);
	CHECK_HAS(error.text, reason);
	CHECK_HAS(error.text, "walpost.reissue");
}

/* -- rows ------------------------------------------------------------------------ */

static void it_is_the_event_that_a_row_of_the_outbox_would_be(void **state)
{
	(void)state;
	make();
	reissue("public.outbox", ROW);
	CHECK_EQ(decoded.verdict, WP_OK);
	CHECK(decoded.outbox->options == &options[0]);
	CHECK_EQ(shape_it(), WP_OK);
	CHECK_SPAN(record.topic, "outbox.event.order");
	CHECK_SPAN(record.key, "k");
	CHECK_SPAN(record.value, "{\"n\": 1}");
	CHECK_TEXT(record.table, "public.outbox");
	CHECK_EQ(record.timestamp_ms, 946684801000);
	CHECK_EQ(record.header_count, 4);
	CHECK_SPAN(header("id"), "one");
	CHECK_SPAN(header("type"), "made");
	CHECK_SPAN(header("walpost-position"), "0002-00000001-000000000000012B-00000000");
	CHECK_SPAN(header("walpost-reissued"), "parked; 0001-00000001-0000000000000010-00000000");
}

static void without_a_first_position_the_header_has_the_reason_alone(void **state)
{
	const char *const values[] = {
		"7", "walpost", "public.outbox", ROW, NULL, "", NULL, "row"
	};

	(void)state;
	options[0].headers_standard = "";
	make();
	wire_insert(message(), REISSUE, values, 8);
	is(WP_DECODED_EVENT);
	CHECK_EQ(shape_it(), WP_OK);
	CHECK_EQ(record.header_count, 1); /* also where no header of ours is asked for */
	CHECK_SPAN(header("walpost-reissued"), "");
	CHECK(!wp_span_is_null(header("walpost-reissued")));
}

static void the_outbox_itself_need_not_be_in_the_log_and_is_not_marked_if_it_is(void **state)
{
	const char *const values[] = { "two", "order", "k", "made", "{}" };

	(void)state;
	make();
	reissue("public.outbox", ROW);
	wire_relation(message(), OUTBOX, "public", "outbox", columns, 5);
	is(WP_DECODED_NOTHING);
	wire_insert(message(), OUTBOX, values, 5);
	is(WP_DECODED_EVENT);
	CHECK_EQ(decoded.event->position.ordinal, 1);
	CHECK_EQ(shape_it(), WP_OK);
	CHECK_EQ(record.header_count, 3);
	CHECK(wp_span_is_null(header("walpost-reissued")));
}

static void each_is_of_the_outbox_that_it_names_in_whatever_order(void **state)
{
	(void)state;
	make();
	for (int i = 0; i < 3; i++) {
		reissue("sales.\"Notes\"", ROW);
		CHECK(decoded.outbox->options == &options[1]);
		CHECK_EQ(shape_it(), WP_OK);
		CHECK_SPAN(record.topic, "notes.order");
		CHECK_TEXT(record.table, "sales.\"Notes\"");
		reissue("outbox", ROW); /* as an unqualified name is */
		CHECK(decoded.outbox->options == &options[0]);
	}
	CHECK_EQ(decoded.event->position.ordinal, 5);
}

static void a_row_has_the_columns_and_types_that_its_table_had_then(void **state)
{
	(void)state;
	make();
	reissue("public.outbox", ROW_OF("\"one\"", "17", "\"\\\\x00ff\"", ""));
	CHECK_EQ(shape_it(), WP_OK);
	CHECK_EQ(record.value.size, 2);
	CHECK_EQ(record.value.data[1], 0xff);
	reissue("public.outbox",
		"[" COLUMN("payload", "25", "\"\\\\x00ff\"") "," COLUMN(
			"aggregateid", "25",
			"\"q\"") "," COLUMN("id", "2950",
					    "\"9\"") "," COLUMN("aggregatetype", "25",
								"\"bill\"") "," COLUMN("type", "25",
										       "null") "]");
	CHECK_EQ(shape_it(), WP_OK);
	CHECK_SPAN(record.value, "\\x00ff");
	CHECK_SPAN(record.topic, "outbox.event.bill");
	CHECK_SPAN(record.key, "q");
	CHECK_SPAN(header("id"), "9");
	reissue("public.outbox", ROW);
	CHECK_EQ(shape_it(), WP_OK);
	CHECK_SPAN(record.value, "{\"n\": 1}");
}

static void a_modifier_is_part_of_what_a_column_is(void **state)
{
	static const char numeric[] = "[" COLUMN("id", "25", "\"one\"") "," COLUMN(
		"aggregatetype", "25",
		"\"order\"") "," COLUMN("aggregateid", "25",
					"\"k\"") "," COLUMN("type", "25",
							    "null") ",{\"name\":\"payload\","
								    "\"type\":1700,"
								    "\"modifier\":%s,\"value\":\"1."
								    "50\"}]";
	char row[600];

	(void)state;
	options[0].types = WP_RENDERING_DEBEZIUM;
	options[0].value_format = WP_FORM_JSON;
	make();
	(void)snprintf(row, sizeof(row), numeric, "327686"); /* numeric(5, 2) */
	reissue("public.outbox", row);
	CHECK_EQ(shape_it(), WP_OK);
	CHECK_SPAN(record.value, "\"AJY=\"");
	(void)snprintf(row, sizeof(row), numeric, "-1");
	reissue("public.outbox", row);
	CHECK_EQ(shape_it(), WP_OK);
	CHECK_HAS((const char *)record.value.data, "scale");
}

static void texts_are_unescaped_and_may_be_empty(void **state)
{
	(void)state;
	options[0].headers = "odd,empty,none";
	make();
	reissue("public.outbox",
		ROW_OF("\"one\"", "25", "\"\\u00e9\\n\\\"\\\\\"",
		       "," COLUMN("\\u006fdd", "25", "\"a\\tb\"") "," COLUMN(
			       "empty", "25", "\"\"") "," COLUMN("none", "25", "null")));
	CHECK_EQ(shape_it(), WP_OK);
	CHECK_SPAN(record.value, "\xc3\xa9\n\"\\");
	CHECK_SPAN(header("odd"), "a\tb");
	CHECK_SPAN(header("empty"), "");
	CHECK(!wp_span_is_null(header("empty")));
	CHECK(wp_span_is_null(header("none")));
}

static void in_binary_the_row_is_a_jsonb_of_version_1(void **state)
{
	static const char json[] = "\1" ROW;
	struct wp_span values[] = {
		{ (const uint8_t *)"\0\0\0\0\0\0\0\7", 8 },
		wp_span_of("walpost"),
		wp_span_of("public.outbox"),
		{ (const uint8_t *)json, sizeof(json) - 1 },
		{ 0 },
		wp_span_of("parked"),
		{ 0 },
		wp_span_of("row"),
	};

	(void)state;
	make();
	CHECK_EQ(wp_decoder_know(decoder, &facts, WP_TRANSFER_BINARY), WP_OK);
	wire_insert_binary(message(), REISSUE, values, 8);
	is(WP_DECODED_EVENT);
	CHECK_EQ(shape_it(), WP_OK);
	CHECK_SPAN(record.value, "{\"n\": 1}");
	CHECK_SPAN(header("walpost-reissued"), "parked");
	values[3] = wp_span_of("\2[]");
	wire_insert_binary(message(), REISSUE, values, 8);
	is(WP_DECODED_REISSUE_REFUSED);
	CHECK_HAS(error.text, "version 1");
	CHECK_EQ(wp_decoder_transaction(decoder)->next.ordinal, 2);
}

/* -- messages --------------------------------------------------------------------- */

#define EVENT                                                                                    \
	"{\"id\": \"m\", \"aggregatetype\": \"order\", \"aggregateid\": \"k\", \"type\": \"t\"," \
	" \"payload\": \"p\"}"

static void a_message_has_its_bytes(void **state)
{
	char hex[2 * sizeof(EVENT) + 2] = "\\x";

	(void)state;
	for (size_t i = 0; i + 1 < sizeof(EVENT); i++)
		(void)snprintf(hex + 2 + 2 * i, 3, "%02x", (unsigned char)EVENT[i]);
	make();
	write_reissue("walpost", "outbox", NULL, hex, "row");
	is(WP_DECODED_EVENT);
	CHECK(decoded.outbox->options == &options[2]);
	CHECK_EQ(shape_it(), WP_OK);
	CHECK_SPAN(record.value, "p");
	CHECK_SPAN(record.id, "m");
	CHECK(record.is_message);
	CHECK_SPAN(header("walpost-reissued"), "parked; 0001-00000001-0000000000000010-00000000");
	wire_message(message(), true, 250, "outbox", EVENT);
	is(WP_DECODED_EVENT);
	CHECK_EQ(shape_it(), WP_OK);
	CHECK(wp_span_is_null(header("walpost-reissued")));
}

static void a_message_in_binary_is_its_bytes(void **state)
{
	const struct wp_span values[] = {
		{ (const uint8_t *)"\0\0\0\0\0\0\0\7", 8 },
		wp_span_of("walpost"),
		wp_span_of("outbox"),
		{ 0 },
		wp_span_of(EVENT),
		wp_span_of("r"),
		{ 0 },
		wp_span_of("row"),
	};

	(void)state;
	make();
	wire_insert_binary(message(), REISSUE, values, 8);
	is(WP_DECODED_EVENT);
	CHECK_EQ(decoded.verdict, WP_OK);
	CHECK_SPAN(decoded.event->id, "m");
}

/* -- what is no event, or cannot be one ---------------------------------------------- */

static void of_other_slots_and_marks_only_the_ordinal_is_counted(void **state)
{
	(void)state;
	make();
	write_reissue("another", "public.outbox", ROW, NULL, "row");
	is(WP_DECODED_REISSUE_ELSEWHERE);
	write_reissue("walpost ", "public.outbox", ROW, NULL, "row");
	is(WP_DECODED_REISSUE_ELSEWHERE);
	write_reissue("another", "public.outbox", NULL, NULL, "mark");
	is(WP_DECODED_NOTHING);
	write_reissue("walpost", "public.outbox", NULL, NULL, "mark");
	is(WP_DECODED_MARK);
	CHECK(wp_span_is_null(decoded.drain));
	reissue("public.outbox", ROW);
	CHECK_EQ(decoded.event->position.ordinal, 4);
}

static void a_mark_of_a_drain_has_its_number(void **state)
{
	const char *const values[] = {
		"7", "walpost", "", NULL, NULL, "drain", "123456789", "mark"
	};

	(void)state;
	make();
	wire_insert(message(), REISSUE, values, 8);
	is(WP_DECODED_MARK);
	CHECK_SPAN(decoded.drain, "123456789");
}

static void without_a_slot_no_row_is_ours(void **state)
{
	(void)state;
	outboxes.slot = NULL;
	make();
	write_reissue("walpost", "public.outbox", ROW, NULL, "row");
	is(WP_DECODED_REISSUE_ELSEWHERE);
}

static void a_delete_is_no_event(void **state)
{
	const char *const key[] = { "7", NULL, NULL, NULL, NULL, NULL, NULL, NULL };

	(void)state;
	make();
	wire_delete(message(), REISSUE, key, 8);
	is(WP_DECODED_NOTHING);
}

static void an_outbox_that_is_not_configured_is_passed_over_by_name(void **state)
{
	static const char *const names[] = { "public.other", "sales.notes", "no name", "",
					     "Outbox.x" };

	(void)state;
	make();
	for (size_t i = 0; i < 5; i++) {
		write_reissue("walpost", names[i], ROW, NULL, "row");
		is(WP_DECODED_REISSUE_REFUSED);
		CHECK_EQ(decoded.verdict, WP_OK);
		CHECK_HAS(error.text, names[i]);
	}
	write_reissue("walpost", "public.outbox", NULL, "\\x7b7d", "row");
	is(WP_DECODED_REISSUE_REFUSED); /* which has no messages */
	write_reissue("walpost", "notes", NULL, "\\x7b7d", "row");
	is(WP_DECODED_REISSUE_REFUSED);
	CHECK_EQ(wp_decoder_transaction(decoder)->next.ordinal, 7);
}

/* -- to another topic -------------------------------------------------------------- */

static void a_topic_behind_the_outbox_is_where_the_event_goes(void **state)
{
	const char *const values[] = { "two", "order", "k", "made", "{}" };

	(void)state;
	make();
	reissue("public.outbox -> shop.copy-1_2", ROW);
	CHECK_EQ(decoded.verdict, WP_OK);
	CHECK(decoded.outbox->options == &options[0]);
	CHECK_EQ(shape_it(), WP_OK);
	CHECK_SPAN(record.topic, "shop.copy-1_2");
	CHECK_EQ(record.topic.data[record.topic.size], '\0');
	CHECK_SPAN(record.key, "k");
	CHECK_SPAN(record.value, "{\"n\": 1}");
	CHECK_SPAN(header("walpost-reissued"), "parked; 0001-00000001-0000000000000010-00000000");
	CHECK_TEXT(record.table, "public.outbox -> shop.copy-1_2");
	CHECK_TEXT(wp_decoded_order(&decoded), "public.outbox -> shop.copy-1_2");
	/* The next is no longer. */
	wire_relation(message(), OUTBOX, "public", "outbox", columns, 5);
	is(WP_DECODED_NOTHING);
	wire_insert(message(), OUTBOX, values, 5);
	is(WP_DECODED_EVENT);
	CHECK_EQ(shape_it(), WP_OK);
	CHECK_SPAN(record.topic, "outbox.event.order");
	CHECK_TEXT(wp_decoded_order(&decoded), "public.outbox");
	reissue("sales.\"Notes\" -> x", ROW);
	CHECK_TEXT(wp_decoded_order(&decoded), "sales.\"Notes\" -> x");
	reissue("OutBox -> x", ROW); /* an outbox has one name, whatever it is called */
	CHECK_TEXT(wp_decoded_order(&decoded), "public.outbox -> x");
}

static void its_own_topic_is_none(void **state)
{
	(void)state;
	make();
	reissue("public.outbox -> outbox.event.order", ROW);
	CHECK_EQ(shape_it(), WP_OK);
	CHECK_SPAN(record.topic, "outbox.event.order");
	CHECK_TEXT(record.table, "public.outbox");
	CHECK_TEXT(wp_decoded_order(&decoded), "public.outbox");
}

static void a_message_may_go_to_another_topic_too_and_a_prefix_may_have_an_arrow(void **state)
{
	(void)state;
	options[2].message_prefix = "a -> b";
	make();
	write_reissue("walpost", "a -> b", NULL, "\\x7b7d", "row");
	is(WP_DECODED_EVENT);
	CHECK_TEXT(wp_decoded_order(&decoded), "a -> b");
	write_reissue("walpost", "a -> b -> c", NULL, "\\x7b7d", "row");
	is(WP_DECODED_EVENT);
	CHECK_TEXT(wp_decoded_order(&decoded), "a -> b -> c");
	CHECK_SPAN(decoded.event->topic, "c");
}

/* 249 are as many as Kafka takes. */
static void what_is_no_topic_names_no_outbox(void **state)
{
	static const char *const names[] = { "public.outbox -> ",    "public.outbox -> .",
					     "public.outbox -> ..",  "public.outbox -> a b",
					     "public.outbox -> a/b", " -> a",
					     "public.outbox->a",     "public.other -> a" };
	char text[300];

	(void)state;
	make();
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		write_reissue("walpost", names[i], ROW, NULL, "row");
		is(WP_DECODED_REISSUE_REFUSED);
		CHECK_HAS(error.text, names[i]);
	}
	for (int size = 249; size <= 250; size++) {
		(void)snprintf(text, sizeof(text), "public.outbox -> %0*d", size, 1);
		write_reissue("walpost", text, ROW, NULL, "row");
		is(size == 249 ? WP_DECODED_EVENT : WP_DECODED_REISSUE_REFUSED);
	}
}

static void parked_it_keeps_its_topic(void **state)
{
	struct wp_buffer text;

	(void)state;
	make();
	wp_buffer_init(&text, 10000);
	reissue("public.outbox -> shop.copy", ROW);
	CHECK_EQ(wp_decoder_write_parked(decoder, &decoded, &text, &error), WP_OK);
	CHECK_EQ(wp_buffer_append_byte(&text, '\0'), WP_OK);
	CHECK_HAS((const char *)text.data, "\"outbox\":\"public.outbox -> shop.copy\"");
	CHECK_HAS((const char *)text.data, "\"relation\":\"public.outbox\"");
	decoded.event->key = (struct wp_span){ (const uint8_t *)"a\0b", 3 };
	CHECK_EQ(wp_decoder_write_parked(decoder, &decoded, &text, &error), WP_DATA);
	CHECK_HAS(error.text, "cannot be parked, because it has a NUL character or text that is "
			      "not UTF-8");
	wp_buffer_release(&text);
	const struct wp_parked_row row = {
		.outbox = wp_span_of("public.outbox -> shop.copy"),
		.relation = wp_span_of("public.outbox"),
		.row = wp_span_of(ROW),
		.reissued = wp_span_of("replay 7"),
	};
	CHECK(wp_decoder_outbox(decoder, row.outbox) != NULL);
	CHECK(wp_decoder_outbox(decoder, wp_span_of("public.other -> shop.copy")) == NULL);
	CHECK_EQ(wp_decoder_read_parked(decoder, &row, &decoded, &error), WP_OK);
	CHECK_EQ(shape_it(), WP_OK);
	CHECK_SPAN(record.topic, "shop.copy");
	CHECK_SPAN(header("walpost-reissued"), "replay 7");
}

static void a_table_of_another_form_is_passed_over(void **state)
{
	static const char *const values[] = { "7", "walpost" };

	(void)state;
	make();
	wire_relation(message(), REISSUE, "walpost", "reissue", reissue_columns, 2);
	is(WP_DECODED_NOTHING);
	wire_insert(message(), REISSUE, values, 2);
	is(WP_DECODED_REISSUE_REFUSED);
	CHECK_HAS(error.text, "no column \"outbox\"");
}

static void a_row_that_is_not_described_can_never_be_sent(void **state)
{
	static const char *const rows[] = {
		NULL,
		"{}",
		"null",
		"[1]",
		"[[]]",
		"[{}]",
		"[{\"name\": \"id\", \"type\": 25}]",
		"[{\"name\": \"id\", \"value\": \"1\"}]",
		"[{\"type\": 25, \"value\": \"1\"}]",
		"[{\"name\": 1, \"type\": 25, \"value\": \"1\"}]",
		"[{\"name\": \"id\", \"type\": -1, \"value\": \"1\"}]",
		"[{\"name\": \"id\", \"type\": 4294967296, \"value\": \"1\"}]",
		"[{\"name\": \"id\", \"type\": 2.5, \"value\": \"1\"}]",
		"[{\"name\": \"id\", \"type\": \"25\", \"value\": \"1\"}]",
		"[{\"name\": \"id\", \"type\": 25, \"modifier\": 2147483648, \"value\": \"1\"}]",
		"[{\"name\": \"id\", \"type\": 25, \"value\": 1}]",
		"[{\"name\": \"id\", \"type\": 25, \"value\": \"\\ud800\"}]",
	};

	(void)state;
	make();
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		write_reissue("walpost", "public.outbox", rows[i], NULL, "row");
		refused("not an array");
		CHECK_TEXT(decoded.event->table, "public.outbox");
		CHECK(wp_span_is_null(decoded.event->id));
	}
	write_reissue("walpost", "outbox", NULL, "\\x5b5d", "row");
	is(WP_DECODED_EVENT);
	CHECK_EQ(decoded.verdict, WP_DATA);
	CHECK_HAS(error.text, "not a JSON object");
	reissue("public.outbox", ROW);
	CHECK_EQ(decoded.verdict, WP_OK);
}

/* In the log a missing column or a type that does not do stops a relay: here it is this row's. */
static void a_column_that_is_missing_or_does_not_do_is_this_rows_fault_alone(void **state)
{
	(void)state;
	options[0].column_timestamp = "at";
	make();
	write_reissue("walpost", "public.outbox", ROW, NULL, "row");
	is(WP_DECODED_EVENT);
	CHECK_EQ(decoded.verdict, WP_DATA);
	CHECK_HAS(error.text, "has no column \"at\"");
	CHECK_SPAN(decoded.event->id, "one");
	write_reissue("walpost", "public.outbox",
		      ROW_OF("\"one\"", "25", "\"{}\"", "," COLUMN("at", "25", "\"now\"")), NULL,
		      "row");
	refused("which is not a time");
	CHECK_SPAN(decoded.event->id, "one");
	CHECK_SPAN(decoded.event->key, "k");
	CHECK_SPAN(decoded.event->payload, "{}");
	CHECK_EQ(shape_it(), WP_OK);
	CHECK_SPAN(record.topic, "outbox.event.order");
	reissue("public.outbox", ROW_OF("\"two\"", "25", "\"{}\"",
					"," COLUMN("at", "1184", "\"2020-01-01 00:00:00+00\"")));
	CHECK_EQ(decoded.verdict, WP_OK);
}

/* As a person may have left it. */
static void of_a_parked_row_the_table_may_be_none(void **state)
{
	static const char *const relations[] = { "", "\"", "a.b.c", "public.outbox;", NULL };

	(void)state;
	make();
	for (size_t i = 0; i < sizeof(relations) / sizeof(relations[0]); i++) {
		const struct wp_parked_row row = {
			.outbox = wp_span_of("public.outbox"),
			.relation = relations[i] != NULL ? wp_span_of(relations[i])
							 : (struct wp_span){ 0 },
			.row = wp_span_of(ROW),
		};
		CHECK_EQ(wp_decoder_read_parked(decoder, &row, &decoded, &error), WP_OK);
		CHECK_EQ(decoded.verdict, WP_OK);
		CHECK_SPAN(decoded.event->id, "one");
	}
}

/* Its dead letter is made all the same. */
static void of_a_type_that_cannot_be_written_the_text_remains(void **state)
{
	(void)state;
	options[0].types = WP_RENDERING_DEBEZIUM;
	options[0].value_format = WP_FORM_JSON_SCHEMA;
	options[0].headers = "odd";
	options[0].headers_format = WP_FORM_JSON_SCHEMA;
	make();
	write_reissue("walpost", "public.outbox",
		      ROW_OF("\"one\"", "70000", "\"sad\"", "," COLUMN("odd", "70001", "\"x\"")),
		      NULL, "row");
	refused("which walpost cannot write as Debezium does");
	CHECK_EQ(shape_it(), WP_OK);
	CHECK_HAS((const char *)record.value.data, "\"payload\":\"sad\"");
	CHECK_SPAN(header("id"),
		   "{\"schema\":{\"type\":\"string\",\"optional\":true},\"payload\":\"one\"}");
}

static void a_null_where_none_may_be_is_poison_as_in_the_log(void **state)
{
	(void)state;
	make();
	write_reissue("walpost", "public.outbox", ROW_OF("null", "25", "\"{}\"", ""), NULL, "row");
	is(WP_DECODED_EVENT);
	CHECK_EQ(decoded.verdict, WP_DATA);
	CHECK_HAS(error.text, "requires an id");
}

static void of_a_row_that_was_cut_only_the_outbox_is_known(void **state)
{
	(void)state;
	make();
	write_reissue("walpost", "public.outbox", ROW, NULL, "row");
	w.size = 80; /* within the row */
	CHECK_EQ(wp_decoder_take_beginning(decoder, wire_span(&w), &decoded, &error), WP_OK);
	CHECK_EQ(decoded.kind, WP_DECODED_EVENT);
	CHECK_EQ(decoded.verdict, WP_DATA);
	CHECK_TEXT(decoded.event->table, "public.outbox");
}

static void what_the_catalog_says_anew_holds_for_the_next_row(void **state)
{
	struct wp_column_fact fact = { .table = 0, .name = "payload", .type_oid = 25 };

	(void)state;
	options[0].types = WP_RENDERING_DEBEZIUM;
	options[0].value_format = WP_FORM_JSON_SCHEMA;
	make();
	reissue("public.outbox", ROW);
	CHECK(decoded.event->payload_type->is_optional);
	fact.is_not_null = true;
	wp_column_facts_add(&facts, &fact, NULL);
	CHECK_EQ(wp_decoder_know(decoder, &facts, WP_TRANSFER_TEXT), WP_OK);
	reissue("public.outbox", ROW);
	CHECK(!decoded.event->payload_type->is_optional);
}

static void other_tables_of_walpost_are_passed_over(void **state)
{
	const char *const values[] = { "two", "order", "k", "made", "{}" };

	(void)state;
	make();
	wire_relation(message(), NOTES, "walpost", "parked", columns, 5);
	is(WP_DECODED_NOTHING);
	wire_insert(message(), NOTES, values, 5);
	is(WP_DECODED_NOTHING);
	CHECK_EQ(wp_decoder_transaction(decoder)->next.ordinal, 1);
}

/* -- memory ------------------------------------------------------------------------- */

static void without_memory_nothing_has_changed(void **state)
{
	(void)state;
	make();
	for (size_t i = 0; i < 12; i++) {
		write_reissue("walpost", i % 2 == 0 ? "public.outbox -> copy" : "sales.\"Notes\"",
			      ROW, NULL, "row");
		memory_fails_after(i % 6);
		enum wp_rc rc = take();
		memory_works();
		if (rc != WP_OK) {
			CHECK_EQ(rc, WP_NOMEM);
			CHECK_EQ(take(), WP_OK);
		}
		CHECK_EQ(decoded.event->position.ordinal, i);
		CHECK_SPAN(decoded.event->id, "one");
	}
}

int main(void)
{
	return RUN(TEST(it_is_the_event_that_a_row_of_the_outbox_would_be),
		   TEST(without_a_first_position_the_header_has_the_reason_alone),
		   TEST(the_outbox_itself_need_not_be_in_the_log_and_is_not_marked_if_it_is),
		   TEST(each_is_of_the_outbox_that_it_names_in_whatever_order),
		   TEST(a_row_has_the_columns_and_types_that_its_table_had_then),
		   TEST(a_modifier_is_part_of_what_a_column_is),
		   TEST(texts_are_unescaped_and_may_be_empty),
		   TEST(in_binary_the_row_is_a_jsonb_of_version_1), TEST(a_message_has_its_bytes),
		   TEST(a_message_in_binary_is_its_bytes),
		   TEST(of_other_slots_and_marks_only_the_ordinal_is_counted),
		   TEST(a_mark_of_a_drain_has_its_number), TEST(without_a_slot_no_row_is_ours),
		   TEST(a_delete_is_no_event),
		   TEST(an_outbox_that_is_not_configured_is_passed_over_by_name),
		   TEST(a_topic_behind_the_outbox_is_where_the_event_goes),
		   TEST(its_own_topic_is_none),
		   TEST(a_message_may_go_to_another_topic_too_and_a_prefix_may_have_an_arrow),
		   TEST(what_is_no_topic_names_no_outbox), TEST(parked_it_keeps_its_topic),
		   TEST(a_table_of_another_form_is_passed_over),
		   TEST(a_row_that_is_not_described_can_never_be_sent),
		   TEST(a_column_that_is_missing_or_does_not_do_is_this_rows_fault_alone),
		   TEST(of_a_parked_row_the_table_may_be_none),
		   TEST(of_a_type_that_cannot_be_written_the_text_remains),
		   TEST(a_null_where_none_may_be_is_poison_as_in_the_log),
		   TEST(of_a_row_that_was_cut_only_the_outbox_is_known),
		   TEST(what_the_catalog_says_anew_holds_for_the_next_row),
		   TEST(other_tables_of_walpost_are_passed_over),
		   TEST(without_memory_nothing_has_changed));
}
