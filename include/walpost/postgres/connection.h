/*
 * Connects to the server without ever blocking the loop: the effective options are found (conninfo, service
 * file, environment), names are resolved on a worker of its own (a resolver may never answer), connecting is
 * polled, and what all SQL here relies on is set and read back (session_settings.h). Without an sslmode
 * written out, a host that is not local gets `require`.
 *
 * Owns: the PGconn and its watchers while connecting. Borrows: loop and options. Calls `done` once, from the
 * loop, when connected or failed (never from within wp_connection_new); `done` may free it. The caller then
 * uses the PGconn with watchers of its own (or wp_query). Bounded: connect_timeout_ms for the names, and for
 * each address.
 */
#ifndef WALPOST_POSTGRES_CONNECTION_H
#define WALPOST_POSTGRES_CONNECTION_H

#include <ev.h>
#include <libpq-fe.h>

#include "walpost/postgres/options.h"
#include "walpost/source/source.h"

/*
 * The setting of our session that keeps what `role` was before it was set to none: that of ALTER
 * ROLE ... SET role, or none. `init` makes objects as that role; rights are judged beside its.
 */
#define WP_ROLE_BEFORE_SETTING "walpost.role_before"

enum wp_connection_kind {
	WP_CONNECTION_REPLICATION, /* replication=database */
	WP_CONNECTION_SQL,
	/*
	 * An ordinary session for SQL; when the server has no room for one more (53300), a walsender: these
	 * have room of their own.
	 */
	WP_CONNECTION_QUESTIONS,
};

struct wp_connection_setup {
	const struct wp_postgres_options *options;
	enum wp_connection_kind kind;
	void (*done)(void *arg);
	void *arg;
	/* If not NULL, it connects to the very server this one is connected to; for wp_connection_new only. */
	const PGconn *same_as;
};

struct wp_connection;

/* Returns WP_CONFIG with the error when libpq does not take the conninfo. */
enum wp_rc wp_connection_new(struct ev_loop *loop, const struct wp_connection_setup *setup,
			     struct wp_connection **ret, struct wp_error *error) WP_MUST_CHECK;
/* Ends it at once; a resolver that still runs is abandoned. NULL is fine. */
void wp_connection_free(struct wp_connection *c);
/* Returns NULL until connected, and after a failure. Borrowed: it lives until free. Non-blocking mode is set. */
PGconn *wp_connection_pg(const struct wp_connection *c);
/* Valid after `done` when wp_connection_pg() is NULL. */
const struct wp_source_failure *wp_connection_failure(const struct wp_connection *c);

/* Returns the encoding of the database by its name; "" when the server did not say it. */
const char *wp_server_encoding(const PGconn *pg);

/* Notices of the server go to our log (never to standard error as they are), each text once. */
void wp_connection_log_notices(PGconn *pg);
void wp_connection_log_notice(const PGresult *notice);

/* Says how a conninfo will be used, for `check`; asks no network. */
struct wp_connection_facts {
	char hosts[512];      /* as libpq sees them */
	char sslmode[32];     /* effective, after our rule */
	bool sslmode_written; /* by the user */
	bool local;	      /* every host is a socket or loopback */
};
enum wp_rc wp_connection_facts(const struct wp_postgres_options *options,
			       struct wp_connection_facts *ret,
			       struct wp_error *error) WP_MUST_CHECK;

/* One table says what an SQLSTATE calls for. Pure. */
enum wp_connection_phase { WP_PHASE_CONNECT, WP_PHASE_SQL, WP_PHASE_START, WP_PHASE_COPY };

/* `sqlstate` is "" when none was given (connection lost). Unknown ones call for WP_REACT_RECONNECT, in the
 * copy for WP_REACT_TRY_THRICE. */
enum wp_reaction wp_postgres_reaction(enum wp_connection_phase phase, const char *sqlstate);

#endif
