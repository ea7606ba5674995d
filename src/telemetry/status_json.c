/* Writes /status: all that can be told, as one JSON object. */
#include <inttypes.h>
#include <string.h>

#include "walpost/base/display.h"
#include "walpost/base/json.h"
#include "walpost/base/utf8.h"
#include "walpost/telemetry/telemetry.h"

struct writer {
	struct wp_writer to;
	bool first; /* of the object or array that is open: no comma yet */
};

/* A text that was cut may end within a character, or may never have been UTF-8. */
static void put_string(struct writer *w, const char *text)
{
	struct wp_span whole = wp_span_of(text);
	char clean[2 * WP_VITALS_REASON_SIZE];
	size_t size = 0;

	if (wp_utf8_is_valid(whole)) {
		wp_writer_keep(&w->to, wp_json_write_string(w->to.into, whole, WP_JSON_DISPLAY));
		return;
	}
	for (size_t i = 0; i < whole.size;) {
		struct wp_display shown;
		i += wp_display_next(whole.data + i, whole.size - i, &shown);
		if (size + shown.size > sizeof(clean))
			break;
		memcpy(clean + size, shown.text, shown.size);
		size += shown.size;
	}
	wp_writer_keep(&w->to,
		       wp_json_write_string(
			       w->to.into,
			       (struct wp_span){ .data = (const uint8_t *)clean, .size = size },
			       WP_JSON_DISPLAY));
}

static void separate(struct writer *w)
{
	if (!w->first)
		wp_writer_put(&w->to, ",");
	w->first = false;
}

static void name(struct writer *w, const char *member)
{
	separate(w);
	wp_writer_printf(&w->to, "\"%s\":", member);
}

/* `member` is NULL within an array. */
static void open_with(struct writer *w, const char *member, const char *bracket)
{
	if (member != NULL)
		name(w, member);
	else
		separate(w);
	wp_writer_put(&w->to, bracket);
	w->first = true;
}

static void close_with(struct writer *w, const char *bracket)
{
	wp_writer_put(&w->to, bracket);
	w->first = false;
}

static void text(struct writer *w, const char *member, const char *value)
{
	name(w, member);
	put_string(w, value);
}

static void text_or_null(struct writer *w, const char *member, const char *value)
{
	name(w, member);
	if (value[0] != '\0')
		put_string(w, value);
	else
		wp_writer_put(&w->to, "null");
}

static void count(struct writer *w, const char *member, uint64_t value)
{
	name(w, member);
	wp_writer_printf(&w->to, "%" PRIu64, value);
}

static void yes_no(struct writer *w, const char *member, bool value)
{
	name(w, member);
	wp_writer_put(&w->to, value ? "true" : "false");
}

static void number_or_null(struct writer *w, const char *member, bool known, double value)
{
	name(w, member);
	if (known)
		wp_writer_printf(&w->to, "%.15g", value);
	else
		wp_writer_put(&w->to, "null");
}

/* 0 is no position of a log. */
static void lsn_or_null(struct writer *w, const char *member, wp_lsn value)
{
	char shown[WP_LSN_TEXT_SIZE];

	text_or_null(w, member, value != 0 ? wp_lsn_text(value, shown) : "");
}

/* ---- parts ---- */

static void write_identity(struct writer *w, const struct wp_telemetry *v)
{
	text(w, "version", v->version);
	text(w, "libpq", v->libpq);
	text(w, "librdkafka", v->librdkafka);
	text(w, "owner", v->owner);
	text(w, "slot", v->slot);
	text(w, "publication", v->publication);
	text(w, "sink", v->sink);
}

