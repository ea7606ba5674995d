/*
 * Rows of walpost.reissue tell what is to be sent once more, as rows of their own in the log. Such a
 * row says of which slot and outbox it is, and has either all columns of the outbox's row by name,
 * type and text, or a message's bytes: no Relation message of the outbox is needed, and a table
 * that has changed since does not matter.
 *
 *   "row"  [{"name": "id", "type": 2950, "modifier": -1, "value": "..."}, ...], in column order;
 *          the value as Postgres prints it, or null
 *
 * An event that goes to another topic than its own (`walpost replay --to-topic`) has this behind the
 * outbox, as in "public.outbox -> shop.copy": here, and in walpost.parked. Order is promised by topic
 * and key, so it has none with the outbox's own events: it waits for no parked one of its key, nor do
 * they for it. And a walpost that does not know such names passes the row over, whereas it would send
 * the event to the outbox's own topic if that stood in a column of which it knows nothing.
 *
 * Owns: what it unescapes, and of each outbox the last mapping, for as long as the columns stay
 * the same. Borrows: outboxes, and through the mappings facts. Pure. Bounded: one mapping for each
 * outbox, WP_COLUMNS_MAX columns, texts_max of a row's texts.
 */
#ifndef WALPOST_SRC_OUTBOX_REISSUE_H
#define WALPOST_SRC_OUTBOX_REISSUE_H

#include "walpost/outbox/outboxes.h"
#include "walpost/outbox/table.h"

#define WP_REISSUE_ARROW " -> "

/* A mark of `walpost drain` has this reason; its position is the drain's number. */
#define WP_REISSUE_DRAIN "drain"

/* This is what a row says; spans are those of the tuple. */
struct wp_reissue {
	struct wp_span slot;
	struct wp_span outbox;	 /* schema.table, or the prefix of messages */
	struct wp_span topic;	 /* null: the event's own */
	struct wp_span relation; /* the table that it was in, a leaf; null: the outbox's */
	struct wp_span row;	 /* JSON; null: it is a message */
	struct wp_span content;	 /* in the form it came in; null: it is a row */
	struct wp_span reason;	 /* for people */
	struct wp_span position; /* of its first sending; null: not told */
	bool is_mark;		 /* no event: a place in the log */
	bool is_hex;		 /* `content` is \x and digits */
};

/* WP_DATA with the error: the table has not the columns that it should have. */
enum wp_rc wp_reissue_read(const struct wp_relation *relation, const struct wp_tuple *tuple,
			   struct wp_reissue *ret, struct wp_error *error) WP_MUST_CHECK;
/* Returns the outbox that it names, if that is among them. A topic behind its name is split off. */
const struct wp_outbox *wp_reissue_outbox(const struct wp_outbox_set *outboxes,
					  struct wp_reissue *reissue);
/* Likewise for a name in walpost.parked, with all else that is to be known of the row. */
const struct wp_outbox *wp_reissue_parked_outbox(const struct wp_outbox_set *outboxes,
						 struct wp_reissue *reissue);

/* The mapping of a row needs these, and so does the reader of a message. */
struct wp_reissue_facts {
	const struct wp_relations *types;
	const struct wp_column_facts *columns;
	unsigned age;	      /* of `columns`: another one means that they have changed */
	const char *encoding; /* of the database */
};

struct wp_reissues;

enum wp_rc wp_reissues_new(size_t outboxes, size_t texts_max,
			   struct wp_reissues **ret) WP_MUST_CHECK;
void wp_reissues_free(struct wp_reissues *r);
/* Fills `ret` as wp_mapping_event() and wp_message_event() do; valid until the next. WP_DATA with the
 * error: it cannot become an event. WP_NOMEM. */
enum wp_rc wp_reissues_event(struct wp_reissues *r, const struct wp_reissue *reissue,
			     const struct wp_outbox *outbox, const struct wp_reissue_facts *facts,
			     struct wp_event *ret, struct wp_error *error) WP_MUST_CHECK;

#endif
