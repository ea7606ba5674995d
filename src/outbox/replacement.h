/*
 * The replacement of a regular expression as Java's Matcher.replaceFirst() takes
 * it: $1 and ${name} stand for groups, \$ and \\ (a backslash and any character)
 * for the character. After $ further digits belong to the number as long as
 * there is such a group. ${1} is taken too, which Java refuses. Part of route;
 * a header of its own because pcre2.h comes along.
 */
#ifndef WALPOST_SRC_OUTBOX_REPLACEMENT_H
#define WALPOST_SRC_OUTBOX_REPLACEMENT_H

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include "walpost/base/span.h"
#include "walpost/base/error.h"
#include "walpost/envelope/event.h"

struct wp_replacement;

/* WP_CONFIG with the error: a group that `code` does not have, or a wrong form. WP_NOMEM. */
enum wp_rc wp_replacement_new(const char *text, const pcre2_code *code, struct wp_replacement **ret,
			      struct wp_error *error) WP_MUST_CHECK;
void wp_replacement_free(struct wp_replacement *r);
/* Does it name ${schema} or ${table}? */
bool wp_replacement_has_origin(const struct wp_replacement *r);
/*
 * Writes into `to`, of `size` bytes, what replaces the match that `ovector`
 * (with a pair for each group) describes. WP_FULL: it is longer; cut, it is there all the same.
 */
enum wp_rc wp_replacement_expand(const struct wp_replacement *r, struct wp_span subject,
				 const size_t *ovector, const struct wp_origin *origin, char *to,
				 size_t size, size_t *ret_size) WP_MUST_CHECK;

#endif
