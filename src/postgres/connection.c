#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "libpq_files.h"
#include "session_settings.h"
#include "walpost/base/log.h"
#include "walpost/base/secret_file.h"
#include "walpost/login/login.h"
#include "walpost/postgres/connection.h"
#include "walpost/postgres/connection_plan.h"
#include "walpost/postgres/conninfo.h"
#include "walpost/postgres/query.h"
#include "walpost/postgres/sql.h"

#define SETTINGS_SQL_SIZE_MAX 8192

struct wp_connection {
	struct ev_loop *loop;			   /* borrowed */
	const struct wp_postgres_options *options; /* borrowed */
	enum wp_connection_kind kind;
	void (*done)(void *arg);
	void *arg;

	struct wp_connection_plan plan;
	struct wp_addresses left;   /* not yet found silent */
	struct wp_address trying;   /* as libpq names it */
	struct wp_resolve *resolve; /* while names are resolved */
	struct wp_query *settings;  /* while they are set, and read back */
	struct wp_session_set set;
	PGconn *pg;
	bool fetched_again; /* a password that was refused */
	bool as_walsender;  /* WP_CONNECTION_QUESTIONS, refused as an ordinary session */
	bool connected;
	ev_io socket;
	ev_timer begin; /* so that nothing is called from within new */
	ev_timer limit;
	struct wp_source_failure failure;
};

#define OF_OPTIONS                                                                                \
	"correct PGTZ, PGDATESTYLE, PGGEQO or PGOPTIONS in walpost's environment, or options in " \
	"postgres.conninfo"

/* The cures for errors that users meet, found by SQLSTATE and a part of the text. */
static const struct {
	const char *sqlstate;
	const char *part;
	const char *cure;
} cures[] = {
	{ "28000", "PAM authentication failed",
	  "allow this user to log in with IAM: GRANT rds_iam TO it, and rds-db:connect in its IAM "
	  "policy" },
	{ "28P01", "",
	  "correct user and password in postgres.conninfo, its passfile or "
	  "postgres.password" },
	{ "28000", "certificate",
	  "set sslcert and sslkey in postgres.conninfo to a certificate for this user that is "
	  "signed by an authority that the server trusts" },
	{ "28000", "",
	  "allow this user, database and address in the server's pg_hba.conf, or "
	  "correct postgres.conninfo" },
	{ "3D000", "", "correct dbname in postgres.conninfo" },
	{ "22023", "invalid value for parameter", OF_OPTIONS },
	{ "42501", "permission denied to set parameter", OF_OPTIONS },
	{ "53300", "", "raise max_wal_senders or max_connections, or end connections" },
	{ "57P03", "", "the server is starting or stopping; this is temporary" },
};

/* libpq gives no SQLSTATE for what it finds out itself; these call for a human. */
static const struct {
	const char *part;
	const char *cure;
} local_errors[] = {
	{ "does not support SSL", "turn on ssl in the server, or allow an unencrypted connection "
				  "with sslmode=disable (or prefer) in postgres.conninfo" },
	/* TLS alerts are sent by the server. */
	{ "alert unknown ca", "the server does not trust walpost's certificate: correct sslcert "
			      "and sslkey in postgres.conninfo, or ssl_ca_file in the server" },
	{ "alert bad certificate", "the server rejects walpost's certificate: correct sslcert and "
				   "sslkey in postgres.conninfo" },
	{ "alert certificate", "the server rejects walpost's certificate: correct sslcert and "
			       "sslkey in postgres.conninfo" },
	{ "certificate verify failed",
	  "the server's certificate has expired, or was issued by another authority than "
	  "sslrootcert in postgres.conninfo: renew the certificate, or correct sslrootcert" },
	{ "certificate", "correct sslrootcert, sslcert or host in postgres.conninfo, or the "
			 "server's certificate" },
	{ "private key", "correct sslkey in postgres.conninfo" },
	{ "no password supplied",
	  "provide a password by passfile, PGPASSWORD or postgres.password" },
	{ "channel binding", "correct channel_binding in postgres.conninfo" },
};

static void stop(struct wp_connection *c)
{
	ev_io_stop(c->loop, &c->socket);
	ev_timer_stop(c->loop, &c->begin);
	ev_timer_stop(c->loop, &c->limit);
}

