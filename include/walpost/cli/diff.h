/*
 * `walpost diff` compares what would be sent for the rows that are in the outboxes' tables with
 * what the topics hold. Here is what its files share: the command (cli/diff.c), reading rows, and
 * telling what came of it, to people and to machines.
 */
#ifndef WALPOST_CLI_DIFF_H
#define WALPOST_CLI_DIFF_H

#include "walpost/cli/row_order.h"
#include "walpost/cli/session.h"
#include "walpost/config/config.h"
#include "walpost/kafka/properties.h"
#include "walpost/kafka_inspect/topic_reader.h"
#include "walpost/diff/matching.h"
#include "walpost/outbox/names.h"
#include "walpost/outbox/outboxes.h"
#include "walpost/registry/registry.h"

enum {
	WP_DIFF_LIMIT_MAX = 1000000, /* rows of each table, and of all */
	WP_DIFF_SHOWN = 10,
	WP_DIFF_SHOWN_MAX = 1000,
	WP_DIFF_TOPICS_MAX = 16384,
	WP_DIFF_TABLES_MAX = 100000,
};

struct wp_diff_options {
	const char *where; /* NULL: all rows */
	const char *outbox;
	const char *id_header;
	int64_t limit;
	int64_t shown_max;
	bool lists_missing; /* all of them, in JSON: whoever sends them again needs each */
	int64_t since_ms;   /* 0: from the beginning of the topics */
	bool json;
	bool no_values;
};

/* This is a table of an outbox: its only one, or one of those that fit its pattern. */
struct wp_diff_table {
	size_t outbox; /* of wp_diff.outboxes */
	size_t wanted; /* of what these ask of the server */
	struct wp_table_name table;
	char *name; /* owned: as the configuration writes it; of a pattern's, as SQL does */
	struct wp_row_order order; /* with a snapshot, once it is read */
	uint64_t ties;		   /* rows whose place among those of their key is not known */
	uint64_t rows;		   /* read */
	uint64_t dropped;	 /* of these: of a type that is skipped, or expired; not compared */
	uint64_t left_off;	 /* rows that were not read, of a comparison */
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

/* No record can be made of this row. */
struct wp_diff_unmade {
	size_t table;
	char id[128];
	struct wp_error error;
};

/*
 * Takes each row in place of the comparison: its event and record, or with WP_DATA why there is none,
 * and then as much of the record as could be made.
 */
typedef enum wp_rc (*wp_diff_take)(void *arg, const struct wp_event *event,
				   struct wp_record *record, enum wp_rc made,
				   const struct wp_error *reason, struct wp_error *error);

/* This is the place of a row that is taken, in the order of its table; borrowed. */
struct wp_diff_place {
	const char *value; /* of the column of the order; NULL: as in SQL; "": there is none */
	const char *transaction;
	const char *statement;
};

/* This is what `walpost backfill` reads otherwise; all zeroes stand for nothing. Borrowed. */
struct wp_diff_reading {
	const char *snapshot; /* of another session */
	const char *order_by; /* with a snapshot: a column; NULL: one that suits each table */
	const char *parked;   /* the slot whose parked events are left out, NULL: none */
	wp_diff_take take;
	void *arg;
	size_t table;		     /* of the row that is taken */
	size_t outbox;		     /* likewise */
	struct wp_diff_place place;  /* likewise */
	struct wp_position position; /* of the first row; the ordinal counts up */
	int64_t commit_time_us;	     /* of all rows, of whose commits a table knows nothing */
};

struct wp_diff {
	struct wp_diff_options options;
	struct wp_diff_reading reading;
	struct wp_config config;
	struct wp_outboxes outboxes; /* those of the configuration that are meant */
	const struct wp_placement *placement;
	struct wp_console console;
	struct wp_registry_session registry; /* owned: what is known of schemas */
	struct wp_topic_reader *reader;	     /* owned */
	struct wp_matching *matching;	     /* owned */

	struct wp_diff_table *tables; /* owned, with their names */
	size_t table_count;
	struct wp_diff_topic *topics; /* owned */
	size_t topic_count;
	struct wp_diff_unmade *unmade; /* owned: the first ones */
	uint64_t unmade_count;
	bool is_full;	   /* rows were left off, there being no room for more */
	uint64_t left_off; /* of all tables */
};

/*
 * Finds the tables of all outboxes, as the session's transaction sees them, in place of those found
 * before; `all` are the outboxes of the configuration, some of which may not be meant. Fails with
 * WP_CONFIG or WP_FULL and the error.
 */
enum wp_rc wp_diff_find_tables(struct wp_diff *d, struct wp_session *s,
			       const struct wp_requirements *wanted,
			       const struct wp_outbox_set *all,
			       struct wp_error *error) WP_MUST_CHECK;
void wp_diff_forget_tables(struct wp_diff *d);
/* Is there something to say of the table? Those of a pattern are not listed if they have no rows. */
bool wp_diff_lists(const struct wp_diff *d, const struct wp_diff_table *table);

/* Reads all rows and expects their records. Topics are added to the reader as they come up. */
enum wp_rc wp_diff_read_rows(struct wp_diff *d, struct wp_error *error) WP_MUST_CHECK;

/*
 * Chooses the outboxes; checks the sink. Returns the exit code; failures have been printed.
 */
int wp_diff_choose(struct wp_diff *d) WP_MUST_CHECK;
/* Takes the outboxes of the configuration, with schemas asked for as they are needed. */
void wp_diff_take_outboxes(struct wp_diff *d);
/* Reads rows, then records, with the console that is there; what came of it is in d->matching. */
enum wp_rc wp_diff_compare(struct wp_diff *d, struct wp_error *error) WP_MUST_CHECK;
/* Counts rows that were not compared, for their events are dropped, or expired and go to the dead-letter topic. */
uint64_t wp_diff_dropped(const struct wp_diff *d);
/* Releases what a comparison took; another may follow. Configuration and console stay. */
void wp_diff_release(struct wp_diff *d);

/* Both print to standard output. */
void wp_diff_report(const struct wp_diff *d, const struct wp_matching_counts *counts);
/* Fails with WP_NOMEM. */
enum wp_rc wp_diff_report_json(const struct wp_diff *d,
			       const struct wp_matching_counts *counts) WP_MUST_CHECK;

#endif
