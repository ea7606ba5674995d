/*
 * With a slot that is older than its publication, the server fails at the first change that was
 * committed in between, at each try (up to 17), or passes such changes over (since 18). What the
 * slot holds is decoded from a copy of it, which nobody else sees and which the server drops with
 * our session. This takes some seconds at most.
 */
#include <stdio.h>
#include <string.h>

#include "check.h"
#include "walpost/base/clock.h"
#include "walpost/postgres_preflight/preflight_later.h"
#include "walpost/postgres_preflight/publication.h"
#include "walpost/postgres_preflight/slot.h"

enum { PATIENCE_MS = 10000 };

struct decoding {
	struct wp_error skipped; /* what the server says that it passes over; "" : nothing */
};

static void on_notice(void *arg, const PGresult *notice)
{
	struct decoding *d = arg;
	const char *state = PQresultErrorField(notice, PG_DIAG_SQLSTATE);
	const char *text = PQresultErrorField(notice, PG_DIAG_MESSAGE_PRIMARY);
	if (state && text && !strcmp(state, "55000"))
		(void)wp_error_set(&d->skipped, WP_DATA, "%.400s", text);
}

static void write_copy(struct wp_sql *sql, const struct wp_check *c)
{
	/* A server has one process of this number, and the slot ends with it. */
	char copy[64];
	(void)snprintf(copy, sizeof(copy), "walpost_check_%d", PQbackendPID(sql->pg));
	wp_sql_add(sql, "SET statement_timeout = '10s';\n");
	wp_slot_copy_temporary_sql(sql, copy, c->config.postgres.slot);
}

/* Takes the next changes; what was taken before is confirmed to the copy. */
static void write_take(struct wp_sql *sql, const struct wp_check *c)
{
	char copy[64];
	(void)snprintf(copy, sizeof(copy), "walpost_check_%d", PQbackendPID(sql->pg));
	wp_sql_add(sql,
		   "SELECT count(*) FROM pg_logical_slot_get_binary_changes(%L, NULL, 10000,\n"
		   "  'proto_version', '1', 'publication_names', " WP_PUBLICATION_NAMES_SQL(
			   "%L", "%L") ")",
		   copy, c->config.postgres.publication, copy);
}

/* Decodes until all is taken, something is wrong, or it takes too long. */
static enum wp_rc decode(struct wp_check *c, struct wp_session *session, struct decoding *d,
			 struct wp_error *error)
{
	int64_t until_ms = wp_clock_us() / 1000 + PATIENCE_MS;
	enum wp_rc rc = WP_OK;
	bool more = true;
	while (rc == WP_OK && more && !d->skipped.text[0] && wp_clock_us() / 1000 < until_ms) {
		PGresult *answer;
		rc = wp_check_ask(c, session, write_take, &answer, error);
		if (rc != WP_OK)
			break;
		more = strcmp(PQgetvalue(answer, 0, 0), "0") != 0;
		PQclear(answer);
	}
	return rc;
}

/* Returns false, so that nothing is said, if the slot cannot be copied or was not read in time. */
static bool is_told(const struct wp_session *session)
{
	return !strcmp(session->failure.sqlstate, "42704");
}

void wp_check_decoding(struct wp_check *c, struct wp_session *session)
{
	PGconn *pg = wp_session_pg(session);
	struct decoding d = { .skipped.text = "" };
	struct wp_error error;
	PGresult *answer;
	if (wp_check_ask(c, session, write_copy, &answer, &error) != WP_OK)
		return;
	PQclear(answer);
	PQnoticeReceiver before = PQsetNoticeReceiver(pg, on_notice, &d);
	enum wp_rc rc = decode(c, session, &d, &error);
	(void)PQsetNoticeReceiver(pg, before, NULL);
	if (rc == WP_OK)
		wp_preflight_later_decoded(pg, &c->config.postgres,
					   d.skipped.text[0] ? d.skipped.text : NULL, &c->found);
	else if (is_told(session))
		wp_preflight_later_decoded(pg, &c->config.postgres, error.text, &c->found);
}
