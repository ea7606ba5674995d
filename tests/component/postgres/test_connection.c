/* Ways in and ways not in: each gives a sentence with its cure and the right reaction. */
#include "harness.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "support/files.h"
#include "walpost/base/log.h"
#include "walpost/postgres/connection_plan.h"

/* ---- a resolver of ours: linked with --wrap=getaddrinfo ---- */

int __real_getaddrinfo(const char *node, const char *service, const struct addrinfo *hints,
		       struct addrinfo **infos);
int __wrap_getaddrinfo(const char *node, const char *service, const struct addrinfo *hints,
		       struct addrinfo **infos);

static struct {
	pthread_mutex_t lock;
	pthread_cond_t answers;
	bool silent;
	int waiting;
} resolver = { .lock = PTHREAD_MUTEX_INITIALIZER, .answers = PTHREAD_COND_INITIALIZER };

int __wrap_getaddrinfo(const char *node, const char *service, const struct addrinfo *hints,
		       struct addrinfo **infos)
{
	if (!strcmp(node, "silent.test")) {
		(void)pthread_mutex_lock(&resolver.lock);
		resolver.waiting++;
		while (resolver.silent)
			(void)pthread_cond_wait(&resolver.answers, &resolver.lock);
		resolver.waiting--;
		(void)pthread_mutex_unlock(&resolver.lock);
		return EAI_AGAIN;
	}
	if (!strcmp(node, "missing.test"))
		return EAI_NONAME;
	if (!strcmp(node, "here.test"))
		node = "127.0.0.1";
	return __real_getaddrinfo(node, service, hints, infos);
}

static void resolver_set(bool silent)
{
	(void)pthread_mutex_lock(&resolver.lock);
	resolver.silent = silent;
	(void)pthread_cond_broadcast(&resolver.answers);
	(void)pthread_mutex_unlock(&resolver.lock);
}

static int resolver_waiting(void)
{
	(void)pthread_mutex_lock(&resolver.lock);
	int waiting = resolver.waiting;
	(void)pthread_mutex_unlock(&resolver.lock);
	return waiting;
}

/* ---- one connection ---- */

static struct harness harness;
static struct wp_connection *connection;
static bool is_done;

static void on_done(void *arg)
{
	(void)arg; /* the test looks itself */
	CHECK(!is_done);
	is_done = true;
}

static void begin(enum wp_connection_kind kind)
{
	struct wp_connection_setup setup = { .options = &harness.options,
					     .kind = kind,
					     .done = on_done };
	struct wp_error error;
	is_done = false;
	enum wp_rc rc = wp_connection_new(harness.loop, &setup, &connection, &error);
	if (rc != WP_OK)
		fail_msg("%s", error.text);
	CHECK(!is_done);
}

static PGconn *connect_as(enum wp_connection_kind kind)
{
	begin(kind);
	AWAIT(&harness, is_done);
	PGconn *pg = wp_connection_pg(connection);
	if (!pg)
		fail_msg("%s", wp_connection_failure(connection)->error.text);
	return pg;
}

static const struct wp_source_failure *fail_to_connect(enum wp_connection_kind kind)
{
	begin(kind);
	AWAIT(&harness, is_done);
	CHECK(!wp_connection_pg(connection));
	return wp_connection_failure(connection);
}

static const char *setting(PGconn *pg, const char *name)
{
	static char value[256];
	char sql[128];
	(void)snprintf(sql, sizeof(sql), "SHOW %s", name);
	(void)PQsetnonblocking(pg, 0);
	PGresult *result = PQexec(pg, sql);
	CHECK_EQ(PQresultStatus(result), PGRES_TUPLES_OK);
	(void)snprintf(value, sizeof(value), "%s", PQgetvalue(result, 0, 0));
	PQclear(result);
	return value;
}

/* A port nobody listens on, or one where nobody answers. */
struct hole {
	int fd;
	int filler;
	char port[8];
};

