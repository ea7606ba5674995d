/*
 * Asks the catalog what no row and no stream tells of the columns that the outboxes need
 * (wal/column_facts): one SELECT, and how its answer is read.
 */
#ifndef WALPOST_POSTGRES_COLUMN_QUERY_H
#define WALPOST_POSTGRES_COLUMN_QUERY_H

#include <stdbool.h>

#include "walpost/postgres/options.h"
#include "walpost/postgres/sql.h"
#include "walpost/wal/column_facts.h"

/* Appends the question. There is at least one table. */
void wp_column_query_write(struct wp_sql *sql, const struct wp_wanted *wanted);
/*
 * Facts are numbered as the tables in `wanted`; columns that are not there have none. True:
 * there are some, and all of them can be read in binary.
 */
bool wp_column_query_read(const PGresult *result, struct wp_column_facts *ret);

#endif
