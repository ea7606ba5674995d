#include <stdio.h>
#include <string.h>

#include "scripted_sink.h"
#include "support/check.h"
#include "support/partitions.h"
#include "support/wire_writer.h"
#include "support/memory.h"
#include "support/rows.h"
#include "walpost/base/calendar.h"
#include "walpost/relay/pipeline.h"

#define OUTBOX 16400
#define OTHER 16500
#define LEAF 16600
#define EVENTS_MAX 8
#define ROOM 1000000
#define COMMIT_TIME_US 1000000 /* a second after 2000-01-01 */

/* A pipeline with all it borrows, and the last answer. */
static struct bench {
	struct wp_outbox_options options;
	const char *ignore;
	struct wp_outboxes outboxes;
	enum wp_poison poison;
	enum wp_transfer transfer;
	struct wp_column_facts facts;
	struct wp_partitions partitions;
	struct wp_ledger ledger;
	struct scripted_sink sink;
	struct wp_pipeline *pipeline;
	struct wp_taken taken;
	struct wp_error error;
	uint8_t room[4096];
	struct wire_writer wire;
} b;

static enum wp_rc build(void)
{
	b.outboxes = only(&b.options, b.ignore);
	return wp_pipeline_new(
		&(struct wp_pipeline_setup){
			.outboxes = &b.outboxes,
			.epoch = 7,
			.value_size_max = 1000,
			.record_max = b.sink.view.record_max,
			.poison = b.poison,
			.dead_letter_topic = "dead",
			.partitions = &b.partitions,
			.ledger = &b.ledger,
			.sink = &b.sink.base,
		},
		&b.pipeline, &b.error);
}

static void begin_stream(void)
{
	wp_pipeline_begin(b.pipeline, &(struct wp_timelines){ .current = 1 }, "UTF8");
	wp_column_facts_begin(&b.facts);
	wp_pipeline_know(b.pipeline, &b.facts, b.transfer);
}

static void start(void)
{
	CHECK_EQ(build(), WP_OK);
	begin_stream();
}

/* All but the pipeline, whose options a test may change before start(). */
static int prepare(void **state)
{
	b = (struct bench){ .options = default_options(), .ignore = "" };
	scripted_sink_init(&b.sink);
	return wp_ledger_init(&b.ledger, EVENTS_MAX, ROOM);
}

static int set_up(void **state)
{
	CHECK_EQ(prepare(state), WP_OK);
	start();
	return 0;
}

static int tear_down(void **state)
{
	wp_pipeline_free(b.pipeline);
	wp_partitions_release(&b.partitions);
	wp_ledger_release(&b.ledger);
	return 0;
}

static void prepare_anew(void)
{
	CHECK_EQ(tear_down(NULL), 0);
	CHECK_EQ(prepare(NULL), WP_OK);
}

/* -- what the server says ------------------------------------------------- */

static struct wire_writer *data(void)
{
	wire_init(&b.wire, b.room, sizeof(b.room));
	wire_data(&b.wire, 0);
	return &b.wire;
}

/* The frame that was written last, once more too. */
static enum wp_rc offer(void)
{
	return wp_pipeline_take(b.pipeline, wire_span(&b.wire), &b.taken, &b.error);
}

static enum wp_rc begin(wp_lsn commit_lsn)
{
	wire_begin(data(), commit_lsn, COMMIT_TIME_US);
	return offer();
}

/* It ends 8 behind its record's start. */
static enum wp_rc commit(wp_lsn commit_lsn)
{
	wire_commit(data(), commit_lsn, commit_lsn + 8, COMMIT_TIME_US);
	return offer();
}

static enum wp_rc relation(uint32_t oid, const char *schema, const char *name)
{
	wire_relation(data(), oid, schema, name, wire_outbox_columns, 5);
	return offer();
}

static enum wp_rc outbox(void)
{
	return relation(OUTBOX, "public", "outbox");
}

static enum wp_rc insert(uint32_t oid, const char *id, const char *route, const char *key,
			 const char *payload)
{
	const char *const values[] = { id, route, key, "made", payload };

	wire_insert(data(), oid, values, 5);
	return offer();
}

static enum wp_rc row(const char *id)
{
	return insert(OUTBOX, id, "order", "k", "{}");
}

static enum wp_rc keepalive(wp_lsn wal_end, bool reply)
{
	wire_init(&b.wire, b.room, sizeof(b.room));
	wire_keepalive(&b.wire, wal_end, reply);
	return offer();
}

#define TAKE(answer_) CHECK_EQ((answer_), WP_OK)
/* Of what was sent last. */
#define CHECK_LAST(field_, wanted_) CHECK_TEXT(scripted_sink_last(&b.sink)->field_, (wanted_))
#define CHECK_LAST_HEADERS(part_) CHECK_HAS(scripted_sink_last(&b.sink)->headers, (part_))

/* The outbox is told of, and the transaction of 0x100 begins. */
static void begin_rows(void)
{
	TAKE(outbox());
	TAKE(begin(0x100));
}

static void one_row_tx(wp_lsn commit_lsn, const char *id)
{
	TAKE(begin(commit_lsn));
	TAKE(row(id));
	TAKE(commit(commit_lsn));
}

/* As of a moment after all that the tests commit. */
static void know(const char *partitions)
{
	know_partitions(&b.partitions, partitions, WIRE_XID + 10);
}

static const struct wp_pipeline_counts *counts(void)
{
	return wp_pipeline_counts(b.pipeline);
}

/* -- the way of an event -------------------------------------------------- */

static void a_row_becomes_a_record_and_a_ticket(void **state)
{
	TAKE(begin(0x194AB88));
	TAKE(outbox());
	TAKE(insert(OUTBOX, "e-1", "order", "o-1", "{\"a\": 1}"));
	CHECK(b.taken.event);
	const struct sent *sent = scripted_sink_last(&b.sink);
	CHECK_EQ(sent->ticket, 1);
	CHECK_TEXT(sent->topic, "outbox.event.order");
	CHECK_TEXT(sent->id, "e-1");
	CHECK_TEXT(sent->key, "o-1");
	CHECK_TEXT(sent->value, "{\"a\": 1}");
	CHECK_TEXT(sent->position, "0007-00000001-000000000194AB88-00000000");
	CHECK_TEXT(sent->headers, "id=e-1 type=made "
				  "walpost-position=0007-00000001-000000000194AB88-00000000");
	CHECK_EQ(sent->timestamp_ms, (int64_t)WP_POSTGRES_EPOCH_S * 1000 + 1000);
	CHECK_EQ(b.ledger.in_flight, 1);
}

static void only_the_commit_moves_the_positions(void **state)
{
	TAKE(begin(200));
	TAKE(outbox());
	TAKE(row("1"));
	CHECK_EQ(wp_ledger_received_lsn(&b.ledger), 0);
	TAKE(commit(200));
	CHECK_EQ(wp_ledger_received_lsn(&b.ledger), 208);
	CHECK_EQ(wp_ledger_confirmed_lsn(&b.ledger), 0);
	CHECK_EQ(wp_ledger_settle(&b.ledger, 1), WP_SETTLED);
	CHECK_EQ(wp_ledger_confirmed_lsn(&b.ledger), 208);
}

static void a_transaction_without_events_moves_the_positions_too(void **state)
{
	TAKE(begin(200));
	TAKE(commit(200));
	CHECK_EQ(wp_ledger_confirmed_lsn(&b.ledger), 208);
	CHECK_EQ(counts()->transactions, 0);
}

static void a_keepalive_is_told_to_the_ledger_and_to_the_caller(void **state)
{
	TAKE(keepalive(300, true));
	CHECK(b.taken.keepalive && b.taken.reply_requested && !b.taken.event);
	CHECK_EQ(b.taken.wal_end, 300);
	CHECK_EQ(wp_ledger_confirmed_lsn(&b.ledger), 300);
	TAKE(keepalive(400, false));
	CHECK(b.taken.keepalive && !b.taken.reply_requested);
}

static void between_begin_and_commit_there_is_a_transaction(void **state)
{
	CHECK(!wp_pipeline_in_transaction(b.pipeline));
	TAKE(begin(200));
	CHECK(wp_pipeline_in_transaction(b.pipeline));
	TAKE(commit(200));
	CHECK(!wp_pipeline_in_transaction(b.pipeline));
}

