/*
 * Which partition a key belongs to, by librdkafka's own hash functions and
 * names. Chosen by us and not inside produce, because the order of a partition
 * depends on what is already known of it (see admission). Pure.
 */
#ifndef WALPOST_KAFKA_PLACEMENT_H
#define WALPOST_KAFKA_PLACEMENT_H

#include <stdint.h>

#include "walpost/base/span.h"

struct wp_placement;

/* By the name of librdkafka's `partitioner` property. NULL: none of that name. */
const struct wp_placement *wp_placement_find(const char *name);
/* False: any partition may be its place. */
bool wp_placement_is_by_key(const struct wp_placement *placement, struct wp_span key);
/* `random` decides for keys that this placement does not hash (null, mostly). */
int32_t wp_placement_of(const struct wp_placement *placement, struct wp_span key,
			int32_t partition_count, uint64_t random);

#endif
