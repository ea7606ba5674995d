#include "support/memory.h"
#include "support/rows.h"
#include "support/check.h"
#include "support/partitions.h"
#include "support/wire_writer.h"
#include "walpost/outbox/feed.h"

#define OUTBOX 16400
#define OTHER 16500

static struct wp_outbox_options options;
static struct wp_outboxes outboxes;
static struct wp_timelines timelines;
static struct wp_column_facts facts;
static struct wp_partitions partitions;
static struct wp_feed_setup setup;
static struct wp_feed *feed;
static struct wp_fed fed;
static struct wp_error error;

static int set_up(void **state)
{
	options = default_options();
	options.message_prefix = "outbox";
	outboxes = only(&options, "public.noise, public.noise_*");
	timelines = (struct wp_timelines){ .current = 1 };
	wp_column_facts_begin(&facts);
	setup = (struct wp_feed_setup){
		.outboxes = &outboxes,
		.epoch = 2,
		.timelines = &timelines,
		.encoding = "UTF8",
		.columns = &facts,
		.partitions = &partitions,
	};
	feed = NULL;
	error.text[0] = '\0';
	return 0;
}

static int tear_down(void **state)
{
	memory_works();
	wp_feed_free(feed);
	wp_partitions_release(&partitions);
	return 0;
}

/* Of the options as they are; the first message that is taken makes it. */
static void make_feed(void)
{
	CHECK_EQ(wp_feed_new(&setup, &feed, &error), WP_OK);
}

static uint8_t room[4096];

static struct wire_writer writer(void)
{
	struct wire_writer w;

	wire_init(&w, room, sizeof(room));
	return w;
}

static enum wp_rc take(const struct wire_writer *w)
{
	if (feed == NULL)
		make_feed();
	return wp_feed_take(feed, wire_span(w), 0, &fed, &error);
}

static void is_nothing(const struct wire_writer *w)
{
	CHECK_EQ(take(w), WP_OK);
	CHECK_EQ(fed.kind, WP_FED_NOTHING);
}

static void begin(wp_lsn commit_lsn)
{
	struct wire_writer w = writer();

	wire_begin(&w, commit_lsn, 1000000);
	is_nothing(&w);
}

static void commit(wp_lsn commit_lsn)
{
	struct wire_writer w = writer();

	wire_commit(&w, commit_lsn, commit_lsn + 1, 1000000);
	is_nothing(&w);
}

static enum wp_rc take_relation(uint32_t oid, const char *schema, const char *name)
{
	struct wire_writer w = writer();

	wire_relation(&w, oid, schema, name, wire_outbox_columns, 5);
	return take(&w);
}

static void relation(uint32_t oid, const char *schema, const char *name)
{
	CHECK_EQ(take_relation(oid, schema, name), WP_OK);
	CHECK_EQ(fed.kind, WP_FED_NOTHING);
}

static enum wp_rc take_row(uint32_t oid, const char *id, const char *key, const char *route)
{
	const char *const values[] = { id, route, key, "made", "{\"n\": 1}" };
	struct wire_writer w = writer();

	wire_insert(&w, oid, values, 5);
	return take(&w);
}

static void row(uint32_t oid, const char *id, const char *key, const char *route)
{
	CHECK_EQ(take_row(oid, id, key, route), WP_OK);
}

static enum wp_rc take_message(bool transactional, const char *prefix, const char *content)
{
	struct wire_writer w = writer();

	wire_message(&w, transactional, 250, prefix, content);
	return take(&w);
}

static void message(bool transactional, const char *prefix, const char *content)
{
	CHECK_EQ(take_message(transactional, prefix, content), WP_OK);
}

#define EVENT \
	"{\"id\": \"m\", \"aggregatetype\": \"order\", \"aggregateid\": \"k\", \"type\": \"t\"}"

