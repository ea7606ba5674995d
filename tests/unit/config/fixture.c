#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fixture.h"
#include "support/check.h"

struct fixture got;

void write_file(char *path, const char *text, size_t size)
{
	int fd;

	(void)snprintf(path, 64, "/tmp/walpost-test-XXXXXX");
	fd = mkstemp(path);
	CHECK(fd >= 0);
	CHECK(write(fd, text, size) == (ssize_t)size);
	CHECK_EQ(close(fd), 0);
}

static void load(const struct wp_config_sources *sources)
{
	wp_config_release(&got.config);
	got.rc = wp_config_load(sources, &got.config, &got.notes);
}

void load_bytes(const char *text, size_t size)
{
	write_file(got.path, text, size);
	load(&(struct wp_config_sources){ .file = got.path });
	CHECK_EQ(unlink(got.path), 0);
}

void load_file(const char *text)
{
	load_bytes(text, strlen(text));
}

void load_environment(char *const *environment)
{
	load(&(struct wp_config_sources){ .environment = environment });
}

void load_set(const char *set)
{
	load(&(struct wp_config_sources){ .sets = &set, .set_count = 1 });
}

void load_all(const char *text, char *const *environment, const char *set)
{
	struct wp_config_sources sources = {
		.file = got.path, .environment = environment, .sets = &set, .set_count = 1
	};

	write_file(got.path, text, strlen(text));
	load(&sources);
	CHECK_EQ(unlink(got.path), 0);
}

void check_file(const char *text)
{
	load_file(text);
	CHECK_EQ(got.rc, WP_OK);
	got.rc = wp_config_check(&got.config, &got.notes);
}

struct fixture take(void)
{
	struct fixture taken = got;

	got = (struct fixture){ .rc = WP_OK };
	return taken;
}

int tear_down(void **state)
{
	wp_config_release(&got.config);
	return 0;
}

static void one_note(enum wp_config_note_level level, const char *said)
{
	CHECK_EQ(got.notes.count, 1);
	CHECK_EQ(got.notes.notes[0].level, level);
	if (strstr(got.notes.notes[0].error.text, said) == NULL)
		CHECK_TEXT(got.notes.notes[0].error.text, said);
}

void one_error(const char *said)
{
	one_note(WP_CONFIG_NOTE_ERROR, said);
	CHECK_EQ(got.rc, WP_CONFIG);
	CHECK_EQ(got.notes.error_count, 1);
}

void one_warning(const char *said)
{
	one_note(WP_CONFIG_NOTE_WARN, said);
	CHECK_EQ(got.rc, WP_OK);
	CHECK_EQ(got.notes.error_count, 0);
}

char *shown(void)
{
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);

	assert_non_null(out);
	wp_config_show(&got.config, out);
	CHECK_EQ(fclose(out), 0);
	return text;
}

char *printed(void (*print)(FILE *out))
{
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);

	assert_non_null(out);
	print(out);
	CHECK_EQ(fclose(out), 0);
	return text;
}
