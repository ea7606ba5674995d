#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/check.h"
#include "topics.h"

static int dropped;

static void count_drop(void *handle)
{
	dropped++;
}

static struct wp_topics t;

static void topics_of(size_t capacity)
{
	wp_topics_release(&t);
	dropped = 0;
	CHECK_EQ(wp_topics_init(&t, capacity, count_drop), WP_OK);
}

static int set_up(void **state)
{
	topics_of(4);
	return 0;
}

static int tear_down(void **state)
{
	wp_topics_release(&t);
	return 0;
}

static struct wp_topic *get(const char *name)
{
	return wp_topics_get(&t, wp_span_of(name));
}

static void a_new_topic_is_unknown_and_the_same_one_next_time(void **state)
{
	struct wp_topic *orders = get("orders");
	CHECK_TEXT(orders->name, "orders");
	CHECK_EQ(orders->state, WP_TOPIC_UNKNOWN);
	CHECK_EQ(orders->limit, 0);
	orders->limit = 7;
	CHECK(get("bills") != orders);
	CHECK(get("orders") == orders);
	CHECK(wp_topics_find(&t, "orders") == orders);
	CHECK(wp_topics_find(&t, "order") == NULL);
}

static void the_one_unused_for_longest_makes_room(void **state)
{
	topics_of(2);
	(void)get("a");
	get("b")->handle = &t;
	(void)get("a");
	CHECK_EQ(t.count, 2);
	CHECK_EQ(dropped, 0);
	(void)get("c");
	CHECK_EQ(t.count, 2);
	CHECK_EQ(dropped, 1);
	CHECK(wp_topics_find(&t, "b") == NULL);
	CHECK(wp_topics_find(&t, "a") != NULL);
}

static void none_makes_room_that_records_are_queued_for(void **state)
{
	struct wp_record record = { .topic = wp_span_of("a") };

	topics_of(2);
	struct wp_topic *a = get("a");
	struct wp_topic *b = get("b");
	wp_queue_push(&a->queue, wp_queued_new(1, &record));
	(void)get("c");
	CHECK(wp_topics_find(&t, "a") == a);
	CHECK(wp_topics_find(&t, "b") == NULL);
	b = get("b");
	wp_queue_push(&b->queue, wp_queued_new(2, &record));
	/* More than its capacity, for as long as all are waited for. */
	wp_queue_push(&get("d")->queue, wp_queued_new(3, &record));
	CHECK_EQ(t.count, 3);
	wp_queue_clear(&a->queue);
	wp_queue_clear(&b->queue);
	(void)get("e");
	CHECK_EQ(t.count, 2);
	CHECK(wp_topics_find(&t, "d") != NULL);
}

static void one_with_records_in_flight_stays(void **state)
{
	topics_of(2);
	struct wp_topic *a = get("a");
	a->in_flight = 1;
	(void)get("b");
	(void)get("c");
	CHECK(wp_topics_find(&t, "a") == a);
	CHECK(wp_topics_find(&t, "b") == NULL);
	get("c")->in_flight = 1;
	(void)get("d");
	CHECK_EQ(t.count, 3);
	CHECK(wp_topics_find(&t, "c") != NULL);
	wp_topics_drop_handles(&t); /* with the producer goes what it has in flight */
	(void)get("e");
	CHECK(wp_topics_find(&t, "a") == NULL);
}

static void an_offset_that_goes_back_is_data_lost_and_is_told_once(void **state)
{
	struct wp_topic *orders = get("orders");
	int64_t before = 0;

	CHECK_EQ(wp_topics_set_partitions(&t, orders, 1), WP_OK);
	struct wp_topic_partition *p = &orders->partitions[0];
	CHECK(!wp_partition_lost_data(p, 5, 0, &before)); /* new to us, whatever it holds */
	CHECK(!wp_partition_lost_data(p, 6, 1, &before));
	CHECK(!wp_partition_lost_data(p, 9, 700, &before)); /* others write to it, too */
	wp_topics_drop_handles(&t);			    /* a new producer makes no difference */
	CHECK(wp_partition_lost_data(p, 10, 700, &before));
	CHECK_EQ(before, 700);
	CHECK(!wp_partition_lost_data(p, 11, 701, &before));
	CHECK(wp_partition_lost_data(p, 12, 0, &before));
	CHECK_EQ(before, 701);
	CHECK(!wp_partition_lost_data(p, 13, 1, &before));
}

static void what_tells_nothing_is_no_alarm(void **state)
{
	struct wp_topic *orders = get("orders");
	int64_t before = 0;

	CHECK_EQ(wp_topics_set_partitions(&t, orders, 2), WP_OK);
	struct wp_topic_partition *p = &orders->partitions[0];
	CHECK(!wp_partition_lost_data(p, 5, 100, &before));
	CHECK(!wp_partition_lost_data(p, 6, -1001, &before)); /* a duplicate of a retry has none */
	CHECK(!wp_partition_lost_data(p, 4, 99, &before));    /* sent before, reported later */
	CHECK(wp_partition_lost_data(p, 7, 100, &before));    /* and neither was remembered */
	CHECK(!wp_partition_lost_data(&orders->partitions[1], 8, 0, &before));
	CHECK_EQ(wp_topics_set_partitions(&t, orders, 3), WP_OK);
	CHECK(!wp_partition_lost_data(&orders->partitions[2], 9, 0, &before));
	CHECK(wp_partition_lost_data(&orders->partitions[0], 10, 3, &before)); /* none forgotten */
}