static struct hole dig(bool listening)
{
	struct hole h = { .fd = socket(AF_INET, SOCK_STREAM, 0), .filler = -1 };
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_addr = { htonl(INADDR_LOOPBACK) } };
	socklen_t size = sizeof(a);
	CHECK_EQ(bind(h.fd, (struct sockaddr *)&a, size), 0);
	CHECK_EQ(getsockname(h.fd, (struct sockaddr *)&a, &size), 0);
	if (listening)
		CHECK_EQ(listen(h.fd, 8), 0);
	(void)snprintf(h.port, sizeof(h.port), "%u", ntohs(a.sin_port));
	return h;
}

static int set_up(void **state)
{
	(void)state; /* one harness for all */
	harness_init(&harness);
	return 0;
}

static int tear_down(void **state)
{
	(void)state; /* one harness for all */
	wp_connection_free(connection);
	connection = NULL;
	harness_release(&harness);
	return 0;
}

/* ---- the tests ---- */

static void a_socket_a_literal_and_a_name_all_lead_in(void **state)
{
	static const char *const hosts[] = { NULL, "127.0.0.1", "localhost", "here.test" };
	for (size_t i = 0; i < sizeof(hosts) / sizeof(hosts[0]); i++) {
		harness_connect_by(&harness, hosts[i], "dbname=relay sslmode=prefer");
		CHECK_EQ(PQisnonblocking(connect_as(WP_CONNECTION_SQL)), 1);
		wp_connection_free(connection);
	}
	connection = NULL;
}

static void hostile_settings_of_role_and_database_do_not_reach_us(void **state)
{
	harness_sql(&harness, "DROP ROLE IF EXISTS hostile");
	harness_sql(&harness, "CREATE ROLE hostile LOGIN REPLICATION");
	harness_sql(&harness, "ALTER ROLE hostile SET datestyle = 'German'");
	harness_sql(&harness, "ALTER ROLE hostile SET bytea_output = 'escape'");
	harness_sql(&harness, "ALTER ROLE hostile SET search_path = 'pg_temp, public'");
	harness_sql(&harness, "ALTER ROLE hostile SET client_encoding = 'LATIN1'");
	harness_sql(&harness, "ALTER ROLE hostile SET client_min_messages = 'error'");
	harness_sql(&harness, "ALTER ROLE hostile SET role = 'pg_monitor'");
	harness_sql(&harness, "GRANT pg_monitor TO hostile");
	harness_sql(&harness, "ALTER ROLE hostile SET row_security = on");
	harness_sql(&harness, "ALTER ROLE hostile SET standard_conforming_strings = off");
	harness_sql(&harness, "ALTER ROLE hostile SET quote_all_identifiers = on");
	harness_sql(&harness, "ALTER ROLE hostile SET array_nulls = off");
	harness_sql(&harness, "ALTER ROLE hostile SET exit_on_error = on");
	harness_sql(&harness, "ALTER ROLE hostile SET default_transaction_read_only = on");
	harness_sql(&harness, "ALTER ROLE hostile SET default_transaction_isolation = "
			      "'serializable'");
	harness_sql(&harness, "ALTER ROLE hostile SET statement_timeout = 1");
	harness_sql(&harness, "ALTER ROLE hostile SET lock_timeout = 1");
	harness_sql(&harness, "ALTER ROLE hostile SET idle_session_timeout = 1");
	harness_sql(&harness, "ALTER ROLE hostile SET idle_in_transaction_session_timeout = 1");
	harness_sql(&harness, "ALTER DATABASE relay SET timezone = 'Asia/Tokyo'");
	harness_sql(&harness, "ALTER DATABASE relay SET intervalstyle = 'iso_8601'");
	harness_sql(&harness, "ALTER DATABASE relay SET extra_float_digits = -5");
	bool has_limit = *harness_value(&harness, "SELECT count(*) FROM pg_settings WHERE name = "
						  "'transaction_timeout'") == '1';
	if (has_limit)
		harness_sql(&harness, "ALTER ROLE hostile SET transaction_timeout = '30s'");
	harness.options.decoding_work_mem = "128kB";
	CHECK_EQ(setenv("PGTZ", "Asia/Tokyo", 1), 0);
	CHECK_EQ(setenv("PGDATESTYLE", "SQL, DMY", 1), 0);
	for (int kind = WP_CONNECTION_REPLICATION; kind <= WP_CONNECTION_SQL; kind++) {
		harness_connect_by(&harness, NULL, "dbname=relay user=hostile");
		PGconn *pg = connect_as((enum wp_connection_kind)kind);
		CHECK_TEXT(setting(pg, "datestyle"), "ISO, DMY");
		CHECK_TEXT(setting(pg, "bytea_output"), "hex");
		CHECK_TEXT(setting(pg, "search_path"), "\"\"");
		CHECK_TEXT(setting(pg, "client_encoding"), "UTF8");
		CHECK_TEXT(setting(pg, "client_min_messages"), "warning");
		CHECK_TEXT(setting(pg, "timezone"), "UTC");
		CHECK_TEXT(setting(pg, "intervalstyle"), "postgres");
		CHECK_TEXT(setting(pg, "extra_float_digits"), "3");
		CHECK_TEXT(setting(pg, "lc_monetary"), "C");
		CHECK_TEXT(setting(pg, "logical_decoding_work_mem"), "128kB");
		CHECK_TEXT(setting(pg, "role"), "none");
		CHECK_TEXT(setting(pg, "walpost.role_before"), "pg_monitor");
		CHECK_TEXT(setting(pg, "row_security"), "off");
		CHECK_TEXT(setting(pg, "standard_conforming_strings"), "on");
		CHECK_TEXT(setting(pg, "quote_all_identifiers"), "off");
		CHECK_TEXT(setting(pg, "array_nulls"), "on");
		CHECK_TEXT(setting(pg, "exit_on_error"), "off");
		CHECK_TEXT(setting(pg, "default_transaction_read_only"), "off");
		CHECK_TEXT(setting(pg, "default_transaction_isolation"), "read committed");
		CHECK_TEXT(setting(pg, "statement_timeout"), "0");
		CHECK_TEXT(setting(pg, "lock_timeout"), "0");
		CHECK_TEXT(setting(pg, "idle_session_timeout"), "0");
		CHECK_TEXT(setting(pg, "idle_in_transaction_session_timeout"), "0");
		if (has_limit)
			CHECK_TEXT(setting(pg, "transaction_timeout"), "0");
		wp_connection_free(connection);
	}
	CHECK_EQ(unsetenv("PGTZ"), 0);
	CHECK_EQ(unsetenv("PGDATESTYLE"), 0);
	connection = NULL;
}

