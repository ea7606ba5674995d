#include <inttypes.h>
#include <math.h>
#include <stddef.h>
#include <string.h>

#include "walpost/telemetry/metrics.h"

#include "walpost/telemetry/telemetry.h"

/* It writes one sample at a time; what could not be written is remembered. */
struct writer {
	struct wp_writer to;
	const char *name;
};

enum source {
	FROM_COUNT, /* a uint64_t of the telemetry, or a wp_lsn */
	FROM_SIZE,  /* a size_t */
	FROM_BOOL,
	FROM_STATISTICS, /* a uint64_t of librdkafka's statistics, once there are any */
	FROM_TIME,	 /* seconds since an int64_t of monotonic ms; INT64_MIN: none */
	FROM_MS,	 /* seconds, of a uint64_t of ms */
	FROM_FAMILY,	 /* `family` writes the samples, with labels or none at all */
};

struct metric {
	const char *name;
	const char *type;
	const char *labels; /* "": none */
	enum source source;
	size_t offset;
	void (*family)(struct writer *w, const struct wp_telemetry *v);
	const char *help;
};

/* ---- samples ---- */

/* Within quotes: backslash, quote and newline are escaped. */
static void put_label(struct writer *w, const char *value)
{
	for (; *value; value++) {
		if (*value == '\\' || *value == '"')
			wp_writer_keep(&w->to, wp_buffer_append_byte(w->to.into, '\\'));
		if (*value == '\n')
			wp_writer_put(&w->to, "\\n");
		else
			wp_writer_keep(&w->to, wp_buffer_append_byte(w->to.into, (uint8_t)*value));
	}
}

static void put_name(struct writer *w, const char *suffix, const char *label, const char *value)
{
	wp_writer_put(&w->to, w->name);
	wp_writer_put(&w->to, suffix);
	if (label == NULL)
		return;
	wp_writer_printf(&w->to, "{%s=\"", label);
	put_label(w, value);
	wp_writer_put(&w->to, "\"}");
}

static void put_count(struct writer *w, const char *label, const char *value, uint64_t count)
{
	put_name(w, "", label, value);
	wp_writer_printf(&w->to, " %" PRIu64 "\n", count);
}

static void put_number(struct writer *w, const char *label, const char *value, double number)
{
	put_name(w, "", label, value);
	if (isinf(number))
		wp_writer_put(&w->to, number > 0 ? " +Inf\n" : " -Inf\n");
	else
		wp_writer_printf(&w->to, " %.9g\n", number);
}

/* ---- families ---- */

static void ignored(struct writer *w, const struct wp_telemetry *v)
{
	const struct wp_pipeline_counts *c = &v->relay.counts;

	put_count(w, "reason", "ignored_table", c->ignored);
	put_count(w, "reason", "update", c->updates);
	put_count(w, "reason", "delete", c->deletes);
	put_count(w, "reason", "truncate", c->truncates);
	put_count(w, "reason", "message_prefix", c->messages);
	put_count(w, "reason", "message_not_transactional", c->messages_refused);
	put_count(w, "reason", "reissue_of_unknown_outbox", c->reissues_refused);
	put_count(w, "reason", "reissue_of_other_slot", c->reissues_elsewhere);
}

static void put_dropped(struct writer *w, const struct wp_drop_count *c, const char *reason,
			uint64_t count)
{
	wp_writer_put(&w->to, w->name);
	wp_writer_put(&w->to, "{outbox=\"");
	put_label(w, c->outbox);
	wp_writer_printf(&w->to, "\",reason=\"%s\"} %" PRIu64 "\n", reason, count);
}

static void dropped(struct writer *w, const struct wp_telemetry *v)
{
	const struct wp_drop_counts *c = v->relay.dropped;

	for (size_t i = 0; c != NULL && i < c->count; i++) {
		put_dropped(w, &c->items[i], "type", c->items[i].types);
		put_dropped(w, &c->items[i], "expired", c->items[i].expired);
	}
}

