/*
 * Runs SQL for commands that do one thing after the other: each call runs a loop of its own until
 * the answer is there or the user has had enough (SIGINT, SIGTERM). An interrupted statement is
 * cancelled on the server too, where it would go on. So is one that waits for a lock for longer
 * than some seconds: the error then names what is locked, and by whom. How long it works is not
 * limited.
 *
 * Owns: loop, signal watchers, connections. A second signal kills as usual.
 */
#ifndef WALPOST_CLI_SESSION_H
#define WALPOST_CLI_SESSION_H

#include <ev.h>
#include <libpq-fe.h>

#include "walpost/postgres/connection.h"
#include "walpost/postgres/sql.h"

#define WP_SQL_SIZE_MAX (256 * 1024)

struct wp_console {
	struct ev_loop *loop;
	bool interrupted;
	ev_signal interrupt;
	ev_signal terminate;
};

enum wp_rc wp_console_init(struct wp_console *c, struct wp_error *error) WP_MUST_CHECK;
void wp_console_release(struct wp_console *c);
/* Waits until the time has passed, or the user interrupts. */
void wp_console_wait(struct wp_console *c, double seconds);

struct wp_session {
	struct wp_console *console;		   /* borrowed */
	const struct wp_postgres_options *options; /* borrowed */
	struct wp_connection *connection;
	bool done;
	PGresult *result; /* owned until handed out */
	struct wp_source_failure failure;
	struct wp_error
		locked; /* why a statement was cancelled that waited for a lock; "": none was */
	/* This is called every so often while a statement runs; it may use another session. */
	void (*waiting)(void *arg);
	void *waiting_arg;
	double waiting_every_s;
};

/*
 * Fails with WP_IO or WP_CONFIG and the error, also when interrupted. Release it in any case.
 * Borrows the options for its life.
 */
enum wp_rc wp_session_open(struct wp_session *s, struct wp_console *console,
			   const struct wp_postgres_options *options, enum wp_connection_kind kind,
			   struct wp_error *error) WP_MUST_CHECK;
/* Likewise opens the console, and a session for SQL about the slot, whose name is checked. */
enum wp_rc wp_session_begin(struct wp_session *s, struct wp_console *console,
			    const struct wp_postgres_options *options,
			    struct wp_error *error) WP_MUST_CHECK;
void wp_session_release(struct wp_session *s);
PGconn *wp_session_pg(const struct wp_session *s);
/* `ret` is the caller's to PQclear(). Returns WP_IO with the error if the server refused, or is gone. */
enum wp_rc wp_session_query(struct wp_session *s, const char *sql, PGresult **ret,
			    struct wp_error *error) WP_MUST_CHECK;
/* Does the same for what answers nothing. */
enum wp_rc wp_session_do(struct wp_session *s, const char *sql,
			 struct wp_error *error) WP_MUST_CHECK;

/* A statement is put together: begun, added to by wp_sql_add() and what calls it, and asked. */
struct wp_statement {
	struct wp_session *session; /* borrowed */
	struct wp_sql sql;
	struct wp_buffer text;
};

void wp_statement_begin(struct wp_statement *s, struct wp_session *session);
/* Gives its answer as wp_session_query() does, and releases the statement. */
enum wp_rc wp_statement_ask(struct wp_statement *s, PGresult **ret,
			    struct wp_error *error) WP_MUST_CHECK;

#endif
