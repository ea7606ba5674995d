#include "walpost/kafka/batch.h"

/*
 * A RecordBatch of magic 2 has these parts (kafka.apache.org/documentation/#recordbatch):
 *
 *   offset 8, length 4, leader epoch 4, magic 1, crc 4, attributes 2, last
 *   offset delta 4, two timestamps 16, producer id 8, epoch 2, sequence 4,
 *   count 4                                                      = 61 bytes
 *   record: length varint, attributes 1, timestamp delta varint, offset delta
 *   varint, key, value (varint length, -1 is null), header count varint, and
 *   for each header: name, value
 *
 * In a batch of one both deltas are 0 and take a byte each.
 */
#define BATCH_OVERHEAD 61
#define RECORD_FIXED 3
#define VARINT_MAX 10

/* The varint is one of a length, or of -1: zigzag, seven bits a byte. */
static size_t varint_size(int64_t value)
{
	uint64_t zigzag = value < 0 ? (((uint64_t) - (value + 1)) << 1) + 1 : (uint64_t)value << 1;
	size_t size = 1;

	for (; zigzag >= 0x80; zigzag >>= 7)
		size++;
	return size;
}

static size_t bytes_size(struct wp_span bytes)
{
	if (wp_span_is_null(bytes))
		return varint_size(-1);
	return varint_size((int64_t)bytes.size) + bytes.size;
}

size_t wp_batch_size_of_one(const struct wp_record *record)
{
	size_t size = RECORD_FIXED + bytes_size(record->key) + bytes_size(record->value) +
		      varint_size((int64_t)record->header_count);

	for (size_t i = 0; i < record->header_count; i++)
		size += bytes_size(record->headers[i].name) + bytes_size(record->headers[i].value);
	return BATCH_OVERHEAD + varint_size((int64_t)size) + size;
}

size_t wp_batch_size_or_bound(const struct wp_record *record, size_t limit)
{
	/* There are varints for the record's length, key, value and number of headers, and two
	 * for each header. */
	size_t varints = 4 + 2 * record->header_count;
	size_t bound =
		BATCH_OVERHEAD + RECORD_FIXED + VARINT_MAX * varints + wp_record_size(record);

	return limit == 0 || bound <= limit ? bound : wp_batch_size_of_one(record);
}
