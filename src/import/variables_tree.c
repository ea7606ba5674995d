/*
 * Reads variables of Debezium Server in compose files and in resources of Kubernetes: a map, a list
 * of NAME=value, or a list of name and value. Each is a block.
 */
#include <string.h>
#include <strings.h>

#include "variables.h"

/* The values of a Secret are in base64, and not to be shown. */
static bool is_secret(const struct wp_import_taker *t, const struct wp_import_node *node)
{
	const struct wp_import_node *parent = &t->tree->nodes[node->parent];
	const char *kind;

	if (parent->parent == WP_IMPORT_NO_NODE)
		return false;
	kind = wp_import_member_text(t->tree, &t->tree->nodes[parent->parent], "kind");
	return kind != NULL && strcmp(kind, "Secret") == 0;
}

/* -- what else is set ---------------------------------------------------------------- */

#define MERGES_MAX 16 /* within each other */
/* This bounds all questions: lists of merges that repeat each other would multiply. */
#define MERGES_ALL_MAX 100000

/* Finds also what YAML's merge key takes over; NULL if there is none. */
static const struct wp_import_node *find_member(struct wp_import_taker *t,
						const struct wp_import_node *node, const char *name,
						unsigned depth)
{
	const struct wp_import_node *found = wp_import_member(t->tree, node, name);
	const struct wp_import_node *merged = wp_import_member(t->tree, node, "<<");

	if (found != NULL || merged == NULL || depth == 0 || t->merges_left == 0)
		return found;
	t->merges_left--;
	if (merged->kind == WP_IMPORT_OBJECT)
		return find_member(t, merged, name, depth - 1);
	for (wp_import_node_index i = merged->first; i != WP_IMPORT_NO_NODE && found == NULL;
	     i = t->tree->nodes[i].next)
		found = find_member(t, &t->tree->nodes[i], name, depth - 1);
	return found;
}

static const struct wp_import_node *member(struct wp_import_taker *t,
					   const struct wp_import_node *node, const char *name)
{
	return find_member(t, node, name, MERGES_MAX);
}

/* Is there one in an environment: a map, a list of NAME=value, or of name and value? */
static bool has_server_variable(struct wp_import_taker *t, const struct wp_import_node *env,
				unsigned depth)
{
	const struct wp_import_node *nodes = t->tree->nodes;

	if (t->merges_left == 0)
		return false;
	t->merges_left--;
	for (wp_import_node_index i = env->first; i != WP_IMPORT_NO_NODE; i = nodes[i].next) {
		const char *name = nodes[i].name != NULL ? nodes[i].name : nodes[i].text;

		if (name == NULL)
			name = wp_import_member_text(t->tree, &nodes[i], "name");
		if (name != NULL && wp_import_is_server_variable(wp_span_of(name)))
			return true;
		if (name != NULL && strcmp(name, "<<") == 0 && depth > 0 &&
		    has_server_variable(t, &nodes[i], depth - 1))
			return true;
		if (nodes[i].kind == WP_IMPORT_OBJECT && nodes[i].name == NULL && depth > 0 &&
		    has_server_variable(t, &nodes[i], depth - 1))
			return true;
	}
	return false;
}

/* A container is a Server if its variables stand there, or its image is Debezium Server's. */
static bool is_server(struct wp_import_taker *t, const struct wp_import_node *container)
{
	static const char *const names[] = { "environment", "env" };
	const struct wp_import_node *image = member(t, container, "image");

	if (image != NULL && image->text != NULL && strstr(image->text, "debezium/server") != NULL)
		return true;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		const struct wp_import_node *env = member(t, container, names[i]);

		if (env != NULL && has_server_variable(t, env, MERGES_MAX))
			return true;
	}
	return false;
}

/* Is there a resource of this kind and name in the file? */
static bool has_resource(const struct wp_import_taker *t, const char *kind, const char *name)
{
	for (size_t i = 0; i < t->tree->count; i++) {
		const struct wp_import_node *node = &t->tree->nodes[i];
		const char *own_kind = wp_import_member_text(t->tree, node, "kind");
		const struct wp_import_node *metadata = wp_import_member(t->tree, node, "metadata");
		const char *own_name =
			metadata == NULL ? NULL : wp_import_member_text(t->tree, metadata, "name");

		if (own_kind != NULL && own_name != NULL && strcmp(own_kind, kind) == 0 &&
		    strcmp(own_name, name) == 0)
			return true;
	}
	return false;
}

