/*
 * `run`, `tail` and `slot skip` read one log: message by message they agree on what is an event,
 * at which position, what is refused, and where they have to ask.
 */
#include <stdio.h>
#include <string.h>

#include "scripted_sink.h"
#include "support/check.h"
#include "support/partitions.h"
#include "support/wire_writer.h"
#include "support/rows.h"
#include "walpost/outbox/feed.h"
#include "walpost/outbox/survey.h"
#include "walpost/relay/pipeline.h"

enum { OUTBOX = 16400, LEAF, IGNORED, OWN, OTHER, REISSUE };

static struct wp_outbox_options options;
static struct wp_outboxes outboxes;
static struct wp_column_facts facts;
static struct wp_partitions partitions;
static struct wp_ledger ledger;
static struct scripted_sink sink;
static struct wp_pipeline *pipeline;
static struct wp_feed *feed;
static struct wp_survey *survey;

static const struct wp_timelines timelines = {
	.current = 5,
	.count = 1,
	.past = { { .timeline = 3, .ends_at = 250 } },
};

/* "nothing", "event POSITION ID", the same with a reason, "asks", "broken REASON". */
struct said {
	char text[4096];
};

static int set_up(void **state)
{
	options = default_options();
	options.message_prefix = "outbox";
	outboxes = only(&options, "public.noise, public.noise_*");
	outboxes.slot = "walpost";
	wp_column_facts_begin(&facts);
	scripted_sink_init(&sink);
	CHECK_EQ(wp_ledger_init(&ledger, 64, 1000000), WP_OK);
	const struct wp_pipeline_setup run = {
		.outboxes = &outboxes,
		.epoch = 2,
		.value_size_max = 1000,
		.poison = WP_POISON_DEAD_LETTER,
		.dead_letter_topic = "dead",
		.partitions = &partitions,
		.ledger = &ledger,
		.sink = &sink.base,
	};
	const struct wp_feed_setup tail = {
		.outboxes = &outboxes,
		.epoch = 2,
		.timelines = &timelines,
		.encoding = "UTF8",
		.columns = &facts,
		.partitions = &partitions,
	};
	const struct wp_survey_setup skip = {
		.outboxes = &outboxes,
		.epoch = 2,
		.timelines = &timelines,
		.encoding = "UTF8",
		.until = UINT64_MAX,
		.partitions = &partitions,
	};
	CHECK_EQ(wp_pipeline_new(&run, &pipeline, NULL), WP_OK);
	wp_pipeline_begin(pipeline, &timelines, "UTF8");
	wp_pipeline_know(pipeline, &facts, WP_TRANSFER_TEXT);
	CHECK_EQ(wp_feed_new(&tail, &feed, NULL), WP_OK);
	CHECK_EQ(wp_survey_new(&skip, &survey, NULL), WP_OK);
	return 0;
}

static int tear_down(void **state)
{
	wp_pipeline_free(pipeline);
	wp_feed_free(feed);
	wp_survey_free(survey);
	wp_ledger_release(&ledger);
	wp_partitions_release(&partitions);
	return 0;
}

/* -- the three ------------------------------------------------------------ */

static struct said say(const char *what, const char *reason)
{
	struct said said;

	(void)snprintf(said.text, sizeof(said.text), "%s %s", what, reason);
	return said;
}

static struct said say_event(const struct wp_position *position, struct wp_span id,
			     const char *reason)
{
	char at[WP_POSITION_TEXT_SIZE];
	struct said said;

	(void)snprintf(said.text, sizeof(said.text), "event %s %.*s %s",
		       wp_position_text(position, at), (int)id.size, (const char *)id.data, reason);
	return said;
}

static struct said say_rc(enum wp_rc rc, const struct wp_error *error)
{
	return rc == WP_PAUSE ? say("asks", "") : say("broken", error->text);
}

static struct said run_says(const struct wire_writer *w)
{
	struct wp_error error = { .text = "" };
	uint8_t bytes[4200];
	struct wire_writer frame;
	struct wp_taken taken;

