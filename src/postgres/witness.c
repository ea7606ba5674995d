#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "walpost/postgres/sql.h"
#include "walpost/postgres/witness.h"

enum wp_rc wp_witness_read_sql(PGconn *pg, const char *slot, struct wp_buffer *into,
			       struct wp_why *why)
{
	struct wp_sql sql;
	wp_sql_init(&sql, pg, into);
	wp_sql_add(&sql,
		   "SELECT owner, system_identifier, epoch, taken_at_lsn, timeline\n"
		   "FROM walpost.witness WHERE slot = %L",
		   slot);
	return wp_sql_end(&sql, why);
}

static enum wp_rc read_number(const char *text, uint64_t max, uint64_t *ret)
{
	char *end;
	errno = 0;
	unsigned long long number = strtoull(text, &end, 10);
	if (errno || end == text || *end || *text == '-' || number > max)
		return WP_PROTO;
	*ret = number;
	return WP_OK;
}

enum wp_rc wp_witness_read(const PGresult *answer, struct wp_source_facts *facts,
			   struct wp_why *why)
{
	uint64_t system_id = 0, epoch = 0, timeline = 0;
	const char *owner = "";
	wp_lsn taken_at = 0;
	if (PQnfields(answer) != 5 || PQntuples(answer) > 1)
		return wp_why_set(why, WP_PROTO, "walpost.witness gave %d rows of %d columns",
				  PQntuples(answer), PQnfields(answer));
	if (PQntuples(answer) == 1) {
		owner = PQgetvalue(answer, 0, 0);
		if (read_number(PQgetvalue(answer, 0, 1), UINT64_MAX, &system_id) != WP_OK ||
		    read_number(PQgetvalue(answer, 0, 2), UINT16_MAX, &epoch) != WP_OK ||
		    wp_lsn_parse(wp_span_of(PQgetvalue(answer, 0, 3)), &taken_at) != WP_OK ||
		    read_number(PQgetvalue(answer, 0, 4), UINT32_MAX, &timeline) != WP_OK)
			return wp_why_set(why, WP_PROTO,
					  "walpost.witness holds system_identifier \"%.40s\", "
					  "epoch \"%.40s\" and timeline \"%.40s\", which are not "
					  "walpost's",
					  PQgetvalue(answer, 0, 1), PQgetvalue(answer, 0, 2),
					  PQgetvalue(answer, 0, 4));
	}
	facts->witness_readable = true;
	facts->witness_taken_at = taken_at;
	facts->witness_system_id = system_id;
	facts->witness_timeline = (uint32_t)timeline;
	facts->witness_epoch = (uint16_t)epoch;
	/* A longer one is not ours: cut, it stays different from any of ours. */
	(void)snprintf(facts->witness_owner, sizeof(facts->witness_owner), "%.*s",
		       WP_OWNER_SIZE - 1, owner);
	return WP_OK;
}

enum wp_rc wp_witness_write_sql(PGconn *pg, const struct wp_witness_row *row,
				struct wp_buffer *into, struct wp_why *why)
{
	char system_id[24], timeline[16], epoch[8];
	(void)snprintf(system_id, sizeof(system_id), "%" PRIu64, row->system_id);
	(void)snprintf(timeline, sizeof(timeline), "%" PRIu32, row->timeline);
	(void)snprintf(epoch, sizeof(epoch), "%u", (unsigned)row->epoch);

	struct wp_sql sql;
	wp_sql_init(&sql, pg, into);
	/* Both statements are one transaction, as one simple query. */
	wp_sql_add(
		&sql,
		"SELECT pg_catalog.set_config('synchronous_commit', 'local', true);\n"
		"INSERT INTO walpost.witness AS w\n"
		"  (slot, owner, system_identifier, timeline, epoch, taken_at_lsn, taken_at)\n"
		"SELECT s.slot_name, %L, %L, %s, %s, s.confirmed_flush_lsn, pg_catalog.now()\n"
		"FROM pg_catalog.pg_replication_slots s\n"
		"WHERE s.slot_name = %L AND NOT s.active\n"
		"ON CONFLICT (slot) DO UPDATE SET owner = excluded.owner,\n"
		"  system_identifier = excluded.system_identifier,\n"
		"  timeline = excluded.timeline, epoch = excluded.epoch,\n"
		"  taken_at_lsn = excluded.taken_at_lsn, taken_at = excluded.taken_at\n"
		"WHERE (w.owner, w.system_identifier, w.timeline, w.epoch) IS DISTINCT FROM\n"
		"  (excluded.owner, excluded.system_identifier, excluded.timeline, excluded.epoch)",
		row->owner, system_id, timeline, epoch, row->slot);
	return wp_sql_end(&sql, why);
}
