/*
 * What the outboxes of a configuration ask of the server: their tables, with the columns
 * that they read and what each of them is in Debezium's table.
 *
 * Owns: the lists of columns. Borrows: the options. Pure.
 */
#ifndef WALPOST_RUN_WANTED_H
#define WALPOST_RUN_WANTED_H

#include "walpost/base/why.h"
#include "walpost/outbox/names.h"
#include "walpost/outbox/options.h"
#include "walpost/outbox/table.h"
#include "walpost/postgres/options.h"

/* Points into itself: not to be copied. */
struct wp_wanted_outboxes {
	struct wp_wanted wanted;
	struct wp_table_name names[WP_WANTED_MAX]; /* of wanted.tables, in their order */
	struct wp_wanted_table tables[WP_WANTED_MAX];
	struct wp_needed_columns *columns[WP_WANTED_MAX]; /* owned */
};

/* WP_CONFIG with why: a table's name, a list of columns. WP_NOMEM. */
enum wp_rc wp_wanted_outboxes_init(struct wp_wanted_outboxes *w, const struct wp_outboxes *outboxes,
				   struct wp_why *why) WP_MUST_CHECK;
void wp_wanted_outboxes_release(struct wp_wanted_outboxes *w);

#endif
