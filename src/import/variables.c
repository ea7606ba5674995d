/*
 * Reads the environment of Debezium Server. As it does itself, a name is turned into lower case,
 * and its underscores into dots; DEBEZIUM_SOURCE_PLUGIN_NAME is debezium.source.plugin.name. Names
 * with dots, which containers may have, stay as they are.
 *
 * A file may hold several environments. Variables of one stand in one block: a map, a list, one
 * `docker run`. What several blocks say together is one environment unless they differ.
 */
#include <ctype.h>
#include <string.h>

#include "variables.h"

#define FORM "Debezium Server's environment"
#define SOURCE "debezium.source."
#define MERGES_MAX 16 /* within each other */
/* This value is given where the file does not show it: a placeholder, which is marked. */
#define ELSEWHERE "${from the environment}"

bool wp_import_is_dotted(struct wp_span name)
{
	static const char *const starts[] = { SOURCE, "debezium.sink.", "debezium.format.",
					      "debezium.transforms", "debezium.predicates" };

	for (size_t i = 0; i < sizeof(starts) / sizeof(starts[0]); i++)
		if (wp_span_begins(name, starts[i]))
			return true;
	return false;
}

static bool is_of_java(struct wp_span name)
{
	static const char *const names[] = { "JAVA_OPTS", "JAVA_OPTS_APPEND", "JAVA_TOOL_OPTIONS",
					     "JDK_JAVA_OPTIONS", "_JAVA_OPTIONS" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (wp_span_is(name, names[i]))
			return true;
	return false;
}

bool wp_import_is_about_all(struct wp_span name)
{
	static const char *const starts[] = { "QUARKUS_PROFILE",  "QUARKUS_CONFIG_",
					      "SMALLRYE_CONFIG_", "quarkus.profile",
					      "quarkus.config.",  "smallrye.config." };

	for (size_t i = 0; i < sizeof(starts) / sizeof(starts[0]); i++)
		if (wp_span_begins(name, starts[i]))
			return true;
	return is_of_java(name) || (wp_span_begins(name, "_") && wp_span_has(name, "_DEBEZIUM_"));
}

bool wp_import_is_server_variable(struct wp_span name)
{
	static const char *const starts[] = { "DEBEZIUM_SOURCE_", "DEBEZIUM_SINK_",
					      "DEBEZIUM_FORMAT_", "DEBEZIUM_TRANSFORMS",
					      "DEBEZIUM_PREDICATES" };

	for (size_t i = 0; i < sizeof(starts) / sizeof(starts[0]); i++)
		if (wp_span_begins(name, starts[i]))
			return true;
	return wp_import_is_dotted(name);
}

bool wp_import_is_variable(const struct wp_import_taker *t, struct wp_span name)
{
	if (wp_import_is_about_all(name) || (t->has_dots && wp_import_is_dotted(name)))
		return true;
	if (!wp_span_begins(name, "DEBEZIUM_"))
		return false;
	for (size_t i = 0; i < name.size; i++)
		if (!isupper(name.data[i]) && !isdigit(name.data[i]) && name.data[i] != '_')
			return false;
	return true;
}

/* -- one of them ------------------------------------------------------------------- */

static enum wp_rc copy_name(struct wp_import_taker *t, struct wp_span variable, unsigned line,
			    char **ret)
{
	enum wp_rc rc = wp_import_copy_text(t->into, variable, line, ret, t->error);

	if (rc != WP_OK || wp_import_is_dotted(variable) || wp_import_is_about_all(variable))
		return rc;
	t->has_variables = true;
	for (char *at = *ret; *at != '\0'; at++)
		*at = *at == '_' ? '.' : (char)tolower((unsigned char)*at);
	return WP_OK;
}

/* Compose reads two dollar signs as one; Kubernetes does in what a container sets. */
static void halve_dollars(char *value)
{
	char *to = value;

	for (; *value != '\0'; *to++ = *value++)
		if (value[0] == '$' && value[1] == '$')
			value++;
	*to = '\0';
}

/* Does the object take over what stands in the other, by YAML's merge key? */
static bool merges(const struct wp_import_tree *tree, const struct wp_import_node *object,
		   const struct wp_import_node *other, unsigned depth)
{
	const struct wp_import_node *nodes = tree->nodes;
	const struct wp_import_node *merged = wp_import_member(tree, object, "<<");

	if (merged == NULL || depth == 0)
		return false;
	if (merged->kind == WP_IMPORT_OBJECT)
		return merged->first == other->first || merges(tree, merged, other, depth - 1);
	for (wp_import_node_index i = merged->first; i != WP_IMPORT_NO_NODE; i = nodes[i].next)
		if (nodes[i].first == other->first || merges(tree, &nodes[i], other, depth - 1))
			return true;
	return false;
}

/* Does `a` stand before `b` in some list <<: [*a, *b]? */
static bool precedes(const struct wp_import_tree *tree, const struct wp_import_node *a,
		     const struct wp_import_node *b)
{
	for (size_t i = 0; i < tree->count; i++) {
		const struct wp_import_node *list = &tree->nodes[i];
		bool seen = false;

		if (list->kind != WP_IMPORT_LIST || list->name == NULL ||
		    strcmp(list->name, "<<") != 0)
			continue;
		for (wp_import_node_index j = list->first; j != WP_IMPORT_NO_NODE;
		     j = tree->nodes[j].next) {
			if (seen && tree->nodes[j].first == b->first)
				return true;
			seen = seen || tree->nodes[j].first == a->first;
		}
	}
	return false;
}

/* In Kubernetes a container's env wins over what envFrom takes from a ConfigMap. */
static bool is_over_config_map(const struct wp_import_node *env, const struct wp_import_node *data)
{
	return env->kind == WP_IMPORT_LIST && data->kind == WP_IMPORT_OBJECT &&
	       data->name != NULL && strcmp(data->name, "data") == 0;
}

/* Do values of the block win over those of the other? */
static bool beats(const struct wp_import_taker *t, unsigned block, unsigned other)
{
	const struct wp_import_tree *tree = t->tree;

	if (tree == NULL || block >= tree->count || other >= tree->count)
		return false;
	return merges(tree, &tree->nodes[block], &tree->nodes[other], MERGES_MAX) ||
	       precedes(tree, &tree->nodes[block], &tree->nodes[other]) ||
	       is_over_config_map(&tree->nodes[block], &tree->nodes[other]);
}

/* Is it a variable that is only passed on: docker run -e NAME, -e NAME="$NAME"? */
static bool is_passed_on(const struct wp_import_property *property)
{
	const char *at = property->value;
	const char *name = property->name;

	if (strcmp(at, ELSEWHERE) == 0)
		return true;
	if (*at++ != '$')
		return false;
	at += *at == '{';
	for (; *name != '\0'; name++, at++)
		if (*at != (*name == '.' ? '_' : (char)toupper((unsigned char)*name)))
			return false;
	return *at == '\0' || strcmp(at, "}") == 0;
}

/* Returns the size of a name up to the salt of a mask, which is a secret. */
static int shown_size(const char *name)
{
	static const char salt[] = ".with.salt.";
	const char *at = strstr(name, salt);

	return (int)(at == NULL ? strlen(name) : (size_t)(at - name) + strlen(salt));
}

/* Judges it against those that are there already. `ret_wins` tells whether it is to be added. */
static enum wp_rc judge(struct wp_import_taker *t, const struct wp_import_property *new,
			bool *ret_wins)
{
	*ret_wins = true;
	/* Others may have these, too. */
	if (wp_import_is_about_all(wp_span_of(new->name)))
		return WP_OK;
	for (size_t i = t->start; i < t->into->count; i++) {
		const struct wp_import_property *old = &t->into->items[i];

		if (old->block == new->block || strcmp(old->name, new->name) != 0 ||
		    strcmp(old->value, new->value) == 0 || is_passed_on(old))
			continue;
		if (is_passed_on(new) || beats(t, old->block, new->block))
			*ret_wins = false;
		else if (!beats(t, new->block, old->block))
			return wp_error_set(t->error, WP_CONFIG,
					    "lines %u and %u set %.*s to different values, as for "
					    "two Debezium Servers: pass the environment of one",
					    old->line, new->line, shown_size(new->name), new->name);
	}
	return WP_OK;
}

const char *wp_import_java_option(struct wp_span text)
{
	static const char *const options[] = { "-Ddebezium.", "-Dquarkus.", "-Dsmallrye." };

	for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++)
		if (wp_span_has(text, options[i]))
			return options[i];
	return NULL;
}