static void removed(struct writer *w, const struct wp_telemetry *v)
{
	const struct wp_cleanup_view *c = v->relay.cleanup;

	for (size_t i = 0; c != NULL && i < c->count; i++) {
		wp_writer_put(&w->to, w->name);
		wp_writer_put(&w->to, "{outbox=\"");
		put_label(w, c->counts[i].outbox);
		wp_writer_printf(&w->to, "\"} %" PRIu64 "\n", c->counts[i].removed);
	}
}

static void cleanup_waits(struct writer *w, const struct wp_telemetry *v)
{
	if (v->relay.cleanup != NULL)
		put_count(w, NULL, NULL, v->relay.cleanup->waits.text[0] != '\0');
}

static void cleanup_unavailable(struct writer *w, const struct wp_telemetry *v)
{
	if (v->relay.cleanup != NULL)
		put_count(w, NULL, NULL, v->relay.cleanup->trouble.text[0] != '\0');
}

static void log_events(struct writer *w, const struct wp_telemetry *v, enum wp_log_level level)
{
	for (size_t i = 0; i < v->log->count_count; i++) {
		if (v->log->counts[i].level == level)
			put_count(w, "event", v->log->counts[i].event, v->log->counts[i].count);
	}
}

static void errors(struct writer *w, const struct wp_telemetry *v)
{
	log_events(w, v, WP_LOG_ERROR);
}

static void warnings(struct writer *w, const struct wp_telemetry *v)
{
	log_events(w, v, WP_LOG_WARN);
}

static void transitions(struct writer *w, const struct wp_telemetry *v)
{
	for (int i = 0; i < WP_STATE_COUNT; i++)
		put_count(w, "to", wp_state_name((enum wp_state)i), v->relay.moves_to[i]);
}

static void state(struct writer *w, const struct wp_telemetry *v)
{
	for (int i = 0; i < WP_STATE_COUNT; i++)
		put_count(w, "state", wp_state_name((enum wp_state)i),
			  v->relay.state == (enum wp_state)i);
}

static void put_histogram(struct writer *w, const char *topic, const struct wp_meter_histogram *h)
{
	uint64_t below = 0;

	for (size_t i = 0; i < WP_METER_BUCKETS; i++) {
		below += h->buckets[i];
		wp_writer_put(&w->to, w->name);
		wp_writer_put(&w->to, "_bucket{topic=\"");
		put_label(w, topic);
		wp_writer_printf(&w->to, "\",le=\"%.9g\"} %" PRIu64 "\n",
				 (double)wp_meter_bounds_us[i] / 1e6, below);
	}
	wp_writer_put(&w->to, w->name);
	wp_writer_put(&w->to, "_bucket{topic=\"");
	put_label(w, topic);
	wp_writer_printf(&w->to, "\",le=\"+Inf\"} %" PRIu64 "\n", h->count);
	put_name(w, "_sum", "topic", topic);
	wp_writer_printf(&w->to, " %.9g\n", (double)h->sum_us / 1e6);
	put_name(w, "_count", "topic", topic);
	wp_writer_printf(&w->to, " %" PRIu64 "\n", h->count);
}

static void delivery(struct writer *w, const struct wp_telemetry *v)
{
	for (size_t i = 0; i < v->meter->topic_count; i++) {
		const struct wp_meter_topic *t = &v->meter->topics[i];
		if (t->delivery.count > 0)
			put_histogram(w, t->name[0] ? t->name : "other", &t->delivery);
	}
}

static void oldest(struct writer *w, const struct wp_telemetry *v)
{
	put_number(w, NULL, NULL, wp_telemetry_oldest(v));
}

static void lag(struct writer *w, const struct wp_telemetry *v)
{
	uint64_t bytes;

	if (wp_relay_lag(&v->relay, &bytes))
		put_count(w, NULL, NULL, bytes);
}

