#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "support/check.h"
#include "support/files.h"
#include "walpost/base/secret_file.h"
#include "walpost/postgres/connection_plan.h"

static const char *const variables[] = { "PGHOST",	 "PGHOSTADDR", "PGPORT",	"PGSSLMODE",
					 "PGSERVICE",	 "PGUSER",     "PGSERVICEFILE", "PGOPTIONS",
					 "PGREQUIRESSL", "PGDATABASE" };

static int set_up(void **state)
{
	for (size_t i = 0; i < sizeof(variables) / sizeof(variables[0]); i++)
		CHECK_EQ(unsetenv(variables[i]), 0);
	CHECK_EQ(setenv("PGSERVICEFILE", "/nowhere", 1), 0);
	return 0;
}

static struct wp_connection_plan plan;

static const struct wp_connection_plan *plan_of(const char *conninfo)
{
	struct wp_postgres_options options = { .conninfo = conninfo };
	struct wp_error error;
	wp_connection_plan_release(&plan);
	enum wp_rc rc = wp_connection_plan_init(&plan, &options, &error);
	if (rc != WP_OK)
		fail_msg("%s: %s", conninfo, error.text);
	return &plan;
}

static void check_refused(const char *conninfo, const char *part)
{
	struct wp_postgres_options options = { .conninfo = conninfo };
	struct wp_error error = { "" };
	wp_connection_plan_release(&plan);
	CHECK_EQ(wp_connection_plan_init(&plan, &options, &error), WP_CONFIG);
	CHECK_HAS(error.text, "postgres.conninfo");
	CHECK_HAS(error.text, part);
}

static void check_tls(const char *conninfo, const char *sslmode, bool forced)
{
	const struct wp_connection_plan *p = plan_of(conninfo);
	CHECK_TEXT(p->sslmode, sslmode);
	CHECK_EQ(p->tls_forced, forced);
}

static void write_services(char path[static 64], const char *text)
{
	(void)snprintf(path, 64, "%s", "/tmp/walpost-services.XXXXXX");
	int fd = mkstemp(path);
	CHECK(fd >= 0);
	CHECK_EQ(write(fd, text, strlen(text)), (ssize_t)strlen(text));
	CHECK_EQ(close(fd), 0);
	CHECK_EQ(setenv("PGSERVICEFILE", path, 1), 0);
}

static void a_host_that_is_not_local_gets_require(void **state)
{
	check_tls("host=db.example", "require", true);
	check_tls("host=10.1.2.3", "require", true);
	check_tls("host=2001:db8::1", "require", true);
	check_tls("postgresql://db.example:5433/relay", "require", true);
	check_tls("host=localhost,db.example", "require", true);
	check_tls("host=localhost hostaddr=10.1.2.3", "require", true);
	check_tls("host=127.0.0.1.example", "require", true);
	check_tls("host=128.0.0.1", "require", true);
}

static void a_local_host_stays_as_libpq_has_it(void **state)
{
	check_tls("", "prefer", false);
	check_tls("dbname=relay", "prefer", false);
	check_tls("host=/var/run/postgresql", "prefer", false);
	check_tls("host=@abstract", "prefer", false);
	check_tls("host=localhost", "prefer", false);
	check_tls("host=127.0.0.1", "prefer", false);
	check_tls("host=127.255.255.254", "prefer", false);
	check_tls("host=::1", "prefer", false);
	check_tls("host=db.example hostaddr=127.0.0.1", "prefer", false);
	check_tls("host=/tmp,localhost,::1", "prefer", false);
}

static void what_is_written_out_stays(void **state)
{
	check_tls("host=db.example sslmode=prefer", "prefer", false);
	check_tls("host=db.example sslmode=allow", "allow", false);
	check_tls("host=db.example sslmode=disable", "disable", false);
	check_tls("host=db.example sslmode=verify-full", "verify-full", false);
	check_tls("postgresql://db.example/relay?sslmode=prefer", "prefer", false);
	CHECK(plan.sslmode_written);
	CHECK_EQ(setenv("PGSSLMODE", "prefer", 1), 0);
	check_tls("host=db.example", "prefer", false);
	CHECK(plan.sslmode_written);
}

static void hosts_of_the_environment_count(void **state)
{
	CHECK_EQ(setenv("PGHOST", "db.example", 1), 0);
	CHECK_EQ(setenv("PGPORT", "5499", 1), 0);
	check_tls("dbname=relay", "require", true);
	CHECK_TEXT(plan.addresses.list[0].host, "db.example");
	CHECK_TEXT(plan.addresses.list[0].port, "5499");
}

