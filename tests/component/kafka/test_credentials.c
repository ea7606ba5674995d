#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "state.h"
#include "support/check.h"
#include "support/files.h"
#include "walpost/base/secret_file.h"
#include "walpost/kafka_inspect/topic_ends.h"
#include "world.h"

static struct world w;
static char path[64];
static struct wp_secret_file *file;

static int set_up(void **state)
{
	world_init(&w, 1);
	world_topic(&w, TOPIC, 1);
	(void)snprintf(path, sizeof(path), "/tmp/walpost-credentials-XXXXXX");
	int fd = mkstemp(path);
	CHECK(fd >= 0);
	CHECK_EQ(close(fd), 0);
	return 0;
}

static int tear_down(void **state)
{
	world_release(&w);
	wp_secret_file_free(file);
	file = NULL;
	CHECK_EQ(unlink(path), 0);
	return 0;
}

static void open_with(const char *property, const char *text)
{
	struct wp_error error;

	write_text(path, text);
	CHECK_EQ(wp_secret_file_new(path, &file, &error), WP_OK);
	world_property(&w, property, text);
	w.options.properties[w.options.property_count - 1].file = file;
	world_open(&w);
}

static struct wp_producer *inside(void)
{
	return (struct wp_producer *)w.sink;
}

/* Was the present client made of that? */
static bool has(const char *property, const char *value)
{
	return inside()->clients.list[0].rk != NULL &&
	       wp_properties_is(rd_kafka_conf(inside()->clients.list[0].rk), property, value);
}

/* Ten seconds later, as it were. */
static void check_now(void)
{
	inside()->credentials.check_at_ms = 0;
	inside()->credentials.try_at_ms = 0;
	world_turn(&w);
}

static void send_and_confirm(wp_ticket ticket)
{
	struct wp_record record = world_record(TOPIC, "k", "v");

	world_send(&w, ticket, &record);
	WORLD_UNTIL(&w, world_report(&w, ticket) != NULL);
	CHECK_EQ(world_report(&w, ticket)->outcome, WP_CONFIRMED);
}

/* One record a turn, so that something is always in flight; how many were taken. */
static size_t send_until_draining(wp_ticket ticket)
{
	struct wp_record record = world_record(TOPIC, "k", "v");
	int64_t since = world_clock_ms();
	size_t count = 0;
	struct wp_error error;

	while (!inside()->credentials.is_draining) {
		WORLD_GOES_ON(since);
		world_pump(&w,
			   100); /* the trial ends here; what is offered now is not confirmed yet */
		if (world_offer(&w, ticket + count, &record, &error) == WP_OK)
			count++;
		world_collect(&w);
	}
	return count;
}

static void a_changed_file_makes_a_new_client_once_all_in_flight_is_confirmed(void **state)
{
	struct wp_record record = world_record(TOPIC, "k", "v");
	struct wp_error error;

	open_with("client.id", "before");
	send_and_confirm(1);
	CHECK_EQ(rd_kafka_mock_broker_set_rtt(w.cluster, 1, 400), 0);
	write_text(path, "after");
	check_now();
	size_t sent = 1 + send_until_draining(2);
	CHECK(world_view(&w)->in_flight > 0);
	CHECK_EQ(world_offer(&w, 99, &record, &error), WP_AGAIN);
	CHECK_EQ(world_view(&w)->state, WP_SINK_STARTING);
	WORLD_UNTIL(&w, world_view(&w)->state == WP_SINK_READY);
	CHECK(has("client.id", "after"));
	CHECK_EQ(w.report_count, sent);
	for (size_t i = 0; i < w.report_count; i++)
		CHECK_EQ(w.reports[i].outcome, WP_CONFIRMED);
	send_and_confirm(99);
}

static void a_file_that_makes_no_client_leaves_the_old_one(void **state)
{
	open_with("linger.ms", "1");
	send_and_confirm(1);
	write_text(path, "one");
	check_now();
	WORLD_UNTIL(&w, inside()->credentials.warned);
	send_and_confirm(2);
	write_text(path, "");
	check_now();
	WORLD_UNTIL(&w, inside()->credentials.warned);
	CHECK(has("linger.ms", "1"));
	CHECK_EQ(world_view(&w)->state, WP_SINK_READY);
	write_text(path, "22");
	check_now();
	WORLD_UNTIL(&w, has("linger.ms", "22"));
	send_and_confirm(3);
}

static void a_restart_meanwhile_waits_for_the_file_and_does_not_fail(void **state)
{
	open_with("linger.ms", "1");
	send_and_confirm(1);
	write_text(path, "one");
	w.sink->ops->restart(w.sink, WP_BATCHING_NORMAL);
	WORLD_UNTIL(&w, inside()->credentials.warned);
	CHECK_EQ(world_view(&w)->state, WP_SINK_STARTING);
	write_text(path, "22");
	WORLD_UNTIL(&w, world_view(&w)->state == WP_SINK_READY);
	send_and_confirm(2);
}

static void what_stays_in_flight_too_long_breaks_the_old_client(void **state)
{
	struct wp_record record = world_record(TOPIC, "k", "v");

	open_with("client.id", "before");
	send_and_confirm(1);
	CHECK_EQ(rd_kafka_mock_broker_set_rtt(w.cluster, 1, 20000), 0);
	world_send(&w, 2, &record);
	write_text(path, "after");
	check_now();
	inside()->credentials.trial_rc = WP_OK;
	world_turn(&w);
	CHECK(inside()->credentials.is_draining);
	CHECK_EQ(world_view(&w)->state, WP_SINK_STARTING);
	inside()->credentials.draining_since_ms -= 30000;
	inside()->reported_at_ms -= 30000;
	world_turn(&w);
	CHECK_EQ(world_view(&w)->state, WP_SINK_BROKEN);
	CHECK_HAS(world_view(&w)->error.text, "replaced");
}

static void topic_ends_are_asked_for_again_when_a_file_makes_no_consumer(void **state)
{
	struct wp_topic_ends_question question = { 0 };
	struct wp_topic_ends ends;

	open_with("socket.timeout.ms", "10000");
	wp_topic_list_add(&question.topics, TOPIC, strlen(TOPIC));
	write_text(path, "ten");
	wp_topic_ends_read(&w.options, &question, 1000, &ends);
	CHECK_EQ(ends.state, WP_TOPIC_ENDS_UNREACHABLE);
	CHECK_HAS(ends.error.text, "cannot create a consumer");
	write_text(path, "20000");
	wp_topic_ends_read(&w.options, &question, 10000, &ends);
	CHECK_EQ(ends.state, WP_TOPIC_ENDS_KNOWN);
}

int main(void)
{
	return RUN(TEST(a_changed_file_makes_a_new_client_once_all_in_flight_is_confirmed),
		   TEST(a_file_that_makes_no_client_leaves_the_old_one),
		   TEST(a_restart_meanwhile_waits_for_the_file_and_does_not_fail),
		   TEST(what_stays_in_flight_too_long_breaks_the_old_client),
		   TEST(topic_ends_are_asked_for_again_when_a_file_makes_no_consumer));
}
