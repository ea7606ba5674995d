/*
 * The Relation message, and the Type messages before it, that the server would send of a table
 * as its catalog has it now: so that what judges the stream can judge a table of which nothing
 * was streamed yet. One SELECT and its answer.
 *
 * Owns: nothing. Borrows: its arguments.
 */
#ifndef WALPOST_POSTGRES_DESCRIBED_H
#define WALPOST_POSTGRES_DESCRIBED_H

#include <libpq-fe.h>

#include "walpost/postgres/options.h"
#include "walpost/postgres/sql.h"
#include "walpost/wal/relations.h"

/* A row for each column of each table; for one table at least. */
void wp_described_sql(struct wp_sql *sql, const struct wp_requirements *wanted);
/*
 * Hands the messages about `wanted`'s table of that index over. `ret` NULL: there is no such
 * table. WP_FULL, WP_NOMEM of the relations.
 */
enum wp_rc wp_described_put(const PGresult *result, const struct wp_requirements *wanted,
			    size_t table, struct wp_relations *into,
			    struct wp_relation **ret) WP_MUST_CHECK;

#endif
