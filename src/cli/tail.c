/* `walpost tail` shows events as they are committed, which it reads from a temporary slot. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "walpost/base/clock.h"
#include "walpost/cli/changes.h"
#include "walpost/cli/cli.h"
#include "walpost/cli/outbox.h"
#include "walpost/cli/output.h"
#include "walpost/outbox/feed.h"
#include "walpost/registry/registry.h"
#include "walpost/run/requirements.h"
#include "walpost/sink/json.h"

#define LINES_SIZE_MAX ((size_t)1 << 31) /* a guard only: a line of the largest row has room */
#define LINES_WRITTEN_AT ((size_t)64 * 1024)
#define LOOK_EVERY_S 0.25
/* Debezium's context headers name a run; this is none. */
#define NO_RUN "00000000-0000-0000-0000-000000000000"

struct tail {
	struct wp_config config;
	bool backlog;
	bool no_follow;
	const char *count_text;
	const char *topic; /* NULL: any */
	const char *key;   /* NULL: any */
	uint64_t count;	   /* 0: no end */

	struct wp_console console;
	struct wp_session session;
	struct wp_output output;
	struct wp_changes changes;

	/* This is what a relay would know of the server, and of schemas. */
	struct wp_registry_session registry;
	struct wp_outboxes outboxes;
	struct wp_requirements_outboxes wanted;
	struct wp_timelines timelines;
	wp_lsn log_end; /* as we began */
	struct wp_column_facts columns;
	struct wp_partitions partitions; /* owned; unknown until they are asked for */
	enum wp_transfer transfer;

	struct wp_feed *feed; /* owned */
	struct wp_fed fed;
	struct wp_buffer lines; /* not written yet */
	uint64_t shown;
	struct wp_error noted; /* the last note */
};

/* -- what a relay would know ----------------------------------------------- */

static enum wp_rc find_columns(struct tail *t, struct wp_error *error)
{
	/*
	 * Values come as text unless they must be binary: a row in the log may be of the table as
	 * it was before.
	 */
	enum wp_binary binary =
		t->config.postgres.binary == WP_BINARY_ON ? WP_BINARY_ON : WP_BINARY_OFF;
	return wp_cli_find_columns(&t->session, &t->wanted.wanted, binary, &t->columns,
				   &t->transfer, error);
}

/* -- lines ----------------------------------------------------------------- */

/* Says it once, however often it comes in a row. */
static void note(struct tail *t, const char *what, const char *text)
{
	struct wp_error now;
	(void)wp_error_set(&now, WP_OK, "%s%s", what, text);
	if (strcmp(now.text, t->noted.text) != 0)
		(void)wp_cli_fail(0, "%s", now.text);
	t->noted = now;
}

/* Since PostgreSQL 18 rows from before the publication was made are left out with a warning. */
static void on_notice(void *arg, const PGresult *notice)
{
	const char *text = PQresultErrorField(notice, PG_DIAG_MESSAGE_PRIMARY);
	if (text != NULL)
		note(arg, "message from the server: ", text);
}

static enum wp_rc write_lines(struct tail *t, struct wp_error *error)
{
	enum wp_rc rc = wp_output_write(&t->output, wp_buffer_span(&t->lines), error);
	wp_buffer_empty(&t->lines, LINES_WRITTEN_AT);
	return rc;
}

static bool is_asked_for(const struct tail *t, const struct wp_record *record)
{
	return (t->topic == NULL || wp_span_is(record->topic, t->topic)) &&
	       (t->key == NULL || wp_span_is(record->key, t->key));
}

/* Returns WP_AGAIN if it was the last record that is wanted. */
static enum wp_rc show(struct tail *t, struct wp_error *error)
{
	const struct wp_record *record = &t->fed.record;
	if (!is_asked_for(t, record))
		return WP_OK;
	enum wp_rc rc = t->fed.kind == WP_FED_RECORD
				? wp_json_record(&t->lines, record)
				: wp_json_poison(&t->lines, record, t->fed.error.text);
	if (rc != WP_OK)
		return wp_error_set(error, rc, "a line of %s is too long, or memory is exhausted",
				    record->table);
	t->shown++;
	if (t->lines.size >= LINES_WRITTEN_AT)
		rc = write_lines(t, error);
	return rc == WP_OK && t->shown == t->count ? WP_AGAIN : rc;
}

