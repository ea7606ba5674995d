#include "replay.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "walpost/base/calendar.h"
#include "walpost/cli/cli.h"
#include "walpost/config/option.h"
#include "walpost/outbox/route.h"

enum { RATE_MAX = 1000000 };

/* -- what was asked for ------------------------------------------------------------------------ */

/* A duration is made a time once, so that a replay that is resumed chooses the same rows. */
static void fix_time(const char **text, char into[WP_CALENDAR_TEXT_SIZE])
{
	int64_t back_ms;

	if (*text == NULL || wp_value_duration(*text, &back_ms) != WP_OK)
		return;
	time_t now = time(NULL), then = back_ms / 1000 < now ? now - (time_t)(back_ms / 1000) : 0;

	(void)wp_calendar_text(then, into);
	*text = into;
}

static int check_choice(struct wp_replay *r)
{
	const struct wp_replay_choice *c = &r->choice;
	bool has_times = c->since != NULL || c->until != NULL;

	if (r->rate_text != NULL &&
	    (!wp_value_number(r->rate_text, strlen(r->rate_text), RATE_MAX, &r->rate) ||
	     r->rate < 1))
		return wp_cli_fail(WP_EXIT_CONFIG,
				   "--rate %.100s: allowed is a number of rows a second, from 1 to "
				   "%d",
				   r->rate_text, RATE_MAX);
	if (c->to_topic != NULL && wp_topic_name_trouble(c->to_topic) != NULL)
		return wp_cli_fail(WP_EXIT_CONFIG, "--to-topic %.300s: the name of a topic %s",
				   c->to_topic, wp_topic_name_trouble(c->to_topic));
	if (c->by_commit_time && (c->time_column != NULL || c->order_by != NULL))
		return wp_cli_fail(WP_EXIT_CONFIG,
				   "--by-commit-time orders by the time of the commit: leave "
				   "--time-column and --order-by out");
	if (has_times && !c->by_commit_time && c->time_column == NULL)
		return wp_cli_fail(WP_EXIT_CONFIG,
				   "--since and --until need --time-column COLUMN, or "
				   "--by-commit-time");
	return WP_EXIT_OK;
}

static enum wp_rc begin(struct wp_replay *r, struct wp_error *error)
{
	r->slot = (struct wp_reissue_slot){
		.session = &r->session,
		.slot = r->postgres.slot,
		.also = "replay",
		.also_sql = "sql/reissue.sql",
	};
	return wp_session_begin(&r->session, &r->console, &r->postgres, error);
}

static int run(struct wp_replay *r, const struct wp_cli_usage *usage, int argc, char **argv,
	       int (*act)(struct wp_replay *))
{
	char since[WP_CALENDAR_TEXT_SIZE], until[WP_CALENDAR_TEXT_SIZE];
	struct wp_cli_line line;
	struct wp_error error;
	int exit_code;

	if (!wp_cli_parse(usage, argc, argv, &line, &exit_code))
		return exit_code;
	fix_time(&r->choice.since, since);
	fix_time(&r->choice.until, until);
	r->job_text = line.argument_count > 0 ? line.arguments[0] : NULL;
	exit_code = check_choice(r);
	if (exit_code == WP_EXIT_OK && usage->argument_max > 0 &&
	    (r->job_text == NULL ||
	     !wp_value_number(r->job_text, strlen(r->job_text), INT64_MAX, &r->job) || r->job < 1))
		exit_code = wp_cli_fail(WP_EXIT_CONFIG,
					"%s: which one? Give the number that `walpost replay list` "
					"shows",
					usage->command);
	if (exit_code == WP_EXIT_OK)
		exit_code = wp_cli_config(&line, &r->config);
	if (exit_code == WP_EXIT_OK) {
		r->postgres = r->config.postgres;
		if (r->slot_text != NULL)
			r->postgres.slot = r->slot_text;
		enum wp_rc rc = begin(r, &error);
		if (rc == WP_OK) /* checks that tables and slot are there */
			rc = wp_reissue_slot_ask(&r->slot, "0/0", &error);
		exit_code =
			rc == WP_OK ? act(r) : wp_cli_fail(wp_cli_exit_of(rc), "%s", error.text);
	}
	wp_session_release(&r->session);
	wp_console_release(&r->console);
	for (size_t i = 0; i < r->key_count; i++)
		free(r->keys[i]);
	free(r->last);
	free(r->until);
	json_decref(r->said);
	wp_config_release(&r->config);
	return exit_code;
}

