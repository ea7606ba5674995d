#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "json_tree.h"

/* This is never asked for: what is reserved follows from the size of a text, which is in memory. */
#define NO_LIMIT (SIZE_MAX / 2)

void wp_json_tree_init(struct wp_json_tree *t, size_t count_max)
{
	t->count_max = count_max;
	wp_buffer_init(&t->nodes, NO_LIMIT);
	wp_buffer_init(&t->sorted, NO_LIMIT);
	wp_buffer_init(&t->names, NO_LIMIT);
}

void wp_json_tree_release(struct wp_json_tree *t)
{
	wp_buffer_release(&t->nodes);
	wp_buffer_release(&t->sorted);
	wp_buffer_release(&t->names);
}

size_t wp_json_tree_count(const struct wp_json_tree *t)
{
	return t->nodes.size / sizeof(struct wp_json_node);
}

struct wp_json_node *wp_json_tree_node(const struct wp_json_tree *t, size_t index)
{
	return (struct wp_json_node *)(void *)t->nodes.data + index;
}

/* ---- room ---- */

static const uint8_t *string_end(const uint8_t *at)
{
	for (at++; *at != '"';)
		at += *at == '\\' ? 2 : 1;
	return at + 1;
}

/* Counts the values that a text may hold: each but the first stands behind a comma or a bracket. */
static size_t values_max(struct wp_span text)
{
	const uint8_t *end = text.data + text.size;
	size_t count = 1;

	for (const uint8_t *at = text.data; at < end;) {
		count += *at == ',' || *at == '[' || *at == '{';
		at = *at == '"' ? string_end(at) : at + 1;
	}
	return count;
}

/* From here on nothing moves. An escape is 2 bytes, or 6 for 6; a character of 4 becomes 12. */
static enum wp_rc reserve_nodes(struct wp_json_tree *t, struct wp_span text)
{
	size_t count = values_max(text);

	if (count > t->count_max)
		return WP_FULL;
	enum wp_rc rc = wp_buffer_reserve(&t->nodes, count * sizeof(struct wp_json_node));
	if (rc == WP_OK)
		rc = wp_buffer_reserve(&t->sorted, count * sizeof(struct wp_json_node *));
	if (rc == WP_OK && !wp_jackson_is_same(text))
		rc = wp_buffer_reserve(&t->names, text.size * 3);
	return rc;
}

/* ---- nodes ---- */

/* The text was found to be well-formed, so that each piece ends before it does. */
struct scan {
	struct wp_json_tree *tree;
	const uint8_t *at;
	struct wp_json_node *open; /* the innermost container */
	size_t depth;
	struct wp_span name; /* of the value that comes next */
};

static struct wp_span scan_string(struct scan *s)
{
	const uint8_t *from = s->at;

	s->at = string_end(from);
	return (struct wp_span){ from, (size_t)(s->at - from) };
}

/* Scans a number, true, false or null. */
static struct wp_span scan_word(struct scan *s)
{
	const uint8_t *from = s->at;

	while (strchr(" \t\r\n,]}", *s->at) == NULL)
		s->at++;
	return (struct wp_span){ from, (size_t)(s->at - from) };
}

static struct wp_span written_name(struct wp_json_tree *t, struct wp_span string)
{
	size_t from = t->names.size;

	if (wp_jackson_is_same(string))
		return string;
	enum wp_rc rc = wp_jackson_write_string(&t->names, string);
	assert(rc == WP_OK); /* room was made */
	return (struct wp_span){ t->names.data + from, t->names.size - from };
}

static struct wp_json_node *add_node(struct scan *s)
{
	struct wp_json_node *n = wp_json_tree_node(s->tree, wp_json_tree_count(s->tree));
	struct wp_json_node *parent = s->open;

	s->tree->nodes.size += sizeof(*n);
	assert(s->tree->nodes.size <= s->tree->nodes.capacity);
	*n = (struct wp_json_node){ .kind = wp_json_kind_of(*s->at),
				    .name = s->name,
				    .parent = parent };
	s->name = (struct wp_span){ 0 };
	if (parent == NULL)
		return n;
	if (parent->count++ == 0)
		parent->first = n;
	else
		parent->last->next = n;
	parent->last = n;
	return n;
}

/* Returns what Jackson would not read, a constant; NULL: it would. */
static const char *scan_value(struct scan *s)
{
	struct wp_json_node *n = add_node(s);

	if (n->kind == WP_JSON_OBJECT || n->kind == WP_JSON_ARRAY) {
		s->at++;
		s->open = n;
		if (++s->depth > WP_JACKSON_DEPTH_MAX)
			return "containers are nested more than 1,000 levels deep";
		return NULL;
	}
	n->text = n->kind == WP_JSON_STRING ? scan_string(s) : scan_word(s);
	if (n->kind != WP_JSON_NUMBER)
		return NULL;
	n->number = wp_jackson_number_of(n->text);
	if (wp_jackson_digits(n->text) > WP_JACKSON_DIGITS_MAX)
		return "a number has more than 1,000 digits";
	return NULL;
}

