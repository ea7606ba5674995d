/*
 * `walpost run` starts the relay in the foreground, and reads its configuration anew when told to.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <librdkafka/rdkafka.h>

#include "walpost/base/log.h"
#include "walpost/cli/cli.h"
#include "walpost/config/config.h"
#include "walpost/config/setting.h"
#include "walpost/run/run.h"

/* `walpost run` reads its configuration anew. */
struct cli_reload {
	const struct wp_cli_line *line;	 /* the same sources as at the start */
	const struct wp_config *started; /* what the process began with */
};

#define KEYS_SIZE 1024

/* Holds the keys that changed as a text; dots stand for what does not fit. */
struct keys {
	char text[KEYS_SIZE];
	size_t size;
};

struct changes {
	struct keys live;
	struct keys restart;
	bool outboxes;
};

struct generation {
	struct wp_run_fresh fresh; /* comes first: a wp_run_fresh is cast to this */
	struct wp_config config;
	char *shown;
	struct changes changes;
};

static void add_key(struct keys *keys, const char *key)
{
	const char *gap = keys->size == 0 ? "" : " ";
	size_t room = sizeof(keys->text) - keys->size;

	if (strlen(gap) + strlen(key) + sizeof(" ...") > room) {
		if (keys->size > 0 && keys->text[keys->size - 1] != '.')
			keys->size += (size_t)snprintf(keys->text + keys->size, room, " ...");
		return;
	}
	keys->size += (size_t)snprintf(keys->text + keys->size, room, "%s%s", gap, key);
}

static void on_change(void *arg, const char *key, enum wp_config_change change)
{
	struct changes *c = arg;

	if (change == WP_CONFIG_CHANGE_RESTART) {
		add_key(&c->restart, key);
		return;
	}
	add_key(&c->live, key);
	c->outboxes |= strncmp(key, "outbox.", strlen("outbox.")) == 0;
}

/* Returns what `config show` prints, on the heap, or NULL if there is no memory. */
static char *cli_shown(const struct wp_config *config)
{
	char *text = NULL;
	size_t size = 0;
	FILE *file = open_memstream(&text, &size);

	if (file == NULL)
		return NULL;
	wp_config_show(config, file);
	if (fclose(file) == 0)
		return text;
	free(text);
	return NULL;
}

static void log_notes(const struct wp_config_notes *notes)
{
	for (size_t i = 0; i < notes->count; i++) {
		const struct wp_config_note *n = &notes->notes[i];

		if (n->level == WP_CONFIG_NOTE_WARN)
			wp_log(WP_LOG_WARN, "config_warning", WP_TEXT("reason", n->error.text));
		else
			wp_log(WP_LOG_ERROR, "reload_refused", WP_TEXT("reason", n->error.text));
	}
}

static void release(void *arg, struct wp_run_fresh *fresh)
{
	struct generation *g = (struct generation *)fresh;

	(void)arg; /* who reads needs no memory of what was read */
	wp_config_release(&g->config);
	free(g->shown);
	free(g);
}

/* Does the rest go together with the old values of what only a start can change? */
static enum wp_rc check_again(const struct generation *g, struct wp_config_notes *notes)
{
	struct wp_config_notes again = { .count = 0 };
	enum wp_rc rc = wp_config_check(&g->config, &again);

	if (rc != WP_OK)
		*notes = again;
	return rc;
}

/* What <(command), say, held went with the first reading, and nothing is no configuration. */
static bool is_pipe(const char *path)
{
	struct stat facts;

	return path != NULL && stat(path, &facts) == 0 && S_ISFIFO(facts.st_mode);
}

static enum wp_rc load(const struct cli_reload *r, const struct wp_config *in_force,
		       struct generation *g, struct wp_config_notes *notes)
{
	struct changes *changes = &g->changes;

	if (is_pipe(r->line->file)) {
		wp_config_error(notes,
				"%s is a pipe, which can be read only once: restart, or use a file",
				r->line->file);
		return WP_CONFIG;
	}
	enum wp_rc rc = wp_cli_load(r->line, &g->config, notes);

	if (rc == WP_OK)
		rc = wp_config_take_over(in_force, &g->config, on_change, changes);
	if (rc == WP_OK && changes->restart.size > 0)
		rc = check_again(g, notes);
	if (rc == WP_OK) {
		g->shown = cli_shown(&g->config);
		rc = g->shown != NULL ? WP_OK : WP_NOMEM;
	}
	return rc;
}

static struct wp_run_fresh *read_anew(void *arg, const struct wp_run_fresh *in_force)
{
	const struct cli_reload *r = arg;
	struct generation *g = calloc(1, sizeof(*g));
	struct wp_config_notes notes = { .count = 0 };
	const struct wp_config *old =
		in_force != NULL ? &((const struct generation *)in_force)->config : r->started;
	enum wp_rc rc = g != NULL ? load(r, old, g, &notes) : WP_NOMEM;

	log_notes(&notes);
	if (rc != WP_OK) {
		if (rc == WP_NOMEM)
			wp_log(WP_LOG_ERROR, "reload_refused", WP_TEXT("reason", "out of memory"));
		if (g != NULL)
			release(NULL, &g->fresh);
		return NULL;
	}
	if (g->changes.restart.size > 0)
		wp_log(WP_LOG_WARN, "restart_needed", WP_TEXT("keys", g->changes.restart.text),
		       WP_TEXT("reason", "these settings changed; restart walpost to apply them"));
	g->fresh = (struct wp_run_fresh){
		.outboxes = &g->config.outboxes,
		.outboxes_changed = g->changes.outboxes,
		.level = g->config.log.level,
		.configuration = g->shown,
		.changed = g->changes.live.size > 0 ? g->changes.live.text : "nothing",
	};
	return &g->fresh;
}

int wp_command_run(int argc, char **argv)
{
	static const struct wp_cli_usage usage = {
		.command = "walpost run",
		.about = "Relays the outbox to Kafka in the foreground until SIGTERM or SIGINT. Then it\n"
"waits for the events in flight, confirms them to Postgres, and ends. A second\n"
"signal ends it at once. SIGHUP reloads the configuration: log.level and all of\n"
"[outbox] change without a restart; other changed settings are named and need one.\n"
"Log lines go to standard error.",
		.exits = {
			[WP_EXIT_OK] = "stopped on request",
			[WP_EXIT_FAILED] = "failed; a restart may help",
			[WP_EXIT_HUMAN] = "operator action is required: see the log line with level=error",
		},
	};
	struct wp_cli_line line;
	struct wp_config config;
	int exit_code;

	if (!wp_cli_parse(&usage, argc, argv, &line, &exit_code))
		return exit_code;
	exit_code = wp_cli_config_logged(&line, &config);
	if (exit_code == WP_EXIT_OK) {
		char libpq[WP_LIBPQ_VERSION_SIZE];
		char *shown = cli_shown(&config);
		struct cli_reload reload = { .line = &line, .started = &config };
		const struct wp_run_options options = {
			.postgres = &config.postgres,
			.outboxes = &config.outboxes,
			.kafka = &config.kafka,
			.relay = &config.relay,
			.http = &config.http,
			.reload = { .read = read_anew, .release = release, .arg = &reload },
			.libpq_version = wp_cli_libpq_version(libpq),
			.librdkafka_version = rd_kafka_version_str(),
			.configuration = shown ? shown : "",
		};

		exit_code = wp_run(&options);
		free(shown);
	}
	wp_config_release(&config);
	return exit_code;
}
