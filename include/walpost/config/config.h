/*
 * The whole configuration, as the rooms' own option structs, is filled from one table (config/option.h): file
 * (INI), environment WALPOST__SECTION__KEY, --set; later wins.
 *
 * Owns: all strings, the rooms' options point into it. Bounded: a file of 1 MiB, WP_PROPERTIES_MAX Kafka
 * properties. Not thread-safe while loading.
 */
#ifndef WALPOST_CONFIG_CONFIG_H
#define WALPOST_CONFIG_CONFIG_H

#include <stddef.h>
#include <stdio.h>

#include "walpost/base/error.h"
#include "walpost/base/log.h"
#include "walpost/http/options.h"
#include "walpost/kafka/options.h"
#include "walpost/outbox/options.h"
#include "walpost/postgres/options.h"
#include "walpost/relay/options.h"

struct wp_config_storage;

struct wp_config {
	struct wp_postgres_options postgres;
	struct wp_outbox_options
		outbox; /* [outbox]: what named ones inherit, and perhaps one itself */
	const char *outbox_ignore;
	struct wp_outboxes outboxes; /* what is relayed; once loaded */
	struct wp_kafka_options kafka;
	struct wp_relay_options relay;
	struct wp_http_options http;
	struct wp_log_options log;
	struct wp_config_storage *storage; /* owned: strings, where each value came from */
};

/* All that is wrong is told at once, so that one round of corrections is enough. */
#define WP_CONFIG_NOTES_MAX 32

enum wp_config_note_level { WP_CONFIG_NOTE_WARN, WP_CONFIG_NOTE_ERROR };

struct wp_config_note {
	enum wp_config_note_level level;
	struct wp_error error; /* place, key, value (never a secret's), what is allowed */
};

struct wp_config_notes {
	struct wp_config_note notes[WP_CONFIG_NOTES_MAX];
	size_t count;
	size_t error_count;
	size_t left_off; /* did not fit */
};

/* Values come from these, the lowest first. All are borrowed for the call. */
struct wp_config_sources {
	const char *file;	  /* NULL: none */
	char *const *environment; /* as `environ`; NULL: none */
	const char *const *sets;  /* section.key=value */
	size_t set_count;
};

/*
 * Reads all sources and fills `ret` (whatever it held is overwritten). After WP_CONFIG the notes say what is
 * wrong, and `ret` is not to be used; so after WP_NOMEM. `ret` is the caller's to release in every case.
 * `notes` may hold warnings on WP_OK.
 */
enum wp_rc wp_config_load(const struct wp_config_sources *sources, struct wp_config *ret,
			  struct wp_config_notes *notes) WP_MUST_CHECK;
/*
 * Checks what no single value shows: names, patterns and expressions by the parsers of the rooms that will
 * use them, what is missing, what does not go together.
 */
enum wp_rc wp_config_check(const struct wp_config *config,
			   struct wp_config_notes *notes) WP_MUST_CHECK;
void wp_config_release(struct wp_config *config);
/* After a failed load: is there a file that could not be read, so that what seems to be missing may stand in it? */
bool wp_config_lacks_file(const struct wp_config *config);
/* Says where a value came from, by its key, outbox.NAME.key too: "walpost.conf:12", "environment
 * WALPOST__...", "--set", "default". */
const char *wp_config_where(const struct wp_config *config, const char *key);

/* Prints the effective values, one a line, with where each came from; secrets as asterisks. Prints nothing
 * after a failed load: values half read are in force nowhere. */
void wp_config_show(const struct wp_config *config, FILE *out);
/* Prints every option in words, as Markdown. */
void wp_config_reference(FILE *out);
/* Prints a file with every option at its default; what must be filled in is. */
void wp_config_sample(FILE *out);

/*
 * What differs between the configuration in force and one that was read anew? There is what a reload can
 * change, and what only a start can. Pure.
 */
enum wp_config_change {
	WP_CONFIG_CHANGE_LIVE,	  /* in force from now on */
	WP_CONFIG_CHANGE_RESTART, /* in force after a restart: `fresh` keeps the old value */
};

/* `key` is "section.key", "outbox.NAME.key" or "kafka." and a property's name; valid for the call. */
typedef void (*wp_config_changed)(void *arg, const char *key, enum wp_config_change change);

/*
 * Tells each key whose value is another, and makes `fresh` what is in force from now on: it gets `old`'s
 * values of what only a start can change. Both were loaded and checked. After WP_NOMEM `fresh` is not to be
 * used.
 */
enum wp_rc wp_config_take_over(const struct wp_config *old, struct wp_config *fresh,
			       wp_config_changed told, void *arg) WP_MUST_CHECK;

#endif