static enum wp_rc feed_once(void *arg, struct wp_span message, struct wp_error *error)
{
	struct tail *t = arg;
	return wp_feed_take(t->feed, message, wp_cli_now_us(), &t->fed, error);
}

/* One question is answered, and then perhaps the other. */
static enum wp_rc feed(struct tail *t, struct wp_span message, struct wp_error *error)
{
	const struct wp_cli_catalog catalog = {
		.session = &t->session,
		.options = &t->config.postgres,
		.wanted = &t->wanted.wanted,
		.partitions = &t->partitions,
		.patience_ms = INT64_MAX,
	};
	enum wp_rc rc = wp_cli_offer(&catalog, feed_once, t, message, error);
	if (rc == WP_CONFIG && wp_feed_wants_facts(t->feed)) {
		/* A type was made since we asked about them. */
		rc = find_columns(t, error);
		if (rc == WP_OK && wp_feed_know(t->feed, &t->columns) != WP_OK)
			rc = wp_error_set(error, WP_NOMEM, "out of memory for column types");
		if (rc == WP_OK)
			rc = wp_feed_take(t->feed, message, wp_cli_now_us(), &t->fed, error);
	}
	return rc;
}

static enum wp_rc take(void *arg, struct wp_span message, struct wp_error *error)
{
	struct tail *t = arg;
	enum wp_rc rc = feed(t, message, error);
	if (rc != WP_OK)
		return rc;
	if (t->fed.kind == WP_FED_NOTE)
		note(t, "", t->fed.error.text);
	return t->fed.kind == WP_FED_RECORD || t->fed.kind == WP_FED_POISON ? show(t, error)
									    : WP_OK;
}

/* -- the command ----------------------------------------------------------- */

/* Lines that were made are written, also when what follows failed. */
static enum wp_rc read_and_write(struct tail *t, enum wp_changes_left *ret, struct wp_error *error)
{
	struct wp_error unwritten;
	enum wp_rc rc = wp_changes_read(&t->changes, take, t, ret, error);
	if (t->console.interrupted)
		return wp_error_set(error, WP_IO, "interrupted");
	enum wp_rc write_rc = write_lines(t, &unwritten);
	if (write_rc != WP_OK && (rc == WP_OK || rc == WP_AGAIN))
		return wp_error_set(error, write_rc, "%s", unwritten.text);
	return rc;
}

static enum wp_rc follow(struct tail *t, struct wp_error *error)
{
	enum wp_changes_left left = WP_CHANGES_MORE;
	enum wp_rc rc = WP_OK;
	while (rc == WP_OK && !t->console.interrupted) {
		int64_t begun_us = wp_clock_us();
		rc = read_and_write(t, &left, error);
		if (rc != WP_OK || left == WP_CHANGES_MORE)
			continue;
		if (t->no_follow)
			break;
		/* A reading costs as much as it holds, so at most half of the time goes into it. */
		double spent_s = (double)(wp_clock_us() - begun_us) / 1e6;
		wp_console_wait(&t->console, spent_s > LOOK_EVERY_S ? spent_s : LOOK_EVERY_S);
	}
	return rc == WP_AGAIN ? WP_OK : rc;
}

static enum wp_rc open_feed(struct tail *t, struct wp_error *error)
{
	const struct wp_feed_setup feed = {
		.outboxes = &t->outboxes,
		.epoch = t->config.relay.epoch,
		.record_max = wp_cli_record_max(&t->config),
		.timelines = &t->timelines,
		.encoding = wp_server_encoding(wp_session_pg(&t->session)),
		.columns = &t->columns,
		.partitions = &t->partitions,
		.transfer = t->transfer,
	};
	const struct wp_changes_setup changes = {
		.session = &t->session,
		.options = &t->config.postgres,
		.from = t->backlog ? WP_CHANGES_FROM_SLOT : WP_CHANGES_FROM_NOW,
		.transfer = t->transfer,
		.until = t->no_follow ? t->log_end : 0,
	};
	enum wp_rc rc = wp_feed_new(&feed, &t->feed, error);
	if (rc == WP_OK)
		rc = wp_changes_begin(&t->changes, &changes, error);
	if (rc == WP_OK)
		(void)wp_cli_fail(0, "events from %s on", t->changes.from);
	return rc;
}

