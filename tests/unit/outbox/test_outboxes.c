#include "support/memory.h"
#include "support/rows.h"
#include "support/check.h"
#include "walpost/outbox/outboxes.h"

static struct wp_outbox_options options[3];
static struct wp_outboxes outboxes;
static struct wp_outbox_set *set;
static struct wp_error error;

static int set_up(void **state)
{
	for (size_t i = 0; i < 3; i++)
		options[i] = default_options();
	options[0].table = "sales.orders";
	options[0].leaves = "sales.orders_*";
	options[1].table = "";
	options[1].message_prefix = "note";
	options[2].table = "\"Bills\"";
	options[2].message_prefix = "bill";
	outboxes = (struct wp_outboxes){ .items = options, .count = 3, .ignore = "audit.*" };
	set = NULL;
	return 0;
}

static int tear_down(void **state)
{
	wp_outbox_set_free(set);
	return 0;
}

static void make(void)
{
	if (wp_outbox_set_new(&outboxes, 1024, &set, &error) != WP_OK)
		fail_msg("%s", error.text);
}

static const struct wp_outbox_options *found(const struct wp_outbox *outbox)
{
	return outbox == NULL ? NULL : outbox->options;
}

static const struct wp_outbox_options *find(const char *schema, const char *name)
{
	return found(wp_outbox_set_find(set, wp_span_of(schema), wp_span_of(name)));
}

static const struct wp_outbox_options *table(const char *schema, const char *name)
{
	return found(wp_outbox_set_table(set, wp_span_of(schema), wp_span_of(name)));
}

static void a_relation_belongs_to_the_outbox_of_its_name(void **state)
{
	make();
	CHECK(table("sales", "orders") == &options[0]);
	CHECK(table("public", "Bills") == &options[2]);
	CHECK(table("public", "bills") == NULL);
	CHECK(table("public", "orders") == NULL);
}

static void a_leaf_belongs_to_the_outbox_that_lists_it(void **state)
{
	make();
	CHECK(find("sales", "orders_1") == &options[0]);
	CHECK(table("sales", "orders_1") == NULL);
	CHECK(find("sales", "orders") == &options[0]);
	CHECK(find("public", "orders_1") == NULL);
}

/* Of a table without columns. */
static struct wp_rows rows_of(const char *schema, const char *name,
			      const struct wp_partition *partition)
{
	const struct wp_relation r = { .schema = wp_span_of(schema), .name = wp_span_of(name) };

	return wp_outbox_set_rows_of_partition(set, &r, partition);
}

/* Of one that has these, "" none, and no partition. */
static enum wp_rows_kind kind_of(const char *schema, const char *name, const char *first,
				 const char *second, const char *third)
{
	const struct wp_column columns[] = {
		{ .name = wp_span_of("n") },
		{ .name = wp_span_of(first) },
		{ .name = wp_span_of(second) },
		{ .name = wp_span_of(third) },
	};
	const struct wp_relation r = { .schema = wp_span_of(schema),
				       .name = wp_span_of(name),
				       .columns = columns,
				       .column_count = 4 };

	return wp_outbox_set_rows_of_partition(set, &r, NULL).kind;
}

static void what_is_no_table_of_ours_may_be_a_partition(void **state)
{
	struct wp_rows rows;

	make();
	rows = wp_outbox_set_rows(set, wp_span_of("sales"), wp_span_of("orders"));
	CHECK_EQ(rows.kind, WP_ROWS_EVENTS);
	CHECK(rows.outbox->options == &options[0]);
	rows = wp_outbox_set_rows(set, wp_span_of("walpost"), wp_span_of("slot_checkpoint"));
	CHECK_EQ(rows.kind, WP_ROWS_OWN);
	rows = wp_outbox_set_rows(set, wp_span_of("sales"), wp_span_of("orders_1"));
	CHECK_EQ(rows.kind, WP_ROWS_UNKNOWN);
	rows = wp_outbox_set_rows(set, wp_span_of("audit"), wp_span_of("log"));
	CHECK_EQ(rows.kind, WP_ROWS_UNKNOWN);
}

/* That of the first covers partitions of the third. */
static void a_partition_is_of_its_table_before_it_is_of_a_pattern(void **state)
{
	const struct wp_partition of_bills = { .oid = 1, .table = 1 };

	options[0].leaves = "public.b_*";
	make();
	CHECK(rows_of("public", "b_1", &of_bills).outbox->options == &options[2]);
	/* Detached or dropped, it still has rows in the log. */
	CHECK(rows_of("public", "b_1", NULL).outbox->options == &options[0]);
	CHECK_EQ(rows_of("public", "c_1", NULL).kind, WP_ROWS_FOREIGN);
	CHECK(rows_of("public", "c_1", NULL).outbox == NULL);
	CHECK_EQ(rows_of("audit", "log", NULL).kind, WP_ROWS_IGNORED);
	CHECK_EQ(rows_of("audit", "log", &of_bills).kind, WP_ROWS_EVENTS);
}

