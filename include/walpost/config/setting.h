/*
 * Takes one key and value from somewhere on its way into the configuration, and the notes about what is wrong
 * with it. The sources use it: file, environment, --set.
 */
#ifndef WALPOST_CONFIG_SETTING_H
#define WALPOST_CONFIG_SETTING_H

#include <stdbool.h>

#include "walpost/base/error.h"
#include "walpost/base/secret_file.h"
#include "walpost/config/config.h"

struct wp_setting {
	const char *key;	     /* "section.key"; "kafka." and a property's name */
	const char *value;	     /* borrowed, copied when kept */
	const char *where;	     /* likewise */
	struct wp_secret_file *file; /* the value is its content; NULL: is not a file's. Borrowed */
};

/* Returns WP_OK also when the value is wrong: the notes say so. WP_NOMEM. */
enum wp_rc wp_config_put(struct wp_config *config, const struct wp_setting *setting,
			 struct wp_config_notes *notes) WP_MUST_CHECK;

void wp_config_note(struct wp_config_notes *notes, enum wp_config_note_level level,
		    const char *format, ...) WP_PRINTF(3, 4);
#define wp_config_error(notes_, ...) wp_config_note((notes_), WP_CONFIG_NOTE_ERROR, __VA_ARGS__)
#define wp_config_warn(notes_, ...) wp_config_note((notes_), WP_CONFIG_NOTE_WARN, __VA_ARGS__)

/* Is it never to be shown, and not for --set? So is an option that is flagged, or a property that is named like one. */
bool wp_key_is_secret(const char *key);
/* A conninfo's secret parts count too. */
bool wp_value_is_secret(const char *key, const char *value);

#define WP_SHOWN_SIZE 160
/* Writes how a value may stand in a message: asterisks for a secret, else escaped (base/display.h) and cut
 * when long. Returns `text`, which has WP_SHOWN_SIZE bytes. */
char *wp_value_shown(const char *key, const char *value, char *text);

/* Each reads one source into `config`. Returns WP_OK (with notes) or WP_NOMEM. */
enum wp_rc wp_config_read_file(struct wp_config *config, const char *path,
			       struct wp_config_notes *notes) WP_MUST_CHECK;
enum wp_rc wp_config_read_environment(struct wp_config *config, char *const *environment,
				      struct wp_config_notes *notes) WP_MUST_CHECK;
enum wp_rc wp_config_read_set(struct wp_config *config, const char *set,
			      struct wp_config_notes *notes) WP_MUST_CHECK;

#endif
