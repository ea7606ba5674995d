/* CloudEvents to write, for the tests of what writes them. */
#ifndef WALPOST_TESTS_OUTBOX_CLOUDEVENTS_H
#define WALPOST_TESTS_OUTBOX_CLOUDEVENTS_H

#include "walpost/envelope/cloudevent.h"

#define TIME_US INT64_C(1522949460123456) /* 2018-04-05T17:31:00.123456Z */

/* The event to write, and its extensions when it is full. */
static struct wp_cloudevent event;
static struct wp_header extensions[2];

/* What every event has, and no data. */
static inline void bare_event(void)
{
	event = (struct wp_cloudevent){
		.id = wp_span_of("7"),
		.source = wp_span_of("/orders"),
		.type = wp_span_of("placed"),
		.time_us = TIME_US,
	};
}

/* All that an event can have. */
static inline void full_event(void)
{
	bare_event();
	extensions[0] = (struct wp_header){ wp_span_of("tenant"), wp_span_of("t1") };
	extensions[1] = (struct wp_header){ wp_span_of("region2"), wp_span_of("") };
	event.subject = wp_span_of("order 42");
	event.datacontenttype = wp_span_of("application/json");
	event.dataschema = wp_span_of("https://example.com/order/1");
	event.extensions = extensions;
	event.extension_count = 2;
	event.data = wp_span_of("{\"a\": 1}");
}

#endif
