#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fixture.h"
#include "support/check.h"

void write_file(char *path, const char *text, size_t size)
{
	int fd;

	(void)snprintf(path, 64, "/tmp/walpost-test-XXXXXX");
	fd = mkstemp(path);
	CHECK(fd >= 0);
	CHECK(write(fd, text, size) == (ssize_t)size);
	CHECK_EQ(close(fd), 0);
}

static void load(struct fixture *f, const struct wp_config_sources *sources)
{
	f->rc = wp_config_load(sources, &f->config, &f->notes);
}

void load_bytes(struct fixture *f, const char *text, size_t size)
{
	write_file(f->path, text, size);
	load(f, &(struct wp_config_sources){ .file = f->path });
	CHECK_EQ(unlink(f->path), 0);
}

void load_file(struct fixture *f, const char *text)
{
	load_bytes(f, text, strlen(text));
}

void load_environment(struct fixture *f, char *const *environment)
{
	load(f, &(struct wp_config_sources){ .environment = environment });
}

void load_set(struct fixture *f, const char *set)
{
	load(f, &(struct wp_config_sources){ .sets = &set, .set_count = 1 });
}

void load_all(struct fixture *f, const char *text, char *const *environment, const char *set)
{
	struct wp_config_sources sources = {
		.file = f->path, .environment = environment, .sets = &set, .set_count = 1
	};

	write_file(f->path, text, strlen(text));
	load(f, &sources);
	CHECK_EQ(unlink(f->path), 0);
}

void check_file(struct fixture *f, const char *text)
{
	load_file(f, text);
	CHECK_EQ(f->rc, WP_OK);
	f->rc = wp_config_check(&f->config, &f->notes);
}

void fixture_release(struct fixture *f)
{
	wp_config_release(&f->config);
}

static void one_note(const struct fixture *f, enum wp_config_note_level level, const char *said)
{
	CHECK_EQ(f->notes.count, 1);
	CHECK_EQ(f->notes.notes[0].level, level);
	if (strstr(f->notes.notes[0].error.text, said) == NULL)
		CHECK_TEXT(f->notes.notes[0].error.text, said);
}

void one_error(const struct fixture *f, const char *said)
{
	one_note(f, WP_CONFIG_NOTE_ERROR, said);
	CHECK_EQ(f->rc, WP_CONFIG);
	CHECK_EQ(f->notes.error_count, 1);
}

void one_warning(const struct fixture *f, const char *said)
{
	one_note(f, WP_CONFIG_NOTE_WARN, said);
	CHECK_EQ(f->rc, WP_OK);
	CHECK_EQ(f->notes.error_count, 0);
}

char *shown(const struct fixture *f)
{
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);

	assert_non_null(out);
	wp_config_show(&f->config, out);
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
