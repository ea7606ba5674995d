/*
 * Says how many bytes of a topic's max.message.bytes a record takes when it travels
 * alone: the limit applies to whole batches, and a batch of one is the smallest
 * that a record can have. Exact without compression. Pure.
 */
#ifndef WALPOST_KAFKA_BATCH_H
#define WALPOST_KAFKA_BATCH_H

#include "walpost/sink/record.h"

size_t wp_batch_size_of_one(const struct wp_record *record);
/* Returns the same, or a little more that is quicker to tell, where even that is not above `limit` (0:
 * there is none). */
size_t wp_batch_size_or_bound(const struct wp_record *record, size_t limit);

#endif
