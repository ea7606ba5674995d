#include <jansson.h>

#include "patient.h"
#include "walpost/telemetry/telemetry.h"

/* The caller frees it. */
static json_t *status(void)
{
	json_error_t error;
	json_t *root;

	wp_verdict_of(&p.telemetry, &p.telemetry.verdict);
	root = json_loads(patient_text(wp_status_json), JSON_REJECT_DUPLICATES, &error);
	CHECK(root != NULL);
	return root;
}

static void it_is_json_with_what_is_known(void **state)
{
	json_t *root = status();

	CHECK_TEXT(json_string_value(json_object_get(root, "state")), "streaming");
	CHECK(json_is_true(json_object_get(root, "ready")));
	CHECK_TEXT(json_string_value(json_object_get(root, "server_lsn")), "0/2000");
	CHECK_EQ(json_integer_value(json_object_get(root, "lag_bytes")), 4096);
	CHECK_EQ(json_integer_value(json_object_get(json_object_get(root, "events"), "confirmed")),
		 4711);
	CHECK(json_is_null(json_object_get(root, "oldest_unconfirmed_seconds")));
	CHECK_TEXT(json_string_value(json_object_get(json_object_get(root, "slot_wal"), "status")),
		   "reserved");
	CHECK(json_is_null(
		json_object_get(json_object_get(root, "slot_wal"), "seconds_to_invalidation")));
	json_decref(root);
}

static void what_a_standby_does_not_know_is_null(void **state)
{
	static const char *const names[] = { "confirmed_lsn", "read_lsn", "lag_bytes" };

	p.telemetry.relay.state = WP_STANDBY; /* it has streamed before: what it knew then is old */
	p.telemetry.relay.holder = "host-b:7:FFEE";
	json_t *root = status();
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		CHECK(json_is_null(json_object_get(root, names[i])));
	CHECK_TEXT(json_string_value(json_object_get(root, "slot_holder")), "host-b:7:FFEE");
	CHECK_TEXT(json_string_value(json_object_get(root, "server_lsn")), "0/2000");
	json_decref(root);
}

static void lists_have_their_items(void **state)
{
	const struct wp_fact error[] = { WP_TEXT("reason", "say \"no\""), { .kind = WP_FACT_END } };

	wp_meter_sent(&p.meter, 1, wp_span_of("order"), 0);
	wp_meter_confirmed(&p.meter, 1, 700);
	wp_log_memory_add(&p.log, 1700000000000, WP_LOG_WARN, "one", error);
	wp_log_memory_add(&p.log, 1700000001000, WP_LOG_INFO, "two", &error[1]);
	p.telemetry.kafka = (struct wp_sink_figures){ .known = true,
						      .broker_count = 1,
						      .brokers = { { "b:1/1", true, 400, 5000 } } };
	p.telemetry.relay.sink_reachable = false;
	json_t *root = status();
	json_t *notes = json_object_get(root, "notes");
	json_t *topics = json_object_get(root, "topics");

	CHECK_EQ(json_array_size(notes), 2);
	CHECK_TEXT(json_string_value(json_object_get(json_array_get(notes, 0), "event")), "two");
	CHECK_TEXT(json_string_value(json_object_get(json_array_get(notes, 1), "reason")),
		   "say \"no\"");
	CHECK_TEXT(json_string_value(json_object_get(json_array_get(notes, 1), "time")),
		   "2023-11-14T22:13:20Z");
	CHECK_EQ(json_array_size(topics), 1);
	CHECK_EQ(json_array_size(json_object_get(json_object_get(root, "kafka"), "brokers")), 1);
	CHECK_EQ(json_array_size(json_object_get(root, "reasons")), 1);
	json_decref(root);
}

static void a_text_that_is_cut_within_a_character_is_still_json(void **state)
{
	const struct wp_fact error[] = { WP_TEXT("reason", "\xC3\xA9 caf\xc3"),
					 { .kind = WP_FACT_END } };

	wp_log_memory_add(&p.log, 0, WP_LOG_WARN, "cut", error);
	json_t *root = status();
	json_t *note = json_array_get(json_object_get(root, "notes"), 0);
	CHECK_TEXT(json_string_value(json_object_get(note, "reason")), "\xC3\xA9 caf\\xc3");
	json_decref(root);
}

static int64_t parked_count(json_t *root, const char *name)
{
	return json_integer_value(json_object_get(json_object_get(root, "parked"), name));
}

static void what_is_parked_is_counted(void **state)
{
	park_some();
	p.telemetry.relay.parking.trouble = "permission denied for table parked";
	json_t *root = status();
	json_t *parked = json_object_get(root, "parked");
	json_t *codes = json_object_get(parked, "aggregates_by_code");

	CHECK(json_is_true(json_object_get(parked, "on")));
	CHECK_EQ(parked_count(root, "aggregates"), 3);
	CHECK_EQ(parked_count(root, "events"), 17);
	CHECK(json_real_value(json_object_get(parked, "oldest_seconds")) == 90.5);
	CHECK_EQ(json_object_size(codes), 2);
	CHECK_EQ(json_integer_value(json_object_get(codes, "NO_TOPIC")), 1);
	CHECK_EQ(parked_count(root, "parked"), 21);
	CHECK_EQ(parked_count(root, "delivered"), 2);
	CHECK_EQ(parked_count(root, "attempts_failed"), 5);
	CHECK_EQ(parked_count(root, "dead_letters"), 1);
	CHECK_EQ(parked_count(root, "skipped"), 4);
	CHECK_TEXT(json_string_value(json_object_get(parked, "trouble")),
		   "permission denied for table parked");
	json_decref(root);
}

static void without_a_stream_it_is_not_known_what_is_parked(void **state)
{
	park_some();
	p.telemetry.relay.parking.known = false;
	json_t *root = status();
	json_t *parked = json_object_get(root, "parked");

	CHECK(json_is_null(json_object_get(parked, "aggregates")));
	CHECK(json_is_null(json_object_get(parked, "events")));
	CHECK(json_is_null(json_object_get(parked, "oldest_seconds")));
	CHECK_EQ(json_object_size(json_object_get(parked, "aggregates_by_code")), 0);
	CHECK(json_is_null(json_object_get(parked, "trouble")));
	CHECK_EQ(parked_count(root, "parked"), 21);
	json_decref(root);
}

static void no_buffer_is_overrun(void **state)
{
	patient_bounded(wp_status_json);
}

int main(void)
{
	return RUN(TEST(it_is_json_with_what_is_known), TEST(what_a_standby_does_not_know_is_null),
		   TEST(lists_have_their_items),
		   TEST(a_text_that_is_cut_within_a_character_is_still_json),
		   TEST(what_is_parked_is_counted),
		   TEST(without_a_stream_it_is_not_known_what_is_parked),
		   TEST(no_buffer_is_overrun));
}
