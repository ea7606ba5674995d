#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "walpost/config/storage.h"

static bool grow(struct wp_config_storage *s)
{
	size_t capacity = s->text_capacity == 0 ? 64 : s->text_capacity * 2;
	char **texts = realloc(s->texts, capacity * sizeof(*texts));

	if (texts == NULL)
		return false;
	s->texts = texts;
	s->text_capacity = capacity;
	return true;
}

const char *wp_storage_keep(struct wp_config_storage *s, const char *text)
{
	char *copy;

	if (s->text_count == s->text_capacity && !grow(s))
		return NULL;
	copy = strdup(text);
	if (copy != NULL)
		s->texts[s->text_count++] = copy;
	return copy;
}

enum wp_rc wp_storage_secret_file(struct wp_config_storage *s, const char *path,
				  struct wp_secret_file **ret, struct wp_error *error)
{
	struct wp_secret_file **files =
		realloc(s->files, (s->file_count + 1) * sizeof(struct wp_secret_file *));

	if (files == NULL)
		return wp_error_set(error, WP_NOMEM, "out of memory");
	s->files = files;
	enum wp_rc rc = wp_secret_file_new(path, &files[s->file_count], error);
	if (rc == WP_OK)
		*ret = files[s->file_count++];
	return rc;
}

struct wp_config_outbox *wp_storage_find_outbox(const struct wp_config_storage *s, const char *name)
{
	for (size_t i = 0; i < s->outbox_count; i++)
		if (strcmp(s->outboxes[i].name, name) == 0)
			return &s->outboxes[i];
	return NULL;
}

const struct wp_config_value *wp_storage_value(const struct wp_config_storage *s,
					       const struct wp_key *key)
{
	size_t index = (size_t)(key->option - wp_options);
	const struct wp_config_outbox *outbox = wp_storage_find_outbox(s, key->name);

	if (outbox != NULL && outbox->values[index].set)
		return &outbox->values[index];
	return &s->values[index];
}

enum wp_rc wp_storage_outbox(struct wp_config_storage *s, const char *name,
			     struct wp_config_outbox **ret)
{
	struct wp_config_outbox *found = wp_storage_find_outbox(s, name);

	if (found == NULL && s->outbox_count == WP_OUTBOXES_MAX)
		return WP_FULL;
	if (found == NULL && s->outboxes == NULL)
		s->outboxes = calloc(WP_OUTBOXES_MAX, sizeof(s->outboxes[0]));
	if (s->outboxes == NULL)
		return WP_NOMEM;
	if (found == NULL) {
		found = &s->outboxes[s->outbox_count++];
		(void)snprintf(found->name, sizeof(found->name), "%s", name);
	}
	*ret = found;
	return WP_OK;
}
