/*
 * Which rows have the record in Kafka that would be made of them? Rows are expected first, then
 * records are taken as they come; they belong together by the id in a header, be it raw, JSON, or
 * JSON beside its schema. Of rows with one id, a record belongs to one of its topic, first to one
 * that it is equal to. A record in another topic counts for a row that has none in its own.
 *
 * Owns: copies of what is expected, excerpts of the first differences. Pure.
 * Bounded: by its setup; beyond whole_size_max only digests are kept.
 */
#ifndef WALPOST_DIFF_MATCHING_H
#define WALPOST_DIFF_MATCHING_H

#include "walpost/diff/compare.h"

struct wp_matching_setup {
	const char *id_header; /* borrowed */
	size_t rows_max;
	size_t whole_size_max; /* bytes of records that are kept as they are */
	size_t size_max;       /* of all that is kept of rows */
	size_t shown_max;      /* rows whose differences are kept to be shown */
};

#define WP_MATCHING_HEADERS_MAX 32
#define WP_MATCHING_NAME_SIZE 64

struct wp_matching_header {
	char name[WP_MATCHING_NAME_SIZE]; /* cut: for people */
	uint64_t rows;
};

struct wp_matching_counts {
	uint64_t rows; /* equal, different or missing */
	uint64_t equal;
	uint64_t different;
	uint64_t missing;
	uint64_t parts[WP_PART_COUNT]; /* rows whose first record that differs does so there */
	struct wp_matching_header headers[WP_MATCHING_HEADERS_MAX]; /* likewise */
	size_t header_count;
	uint64_t repeated;	   /* rows with several records */
	uint64_t repeated_unequal; /* of them, those that are different */
	uint64_t digests;	   /* rows of which no bytes were kept */
	uint64_t records;	   /* taken */
	uint64_t foreign;	   /* whose id is that of no row */
	uint64_t nameless;	   /* without an id */
};

enum wp_row_verdict { WP_VERDICT_EQUAL, WP_VERDICT_DIFFERENT, WP_VERDICT_MISSING };

/* Spans live until the next row is expected. */
struct wp_matching_row {
	size_t table; /* as it was given */
	struct wp_span id;
	struct wp_span topic; /* in which it would be sent */
	enum wp_row_verdict verdict;
	uint64_t records;
};

#define WP_WINDOW_SIZE 64

/* This is a piece of one side, around where it begins to differ. */
struct wp_window {
	enum wp_trace_kind kind;
	size_t size; /* of all */
	size_t from;
	size_t count; /* of `bytes` */
	uint8_t bytes[WP_WINDOW_SIZE];
};

struct wp_shown_part {
	enum wp_difference_part part;
	char header[WP_MATCHING_NAME_SIZE];
	size_t at; /* or WP_AT_UNKNOWN */
	struct wp_window wanted;
	struct wp_window found;
	int64_t wanted_number;
	int64_t found_number;
};

/* This is the first record of a row that differs. */
struct wp_shown {
	size_t row;
	char topic[256];
	int32_t partition;
	int64_t offset;
	bool is_elsewhere;
	struct wp_shown_part parts[WP_DIFFERENCES_MAX];
	size_t count;
	size_t left_off;
};

struct wp_matching;

enum wp_rc wp_matching_new(const struct wp_matching_setup *setup,
			   struct wp_matching **ret) WP_MUST_CHECK;
void wp_matching_free(struct wp_matching *t);
/*
 * Expects a row's record as it would be sent, in the partition where it would be. `unknown` as in diff/fingerprint.
 * WP_FULL: a bound is reached, it is not kept. WP_NOMEM.
 */
enum wp_rc wp_matching_expect(struct wp_matching *t, size_t table, const struct wp_record *record,
			      unsigned unknown) WP_MUST_CHECK;
/* Takes a record that is there. WP_NOMEM. */
enum wp_rc wp_matching_take(struct wp_matching *t, const struct wp_record *found,
			    int64_t offset) WP_MUST_CHECK;
/* All were taken: judges. To be called once. */
const struct wp_matching_counts *wp_matching_finish(struct wp_matching *t);
/* `index` counts from 0 in the order in which they were expected, below counts.rows. */
void wp_matching_row(const struct wp_matching *t, size_t index, struct wp_matching_row *ret);
/* NULL: there are no more. */
const struct wp_shown *wp_matching_shown(const struct wp_matching *t, size_t index);

#endif