static void write_verdict(struct writer *w, const struct wp_telemetry *v)
{
	yes_no(w, "live", v->verdict.live);
	yes_no(w, "ready", v->verdict.ready);
	open_with(w, "reasons", "[");
	for (size_t i = 0; i < v->verdict.reason_count; i++) {
		separate(w);
		put_string(w, v->verdict.reasons[i]);
	}
	close_with(w, "]");
	text(w, "state", wp_state_name(v->relay.state));
	number_or_null(w, "seconds_in_state", true, wp_telemetry_age(v, v->relay.entered_ms));
	count(w, "uptime_seconds", (uint64_t)wp_telemetry_uptime(v));
}

static void write_progress(struct writer *w, const struct wp_telemetry *v)
{
	const struct wp_relay_snapshot *r = &v->relay;
	uint64_t lag;
	bool lag_known = wp_relay_lag(&v->relay, &lag);
	double received = wp_telemetry_age(v, r->heard_ms);
	double confirmed = wp_telemetry_age(v, r->confirmed_ms);

	lsn_or_null(w, "confirmed_lsn", lag_known ? r->confirmed_lsn : 0);
	lsn_or_null(w, "read_lsn", lag_known ? r->read : 0);
	lsn_or_null(w, "server_lsn", r->server);
	text_or_null(w, "slot_holder", r->holder);
	number_or_null(w, "lag_bytes", lag_known, (double)lag);
	number_or_null(w, "oldest_unconfirmed_seconds", r->oldest.any, wp_telemetry_oldest(v));
	number_or_null(w, "seconds_since_received", received >= 0, received);
	number_or_null(w, "seconds_since_confirmed", confirmed >= 0, confirmed);
	open_with(w, "in_flight", "{");
	count(w, "events", r->in_flight);
	count(w, "events_limit", r->in_flight_max);
	count(w, "bytes", r->in_flight_bytes);
	count(w, "bytes_limit", r->in_flight_bytes_max);
	close_with(w, "}");
}

/* Writes how many were dropped, by outbox. */
static void write_dropped(struct writer *w, const struct wp_drop_counts *c)
{
	open_with(w, "dropped", "[");
	for (size_t i = 0; c != NULL && i < c->count; i++) {
		open_with(w, NULL, "{");
		text(w, "outbox", c->items[i].outbox);
		count(w, "type", c->items[i].types);
		count(w, "expired", c->items[i].expired);
		close_with(w, "}");
	}
	close_with(w, "]");
}

static void write_counts(struct writer *w, const struct wp_telemetry *v)
{
	const struct wp_relay_snapshot *r = &v->relay;

	open_with(w, "events", "{");
	count(w, "confirmed", r->confirmed);
	count(w, "sent", r->counts.events);
	count(w, "bytes", r->counts.bytes);
	count(w, "transactions", r->counts.transactions);
	count(w, "dead_letters", r->counts.dead_letters);
	count(w, "reissued", r->counts.reissued);
	close_with(w, "}");
	write_dropped(w, r->dropped);
	open_with(w, "ignored", "{");
	count(w, "ignored_table", r->counts.ignored);
	count(w, "update", r->counts.updates);
	count(w, "delete", r->counts.deletes);
	count(w, "truncate", r->counts.truncates);
	count(w, "message_prefix", r->counts.messages);
	count(w, "message_not_transactional", r->counts.messages_refused);
	count(w, "reissue_of_unknown_outbox", r->counts.reissues_refused);
	count(w, "reissue_of_other_slot", r->counts.reissues_elsewhere);
	close_with(w, "}");
	count(w, "reconnects", r->reconnects);
	count(w, "rewinds", r->rewinds);
	count(w, "keepalives", r->keepalives);
	count(w, "status_messages", r->statuses);
}

