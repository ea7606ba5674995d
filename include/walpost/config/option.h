/*
 * The option table is the one place that knows every key of walpost.conf. Reading,
 * checking, the reference, the sample, hiding of secrets and the environment's names
 * all walk it. Kafka's properties are not in it: they are librdkafka's.
 */
#ifndef WALPOST_CONFIG_OPTION_H
#define WALPOST_CONFIG_OPTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "walpost/base/error.h"
#include "walpost/config/config.h"

/* The NAME of [outbox.NAME] has at most this size, with its NUL. */
#define WP_OUTBOX_NAME_SIZE 64

enum wp_option_kind {
	WP_OPTION_TEXT,	    /* const char *; min and max in bytes */
	WP_OPTION_COUNT,    /* an unsigned number */
	WP_OPTION_SIZE,	    /* bytes: 65536, 64KiB, 32MiB, 1GiB */
	WP_OPTION_DURATION, /* milliseconds: 100ms, 20s, 10min, 1h */
	WP_OPTION_ENUM,	    /* one of `names`, stored as its index */
	WP_OPTION_BOOL,
};

enum wp_option_flag {
	WP_OPTION_SECRET = 1 << 0,   /* never shown, not for --set */
	WP_OPTION_CONNINFO = 1 << 1, /* has secret parts */
	WP_OPTION_REQUIRED = 1 << 2, /* has no default: it must be set, be it to nothing */
	WP_OPTION_GLOBAL = 1 << 3,   /* of [outbox] alone, not of [outbox.NAME] */
	WP_OPTION_LIVE = 1 << 4,     /* a reload changes it; so it does all of [outbox] */
};

struct wp_option {
	const char *key; /* "section.key" */
	const char *help;
	const char *standard; /* the default, as a user would write it */
	enum wp_option_kind kind;
	unsigned flags;
	size_t offset; /* into struct wp_config */
	size_t size;   /* of that member */
	int64_t min;
	int64_t max;
	const char *const *names; /* of an enum; ends with NULL */
	const char *example;	  /* another value than the default; NULL: a secret has none */
};

/* There are at most this many; storage is laid out for it. */
#define WP_OPTIONS_MAX 128

extern const struct wp_option wp_options[];
extern const size_t wp_option_count;

/* Returns NULL when there is none. Keys are case-sensitive. */
const struct wp_option *wp_option_find(const char *key);
/* A key taken apart: outbox.orders.table is outbox.table of [outbox.orders]. */
struct wp_key {
	const struct wp_option *option; /* NULL: there is none */
	char name[WP_OUTBOX_NAME_SIZE]; /* "": not of a named outbox */
};
struct wp_key wp_key_of(const char *key);
/*
 * Is [outbox.NAME] possible? Lower-case letters, digits and underscores, a letter first, no
 * two underscores in a row, and no word that a key of [outbox] begins with.
 */
bool wp_outbox_name_is_valid(const char *name, size_t size);
/* Does a change of it need no restart, but a reload? */
bool wp_option_is_live(const struct wp_option *option);
/* Returns the option that a wrong key may have meant, or NULL. */
const struct wp_option *wp_option_like(const char *key);
/* Names the sections of the file, in order of the table; `kafka` is one. Returns NULL behind the last. */
const char *wp_option_section(size_t index);
/* Returns the length of the section within a key; the key proper stands behind the dot. */
size_t wp_option_section_size(const char *key);

#define WP_OPTION_TEXT_SIZE 256
/* Writes "WALPOST__RELAY__IN_FLIGHT_EVENTS". Returns `text`, which has WP_OPTION_TEXT_SIZE bytes. */
char *wp_option_variable(const struct wp_option *option, char *text);
/* Writes what is allowed, in words: "a number from 1 to 1048576". Returns `text`, likewise. */
char *wp_option_allowed(const struct wp_option *option, char *text);

/*
 * Writes the member of `config` that `option` stands for; a text is borrowed, so it must live as long as
 * `config`. Returns WP_CONFIG when it is not what wp_option_allowed() says.
 */
enum wp_rc wp_value_store(const struct wp_option *option, const char *text,
			  struct wp_config *config) WP_MUST_CHECK;

/* Takes digits only, no sign; returns false beyond `max`. */
bool wp_value_number(const char *text, size_t size, int64_t max, int64_t *ret) WP_MUST_CHECK;
/* Reads "90s", "2h". Returns WP_CONFIG when it is no number with one of the units ms, s, min, h. */
enum wp_rc wp_value_duration(const char *text, int64_t *ret_ms) WP_MUST_CHECK;

/* For "did you mean": finds the nearest of some words by edit distance. Pure. */
#define WP_SUGGEST_SIZE_MAX 64 /* longer words are never suggested */

struct wp_suggestion {
	const char *word; /* as typed */
	const char *best; /* NULL: nothing is near enough */
	size_t distance;
};

void wp_suggestion_init(struct wp_suggestion *s, const char *word);
void wp_suggestion_offer(struct wp_suggestion *s, const char *candidate);

#endif
