#include <stdlib.h>
#include <string.h>

#include "support/check.h"
#include "support/memory.h"
#include "walpost/wal/relations.h"

static int drops;
static void *last_dropped;

static void drop(void *attached)
{
	drops++;
	last_dropped = attached;
}

static struct wp_relations *r;

static void map_of(size_t relations_max)
{
	wp_relations_free(r);
	CHECK_EQ(wp_relations_new(relations_max, drop, &r), WP_OK);
	drops = 0;
}

static int set_up(void **state)
{
	map_of(10);
	return 0;
}

static int tear_down(void **state)
{
	wp_relations_free(r);
	r = NULL;
	return 0;
}

/* public.<name> with the columns "id" and `column`. */
static enum wp_rc put(uint32_t oid, const char *name, const char *column, struct wp_relation **ret)
{
	struct wp_column columns[] = {
		{ .name = wp_span_of("id"), .type_oid = 20, .type_modifier = -1, .is_key = true },
		{ .name = wp_span_of(column), .type_oid = 25, .type_modifier = 7 },
	};
	struct wp_change change = {
		.kind = WP_CHANGE_RELATION,
		.as.relation = {
			.oid = oid,
			.schema = wp_span_of("public"),
			.name = wp_span_of(name),
			.columns = columns,
			.column_count = 2,
		},
	};

	return wp_relations_put(r, &change, ret);
}

static struct wp_relation *relation_of(uint32_t oid, const char *name, const char *column)
{
	struct wp_relation *relation;

	CHECK_EQ(put(oid, name, column, &relation), WP_OK);
	return relation;
}

static enum wp_rc put_type(uint32_t oid, const char *schema, const char *name)
{
	struct wp_change change = {
		.kind = WP_CHANGE_TYPE,
		.as.type = { oid, wp_span_of(schema), wp_span_of(name) },
	};

	return wp_relations_put_type(r, &change);
}

static void what_was_never_told_is_not_found(void **state)
{
	CHECK(wp_relations_find(r, 1) == NULL);
}

static void a_relation_is_found_by_its_oid_as_a_copy(void **state)
{
	char name[] = "outbox", column[] = "payload";
	struct wp_relation *put_one = relation_of(16391, name, column);

	memset(name, '?', strlen(name));
	memset(column, '?', strlen(column));
	struct wp_relation *found = wp_relations_find(r, 16391);
	CHECK(found == put_one);
	CHECK_EQ(found->oid, 16391);
	CHECK_SPAN(found->schema, "public");
	CHECK_SPAN(found->name, "outbox");
	CHECK_EQ(found->name.data[6], 0);
	CHECK_EQ(found->schema.data[6], 0);
	CHECK_EQ(found->column_count, 2);
	CHECK_SPAN(found->columns[1].name, "payload");
	CHECK_EQ(found->columns[1].name.data[7], 0);
	CHECK_EQ(found->columns[1].type_oid, 25);
	CHECK_EQ(found->columns[1].type_modifier, 7);
	CHECK(found->columns[0].is_key && !found->columns[1].is_key);
	CHECK(found->attached == NULL);
}

static void a_column_is_found_by_its_whole_name(void **state)
{
	struct wp_relation *relation = relation_of(1, "outbox", "payload");

	CHECK_EQ(wp_relation_column(relation, wp_span_of("id")), 0);
	CHECK_EQ(wp_relation_column(relation, wp_span_of("payload")), 1);
	CHECK_EQ(wp_relation_column(relation, wp_span_of("payloa")), -1);
	CHECK_EQ(wp_relation_column(relation, wp_span_of("PAYLOAD")), -1);
	CHECK_EQ(wp_relation_column(relation, (struct wp_span){ 0 }), -1);
}

