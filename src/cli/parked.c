#include "parked.h"

#include <string.h>

#include "walpost/cli/cli.h"
#include "walpost/config/option.h"

enum { LIMIT = 100, LIMIT_MAX = 1000000, TIMEOUT_MS = 60000 };

/* -- what they share ------------------------------------------------------------------- */

static int connect_and(struct wp_cli_parked *p, int (*act)(struct wp_cli_parked *))
{
	struct wp_error error;
	enum wp_rc rc = wp_session_begin(&p->session, &p->console, &p->postgres, &error);
	if (rc == WP_OK)
		rc = wp_cli_parked_check_tables(p, &error);
	int exit_code = rc == WP_OK ? act(p) : wp_cli_fail(wp_cli_exit_of(rc), "%s", error.text);
	wp_session_release(&p->session);
	wp_console_release(&p->console);
	return exit_code;
}

static int read_options(struct wp_cli_parked *p, const char *command)
{
	struct wp_error error;
	const char *limit = p->limit_text;

	p->limit = LIMIT;
	p->timeout_ms = TIMEOUT_MS;
	if (limit != NULL &&
	    (!wp_value_number(limit, strlen(limit), LIMIT_MAX, &p->limit) || p->limit < 1))
		return wp_cli_fail(WP_EXIT_CONFIG,
				   "--limit %.100s: allowed is a number from 1 to %d", limit,
				   LIMIT_MAX);
	if (limit != NULL && p->act >= WP_CLI_PARKED_RETRY && !p->dry_run)
		return wp_cli_fail(WP_EXIT_CONFIG,
				   "--limit %.100s: it only shortens what is printed, not what is "
				   "done; use it with list, show or --dry-run",
				   limit);
	if (wp_cli_duration("--timeout", p->timeout_text, &p->timeout_ms) != WP_EXIT_OK)
		return WP_EXIT_CONFIG;
	if (wp_cli_parked_filter_check(&p->filter, &error) != WP_OK)
		return wp_cli_fail(WP_EXIT_CONFIG, "%s", error.text);
	if (p->act == WP_CLI_PARKED_LIST || p->filter.all || wp_cli_parked_is_narrowed(&p->filter))
		return WP_EXIT_OK;
	return wp_cli_fail(WP_EXIT_CONFIG,
			   "%s: nothing is chosen; choose by --key, --outbox, --position or "
			   "--code, or everything that is parked by --all",
			   command);
}

static int run(struct wp_cli_parked *p, const struct wp_cli_usage *usage, int argc, char **argv,
	       int (*act)(struct wp_cli_parked *))
{
	struct wp_cli_line line;
	int exit_code;
	if (!wp_cli_parse(usage, argc, argv, &line, &exit_code))
		return exit_code;
	exit_code = read_options(p, usage->command);
	if (exit_code == WP_EXIT_OK)
		exit_code = wp_cli_config(&line, &p->config);
	if (exit_code == WP_EXIT_OK) {
		p->postgres = p->config.postgres;
		if (p->slot != NULL)
			p->postgres.slot = p->slot;
		exit_code = connect_and(p, act);
	}
	wp_config_release(&p->config);
	return exit_code;
}

#define CHOICE_OPTIONS(p_)                                                                        \
	{ "--key", "KEY", "events of this key, as Postgres prints it", NULL, &(p_).filter.key },  \
		{ "--outbox", "NAME", "of this table, message prefix or section [outbox.NAME]",   \
		  NULL, &(p_).filter.outbox },                                                    \
		{ "--position", "POSITION", "the event at this position, or its aggregate", NULL, \
		  &(p_).filter.position },                                                        \
		{ "--code", "CODE", "aggregates whose first event has this code", NULL,           \
		  &(p_).filter.code },                                                            \
		{ "--all", NULL, "everything that is parked", &(p_).filter.all, NULL },           \
		{ "--slot", "NAME", "this slot instead of postgres.slot", NULL, &(p_).slot },     \
	{                                                                                         \
		"--limit", "N", "print the first N, 100 by default", NULL, &(p_).limit_text       \
	}

static const char unusable[] = "wrong usage or configuration, or a table or privilege is missing";

/* -- list, show ------------------------------------------------------------------------- */

static int run_list(int argc, char **argv)
{
	struct wp_cli_parked p = { .act = WP_CLI_PARKED_LIST };
	const struct wp_cli_option options[] = {
		CHOICE_OPTIONS(p),
		{ "--json", NULL, "as one JSON object", &p.json, NULL },
	};
	const struct wp_cli_usage usage = {
		.command = "walpost parked list",
		.about = "Lists the aggregates (outbox and key) that are parked for the slot, by the position\n"
"of their first event: why it cannot be delivered, and when it is sent again. An event\n"
"without a key is an aggregate of its own.",
		WP_CLI_OPTIONS(options),
		.exits = {
			[WP_EXIT_OK] = "listed, or nothing is parked",
			[WP_EXIT_FAILED] = "nothing parked matches, or the server does not answer",
			[WP_EXIT_CONFIG] = unusable,
		},
	};
	return run(&p, &usage, argc, argv, wp_cli_parked_list);
}

