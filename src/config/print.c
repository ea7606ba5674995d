/* Prints the option table in words: effective values, reference, sample. */
#include <stdlib.h>
#include <string.h>

#include "walpost/base/display.h"
#include "walpost/config/config.h"
#include "walpost/postgres/conninfo.h"
#include "walpost/config/setting.h"
#include "walpost/config/storage.h"

#define ASTERISKS "********"

static bool is_in(const struct wp_option *option, const char *section)
{
	return strncmp(option->key, section, strlen(section)) == 0 &&
	       option->key[strlen(section)] == '.';
}

static const char *bare_key(const struct wp_option *option)
{
	return option->key + wp_option_section_size(option->key) + 1;
}

/* A value may hold anything, and a terminal may obey it. */
static void print_safely(const char *text, FILE *out)
{
	wp_display_print(out, wp_span_of(text));
}

static void print_conninfo(const char *conninfo, FILE *out)
{
	char *masked = wp_conninfo_masked(conninfo);

	print_safely(masked == NULL ? ASTERISKS : masked, out);
	free(masked);
}

static void show_value(const char *key, const struct wp_option *option,
		       const struct wp_config_value *value, const char *note, FILE *out)
{
	(void)fprintf(out, "%s = ", key);
	if ((option->flags & WP_OPTION_CONNINFO) != 0)
		print_conninfo(value->text, out);
	else if ((option->flags & WP_OPTION_SECRET) != 0 && value->text[0] != '\0')
		(void)fputs(ASTERISKS, out);
	else
		print_safely(value->text, out);
	(void)fprintf(out, "    (%s%s)\n", value->where, note);
}

/* Shows what each sets itself; the rest is as under [outbox]. */
static void show_outboxes(const struct wp_config_storage *storage, FILE *out)
{
	for (size_t i = 0; i < storage->outbox_count; i++) {
		const struct wp_config_outbox *outbox = &storage->outboxes[i];

		for (size_t j = 0; j < wp_option_count; j++) {
			char key[WP_OPTION_TEXT_SIZE];

			if (!outbox->values[j].set)
				continue;
			(void)snprintf(key, sizeof(key), "outbox.%s.%s", outbox->name,
				       bare_key(&wp_options[j]));
			show_value(key, &wp_options[j], &outbox->values[j], "", out);
		}
	}
}

/* Where librdkafka has not seen the properties, one may be a secret under a misspelled name. */
static void show_properties(const struct wp_config *config, FILE *out)
{
	const struct wp_kafka_options *kafka = &config->kafka;
	bool in_use = config->relay.sink == WP_SINK_KIND_KAFKA;

	for (size_t i = 0; i < kafka->property_count; i++) {
		const struct wp_property *p = &kafka->properties[i];
		char key[512];

		(void)snprintf(key, sizeof(key), "kafka.%s", p->name);
		print_safely(key, out);
		(void)fputs(" = ", out);
		print_safely(!in_use || wp_key_is_secret(key) ? ASTERISKS : p->value, out);
		(void)fprintf(out, "    (%s)\n", p->where);
	}
}

/* The default table is no outbox once there are sections that name others. */
static const char *note_on(const struct wp_config *config, const struct wp_option *option)
{
	bool is_served = config->outboxes.items[0].name[0] == '\0';

	return is_served || strcmp(option->key, "outbox.table") != 0
		       ? ""
		       : ", not served beside [outbox.NAME] sections unless set";
}

void wp_config_show(const struct wp_config *config, FILE *out)
{
	const char *section;

	if (!config->storage->complete)
		return;
	for (size_t s = 0; (section = wp_option_section(s)) != NULL; s++) {
		if (strcmp(section, "kafka") == 0)
			show_properties(config, out);
		for (size_t i = 0; i < wp_option_count; i++)
			if (is_in(&wp_options[i], section))
				show_value(wp_options[i].key, &wp_options[i],
					   &config->storage->values[i],
					   note_on(config, &wp_options[i]), out);
		if (strcmp(section, "outbox") == 0)
			show_outboxes(config->storage, out);
	}
}

