#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "walpost/wal/relations.h"

#define BUCKETS_MIN 16
#define BUCKETS_MAX 65536

/*
 * These are of pg_type.dat: built-in types keep their oids, and an array's name is its element's
 * with a line before. Enums, composite and extension types are told by name only, which does not
 * show what their binary form is; enums by the catalog.
 */
static const struct builtin {
	uint32_t oid;
	uint32_t array_oid;
	const char *name;
	enum wp_type type;
} builtins[] = {
	{ 16, 1000, "bool", WP_TYPE_BOOL },
	{ 17, 1001, "bytea", WP_TYPE_BYTEA },
	{ 18, 1002, "char", WP_TYPE_CHAR },
	{ 19, 1003, "name", WP_TYPE_TEXT },
	{ 20, 1016, "int8", WP_TYPE_INT8 },
	{ 21, 1005, "int2", WP_TYPE_INT2 },
	{ 23, 1007, "int4", WP_TYPE_INT4 },
	{ 25, 1009, "text", WP_TYPE_TEXT },
	{ 114, 199, "json", WP_TYPE_JSON },
	{ 700, 1021, "float4", WP_TYPE_FLOAT4 },
	{ 701, 1022, "float8", WP_TYPE_FLOAT8 },
	{ 1042, 1014, "bpchar", WP_TYPE_TEXT },
	{ 1043, 1015, "varchar", WP_TYPE_TEXT },
	{ 1082, 1182, "date", WP_TYPE_DATE },
	{ 1083, 1183, "time", WP_TYPE_TIME },
	{ 1114, 1115, "timestamp", WP_TYPE_TIMESTAMP },
	{ 1184, 1185, "timestamptz", WP_TYPE_TIMESTAMPTZ },
	{ 1700, 1231, "numeric", WP_TYPE_NUMERIC },
	{ 2950, 2951, "uuid", WP_TYPE_UUID },
	{ 3802, 3807, "jsonb", WP_TYPE_JSONB },
	{ 142, 143, "xml", WP_TYPE_XML },
	{ 650, 651, "cidr", WP_TYPE_PRINTED },
	{ 774, 775, "macaddr8", WP_TYPE_PRINTED },
	{ 829, 1040, "macaddr", WP_TYPE_PRINTED },
	{ 869, 1041, "inet", WP_TYPE_PRINTED },
	{ 3614, 3643, "tsvector", WP_TYPE_TSVECTOR },
	{ 3904, 3905, "int4range", WP_TYPE_PRINTED },
	{ 3906, 3907, "numrange", WP_TYPE_PRINTED },
	{ 3908, 3909, "tsrange", WP_TYPE_PRINTED },
	{ 3910, 3911, "tstzrange", WP_TYPE_PRINTED },
	{ 3912, 3913, "daterange", WP_TYPE_PRINTED },
	{ 3926, 3927, "int8range", WP_TYPE_PRINTED },
};
#define BUILTIN_COUNT (sizeof(builtins) / sizeof(builtins[0]))

/* These are of extensions that come with Postgres: in whatever schema, and their text will do. */
static const struct extension {
	const char *name;
	enum wp_type type;
} extensions[] = {
	{ "citext", WP_TYPE_PRINTED },
	{ "ltree", WP_TYPE_LTREE },
};

/* This is known of a type. */
struct known {
	enum wp_type type;
	enum wp_type element; /* of an array */
};

/* A type of the user's is this, as far as that is known, and has this name for people. */
struct user_type {
	uint32_t oid;
	struct known known;
	bool by_catalog; /* told by it, not by a message */
	char *name;	 /* owned; NULL: no message told it */
};

/* Each is one allocation: the entry, its columns, then all names with their NULs. */
struct entry {
	struct wp_relation relation; /* first: what callers hold */
	struct entry *next;
	struct wp_column columns[];
};

struct wp_relations {
	size_t relations_max;
	size_t types_max; /* as many, and those that the catalog told of */
	size_t count;
	void (*drop)(void *attached);
	struct user_type *types; /* owned; by oid */
	size_t type_count;
	size_t type_capacity;
	size_t bucket_count; /* a power of two */
	struct entry *buckets[];
};

