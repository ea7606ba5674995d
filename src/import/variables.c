/*
 * The environment of Debezium Server. As it does itself: a name is turned into lower case, and its
 * underscores into dots; DEBEZIUM_SOURCE_PLUGIN_NAME is debezium.source.plugin.name. Names with dots,
 * which containers may have, stay as they are.
 */
#include <ctype.h>
#include <string.h>

#include "tree.h"

#define FORM "Debezium Server's environment"
#define CLASS "debezium.source.connector.class"
/* What is given where the file does not show it: a placeholder, which is marked. */
#define ELSEWHERE "${from the environment}"

static bool begins(struct wp_span text, const char *start)
{
	size_t size = strlen(start);

	return text.size >= size && memcmp(text.data, start, size) == 0;
}

static bool is_variable(struct wp_span name)
{
	if (begins(name, "debezium."))
		return true;
	if (!begins(name, "DEBEZIUM_"))
		return false;
	for (size_t i = 0; i < name.size; i++)
		if (!isupper(name.data[i]) && !isdigit(name.data[i]) && name.data[i] != '_')
			return false;
	return true;
}

static enum wp_rc copy_name(struct wp_import_properties *p, struct wp_span variable, unsigned line,
			    char **ret, struct wp_error *error)
{
	enum wp_rc rc = wp_import_copy_text(p, variable, line, ret, error);

	if (rc != WP_OK || begins(variable, "debezium."))
		return rc;
	for (char *at = *ret; *at != '\0'; at++)
		*at = *at == '_' ? '.' : (char)tolower((unsigned char)*at);
	return WP_OK;
}

/* `value` null: it comes from elsewhere. */
static enum wp_rc add(struct wp_import_properties *p, struct wp_span variable, struct wp_span value,
		      unsigned line, struct wp_error *error)
{
	struct wp_import_property property = { .line = line };
	enum wp_rc rc;
	char *name;

	if (wp_span_is_null(value))
		value = wp_span_of(ELSEWHERE);
	rc = copy_name(p, variable, line, &name, error);
	if (rc == WP_OK)
		rc = wp_import_copy_text(p, value, line, &property.value, error);
	property.name = name;
	return rc == WP_OK ? wp_import_add(p, &property, error) : rc;
}

/* -- lines ----------------------------------------------------------------------- */

static bool is_blank(uint8_t c)
{
	return c == ' ' || c == '\t' || c == '\r';
}

static struct wp_span trimmed(struct wp_span text)
{
	while (text.size > 0 && is_blank(text.data[0]))
		text = (struct wp_span){ text.data + 1, text.size - 1 };
	while (text.size > 0 && is_blank(text.data[text.size - 1]))
		text.size--;
	return text;
}

static struct wp_span next_line(struct wp_span *rest)
{
	const uint8_t *end = memchr(rest->data, '\n', rest->size);
	struct wp_span line = { rest->data, end == NULL ? rest->size : (size_t)(end - rest->data) };
	size_t taken = line.size + (end != NULL);

	*rest = (struct wp_span){ rest->data + taken, rest->size - taken };
	return trimmed(line);
}

/* Of a shell, a Dockerfile. */
static struct wp_span without_command(struct wp_span line)
{
	static const char *const commands[] = { "export ", "ENV " };

	for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++)
		if (begins(line, commands[i]))
			return trimmed((struct wp_span){ line.data + strlen(commands[i]),
							 line.size - strlen(commands[i]) });
	return line;
}

/* NAME=value; false: it sets none. */
static bool split(struct wp_span text, struct wp_span *ret_name, struct wp_span *ret_value)
{
	const uint8_t *equal = text.size == 0 ? NULL : memchr(text.data, '=', text.size);
	size_t size = equal == NULL ? 0 : (size_t)(equal - text.data);

	*ret_name = (struct wp_span){ text.data, size };
	if (equal == NULL || !is_variable(*ret_name))
		return false;
	*ret_value = (struct wp_span){ equal + 1, text.size - size - 1 };
	return true;
}

