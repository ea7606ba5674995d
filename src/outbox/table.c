#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mapping.h"
#include "walpost/outbox/origin.h"
#include "walpost/outbox/columns.h"
#include "walpost/base/display.h"
#include "walpost/outbox/names.h"

#define COLUMNS_SHOWN_SIZE 512 /* of the list in a sentence */

static void cut_name(char to[WP_NAME_SIZE], const char *from)
{
	(void)snprintf(to, WP_NAME_SIZE, "%s", from); /* cut: it is for messages only */
}

/* Both are NUL-terminated. */
static void write_table_text(struct wp_span schema, struct wp_span table,
			     char text[WP_TABLE_NAME_TEXT_SIZE])
{
	struct wp_table_name name;

	cut_name(name.schema, (const char *)schema.data);
	cut_name(name.name, (const char *)table.data);
	(void)wp_table_name_text(&name, text, WP_TABLE_NAME_TEXT_SIZE);
}

/* -- what is wrong ----------------------------------------------------------- */

/* This keeps the first column that is missing or unfit, and the option that asked for it. */
struct lookup {
	const struct wp_mapping_setup *setup;
	const struct wp_outbox_options *options; /* the setup's */
	const struct wp_relation *relation;	 /* likewise */
	struct wp_members *members;		 /* those found so far; NULL: there are none */
	struct wp_mapping_fault fault;
	bool wants_facts; /* a type does not do, and the catalog has not been asked about it */
};

/*
 * Could the catalog tell more of the type than it did? It could not of one that every database has,
 * nor of one that it was asked about: that a column had it then, or that it is told of.
 */
static bool is_news(const struct lookup *l, const struct wp_column *column)
{
	const struct wp_column_facts *facts = l->setup->facts;
	const struct wp_column_fact *fact;

	if (facts == NULL || column->type_oid < WP_USER_OID_MIN ||
	    wp_column_facts_type(facts, column->type_oid) != NULL)
		return false;
	fact = wp_column_facts_find(facts, l->setup->table, column->name);
	return fact == NULL || fact->type_oid != column->type_oid;
}

/* Without a missing column an event may still be set aside; not without knowing its types. */
static void note_mapping_fault(struct lookup *l, enum wp_mapping_fault_kind kind,
			       const char *column, const char *option,
			       const struct wp_column *found)
{
	enum wp_mapping_fault_kind known = l->fault.kind;

	l->wants_facts |= found != NULL && is_news(l, found);
	if (known != WP_COLUMN_NONE && (kind == WP_COLUMN_MISSING || known != WP_COLUMN_MISSING))
		return;
	l->fault = (struct wp_mapping_fault){
		.kind = kind,
		.option = option,
		.type_oid = found == NULL ? 0 : found->type_oid,
	};
	cut_name(l->fault.column, column);
}

/* Writes "a, b, c" or, if there are too many, "a, b and 70 more". */
static void list_columns(const struct wp_relation *relation, char text[COLUMNS_SHOWN_SIZE])
{
	size_t at = 0;
	size_t room = COLUMNS_SHOWN_SIZE - sizeof(" and 1234 more");

	text[0] = '\0';
	for (size_t i = 0; i < relation->column_count; i++) {
		struct wp_excerpt name;
		const char *shown = wp_excerpt(&name, relation->columns[i].name);
		if (at + strlen(shown) + 2 > room) {
			(void)snprintf(text + at, COLUMNS_SHOWN_SIZE - at, " and %zu more",
				       relation->column_count - i);
			return;
		}
		at += (size_t)snprintf(text + at, room - at, "%s%s", i == 0 ? "" : ", ", shown);
	}
}

static enum wp_rc say_column_missing(const struct lookup *l, const char *table,
				     struct wp_error *error)
{
	char columns[COLUMNS_SHOWN_SIZE];
	struct wp_excerpt name;

	list_columns(l->relation, columns);
	return wp_error_set(error, WP_CONFIG,
			    "table %s has no column \"%s\" (%s); it has: %s; set %s, or restore "
			    "the column (in the publication too if that has a column list), which "
			    "helps only with rows written afterwards",
			    table, wp_excerpt(&name, wp_span_of(l->fault.column)), l->fault.option,
			    columns, l->fault.option);
}

struct type_text {
	char text[160];
};