static void print_example(const struct wp_option *option, FILE *out)
{
	char variable[WP_OPTION_TEXT_SIZE];

	if ((option->flags & WP_OPTION_SECRET) != 0)
		(void)fprintf(out, "%s_FILE=/run/secrets/%s", wp_option_variable(option, variable),
			      bare_key(option));
	else
		(void)fprintf(out, "%s = %s", bare_key(option), option->example);
}

static void print_default(const struct wp_option *option, FILE *out)
{
	if ((option->flags & WP_OPTION_REQUIRED) != 0)
		(void)fprintf(out, "none; it must be set, but may be empty (`%s =`)",
			      bare_key(option));
	else if (option->standard[0] == '\0')
		(void)fputs("empty", out);
	else
		(void)fprintf(out, "`%s`", option->standard);
}

static void reference_option(const struct wp_option *option, FILE *out)
{
	char text[WP_OPTION_TEXT_SIZE];

	(void)fprintf(out, "\n### `%s`\n\n%s\n\n- Example: `", option->key, option->help);
	print_example(option, out);
	(void)fputs("`. Default: ", out);
	print_default(option, out);
	(void)fprintf(out, ".\n- Allowed: %s.", wp_option_allowed(option, text));
	(void)fprintf(out, " Variable: `%s`.", wp_option_variable(option, text));
	if (wp_option_is_live(option))
		(void)fputs(" Takes effect with a reload (SIGHUP).", out);
	(void)fputc('\n', out);
	if ((option->flags & WP_OPTION_SECRET) != 0)
		(void)fputs("- A secret: never shown or logged, and not accepted by --set.\n", out);
	if ((option->flags & WP_OPTION_CONNINFO) != 0)
		(void)fputs("- A password in it is never shown or logged; with one, not accepted "
			    "by --set.\n",
			    out);
}

static const char kafka_reference[] =
	"\n"
	"Any property of a librdkafka producer, as documented in CONFIGURATION.md of librdkafka.\n"
	"`bootstrap.servers` must be set. Properties that would break ordering or delivery are "
	"refused with\n"
	"the reason (`enable.idempotence`, `acks`, `message.timeout.ms`, "
	"`enable.gapless.guarantee` and\n"
	"others).\n"
	"\n"
	"- `compression.type` is `lz4` by default; `none` where `bootstrap.servers` names Azure "
	"Event Hubs\n"
	"  (`*.servicebus.windows.net`), which refuses lz4 and, in its smaller tiers, gzip too.\n"
	"- Environment: `WALPOST__KAFKA__` and the name in capitals with underscores for dots:\n"
	"  `WALPOST__KAFKA__SASL_PASSWORD` is `sasl.password`.\n"
	"- Files with certificates and keys (`ssl.ca.location`, `ssl.certificate.location`, "
	"`ssl.key.location`,\n"
	"  `ssl.crl.location`, `ssl.keystore.location`), and those named by a variable with "
	"`_FILE`, are\n"
	"  reloaded when they are replaced.\n"
	"- Properties named like secrets (password, secret, key.pem, ...) are never shown or "
	"logged, and not\n"
	"  accepted by --set.\n";

static const char reference_head[] =
	"# Configuration of walpost\n"
	"\n"
	"Values come from a file (`-c walpost.conf`), the environment and `--set "
	"section.key=value`; later\n"
	"ones override earlier ones. `walpost config show` prints the values in effect and their "
	"origin.\n"
	"\n"
	"The file consists of `[section]` lines, `key = value` lines, and comments, which begin "
	"with `#`\n"
	"or `;`. A value ends with its line, however long; spaces around it are dropped; quotes, "
	"`#`, `;` and\n"
	"`=` in it are literal. There are no continued lines. A key may be set once. Keys are "
	"case-sensitive.\n"
	"The text is UTF-8.\n"
	"\n"
	"Every key can be set by an environment variable, named with each option below. With the "
	"suffix\n"
	"`_FILE`, the variable names a file whose content is the value, without a newline at its "
	"end:\n"
	"`WALPOST__POSTGRES__PASSWORD_FILE=/run/secrets/password`. Such files of "
	"`postgres.conninfo`,\n"
	"`postgres.password` and `[kafka]` are reloaded when they are replaced, without a signal. "
	"Unknown\n"
	"keys in the file are errors; unknown variables cause a warning.\n";

