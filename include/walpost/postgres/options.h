/* The user may say this about the server. Strings are owned by the configuration. */
#ifndef WALPOST_POSTGRES_OPTIONS_H
#define WALPOST_POSTGRES_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "walpost/login/options.h"
#include "walpost/wal/pgoutput.h"

/* AUTO asks for binary where all columns that we need can be read so. */
enum wp_binary { WP_BINARY_OFF, WP_BINARY_ON, WP_BINARY_AUTO };

struct wp_login;
struct wp_secret_file;

struct wp_postgres_options {
	const char *conninfo; /* libpq string or URI */
	const char *password; /* "" : none; else given to libpq as `password`. Secret */
	/* The files that these came from, read anew at each connection; NULL: they stay. */
	struct wp_secret_file *conninfo_file;
	struct wp_secret_file *password_file;
	struct wp_login_options login_options;
	struct wp_login *login; /* what gives the password instead; NULL: none is wanted */
	const char *slot;
	const char *publication;
	const char *decoding_work_mem; /* "" : the server's */
	enum wp_binary binary;	       /* how rows are sent: off is text */
	bool allow_synchronous;	       /* be counted by synchronous_standby_names */
	int64_t connect_timeout_ms;
};

/* An outbox as the server must offer it; who knows that says it (outbox/table). */
struct wp_requirements_table {
	const char *schema;
	const char *name;
	bool is_pattern;     /* both are as SQL's LIKE has them, for any number of tables */
	const char *written; /* as the user wrote it */
	const char *const *columns;
	/* Each says what its column is in a CREATE TABLE: "uuid PRIMARY KEY". */
	const char *const *definitions;
	size_t column_count; /* that it must have */
	size_t all_count;    /* of `columns`: with those that it may have */
	/* The option that asks for updates to be seen, "outbox.on_update = stop"; NULL: none. */
	const char *updates;
	/* outbox.leaves as JSON, [["schema", "name"], ...], each part as SQL's LIKE has it; NULL: none. */
	const char *leaves;
	const char *leaves_written; /* as the user wrote it; NULL or "": none */
	const char *section;	    /* NAME of [outbox.NAME]; NULL or "": of [outbox] */
	bool drops;    /* outbox.skip.types, outbox.expired: some of its events are never sent */
	bool is_timed; /* it has outbox.column.inserted: with cleanup.mode its rows are removed */
	/* Columns that it has had at all times, as JSON, ["id", ...]; NULL: not asked. */
	const char *lasting;
};

#define WP_WANTED_MAX 1024

/* This is all that one stream is to bring. */
struct wp_requirements {
	const struct wp_requirements_table *tables;
	size_t count; /* at most WP_WANTED_MAX; 0: logical messages only */
	/* The tables beside them whose rows may come, as the user wrote them; "" none. */
	const char *ignore;
	bool ignores_by_pattern; /* one of them stands for many, also outside of walpost's schema */
	const char *ignored;	 /* those that are named exactly, as `leaves`; NULL: none */
	bool messages;		 /* logical messages are events as well */
	bool text_messages;	 /* of some the content is JSON */
};

#endif