static void the_users_own_words_stay_in_force(void **state)
{
	harness_connect_by(&harness, NULL,
			   "dbname=relay application_name=mine options='-c work_mem=5MB'");
	PGconn *pg = connect_as(WP_CONNECTION_REPLICATION);
	CHECK_TEXT(setting(pg, "application_name"), "mine");
	CHECK_TEXT(setting(pg, "work_mem"), "5MB");
	CHECK_TEXT(setting(pg, "datestyle"), "ISO, MDY");
}

static void unless_named_we_are_walpost_with_keepalives(void **state)
{
	harness_connect_by(&harness, "127.0.0.1", "dbname=relay");
	PGconn *pg = connect_as(WP_CONNECTION_SQL);
	CHECK_TEXT(setting(pg, "application_name"), "walpost");
	int idle = 0;
	socklen_t size = sizeof(idle);
	CHECK_EQ(getsockopt(PQsocket(pg), IPPROTO_TCP, 4 /* TCP_KEEPIDLE */, &idle, &size), 0);
	CHECK_EQ(idle, 30);
}

static void an_sql_ascii_database_is_read_as_it_is(void **state)
{
	harness_sql(&harness, "CREATE DATABASE other ENCODING 'SQL_ASCII' TEMPLATE template0 "
			      "LC_COLLATE 'C' LC_CTYPE 'C'");
	harness_connect_by(&harness, NULL, "dbname=other");
	PGconn *pg = connect_as(WP_CONNECTION_REPLICATION);
	CHECK_TEXT(setting(pg, "client_encoding"), "SQL_ASCII");
}

