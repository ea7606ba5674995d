#include "walpost/sink/record.h"

size_t wp_record_size(const struct wp_record *record)
{
	size_t size = record->key.size + record->value.size;

	for (size_t i = 0; i < record->header_count; i++)
		size += record->headers[i].name.size + record->headers[i].value.size;
	return size;
}
