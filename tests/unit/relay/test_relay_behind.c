/* Is the database behind what was delivered? When it is asked, and what each answer does. */
#include <stdio.h>

#include "bench.h"
#include "support/check.h"

#define SLOT 100
#define END 1000 /* of the server's log */

static struct wp_source_facts *facts(void)
{
	return &bench.source.view.facts;
}

static void slot_checkpoint(const char *owner, uint32_t timeline, wp_lsn taken_at)
{
	(void)snprintf(facts()->slot_checkpoint_owner, WP_OWNER_SIZE, "%s", owner);
	facts()->slot_checkpoint_timeline = timeline;
	facts()->slot_checkpoint_taken_at = taken_at;
	facts()->slot_checkpoint_system_id = facts()->system_id;
}

static void become_ready(void)
{
	bench.source.view.state = WP_SOURCE_READY;
	step();
}

static void connect(void)
{
	step();
	become_ready();
}

static void reconnect(void)
{
	scripted_source_fail(&bench.source, WP_REACT_RECONNECT, "");
	step();
	CHECK_STATE("backing_off");
	bench.now_ms += 12 * 1000;
	connect();
}

static int set_up(void **state)
{
	begin(SLOT);
	bench.options.topic_wait_ms = 1000;
	bench.options.epoch = 3;
	facts()->server_lsn = END;
	slot_checkpoint("before", 1, SLOT);
	facts()->slot_checkpoint_epoch = 3;
	facts()->slot_checkpoint_transactions = 0; /* the same life of the server */
	(void)snprintf(facts()->slot_checkpoint_topics, sizeof(facts()->slot_checkpoint_topics),
		       "orders");
	return build() == WP_OK ? 0 : -1;
}

static void topic_ends_hold(uint32_t timeline, wp_lsn commit_lsn)
{
	bench.sink.topic_ends_answer = (struct wp_topic_ends){
		.state = WP_TOPIC_ENDS_KNOWN,
		.found = true,
		.highest = { .epoch = 3, .timeline = timeline, .commit_lsn = commit_lsn },
		.topic = "orders",
		.partition = 7,
		.partitions = 8,
	};
}

static void stream(void)
{
	connect();
	CHECK_STATE("starting");
	bench.source.view.state = WP_SOURCE_STREAMING;
	step();
	CHECK_STATE("streaming");
}

/* -- when it is asked ----------------------------------------------------- */

static void a_normal_start_asks_nothing(void **state)
{
	connect();
	CHECK_STATE("starting");
	CHECK_EQ(bench.sink.topic_ends_questions, 0);
}

static void check_asks_at_start(const char *reason)
{
	connect();
	CHECK_EQ(bench.sink.topic_ends_questions, 1);
	CHECK(noted("tail_asked"));
	CHECK_HAS(bench.last.text, reason);
	CHECK_TEXT(bench.sink.topic_ends_question.topics.text, "orders");
	CHECK_EQ(bench.sink.topic_ends_question.epoch, 3);
	CHECK_STATE("starting");
}

static void a_start_on_a_server_started_anew_asks(void **state)
{
	facts()->slot_checkpoint_transactions = -1;
	check_asks_at_start("was restarted, or walpost slot skip moved the slot");
}

static void a_start_without_a_row_asks_nothing(void **state)
{
	slot_checkpoint("", 0, 0);
	connect();
	CHECK_EQ(bench.sink.topic_ends_questions, 0);
	CHECK_STATE("starting");
}

static void a_start_without_a_readable_slot_checkpoint_asks_nothing(void **state)
{
	facts()->slot_checkpoint_readable = false;
	connect();
	CHECK_EQ(bench.sink.topic_ends_questions, 0);
	CHECK_STATE("starting");
}

static void without_topics_it_says_what_is_lost(void **state)
{
	facts()->slot_checkpoint_topics[0] = '\0';
	facts()->timelines.current = 2;
	connect();
	CHECK_EQ(bench.sink.topic_ends_questions, 0);
	CHECK(noted("tail_unknown"));
	CHECK_HAS(bench.last.text, "walpost.slot_checkpoint lists no topics of its events");
	CHECK_STATE("starting");
}

static void topics_are_written_down_and_not_that_of_the_dead_letters(void **state)
{
	bench.options.dead_letter_topic = "outbox.event.dead";
	stream();
	one_event(END, "1");
	struct sent *dead = &bench.sink.sent[bench.sink.sent_count++];
	(void)snprintf(dead->topic, sizeof(dead->topic), "outbox.event.dead");
	scripted_sink_confirm(&bench.sink, 1);
	wp_relay_stop(bench.relay, (struct wp_now){ .ms = bench.now_ms });
	bench.sink.view.in_flight = 0;
	step();
	step();
	CHECK_EQ(bench.source.finishes, 1);
	CHECK_TEXT(bench.source.topics, "orders,outbox.event.order");
}

