/*
 * Tells of the running relay: to who asks over HTTP, and to the service manager. All on the
 * loop's thread; between questions it does nothing but take a sample every two seconds, while
 * there is an HTTP server.
 */
#ifndef WALPOST_SRC_RUN_TELLER_H
#define WALPOST_SRC_RUN_TELLER_H

#include "walpost/relay/relay.h"
#include "walpost/run/run.h"

struct ev_loop;
struct wp_reloader;
struct wp_teller;

struct wp_teller_setup {
	const struct wp_run_options *options;
	const struct wp_reloader *reloader;
	const char *owner;
	struct wp_now (*clock)(void);
};

/* Listens from now on. WP_CONFIG with why: http.listen. WP_IO, WP_NOMEM. */
enum wp_rc wp_teller_new(struct ev_loop *loop, const struct wp_teller_setup *setup,
			 struct wp_teller **ret, struct wp_why *why) WP_MUST_CHECK;
/* Whom to tell of, both borrowed; nothing is answered before. */
void wp_teller_begin(struct wp_teller *t, struct wp_relay *relay, struct wp_sink *sink);
/* Each turn: the service manager is told of a state that lasts. */
void wp_teller_turned(struct wp_teller *t, enum wp_state state);
void wp_teller_stopping(struct wp_teller *t);
void wp_teller_reloading(struct wp_teller *t);
void wp_teller_reloaded(struct wp_teller *t);
/* NULL is fine. */
void wp_teller_free(struct wp_teller *t);

#endif
