#include "harness.h"

#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "walpost/postgres_preflight/publication.h"

static const char *const columns[] = { "id", "aggregatetype", "aggregateid", "type", "payload" };

const char *harness_env(const char *name)
{
	const char *value = getenv(name);
	if (!value)
		fail_msg("%s is not set: run by with-server", name);
	return value;
}

static PGconn *connect_admin(const char *database)
{
	char conninfo[512];
	(void)snprintf(conninfo, sizeof(conninfo),
		       "host=%s port=%s user=postgres dbname=%s "
		       "options='-c client_min_messages=warning -c synchronous_commit=local'",
		       harness_env("WALPOST_TEST_DIR"), harness_env("WALPOST_TEST_PORT"), database);
	PGconn *pg = PQconnectdb(conninfo);
	if (PQstatus(pg) != CONNECTION_OK)
		fail_msg("%s", PQerrorMessage(pg));
	return pg;
}

static PGresult *execute(PGconn *pg, const char *sql)
{
	PGresult *result = PQexec(pg, sql);
	ExecStatusType status = PQresultStatus(result);
	if (status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK)
		fail_msg("%s: %s", sql, PQerrorMessage(pg));
	return result;
}

static PGresult *format_and_execute(struct harness *h, const char *format, va_list values)
	WP_PRINTF(2, 0);
static PGresult *format_and_execute(struct harness *h, const char *format, va_list values)
{
	char sql[16384];
	int size = vsnprintf(sql, sizeof(sql), format, values);
	CHECK(size >= 0 && (size_t)size < sizeof(sql));
	return execute(h->admin, sql);
}

void harness_sql(struct harness *h, const char *format, ...)
{
	va_list values;
	va_start(values, format);
	PQclear(format_and_execute(h, format, values));
	va_end(values);
}

const char *harness_value(struct harness *h, const char *format, ...)
{
	static char value[4096];
	va_list values;
	va_start(values, format);
	PGresult *result = format_and_execute(h, format, values);
	va_end(values);
	CHECK(PQntuples(result) >= 1);
	(void)snprintf(value, sizeof(value), "%s", PQgetvalue(result, 0, 0));
	PQclear(result);
	return value;
}

/* A session hears of it after the server, which gives it to new ones. */
void harness_set(struct harness *h, const char *setting)
{
	static const char loaded[] = "SELECT pg_conf_load_time()";
	char before[64];

	(void)snprintf(before, sizeof(before), "%s", harness_value(h, loaded));
	harness_sql(h, "ALTER SYSTEM SET %s", setting);
	harness_sql(h, "SELECT pg_reload_conf()");
	AWAIT(h, strcmp(harness_value(h, loaded), before) != 0);
}

wp_lsn harness_confirmed(struct harness *h)
{
	wp_lsn lsn = 0;
	const char *text = harness_value(
		h, "SELECT confirmed_flush_lsn FROM pg_replication_slots WHERE slot_name = 's'");
	CHECK_EQ(wp_lsn_parse(wp_span_of(text), &lsn), WP_OK);
	return lsn;
}

/* ---- the loop ---- */

static void on_tick(struct ev_loop *loop, ev_timer *w, int events)
{
	(void)loop, (void)w, (void)events; /* its end is all it is for */
}

void harness_pump(struct harness *h)
{
	ev_timer tick;
	ev_timer_init(&tick, on_tick, 0.01, 0.);
	ev_now_update(h->loop);
	ev_timer_start(h->loop, &tick);
	(void)ev_run(h->loop, EVRUN_ONCE);
	ev_timer_stop(h->loop, &tick);
}

bool harness_late(double since)
{
	return is_late(ev_time() - since, DEADLINE_S);
}

/* ---- the database ---- */

