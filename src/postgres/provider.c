#include "walpost/postgres/provider.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "walpost/base/host_name.h"

/*
 * Everybody sees all roles in pg_roles, all names of functions in pg_proc, and the application
 * names of all sessions in pg_stat_activity. A setting is asked for by name: pg_settings leaves out
 * the ones that no module has defined.
 */
const char wp_provider_signs_sql[] =
	"(SELECT string_agg(sign, ' ') FROM (\n"
	"  SELECT 'role:' || rolname FROM pg_roles WHERE rolname IN ('rds_replication', "
	"'cloudsqlsuperuser',\n"
	"    'alloydbsuperuser', 'azure_pg_admin', 'supabase_admin', 'neon_superuser', "
	"'avnadmin')\n"
	"  UNION ALL SELECT 'setting:' || name FROM unnest(ARRAY['rds.logical_replication',\n"
	"    'cloudsql.logical_decoding', 'alloydb.logical_decoding', 'azure.extensions', "
	"'neon.timeline_id'])\n"
	"    name WHERE current_setting(name, true) IS NOT NULL\n"
	"  UNION ALL SELECT 'function:aurora_version' WHERE EXISTS (SELECT FROM pg_proc\n"
	"    WHERE proname = 'aurora_version')\n"
	"  UNION ALL SELECT 'files:cnpg' WHERE starts_with(current_setting('ssl_cert_file'), "
	"'/controller/')\n"
	"  UNION ALL SELECT 'session:patroni' WHERE EXISTS (SELECT FROM pg_stat_activity\n"
	"    WHERE application_name LIKE 'Patroni%')\n"
	") signs (sign))";

/* The first sign that is found decides: Aurora has all that RDS has, and AlloyDB some of Cloud
 * SQL's. */
static const struct {
	const char *sign;
	enum wp_provider provider;
} signs_known[] = {
	{ "function:aurora_version", WP_PROVIDER_AURORA },
	{ "role:rds_replication", WP_PROVIDER_RDS },
	{ "setting:rds.logical_replication", WP_PROVIDER_RDS },
	{ "role:alloydbsuperuser", WP_PROVIDER_ALLOYDB },
	{ "setting:alloydb.logical_decoding", WP_PROVIDER_ALLOYDB },
	{ "role:cloudsqlsuperuser", WP_PROVIDER_CLOUD_SQL },
	{ "setting:cloudsql.logical_decoding", WP_PROVIDER_CLOUD_SQL },
	{ "role:azure_pg_admin", WP_PROVIDER_AZURE },
	{ "setting:azure.extensions", WP_PROVIDER_AZURE },
	{ "role:supabase_admin", WP_PROVIDER_SUPABASE },
	{ "role:neon_superuser", WP_PROVIDER_NEON },
	{ "setting:neon.timeline_id", WP_PROVIDER_NEON },
	{ "role:avnadmin", WP_PROVIDER_AIVEN },
	{ "files:cnpg", WP_PROVIDER_CNPG },
	{ "session:patroni", WP_PROVIDER_PATRONI },
};

/* A host name ends with `end` and holds `within`; "" is held by each. */
static const struct {
	const char *end;
	const char *within;
	enum wp_provider provider;
} hosts_known[] = {
	{ ".rds.amazonaws.com", ".cluster-", WP_PROVIDER_AURORA },
	{ ".amazonaws.com.cn", ".cluster-", WP_PROVIDER_AURORA },
	{ ".rds.amazonaws.com", "", WP_PROVIDER_RDS },
	{ ".amazonaws.com.cn", ".rds.cn-", WP_PROVIDER_RDS },
	{ ".sql.goog", "", WP_PROVIDER_CLOUD_SQL },
	{ ".alloydb.goog", "", WP_PROVIDER_ALLOYDB },
	{ ".postgres.database.azure.com", "", WP_PROVIDER_AZURE },
	{ ".postgres.database.chinacloudapi.cn", "", WP_PROVIDER_AZURE },
	{ ".postgres.database.usgovcloudapi.net", "", WP_PROVIDER_AZURE },
	{ ".supabase.co", "", WP_PROVIDER_SUPABASE },
	{ ".pooler.supabase.com", "", WP_PROVIDER_SUPABASE },
	{ ".neon.tech", "", WP_PROVIDER_NEON },
	{ ".postgresbridge.com", "", WP_PROVIDER_CRUNCHY },
	{ ".aivencloud.com", "", WP_PROVIDER_AIVEN },
};

