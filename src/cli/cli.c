#include <assert.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <librdkafka/rdkafka.h>

#include "walpost/base/calendar.h"
#include "walpost/base/display.h"
#include "walpost/base/log.h"
#include "walpost/cli/cli.h"
#include "walpost/config/setting.h"
#include "walpost/config/option.h"
#include "walpost/kafka/properties.h"
#include "walpost/relay/options.h"

#define SAID_SIZE 4096

extern char **environ; /* POSIX leaves the declaration to us */

static int say(FILE *to, const char *format, va_list args) WP_PRINTF(2, 0);
static int say(FILE *to, const char *format, va_list args)
{
	char text[SAID_SIZE];

	(void)vsnprintf(text, sizeof(text), format, args);
	for (const char *at = text; *at != '\0';) {
		size_t size = strcspn(at, "\n");
		wp_display_print(to, (struct wp_span){ (const uint8_t *)at, size });
		if (at[size] == '\n')
			(void)fputc(at[size++], to);
		at += size;
	}
	return (int)strlen(text);
}

int wp_cli_say(FILE *to, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	int size = say(to, format, args);
	va_end(args);
	return size;
}

int wp_cli_fail(int exit_code, const char *format, ...)
{
	va_list args;

	(void)fputs("walpost: ", stderr);
	va_start(args, format);
	(void)say(stderr, format, args);
	va_end(args);
	(void)fputs("\n", stderr);
	return exit_code;
}

#define DURATION_MAX_MS ((int64_t)87600 * 3600 * 1000)

int wp_cli_duration(const char *option, const char *text, int64_t *ret_ms)
{
	int64_t ms;

	if (text == NULL)
		return WP_EXIT_OK;
	if (wp_value_duration(text, &ms) == WP_OK && ms >= 1 && ms <= DURATION_MAX_MS) {
		*ret_ms = ms;
		return WP_EXIT_OK;
	}
	return wp_cli_fail(WP_EXIT_CONFIG,
			   "%s %.100s: allowed is a duration, a number with a unit of ms, s, min, "
			   "h, such as 90s, of at most 87600h",
			   option, text);
}

void wp_cli_say_progress(const char *format, ...)
{
	va_list args;

	if (isatty(STDERR_FILENO) == 0)
		return;
	(void)fputs("\r\033[K", stderr);
	va_start(args, format);
	(void)vfprintf(stderr, format, args);
	va_end(args);
	(void)fflush(stderr);
}

int wp_cli_exit_of(enum wp_rc rc)
{
	return rc == WP_CONFIG ? WP_EXIT_CONFIG : WP_EXIT_FAILED;
}

int wp_cli_done(void)
{
	if (fflush(stdout) == 0 && ferror(stdout) == 0)
		return WP_EXIT_OK;
	return wp_cli_fail(WP_EXIT_FAILED, "standard output cannot be written: %s",
			   strerror(errno));
}

int wp_cli_print(const char *command, const char *about, void (*print)(FILE *out), int argc,
		 char **argv)
{
	const struct wp_cli_usage usage = {
		.command = command,
		.about = about,
		.configured = WP_CLI_UNCONFIGURED,
		.exits = {
			[WP_EXIT_OK] = "printed",
			[WP_EXIT_FAILED] = "standard output cannot be written",
			[WP_EXIT_CONFIG] = "wrong usage",
		},
	};
	struct wp_cli_line line;
	int exit_code;

	if (!wp_cli_parse(&usage, argc, argv, &line, &exit_code))
		return exit_code;
	print(stdout);
	return wp_cli_done();
}

/* -- tables of commands ------------------------------------------------------ */

static int list_commands(const char *program, const struct wp_command *commands, size_t count)
{
	printf("Usage: %s COMMAND [OPTION]...\n\n", program);
	for (size_t i = 0; i < count; i++)
		printf("  %-15s %s\n", commands[i].name, commands[i].summary);
	printf("\n"
	       "Run `%s COMMAND --help` for more about a command.\n",
	       program);
	return wp_cli_done();
}

