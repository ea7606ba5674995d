#include "walpost/cli/timelines.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static enum wp_rc read_system(const PGresult *r, uint32_t *ret_current, wp_lsn *ret_log_end,
			      struct wp_error *error)
{
	/* systemid, timeline, xlogpos, dbname */
	if (PQntuples(r) != 1 || PQnfields(r) < 4 ||
	    wp_lsn_parse(wp_span_of(PQgetvalue(r, 0, 2)), ret_log_end) != WP_OK)
		return wp_error_set(error, WP_PROTO, "unexpected result of IDENTIFY_SYSTEM");
	*ret_current = (uint32_t)strtoul(PQgetvalue(r, 0, 1), NULL, 10);
	return WP_OK;
}

/* Where its file is gone, a relay does without as well. */
static enum wp_rc find_history(struct wp_session *s, uint32_t current, struct wp_timelines *ret,
			       struct wp_error *error)
{
	struct wp_span history = { 0 };
	PGresult *r = NULL;
	char command[64];
	enum wp_rc rc = WP_OK;
	(void)snprintf(command, sizeof(command), "TIMELINE_HISTORY %" PRIu32, current);
	if (current > 1)
		rc = wp_session_query(s, command, &r, error);
	if (rc != WP_OK && strcmp(s->failure.sqlstate, "58P01") != 0)
		return rc;
	if (r != NULL && PQntuples(r) == 1 && PQnfields(r) == 2)
		history = (struct wp_span){ (const uint8_t *)PQgetvalue(r, 0, 1),
					    (size_t)PQgetlength(r, 0, 1) };
	rc = wp_timelines_read(ret, current, history, error);
	PQclear(r);
	return rc;
}

enum wp_rc wp_cli_timelines(struct wp_session *s, struct wp_timelines *ret, wp_lsn *ret_log_end,
			    struct wp_error *error)
{
	PGresult *r;
	uint32_t current = 0;
	enum wp_rc rc = wp_session_query(s, "IDENTIFY_SYSTEM", &r, error);
	if (rc != WP_OK)
		return rc;
	rc = read_system(r, &current, ret_log_end, error);
	PQclear(r);
	return rc == WP_OK ? find_history(s, current, ret, error) : rc;
}
