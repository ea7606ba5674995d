/*
 * The pure core on its own, for counting its instructions: a relay between a source that has
 * its frames at hand and a sink that confirms at the next turn.
 *
 *   core TRANSACTIONS EVENTS_OF_EACH rows|messages
 *
 * Ends with 0 when all was confirmed. tests/bench/instructions runs it under callgrind.
 */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/wire_writer.h"
#include "support/rows.h"
#include "walpost/relay/relay.h"

#define OUTBOX 16400
#define IN_FLIGHT_MAX 8192
#define FIRST_LSN 1000
#define TRANSACTION_SIZE 1000 /* of the log */

/* As tests/bench/stack.py writes it. */
#define PAYLOAD                                                                                    \
	"{\"n\": 123456, \"t\": 1795333595544.123, \"lines\": [{\"qty\": 2, \"sku\": \"A-1009\","  \
	" \"price\": 19.95}, {\"qty\": 1, \"sku\": \"B-2210\", \"price\": 5.5}], \"note\": "       \
	"\"leave at the door\", \"orderId\": \"order-1234\", \"currency\": \"EUR\", \"customer\":" \
	" {\"id\": 48213, \"name\": \"Ada Lovelace\", \"tier\": \"gold\"}}"

/* As walpost.emit() (sql/outbox_emit.sql) writes it: jsonb's text, so shortest names come first. */
#define CONTENT                                                                          \
	"{\"id\": \"b8d3a2c6-5b0f-4d6e-9a53-7f0e2b1c4d5e\", \"type\": \"OrderCreated\"," \
	" \"headers\": null, \"payload\": " PAYLOAD ", \"aggregateid\": \"order-1234\"," \
	" \"aggregatetype\": \"order\"}"
#define PREFIX "outbox"

struct frame {
	uint8_t bytes[1024];
	size_t size;
};

struct canned_source {
	struct wp_source base;
	struct wp_source_view view;
	uint64_t transactions; /* that are still to come */
	uint64_t rows;	       /* of each */
	uint64_t row;	       /* of the current one; 0: its Begin comes next */
	bool told_relation;
	wp_lsn lsn; /* of the current one's commit */
	struct frame relation, begin, event, commit;
};

static struct canned_source *source_of(struct wp_source *s)
{
	return (struct canned_source *)s;
}

static void source_connect(struct wp_source *s)
{
	source_of(s)->view.state = WP_SOURCE_READY;
}

static void source_start(struct wp_source *s, wp_lsn at, enum wp_transfer transfer,
			 enum wp_slot_checkpoint slot_checkpoint)
{
	(void)at, (void)transfer, (void)slot_checkpoint;
	source_of(s)->view.state = WP_SOURCE_STREAMING;
}

static void patch(uint8_t *at, uint64_t value)
{
	for (int i = 7; i >= 0; i--, value >>= 8)
		at[i] = (uint8_t)value;
}

/* Where the LSNs stand in a frame: behind 'w' and three Int64 comes the message. */
enum { BODY_AT = 25, BEGIN_LSN_AT = BODY_AT + 1, COMMIT_LSN_AT = BODY_AT + 2 };

static enum wp_rc give(const struct frame *f, struct wp_span *ret)
{
	*ret = (struct wp_span){ f->bytes, f->size };
	return WP_OK;
}

static enum wp_rc source_next(struct wp_source *base, struct wp_span *ret)
{
	struct canned_source *s = source_of(base);

	if (s->transactions == 0)
		return WP_AGAIN;
	if (s->row == 0) {
		s->row = 1;
		patch(s->begin.bytes + BEGIN_LSN_AT, s->lsn);
		return give(&s->begin, ret);
	}
	if (!s->told_relation) {
		s->told_relation = true;
		return give(&s->relation, ret);
	}
	if (s->row <= s->rows) {
		s->row++;
		return give(&s->event, ret);
	}
	patch(s->commit.bytes + COMMIT_LSN_AT, s->lsn);
	patch(s->commit.bytes + COMMIT_LSN_AT + 8, s->lsn + 8);
	s->lsn += TRANSACTION_SIZE;
	s->row = 0;
	s->transactions--;
	return give(&s->commit, ret);
}

static void source_reading(struct wp_source *s, enum wp_reading reading)
{
	(void)s, (void)reading;
}

static enum wp_rc source_status(struct wp_source *s, const struct wp_status *status)
{
	(void)s, (void)status;
	return WP_OK;
}

static void source_end(struct wp_source *s, const char *topics)
{
	source_of(s)->view.state = WP_SOURCE_FINISHED;
}

static void source_close(struct wp_source *s)
{
	source_of(s)->view.state = WP_SOURCE_CLOSED;
}

static void source_ask(struct wp_source *s)
{
}

static void source_write_down(struct wp_source *s, wp_lsn confirmed, const char *topics)
{
	(void)s, (void)confirmed, (void)topics;
}

static void source_trouble(struct wp_source *s, const char *what, int64_t for_ms)
{
	(void)s, (void)what, (void)for_ms;
}

static const struct wp_source_view *source_view(struct wp_source *s)
{
	return &source_of(s)->view;
}

static const struct wp_source_ops source_ops = {
	.connect = source_connect,
	.refresh = source_connect,
	.start = source_start,
	.next = source_next,
	.reading = source_reading,
	.status = source_status,
	.finish = source_end,
	.part = source_end,
	.close = source_close,
	.probe = source_ask,
	.watch = source_ask,
	.write_down = source_write_down,
	.trouble = source_trouble,
	.view = source_view,
};

static struct wire_writer writer_of(struct frame *f)
{
	struct wire_writer w;