static void many_topics_are_all_found(void **state)
{
	char name[32];

	topics_of(4096);
	for (int i = 0; i < 5000; i++) {
		(void)snprintf(name, sizeof(name), "topic-%d", i);
		(void)get(name);
	}
	CHECK_EQ(t.count, 4096);
	for (int i = 0; i < 5000; i++) {
		(void)snprintf(name, sizeof(name), "topic-%d", i);
		CHECK_EQ(wp_topics_find(&t, name) != NULL, i >= 5000 - 4096);
	}
	wp_topics_release(&t);
	CHECK_EQ(t.count, 0);
}

static void partitions_are_counted_over_all_topics(void **state)
{
	topics_of(2);
	CHECK_EQ(t.partition_count, 0);
	CHECK_EQ(wp_topics_set_partitions(&t, get("a"), 3), WP_OK);
	CHECK_EQ(wp_topics_set_partitions(&t, get("b"), 4), WP_OK);
	CHECK_EQ(t.partition_count, 7);
	CHECK_EQ(wp_topics_set_partitions(&t, get("b"), 6), WP_OK);
	CHECK_EQ(t.partition_count, 9);
	CHECK_EQ(wp_topics_set_partitions(&t, get("b"), 1), WP_OK);
	CHECK_EQ(t.partition_count, 4);
	(void)get("c"); /* in place of a */
	CHECK_EQ(t.partition_count, 1);
}

static void a_name_may_be_as_long_as_kafka_allows(void **state)
{
	char name[WP_TOPIC_NAME_MAX + 2];

	topics_of(2);
	memset(name, 'x', sizeof(name));
	name[WP_TOPIC_NAME_MAX + 1] = '\0';
	CHECK(get(name) == NULL);
	name[WP_TOPIC_NAME_MAX] = '\0';
	CHECK_TEXT(get(name)->name, name);
	name[WP_TOPIC_NAME_MAX - 1] = '\0';
	CHECK_TEXT(get(name)->name, name);
}

static void handles_go_and_what_is_known_stays(void **state)
{
	get("a")->handle = &t;
	get("b")->handle = &t;
	get("b")->limit = 64;
	get("b")->recounts = true;
	(void)get("c");
	wp_topics_drop_handles(&t);
	CHECK_EQ(dropped, 2);
	CHECK_EQ(get("b")->limit, 64);
	CHECK(get("b")->handle == NULL && !get("b")->recounts);
	wp_topics_release(&t);
	wp_topics_release(&t);
	CHECK_EQ(dropped, 2);
}

static void partitions_begin_unknown_and_are_forgotten_with_the_handles(void **state)
{
	struct wp_topic *topic = get("a");

	CHECK_EQ(wp_topics_set_partitions(&t, topic, 2), WP_OK);
	CHECK_EQ(topic->partition_count, 2);
	CHECK_EQ(topic->partitions[1].confirmed_at_ms, INT64_MIN);
	topic->partitions[1] = (struct wp_topic_partition){ .pioneer = 7, .confirmed_at_ms = 9 };
	CHECK_EQ(wp_topics_set_partitions(&t, topic, 3), WP_OK);
	CHECK_EQ(topic->partitions[1].confirmed_at_ms, 9);
	CHECK_EQ(topic->partitions[2].confirmed_at_ms, INT64_MIN);
	CHECK_EQ(wp_topics_set_partitions(&t, topic, 1), WP_OK);
	CHECK_EQ(topic->partition_count, 1);
	CHECK_EQ(wp_topics_set_partitions(&t, topic, 2), WP_OK);
	CHECK_EQ(topic->partitions[1].pioneer, 0);
	topic->partitions[0].confirmed_at_ms = 5;
	wp_topics_drop_handles(&t);
	CHECK_EQ(topic->partition_count, 2);
	CHECK_EQ(topic->partitions[0].confirmed_at_ms, INT64_MIN);
}

static struct wp_queued *queued(wp_ticket ticket)
{
	struct wp_record record = { .topic = wp_span_of("a") };
	struct wp_queued *item = wp_queued_new(ticket, &record);

	CHECK(item != NULL);
	return item;
}

