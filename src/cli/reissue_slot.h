/*
 * Would a row of walpost.reissue that is committed now be read, and how far is the slot confirmed?
 * The commands that send by way of the log ask this: `replay`, `drain` and `dead-letters retry`.
 *
 * Borrows: the session and the names. Bounded in time by who calls, but for those that await.
 */
#ifndef WALPOST_SRC_CLI_REISSUE_SLOT_H
#define WALPOST_SRC_CLI_REISSUE_SLOT_H

#include "walpost/cli/session.h"
#include "walpost/wal/lsn.h"

/* Says whether the slot's reader reads walpost.reissue as well. */
enum wp_slot_reads { WP_READS_NOBODY, WP_READS_NOT, WP_READS_IT, WP_READS_UNKNOWN };

struct wp_reissue_slot {
	struct wp_session *session;
	const char *slot;
	const char *also;     /* one more table of schema walpost that must be there; NULL: none */
	const char *also_sql; /* the file that creates it */
	/* The rest is as it was when it was asked: */
	enum wp_slot_reads reads;
	bool is_young;	  /* the publication, compared with what the slot may still hold */
	char process[16]; /* that reads the slot; "": none does */
	char reader[64];  /* and when it was started */
	char confirmed[WP_LSN_TEXT_SIZE];
	bool is_reached; /* the LSN that was asked for */
};

/* Asks how the slot stands. Returns WP_CONFIG with the error if slot, table or publication are missing; WP_IO. */
enum wp_rc wp_reissue_slot_ask(struct wp_reissue_slot *s, const char *lsn,
			       struct wp_error *error) WP_MUST_CHECK;
/* Tells where the log ends, flushed, now. Fails with WP_IO. */
enum wp_rc wp_reissue_slot_log_end(struct wp_session *session, char lsn[WP_LSN_TEXT_SIZE],
				   struct wp_error *error) WP_MUST_CHECK;
/*
 * Asks until rows that are committed from now on are certain to be read as long as the reader stays
 * connected, or 10 s have passed. Returns WP_CONFIG or WP_IO with the error if they are not, or
 * that cannot be determined.
 */
enum wp_rc wp_reissue_slot_await_reader(struct wp_reissue_slot *s,
					struct wp_error *error) WP_MUST_CHECK;
/*
 * Follows await_reader(). Where the publication is young the reader may still find, in what the log
 * holds now, that it did not exist, and reconnect: this waits until the reader is past that, up to
 * 10 s.
 */
enum wp_rc wp_reissue_slot_await_caught_up(struct wp_reissue_slot *s,
					   struct wp_error *error) WP_MUST_CHECK;

#endif
