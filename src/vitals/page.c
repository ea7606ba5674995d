#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "walpost/base/display.h"
#include "walpost/vitals/page.h"

#include "page_style.h"
#include "text.h"

#define CHART_WIDTH 300.
#define CHART_HEIGHT 60.

struct writer {
	struct wp_buffer *into;
	enum wp_rc rc;
};

static void keep(struct writer *w, enum wp_rc rc)
{
	if (w->rc == WP_OK)
		w->rc = rc;
}

static void put(struct writer *w, const char *html)
{
	keep(w, wp_buffer_append_text(w->into, html));
}

static const char *entity_of(char c)
{
	switch (c) {
	case '&':
		return "&amp;";
	case '<':
		return "&lt;";
	case '>':
		return "&gt;";
	case '"':
		return "&quot;";
	default:
		return NULL;
	}
}

/* What may be markup becomes text, and what would turn that around is escaped. Lines stay lines. */
static void put_text(struct writer *w, const char *text)
{
	size_t left = strlen(text);

	while (left > 0) {
		struct wp_display shown;
		size_t size = wp_display_next((const uint8_t *)text, left, &shown);
		const char *entity = entity_of(*text);
		put(w, entity != NULL ? entity : *text == '\n' ? "\n" : shown.text);
		text += size;
		left -= size;
	}
}

/* ---- figures as people read them ---- */

struct shown {
	char text[48];
};

static struct shown show_count(double count)
{
	struct shown s;

	if (count >= 1e9)
		(void)snprintf(s.text, sizeof(s.text), "%.2f G", count / 1e9);
	else if (count >= 1e6)
		(void)snprintf(s.text, sizeof(s.text), "%.2f M", count / 1e6);
	else if (count >= 1e4)
		(void)snprintf(s.text, sizeof(s.text), "%.1f k", count / 1e3);
	else
		(void)snprintf(s.text, sizeof(s.text), "%.0f", count);
	return s;
}

static struct shown show_bytes(double bytes)
{
	static const char *const units[] = { "B", "KiB", "MiB", "GiB", "TiB" };
	struct shown s;
	size_t i = 0;

	while (bytes >= 1024 && i + 1 < sizeof(units) / sizeof(units[0])) {
		bytes /= 1024;
		i++;
	}
	(void)snprintf(s.text, sizeof(s.text), i == 0 ? "%.0f %s" : "%.1f %s", bytes, units[i]);
	return s;
}

static struct shown show_seconds(double seconds)
{
	struct shown s;

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

static struct shown show_age(double seconds)
{
	struct shown never = { "never" };

