#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "support/patience.h"
#include "support/sink_contract.h"

#define DEADLINE_MS 30000
#define TICKETS_MAX 4096
#define BATCH 64

enum fate { NOT_SENT, IN_FLIGHT, CONFIRMED, REFUSED, PURGED, FORGOTTEN };

/* One sink under test and what became of each ticket. */
struct trial {
	const struct wp_sink_driver *driver;
	struct wp_sink *sink;
	int64_t now_ms;
	enum fate fates[TICKETS_MAX];
	wp_ticket last;	     /* the highest sent */
	wp_ticket last_good; /* the highest confirmed */
	size_t in_flight;
	size_t confirmed;
};

static const struct wp_sink_driver *driver;
static struct trial trial;

static const struct wp_sink_view *view(void)
{
	return trial.sink->ops->view(trial.sink);
}

static void note(const struct wp_report *r)
{
	CHECK(r->ticket > 0 && r->ticket < TICKETS_MAX);
	/* Never sent, reported before, or forgotten by a restart: all wrong. */
	CHECK_EQ(trial.fates[r->ticket], IN_FLIGHT);
	trial.in_flight--;
	switch (r->outcome) {
	case WP_CONFIRMED:
		trial.fates[r->ticket] = CONFIRMED;
		trial.confirmed++;
		/* All go to one topic and key: their order is kept. */
		CHECK(r->ticket > trial.last_good);
		trial.last_good = r->ticket;
		break;
	case WP_REFUSED:
		trial.fates[r->ticket] = REFUSED;
		CHECK(r->code != NULL);
		CHECK(r->reaction != WP_REACT_NONE);
		break;
	case WP_PURGED:
		trial.fates[r->ticket] = PURGED;
		break;
	}
}

static size_t collect(size_t max)
{
	struct wp_report reports[BATCH];

	CHECK(max <= BATCH);
	size_t count = trial.sink->ops->collect(trial.sink, trial.now_ms, reports, max);
	CHECK(count <= max);
	for (size_t i = 0; i < count; i++)
		note(&reports[i]);
	CHECK_EQ(view()->in_flight, trial.in_flight);
	CHECK(view()->queued <= trial.in_flight);
	return count;
}

static size_t turn(void)
{
	trial.now_ms = driver->pump(driver->arg, trial.sink);
	return collect(BATCH);
}

static void turn_until_ready(void)
{
	int64_t since = trial.now_ms;

	while (view()->state != WP_SINK_READY) {
		CHECK_IN_TIME(trial.now_ms - since, DEADLINE_MS);
		CHECK(view()->state == WP_SINK_STARTING);
		(void)turn();
	}
}

static void turn_until_settled(void)
{
	int64_t since = trial.now_ms;

	while (trial.in_flight > 0) {
		CHECK_IN_TIME(trial.now_ms - since, DEADLINE_MS);
		(void)turn();
	}
}

/* Once; the record's memory is spoilt afterwards, whatever came of it. */
static enum wp_rc offer(wp_ticket ticket)
{
	char topic[256], id[24], value[64];
	uint8_t key[] = { 'k' };

	(void)snprintf(topic, sizeof(topic), "%s", driver->topic);
	(void)snprintf(id, sizeof(id), "%u", (unsigned)ticket);
	(void)snprintf(value, sizeof(value), "value of %u", (unsigned)ticket);
	struct wp_header header = { wp_span_of("id"), wp_span_of(id) };
	struct wp_record record = {
		.topic = wp_span_of(topic),
		.key = { key, sizeof(key) },
		.value = wp_span_of(value),
		.headers = &header,
		.header_count = 1,
		.timestamp_ms = 1700000000000,
		.partition = WP_PARTITION_BY_KEY,
		.position = { .timeline = 1, .commit_lsn = ticket },
		.table = "public.outbox",
		.id = wp_span_of(id),
	};

	enum wp_rc rc = trial.sink->ops->send(trial.sink, ticket, &record, NULL);
	memset(topic, 0xFF, sizeof(topic));
	memset(id, 0xFF, sizeof(id));
	memset(value, 0xFF, sizeof(value));
	memset(key, 0xFF, sizeof(key));
	if (rc == WP_OK) {
		CHECK_EQ(trial.fates[ticket], NOT_SENT);
		trial.fates[ticket] = IN_FLIGHT;
		trial.in_flight++;
		trial.last = ticket;
	}
	CHECK_EQ(view()->in_flight, trial.in_flight);
	CHECK(view()->queued <= trial.in_flight);
	return rc;
}

