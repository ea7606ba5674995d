/* What stands behind a configuration: its texts, and where each value came from. */
#ifndef WALPOST_CONFIG_STORAGE_H
#define WALPOST_CONFIG_STORAGE_H

#include <stdbool.h>
#include <stddef.h>

#include "walpost/config/option.h"

struct wp_config_value {
	const char *text; /* as given; the default until then */
	const char *where;
	bool set; /* by a source, not by default */
};

struct wp_config_storage {
	char **texts; /* owned, each and the array */
	size_t text_count;
	size_t text_capacity;
	bool complete;				       /* every source was read without an error */
	struct wp_config_value values[WP_OPTIONS_MAX]; /* in the order of the table */
};

/* A copy that lives as long as the storage. NULL: no memory. */
const char *wp_storage_keep(struct wp_config_storage *s, const char *text);

#endif
