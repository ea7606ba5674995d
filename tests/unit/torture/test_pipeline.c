#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/check.h"
#include "support/wire_writer.h"
#include "torture.h"
#include "support/rows.h"
#include "walpost/postgres/conninfo.h"
#include "walpost/outbox/names.h"
#include "walpost/outbox/route.h"
#include "walpost/relay/pipeline.h"
#include "walpost/sink/json.h"

enum { ROOM = 1 << 20, BIG = 300000 };

/* -- a pipeline ------------------------------------------------------------ */

/* A sink that writes JSON lines into a buffer. */
struct line_sink {
	struct wp_sink base;
	struct wp_buffer lines;
	size_t count;
};

static enum wp_rc line_send(struct wp_sink *base, wp_ticket ticket, const struct wp_record *record,
			    struct wp_error *error)
{
	struct line_sink *s = (struct line_sink *)base;
	size_t before = s->lines.size;

	enum wp_rc rc = wp_json_record(&s->lines, record);
	if (rc == WP_OK)
		s->count++;
	else
		s->lines.size = before;
	return rc == WP_OK ? WP_OK : wp_error_set(error, rc, "no room for a line");
}

static const struct wp_sink_ops line_ops = { .send = line_send };

struct bench {
	struct wp_outbox_options options;
	struct wp_outboxes outboxes;
	enum wp_poison poison;
	struct wp_partitions partitions;
	struct wp_ledger ledger;
	struct line_sink sink;
	struct wp_pipeline *pipeline;
	struct wire_writer wire;
};

static uint8_t room[ROOM];
static char big[BIG + 1];

static struct wire_writer *data(struct bench *b)
{
	wire_init(&b->wire, room, sizeof(room));
	wire_data(&b->wire, 0);
	return &b->wire;
}

/*
 * Offers a frame. Refused for want of memory it has changed nothing: when memory is back
 * it is taken as if it came for the first time.
 */
static void offer(struct bench *b)
{
	struct wp_taken taken;
	struct wp_error error = { "" };
	size_t events = b->sink.count;
	size_t in_flight = b->ledger.in_flight;

	enum wp_rc rc = wp_pipeline_take(b->pipeline, wire_span(&b->wire), &taken, &error);
	if (rc == WP_NOMEM) {
		CHECK_EQ(b->sink.count, events);
		CHECK_EQ(b->ledger.in_flight, in_flight);
		(void)memory_is_back();
		rc = wp_pipeline_take(b->pipeline, wire_span(&b->wire), &taken, &error);
	}
	if (rc != WP_OK)
		fail_msg("a frame was not taken: %d, %s", rc, error.text);
}

static void tell_type(struct bench *b, uint32_t oid, const char *name)
{
	wire_type(data(b), oid, "pg_catalog", name);
	offer(b);
}

static void tell_relation(struct bench *b, uint32_t oid, const char *name,
			  const struct wire_column *columns, size_t count)
{
	wire_relation(data(b), oid, "public", name, columns, count);
	offer(b);
}

static void begin(struct bench *b, wp_lsn lsn)
{
	wire_begin(data(b), lsn, 1000000);
	offer(b);
}

static void commit(struct bench *b, wp_lsn lsn)
{
	wire_commit(data(b), lsn, lsn + 8, 1000000);
	offer(b);
}

static const struct wire_column columns[] = {
	{ "id", 2950 },	  { "aggregatetype", 25 }, { "aggregateid", 16500 },
	{ "type", 1043 }, { "payload", 16501 },	   { "tenant", 25 },
};

static void send_text(struct bench *b, const char *route, const char *payload)
{
	const char *const values[] = { "7", route, "\\x00ff", NULL, payload, "eu" };

	wire_insert(data(b), 1, values, 6);
	offer(b);
}

static struct wp_span span_of(const char *bytes, size_t size)
{
	return (struct wp_span){ .data = (const uint8_t *)bytes, .size = size };
}

