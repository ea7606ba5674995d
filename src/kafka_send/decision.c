#include "decision.h"

#include <assert.h>
#include <string.h>

#include "walpost/kafka/batch.h"

/* A limit older than this is read again before an event is called too large. */
#define LIMIT_FRESH_MS 1000
/* After so long a silence a broker may have forgotten the producer on a partition. */
#define WARM_MS 600000

static enum wp_decision_kind refuse_above_limit(const struct wp_topic *topic,
						const struct wp_record *record, size_t size,
						struct wp_error *error)
{
	bool by_segment = strcmp(topic->limit_name, "segment.bytes") == 0;

	(void)wp_error_set(error, WP_DATA,
			   "an event of %zu bytes exceeds %s of %zu bytes for topic %.*s and can "
			   "never be delivered; %s",
			   size, topic->limit_name, topic->limit, (int)record->topic.size,
			   (const char *)record->topic.data,
			   by_segment ? "raise segment.bytes of the topic"
				      : "raise max.message.bytes of the topic, and "
					"message.max.bytes in [kafka]");
	return WP_DECISION_REFUSE;
}

static enum wp_decision_kind refuse_partition(const struct wp_topic *topic,
					      const struct wp_record *record,
					      struct wp_error *error)
{
	(void)wp_error_set(error, WP_DATA,
			   "an event of table %s has partition %d, but topic %s has only %d "
			   "partitions, counted from 0: correct the row's outbox.column.partition "
			   "column, or add partitions to the topic",
			   record->table, (int)record->partition, topic->name,
			   (int)topic->partition_count);
	return WP_DECISION_REFUSE;
}

static bool is_warm(const struct wp_topic_partition *partition, int64_t now_ms)
{
	return partition->confirmed_at_ms != INT64_MIN &&
	       now_ms - partition->confirmed_at_ms < WARM_MS;
}

/*
 * A broker that does not know this producer on a partition yet takes any sequence number (tried on Kafka 4.3): were the
 * first batch refused, those in flight behind it would be written. So the first record goes alone, and the others follow
 * when it is confirmed; from then on a refused batch holds up what is behind it. A broker can forget a producer (the topic
 * was made anew, its log emptied), so what may be refused for its size always goes in front alone.
 */
static enum wp_decision_kind choose_partition(const struct wp_decision_rules *rules,
					      const struct wp_topic *topic,
					      const struct wp_record *record,
					      const struct wp_decision_moment *moment,
					      bool may_be_refused, struct wp_decision *d)
{
	d->partition = record->partition;
	if (record->partition == WP_PARTITION_BY_KEY)
		d->partition = wp_placement_of(rules->placement, record->key,
					       topic->partition_count, moment->random);
	assert(d->partition >= 0 && d->partition < topic->partition_count);
	const struct wp_topic_partition *partition = &topic->partitions[d->partition];
	d->alone = may_be_refused || !is_warm(partition, moment->now_ms);
	d->is_deferred = partition->pioneer == 0 && moment->is_for_other_topics;
	return partition->pioneer != 0 || d->is_deferred ? WP_DECISION_WAIT : WP_DECISION_GO;
}

struct wp_decision wp_decide(const struct wp_decision_rules *rules, const struct wp_topic *topic,
			     const struct wp_record *record,
			     const struct wp_decision_moment *moment, struct wp_error *error)
{
	struct wp_decision d = { .kind = WP_DECISION_ASK };
	size_t size = wp_batch_size_or_bound(record, topic->limit);
	bool is_above = topic->limit > 0 && size > topic->limit;
	/* This can be told before produce only without compression: the broker measures what
	 * arrives. */
	bool is_too_large = is_above && !rules->compresses;
	bool lacks_partition =
		topic->partition_count > 0 && record->partition >= topic->partition_count;

	d.fits = !lacks_partition && !is_too_large && size <= rules->message_max;
	if (moment->is_behind)
		d.kind = WP_DECISION_WAIT;
	else if (topic->state != WP_TOPIC_READY)
		d.kind = WP_DECISION_ASK;
	else if (is_too_large && moment->now_ms - topic->answered_at_ms > LIMIT_FRESH_MS)
		d.kind = WP_DECISION_ASK; /* it may have been raised */
	else if (is_too_large)
		d.kind = refuse_above_limit(topic, record, size, error);
	else if (lacks_partition && topic->recounts)
		d.kind = refuse_partition(topic, record, error);
	else if (lacks_partition)
		d.recounts = true; /* some may have been added: they are counted first */
	else
		d.kind = choose_partition(rules, topic, record, moment, is_above, &d);
	return d;
}
