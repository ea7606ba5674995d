/*
 * The question which tables are partitions of the outboxes', as SQL, and its answer. It takes no
 * lock on any of them.
 *
 * Owns: nothing.
 */
#ifndef WALPOST_POSTGRES_PREFLIGHT_PARTITIONS_H
#define WALPOST_POSTGRES_PREFLIGHT_PARTITIONS_H

#include <libpq-fe.h>

#include "walpost/base/error.h"
#include "walpost/postgres/options.h"
#include "walpost/postgres/sql.h"
#include "walpost/wal/partitions.h"

/* With SYNCHRONOUS, commits may wait for who asks (postgres.allow_synchronous). */
enum wp_partitions_for { WP_PARTITIONS_FOR_ANYBODY, WP_PARTITIONS_FOR_SYNCHRONOUS };

void wp_partitions_sql(struct wp_sql *sql, const struct wp_requirements *wanted,
		       enum wp_partitions_for whom);
/* Releases what `ret` held before. With WP_PROTO, WP_FULL, WP_NOMEM and the error it still holds that. */
enum wp_rc wp_partitions_answer(const PGresult *result, struct wp_partitions *ret,
				struct wp_error *error) WP_MUST_CHECK;

#endif
