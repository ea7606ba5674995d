#include <stdio.h>
#include <string.h>

#include "support/check.h"
#include "walpost/wal/column_facts.h"

static struct wp_column_facts facts; /* large */

static int set_up(void **state)
{
	wp_column_facts_begin(&facts);
	return 0;
}

static void add(size_t table, const char *name)
{
	struct wp_column_fact fact = { .table = table, .type_oid = 7 };

	(void)snprintf(fact.name, sizeof(fact.name), "%s", name);
	wp_column_facts_add(&facts, &fact, NULL);
}

/* Of a DEFAULT as pg_get_expr() writes it; NULL: it is no constant. */
static const char *constant_of(const char *expression)
{
	wp_column_facts_begin(&facts);
	wp_column_facts_add(&facts, &(struct wp_column_fact){ .name = "a" }, expression);
	return wp_column_facts_constant(&facts, &facts.items[0]);
}

static bool add_type(uint32_t oid, const char *labels)
{
	return wp_column_facts_add_type(&facts, &(struct wp_type_fact){ .oid = oid }, labels);
}

static const char *labels_of(uint32_t oid)
{
	return wp_column_facts_labels(&facts, wp_column_facts_type(&facts, oid));
}

static const struct wp_column_fact *find(size_t table, const char *name)
{
	return wp_column_facts_find(&facts, table, wp_span_of(name));
}

static void a_default_is_known_when_it_is_a_constant(void **state)
{
	static const char *const computed[] = {
		"now()",
		"CURRENT_TIMESTAMP",
		"gen_random_uuid()",
		"(1 + 1)",
		"lower('A'::text)",
		"('a'::text || 'b'::text)",
		"NULL::integer",
		"CURRENT_USER",
		"nextval('s'::regclass)",
		"'a'::text || 'b'::text",
		"'a",
		"",
		"E",
		"-",
		"'a'::text COLLATE \"C\" || 'x'",
	};

	CHECK_TEXT(constant_of("7"), "7");
	CHECK_TEXT(constant_of("1.5"), "1.5");
	CHECK_TEXT(constant_of("true"), "true");
	CHECK_TEXT(constant_of("'-7'::integer"), "-7");
	CHECK_TEXT(constant_of("''::text"), "");
	CHECK_TEXT(constant_of("'it''s (a) ''b'' '::character varying(20)"), "it's (a) 'b' ");
	CHECK_TEXT(constant_of("E'a\\\\b'::text"), "a\\\\b");
	CHECK_TEXT(constant_of("'x'::\"My\".mood"), "x");
	CHECK_TEXT(constant_of("'2024-02-29 12:34:56'::timestamp without time zone"),
		   "2024-02-29 12:34:56");
	for (size_t i = 0; i < sizeof(computed) / sizeof(computed[0]); i++)
		CHECK(constant_of(computed[i]) == NULL);
	CHECK(constant_of(NULL) == NULL);
}

static void a_default_without_room_is_not_known(void **state)
{
	static char long_one[WP_TYPE_LABELS_SIZE + 8];

	memset(long_one, 'a', sizeof(long_one) - 1);
	long_one[0] = '\'';
	memcpy(long_one + WP_TYPE_LABELS_SIZE - 1, "'",
	       2); /* one more with its NUL than there is room */
	CHECK(constant_of(long_one) == NULL);
	memcpy(long_one + WP_TYPE_LABELS_SIZE - 2, "'", 2);
	CHECK_EQ(strlen(constant_of(long_one)), WP_TYPE_LABELS_SIZE - 3);
}

static void a_column_is_found_by_table_and_name(void **state)
{
	add(0, "id");
	add(1, "id");
	facts.items[1].type_oid = 8;
	CHECK_EQ(find(0, "id")->type_oid, 7);
	CHECK_EQ(find(1, "id")->type_oid, 8);
	CHECK(find(2, "id") == NULL);
	CHECK(find(0, "i") == NULL);
	CHECK(find(0, "id2") == NULL);
}

