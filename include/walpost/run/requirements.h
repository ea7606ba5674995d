/*
 * What the outboxes of a configuration ask of the server: their tables, with the columns
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
#include "walpost/postgres/options.h"

/* Points into itself: not to be copied. */
struct wp_requirements_outboxes {
	struct wp_requirements wanted;
	struct wp_table_name names[WP_WANTED_MAX]; /* of wanted.tables, in their order */
	struct wp_requirements_table tables[WP_WANTED_MAX];
	struct wp_needed_columns *columns[WP_WANTED_MAX]; /* owned */
};

/* WP_CONFIG with the error: a table's name, a list of columns. WP_NOMEM. */
enum wp_rc wp_requirements_outboxes_init(struct wp_requirements_outboxes *w,
					 const struct wp_outboxes *outboxes,
					 struct wp_error *error) WP_MUST_CHECK;
void wp_requirements_outboxes_release(struct wp_requirements_outboxes *w);

#endif
