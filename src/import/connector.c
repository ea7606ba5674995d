/* Finds which connector of a file is meant, and takes its properties. */
#include <stdio.h>
#include <string.h>

#include "tree.h"

#define CONNECTORS_MAX 16
#define MERGES_MAX 16 /* within each other */
#define NAMES_SIZE 256
#define OF_ANSWERS "; from Kafka Connect, pass the answer to GET /connectors/NAME"

enum form {
	CONNECT_JSON, /* properties, connector.class among them */
	STRIMZI,      /* class and config: spec of a KafkaConnector */
	SERVER_YAML,  /* debezium: as a map */
	PROPERTIES,   /* a text, as in a ConfigMap */
};

struct connector {
	const struct wp_import_node *node;   /* that has the properties */
	const struct wp_import_node *around; /* NULL: nothing of it is told */
	enum form form;
};

struct finder {
	struct wp_import_tree *tree;
	struct wp_import_properties *into;
	struct wp_error *error;
	struct connector found[CONNECTORS_MAX];
	size_t count;					      /* may be more than CONNECTORS_MAX */
	const struct wp_import_node *of_operator;	      /* a DebeziumServer; NULL: none */
	const struct wp_import_node *workers[CONNECTORS_MAX]; /* each a KafkaConnect */
	size_t worker_count;
};

static bool is_object(const struct wp_import_node *node)
{
	return node != NULL && node->kind == WP_IMPORT_OBJECT;
}

static void find(struct finder *f, const struct wp_import_node *node,
		 const struct wp_import_node *around, enum form form)
{
	if (f->count < CONNECTORS_MAX)
		f->found[f->count] = (struct connector){ node, around, form };
	f->count++;
}

static bool has_text(const struct finder *f, const struct wp_import_node *node, const char *name)
{
	return wp_import_member_text(f->tree, node, name) != NULL;
}

/* Is it a name such as application.properties, and below it the file? */
static bool is_file(const struct wp_import_node *node)
{
	return node->text != NULL && wp_span_ends(wp_span_of(node->name), ".properties") &&
	       strstr(node->text, "connector.class") != NULL;
}

/* Returns true if nothing below the node is to be looked at. */
static bool look_at(struct finder *f, const struct wp_import_node *node)
{
	const struct wp_import_node *config = wp_import_member(f->tree, node, "config");
	const struct wp_import_node *server = wp_import_member(f->tree, node, "debezium");
	const char *kind = wp_import_member_text(f->tree, node, "kind");

	if (kind != NULL && strcmp(kind, "DebeziumServer") == 0) {
		f->of_operator = node;
		return true;
	}
	if (kind != NULL && strcmp(kind, "KafkaConnect") == 0) {
		if (f->worker_count < CONNECTORS_MAX)
			f->workers[f->worker_count++] = node;
		return true;
	}
	if (is_object(config) && has_text(f, node, "class"))
		find(f, config, node, STRIMZI);
	else if (is_object(config) &&
		 (has_text(f, config, "connector.class") || has_text(f, config, "transforms")))
		find(f, config, node, CONNECT_JSON);
	else if (has_text(f, node, "connector.class"))
		find(f, node, NULL, CONNECT_JSON);
	else if (is_object(server) && is_object(wp_import_member(f->tree, server, "source")))
		find(f, server, NULL, SERVER_YAML);
	else
		return false;
	return true;
}

static enum wp_rc find_all(struct finder *f)
{
	struct wp_import_walk walk;
	const struct wp_import_node *node;

	wp_import_walk_init(&walk);
	for (node = wp_import_walk_next(&walk, f->tree); node != NULL && f->count <= CONNECTORS_MAX;
	     node = wp_import_walk_next(&walk, f->tree)) {
		if (is_file(node))
			find(f, node, NULL, PROPERTIES);
		walk.skips = node->kind == WP_IMPORT_OBJECT && look_at(f, node);
	}
	return walk.is_cut ? wp_import_refuse_cut(f->error) : WP_OK;
}

