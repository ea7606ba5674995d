#include <stdlib.h>

#include "json_output.h"
#include "status.h"
#include "walpost/cli/cli.h"

#define PATIENCE_US (5 * 1000 * 1000)

/* `status --local` asks the relay of this configuration, on this machine, whether it lives. */
static int status_local(const char *listen)
{
	struct wp_relay_answer answer;
	struct wp_error error;
	int exit_code;

	if (listen[0] == '\0')
		return wp_cli_fail(WP_EXIT_CONFIG,
				   "http.listen is not set, so the relay cannot be queried; set it "
				   "for the relay, for example http.listen = 9187");
	enum wp_rc rc = wp_slot_status_ask_relay(listen, "/livez", PATIENCE_US, &answer, &error);
	if (rc == WP_OK) {
		(void)fputs(answer.body, stdout); /* wp_cli_done() notices a failure */
		exit_code = wp_cli_done();
		if (exit_code == WP_EXIT_OK && answer.code != 200)
			exit_code = WP_EXIT_FAILED;
	} else {
		exit_code = wp_cli_fail(wp_cli_exit_of(rc), "%s", error.text);
	}
	wp_buffer_release(&answer.buffer);
	return exit_code;
}

#define WATCH_SECONDS 2.0
#define WATCH_SECONDS_MAX 3600.0

/* What is shown is one thing; whether events flow is the exit code. */
static int show_all(const struct wp_slot_status *s, bool json)
{
	int exit_code;
	if (json) {
		exit_code = wp_cli_json_print(wp_slot_status_json(s, NULL), "the status");
	} else {
		wp_slot_status_print(stdout, s, NULL);
		exit_code = wp_cli_done();
	}
	if (exit_code == WP_EXIT_OK)
		exit_code = wp_slot_status_exit_code(s->state);
	else
		return exit_code;
	return exit_code == WP_EXIT_OK ? exit_code : wp_cli_fail(exit_code, "%s", s->means.text);
}

static int show(struct wp_slot_status *s, bool json)
{
	struct wp_error error;
	enum wp_rc rc = wp_console_init(&s->console, &error);
	if (rc == WP_OK)
		rc = wp_session_open(&s->session, &s->console, &s->config.postgres,
				     WP_CONNECTION_SQL, &error);
	if (rc == WP_OK)
		rc = wp_slot_status_ask(s, &error);
	int exit_code =
		rc == WP_OK ? show_all(s, json) : wp_cli_fail(wp_cli_exit_of(rc), "%s", error.text);
	wp_session_release(&s->session);
	wp_console_release(&s->console);
	return exit_code;
}

/* Returns false, after saying so, if it is no number of seconds. */
static bool read_seconds(const char *text, double *ret)
{
	char *end;
	double seconds = *text == '\0' ? WATCH_SECONDS : strtod(text, &end);

	if ((*text == '\0' || *end == '\0') && seconds >= 0.1 && seconds <= WATCH_SECONDS_MAX) {
		*ret = seconds;
		return true;
	}
	(void)wp_cli_fail(WP_EXIT_CONFIG, "--watch %s: a number of seconds from 0.1 to %g", text,
			  WATCH_SECONDS_MAX);
	return false;
}

static int run(struct wp_slot_status *s, const char *watch, bool json)
{
	double seconds;

	if (watch == NULL)
		return show(s, json);
	return read_seconds(watch, &seconds) ? wp_slot_status_watch(s, seconds, json)
					     : WP_EXIT_CONFIG;
}

int wp_command_status(int argc, char **argv)
{
	bool json = false;
	bool local = false;
	const char *watch = NULL;
	const struct wp_cli_option options[] = {
		{ "--json", NULL, "as one JSON object; with --watch one a line", &json, NULL },
		{ "--local", NULL, "check the relay's /livez at http.listen instead of Postgres",
		  &local, NULL },
		{ "--watch", "[SECONDS]", "repeat every 2 s, with rates; Ctrl-C ends it", NULL,
		  &watch },
	};
	const struct wp_cli_usage usage = {
		.command = "walpost status",
		.about = "Shows the relay's progress as Postgres reports it: whether a relay streams, the slot,\n"
"unconfirmed and retained WAL, the last takeover, what is parked, and which scheduled events\n"
"are due; and how many events were dropped, if the relay answers at http.listen on this machine.\n"
"--watch repaints in place on a terminal; elsewhere it prints one block after another.",
		WP_CLI_OPTIONS(options),
		.exits = {
			[WP_EXIT_OK] = "a relay streams from the slot; with --local: it is alive",
			[WP_EXIT_FAILED] = "no relay streams (stopped, halted, or starting), it is stalled, or the server\n"
"     does not answer; with --local: it does not answer, or is stuck",
			[WP_EXIT_HUMAN] = "operator action is required: slot or publication is missing, or the slot is\n"
"     lost or not walpost's",
		},
	};
	struct wp_cli_line line;
	struct wp_slot_status s = { 0 };
	int exit_code;

	if (!wp_cli_parse(&usage, argc, argv, &line, &exit_code))
		return exit_code;
	exit_code = wp_cli_config(&line, &s.config);
	if (exit_code == WP_EXIT_OK)
		exit_code = local ? status_local(s.config.http.listen) : run(&s, watch, json);
	wp_slot_status_release(&s);
	wp_config_release(&s.config);
	return exit_code;
}
