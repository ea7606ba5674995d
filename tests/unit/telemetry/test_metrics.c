#include <stdio.h>

#include "patient.h"
#include "walpost/telemetry/metrics.h"

static const char *text(void)
{
	return patient_text(wp_metrics_write);
}

static void counts_and_gauges_are_told(void **state)
{
	CHECK_HAS(text(), "# TYPE walpost_events_total counter\nwalpost_events_total 4711\n");
	CHECK_HAS(text(), "\nwalpost_lag_bytes 4096\n");
	CHECK_HAS(text(), "\nwalpost_confirmed_lsn_bytes 4096\n");
	CHECK_HAS(text(), "\nwalpost_state{state=\"streaming\"} 1\n");
	CHECK_HAS(text(), "\nwalpost_state{state=\"paused\"} 0\n");
	CHECK_HAS(text(), "\nwalpost_seconds_since_received 0.01\n");
	CHECK_HAS(text(), "\nwalpost_slot_retained_bytes 12345\n");
	CHECK_HAS(text(), "\nwalpost_slot_wal_status{status=\"reserved\"} 1\n");
	CHECK_HAS(text(), "\nprocess_open_fds 9\n");
	CHECK_HAS(text(),
		  "walpost_build_info{version=\"1.2.3\",libpq=\"17.5\",librdkafka=\"2.8.0\"} 1\n");
}

static void what_is_not_known_is_absent(void **state)
{
	CHECK(strstr(text(), "\nwalpost_slot_safe_wal_size_bytes ") == NULL);
	CHECK(strstr(text(), "\nwalpost_slot_seconds_to_invalidation ") == NULL);
	CHECK(strstr(text(), "\nwalpost_kafka_queue_messages ") == NULL);
	p.telemetry.relay.state = WP_STANDBY; /* another's log is not ours */
	CHECK(strstr(text(), "\nwalpost_lag_bytes ") == NULL);
	p.telemetry.relay.state = WP_CONNECTING;
	p.telemetry.relay.confirmed_lsn = 0;
	CHECK(strstr(text(), "\nwalpost_lag_bytes ") == NULL);
	p.telemetry.relay.slot.known = false;
	p.telemetry.relay.heard_ms = p.telemetry.relay.confirmed_ms = INT64_MIN;
	CHECK(strstr(text(), "\nwalpost_slot_retained_bytes ") == NULL);
	CHECK(strstr(text(), "\nwalpost_slot_wal_status{") == NULL);
	CHECK(strstr(text(), "\nwalpost_seconds_since_received ") == NULL);
}

static void the_guard_is_told_where_there_is_a_limit(void **state)
{
	p.telemetry.relay.slot.limited = true;
	p.telemetry.relay.slot.safe_size = -5;
	CHECK_HAS(text(), "\nwalpost_slot_safe_wal_size_bytes -5\n");
	CHECK_HAS(text(), "\nwalpost_slot_seconds_to_invalidation +Inf\n");
	p.telemetry.relay.slot.seconds = 77;
	CHECK_HAS(text(), "\nwalpost_slot_seconds_to_invalidation 77\n");
}

static void the_oldest_commit_has_its_age_by_the_wall_clock(void **state)
{
	CHECK_HAS(text(), "\nwalpost_oldest_unconfirmed_seconds 0\n");
	p.telemetry.relay.oldest = (struct wp_relay_oldest){ true, NOW_US - 2500000, 1 };
	CHECK_HAS(text(), "\nwalpost_oldest_unconfirmed_seconds 2.5\n");
	p.telemetry.relay.oldest.commit_time_us = NOW_US + 1; /* its clock is ahead */
	CHECK_HAS(text(), "\nwalpost_oldest_unconfirmed_seconds 0\n");
}

static void a_histogram_is_cumulative(void **state)
{
	wp_meter_sent(&p.meter, 1, wp_span_of("order"), 0);
	wp_meter_confirmed(&p.meter, 1, 700);
	wp_meter_sent(&p.meter, 2, wp_span_of("order"), 0);
	wp_meter_confirmed(&p.meter, 2, 2000000);
	CHECK_HAS(text(), "walpost_delivery_seconds_bucket{topic=\"order\",le=\"0.0005\"} 0\n");
	CHECK_HAS(text(), "walpost_delivery_seconds_bucket{topic=\"order\",le=\"0.001\"} 1\n");
	CHECK_HAS(text(), "walpost_delivery_seconds_bucket{topic=\"order\",le=\"1\"} 1\n");
	CHECK_HAS(text(), "walpost_delivery_seconds_bucket{topic=\"order\",le=\"2.5\"} 2\n");
	CHECK_HAS(text(), "walpost_delivery_seconds_bucket{topic=\"order\",le=\"+Inf\"} 2\n");
	CHECK_HAS(text(), "walpost_delivery_seconds_sum{topic=\"order\"} 2.0007\n");
	CHECK_HAS(text(), "walpost_delivery_seconds_count{topic=\"order\"} 2\n");
}

