#include "support/check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "walpost/postgres_preflight/preflight.h"
#include "walpost/postgres/query.h"

struct fixture {
	struct ev_loop *loop;
	PGconn *pg;
	struct wp_query *query;
	int calls;
	bool free_within;
	ExecStatusType status; /* of the original: copies are always tuples */
	PGresult *result;
	struct wp_source_failure failure;
};

static void conninfo(char *text, size_t size, const char *more)
{
	(void)snprintf(text, size, "host=127.0.0.1 port=%s user=postgres dbname=postgres %s",
		       getenv("WALPOST_TEST_PORT"), more);
}

static struct fixture connected(const char *more)
{
	char text[256];
	conninfo(text, sizeof(text), more);
	struct fixture f = { .loop = ev_loop_new(0), .pg = PQconnectdb(text) };
	CHECK_EQ(PQstatus(f.pg), CONNECTION_OK);
	return f;
}

static void end(struct fixture *f)
{
	wp_query_free(f->query);
	PQclear(f->result);
	PQfinish(f->pg);
	ev_loop_destroy(f->loop);
}

static void on_done(void *arg, const PGresult *result, const struct wp_source_failure *failure)
{
	struct fixture *f = arg;
	f->calls++;
	CHECK(!result != !failure);
	if (failure)
		f->failure = *failure;
	if (result) {
		f->status = PQresultStatus(result);
		f->result = PQcopyResult(result, PG_COPYRES_TUPLES);
	}
	if (f->free_within) {
		wp_query_free(f->query);
		f->query = NULL;
	}
}

static void begin(struct fixture *f, const char *sql)
{
	struct wp_error error;
	CHECK_EQ(wp_query_new(f->loop, f->pg, sql, on_done, f, &f->query, &error), WP_OK);
	CHECK_EQ(f->calls, 0); /* never from within */
}

static void ask(struct fixture *f, const char *sql)
{
	wp_query_free(f->query);
	PQclear(f->result);
	f->result = NULL;
	f->calls = 0;
	begin(f, sql);
	(void)ev_run(f->loop, 0); /* until no watcher is left */
	CHECK_EQ(f->calls, 1);
}

static void the_result_of_the_last_statement_is_handed_over(void **state)
{
	struct fixture f = connected("");
	ask(&f, "SELECT 1; SELECT 2 AS two, NULL");
	CHECK_EQ(PQntuples(f.result), 1);
	CHECK_TEXT(PQgetvalue(f.result, 0, 0), "2");
	CHECK(PQgetisnull(f.result, 0, 1));
	ask(&f, ""); /* the connection serves again and again */
	ask(&f, "SELECT 3");
	CHECK_TEXT(PQgetvalue(f.result, 0, 0), "3");
	end(&f);
}

static void an_error_comes_with_its_code_and_sentence(void **state)
{
	struct fixture f = connected("");
	ask(&f, "SELECT 1; SELECT * FROM nowhere; SELECT 2");
	CHECK_TEXT(f.failure.sqlstate, "42P01");
	CHECK_EQ(f.failure.reaction, WP_REACT_STOP_HUMAN);
	CHECK_HAS(f.failure.error.text, "nowhere");
	CHECK(f.failure.error.text[strlen(f.failure.error.text) - 1] != '\n');
	end(&f);
}

static void it_may_be_freed_from_within_done(void **state)
{
	struct fixture f = connected("");
	f.free_within = true;
	ask(&f, "SELECT 1");
	ask(&f, "SELECT nonsense");
	end(&f);
}

static void freed_before_it_calls_nobody(void **state)
{
	struct fixture f = connected("");
	begin(&f, "SELECT pg_sleep(0.05)");
	wp_query_free(f.query);
	f.query = NULL;
	(void)ev_run(f.loop, 0);
	CHECK_EQ(f.calls, 0);
	end(&f);
}

static void a_terminated_backend_is_told_with_its_code(void **state)
{
	struct fixture f = connected("");
	ask(&f, "SELECT pg_terminate_backend(pg_backend_pid())");
	CHECK_TEXT(f.failure.sqlstate, "57P01");
	CHECK_EQ(f.failure.reaction, WP_REACT_RECONNECT);
	end(&f);
}

static void a_connection_that_breaks_without_a_word_is_told(void **state)
{
	struct fixture f = connected("");
	begin(&f, "SELECT pg_sleep(60)");
	CHECK_EQ(shutdown(PQsocket(f.pg), SHUT_RDWR), 0);
	(void)ev_run(f.loop, 0);
	CHECK_EQ(f.calls, 1);
	CHECK_TEXT(f.failure.sqlstate, "");
	CHECK_EQ(f.failure.reaction, WP_REACT_RECONNECT);
	CHECK(*f.failure.error.text);
	end(&f);
}