static void hosts_and_sslmode_of_a_service_count(void **state)
{
	char path[64];
	write_services(path, "[one]\nhost=one.example\nport=5444\n"
			     "[two]\nhost=two.example\nsslmode=verify-ca\n");
	check_tls("service=one", "require", true);
	CHECK_TEXT(plan.addresses.list[0].host, "one.example");
	CHECK_TEXT(plan.addresses.list[0].port, "5444");
	check_tls("service=two", "verify-ca", false);
	check_tls("service=two host=localhost", "verify-ca", false);
	CHECK_EQ(setenv("PGSERVICE", "one", 1), 0);
	check_tls("", "require", true);
	check_refused("service=three", "three");
	CHECK_EQ(unlink(path), 0);
}

static void hosts_addresses_and_ports_are_told_apart(void **state)
{
	const struct wp_connection_plan *p =
		plan_of("host=a.example,/tmp,b.example hostaddr=10.0.0.1,,fe80::1%eth0 port=1,2,3");
	CHECK_EQ(p->addresses.count, 3);
	CHECK_TEXT(p->addresses.list[0].host, "a.example");
	CHECK_TEXT(p->addresses.list[0].hostaddr, "10.0.0.1");
	CHECK_TEXT(p->addresses.list[0].port, "1");
	CHECK_TEXT(p->addresses.list[1].host, "/tmp");
	CHECK_TEXT(p->addresses.list[1].hostaddr, "");
	CHECK_TEXT(p->addresses.list[2].hostaddr, "fe80::1%eth0");
	CHECK_TEXT(p->addresses.list[2].port, "3");
	p = plan_of("host=a.example,b.example port=7");
	CHECK_TEXT(p->addresses.list[0].port, "7");
	CHECK_TEXT(p->addresses.list[1].port, "7");
	p = plan_of("hostaddr=10.0.0.1,10.0.0.2");
	CHECK_EQ(p->addresses.count, 2);
	CHECK_TEXT(p->addresses.list[1].hostaddr, "10.0.0.2");
}