static void labels_are_escaped(void **state)
{
	p.telemetry.version = "a\"b\\c\nd";
	CHECK_HAS(text(), "version=\"a\\\"b\\\\c\\nd\"");
}

static void log_events_are_told_by_level(void **state)
{
	const struct wp_fact none = { .kind = WP_FACT_END };

	wp_log_memory_add(&p.log, 0, WP_LOG_ERROR, "slot_lost", &none);
	wp_log_memory_add(&p.log, 0, WP_LOG_WARN, "half_open", &none);
	CHECK_HAS(text(), "\nwalpost_errors_total{event=\"slot_lost\"} 1\n");
	CHECK_HAS(text(), "\nwalpost_warnings_total{event=\"half_open\"} 1\n");
}

static void brokers_and_librdkafka_s_figures_are_told(void **state)
{
	p.telemetry.kafka = (struct wp_sink_figures){
		.known = true,
		.messages = 3,
		.retries = 2,
		.broker_count = 2,
		.brokers = { { "b:1/1", true, 400, 5000 }, { "c:1/2", false, 0, 0 } },
	};
	p.telemetry.relay.sink_throttled_ms = 1500;
	CHECK_HAS(text(), "\nwalpost_kafka_throttle_seconds_total 1.5\n");
	CHECK_HAS(text(), "\nwalpost_kafka_queue_messages 3\n");
	CHECK_HAS(text(), "\nwalpost_kafka_retries_total 2\n");
	CHECK_HAS(text(), "\nwalpost_kafka_broker_up{broker=\"b:1/1\"} 1\n");
	CHECK_HAS(text(), "\nwalpost_kafka_broker_up{broker=\"c:1/2\"} 0\n");
	CHECK_HAS(text(),
		  "\nwalpost_kafka_broker_rtt_seconds{broker=\"b:1/1\",quantile=\"0.99\"} 0.005\n");
	CHECK(strstr(text(), "rtt_seconds{broker=\"c:1/2\"") == NULL);
}

static void what_is_parked_is_told(void **state)
{
	park_some();
	CHECK_HAS(text(), "\nwalpost_parked_aggregates 3\n");
	CHECK_HAS(text(), "\nwalpost_parked_events 17\n");
	CHECK_HAS(text(), "\nwalpost_parked_oldest_age_seconds 90.5\n");
	CHECK_HAS(text(), "\nwalpost_parked_aggregates_by_code{code=\"MSG_SIZE_TOO_LARGE\"} 2\n");
	CHECK_HAS(text(), "\nwalpost_parked_aggregates_by_code{code=\"GONE\"} 0\n");
	CHECK_HAS(text(), "\nwalpost_events_parked_total 21\n");
	CHECK_HAS(text(), "\nwalpost_parked_delivered_total 2\n");
	CHECK_HAS(text(), "\nwalpost_parked_attempts_failed_total 5\n");
	CHECK_HAS(text(), "\nwalpost_parked_dead_letters_total 1\n");
	CHECK_HAS(text(), "\nwalpost_parked_skipped_total 4\n");
	CHECK_HAS(text(), "\nwalpost_parking_unavailable 0\n");
	p.telemetry.relay.parking.trouble = "permission denied";
	CHECK_HAS(text(), "\nwalpost_parking_unavailable 1\n");
}