static void close_pg(struct wp_connection *c)
{
	ev_io_stop(c->loop, &c->socket);
	wp_query_free(c->settings);
	c->settings = NULL;
	PQfinish(c->pg);
	c->pg = NULL;
}

/* `c` may be gone afterwards. */
static void finish(struct wp_connection *c)
{
	stop(c);
	wp_resolve_free(c->resolve);
	c->resolve = NULL;
	c->done(c->arg);
}

static void fail(struct wp_connection *c)
{
	close_pg(c);
	finish(c);
}

static bool is_sqlstate(const char *text)
{
	for (size_t i = 0; i < 5; i++)
		if (!isdigit((unsigned char)text[i]) && !isupper((unsigned char)text[i]))
			return false;
	return true;
}

/*
 * A failed connection has no PGresult to ask, but at verbosity "verbose" libpq writes "FATAL:
 * 28P01: password ..." in any language. The code is cut out of `text`; with several hosts, that of
 * the last one is kept.
 */
static void take_sqlstate(char *text, char sqlstate[6])
{
	for (char *at = strstr(text, ":  "); at; at = strstr(at + 1, ":  ")) {
		if (strlen(at) < 10 || !is_sqlstate(at + 3) || at[8] != ':' || at[9] != ' ')
			continue;
		memcpy(sqlstate, at + 3, 5);
		sqlstate[5] = '\0';
		memmove(at + 2, at + 10, strlen(at + 10) + 1);
	}
}

/* Makes one line of it, and leaves out "LOCATION: ..." (a place in the server's source). */
static void tidy(char *text)
{
	char *to = text;
	for (const char *from = text; *from;) {
		size_t size = strcspn(from, "\n");
		if (strncmp(from, "LOCATION:", 9) != 0) {
			const char *word = from + strspn(from, "\t ");
			size_t rest = size - (size_t)(word - from);
			if (to != text && rest)
				*to++ = ' ';
			memmove(to, word, rest);
			to += rest;
		}
		from += size + (from[size] == '\n');
	}
	if (to > text && to[-1] == '.')
		to--;
	*to = '\0';
}

static const char *find_cure(struct wp_source_failure *f, const char *text)
{
	for (size_t i = 0; *f->sqlstate && i < sizeof(cures) / sizeof(cures[0]); i++)
		if (!strcmp(cures[i].sqlstate, f->sqlstate) && strstr(text, cures[i].part))
			return cures[i].cure;
	for (size_t i = 0; !*f->sqlstate && i < sizeof(local_errors) / sizeof(local_errors[0]); i++)
		if (strstr(text, local_errors[i].part)) {
			f->reaction = WP_REACT_STOP_CONFIG;
			return local_errors[i].cure;
		}
	return NULL;
}

/* libpq prefers PGPASSWORD to a passfile, and in a service's environment it is easily forgotten. */
static bool used_environment(const struct wp_connection *c)
{
	const char *password = getenv("PGPASSWORD");
	return password && *password && !*c->plan.password &&
	       !wp_conninfo_has_secret(c->plan.conninfo);
}

/* Names the variable that gave postgres.password (config/environment.c) and wins over what an
 * administrator sets for libpq; NULL: none. */
static const char *password_variable(const struct wp_connection *c)
{
	const char *given = getenv("WALPOST__POSTGRES__PASSWORD");
	const char *path = getenv("WALPOST__POSTGRES__PASSWORD_FILE");
	const struct wp_secret_file *file = c->options->password_file;

	if (given && *given && !strcmp(c->plan.password, given))
		return "WALPOST__POSTGRES__PASSWORD";
	return path && file && !strcmp(wp_secret_file_path(file), path)
		       ? "WALPOST__POSTGRES__PASSWORD_FILE"
		       : NULL;
}

static bool is_file(const char *variable)
{
	return strcmp(variable + strlen(variable) - strlen("_FILE"), "_FILE") == 0;
}

/* The cure for 42501: the role may not replicate, or not connect to the database. */
static const char *write_grants(PGconn *pg, struct wp_buffer *into)
{
	struct wp_sql sql;
	struct wp_error error;
	wp_sql_init(&sql, pg, into);
	wp_sql_add(&sql,
		   "as a superuser: ALTER ROLE %I REPLICATION; GRANT CONNECT ON DATABASE %I TO %I; "
		   "or name another role in postgres.conninfo",
		   PQuser(pg), PQdb(pg), PQuser(pg));
	return wp_sql_end(&sql, &error) == WP_OK ? (const char *)into->data : NULL;
}

