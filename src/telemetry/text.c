/* Gives the words and figures that /status, the page and the metrics share. */
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
