/* Writes the status page, but for its charts. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "walpost/base/display.h"
#include "walpost/telemetry/telemetry.h"

#include "page_parts.h"
#include "page_style.h"

static struct wp_page_shown show_seconds(double seconds)
{
	struct wp_page_shown s;

	if (seconds < 1)
		(void)snprintf(s.text, sizeof(s.text), "%.3g ms", seconds * 1e3);
	else if (seconds < 120)
		(void)snprintf(s.text, sizeof(s.text), "%.1f s", seconds);
	else if (seconds < 2 * 3600)
		(void)snprintf(s.text, sizeof(s.text), "%.0f min", seconds / 60);
	else if (seconds < 48 * 3600)
		(void)snprintf(s.text, sizeof(s.text), "%.1f h", seconds / 3600);
	else
		(void)snprintf(s.text, sizeof(s.text), "%.1f days", seconds / 86400);
	return s;
}

static struct wp_page_shown show_age(double seconds)
{
	struct wp_page_shown never = { "never" };

	return seconds < 0 ? never : show_seconds(seconds);
}

/* ---- head ---- */

/* Says what is wrong, in a few words; else what it does. */
static const char *badge_of(const struct wp_telemetry *v, const struct wp_troubles *t)
{
	static const char *const words[WP_STATE_COUNT] = {
		[WP_STREAMING] = "Streaming", [WP_PAUSED] = "Streaming",   [WP_STANDBY] = "Standby",
		[WP_DRAINING] = "Stopping",   [WP_FINISHING] = "Stopping", [WP_STOPPED] = "Stopped",
	};

	if (t->count > 0)
		return t->items[0].name;
	if (v->relay.stopping)
		return "Stopping";
	return words[v->relay.state] != NULL ? words[v->relay.state] : "Connecting";
}

static const char *badge_class(const struct wp_troubles *t, const struct wp_telemetry *v)
{
	if (t->count > 0)
		return t->items[0].is_bad ? "badge bad" : "badge warn";
	return v->verdict.ready ? "badge" : "badge idle";
}

static void put_head(struct wp_writer *w, const struct wp_telemetry *v, const struct wp_troubles *t)
{
	wp_writer_put(w, WP_PAGE_HEAD "<title>walpost: ");
	wp_page_put_text(w, badge_of(v, t));
	wp_writer_put(w, " (");
	wp_page_put_text(w, v->slot);
	wp_writer_put(w, ")</title>\n</head>\n<body>\n<main>\n");
}

static void put_header(struct wp_writer *w, const struct wp_telemetry *v,
		       const struct wp_troubles *t)
{
	wp_writer_put(w, "<header><h1>walpost</h1>");
	wp_writer_printf(w, "<span class=\"%s\" id=\"state\">", badge_class(t, v));
	wp_page_put_text(w, badge_of(v, t));
	wp_writer_put(w, "</span><span class=\"soft\">slot ");
	wp_page_put_text(w, v->slot);
	wp_writer_printf(w, " &middot; state %s for %s &middot; ", wp_state_name(v->relay.state),
			 show_seconds(wp_telemetry_age(v, v->relay.entered_ms)).text);
	wp_writer_printf(w,
			 "<a href=\"/readyz\">/readyz</a> %s &middot; up for %s</span>"
			 "</header>\n",
			 v->verdict.ready ? "200" : "503",
			 show_seconds(wp_telemetry_uptime(v)).text);
	if (v->relay.state != WP_STANDBY)
		return;
	wp_writer_put(w, "<p id=\"holder\">Standing by: ");
	if (v->relay.foreign) {
		wp_page_put_text(w, v->relay.holder);
		wp_writer_put(w, " holds the slot and is no walpost relay: nobody delivers.</p>\n");
		return;
	}
	if (v->relay.holder[0] != '\0') {
		wp_writer_put(w, "relay ");
		wp_page_put_text(w, v->relay.holder);
	} else {
		wp_writer_put(w, "another process");
	}
	wp_writer_put(w, " streams from the slot; this one takes over when it stops.</p>\n");
}

