/*
 * A JSON text as Jackson's ObjectMapper.readTree() has it: the first value of the text, whatever
 * follows it; of members with one name the last stands in the place of the first.
 *
 * Owns: its nodes, which borrow the text. Part of expand.
 * Bounded: count_max values, of some 120 bytes each, and three times the text where names are
 * written otherwise.
 */
#ifndef WALPOST_SRC_ENVELOPE_JSON_TREE_H
#define WALPOST_SRC_ENVELOPE_JSON_TREE_H

#include "walpost/base/buffer.h"
#include "walpost/base/json.h"

/*
 * Jackson, Java's library, takes the numbers and strings of a JSON text like this, and writes them again. What is above
 * its StreamReadConstraints is not read.
 */
enum {
	WP_JACKSON_DEPTH_MAX = 1000,
	WP_JACKSON_DIGITS_MAX = 1000, /* of a number: all that stand in it */
};

enum wp_jackson_number {
	WP_JACKSON_INT,
	WP_JACKSON_LONG,
	WP_JACKSON_BIG, /* an integer that 64 bits do not hold */
	WP_JACKSON_DOUBLE,
};

/* These tell how many digits stand in the text of a number, and as what it is read. */
size_t wp_jackson_digits(struct wp_span number);
enum wp_jackson_number wp_jackson_number_of(struct wp_span number);
/*
 * Appends a number that is an int, a long or a double. A double is what Double.toString() of
 * Java 19 and later gives: the fewest digits from which it comes back (earlier ones sometimes
 * write one more); above the largest double "Infinity", a string.
 */
enum wp_rc wp_jackson_write_number(struct wp_buffer *into, struct wp_span number) WP_MUST_CHECK;

/* Would a string (with its quotes) be written letter by letter as it stands? */
bool wp_jackson_is_same(struct wp_span string);
/* Appends a string, quotes and all; half of a surrogate pair is written as its escape. */
enum wp_rc wp_jackson_write_string(struct wp_buffer *into, struct wp_span string) WP_MUST_CHECK;

struct wp_connect_schema;

struct wp_json_node {
	enum wp_json_kind kind;
	enum wp_jackson_number number; /* of a number */
	struct wp_span text;	       /* as it stands; of a container it is null */
	struct wp_span name;	       /* as Jackson writes it, with its quotes; null in an array */
	struct wp_json_node *parent;
	struct wp_json_node *next;
	struct wp_json_node *first; /* of its `count` members or elements */
	struct wp_json_node *last;
	size_t count;
	struct wp_json_node **sorted;		/* an object's members, by name */
	bool is_written;			/* see expand.c */
	const struct wp_connect_schema *schema; /* see connect_schema.h */
};

struct wp_json_tree {
	struct wp_buffer nodes;	 /* an array: a container before what it holds; the root first */
	struct wp_buffer sorted; /* pointers to nodes */
	struct wp_buffer names;	 /* those that Jackson writes otherwise than they stand */
	size_t count_max;
};

void wp_json_tree_init(struct wp_json_tree *t, size_t count_max);
void wp_json_tree_release(struct wp_json_tree *t);
/*
 * Reads a text that begins with { or [. WP_DATA: Jackson would not read it; `ret_because` is a constant. WP_FULL: it
 * may hold more than count_max values. WP_NOMEM. The nodes are valid until the next call.
 */
enum wp_rc wp_json_tree_read(struct wp_json_tree *t, struct wp_span text,
			     const char **ret_because) WP_MUST_CHECK;

size_t wp_json_tree_count(const struct wp_json_tree *t);
struct wp_json_node *wp_json_tree_node(const struct wp_json_tree *t, size_t index);
/* NULL: the object has no such member. The name is as Jackson writes it. */
struct wp_json_node *wp_json_node_find(const struct wp_json_node *object, struct wp_span name);
/* Compares as memcmp() does. */
int wp_json_name_compare(struct wp_span a, struct wp_span b);

#endif
