#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "walpost/config/config.h"
#include "walpost/config/setting.h"
#include "walpost/config/storage.h"
#include "walpost/config/value.h"

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
			"--set: %s: a secret on the command line can be read by everyone on this "
			"machine (ps); use the file, the environment or a variable that ends in "
			"_FILE",
			key);
		return WP_OK;
	}
	return wp_config_put(config, &setting, notes);
}

void wp_config_release(struct wp_config *config)
{
	struct wp_config_storage *s = config->storage;

	if (s != NULL) {
		for (size_t i = 0; i < s->text_count; i++)
			free(s->texts[i]);
		free(s->texts);
		free(s);
	}
	*config = (struct wp_config){ .storage = NULL };
}

const char *wp_config_where(const struct wp_config *config, const char *key)
{
	const struct wp_option *option = wp_option_find(key);

	assert(option != NULL);
	return config->storage->values[option - wp_options].where;
}