static void only_a_row_of_the_outbox_is_an_event(void **state)
{
	TAKE(begin(200));
	CHECK(!b.taken.event);
	TAKE(outbox());
	CHECK(!b.taken.event && !b.taken.keepalive);
	TAKE(row("1"));
	CHECK(b.taken.event);
	TAKE(commit(200));
	CHECK(!b.taken.event);
}

static void events_transactions_and_bytes_are_counted(void **state)
{
	TAKE(outbox());
	one_row_tx(200, "1");
	size_t bytes = b.sink.sent[0].size;
	one_row_tx(300, "2");
	bytes += b.sink.sent[1].size;
	TAKE(begin(400));
	TAKE(commit(400));
	CHECK_EQ(counts()->events, 2);
	CHECK_EQ(counts()->transactions, 2);
	CHECK_EQ(counts()->bytes, bytes);
}

/* -- positions ------------------------------------------------------------ */

static void ordinals_count_from_zero_in_each_transaction(void **state)
{
	begin_rows();
	TAKE(row("1"));
	TAKE(row("2"));
	CHECK_LAST(position, "0007-00000001-0000000000000100-00000001");
	TAKE(commit(0x100));
	one_row_tx(0x200, "3");
	CHECK_LAST(position, "0007-00000001-0000000000000200-00000000");
}

static void messages_and_ignored_rows_count_in_the_ordinal(void **state)
{
	b.ignore = "public.audit";
	start();
	TAKE(outbox());
	TAKE(relation(OTHER, "public", "audit"));
	TAKE(begin(0x100));
	wire_message(data(), true, 0x90, "any", "thing");
	TAKE(offer());
	CHECK_EQ(insert(OTHER, "x", "x", "x", "x"), WP_PAUSE);
	know("");
	TAKE(offer());
	TAKE(row("1"));
	CHECK_LAST(position, "0007-00000001-0000000000000100-00000002");
	CHECK_EQ(counts()->messages, 1);
	CHECK_EQ(counts()->ignored, 1);
}

static void a_message_outside_a_transaction_counts_in_no_ordinal(void **state)
{
	begin_rows();
	wire_message(data(), false, 0x90, "any", "thing");
	TAKE(offer());
	CHECK(b.taken.rare && wp_span_is(b.taken.ignored, "any"));
	TAKE(row("1"));
	CHECK(wp_span_is_null(b.taken.ignored));
	CHECK_LAST(position, "0007-00000001-0000000000000100-00000000");
	CHECK_EQ(counts()->messages, 1);
}

static void the_timeline_is_the_one_the_commit_was_written_on(void **state)
{
	struct wp_timelines timelines = {
		.current = 3,
		.count = 2,
		.past = { { 1, 0x150 }, { 2, 0x250 } },
	};

	wp_pipeline_begin(b.pipeline, &timelines, "UTF8");
	timelines = (struct wp_timelines){ 0 }; /* it has its own copy */
	TAKE(outbox());
	one_row_tx(0x100, "1");
	one_row_tx(0x200, "2");
	one_row_tx(0x300, "3");
	CHECK_TEXT(b.sink.sent[0].position, "0007-00000001-0000000000000100-00000000");
	CHECK_TEXT(b.sink.sent[1].position, "0007-00000002-0000000000000200-00000000");
	CHECK_TEXT(b.sink.sent[2].position, "0007-00000003-0000000000000300-00000000");
}

/* -- what is no event ----------------------------------------------------- */

static void updates_deletes_and_truncates_are_counted_and_nothing_else(void **state)
{
	static const char *const VALUES[] = { "1", "order", "k", "made", "{}" };

	begin_rows();
	wire_update(data(), OUTBOX, VALUES, 5);
	TAKE(offer());
	wire_delete(data(), OUTBOX, VALUES, 5);
	TAKE(offer());
	TAKE(offer());
	wire_truncate(data(), OUTBOX);
	TAKE(offer());
	CHECK_EQ(counts()->updates, 1);
	CHECK_EQ(counts()->deletes, 2);
	CHECK_EQ(counts()->truncates, 1);
	CHECK_EQ(b.sink.offers, 0);
	TAKE(row("1"));
	CHECK_LAST(position, "0007-00000001-0000000000000100-00000000");
}

static void updates_and_deletes_of_other_tables_are_not_counted(void **state)
{
	static const char *const VALUES[] = { "1", "order", "k", "made", "{}" };

	TAKE(relation(OTHER, "public", "other"));
	TAKE(begin(0x100));
	wire_update(data(), OTHER, VALUES, 5);
	CHECK_EQ(offer(), WP_PAUSE);
	know("");
	TAKE(offer());
	wire_delete(data(), OTHER, VALUES, 5);
	TAKE(offer());
	wire_delete(data(), OTHER + 1, VALUES, 5); /* never told about */
	TAKE(offer());
	CHECK_EQ(counts()->updates, 0);
	CHECK_EQ(counts()->deletes, 0);
}

/* The outbox's own when it is a leaf: its outbox says what an update means. */
static void an_update_or_delete_of_a_table_not_known_yet_is_asked_about_first(void **state)
{
	static const char *const VALUES[] = { "1", "order", "k", "made", "{}" };

	start();
	TAKE(relation(OTHER, "public", "outbox_p1"));
	TAKE(begin(0x100));
	wire_delete(data(), OTHER, VALUES, 5);
	CHECK_EQ(offer(), WP_PAUSE);
	CHECK_EQ(wp_pipeline_question(b.pipeline), WIRE_XID);
	CHECK_EQ(counts()->deletes, 0);
	know("16500 0");
	TAKE(offer());
	CHECK_EQ(counts()->deletes, 1);
	prepare_anew();
	b.options.on_update = WP_ON_UPDATE_STOP;
	start();
	TAKE(relation(OTHER, "public", "outbox_p1"));
	TAKE(begin(0x100));
	wire_update(data(), OTHER, VALUES, 5);
	CHECK_EQ(offer(), WP_PAUSE);
	know("16500 0");
	CHECK_EQ(offer(), WP_CONFIG);
	CHECK_HAS(b.error.text, "outbox.on_update = stop");
}

static void insert_and_delete_in_one_transaction_still_delivers(void **state)
{
	static const char *const VALUES[] = { "1", NULL, NULL, NULL, NULL };

	begin_rows();
	TAKE(row("1"));
	wire_delete(data(), OUTBOX, VALUES, 5);
	TAKE(offer());
	TAKE(commit(0x100));
	CHECK_EQ(b.sink.sent_count, 1);
}

static void origins_and_types_are_taken(void **state)
{
	TAKE(begin(0x100));
	wire_origin(data(), 0x80, "elsewhere");
	TAKE(offer());
	wire_type(data(), 16999, "public", "mood");
	TAKE(offer());
	TAKE(commit(0x100));
}

static void the_slot_checkpoint_is_our_own_and_passed_over_unasked(void **state)
{
	TAKE(relation(OTHER, "walpost", "slot_checkpoint"));
	TAKE(begin(0x100));
	TAKE(insert(OTHER, "x", "x", "x", "x"));
	CHECK_EQ(counts()->ignored, 0);
	CHECK_EQ(b.sink.offers, 0);
	TAKE(commit(0x100));
	CHECK_EQ(wp_ledger_confirmed_lsn(&b.ledger), 0x108);
}

static void so_is_the_record_of_what_was_skipped_but_no_other_table_of_the_schema(void **state)
{
	TAKE(relation(OTHER, "walpost", "skip"));
	TAKE(relation(OTHER + 1, "walpost", "skipped"));
	TAKE(begin(0x100));
	TAKE(insert(OTHER, "x", "x", "x", "x"));
	CHECK_EQ(counts()->ignored, 0);
	CHECK_EQ(insert(OTHER + 1, "x", "x", "x", "x"), WP_PAUSE);
}

/* -- relations ------------------------------------------------------------ */

static void columns_are_found_by_name_in_each_new_relation(void **state)
{
	static const struct wire_column REORDERED[] = {
		{ "payload", TEXT_OID },     { "note", TEXT_OID }, { "type", TEXT_OID },
		{ "aggregateid", TEXT_OID }, { "id", TEXT_OID },   { "aggregatetype", TEXT_OID },
	};
	static const char *const VALUES[] = { "{\"n\":2}", "?", "made", "k2", "2", "invoice" };

	begin_rows();
	TAKE(row("1"));
	wire_relation(data(), OUTBOX, "public", "outbox", REORDERED, 6);
	TAKE(offer());
	wire_insert(data(), OUTBOX, VALUES, 6);
	TAKE(offer());
	CHECK_LAST(id, "2");
	CHECK_LAST(key, "k2");
	CHECK_LAST(topic, "outbox.event.invoice");
	CHECK_LAST(value, "{\"n\":2}");
}