static void a_row_is_the_record_that_a_relay_sends(void **state)
{
	begin(299);
	relation(OUTBOX, "public", "outbox");
	row(OUTBOX, "one", "k", "order");
	CHECK_EQ(fed.kind, WP_FED_RECORD);
	CHECK_SPAN(fed.record.topic, "outbox.event.order");
	CHECK_SPAN(fed.record.key, "k");
	CHECK_SPAN(fed.record.value, "{\"n\": 1}");
	CHECK_SPAN(fed.record.id, "one");
	CHECK_TEXT(fed.record.table, "public.outbox");
	CHECK_EQ(fed.record.header_count, 3);
	CHECK_SPAN(fed.record.headers[2].value, "0002-00000001-000000000000012B-00000000");
	/* Postgres counts from 2000 on. */
	CHECK_EQ(fed.record.timestamp_ms, 946684801000);
	CHECK_TEXT(fed.error.text, "");
	commit(299);
}

static void a_message_is_a_record_in_its_place(void **state)
{
	begin(299);
	relation(OUTBOX, "public", "outbox");
	row(OUTBOX, "one", "k", "order");
	message(true, "another", "nothing of ours");
	CHECK_EQ(fed.kind, WP_FED_NOTHING);
	message(true, "outbox", EVENT);
	CHECK_EQ(fed.kind, WP_FED_RECORD);
	CHECK_SPAN(fed.record.id, "m");
	CHECK_EQ(fed.record.position.ordinal, 2);
}

static void the_ordinal_counts_all_inserts_and_transactional_messages(void **state)
{
	begin(299);
	relation(OUTBOX, "public", "outbox");
	relation(OTHER, "walpost", "slot_checkpoint");
	row(OTHER, "1", "k", "order");
	CHECK_EQ(fed.kind, WP_FED_NOTHING);
	message(false, "another", "");
	message(true, "another", "");
	row(OUTBOX, "poison", "k", "no topic's name");
	CHECK_EQ(fed.record.position.ordinal, 2);
	row(OUTBOX, "one", "k", "order");
	CHECK_EQ(fed.record.position.ordinal, 3);
	commit(299);
	begin(400);
	row(OUTBOX, "two", "k", "order");
	CHECK_EQ(fed.record.position.ordinal, 0);
	CHECK_EQ(fed.record.position.commit_lsn, 400);
}

static void the_timeline_is_that_on_which_the_transaction_was_committed(void **state)
{
	static const char history[] = "1\t0/12C\twhy\n";
	CHECK_EQ(wp_timelines_read(&timelines, 2, wp_span_of(history), &error), WP_OK);
	begin(299);
	relation(OUTBOX, "public", "outbox");
	row(OUTBOX, "one", "k", "order");
	CHECK_EQ(fed.record.position.timeline, 1);
	commit(299);
	begin(300);
	row(OUTBOX, "two", "k", "order");
	CHECK_EQ(fed.record.position.timeline, 2);
}

static void poison_tells_why_and_what_could_be_made(void **state)
{
	begin(299);
	relation(OUTBOX, "public", "outbox");
	row(OUTBOX, "one", "k", "no topic's name");
	CHECK_EQ(fed.kind, WP_FED_POISON);
	CHECK_HAS(fed.error.text, "topic");
	CHECK(wp_span_is_null(fed.record.topic));
	CHECK_SPAN(fed.record.key, "k");
	CHECK_SPAN(fed.record.id, "one");
	row(OUTBOX, "two", NULL, "order");
	CHECK_EQ(fed.kind, WP_FED_POISON);
	CHECK_HAS(fed.error.text, "aggregateid");
	CHECK_SPAN(fed.record.topic, "outbox.event.order");
	message(true, "outbox", "{");
	CHECK_EQ(fed.kind, WP_FED_POISON);
	CHECK_HAS(fed.error.text, "messages of prefix outbox");
	CHECK_TEXT(fed.record.table, "messages of prefix outbox");
	/* The next is not told of it. */
	row(OUTBOX, "three", "k", "order");
	CHECK_EQ(fed.kind, WP_FED_RECORD);
	CHECK_TEXT(fed.error.text, "");
}

static void a_row_without_a_column_that_is_needed_is_poison(void **state)
{
	options.column_key = "missing";
	begin(299);
	relation(OUTBOX, "public", "outbox");
	row(OUTBOX, "one", "k", "order");
	CHECK_EQ(fed.kind, WP_FED_POISON);
	CHECK_HAS(fed.error.text, "missing");
	CHECK_SPAN(fed.record.id, "one");
}