static void a_wrong_password_is_a_matter_of_configuration(void **state)
{
	harness_sql(&harness, "DROP ROLE IF EXISTS with_password");
	harness_sql(&harness, "CREATE ROLE with_password LOGIN REPLICATION PASSWORD 'right'");
	harness_connect_by(&harness, "127.0.0.1", "dbname=relay user=with_password");
	harness.options.password = "wrong";
	const struct wp_source_failure *f = fail_to_connect(WP_CONNECTION_REPLICATION);
	CHECK_TEXT(f->sqlstate, "28P01");
	CHECK_EQ(f->reaction, WP_REACT_STOP_CONFIG);
	CHECK_HAS(f->error.text, "password authentication failed for user \"with_password\"");
	CHECK_HAS(f->error.text, "postgres.conninfo");
	CHECK(!strstr(f->error.text, "LOCATION"));
	CHECK(!strchr(f->error.text, '\n'));
	wp_connection_free(connection);

	harness.options.password = "right";
	CHECK(connect_as(WP_CONNECTION_REPLICATION));
}

static void a_wrong_password_of_the_environment_is_told_to_be_of_it(void **state)
{
	harness_sql(&harness, "DROP ROLE IF EXISTS with_password");
	harness_sql(&harness, "CREATE ROLE with_password LOGIN REPLICATION PASSWORD 'right'");
	harness_connect_by(&harness, "127.0.0.1",
			   "dbname=relay user=with_password passfile=/nowhere");
	CHECK_EQ(setenv("PGPASSWORD", "wrong", 1), 0);
	const struct wp_source_failure *f = fail_to_connect(WP_CONNECTION_REPLICATION);
	CHECK_TEXT(f->sqlstate, "28P01");
	CHECK_HAS(f->error.text, "correct or unset PGPASSWORD");
	wp_connection_free(connection);

	harness.options.password = "wrong too";
	CHECK(strstr(fail_to_connect(WP_CONNECTION_REPLICATION)->error.text, "PGPASSWORD") == NULL);
	CHECK_EQ(unsetenv("PGPASSWORD"), 0);
	wp_connection_free(connection);

	/* That of the relay, in the environment of an administrator. */
	CHECK_EQ(setenv("PGPASSWORD", "right", 1), 0);
	CHECK_EQ(setenv("WALPOST__POSTGRES__PASSWORD", "of the relay", 1), 0);
	harness.options.password = "of the relay";
	CHECK_HAS(fail_to_connect(WP_CONNECTION_REPLICATION)->error.text,
		  "correct or unset WALPOST__POSTGRES__PASSWORD in walpost's environment");
	wp_connection_free(connection);
	harness.options.password = "given otherwise";
	CHECK(strstr(fail_to_connect(WP_CONNECTION_REPLICATION)->error.text,
		     "WALPOST__POSTGRES__PASSWORD") == NULL);
	CHECK_EQ(unsetenv("PGPASSWORD"), 0);
	CHECK_EQ(unsetenv("WALPOST__POSTGRES__PASSWORD"), 0);
}

static void without_any_password_the_sentence_says_where_to_name_one(void **state)
{
	harness_sql(&harness, "DROP ROLE IF EXISTS with_password");
	harness_sql(&harness, "CREATE ROLE with_password LOGIN PASSWORD 'right'");
	harness_connect_by(&harness, "127.0.0.1",
			   "dbname=relay user=with_password passfile=/nowhere");
	const struct wp_source_failure *f = fail_to_connect(WP_CONNECTION_SQL);
	CHECK_EQ(f->reaction, WP_REACT_STOP_CONFIG);
	CHECK_HAS(f->error.text, "no password supplied");
	CHECK_HAS(f->error.text, "postgres.password");
}

/* Where libpq would write. */
static struct {
	int was;
	int file;
} standard_error;

static void catch_standard_error(void)
{
	char path[] = "/tmp/walpost-stderr-XXXXXX";
	standard_error.was = dup(STDERR_FILENO);
	standard_error.file = mkstemp(path);
	CHECK_EQ(unlink(path), 0);
	CHECK(dup2(standard_error.file, STDERR_FILENO) >= 0);
	wp_log_setup(&(struct wp_log_options){ .level = WP_LOG_INFO }); /* opens it anew */
}