static void retained(struct writer *w, const struct wp_telemetry *v)
{
	if (v->relay.slot.known && v->relay.slot.retained >= 0)
		put_number(w, NULL, NULL, (double)v->relay.slot.retained);
}

static void safe_wal_size(struct writer *w, const struct wp_telemetry *v)
{
	if (v->relay.slot.known && v->relay.slot.limited)
		put_number(w, NULL, NULL, (double)v->relay.slot.safe_size);
}

static void to_invalidation(struct writer *w, const struct wp_telemetry *v)
{
	const struct wp_relay_slot *s = &v->relay.slot;

	if (s->known && s->limited)
		put_number(w, NULL, NULL,
			   s->seconds == INT64_MAX ? (double)INFINITY : (double)s->seconds);
}

static void wal_status(struct writer *w, const struct wp_telemetry *v)
{
	static const enum wp_keeping all[] = { WP_KEEPING_RESERVED, WP_KEEPING_EXTENDED,
					       WP_KEEPING_UNRESERVED, WP_KEEPING_LOST };

	if (!v->relay.slot.known)
		return;
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		put_count(w, "status", wp_telemetry_keeping(all[i]),
			  v->relay.slot.keeping == all[i]);
}

static void broker_up(struct writer *w, const struct wp_telemetry *v)
{
	for (size_t i = 0; i < v->kafka.broker_count; i++)
		put_count(w, "broker", v->kafka.brokers[i].name, v->kafka.brokers[i].up);
}

static void put_quantile(struct writer *w, const char *broker, const char *quantile, int64_t us)
{
	wp_writer_put(&w->to, w->name);
	wp_writer_put(&w->to, "{broker=\"");
	put_label(w, broker);
	wp_writer_printf(&w->to, "\",quantile=\"%s\"} %.9g\n", quantile, (double)us / 1e6);
}

static void broker_rtt(struct writer *w, const struct wp_telemetry *v)
{
	for (size_t i = 0; i < v->kafka.broker_count; i++) {
		const struct wp_sink_broker *b = &v->kafka.brokers[i];
		if (b->rtt_p99_us == 0)
			continue;
		put_quantile(w, b->name, "0.5", b->rtt_p50_us);
		put_quantile(w, b->name, "0.99", b->rtt_p99_us);
	}
}

static void requests(struct writer *w, const struct wp_telemetry *v)
{
	put_count(w, "code", "200", v->requests.ok);
	put_count(w, "code", "404", v->requests.not_found);
	put_count(w, "code", "405", v->requests.refused);
	put_count(w, "code", "503", v->requests.unhealthy);
}

static void reloads(struct writer *w, const struct wp_telemetry *v)
{
	put_count(w, "result", "done", v->reloads.done);
	put_count(w, "result", "refused", v->reloads.refused);
}

static void build_info(struct writer *w, const struct wp_telemetry *v)
{
	wp_writer_put(&w->to, w->name);
	wp_writer_put(&w->to, "{version=\"");
	put_label(w, v->version);
	wp_writer_put(&w->to, "\",libpq=\"");
	put_label(w, v->libpq);
	wp_writer_put(&w->to, "\",librdkafka=\"");
	put_label(w, v->librdkafka);
	wp_writer_put(&w->to, "\"} 1\n");
}

static void parked_aggregates(struct writer *w, const struct wp_telemetry *v)
{
	if (wp_telemetry_parked(v) != NULL)
		put_count(w, NULL, NULL, wp_telemetry_parked(v)->aggregates);
}

static void parked_by_code(struct writer *w, const struct wp_telemetry *v)
{
	const struct wp_parking_figures *p = wp_telemetry_parked(v);

	for (size_t i = 0; p != NULL && i < p->code_count; i++)
		put_count(w, "code", p->codes[i].code, p->codes[i].aggregates);
}

static void parked_events(struct writer *w, const struct wp_telemetry *v)
{
	if (wp_telemetry_parked(v) != NULL)
		put_count(w, NULL, NULL, wp_telemetry_parked(v)->events);
}

