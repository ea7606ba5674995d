#include "walpost/cli/dead_letters.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "walpost/cli/cli.h"
#include "walpost/config/option.h"
#include "walpost/outbox/route.h"
#include "walpost/values/moment.h"

/* -- times ------------------------------------------------------------------------ */

/*
 * Writes an RFC 3339 time in the form that wp_moment_us() reads: "2024-02-29 12:34:56.789+00".
 * Without a zone it is UTC, without a time midnight. Returns false if it is too long, or not a
 * date.
 */
static bool normalise(const char *text, char *ret, size_t size)
{
	const char *zone = "";
	size_t length = strlen(text);
	bool has_time = length > 10;

	if (length < 10 || length + 12 > size)
		return false;
	bool is_zulu = text[length - 1] == 'Z' || text[length - 1] == 'z';
	if (!has_time)
		zone = " 00:00:00+00";
	else if (is_zulu || strpbrk(text + 10, "+-") == NULL)
		zone = "+00";
	(void)snprintf(ret, size, "%.*s%s", (int)(is_zulu ? length - 1 : length), text, zone);
	if (ret[10] == 'T' || ret[10] == 't')
		ret[10] = ' ';
	return true;
}

/* Reads a duration back from now, or a time. */
static bool read_time(const char *text, int64_t *ret_ms)
{
	char moment[64];
	int64_t us, back_ms;
	struct wp_error error;

	if (wp_value_duration(text, &back_ms) == WP_OK) {
		int64_t now_ms = (int64_t)time(NULL) * 1000;
		*ret_ms = back_ms < now_ms ? now_ms - back_ms : 1;
		return true;
	}
	if (!normalise(text, moment, sizeof(moment)) ||
	    wp_moment_us(WP_TYPE_TIMESTAMPTZ, wp_span_of(moment), &us, &error) != WP_OK)
		return false;
	*ret_ms = us < 1000 ? 1 : us / 1000;
	return true;
}

static int take_time(const char *option, const char *text, int64_t *ret_ms)
{
	if (text == NULL || read_time(text, ret_ms))
		return WP_EXIT_OK;
	return wp_cli_fail(WP_EXIT_CONFIG,
			   "%s %.100s: allowed is a duration back from now, a number with a unit "
			   "of ms, s, min, h, or a time, such as 2026-01-31T12:00:00Z",
			   option, text);
}

/* -- what both share ---------------------------------------------------------------- */

/* Holds the options as they were written; the number and the times are read later. */
struct words {
	const char *since;
	const char *until;
	const char *limit;
};

#define CHOICE(options_, words_)                                                                  \
	{ "--reason", "TEXT", "only those whose reason contains this text", NULL,                 \
	  &(options_)->reason },                                                                  \
		{ "--table", "NAME", "only rows of this table, or messages of this prefix", NULL, \
		  &(options_)->table },                                                           \
		{ "--id", "ID", "only the event with this id", NULL, &(options_)->id },           \
		{ "--since", "TIME", "only from this time on: 2h, or 2026-01-31T12:00:00Z", NULL, \
		  &(words_)->since },                                                             \
		{ "--until", "TIME", "only before this time, likewise", NULL, &(words_)->until }, \
	{                                                                                         \
		"--topic", "NAME", "this topic instead of relay.dead_letter.topic", NULL,         \
			&(options_)->topic                                                        \
	}

static int take_words(struct wp_letters_options *o, const struct words *words)
{
	int exit_code = take_time("--since", words->since, &o->since_ms);

	o->limit = WP_LETTERS_MAX;
	if (exit_code == WP_EXIT_OK)
		exit_code = take_time("--until", words->until, &o->until_ms);
	if (exit_code != WP_EXIT_OK || words->limit == NULL)
		return exit_code;
	if (wp_value_number(words->limit, strlen(words->limit), WP_LETTERS_MAX, &o->limit) &&
	    o->limit >= 1)
		return WP_EXIT_OK;
	return wp_cli_fail(WP_EXIT_CONFIG, "--limit %.100s: allowed is a number from 1 to %d",
			   words->limit, WP_LETTERS_MAX);
}