static enum wp_rc connect_and_follow(struct tail *t, struct wp_error *error)
{
	enum wp_rc rc = wp_console_init(&t->console, error);
	if (rc != WP_OK)
		return rc;
	wp_output_init(&t->output, &t->console);
	rc = wp_session_open(&t->session, &t->console, &t->config.postgres,
			     WP_CONNECTION_REPLICATION, error);
	if (rc != WP_OK)
		return rc;
	(void)PQsetNoticeReceiver(wp_session_pg(&t->session), on_notice, t);
	rc = wp_cli_timelines(&t->session, &t->timelines, &t->log_end, error);
	if (rc == WP_OK)
		rc = wp_requirements_outboxes_init(&t->wanted, &t->outboxes, error);
	if (rc == WP_OK)
		rc = wp_cli_check_tables(&t->session, &t->wanted.wanted, error);
	if (rc == WP_OK)
		rc = find_columns(t, error);
	if (rc == WP_OK)
		rc = open_feed(t, error);
	return rc == WP_OK ? follow(t, error) : rc;
}

static int tail(struct tail *t)
{
	struct wp_error error;
	wp_buffer_init(&t->lines, LINES_SIZE_MAX);
	t->outboxes = t->config.outboxes;
	t->outboxes.run_id = NO_RUN;
	wp_registry_session_init(&t->registry);
	t->outboxes.subjects = &t->registry.subjects;
	enum wp_rc rc = connect_and_follow(t, &error);
	bool interrupted = t->console.interrupted;
	wp_feed_free(t->feed);
	wp_registry_session_release(&t->registry);
	wp_partitions_release(&t->partitions);
	wp_requirements_outboxes_release(&t->wanted);
	wp_session_release(&t->session);
	wp_output_release(&t->output);
	wp_console_release(&t->console);
	wp_buffer_release(&t->lines);
	if (rc == WP_OK || interrupted)
		return WP_EXIT_OK;
	return wp_cli_fail(wp_cli_exit_of(rc), "%s", error.text);
}

static int read_options(struct tail *t)
{
	char *end = NULL;
	if (t->no_follow && !t->backlog)
		return wp_cli_fail(
			WP_EXIT_CONFIG,
			"--no-follow stops at the end of the backlog and requires --backlog");
	if (t->count_text == NULL)
		return WP_EXIT_OK;
	errno = 0;
	t->count = strtoull(t->count_text, &end, 10);
	if (strspn(t->count_text, "0123456789") != strlen(t->count_text) || t->count == 0 ||
	    errno != 0)
		return wp_cli_fail(WP_EXIT_CONFIG, "--count %.100s is not a positive number",
				   t->count_text);
	return WP_EXIT_OK;
}

int wp_command_tail(int argc, char **argv)
{
	struct tail t = { .backlog = false };
	const struct wp_cli_option options[] = {
		{ "--backlog", NULL, "begin with the events that the configured slot still holds",
		  &t.backlog, NULL },
		{ "--no-follow", NULL, "with --backlog: stop at the present end of the WAL",
		  &t.no_follow, NULL },
		{ "--count", "N", "stop after N events", NULL, &t.count_text },
		{ "--topic", "NAME", "only events of this topic", NULL, &t.topic },
		{ "--key", "TEXT", "only events with this key", NULL, &t.key },
	};
	const struct wp_cli_usage usage = {
		.command = "walpost tail",
		.about = "Shows events as they are committed: the records that `walpost run` sends, as JSON,\n"
"one object a line. Sends and confirms nothing: it reads from a temporary slot,\n"
"which the server drops at the end. An event that cannot be sent has a member\n"
"\"error\", and reading continues.",
		WP_CLI_OPTIONS(options),
		.exits = {
			[WP_EXIT_OK] = "stopped (SIGINT, SIGTERM, a closed pipe), or reached its end",
			[WP_EXIT_FAILED] = "the server does not answer; slot or publication is missing or lost",
			[WP_EXIT_CONFIG] = "wrong usage or configuration, or no privilege or free slot to replicate",
		},
	};
	struct wp_cli_line line;
	int exit_code;
	if (!wp_cli_parse(&usage, argc, argv, &line, &exit_code))
		return exit_code;
	exit_code = read_options(&t);
	if (exit_code == WP_EXIT_OK)
		exit_code = wp_cli_config(&line, &t.config);
	if (exit_code == WP_EXIT_OK)
		exit_code = tail(&t);
	wp_config_release(&t.config);
	return exit_code;
}
