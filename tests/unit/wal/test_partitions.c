#include <string.h>

#include "support/check.h"
#include "support/memory.h"
#include "support/partitions.h"
#include "walpost/wal/partitions.h"

static struct wp_partitions p;
static int tear_down(void **state)
{
	wp_partitions_release(&p);
	return 0;
}

static void make(const char *partitions, const char *snapshot)
{
	CHECK_EQ(read_partitions(&p, partitions, snapshot, ""), WP_OK);
}

static void a_partition_is_found_by_its_oid(void **state)
{
	make("16390 0,16393 1,4294967295 2", "10:10:");
	CHECK_EQ(p.count, 3);
	CHECK_EQ(wp_partitions_find(&p, 16390)->table, 0);
	CHECK_EQ(wp_partitions_find(&p, 16393)->table, 1);
	CHECK_EQ(wp_partitions_find(&p, 4294967295U)->table, 2);
	CHECK(wp_partitions_find(&p, 16391) == NULL);
	CHECK(wp_partitions_find(&p, 1) == NULL);
	make("", "10:10:");
	CHECK(wp_partitions_find(&p, 16390) == NULL);
}

static void nothing_known_covers_nothing(void **state)
{
	CHECK(!wp_partitions_cover(&p, 1));
	CHECK(!wp_partitions_cover(&p, UINT32_MAX));
	CHECK(wp_partitions_find(&p, 1) == NULL);
}

static void transactions_that_had_ended_are_covered(void **state)
{
	make("", "100:105:100,103");
	CHECK(wp_partitions_cover(&p, 99));
	CHECK(!wp_partitions_cover(&p, 100));
	CHECK(wp_partitions_cover(&p, 101));
	CHECK(wp_partitions_cover(&p, 102));
	CHECK(!wp_partitions_cover(&p, 103));
	CHECK(wp_partitions_cover(&p, 104));
	CHECK(!wp_partitions_cover(&p, 105));
	CHECK(!wp_partitions_cover(&p, 200));
}

static void one_that_runs_and_is_harmless_is_covered_if_it_had_committed(void **state)
{
	CHECK_EQ(read_partitions(&p, "", "100:105:100,103", "4294967399"), WP_OK);
	CHECK(!wp_partitions_cover(&p, 103));
	CHECK(wp_partitions_cover_committed(&p, 103));
	CHECK(!wp_partitions_cover_committed(&p, 100));
	CHECK(wp_partitions_cover_committed(&p, 101));
	CHECK(!wp_partitions_cover_committed(&p, 105));
}

/* The log has 32 bits of them, the snapshot 64. */
static void transaction_ids_come_round(void **state)
{
	make("", "8589934590:8589934594:8589934590,8589934593");
	CHECK(wp_partitions_cover(&p, 4294967293U));
	CHECK(!wp_partitions_cover(&p, 4294967294U));
	CHECK(wp_partitions_cover(&p, 4294967295U));
	CHECK(wp_partitions_cover(&p, 0));
	CHECK(!wp_partitions_cover(&p, 1));
	CHECK(!wp_partitions_cover(&p, 2));
}

static void what_is_no_answer_is_refused_and_changes_nothing(void **state)
{
	static const char *const lists[] = {
		"x",
		"1",
		"1 ",
		"1 x",
		"1 0,",
		"1 0 c,",
		"1 0 cc",
		"1 0 c 2",
		"1 c",
		"1 0,1 0",
		"2 0,1 0",
		"1 0;2 0",
		"0 0",
		"4294967296 0",
		"1 4294967296",
		"99999999999999999999 0",
		" 1 0",
		"-1 0",
	};
	static const char *const snapshots[] = {
		"", "x", "1", "1:", "1:x:", "1:2:x", "1:2:1,", "1:2:1,,2", "1;2;",
	};

	make("5 1", "10:10:");
	for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++)
		CHECK_EQ(read_partitions(&p, lists[i], "20:20:", ""), WP_PROTO);
	for (size_t i = 0; i < sizeof(snapshots) / sizeof(snapshots[0]); i++)
		CHECK_EQ(read_partitions(&p, "6 0", snapshots[i], ""), WP_PROTO);
	CHECK_EQ(read_partitions(&p, "6 0", "20:20:", "7,x"), WP_PROTO);
	CHECK(wp_partitions_find(&p, 5) != NULL);
	CHECK(!wp_partitions_cover(&p, 10));
}

