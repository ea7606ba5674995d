/* Judges what differs from provider to provider: how settings are changed and rights given. */
#include <stdio.h>

#include "preflight_judge.h"
#include "walpost/postgres/provider.h"

/* -- cures ------------------------------------------------------------------------- */

static void add_setting(struct judge *j, const char *name, const char *value, enum wp_apply apply)
{
	const struct wp_provider_facts *facts = wp_provider_facts(j->ret->provider);

	wp_sql_add(&j->cure, facts->setting, name, value);
	if (apply == WP_APPLY_RESTART)
		wp_sql_add(&j->cure, "%s", facts->restart);
	else if (j->ret->provider == WP_PROVIDER_NONE)
		wp_sql_add(&j->cure, " SELECT pg_reload_conf();");
}

/* ALTER SYSTEM takes a number as it is, all else in quotes. */
void wp_judge_cure_setting(struct judge *j, const char *name, const char *value, const char *plain,
			   enum wp_apply apply)
{
	char quoted[64];

	if (wp_provider_facts(j->ret->provider)->plain_units)
		value = plain;
	(void)snprintf(quoted, sizeof(quoted), "'%s'", value);
	bool quotes =
		j->ret->provider == WP_PROVIDER_NONE && value[strspn(value, "0123456789")] != '\0';
	add_setting(j, name, quotes ? quoted : value, apply);
}

void wp_judge_cure_list(struct judge *j, const char *name, const char *list)
{
	const char *whole = wp_provider_facts(j->ret->provider)->standby_slots;

	if (whole != NULL && !strcmp(name, "synchronized_standby_slots"))
		wp_sql_add(&j->cure, "%s", whole);
	else
		add_setting(j, name, list, WP_APPLY_RELOAD);
}

/* -- findings ---------------------------------------------------------------------- */

static void judge_pooler(struct judge *j)
{
	char cure[512];
	const struct wp_provider_address address = {
		.host = PQhost(j->pg),
		.port = PQport(j->pg),
		.user = PQuser(j->pg),
	};

	if (!wp_provider_is_pooler(&address, cure, sizeof(cure)))
		return;
	wp_sql_add(&j->cure, "%s", cure);
	FOUND_WARN(j, "pooler",
		   "%s, port %s, is a connection pooler of %s, which does not support "
		   "replication: connect to the server itself",
		   address.host, address.port, wp_provider_facts(j->ret->provider)->name);
}

/* Warns of what a provider does to a slot by its own rules. */
static void judge_slots_there(struct judge *j)
{
	if (j->ret->provider != WP_PROVIDER_NEON)
		return;
	wp_sql_add(&j->cure,
		   "-- keep a relay running, with a second one as standby; walpost status "
		   "and the metrics show when none reads the slot");
	FOUND_WARN(j, "provider_slots",
		   "Neon removes a slot that has not been read for about 40 hours while another "
		   "slot is in use, and all slots when a branch is restored: events that were "
		   "committed meanwhile are not relayed (walpost backfill --missing sends them)");
}

void wp_judge_provider(struct judge *j)
{
	enum wp_provider provider = j->ret->provider;

	if (provider == WP_PROVIDER_NONE)
		return;
	FOUND_OK(j, "provider", "the server is run by %s: the SQL and settings below are for it",
		 wp_provider_facts(provider)->name);
	judge_pooler(j);
	judge_slots_there(j);
}

/*
 * In PostgreSQL 19, with wal_level = replica, the first logical slot raises effective_wal_level to
 * logical, and the last one that is dropped lowers it again.
 */
void wp_judge_wal_level(struct judge *j)
{
	bool rises = !answer_null(j, A_WAL_LEVEL_EFFECTIVE);
	const char *level = answer_text(j, rises ? A_WAL_LEVEL_EFFECTIVE : A_WAL_LEVEL);

	if (!strcmp(level, "logical")) {
		FOUND_OK(j, "wal_level", "logical");
		return;
	}
	if (rises && answer_is(j, A_WAL_LEVEL, "replica") && answer_null(j, A_SLOT_TYPE)) {
		FOUND_OK(j, "wal_level", "replica; the server raises it to logical with the slot");
		return;
	}
	wp_sql_add(&j->cure, "%s", wp_provider_facts(j->ret->provider)->logical);
	FOUND_WRONG(j, "wal_level",
		    "wal_level is %s: the WAL contains no rows to relay; restart the server after "
		    "the change",
		    level);
}

void wp_judge_role(struct judge *j)
{
	const char *role = answer_text(j, A_ROLE);
	if (answer_yes(j, A_ROLE_MAY) || answer_yes(j, A_ROLE_CLOUD)) {
		FOUND_OK(j, "role", "%s may replicate", role);
		return;
	}
	wp_sql_add(&j->cure, wp_provider_facts(j->ret->provider)->role, role);
	FOUND_WRONG(j, "role", "role %s lacks REPLICATION, which is required to read a slot", role);
}