/* Puts since when, on the clock and in words. */
static void put_since(struct wp_writer *w, const struct wp_telemetry *v, int64_t since_ms)
{
	char time[WP_CALENDAR_TEXT_SIZE];
	int64_t ago_ms = v->now.ms - since_ms;

	if (since_ms == INT64_MIN)
		return;
	(void)wp_telemetry_time(v->now.wall_us / 1000 + WP_POSTGRES_EPOCH_S * 1000 - ago_ms, time);
	wp_writer_printf(w, " <span class=\"soft\">since %s (%s)</span>", time,
			 show_seconds((double)ago_ms / 1e3).text);
}

/* Puts what keeps events from their way; nothing is there when nothing does. It never shows
 * their keys. */
static void put_troubles(struct wp_writer *w, const struct wp_telemetry *v,
			 const struct wp_troubles *t)
{
	if (t->count == 0)
		return;
	wp_writer_put(w, "<section id=\"trouble\"><h2>In trouble</h2>\n<ul>\n");
	for (size_t i = 0; i < t->count; i++) {
		const struct wp_trouble *item = &t->items[i];
		wp_writer_printf(w, "<li class=\"%s\"><b>", item->is_bad ? "bad" : "warn");
		wp_page_put_text(w, item->name);
		wp_writer_put(w, "</b>");
		put_since(w, v, item->since_ms);
		wp_writer_put(w, "<p>");
		wp_page_put_text(w, item->what);
		wp_writer_put(w, "</p>");
		if (item->remedy[0] != '\0') {
			wp_writer_put(w, "<p><strong>What to do:</strong> ");
			wp_page_put_text(w, item->remedy);
			wp_writer_put(w, "</p>");
		}
		wp_writer_put(w, "</li>\n");
	}
	wp_writer_put(w, "</ul></section>\n");
}

/* ---- figures ---- */

static void put_card(struct wp_writer *w, const char *id, const char *label, const char *figure,
		     const char *below)
{
	wp_writer_printf(w,
			 "<div class=\"card\"><span class=\"soft\">%s</span><b id=\"%s\">%s</b>"
			 "<span class=\"soft\">%s</span></div>\n",
			 label, id, figure, below);
}

static void put_cards(struct wp_writer *w, const struct wp_telemetry *v)
{
	const struct wp_relay_snapshot *r = &v->relay;
	char below[128];
	uint64_t lag;

	wp_writer_put(w, "<div class=\"grid\">\n");
	(void)snprintf(below, sizeof(below), "%s confirmed since the start",
		       wp_page_count((double)r->confirmed).text);
	size_t samples = v->history->count;
	double events_s = samples == 0 ? 0 : wp_history_at(v->history, samples - 1)->events_s;
	put_card(w, "events", "Events a second", wp_page_rate(events_s).text, below);
	(void)snprintf(below, sizeof(below), "last confirmed %s%s",
		       show_age(wp_telemetry_age(v, r->confirmed_ms)).text,
		       r->confirmed_ms == INT64_MIN ? "" : " ago");
	put_card(w, "lag", "Behind the server",
		 wp_relay_lag(r, &lag) ? wp_page_bytes((double)lag).text : "not known", below);
	if (r->state == WP_STANDBY)
		put_card(w, "oldest", "Oldest unconfirmed", "not known", "another relay reads");
	else
		put_card(w, "oldest", "Oldest unconfirmed",
			 r->oldest.any ? show_seconds(wp_telemetry_oldest(v)).text : "none",
			 r->oldest.any ? "since its commit" : "everything read is confirmed");
	(void)snprintf(below, sizeof(below), "of %zu events, %s of %s", r->in_flight_max,
		       wp_page_bytes((double)r->in_flight_bytes).text,
		       wp_page_bytes((double)r->in_flight_bytes_max).text);
	put_card(w, "in-flight", "In flight", wp_page_count((double)r->in_flight).text, below);
	put_card(w, "dead-letters", "Dead letters",
		 wp_page_count((double)r->counts.dead_letters).text, "since the start");
	wp_writer_put(w, "</div>\n");
}

