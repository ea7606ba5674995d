/*
 * Here is what the files of `walpost replay` share. replay.c has the commands; replay_job.c the row
 * of walpost.replay, which says what is sent and how far it is; replay_send.c sends the pages;
 * replay_topic.c judges another topic.
 *
 * Options are kept in the row, SQL is not: whoever continues a job makes it of them anew, so that
 * nobody executes what another wrote. Only --where must be given again, the same.
 */
#ifndef WALPOST_SRC_CLI_REPLAY_H
#define WALPOST_SRC_CLI_REPLAY_H

#include <jansson.h>

#include "reissue_slot.h"
#include "walpost/cli/row_order.h"
#include "walpost/config/config.h"
#include "walpost/outbox/names.h"

enum { WP_REPLAY_KEYS_MAX = 35 }; /* columns of an index, and three */

/* This is what is chosen, as it was given; NULL if it was not. */
struct wp_replay_choice {
	const char *outbox;
	const char *since;
	const char *until;
	const char *time_column;
	const char *order_by;
	const char *ids;
	const char *keys;
	const char *types;
	const char *where;
	const char *to_topic;
	bool by_commit_time;
	bool by_statement; /* rows with the same value of the order; found, not given */
};

struct wp_replay {
	struct wp_config config;
	struct wp_postgres_options postgres; /* with the slot that is meant */
	struct wp_replay_choice choice;
	const char *slot_text;
	const char *rate_text;
	const char *job_text;
	int64_t rate; /* rows a second; 0: no bound */
	bool dry_run;
	bool json;
	struct wp_console console;
	struct wp_session session;
	struct wp_reissue_slot slot;

	const struct wp_outbox_options *outbox;
	struct wp_outbox_options
		named; /* of one of a pattern's tables, as if it had been configured */
	struct wp_table_name table;
	struct wp_row_order order;
	/* Each key is SQL, of the order or of what tells rows apart: a column's name quoted, or an expression. */
	char *keys[WP_REPLAY_KEYS_MAX]; /* owned */
	size_t key_count;
	bool has_order; /* the first of them is it */

	/* The job. */
	int64_t job;  /* 0: none yet */
	json_t *said; /* owned: the choice, as the row has it */
	int64_t total;
	int64_t sent;
	char *last;  /* owned: text[] of the keys sent last; "": none */
	char *until; /* owned: likewise of the last that is to be sent */
};

/* -- replay_job.c -------------------------------------------------------------------------- */

/* Finds the outbox, and the order of its rows. Returns WP_CONFIG with the error if it has no unique key, say. */
enum wp_rc wp_replay_find_outbox(struct wp_replay *r, struct wp_error *error) WP_MUST_CHECK;
/* Writes "FROM table o WHERE ...", the rows that are chosen. */
void wp_replay_chosen_sql(struct wp_sql *sql, const struct wp_replay *r);
/* Writes the keys, with `between` between two. */
void wp_replay_keys_sql(struct wp_sql *sql, const struct wp_replay *r, const char *between);
/* Judges the order of a new job. Returns WP_CONFIG with the error if several rows are of one key, and there is none. */
enum wp_rc wp_replay_judge_order(struct wp_replay *r, struct wp_error *error) WP_MUST_CHECK;
/* Names it for people, if there is an order. */
const char *wp_replay_order_name(const struct wp_replay *r);
/* Counts how many there are, and finds up to which. */
enum wp_rc wp_replay_count(struct wp_replay *r, struct wp_error *error) WP_MUST_CHECK;
enum wp_rc wp_replay_create_job(struct wp_replay *r, struct wp_error *error) WP_MUST_CHECK;
/* Reads the row of r->job and takes its choice. Returns WP_CONFIG with the error if it is over. */
enum wp_rc wp_replay_load_job(struct wp_replay *r, struct wp_error *error) WP_MUST_CHECK;
enum wp_rc wp_replay_cancel_job(struct wp_replay *r, struct wp_error *error) WP_MUST_CHECK;
int wp_replay_list_jobs(struct wp_replay *r);

/* -- replay_topic.c ------------------------------------------------------------------------- */

/*
 * Can events be sent to choice.to_topic, if there is one? Asks database and Kafka. Returns
 * WP_CONFIG with the error if they cannot, WP_IO if nobody answers.
 */
enum wp_rc wp_replay_check_topic(struct wp_replay *r, struct wp_error *error) WP_MUST_CHECK;

/* -- replay_send.c -------------------------------------------------------------------------- */

/*
 * Sends page by page to the end, and waits until all is confirmed. Returns WP_IO with the error
 * when interrupted, say; the job can be continued.
 */
enum wp_rc wp_replay_send(struct wp_replay *r, struct wp_error *error) WP_MUST_CHECK;

#endif