static int run_show(int argc, char **argv)
{
	struct wp_cli_parked p = { .act = WP_CLI_PARKED_SHOW };
	const struct wp_cli_option options[] = {
		CHOICE_OPTIONS(p),
		{ "--payload", NULL, "also the row's columns, or the message's content", &p.payload,
		  NULL },
		{ "--json", NULL, "as JSON, one object a line", &p.json, NULL },
	};
	const struct wp_cli_usage usage = {
		.command = "walpost parked show",
		.about = "Shows all that is known of parked events: one by --position, else those of the\n"
"aggregates chosen, in order. Payloads only with --payload.",
		WP_CLI_OPTIONS(options),
		.exits = {
			[WP_EXIT_OK] = "shown, or nothing is parked",
			[WP_EXIT_FAILED] = "nothing parked matches, or the server does not answer",
			[WP_EXIT_CONFIG] = unusable,
		},
	};
	return run(&p, &usage, argc, argv, wp_cli_parked_show);
}

/* -- retry, skip, purge --------------------------------------------------------------------- */

static int run_retry(int argc, char **argv)
{
	struct wp_cli_parked p = { .act = WP_CLI_PARKED_RETRY };
	const struct wp_cli_option options[] = {
		CHOICE_OPTIONS(p),
		{ "--no-wait", NULL, "only ask for it", &p.no_wait, NULL },
		{ "--timeout", "DURATION", "wait this long, 60s by default", NULL,
		  &p.timeout_text },
		{ "--dry-run", NULL, "list what would be sent again, and change nothing",
		  &p.dry_run, NULL },
		{ "--json", NULL, "as one JSON object", &p.json, NULL },
	};
	const struct wp_cli_usage usage = {
		.command = "walpost parked retry",
		.about = "Asks the relay to send the events of the aggregates chosen now, in order, and waits\n"
"until they are delivered or have failed again. Recorded in walpost.parked_acts.",
		WP_CLI_OPTIONS(options),
		.exits = {
			[WP_EXIT_OK] = "all were delivered; with --no-wait: asked for; or nothing is parked",
			[WP_EXIT_FAILED] = "still under way, no relay streams, nothing parked matches, or the server does not answer",
			[WP_EXIT_CONFIG] = unusable,
			[WP_EXIT_HUMAN] = "aggregates failed again, and are still parked",
		},
	};
	return run(&p, &usage, argc, argv, wp_cli_parked_ask);
}

static int run_skip(int argc, char **argv)
{
	struct wp_cli_parked p = { .act = WP_CLI_PARKED_SKIP };
	const struct wp_cli_option options[] = {
		CHOICE_OPTIONS(p),
		{ "--force", NULL, "discard it; otherwise it is only listed", &p.force, NULL },
		{ "--dry-run", NULL, "list it, and change nothing", &p.dry_run, NULL },
		{ "--json", NULL, "as one JSON object", &p.json, NULL },
	};
	const struct wp_cli_usage usage = {
		.command = "walpost parked skip",
		.about = "Discards one event: that at --position, or the first of the one aggregate chosen.\n"
"Consumers never get it; its aggregate continues without it. Recorded in\n"
"walpost.parked_acts.",
		WP_CLI_OPTIONS(options),
		.exits = {
			[WP_EXIT_OK] = "discarded; with --dry-run: listed; or nothing is parked",
			[WP_EXIT_FAILED] = "only listed, nothing parked matches, or the server does not answer",
			[WP_EXIT_CONFIG] = unusable,
		},
	};
	return run(&p, &usage, argc, argv, wp_cli_parked_ask);
}

static int run_purge(int argc, char **argv)
{
	struct wp_cli_parked p = { .act = WP_CLI_PARKED_PURGE };
	const struct wp_cli_option options[] = {
		CHOICE_OPTIONS(p),
		{ "--force", NULL, "discard them; otherwise they are only listed", &p.force, NULL },
		{ "--dry-run", NULL, "list them, and change nothing", &p.dry_run, NULL },
		{ "--json", NULL, "as one JSON object", &p.json, NULL },
	};
	const struct wp_cli_usage usage = {
		.command = "walpost parked purge",
		.about = "Discards all parked events of the aggregates chosen. Consumers never get them; later\n"
"events of these aggregates are delivered. Each is recorded in walpost.parked_acts.",
		WP_CLI_OPTIONS(options),
		.exits = {
			[WP_EXIT_OK] = "discarded; with --dry-run: listed; or nothing is parked",
			[WP_EXIT_FAILED] = "only listed, nothing parked matches, or the server does not answer",
			[WP_EXIT_CONFIG] = unusable,
		},
	};
	return run(&p, &usage, argc, argv, wp_cli_parked_ask);
}

int wp_command_parked(int argc, char **argv)
{
	static const struct wp_command commands[] = {
		{ "list", run_list, "what is parked, and why" },
		{ "show", run_show, "all that is known of parked events" },
		{ "retry", run_retry, "sends parked events now" },
		{ "skip", run_skip, "discards one event" },
		{ "purge", run_purge, "discards all events of aggregates" },
	};
	return wp_cli_dispatch("walpost parked", WP_CLI_COMMANDS(commands), argc, argv);
}
