/* With very many partitions a producer has several clients, each with topics of its own. */
#include <stdint.h>

#include "state.h"
#include "support/check.h"
#include "world.h"

static struct world w;

enum { MANY = 200 }; /* partitions of a topic: two of those are more than a client takes */

static struct wp_producer *inside(void)
{
	return (struct wp_producer *)w.sink;
}

static int set_up(void **state)
{
	world_init(&w, 1);
	world_topic(&w, "a", MANY);
	world_topic(&w, "b", MANY);
	world_topic(&w, "c", 1);
	world_open(&w);
	return 0;
}

static int tear_down(void **state)
{
	world_release(&w);
	return 0;
}

static void send_to(const char *topic, wp_ticket ticket)
{
	struct wp_record record = world_record(topic, "k", "v");

	world_send(&w, ticket, &record);
}

static bool is_confirmed(wp_ticket ticket)
{
	const struct wp_report *report = world_report(&w, ticket);

	return report != NULL && report->outcome == WP_CONFIRMED;
}

static void send_to_two_clients(void)
{
	send_to("a", 1);
	send_to("b", 2);
	WORLD_UNTIL(&w, is_confirmed(1) && is_confirmed(2));
	CHECK_EQ(inside()->clients.count, 2);
}

static void send_to_both(wp_ticket from, wp_ticket to)
{
	for (wp_ticket t = from; t < to; t++)
		send_to(t % 2 == 0 ? "b" : "a", t);
}

/* All that was reported, confirmed in the order of each topic. */
static void check_in_order(void)
{
	wp_ticket last[2] = { 0 };

	for (size_t i = 0; i < w.report_count; i++) {
		wp_ticket t = w.reports[i].ticket;
		CHECK_EQ(w.reports[i].outcome, WP_CONFIRMED);
		CHECK(t > last[t % 2]);
		last[t % 2] = t;
	}
}

static void topics_of_few_partitions_share_a_client(void **state)
{
	send_to("c", 1);
	send_to("a", 2);
	send_to("c", 3);
	WORLD_UNTIL(&w, is_confirmed(1) && is_confirmed(2) && is_confirmed(3));
	CHECK_EQ(inside()->clients.count, 1);
}

static void a_topic_stays_with_its_client(void **state)
{
	send_to_two_clients();
	CHECK_EQ(wp_topics_find(&inside()->admission.topics, "a")->client, 0);
	CHECK_EQ(wp_topics_find(&inside()->admission.topics, "b")->client, 1);
	send_to_both(3, 43);
	WORLD_UNTIL(&w, w.report_count == 42);
	check_in_order();
	send_to("c", 50); /* to the one that has least */
	WORLD_UNTIL(&w, is_confirmed(50));
	CHECK_EQ(inside()->clients.count, 2);
	CHECK_EQ(world_view(&w)->partitions, 2 * MANY + 1);
}

static unsigned client_of_topic_with(int32_t partition_count)
{
	struct wp_topic topic = { .name = "another", .partition_count = partition_count };

	CHECK(wp_clients_assign(&inside()->clients, &topic, inside()->inquiry.broker_count));
	rd_kafka_topic_destroy(topic.handle);
	return topic.client;
}

static void more_brokers_share_the_partitions_so_fewer_clients_do(void **state)
{
	send_to("a", 1);
	WORLD_UNTIL(&w, is_confirmed(1));
	inside()->inquiry.broker_count = 2;
	CHECK_EQ(client_of_topic_with(MANY), 0);
	CHECK_EQ(inside()->clients.count, 1);
	CHECK_EQ(client_of_topic_with(MANY), 1);
	CHECK_EQ(inside()->clients.count, 2);
}

static void there_are_never_more_than_eight(void **state)
{
	WORLD_UNTIL(&w, inside()->clients.phase == WP_PHASE_RUNNING);
	for (unsigned i = 0; i < 3 * WP_CLIENTS_MAX; i++)
		CHECK_EQ(client_of_topic_with(1000), i % WP_CLIENTS_MAX);
	CHECK_EQ(inside()->clients.count, WP_CLIENTS_MAX);
}