static void parked_age(struct writer *w, const struct wp_telemetry *v)
{
	if (wp_telemetry_parked(v) != NULL)
		put_number(w, NULL, NULL, wp_telemetry_parked_age(v));
}

static void parking_unavailable(struct writer *w, const struct wp_telemetry *v)
{
	put_count(w, NULL, NULL, v->relay.parking.trouble[0] != '\0');
}

static void registry_reachable(struct writer *w, const struct wp_telemetry *v)
{
	if (v->schemas.is_used)
		put_count(w, NULL, NULL, v->schemas.is_reachable);
}

static void registry_subjects(struct writer *w, const struct wp_telemetry *v)
{
	if (v->schemas.is_used)
		put_count(w, NULL, NULL, v->schemas.subjects);
}

static void registry_failures(struct writer *w, const struct wp_telemetry *v)
{
	if (v->schemas.is_used)
		put_count(w, NULL, NULL, v->schemas.failures);
}

static void schema_missing(struct writer *w, const struct wp_telemetry *v)
{
	if (v->schemas.is_used)
		put_count(w, NULL, NULL, v->relay.waiting_subject != NULL);
}

/* The count is as of the last answer of the server; it is absent without one. */
static void scheduled_due(struct writer *w, const struct wp_telemetry *v)
{
	if (v->scheduled.known)
		put_count(w, NULL, NULL, v->scheduled.due);
}

static void scheduled_overdue(struct writer *w, const struct wp_telemetry *v)
{
	if (v->scheduled.known)
		put_count(w, NULL, NULL, v->scheduled.overdue);
}

static void scheduled_failed(struct writer *w, const struct wp_telemetry *v)
{
	if (v->scheduled.known)
		put_count(w, NULL, NULL, v->scheduled.failed);
}

static void scheduled_late(struct writer *w, const struct wp_telemetry *v)
{
	if (v->scheduled.known)
		put_number(w, NULL, NULL, (double)v->scheduled.late_ms / 1e3);
}

static void scheduling_unavailable(struct writer *w, const struct wp_telemetry *v)
{
	put_count(w, NULL, NULL, v->scheduled.trouble.text[0] != '\0');
}

static void started(struct writer *w, const struct wp_telemetry *v)
{
	wp_writer_printf(&w->to, "%s %" PRId64 "\n", w->name, v->process.started_s);
}

/* ---- the list ---- */

#define AT(member_) offsetof(struct wp_telemetry, member_), NULL
#define BY(function_) 0, function_