static void a_missing_column_stops_and_is_named(void **state)
{
	wire_relation(data(), OUTBOX, "public", "outbox", wire_outbox_columns, 4);
	CHECK_EQ(offer(), WP_CONFIG);
	CHECK_HAS(b.error.text, "payload");
	CHECK_EQ(offer(), WP_CONFIG); /* again, if it is offered again */
}

static void a_bytea_payload_is_decoded_also_behind_a_domain(void **state)
{
	static const struct wire_column BYTES[] = {
		{ "id", TEXT_OID },   { "aggregatetype", TEXT_OID }, { "aggregateid", TEXT_OID },
		{ "type", TEXT_OID }, { "payload", 16999 },
	};

	wire_type(data(), 16999, "pg_catalog", "bytea");
	TAKE(offer());
	wire_relation(data(), OUTBOX, "public", "outbox", BYTES, 5);
	TAKE(offer());
	TAKE(begin(0x100));
	TAKE(insert(OUTBOX, "1", "order", "k", "\\x4142"));
	CHECK_LAST(value, "AB");
}

static struct wp_span bytes_of(const char *bytes, size_t size)
{
	return (struct wp_span){ .data = (const uint8_t *)bytes, .size = size };
}

static void a_binary_row_becomes_the_record_of_its_text(void **state)
{
	static const struct wire_column columns[] = {
		{ "id", 2950 },	  { "aggregatetype", TEXT_OID }, { "aggregateid", BYTEA_OID },
		{ "type", 1043 }, { "payload", 3802 },		 { "unmapped", 1184 },
	};
	const struct wp_span values[] = {
		bytes_of("\x01\x23\x45\x67\x89\xab\xcd\xef\xfe\xdc\xba\x98\x76\x54\x32\x10", 16),
		bytes_of("order", 5),
		bytes_of("\x00\xff", 2),
		bytes_of("made", 4),
		bytes_of("\x01{\"a\": 1}", 9),
		bytes_of("\x00\x02\xe1\x8c\x1f\x29\x80\x00", 8),
	};

	b.transfer = WP_TRANSFER_BINARY;
	start();
	TAKE(begin(0x100));
	wire_relation(data(), OUTBOX, "public", "outbox", columns, 6);
	TAKE(offer());
	wire_insert_binary(data(), OUTBOX, values, 6);
	TAKE(offer());
	const struct sent *sent = scripted_sink_last(&b.sink);
	CHECK_TEXT(sent->id, "01234567-89ab-cdef-fedc-ba9876543210");
	CHECK_TEXT(sent->key, "\\x00ff");
	CHECK_TEXT(sent->value, "{\"a\": 1}");
}

static void an_enum_is_its_label_in_binary_when_it_is_known(void **state)
{
	static const struct wire_column columns[] = {
		{ "id", TEXT_OID },   { "aggregatetype", 16700 }, { "aggregateid", TEXT_OID },
		{ "type", TEXT_OID }, { "payload", TEXT_OID },
	};
	const struct wp_span x = bytes_of("x", 1);
	const struct wp_span values[] = { x, bytes_of("order", 5), x, x, x };

	b.transfer = WP_TRANSFER_BINARY;
	start();
	wire_relation(data(), OUTBOX, "public", "outbox", columns, 5);
	CHECK_EQ(offer(), WP_CONFIG);
	CHECK(wp_pipeline_wants_facts(b.pipeline));
	CHECK(wp_pipeline_wants_text(b.pipeline));
	CHECK(wp_column_facts_add_type(
		&b.facts,
		&(struct wp_type_fact){ .oid = 16700, .base_oid = 16700, .known_as = "enum" },
		NULL));
	wp_pipeline_know(b.pipeline, &b.facts, b.transfer);
	TAKE(offer());
	TAKE(begin(0x100));
	wire_insert_binary(data(), OUTBOX, values, 5);
	TAKE(offer());
	CHECK_LAST(topic, "outbox.event.order");
}

static void a_column_that_binary_cannot_do_stops_when_its_relation_comes(void **state)
{
	static const struct wire_column columns[] = {
		{ "id", 869 },	      { "aggregatetype", TEXT_OID }, { "aggregateid", TEXT_OID },
		{ "type", TEXT_OID }, { "payload", TEXT_OID },
	};

	b.transfer = WP_TRANSFER_BINARY;
	start();
	wire_relation(data(), OUTBOX, "public", "outbox", columns, 5);
	CHECK_EQ(offer(), WP_CONFIG);
	CHECK_HAS(b.error.text, "\"id\" (outbox.column.id) is of type inet");
	CHECK(!wp_pipeline_wants_facts(b.pipeline)); /* every database has it */
	CHECK_HAS(b.error.text, "postgres.binary = off");
}

static void the_outbox_is_found_by_its_whole_name(void **state)
{
	TAKE(relation(OTHER, "elsewhere", "outbox"));
	TAKE(relation(OTHER + 1, "public", "outbox2"));
	TAKE(relation(OTHER + 2, "public", "Outbox"));
	TAKE(begin(0x100));
	know("");
	for (uint32_t i = 0; i < 3; i++)
		CHECK_EQ(insert(OTHER + i, "1", "order", "k", "{}"), WP_CONFIG);
}

static void a_new_stream_makes_all_that_was_told_void(void **state)
{
	begin_rows();
	TAKE(row("1"));
	TAKE(relation(LEAF, "public", "leaf"));
	CHECK_EQ(insert(LEAF, "1", "order", "k", "{}"), WP_PAUSE);
	begin_stream();
	CHECK(!wp_pipeline_in_transaction(b.pipeline));
	TAKE(begin(0x100));
	CHECK_EQ(row("1"), WP_PROTO); /* nothing was told about this relation */
}

static void relations_without_end_stop_with_the_cure(void **state)
{
	for (uint32_t i = 0; i < 100000; i++) {
		wire_relation(data(), 20000 + i, "s", "t", wire_outbox_columns, 1);
		TAKE(offer());
	}
	wire_relation(data(), 19999, "s", "t", wire_outbox_columns, 1);
	CHECK_EQ(offer(), WP_CONFIG);
	CHECK_HAS(b.error.text, "100000");
	wire_relation(data(), 20000, "s", "t", wire_outbox_columns, 1);
	TAKE(offer()); /* a known one again */
}

static void types_without_end_stop_with_the_cure(void **state)
{
	for (uint32_t i = 0; i < 100000; i++) {
		wire_type(data(), 20000 + i, "pg_catalog", "text");
		TAKE(offer());
	}
	wire_type(data(), 19999, "pg_catalog", "text");
	CHECK_EQ(offer(), WP_CONFIG);
	CHECK_HAS(b.error.text, "100000 types");
	wire_type(data(), 20000, "pg_catalog", "bytea");
	TAKE(offer()); /* a known one again */
}

/* -- leaves of partitioned tables, and tables nobody configured ------------ */

static void a_row_of_a_relation_that_may_be_a_partition_asks(void **state)
{
	TAKE(relation(LEAF, "public", "outbox_p1"));
	TAKE(begin(0x100));
	CHECK_EQ(insert(LEAF, "1", "order", "k", "{}"), WP_PAUSE);
	CHECK_EQ(wp_pipeline_question(b.pipeline), WIRE_XID);
	CHECK_EQ(b.sink.offers, 0);
	CHECK_EQ(offer(), WP_PAUSE); /* as long as there is no answer */
}

static void a_leaf_of_the_outbox_is_the_outbox(void **state)
{
	TAKE(relation(LEAF, "public", "outbox_p1"));
	TAKE(begin(0x100));
	CHECK_EQ(insert(LEAF, "1", "order", "k", "{}"), WP_PAUSE);
	know("16600 0");
	TAKE(offer());
	CHECK(b.taken.event);
	CHECK_LAST(position, "0007-00000001-0000000000000100-00000000");
	TAKE(insert(LEAF, "2", "order", "k", "{}"));
	CHECK_EQ(b.sink.sent_count, 2);
}