static void scheduled_events_are_told_once_the_server_has_answered(void **state)
{
	CHECK(strstr(text(), "\nwalpost_scheduled_due ") == NULL);
	CHECK_HAS(text(), "\nwalpost_scheduling_unavailable 0\n");
	p.telemetry.scheduled = (struct wp_scheduled_figures){
		.known = true,
		.due = 5,
		.overdue = 3,
		.failed = 1,
		.late_ms = 12500,
		.moved = 70,
		.attempts_failed = 4,
	};
	CHECK_HAS(text(), "\nwalpost_scheduled_due 5\n");
	CHECK_HAS(text(), "\nwalpost_scheduled_overdue 3\n");
	CHECK_HAS(text(), "\nwalpost_scheduled_failed 1\n");
	CHECK_HAS(text(), "\nwalpost_scheduled_oldest_seconds 12.5\n");
	CHECK_HAS(text(), "\nwalpost_scheduled_moved_total 70\n");
	CHECK_HAS(text(), "\nwalpost_scheduled_attempts_failed_total 4\n");
	(void)wp_error_set(&p.telemetry.scheduled.trouble, WP_IO, "permission denied");
	CHECK_HAS(text(), "\nwalpost_scheduling_unavailable 1\n");
}

static void while_nothing_is_parked_its_age_is_0(void **state)
{
	p.telemetry.relay.parking.on = p.telemetry.relay.parking.known = true;
	CHECK_HAS(text(), "\nwalpost_parked_aggregates 0\n");
	CHECK_HAS(text(), "\nwalpost_parked_oldest_age_seconds 0\n");
	CHECK(strstr(text(), "\nwalpost_parked_aggregates_by_code{") == NULL);
}

static void without_a_stream_and_without_parking_gauges_are_absent(void **state)
{
	park_some();
	p.telemetry.relay.parking.ready = false; /* a stream begins again */
	CHECK_HAS(text(), "\nwalpost_parked_events 17\n");
	p.telemetry.relay.parking.known = false;
	CHECK(strstr(text(), "\nwalpost_parked_aggregates ") == NULL);
	CHECK(strstr(text(), "\nwalpost_parked_aggregates_by_code{") == NULL);
	CHECK(strstr(text(), "\nwalpost_parked_events ") == NULL);
	CHECK(strstr(text(), "\nwalpost_parked_oldest_age_seconds ") == NULL);
	CHECK_HAS(text(), "\nwalpost_events_parked_total 21\n");
	p.telemetry.relay.parking.known = true;
	p.telemetry.relay.state = WP_STANDBY; /* it is another's */
	CHECK(strstr(text(), "\nwalpost_parked_aggregates ") == NULL);
	p.telemetry.relay.state = WP_STREAMING;
	p.telemetry.relay.parking.on = false;
	CHECK(strstr(text(), "\nwalpost_parked_aggregates ") == NULL);
}

/* Each family once, each with help and type, each sample under its own. */
static void every_sample_stands_under_its_family(void **state)
{
	char family[128] = "";
	char name[128];

	for (const char *line = text(); *line; line = strchr(line, '\n') + 1) {
		if (sscanf(line, "# TYPE %127s", family) == 1 || line[0] == '#')
			continue;
		CHECK_EQ(sscanf(line, "%127[a-z0-9_]", name), 1);
		CHECK_EQ(strncmp(name, family, strlen(family)), 0);
	}
}

static void no_buffer_is_overrun(void **state)
{
	patient_bounded(wp_metrics_write);
}

static void the_reference_names_each(void **state)
{
	struct wp_buffer into;

	wp_buffer_init(&into, 64 * 1024);
	CHECK_EQ(wp_metrics_reference(&into), WP_OK);
	CHECK_EQ(wp_buffer_append_byte(&into, 0), WP_OK);
	for (const char *line = text(); *line; line = strchr(line, '\n') + 1) {
		char row[160], name[128];
		if (sscanf(line, "# TYPE %127s", name) != 1)
			continue;
		(void)snprintf(row, sizeof(row), "| `%s` |", name);
		CHECK_HAS((const char *)into.data, row);
	}
	wp_buffer_release(&into);
}

int main(void)
{
	return RUN(TEST(counts_and_gauges_are_told), TEST(what_is_not_known_is_absent),
		   TEST(the_guard_is_told_where_there_is_a_limit),
		   TEST(the_oldest_commit_has_its_age_by_the_wall_clock),
		   TEST(a_histogram_is_cumulative), TEST(labels_are_escaped),
		   TEST(log_events_are_told_by_level),
		   TEST(brokers_and_librdkafka_s_figures_are_told), TEST(what_is_parked_is_told),
		   TEST(scheduled_events_are_told_once_the_server_has_answered),
		   TEST(while_nothing_is_parked_its_age_is_0),
		   TEST(without_a_stream_and_without_parking_gauges_are_absent),
		   TEST(every_sample_stands_under_its_family), TEST(no_buffer_is_overrun),
		   TEST(the_reference_names_each));
}