static void a_type_is_found_by_its_oid_in_whatever_order_they_came(void **state)
{
	static const uint32_t oids[] = { 50, 10, 4000000000, 30, 20 };

	for (size_t i = 0; i < 5; i++)
		CHECK(add_type(oids[i], NULL));
	for (size_t i = 0; i < 5; i++)
		CHECK_EQ(wp_column_facts_type(&facts, oids[i])->oid, oids[i]);
	CHECK(wp_column_facts_type(&facts, 9) == NULL);
	CHECK(wp_column_facts_type(&facts, 31) == NULL);
	CHECK(wp_column_facts_type(&facts, UINT32_MAX) == NULL);
}

static void labels_are_those_of_the_type(void **state)
{
	CHECK(add_type(3, NULL));
	CHECK(add_type(2, "good,bad"));
	CHECK(add_type(1, ""));
	CHECK(labels_of(3) == NULL);
	CHECK_TEXT(labels_of(2), "good,bad");
	CHECK_TEXT(labels_of(1), "");
}

static void labels_that_do_not_fit_are_not_known(void **state)
{
	static char labels[WP_TYPE_LABELS_SIZE];

	memset(labels, 'x', sizeof(labels) - 2);
	CHECK(add_type(1, labels));
	CHECK(!add_type(2, ""));
	CHECK_EQ(strlen(labels_of(1)), sizeof(labels) - 2);
	CHECK(labels_of(2) == NULL);
}

static void types_that_do_not_fit_are_left_out(void **state)
{
	for (uint32_t i = 1; i <= WP_TYPE_FACTS_MAX; i++)
		CHECK(add_type(i, NULL));
	CHECK(!add_type(WP_TYPE_FACTS_MAX + 1, NULL));
	CHECK(wp_column_facts_type(&facts, WP_TYPE_FACTS_MAX) != NULL);
	CHECK(wp_column_facts_type(&facts, WP_TYPE_FACTS_MAX + 1) == NULL);
}

static void a_copy_says_the_same(void **state)
{
	static struct wp_column_facts copy;

	memset(&copy, 'x', sizeof(copy));
	add(0, "id");
	CHECK(add_type(5, "a,b"));
	facts.unlabelled = 2;
	wp_column_facts_copy(&copy, &facts);
	CHECK_EQ(wp_column_facts_find(&copy, 0, wp_span_of("id"))->type_oid, 7);
	CHECK(wp_column_facts_find(&copy, 1, wp_span_of("id")) == NULL);
	CHECK_TEXT(wp_column_facts_labels(&copy, wp_column_facts_type(&copy, 5)), "a,b");
	CHECK(wp_column_facts_type(&copy, 6) == NULL);
	CHECK_EQ(copy.unlabelled, 2);
}

static void columns_that_do_not_fit_are_left_out(void **state)
{
	char name[16];

	for (int i = 0; i <= WP_COLUMN_FACTS_MAX; i++) {
		(void)snprintf(name, sizeof(name), "c%d", i);
		add(0, name);
	}
	CHECK_EQ(facts.count, WP_COLUMN_FACTS_MAX);
	(void)snprintf(name, sizeof(name), "c%d", WP_COLUMN_FACTS_MAX - 1);
	CHECK(find(0, name) != NULL);
	(void)snprintf(name, sizeof(name), "c%d", WP_COLUMN_FACTS_MAX);
	CHECK(find(0, name) == NULL);
	wp_column_facts_begin(&facts);
	CHECK(find(0, "c0") == NULL);
}

int main(void)
{
	return RUN(FRESH(a_column_is_found_by_table_and_name),
		   FRESH(a_default_is_known_when_it_is_a_constant),
		   FRESH(a_default_without_room_is_not_known),
		   FRESH(a_type_is_found_by_its_oid_in_whatever_order_they_came),
		   FRESH(labels_are_those_of_the_type), FRESH(labels_that_do_not_fit_are_not_known),
		   FRESH(types_that_do_not_fit_are_left_out), FRESH(a_copy_says_the_same),
		   FRESH(columns_that_do_not_fit_are_left_out));
}
