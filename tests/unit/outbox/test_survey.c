#include "support/rows.h"
#include "support/check.h"
#include "support/partitions.h"
#include "support/wire_writer.h"
#include "walpost/outbox/survey.h"

#define OUTBOX 16400
#define OTHER 16500
#define UNTIL 300

static struct wp_outbox_options options;
static struct wp_outboxes outboxes;
static struct wp_partitions partitions;
static struct wp_survey *survey;
static struct wp_survey_event event;
static bool is_event;
static struct wp_error error;

static const struct wp_timelines timelines = {
	.current = 5,
	.count = 1,
	.past = { { .timeline = 3, .ends_at = 250 } },
};

/* Of the options as they are; the first message that is taken makes it. */
static void begin_survey(void)
{
	CHECK_EQ(wp_survey_new(&(struct wp_survey_setup){ .outboxes = &outboxes,
							  .epoch = 2,
							  .timelines = &timelines,
							  .encoding = "UTF8",
							  .until = UNTIL,
							  .partitions = &partitions },
			       &survey, &error),
		 WP_OK);
}

static int set_up(void **state)
{
	options = default_options();
	outboxes = only(&options, "");
	know_partitions(&partitions, "", WIRE_XID + 1);
	survey = NULL;
	error.text[0] = '\0';
	return 0;
}

static int tear_down(void **state)
{
	wp_survey_free(survey);
	wp_partitions_release(&partitions);
	return 0;
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
	struct wp_span message = wire_span(w);

	if (survey == NULL)
		begin_survey();
	return wp_survey_take(survey, message, message.size, &event, &is_event, &error);
}

static void begin(wp_lsn commit_lsn)
{
	struct wire_writer w = writer();

	wire_begin(&w, commit_lsn, 0);
	CHECK_EQ(take(&w), WP_OK);
}

static void relation(uint32_t oid, const char *schema, const char *name)
{
	struct wire_writer w = writer();

	wire_relation(&w, oid, schema, name, wire_outbox_columns, 5);
	CHECK_EQ(take(&w), WP_OK);
}

static void row(uint32_t oid, const char *id, const char *key, const char *route)
{
	const char *const values[] = { id, route, key, "made", "{\"n\": 1}" };
	struct wire_writer w = writer();

	wire_insert(&w, oid, values, 5);
	CHECK_EQ(take(&w), WP_OK);
}

/* Events that stop the relay for that, too, must be given up by name. */
static void it_matters_not_whether_a_record_could_be_made(void **state)
{
	static const struct wire_column odd[] = {
		{ "id", TEXT_OID }, { "aggregatetype", TEXT_OID }, { "aggregateid", TEXT_OID },
		{ "type", 70000 },  { "payload", TEXT_OID },
	};
	struct wire_writer w = writer();

	options.types = WP_RENDERING_DEBEZIUM;
	options.column_timestamp = "payload";
	options.column_partition = "payload";
	begin(299);
	wire_relation(&w, OUTBOX, "public", "outbox", odd, 5);
	CHECK_EQ(take(&w), WP_OK);
	row(OUTBOX, "one", "k", "order");
	CHECK(is_event);
	CHECK_TEXT(event.topic, "outbox.event.order");
}

static void an_event_is_named_with_its_topic_and_position(void **state)
{
	begin(299);
	relation(OUTBOX, "public", "outbox");
	row(OUTBOX, "one", "k", "order");
	CHECK(is_event);
	row(OUTBOX, "two", "k", "order");
	CHECK(is_event);
	CHECK_TEXT(event.table, "public.outbox");
	CHECK_SPAN(event.id, "two");
	CHECK_SPAN(event.key, "k");
	CHECK_TEXT(event.topic, "outbox.event.order");
	CHECK_EQ(event.position.epoch, 2);
	CHECK_EQ(event.position.timeline, 5);
	CHECK_EQ(event.position.commit_lsn, 299);
	CHECK_EQ(event.position.ordinal, 1);
	CHECK_TEXT(event.error.text, "");
	CHECK_EQ(wp_survey_counts(survey)->events, 2);
	CHECK_EQ(wp_survey_counts(survey)->transactions, 1);
}