/* ---- tables ---- */

static void put_row(struct wp_writer *w, const char *name, const char *value)
{
	wp_writer_put(w, "<tr><th>");
	wp_page_put_text(w, name);
	wp_writer_put(w, "</th><td>");
	wp_page_put_text(w, value);
	wp_writer_put(w, "</td></tr>\n");
}

static void put_lsn_row(struct wp_writer *w, const char *name, wp_lsn lsn)
{
	char text[WP_LSN_TEXT_SIZE];

	put_row(w, name, lsn != 0 ? wp_lsn_text(lsn, text) : "not known");
}

static void put_guard_rows(struct wp_writer *w, const struct wp_relay_slot *s)
{
	if (!s->known) {
		put_row(w, "WAL kept for it", "unknown: queried only while streaming");
		return;
	}
	put_row(w, "wal_status", wp_telemetry_keeping(s->keeping));
	if (s->retained >= 0)
		put_row(w, "WAL kept for it", wp_page_bytes((double)s->retained).text);
	if (s->keeping == WP_KEEPING_LOST)
		return;
	if (!s->limited) {
		put_row(w, "limit", "none: max_slot_wal_keep_size is not set");
		return;
	}
	put_row(w, "until it may be lost", wp_page_bytes((double)s->safe_size).text);
	put_row(w, "at the present rate in",
		s->seconds == INT64_MAX ? "not foreseen" : show_seconds((double)s->seconds).text);
}

static void put_slot(struct wp_writer *w, const struct wp_telemetry *v)
{
	uint64_t lag;
	bool lag_known = wp_relay_lag(&v->relay, &lag);

	wp_writer_put(w,
		      "<section id=\"slot\"><h2>Slot and WAL</h2><div class=\"scroll\"><table>\n");
	put_row(w, "slot", v->slot);
	put_row(w, "publication", v->publication);
	put_lsn_row(w, "confirmed to the server", lag_known ? v->relay.confirmed_lsn : 0);
	put_lsn_row(w, "read", lag_known ? v->relay.read : 0);
	put_lsn_row(w, "server", v->relay.server);
	put_guard_rows(w, &v->relay.slot);
	put_row(w, "last message from the server",
		v->relay.state == WP_STANDBY
			? "not streaming"
			: show_age(wp_telemetry_age(v, v->relay.heard_ms)).text);
	wp_writer_put(w, "</table></div></section>\n");
}

static void put_broker(struct wp_writer *w, const struct wp_sink_broker *b)
{
	char shown[128];

	if (b->rtt_p99_us > 0)
		(void)snprintf(shown, sizeof(shown), "%s, round trip %s, p99 %s",
			       b->up ? "up" : "down",
			       show_seconds((double)b->rtt_p50_us / 1e6).text,
			       show_seconds((double)b->rtt_p99_us / 1e6).text);
	else
		(void)snprintf(shown, sizeof(shown), "%s", b->up ? "up" : "down");
	put_row(w, b->name, shown);
}

static void put_kafka(struct wp_writer *w, const struct wp_telemetry *v)
{
	wp_writer_put(w, "<section id=\"kafka\"><h2>Kafka</h2><div class=\"scroll\"><table>\n");
	put_row(w, "reachable", v->relay.sink_reachable ? "yes" : "no");
	if (v->relay.sink_throttled)
		put_row(w, "throttled by a quota", "yes");
	if (wp_telemetry_missing_topic(v)[0] != '\0')
		put_row(w, "waits for topic", wp_telemetry_missing_topic(v));
	if (v->relay.waiting_subject != NULL)
		put_row(w, "waits for the schema id of subject", v->relay.waiting_subject);
	if (v->relay.rewinds > 0)
		put_row(w, "rewinds since the start", wp_page_count((double)v->relay.rewinds).text);
	if (v->kafka.known)
		put_row(w, "queued in the client", wp_page_count((double)v->kafka.messages).text);
	for (size_t i = 0; i < v->kafka.broker_count; i++)
		put_broker(w, &v->kafka.brokers[i]);
	wp_writer_put(w, "</table></div></section>\n");
}

