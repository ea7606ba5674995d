/*
 * Turns the names among the addresses into literals without the loop waiting: a
 * resolver may take half a minute, or never answer. Sockets and literals pass
 * untouched; a name with several addresses gives several entries in the
 * resolver's order.
 *
 * Owns: a worker of its own. Calls `done` once, from the loop. Bounded: of all
 * resolutions of this process at most WP_RESOLVE_RUNNING_MAX run, those that were
 * abandoned among them.
 */
#ifndef WALPOST_POSTGRES_RESOLVE_H
#define WALPOST_POSTGRES_RESOLVE_H

#include <ev.h>

#include "walpost/postgres/connection_plan.h"

#define WP_RESOLVE_RUNNING_MAX 8

struct wp_resolve;

/* `found` is valid for the call; with no address at all `error` says it and `found` is NULL. */
typedef void (*wp_resolve_done)(void *arg, const struct wp_addresses *found,
				const struct wp_error *error);

/* WP_FULL with the error: too many resolutions still hang. */
enum wp_rc wp_resolve_new(struct ev_loop *loop, const struct wp_addresses *wanted,
			  wp_resolve_done done, void *arg, struct wp_resolve **ret,
			  struct wp_error *error) WP_MUST_CHECK;
/* At once, also from within `done`; a resolution that still runs is abandoned. NULL is fine. */
void wp_resolve_free(struct wp_resolve *r);

#endif
