#include "walpost/telemetry/telemetry.h"

#include <stdio.h>

#define POSTGRES_EPOCH_S INT64_C(946684800)
#define DAY_S INT64_C(86400)

/* Howard Hinnant's civil_from_days: years begin in March, eras have 400 of them. */
char *wp_telemetry_time(int64_t wall_ms, char text[WP_VITALS_TIME_SIZE])
{
	int64_t seconds = wall_ms > 0 ? wall_ms / 1000 : 0;
	int64_t days = seconds / DAY_S + 719468;
	int64_t era = days / 146097;
	int64_t of_era = days - era * 146097;
	int64_t year = (of_era - of_era / 1460 + of_era / 36524 - of_era / 146096) / 365;
	int64_t of_year = of_era - (365 * year + year / 4 - year / 100);
	int64_t month = (5 * of_year + 2) / 153;
	int day = (int)(of_year - (153 * month + 2) / 5 + 1);
	int number = (int)(month < 10 ? month + 3 : month - 9);
	int second = (int)(seconds % DAY_S);

	(void)snprintf(text, WP_VITALS_TIME_SIZE, "%04d-%02d-%02dT%02d:%02d:%02dZ",
		       (int)(year + era * 400 + (number <= 2)) % 10000, number % 100, day % 100,
		       second / 3600 % 100, second / 60 % 60, second % 60);
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
		(double)v->now.wall_us / 1e6 + (double)(POSTGRES_EPOCH_S - v->process.started_s);

	return seconds > 0 ? seconds : 0; /* the clock was set back */
}

const char *wp_telemetry_missing_topic(const struct wp_telemetry *v)
{
	return v->relay.waiting ? v->relay.waiting_topic : "";
}
