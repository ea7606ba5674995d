/*
 * Looks at the other servers that postgres.conninfo names, because a standby that cannot take the
 * slot over is seen only there. One that does not answer is passed over: which of them must answer
 * is not known here.
 *
 * Bounded: none is begun after ALL_MS; PATIENCE_MS for each to connect.
 */
#include <stdio.h>
#include <string.h>

#include "check.h"
#include "walpost/base/clock.h"
#include "walpost/postgres/conninfo.h"
#include "walpost/postgres/connection_plan.h"
#include "walpost/postgres_preflight/slot.h"

enum { PATIENCE_MS = 3000, ALL_MS = 10000, CONNINFO_SIZE_MAX = 64 * 1024 };

/* Appends the conninfo as the user has it, but for one server, whatever that is. */
static enum wp_rc add_options(struct wp_buffer *b, const char *conninfo,
			      const struct wp_address *address)
{
	static const char *const ours[] = { "host", "hostaddr", "port", "target_session_attrs",
					    "load_balance_hosts" };
	PQconninfoOption *options = PQconninfoParse(conninfo, NULL);
	enum wp_rc rc = options != NULL ? WP_OK : WP_NOMEM;

	for (PQconninfoOption *o = options; rc == WP_OK && o->keyword != NULL; o++) {
		bool is_ours = false;
		for (size_t i = 0; i < sizeof(ours) / sizeof(ours[0]); i++)
			is_ours = is_ours || strcmp(o->keyword, ours[i]) == 0;
		if (!is_ours && o->val != NULL)
			rc = wp_conninfo_append(b, o->keyword, o->val);
	}
	PQconninfoFree(options);
	if (rc == WP_OK && address->host[0] != '\0')
		rc = wp_conninfo_append(b, "host", address->host);
	if (rc == WP_OK && address->hostaddr[0] != '\0')
		rc = wp_conninfo_append(b, "hostaddr", address->hostaddr);
	if (rc == WP_OK && address->port[0] != '\0')
		rc = wp_conninfo_append(b, "port", address->port);
	if (rc == WP_OK)
		rc = wp_conninfo_append(b, "target_session_attrs", "any");
	return rc == WP_OK ? wp_buffer_append(b, (struct wp_span){ (const uint8_t *)"", 1 }) : rc;
}

static void write_question(struct wp_sql *sql, const struct wp_check *c)
{
	wp_sql_add(sql,
		   "WITH slot AS (SELECT to_jsonb(s) AS j FROM pg_replication_slots s "
		   "WHERE s.slot_name = %L)\n"
		   "SELECT coalesce(%s, '')",
		   c->config.postgres.slot, WP_SLOT_SYNC_SQL);
}

static void judge(struct wp_check *c, struct wp_session *session, const struct wp_address *address)
{
	struct wp_error error;
	PGresult *answer;
	char cure[512];
	const char *slot = c->config.postgres.slot;

	if (wp_check_ask(c, session, write_question, &answer, &error) != WP_OK)
		return;
	if (strcmp(PQgetvalue(answer, 0, 0), "incomplete") == 0) {
		(void)wp_error_set(&error, WP_OK,
				   "the copy of slot %s on the standby at %s, port %s, is not "
				   "complete yet: a promotion of that standby now loses the slot, "
				   "with its events",
				   slot, address->host, PQport(wp_session_pg(session)));
		wp_findings_add(&c->found.findings, WP_FINDING_WARN, WP_ROOM_SLOT, "standby_slot",
				error.text,
				"-- wait until the relay has confirmed newer events and that "
				"standby has copied the slot; then check again");
	} else if (strcmp(PQgetvalue(answer, 0, 0), "in_the_way") == 0) {
		(void)wp_error_set(&error, WP_OK,
				   "slot %s of the standby at %s, port %s, is not a copy of this "
				   "server's slot, but was created there when that server was the "
				   "primary: it cannot copy slots while its own exists, and a "
				   "failover to it loses events",
				   slot, address->host, PQport(wp_session_pg(session)));
		(void)snprintf(cure, sizeof(cure),
			       "-- on that standby, not here:\n"
			       "SELECT pg_drop_replication_slot(slot_name) FROM "
			       "pg_replication_slots WHERE slot_name = '%s' AND NOT synced;",
			       slot);
		wp_findings_add(&c->found.findings, WP_FINDING_WARN, WP_ROOM_SLOT, "standby_slot",
				error.text, cure);
	}
	PQclear(answer);
}

static void look_at(struct wp_check *c, const char *written, const struct wp_address *address)
{
	struct wp_postgres_options options = c->config.postgres;
	struct wp_session session;
	struct wp_buffer conninfo;
	struct wp_error error;

	wp_buffer_init(&conninfo, CONNINFO_SIZE_MAX);
	if (add_options(&conninfo, written, address) == WP_OK) {
		options.conninfo = (const char *)conninfo.data;
		options.conninfo_file = NULL;
		if (options.connect_timeout_ms > PATIENCE_MS)
			options.connect_timeout_ms = PATIENCE_MS;
		if (wp_session_open(&session, &c->console, &options, WP_CONNECTION_SQL, &error) ==
		    WP_OK)
			judge(c, &session, address);
		wp_session_release(&session);
	}
	wp_buffer_release(&conninfo);
}

void wp_check_servers(struct wp_check *c)
{
	struct wp_connection_plan plan;
	struct wp_error error;

	if (wp_connection_plan_init(&plan, &c->config.postgres, &error) != WP_OK)
		return; /* connecting has said why */
	int64_t until_us = wp_clock_us() + (int64_t)ALL_MS * 1000;
	for (size_t i = 0; i < plan.addresses.count && plan.addresses.count > 1; i++)
		if (!c->console.interrupted && wp_clock_us() < until_us)
			look_at(c, plan.conninfo, &plan.addresses.list[i]);
	wp_connection_plan_release(&plan);
}
