/*
 * Records that are taken before they can go: their topic is asked for, or the first record of their
 * partition is on its way.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "state.h"
#include "support/check.h"
#include "world.h"

enum { API_PRODUCE = 0 };

static struct world w;
static struct wp_error error;

static int set_up(void **state)
{
	world_init(&w, 1);
	world_topic(&w, "known", 1);
	world_topic(&w, "new", 4);
	error.text[0] = '\0';
	return 0;
}

static int tear_down(void **state)
{
	world_release(&w);
	return 0;
}

static struct wp_producer *inside(void)
{
	return (struct wp_producer *)w.sink;
}

/* Nobody knows yet: neither there nor missing. */
static void keep_in_the_dark(const char *name)
{
	world_topic_says(&w, name, RD_KAFKA_RESP_ERR_KAFKA_STORAGE_ERROR);
}

static void heal(const char *name)
{
	world_topic_says(&w, name, RD_KAFKA_RESP_ERR_NO_ERROR);
}

static enum wp_rc offer(wp_ticket ticket, const char *topic, const char *key)
{
	char id[24];

	(void)snprintf(id, sizeof(id), "id-%u", (unsigned)ticket);
	struct wp_record record = world_record(topic, key, "a value");
	record.id = wp_span_of(id);
	record.position = (struct wp_position){ .timeline = 1, .commit_lsn = 1000 + ticket };
	return world_offer(&w, ticket, &record, &error);
}

static void take(wp_ticket ticket, const char *topic, const char *key)
{
	CHECK_EQ(offer(ticket, topic, key), WP_OK);
}

/* One after the other they would be as many questions. */
static void new_topics_are_asked_for_together_and_hold_up_none(void **state)
{
	enum { TOPICS = 300 };
	char name[32];

	/* The mock creates each at the first question; to create 300 in advance may take minutes. */
	world_property(&w, "allow.auto.create.topics", "true");
	world_open_for(&w, "known");
	uint64_t before = inside()->inquiry.serial;
	for (wp_ticket ticket = 1; ticket <= TOPICS; ticket++) {
		(void)snprintf(name, sizeof(name), "new-%u", (unsigned)ticket - 1);
		take(ticket, name, "k");
	}
	take(TOPICS + 1, "known", "k");
	WORLD_UNTIL(&w, w.report_count > 0);
	CHECK_EQ(w.reports[0].ticket, TOPICS + 1);
	WORLD_UNTIL(&w, w.report_count == TOPICS + 1);
	CHECK_EQ(world_count(&w, WP_CONFIRMED), TOPICS + 1);
	CHECK(inside()->inquiry.serial - before <= 2); /* of 256 at most */
	CHECK_EQ(world_view(&w)->in_flight, 0);
	CHECK_EQ(world_view(&w)->queued, 0);
}

static void events_of_a_known_topic_are_confirmed_while_another_is_not_known_yet(void **state)
{
	keep_in_the_dark("new");
	world_open_for(&w, "known");
	take(1, "new", "k");
	for (wp_ticket ticket = 2; ticket <= 20; ticket++)
		take(ticket, "known", "k");
	WORLD_UNTIL(&w, w.report_count == 19);
	CHECK_EQ(world_view(&w)->state, WP_SINK_READY);
	CHECK_EQ(world_view(&w)->in_flight, 1);
	CHECK_EQ(world_view(&w)->queued, 1);
	heal("new");
	WORLD_UNTIL(&w, w.report_count == 20);
	CHECK_EQ(w.reports[19].ticket, 1);
	CHECK_EQ(world_count(&w, WP_CONFIRMED), 20);
}

static void each_key_keeps_its_order_through_the_queue(void **state)
{
	wp_ticket last[8] = { 0 };
	char key[8];

	keep_in_the_dark("new");
	world_open_for(&w, "known");
	for (wp_ticket ticket = 1; ticket <= 400; ticket++) {
		(void)snprintf(key, sizeof(key), "k%u", (unsigned)ticket % 8);
		take(ticket, "new", key);
		if (ticket == 200)
			heal("new");
		if (ticket % 7 == 0)
			world_turn(&w);
	}
	WORLD_UNTIL(&w, w.report_count == 400);
	CHECK_EQ(world_count(&w, WP_CONFIRMED), 400);
	for (size_t i = 0; i < w.report_count; i++) {
		wp_ticket ticket = w.reports[i].ticket;
		CHECK(ticket > last[ticket % 8]);
		last[ticket % 8] = ticket;
	}
}