static void more_than_there_can_be_is_refused(void **state)
{
	static char list[2 * ((1 << 20) + 2)];

	memset(list, ',', sizeof(list) - 1);
	CHECK_EQ(read_partitions(&p, list, "10:10:", ""), WP_FULL);
	memcpy(list, "10:10:", 6);
	CHECK_EQ(read_partitions(&p, "", list, ""), WP_FULL);
}

static void a_partition_of_a_pattern_s_table_has_its_names(void **state)
{
	CHECK_EQ(wp_partitions_read(
			 &p,
			 &(struct wp_partitions_text){
				 .partitions =
					 "16390 0,16393 1 16380,16394 0 c,16395 1 16381,16396 1 c",
				 .roots = "{\"16380\": [\"tenant_1\", \"outbox\"], "
					  "\"16381\": [\"Te\\\"nant, 2\", \"out box\"]}",
				 .snapshot = "10:10:",
				 .harmless = "",
			 }),
		 WP_OK);
	CHECK(wp_partitions_find(&p, 16390)->root == NULL);
	CHECK(!wp_partitions_find(&p, 16390)->inherits);
	CHECK(wp_partitions_find(&p, 16394)->inherits && wp_partitions_find(&p, 16396)->inherits);
	CHECK(wp_partitions_find(&p, 16394)->root == NULL);
	CHECK_TEXT(wp_partitions_find(&p, 16393)->root->schema, "tenant_1");
	CHECK_TEXT(wp_partitions_find(&p, 16393)->root->name, "outbox");
	CHECK_TEXT(wp_partitions_find(&p, 16395)->root->schema, "Te\"nant, 2");
	CHECK_TEXT(wp_partitions_find(&p, 16395)->root->name, "out box");
}

static void what_is_no_list_of_roots_is_refused(void **state)
{
	static const char *const roots[] = {
		"",
		"[]",
		"{\"1\": 1}",
		"{\"1\": [\"a\"]}",
		"{\"1\": []}",
		"{\"1\": [1, 2]}",
		"{\"1\": [\"a\", \"b\"]",
	};

	for (size_t i = 0; i < sizeof(roots) / sizeof(roots[0]); i++)
		CHECK_EQ(wp_partitions_read(&p, &(struct wp_partitions_text){ "6 0 1", roots[i],
									      "10:10:", "" }),
			 WP_PROTO);
}

static void without_memory_nothing_changes(void **state)
{
	make("5 1", "10:10:");
	for (size_t i = 0; i < 3; i++) {
		memory_fails_after(i);
		CHECK_EQ(read_partitions(&p, "6 0", "20:20:", ""), WP_NOMEM);
	}
	memory_works();
	CHECK(wp_partitions_find(&p, 5) != NULL);
}

int main(void)
{
	return RUN(CLEAN(a_partition_is_found_by_its_oid), CLEAN(nothing_known_covers_nothing),
		   CLEAN(a_partition_of_a_pattern_s_table_has_its_names),
		   CLEAN(what_is_no_list_of_roots_is_refused),
		   CLEAN(transactions_that_had_ended_are_covered),
		   CLEAN(one_that_runs_and_is_harmless_is_covered_if_it_had_committed),
		   CLEAN(transaction_ids_come_round),
		   CLEAN(what_is_no_answer_is_refused_and_changes_nothing),
		   CLEAN(more_than_there_can_be_is_refused), CLEAN(without_memory_nothing_changes));
}
