#include <stdio.h>
#include <string.h>

#include "support/check.h"
#include "walpost/wal/column_facts.h"

static struct wp_column_facts facts; /* large */

static int set_up(void **state)
{
	(void)state;
	wp_column_facts_begin(&facts);
	return 0;
}

static void add(size_t table, const char *name, const char *labels)
{
	struct wp_column_fact fact = { .table = table, .type_oid = 7, .known_as = "enum" };

	(void)snprintf(fact.name, sizeof(fact.name), "%s", name);
	wp_column_facts_add(&facts, &fact, labels);
}

static const struct wp_column_fact *find(size_t table, const char *name)
{
	return wp_column_facts_find(&facts, table, wp_span_of(name));
}

static void a_column_is_found_by_table_and_name(void **state)
{
	add(0, "id", NULL);
	add(1, "id", NULL);
	facts.items[1].type_oid = 8;
	CHECK_EQ(find(0, "id")->type_oid, 7);
	CHECK_EQ(find(1, "id")->type_oid, 8);
	CHECK(find(2, "id") == NULL);
	CHECK(find(0, "i") == NULL);
	CHECK(find(0, "id2") == NULL);
}

static void labels_are_those_of_the_column(void **state)
{
	add(0, "plain", NULL);
	add(0, "mood", "good,bad");
	add(0, "empty", "");
	CHECK(wp_column_facts_labels(&facts, find(0, "plain")) == NULL);
	CHECK_TEXT(wp_column_facts_labels(&facts, find(0, "mood")), "good,bad");
	CHECK_TEXT(wp_column_facts_labels(&facts, find(0, "empty")), "");
}

static void labels_that_do_not_fit_are_not_known(void **state)
{
	static char labels[WP_COLUMN_LABELS_SIZE];

	memset(labels, 'x', sizeof(labels) - 2);
	add(0, "most", labels);
	add(0, "more", "");
	CHECK_EQ(strlen(wp_column_facts_labels(&facts, find(0, "most"))), sizeof(labels) - 2);
	CHECK(wp_column_facts_labels(&facts, find(0, "more")) == NULL);
}

static void columns_that_do_not_fit_are_left_out(void **state)
{
	char name[16];

	for (int i = 0; i <= WP_COLUMN_FACTS_MAX; i++) {
		(void)snprintf(name, sizeof(name), "c%d", i);
		add(0, name, NULL);
	}
	CHECK_EQ(facts.count, WP_COLUMN_FACTS_MAX);
	(void)snprintf(name, sizeof(name), "c%d", WP_COLUMN_FACTS_MAX - 1);
	CHECK(find(0, name) != NULL);
	(void)snprintf(name, sizeof(name), "c%d", WP_COLUMN_FACTS_MAX);
	CHECK(find(0, name) == NULL);
	wp_column_facts_begin(&facts);
	CHECK(find(0, "c0") == NULL);
}

#define TEST(name_) cmocka_unit_test_setup(name_, set_up)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_column_is_found_by_table_and_name),
		TEST(labels_are_those_of_the_column),
		TEST(labels_that_do_not_fit_are_not_known),
		TEST(columns_that_do_not_fit_are_left_out),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
