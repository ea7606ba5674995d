#include <arpa/inet.h>
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "libpq_files.h"
#include "walpost/base/log.h"
#include "walpost/base/secret_file.h"
#include "walpost/postgres/connection_plan.h"
#include "walpost/postgres/conninfo.h"

#define LISTS_SIZE_MAX 32768
/* This can be no address and no attribute, so libpq gives up before it connects. */
#define DRY_RUN "walpost-dry-run"

/*
 * All that a session relies on is set by SQL after the login (session_settings.h). A role's
 * statement_timeout could end that very statement, and its idle_session_timeout the session before
 * it; startup options win over ALTER ROLE ... SET.
 */
static const char patient_options[] = "-c statement_timeout=0 -c idle_session_timeout=0";

static bool is_literal(const char *host)
{
	uint8_t bytes[sizeof(struct in6_addr)];
	char text[INET6_ADDRSTRLEN];
	size_t size = strcspn(host, "%"); /* fe80::1%eth0 */
	if (size >= sizeof(text))
		return false;
	memcpy(text, host, size);
	text[size] = '\0';
	return inet_pton(AF_INET, text, bytes) == 1 || inet_pton(AF_INET6, text, bytes) == 1;
}

static bool is_socket(const char *host)
{
	return *host == '\0' || *host == '/' || *host == '@';
}

static bool is_loopback(const char *host)
{
	struct in_addr v4;
	struct in6_addr v6;
	if (!strcmp(host, "localhost"))
		return true;
	if (inet_pton(AF_INET, host, &v4) == 1)
		return (ntohl(v4.s_addr) >> 24) == 127;
	return inet_pton(AF_INET6, host, &v6) == 1 && IN6_IS_ADDR_LOOPBACK(&v6);
}

bool wp_address_is_local(const struct wp_address *a)
{
	return *a->hostaddr ? is_loopback(a->hostaddr) : is_socket(a->host) || is_loopback(a->host);
}

bool wp_address_is_name(const struct wp_address *a)
{
	return !*a->hostaddr && !is_socket(a->host) && !is_literal(a->host);
}

/* Copies the next element of a comma-separated list and moves past it. */
static enum wp_rc next_element(const char **list, char *into, size_t size, struct wp_error *error)
{
	size_t length = strcspn(*list, ",");
	if (length >= size)
		return wp_error_set(error, WP_CONFIG,
				    "postgres.conninfo: a host or port is longer than %zu bytes",
				    size - 1);
	memcpy(into, *list, length);
	into[length] = '\0';
	*list += length + ((*list)[length] == ',');
	return WP_OK;
}

static size_t count_elements(const char *list)
{
	size_t count = 1;
	for (; *list; list++)
		count += *list == ',';
	return count;
}

static const PQconninfoOption *find(const PQconninfoOption *options, const char *keyword)
{
	while (options->keyword && strcmp(options->keyword, keyword) != 0)
		options++;
	return options;
}

static const char *value_of(const PQconninfoOption *options, const char *keyword)
{
	const PQconninfoOption *option = find(options, keyword);
	return option->keyword && option->val ? option->val : "";
}

/* Makes a connection that fails at once, so that PQconninfo() tells what it would have used. */
static PGconn *dry_run(const char *conninfo, const char *keyword, const char *value)
{
	/* With a password at hand libpq does not look for one in a file. */
	const char *keywords[] = { "dbname", "password", keyword, NULL };
	const char *values[] = { conninfo, "-", value, NULL };
	return PQconnectStartParams(keywords, values, 1);
}

/* Such a connection asks for the password, too. */
static PGconn *dry_run_without_passfile(const char *conninfo, const char *hostaddr)
{
	const char *keywords[] = { "dbname", "passfile", "hostaddr", NULL };
	const char *values[] = { conninfo, WP_NO_PASSFILE, hostaddr, NULL };
	return PQconnectStartParams(keywords, values, 1);
}

static enum wp_rc refuse(PGconn *pg, struct wp_error *error)
{
	if (!pg)
		return wp_error_set(error, WP_NOMEM, "out of memory for a connection");
	char text[512];
	(void)snprintf(text, sizeof(text), "%s", PQerrorMessage(pg));
	text[strcspn(text, "\n")] = '\0';
	return wp_error_set(error, WP_CONFIG, "postgres.conninfo: libpq rejects it: %s", text);
}

static bool failed_as_intended(PGconn *pg)
{
	return pg && strstr(PQerrorMessage(pg), DRY_RUN);
}

/* libpq looks for a passfile only where no password is given. */
static void judge_passfile(struct wp_connection_plan *p, PGconn *dry)
{
	struct wp_passfile passfile;
	PQconninfoOption *effective = PQconninfo(dry);
	bool given = *p->password || p->login || (effective && *value_of(effective, "password"));
	PQconninfoFree(effective);
	if (given)
		return;
	wp_passfile_judge(p->passfile, &passfile);
	p->passfile_ignored = passfile.ignored;
}

