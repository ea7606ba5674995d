/*
 * `walpost diff`: what would be sent for the rows that are in the outboxes' tables, against what
 * the topics hold. Here is what its files share: the command (cli/diff.c), reading rows, and
 * telling what came of it, to people and to machines.
 */
#ifndef WALPOST_CLI_DIFF_H
#define WALPOST_CLI_DIFF_H

#include "walpost/cli/session.h"
#include "walpost/config/config.h"
#include "walpost/kafka/properties.h"
#include "walpost/kafka/topic_reader.h"
#include "walpost/diff/matching.h"

enum {
	WP_DIFF_LIMIT = 10000, /* rows of each table, by default */
	WP_DIFF_LIMIT_MAX = 1000000,
	WP_DIFF_SHOWN = 10,
	WP_DIFF_SHOWN_MAX = 1000,
	WP_DIFF_TOPICS_MAX = 1024,
};

struct wp_diff_options {
	const char *where; /* NULL: all rows */
	const char *outbox;
	const char *id_header;
	int64_t limit;
	int64_t shown_max;
	int64_t since_ms; /* 0: from the beginning of the topics */
	bool json;
	bool no_values;
};

struct wp_diff_table {
	const char *name;
	uint64_t rows;		 /* read */
	bool is_limited;	 /* it has more */
	bool is_ordered;	 /* by its timestamp: the newest were read */
	bool value_is_unknown;	 /* the envelope holds what only the log tells */
	bool time_is_unknown;	 /* likewise the header ce_time */
	bool timestamp_is_known; /* a column gives it */
};

struct wp_diff_topic {
	char name[256];
	int32_t partitions; /* 0: there is no such topic */
	uint64_t rows;
};

/* A row of which no record can be made. */
struct wp_diff_unmade {
	size_t table;
	char id[128];
	struct wp_error error;
};

struct wp_diff {
	struct wp_diff_options options;
	struct wp_config config;
	struct wp_outboxes outboxes; /* those of the configuration that are meant */
	const struct wp_placement *placement;
	struct wp_console console;
	struct wp_topic_reader *reader; /* owned */
	struct wp_matching *matching;	/* owned */

	struct wp_diff_table tables[WP_OUTBOXES_MAX];
	size_t table_count;
	struct wp_diff_topic *topics; /* owned */
	size_t topic_count;
	struct wp_diff_unmade *unmade; /* owned: the first ones */
	uint64_t unmade_count;
	bool is_full; /* rows were left off, there being no room for more */
};

/* Reads all rows and expects their records. Topics are added to the reader as they come up. */
enum wp_rc wp_diff_read_rows(struct wp_diff *d, struct wp_error *error) WP_MUST_CHECK;

/* A line that takes the place of the one before, while a terminal watches; "" takes it away. */
void wp_diff_say_progress(const char *format, ...) WP_PRINTF(1, 2);

/* Both print to standard output. */
void wp_diff_report(const struct wp_diff *d, const struct wp_matching_counts *counts);
/* WP_NOMEM. */
enum wp_rc wp_diff_report_json(const struct wp_diff *d,
			       const struct wp_matching_counts *counts) WP_MUST_CHECK;

#endif
