/*
 * A member of a JSON column may take the place of a column: wherever an option names a column of a table, it may
 * name what PostgreSQL's operators of the same look give.
 *
 *   Content->Headers          JSON, as it stands in the column: a string with its quotes, null as null
 *   Content->Headers->>key    text: a string without quotes and escapes, null as NULL, all else as it stands
 *   headers::json             all of the column, which must be JSON
 *
 * Names of members are literal; single quotes around one do not count. What is not there is NULL.
 * As in PostgreSQL, the last of several members of one name is it. The column is json, jsonb, text
 * or a bytea with JSON in it.
 *
 * A mapping's members extend its rows: what they give stands behind the row's own values, so that
 * all else reads them as columns.
 *
 * Owns: the extended row, and names that it unescapes. Borrows: the row. Pure. Bounded:
 * WP_MEMBER_STEPS_MAX steps, a text is never longer than its column.
 */
#ifndef WALPOST_SRC_OUTBOX_MEMBER_H
#define WALPOST_SRC_OUTBOX_MEMBER_H

#include "walpost/base/buffer.h"
#include "walpost/base/json.h"
#include "walpost/outbox/columns.h"
#include "walpost/wal/pgoutput.h"
#include "walpost/wal/relations.h"

#define WP_MEMBER_STEPS_MAX 8

/* Spans point into the text that was parsed. */
struct wp_member_path {
	struct wp_span column;
	struct wp_span steps[WP_MEMBER_STEPS_MAX];
	size_t count; /* 0: all of the column */
	bool is_text;
};

/* False: the text is the name of a column. */
bool wp_member_path_parse(const char *text, struct wp_member_path *ret);

struct wp_member {
	struct wp_member_path path;
	const char *text;   /* that it was parsed of */
	const char *option; /* that named it; lives for ever */
	bool must_be;	    /* a row without it cannot be an event */
	bool null_is_none;  /* null is NULL, although it is JSON */
	size_t column;	    /* that has it, in the row */
	enum wp_type type;  /* of that */
	struct wp_json all; /* of the row's column, if it could be read */
	bool is_read;
	struct wp_json found;
	bool is_found;
	bool is_unread; /* it may be there, but cannot be read */
};

enum wp_member_fault_kind {
	WP_MEMBER_FINE,
	WP_MEMBER_ABSENT,
	WP_MEMBER_NOT_JSON,
	WP_MEMBER_HALF_PAIR, /* of surrogates, which is no text */
};

/* This is the first that is wrong with a row. */
struct wp_member_fault {
	enum wp_member_fault_kind kind;
	const struct wp_member *member;
	struct wp_json_fault json; /* NOT_JSON */
	size_t size;		   /* likewise: of the column's value */
};

struct wp_members {
	struct wp_member *items; /* owned */
	size_t count;
	size_t column_count;	 /* of the relation */
	struct wp_value *values; /* owned: a row and its members */
	char *texts;		 /* owned: of all of them */
	size_t texts_size;
	struct wp_buffer name;	      /* one that has escapes */
	struct wp_member_fault fault; /* of the last row */
};

/* Makes room for `count` members whose texts, each with its NUL, are `size` bytes. WP_NOMEM. */
enum wp_rc wp_members_new(size_t column_count, size_t count, size_t size,
			  struct wp_members **ret) WP_MUST_CHECK;
void wp_members_free(struct wp_members *s);
/* Adds one, and copies its text. Returns where it stands in the extended row. */
size_t wp_members_add(struct wp_members *s, const struct wp_member *member);

/*
 * Looks them up in a row, whose binary values are so because they were asked for. `ret` is the
 * extended row, in which members are NULL until they are taken; `ret_room` is what taking them
 * writes at most. Valid until the next. WP_NOMEM.
 */
enum wp_rc wp_members_find(struct wp_members *s, const struct wp_tuple *row, struct wp_tuple *ret,
			   size_t *ret_room) WP_MUST_CHECK;
/* Fills them in; `texts` has the room. What is wrong with a row is in `fault`. WP_NOMEM. */
enum wp_rc wp_members_take(struct wp_members *s, struct wp_buffer *texts) WP_MUST_CHECK;

#endif
