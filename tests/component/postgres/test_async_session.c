/* A session beside the stream, on a real server: what its user is told, and what it goes on after. */
#include "harness.h"

#include <string.h>

#include "walpost/postgres/async_session.h"

enum { LISTENING = 1, ASKING };

static struct harness harness;
static struct wp_async_session *session;

/* The user: it listens, and asks `question` as often as it is wanted. */
static struct {
	bool listens;
	const char *question; /* NULL: none */
	int answers;
	char answer[64];
	int failures;
	char sqlstate[6];
	bool at_once; /* after a failure it wants nothing more */
	bool closes;  /* within its answer */
	int disconnections;
	int notifications;
} user;

static bool wants(void *arg)
{
	(void)arg; /* one user */
	return !user.listens || user.question;
}

static enum wp_rc ask(void *arg, struct wp_error *error)
{
	(void)arg; /* one user */
	struct wp_async_session_statement statement = {
		.sql = user.listens ? user.question : "LISTEN something",
		.what = user.listens ? ASKING : LISTENING,
	};
	return wp_async_session_send(session, &statement, error);
}

static enum wp_rc answer(void *arg, const PGresult *result, struct wp_error *error)
{
	(void)arg; /* one user */
	if (!user.listens) {
		user.listens = true;
		return WP_OK;
	}
	if (PQntuples(result) != 1)
		return wp_error_set(error, WP_IO, "that is no answer");
	(void)snprintf(user.answer, sizeof(user.answer), "%s", PQgetvalue(result, 0, 0));
	user.answers++;
	user.question = NULL;
	if (user.closes)
		wp_async_session_close(session);
	return WP_OK;
}

static bool failed(void *arg, const struct wp_source_failure *failure)
{
	(void)arg; /* one user */
	user.failures++;
	(void)snprintf(user.sqlstate, sizeof(user.sqlstate), "%s", failure->sqlstate);
	if (user.at_once)
		user.question = NULL;
	return user.at_once;
}

static void changed(void *arg)
{
	(void)arg; /* it is looked at in the tests */
}

static const char *cure(void *arg, const char *sqlstate)
{
	(void)arg; /* one user */
	return !strcmp(sqlstate, "42P01") ? "make the table" : NULL;
}

static void disconnected(void *arg)
{
	(void)arg; /* one user */
	user.disconnections++;
	user.listens = false;
}

static void notified(void *arg)
{
	(void)arg; /* one user */
	user.notifications++;
}

static const struct wp_async_session_calls calls = {
	.wants = wants,
	.ask = ask,
	.answer = answer,
	.failed = failed,
	.changed = changed,
	.cure = cure,
	.disconnected = disconnected,
	.notified = notified,
};

static int set_up(void **state)
{
	(void)state; /* one harness for all */
	harness_init(&harness);
	memset(&user, 0, sizeof(user));
	session = wp_async_session_new(harness.loop, &(struct wp_async_session_setup){
							     .options = &harness.options,
							     .purpose = "test",
							     .calls = &calls,
						     });
	CHECK(session != NULL);
	wp_async_session_poke(session);
	return 0;
}

static int tear_down(void **state)
{
	(void)state; /* one harness for all */
	wp_async_session_free(session);
	harness_release(&harness);
	return 0;
}

static void asks(const char *question)
{
	user.question = question;
	wp_async_session_poke(session);
}

static const char *trouble(void)
{
	return wp_async_session_trouble(session)->text;
}

static int backend(void)
{
	return PQbackendPID(wp_async_session_pg(session));
}

static void what_is_wanted_is_asked(void **state)
{
	(void)state; /* one harness for all */
	asks("SELECT current_setting('statement_timeout')");
	AWAIT(&harness, user.answers == 1);
	assert_string_equal(user.answer, "10s");
	assert_string_equal(trouble(), "");
}

static void a_notification_is_heard_while_idle(void **state)
{
	(void)state; /* one harness for all */
	AWAIT(&harness, user.listens);
	harness_sql(&harness, "NOTIFY something");
	AWAIT(&harness, user.notifications == 1);
}