void wp_config_reference(FILE *out)
{
	const char *section;

	(void)fputs(reference_head, out);
	for (size_t s = 0; (section = wp_option_section(s)) != NULL; s++) {
		(void)fprintf(out, "\n## [%s]\n", section);
		if (strcmp(section, "kafka") == 0)
			(void)fputs(kafka_reference, out);
		for (size_t i = 0; i < wp_option_count; i++)
			if (is_in(&wp_options[i], section))
				reference_option(&wp_options[i], out);
	}
}

static void print_comment(const char *text, FILE *out)
{
	while (*text != '\0') {
		size_t size = strcspn(text, "\n");

		(void)fprintf(out, "# %.*s\n", (int)size, text);
		text += size + (text[size] == '\n' ? 1 : 0);
	}
}

static void sample_option(const struct wp_option *option, FILE *out)
{
	char allowed[WP_OPTION_TEXT_SIZE];
	bool required = (option->flags & WP_OPTION_REQUIRED) != 0;

	(void)fputc('\n', out);
	print_comment(option->help, out);
	if (option->kind != WP_OPTION_TEXT)
		(void)fprintf(out, "# Allowed: %s.\n", wp_option_allowed(option, allowed));
	(void)fprintf(out, "%s%s =", required ? "" : ";", bare_key(option));
	(void)fprintf(out, "%s%s\n", option->standard[0] == '\0' && !required ? "" : " ",
		      required ? option->example : option->standard);
}

static const char sample_head[] =
	"# walpost.conf: printed by `walpost config sample`; see also `walpost config reference`.\n"
	"#\n"
	"# Lines that begin with ; show the defaults. A value ends with its line and is not "
	"quoted; comments\n"
	"# have separate lines. Every key can also be set by an environment variable,\n"
	"# WALPOST__SECTION__KEY (WALPOST__POSTGRES__SLOT), or by one that names a file with the "
	"value,\n"
	"# WALPOST__SECTION__KEY_FILE, and by --set section.key=value; later ones override earlier "
	"ones.\n";

static const char kafka_sample[] = "\n"
				   "# Any property of a librdkafka producer. "
				   "WALPOST__KAFKA__SASL_PASSWORD_FILE=/run/secrets/... sets\n"
				   "# sasl.password.\n"
				   "bootstrap.servers = localhost:9092\n"
				   "\n"
				   "# At Azure Event Hubs (*.servicebus.windows.net) the default "
				   "is none, for it refuses lz4.\n"
				   ";compression.type = lz4\n"
				   ";linger.ms = 0\n"
				   ";max.in.flight.requests.per.connection = 1\n"
				   "\n"
				   "# Examples, not defaults:\n"
				   ";security.protocol = ssl\n"
				   ";ssl.ca.location = /etc/ssl/certs/ca-certificates.crt\n";

static const char outbox_sample[] =
	"\n"
	"# Several outboxes, each in a section with its name, which inherits unset keys from "
	"[outbox].\n"
	"# [outbox] is then an outbox itself only if it sets table or message.prefix.\n"
	";[outbox.orders]\n"
	";table = sales.outbox\n"
	";topic.replacement = orders.events\n";

void wp_config_sample(FILE *out)
{
	const char *section;

	(void)fputs(sample_head, out);
	for (size_t s = 0; (section = wp_option_section(s)) != NULL; s++) {
		(void)fprintf(out, "\n[%s]\n", section);
		if (strcmp(section, "kafka") == 0)
			(void)fputs(kafka_sample, out);
		for (size_t i = 0; i < wp_option_count; i++)
			if (is_in(&wp_options[i], section))
				sample_option(&wp_options[i], out);
		if (strcmp(section, "outbox") == 0)
			(void)fputs(outbox_sample, out);
	}
}