static int find_topic(struct wp_letters *l)
{
	const char *topic =
		l->options.topic != NULL ? l->options.topic : l->config.relay.dead_letter_topic;
	const char *trouble;

	l->topic = topic;
	if (l->config.relay.sink != WP_SINK_KIND_KAFKA)
		return wp_cli_fail(WP_EXIT_CONFIG,
				   "relay.sink is not kafka: there is no topic of dead letters");
	if (topic[0] == '\0')
		return wp_cli_fail(WP_EXIT_CONFIG,
				   "relay.dead_letter.topic is not set: set it, or name the topic "
				   "with --topic");
	trouble = wp_topic_name_trouble(topic);
	if (trouble != NULL)
		return wp_cli_fail(WP_EXIT_CONFIG, "--topic %.300s: the name of a topic %s", topic,
				   trouble);
	return WP_EXIT_OK;
}

/* -- list ----------------------------------------------------------------------------- */

/* The list is of use without the marks: the database may be away. */
static void look_for_marks(struct wp_letters *l)
{
	struct wp_session session = { 0 };
	struct wp_error error;

	if (l->count == 0)
		return;
	enum wp_rc rc = wp_session_open(&session, &l->console, &l->config.postgres,
					WP_CONNECTION_SQL, &error);
	if (rc == WP_OK)
		rc = wp_letters_read_marks(l, &session, &error);
	if (rc != WP_OK)
		(void)wp_cli_fail(0,
				  "cannot determine which of the dead letters were sent again: %s",
				  error.text);
	wp_session_release(&session);
}

static int print(const struct wp_letters *l)
{
	size_t count = l->count < (size_t)l->options.limit ? l->count : (size_t)l->options.limit;

	if (!l->options.json)
		wp_letters_print(l, count);
	else if (wp_letters_print_json(l, count) != WP_OK)
		return wp_cli_fail(WP_EXIT_FAILED, "the list cannot be written as JSON");
	return wp_cli_done();
}

static int list(struct wp_letters *l)
{
	struct wp_error error;
	enum wp_rc rc = wp_console_init(&l->console, &error);

	if (rc == WP_OK)
		rc = wp_letters_read(l, &error);
	if (rc == WP_OK)
		look_for_marks(l);
	int exit_code = rc == WP_OK ? print(l) : wp_cli_fail(wp_cli_exit_of(rc), "%s", error.text);
	wp_letters_release(l);
	wp_console_release(&l->console);
	return exit_code;
}

static int run_list(int argc, char **argv)
{
	static struct wp_letters l; /* static because it is large; there is only one */
	struct words words = { .since = NULL };
	const struct wp_cli_option options[] = {
		CHOICE(&l.options, &words),
		{ "--limit", "N", "show at most the first N", NULL, &words.limit },
		{ "--json", NULL, "as one JSON object", &l.options.json, NULL },
	};
	const struct wp_cli_usage usage = {
		.command = "walpost dead-letters list",
		.about = "Lists the dead letters in relay.dead_letter.topic in the order of their\n"
"positions: partition and offset, time, table, id, the topic it was for, position,\n"
"size, reason, and whether `retry` has sent it again. Changes nothing, joins no\n"
"consumer group.",
		WP_CLI_OPTIONS(options),
		.exits = {
			[WP_EXIT_OK] = "listed, even if there are none",
			[WP_EXIT_FAILED] = "Kafka does not answer",
			[WP_EXIT_CONFIG] = "wrong usage or configuration, there is no such topic, or a privilege is missing",
		},
	};
	struct wp_cli_line line;
	int exit_code;

	if (!wp_cli_parse(&usage, argc, argv, &line, &exit_code))
		return exit_code;
	exit_code = take_words(&l.options, &words);
	if (exit_code != WP_EXIT_OK)
		return exit_code;
	exit_code = wp_cli_config(&line, &l.config);
	if (exit_code == WP_EXIT_OK)
		exit_code = find_topic(&l);
	if (exit_code == WP_EXIT_OK)
		exit_code = list(&l);
	wp_config_release(&l.config);
	return exit_code;
}