static void a_leaf_that_lacks_a_column_stops(void **state)
{
	static const char *const VALUES[] = { "1", "order", "k", "made" };

	wire_relation(data(), LEAF, "public", "outbox_p1", wire_outbox_columns, 4);
	TAKE(offer());
	TAKE(begin(0x100));
	wire_insert(data(), LEAF, VALUES, 4);
	CHECK_EQ(offer(), WP_PAUSE);
	know("16600 0");
	CHECK_EQ(offer(), WP_CONFIG);
	CHECK_HAS(b.error.text, "payload");
}

static void a_row_that_nobody_configured_stops_and_names_its_table(void **state)
{
	TAKE(relation(LEAF, "public", "orders_p1"));
	TAKE(begin(0x100));
	CHECK_EQ(insert(LEAF, "1", "order", "k", "{}"), WP_PAUSE);
	know("");
	CHECK_EQ(offer(), WP_CONFIG);
	CHECK_HAS(b.error.text, "public.orders_p1");
	CHECK_HAS(b.error.text, "outbox.ignore");
	CHECK_EQ(b.sink.offers, 0);
}

static void a_leaf_that_is_gone_stops_unless_under_leaves(void **state)
{
	start();
	TAKE(relation(LEAF, "public", "outbox_p1"));
	TAKE(begin(0x100));
	CHECK_EQ(insert(LEAF, "1", "order", "k", "{}"), WP_PAUSE);
	know("");
	CHECK_EQ(offer(), WP_CONFIG);
	CHECK_HAS(b.error.text, "outbox.leaves");
	prepare_anew();
	b.options.leaves = "public.outbox_*";
	start();
	TAKE(relation(LEAF, "public", "outbox_p1"));
	TAKE(begin(0x100));
	CHECK_EQ(insert(LEAF, "1", "order", "k", "{}"), WP_PAUSE);
	know("");
	TAKE(offer());
	CHECK(b.taken.event);
}

/* It may be that very transaction which attached the partition. */
static void an_answer_from_before_the_transaction_had_ended_is_none(void **state)
{
	TAKE(relation(LEAF, "public", "outbox_p1"));
	TAKE(begin(0x100));
	know_partitions(&b.partitions, "", WIRE_XID);
	CHECK_EQ(insert(LEAF, "1", "order", "k", "{}"), WP_PAUSE);
	know("16600 0");
	TAKE(offer());
	CHECK(b.taken.event);
}

/* Its commit waits for a synchronous standby, us perhaps; asked before, the answer says little. */
static void of_a_transaction_that_runs_still_a_later_answer_may_do(void **state)
{
	char running[40];
	char harmless[20];

	(void)snprintf(running, sizeof(running), "%u:%u:%u", WIRE_XID, WIRE_XID + 1, WIRE_XID);
	(void)snprintf(harmless, sizeof(harmless), "%u", WIRE_XID);
	CHECK_EQ(read_partitions(&b.partitions, "16600 0", running, harmless), WP_OK);
	TAKE(relation(LEAF, "public", "outbox_p1"));
	TAKE(begin(0x100));
	CHECK_EQ(insert(LEAF, "1", "order", "k", "{}"), WP_PAUSE);
	TAKE(offer()); /* asked anew meanwhile, with the same answer */
	CHECK(b.taken.event);
	TAKE(commit(0x100));
	TAKE(relation(OTHER, "public", "outbox_p2"));
	TAKE(begin(0x200));
	CHECK_EQ(insert(OTHER, "2", "order", "k", "{}"), WP_PAUSE);
}

static void one_answer_does_for_all_tables_of_transactions_before_it(void **state)
{
	b.ignore = "audit.log";
	start();
	know_partitions(&b.partitions, "16600 0", WIRE_XID + 1);
	TAKE(begin(0x100));
	for (uint32_t i = 0; i < 50; i++) {
		TAKE(relation(OTHER + i, "audit", "log"));
		TAKE(insert(OTHER + i, "1", "x", "k", "{}"));
	}
	TAKE(commit(0x100));
	CHECK_EQ(counts()->ignored, 50);
	wire_begin_as(data(), 0x200, 0, WIRE_XID + 1);
	TAKE(offer());
	TAKE(insert(OTHER, "1", "x", "k", "{}")); /* known, and not told of anew */
	TAKE(relation(OTHER + 50, "audit", "log"));
	CHECK_EQ(insert(OTHER + 50, "1", "x", "k", "{}"), WP_PAUSE);
	CHECK_EQ(wp_pipeline_question(b.pipeline), WIRE_XID + 1);
}

/* The server tells of a relation anew when it was attached. */
static void an_ignored_table_that_is_told_of_anew_may_be_a_partition_by_now(void **state)
{
	b.ignore = "*, public.outbox_p1";
	start();
	know_partitions(&b.partitions, "", WIRE_XID + 1);
	TAKE(begin(0x100));
	TAKE(relation(LEAF, "public", "outbox_p1"));
	TAKE(insert(LEAF, "1", "order", "k", "{}"));
	TAKE(commit(0x100));
	CHECK_EQ(counts()->ignored, 1);
	wire_begin_as(data(), 0x200, 0, WIRE_XID + 1);
	TAKE(offer());
	TAKE(relation(LEAF, "public", "outbox_p1"));
	CHECK_EQ(insert(LEAF, "2", "order", "k", "{}"), WP_PAUSE);
	know("16600 0");
	TAKE(offer());
	CHECK(b.taken.event);
	CHECK_EQ(counts()->ignored, 1);
}

static void an_ignored_row_is_asked_about_once_and_then_counted(void **state)
{
	b.ignore = "audit.log";
	start();
	TAKE(relation(OTHER, "audit", "log"));
	TAKE(begin(0x100));
	CHECK_EQ(insert(OTHER, "1", "x", "k", "{}"), WP_PAUSE);
	know("");
	TAKE(offer());
	TAKE(insert(OTHER, "2", "x", "k", "{}"));
	CHECK_EQ(counts()->ignored, 2);
	CHECK_EQ(b.sink.offers, 0);
}

static void a_leaf_of_the_outbox_is_never_ignored(void **state)
{
	b.ignore = "*";
	start();
	TAKE(relation(LEAF, "public", "outbox_p1"));
	begin_rows();
	CHECK_EQ(insert(LEAF, "1", "order", "k", "{}"), WP_PAUSE);
	know("16600 0");
	TAKE(offer());
	TAKE(row("2"));
	CHECK_EQ(b.sink.sent_count, 2);
	CHECK_EQ(counts()->ignored, 0);
}

/* -- not taken: nothing has changed --------------------------------------- */

/* The frame written last is refused; later it is taken as if it came first. */
static void check_refusal(enum wp_rc wanted)
{
	struct wp_pipeline_counts before = *counts();
	size_t in_flight = b.ledger.in_flight;
	wp_ticket next = wp_ledger_next(&b.ledger);

	for (int i = 0; i < 3; i++) {
		CHECK_EQ(offer(), wanted);
		assert_memory_equal(counts(), &before, sizeof(before));
		CHECK_EQ(b.ledger.in_flight, in_flight);
		CHECK_EQ(wp_ledger_next(&b.ledger), next);
	}
}

static void without_room_in_the_ledger_the_sink_is_not_offered_the_event(void **state)
{
	begin_rows();
	for (int i = 0; i < EVENTS_MAX; i++)
		TAKE(row("1"));
	CHECK_EQ(row("late"), WP_FULL);
	check_refusal(WP_FULL);
	CHECK_EQ(b.sink.offers, EVENTS_MAX);
	CHECK_EQ(wp_ledger_settle(&b.ledger, 1), WP_SETTLED);
	TAKE(offer());
	CHECK_LAST(id, "late");
	CHECK_EQ(scripted_sink_last(&b.sink)->ticket, EVENTS_MAX + 1);
	CHECK_LAST(position, "0007-00000001-0000000000000100-00000008");
}

static void without_room_all_but_events_is_taken(void **state)
{
	begin_rows();
	for (int i = 0; i < EVENTS_MAX; i++)
		TAKE(row("1"));
	TAKE(keepalive(0x50, true));
	TAKE(commit(0x100));
	TAKE(outbox());
	TAKE(begin(0x200));
	TAKE(commit(0x200));
}