static void send_one(wp_ticket ticket)
{
	int64_t since = trial.now_ms;

	while (true) {
		enum wp_rc rc = offer(ticket);
		if (rc == WP_OK)
			return;
		CHECK(rc == WP_AGAIN || rc == WP_FULL);
		CHECK_IN_TIME(trial.now_ms - since, DEADLINE_MS);
		(void)turn();
	}
}

static void send_many(size_t count)
{
	for (size_t i = 0; i < count; i++)
		send_one(trial.last + 1);
}

static void restart(enum wp_batching batching)
{
	trial.sink->ops->restart(trial.sink, batching);
	for (wp_ticket t = 1; t <= trial.last; t++) {
		if (trial.fates[t] == IN_FLIGHT)
			trial.fates[t] = FORGOTTEN;
	}
	trial.in_flight = 0;
	CHECK_EQ(view()->in_flight, 0);
	CHECK(view()->state == WP_SINK_STARTING || view()->state == WP_SINK_READY);
}

static int set_up(void **state)
{
	trial = (struct trial){ .driver = driver };
	driver->heal(driver->arg);
	trial.sink = driver->open(driver->arg);
	assert_non_null(trial.sink);
	trial.now_ms = driver->pump(driver->arg, trial.sink);
	return 0;
}

static int tear_down(void **state)
{
	driver->heal(driver->arg);
	driver->close(driver->arg, trial.sink);
	trial.sink = NULL;
	return 0;
}

/* ---- the contract ---- */

static void a_new_sink_becomes_ready_with_nothing_in_flight(void **state)
{
	CHECK_EQ(view()->in_flight, 0);
	turn_until_ready();
	CHECK_TEXT(view()->topic, "");
}

static void what_is_taken_is_confirmed_once_and_in_order(void **state)
{
	send_many(500);
	turn_until_settled();
	CHECK_EQ(trial.confirmed, 500);
	for (int i = 0; i < 20; i++)
		CHECK_EQ(turn(), 0);
}

static void tickets_are_the_callers_numbers(void **state)
{
	for (wp_ticket ticket = 7; ticket < 400; ticket += 13)
		send_one(ticket);
	turn_until_settled();
	CHECK_EQ(trial.fates[7], CONFIRMED);
	CHECK_EQ(trial.fates[8], NOT_SENT);
}

static void collect_gives_no_more_than_asked_and_loses_none(void **state)
{
	send_many(100);
	for (int64_t since = trial.now_ms; trial.in_flight > 0;) {
		CHECK_IN_TIME(trial.now_ms - since, DEADLINE_MS);
		trial.now_ms = driver->pump(driver->arg, trial.sink);
		CHECK(collect(3) <= 3);
		CHECK_EQ(collect(0), 0);
	}
	CHECK_EQ(trial.confirmed, 100);
}

static void what_is_held_up_stays_in_flight_and_comes_when_it_flows_again(void **state)
{
	send_many(10);
	turn_until_settled();
	driver->hold(driver->arg);
	size_t taken = 0;
	while (taken < 200 && offer(trial.last + 1) == WP_OK)
		taken++;
	CHECK(taken > 0);
	for (int i = 0; i < 20; i++)
		(void)turn();
	driver->heal(driver->arg);
	turn_until_settled();
	CHECK_EQ(trial.confirmed, 10 + taken);
}

static void a_purge_reports_each_one_as_purged_or_confirmed(void **state)
{
	size_t purged = 0;

	send_many(10);
	turn_until_settled();
	driver->hold(driver->arg);
	while (trial.last < 200 && offer(trial.last + 1) == WP_OK)
		continue;
	trial.sink->ops->purge(trial.sink);
	CHECK_EQ(view()->queued, 0);
	CHECK_EQ(view()->in_flight, trial.in_flight); /* until they are reported */
	driver->heal(driver->arg);
	turn_until_settled();
	for (wp_ticket t = 1; t <= trial.last; t++) {
		CHECK(trial.fates[t] == CONFIRMED || trial.fates[t] == PURGED);
		purged += trial.fates[t] == PURGED;
	}
	CHECK_EQ(purged + trial.confirmed, trial.last);
}