static void a_start_on_another_timeline_asks(void **state)
{
	facts()->timelines.current = 2;
	check_asks_at_start("another timeline");
}

static void a_start_on_a_shorter_log_asks(void **state)
{
	slot_checkpoint("before", 1, END + 1);
	check_asks_at_start("the server's WAL ends before the recorded position of the slot");
}

static void without_positions_in_headers_it_says_what_is_lost(void **state)
{
	bench.outbox.headers_standard = "id,type";
	facts()->timelines.current = 2;
	connect();
	CHECK_EQ(bench.sink.topic_ends_questions, 0);
	CHECK(noted("tail_unknown"));
	CHECK_HAS(bench.last.text, "outbox.headers.standard leaves walpost-position out");
	CHECK_STATE("starting");
}

/* -- what the answers do -------------------------------------------------- */

static void nothing_starts_before_the_answer(void **state)
{
	facts()->timelines.current = 2;
	bench.sink.topic_ends_answer.state = WP_TOPIC_ENDS_ASKING;
	connect();
	step();
	CHECK_STATE("connecting");
	CHECK_EQ(bench.source.starts, 0);
	bench.sink.view.topic_ends.state = WP_TOPIC_ENDS_KNOWN;
	step();
	CHECK_EQ(bench.sink.topic_ends_questions, 1);
	CHECK_STATE("starting");
	CHECK_EQ(bench.source.starts, 1);
}

static void an_event_beyond_the_log_is_refused_with_all_facts(void **state)
{
	slot_checkpoint("before", 1, END + 1);
	topic_ends_hold(1, END);
	connect();
	CHECK_EQ(bench.source.refreshes, 1); /* at what the server says after the answer */
	become_ready();
	CHECK_OVER(3);
	CHECK(noted("server_behind"));
	CHECK_HAS(bench.error.text, "0003-00000001-00000000000003E8-00000000");
	CHECK_HAS(bench.error.text, "topic orders, partition 7");
	CHECK_HAS(bench.error.text, "committed at 0/3E8 of timeline 1");
	CHECK_HAS(bench.error.text, "ends at 0/3E8");
	CHECK_HAS(bench.error.text, "positions below it");
	CHECK_HAS(bench.error.text, "relay.epoch = 4");
	CHECK_EQ(bench.source.starts, 0);
}

static void an_event_within_the_log_is_fine(void **state)
{
	slot_checkpoint("before", 1, END + 1);
	topic_ends_hold(1, END - 1);
	connect();
	CHECK_STATE("starting");
	CHECK_EQ(bench.source.refreshes, 0);
}

static void what_another_relay_delivered_meanwhile_is_fine(void **state)
{
	slot_checkpoint("before", 1, END + 1);
	topic_ends_hold(1, END + 5);
	connect();
	facts()->slot_active = true;
	become_ready();
	CHECK_STATE("standby");
	CHECK_EQ(wp_relay_exit_code(bench.relay), 0);
}

static void what_the_server_has_written_meanwhile_is_fine(void **state)
{
	slot_checkpoint("before", 1, END + 1);
	topic_ends_hold(1, END + 5);
	connect();
	facts()->server_lsn = END + 6;
	become_ready();
	CHECK_STATE("starting");
}

static void promote(wp_lsn switched_at)
{
	facts()->timelines =
		(struct wp_timelines){ .current = 2, .count = 1, .past = { { 1, switched_at } } };
}

static void a_promoted_server_that_never_had_it_is_refused(void **state)
{
	promote(500);
	topic_ends_hold(1, 500);
	connect();
	become_ready();
	CHECK_EQ(wp_relay_exit_code(bench.relay), 3);
	CHECK_HAS(bench.error.text, "now on timeline 2, left at 0/1F4");
	CHECK_HAS(bench.error.text, "New events sort above it");
}

static void a_promoted_server_that_had_it_goes_on(void **state)
{
	promote(500);
	topic_ends_hold(1, 499);
	connect();
	CHECK_STATE("starting");
}

static void an_event_of_a_later_timeline_is_refused(void **state)
{
	slot_checkpoint("before", 1, END + 1);
	topic_ends_hold(2, 200);
	connect();
	become_ready();
	CHECK_EQ(wp_relay_exit_code(bench.relay), 3);
	CHECK_HAS(bench.error.text, ", which is not in the history of this server, on timeline");
}

static void what_could_not_be_read_is_said(void **state)
{
	slot_checkpoint("before", 1, END + 1);
	topic_ends_hold(1, 200);
	bench.sink.topic_ends_answer.unread_partitions = 2;
	(void)wp_error_set(&bench.sink.topic_ends_answer.error, WP_OK,
			   "2 of 8 partitions were not read");
	connect();
	CHECK(noted("tail_unread"));
	CHECK_HAS(bench.last.text, "2 of 8 partitions were not read");
	CHECK_STATE("starting");
}