static int unknown_command(const char *program, const struct wp_command *commands, size_t count,
			   const char *name)
{
	struct wp_suggestion s;

	/* The name may be a connection string, say. */
	if (strspn(name, "abcdefghijklmnopqrstuvwxyz-_") != strlen(name))
		name = "...";
	wp_suggestion_init(&s, name);
	for (size_t i = 0; i < count; i++)
		wp_suggestion_offer(&s, commands[i].name);
	if (s.best != NULL)
		return wp_cli_fail(WP_EXIT_CONFIG,
				   "there is no command `%s %s`; did you mean `%s %s`?", program,
				   name, program, s.best);
	return wp_cli_fail(WP_EXIT_CONFIG, "there is no command `%s %s`; `%s --help` lists them",
			   program, name, program);
}

int wp_cli_dispatch(const char *program, const struct wp_command *commands, size_t count, int argc,
		    char **argv)
{
	if (argc < 2)
		return wp_cli_fail(WP_EXIT_CONFIG, "a command is missing; `%s --help` lists them",
				   program);
	if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 ||
	    strcmp(argv[1], "help") == 0)
		return list_commands(program, commands, count);
	for (size_t i = 0; i < count; i++)
		if (strcmp(commands[i].name, argv[1]) == 0)
			return commands[i].run(argc - 1, argv + 1);
	return unknown_command(program, commands, count, argv[1]);
}

/* -- help -------------------------------------------------------------------- */

static void help_option(const char *name, const char *argument, const char *help)
{
	char left[64];

	(void)snprintf(left, sizeof(left), "%s%s%s", name, argument == NULL ? "" : " ",
		       argument == NULL ? "" : argument);
	printf("  %-28s %s\n", left, help);
}

static int print_help(const struct wp_cli_usage *usage)
{
	printf("Usage: %s [OPTION]...%s%s\n\n%s\n\nOptions:\n", usage->command,
	       usage->arguments == NULL ? "" : " ",
	       usage->arguments == NULL ? "" : usage->arguments, usage->about);
	for (size_t i = 0; i < usage->option_count; i++)
		help_option(usage->options[i].name, usage->options[i].argument,
			    usage->options[i].help);
	if (usage->configured == WP_CLI_CONFIGURED) {
		help_option("-c, --config", "FILE",
			    "configuration file (`walpost config sample` prints one)");
		help_option("--set", "SECTION.KEY=VALUE",
			    "one setting; overrides file and environment");
	}
	help_option("-h, --help", NULL, "print this help");
	printf("\nExit codes:\n");
	for (int code = 0; code < WP_EXIT_COUNT; code++)
		if (usage->exits[code] != NULL)
			printf("  %d  %s\n", code, usage->exits[code]);
		else if (code == WP_EXIT_CONFIG)
			printf("  %d  wrong usage or configuration\n", code);
	return wp_cli_done();
}

/* -- the command line -------------------------------------------------------- */

struct parser {
	const struct wp_cli_usage *usage;
	int argc;
	char **argv;
	int at; /* what is looked at */
	struct wp_cli_line *line;
};

/* Takes "--name=VALUE", "--name VALUE" with a VALUE that begins with a digit, or "--name" as "". */
static const char *take_optional(struct parser *p, const char *name)
{
	const char *word = p->argv[p->at];

	if (word[strlen(name)] == '=')
		return word + strlen(name) + 1;
	if (p->at + 1 < p->argc && p->argv[p->at + 1][0] >= '0' && p->argv[p->at + 1][0] <= '9')
		return p->argv[++p->at];
	return "";
}

/* Takes "--name=VALUE" or "--name VALUE". Returns NULL after a message. */
static const char *take_value(struct parser *p, const char *name)
{
	const char *word = p->argv[p->at];

	if (word[strlen(name)] == '=')
		return word + strlen(name) + 1;
	if (p->at + 1 < p->argc)
		return p->argv[++p->at];
	(void)wp_cli_fail(WP_EXIT_CONFIG, "%s: a value is missing after it; see `%s --help`", name,
			  p->usage->command);
	return NULL;
}

static bool is_option(const char *word, const char *name)
{
	size_t size = strlen(name);

	return strncmp(word, name, size) == 0 && (word[size] == '\0' || word[size] == '=');
}

