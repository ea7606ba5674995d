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

/* What was loaded last; the next load and tear_down() release it. */
extern struct fixture got;

int tear_down(void **state);
void load_file(const char *text);
void load_bytes(const char *text, size_t size);
void load_environment(char *const *environment);
void load_set(const char *set);
void load_all(const char *text, char *const *environment, const char *set);
/* Reads `text` and checks the whole. */
void check_file(const char *text);
/* `got`, which is the caller's from now on. */
struct fixture take(void);

/* There is exactly one note, of this level, and it says this. */
void one_error(const char *said);
void one_warning(const char *said);
/* What a printer prints; the caller frees it. */
char *shown(void);
char *printed(void (*print)(FILE *out));

/* A file with this content; `path` has 64 bytes. */
void write_file(char *path, const char *text, size_t size);

#endif
