/*
 * `walpost dead-letters` tells what the dead-letter topic holds, and sends it again through the
 * log. Here is what its files share: the command (cli/dead_letters.c), reading the topic, telling
 * what is in it, and sending.
 */
#ifndef WALPOST_CLI_DEAD_LETTERS_H
#define WALPOST_CLI_DEAD_LETTERS_H

#include "walpost/cli/session.h"
#include "walpost/config/config.h"
#include "walpost/outbox/outboxes.h"
#include "walpost/sink/record.h"

enum {
	WP_LETTERS_MAX = 100000, /* that are kept at once */
	WP_LETTER_ID_MAX = 8192, /* a longer id is cut, and its row cannot be found */
};

struct wp_letters_options {
	const char *topic; /* NULL: the configuration's */
	const char *reason;
	const char *table;
	const char *id;
	int64_t since_ms; /* since 1970; 0: from the beginning */
	int64_t until_ms; /* 0: to the end */
	int64_t limit;
	bool json;
};

/* This says that a letter was sent again, as walpost.dead_letters_retried has it. */
struct wp_letter_mark {
	char at[32];
	char by_role[128];
	char by_client[128];
	char times[16];
};

/* This is a record of the dead-letter topic, without its value. The texts are in one piece, `table` first. */
struct wp_found_letter {
	int32_t partition;
	int64_t offset;
	int64_t time_ms; /* of the record; 0: not known */
	char *table;	 /* owned; of a logical message "messages of prefix ..." */
	const char *position;
	const char *reason;
	const char *size;
	const char *id;	 /* NULL: it has none; likewise: */
	const char *key; /* of the record */
	const char *topic;
	const char *omitted;
	const char *source; /* the event's walpost-source */
	bool id_is_cut;
	bool key_is_cut;
	bool is_bare;		     /* without the event's key, value and headers */
	struct wp_letter_mark *mark; /* owned; NULL: it was not sent again, or that is not known */
};

struct wp_letters {
	struct wp_letters_options options;
	struct wp_config config;
	const char *topic;
	struct wp_console console;
	struct wp_found_letter *items; /* owned; in the order of their positions */
	size_t count;
	size_t capacity;
	uint64_t records; /* read */
	uint64_t others;  /* that are no dead letters */
	uint64_t matched; /* with those for which there was no room */
	bool marks_known;
};

/* Returns "outbox" for "messages of prefix outbox", and NULL for a table. */
const char *wp_letter_prefix(const struct wp_found_letter *letter);

/*
 * Reads all that the topic holds now and the options ask for. Returns WP_CONFIG with the error if
 * there is no such topic, or it is not for us to read; WP_IO, WP_NOMEM.
 */
enum wp_rc wp_letters_read(struct wp_letters *l, struct wp_error *error) WP_MUST_CHECK;
/* Reads which of them went back before. A database without the table has none. Fails with WP_IO, WP_CONFIG. */
enum wp_rc wp_letters_read_marks(struct wp_letters *l, struct wp_session *session,
				 struct wp_error *error) WP_MUST_CHECK;
/* This is all that such a record holds; its spans have a NUL behind their end. */
struct wp_letter_content {
	struct wp_span key;
	struct wp_span value;
	struct wp_header *headers; /* owned, with all that these point to */
	size_t header_count;
};

/*
 * Reads the topic once more, for the content of those of the letters that `wanted` names by index;
 * `ret` has room for all of them, and is to be released by wp_letter_content_release(). A content
 * for which WP_LETTERS_CONTENT_MAX bytes are not enough has no headers.
 */
enum { WP_LETTERS_CONTENT_MAX = 128 << 20 };
enum wp_rc wp_letters_read_content(struct wp_letters *l, const bool *wanted,
				   struct wp_letter_content *ret,
				   struct wp_error *error) WP_MUST_CHECK;
void wp_letter_content_release(struct wp_letter_content *content);
void wp_letters_release(struct wp_letters *l);

/* -- sending again ---------------------------------------------------------------- */

struct wp_retry_options {
	bool all;
	bool again;
	bool dry_run;
	bool no_wait;
	int64_t timeout_ms;
};

/*
 * Sends what is left of them again, and tells of each on standard output. Returns the exit code;
 * failures have been printed.
 */
int wp_letters_retry(struct wp_letters *l, const struct wp_retry_options *options);

/* These make objects of jansson's. */
struct json_t;
/* Takes a text of a letter; gives null for NULL and for "". */
struct json_t *wp_letter_text(const char *text);
/* Takes one letter; `failed` is set when the object lacks something. */
struct json_t *wp_letter_json(const struct wp_found_letter *letter, bool *failed);

/* Both print to standard output the first `count` letters. */
void wp_letters_print(const struct wp_letters *l, size_t count);
/* Fails with WP_NOMEM. */
enum wp_rc wp_letters_print_json(const struct wp_letters *l, size_t count) WP_MUST_CHECK;

#endif