static void bytes_in_flight_are_bounded_with_an_overhead_per_event(void **state)
{
	begin_rows();
	TAKE(row("1"));
	size_t each = b.ledger.bytes;
	CHECK(each > b.sink.sent[0].size);
	b.ledger.bytes_max = 2 * each - 1;
	CHECK_EQ(row("2"), WP_FULL);
	b.ledger.bytes_max = 2 * each;
	TAKE(offer());
}

static void what_the_sink_does_not_take_may_be_offered_again(void **state)
{
	static const enum wp_rc ANSWERS[] = { WP_AGAIN, WP_FULL, WP_IO, WP_DATA, WP_NOMEM };

	for (size_t i = 0; i < sizeof(ANSWERS) / sizeof(ANSWERS[0]); i++) {
		prepare_anew();
		start();
		TAKE(outbox());
		TAKE(begin(0x100));
		TAKE(row("1"));
		b.sink.answer = ANSWERS[i];
		CHECK_EQ(row("2"), ANSWERS[i]);
		check_refusal(ANSWERS[i]);
		b.sink.answer = WP_OK;
		TAKE(offer());
		CHECK_EQ(scripted_sink_last(&b.sink)->ticket, 2);
		CHECK_LAST(position, "0007-00000001-0000000000000100-00000001");
		CHECK_EQ(b.sink.sent_count, 2);
	}
}

static void the_sinks_reason_reaches_the_caller(void **state)
{
	begin_rows();
	b.sink.answer = WP_DATA;
	b.sink.answer_error = "above the topic's limit";
	CHECK_EQ(row("1"), WP_DATA);
	CHECK_TEXT(b.error.text, "above the topic's limit");
	CHECK_TEXT(wp_pipeline_last_event(b.pipeline)->topic, "outbox.event.order");
}

/* -- dead letters ---------------------------------------------------------- */

static void start_diverting(void)
{
	b.poison = WP_POISON_DEAD_LETTER;
	CHECK_EQ(build(), WP_OK);
	begin_stream();
	begin_rows();
}

static void what_can_not_be_delivered_goes_to_the_dead_letters_and_the_others_go_on(void **state)
{
	start_diverting();
	TAKE(row("1"));
	CHECK(!b.taken.dead_letter);
	TAKE(insert(OUTBOX, "e-2", "no topic!", "k", "{}"));
	CHECK(b.taken.event && b.taken.dead_letter);
	const struct sent *sent = scripted_sink_last(&b.sink);
	CHECK_EQ(sent->ticket, 2);
	CHECK_TEXT(sent->topic, "dead");
	CHECK_TEXT(sent->key, "k");
	CHECK_TEXT(sent->value, "{}");
	CHECK_EQ(sent->timestamp_ms, WP_TIMESTAMP_NOW);
	CHECK_HAS(sent->headers,
		  "id=e-2 type=made "
		  "walpost-position=0007-00000001-0000000000000100-00000001 "
		  "walpost-dead-letter-reason=table public.outbox, id e-2: the topic");
	CHECK_HAS(sent->headers, "walpost-dead-letter-table=public.outbox");
	CHECK_HAS(sent->headers, "walpost-dead-letter-id=e-2");
	CHECK_HAS(sent->headers, "walpost-dead-letter-topic=(null)");
	CHECK_HAS(sent->headers, "walpost-dead-letter-size=");
	CHECK_HAS(sent->headers,
		  "walpost-dead-letter-position=0007-00000001-0000000000000100-00000001");
	CHECK_HAS(sent->headers, "walpost-dead-letter-timestamp=946684801000");
	CHECK(strstr(sent->headers, "omitted") == NULL);
	CHECK_HAS(wp_pipeline_reason(b.pipeline)->text, "\", derived from the raw topic \"");
	TAKE(row("3"));
	CHECK(!b.taken.dead_letter);
	CHECK_LAST(topic, "outbox.event.order");
	CHECK_EQ(counts()->events, 3);
	CHECK_EQ(counts()->dead_letters, 1);
}

static void a_dead_letter_holds_its_transaction_until_it_is_confirmed(void **state)
{
	start_diverting();
	TAKE(insert(OUTBOX, "e-1", "order", NULL, "{}"));
	TAKE(commit(0x100));
	CHECK_EQ(wp_ledger_confirmed_lsn(&b.ledger), 0);
	CHECK_EQ(wp_ledger_settle(&b.ledger, 1), WP_SETTLED);
	CHECK_EQ(wp_ledger_confirmed_lsn(&b.ledger), 0x108);
}

static void null_id_and_null_route_become_dead_letters_with_what_there_is(void **state)
{
	start_diverting();
	TAKE(insert(OUTBOX, NULL, "order", "k", "{}"));
	CHECK_LAST_HEADERS("walpost-dead-letter-id=(null)");
	CHECK_LAST_HEADERS("walpost-dead-letter-topic=outbox.event.order");
	TAKE(insert(OUTBOX, "e-2", NULL, "k", NULL));
	CHECK_LAST_HEADERS("walpost-dead-letter-topic=(null)");
	CHECK_HAS(wp_pipeline_reason(b.pipeline)->text, "outbox.route.by");
	CHECK_LAST(value, "(null)");
}

static void rows_of_a_table_that_lacks_a_column_become_dead_letters(void **state)
{
	static const struct wire_column FEWER[] = { { "id", TEXT_OID },
						    { "aggregateid", TEXT_OID },
						    { "payload", TEXT_OID } };
	const char *const values[] = { "e-1", "k", "{}" };

	start_diverting();
	wire_relation(data(), OUTBOX, "public", "outbox", FEWER, 3);
	TAKE(offer());
	wire_insert(data(), OUTBOX, values, 3);
	TAKE(offer());
	const struct sent *sent = scripted_sink_last(&b.sink);
	CHECK_TEXT(sent->topic, "dead");
	CHECK_TEXT(sent->id, "e-1");
	CHECK_TEXT(sent->key, "k");
	CHECK_TEXT(sent->value, "{}");
	CHECK_HAS(wp_pipeline_reason(b.pipeline)->text, "has no column \"type\"");
}

static void a_value_that_is_too_large_is_left_out_and_said_where_it_is(void **state)
{
	char large[900];

	start_diverting();
	memset(large, 'x', sizeof(large) - 1);
	large[sizeof(large) - 1] = '\0';
	b.sink.size_max = 890;
	TAKE(insert(OUTBOX, "e-1", "order", "k", large));
	const struct sent *sent = scripted_sink_last(&b.sink);
	CHECK_TEXT(sent->topic, "dead");
	CHECK_TEXT(sent->key, "k");
	CHECK_TEXT(sent->value, "(null)");
	CHECK_HAS(sent->headers, "walpost-dead-letter-omitted=the value of 899 bytes: column ");
	CHECK_HAS(sent->headers, "walpost-dead-letter-topic=outbox.event.order");
	CHECK_EQ(wp_pipeline_last_event(b.pipeline)->letter, WP_LETTER_WITHOUT_VALUE);
}

static void a_key_that_is_too_large_is_left_out_too(void **state)
{
	char large[900];

	start_diverting();
	memset(large, 'x', sizeof(large) - 1);
	large[sizeof(large) - 1] = '\0';
	b.sink.size_max = 890;
	TAKE(insert(OUTBOX, "e-1", "order", large, "{}"));
	CHECK_LAST(key, "(null)");
	CHECK_LAST_HEADERS("omitted=key, headers, and the value of 2");
}

static void a_dead_letter_that_is_not_taken_either_stops(void **state)
{
	start_diverting();
	b.sink.refused_topic = "dead";
	CHECK_EQ(insert(OUTBOX, "e-1", "order", NULL, "{}"), WP_DATA);
	CHECK_HAS(b.error.text, "outbox.key.null");
	CHECK_HAS(b.error.text, "its dead letter cannot be delivered: topic dead takes nothing");
	CHECK_EQ(b.ledger.in_flight, 0);
	b.sink.refused_topic = NULL;
	TAKE(offer());
	CHECK_EQ(counts()->dead_letters, 1);
}

static void a_dead_letter_for_which_there_is_no_room_may_be_offered_again(void **state)
{
	start_diverting();
	b.sink.answer = WP_AGAIN;
	CHECK_EQ(insert(OUTBOX, "e-1", "order", NULL, "{}"), WP_AGAIN);
	CHECK_EQ(counts()->dead_letters, 0);
	b.sink.answer = WP_OK;
	TAKE(offer());
	CHECK_EQ(counts()->dead_letters, 1);
}

