/* A relay in good health, to be made ill. */
#ifndef WALPOST_TESTS_VITALS_PATIENT_H
#define WALPOST_TESTS_VITALS_PATIENT_H

#include <string.h>

#include "support/check.h"
#include "walpost/telemetry/health.h"

#define NOW_MS 1000000
#define NOW_US INT64_C(800000000000000)

static struct {
	struct wp_telemetry telemetry;
	struct wp_meter meter;
	struct wp_log_memory log;
	struct wp_history history;
} p;

static inline int set_up(void **state)
{
	memset(&p, 0, sizeof(p));
	CHECK_EQ(wp_meter_init(&p.meter, 16), WP_OK);
	p.telemetry = (struct wp_telemetry){
		.now = { .ms = NOW_MS, .wall_us = NOW_US },
		.step_due_ms = NOW_MS + 500,
		.version = "1.2.3",
		.libpq = "17.5",
		.librdkafka = "2.8.0",
		.owner = "host:1:ABCD",
		.slot = "orders",
		.publication = "events",
		.sink = "kafka",
		.configuration = "[kafka]\nsasl.password = ****\n",
		.meter = &p.meter,
		.log = &p.log,
		.history = &p.history,
		.relay = {
			.state = WP_STREAMING,
			.entered_ms = NOW_MS - 90000,
			.deadline_ms = INT64_MAX,
			.heard_ms = NOW_MS - 10,
			.confirmed_ms = NOW_MS - 20,
			.confirmed = 4711,
			.confirmed_lsn = 0x1000,
			.read = 0x1800,
			.server = 0x2000,
			.in_flight_max = 100,
			.in_flight_bytes_max = 1000,
			.slot = { .known = true, .keeping = WP_KEEPING_RESERVED, .retained = 12345,
				  .seconds = INT64_MAX },
			.sink_reachable = true,
			.sink_reached = true,
			.unreachable_ms = INT64_MIN,
			.sink_error = "",
			.withheld = "",
			.stalled_ms = INT64_MIN,
			.waiting_topic = "",
			.waiting_ms = INT64_MIN,
			.holder = "",
			.halt_error = "",
			.parking = { .since_ms = INT64_MAX, .trouble = "", .trouble_ms = INT64_MIN },
		},
		.process = { .started_s = 1, .open_fds = 9, .max_fds = 1024, .resident_bytes = 20971520 },
	};
	return 0;
}

static inline void park_some(void)
{
	p.telemetry.relay.parking = (struct wp_parking_figures){
		.on = true,
		.ready = true,
		.known = true,
		.aggregates = 3,
		.events = 17,
		.since_ms = NOW_MS - 90500,
		.parked = 21,
		.delivered = 2,
		.failed = 5,
		.dead_letters = 1,
		.skipped = 4,
		.codes = { { "MSG_SIZE_TOO_LARGE", 2 }, { "NO_TOPIC", 1 }, { "GONE", 0 } },
		.code_count = 3,
		.trouble = "",
		.trouble_ms = INT64_MIN,
	};
}

static inline int tear_down(void **state)
{
	wp_meter_release(&p.meter);
	return 0;
}

/* NUL-terminated; in static memory. */
static inline const char *patient_text(enum wp_rc (*write)(struct wp_buffer *,
							   const struct wp_telemetry *))
{
	static char text[256 * 1024];
	struct wp_buffer into;

	wp_buffer_init(&into, sizeof(text) - 1);
	CHECK_EQ(write(&into, &p.telemetry), WP_OK);
	memcpy(text, into.data, into.size);
	text[into.size] = '\0';
	wp_buffer_release(&into);
	return text;
}

/* Each size too small gives WP_FULL, and nothing is written past it. */
static inline void patient_bounded(enum wp_rc (*write)(struct wp_buffer *,
						       const struct wp_telemetry *))
{
	size_t whole = strlen(patient_text(write));

	for (size_t room = 0; room < whole; room += 1 + whole / 97) {
		struct wp_buffer into;
		wp_buffer_init(&into, room);
		CHECK_EQ(write(&into, &p.telemetry), WP_FULL);
		CHECK(into.size <= room);
		wp_buffer_release(&into);
	}
}

#endif
