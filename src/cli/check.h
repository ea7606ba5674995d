/*
 * Here is what the files of `walpost check` share. The command (check.c) asks Postgres
 * (check_postgres.c, check_decoding.c, check_holds.c, check_parked.c, check_scheduled.c,
 * check_cleanup.c, check_types.c, check_servers.c), then Kafka;
 * check_schemas.c asks a schema registry.
 */
#ifndef WALPOST_SRC_CLI_CHECK_H
#define WALPOST_SRC_CLI_CHECK_H

#include "walpost/cli/session.h"
#include "walpost/config/config.h"
#include "walpost/kafka_inspect/preflight.h"
#include "walpost/outbox/route.h"
#include "walpost/postgres_preflight/preflight.h"
#include "walpost/postgres_preflight/publication.h"
#include "walpost/postgres/sql.h"
#include "walpost/run/requirements.h"
#include "walpost/sink/topic_ends.h"

enum { WP_CHECK_TOPICS_MAX = 256 };

/* The slot holds events for this topic. */
struct wp_check_held {
	char topic[WP_TOPIC_SIZE];
	struct wp_topic_largest largest;
};

struct wp_check {
	struct wp_config config;
	struct wp_requirements_outboxes wanted;
	struct wp_console console;
	struct wp_preflight found;
	struct wp_topic_list topics; /* that took events, as the slot checkpoint names them */
	struct wp_check_held held[WP_CHECK_TOPICS_MAX];
	size_t held_count; /* what has no room is left out */
};

/* Checks all that the server tells. It comes first, because it begins the list of findings anew. */
void wp_check_postgres(struct wp_check *c);
/* A publication is younger than some of what the slot holds: can that be decoded? */
void wp_check_decoding(struct wp_check *c, struct wp_session *session);
/* Nobody reads the slot: is there a row in it at which a relay would stop? */
void wp_check_holds(struct wp_check *c);
/* Can events be parked, and is one parked already? */
void wp_check_parked(struct wp_check *c, struct wp_session *session);
/* Can events be sent later, and is one overdue? */
void wp_check_scheduled(struct wp_check *c, struct wp_session *session);
/* With cleanup.mode: can old rows be removed, and found fast? */
void wp_check_cleanup(struct wp_check *c, struct wp_session *session);
/* With several servers in the conninfo: does a standby keep the slot from being copied to it? */
void wp_check_servers(struct wp_check *c);
/*
 * Says what a login gave, whom it stands for and until when, and never the secret. `login` is NULL
 * if none is wanted.
 */
void wp_check_login(struct wp_check *c, struct wp_login *login, enum wp_finding_room room);
/* With so many outboxes only what is wrong with each is found (WP_PREFLIGHT_TABLES_IN_FULL). */
static inline bool wp_check_is_brief(const struct wp_check *c)
{
	return c->wanted.wanted.count > WP_PREFLIGHT_TABLES_IN_FULL;
}

/* Checks the schemas of these topics' events, with outbox.schema.registry. */
void wp_check_schemas(struct wp_check *c, const struct wp_topic_wanted *topics, size_t count);
/* Are the columns of types that do for what they mean? */
void wp_check_types(struct wp_check *c, struct wp_session *session);

/* Adds a finding that is fine for WP_OK, else a failure. */
void wp_check_add(struct wp_check *c, enum wp_rc rc, enum wp_finding_room room, const char *name,
		  const char *fine, const struct wp_error *error, const char *cure);
/* The cure is to grant `role` what the script makes. */
void wp_check_add_grants(struct wp_check *c, struct wp_session *session,
			 enum wp_finding_level level, const char *name, const struct wp_error *what,
			 enum wp_grants which, const char *role);
/* Is every finding of that name fine, and is there one? */
bool wp_check_is_fine(const struct wp_check *c, const char *name);
/* Asks one SELECT, written by `write`. Fails with WP_IO, WP_CONFIG, WP_NOMEM; the caller clears `ret`. */
enum wp_rc wp_check_ask(struct wp_check *c, struct wp_session *session,
			void (*write)(struct wp_sql *sql, const struct wp_check *c), PGresult **ret,
			struct wp_error *error) WP_MUST_CHECK;

#endif
