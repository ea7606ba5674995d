/* Scheduled events on a real server: what is moved, and all that may come between. */
#include "harness.h"

#include <stdlib.h>
#include <string.h>

#include "walpost/postgres_preflight/publication.h"
#include "walpost/postgres_stream/scheduler.h"

enum { EVENTS = 3000 };

static struct harness harness;
static struct wp_scheduler *scheduler;
static struct wp_scheduler *other; /* of another relay */

/* Longer than harness_sql() takes. */
static void create_schedule(void)
{
	PGresult *result = PQexec(harness.admin, wp_schedule_sql);
	if (PQresultStatus(result) != PGRES_COMMAND_OK)
		fail_msg("%s", PQerrorMessage(harness.admin));
	PQclear(result);
}

static struct wp_scheduler *new_scheduler(void)
{
	struct wp_scheduler *s = wp_scheduler_new(
		harness.loop, &(struct wp_scheduler_setup){ .options = &harness.options });
	CHECK(s != NULL);
	return s;
}

static int set_up(void **state)
{
	(void)state; /* one harness for all */
	harness_init(&harness);
	/* As they were inserted. */
	harness_sql(&harness, "ALTER TABLE outbox ADD at bigserial");
	scheduler = new_scheduler();
	other = NULL;
	return 0;
}

static int tear_down(void **state)
{
	(void)state; /* one harness for all */
	wp_scheduler_free(scheduler);
	wp_scheduler_free(other);
	harness_release(&harness);
	return 0;
}

static void turn(enum wp_scheduling scheduling)
{
	wp_scheduler_turn(scheduler, scheduling);
}

/* So many are due, of ten keys, by time. */
static void schedule(int count)
{
	harness_sql(&harness,
		    "SELECT walpost.schedule(now() - interval '1 h' + n * interval '1 ms', "
		    "'public.outbox', jsonb_build_object('id', n, 'aggregatetype', 'order', "
		    "'aggregateid', n %% 10, 'payload', n)) FROM generate_series(1, %d) n",
		    count);
}

static long number_of(const char *sql)
{
	return strtol(harness_value(&harness, "SELECT count(*) FROM %s", sql), NULL, 10);
}

static const struct wp_scheduled_figures *figures(void)
{
	return wp_scheduler_figures(scheduler);
}

static uint64_t moved(const struct wp_scheduler *s)
{
	return s != NULL ? wp_scheduler_figures(s)->moved : 0;
}

static long sessions(void)
{
	return number_of("pg_stat_activity WHERE datname = 'relay' AND backend_type = 'client "
			 "backend' AND pid <> pg_backend_pid()");
}

static void check_each_once_and_in_order(int count)
{
	CHECK_EQ(number_of("outbox"), count);
	CHECK_EQ(number_of("(SELECT DISTINCT id FROM outbox) i"), count);
	CHECK_EQ(number_of("(SELECT payload::int - lag(payload::int) OVER (PARTITION BY "
			   "aggregateid ORDER BY at) AS step FROM outbox) o WHERE step <= 0"),
		 0);
	CHECK_EQ(number_of("walpost.scheduled"), 0);
}

static void what_is_due_is_moved_and_the_rest_stays(void **state)
{
	(void)state; /* one harness for all */
	create_schedule();
	schedule(EVENTS);
	harness_sql(&harness,
		    "SELECT walpost.schedule(now() + interval '1 h', 'public.outbox', "
		    "'{\"id\": \"later\", \"aggregatetype\": \"a\", \"aggregateid\": 1}')");
	turn(WP_SCHEDULING_ON);
	AWAIT(&harness, moved(scheduler) == EVENTS);
	AWAIT(&harness, figures()->known && figures()->due == 0);
	CHECK_TEXT(figures()->trouble.text, "");
	harness_sql(&harness, "DELETE FROM walpost.scheduled");
	check_each_once_and_in_order(EVENTS);
}

static void off_it_moves_nothing_and_has_no_connection(void **state)
{
	(void)state; /* one harness for all */
	create_schedule();
	turn(WP_SCHEDULING_ON);
	AWAIT(&harness, figures()->known);
	turn(WP_SCHEDULING_OFF);
	CHECK(!figures()->known);
	AWAIT(&harness, sessions() == 0);
	schedule(1);
	turn(WP_SCHEDULING_ON);
	AWAIT(&harness, moved(scheduler) == 1);
}

/* As an earlier walpost left the database. */
static void without_the_function_it_gives_its_connection_back_and_nothing_is_wrong(void **state)
{
	(void)state; /* one harness for all */
	turn(WP_SCHEDULING_ON);
	AWAIT(&harness, sessions() == 1);
	AWAIT(&harness, sessions() == 0);
	CHECK(!figures()->known);
	CHECK_TEXT(figures()->trouble.text, "");
	create_schedule();
	schedule(1);
	turn(WP_SCHEDULING_OFF); /* a new stream */
	turn(WP_SCHEDULING_ON);
	AWAIT(&harness, moved(scheduler) == 1);
}

static void without_the_table_it_says_so_until_there_is_one(void **state)
{
	(void)state; /* one harness for all */
	create_schedule();
	turn(WP_SCHEDULING_ON);
	AWAIT(&harness, figures()->known);
	harness_sql(&harness, "DROP TABLE walpost.scheduled CASCADE");
	AWAIT(&harness, figures()->trouble.text[0] != '\0');
	CHECK_HAS(figures()->trouble.text, "scheduled");
	create_schedule();
	schedule(1);
	AWAIT(&harness, moved(scheduler) == 1);
	CHECK_TEXT(figures()->trouble.text, "");
}