static void an_unknown_table_is_asked_about_and_its_row_is_offered_again(void **state)
{
	begin(299);
	relation(OTHER, "public", "noise_2026");
	CHECK_EQ(take_row(OTHER, "one", "k", "order"), WP_PAUSE);
	know_partitions(&partitions, "", WIRE_XID); /* it may be attached by this transaction */
	CHECK_EQ(take_row(OTHER, "one", "k", "order"), WP_PAUSE);
	know_partitions(&partitions, "16500 0", WIRE_XID + 1);
	row(OTHER, "one", "k", "order");
	CHECK_EQ(fed.kind, WP_FED_RECORD);
	CHECK_TEXT(fed.record.table, "public.noise_2026");
	CHECK_EQ(fed.record.position.ordinal, 0);
	/* Told of anew it may be another's, or nobody's: it was a partition, perhaps, when the row was written. */
	know_partitions(&partitions, "", WIRE_XID + 1);
	relation(OTHER, "public", "noise_2026");
	row(OTHER, "one", "k", "order");
	CHECK_EQ(fed.kind, WP_FED_NOTE);
	CHECK_HAS(fed.error.text,
		  "public.noise_2026, which outbox.ignore covers by a pattern only");
	CHECK_HAS(fed.error.text, "committed at 0/12B");
}

static void know_none(void)
{
	know_partitions(&partitions, "", WIRE_XID + 1);
}

static void a_row_of_nobodys_table_is_noted_and_one_of_an_ignored_table_is_not(void **state)
{
	begin(299);
	relation(OTHER, "public", "elsewhere");
	relation(OTHER + 1, "public", "noise");
	CHECK_EQ(take_row(OTHER, "1", "k", "order"), WP_PAUSE);
	know_none();
	row(OTHER, "1", "k", "order");
	CHECK_EQ(fed.kind, WP_FED_NOTE);
	CHECK_HAS(fed.error.text, "public.elsewhere");
	row(OTHER + 1, "1", "k", "order");
	CHECK_EQ(fed.kind, WP_FED_NOTHING);
}

static void a_message_that_is_not_transactional_is_noted(void **state)
{
	message(false, "outbox", EVENT);
	CHECK_EQ(fed.kind, WP_FED_NOTE);
	CHECK_HAS(fed.error.text, "not transactional");
	message(false, "another", EVENT);
	CHECK_EQ(fed.kind, WP_FED_NOTHING);
}

static void an_update_of_an_outbox_is_noted_and_other_changes_are_nothing(void **state)
{
	const char *const values[] = { "one", "order", "k", "made", "" };
	begin(299);
	relation(OUTBOX, "public", "outbox");
	relation(OTHER, "public", "elsewhere");
	struct wire_writer w = writer();
	wire_update(&w, OUTBOX, values, 5);
	CHECK_EQ(take(&w), WP_OK);
	CHECK_EQ(fed.kind, WP_FED_NOTE);
	CHECK_HAS(fed.error.text, "public.outbox");
	w = writer();
	wire_update(&w, OTHER, values, 5);
	CHECK_EQ(take(&w), WP_PAUSE); /* it may be a leaf */
	know_none();
	is_nothing(&w);
	w = writer();
	wire_delete(&w, OUTBOX, values, 5);
	is_nothing(&w);
	w = writer();
	wire_truncate(&w, OUTBOX);
	is_nothing(&w);
	w = writer();
	wire_origin(&w, 7, "far");
	is_nothing(&w);
	w = writer();
	wire_type(&w, 99, "public", "mood");
	is_nothing(&w);
	row(OUTBOX, "one", "k", "order");
	CHECK_EQ(fed.record.position.ordinal, 0);
}

