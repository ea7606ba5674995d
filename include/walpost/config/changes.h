/*
 * What differs between the configuration in force and one that was read anew: what a reload
 * can change, and what only a start can. Pure.
 */
#ifndef WALPOST_CONFIG_CHANGES_H
#define WALPOST_CONFIG_CHANGES_H

#include "walpost/config/config.h"

enum wp_config_change {
	WP_CONFIG_CHANGE_LIVE,	  /* in force from now on */
	WP_CONFIG_CHANGE_RESTART, /* in force after a restart: `fresh` keeps the old value */
};

/* `key` is "section.key", "outbox.NAME.key" or "kafka." and a property's name; valid for the call. */
typedef void (*wp_config_changed)(void *arg, const char *key, enum wp_config_change change);

/*
 * Tells each key whose value is another, and makes `fresh` what is in force from now on: it gets
 * `old`'s values of what only a start can change. Both were loaded and checked. WP_NOMEM: `fresh`
 * is not to be used.
 */
enum wp_rc wp_config_take_over(const struct wp_config *old, struct wp_config *fresh,
			       wp_config_changed told, void *arg) WP_MUST_CHECK;

#endif