static void a_right_that_is_revoked_is_told_and_it_goes_on_once_it_is_granted(void **state)
{
	(void)state; /* one harness for all */
	create_schedule();
	harness_sql(&harness, "DROP ROLE IF EXISTS mover; CREATE ROLE mover LOGIN; "
			      "GRANT USAGE ON SCHEMA walpost TO mover; GRANT EXECUTE ON FUNCTION "
			      "walpost.move_due(integer) TO mover");
	harness_connect_by(&harness, NULL, "dbname=relay user=mover");
	turn(WP_SCHEDULING_ON);
	schedule(1);
	AWAIT(&harness, moved(scheduler) == 1);
	harness_sql(&harness, "REVOKE EXECUTE ON FUNCTION walpost.move_due(integer) FROM mover");
	schedule(1);
	AWAIT(&harness, strstr(figures()->trouble.text, "may not execute walpost.move_due()"));
	CHECK_HAS(figures()->trouble.text, "role mover");
	CHECK_HAS(figures()->trouble.text, "sql/grants.sql");
	CHECK_EQ(moved(scheduler), 1);
	harness_sql(&harness, "GRANT EXECUTE ON FUNCTION walpost.move_due(integer) TO mover");
	AWAIT(&harness, moved(scheduler) == 2);
	CHECK_TEXT(figures()->trouble.text, "");
	harness_sql(&harness, "REVOKE USAGE ON SCHEMA walpost FROM mover");
	AWAIT(&harness, strstr(figures()->trouble.text, "may not execute walpost.move_due()"));
	harness_sql(&harness, "GRANT USAGE ON SCHEMA walpost TO mover");
	AWAIT(&harness, figures()->trouble.text[0] == '\0');
}

/* What it was moving then is moved, or it is not: the events are in one table or in the other. */
static void a_server_that_restarts_in_the_middle_is_waited_for(void **state)
{
	(void)state;		     /* one harness for all */
	enum { MANY = 10 * EVENTS }; /* of which some are left when the server is dead */
	create_schedule();
	schedule(MANY);
	turn(WP_SCHEDULING_ON);
	AWAIT(&harness, moved(scheduler) > 0);
	harness_kill_server(&harness);
	AWAIT(&harness, figures()->trouble.text[0] != '\0');
	CHECK(moved(scheduler) < MANY);
	harness_start_server(&harness);
	AWAIT(&harness, figures()->trouble.text[0] == '\0' && figures()->due == 0);
	check_each_once_and_in_order(MANY);
	/* And it goes on. */
	schedule(1);
	AWAIT(&harness, number_of("outbox") == MANY + 1);
}

static void a_session_that_is_terminated_costs_nothing(void **state)
{
	(void)state; /* one harness for all */
	create_schedule();
	schedule(EVENTS);
	turn(WP_SCHEDULING_ON);
	for (int left = EVENTS - 500; left > 0; left -= 1000) {
		/* Not by what it says: an answer may be lost with the connection. */
		AWAIT(&harness, number_of("walpost.scheduled") <= left);
		harness_sql(&harness, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
				      "WHERE datname = 'relay' AND pid <> pg_backend_pid()");
	}
	AWAIT(&harness, number_of("walpost.scheduled") == 0);
	check_each_once_and_in_order(EVENTS);
}

static void of_two_one_moves_at_a_time_and_the_other_takes_over(void **state)
{
	(void)state; /* one harness for all */
	create_schedule();
	schedule(EVENTS);
	other = new_scheduler();
	wp_scheduler_turn(other, WP_SCHEDULING_ON);
	turn(WP_SCHEDULING_ON);
	AWAIT(&harness, moved(scheduler) + moved(other) >= 1000);
	/* Whichever it is that moves. */
	if (moved(scheduler) > moved(other)) {
		turn(WP_SCHEDULING_OFF);
		AWAIT(&harness, moved(other) > 0);
	} else {
		wp_scheduler_turn(other, WP_SCHEDULING_OFF);
		AWAIT(&harness, moved(scheduler) > 0);
	}
	AWAIT(&harness, number_of("walpost.scheduled") == 0);
	check_each_once_and_in_order(EVENTS);
}

static void while_another_process_moves_it_waits(void **state)
{
	(void)state; /* one harness for all */
	create_schedule();
	schedule(1);
	harness_sql(&harness, "BEGIN; SELECT pg_advisory_xact_lock(hashtextextended("
			      "'walpost.scheduled', 0))");
	turn(WP_SCHEDULING_ON);
	AWAIT(&harness, figures()->known);
	CHECK_EQ(figures()->due, 1);
	CHECK_EQ(moved(scheduler), 0);
	CHECK_TEXT(figures()->trouble.text, "");
	harness_sql(&harness, "COMMIT");
	double since = ev_time();
	AWAIT(&harness, moved(scheduler) == 1);
	CHECK_IN_TIME(ev_time() - since, 5); /* and not only once the connection is given back */
}

int main(void)
{
	if (runs_alone())
		return RUN(TEST(while_another_process_moves_it_waits));
	return RUN(TEST(what_is_due_is_moved_and_the_rest_stays),
		   TEST(off_it_moves_nothing_and_has_no_connection),
		   TEST(without_the_function_it_gives_its_connection_back_and_nothing_is_wrong),
		   TEST(without_the_table_it_says_so_until_there_is_one),
		   TEST(a_right_that_is_revoked_is_told_and_it_goes_on_once_it_is_granted),
		   TEST(a_server_that_restarts_in_the_middle_is_waited_for),
		   TEST(a_session_that_is_terminated_costs_nothing),
		   TEST(of_two_one_moves_at_a_time_and_the_other_takes_over));
}
