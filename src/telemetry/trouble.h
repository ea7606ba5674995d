/*
 * What keeps events from being delivered, or soon will: each with a short name, a sentence,
 * since when, and what to do. The worst first. Nothing of it: all is well.
 *
 * Bounded: WP_TROUBLES_MAX. Texts are borrowed from the telemetry. Pure.
 */
#ifndef WALPOST_SRC_TELEMETRY_TROUBLE_H
#define WALPOST_SRC_TELEMETRY_TROUBLE_H

#include "walpost/telemetry/telemetry.h"

#define WP_TROUBLES_MAX 16

struct wp_trouble {
	bool is_bad;	    /* nothing is delivered, or events may be lost; else: look at it */
	const char *name;   /* a few words, in the order of what was found */
	char what[512];	    /* cut when longer */
	const char *remedy; /* "": `what` tells */
	int64_t since_ms;   /* monotonic; INT64_MIN: not known */
};

struct wp_troubles {
	struct wp_trouble items[WP_TROUBLES_MAX];
	size_t count;
};

void wp_troubles_of(const struct wp_telemetry *v, struct wp_troubles *ret);

#endif
