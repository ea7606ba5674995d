/*
 * A position in the write-ahead log: a byte offset, printed as X/X.
 * 0 is "invalid" (PostgreSQL: InvalidXLogRecPtr).
 */
#ifndef WALPOST_WAL_LSN_H
#define WALPOST_WAL_LSN_H

#include <stdint.h>

#include "walpost/base/error.h"
#include "walpost/base/span.h"

typedef uint64_t wp_lsn;

#define WP_LSN_TEXT_SIZE 18 /* "FFFFFFFF/FFFFFFFF" and its NUL */

/* Writes into `text` (at least WP_LSN_TEXT_SIZE) and returns it. */
char *wp_lsn_text(wp_lsn lsn, char *text);
/* Reads "16/B374D848", with nothing else around it; WP_DATA otherwise. */
enum wp_rc wp_lsn_parse(struct wp_span text, wp_lsn *ret) WP_MUST_CHECK;

static inline wp_lsn wp_lsn_max(wp_lsn a, wp_lsn b)
{
	return a > b ? a : b;
}

#endif