static const char *caught(void)
{
	static char text[4096];
	CHECK(dup2(standard_error.was, STDERR_FILENO) >= 0);
	wp_log_setup(&(struct wp_log_options){ .level = WP_LOG_INFO });
	ssize_t size = pread(standard_error.file, text, sizeof(text) - 1, 0);
	CHECK(size >= 0);
	text[size] = '\0';
	CHECK_EQ(close(standard_error.was) + close(standard_error.file), 0);
	return text;
}

static const char *passfile(const char *line, mode_t mode)
{
	static char path[512];
	(void)snprintf(path, sizeof(path), "%s/passfile", harness_env("WALPOST_TEST_DIR"));
	(void)unlink(path);
	write_text(path, line);
	CHECK_EQ(chmod(path, mode), 0);
	return path;
}

static const char *fail_by_passfile(const char *path)
{
	char words[600];
	(void)snprintf(words, sizeof(words), "dbname=relay user=with_password passfile=%s", path);
	harness_connect_by(&harness, "127.0.0.1", words);
	catch_standard_error();
	const struct wp_source_failure *f = fail_to_connect(WP_CONNECTION_SQL);
	CHECK_TEXT(caught(), "");
	CHECK_EQ(f->reaction, WP_REACT_STOP_CONFIG);
	CHECK_HAS(f->error.text, "no password supplied");
	CHECK_HAS(f->error.text, path);
	return f->error.text;
}

static void a_passfile_that_libpq_ignores_is_told_in_our_words_alone(void **state)
{
	harness_sql(&harness, "DROP ROLE IF EXISTS with_password");
	harness_sql(&harness, "CREATE ROLE with_password LOGIN PASSWORD 'right'");
	const char *text = fail_by_passfile(passfile("*:*:*:*:right\n", 0440));
	CHECK_HAS(text, "mode 0440");
	CHECK_HAS(text, "chmod 0600");
	CHECK_HAS(text, "WALPOST__POSTGRES__PASSWORD_FILE");
	wp_connection_free(connection);
	CHECK_HAS(fail_by_passfile(passfile("*:*:*:*:right\n", 0604)), "mode 0604");
	wp_connection_free(connection);
	CHECK_HAS(fail_by_passfile("/dev/null"), "is not a plain file");
	wp_connection_free(connection);
	CHECK_HAS(fail_by_passfile("/nowhere"), "No such file");
	wp_connection_free(connection);
	CHECK_HAS(fail_by_passfile(passfile("*:*:*:other:right\n", 0600)), "has no line");
	wp_connection_free(connection);

	char words[600];
	(void)snprintf(words, sizeof(words), "dbname=relay user=with_password passfile=%s",
		       passfile("*:*:*:*:right\n", 0600));
	harness_connect_by(&harness, "127.0.0.1", words);
	CHECK(connect_as(WP_CONNECTION_SQL));
}

static void a_passfile_that_nobody_needs_is_one_line_of_the_log(void **state)
{
	char words[600];
	(void)snprintf(words, sizeof(words), "dbname=relay user=postgres passfile=%s",
		       passfile("*:*:*:*:right\n", 0644));
	harness_connect_by(&harness, "127.0.0.1", words);
	catch_standard_error();
	CHECK(connect_as(WP_CONNECTION_SQL));
	wp_connection_free(connection);
	CHECK(connect_as(WP_CONNECTION_SQL));
	const char *text = caught();
	CHECK_HAS(text, "event=postgres_passfile_ignored");
	CHECK_HAS(text, "mode=0644");
	CHECK(strchr(text, '\n') == text + strlen(text) - 1);
	wp_connection_free(connection);

	/* libpq does not look for it. */
	harness.options.password = "right";
	catch_standard_error();
	CHECK(connect_as(WP_CONNECTION_SQL));
	CHECK_TEXT(caught(), "");
}

static void a_role_that_may_not_replicate_is_named_with_the_cure(void **state)
{
	harness_sql(&harness, "DROP ROLE IF EXISTS \"Mere reader\"");
	harness_sql(&harness, "CREATE ROLE \"Mere reader\" LOGIN");
	harness_connect_by(&harness, NULL, "dbname=relay user='Mere reader'");
	const struct wp_source_failure *f = fail_to_connect(WP_CONNECTION_REPLICATION);
	CHECK_TEXT(f->sqlstate, "42501");
	CHECK_EQ(f->reaction, WP_REACT_STOP_CONFIG);
	CHECK_HAS(f->error.text, "ALTER ROLE \"Mere reader\" REPLICATION; "
				 "GRANT CONNECT ON DATABASE \"relay\" TO \"Mere reader\";");
	wp_connection_free(connection);

	harness_sql(&harness, "ALTER ROLE \"Mere reader\" REPLICATION");
	CHECK(connect_as(WP_CONNECTION_REPLICATION));
}

