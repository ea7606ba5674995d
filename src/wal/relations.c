#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "walpost/wal/relations.h"

#define BUCKETS_MIN 16
#define BUCKETS_MAX 65536
#define BYTEA_OID 17

/* One allocation each: the entry, its columns, then all names with their NULs. */
struct entry {
	struct wp_relation relation; /* first: what callers hold */
	struct entry *next;
	struct wp_column columns[];
};

struct wp_relations {
	size_t relations_max;
	size_t count;
	void (*drop)(void *attached);
	uint32_t *domains; /* owned: oids that are bytea under another name */
	size_t domain_count;
	size_t domain_capacity;
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
	r->domain_count = 0;
}

void wp_relations_free(struct wp_relations *r)
{
	if (r == NULL)
		return;
	wp_relations_clear(r);
	free(r->domains);
	free(r);
}

/* Where the entry's pointer is, or where it would be hung. */
static struct entry **place(struct wp_relations *r, uint32_t oid)
{
	/* Oids are counted up: multiplied by 2^32 / golden ratio they spread. */
	uint32_t hash = oid * 2654435769u;
	struct entry **at = &r->buckets[(hash >> 16) & (r->bucket_count - 1)];

	while (*at != NULL && (*at)->relation.oid != oid)
		at = &(*at)->next;
	return at;
}

static struct wp_span copy_name(uint8_t **room, struct wp_span name)
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
			.schema = copy_name(&room, change->as.relation.schema),
			.name = copy_name(&room, change->as.relation.name),
			.columns = e->columns,
			.column_count = count,
		},
	};
	for (size_t i = 0; i < count; i++) {
		e->columns[i] = change->as.relation.columns[i];
		e->columns[i].name = copy_name(&room, change->as.relation.columns[i].name);
	}
	return e;
}

enum wp_rc wp_relations_put(struct wp_relations *r, const struct wp_change *change,
			    struct wp_relation **ret)
{
	assert(change->kind == WP_CHANGE_RELATION);
	struct entry **at = place(r, change->as.relation.oid);
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
	struct entry *e = *place(r, oid);

	return e == NULL ? NULL : &e->relation;
}

/* Its index, or the count if it is not there. */
static size_t domain_index(const struct wp_relations *r, uint32_t oid)
{
	size_t i = 0;

	while (i < r->domain_count && r->domains[i] != oid)
		i++;
	return i;
}

static enum wp_rc add_domain(struct wp_relations *r, uint32_t oid)
{
	if (r->domain_count == r->relations_max)
		return WP_FULL;
	if (r->domain_count == r->domain_capacity) {
		size_t capacity = r->domain_capacity == 0 ? 8 : r->domain_capacity * 2;
		uint32_t *domains = realloc(r->domains, capacity * sizeof(domains[0]));
		if (domains == NULL)
			return WP_NOMEM;
		r->domains = domains;
		r->domain_capacity = capacity;
	}
	r->domains[r->domain_count++] = oid;
	return WP_OK;
}

enum wp_rc wp_relations_put_type(struct wp_relations *r, const struct wp_change *change)
{
	assert(change->kind == WP_CHANGE_TYPE);
	uint32_t oid = change->as.type.oid;
	bool is_bytea = wp_span_is(change->as.type.schema, "pg_catalog") &&
			wp_span_is(change->as.type.name, "bytea");
	size_t index = domain_index(r, oid);
	bool is_known = index < r->domain_count;

	if (is_bytea && !is_known)
		return add_domain(r, oid);
	/* An oid may come to mean another type when the first was dropped. */
	if (!is_bytea && is_known)
		r->domains[index] = r->domains[--r->domain_count];
	return WP_OK;
}

bool wp_relations_is_bytea(const struct wp_relations *r, uint32_t type_oid)
{
	return type_oid == BYTEA_OID || domain_index(r, type_oid) < r->domain_count;
}

int wp_relation_column(const struct wp_relation *r, struct wp_span name)
{
	for (size_t i = 0; i < r->column_count; i++) {
		if (wp_span_equal(r->columns[i].name, name))
			return (int)i;
	}
	return -1;
}
