/*
 * Tells of the running relay: to who asks over HTTP, and to the service manager. All is on the
 * loop's thread; between questions it does nothing but take a sample every two seconds, while
 * there is an HTTP server.
 */
#ifndef WALPOST_SRC_RUN_MONITOR_H
#define WALPOST_SRC_RUN_MONITOR_H

#include "walpost/relay/relay.h"
#include "walpost/run/run.h"

struct ev_loop;
struct wp_reloader;
struct wp_registry;
struct wp_scheduler;
struct wp_monitor;

struct wp_monitor_setup {
	const struct wp_run_options *options;
	const struct wp_reloader *reloader;
	const struct wp_registry *registry;
	const char *owner;
	struct wp_now (*clock)(void);
};

/* Listens from now on. WP_CONFIG with the error: http.listen is none that works. WP_IO, WP_NOMEM. */
enum wp_rc wp_monitor_new(struct ev_loop *loop, const struct wp_monitor_setup *setup,
			  struct wp_monitor **ret, struct wp_error *error) WP_MUST_CHECK;
/* Says whom to tell of, both borrowed; nothing is answered before. */
void wp_monitor_begin(struct wp_monitor *t, struct wp_relay *relay, struct wp_sink *sink);
/* Says of what else to tell; borrowed. If it is not called, no events are sent later. */
void wp_monitor_watch_scheduler(struct wp_monitor *t, const struct wp_scheduler *scheduler);
/* To be called each turn: the service manager is told of a state that lasts. */
void wp_monitor_turned(struct wp_monitor *t, enum wp_state state);
void wp_monitor_stopping(struct wp_monitor *t);
void wp_monitor_reloading(struct wp_monitor *t);
void wp_monitor_reloaded(struct wp_monitor *t);
/* NULL is fine. */
void wp_monitor_free(struct wp_monitor *t);

#endif
