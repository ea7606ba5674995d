/*
 * `walpost check` asks this of Kafka: are the brokers reached, do they let us in and produce, and will the
 * topics do that are known beforehand? It produces nothing and creates nothing. It blocks: the relay calls it
 * on the worker only.
 */
#ifndef WALPOST_KAFKA_INSPECT_PREFLIGHT_H
#define WALPOST_KAFKA_INSPECT_PREFLIGHT_H

#include <stdbool.h>

#include "walpost/base/display.h"
#include "walpost/base/finding.h"
#include "walpost/base/error.h"
#include "walpost/kafka/options.h"
#include "walpost/wal/lsn.h"

/* This says how it is known that events go there. */
enum wp_topic_use {
	WP_TOPIC_ROUTED,       /* an outbox names it, for all its events */
	WP_TOPIC_DEAD_LETTERS, /* those that can never be delivered */
	WP_TOPIC_SEEN,	       /* it took events before */
	WP_TOPIC_AHEAD,	       /* an event that the slot holds is for it */
};

/* The largest of the events that wait for a relay, and at whose refusal it stops. */
struct wp_topic_largest {
	size_t size; /* of its batch, without compression; 0: there is none */
	struct wp_excerpt id;
	wp_lsn until; /* its transaction commits below it */
};

struct wp_topic_wanted {
	const char *name;
	enum wp_topic_use use;
	bool may_lack_key;   /* key.null = allow */
	bool has_timestamps; /* a column gives the record's */
	struct wp_topic_largest largest;
};

/*
 * Returns WP_OK with a sentence that names brokers and cluster; WP_CONFIG for wrong properties, credentials
 * or TLS; WP_IO when nobody answered within timeout_ms.
 */
enum wp_rc wp_kafka_reach(const struct wp_kafka_options *options, int timeout_ms,
			  struct wp_error *ret_sentence, struct wp_error *error) WP_MUST_CHECK;
/*
 * Adds what it finds. When no broker answers within timeout_ms, or none lets us in, that is
 * the last finding.
 */
void wp_kafka_check(const struct wp_kafka_options *options, const struct wp_topic_wanted *topics,
		    size_t topic_count, int timeout_ms, struct wp_findings *ret);

#endif