void harness_prepare(struct harness *h, const char *database)
{
	PQfinish(h->admin);
	h->admin = connect_admin(database);
	harness_sql(h,
		    "CREATE TABLE outbox (id text, aggregatetype text NOT NULL, aggregateid text "
		    "NOT NULL, type text, payload text)");
	harness_sql(h, "CREATE PUBLICATION p FOR TABLE outbox WITH (publish = 'insert')");
	harness_sql(h, "%s", wp_slot_checkpoint_sql);
	harness_sql(h, "SELECT pg_create_logical_replication_slot('s', 'pgoutput')");
	harness_connect_by(h, NULL, "");
	char dbname[64];
	(void)snprintf(dbname, sizeof(dbname), " dbname=%s", database);
	strncat(h->conninfo, dbname, sizeof(h->conninfo) - strlen(h->conninfo) - 1);
}

void harness_connect_by(struct harness *h, const char *host, const char *words)
{
	(void)snprintf(h->conninfo, sizeof(h->conninfo), "host=%s port=%s user=postgres %s",
		       host ? host : harness_env("WALPOST_TEST_DIR"),
		       harness_env("WALPOST_TEST_PORT"), words);
	h->options.conninfo = h->conninfo;
}

/* Whatever the test before has left, also one that failed half-way. */
static void clean(PGconn *pg)
{
	static const char *const sqls[] = {
		"ALTER SYSTEM RESET ALL", /* first: commits may wait for a standby */
		"SELECT pg_reload_conf()",
		("SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE pid <> "
		 "pg_backend_pid() AND backend_type IN ('client backend', 'walsender')"),
		"SELECT pg_drop_replication_slot(slot_name) FROM pg_replication_slots",
		"DROP DATABASE IF EXISTS relay",
		"DROP DATABASE IF EXISTS other",
	};
	for (size_t i = 0; i < sizeof(sqls) / sizeof(sqls[0]); i++)
		PQclear(execute(pg, sqls[i]));
}

void harness_init(struct harness *h)
{
	*h = (struct harness){ .loop = ev_loop_new(EVFLAG_AUTO) };
	h->options = (struct wp_postgres_options){
		.password = "",
		.slot = "s",
		.publication = "p",
		.decoding_work_mem = "",
		.connect_timeout_ms = 5000,
	};
	PGconn *pg = connect_admin("postgres");
	clean(pg);
	PQclear(execute(pg, "CREATE DATABASE relay"));
	PQfinish(pg);
	harness_prepare(h, "relay");
}

void harness_release(struct harness *h)
{
	wp_stream_free(h->source);
	PQfinish(h->holder);
	PQfinish(h->admin);
	if (h->stopping)
		(void)waitpid(h->stopping, NULL, 0);
	ev_loop_destroy(h->loop);
	*h = (struct harness){ 0 };
}

/* ---- the stream ---- */

static void on_wake(void *arg)
{
	((struct harness *)arg)->wakes++;
}

void harness_stream(struct harness *h)
{
	struct wp_error error;
	static const struct wp_requirements_table table = {
		.schema = "public",
		.name = "outbox",
		.columns = columns,
		.column_count = sizeof(columns) / sizeof(columns[0]),
		.all_count = sizeof(columns) / sizeof(columns[0]),
	};
	struct wp_stream_setup setup = {
		.options = &h->options,
		.wanted = { .tables = &table, .count = 1, .ignore = "" },
		.owner = "walpost on test 1",
		.epoch = 7,
		.wake = { on_wake, h },
	};
	wp_stream_free(h->source);
	h->source = NULL;
	enum wp_rc rc = wp_stream_new(h->loop, &setup, &h->source, &error);
	if (rc != WP_OK)
		fail_msg("%s", error.text);
}

const struct wp_source_view *harness_view(const struct harness *h)
{
	return h->source->ops->view(h->source);
}

static bool is_state(struct harness *h, enum wp_source_state state)
{
	const struct wp_source_view *view = harness_view(h);
	if (view->state == WP_SOURCE_FAILED && state != WP_SOURCE_FAILED)
		fail_msg("%s (%s)", view->failure.error.text, view->failure.sqlstate);
	return view->state == state;
}