static void values_in_binary_are_read_by_what_is_known_of_the_columns(void **state)
{
	enum { MOOD_OID = 20000 };
	const struct wire_column typed[] = {
		{ "id", TEXT_OID },   { "aggregatetype", TEXT_OID }, { "aggregateid", TEXT_OID },
		{ "type", MOOD_OID }, { "payload", BYTEA_OID },
	};
	const struct wp_span values[] = { wp_span_of("one"), wp_span_of("order"), wp_span_of("k"),
					  wp_span_of("calm"), wp_span_of("\xFF\x01") };
	const struct wp_type_fact mood = { .oid = MOOD_OID,
					   .base_oid = MOOD_OID,
					   .known_as = "enum" };
	CHECK(wp_column_facts_add_type(&facts, &mood, "calm,cross"));
	setup.transfer = WP_TRANSFER_BINARY;
	begin(299);
	struct wire_writer w = writer();
	wire_relation(&w, OUTBOX, "public", "outbox", typed, 5);
	is_nothing(&w);
	w = writer();
	wire_insert_binary(&w, OUTBOX, values, 5);
	CHECK_EQ(take(&w), WP_OK);
	CHECK_EQ(fed.kind, WP_FED_RECORD);
	CHECK_SPAN(fed.record.value, "\xFF\x01");
	CHECK_SPAN(fed.record.headers[1].value, "calm");
}

static void a_type_that_came_later_is_known_with_fresh_facts(void **state)
{
	enum { MOOD_OID = 20000 };
	static struct wp_column_facts fresh;
	const struct wire_column typed[] = {
		{ "id", TEXT_OID },   { "aggregatetype", TEXT_OID }, { "aggregateid", TEXT_OID },
		{ "type", MOOD_OID }, { "payload", TEXT_OID },
	};
	const struct wp_type_fact mood = { .oid = MOOD_OID,
					   .base_oid = MOOD_OID,
					   .known_as = "enum" };
	options.types = WP_RENDERING_DEBEZIUM;
	begin(299);
	struct wire_writer w = writer();
	wire_relation(&w, OUTBOX, "public", "outbox", typed, 5);
	CHECK_EQ(take(&w), WP_CONFIG);
	CHECK(wp_feed_wants_facts(feed));
	wp_column_facts_begin(&fresh);
	CHECK(wp_column_facts_add_type(&fresh, &mood, "made"));
	CHECK_EQ(wp_feed_know(feed, &fresh), WP_OK);
	is_nothing(&w); /* the same message again */
	row(OUTBOX, "one", "k", "order");
	CHECK_EQ(fed.kind, WP_FED_RECORD);
	CHECK(!wp_feed_wants_facts(feed));
	/* What was mapped with the old ones is mapped anew: they may be gone. */
	wp_column_facts_begin(&facts);
	CHECK_EQ(wp_feed_know(feed, &facts), WP_OK);
	row(OUTBOX, "two", "k", "order");
	CHECK_EQ(fed.kind, WP_FED_RECORD);
}

static void what_a_pattern_covers_is_asked_about_before_it_counts(void **state)
{
	options.leaves = "public.*";
	begin(299);
	relation(OTHER, "public", "bills_1");
	CHECK_EQ(take_row(OTHER, "1", "k", "order"), WP_PAUSE);
	know_none();
	row(OTHER, "1", "k", "order");
	CHECK_EQ(fed.kind, WP_FED_RECORD);
}

static void a_column_that_cannot_be_read_as_it_must_is_a_wrong_configuration(void **state)
{
	static const struct wire_column typed[] = {
		{ "id", TEXT_OID },
		{ "aggregatetype", TEXT_OID },
		{ "aggregateid", TEXT_OID },
		{ "type", TEXT_OID },
		{ "payload", 600 /* point: its binary form is not read */ },
	};
	setup.transfer = WP_TRANSFER_BINARY;
	begin(299);
	struct wire_writer w = writer();
	wire_relation(&w, OUTBOX, "public", "outbox", typed, 5);
	CHECK_EQ(take(&w), WP_CONFIG);
	CHECK_HAS(error.text, "payload");
}

