/*
 * Variables of Debezium Server in compose files and in resources of Kubernetes: a map, a list of
 * NAME=value, or a list of name and value. Each is a block.
 */
#include <string.h>
#include <strings.h>

#include "variables.h"

/* What a Secret holds is in base64, and not to be shown. */
static bool is_secret(const struct wp_import_taker *t, const struct wp_import_node *node)
{
	const struct wp_import_node *parent = &t->tree->nodes[node->parent];
	const char *kind;

	if (parent->parent == WP_IMPORT_NO_NODE)
		return false;
	kind = wp_import_member_text(t->tree, &t->tree->nodes[parent->parent], "kind");
	return kind != NULL && strcmp(kind, "Secret") == 0;
}

/* - name: NAME, with a value, or with what tells where the value is. */
static enum wp_rc take_named(struct wp_import_taker *t, const struct wp_import_node *node,
			     bool *ret_taken)
{
	const char *name = wp_import_member_text(t->tree, node, "name");
	const struct wp_import_node *value = wp_import_member(t->tree, node, "value");

	*ret_taken = name != NULL && wp_import_is_variable(t, wp_span_of(name)) &&
		     (value != NULL || wp_import_member(t->tree, node, "valueFrom") != NULL);
	if (!*ret_taken)
		return WP_OK;
	return wp_import_take_variable(t, wp_span_of(name),
				       wp_span_of(value == NULL ? NULL : value->text), node->line,
				       node->parent);
}

/* Of YAML 1.1, which others take for true and false. */
static bool is_word(const char *raw)
{
	return raw != NULL && strcasecmp(raw, "true") != 0 && strcasecmp(raw, "false") != 0;
}

/* -- what else is set ---------------------------------------------------------------- */

/* Of a container: its variables stand there, or its image is Debezium Server's. */
static bool is_server(const struct wp_import_taker *t, const struct wp_import_node *container)
{
	static const char *const names[] = { "environment", "env" };
	const char *image = wp_import_member_text(t->tree, container, "image");
	const struct wp_import_node *nodes = t->tree->nodes;
	bool found = image != NULL && strstr(image, "debezium/server") != NULL;

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		const struct wp_import_node *env = wp_import_member(t->tree, container, names[i]);

		for (wp_import_node_index j = env == NULL ? WP_IMPORT_NO_NODE : env->first;
		     j != WP_IMPORT_NO_NODE && !found; j = nodes[j].next) {
			const char *name =
				nodes[j].name != NULL ? nodes[j].name
				: nodes[j].text != NULL
					? nodes[j].text
					: wp_import_member_text(t->tree, &nodes[j], "name");

			found = name != NULL && (wp_span_begins(wp_span_of(name), "DEBEZIUM_") ||
						 wp_import_is_dotted(wp_span_of(name)));
		}
	}
	return found;
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

static void take_references(struct wp_import_taker *t, const struct wp_import_node *list)
{
	static const struct {
		const char *reference;
		const char *kind;
		bool is_secret;
	} kinds[] = { { "configMapRef", "ConfigMap", false }, { "secretRef", "Secret", true } };
	const struct wp_import_node *nodes = t->tree->nodes;

	for (wp_import_node_index i = list->first; i != WP_IMPORT_NO_NODE; i = nodes[i].next)
		for (size_t j = 0; j < sizeof(kinds) / sizeof(kinds[0]); j++) {
			const struct wp_import_node *reference =
				wp_import_member(t->tree, &nodes[i], kinds[j].reference);
			const char *name =
				reference == NULL
					? NULL
					: wp_import_member_text(t->tree, reference, "name");

			if (reference != NULL &&
			    (name == NULL || !has_resource(t, kinds[j].kind, name)))
				wp_import_take_further(t, kinds[j].reference, nodes[i].line,
						       kinds[j].is_secret);
		}
}

/* Volumes of compose, and mounts of Kubernetes, where Debezium Server's own file is read from. */
static void take_mounts(struct wp_import_taker *t, const struct wp_import_node *list)
{
	const struct wp_import_node *nodes = t->tree->nodes;

	for (wp_import_node_index i = list->first; i != WP_IMPORT_NO_NODE; i = nodes[i].next) {
		const char *target = nodes[i].text != NULL
					     ? nodes[i].text
					     : wp_import_member_text(t->tree, &nodes[i], "target");

		if (target == NULL)
			target = wp_import_member_text(t->tree, &nodes[i], "mountPath");
		if (target != NULL && wp_import_is_mount(wp_span_of(target)))
			wp_import_take_further(t, "the volume", nodes[i].line, false);
	}
}

static void take_further(struct wp_import_taker *t, const struct wp_import_node *node)
{
	const struct wp_import_node *file = wp_import_member(t->tree, node, "env_file");
	const struct wp_import_node *references = wp_import_member(t->tree, node, "envFrom");
	const struct wp_import_node *volumes = wp_import_member(t->tree, node, "volumes");
	const struct wp_import_node *mounts = wp_import_member(t->tree, node, "volumeMounts");

	if ((file == NULL && references == NULL && volumes == NULL && mounts == NULL) ||
	    !is_server(t, node))
		return;
	if (file != NULL)
		wp_import_take_further(t, "env_file", file->line, false);
	if (references != NULL)
		take_references(t, references);
	/* Beside the file that was read it is most likely the place of this one. */
	if (volumes != NULL && t->start == 0)
		take_mounts(t, volumes);
	if (mounts != NULL && t->start == 0)
		take_mounts(t, mounts);
}

static enum wp_rc take_text(struct wp_import_taker *t, const struct wp_import_node *node)
{
	/* To compose yes is a text like any other. */
	struct wp_span text =
		wp_span_of(t->is_compose && is_word(node->raw) ? node->raw : node->text);
	struct wp_span name;
	struct wp_span value;

	if (node->name != NULL && wp_import_is_variable(t, wp_span_of(node->name)))
		return wp_import_take_variable(t, wp_span_of(node->name),
					       is_secret(t, node) ? (struct wp_span){ 0 } : text,
					       node->line, node->parent);
	if (node->name != NULL || wp_span_is_null(text))
		return WP_OK;
	if (wp_import_split_variable(t, text, &name, &value))
		return wp_import_take_variable(t, name, value, node->line, node->parent);
	if (wp_import_is_variable(t, text))
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
	struct wp_import_taker t = {
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
	if (rc == WP_OK)
		wp_import_settle(&t);
	return rc;
}
