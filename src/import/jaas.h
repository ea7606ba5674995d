/*
 * Reads the value of Kafka's sasl.jaas.config, a login module's class and its options, as Kafka's
 * JaasConfig does. Pure.
 *
 * Private to import/.
 */
#ifndef WALPOST_SRC_IMPORT_JAAS_H
#define WALPOST_SRC_IMPORT_JAAS_H

#include <stdbool.h>
#include <stddef.h>

#define WP_JAAS_SIZE_MAX 4096
#define WP_JAAS_OPTIONS_MAX 32

struct wp_jaas_option {
	const char *name; /* both in `text` */
	const char *value;
};

struct wp_jaas {
	const char *module;
	struct wp_jaas_option options[WP_JAAS_OPTIONS_MAX];
	size_t count;
	char text[WP_JAAS_SIZE_MAX];
	size_t size; /* of the text */
};

/* Returns false if the text is no such value, or too much for us. */
bool wp_jaas_read(const char *text, struct wp_jaas *ret);

#endif
