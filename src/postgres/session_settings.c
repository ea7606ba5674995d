#include "session_settings.h"

#include <stdio.h>
#include <string.h>

#include "walpost/postgres/connection.h"

struct setting {
	const char *name;
	const char *value;
	int since;	  /* server_version_num; 0: all that we know */
	const char *read; /* how the server writes the value; NULL: as it is */
};

/* The time-outs come first: they could end the statement that sets the rest. */
static const struct setting settings[] = {
	{ "statement_timeout", "0", 0, NULL },
	{ "transaction_timeout", "0", 170000, NULL },
	{ "lock_timeout", "0", 0, NULL },
	{ "idle_in_transaction_session_timeout", "0", 0, NULL },
	{ "idle_session_timeout", "0", 0, NULL },
	{ "exit_on_error", "off", 0, NULL },
	{ "role", "none", 0, NULL },
	{ "search_path", "", 0, "\"\"" },
	/* These say what may be written, and what a statement sees of it. */
	{ "default_transaction_read_only", "off", 0, NULL },
	{ "default_transaction_isolation", "read committed", 0, NULL },
	/* Rows that a policy hides are an error, and not rows that do not exist. */
	{ "row_security", "off", 0, NULL },
	/* These say how values become text, here and in rows that come by the stream: most are
	 * those of PostgreSQL's own libpqwalreceiver. Of datestyle the order of day and month
	 * stays. */
	{ "datestyle", "ISO", 0, "ISO, *" },
	{ "intervalstyle", "postgres", 0, NULL },
	{ "timezone", "UTC", 0, NULL },
	{ "extra_float_digits", "3", 0, NULL },
	{ "bytea_output", "hex", 0, NULL },
	{ "lc_monetary", "C", 0, NULL },
	{ "quote_all_identifiers", "off", 0, NULL },
	/* These say how text is read. */
	{ "standard_conforming_strings", "on", 0, NULL },
	{ "array_nulls", "on", 0, NULL },
	{ "xmloption", "content", 0, NULL },
	{ "client_min_messages", "warning", 0, NULL },
	/* Our questions to the catalogs are long, and compiling one takes longer than its answer. */
	{ "jit", "off", 0, NULL },
};
enum { COUNT = sizeof(settings) / sizeof(settings[0]) };

/* These columns of what is read back follow the settings. */
enum { PID = COUNT, WORK_MEM, ENCODING, FIELD_COUNT };

/*
 * An SQL_ASCII database holds bytes of unknown meaning: asked for UTF8, the server refuses those
 * that are not, and the slot is stuck there. They pass as they are.
 */
static const char *encoding_of(PGconn *pg)
{
	const char *of_server = PQparameterStatus(pg, "server_encoding");

	return of_server && !strcmp(of_server, "SQL_ASCII") ? "SQL_ASCII" : "UTF8";
}

void wp_session_settings_set_sql(struct wp_sql *sql, const char *work_mem)
{
	int version = PQserverVersion(sql->pg);

	/* A serializable, deferrable transaction could wait for others before its first SELECT, and on a
	 * standby there is none that is serializable. */
	wp_sql_add(sql, "SET TRANSACTION ISOLATION LEVEL READ COMMITTED; ");
	for (size_t i = 0; i < COUNT; i++) {
		if (!strcmp(settings[i].name, "role"))
			wp_sql_add(sql, "SELECT pg_catalog.set_config('" WP_ROLE_BEFORE_SETTING
					"', pg_catalog.current_setting('role'), false); "
					"SET SESSION AUTHORIZATION DEFAULT; ");
		if (version >= settings[i].since)
			wp_sql_add(sql, "SET %s = '%s'; ", settings[i].name, settings[i].value);
	}
	if (*work_mem)
		wp_sql_add(sql, "SET logical_decoding_work_mem = %L; ", work_mem);
	wp_sql_add(sql,
		   "SET client_encoding = '%s'; SELECT pg_catalog.pg_backend_pid(), "
		   "pg_catalog.current_setting('logical_decoding_work_mem')",
		   encoding_of(sql->pg));
}

void wp_session_settings_set_answer(const PGresult *answer, struct wp_session_set *ret)
{
	*ret = (struct wp_session_set){ 0 };
	if (PQntuples(answer) != 1 || PQnfields(answer) != 2)
		return;
	(void)snprintf(ret->pid, sizeof(ret->pid), "%s", PQgetvalue(answer, 0, 0));
	(void)snprintf(ret->work_mem, sizeof(ret->work_mem), "%s", PQgetvalue(answer, 0, 1));
}

void wp_session_settings_read_sql(struct wp_sql *sql)
{
	wp_sql_add(sql, "SELECT ");
	for (size_t i = 0; i < COUNT; i++)
		wp_sql_add(sql, "pg_catalog.current_setting('%s', true), ", settings[i].name);
	wp_sql_add(sql,
		   "pg_catalog.pg_backend_pid(), "
		   "pg_catalog.current_setting('logical_decoding_work_mem'), "
		   "pg_catalog.current_setting('client_encoding') = '%s'",
		   encoding_of(sql->pg));
}

static bool is_as_set(const char *wanted, const char *found)
{
	size_t size = strcspn(wanted, "*");

	return wanted[size] == '*' ? !strncmp(wanted, found, size) : !strcmp(wanted, found);
}

#define WHERE_FROM                                                                      \
	"; write the address of the server itself into postgres.conninfo, not that of " \
	"a pooler or proxy"

static enum wp_rc other_value(struct wp_error *error, const char *name, const char *wanted,
			      const char *found)
{
	return wp_error_set(error, WP_CONFIG,
			    "the server's setting %s is \"%.200s\" after walpost set it to "
			    "\"%s\"; without it values could arrive changed" WHERE_FROM
			    ", and remove what changes the setting",
			    name, found, wanted);
}

enum wp_rc wp_session_settings_judge(int version, const struct wp_session_set *set,
				     const PGresult *answer, struct wp_error *error)
{
	if (PQntuples(answer) != 1 || PQnfields(answer) != FIELD_COUNT)
		return wp_error_set(error, WP_CONFIG,
				    "the server did not answer what its settings are" WHERE_FROM);
	if (strcmp(PQgetvalue(answer, 0, PID), set->pid) != 0)
		return wp_error_set(error, WP_CONFIG,
				    "two statements of one session were run by two processes of "
				    "the server (%s and %s), as by a pooler in transaction mode, "
				    "which shares sessions" WHERE_FROM,
				    set->pid, PQgetvalue(answer, 0, PID));
	for (int i = 0; i < COUNT; i++) {
		const struct setting *s = &settings[i];
		const char *found = PQgetvalue(answer, 0, i);
		if (version >= s->since && !is_as_set(s->read ? s->read : s->value, found))
			return other_value(error, s->name, s->value, found);
	}
	if (strcmp(PQgetvalue(answer, 0, WORK_MEM), set->work_mem) != 0)
		return other_value(error, "logical_decoding_work_mem", set->work_mem,
				   PQgetvalue(answer, 0, WORK_MEM));
	if (*PQgetvalue(answer, 0, ENCODING) != 't')
		return other_value(error, "client_encoding", "UTF8", "another encoding");
	return WP_OK;
}