/* Lets libpq check everything that it checks itself, also the attribute that the first run
 * replaced. */
static enum wp_rc check_all(struct wp_connection_plan *p, struct wp_error *error)
{
	size_t count = p->addresses.count;
	char list[WP_ADDRESSES_MAX * sizeof(DRY_RUN)];
	size_t size = 0;
	for (size_t i = 0; i < count; i++)
		size += (size_t)snprintf(list + size, sizeof(list) - size, "%s%s", i ? "," : "",
					 DRY_RUN);
	PGconn *pg = dry_run_without_passfile(p->conninfo, list);
	enum wp_rc rc = failed_as_intended(pg) ? WP_OK : refuse(pg, error);
	if (rc == WP_OK)
		judge_passfile(p, pg);
	PQfinish(pg);
	return rc;
}

static enum wp_rc read_addresses(struct wp_addresses *a, const PQconninfoOption *effective,
				 struct wp_error *error)
{
	const char *host = value_of(effective, "host");
	const char *hostaddr = value_of(effective, "hostaddr");
	const char *port = value_of(effective, "port");
	const char *first_port = port;
	bool one_port = count_elements(port) == 1;
	a->count = count_elements(*hostaddr ? hostaddr : host);
	if (a->count > WP_ADDRESSES_MAX)
		return wp_error_set(
			error, WP_CONFIG,
			"postgres.conninfo: %zu hosts are given, but at most %d are allowed",
			a->count, WP_ADDRESSES_MAX);
	for (size_t i = 0; i < a->count; i++) {
		struct wp_address *to = &a->list[i];
		if (one_port)
			port = first_port;
		enum wp_rc rc = next_element(&host, to->host, sizeof(to->host), error);
		if (rc == WP_OK)
			rc = next_element(&hostaddr, to->hostaddr, sizeof(to->hostaddr), error);
		if (rc == WP_OK)
			rc = next_element(&port, to->port, sizeof(to->port), error);
		if (rc != WP_OK)
			return rc;
	}
	return WP_OK;
}

/*
 * Did the user write it, in the conninfo or the environment? Of a service file only what differs
 * from libpq's default can be told.
 */
static bool is_written(const char *keyword, const char *conninfo, const PQconninfoOption *effective)
{
	const PQconninfoOption *option = find(effective, keyword);
	const char *value = option->val ? option->val : "";
	if (!option->compiled || strcmp(value, option->compiled) != 0 ||
	    (option->envvar && getenv(option->envvar)))
		return true;
	PQconninfoOption *written = PQconninfoParse(conninfo, NULL);
	bool is = written && *value_of(written, keyword);
	PQconninfoFree(written);
	return is;
}

static void apply_sslmode_rule(struct wp_connection_plan *p, const char *conninfo,
			       const PQconninfoOption *effective)
{
	p->local = true;
	for (size_t i = 0; i < p->addresses.count; i++)
		p->local = p->local && wp_address_is_local(&p->addresses.list[i]);
	p->sslmode_written = is_written("sslmode", conninfo, effective);
	p->tls_forced = !p->sslmode_written && !p->local;
	(void)snprintf(p->sslmode, sizeof(p->sslmode), "%s",
		       p->tls_forced ? "require" : value_of(effective, "sslmode"));
}

static enum wp_rc write_options(struct wp_connection_plan *p, const char *users,
				struct wp_error *error)
{
	enum wp_rc rc =
		wp_buffer_printf(&p->options, "%s%s%s", users, *users ? " " : "", patient_options);
	if (rc == WP_OK)
		rc = wp_buffer_append_byte(&p->options, 0);
	if (rc == WP_FULL)
		return wp_error_set(error, WP_CONFIG,
				    "postgres.conninfo: options are longer than %d bytes",
				    LISTS_SIZE_MAX);
	return rc == WP_OK ? WP_OK : wp_error_set(error, rc, "out of memory for a connection");
}

static bool is_conninfo(const char *text)
{
	struct wp_error error;
	return wp_conninfo_check(text, &error) == WP_OK;
}

static void tell(const char *key, const struct wp_secret_file *file, const struct wp_secret_text *t)
{
	if (t->news == WP_SECRET_NEW)
		wp_log(WP_LOG_INFO, "postgres_secret_reread", WP_TEXT("key", key),
		       WP_TEXT("file", wp_secret_file_path(file)));
	if (t->news == WP_SECRET_LOST)
		wp_log(WP_LOG_WARN, "postgres_secret_unreadable", WP_TEXT("key", key),
		       WP_TEXT("reason", t->error.text),
		       WP_TEXT("meanwhile", "the value read last"));
}

/* A value that comes from a file is taken as it is now: whoever rotates a password replaces the
 * file. */
