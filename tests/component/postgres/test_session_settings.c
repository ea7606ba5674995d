#include <stdlib.h>
#include <string.h>

#include <libpq-fe.h>

#include "harness.h"
#include "session_settings.h"
#include "support/check.h"

static struct harness harness;
static PGconn *pg;
static struct wp_session_set set;
static struct wp_error error;

static PGresult *ask(struct wp_sql *sql)
{
	CHECK_EQ(wp_sql_end(sql, &error), WP_OK);
	PGresult *answer = PQexec(pg, (const char *)sql->into->data);
	if (PQresultStatus(answer) != PGRES_TUPLES_OK)
		fail_msg("%s", PQresultErrorMessage(answer));
	wp_buffer_release(sql->into);
	return answer;
}

static void set_session(const char *work_mem)
{
	struct wp_buffer text;
	struct wp_sql sql;

	wp_buffer_init(&text, 8192);
	wp_sql_init(&sql, pg, &text);
	wp_session_settings_set_sql(&sql, work_mem);
	PGresult *answer = ask(&sql);
	wp_session_settings_set_answer(answer, &set);
	PQclear(answer);
}

static enum wp_rc judge_session(void)
{
	struct wp_buffer text;
	struct wp_sql sql;

	wp_buffer_init(&text, 8192);
	wp_sql_init(&sql, pg, &text);
	wp_session_settings_read_sql(&sql);
	PGresult *answer = ask(&sql);
	error.text[0] = '\0';
	enum wp_rc rc = wp_session_settings_judge(PQserverVersion(pg), &set, answer, &error);
	PQclear(answer);
	return rc;
}

static void connect_as(const char *replication)
{
	const char *const keys[] = { "host", "port", "user", "dbname", "replication", NULL };
	const char *const values[] = {
		getenv("WALPOST_TEST_DIR"),
		getenv("WALPOST_TEST_PORT"),
		"postgres",
		"relay",
		replication,
		NULL,
	};

	PQfinish(pg);
	pg = PQconnectdbParams(keys, values, 0);
	if (PQstatus(pg) != CONNECTION_OK)
		fail_msg("%s", PQerrorMessage(pg));
}

static int set_up(void **state)
{
	harness_init(&harness);
	connect_as("false");
	return 0;
}

static int tear_down(void **state)
{
	PQfinish(pg);
	pg = NULL;
	harness_release(&harness);
	return 0;
}

static void exec(const char *sql)
{
	PGresult *done = PQexec(pg, sql);

	if (PQresultStatus(done) != PGRES_COMMAND_OK)
		fail_msg("%s: %s", sql, PQresultErrorMessage(done));
	PQclear(done);
}

/* ---- the tests ---- */

static void what_was_set_is_read_back_on_either_kind_of_session(void **state)
{
	static const char *const kinds[] = { "false", "database" };

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		connect_as(kinds[i]);
		set_session("");
		CHECK_EQ(judge_session(), WP_OK);
		set_session("128 kB");
		CHECK_EQ(judge_session(), WP_OK);
		CHECK_TEXT(set.work_mem, "128kB");
	}
}

/* Each setting that the program sets, and a value that it may come back with. */
static void a_value_that_stays_other_is_named_with_what_was_wanted(void **state)
{
	static const struct {
		const char *name;
		const char *other;
		const char *wanted;
	} others[] = {
		{ "statement_timeout", "1s", "0" },
		{ "lock_timeout", "1s", "0" },
		{ "idle_in_transaction_session_timeout", "1s", "0" },
		{ "idle_session_timeout", "1h", "0" },
		{ "exit_on_error", "on", "off" },
		{ "role", "pg_monitor", "none" },
		{ "search_path", "public", "" },
		{ "default_transaction_read_only", "on", "off" },
		{ "default_transaction_isolation", "serializable", "read committed" },
		{ "row_security", "on", "off" },
		{ "datestyle", "German", "ISO" },
		{ "intervalstyle", "iso_8601", "postgres" },
		{ "timezone", "Asia/Tokyo", "UTC" },
		{ "extra_float_digits", "0", "3" },
		{ "bytea_output", "escape", "hex" },
		{ "lc_monetary", "POSIX", "C" },
		{ "quote_all_identifiers", "on", "off" },
		{ "standard_conforming_strings", "off", "on" },
		{ "array_nulls", "off", "on" },
		{ "xmloption", "document", "content" },
		{ "client_min_messages", "error", "warning" },
		{ "jit", "on", "off" },
		{ "logical_decoding_work_mem", "1MB", "64MB" },
		{ "client_encoding", "LATIN1", "UTF8" },
	};
	char sql[256], wanted[64];

	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		set_session("");
		(void)snprintf(sql, sizeof(sql), "SET %s = '%s'", others[i].name, others[i].other);
		exec(sql);
		CHECK_EQ(judge_session(), WP_CONFIG);
		CHECK_HAS(error.text, others[i].name);
		(void)snprintf(wanted, sizeof(wanted), "set it to \"%s\"", others[i].wanted);
		CHECK_HAS(error.text, wanted);
		if (strcmp(others[i].name, "client_encoding") != 0)
			CHECK_HAS(error.text, others[i].other);
	}
}

static void another_process_of_the_server_is_a_pooler(void **state)
{
	set_session("");
	connect_as("false");
	struct wp_session_set before = set;
	set_session("");
	set = before;
	CHECK_EQ(judge_session(), WP_CONFIG);
	CHECK_HAS(error.text, "pooler in transaction mode");
	CHECK_HAS(error.text, before.pid);
}

/* A timeout of a moment is over before it can end the statements behind it. */
static void timeouts_of_a_moment_are_taken_back_first(void **state)
{
	exec("SET statement_timeout = 50");
	exec("SET lock_timeout = 1");
	set_session("");
	CHECK_EQ(judge_session(), WP_OK);
	exec("DO $$ BEGIN PERFORM pg_sleep(0.2); END $$");
}

int main(void)
{
	return RUN(TEST(what_was_set_is_read_back_on_either_kind_of_session),
		   TEST(a_value_that_stays_other_is_named_with_what_was_wanted),
		   TEST(another_process_of_the_server_is_a_pooler),
		   TEST(timeouts_of_a_moment_are_taken_back_first));
}