/* -- saying it ------------------------------------------------------------------------------------ */

static int print_json(const struct wp_replay *r, const char *state)
{
	json_t *object = json_object();

	if (r->job != 0)
		(void)json_object_set_new(object, "id", json_integer(r->job));
	(void)json_object_set_new(object, "slot", json_string(r->postgres.slot));
	(void)json_object_set_new(object, "outbox", json_string(r->outbox->table));
	(void)json_object_set_new(object, "to_topic", json_string(r->choice.to_topic));
	(void)json_object_set_new(object, "state", json_string(state));
	(void)json_object_set_new(object, "total", json_integer(r->total));
	(void)json_object_set_new(object, "sent", json_integer(r->sent));
	char *text = json_dumps(object, JSON_INDENT(2));
	json_decref(object);
	if (text == NULL)
		return wp_cli_fail(WP_EXIT_FAILED, "out of memory for the output");
	wp_cli_say(stdout, "%s\n", text);
	free(text);
	return wp_cli_done();
}

static const char *into(const struct wp_replay *r)
{
	return r->choice.to_topic != NULL ? " to topic " : "";
}

static const char *topic(const struct wp_replay *r)
{
	return r->choice.to_topic != NULL ? r->choice.to_topic : "";
}

static int say_what_would_be(const struct wp_replay *r)
{
	const char *order = r->has_order ? wp_replay_order_name(r) : "";

	if (r->json)
		return print_json(r, "dry-run");
	wp_cli_say(stdout, "slot %s: %" PRId64 " row%s of %s would be sent again%s%s, in %s%s\n",
		   r->postgres.slot, r->total, r->total == 1 ? "" : "s", r->outbox->table, into(r),
		   topic(r), r->has_order ? "the order of " : "any order", order);
	return wp_cli_done();
}

static int say_none(const struct wp_replay *r)
{
	if (r->json)
		return print_json(r, "done");
	wp_cli_say(stdout, "slot %s: no row of %s is chosen: nothing was sent\n", r->postgres.slot,
		   r->outbox->table);
	return wp_cli_done();
}

/* Each row has its place in the order, which a change of the row may move. */
static void say_left(const struct wp_replay *r)
{
	if (r->sent < r->total)
		wp_cli_say(stderr,
			   "walpost: %" PRId64 " of the %" PRId64
			   " rows that were counted at the start were not sent: they were deleted "
			   "or updated meanwhile\n",
			   r->total - r->sent, r->total);
}

static int say_sent(const struct wp_replay *r)
{
	say_left(r);
	if (r->json)
		return print_json(r, "done");
	wp_cli_say(stdout,
		   "replay %" PRId64 ": %" PRId64 " row%s of %s sent again%s%s and confirmed\n",
		   r->job, r->sent, r->sent == 1 ? "" : "s", r->outbox->table, into(r), topic(r));
	return wp_cli_done();
}

static int say_failed(const struct wp_replay *r, enum wp_rc rc, const struct wp_error *error)
{
	if (rc == WP_DATA || r->job == 0)
		return wp_cli_fail(rc == WP_DATA ? WP_EXIT_FAILED : wp_cli_exit_of(rc), "%s",
				   error->text);
	return wp_cli_fail(wp_cli_exit_of(rc),
			   "replay %" PRId64 ": %s after %" PRId64 " of %" PRId64
			   " rows; to send the rest: walpost replay resume %" PRId64,
			   r->job, error->text, r->sent, r->total, r->job);
}

/* -- replay, resume --------------------------------------------------------------------------------- */

static int send(struct wp_replay *r)
{
	struct wp_error error;
	enum wp_rc rc = wp_replay_send(r, &error);

	return rc == WP_OK ? say_sent(r) : say_failed(r, rc, &error);
}

