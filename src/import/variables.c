/*
 * The environment of Debezium Server. As it does itself: a name is turned into lower case, and its
 * underscores into dots; DEBEZIUM_SOURCE_PLUGIN_NAME is debezium.source.plugin.name. Names with dots,
 * which containers may have, stay as they are.
 *
 * A file may hold several environments. Variables of one stand in one block: a map, a list, one
 * `docker run`. What several blocks say together is one environment unless they differ.
 */
#include <ctype.h>
#include <string.h>

#include "tree.h"

#define FORM "Debezium Server's environment"
#define SOURCE "debezium.source."
/* What is given where the file does not show it: a placeholder, which is marked. */
#define ELSEWHERE "${from the environment}"
#define JOINED "--env="

struct taker {
	struct wp_import_properties *into;
	struct wp_error *error;
	size_t start; /* of `into`: what precedes is of a file */
	bool is_compose;
	bool has_dots;		     /* names with dots count */
	struct wp_import_tree *tree; /* NULL: lines */
};

static bool begins(struct wp_span text, const char *start)
{
	size_t size = strlen(start);

	return text.size >= size && memcmp(text.data, start, size) == 0;
}

static struct wp_span behind(struct wp_span text, size_t size)
{
	return (struct wp_span){ text.data + size, text.size - size };
}

static bool is_dotted(struct wp_span name)
{
	static const char *const starts[] = { SOURCE, "debezium.sink.", "debezium.format.",
					      "debezium.transforms", "debezium.predicates" };

	for (size_t i = 0; i < sizeof(starts) / sizeof(starts[0]); i++)
		if (begins(name, starts[i]))
			return true;
	return false;
}

static bool is_variable(const struct taker *t, struct wp_span name)
{
	if (t->has_dots && is_dotted(name))
		return true;
	if (!begins(name, "DEBEZIUM_"))
		return false;
	for (size_t i = 0; i < name.size; i++)
		if (!isupper(name.data[i]) && !isdigit(name.data[i]) && name.data[i] != '_')
			return false;
	return true;
}

/* -- one of them ------------------------------------------------------------------- */

static enum wp_rc copy_name(struct taker *t, struct wp_span variable, unsigned line, char **ret)
{
	enum wp_rc rc = wp_import_copy_text(t->into, variable, line, ret, t->error);

	if (rc != WP_OK || is_dotted(variable))
		return rc;
	for (char *at = *ret; *at != '\0'; at++)
		*at = *at == '_' ? '.' : (char)tolower((unsigned char)*at);
	return WP_OK;
}

/* Compose reads two dollar signs as one. */
static void halve_dollars(char *value)
{
	char *to = value;

	for (; *value != '\0'; *to++ = *value++)
		if (value[0] == '$' && value[1] == '$')
			value++;
	*to = '\0';
}

/* Does the block take over what stands in the other, by YAML's merge key? Then its own values win. */
static bool merges(const struct taker *t, unsigned block, unsigned other)
{
	const struct wp_import_node *nodes = t->tree == NULL ? NULL : t->tree->nodes;
	const struct wp_import_node *merged;

	if (nodes == NULL || block >= t->tree->count || other >= t->tree->count)
		return false;
	merged = wp_import_member(t->tree, &nodes[block], "<<");
	if (merged == NULL)
		return false;
	if (merged->kind != WP_IMPORT_LIST)
		return merged->first == nodes[other].first;
	for (wp_import_node_index i = merged->first; i != WP_IMPORT_NO_NODE; i = nodes[i].next)
		if (nodes[i].first == nodes[other].first)
			return true;
	return false;
}

