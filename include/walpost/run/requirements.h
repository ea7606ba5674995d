/*
 * The outboxes of a configuration ask this of the server: their tables, with the columns
 * that they read and what each of them is in Debezium's table.
 *
 * Owns: the lists of columns. Borrows: the options. Pure.
 */
#ifndef WALPOST_RUN_REQUIREMENTS_H
#define WALPOST_RUN_REQUIREMENTS_H

#include "walpost/base/error.h"
#include "walpost/outbox/names.h"
#include "walpost/outbox/options.h"
#include "walpost/outbox/table.h"
#include "walpost/postgres_stream/cleaner.h"
#include "walpost/postgres/options.h"

/* A pattern has its name as wp_table_pattern_parse() gives it. */
struct wp_requirements_outboxes {
	struct wp_requirements wanted;
	struct wp_table_name *names; /* owned, as are all: of wanted.tables, in their order */
	struct wp_requirements_table *tables;
	struct wp_needed_columns **columns;
	struct wp_requirements_texts *texts; /* of each; and behind them that of all */
	size_t text_count;
};

/* WP_CONFIG with the error: a table's name or a list of columns is none. WP_NOMEM. */
enum wp_rc wp_requirements_outboxes_init(struct wp_requirements_outboxes *w,
					 const struct wp_outboxes *outboxes,
					 struct wp_error *error) WP_MUST_CHECK;
void wp_requirements_outboxes_release(struct wp_requirements_outboxes *w);

/* These are the outboxes whose rows cleanup removes. It points into itself and into the options: not to be copied. */
struct wp_cleaned {
	struct wp_cleanup_table tables[WP_CLEANUP_TABLES_MAX];
	const struct wp_outbox_options *outboxes[WP_CLEANUP_TABLES_MAX]; /* of each */
	struct wp_table_name names[WP_CLEANUP_TABLES_MAX];
	size_t count;
};

/* The options were checked. With cleanup.mode = none it is called, too. */
void wp_requirements_cleaned(const struct wp_outboxes *outboxes,
			     const struct wp_cleanup_options *options, struct wp_cleaned *ret);

#endif
