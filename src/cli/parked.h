/*
 * Here is what the files of `walpost parked` share. The commands (parked.c) choose among the rows
 * of walpost.parked (parked_choice.c), show them (parked_list.c), and ask the relay for what only
 * it does (parked_act.c): it looks at column act once a second. parked_wait.c waits for a retry.
 */
#ifndef WALPOST_SRC_CLI_PARKED_H
#define WALPOST_SRC_CLI_PARKED_H

#include "json_output.h"
#include "walpost/cli/session.h"
#include "walpost/config/config.h"
#include "walpost/wal/position.h"

/* This must hold of an event or an aggregate; NULL stands for anything. */
struct wp_cli_parked_filter {
	const char *key;
	const char *outbox; /* a table, a prefix of messages or the name of a section */
	const char *position;
	const char *code; /* of the aggregate's first event */
	bool all;
};

enum wp_cli_parked_act {
	WP_CLI_PARKED_LIST,
	WP_CLI_PARKED_SHOW,
	WP_CLI_PARKED_RETRY,
	WP_CLI_PARKED_SKIP,
	WP_CLI_PARKED_PURGE,
};

struct wp_cli_parked {
	enum wp_cli_parked_act act;
	struct wp_config config;
	struct wp_postgres_options postgres; /* with the slot that is meant */
	const char *slot;		     /* as given; so are these */
	const char *limit_text;
	const char *timeout_text;
	struct wp_cli_parked_filter filter;
	int64_t limit; /* of what is shown */
	int64_t timeout_ms;
	bool json;
	bool payload;
	bool force;
	bool dry_run;
	bool no_wait;
	struct wp_console console;
	struct wp_session session;
};

/* -- parked_choice.c: which events ---------------------------------------------------- */

/* Is there a key, an outbox, a position or a code? */
bool wp_cli_parked_is_narrowed(const struct wp_cli_parked_filter *f);
/* Returns WP_CONFIG with the error for a position that is none. */
enum wp_rc wp_cli_parked_filter_check(const struct wp_cli_parked_filter *f,
				      struct wp_error *error) WP_MUST_CHECK;
/* Is something to be changed, other than to say what would be? */
bool wp_cli_parked_changes(const struct wp_cli_parked *p);
/* Returns WP_CONFIG with the error if the tables are not there, or not for this role. */
enum wp_rc wp_cli_parked_check_tables(struct wp_cli_parked *p,
				      struct wp_error *error) WP_MUST_CHECK;
/*
 * Writes "WITH seen AS (SELECT ...) ", the events of the aggregates that are meant, but for the
 * filter by code: position, outbox, key, id, code, attempts, next_attempt_at, act; is_first, of its
 * aggregate; and of that first_code, events, discarded, since. The first is the first that is not
 * discarded already, as it is for the relay.
 */
void wp_cli_parked_seen_sql(struct wp_sql *sql, const struct wp_cli_parked *p);
/*
 * Writes "FROM seen WHERE ...", those that the act is about. Of all that is not discarded already
 * these are one event for `skip`, the first of each aggregate for `retry`, all for `purge`.
 */
void wp_cli_parked_chosen_sql(struct wp_sql *sql, const struct wp_cli_parked *p);
/* Says that nothing is there that was asked for. Returns the exit code. */
int wp_cli_parked_none(const struct wp_cli_parked *p);

/* -- parked_list.c, parked_show.c: what is seen of them -------------------------------- */

int wp_cli_parked_list(struct wp_cli_parked *p);
int wp_cli_parked_show(struct wp_cli_parked *p);

/*
 * Asks for the first of them by position, no more than `limit`. The first column says how many
 * there are, of aggregates the second how many events; these are hidden from JSON.
 */
enum wp_rc wp_cli_parked_ask_aggregates(struct wp_cli_parked *p, PGresult **ret,
					struct wp_error *error) WP_MUST_CHECK;
enum wp_rc wp_cli_parked_ask_events(struct wp_cli_parked *p, PGresult **ret,
				    struct wp_error *error) WP_MUST_CHECK;
enum { WP_CLI_PARKED_AGGREGATE_HIDDEN = 2, WP_CLI_PARKED_EVENT_HIDDEN = 1 };
void wp_cli_parked_print_aggregates(const PGresult *aggregates);
/* Prints a line for each, which names it. */
void wp_cli_parked_print_events(const PGresult *events);
/* Writes ", column AS name", in UTC, as in RFC 3339; NULL where it is infinite. */
void wp_cli_parked_time_sql(struct wp_sql *sql, const char *column, const char *name);
/* Makes an object of all columns but the first `hidden`, or an array of one for each row. The caller owns it. */
json_t *wp_cli_parked_json_row(const PGresult *rows, int row, int hidden);
json_t *wp_cli_parked_json(const PGresult *rows, int hidden);

/* -- parked_act.c: retry, skip, purge -------------------------------------------------- */

int wp_cli_parked_ask(struct wp_cli_parked *p);

/* -- parked_wait.c: until the relay has tried ------------------------------------------ */

/* This is a retry as recorded in walpost.parked_acts. */
struct wp_cli_parked_asked {
	char at[64];				   /* when it was asked for, the same for all */
	char last_position[WP_POSITION_TEXT_SIZE]; /* of what was parked then */
	int64_t first_id;
	int64_t last_id;
	int64_t aggregates;
	int64_t events;
};

/*
 * Waits until all of them are delivered or have failed, or for --timeout. Says what came of it, in
 * JSON within `summary`, which it consumes. Returns the exit code.
 */
int wp_cli_parked_wait(struct wp_cli_parked *p, const struct wp_cli_parked_asked *asked,
		       json_t *summary);

/*
 * Shows a bar in place of the one before on a terminal, else a line every few seconds; on standard
 * error. `what` is "events delivered", say.
 */
struct wp_cli_parked_progress {
	const char *what;
	int64_t said_ms;
	int64_t said;
	bool has_said;
	bool on_terminal;
};
void wp_cli_parked_say_progress(struct wp_cli_parked_progress *s, int64_t done, int64_t all);
/* Takes the bar away. */
void wp_cli_parked_end_progress(struct wp_cli_parked_progress *s);

#endif
