#include "backfill.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "walpost/cli/cli.h"
#include "walpost/config/option.h"

enum { TIMEOUT_MS = 60000, RATE_MAX = 1000000 };
#define ROWS_MAX (INT64_MAX - 1)

/* -- what it says ------------------------------------------------------------------------- */

static void say_tables(const struct wp_backfill *b)
{
	for (size_t i = 0; i < b->diff.table_count; i++) {
		const struct wp_diff_table *table = &b->diff.tables[i];
		const char *order = table->order.column;
		if (wp_diff_lists(&b->diff, table))
			wp_cli_say(stdout, "from table %s, in %s%s\n", table->name,
				   order[0] != '\0' ? "the order of " : "any order", order);
	}
}

static void say_discarded(const struct wp_backfill *b)
{
	wp_cli_say(stdout,
		   "rows whose event was discarded with walpost parked: %" PRIu64
		   "; they are sent like the others, unless you delete them or leave them out with "
		   "--where. Their ids:",
		   b->discarded_rows);
	for (size_t i = 0; i < WP_BACKFILL_DISCARDED_SHOWN && i < b->discarded_rows; i++)
		wp_cli_say(stdout, "%s %s", i == 0 ? "" : ",", b->discarded_ids[i].text);
	wp_cli_say(stdout, "%s\n", b->discarded_rows > WP_BACKFILL_DISCARDED_SHOWN ? ", ..." : "");
}

static void say_plan(const struct wp_backfill *b)
{
	say_tables(b);
	if (b->counts != NULL)
		printf("%" PRIu64 " of %" PRIu64 " rows have no record in Kafka\n",
		       b->counts->missing, b->counts->rows);
	for (size_t i = 0; i < b->topic_count; i++)
		wp_cli_say(stdout, "to topic %s: %" PRIu64 " rows\n", b->topics[i].name,
			   b->topics[i].rows);
	if (b->unmade > 0)
		wp_cli_say(stdout, "to topic %s, as dead letters: %" PRIu64 " rows\n",
			   b->diff.config.relay.dead_letter_topic, b->unmade);
	if (b->diff.reading.parked != NULL)
		printf("parked events of slot %s are left out: the relay sends them\n",
		       b->postgres.slot);
	if (b->discarded_rows > 0)
		say_discarded(b);
	if ((b->skipped > 0 || b->skipped_more) && b->rows > 0)
		wp_cli_say(stdout,
			   "walpost slot skip discarded %" PRId64
			   "%s event%s of slot %s, whose ids "
			   "are not recorded: their rows, if they are still there, are sent like "
			   "the others\n",
			   b->skipped, b->skipped_more ? " or more" : "",
			   b->skipped == 1 && !b->skipped_more ? "" : "s", b->postgres.slot);
	printf("%s%" PRIu64 " rows, committed before %s\n", b->dry_run ? "would send " : "sending ",
	       b->rows, b->lsn);
	/* Whoever reads along sees it now; say_end() tells whether it could be written. */
	(void)fflush(stdout);
}

static int print_json(const struct wp_backfill *b)
{
	json_t *topics = json_object();
	int failed = 0;

	for (size_t i = 0; i < b->topic_count; i++)
		failed |= json_object_set_new(topics, b->topics[i].name,
					      json_integer((json_int_t)b->topics[i].rows));
	json_t *all = json_pack("{s:s, s:b, s:I, s:I, s:I, s:I, s:s, s:o}", "slot",
				b->postgres.slot, "dry_run", b->dry_run, "rows",
				(json_int_t)b->rows, "discarded", (json_int_t)b->discarded_rows,
				"sent", (json_int_t)b->kafka.confirmed, "dead_letters",
				(json_int_t)b->kafka.dead_letters, "lsn", b->lsn, "topics", topics);
	failed |= all == NULL || json_dumpf(all, stdout, JSON_INDENT(2) | JSON_ENSURE_ASCII);
	json_decref(all);
	if (failed)
		return wp_cli_fail(WP_EXIT_FAILED, "the result cannot be written as JSON");
	printf("\n");
	return wp_cli_done();
}

static int say_end(const struct wp_backfill *b)
{
	if (b->diff.options.json)
		return print_json(b);
	if (!b->dry_run)
		wp_cli_say(stdout,
			   "%" PRIu64 " records are confirmed, %" PRIu64 " of them dead letters\n"
			   "slot %s: created at %s; start walpost run\n",
			   b->kafka.confirmed, b->kafka.dead_letters, b->postgres.slot, b->lsn);
	return wp_cli_done();
}