/* Up to the quote that closes it; false: none does in this line. */
static bool is_quoted(struct wp_span value, size_t *ret_size)
{
	size_t at = 1;

	if (value.size < 2 || (value.data[0] != '"' && value.data[0] != '\''))
		return false;
	while (at < value.size && value.data[at] != value.data[0])
		at += value.data[at] == '\\' && value.data[0] == '"' ? 2 : 1;
	*ret_size = at - 1;
	return at < value.size;
}

/* Without quotes and without a comment. */
static struct wp_span plain(struct wp_span value)
{
	size_t size;

	value = trimmed(value);
	if (is_quoted(value, &size))
		return (struct wp_span){ value.data + 1, size };
	for (size_t i = 1; i < value.size; i++)
		if (value.data[i] == '#' && is_blank(value.data[i - 1]))
			value.size = i;
	return trimmed(value);
}

/* Within double quotes a backslash makes ordinary what is special there. */
static void unescape(char *value)
{
	char *to = value;

	for (; *value != '\0'; *to++ = *value++)
		if (*value == '\\' && value[1] != '\0' && strchr("\\\"$`", value[1]) != NULL)
			value++;
	*to = '\0';
}

/* NAME=value alone: all behind the sign is the value. */
static enum wp_rc take_line(struct wp_import_properties *p, struct wp_span name,
			    struct wp_span value, unsigned line, struct wp_error *error)
{
	bool is_double = trimmed(value).size > 0 && trimmed(value).data[0] == '"';
	enum wp_rc rc = add(p, name, plain(value), line, error);

	if (rc == WP_OK && is_double)
		unescape(p->items[p->count - 1].value);
	return rc;
}

/* As a shell reads it, without its quotes. `line` is moved behind it; NULL: there is none. */
static enum wp_rc next_word(struct wp_span *line, struct wp_import_properties *p, unsigned number,
			    char **ret, struct wp_error *error)
{
	size_t start = p->texts.size;
	uint8_t quote = '\0';
	enum wp_rc rc = WP_OK;

	*line = trimmed(*line);
	*ret = NULL;
	if (line->size == 0)
		return WP_OK;
	for (; line->size > 0 && rc == WP_OK; line->data++, line->size--) {
		uint8_t c = *line->data;

		if (quote == '\0' && is_blank(c))
			break;
		if (c == quote || (quote == '\0' && (c == '"' || c == '\''))) {
			quote = c == quote ? '\0' : c;
			continue;
		}
		if (c == '\\' && quote != '\'' && line->size > 1) {
			line->data++;
			line->size--;
		}
		rc = wp_import_append_byte(p, *line->data, number, error);
	}
	return rc == WP_OK ? wp_import_end_text(p, start, number, ret, error) : rc;
}

/* docker run -e NAME=value --env NAME=value */
static enum wp_rc take_words(struct wp_import_properties *p, struct wp_span line, unsigned number,
			     struct wp_error *error)
{
	bool is_next = false;
	enum wp_rc rc;
	char *word;

	for (rc = next_word(&line, p, number, &word, error); rc == WP_OK && word != NULL;
	     rc = next_word(&line, p, number, &word, error)) {
		bool is_joined = strncmp(word, "--env=", strlen("--env=")) == 0;
		struct wp_span name;
		struct wp_span value;

		if ((is_next || is_joined) &&
		    split(wp_span_of(is_joined ? word + strlen("--env=") : word), &name, &value)) {
			rc = add(p, name, value, number, error);
			if (rc != WP_OK)
				return rc;
		}
		is_next = strcmp(word, "-e") == 0 || strcmp(word, "--env") == 0;
	}
	return rc;
}

/* Nothing, if none is of a source: a tag of an image is often called DEBEZIUM_VERSION. */
static enum wp_rc settle(struct wp_import_properties *p)
{
	for (size_t i = 0; i < p->count; i++)
		if (begins(wp_span_of(p->items[i].name), "debezium.source.")) {
			p->form = FORM;
			return WP_OK;
		}
	p->count = 0;
	return WP_OK;
}