/* What people may have in a column has its name here; others the log names, or SQL. */
static struct type_text type_text(const struct wp_relations *types, uint32_t oid)
{
	static const struct {
		uint32_t oid;
		const char *name;
	} names[] = {
		{ 16, "boolean" },
		{ 17, "bytea" },
		{ 20, "bigint" },
		{ 21, "smallint" },
		{ 23, "integer" },
		{ 25, "text" },
		{ 26, "oid" },
		{ 114, "json" },
		{ 142, "xml" },
		{ 600, "point" },
		{ 650, "cidr" },
		{ 700, "real" },
		{ 701, "double precision" },
		{ 774, "macaddr8" },
		{ 790, "money" },
		{ 829, "macaddr" },
		{ 869, "inet" },
		{ 1043, "varchar" },
		{ 1082, "date" },
		{ 1083, "time" },
		{ 1114, "timestamp" },
		{ 1184, "timestamptz" },
		{ 1186, "interval" },
		{ 1266, "timetz" },
		{ 1560, "bit" },
		{ 1562, "varbit" },
		{ 1700, "numeric" },
		{ 2950, "uuid" },
		{ 3614, "tsvector" },
		{ 3802, "jsonb" },
		{ 3910, "tstzrange" },
	};
	const char *told = wp_relations_type_name(types, oid);
	struct wp_excerpt excerpt;
	struct type_text t;

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (names[i].oid == oid) {
			(void)snprintf(t.text, sizeof(t.text), "type %s", names[i].name);
			return t;
		}
	}
	if (told != NULL)
		(void)snprintf(t.text, sizeof(t.text), "%s",
			       wp_excerpt(&excerpt, wp_span_of(told)));
	else
		(void)snprintf(t.text, sizeof(t.text), "type %" PRIu32 "::regtype", oid);
	return t;
}

static enum wp_rc say_unfit(const struct lookup *l, const char *table, struct wp_error *error)
{
	static const struct {
		const char *what;
		const char *cure;
	} reasons[] = {
		[WP_COLUMN_NOT_BINARY] = { "which walpost cannot read in binary",
					   "; it reads " WP_TYPES_READ_IN_BINARY
					   ": set postgres.binary = off" },
		[WP_COLUMN_NOT_RENDERED] = { "which walpost cannot write as Debezium does",
					     "; it writes " WP_TYPES_RENDERED
					     ": set outbox.types = postgres, or remove the "
					     "column" },
		[WP_COLUMN_NO_MODIFIER] = { "which the database does not describe",
					    ", nor its precision, on which Debezium's format "
					    "depends: set outbox.types = postgres until these rows "
					    "are sent, or discard them with walpost slot skip" },
		[WP_COLUMN_NOT_A_TIME] = { "which is not a time",
					   ": it must be timestamp, "
					   "timestamptz, date, or a bigint of "
					   "milliseconds since 1970" },
		[WP_COLUMN_NOT_A_NUMBER] = { "which is not a number",
					     ": it must be smallint, integer or bigint" },
		[WP_COLUMN_NOT_JSON] = { "which cannot have members",
					 ": it must be json, jsonb, or text or bytea with JSON" },
	};
	struct wp_excerpt name;

	/* When a type was dropped, the rows before that remain, but not what it was. */
	return wp_error_set(
		error, WP_CONFIG, "table %s: column \"%s\" (%s) is of %s, %s%s%s", table,
		wp_excerpt(&name, wp_span_of(l->fault.column)), l->fault.option,
		type_text(l->setup->types, l->fault.type_oid).text, reasons[l->fault.kind].what,
		l->wants_facts ? " (it may have been dropped)" : "", reasons[l->fault.kind].cure);
}

/* -- looking up -------------------------------------------------------------- */

/*
 * Adds what the catalog says of the column, and of the type that the log says it has, which need
 * not be the one it has in the catalog. The modifier is added only under a domain, which the log
 * does not tell: a column's own is in the log, as of the row.
 */
static void add_catalog_facts(const struct lookup *l, const struct wp_column *column,
			      struct wp_column_type *type)
{
	const struct wp_column_facts *facts = l->setup->facts;

	if (facts == NULL)
		return;
	const struct wp_column_fact *fact =
		wp_column_facts_find(facts, l->setup->table, column->name);
	const struct wp_type_fact *under = wp_column_facts_type(facts, column->type_oid);