static void a_missing_database_is_a_matter_of_configuration(void **state)
{
	harness_connect_by(&harness, NULL, "dbname=nowhere");
	const struct wp_source_failure *f = fail_to_connect(WP_CONNECTION_REPLICATION);
	CHECK_TEXT(f->sqlstate, "3D000");
	CHECK_EQ(f->reaction, WP_REACT_STOP_CONFIG);
	CHECK_HAS(f->error.text, "database \"nowhere\" does not exist");
	CHECK_HAS(f->error.text, "dbname");
}

static void a_role_without_replication_is_told_the_cure(void **state)
{
	harness_sql(&harness, "DROP ROLE IF EXISTS plain");
	harness_sql(&harness, "CREATE ROLE plain LOGIN");
	harness_connect_by(&harness, NULL, "dbname=relay user=plain");
	const struct wp_source_failure *f = fail_to_connect(WP_CONNECTION_REPLICATION);
	CHECK_TEXT(f->sqlstate, "42501");
	CHECK_EQ(f->reaction, WP_REACT_STOP_CONFIG);
	CHECK_HAS(f->error.text, "REPLICATION");
}

static void an_address_that_pg_hba_refuses_is_told_the_cure(void **state)
{
	harness_sql(&harness, "DROP ROLE IF EXISTS unwanted");
	harness_sql(&harness, "CREATE ROLE unwanted LOGIN");
	harness_connect_by(&harness, "127.0.0.1", "dbname=relay user=unwanted");
	const struct wp_source_failure *f = fail_to_connect(WP_CONNECTION_SQL);
	CHECK_TEXT(f->sqlstate, "28000");
	CHECK_EQ(f->reaction, WP_REACT_STOP_CONFIG);
	CHECK_HAS(f->error.text, "pg_hba.conf");
}

static void a_refused_port_is_tried_again_later(void **state)
{
	struct hole closed = dig(false);
	char words[64];
	(void)snprintf(words, sizeof(words), "dbname=relay port=%s", closed.port);
	harness_connect_by(&harness, "127.0.0.1", words);
	const struct wp_source_failure *f = fail_to_connect(WP_CONNECTION_REPLICATION);
	CHECK_TEXT(f->sqlstate, "");
	CHECK_EQ(f->reaction, WP_REACT_RECONNECT);
	CHECK_HAS(f->error.text, "Connection refused");
	(void)close(closed.fd);
}

static void a_server_that_never_answers_is_given_up_in_time(void **state)
{
	struct hole silent = dig(true);
	char words[64];
	(void)snprintf(words, sizeof(words), "dbname=relay port=%s", silent.port);
	harness_connect_by(&harness, "127.0.0.1", words);
	harness.options.connect_timeout_ms = 200;
	const struct wp_source_failure *f = fail_to_connect(WP_CONNECTION_REPLICATION);
	CHECK_EQ(f->reaction, WP_REACT_RECONNECT);
	CHECK_HAS(f->error.text, "no answer from 127.0.0.1");
	CHECK_HAS(f->error.text, silent.port);
	CHECK_HAS(f->error.text, "200 ms");
	(void)close(silent.fd);
}

static void a_silent_host_does_not_hide_the_next(void **state)
{
	struct hole silent = dig(true);
	char conninfo[256];
	(void)snprintf(conninfo, sizeof(conninfo),
		       "host=127.0.0.1,127.0.0.1,missing.test port=%s,%s,1 user=postgres "
		       "dbname=relay sslmode=prefer",
		       silent.port, harness_env("WALPOST_TEST_PORT"));
	harness.options.conninfo = conninfo;
	CHECK_TEXT(PQport(connect_as(WP_CONNECTION_SQL)), harness_env("WALPOST_TEST_PORT"));
	(void)close(silent.fd);
}