/* As today: a human must act, and what is taken until then comes twice if it takes too long. */
static void a_missing_topic_stops_all_and_the_event_that_waits_is_named(void **state)
{
	world_topic_says(&w, "new", RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART);
	world_open_for(&w, "known");
	take(1, "new", "k");
	take(2, "new", "k");
	CHECK_EQ(world_view(&w)->state, WP_SINK_READY);
	WORLD_UNTIL(&w, world_view(&w)->state == WP_SINK_WAITING);
	CHECK_TEXT(world_view(&w)->topic, "new");
	CHECK_SPAN(world_view(&w)->waiting->id, "id-1");
	CHECK_TEXT(world_view(&w)->waiting->table, "public.outbox");
	CHECK_EQ(world_view(&w)->waiting->position.commit_lsn, 1001);
	CHECK_EQ(offer(3, "new", "k"), WP_AGAIN);
	CHECK_EQ(offer(3, "known", "k"), WP_AGAIN);
	CHECK_EQ(world_view(&w)->queued, 2);
	heal("new");
	WORLD_UNTIL(&w, w.report_count == 2);
	CHECK_EQ(world_count(&w, WP_CONFIRMED), 2);
	CHECK_EQ(world_view(&w)->state, WP_SINK_READY);
	CHECK(world_view(&w)->waiting == NULL);
	take(3, "known", "k");
	WORLD_UNTIL(&w, w.report_count == 3);
}

static void of_two_missing_topics_that_of_the_first_event_is_named(void **state)
{
	world_topic_says(&w, "one", RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART);
	world_topic_says(&w, "two", RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART);
	world_open(&w);
	take(1, "one", "k");
	take(2, "two", "k");
	take(3, "one", "k");
	WORLD_UNTIL(&w, world_view(&w)->state == WP_SINK_WAITING);
	CHECK_TEXT(world_view(&w)->topic, "one");
	heal("one");
	WORLD_UNTIL(&w, strcmp(world_view(&w)->topic, "two") == 0);
	CHECK_SPAN(world_view(&w)->waiting->id, "id-2");
	WORLD_UNTIL(&w, w.report_count == 2);
	heal("two");
	WORLD_UNTIL(&w, w.report_count == 3);
}

static void a_purge_gives_back_each_queued_record_once(void **state)
{
	world_topic_says(&w, "new", RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART);
	world_open_for(&w, "known");
	for (wp_ticket ticket = 1; ticket <= 50; ticket++)
		take(ticket, "new", "k");
	WORLD_UNTIL(&w, world_view(&w)->state == WP_SINK_WAITING);
	w.sink->ops->purge(w.sink);
	w.sink->ops->purge(w.sink);
	CHECK_EQ(world_view(&w)->queued, 0);
	CHECK_EQ(world_view(&w)->in_flight, 50);
	CHECK(world_view(&w)->waiting == NULL);
	CHECK(w.sink->ops->due(w.sink) <= world_clock_ms());
	WORLD_UNTIL(&w, w.report_count == 50);
	for (size_t i = 0; i < 50; i++) {
		CHECK_EQ(w.reports[i].ticket, i + 1);
		CHECK_EQ(w.reports[i].outcome, WP_PURGED);
	}
	CHECK_EQ(world_view(&w)->in_flight, 0);
	/* Nothing waits for that topic any more. */
	CHECK_EQ(world_view(&w)->state, WP_SINK_READY);
	take(51, "known", "k");
	WORLD_UNTIL(&w, w.report_count == 51);
}

/*
 * The one in front is with librdkafka, which tells a moment later that it took that back; perhaps
 * the one behind, too, for each of its threads does so when it comes to it.
 */
static void what_is_taken_behind_one_that_is_being_taken_back_does_not_stay(void **state)
{
	world_open_for(&w, "known");
	wp_topics_find(&inside()->admission.topics, "known")->partitions[0].confirmed_at_ms =
		INT64_MIN;
	world_down(&w);
	take(1, "known", "k");
	CHECK_EQ(world_view(&w)->queued, 0);
	w.sink->ops->purge(w.sink);
	take(2, "known", "k");
	CHECK_EQ(wp_topics_find(&inside()->admission.topics, "known")->queue.count, 1);
	WORLD_UNTIL(&w, w.report_count == 1);
	CHECK_EQ(w.reports[0].ticket, 1);
	CHECK_EQ(w.reports[0].outcome, WP_PURGED);
	world_up(&w);
	WORLD_UNTIL(&w, w.report_count == 2);
	CHECK_EQ(w.reports[1].ticket, 2);
	CHECK(w.reports[1].outcome != WP_REFUSED);
}