/* What is in the table is known while the relay streams. */
static void write_parked(struct writer *w, const struct wp_telemetry *v)
{
	const struct wp_parking_figures *p = &v->relay.parking;
	bool known = wp_telemetry_parked(v) != NULL;

	open_with(w, "parked", "{");
	yes_no(w, "on", p->on);
	number_or_null(w, "aggregates", known, (double)p->aggregates);
	number_or_null(w, "events", known, (double)p->events);
	number_or_null(w, "oldest_seconds", known && p->events > 0, wp_telemetry_parked_age(v));
	open_with(w, "aggregates_by_code", "{");
	for (size_t i = 0; known && i < p->code_count; i++) {
		if (p->codes[i].aggregates > 0)
			count(w, p->codes[i].code, p->codes[i].aggregates);
	}
	close_with(w, "}");
	count(w, "parked", p->parked);
	count(w, "delivered", p->delivered);
	count(w, "attempts_failed", p->failed);
	count(w, "dead_letters", p->dead_letters);
	count(w, "skipped", p->skipped);
	text_or_null(w, "trouble", p->trouble);
	close_with(w, "}");
}

/* The figures are as of the last answer of the server, while the relay streams. */
static void write_scheduled(struct writer *w, const struct wp_telemetry *v)
{
	const struct wp_scheduled_figures *s = &v->scheduled;

	open_with(w, "scheduled", "{");
	number_or_null(w, "due", s->known, (double)s->due);
	number_or_null(w, "overdue", s->known, (double)s->overdue);
	number_or_null(w, "failed", s->known, (double)s->failed);
	number_or_null(w, "oldest_seconds", s->known && s->due + s->failed > 0,
		       (double)s->late_ms / 1e3);
	count(w, "moved", s->moved);
	count(w, "attempts_failed", s->attempts_failed);
	text_or_null(w, "trouble", s->trouble.text);
	close_with(w, "}");
}

/* Writes null when rows stay. */
static void write_cleanup(struct writer *w, const struct wp_cleanup_view *c)
{
	if (c == NULL) {
		text_or_null(w, "cleanup", "");
		return;
	}
	open_with(w, "cleanup", "{");
	open_with(w, "removed", "[");
	for (size_t i = 0; i < c->count; i++) {
		open_with(w, NULL, "{");
		text(w, "outbox", c->counts[i].outbox);
		count(w, "rows", c->counts[i].removed);
		close_with(w, "}");
	}
	close_with(w, "]");
	text_or_null(w, "waits", c->waits.text);
	text_or_null(w, "trouble", c->trouble.text);
	close_with(w, "}");
}

static void write_slot(struct writer *w, const struct wp_telemetry *v)
{
	const struct wp_relay_slot *s = &v->relay.slot;

	open_with(w, "slot_wal", "{");
	text_or_null(w, "status", s->known ? wp_telemetry_keeping(s->keeping) : "");
	number_or_null(w, "retained_bytes", s->known && s->retained >= 0, (double)s->retained);
	number_or_null(w, "safe_wal_size_bytes", s->known && s->limited, (double)s->safe_size);
	number_or_null(w, "seconds_to_invalidation",
		       s->known && s->limited && s->seconds != INT64_MAX, (double)s->seconds);
	close_with(w, "}");
}

static void write_broker(struct writer *w, const struct wp_sink_broker *b)
{
	open_with(w, NULL, "{");
	text(w, "broker", b->name);
	yes_no(w, "up", b->up);
	number_or_null(w, "rtt_p50_seconds", b->rtt_p99_us > 0, (double)b->rtt_p50_us / 1e6);
	number_or_null(w, "rtt_p99_seconds", b->rtt_p99_us > 0, (double)b->rtt_p99_us / 1e6);
	close_with(w, "}");
}

static void write_kafka(struct writer *w, const struct wp_telemetry *v)
{
	const struct wp_sink_figures *k = &v->kafka;

	open_with(w, "kafka", "{");
	yes_no(w, "reachable", v->relay.sink_reachable);
	yes_no(w, "throttled", v->relay.sink_throttled);
	text_or_null(w, "missing_topic", wp_telemetry_missing_topic(v));
	count(w, "data_losses", v->relay.sink_data_losses);
	number_or_null(w, "queue_messages", k->known, (double)k->messages);
	number_or_null(w, "queue_bytes", k->known, (double)k->bytes);
	open_with(w, "brokers", "[");
	for (size_t i = 0; i < k->broker_count; i++)
		write_broker(w, &k->brokers[i]);
	close_with(w, "]");
	close_with(w, "}");
}