	wire_init(&w, f->bytes, sizeof(f->bytes));
	wire_data(&w, 0);
	return w;
}

static void source_init(struct canned_source *s, uint64_t transactions, uint64_t rows,
			bool messages)
{
	static const char *const row[] = { "b8d3a2c6-5b0f-4d6e-9a53-7f0e2b1c4d5e", "order",
					   "order-1234", "OrderCreated", PAYLOAD };
	*s = (struct canned_source){ .base.ops = &source_ops,
				     .transactions = transactions,
				     .rows = rows,
				     .lsn = FIRST_LSN };
	s->view.facts.slot_confirmed = FIRST_LSN - 1;
	s->view.facts.timelines.current = 1;
	(void)snprintf(s->view.facts.encoding, sizeof(s->view.facts.encoding), "UTF8");
	struct wire_writer w = writer_of(&s->relation);
	wire_relation(&w, OUTBOX, "public", "outbox", wire_outbox_columns, 5);
	s->relation.size = w.size;
	w = writer_of(&s->begin);
	wire_begin(&w, FIRST_LSN, 1000000);
	s->begin.size = w.size;
	w = writer_of(&s->event);
	if (messages)
		wire_message(&w, true, FIRST_LSN, PREFIX, CONTENT);
	else
		wire_insert(&w, OUTBOX, row, 5);
	s->event.size = w.size;
	w = writer_of(&s->commit);
	wire_commit(&w, FIRST_LSN, FIRST_LSN + 8, 1000000);
	s->commit.size = w.size;
}

/* ---- a sink that confirms at the next turn ---- */

struct quick_sink {
	struct wp_sink base;
	struct wp_sink_view view;
	wp_ticket first, next;
};

static struct quick_sink *sink_of(struct wp_sink *s)
{
	return (struct quick_sink *)s;
}

static enum wp_rc sink_send(struct wp_sink *base, wp_ticket ticket, const struct wp_record *record,
			    struct wp_error *error)
{
	struct quick_sink *s = sink_of(base);

	(void)record, (void)error;
	if (s->view.in_flight++ == 0)
		s->first = ticket;
	s->next = ticket + 1;
	return WP_OK;
}

static size_t sink_collect(struct wp_sink *base, int64_t now_ms, struct wp_report *reports,
			   size_t max)
{
	struct quick_sink *s = sink_of(base);
	size_t count = 0;

	for (; count < max && s->view.in_flight > 0; s->view.in_flight--)
		reports[count++] =
			(struct wp_report){ .ticket = s->first++, .outcome = WP_CONFIRMED };
	return count;
}

static void sink_purge(struct wp_sink *s)
{
}

static void sink_restart(struct wp_sink *s, enum wp_batching batching)
{
	(void)s, (void)batching;
}

static void sink_topics(struct wp_sink *s, struct wp_topic_list *into)
{
	(void)s, (void)into;
}

static void sink_ask_topic_ends(struct wp_sink *base, const struct wp_topic_ends_question *question)
{
	sink_of(base)->view.topic_ends.state = WP_TOPIC_ENDS_KNOWN;
}

static const struct wp_sink_view *sink_view(struct wp_sink *s)
{
	return &sink_of(s)->view;
}

static int64_t sink_due(struct wp_sink *s)
{
	return INT64_MAX;
}

static const struct wp_sink_ops sink_ops = {
	.send = sink_send,
	.collect = sink_collect,
	.purge = sink_purge,
	.restart = sink_restart,
	.topics = sink_topics,
	.ask_topic_ends = sink_ask_topic_ends,
	.view = sink_view,
	.due = sink_due,
};

int main(int argc, char **argv)
{
	bool messages = argc == 4 && strcmp(argv[3], "messages") == 0;
	if (argc != 4 || (!messages && strcmp(argv[3], "rows") != 0)) {
		fprintf(stderr, "usage: core TRANSACTIONS EVENTS_OF_EACH rows|messages\n");
		return 2;
	}
	uint64_t transactions = strtoull(argv[1], NULL, 10);
	uint64_t rows = strtoull(argv[2], NULL, 10);
	struct canned_source *source = malloc(sizeof(*source));
	struct quick_sink sink = { .base.ops = &sink_ops,
				   .view = { .state = WP_SINK_READY, .reachable = true } };
	struct wp_outbox_options outbox = default_options();
	if (messages)
		outbox.message_prefix = PREFIX;
	struct wp_outboxes outboxes = only(&outbox, "");
	struct wp_relay_options options = { .in_flight_events = IN_FLIGHT_MAX,
					    .in_flight_bytes = 32 << 20,
					    .feedback_interval_ms = 100,
					    .shutdown_timeout_ms = 1000,
					    .rewinds_max = 3 };
	struct wp_relay *relay = NULL;
	struct wp_error error = { .text = "" };
	assert(source != NULL);
	source_init(source, transactions, rows, messages);
	struct wp_relay_setup setup = { .source = &source->base,
					.sink = &sink.base,
					.options = &options,
					.task = { .outboxes = &outboxes },
					.slot = "bench",
					.owner = "bench",
					.seed = 1 };
	if (wp_relay_new(&setup, &relay, &error) != WP_OK) {
		fprintf(stderr, "core: %s\n", error.text);
		return 1;
	}
	struct wp_now now = { .ms = 1000000 };
	struct wp_relay_snapshot s;
	do { /* two thousand frames a turn, a millisecond each */
		now.ms++;
		(void)wp_relay_step(relay, now);
		wp_relay_take_snapshot(relay, &s);
	} while (s.confirmed < transactions * rows && now.ms < INT64_C(100000000));
	wp_relay_free(relay);
	free(source);
	return s.confirmed == transactions * rows ? 0 : 1;
}