static enum wp_rc take_value(const char *key, const char *given, struct wp_secret_file *file,
			     bool (*is_usable)(const char *text), char **ret)
{
	struct wp_secret_text now;
	if (!file) {
		*ret = strdup(given ? given : "");
		return *ret ? WP_OK : WP_NOMEM;
	}
	enum wp_rc rc = wp_secret_file_read(file, is_usable, &now);
	if (rc != WP_OK)
		return rc;
	tell(key, file, &now);
	*ret = now.text;
	return WP_OK;
}

static enum wp_rc take_values(struct wp_connection_plan *p,
			      const struct wp_postgres_options *options)
{
	enum wp_rc rc = take_value("postgres.conninfo", options->conninfo, options->conninfo_file,
				   is_conninfo, &p->conninfo);
	if (rc == WP_OK)
		rc = take_value("postgres.password", options->password, options->password_file,
				NULL, &p->password);
	return rc;
}

/* Judges whether a cloud's password can be used: it is sent as it is, and that of AWS names one
 * host. */
static enum wp_rc judge_login(const struct wp_connection_plan *p,
			      const struct wp_postgres_options *options, struct wp_error *error)
{
	bool tls = !strcmp(p->sslmode, "require") || !strncmp(p->sslmode, "verify", 6);
	enum wp_login_provider provider = options->login_options.provider;
	if (!p->login || provider == WP_LOGIN_NONE)
		return WP_OK;
	if (!tls && !p->local)
		return wp_error_set(error, WP_CONFIG,
				    "postgres.login sends its password as it is, so it needs TLS: "
				    "remove sslmode=%s from postgres.conninfo",
				    p->sslmode);
	if (provider != WP_LOGIN_AWS)
		return WP_OK;
	if (p->addresses.count > 1)
		return wp_error_set(
			error, WP_CONFIG,
			"postgres.login = aws-rds-iam signs a password for one host, but "
			"postgres.conninfo names %zu: name the cluster's endpoint alone",
			p->addresses.count);
	if (!*p->addresses.list[0].host || !*p->user)
		return wp_error_set(
			error, WP_CONFIG,
			"postgres.login = aws-rds-iam signs a password for a host and a "
			"user: write both into postgres.conninfo (beside hostaddr, too)");
	return WP_OK;
}

static enum wp_rc read_effective(struct wp_connection_plan *p,
				 const struct wp_postgres_options *options, PGconn *dry,
				 struct wp_error *error)
{
	PQconninfoOption *effective = PQconninfo(dry);
	if (!effective)
		return wp_error_set(error, WP_NOMEM, "out of memory for a connection");
	enum wp_rc rc = read_addresses(&p->addresses, effective, error);
	if (rc == WP_OK) {
		/* If no host was named, libpq uses its own folder of sockets. */
		struct wp_address *first = &p->addresses.list[0];
		if (!*first->host && !*first->hostaddr && PQhost(dry))
			(void)snprintf(first->host, sizeof(first->host), "%s", PQhost(dry));
		apply_sslmode_rule(p, p->conninfo, effective);
		p->gssencmode_written = is_written("gssencmode", p->conninfo, effective);
		p->keepalives_idle_written = *value_of(effective, "keepalives_idle");
		p->tcp_user_timeout_written = *value_of(effective, "tcp_user_timeout");
		p->replication_written = *value_of(effective, "replication");
		(void)snprintf(p->user, sizeof(p->user), "%s", value_of(effective, "user"));
		(void)snprintf(p->passfile, sizeof(p->passfile), "%s",
			       value_of(effective, "passfile"));
		p->login = options->login;
		rc = judge_login(p, options, error);
	}
	if (rc == WP_OK)
		rc = write_options(p, value_of(effective, "options"), error);
	PQconninfoFree(effective);
	return rc;
}

static enum wp_rc make(struct wp_connection_plan *p, const struct wp_postgres_options *options,
		       struct wp_error *error)
{
	enum wp_rc rc = take_values(p, options);
	if (rc != WP_OK)
		return wp_error_set(error, rc, "out of memory for a connection");
	struct wp_error wrong;
	rc = wp_conninfo_check(p->conninfo, &wrong);
	if (rc != WP_OK)
		return wp_error_set(error, rc, "postgres.conninfo: %s", wrong.text);
	PGconn *dry = dry_run(p->conninfo, "target_session_attrs", DRY_RUN);
	rc = failed_as_intended(dry) ? read_effective(p, options, dry, error) : refuse(dry, error);
	PQfinish(dry);
	return rc == WP_OK ? check_all(p, error) : rc;
}