/* Against those that are there already. `ret_wins`: it is to be added. */
static enum wp_rc judge(struct taker *t, const struct wp_import_property *new, bool *ret_wins)
{
	*ret_wins = true;
	for (size_t i = t->start; i < t->into->count; i++) {
		const struct wp_import_property *old = &t->into->items[i];

		if (old->block == new->block || strcmp(old->name, new->name) != 0 ||
		    strcmp(old->value, new->value) == 0)
			continue;
		if (merges(t, old->block, new->block))
			*ret_wins = false;
		else if (!merges(t, new->block, old->block))
			return wp_error_set(
				t->error, WP_CONFIG,
				"lines %u and %u set %s to different values, as for two "
				"Debezium Servers: pass the environment of one",
				old->line, new->line, new->name);
	}
	return WP_OK;
}

/* `value` null: it comes from elsewhere. */
static enum wp_rc take(struct taker *t, struct wp_span variable, struct wp_span value,
		       unsigned line, unsigned block)
{
	struct wp_import_property property = { .line = line, .block = block };
	bool wins;
	enum wp_rc rc;
	char *name;

	if (wp_span_is_null(value))
		value = wp_span_of(ELSEWHERE);
	rc = copy_name(t, variable, line, &name);
	if (rc == WP_OK)
		rc = wp_import_copy_text(t->into, value, line, &property.value, t->error);
	if (rc != WP_OK)
		return rc;
	property.name = name;
	if (t->is_compose)
		halve_dollars(property.value);
	rc = judge(t, &property, &wins);
	return rc == WP_OK && wins ? wp_import_add(t->into, &property, t->error) : rc;
}

/*
 * A tag of an image is often called DEBEZIUM_VERSION, and a script's own variable DEBEZIUM_SOURCE_HOST:
 * of lines a Server's are only those with what no Server is without.
 */
static bool is_server(const struct taker *t)
{
	static const char *const signs[] = { SOURCE "connector.class", SOURCE "table.include.list",
					     "debezium.transforms" };

	for (size_t i = t->start; i < t->into->count; i++) {
		const char *name = t->into->items[i].name;

		if (t->tree != NULL && begins(wp_span_of(name), SOURCE))
			return true;
		for (size_t j = 0; j < sizeof(signs) / sizeof(signs[0]); j++)
			if (strcmp(name, signs[j]) == 0)
				return true;
	}
	return false;
}

/* None counts, if they are not a Server's; beside its file some of them do. */
static enum wp_rc settle(struct taker *t)
{
	if (t->start == 0 && !is_server(t))
		t->into->count = 0;
	if (t->start == 0 && t->into->count > 0)
		t->into->form = FORM;
	return WP_OK;
}

/* NAME=value; false: it sets none. */
static bool split(const struct taker *t, struct wp_span text, struct wp_span *ret_name,
		  struct wp_span *ret_value)
{
	const uint8_t *equal = text.size == 0 ? NULL : memchr(text.data, '=', text.size);
	size_t size = equal == NULL ? 0 : (size_t)(equal - text.data);

	*ret_name = (struct wp_span){ text.data, size };
	if (equal == NULL || !is_variable(t, *ret_name))
		return false;
	*ret_value = behind(text, size + 1);
	return true;
}

/* -- lines ----------------------------------------------------------------------- */

struct lines {
	struct taker *taker;
	struct wp_span rest;
	unsigned line;	/* of `rest` */
	unsigned block; /* the line in which the command begins */
};

static bool is_blank(uint8_t c)
{
	return c == ' ' || c == '\t' || c == '\r';
}

static struct wp_span trimmed(struct wp_span text)
{
	while (text.size > 0 && is_blank(text.data[0]))
		text = behind(text, 1);
	while (text.size > 0 && is_blank(text.data[text.size - 1]))
		text.size--;
	return text;
}

static void advance(struct lines *l, size_t size)
{
	for (size_t i = 0; i < size; i++)
		l->line += l->rest.data[i] == '\n';
	l->rest = behind(l->rest, size);
}

static struct wp_span this_line(const struct lines *l)
{
	const uint8_t *end = memchr(l->rest.data, '\n', l->rest.size);

