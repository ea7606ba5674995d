#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "walpost/base/display.h"
#include "walpost/base/secret.h"
#include "walpost/postgres/conninfo.h"
#include "walpost/config/setting.h"
#include "walpost/config/storage.h"
#include "walpost/config/option.h"

#define ASTERISKS "********"
#define KAFKA "kafka."

void wp_config_note(struct wp_config_notes *notes, enum wp_config_note_level level,
		    const char *format, ...)
{
	char text[sizeof(notes->notes[0].error.text)];
	struct wp_config_note *note;
	va_list args;

	if (level == WP_CONFIG_NOTE_ERROR)
		notes->error_count++;
	if (notes->count == WP_CONFIG_NOTES_MAX) {
		notes->left_off++;
		return;
	}
	va_start(args, format);
	(void)vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	note = &notes->notes[notes->count++];
	note->level = level;
	(void)wp_error_set(&note->error, WP_CONFIG, "%s", text);
}

static const char *property_of(const char *key)
{
	return strncmp(key, KAFKA, strlen(KAFKA)) == 0 ? key + strlen(KAFKA) : NULL;
}

bool wp_key_is_secret(const char *key)
{
	const char *property = property_of(key);
	const struct wp_option *option = wp_key_of(key).option;

	if (property != NULL && option == NULL)
		return wp_property_is_secret(property);
	/* An unknown key may be a secret misspelled. */
	if (option == NULL)
		return wp_text_has(key, "passw") || wp_text_has(key, "secret");
	return (option->flags & WP_OPTION_SECRET) != 0;
}

bool wp_value_is_secret(const char *key, const char *value)
{
	const struct wp_option *option = wp_key_of(key).option;

	if (wp_key_is_secret(key))
		return true;
	/* A conninfo keeps its password also under a misspelled key. */
	if ((property_of(key) != NULL && option == NULL) ||
	    (option != NULL && (option->flags & WP_OPTION_CONNINFO) == 0))
		return false;
	return wp_conninfo_has_secret(value);
}

/* When a connection string is not right, nobody knows which part of it is the password. */
static bool may_be_shown(const char *key, const char *value)
{
	const struct wp_option *option = wp_key_of(key).option;
	bool is_conninfo = option != NULL && (option->flags & WP_OPTION_CONNINFO) != 0;

	return !wp_value_is_secret(key, value) &&
	       (!is_conninfo || wp_conninfo_check(value, NULL) == WP_OK);
}

char *wp_value_shown(const char *key, const char *value, char *text)
{
	size_t size = strlen(value);
	size_t at = 0;
	size_t to = 0;

	if (!may_be_shown(key, value)) {
		(void)snprintf(text, WP_SHOWN_SIZE, ASTERISKS);
		return text;
	}
	while (at < size) {
		struct wp_display shown;
		size_t taken = wp_display_next((const uint8_t *)value + at, size - at, &shown);
		if (to + shown.size > WP_SHOWN_SIZE - 4) {
			memcpy(text + to, "...", 4);
			return text;
		}
		memcpy(text + to, shown.text, shown.size);
		to += shown.size;
		at += taken;
	}
	text[to] = '\0';
	return text;
}

/* A value of a named outbox is stored into a copy, to see whether it can be; it is composed when
 * all is read. */
static enum wp_rc store(struct wp_config *config, const struct wp_key *key, const char *text)
{
	struct wp_config scratch;

	if (key->name[0] == '\0')
		return wp_value_store(key->option, text, config);
	scratch = *config;
	return wp_value_store(key->option, text, &scratch);
}

static enum wp_rc find_value(struct wp_config *config, const struct wp_key *key,
			     struct wp_config_value **ret)
{
	struct wp_config_outbox *outbox;
	size_t index = (size_t)(key->option - wp_options);

	if (key->name[0] == '\0') {
		*ret = &config->storage->values[index];
		return WP_OK;
	}
	enum wp_rc rc = wp_storage_outbox(config->storage, key->name, &outbox);
	if (rc == WP_OK)
		*ret = &outbox->values[index];
	return rc;
}