static void a_new_relation_replaces_the_old_and_drops_what_was_attached(void **state)
{
	int plan;

	relation_of(1, "outbox", "payload")->attached = &plan;
	struct wp_relation *fresh = relation_of(1, "renamed", "body");
	CHECK_EQ(drops, 1);
	CHECK(last_dropped == &plan);
	CHECK(wp_relations_find(r, 1) == fresh);
	CHECK(fresh->attached == NULL);
	CHECK_SPAN(fresh->name, "renamed");
	CHECK_EQ(wp_relation_column(fresh, wp_span_of("payload")), -1);
	(void)tear_down(state);
	CHECK_EQ(drops, 1);
}

static void a_relation_may_be_made_from_the_one_it_replaces(void **state)
{
	struct wp_relation *old = relation_of(1, "outbox", "payload");
	struct wp_change change = {
		.kind = WP_CHANGE_RELATION,
		.as.relation = { 1, old->schema, old->name, 'd', old->columns, 2 },
	};
	struct wp_relation *fresh;

	CHECK_EQ(wp_relations_put(r, &change, &fresh), WP_OK);
	CHECK_SPAN(fresh->name, "outbox");
	CHECK_SPAN(fresh->columns[1].name, "payload");
}

static void a_relation_without_columns_is_kept(void **state)
{
	struct wp_change change = {
		.kind = WP_CHANGE_RELATION,
		.as.relation = { .oid = 9, .schema = wp_span_of(""), .name = wp_span_of("t") },
	};
	struct wp_relation *relation;

	CHECK_EQ(wp_relations_put(r, &change, &relation), WP_OK);
	CHECK_EQ(relation->column_count, 0);
	CHECK_SPAN(relation->schema, "");
	CHECK_EQ(wp_relation_column(relation, wp_span_of("id")), -1);
}

static void the_bound_holds_for_new_relations_only(void **state)
{
	struct wp_relation *relation;

	map_of(3);
	for (uint32_t oid = 1; oid <= 3; oid++)
		(void)relation_of(oid, "t", "c");
	CHECK_EQ(put(4, "t", "c", &relation), WP_FULL);
	CHECK(wp_relations_find(r, 4) == NULL);
	CHECK_EQ(put(2, "t", "c", &relation), WP_OK);
	wp_relations_clear(r);
	CHECK_EQ(put(4, "t", "c", &relation), WP_OK);
}

static void clear_forgets_all_and_drops_what_was_attached(void **state)
{
	int plan;

	map_of(100);
	for (uint32_t oid = 1; oid <= 100; oid++)
		relation_of(oid, "t", "c")->attached = oid % 2 == 0 ? &plan : NULL;
	CHECK_EQ(put_type(500, "pg_catalog", "bytea"), WP_OK);
	wp_relations_clear(r);
	CHECK_EQ(drops, 50);
	for (uint32_t oid = 1; oid <= 100; oid++)
		CHECK(wp_relations_find(r, oid) == NULL);
	CHECK_EQ(wp_relations_type(r, 500), WP_TYPE_OTHER);
	(void)tear_down(state);
	CHECK_EQ(drops, 50);
}

static void free_drops_what_is_attached(void **state)
{
	int plan;

	map_of(1);
	relation_of(1, "t", "c")->attached = &plan;
	(void)tear_down(state);
	CHECK_EQ(drops, 1);
	wp_relations_free(NULL);
}

static void many_relations_are_each_found(void **state)
{
	uint32_t step = 858993459; /* oids from everywhere */

	map_of(5000);
	for (uint32_t i = 0; i < 5000; i++)
		(void)relation_of(i * step, "t", "c");
	for (uint32_t i = 0; i < 5000; i++)
		CHECK_EQ(wp_relations_find(r, i * step)->oid, i * step);
	CHECK(wp_relations_find(r, 5000 * step) == NULL);
}

