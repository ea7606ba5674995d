#include <stdio.h>
#include <string.h>

#include "bench.h"
#include "support/check.h"
#include "support/rows.h"

struct bench bench;

void begin(wp_lsn slot)
{
	memset(&bench, 0, sizeof(bench));
	bench.now_ms = 1000000;
	bench.outbox = default_options();
	bench.options = (struct wp_relay_options){
		.in_flight_events = 4,
		.in_flight_bytes = 1 << 20,
		.feedback_interval_ms = 100,
		.topic_wait_ms = 300 * 1000,
		.shutdown_timeout_ms = 20 * 1000,
		.dead_letter_topic = "",
		.rewinds_max = 3,
	};
	scripted_source_init(&bench.source, slot);
	scripted_sink_init(&bench.sink);
	bench.outboxes = only(&bench.outbox, "");
}

enum wp_rc build(void)
{
	struct wp_error error;

	return wp_relay_new(
		&(struct wp_relay_setup){
			.source = &bench.source.base,
			.sink = &bench.sink.base,
			.parked = bench.parked,
			.options = &bench.options,
			.task = { .outboxes = &bench.outboxes },
			.slot = "walpost",
			.owner = "us",
			.seed = 4711,
		},
		&bench.relay, &error);
}

int tear_down(void **state)
{
	wp_relay_free(bench.relay);
	wp_partitions_release(&bench.source.view.partitions);
	return 0;
}

struct wp_now now(void)
{
	int64_t boot_ms = bench.now_ms + bench.suspended_ms;

	return (struct wp_now){
		.ms = bench.now_ms,
		.boot_ms = boot_ms,
		.wall_us = (boot_ms + bench.wall_ahead_ms) * 1000,
	};
}

static void take_notes(void)
{
	struct wp_note n;

	while (wp_relay_take_note(bench.relay, &n)) {
		size_t at = strlen(bench.events);
		(void)snprintf(bench.events + at, sizeof(bench.events) - at, "%c:%s ",
			       "DIWE"[n.level], n.event);
		if (n.level == WP_NOTE_ERROR)
			bench.error = n.error;
		if (strcmp(n.event, "state") != 0)
			bench.last = n.error;
	}
}

void step(void)
{
	bench.step = wp_relay_step(bench.relay, now());
	take_notes();
	wp_relay_take_snapshot(bench.relay, &bench.snapshot);
}

void live(int64_t ms)
{
	int64_t end = bench.now_ms + ms;

	while (bench.step != WP_STEP_OVER) {
		int64_t due = bench.step == WP_STEP_MORE ? bench.now_ms : wp_relay_due(bench.relay);
		if (due > end)
			break;
		bench.now_ms = due > bench.now_ms ? due : bench.now_ms;
		step();
	}
	bench.now_ms = end;
}

bool noted(const char *event)
{
	return strstr(bench.events, event) != NULL;
}

static struct wire_writer start(void)
{
	struct wire_writer w = scripted_source_frame(&bench.source);

	wire_data(&w, 0);
	return w;
}

void send_begin(wp_lsn commit_lsn)
{
	send_begin_as(commit_lsn, WIRE_XID);
}

void send_begin_as(wp_lsn commit_lsn, uint32_t xid)
{
	struct wire_writer w = start();

	wire_begin_as(&w, commit_lsn, 0, xid);
	scripted_source_send(&bench.source, &w);
}

void send_relation(uint32_t oid, const char *name)
{
	struct wire_writer w = start();

	wire_relation(&w, oid, "public", name, wire_outbox_columns, 5);
	scripted_source_send(&bench.source, &w);
}

void send_row_of(uint32_t oid, const char *id, const char *key)
{
	const char *const values[] = { id, "order", key, "made", "{}" };
	struct wire_writer w = start();

	wire_insert(&w, oid, values, 5);
	scripted_source_send(&bench.source, &w);
}

void send_commit(wp_lsn commit_lsn)
{
	struct wire_writer w = start();

	wire_commit(&w, commit_lsn, commit_lsn + 8, 0);
	scripted_source_send(&bench.source, &w);
}

void send_event(wp_lsn commit_lsn, const char *id)
{
	send_begin(commit_lsn);
	send_relation(OUTBOX, "outbox");
	send_row_of(OUTBOX, id, "k");
	send_commit(commit_lsn);
}

void one_event(wp_lsn commit_lsn, const char *id)
{
	send_event(commit_lsn, id);
	step();
}

void send_keepalive(wp_lsn wal_end, bool reply)
{
	struct wire_writer w = scripted_source_frame(&bench.source);

	wire_keepalive(&w, wal_end, reply);
	scripted_source_send(&bench.source, &w);
}