/* -- retry ---------------------------------------------------------------------------- */

#define TIMEOUT_MS 60000

static int check_choice(const struct wp_letters_options *o, const struct wp_retry_options *retry)
{
	bool is_filtered = o->reason != NULL || o->table != NULL || o->id != NULL ||
			   o->since_ms != 0 || o->until_ms != 0;

	if (is_filtered || retry->all)
		return WP_EXIT_OK;
	return wp_cli_fail(WP_EXIT_CONFIG,
			   "nothing is chosen: name the dead letters by --reason, --table, --id, "
			   "--since or --until, or use --all");
}

static int run_retry(int argc, char **argv)
{
	static struct wp_letters l; /* static because it is large; there is only one */
	struct wp_retry_options retry = { .timeout_ms = TIMEOUT_MS };
	struct words words = { .since = NULL };
	const char *timeout = NULL;
	const struct wp_cli_option options[] = {
		CHOICE(&l.options, &words),
		{ "--all", NULL, "all of them", &retry.all, NULL },
		{ "--limit", "N", "at most the first N that were not sent again yet", NULL,
		  &words.limit },
		{ "--again", NULL, "also those that were sent again before", &retry.again, NULL },
		{ "--dry-run", NULL, "show what would be sent, and from where", &retry.dry_run,
		  NULL },
		{ "--no-wait", NULL, "do not wait until they are confirmed", &retry.no_wait, NULL },
		{ "--timeout", "DURATION", "how long to wait for that, 60s by default", NULL,
		  &timeout },
		{ "--json", NULL, "as one JSON object", &l.options.json, NULL },
	};
	const struct wp_cli_usage usage = {
		.command = "walpost dead-letters retry",
		.about = "Sends the events of the chosen dead letters again, in the order of their\n"
"positions: through walpost.reissue, so that the relay of the slot sends them, with a\n"
"header walpost-reissued. An event is made from its row in the outbox; if that is\n"
"deleted, from the letter, or it is refused if the letter does not hold all of it.\n"
"Each event is recorded in walpost.dead_letters_retried and passed over by the next\n"
"retry. Waits until the slot has confirmed the events.",
		WP_CLI_OPTIONS(options),
		.exits = {
			[WP_EXIT_OK] = "all that were chosen are sent again, or were before",
			[WP_EXIT_FAILED] = "some were refused, the relay has not confirmed in time, or a server does not answer",
			[WP_EXIT_CONFIG] = "wrong usage or configuration, or an object or a privilege is missing",
		},
	};
	struct wp_cli_line line;
	int exit_code;

	if (!wp_cli_parse(&usage, argc, argv, &line, &exit_code))
		return exit_code;
	exit_code = take_words(&l.options, &words);
	if (exit_code == WP_EXIT_OK)
		exit_code = wp_cli_duration("--timeout", timeout, &retry.timeout_ms);
	if (exit_code == WP_EXIT_OK)
		exit_code = check_choice(&l.options, &retry);
	if (exit_code != WP_EXIT_OK)
		return exit_code;
	exit_code = wp_cli_config(&line, &l.config);
	if (exit_code == WP_EXIT_OK)
		exit_code = find_topic(&l);
	if (exit_code == WP_EXIT_OK)
		exit_code = wp_letters_retry(&l, &retry);
	wp_config_release(&l.config);
	return exit_code;
}

int wp_command_dead_letters(int argc, char **argv)
{
	static const struct wp_command commands[] = {
		{ "list", run_list, "lists the dead letters in the topic" },
		{ "retry", run_retry, "sends their events again" },
	};
	return wp_cli_dispatch("walpost dead-letters", WP_CLI_COMMANDS(commands), argc, argv);
}