static void types_are_known_by_their_oids_and_domains_by_their_base(void **state)
{
	static const struct {
		uint32_t oid;
		const char *name;
		enum wp_type type;
	} known[] = {
		{ 16, "bool", WP_TYPE_BOOL },
		{ 17, "bytea", WP_TYPE_BYTEA },
		{ 18, "char", WP_TYPE_CHAR },
		{ 19, "name", WP_TYPE_TEXT },
		{ 20, "int8", WP_TYPE_INT8 },
		{ 21, "int2", WP_TYPE_INT2 },
		{ 23, "int4", WP_TYPE_INT4 },
		{ 25, "text", WP_TYPE_TEXT },
		{ 114, "json", WP_TYPE_JSON },
		{ 700, "float4", WP_TYPE_FLOAT4 },
		{ 701, "float8", WP_TYPE_FLOAT8 },
		{ 1042, "bpchar", WP_TYPE_TEXT },
		{ 1043, "varchar", WP_TYPE_TEXT },
		{ 1082, "date", WP_TYPE_DATE },
		{ 1083, "time", WP_TYPE_TIME },
		{ 1114, "timestamp", WP_TYPE_TIMESTAMP },
		{ 1184, "timestamptz", WP_TYPE_TIMESTAMPTZ },
		{ 1700, "numeric", WP_TYPE_NUMERIC },
		{ 2950, "uuid", WP_TYPE_UUID },
		{ 3802, "jsonb", WP_TYPE_JSONB },
		{ 142, "xml", WP_TYPE_XML },
		{ 650, "cidr", WP_TYPE_PRINTED },
		{ 774, "macaddr8", WP_TYPE_PRINTED },
		{ 829, "macaddr", WP_TYPE_PRINTED },
		{ 869, "inet", WP_TYPE_PRINTED },
		{ 3614, "tsvector", WP_TYPE_TSVECTOR },
		{ 3904, "int4range", WP_TYPE_PRINTED },
		{ 3906, "numrange", WP_TYPE_PRINTED },
		{ 3908, "tsrange", WP_TYPE_PRINTED },
		{ 3910, "tstzrange", WP_TYPE_PRINTED },
		{ 3912, "daterange", WP_TYPE_PRINTED },
		{ 3926, "int8range", WP_TYPE_PRINTED },
		{ 1186, "interval", WP_TYPE_OTHER },
		{ 1266, "timetz", WP_TYPE_OTHER },
		{ 26, "oid", WP_TYPE_OTHER },
		{ 22, "int2vector", WP_TYPE_OTHER },
	};

	map_of(100);
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		uint32_t domain = 16400 + (uint32_t)i;
		CHECK_EQ(wp_relations_type(r, known[i].oid), known[i].type);
		CHECK_EQ(wp_relations_element(r, known[i].oid), WP_TYPE_OTHER);
		CHECK_EQ(wp_relations_type(r, domain), WP_TYPE_OTHER);
		CHECK_EQ(put_type(domain, "pg_catalog", known[i].name), WP_OK);
		CHECK_EQ(wp_relations_type(r, domain), known[i].type);
		CHECK_EQ(wp_relations_element(r, domain), WP_TYPE_OTHER);
	}
	CHECK_EQ(put_type(16500, "public", "bytea"), WP_OK); /* somebody's own */
	CHECK_EQ(wp_relations_type(r, 16500), WP_TYPE_OTHER);
	CHECK_EQ(put_type(16501, "public", "mood"), WP_OK);
	CHECK_EQ(wp_relations_type(r, 16501), WP_TYPE_OTHER);
	CHECK_EQ(put_type(16502, "pg_catalog", ""), WP_OK);
	CHECK_EQ(wp_relations_type(r, 16502), WP_TYPE_OTHER);
}

