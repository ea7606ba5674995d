/*
 * A whole configuration from garbage: parts with Byte1 0x1E (ASCII's record
 * separator) between: the file, then for each more an environment variable (behind a
 * $), a --set, or a conninfo (behind an @). Loaded, checked, shown.
 */
#include <string.h>
#include <unistd.h>

#include "fuzz.h"
#include "walpost/config/config.h"
#include "walpost/postgres/conninfo.h"

#define PARTS_MAX 8
#define SEPARATOR 0x1e

struct parts {
	char *environment[PARTS_MAX + 1];
	const char *sets[PARTS_MAX];
	size_t environment_count;
	size_t set_count;
};

static char *text_of(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1);

	NEED(text != NULL);
	memcpy(text, data, size);
	text[size] = '\0';
	return text;
}

static size_t part_size(const uint8_t *data, size_t size)
{
	const uint8_t *end = size > 0 ? memchr(data, SEPARATOR, size) : NULL;

	return end == NULL ? size : (size_t)(end - data);
}

static void try_conninfo(const char *conninfo)
{
	struct wp_error error = { "" };
	char *masked = wp_conninfo_masked(conninfo);

	NEED(masked != NULL);
	free(masked);
	if (wp_conninfo_check(conninfo, &error) != WP_OK)
		NEED(error.text[0] != '\0');
	(void)wp_conninfo_has_secret(conninfo);
}

/* Files that a variable may name are not what is tried here: they could be any. */
static void add_part(struct parts *p, char *text)
{
	if (text[0] == '$' && strstr(text, "_FILE") == NULL)
		p->environment[p->environment_count++] = text + 1;
	else if (text[0] == '@')
		try_conninfo(text + 1);
	else
		p->sets[p->set_count++] = text;
}

static void check_notes(const struct wp_config_notes *notes)
{
	NEED(notes->count <= WP_CONFIG_NOTES_MAX);
	for (size_t i = 0; i < notes->count; i++)
		NEED(notes->notes[i].error.text[0] != '\0');
}

static void load(const struct wp_config_sources *sources)
{
	static FILE *nowhere;
	struct wp_config_notes notes = { .count = 0 };
	struct wp_config config;

	if (nowhere == NULL)
		nowhere = fopen("/dev/null", "w");
	NEED(nowhere != NULL);
	enum wp_rc rc = wp_config_load(sources, &config, &notes);
	NEED(rc == WP_OK || rc == WP_CONFIG);
	NEED(rc == WP_OK || notes.error_count > 0);
	check_notes(&notes);
	if (rc == WP_OK) {
		rc = wp_config_check(&config, &notes);
		NEED(rc == WP_OK || rc == WP_CONFIG);
		NEED(rc == WP_OK || notes.error_count > 0);
		check_notes(&notes);
		wp_config_show(&config, nowhere);
	}
	wp_config_release(&config);
}

/* One file for all runs, unlinked; returns its path. */
static const char *write_file(const uint8_t *data, size_t size)
{
	static FILE *file;
	static char path[64];

	if (file == NULL) {
		file = tmpfile();
		NEED(file != NULL);
		(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fileno(file));
	}
	NEED(ftruncate(fileno(file), 0) == 0);
	NEED(pwrite(fileno(file), data, size, 0) == (ssize_t)size);
	return path;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct parts parts = { .set_count = 0 };
	char *texts[PARTS_MAX];
	size_t text_count = 0;
	size_t file_size = part_size(data, size);

	for (size_t at = file_size; at < size && text_count < PARTS_MAX;) {
		at++;
		size_t length = part_size(data + at, size - at);
		texts[text_count] = text_of(data + at, length);
		add_part(&parts, texts[text_count++]);
		at += length;
	}
	load(&(struct wp_config_sources){
		.file = write_file(data, file_size),
		.environment = parts.environment,
		.sets = parts.sets,
		.set_count = parts.set_count,
	});
	for (size_t i = 0; i < text_count; i++)
		free(texts[i]);
	return 0;
}
