/*
 * Turns the user's properties into a librdkafka configuration: our defaults first, theirs over them, then the
 * effective values are read back (rd_kafka_conf_get), so that an alias does not slip past, and judged: what
 * would break a promise is refused with the reason.
 */
#ifndef WALPOST_KAFKA_PROPERTIES_H
#define WALPOST_KAFKA_PROPERTIES_H

#include <stdbool.h>
#include <stdint.h>

#include <librdkafka/rdkafka.h>

#include "walpost/base/error.h"
#include "walpost/base/span.h"
#include "walpost/kafka/options.h"

/* A producer may have so much in flight. */
struct wp_kafka_bounds {
	size_t in_flight_events;
	size_t in_flight_bytes;
};

/*
 * Says which partition a key belongs to, by librdkafka's own hash functions and names. We choose it, and not
 * produce, because the order of a partition depends on what is already known of it (kafka_send/decision.h).
 * Pure.
 */
struct wp_placement;

/* Finds it by the name of librdkafka's `partitioner` property; NULL when none has that name. */
const struct wp_placement *wp_placement_find(const char *name);
/* Returns false when any partition may be the key's place. */
bool wp_placement_is_by_key(const struct wp_placement *placement, struct wp_span key);
/* `random` decides for keys that this placement does not hash (null, mostly). */
int32_t wp_placement_of(const struct wp_placement *placement, struct wp_span key,
			int32_t partition_count, uint64_t random);

/* Returns WP_CONFIG with the error, which names the property, its value, where it stands, and what is
 * allowed. The caller owns `ret` (rd_kafka_conf_destroy, or rd_kafka_new takes it). */
enum wp_rc wp_properties_conf(const struct wp_kafka_options *options,
			      const struct wp_kafka_bounds *bounds, rd_kafka_conf_t **ret,
			      struct wp_error *error) WP_MUST_CHECK;

/* Gives its value; of one that comes from a file, what stands there now. The caller frees it; NULL when
 * out of memory. */
char *wp_property_now(const struct wp_property *p) WP_MUST_CHECK;
/* Gives the effective value of a number or a truth; `name` must exist. */
int64_t wp_properties_number(const rd_kafka_conf_t *conf, const char *name);
bool wp_properties_is(const rd_kafka_conf_t *conf, const char *name, const char *value);
/* Says whom Kafka's ACLs name, "User:alice", where the configuration tells it; else "". */
void wp_properties_principal(const rd_kafka_conf_t *conf, char *ret, size_t size);
/* Gives message.max.bytes, as a producer with these options has it. */
size_t wp_properties_record_max(const struct wp_kafka_options *options);
/* Says how keys are placed by a configuration that wp_properties_conf() made. */
const struct wp_placement *wp_properties_placement(const rd_kafka_conf_t *conf);

#endif
