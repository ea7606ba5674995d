#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "walpost/cli/cli.h"
#include "walpost/cli/diff.h"
#include "walpost/cli/outbox.h"
#include "walpost/config/option.h"
#include "walpost/kafka_inspect/preflight.h"
#include "walpost/kafka/properties.h"

#define KAFKA_TIMEOUT_MS 10000
/* These bound what is kept of rows: whole records first, then digests. */
#define WHOLE_SIZE_MAX ((size_t)64 << 20)
#define KEPT_SIZE_MAX ((size_t)96 << 20)

/* -- what the topics hold ----------------------------------------------------- */

static enum wp_rc take_record(void *arg, const struct wp_record *record, int64_t offset)
{
	struct wp_diff *d = arg;

	return wp_matching_take(d->matching, record, offset);
}

static bool go_on(void *arg, uint64_t done, uint64_t all)
{
	struct wp_diff *d = arg;

	(void)ev_run(d->console.loop, EVRUN_NOWAIT); /* says whether watchers are left; they are */
	wp_cli_say_progress("topics: %llu of %llu offsets read", (unsigned long long)done,
			    (unsigned long long)all);
	return !d->console.interrupted;
}

static enum wp_rc read_topics(struct wp_diff *d, struct wp_error *error)
{
	const int64_t age_ms = d->options.since_ms, now_ms = (int64_t)time(NULL) * 1000;
	const struct wp_topic_reading reading = {
		/* A time before 1970 means from the beginning, like none. */
		.since_ms = age_ms == 0 || age_ms >= now_ms ? 0 : now_ms - age_ms,
		.take = take_record,
		.go_on = go_on,
		.arg = d,
	};

	return wp_topic_reader_read(d->reader, &reading, error);
}

/* -- the command -------------------------------------------------------------- */

/* Finds the placement by which the relay would place keys. */
static enum wp_rc find_placement(struct wp_diff *d, struct wp_error *error)
{
	const struct wp_kafka_bounds bounds = {
		.in_flight_events = d->config.relay.in_flight_events,
		.in_flight_bytes = d->config.relay.in_flight_bytes,
	};
	rd_kafka_conf_t *conf;

	enum wp_rc rc = wp_properties_conf(&d->config.kafka, &bounds, &conf, error);
	if (rc != WP_OK)
		return rc;
	d->placement = wp_properties_placement(conf);
	rd_kafka_conf_destroy(conf);
	return WP_OK;
}

/* wp_kafka_reach() says best whether the brokers let us in. */
static enum wp_rc open_kafka(struct wp_diff *d, struct wp_error *error)
{
	struct wp_error sentence;
	enum wp_rc rc = find_placement(d, error);

	if (rc == WP_OK)
		rc = wp_kafka_reach(&d->config.kafka, KAFKA_TIMEOUT_MS, &sentence, error);
	if (rc == WP_OK)
		rc = wp_topic_reader_new(&d->config.kafka, WP_READ_UNCOMMITTED, &d->reader, error);
	return rc;
}

static enum wp_rc make_room(struct wp_diff *d, struct wp_error *error)
{
	const struct wp_matching_setup setup = {
		.id_header = d->options.id_header,
		.rows_max = (size_t)WP_DIFF_LIMIT_MAX,
		.whole_size_max = WHOLE_SIZE_MAX,
		.size_max = KEPT_SIZE_MAX,
		.shown_max = (size_t)d->options.shown_max,
	};

	d->topics = calloc(WP_DIFF_TOPICS_MAX, sizeof(*d->topics));
	d->unmade = calloc((size_t)d->options.shown_max + 1, sizeof(*d->unmade));
	if (d->topics == NULL || d->unmade == NULL ||
	    wp_matching_new(&setup, &d->matching) != WP_OK)
		return wp_error_set(error, WP_NOMEM, "out of memory for the comparison");
	return WP_OK;
}

enum wp_rc wp_diff_compare(struct wp_diff *d, struct wp_error *error)
{
	enum wp_rc rc = make_room(d, error);
	if (rc == WP_OK)
		rc = open_kafka(d, error);
	if (rc == WP_OK)
		rc = wp_diff_read_rows(d, error);
	if (rc == WP_OK)
		rc = read_topics(d, error);
	wp_cli_say_progress("%s", "");
	return rc;
}

static int tell(struct wp_diff *d)
{
	const struct wp_matching_counts *counts = wp_matching_finish(d->matching);

	if (!d->options.json)
		wp_diff_report(d, counts);
	else if (wp_diff_report_json(d, counts) != WP_OK)
		return wp_cli_fail(WP_EXIT_FAILED, "the result cannot be written as JSON");
	int exit_code = wp_cli_done();
	if (exit_code != WP_EXIT_OK)
		return exit_code;
	if (counts->rows == 0 && d->unmade_count == 0)
		return wp_cli_fail(WP_EXIT_FAILED, "there are no rows to compare");
	if (counts->equal != counts->rows || d->unmade_count > 0)
		return WP_EXIT_FAILED;
	return d->left_off > 0 ? WP_EXIT_HUMAN : WP_EXIT_OK;
}

void wp_diff_release(struct wp_diff *d)
{
	wp_topic_reader_free(d->reader);
	wp_matching_free(d->matching);
	free(d->topics);
	free(d->unmade);
	d->reader = NULL;
	d->matching = NULL;
	if (d->registry.subjects.ask != NULL) {
		wp_registry_session_release(&d->registry);
		wp_registry_session_init(&d->registry);
	}
	d->topics = NULL;
	d->unmade = NULL;
	wp_diff_forget_tables(d);
	d->topic_count = 0;
	d->unmade_count = 0;
	d->is_full = false;
	d->left_off = 0;
}