	if (fact != NULL)
		type->is_optional = !fact->is_not_null;
	if (under == NULL)
		return;
	if (under->is_not_null)
		type->is_optional = false;
	if (under->base_oid != under->oid)
		type->modifier = under->modifier;
	type->labels = wp_column_facts_labels(facts, under);
}

/* Debezium 3.6 reads their DEFAULT (PostgresDefaultValueConverter); none is a domain. */
static bool has_standard(uint32_t oid, const struct wp_column_type *type,
			 const struct wp_type_fact *under)
{
	static const uint32_t oids[] = {
		16,   20,   21,	  23,	25,   114,  142,  700,	701,
		1042, 1043, 1082, 1083, 1114, 1184, 2950, 3802,
	};

	for (size_t i = 0; i < sizeof(oids) / sizeof(oids[0]); i++)
		if (oids[i] == oid)
			return true;
	/* A numeric without precision is a Struct, for which Connect takes no default. */
	if (type->type == WP_TYPE_NUMERIC && under == NULL)
		return type->modifier >= 0;
	return type->type == WP_TYPE_ENUM && under != NULL && under->base_oid == oid;
}

/*
 * Adds the constant that the column has for a DEFAULT, in place of its NULL: a Struct of Kafka
 * Connect gives the default of a field that is null (Struct.get()).
 */
static void add_column_default(const struct lookup *l, const struct wp_column *column,
			       struct wp_mapped *mapped)
{
	const struct wp_column_facts *facts = l->setup->facts;

	if (l->options->types != WP_RENDERING_DEBEZIUM || facts == NULL)
		return;
	const struct wp_column_fact *fact =
		wp_column_facts_find(facts, l->setup->table, column->name);
	const char *constant = fact == NULL || fact->type_oid != column->type_oid
				       ? NULL
				       : wp_column_facts_constant(facts, fact);

	if (constant == NULL || !has_standard(column->type_oid, &mapped->type,
					      wp_column_facts_type(facts, column->type_oid)))
		return;
	if (mapped->type.type == WP_TYPE_BOOL)
		constant = strcmp(constant, "true") == 0 ? "t" : "f";
	mapped->standard = wp_span_of(constant);
}

/* Its value is NULL, which has a form too: a dead letter may need it. */
static struct wp_mapped no_column(void)
{
	return (struct wp_mapped){
		.index = WP_NO_COLUMN,
		.type = { .type = WP_TYPE_TEXT, .modifier = -1, .is_optional = true },
	};
}

static bool may_be_json(enum wp_type type)
{
	return type == WP_TYPE_JSON || type == WP_TYPE_JSONB || type == WP_TYPE_TEXT ||
	       type == WP_TYPE_BYTEA;
}

/* Members stand behind the row's own columns. */
static bool is_member(const struct lookup *l, const struct wp_mapped *mapped)
{
	return mapped->index != WP_NO_COLUMN && mapped->index >= l->relation->column_count;
}

/* Returns the relation's column; for a member that which has it. */
static const struct wp_column *relation_column_of(const struct lookup *l,
						  const struct wp_mapped *mapped)
{
	size_t index = mapped->index;

	if (is_member(l, mapped))
		index = l->members->items[index - l->relation->column_count].column;
	return &l->relation->columns[index];
}

static struct wp_mapped look_up_member(struct lookup *l, const struct wp_member_path *path,
				       const char *column, const char *option)
{
	int index = wp_relation_column(l->relation, path->column);

	if (index < 0)
		return no_column();
	const struct wp_column *found = &l->relation->columns[index];
	struct wp_member member = {
		.text = column,
		.option = option,
		.column = (size_t)index,
		.type = wp_relations_type(l->setup->types, found->type_oid),
	};
	if (!may_be_json(member.type))
		note_mapping_fault(l, WP_COLUMN_NOT_JSON, (const char *)found->name.data, option,
				   found);
	return (struct wp_mapped){
		.index = wp_members_add(l->members, &member),
		.type = {
			.type = path->is_text ? WP_TYPE_TEXT : WP_TYPE_JSON,
			.modifier = -1,
			.is_optional = true,
			.is_value = !path->is_text,
		},
	};
}

static struct wp_mapped look_up_column(struct lookup *l, const char *column, const char *option)
{
	struct wp_member_path path;

	if (wp_member_path_parse(column, &path))
		return look_up_member(l, &path, column, option);
	int index = wp_relation_column(l->relation, wp_span_of(column));