	return seconds < 0 ? never : show_seconds(seconds);
}

/* ---- head ---- */

static const char *badge_class(const struct wp_vitals *v)
{
	if (!v->verdict.ready)
		return "badge bad";
	return v->verdict.reason_count > 0 ? "badge warn" : "badge";
}

static void put_head(struct writer *w, const struct wp_vitals *v)
{
	put(w, WP_PAGE_HEAD "<title>walpost: ");
	put_text(w, wp_state_name(v->relay.state));
	put(w, " (");
	put_text(w, v->slot);
	put(w, ")</title>\n</head>\n<body>\n<main>\n");
}

static void put_verdict(struct writer *w, const struct wp_vitals *v)
{
	put(w, "<header><h1>walpost</h1>");
	keep(w, wp_buffer_printf(w->into, "<span class=\"%s\" id=\"state\">", badge_class(v)));
	put_text(w, wp_state_name(v->relay.state));
	keep(w, wp_buffer_printf(w->into, "</span> <span>%s</span>",
				 v->verdict.ready ? "ready" : "not ready"));
	put(w, "<span class=\"soft\">slot ");
	put_text(w, v->slot);
	keep(w, wp_buffer_printf(w->into, " &middot; for %s &middot; up for %s</span></header>\n",
				 show_seconds(wp_vitals_age(v, v->relay.entered_ms)).text,
				 show_seconds(wp_vitals_uptime(v)).text));
	if (v->verdict.reason_count == 0)
		return;
	put(w, "<ul class=\"reasons\">");
	for (size_t i = 0; i < v->verdict.reason_count; i++) {
		put(w, "<li>");
		put_text(w, v->verdict.reasons[i]);
		put(w, "</li>");
	}
	put(w, "</ul>\n");
}

/* ---- figures ---- */

static void put_card(struct writer *w, const char *id, const char *label, const char *figure,
		     const char *below)
{
	keep(w, wp_buffer_printf(
			w->into,
			"<div class=\"card\"><span class=\"soft\">%s</span><b id=\"%s\">%s</b>"
			"<span class=\"soft\">%s</span></div>\n",
			label, id, figure, below));
}

static double events_now(const struct wp_vitals *v)
{
	size_t count = v->history->count;

	return count == 0 ? 0 : wp_history_at(v->history, count - 1)->events_s;
}

static void put_cards(struct writer *w, const struct wp_vitals *v)
{
	const struct wp_relay_snapshot *r = &v->relay;
	char below[128];
	uint64_t lag;

	put(w, "<div class=\"grid\">\n");
	(void)snprintf(below, sizeof(below), "%s confirmed since the start",
		       show_count((double)r->confirmed).text);
	put_card(w, "events", "Events a second", show_count(events_now(v)).text, below);
	(void)snprintf(below, sizeof(below), "last confirmed %s%s",
		       show_age(wp_vitals_age(v, r->confirmed_ms)).text,
		       r->confirmed_ms == INT64_MIN ? "" : " ago");
	put_card(w, "lag", "Behind the server",
		 wp_vitals_lag(v, &lag) ? show_bytes((double)lag).text : "not known", below);
	put_card(w, "oldest", "Oldest unconfirmed commit",
		 r->oldest.any ? show_seconds(wp_vitals_oldest(v)).text : "none",
		 r->oldest.any ? "waits for Kafka" : "all that was read is confirmed");
	(void)snprintf(below, sizeof(below), "of %zu events, %s of %s", r->in_flight_max,
		       show_bytes((double)r->in_flight_bytes).text,
		       show_bytes((double)r->in_flight_bytes_max).text);
	put_card(w, "in-flight", "In flight", show_count((double)r->in_flight).text, below);
	put_card(w, "dead-letters", "Dead letters", show_count((double)r->counts.dead_letters).text,
		 "since the start");
	put(w, "</div>\n");
}

/* ---- charts ---- */

typedef double (*figure_of)(const struct wp_history_sample *s);

static double events_of(const struct wp_history_sample *s)
{
	return s->events_s;
}

static double lag_of(const struct wp_history_sample *s)
{
	return s->lag_bytes;
}

static double in_flight_of(const struct wp_history_sample *s)
{
	return s->in_flight;
}

static double highest(const struct wp_history *h, figure_of figure)
{
	double most = 0;

	for (size_t i = 0; i < h->count; i++) {
		double here = figure(wp_history_at(h, i));
		if (here > most)
			most = here;
	}
	return most;
}

/* The newest stands at the right edge. */
static void put_points(struct writer *w, const struct wp_history *h, figure_of figure, double most)
{
	for (size_t i = 0; i < h->count; i++) {
		double x = CHART_WIDTH -
			   (double)(h->count - 1 - i) * CHART_WIDTH / (WP_HISTORY_SAMPLES - 1);
		double y = CHART_HEIGHT - 1 -
			   figure(wp_history_at(h, i)) / (most > 0 ? most : 1) * (CHART_HEIGHT - 3);
		keep(w, wp_buffer_printf(w->into, "%.1f,%.1f ", x, y));
	}
}

static void put_chart(struct writer *w, const struct wp_vitals *v, const char *label,
		      figure_of figure, struct shown (*show)(double))
{
	const struct wp_history *h = v->history;
	double most = highest(h, figure);
	double left = CHART_WIDTH - (double)(h->count > 0 ? h->count - 1 : 0) * CHART_WIDTH /
					    (WP_HISTORY_SAMPLES - 1);

	keep(w, wp_buffer_printf(w->into,
				 "<div class=\"card\"><span>%s</span> <span class=\"soft\">at most "
				 "%s in 5 minutes</span><svg viewBox=\"0 0 %.0f %.0f\" "
				 "preserveAspectRatio=\"none\" role=\"img\" aria-label=\"%s\">",
				 label, show(most).text, CHART_WIDTH, CHART_HEIGHT, label));
	if (h->count > 1) {
		keep(w,
		     wp_buffer_printf(w->into, "<polygon points=\"%.1f,%.0f ", left, CHART_HEIGHT));
		put_points(w, h, figure, most);
		keep(w, wp_buffer_printf(w->into, "%.0f,%.0f\"/><polyline points=\"", CHART_WIDTH,
					 CHART_HEIGHT));
		put_points(w, h, figure, most);
		put(w, "\"/>");
	}
	put(w, "</svg></div>\n");
}

static void put_charts(struct writer *w, const struct wp_vitals *v)
{
	put(w, "<div class=\"grid wide\">\n");
	put_chart(w, v, "Events a second", events_of, show_count);
	put_chart(w, v, "Behind the server", lag_of, show_bytes);
	put_chart(w, v, "In flight", in_flight_of, show_count);
	put(w, "</div>\n");
}

/* ---- tables ---- */

static void put_row(struct writer *w, const char *name, const char *value)
{
	put(w, "<tr><th>");
	put_text(w, name);
	put(w, "</th><td>");
	put_text(w, value);
	put(w, "</td></tr>\n");
}

static void put_lsn_row(struct writer *w, const char *name, wp_lsn lsn)
{
	char text[WP_LSN_TEXT_SIZE];

	put_row(w, name, wp_lsn_text(lsn, text));
}

static void put_guard_rows(struct writer *w, const struct wp_relay_slot *s)
{
	if (!s->known) {
		put_row(w, "log kept for it", "not known: asked for while streaming");
		return;
	}
	put_row(w, "wal_status", wp_vitals_keeping(s->keeping));
	if (s->retained >= 0)
		put_row(w, "log kept for it", show_bytes((double)s->retained).text);
	if (s->keeping == WP_KEEPING_LOST)
		return;
	if (!s->limited) {
		put_row(w, "limit", "none: max_slot_wal_keep_size is not set");
		return;
	}
	put_row(w, "until it may be lost", show_bytes((double)s->safe_size).text);
	put_row(w, "at the present rate in",
		s->seconds == INT64_MAX ? "not in sight" : show_seconds((double)s->seconds).text);
}

static void put_slot(struct writer *w, const struct wp_vitals *v)
{
	put(w, "<section id=\"slot\"><h2>Slot and WAL</h2><div class=\"scroll\"><table>\n");
	put_row(w, "slot", v->slot);
	put_row(w, "publication", v->publication);
	put_lsn_row(w, "confirmed to the server", v->relay.safe);
	put_lsn_row(w, "read", v->relay.read);
	put_lsn_row(w, "server", v->relay.server);
	put_guard_rows(w, &v->relay.slot);
	put_row(w, "last heard of the server", show_age(wp_vitals_age(v, v->relay.heard_ms)).text);
	put(w, "</table></div></section>\n");
}

static void put_broker(struct writer *w, const struct wp_sink_broker *b)
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

static void put_kafka(struct writer *w, const struct wp_vitals *v)
{
	put(w, "<section id=\"kafka\"><h2>Kafka</h2><div class=\"scroll\"><table>\n");
	put_row(w, "reachable", v->relay.sink_reachable ? "yes" : "no");
	if (wp_vitals_missing_topic(v)[0] != '\0')
		put_row(w, "waits for topic", wp_vitals_missing_topic(v));
	if (v->kafka.known)
		put_row(w, "queued in the client", show_count((double)v->kafka.messages).text);
	for (size_t i = 0; i < v->kafka.broker_count; i++)
		put_broker(w, &v->kafka.brokers[i]);
	put(w, "</table></div></section>\n");
}

static void put_quantile(struct writer *w, const struct wp_meter_histogram *h, double share)
{
	int64_t us = wp_meter_quantile_us(h, share);

	keep(w, wp_buffer_printf(w->into, "<td class=\"number\">%s %s</td>",
				 us == INT64_MAX ? "&gt;" : "&le;",
				 us == INT64_MAX ? "30 min" : show_seconds((double)us / 1e6).text));
}

static void put_topics(struct writer *w, const struct wp_vitals *v)
{
	put(w, "<section id=\"topics\"><h2>From commit to confirmation, by topic</h2>"
	       "<div class=\"scroll\"><table>\n<tr><th>topic</th><th class=\"number\">events</th>"
	       "<th class=\"number\">half</th><th class=\"number\">99 %</th></tr>\n");
	for (size_t i = 0; i < v->meter->topic_count; i++) {
		const struct wp_meter_topic *t = &v->meter->topics[i];
		if (t->delivery.count == 0)
			continue;
		put(w, "<tr><td>");
		put_text(w, t->name[0] ? t->name : "all others");
		keep(w, wp_buffer_printf(w->into, "</td><td class=\"number\">%s</td>",
					 show_count((double)t->delivery.count).text));
		put_quantile(w, &t->delivery, 0.5);
		put_quantile(w, &t->delivery, 0.99);
		put(w, "</tr>\n");
	}
	put(w, "</table></div></section>\n");
}

/* What keeps events from their way; which, in the words of the log. Never their keys. */
static void put_trouble(struct writer *w, const struct wp_vitals *v)
{
	const struct wp_relay_snapshot *r = &v->relay;

	put(w, "<section id=\"trouble\"><h2>In trouble</h2>\n");
	if (!r->isolating && r->halt_event == NULL && wp_vitals_missing_topic(v)[0] == '\0' &&
	    r->rewinds == 0) {
		put(w, "<p class=\"soft\">None.</p></section>\n");
		return;
	}
	put(w, "<div class=\"scroll\"><table>\n");
	if (r->halt_event != NULL)
		put_row(w, r->halt_event, r->halt_why);
	if (r->isolating)
		put_row(w, "refused", "an event was refused: events go one by one, to find it");
	if (wp_vitals_missing_topic(v)[0] != '\0')
		put_row(w, "topic missing or forbidden", wp_vitals_missing_topic(v));
	if (r->rewinds > 0)
		put_row(w, "rewinds since the start", show_count((double)r->rewinds).text);
	put(w, "</table></div></section>\n");
}

static void put_notes(struct writer *w, const struct wp_vitals *v)
{
	char time[WP_VITALS_TIME_SIZE];

	put(w, "<section id=\"notes\"><h2>Of note</h2><div class=\"scroll\"><table>\n");
	for (size_t i = v->log->line_count; i > 0; i--) {
		const struct wp_log_remembered *line = wp_log_memory_line(v->log, i - 1);
		keep(w, wp_buffer_printf(w->into, "<tr><td class=\"time soft\">%s</td><td%s>",
					 wp_vitals_time(line->wall_ms, time),
					 line->level == WP_LOG_ERROR  ? " class=\"error\""
					 : line->level == WP_LOG_WARN ? " class=\"warn-text\""
								      : ""));
		put_text(w, line->event);
		put(w, "</td><td class=\"text\">");
		put_text(w, line->why);
		put(w, "</td></tr>\n");
	}
	put(w, "</table></div></section>\n");
}

static void put_process(struct writer *w, const struct wp_vitals *v)
{
	char shown[64];

	put(w, "<section id=\"process\"><h2>Process</h2><div class=\"scroll\"><table>\n");
	put_row(w, "memory", show_bytes((double)v->process.resident_bytes).text);
	put_row(w, "CPU time", show_seconds((double)v->process.cpu_ms / 1e3).text);
	(void)snprintf(shown, sizeof(shown), "%" PRIu64 " of %" PRIu64, v->process.open_fds,
		       v->process.max_fds);
	put_row(w, "descriptors", shown);
	put_row(w, "owner", v->owner);
	put(w, "</table></div></section>\n");
}

static void put_configuration(struct writer *w, const struct wp_vitals *v)
{
	put(w, "<section id=\"configuration\"><details><summary>Configuration, without secrets"
	       "</summary>");
	if (v->reloads.last_refused)
		put(w, "<p class=\"error\">The last reload was refused: this is what is in force, "
		       "and not the file.</p>");
	put(w, "<pre>");
	put_text(w, v->configuration);
	put(w, "</pre></details></section>\n");
}

static void put_foot(struct writer *w, const struct wp_vitals *v)
{
	char time[WP_VITALS_TIME_SIZE];
	int64_t wall_ms = v->now.wall_us / 1000 + INT64_C(946684800000);

	put(w, "<footer>walpost ");
	put_text(w, v->version);
	put(w, ", libpq ");
	put_text(w, v->libpq);
	put(w, ", librdkafka ");
	put_text(w, v->librdkafka);
	keep(w, wp_buffer_printf(w->into,
				 " &middot; %s &middot; <span id=\"fresh\">reload for new "
				 "figures</span> &middot; <a href=\"/status\">/status</a> "
				 "<a href=\"/metrics\">/metrics</a> "
				 "<a href=\"/livez\">/livez</a> <a href=\"/readyz\">/readyz</a>"
				 "</footer>\n</main>\n",
				 wp_vitals_time(wall_ms, time)));
	put(w, WP_PAGE_SCRIPT "</body>\n</html>\n");
}

enum wp_rc wp_page_html(struct wp_buffer *into, const struct wp_vitals *v)
{
	struct writer w = { .into = into, .rc = WP_OK };

	put_head(&w, v);
	put_verdict(&w, v);
	put_cards(&w, v);
	put_charts(&w, v);
	put_trouble(&w, v);
	put(&w, "<div class=\"grid wide\">\n");
	put_slot(&w, v);
	put_kafka(&w, v);
	put(&w, "</div>\n");
	put_topics(&w, v);
	put_notes(&w, v);
	put_process(&w, v);
	put_configuration(&w, v);
	put_foot(&w, v);
	return w.rc;
}
