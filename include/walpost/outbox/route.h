/*
 * The topic of an event: a regular expression (pcre2) that must match the whole
 * raw topic, and a replacement; no match leaves the raw topic (Debezium's rule).
 * The result must be a valid Kafka topic name: [a-zA-Z0-9._-]{1,249}, not . or ..
 *
 * Owns: the compiled pattern and a bounded cache (1,024 raw values): the
 * expression runs once per new value. Match and depth limits are set. Pure.
 */
#ifndef WALPOST_OUTBOX_ROUTE_H
#define WALPOST_OUTBOX_ROUTE_H

#include "walpost/base/span.h"
#include "walpost/base/why.h"

struct wp_route;

/* WP_CONFIG with why: a wrong expression (with its offset) or replacement. */
enum wp_rc wp_route_new(const char *regex, const char *replacement, struct wp_route **ret,
			struct wp_why *why) WP_MUST_CHECK;
void wp_route_free(struct wp_route *r);
/* `ret` is NUL-terminated behind its end and valid until the next call.
 * WP_DATA: not a valid topic name, or the expression gave up. */
enum wp_rc wp_route_topic(struct wp_route *r, struct wp_span raw, struct wp_span *ret,
			  struct wp_why *why) WP_MUST_CHECK;

#endif
