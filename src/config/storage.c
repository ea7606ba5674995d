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