enum wp_rc wp_relations_new(size_t relations_max, void (*drop)(void *attached),
			    struct wp_relations **ret)
{
	size_t bucket_count = BUCKETS_MIN;

	assert(relations_max > 0);
	while (bucket_count < relations_max && bucket_count < BUCKETS_MAX)
		bucket_count *= 2;
	struct wp_relations *r = calloc(1, sizeof(*r) + bucket_count * sizeof(r->buckets[0]));
	if (r == NULL)
		return WP_NOMEM;
	r->relations_max = relations_max;
	r->types_max = relations_max;
	r->drop = drop;
	r->bucket_count = bucket_count;
	*ret = r;
	return WP_OK;
}

static void free_entry(struct wp_relations *r, struct entry *e)
{
	if (e->relation.attached != NULL && r->drop != NULL)
		r->drop(e->relation.attached);
	free(e);
	r->count--;
}

void wp_relations_clear(struct wp_relations *r)
{
	for (size_t i = 0; i < r->bucket_count; i++) {
		while (r->buckets[i] != NULL) {
			struct entry *e = r->buckets[i];
			r->buckets[i] = e->next;
			free_entry(r, e);
		}
	}
	for (size_t i = 0; i < r->type_count; i++)
		free(r->types[i].name);
	r->type_count = 0;
	r->types_max = r->relations_max;
}

void wp_relations_free(struct wp_relations *r)
{
	if (r == NULL)
		return;
	wp_relations_clear(r);
	free(r->types);
	free(r);
}

/* Returns where the entry's pointer is, or where it would be hung. */
static struct entry **entry_place(struct wp_relations *r, uint32_t oid)
{
	/* Oids are counted up: multiplied by 2^32 / golden ratio they spread. */
	uint32_t hash = oid * 2654435769u;
	struct entry **at = &r->buckets[(hash >> 16) & (r->bucket_count - 1)];

	while (*at != NULL && (*at)->relation.oid != oid)
		at = &(*at)->next;
	return at;
}

static struct wp_span copy_relation_name(uint8_t **room, struct wp_span name)
{
	uint8_t *copy = *room;

	memcpy(copy, name.data, name.size);
	copy[name.size] = '\0';
	*room += name.size + 1;
	return (struct wp_span){ .data = copy, .size = name.size };
}

static size_t names_size(const struct wp_change *change)
{
	size_t size = change->as.relation.schema.size + 1 + change->as.relation.name.size + 1;

	for (size_t i = 0; i < change->as.relation.column_count; i++)
		size += change->as.relation.columns[i].name.size + 1;
	return size;
}

static struct entry *new_entry(const struct wp_change *change)
{
	size_t count = change->as.relation.column_count;
	size_t columns_size = count * sizeof(struct wp_column);
	struct entry *e = malloc(sizeof(*e) + columns_size + names_size(change));
	if (e == NULL)
		return NULL;

	uint8_t *room = (uint8_t *)e->columns + columns_size;
	*e = (struct entry){
		.relation = {
			.oid = change->as.relation.oid,
			.schema = copy_relation_name(&room, change->as.relation.schema),
			.name = copy_relation_name(&room, change->as.relation.name),
			.columns = e->columns,
			.column_count = count,
		},
	};
	for (size_t i = 0; i < count; i++) {
		e->columns[i] = change->as.relation.columns[i];
		e->columns[i].name = copy_relation_name(&room, change->as.relation.columns[i].name);
	}
	return e;
}

enum wp_rc wp_relations_put(struct wp_relations *r, const struct wp_change *change,
			    struct wp_relation **ret)
{
	assert(change->kind == WP_CHANGE_RELATION);
	struct entry **at = entry_place(r, change->as.relation.oid);
	if (*at == NULL && r->count == r->relations_max)
		return WP_FULL;
	struct entry *fresh = new_entry(change);
	if (fresh == NULL)
		return WP_NOMEM;