static void a_name_without_an_address_is_tried_again_later(void **state)
{
	harness_connect_by(&harness, "missing.test", "dbname=relay");
	const struct wp_source_failure *f = fail_to_connect(WP_CONNECTION_SQL);
	CHECK_EQ(f->reaction, WP_REACT_RECONNECT);
	CHECK_HAS(f->error.text, "cannot resolve host name \"missing.test\"");
}

static void count_tick(struct ev_loop *loop, ev_timer *w, int events)
{
	(void)loop, (void)events;
	(*(int *)w->data)++;
}

static void a_resolver_that_never_answers_does_not_stop_the_loop(void **state)
{
	int ticks = 0;
	ev_timer tick;
	ev_timer_init(&tick, count_tick, 0.01, 0.01);
	tick.data = &ticks;
	ev_timer_start(harness.loop, &tick);

	resolver_set(true);
	harness_connect_by(&harness, "silent.test", "dbname=relay");
	harness.options.connect_timeout_ms = 2000;
	const struct wp_source_failure *f = fail_to_connect(WP_CONNECTION_SQL);
	CHECK_EQ(f->reaction, WP_REACT_RECONNECT);
	CHECK_HAS(f->error.text, "no name server answered within 2000 ms");
	CHECK(ticks > 10);
	ev_timer_stop(harness.loop, &tick);
	resolver_set(false);
	AWAIT(&harness, resolver_waiting() == 0);
}

static void resolutions_that_hang_are_bounded(void **state)
{
	resolver_set(true);
	harness_connect_by(&harness, "silent.test", "dbname=relay");
	for (int i = 0; i < WP_RESOLVE_RUNNING_MAX; i++) {
		begin(WP_CONNECTION_SQL);
		AWAIT(&harness, resolver_waiting() == i + 1);
		wp_connection_free(connection);
	}
	const struct wp_source_failure *f = fail_to_connect(WP_CONNECTION_SQL);
	CHECK_EQ(f->reaction, WP_REACT_RECONNECT);
	CHECK_HAS(f->error.text, "8 name resolutions or logins are still pending");
	wp_connection_free(connection);

	resolver_set(false);
	AWAIT(&harness, resolver_waiting() == 0);
	harness_connect_by(&harness, "here.test", "dbname=relay sslmode=prefer");
	CHECK(connect_as(WP_CONNECTION_SQL));
}

static void a_host_that_is_not_local_gets_tls_or_nothing(void **state)
{
	/* here.test is not known to be local, though it is. */
	harness_connect_by(&harness, "here.test", "dbname=relay");
	const struct wp_source_failure *f = fail_to_connect(WP_CONNECTION_SQL);
	CHECK_EQ(f->reaction, WP_REACT_STOP_CONFIG);
	CHECK_HAS(f->error.text, "does not support SSL");
	CHECK_HAS(f->error.text, "sslmode=disable");
}

static void a_host_that_is_not_local_gets_tls(void **state)
{
	harness_set(&harness, "ssl = on");
	harness_connect_by(&harness, "here.test", "dbname=relay");
	begin(WP_CONNECTION_SQL);
	AWAIT(&harness, is_done);
	CHECK(wp_connection_pg(connection) && PQsslInUse(wp_connection_pg(connection)));
}

static void a_certificate_of_nobody_known_is_a_matter_of_configuration(void **state)
{
	harness_set(&harness, "ssl = on");
	harness_connect_by(&harness, "127.0.0.1",
			   "dbname=relay sslmode=verify-full sslrootcert=/nowhere/root.crt");
	const struct wp_source_failure *f = fail_to_connect(WP_CONNECTION_SQL);
	CHECK_EQ(f->reaction, WP_REACT_STOP_CONFIG);
	CHECK_HAS(f->error.text, "sslrootcert");
}

/* Where no file can be looked up, for root neither. */
static void set_home_nowhere(void)
{
	char path[512];
	(void)snprintf(path, sizeof(path), "%s/loop", harness_env("WALPOST_TEST_DIR"));
	CHECK(symlink(path, path) == 0 || errno == EEXIST);
	CHECK_EQ(setenv("HOME", path, 1), 0);
}