static void when_no_more_can_be_opened_those_that_are_open_take_more(void **state)
{
	send_to("a", 1);
	WORLD_UNTIL(&w, is_confirmed(1));
	inside()->clients.shape.batch_size = SIZE_MAX; /* librdkafka refuses it */
	send_to("b", 2);
	CHECK(inside()->clients.warned);
	WORLD_UNTIL(&w, is_confirmed(2));
	CHECK_EQ(inside()->clients.count, 1);
	CHECK_EQ(inside()->clients.list[0].partitions, 2 * MANY);
	inside()->clients.shape.batch_size = 0;
	w.sink->ops->restart(w.sink, WP_BATCHING_NORMAL);
	CHECK_EQ(world_view(&w)->in_flight, 0);
	send_to("a", 3);
	send_to("b", 4);
	WORLD_UNTIL(&w, is_confirmed(3) && is_confirmed(4));
	CHECK_EQ(inside()->clients.count, 2);
	CHECK(!inside()->clients.warned);
}

static void a_restart_closes_all_of_them(void **state)
{
	send_to_two_clients();
	world_down(&w);
	send_to("a", 3);
	send_to("b", 4);
	CHECK_EQ(world_view(&w)->in_flight, 2);
	w.sink->ops->restart(w.sink, WP_BATCHING_ONE_BY_ONE);
	CHECK_EQ(inside()->clients.count, 0);
	CHECK_EQ(world_view(&w)->in_flight, 0);
	world_up(&w);
	send_to("b", 5);
	send_to("a", 6);
	WORLD_UNTIL(&w, is_confirmed(5) && is_confirmed(6));
	CHECK(world_report(&w, 3) == NULL && world_report(&w, 4) == NULL);
	CHECK_EQ(inside()->clients.count, 2);
	for (size_t i = 0; i < 2; i++)
		CHECK(wp_properties_is(rd_kafka_conf(inside()->clients.list[i].rk),
				       "batch.num.messages", "1"));
}

static void what_any_of_them_has_queued_can_be_purged(void **state)
{
	send_to_two_clients();
	world_down(&w);
	send_to("a", 3);
	send_to("b", 4);
	w.sink->ops->purge(w.sink);
	WORLD_UNTIL(&w, world_report(&w, 3) != NULL && world_report(&w, 4) != NULL);
	CHECK_EQ(world_report(&w, 3)->outcome, WP_PURGED);
	CHECK_EQ(world_report(&w, 4)->outcome, WP_PURGED);
	CHECK_EQ(world_view(&w)->in_flight, 0);
}

/* So that each goes with others of its partition, though all partitions have some. */
static void what_librdkafka_need_not_have_yet_is_deferred(void **state)
{
	send_to_two_clients();
	world_down(&w);
	send_to_both(3, 1003);
	CHECK_EQ(wp_producer_sent(inside()), 256);
	CHECK_EQ(world_view(&w)->in_flight, 1000);
	CHECK_EQ(world_view(&w)->queued, 0); /* all are certain to go */
	world_up(&w);
	WORLD_UNTIL(&w, w.report_count == 1002);
	check_in_order();
	CHECK_EQ(world_view(&w)->in_flight, 0);
}

static void with_one_client_nothing_is_deferred(void **state)
{
	send_to("a", 1);
	WORLD_UNTIL(&w, is_confirmed(1));
	world_down(&w);
	for (wp_ticket t = 2; t < 1002; t++)
		send_to("a", t);
	CHECK_EQ(wp_producer_sent(inside()), 1000);
}

static void what_is_deferred_is_purged_or_forgotten_like_the_rest(void **state)
{
	send_to_two_clients();
	world_down(&w);
	send_to_both(3, 1003);
	w.sink->ops->purge(w.sink);
	WORLD_UNTIL(&w, w.report_count == 1002);
	for (size_t i = 2; i < w.report_count; i++)
		CHECK_EQ(w.reports[i].outcome, WP_PURGED);
	CHECK_EQ(world_view(&w)->in_flight, 0);
	send_to_both(1003, 2003);
	w.sink->ops->restart(w.sink, WP_BATCHING_NORMAL);
	CHECK_EQ(world_view(&w)->in_flight, 0);
	world_up(&w);
	send_to_both(3000, 3010);
	WORLD_UNTIL(&w, w.report_count == 1012);
}

