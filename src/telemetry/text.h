/* What /status and the page share: words and figures of the telemetry. */
#ifndef WALPOST_SRC_TELEMETRY_TEXT_H
#define WALPOST_SRC_TELEMETRY_TEXT_H

#include "walpost/telemetry/telemetry.h"

/* 2026-11-23T01:02:03Z */
#define WP_VITALS_TIME_SIZE 24
char *wp_telemetry_time(int64_t wall_ms, char text[WP_VITALS_TIME_SIZE]);
const char *wp_telemetry_keeping(enum wp_keeping keeping);
/* Seconds since then; below 0: never. */
double wp_telemetry_age(const struct wp_telemetry *v, int64_t at_ms);
/* Of the oldest commit that is not confirmed; 0: there is none. */
double wp_telemetry_oldest(const struct wp_telemetry *v);
double wp_telemetry_uptime(const struct wp_telemetry *v);
/* "": none. */
const char *wp_telemetry_missing_topic(const struct wp_telemetry *v);

#endif
