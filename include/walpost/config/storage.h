/* Keeps what stands behind a configuration: its texts, and where each value came from. */
#ifndef WALPOST_CONFIG_STORAGE_H
#define WALPOST_CONFIG_STORAGE_H

#include <stdbool.h>
#include <stddef.h>

#include "walpost/base/error.h"
#include "walpost/base/secret_file.h"
#include "walpost/config/option.h"
#include "walpost/login/login.h"
#include "walpost/outbox/options.h"

struct wp_config_value {
	const char *text; /* as given; the default until then */
	const char *where;
	bool set;		     /* by a source, not by default */
	struct wp_secret_file *file; /* whose content it is; NULL: none. The storage's */
};

/* [outbox.NAME]: what it sets itself. */
struct wp_config_outbox {
	char name[WP_OUTBOX_NAME_SIZE];
	struct wp_config_value values[WP_OPTIONS_MAX];
};

struct wp_config_storage {
	char **texts; /* owned, each and the array */
	size_t text_count;
	size_t text_capacity;
	struct wp_secret_file **files; /* owned, each and the array */
	size_t file_count;
	struct wp_login *postgres_login; /* owned, and so is the next; NULL: none is wanted */
	struct wp_login *kafka_login;
	struct wp_config_outbox *outboxes; /* owned; in the order in which they came */
	size_t outbox_count;
	struct wp_outbox_options *composed; /* owned; once all is read */
	bool complete;			    /* every source was read without an error */
	bool file_unread;		    /* there is one, and nothing is known of it */
	struct wp_config_value values[WP_OPTIONS_MAX]; /* in the order of the table */
};

/*
 * Returns the value of an option; of a named outbox its own or, when it has none, that of [outbox]. A name
 * that is not there is as none.
 */
const struct wp_config_value *wp_storage_value(const struct wp_config_storage *s,
					       const struct wp_key *key);
/* Finds the outbox of that name; NULL when there is none. */
struct wp_config_outbox *wp_storage_find_outbox(const struct wp_config_storage *s,
						const char *name);
/* Gives the place where that outbox's values are kept, made when it is new. Returns WP_FULL past WP_OUTBOXES_MAX. */
enum wp_rc wp_storage_outbox(struct wp_config_storage *s, const char *name,
			     struct wp_config_outbox **ret) WP_MUST_CHECK;
/* Gives a file that lives as long as the storage. Returns WP_CONFIG with the error when it cannot be read; WP_NOMEM. */
enum wp_rc wp_storage_secret_file(struct wp_config_storage *s, const char *path,
				  struct wp_secret_file **ret,
				  struct wp_error *error) WP_MUST_CHECK;
/* Gives a copy that lives as long as the storage; NULL when out of memory. */
const char *wp_storage_keep(struct wp_config_storage *s, const char *text);

#endif
