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
extern const char wp_slot_checkpoint_sql[];

/* What `role` needs to write the slot checkpoint. */
void wp_slot_checkpoint_grant_sql(struct wp_sql *sql, const char *role);

/*
 * Beside the configured publication a stream reads that of walpost.reissue, if there is one: whoever
 * reads the outbox's alone, Debezium or an older walpost, never meets its rows.
 */
#define WP_REISSUE_PUBLICATION "walpost_reissue"
/* The application_name of a session of `walpost drain`, with its number behind: for as long as it is
 * there, a mark of that number in walpost.reissue stops the relay that reads it. */
#define WP_DRAIN_SESSION "walpost drain "
/* Of sql/reissue.sql what stands within its transaction: tables, functions, publication. */
extern const char wp_reissue_sql[];
void wp_reissue_grant_sql(struct wp_sql *sql, const char *role);
/* Beside that, for walpost.dead_letters_retried and walpost.replay. */
void wp_retried_grant_sql(struct wp_sql *sql, const char *role);
/* Likewise of sql/parked.sql: the tables of parked events. */
extern const char wp_parked_sql[];
void wp_parked_grant_sql(struct wp_sql *sql, const char *role);
/* Likewise of sql/schedule.sql: events that are sent later. */
extern const char wp_schedule_sql[];
void wp_schedule_grant_sql(struct wp_sql *sql, const char *role);

/* Likewise of sql/cleanup.sql: rows whose events are in Kafka are removed. */
extern const char wp_cleanup_sql[];
void wp_cleanup_grant_sql(struct wp_sql *sql, const char *role);
/*
 * SQL, a text: the publications to read a slot by, quoted, as an option of pgoutput; the arguments
 * are SQL expressions, the configured one and the slot. That of walpost.reissue is among them only
 * if it is older than what the slot holds, for the server looks it up as of each place in the log.
 * Its age is negative when it is older than the server can count. Or, of a slot that was just made,
 * if it exists: a new slot's catalog_xmin is that of the oldest one there is.
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
/* CREATE TABLE by the wanted columns and their definitions, and with the time of the insert. */
void wp_outbox_create_sql(struct wp_sql *sql, const struct wp_requirements_table *table);
/*
 * For the outboxes alone and their inserts alone: publishing updates or deletes would make
 * those of the application fail for want of a replica identity. Rows of partitions
 * come under the name of their outbox, also of those that are attached later.
 */
void wp_publication_create_sql(struct wp_sql *sql, const char *publication,
			       const struct wp_requirements *wanted);
/* A statement that follows in the same transaction: generated columns that are wanted are published, or
 * it fails and says which cannot be. */
void wp_publication_generated_sql(struct wp_sql *sql, const char *publication,
				  const struct wp_requirements *wanted);
/*
 * A warning of the server as it decodes: the publication does not exist at this place of the
 * log, and the changes there are left out (PostgreSQL 18 and newer; older ones fail with 42704).
 */
bool wp_publication_was_skipped(const PGresult *notice);

#endif