#define ALTER_ROLE "ALTER ROLE %I WITH REPLICATION;"

static const struct wp_provider_facts facts_known[WP_PROVIDER_COUNT] = {
	[WP_PROVIDER_NONE] = {
		.name = "",
		.setting = "ALTER SYSTEM SET %s = %s;",
		.restart = "",
		.logical = "ALTER SYSTEM SET wal_level = 'logical';",
		.role = "ALTER ROLE %I REPLICATION;",
	},
	[WP_PROVIDER_RDS] = {
		.name = "Amazon RDS",
		.setting = "-- in the DB parameter group of the instance (one of your own; the "
			   "default group cannot be changed): %s = %s",
		.restart = "\n-- then reboot the instance",
		.plain_units = true,
		.logical = "-- in the DB parameter group of the instance (one of your own; the "
			   "default group cannot be changed): rds.logical_replication = 1\n"
			   "-- then reboot the instance",
		.role = "GRANT rds_replication TO %I;",
	},
	[WP_PROVIDER_AURORA] = {
		.name = "Amazon Aurora",
		.setting = "-- in the DB cluster parameter group (one of your own; the default "
			   "group cannot be changed): %s = %s",
		.restart = "\n-- then reboot the writer instance",
		.plain_units = true,
		.logical = "-- in the DB cluster parameter group (one of your own; the default "
			   "group cannot be changed): rds.logical_replication = 1\n"
			   "-- then reboot the writer instance",
		.role = "GRANT rds_replication TO %I;",
	},
	[WP_PROVIDER_CLOUD_SQL] = {
		.name = "Google Cloud SQL",
		.setting = "-- add the flag %s=%s to the instance (gcloud sql instances patch "
			   "INSTANCE --database-flags=... replaces all flags: name the others too)",
		.restart = "\n-- the instance restarts by itself",
		.plain_units = true,
		.logical = "-- add the flag cloudsql.logical_decoding=on to the instance (gcloud "
			   "sql instances patch INSTANCE --database-flags=... replaces all flags: "
			   "name the others too)\n"
			   "-- the instance restarts by itself",
		.role = "-- as a user with the role cloudsqlsuperuser, such as postgres:\n"
			"ALTER USER %I WITH REPLICATION;",
	},
	[WP_PROVIDER_ALLOYDB] = {
		.name = "Google AlloyDB",
		.setting = "-- add the flag %s=%s to the primary instance (gcloud alloydb "
			   "instances update INSTANCE --database-flags=... replaces all flags: "
			   "name the others too)",
		.restart = "\n-- the instance restarts by itself",
		.plain_units = true,
		.logical = "-- add the flag alloydb.logical_decoding=on to the primary instance "
			   "(gcloud alloydb instances update INSTANCE --database-flags=... "
			   "replaces all flags: name the others too)\n"
			   "-- the instance restarts by itself",
		.role = "-- as a user with the role alloydbsuperuser, such as postgres:\n"
			"ALTER USER %I WITH REPLICATION;",
	},
	[WP_PROVIDER_AZURE] = {
		.name = "Azure Database for PostgreSQL",
		.setting = "-- in Server parameters: az postgres flexible-server parameter set "
			   "--resource-group GROUP --server-name SERVER --name %s --value %s",
		.restart = "\n-- then: az postgres flexible-server restart --resource-group GROUP "
			   "--name SERVER",
		.plain_units = true,
		.logical = "-- in Server parameters: az postgres flexible-server parameter set "
			   "--resource-group GROUP --server-name SERVER --name wal_level --value "
			   "logical\n"
			   "-- then: az postgres flexible-server restart --resource-group GROUP "
			   "--name SERVER",
		.role = "-- as the administrator of the server:\n" ALTER_ROLE,
	},
	[WP_PROVIDER_SUPABASE] = {
		.name = "Supabase",
		.setting = "-- supabase --experimental --project-ref PROJECT postgres-config "
			   "update --config %s=%s",
		.restart = "",
		.logical = "-- Supabase sets wal_level to logical: restore it with supabase "
			   "--experimental --project-ref PROJECT postgres-config update --config "
			   "wal_level=logical",
		.role = "-- as the role postgres:\n" ALTER_ROLE,
	},
	[WP_PROVIDER_NEON] = {
		.name = "Neon",
		.setting = "-- %s = %s: Neon's support can change it",
		.restart = "",
		.logical = "-- in the Neon console: Settings, Logical Replication, Enable (it cannot be "
			   "disabled again, and all computes restart)",
		.role = "-- as a role that was created in the Neon console, by its API or CLI:\n"
			ALTER_ROLE,
	},
	[WP_PROVIDER_CRUNCHY] = {
		.name = "Crunchy Bridge",
		.setting = "-- cb config-param set --cluster CLUSTER %s=%s",
		.restart = "\n-- then: cb restart CLUSTER",
		.logical = "-- cb config-param set --cluster CLUSTER wal_level=logical\n"
			   "-- then: cb restart CLUSTER",
		.role = "-- as the role postgres:\n" ALTER_ROLE,
	},
	[WP_PROVIDER_AIVEN] = {
		.name = "Aiven",
		.setting = "-- in the service's advanced configuration: avn service update SERVICE "
			   "-c pg.%s=%s",
		.restart = "",
		.plain_units = true,
		.logical = "-- Aiven sets wal_level to logical: ask its support",
		.role = "-- as the role avnadmin:\n" ALTER_ROLE,
	},
	[WP_PROVIDER_CNPG] = {
		.name = "CloudNativePG",
		.setting = "-- in the Cluster resource, under spec.postgresql.parameters: %s: "
			   "\"%s\"",
		.restart = "\n-- the operator restarts the instances",
		.logical = "-- in the Cluster resource, under spec.postgresql.parameters: "
			   "wal_level: \"logical\"\n"
			   "-- the operator restarts the instances",
		.standby_slots = "-- in the Cluster resource: "
				 "spec.replicationSlots.highAvailability."
				 "synchronizeLogicalDecoding: true; the operator then keeps "
				 "synchronized_standby_slots",
		.role = "-- in the Cluster resource, at its entry under spec.managed.roles: replication: true; or, as the role postgres:\n" ALTER_ROLE,
	},
	[WP_PROVIDER_PATRONI] = {
		.name = "Patroni",
		.setting = "-- patronictl edit-config CLUSTER --pg %s=%s",
		.restart = "\n-- then: patronictl restart CLUSTER",
		.standby_slots = "-- by an on_role_change callback of Patroni, set "
				 "synchronized_standby_slots to the slots of the other members "
				 "(the configuration that all members share would name the "
				 "primary's own slot, too)",
		.logical = "-- patronictl edit-config CLUSTER --pg wal_level=logical\n"
			   "-- then: patronictl restart CLUSTER",
		.role = "ALTER ROLE %I REPLICATION;",
	},
};