static void a_notification_that_comes_with_an_answer_is_heard(void **state)
{
	(void)state; /* one harness for all */
	AWAIT(&harness, user.listens);
	asks("SELECT pg_notify('something', '')");
	AWAIT(&harness, user.answers == 1);
	AWAIT(&harness, user.notifications == 1);
}

static void a_session_that_is_terminated_is_told_and_made_again(void **state)
{
	(void)state; /* one harness for all */
	AWAIT(&harness, user.listens);
	harness_sql(&harness, "SELECT pg_terminate_backend(%d)", backend());
	AWAIT(&harness, user.disconnections == 1);
	AWAIT(&harness, user.listens);
	assert_int_equal(user.failures, 0);
}

static void it_is_given_back_after_ten_seconds(void **state)
{
	(void)state; /* one harness for all */
	AWAIT(&harness, user.listens);
	int first = backend();
	AWAIT(&harness, user.disconnections == 1);
	AWAIT(&harness, user.listens);
	assert_int_not_equal(backend(), first);
}

static void trouble_names_the_cure_and_ends_with_success(void **state)
{
	(void)state; /* one harness for all */
	AWAIT(&harness, user.listens);
	asks("SELECT x FROM public.missing");
	AWAIT(&harness, user.failures > 1);
	assert_string_equal(user.sqlstate, "42P01");
	assert_non_null(strstr(trouble(), "\"public.missing\" does not exist; make the table"));
	harness_sql(&harness, "CREATE TABLE missing AS SELECT 1 AS x");
	AWAIT(&harness, user.answers == 1);
	assert_string_equal(trouble(), "");
}

static void an_answer_that_is_none_is_asked_for_again(void **state)
{
	(void)state; /* one harness for all */
	harness_sql(&harness, "CREATE TABLE late (x int)");
	asks("SELECT x FROM public.late");
	AWAIT(&harness, *trouble());
	assert_string_equal(trouble(), "that is no answer");
	harness_sql(&harness, "INSERT INTO late VALUES (7)");
	AWAIT(&harness, user.answers == 1);
	assert_string_equal(user.answer, "7");
}

static void what_its_user_has_seen_to_is_no_trouble(void **state)
{
	(void)state; /* one harness for all */
	user.at_once = true;
	asks("SELECT 1 / 0");
	AWAIT(&harness, user.failures == 1);
	assert_string_equal(user.sqlstate, "22012");
	assert_string_equal(trouble(), "");
}

static void a_lost_connection_leaves_the_outcome_open(void **state)
{
	(void)state; /* one harness for all */
	AWAIT(&harness, user.listens);
	user.at_once = true; /* once is enough */
	asks("SELECT pg_terminate_backend(pg_backend_pid())");
	AWAIT(&harness, user.failures == 1);
	assert_int_equal(user.disconnections, 1);
	AWAIT(&harness, user.listens);
}

static void it_may_be_closed_within_an_answer_and_goes_on_when_poked(void **state)
{
	(void)state; /* one harness for all */
	user.closes = true;
	asks("SELECT 1");
	AWAIT(&harness, user.answers == 1);
	assert_null(wp_async_session_pg(session));
	user.closes = false;
	asks("SELECT 2");
	AWAIT(&harness, user.answers == 2);
	assert_string_equal(user.answer, "2");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(what_is_wanted_is_asked, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_notification_is_heard_while_idle, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(a_notification_that_comes_with_an_answer_is_heard,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_session_that_is_terminated_is_told_and_made_again,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(it_is_given_back_after_ten_seconds, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(trouble_names_the_cure_and_ends_with_success,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(an_answer_that_is_none_is_asked_for_again, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(what_its_user_has_seen_to_is_no_trouble, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(a_lost_connection_leaves_the_outcome_open, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(
			it_may_be_closed_within_an_answer_and_goes_on_when_poked, set_up,
			tear_down),
	};
	return cmocka_run_group_tests_name("async_session", tests, NULL, NULL);
}