static void send_binary(struct bench *b, const char *route, struct wp_span payload)
{
	const struct wp_span values[] = {
		span_of("0123456789abcdef", 16),
		wp_span_of(route),
		span_of("\0\xff", 2),
		{ 0 },
		payload,
		wp_span_of("eu"),
	};

	wire_insert_binary(data(b), 1, values, 6);
	offer(b);
}

static void send_without_topic(struct bench *b, enum wp_transfer transfer)
{
	if (transfer == WP_TRANSFER_TEXT)
		send_text(b, "no topic", "\\x0123");
	else
		send_binary(b, "no topic", span_of("\x01#", 2));
}

static void leaf(struct bench *b)
{
	static struct wp_partition partition = { .oid = 2, .table = 0 };
	const char *const values[] = { "8", "order", "\\x01", "t", "\\x", NULL };
	struct wp_taken taken;

	tell_relation(b, 2, "outbox_1", columns, 6);
	wire_insert(data(b), 2, values, 6);
	CHECK_EQ(wp_pipeline_take(b->pipeline, wire_span(&b->wire), &taken, NULL), WP_PAUSE);
	b->partitions = (struct wp_partitions){
		.items = &partition, .count = 1, .known = true, .xmin = 900, .xmax = 900
	};
	offer(b);
}

#define REISSUED(id_)                                                                             \
	"[{\"name\": \"id\", \"type\": 2950, \"modifier\": -1, \"value\": " id_ "}, "             \
	"{\"name\": \"aggregatetype\", \"type\": 25, \"modifier\": -1, \"value\": \"order-1\"}, " \
	"{\"name\": \"aggregateid\", \"type\": 16500, \"modifier\": -1, \"value\": \"k\\n\"}, "   \
	"{\"name\": \"type\", \"type\": 1043, \"modifier\": -1, \"value\": null}, "               \
	"{\"name\": \"payload\", \"type\": 16501, \"modifier\": -1, \"value\": \"\\\\x0123\"}, "  \
	"{\"name\": \"tenant\", \"type\": 25, \"modifier\": -1, \"value\": \"eu\"}]"

static void reissue(struct bench *b, const char *row)
{
	const char *const values[] = { "s", "public.outbox", row, NULL, "parked", "1-2-3", "row" };

	wire_insert(data(b), 4, values, 7);
	offer(b);
}

static void reissue_all(struct bench *b)
{
	static const struct wire_column of_reissue[] = {
		{ "slot", 25 },	  { "outbox", 25 },   { "row", 3802 }, { "content", 17 },
		{ "reason", 25 }, { "position", 25 }, { "kind", 25 },
	};

	wire_relation(data(b), 4, "walpost", "reissue", of_reissue, 7);
	offer(b);
	reissue(b, REISSUED("\"7\""));
	reissue(b, REISSUED("\"8\""));
	if (b->poison == WP_POISON_DEAD_LETTER)
		reissue(b, "[1]");
}

static void send_transactions(struct bench *b, enum wp_transfer transfer)
{
	begin(b, 0x100);
	tell_type(b, 16500, "bytea");
	tell_type(b, 16501, "bytea");
	tell_relation(b, 1, "outbox", columns, 6);
	tell_relation(b, 3, "ignored", columns, 2);
	tell_relation(b, 1, "outbox", columns, 6); /* again, as after any change nearby */
	if (b->poison == WP_POISON_DEAD_LETTER)
		send_without_topic(b, transfer);
	for (int i = 0; i < 3; i++) {
		char route[16];
		(void)snprintf(route, sizeof(route), "order-%d", i);
		if (transfer == WP_TRANSFER_TEXT)
			send_text(b, route, i == 2 ? big : "\\x0123");
		else
			send_binary(b, route, i == 2 ? span_of(big, BIG) : span_of("\x01#", 2));
	}
	leaf(b);
	reissue_all(b);
	commit(b, 0x100);
	CHECK_EQ(b->sink.count, b->poison == WP_POISON_DEAD_LETTER ? 8 : 6);
	CHECK_EQ(wp_pipeline_counts(b->pipeline)->dead_letters, b->sink.count - 6);
	/* The dead letter waited for memory to decode its payload. */
	b->sink.lines.data[b->sink.lines.size] = '\0'; /* a buffer has room for it */
	CHECK(strstr((const char *)b->sink.lines.data, "x0123") == NULL);
	CHECK_EQ(wp_ledger_received_lsn(&b->ledger), 0x108);
}