/* Whatever columns of it are published, and whatever a pattern says. */
static void a_child_is_nobodys_unless_it_is_configured_or_ignored_by_its_exact_name(void **state)
{
	const struct wp_partition child = { .oid = 1, .table = 1, .inherits = true };

	outboxes.ignore = "*, archive.old";
	make();
	CHECK_EQ(rows_of("audit", "child", &child).kind, WP_ROWS_CHILD);
	CHECK_EQ(rows_of("walpost", "child", &child).kind, WP_ROWS_CHILD);
	CHECK_EQ(rows_of("audit", "child", NULL).kind, WP_ROWS_IGNORED);
	CHECK_EQ(rows_of("archive", "old", &child).kind, WP_ROWS_IGNORED);
	CHECK(rows_of("sales", "orders_1", &child).outbox->options == &options[0]);
	wp_outbox_set_free(set);
	outboxes.ignore = "";
	options[0].table = "sales.*";
	make();
	CHECK_EQ(rows_of("audit", "child", &child).kind, WP_ROWS_CHILD);
	CHECK(rows_of("sales", "other", &child).outbox->options == &options[0]);
}

static void a_message_belongs_to_the_outbox_of_its_prefix(void **state)
{
	make();
	CHECK(found(wp_outbox_set_prefix(set, wp_span_of("note"))) == &options[1]);
	CHECK(found(wp_outbox_set_prefix(set, wp_span_of("bill"))) == &options[2]);
	CHECK(wp_outbox_set_prefix(set, wp_span_of("")) == NULL);
	CHECK(wp_outbox_set_prefix(set, wp_span_of("notes")) == NULL);
	CHECK(wp_outbox_set_at(set, 0)->messages == NULL);
	CHECK(wp_outbox_set_at(set, 1)->messages != NULL);
}

static void tables_are_counted_without_those_that_have_none(void **state)
{
	make();
	CHECK_EQ(wp_outbox_set_at(set, 0)->table, 0);
	CHECK_EQ(wp_outbox_set_at(set, 2)->table, 1);
}

static void what_is_ignored_is_so_for_all(void **state)
{
	make();
	CHECK(wp_outbox_set_ignores(set, wp_span_of("audit"), wp_span_of("log")));
	CHECK(!wp_outbox_set_ignores(set, wp_span_of("sales"), wp_span_of("log")));
}

/* It may have been a partition that is gone, or an outbox under another name. */
static void what_has_the_columns_of_an_outbox_is_ignored_by_its_exact_name_only(void **state)
{
	options[1].column_key = "note";
	outboxes.ignore = "*, archive.old, \"a*b\"";
	make();
	CHECK_EQ(kind_of("public", "gone", "id", "aggregateid", "payload"), WP_ROWS_LOOKALIKE);
	CHECK_EQ(kind_of("public", "gone", "payload", "id", "aggregateid"), WP_ROWS_LOOKALIKE);
	CHECK_EQ(kind_of("public", "gone", "id", "aggregateid", ""), WP_ROWS_IGNORED);
	CHECK_EQ(kind_of("public", "gone", "id", "", "payload"), WP_ROWS_IGNORED);
	CHECK_EQ(kind_of("public", "gone", "", "aggregateid", "payload"), WP_ROWS_IGNORED);
	/* The columns of messages are no table's. */
	CHECK_EQ(kind_of("public", "gone", "id", "note", "payload"), WP_ROWS_IGNORED);
	CHECK_EQ(kind_of("archive", "old", "id", "aggregateid", "payload"), WP_ROWS_IGNORED);
	CHECK_EQ(kind_of("public", "a*b", "id", "aggregateid", "payload"), WP_ROWS_IGNORED);
	CHECK_EQ(kind_of("walpost", "parked", "id", "aggregateid", "payload"), WP_ROWS_IGNORED);
	CHECK_EQ(kind_of("sales", "orders_1", "id", "aggregateid", "payload"), WP_ROWS_EVENTS);
}

static void an_outbox_in_the_schema_of_walpost_itself_loses_no_partition(void **state)
{
	make();
	CHECK_EQ(kind_of("walpost", "gone", "id", "aggregateid", "payload"), WP_ROWS_OWN);
	wp_outbox_set_free(set);
	options[0].table = "walpost.orders";
	make();
	CHECK_EQ(kind_of("walpost", "gone", "id", "aggregateid", "payload"), WP_ROWS_FOREIGN);
	CHECK_EQ(kind_of("walpost", "parked", "id", "key", "row"), WP_ROWS_OWN);
}

static void the_columns_of_each_outbox_count(void **state)
{
	options[0].column_id = "number";
	options[0].column_key = "data->>customer";
	options[0].column_payload = "data";
	outboxes.ignore = "archive.*";
	make();
	CHECK_EQ(kind_of("archive", "gone", "number", "data", ""), WP_ROWS_LOOKALIKE);
	CHECK_EQ(kind_of("archive", "gone", "id", "aggregateid", "payload"), WP_ROWS_LOOKALIKE);
	CHECK_EQ(kind_of("archive", "gone", "id", "data", "payload"), WP_ROWS_IGNORED);
	CHECK_EQ(kind_of("public", "gone", "number", "data", ""), WP_ROWS_FOREIGN);
}