static bool take_file(struct parser *p, const char *name)
{
	const char *value = take_value(p, name);

	if (value == NULL)
		return false;
	if (p->line->file != NULL) {
		(void)wp_cli_fail(WP_EXIT_CONFIG,
				  "%s is given twice; only one configuration file is allowed",
				  name);
		return false;
	}
	p->line->file = value;
	return true;
}

static bool take_set(struct parser *p)
{
	const char *value = take_value(p, "--set");

	if (value == NULL)
		return false;
	if (p->line->set_count == WP_CLI_SETS_MAX) {
		(void)wp_cli_fail(WP_EXIT_CONFIG, "--set is given more than %d times; use a file",
				  WP_CLI_SETS_MAX);
		return false;
	}
	p->line->sets[p->line->set_count++] = value;
	return true;
}

static bool take_own(struct parser *p, const struct wp_cli_option *option)
{
	const char *value;

	if (option->flag != NULL && strcmp(p->argv[p->at], option->name) != 0) {
		(void)wp_cli_fail(WP_EXIT_CONFIG, "%s takes no value", option->name);
		return false;
	}
	if (option->flag != NULL) {
		*option->flag = true;
		return true;
	}
	value = option->argument[0] == '[' ? take_optional(p, option->name)
					   : take_value(p, option->name);
	if (value != NULL)
		*option->value = value;
	return value != NULL;
}

/* Only the name is quoted: what follows a = may be a secret. */
static bool unknown_option(const struct parser *p)
{
	const struct wp_cli_usage *usage = p->usage;
	const char *word = p->argv[p->at];
	char name[WP_SUGGEST_SIZE_MAX + 1];
	struct wp_suggestion s;

	/* Of -phush, which is how other programs take a password, only -p is shown. */
	int shown = word[1] == '-' ? (int)strcspn(word, "=") : 2;
	(void)snprintf(name, sizeof(name), "%.*s", shown, word);
	wp_suggestion_init(&s, name);
	for (size_t i = 0; i < usage->option_count; i++)
		wp_suggestion_offer(&s, usage->options[i].name);
	if (usage->configured == WP_CLI_CONFIGURED) {
		wp_suggestion_offer(&s, "--config");
		wp_suggestion_offer(&s, "--set");
	}
	wp_suggestion_offer(&s, "--help");
	if (s.best != NULL)
		(void)wp_cli_fail(WP_EXIT_CONFIG, "%s has no option %s; did you mean %s?",
				  usage->command, name, s.best);
	else
		(void)wp_cli_fail(WP_EXIT_CONFIG, "%s has no option %s; see `%s --help`",
				  usage->command, name, usage->command);
	return false;
}

static bool take_option(struct parser *p)
{
	const char *word = p->argv[p->at];

	for (size_t i = 0; i < p->usage->option_count; i++)
		if (is_option(word, p->usage->options[i].name))
			return take_own(p, &p->usage->options[i]);
	if (p->usage->configured == WP_CLI_UNCONFIGURED)
		return unknown_option(p);
	if (strcmp(word, "-c") == 0)
		return take_file(p, "-c");
	if (is_option(word, "--config"))
		return take_file(p, "--config");
	if (is_option(word, "--set"))
		return take_set(p);
	return unknown_option(p);
}

static bool take_argument(struct parser *p)
{
	struct wp_cli_line *line = p->line;

	if (line->argument_count == p->usage->argument_max) {
		/* It is not repeated: it may be the value of an option, and a secret. */
		(void)wp_cli_fail(WP_EXIT_CONFIG,
				  "%s takes %s besides its options; see `%s --help`",
				  p->usage->command,
				  p->usage->argument_max == 0 ? "no arguments" : "one argument",
				  p->usage->command);
		return false;
	}
	line->arguments[line->argument_count++] = p->argv[p->at];
	return true;
}