static const char *scan_next(struct scan *s)
{
	while (strchr(" \t\r\n,:", *s->at) != NULL)
		s->at++;
	if (*s->at == '}' || *s->at == ']') {
		s->at++;
		s->open = s->open->parent;
		s->depth--;
		return NULL;
	}
	if (s->open != NULL && s->open->kind == WP_JSON_OBJECT && wp_span_is_null(s->name)) {
		s->name = written_name(s->tree, scan_string(s));
		return NULL;
	}
	return scan_value(s);
}

/* ---- names ---- */

int wp_json_name_compare(struct wp_span a, struct wp_span b)
{
	int order = memcmp(a.data, b.data, a.size < b.size ? a.size : b.size);

	return order != 0 ? order : (a.size > b.size) - (a.size < b.size);
}

/* Compares by name, then as they stand in the text. */
static int compare_members(const void *left, const void *right)
{
	const struct wp_json_node *a = *(struct wp_json_node *const *)left;
	const struct wp_json_node *b = *(struct wp_json_node *const *)right;
	int order = wp_json_name_compare(a->name, b->name);

	return order != 0 ? order : (a > b) - (a < b);
}

/* The earlier one has the value of the later from now on, which is left out of the list. */
static void replace_member(struct wp_json_node *earlier, struct wp_json_node *later)
{
	struct wp_json_node *next = earlier->next;

	*earlier = (struct wp_json_node){
		.kind = later->kind,
		.number = later->number,
		.text = later->text,
		.name = earlier->name,
		.parent = earlier->parent,
		.next = next,
		.first = later->first,
		.last = later->last,
		.count = later->count,
		.sorted = later->sorted,
	};
	*later = (struct wp_json_node){ .kind = WP_JSON_NULL, .next = later->next };
}

static void leave_out_replaced(struct wp_json_node *object)
{
	struct wp_json_node **to = &object->first;

	for (struct wp_json_node *n = object->first; n != NULL; n = n->next) {
		if (wp_span_is_null(n->name))
			continue;
		*to = n;
		to = &n->next;
		object->last = n;
	}
	*to = NULL;
}

static void sort_members(struct wp_json_tree *t, struct wp_json_node *object)
{
	struct wp_json_node **sorted = (void *)(t->sorted.data + t->sorted.size);
	size_t count = 0, unique = 0;

	t->sorted.size += object->count * sizeof(*sorted);
	assert(t->sorted.size <= t->sorted.capacity);
	for (struct wp_json_node *n = object->first; n != NULL; n = n->next)
		sorted[count++] = n;
	qsort(sorted, count, sizeof(*sorted), compare_members);
	for (size_t i = 0; i < count; i++) {
		if (unique > 0 && wp_span_equal(sorted[unique - 1]->name, sorted[i]->name))
			replace_member(sorted[unique - 1], sorted[i]);
		else
			sorted[unique++] = sorted[i];
	}
	object->sorted = sorted;
	object->count = unique;
	if (unique < count)
		leave_out_replaced(object);
}

struct wp_json_node *wp_json_node_find(const struct wp_json_node *object, struct wp_span name)
{
	size_t from = 0, to = object->count;

	while (from < to) {
		size_t middle = from + (to - from) / 2;
		int order = wp_json_name_compare(name, object->sorted[middle]->name);
		if (order == 0)
			return object->sorted[middle];
		if (order < 0)
			to = middle;
		else
			from = middle + 1;
	}
	return NULL;
}

/* ---- all of it ---- */

enum wp_rc wp_json_tree_read(struct wp_json_tree *t, struct wp_span text, const char **ret_because)
{
	struct wp_json json;
	struct wp_json_fault fault;

	wp_buffer_empty(&t->nodes, text.size);
	wp_buffer_empty(&t->sorted, text.size);
	wp_buffer_empty(&t->names, text.size);
	if (wp_json_read_first(text, &json, &fault) != WP_OK) {
		*ret_because = fault.what;
		return WP_DATA;
	}
	enum wp_rc rc = reserve_nodes(t, json.text);
	if (rc != WP_OK)
		return rc;
	struct scan s = { .tree = t, .at = json.text.data };
	do {
		const char *because = scan_next(&s);
		if (because != NULL) {
			*ret_because = because;
			return WP_DATA;
		}
	} while (s.open != NULL);
	/* It goes from the last, so that what takes another's place brings its members sorted. */
	for (size_t i = wp_json_tree_count(t); i-- > 0;) {
		struct wp_json_node *n = wp_json_tree_node(t, i);
		if (n->kind == WP_JSON_OBJECT && n->count > 0)
			sort_members(t, n);
	}
	return WP_OK;
}