/* As after a rewind: the same transaction comes again. */
static void begin_again(void)
{
	wp_ledger_forget(&b.ledger, 0);
	begin_stream();
	begin_rows();
}

static void what_was_refused_alone_is_diverted_when_it_comes_again(void **state)
{
	start_diverting();
	TAKE(row("1"));
	TAKE(row("guilty"));
	CHECK_EQ(wp_pipeline_divert(b.pipeline, "refused with SOME_ERROR", "SOME_ERROR"), WP_OK);
	begin_again();
	TAKE(row("1"));
	CHECK(!b.taken.dead_letter);
	TAKE(row("guilty"));
	CHECK(b.taken.dead_letter);
	CHECK_LAST(topic, "dead");
	CHECK_LAST(value, "{}");
	CHECK_LAST_HEADERS("walpost-dead-letter-reason=refused with SOME_ERROR");
	TAKE(row("3"));
	CHECK(!b.taken.dead_letter);
}

static void a_dead_letter_refused_by_the_broker_comes_with_less_until_nothing_is_left(void **state)
{
	static const enum wp_letter NEXT[] = { WP_LETTER_WHOLE, WP_LETTER_WITHOUT_VALUE,
					       WP_LETTER_BARE };

	start_diverting();
	TAKE(row("guilty"));
	for (size_t i = 0; i < 3; i++) {
		CHECK_EQ(wp_pipeline_divert(b.pipeline, "refused", "SOME_ERROR"), WP_OK);
		begin_again();
		TAKE(row("guilty"));
		CHECK_EQ(wp_pipeline_last_event(b.pipeline)->letter, NEXT[i]);
	}
	CHECK_EQ(wp_pipeline_divert(b.pipeline, "refused", "SOME_ERROR"), WP_DATA);
}

/* -- events that nobody wants ------------------------------------------------ */

/* `until` in seconds since 2000-01-01, which is what the server's clock says here. */
static enum wp_rc message(const char *id, const char *type, int until)
{
	char text[200];

	(void)snprintf(text, sizeof(text),
		       "{\"id\": \"%s\", \"type\": \"%s\", \"aggregatetype\": \"order\", "
		       "\"aggregateid\": \"k\", \"payload\": {}, \"until\": %lld}",
		       id, type, (946684800LL + until) * 1000);
	wire_message(data(), true, 0x90, "outbox", text);
	return offer();
}

static void start_dropping(enum wp_expired expired)
{
	b.options.message_prefix = "outbox";
	b.options.column_expires = "until";
	b.options.expired = expired;
	b.options.skip_types = "debug*";
	start();
	TAKE(begin(0x100));
}

static uint64_t dropped(enum wp_drop drop)
{
	const struct wp_drop_counts *c = wp_pipeline_dropped(b.pipeline);

	if (c->count == 0)
		return 0;
	CHECK_EQ(c->count, 1);
	CHECK_TEXT(c->items[0].outbox, "public.outbox");
	return drop == WP_DROP_TYPE ? c->items[0].types : c->items[0].expired;
}

static void what_nobody_wants_is_dropped_and_has_its_place(void **state)
{
	start_dropping(WP_EXPIRED_DROP);
	TAKE(message("1", "debug.cache", 1));
	CHECK(!b.taken.event);
	TAKE(message("2", "made", 0));
	CHECK(!b.taken.event);
	TAKE(message("3", "made", 1));
	CHECK(b.taken.event);
	CHECK_LAST(position, "0007-00000001-0000000000000100-00000002");
	CHECK_EQ(b.sink.offers, 1);
	CHECK_EQ(dropped(WP_DROP_TYPE), 1);
	CHECK_EQ(dropped(WP_DROP_EXPIRED), 1);
}

/* Not before what is ahead of it. */
static void a_transaction_of_dropped_events_is_confirmed_in_its_turn(void **state)
{
	start_dropping(WP_EXPIRED_DROP);
	TAKE(message("1", "made", 1));
	TAKE(commit(0x100));
	TAKE(begin(0x200));
	TAKE(message("2", "made", -1));
	TAKE(commit(0x200));
	CHECK_EQ(wp_ledger_confirmed_lsn(&b.ledger), 0);
	CHECK_EQ(wp_ledger_settle(&b.ledger, wp_ledger_next(&b.ledger) - 1), WP_SETTLED);
	CHECK_EQ(wp_ledger_confirmed_lsn(&b.ledger), 0x208);
}

static void an_expired_event_may_go_to_the_dead_letter_topic(void **state)
{
	start_dropping(WP_EXPIRED_DEAD_LETTER);
	TAKE(message("1", "made", -1));
	CHECK(b.taken.dead_letter);
	CHECK_LAST(topic, "dead");
	CHECK_LAST_HEADERS("it expired at 946684799000 (outbox.column.expires)");
	CHECK_EQ(dropped(WP_DROP_EXPIRED), 1);
	TAKE(message("2", "made", 1));
	CHECK(!b.taken.dead_letter);
}

static void what_has_expired_may_be_sent(void **state)
{
	start_dropping(WP_EXPIRED_SEND);
	TAKE(message("1", "made", -1));
	CHECK_LAST(topic, "outbox.event.order");
	CHECK_EQ(dropped(WP_DROP_EXPIRED), 0);
}

/* A row is still in its table, perhaps; a message is nowhere else. */
static void a_messages_dead_letter_holds_all_of_it_or_stops(void **state)
{
	static const char MESSAGE[] = "{\"id\": \"m\", \"aggregatetype\": \"order\", "
				      "\"aggregateid\": \"k\", \"payload\": {}}";

	b.options.message_prefix = "outbox";
	b.poison = WP_POISON_DEAD_LETTER;
	start();
	TAKE(begin(0x100));
	wire_message(data(), true, 0x90, "outbox", MESSAGE);
	TAKE(offer());
	CHECK_EQ(wp_pipeline_divert(b.pipeline, "refused", "SOME_ERROR"), WP_OK);
	begin_again();
	wire_message(data(), true, 0x90, "outbox", MESSAGE);
	TAKE(offer());
	CHECK(b.taken.dead_letter);
	CHECK_LAST(value, "{}");
	CHECK_EQ(wp_pipeline_divert(b.pipeline, "refused", "SOME_ERROR"), WP_DATA);
	prepare_anew();
	b.options.message_prefix = "outbox";
	b.poison = WP_POISON_DEAD_LETTER;
	b.sink.size_max = 20;
	start();
	TAKE(begin(0x100));
	wire_message(data(), true, 0x90, "outbox", MESSAGE);
	CHECK_EQ(offer(), WP_DATA);
	CHECK_HAS(b.error.text, "; and its dead letter cannot be delivered:");
	CHECK_EQ(b.sink.sent_count, 0);
}

/* Not what stood before the fault: what is behind it is nowhere else. */
static void a_message_whose_record_cannot_be_made_is_a_letter_as_it_came(void **state)
{
	static const char NO_HEADER[] = "{\"id\":1,\"aggregatetype\":\"o\",\"aggregateid\":2,"
					"\"headers\":{\"\":3}}";
	static const char NO_KEY[] = "{\"id\":1,\"aggregatetype\":\"o\",\"payload\":\"x\"}";

	b.options.message_prefix = "outbox";
	b.options.value_format = WP_FORM_JSON;
	b.poison = WP_POISON_DEAD_LETTER;
	start();
	TAKE(begin(0x100));
	wire_message(data(), true, 0x90, "outbox", NO_HEADER);
	TAKE(offer());
	CHECK_EQ(strncmp(scripted_sink_last(&b.sink)->value, NO_HEADER, 60), 0);
	CHECK_TEXT(wp_pipeline_reason(b.pipeline)->text,
		   "messages of prefix outbox, id 1: the headers: a name in the headers' JSON "
		   "object is empty; name the header, or remove it");
	wire_message(data(), true, 0x90, "outbox", NO_KEY);
	TAKE(offer());
	CHECK_LAST(value, NO_KEY);
}