static int replay(struct wp_replay *r)
{
	struct wp_error error;
	enum wp_rc rc = wp_replay_find_outbox(r, &error);

	if (rc == WP_OK)
		rc = wp_replay_check_topic(r, &error);
	if (rc == WP_OK)
		rc = wp_replay_judge_order(r, &error);
	if (rc == WP_OK)
		rc = wp_replay_count(r, &error);
	if (rc == WP_OK && r->dry_run)
		return say_what_would_be(r);
	if (rc == WP_OK && r->total == 0)
		return say_none(r);
	if (rc == WP_OK)
		rc = wp_reissue_slot_await_reader(&r->slot, &error);
	if (rc == WP_OK)
		rc = wp_reissue_slot_await_caught_up(&r->slot, &error);
	if (rc == WP_OK)
		rc = wp_replay_create_job(r, &error);
	return rc == WP_OK ? send(r) : say_failed(r, rc, &error);
}

static int resume(struct wp_replay *r)
{
	struct wp_error error;
	enum wp_rc rc = wp_replay_load_job(r, &error);

	if (rc == WP_OK)
		rc = wp_replay_find_outbox(r, &error);
	if (rc == WP_OK)
		rc = wp_replay_check_topic(r, &error);
	if (rc == WP_OK)
		rc = wp_reissue_slot_await_reader(&r->slot, &error);
	if (rc == WP_OK)
		rc = wp_reissue_slot_await_caught_up(&r->slot, &error);
	return rc == WP_OK ? send(r) : wp_cli_fail(wp_cli_exit_of(rc), "%s", error.text);
}

static int cancel(struct wp_replay *r)
{
	struct wp_error error;
	enum wp_rc rc = wp_replay_cancel_job(r, &error);

	if (rc != WP_OK)
		return wp_cli_fail(wp_cli_exit_of(rc), "%s", error.text);
	wp_cli_say(stdout,
		   "replay %" PRId64 ": cancelled after %" PRId64 " of %" PRId64
		   " rows; these were sent\n",
		   r->job, r->sent, r->total);
	return wp_cli_done();
}

static const char unusable[] = "wrong usage or configuration, or a table or privilege is missing";

static int run_replay(int argc, char **argv)
{
	struct wp_replay r = { 0 };
	const struct wp_cli_option options[] = {
		{ "--outbox", "TABLE", "rows of this table, or section [outbox.NAME]", NULL,
		  &r.choice.outbox },
		{ "--since", "TIME", "rows from this time on: 2h (ago), or 2026-01-31T12:00:00Z",
		  NULL, &r.choice.since },
		{ "--until", "TIME", "rows before this time, likewise", NULL, &r.choice.until },
		{ "--time-column", "COLUMN", "the column that has the time; also the order", NULL,
		  &r.choice.time_column },
		{ "--by-commit-time", NULL, "by the time of the commit of the row's last change",
		  &r.choice.by_commit_time, NULL },
		{ "--id", "ID[,ID...]", "rows with these ids", NULL, &r.choice.ids },
		{ "--key", "KEY[,KEY...]", "rows with these keys", NULL, &r.choice.keys },
		{ "--type", "TYPE[,TYPE...]", "rows of these types", NULL, &r.choice.types },
		{ "--where", "SQL", "rows for which this holds; the row is o", NULL,
		  &r.choice.where },
		{ "--order-by", "COLUMN",
		  "the column that gives the order of the rows; none: any order", NULL,
		  &r.choice.order_by },
		{ "--to-topic", "TOPIC", "to this topic instead of the events' own", NULL,
		  &r.choice.to_topic },
		{ "--rate", "N", "at most so many rows a second", NULL, &r.rate_text },
		{ "--slot", "NAME", "this slot instead of postgres.slot", NULL, &r.slot_text },
		{ "--dry-run", NULL, "tell how many rows would be sent, and send none", &r.dry_run,
		  NULL },
		{ "--json", NULL, "as one JSON object", &r.json, NULL },
	};
	const struct wp_cli_usage usage = {
		.command = "walpost replay start",
		.about = "Sends rows that are still in the outbox table again, beside the running relay and\n"
			 "through it. Their records have the header walpost-reissued: replay JOB. Live events\n"
			 "never wait behind more than a small batch. A replay that was interrupted is\n"
			 "continued by walpost replay resume JOB; each row is sent once. The word start may be\n"
			 "left out.",
		WP_CLI_OPTIONS(options),
		.exits = {
			[WP_EXIT_OK] = "all were sent and are confirmed, or none is chosen; with --dry-run: counted",
			[WP_EXIT_FAILED] = "interrupted, or the server does not answer; can be resumed",
			[WP_EXIT_CONFIG] = unusable,
		},
	};
	return run(&r, &usage, argc, argv, replay);
}