static void nothing_is_sent_on_a_lost_connection(void **state)
{
	struct wp_error error;
	struct fixture f = connected("");
	ask(&f, "SELECT pg_terminate_backend(pg_backend_pid())");
	wp_query_free(f.query);
	CHECK_EQ(wp_query_new(f.loop, f.pg, "SELECT 1", on_done, &f, &f.query, &error), WP_IO);
	CHECK_HAS(error.text, "cannot send SQL");
	f.query = NULL;
	end(&f);
}

static void a_text_larger_than_the_socket_takes_is_sent_as_it_can(void **state)
{
	enum { SIZE = 16 << 20 };
	struct fixture f = connected("");
	char *sql = malloc(SIZE);
	assert_non_null(sql);
	int head = snprintf(sql, SIZE, "SELECT length('");
	memset(sql + head, 'x', (size_t)(SIZE - head - 3));
	memcpy(sql + SIZE - 3, "')", 3);
	ask(&f, sql);
	CHECK_EQ(strtol(PQgetvalue(f.result, 0, 0), NULL, 10), SIZE - head - 3);
	free(sql);
	end(&f);
}

static void it_works_on_replication_connections_up_to_the_copy(void **state)
{
	struct fixture f = connected("replication=database");
	ask(&f, "IDENTIFY_SYSTEM");
	CHECK_TEXT(PQgetvalue(f.result, 0, 3), "postgres");
	ask(&f, "CREATE_REPLICATION_SLOT q TEMPORARY LOGICAL pgoutput NOEXPORT_SNAPSHOT");
	ask(&f, "START_REPLICATION SLOT q LOGICAL 0/0 (proto_version '1', publication_names 'p')");
	CHECK_EQ(f.status, PGRES_COPY_BOTH);
	end(&f);
}

static void check_preflight_on(const char *more)
{
	static const char *const columns[] = { "id", "it's", "Pay\"load" };
	static struct wp_preflight found;
	struct wp_postgres_options options = { .conninfo = "",
					       .slot = "s",
					       .publication = "P\\\"u'b" };
	static const char *const definitions[] = { "uuid PRIMARY KEY", "text", "jsonb" };
	struct wp_requirements_table table = {
		.schema = "pub'lic",
		.name = "out\"box",
		.columns = columns,
		.definitions = definitions,
		.column_count = 3,
		.all_count = 3,
	};
	struct wp_requirements wanted = { .tables = &table, .count = 1, .ignore = "" };
	struct wp_error error;
	struct wp_buffer sql;
	struct fixture f = connected(more);
	wp_buffer_init(&sql, 1 << 20);
	CHECK_EQ(wp_preflight_sql(f.pg, &options, &wanted, 0, &sql, &error), WP_OK);
	ask(&f, (const char *)sql.data);
	CHECK_EQ(wp_preflight_judge(f.pg, f.result, &options, &wanted, &found, &error), WP_OK);
	CHECK(!found.slot_exists && !found.table_exists[0] && !found.publication_exists);
	wp_buffer_release(&sql);
	end(&f);
}

static void the_preflight_question_is_answered_on_both_kinds_of_connection(void **state)
{
	check_preflight_on("");
	check_preflight_on("replication=database");
}

static void the_preflight_question_has_a_limit(void **state)
{
	struct wp_postgres_options options = { .conninfo = "", .slot = "s", .publication = "p" };
	struct wp_requirements_table table = { .schema = "public", .name = "outbox" };
	struct wp_requirements wanted = { .tables = &table, .count = 1, .ignore = "" };
	struct wp_error error;
	struct wp_buffer sql;
	struct fixture f = connected("");
	wp_buffer_init(&sql, 1000);
	CHECK_EQ(wp_preflight_sql(f.pg, &options, &wanted, 0, &sql, &error), WP_FULL);
	wp_buffer_release(&sql);
	end(&f);
}

int main(void)
{
	return RUN(PLAIN(the_result_of_the_last_statement_is_handed_over),
		   PLAIN(an_error_comes_with_its_code_and_sentence),
		   PLAIN(it_may_be_freed_from_within_done), PLAIN(freed_before_it_calls_nobody),
		   PLAIN(a_terminated_backend_is_told_with_its_code),
		   PLAIN(a_connection_that_breaks_without_a_word_is_told),
		   PLAIN(nothing_is_sent_on_a_lost_connection),
		   PLAIN(a_text_larger_than_the_socket_takes_is_sent_as_it_can),
		   PLAIN(it_works_on_replication_connections_up_to_the_copy),
		   PLAIN(the_preflight_question_is_answered_on_both_kinds_of_connection),
		   PLAIN(the_preflight_question_has_a_limit));
}