	return (struct wp_span){ l->rest.data,
				 end == NULL ? l->rest.size : (size_t)(end - l->rest.data) };
}

/* A backslash before a line's end joins the next line; 0: there is none here. */
static size_t joint_size(struct wp_span text)
{
	size_t size = 1;

	if (text.size == 0 || text.data[0] != '\\')
		return 0;
	while (size < text.size && text.data[size] == '\r')
		size++;
	return size < text.size && text.data[size] == '\n' ? size + 1 : 0;
}

static void skip_blanks(struct lines *l)
{
	while (l->rest.size > 0) {
		size_t size = is_blank(l->rest.data[0]) ? 1 : joint_size(l->rest);

		if (size == 0)
			return;
		advance(l, size);
	}
}

/* In double quotes a backslash is one of the text, unless what follows is special there. */
static bool is_escape(struct wp_span text, uint8_t quote)
{
	if (text.size < 2 || text.data[0] != '\\' || quote == '\'')
		return false;
	return quote == '\0' || (text.data[1] != '\0' && strchr("\\\"$`", text.data[1]) != NULL);
}

/*
 * The next word of a command, as a shell reads it, without its quotes. NULL: the command has no more;
 * what ended it is taken, but for a line's end.
 */
static enum wp_rc next_word(struct lines *l, char **ret)
{
	struct wp_import_properties *p = l->taker->into;
	size_t start = p->texts.size;
	unsigned line;
	uint8_t quote = '\0';
	enum wp_rc rc = WP_OK;

	skip_blanks(l);
	line = l->line;
	*ret = NULL;
	if (l->rest.size == 0 || l->rest.data[0] == '\n')
		return WP_OK;
	if (l->rest.data[0] == '#') {
		advance(l, this_line(l).size);
		return WP_OK;
	}
	if (strchr(";&|", l->rest.data[0]) != NULL) {
		advance(l, 1);
		return WP_OK;
	}
	for (; l->rest.size > 0 && rc == WP_OK; advance(l, 1)) {
		uint8_t c = l->rest.data[0];

		if (quote == '\0' && (is_blank(c) || (c != '\0' && strchr("\n;&|", c) != NULL)))
			break;
		if (c == quote || (quote == '\0' && (c == '"' || c == '\''))) {
			quote = c == quote ? '\0' : c;
			continue;
		}
		if (quote != '\'' && joint_size(l->rest) > 0) {
			advance(l, joint_size(l->rest) - 1);
			continue;
		}
		if (is_escape(l->rest, quote))
			advance(l, 1);
		rc = wp_import_append_byte(p, l->rest.data[0], line, l->taker->error);
	}
	if (rc == WP_OK && quote != '\0')
		return wp_error_set(l->taker->error, WP_CONFIG,
				    "line %u: a quotation mark is not closed", line);
	return rc == WP_OK ? wp_import_end_text(p, start, line, ret, l->taker->error) : rc;
}

/* export NAME=value NAME=value, as in a Dockerfile: ENV */
static enum wp_rc take_assignments(struct lines *l)
{
	unsigned line = l->line;
	char *word;
	enum wp_rc rc = next_word(l, &word);

	for (; rc == WP_OK && word != NULL; rc = next_word(l, &word)) {
		struct wp_span name;
		struct wp_span value;

		if (split(l->taker, wp_span_of(word), &name, &value))
			rc = take(l->taker, name, value, line, 0);
		if (rc != WP_OK)
			return rc;
		line = l->line;
	}
	return rc;
}

static enum wp_rc take_given(struct lines *l, const char *text, unsigned line)
{
	struct wp_span name;
	struct wp_span value;

	if (is_dotted(wp_span_of(text)) && strchr(text, '=') != NULL)
		return take(l->taker, (struct wp_span){ (const uint8_t *)text, strcspn(text, "=") },
			    wp_span_of(strchr(text, '=') + 1), line, l->block);
	if (split(l->taker, wp_span_of(text), &name, &value))
		return take(l->taker, name, value, line, l->block);
	if (is_variable(l->taker, wp_span_of(text)))
		return take(l->taker, wp_span_of(text), (struct wp_span){ 0 }, line, l->block);
	return WP_OK;
}