static void what_is_not_the_plugins_is_refused(void **state)
{
	struct wire_writer w = writer();
	wire_u8(&w, 'x');
	CHECK_EQ(take(&w), WP_PROTO);
	relation(OUTBOX, "public", "outbox");
	CHECK_EQ(take_row(OUTBOX, "one", "k", "order"), WP_PROTO);
	CHECK_HAS(error.text, "outside a transaction");
	CHECK_EQ(take_message(true, "outbox", EVENT), WP_PROTO);
	begin(299);
	CHECK_EQ(take_row(OTHER, "one", "k", "order"), WP_PROTO);
	CHECK_HAS(error.text, "before describing it");
	w = writer();
	wire_insert(&w, OUTBOX, (const char *const[]){ "one" }, 1);
	CHECK_EQ(take(&w), WP_PROTO);
}

static void wrong_options_are_told(void **state)
{
	options.topic_regex = "(";
	CHECK_EQ(wp_feed_new(&setup, &feed, &error), WP_CONFIG);
	CHECK(error.text[0] != '\0');
}

/* All of one transaction; WP_OK when no memory was missing. */
static enum wp_rc run_once(void)
{
	error.text[0] = '\0';
	enum wp_rc rc = wp_feed_new(&setup, &feed, &error);
	struct wire_writer w = writer();
	wire_begin(&w, 299, 0);
	if (rc == WP_OK)
		rc = take(&w);
	if (rc == WP_OK)
		rc = take_relation(OUTBOX, "public", "outbox");
	w = writer();
	wire_type(&w, 70000, "public", "mood");
	if (rc == WP_OK)
		rc = take(&w);
	if (rc == WP_OK)
		rc = take_row(OUTBOX, "one", "k", "order");
	if (rc == WP_OK)
		rc = take_message(true, "outbox", EVENT);
	return rc;
}

static void without_memory_it_says_so_wherever_that_is(void **state)
{
	size_t before = memory_calls();
	CHECK_EQ(run_once(), WP_OK);
	size_t count = memory_calls() - before;
	size_t refused = 0;
	for (size_t i = 0; i < count; i++) {
		wp_feed_free(feed);
		feed = NULL;
		memory_fails_after(i);
		enum wp_rc rc = run_once();
		memory_works();
		/* A cache that has no room is done without. */
		CHECK(rc == WP_NOMEM || rc == WP_OK);
		if (rc == WP_NOMEM)
			CHECK_HAS(error.text, "out of memory");
		refused += rc == WP_NOMEM ? 1 : 0;
	}
	CHECK(refused > 10);
}

static void too_many_tables_are_a_wrong_configuration(void **state)
{
	make_feed();
	enum wp_rc rc = WP_OK;
	for (uint32_t oid = 1; rc == WP_OK && oid <= 200000; oid++)
		rc = take_relation(oid, "public", "t");
	CHECK_EQ(rc, WP_CONFIG);
	CHECK_HAS(error.text, "narrow it");
}

int main(void)
{
	return RUN(TEST(a_row_is_the_record_that_a_relay_sends),
		   TEST(a_message_is_a_record_in_its_place),
		   TEST(the_ordinal_counts_all_inserts_and_transactional_messages),
		   TEST(the_timeline_is_that_on_which_the_transaction_was_committed),
		   TEST(poison_tells_why_and_what_could_be_made),
		   TEST(a_row_without_a_column_that_is_needed_is_poison),
		   TEST(an_unknown_table_is_asked_about_and_its_row_is_offered_again),
		   TEST(a_row_of_nobodys_table_is_noted_and_one_of_an_ignored_table_is_not),
		   TEST(a_message_that_is_not_transactional_is_noted),
		   TEST(an_update_of_an_outbox_is_noted_and_other_changes_are_nothing),
		   TEST(values_in_binary_are_read_by_what_is_known_of_the_columns),
		   TEST(a_type_that_came_later_is_known_with_fresh_facts),
		   TEST(what_a_pattern_covers_is_asked_about_before_it_counts),
		   TEST(a_column_that_cannot_be_read_as_it_must_is_a_wrong_configuration),
		   TEST(what_is_not_the_plugins_is_refused), TEST(wrong_options_are_told),
		   TEST(without_memory_it_says_so_wherever_that_is),
		   TEST(too_many_tables_are_a_wrong_configuration));
}