static int compare_and_tell(struct wp_diff *d)
{
	struct wp_error error;
	enum wp_rc rc = wp_console_init(&d->console, &error);
	if (rc == WP_OK)
		rc = wp_diff_compare(d, &error);
	int exit_code = rc == WP_OK ? tell(d) : wp_cli_fail(wp_cli_exit_of(rc), "%s", error.text);

	wp_diff_release(d);
	wp_console_release(&d->console);
	return exit_code;
}

/* -- the command line --------------------------------------------------------- */

static int read_number(const char *option, const char *text, int64_t min, int64_t max, int64_t *ret)
{
	if (text == NULL || (wp_value_number(text, strlen(text), max, ret) && *ret >= min))
		return WP_EXIT_OK;
	return wp_cli_fail(WP_EXIT_CONFIG, "%s %.100s: allowed is a number from %lld to %lld",
			   option, text, (long long)min, (long long)max);
}

void wp_diff_take_outboxes(struct wp_diff *d)
{
	d->outboxes = d->config.outboxes;
	wp_registry_session_init(&d->registry);
	d->outboxes.subjects = &d->registry.subjects;
}

/* Chooses all outboxes, or the one that is named; [outbox] itself has no name. */
static int choose_outboxes(struct wp_diff *d)
{
	const char *name = d->options.outbox;

	wp_diff_take_outboxes(d);
	if (name == NULL)
		return WP_EXIT_OK;
	for (size_t i = 0; i < d->config.outboxes.count; i++) {
		if (strcmp(d->config.outboxes.items[i].name, name) != 0)
			continue;
		d->outboxes.items = &d->config.outboxes.items[i];
		d->outboxes.count = 1;
		return WP_EXIT_OK;
	}
	return wp_cli_fail(WP_EXIT_CONFIG,
			   "--outbox %.100s: there is no section [outbox.%.100s] in the "
			   "configuration",
			   name, name);
}

int wp_diff_choose(struct wp_diff *d)
{
	if (d->config.relay.sink != WP_SINK_KIND_KAFKA)
		return wp_cli_fail(WP_EXIT_CONFIG,
				   "relay.sink is not kafka: there are no topics to compare with");
	return choose_outboxes(d);
}

static int diff(struct wp_diff *d, const struct wp_cli_line *line)
{
	int exit_code = wp_cli_config(line, &d->config);

	if (exit_code == WP_EXIT_OK)
		exit_code = wp_diff_choose(d);
	if (exit_code == WP_EXIT_OK)
		exit_code = compare_and_tell(d);
	wp_config_release(&d->config);
	return exit_code;
}

int wp_command_diff(int argc, char **argv)
{
	static struct wp_diff d; /* static because it is large; there is only one */
	const char *limit = NULL, *shown = NULL, *age = NULL;
	struct wp_diff_options *o = &d.options;
	const struct wp_cli_option options[] = {
		{ "--outbox", "NAME", "only the outbox of [outbox.NAME]", NULL, &o->outbox },
		{ "--where", "SQL", "only rows that satisfy this SQL condition", NULL, &o->where },
		{ "--limit", "N", "at most N rows of each table, 1000000 by default", NULL,
		  &limit },
		{ "--since", "DURATION", "only records of the last 2h, 90min ...", NULL, &age },
		{ "--id-header", "NAME", "header that holds the event's id, by default id", NULL,
		  &o->id_header },
		{ "--show", "N", "show the first N of each kind, at most 1000, 10 by default", NULL,
		  &shown },
		{ "--no-values", NULL, "show no bytes of keys, headers and values", &o->no_values,
		  NULL },
		{ "--json", NULL, "as one JSON object", &o->json, NULL },
	};
	const struct wp_cli_usage usage = {
		.command = "walpost diff",
		.about = "Compares the records that walpost would send for the rows in the outbox tables\n"
"with the records in the topics: topic, partition, key, headers and value, and the\n"
"timestamp if it comes from a column. Sends nothing, changes nothing, joins no\n"
"consumer group. With --limit the newest rows are read if outbox.column.timestamp\n"
"is set and exists, otherwise arbitrary rows. With --json all missing rows are\n"
"listed, unless --show limits them.",
		WP_CLI_OPTIONS(options),
		.exits = {
			[WP_EXIT_OK] = "every row has its record, and all are equal",
			[WP_EXIT_FAILED] = "records differ or are missing, there are no rows, or a server does not answer",
			[WP_EXIT_CONFIG] = "wrong usage or configuration, or a privilege is missing",
			[WP_EXIT_HUMAN] = "all that was compared is equal, but rows were left off (--limit)",
		},
	};
	struct wp_cli_line line;
	int exit_code;

	*o = (struct wp_diff_options){
		.id_header = "id",
		.limit = WP_DIFF_LIMIT_MAX,
		.shown_max = WP_DIFF_SHOWN,
	};
	if (!wp_cli_parse(&usage, argc, argv, &line, &exit_code))
		return exit_code;
	exit_code = read_number("--limit", limit, 1, WP_DIFF_LIMIT_MAX, &o->limit);
	if (exit_code == WP_EXIT_OK)
		exit_code = read_number("--show", shown, 0, WP_DIFF_SHOWN_MAX, &o->shown_max);
	if (o->json && shown == NULL)
		o->shown_max = WP_DIFF_SHOWN_MAX;
	o->lists_missing = o->json && shown == NULL;
	if (exit_code == WP_EXIT_OK)
		exit_code = wp_cli_duration("--since", age, &d.options.since_ms);
	return exit_code == WP_EXIT_OK ? diff(&d, &line) : exit_code;
}
