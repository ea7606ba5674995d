/*
 * Here is what the files of `walpost dead-letters retry` share. The command (dead_letters_retry.c)
 * takes one letter after the other. dead_letters_send.c finds where its event comes from, and sends
 * that; dead_letters_row.c and dead_letters_message.c make it from the letter alone;
 * dead_letters_slot.c tells whether the slot's relay reads what is sent, and has delivered it.
 */
#ifndef WALPOST_SRC_CLI_DEAD_LETTERS_RETRY_H
#define WALPOST_SRC_CLI_DEAD_LETTERS_RETRY_H

#include "reissue_slot.h"
#include "walpost/cli/dead_letters.h"
#include "walpost/outbox/names.h"
#include "walpost/outbox/outboxes.h"

#define WP_RETRY_SQL_MAX ((size_t)1 << 30) /* for one letter */

/* This is an outbox, and what the catalog says of its table's columns: name, not NULL, bytea, "plain". */
struct wp_letter_outbox {
	const struct wp_outbox *outbox;
	/* This is its table; for a pattern that of the letter; for messages their prefix. */
	char name[WP_TABLE_NAME_TEXT_SIZE];
	PGresult *columns;	     /* of that, owned; NULL: it has no table */
	struct wp_buffer key_prefix; /* that its records' keys have */
};

enum wp_letter_column {
	WP_COLUMN_NAME,
	WP_COLUMN_NOT_NULL,
	WP_COLUMN_IS_BYTEA,
	WP_COLUMN_IS_PLAIN
};

/* Returns the index of a column by its name, negative if there is none. */
int wp_letter_column(const struct wp_letter_outbox *outbox, const char *name);
/* Returns a record's key, as the column had it. */
struct wp_span wp_letter_key(const struct wp_letter_outbox *outbox, struct wp_span key);
/* Is that column's text, as Postgres prints it, what key and headers hold? */
bool wp_letter_is_text(const struct wp_letter_outbox *outbox, int column);

/*
 * Appends the row that the letter was made of, as a value of the table's type. Returns WP_DATA with
 * the error if the letter does not hold it whole, or that is not certain.
 */
enum wp_rc wp_letter_rebuild_row(const struct wp_letter_outbox *outbox,
				 const struct wp_found_letter *letter,
				 const struct wp_letter_content *content, struct wp_sql *sql,
				 struct wp_error *error) WP_MUST_CHECK;
/* Likewise appends the content of a message, for a database of that server_encoding. */
enum wp_rc wp_letter_rebuild_message(const struct wp_outbox *outbox,
				     const struct wp_found_letter *letter,
				     const struct wp_letter_content *content, const char *encoding,
				     struct wp_buffer *ret, struct wp_error *error) WP_MUST_CHECK;

/* -- sending ------------------------------------------------------------------------- */

enum wp_retry_result { WP_RETRY_SENT, WP_RETRY_PASSED_OVER, WP_RETRY_REFUSED, WP_RETRY_RESULTS };

/* Says where the event comes from. */
enum wp_retry_source { WP_FROM_NOWHERE, WP_FROM_ROW, WP_FROM_LETTER };

struct wp_retry_outcome {
	enum wp_retry_result result;
	enum wp_retry_source source;
	char table[WP_TABLE_NAME_TEXT_SIZE]; /* of the row, when it is there */
	struct wp_error why;		     /* it was passed over, or refused */
};

/* This is all that is needed while letters are sent. It is large, and there is one. */
struct wp_letters_retry {
	struct wp_letters *letters;
	const struct wp_retry_options *options;
	struct wp_session session;
	struct wp_outbox_set *outboxes;
	struct wp_letter_outbox
		known[WP_OUTBOXES_MAX];	    /* their columns, once they were asked for */
	bool *wanted;			    /* owned: which letters' content is needed */
	struct wp_letter_content *contents; /* owned */
	struct wp_buffer text;		    /* of the row or message that is made of a letter */
	struct wp_reissue_slot slot;
	char first_reader[64]; /* when the first letter was sent; "": it does not matter */
	uint64_t counts[WP_RETRY_RESULTS];
	struct json_t *json; /* owned: an array */
	bool json_failed;
	char lsn[WP_LSN_TEXT_SIZE]; /* behind the last that was sent */
	bool is_confirmed;
};

static inline const char *wp_retry_slot(const struct wp_letters_retry *r)
{
	return r->letters->config.postgres.slot;
}

/*
 * Would a row of walpost.reissue that is committed now be sent? Waits a while for a relay that
 * reads them. Returns WP_CONFIG or WP_IO with the error if it would not, or that cannot be told.
 */
enum wp_rc wp_retry_check_slot(struct wp_letters_retry *r, struct wp_error *error) WP_MUST_CHECK;
/* Waits until it is confirmed, or there is no relay to confirm it. Returns WP_IO with the error if it is late. */
enum wp_rc wp_retry_wait(struct wp_letters_retry *r, struct wp_error *error) WP_MUST_CHECK;

/*
 * Finds what there is to be sent for a letter: a row of outcome->table, or what r->text is filled
 * with as soon as the contents are known. Returns WP_DATA with the error if nothing is.
 */
enum wp_rc wp_retry_plan(struct wp_letters_retry *r, size_t index,
			 const struct wp_letter_outbox **ret_outbox,
			 struct wp_retry_outcome *outcome, struct wp_error *error) WP_MUST_CHECK;
/* Sends that, with its mark, in one transaction. Returns WP_DATA with the error if this letter is refused. */
enum wp_rc wp_retry_send(struct wp_letters_retry *r, const struct wp_letter_outbox *outbox,
			 const struct wp_found_letter *letter, struct wp_retry_outcome *outcome,
			 struct wp_error *error) WP_MUST_CHECK;

#endif