static void after_a_restart_nothing_of_the_queue_is_left(void **state)
{
	world_topic_says(&w, "new", RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART);
	world_open_for(&w, "known");
	for (wp_ticket ticket = 1; ticket <= 50; ticket++)
		take(ticket, "new", "k");
	w.sink->ops->purge(w.sink);
	w.sink->ops->restart(w.sink, WP_BATCHING_NORMAL);
	CHECK_EQ(world_view(&w)->in_flight, 0);
	heal("new");
	WORLD_UNTIL(&w, world_view(&w)->state == WP_SINK_READY);
	take(51, "new", "k");
	WORLD_UNTIL(&w, w.report_count > 0);
	CHECK_EQ(w.report_count, 1);
	CHECK_EQ(w.reports[0].ticket, 51);
}

static void one_by_one_nothing_is_queued(void **state)
{
	world_open(&w);
	w.sink->ops->restart(w.sink, WP_BATCHING_ONE_BY_ONE);
	WORLD_UNTIL(&w, world_view(&w)->state == WP_SINK_READY);
	CHECK_EQ(offer(1, "new", "k"), WP_AGAIN);
	CHECK_EQ(world_view(&w)->in_flight, 0);
	struct wp_record record = world_record("new", "k", "v");
	world_send(&w, 1, &record);
	CHECK_EQ(offer(2, "new", "k"), WP_AGAIN); /* the first of its partition goes alone */
	WORLD_UNTIL(&w, w.report_count == 1);
}

/* The relay is answered when it comes again, alone. */
static void what_is_found_undeliverable_in_the_queue_is_refused_and_nothing_passes_it(void **state)
{
	struct wp_record record = world_record("known", "k", "v");

	record.partition = 1;
	world_open(&w);
	CHECK_EQ(world_offer(&w, 1, &record, &error), WP_OK);
	record.partition = 0;
	CHECK_EQ(world_offer(&w, 2, &record, &error), WP_OK);
	WORLD_UNTIL(&w, w.report_count == 1);
	CHECK_EQ(w.reports[0].ticket, 1);
	CHECK_EQ(w.reports[0].outcome, WP_REFUSED);
	CHECK_EQ(w.reports[0].reaction, WP_REACT_ISOLATE);
	CHECK(w.reports[0].event_level);
	CHECK_EQ(world_offer(&w, 3, &record, &error), WP_AGAIN);
	for (int i = 0; i < 5; i++)
		world_turn(&w);
	CHECK_EQ(w.report_count, 1);
	CHECK_EQ(inside()->admission.topics.queued_count, 1);

	w.sink->ops->restart(w.sink, WP_BATCHING_ONE_BY_ONE);
	record.partition = 1;
	enum wp_rc rc = WP_AGAIN;
	WORLD_UNTIL(&w, (rc = world_offer(&w, 1, &record, &error)) != WP_AGAIN);
	CHECK_EQ(rc, WP_DATA);
	CHECK_HAS(error.text, "has partition 1, but topic known has only 1");
}

/* Else its partitions were counted again and again, for as long as Kafka does not take the first. */
static void what_waits_behind_a_first_does_not_count_the_partitions_for_ever(void **state)
{
	struct wp_record record = world_record("known", "k", "v");

	world_open(&w);
	for (int i = 0; i < 200; i++) /* for some seconds */
		rd_kafka_mock_push_request_errors(w.cluster, API_PRODUCE, 1,
						  RD_KAFKA_RESP_ERR_NOT_ENOUGH_REPLICAS);
	record.partition = 0;
	CHECK_EQ(world_offer(&w, 1, &record, &error), WP_OK);
	CHECK_EQ(world_offer(&w, 2, &record, &error), WP_OK);
	record.partition = 1;
	CHECK_EQ(world_offer(&w, 3, &record, &error), WP_OK);
	WORLD_UNTIL(&w, w.report_count > 0);
	CHECK_EQ(w.reports[0].ticket, 3);
	CHECK_EQ(w.reports[0].outcome, WP_REFUSED);
	CHECK(inside()->inquiry.serial <= 4);
}

