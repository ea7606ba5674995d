/*
 * Which outbox does a relation, or a message, belong to? The tables, leaves and prefixes of
 * all outboxes of a stream tell, and what is ignored on purpose.
 *
 * Owns: names, patterns, shapes. Borrows: the options. Pure. Bounded: WP_OUTBOXES_MAX.
 */
#ifndef WALPOST_OUTBOX_OUTBOXES_H
#define WALPOST_OUTBOX_OUTBOXES_H

#include "walpost/base/span.h"
#include "walpost/base/error.h"
#include "walpost/envelope/event.h"
#include "walpost/outbox/options.h"
#include "walpost/wal/partitions.h"
#include "walpost/wal/relations.h"

struct wp_message_reader;
struct wp_shape;

struct wp_outbox {
	const struct wp_outbox_options *options;
	/* Its table, or pattern of tables, as SQL has it; without one, the prefix of its messages. */
	const char *name;
	bool is_pattern; /* outbox.table stands for many */
	size_t number;	 /* its place among all */
	size_t table;	 /* which of all outboxes' tables is its */
	struct wp_shape *shape;
	struct wp_message_reader *messages; /* NULL: none of its events come so */
};

/* A relation's rows are of one of these kinds. */
enum wp_rows_kind {
	WP_ROWS_EVENTS,
	WP_ROWS_IGNORED,   /* outbox.ignore names them: passed over */
	WP_ROWS_OWN,	   /* of walpost's own tables, which a wide publication brings: likewise */
	WP_ROWS_REISSUE,   /* of walpost.reissue: each says of which outbox it is */
	WP_ROWS_UNKNOWN,   /* until it is known whose partition it is */
	WP_ROWS_FOREIGN,   /* nobody configured them */
	WP_ROWS_LOOKALIKE, /* outbox.ignore covers them, but they may be of an outbox all the same */
	WP_ROWS_CHILD,	   /* of a table that inherits from an outbox, and that nobody configured */
};

struct wp_rows {
	enum wp_rows_kind kind;
	const struct wp_outbox *outbox; /* events only */
	struct wp_origin origin; /* likewise; borrowed of the set, or of what was asked with */
};

struct wp_outbox_set;

/*
 * WP_CONFIG with the error: a name or a pattern is wrong, or the shape refuses its options. WP_NOMEM. `record_max` is
 * the shapes'.
 */
enum wp_rc wp_outbox_set_new(const struct wp_outboxes *outboxes, size_t record_max,
			     struct wp_outbox_set **ret, struct wp_error *error) WP_MUST_CHECK;
void wp_outbox_set_free(struct wp_outbox_set *s);
const struct wp_outbox *wp_outbox_set_at(const struct wp_outbox_set *s, size_t index);
/* Returns the one whose table this is, or by a pattern may be; NULL: none. */
const struct wp_outbox *wp_outbox_set_table(const struct wp_outbox_set *s, struct wp_span schema,
					    struct wp_span name);
/* Judges a relation by its name alone. One that fits a pattern may yet be another's partition: it is not known. */
struct wp_rows wp_outbox_set_rows(const struct wp_outbox_set *s, struct wp_span schema,
				  struct wp_span name);
/*
 * If that is WP_ROWS_UNKNOWN, judges by what is known of it as a partition; NULL: it is none of ours. One belongs to
 * the table it is of, whatever outbox.leaves says, which is for those that stand alone by now. A child by inheritance
 * is not an outbox's by itself: a section or outbox.leaves makes it one, and only its exact name in outbox.ignore says
 * that it is none. The same holds for what nothing tells, and has the columns of an outbox: it may have been a
 * partition or a child that is gone, or the outbox under a former name.
 */
struct wp_rows wp_outbox_set_rows_of_partition(const struct wp_outbox_set *s,
					       const struct wp_relation *relation,
					       const struct wp_partition *partition);
/* Returns the one whose table this is, or whose leaf by outbox.leaves. */
const struct wp_outbox *wp_outbox_set_find(const struct wp_outbox_set *s, struct wp_span schema,
					   struct wp_span name);
bool wp_outbox_set_ignores(const struct wp_outbox_set *s, struct wp_span schema,
			   struct wp_span name);
/* Returns the one of that name; NULL: none. */
const struct wp_outbox *wp_outbox_set_named(const struct wp_outbox_set *s, struct wp_span name);
/* Returns the one whose messages have this prefix; NULL: none. */
const struct wp_outbox *wp_outbox_set_prefix(const struct wp_outbox_set *s, struct wp_span prefix);

#endif
