/*
 * Reads JSON within another text: what a script hands to curl, a note, a ConfigMap. Each object
 * counts that is well-formed and names a connector's class; what is around it does not.
 */
#include <string.h>

#include "walpost/base/json.h"

#include "tree.h"

#define CLASS "\"connector.class\""
/* Bounds the text that is looked at, parts of it again, since each brace may begin an object. */
#define STEPS_MAX ((size_t)16 * WP_IMPORT_SIZE_MAX)

struct search {
	struct wp_span text;
	size_t at;
	unsigned line;	       /* of `at` */
	bool has_begun;	       /* there is more than blanks before `at` in its line */
	bool is_commented_out; /* and it began with # or // */
	size_t steps;
	struct wp_json_fault
		fault;	 /* of the first object that is none; `what` NULL: there is none */
	size_t fault_at; /* in `text` */
	unsigned fault_line;
	unsigned begin_line; /* of that object */
};

static void pass(struct search *s)
{
	const uint8_t *at = s->text.data + s->at++;

	if (*at == '\n') {
		s->line++;
		s->has_begun = s->is_commented_out = false;
	} else if (!s->has_begun && strchr(" \t\r", *at) == NULL) {
		s->has_begun = true;
		s->is_commented_out =
			*at == '#' || (*at == '/' && s->at < s->text.size && at[1] == '/');
	}
}

static void move(struct search *s, size_t at)
{
	while (s->at < at)
		pass(s);
}

/* Finds the next one, and moves `at` behind it. Returns false if that was all. */
static bool next_object(struct search *s, struct wp_json *ret, unsigned *ret_line)
{
	while (s->at < s->text.size && s->steps < STEPS_MAX) {
		struct wp_span rest = { s->text.data + s->at, s->text.size - s->at };
		const uint8_t *brace = memchr(rest.data, '{', rest.size);
		struct wp_json_fault fault = { .what = NULL };

		if (brace == NULL)
			return false;
		move(s, (size_t)(brace - s->text.data));
		rest = (struct wp_span){ brace, s->text.size - s->at };
		*ret_line = s->line;
		if (s->is_commented_out) {
			move(s, s->at + 1);
			continue;
		}
		if (wp_json_read_first(rest, ret, &fault) == WP_OK) {
			s->steps += ret->text.size;
			move(s, s->at + ret->text.size);
			if (ret->kind == WP_JSON_OBJECT && wp_span_has(ret->text, CLASS))
				return true;
			continue;
		}
		s->steps += fault.offset;
		if (s->fault.what == NULL &&
		    wp_span_has((struct wp_span){ brace, fault.offset }, CLASS)) {
			s->fault = fault;
			s->fault_at = s->at + fault.offset;
			s->begin_line = s->line;
			s->fault_line = s->line;
			for (size_t i = 0; i < fault.offset; i++)
				s->fault_line += brace[i] == '\n';
		}
		move(s, s->at + 1);
	}
	return false;
}

/* An object that is broken may be the one that is meant. */
static enum wp_rc refuse(const struct search *s, bool has_connector, struct wp_error *error)
{
	const char *hint = wp_import_hint_at(s->text, s->fault_at);

	if (s->fault.what != NULL)
		return wp_error_set(
			error, WP_CONFIG,
			"the JSON that begins in line %u cannot be read from line %u on: %s%s",
			s->begin_line, s->fault_line, s->fault.what,
			hint[0] != '\0' ? hint : ". Pass the JSON alone, as it is sent");
	if (s->steps >= STEPS_MAX)
		return wp_error_set(error, WP_CONFIG,
				    "too much in it looks like JSON: pass the JSON alone");
	if (!has_connector && wp_span_has(s->text, "\\\"connector.class\\\""))
		return wp_error_set(error, WP_CONFIG,
				    "it holds JSON with a backslash before each quote: pass the "
				    "JSON alone, as it is sent");
	return WP_OK;
}

enum wp_rc wp_import_read_embedded(struct wp_span text, struct wp_import_properties *p,
				   struct wp_error *error)
{
	struct search s = { .text = text, .line = 1 };
	struct wp_import_tree tree;
	struct wp_json json;
	unsigned line;
	enum wp_rc rc = wp_import_tree_init(&tree, p, error);

	tree.is_json = true;
	while (rc == WP_OK && next_object(&s, &json, &line))
		rc = wp_import_tree_json(&tree, json.text, line, error);
	if (rc == WP_OK)
		rc = refuse(&s, tree.count > 1, error);
	if (rc == WP_OK)
		rc = wp_import_take_connector(&tree, p, error);
	wp_import_tree_release(&tree);
	return rc;
}