static void an_event_from_before_a_promotion_has_the_timeline_of_its_commit(void **state)
{
	begin(249);
	relation(OUTBOX, "public", "outbox");
	row(OUTBOX, "one", "k", "order");
	CHECK_EQ(event.position.timeline, 3);
}

static void what_becomes_a_record_is_told_with_all_that_is_sent(void **state)
{
	struct wp_record record;
	struct wp_error none;
	bool is_one;
	struct wire_writer w = writer();

	options.skip_types = "drop*";
	begin(200);
	CHECK(!wp_survey_record(survey, &record));
	relation(OUTBOX, "public", "outbox");
	row(OUTBOX, "one", "k", "order");
	CHECK(wp_survey_record(survey, &record));
	CHECK_SPAN(record.key, "k");
	CHECK_SPAN(record.value, "{\"n\": 1}");
	CHECK(record.header_count > 0);
	row(OUTBOX, "two", NULL, "order"); /* never sent: its key is NULL */
	CHECK(is_event && !wp_survey_record(survey, &record));
	const char *const dropped[] = { "three", "order", "k", "dropped", "1" };
	wire_insert(&w, OUTBOX, dropped, 5);
	CHECK_EQ(take(&w), WP_OK);
	CHECK(is_event && !wp_survey_record(survey, &record));
	struct wp_span whole = wire_span(&w), cut = { whole.data, whole.size - 1 };
	CHECK_EQ(wp_survey_take(survey, cut, whole.size, &event, &is_one, &none), WP_OK);
	CHECK(is_one && !wp_survey_record(survey, &record));
}

static void a_transaction_at_the_place_or_behind_it_is_not_given_up(void **state)
{
	begin(UNTIL);
	relation(OUTBOX, "public", "outbox");
	row(OUTBOX, "one", "k", "order");
	CHECK(!is_event);
	CHECK_EQ(wp_survey_counts(survey)->events, 0);
	CHECK_EQ(wp_survey_counts(survey)->transactions, 0);
}

static void what_can_never_be_delivered_is_named_with_its_reason(void **state)
{
	begin(200);
	relation(OUTBOX, "public", "outbox");
	row(OUTBOX, "one", "k", "no topic's name");
	CHECK(is_event);
	CHECK_SPAN(event.id, "one");
	CHECK_TEXT(event.topic, "");
	CHECK_HAS(event.error.text, "topic");
	row(OUTBOX, "two", NULL, "order");
	CHECK(is_event);
	CHECK(wp_span_is_null(event.key));
	CHECK_HAS(event.error.text, "aggregateid");
	CHECK_EQ(wp_survey_counts(survey)->events, 2);
}

/* The relay drops it before it asks whether it can be sent. */
static void what_can_never_be_delivered_of_a_type_that_is_skipped_is_not_refused(void **state)
{
	options.skip_types = "other, ma*";
	begin(299);
	relation(OUTBOX, "public", "outbox");
	row(OUTBOX, "one", "k", "no topic");
	CHECK(is_event);
	CHECK(!event.is_refused);
	CHECK_TEXT(event.error.text, "");
	row(OUTBOX, NULL, "k", "order");
	CHECK(!event.is_refused);
	CHECK_EQ(wp_survey_counts(survey)->events, 2);
	CHECK_EQ(wp_survey_counts(survey)->refused, 0);
}

static void rows_of_other_tables_are_counted_but_not_ours_and_not_the_ignored(void **state)
{
	outboxes.ignore = "public.noise";
	begin(200);
	relation(OTHER, "public", "elsewhere");
	relation(OTHER + 1, "public", "noise");
	relation(OTHER + 2, "walpost", "skip");
	for (uint32_t i = 0; i < 3; i++)
		row(OTHER + i, "1", "k", "order");
	CHECK(!is_event);
	CHECK_EQ(wp_survey_counts(survey)->foreign, 1);
	const struct wp_survey_counts *counts = wp_survey_counts(survey);
	CHECK_EQ(counts->foreign_tables, 1);
	CHECK_TEXT(counts->foreign_by_table[0].name.name, "elsewhere");
	CHECK_EQ(counts->foreign_by_table[0].rows, counts->foreign);
	CHECK(counts->foreign_until > 1);
	/* All of them count for the place within the transaction. */
	relation(OUTBOX, "public", "outbox");
	row(OUTBOX, "one", "k", "order");
	CHECK_EQ(event.position.ordinal, 3);
}