/* docker run -e NAME=value, -e NAME, -eNAME=value, --env NAME=value, --env=NAME=value */
static enum wp_rc take_options(struct lines *l)
{
	bool is_next = false;
	char *word;
	enum wp_rc rc = next_word(l, &word);

	for (; rc == WP_OK && word != NULL; rc = next_word(l, &word)) {
		unsigned line = l->line;
		const char *given = NULL;

		if (is_next)
			given = word;
		else if (strncmp(word, JOINED, strlen(JOINED)) == 0)
			given = word + strlen(JOINED);
		else if (strncmp(word, "-e", 2) == 0 && word[2] != '\0')
			given = word + 2 + (word[2] == '=');
		is_next = !is_next && (strcmp(word, "-e") == 0 || strcmp(word, "--env") == 0);
		if (given != NULL)
			rc = take_given(l, given, line);
		if (rc != WP_OK)
			return rc;
	}
	return rc;
}

/* Up to a comment. */
static struct wp_span without_comment(struct wp_span value)
{
	for (size_t i = 1; i < value.size; i++)
		if (value.data[i] == '#' && is_blank(value.data[i - 1]))
			value.size = i;
	return trimmed(value);
}

static bool ends_in_backslash(struct wp_span line)
{
	line = trimmed(line);
	return line.size > 0 && line.data[line.size - 1] == '\\';
}

/* NAME=value on a line of its own, as in .env: all of the line is the value, unless it is quoted. */
static enum wp_rc take_line(struct lines *l, struct wp_span name, struct wp_span value)
{
	unsigned line = l->line;

	value = trimmed(value);
	if ((value.size > 0 && (value.data[0] == '"' || value.data[0] == '\'')) ||
	    ends_in_backslash(value))
		return take_assignments(l);
	advance(l, this_line(l).size);
	return take(l->taker, name, without_comment(value), line, 0);
}

static bool has(struct wp_span text, const char *word)
{
	for (; text.size > 0; text = behind(text, 1))
		if (begins(text, word))
			return true;
	return false;
}

static enum wp_rc take_command(struct lines *l)
{
	struct wp_span line = trimmed(this_line(l));
	struct wp_span name;
	struct wp_span value;

	l->block = l->line;
	if (split(l->taker, line, &name, &value))
		return take_line(l, name, value);
	if (begins(line, "export ") || begins(line, "ENV "))
		return take_assignments(l);
	/* What is no command for certain is no words to be read, as a text with an apostrophe. */
	if (begins(line, "#") || begins(line, "- ") || (!has(line, "-e") && !has(line, "--env")) ||
	    (!has(line, "DEBEZIUM_") && !has(line, "debezium."))) {
		advance(l, this_line(l).size);
		return WP_OK;
	}
	return take_options(l);
}

static enum wp_rc take_commands(struct taker *t, struct wp_span text)
{
	struct lines l = { .taker = t, .rest = text, .line = 1 };
	enum wp_rc rc = WP_OK;

	while (l.rest.size > 0 && rc == WP_OK) {
		rc = take_command(&l);
		if (l.rest.size > 0 && l.rest.data[0] == '\n')
			advance(&l, 1);
	}
	return rc;
}

/* Lines with dots in their names are those of application.properties, unless others tell it is none. */
enum wp_rc wp_import_read_variables(struct wp_span text, struct wp_import_properties *p,
				    struct wp_error *error)
{
	struct wp_error why;
	struct taker t = { .into = p, .error = &why };
	enum wp_rc rc = take_commands(&t, text);