static int run_list(int argc, char **argv)
{
	struct wp_replay r = { 0 };
	const struct wp_cli_option options[] = {
		{ "--slot", "NAME", "this slot instead of postgres.slot", NULL, &r.slot_text },
		{ "--json", NULL, "as a JSON array", &r.json, NULL },
	};
	const struct wp_cli_usage usage = {
		.command = "walpost replay list",
		.about = "Lists the replays of the slot: what was chosen, how far each is, who began it.",
		WP_CLI_OPTIONS(options),
		.exits = {
			[WP_EXIT_OK] = "listed",
			[WP_EXIT_FAILED] = "the server does not answer",
			[WP_EXIT_CONFIG] = unusable,
		},
	};
	return run(&r, &usage, argc, argv, wp_replay_list_jobs);
}

static int run_resume(int argc, char **argv)
{
	struct wp_replay r = { 0 };
	const struct wp_cli_option options[] = {
		{ "--where", "SQL", "the condition that the replay was begun with, if any", NULL,
		  &r.choice.where },
		{ "--rate", "N", "at most so many rows a second", NULL, &r.rate_text },
		{ "--slot", "NAME", "this slot instead of postgres.slot", NULL, &r.slot_text },
		{ "--json", NULL, "as one JSON object", &r.json, NULL },
	};
	const struct wp_cli_usage usage = {
		.command = "walpost replay resume",
		.arguments = "JOB",
		.about = "Sends the rest of a replay that was interrupted.",
		WP_CLI_OPTIONS(options),
		.argument_max = 1,
		.exits = {
			[WP_EXIT_OK] = "all were sent and are confirmed",
			[WP_EXIT_FAILED] = "interrupted, or the server does not answer; can be resumed",
			[WP_EXIT_CONFIG] = unusable,
		},
	};
	return run(&r, &usage, argc, argv, resume);
}

static int run_cancel(int argc, char **argv)
{
	struct wp_replay r = { 0 };
	const struct wp_cli_option options[] = {
		{ "--slot", "NAME", "this slot instead of postgres.slot", NULL, &r.slot_text },
	};
	const struct wp_cli_usage usage = {
		.command = "walpost replay cancel",
		.arguments = "JOB",
		.about = "Ends a replay. Rows sent so far stay sent; a process that sends it stops.",
		WP_CLI_OPTIONS(options),
		.argument_max = 1,
		.exits = {
			[WP_EXIT_OK] = "cancelled",
			[WP_EXIT_FAILED] = "the server does not answer",
			[WP_EXIT_CONFIG] = unusable,
		},
	};
	return run(&r, &usage, argc, argv, cancel);
}

int wp_command_replay(int argc, char **argv)
{
	static const struct wp_command commands[] = {
		{ "start", run_replay, "sends rows of an outbox again" },
		{ "list", run_list, "replays, and how far they are" },
		{ "resume", run_resume, "sends the rest of one" },
		{ "cancel", run_cancel, "ends one" },
	};
	bool has_command = argc < 2 || argv[1][0] != '-' || strcmp(argv[1], "--help") == 0;

	if (!has_command)
		return run_replay(argc, argv);
	return wp_cli_dispatch("walpost replay", WP_CLI_COMMANDS(commands), argc, argv);
}