static const struct metric metrics[] = {
	{ "walpost_events_total", "counter", "", FROM_COUNT, AT(relay.confirmed),
	  "Events that Kafka has confirmed." },
	{ "walpost_events_sent_total", "counter", "", FROM_COUNT, AT(relay.counts.events),
	  "Events handed to the Kafka client, including duplicates and dead letters." },
	{ "walpost_event_bytes_total", "counter", "", FROM_COUNT, AT(relay.counts.bytes),
	  "Bytes of the keys, values and headers of these events." },
	{ "walpost_transactions_total", "counter", "", FROM_COUNT, AT(relay.counts.transactions),
	  "Transactions with at least one event." },
	{ "walpost_dead_letters_total", "counter", "", FROM_COUNT, AT(relay.counts.dead_letters),
	  "Events sent to the dead-letter topic." },
	{ "walpost_reissued_total", "counter", "", FROM_COUNT, AT(relay.counts.reissued),
	  "Events of walpost.reissue, which were sent again." },
	{ "walpost_events_parked_total", "counter", "", FROM_COUNT, AT(relay.parking.parked),
	  "Events parked in walpost.parked." },
	{ "walpost_parked_delivered_total", "counter", "", FROM_COUNT, AT(relay.parking.delivered),
	  "Parked events that Kafka has confirmed since." },
	{ "walpost_parked_attempts_failed_total", "counter", "", FROM_COUNT,
	  AT(relay.parking.failed), "Failed attempts to deliver a parked event." },
	{ "walpost_parked_dead_letters_total", "counter", "", FROM_COUNT,
	  AT(relay.parking.dead_letters),
	  "Parked events whose dead letter was confirmed instead, after park.retry.attempts." },
	{ "walpost_parked_skipped_total", "counter", "", FROM_COUNT, AT(relay.parking.skipped),
	  "Parked events discarded by walpost parked skip or purge." },
	{ "walpost_parked_aggregates", "gauge", "", FROM_FAMILY, BY(parked_aggregates),
	  "Parked aggregates; this and the following three are absent unless relay.poison = park "
	  "and the relay streams." },
	{ "walpost_parked_aggregates_by_code", "gauge", "code", FROM_FAMILY, BY(parked_by_code),
	  "Parked aggregates, by the reason code of the first event; at most 16 codes are "
	  "listed." },
	{ "walpost_parked_events", "gauge", "", FROM_FAMILY, BY(parked_events), "Parked events." },
	{ "walpost_parked_oldest_age_seconds", "gauge", "", FROM_FAMILY, BY(parked_age),
	  "Time since the oldest parked event was parked; 0: none." },
	{ "walpost_parking_unavailable", "gauge", "", FROM_FAMILY, BY(parking_unavailable),
	  "1 while walpost.parked cannot be read or written." },
	{ "walpost_scheduled_moved_total", "counter", "", FROM_COUNT, AT(scheduled.moved),
	  "Events of walpost.schedule() that this relay has moved to their outbox." },
	{ "walpost_scheduled_attempts_failed_total", "counter", "", FROM_COUNT,
	  AT(scheduled.attempts_failed),
	  "Failed attempts to move a scheduled event that does not fit its outbox." },
	{ "walpost_scheduled_due", "gauge", "", FROM_FAMILY, BY(scheduled_due),
	  "Scheduled events that are due and not moved yet, counted up to 1000; this and the "
	  "following three are absent unless the relay streams and walpost.scheduled exists." },
	{ "walpost_scheduled_overdue", "gauge", "", FROM_FAMILY, BY(scheduled_overdue),
	  "Those that have been due for more than ten seconds, counted up to 1000." },
	{ "walpost_scheduled_failed", "gauge", "", FROM_FAMILY, BY(scheduled_failed),
	  "Scheduled events set aside because they do not fit their outbox, counted up to 1000; "
	  "each is retried." },
	{ "walpost_scheduled_oldest_seconds", "gauge", "", FROM_FAMILY, BY(scheduled_late),
	  "Time since the oldest of these events was due; 0: none." },
	{ "walpost_scheduling_unavailable", "gauge", "", FROM_FAMILY, BY(scheduling_unavailable),
	  "1 while scheduled events cannot be moved." },
	{ "walpost_cleanup_removed_total", "counter", "outbox", FROM_FAMILY, BY(removed),
	  "Rows deleted or marked by this relay, with cleanup.mode; absent without. So are the "
	  "following two." },
	{ "walpost_cleanup_waiting", "gauge", "", FROM_FAMILY, BY(cleanup_waits),
	  "1 while nothing of an outbox may be removed, by a transaction that runs or by its "
	  "publication, say." },
	{ "walpost_cleanup_unavailable", "gauge", "", FROM_FAMILY, BY(cleanup_unavailable),
	  "1 while old rows cannot be looked for or removed, for lack of a privilege, say." },
	{ "walpost_events_dropped_total", "counter", "outbox, reason", FROM_FAMILY, BY(dropped),
	  "Events that were not sent to their topic: of a type under outbox.skip.types, or "
	  "expired (dropped, or sent to the dead-letter topic); absent until there is one." },
	{ "walpost_ignored_total", "counter", "reason", FROM_FAMILY, BY(ignored),
	  "Rows and messages in the WAL that were not events." },
	{ "walpost_errors_total", "counter", "event", FROM_FAMILY, BY(errors),
	  "Log lines of level error, by event; the runbook has an entry for each." },
	{ "walpost_warnings_total", "counter", "event", FROM_FAMILY, BY(warnings),
	  "Log lines of level warn, by event, at any log.level. A text of postgres_notice is "
	  "logged once, and counted each time." },
	{ "walpost_delivery_seconds", "histogram", "topic", FROM_FAMILY, BY(delivery),
	  "Time from a transaction's commit to the delivery report of each of its events, by the "
	  "clocks of both machines. Topics beyond the first 64 are counted as other." },
	{ "walpost_state", "gauge", "state", FROM_FAMILY, BY(state),
	  "1 for the current state of the relay." },
	{ "walpost_state_transitions_total", "counter", "to", FROM_FAMILY, BY(transitions),
	  "Transitions into a state." },
	{ "walpost_ready", "gauge", "", FROM_BOOL, AT(verdict.ready),
	  "1 if /readyz reports ready; a standby is ready." },
	{ "walpost_oldest_unconfirmed_seconds", "gauge", "", FROM_FAMILY, BY(oldest),
	  "Age of the oldest commit that was read and has an unconfirmed event; 0: none." },
	{ "walpost_lag_bytes", "gauge", "", FROM_FAMILY, BY(lag),
	  "WAL between the confirmed LSN and the server's position; absent before the first "
	  "stream, and on a standby." },
	{ "walpost_confirmed_lsn_bytes", "gauge", "", FROM_COUNT, AT(relay.confirmed_lsn),
	  "Confirmed LSN, as bytes since 0/0." },
	{ "walpost_read_lsn_bytes", "gauge", "", FROM_COUNT, AT(relay.read),
	  "Received LSN, as bytes since 0/0." },
	{ "walpost_server_lsn_bytes", "gauge", "", FROM_COUNT, AT(relay.server),
	  "Last known end of the server's WAL, as bytes since 0/0." },
	{ "walpost_in_flight_events", "gauge", "", FROM_SIZE, AT(relay.in_flight),
	  "Events in flight: sent to Kafka and not yet confirmed." },
	{ "walpost_in_flight_events_limit", "gauge", "", FROM_SIZE, AT(relay.in_flight_max),
	  "Limit of events in flight: relay.in_flight.events; increases with 512 or more "
	  "partitions in use, as described at relay.in_flight.bytes_max." },
	{ "walpost_in_flight_bytes", "gauge", "", FROM_SIZE, AT(relay.in_flight_bytes),
	  "Size of the events in flight." },
	{ "walpost_in_flight_bytes_limit", "gauge", "", FROM_SIZE, AT(relay.in_flight_bytes_max),
	  "Limit of the size of events in flight: relay.in_flight.bytes; increases with 512 or "
	  "more partitions in use, up to relay.in_flight.bytes_max." },
	{ "walpost_reconnects_total", "counter", "", FROM_COUNT, AT(relay.reconnects),
	  "Streams that broke and were started again." },
	{ "walpost_rewinds_total", "counter", "", FROM_COUNT, AT(relay.rewinds),
	  "Restarts of the stream at the confirmed LSN after an event was refused." },
	{ "walpost_keepalives_total", "counter", "", FROM_COUNT, AT(relay.keepalives),
	  "Keepalive messages from the server." },
	{ "walpost_status_messages_total", "counter", "", FROM_COUNT, AT(relay.statuses),
	  "Status updates sent to the server." },
	{ "walpost_seconds_since_received", "gauge", "", FROM_TIME, AT(relay.heard_ms),
	  "Time since the last message from the server; absent before the first." },
	{ "walpost_seconds_since_confirmed", "gauge", "", FROM_TIME, AT(relay.confirmed_ms),
	  "Time since the last successful delivery report; absent before the first." },
	{ "walpost_slot_retained_bytes", "gauge", "", FROM_FAMILY, BY(retained),
	  "WAL that the server keeps for the slot; absent unless streaming." },
	{ "walpost_slot_safe_wal_size_bytes", "gauge", "", FROM_FAMILY, BY(safe_wal_size),
	  "WAL that may still be written before the slot can be lost; absent without "
	  "max_slot_wal_keep_size." },
	{ "walpost_slot_seconds_to_invalidation", "gauge", "", FROM_FAMILY, BY(to_invalidation),
	  "Time until the slot can be lost, at the rate of the last minutes; +Inf: none foreseen; "
	  "absent without max_slot_wal_keep_size." },
	{ "walpost_slot_wal_status", "gauge", "status", FROM_FAMILY, BY(wal_status),
	  "1 for the slot's pg_replication_slots.wal_status; absent unless streaming, except for "
	  "lost." },
	{ "walpost_topic_missing", "gauge", "", FROM_BOOL, AT(relay.waiting),
	  "1 while the relay waits for a missing or forbidden topic, or for a permission on the "
	  "cluster." },
	{ "walpost_schema_missing", "gauge", "", FROM_FAMILY, BY(schema_missing),
	  "1 while an event waits for the id of its schema; absent, as the following metrics, "
	  "without "
	  "outbox.schema.registry." },
	{ "walpost_schema_registry_reachable", "gauge", "", FROM_FAMILY, BY(registry_reachable),
	  "1 if the schema registry answered the last request." },
	{ "walpost_schema_registry_failures_total", "counter", "", FROM_FAMILY,
	  BY(registry_failures),
	  "Requests to the schema registry that failed or were refused; subjects known already "
	  "keep "
	  "their ids." },
	{ "walpost_schema_subjects", "gauge", "", FROM_FAMILY, BY(registry_subjects),
	  "Subjects whose schema ids are known." },
	{ "walpost_kafka_reachable", "gauge", "", FROM_BOOL, AT(relay.sink_reachable),
	  "1 if the last contact with Kafka succeeded." },
	{ "walpost_kafka_throttle_seconds_total", "counter", "", FROM_MS,
	  AT(relay.sink_throttled_ms),
	  "Time for which brokers throttled walpost because of a quota, as their answers say." },
	{ "walpost_kafka_data_loss_total", "counter", "", FROM_COUNT, AT(relay.sink_data_losses),
	  "Times the offset of a partition went back: Kafka lost confirmed records." },
	{ "walpost_kafka_queue_messages", "gauge", "", FROM_STATISTICS, AT(kafka.messages),
	  "Messages in librdkafka's queues; this and the following metrics are as of its last "
	  "statistics." },
	{ "walpost_kafka_queue_bytes", "gauge", "", FROM_STATISTICS, AT(kafka.bytes),
	  "Bytes in librdkafka's queues." },
	{ "walpost_kafka_requests_total", "counter", "", FROM_STATISTICS, AT(kafka.requests),
	  "Requests sent to brokers; reset by a new client, for example after a rewind." },
	{ "walpost_kafka_sent_bytes_total", "counter", "", FROM_STATISTICS, AT(kafka.sent_bytes),
	  "Bytes sent to brokers; reset by a new client." },
	{ "walpost_kafka_retries_total", "counter", "", FROM_STATISTICS, AT(kafka.retries),
	  "Retried requests; reset by a new client." },
	{ "walpost_kafka_timeouts_total", "counter", "", FROM_STATISTICS, AT(kafka.timeouts),
	  "Requests that timed out; reset by a new client." },
	{ "walpost_kafka_broker_up", "gauge", "broker", FROM_FAMILY, BY(broker_up),
	  "1 for a connected broker; at most 32 brokers are listed." },
	{ "walpost_kafka_broker_rtt_seconds", "gauge", "broker, quantile", FROM_FAMILY,
	  BY(broker_rtt), "Round trip of requests to a broker, in the last interval." },
	{ "walpost_log_lines_dropped_total", "counter", "", FROM_COUNT, AT(log_dropped),
	  "Log lines dropped because standard error was full." },
	{ "walpost_http_requests_total", "counter", "code", FROM_FAMILY, BY(requests),
	  "HTTP requests answered." },
	{ "walpost_reloads_total", "counter", "result", FROM_FAMILY, BY(reloads),
	  "Reloads of the configuration (SIGHUP); refused: invalid, or taken back." },
	{ "walpost_reload_refused", "gauge", "", FROM_BOOL, AT(reloads.last_refused),
	  "1 if the last reload was refused: the file differs from the configuration in effect." },
	{ "walpost_build_info", "gauge", "version, libpq, librdkafka", FROM_FAMILY, BY(build_info),
	  "Always 1; the labels are the versions." },
	{ "process_resident_memory_bytes", "gauge", "", FROM_COUNT, AT(process.resident_bytes),
	  "Resident memory of the process." },
	{ "process_cpu_seconds_total", "counter", "", FROM_MS, AT(process.cpu_ms),
	  "CPU time of the process, user and system." },
	{ "process_open_fds", "gauge", "", FROM_COUNT, AT(process.open_fds),
	  "Open file descriptors." },
	{ "process_max_fds", "gauge", "", FROM_COUNT, AT(process.max_fds),
	  "Limit of open file descriptors." },
	{ "process_threads", "gauge", "", FROM_COUNT, AT(process.threads), "Threads." },
	{ "process_start_time_seconds", "gauge", "", FROM_FAMILY, BY(started),
	  "Start time of the process, in seconds since 1970." },
};