	if (index < 0)
		return no_column();
	const struct wp_column *found = &l->relation->columns[index];
	struct wp_mapped mapped = {
		.index = (size_t)index,
		.type = {
			.type = wp_relations_type(l->setup->types, found->type_oid),
			.element = wp_relations_element(l->setup->types, found->type_oid),
			.modifier = found->type_modifier,
			/* Nothing better is known: but for REPLICA IDENTITY FULL it is so. */
			.is_optional = !found->is_key,
		},
	};
	add_catalog_facts(l, found, &mapped.type);
	if (l->setup->transfer == WP_TRANSFER_BINARY &&
	    !wp_type_is_read_in_binary(mapped.type.type, mapped.type.element))
		note_mapping_fault(l, WP_COLUMN_NOT_BINARY, column, option, found);
	return mapped;
}

/* Is the column missing? Notes it as a fault when it may not be. */
static bool is_column_missing(struct lookup *l, const struct wp_mapped *mapped, const char *column,
			      const char *option, bool is_further)
{
	if (mapped->index != WP_NO_COLUMN)
		return false;
	if (!is_further || l->options->columns_missing == WP_MISSING_ERROR)
		note_mapping_fault(l, WP_COLUMN_MISSING, column, option, NULL);
	return true;
}

static bool is_time(enum wp_type type)
{
	return type == WP_TYPE_TIMESTAMP || type == WP_TYPE_TIMESTAMPTZ || type == WP_TYPE_DATE ||
	       type == WP_TYPE_INT8;
}

static bool is_integer_type(enum wp_type type)
{
	return type == WP_TYPE_INT2 || type == WP_TYPE_INT4 || type == WP_TYPE_INT8;
}

/* Is the value written in words of its own? */
static bool is_rendered(enum wp_role role)
{
	return role == WP_ROLE_ID || role == WP_ROLE_KEY || role == WP_ROLE_KEY_FALLBACK ||
	       role == WP_ROLE_TYPE || role == WP_ROLE_PAYLOAD;
}

/* Is it written by a modifier, and that of a domain that is not told of? */
static bool lacks_modifier(const struct lookup *l, const struct wp_column_type *type,
			   const struct wp_column *column)
{
	switch (type->type == WP_TYPE_ARRAY ? type->element : type->type) {
	case WP_TYPE_NUMERIC:
	case WP_TYPE_TIME:
	case WP_TYPE_TIMESTAMP:
	case WP_TYPE_TIMESTAMPTZ:
		return is_news(l, column);
	default:
		return false;
	}
}

static void check_rendered(struct lookup *l, const struct wp_mapped *mapped, const char *column,
			   const char *option)
{
	const struct wp_column *found = relation_column_of(l, mapped);

	if (l->options->types != WP_RENDERING_DEBEZIUM || is_member(l, mapped))
		return;
	if (!wp_render_knows(&mapped->type))
		note_mapping_fault(l, WP_COLUMN_NOT_RENDERED, column, option, found);
	else if (lacks_modifier(l, &mapped->type, found))
		note_mapping_fault(l, WP_COLUMN_NO_MODIFIER, column, option, found);
}

static void mean_member(struct lookup *l, const struct wp_mapped *mapped, enum wp_role role)
{
	struct wp_member *member = &l->members->items[mapped->index - l->relation->column_count];

	member->must_be = role == WP_ROLE_PAYLOAD || role == WP_ROLE_TYPE;
	member->null_is_none = role == WP_ROLE_JSON_HEADERS;
}

static struct wp_mapped look_up_role(struct lookup *l, enum wp_role role)
{
	const char *column = wp_role_column(l->options, role);
	const char *option = wp_role_option(role);

	if (column[0] == '\0')
		return no_column();
	struct wp_mapped mapped = look_up_column(l, column, option);
	if (is_column_missing(l, &mapped, column, option, wp_role_is_further(role)))
		return mapped;
	const struct wp_column *found = relation_column_of(l, &mapped);
	if ((role == WP_ROLE_TIMESTAMP || role == WP_ROLE_EXPIRES) && !is_time(mapped.type.type))
		note_mapping_fault(l, WP_COLUMN_NOT_A_TIME, column, option, found);
	if ((role == WP_ROLE_PARTITION || role == WP_ROLE_SCHEMA_VERSION) &&
	    !is_integer_type(mapped.type.type))
		note_mapping_fault(l, WP_COLUMN_NOT_A_NUMBER, column, option, found);
	if (is_rendered(role))
		check_rendered(l, &mapped, column, option);
	if (is_member(l, &mapped))
		mean_member(l, &mapped, role);
	else if (role == WP_ROLE_KEY || role == WP_ROLE_PAYLOAD)
		add_column_default(l, found, &mapped);
	return mapped;
}

