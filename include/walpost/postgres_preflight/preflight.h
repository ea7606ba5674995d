/*
 * Judges every precondition on the server's side: one SQL text that asks, and a pure judgement of its answer;
 * `check` prints the findings, the stream refuses to start on a failure. Each finding carries the SQL or
 * setting that cures it, word for word.
 */
#ifndef WALPOST_POSTGRES_PREFLIGHT_PREFLIGHT_H
#define WALPOST_POSTGRES_PREFLIGHT_PREFLIGHT_H

#include <libpq-fe.h>

#include "walpost/base/buffer.h"
#include "walpost/base/finding.h"
#include "walpost/postgres/options.h"
#include "walpost/postgres/provider.h"
#include "walpost/postgres/sql.h"
#include "walpost/source/source.h"

/* With more outboxes than these, only what is wrong with each is found. */
#define WP_PREFLIGHT_TABLES_IN_FULL 64

struct wp_preflight {
	struct wp_findings findings;
	enum wp_provider provider;
	bool table_exists[WP_WANTED_MAX]; /* under that name, whatever it is */
	bool publication_exists;
	bool reissue_ready; /* walpost.reissue, its functions and its publication are there */
	bool slot_checkpoint_ready; /* there, with all columns, and may be written */
	bool slot_exists;
	bool slot_active;		 /* by any process, this connection's included */
	struct wp_slot_state slot_state; /* the same as a running stream wants to know it */
};

/*
 * Asks for all tables that are wanted, those that fit a pattern each by itself; whether one without a pattern
 * is there is not asked. The answer has a row for each, with these columns.
 */
void wp_tables_sql(struct wp_sql *sql, const struct wp_requirements *wanted);
enum { WP_TABLES_WANTED /* its place in `wanted` */, WP_TABLES_SCHEMA, WP_TABLES_NAME };

/*
 * Writes one SELECT that gives a row for each table, one at least, for a plain or replication connection
 * (simple protocol). `walsender` is the process that serves the stream's connection, which then needs no
 * further room; 0 when there is none yet.
 */
enum wp_rc wp_preflight_sql(PGconn *pg, const struct wp_postgres_options *options,
			    const struct wp_requirements *wanted, int walsender,
			    struct wp_buffer *into, struct wp_error *error) WP_MUST_CHECK;
/* `pg` is for quoting in the cures. Returns WP_PROTO when it is not the answer to that SQL. */
enum wp_rc wp_preflight_judge(PGconn *pg, const PGresult *answer,
			      const struct wp_postgres_options *options,
			      const struct wp_requirements *wanted, struct wp_preflight *ret,
			      struct wp_error *error) WP_MUST_CHECK;
/* Writes which outbox it is about: its table, or its pattern as the user wrote it. */
void wp_finding_is_about(struct wp_finding *f, const struct wp_requirements_table *table);
/* Says how the connection is secured, as one finding more (wp_connection_facts() tells it). */
struct wp_connection_facts;
void wp_preflight_connection(struct wp_findings *f, const struct wp_connection_facts *facts);

#endif
