/* A configuration read from texts, and what was said about it. */
#ifndef WALPOST_TESTS_UNIT_CONFIG_FIXTURE_H
#define WALPOST_TESTS_UNIT_CONFIG_FIXTURE_H

#include "walpost/config/config.h"

#define RIGHT "[postgres]\nconninfo = dbname=app\n[kafka]\nbootstrap.servers = k:9092\n"

struct fixture {
	char path[64];
	struct wp_config config;
	struct wp_config_notes notes;
	enum wp_rc rc;
};

/* What follows works on one fixture at a time: load, look, release. */
void load_file(struct fixture *f, const char *text);
void load_bytes(struct fixture *f, const char *text, size_t size);
void load_environment(struct fixture *f, char *const *environment);
void load_set(struct fixture *f, const char *set);
void load_all(struct fixture *f, const char *text, char *const *environment, const char *set);
/* Reads `text` and checks the whole. */
void check_file(struct fixture *f, const char *text);
void fixture_release(struct fixture *f);

/* There is exactly one note, of this level, and it says this. */
void one_error(const struct fixture *f, const char *said);
void one_warning(const struct fixture *f, const char *said);
/* What a printer prints; the caller frees it. */
char *shown(const struct fixture *f);
char *printed(void (*print)(FILE *out));

/* A file with this content; `path` has 64 bytes. */
void write_file(char *path, const char *text, size_t size);

#endif