	wire_init(&frame, bytes, sizeof(bytes));
	wire_data(&frame, 0);
	memcpy(bytes + frame.size, w->bytes, w->size);
	frame.size += w->size;
	enum wp_rc rc = wp_pipeline_take(pipeline, wire_span(&frame), &taken, &error);
	/* It stops at what the others go on from: said is the reason, to be compared. */
	if (rc == WP_CONFIG)
		return say("note", error.text);
	if (rc != WP_OK)
		return say_rc(rc, &error);
	if (taken.updated != NULL || taken.refused_message || taken.refused_reissue)
		return say("note", error.text);
	if (!taken.event)
		return say("nothing", "");
	const struct wp_event_name *name = wp_pipeline_last_event(pipeline);
	return say_event(&name->position, wp_span_of(name->id),
			 name->is_dead_letter ? wp_pipeline_reason(pipeline)->text : "");
}

static struct said tail_says(const struct wire_writer *w)
{
	struct wp_error error = { .text = "" };
	struct wp_fed fed;
	enum wp_rc rc = wp_feed_take(feed, wire_span(w), 0, &fed, &error);

	if (rc != WP_OK)
		return say_rc(rc, &error);
	switch (fed.kind) {
	case WP_FED_NOTHING:
		return say("nothing", "");
	case WP_FED_NOTE:
		return say("note", fed.error.text);
	default:
		return say_event(&fed.record.position, fed.record.id, fed.error.text);
	}
}

static struct said skip_says(const struct wire_writer *w)
{
	struct wp_error error = { .text = "" };
	const struct wp_span message = wire_span(w);
	uint64_t refused = wp_survey_counts(survey)->refused;
	struct wp_survey_event event;
	bool is_event;
	enum wp_rc rc = wp_survey_take(survey, message, message.size, &event, &is_event, &error);

	if (rc != WP_OK)
		return say_rc(rc, &error);
	if (!is_event)
		return say("nothing", "");
	CHECK_EQ(event.is_refused, event.error.text[0] != '\0');
	CHECK_EQ(wp_survey_counts(survey)->refused, refused + (event.is_refused ? 1 : 0));
	return say_event(&event.position, event.id, event.error.text);
}

/* -- what the log says ------------------------------------------------------ */

static uint8_t room[4096];
static struct wire_writer w;

static struct wire_writer *message_of(void)
{
	wire_init(&w, room, sizeof(room));
	return &w;
}

/* All three say so of the message that was written last. */
static void all_say(const char *wanted)
{
	struct said run = run_says(&w), tail = tail_says(&w), skip = skip_says(&w);

	CHECK_TEXT(tail.text, run.text);
	CHECK_TEXT(skip.text, run.text);
	CHECK_HAS(run.text, wanted);
}

/* What is no event: `tail` notes what `run` does, `slot skip` has nothing to list. */
static void is_noted(const char *wanted)
{
	struct said run = run_says(&w), tail = tail_says(&w), skip = skip_says(&w);

	CHECK_HAS(run.text, "note");
	CHECK_HAS(tail.text, "note");
	CHECK_HAS(tail.text, wanted);
	CHECK_TEXT(skip.text, "nothing ");
}

static void begin(wp_lsn commit_lsn)
{
	wire_begin(message_of(), commit_lsn, 1000000);
	all_say("nothing");
}

static void commit(wp_lsn commit_lsn)
{
	wire_commit(message_of(), commit_lsn, commit_lsn + 8, 1000000);
	all_say("nothing");
}

static void relation(uint32_t oid, const char *schema, const char *name)
{
	wire_relation(message_of(), oid, schema, name, wire_outbox_columns, 5);
	all_say("nothing");
}

static void write_row(uint32_t oid, const char *id, const char *key, const char *route)
{
	const char *const values[] = { id, route, key, "made", "{\"n\": 1}" };

	wire_insert(message_of(), oid, values, 5);
}

static void row(uint32_t oid, const char *id, const char *wanted)
{
	write_row(oid, id, "k", "order");
	all_say(wanted);
}