/* libpq says nothing of a passfile that did not help, or says it on standard error. Returns
 * false when there is no such file. */
static bool write_passfile_cure(const struct wp_connection *c, struct wp_error *cure)
{
	struct wp_passfile p;
	wp_passfile_judge(c->plan.passfile, &p);
	if (*p.trouble)
		(void)wp_error_set(cure, WP_CONFIG, "%s", p.trouble);
	else if (*p.mode)
		(void)wp_error_set(cure, WP_CONFIG,
				   "the passfile %s has no line for this host, port, database and "
				   "user: add one, or use postgres.password",
				   p.path);
	return *p.trouble || *p.mode;
}

/* `errnum` is errno after libpq's call: libpq 17 says nothing when it gets no socket. */
static void note_refusal(struct wp_connection *c, int errnum)
{
	struct wp_source_failure f = { 0 };
	char text[2048];
	const char *said = PQerrorMessage(c->pg);
	if (!*said)
		said = errnum ? strerror(errnum) : "libpq reports no reason";
	(void)snprintf(text, sizeof(text), "%s", said);
	take_sqlstate(text, f.sqlstate);
	tidy(text);
	f.reaction = wp_postgres_reaction(WP_PHASE_CONNECT, f.sqlstate);
	struct wp_buffer grants;
	char home[512];
	struct wp_error passfile;
	wp_buffer_init(&grants, 1024);
	const char *cure = find_cure(&f, text);
	if (!cure && !strcmp(f.sqlstate, "42501"))
		cure = write_grants(c->pg, &grants);
	if (!strcmp(f.sqlstate, "28P01") && c->plan.login)
		cure = "the password came from postgres.login or postgres.password_command: "
		       "`walpost "
		       "check` shows what they give";
	if (!strcmp(f.sqlstate, "28P01") && used_environment(c))
		cure = "correct or unset PGPASSWORD in walpost's environment: its password was "
		       "used, and it overrides a passfile";
	if (strstr(text, "no password supplied") && write_passfile_cure(c, &passfile))
		cure = passfile.text;
	/* With sslmode=prefer the server's refusal of the next try, without TLS, may follow it. */
	if (wp_libpq_home_cure(text, home, sizeof(home)))
		cure = home;
	(void)wp_error_set(&f.error, WP_IO, "cannot connect: %.700s%s%s", text, cure ? "; " : "",
			   cure ? cure : "");
	wp_buffer_release(&grants);
	const char *variable = password_variable(c);
	if (!strcmp(f.sqlstate, "28P01") && variable && !c->plan.login)
		(void)wp_error_set(
			&f.error, WP_IO,
			"cannot connect: %.700s; %s %s in walpost's environment: its password was "
			"used, and it overrides PGPASSWORD and a passfile",
			text,
			is_file(variable) ? "correct the file of, or unset," : "correct or unset",
			variable);
	c->failure = f;
}

static void note(struct wp_connection *c, enum wp_reaction reaction, const char *what)
{
	c->failure = (struct wp_source_failure){ .reaction = reaction };
	(void)wp_error_set(&c->failure.error, WP_IO, "cannot connect: %s", what);
}

static const char *or_empty(const char *text)
{
	return text ? text : "";
}

const char *wp_server_encoding(const PGconn *pg)
{
	const char *encoding = PQparameterStatus(pg, "server_encoding");
	return encoding ? encoding : "";
}

/* `query` is the connection's only one, and `sql` is ended here. */
static void ask(struct wp_connection *c, struct wp_sql *sql, wp_query_done done)
{
	struct wp_error error;
	enum wp_rc rc = wp_sql_end(sql, &error);
	if (rc == WP_OK)
		rc = wp_query_new(c->loop, c->pg, (const char *)sql->into->data, done, c,
				  &c->settings, &error);
	wp_buffer_release(sql->into);
	if (rc == WP_OK)
		return;
	note(c, WP_REACT_RECONNECT, error.text);
	fail(c);
}