/* -- which of several ---------------------------------------------------------------- */

static bool is_postgres_router(const struct finder *f, const struct connector *connector)
{
	const struct wp_import_node *nodes = f->tree->nodes;
	const char *class =
		connector->form == STRIMZI
			? wp_import_member_text(f->tree, connector->around, "class")
			: wp_import_member_text(f->tree, connector->node, "connector.class");
	bool routes = false;

	if (connector->form == PROPERTIES || connector->form == SERVER_YAML)
		return true;
	for (wp_import_node_index i = connector->node->first; i != WP_IMPORT_NO_NODE;
	     i = nodes[i].next)
		routes = routes ||
			 (nodes[i].text != NULL && strstr(nodes[i].text, "EventRouter") != NULL);
	return routes && class != NULL && strstr(class, "Postgres") != NULL;
}

static enum wp_rc refuse_several(struct finder *f)
{
	char lines[NAMES_SIZE] = "";
	size_t size = 0;

	for (size_t i = 0; i < f->count && i < CONNECTORS_MAX; i++)
		size += (size_t)snprintf(lines + size, sizeof(lines) - size, "%s%u",
					 i == 0 ? "" : ", ", f->found[i].node->line);
	return wp_error_set(f->error, WP_CONFIG,
			    "it holds %zu connectors, in lines %s%s: pass one of them", f->count,
			    lines, f->count > CONNECTORS_MAX ? ", ..." : "");
}

/* Returns NULL if it cannot tell; then it is said which there are. */
static const struct connector *choose(struct finder *f)
{
	const struct connector *chosen = NULL;

	if (f->count == 1)
		return &f->found[0];
	for (size_t i = 0; i < f->count && f->count <= CONNECTORS_MAX; i++) {
		if (!is_postgres_router(f, &f->found[i]))
			continue;
		if (chosen != NULL)
			return NULL;
		chosen = &f->found[i];
	}
	return chosen;
}

/* -- its properties ------------------------------------------------------------------ */

/* `outside` is beside "config", where there may be anything; what is no text is nobody's. */
static enum wp_rc add(struct finder *f, const char *name, const struct wp_import_node *node,
		      bool outside)
{
	struct wp_import_property property = {
		.name = name,
		.value = node->text,
		.line = node->line,
		.outside = outside,
	};

	if (!outside && (node->kind == WP_IMPORT_OBJECT || node->kind == WP_IMPORT_LIST))
		return wp_error_set(f->error, WP_CONFIG,
				    "line %u: the value of a property is an object or an array; it "
				    "must be a text, a number, true, false or null%s",
				    node->line, f->tree->is_json ? OF_ANSWERS : "");
	return wp_import_add(f->into, &property, f->error);
}

static bool is_merge(const struct wp_import_node *node)
{
	return node->name != NULL && strcmp(node->name, "<<") == 0;
}

static enum wp_rc add_own(struct finder *f, const struct wp_import_node *object)
{
	const struct wp_import_node *nodes = f->tree->nodes;
	enum wp_rc rc = WP_OK;

	for (wp_import_node_index i = object->first; i != WP_IMPORT_NO_NODE && rc == WP_OK;
	     i = nodes[i].next)
		if (!is_merge(&nodes[i]))
			rc = add(f, nodes[i].name, &nodes[i], false);
	return rc;
}

/* Members that YAML's merge key takes over come first, so that the object's own values count. */
static enum wp_rc add_members(struct finder *f, const struct wp_import_node *object, unsigned depth)
{
	const struct wp_import_node *nodes = f->tree->nodes;
	const struct wp_import_node *merged = wp_import_member(f->tree, object, "<<");
	enum wp_rc rc = WP_OK;