/*
 * Only the partition that send_to() sends to: the mock's thread misses some wake-ups (it empties its
 * pipe after it has served its queue), so that each call may take a second.
 */
static void lead(const char *topic, int32_t broker)
{
	int32_t partition = wp_placement_of(inside()->rules.placement, wp_span_of("k"), MANY, 0);

	rd_kafka_mock_partition_set_leader(w.cluster, topic, partition, broker);
}

/* Of a partition without a leader nothing is confirmed, for as long as that lasts. */
static void what_is_deferred_does_not_wait_for_partitions_without_a_leader(void **state)
{
	send_to_two_clients();
	lead("a", -1);
	for (wp_ticket t = 3; t < 403; t++)
		send_to("a", t);
	send_to("b", 1000);
	WORLD_UNTIL(&w, is_confirmed(1000));
	CHECK_EQ(w.report_count, 3);
	lead("a", 1);
	WORLD_UNTIL(&w, w.report_count == 403);
}

static void a_fatal_error_of_any_breaks_the_sink(void **state)
{
	send_to_two_clients();
	(void)rd_kafka_test_fatal_error(inside()->clients.list[1].rk,
					RD_KAFKA_RESP_ERR_OUT_OF_ORDER_SEQUENCE_NUMBER, "by hand");
	WORLD_UNTIL(&w, world_view(&w)->state == WP_SINK_BROKEN);
	CHECK_HAS(world_view(&w)->error.text, "by hand");
	w.sink->ops->restart(w.sink, WP_BATCHING_NORMAL);
	send_to("b", 7);
	WORLD_UNTIL(&w, is_confirmed(7));
}

/* So that what one of them is flooded with does not hold up the others' reports. */
static void the_queues_of_all_of_them_are_read_in_turn(void **state)
{
	struct wp_record record = world_record("a", "", "v");

	send_to_two_clients();
	world_down(&w);
	for (int32_t i = 0; i < MANY; i++) {
		record.partition = i; /* what is purged of each arrives as an event of its own */
		world_send(&w, 10 + (wp_ticket)i, &record);
	}
	send_to("b", 3);
	for (size_t i = 0; i < 2; i++)
		CHECK_EQ(rd_kafka_purge(inside()->clients.list[i].rk,
					RD_KAFKA_PURGE_F_QUEUE | RD_KAFKA_PURGE_F_INFLIGHT),
			 RD_KAFKA_RESP_ERR_NO_ERROR);
	inside()->clients.polled = 0; /* that of "a" */
	struct wp_report reports[8];
	size_t count = w.sink->ops->collect(w.sink, world_clock_ms(), reports, 8);
	CHECK_EQ(count, 8);
	size_t i = 0;
	while (i < count && reports[i].ticket != 3)
		i++;
	CHECK(i < count);
}

int main(void)
{
	return RUN(
		TEST(topics_of_few_partitions_share_a_client), TEST(a_topic_stays_with_its_client),
		TEST(more_brokers_share_the_partitions_so_fewer_clients_do),
		TEST(there_are_never_more_than_eight),
		TEST(when_no_more_can_be_opened_those_that_are_open_take_more),
		TEST(a_restart_closes_all_of_them), TEST(what_any_of_them_has_queued_can_be_purged),
		TEST(what_librdkafka_need_not_have_yet_is_deferred),
		TEST(with_one_client_nothing_is_deferred),
		TEST(what_is_deferred_is_purged_or_forgotten_like_the_rest),
		TEST(what_is_deferred_does_not_wait_for_partitions_without_a_leader),
		TEST(a_fatal_error_of_any_breaks_the_sink),
		TEST(the_queues_of_all_of_them_are_read_in_turn));
}
