#include "row_warnings.h"

#include <string.h>

enum { EVERY_MS = 10 * 1000, ONLY_IGNORED_MS = 60 * 1000 };

bool wp_row_warnings_are_due(struct wp_row_warnings *w, enum wp_row_warning which, int64_t now_ms)
{
	int64_t *noted_ms = &w->noted_ms[which];

	if (*noted_ms != 0 && now_ms - *noted_ms < EVERY_MS)
		return false;
	*noted_ms = now_ms;
	return true;
}

static bool sees_only_ignored(const struct wp_row_warnings *w,
			      const struct wp_pipeline_counts *counts)
{
	return counts->ignored > 0 && counts->events == 0 && !w->only_ignored_noted;
}

bool wp_row_warnings_only_ignored(struct wp_row_warnings *w,
				  const struct wp_pipeline_counts *counts, int64_t now_ms)
{
	if (!sees_only_ignored(w, counts))
		return false;
	if (w->ignored_since_ms == 0)
		w->ignored_since_ms = now_ms;
	if (now_ms - w->ignored_since_ms < ONLY_IGNORED_MS)
		return false;
	w->only_ignored_noted = true;
	return true;
}

int64_t wp_row_warnings_due(const struct wp_row_warnings *w,
			    const struct wp_pipeline_counts *counts)
{
	return sees_only_ignored(w, counts) && w->ignored_since_ms != 0
		       ? w->ignored_since_ms + ONLY_IGNORED_MS
		       : INT64_MAX;
}

bool wp_row_warnings_is_new_prefix(struct wp_row_warnings *w, struct wp_span prefix)
{
	size_t size = prefix.size < WP_WARN_PREFIX_SIZE ? prefix.size : WP_WARN_PREFIX_SIZE - 1;
	char text[WP_WARN_PREFIX_SIZE] = "";

	if (size > 0)
		memcpy(text, prefix.data, size);
	for (size_t i = 0; i < w->prefix_count; i++)
		if (memcmp(w->prefixes[i], text, sizeof(text)) == 0)
			return false;
	if (w->prefix_count == WP_WARN_PREFIXES_MAX)
		return false;
	memcpy(w->prefixes[w->prefix_count++], text, sizeof(text));
	return true;
}
