/* What the user may say about Kafka: librdkafka's own properties, passed through. */
#ifndef WALPOST_KAFKA_OPTIONS_H
#define WALPOST_KAFKA_OPTIONS_H

#include <stddef.h>

#define WP_PROPERTIES_MAX 256

struct wp_property {
	const char *name;  /* as librdkafka spells it, e.g. "bootstrap.servers" */
	const char *value; /* may be a secret: never logged */
	const char *where; /* "walpost.conf:12", "environment WALPOST__KAFKA__...", "--set" */
};

struct wp_kafka_options {
	struct wp_property properties[WP_PROPERTIES_MAX];
	size_t property_count;
};

#endif
