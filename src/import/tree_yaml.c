/*
 * Reads YAML into a tree, by libyaml's events. Words are taken as Kubernetes takes them: plain null
 * and ~ are null, and yes, no, on and off are true and false. Numbers stay as they are written.
 */
#include <string.h>
#include <yaml.h>

#include "tree.h"

#define ALIASES_MAX 1000

struct reader {
	yaml_parser_t parser;
	struct wp_import_tree *tree;
	struct wp_error *error;
	const struct wp_span text;
	wp_import_node_index open[WP_IMPORT_DEPTH_MAX + 1]; /* the last is being read */
	char *names[WP_IMPORT_DEPTH_MAX + 1]; /* of its next value; NULL: a name comes next */
	size_t depth;
	size_t alias_count;
};

static unsigned line_of(const yaml_mark_t *mark)
{
	return (unsigned)mark->line + 1;
}

static enum wp_rc refuse(struct reader *r, const yaml_mark_t *mark, const char *what)
{
	return wp_error_set(r->error, WP_CONFIG, "line %u: as YAML it cannot be read: %s%s",
			    line_of(mark), what, wp_import_hint(r->text));
}

static enum wp_rc keep(struct reader *r, struct wp_span text, const yaml_mark_t *mark, char **ret)
{
	return wp_import_copy_text(r->tree->texts, text, line_of(mark), ret, r->error);
}

static bool is_map(const struct reader *r)
{
	return r->tree->nodes[r->open[r->depth - 1]].kind == WP_IMPORT_OBJECT;
}

static bool is_one_of(struct wp_span text, const char *const *words, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (wp_span_is(text, words[i]))
			return true;
	return false;
}

#define IS_ONE_OF(text, words) is_one_of(text, words, sizeof(words) / sizeof((words)[0]))

/* `text` of a plain scalar is changed to the word that is meant; `ret_raw` is what is written. */
static enum wp_import_node_kind resolve(struct wp_span *text, struct wp_span *ret_raw)
{
	static const char *const null[] = { "", "~", "null", "Null", "NULL" };
	static const char *const yes[] = { "true", "True", "TRUE", "yes", "Yes",
					   "YES",  "on",   "On",   "ON" };
	static const char *const no[] = { "false", "False", "FALSE", "no", "No",
					  "NO",	   "off",   "Off",   "OFF" };

	if (IS_ONE_OF(*text, null))
		return WP_IMPORT_NULL;
	*ret_raw = *text;
	if (IS_ONE_OF(*text, yes))
		*text = wp_span_of("true");
	if (IS_ONE_OF(*text, no))
		*text = wp_span_of("false");
	return WP_IMPORT_TEXT;
}

/* Adds a node to what is being read, under the name that came before. */
static enum wp_rc add(struct reader *r, const yaml_mark_t *mark, const char *anchor,
		      struct wp_import_node *node, wp_import_node_index *ret)
{
	char *kept = NULL;
	enum wp_rc rc = WP_OK;

	if (anchor != NULL)
		rc = keep(r, wp_span_of(anchor), mark, &kept);
	if (rc != WP_OK)
		return rc;
	node->anchor = kept;
	node->line = line_of(mark);
	node->parent = r->open[r->depth - 1];
	node->name = r->names[r->depth - 1];
	r->names[r->depth - 1] = NULL;
	return wp_import_tree_add(r->tree, node, ret, r->error);
}

static enum wp_rc add_scalar(struct reader *r, const yaml_event_t *event)
{
	struct wp_import_node node = {
		.kind = WP_IMPORT_TEXT,
		.first = WP_IMPORT_NO_NODE,
		.last = WP_IMPORT_NO_NODE,
	};
	struct wp_span text = { event->data.scalar.value, event->data.scalar.length };
	struct wp_span raw = { NULL, 0 };
	const yaml_char_t *tag = event->data.scalar.tag;
	wp_import_node_index index;
	enum wp_rc rc;

	if (is_map(r) && r->names[r->depth - 1] == NULL)
		return keep(r, text, &event->start_mark, &r->names[r->depth - 1]);
	/* !Ref, !vault and others mean something to the tool that they are for. */
	if (tag != NULL && tag[0] == '!' && tag[1] != '\0')
		text = wp_span_of("${a YAML tag}"); /* a placeholder, which is marked */
	else if (event->data.scalar.style == YAML_PLAIN_SCALAR_STYLE &&
		 event->data.scalar.plain_implicit)
		node.kind = resolve(&text, &raw);
	if (node.kind == WP_IMPORT_TEXT) {
		rc = keep(r, text, &event->start_mark, &node.text);
		node.raw = node.text;
		if (rc == WP_OK && raw.data != text.data && !wp_span_is_null(raw))
			rc = keep(r, raw, &event->start_mark, &node.raw);
		if (rc != WP_OK)
			return rc;
	}
	return add(r, &event->start_mark, (const char *)event->data.scalar.anchor, &node, &index);
}

