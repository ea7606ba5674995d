/* The user may say this about Kafka: librdkafka's own properties, passed through. */
#ifndef WALPOST_KAFKA_OPTIONS_H
#define WALPOST_KAFKA_OPTIONS_H

#include <stddef.h>
#include <string.h>

#include "walpost/login/options.h"

#define WP_PROPERTIES_MAX 256

struct wp_login;
struct wp_secret_file;
struct wp_throttle;

struct wp_property {
	const char *name;  /* as librdkafka spells it, e.g. "bootstrap.servers" */
	const char *value; /* may be a secret: never logged */
	const char *where; /* "walpost.conf:12", "environment WALPOST__KAFKA__...", "--set" */
	struct wp_secret_file *file; /* whose content it is, read anew for each client; or NULL */
};

struct wp_kafka_options {
	struct wp_property properties[WP_PROPERTIES_MAX];
	size_t property_count;
	struct wp_login_options login_options;
	struct wp_login *login; /* what gives a token for OAUTHBEARER; NULL: none is wanted */
	struct wp_throttle
		*throttle; /* told of each throttled answer to a producer; NULL: nobody asks */
};

/* Returns NULL when it is not set. A name stands there once. */
static inline const struct wp_property *wp_property_find(const struct wp_kafka_options *options,
							 const char *name)
{
	for (size_t i = 0; i < options->property_count; i++)
		if (strcmp(options->properties[i].name, name) == 0)
			return &options->properties[i];
	return NULL;
}

#endif