static struct wp_span copy_with_nul(char **room, const char *text)
{
	size_t size = strlen(text);
	char *copy = memcpy(*room, text, size + 1);

	*room += size + 1;
	return (struct wp_span){ .data = (const uint8_t *)copy, .size = size };
}

/* ${schema} and ${table} are the same in each row. */
static struct wp_mapped origin_of(const struct wp_mapping *m, const char *variable)
{
	struct wp_mapped mapped = no_column();

	mapped.standard = wp_origin_value(&m->origin, wp_origin_variable(variable));
	return mapped;
}

static void map_list(struct wp_mapping *m, enum wp_list list, const struct wp_column_list *columns,
		     struct lookup *l, struct wp_mapped_field **at, char **room)
{
	const char *option = wp_list_option(list);

	for (size_t i = 0; i < columns->count; i++) {
		const struct wp_listed_column *item = &columns->items[i];
		bool is_origin = wp_origin_variable(item->column) != WP_ORIGIN_NONE;
		struct wp_mapped mapped = is_origin ? origin_of(m, item->column)
						    : look_up_column(l, item->column, option);

		if (!is_origin &&
		    is_column_missing(l, &mapped, item->column, option,
				      list != WP_LIST_EXTENSIONS) &&
		    l->options->columns_missing == WP_MISSING_IGNORE)
			continue;
		if (mapped.index != WP_NO_COLUMN && list != WP_LIST_EXTENSIONS) {
			check_rendered(l, &mapped, item->column, option);
			if (!is_member(l, &mapped))
				add_column_default(l, relation_column_of(l, &mapped), &mapped);
		}
		*(*at)++ = (struct wp_mapped_field){
			.name = copy_with_nul(room, item->name),
			.column = mapped,
		};
		m->list_counts[list]++;
	}
}

struct member_count {
	size_t count;
	size_t size; /* of their texts */
};

static void count_member(struct member_count *c, const char *column)
{
	if (!wp_column_is_member(column))
		return;
	c->count++;
	c->size += strlen(column) + 1;
}

/* Makes room for those columns that are members of others; NULL: none is. */
static enum wp_rc new_members(const struct lookup *l,
			      const struct wp_column_list lists[WP_LIST_COUNT],
			      struct wp_members **ret)
{
	struct member_count c = { 0 };

	for (enum wp_role role = 0; role < WP_ROLE_COUNT; role++)
		count_member(&c, wp_role_column(l->options, role));
	for (size_t list = 0; list < WP_LIST_COUNT; list++) {
		for (size_t i = 0; i < lists[list].count; i++)
			count_member(&c, lists[list].items[i].column);
	}
	return c.count == 0 ? WP_OK
			    : wp_members_new(l->relation->column_count, c.count, c.size, ret);
}

static struct wp_mapping *new_mapping(const struct lookup *l,
				      const struct wp_column_list lists[WP_LIST_COUNT],
				      const char *table, char **ret_room)
{
	size_t fields = 0;
	const struct wp_origin *origin = &l->setup->origin;
	char outbox[WP_TABLE_NAME_TEXT_SIZE] = "";
	if (wp_table_is_pattern(l->options->table) && !wp_span_is_null(origin->table))
		write_table_text(origin->schema, origin->table, outbox);
	size_t texts = strlen(table) + l->relation->schema.size + l->relation->name.size +
		       origin->schema.size + origin->table.size + strlen(outbox) + 6;

	for (size_t list = 0; list < WP_LIST_COUNT; list++) {
		fields += lists[list].count;
		for (size_t i = 0; i < lists[list].count; i++)
			texts += strlen(lists[list].items[i].name) + 1;
	}
	struct wp_mapping *m = calloc(1, sizeof(*m) + fields * sizeof(m->fields[0]) + texts);
	if (m == NULL)
		return NULL;
	char *room = (char *)m->fields + fields * sizeof(m->fields[0]);
	m->options = l->options;
	m->column_count = l->relation->column_count;
	m->transfer = l->setup->transfer;
	m->table = (const char *)copy_with_nul(&room, table).data;
	m->schema = copy_with_nul(&room, (const char *)l->relation->schema.data);
	m->name = copy_with_nul(&room, (const char *)l->relation->name.data);
	if (!wp_span_is_null(origin->table)) {
		m->origin.schema = copy_with_nul(&room, (const char *)origin->schema.data);
		m->origin.table = copy_with_nul(&room, (const char *)origin->table.data);
	}
	if (outbox[0] != '\0')
		m->outbox = (const char *)copy_with_nul(&room, outbox).data;
	*ret_room = room;
	return m;
}