#define COUNT_OF(array_) (sizeof(array_) / sizeof((array_)[0]))

/* Only the first of host[:port][,...] counts. */
static size_t host_size(const char *host)
{
	return strcspn(host, ",:");
}

/* The sign must be a whole word of the list. */
static bool has_sign(const char *signs, const char *sign)
{
	size_t size = strlen(sign);

	for (const char *at = signs; (at = strstr(at, sign)) != NULL; at += size)
		if ((at == signs || at[-1] == ' ') && (at[size] == ' ' || at[size] == '\0'))
			return true;
	return false;
}

enum wp_provider wp_provider_find(const char *host, const char *signs)
{
	for (size_t i = 0; signs != NULL && i < COUNT_OF(signs_known); i++)
		if (has_sign(signs, signs_known[i].sign))
			return signs_known[i].provider;
	for (size_t i = 0; host != NULL && i < COUNT_OF(hosts_known); i++)
		if (wp_host_ends_with(host, host_size(host), hosts_known[i].end) &&
		    wp_host_holds(host, host_size(host), hosts_known[i].within))
			return hosts_known[i].provider;
	return WP_PROVIDER_NONE;
}

const struct wp_provider_facts *wp_provider_facts(enum wp_provider provider)
{
	assert(provider >= WP_PROVIDER_NONE && provider < WP_PROVIDER_COUNT);
	return &facts_known[provider];
}

