/*
 * A configuration of Debezium from garbage, in any of its forms. What comes out must be UTF-8 and
 * a walpost.conf: it loads, and is right unless something in it is marked.
 */
#include <string.h>
#include <unistd.h>

#include "fuzz.h"
#include "walpost/base/utf8.h"
#include "walpost/config/config.h"
#include "walpost/import/import.h"

/* One file for all runs, unlinked; returns its path. */
static const char *write_file(const char *text, size_t size)
{
	static FILE *file;
	static char path[64];

	if (file == NULL) {
		file = tmpfile();
		NEED(file != NULL);
		(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fileno(file));
	}
	NEED(ftruncate(fileno(file), 0) == 0);
	NEED(pwrite(fileno(file), text, size, 0) == (ssize_t)size);
	return path;
}

static void need_right(const char *text, size_t size, bool marked)
{
	const struct wp_config_sources sources = { .file = write_file(text, size) };
	static struct wp_config_notes notes;
	struct wp_config config;

	enum wp_rc rc = wp_config_load(&sources, &config, &notes);
	if (rc == WP_OK)
		rc = wp_config_check(&config, &notes);
	if (rc != WP_OK && !marked)
		fprintf(stderr, "%s\n%s\n", text, notes.notes[0].error.text);
	NEED(rc == WP_OK || marked);
	wp_config_release(&config);
}

/* No control character but the ends of lines, and tabs of values. */
static void need_clean(const char *text, size_t size)
{
	NEED(wp_utf8_is_valid((struct wp_span){ (const uint8_t *)text, size }));
	for (size_t i = 0; i < size; i++)
		NEED((unsigned char)text[i] >= 0x20 || text[i] == '\n' || text[i] == '\t');
}

static void print(const struct wp_import *import)
{
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);

	NEED(out != NULL);
	wp_import_print(import, out);
	NEED(fclose(out) == 0);
	need_clean(text, size);
	need_right(text, size, wp_import_changes(import) > 0);
	free(text);

	out = open_memstream(&text, &size);
	NEED(out != NULL);
	wp_import_summary(import, out);
	NEED(fclose(out) == 0);
	need_clean(text, size);
	NEED(wp_import_changes(import) == 0 || size > 0);
	free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct wp_import *import = NULL;
	struct wp_error error = { "" };

	enum wp_rc rc = wp_import_new((struct wp_span){ data, size }, NULL, &import, &error);
	if (rc == WP_OK)
		print(import);
	else
		NEED(rc == WP_CONFIG && error.text[0] != '\0');
	wp_import_free(import);
	return 0;
}
