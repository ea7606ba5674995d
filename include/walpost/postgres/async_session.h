/*
 * An ordinary SQL session beside the stream, for statements that nobody waits for: one at a time, each with a
 * time limit, tried again with backoff until it succeeds. Its user holds what is to be done and says which
 * statement is next; so nothing is lost with a connection.
 *
 * It connects when there is something to ask, to the very server of the stream. The connection is given
 * back every ten seconds, for a server that shuts down "smart" waits for every client to leave; so
 * nothing may depend on a session for longer (a user that needs one, for LISTEN say, wants it again).
 *
 * A commit counts as durable when the server has answered it: with synchronous_commit = off it is
 * set to on. Where the relay may itself be among the synchronous standbys it is set to local, or a
 * commit waits for us who wait for it.
 *
 * Owns: its connection and query. Borrows: loop, and the setup's pointers, until free. Calls back from
 * the loop; `changed` also from within poke() when a connection cannot even begin. Single-threaded.
 */
#ifndef WALPOST_POSTGRES_ASYNC_SESSION_H
#define WALPOST_POSTGRES_ASYNC_SESSION_H

#include <ev.h>
#include <libpq-fe.h>
#include <stdbool.h>

#include "walpost/postgres/options.h"
#include "walpost/source/source.h"

#define WP_ASYNC_SESSION_PATIENCE_S \
	10 /* statement_timeout; twice as much after each that it ended */

/*
 * The user of a session answers these; none may free the session, answer(), failed() and ask() may close it.
 * Those after `changed` may be NULL.
 */
struct wp_async_session_calls {
	/* Is there a statement to send now? It is asked with a connection and without. */
	bool (*wants)(void *arg);
	/* The session is connected, and wants() was true: calls wp_async_session_send(), once. If it
	 * returns not WP_OK, with the error, it is asked again with backoff. */
	enum wp_rc (*ask)(void *arg, struct wp_error *error);
	/* The statement last sent is answered; the result is borrowed for the call. If it returns not
	 * WP_OK, with the error, the statement is sent again with backoff. */
	enum wp_rc (*answer)(void *arg, const PGresult *result, struct wp_error *error);
	/* The statement last sent has failed: without an SQLSTATE its outcome is not known. True when
	 * another statement is wanted next, to be asked at once, without backoff. */
	bool (*failed)(void *arg, const struct wp_source_failure *failure);
	/* wp_async_session_trouble() may say something new, or something was answered. */
	void (*changed)(void *arg);
	/* Says what a person can do about an SQLSTATE, in half a sentence; NULL when nothing is known. */
	const char *(*cure)(void *arg, const char *sqlstate);
	/* The connection is gone: the server has forgotten what it was told, LISTEN say. */
	void (*disconnected)(void *arg);
	/* Notifications came; with this the session watches for them, and for its end, while idle. */
	void (*notified)(void *arg);
};

struct wp_async_session_setup {
	const struct wp_postgres_options *options;
	/* The session connects to the same server as this stream, and asks nothing while that has no
	 * connection. NULL: any server. */
	const struct wp_source *stream;
	const PGconn *(*connection_of)(const struct wp_source *stream);
	const char *purpose; /* "parked events", say; for the log */
	const struct wp_async_session_calls *calls;
	void *arg;
};

struct wp_async_session;

/* Returns NULL when out of memory. */
struct wp_async_session *wp_async_session_new(struct ev_loop *loop,
					      const struct wp_async_session_setup *setup);
/* Ends it at once; NULL is fine. */
void wp_async_session_free(struct wp_async_session *s);
/* Says that there may be something to ask: nothing happens while a statement is under way, or a wait for
 * the next try. */
void wp_async_session_poke(struct wp_async_session *s);
/* Ends the connection: a statement under way is never answered, backoff and trouble are forgotten. poke()
 * makes it go on. */
void wp_async_session_close(struct wp_async_session *s);
struct wp_async_session_statement {
	const char *sql;
	const char *const *values; /* text; $1 is the first */
	size_t count;
	/* The user's number for it, above 0. Trouble with one is over when one of the same number succeeds
	 * or, after a connection was lost and made again, any. */
	int what;
	int limit_s; /* how long the answer may take at least; 0: patience and a little */
};
/* To be called from ask() only; the statement is copied. Returns WP_IO or WP_NOMEM with the error. */
enum wp_rc wp_async_session_send(struct wp_async_session *s,
				 const struct wp_async_session_statement *statement,
				 struct wp_error *error) WP_MUST_CHECK;
/* Gives the connection, for quoting and the server's version; NULL while it is not connected. */
PGconn *wp_async_session_pg(const struct wp_async_session *s);
/* Says why nothing goes on, "" when all does; valid until the next call. */
const struct wp_error *wp_async_session_trouble(const struct wp_async_session *s);

#endif
