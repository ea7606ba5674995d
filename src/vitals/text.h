/* What /status and the page share: words and figures of the vitals. */
#ifndef WALPOST_SRC_VITALS_TEXT_H
#define WALPOST_SRC_VITALS_TEXT_H

#include "walpost/vitals/vitals.h"

/* 2026-11-23T01:02:03Z */
#define WP_VITALS_TIME_SIZE 24
char *wp_vitals_time(int64_t wall_ms, char text[WP_VITALS_TIME_SIZE]);
const char *wp_vitals_keeping(enum wp_keeping keeping);
/* Seconds since then; below 0: never. */
double wp_vitals_age(const struct wp_vitals *v, int64_t at_ms);
/* Of the oldest commit that is not confirmed; 0: there is none. */
double wp_vitals_oldest(const struct wp_vitals *v);
double wp_vitals_uptime(const struct wp_vitals *v);
/* "": none. */
const char *wp_vitals_missing_topic(const struct wp_vitals *v);

#endif
