/*
 * What the catalog tells of the columns that the outboxes need (wal/column_facts), and so
 * how rows are asked for: one SELECT and its answer.
 *
 * Owns: nothing. Borrows: its arguments.
 */
#ifndef WALPOST_POSTGRES_COLUMNS_H
#define WALPOST_POSTGRES_COLUMNS_H

#include "walpost/postgres/options.h"
#include "walpost/postgres/sql.h"
#include "walpost/wal/column_facts.h"

/* For one table at least. */
void wp_columns_sql(struct wp_sql *sql, const struct wp_requirements *wanted);
/* `result` NULL: there is no table to ask about. */
enum wp_transfer wp_columns_read(const PGresult *result, enum wp_binary binary,
				 struct wp_column_facts *ret);

#endif
