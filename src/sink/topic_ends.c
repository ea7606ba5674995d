#include "walpost/sink/topic_ends.h"

#include <string.h>

static bool has(const struct wp_topic_list *l, const char *name, size_t size)
{
	const char *at = l->text;

	while (*at != '\0') {
		size_t length = strcspn(at, ",");
		if (length == size && memcmp(at, name, size) == 0)
			return true;
		at += length + (at[length] == ',' ? 1 : 0);
	}
	return false;
}

bool wp_topic_list_has(const struct wp_topic_list *l, const char *name)
{
	return has(l, name, strlen(name));
}

void wp_topic_list_add(struct wp_topic_list *l, const char *name, size_t size)
{
	size_t used = strlen(l->text);
	size_t comma = used > 0 ? 1 : 0;

	if (size == 0 || memchr(name, ',', size) != NULL || has(l, name, size))
		return;
	if (used + comma + size + 1 > sizeof(l->text))
		return;
	memcpy(l->text + used, ",", comma);
	memcpy(l->text + used + comma, name, size);
	l->text[used + comma + size] = '\0';
}

void wp_topic_list_merge(struct wp_topic_list *l, const char *names)
{
	while (*names != '\0') {
		size_t length = strcspn(names, ",");
		wp_topic_list_add(l, names, length);
		names += length + (names[length] == ',' ? 1 : 0);
	}
}