static void behind_a_first_that_is_refused_nothing_in_the_queue_goes(void **state)
{
	world_open_for(&w, "known");
	w.sink->ops->restart(w.sink, WP_BATCHING_NORMAL);
	WORLD_UNTIL(&w, world_view(&w)->state == WP_SINK_READY);
	rd_kafka_mock_push_request_errors(w.cluster, API_PRODUCE, 1,
					  RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE);
	for (wp_ticket ticket = 1; ticket <= 10; ticket++)
		take(ticket, "known", "k");
	WORLD_UNTIL(&w, w.report_count == 1);
	CHECK_EQ(w.reports[0].outcome, WP_REFUSED);
	WORLD_UNTIL(&w, world_view(&w)->state == WP_SINK_BROKEN);
	CHECK_EQ(w.report_count, 1);
	CHECK_EQ(world_view(&w)->queued, 9);
}

/* A batch of the old one could be refused. */
static void a_new_client_for_smaller_batches_sends_what_waited(void **state)
{
	keep_in_the_dark("new");
	world_open_for(&w, "known");
	for (wp_ticket ticket = 1; ticket <= 10; ticket++)
		take(ticket, "new", "k");
	struct wp_topic *topic = wp_topics_find(&inside()->admission.topics, "new");
	WORLD_UNTIL(&w, inside()->inquiry.stage == WP_INQUIRY_IDLE);
	struct wp_asked_topic asked = { .limit = 65536,
					.limit_name = "max.message.bytes",
					.partition_count = 4 };
	(void)snprintf(asked.name, sizeof(asked.name), "new");
	struct wp_answer a = {
		.about = WP_INQUIRY_TOPICS, .heard = true, .topics = &asked, .topic_count = 1
	};
	wp_producer_take_answer(inside(), &a);
	CHECK_EQ(topic->state, WP_TOPIC_READY);
	CHECK(inside()->clients.reopens);
	heal("new");
	WORLD_UNTIL(&w, w.report_count == 10);
	CHECK_EQ(world_count(&w, WP_CONFIRMED), 10);
	CHECK_EQ(wp_properties_number(rd_kafka_conf(inside()->clients.list[0].rk), "batch.size"),
		 65536 - 64);
}

static void a_sink_may_be_freed_with_records_queued_and_given_back(void **state)
{
	world_topic_says(&w, "new", RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART);
	world_open(&w);
	take(1, "new", "k");
	w.sink->ops->purge(w.sink);
	take(2, "new", "k");
}

/* ---- whatever comes ---- */

enum { NAMES = 5, KEYS = 6, TICKETS = 3000 };

enum fate { NOT_SENT, IN_FLIGHT, REPORTED, FORGOTTEN };

struct course {
	uint64_t random;
	enum fate fates[TICKETS + 1];
	uint8_t stream_of[TICKETS + 1]; /* topic and key */
	wp_ticket confirmed[NAMES * KEYS];
	bool refused[NAMES * KEYS]; /* since the last restart */
	bool is_any_refused;
	wp_ticket next;
	size_t read; /* of the world's reports */
	size_t in_flight;
};

static uint64_t any(struct course *c, uint64_t below)
{
	c->random = c->random * 6364136223846793005u + 1442695040888963407u;
	return (c->random >> 33) % below;
}

static void note_reports(struct course *c)
{
	for (; c->read < w.report_count; c->read++) {
		const struct wp_report *r = &w.reports[c->read];
		CHECK_EQ(c->fates[r->ticket], IN_FLIGHT);
		c->fates[r->ticket] = REPORTED;
		c->in_flight--;
		const uint8_t stream = c->stream_of[r->ticket];
		if (r->outcome == WP_REFUSED)
			c->refused[stream] = c->is_any_refused = true;
		if (r->outcome != WP_CONFIRMED)
			continue;
		CHECK(r->ticket > c->confirmed[stream]);
		CHECK(!c->refused[stream]); /* the relay sends that one again first */
		c->confirmed[stream] = r->ticket;
	}
	w.report_count = c->read = 0;
	CHECK_EQ(world_view(&w)->in_flight, c->in_flight);
	CHECK(world_view(&w)->queued <= c->in_flight);
}

static void turn(struct course *c)
{
	world_pump(&w, 2);
	world_collect(&w);
	note_reports(c);
}

static void send_some(struct course *c)
{
	static const char *const names[NAMES] = { "a", "b", "c", "d", "e" };
	static const char *const keys[KEYS] = { "1", "2", "3", "4", "5", "6" };

	for (uint64_t count = any(c, 40); count > 0 && c->next <= TICKETS; count--) {
		uint64_t name = any(c, NAMES), key = any(c, KEYS);
		if (offer(c->next, names[name], keys[key]) != WP_OK)
			return;
		c->stream_of[c->next] = (uint8_t)(name * KEYS + key);
		c->fates[c->next++] = IN_FLIGHT;
		c->in_flight++;
	}
}

