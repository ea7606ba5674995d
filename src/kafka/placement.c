/* Places keys in partitions, as librdkafka's partitioners do. */
#include <assert.h>
#include <librdkafka/rdkafka.h>
#include <stddef.h>
#include <string.h>

#include "walpost/kafka/properties.h"

typedef int32_t hash_call(const rd_kafka_topic_t *topic, const void *key, size_t key_size,
			  int32_t partition_count, void *topic_opaque, void *message_opaque);

enum unhashed { NO_KEY, NULL_KEY, EMPTY_KEY };

struct wp_placement {
	const char *name;
	hash_call *hash; /* does not look at the topic */
	enum unhashed unhashed;
};

static const struct wp_placement table[] = {
	{ "murmur2_random", rd_kafka_msg_partitioner_murmur2, NULL_KEY },
	{ "murmur2", rd_kafka_msg_partitioner_murmur2, NO_KEY },
	{ "consistent_random", rd_kafka_msg_partitioner_consistent, EMPTY_KEY },
	{ "consistent", rd_kafka_msg_partitioner_consistent, NO_KEY },
	{ "fnv1a_random", rd_kafka_msg_partitioner_fnv1a, NULL_KEY },
	{ "fnv1a", rd_kafka_msg_partitioner_fnv1a, NO_KEY },
};

const struct wp_placement *wp_placement_find(const char *name)
{
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		if (strcmp(table[i].name, name) == 0)
			return &table[i];
	}
	return NULL;
}

bool wp_placement_is_by_key(const struct wp_placement *placement, struct wp_span key)
{
	switch (placement->unhashed) {
	case NO_KEY:
		return true;
	case NULL_KEY:
		return !wp_span_is_null(key);
	case EMPTY_KEY:
		return key.size > 0;
	}
	return true;
}

int32_t wp_placement_of(const struct wp_placement *placement, struct wp_span key,
			int32_t partition_count, uint64_t random)
{
	assert(partition_count > 0);
	if (!wp_placement_is_by_key(placement, key))
		return (int32_t)(random % (uint64_t)partition_count);
	return placement->hash(NULL, key.data, key.size, partition_count, NULL, NULL);
}