/* Nothing is there when nothing is parked. It never shows outboxes or keys. */
static void put_parked(struct wp_writer *w, const struct wp_telemetry *v)
{
	const struct wp_parking_figures *p = &v->relay.parking;
	bool known = wp_telemetry_parked(v) != NULL;

	if (!p->on || ((!known || p->events == 0) && p->trouble[0] == '\0'))
		return;
	wp_writer_put(w, "<section id=\"parked\"><h2>Parked events</h2>"
			 "<div class=\"scroll\"><table>\n");
	put_row(w, "aggregates", known ? wp_page_count((double)p->aggregates).text : "not known");
	for (size_t i = 0; known && i < p->code_count; i++) {
		if (p->codes[i].aggregates > 0)
			put_row(w, p->codes[i].code,
				wp_page_count((double)p->codes[i].aggregates).text);
	}
	put_row(w, "events", known ? wp_page_count((double)p->events).text : "not known");
	if (known && p->events > 0)
		put_row(w, "oldest parked for", show_seconds(wp_telemetry_parked_age(v)).text);
	put_row(w, "parked since the start", wp_page_count((double)p->parked).text);
	put_row(w, "delivered", wp_page_count((double)p->delivered).text);
	put_row(w, "failed attempts", wp_page_count((double)p->failed).text);
	put_row(w, "dead letters", wp_page_count((double)p->dead_letters).text);
	put_row(w, "skipped", wp_page_count((double)p->skipped).text);
	if (p->trouble[0] != '\0')
		put_row(w, "in trouble", p->trouble);
	wp_writer_put(w, "</table></div></section>\n");
}

static void put_quantile(struct wp_writer *w, const struct wp_meter_histogram *h, double share)
{
	int64_t us = wp_meter_quantile_us(h, share);

	wp_writer_printf(w, "<td class=\"number\">%s %s</td>", us == INT64_MAX ? "&gt;" : "&le;",
			 us == INT64_MAX ? "30 min" : show_seconds((double)us / 1e6).text);
}

static void put_topics(struct wp_writer *w, const struct wp_telemetry *v)
{
	bool any = false;

	for (size_t i = 0; i < v->meter->topic_count; i++)
		any |= v->meter->topics[i].delivery.count > 0;
	if (!any)
		return;
	wp_writer_put(
		w,
		"<section id=\"topics\"><h2>From commit to confirmation, by topic</h2><div "
		"class=\"scroll\"><table>\n<tr><th>topic</th><th class=\"number\">events</th><th "
		"class=\"number\">p50</th><th class=\"number\">p99</th></tr>\n");
	for (size_t i = 0; i < v->meter->topic_count; i++) {
		const struct wp_meter_topic *t = &v->meter->topics[i];
		if (t->delivery.count == 0)
			continue;
		wp_writer_put(w, "<tr><td>");
		wp_page_put_text(w, t->name[0] ? t->name : "all others");
		wp_writer_printf(w, "</td><td class=\"number\">%s</td>",
				 wp_page_count((double)t->delivery.count).text);
		put_quantile(w, &t->delivery, 0.5);
		put_quantile(w, &t->delivery, 0.99);
		wp_writer_put(w, "</tr>\n");
	}
	wp_writer_put(w, "</table></div></section>\n");
}