static void while_kafka_does_not_answer_nothing_starts(void **state)
{
	slot_checkpoint("before", 1, END + 1);
	bench.sink.topic_ends_answer.state = WP_TOPIC_ENDS_UNREACHABLE;
	connect();
	CHECK(noted("tail_unread"));
	CHECK_STATE("backing_off");
	bench.sink.topic_ends_answer.state = WP_TOPIC_ENDS_KNOWN;
	bench.now_ms += 12 * 1000;
	connect();
	CHECK_EQ(bench.sink.topic_ends_questions, 2);
	CHECK_STATE("starting");
}

static void a_sink_that_keeps_nothing_is_no_hindrance(void **state)
{
	slot_checkpoint("before", 1, END + 1);
	bench.sink.topic_ends_answer.state = WP_TOPIC_ENDS_UNKNOWN;
	connect();
	CHECK(noted("tail_unknown"));
	CHECK_STATE("starting");
}

static void an_answer_from_before_a_reconnect_has_aged(void **state)
{
	slot_checkpoint("before", 1, END + 1);
	bench.sink.topic_ends_answer.state = WP_TOPIC_ENDS_ASKING;
	connect();
	CHECK_EQ(bench.sink.topic_ends_questions, 1);
	bench.sink.topic_ends_answer.state = WP_TOPIC_ENDS_KNOWN;
	reconnect();
	CHECK_EQ(bench.sink.topic_ends_questions, 2);
	CHECK_STATE("starting");
}

/* -- within one process --------------------------------------------------- */

static void a_promotion_that_left_out_what_we_sent_is_refused(void **state)
{
	stream();
	one_event(600, "1");
	promote(600);
	reconnect();
	CHECK_EQ(wp_relay_exit_code(bench.relay), 3);
	CHECK(noted("server_behind"));
	CHECK_HAS(bench.error.text, "was sent to Kafka by this process");
	CHECK_EQ(bench.sink.topic_ends_questions, 0);
}

static void a_promotion_that_has_what_we_sent_asks_what_others_sent(void **state)
{
	stream();
	one_event(600, "1");
	scripted_sink_confirm(&bench.sink, 1);
	step();
	promote(601);
	reconnect();
	CHECK_EQ(bench.sink.topic_ends_questions, 1);
	CHECK_EQ(wp_relay_exit_code(bench.relay), 0);
}

static void a_reconnect_to_the_same_server_asks_nothing(void **state)
{
	stream();
	one_event(600, "1");
	reconnect();
	CHECK_EQ(bench.sink.topic_ends_questions, 0);
	CHECK_STATE("starting");
}

static void a_server_that_lost_what_we_sent_is_refused(void **state)
{
	stream();
	one_event(600, "1");
	facts()->server_lsn = 600;
	reconnect();
	CHECK_EQ(wp_relay_exit_code(bench.relay), 3);
	CHECK_HAS(bench.error.text, "the WAL of this server ends at 0/258");
}

int main(void)
{
	return RUN(TEST(a_normal_start_asks_nothing), TEST(a_start_on_a_server_started_anew_asks),
		   TEST(a_start_without_a_row_asks_nothing),
		   TEST(a_start_without_a_readable_slot_checkpoint_asks_nothing),
		   TEST(without_topics_it_says_what_is_lost),
		   TEST(topics_are_written_down_and_not_that_of_the_dead_letters),
		   TEST(a_start_on_another_timeline_asks), TEST(a_start_on_a_shorter_log_asks),
		   TEST(without_positions_in_headers_it_says_what_is_lost),
		   TEST(nothing_starts_before_the_answer),
		   TEST(an_event_beyond_the_log_is_refused_with_all_facts),
		   TEST(an_event_within_the_log_is_fine),
		   TEST(what_another_relay_delivered_meanwhile_is_fine),
		   TEST(what_the_server_has_written_meanwhile_is_fine),
		   TEST(a_promoted_server_that_never_had_it_is_refused),
		   TEST(a_promoted_server_that_had_it_goes_on),
		   TEST(an_event_of_a_later_timeline_is_refused),
		   TEST(what_could_not_be_read_is_said),
		   TEST(while_kafka_does_not_answer_nothing_starts),
		   TEST(a_sink_that_keeps_nothing_is_no_hindrance),
		   TEST(an_answer_from_before_a_reconnect_has_aged),
		   TEST(a_promotion_that_left_out_what_we_sent_is_refused),
		   TEST(a_promotion_that_has_what_we_sent_asks_what_others_sent),
		   TEST(a_reconnect_to_the_same_server_asks_nothing),
		   TEST(a_server_that_lost_what_we_sent_is_refused));
}
