/*
 * A variable is WALPOST__SECTION__KEY: the double underscore keeps it apart from what Kubernetes
 * injects for a Service of our name (WALPOST_PORT). In [kafka] an underscore means a dot, as no
 * producer property has one; elsewhere the option table knows which it is. With _FILE behind the
 * name, the value is a file's content.
 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "walpost/config/setting.h"
#include "walpost/config/storage.h"
#include "walpost/config/option.h"

#define PREFIX "WALPOST__"
#define KAFKA_PREFIX PREFIX "KAFKA__"
#define OUTBOX_PREFIX PREFIX "OUTBOX__"
#define FILE_SUFFIX "_FILE"
#define VARIABLE_SIZE 512
#define WHERE_SIZE (VARIABLE_SIZE + 1024)

/* Returns NULL when it is a property of Kafka, or nothing. */
static const struct wp_option *option_of(const char *variable)
{
	char candidate[WP_OPTION_TEXT_SIZE];

	for (size_t i = 0; i < wp_option_count; i++)
		if (strcmp(wp_option_variable(&wp_options[i], candidate), variable) == 0)
			return &wp_options[i];
	return NULL;
}

static bool plain_key_of(const char *variable, char *key)
{
	const struct wp_option *option = option_of(variable);

	if (option != NULL) {
		(void)snprintf(key, VARIABLE_SIZE, "%s", option->key);
		return true;
	}
	if (strncmp(variable, KAFKA_PREFIX, strlen(KAFKA_PREFIX)) == 0) {
		(void)snprintf(key, VARIABLE_SIZE, "kafka.%s", variable + strlen(KAFKA_PREFIX));
		for (char *at = key; *at != '\0'; at++)
			*at = *at == '_' ? '.' : (char)tolower((unsigned char)*at);
		return true;
	}
	return false;
}

/* In WALPOST__OUTBOX__ORDERS__TABLE the words between belong to the name. */
static bool named_key_of(const char *variable, char *key)
{
	const char *name = variable + strlen(OUTBOX_PREFIX);
	const char *rest = strncmp(variable, OUTBOX_PREFIX, strlen(OUTBOX_PREFIX)) == 0
				   ? strstr(name, "__")
				   : NULL;
	char plain[VARIABLE_SIZE];
	char lower[WP_OUTBOX_NAME_SIZE];

	if (rest == NULL || (size_t)(rest - name) >= sizeof(lower))
		return false;
	for (size_t i = 0; i < (size_t)(rest - name); i++)
		lower[i] = (char)tolower((unsigned char)name[i]);
	lower[rest - name] = '\0';
	(void)snprintf(plain, sizeof(plain), OUTBOX_PREFIX "%s", rest + 2);
	if (!wp_outbox_name_is_valid(lower, strlen(lower)) || !plain_key_of(plain, key))
		return false;
	(void)snprintf(plain, sizeof(plain), "%s", key);
	int size = snprintf(key, VARIABLE_SIZE, "outbox.%s.%s", lower, plain + strlen("outbox."));
	return size > 0 && size < VARIABLE_SIZE;
}

/* Returns false when no key has this variable. `key` has VARIABLE_SIZE bytes. */
static bool key_of(const char *variable, char *key)
{
	return plain_key_of(variable, key) || named_key_of(variable, key);
}

static const struct wp_option *option_like(const char *variable)
{
	char names[WP_OPTIONS_MAX][WP_OPTION_TEXT_SIZE];
	struct wp_suggestion s;

	wp_suggestion_init(&s, variable);
	for (size_t i = 0; i < wp_option_count; i++)
		wp_suggestion_offer(&s, wp_option_variable(&wp_options[i], names[i]));
	for (size_t i = 0; i < wp_option_count; i++)
		if (s.best == names[i])
			return &wp_options[i];
	return NULL;
}

static void note_unknown(const char *variable, struct wp_config_notes *notes)
{
	const struct wp_option *like = option_like(variable);
	char name[WP_OPTION_TEXT_SIZE];

	if (like != NULL)
		wp_config_warn(notes,
			       "environment %s: ignored, there is no such key; did you mean %s?",
			       variable, wp_option_variable(like, name));
	else
		wp_config_warn(notes,
			       "environment %s: ignored, there is no such key; `walpost config "
			       "reference` lists all keys",
			       variable);
}

static const char *variable_value(char *const *environment, const char *variable)
{
	size_t size = strlen(variable);

	for (; *environment != NULL; environment++)
		if (strncmp(*environment, variable, size) == 0 && (*environment)[size] == '=')
			return *environment + size + 1;
	return NULL;
}

static enum wp_rc put_file(struct wp_config *config, const char *variable, const char *key,
			   const char *path, struct wp_config_notes *notes)
{
	char where[WHERE_SIZE];
	struct wp_setting setting = { .key = key, .where = where };
	struct wp_error error;
	struct wp_secret_text now;
	enum wp_rc rc = wp_storage_secret_file(config->storage, path, &setting.file, &error);

	(void)snprintf(where, sizeof(where), "environment %s (%s)", variable, path);
	if (rc == WP_CONFIG) {
		wp_config_error(notes, "environment %s: %s: %s", variable, key, error.text);
		return WP_OK;
	}
	if (rc != WP_OK)
		return rc;
	rc = wp_secret_file_read(setting.file, NULL, &now);
	if (rc != WP_OK)
		return rc;
	setting.value = now.text;
	rc = wp_config_put(config, &setting, notes);
	free(now.text);
	return rc;
}

static enum wp_rc put_variable(struct wp_config *config, const char *variable, const char *value,
			       char *const *environment, struct wp_config_notes *notes)
{
	char key[VARIABLE_SIZE];
	char plain[VARIABLE_SIZE];
	char where[WHERE_SIZE];
	struct wp_setting setting = { .key = key, .value = value, .where = where };

	if (wp_span_ends(wp_span_of(variable), FILE_SUFFIX) && option_of(variable) == NULL) {
		(void)snprintf(plain, sizeof(plain), "%.*s",
			       (int)(strlen(variable) - strlen(FILE_SUFFIX)), variable);
		if (key_of(plain, key)) {
			if (variable_value(environment, plain) == NULL)
				return put_file(config, variable, key, value, notes);
			wp_config_error(notes, "environment %s: %s is set too; unset one of them",
					variable, plain);
			return WP_OK;
		}
	}
	if (!key_of(variable, key)) {
		note_unknown(variable, notes);
		return WP_OK;
	}
	(void)snprintf(where, sizeof(where), "environment %s", variable);
	return wp_config_put(config, &setting, notes);
}

enum wp_rc wp_config_read_environment(struct wp_config *config, char *const *environment,
				      struct wp_config_notes *notes)
{
	enum wp_rc rc = WP_OK;

	for (char *const *at = environment; *at != NULL && rc == WP_OK; at++) {
		char variable[VARIABLE_SIZE];
		size_t size = strcspn(*at, "=");

		if (strncmp(*at, PREFIX, strlen(PREFIX)) != 0 || (*at)[size] == '\0')
			continue;
		(void)snprintf(variable, sizeof(variable), "%.*s", (int)size, *at);
		if (size >= sizeof(variable)) {
			wp_config_warn(notes, "environment %.60s...: ignored, the name is too long",
				       variable);
			continue;
		}
		rc = put_variable(config, variable, *at + size + 1, environment, notes);
	}
	return rc;
}
