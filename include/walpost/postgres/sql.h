/*
 * SQL text with names and values quoted by libpq, so that any name works:
 * capitals, dots, quotes, UTF-8. Errors are sticky; wp_sql_end() tells.
 *
 * Owns: nothing. Borrows: the connection (for quoting only) and the buffer.
 */
#ifndef WALPOST_POSTGRES_SQL_H
#define WALPOST_POSTGRES_SQL_H

#include <libpq-fe.h>

#include "walpost/base/buffer.h"
#include "walpost/base/error.h"

struct wp_sql {
	PGconn *pg;
	struct wp_buffer *into;
	enum wp_rc rc;
	char problem[256]; /* why `rc` is not WP_OK */
};

/*
 * Stands before a question, in the same text: what holds a lock on a table may hold it up, and the server
 * gives up (57014) before we do, for a session that waits for a lock does not notice that nobody listens any
 * more, and would be left behind there.
 */
extern const char wp_sql_impatiently[];

void wp_sql_init(struct wp_sql *sql, PGconn *pg, struct wp_buffer *into);
/*
 * Appends `template`, in which %I stands for an identifier, %L for a literal, %s for text
 * as it is and %C for text in a comment, which no line break in a name may end; each is a
 * `const char *`. %% is a percent sign.
 */
void wp_sql_add(struct wp_sql *sql, const char *template, ...);
/* NUL-terminates the buffer (the NUL is counted). Returns WP_CONFIG with the error when a name is not
 * valid in the client's encoding; WP_FULL, WP_NOMEM. */
enum wp_rc wp_sql_end(struct wp_sql *sql, struct wp_error *error) WP_MUST_CHECK;

#endif
