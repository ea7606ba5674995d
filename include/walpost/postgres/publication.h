/*
 * What walpost needs in the database, as SQL: the outbox table, the slot checkpoint table,
 * the publication. Used by `init` and by the cures of the preflight, so that both
 * make the same things. And what the server says when the publication came too late.
 */
#ifndef WALPOST_POSTGRES_PUBLICATION_H
#define WALPOST_POSTGRES_PUBLICATION_H

#include <libpq-fe.h>
#include <stdbool.h>

#include "walpost/postgres/options.h"
#include "walpost/postgres/sql.h"

/* sql/slot_checkpoint.sql, word for word. */
extern const char wp_checkpoint_sql[];

/* What `role` needs to write the slot checkpoint. */
void wp_checkpoint_grant_sql(struct wp_sql *sql, const char *role);
/* CREATE TABLE by the wanted columns and their definitions. */
void wp_outbox_create_sql(struct wp_sql *sql, const struct wp_requirements_table *table);
/*
 * For the outboxes alone and their inserts alone: publishing updates or deletes would make
 * those of the application fail for want of a replica identity. Rows of partitions
 * come under the name of their outbox, also of those that are attached later.
 */
void wp_publication_create_sql(struct wp_sql *sql, const char *publication,
			       const struct wp_requirements *wanted);
/*
 * A warning of the server as it decodes: the publication does not exist at this place of the
 * log, and the changes there are left out (PostgreSQL 18 and newer; older ones fail with 42704).
 */
bool wp_publication_was_skipped(const PGresult *notice);

#endif
