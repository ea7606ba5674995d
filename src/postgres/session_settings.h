/*
 * What must a session be like, whoever logs in how? The settings that all SQL and all rows here
 * rely on are set after the login and read back. Startup options do not suffice: libpq sends PGTZ and
 * PGDATESTYLE as parameters of their own, which win over `options`; a trigger ON login (PostgreSQL
 * 17) runs after all of them; and behind a pooler a SET may reach a session of somebody else.
 *
 * Owns, calls: nothing. Pure but for quoting.
 */
#ifndef WALPOST_POSTGRES_SESSION_SETTINGS_H
#define WALPOST_POSTGRES_SESSION_SETTINGS_H

#include <libpq-fe.h>

#include "walpost/postgres/sql.h"

/* The server says this after the settings were made. */
struct wp_session_set {
	char pid[16];	   /* of the process that ran it */
	char work_mem[32]; /* logical_decoding_work_mem, as the server writes it */
};

/* Writes one simple query, as a walsender takes no other. With `work_mem` "" the server's value stays. */
void wp_session_settings_set_sql(struct wp_sql *sql, const char *work_mem);
void wp_session_settings_set_answer(const PGresult *answer, struct wp_session_set *ret);
/* Writes the query that follows it. */
void wp_session_settings_read_sql(struct wp_sql *sql);
/* Returns WP_CONFIG with the error when a setting is not what it was set to, or another process of the
 * server has answered. */
enum wp_rc wp_session_settings_judge(int version, const struct wp_session_set *set,
				     const PGresult *answer, struct wp_error *error) WP_MUST_CHECK;

#endif