static void wrong(const char *reason)
{
	CHECK_EQ(wp_outbox_set_new(&outboxes, 1024, &set, &error), WP_CONFIG);
	CHECK(set == NULL);
	CHECK_HAS(error.text, reason);
}

static void what_is_wrong_with_one_is_told(void **state)
{
	outboxes.ignore = "\"";
	wrong("is not a list of table patterns");
	outboxes.ignore = "";
	options[2].leaves = "a..b";
	wrong("is not a list of table patterns");
	options[2].leaves = "";
	options[2].table = "a.b.c";
	wrong("is not a table name");
	options[2].table = "t";
	options[2].headers_standard = "nix";
	wrong("outbox.headers.standard");
	options[2].headers_standard = "";
	options[2].headers = "a,";
	wrong("outbox.headers = \"a,\"");
}

static void out_of_memory_is_said_wherever_it_ends(void **state)
{
	enum wp_rc rc = WP_NOMEM;
	size_t allocations = 0;

	for (; rc == WP_NOMEM && allocations < 1000; allocations++) {
		memory_fails_after(allocations);
		rc = wp_outbox_set_new(&outboxes, 1024, &set, &error);
		memory_works();
	}
	CHECK_EQ(rc, WP_OK);
	CHECK(allocations > 6);
}

static void check_origin(struct wp_rows rows, const char *schema, const char *name)
{
	CHECK_EQ(rows.kind, WP_ROWS_EVENTS);
	CHECK(wp_span_is(rows.origin.schema, schema));
	CHECK(wp_span_is(rows.origin.table, name));
}

static void a_pattern_has_all_tables_that_fit_and_are_no_other_s(void **state)
{
	options[2].table = "tenant_*.out*";
	outboxes.ignore = "*";
	make();
	CHECK(wp_outbox_set_at(set, 2)->is_pattern && !wp_outbox_set_at(set, 0)->is_pattern);
	/* By its name alone it may be somebody's partition. */
	CHECK_EQ(wp_outbox_set_rows(set, wp_span_of("tenant_1"), wp_span_of("outbox")).kind,
		 WP_ROWS_UNKNOWN);
	check_origin(rows_of("tenant_1", "outbox", NULL), "tenant_1", "outbox");
	CHECK(rows_of("tenant_1", "outbox", NULL).outbox->options == &options[2]);
	CHECK_EQ(rows_of("tenant_1", "orders", NULL).kind, WP_ROWS_IGNORED);
	CHECK(table("tenant_7", "outbox") == &options[2]);
	CHECK(table("tenant_7", "other") == NULL);

	const struct wp_partition_root root = { 5, "tenant_2", "outbox" };
	const struct wp_partition theirs = { 9, 1, &root, false }, others = { 9, 0, NULL, false };
	check_origin(rows_of("tenant_2", "out_1", &theirs), "tenant_2", "outbox");
	check_origin(rows_of("elsewhere", "leaf", &theirs), "tenant_2", "outbox");
	check_origin(rows_of("tenant_1", "out_1", &others), "sales", "orders");
}

static void a_pattern_has_no_table_of_walpost_itself(void **state)
{
	options[2].table = "*";
	make();
	CHECK_EQ(rows_of("walpost", "parked", NULL).kind, WP_ROWS_OWN);
	check_origin(rows_of("public", "outbox", NULL), "public", "outbox");
	check_origin(rows_of("sales", "orders", NULL), "sales", "orders");
	CHECK(rows_of("sales", "orders", NULL).outbox->options == &options[0]);
	CHECK(rows_of("sales", "orders_1", NULL).outbox->options == &options[0]);
}

int main(void)
{
	return RUN(TEST(a_pattern_has_all_tables_that_fit_and_are_no_other_s),
		   TEST(a_pattern_has_no_table_of_walpost_itself),
		   TEST(a_relation_belongs_to_the_outbox_of_its_name),
		   TEST(a_leaf_belongs_to_the_outbox_that_lists_it),
		   TEST(what_is_no_table_of_ours_may_be_a_partition),
		   TEST(a_partition_is_of_its_table_before_it_is_of_a_pattern),
		   TEST(a_child_is_nobodys_unless_it_is_configured_or_ignored_by_its_exact_name),
		   TEST(a_message_belongs_to_the_outbox_of_its_prefix),
		   TEST(tables_are_counted_without_those_that_have_none),
		   TEST(what_has_the_columns_of_an_outbox_is_ignored_by_its_exact_name_only),
		   TEST(an_outbox_in_the_schema_of_walpost_itself_loses_no_partition),
		   TEST(the_columns_of_each_outbox_count), TEST(what_is_ignored_is_so_for_all),
		   TEST(what_is_wrong_with_one_is_told),
		   TEST(out_of_memory_is_said_wherever_it_ends));
}