/* Returns false when the query failed; `c` may be gone then. */
static bool is_answered(struct wp_connection *c, const struct wp_source_failure *failure)
{
	wp_query_free(c->settings);
	c->settings = NULL;
	if (!failure)
		return true;
	c->failure = *failure;
	fail(c);
	return false;
}

static void on_settings_read(void *arg, const PGresult *result,
			     const struct wp_source_failure *failure)
{
	struct wp_connection *c = arg;
	struct wp_error error;
	if (!is_answered(c, failure))
		return;
	if (wp_session_settings_judge(PQserverVersion(c->pg), &c->set, result, &error) != WP_OK) {
		note(c, WP_REACT_STOP_CONFIG, error.text);
		fail(c);
		return;
	}
	c->connected = true;
	if (c->plan.passfile_ignored) {
		/* The server wanted no password, so the passfile is of no consequence now. */
		struct wp_passfile p;
		wp_passfile_judge(c->plan.passfile, &p);
		wp_log_once(WP_LOG_WARN, "postgres_passfile_ignored", WP_TEXT("file", p.path),
			    WP_TEXT("mode", p.mode), WP_TEXT("reason", p.trouble));
	}
	finish(c);
}

static void on_settings_set(void *arg, const PGresult *result,
			    const struct wp_source_failure *failure)
{
	struct wp_connection *c = arg;
	struct wp_buffer text;
	struct wp_sql sql;
	if (!is_answered(c, failure))
		return;
	wp_session_settings_set_answer(result, &c->set);
	wp_buffer_init(&text, SETTINGS_SQL_SIZE_MAX);
	wp_sql_init(&sql, c->pg, &text);
	wp_session_settings_read_sql(&sql);
	ask(c, &sql, on_settings_read);
}

static void set_session(struct wp_connection *c)
{
	struct wp_buffer text;
	struct wp_sql sql;
	(void)PQsetErrorVerbosity(c->pg, PQERRORS_DEFAULT);
	wp_buffer_init(&text, SETTINGS_SQL_SIZE_MAX);
	wp_sql_init(&sql, c->pg, &text);
	wp_session_settings_set_sql(&sql, or_empty(c->options->decoding_work_mem));
	ask(c, &sql, on_settings_set);
}

/* The login keeps a time limit of its own, which is added. */
static int64_t resolve_limit_ms(const struct wp_connection *c)
{
	return c->options->connect_timeout_ms +
	       (c->plan.login ? c->options->login_options.timeout_ms : 0);
}

static void give_time(struct wp_connection *c, int64_t ms)
{
	ev_timer_stop(c->loop, &c->limit);
	ev_now_update(c->loop);
	ev_timer_set(&c->limit, (double)ms / 1000., 0.);
	ev_timer_start(c->loop, &c->limit);
}

/* Notes which of its addresses libpq is at now; each gets its own time. */
static void follow(struct wp_connection *c)
{
	struct wp_address at = { 0 };
	(void)snprintf(at.host, sizeof(at.host), "%s", or_empty(PQhost(c->pg)));
	(void)snprintf(at.hostaddr, sizeof(at.hostaddr), "%s", or_empty(PQhostaddr(c->pg)));
	(void)snprintf(at.port, sizeof(at.port), "%s", or_empty(PQport(c->pg)));
	if (!strcmp(at.host, c->trying.host) && !strcmp(at.hostaddr, c->trying.hostaddr) &&
	    !strcmp(at.port, c->trying.port))
		return;
	c->trying = at;
	give_time(c, c->options->connect_timeout_ms);
}

static void wait_for(struct wp_connection *c, int events)
{
	/* The watcher is set anew each time: libpq may have another socket with the same number. */
	ev_io_stop(c->loop, &c->socket);
	ev_io_set(&c->socket, PQsocket(c->pg), events);
	ev_io_start(c->loop, &c->socket);
}

static void try_addresses(struct wp_connection *c);
static void resolve(struct wp_connection *c);

static void on_refused(struct wp_connection *c, int errnum)
{
	note_refusal(c, errnum);
	/* Somebody may have changed the password just when it was fetched. */
	if (c->plan.login && !c->fetched_again && !strncmp(c->failure.sqlstate, "28", 2)) {
		c->fetched_again = true;
		wp_login_refused(c->plan.login);
		close_pg(c);
		resolve(c);
		return;
	}
	if (c->kind == WP_CONNECTION_QUESTIONS && !c->as_walsender &&
	    !strcmp(c->failure.sqlstate, "53300")) {
		c->as_walsender = true;
		close_pg(c);
		try_addresses(c);
		return;
	}
	fail(c);
}

