#include "support/check.h"

#include <string.h>

#include "walpost/postgres/provider.h"

static void a_host_name_tells(void **state)
{
	static const struct {
		const char *host;
		enum wp_provider provider;
	} cases[] = {
		{ "shop.abc123.eu-west-1.rds.amazonaws.com", WP_PROVIDER_RDS },
		{ "shop.abc123.rds.cn-north-1.amazonaws.com.cn", WP_PROVIDER_RDS },
		{ "shop.cluster-abc123.eu-west-1.rds.amazonaws.com", WP_PROVIDER_AURORA },
		{ "shop.cluster-ro-abc123.eu-west-1.rds.amazonaws.com", WP_PROVIDER_AURORA },
		{ "1a2b.3c4d.europe-west1.sql.goog.", WP_PROVIDER_CLOUD_SQL },
		{ "SHOP.Postgres.Database.Azure.com", WP_PROVIDER_AZURE },
		{ "db.abcdefghijkl.supabase.co", WP_PROVIDER_SUPABASE },
		{ "aws-0-eu-west-1.pooler.supabase.com", WP_PROVIDER_SUPABASE },
		{ "ep-cool-darkness-123456.us-east-2.aws.neon.tech", WP_PROVIDER_NEON },
		{ "ep-cool-darkness-123456-pooler.us-east-2.aws.neon.tech", WP_PROVIDER_NEON },
		{ "p.abcd.db.postgresbridge.com", WP_PROVIDER_CRUNCHY },
		{ "shop-project.a.aivencloud.com", WP_PROVIDER_AIVEN },
		{ "shop.abc123.eu-west-1.rds.amazonaws.com,other", WP_PROVIDER_RDS },
		{ "rds.amazonaws.com", WP_PROVIDER_NONE },
		{ "neon.tech.example.com", WP_PROVIDER_NONE },
		{ "localhost", WP_PROVIDER_NONE },
		{ "/var/run/postgresql", WP_PROVIDER_NONE },
		{ "", WP_PROVIDER_NONE },
		{ NULL, WP_PROVIDER_NONE },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		CHECK_EQ(wp_provider_find(cases[i].host, ""), cases[i].provider);
}

static void the_server_tells_more_than_the_name(void **state)
{
	static const struct {
		const char *signs;
		enum wp_provider provider;
	} cases[] = {
		{ "role:rds_replication setting:rds.logical_replication", WP_PROVIDER_RDS },
		{ "setting:rds.logical_replication", WP_PROVIDER_RDS },
		{ "role:rds_replication function:aurora_version", WP_PROVIDER_AURORA },
		{ "role:cloudsqlsuperuser", WP_PROVIDER_CLOUD_SQL },
		{ "role:cloudsqlsuperuser role:alloydbsuperuser", WP_PROVIDER_ALLOYDB },
		{ "setting:azure.extensions", WP_PROVIDER_AZURE },
		{ "role:azure_pg_admin", WP_PROVIDER_AZURE },
		{ "role:supabase_admin", WP_PROVIDER_SUPABASE },
		{ "role:neon_superuser", WP_PROVIDER_NEON },
		{ "role:avnadmin", WP_PROVIDER_AIVEN },
		{ "files:cnpg", WP_PROVIDER_CNPG },
		{ "session:patroni", WP_PROVIDER_PATRONI },
		{ "files:cnpg session:patroni", WP_PROVIDER_CNPG },
		{ "role:neon_superusers", WP_PROVIDER_NONE },
		{ "", WP_PROVIDER_NONE },
		{ NULL, WP_PROVIDER_NONE },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		CHECK_EQ(wp_provider_find("10.0.0.1", cases[i].signs), cases[i].provider);
	CHECK_EQ(wp_provider_find("x.neon.tech", "role:rds_replication"), WP_PROVIDER_RDS);
}

static void every_provider_says_how(void **state)
{
	for (int p = WP_PROVIDER_NONE; p < WP_PROVIDER_COUNT; p++) {
		const struct wp_provider_facts *facts = wp_provider_facts((enum wp_provider)p);
		const char *first = strstr(facts->setting, "%s");

		assert_non_null(first);
		assert_non_null(strstr(first + 2, "%s"));
		CHECK_HAS(facts->role, "%I");
		CHECK_EQ(facts->name[0] == '\0', p == WP_PROVIDER_NONE);
		assert_non_null(facts->restart);
		CHECK(strlen(facts->logical) > 0);
		assert_null(strchr(facts->logical, '%'));
	}
}

static bool is_pooler(const char *host, const char *port, const char *user, char cure[512])
{
	struct wp_provider_address address = { .host = host, .port = port, .user = user };

	return wp_provider_is_pooler(&address, cure, 512);
}

static void check_pooler(const char *host, const char *port, const char *user, const char *wanted)
{
	char cure[512];

	CHECK(is_pooler(host, port, user, cure));
	CHECK_TEXT(cure, wanted);
}

static void a_poolers_name_leads_to_the_server(void **state)
{
	char cure[512];

	check_pooler("ep-cool-1-pooler.us-east-2.aws.neon.tech", "5432", "neondb_owner",
		     "-- in postgres.conninfo: host=ep-cool-1.us-east-2.aws.neon.tech");
	check_pooler("aws-0-eu-west-1.pooler.supabase.com", "5432", "relay.abcdefghijkl",
		     "-- in postgres.conninfo: host=db.abcdefghijkl.supabase.co port=5432 "
		     "user=relay");
	check_pooler("aws-0-eu-west-1.pooler.supabase.com", "6543", "relay",
		     "-- in postgres.conninfo: host=db.PROJECT.supabase.co port=5432");
	check_pooler("aws-0-eu-west-1.pooler.supabase.com", NULL, NULL,
		     "-- in postgres.conninfo: host=db.PROJECT.supabase.co port=5432");
	check_pooler("shop.proxy-abc.eu-west-1.rds.amazonaws.com", "5432", "relay",
		     "-- in postgres.conninfo: host=the endpoint of the instance or of the "
		     "cluster, not of RDS Proxy");
	CHECK(!is_pooler("ep-cool-1.us-east-2.aws.neon.tech", "5432", "a", cure));
	CHECK(!is_pooler("db.abc.supabase.co", "5432", "a", cure));
	CHECK(!is_pooler("a-pooler.example.com", "5432", "a", cure));
	CHECK(!is_pooler(NULL, NULL, NULL, cure));
}

static void a_poolers_port_leads_to_the_server(void **state)
{
	char cure[512];

	check_pooler("db.abc.supabase.co", "6543", "a", "-- in postgres.conninfo: port=5432");
	check_pooler("shop.postgres.database.azure.com", "6432", "a",
		     "-- in postgres.conninfo: port=5432");
	check_pooler("p.abc.db.postgresbridge.com", "5431", "a",
		     "-- in postgres.conninfo: port=5432");
	CHECK(!is_pooler("shop.postgres.database.azure.com", "5432", "a", cure));
	CHECK(!is_pooler("db.example.com", "6432", "a", cure));
	CHECK(!is_pooler("shop.postgres.database.azure.com", NULL, "a", cure));
}

static void a_host_with_ipv6_only_is_told(void **state)
{
	CHECK_HAS(wp_provider_unreachable("db.abcdefghijkl.supabase.co"), "IPv6 address only");
	CHECK_HAS(wp_provider_unreachable("db.abcdefghijkl.supabase.co:5432,b"), "IPv4 add-on");
	assert_null(wp_provider_unreachable("localhost:5432,db.abc.supabase.co"));
	assert_null(wp_provider_unreachable("::1"));
	assert_null(wp_provider_unreachable("localhost"));
	assert_null(wp_provider_unreachable(""));
}

int main(void)
{
	return RUN(PLAIN(a_host_name_tells), PLAIN(the_server_tells_more_than_the_name),
		   PLAIN(every_provider_says_how), PLAIN(a_poolers_name_leads_to_the_server),
		   PLAIN(a_poolers_port_leads_to_the_server), PLAIN(a_host_with_ipv6_only_is_told));
}
