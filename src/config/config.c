#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "walpost/config/config.h"
#include "walpost/config/setting.h"
#include "walpost/config/storage.h"
#include "walpost/config/option.h"

static void fill_defaults(struct wp_config *config)
{
	for (size_t i = 0; i < wp_option_count; i++) {
		const struct wp_option *option = &wp_options[i];
		enum wp_rc rc = wp_value_store(option, option->standard, config);

		assert(rc == WP_OK);
		(void)rc; /* with assertions left out */
		config->storage->values[i] =
			(struct wp_config_value){ .text = option->standard, .where = "default" };
	}
}

/* What stands for one table, or for one prefix, is not inherited. */
static bool is_inherited(const struct wp_option *option)
{
	return strcmp(option->key, "outbox.table") != 0 &&
	       strcmp(option->key, "outbox.leaves") != 0 &&
	       strcmp(option->key, "outbox.message.prefix") != 0;
}

/* The values were stored once already, so they can be. */
static void compose(const struct wp_config *config, const struct wp_config_outbox *outbox,
		    struct wp_outbox_options *ret)
{
	struct wp_config scratch = *config;

	for (size_t i = 0; i < wp_option_count; i++) {
		const struct wp_option *option = &wp_options[i];
		const char *text = outbox->values[i].set ? outbox->values[i].text : NULL;

		if (strncmp(option->key, "outbox.", strlen("outbox.")) != 0)
			continue;
		if (text == NULL && !is_inherited(option))
			text = "";
		if (text == NULL)
			continue;
		enum wp_rc rc = wp_value_store(option, text, &scratch);
		assert(rc == WP_OK);
		(void)rc; /* with assertions left out */
	}
	*ret = scratch.outbox;
	ret->name = outbox->name;
}

static struct wp_secret_file *file_of(const struct wp_config *config, const char *key)
{
	const struct wp_key found = wp_key_of(key);

	return wp_storage_value(config->storage, &found)->file;
}

/* Notes the files that are read again at each question to the registry. */
static void note_registry_files(const struct wp_config *config, struct wp_outbox_options *o)
{
	char key[WP_OPTION_TEXT_SIZE];
	const char *dot = o->name[0] != '\0' ? "." : "";

	(void)snprintf(key, sizeof(key), "outbox%s%s.schema.registry.basic_auth", dot, o->name);
	o->registry.basic_auth_file = file_of(config, key);
	(void)snprintf(key, sizeof(key), "outbox%s%s.schema.registry.bearer_token", dot, o->name);
	o->registry.bearer_token_file = file_of(config, key);
}

static bool is_set(const struct wp_config *config, const char *key)
{
	const struct wp_key found = wp_key_of(key);

	return wp_storage_value(config->storage, &found)->set;
}

/* [outbox] is an outbox itself when it is the only one, or says where its events come from. */
static enum wp_rc compose_outboxes(struct wp_config *config)
{
	struct wp_config_storage *s = config->storage;
	bool plain = s->outbox_count == 0 || is_set(config, "outbox.table") ||
		     is_set(config, "outbox.message.prefix");
	size_t count = 0;

	s->composed = calloc(s->outbox_count + 1, sizeof(s->composed[0]));
	if (s->composed == NULL)
		return WP_NOMEM;
	config->outbox.name = "";
	if (plain)
		s->composed[count++] = config->outbox;
	for (size_t i = 0; i < s->outbox_count; i++)
		compose(config, &s->outboxes[i], &s->composed[count++]);
	for (size_t i = 0; i < count; i++)
		note_registry_files(config, &s->composed[i]);
	config->outboxes = (struct wp_outboxes){
		.items = s->composed,
		.count = count,
		.ignore = config->outbox_ignore,
		.slot = config->postgres.slot,
	};
	return WP_OK;
}

static enum wp_rc make_login(enum wp_login_purpose purpose, const struct wp_login_options *options,
			     struct wp_login **ret)
{
	if (!wp_login_is_wanted(options))
		return WP_OK;
	*ret = wp_login_new(purpose, options);
	return *ret != NULL ? WP_OK : WP_NOMEM;
}