static void poll_on(struct wp_connection *c)
{
	/* Whatever libpq does with its socket, no watcher is left on the old one. */
	ev_io_stop(c->loop, &c->socket);
	errno = 0;
	switch (PQconnectPoll(c->pg)) {
	case PGRES_POLLING_READING:
		follow(c);
		wait_for(c, EV_READ);
		return;
	case PGRES_POLLING_WRITING:
		follow(c);
		wait_for(c, EV_WRITE);
		return;
	case PGRES_POLLING_OK:
		set_session(c);
		return;
	default:
		on_refused(c, errno);
	}
}

static void on_socket(struct ev_loop *loop, ev_io *w, int events)
{
	(void)loop, (void)events; /* libpq knows what it waited for */
	poll_on(w->data);
}

static void try_addresses(struct wp_connection *c)
{
	errno = 0;
	c->pg = wp_connection_plan_start(
		&c->plan, c->as_walsender ? WP_CONNECTION_REPLICATION : c->kind, &c->left);
	int errnum = errno;
	if (!c->pg) {
		note(c, WP_REACT_RECONNECT, "out of memory");
		fail(c);
		return;
	}
	wp_connection_log_notices(c->pg);
	(void)PQsetErrorVerbosity(c->pg, PQERRORS_VERBOSE); /* for the SQLSTATE */
	if (PQstatus(c->pg) == CONNECTION_BAD) {
		note_refusal(c, errnum);
		fail(c);
		return;
	}
	c->trying = (struct wp_address){ 0 };
	follow(c);
	wait_for(c, EV_WRITE);
}

static bool is_same(const struct wp_address *a, const struct wp_address *trying)
{
	const char *port = *a->port ? a->port : "5432";
	/* libpq names a literal among the hosts as host and as address. */
	bool same = *a->hostaddr ? !strcmp(a->hostaddr, trying->hostaddr)
				 : !strcmp(a->host, trying->host);
	return same && !strcmp(port, trying->port);
}

static void forget(struct wp_addresses *a, const struct wp_address *silent)
{
	size_t kept = 0;
	for (size_t i = 0; i < a->count; i++)
		if (!is_same(&a->list[i], silent))
			a->list[kept++] = a->list[i];
	/* An address that libpq names otherwise must not be tried for ever. */
	a->count = kept < a->count ? kept : 0;
}

static void on_limit(struct ev_loop *loop, ev_timer *w, int events)
{
	(void)loop, (void)events; /* one timer, always for its end */
	struct wp_connection *c = w->data;
	char what[600];
	if (c->resolve) {
		(void)snprintf(
			what, sizeof(what),
			"no name server%s answered within %lld ms; check the name servers of "
			"this host, or write hostaddr into postgres.conninfo",
			c->plan.login ? ", or no login," : "", (long long)resolve_limit_ms(c));
	} else {
		bool literal = !strcmp(c->trying.host, c->trying.hostaddr);
		(void)snprintf(what, sizeof(what),
			       "no answer from %.255s%s%s port %s within %lld ms; check the "
			       "address and the firewall, and that the server is running",
			       c->trying.host, literal ? "" : " ",
			       literal ? "" : c->trying.hostaddr, c->trying.port,
			       (long long)c->options->connect_timeout_ms);
		forget(&c->left, &c->trying);
		if (c->left.count > 0) {
			close_pg(c);
			try_addresses(c);
			return;
		}
	}
	note(c, WP_REACT_RECONNECT, what);
	fail(c);
}

/* Replaces the plan's password, which libpq is given. Returns false when out of memory. */
static bool take_password(struct wp_connection *c, const char *password)
{
	char *copy = strdup(password);
	if (!copy)
		return false;
	explicit_bzero(c->plan.password, strlen(c->plan.password));
	free(c->plan.password);
	c->plan.password = copy;
	return true;
}