static void an_array_is_known_by_its_oid_and_a_domain_over_one_by_its_base(void **state)
{
	static const struct {
		uint32_t oid;
		const char *name;
		enum wp_type element;
	} known[] = {
		{ 199, "_json", WP_TYPE_JSON },
		{ 1000, "_bool", WP_TYPE_BOOL },
		{ 1001, "_bytea", WP_TYPE_BYTEA },
		{ 1002, "_char", WP_TYPE_CHAR },
		{ 1003, "_name", WP_TYPE_TEXT },
		{ 1005, "_int2", WP_TYPE_INT2 },
		{ 1007, "_int4", WP_TYPE_INT4 },
		{ 1009, "_text", WP_TYPE_TEXT },
		{ 1014, "_bpchar", WP_TYPE_TEXT },
		{ 1015, "_varchar", WP_TYPE_TEXT },
		{ 1016, "_int8", WP_TYPE_INT8 },
		{ 1021, "_float4", WP_TYPE_FLOAT4 },
		{ 1022, "_float8", WP_TYPE_FLOAT8 },
		{ 1115, "_timestamp", WP_TYPE_TIMESTAMP },
		{ 1182, "_date", WP_TYPE_DATE },
		{ 1183, "_time", WP_TYPE_TIME },
		{ 1185, "_timestamptz", WP_TYPE_TIMESTAMPTZ },
		{ 1231, "_numeric", WP_TYPE_NUMERIC },
		{ 2951, "_uuid", WP_TYPE_UUID },
		{ 3807, "_jsonb", WP_TYPE_JSONB },
		{ 1041, "_inet", WP_TYPE_PRINTED },
		{ 143, "_xml", WP_TYPE_XML },
	};

	map_of(100);
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		uint32_t domain = 16400 + (uint32_t)i;
		CHECK_EQ(wp_relations_type(r, known[i].oid), WP_TYPE_ARRAY);
		CHECK_EQ(wp_relations_element(r, known[i].oid), known[i].element);
		CHECK_EQ(put_type(domain, "pg_catalog", known[i].name), WP_OK);
		CHECK_EQ(wp_relations_type(r, domain), WP_TYPE_ARRAY);
		CHECK_EQ(wp_relations_element(r, domain), known[i].element);
	}
}

static void types_of_extensions_are_known_by_their_name_in_any_schema(void **state)
{
	CHECK_EQ(put_type(16500, "public", "citext"), WP_OK);
	CHECK_EQ(put_type(16501, "Ext", "ltree"), WP_OK);
	CHECK_EQ(put_type(16502, "public", "_citext"), WP_OK);
	CHECK_EQ(wp_relations_type(r, 16500), WP_TYPE_PRINTED);
	CHECK_EQ(wp_relations_type(r, 16501), WP_TYPE_LTREE);
	CHECK_EQ(wp_relations_type(r, 16502), WP_TYPE_OTHER);
}

static void the_catalog_tells_of_enums_domains_and_types_of_extensions(void **state)
{
	static const struct wp_type_fact told[] = {
		{ .oid = 16500, .base_oid = 16500, .known_as = "enum" },
		{ .oid = 16501, .base_oid = 16501, .known_as = "citext" },
		{ .oid = 16502, .base_oid = 16502, .known_as = "ltree" },
		{ .oid = 16503, .base_oid = 600 },
		{ .oid = 16504, .base_oid = 1700, .modifier = 655366 },
		{ .oid = 16505, .base_oid = 1115 },
	};
	static struct wp_column_facts facts;

	map_of(1); /* there is room for them, whatever the bound */
	wp_column_facts_begin(&facts);
	for (size_t i = 0; i < sizeof(told) / sizeof(told[0]); i++)
		CHECK(wp_column_facts_add_type(&facts, &told[i], NULL));
	CHECK_EQ(wp_relations_put_facts(r, &facts), WP_OK);
	CHECK_EQ(wp_relations_type(r, 16500), WP_TYPE_ENUM);
	CHECK_EQ(wp_relations_type(r, 16501), WP_TYPE_PRINTED);
	CHECK_EQ(wp_relations_type(r, 16502), WP_TYPE_LTREE);
	CHECK_EQ(wp_relations_type(r, 16503), WP_TYPE_OTHER);
	CHECK_EQ(wp_relations_type(r, 16504), WP_TYPE_NUMERIC);
	CHECK_EQ(wp_relations_type(r, 16505), WP_TYPE_ARRAY);
	CHECK_EQ(wp_relations_element(r, 16505), WP_TYPE_TIMESTAMP);
	/* A message that tells of a type we do not know leaves what the catalog told. */
	CHECK_EQ(put_type(16500, "public", "mood"), WP_OK);
	CHECK_EQ(wp_relations_type(r, 16500), WP_TYPE_ENUM);
}

