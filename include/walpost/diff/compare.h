/*
 * In which parts does a record that is in Kafka differ from the one that would be sent? They are
 * compared byte for byte; what the fingerprint does not know is not compared, nor are headers that only walpost adds.
 *
 * Owns nothing: what it tells of borrows from both sides. Pure.
 * Bounded: WP_DIFFERENCES_MAX, the rest is counted.
 */
#ifndef WALPOST_DIFF_COMPARE_H
#define WALPOST_DIFF_COMPARE_H

#include "walpost/diff/fingerprint.h"

enum wp_difference_part {
	WP_PART_TOPIC,
	WP_PART_PARTITION, /* compared in the right topic only */
	WP_PART_TIMESTAMP,
	WP_PART_KEY,
	WP_PART_HEADER,
	WP_PART_HEADER_ORDER, /* the same headers, in another order */
	WP_PART_VALUE,
	WP_PART_COUNT
};

#define WP_DIFFERENCES_MAX 16
#define WP_AT_UNKNOWN SIZE_MAX

struct wp_difference {
	enum wp_difference_part part;
	struct wp_span header;	/* HEADER: its name */
	struct wp_trace wanted; /* all but PARTITION and TIMESTAMP */
	struct wp_trace found;
	size_t at;	       /* the first byte that differs; WP_AT_UNKNOWN: not both were kept */
	int64_t wanted_number; /* PARTITION, TIMESTAMP */
	int64_t found_number;
};

struct wp_differences {
	struct wp_difference items[WP_DIFFERENCES_MAX];
	size_t count;
	size_t left_off;
};

/* Returns "key", "partition" and so on; constant. */
const char *wp_part_name(enum wp_difference_part part);
/* `found` has a timestamp of WP_TIMESTAMP_NOW where the topic does not keep the producer's. */
void wp_compare(const struct wp_fingerprint *wanted, const struct wp_record *found,
		struct wp_differences *ret);

#endif