void harness_ready(struct harness *h)
{
	if (!h->source)
		harness_stream(h);
	h->source->ops->connect(h->source);
	AWAIT(h, is_state(h, WP_SOURCE_READY));
}

void harness_start(struct harness *h, enum wp_slot_checkpoint slot_checkpoint)
{
	harness_ready(h);
	h->source->ops->start(h->source, harness_view(h)->facts.slot_confirmed,
			      harness_view(h)->facts.transfer, slot_checkpoint);
	AWAIT(h, is_state(h, WP_SOURCE_STREAMING));
}

const struct wp_source_failure *harness_failure(struct harness *h)
{
	AWAIT(h, is_state(h, WP_SOURCE_FAILED));
	return &harness_view(h)->failure;
}

enum wp_rc harness_next(struct harness *h, struct wp_frame *ret)
{
	struct wp_span bytes = { 0 };
	enum wp_rc rc = WP_AGAIN;
	AWAIT(h, (rc = h->source->ops->next(h->source, &bytes)) != WP_AGAIN);
	if (rc == WP_OK)
		CHECK_EQ(wp_frame_read(bytes, ret, NULL), WP_OK);
	return rc;
}

void harness_await_message(struct harness *h, char kind, struct wp_frame *ret)
{
	do {
		enum wp_rc rc = harness_next(h, ret);
		if (rc != WP_OK)
			fail_msg("no '%c' came: %s", kind, harness_view(h)->failure.error.text);
	} while (ret->kind != WP_FRAME_DATA || ret->body.data[0] != (uint8_t)kind);
}

void harness_confirm(struct harness *h, wp_lsn flush)
{
	struct wp_status status = { .write = flush, .flush = flush, .apply = flush };
	CHECK_EQ(h->source->ops->status(h->source, &status), WP_OK);
	AWAIT(h, harness_confirmed(h) == flush);
}

/* ---- the server ---- */

static pid_t run_server(const char *command, const char *mode)
{
	pid_t pid = fork();
	CHECK(pid >= 0);
	if (pid == 0) {
		(void)execl(harness_env("WALPOST_TEST_SERVER"), "with-server", command, mode, NULL);
		_exit(127);
	}
	return pid;
}

void harness_server(const char *command, const char *mode)
{
	int status = 0;
	CHECK(waitpid(run_server(command, mode), &status, 0) > 0);
	CHECK_EQ(status, 0);
}

void harness_ask_to_stop(struct harness *h)
{
	PQfinish(h->admin);
	h->admin = NULL;
	h->stopping = run_server("stop", "fast");
}

void harness_kill_server(struct harness *h)
{
	PQfinish(h->admin);
	PQfinish(h->holder);
	h->admin = h->holder = NULL;
	pid_t pid = run_server("stop", "immediate");
	int status; /* of no interest: it may be down already */
	CHECK(waitpid(pid, &status, 0) > 0);
	if (h->stopping)
		(void)waitpid(h->stopping, &status, 0);
	h->stopping = 0;
}

void harness_start_server(struct harness *h)
{
	harness_server("start", NULL);
	PQfinish(h->admin);
	h->admin = connect_admin("relay");
}

void harness_hold_slot(struct harness *h)
{
	char conninfo[512];
	(void)snprintf(conninfo, sizeof(conninfo),
		       "host=%s port=%s user=postgres dbname=relay replication=database",
		       harness_env("WALPOST_TEST_DIR"), harness_env("WALPOST_TEST_PORT"));
	h->holder = PQconnectdb(conninfo);
	CHECK_EQ(PQstatus(h->holder), CONNECTION_OK);
	PGresult *result =
		PQexec(h->holder, "START_REPLICATION SLOT s LOGICAL 0/0 (proto_version '1', "
				  "publication_names 'p')");
	CHECK_EQ(PQresultStatus(result), PGRES_COPY_BOTH);
	PQclear(result);
}

void harness_release_slot(struct harness *h)
{
	PQfinish(h->holder);
	h->holder = NULL;
}
