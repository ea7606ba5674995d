/*
 * How will libpq use a conninfo, and what do we add? Effective options come from the conninfo, the service
 * file and the environment, in libpq's own words: it is made to read them by a connection that fails before
 * it leaves the process.
 *
 * What stands in a file of its own (options.h) is read now, and a change of it is logged. Owns: copies of the
 * texts. No network; blocks no longer than reading these files and ~/.pg_service.conf takes. Bounded:
 * WP_ADDRESSES_MAX ways to the server.
 */
#ifndef WALPOST_POSTGRES_CONNECTION_PLAN_H
#define WALPOST_POSTGRES_CONNECTION_PLAN_H

#include <ev.h>
#include <libpq-fe.h>

#include "walpost/base/buffer.h"
#include "walpost/postgres/connection.h"

#define WP_ADDRESSES_MAX 32

/* This is one way to the server. */
struct wp_address {
	char host[256]; /* a name, a literal, or a socket's folder; "" : libpq's default socket */
	char hostaddr[80]; /* a literal, with its scope; "" : not resolved, or a socket */
	char port[8];	   /* "" : libpq's default */
};

struct wp_addresses {
	size_t count;
	struct wp_address list[WP_ADDRESSES_MAX];
};

struct wp_connection_plan {
	struct wp_addresses addresses;
	bool local;		 /* every address is a socket or loopback */
	bool sslmode_written;	 /* in the conninfo or the environment, or not libpq's default */
	bool tls_forced;	 /* our rule: not written, not local, so `require` */
	char sslmode[32];	 /* effective, after our rule */
	bool gssencmode_written; /* as sslmode_written; if not, `disable` */
	bool keepalives_idle_written;
	bool tcp_user_timeout_written;
	bool replication_written;
	char user[256];		  /* effective */
	struct wp_login *login;	  /* borrowed; NULL: the password below, or libpq's own sources */
	struct wp_buffer options; /* the user's, then ours; NUL-terminated */
	char *conninfo;		  /* owned; as its file says now, if it has one */
	char *password;		  /* likewise; "" : none */
	char passfile[1024];	  /* effective; "" : libpq's default */
	/* libpq would warn on standard error and ignore it, so it is not shown the file: no password
	 * comes from elsewhere. */
	bool passfile_ignored;
};

/* Returns WP_CONFIG with the error when libpq does not take it, or it has too many hosts. */
enum wp_rc wp_connection_plan_init(struct wp_connection_plan *p,
				   const struct wp_postgres_options *options,
				   struct wp_error *error) WP_MUST_CHECK;
void wp_connection_plan_release(struct wp_connection_plan *p);

/* Begins connecting to `addresses`, all of them resolved. Returns NULL when out of memory. */
PGconn *wp_connection_plan_start(const struct wp_connection_plan *p, enum wp_connection_kind kind,
				 const struct wp_addresses *addresses);

/* Is it a socket or loopback? */
bool wp_address_is_local(const struct wp_address *a);
/* Is it a name that must be turned into an address before libpq may see it? */
bool wp_address_is_name(const struct wp_address *a);

/*
 * Turns the names among the addresses into literals, and gets the password of a login (login/login.h),
 * without the loop waiting: a resolver may take half a minute, or never answer, and so may a program. Sockets
 * and literals pass untouched; a name with several addresses gives several entries in the resolver's order.
 *
 * Owns: a worker of its own. Calls `done` once, from the loop. Bounded: of all resolutions of this process at
 * most WP_RESOLVE_RUNNING_MAX run, those that were abandoned among them.
 */
#define WP_RESOLVE_RUNNING_MAX 8

struct wp_resolve;

struct wp_resolved {
	struct wp_addresses addresses; /* at least one */
	const char *password;	       /* NULL: there is no login */
};

/* `found` is valid for the call; with no address, or no password, `error` says it and `found` is NULL. */
typedef void (*wp_resolve_done)(void *arg, const struct wp_resolved *found,
				const struct wp_error *error);

/* `plan` is borrowed for the call. Returns WP_FULL with the error when too many of them still hang. */
enum wp_rc wp_resolve_new(struct ev_loop *loop, const struct wp_addresses *wanted,
			  const struct wp_connection_plan *plan, wp_resolve_done done, void *arg,
			  struct wp_resolve **ret, struct wp_error *error) WP_MUST_CHECK;
/* Ends it at once, also from within `done`; a resolution that still runs is abandoned. NULL is fine. */
void wp_resolve_free(struct wp_resolve *r);

#endif