static void a_type_is_called_as_a_message_called_it_last(void **state)
{
	map_of(4);
	CHECK(wp_relations_type_name(r, 16500) == NULL);
	CHECK_EQ(put_type(16500, "shop", "mood"), WP_OK);
	CHECK_EQ(put_type(16501, "pg_catalog", "numeric"), WP_OK);
	CHECK_TEXT(wp_relations_type_name(r, 16500), "type shop.mood");
	CHECK_TEXT(wp_relations_type_name(r, 16501), "a domain over numeric");
	CHECK_EQ(put_type(16500, "shop", "humour"), WP_OK);
	CHECK_TEXT(wp_relations_type_name(r, 16500), "type shop.humour");
	CHECK_EQ(wp_relations_put_enum(r, 16502), WP_OK);
	CHECK(wp_relations_type_name(r, 16502) == NULL);
	wp_relations_clear(r);
	CHECK(wp_relations_type_name(r, 16500) == NULL);
}

static void what_is_known_by_its_text_alone_is_not_read_in_binary(void **state)
{
	for (int type = WP_TYPE_TEXT; type <= WP_TYPE_TIMESTAMPTZ; type++) {
		CHECK(wp_type_is_read_in_binary((enum wp_type)type, WP_TYPE_OTHER));
		CHECK(wp_type_is_read_in_binary(WP_TYPE_ARRAY, (enum wp_type)type));
	}
	for (int type = WP_TYPE_PRINTED; type < WP_TYPE_ARRAY; type++) {
		CHECK(!wp_type_is_read_in_binary((enum wp_type)type, WP_TYPE_OTHER));
		CHECK(!wp_type_is_read_in_binary(WP_TYPE_ARRAY, (enum wp_type)type));
	}
	CHECK(!wp_type_is_read_in_binary(WP_TYPE_OTHER, WP_TYPE_OTHER));
}

static void an_array_of_something_else_is_not_known(void **state)
{
	CHECK_EQ(wp_relations_type(r, 791), WP_TYPE_OTHER); /* money[] */
	CHECK_EQ(put_type(16500, "public", "_text"), WP_OK);
	CHECK_EQ(put_type(16501, "pg_catalog", "_money"), WP_OK);
	CHECK_EQ(put_type(16502, "pg_catalog", "_"), WP_OK);
	CHECK_EQ(put_type(16503, "pg_catalog", "__text"), WP_OK);
	for (uint32_t oid = 16500; oid <= 16503; oid++) {
		CHECK_EQ(wp_relations_type(r, oid), WP_TYPE_OTHER);
		CHECK_EQ(wp_relations_element(r, oid), WP_TYPE_OTHER);
	}
}

static void an_enum_is_known_by_the_catalog_and_stays_so_when_its_name_is_told(void **state)
{
	map_of(3);
	CHECK_EQ(wp_relations_put_enum(r, 16501), WP_OK);
	CHECK_EQ(wp_relations_type(r, 16501), WP_TYPE_ENUM);
	CHECK_EQ(put_type(16501, "public", "mood"), WP_OK);
	CHECK_EQ(wp_relations_type(r, 16501), WP_TYPE_ENUM);
	CHECK_EQ(put_type(16501, "pg_catalog", "jsonb"), WP_OK);
	CHECK_EQ(wp_relations_type(r, 16501), WP_TYPE_JSONB);
	CHECK_EQ(wp_relations_put_enum(r, 16501), WP_OK);
	CHECK_EQ(wp_relations_type(r, 16501), WP_TYPE_ENUM);
	CHECK_EQ(wp_relations_put_enum(r, 16400), WP_OK);
	CHECK_EQ(wp_relations_put_enum(r, 16401), WP_OK);
	CHECK_EQ(wp_relations_put_enum(r, 16402), WP_FULL);
	wp_relations_clear(r);
	CHECK_EQ(wp_relations_type(r, 16501), WP_TYPE_OTHER);
}