static enum wp_rc begin(struct reader *r, const yaml_event_t *event, enum wp_import_node_kind kind,
			const yaml_char_t *anchor)
{
	struct wp_import_node node = {
		.kind = kind,
		.first = WP_IMPORT_NO_NODE,
		.last = WP_IMPORT_NO_NODE,
		.is_open = true,
	};
	wp_import_node_index index;
	enum wp_rc rc;

	if (is_map(r) && r->names[r->depth - 1] == NULL)
		return refuse(r, &event->start_mark, "a name must be a text");
	if (r->depth > WP_IMPORT_DEPTH_MAX)
		return refuse(r, &event->start_mark, "too much within each other");
	rc = add(r, &event->start_mark, (const char *)anchor, &node, &index);
	if (rc != WP_OK)
		return rc;
	r->open[r->depth] = index;
	r->names[r->depth++] = NULL;
	return WP_OK;
}

/* The last one of this name counts. */
static const struct wp_import_node *anchored(const struct reader *r, const char *anchor)
{
	for (size_t i = r->tree->count; i > 0; i--) {
		const struct wp_import_node *node = &r->tree->nodes[i - 1];

		if (node->anchor != NULL && strcmp(node->anchor, anchor) == 0)
			return node;
	}
	return NULL;
}

/*
 * An alias shares the members of what it stands for, which are all there: so nothing is within
 * itself.
 */
static enum wp_rc add_alias(struct reader *r, const yaml_event_t *event)
{
	const struct wp_import_node *target = anchored(r, (const char *)event->data.alias.anchor);
	struct wp_import_node node;
	wp_import_node_index index;
	enum wp_rc rc = WP_OK;

	if (target == NULL || target->is_open)
		return refuse(r, &event->start_mark,
			      "an alias stands for nothing above it, or for what it is within");
	if (++r->alias_count > ALIASES_MAX)
		return refuse(r, &event->start_mark, "too many aliases");
	if (is_map(r) && r->names[r->depth - 1] == NULL) {
		if (target->kind != WP_IMPORT_TEXT)
			return refuse(r, &event->start_mark, "a name must be a text");
		return keep(r, wp_span_of(target->text), &event->start_mark,
			    &r->names[r->depth - 1]);
	}
	node = (struct wp_import_node){
		.kind = target->kind,
		.first = target->first,
		.last = target->last,
	};
	if (target->text != NULL)
		rc = keep(r, wp_span_of(target->text), &event->start_mark, &node.text);
	node.raw = target->raw == target->text ? node.text : target->raw;
	return rc == WP_OK ? add(r, &event->start_mark, NULL, &node, &index) : rc;
}

static enum wp_rc take(struct reader *r, const yaml_event_t *event)
{
	switch (event->type) {
	case YAML_SCALAR_EVENT:
		return add_scalar(r, event);
	case YAML_MAPPING_START_EVENT:
		return begin(r, event, WP_IMPORT_OBJECT, event->data.mapping_start.anchor);
	case YAML_SEQUENCE_START_EVENT:
		return begin(r, event, WP_IMPORT_LIST, event->data.sequence_start.anchor);
	case YAML_MAPPING_END_EVENT:
	case YAML_SEQUENCE_END_EVENT:
		r->tree->nodes[r->open[--r->depth]].is_open = false;
		return WP_OK;
	case YAML_ALIAS_EVENT:
		return add_alias(r, event);
	default: /* where a document or the stream begins or ends */
		return WP_OK;
	}
}

static enum wp_rc read_all(struct reader *r)
{
	enum wp_rc rc = WP_OK;
	bool is_over = false;

	while (rc == WP_OK && !is_over) {
		yaml_event_t event;

		if (yaml_parser_parse(&r->parser, &event) == 0) {
			if (r->parser.error == YAML_MEMORY_ERROR)
				return wp_error_set(r->error, WP_NOMEM, "out of memory for YAML");
			return refuse(r, &r->parser.problem_mark,
				      r->parser.problem == NULL ? "unknown" : r->parser.problem);
		}
		rc = take(r, &event);
		is_over = event.type == YAML_STREAM_END_EVENT;
		yaml_event_delete(&event);
	}
	return rc;
}

enum wp_rc wp_import_tree_yaml(struct wp_import_tree *tree, struct wp_span text,
			       struct wp_error *error)
{
	struct reader r = { .tree = tree, .error = error, .text = text, .depth = 1 };
	enum wp_rc rc;

	if (yaml_parser_initialize(&r.parser) == 0)
		return wp_error_set(error, WP_NOMEM, "out of memory for YAML");
	yaml_parser_set_encoding(&r.parser, YAML_UTF8_ENCODING);
	yaml_parser_set_input_string(&r.parser, text.data, text.size);
	rc = read_all(&r);
	yaml_parser_delete(&r.parser);
	return rc;
}