	if (merged == NULL)
		return add_own(f, object);
	if (merged->kind == WP_IMPORT_LIST && merged->first != WP_IMPORT_NO_NODE &&
	    nodes[merged->first].next == WP_IMPORT_NO_NODE)
		merged = &nodes[merged->first];
	if (merged->kind != WP_IMPORT_OBJECT || depth == 0)
		return wp_error_set(f->error, WP_CONFIG, "line %u: << is read with one map only",
				    merged->line);
	rc = add_members(f, merged, depth - 1);
	return rc == WP_OK ? add_own(f, object) : rc;
}

static enum wp_rc add_connector(struct finder *f, const struct connector *connector)
{
	const struct wp_import_node *nodes = f->tree->nodes;
	enum wp_rc rc = WP_OK;

	if (connector->around == NULL)
		return add_members(f, connector->node, MERGES_MAX);
	for (wp_import_node_index i = connector->around->first;
	     i != WP_IMPORT_NO_NODE && rc == WP_OK; i = nodes[i].next)
		rc = &nodes[i] == connector->node ? add_members(f, &nodes[i], MERGES_MAX)
						  : add(f, nodes[i].name, &nodes[i], true);
	return rc;
}

/* Returns the spec of the connector's worker, or NULL if it is not known which it is. */
static const struct wp_import_node *find_worker(const struct finder *f,
						const struct connector *connector)
{
	const struct wp_import_node *resource = &f->tree->nodes[connector->around->parent];
	const struct wp_import_node *metadata = wp_import_member(f->tree, resource, "metadata");
	const struct wp_import_node *labels =
		metadata == NULL ? NULL : wp_import_member(f->tree, metadata, "labels");
	const char *cluster =
		labels == NULL ? NULL
			       : wp_import_member_text(f->tree, labels, "strimzi.io/cluster");

	for (size_t i = 0; i < f->worker_count && cluster != NULL; i++) {
		const struct wp_import_node *own =
			wp_import_member(f->tree, f->workers[i], "metadata");
		const char *name = own == NULL ? NULL : wp_import_member_text(f->tree, own, "name");

		if (name != NULL && strcmp(name, cluster) == 0)
			return wp_import_member(f->tree, f->workers[i], "spec");
	}
	return cluster == NULL && f->worker_count == 1
		       ? wp_import_member(f->tree, f->workers[0], "spec")
		       : NULL;
}

/* Properties of the worker's producer count, and of its converters where the connector has none. */
static bool counts(const struct finder *f, const struct wp_import_node *config, const char *name)
{
	static const char *const converters[] = { "key.converter", "value.converter",
						  "header.converter" };

	for (size_t i = 0; i < sizeof(converters) / sizeof(converters[0]); i++) {
		size_t size = strlen(converters[i]);

		if (strncmp(name, converters[i], size) == 0 &&
		    (name[size] == '\0' || name[size] == '.'))
			return !has_text(f, config, converters[i]);
	}
	return strncmp(name, "producer.", strlen("producer.")) == 0;
}

/* Brokers that want a login, or TLS, are left to be filled in with it. */
static enum wp_rc add_worker(struct finder *f, const struct wp_import_node *worker,
			     const struct wp_import_node *config)
{
	const struct wp_import_node *brokers =
		wp_import_member(f->tree, worker, "bootstrapServers");
	const struct wp_import_node *own = wp_import_member(f->tree, worker, "config");
	const struct wp_import_node *nodes = f->tree->nodes;
	size_t before = f->into->count;
	enum wp_rc rc = WP_OK;

	if (brokers != NULL && wp_import_member(f->tree, worker, "tls") == NULL &&
	    wp_import_member(f->tree, worker, "authentication") == NULL)
		rc = add(f, "bootstrap.servers", brokers, false);
	if (!is_object(own))
		return rc;
	for (wp_import_node_index i = own->first; i != WP_IMPORT_NO_NODE && rc == WP_OK;
	     i = nodes[i].next)
		if (counts(f, config, nodes[i].name))
			rc = add(f, nodes[i].name, &nodes[i], false);
	for (size_t i = before; i < f->into->count; i++)
		f->into->items[i].of_worker = true;
	return rc;
}