static void a_type_told_anew_replaces_the_old(void **state)
{
	CHECK_EQ(put_type(101, "pg_catalog", "bytea"), WP_OK);
	CHECK_EQ(put_type(102, "pg_catalog", "bytea"), WP_OK);
	CHECK_EQ(put_type(101, "pg_catalog", "text"), WP_OK);
	CHECK_EQ(wp_relations_type(r, 101), WP_TYPE_TEXT);
	CHECK_EQ(put_type(101, "pg_catalog", "money"), WP_OK);
	CHECK_EQ(wp_relations_type(r, 101), WP_TYPE_OTHER);
	CHECK_EQ(wp_relations_type(r, 102), WP_TYPE_BYTEA);
}

static void the_bound_holds_for_types_too(void **state)
{
	map_of(20);
	for (uint32_t oid = 1; oid <= 20; oid++)
		CHECK_EQ(put_type(16400 + oid, "pg_catalog", "bytea"), WP_OK);
	CHECK_EQ(put_type(16401, "pg_catalog", "bytea"), WP_OK);
	CHECK_EQ(put_type(500, "pg_catalog", "bytea"), WP_FULL);
	CHECK_EQ(put_type(501, "pg_catalog", "money"), WP_OK);
	for (uint32_t oid = 1; oid <= 20; oid++)
		CHECK_EQ(wp_relations_type(r, 16400 + oid), WP_TYPE_BYTEA);
}

static void without_memory_what_was_there_stays(void **state)
{
	struct wp_relations *other;
	struct wp_relation *relation;
	int plan;

	relation_of(1, "outbox", "payload")->attached = &plan;
	memory_fails_after(0);
	enum wp_rc of_new = wp_relations_new(10, NULL, &other);
	memory_fails_after(0);
	enum wp_rc of_put = put(1, "renamed", "payload", &relation);
	memory_fails_after(0);
	enum wp_rc of_type = put_type(500, "pg_catalog", "bytea");
	memory_works();
	CHECK_EQ(of_new, WP_NOMEM);
	CHECK_EQ(of_put, WP_NOMEM);
	CHECK_EQ(of_type, WP_NOMEM);
	CHECK_SPAN(wp_relations_find(r, 1)->name, "outbox");
	CHECK(wp_relations_find(r, 1)->attached == &plan);
	CHECK_EQ(wp_relations_type(r, 500), WP_TYPE_OTHER);
}

int main(void)
{
	return RUN(TEST(what_was_never_told_is_not_found),
		   TEST(a_relation_is_found_by_its_oid_as_a_copy),
		   TEST(a_column_is_found_by_its_whole_name),
		   TEST(a_new_relation_replaces_the_old_and_drops_what_was_attached),
		   TEST(a_relation_may_be_made_from_the_one_it_replaces),
		   TEST(a_relation_without_columns_is_kept),
		   TEST(the_bound_holds_for_new_relations_only),
		   TEST(clear_forgets_all_and_drops_what_was_attached),
		   TEST(free_drops_what_is_attached), TEST(many_relations_are_each_found),
		   TEST(types_are_known_by_their_oids_and_domains_by_their_base),
		   TEST(an_array_is_known_by_its_oid_and_a_domain_over_one_by_its_base),
		   TEST(types_of_extensions_are_known_by_their_name_in_any_schema),
		   TEST(the_catalog_tells_of_enums_domains_and_types_of_extensions),
		   TEST(a_type_is_called_as_a_message_called_it_last),
		   TEST(what_is_known_by_its_text_alone_is_not_read_in_binary),
		   TEST(an_array_of_something_else_is_not_known),
		   TEST(an_enum_is_known_by_the_catalog_and_stays_so_when_its_name_is_told),
		   TEST(a_type_told_anew_replaces_the_old), TEST(the_bound_holds_for_types_too),
		   TEST(without_memory_what_was_there_stays));
}