/* What no sink takes is not written out before it says so. */
static void a_value_grows_no_further_than_the_sink_takes(void **state)
{
	b.options.value_format = WP_FORM_JSON;
	b.sink.view.record_max = 8;
	b.poison = WP_POISON_DEAD_LETTER;
	start();
	begin_rows();
	TAKE(insert(OUTBOX, "e-1", "order", "k", "six ch"));
	CHECK_LAST(value, "\"six ch\"");
	CHECK(!b.taken.dead_letter);
	TAKE(insert(OUTBOX, "e-2", "order", "k", "seven c"));
	CHECK(b.taken.dead_letter);
	CHECK_LAST(value, "seven c");
	CHECK_HAS(wp_pipeline_reason(b.pipeline)->text, "exceeds 8 bytes");
}

static void what_is_confirmed_is_not_remembered(void **state)
{
	start_diverting();
	TAKE(row("guilty"));
	CHECK_EQ(wp_pipeline_divert(b.pipeline, "refused", "SOME_ERROR"), WP_OK);
	begin_again();
	TAKE(row("guilty"));
	TAKE(commit(0x100));
	CHECK_EQ(wp_ledger_settle(&b.ledger, wp_ledger_next(&b.ledger) - 1), WP_SETTLED);
	TAKE(begin(0x200));
	begin_again();
	TAKE(row("guilty"));
	CHECK(!b.taken.dead_letter);
}

/* -- events that can never be delivered ------------------------------------ */

static void a_null_key_stops_and_the_event_is_named(void **state)
{
	begin_rows();
	CHECK_EQ(insert(OUTBOX, "e-1", "order", NULL, "{}"), WP_DATA);
	check_refusal(WP_DATA);
	CHECK_HAS(b.error.text, "e-1");
	CHECK_HAS(b.error.text, "outbox.key.null");
	CHECK_EQ(b.sink.offers, 0);
}

static void a_null_key_may_be_allowed(void **state)
{
	b.options.key_null = WP_KEY_NULL_ALLOW;
	start();
	begin_rows();
	TAKE(insert(OUTBOX, "e-1", "order", NULL, "{}"));
	CHECK_LAST(key, "(null)");
}

static void a_null_payload_is_a_null_value(void **state)
{
	begin_rows();
	TAKE(insert(OUTBOX, "e-1", "order", "k", NULL));
	CHECK_LAST(value, "(null)");
}

static void a_null_id_or_route_or_an_impossible_topic_stops(void **state)
{
	begin_rows();
	CHECK_EQ(insert(OUTBOX, NULL, "order", "k", "{}"), WP_DATA);
	CHECK_EQ(insert(OUTBOX, "e-1", NULL, "k", "{}"), WP_DATA);
	CHECK_EQ(insert(OUTBOX, "e-1", "no topic!", "k", "{}"), WP_DATA);
	CHECK_EQ(b.sink.offers, 0);
	CHECK_EQ(wp_ledger_next(&b.ledger), 1);
}

/* A refusal that is reported later isolates up to it. */
static void what_cannot_be_read_leaves_the_last_event_as_it_is(void **state)
{
	uint8_t junk[] = { 'w', 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
			   0,	0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, '?' };

	CHECK_EQ(begin(100), WP_OK);
	CHECK_EQ(outbox(), WP_OK);
	CHECK_EQ(row("1"), WP_OK);

	wire_relation(data(), OUTBOX, "public", "outbox", wire_outbox_columns, 2);
	CHECK_EQ(offer(), WP_CONFIG);
	CHECK_EQ(wp_pipeline_last_position(b.pipeline)->commit_lsn, 100);
	CHECK_EQ(wp_pipeline_take(b.pipeline, (struct wp_span){ junk, sizeof(junk) }, &b.taken,
				  &b.error),
		 WP_PROTO);
	CHECK_EQ(wp_pipeline_last_position(b.pipeline)->commit_lsn, 100);
}

static void the_last_event_is_named_for_people(void **state)
{
	begin_rows();
	TAKE(row("1"));
	TAKE(insert(OUTBOX, "a\nb\x7f", "order", "k", "{}"));
	const struct wp_event_name *last = wp_pipeline_last_event(b.pipeline);
	CHECK_TEXT(last->table, "public.outbox");
	CHECK_TEXT(last->id, "a?b?");
	CHECK_TEXT(last->topic, "outbox.event.order");
	CHECK_EQ(last->size, scripted_sink_last(&b.sink)->size);
	CHECK_EQ(last->position.commit_lsn, 0x100);
	CHECK_EQ(last->position.ordinal, 1);
}

static void what_has_no_record_yet_does_not_bear_the_name_of_the_one_before(void **state)
{
	begin_rows();
	TAKE(row("innocent"));
	CHECK_EQ(insert(OUTBOX, "guilty", "order", NULL, "{}"), WP_DATA);
	const struct wp_event_name *last = wp_pipeline_last_event(b.pipeline);
	assert_null(strstr(last->id, "innocent"));
	CHECK(last->position.commit_lsn == 0 || last->position.ordinal == 1);
}

static void a_long_id_is_cut(void **state)
{
	char id[400];

	memset(id, 'x', sizeof(id) - 1);
	id[sizeof(id) - 1] = '\0';
	begin_rows();
	TAKE(row(id));
	const struct wp_event_name *last = wp_pipeline_last_event(b.pipeline);
	CHECK_EQ(strlen(last->id), sizeof(last->id) - 1);
}

/* -- a server that breaks the protocol ------------------------------------ */

static void half_a_frame_is_refused(void **state)
{
	wire_begin(data(), 0x100, 0);
	for (size_t size = 0; size < b.wire.size; size++) {
		struct wp_span part = { .data = b.room, .size = size };
		CHECK_EQ(wp_pipeline_take(b.pipeline, part, &b.taken, &b.error), WP_PROTO);
	}
	CHECK(!wp_pipeline_in_transaction(b.pipeline));
}

static void an_unknown_message_is_refused(void **state)
{
	wire_u8(data(), 'Z');
	CHECK_EQ(offer(), WP_PROTO);
}

static void a_row_outside_a_transaction_is_refused(void **state)
{
	TAKE(outbox());
	CHECK_EQ(row("1"), WP_PROTO);
	CHECK_EQ(b.sink.offers, 0);
}

static void a_row_before_its_relation_is_refused(void **state)
{
	TAKE(begin(0x100));
	CHECK_EQ(row("1"), WP_PROTO);
	CHECK_HAS(b.error.text, "16400");
}

static void a_row_of_another_width_is_refused(void **state)
{
	static const char *const VALUES[] = { "1", "order", "k", "made" };

	begin_rows();
	wire_insert(data(), OUTBOX, VALUES, 4);
	CHECK_EQ(offer(), WP_PROTO);
}

static void a_transaction_within_another_is_refused(void **state)
{
	TAKE(begin(0x100));
	CHECK_EQ(begin(0x200), WP_PROTO);
	TAKE(commit(0x100));
}

static void a_commit_that_does_not_fit_its_begin_is_refused(void **state)
{
	CHECK_EQ(commit(0x100), WP_PROTO); /* there is no begin */
	TAKE(begin(0x100));
	CHECK_EQ(commit(0xff), WP_PROTO);
	CHECK_EQ(commit(0x101), WP_PROTO);
	wire_commit(data(), 0x100, 0x100, 0); /* ends where it starts */
	CHECK_EQ(offer(), WP_PROTO);
	CHECK_EQ(wp_ledger_received_lsn(&b.ledger), 0);
	wire_commit(data(), 0x100, 0x101, 0);
	TAKE(offer());
	CHECK_EQ(wp_ledger_received_lsn(&b.ledger), 0x101);
}

/* -- making one ----------------------------------------------------------- */

static void options_that_mean_nothing_are_refused_with_the_reason(void **state)
{
	struct wp_outbox_options wrong[5];

	for (size_t i = 0; i < 5; i++)
		wrong[i] = default_options();
	wrong[0].table = "a.b.c";
	wrong[2].leaves = "a..b";
	wrong[3].topic_regex = "(";
	wrong[4].headers_standard = "nix";
	for (size_t i = 0; i < 5; i++) {
		prepare_anew();
		b.options = wrong[i];
		b.ignore = i == 1 ? "\"" : "";
		CHECK_EQ(build(), WP_CONFIG);
		CHECK(b.pipeline == NULL);
		CHECK(b.error.text[0] != '\0');
	}
}

