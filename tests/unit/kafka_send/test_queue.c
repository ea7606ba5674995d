#include <stdlib.h>
#include <string.h>

#include "support/check.h"
#include "topics.h"

static void a_record_is_copied_whole_and_outlives_the_original(void **state)
{
	char topic[] = "orders", value[] = "the value", name[] = "h", table[] = "public.outbox";
	char id[] = "7";

	struct wp_header headers[] = {
		{ wp_span_of(name), wp_span_of(value) },
		{ wp_span_of("none"), { NULL, 0 } },
		{ wp_span_of("empty"), wp_span_of("") },
	};
	struct wp_record record = {
		.topic = wp_span_of(topic),
		.value = wp_span_of(value),
		.headers = headers,
		.header_count = 3,
		.timestamp_ms = 5,
		.partition = 2,
		.position = { .commit_lsn = 9, .ordinal = 1 },
		.columns = headers,
		.column_count = 1,
		.table = table,
		.id = wp_span_of(id),
		.is_message = true,
	};
	struct wp_queued *item = wp_queued_new(11, &record);
	assert_non_null(item);
	memset(topic, 'x', sizeof(topic) - 1);
	memset(value, 'x', sizeof(value) - 1);
	memset(name, 'x', sizeof(name) - 1);
	memset(table, 'x', sizeof(table) - 1);
	memset(id, 'x', sizeof(id) - 1);
	memset(headers, 0, sizeof(headers));

	const struct wp_record *r = &item->record;
	CHECK_EQ(item->ticket, 11);
	CHECK_SPAN(r->topic, "orders");
	CHECK(wp_span_is_null(r->key)); /* null, not empty */
	CHECK_SPAN(r->value, "the value");
	CHECK_EQ(r->header_count, 3);
	CHECK_SPAN(r->headers[0].name, "h");
	CHECK_TEXT((const char *)r->headers[0].name.data, "h");
	CHECK_SPAN(r->headers[0].value, "the value");
	CHECK(wp_span_is_null(r->headers[1].value));
	CHECK(!wp_span_is_null(r->headers[2].value));
	CHECK_EQ(r->headers[2].value.size, 0);
	CHECK_EQ(r->timestamp_ms, 5);
	CHECK_EQ(r->partition, 2);
	CHECK_EQ(r->position.commit_lsn, 9);
	CHECK_EQ(r->position.ordinal, 1);
	CHECK_TEXT(r->table, "public.outbox");
	CHECK_SPAN(r->id, "7");
	CHECK(r->is_message);
	CHECK(r->columns == NULL);
	CHECK_EQ(r->column_count, 0);
	free(item);
}

static void what_came_first_goes_first(void **state)
{
	struct wp_queue q = { 0 };
	struct wp_record record = { .topic = wp_span_of("t") };

	CHECK(wp_queue_pop(&q) == NULL);
	for (wp_ticket ticket = 1; ticket <= 3; ticket++)
		wp_queue_push(&q, wp_queued_new(ticket, &record));
	struct wp_queued *first = wp_queue_pop(&q);
	CHECK_EQ(first->ticket, 1);
	CHECK_EQ(q.count, 2);
	wp_queue_push(&q, first);
	CHECK_EQ(q.first->ticket, 2);
	CHECK_EQ(q.last->ticket, 1);
	wp_queue_clear(&q);
	CHECK(q.first == NULL);
	CHECK_EQ(q.count, 0);
	wp_queue_push(&q, wp_queued_new(4, &record));
	CHECK_EQ(q.last->ticket, 4);
	wp_queue_clear(&q);
}

int main(void)
{
	return RUN(PLAIN(a_record_is_copied_whole_and_outlives_the_original),
		   PLAIN(what_came_first_goes_first));
}