#define METRIC_COUNT (sizeof(metrics) / sizeof(metrics[0]))

static void put_value(struct writer *w, const struct metric *m, const struct wp_telemetry *v)
{
	const void *at = (const uint8_t *)v + m->offset;

	switch (m->source) {
	case FROM_COUNT:
		put_count(w, NULL, NULL, *(const uint64_t *)at);
		break;
	case FROM_SIZE:
		put_count(w, NULL, NULL, *(const size_t *)at);
		break;
	case FROM_BOOL:
		put_count(w, NULL, NULL, *(const bool *)at);
		break;
	case FROM_STATISTICS:
		if (v->kafka.known)
			put_count(w, NULL, NULL, *(const uint64_t *)at);
		break;
	case FROM_TIME:
		if (*(const int64_t *)at != INT64_MIN)
			put_number(w, NULL, NULL, (double)(v->now.ms - *(const int64_t *)at) / 1e3);
		break;
	case FROM_MS:
		put_number(w, NULL, NULL, (double)*(const uint64_t *)at / 1e3);
		break;
	case FROM_FAMILY:
		m->family(w, v);
		break;
	}
}

enum wp_rc wp_metrics_write(struct wp_buffer *into, const struct wp_telemetry *v)
{
	struct writer w = { .to = { .into = into } };

	for (size_t i = 0; i < METRIC_COUNT && w.to.rc == WP_OK; i++) {
		w.name = metrics[i].name;
		wp_writer_printf(&w.to, "# HELP %s %s\n# TYPE %s %s\n", metrics[i].name,
				 metrics[i].help, metrics[i].name, metrics[i].type);
		put_value(&w, &metrics[i], v);
	}
	return w.to.rc;
}

enum wp_rc wp_metrics_reference(struct wp_buffer *into)
{
	enum wp_rc rc = wp_buffer_append_text(into, "| metric | labels | type | meaning |\n"
						    "|---|---|---|---|\n");

	for (size_t i = 0; i < METRIC_COUNT && rc == WP_OK; i++)
		rc = wp_buffer_printf(into, "| `%s` | %s | %s | %s |\n", metrics[i].name,
				      metrics[i].labels, metrics[i].type, metrics[i].help);
	return rc;
}