static void on_resolved(void *arg, const struct wp_resolved *found, const struct wp_error *error)
{
	struct wp_connection *c = arg;
	if (!found || (found->password && !take_password(c, found->password))) {
		note(c, WP_REACT_RECONNECT, found ? "out of memory" : error->text);
		fail(c);
		return;
	}
	c->left = found->addresses;
	wp_resolve_free(c->resolve);
	c->resolve = NULL;
	try_addresses(c);
}

static bool has_names(const struct wp_addresses *a)
{
	for (size_t i = 0; i < a->count; i++)
		if (wp_address_is_name(&a->list[i]))
			return true;
	return false;
}

/* Resolves the names, and gets the password of a login. */
static void resolve(struct wp_connection *c)
{
	struct wp_error error;
	enum wp_rc rc =
		wp_resolve_new(c->loop, &c->left, &c->plan, on_resolved, c, &c->resolve, &error);
	if (rc == WP_OK) {
		give_time(c, resolve_limit_ms(c));
		return;
	}
	note(c, WP_REACT_RECONNECT, error.text);
	fail(c);
}

static void on_begin(struct ev_loop *loop, ev_timer *w, int events)
{
	(void)loop, (void)events; /* one timer, always for its end */
	struct wp_connection *c = w->data;
	if (has_names(&c->left) || c->plan.login)
		resolve(c);
	else
		try_addresses(c);
}

static void copy_address(struct wp_connection *c, const PGconn *pg)
{
	c->left = (struct wp_addresses){ .count = 1 };
	struct wp_address *a = &c->left.list[0];
	(void)snprintf(a->host, sizeof(a->host), "%s", or_empty(PQhost(pg)));
	(void)snprintf(a->hostaddr, sizeof(a->hostaddr), "%s", or_empty(PQhostaddr(pg)));
	(void)snprintf(a->port, sizeof(a->port), "%s", or_empty(PQport(pg)));
}

enum wp_rc wp_connection_new(struct ev_loop *loop, const struct wp_connection_setup *setup,
			     struct wp_connection **ret, struct wp_error *error)
{
	struct wp_connection *c = calloc(1, sizeof(*c));
	if (!c)
		return wp_error_set(error, WP_NOMEM, "out of memory for a connection");
	enum wp_rc rc = wp_connection_plan_init(&c->plan, setup->options, error);
	if (rc != WP_OK) {
		free(c);
		return rc;
	}
	c->loop = loop;
	c->options = setup->options;
	c->kind = setup->kind;
	c->done = setup->done;
	c->arg = setup->arg;
	c->left = c->plan.addresses;
	if (setup->same_as)
		copy_address(c, setup->same_as);
	ev_io_init(&c->socket, on_socket, -1, EV_READ);
	ev_timer_init(&c->begin, on_begin, 0., 0.);
	ev_timer_init(&c->limit, on_limit, 0., 0.);
	c->socket.data = c->begin.data = c->limit.data = c;
	ev_timer_start(loop, &c->begin);
	*ret = c;
	return WP_OK;
}

void wp_connection_free(struct wp_connection *c)
{
	if (!c)
		return;
	stop(c);
	wp_resolve_free(c->resolve);
	close_pg(c);
	wp_connection_plan_release(&c->plan);
	free(c);
}

PGconn *wp_connection_pg(const struct wp_connection *c)
{
	return c->connected ? c->pg : NULL;
}

const struct wp_source_failure *wp_connection_failure(const struct wp_connection *c)
{
	return &c->failure;
}

static const char *field(const PGresult *result, int code)
{
	const char *text = PQresultErrorField(result, code);
	return text ? text : "";
}

void wp_connection_log_notice(const PGresult *notice)
{
	/* A trigger ON login may raise it for each session, and the watch has five a minute. */
	wp_log_once(WP_LOG_WARN, "postgres_notice",
		    WP_TEXT("severity", field(notice, PG_DIAG_SEVERITY_NONLOCALIZED)),
		    WP_TEXT("sqlstate", field(notice, PG_DIAG_SQLSTATE)),
		    WP_TEXT("text", field(notice, PG_DIAG_MESSAGE_PRIMARY)));
}

static void on_notice(void *arg, const PGresult *notice)
{
	(void)arg; /* the log is global */
	wp_connection_log_notice(notice);
}

void wp_connection_log_notices(PGconn *pg)
{
	(void)PQsetNoticeReceiver(pg, on_notice, NULL);
}