/* Strimzi's operator makes properties of these. */
static enum wp_rc add_resource(struct finder *f, const struct connector *connector)
{
	const struct wp_import_node *class = wp_import_member(f->tree, connector->around, "class");
	const struct wp_import_node *tasks =
		wp_import_member(f->tree, connector->around, "tasksMax");
	const struct wp_import_node *worker = find_worker(f, connector);
	enum wp_rc rc = add(f, "connector.class", class, false);

	if (rc == WP_OK && tasks != NULL)
		rc = add(f, "tasks.max", tasks, false);
	if (rc == WP_OK && worker != NULL)
		rc = add_worker(f, worker, connector->node);
	return rc == WP_OK ? add_members(f, connector->node, MERGES_MAX) : rc;
}

/*
 * Makes debezium.source.plugin.name of the names above each other; ~ is what has names below it,
 * too.
 */
static enum wp_rc add_joined(struct finder *f, const struct wp_import_walk *walk, size_t base,
			     const struct wp_import_node *leaf)
{
	struct wp_import_properties *into = f->into;
	size_t start = into->texts.size;
	enum wp_rc rc = WP_OK;
	char *name;

	for (size_t i = base; i < walk->depth && rc == WP_OK; i++) {
		const char *part = f->tree->nodes[walk->path[i]].name;

		if (part == NULL || strcmp(part, "~") == 0 || strcmp(part, "<<") == 0)
			continue;
		if (i > base)
			rc = wp_buffer_append_byte(&into->texts, '.');
		if (rc == WP_OK)
			rc = wp_buffer_append_text(&into->texts, part);
	}
	if (rc != WP_OK)
		return wp_error_set(f->error, WP_CONFIG, "line %u: it repeats too much",
				    leaf->line);
	rc = wp_import_end_text(into, start, leaf->line, &name, f->error);
	return rc == WP_OK ? add(f, name, leaf, false) : rc;
}

/* Is there a merge key on the way? */
static bool is_merged(const struct finder *f, const struct wp_import_walk *walk, size_t base)
{
	for (size_t i = base; i < walk->depth; i++)
		if (is_merge(&f->tree->nodes[walk->path[i]]))
			return true;
	return false;
}

static enum wp_rc add_leaves(struct finder *f, const struct connector *connector, bool merged)
{
	struct wp_import_walk walk;
	const struct wp_import_node *node;
	enum wp_rc rc = WP_OK;

	wp_import_walk_init(&walk);
	do
		node = wp_import_walk_next(&walk, f->tree);
	while (node != NULL && node != connector->node);
	size_t base = walk.depth;
	for (node = wp_import_walk_next(&walk, f->tree);
	     node != NULL && walk.depth > base && rc == WP_OK;
	     node = wp_import_walk_next(&walk, f->tree))
		if (node->kind != WP_IMPORT_OBJECT && is_merged(f, &walk, base) == merged)
			rc = add_joined(f, &walk, base - 1, node);
	return rc == WP_OK && walk.is_cut ? wp_import_refuse_cut(f->error) : rc;
}

/* A source is "%prod", smallrye:, or quarkus: with what chooses profiles or files; else NULL. */
static const char *name_of_source(const struct finder *f, const struct wp_import_node *node)
{
	if (node->name == NULL)
		return NULL;
	if (node->name[0] == '%' || strcmp(node->name, "smallrye") == 0)
		return node->name;
	/* Flat names are taken as variables. */
	if (strcmp(node->name, "quarkus") != 0)
		return NULL;
	if (wp_import_member(f->tree, node, "profile") != NULL)
		return "quarkus.profile";
	return wp_import_member(f->tree, node, "config") != NULL ? "quarkus.config." : NULL;
}