bool wp_cli_parse(const struct wp_cli_usage *usage, int argc, char **argv, struct wp_cli_line *ret,
		  int *ret_exit)
{
	struct parser p = { .usage = usage, .argc = argc, .argv = argv, .line = ret };
	bool options_over = false;

	assert(usage->argument_max <= WP_CLI_ARGUMENTS_MAX);
	*ret = (struct wp_cli_line){ .file = NULL };
	for (p.at = 1; p.at < argc; p.at++) {
		const char *word = argv[p.at];
		bool good;

		if (!options_over && strcmp(word, "--") == 0) {
			options_over = true;
			continue;
		}
		if (!options_over && (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0)) {
			*ret_exit = print_help(usage);
			return false;
		}
		if (!options_over && word[0] == '-' && word[1] != '\0')
			good = take_option(&p);
		else
			good = take_argument(&p);
		if (!good) {
			*ret_exit = WP_EXIT_CONFIG;
			return false;
		}
	}
	return true;
}

/* -- configuration ----------------------------------------------------------- */

static void print_notes(const struct wp_config_notes *notes)
{
	for (size_t i = 0; i < notes->count; i++) {
		const struct wp_config_note *note = &notes->notes[i];
		(void)wp_cli_say(stderr, "walpost: %s%s\n",
				 note->level == WP_CONFIG_NOTE_WARN ? "warning: " : "",
				 note->error.text);
	}
	if (notes->left_off > 0)
		(void)fprintf(stderr, "walpost: and %zu more\n", notes->left_off);
}

/* librdkafka itself says what it takes; nothing is connected. */
static enum wp_rc check_properties(const struct wp_config *config, struct wp_error *error)
{
	const struct wp_in_flight_limits widest = wp_in_flight_limits_for(&config->relay, SIZE_MAX);
	const struct wp_kafka_bounds bounds = {
		.in_flight_events = widest.events,
		.in_flight_bytes = widest.bytes,
	};
	rd_kafka_conf_t *conf = NULL;
	enum wp_rc rc;

	if (config->relay.sink != WP_SINK_KIND_KAFKA)
		return WP_OK;
	rc = wp_properties_conf(&config->kafka, &bounds, &conf, error);
	if (rc == WP_OK)
		rd_kafka_conf_destroy(conf);
	return rc;
}

enum wp_rc wp_cli_load(const struct wp_cli_line *line, struct wp_config *ret,
		       struct wp_config_notes *notes)
{
	const struct wp_config_sources sources = {
		.file = line->file,
		.environment = environ,
		.sets = line->sets,
		.set_count = line->set_count,
	};
	struct wp_error error;
	enum wp_rc rc = wp_config_load(&sources, ret, notes);

	if (rc == WP_OK)
		rc = wp_config_check(ret, notes);
	/* If there are no properties at all, what is missing has been said. */
	if (rc == WP_OK ||
	    (rc == WP_CONFIG && ret->kafka.property_count > 0 && !wp_config_lacks_file(ret))) {
		enum wp_rc kafka_rc = check_properties(ret, &error);

		if (kafka_rc != WP_OK) {
			wp_config_error(notes, "%s", error.text);
			rc = kafka_rc;
		}
	}
	return rc;
}

static int read_config(const struct wp_cli_line *line, struct wp_config *ret,
		       struct wp_config_notes *notes)
{
	enum wp_rc rc = wp_cli_load(line, ret, notes);

	if (rc == WP_OK)
		return WP_EXIT_OK;
	print_notes(notes);
	if (rc == WP_NOMEM)
		return wp_cli_fail(WP_EXIT_FAILED, "out of memory for the configuration");
	return WP_EXIT_CONFIG;
}

int wp_cli_config(const struct wp_cli_line *line, struct wp_config *ret)
{
	struct wp_config_notes notes;
	int exit_code = read_config(line, ret, &notes);

	if (exit_code == WP_EXIT_OK)
		print_notes(&notes);
	return exit_code;
}

int wp_cli_config_logged(const struct wp_cli_line *line, struct wp_config *ret)
{
	struct wp_config_notes notes;
	int exit_code = read_config(line, ret, &notes);

	if (exit_code != WP_EXIT_OK)
		return exit_code;
	wp_log_setup(&ret->log);
	for (size_t i = 0; i < notes.count; i++)
		wp_log(WP_LOG_WARN, "config_warning", WP_TEXT("reason", notes.notes[i].error.text));
	return WP_EXIT_OK;
}

int64_t wp_cli_now_us(void)
{
	return ((int64_t)time(NULL) - WP_POSTGRES_EPOCH_S) * 1000000;
}