static void restart(struct course *c)
{
	w.sink->ops->restart(w.sink, WP_BATCHING_NORMAL);
	for (wp_ticket t = 1; t < c->next; t++)
		c->fates[t] = c->fates[t] == IN_FLIGHT ? FORGOTTEN : c->fates[t];
	c->in_flight = 0;
	c->is_any_refused = false;
	memset(c->refused, 0, sizeof(c->refused));
	CHECK_EQ(world_view(&w)->in_flight, 0);
}

static void restart_if_asked_for(struct course *c)
{
	if (c->is_any_refused || world_view(&w)->state == WP_SINK_BROKEN)
		restart(c);
}

static void happen(struct course *c)
{
	static const rd_kafka_resp_err_t says[] = {
		RD_KAFKA_RESP_ERR_KAFKA_STORAGE_ERROR,
		RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART,
	};
	const char name[] = { (char)('a' + any(c, NAMES)), '\0' };
	struct wp_topic *topic = wp_topics_find(&inside()->admission.topics, name);

	switch (any(c, 12)) {
	case 0:
		world_topic_says(&w, name, says[any(c, 2)]);
		break;
	case 1: /* what was known is doubtful */
		(void)wp_admission_doubt_limit(&inside()->admission, name);
		break;
	case 2: /* a partition not used for long is new again */
		if (topic != NULL && topic->partition_count > 0)
			topic->partitions[any(c, 2)].confirmed_at_ms = INT64_MIN;
		break;
	case 3:
		w.sink->ops->purge(w.sink);
		break;
	case 4:
		if (any(c, 4) == 0)
			restart(c);
		break;
	default:
		heal(name);
		break;
	}
}

static void heal_all(void)
{
	for (char name[] = "a"; name[0] < 'a' + NAMES; name[0]++)
		heal(name);
}

/* One report each, and each key's in order, whatever is answered, taken back and begun anew. */
static void each_record_taken_has_one_report_and_keeps_its_order(void **state)
{
	static struct course c;

	for (uint64_t seed = 1; seed <= 3; seed++) {
		c = (struct course){ .random = seed, .next = 1 };
		heal_all();
		world_open(&w);
		while (c.next <= TICKETS) {
			send_some(&c);
			happen(&c);
			turn(&c);
			restart_if_asked_for(&c);
			if (world_view(&w)->state == WP_SINK_WAITING && any(&c, 10) == 0)
				heal_all();
		}
		heal_all();
		for (int64_t since = world_clock_ms(); c.in_flight > 0;) {
			WORLD_GOES_ON(since);
			turn(&c);
			restart_if_asked_for(&c);
		}
		world_close(&w);
	}
}

static int five_topics(void **state)
{
	world_init(&w, 1);
	for (char name[] = "a"; name[0] < 'a' + NAMES; name[0]++)
		world_topic(&w, name, 2);
	return 0;
}

int main(void)
{
	if (runs_alone())
		return RUN(TEST(what_waits_behind_a_first_does_not_count_the_partitions_for_ever));
	return RUN(TEST(new_topics_are_asked_for_together_and_hold_up_none),
		   TEST(events_of_a_known_topic_are_confirmed_while_another_is_not_known_yet),
		   TEST(each_key_keeps_its_order_through_the_queue),
		   TEST(a_missing_topic_stops_all_and_the_event_that_waits_is_named),
		   TEST(of_two_missing_topics_that_of_the_first_event_is_named),
		   TEST(a_purge_gives_back_each_queued_record_once),
		   TEST(what_is_taken_behind_one_that_is_being_taken_back_does_not_stay),
		   TEST(after_a_restart_nothing_of_the_queue_is_left),
		   TEST(one_by_one_nothing_is_queued),
		   TEST(what_is_found_undeliverable_in_the_queue_is_refused_and_nothing_passes_it),
		   TEST(behind_a_first_that_is_refused_nothing_in_the_queue_goes),
		   TEST(a_new_client_for_smaller_batches_sends_what_waited),
		   TEST(a_sink_may_be_freed_with_records_queued_and_given_back),
		   cmocka_unit_test_setup_teardown(
			   each_record_taken_has_one_report_and_keeps_its_order, five_topics,
			   tear_down));
}
