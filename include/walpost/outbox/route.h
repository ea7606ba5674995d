/*
 * The topic of an event: a regular expression (pcre2) that must match the whole
 * raw topic, and a replacement; no match leaves the raw topic (Debezium's rule).
 * The result must be a valid Kafka topic name: [a-zA-Z0-9._-]{1,249}, not . or ..
 *
 * Replaced is what Java's matches() and then replaceFirst() replace: the first
 * match, which for a lazy expression or an alternative may be shorter than the
 * whole; what stands behind it stays. So an imported expression gives the topics
 * it gave before.
 *
 * ${schema} and ${table} of the replacement are those of the table that an event comes from, unless a
 * group of the expression has that name.
 *
 * Owns: the compiled pattern and a bounded cache (1,024 raw values, 256 KiB, emptied
 * when full): the expression runs once per new value. Match and depth limits are
 * set. Pure.
 */
#ifndef WALPOST_OUTBOX_ROUTE_H
#define WALPOST_OUTBOX_ROUTE_H

#include "walpost/base/span.h"
#include "walpost/base/error.h"
#include "walpost/envelope/event.h"

struct wp_route;

#define WP_TOPIC_SIZE 250 /* 249, which is Kafka's limit, and NUL */

/* Returns what keeps a name from being that of a topic for events ("is empty"); NULL: nothing. */
const char *wp_topic_name_trouble(const char *topic);

/* Without groups, variables and escapes a replacement is the topic, whatever the row says. */
bool wp_topic_is_fixed(const char *replacement);

/* WP_CONFIG with the error: a wrong expression (with its offset) or replacement. WP_NOMEM. */
enum wp_rc wp_route_new(const char *regex, const char *replacement, struct wp_route **ret,
			struct wp_error *error) WP_MUST_CHECK;
void wp_route_free(struct wp_route *r);
/* Does the replacement name ${schema} or ${table}, and no group of that name? */
bool wp_route_has_origin(const struct wp_route *r);
/* `origin` is for ${schema} and ${table}; NULL: they are empty, as of a message. `raw` is not null.
 * `ret` is NUL-terminated behind its end and valid until the next
 * call. WP_DATA: not UTF-8, not a valid topic name, or the expression gave up. WP_NOMEM. */
enum wp_rc wp_route_topic(struct wp_route *r, struct wp_span raw, const struct wp_origin *origin,
			  struct wp_span *ret, struct wp_error *error) WP_MUST_CHECK;

#endif