static void a_purge_of_nothing_does_nothing(void **state)
{
	trial.sink->ops->purge(trial.sink);
	send_many(5);
	turn_until_settled();
	trial.sink->ops->purge(trial.sink);
	for (int i = 0; i < 5; i++)
		CHECK_EQ(turn(), 0);
}

static void after_a_restart_old_tickets_are_never_reported(void **state)
{
	send_many(10);
	turn_until_settled();
	driver->hold(driver->arg);
	while (trial.last < 100 && offer(trial.last + 1) == WP_OK)
		continue;
	wp_ticket old = trial.last;
	restart(WP_BATCHING_NORMAL);
	driver->heal(driver->arg);
	turn_until_ready();
	send_many(50);
	turn_until_settled();
	CHECK_EQ(trial.last_good, old + 50);
	for (wp_ticket t = old + 1; t <= old + 50; t++)
		CHECK_EQ(trial.fates[t], CONFIRMED);
}

static void one_by_one_everything_is_delivered_as_well(void **state)
{
	turn_until_ready();
	restart(WP_BATCHING_ONE_BY_ONE);
	send_many(30);
	turn_until_settled();
	CHECK_EQ(trial.confirmed, 30);
	restart(WP_BATCHING_NORMAL);
	send_many(30);
	turn_until_settled();
	CHECK_EQ(trial.confirmed, 60);
}

static void a_restart_during_a_restart_is_fine(void **state)
{
	send_many(5);
	restart(WP_BATCHING_NORMAL);
	restart(WP_BATCHING_NORMAL);
	(void)turn();
	restart(WP_BATCHING_NORMAL);
	wp_ticket old = trial.last;
	send_many(5);
	turn_until_settled();
	CHECK_EQ(trial.last_good, old + 5);
}

static const struct wp_topic_ends_question question = { .topics = { "topic" }, .source = "" };

static bool is_answered(enum wp_topic_ends_state state)
{
	return state != WP_TOPIC_ENDS_NONE && state != WP_TOPIC_ENDS_ASKING;
}

static void a_question_about_topic_ends_is_answered(void **state)
{
	CHECK_EQ(view()->topic_ends.state, WP_TOPIC_ENDS_NONE);
	send_many(3);
	turn_until_settled();
	trial.sink->ops->ask_topic_ends(trial.sink, &question);
	/* The last question counts. */
	trial.sink->ops->ask_topic_ends(trial.sink, &question);
	int64_t since = trial.now_ms;
	while (!is_answered(view()->topic_ends.state)) {
		CHECK_IN_TIME(trial.now_ms - since, DEADLINE_MS);
		(void)turn();
	}
	CHECK(view()->topic_ends.state == WP_TOPIC_ENDS_KNOWN ||
	      view()->topic_ends.state == WP_TOPIC_ENDS_UNKNOWN);
	restart(WP_BATCHING_NORMAL);
	CHECK(is_answered(view()->topic_ends.state));
}

static void a_sink_may_be_freed_with_a_question_open(void **state)
{
	trial.sink->ops->ask_topic_ends(trial.sink, &question);
	/* tear_down() frees it. */
}

static void a_sink_may_be_freed_with_records_in_flight(void **state)
{
	send_many(3);
	driver->hold(driver->arg);
	while (trial.last < 50 && offer(trial.last + 1) == WP_OK)
		continue;
	/* tear_down() frees it. */
}

int wp_sink_contract(const struct wp_sink_driver *under_test)
{
	const struct CMUnitTest tests[] = {
		TEST(a_new_sink_becomes_ready_with_nothing_in_flight),
		TEST(what_is_taken_is_confirmed_once_and_in_order),
		TEST(tickets_are_the_callers_numbers),
		TEST(collect_gives_no_more_than_asked_and_loses_none),
		TEST(what_is_held_up_stays_in_flight_and_comes_when_it_flows_again),
		TEST(a_purge_reports_each_one_as_purged_or_confirmed),
		TEST(a_purge_of_nothing_does_nothing),
		TEST(after_a_restart_old_tickets_are_never_reported),
		TEST(one_by_one_everything_is_delivered_as_well),
		TEST(a_restart_during_a_restart_is_fine),
		TEST(a_question_about_topic_ends_is_answered),
		TEST(a_sink_may_be_freed_with_a_question_open),
		TEST(a_sink_may_be_freed_with_records_in_flight),
	};

	driver = under_test;
	return cmocka_run_group_tests_name(under_test->name, tests, NULL, NULL);
}