enum wp_rc wp_connection_plan_init(struct wp_connection_plan *p,
				   const struct wp_postgres_options *options,
				   struct wp_error *error)
{
	*p = (struct wp_connection_plan){ 0 };
	wp_buffer_init(&p->options, LISTS_SIZE_MAX);
	enum wp_rc rc = make(p, options, error);
	if (rc != WP_OK)
		wp_connection_plan_release(p);
	return rc;
}

void wp_connection_plan_release(struct wp_connection_plan *p)
{
	wp_buffer_release(&p->options);
	free(p->conninfo);
	free(p->password);
	*p = (struct wp_connection_plan){ 0 };
}

struct parameters {
	size_t count;
	const char *keywords[24];
	const char *values[24];
};

static void set(struct parameters *p, const char *keyword, const char *value)
{
	assert(p->count + 1 < sizeof(p->keywords) / sizeof(p->keywords[0]));
	p->keywords[p->count] = keyword;
	p->values[p->count++] = value;
}

/* The same list is written three ways, each with a comma between; the structs' sizes give room
 * enough. */
struct lists {
	char host[WP_ADDRESSES_MAX * sizeof(((struct wp_address *)0)->host)];
	char hostaddr[WP_ADDRESSES_MAX * sizeof(((struct wp_address *)0)->hostaddr)];
	char port[WP_ADDRESSES_MAX * sizeof(((struct wp_address *)0)->port)];
};

static void join(struct lists *lists, const struct wp_addresses *a)
{
	size_t host = 0, hostaddr = 0, port = 0;
	for (size_t i = 0; i < a->count; i++) {
		const struct wp_address *from = &a->list[i];
		const char *comma = i ? "," : "";
		host += (size_t)snprintf(lists->host + host, sizeof(lists->host) - host, "%s%s",
					 comma, from->host);
		hostaddr += (size_t)snprintf(lists->hostaddr + hostaddr,
					     sizeof(lists->hostaddr) - hostaddr, "%s%s", comma,
					     from->hostaddr);
		port += (size_t)snprintf(lists->port + port, sizeof(lists->port) - port, "%s%s",
					 comma, from->port);
	}
}

PGconn *wp_connection_plan_start(const struct wp_connection_plan *p, enum wp_connection_kind kind,
				 const struct wp_addresses *addresses)
{
	struct lists *lists = calloc(1, sizeof(*lists));
	if (!lists)
		return NULL;
	join(lists, addresses);

	struct parameters with = { 0 };
	set(&with, "dbname", p->conninfo);
	if (*p->password)
		set(&with, "password", p->password);
	else if (p->passfile_ignored)
		set(&with, "passfile", WP_NO_PASSFILE);
	set(&with, "host", lists->host);
	set(&with, "hostaddr", lists->hostaddr);
	set(&with, "port", lists->port);
	set(&with, "sslmode", p->sslmode);
	/* Looking for a Kerberos ticket, libpq would ask servers while the loop waits. */
	if (!p->gssencmode_written)
		set(&with, "gssencmode", "disable");
	set(&with, "options", (const char *)p->options.data);
	set(&with, "client_encoding", "UTF8");
	set(&with, "fallback_application_name", "walpost");
	if (kind == WP_CONNECTION_REPLICATION)
		set(&with, "replication", "database");
	else if (p->replication_written)
		set(&with, "replication", "false");
	if (!p->keepalives_idle_written) {
		set(&with, "keepalives_idle", "30");
		set(&with, "keepalives_interval", "10");
		set(&with, "keepalives_count", "3");
	}
	if (!p->tcp_user_timeout_written)
		set(&with, "tcp_user_timeout", "30000");
	PGconn *pg = PQconnectStartParams(with.keywords, with.values, 1);
	free(lists);
	return pg;
}

static void append(char *to, size_t size, const char *text)
{
	size_t used = strlen(to);
	(void)snprintf(to + used, size - used, "%s",
		       text); /* cut when too long: for reading only */
}

enum wp_rc wp_connection_facts(const struct wp_postgres_options *options,
			       struct wp_connection_facts *ret, struct wp_error *error)
{
	struct wp_connection_plan p;
	enum wp_rc rc = wp_connection_plan_init(&p, options, error);
	if (rc != WP_OK)
		return rc;
	struct wp_connection_facts facts = { .sslmode_written = p.sslmode_written,
					     .local = p.local };
	for (size_t i = 0; i < p.addresses.count; i++) {
		const struct wp_address *a = &p.addresses.list[i];
		append(facts.hosts, sizeof(facts.hosts), i ? "," : "");
		append(facts.hosts, sizeof(facts.hosts), *a->host ? a->host : a->hostaddr);
		append(facts.hosts, sizeof(facts.hosts), *a->port ? ":" : "");
		append(facts.hosts, sizeof(facts.hosts), a->port);
	}
	(void)snprintf(facts.sslmode, sizeof(facts.sslmode), "%s", p.sslmode);
	*ret = facts;
	wp_connection_plan_release(&p);
	return WP_OK;
}