enum wp_rc wp_import_read_variables(struct wp_span text, struct wp_import_properties *p,
				    struct wp_error *error)
{
	enum wp_rc rc = WP_OK;

	for (unsigned number = 1; text.size > 0 && rc == WP_OK; number++) {
		struct wp_span line = next_line(&text);
		struct wp_span name;
		struct wp_span value;

		if (line.size > 0 && line.data[0] == '#')
			continue;
		if (split(without_command(line), &name, &value) && !begins(name, "debezium."))
			rc = take_line(p, name, value, number, error);
		else
			rc = take_words(p, line, number, error);
	}
	return rc == WP_OK ? settle(p) : rc;
}

/* -- compose, Kubernetes --------------------------------------------------------- */

struct taker {
	struct wp_import_tree *tree;
	struct wp_import_properties *into;
	struct wp_error *error;
	bool is_compose;
	unsigned class_line; /* of the Server that was found; 0: none */
};

/* Compose reads two dollar signs as one. */
static void halve_dollars(char *value)
{
	char *to = value;

	for (; *value != '\0'; *to++ = *value++)
		if (value[0] == '$' && value[1] == '$')
			value++;
	*to = '\0';
}

static enum wp_rc take(struct taker *t, struct wp_span name, struct wp_span value, unsigned line)
{
	enum wp_rc rc = add(t->into, name, value, line, t->error);
	struct wp_import_property *last;

	if (rc != WP_OK)
		return rc;
	last = &t->into->items[t->into->count - 1];
	if (t->is_compose)
		halve_dollars(last->value);
	if (strcmp(last->name, CLASS) != 0)
		return WP_OK;
	if (t->class_line != 0)
		return wp_error_set(t->error, WP_CONFIG,
				    "lines %u and %u: two Debezium Servers; pass the environment "
				    "of one",
				    t->class_line, line);
	t->class_line = line;
	return WP_OK;
}

/* - name: NAME, with a value, or with what tells where the value is. */
static enum wp_rc take_named(struct taker *t, struct wp_import_node *node, bool *ret_taken)
{
	const char *name = wp_import_member_text(t->tree, node, "name");
	const struct wp_import_node *value = wp_import_member(t->tree, node, "value");

	*ret_taken = name != NULL && is_variable(wp_span_of(name)) &&
		     (value != NULL || wp_import_member(t->tree, node, "valueFrom") != NULL);
	if (!*ret_taken)
		return WP_OK;
	return take(t, wp_span_of(name), wp_span_of(value == NULL ? NULL : value->text),
		    node->line);
}

static enum wp_rc take_text(struct taker *t, const struct wp_import_node *node)
{
	struct wp_span text = wp_span_of(node->text);
	struct wp_span name;
	struct wp_span value;

	if (node->name != NULL && is_variable(wp_span_of(node->name)))
		return take(t, wp_span_of(node->name), text, node->line);
	if (node->name != NULL || wp_span_is_null(text))
		return WP_OK;
	if (split(text, &name, &value))
		return take(t, name, value, node->line);
	if (is_variable(text))
		return take(t, text, (struct wp_span){ 0 }, node->line);
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

enum wp_rc wp_import_take_variables(struct wp_import_tree *tree, struct wp_import_properties *p,
				    struct wp_error *error)
{
	struct taker t = { .tree = tree, .into = p, .error = error };
	struct wp_import_walk walk;
	struct wp_import_node *node;
	enum wp_rc rc = WP_OK;

	for (wp_import_node_index i = tree->nodes[0].first; i != WP_IMPORT_NO_NODE;
	     i = tree->nodes[i].next)
		t.is_compose =
			t.is_compose || wp_import_member(tree, &tree->nodes[i], "services") != NULL;
	wp_import_walk_init(&walk);
	for (node = wp_import_walk_next(&walk, tree); node != NULL && rc == WP_OK;
	     node = wp_import_walk_next(&walk, tree)) {
		bool taken;

		rc = take_node(&t, node, &taken);
		walk.skips = taken;
	}
	return rc == WP_OK ? settle(p) : rc;
}