enum wp_rc wp_import_take_variable(struct wp_import_taker *t, struct wp_span variable,
				   struct wp_span value, unsigned line, unsigned block)
{
	struct wp_import_property property = { .line = line, .block = block };
	bool wins;
	enum wp_rc rc;
	char *name;

	/* Options that set no property are not told of: most are about memory. */
	if (is_of_java(variable) && !wp_span_is_null(value) &&
	    wp_import_java_option(value) == NULL && !wp_span_has(value, "$"))
		return WP_OK;
	if (wp_span_is_null(value))
		value = wp_span_of(ELSEWHERE);
	rc = copy_name(t, variable, line, &name);
	if (rc == WP_OK)
		rc = wp_import_copy_text(t->into, value, line, &property.value, t->error);
	if (rc != WP_OK)
		return rc;
	property.name = name;
	if (t->is_compose || t->is_container)
		halve_dollars(property.value);
	property.is_halved = t->is_compose || t->is_container;
	rc = judge(t, &property, &wins);
	return rc == WP_OK && wins ? wp_import_add(t->into, &property, t->error) : rc;
}

/*
 * A tag of an image is often called DEBEZIUM_VERSION, and a script's own variable
 * DEBEZIUM_SOURCE_HOST: lines are a Server's only if they have what no Server is without.
 */