/*
 * envFrom names resources: those that are not in the file, or whose names get a prefix, are not
 * read.
 */
static void take_references(struct wp_import_taker *t, const struct wp_import_node *list)
{
	static const char *const kinds[][2] = { { "configMapRef", "ConfigMap" },
						{ "secretRef", "Secret" } };
	const struct wp_import_node *nodes = t->tree->nodes;

	for (wp_import_node_index i = list->first; i != WP_IMPORT_NO_NODE; i = nodes[i].next)
		for (size_t j = 0; j < sizeof(kinds) / sizeof(kinds[0]); j++) {
			const struct wp_import_node *reference =
				wp_import_member(t->tree, &nodes[i], kinds[j][0]);
			const char *name =
				reference == NULL
					? NULL
					: wp_import_member_text(t->tree, reference, "name");
			bool is_here = name != NULL && has_resource(t, kinds[j][1], name) &&
				       wp_import_member(t->tree, &nodes[i], "prefix") == NULL;

			if (reference != NULL && !is_here)
				wp_import_take_further(t, kinds[j][0], nodes[i].line);
		}
}

/* Debezium Server's own file may be read from these: "source:target", target: or mountPath:. */
static void take_mounts(struct wp_import_taker *t, const char *what,
			const struct wp_import_node *list)
{
	const struct wp_import_node *nodes = t->tree->nodes;

	for (wp_import_node_index i = list->first; i != WP_IMPORT_NO_NODE; i = nodes[i].next) {
		const char *target = nodes[i].text;

		if (target == NULL)
			target = wp_import_member_text(t->tree, &nodes[i], "target");
		if (target == NULL)
			target = wp_import_member_text(t->tree, &nodes[i], "mountPath");
		if (target != NULL && wp_import_is_mount(target))
			wp_import_take_further(t, what, nodes[i].line);
	}
}

/* Takes a command as one text, or as a list. */
static void take_command(struct wp_import_taker *t, const char *name,
			 const struct wp_import_node *command)
{
	bool found = wp_import_java_option(wp_span_of(command->text)) != NULL;

	for (wp_import_node_index i = command->first; i != WP_IMPORT_NO_NODE;
	     i = t->tree->nodes[i].next)
		found = found || wp_import_java_option(wp_span_of(t->tree->nodes[i].text)) != NULL;
	if (found)
		wp_import_take_further(t, name, command->line);
}

static void take_further(struct wp_import_taker *t, const struct wp_import_node *container)
{
	static const struct {
		const char *name;
		enum { FILES, EXTENDS, REFERENCES, MOUNTS, COMMAND } kind;
	} members[] = {
		{ "env_file", FILES },	   { "environmentFiles", FILES },
		{ "extends", EXTENDS },	   { "envFrom", REFERENCES },
		{ "volumes", MOUNTS },	   { "volumeMounts", MOUNTS },
		{ "configs", MOUNTS },	   { "command", COMMAND },
		{ "entrypoint", COMMAND }, { "args", COMMAND },
	};
	bool is_known = false;

	for (size_t i = 0; i < sizeof(members) / sizeof(members[0]); i++) {
		const struct wp_import_node *node = member(t, container, members[i].name);

		if (node == NULL)
			continue;
		is_known = is_known || is_server(t, container);
		if (!is_known)
			return;
		if (members[i].kind == FILES ||
		    (members[i].kind == EXTENDS && wp_import_member(t->tree, node, "file") != NULL))
			wp_import_take_further(t, members[i].name, node->line);
		else if (members[i].kind == REFERENCES)
			take_references(t, node);
		/* Beside the file that was read a mount is most likely the place of this one. */
		else if (members[i].kind == MOUNTS && t->start == 0)
			take_mounts(t, members[i].name, node);
		else if (members[i].kind == COMMAND)
			take_command(t, members[i].name, node);
	}
}

/* -- variables ----------------------------------------------------------------------- */

/* Is it Quarkus's or Java's, in the container of another program? Beside a file nobody can tell. */
static bool is_of_another(struct wp_import_taker *t, struct wp_span name,
			  const struct wp_import_node *env)
{
	bool is_environment = env->name != NULL && (strcmp(env->name, "environment") == 0 ||
						    strcmp(env->name, "env") == 0);

	return t->start == 0 && is_environment && env->parent != WP_IMPORT_NO_NODE &&
	       wp_import_is_about_all(name) && !is_server(t, &t->tree->nodes[env->parent]);
}