/* -- the command -------------------------------------------------------------------------- */

/* The missing rows are known only once all rows and all records have been read. */
static enum wp_rc find_missing(struct wp_backfill *b, struct wp_error *error)
{
	if (!b->missing)
		return WP_OK;
	b->diff.options.limit = WP_DIFF_LIMIT_MAX;
	enum wp_rc rc = wp_diff_compare(&b->diff, error);
	b->diff.options.limit = ROWS_MAX;
	if (rc != WP_OK)
		return rc;
	for (size_t i = 0; i < b->diff.table_count; i++) {
		if (b->diff.is_full || b->diff.tables[i].is_limited)
			return wp_error_set(error, WP_CONFIG,
					    "there are more rows than can be compared at once "
					    "(%d): choose those that may be missing with --where",
					    WP_DIFF_LIMIT_MAX);
	}
	b->counts = wp_matching_finish(b->diff.matching);
	return WP_OK;
}

static enum wp_rc name_run(struct wp_backfill *b, struct wp_error *error)
{
	PGresult *id;
	enum wp_rc rc =
		wp_session_query(&b->session, "SELECT pg_catalog.gen_random_uuid()", &id, error);

	if (rc != WP_OK)
		return rc;
	(void)snprintf(b->run_id, sizeof(b->run_id), "%s", PQgetvalue(id, 0, 0));
	PQclear(id);
	b->diff.outboxes.run_id = b->run_id;
	return WP_OK;
}

static void warn_of_messages(const struct wp_backfill *b)
{
	for (size_t i = 0; i < b->diff.outboxes.count; i++) {
		if (b->diff.outboxes.items[i].table[0] == '\0')
			wp_cli_say(stderr,
				   "walpost: messages with prefix %s are in no table: only the "
				   "application can send them again\n",
				   b->diff.outboxes.items[i].message_prefix);
	}
}

/* The slot begins behind the rows of all outboxes, because there is one slot for all. */
static void warn_of_others(const struct wp_backfill *b)
{
	const struct wp_outboxes *all = &b->diff.config.outboxes;

	for (size_t i = 0; i < all->count && b->diff.options.outbox != NULL; i++) {
		if (strcmp(all->items[i].table, b->diff.outboxes.items[0].table) != 0 &&
		    all->items[i].table[0] != '\0')
			wp_cli_say(stderr,
				   "walpost: rows of %s are not sent, and the new slot does not "
				   "have those committed before it: leave --outbox out, unless "
				   "none is missing\n",
				   all->items[i].table);
	}
}

static void warn_of_ties(const struct wp_backfill *b)
{
	for (size_t i = 0; i < b->diff.table_count; i++)
		wp_row_order_say_ties(b->diff.tables[i].order.column, b->diff.tables[i].name,
				      b->diff.tables[i].ties);
}

static enum wp_rc prepare(struct wp_backfill *b, struct wp_error *error)
{
	enum wp_rc rc = wp_session_begin(&b->session, &b->diff.console, &b->postgres, error);
	if (rc == WP_OK)
		rc = name_run(b, error);
	if (rc == WP_OK)
		rc = wp_backfill_judge_slot(b, error);
	if (rc == WP_OK)
		rc = wp_backfill_find_parked(b, error);
	if (rc == WP_OK) {
		warn_of_messages(b);
		warn_of_others(b);
	}
	if (rc == WP_OK)
		rc = wp_backfill_begin_slot(b, error);
	if (rc != WP_OK)
		return rc;
	b->diff.reading.snapshot = b->snapshot;
	b->diff.reading.commit_time_us = wp_cli_now_us();
	rc = find_missing(b, error);
	return rc == WP_OK ? wp_backfill_count(b, error) : rc;
}

static enum wp_rc backfill(struct wp_backfill *b, struct wp_error *error)
{
	enum wp_rc rc = prepare(b, error);
	if (rc == WP_OK)
		rc = wp_backfill_open_sink(b, error);
	if (rc == WP_OK)
		rc = wp_backfill_judge_topic_ends(b, error);
	if (rc == WP_OK && !b->diff.options.json)
		say_plan(b);
	if (rc == WP_OK)
		warn_of_ties(b);
	if (rc != WP_OK || b->dry_run)
		return rc;
	wp_backfill_note_epoch(b);
	rc = wp_backfill_send(b, error);
	return rc == WP_OK ? wp_backfill_make_slot(b, error) : rc;
}