bool wp_import_has_server(const struct wp_import_taker *t)
{
	static const char *const signs[] = { SOURCE "connector.class", SOURCE "table.include.list",
					     "debezium.transforms" };

	for (size_t i = t->start; i < t->into->count; i++) {
		const char *name = t->into->items[i].name;

		if (t->tree != NULL && wp_span_begins(wp_span_of(name), SOURCE))
			return true;
		for (size_t j = 0; j < sizeof(signs) / sizeof(signs[0]); j++)
			if (strcmp(name, signs[j]) == 0)
				return true;
	}
	return false;
}

void wp_import_take_further(struct wp_import_taker *t, const char *what, unsigned line)
{
	struct wp_import_properties *p = t->into;

	for (size_t i = 0; i < p->further_count; i++)
		if (p->further[i].line == line && p->further[i].what == what)
			return;
	if (p->further_count < WP_IMPORT_FURTHER_MAX)
		p->further[p->further_count++] = (struct wp_import_further){ what, line };
}

bool wp_import_is_mount(const char *text)
{
	static const char folder[] = "/debezium";

	for (const char *at = strstr(text, folder); at != NULL; at = strstr(at + 1, folder)) {
		const char *end = at + strlen(folder);

		/* At the beginning it is the source, if a target follows. */
		if (at == text ? strstr(at, ":/") != NULL : strchr(":=", at[-1]) == NULL)
			continue;
		end += strncmp(end, "/conf", strlen("/conf")) == 0 ? strlen("/conf") : 0;
		end += strncmp(end, "ig", 2) == 0 ? 2 : 0;
		if (strncmp(end, "/application", strlen("/application")) == 0)
			return true;
		end += *end == '/';
		if (strchr(":,", *end) != NULL)
			return true;
	}
	return false;
}

/* None counts if they are not a Server's; beside the Server's file some of them do. */
void wp_import_settle(struct wp_import_taker *t)
{
	if (t->start == 0 && !wp_import_has_server(t))
		t->into->count = t->into->further_count = 0;
	if (t->start == 0 && t->into->count > 0)
		t->into->form = t->has_variables ? FORM : "Debezium Server's properties";
}

bool wp_import_split_variable(const struct wp_import_taker *t, struct wp_span text,
			      struct wp_span *ret_name, struct wp_span *ret_value)
{
	const uint8_t *equal = text.size == 0 ? NULL : memchr(text.data, '=', text.size);
	size_t size = equal == NULL ? 0 : (size_t)(equal - text.data);

	*ret_name = (struct wp_span){ text.data, size };
	if (equal == NULL || !wp_import_is_variable(t, *ret_name))
		return false;
	*ret_value = wp_span_after(text, size + 1);
	return true;
}