	/* What is wrong with the words of another form is nothing. */
	if (rc == WP_CONFIG && !is_server(&t)) {
		p->count = 0;
		return WP_OK;
	}
	if (rc == WP_OK && is_server(&t)) {
		p->count = 0;
		t.has_dots = true;
		rc = take_commands(&t, text);
	}
	return rc == WP_OK ? settle(&t) : wp_error_set(error, rc, "%s", why.text);
}

/* -- compose, Kubernetes --------------------------------------------------------- */

/* What a Secret holds is in base64, and not to be shown. */
static bool is_secret(const struct taker *t, const struct wp_import_node *node)
{
	const struct wp_import_node *parent = &t->tree->nodes[node->parent];
	const char *kind;

	if (parent->parent == WP_IMPORT_NO_NODE)
		return false;
	kind = wp_import_member_text(t->tree, &t->tree->nodes[parent->parent], "kind");
	return kind != NULL && strcmp(kind, "Secret") == 0;
}

/* - name: NAME, with a value, or with what tells where the value is. */
static enum wp_rc take_named(struct taker *t, const struct wp_import_node *node, bool *ret_taken)
{
	const char *name = wp_import_member_text(t->tree, node, "name");
	const struct wp_import_node *value = wp_import_member(t->tree, node, "value");

	*ret_taken = name != NULL && is_variable(t, wp_span_of(name)) &&
		     (value != NULL || wp_import_member(t->tree, node, "valueFrom") != NULL);
	if (!*ret_taken)
		return WP_OK;
	return take(t, wp_span_of(name), wp_span_of(value == NULL ? NULL : value->text), node->line,
		    node->parent);
}

static enum wp_rc take_text(struct taker *t, const struct wp_import_node *node)
{
	struct wp_span text = wp_span_of(node->text);
	struct wp_span name;
	struct wp_span value;

	if (node->name != NULL && is_variable(t, wp_span_of(node->name)))
		return take(t, wp_span_of(node->name),
			    is_secret(t, node) ? (struct wp_span){ 0 } : text, node->line,
			    node->parent);
	if (node->name != NULL || wp_span_is_null(text))
		return WP_OK;
	if (split(t, text, &name, &value))
		return take(t, name, value, node->line, node->parent);
	if (is_variable(t, text))
		return take(t, text, (struct wp_span){ 0 }, node->line, node->parent);
	return WP_OK;
}

static enum wp_rc take_node(struct taker *t, struct wp_import_node *node, bool *ret_taken)
{
	*ret_taken = false;
	if (node->is_read) /* once, also if aliases repeat it */
		return WP_OK;
	node->is_read = node->kind == WP_IMPORT_TEXT || node->kind == WP_IMPORT_NULL;
	if (node->is_read)
		return take_text(t, node);
	return node->kind == WP_IMPORT_OBJECT ? take_named(t, node, ret_taken) : WP_OK;
}

static bool is_compose(const struct wp_import_tree *tree)
{
	for (wp_import_node_index i = tree->nodes[0].first; i != WP_IMPORT_NO_NODE;
	     i = tree->nodes[i].next)
		if (wp_import_member(tree, &tree->nodes[i], "services") != NULL)
			return true;
	return false;
}

enum wp_rc wp_import_take_variables(struct wp_import_tree *tree, struct wp_import_properties *p,
				    struct wp_error *error)
{
	struct taker t = {
		.tree = tree,
		.into = p,
		.error = error,
		.start = p->count,
		.has_dots = !tree->is_json,
		.is_compose = is_compose(tree),
	};
	struct wp_import_walk walk;
	struct wp_import_node *node;
	enum wp_rc rc = WP_OK;

	wp_import_walk_init(&walk);
	for (node = wp_import_walk_next(&walk, tree); node != NULL && rc == WP_OK;
	     node = wp_import_walk_next(&walk, tree))
		rc = take_node(&t, node, &walk.skips);
	if (rc == WP_OK && walk.is_cut)
		return wp_import_refuse_cut(error);
	return rc == WP_OK ? settle(&t) : rc;
}
