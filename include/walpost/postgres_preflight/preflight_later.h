/*
 * `walpost check` asks this of the server beyond what a stream needs to begin (preflight.h): what will hurt
 * later. One SELECT asks, and a pure judgement of its answer adds to the preflight's findings.
 */
#ifndef WALPOST_POSTGRES_PREFLIGHT_PREFLIGHT_LATER_H
#define WALPOST_POSTGRES_PREFLIGHT_PREFLIGHT_LATER_H

#include <libpq-fe.h>

#include "walpost/base/buffer.h"
#include "walpost/postgres/options.h"
#include "walpost/postgres_preflight/preflight.h"

/* Is the publication older than what the slot decodes from? */
enum wp_publication_age {
	WP_PUBLICATION_OLDER,	/* or there is no slot, or no publication */
	WP_PUBLICATION_YOUNGER, /* than some of it; it may or may not be decodable */
};

/* Writes one SELECT that gives one row. */
enum wp_rc wp_preflight_later_sql(PGconn *pg, const struct wp_postgres_options *options,
				  const struct wp_requirements *wanted, struct wp_buffer *into,
				  struct wp_error *error) WP_MUST_CHECK;
/* `pg` is for quoting in the cures. Returns WP_PROTO when it is not the answer to that SQL. */
enum wp_rc wp_preflight_later_judge(PGconn *pg, const PGresult *answer,
				    const struct wp_postgres_options *options,
				    const struct wp_requirements *wanted, struct wp_preflight *ret,
				    enum wp_publication_age *ret_age,
				    struct wp_error *error) WP_MUST_CHECK;

/*
 * Says of a younger publication what came of decoding the first change that the slot holds. With NULL for
 * `trouble` it can be decoded.
 */
void wp_preflight_later_decoded(PGconn *pg, const struct wp_postgres_options *options,
				const char *trouble, struct wp_preflight *ret);

#endif