static enum wp_rc keep_missing(struct wp_mapping *m, const struct wp_error *missing,
			       struct wp_error *error)
{
	m->missing = malloc(sizeof(*m->missing));
	if (m->missing == NULL)
		return wp_error_set(error, WP_NOMEM, "out of memory for the columns of table %s",
				    m->table);
	*m->missing = *missing;
	return WP_OK;
}

/* Tells what the lookup found wrong, as the caller wants it. */
static enum wp_rc judge_mapping(struct wp_mapping *m, const struct lookup *l,
				enum wp_columns columns, struct wp_error *error)
{
	struct wp_error missing;

	if (l->fault.kind == WP_COLUMN_NONE)
		return WP_OK;
	if (l->fault.kind != WP_COLUMN_MISSING)
		return say_unfit(l, m->table, error);
	if (columns == WP_COLUMNS_ALL)
		return say_column_missing(l, m->table, error);
	(void)say_column_missing(l, m->table, &missing); /* told with each row */
	return keep_missing(m, &missing, error);
}

/* `ret` is the caller's whatever the lookup found; judge_mapping() has the last word. */
static enum wp_rc look_all_up(struct lookup *l, struct wp_mapping **ret, struct wp_error *error)
{
	struct wp_column_list lists[WP_LIST_COUNT];
	char table[WP_TABLE_NAME_TEXT_SIZE];
	char *room;
	enum wp_rc rc = WP_OK;

	for (enum wp_list list = 0; list < WP_LIST_COUNT && rc == WP_OK; list++)
		rc = wp_column_list_parse(wp_list_columns(l->options, list), wp_list_option(list),
					  &lists[list], error);
	if (rc != WP_OK)
		return rc;
	write_table_text(l->relation->schema, l->relation->name, table);
	struct wp_mapping *m = new_mapping(l, lists, table, &room);
	if (m == NULL)
		return wp_error_set(error, WP_NOMEM, "out of memory for the columns of table %s",
				    table);
	rc = new_members(l, lists, &m->members);
	if (rc != WP_OK) {
		wp_mapping_free(m);
		return wp_error_set(error, rc, "out of memory for members of columns");
	}
	l->members = m->members;
	struct wp_mapped_field *at = m->fields;
	for (enum wp_role role = 0; role < WP_ROLE_COUNT; role++)
		m->roles[role] = look_up_role(l, role);
	for (enum wp_list list = 0; list < WP_LIST_COUNT; list++)
		map_list(m, list, &lists[list], l, &at, &room);
	*ret = m;
	return WP_OK;
}

static struct lookup lookup_of(const struct wp_mapping_setup *setup)
{
	return (struct lookup){
		.setup = setup,
		.options = setup->options,
		.relation = setup->relation,
	};
}

enum wp_rc wp_mapping_new(const struct wp_mapping_setup *setup, struct wp_mapping **ret,
			  struct wp_error *error)
{
	struct lookup l = lookup_of(setup);
	struct wp_mapping *m = NULL;

	enum wp_rc rc = look_all_up(&l, &m, error);
	if (rc == WP_OK)
		rc = judge_mapping(m, &l, setup->columns, error);
	if (rc == WP_CONFIG && setup->fault != NULL)
		*setup->fault = l.fault;
	if (rc != WP_OK) {
		wp_mapping_free(m);
		return rc;
	}
	*ret = m;
	return WP_OK;
}

bool wp_mapping_wants_facts(const struct wp_mapping_setup *setup)
{
	struct lookup l = lookup_of(setup);
	struct wp_mapping *m = NULL;

	enum wp_rc rc = look_all_up(&l, &m, NULL);
	wp_mapping_free(m);
	return rc == WP_OK && l.wants_facts;
}

void wp_mapping_free(struct wp_mapping *m)
{
	if (m == NULL)
		return;
	wp_members_free(m->members);
	free(m->missing);
	free(m);
}
