/*
 * `walpost backfill` sends rows of the outboxes that lie before a slot's first position, while no
 * relay streams, and then makes the slot that begins behind them. Here is what its files share: the
 * command (cli/backfill.c), which rows they are (cli/backfill_rows.c), what is parked or was
 * discarded (cli/backfill_parked.c), the producer (cli/backfill_send.c), and the slots
 * (cli/backfill_slot.c).
 *
 * The rows are those of the snapshot with which a temporary slot begins. That slot goes with its
 * session, so that whatever ends the command leaves nothing behind.
 */
#ifndef WALPOST_SRC_CLI_BACKFILL_H
#define WALPOST_SRC_CLI_BACKFILL_H

#include "walpost/base/display.h"
#include "walpost/base/worker.h"
#include "walpost/cli/diff.h"
#include "walpost/cli/outbox.h"
#include "walpost/outbox/dead_letter.h"
#include "walpost/sink/sink.h"
#include "walpost/source/source.h"

enum {
	WP_BACKFILL_IN_FLIGHT = 4096, /* events, at most */
	WP_BACKFILL_TOPICS_MAX = 16384,
	WP_BACKFILL_DISCARDED_SHOWN = 10,
};

struct wp_backfill_topic {
	char name[WP_SINK_TOPIC_SIZE];
	uint64_t rows;
};

struct wp_backfill_flight {
	wp_ticket ticket; /* 0: reported */
	size_t size;
	uint64_t row; /* of all that are read, in their order */
	bool is_letter;
	char id[WP_EXCERPT_SIZE];
};

/* This is the producer, and what is on its way. */
struct wp_backfill_sink {
	struct wp_worker *worker; /* owned */
	struct wp_sink *sink;	  /* owned */
	struct wp_backfill_flight flights[WP_BACKFILL_IN_FLIGHT];
	struct wp_dead_letter letter;
	wp_ticket last;
	size_t in_flight;
	size_t in_flight_size;
	int64_t began_ms;
	int64_t stuck_ms; /* since when nothing can be sent; 0: it can */
	int64_t ask_ms;	  /* when to ask next whether a relay uses the slot; 0: not yet */
	uint8_t *done;	  /* owned: a bit for each row, whether it is confirmed */
	/*
	 * Kafka refuses a batch, and names no event of it. So all that is not confirmed is sent once
	 * more, one after the other, until one is refused alone.
	 */
	bool refused;	   /* one of several: reading ends, and begins anew */
	bool alone;	   /* one after the other */
	int64_t broken_ms; /* since when; 0: it is not */
	uint64_t confirmed;
	uint64_t dead_letters;
};

/* This is the row that was chosen last; owned. */
struct wp_backfill_last {
	size_t table;
	struct wp_buffer value; /* of the column of the order */
	struct wp_buffer key;
	char transaction[16];
	char statement[16];
	bool is_set; /* there is one, and it has a key */
};

struct wp_backfill {
	struct wp_diff diff;		     /* its configuration, console and reading */
	struct wp_postgres_options postgres; /* with the slot that is meant */
	int64_t rate;			     /* events a second; 0: no limit */
	int64_t timeout_ms;
	bool missing;
	bool dry_run;
	bool force;

	struct wp_session session;     /* for questions */
	struct wp_session replication; /* has the temporary slot */
	char run_id[37];	       /* as each run of the relay has one */
	char temporary[64];
	char lsn[WP_LSN_TEXT_SIZE]; /* where it, and what streams later, begins */
	char snapshot[WP_SNAPSHOT_NAME_SIZE];
	bool slot_exists;
	bool has_slot_checkpoint;	 /* there is a table walpost.slot_checkpoint */
	char slot_lsn[WP_LSN_TEXT_SIZE]; /* that it had confirmed; "": nothing, or there is none */
	struct wp_source_facts facts;	 /* timelines and the end of the log; no more */
	struct wp_topic_list delivered_to; /* topics that took events, by the slot checkpoint */
	PGresult *parked;     /* owned: outbox and key of each aggregate; NULL: nothing is parked */
	PGresult *discarded;  /* owned: outbox and id of what walpost parked discarded, or NULL */
	int *discarded_order; /* owned: its rows, sorted */
	uint64_t discarded_rows;				      /* of the rows to be sent */
	struct wp_excerpt discarded_ids[WP_BACKFILL_DISCARDED_SHOWN]; /* of the first of them */
	int64_t skipped;   /* events, with walpost slot skip */
	bool skipped_more; /* and others, whose number is not known */