	struct entry *old = *at;
	fresh->next = old == NULL ? NULL : old->next;
	*at = fresh;
	r->count++;
	if (old != NULL)
		free_entry(r, old);
	*ret = &fresh->relation;
	return WP_OK;
}

struct wp_relation *wp_relations_find(struct wp_relations *r, uint32_t oid)
{
	struct entry *e = *entry_place(r, oid);

	return e == NULL ? NULL : &e->relation;
}

/* Returns where the oid is among them, or where it would be. */
static size_t type_place(const struct wp_relations *r, uint32_t oid)
{
	size_t low = 0;
	size_t high = r->type_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (r->types[middle].oid < oid)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static const struct user_type *find_type(const struct wp_relations *r, uint32_t oid)
{
	size_t at = type_place(r, oid);

	return at < r->type_count && r->types[at].oid == oid ? &r->types[at] : NULL;
}

/* Gives the one of this oid, which may be new: then nothing is known of it. */
static enum wp_rc get_type(struct wp_relations *r, uint32_t oid, struct user_type **ret)
{
	size_t at = type_place(r, oid);

	if (at < r->type_count && r->types[at].oid == oid) {
		*ret = &r->types[at];
		return WP_OK;
	}
	if (r->type_count >= r->types_max)
		return WP_FULL;
	if (r->type_count == r->type_capacity) {
		size_t capacity = r->type_capacity == 0 ? 8 : r->type_capacity * 2;
		struct user_type *types = realloc(r->types, capacity * sizeof(types[0]));
		if (types == NULL)
			return WP_NOMEM;
		r->types = types;
		r->type_capacity = capacity;
	}
	memmove(r->types + at + 1, r->types + at, (r->type_count - at) * sizeof(r->types[0]));
	r->type_count++;
	r->types[at] = (struct user_type){ .oid = oid, .known = { .type = WP_TYPE_OTHER } };
	*ret = r->types + at;
	return WP_OK;
}

static struct known array_of(const struct builtin *element)
{
	return (struct known){ .type = WP_TYPE_ARRAY, .element = element->type };
}

static struct known known_by_oid(uint32_t oid)
{
	for (size_t i = 0; i < BUILTIN_COUNT; i++) {
		if (builtins[i].oid == oid)
			return (struct known){ .type = builtins[i].type };
		if (builtins[i].array_oid == oid)
			return array_of(&builtins[i]);
	}
	return (struct known){ .type = WP_TYPE_OTHER };
}

static struct known extension_by_name(struct wp_span name)
{
	for (size_t i = 0; i < sizeof(extensions) / sizeof(extensions[0]); i++) {
		if (wp_span_is(name, extensions[i].name))
			return (struct known){ .type = extensions[i].type };
	}
	return (struct known){ .type = WP_TYPE_OTHER };
}

static struct known known_by_name(struct wp_span schema, struct wp_span name)
{
	struct known other = { .type = WP_TYPE_OTHER };
	bool is_array = name.size > 0 && name.data[0] == '_';

	if (!wp_span_is(schema, "pg_catalog"))
		return extension_by_name(name);
	if (is_array)
		name = (struct wp_span){ .data = name.data + 1, .size = name.size - 1 };
	for (size_t i = 0; i < BUILTIN_COUNT; i++) {
		if (wp_span_is(name, builtins[i].name))
			return is_array ? array_of(&builtins[i])
					: (struct known){ .type = builtins[i].type };
	}
	return other;
}

/* Returns "a domain over numeric", for then a message has that name; else "type shop.mood". */
static char *name_for_people(uint32_t oid, struct wp_span schema, struct wp_span name)
{
	bool is_builtin = wp_span_is(schema, "pg_catalog");
	const char *what = is_builtin && oid >= WP_USER_OID_MIN ? "a domain over " : "type ";
	size_t size = strlen(what) + schema.size + name.size + 2;
	char *text = malloc(size);

	if (text != NULL && is_builtin)
		(void)snprintf(text, size, "%s%.*s", what, (int)name.size, (const char *)name.data);
	else if (text != NULL)
		(void)snprintf(text, size, "%s%.*s.%.*s", what, (int)schema.size,
			       (const char *)schema.data, (int)name.size, (const char *)name.data);
	return text;
}

/* An oid may come to mean another type when the first was dropped. */
enum wp_rc wp_relations_put_type(struct wp_relations *r, const struct wp_change *change)
{
	assert(change->kind == WP_CHANGE_TYPE);
	const uint32_t oid = change->as.type.oid;
	const struct known known = known_by_name(change->as.type.schema, change->as.type.name);
	struct user_type *type;

	char *name = name_for_people(oid, change->as.type.schema, change->as.type.name);
	enum wp_rc rc = name == NULL ? WP_NOMEM : get_type(r, oid, &type);
	if (rc != WP_OK) {
		free(name);
		/* A name for people is not worth a refusal. */
		return rc == WP_FULL && known.type == WP_TYPE_OTHER ? WP_OK : rc;
	}
	free(type->name);
	type->name = name;
	if (known.type == WP_TYPE_OTHER && type->by_catalog)
		return WP_OK;
	type->known = known;
	type->by_catalog = false;
	return WP_OK;
}

static enum wp_rc put_by_catalog(struct wp_relations *r, uint32_t oid, struct known known)
{
	struct user_type *type;
	enum wp_rc rc = get_type(r, oid, &type);

	if (rc != WP_OK)
		return rc;
	type->known = known;
	type->by_catalog = true;
	return WP_OK;
}

enum wp_rc wp_relations_put_enum(struct wp_relations *r, uint32_t type_oid)
{
	return put_by_catalog(r, type_oid, (struct known){ .type = WP_TYPE_ENUM });
}

static struct known known_by_fact(const struct wp_type_fact *fact)
{
	struct known known = extension_by_name(wp_span_of(fact->known_as));

	if (strcmp(fact->known_as, "enum") == 0)
		return (struct known){ .type = WP_TYPE_ENUM };
	return known.type != WP_TYPE_OTHER ? known : known_by_oid(fact->base_oid);
}

enum wp_rc wp_relations_put_facts(struct wp_relations *r, const struct wp_column_facts *facts)
{
	enum wp_rc rc = WP_OK;

	r->types_max = r->relations_max + facts->type_count;
	for (size_t i = 0; i < facts->type_count && rc == WP_OK; i++) {
		struct known known = known_by_fact(&facts->types[i]);
		if (known.type != WP_TYPE_OTHER)
			rc = put_by_catalog(r, facts->types[i].oid, known);
	}
	return rc;
}

static struct known known_of(const struct wp_relations *r, uint32_t type_oid)
{
	struct known known = known_by_oid(type_oid);
	const struct user_type *type = known.type == WP_TYPE_OTHER ? find_type(r, type_oid) : NULL;

	return type != NULL ? type->known : known;
}

const char *wp_relations_type_name(const struct wp_relations *r, uint32_t type_oid)
{
	const struct user_type *type = find_type(r, type_oid);

	return type != NULL ? type->name : NULL;
}

bool wp_type_is_read_in_binary(enum wp_type type, enum wp_type element)
{
	switch (type == WP_TYPE_ARRAY ? element : type) {
	case WP_TYPE_OTHER:
	case WP_TYPE_PRINTED:
	case WP_TYPE_XML:
	case WP_TYPE_TSVECTOR:
	case WP_TYPE_LTREE:
		return false;
	default:
		return true;
	}
}

enum wp_type wp_relations_type(const struct wp_relations *r, uint32_t type_oid)
{
	return known_of(r, type_oid).type;
}

enum wp_type wp_relations_element(const struct wp_relations *r, uint32_t type_oid)
{
	return known_of(r, type_oid).element;
}

int wp_relation_column(const struct wp_relation *r, struct wp_span name)
{
	for (size_t i = 0; i < r->column_count; i++) {
		if (wp_span_equal(r->columns[i].name, name))
			return (int)i;
	}
	return -1;
}