static enum wp_rc run_pipeline(enum wp_transfer transfer, enum wp_envelope envelope,
			       enum wp_poison poison)
{
	static const struct wp_timelines timelines = { .current = 1 };
	static const struct wp_column_facts facts;
	struct bench b = { .options = default_options(),
			   .poison = poison,
			   .sink.base.ops = &line_ops };

	b.options.topic_regex = "(?<routedByValue>[a-z]+)-(\\d+)";
	b.options.topic_replacement = "t.${routedByValue}.$2";
	b.options.headers = "tenant:x-tenant, aggregateid:k";
	b.options.headers_source = "here";
	b.outboxes = only(&b.options, "public.ign*, other.*");
	b.outboxes.slot = "s";
	b.options.envelope = envelope;
	wp_buffer_init(&b.sink.lines, 4 << 20);
	enum wp_rc rc = wp_ledger_init(&b.ledger, 8, 16 << 20);
	if (rc == WP_OK) {
		rc = wp_pipeline_new(
			&(struct wp_pipeline_setup){
				.outboxes = &b.outboxes,
				.poison = poison,
				.dead_letter_topic = "dead",
				.value_size_max = 4 << 20,
				.partitions = &b.partitions,
				.ledger = &b.ledger,
				.sink = &b.sink.base,
			},
			&b.pipeline, NULL);
	}
	if (rc == WP_OK) {
		wp_pipeline_begin(b.pipeline, &timelines, "UTF8");
		wp_pipeline_know(b.pipeline, &facts, transfer);
		send_transactions(&b, transfer);
	} else {
		CHECK(b.pipeline == NULL);
	}
	wp_pipeline_free(b.pipeline);
	wp_ledger_release(&b.ledger);
	wp_buffer_release(&b.sink.lines);
	return rc;
}

static enum wp_rc text_raw(void)
{
	return run_pipeline(WP_TRANSFER_TEXT, WP_ENVELOPE_RAW, WP_POISON_STOP);
}

static enum wp_rc text_protobuf(void)
{
	return run_pipeline(WP_TRANSFER_TEXT, WP_ENVELOPE_PROTOBUF, WP_POISON_DEAD_LETTER);
}

static enum wp_rc binary_raw(void)
{
	return run_pipeline(WP_TRANSFER_BINARY, WP_ENVELOPE_RAW, WP_POISON_DEAD_LETTER);
}

static enum wp_rc binary_protobuf(void)
{
	return run_pipeline(WP_TRANSFER_BINARY, WP_ENVELOPE_PROTOBUF, WP_POISON_STOP);
}

static void a_pipeline_takes_each_frame_when_memory_is_back(void **state)
{
	memset(big, 'a', BIG);
	memcpy(big, "\\x", 2);
	torture(text_raw);
	torture(text_protobuf);
	torture(binary_raw);
	torture(binary_protobuf);
}

/* -- a conninfo ------------------------------------------------------------ */

static enum wp_rc look_at_conninfo(void)
{
	static const char *const conninfos[] = { "host=db password='it\\'s' sslmode=require",
						 "postgresql://u:p@h:1/db?application_name=x" };
	enum wp_rc rc = WP_OK;

