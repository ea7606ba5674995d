/*
 * Writes what a parked store asks the server, and reads the answers. Statements that write lock the slot's
 * row of walpost.parking, check the generation and answer with how many rows they found there: with 0, it was
 * raised by another, and nothing was changed.
 *
 * Pure but for the PGresults. Answers own what they point to.
 */
#ifndef WALPOST_POSTGRES_STREAM_PARKED_SQL_H
#define WALPOST_POSTGRES_STREAM_PARKED_SQL_H

#include <libpq-fe.h>

#include "walpost/base/buffer.h"
#include "walpost/postgres/sql.h"
#include "walpost/source/parked.h"

/* $1 is the slot, $2 the owner, $3 the process id of the walsender that must have the slot, or NULL. The
 * answer is the generation with its owner, and whether the slot has `failover`; there is no row when that
 * walsender does not have the slot. */
const char *wp_parked_raise_sql(int server_version);
/* $1 is the slot, $2 the generation, $3 a JSON array of rows. */
extern const char wp_parked_put_sql[];
/* The same, with $3 by wp_parked_changes_json(). */
extern const char wp_parked_change_sql[];
/* $1 is the slot, $2 JSON by wp_parked_choices_json(), $3 a number of bytes. */
extern const char wp_parked_load_sql[];
/* $1 is the slot. */
extern const char wp_parked_look_sql[];
/* PostgreSQL 17 and newer have this. The answer is the end of what is flushed; how far all slots of
 * synchronized_standby_slots are, NULL when none is named; what is wrong with some, NULL when nothing is. */
extern const char wp_parked_standby_sql[];
void wp_parked_set_sql(struct wp_sql *sql, const char *slot, size_t aggregates_max);
void wp_parked_positions_sql(struct wp_sql *sql, const char *slot, wp_lsn from);

enum wp_parked_text { WP_PARKED_TEXT_ANY, WP_PARKED_TEXT_ASCII };

/* Each text is NUL-terminated. With TEXT_ASCII what else a reason holds becomes a question mark. */
enum wp_rc wp_parked_changes_json(struct wp_buffer *into, const struct wp_parked_change *changes,
				  size_t count, enum wp_parked_text text) WP_MUST_CHECK;
enum wp_rc wp_parked_choices_json(struct wp_buffer *into, const struct wp_parked_choice *choices,
				  size_t count) WP_MUST_CHECK;

struct wp_parked_answer {
	PGresult *result; /* owned: a copy, into which the items point */
	void *items;	  /* owned */
	size_t count;
};

/* Returns WP_NOMEM, or WP_DATA with the error when walpost.parked holds what no relay wrote. */
enum wp_rc wp_parked_set_answer(const PGresult *result, struct wp_parked_answer *ret,
				struct wp_error *error) WP_MUST_CHECK;
enum wp_rc wp_parked_positions_answer(const PGresult *result, struct wp_parked_answer *ret,
				      struct wp_error *error) WP_MUST_CHECK;
enum wp_rc wp_parked_load_answer(const PGresult *result, struct wp_parked_answer *ret,
				 struct wp_error *error) WP_MUST_CHECK;
/* Was more found than came? */
bool wp_parked_load_is_cut(const PGresult *result);
enum wp_rc wp_parked_look_answer(const PGresult *result, struct wp_parked_answer *ret,
				 struct wp_error *error) WP_MUST_CHECK;
/* Gives the slot's generation in the answer to a load or a look; NULL when its row is gone. */
const char *wp_parked_answer_generation(const PGresult *result);
void wp_parked_answer_release(struct wp_parked_answer *a);

#endif