static void a_row_without_a_column_that_is_needed_is_named_and_counted(void **state)
{
	options.column_key = "missing";
	begin(200);
	relation(OUTBOX, "public", "outbox");
	row(OUTBOX, "one", "k", "order");
	CHECK(is_event);
	CHECK_SPAN(event.id, "one");
	CHECK_HAS(event.error.text, "missing");
	CHECK_EQ(wp_survey_counts(survey)->events, 1);
	CHECK_EQ(wp_survey_counts(survey)->refused, 1);
}

static void leaves_are_known_by_oid_or_by_pattern(void **state)
{
	know_partitions(&partitions, "1 0,16500 0", WIRE_XID + 1);
	options.leaves = "public.outbox_old*";
	begin(200);
	relation(OTHER, "parts", "a");
	row(OTHER, "one", "k", "order");
	CHECK(is_event);
	CHECK_TEXT(event.table, "parts.a");
	relation(OTHER + 1, "public", "outbox_old7");
	row(OTHER + 1, "two", "k", "order");
	CHECK(is_event);
}

static void the_beginning_of_a_large_row_is_enough_to_name_it(void **state)
{
	const char *const values[] = { "one", "order", "k", "made", "a long payload" };
	struct wire_writer w = writer();
	begin(200);
	relation(OUTBOX, "public", "outbox");
	wire_insert(&w, OUTBOX, values, 5);
	struct wp_span whole = wire_span(&w);
	struct wp_span cut = { whole.data, whole.size - 5 };
	CHECK_EQ(wp_survey_take(survey, cut, whole.size, &event, &is_event, &error), WP_OK);
	CHECK(is_event);
	CHECK_SPAN(event.id, "one");
	CHECK_TEXT(event.topic, "outbox.event.order");
	CHECK_EQ(event.size, whole.size);
	CHECK_TEXT(event.error.text, "");
	/* Less than that: what is not there is not guessed. */
	for (size_t size = 1; size < whole.size; size++) {
		cut.size = size;
		enum wp_rc rc = wp_survey_take(survey, cut, whole.size, &event, &is_event, &error);
		CHECK_EQ(rc, size < 8 ? WP_PROTO : WP_OK);
	}
	cut.size = 20;
	CHECK_EQ(wp_survey_take(survey, cut, whole.size, &event, &is_event, &error), WP_OK);
	CHECK_HAS(event.error.text, "only the first 20 of");
}

static void a_message_of_our_prefix_is_an_event_and_others_count_in_the_ordinal(void **state)
{
	static const char content[] = "{\"id\":\"m\",\"aggregatetype\":\"order\","
				      "\"aggregateid\":\"k\",\"payload\":1}";
	options.message_prefix = "outbox";
	begin(200);
	struct wire_writer w = writer();
	wire_message(&w, true, 190, "other", "x");
	CHECK_EQ(take(&w), WP_OK);
	CHECK(!is_event);
	w = writer();
	wire_message(&w, false, 190, "outbox", content);
	CHECK_EQ(take(&w), WP_OK);
	CHECK(!is_event);
	w = writer();
	wire_message(&w, true, 190, "outbox", content);
	CHECK_EQ(take(&w), WP_OK);
	CHECK(is_event);
	CHECK_SPAN(event.id, "m");
	CHECK_TEXT(event.topic, "outbox.event.order");
	CHECK_TEXT(event.table, "messages of prefix outbox");
	CHECK_EQ(event.position.ordinal, 1);
	w = writer();
	wire_message(&w, true, 190, "outbox", "[]");
	CHECK_EQ(take(&w), WP_OK);
	CHECK(is_event);
	CHECK_HAS(event.error.text, ": the content is not a JSON object, at byte");
	CHECK_EQ(wp_survey_counts(survey)->events, 2);
	CHECK_EQ(wp_survey_counts(survey)->refused, 1);
}