static enum wp_rc put_option(struct wp_config *config, const struct wp_key *key,
			     const struct wp_setting *setting, struct wp_config_notes *notes)
{
	struct wp_config_value *value = NULL;
	const char *text = wp_storage_keep(config->storage, setting->value);
	const char *where = wp_storage_keep(config->storage, setting->where);
	char shown[WP_SHOWN_SIZE];
	char allowed[WP_OPTION_TEXT_SIZE];
	enum wp_rc rc;

	if (text == NULL || where == NULL)
		return WP_NOMEM;
	if (key->name[0] != '\0' && (key->option->flags & WP_OPTION_GLOBAL) != 0) {
		wp_config_error(notes,
				"%s: %s: it applies to all outboxes: write it under [outbox]",
				where, setting->key);
		return WP_OK;
	}
	rc = store(config, key, text);
	if (rc != WP_OK) {
		wp_config_error(notes, "%s: %s = %s: it must be %s", where, setting->key,
				wp_value_shown(setting->key, text, shown),
				wp_option_allowed(key->option, allowed));
		return WP_OK;
	}
	rc = find_value(config, key, &value);
	if (rc == WP_FULL) {
		wp_config_error(notes, "%s: %s: there are more than %d outboxes", where,
				setting->key, WP_OUTBOXES_MAX);
		return WP_OK;
	}
	if (rc != WP_OK)
		return rc;
	*value = (struct wp_config_value){
		.text = text, .where = where, .set = true, .file = setting->file
	};
	return WP_OK;
}

/* A later property goes to the end: librdkafka takes them in order, and so the later also wins
 * where two names mean the same (metadata.broker.list, bootstrap.servers). */
static void drop_property(struct wp_kafka_options *kafka, const char *name)
{
	const struct wp_property *found = wp_property_find(kafka, name);

	if (found == NULL)
		return;
	size_t at = (size_t)(found - kafka->properties);
	kafka->property_count--;
	memmove(&kafka->properties[at], &kafka->properties[at + 1],
		(kafka->property_count - at) * sizeof(kafka->properties[0]));
}

static enum wp_rc put_property(struct wp_config *config, const char *name,
			       const struct wp_setting *setting, struct wp_config_notes *notes)
{
	struct wp_kafka_options *kafka = &config->kafka;
	struct wp_property property = {
		.name = wp_storage_keep(config->storage, name),
		.value = wp_storage_keep(config->storage, setting->value),
		.where = wp_storage_keep(config->storage, setting->where),
		.file = setting->file,
	};

	if (property.name == NULL || property.value == NULL || property.where == NULL)
		return WP_NOMEM;
	if (name[0] == '\0') {
		wp_config_error(notes, "%s: the name of a Kafka property is missing",
				setting->where);
		return WP_OK;
	}
	drop_property(kafka, name);
	if (kafka->property_count == WP_PROPERTIES_MAX) {
		wp_config_error(notes, "%s: kafka.%s: there are more than %d Kafka properties",
				setting->where, name, WP_PROPERTIES_MAX);
		return WP_OK;
	}
	kafka->properties[kafka->property_count++] = property;
	return WP_OK;
}

/* The note is without the value: under a misspelled key it may be a secret. */
static void note_unknown(const struct wp_setting *setting, struct wp_config_notes *notes)
{
	const struct wp_option *like = wp_option_like(setting->key);

	if (like != NULL)
		wp_config_error(notes, "%s: %s: there is no such key; did you mean %s?",
				setting->where, setting->key, like->key);
	else
		wp_config_error(
			notes,
			"%s: %s: there is no such key; `walpost config reference` lists all keys",
			setting->where, setting->key);
}

enum wp_rc wp_config_put(struct wp_config *config, const struct wp_setting *setting,
			 struct wp_config_notes *notes)
{
	const char *property = property_of(setting->key);
	const struct wp_key key = wp_key_of(setting->key);

	if (key.option != NULL)
		return put_option(config, &key, setting, notes);
	if (property != NULL)
		return put_property(config, property, setting, notes);
	note_unknown(setting, notes);
	return WP_OK;
}
