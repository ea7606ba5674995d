/*
 * Keeps the configurations of a running relay: that in force, and those that the relay still needs.
 *
 * Owns: what was read anew, until neither of them needs it: seven at the most. Borrows: the options
 * that the process began with.
 */
#ifndef WALPOST_SRC_RUN_RELOADER_H
#define WALPOST_SRC_RUN_RELOADER_H

#include "walpost/relay/relay.h"
#include "walpost/run/run.h"
#include "walpost/telemetry/telemetry.h"

struct wp_reloader;

struct wp_subjects;

/* `run_id` and `subjects` are borrowed. WP_CONFIG with the error: the outboxes are wrong. WP_NOMEM. */
enum wp_rc wp_reloader_new(const struct wp_run_options *options, const char *run_id,
			   struct wp_subjects *subjects, struct wp_reloader **ret,
			   struct wp_error *error) WP_MUST_CHECK;
/* To be called after the relay is freed. NULL is fine. */
void wp_reloader_free(struct wp_reloader *r);
/* These are of the configuration in force; borrowed. */
struct wp_relay_task wp_reloader_task(const struct wp_reloader *r);
const char *wp_reloader_configuration(const struct wp_reloader *r);
struct wp_telemetry_reloads wp_reloader_counts(const struct wp_reloader *r);
/* Reads the configuration anew, sets the log's level, and gives the relay its new task. */
void wp_reloader_reload(struct wp_reloader *r, struct wp_relay *relay);
/* To be called each turn: did the relay take a task back? */
void wp_reloader_watch(struct wp_reloader *r, const struct wp_relay *relay,
		       const struct wp_relay_snapshot *look);

#endif