static void only_names_must_be_resolved(void **state)
{
	static const struct {
		struct wp_address address;
		bool is_name;
	} cases[] = {
		{ { .host = "db.example" }, true },
		{ { .host = "localhost" }, true },
		{ { .host = "10.1.2" }, true },
		{ { .host = "10.1.2.3" }, false },
		{ { .host = "::1" }, false },
		{ { .host = "fe80::1%eth0" }, false },
		{ { .host = "/tmp" }, false },
		{ { .host = "@x" }, false },
		{ { .host = "" }, false },
		{ { .host = "db.example", .hostaddr = "10.1.2.3" }, false },
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		CHECK_EQ(wp_address_is_name(&cases[i].address), cases[i].is_name);
}

static void without_a_host_it_is_libpqs_socket(void **state)
{
	const struct wp_connection_plan *p = plan_of("");
	CHECK_EQ(p->addresses.count, 1);
	CHECK_EQ(p->addresses.list[0].host[0], '/');
	CHECK(p->local);
}

static void what_libpq_does_not_take_is_refused_in_its_words(void **state)
{
	check_refused("relay", "withheld");
	check_refused("hots=x", "hots");
	check_refused("host=x sslmode=maybe", "maybe");
	check_refused("host=x port=nine", "not a number from 1 to 65535");
	check_refused("host=u:hush@x", "an @");
	check_refused("host=a,b port=1,2,3", "3 port numbers");
	check_refused("host=a,b hostaddr=10.0.0.1", "host names");
	check_refused("host=x target_session_attrs=mostly", "mostly");
	check_refused("postgresql://x:y:z/", "postgres");
	check_refused("service=nowhere", "nowhere");
}

static const char *hosts_of(char conninfo[static 1024], size_t count)
{
	size_t size = (size_t)snprintf(conninfo, 1024, "host=h");
	for (size_t i = 1; i < count; i++)
		size += (size_t)snprintf(conninfo + size, 1024 - size, ",h%zu", i);
	return conninfo;
}

static void hosts_are_bounded(void **state)
{
	char conninfo[1024];
	CHECK_EQ(plan_of(hosts_of(conninfo, WP_ADDRESSES_MAX))->addresses.count, WP_ADDRESSES_MAX);
	check_refused(hosts_of(conninfo, WP_ADDRESSES_MAX + 1), "at most 32");
}

static void names_are_bounded(void **state)
{
	char conninfo[512] = "host=";
	memset(conninfo + 5, 'a', 255);
	CHECK_EQ(strlen(plan_of(conninfo)->addresses.list[0].host), 255);
	conninfo[5 + 255] = 'a';
	check_refused(conninfo, "longer than 255 bytes");
}

static void the_users_options_are_kept_and_no_timeout_ends_the_first_statement(void **state)
{
	CHECK_TEXT((const char *)plan_of("options='-c datestyle=German -c x.y=1'")->options.data,
		   "-c datestyle=German -c x.y=1 -c statement_timeout=0 -c idle_session_timeout=0");
	CHECK_TEXT((const char *)plan_of("")->options.data,
		   "-c statement_timeout=0 -c idle_session_timeout=0");
}

static void options_are_bounded(void **state)
{
	enum { SIZE = 40000 };
	char *conninfo = malloc(SIZE);
	CHECK(conninfo);
	memset(conninfo, 'a', SIZE);
	memcpy(conninfo, "options=", 8);
	conninfo[SIZE - 1] = '\0';
	check_refused(conninfo, "options are longer");
	free(conninfo);
}

static void the_users_keepalives_are_noticed(void **state)
{
	CHECK(!plan_of("")->keepalives_idle_written);
	CHECK(!plan.tcp_user_timeout_written);
	CHECK(!plan.replication_written);
	CHECK(plan_of("keepalives_idle=5 tcp_user_timeout=1000 replication=true")
		      ->keepalives_idle_written);
	CHECK(plan.tcp_user_timeout_written);
	CHECK(plan.replication_written);
}

static void a_written_gssencmode_is_noticed(void **state)
{
	CHECK(!plan_of("")->gssencmode_written);
	CHECK(plan_of("gssencmode=prefer")->gssencmode_written);
	CHECK(plan_of("gssencmode=disable")->gssencmode_written);
	CHECK_EQ(setenv("PGGSSENCMODE", "prefer", 1), 0);
	CHECK(plan_of("")->gssencmode_written);
	CHECK_EQ(unsetenv("PGGSSENCMODE"), 0);
}

static void the_facts_for_people_name_hosts_and_tls(void **state)
{
	struct wp_postgres_options options = { .conninfo = "host=a.example,/tmp port=1,2" };
	struct wp_connection_facts facts;
	struct wp_error error;
	CHECK_EQ(wp_connection_facts(&options, &facts, &error), WP_OK);
	CHECK_TEXT(facts.hosts, "a.example:1,/tmp:2");
	CHECK_TEXT(facts.sslmode, "require");
	CHECK(!facts.sslmode_written);
	CHECK(!facts.local);
	options.conninfo = "relay";
	CHECK_EQ(wp_connection_facts(&options, &facts, &error), WP_CONFIG);
}

static void check_values(const struct wp_postgres_options *options, const char *conninfo,
			 const char *password)
{
	struct wp_error error;
	wp_connection_plan_release(&plan);
	CHECK_EQ(wp_connection_plan_init(&plan, options, &error), WP_OK);
	CHECK_TEXT(plan.conninfo, conninfo);
	CHECK_TEXT(plan.password, password);
}

static void what_stands_in_files_is_read_for_each_connection(void **state)
{
	char conninfo[] = "/tmp/walpost-conninfo-XXXXXX", password[] = "/tmp/walpost-pass-XXXXXX";
	struct wp_postgres_options options = { .conninfo = "host=then", .password = "then" };
	CHECK_EQ(close(mkstemp(conninfo)) + close(mkstemp(password)), 0);
	write_text(conninfo, "host=a\n");
	write_text(password, "old\n");
	CHECK_EQ(wp_secret_file_new(conninfo, &options.conninfo_file, NULL), WP_OK);
	CHECK_EQ(wp_secret_file_new(password, &options.password_file, NULL), WP_OK);
	check_values(&options, "host=a", "old");

	write_text(conninfo, "host=b,c");
	write_text(password, "new");
	check_values(&options, "host=b,c", "new");
	CHECK_EQ(plan.addresses.count, 2);

	write_text(conninfo, "host=b passw"); /* half of it */
	CHECK_EQ(unlink(password), 0);
	check_values(&options, "host=b,c", "new");
	check_values(&options, "host=b,c", "new");

	wp_secret_file_free(options.conninfo_file);
	wp_secret_file_free(options.password_file);
	CHECK_EQ(unlink(conninfo), 0);
}

int main(void)
{
	int failed = RUN(
		FRESH(a_host_that_is_not_local_gets_require),
		FRESH(a_local_host_stays_as_libpq_has_it), FRESH(what_is_written_out_stays),
		FRESH(hosts_of_the_environment_count), FRESH(hosts_and_sslmode_of_a_service_count),
		FRESH(hosts_addresses_and_ports_are_told_apart), FRESH(only_names_must_be_resolved),
		FRESH(without_a_host_it_is_libpqs_socket),
		FRESH(what_libpq_does_not_take_is_refused_in_its_words), FRESH(hosts_are_bounded),
		FRESH(names_are_bounded),
		FRESH(the_users_options_are_kept_and_no_timeout_ends_the_first_statement),
		FRESH(options_are_bounded), FRESH(the_users_keepalives_are_noticed),
		FRESH(a_written_gssencmode_is_noticed),
		FRESH(the_facts_for_people_name_hosts_and_tls),
		FRESH(what_stands_in_files_is_read_for_each_connection));
	wp_connection_plan_release(&plan);
	return failed;
}
