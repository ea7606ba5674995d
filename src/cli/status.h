/*
 * Here is what the files of `walpost status` share. The command (status.c) looks once or again and
 * again (status_watch.c); what is looked at, and what it means, is in status_judge.c; what the
 * relay itself is asked, by HTTP, in status_relay.c.
 */
#ifndef WALPOST_SRC_CLI_STATUS_H
#define WALPOST_SRC_CLI_STATUS_H

#include <stdio.h>

#include <jansson.h>

#include "walpost/cli/session.h"
#include "walpost/config/config.h"
#include "walpost/relay/trend.h"

/* Says what a look means. */
enum wp_slot_status_state {
	WP_SLOT_STREAMS,
	WP_SLOT_CATCHES_UP,
	WP_SLOT_STALLED,
	WP_SLOT_NOBODY,
	WP_SLOT_FOREIGN, /* by a client that is no walpost */
	WP_SLOT_STANDBY,
	WP_SLOT_UNREACHABLE,
	WP_SLOT_LOST,
	WP_SLOT_NO_SLOT,
	WP_SLOT_NOT_WALPOSTS,
	WP_SLOT_NO_PUBLICATION,
};

struct wp_slot_status {
	struct wp_config config;
	struct wp_console console;
	struct wp_session session;
	PGresult *slot;		   /* owned; NULL: not known */
	PGresult *slot_checkpoint; /* owned; NULL: the table is not there, or not for us to read */
	PGresult *parked;	   /* likewise, of walpost.parked */
	PGresult *scheduled;	   /* likewise, of walpost.scheduled_state() */
	json_t *dropped;	   /* owned: of the relay's /status; NULL: it does not answer */
	enum wp_slot_status_state state;
	struct wp_error means; /* one sentence for the state */
};

/* Asks all questions, and judges what they mean. The session is open. Fails with WP_IO or WP_CONFIG and the error. */
enum wp_rc wp_slot_status_ask(struct wp_slot_status *s, struct wp_error *error) WP_MUST_CHECK;
/* Notes that nobody answers, and nothing is known but that. */
void wp_slot_status_forget(struct wp_slot_status *s, const struct wp_error *error);
void wp_slot_status_release(struct wp_slot_status *s);

int wp_slot_status_exit_code(enum wp_slot_status_state state);
const char *wp_slot_status_state_name(enum wp_slot_status_state state);
/* Gives a sample for the rates between looks. */
struct wp_trend_sample wp_slot_status_trend_sample(const struct wp_slot_status *s, int64_t now_ms);

/* `rates` is NULL if none are asked for. */
void wp_slot_status_print(FILE *to, const struct wp_slot_status *s,
			  const struct wp_trend_rates *rates);
/* Returns NULL if there is no memory. The caller owns the object. */
json_t *wp_slot_status_json(const struct wp_slot_status *s, const struct wp_trend_rates *rates);

/* -- status_relay.c ------------------------------------------------------------------- */

struct wp_relay_answer {
	struct wp_buffer buffer; /* owned, also after an error */
	unsigned code;		 /* of HTTP */
	const char *body;	 /* within the buffer */
};

/*
 * `listen` is as http.listen has it. Returns WP_CONFIG with the error if that is no address, WP_IO
 * if no relay answers.
 */
enum wp_rc wp_slot_status_ask_relay(const char *listen, const char *path, int64_t patience_us,
				    struct wp_relay_answer *ret,
				    struct wp_error *error) WP_MUST_CHECK;
/* Asks which events the relay has dropped, if one of this slot answers at http.listen within half a second. */
void wp_slot_status_ask_dropped(struct wp_slot_status *s);
void wp_slot_status_print_dropped(FILE *to, const struct wp_slot_status *s);

/* Looks every so many seconds until interrupted (status_watch.c). Returns the exit code of the last look. */
int wp_slot_status_watch(struct wp_slot_status *s, double seconds, bool json);

#endif