/* Adds what Quarkus reads beside it: its values may count, and are not read. */
static enum wp_rc add_profiles(struct finder *f, const struct connector *connector)
{
	const struct wp_import_node *nodes = f->tree->nodes;
	enum wp_rc rc = WP_OK;

	for (wp_import_node_index i = nodes[connector->node->parent].first;
	     i != WP_IMPORT_NO_NODE && rc == WP_OK; i = nodes[i].next) {
		struct wp_import_property property = { .name = name_of_source(f, &nodes[i]),
						       .line = nodes[i].line };

		if (property.name == NULL)
			continue;
		rc = wp_import_copy_text(f->into, wp_span_of("(below it)"), nodes[i].line,
					 &property.value, f->error);
		if (rc == WP_OK)
			rc = wp_import_add(f->into, &property, f->error);
	}
	return rc;
}

static enum wp_rc add_server(struct finder *f, const struct connector *connector)
{
	enum wp_rc rc = add_leaves(f, connector, true);

	if (rc == WP_OK)
		rc = add_leaves(f, connector, false);
	return rc == WP_OK ? add_profiles(f, connector) : rc;
}

static enum wp_rc take(struct finder *f, const struct connector *connector)
{
	switch (connector->form) {
	case STRIMZI:
		f->into->form = "a KafkaConnector of Strimzi";
		return add_resource(f, connector);
	case SERVER_YAML:
		f->into->form = "Debezium Server's application.yaml";
		return add_server(f, connector);
	case PROPERTIES:
		f->into->form = "Debezium Server's properties";
		return wp_import_read_java(wp_span_of(connector->node->text),
					   connector->node->line + 1, f->into, f->error);
	case CONNECT_JSON:
		break;
	}
	f->into->form = f->tree->is_json ? "a Kafka Connect connector's JSON"
					 : "a Kafka Connect connector's YAML";
	return add_connector(f, connector);
}

enum wp_rc wp_import_take_connector(struct wp_import_tree *tree, struct wp_import_properties *p,
				    struct wp_error *error)
{
	struct finder f = { .tree = tree, .into = p, .error = error };
	const struct connector *connector;

	enum wp_rc rc = find_all(&f);
	if (rc != WP_OK)
		return rc;
	if (f.count == 0 && f.of_operator != NULL)
		return wp_error_set(error, WP_CONFIG,
				    "line %u: a DebeziumServer of Debezium's operator is not read: "
				    "pass the application.properties that the operator makes of it",
				    f.of_operator->line);
	if (f.count == 0)
		return WP_OK;
	connector = choose(&f);
	if (connector == NULL)
		return refuse_several(&f);
	rc = take(&f, connector);
	/* Variables win over Debezium Server's file. */
	if (rc == WP_OK && (connector->form == PROPERTIES || connector->form == SERVER_YAML))
		rc = wp_import_take_variables(tree, p, error);
	return rc;
}

enum wp_rc wp_import_take_object(struct wp_import_tree *tree, struct wp_import_properties *p,
				 struct wp_error *error)
{
	struct finder f = { .tree = tree, .into = p, .error = error };
	const struct wp_import_node *root = &tree->nodes[tree->nodes[0].first];
	struct connector connector = { .node = root, .form = CONNECT_JSON };

	if (root->kind != WP_IMPORT_OBJECT)
		return wp_error_set(error, WP_CONFIG,
				    "line %u: an array without a connector in it; an object is "
				    "required" OF_ANSWERS,
				    root->line);
	if (is_object(wp_import_member(tree, root, "spec")))
		return wp_error_set(error, WP_CONFIG,
				    "line %u: a resource of Kubernetes without a KafkaConnector in "
				    "it, and without variables DEBEZIUM_SOURCE_...",
				    root->line);
	if (is_object(wp_import_member(tree, root, "config")))
		connector = (struct connector){ wp_import_member(tree, root, "config"), root,
						CONNECT_JSON };
	return take(&f, &connector);
}
