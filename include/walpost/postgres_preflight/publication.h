/*
 * Writes what walpost needs in the database as SQL: the outbox table, the slot checkpoint table, the
 * publication. `init` and the cures of the preflight use it, so that both make the same things. It also knows
 * what the server says when the publication came too late.
 */
#ifndef WALPOST_POSTGRES_PREFLIGHT_PUBLICATION_H
#define WALPOST_POSTGRES_PREFLIGHT_PUBLICATION_H

#include <libpq-fe.h>
#include <stdbool.h>

#include "walpost/postgres/options.h"
#include "walpost/postgres/sql.h"

/* A script of sql/ makes these, named by what `role` needs of it. */
enum wp_grants {
	WP_GRANTS_SLOT_CHECKPOINT,
	WP_GRANTS_REISSUE,
	WP_GRANTS_RETRIED, /* beside that, for walpost.dead_letters_retried and walpost.replay */
	WP_GRANTS_PARKED,
	WP_GRANTS_SCHEDULE,
	WP_GRANTS_CLEANUP,
};
void wp_grants_sql(struct wp_sql *sql, enum wp_grants which, const char *role);

/* This is sql/slot_checkpoint.sql; of the other scripts, what stands within their transaction. */
extern const char wp_slot_checkpoint_sql[];
extern const char wp_reissue_sql[];  /* tables, functions, publication */
extern const char wp_parked_sql[];   /* the tables of parked events */
extern const char wp_schedule_sql[]; /* events that are sent later */
extern const char wp_cleanup_sql[];  /* rows whose events are in Kafka are removed */

/*
 * Beside the configured publication a stream reads that of walpost.reissue, if there is one: whoever
 * reads the outbox's alone, Debezium or an older walpost, never meets its rows.
 */
#define WP_REISSUE_PUBLICATION "walpost_reissue"
/* A session of `walpost drain` has this application_name, with its number behind: for as long as it is
 * there, a mark of that number in walpost.reissue stops the relay that reads it. */
#define WP_DRAIN_SESSION "walpost drain "

/*
 * SQL that gives a text: the publications to read a slot by, quoted, as an option of pgoutput; the arguments
 * are SQL expressions, the configured one and the slot. That of walpost.reissue is among them only if it is
 * older than what the slot holds, for the server looks it up as of each place in the log. Its age is negative
 * when it is older than the server can count. For a slot that was just made it is among them if it exists: a
 * new slot's catalog_xmin is that of the oldest one there is.
 */
#define WP_PUBLICATION_NAMES_SQL(publication_, slot_)                                      \
	WP_PUBLICATION_NAMES_IF(publication_, ", pg_catalog.pg_replication_slots s",       \
				" AND s.slot_name = " slot_ " AND pg_catalog.age(p.xmin) " \
				"NOT BETWEEN 0 AND pg_catalog.age(s.catalog_xmin)")
#define WP_PUBLICATION_NAMES_NOW_SQL(publication_) WP_PUBLICATION_NAMES_IF(publication_, "", "")
#define WP_PUBLICATION_NAMES_IF(publication_, from_, where_)                              \
	"(SELECT quote_ident(" publication_ ") || CASE WHEN EXISTS (SELECT FROM "         \
	"pg_catalog.pg_publication p" from_ " WHERE p.pubname = '" WP_REISSUE_PUBLICATION \
	"'" where_ ") THEN '," WP_REISSUE_PUBLICATION "' ELSE '' END)"
/* Does the server's message name that publication? Whatever its language, a name stays. */
bool wp_publication_is_reissue(const char *said);
#define WP_OUTBOX_CREATED_AT "created_at"
/* Writes CREATE TABLE by the wanted columns and their definitions, and with the time of the insert. */
void wp_outbox_create_sql(struct wp_sql *sql, const struct wp_requirements_table *table);
/*
 * The publication is for the outboxes alone and their inserts alone: publishing updates or deletes would make
 * those of the application fail for want of a replica identity. Rows of partitions come under the name of
 * their outbox, also of those that are attached later.
 */
void wp_publication_create_sql(struct wp_sql *sql, const char *publication,
			       const struct wp_requirements *wanted);
/* Writes a statement that follows in the same transaction: generated columns that are wanted are
 * published, or it fails and says which cannot be. */
void wp_publication_generated_sql(struct wp_sql *sql, const char *publication,
				  const struct wp_requirements *wanted);
/*
 * Is this the server's warning, as it decodes, that the publication does not exist at this place of the log,
 * and the changes there are left out (PostgreSQL 18 and newer; older ones fail with 42704)?
 */
bool wp_publication_was_skipped(const PGresult *notice);

#endif