static void queued_records_are_counted_and_those_whose_topic_is_not_ready(void **state)
{
	struct wp_topic *a = get("a");
	struct wp_topic *b = get("b");

	wp_topics_push(&t, a, queued(1));
	wp_topics_push(&t, a, queued(2));
	wp_topics_set_state(&t, b, WP_TOPIC_READY);
	wp_topics_push(&t, b, queued(3));
	CHECK_EQ(t.queued_count, 3);
	CHECK_EQ(t.waiting_count, 2);
	wp_topics_set_state(&t, a, WP_TOPIC_READY);
	wp_topics_set_state(&t, a, WP_TOPIC_READY);
	CHECK_EQ(t.waiting_count, 0);
	wp_topics_set_state(&t, a, WP_TOPIC_UNKNOWN);
	CHECK_EQ(t.waiting_count, 2);
	struct wp_queued *first = wp_topics_pop(&t, a);
	CHECK_EQ(first->ticket, 1);
	free(first);
	CHECK_EQ(t.queued_count, 2);
	CHECK_EQ(t.waiting_count, 1);
	wp_topics_clear_queues(&t);
	CHECK_EQ(t.queued_count + t.waiting_count, 0);
	CHECK(wp_topics_pop(&t, a) == NULL);
}

static void each_topic_to_be_retried_is_found_once(void **state)
{
	struct wp_topic *a = get("a");
	struct wp_topic *b = get("b");

	CHECK(wp_topics_next_retried(&t, NULL) == NULL);
	wp_topics_push(&t, a, queued(1));
	wp_topics_retry_all(&t); /* "b" has nothing queued */
	CHECK(wp_topics_next_retried(&t, NULL) == a);
	CHECK(wp_topics_next_retried(&t, a) == NULL);
	wp_topics_retry(&t, a);
	wp_topics_retry(&t, b);
	CHECK(wp_topics_next_retried(&t, NULL) == b);
	wp_topics_retry(&t, b); /* meanwhile: in the next round */
	CHECK(wp_topics_next_retried(&t, b) == a);
	CHECK(wp_topics_next_retried(&t, a) == NULL);
	CHECK(wp_topics_next_retried(&t, NULL) == b);
}

/* Of partition 1. */
static void report_of(wp_ticket ticket, enum wp_outcome outcome, int64_t at_ms)
{
	const struct wp_report report = { .ticket = ticket, .outcome = outcome };
	int64_t before;

	CHECK(!wp_topics_reported(&t, get("a"), 1, &report, (int64_t)ticket, at_ms, &before));
}

static void a_record_that_went_alone_holds_its_partition_until_its_report(void **state)
{
	struct wp_topic *topic = get("a");

	CHECK_EQ(wp_topics_set_partitions(&t, topic, 2), WP_OK);
	wp_topic_sent(topic, 1, 7, true);
	wp_topic_sent(topic, 1, 8, false);
	CHECK(topic->in_flight == 2 && topic->partitions[1].pioneer == 7);
	CHECK_EQ(topic->partitions[0].pioneer, 0);
	report_of(8, WP_PURGED, 5);
	CHECK(topic->in_flight == 1 && topic->partitions[1].pioneer == 7 && !topic->is_retried);
	report_of(7, WP_PURGED, 6);
	CHECK(topic->in_flight == 0 && topic->partitions[1].pioneer == 0 && topic->is_retried);
	CHECK_EQ(topic->partitions[1].confirmed_at_ms, INT64_MIN);
}

static void a_confirmation_warms_its_partition_and_ends_distrust(void **state)
{
	const struct wp_report elsewhere = { .ticket = 3, .outcome = WP_CONFIRMED };
	struct wp_topic *topic = get("a");
	int64_t before;

	CHECK_EQ(wp_topics_set_partitions(&t, topic, 2), WP_OK);
	topic->failures = 2;
	topic->trouble = WP_TOPIC_MISSING;
	for (wp_ticket ticket = 1; ticket <= 3; ticket++)
		wp_topic_sent(topic, 1, ticket, false);
	report_of(1, WP_CONFIRMED, 5);
	CHECK(topic->partitions[1].confirmed_at_ms == 5 && topic->failures == 2);
	topic->trouble = WP_TOPIC_FINE;
	report_of(2, WP_CONFIRMED, 6);
	CHECK(topic->partitions[1].confirmed_at_ms == 6 && topic->failures == 0);
	/* Of a partition that nobody knows. */
	CHECK(!wp_topics_reported(&t, topic, 2, &elsewhere, 9, 7, &before));
	CHECK_EQ(topic->in_flight, 0);
}

int main(void)
{
	return RUN(TEST(a_new_topic_is_unknown_and_the_same_one_next_time),
		   TEST(the_one_unused_for_longest_makes_room),
		   TEST(none_makes_room_that_records_are_queued_for),
		   TEST(one_with_records_in_flight_stays),
		   TEST(queued_records_are_counted_and_those_whose_topic_is_not_ready),
		   TEST(each_topic_to_be_retried_is_found_once),
		   TEST(an_offset_that_goes_back_is_data_lost_and_is_told_once),
		   TEST(what_tells_nothing_is_no_alarm), TEST(many_topics_are_all_found),
		   TEST(partitions_are_counted_over_all_topics),
		   TEST(a_name_may_be_as_long_as_kafka_allows),
		   TEST(handles_go_and_what_is_known_stays),
		   TEST(a_record_that_went_alone_holds_its_partition_until_its_report),
		   TEST(a_confirmation_warms_its_partition_and_ends_distrust),
		   TEST(partitions_begin_unknown_and_are_forgotten_with_the_handles));
}
