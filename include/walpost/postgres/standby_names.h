/*
 * Reads synchronous_standby_names as the server does (syncrep_gram.y): a list of
 * names, perhaps in FIRST n (...) or ANY n (...) or n (...). Pure.
 */
#ifndef WALPOST_POSTGRES_STANDBY_NAMES_H
#define WALPOST_POSTGRES_STANDBY_NAMES_H

#include "walpost/base/buffer.h"

#define WP_STANDBY_NAME_SIZE 256 /* longer names are cut, which no server name is */

/* Would a walsender of this application name be counted? Case does not matter; * counts all. */
bool wp_standby_names_count(const char *setting, const char *application);
/*
 * The setting without that name, NUL-terminated. A * becomes `others` (a list of
 * names, may be ""). The number asked for is lowered to the names that are left.
 */
enum wp_rc wp_standby_names_without(const char *setting, const char *application,
				    const char *others, struct wp_buffer *into) WP_MUST_CHECK;

#endif
