/*
 * Dates and times as Postgres prints them with DateStyle ISO: "2024-02-29 12:34:56.789+00",
 * "0044-03-15 BC", years of up to seven digits. An offset is taken into account, whatever the
 * session's time zone is.
 *
 * Source: EncodeDateOnly(), EncodeDateTime() in PostgreSQL's src/backend/utils/adt/datetime.c.
 * Pure.
 */
#ifndef WALPOST_VALUES_MOMENT_H
#define WALPOST_VALUES_MOMENT_H

#include "walpost/base/buffer.h"
#include "walpost/base/error.h"
#include "walpost/wal/relations.h"

/*
 * Gives microseconds since 1970 began, of a WP_TYPE_DATE (its midnight), WP_TYPE_TIMESTAMP or WP_TYPE_TIMESTAMPTZ; of a
 * WP_TYPE_TIME since midnight. WP_DATA with the error: infinity, which is no moment; a date so far off that
 * microseconds cannot tell it; not such a text.
 */
enum wp_rc wp_moment_us(enum wp_type type, struct wp_span text, int64_t *ret_us,
			struct wp_error *error) WP_MUST_CHECK;
/* Gives days since 1970 began, of a WP_TYPE_DATE, whose range is wider. WP_DATA as above. */
enum wp_rc wp_moment_days(struct wp_span text, int32_t *ret_days,
			  struct wp_error *error) WP_MUST_CHECK;
/*
 * Appends "2024-02-29T12:34:56.789Z" with that many digits behind the point, at most 6; 0: as
 * many as needed. A year over 9999 has a plus sign, 1 BC is 0000, 2 BC is -0001 (ISO 8601, as
 * Java prints it).
 */
enum wp_rc wp_moment_write_iso(struct wp_buffer *into, int64_t us, int digits) WP_MUST_CHECK;

#endif