static void write_quantile(struct writer *w, const char *member, const struct wp_meter_histogram *h,
			   double share)
{
	int64_t us = wp_meter_quantile_us(h, share);

	number_or_null(w, member, us != INT64_MAX, (double)us / 1e6);
}

/* Without outbox.schema.registry no schema is known, and none is missing. */
static void write_schemas(struct writer *w, const struct wp_telemetry *v)
{
	const struct wp_telemetry_schemas *s = &v->schemas;

	open_with(w, "schemas", "{");
	yes_no(w, "registry_reachable", s->is_reachable);
	count(w, "registry_failures", s->failures);
	count(w, "subjects", s->subjects);
	text_or_null(w, "missing_subject",
		     v->relay.waiting_subject != NULL ? v->relay.waiting_subject : "");
	close_with(w, "}");
}

static void write_topics(struct writer *w, const struct wp_telemetry *v)
{
	open_with(w, "topics", "[");
	for (size_t i = 0; i < v->meter->topic_count; i++) {
		const struct wp_meter_topic *t = &v->meter->topics[i];
		if (t->delivery.count == 0)
			continue;
		open_with(w, NULL, "{");
		text(w, "topic", t->name[0] ? t->name : "other");
		count(w, "confirmed", t->delivery.count);
		write_quantile(w, "delivery_p50_seconds", &t->delivery, 0.5);
		write_quantile(w, "delivery_p99_seconds", &t->delivery, 0.99);
		close_with(w, "}");
	}
	close_with(w, "]");
}

static void write_reloads(struct writer *w, const struct wp_telemetry *v)
{
	open_with(w, "reloads", "{");
	count(w, "done", v->reloads.done);
	count(w, "refused", v->reloads.refused);
	yes_no(w, "last_refused", v->reloads.last_refused);
	close_with(w, "}");
}

static void write_process(struct writer *w, const struct wp_telemetry *v)
{
	open_with(w, "process", "{");
	count(w, "resident_bytes", v->process.resident_bytes);
	number_or_null(w, "cpu_seconds", true, (double)v->process.cpu_ms / 1e3);
	count(w, "open_fds", v->process.open_fds);
	count(w, "max_fds", v->process.max_fds);
	count(w, "threads", v->process.threads);
	close_with(w, "}");
}

static void write_notes(struct writer *w, const struct wp_telemetry *v)
{
	char time[WP_CALENDAR_TEXT_SIZE];

	open_with(w, "notes", "[");
	for (size_t i = v->log->line_count; i > 0; i--) {
		const struct wp_log_remembered *line = wp_log_memory_line(v->log, i - 1);
		open_with(w, NULL, "{");
		text(w, "time", wp_telemetry_time(line->wall_ms, time));
		text(w, "level", wp_log_level_name(line->level));
		text(w, "event", line->event);
		text_or_null(w, "reason", line->error);
		close_with(w, "}");
	}
	close_with(w, "]");
}

enum wp_rc wp_status_json(struct wp_buffer *into, const struct wp_telemetry *v)
{
	struct writer w = { .to = { .into = into }, .first = true };

	wp_writer_put(&w.to, "{");
	write_identity(&w, v);
	write_verdict(&w, v);
	write_progress(&w, v);
	write_counts(&w, v);
	write_parked(&w, v);
	write_scheduled(&w, v);
	write_cleanup(&w, v->relay.cleanup);
	write_slot(&w, v);
	write_kafka(&w, v);
	write_schemas(&w, v);
	write_topics(&w, v);
	write_reloads(&w, v);
	write_process(&w, v);
	write_notes(&w, v);
	wp_writer_put(&w.to, "}\n");
	return w.to.rc;
}