static enum wp_rc make_logins(struct wp_config *config)
{
	struct wp_config_storage *s = config->storage;

	enum wp_rc rc = make_login(WP_LOGIN_FOR_POSTGRES, &config->postgres.login_options,
				   &s->postgres_login);
	if (rc == WP_OK)
		rc = make_login(WP_LOGIN_FOR_KAFKA, &config->kafka.login_options, &s->kafka_login);
	config->postgres.login = s->postgres_login;
	config->kafka.login = s->kafka_login;
	return rc;
}

enum wp_rc wp_config_load(const struct wp_config_sources *sources, struct wp_config *ret,
			  struct wp_config_notes *notes)
{
	enum wp_rc rc = WP_OK;

	*notes = (struct wp_config_notes){ .count = 0 };
	*ret = (struct wp_config){ .storage = calloc(1, sizeof(*ret->storage)) };
	if (ret->storage == NULL)
		return WP_NOMEM;
	fill_defaults(ret);
	if (sources->file != NULL)
		rc = wp_config_read_file(ret, sources->file, notes);
	if (rc == WP_OK && sources->environment != NULL)
		rc = wp_config_read_environment(ret, sources->environment, notes);
	for (size_t i = 0; i < sources->set_count && rc == WP_OK; i++)
		rc = wp_config_read_set(ret, sources->sets[i], notes);
	/* These files are read again at each connection. */
	ret->postgres.conninfo_file = file_of(ret, "postgres.conninfo");
	ret->postgres.password_file = file_of(ret, "postgres.password");
	if (rc == WP_OK)
		rc = compose_outboxes(ret);
	if (rc == WP_OK)
		rc = make_logins(ret);
	if (rc == WP_OK && notes->error_count > 0)
		rc = WP_CONFIG;
	ret->storage->complete = rc == WP_OK;
	return rc;
}

enum wp_rc wp_config_read_set(struct wp_config *config, const char *set,
			      struct wp_config_notes *notes)
{
	size_t key_size = strcspn(set, "=");
	char key[256];
	struct wp_setting setting = { .key = key, .value = set + key_size + 1, .where = "--set" };

	if (set[key_size] == '\0' || key_size == 0 || memchr(set, '.', key_size) == NULL) {
		wp_config_error(notes, "--set takes section.key=value, such as relay.sink=stdout");
		return WP_OK;
	}
	if (key_size >= sizeof(key)) {
		wp_config_error(notes, "--set: the key is longer than %zu bytes", sizeof(key) - 1);
		return WP_OK;
	}
	memcpy(key, set, key_size);
	key[key_size] = '\0';
	if (wp_value_is_secret(key, setting.value)) {
		wp_config_error(
			notes,
			"--set: %s: everyone on this machine can read a secret on the command line "
			"(ps); use the file, the environment or a variable that ends in _FILE",
			key);
		return WP_OK;
	}
	return wp_config_put(config, &setting, notes);
}

bool wp_config_lacks_file(const struct wp_config *config)
{
	return config->storage != NULL && config->storage->file_unread;
}

void wp_config_release(struct wp_config *config)
{
	struct wp_config_storage *s = config->storage;

	if (s != NULL) {
		for (size_t i = 0; i < s->text_count; i++)
			free(s->texts[i]);
		free(s->texts);
		for (size_t i = 0; i < s->file_count; i++)
			wp_secret_file_free(s->files[i]);
		free(s->files);
		wp_login_free(s->postgres_login);
		wp_login_free(s->kafka_login);
		free(s->outboxes);
		free(s->composed);
		free(s);
	}
	*config = (struct wp_config){ .storage = NULL };
}

const char *wp_config_where(const struct wp_config *config, const char *key)
{
	const struct wp_key found = wp_key_of(key);

	assert(found.option != NULL);
	return wp_storage_value(config->storage, &found)->where;
}