static void put_notes(struct wp_writer *w, const struct wp_telemetry *v)
{
	char time[WP_CALENDAR_TEXT_SIZE];

	wp_writer_put(
		w,
		"<section id=\"notes\"><h2>Recent log lines</h2><div class=\"scroll\"><table>\n");
	for (size_t i = v->log->line_count; i > 0; i--) {
		const struct wp_log_remembered *line = wp_log_memory_line(v->log, i - 1);
		wp_writer_printf(w, "<tr><td class=\"time soft\">%s</td><td class=\"event%s\">",
				 wp_telemetry_time(line->wall_ms, time),
				 line->level == WP_LOG_ERROR  ? " error"
				 : line->level == WP_LOG_WARN ? " warn-text"
							      : "");
		wp_page_put_text(w, line->event);
		wp_writer_put(w, "</td><td class=\"text\">");
		wp_page_put_text(w, line->error);
		wp_writer_put(w, "</td></tr>\n");
	}
	wp_writer_put(w, "</table></div></section>\n");
}

static void put_process(struct wp_writer *w, const struct wp_telemetry *v)
{
	char shown[64];

	wp_writer_put(w, "<section id=\"process\"><h2>Process</h2><div class=\"scroll\"><table>\n");
	put_row(w, "memory", wp_page_bytes((double)v->process.resident_bytes).text);
	put_row(w, "CPU time", show_seconds((double)v->process.cpu_ms / 1e3).text);
	(void)snprintf(shown, sizeof(shown), "%" PRIu64 " of %" PRIu64, v->process.open_fds,
		       v->process.max_fds);
	put_row(w, "descriptors", shown);
	put_row(w, "owner", v->owner);
	wp_writer_put(w, "</table></div></section>\n");
}

static void put_configuration(struct wp_writer *w, const struct wp_telemetry *v)
{
	wp_writer_put(
		w, "<section id=\"configuration\"><details><summary>Configuration, without secrets"
		   "</summary>");
	if (v->reloads.last_refused)
		wp_writer_put(w, "<p class=\"error\">The last reload was refused: this is what is "
				 "in force, and not the file.</p>");
	wp_writer_put(w, "<pre>");
	wp_page_put_text(w, v->configuration);
	wp_writer_put(w, "</pre></details></section>\n");
}

static void put_foot(struct wp_writer *w, const struct wp_telemetry *v)
{
	char time[WP_CALENDAR_TEXT_SIZE];
	int64_t wall_ms = v->now.wall_us / 1000 + WP_POSTGRES_EPOCH_S * 1000;

	wp_writer_put(w, "<footer>walpost ");
	wp_page_put_text(w, v->version);
	wp_writer_put(w, ", libpq ");
	wp_page_put_text(w, v->libpq);
	wp_writer_put(w, ", librdkafka ");
	wp_page_put_text(w, v->librdkafka);
	wp_writer_printf(w,
			 " &middot; %s &middot; <span id=\"fresh\">reload for new "
			 "figures</span> &middot; <a href=\"/status\">/status</a> "
			 "<a href=\"/metrics\">/metrics</a> "
			 "<a href=\"/livez\">/livez</a> <a href=\"/readyz\">/readyz</a>"
			 "</footer>\n</main>\n",
			 wp_telemetry_time(wall_ms, time));
	wp_writer_put(w, WP_PAGE_SCRIPT "</body>\n</html>\n");
}

enum wp_rc wp_page_html(struct wp_buffer *into, const struct wp_telemetry *v)
{
	struct wp_writer w = { .into = into, .rc = WP_OK };

	struct wp_troubles troubles;

	wp_troubles_of(v, &troubles);
	put_head(&w, v, &troubles);
	put_header(&w, v, &troubles);
	put_troubles(&w, v, &troubles);
	put_cards(&w, v);
	wp_page_put_charts(&w, v);
	wp_writer_put(&w, "<div class=\"grid wide\">\n");
	put_slot(&w, v);
	put_kafka(&w, v);
	wp_writer_put(&w, "</div>\n");
	put_parked(&w, v);
	put_topics(&w, v);
	put_notes(&w, v);
	put_process(&w, v);
	put_configuration(&w, v);
	put_foot(&w, v);
	return w.rc;
}
