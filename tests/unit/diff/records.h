/* Records as they would be sent, and as they are there. */
#ifndef WALPOST_TESTS_OUTBOX_RECORDS_H
#define WALPOST_TESTS_OUTBOX_RECORDS_H

#include "walpost/diff/fingerprint.h"

static const struct wp_span no_bytes = { 0 };

/* "id" and "type", and room for more. */
struct headers {
	struct wp_header items[8];
	size_t count;
};

static inline struct headers headers_of(const char *id)
{
	return (struct headers){
		.items = {
			{ .name = wp_span_of("id"), .value = wp_span_of(id) },
			{ .name = wp_span_of("type"), .value = wp_span_of("created") },
		},
		.count = 2,
	};
}

static inline void add_header(struct headers *h, const char *name, struct wp_span value)
{
	h->items[h->count++] = (struct wp_header){ .name = wp_span_of(name), .value = value };
}

/* Borrows the headers. */
static inline struct wp_record record_with(const struct headers *headers)
{
	return (struct wp_record){
		.topic = wp_span_of("orders"),
		.key = wp_span_of("customer 1"),
		.value = wp_span_of("{\"n\": 1}"),
		.headers = headers->items,
		.header_count = headers->count,
		.timestamp_ms = WP_TIMESTAMP_NOW,
		.partition = 2,
		.id = headers->items[0].value,
	};
}

#endif