/* Takes - name: NAME, with a value, or with what tells where the value is. */
static enum wp_rc take_named(struct wp_import_taker *t, const struct wp_import_node *node,
			     bool *ret_taken)
{
	const char *name = wp_import_member_text(t->tree, node, "name");
	const struct wp_import_node *value = wp_import_member(t->tree, node, "value");
	enum wp_rc rc;

	*ret_taken = name != NULL && wp_import_is_variable(t, wp_span_of(name)) &&
		     (value != NULL || wp_import_member(t->tree, node, "valueFrom") != NULL) &&
		     !is_of_another(t, wp_span_of(name), &t->tree->nodes[node->parent]);
	if (!*ret_taken)
		return WP_OK;
	t->is_container = t->is_kubernetes && value != NULL;
	rc = wp_import_take_variable(t, wp_span_of(name),
				     wp_span_of(value == NULL ? NULL : value->text), node->line,
				     node->parent);
	t->is_container = false;
	return rc;
}

/* In YAML 1.1 yes is true; to compose it is a text like any other. */
static const char *text_of(const struct wp_import_taker *t, const struct wp_import_node *node)
{
	bool is_bool = node->raw == NULL || strcasecmp(node->raw, "true") == 0 ||
		       strcasecmp(node->raw, "false") == 0;

	return t->is_compose && !is_bool ? node->raw : node->text;
}

static enum wp_rc take_text(struct wp_import_taker *t, const struct wp_import_node *node)
{
	const struct wp_import_node *env = &t->tree->nodes[node->parent];
	struct wp_span text = wp_span_of(text_of(t, node));
	struct wp_span name;
	struct wp_span value;

	if (node->name != NULL && is_of_another(t, wp_span_of(node->name), env))
		return WP_OK;
	if (node->name != NULL && wp_import_is_variable(t, wp_span_of(node->name)))
		return wp_import_take_variable(t, wp_span_of(node->name),
					       is_secret(t, node) ? (struct wp_span){ 0 } : text,
					       node->line, node->parent);
	if (node->name != NULL || wp_span_is_null(text))
		return WP_OK;
	if (wp_import_split_variable(t, text, &name, &value))
		return is_of_another(t, name, env)
			       ? WP_OK
			       : wp_import_take_variable(t, name, value, node->line, node->parent);
	if (wp_import_is_variable(t, text) && !is_of_another(t, text, env))
		return wp_import_take_variable(t, text, (struct wp_span){ 0 }, node->line,
					       node->parent);
	return WP_OK;
}

static enum wp_rc take_node(struct wp_import_taker *t, struct wp_import_node *node, bool *ret_taken)
{
	*ret_taken = false;
	if (node->is_read) /* once, also if aliases repeat it */
		return WP_OK;
	node->is_read = node->kind == WP_IMPORT_TEXT || node->kind == WP_IMPORT_NULL;
	if (node->is_read)
		return take_text(t, node);
	if (node->kind != WP_IMPORT_OBJECT)
		return WP_OK;
	take_further(t, node);
	return take_named(t, node, ret_taken);
}

static bool has_member(const struct wp_import_tree *tree, const char *name)
{
	for (wp_import_node_index i = tree->nodes[0].first; i != WP_IMPORT_NO_NODE;
	     i = tree->nodes[i].next)
		if (wp_import_member(tree, &tree->nodes[i], name) != NULL)
			return true;
	return false;
}

enum wp_rc wp_import_take_variables(struct wp_import_tree *tree, struct wp_import_properties *p,
				    struct wp_error *error)
{
	struct wp_import_taker t = {
		.tree = tree,
		.into = p,
		.error = error,
		.start = p->count,
		.has_dots = !tree->is_json,
		.is_compose = has_member(tree, "services"),
		.is_kubernetes = has_member(tree, "kind"),
		.merges_left = MERGES_ALL_MAX,
	};
	struct wp_import_walk walk;
	struct wp_import_node *node;
	enum wp_rc rc = WP_OK;

	wp_import_walk_init(&walk);
	for (node = wp_import_walk_next(&walk, tree); node != NULL && rc == WP_OK;
	     node = wp_import_walk_next(&walk, tree))
		rc = take_node(&t, node, &walk.skips);
	if (rc == WP_OK && (walk.is_cut || t.merges_left == 0))
		return wp_import_refuse_cut(error);
	if (rc == WP_OK)
		wp_import_settle(&t);
	return rc;
}