	const struct wp_matching_counts *counts; /* with --missing */
	struct wp_backfill_last last;		 /* while they are counted */
	size_t record_max;			 /* bytes; 0: no limit */
	size_t expected;			 /* rows seen of those that were compared */
	struct wp_backfill_topic topics[WP_BACKFILL_TOPICS_MAX];
	size_t topic_count;
	size_t topic;	    /* that was counted last */
	uint64_t row;	    /* that is read now */
	uint64_t rows_read; /* in all */
	uint64_t rows;	    /* to be sent */
	uint64_t unmade;    /* of them, those for the dead-letter topic */
	struct wp_backfill_sink kafka;
};

/* -- slots: WP_CONFIG, WP_DATA, WP_IO with the error -- */

/* Refuses if a relay streams, or the slot is healthy. */
enum wp_rc wp_backfill_judge_slot(struct wp_backfill *b, struct wp_error *error) WP_MUST_CHECK;
/* Refuses if anybody has used, moved, created or dropped the slot since. */
enum wp_rc wp_backfill_judge_unused(struct wp_backfill *b, struct wp_error *error) WP_MUST_CHECK;
enum wp_rc wp_backfill_begin_slot(struct wp_backfill *b, struct wp_error *error) WP_MUST_CHECK;
/*
 * Notes in the slot checkpoint that what is sent from now on has the epoch of the configuration; a
 * relay refuses a lower one.
 */
void wp_backfill_note_epoch(struct wp_backfill *b);
/* Makes the real slot, once everything is confirmed. */
enum wp_rc wp_backfill_make_slot(struct wp_backfill *b, struct wp_error *error) WP_MUST_CHECK;

/* -- rows: likewise -- */

/* Counts what is to be sent, and refuses what would stop it on the way. */
enum wp_rc wp_backfill_count(struct wp_backfill *b, struct wp_error *error) WP_MUST_CHECK;
enum wp_rc wp_backfill_send(struct wp_backfill *b, struct wp_error *error) WP_MUST_CHECK;

/* -- what is parked: likewise -- */

enum wp_rc wp_backfill_find_parked(struct wp_backfill *b, struct wp_error *error) WP_MUST_CHECK;
/* Does an event of this key wait among them? */
bool wp_backfill_is_parked(const struct wp_backfill *b, const struct wp_event *event);
/* Counts the row, which is to be sent, if its event was discarded. */
void wp_backfill_judge_discarded(struct wp_backfill *b, const struct wp_event *event);

/* -- the producer: likewise -- */

enum wp_rc wp_backfill_open_sink(struct wp_backfill *b, struct wp_error *error) WP_MUST_CHECK;
void wp_backfill_close_sink(struct wp_backfill *b);
/* Do the topics hold later events than the database has? */
enum wp_rc wp_backfill_judge_topic_ends(struct wp_backfill *b,
					struct wp_error *error) WP_MUST_CHECK;
/* Makes room to note which of the rows are confirmed. Fails with WP_NOMEM. */
enum wp_rc wp_backfill_begin_sending(struct wp_backfill *b, struct wp_error *error) WP_MUST_CHECK;
bool wp_backfill_is_confirmed(const struct wp_backfill *b, uint64_t row);
/*
 * Sends the record of b->row, or its dead letter. Returns WP_DATA with the error if it can never be
 * delivered or, when kafka.refused is set, if one of those in flight cannot.
 */
enum wp_rc wp_backfill_send_record(struct wp_backfill *b, const struct wp_record *record,
				   struct wp_span id, bool is_letter,
				   struct wp_error *error) WP_MUST_CHECK;
/* Follows kafka.refused: nothing is in flight then, and what is read now goes one after the other. */
enum wp_rc wp_backfill_isolate(struct wp_backfill *b, struct wp_error *error) WP_MUST_CHECK;
/* Renews the producer, which Kafka's refusal has broken, once the guilty event was found. */
void wp_backfill_renew(struct wp_backfill *b);
/* Goes on as before, once its dead letter is confirmed. */
void wp_backfill_end_isolation(struct wp_backfill *b);
/* Waits until each is confirmed. */
enum wp_rc wp_backfill_flush(struct wp_backfill *b, struct wp_error *error) WP_MUST_CHECK;

#endif