/* Neon's pooler has the name of the server with -pooler behind its first part. */
static void cure_neon(const char *host, char *cure, size_t size)
{
	const char *at = strstr(host, "-pooler.");

	(void)snprintf(cure, size, "-- in postgres.conninfo: host=%.*s%s", (int)(at - host), host,
		       at + strlen("-pooler"));
}

/* The user of Supabase's pooler is the role and the project: postgres.abcdefghijkl. */
static void cure_supabase(const char *user, char *cure, size_t size)
{
	const char *project = user == NULL ? NULL : strchr(user, '.');

	if (project == NULL)
		(void)snprintf(cure, size,
			       "-- in postgres.conninfo: host=db.PROJECT.supabase.co "
			       "port=5432");
	else
		(void)snprintf(cure, size,
			       "-- in postgres.conninfo: host=db.%s.supabase.co port=5432 "
			       "user=%.*s",
			       project + 1, (int)(project - user), user);
}

/* There PgBouncer runs on the server's own host. */
static const struct {
	const char *end;
	const char *port;
} pooler_ports[] = {
	{ ".supabase.co", "6543" },
	{ ".postgres.database.azure.com", "6432" },
	{ ".postgres.database.chinacloudapi.cn", "6432" },
	{ ".postgres.database.usgovcloudapi.net", "6432" },
	{ ".postgresbridge.com", "5431" },
};

static bool is_pooler_port(const char *host, const char *port)
{
	for (size_t i = 0; port != NULL && i < COUNT_OF(pooler_ports); i++)
		if (wp_host_ends_with(host, host_size(host), pooler_ports[i].end) &&
		    strcmp(port, pooler_ports[i].port) == 0)
			return true;
	return false;
}

static bool is_rds_proxy(const char *host)
{
	size_t size = host_size(host);

	return wp_host_holds(host, size, ".proxy-") &&
	       (wp_host_ends_with(host, size, ".rds.amazonaws.com") ||
		wp_host_ends_with(host, size, ".amazonaws.com.cn"));
}

bool wp_provider_is_pooler(const struct wp_provider_address *address, char *cure, size_t size)
{
	const char *host = address->host;

	if (host == NULL)
		return false;
	if (wp_host_ends_with(host, host_size(host), ".pooler.supabase.com"))
		cure_supabase(address->user, cure, size);
	else if (wp_host_ends_with(host, host_size(host), ".neon.tech") &&
		 strstr(host, "-pooler.") != NULL)
		cure_neon(host, cure, size);
	else if (is_rds_proxy(host))
		(void)snprintf(cure, size,
			       "-- in postgres.conninfo: host=the endpoint of the instance or of "
			       "the cluster, not of RDS Proxy");
	else if (is_pooler_port(host, address->port))
		(void)snprintf(cure, size, "-- in postgres.conninfo: port=5432");
	else
		return false;
	return true;
}

const char *wp_provider_unreachable(const char *hosts)
{
	if (wp_host_ends_with(hosts, host_size(hosts), ".supabase.co"))
		return "-- see postgres.conninfo; db.PROJECT.supabase.co has an IPv6 address only: "
		       "give this machine IPv6, or the project the IPv4 add-on (a pooler does not "
		       "do)";
	return NULL;
}