static int run_it(struct wp_backfill *b)
{
	struct wp_error error;
	enum wp_rc rc = backfill(b, &error);

	wp_cli_say_progress("%s", "");
	int exit_code =
		rc == WP_OK ? say_end(b) : wp_cli_fail(wp_cli_exit_of(rc), "%s", error.text);
	wp_backfill_close_sink(b);
	PQclear(b->parked);
	PQclear(b->discarded);
	free(b->discarded_order);
	wp_session_release(&b->replication);
	wp_session_release(&b->session);
	wp_diff_release(&b->diff);
	wp_console_release(&b->diff.console);
	return exit_code;
}

/* -- the command line ----------------------------------------------------------------------- */

static int read_rate(const char *text, int64_t *ret)
{
	if (text == NULL || (wp_value_number(text, strlen(text), RATE_MAX, ret) && *ret >= 1))
		return WP_EXIT_OK;
	return wp_cli_fail(WP_EXIT_CONFIG, "--rate %.100s: allowed is a number from 1 to %d", text,
			   RATE_MAX);
}

static int start(struct wp_backfill *b, const struct wp_cli_line *line)
{
	int exit_code = wp_cli_config(line, &b->diff.config);

	if (exit_code == WP_EXIT_OK)
		exit_code = wp_diff_choose(&b->diff);
	if (exit_code == WP_EXIT_OK) {
		b->postgres = b->diff.config.postgres;
		exit_code = run_it(b);
	}
	wp_config_release(&b->diff.config);
	return exit_code;
}

int wp_command_backfill(int argc, char **argv)
{
	static struct wp_backfill b; /* static because it is large; there is only one */
	const char *rate = NULL, *timeout = NULL;
	struct wp_diff_options *o = &b.diff.options;
	const struct wp_cli_option options[] = {
		{ "--missing", NULL, "only rows that have no record in Kafka and are not parked",
		  &b.missing, NULL },
		{ "--outbox", "NAME", "only the outbox of [outbox.NAME]", NULL, &o->outbox },
		{ "--where", "SQL", "only rows that satisfy this SQL condition", NULL, &o->where },
		{ "--order-by", "COLUMN",
		  "the column that gives the order of the rows; none: any order", NULL,
		  &b.diff.reading.order_by },
		{ "--rate", "N", "at most so many events a second", NULL, &rate },
		{ "--timeout", "DURATION", "wait this long for open transactions, 60s by default",
		  NULL, &timeout },
		{ "--force", NULL, "replace a slot that exists, lost or not", &b.force, NULL },
		{ "--dry-run", NULL, "print what would be sent; send nothing, create no slot",
		  &b.dry_run, NULL },
		{ "--json", NULL, "as one JSON object", &o->json, NULL },
	};
	const struct wp_cli_usage usage = {
		.command = "walpost backfill",
		.about = "Sends rows of the outbox tables to Kafka while no relay runs, and then creates the\n"
"slot that begins behind them: for a new slot, or in place of a lost one. With\n"
"--missing, only rows that have no record in Kafka. If it is interrupted, no slot is\n"
"left: begin again, with --missing.",
		WP_CLI_OPTIONS(options),
		.exits = {
			[WP_EXIT_OK] = "all are confirmed and the slot exists; with --dry-run: counted",
			[WP_EXIT_FAILED] = "refused, interrupted, or a server does not answer",
			[WP_EXIT_CONFIG] = "wrong usage or configuration, or a privilege is missing",
		},
	};
	struct wp_cli_line line;
	int exit_code;

	b.timeout_ms = TIMEOUT_MS;
	*o = (struct wp_diff_options){ .id_header = "id", .limit = ROWS_MAX };
	if (!wp_cli_parse(&usage, argc, argv, &line, &exit_code))
		return exit_code;
	exit_code = read_rate(rate, &b.rate);
	if (exit_code == WP_EXIT_OK)
		exit_code = wp_cli_duration("--timeout", timeout, &b.timeout_ms);
	return exit_code == WP_EXIT_OK ? start(&b, &line) : exit_code;
}
