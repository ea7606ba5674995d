/* What the user may say about the server. Strings are owned by the configuration. */
#ifndef WALPOST_POSTGRES_OPTIONS_H
#define WALPOST_POSTGRES_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "walpost/wal/pgoutput.h"

struct wp_postgres_options {
	const char *conninfo; /* libpq string or URI */
	const char *password; /* "" : none; else given to libpq as `password`. Secret */
	const char *slot;
	const char *publication;
	const char *decoding_work_mem; /* "" : the server's */
	enum wp_transfer binary;       /* how rows are sent: off is text */
	bool allow_synchronous;	       /* be counted by synchronous_standby_names */
	int64_t connect_timeout_ms;
};

/* The outbox as the server must offer it: told by who knows (outbox/table). */
struct wp_wanted_table {
	const char *schema;
	const char *name;
	const char *const *columns;
	/* What each column is in a CREATE TABLE: "uuid PRIMARY KEY". */
	const char *const *definitions;
	size_t column_count;
	/* The tables beside it whose rows may come, as the user wrote them; "" none. */
	const char *ignore;
};

#endif
