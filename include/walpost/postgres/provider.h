/*
 * Whose server is this? A provider takes away superuser and ALTER SYSTEM and gives something of
 * its own in their place, so that a cure for one server is an error on another. Known by what only
 * its servers have (roles, settings, functions, sessions), else by the host name.
 *
 * The facts, by provider, are from its documentation as of November 2026:
 *   RDS          docs.aws.amazon.com/AmazonRDS/latest/UserGuide/PostgreSQL.Concepts.General.FeatureSupport.LogicalReplication.html
 *   Aurora       docs.aws.amazon.com/AmazonRDS/latest/AuroraUserGuide/AuroraPostgreSQL.Replication.Logical.Configure.html
 *   Cloud SQL    cloud.google.com/sql/docs/postgres/replication/configure-logical-replication
 *   AlloyDB      cloud.google.com/alloydb/docs/reference/database-flags
 *   Azure        learn.microsoft.com/azure/postgresql/flexible-server/concepts-logical
 *   Supabase     supabase.com/docs/guides/database/replication/manual-replication-faq
 *   Neon         neon.com/docs/guides/logical-replication-neon
 *   Crunchy      docs.crunchybridge.com/how-to/logical-replication
 *   Aiven        aiven.io/docs/products/postgresql/howto/setup-logical-replication
 *   CloudNativePG  cloudnative-pg.io/documentation/current/postgresql_conf
 *   Patroni      patroni.readthedocs.io/en/latest/dynamic_configuration.html
 *
 * Owns nothing. Pure.
 */
#ifndef WALPOST_POSTGRES_PROVIDER_H
#define WALPOST_POSTGRES_PROVIDER_H

#include <stdbool.h>
#include <stddef.h>

enum wp_provider {
	WP_PROVIDER_NONE, /* none that is known: the server is the user's own */
	WP_PROVIDER_RDS,
	WP_PROVIDER_AURORA,
	WP_PROVIDER_CLOUD_SQL,
	WP_PROVIDER_ALLOYDB,
	WP_PROVIDER_AZURE,
	WP_PROVIDER_SUPABASE,
	WP_PROVIDER_NEON,
	WP_PROVIDER_CRUNCHY,
	WP_PROVIDER_AIVEN,
	WP_PROVIDER_CNPG,
	WP_PROVIDER_PATRONI,
	WP_PROVIDER_COUNT
};

/* Says how a setting is changed there, in templates for wp_sql_add(). */
struct wp_provider_facts {
	const char *name;
	/* The first %s is the setting, the second its value. Each is one comment or command. */
	const char *setting;
	const char *restart; /* follows `setting` where only a restart applies it; "": it is done */
	bool plain_units; /* values there are numbers in the setting's base unit: 61440, not 60GB */
	const char *logical;	   /* the whole cure of a wal_level that is not logical */
	const char *role;	   /* %I the role that is to read slots */
	const char *standby_slots; /* of synchronized_standby_slots, whole; NULL: as any setting */
};

/* The signs that wp_provider_find() reads, with blanks between: one SQL expression. */
extern const char wp_provider_signs_sql[];

/* `host` of the connection and `signs` of the server may be NULL. What the server says counts more. */
enum wp_provider wp_provider_find(const char *host, const char *signs);
/* WP_PROVIDER_NONE has ALTER SYSTEM. */
const struct wp_provider_facts *wp_provider_facts(enum wp_provider provider);

/* libpq connects to this; each may be NULL. */
struct wp_provider_address {
	const char *host;
	const char *port;
	const char *user;
};

/*
 * Does the host name, or a port of it, belong to a connection pooler, which does not pass replication? The
 * cure is then in `cure`.
 */
bool wp_provider_is_pooler(const struct wp_provider_address *address, char *cure, size_t size);
/*
 * Returns the cure where nobody answers, for a host name of which it is known why; else NULL. The first of
 * host[:port][,...] counts.
 */
const char *wp_provider_unreachable(const char *hosts);

#endif
