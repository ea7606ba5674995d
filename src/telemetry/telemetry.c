#include <assert.h>

#include "walpost/telemetry/telemetry.h"

char *wp_telemetry_time(int64_t wall_ms, char text[WP_CALENDAR_TEXT_SIZE])
{
	(void)wp_calendar_text(wall_ms > 0 ? wall_ms / 1000 : 0, text);
	return text;
}

const char *wp_telemetry_keeping(enum wp_keeping keeping)
{
	switch (keeping) {
	case WP_KEEPING_RESERVED:
		return "reserved";
	case WP_KEEPING_EXTENDED:
		return "extended";
	case WP_KEEPING_UNRESERVED:
		return "unreserved";
	case WP_KEEPING_LOST:
		return "lost";
	default:
		return "unknown";
	}
}

double wp_telemetry_age(const struct wp_telemetry *v, int64_t at_ms)
{
	return at_ms == INT64_MIN ? -1 : (double)(v->now.ms - at_ms) / 1e3;
}

double wp_telemetry_oldest(const struct wp_telemetry *v)
{
	int64_t age_us = v->now.wall_us - v->relay.oldest.commit_time_us;

	return v->relay.oldest.any && v->relay.state != WP_STANDBY && age_us > 0
		       ? (double)age_us / 1e6
		       : 0;
}

const struct wp_parking_figures *wp_telemetry_parked(const struct wp_telemetry *v)
{
	const struct wp_parking_figures *p = &v->relay.parking;

	return p->on && p->known && v->relay.state != WP_STANDBY ? p : NULL;
}

double wp_telemetry_parked_age(const struct wp_telemetry *v)
{
	int64_t since_ms = v->relay.parking.since_ms;

	return since_ms < v->now.ms ? (double)(v->now.ms - since_ms) / 1e3 : 0;
}

double wp_telemetry_uptime(const struct wp_telemetry *v)
{
	double seconds =
		(double)v->now.wall_us / 1e6 + (double)(WP_POSTGRES_EPOCH_S - v->process.started_s);

	return seconds > 0 ? seconds : 0; /* the clock was set back */
}

const char *wp_telemetry_missing_topic(const struct wp_telemetry *v)
{
	return v->relay.waiting ? v->relay.waiting_topic : "";
}

/* -- the last minutes, for the charts of the page -- */

static double rate(const struct wp_history *h, int64_t now_ms, uint64_t confirmed)
{
	if (h->at_ms == 0 || now_ms <= h->at_ms)
		return 0;
	return (double)(confirmed - h->confirmed) * 1000. / (double)(now_ms - h->at_ms);
}

void wp_history_add(struct wp_history *h, int64_t now_ms, const struct wp_relay_snapshot *s)
{
	uint64_t lag;

	if (h->count == WP_HISTORY_SAMPLES) {
		h->first = (h->first + 1) % WP_HISTORY_SAMPLES;
		h->count--;
	}
	h->samples[(h->first + h->count++) % WP_HISTORY_SAMPLES] = (struct wp_history_sample){
		.at_ms = now_ms,
		.events_s = rate(h, now_ms, s->confirmed),
		.lag_bytes = wp_relay_lag(s, &lag) ? (double)lag : -1,
		.in_flight = (double)s->in_flight,
	};
	h->confirmed = s->confirmed;
	h->at_ms = now_ms;
}

const struct wp_history_sample *wp_history_at(const struct wp_history *h, size_t index)
{
	assert(index < h->count);
	return &h->samples[(h->first + index) % WP_HISTORY_SAMPLES];
}