static const char *fail_with_tls(const char *words)
{
	char conninfo[256];
	harness_set(&harness, "ssl = on");
	(void)snprintf(conninfo, sizeof(conninfo), "dbname=relay %s", words);
	harness_connect_by(&harness, "127.0.0.1", conninfo);
	const struct wp_source_failure *f = fail_to_connect(WP_CONNECTION_SQL);
	CHECK_EQ(f->reaction, WP_REACT_STOP_CONFIG);
	return f->error.text;
}

static void a_home_that_cannot_be_read_is_named_with_its_cures(void **state)
{
	set_home_nowhere();
	const char *text = fail_with_tls("sslmode=require");
	CHECK_HAS(text, "/loop/.postgresql/postgresql.crt\"");
	CHECK_HAS(text, "set HOME");
	CHECK_HAS(text, "sslcert=");
	wp_connection_free(connection);

	/* libpq says that it does not exist. */
	text = fail_with_tls("sslmode=verify-full sslcert=/nowhere.crt");
	CHECK_HAS(text, strerror(ELOOP));
	CHECK_HAS(text, "set HOME");
	CHECK_HAS(text, "sslrootcert=");
	wp_connection_free(connection);

	CHECK_EQ(setenv("HOME", "/dev/null", 1), 0);
	text = fail_with_tls("sslmode=verify-ca");
	CHECK_HAS(text, "HOME says is /dev/null (Not a directory)");
	CHECK_HAS(text, "sslrootcert=");
	CHECK_EQ(unsetenv("HOME"), 0);
}

static void a_file_that_an_option_names_has_nothing_to_do_with_home(void **state)
{
	const char *text = fail_with_tls("sslmode=verify-full sslrootcert=/nowhere/root.crt");
	CHECK(!strstr(text, "HOME"));
	CHECK_HAS(text, "sslrootcert");
}

static void freeing_is_possible_at_every_step(void **state)
{
	harness_connect_by(&harness, "here.test", "dbname=relay sslmode=prefer");
	for (int steps = 0; steps < 12; steps++) {
		begin(WP_CONNECTION_REPLICATION);
		for (int i = 0; i < steps; i++)
			harness_pump(&harness);
		wp_connection_free(connection);
	}
	connection = NULL;
}

int main(void)
{
	return RUN(TEST(a_socket_a_literal_and_a_name_all_lead_in),
		   TEST(hostile_settings_of_role_and_database_do_not_reach_us),
		   TEST(the_users_own_words_stay_in_force),
		   TEST(unless_named_we_are_walpost_with_keepalives),
		   TEST(an_sql_ascii_database_is_read_as_it_is),
		   TEST(a_wrong_password_is_a_matter_of_configuration),
		   TEST(a_wrong_password_of_the_environment_is_told_to_be_of_it),
		   TEST(without_any_password_the_sentence_says_where_to_name_one),
		   TEST(a_passfile_that_libpq_ignores_is_told_in_our_words_alone),
		   TEST(a_passfile_that_nobody_needs_is_one_line_of_the_log),
		   TEST(a_role_that_may_not_replicate_is_named_with_the_cure),
		   TEST(a_missing_database_is_a_matter_of_configuration),
		   TEST(a_role_without_replication_is_told_the_cure),
		   TEST(an_address_that_pg_hba_refuses_is_told_the_cure),
		   TEST(a_refused_port_is_tried_again_later),
		   TEST(a_server_that_never_answers_is_given_up_in_time),
		   TEST(a_silent_host_does_not_hide_the_next),
		   TEST(a_name_without_an_address_is_tried_again_later),
		   TEST(a_resolver_that_never_answers_does_not_stop_the_loop),
		   TEST(resolutions_that_hang_are_bounded),
		   TEST(a_host_that_is_not_local_gets_tls_or_nothing),
		   TEST(a_host_that_is_not_local_gets_tls),
		   TEST(a_certificate_of_nobody_known_is_a_matter_of_configuration),
		   TEST(a_home_that_cannot_be_read_is_named_with_its_cures),
		   TEST(a_file_that_an_option_names_has_nothing_to_do_with_home),
		   TEST(freeing_is_possible_at_every_step));
}
