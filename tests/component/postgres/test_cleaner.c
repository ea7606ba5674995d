/* Old rows on a real server: what is looked at, and that only the session that looked removes it. */
#include "harness.h"

#include <stdlib.h>

#include "walpost/postgres_stream/cleaner.h"
#include "walpost/postgres_preflight/publication.h"

static struct harness harness;
static struct wp_cleanup_store *cleaner;
static struct wp_cleanup_options options;
static unsigned long wakes;

static void on_wake(void *arg)
{
	(void)arg; /* one for all */
	wakes++;
}

static const struct wp_cleanup_table outbox = {
	.outbox = "outbox",
	.schema = "public",
	.name = "outbox",
	.inserted = "at",
	.id = "id",
};

static const struct wp_cleanup_view *view(void)
{
	return cleaner->ops->view(cleaner);
}

static int set_up(void **state)
{
	(void)state; /* one harness for all */
	harness_init(&harness);
	PGresult *result = PQexec(harness.admin, wp_cleanup_sql);
	if (PQresultStatus(result) != PGRES_COMMAND_OK)
		fail_msg("%s", PQerrorMessage(harness.admin));
	PQclear(result);
	harness_sql(&harness, "ALTER TABLE outbox ADD at timestamptz DEFAULT clock_timestamp()");
	harness_sql(
		&harness,
		"INSERT INTO walpost.slot_checkpoint (slot, owner, system_identifier, timeline, "
		"epoch, taken_at_lsn) VALUES ('%s', 'test', '1', 1, 0, '0/1')",
		harness.options.slot);
	options = (struct wp_cleanup_options){
		.mode = WP_CLEANUP_DELETE,
		.batch = 100,
		.interval_ms = 20,
	};
	cleaner = wp_cleaner_new(harness.loop, &(struct wp_cleaner_setup){
						       .options = &harness.options,
						       .cleanup = &options,
						       .wake = { on_wake, NULL },
					       });
	CHECK(cleaner != NULL);
	wp_cleaner_set_tables(cleaner, &outbox, 1);
	return 0;
}

static int tear_down(void **state)
{
	(void)state; /* one harness for all */
	wp_cleaner_free(cleaner);
	harness_release(&harness);
	return 0;
}

static long number_of(const char *sql)
{
	return strtol(harness_value(&harness, "SELECT count(*) FROM %s", sql), NULL, 10);
}

static void insert(int count)
{
	harness_sql(&harness,
		    "INSERT INTO outbox (id, aggregatetype, aggregateid, type) SELECT "
		    "gen_random_uuid(), 'a', "
		    "'1', 't' FROM generate_series(1, %d)",
		    count);
}

/* Its floor is known: from then on rows are looked at. */
static void open_it(void)
{
	cleaner->ops->open(cleaner);
	AWAIT(&harness, number_of("walpost.cleanup_floor WHERE wait_for IS NULL") == 1);
}

static void rows_go_when_the_relay_says_so_and_not_before(void **state)
{
	(void)state; /* one harness for all */
	open_it();
	insert(250);
	for (int i = 0; i < 3; i++) {
		AWAIT(&harness, view()->state == WP_CLEANUP_LOOKED);
		CHECK(view()->lsn > 0);
		harness_pump(&harness);
		CHECK_EQ(number_of("outbox"), 250 - i * 100);
		cleaner->ops->remove(cleaner);
		AWAIT(&harness, view()->state != WP_CLEANUP_REMOVING);
	}
	CHECK_EQ(number_of("outbox"), 0);
	CHECK_EQ(view()->counts[0].removed, 250);
	CHECK_TEXT(view()->trouble.text, "");
	CHECK(wakes > 0);
}

static void rows_from_before_the_first_look_stay(void **state)
{
	(void)state; /* one harness for all */
	insert(3);
	open_it();
	insert(2);
	AWAIT(&harness, view()->state == WP_CLEANUP_LOOKED);
	cleaner->ops->remove(cleaner);
	AWAIT(&harness, view()->counts[0].removed == 2);
	CHECK_EQ(number_of("outbox"), 3);
}

static void closed_it_forgets_what_it_looked_at(void **state)
{
	(void)state; /* one harness for all */
	open_it();
	insert(5);
	AWAIT(&harness, view()->state == WP_CLEANUP_LOOKED);
	cleaner->ops->close(cleaner);
	CHECK_EQ(view()->state, WP_CLEANUP_CLOSED);
	cleaner->ops->remove(cleaner);
	harness_pump(&harness);
	CHECK_EQ(number_of("outbox"), 5);
	cleaner->ops->open(cleaner);
	CHECK_EQ(view()->state, WP_CLEANUP_LOOKING);
	AWAIT(&harness, view()->state == WP_CLEANUP_LOOKED);
}

static void a_session_that_is_lost_looks_again(void **state)
{
	(void)state; /* one harness for all */
	open_it();
	insert(5);
	AWAIT(&harness, view()->state == WP_CLEANUP_LOOKED);
	harness_sql(&harness, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE "
			      "datname = 'relay' AND "
			      "backend_type = 'client backend' AND pid <> pg_backend_pid()");
	cleaner->ops->remove(cleaner);
	AWAIT(&harness, view()->state == WP_CLEANUP_LOOKING);
	CHECK_EQ(number_of("outbox"), 5);
	AWAIT(&harness, view()->state == WP_CLEANUP_LOOKED);
	cleaner->ops->remove(cleaner);
	AWAIT(&harness, view()->counts[0].removed == 5);
}

static void a_row_that_was_changed_after_the_look_stays_until_the_next(void **state)
{
	(void)state; /* one harness for all */
	open_it();
	insert(2);
	AWAIT(&harness, view()->state == WP_CLEANUP_LOOKED);
	harness_sql(&harness,
		    "UPDATE outbox SET type = 'u' WHERE id = (SELECT id FROM outbox LIMIT 1)");
	cleaner->ops->remove(cleaner);
	AWAIT(&harness, view()->state != WP_CLEANUP_REMOVING);
	CHECK_EQ(number_of("outbox"), 1);
	AWAIT(&harness, view()->state == WP_CLEANUP_LOOKED);
	cleaner->ops->remove(cleaner);
	AWAIT(&harness, view()->counts[0].removed == 2);
}

static void what_the_server_refuses_is_told_with_its_cure(void **state)
{
	(void)state; /* one harness for all */
	harness_sql(&harness, "DROP FUNCTION walpost.cleanup_look");
	cleaner->ops->open(cleaner);
	AWAIT(&harness, view()->trouble.text[0] != '\0');
	CHECK_HAS(view()->trouble.text, "sql/cleanup.sql");
	cleaner->ops->close(cleaner);
	CHECK_TEXT(view()->trouble.text, "");
}

static void without_a_table_it_stays_closed(void **state)
{
	(void)state; /* one harness for all */
	wp_cleaner_set_tables(cleaner, &outbox, 0);
	cleaner->ops->open(cleaner);
	CHECK_EQ(view()->state, WP_CLEANUP_CLOSED);
}

#define TEST_OF(test_) cmocka_unit_test_setup_teardown(test_, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST_OF(rows_go_when_the_relay_says_so_and_not_before),
		TEST_OF(rows_from_before_the_first_look_stay),
		TEST_OF(closed_it_forgets_what_it_looked_at),
		TEST_OF(a_session_that_is_lost_looks_again),
		TEST_OF(a_row_that_was_changed_after_the_look_stays_until_the_next),
		TEST_OF(what_the_server_refuses_is_told_with_its_cure),
		TEST_OF(without_a_table_it_stays_closed),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