static void write_message(bool transactional, const char *prefix, const char *content)
{
	wire_message(message_of(), transactional, 190, prefix, content);
}

#define EVENT                                                                                    \
	"{\"id\": \"m\", \"aggregatetype\": \"order\", \"aggregateid\": \"k\", \"type\": \"t\"," \
	" \"payload\": 1}"

static void tell_relations(void)
{
	relation(OUTBOX, "public", "outbox");
	relation(LEAF, "public", "leaf");
	relation(IGNORED, "public", "noise");
	relation(OWN, "walpost", "skip");
}

static void they_agree_on_events_and_their_positions(void **state)
{
	begin(249);
	tell_relations();
	row(OUTBOX, "one", "event 0002-00000003-00000000000000F9-00000000 one");
	write_message(true, "another", EVENT);
	all_say("nothing");
	write_message(true, "outbox", EVENT);
	all_say("event 0002-00000003-00000000000000F9-00000002 m");
	row(OWN, "x", "nothing");
	row(OUTBOX, "two", "-00000004 two");
	commit(249);
	/* After the promotion. */
	begin(250);
	row(OUTBOX, "three", "event 0002-00000005-00000000000000FA-00000000 three");
	commit(250);
}

static void they_ask_about_a_table_at_the_same_row_and_count_it_once(void **state)
{
	begin(249);
	tell_relations();
	row(LEAF, "one", "asks");
	row(LEAF, "one", "asks");
	/* The transaction waits for a standby, and holds no lock that attaching takes. */
	CHECK_EQ(read_partitions(&partitions, "16401 0", "700:701:700", "700"), WP_OK);
	row(LEAF, "one", "-00000000 one");
	row(IGNORED, "two", "nothing");
	row(LEAF, "three", "-00000002 three");
}

static void they_agree_on_what_can_never_be_sent_and_why(void **state)
{
	begin(249);
	tell_relations();
	write_row(OUTBOX, "null key", NULL, "order");
	all_say("-00000000 null key");
	write_row(OUTBOX, "no topic", "k", "no topic's name");
	all_say("-00000001 no topic");
	write_message(true, "outbox", "[]");
	all_say("-00000002");
	row(OUTBOX, "good", "-00000003 good");
}

static void they_agree_on_what_is_no_event(void **state)
{
	static const char *const values[] = { "one", "order", "k", "made", "" };

	begin(249);
	tell_relations();
	wire_update(message_of(), OUTBOX, values, 5);
	is_noted("public.outbox");
	wire_delete(message_of(), OUTBOX, values, 5);
	all_say("nothing");
	wire_truncate(message_of(), OUTBOX);
	all_say("nothing");
	wire_origin(message_of(), 7, "far");
	all_say("nothing");
	wire_type(message_of(), 99, "public", "mood");
	all_say("nothing");
	write_message(false, "outbox", EVENT);
	is_noted("not transactional");
	write_message(false, "another", EVENT);
	all_say("nothing");
	row(OUTBOX, "one", "-00000000 one");
}

#define REISSUED                                                                                \
	"[{\"name\": \"id\", \"type\": 25, \"modifier\": -1, \"value\": \"again\"}, "           \
	"{\"name\": \"aggregatetype\", \"type\": 25, \"modifier\": -1, \"value\": \"order\"}, " \
	"{\"name\": \"aggregateid\", \"type\": 25, \"modifier\": -1, \"value\": \"k\"}, "       \
	"{\"name\": \"type\", \"type\": 25, \"modifier\": -1, \"value\": null}, "               \
	"{\"name\": \"payload\", \"type\": 25, \"modifier\": -1, \"value\": null}]"

static void write_reissue(const char *slot, const char *outbox, const char *row, const char *kind)
{
	const char *const values[] = { slot, outbox, row, NULL, "parked", NULL, kind };

	wire_insert(message_of(), REISSUE, values, 7);
}