/* What librdkafka and libpq do for an event is theirs. */
static void an_event_allocates_nothing(void **state)
{
	TAKE(begin(100));
	TAKE(outbox());
	TAKE(row("the first makes the mapping and the route"));
	TAKE(commit(100));
	CHECK_EQ(wp_ledger_settle(&b.ledger, 1), WP_SETTLED);
	size_t before = memory_calls();
	for (wp_ticket ticket = 2; ticket < SENT_MAX; ticket++) {
		one_row_tx(100 * ticket, "b8d3a2c6-5b0f-4d6e-9a53-7f0e2b1c4d5e");
		CHECK_EQ(wp_ledger_settle(&b.ledger, ticket), WP_SETTLED);
	}
	CHECK_EQ(memory_calls(), before);
}

static void without_memory_there_is_no_pipeline(void **state)
{
	size_t needed = memory_calls();

	needed = memory_calls();
	CHECK_EQ(build(), WP_OK);
	needed = memory_calls() - needed;
	wp_pipeline_free(b.pipeline);
	b.pipeline = NULL;
	CHECK(needed > 3);
	for (size_t i = 0; i < needed; i++) {
		memory_fails_after(i);
		enum wp_rc rc = build();
		memory_works();
		CHECK_EQ(rc, WP_NOMEM);
		CHECK(b.pipeline == NULL);
	}
}

/* Whatever fails: the frame is taken later as if it came for the first time. */
static void without_memory_a_relation_is_not_taken(void **state)
{
	enum wp_rc rc = WP_NOMEM;

	for (size_t i = 0; rc == WP_NOMEM; i++) {
		memory_fails_after(i);
		rc = outbox();
		memory_works();
		CHECK(i < 100);
	}
	CHECK_EQ(rc, WP_OK);
	one_row_tx(0x100, "1");
	CHECK_EQ(b.sink.sent_count, 1);
}

static void without_memory_a_row_is_not_taken(void **state)
{
	enum wp_rc rc = WP_NOMEM;

	begin_rows();
	for (size_t i = 0; rc == WP_NOMEM; i++) {
		memory_fails_after(i);
		rc = row("1");
		memory_works();
		CHECK(i < 100);
	}
	CHECK_EQ(rc, WP_OK);
	CHECK_EQ(b.sink.sent_count, 1);
	CHECK_LAST(position, "0007-00000001-0000000000000100-00000000");
}

static void freeing_no_pipeline_is_fine(void **state)
{
	wp_pipeline_free(NULL);
}

#define UNBUILT(test_) cmocka_unit_test_setup_teardown(test_, prepare, tear_down)

int main(void)
{
	return RUN(
		TEST(a_row_becomes_a_record_and_a_ticket),
		TEST(only_the_commit_moves_the_positions),
		TEST(a_transaction_without_events_moves_the_positions_too),
		TEST(a_keepalive_is_told_to_the_ledger_and_to_the_caller),
		TEST(between_begin_and_commit_there_is_a_transaction),
		TEST(only_a_row_of_the_outbox_is_an_event),
		TEST(events_transactions_and_bytes_are_counted),
		TEST(ordinals_count_from_zero_in_each_transaction),
		UNBUILT(messages_and_ignored_rows_count_in_the_ordinal),
		TEST(a_message_outside_a_transaction_counts_in_no_ordinal),
		TEST(the_timeline_is_the_one_the_commit_was_written_on),
		TEST(updates_deletes_and_truncates_are_counted_and_nothing_else),
		TEST(updates_and_deletes_of_other_tables_are_not_counted),
		UNBUILT(an_update_or_delete_of_a_table_not_known_yet_is_asked_about_first),
		TEST(insert_and_delete_in_one_transaction_still_delivers),
		TEST(origins_and_types_are_taken),
		TEST(the_slot_checkpoint_is_our_own_and_passed_over_unasked),
		TEST(so_is_the_record_of_what_was_skipped_but_no_other_table_of_the_schema),
		TEST(columns_are_found_by_name_in_each_new_relation),
		TEST(a_missing_column_stops_and_is_named),
		TEST(a_bytea_payload_is_decoded_also_behind_a_domain),
		UNBUILT(a_binary_row_becomes_the_record_of_its_text),
		UNBUILT(an_enum_is_its_label_in_binary_when_it_is_known),
		UNBUILT(a_column_that_binary_cannot_do_stops_when_its_relation_comes),
		TEST(the_outbox_is_found_by_its_whole_name),
		TEST(a_new_stream_makes_all_that_was_told_void),
		TEST(relations_without_end_stop_with_the_cure),
		TEST(types_without_end_stop_with_the_cure),
		TEST(a_row_of_a_relation_that_may_be_a_partition_asks),
		TEST(a_leaf_of_the_outbox_is_the_outbox), TEST(a_leaf_that_lacks_a_column_stops),
		TEST(a_row_that_nobody_configured_stops_and_names_its_table),
		UNBUILT(a_leaf_that_is_gone_stops_unless_under_leaves),
		TEST(an_answer_from_before_the_transaction_had_ended_is_none),
		TEST(of_a_transaction_that_runs_still_a_later_answer_may_do),
		UNBUILT(one_answer_does_for_all_tables_of_transactions_before_it),
		UNBUILT(an_ignored_table_that_is_told_of_anew_may_be_a_partition_by_now),
		UNBUILT(an_ignored_row_is_asked_about_once_and_then_counted),
		UNBUILT(a_leaf_of_the_outbox_is_never_ignored),
		TEST(without_room_in_the_ledger_the_sink_is_not_offered_the_event),
		TEST(without_room_all_but_events_is_taken),
		TEST(bytes_in_flight_are_bounded_with_an_overhead_per_event),
		UNBUILT(what_the_sink_does_not_take_may_be_offered_again),
		TEST(the_sinks_reason_reaches_the_caller),
		TEST(a_null_key_stops_and_the_event_is_named), UNBUILT(a_null_key_may_be_allowed),
		TEST(a_null_payload_is_a_null_value),
		TEST(a_null_id_or_route_or_an_impossible_topic_stops),
		TEST(what_cannot_be_read_leaves_the_last_event_as_it_is),
		TEST(the_last_event_is_named_for_people),
		TEST(what_has_no_record_yet_does_not_bear_the_name_of_the_one_before),
		TEST(a_long_id_is_cut), TEST(half_a_frame_is_refused),
		TEST(an_unknown_message_is_refused), TEST(a_row_outside_a_transaction_is_refused),
		TEST(a_row_before_its_relation_is_refused), TEST(a_row_of_another_width_is_refused),
		TEST(a_transaction_within_another_is_refused),
		TEST(a_commit_that_does_not_fit_its_begin_is_refused),
		UNBUILT(options_that_mean_nothing_are_refused_with_the_reason),
		TEST(an_event_allocates_nothing), UNBUILT(without_memory_there_is_no_pipeline),
		TEST(without_memory_a_relation_is_not_taken),
		TEST(without_memory_a_row_is_not_taken),
		UNBUILT(what_can_not_be_delivered_goes_to_the_dead_letters_and_the_others_go_on),
		UNBUILT(a_dead_letter_holds_its_transaction_until_it_is_confirmed),
		UNBUILT(null_id_and_null_route_become_dead_letters_with_what_there_is),
		UNBUILT(rows_of_a_table_that_lacks_a_column_become_dead_letters),
		UNBUILT(a_value_that_is_too_large_is_left_out_and_said_where_it_is),
		UNBUILT(a_key_that_is_too_large_is_left_out_too),
		UNBUILT(a_dead_letter_that_is_not_taken_either_stops),
		UNBUILT(a_dead_letter_for_which_there_is_no_room_may_be_offered_again),
		UNBUILT(what_was_refused_alone_is_diverted_when_it_comes_again),
		UNBUILT(a_dead_letter_refused_by_the_broker_comes_with_less_until_nothing_is_left),
		UNBUILT(a_messages_dead_letter_holds_all_of_it_or_stops),
		UNBUILT(what_nobody_wants_is_dropped_and_has_its_place),
		UNBUILT(a_transaction_of_dropped_events_is_confirmed_in_its_turn),
		UNBUILT(an_expired_event_may_go_to_the_dead_letter_topic),
		UNBUILT(what_has_expired_may_be_sent),
		UNBUILT(a_message_whose_record_cannot_be_made_is_a_letter_as_it_came),
		UNBUILT(a_value_grows_no_further_than_the_sink_takes),
		UNBUILT(what_is_confirmed_is_not_remembered), TEST(freeing_no_pipeline_is_fine));
}
