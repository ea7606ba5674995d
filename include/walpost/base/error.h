/*
 * The sentence for a human, written where the facts are known. Fixed size, so
 * that failing allocates nothing. Functions take it last and may be given NULL.
 * It is written on failure only. Form: what happened; what it means; what to do.
 */
#ifndef WALPOST_BASE_ERROR_H
#define WALPOST_BASE_ERROR_H

#include "walpost/base/rc.h"

struct wp_error {
	char text[2048]; /* NUL-terminated; cut at a UTF-8 boundary when too long */
};

/* Returns `rc`, so that "return wp_error_set(why, WP_CONFIG, ...)" reads well. */
enum wp_rc wp_error_set(struct wp_error *error, enum wp_rc rc, const char *format, ...)
	WP_PRINTF(3, 4);

#endif