static void they_agree_on_what_is_sent_once_more(void **state)
{
	static const struct wire_column reissue[] = {
		{ "slot", TEXT_OID },	  { "outbox", TEXT_OID }, { "row", 3802 },
		{ "content", BYTEA_OID }, { "reason", TEXT_OID }, { "position", TEXT_OID },
		{ "kind", TEXT_OID },
	};

	(void)state;
	begin(249);
	wire_relation(message_of(), REISSUE, "walpost", "reissue", reissue, 7);
	all_say("nothing");
	write_reissue("walpost", "public.outbox", REISSUED, "row");
	all_say("event 0002-00000003-00000000000000F9-00000000 again");
	write_reissue("another", "public.outbox", REISSUED, "row");
	all_say("nothing");
	CHECK_EQ(wp_pipeline_counts(pipeline)->reissues_elsewhere, 1);
	write_reissue("walpost", "public.outbox", NULL, "mark");
	all_say("nothing");
	write_reissue("walpost", "public.other", REISSUED, "row");
	is_noted("public.other");
	CHECK_EQ(wp_pipeline_counts(pipeline)->reissues_refused, 1);
	write_reissue("walpost", "public.outbox", "[]", "row");
	all_say("-00000004");
	write_reissue("walpost", "public.outbox", "nonsense", "row");
	all_say("walpost.reissue for table public.outbox");
	CHECK_EQ(wp_pipeline_counts(pipeline)->reissued, 3);
	commit(249);
}

/* `run` stops there, the others go on: to it that is the last. */
static void they_agree_on_where_a_relay_stops_and_why(void **state)
{
	know_partitions(&partitions, "", WIRE_XID + 1);
	begin(249);
	relation(OTHER, "public", "elsewhere");
	write_row(OTHER, "one", "k", "order");
	struct said run = run_says(&w), tail = tail_says(&w);
	CHECK_TEXT(tail.text, run.text);
	CHECK_HAS(run.text, "public.elsewhere");
	CHECK_TEXT(skip_says(&w).text, "nothing ");
	CHECK_EQ(wp_survey_counts(survey)->foreign, 1);
}

static void they_agree_on_an_update_at_which_a_relay_stops(void **state)
{
	static const char *const values[] = { "one", "order", "k", "made", "" };

	options.on_update = WP_ON_UPDATE_STOP;
	begin(249);
	tell_relations();
	wire_update(message_of(), OUTBOX, values, 5);
	struct said run = run_says(&w), tail = tail_says(&w);
	CHECK_TEXT(tail.text, run.text);
	CHECK_HAS(run.text, "outbox.on_update = stop");
}

static void they_refuse_a_server_that_breaks_the_protocol_in_the_same_words(void **state)
{
	write_row(OUTBOX, "one", "k", "order");
	all_say("broken the server sent an insert outside a transaction");
	write_message(true, "outbox", EVENT);
	all_say("broken the server sent a transactional message outside a transaction");
	wire_commit(message_of(), 249, 257, 0);
	all_say("broken the server committed a transaction that it did not begin");
	begin(249);
	write_row(OTHER, "one", "k", "order");
	all_say("broken the server sent a row of relation 16404 before describing it");
	wire_begin(message_of(), 300, 0);
	all_say("broken the server began a transaction within another");
	wire_commit(message_of(), 300, 308, 0);
	all_say("broken the server's commit does not match its begin");
	wire_u8(message_of(), 'x');
	all_say("broken pgoutput: unknown message");
}

int main(void)
{
	return RUN(TEST(they_agree_on_events_and_their_positions),
		   TEST(they_ask_about_a_table_at_the_same_row_and_count_it_once),
		   TEST(they_agree_on_what_can_never_be_sent_and_why),
		   TEST(they_agree_on_what_is_no_event), TEST(they_agree_on_what_is_sent_once_more),
		   TEST(they_agree_on_where_a_relay_stops_and_why),
		   TEST(they_agree_on_an_update_at_which_a_relay_stops),
		   TEST(they_refuse_a_server_that_breaks_the_protocol_in_the_same_words));
}