	for (size_t i = 0; i < 2; i++) {
		char *masked = wp_conninfo_masked(conninfos[i]);
		if (masked == NULL)
			rc = WP_NOMEM;
		else /* without memory all of it is hidden */
			CHECK(strstr(masked, "it's") == NULL && strstr(masked, "u:p") == NULL);
		free(masked);
		CHECK(wp_conninfo_has_secret(conninfos[i]));
		enum wp_rc checked = wp_conninfo_check(conninfos[i], NULL);
		if (checked != WP_OK)
			rc = checked;
	}
	return rc;
}

static void a_conninfo_stays_hidden_without_memory(void **state)
{
	torture(look_at_conninfo);
}

/* -- the small languages --------------------------------------------------- */

static enum wp_rc make_route(void)
{
	static const char *const raws[] = { "sales/a-1", "sales/b-2", "else", "sales/a-1" };
	static const char *const topics[] = { "eu.a.1", "eu.b.2", "else", "eu.a.1" };
	struct wp_route *route = NULL;

	enum wp_rc rc = wp_route_new("sales/(?<w>[a-z]+)-(\\d+)", "eu.${w}.$2", &route, NULL);
	for (size_t i = 0; i < 4 && route != NULL; i++) {
		struct wp_span topic;
		enum wp_rc answer = wp_route_topic(route, wp_span_of(raws[i]), NULL, &topic, NULL);
		if (answer == WP_NOMEM) {
			(void)memory_is_back();
			answer = wp_route_topic(route, wp_span_of(raws[i]), NULL, &topic, NULL);
		}
		CHECK_EQ(answer, WP_OK);
		CHECK_SPAN(topic, topics[i]);
	}
	wp_route_free(route);
	return rc;
}

static enum wp_rc make_patterns(void)
{
	struct wp_patterns *patterns = NULL;

	enum wp_rc rc = wp_patterns_new("public.a*, \"B c\".*d*, e", &patterns, NULL);
	if (rc == WP_OK)
		CHECK(wp_patterns_match(patterns, wp_span_of("public"), wp_span_of("abc")));
	wp_patterns_free(patterns);
	return rc;
}

static void routes_and_patterns_are_made_or_there_was_no_memory(void **state)
{
	torture(make_route);
	torture(make_patterns);
}

static enum wp_rc grow_relations(void)
{
	static const struct wp_column column = { .type_oid = 25 };
	struct wp_relations *map = NULL;
	enum wp_rc rc = wp_relations_new(1000, NULL, &map);

	for (uint32_t oid = 1; oid <= 40 && map != NULL; oid++) {
		struct wp_column named = column;
		struct wp_relation *relation;
		named.name = wp_span_of("c");
		struct wp_change table = {
			.kind = WP_CHANGE_RELATION,
			.as.relation = { .oid = oid % 30,
					 .schema = wp_span_of("s"),
					 .name = wp_span_of("t"),
					 .columns = &named,
					 .column_count = 1 },
		};
		struct wp_change type = {
			.kind = WP_CHANGE_TYPE,
			.as.type = { .oid = 16400 + oid * 7 % 41,
				     .schema = wp_span_of("pg_catalog"),
				     .name = wp_span_of("jsonb") },
		};
		while (wp_relations_put(map, &table, &relation) == WP_NOMEM)
			(void)memory_is_back();
		while (wp_relations_put_type(map, &type) == WP_NOMEM)
			(void)memory_is_back();
		CHECK(wp_relations_find(map, oid % 30) == relation);
		CHECK_EQ(wp_relations_type(map, type.as.type.oid), WP_TYPE_JSONB);
	}
	wp_relations_free(map);
	return rc;
}

static void relations_and_types_stay_as_they_were_without_memory(void **state)
{
	torture(grow_relations);
}

int main(void)
{
	return RUN(PLAIN(a_pipeline_takes_each_frame_when_memory_is_back),
		   PLAIN(a_conninfo_stays_hidden_without_memory),
		   PLAIN(routes_and_patterns_are_made_or_there_was_no_memory),
		   PLAIN(relations_and_types_stay_as_they_were_without_memory));
}