static void the_beginning_of_a_large_message_tells_that_there_is_one(void **state)
{
	options.message_prefix = "outbox";
	begin(200);
	struct wire_writer w = writer();
	wire_message(&w, true, 190, "outbox", "{\"id\":\"m\"}");
	struct wp_span whole = wire_span(&w);
	for (size_t size = 1; size < whole.size; size++) {
		struct wp_span cut = { whole.data, size };
		enum wp_rc rc = wp_survey_take(survey, cut, whole.size, &event, &is_event, &error);
		CHECK_EQ(rc, size < 1 + 1 + 8 + 7 ? WP_PROTO : WP_OK);
		CHECK_EQ(is_event, rc == WP_OK);
	}
	CHECK_HAS(event.error.text, "were read");
	CHECK_EQ(event.position.ordinal, whole.size - 1 - 17);
}

static void the_beginning_of_a_large_change_that_is_no_event_is_passed_over(void **state)
{
	static const char *const values[] = { "one", "order", "k", "made", "a long payload" };
	struct wire_writer w = writer();

	begin(200);
	relation(OUTBOX, "public", "outbox");
	for (int change = 0; change < 2; change++) {
		w = writer();
		if (change == 0)
			wire_update(&w, OUTBOX, values, 5);
		else
			wire_delete(&w, OUTBOX, values, 5);
		struct wp_span whole = wire_span(&w);
		for (size_t size = 1; size < whole.size; size++) {
			struct wp_span cut = { whole.data, size };
			enum wp_rc rc =
				wp_survey_take(survey, cut, whole.size, &event, &is_event, &error);
			CHECK_EQ(rc, size < 5 ? WP_PROTO : WP_OK);
			CHECK(!is_event);
		}
	}
	row(OUTBOX, "two", "k", "order");
	CHECK_EQ(event.position.ordinal, 0);
}

static void what_is_not_the_plugins_is_refused(void **state)
{
	struct wire_writer w = writer();
	wire_u8(&w, 'x');
	CHECK_EQ(take(&w), WP_PROTO);
	w = writer();
	const char *const values[] = { "one", "order", "k", "made", "" };
	wire_insert(&w, OUTBOX, values, 5);
	CHECK_EQ(take(&w), WP_PROTO);
	CHECK_HAS(error.text, "outside a transaction");
	begin(299);
	w = writer();
	wire_insert(&w, OUTBOX, values, 5);
	CHECK_EQ(take(&w), WP_PROTO);
	CHECK_HAS(error.text, "before describing it");
}

static void wrong_options_are_told(void **state)
{
	options.topic_regex = "(";
	CHECK_EQ(wp_survey_new(
			 &(struct wp_survey_setup){ .outboxes = &outboxes, .encoding = "UTF8" },
			 &survey, &error),
		 WP_CONFIG);
	CHECK(error.text[0] != '\0');
}

int main(void)
{
	return RUN(TEST(it_matters_not_whether_a_record_could_be_made),
		   TEST(an_event_is_named_with_its_topic_and_position),
		   TEST(an_event_from_before_a_promotion_has_the_timeline_of_its_commit),
		   TEST(what_becomes_a_record_is_told_with_all_that_is_sent),
		   TEST(a_transaction_at_the_place_or_behind_it_is_not_given_up),
		   TEST(what_can_never_be_delivered_is_named_with_its_reason),
		   TEST(what_can_never_be_delivered_of_a_type_that_is_skipped_is_not_refused),
		   TEST(rows_of_other_tables_are_counted_but_not_ours_and_not_the_ignored),
		   TEST(a_row_without_a_column_that_is_needed_is_named_and_counted),
		   TEST(leaves_are_known_by_oid_or_by_pattern),
		   TEST(the_beginning_of_a_large_row_is_enough_to_name_it),
		   TEST(a_message_of_our_prefix_is_an_event_and_others_count_in_the_ordinal),
		   TEST(the_beginning_of_a_large_message_tells_that_there_is_one),
		   TEST(the_beginning_of_a_large_change_that_is_no_event_is_passed_over),
		   TEST(what_is_not_the_plugins_is_refused), TEST(wrong_options_are_told));
}
